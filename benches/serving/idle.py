"""Rows of the memory of an idle daemon, and of its start time."""

import contextlib
import http.client
import os
import signal
import socket
import time

import hits
import sites
from load import Wrong
from report import RESIDENT, START, Row

# Connections that stay open without a request.
CONNECTIONS = 10_000

# By then the daemon has finished the work after its start, in seconds.
RESTS_AFTER = 2

# By then the memory of connections without a request has been returned to the system, in seconds.
IDLE_AFTER = 15


def resident(proxy, rests_after=RESTS_AFTER):
    """Its memory, and the part that is not shared with other processes."""
    time.sleep(rests_after)
    return [{"rss": proxy.process.resident(), "memory": proxy.memory()}]


def memory(bench):
    """The memory of our daemon: just started, with a million pages, and with many connections."""
    origin, many = bench.origin(hits.SIZE), bench.large
    figures = {"wwwoffle, idle": resident(bench.ours())}
    full = bench.ours(bench.large_spool())
    sites.samples(full, many, many.count)
    figures[f"wwwoffle, {many.name}"] = resident(full)
    for proxy in (bench.ours(), bench.nginx(origin)):
        proxy.get(origin, "/p/0000000")
        with contextlib.ExitStack() as opened:
            for _ in range(CONNECTIONS):
                opened.enter_context(asked_once(proxy, origin))
            figures[f"{proxy.name}, 10,000 idle connections"] = resident(proxy, IDLE_AFTER)
    row = Row("memory", figures, RESIDENT)
    row.wants("rss", 20, "wwwoffle, idle", of=None)
    row.wants("rss", 60, f"wwwoffle, {many.name}", of=None)
    row.wants("rss", 100, "wwwoffle, 10,000 idle connections", of=None)
    return row


def asked_once(proxy, site):
    """A connection that stays open after one request."""
    connection = socket.create_connection(("127.0.0.1", proxy.port), 30)
    target = f"{proxy.prefix(site)}0000000"
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode())
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    if answer.status != 200 or not site.is_page(0, answer.read()):
        raise Wrong(f"{proxy.name} returned {answer.status} on one of many connections")
    return connection


def start(bench):
    """The time from the start of the program to the first response, with a million pages in the spool."""
    many = bench.large
    ours = bench.ours(bench.large_spool())

    def first_answer(end):
        end()
        begun = time.monotonic()
        ours.start()
        status, fields, body = ours.get(many.on_host(0), "/p/0000000")
        took = time.monotonic() - begun
        if status != 200 or not many.is_page(0, body) or not ours.is_hit(fields):
            raise Wrong(f"the first response was {status}")
        return {"answered": took}

    def kill():
        os.kill(ours.process.pid, signal.SIGKILL)
        ours.stop()

    subjects = {
        "wwwoffle": lambda: first_answer(ours.stop),
        "wwwoffle, after it was killed": lambda: first_answer(kill),
    }
    row = Row(f"start, {many.name}", hits.in_turn(bench, subjects), START)
    for name in subjects:
        row.wants("answered", 0.5, name, of=None)
    return row
