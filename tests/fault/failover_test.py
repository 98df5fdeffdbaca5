#!/usr/bin/env python3
"""The leader of a loaded partition is killed, or stands still: writes succeed again, and nothing is lost.

Three nodes, two routers, one partition, a few writers and readers. Each round finds the partition's leader,
hits it, and waits until each writer has succeeded with a write that it began after the hit. Then the node comes back.
There are so many rounds (--rounds), and more until a hit has met a write. What clients saw must be linearizable
(`weir check-history`): nothing acknowledged is lost, nothing is done twice.

  --how kill    kill -9, and a new start
  --how stop    SIGSTOP, and SIGCONT, with what clients asked meanwhile in its sockets
  --budget 1.5  bounds in seconds, which a busy machine breaks: the longest time from a hit to writes of all writers.
                With --how stop no read may fail or take longer, the node comes back after up to 6 s, and a stop
                shorter than a lease costs no error at all: routers may take the leader for unresponsive, and must lose
                nothing by it.

Then the same with a table that is asked for more than it may have: what is throttled must be answered
as throttled, with its reason, before and after, and no hit may let more through: what the table may use
is kept by routers and a server of global admission control, not by the leader's buckets.
"""
import json
import random
import threading
import time

import servers
from servers import Client, Cluster, Refused, Unreachable, check, leaders, make_table, more_done, say, until

TABLE = "failover"
WRITERS = 8
READERS = 4
KEYS = 4
HICCUP_S = 0.3  # the leader's support lasts for 0.5 s at least
HICCUP_S_MAX = 0.35  # as it was measured
HICCUPS = 3  # an error in each of so many is no accident of a busy machine
SETTINGS = ["--profile", "off"]
STRICT = ["--profile", "strict", "--set", "gac=lease"]
WRITE_UNITS = 20
WRITE_REASON = "TableWriteProvisionedThroughputExceeded"
REQUEST_S = 10


def value_of(number):
    return f"{number:016x}"


class History:
    """What clients asked and saw, in the form of `weir load --history`."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "w", encoding="utf-8")
        self.lock = threading.Lock()
        self.count = 0

    def invoke(self, kind, key, **members):
        """The operation's number; a write's value is made of it."""
        with self.lock:
            self.count += 1
            if kind == "write":
                members["value"] = value_of(self.count)
            self.file.write(json.dumps({"op": self.count, "type": "invoke", "f": kind, "key": key,
                                        "t": time.monotonic_ns(), **members}) + "\n")
            return self.count

    def returned(self, number, kind, **members):
        with self.lock:
            self.file.write(json.dumps({"op": number, "type": kind, "t": time.monotonic_ns(),
                                        **members}) + "\n")


class Writer(servers.Worker):
    """Writes; remembers when a write succeeded first after each hit."""

    def __init__(self, port, index, history):
        super().__init__()
        self.client = Client(port, timeout_s=REQUEST_S)
        self.key = f"k{index % KEYS}"
        self.history = history
        self.count = 0
        self.unknown = 0
        self.first = {}  # by hit: when the first success ended that was begun after it
        self.hit = (0, 0.0)  # which, and when

    def write(self):
        number = self.history.invoke("write", self.key)
        try:
            self.client.call("PutItem", TableName=TABLE,
                        Item={"id": {"S": self.key}, "v": {"S": value_of(number)}})
            self.history.returned(number, "ok")
            return True
        except (Refused, Unreachable) as error:
            failed = isinstance(error, Refused) and error.status < 500
            self.unknown += not failed
            self.history.returned(number, "fail" if failed else "info", error=str(error)[:100])
            return False

    def step(self):
        which, hit_at = self.hit
        begun = time.monotonic()
        if self.write():
            self.count += 1
            if begun > hit_at:
                self.first.setdefault(which, time.monotonic())


class Reader(servers.Worker):
    """Reads, strongly or eventually consistent in turn; remembers the longest read and what failed."""

    def __init__(self, port, index, history):
        super().__init__()
        self.client = Client(port, timeout_s=REQUEST_S)
        self.index = index
        self.history = history
        self.count = 0
        self.failed = []
        self.longest_s = 0.0

    def read(self, key, consistent):
        number = self.history.invoke("read", key, consistent=consistent)
        try:
            item = self.client.call("GetItem", TableName=TABLE, Key={"id": {"S": key}},
                                    ConsistentRead=consistent).get("Item")
            self.history.returned(number, "ok", value=item["v"]["S"] if item else None)
        except (Refused, Unreachable) as error:
            self.failed.append(str(error))
            self.history.returned(number, "fail", error=str(error)[:100])

    def step(self):
        begun = time.monotonic()
        self.read(f"k{(self.index + self.count // 2) % KEYS}", self.count % 2 == 0)
        self.count += 1
        self.longest_s = max(self.longest_s, time.monotonic() - begun)
        self.stopping.wait(0.002)  # fewer reads than writes


class Hammer(servers.Worker):
    """Asks for more than the table may have; counts the answers by what they say."""

    def __init__(self, port, index):
        super().__init__()
        self.client = Client(port, timeout_s=REQUEST_S)
        self.key = f"h{index}"
        self.answers = {"admitted": 0, "throttled": 0, "unavailable": 0}
        self.wrong = []

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

    def step(self):
        self.answers[self.ask()] += 1


def find_leader(cluster):
    """The node that leads the table's one partition."""
    return f"node-{until('a leader', lambda: next(iter(leaders(cluster.ports[0], TABLE).values()), None))}"


