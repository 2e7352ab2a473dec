"""The machine that is measured: its tools, its processors, its ports and limits."""

import contextlib
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile

# What is run, and the Debian package it comes from.
TOOLS = {
    "wrk": "wrk",
    "nginx": "nginx-light",
    "squid": "squid",
    "strace": "strace",
    "valgrind": "valgrind",
}

# Where Debian keeps what only root usually runs.
ADMIN_DIRS = "/usr/local/sbin:/usr/sbin:/sbin"


def find(tool):
    """The path of a tool, or None."""
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":" + ADMIN_DIRS)


def require(tools):
    """Ends the program when one of the tools is missing, and says what to install."""
    missing = sorted(TOOLS[tool] for tool in tools if find(tool) is None)
    if missing:
        sys.exit(f"missing tools: apt-get install {' '.join(missing)}")


def run(command):
    """Runs a command; what it printed. Its errors go where ours go."""
    text = [str(part) for part in command]
    return subprocess.run(text, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextlib.contextmanager
def scratch(where):
    """A directory for everything that is written, which others may enter."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="wwwoffle-bench-", dir=where))
    home.chmod(0o755)
    try:
        yield home
    finally:
        remove(home)


def require_space(where, wanted):
    """Ends the program when a disk has less room than these bytes."""
    free = shutil.disk_usage(where).free
    if free < wanted:
        sys.exit(f"{where} has {free >> 20} MiB free, {wanted >> 20} are needed: choose --dir")


def remove(tree):
    """Removes a directory with all that is in it, which may be millions of files."""
    subprocess.run(["rm", "-rf", str(tree)], check=True)


def free_port():
    """A port of loopback that nobody listens on at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def raise_limits():
    """Lets this process and its children have as many descriptors as they may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Processors:
    """Which processors a proxy has, and which the load and the origin have.

    When they are pinned, each side has its own half, so that wrk takes nothing from what it
    measures; otherwise both have all of them. All proxies have the same in any case.
    """

    def __init__(self, pin):
        self.all = sorted(os.sched_getaffinity(0))
        half = len(self.all) // 2
        pin = pin and half > 0
        self.proxy = self.all[:half] if pin else self.all
        self.load = self.all[half:] if pin else self.all

    def describe(self):
        """Who has which, for the heading of the report."""
        if self.proxy == self.load:
            return f"{len(self.all)} processors, shared by the proxy and wrk"
        return f"{len(self.proxy)} processor(s) for the proxy, {len(self.load)} for wrk"
