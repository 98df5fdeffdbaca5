#!/usr/bin/env python3
"""kill -9 the leader of a loaded partition: how long until writes succeed again.

Three nodes, two routers, one partition, a few writers. Each round finds the partition's leader, kills
it, measures from the kill to the first write begun after it that succeeds, starts the node again and
waits until it has caught up. The longest of the rounds must be within the budget, and every
acknowledged write must be there at the end.

Then the same with a table that is asked for more than it may have: what is throttled must be answered
as throttled, with its reason, before and after, and no kill may let more through: what the table may use
is kept by routers and a server of global admission control, not by the leader's buckets.

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import sys
import threading
import time
import urllib.request

import servers
from servers import Client, Cluster, Refused, Unreachable, until

TABLE = "failover"
WRITERS = 8
SETTINGS = ["--profile", "off"]
STRICT = ["--profile", "strict", "--set", "gac=lease"]
WRITE_UNITS = 20
WRITE_REASON = "TableWriteProvisionedThroughputExceeded"
REQUEST_S = 10


def say(text):
    print(f"failover_test: {text}", file=sys.stderr, flush=True)


class Writer(threading.Thread):
    """Writes ascending numbers to a key of its own; remembers when each write was begun and ended."""

    def __init__(self, port, index):
        super().__init__(daemon=True)
        self.port = port
        self.key = f"w{index}"
        self.number = 0
        self.acknowledged = 0
        self.count = 0
        self.first = {}  # by kill: (begun, ended) of the first success begun after it
        self.kill = (0, 0.0)  # which, and when
        self.stopping = threading.Event()

    def run(self):
        client = Client(self.port, timeout_s=REQUEST_S)
        while not self.stopping.is_set():
            self.number += 1
            which, killed_at = self.kill
            begun = time.monotonic()
            try:
                client.call("PutItem", TableName=TABLE, Item={
                    "id": {"S": self.key}, "n": {"N": str(self.number)}})
            except (Refused, Unreachable):
                continue
            self.acknowledged = self.number
            self.count += 1
            if begun > killed_at:
                self.first.setdefault(which, time.monotonic())
        client.close()


class Hammer(threading.Thread):
    """Asks for more than the table may have; counts the answers by what they say."""

    def __init__(self, port, index):
        super().__init__(daemon=True)
        self.client = Client(port, timeout_s=REQUEST_S)
        self.key = f"h{index}"
        self.answers = {"admitted": 0, "throttled": 0, "unavailable": 0}
        self.wrong = []
        self.stopping = threading.Event()

    def ask(self):
        try:
            self.client.call("PutItem", TableName=TABLE, Item={"id": {"S": self.key}})
            return "admitted"
        except Unreachable:
            return "unavailable"
        except Refused as refused:
            reasons = [r["reason"] for r in refused.answer.get("ThrottlingReasons", [])]
            if (refused.name, reasons) == ("ProvisionedThroughputExceededException", [WRITE_REASON]):
                return "throttled"
            if refused.status < 500:
                self.wrong.append(str(refused))
            return "unavailable"

    def run(self):
        while not self.stopping.is_set():
            self.answers[self.ask()] += 1
        self.client.close()


def leader_of(port):
    """The node that leads the table's one partition, or None while nobody does."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions", timeout=5) as answer:
            partitions = json.load(answer)["partitions"]
    except OSError:
        return None
    leaders = {p["node"] for p in partitions if p["table"] == TABLE and p["role"] == "leader"}
    return leaders.pop() if len(leaders) == 1 else None


def one_round(cluster, writers, number):
    before = {writer: writer.count for writer in writers}
    until("every writer writes", lambda: all(w.count > before[w] + 10 for w in writers))
    name = f"node-{until('a leader', lambda: leader_of(cluster.ports[0]))}"
    killed_at = time.monotonic()
    cluster[name].kill()
    for writer in writers:
        writer.kill = (number, killed_at)
    until("writes succeed again", lambda: all(number in w.first for w in writers))
    outage_s = max(w.first[number] for w in writers) - killed_at
    first_s = min(w.first[number] for w in writers) - killed_at
    say(f"round {number}: killed {name}; first write after {first_s:.3f} s, all {WRITERS} writers "
        f"after {outage_s:.3f} s")
    cluster[name].start()
    return outage_s


