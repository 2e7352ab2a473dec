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
    asked, used = site.requests(), proxy.cpu()
    told = wrk(proxy, site, urls, connections, seconds, cpus)
    used, memory = proxy.cpu() - used, proxy.memory()
    check(proxy, site, told)
    passed_on = site.requests() - asked
    if passed_on:
        raise Wrong(f"{proxy.name} passed {passed_on} of {told['requests']} requests on")
    requests = told["requests"]
    return {
        "per_second": requests / told["seconds"],
        "p50": told["p50"],
        "p99": told["p99"],
        "cpu": used / requests * 1e6,
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
