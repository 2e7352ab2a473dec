"""Rows of misses that are stored: many at a time, and one after the other."""

import functools
import itertools
import os

import hits
import load
import machine
import sites
from report import INDEXED, Row

# The connections of many misses at a time.
CONNECTIONS = 16

# Free space for the pages that three proxies store, in bytes for each second that they are measured.
SPACE = 600_000_000

# The part of the requested pages of which samples are read back. The last ones may have been in progress
# when wrk ended.
READ_BACK = 0.9

SINGLE = {
    "p50": ("p50, µs", 1, 0),
    "p99": ("p99, µs", 1, 0),
    "added": ("added at the median, µs", 1, 0),
}

ALONE = "origin alone"


def stored(bench):
    """Misses of a page of 10 kB each on 16 connections, and a sample of them read back."""
    origin = bench.origin(hits.SIZE)
    subjects = {
        proxy.name: measured(bench, proxy, origin, CONNECTIONS) for proxy in peers(bench, origin)
    }
    floor = bench.floor(origin)
    subjects[floor.name] = measured(bench, floor, origin, CONNECTIONS, is_cache=False)
    row = Row("misses that are stored, 10 kB, 16 connections", hits.in_turn(bench, subjects), INDEXED)
    row.wants("per_second", 0.8, at_least=True)
    row.wants("p99", 2.0)
    row.wants("cpu", 2.0)
    row.wants("cpu", 1.0, of="squid")
    row.wants("rest", 1.2)
    return row


def single(bench):
    """Misses one after the other on one connection, compared with the origin alone."""
    origin = bench.origin(hits.SIZE)
    subjects = {ALONE: functools.partial(alone, bench, origin)}
    subjects |= {proxy.name: measured(bench, proxy, origin, 1) for proxy in peers(bench, origin)}
    figures = hits.in_turn(bench, subjects)
    for rounds in figures.values():
        for one, base in zip(rounds, figures[ALONE]):
            one["added"] = one["p50"] - base["p50"]
    row = Row("misses that are stored, 10 kB, one at a time", figures, SINGLE)
    row.wants("added", 300, of=None)
    return row


def peers(bench, origin):
    """Ours, nginx and squid, started, all with their caches in files."""
    machine.require_space(bench.home, SPACE * bench.seconds * bench.rounds)
    return [bench.ours(), bench.nginx(origin), bench.squid(on_disk=True)]


def measured(bench, proxy, origin, connections, is_cache=True):
    """A function that measures misses of a proxy, of other pages each time, after a warm-up of one second."""
    firsts = itertools.count(0, load.AHEAD)

    def once(seconds):
        first = next(firsts)
        # Otherwise what another proxy left in memory is written to the disk during this measurement.
        os.sync()
        figures = load.misses(proxy, origin, first, connections, seconds, bench.cpus.load)
        if not is_cache:
            return figures
        # wrk only parses the first request that it makes, and does not send it.
        sites.samples(proxy, origin, int(figures["requests"] * READ_BACK), first + 1)
        # So that its index takes nothing from the next proxy.
        proxy.settle()
        return figures

    once(1)
    return functools.partial(once, bench.seconds)


def alone(bench, origin):
    """Requests the pages of the origin directly."""
    urls = load.Urls(load.AHEAD, "each")
    told = load.wrk(origin, origin, urls, 1, bench.seconds, bench.cpus.load)
    load.check(origin, origin, told)
    return {"p50": told["p50"], "p99": told["p99"]}
