#!/usr/bin/env python3
"""What killed runs of `weir sim` leave behind is removed.

A job that aborts: by its parent, before another job goes on. A whole run that is killed: by the
next `weir sim`. A run that is under way keeps what it has, also from a `weir sim` in a container.
"""
import glob
import os
import signal
import subprocess
import sys

from servers import until

ABORTS = 5  # a job that is in the middle of malloc cannot tell what it did, and ends all the same


def directories(pid):
    return [path for place in ("/dev/shm", "/tmp") for path in glob.glob(f"{place}/weir-sim-{pid}-*")]


def state_of(pid):
    """A letter, and the parent's process id."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return fields[0], int(fields[1])
    except (FileNotFoundError, ProcessLookupError):
        return None, None


def job_of(run, other_than=None):
    """The process of the run's only job, once it has made a directory."""
    pids = {int(path.split("-")[2]) for path in directories("*")}
    return next((pid for pid in pids if pid != other_than and state_of(pid)[1] == run.pid), None)


def has_ended(job):
    """Its parent is another process than this one, which may not have waited for it."""
    return state_of(job)[0] in (None, "Z")


def stop(job):
    """Stops it in the middle of a seed, and returns its directories."""
    while True:
        os.kill(job, signal.SIGSTOP)
        until("the job stands still", lambda: state_of(job)[0] == "T")
        if left := directories(job):
            return left
        os.kill(job, signal.SIGCONT)


def start(weir):
    return subprocess.Popen([weir, "sim", "--seeds", "100000", "--jobs", "1"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def one_seed(weir, *around):
    """A short run: it removes what others have left as it begins."""
    subprocess.run([*around, weir, "sim", "--seconds", "1", "--once", "--plain", "--nodes", "1", "--clients", "1", "--faults",
                    "cut"], check=True, stdout=subprocess.DEVNULL)


def check(weir, run, other):
    other_job = until("the other job makes a directory", lambda: job_of(other))
    second = until("a job makes a directory", lambda: job_of(run))
    for _ in range(ABORTS):
        first = second
        os.kill(first, signal.SIGABRT)
        second = until("another job goes on", lambda: job_of(run, first))
        assert not directories(first), "the aborted job's directory is left"
    stop(second)
    kept = stop(other_job)
    run.kill()
    os.kill(second, signal.SIGKILL)
    run.wait()
    until("the killed job is gone", lambda: has_ended(second))
    one_seed(weir)  # or a run of another test before it: they are alike
    assert not directories(second), "the killed job's directory is left"
    # To processes of another space, those of this one do not exist.
    one_seed(weir, "unshare", *([] if os.geteuid() == 0 else ["-r"]), "--pid", "--fork")
    assert directories(other_job) == kept, "a run that is under way has lost its directory"


def main():
    weir = sys.argv[sys.argv.index("--weir") + 1]
    run, other = start(weir), start(weir)
    try:
        check(weir, run, other)
    finally:
        for process in (run, other):
            job = job_of(process)
            process.kill()
            if job is not None:
                os.kill(job, signal.SIGKILL)
            process.wait()
            if job is not None:
                until("the job is gone", lambda job=job: has_ended(job))
    one_seed(weir)


if __name__ == "__main__":
    main()
