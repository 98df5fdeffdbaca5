#!/usr/bin/env python3
"""`weir lab run --fidelity real`: a small scenario against processes, with faults; nothing is left behind.

 faults    nodes, routers and GAC servers die and come back, links are cut, a clock jumps, a table changes
 stop      SIGINT ends all processes and removes the directory, also while the cluster starts
 kill      SIGKILL of the command does too
 scaled    autoscaling lowers and raises the throughput of a table
 stored    tables are filled with their bytes before the run
 refused   what processes on one machine cannot do is told
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
from servers import check, until  # noqa: E402

SCENARIO = """
name: small
duration: %ds
warm: 1s
cluster: {nodes: 3, routers: 2, gac: 2}
tables: [{name: users, rcu: 300, wcu: 300, partitions: 2, bytes: %d}]
workloads:
  - {name: open, table: users, rate: 200, keys: "zipf:0.9", retry: standard}
  - {name: closed, table: users, clients: "closed:3:20", mix: "ycsb:A"}
faults: [%s]
policies: [{name: weir}]
expect: [{measure: admitted_requests, at_least: 1}]
"""
DAEMONS = 7
FAULTS = """
  {kind: gac-down, which: 1, at: 1s, for: 1s}, {kind: gac-cut, which: 2, at: 3s, for: 1s},
  {kind: router-down, which: 2, at: 2s, for: 2s}, {kind: node-down, which: 3, at: 4s, for: 1s},
  {kind: router-clock, which: 1, at: 5s, offset: 200ms, drift: 0.001},
  {kind: update, at: 6s, rcu: 400, wcu: 400}
"""


def processes_of(directory):
    """The pids of processes whose command line names the directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if directory.encode() in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


class Lab:
    def __init__(self, weir, directory, seconds, faults, stored=0, change=("", "")):
        self.temporary = os.path.join(directory, "temporary")
        os.makedirs(self.temporary, exist_ok=True)
        self.out = os.path.join(directory, "out")
        scenario = os.path.join(directory, "small.yaml")
        with open(scenario, "w", encoding="utf-8") as f:
            f.write((SCENARIO % (seconds, stored, faults)).replace(*change))
        self.process = subprocess.Popen(
            [weir, "lab", "run", scenario, "--fidelity", "real", "--seeds", "1", "--quiet", "--out", self.out],
            env={**os.environ, "TMPDIR": self.temporary}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self):
        out, error = self.process.communicate(timeout=120)
        return self.process.returncode, out, error

    def running(self):
        """The daemons: the command itself does not name the temporary directory."""
        return processes_of(self.temporary)

    def starts(self):
        return len(self.running()) >= DAEMONS

    def runs(self):
        """Whether all daemons have said that they are ready."""
        return sum("ready " in log.read_text() for log in pathlib.Path(self.temporary).glob("*/*.log")) >= DAEMONS

    def nothing_is_left(self):
        until("the processes end", lambda: not self.running())
        until("the directory is removed", lambda: not os.listdir(self.temporary))


def faults(weir, directory):
    lab = Lab(weir, directory, 8, FAULTS)
    code, out, error = lab.wait()
    check(code == 0, f"exit code {code}: {out} {error}")
    lab.nothing_is_left()
    with open(os.path.join(lab.out, "runs", "1-weir", "0", "1.json"), encoding="utf-8") as f:
        run = json.load(f)
    check(run["fidelity"] == "real", "the result is of another fidelity")
    measures = run["measures"][""]
    check(measures["offered_requests"] > 1500, f"only {measures['offered_requests']} requests were offered")
    check(measures["admitted_requests"] > 0.5 * measures["offered_requests"],
          f"{measures['admitted_requests']} of {measures['offered_requests']} were admitted")
    failed = sum(run["series"]["tenants"][""]["refused"]["failed"])
    check(failed > 0, "no request failed, though a router was killed")


