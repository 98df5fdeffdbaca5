#!/usr/bin/env python3
"""Ten times more than a slow processor can do: what is served is served soon, and as much as before.

Each part runs twice, with overload_policy delay and off. The processor of the node, or of the router, takes
3 ms longer for each request. A flood of reads comes ten times as fast. It is within no limit. Beside it a table
is read within its allocation.

 node    the flood is refused until little of it waits; the table with the allocation is served as before
 router  the same, but a router without limits of tables knows no difference between them
 off     the queue takes all connections: everything is late, or fails

Prints one JSON object of figures on standard output.
"""
import json
import subprocess
import sys

import servers
from servers import Cluster, until

SLOW_US = 3000
TIMES = 10
SECONDS = 4
CONNECTIONS = 1800
LATE_MS = 1000  # overload_limit_ms
SETTINGS = ["--profile", "research", "--set", "partition_policy=always-burst", "--set", "node_rcu=1000000",
            "--set", "partition_max_rcu=100000", "--set", "control_split=0", "--set", "control_adaptive=0"]


class Load:
    """Runs of weir load against the routers of a cluster; all read single items."""

    def __init__(self, weir, cluster):
        self.command = [str(weir), "load", "--quiet", "--json", "--read-ratio", "1", "--keys", "100"]
        for port in cluster.ports:
            self.command += ["--url", f"http://127.0.0.1:{port}"]

    def run(self, *arguments):
        done = subprocess.run([*self.command, *map(str, arguments)], capture_output=True, text=True, check=False)
        if not done.stdout:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return json.loads(done.stdout)["workloads"]

    def prepare(self):
        for table, units in (("steady", 100), ("flood", 1)):
            self.run("--create-table", "--preload", "--table", table, "--rcu", units, "--wcu", 100, "--rate", 10,
                     "--duration", "1s")

    def capacity(self):
        return self.run("--table", "flood", "--rate", "max", "--connections", 8, "--duration", "2s")[0][
            "admitted_per_s"]

    def flood(self, rate):
        return self.run("--duration", f"{SECONDS}s", "--timeout", "5s",
                        "--workload", "steady:table=steady,rate=30,connections=16",
                        "--workload", f"flood:table=flood,rate={rate:.0f},connections={CONNECTIONS}")


def figures(load):
    """What is served per second with no regard to how late, and how late: the worst p99 of a second after the first
    one, in which clients wait for each other, too."""
    out = {}
    for w in load:
        served = w["admitted"] / SECONDS
        out[w["name"]] = {"offered": w["offered"], "served_per_s": round(served, 1),
                          "p99_ms": round(max(s["p99_us"] for s in w["seconds"][1:SECONDS]) / 1000, 1),
                          "failed": w["failed_by_type"], "unfinished": w["unfinished"] + w["client_overrun"]}
    return out


def run(weir, directory, slow, policy):
    cluster = Cluster(weir, directory / f"{slow}-{policy}", 1, 1,
                      [*SETTINGS, "--set", f"overload_policy={policy}"])
    try:
        cluster.start()
        load = Load(weir, cluster)
        load.prepare()
        cluster[f"{slow}-1"].fault(f"processor slow {SLOW_US}")
        capacity = load.capacity()
        out = {"capacity_per_s": round(capacity, 1), **figures(load.flood(TIMES * capacity))}
        cluster.heal()
        if policy != "off":
            until("it serves as before", lambda: load.run("--table", "steady", "--rate", 50, "--duration", "1s")[0][
                "failed"] == 0)
            cluster.stop()
        return out
    finally:
        cluster.forget()


def check(holds, what, found):
    if not holds:
        raise AssertionError(f"{what}: {json.dumps(found)}")


def main():
    options = servers.parser(__doc__).parse_args()
    found = {}
    with servers.workplace("shed") as directory:
        for slow in ("node", "router"):
            for policy in ("delay", "off"):
                found[f"{slow}, {policy}"] = one = run(options.weir, directory, slow, policy)
                print(f"shed_test: {slow} {policy} {one}", file=sys.stderr, flush=True)
            shed, all_done = found[f"{slow}, delay"], found[f"{slow}, off"]
            capacity = shed["capacity_per_s"]
            served = shed["flood"]["served_per_s"] + shed["steady"]["served_per_s"]
            check(served >= 0.5 * capacity, f"a slow {slow} does less under overload", found)
            check(shed["flood"]["p99_ms"] <= LATE_MS, f"a slow {slow} serves late", found)
            check(all_done["flood"]["p99_ms"] >= 2 * LATE_MS or
                  all_done["flood"]["served_per_s"] < 0.5 * shed["flood"]["served_per_s"],
                  "without shedding it is as good: this test shows nothing", found)
        steady = found["node, delay"]["steady"]
        check(steady["served_per_s"] >= 0.9 * steady["offered"] / SECONDS and steady["p99_ms"] <= LATE_MS,
              "work within its allocation suffers", found)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
