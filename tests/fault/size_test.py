#!/usr/bin/env python3
"""Partitions that hold too many bytes are split, wherever the bytes lie; item collections that must stay
whole are not, and their limit outlives the leader.

Three nodes, a router, partitions of at most 1 MiB. Three tables are filled with 4 MiB each: over many
partition keys, under one, and under one of a table that keeps collections whole. The first two end
with every partition under the maximum, at most twice the splits that are needed, and every item there;
the third is not split, and the event says why. Then a whole collection is filled to its limit while its
leaders are killed: it never holds more. At the end `weir verify` counts everything on every replica.
"""
import concurrent.futures
import json

import servers
from servers import Client, Cluster, Refused, Unreachable, check, count, events, make_table, partitions, say, until

MIB = 1 << 20
ITEMS = 400
ITEM_BYTES = 4 * MIB // ITEMS
SPLIT_S = 2 * servers.START_S  # for all splits of a table
LIMIT = 8 * MIB  # of a whole collection
SETTINGS = ["--profile", "off", "--set", f"partition_max_bytes={MIB}", "--set",
            f"collection_max_bytes={LIMIT}", "--set", "split_backoff_ms=2000"]
KEYS = ("pk", "sk")
WHOLE = {"AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in (*KEYS, "x")],
         "LocalSecondaryIndexes": [{"IndexName": "by-x", "Projection": {"ProjectionType": "KEYS_ONLY"},
                                    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"},
                                                  {"AttributeName": "x", "KeyType": "RANGE"}]}]}


def item(pk, number):
    return {"pk": {"S": pk}, "sk": {"S": f"{number:06}"}, "f": {"S": "x" * (ITEM_BYTES - 30)}}


def put(port, table, pk, number):
    """None once it is done; the refusal that is not worth another try."""
    client = Client(port)

    def done():
        try:
            client.call("PutItem", TableName=table, Item=item(pk, number))
            return "done"
        except Refused as error:
            return "full" if "ItemCollectionSizeLimitExceeded" in str(error) else None
        except Unreachable:
            return None

    try:
        return until("the item is written or refused", done)
    finally:
        client.close()


def fill(port, table, keys):
    """The bytes of what it has written."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        done = list(pool.map(lambda i: put(port, table, f"k{i % keys}", i), range(ITEMS)))
    if set(done) != {"done"}:
        raise AssertionError(f"not every item of {table} was written: {done}")
    return sum(size(item(f"k{i % keys}", i)) for i in range(ITEMS))


def told(port, table, kind):
    return [event for event in events(port, table) if event["kind"] == kind]


def size(of):
    return sum(len(name) + len(value["S"]) for name, value in of.items())


def at_size(port, table, filled):
    """Its partitions, once all that was filled in is known to be in them, none has too many bytes
    and none is being split; before, nothing."""
    led = [p for p in partitions(port, table) if p["role"] == "leader"]
    done = all(p.get("bytes", MIB) < MIB and not p["splitting"] for p in led)
    return done and sum(p["bytes"] for p in led) == filled and led


def split_to_size(port, table, keys):
    """How often a table is split that is filled over so many partition keys."""
    make_table(port, table, (100, 100), KEYS)
    filled = fill(port, table, keys)
    led = until("no partition holds too many bytes", lambda: at_size(port, table, filled), SPLIT_S)
    splits = len(led) - 1
    say(f"{table}: {splits} splits, the largest partition holds {max(p['bytes'] for p in led)} bytes")
    if splits > 2 * filled // MIB:
        raise AssertionError(f"{splits} splits, more than twice what is needed: {led}")
    held = count(port, table, ConsistentRead=True)
    check(held == ITEMS, f"{held} of {ITEMS} items of {table} are there")
    return splits


def stays_whole(cluster, port):
    """One collection up to its limit, while those who lead it die."""
    table = "whole"
    make_table(port, table, (100, 100), KEYS, **WHOLE)
    fill(port, table, 1)
    until("it is told why it is not split", lambda: told(port, table, "split-refused"))
    reason = told(port, table, "split-refused")[0]["reason"]
    say(f"{table}: {reason}")
    if told(port, table, "split") or "must stay whole" not in reason:
        raise AssertionError(f"a collection was split: {events(port, table)}")
    outcomes = []
    for round_, name in enumerate(cluster.nodes):
        cluster[name].kill()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            first = ITEMS * (1 + round_)
            outcomes += pool.map(lambda i: put(port, table, "k0", i), range(first, first + 150))
        cluster[name].start()
    held = count(port, table, ConsistentRead=True)
    say(f"{table}: {held} items, of {len(outcomes)} more {outcomes.count('full')} were refused")
    each = size(item("k0", 0))
    if held != LIMIT // each or "full" not in outcomes:
        raise AssertionError(f"{held} items of {each} bytes are there, the limit is {LIMIT}")
    return held


def run(options, directory):
    with Cluster(options.weir, directory / "cluster", 3, 1, SETTINGS) as cluster:
        port = cluster.ports[0]
        figures = {"splits": split_to_size(port, "many", 40),
                   "splits_in_collection": split_to_size(port, "one", 1),
                   "items_of_limit": stays_whole(cluster, port)}
        servers.wait_caught_up(port)
        cluster.stop()
    largest = 0
    whole = 0
    for node in json.loads(servers.verify(options.weir, cluster.data, ["--json", *SETTINGS]))["nodes"]:
        for replica in node["replicas"]:
            whole += replica["bytes"] > LIMIT // 2
            largest = max(largest, replica["bytes"] if replica["bytes"] <= LIMIT // 2 else 0)
    if whole != 3 or largest >= MIB:
        raise AssertionError(f"{whole} replicas hold the whole collection, and others {largest} bytes")
    servers.check_replicas(options.weir, cluster.data, SETTINGS)
    return {**figures, "largest_partition_bytes": largest}


if __name__ == "__main__":
    servers.case(__doc__, run)
