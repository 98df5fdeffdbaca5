#!/usr/bin/env python3
"""One conversation takes more messages than a partition may write, and its key is spread over more and more shards.

64 clients write messages of one conversation with boto3, in ascending order, at 200, 900, 2,200 and 4,000 a second (times
--scale), to a table that is tagged weir:key-sharding = auto. Routers are killed meanwhile. A reader asks for the newest
messages all the time: they come in order, each once, and none that was acknowledged is missing. At the end the
conversation is read back by Query, forwards and backwards: each message once, in order, as an unsharded key has
it. Then the same Query is timed against a conversation of one shard.

  chat_test.py                                   a tenth of the rates, for ctest
  chat_test.py --scale 1 --messages 1000000      the whole
"""
import bisect
import random
import statistics
import threading
import time

import boto3
import botocore.config
import botocore.exceptions

import servers
from servers import Client, Cluster, Refused, Unreachable, check, make_table, say, until

RATES = (200, 900, 2200, 4000)
PHASE_S = 10  # of each rate but the last
WRITERS = 64
BATCH = 25
PAGE = 100  # of the reader
ROOM, HALL = "room", "hall"  # the sharded conversation; one of one shard, in a table without the tag
QUERIES = 500
KEYS = ("c", "m")


def sort_key(number):
    return f"{number:010d}"


def boto(port):
    return boto3.client(
        "dynamodb", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id="weir",
        aws_secret_access_key="weir", config=botocore.config.Config(
            retries={"max_attempts": 1, "mode": "standard"}, connect_timeout=5, read_timeout=10, max_pool_connections=1))


class Schedule:
    """When which message is due: the rates, one phase after the other."""

    def __init__(self, rates, messages):
        self.messages = messages
        self.next = 0
        self.lock = threading.Lock()
        self.begun = None
        self.steps = []  # (first message, seconds, rate)
        first = at = 0
        for rate in rates:
            self.steps.append((first, at, rate))
            first, at = first + int(rate * PHASE_S), at + PHASE_S

    def due_s(self, number):
        step = self.steps[bisect.bisect_right([s[0] for s in self.steps], number) - 1]
        return step[1] + (number - step[0]) / step[2]

    def take(self):
        """The next messages, and when they are due. None: all are taken."""
        with self.lock:
            if self.next >= self.messages:
                return None
            numbers = range(self.next, min(self.next + BATCH, self.messages))
            self.next = numbers.stop
        return numbers, self.begun + self.due_s(numbers.stop - 1)


class Worker(servers.Worker):
    def __init__(self, test):
        super().__init__()
        self.test = test
        self.clients = [boto(port) for port in test.ports]


class Writer(Worker):
    """Writes what is due, until it is acknowledged."""

    def step(self):
        taken = self.test.schedule.take()
        if taken is None:
            self.stopping.set()
            return
        numbers, due = taken
        self.stopping.wait(max(0, due - time.monotonic()))  # the schedule's pace
        self.insist(numbers)

    def insist(self, numbers):
        left = [{"PutRequest": {"Item": {"c": {"S": ROOM}, "m": {"S": sort_key(n)}, "text": {"S": "x" * 100}}}}
                for n in numbers]
        turn, pause = random.randrange(len(self.clients)), 0.02
        while left and not self.stopping.is_set():
            try:
                answer = self.clients[turn % len(self.clients)].batch_write_item(RequestItems={"chat": left})
                rest = answer.get("UnprocessedItems", {}).get("chat", [])
                if rest:
                    self.test.note_throttled(len(rest))
            except botocore.exceptions.ClientError as error:
                code = error.response["Error"]["Code"]
                if code not in ("ProvisionedThroughputExceededException", "ThrottlingException",
                                "InternalServerError", "ServiceUnavailable", "InternalFailure"):
                    raise
                rest = left
                self.test.note_throttled(len(rest) if "Throughput" in code or "Throttling" in code else 0)
            except (botocore.exceptions.HTTPClientError, botocore.exceptions.ConnectionError):
                rest, turn = left, turn + 1
            if rest:
                self.stopping.wait(pause * random.random())
                pause = min(2 * pause, 1)
            left = rest
        if not left:
            self.test.note_acknowledged(numbers)


