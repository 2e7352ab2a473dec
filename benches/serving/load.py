"""Load on a proxy by wrk, and its cost for the proxy."""

import dataclasses
import itertools
import json
import os
import pathlib
import subprocess

import machine

SCRIPT = pathlib.Path(__file__).with_name("load.lua")

# Each run of wrk requests different random pages.
SEEDS = itertools.count(1)


# The number of pages that one run of misses may take: more than any proxy fetches in that time.
AHEAD = 1_000_000


class Wrong(Exception):
    """A response was wrong, so the figures do not count."""


@dataclasses.dataclass
class Urls:
    """The requested pages: numbers below `count`, at random or in order, from `first` on."""

    count: int
    order: str = "random"
    first: int = 0


def hits(proxy, site, urls, connections, seconds, cpus):
    """Requests stored pages for a given time. No request may reach an origin."""
    asked = site.requests()
    figures = measured(proxy, site, urls, connections, seconds, cpus)
    passed_on = site.requests() - asked
    if passed_on:
        raise Wrong(f"{proxy.name} passed {passed_on} of {figures['requests']} requests on")
    return figures


def misses(proxy, site, first, connections, seconds, cpus):
    """Requests pages from `first` on for a given time, each once. Every request must reach the origin."""
    asked = site.requests()
    # One thread of wrk requests each page once, and is fast enough for misses.
    urls = Urls(first + AHEAD, "each", first)
    figures = measured(proxy, site, urls, connections, seconds, cpus[:1])
    passed_on = site.requests() - asked
    if passed_on < figures["requests"]:
        raise Wrong(f"{proxy.name} passed only {passed_on} of {figures['requests']} requests on")
    return figures


def measured(proxy, site, urls, connections, seconds, cpus):
    """Runs wrk once, and returns the figures of the requests and their cost for the proxy."""
    used, of_index = proxy.cpu(), proxy.index_cpu()
    told = wrk(proxy, site, urls, connections, seconds, cpus)
    used, of_index, memory = proxy.cpu() - used, proxy.index_cpu() - of_index, proxy.memory()
    check(proxy, site, told)
    requests = told["requests"]
    return {
        "requests": requests,
        "per_second": requests / told["seconds"],
        "p50": told["p50"],
        "p99": told["p99"],
        "cpu": used / requests * 1e6,
        "index": of_index / requests * 1e6,
        "rest": (used - of_index) / requests * 1e6,
        "memory": memory,
    }


def wrk(proxy, site, urls, connections, seconds, cpus):
    """Runs wrk once and returns the figures of its script."""
    arguments = [proxy.prefix(site), site.host, urls.count, urls.order, urls.first, next(SEEDS)]
    command = [machine.find("wrk"), "-t", min(len(cpus), connections), "-c", connections]
    command += ["-d", f"{seconds}s", "--timeout", "10s", "-s", SCRIPT]
    command += [f"http://127.0.0.1:{proxy.port}", "--", *arguments]
    ran = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**os.environ, **({"COUNT_IS_ONE": "1"} if urls.count == 1 else {})},
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        check=False,
    )
    for line in ran.stdout.splitlines():
        if line.startswith("FIGURES "):
            return json.loads(line.removeprefix("FIGURES "))
    raise Wrong(f"wrk printed {ran.stdout!r} {ran.stderr!r}")


def check(proxy, site, told):
    """Checks that all responses arrived and were long enough to be complete."""
    if told["failed"] or not told["requests"]:
        raise Wrong(f"{proxy.name}: {told['failed']} of {told['requests']} requests failed")
    if told["bytes"] < told["requests"] * site.size:
        raise Wrong(f"{proxy.name}: responses were {told['bytes'] / told['requests']:.0f} bytes long")
