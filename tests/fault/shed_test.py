#!/usr/bin/env python3
"""Ten times more than a slow processor can do: what is served is served soon, and as much as before.

Each part runs twice, with overload_policy delay and off. The processor of the node, or of the router, takes
3 ms longer for each request. A flood of requests comes ten times as fast. It is within no limit. Beside it a table
is used within its allocation.

 node    the flood is refused until little of it waits; the table with the allocation is served as before. So it is
         for reads, for writes and for both
 router  the same, but a router without limits of tables knows no difference between them
 off     the queue takes all connections: everything is late, or fails
"""
import json

import servers
from servers import Cluster, check, run_load, say, until

SLOW_US = 3000
TIMES = 10
SECONDS = 4
CONNECTIONS = 1800
LATE_MS = 1000  # overload_limit_ms
SETTINGS = ["--profile", "research", "--set", "partition_policy=always-burst", "--set", "node_rcu=1000000",
            "--set", "partition_max_rcu=100000", "--set", "control_split=0", "--set", "control_adaptive=0",
            "--set", "node_wcu=1000000", "--set", "partition_max_wcu=100000"]
READ_RATIOS = {"reads": 1, "writes": 0, "both": 0.5}


def flood(load, rate):
    return load("--duration", f"{SECONDS}s", "--timeout", "5s",
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


def one(weir, directory, slow, requests, policy):
    with Cluster(weir, directory / f"{slow}-{requests}-{policy}", 1, 1, [*SETTINGS, "--set", f"overload_policy={policy}"]) as cluster:
        def load(*arguments):
            return run_load(weir, cluster.ports, "--read-ratio", READ_RATIOS[requests], "--keys", 100, *arguments)
        for table, units in (("steady", 100), ("flood", 1)):
            load("--create-table", "--preload", "--table", table, "--rcu", units, "--wcu", 100, "--rate", 10,
                 "--duration", "1s")
        cluster[f"{slow}-1"].fault(f"processor slow {SLOW_US}")
        capacity = load("--table", "flood", "--rate", "max", "--connections", 8, "--duration", "2s")[0]["admitted_per_s"]
        out = {"capacity_per_s": round(capacity, 1), **figures(flood(load, TIMES * capacity))}
        cluster.heal()
        if policy != "off":
            until("it serves as before", lambda: load("--table", "steady", "--rate", 50, "--duration", "1s")[0][
                "failed"] == 0)
            cluster.stop()
        return out


def run(options, directory):
    found = {}
    for slow, requests in (("node", "reads"), ("node", "writes"), ("node", "both"), ("router", "reads")):
        name = f"{slow}, {requests}"
        shed, all_done = (one(options.weir, directory, slow, requests, policy) for policy in ("delay", "off"))
        found[name] = {"delay": shed, "off": all_done}
        say(f"{name}: {json.dumps(found[name])}")
        served = shed["flood"]["served_per_s"] + shed["steady"]["served_per_s"]
        check(served >= 0.5 * shed["capacity_per_s"], f"{name}: less is done under overload: {shed}")
        check(shed["flood"]["p99_ms"] <= LATE_MS, f"{name}: served late: {shed}")
        check(all_done["flood"]["p99_ms"] >= 2 * LATE_MS or
              all_done["flood"]["served_per_s"] < 0.5 * shed["flood"]["served_per_s"],
              f"{name}: without shedding it is as good, so this test shows nothing: {found[name]}")
        steady = shed["steady"]
        check(slow == "router" or
              steady["served_per_s"] >= 0.9 * steady["offered"] / SECONDS and steady["p99_ms"] <= LATE_MS,
              f"{name}: work within its allocation suffers: {shed}")
    return found



if __name__ == "__main__":
    servers.case(__doc__, run)
