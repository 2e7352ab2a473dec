"""The system calls of a hit, counted by strace."""

import signal
import subprocess
import time

import hits
import load
import machine
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
