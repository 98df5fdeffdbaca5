#!/usr/bin/env python3
"""An open-loop client that records every request. It shares no code with `weir load`.

A stream is a schedule of requests to one table. The schedule alone decides when a request is due: no answer
delays it. A due request takes a free connection, or opens one, up to a bound; beyond the bound it waits.
Each request leaves one row: when it was due, sent and answered, the HTTP status, the outcome, the units.

Invariants:
  LOOP-1  Every due request leaves exactly one row, whatever becomes of it.
  LOOP-2  Rates and windows count by the time of sending. Latency counts from the time a request was due.

The client runs as processes of its own (`Load`), which give their rows back when they end. By hand:

  open_loop.py --port 8000 --duration 10 --stream '{"table": "orders", "rate": 500}'

The members of a stream are the fields of `Stream`. The figures come as one JSON object."""
import argparse
import array
import bisect
import collections
import dataclasses
import gc
import heapq
import itertools
import json
import os
import random
import resource
import select
import socket
import subprocess
import sys
import threading
import time

SERVED, NOT_SENT, UNANSWERED, LOST = "served", "not sent", "no answer", "connection lost"
FAILURES = (NOT_SENT, UNANSWERED, LOST)  # beside them: exceptions that are no throttling
THROTTLED = "throttled: "
RECEIVE_BYTES = 65536
COLUMNS = (("due", "d"), ("sent", "d"), ("done", "d"), ("units", "d"), ("status", "H"),
           ("outcome", "H"), ("stream", "H"))


@dataclasses.dataclass
class Stream:
    """What is asked. `rate` is requests per second from `begin` to `end`, or a list of pieces
    [begin, end, rate] or [begin, end, first rate, last rate]; between those two the rate is a line."""
    table: str
    rate: float | list = 100
    begin: float = 0
    end: float | None = None  # None: the end of the load
    operation: str = "PutItem"  # or "GetItem strong", "GetItem eventual"
    key: str = "one"  # or "uniform", "zipf"
    keys: int = 1
    theta: float = 0.99
    prefix: str = "key"
    first: int = 0  # number of the first key
    collection: str = ""  # a partition key: then the keys are sort keys under it
    size: int = 100  # bytes of an item as the service counts them: names and values
    arrival: str = "constant"  # or "poisson"
    routers: list | None = None  # which ports, by index; None: all, in turns
    name: str = ""  # in figures; the table's, if there is none

    def __post_init__(self):
        self.name = self.name or self.table


def arrivals(stream, duration_s, seed=1):
    """The times at which the stream's requests are due."""
    end = duration_s if stream.end is None else stream.end
    pieces = stream.rate if isinstance(stream.rate, list) else [[stream.begin, end, stream.rate]]
    draw = random.Random(seed)
    for first, last, rate, *to in pieces:
        # The number of requests due until t is rate t + slope t^2 / 2. Request n is due when it reaches n.
        slope = (to[0] - rate) / (last - first) if to else 0
        total = rate * (last - first) + slope * (last - first) ** 2 / 2
        n = draw.expovariate(1) if stream.arrival == "poisson" else 0.5
        while n < total:
            yield first + 2 * n / (rate + (rate * rate + 2 * slope * n) ** 0.5)
            n += draw.expovariate(1) if stream.arrival == "poisson" else 1


def chooser(stream, seed):
    """Draws the number of a key."""
    draw = random.Random(seed)
    if stream.key == "one":
        return lambda: 0
    if stream.key == "uniform":
        return lambda: int(draw.random() * stream.keys)
    if stream.key != "zipf":
        raise ValueError(f"key: one, uniform or zipf, not {stream.key!r}")
    sums = list(itertools.accumulate((n + 1) ** -stream.theta for n in range(stream.keys)))
    return lambda: bisect.bisect_left(sums, draw.random() * sums[-1])


def stream_key(stream, number=0):
    return f"{stream.prefix}-{stream.first + number:08d}"


