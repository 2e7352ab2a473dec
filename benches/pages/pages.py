#!/usr/bin/env python3
"""Times our own pages on a large spool, compared with nginx serving the same bytes as files.

    cargo build --release
    benches/pages/pages.py                    a new spool of 100,000 entries
    benches/pages/pages.py --entries 1000     a quick run

Each page is requested many times on one persistent connection, and after each request the same file from nginx.
A wrong page ends the run. All processes are stopped, and all files are removed.
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches/serving"))

import machine  # noqa: E402
import proxies  # noqa: E402
from load import Wrong  # noqa: E402

PROGRAM = ROOT / "target/release/wwwoffle"
MANIFEST = ROOT / "benches/serving/Cargo.toml"

# The limits for a list: bytes, and the 95th percentile in milliseconds.
LONGEST, SLOWEST = 100_000, 50

# The fields that a browser sends when a person opens a page.
AS_PERSON = "Accept: text/html,*/*;q=0.8\r\nSec-Fetch-Dest: document\r\n"

# The time limit for the index to read all, and how long it then has to be idle, in seconds.
READS_WITHIN, RESTS = 1800, 3

# Queued requests, so that the page of the queue is not empty.
QUEUED = 500

HOST = "site7.test"
KEPT = f"http://{HOST}/p/0000007"

# Our pages, each with a text that it has to contain.
PAGES = [
    ("/", "main"),
    ("/index/", "main"),
    *((f"/index/all?sort={sort}", "name=\"url\"") for sort in
      ["stored", "used", "name", "domain", "type", "size", "random"]),
    ("/index/all?sort=stored&pages=1", "name=\"url\""),
    ("/index/all?text=99999", "main"),
    ("/index/sites", "main"),
    ("/index/http", "main"),
    (f"/index/http/{HOST}", "name=\"url\""),
    ("/index/lasttime", "main"),
    ("/index/failed", "main"),
    ("/search/?q=0000007", "0000007"),
    ("/search/?q=ba", "<mark>"),
    ("/queue/", "missing"),
    ("/monitor/", "main"),
    ("/fetches/", "main"),
    ("/statistics/", None),
    ("/metrics", None),
    (f"/info/?{KEPT}", "0000007"),
    (f"/history/?{KEPT}", "0000007"),
    (f"/refresh-options/?{KEPT}", "0000007"),
    ("/purge/", "main"),
    ("/configuration/", "main"),
    ("/configuration/caching", "main"),
    ("/ca", "main"),
    (f"{KEPT}-missing", "0000007-missing"),
]


class Connection:
    """A persistent connection, on which pages are requested one after another."""

    def __init__(self, port):
        self.port = port
        self.stream = socket.create_connection(("127.0.0.1", port), 120)
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = self.stream.makefile("rb")

    def get(self, target):
        """Status, fields and body of a response, and its time in milliseconds."""
        host = target.split("/")[2] if target.startswith("http:") else f"127.0.0.1:{self.port}"
        request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{AS_PERSON}\r\n".encode()
        began = time.perf_counter()
        self.stream.sendall(request)
        status = int(self.reader.readline().split()[1])
        fields = {}
        while (line := self.reader.readline().strip()):
            name, value = line.decode("latin-1").split(":", 1)
            fields[name.lower()] = value.strip()
        body = self.body(fields)
        return status, fields, body, 1000 * (time.perf_counter() - began)

    def body(self, fields):
        """Reads the body."""
        if "content-length" in fields:
            return self.reader.read(int(fields["content-length"]))
        parts = []
        while (length := int(self.reader.readline(), 16)):
            parts.append(self.reader.read(length))
            self.reader.readline()
        self.reader.readline()
        return b"".join(parts)


class Files(proxies.Server):
    """nginx with the pages as files."""

    name = "files"

    def __init__(self, home, cpus):
        super().__init__(home, cpus)
        self.files = self.home / "files"
        self.files.mkdir()
        http = (
            "open_file_cache max=100; default_type text/html;"
            f"server {{ listen 127.0.0.1:{self.port}; root {self.files}; }}"
        )
        self.config = self.home / "nginx.conf"
        self.config.write_text(proxies.nginx_text(self.home, 1, http))

    def command(self):
        return [machine.find("nginx"), "-p", self.home, "-c", self.config, "-e", self.home / "log"]


@dataclasses.dataclass
class Timed:
    """The results for one page, in milliseconds."""

    page: str
    length: int
    first: float
    ours: list
    files: list

    def line(self):
        """A line of the table, with the result of the limits."""
        met = self.length < LONGEST and late(self.ours) < SLOWEST
        mine, base = statistics.median(self.ours), statistics.median(self.files)
        cells = [f"{self.length / 1000:.1f}", f"{self.first:.2f}", f"{mine:.2f}", f"{late(self.ours):.2f}"]
        cells += [f"{base:.2f}", f"{late(self.files):.2f}", "met" if met else "MISSED"]
        return f"| `{self.page}` | {' | '.join(cells)} |"


def late(times):
    """The 95th percentile."""
    return sorted(times)[int(0.95 * (len(times) - 1))]


def checked(page, has, answer):
    """The body of the page, or None if this version has no such page."""
    status, _, body, _ = answer
    if has is None and status == 404:
        return None
    # Templates escape every slash.
    text = re.sub("&#x2f;", "/", body.decode("utf-8", "replace"))
    wanted = status == 200 or page.startswith("http:")
    if not wanted or (has and has not in text):
        raise Wrong(f"{page} returned {status}: {text[:2000]}")
    return body


def prepare(ours):
    """Switches to offline with a queue, and waits until the index has read all."""
    control = [ours.binary, "--config", ours.config, "--spool", ours.kept, "offline"]
    # Its port is open before the mode can be changed.
    for _ in range(100):
        if subprocess.run([str(part) for part in control], capture_output=True).returncode == 0:
            break
        time.sleep(0.1)
    else:
        raise Wrong("wwwoffle does not switch to offline")
    asked = Connection(ours.port)
    for number in range(QUEUED):
        asked.get(f"http://{HOST}/missing/{number}")
    deadline = time.monotonic() + READS_WITHIN
    before = ours.cpu()
    while True:
        time.sleep(RESTS)
        now = ours.cpu()
        if now - before < 0.02 * RESTS:
            return
        before = now
        if time.monotonic() > deadline:
            raise Wrong("the index is not complete in time")


def measured(options, ours, files):
    """Times every page, one after another."""
    for number, (page, has) in enumerate(PAGES):
        mine = Connection(ours.port)
        answer = mine.get(page)
        body = checked(page, has, answer)
        if body is None:
            continue
        (files.files / f"{number}.html").write_bytes(body)
        theirs, name = Connection(files.port), f"/{number}.html"
        timed = Timed(page, len(body), answer[3], [], [])
        for _ in range(options.requests):
            again = mine.get(page)
            checked(page, has, again)
            timed.ours.append(again[3])
            status, _, same, took = theirs.get(name)
            if status != 200 or same != body:
                raise Wrong(f"nginx returned {status} for {name}")
            timed.files.append(took)
        yield timed


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--entries", type=int, default=100_000, help="entries of the spool")
    parser.add_argument("--requests", type=int, default=200, help="requests for each page")
    parser.add_argument("--ours", default=PROGRAM, type=pathlib.Path, help="the program measured")
    parser.add_argument("--dir", help="parent directory of the spool (the system's default)")
    parser.add_argument("--json", action="store_true", help="one object a page, not a table")
    options = parser.parse_args()
    if not options.ours.exists():
        parser.error(f"{options.ours} is not there: cargo build --release, or --ours PROGRAM")
    return options


def main():
    """Makes the spool, and prints the table."""
    options = arguments()
    machine.require(["nginx"])
    cpus = machine.Processors(False).all
    build = ["cargo", "run", "--quiet", "--release", "--manifest-path", MANIFEST, "--bin", "generate", "--"]
    with machine.scratch(options.dir) as home, contextlib.ExitStack() as begun:
        spool = home / "spool"
        size = ["--spool", spool, "--entries", options.entries, "--size", 2000, "--hosts", 100]
        subprocess.run([str(part) for part in [*build, *size]], check=True)
        ours = proxies.Ours(home, cpus, options.ours, spool)
        files = Files(home, cpus)
        for server in (ours, files):
            begun.callback(server.remove)
            server.start()
        prepare(ours)
        if not options.json:
            print(f"{options.entries:,} entries; each page {options.requests} times; milliseconds\n")
            print("| page | kB | first | p50 | p95 | nginx p50 | p95 | 100 kB, 50 ms |")
            print("|---|--:|--:|--:|--:|--:|--:|---|")
        for timed in measured(options, ours, files):
            print(json.dumps(dataclasses.asdict(timed)) if options.json else timed.line(), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"not measured: {wrong}")