class Reader(Worker):
    """Asks for the newest messages, and looks whether one is missing, doubled or out of order."""

    turn = 0

    def step(self):
        sure = self.test.newest_acknowledged()
        try:
            page = self.clients[self.turn % len(self.clients)].query(
                TableName="chat", ConsistentRead=True, ScanIndexForward=False, Limit=PAGE,
                KeyConditionExpression="c = :c", ExpressionAttributeValues={":c": {"S": ROOM}})
        except (botocore.exceptions.ClientError, botocore.exceptions.HTTPClientError,
                botocore.exceptions.ConnectionError):
            self.turn += 1
            self.stopping.wait(0.05)
            return
        found = [int(item["m"]["S"]) for item in page["Items"]]
        if any(a <= b for a, b in zip(found, found[1:])):
            raise AssertionError(f"a page is out of order, or names a message twice: {found}")
        least = found[-1] if "LastEvaluatedKey" in page and found else -1
        if len(found) < PAGE and least >= 0:
            self.test.short_pages += 1
        missing = [n for n in sure if n > least and n not in set(found)]
        if missing:
            raise AssertionError(f"acknowledged messages are missing: {missing[:5]} of a page of {len(found)} messages from "
                                 f"{found[:1]} on, which goes on: {least >= 0}")
        self.test.pages += 1


class Test:
    def __init__(self, options, cluster):
        self.options = options
        self.cluster = cluster
        self.ports = cluster.ports
        self.rates = [rate * options.scale for rate in RATES]
        self.schedule = Schedule(self.rates, options.messages)
        self.lock = threading.Lock()
        self.acknowledged = 0
        self.newest = []  # the last acknowledged ones
        self.throttled = {}  # by second
        self.pages = self.short_pages = 0

    def second(self):
        return int(time.monotonic() - self.schedule.begun)

    def note_throttled(self, count):
        with self.lock:
            self.throttled[self.second()] = self.throttled.get(self.second(), 0) + count

    def note_acknowledged(self, numbers):
        with self.lock:
            self.acknowledged += len(numbers)
            self.newest = sorted(self.newest + list(numbers))[-4 * PAGE:]

    def newest_acknowledged(self):
        with self.lock:
            return list(self.newest)

    def events(self):
        return servers.events(self.ports[0], "chat", "key-")

    def kill_a_router(self, number):
        router = self.cluster[self.cluster.routers[number % len(self.cluster.routers)]]
        router.kill()
        router.start()

    def write(self):
        writers, kills, next_kill = [Writer(self) for _ in range(WRITERS)], 0, 5
        self.schedule.begun = time.monotonic()

        def is_written():
            nonlocal kills, next_kill
            if self.second() >= next_kill:
                self.kill_a_router(kills)
                kills, next_kill = kills + 1, self.second() + self.options.kill_s
            return not any(w.is_alive() for w in writers)
        seconds = self.schedule.due_s(self.options.messages)
        with servers.working(Reader(self), *writers):
            until("all messages are written", is_written, 2 * seconds + servers.START_S, 0.2)
            return kills, time.monotonic() - self.schedule.begun

    def relief(self):
        """For each rate: from its begin to the end of the last second in which more than 1 % was throttled."""
        found = []
        for i, (_, at, rate) in enumerate(self.schedule.steps):
            end = self.schedule.steps[i + 1][1] if i + 1 < len(self.schedule.steps) else 1 << 30
            late = [s for s, n in self.throttled.items() if at <= s < end and n > rate / 100]
            found.append(max(late) + 1 - at if late else 0)
        return found

    def read_back(self, forward):
        client = self.client()
        answers = servers.pages_of(
            client.query, TableName="chat", ConsistentRead=True, ScanIndexForward=forward, KeyConditionExpression="c = :c",
            ExpressionAttributeValues={":c": {"S": ROOM}}, ProjectionExpression="m")
        return [int(item["m"]["S"]) for page in answers for item in page["Items"]]

    def client(self):
        return boto3.client("dynamodb", endpoint_url=f"http://127.0.0.1:{self.ports[0]}", region_name="us-east-1",
                            aws_access_key_id="weir", aws_secret_access_key="weir",
                            config=botocore.config.Config(retries={"max_attempts": 20, "mode": "standard"}))

    def compare(self):
        """The same page of the sharded conversation and of one of one shard, in turns."""
        make_table(self.ports[0], "plain", (40000, 40000), KEYS)
        client, times = Client(self.ports[0]), {ROOM: [], HALL: []}
        for first in range(0, 20 * PAGE, BATCH):
            left = [{"PutRequest": {"Item": {"c": {"S": HALL}, "m": {"S": sort_key(n)}, "text": {"S": "x" * 100}}}}
                    for n in range(first, first + BATCH)]
            until("a batch is written", lambda: self.put_all(client, left))
        for _ in range(self.options.queries):
            for name, table in ((ROOM, "chat"), (HALL, "plain")):
                begun = time.perf_counter()
                page = until("a page is read", lambda t=table, n=name: self.page(client, t, n))
                times[name].append(time.perf_counter() - begun)
                assert len(page["Items"]) == PAGE
        client.close()
        return {name: {"p50_ms": round(1000 * statistics.median(t), 3),
                       "p99_ms": round(1000 * statistics.quantiles(t, n=100)[98], 3)} for name, t in times.items()}

    @staticmethod
    def put_all(client, left):
        try:
            left[:] = client.call("BatchWriteItem", RequestItems={"plain": left})["UnprocessedItems"].get("plain", [])
        except (Refused, Unreachable):
            return False
        return not left

    @staticmethod
    def page(client, table, name):
        try:
            return client.call("Query", TableName=table, Limit=PAGE, ScanIndexForward=False,
                               KeyConditionExpression="c = :c", ExpressionAttributeValues={":c": {"S": name}})
        except (Refused, Unreachable):
            return None


