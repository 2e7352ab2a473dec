"""The measured machine: its tools, processors, ports and limits."""

import contextlib
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile

# The tools, and the Debian package of each.
TOOLS = {
    "wrk": "wrk",
    "nginx": "nginx-light",
    "squid": "squid",
    "wget": "wget",
    "strace": "strace",
    "valgrind": "valgrind",
}

# Directories of programs that usually only root runs.
ADMIN_DIRS = "/usr/local/sbin:/usr/sbin:/sbin"


def find(tool):
    """The path of a tool, or None."""
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":" + ADMIN_DIRS)


def require(tools):
    """Ends the program if a tool is missing, and names the packages to install."""
    missing = sorted(TOOLS[tool] for tool in tools if find(tool) is None)
    if missing:
        sys.exit(f"missing tools: apt-get install {' '.join(missing)}")


def run(command):
    """Runs a command and returns its output. Its errors go to our standard error."""
    text = [str(part) for part in command]
    return subprocess.run(text, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextlib.contextmanager
def scratch(where):
    """A directory for all files, which other users may enter."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="wwwoffle-bench-", dir=where))
    home.chmod(0o755)
    try:
        yield home
    finally:
        remove(home)


def has_space(where, wanted):
    """Whether a disk has this many free bytes."""
    return shutil.disk_usage(where).free >= wanted


def require_space(where, wanted):
    """Ends the program if a disk has less free space than these bytes."""
    free = shutil.disk_usage(where).free
    if free < wanted:
        sys.exit(f"{where} has {free >> 20} MiB free, {wanted >> 20} are needed: choose --dir")


def remove(tree):
    """Removes a directory with its content, which may be millions of files."""
    subprocess.run(["rm", "-rf", str(tree)], check=True)


def free_port():
    """A free loopback port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def raise_limits():
    """Raises the limit of open files of this process and its children to the maximum."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Processors:
    """The processors of a proxy, and those of the load and the origin.

    If pinned, each side has its own half, so that wrk does not compete with the measured
    proxy. Otherwise both use all processors. All proxies get the same in any case.
    """

    def __init__(self, pin):
        self.all = sorted(os.sched_getaffinity(0))
        half = len(self.all) // 2
        pin = pin and half > 0
        self.proxy = self.all[:half] if pin else self.all
        self.load = self.all[half:] if pin else self.all

    def describe(self):
        """The assignment of processors, for the heading of the report."""
        if self.proxy == self.load:
            return f"{len(self.all)} processors, shared by the proxy and wrk"
        return f"{len(self.proxy)} processor(s) for the proxy, {len(self.load)} for wrk"
