#!/usr/bin/env python3
"""The commands for Slurm in docs/lab.md, as they stand there: an array of 200 jobs on four workers writes the files
that one process writes.

  slurm_test.py --weir build/weir

Needs root and slurm-wlm. munged, slurmctld and slurmd run for this test alone: their keys, sockets, logs and states
are in a directory of the test, and their ports are on 127.0.0.1. Exit code 77: skipped, with the reason.
"""
import argparse
import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
from lab_test import Lab, expect, expect_same, one_process  # noqa: E402
from servers import free_ports, until  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
WORKERS = 4
RUNS = 200
COMMAND_S = 600
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "sinfo", "squeue")
SBIN = "/usr/sbin:/sbin"
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

# One machine that gives its processor away four times. Without an accounting database and without cgroups.
CONFIGURATION = """ClusterName=weirtest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmdPort={slurmd}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MinJobAge=2
NodeName={host} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={workers} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def missing():
    """Why the test cannot run here; or nothing."""
    if os.geteuid() != 0:
        return "not root: slurmd runs jobs as their users"
    for name in PROGRAMS:
        if shutil.which(name, path=f"{os.environ['PATH']}:{SBIN}") is None:
            return f"{name} is missing: `tools/setup long` installs slurm-wlm"
    return ""


class Slurm:
    """The three daemons, below `directory`."""

    def __init__(self, directory, weir):
        self.directory = directory
        self.processes = []
        for name in ("state", "spool"):
            (directory / name).mkdir(parents=True)
        key = directory / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.host = os.uname().nodename.split(".")[0]
        ctld, slurmd = free_ports(2)
        configuration = directory / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(host=self.host, ctld=ctld, slurmd=slurmd, directory=directory,
                                                      workers=WORKERS))
        self.environment = dict(os.environ, SLURM_CONF=str(configuration),
                                PATH=f"{pathlib.Path(weir).parent}:{os.environ['PATH']}:{SBIN}")

    def start(self):
        d = self.directory
        self.daemon("munged", "--foreground", "--force", f"--key-file={d}/munge.key", f"--socket={d}/munge.socket",
                    f"--pid-file={d}/munged.pid", f"--log-file={d}/munged.log", f"--seed-file={d}/munged.seed")
        self.wait("munged has a socket", (d / "munge.socket").exists)
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D", "-N", self.host)
        self.wait("the node is idle", lambda: "idle" in self.run("sinfo --noheader --format=%T", check=False))

    def daemon(self, name, *arguments):
        owner = os.getpid()

        def die_with_the_test():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != owner:
                os._exit(1)

        with (self.directory / f"{name}.out").open("wb") as out:
            self.processes.append((name, subprocess.Popen(
                [shutil.which(name, path=self.environment["PATH"]), *arguments], stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env=self.environment, preexec_fn=die_with_the_test)))

    def wait(self, what, condition):
        def done():
            for name, process in self.processes:
                expect(process.poll() is None, f"{name} ended with {process.returncode}:\n{self.logs()}")
            return condition()

        try:
            until(what, done, 60, 0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logs()}") from error

    def run(self, command, check=True, where=None):
        """What the command printed."""
        done = subprocess.run(["bash", "-c", command], cwd=where or self.directory, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_S, check=False)
        expect(done.returncode == 0 or not check, f"{command}\nexit code {done.returncode}\n{done.stdout}\n{self.logs()}")
        return done.stdout

    def logs(self):
        return "\n".join(f"-- {path.name}\n{path.read_text(errors='replace')[-1500:]}"
                         for pattern in ("*.log", "*.out") for path in sorted(self.directory.glob(pattern)))

    def stop(self):
        """Jobs first: they are children of slurmd's, not of the test's."""
        if len(self.processes) == 3:
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
                self.run("scancel --user=root", check=False)
                until("no job is left", lambda: not self.run("squeue --noheader", check=False).strip(), 30, 0.1)
        for _, process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def documented():
    """The commands that docs/lab.md shows for Slurm."""
    text = (ROOT / "docs/lab.md").read_text()
    found = re.search(r"^Slurm,.*\n\n((?:    .*\n)+)", text, re.M)
    expect(found is not None and "sbatch" in found.group(1), "docs/lab.md shows no commands for Slurm")
    return [line[4:] for line in found.group(1).splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    weir = pathlib.Path(parser.parse_args().weir).resolve()
    why = missing()
    if why:
        print(f"skipped: {why}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="weir-slurm-") as name:
        directory = pathlib.Path(name)
        lab = Lab(weir, directory)
        slurm = Slurm(directory / "slurm", weir)
        one = one_process(lab, lab.scenario("mine.yaml", duration="2s"), RUNS)
        try:
            slurm.start()
            for command in documented():
                began = time.monotonic()
                slurm.run(command, where=directory)
                print(f"{time.monotonic() - began:6.1f} s  {command}", flush=True)
            expect_same(one, directory / "sweep", "Slurm's jobs")
        finally:
            slurm.stop()
    print(f"ok: {RUNS} jobs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
