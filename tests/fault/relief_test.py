#!/usr/bin/env python3
"""A partition that is asked for more than it may serve is cut by itself; one hot item is not.

Three nodes, a router and two servers of global admission control. One customer's orders, many sort keys
under one partition key, come in at three times a partition's maximum: within seconds nothing is
throttled any more, no request fails, and a Query finds every acknowledged item once. Then one item at five times the maximum, and a log that is
appended to at twice the maximum: exactly the maximum is served, nothing is cut for it, and an event
names the popular key, and the access that only moves forward.

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import statistics
import subprocess
import sys
import urllib.request

import servers
from servers import Client, Cluster, Unreachable, until

MAXIMUM = 200  # of a partition, in write units: low, so that any machine can offer three times that
RANGE_RATE = 3 * MAXIMUM
APPEND_RATE = 2 * MAXIMUM
ITEM_RATE = 5 * MAXIMUM
TABLE_UNITS = 30 * MAXIMUM  # shares of pieces are more than they are asked for
RUN_S = 20
SETTINGS = ["--set", "gac=lease", "--set", f"partition_max_wcu={MAXIMUM}"]


def say(text):
    print(f"relief_test: {text}", file=sys.stderr, flush=True)


def load(options, port, table, directory, *arguments):
    """What `weir load` measured, and the keys of the acknowledged writes."""
    history = directory / f"{table}.jsonl"
    done = subprocess.run(
        [str(options.weir), "load", "--url", f"http://127.0.0.1:{port}", "--table", table,
         "--create-table", "--wcu", str(TABLE_UNITS), "--rcu", "100", "--sort-key", "sk", "--json",
         "--quiet", "--duration", f"{RUN_S}s", "--history", str(history), *arguments],
        stdout=subprocess.PIPE, check=True, timeout=servers.START_S * 5)
    keys, acknowledged = {}, set()
    for entry in map(json.loads, history.read_text().splitlines()):
        if entry["type"] == "invoke":
            keys[entry["op"]] = entry["key"]
        elif entry["type"] == "ok":
            acknowledged.add(keys[entry["op"]])
    return json.loads(done.stdout)["workloads"][0], acknowledged


def sort_keys(port, table, partition_key):
    """Of every item of the collection, page by page."""
    client, found, start = Client(port), [], {}
    while True:
        page = client.call("Query", TableName=table, ConsistentRead=True, **start,
                           KeyConditionExpression="pk = :key",
                           ExpressionAttributeValues={":key": {"S": partition_key}})
        found += [item["sk"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            client.close()
            return found
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def events(port, table):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/events", timeout=10) as answer:
        return [event for event in json.load(answer)["events"] if event["table"] == table]


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
        raise AssertionError(f"nothing was throttled, or nothing cut for it: {events(port, 'range')}")
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


def indivisible(options, port, directory, table, rate, distribution, reason):
    """What no cut can help: the maximum is served, and the event says why it stays that way."""
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
        raise AssertionError(f"a partition was cut in vain: {told}")
    if not any(event["kind"] == "split-refused" and reason in event["reason"] for event in told):
        raise AssertionError(f"no event says `{reason}`: {told}")
    # What the bucket holds may come at once: a second's worth in three.
    if abs(admitted - MAXIMUM) > MAXIMUM / 100 or most > 4 / 3 * MAXIMUM or workload["failed"] > 0:
        raise AssertionError(f"{admitted:.1f}/s were admitted, over three seconds {most:.1f}/s at "
                             f"most, {workload['failed']} failed, the maximum is {MAXIMUM}")
    return {"offered_per_s": rate, "admitted_per_s": round(admitted, 1)}


def answers(port):
    try:
        return Client(port).call("ListTables") is not None
    except (Unreachable, servers.Refused):
        return False


def run(options, directory):
    cluster = Cluster(options.weir, directory / "cluster", 3, 1, SETTINGS, gac=2)
    try:
        cluster.start()
        port = cluster.ports[0]
        until("the cluster answers", lambda: answers(port))
        figures = {"range": hot_range(options, port, directory),
                   "item": indivisible(options, port, directory, "item", ITEM_RATE,
                                       "single:popular", 'pk="popular"'),
                   "log": indivisible(options, port, directory, "log", APPEND_RATE,
                                      "append:events", "access that only moves forward")}
        cluster.stop()
    finally:
        cluster.forget()
    servers.check_replicas(options.weir, cluster.data, SETTINGS)
    return figures


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--relief", type=int, default=3, help="seconds until it must help (3)")
    options = parser.parse_args()
    with servers.workplace("relief") as directory:
        figures = run(options, directory)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
