#!/usr/bin/env python3
"""Ten times more than a slow processor can do: what is served is served soon, and as much as before.

Each part runs twice, with overload_policy credits and off. The processor of the node, or of the router, takes
3 ms longer for each request. A flood of requests comes ten times as fast. It is within no limit. Beside it a table
is used within its allocation.

 node    the flood is refused until little of it waits; the table with the allocation is served as before. So it is
         for reads, for writes and for both
 router  the same, but a router without limits of tables knows no difference between them
 off     the queue takes all connections: everything is late, or fails
 stopped the node stands still for two seconds of the flood. One second after it goes on, all is as before
"""
import concurrent.futures
import functools
import json
import math
import time

import servers
from servers import Cluster, check, run_load, say, until

SLOW_US = 3000
TIMES = 10
SECONDS = 4
STOP_AT_S, STOPPED_S, STOP_SECONDS = 3.3, 2, 12
CONNECTIONS = 1800
LATE_MS = 1000
SETTINGS = ["--profile", "research", "--set", "partition_policy=always-burst", "--set", "node_rcu=1000000",
            "--set", "partition_max_rcu=100000", "--set", "control_split=0", "--set", "control_adaptive=0",
            "--set", "node_wcu=1000000", "--set", "partition_max_wcu=100000"]
READ_RATIOS = {"reads": 1, "writes": 0, "both": 0.5}


def flood(load, rate, seconds=SECONDS):
    return load("--duration", f"{seconds}s", "--timeout", "5s",
                "--workload", "steady:table=steady,rate=30,connections=200",
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


def slowed(load, server):
    """Makes the tables, then the server slow; what it can do a second."""
    for table, units in (("steady", 100), ("flood", 1)):
        load("--create-table", "--preload", "--table", table, "--rcu", units, "--wcu", 100, "--rate", 10,
             "--duration", "1s")
    server.fault(f"processor slow {SLOW_US}")
    return load("--table", "flood", "--rate", "max", "--connections", 8, "--duration", "2s")[0]["admitted_per_s"]


def pass_s(seconds):
    end = time.monotonic() + seconds
    until(f"{seconds} s are over", lambda: time.monotonic() >= end)


def admitted(cluster):
    return sum(p[kind]["admitted"] for p in servers.partitions(cluster.ports[0], "flood") for kind in ("read", "write"))


def stopped(weir, directory):
    """Each second of both tables: how many were asked, served, and how late."""
    with Cluster(weir, directory / "stopped", 1, 1, SETTINGS) as cluster, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        def load(*arguments):
            return run_load(weir, cluster.ports, "--read-ratio", READ_RATIOS["both"], "--keys", 100, *arguments)
        capacity = slowed(load, cluster["node-1"])
        told = pool.submit(flood, functools.partial(load, "--outstanding", CONNECTIONS), TIMES * capacity, STOP_SECONDS)
        first = admitted(cluster)
        until("the flood has begun", lambda: admitted(cluster) > first)
        pass_s(STOP_AT_S)
        cluster["node-1"].pause()
        pass_s(STOPPED_S)
        cluster["node-1"].resume()
        return capacity, {w["name"]: w["seconds"][:STOP_SECONDS] for w in told.result()}


def judge_stopped(capacity, seconds):
    check(any(s["admitted"] == 0 for s in seconds["flood"]), f"the node never stood still: {seconds}")
    # What is answered in the first second came while it stood still.
    after = math.ceil(STOP_AT_S + STOPPED_S + 1)
    served = [f["admitted"] + s["admitted"] for f, s in zip(seconds["flood"], seconds["steady"])]
    late_ms = [[round(w["p99_us"] / 1000) for w in both] for both in zip(seconds["flood"], seconds["steady"])]
    found = {"capacity_per_s": round(capacity, 1), "served": served, "p99_ms": late_ms,
             "steady": [(s["offered"], s["admitted"]) for s in seconds["steady"]]}
    say(f"stopped: {json.dumps(found)}")
    asked, answered = (sum(s[k] for s in seconds["steady"][after:]) for k in ("offered", "admitted"))
    check(min(served[after:]) >= 0.8 * capacity, f"less is done after a stop: {found}")
    check(max(map(max, late_ms[after:])) <= LATE_MS, f"served late after a stop: {found}")
    check(answered >= 0.95 * asked, f"work within its allocation suffers after a stop: {found}")
    return found


def one(weir, directory, slow, requests, policy):
    with Cluster(weir, directory / f"{slow}-{requests}-{policy}", 1, 1, [*SETTINGS, "--set", f"overload_policy={policy}"]) as cluster:
        def load(*arguments):
            return run_load(weir, cluster.ports, "--read-ratio", READ_RATIOS[requests], "--keys", 100, *arguments)
        capacity = slowed(load, cluster[f"{slow}-1"])
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
        shed, all_done = (one(options.weir, directory, slow, requests, policy) for policy in ("credits", "off"))
        found[name] = {"credits": shed, "off": all_done}
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
    found["stopped"] = judge_stopped(*stopped(options.weir, directory))
    return found


if __name__ == "__main__":
    servers.case(__doc__, run)
