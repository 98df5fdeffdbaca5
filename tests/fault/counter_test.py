#!/usr/bin/env python3
"""Counters on a cluster that breaks: no increment is lost, and none is done twice.

64 clients add 1 to one hot item (UpdateItem ADD, ReturnValues UPDATED_NEW). 16 others increment a
second item by compare and set: they read it, and write the next number if the item still has the one
they read. Meanwhile processes are killed and paused, links are cut and slow, as in chaos_test.py. Then
everything is healed. For each item:

  acknowledged <= final value <= acknowledged + writes whose outcome nobody knows;
  no two acknowledged answers have the same value;
  an answer is above every answer that any client had before this request began.

  counter_test.py                       about 20 seconds
  counter_test.py --seconds 600 --nodes 5 --seed 7

Each run also proves that the judgement can fail: with an answer doubled, an increment lost, an increment
too many.
"""
import random
import threading

import chaos_test
import servers
from servers import Client, Cluster, NotSent, Refused, Unreachable, make_table, more_done, until

TABLE = "counters"
ADDERS = 64
SETTERS = 16
PAUSE_S = 0.02  # after a refusal
HURRY_S = 0.2  # between two faults, at most


class Counter:
    """What is known of one item. Threads share it under its lock."""

    def __init__(self, key):
        self.key = {"pk": {"S": key}}
        self.lock = threading.Lock()
        self.values = []  # of acknowledged increments
        self.highest = 0
        self.unknown = 0
        self.failed = 0  # conditions that did not hold
        self.refused = 0
        self.errors = []

    def begin(self):
        with self.lock:
            return self.highest

    def acknowledged(self, floor, value):
        with self.lock:
            if value <= floor:
                self.errors.append(f"{value} was answered, and {floor} before the request began")
            self.values.append(value)
            self.highest = max(self.highest, value)

    def count(self, what):
        with self.lock:
            setattr(self, what, getattr(self, what) + 1)


def judge(values, unknown, final):
    """What is wrong; None if nothing is."""
    if len(set(values)) != len(values):
        return "two acknowledged increments have the same value: one is lost"
    if final < len(values) or (values and final < max(values)):
        return f"{len(values)} increments were acknowledged, the counter is {final}: some are lost"
    if final > len(values) + unknown:
        return (f"{len(values)} increments were acknowledged, {unknown} have an unknown outcome, the "
                f"counter is {final}: some were done twice")
    return None


def prove(values, unknown, final):
    """The judgement must find what is wrong in answers that were tampered with."""
    for what, tampered in (("a doubled answer", (values + values[:1], unknown + 1, final)),
                           ("a lost increment", (values, unknown, len(values) - 1)),
                           ("one increment too many", (values, unknown, len(values) + unknown + 1))):
        if judge(*tampered) is None:
            raise AssertionError(f"{what} was not found: the test tests nothing")


class Worker(servers.Worker):
    def __init__(self, counter, ports, seed, step):
        super().__init__()
        self.counter = counter
        self.clients = [Client(port, timeout_s=3) for port in ports]
        self.source = random.Random(seed)
        self.step = lambda: step(self)

    def update(self, **members):
        """The number after the increment. None: not done, or nobody knows."""
        try:
            answer = self.source.choice(self.clients).call(
                "UpdateItem", TableName=TABLE, Key=self.counter.key, ReturnValues="UPDATED_NEW",
                **members)
            return int(answer["Attributes"]["n"]["N"])
        except NotSent:
            self.counter.count("refused")
        except Unreachable:
            self.counter.count("unknown")
        except Refused as refused:
            if refused.name == "ConditionalCheckFailedException":
                self.counter.count("failed")
                return None
            if refused.name in ("ValidationException", "SerializationException"):
                raise
            self.counter.count("unknown" if refused.status == 500 else "refused")
        self.stopping.wait(PAUSE_S)
        return None


def add(worker):
    floor = worker.counter.begin()
    value = worker.update(UpdateExpression="ADD n :one",
                          ExpressionAttributeValues={":one": {"N": "1"}})
    if value is not None:
        worker.counter.acknowledged(floor, value)


def compare_and_set(worker):
    floor = worker.counter.begin()
    try:
        item = worker.source.choice(worker.clients).call(
            "GetItem", TableName=TABLE, Key=worker.counter.key, ConsistentRead=True).get("Item", {})
    except (Unreachable, Refused):
        worker.stopping.wait(PAUSE_S)
        return
    read = int(item.get("n", {"N": "0"})["N"])
    if read < floor:
        worker.counter.errors.append(f"{read} was read, and {floor} written before the read began")
    condition = "n = :old" if item else "attribute_not_exists(pk)"
    values = {":new": {"N": str(read + 1)}, **({":old": {"N": str(read)}} if item else {})}
    value = worker.update(UpdateExpression="SET n = :new", ConditionExpression=condition,
                          ExpressionAttributeValues=values)
    if value is not None:
        worker.counter.acknowledged(floor, value)


def read_through(port, counter):
    """None: it cannot be read."""
    client = Client(port, timeout_s=5)
    try:
        answer = client.call("GetItem", TableName=TABLE, Key=counter.key, ConsistentRead=True)
        return int(answer["Item"]["n"]["N"])
    except (Unreachable, Refused):
        return None
    finally:
        client.close()


def final_of(cluster, counter):
    """Every router must tell the same."""
    def told():
        return [read_through(port, counter) for port in cluster.ports]
    until("the counter can be read through every router", lambda: None not in told())
    values = told()
    if len(set(values)) != 1:
        raise AssertionError(f"routers tell different values at rest: {values}")
    return values[0]


def verdict(counter, final):
    wrong = judge(counter.values, counter.unknown, final)
    if wrong is not None:
        counter.errors.append(wrong)
    if counter.errors:
        raise AssertionError(f"{counter.key}: {counter.errors[:5]}")
    prove(counter.values, counter.unknown, final)
    return {"final": final, "acknowledged": len(counter.values), "unknown": counter.unknown,
            "conditions_failed": counter.failed, "refused": counter.refused}


def run(options, directory):
    source = random.Random(options.seed)
    counters = Counter("added"), Counter("set")
    with Cluster(options.weir, directory, options.nodes, options.routers, chaos_test.SETTINGS,
                 gac=options.gac) as cluster:
        chaos = chaos_test.Chaos(cluster, source)
        make_table(cluster.ports[0], TABLE, (3000, 1000), ("pk",))
        workers = [Worker(counter, cluster.ports, source.random(), step)
                   for counter, count, step in ((counters[0], ADDERS, add), (counters[1], SETTERS, compare_and_set))
                   for _ in range(count)]
        with servers.working(*workers):
            more_done("both counters count", counters, 10, lambda counter: len(counter.values))
            chaos.trouble(options.seconds, HURRY_S)
            chaos.hit("an increment", lambda: counters[0].unknown > 0, lambda: chaos_test.leader_of(cluster, TABLE))
            more_done("both counters count again", counters, 1, lambda counter: len(counter.values))
        finals = [final_of(cluster, counter) for counter in counters]
        cluster.stop()
    figures = {c.key["pk"]["S"]: verdict(c, final) for c, final in zip(counters, finals)}
    return {"seed": options.seed, "seconds": options.seconds, "nodes": options.nodes,
            "routers": options.routers, "faults": chaos.counts, **figures}


if __name__ == "__main__":
    servers.case(__doc__, run, seconds=(20, "of faults"), seed=None, nodes=3, routers=2,
                 gac=(1, "servers of global admission control"))