def stop(weir, directory):
    for name, condition in (("starts", Lab.starts), ("runs", Lab.runs)):
        own = os.path.join(directory, name)
        os.mkdir(own)
        lab = Lab(weir, own, 60, "")
        until(f"the cluster {name}", lambda: condition(lab))  # pylint: disable=cell-var-from-loop
        lab.process.send_signal(signal.SIGINT)
        code, _, error = lab.wait()
        check(code == 1 and "stopped" in error, f"{name}: exit code {code}: {error}")
        lab.nothing_is_left()


def kill(weir, directory):
    lab = Lab(weir, directory, 60, "")
    until("the cluster starts", lab.starts)
    lab.process.kill()
    lab.wait()
    lab.nothing_is_left()


def stored(weir, directory):
    """1 MB at nine tenths of 300 units a second takes 3.6 s."""
    began = time.monotonic()
    lab = Lab(weir, directory, 2, "", stored=1000000)
    code, out, error = lab.wait()
    took_s = time.monotonic() - began
    check(code == 0, f"exit code {code}: {out} {error}")
    check(took_s > 3.6 + 2, f"the table was filled, and the run of 2 s done, in {took_s:.1f} s")
    lab.nothing_is_left()
    own = os.path.join(directory, "more")
    os.mkdir(own)
    code, _, error = Lab(weir, own, 2, "", stored=100 << 20).wait()
    check(code == 2 and "the fidelity real stores at most 67108864 `bytes`" in error, f"{code} {error}")


def measures_of(lab):
    with open(os.path.join(lab.out, "runs", "1-weir", "0", "1.json"), encoding="utf-8") as f:
        return json.load(f)["measures"][""]


def scaled(weir, directory):
    """300 of each unit are more than the 170 that are consumed. Without autoscaling they are paid for during all 6 s."""
    scaling = ("autoscaling: {reads: {min: 50, max: 300, target: 0.9}, writes: {min: 50, max: 300, target: 0.9}, "
               "period: 500ms, out_after: 1s, in_after: 1s, delay: 100ms}, bytes")
    hours = {}
    for name, change in (("fixed", ("", "")), ("scaled", ("bytes", scaling))):
        own = os.path.join(directory, name)
        os.mkdir(own)
        lab = Lab(weir, own, 7, "", change=change)
        code, out, error = lab.wait()
        check(code == 0, f"exit code {code}: {out} {error}")
        lab.nothing_is_left()
        hours[name] = measures_of(lab)["provisioned_unit_hours"]
    check(abs(hours["fixed"] - 600 * 6 / 3600) < 0.001, f"fixed: {hours['fixed']}")
    check(hours["scaled"] < 0.8 * hours["fixed"], f"scaled: {hours}")


def refused(weir, directory):
    own = os.path.join(directory, "memory")
    os.mkdir(own)
    code, _, error = Lab(weir, own, 2, "", change=("gac: 2}", "gac: 2, memory_items: 5}")).wait()
    check(code == 2 and re.search(r"small.yaml:\d+: .*memory_items must be 0", error), f"{code} {error}")
    own = os.path.join(directory, "expiry")
    os.mkdir(own)
    code, _, error = Lab(weir, own, 2, "", change=("partitions: 2,", "partitions: 2, expire_at: 1s,")).wait()
    check(code == 2 and re.search(r"small.yaml:\d+: the fidelity real has no time to live", error), f"{code} {error}")
    for fault, says in (("{kind: split, at: 1s}", "split"), ("{kind: node-slow, at: 1s, factor: 2}", "node-slow"),
                        ("{kind: node-busy, at: 1s, factor: 2}", "node-busy")):
        own = os.path.join(directory, says)
        os.mkdir(own)
        lab = Lab(weir, own, 2, fault)
        code, _, error = lab.wait()
        check(code == 2 and f"the fidelity real cannot run the fault {says}" in error, f"{says}: {code} {error}")
        lab.nothing_is_left()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    o = parser.parse_args()
    for scene in (faults, stop, kill, scaled, stored, refused):
        with tempfile.TemporaryDirectory() as directory:
            scene(os.path.abspath(o.weir), directory)
        print(f"{scene.__name__}: ok", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
