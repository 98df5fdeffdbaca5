#!/usr/bin/env python3
"""More than weir is meant to take: it stays correct, bounded in memory, and there afterwards.

 items        items of exactly 409,600 bytes, put and read back by 64 clients at once; a byte more is
              refused as the real service refuses it
 connections  1,000 open connections, each of which gets its answers
 overload     ten times a table's write units, by `weir load`: every answer is right or a clean
              refusal with its reason; memory stays bounded; then a normal request answers promptly

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import random
import subprocess
import sys
import threading
import time

import servers
from servers import Client, Refused, Server, until

CLIENTS = 64
ITEM_BYTES = 409600
TOO_LARGE = "Item size has exceeded the maximum allowed size"
UNKNOWN = "It is not known whether the write was done"
THROTTLED = "ProvisionedThroughputExceededException"
MIB = 1024 * 1024
PROMPT_S = 1.0  # for one request on an idle server; it takes a millisecond


def say(text):
    print(f"overload_test: {text}", file=sys.stderr, flush=True)


def create_table(port, name, units):
    client = Client(port)
    client.call("CreateTable", TableName=name,
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                ProvisionedThroughput={"ReadCapacityUnits": units, "WriteCapacityUnits": units})
    until(f"{name} is ACTIVE", lambda: client.call(
        "DescribeTable", TableName=name)["Table"]["TableStatus"] == "ACTIVE")
    client.close()


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
        self.server = Server(options.weir, ["local", "--port", 0, "--data", directory / "data",
                                            "--profile", self.profile,
                                            "--set", "gac_start_units=0"], directory / "log")

    def run(self):
        begin = time.monotonic()
        try:
            self.server.start()
            self.port = self.server.port
            figures = self.body()
            memory = self.server.memory_bytes()
            figures["memory_mib"] = round(memory / MIB, 1)
            figures["seconds"] = round(time.monotonic() - begin, 1)
            limit = self.memory_mib_max * self.options.memory_factor
            if memory > limit * MIB:
                raise AssertionError(f"{memory / MIB:.0f} MiB were resident, the bound is {limit}")
            self.server.stop()
        finally:
            self.server.forget()
        servers.verify(self.options.weir, self.directory / "data")
        return figures


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
        client = Client(self.port, timeout_s=60)
        for number in range(self.options.item_rounds):
            item = self.item(index, number, ITEM_BYTES)
            put(client, item)
            got = client.call("GetItem", TableName="items", Key={"id": item["id"]},
                              ConsistentRead=True)["Item"]
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
        create_table(self.port, "items", 9000)
        in_threads(CLIENTS, self.client)
        return {"clients": CLIENTS, "item_bytes": ITEM_BYTES,
                "items_written": CLIENTS * self.options.item_rounds}


def put(client, item):
    """Puts the item until the server takes it. Back-pressure (503) says that nothing was done. A
    500 that does not know the outcome is allowed: a slow machine may lose a leader under this
    load, and putting the same item again does no harm. Any other error fails the test."""

    def taken():
        try:
            client.call("PutItem", TableName="items", Item=item)
        except Refused as error:
            nothing_done = error.status == 503 and "did nothing" in error.text
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
        create_table(self.port, "connections", 1000)
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


class Overload(Test):
    memory_mib_max = 512

    def watch(self, stop, outcome):
        """A client with a table of its own, and one that the load throttles, meanwhile."""
        client = Client(self.port)
        number = 0
        while not stop.is_set():
            number += 1
            item = {"pk": {"S": f"watch-{number % 50}"}, "number": {"N": f"{number}"}}
            try:
                client.call("PutItem", TableName="load", Item=item)
                outcome["written"] += 1
                got = client.call("GetItem", TableName="load", Key={"pk": item["pk"]},
                                  ConsistentRead=True)
                if got.get("Item") != item:
                    raise AssertionError(f"put {item}, read {got}")
            except Refused as error:
                reasons = error.answer.get("ThrottlingReasons", [])
                if error.status != 400 or error.name != THROTTLED or not reasons:
                    raise
                outcome["throttled"] += 1
            stop.wait(0.002)
        client.close()

    def load(self, units, rate):
        done = subprocess.run(
            [str(self.options.weir), "load", "--url", f"http://127.0.0.1:{self.port}",
             "--create-table", "--wcu", str(units), "--rate", str(rate), "--keys", "100000",
             "--duration", f"{self.options.duration}s", "--timeout", "60s", "--seed",
             str(self.options.seed), "--quiet", "--json"],
            capture_output=True, text=True, timeout=self.options.duration + 120, check=False)
        if done.returncode != 0:
            raise AssertionError(f"weir load: {done.stderr}")
        return json.loads(done.stdout)["workloads"][0]

    def body(self):
        units = self.options.units
        outcome = {"written": 0, "throttled": 0}
        failures = []
        stop = threading.Event()
        until_table = Client(self.port)
        self.load_table(until_table, units)

        def watcher():
            try:
                self.watch(stop, outcome)
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)

        thread = threading.Thread(target=watcher, daemon=True)
        thread.start()
        try:
            result = self.load(units, 10 * units)
        finally:
            stop.set()
            thread.join()
        if failures:
            raise failures[0]
        begin = time.monotonic()
        until_table.call("GetItem", TableName="load", Key={"pk": {"S": "watch-1"}})
        after_s = time.monotonic() - begin
        until_table.close()
        self.judge(result, units, outcome, after_s)
        return {
            "units": units,
            "offered_per_s": result["offered_per_s"],
            "admitted": result["admitted"],
            "throttled": result["throttled"],
            "throttled_by_reason": result["throttled_by_reason"],
            "failed": result["failed"],
            "client_overrun": result["client_overrun"],
            "admitted_p50_ms": round(result["latency_us"]["admitted"]["p50"] / 1000, 3),
            "admitted_p99_ms": round(result["latency_us"]["admitted"]["p99"] / 1000, 3),
            "throttled_p99_ms": round(result["latency_us"]["throttled"]["p99"] / 1000, 3),
            "watcher": outcome,
            "request_afterwards_ms": round(after_s * 1000, 2),
        }

    def load_table(self, client, units):
        client.call("CreateTable", TableName="load",
                    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                    ProvisionedThroughput={"ReadCapacityUnits": 1000, "WriteCapacityUnits": units})
        until("the table is ACTIVE", lambda: client.call(
            "DescribeTable", TableName="load")["Table"]["TableStatus"] == "ACTIVE")

    def judge(self, result, units, outcome, after_s):
        if result["failed"] or result["unfinished"]:
            raise AssertionError(f"{result['failed']} requests failed, {result['unfinished']} were "
                                 f"never answered: {result['failed_by_type']}")
        if sum(result["throttled_by_reason"].values()) != result["throttled"]:
            raise AssertionError(f"refusals without a reason: {result['throttled_by_reason']}")
        if result["throttled"] == 0 or outcome["written"] == 0:
            raise AssertionError("no overload: nothing was throttled, or nothing written")
        # With gac_start_units = 0 a new table has saved up no burst: what it may admit is a second's bucket and the rate,
        # for as long as the load was on (with room for how long the last answers took).
        most = units * (result["elapsed_s"] + 3)
        if result["writes_admitted"] + outcome["written"] > most:
            raise AssertionError(f"{result['writes_admitted']} writes were admitted, {most} are "
                                 "what the table allows")
        if after_s > PROMPT_S:
            raise AssertionError(f"a request afterwards took {after_s:.3f} s")


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--short", action="store_true", help="seconds instead of a minute")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", choices=["items", "connections", "overload"])
    parser.add_argument("--memory-factor", type=float, default=1,
                        help="the memory bounds times this, for sanitized builds")
    options = parser.parse_args()
    options.item_rounds = 1 if options.short else 8
    options.connections = 1000
    options.units = 100 if options.short else 500
    options.duration = 3 if options.short else 30
    servers.own_files(options.connections + 200)
    say(f"--seed {options.seed}")
    figures = {"seed": options.seed}
    with servers.workplace("overload") as directory:
        for name, kind in (("items", Items), ("connections", Connections), ("overload", Overload)):
            if options.only in (None, name):
                figures[name] = kind(options, directory / name).run()
                say(f"{name}: {figures[name]}")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
