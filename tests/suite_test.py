#!/usr/bin/env python3
"""suite_test.py MEASURE: what tools/suite refuses, and that it leaves no process behind when it is ended."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from patience import until

SUITE = pathlib.Path(__file__).resolve().parent.parent / "tools" / "suite"
WAIT_S = 10
HANGS = """add_test(hangs "{measure}" 100 "{here}/cost" sh -c "echo $$ >{here}/new && mv {here}/new {here}/pid; sleep 1000")
"""


def refused(code, text, *words):
    done = subprocess.run([SUITE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code and text in done.stderr, (words, done)


def is_there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid):
    """Those of a process that have begun first come first."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return children + [below for child in children for below in descendants(child)]


def leaves_nothing(here, how):
    """`how` ends a run beside busy loops."""
    (here / "pid").unlink(missing_ok=True)
    suite = subprocess.Popen([SUITE, "run", "--as-built", "--flaky", "2", "--build", here],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert until((here / "pid").exists, WAIT_S), "the test does not begin"
    begun = descendants(suite.pid)
    assert len(begun) > 4, begun  # two loops, ctest, the launcher, the test
    os.kill(suite.pid, how)
    if how == signal.SIGKILL:  # nobody is left to end ctest
        os.killpg(int(begun[2]), signal.SIGKILL)
    everything = [suite.pid, *begun]
    until(lambda: not any(map(is_there, everything)), WAIT_S)
    left = [pid for pid in everything if is_there(pid)]
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    suite.wait()
    assert not left, f"{how.name}: {len(left)} processes are left"


def main():
    refused(2, "what is `gac`?", "list", "gac")
    refused(2, "what is `--lable`?", "list", "--lable", "unit")
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(name)
        refused(1, "is not configured", "run", "--build", here)
        (here / "CTestTestfile.cmake").write_text(HANGS.format(measure=sys.argv[1], here=here))
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # whatever this test has inherited
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            leaves_nothing(here, how)


if __name__ == "__main__":
    main()
