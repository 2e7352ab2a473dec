#!/usr/bin/env python3
"""Mixed load on the real daemon for as long as you like: soak.py [--minutes 30] [--program FILE]

Clients request stored and missing pages, large files, ranges, HTTPS through the daemon's own authority,
and forms; some are slow, some disconnect. The origin responds correctly, or cuts, stalls, resets, lies
and sends bombs. At the same time the mode changes, the configuration is rewritten, the queue is fetched,
and in the second part the daemon is stopped, or killed, and started again.

Every byte that a client gets is compared with the content of its URL and version (content.py). Memory,
descriptors, threads and temporary files are checked when the daemon is idle. The results are printed as
a table, and the status is 1 after any fault. Needs only Python and the command `openssl`.
"""

import argparse
import collections
import os
import random
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import client
import origin
from daemon import Daemon

PERSON = [("Accept", "text/html,*/*;q=0.8"), ("Sec-Fetch-Dest", "document")]

# The kinds of requests, and their relative frequency.
WORK = {
    "hit": 30, "miss": 10, "large": 1, "range": 8, "ranges": 3, "https": 8, "changing": 8, "reload": 4,
    "form": 4, "head": 2, "conditional": 3, "language": 4, "coded": 5, "chunked": 3, "until-close": 2,
    "no-store": 2, "resumed": 2, "trouble": 4, "leave": 5, "slow": 1,
}

# A body that was complete this many seconds ago must survive a crash. A batch is synced four times
# a second, but more slowly on a busy machine.
SETTLE = 5


