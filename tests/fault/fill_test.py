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
"""
import time

import servers
from servers import Client, Cluster, check, say, until

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


def define(*names):
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def described(client, table):
    return client.call("DescribeTable", TableName=table)["Table"]


def load_arguments(table, keys, *more):
    return ["--table", table, "--keys", keys, "--item-bytes", ITEM_BYTES, "--connections", CONNECTIONS, *more]


def fill_table(options, port):
    """Writes each item once. Items per second."""
    begun = time.monotonic()
    servers.run_load(options.weir, [port], *load_arguments(TABLE, options.items, "--preload", "--rate", 1, "--duration", "1ms"))
    return options.items / (time.monotonic() - begun)


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
    seconds = (filling[1] - filling[0]) / 1e9
    spans = {"p99_before_ms": before, "p99_ms": filling, "p99_after_ms": after}
    out = {"filled_s": round(seconds, 2), "items_per_s": round(options.items / seconds),
           **servers.p99s_ms(servers.latencies(history, TABLE)[0], spans, LEAST)}
    if "p99_ms" not in out:
        return {**out, "ratio": None}
    return {**out, "ratio": round(out["p99_ms"] / out["p99_before_ms"], 2),
            "ratio_to_after": round(out["p99_ms"] / out["p99_after_ms"], 2)}


def run(options, directory):
    settings = SETTINGS + servers.set_words(options.set)
    with Cluster(options.weir, directory, options.nodes, 1, settings) as cluster:
        port, client = cluster.ports[0], Client(cluster.ports[0])
        servers.make_table(port, TABLE, None, ("pk",))
        servers.make_table(port, PROBE, None, ("pk",), GlobalSecondaryIndexes=[INDEX], AttributeDefinitions=define(*ATTRIBUTES))
        loaded = fill_table(options, port)
        rate = options.rate or servers.half_of_capacity(options.weir, port, PROBE_S, load_arguments(PROBE, PROBE_KEYS))
        until("the index of the probe has followed", lambda: servers.indexes_follow(port, PROBE))
        say(f"{options.items} items, {loaded:.0f} a second; {rate} writes a second from now on")
        history = directory / "history.jsonl"
        with servers.Load(options.weir, [port], load_arguments(TABLE, options.items), rate, history) as writes:
            before = writes.steady(options.before)
            filling = add_index(options, client, writes)
            after = writes.steady(options.before)
            load = writes.stop()
        until("the index has followed", lambda: servers.indexes_follow(port, TABLE))
        unknown = load["failed_by_type"].pop("InternalServerError", 0)  # a leader changed on a busy machine
        check(not load["failed_by_type"], f"writes failed: {load['failed_by_type']}")
        out = {"items": options.items, "loaded_per_s": round(loaded), "writes_per_s": rate, "written": load["admitted"],
               "throttled": load["throttled"], "unknown": unknown, **figures(options, history, before, filling, after),
               "rows": compare(port)}
        servers.wait_caught_up(port, min(REPLICAS, options.nodes))
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, settings)
    servers.judge_ratio(out, options.ratio)
    return out


if __name__ == "__main__":
    servers.case(__doc__, run, items=5000, nodes=3, rate=(0, "writes a second; 0: half of what is served at most"),
                 before=(3.0, "seconds of writes without the index, and once it is ACTIVE"),
                 within=(float(servers.START_S), "seconds until the index is ACTIVE"),
                 ratio={"type": float, "help": "the most of the p99 while the index is filled, to before"},
                 set=servers.SET_OPTION)
