"""A client that verifies everything: it reads responses byte by byte and classifies each one."""

import re
import socket

import content

# A read that takes longer than this is a hang, in seconds.
PATIENCE = 90

PIECE = 64 * 1024


class Broken(Exception):
    """The connection ended, or the bytes cannot be parsed."""


class Hang(Exception):
    """No bytes arrived for too long."""


class Answer:
    def __init__(self, status, fields):
        self.status, self.fields = status, fields
        self.identity = fields.get(content.FIELD)
        # Whether the body is as long as its framing promised.
        self.is_whole = False
        # The fault in its bytes, if any.
        self.wrong = None
        self.length = 0
        self.is_left = False


class Connection:
    """One connection to the proxy, plain or inside a CONNECT."""

    def __init__(self, port, tls=None, inside=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.buffer = b""
        self.is_open = True
        if tls:
            self.socket.sendall(f"CONNECT {inside} HTTP/1.1\r\nHost: {inside}\r\n\r\n".encode())
            head = self._head()
            if " 200 " not in head.split("\r\n", 1)[0] + " ":
                raise Broken(head)
            host = inside.split(":")[0]
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)

    def close(self):
        self.is_open = False
        try:
            self.socket.close()
        except OSError:
            pass

    def _more(self):
        try:
            more = self.socket.recv(PIECE)
        except TimeoutError as error:
            raise Hang from error
        except OSError as error:
            raise Broken(str(error)) from error
        if not more:
            raise Broken("closed")
        self.buffer += more

    def _head(self):
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        return head.decode("latin-1")

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._more()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def _take(self, length, sink):
        """Passes this many bytes on, or all up to the end of the connection for None."""
        left = length
        while left is None or left > 0:
            if not self.buffer:
                try:
                    self._more()
                except Broken:
                    if left is None:
                        return
                    raise
            piece = self.buffer if left is None else self.buffer[:left]
            self.buffer = self.buffer[len(piece) :]
            left = None if left is None else left - len(piece)
            sink(piece)

    def ask(self, method, target, fields=(), body=b"", leave_after=None):
        """Sends a request, reads the response, and checks every byte of it."""
        host = target.split("/")[2] if "://" in target else dict(fields)["Host"]
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in fields if name != "Host"]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        try:
            self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        except OSError as error:
            raise Broken(str(error)) from error
        while True:
            head = self._head()
            status = int(head.split(" ", 2)[1])
            if status >= 200:
                break
        told = {}
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            told[name.lower()] = value.strip()
        answer = Answer(status, told)
        self._read(method, answer, leave_after)
        if told.get("connection", "").lower() == "close" or not answer.is_whole:
            self.close()
        return answer

    def _read(self, method, answer, leave_after):
        sink = _Sink(answer, leave_after)
        try:
            if method == "HEAD" or answer.status in (204, 304):
                pass
            elif answer.fields.get("transfer-encoding", "").lower() == "chunked":
                while size := int(self._line().split(b";")[0], 16):
                    self._take(size, sink.feed)
                    if self._line():
                        raise Broken("a chunk without its end")
                while self._line():
                    pass
            elif "content-length" in answer.fields:
                self._take(int(answer.fields["content-length"]), sink.feed)
            else:
                self._take(None, sink.feed)
            answer.is_whole = True
            sink.finish(method)
        except Broken:
            # The received bytes are a prefix and must be correct.
            pass
        except _Left:
            answer.is_left = True
            self.close()


class _Left(Exception):
    pass


class _Sink:
    def __init__(self, answer, leave_after):
        self.answer, self.leave_after = answer, leave_after
        self.check, self.end, self.parts = None, None, None
        fields = answer.fields
        is_coded = fields.get("content-encoding") == "gzip"
        span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", fields.get("content-range", ""))
        if not answer.identity or answer.status not in (200, 206):
            return
        if answer.status == 206 and span:
            self.end = int(span[2]) + 1
            self.check = content.Check(answer.identity, int(span[1]))
            if span[3] not in ("*", str(content.size_of(answer.identity))):
                answer.wrong = f"a part of {span[3]} bytes"
        elif answer.status == 206:
            self.parts = b""
        else:
            self.check = content.Check(answer.identity, coded=is_coded)

    def feed(self, piece):
        self.answer.length += len(piece)
        if self.check:
            self.check.feed(piece)
            if self.check.wrong_at is not None:
                self.answer.wrong = f"wrong bytes from {self.check.wrong_at} on"
        elif self.parts is not None:
            self.parts += piece
        if self.leave_after is not None and self.answer.length > self.leave_after:
            raise _Left

    def finish(self, method):
        if method == "HEAD":
            return
        if self.check and not self.check.is_at_end(self.end):
            self.answer.wrong = f"looks whole, and ends at {self.check.at}"
        if self.parts is not None:
            self.answer.wrong = _several(self.answer, self.parts)


def _several(answer, body):
    """The fault of a multipart/byteranges, if any."""
    boundary = re.search(r'boundary="?([^";]+)', answer.fields.get("content-type", ""))
    if not boundary:
        return "a 206 that says neither which part nor which parts"
    mark = b"--" + boundary[1].encode()
    rest = body
    while True:
        rest = rest.removeprefix(b"\r\n")
        if rest == mark + b"--\r\n":
            return None
        if not rest.startswith(mark + b"\r\n"):
            return "parts without their boundary"
        head, _, rest = rest[len(mark) + 2 :].partition(b"\r\n\r\n")
        span = re.search(rb"(?im)^content-range: bytes (\d+)-(\d+)/", head)
        if not span:
            return "a part that does not say which"
        start, end = int(span[1]), int(span[2]) + 1
        if rest[: end - start] != content.part(answer.identity, start, end):
            return f"wrong bytes in the part {start}-{end - 1}"
        rest = rest[end - start :]
