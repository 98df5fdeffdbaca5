#!/usr/bin/env python3
"""A partition that is asked for more than it may serve is split by itself; one hot item is not.

Three nodes, a router and two servers of global admission control. One customer's orders, many sort keys
under one partition key, come in at three times a partition's maximum: within seconds nothing is
throttled any more, no request fails, and a Query finds every acknowledged item once. Uniform loads of
1.4, 2.1 and 2.4 times the maximum: one split each, and no second one. An item at 1.2 times the maximum
beside 1.4 times the maximum of neighbours: they get all they ask for, it gets the maximum. Six spikes of
two seconds: nothing is split. Then one item at five times the maximum, one at 1.2 times, and a log that is
appended to at twice the maximum: exactly the maximum is served, nothing is split for it, and an event
names the popular key, and the access that only moves forward.
"""
import json
import statistics

import servers
from servers import Client, Cluster, events, pages_of, say

MAXIMUM = 200  # of a partition, in write units: low, so that any machine can offer three times that
RANGE_RATE = 3 * MAXIMUM
APPEND_RATE = 2 * MAXIMUM
ITEM_RATE = 5 * MAXIMUM
TABLE_UNITS = 30 * MAXIMUM  # shares of pieces are more than they are asked for
KEY_RATE = MAXIMUM * 12 // 10
NEAR_RATE = MAXIMUM * 14 // 10
UNIFORM = {"140": 2, "210": 3, "240": 4}  # percent of the maximum: pieces
SPIKES, SPIKE_S, SPIKE_RATE = 6, 2, 4 * MAXIMUM
RUN_S = 20
SETTINGS = ["--set", "gac=lease", "--set", f"partition_max_wcu={MAXIMUM}", "--set", "node_wcu=100000"]


def load(options, port, table, directory, *arguments):
    """What `weir load` measured, and the keys of the acknowledged writes."""
    history = directory / f"{table}.jsonl"
    workload = servers.run_load(options.weir, [port], "--table", table, "--create-table", "--wcu", TABLE_UNITS, "--rcu", 100,
                                "--sort-key", "sk", "--duration", f"{RUN_S}s", "--history", history, *arguments)[0]
    keys, acknowledged = {}, set()
    for entry in map(json.loads, history.read_text().splitlines()):
        if entry["type"] == "invoke":
            keys[entry["op"]] = entry["key"]
        elif entry["type"] == "ok":
            acknowledged.add(keys[entry["op"]])
    return workload, acknowledged


def sort_keys(port, table, partition_key):
    """Of every item of the collection, page by page."""
    client = Client(port)
    found = [item["sk"]["S"] for page in pages_of(client.call, "Query", TableName=table, ConsistentRead=True,
                                                  KeyConditionExpression="pk = :key",
                                                  ExpressionAttributeValues={":key": {"S": partition_key}})
             for item in page["Items"]]
    client.close()
    return found


def total(workload, name, first):
    return sum(second[name] for second in workload["seconds"] if second["t"] >= first)


def hot_range(options, port, directory):
    workload, acknowledged = load(options, port, "range", directory, "--rate", str(RANGE_RATE),
                                  "--distribution", "collection:acme", "--keys", "3000")
    splits = [event for event in events(port, "range") if event["kind"] == "split"]
    late = total(workload, "throttled", options.relief)
    offered = RANGE_RATE * (RUN_S - options.relief)
    say(f"{workload['throttled']} of {RANGE_RATE * RUN_S} throttled, {late} of them after "
        f"{options.relief} s; {len(splits)} splits, {workload['failed']} failed")
    if not splits or total(workload, "throttled", 0) == 0:
        raise AssertionError(f"nothing was throttled, or nothing split for it: {events(port, 'range')}")
    if late > offered / 100:
        raise AssertionError(f"{late} of {offered} were throttled after {options.relief} s: "
                             f"{events(port, 'range')}")
    if workload["failed"] > 0:
        raise AssertionError(f"requests failed: {workload}")
    found = sort_keys(port, "range", "acme")
    if sorted(found) != sorted(acknowledged):
        raise AssertionError(f"{len(acknowledged)} items were acknowledged, {len(found)} are there, "
                             f"{len(set(found))} of them different")
    return {"offered": RANGE_RATE * RUN_S, "throttled": workload["throttled"],
            "throttled_after_relief": late, "splits": len(splits), "items": len(found)}


def side_by_side(options, port, seconds, workloads):
    """What `weir load` measured of several workloads, by name."""
    arguments = [word for workload in workloads for word in ("--workload", workload)]
    done = servers.run_load(options.weir, [port], "--create-table", "--wcu", TABLE_UNITS, "--rcu", 100, "--sort-key", "sk",
                            "--arrival", "constant", "--connections", 8, "--keys", 3000, "--duration", f"{seconds}s", *arguments)
    measured = {workload["name"]: workload for workload in done}
    for name, workload in measured.items():
        if workload["failed"] > 0:
            raise AssertionError(f"requests of {name} failed: {workload}")
    return measured


def check_late(options, name, workload, rate):
    """Nothing is throttled after the relief, but for a hundredth."""
    late = total(workload, "throttled", options.relief)
    offered = rate * (RUN_S - options.relief)
    if late > offered / 100:
        raise AssertionError(f"{name}: {late} of {offered} throttled after {options.relief} s: "
                             f"{workload['seconds']}")
    return late


