"""Rows of one body of 1 GiB: stored during the download, and sent from the stored copy."""

import functools
import hashlib
import socket
import time

import hits
import proxies
from load import Wrong
from report import TRANSFER, Row

# Bytes per read of the client.
TAKEN_AT_ONCE = 1 << 20

# How long a proxy may go on working after the client has received everything, in seconds.
SETTLES_WITHIN = 30

# A proxy is idle if its processor time is unchanged over this many polls, this many seconds apart.
LOOKS, APART = 5, 0.1


def fetch(proxy, site, path, digest=None):
    """Reads a body of 1 GiB and compares its digest if one is given. Returns whether it was a hit."""
    request = f"GET {proxy.target(site, path)} HTTP/1.1\r\nHost: {site.host}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxy.port), 120) as connection:
        connection.sendall(request.encode())
        head, taken, hasher = b"", 0, hashlib.sha256()
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096) or fail(proxy, "ended in the head")
        head, _, rest = head.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200") or f"{proxies.BIG}".encode() not in head:
            fail(proxy, f"answered {head!r}")
        block, taken = memoryview(bytearray(TAKEN_AT_ONCE)), len(rest)
        hasher.update(rest)
        while taken < proxies.BIG:
            got = connection.recv_into(block) or fail(proxy, f"ended after {taken} bytes")
            taken += got
            if digest:
                hasher.update(block[:got])
    if digest and hasher.hexdigest() != digest:
        fail(proxy, "sent other bytes than the origin")
    return bool(proxy.hit.search(told(head, proxy.field)))


def fail(proxy, why):
    """Ends the run."""
    raise Wrong(f"{proxy.name} {why}")


def told(head, field):
    """The value of a field in a head, or an empty string."""
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == field.lower():
            return value.strip()
    return ""


def measured(proxy, site, want_hit):
    """Reads the body once and measures its time, its processor time, and the added memory."""
    if not want_hit:
        proxy.forget()
        # So that the setup with the first request of a daemon is not measured.
        proxy.get(site, "/p/0000000")
    settle(proxy)
    proxy.process.reset_peak()
    used, resident, begun = proxy.cpu(), proxy.process.resident(), time.monotonic()
    if fetch(proxy, site, proxies.BIG_PATH) != want_hit:
        fail(proxy, "had no hit" if want_hit else "had a hit")
    took = time.monotonic() - begun
    settle(proxy)
    added = proxy.process.resident("VmHWM") - resident
    return {"seconds": took, "cpu": proxy.cpu() - used, "added": max(added, 0)}


def settle(proxy):
    """Waits until the proxy is idle."""
    deadline, seen = time.monotonic() + SETTLES_WITHIN, [proxy.cpu()]
    while time.monotonic() < deadline and (len(seen) < LOOKS or len(set(seen[-LOOKS:])) > 1):
        time.sleep(APART)
        seen.append(proxy.cpu())


def both(bench, work, want_hit):
    """Measures ours and nginx alternately, after checking that they store every byte."""
    origin = bench.origin(hits.SIZE)
    digest = origin.make_big()
    subjects = {}
    for proxy in (bench.ours(), bench.nginx(origin)):
        fetch(proxy, origin, proxies.BIG_PATH)
        settle(proxy)
        if not fetch(proxy, origin, proxies.BIG_PATH, digest):
            fail(proxy, "did not keep the large file")
        subjects[proxy.name] = functools.partial(measured, proxy, origin, want_hit)
    return Row(work, hits.in_turn(bench, subjects), TRANSFER)


def miss(bench):
    """1 GiB that is not stored yet: from the origin to the client and the disk."""
    row = both(bench, "1 GiB, a miss", want_hit=False)
    row.wants("cpu", 1.0)
    row.wants("added", 8, of=None)
    return row


def hit(bench):
    """1 GiB that is stored, compared with nginx's `sendfile`."""
    row = both(bench, "1 GiB, a hit", want_hit=True)
    row.wants("cpu", 2.0)
    return row