def hit(server, how):
    if how == "kill":
        server.kill()
    else:
        server.pause()


def bring_back(server, how):
    if how == "kill":
        server.start()
    else:
        server.resume()


def one_round(options, cluster, writers, number):
    more_done("every writer writes", writers, 10)
    name = find_leader(cluster)
    hit_at = time.monotonic()
    hit(cluster[name], options.how)
    for writer in writers:
        writer.hit = (number, hit_at)
    until("writes succeed again", lambda: all(number in w.first for w in writers))
    outage_s = max(w.first[number] for w in writers) - hit_at
    first_s = min(w.first[number] for w in writers) - hit_at
    say(f"round {number}: {options.how} {name}; first write after {first_s:.3f} s, all {WRITERS} writers "
        f"after {outage_s:.3f} s")
    if options.how == "stop" and options.budget:
        back_at = hit_at + random.uniform(outage_s, 6)
        until("it has stood still for long enough", lambda: time.monotonic() >= back_at)
    bring_back(cluster[name], options.how)
    return outage_s


def errors_of(writers, readers):
    return sum(w.unknown for w in writers) + sum(len(r.failed) for r in readers)


def hiccup(cluster, writers, readers):
    """The leader stops for less than a lease. How many requests failed for it."""
    while True:
        more_done("every writer writes", writers, 10)
        server = cluster[find_leader(cluster)]
        before = errors_of(writers, readers)
        begun = time.monotonic()
        server.pause()
        until("it has stood still", lambda: time.monotonic() >= begun + HICCUP_S)
        server.resume()
        lasted_s = time.monotonic() - begun
        more_done("every writer writes", writers, 10)
        if lasted_s < HICCUP_S_MAX:
            failed = errors_of(writers, readers) - before
            say(f"a leader stopped for {lasted_s:.3f} s: {failed} requests failed")
            return failed


def throttled_round(cluster, hammers, number, how):
    name = find_leader(cluster)
    hit_at = time.monotonic()
    hit(cluster[name], how)
    for kind in ("admitted", "throttled"):
        more_done(f"writes are {kind} again", hammers, 2, lambda hammer, kind=kind: hammer.answers[kind])
    again_s = time.monotonic() - hit_at
    say(f"throttled, round {number}: {how} {name}; admitted and throttled again after {again_s:.3f} s")
    bring_back(cluster[name], how)
    return again_s


