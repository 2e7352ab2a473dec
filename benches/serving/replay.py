#!/usr/bin/env python3
"""Measures what `wwwoffle run --replay` adds to a request, beside nginx that serves the same file.

    replay.py [--wwwoffle PROGRAM] [--requests N] [--size BYTES] [--most MILLISECONDS]

nginx serves a file. It is recorded, then replayed. One client asks both in turn, on one connection
each, and compares every body. With --most, the exit status is 1 if the median difference is larger.
"""

import argparse
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

import machine

# Requests before the measurement.
WARM_UP = 200

# Seconds for nginx to start, and for a response.
PATIENCE = 10


def configuration(home, port):
    """The configuration of nginx: one process, persistent connections."""
    return f"""daemon off; worker_processes 1; pid {home}/nginx.pid; error_log stderr error;
events {{ }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 10000000; root {home}/site;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fast;
  uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  server {{ listen 127.0.0.1:{port}; }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(address):
    connection = socket.create_connection(address, timeout=PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def ask(connection, target, host):
    """Sends a request. Returns the body and the seconds until its last byte."""
    request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode()
    begun = time.perf_counter()
    connection.sendall(request)
    received, length, body = b"", None, 0
    while length is None or len(received) - body < length:
        piece = connection.recv(1 << 20)
        if not piece:
            sys.exit(f"the connection ended after {len(received)} bytes")
        received += piece
        if length is None and b"\r\n\r\n" in received:
            head, _, _ = received.partition(b"\r\n\r\n")
            body = len(head) + 4
            if not head.startswith(b"HTTP/1.1 200"):
                sys.exit(f"expected status 200: {head[:200]!r}")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            length = int(fields[b"content-length"])
    return received[body:], time.perf_counter() - begun


def measure(arguments):
    """Asks nginx and the proxy in turn, and prints the medians. Runs under `wwwoffle run`."""
    host = f"127.0.0.1:{arguments.port}"
    proxy = os.environ["http_proxy"].removeprefix("http://").rstrip("/").rpartition(":")
    ways = {
        "nginx": (connect(("127.0.0.1", arguments.port)), "/file"),
        "replay": (connect((proxy[0], int(proxy[2]))), f"http://{host}/file"),
    }
    times = {name: [] for name in ways}
    for number in range(arguments.requests + WARM_UP):
        bodies = set()
        for name, (connection, target) in ways.items():
            body, seconds = ask(connection, target, host)
            bodies.add(body)
            if number >= WARM_UP:
                times[name].append(seconds * 1e3)
        if len(bodies) != 1:
            sys.exit("the bodies differ")
    medians = {name: statistics.median(measured) for name, measured in times.items()}
    added = medians["replay"] - medians["nginx"]
    ratio = medians["replay"] / medians["nginx"]
    print(f"{arguments.requests} requests of {arguments.size} bytes, medians: "
          f"nginx {medians['nginx']:.3f} ms, replay {medians['replay']:.3f} ms ({ratio:.2f} times); "
          f"added {added:.3f} ms")
    if arguments.most is not None and added > arguments.most:
        sys.exit(f"more than {arguments.most} ms")


def run(arguments):
    """Starts nginx, records the file and measures."""
    machine.require(["nginx"])
    with machine.scratch(None) as home:
        (home / "site").mkdir()
        (home / "site" / "file").write_bytes(os.urandom(arguments.size))
        # A proxy that runs as root starts its workers as another user.
        (home / "site" / "file").chmod(0o644)
        (home / "site").chmod(0o755)
        port = free_port()
        (home / "nginx.conf").write_text(configuration(home, port))
        nginx = subprocess.Popen([machine.find("nginx"), "-p", home, "-c", home / "nginx.conf"])
        try:
            begun = time.monotonic()
            while True:
                try:
                    connect(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    if nginx.poll() is not None or time.monotonic() - begun > PATIENCE:
                        sys.exit("nginx did not start")
                    time.sleep(0.02)
            fixture = home / "file.wacz"
            script = [sys.executable, pathlib.Path(__file__).resolve(), "--port", str(port)]
            script += ["--size", str(arguments.size), "--requests", str(arguments.requests)]
            if arguments.most is not None:
                script += ["--most", str(arguments.most)]
            program = [arguments.wwwoffle, "run", "--local"]
            record = program + ["--record", fixture, "--", *script, "--record-once"]
            subprocess.run(record, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            replay = subprocess.run(program + ["--replay", fixture, "--", *script])
            sys.exit(replay.returncode)
        finally:
            nginx.terminate()
            nginx.wait()


def record_once(arguments):
    """Requests the file through the recording proxy."""
    proxy = os.environ["http_proxy"].removeprefix("http://").rstrip("/").rpartition(":")
    host = f"127.0.0.1:{arguments.port}"
    ask(connect((proxy[0], int(proxy[2]))), f"http://{host}/file", host)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wwwoffle", default="target/release/wwwoffle", metavar="PROGRAM")
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--size", type=int, default=10_000, help="length of the file in bytes")
    parser.add_argument("--most", type=float, metavar="MILLISECONDS")
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--record-once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.port is None:
        run(arguments)
    elif arguments.record_once:
        record_once(arguments)
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
