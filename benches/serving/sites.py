"""Checks of whole responses, and the pages of generated spools."""

import subprocess

import machine
from load import Wrong

# The number of responses that are checked byte by byte, if there are as many pages.
SAMPLES = 16

# The number of hosts of generated pages, the same as in `load.lua`.
HOSTS = 100

# The largest overhead of a file beyond its body, including directories, in bytes.
AROUND = 6_000


class Generated:
    """The pages `http://siteS.test/p/NNNNNNN` of a generated spool, which have no origin."""

    host = "site%d.test"

    def __init__(self, count, size):
        self.count = count
        self.name = f"{count:,} in the spool"
        self.size = size

    def make(self, generator, spool, hosts=HOSTS):
        """Writes the spool."""
        machine.require_space(spool.parent, self.count * (self.size + AROUND))
        command = [generator, "--spool", spool, "--entries", self.count]
        command += ["--size", self.size, "--hosts", hosts]
        subprocess.run([str(part) for part in command], check=True)
        return spool

    def requests(self):
        """The number of requests to its origin: zero, since it does not exist."""
        return 0

    def is_page(self, number, body):
        """Whether this is the body of a page."""
        return len(body) == self.size and f" {number:07}</title>".encode() in body

    def on_host(self, number):
        """The site with only this page."""
        return OneHost(f"site{number % HOSTS}.test")


class OneHost:
    """A site without content, only with a name."""

    def __init__(self, host):
        self.host = host


def samples(proxy, site, count, first=0):
    """Checks some whole responses from the page `first` on: status, length, every byte, and that they are
    hits."""
    for number in range(first, first + count, max(count // SAMPLES, 1)):
        status, fields, body = proxy.get(site.on_host(number), f"/p/{number:07}")
        if status != 200 or not site.is_page(number, body):
            raise Wrong(f"{proxy.name} returned {status} for {number} and {len(body)} bytes")
        if fields.get("Content-Length") != str(len(body)):
            raise Wrong(f"{proxy.name} declared a wrong length for {number}")
        if not proxy.is_hit(fields):
            raise Wrong(f"{proxy.name} had no hit for {number}: {fields.items()}")
