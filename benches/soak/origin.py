"""The origin of the soak test: valid responses with every framing, and every kind of fault.

    /f/…/SIZE   never changes, fresh for a day          /u/…/SIZE  changes, fresh for two seconds
    /n/…/SIZE   no-store                                /c/…/SIZE  in chunks      /e/…/SIZE  until close
    /g/…/SIZE   gzip if the request accepts it         /v/…/SIZE  differs by Accept-Language
    /y/…/SIZE   breaks off at a random offset, supports ranges: can be resumed
    /p/…/SIZE   the response to a form is a function of the form
    /short/ /reset/ /stall/ /badchunk/ /silence/ /halfhead/ /noise/ /twolengths/ /slow/ /bomb/
"""

import hashlib
import random
import re
import socket
import struct
import threading
import time
import zlib

import content

# How long a connection may be silent, and how long a stalled response stalls, in seconds.
PATIENCE = 20

TROUBLE = ["short", "reset", "stall", "badchunk", "silence", "halfhead", "noise", "twolengths", "bomb"]


def _gzip(body):
    coder = zlib.compressobj(6, zlib.DEFLATED, 31)
    return coder.compress(body) + coder.flush()


class Origin:
    def __init__(self, tls=None):
        self.scheme = "https" if tls else "http"
        self.tls = tls
        self.lock = threading.Lock()
        self.versions = {}
        self.requests = 0
        # The time at which the proxy went offline, or None. Any later request is a leak.
        self.closed_since = None
        self.leaks = []
        self.bombs = {}
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def version(self, path):
        with self.lock:
            return self.versions.get(path, 0)

    def change(self, path):
        with self.lock:
            self.versions[path] = self.versions.get(path, 0) + 1

    def _accept(self):
        while True:
            client, _ = self.socket.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            client.settimeout(PATIENCE)
            if self.tls:
                client = self.tls.wrap_socket(client, server_side=True)
            buffer = b""
            while True:
                while b"\r\n\r\n" not in buffer:
                    more = client.recv(65536)
                    if not more or len(buffer) > 1 << 20:
                        return
                    buffer += more
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                length = re.search(rb"(?im)^content-length: *(\d+)", head)
                length = int(length[1]) if length else 0
                while len(buffer) < length:
                    more = client.recv(65536)
                    if not more:
                        return
                    buffer += more
                body, buffer = buffer[:length], buffer[length:]
                if not self._answer(client, head.decode("latin-1"), body):
                    return
        except (OSError, ValueError):
            pass
        finally:
            client.close()

    def _answer(self, client, head, form):
        method, path, _ = head.split("\r\n", 1)[0].split(" ", 2)
        fields = {}
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            fields[name.lower()] = value.strip()
        with self.lock:
            self.requests += 1
            if self.closed_since and time.monotonic() - self.closed_since > 1:
                self.leaks.append(f"{method} {path}")
        kind = path.split("/")[1]
        if kind in TROUBLE:
            return self._trouble(client, kind, path)
        version, vary = str(self.version(path)), ""
        if kind == "v":
            version += "-" + (fields.get("accept-language", "none")[:2])
            vary = "Vary: Accept-Language\r\n"
        if kind == "p":
            version = hashlib.sha256(form).hexdigest()[:16]
        identity = f"{self.scheme}:{path}@{version}"
        tag = f'"{version}"'
        control = {"u": "max-age=2", "n": "no-store"}.get(kind, "max-age=86400")
        told = f"X-Soak: {identity}\r\nCache-Control: {control}\r\n{vary}ETag: {tag}\r\n"
        told += time.strftime("Date: %a, %d %b %Y %H:%M:%S GMT\r\n", time.gmtime())
        told += "Content-Type: application/octet-stream\r\n"
        asked = [one.strip() for one in fields.get("if-none-match", "").split(",")]
        if method == "GET" and tag in asked:
            client.sendall(f"HTTP/1.1 304 Not Modified\r\n{told}\r\n".encode())
            return True
        return self._body(client, method, kind, identity, tag, told, fields)

    def _body(self, client, method, kind, identity, tag, told, fields):
        size = content.size_of(identity)
        if kind == "g" and "gzip" in fields.get("accept-encoding", ""):
            body = _gzip(content.whole(identity))
            told = told.replace(tag, tag[:-1] + '-gz"') + "Vary: Accept-Encoding\r\n"
            told += f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"
            client.sendall(f"HTTP/1.1 200 OK\r\n{told}\r\n".encode() + (b"" if method == "HEAD" else body))
            return True
        start, end, status = 0, size, "200 OK"
        if kind in "fuy":
            told += "Accept-Ranges: bytes\r\n"
            one = re.fullmatch(r"bytes=(\d+)-(\d*)", fields.get("range", ""))
            if one and int(one[1]) < size and fields.get("if-range", tag) == tag:
                start, end = int(one[1]), min(size, int(one[2] or size - 1) + 1)
                status = "206 Partial Content"
                told += f"Content-Range: bytes {start}-{end - 1}/{size}\r\n"
        if kind == "c":
            told += "Transfer-Encoding: chunked\r\n"
        elif kind == "e":
            told += "Connection: close\r\n"
        else:
            told += f"Content-Length: {end - start}\r\n"
        client.sendall(f"HTTP/1.1 {status}\r\n{told}\r\n".encode())
        if method == "HEAD":
            return kind != "e"
        stop = end
        if kind == "y" and random.random() < 0.7:
            stop = random.randrange(start, end + 1)
        at = start
        while at < stop:
            piece = content.part(identity, at, min(stop, at + content.BLOCK))
            at += len(piece)
            client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if kind == "c" else piece)
            if kind == "y":
                time.sleep(0.01)
        if kind == "c":
            client.sendall(b"0\r\n\r\n")
        return stop == end and kind != "e"

    def _trouble(self, client, kind, path):
        identity = f"{self.scheme}:{path}@0"
        size = content.size_of(identity)
        told = f"HTTP/1.1 200 OK\r\nX-Soak: {identity}\r\nCache-Control: max-age=86400\r\n"
        length = f"Content-Length: {size}\r\n\r\n"
        half = content.part(identity, 0, size // 2)
        if kind == "short":
            client.sendall((told + length).encode() + half)
        elif kind == "reset":
            client.sendall((told + length).encode() + half)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif kind == "stall":
            client.sendall((told + length).encode() + half)
            client.recv(1)
        elif kind == "badchunk":
            chunk = b"5\r\n" + half[:5] + b"\r\nxyz\r\n"
            client.sendall((told + "Transfer-Encoding: chunked\r\n\r\n").encode() + chunk)
        elif kind == "halfhead":
            client.sendall(told.encode())
        elif kind == "noise":
            client.sendall(bytes(range(256)) * 4)
        elif kind == "twolengths":
            client.sendall((told + "Transfer-Encoding: chunked\r\n" + length).encode() + b"0\r\n\r\n")
        elif kind == "bomb":
            with self.lock:
                if size not in self.bombs:
                    self.bombs[size] = _gzip(bytes(size))
                body = self.bombs[size]
            told += f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(told.encode() + body)
        return False