class Soak:
    def __init__(self, options, home):
        self.options, self.home = options, home
        self.daemon = Daemon(options.program, home)
        self.lock = threading.Lock()
        self.done = collections.Counter()
        self.faults, self.kept, self.rows = [], {}, []
        self.mode, self.is_running, self.is_down = "online", True, False
        # The number of changes to the daemon. A response counts only if there was no change during it.
        self.turn = 0
        self.authority()
        self.plain, self.secure = origin.Origin(), origin.Origin(self.server_tls)
        self.started = time.monotonic()

    def authority(self):
        """Creates our own authority, and a certificate for the address of the origin."""
        def run(*words):
            subprocess.run(["openssl", *words], cwd=self.home, check=True, capture_output=True)
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
            "-keyout", "ca.key", "-out", "origin.pem", "-subj", "/CN=soak")
        run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "leaf.key",
            "-out", "leaf.csr", "-subj", "/CN=127.0.0.1")
        with open(os.path.join(self.home, "san"), "w") as file:
            file.write("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
        run("x509", "-req", "-in", "leaf.csr", "-CA", "origin.pem", "-CAkey", "ca.key", "-days", "9",
            "-CAcreateserial", "-extfile", "san", "-out", "leaf.pem")
        self.server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server_tls.load_cert_chain(os.path.join(self.home, "leaf.pem"), os.path.join(self.home, "leaf.key"))

    def trust(self):
        status, pem = self.daemon.verb("ca", "export")
        assert status == 0, pem
        tls = ssl.create_default_context(cadata=pem)
        self.client_tls = tls

    def wrong(self, what):
        with self.lock:
            self.faults.append(f"{time.monotonic() - self.started:7.1f} s  {what}")
        print("WRONG", what, flush=True)

    # The clients.

    def work(self, seed):
        chance, connections = random.Random(seed), {}
        kinds, weights = list(WORK), list(WORK.values())
        while self.is_running:
            if self.is_down:
                time.sleep(0.1)
                continue
            kind = chance.choices(kinds, weights)[0]
            began, turn, mode = time.monotonic(), self.turn, self.mode
            try:
                answer = self.one(kind, chance, connections)
            except client.Hang:
                self.wrong(f"{kind}: nothing came for {client.PATIENCE} s")
                connections.clear()
                continue
            except (client.Broken, OSError, ValueError, ssl.SSLError) as error:
                connections.clear()
                with self.lock:
                    self.done[kind, "no answer"] += 1
                # A persistent connection may end at any moment, and all end when the daemon is stopped.
                if isinstance(error, ValueError):
                    self.wrong(f"{kind}: {error!r}")
                time.sleep(0.02)
                continue
            self.judge(kind, answer, began, mode if turn == self.turn else None)
            if chance.random() < 0.02:
                for connection in connections.values():
                    connection.close()
                connections.clear()
        for connection in connections.values():
            connection.close()

    def connection(self, connections, scheme):
        known = connections.get(scheme)
        if known is None or not known.is_open:
            inside = f"127.0.0.1:{self.secure.port}" if scheme == "https" else None
            tls = self.client_tls if inside else None
            known = connections[scheme] = client.Connection(self.daemon.port, tls, inside)
        return known

    def one(self, kind, chance, connections):
        fields, method, form, leave, floor = [("X-From", "soak")], "GET", b"", None, 0
        scheme = "https" if kind == "https" or chance.random() < 0.1 else "http"
        fresh = chance.randrange(1 << 40)
        small = chance.choice([0, 1, 700, 5_000, 10_000, 10_000, 60_000, 200_000])
        path = f"/f/hit{chance.randrange(300)}/{10_000}"
        if kind == "miss":
            path = f"/f/miss{fresh}/{small}"
        elif kind == "large":
            path = f"/f/large{chance.randrange(20)}/{chance.choice([3, 8, 30]) << 20}"
        elif kind in ("range", "ranges"):
            path = f"/f/film{chance.randrange(40)}/{2_000_000}"
            spans = [chance.randrange(2_000_000) for _ in range(1 if kind == "range" else chance.randrange(2, 6))]
            fields.append(("Range", "bytes=" + ",".join(f"{at}-{at + chance.randrange(90_000)}" for at in spans)))
        elif kind in ("changing", "reload"):
            path = f"/u/page{chance.randrange(30)}/{7_000}"
            if kind == "reload":
                fields.append(("Cache-Control", "no-cache"))
                floor = (self.secure if scheme == "https" else self.plain).version(path)
        elif kind == "form":
            path, method, form = f"/p/form{chance.randrange(9)}/{3_000}", "POST", b"a=%d" % chance.randrange(500)
        elif kind == "head":
            method = "HEAD"
        elif kind == "conditional":
            fields.append(("If-None-Match", '"0"'))
        elif kind == "language":
            path = f"/v/text{chance.randrange(20)}/{4_000}"
            fields.append(("Accept-Language", chance.choice(["de", "en", "fr"])))
        elif kind == "coded":
            path = f"/g/coded{chance.randrange(200)}/{40_000}"
            fields.append(("Accept-Encoding", chance.choice(["gzip", "identity", "gzip;q=0"])))
        elif kind in ("chunked", "until-close", "no-store", "resumed"):
            letter = {"chunked": "c", "until-close": "e", "no-store": "n", "resumed": "y"}[kind]
            path = f"/{letter}/x{fresh % 5_000}/{small if letter != 'y' else 400_000}"
        elif kind == "trouble":
            what = chance.choice(origin.TROUBLE)
            if what == "bomb" and chance.random() < 0.8:
                what = "short"
            path = f"/{what}/t{fresh}/{150_000_000 if what == 'bomb' else 50_000}"
        elif kind == "leave":
            path, leave = f"/f/left{fresh % 400}/{1_500_000}", chance.randrange(400_000)
        elif kind == "slow":
            path, leave = f"/f/slow{fresh % 50}/{4_000_000}", chance.randrange(3_000_000)
        if chance.random() < 0.2:
            fields += PERSON
        connection = self.connection(connections, scheme)
        port = (self.secure if scheme == "https" else self.plain).port
        host = f"127.0.0.1:{port}"
        target = path if scheme == "https" else f"http://{host}{path}"
        fields.append(("Host", host))
        answer = connection.ask(method, target, fields, form, leave)
        answer.asked, answer.floor, answer.method = f"{scheme}:{path}", floor, method
        return answer

    def judge(self, kind, answer, began, mode):
        """`mode` is the mode during the whole request, or None if it may have changed."""
        name = {True: "whole", False: "cut"}[answer.is_whole]
        name = "left" if answer.is_left else f"{answer.status} {name}"
        with self.lock:
            self.done[kind, name] += 1
        told = f"{kind} {answer.asked}: {answer.status}"
        if answer.wrong:
            self.wrong(f"{told}: {answer.wrong} ({answer.fields.get('cache-status')})")
        if answer.status in (200, 206) and answer.method != "HEAD" and not answer.identity and answer.is_whole:
            # Offline a sub-resource of a script gets an empty response; other requests get a message page.
            self.wrong(f"{told}: without the origin's mark ({answer.fields})")
        if not answer.identity:
            return
        identity, _, version = answer.identity.rpartition("@")
        if identity != answer.asked:
            self.wrong(f"{told}: the answer to {answer.identity}")
        elif kind == "reload" and mode == "online" and int(version) < answer.floor:
            # A request that joins another one gets its response.
            status = answer.fields.get("cache-status", "")
            if "collapsed" not in status:
                self.wrong(f"{told}: version {version} of {answer.floor}, after no-cache ({status})")
        is_all = answer.status == 200 and answer.is_whole and answer.method == "GET"
        if is_all and answer.asked.split("/")[1] == "f" and not answer.wrong:
            with self.lock:
                self.kept.setdefault(answer.asked, time.monotonic())

    # Changes to the daemon.

    def tell(self, mode):
        # Until the command has ended, the mode is unknown.
        self.mode = None
        self.turn += 1
        if mode != "offline":
            for side in (self.plain, self.secure):
                side.closed_since = None
        status, said = self.daemon.verb(mode)
        if status != 0:
            self.wrong(f"wwwoffle {mode}: {status} {said}")
        if mode == "offline":
            for side in (self.plain, self.secure):
                side.closed_since = time.monotonic()
        self.mode = mode
        self.turn += 1

    def change_pages(self):
        for number in range(30):
            if random.random() < 0.3:
                for side in (self.plain, self.secure):
                    side.change(f"/u/page{number}/7000")

    def offline(self, seconds):
        """Offline for a while. Pages requested during that time are fetched afterwards."""
        self.tell("offline")
        wanted = [f"http://127.0.0.1:{self.plain.port}/f/wanted{random.randrange(1 << 40)}/5000" for _ in range(5)]
        for url in wanted:
            self.ask_alone(url, PERSON)
        time.sleep(seconds)
        self.tell("online")
        status, said = self.daemon.verb("fetch", "--wait")
        for url in wanted:
            answer = self.ask_alone(url, [("Cache-Control", "only-if-cached")])
            if not (answer and answer.identity and answer.is_whole):
                self.wrong(f"{url} was queued, and is not there after fetching ({status}): {said[-300:]}")

    def ask_alone(self, url, fields):
        try:
            connection = client.Connection(self.daemon.port)
            answer = connection.ask("GET", url, fields)
            connection.close()
        except (client.Broken, OSError):
            return None
        if answer.wrong:
            self.wrong(f"{url}: {answer.wrong}")
        return answer

    def read_back(self):
        """Offline: every body that a client had completely in time is available."""
        now, asked = time.monotonic(), []
        with self.lock:
            known = [url for url, when in self.kept.items() if now - when > SETTLE and url.startswith("http:")]
        for one in random.sample(known, min(len(known), 40)):
            url = f"http://127.0.0.1:{self.plain.port}{one[5:]}"
            answer = self.ask_alone(url, [])
            asked.append(url)
            if not answer or not answer.is_whole or not answer.identity:
                self.wrong(f"{url} is lost: {answer.status if answer else 'no answer'}")
        return len(asked)

    def restart(self, is_crash):
        self.is_down, self.mode, before = True, None, time.monotonic()
        self.turn += 1
        with self.lock:
            # Bodies of the last moments may be lost and are not checked.
            self.kept = {url: when for url, when in self.kept.items() if before - when > SETTLE}
        if is_crash:
            self.daemon.kill()
        elif (status := self.daemon.down()) != 0:
            self.wrong(f"the daemon ended with {status}")
        self.daemon.up()
        self.daemon.verb("offline")
        self.done["restart", "killed" if is_crash else "stopped"] += 1
        self.done["restart", "read back"] += self.read_back()
        self.is_down = False
        self.tell("online")

    def look(self, phase):
        if not self.daemon.is_up():
            self.wrong(f"the daemon is gone: {self.daemon.process.returncode}")
            self.daemon.up()
        resident, threads, descriptors = self.daemon.resident()
        row = (time.monotonic() - self.started, phase, resident, threads, descriptors, len(self.daemon.unfinished()))
        self.rows.append(row)
        return row

    def quiet(self, phase):
        """Pauses the clients until nothing is in progress, and takes a sample."""
        self.is_running = False
        for thread in self.threads:
            thread.join(2 * client.PATIENCE)
        left = self.daemon.settled(60)
        # Unused threads and connections end after a while.
        time.sleep(13)
        row = self.look(phase)
        if left:
            self.wrong(f"{phase}: unfinished files stay: {left}")
        self.begin()
        return row

    def begin(self):
        self.is_running = True
        self.threads = [threading.Thread(target=self.work, args=(random.random(),), daemon=True)
                        for _ in range(self.options.clients)]
        for thread in self.threads:
            thread.start()

    def steady(self, phase, seconds):
        """A period without a restart."""
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            number += 1
            time.sleep(1)
            self.look(phase)
            if number % 3 == 0:
                self.change_pages()
            if number % 7 == 0:
                self.daemon.configure(f"\n[caching]\nheuristics-limit = \"{1 + number % 9}h\"\n")
            if number % 20 == 0:
                self.offline(3)
            if number % 50 == 0:
                self.tell("autodial")
                time.sleep(2)
                self.tell("online")

    def run(self):
        total = 60 * self.options.minutes
        self.daemon.up()
        self.trust()
        self.begin()
        self.steady("warm up", 0.15 * total)
        first = self.quiet("warm")
        self.steady("steady", 0.5 * total)
        last = self.quiet("worn")
        end, number = time.monotonic() + 0.25 * total, 0
        while time.monotonic() < end:
            number += 1
            time.sleep(random.uniform(2, 8))
            self.look("restarts")
            self.restart(is_crash=number % 3 != 0)
        self.steady("again", 0.1 * total)
        self.quiet("end")
        self.is_running = False
        for thread in self.threads:
            thread.join(2 * client.PATIENCE)
        self.flat(first, last)
        if (status := self.daemon.down()) != 0:
            self.wrong(f"the daemon ended with {status}")
        for side in (self.plain, self.secure):
            for leak in side.leaks[:5]:
                self.wrong(f"asked while offline: {leak}")
        with open(self.daemon.log, errors="replace") as log:
            for line in log:
                if "panicked" in line or " ERROR " in line:
                    self.wrong(line.strip())

    def flat(self, first, last):
        """Compares early and late samples of the idle daemon, without a restart in between."""
        for name, early, late, more in [
            ("memory, KiB", first[2], last[2], 1024 * self.options.growth),
            ("threads", first[3], last[3], 2),
            # The memory cache keeps files open, each of which counts as 256 KiB.
            ("descriptors", first[4], last[4], 4 + 8 * 4),
        ]:
            print(f"{name:12} idle, early {early:9}  late {late:9}")
            if late > early + more:
                self.wrong(f"{name} grew from {early} to {late}")

    def table(self):
        print(f"\n{'request':12} {'outcome':14} {'times':>9}")
        for (kind, name), times in sorted(self.done.items()):
            print(f"{kind:12} {name:14} {times:9}")
        print(f"\n{'phase':9} {'from s':>7} {'RSS MiB: median':>16} {'max':>7} {'threads':>8} {'descr.':>7} {'tmp':>5}")
        for phase in dict.fromkeys(row[1] for row in self.rows):
            rows = [row for row in self.rows if row[1] == phase]
            median = statistics.median(row[2] for row in rows) / 1024
            print(f"{phase:9} {rows[0][0]:7.0f} {median:16.1f} {max(row[2] for row in rows) / 1024:7.1f}"
                  f" {max(row[3] for row in rows):8} {max(row[4] for row in rows):7} {max(row[5] for row in rows):5}")
        requests = sum(times for (kind, _), times in self.done.items() if kind != "restart")
        print(f"\n{requests} requests, {self.plain.requests + self.secure.requests} of them reached the origin,"
              f" {len(self.faults)} wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/wwwoffle", help="the daemon")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--growth", type=int, default=16, help="MiB by which the idle daemon may grow")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep", action="store_true", help="do not remove spool and log")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    seed = options.seed if options.seed is not None else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    random.seed(seed)
    home = tempfile.mkdtemp(prefix="wwwoffle-soak-")
    soak = Soak(options, home)
    try:
        soak.run()
    finally:
        if soak.daemon.process and soak.daemon.is_up():
            soak.daemon.kill()
        soak.table()
        if options.keep or soak.faults:
            print(f"spool and log are in {home}")
        else:
            shutil.rmtree(home)
    for fault in soak.faults[:40]:
        print(fault)
    sys.exit(1 if soak.faults else 0)


if __name__ == "__main__":
    main()
