#!/usr/bin/env python3
"""One client sends bodies of 12 to 15 MB, plain and in gzip: how long does another client of the same loop wait?

The other client sends one GetItem after another. Its longest wait while one body comes, best of `--rounds`, may not be
longer than `--budget` ms. All bodies are refused in the end: what is judged is how they are read.
"""
import gzip
import http.client
import sys
import random
import statistics
import time

import servers
from servers import Client, Server, case, check, make_table, say, working

MIB = 1024 * 1024
SIZE = 14 * MIB
RATIO_MAX = 50  # a router refuses a body that unpacks to more than 64 times its size
sys.setswitchinterval(0.0001)  # the other client must not wait for the sender's thread


def bodies():
    draw = random.Random(78)

    def listed(one, size):
        text = ",".join(one() for _ in range(SIZE // size))
        return f'{{"TableName":"items","Item":{{"id":{{"S":"a"}},"x":{{"L":[{text}]}}}}}}'
    yield "nulls", listed(lambda: '{"NULL":true}', 14)
    yield "ones", "[" + "1," * (SIZE // 2) + "1]"
    yield "numbers", "[" + ",".join(str(draw.randrange(100)) for _ in range(SIZE // 3)) + "]"
    yield "strings", listed(lambda: f'{{"S":"{draw.getrandbits(48):012x}"}}', 21)
    yield "members", listed(lambda: '{"N":"1"}', 10)
    yield "one string", f'{{"TableName":"items","Item":{{"id":{{"S":"a"}},"x":{{"S":"{"a" * SIZE}"}}}}}}'


class Other(servers.Worker):
    def __init__(self, port):
        super().__init__()
        self.client = Client(port)
        self.longest_ms = 0.0
        self.count = 0

    def step(self):
        begun = time.monotonic()
        self.client.call("GetItem", TableName="items", Key={"id": {"S": "b"}})
        self.longest_ms = max(self.longest_ms, (time.monotonic() - begun) * 1000)
        self.count += 1


def send(port, body, packed):
    """On a connection of its own. Returns the status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=servers.START_S)
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.PutItem"}
    if packed:
        headers["Content-Encoding"] = "gzip"
    connection.request("POST", "/", body, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def longest(port, body, packed, rounds):
    waits = []
    for _ in range(rounds):
        other = Other(port)
        with working(other):
            servers.more_done("the other client is served", [other], 3)
            other.longest_ms = 0.0
            status = send(port, body, packed)
            servers.more_done("the other client is served", [other], 3)
        check(status == 400, f"a body was answered with {status}")
        waits.append(other.longest_ms)
    return waits


def run(options, directory):
    figures = {}
    with Server(options.weir, ["local", "--port", "0", "--profile", "off"], directory / "log") as server:
        make_table(server.port, "items")
        for name, text in bodies():
            forms = [(name, text.encode(), False)]
            packed = gzip.compress(forms[0][1], 1)
            if len(packed) * RATIO_MAX > SIZE:
                forms.append((name + ", gzip", packed, True))
            for form, body, is_packed in forms:
                waits = longest(server.port, body, is_packed, options.rounds)
                figures[form] = {"bytes": len(body), "best_ms": round(min(waits), 1),
                                 "median_ms": round(statistics.median(waits), 1)}
                say(f"{form}: {figures[form]}")
    for form, figure in figures.items():
        check(figure["best_ms"] <= options.budget, f"{form} held the loop for {figure['best_ms']} ms")
    return figures


if __name__ == "__main__":
    case(__doc__, run, rounds=5, budget=(50, "the longest wait in ms, best of all rounds"))
