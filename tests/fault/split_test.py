#!/usr/bin/env python3
"""Partitions are split while 64 clients write and read them: nothing is lost, and nothing fails for it.

Three nodes, two routers, one table that begins as one partition. Clients write ascending numbers to
keys of their own and read them back. Meanwhile partitions are split, first with everything well: no
request may fail. Then once more, each time with the leader of the partition killed in the middle:
requests may fail while it is being replaced, but what was acknowledged is there. At the end every
key is read back, `weir verify` counts items and compares the replicas.
"""
import itertools
import time
import urllib.error

import servers
from servers import Client, Cluster, Refused, Unreachable, check, leaders, make_table, more_done, say, until

TABLE = "split"
KEYS = 20  # of each client
SETTINGS = ["--profile", "off"]


class Worker(servers.Worker):
    """Writes and reads keys of its own; what is read back must be no older than acknowledged."""

    def __init__(self, port, index, pause_s=0):
        super().__init__()
        self.client = Client(port)
        self.pause_s = pause_s  # between two writes
        self.index = index
        self.acknowledged = [0] * KEYS
        self.number = 0
        self.count = 0
        self.longest_s = 0.0
        self.failed = []

    def key(self, at):
        return {"S": f"w{self.index}-{at}"}

    def step(self):
        begun, at = time.monotonic(), self.number % KEYS
        self.number += 1
        try:
            self.client.call("PutItem", TableName=TABLE, Item={"id": self.key(at), "n": {"N": str(self.number)}})
            self.acknowledged[at] = self.number
            self.read(self.client, at)
            self.count += 1
        except (Refused, Unreachable) as error:
            self.failed.append(str(error))
        self.longest_s = max(self.longest_s, time.monotonic() - begun)
        self.stopping.wait(self.pause_s)

    def read(self, client, at):
        item = client.call("GetItem", TableName=TABLE, Key={"id": self.key(at)},
                           ConsistentRead=True).get("Item", {"n": {"N": "0"}})
        check(int(item["n"]["N"]) >= self.acknowledged[at],
              f"{self.key(at)['S']} is at {item['n']['N']}, acknowledged was {self.acknowledged[at]}")


def split(router, partition):
    """Whether the catalog has split the partition."""
    try:
        return router.change("/weir/split", {"TableName": TABLE, "Partition": partition})["Partitions"]
    except urllib.error.HTTPError as error:
        say(f"not now: {error.read().decode()}")
        return None
    except OSError as error:
        say(f"not now: {error}")
        return None


def grow(cluster, most, kill=False):
    """Splits the partition with the lowest id that is left to split, until there are `most`."""
    port = cluster.ports[0]
    while True:
        led = until("all partitions are led", lambda: leaders(port, TABLE))
        if len(led) >= most:
            return
        order = itertools.cycle(sorted(led))
        partition = until("a split is taken", lambda: next(
            (p for p in [next(order)] if split(cluster["router-1"], p) is not None), None))
        if kill:
            name = f"node-{led[partition]}"
            cluster[name].kill()
            say(f"killed {name}, which led partition {partition} as it was split")
            until("another node leads it", lambda: leaders(port, TABLE).get(
                partition, led[partition]) != led[partition])
            cluster[name].start()
        until("the children are led", lambda: len(leaders(port, TABLE)) > len(led))


def check_all(workers, port):
    """Reads all keys back; the number of items."""
    client = Client(port)
    for worker in workers:
        for at in range(KEYS):
            worker.read(client, at)
    client.close()
    items = servers.count(port, TABLE, ConsistentRead=True, Limit=97)
    written = sum(n > 0 for worker in workers for n in worker.acknowledged)
    check(written <= items <= len(workers) * KEYS, f"a scan finds {items} items, {written} were acknowledged")
    return items


def begin(workers):
    """Every client has worked, and none has met a failure."""
    more_done("every client works", workers, 5)
    check_none_failed(workers, "before there were splits")
    for worker in workers:
        worker.longest_s = 0.0


def check_none_failed(workers, when):
    failed = [f for w in workers for f in w.failed]
    check(not failed, f"{len(failed)} requests failed {when}: {failed[:1]}")


def ended(options, cluster, workers, settings):
    """What is checked once all clients have ended; figures."""
    items = check_all(workers, cluster.ports[1])
    servers.wait_caught_up(cluster.ports[1])
    cluster.stop()
    servers.check_replicas(options.weir, cluster.data, settings, copies=3)
    return {"clients": options.clients, "writes": sum(w.count for w in workers), "items": items,
            "failed_with_a_dead_leader": sum(len(w.failed) for w in workers)}


def run(options, directory):
    with Cluster(options.weir, directory, 3, 2, SETTINGS) as cluster:
        workers = [Worker(cluster.ports[i % 2], i) for i in range(options.clients)]
        make_table(cluster.ports[0], TABLE, (100, 100))
        with servers.working(*workers):
            begin(workers)
            grow(cluster, options.splits + 1)
            calm_s = max(w.longest_s for w in workers)
            check_none_failed(workers, "in splits alone")
            say(f"{options.splits} splits, {sum(w.count for w in workers)} writes, none failed; the "
                f"longest write and read took {calm_s:.3f} s")
            grow(cluster, options.splits + options.kills + 1, kill=True)
            more_done("every client works again", workers, 1)
        return {"splits": options.splits, "kills": options.kills, "longest_s": round(calm_s, 3),
                **ended(options, cluster, workers, SETTINGS)}


if __name__ == "__main__":
    servers.case(__doc__, run, clients=64, splits=6, kills=2)
