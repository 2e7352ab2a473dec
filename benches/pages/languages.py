#!/usr/bin/env python3
"""Measures the cost of the languages of our own pages: start time, and memory after a request in each language.

    cargo build --release
    benches/pages/languages.py
    benches/pages/languages.py --ours PROGRAM     another build, for example before a change

A daemon with an empty spool is started several times. *start* is the processor time until its first response,
*idle* its memory at that time. Then its home page is requested in one language after another: *first* and *again*
are the time of the first response and the median of the next ones. The last columns are the memory after them,
with and without mapped files. All processes are stopped, and all files are removed.
"""

import argparse
import http.client
import pathlib
import re
import signal
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches/serving"))

import machine  # noqa: E402
import processes  # noqa: E402
import proxies  # noqa: E402
from load import Wrong  # noqa: E402

PROGRAM = ROOT / "target/release/wwwoffle"
TEXTS = ROOT / "src/pages/texts"

# By then the daemon has finished the work after its start, in seconds.
RESTS_AFTER = 1

# How often a page is requested again.
AGAIN = 20


def languages():
    """English, and the languages with a catalogue."""
    others = sorted(file.stem for file in TEXTS.glob("*.toml"))
    return ["en", *(tag for tag in others if tag != "en")]


class Asked:
    """A persistent connection to a daemon."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def page(self, language):
        """Requests the home page in a language and returns the response time in milliseconds."""
        began = time.perf_counter()
        self.connection.request("GET", "/", headers={"Accept-Language": language})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        took = 1000 * (time.perf_counter() - began)
        if answer.status != 200 or not re.search(f'<html lang="{language}"', text):
            raise Wrong(f"/ in {language} returned {answer.status}: {text[:500]}")
        return took


def in_memory(ours):
    """Its memory, and the part without mapped files, in MiB."""
    time.sleep(RESTS_AFTER)
    return [ours.process.resident(field) / 1024 for field in ("VmRSS", "RssAnon")]


def processor(ours):
    """The processor time of its threads, in milliseconds."""
    tasks = (processes.PROC / str(ours.process.pid)).glob("task/*/schedstat")
    return sum(int(processes.read(task).split()[0]) for task in tasks) / 1e6


def started(ours):
    """Restarts it with an empty spool. Returns the processor time until its first response in milliseconds, and its memory."""
    ours.stop()
    if ours.kept.exists():
        machine.remove(ours.kept)
    ours.start()
    asked = Asked(ours.port)
    asked.page("en")
    return processor(ours), *in_memory(ours)


def main():
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ours", default=PROGRAM, type=pathlib.Path, help="the program measured")
    parser.add_argument("--starts", type=int, default=20, help="number of starts")
    options = parser.parse_args()
    if not options.ours.exists():
        parser.error(f"{options.ours} is not there: cargo build --release, or --ours PROGRAM")
    with machine.scratch(None) as home:
        ours = proxies.Ours(home, machine.Processors(False).all, options.ours)
        try:
            starts = [started(ours) for _ in range(options.starts)]
            took, rss, own = (statistics.median(column) for column in zip(*starts))
            print(f"start {took:.1f} ms, idle {rss:.1f} MiB, its own {own:.1f} MiB\n")
            print("| | first | again | MiB | its own |\n|---|--:|--:|--:|--:|")
            asked = Asked(ours.port)
            for language in languages():
                first = asked.page(language)
                again = statistics.median(asked.page(language) for _ in range(AGAIN))
                rss, own = in_memory(ours)
                print(f"| {language} | {first:.1f} ms | {again:.1f} ms | {rss:.1f} | {own:.1f} |", flush=True)
        finally:
            ours.remove()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"not measured: {wrong}")
