"""The row of archives: a WARC imported and exported, beside a plain copy of it."""

import base64
import functools
import gzip
import hashlib
import json
import os
import subprocess
import time

import documents
import hits
import machine
import processes
import proxies
from load import Wrong
from report import Row

# The number of different texts. A record has one of them, with its own title.
TEXTS = 500

# The number of hosts of the records.
HOSTS = 100

# The wanted speed in MB/s, unless the disk is slower.
WANTED = 100

# Free space for each record: the archive, its copy, its entry and the export, in bytes.
SPACE = 50_000

# Bytes of one read of the plain copy.
BLOCK = 1 << 20

IMPORT, EXPORT, COPY = "import", "export, compressed", "plain copy with fsync"

COLUMNS = {
    "speed": ("MB/s of records", 1e6, 1),
    "seconds": ("seconds", 1, 1),
    "cpu": ("processor each, µs", 1, 1),
}


class Archive:
    """A WARC of pages."""

    def __init__(self, path, count):
        self.path, self.count = path, count
        writer = documents.Writer()
        self.texts = [writer.page(number) for number in range(TEXTS)]
        with open(path, "wb") as out:
            for number in range(count):
                out.write(self.record(number))
        self.length = path.stat().st_size

    def url(self, number):
        """The URL of a record."""
        return f"http://site{number % HOSTS}.test/p/{number:07}"

    def body(self, number):
        """The body of a record."""
        return self.texts[number % TEXTS].replace(b"</title>", b" of %07d</title>" % number, 1)

    def record(self, number):
        """A record, with the digest that crawlers write."""
        body = self.body(number)
        digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
        block = (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {self.url(number)}\r\n"
            f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>\r\n"
            f"WARC-Date: 2026-05-01T10:00:00Z\r\nWARC-Payload-Digest: sha1:{digest}\r\n"
            "Content-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        )
        return head.encode() + block + b"\r\n\r\n"


def exchange(bench):
    """An archive imported into a new spool, exported from it, and copied."""
    machine.require_space(bench.home, bench.records * SPACE)
    archive = Archive(bench.home / "records.warc", bench.records)
    # Never started: the verbs work on the spool without a daemon.
    ours = proxies.Ours(bench.home, bench.cpus.proxy, bench.binary)
    bench.begun.callback(ours.remove)
    exported = ours.home / "exported.warc.gz"
    subjects = {
        IMPORT: functools.partial(imported, bench, ours, archive),
        EXPORT: functools.partial(export, bench, ours, archive, exported),
        COPY: functools.partial(copied, bench, archive),
    }
    row = Row(f"archive of {bench.records:,} records", hits.in_turn(bench, subjects), COLUMNS, base=COPY)
    check(archive, exported)
    wanted = min(WANTED, row.median(COPY, "speed"))
    for name in (IMPORT, EXPORT):
        row.wants("speed", round(wanted, 1), name, at_least=True, of=None)
    archive.path.unlink()
    return row


def imported(bench, ours, archive):
    """Imports the archive into a new spool."""
    machine.remove(ours.kept)
    command = ours.verb("import", "--json", archive.path)
    told, took, used = processes.timed(command, bench.cpus.proxy, subprocess.PIPE)
    if (kept := json.loads(told)["kept"]) != archive.count:
        raise Wrong(f"{kept} of {archive.count} records were imported")
    return figures_of(archive, took, used)


def export(bench, ours, archive, exported):
    """Exports all entries of the spool."""
    exported.unlink(missing_ok=True)
    command = ours.verb("export", "--json", exported)
    told, took, used = processes.timed(command, bench.cpus.proxy, subprocess.PIPE)
    if (entries := json.loads(told)["entries"]) != archive.count:
        raise Wrong(f"{entries} of {archive.count} records were exported")
    return figures_of(archive, took, used)


def copied(bench, archive):
    """Copies the archive and waits for the disk."""
    target = bench.home / "copy.warc"
    used, begun = time.process_time(), time.monotonic()
    with open(archive.path, "rb") as source, open(target, "wb") as out:
        while block := source.read(BLOCK):
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    took, used = time.monotonic() - begun, time.process_time() - used
    target.unlink()
    return figures_of(archive, took, used)


def figures_of(archive, took, used):
    """The figures of one pass over the archive."""
    return {
        "speed": archive.length / took,
        "seconds": took,
        "cpu": used / archive.count * 1e6,
    }


def check(archive, exported):
    """Compares every exported body with that of its record."""
    urls = {archive.url(number): number for number in range(archive.count)}
    with gzip.open(exported) as file:
        while (fields := head_of(file)) is not None:
            block = file.read(int(fields["content-length"]))
            file.read(4)
            if fields["warc-type"] != "response":
                continue
            number = urls.pop(fields["warc-target-uri"], None)
            if number is None or block.partition(b"\r\n\r\n")[2] != archive.body(number):
                raise Wrong(f"the export has other bytes for {fields['warc-target-uri']}")
    if urls:
        raise Wrong(f"the export lacks {len(urls)} records, such as {next(iter(urls))}")


def head_of(file):
    """The fields of the next record, or None at the end."""
    if not file.readline():
        return None
    fields = {}
    while line := file.readline().strip():
        name, _, value = line.decode().partition(":")
        fields[name.lower()] = value.strip()
    return fields
