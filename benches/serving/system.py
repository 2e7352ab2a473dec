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
    """The number of system calls per hit, by kind, for ours and nginx, on 16 connections."""
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
    """Counts the calls during a run of wrk. Returns the requests, and the calls by name, most frequent first."""
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
            raise Wrong("strace is not permitted to attach: run as root, or set kernel.yama.ptrace_scope = 0")
        time.sleep(0.05)


# The number of counted hits, after as many that are not counted.
COUNTED = 2_000


def allocations(bench):
    """The number of allocations per hit of ours, for a repeated request and for a new one."""
    origin = bench.origin(hits.SIZE)
    lines = ["| a hit of ours | allocations each |", "|---|--:|"]
    for what, field in [("the same request again", lambda _: "x"), ("another request", str)]:
        few, many = (allocated(bench, origin, number, field) for number in (COUNTED, 2 * COUNTED))
        lines.append(f"| {what} | {(many - few) / COUNTED:.1f} |")
    return "\n".join(lines)


def allocated(bench, origin, number, field):
    """All allocations of the program from its start to its end, with this many hits in between."""
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
                raise Wrong("a response under valgrind was not a hit")
        connection.close()
        ours.stop()
        told = re.search(r"total heap usage: ([\d,]+) allocs", (ours.home / "log").read_text())
        if not told:
            raise Wrong("valgrind did not report the allocations")
        return int(told[1].replace(",", ""))
    finally:
        ours.remove()
