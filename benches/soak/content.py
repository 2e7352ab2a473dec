"""The content of the origin: a function of URL and version only.

Every client can therefore verify its bytes without the origin. A body has an identity,
`scheme:path@version`, which a response contains in its field `X-Soak`.
"""

import hashlib
import zlib

FIELD = "x-soak"

# Bodies consist of blocks, so that a range needs only the blocks that it touches.
BLOCK = 64 * 1024


def _block(identity, number):
    return hashlib.shake_128(f"{identity}#{number}".encode()).digest(BLOCK)


def size_of(identity):
    """The length that the last segment of a path declares."""
    return int(identity.rsplit("@", 1)[0].rsplit("/", 1)[1])


def part(identity, start, end):
    """The bytes from start to end, without end."""
    if identity.split(":", 1)[1].startswith("/bomb/"):
        return bytes(end - start)
    first, last = start // BLOCK, max(start, end - 1) // BLOCK
    bytes_ = b"".join(_block(identity, number) for number in range(first, last + 1))
    return bytes_[start - first * BLOCK : end - first * BLOCK]


def whole(identity):
    return part(identity, 0, size_of(identity))


class Check:
    """Compares a body with the expected one, piece by piece."""

    def __init__(self, identity, start=0, coded=False):
        self.identity = identity
        self.at = start
        self.undo = zlib.decompressobj(31) if coded else None
        self.wrong_at = None

    def feed(self, piece):
        if self.undo:
            try:
                piece = self.undo.decompress(piece)
            except zlib.error:
                self.wrong_at = self.at
                return
        if piece and self.wrong_at is None:
            if piece != part(self.identity, self.at, self.at + len(piece)):
                self.wrong_at = self.at
            self.at += len(piece)

    def is_at_end(self, end=None):
        return self.at == (size_of(self.identity) if end is None else end)
