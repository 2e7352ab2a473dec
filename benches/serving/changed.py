"""The row of a spool that other programs changed while the daemon was stopped."""

import functools
import hashlib
import time

import hits
import machine
import sites
from load import Wrong
from report import Row

# The number of files that are added, and as many that are removed and replaced; less in a small spool.
CHANGES = 1_000

# The bytes by which a replaced page is longer.
LONGER = 100

# One host more than in the large spool. So the pages from this number on have other URLs than those with the
# same numbers there.
OTHER_HOSTS = sites.HOSTS + 1

# How long the index may take to be made, and to be level after a change, in seconds.
MADE_WITHIN, LEVEL_WITHIN = 1800, 600

# The pause between two looks at the list, in seconds.
PAUSE = 0.1

COLUMNS = {
    "answered": ("first answer, s", 1, 3),
    "level": ("until the lists are level, s", 1, 2),
    "cpu": ("processor until then, s", 1, 2),
}


class Changes:
    """Files of the spool, and the files that change places with them."""

    def __init__(self, bench, spool, many):
        self.many = many
        count = min(CHANGES, many.count // 10)
        added = sites.Generated(OTHER_HOSTS + count, hits.SMALL)
        replaced = sites.Generated(count, hits.SMALL + LONGER)
        sources = [
            (added.make(bench.built("generate"), bench.home / "added", OTHER_HOSTS), OTHER_HOSTS, OTHER_HOSTS),
            (replaced.make(bench.built("generate"), bench.home / "replaced"), 0, sites.HOSTS),
            (bench.home / "removed", count, sites.HOSTS),
        ]
        self.pairs = [
            (file_of(spool, number, hosts), file_of(aside, number, hosts))
            for aside, first, hosts in sources
            for number in range(first, first + count)
        ]
        if not all(aside.exists() for _, aside in self.pairs[: 2 * count]):
            raise Wrong("the generated spools have other files than expected")
        if not all(file.exists() for file, _ in self.pairs[count:]):
            raise Wrong("the large spool has other files than expected")
        self.pages = [many, replaced]

    def swap(self):
        """Exchanges all files. Returns the numbers of files and bytes by which the spool has grown."""
        files = grown = 0
        for file, aside in self.pairs:
            had, has = size_of(file), size_of(aside)
            files += (has is not None) - (had is not None)
            grown += (has or 0) - (had or 0)
            exchange(file, aside)
        self.pages.reverse()
        return files, grown

    def undo(self):
        """Restores the spool."""
        if self.pages[0] is not self.many:
            self.swap()

    def is_current(self, body):
        """Whether this is the body that the first page has now."""
        return self.pages[0].is_page(0, body)


def file_of(spool, number, hosts):
    """The file of a page."""
    host = f"site{number % hosts}.test"
    key = hashlib.sha256(f"http://{host}/p/{number:07}".encode()).hexdigest()
    return spool / "http" / host / key[:2] / f"{key}.warc"


def size_of(file):
    """The size of a file in bytes, or None if it is missing."""
    return file.stat().st_size if file.exists() else None


def exchange(file, aside):
    """Exchanges two files, one of which may be missing."""
    between = aside.with_suffix(".between")
    for source, target in ((file, between), (aside, file), (between, aside)):
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)


def start(bench):
    """The start of a daemon whose large spool was changed: its first answer, and when its lists are level."""
    spool = bench.large_spool()
    ours = bench.ours(spool)
    changes = Changes(bench, spool, bench.large)
    # The last callback is called first.
    for name in ("added", "replaced", "removed"):
        bench.begun.callback(machine.remove, bench.home / name)
    bench.begun.callback(changes.undo)
    bench.begun.callback(ours.stop)
    entries, _ = wait_until(ours, MADE_WITHIN, lambda total: total[0] == bench.large.count)
    subjects = {"wwwoffle": functools.partial(once, ours, changes)}
    row = Row(f"start after changes by others, {entries:,} in the spool", hits.in_turn(bench, subjects), COLUMNS)
    row.wants("answered", 0.5, of=None)
    row.wants("level", 60, of=None)
    return row


def once(ours, changes):
    """Changes the spool of a stopped daemon and starts it."""
    entries, length = total_of(ours)
    ours.stop()
    files, grown = changes.swap()
    begun = time.monotonic()
    ours.start()
    status, fields, body = ours.get(changes.many.on_host(0), "/p/0000000")
    answered = time.monotonic() - begun
    if status != 200 or not changes.is_current(body) or not ours.is_hit(fields):
        raise Wrong(f"the first response was {status} with {len(body)} bytes")
    wanted = (entries + files, length + grown)
    wait_until(ours, LEVEL_WITHIN, lambda total: total == wanted)
    return {"answered": answered, "level": time.monotonic() - begun, "cpu": ours.cpu()}


def wait_until(ours, seconds, is_reached):
    """Waits until the sums of the lists are as wanted, and returns them."""
    deadline = time.monotonic() + seconds
    while not ((total := total_of(ours)) and is_reached(total)):
        if time.monotonic() > deadline:
            raise Wrong(f"the lists were not level after {seconds} s: {total}")
        time.sleep(PAUSE)
    return total


def total_of(ours):
    """The number of entries in the lists and the length of their files, or None while the index is made."""
    found = ours.api("/api/index?what=hosts&limit=1000")
    if found is None:
        return None
    return tuple(sum(host[field] for host in found["hosts"]) for field in ("entries", "bytes"))
