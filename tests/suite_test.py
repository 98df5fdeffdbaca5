#!/usr/bin/env python3
"""suite_test.py MEASURE: what tools/suite refuses, that it runs no old program, and that it leaves no process behind when
it is ended."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from patience import until

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITE = ROOT / "tools" / "suite"
WAIT_S = 10
HANGS = """add_test(hangs "{measure}" 100 "{here}/cost" sh -c "echo $$ >{here}/new && mv {here}/new {here}/pid; sleep 1000")
"""
BUILD = """rule copy
  command = cp $in $out && test ! -s broken
build build.ninja: phony
build program: copy source
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


def runs_no_old_program(here):
    source = here / "source"
    run = ["run", "--as-built", "--build", here]

    def passes(*words):
        subprocess.run([SUITE, *words], capture_output=True, check=True)
    (here / "CTestTestfile.cmake").write_text(f'add_test(works "{here}/program")\n')
    (here / "build.ninja").write_text(BUILD)
    source.write_text("#!/bin/sh\n")
    source.chmod(0o755)
    passes("run", "--build", here)
    passes(*run)
    source.write_text("#!/bin/sh\nexit 0\n")
    refused(1, "older than their sources", *run)
    passes("run", "--build", here)
    (here / "broken").write_text("so that nothing can be built")
    source.write_text("#!/bin/sh\nexit 1\n")
    refused(1, "cannot be built", "run", "--build", here)
    refused(1, "older than their sources", *run)
    (here / "build.ninja").write_text("nonsense\n")
    refused(1, "cannot be configured", *run)


def main():
    refused(2, "what is `gac`?", "list", "gac")
    refused(2, "what is `--lable`?", "list", "--lable", "unit")
    refused(2, "-R needs a value", "list", "-R")
    refused(2, "-L needs a value", "run", "-L", "-R", "heat_test")
    refused(2, "is no number from 1 on", "run", "--flaky", "0")
    refused(2, "is no number from 1 on", "run", "-j", "all")
    for program, words, text in (("tools/test", ["-j"], "-j needs a number"),
                                 ("tools/test", ["--flaky", "often"], "--flaky needs a number"),
                                 ("tests/fresh/run", ["--keep"], "--keep needs a value")):
        done = subprocess.run([ROOT / program, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and text in done.stderr, (program, done)
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(name)
        refused(1, "is not configured", "run", "--build", here)
        runs_no_old_program(here)
        (here / "build.ninja").unlink()
        (here / "CTestTestfile.cmake").write_text(HANGS.format(measure=sys.argv[1], here=here))
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # whatever this test has inherited
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            leaves_nothing(here, how)


if __name__ == "__main__":
    main()
