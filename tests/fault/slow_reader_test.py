#!/usr/bin/env python3
"""Clients that ask and do not read: the server's memory stays within its budget, others are served.

 items      each client pipelines GetItems of a 390 KB item and reads nothing
 pages      each client pipelines GET /weir/partitions and reads nothing
 closing    each client asks once, with Connection: close, and reads nothing

The router never holds more than its budget (`held_bytes` of /weir/partitions), and comes close to it. Meanwhile another
client gets answers, or a clean 503; when the clients are gone, it gets answers
again, and the router holds nothing of theirs.
"""
import http.client
import socket
import time
import urllib.error

import servers
from servers import Client, Refused, Server, Unreachable, check, make_table, more_done, page, say, until

ITEM_BYTES = 390 * 1000
MIB = 1024 * 1024


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
    return page(port, "/weir/partitions")["router"]["held_bytes"]


def is_empty(port):
    try:
        return held(port) < 4 * MIB
    except (OSError, http.client.HTTPException):  # refused, or closed: memory is short
        return False


class Watcher(servers.Worker):
    """What another client gets meanwhile, and the most memory that is resident."""

    def __init__(self, server, sanitized):
        super().__init__()
        self.server = server
        self.sanitized = sanitized
        self.client = Client(server.port)
        self.answers = self.refused = self.closed = 0
        self.longest_s = 0.0
        self.resident = self.held = 0

    def note_closed(self):
        """Where memory is short, the client whose answer waits longest is closed (router/client.c). In a sanitized build
        on a busy machine an answer may wait for the process itself."""
        check(self.sanitized, "another client's connection was closed")
        self.closed += 1

    def step(self):
        begun = time.monotonic()
        try:
            self.client.call("GetItem", TableName="items", Key={"id": {"S": "small"}})
            self.answers += 1
        except Refused as error:
            self.refused += 1
            if error.status != 503 or "http_memory_max_bytes" not in error.text:
                raise
        except Unreachable:
            self.note_closed()
        self.longest_s = max(self.longest_s, time.monotonic() - begun)
        self.resident = max(self.resident, resident(self.server))
        try:
            self.held = max(self.held, held(self.server.port))
        except urllib.error.HTTPError as error:
            check(error.code in (500, 503), f"the page of partitions: {error}")
            self.refused += 1
        except (OSError, http.client.HTTPException):
            self.note_closed()
        self.stopping.wait(0.02)  # one client asks now and then


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
    watcher = Watcher(server, options.memory_factor > 1)
    with servers.working(watcher):
        clients = open_slow(server.port, options.clients, sent)
        more_done("another client asks meanwhile", [watcher], options.asked, lambda w: w.answers + w.refused + w.closed)
        if name == "items":
            until("the router holds what it may", lambda: watcher.held >= options.budget_mib * MIB / 2)
        for s in clients:
            s.close()
        until("the router holds nothing of them", lambda: is_empty(server.port))
        more_done("others are served again", [watcher], 10, lambda w: w.answers)
    grown = watcher.resident - before
    figures = {"clients": options.clients, "grown_mib": round(grown / MIB, 1), "held_mib": round(watcher.held / MIB, 1),
               "answers": watcher.answers, "refused": watcher.refused, "closed": watcher.closed,
               "longest_s": round(watcher.longest_s, 3)}
    say(f"{name}: {figures}")
    check(watcher.held <= options.budget_mib * MIB, f"{name}: the router held {watcher.held / MIB:.1f} MiB")
    limit = (options.budget_mib + 64) * options.memory_factor
    check(grown <= limit * MIB, f"{name}: memory grew by {grown / MIB:.0f} MiB, the bound is {limit}")
    return figures


def run(options, directory):
    servers.own_files(options.clients + 300)
    with Server(options.weir, ["local", "--port", 0, "--data", directory / "data", "--profile", "off", "--set",
                               f"http_memory_max_bytes={options.budget_mib}MiB"], directory / "log") as server:
        make_table(server.port, "items")
        client = Client(server.port)
        for key, text in (("large", "x" * ITEM_BYTES), ("small", "x")):
            client.call("PutItem", TableName="items", Item={"id": {"S": key}, "text": {"S": text}})
        client.close()
        get = '{"TableName":"items","Key":{"id":{"S":"large"}}}'
        many = b"GET /weir/partitions HTTP/1.1\r\nHost: h\r\n\r\n" * 200
        figures = {name: scene(options, server, name, sent)
                   for name, sent in (("items", request("GetItem", get) * 40), ("pages", many),
                                      ("closing", request("GetItem", get, close=True)))}
        server.stop()
    return figures


if __name__ == "__main__":
    servers.case(__doc__, run, clients=1000, asked=(300, "requests of the other client while they do not read"),
                 budget_mib=64, memory_factor=(1.0, "the memory bounds times this, for sanitized builds"))