def request_bytes(stream, number):
    key = stream_key(stream, number)
    names = {"pk": stream.collection, "sk": key} if stream.collection else {"pk": key}
    body = {"TableName": stream.table, "ReturnConsumedCapacity": "TOTAL"}
    if stream.operation == "PutItem":
        filler = max(0, stream.size - sum(len(n) + len(v) for n, v in names.items()) - len("v"))
        names["v"] = "x" * filler
        body["Item"] = {name: {"S": value} for name, value in names.items()}
        target = "PutItem"
    else:
        body |= {"Key": {name: {"S": value} for name, value in names.items()},
                 "ConsistentRead": stream.operation == "GetItem strong"}
        target = "GetItem"
    text = json.dumps(body, separators=(",", ":"))
    return (f"POST / HTTP/1.1\r\nHost: weir\r\nContent-Type: application/x-amz-json-1.0\r\n"
            f"X-Amz-Target: DynamoDB_20120810.{target}\r\nContent-Length: {len(text)}\r\n\r\n"
            f"{text}").encode()


def schedule(streams, duration_s, seed, part, parts):
    """Of all requests in the order they are due each parts-th: (due, stream's number)."""
    of_stream = [zip(arrivals(stream, duration_s, seed + i), itertools.repeat(i))
                 for i, stream in enumerate(streams)]
    return itertools.islice(heapq.merge(*of_stream), part, None, parts)


def between(text, before, after):
    at = text.find(before)
    if at < 0:
        return b""
    at += len(before)
    return text[at:text.find(after, at)]


def judge(status, head, body):
    """The outcome of an answer, and its units."""
    if status == 200:
        found = body.find(b'"CapacityUnits":')
        if found < 0:
            return SERVED, 0.0
        end = found + 16
        while body[end:end + 1] in b"0123456789." and end < len(body):
            end += 1
        return SERVED, float(body[found + 16:end])
    name = between(body, b'"__type":"', b'"').rsplit(b"#", 1)[-1].decode()
    if name in ("ProvisionedThroughputExceededException", "ThrottlingException"):
        by = between(head, b"x-weir-throttled-by: ", b"\r\n") or between(body, b'"reason":"', b'"')
        return THROTTLED + by.decode(), 0.0
    return f"{status} {name}", 0.0


class Connection:
    """One connection: at most one request is on its way."""

    def __init__(self, port):
        self.port = port
        self.row = None  # of the request on its way
        self.out = b""  # what is still to be sent of the request
        self.received = b""
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect_ex(("127.0.0.1", port))

    def send(self):
        """True: the whole request is on its way."""
        try:
            self.out = self.out[self.socket.send(self.out):]
        except (BlockingIOError, InterruptedError):
            pass
        return not self.out

    def answer(self):
        """(status, head, body, whether the connection stays) once the answer is whole; None before."""
        split = self.received.find(b"\r\n\r\n")
        if split < 0:
            return None
        head = self.received[:split + 2].lower()
        length = int(between(head, b"content-length: ", b"\r\n") or 0)
        if len(self.received) < split + 4 + length:
            return None
        body, self.received = self.received[split + 4:split + 4 + length], b""
        return int(head[9:12]), head, body, b"connection: close" not in head


