#!/usr/bin/env python3
"""Global indexes equal their table after faults, row for row.

Clients put, change and delete items of a table with global indexes, while nodes, routers and servers of global
admission control are killed, stopped and cut off. Meanwhile one index is added, and one is dropped and made anew.
Then a client reads the table and every index whole, and compares. Before the faults the lag is sampled.

Prints one JSON object of figures. The long form is run by hand: indexes_test.py --seconds 1800.
"""
import json
import random
import statistics
import sys
import threading
import time

import chaos_test
import servers
from servers import Client, Cluster, Refused, Unreachable, until

TABLE = "indexed"
WRITERS = 4
KEYS = 200
CALM_S = 5  # at the start: the lag is sampled
PAUSE_S = 0.02
SHOWN = {"by-a": None, "by-b": "pbn", "by-c": "pcx"}  # attributes of a row; None: all


def say(text):
    print(f"indexes_test: {text}", file=sys.stderr, flush=True)


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


def make_table(port):
    Client(port).call("CreateTable", TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                      KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}], AttributeDefinitions=define("p", "a", "b", "n"),
                      GlobalSecondaryIndexes=[index("by-a"), index("by-b")])


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


class Changer(threading.Thread):
    """Adds an index, drops another one and makes it anew, whatever happens meanwhile."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.done = False
        self.error = None

    def bring(self, update, letter, *names):
        while not rests(self.port, *names):
            change(self.port, update, letter)
            time.sleep(0.5)

    def run(self):
        try:
            self.bring({"Create": index("by-c")}, "c", "by-a", "by-b", "by-c")
            self.bring({"Delete": {"IndexName": "by-a"}}, "a", "by-b", "by-c")
            self.bring({"Create": index("by-a")}, "a", "by-a", "by-b", "by-c")
            self.done = True
        except Exception as error:  # pylint: disable=broad-except
            self.error = repr(error)


class Writer(threading.Thread):
    def __init__(self, ports, seed):
        super().__init__(daemon=True)
        self.clients = [Client(port, timeout_s=3) for port in ports]
        self.source = random.Random(seed)
        self.stopping = threading.Event()
        self.written = self.failed = 0
        self.error = None

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

    def run(self):
        while not self.stopping.is_set():
            try:
                self.write()
                self.written += 1
            except Unreachable:
                self.failed += 1
                self.stopping.wait(PAUSE_S)
            except Refused as refused:
                if refused.name in ("ValidationException", "SerializationException"):
                    self.error = repr(refused)
                    return
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


def run(options, directory):
    source = random.Random(options.seed)
    cluster = Cluster(options.weir, directory, 3, 2, chaos_test.SETTINGS, gac=1)
    chaos = chaos_test.Chaos(cluster, source)
    writers = []
    try:
        cluster.start()
        until("the cluster answers", lambda: chaos_test.lists_tables(cluster.ports[0]))
        make_table(cluster.ports[0])
        until("the table rests", lambda: rests(cluster.ports[0], "by-a", "by-b"))
        writers = [Writer(cluster.ports, source.random()) for _ in range(WRITERS)]
        for writer in writers:
            writer.start()
        until("all write", lambda: all(w.written > 10 for w in writers))
        samples, end = [], time.monotonic() + CALM_S
        while time.monotonic() < end:
            samples += [ms for ms, _ in servers.index_lags(cluster.ports[0], TABLE) or []]
            time.sleep(PAUSE_S)
        changer = Changer(cluster.ports[0])
        changer.start()
        chaos.trouble(options.seconds, 2, lambda: any(w.error for w in writers))
        until("the indexes are as they shall be", lambda: changer.done or changer.error)
        servers.end_workers(writers)
        if changer.error:
            raise AssertionError(changer.error)
        until("the indexes have followed", lambda: servers.indexes_follow(cluster.ports[0], TABLE))
        figures = {"written": sum(w.written for w in writers), "failed": sum(w.failed for w in writers),
                   "lag_ms_median": statistics.median(samples), "lag_ms_max": max(samples),
                   **compare(cluster.ports[1])}
        until("all replicas have caught up", lambda: servers.caught_up(cluster.ports[0]))
        cluster.stop()
        servers.check_replicas(options.weir, cluster.data, chaos_test.SETTINGS)
        return figures
    finally:
        for writer in writers:
            writer.stopping.set()
        cluster.forget()


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=25, help="of faults")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    say(f"seed {options.seed}")
    with servers.workplace("indexes") as directory:
        print(json.dumps(run(options, directory)))


if __name__ == "__main__":
    main()
