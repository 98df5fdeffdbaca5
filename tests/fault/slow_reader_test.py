#!/usr/bin/env python3
"""Clients that ask and do not read: the server's memory stays within its budget, others are served.

 items      each client pipelines GetItems of a 390 KB item and reads nothing
 pages      each client pipelines GET /weir/partitions and reads nothing
 closing    each client asks once, with Connection: close, and reads nothing

Meanwhile another client gets answers, or a clean 503; when the clients are gone, it gets answers
again, and the router holds nothing of theirs. Prints one JSON object of figures on standard output.
"""
import json
import socket
import sys
import threading
import time
import urllib.request

import servers
from servers import Client, Refused, Server, Unreachable, until

ITEM_BYTES = 390 * 1000
MIB = 1024 * 1024
PROMPT_S = 20.0  # no hang: a request takes milliseconds, and seconds in a sanitized build on a busy machine


def say(text):
    print(f"slow_reader_test: {text}", file=sys.stderr, flush=True)


def request(operation, body, close=False):
    return (f"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
            f"X-Amz-Target: DynamoDB_20120810.{operation}\r\n"
            f"{'Connection: close' if close else 'X: y'}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def resident(server):
    for line in open(f"/proc/{server.process.pid}/status", encoding="ascii"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def held(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions", timeout=20) as answer:
        return json.load(answer)["router"]["held_bytes"]


class Watcher(threading.Thread):
    """What another client gets meanwhile, and the most memory that is resident."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.stopping = threading.Event()
        self.answers = self.refused = 0
        self.longest_s = 0.0
        self.resident = 0
        self.wrong = []

    def run(self):
        client = Client(self.server.port, timeout_s=60)
        while not self.stopping.wait(0.02):
            begun = time.monotonic()
            try:
                client.call("GetItem", TableName="items", Key={"id": {"S": "small"}})
                self.answers += 1
            except Refused as error:
                self.refused += 1
                if error.status != 503 or "http_memory_max_bytes" not in error.text:
                    self.wrong.append(str(error))
            except Unreachable as error:
                self.wrong.append(str(error))
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            self.resident = max(self.resident, resident(self.server))
        client.close()


def open_slow(port, count, sent):
    clients = []
    for _ in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", port))
        s.setblocking(False)
        try:
            s.send(sent)
        except BlockingIOError:
            pass
        clients.append(s)
    return clients


def scene(options, server, name, sent):
    before = resident(server)
    watcher = Watcher(server)
    watcher.start()
    clients = open_slow(server.port, options.clients, sent)
    end = time.monotonic() + options.seconds
    until("the clients have been there for long enough", lambda: time.monotonic() > end)
    for s in clients:
        s.close()
    until("the router holds nothing of them", lambda: held(server.port) < 4 * MIB, 60)
    answers = watcher.answers
    until("others are served again", lambda: watcher.answers > answers + 10, 60)
    watcher.stopping.set()
    watcher.join()
    grown = watcher.resident - before
    figures = {"clients": options.clients, "grown_mib": round(grown / MIB, 1),
               "answers": watcher.answers, "refused": watcher.refused,
               "longest_s": round(watcher.longest_s, 3)}
    say(f"{name}: {figures}")
    if watcher.wrong:
        raise AssertionError(f"{name}: another client got {watcher.wrong[:3]}")
    if watcher.longest_s > PROMPT_S:
        raise AssertionError(f"{name}: a request took {watcher.longest_s:.1f} s")
    limit = (options.budget_mib + 64) * options.memory_factor
    if grown > limit * MIB:
        raise AssertionError(f"{name}: memory grew by {grown / MIB:.0f} MiB, the bound is {limit}")
    return figures


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--budget-mib", type=int, default=64)
    parser.add_argument("--memory-factor", type=float, default=1,
                        help="the memory bounds times this, for sanitized builds")
    options = parser.parse_args()
    servers.own_files(options.clients + 300)
    figures = {}
    with servers.workplace("slow-reader") as directory:
        server = Server(options.weir, ["local", "--port", 0, "--data", directory / "data", "--profile",
                                       "off", "--set", f"http_memory_max_bytes={options.budget_mib}MiB"],
                        directory / "log")
        try:
            server.start()
            client = Client(server.port)
            client.call("CreateTable", TableName="items", BillingMode="PAY_PER_REQUEST",
                        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
            until("the table is ACTIVE", lambda: client.call(
                "DescribeTable", TableName="items")["Table"]["TableStatus"] == "ACTIVE")
            for key, text in (("large", "x" * ITEM_BYTES), ("small", "x")):
                client.call("PutItem", TableName="items", Item={"id": {"S": key}, "text": {"S": text}})
            client.close()
            get = '{"TableName":"items","Key":{"id":{"S":"large"}}}'
            page = b"GET /weir/partitions HTTP/1.1\r\nHost: h\r\n\r\n"
            for name, sent in (("items", request("GetItem", get) * 40), ("pages", page * 200),
                               ("closing", request("GetItem", get, close=True))):
                figures[name] = scene(options, server, name, sent)
            server.stop()
        finally:
            server.forget()
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
