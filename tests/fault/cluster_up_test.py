#!/usr/bin/env python3
"""`tools/cluster up` starts all daemons, however late each executes its program; and errors are plain.

    tests/fault/cluster_up_test.py [--weir FILE] [--rounds N]

A round is an `up` and a `down` on free ports; a daemon that came up late and was taken for dead fails it.
In the first round every daemon stays half a second in another program (a `setsid` of the test's own, in
PATH) before it executes weir. By hand: --rounds 100 beside two busy loops.
"""
import os
import re
import subprocess
import time

import servers
from servers import ROOT, START_S, check, say, until

DELAY_S = 0.5
OFFSETS = [0, 1, 101, 102, 103, 401, 402, 403, 600, 601]  # from the first port; see tools/cluster --help

ERRORS = [  # a command, what it must say, its exit code
    (["stauts"], "did you mean `status`", 2),
    (["frobnicate"], "there is no command `frobnicate`", 2),
    (["kill"], "kill needs a daemon", 1),
    (["start"], "start needs a daemon", 1),
    (["pause"], "pause needs a daemon", 1),
    (["logs"], "logs needs a daemon", 1),
    (["logs", "1", "2"], "logs takes one daemon, not 2: logs 1 2", 1),
    (["fault"], "fault needs a daemon and a fault", 1),
    (["skew", "1"], "skew needs a daemon and milliseconds", 1),
    (["slow-disk"], "slow-disk needs a daemon and milliseconds", 1),
    (["slow-processor", "1"], "slow-processor needs a daemon and microseconds", 1),
    (["cut", "1"], "cut takes two daemons", 1),
    (["down", "now"], "down takes only --wipe", 1),
    (["kill", "1", "99"], "there is no 99; there are: node-1 node-2 node-3 router-1", 1),
    (["up", "--port"], "--port needs a value", 1),
    (["up", "--prot", "1"], "unknown option --prot", 1),
    (["demo", "--port"], "--port needs a value", 1),
    (["up", "--record-salt", "x"], "--record-salt needs --record DIR", 1),
    (["up", "--region"], "--region needs a value", 1),
    (["up", "--account", "1 2"], "--account: no spaces, please", 1),
]


class Cluster:
    def __init__(self, weir, work):
        self.environment = dict(os.environ, WEIR=str(weir), WEIR_CLUSTER=str(work / "cluster"))
        self.work = work

    def run(self, *words, **environment):
        done = subprocess.run([ROOT / "tools/cluster", *words], capture_output=True, text=True,
                              timeout=START_S, stdin=subprocess.DEVNULL, check=False,
                              env=dict(self.environment, **environment))
        for line in (done.stdout + done.stderr).splitlines():
            if re.search(r"line \d+:|\s$", line):
                raise AssertionError(f"{words}: bash's own error, or a space at the end: {line!r}")
        return done

    def must(self, *words, **environment):
        done = self.run(*words, **environment)
        if done.returncode != 0:
            raise AssertionError(f"tools/cluster {' '.join(words)}: exit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
        return done.stdout


def late_setsid(work):
    """A folder for PATH whose setsid is, for a while, a process that shows nothing of its arguments."""
    folder = work / "late"
    folder.mkdir()
    (folder / "wait").write_text(
        f"sleep {DELAY_S}\nreadarray -d '' -t words <\"$WORDS\"\nrm \"$WORDS\"\n"
        f"PATH=${{PATH#*:}} exec setsid \"${{words[@]}}\"\n")
    (folder / "setsid").write_text(
        f"#!/bin/bash\nexport WORDS={folder}/words-$$\nprintf '%s\\0' \"$@\" >\"$WORDS\"\n"
        f"exec bash {folder}/wait\n")
    (folder / "setsid").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def look_at_errors(cluster):
    for words, text, code in ERRORS:
        done = cluster.run(*words)
        if done.returncode != code or text not in done.stderr:
            raise AssertionError(f"{words}: exit code {done.returncode}, not {code} with {text!r}:\n"
                             f"{done.stderr}")


def look_at_health(cluster):
    """status is healthy, names what was paused or killed, and is healthy again. Replicas of a new table may be behind at first."""
    until("the cluster is healthy", lambda: cluster.run("status").returncode == 0, poll_s=0.1)
    if "health      healthy" not in cluster.must("status"):
        raise AssertionError(f"status of a cluster that is up does not say healthy")
    cluster.must("pause", "3")
    sick = cluster.run("status")
    named = [line for line in sick.stdout.splitlines() if line.endswith(" is down or paused")]
    check(sick.returncode == 1 and named == ["! node-3 is down or paused"],
          f"status with a paused node, exit code {sick.returncode}:\n{sick.stdout}")
    cluster.must("resume", "3")
    until("the cluster is healthy after the pause", lambda: cluster.run("status").returncode == 0, poll_s=0.1)
    cluster.must("kill", "2", "gac-1")
    sick = cluster.run("status")
    for text in ("! node-2 is down or paused", "! gac-1 is down or paused", "not healthy"):
        if sick.returncode != 1 or text not in sick.stdout:
            raise AssertionError(f"status, exit code {sick.returncode}, lacks {text!r}:\n{sick.stdout}")
    cluster.must("start", "2", "gac-1")
    until("the cluster is healthy again", lambda: cluster.run("status").returncode == 0, poll_s=0.1)


def look_at_arns(ports):
    """Both routers name the region and account that `up` was given."""
    servers.make_table(ports[0], "first", keys=("p",))
    for port in ports:
        table = servers.try_until("it is described", servers.Client(port).call, "DescribeTable", TableName="first")["Table"]
        arn = table["TableArn"]
        check(arn == "arn:aws:dynamodb:eu-west-2:123456789012:table/first", f"the router on {port} says {arn}")


def one_round(cluster, work, number):
    late = {"PATH": late_setsid(work)} if number == 0 else {}
    record = work / "recordings"
    port = servers.cluster_port(OFFSETS)
    cluster.must("up", "--port", str(port), "--record", str(record), "--record-salt", "x", "--region", "eu-west-2",
                 "--account", "123456789012", **late)
    heads = [(record / f"router-{n}.trace").read_text() for n in (1, 2)]
    if number == 0:
        check(all("keys=hashed\nsalt " in head for head in heads), f"--record --record-salt wrote {heads}")
        look_at_errors(cluster)
        look_at_arns((port, port + 1))
        look_at_health(cluster)
    cluster.must("down", "--wipe")


def run(options, directory):
    cluster = Cluster(options.weir.resolve(), directory)
    try:
        for number in range(options.rounds):
            start = time.monotonic()
            one_round(cluster, directory, number)
            say(f"round {number + 1} of {options.rounds}: {time.monotonic() - start:.1f} s")
    finally:
        cluster.run("down")
    return {"rounds": options.rounds}


if __name__ == "__main__":
    servers.case(__doc__, run, rounds=3)