def uniform(options, port):
    measured = side_by_side(options, port, RUN_S, [
        f"{name}:table=uniform{name},rate={MAXIMUM * int(name) // 100},distribution=collection:all"
        for name in UNIFORM])
    figures = {}
    for name, pieces in UNIFORM.items():
        told = [event for event in events(port, f"uniform{name}") if event["kind"] == "split"]
        say(f"uniform at {name} %: {[event['reason'] for event in told]}")
        late = check_late(options, name, measured[name], MAXIMUM * int(name) // 100)
        if len(told) != 1:
            raise AssertionError(f"at {name} % of the maximum {len(told)} splits: {told}")
        split = told[0]["after"] - told[0]["before"] + 1
        # A machine that halts lets more come at once than was asked for: then it may be one more.
        if not pieces <= split <= pieces + 1:
            raise AssertionError(f"at {name} % of the maximum {split} pieces: {told}")
        figures[name] = {"pieces": split, "throttled": measured[name]["throttled"],
                         "throttled_after_relief": late}
    return figures


def hot_key(options, port):
    """An item that is asked for more than a partition serves, beside others under its partition key."""
    measured = side_by_side(options, port, RUN_S, [
        f"hot:table=hot,rate={KEY_RATE},distribution=single:all",
        f"near:table=hot,rate={NEAR_RATE},distribution=collection:all"])
    told = [event for event in events(port, "hot") if event["kind"] == "split"]
    late = check_late(options, "neighbours", measured["near"], NEAR_RATE)
    admitted = statistics.median(
        second["admitted"] for second in measured["hot"]["seconds"][options.relief + 1:RUN_S - 1])
    say(f"a hot key: {admitted:.0f}/s of {KEY_RATE}, {late} of its neighbours' writes throttled late; "
        f"{[event['reason'] for event in told]}")
    if len(told) != 1 or 'pk="all", sk="-"' not in told[0]["reason"] or "gains" not in told[0]["reason"]:
        raise AssertionError(f"not one split that tells the key and the gain: {told}")
    if abs(admitted - MAXIMUM) > MAXIMUM / 50:
        raise AssertionError(f"{admitted}/s of the key were served, the maximum is {MAXIMUM}")
    return {"key_per_s": admitted, "neighbours_throttled_late": late}


def spikes(options, port):
    side_by_side(options, port, SPIKES * (SPIKE_S + 2), [
        f"spike{i}:table=spiky,rate={SPIKE_RATE},distribution=collection:place{i},"
        f"start={i * (SPIKE_S + 2)}s,duration={SPIKE_S}s" for i in range(SPIKES)])
    told = events(port, "spiky")
    if any(event["kind"].startswith("split") for event in told):
        raise AssertionError(f"a spike of {SPIKE_S} s was a reason for a split: {told}")
    return {"spikes": SPIKES, "splits": 0}


def indivisible(options, port, directory, table, rate, distribution, reason):
    """What no split can help: the maximum is served, and the event says why it stays that way."""
    workload, _ = load(options, port, table, directory, "--rate", str(rate), "--distribution",
                       distribution, "--keys", "1000000")
    told = events(port, table)
    seconds = [second["admitted"] for second in workload["seconds"][2:RUN_S - 1]]
    # A second in which the machine does something else is lost for good: the bucket holds one.
    admitted = statistics.median(seconds)
    most = max(sum(seconds[i:i + 3]) / 3 for i in range(len(seconds) - 2))
    say(f"{table}: {admitted:.1f}/s of {rate} admitted, {workload['failed']} failed, events: "
        f"{[event['reason'] for event in told]}")
    if any(event["kind"] == "split" for event in told):
        raise AssertionError(f"a partition was split to no use: {told}")
    if not any(event["kind"] == "split-refused" and reason in event["reason"] for event in told):
        raise AssertionError(f"no event says `{reason}`: {told}")
    # What the bucket holds may come at once: a second's worth in three.
    if abs(admitted - MAXIMUM) > MAXIMUM / 100 or most > 4 / 3 * MAXIMUM or workload["failed"] > 0:
        raise AssertionError(f"{admitted:.1f}/s were admitted, over three seconds {most:.1f}/s at "
                             f"most, {workload['failed']} failed, the maximum is {MAXIMUM}")
    return {"offered_per_s": rate, "admitted_per_s": round(admitted, 1)}


def run(options, directory):
    with Cluster(options.weir, directory / "cluster", 3, 1, SETTINGS, gac=2) as cluster:
        port = cluster.ports[0]
        figures = {"range": hot_range(options, port, directory),
                   "uniform": uniform(options, port),
                   "hot key": hot_key(options, port),
                   "spikes": spikes(options, port),
                   "alone": indivisible(options, port, directory, "alone", KEY_RATE,
                                        "single:lonely", 'pk="lonely"'),
                   "item": indivisible(options, port, directory, "item", ITEM_RATE,
                                       "single:popular", 'pk="popular"'),
                   "log": indivisible(options, port, directory, "log", APPEND_RATE,
                                      "append:events", "access that only moves forward")}
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, SETTINGS)
    return figures


if __name__ == "__main__":
    servers.case(__doc__, run, relief=(3, "seconds until it must help"))
