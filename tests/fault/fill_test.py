#!/usr/bin/env python3
"""A global index is added to a table that has items and is written: it gets a row of every item.

The table has --items items. `weir load` writes them all the time, at half of what a table with such an index
serves. After a while without the index, UpdateTable adds it. Told are the time until the index is ACTIVE, items
per second, and the p99 of writes while the index is filled, to the p99 before, and to the p99 once it is ACTIVE. At
the end the index must be the projection of the table, row for row, and replicas must hold the same.

Each write gives its item another value of the index's key, so its row moves. Writes of the fill and of the load
meet in the same items.

  fill_test.py                                     5,000 items
  fill_test.py --items 1000000 --ratio 1.2         fails if the p99 is above 1.2 times what it was

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import subprocess
import sys
import time

import servers
from servers import Client, Cluster, Refused, Unreachable, until

TABLE, PROBE = "filled", "probe"
INDEX = {"IndexName": "by-v", "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
         "Projection": {"ProjectionType": "KEYS_ONLY"}}
ATTRIBUTES = ("pk", "v")  # of a row
REPLICAS = 3
ITEM_BYTES = 100
CONNECTIONS = 128  # so many that a due write is sent at once
PROBE_S = 3
PROBE_KEYS = 10000
LEAST = 1000  # requests to tell a p99 from
LOOK_S = 0.1
# Nothing is throttled. Checkpoints come often, so that either time has many.
SETTINGS = ["--profile", "off", "--set", "checkpoint_ms=1000"]


def say(text):
    print(f"fill_test: {text}", file=sys.stderr, flush=True)


def define(*names):
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def make_table(client, table, attributes, **more):
    """Whether the table is there: not yet while the nodes come to know each other."""
    try:
        client.call("CreateTable", TableName=table, BillingMode="PAY_PER_REQUEST",
                    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}], AttributeDefinitions=define(*attributes),
                    **more)
    except (Refused, Unreachable) as error:
        if getattr(error, "name", "") != "ResourceInUseException":
            return False
    return described(client, table)["TableStatus"] == "ACTIVE"


def make_tables(client):
    until("the table is made", lambda: make_table(client, TABLE, ["pk"]))
    until("the probe is made", lambda: make_table(client, PROBE, ["pk", "v"], GlobalSecondaryIndexes=[INDEX]))


def described(client, table):
    return client.call("DescribeTable", TableName=table)["Table"]


def load_command(options, port, table, keys, *more):
    return [str(options.weir), "load", "--url", f"http://127.0.0.1:{port}", "--quiet", "--json", "--table", table,
            "--keys", str(keys), "--item-bytes", str(ITEM_BYTES), "--connections", str(CONNECTIONS), *more]


def run_load(options, port, table, keys, *more):
    done = subprocess.run(load_command(options, port, table, keys, *more), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["workloads"][0]


def fill_table(options, port):
    """Writes each item once. Items per second."""
    begun = time.monotonic()
    run_load(options, port, TABLE, options.items, "--preload", "--rate", "1", "--duration", "1ms")
    return options.items / (time.monotonic() - begun)


def half_of_capacity(options, port):
    run = run_load(options, port, PROBE, PROBE_KEYS, "--preload", "--rate", "max", "--duration", f"{PROBE_S}s")
    until("the index of the probe has followed", lambda: servers.indexes_follow(port, PROBE))
    return max(1, round(run["admitted_per_s"] / 2))


def add_index(options, client, writes):
    """The time from UpdateTable until the index is ACTIVE."""
    first = time.monotonic_ns()
    client.call("UpdateTable", TableName=TABLE, AttributeDefinitions=define("pk", "v"),
                GlobalSecondaryIndexUpdates=[{"Create": INDEX}])

    def is_active():
        writes.check_running()
        indexes = described(client, TABLE)["GlobalSecondaryIndexes"]
        return [x["IndexStatus"] for x in indexes] == ["ACTIVE"]
    until("the index is ACTIVE", is_active, bound_s=options.within, poll_s=LOOK_S)
    return first, time.monotonic_ns()


def compare(port):
    """The index against the table: the number of rows."""
    items = {item["pk"]["S"]: item["v"]["S"] for item in servers.scan(port, TABLE, ConsistentRead=True)}
    rows = servers.scan(port, TABLE, IndexName=INDEX["IndexName"])
    if any(sorted(row) != sorted(ATTRIBUTES) for row in rows):
        raise AssertionError("a row has other attributes than those of its projection")
    found = {row["pk"]["S"]: row["v"]["S"] for row in rows}
    if len(found) != len(rows) or found != items:
        wrong = [key for key in items.keys() | found.keys() if items.get(key) != found.get(key)]
        raise AssertionError(f"{len(rows)} rows of {len(items)} items; {len(wrong)} items differ: {wrong[:5]}")
    return len(rows)


def figures(options, history, before, filling, after):
    found, _ = servers.latencies(history, TABLE)
    seconds = (filling[1] - filling[0]) / 1e9
    out = {"filled_s": round(seconds, 2), "items_per_s": round(options.items / seconds)}
    spans = {"p99_before_ms": before, "p99_ms": filling, "p99_after_ms": after}
    if min(sum(first <= at < last for at, _ in found) for first, last in spans.values()) < LEAST:
        return {**out, "ratio": None}  # too short for a p99
    out.update((name, servers.p99_ms(found, [span], LEAST)) for name, span in spans.items())
    return {**out, "ratio": round(out["p99_ms"] / out["p99_before_ms"], 2),
            "ratio_to_after": round(out["p99_ms"] / out["p99_after_ms"], 2)}


def run(options, directory):
    settings = SETTINGS + [argument for setting in options.set for argument in ("--set", setting)]
    cluster = Cluster(options.weir, directory, options.nodes, 1, settings)
    writes = None
    try:
        cluster.start()
        port, client = cluster.ports[0], Client(cluster.ports[0])
        make_tables(client)
        loaded = fill_table(options, port)
        rate = options.rate or half_of_capacity(options, port)
        say(f"{options.items} items, {loaded:.0f} a second; {rate} writes a second from now on")
        history = directory / "history.jsonl"
        writes = servers.Load(load_command(options, port, TABLE, options.items), rate, history)
        before = writes.steady(options.before)
        filling = add_index(options, client, writes)
        after = writes.steady(options.before)
        load = writes.stop()
        until("the index has followed", lambda: servers.indexes_follow(port, TABLE))
        unknown = load["failed_by_type"].pop("InternalServerError", 0)  # a leader changed on a busy machine
        if load["failed_by_type"]:
            raise AssertionError(f"writes failed: {load['failed_by_type']}")
        out = {"items": options.items, "loaded_per_s": round(loaded), "writes_per_s": rate, "written": load["admitted"],
               "throttled": load["throttled"], "unknown": unknown, **figures(options, history, before, filling, after), "rows": compare(port)}
        until("all replicas have caught up", lambda: servers.caught_up(port, min(REPLICAS, options.nodes)))
        cluster.stop()
        servers.check_replicas(options.weir, cluster.data, settings)
        return out
    finally:
        if writes is not None:
            writes.forget()
        cluster.forget()


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--rate", type=int, default=0, help="writes a second; 0: half of what is served at most")
    parser.add_argument("--before", type=float, default=3, help="seconds of writes without the index, and once it is ACTIVE")
    parser.add_argument("--within", type=float, default=servers.START_S, help="seconds until the index is ACTIVE")
    parser.add_argument("--ratio", type=float, help="the most of the p99 while the index is filled, to before")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the cluster")
    options = parser.parse_args()
    with servers.workplace("fill") as directory:
        out = run(options, directory)
    print(json.dumps(out))
    if options.ratio is not None and (out["ratio"] is None or out["ratio"] > options.ratio):
        raise AssertionError(f"the p99 is {out['ratio']} times what it was, {options.ratio} is allowed")


if __name__ == "__main__":
    main()
