#!/usr/bin/env python3
"""More than weir is meant to take: it stays correct, bounded in memory, and there afterwards.

 items        items of exactly 409,600 bytes, put and read back by 64 clients at once; a byte more is
              refused as the real service refuses it
 connections  1,000 open connections, each of which gets its answers
 overload     ten times a table's write units, by `weir load`: every answer is right or a clean
              refusal with its reason; memory stays bounded; then a normal request is answered

The short form has fewer connections, and allows clean refusals of any reason: a busy machine may lose leaders.
"""
import random
import threading
import time

import servers
from servers import Client, Refused, Server, check, make_table, run_load, say, until

CLIENTS = 64
ITEM_BYTES = 409600
TOO_LARGE = "Item size has exceeded the maximum allowed size"
UNKNOWN = "It is not known whether the write was done"
NOTHING_DONE = ("did nothing", "Nothing was written")
THROTTLED = "ProvisionedThroughputExceededException"
MIB = 1024 * 1024
BUSY = {"InternalServerError", "ServiceUnavailable"}  # answers of a cluster that has lost a leader


def in_threads(count, function):
    """Runs function(index) in `count` threads; the first failure is raised."""
    failures = []

    def body(index):
        try:
            function(index)
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [threading.Thread(target=body, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class Test:
    """One server for one test. Its memory is looked at when all is over."""

    profile = "aws"

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        directory.mkdir()
        # A busy machine answers late: clients that give up and ask again have it do everything twice.
        deadline = ["--set", "request_deadline_ms=30000"] if options.short else []
        self.server = Server(options.weir, ["local", "--port", 0, "--data", directory / "data",
                                            "--profile", self.profile,
                                            "--set", "gac_start_units=0", *deadline], directory / "log")

    def run(self):
        begin = time.monotonic()
        with self.server:
            self.port = self.server.port
            figures = self.body()
            memory = self.server.memory_bytes()
            limit = self.memory_mib_max * self.options.memory_factor
            check(memory <= limit * MIB, f"{memory / MIB:.0f} MiB were resident, the bound is {limit}")
            self.server.stop()
        servers.verify(self.options.weir, self.directory / "data")
        return {**figures, "memory_mib": round(memory / MIB, 1), "seconds": round(time.monotonic() - begin, 1)}


class Items(Test):
    profile = "off"
    # 64 requests and answers of 400 KB in several forms, memtables of three nodes, their logs
    memory_mib_max = 1536

    def item(self, index, number, size):
        """An item that DynamoDB counts `size` bytes, made of characters of one byte and of more."""
        source = random.Random(f"{self.options.seed}/{index}/{number}")
        name = f"{index}"
        left = size - len("id") - len(name) - len("text") - len("more")
        more = source.choice(["é", "x", "日"]) * source.randrange(1000)
        text = f"{source.randrange(16 ** 16):016x}" * (left // 16 + 1)
        item = {"id": {"S": name}, "more": {"S": more},
                "text": {"S": text[:left - len(more.encode())]}}
        counted = sum(len(n) + len(v["S"].encode()) for n, v in item.items())
        assert counted == size
        return item

    def client(self, index):
        client = Client(self.port)
        for number in range(self.options.item_rounds):
            item = self.item(index, number, ITEM_BYTES)
            put(client, item)
            got = read_back(client, item)
            if got != item:
                raise AssertionError(f"client {index} read back another item than it put")
            try:
                client.call("PutItem", TableName="items", Item=self.item(index, number, ITEM_BYTES + 1))
                raise AssertionError("an item of 409,601 bytes was taken")
            except Refused as error:
                if (error.status, error.name, error.text) != (400, "ValidationException", TOO_LARGE):
                    raise
        client.close()

    def body(self):
        make_table(self.port, "items", (9000, 9000))
        in_threads(CLIENTS, self.client)
        return {"clients": CLIENTS, "item_bytes": ITEM_BYTES,
                "items_written": CLIENTS * self.options.item_rounds}


def read_back(client, item):
    """The item as a strong read tells it. A slow machine may lose a leader under this load: then reads are refused."""
    found = {}

    def read():
        try:
            found.update(client.call("GetItem", TableName="items", Key={"id": item["id"]}, ConsistentRead=True)["Item"])
        except Refused as error:
            if error.status not in (500, 503):
                raise
            return False
        return True

    until("an item is read back", read)
    return found


def put(client, item):
    """Puts the item until the server takes it. Back-pressure (503) says that nothing was done. A
    500 that does not know the outcome is allowed: a slow machine may lose a leader under this
    load, and putting the same item again does no harm. Any other error fails the test."""

    def taken():
        try:
            client.call("PutItem", TableName="items", Item=item)
        except Refused as error:
            nothing_done = error.status == 503 and any(t in error.text for t in NOTHING_DONE)
            outcome_unknown = error.status == 500 and UNKNOWN in error.text
            if not nothing_done and not outcome_unknown:
                raise
            return False
        return True

    until("the item is taken", taken)


class Connections(Test):
    profile = "off"
    memory_mib_max = 256

    def body(self):
        count = self.options.connections
        make_table(self.port, "connections", (1000, 1000))
        clients = [Client(self.port) for _ in range(count)]
        for round_ in range(3):
            order = list(range(count))
            random.Random(f"{self.options.seed}/{round_}").shuffle(order)
            for index in order:
                item = {"id": {"S": f"{index}"}, "round": {"N": f"{round_}"}}
                clients[index].call("PutItem", TableName="connections", Item=item)
            for index in order:
                got = clients[index].call("GetItem", TableName="connections", ConsistentRead=True,
                                          Key={"id": {"S": f"{index}"}})
                if got["Item"]["round"]["N"] != f"{round_}":
                    raise AssertionError(f"connection {index} read {got}")
        opened = sum(client.connections for client in clients)
        if opened != count:
            raise AssertionError(f"{opened - count} connections were closed meanwhile")
        for client in clients:
            client.close()
        return {"connections": count, "answers": count * 6}


class Watcher(servers.Worker):
    """A client with items of its own, which the load throttles."""

    def __init__(self, port):
        super().__init__()
        self.client = Client(port)
        self.number = self.written = self.throttled = 0

    def step(self):
        self.number += 1
        item = {"pk": {"S": f"watch-{self.number % 50}"}, "number": {"N": f"{self.number}"}}
        try:
            self.client.call("PutItem", TableName="load", Item=item)
            self.written += 1
            got = self.client.call("GetItem", TableName="load", Key={"pk": item["pk"]}, ConsistentRead=True)
            check(got.get("Item") == item, f"put {item}, read {got}")
        except Refused as error:
            if error.name not in BUSY:
                if (error.status, error.name) != (400, THROTTLED) or not error.answer.get("ThrottlingReasons"):
                    raise
                self.throttled += 1
        self.stopping.wait(0.002)  # the load has most of the units


class Overload(Test):
    memory_mib_max = 512

    def body(self):
        units = self.options.units
        make_table(self.port, "load", (1000, units), ("pk",))
        watcher = Watcher(self.port)
        with servers.working(watcher):
            result = run_load(self.options.weir, [self.port], "--rate", 10 * units, "--keys", 100000, "--duration",
                              f"{self.options.duration}s", "--timeout", "60s", "--seed", self.options.seed)[0]
        begin = time.monotonic()
        Client(self.port).call("GetItem", TableName="load", Key={"pk": {"S": "watch-1"}})
        after_s = time.monotonic() - begin
        self.judge(result, units, watcher)
        return {
            "units": units,
            **{name: result[name] for name in ("offered_per_s", "admitted", "throttled", "throttled_by_reason", "failed",
                                               "client_overrun")},
            "admitted_p50_ms": round(result["latency_us"]["admitted"]["p50"] / 1000, 3),
            "admitted_p99_ms": round(result["latency_us"]["admitted"]["p99"] / 1000, 3),
            "throttled_p99_ms": round(result["latency_us"]["throttled"]["p99"] / 1000, 3),
            "watcher_written": watcher.written,
            "watcher_throttled": watcher.throttled,
            "request_afterwards_ms": round(after_s * 1000, 2),
        }

    def judge(self, result, units, watcher):
        allowed = BUSY if self.options.short else set()
        if set(result["failed_by_type"]) - allowed or result["unfinished"]:
            raise AssertionError(f"{result['failed']} requests failed, {result['unfinished']} were "
                                 f"never answered: {result['failed_by_type']}")
        if sum(result["throttled_by_reason"].values()) != result["throttled"]:
            raise AssertionError(f"refusals without a reason: {result['throttled_by_reason']}")
        check(result["throttled"] > 0 and watcher.written > 0, "no overload: nothing was throttled, or nothing written")
        # With gac_start_units = 0 a new table has saved up no burst: what it may admit is a second's bucket and the rate,
        # for as long as the load was on (with room for how long the last answers took).
        most = units * (result["elapsed_s"] + 3)
        admitted = result["writes_admitted"] + watcher.written
        check(admitted <= most, f"{admitted} writes were admitted, {most} are what the table allows")


PARTS = {"items": Items, "connections": Connections, "overload": Overload}


def run(options, directory):
    options.item_rounds = 1 if options.short else 8
    options.connections = 300 if options.short else 1000
    options.units = 100 if options.short else 500
    options.duration = 2 if options.short else 30
    servers.own_files(options.connections + 200)
    figures = {}
    for name, kind in PARTS.items():
        if options.only in (None, name):
            figures[name] = kind(options, directory / name).run()
            say(f"{name}: {figures[name]}")
    return figures


if __name__ == "__main__":
    servers.case(__doc__, run, seed=None, only={"choices": PARTS},
                 short={"action": "store_true", "help": "seconds instead of a minute"},
                 memory_factor=(1.0, "the memory bounds times this, for sanitized builds"))