def run(options, directory):
    settings = ["--set", "gac=lease", "--set", f"partition_max_wcu={max(1, int(1000 * options.scale))}",
                "--set", f"partition_max_rcu={3000}", "--set", f"key_sharding_shard_units={max(1, int(800 * options.scale))}",
                "--set", "node_wcu=100000", "--set", "node_rcu=100000"]
    with Cluster(options.weir, directory, 3, 2, settings, gac=1) as cluster:
        test = Test(options, cluster)
        units = int(10000 * options.scale)
        make_table(cluster.ports[0], "chat", (units, units), KEYS,
                   Tags=[{"Key": "weir:key-sharding", "Value": options.key_sharding}])
        kills, taken = test.write()
        events = test.events()
        say(f"{options.messages} messages in {taken:.0f} s, {kills} routers killed, "
            f"{[(e['kind'], e['after']) for e in events]}")
        wanted = list(range(options.messages))
        for forward in (True, False):
            found = test.read_back(forward)
            check(found == (wanted if forward else wanted[::-1]),
                  f"of {options.messages} messages {len(found)} came back, {len(set(found))} of them "
                  f"different, in order: {found == sorted(found, reverse=not forward)}")
        figures = {"messages": options.messages, "seconds": round(taken, 1), "routers_killed": kills,
                   "pages_read_meanwhile": test.pages,
                   "shorter_than_asked_for": test.short_pages, "throttled": sum(test.throttled.values()),
                   "relief_s": test.relief(), "shards": [[e["kind"], e["after"]] for e in events],
                   "query": test.compare()}
        check(options.key_sharding != "auto" or max((e["after"] for e in events), default=1) >= options.least_shards,
              f"fewer than {options.least_shards} shards: {events}")
        servers.wait_caught_up(cluster.ports[0])
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, settings)
    return figures


if __name__ == "__main__":
    servers.case(__doc__, run, scale=(0.1, "of the rates and limits"), messages=9000,
                 kill_s=(8.0, "between two kills of routers"), key_sharding=("auto", "the table's tag; off: the same without"),
                 least_shards=(4, "that the key must get"), queries=(QUERIES, "of each conversation"))
