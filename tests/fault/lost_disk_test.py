#!/usr/bin/env python3
"""Disks that are gone: one of three is rebuilt under load, two of three stop writes and lose nothing.

First a node is killed and its directory deleted while writers go on; it comes back empty and must be
rebuilt from the others while they serve. Proof: both other nodes are killed one after the other, and
every acknowledged write is still read back strongly; in the end all replicas are equal.

Then two directories of three are deleted. Writes must be refused with the reason, and eventual reads
must find on the third node all that was acknowledged.
"""
import json
import shutil
import sys
import threading
import urllib.request

import servers
from servers import Client, Cluster, Refused, Unreachable, until

TABLE = "lost"
WRITERS = 4
KEYS = 40
SETTINGS = ["--profile", "off", "--set", "checkpoint_ms=500", "--set", "entries_max_bytes=64KiB"]


def say(text):
    print(f"lost_disk_test: {text}", file=sys.stderr, flush=True)


class Writer(threading.Thread):
    """Writes ascending numbers to its keys in turn; remembers the last acknowledged of each."""

    def __init__(self, port, index):
        super().__init__(daemon=True)
        self.port = port
        self.index = index
        self.acknowledged = {}
        self.count = 0
        self.stopping = threading.Event()

    def run(self):
        client = Client(self.port)
        number = 0
        while not self.stopping.is_set():
            number += 1
            key = f"w{self.index}-{number % KEYS}"
            try:
                client.call("PutItem", TableName=TABLE, Item={
                    "id": {"S": key}, "n": {"N": str(number)}, "filler": {"S": "x" * 900}})
            except (Refused, Unreachable):
                continue
            self.acknowledged[key] = number
            self.count += 1
        client.close()


def create_table(client):
    try:
        client.call("CreateTable", TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
    except (Refused, Unreachable) as error:
        return isinstance(error, Refused) and error.name == "ResourceInUseException"
    return True


def more_writes(writers, count):
    wanted = {w: w.count + count for w in writers}
    until(f"{count} more writes of each writer", lambda: all(w.count >= wanted[w] for w in writers))


def wipe(cluster, name):
    cluster[name].kill()
    shutil.rmtree(cluster.data / name)


def read_back(port, writers, consistent, what):
    client = Client(port)
    for writer in writers:
        for key, number in writer.acknowledged.items():
            def found():
                try:
                    return client.call("GetItem", TableName=TABLE, Key={"id": {"S": key}},
                                       ConsistentRead=consistent)
                except (Refused, Unreachable):
                    return None
            item = until(f"{key} can be read", found).get("Item")
            if item is None or int(item["n"]["N"]) < number:
                raise AssertionError(f"{what}: {key} is {item and item['n']['N']}, acknowledged was "
                                     f"{number}")
    client.close()


def rebuild_one(cluster, writers):
    more_writes(writers, 100)
    wipe(cluster, "node-2")
    say("node 2 has lost its disk")
    more_writes(writers, 20)
    cluster["node-2"].start()
    more_writes(writers, 100)
    until("node 2 is a voter everywhere and leads again", lambda: is_whole(cluster.ports[0]))
    say("node 2 is rebuilt and leads again")
    for name in ("node-1", "node-3"):
        cluster[name].kill()
        more_writes(writers, 50)
        cluster[name].start()
        say(f"{name} was killed and started: writes went on")
        more_writes(writers, 200)
        until(f"{name} leads again", lambda: is_whole(cluster.ports[0]))


def is_whole(port):
    """Whether every partition has three voters, all caught up, and each node leads one."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions", timeout=5) as answer:
            partitions = json.load(answer)["partitions"]
    except OSError:
        return False
    led = [p for p in partitions if p["table"] == TABLE and p["role"] == "leader"]
    everything = {p["partition"] for p in partitions if p["table"] == TABLE}
    return (len(led) == len(everything) and {p["node"] for p in led} == {1, 2, 3} and
            all(p["voters"] == 3 and p["caught_up"] == 3 for p in led))


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
    say("the third node has everything")


def run(options, directory):
    cluster = Cluster(options.weir, directory, 3, 2, SETTINGS)
    writers = [Writer(cluster.ports[i % 2], i) for i in range(WRITERS)]
    try:
        cluster.start()
        client = Client(cluster.ports[0])
        until("the cluster answers", lambda: create_table(client))
        until("the table is ACTIVE", lambda: client.call(
            "DescribeTable", TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
        for writer in writers:
            writer.start()
        rebuild_one(cluster, writers)
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join()
        read_back(cluster.ports[0], writers, True, "after the rebuild")
        cluster.stop()
        different = {p: r for p, r in servers.replicas(options.weir, cluster.data, SETTINGS).items()
                     if len(r) != 3 or len(set(r)) != 1}
        if different:
            raise AssertionError(f"replicas differ: {different}")
        say("all replicas are equal")
        cluster.start()
        # The routers know the map before two nodes are lost.
        read_back(cluster.ports[0], writers, True, "after a restart")
        lose_two(cluster, writers)
    finally:
        for writer in writers:
            writer.stopping.set()
        cluster.forget()


def main():
    parser = servers.parser(__doc__)
    options = parser.parse_args()
    with servers.workplace("lost-disk") as directory:
        run(options, directory)


if __name__ == "__main__":
    main()
