"""The daemon under test: started, controlled, killed, and observed from outside."""

import os
import signal
import subprocess
import threading
import time

# The memory caches are so small that they are full after the warm-up. From then on nothing may grow.
CONFIG = """\
[startup]
hot-set = "8 MB"

[options]
log-level = "warn"
socket-timeout = "4s"
connect-timeout = "5s"
idle-timeout = "2s"

[https]
extra-ca = ["origin.pem"]

[fetch-options]
attempts = 2
retry-delay = "1s"
resume-attempts = 2
resume-delay = "1s"
"""

# How long a start, a stop and a verb may take, in seconds.
PATIENCE = 60


class Daemon:
    def __init__(self, program, home):
        self.program, self.home = program, home
        self.spool = os.path.join(home, "spool")
        self.config = os.path.join(home, "wwwoffle.conf")
        self.log = os.path.join(home, "log")
        self.process, self.port = None, None
        self.configure("")

    def configure(self, more):
        """Rewrites the configuration like an editor."""
        with open(self.config + ".new", "w") as file:
            file.write(CONFIG + more)
        os.rename(self.config + ".new", self.config)

    def _command(self, *arguments):
        return [self.program, "--config", self.config, "--spool", self.spool, *arguments]

    def _environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        return kept | {"HOME": self.home, "XDG_DATA_HOME": self.home, "XDG_CONFIG_HOME": self.home}

    def up(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self._command("serve", "--listen", f"127.0.0.1:{self.port or 0}"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment(),
            )
        said = []
        reader = threading.Thread(target=lambda: said.append(self.process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(PATIENCE)
        line = said[0].decode() if said else ""
        if "listening on 127.0.0.1:" not in line:
            raise RuntimeError(f"the daemon did not start: {line!r}, see {self.log}")
        self.port = int(line.split("listening on 127.0.0.1:")[1].split(",")[0])

    def down(self):
        """Stops it with SIGTERM and returns its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def verb(self, *arguments):
        """Runs a verb and returns its status and its output."""
        done = subprocess.run(
            self._command(*arguments),
            capture_output=True,
            timeout=4 * PATIENCE,
            env=self._environment(),
            check=False,
        )
        return done.returncode, done.stdout.decode()

    def is_up(self):
        return self.process.poll() is None

    def resident(self):
        """Memory in KiB, threads, descriptors."""
        told = {}
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                name, _, value = line.partition(":")
                told[name] = value.split()
        descriptors = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        return int(told["VmRSS"][0]), int(told["Threads"][0]), descriptors

    def unfinished(self):
        """The temporary files."""
        return os.listdir(os.path.join(self.spool, "tmp"))

    def settled(self, patience):
        """Waits until nothing is in progress. Returns the remaining work, if any."""
        end = time.monotonic() + patience
        while (left := self.unfinished()) and time.monotonic() < end:
            time.sleep(0.5)
        return left
