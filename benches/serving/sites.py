"""Looking at answers whole, and the pages of spools that `generate` has made."""

import subprocess

import machine
from load import Wrong

# So many answers are looked at whole, if there are so many pages.
SAMPLES = 16

# Hosts of generated pages; `load.lua` knows it too.
HOSTS = 100

# What a file takes besides its body at most, with its share of directories, in bytes.
AROUND = 6_000


class Generated:
    """The pages `http://siteS.test/p/NNNNNNN` of a generated spool. They have no origin."""

    host = "site%d.test"

    def __init__(self, count, size):
        self.count = count
        self.name = f"{count:,} in the spool"
        self.size = size

    def make(self, generator, spool):
        """Writes the spool."""
        machine.require_space(spool.parent, self.count * (self.size + AROUND))
        command = [generator, "--spool", spool, "--entries", self.count]
        command += ["--size", self.size, "--hosts", HOSTS]
        subprocess.run([str(part) for part in command], check=True)
        return spool

    def requests(self):
        """How many requests have reached its origin: who does not exist is asked for nothing."""
        return 0

    def is_page(self, number, body):
        """Whether this is the body of a page."""
        return len(body) == self.size and f" {number:07}</title>".encode() in body

    def on_host(self, number):
        """The site that has this page alone."""
        return OneHost(f"site{number % HOSTS}.test")


class OneHost:
    """A site by its name alone."""

    def __init__(self, host):
        self.host = host


def samples(proxy, site, count):
    """Looks at some answers whole: status, length, every byte, and that they are hits."""
    for number in range(0, count, max(count // SAMPLES, 1)):
        status, fields, body = proxy.get(site.on_host(number), f"/p/{number:07}")
        if status != 200 or not site.is_page(number, body):
            raise Wrong(f"{proxy.name} answered {number} with {status} and {len(body)} bytes")
        if fields.get("Content-Length") != str(len(body)):
            raise Wrong(f"{proxy.name} told a wrong length of {number}")
        if not proxy.is_hit(fields):
            raise Wrong(f"{proxy.name} had no hit for {number}: {fields.items()}")
