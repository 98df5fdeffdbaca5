#!/usr/bin/env python3
"""Partitions that hold too many bytes are cut, wherever the bytes lie; item collections that must stay
whole are not, and their limit outlives the leader.

Three nodes, a router, partitions of at most 1 MiB. Three tables are filled with 4 MiB each: over many
partition keys, under one, and under one of a table that keeps collections whole. The first two end
with every partition under the maximum, at most twice the cuts that are needed, and every item there;
the third is not cut, and the event says why. Then a whole collection is filled to its limit while its
leaders are killed: it never holds more. At the end `weir verify` counts everything on every replica.

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import concurrent.futures
import json
import sys
import urllib.request

import servers
from servers import Client, Cluster, Refused, Unreachable, until

MIB = 1 << 20
ITEMS = 400
ITEM_BYTES = 4 * MIB // ITEMS
CUT_S = 200  # for all cuts of a table: generous
LIMIT = 8 * MIB  # of a whole collection
SETTINGS = ["--profile", "off", "--set", f"partition_max_bytes={MIB}", "--set",
            f"collection_max_bytes={LIMIT}", "--set", "split_backoff_ms=2000"]
WHOLE = {"LocalSecondaryIndexes": [{"IndexName": "by-x", "Projection": {"ProjectionType": "KEYS_ONLY"},
                                    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"},
                                                  {"AttributeName": "x", "KeyType": "RANGE"}]}]}


def say(text):
    print(f"size_test: {text}", file=sys.stderr, flush=True)


def item(pk, number):
    return {"pk": {"S": pk}, "sk": {"S": f"{number:06}"}, "f": {"S": "x" * (ITEM_BYTES - 30)}}


def create(port, table, more):
    client = Client(port)
    client.call("CreateTable", TableName=table, BillingMode="PROVISIONED",
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"},
                           {"AttributeName": "sk", "KeyType": "RANGE"}],
                AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"}
                                      for n in ("pk", "sk", *(["x"] if more else []))],
                **more, ProvisionedThroughput={"ReadCapacityUnits": 100, "WriteCapacityUnits": 100})
    until("the table is there", lambda: client.call("DescribeTable", TableName=table)[
        "Table"]["TableStatus"] == "ACTIVE")


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

    outcome = []
    until("the item is written or refused", lambda: outcome.append(done()) or outcome[-1])
    client.close()
    return outcome[-1]


def fill(port, table, keys):
    """The bytes of what it has written."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        done = list(pool.map(lambda i: put(port, table, f"k{i % keys}", i), range(ITEMS)))
    if set(done) != {"done"}:
        raise AssertionError(f"not every item of {table} was written: {done}")
    return sum(size(item(f"k{i % keys}", i)) for i in range(ITEMS))


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return json.load(answer)


def told(port, table, kind):
    return [event for event in get(port, "/weir/events")["events"]
            if event["table"] == table and event["kind"] == kind]


def count(port, table):
    client, found, start = Client(port), 0, {}
    while True:
        page = client.call("Scan", TableName=table, ConsistentRead=True, Select="COUNT", **start)
        found += page["Count"]
        if "LastEvaluatedKey" not in page:
            client.close()
            return found
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def size(of):
    return sum(len(name) + len(value["S"]) for name, value in of.items())


def at_size(port, table, filled):
    """Its partitions, once all that was filled in is known to be in them, none has too many bytes
    and none is being cut; before, nothing."""
    led = [p for p in get(port, f"/weir/partitions?table={table}")["partitions"]
           if p["role"] == "leader"]
    done = all(p.get("bytes", MIB) < MIB and not p["splitting"] for p in led)
    return done and sum(p["bytes"] for p in led) == filled and led


def cut_to_size(port, table, keys):
    """How often a table is cut that is filled over so many partition keys."""
    create(port, table, {})
    filled = fill(port, table, keys)
    led = until("no partition holds too many bytes", lambda: at_size(port, table, filled), CUT_S)
    cuts = len(led) - 1
    say(f"{table}: {cuts} cuts, the largest partition holds {max(p['bytes'] for p in led)} bytes")
    if cuts > 2 * filled // MIB:
        raise AssertionError(f"{cuts} cuts, more than twice what is needed: {led}")
    if count(port, table) != ITEMS:
        raise AssertionError(f"{count(port, table)} of {ITEMS} items of {table} are there")
    return cuts


def stays_whole(cluster, port):
    """One collection up to its limit, while those who lead it die."""
    table = "whole"
    create(port, table, WHOLE)
    fill(port, table, 1)
    until("it is told why it is not cut", lambda: told(port, table, "split-refused"))
    reason = told(port, table, "split-refused")[0]["reason"]
    say(f"{table}: {reason}")
    if told(port, table, "split") or "must stay whole" not in reason:
        raise AssertionError(f"a collection was cut: {get(port, '/weir/events')}")
    outcomes = []
    for round_, name in enumerate(cluster.nodes):
        cluster[name].kill()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            first = ITEMS * (1 + round_)
            outcomes += pool.map(lambda i: put(port, table, "k0", i), range(first, first + 150))
        cluster[name].start()
    held = count(port, table)
    say(f"{table}: {held} items, of {len(outcomes)} more {outcomes.count('full')} were refused")
    each = size(item("k0", 0))
    if held != LIMIT // each or "full" not in outcomes:
        raise AssertionError(f"{held} items of {each} bytes are there, the limit is {LIMIT}")
    return held


def answers(port):
    try:
        return Client(port).call("ListTables") is not None
    except (Unreachable, Refused):
        return False


def run(options, directory):
    cluster = Cluster(options.weir, directory / "cluster", 3, 1, SETTINGS)
    try:
        cluster.start()
        port = cluster.ports[0]
        until("the cluster answers", lambda: answers(port))
        figures = {"cuts": cut_to_size(port, "many", 40),
                   "cuts_in_collection": cut_to_size(port, "one", 1),
                   "items_of_limit": stays_whole(cluster, port)}
        until("every replica has everything", lambda: servers.caught_up(port), 120)
        cluster.stop()
    finally:
        cluster.forget()
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


def main():
    parser = servers.parser(__doc__)
    options = parser.parse_args()
    with servers.workplace("size") as directory:
        figures = run(options, directory)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
