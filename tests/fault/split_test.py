#!/usr/bin/env python3
"""Partitions are cut while 64 clients write and read them: nothing is lost, and nothing fails for it.

Three nodes, two routers, one table that begins as one partition. Clients write ascending numbers to
keys of their own and read them back. Meanwhile partitions are cut, first with everything well: no
request may fail. Then once more, each time with the leader of the partition killed in the middle:
requests may fail while it is being replaced, but what was acknowledged is there. At the end every
key is read back, `weir verify` counts items and compares the replicas.

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import itertools
import json
import sys
import threading
import time
import urllib.error
import urllib.request

import servers
from servers import Client, Cluster, Refused, Unreachable, until

TABLE = "split"
KEYS = 20  # of each client
SETTINGS = ["--profile", "off"]


def say(text):
    print(f"split_test: {text}", file=sys.stderr, flush=True)


class Worker(threading.Thread):
    """Writes and reads keys of its own; what is read back must be no older than acknowledged."""

    def __init__(self, port, index, pause_s=0):
        super().__init__(daemon=True)
        self.port = port
        self.pause_s = pause_s  # between two writes
        self.index = index
        self.acknowledged = [0] * KEYS
        self.number = 0
        self.count = 0
        self.longest_s = 0.0
        self.failed = []
        self.wrong = None
        self.stopping = threading.Event()

    def key(self, at):
        return {"S": f"w{self.index}-{at}"}

    def one(self, client, at):
        self.number += 1
        client.call("PutItem", TableName=TABLE, Item={
            "id": self.key(at), "n": {"N": str(self.number)}})
        self.acknowledged[at] = self.number
        self.check(client, at)

    def check(self, client, at):
        item = client.call("GetItem", TableName=TABLE, Key={"id": self.key(at)},
                           ConsistentRead=True).get("Item", {"n": {"N": "0"}})
        if int(item["n"]["N"]) < self.acknowledged[at]:
            self.wrong = (f"{self.key(at)['S']} is at {item['n']['N']}, acknowledged was "
                          f"{self.acknowledged[at]}")

    def run(self):
        client = Client(self.port)
        while not self.stopping.is_set() and self.wrong is None:
            begun = time.monotonic()
            try:
                self.one(client, self.number % KEYS)
                self.count += 1
            except (Refused, Unreachable) as error:
                self.failed.append(str(error))
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            self.stopping.wait(self.pause_s)
        client.close()


def partitions(port):
    """Of the table: id -> node that leads it, for those that somebody leads."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions", timeout=5) as answer:
        return {p["partition"]: p["node"] for p in json.load(answer)["partitions"]
                if p["table"] == TABLE and p["role"] == "leader"}


def split(router, partition):
    """Whether the catalog has cut the partition."""
    try:
        return router.change("/weir/split", {"TableName": TABLE, "Partition": partition})["Partitions"]
    except urllib.error.HTTPError as error:
        say(f"not now: {error.read().decode()}")
        return None
    except OSError as error:
        say(f"not now: {error}")
        return None


def grow(cluster, most, kill=False):
    """Cuts the partition with the lowest id that is left to cut, until there are `most`."""
    port = cluster.ports[0]
    while True:
        led = until("all partitions are led", lambda: partitions(port))
        if len(led) >= most:
            return
        order = itertools.cycle(sorted(led))
        partition = until("a cut is taken", lambda: next(
            (p for p in [next(order)] if split(cluster["router-1"], p) is not None), None))
        if kill:
            name = f"node-{led[partition]}"
            cluster[name].kill()
            say(f"killed {name}, which led partition {partition} as it was cut")
            until("another node leads it", lambda: partitions(port).get(
                partition, led[partition]) != led[partition])
            cluster[name].start()
        until("the children are led", lambda: len(partitions(port)) > len(led), 60)


def check_all(workers, port):
    client = Client(port)
    for worker in workers:
        for at in range(KEYS):
            worker.check(client, at)
        if worker.wrong is not None:
            raise AssertionError(worker.wrong)
    items = 0
    start = {}
    while True:
        page = client.call("Scan", TableName=TABLE, ConsistentRead=True, Select="COUNT", Limit=97,
                           **start)
        items += page["Count"]
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    client.close()
    written = sum(n > 0 for worker in workers for n in worker.acknowledged)
    if items < written or items > len(workers) * KEYS:
        raise AssertionError(f"a scan finds {items} items, {written} were acknowledged")
    return items


def create_table(client):
    try:
        client.call("CreateTable", TableName=TABLE,
                    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                    ProvisionedThroughput={"ReadCapacityUnits": 100, "WriteCapacityUnits": 100})
        return True
    except Refused as error:
        return error.name == "ResourceInUseException"
    except Unreachable:
        return False


def run(options, directory):
    cluster = Cluster(options.weir, directory, 3, 2, SETTINGS)
    workers = [Worker(cluster.ports[i % 2], i) for i in range(options.clients)]
    try:
        cluster.start()
        client = Client(cluster.ports[0])
        until("the cluster answers", lambda: create_table(client))
        until("the table is ACTIVE", lambda: client.call(
            "DescribeTable", TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
        for worker in workers:
            worker.start()
        until("every client has worked", lambda: all(w.count > 5 for w in workers), 60)
        for worker in workers:
            worker.longest_s = 0.0
        grow(cluster, options.splits + 1)
        calm_s = max(w.longest_s for w in workers)
        failed = [f for w in workers for f in w.failed]
        if failed:
            raise AssertionError(f"{len(failed)} requests failed in splits alone: {failed[0]}")
        say(f"{options.splits} splits, {sum(w.count for w in workers)} writes, none failed; the "
            f"longest write and read took {calm_s:.3f} s")
        grow(cluster, options.splits + options.kills + 1, kill=True)
        before = {w: w.count for w in workers}
        until("every client works again", lambda: all(w.count > before[w] for w in workers), 60)
        for worker in workers:
            worker.stopping.set()
        for worker in workers:
            worker.join()
        items = check_all(workers, cluster.ports[1])
        until("every replica has everything", lambda: servers.caught_up(cluster.ports[1]), 60)
        cluster.stop()
    finally:
        for worker in workers:
            worker.stopping.set()
        cluster.forget()
    servers.check_replicas(options.weir, cluster.data, SETTINGS, copies=3)
    return {"splits": options.splits, "kills": options.kills, "clients": options.clients,
            "writes": sum(w.count for w in workers), "items": items,
            "longest_s": round(calm_s, 3),
            "failed_with_a_dead_leader": sum(len(w.failed) for w in workers)}


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--kills", type=int, default=2)
    options = parser.parse_args()
    with servers.workplace("split") as directory:
        figures = run(options, directory)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
