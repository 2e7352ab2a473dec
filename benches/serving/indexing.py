"""The row of the index: what it costs for each page, and when lists and search have the page."""

import functools
import threading
import time

import documents
import hits
import load
from load import Wrong
from report import Row

# The connections of the clients that are served.
CONNECTIONS = 16

# The pauses between two pages whose appearance in the list is timed, and between two looks, in seconds.
PAUSE, LOOKS_EVERY = 0.2, 0.02

# How long such a page may take to appear before the run ends, in seconds.
APPEARS_WITHIN = 30

COLUMNS = {
    "each": ("index thread each, µs", 1, 1),
    "share": ("of a core, while clients are served", 1, 2),
    "listed": ("until a page is in the list at the latest, s", 1, 2),
    "words": ("until all words are, after the load, s", 1, 1),
    "pages": ("pages", 1, 0),
}


class Appearances:
    """Fetches a new page from time to time, and times how long the list does not show it."""

    def __init__(self, ours, site):
        self.ours, self.site = ours, site
        # Another name of the origin, so that the pages of the load are not in the same list.
        self.host = f"localhost:{site.port}"
        self.times = []
        self.failure = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def run(self):
        """Times one page after the other until the end."""
        try:
            while not self.ended.wait(PAUSE):
                self.times.append(self.time_of(f"/p/{len(self.times):07}"))
        except (Wrong, OSError) as failure:
            self.failure = failure

    def time_of(self, path):
        """The seconds from the response with a page until the list shows the page."""
        status, _, _ = self.ours.get(self, path)
        if status != 200:
            raise Wrong(f"wwwoffle returned {status} for http://{self.host}{path}")
        begun = time.monotonic()
        while time.monotonic() < begun + APPEARS_WITHIN:
            found = self.ours.api(f"/api/index?host={self.host}&sort=stored&limit=1000")
            if found and any(entry["url"].endswith(path) for entry in found["entries"]):
                return time.monotonic() - begun
            time.sleep(LOOKS_EVERY)
        raise Wrong(f"the list did not show a page within {APPEARS_WITHIN} s")

    def longest(self):
        """The longest time."""
        if self.failure or not self.times:
            raise Wrong(f"no page was timed: {self.failure}")
        return max(self.times)


def pages(bench):
    """The index while misses of HTML are stored, each round in a new spool."""
    site = bench.start(documents.Documents(bench.home, bench.cpus.load))
    ours = bench.ours()
    subjects = {ours.name: functools.partial(once, bench, ours, site)}
    row = Row("index of pages of 10 kB that are stored", hits.in_turn(bench, subjects), COLUMNS)
    row.wants("each", 100, of=None)
    row.wants("share", 0.5, of=None)
    row.wants("listed", 1, of=None)
    row.wants("words", 60, of=None)
    return row


def once(bench, ours, site):
    """Stores pages for some seconds, then waits until all are read. Then stores others, and reads lists."""
    ours.forget()
    ours.settle()
    before, begun = ours.index_cpu(), time.monotonic()
    pages = load.misses(ours, site, 0, CONNECTIONS, bench.seconds, bench.cpus.load)["requests"]
    share = (ours.index_cpu() - before) / (time.monotonic() - begun)
    begun = time.monotonic()
    ours.settle()
    words, used = time.monotonic() - begun, ours.index_cpu() - before
    # A list makes the index hurry, so this is not measured together with its cost.
    with Appearances(ours, site) as appearances:
        load.misses(ours, site, load.AHEAD, CONNECTIONS, bench.seconds, bench.cpus.load)
    return {
        "each": used / pages * 1e6,
        "share": share,
        "listed": appearances.longest(),
        "words": words,
        "pages": pages,
    }
