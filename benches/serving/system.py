"""The system calls of a hit, counted by strace, and its allocations, counted by valgrind."""

import http.client
import re
import signal
import subprocess
import time

import hits
import load
import machine
import proxies
from load import Urls, Wrong

# How long a program may take to attach to another, in seconds.
ATTACHES_WITHIN = 10


def calls(bench):
    """How many calls a hit costs us and nginx, each kind of it, on 16 connections."""
    origin = bench.origin(hits.SIZE)
    lines = []
    for proxy in (bench.ours(), bench.nginx(origin)):
        hits.fill(proxy, origin, 1, bench.cpus.load)
        load.wrk(proxy, origin, Urls(1), 16, 1, bench.cpus.load)
        requests, counted = traced(bench, proxy, origin)
        lines.append(f"\n| {proxy.name}, {requests} hits | calls each |\n|---|--:|")
        for name, count in counted:
            if count / requests >= 0.0005:
                lines.append(f"| {name} | {count / requests:.3f} |")
    return "\n".join(lines)


def traced(bench, proxy, origin):
    """Counts the calls while wrk asks: the requests, and the calls by name, most first."""
    command = [machine.find("strace"), "-c", "-f", "-S", "calls", "-U", "calls,name"]
    for pid in proxy.process.tree():
        command += ["-p", str(pid)]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until_traced(proxy, tracer)
    told = load.wrk(proxy, origin, Urls(1), 16, bench.seconds, bench.cpus.load)
    tracer.send_signal(signal.SIGINT)
    _, table = tracer.communicate()
    rows = [line.split() for line in table.splitlines()]
    counted = [(row[1], int(row[0])) for row in rows if len(row) == 2 and row[0].isdigit()]
    return told["requests"], [row for row in counted if row[0] != "total"]


def wait_until_traced(proxy, tracer):
    """Waits until every process has a tracer."""
    deadline = time.monotonic() + ATTACHES_WITHIN
    while not proxy.process.is_traced():
        if tracer.poll() is not None or time.monotonic() > deadline:
            raise Wrong("strace may not attach: root may, or set kernel.yama.ptrace_scope = 0")
        time.sleep(0.05)


# Hits that are counted, after as many that are not.
COUNTED = 2_000


def allocations(bench):
    """How many blocks of memory a hit of ours allocates, of a request that repeats another and of one that does not."""
    origin = bench.origin(hits.SIZE)
    lines = ["| a hit of ours | allocations each |", "|---|--:|"]
    for what, field in [("the same request again", lambda _: "x"), ("another request", str)]:
        few, many = (allocated(bench, origin, number, field) for number in (COUNTED, 2 * COUNTED))
        lines.append(f"| {what} | {(many - few) / COUNTED:.1f} |")
    return "\n".join(lines)


def allocated(bench, origin, number, field):
    """All that the program allocates from its start to its end, with so many hits between."""
    ours = proxies.Ours(bench.home, bench.cpus.all, bench.binary)
    ours.wrapper = [machine.find("valgrind"), "--leak-check=no", "--undef-value-errors=no"]
    ours.start()
    try:
        ours.get(origin, "/p/0000000")
        connection = http.client.HTTPConnection("127.0.0.1", ours.port, timeout=120)
        for count in range(number):
            fields = {"Host": origin.host, "X-Count": field(count)}
            connection.request("GET", ours.target(origin, "/p/0000000"), headers=fields)
            answer = connection.getresponse()
            if not origin.is_page(0, answer.read()) or not ours.is_hit(answer.headers):
                raise Wrong("an answer under valgrind was no hit")
        connection.close()
        ours.stop()
        told = re.search(r"total heap usage: ([\d,]+) allocs", (ours.home / "log").read_text())
        if not told:
            raise Wrong("valgrind did not tell what was allocated")
        return int(told[1].replace(",", ""))
    finally:
        ours.remove()