def throttled(options, directory):
    with Cluster(options.weir, directory, 3, 2, STRICT, gac=1) as cluster:
        hammers = [Hammer(port, i) for i, port in enumerate(cluster.ports)]
        make_table(cluster.ports[0], TABLE, (100, WRITE_UNITS))
        begun = time.monotonic()
        with servers.working(*hammers):
            more_done("writes are throttled", hammers, 10, lambda hammer: hammer.answers["throttled"])
            again_s = [throttled_round(cluster, hammers, n, options.how) for n in range(1, options.rounds + 1)]
        elapsed_s = time.monotonic() - begun
        cluster.stop()
    answers = {kind: sum(h.answers[kind] for h in hammers) for kind in hammers[0].answers}
    wrong = [text for hammer in hammers for text in hammer.wrong]
    check(not wrong, f"answered neither as admitted nor as throttled: {wrong[:3]}")
    most = WRITE_UNITS * (elapsed_s + 1) + 1  # a second of the limit is there at first
    check(answers["admitted"] <= most, f"{answers['admitted']} were admitted, at most {most:.0f} may be")
    return {"throttled_again_s_max": round(max(again_s), 3), "answers": answers}


def strike(options, cluster, writers, readers):
    """The outages, and how many requests failed for a short stop."""
    failed = None
    for _ in range(HICCUPS if options.how == "stop" and options.budget else 0):
        failed = hiccup(cluster, writers, readers)
        if failed == 0:
            break
    outages_s = []
    while len(outages_s) < options.rounds or all(w.unknown == 0 for w in writers):
        outages_s.append(one_round(options, cluster, writers, len(outages_s) + 1))
    return outages_s, failed


def unthrottled(options, directory):
    with Cluster(options.weir, directory, 3, 2, SETTINGS) as cluster:
        history = History(directory / "history.jsonl")
        writers = [Writer(cluster.ports[i % 2], i, history) for i in range(WRITERS)]
        readers = [Reader(cluster.ports[i % 2], i, history) for i in range(READERS)]
        make_table(cluster.ports[0], TABLE, (100, 100))
        with servers.working(*writers, *readers):
            outages_s, failed = strike(options, cluster, writers, readers)
            more_done("every writer writes", writers, 10)
        last = Reader(cluster.ports[0], 0, history)
        for key in range(KEYS):
            last.read(f"k{key}", True)
        cluster.stop()
    history.file.close()
    servers.check_history(options.weir, history.path)
    servers.verify(options.weir, cluster.data, SETTINGS)
    outages_s.sort()
    failures = [text for reader in readers for text in reader.failed]
    return {"writes": sum(w.count for w in writers), "reads": sum(r.count for r in readers),
            "unknown_writes": sum(w.unknown for w in writers), "failed_reads": len(failures),
            "failed_read": failures[0] if failures else None, "failed_for_hiccup": failed,
            "longest_read_s": round(max(r.longest_s for r in readers), 3),
            "outage_s_median": round(outages_s[len(outages_s) // 2], 3),
            "outage_s_max": round(outages_s[-1], 3)}


def judge(options, figures):
    """The bounds on time."""
    wrong = []
    if figures["outage_s_max"] > options.budget:
        wrong.append(f"{figures['outage_s_max']} s without a write")
    if options.how == "stop" and figures["longest_read_s"] > options.budget:
        wrong.append(f"a read took {figures['longest_read_s']} s")
    if options.how == "stop" and figures["failed_reads"] > 0:
        wrong.append(f"{figures['failed_reads']} reads failed: {figures['failed_read']}")
    if figures["failed_for_hiccup"]:
        wrong.append(f"{figures['failed_for_hiccup']} requests failed for a short stop")
    check(not wrong, f"budget {options.budget} s: {'; '.join(wrong)}")


def run(options, directory):
    figures = {"how": options.how, **unthrottled(options, directory / "off"), **throttled(options, directory / "strict")}
    if options.budget:
        say(json.dumps(figures))
        judge(options, figures)
    return figures


if __name__ == "__main__":
    servers.case(__doc__, run, rounds=1,
                 how={"choices": ["kill", "stop"], "default": "kill", "help": "what happens to the leader (kill)"},
                 budget={"type": float, "help": "seconds; without it no bound on time is judged"})
