"""The row of short commands: from their start to their end."""

import functools
import statistics
import subprocess
import time

import hits
import machine
from report import Row

# The number of runs of a command in each round. Their median counts.
RUNS = 20

# What the start of any program takes.
FLOOR = "true"

COLUMNS = {"taken": ("ms", 1e-3, 1)}


def short(bench):
    """Commands that answer at once: without the spool, and from a running daemon."""
    ours = bench.ours()
    ours.wait_until_ready()
    commands = {
        FLOOR: [machine.find("true")],
        "--help": [ours.binary, "--help"],
        "hash URL": ours.verb("hash", "http://www.example.org/"),
        "status": ours.verb("status"),
    }
    subjects = {name: functools.partial(median, command) for name, command in commands.items()}
    row = Row("short commands", hits.in_turn(bench, subjects), COLUMNS, base=None)
    for name in commands:
        if name != FLOOR:
            row.wants("taken", 10, name, of=None)
    return row


def median(command):
    """The median time of a command, in seconds."""
    return {"taken": statistics.median(run(command) for _ in range(RUNS))}


def run(command):
    """The time of one run, in seconds."""
    text = [str(part) for part in command]
    begun = time.perf_counter()
    subprocess.run(text, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun
