#!/usr/bin/env python3
"""The time to index the pages in the background, and the response times during that.

    benches/index/reading.py [--program FILE] [--pages 5000] [--size 10000]

Makes a spool of pages with `wwwoffle import`, removes its index, and starts the daemon, which rebuilds the index
and reads the words of all pages with its HTML reader. One client requests pages during that time, with pauses like
a person, and again when all pages are read. Needs only Python.
"""

import argparse
import http.client
import json
import os
import random
import re
import socket
import statistics
import subprocess
import tempfile
import time

# The pause between two requests, in seconds. Without pauses the processor would be measured.
PAUSE = 0.01

# The number of requests after all pages are read.
AFTERWARDS = 1_000

# The interval at which the progress is polled, in seconds.
LOOK = 0.5

PARTS = ["ba", "ne", "pi", "el", "tra", "zon", "met", "lo", "sto", "qua", "dro", "fy"]


def words(chance, count):
    return " ".join("".join(chance.choices(PARTS, k=chance.randint(1, 4))) for _ in range(count))


def page(number, size):
    """A typical page: a head with sub-resources, a list of links, and text with tags."""
    chance = random.Random(number)
    links = "".join(
        f'<li class="n"><a href="/p/{chance.randrange(1_000_000)}?from={number}">{words(chance, 2)}</a></li>\n'
        for _ in range(30)
    )
    text = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{words(chance, 5)} {number}</title>\n'
        '<link rel="stylesheet" href="/style.css"><script src="/code.js" defer></script>\n'
        f"<style>.n {{ color: #234 }}</style></head><body><nav><ul>\n{links}</ul></nav><main>\n"
    ]
    length = len(text[0])
    while length < size:
        text.append(
            f'<p id="p{length}">{words(chance, 40)} <em>{words(chance, 3)}</em> &amp; caf&eacute; '
            f'<a href="https://site{chance.randrange(50)}.test/">{words(chance, 2)}</a>. '
            f'<img src="/i/{chance.randrange(500)}.png" alt="{words(chance, 2)}"></p>\n'
        )
        length += len(text[-1])
    return ("".join(text) + "</main></body></html>\n").encode()


def archive(path, pages, size):
    with open(path, "wb") as out:
        for number in range(pages):
            body = page(number, size)
            block = (
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            out.write(
                b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://site%d.test/p/%d\r\n"
                b"WARC-Date: 2026-05-01T10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
                b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (number % 50, number, len(block), block)
            )


class Control(http.client.HTTPConnection):
    """A connection to the control socket in the spool."""

    def __init__(self, spool):
        super().__init__("localhost", timeout=60)
        self.place = os.path.join(spool, "control")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.place)


def is_complete(spool):
    control = Control(spool)
    control.request("GET", "/api/search?q=quadrofy")
    answer = control.getresponse()
    told = answer.read()
    control.close()
    return answer.status == 200 and json.loads(told)["incomplete"] is False


class Client:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=60)

    def get(self, number):
        """The response time of one request, in milliseconds."""
        begun = time.perf_counter()
        self.connection.request("GET", f"http://site{number % 50}.test/p/{number}")
        answer = self.connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - begun
        assert answer.status == 200 and body.endswith(b"</html>\n"), (number, answer.status)
        return took * 1_000


def told(what, times):
    times.sort()
    at = lambda percent: times[min(len(times) * percent // 100, len(times) - 1)]
    print(
        f"| {what} | median {statistics.median(times):.2f} ms, p95 {at(95):.2f} ms, p99 {at(99):.2f} ms, "
        f"of {len(times)} |"
    )


def indexer(daemon):
    """The processor time of the indexing thread in seconds. It is the thread with a nice value."""
    most = 0.0
    for task in os.listdir(f"/proc/{daemon}/task"):
        with open(f"/proc/{daemon}/task/{task}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        if int(fields[16]) > 0:
            most = max(most, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return most


def measure(arguments, spool, daemon, address):
    client, chance = Client(address), random.Random(1)
    begun = looked = time.perf_counter()
    meanwhile, complete = [], 0
    # Before the start nothing is missing either.
    while complete < 2:
        meanwhile.append(client.get(chance.randrange(arguments.pages)))
        time.sleep(PAUSE)
        if time.perf_counter() - looked >= LOOK:
            complete = complete + 1 if is_complete(spool) else 0
            looked = time.perf_counter()
    took = time.perf_counter() - begun - LOOK
    taken = indexer(daemon)
    print(f"| pages of {arguments.size} bytes read | {took:.1f} s, {arguments.pages / took:.0f} pages/s |")
    print(f"| of the processor | {taken:.1f} s, {arguments.pages / taken:.0f} pages/s |")
    told("an answer meanwhile", meanwhile)
    afterwards = []
    for _ in range(AFTERWARDS):
        afterwards.append(client.get(chance.randrange(arguments.pages)))
        time.sleep(PAUSE)
    told("an answer afterwards", afterwards)
    print(f"| load of the machine | {os.getloadavg()[0]:.1f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="target/release/wwwoffle")
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--size", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wwwoffle-reading-") as home:
        spool, file = os.path.join(home, "spool"), os.path.join(home, "pages.warc")
        archive(file, arguments.pages, arguments.size)
        command = [arguments.program, "--spool", spool]
        subprocess.run([*command, "import", file], check=True)
        daemon = subprocess.Popen(
            [*command, "serve", "--listen", "127.0.0.1:0", "--mode", "offline"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            ready = daemon.stdout.readline()
            measure(arguments, spool, daemon.pid, re.search(r"listening on ([^, ]+)", ready)[1])
        finally:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