class Client:
    """One process's part of a load."""

    def __init__(self, spec, part):
        self.streams = [Stream(**stream) for stream in spec["streams"]]
        self.ports = spec["ports"]
        self.spec = spec
        seed = spec["seed"] * 1000 + part
        self.choosers = [chooser(stream, seed + i) for i, stream in enumerate(self.streams)]
        self.requests = [{} for _ in self.streams]
        self.turns = [itertools.cycle([self.ports[r] for r in stream.routers or range(len(self.ports))])
                      for stream in self.streams]
        self.due = schedule(self.streams, spec["duration_s"], spec["seed"], part, spec["processes"])
        self.rows = {name: array.array(kind) for name, kind in COLUMNS}
        self.outcomes = {NOT_SENT: 0}
        self.poll = select.epoll()
        self.connections = {}  # by descriptor
        self.free = {port: [] for port in self.ports}
        self.waiting = collections.deque()  # rows that found no connection
        self.bytes_of = {}  # by row, while it waits: port and request
        self.start = spec["start"]
        self.parent = os.getppid()

    def now(self):
        return time.monotonic() - self.start

    def add_row(self, due, stream):
        """The row of a request that is not sent yet; its number."""
        for name, value in (("due", due), ("sent", -1.0), ("done", -1.0), ("units", 0.0),
                            ("status", 0), ("outcome", 0), ("stream", stream)):
            self.rows[name].append(value)
        return len(self.rows["due"]) - 1

    def begin(self, due, stream):
        """A request is due: its row, and an attempt to send it."""
        row = self.add_row(due, stream)
        number = self.choosers[stream]()
        known = self.requests[stream]
        request = known.get(number)
        if request is None:
            request = known[number] = request_bytes(self.streams[stream], number)
        port = next(self.turns[stream])
        if not self.send(row, port, request):
            self.bytes_of[row] = (port, request)
            self.waiting.append(row)

    def send(self, row, port, request):
        free = self.free[port]
        if free:
            connection = free.pop()
        elif len(self.connections) < self.spec["connections"] // self.spec["processes"]:
            connection = Connection(port)
            self.connections[connection.socket.fileno()] = connection
            self.poll.register(connection.socket.fileno(), select.EPOLLIN)
        else:
            return False
        connection.row = row
        connection.out = request
        self.rows["sent"][row] = self.now()
        try:
            if not connection.send():
                self.poll.modify(connection.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
        except OSError:
            self.lose(connection)
        return True

    def send_waiting(self):
        late = self.now() - self.spec["give_up_s"]
        while self.waiting:
            row = self.waiting[0]
            if self.rows["due"][row] > late and not self.send(row, *self.bytes_of[row]):
                return
            self.waiting.popleft()
            del self.bytes_of[row]

    def end(self, connection, status, outcome, units):
        row, connection.row = connection.row, None
        self.rows["done"][row] = self.now()
        self.rows["units"][row] = units
        self.rows["status"][row] = status
        self.rows["outcome"][row] = self.outcomes.setdefault(outcome, len(self.outcomes))

    def lose(self, connection, outcome=LOST):
        if connection.row is not None:
            self.end(connection, 0, outcome, 0.0)
        else:
            self.free[connection.port].remove(connection)
        del self.connections[connection.socket.fileno()]
        connection.socket.close()

    def handle(self, connection, events):
        try:
            if events & select.EPOLLOUT and connection.send():
                self.poll.modify(connection.socket.fileno(), select.EPOLLIN)
            if not events & ~select.EPOLLOUT:
                return
            received = connection.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received or connection.row is None:
            self.lose(connection)
            return
        connection.received += received
        answer = connection.answer()
        if answer is None:
            return
        status, head, body, stays = answer
        self.end(connection, status, *judge(status, head, body))
        self.free[connection.port].append(connection)
        if not stays:
            self.lose(connection)

    def run(self):
        """Sends what is due until the schedule ends, then takes what is still answered."""
        upcoming = next(self.due, None)
        last = self.spec["duration_s"] + self.spec["drain_s"]
        while upcoming or self.waiting or any(c.row is not None for c in self.connections.values()):
            now = self.now()
            if now > last:
                break
            if os.getppid() != self.parent:
                sys.exit("open_loop: the test is gone")
            while upcoming and upcoming[0] <= now:
                self.begin(*upcoming)
                upcoming = next(self.due, None)
            wait_s = min(0.05, max(0.0, upcoming[0] - self.now())) if upcoming else 0.05
            for descriptor, events in self.poll.poll(wait_s):
                if descriptor in self.connections:
                    self.handle(self.connections[descriptor], events)
            if self.waiting:
                self.send_waiting()
        for connection in list(self.connections.values()):
            self.lose(connection, UNANSWERED)
        while upcoming:  # the process stood still: what is due leaves its row
            self.add_row(*upcoming)
            upcoming = next(self.due, None)


# ---- what was recorded ----


class Record:
    """The rows of a load. Times are in seconds after its start."""

    def __init__(self, streams):
        self.streams = streams
        self.outcomes = []
        self.columns = {name: array.array(kind) for name, kind in COLUMNS}

    def add(self, outcomes, columns):
        """Rows of one process; its numbers of outcomes become this record's."""
        for outcome in outcomes:
            if outcome not in self.outcomes:
                self.outcomes.append(outcome)
        numbers = [self.outcomes.index(outcome) for outcome in outcomes]
        for name, _ in COLUMNS:
            values = columns[name]
            self.columns[name].extend(
                array.array("H", (numbers[v] for v in values)) if name == "outcome" else values)

    def rows(self, names=None, first=0.0, end=float("inf")):
        """(sent, outcome, units, due, done) of streams with these names, sent from `first` up to `end`.
        What was not sent counts at the time it was due."""
        chosen = {i for i, stream in enumerate(self.streams) if names is None or stream.name in names}
        c = self.columns
        for sent, outcome, units, due, done, stream in zip(
                c["sent"], c["outcome"], c["units"], c["due"], c["done"], c["stream"]):
            at = sent if sent >= 0 else due
            if stream in chosen and first <= at < end:
                yield at, self.outcomes[outcome], units, due, done

    def summary(self, names=None, first=0.0, end=float("inf")):
        """Counts: asked, served, refused by reason, failed by what happened; units served."""
        found = {"asked": 0, "served": 0, "refused": 0, "failed": 0, "units": 0.0, "reasons": {},
                 "failures": {}}
        for _, outcome, units, _, _ in self.rows(names, first, end):
            count(found, outcome, units)
        return found

    def seconds(self, names=None):
        """A summary of each second."""
        found = []
        for at, outcome, units, _, _ in self.rows(names):
            while len(found) <= at:
                found.append({"t": len(found), "asked": 0, "served": 0, "refused": 0, "failed": 0,
                              "units": 0.0, "reasons": {}, "failures": {}})
            count(found[int(at)], outcome, units)
        return found

    def latencies_ms(self, names=None, points=(50, 99, 99.9), first=0.0, end=float("inf")):
        """Of what was served, from the time it was due."""
        values = sorted(done - due for _, outcome, _, due, done in self.rows(names, first, end)
                        if outcome == SERVED)
        return {f"p{point:g}": round(1000 * percentile(values, point), 3) for point in points}

    def served_units(self, names=None, first=0.0, end=float("inf")):
        """(sent, units) of what was served, in the order of sending."""
        return sorted((at, units) for at, outcome, units, _, _ in self.rows(names, first, end)
                      if outcome == SERVED)

    def late(self, than_s):
        """How many requests were sent later than this after they were due, or never."""
        c = self.columns
        return sum(sent < 0 or sent - due > than_s for sent, due in zip(c["sent"], c["due"]))


def count(found, outcome, units):
    found["asked"] += 1
    if outcome == SERVED:
        found["served"] += 1
        found["units"] += units
    elif outcome.startswith(THROTTLED):
        reason = outcome[len(THROTTLED):]
        found["refused"] += 1
        found["reasons"][reason] = found["reasons"].get(reason, 0) + 1
    else:
        found["failed"] += 1
        found["failures"][outcome] = found["failures"].get(outcome, 0) + 1


def percentile(values, point):
    """Of sorted values, the smallest that `point` percent of them do not exceed; 0 of none."""
    if not values:
        return 0.0
    return values[max(0, min(len(values) - 1, -int(-len(values) * point // 100) - 1))]


def most_in_window(served, window_s):
    """The most units sent in any half-open window of this length, of (sent, units) in order."""
    most, held, first = 0.0, 0.0, 0
    for at, units in served:
        held += units
        while served[first][0] <= at - window_s:
            held -= served[first][1]
            first += 1
        most = max(most, held)
    return most


def over_admission(served, window_s, rate, bank=0.0):
    """e(W): what the fullest window has beyond its rate and the bank, as a share of its rate."""
    return max(0.0, most_in_window(served, window_s) - rate * window_s - bank) / (rate * window_s)


def false_throttles(rows, rate, bank, cost=1.0):
    """(refusals that a bucket of this rate and depth would have served, requests within its budget).
    The bucket begins full. What weir served is debited, and what it should have served."""
    level, last, false, within = bank, None, 0, 0
    for at, outcome, units, *_ in sorted(rows):
        level = min(bank, level + rate * (at - last)) if last is not None else level
        last = at
        if outcome == SERVED:
            level -= units
            within += 1
        elif outcome.startswith(THROTTLED) and level >= cost:
            level -= cost
            false += 1
            within += 1
    return false, within


def beyond_rate(rows, rate):
    """The units served beyond the rate, from the first request to the last refusal: what buckets had held, all of
    which is used up at a refusal. None: nothing was refused, so something may be left."""
    rows = sorted(rows)
    refused = [at for at, outcome, *_ in rows if outcome.startswith(THROTTLED)]
    if not refused:
        return None
    units = sum(u for at, outcome, u, *_ in rows if outcome == SERVED and at <= refused[-1])
    return units - rate * (refused[-1] - rows[0][0])


def jain(values):
    """Jain's index of fairness: 1 if all are equal, 1/n if one has all."""
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


# ---- processes ----


class Load:
    """A load that runs beside the test. `start` is the monotonic time at which second 0 begins."""

    def __init__(self, ports, streams, duration_s, *, processes=1, connections=4096, seed=1,
                 give_up_s=1.0, drain_s=15.0, begin_in_s=0.5):
        self.streams = streams
        self.start = time.monotonic() + begin_in_s
        self.duration_s = duration_s
        spec = {"ports": list(ports), "streams": [dataclasses.asdict(s) for s in streams],
                "duration_s": duration_s, "processes": processes, "connections": connections,
                "seed": seed, "give_up_s": give_up_s, "drain_s": drain_s, "start": self.start}
        self.workers = []
        for part in range(processes):
            worker = subprocess.Popen([sys.executable, __file__, "--part", str(part)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            worker.stdin.write(json.dumps(spec).encode())
            worker.stdin.close()
            self.workers.append(worker)

    def now(self):
        return time.monotonic() - self.start

    def wait_until(self, at_s):
        """The load goes on until its second `at_s`."""
        while (left_s := at_s - self.now()) > 0:
            time.sleep(left_s)  # the schedule's time, not a pause: the load runs by the clock

    def record(self):
        """Waits for the end of the load; its record."""
        found = Record(self.streams)
        outputs = [b""] * len(self.workers)

        def take(i):
            outputs[i] = self.workers[i].stdout.read()

        threads = [threading.Thread(target=take, args=(i,)) for i in range(len(self.workers))]
        for thread in threads:
            thread.start()
        for thread, worker in zip(threads, self.workers):
            thread.join()
            if worker.wait() != 0:
                raise AssertionError(f"the client ended with {worker.returncode}")
        for output in outputs:
            found.add(*unpack(output))
        return found

    def stop(self):
        """Ends the processes, whatever they do."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()
            worker.stdout.close()


def pack(outcomes, rows):
    count_of = len(rows["due"])
    head = json.dumps({"outcomes": list(outcomes), "count": count_of}).encode()
    return head + b"\n" + b"".join(rows[name].tobytes() for name, _ in COLUMNS)


def unpack(output):
    head, _, rest = output.partition(b"\n")
    told = json.loads(head)
    columns, at = {}, 0
    for name, kind in COLUMNS:
        columns[name] = array.array(kind)
        size = columns[name].itemsize * told["count"]
        columns[name].frombytes(rest[at:at + size])
        at += size
    return told["outcomes"], columns


def run_part(part):
    gc.disable()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    client = Client(json.load(sys.stdin), part)
    while (left_s := -client.now()) > 0:
        time.sleep(left_s)  # all parts begin at the same time of the schedule
    client.run()
    sys.stdout.buffer.write(pack(client.outcomes, client.rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, action="append", help="a router's port; may be repeated")
    parser.add_argument("--stream", type=json.loads, action="append", help="a stream as a JSON object")
    parser.add_argument("--duration", type=float, default=10, help="seconds (10)")
    parser.add_argument("--processes", type=int, default=1, help="processes that share the load (1)")
    parser.add_argument("--connections", type=int, default=4096, help="the most connections (4096)")
    options = parser.parse_args()
    if options.part is not None:
        run_part(options.part)
        return
    streams = [Stream(**stream) for stream in options.stream or []]
    load = Load(options.port or [8000], streams, options.duration, processes=options.processes,
                connections=options.connections)
    try:
        record = load.record()
    finally:
        load.stop()
    print(json.dumps({stream.name: record.summary([stream.name]) | {
        "latency_ms": record.latencies_ms([stream.name]), "seconds": record.seconds([stream.name])}
        for stream in streams} | {"sent_late": record.late(0.05)}, indent=1))


if __name__ == "__main__":
    main()
