#!/usr/bin/env python3
"""Disks that are gone: one of three is rebuilt under load, two of three stop writes and lose nothing.

First a node is killed and its directory deleted while writers go on; it comes back empty and must be
rebuilt from the others while they serve. Proof: another node is killed, and writes go on; every
acknowledged write is read back strongly; in the end all replicas are equal.

Then two directories of three are deleted. Writes must be refused with the reason, and eventual reads
must find on the third node all that was acknowledged.
"""
import shutil

import servers
from servers import Client, Cluster, Refused, Unreachable, leaders, more_done, say, try_until, until

TABLE = "lost"
WRITERS = 4
KEYS = 40
SETTINGS = ["--profile", "off", "--set", "checkpoint_ms=500", "--set", "entries_max_bytes=64KiB"]


class Writer(servers.Worker):
    """Writes ascending numbers to its keys in turn; remembers the last acknowledged of each."""

    def __init__(self, port, index):
        super().__init__()
        self.client = Client(port)
        self.index = index
        self.acknowledged = {}
        self.number = self.count = 0

    def step(self):
        self.number += 1
        key = f"w{self.index}-{self.number % KEYS}"
        try:
            self.client.call("PutItem", TableName=TABLE, Item={
                "id": {"S": key}, "n": {"N": str(self.number)}, "filler": {"S": "x" * 900}})
        except (Refused, Unreachable):
            return
        self.acknowledged[key] = self.number
        self.count += 1


def wipe(cluster, name):
    cluster[name].kill()
    shutil.rmtree(cluster.data / name)


def read_back(port, writers, consistent, what):
    client = Client(port)
    for writer in writers:
        for key, number in writer.acknowledged.items():
            item = try_until(f"{key} can be read", client.call, "GetItem", TableName=TABLE, Key={"id": {"S": key}},
                             ConsistentRead=consistent).get("Item")
            if item is None or int(item["n"]["N"]) < number:
                raise AssertionError(f"{what}: {key} is {item and item['n']['N']}, acknowledged was "
                                     f"{number}")
    client.close()


def rebuild_one(cluster, writers):
    more_done("all writers write", writers, 50)
    wipe(cluster, "node-2")
    say("node 2 has lost its disk")
    more_done("they write without node 2", writers, 20)
    cluster["node-2"].start()
    servers.wait_caught_up(cluster.ports[0])
    say("node 2 is rebuilt")
    cluster["node-1"].kill()
    until("the others lead all of its partitions", lambda: leads(cluster.ports[0], {2, 3}))
    more_done("they write without node 1", writers, 20)
    cluster["node-1"].start()
    servers.wait_caught_up(cluster.ports[0])


def leads(port, nodes):
    found = {p["partition"] for p in servers.partitions(port, TABLE)}
    led = leaders(port, TABLE)
    return set(led) == found and set(led.values()) <= nodes


def lose_two(cluster, writers):
    wipe(cluster, "node-1")
    wipe(cluster, "node-3")
    say("nodes 1 and 3 have lost their disks")
    cluster["node-1"].start()
    cluster["node-3"].start()
    client = Client(cluster.ports[0])

    def refused():
        try:
            client.call("PutItem", TableName=TABLE, Item={"id": {"S": "w0-0"}, "n": {"N": "1"}})
        except Refused as error:
            return error if error.status == 503 and "no leader" in error.text else None
        except Unreachable:
            return None
        raise AssertionError("a write was acknowledged with two of three disks lost")
    say(f"a write is refused: {until('a write is refused with its reason', refused).text}")
    read_back(cluster.ports[0], writers, False, "on the third node")


def run(options, directory):
    with Cluster(options.weir, directory, 3, 2, SETTINGS) as cluster:
        writers = [Writer(cluster.ports[i % 2], i) for i in range(WRITERS)]
        servers.make_table(cluster.ports[0], TABLE)
        with servers.working(*writers):
            rebuild_one(cluster, writers)
        read_back(cluster.ports[0], writers, True, "after the rebuild")
        servers.wait_caught_up(cluster.ports[0])
        cluster.stop()
        servers.check_replicas(options.weir, cluster.data, SETTINGS, copies=3)
        cluster.start()
        # The routers know the map before two nodes are lost.
        read_back(cluster.ports[0], writers, True, "after a restart")
        lose_two(cluster, writers)
    return {"writes": sum(w.count for w in writers)}


if __name__ == "__main__":
    servers.case(__doc__, run)
