"""Rows of hits: few pages, many connections, many pages, and after a restart."""

import functools

import load
import machine
import sites
from load import Urls
from report import INDEXED, LOAD, Row

# The size of a page in most rows, in bytes.
SIZE = 10_000

# The size of a page in bytes if there are a million, so that they fit on a small disk.
SMALL = 2_000

# The number of pages in the small spool, which the large one is compared with.
THOUSAND = 1_000

# The number of pages that are more than the hot set holds.
BEYOND_MEMORY = 20_000

# From this number of pages on, wrk fetches them, with this number of connections.
FEW = 100
FILLERS = 16

# The columns of a load, with and without the index thread.
ALL = {**INDEXED, "memory": LOAD["memory"]}

# Our hits as in the first row, measured together with the others.
FIRST = "wwwoffle, one page on 16"

# More than any proxy serves in the second after its restart.
UNSEEN = 100_000


def fill(proxy, origin, count, cpus):
    """Makes a proxy fetch these pages of the origin, so that they are hits from then on."""
    if count < FEW:
        for number in range(count):
            proxy.get(origin, f"/p/{number:07}")
    fetched = 0
    while FEW <= count > fetched:
        # With one thread, wrk requests the pages in order and leaves none out.
        told = load.wrk(proxy, origin, Urls(count, "each", fetched), FILLERS, 1, cpus[:1])
        # Each connection may have had one request in progress that was not counted.
        fetched += max(told["requests"] - FILLERS, 0)
    sites.samples(proxy, origin, count)


def in_turn(bench, subjects):
    """Measures the subjects alternately in all rounds and returns the figures by name."""
    figures = {name: [] for name in subjects}
    for _ in range(bench.rounds):
        for name, measure in subjects.items():
            figures[name].append(measure())
    return figures


def measured(bench, proxy, site, urls, connections):
    """A function that measures hits of a proxy once, after a warm-up of one second."""
    load.wrk(proxy, site, urls, connections, 1, bench.cpus.load)
    return functools.partial(
        load.hits, proxy, site, urls, connections, bench.seconds, bench.cpus.load
    )


def peers(bench, origin):
    """Ours, nginx and squid, started."""
    return [bench.ours(), bench.nginx(origin), bench.squid()]


def warm_hits(bench, work, connections, count):
    """Hits of pages that were requested before, for all proxies; and ours as in the first row."""
    origin = bench.origin(SIZE)
    stand = peers(bench, origin)
    for proxy in stand:
        fill(proxy, origin, count, bench.cpus.load)
    subjects = {
        proxy.name: measured(bench, proxy, origin, Urls(count), connections) for proxy in stand
    }
    is_first = (connections, count) == (16, 1)
    if not is_first:
        subjects[FIRST] = measured(bench, stand[0], origin, Urls(1), 16)
    figures = in_turn(bench, subjects)
    for proxy in stand:
        sites.samples(proxy, origin, count)
    row = Row(work, figures)
    if not is_first:
        row.wants("per_second", 0.85, at_least=True, of=FIRST)
    return row


def few_connections(bench):
    """Warm hits of one page on 16 connections."""
    row = warm_hits(bench, "warm hits, 10 kB, 16 connections", 16, 1)
    row.wants("per_second", 1.3, at_least=True)
    row.wants("cpu", 0.75)
    row.wants("p99", 1.0)
    return row


def many_connections(bench):
    """Warm hits of one page on 1,000 connections."""
    return warm_hits(bench, "warm hits, 10 kB, 1,000 connections", 1000, 1)


def thousand_urls(bench):
    """Warm hits of 1,000 pages."""
    return warm_hits(bench, "warm hits, 10 kB, 1,000 URLs, 16 connections", 16, THOUSAND)


def beyond_memory(bench):
    """Random hits among more pages than the hot set holds, after the index has read them."""
    origin = bench.origin(SIZE)
    stand = [bench.ours(), bench.nginx(origin)]
    for proxy in stand:
        fill(proxy, origin, BEYOND_MEMORY, bench.cpus.load)
        proxy.settle()
    urls = Urls(BEYOND_MEMORY)
    subjects = {proxy.name: measured(bench, proxy, origin, urls, 16) for proxy in stand}
    row = Row("hits, 10 kB, 20,000 URLs, 16 connections", in_turn(bench, subjects), ALL)
    for proxy in stand:
        sites.samples(proxy, origin, BEYOND_MEMORY)
    row.wants("cpu", 1.5)
    return row


def million_urls(bench):
    """Random hits among a million pages, compared with a thousand of the same size, and with nginx."""
    few = sites.Generated(THOUSAND, SMALL)
    many = bench.large
    spools = {few: few.make(bench.built("generate"), bench.home / "thousand"), many: bench.large_spool()}
    subjects = {}
    for site, spool in spools.items():
        ours = bench.ours(spool)
        sites.samples(ours, site, site.count)
        subjects[site.name] = measured(bench, ours, site, Urls(site.count), 16)
    # nginx needs the same number of files. The spool of ours exists already.
    has_nginx = machine.has_space(bench.home, many.count * (SMALL + sites.AROUND))
    if has_nginx:
        origin = bench.origin(SMALL)
        nginx = bench.nginx(origin)
        fill(nginx, origin, many.count, bench.cpus.load)
        subjects["nginx"] = measured(bench, nginx, origin, Urls(many.count), 16)
    row = Row("warm hits, 2 kB, 16 connections", in_turn(bench, subjects), ALL)
    row.wants("per_second", 0.85, many.name, at_least=True, of=few.name)
    if has_nginx:
        # The index of a million pages is still being made.
        row.wants("rest", 1.5, many.name)
    return row


def after_restart(bench):
    """Hits of pages that were not requested since the start. nginx is restarted too."""
    origin, kept = bench.origin(SIZE), sites.Generated(UNSEEN, SIZE)
    spool = kept.make(bench.built("generate"), bench.home / "unseen")
    bench.begun.callback(machine.remove, spool)
    ours, nginx = bench.ours(spool), bench.nginx(origin)
    fill(nginx, origin, UNSEEN, bench.cpus.load)

    def first_second(proxy, site):
        proxy.restart()
        return load.hits(proxy, site, Urls(UNSEEN, "each"), 16, 1, bench.cpus.load)

    subjects = {
        "wwwoffle": functools.partial(first_second, ours, kept),
        "nginx": functools.partial(first_second, nginx, origin),
        "nginx, warm": measured(bench, nginx, origin, Urls(UNSEEN), 16),
    }
    row = Row("hits in the first second after a restart, 10 kB", in_turn(bench, subjects))
    sites.samples(ours, kept, UNSEEN)
    row.wants("per_second", 0.5, at_least=True)
    return row
