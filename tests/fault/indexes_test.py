#!/usr/bin/env python3
"""Global indexes equal their table after faults, row for row.

Clients put, change and delete items of a table with global indexes, while nodes, routers and servers of global
admission control are killed, stopped and cut off. Meanwhile one index is added, and one is dropped and made anew.
Then a client reads the table and every index whole, and compares. Before the faults the lag is sampled.

The long form is run by hand: indexes_test.py --seconds 1800.
"""
import random
import statistics
import time

import chaos_test
import servers
from servers import Client, Cluster, Refused, Unreachable, more_done, until

TABLE = "indexed"
WRITERS = 4
KEYS = 200
CALM_S = 5  # at the start: the lag is sampled
PAUSE_S = 0.02
SHOWN = {"by-a": None, "by-b": "pbn", "by-c": "pcx"}  # attributes of a row; None: all


def index(name):
    letter = name[-1]
    keys = [{"AttributeName": letter, "KeyType": "HASH"}]
    projection = {"ProjectionType": "ALL"}
    if name == "by-b":
        keys.append({"AttributeName": "n", "KeyType": "RANGE"})
        projection = {"ProjectionType": "KEYS_ONLY"}
    if name == "by-c":
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]}
    return {"IndexName": name, "KeySchema": keys, "Projection": projection}


def define(*names):
    return [{"AttributeName": n, "AttributeType": "N" if n == "n" else "S"} for n in names]


def described(port):
    """None: no answer."""
    try:
        return Client(port, timeout_s=5).call("DescribeTable", TableName=TABLE)["Table"]
    except (Unreachable, Refused):
        return None


def rests(port, *names):
    """Whether the table has exactly these indexes, and all are filled."""
    table = described(port)
    return table is not None and table["TableStatus"] == "ACTIVE" and \
        sorted(x["IndexName"] for x in table["GlobalSecondaryIndexes"] if x["IndexStatus"] == "ACTIVE") == sorted(names)


def change(port, update, letter):
    try:
        Client(port, timeout_s=5).call("UpdateTable", TableName=TABLE, AttributeDefinitions=define(letter),
                                       GlobalSecondaryIndexUpdates=[update])
    except (Unreachable, Refused):
        pass  # the look at the table tells


class Changer(servers.Worker):
    """Adds an index, drops another one and makes it anew, whatever happens meanwhile."""

    CHANGES = (({"Create": index("by-c")}, "c", ("by-a", "by-b", "by-c")),
               ({"Delete": {"IndexName": "by-a"}}, "a", ("by-b", "by-c")),
               ({"Create": index("by-a")}, "a", ("by-a", "by-b", "by-c")))

    def __init__(self, port):
        super().__init__()
        self.port = port
        self.left = list(self.CHANGES)

    def step(self):
        if self.left:
            update, letter, names = self.left[0]
            if rests(self.port, *names):
                self.left.pop(0)
                return
            change(self.port, update, letter)
        self.stopping.wait(0.5)  # a change takes a while


class Writer(servers.Worker):
    def __init__(self, ports, seed):
        super().__init__()
        self.clients = [Client(port, timeout_s=3) for port in ports]
        self.source = random.Random(seed)
        self.count = self.failed = 0

    def item(self):
        choose = self.source
        return {name: value for name, value in (
            ("p", {"S": str(choose.randrange(KEYS))}), ("a", {"S": f"a{choose.randrange(9)}"}),
            ("b", {"S": f"b{choose.randrange(3)}"}), ("c", {"S": f"c{choose.randrange(30)}"}),
            ("n", {"N": str(choose.randrange(1000))}), ("x", {"S": "x" * choose.randrange(200)}))
            if name == "p" or choose.random() < 0.8}

    def write(self):
        item, what = self.item(), self.source.random()
        client = self.source.choice(self.clients)
        if what < 0.6:
            client.call("PutItem", TableName=TABLE, Item=item)
        elif what < 0.8:
            client.call("DeleteItem", TableName=TABLE, Key={"p": item["p"]})
        else:
            client.call("UpdateItem", TableName=TABLE, Key={"p": item["p"]}, UpdateExpression="SET a = :a REMOVE b",
                        ExpressionAttributeValues={":a": {"S": f"a{self.source.randrange(9)}"}})

    def step(self):
        try:
            self.write()
            self.count += 1
        except (Unreachable, Refused) as failure:
            if getattr(failure, "name", "") in ("ValidationException", "SerializationException"):
                raise
            self.failed += 1
            self.stopping.wait(PAUSE_S)


def scan(port, **members):
    return sorted(servers.scan(port, TABLE, **members), key=lambda item: item["p"]["S"])


def wanted(items, name):
    keys = [k["AttributeName"] for k in index(name)["KeySchema"]]
    shown = SHOWN[name]
    return [{k: v for k, v in item.items() if shown is None or k in shown}
            for item in items if all(k in item for k in keys)]


def compare(port):
    items = scan(port, ConsistentRead=True)
    rows = {}
    for name in SHOWN:
        found = scan(port, IndexName=name)
        if found != wanted(items, name):
            raise AssertionError(f"{name} has {len(found)} rows that are not those of the {len(items)} items")
        rows[name] = len(found)
    damaged = items[1:] if items else [{"p": {"S": "0"}, "a": {"S": "a0"}}]
    if all(wanted(damaged, name) == wanted(items, name) for name in SHOWN):
        raise AssertionError("a missing item makes no difference: the test tests nothing")
    return {"items": len(items), **rows}


def lags(port):
    """Of all indexes, for a while."""
    found, end = [], time.monotonic() + CALM_S

    def is_over():
        found.extend(ms for ms, _ in servers.index_lags(port, TABLE) or [])
        return time.monotonic() >= end and found
    until("the lag is sampled", is_over, poll_s=PAUSE_S)
    return found


def run(options, directory):
    source = random.Random(options.seed)
    with Cluster(options.weir, directory, 3, 2, chaos_test.SETTINGS, gac=1) as cluster:
        port, chaos = cluster.ports[0], chaos_test.Chaos(cluster, source)
        servers.make_table(port, TABLE, None, ("p",), GlobalSecondaryIndexes=[index("by-a"), index("by-b")],
                           AttributeDefinitions=define("p", "a", "b", "n"))
        until("the table rests", lambda: rests(port, "by-a", "by-b"))
        writers = [Writer(cluster.ports, source.random()) for _ in range(WRITERS)]
        changer = Changer(port)
        with servers.working(*writers):
            more_done("all write", writers, 10)
            samples = lags(port)
            with servers.working(changer):
                chaos.trouble(options.seconds, 2)
                until("the indexes are as they shall be", lambda: not changer.left)
        until("the indexes have followed", lambda: servers.indexes_follow(port, TABLE))
        figures = {"written": sum(w.count for w in writers), "failed": sum(w.failed for w in writers),
                   "lag_ms_median": statistics.median(samples), "lag_ms_max": max(samples),
                   **compare(cluster.ports[1])}
        servers.wait_caught_up(port)
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, chaos_test.SETTINGS)
    return figures


if __name__ == "__main__":
    servers.case(__doc__, run, seconds=(25.0, "of faults"), seed=None)
