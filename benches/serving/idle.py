"""Rows of what a daemon has in memory while nothing is asked, and of how fast it starts."""

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

# What a daemon may do after its start is done by then, in seconds.
RESTS_AFTER = 2


def resident(proxy):
    """What it has in memory, and what of that is not shared with others."""
    time.sleep(RESTS_AFTER)
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
            figures[f"{proxy.name}, 10,000 idle connections"] = resident(proxy)
    row = Row("memory", figures, RESIDENT)
    row.wants("rss", 20, "wwwoffle, idle", of=None)
    row.wants("rss", 60, f"wwwoffle, {many.name}", of=None)
    row.wants("rss", 200, "wwwoffle, 10,000 idle connections", of=None)
    return row


def asked_once(proxy, site):
    """A connection on which one page was asked for, and which stays open."""
    connection = socket.create_connection(("127.0.0.1", proxy.port), 30)
    target = f"{proxy.prefix(site)}0000000"
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode())
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    if answer.status != 200 or not site.is_page(0, answer.read()):
        raise Wrong(f"{proxy.name} answered {answer.status} on one of many connections")
    return connection


def start(bench):
    """From the start of the program to the first answer, with a million pages in the spool."""
    many = bench.large
    ours = bench.ours(bench.large_spool())

    def first_answer(end):
        end()
        begun = time.monotonic()
        ours.start()
        status, fields, body = ours.get(many.on_host(0), "/p/0000000")
        took = time.monotonic() - begun
        if status != 200 or not many.is_page(0, body) or not ours.is_hit(fields):
            raise Wrong(f"the first answer was {status}")
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