def begin(cluster, write_units):
    """A client of the cluster, once the table is there."""
    cluster.start()
    client = Client(cluster.ports[0])
    until("the cluster answers", lambda: create_table(client, write_units))
    until("the table is ACTIVE", lambda: client.call(
        "DescribeTable", TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
    return client


def throttled_round(cluster, hammers, number):
    name = f"node-{until('a leader', lambda: leader_of(cluster.ports[0]))}"
    killed_at = time.monotonic()
    cluster[name].kill()
    before = [dict(hammer.answers) for hammer in hammers]
    until("writes are admitted and throttled again", lambda: all(
        sum(h.answers[kind] - b[kind] for h, b in zip(hammers, before)) > 1
        for kind in ("admitted", "throttled")))
    again_s = time.monotonic() - killed_at
    say(f"throttled, round {number}: killed {name}; admitted and throttled again after "
        f"{again_s:.3f} s")
    cluster[name].start()
    return again_s


def run_throttled(options, directory):
    cluster = Cluster(options.weir, directory, 3, 2, STRICT, gac=1)
    hammers = [Hammer(port, i) for i, port in enumerate(cluster.ports)]
    try:
        begin(cluster, WRITE_UNITS)
        begun = time.monotonic()
        for hammer in hammers:
            hammer.start()
        until("writes are throttled", lambda: all(h.answers["throttled"] > 10 for h in hammers))
        again_s = [throttled_round(cluster, hammers, n) for n in range(1, options.rounds + 1)]
        for hammer in hammers:
            hammer.stopping.set()
        for hammer in hammers:
            hammer.join()
        elapsed_s = time.monotonic() - begun
        cluster.stop()
    finally:
        for hammer in hammers:
            hammer.stopping.set()
        cluster.forget()
    answers = {kind: sum(h.answers[kind] for h in hammers) for kind in hammers[0].answers}
    wrong = [text for hammer in hammers for text in hammer.wrong]
    if wrong:
        raise AssertionError(f"answered neither as admitted nor as throttled: {wrong[:3]}")
    most = WRITE_UNITS * (elapsed_s + 1) + 1  # a second of the limit is there at first
    if answers["admitted"] > most:
        raise AssertionError(f"{answers['admitted']} were admitted, at most {most:.0f} may be")
    return again_s, answers


def run(options, directory):
    cluster = Cluster(options.weir, directory, 3, 2, SETTINGS)
    writers = [Writer(cluster.ports[i % 2], i) for i in range(WRITERS)]
    try:
        client = begin(cluster, 100)
        for writer in writers:
            writer.start()
        outages_s = [one_round(cluster, writers, n) for n in range(1, options.rounds + 1)]
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join()
        for writer in writers:
            item = client.call("GetItem", TableName=TABLE, Key={"id": {"S": writer.key}},
                               ConsistentRead=True)["Item"]
            if int(item["n"]["N"]) < writer.acknowledged:
                raise AssertionError(f"{writer.key} is at {item['n']['N']}, acknowledged was "
                                     f"{writer.acknowledged}")
        cluster.stop()
    finally:
        for writer in writers:
            writer.stopping.set()
        cluster.forget()
    servers.verify(options.weir, cluster.data, SETTINGS)
    return outages_s, sum(w.count for w in writers)


def create_table(client, write_units):
    try:
        client.call("CreateTable", TableName=TABLE,
                    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                    ProvisionedThroughput={"ReadCapacityUnits": 100, "WriteCapacityUnits": write_units})
        return True
    except Refused as error:
        return error.name == "ResourceInUseException"
    except Unreachable:
        return False


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=1.5, help="seconds (1.5)")
    options = parser.parse_args()
    with servers.workplace("failover") as directory:
        outages_s, writes = run(options, directory / "off")
        again_s, answers = run_throttled(options, directory / "strict")
    outages_s.sort()
    print(json.dumps({"rounds": options.rounds, "budget_s": options.budget, "writes": writes,
                      "outage_s_median": round(outages_s[len(outages_s) // 2], 3),
                      "outage_s_max": round(outages_s[-1], 3),
                      "throttled_again_s_max": round(max(again_s), 3), "answers": answers}, indent=1))
    if outages_s[-1] > options.budget:
        sys.exit(f"failover_test: {outages_s[-1]:.3f} s is over the budget of {options.budget} s")


if __name__ == "__main__":
    main()
