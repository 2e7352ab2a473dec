"""Child processes: their processor time and memory, and their end."""

import os
import pathlib
import resource
import signal
import subprocess
import time

PROC = pathlib.Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")

# How long a process may take to end before it is killed, in seconds.
PATIENCE = 30


class Process:
    """A program and all its descendants, which `stop` ends."""

    def __init__(self, command, cpus, log, environment=None):
        self.log = log
        with open(log, "ab") as output:
            self.child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                preexec_fn=lambda: os.sched_setaffinity(0, cpus),
            )

    @property
    def pid(self):
        """The process that was started."""
        return self.child.pid

    def is_running(self):
        """Whether it is still running."""
        return self.child.poll() is None

    def tree(self):
        """The process and all its descendants."""
        found = [self.pid]
        for pid in found:
            for task in PROC.glob(f"{pid}/task/*/children"):
                found += [int(child) for child in read(task).split()]
        return found

    def cpu(self):
        """Processor time of all of them so far, in seconds."""
        return sum(cpu_of(pid) for pid in self.tree())

    def thread_cpu(self, name):
        """Processor time so far of their threads with this name, in seconds."""
        threads = (task for pid in self.tree() for task in PROC.glob(f"{pid}/task/*"))
        return sum(cpu_of_thread(task) for task in threads if read(task / "comm").strip() == name)

    def memory(self):
        """Memory of all of them in KiB: `Pss`, so that shared memory counts once."""
        return sum(field_of(pid, "smaps_rollup", "Pss") for pid in self.tree())

    def resident(self, field="VmRSS"):
        """`VmRSS` or `VmHWM` of all of them, in KiB."""
        return sum(field_of(pid, "status", field) for pid in self.tree())

    def is_traced(self):
        """Whether a debugger is attached to all of them."""
        return all("TracerPid:\t0" not in read(PROC / str(pid) / "status") for pid in self.tree())

    def reset_peak(self):
        """Resets `VmHWM` to the current memory."""
        for pid in self.tree():
            (PROC / str(pid) / "clear_refs").write_text("5")

    def stop(self):
        """Ends the process and waits. Processes that do not end are killed."""
        tree = self.tree()
        if self.is_running():
            self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        deadline = time.monotonic() + PATIENCE
        while any(is_of_session(pid, self.pid) for pid in tree[1:]):
            if time.monotonic() > deadline:
                kill_all(pid for pid in tree[1:] if is_of_session(pid, self.pid))
            time.sleep(0.02)


def read(path):
    """A file of /proc, empty if its process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def stat_of(process):
    """The fields of `stat` of a process or thread after the name, which may contain any character."""
    return read(PROC / str(process) / "stat").rpartition(")")[2].split()


def cpu_of(pid):
    """Processor time of one process, in seconds, including its ended children."""
    fields = stat_of(pid)
    return sum(int(ticks) for ticks in fields[11:15]) / TICKS if fields else 0.0


def cpu_of_thread(task):
    """Processor time of one thread, in seconds."""
    fields = stat_of(task)
    return sum(int(ticks) for ticks in fields[11:13]) / TICKS if fields else 0.0


def field_of(pid, file, name):
    """A field of a file such as `/proc/PID/status`, in KiB; 0 if it is missing."""
    for line in read(PROC / str(pid) / file).splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return 0


def is_of_session(pid, session):
    """Whether a process of this session is running."""
    fields = stat_of(pid)
    return bool(fields) and fields[0] != "Z" and int(fields[3]) == session


def timed(command, cpus, output=subprocess.DEVNULL):
    """Runs a command to its end. Returns its output, its seconds, and its processor time in seconds."""
    used, begun = children_cpu(), time.monotonic()
    ran = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
    )
    return ran.stdout, time.monotonic() - begun, children_cpu() - used


def children_cpu():
    """Processor time of all children that have ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def kill_all(pids):
    """Kills processes, which may have ended already."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
