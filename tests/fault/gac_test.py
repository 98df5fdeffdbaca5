#!/usr/bin/env python3
"""What a table may use, shared by routers, while servers of global admission control die.

Three nodes, two routers, three GAC servers; a table of four partitions, none of which is asked for what
it could serve. Writes come to keys by Zipf's law (0.99), three of four through the first router: an even
part of the limit would not do there. Three parts, of tables of their own:

  steady  95 % of the limit is asked for; each GAC server is killed once and started again
  over    150 % of it; the same
  outage  95 % of it; all GAC servers are killed, and started again

Bounds, of requests by what their clients saw (a request counts for a span if it was sent and answered in
it, so that no span is told more than it had):

  steady  throttled <= 0.01 %, those within FAULT_S after a death or a start told apart
  over    admitted in every span of 0.1, 1 and 10 s <= limit * span + bank, and 1 % of that. The bank is what
          routers may hold; what was not admitted of the limit before, when the machine had other things to
          do; and what a ledger begins with for each time the table may have got another server in the span
          or in FAULT_S before it: a second of the limit at its beginning, a tenth at a death and a start.
          All that was admitted <= 1 % more than the limit and that second
  outage  each router serves min(what it is asked for, its even part), within 10 %; afterwards all is served

  gac_test.py                 about 45 seconds of load, a kill each 4 to 8 seconds
  gac_test.py --seconds 360   a kill each minute, or half
"""
import collections
import json
import math
import pathlib
import subprocess
import time

import servers
from servers import Cluster, check, leaders, say, until

SERVERS = 3
HOT = 0.75  # of the load: through the first router
PARTS = {"steady": 0.5, "over": 0.3, "outage": 0.2}  # of all seconds
ASKED = {"steady": 0.95, "over": 1.5, "outage": 0.95}  # of the limit
PARTITIONS, PARTITION_UNITS = 4, 1000
SPANS_S = (0.1, 1, 10)
GRID = 20  # spans begin at each such part of themselves
STEP_NS = 5_000_000  # in which what is saved up is reckoned
FAULT_S = 2  # a table finds its server, and routers what they need, within this
BEGIN_S = 1  # the same, after a load begins
FIRST_S, TAKEOVER_S = 1.0, 0.1  # of the limit, what a ledger begins with: a new one, one taken over
# gac_grant_ms of what routers hold, each of the root of what it wants and its even part of the limit.
HELD_S = 0.1 * math.sqrt(ASKED["over"])
FALSE_MOST = 0.0001
OVER_MOST = 0.01
NS = 1e9


# ---- the table ----

def make_table(port, name, limit):
    """Of several partitions; when it was made, from which on it may save up what it does not use."""
    made_ns = time.monotonic_ns()
    servers.make_table(port, name, (10, limit), ("pk",),
                       WarmThroughput={"WriteUnitsPerSecond": PARTITIONS * PARTITION_UNITS})
    until("its partitions have leaders", lambda: len(leaders(port, name)) == PARTITIONS)
    return made_ns


def pass_by(until_s):
    """The load goes on until then, by time.monotonic()."""
    until("the load has gone on", lambda: time.monotonic() >= until_s, until_s - time.monotonic() + servers.START_S)


# ---- load ----

class Load:
    """`weir load` on each router: three of four requests come to the first."""

    def __init__(self, options, cluster, directory, part, made_ns):
        rate = options.limit * ASKED[part]
        self.files = []
        self.processes = []
        self.rates = [rate * HOT, rate * (1 - HOT)]
        self.begun_ns = time.monotonic_ns()
        self.saved_s = FIRST_S + (self.begun_ns - made_ns) / NS
        for number, (port, share) in enumerate(zip(cluster.ports, self.rates), 1):
            file = directory / f"{part}-{number}"
            self.files.append(file)
            self.processes.append(subprocess.Popen(
                [str(options.weir), "load", "--url", f"http://127.0.0.1:{port}", "--table", part,
                 "--rate", f"{share:.1f}", "--distribution", "zipf:0.99", "--keys", "10000",
                 "--connections", "64", "--seed", str(number), "--duration",
                 f"{options.seconds * PARTS[part]:.1f}s", "--history", f"{file}.jsonl", "--json",
                 f"{file}.json", "--quiet"], stdout=subprocess.DEVNULL))

    def wait(self):
        for process in self.processes:
            check(process.wait(timeout=servers.START_S * 5) == 0,
                  f"weir load ended with {process.returncode}")

    def forget(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def requests(self):
        """Per router: (sent, answered, what) of each, in nanoseconds."""
        return [list(history(f"{file}.jsonl")) for file in self.files]

    def failed(self):
        """What was neither admitted nor throttled by the table's limit."""
        found = {}
        for file in self.files:
            result = json.loads(pathlib.Path(f"{file}.json").read_text())["workloads"][0]
            others = {"client_overrun": result["client_overrun"], "unfinished": result["unfinished"],
                      **result["failed_by_type"],
                      **{reason: count for reason, count in result["throttled_by_reason"].items()
                         if "KeyRange" in reason}}
            for name, count in others.items():
                if count:
                    found[name] = found.get(name, 0) + count
        return found


def history(path):
    sent = {}
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            if line["type"] == "invoke":
                sent[line["op"]] = line["t"]
            else:
                yield sent[line["op"]], line["t"], line["type"]


# ---- faults ----

class Faults:
    """When what died, and when it was there again."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.times = []  # (name, died, there again), ns

    def kill(self, names, down_s):
        died = time.monotonic_ns()
        for name in names:
            self.cluster[name].kill()
        say(f"killed {' '.join(names)}")
        pass_by(died / NS + down_s)
        for name in names:
            self.cluster[name].start()
            self.times.append((name, died, time.monotonic_ns()))

    def kill_each(self, begun_ns, length_s):
        for number, name in enumerate(self.cluster.gac):
            pass_by(begun_ns / NS + length_s * (number + 0.5) / SERVERS)
            self.kill([name], min(10.0, length_s / SERVERS / 4))

    def near(self, begin, end):
        """Whether anything died, or came, between these or shortly before."""
        return any(begin - FAULT_S * NS <= moment <= end
                   for _, died, again in self.times for moment in (died, again))

    def takeovers(self, begin, end):
        """Deaths and starts then, each counted; of servers, some of which do not own the table."""
        return sum(begin - FAULT_S * NS <= moment <= end
                   for _, died, again in self.times for moment in (died, again))


# ---- what came out ----

def throttled_apart(requests, faults, begun_ns):
    """[throttled, all] of those far from a fault, and of those near one."""
    far, near = [0, 0], [0, 0]
    for sent, answered, what in (request for router in requests for request in router):
        which = near if faults.near(sent, answered) else far
        if sent < begun_ns + BEGIN_S * NS:
            continue
        which[0] += what == "fail"
        which[1] += 1
    return far, near


def span_counts(admitted, span_s):
    """(begin, how many were sent and answered in that span), for spans on a grid."""
    span, step = span_s * NS, span_s * NS / GRID
    origin = min(sent for sent, _ in admitted)
    changes = {}
    for sent, answered in admitted:
        last = int((sent - origin) // step)
        first = max(0, int(-((origin + span - answered) // step)))
        if first <= last:
            changes[first] = changes.get(first, 0) + 1
            changes[last + 1] = changes.get(last + 1, 0) - 1
    count = 0
    for at in range(max(changes)):
        count += changes.get(at, 0)
        yield origin + at * step, count


def savings(limit, admitted, saved_s):
    """What had not been admitted of the limit by a moment, of what might have been; `saved_s` at first."""
    origin = min(sent for sent, _ in admitted)
    answers = collections.Counter((answered - origin) // STEP_NS for _, answered in admitted)
    saved, at = [limit * saved_s], 0
    for at in range(max(answers) + 1):
        saved.append(max(0, saved[-1] + limit * STEP_NS / NS - answers[at]))
    return lambda moment: saved[min(max(0, int((moment - origin) // STEP_NS) + 1), at)]


def begun_s(takeovers):
    """Seconds of the limit that ledgers taken over begin with: one server has the table, goes and returns."""
    return TAKEOVER_S * min(takeovers, 2)


def most_admitted(limit, admitted, faults, load, span_s):
    """The fullest span far from faults, and what was most above its bound anywhere."""
    far, above, saved = 0, -limit, savings(limit, admitted, load.saved_s)
    drained_ns = load.begun_ns + load.saved_s / (ASKED["over"] - 1) * NS
    for begin, count in span_counts(admitted, span_s):
        end = begin + span_s * NS
        takeovers = faults.takeovers(begin, end)
        bound = limit * (span_s + begun_s(takeovers) + HELD_S) + saved(begin)
        above = max(above, count / bound - 1)
        if begin > drained_ns and takeovers == 0:
            far = max(far, count)
    return {"most_far_from_faults": far, "of_limit": round(far / (limit * span_s), 4),
            "above_bound": round(above, 4)}


def steady(options, load, faults):
    far, near = throttled_apart(load.requests(), faults, load.begun_ns)
    figures = {"throttled": far[0], "of": far[1], "throttled_near_faults": near[0], "of_near": near[1]}
    say(f"steady: {figures}")
    check(far[1] > 0 and near[1] > 0, f"nothing to count: {figures}")
    check(far[0] <= FALSE_MOST * far[1], f"throttled without cause: {figures}")
    check(near[0] <= OVER_MOST * near[1], f"throttled while a server was away: {figures}")
    return figures


LEASE = 200  # requests, gac_grant_requests: what a router may have held when the servers died


def over(options, load, faults):
    admitted = [(sent, answered) for router in load.requests() for sent, answered, what in router
                if what == "ok"]
    figures = {f"{span_s} s": most_admitted(options.limit, admitted, faults, load, span_s)
               for span_s in SPANS_S}
    seconds = options.seconds * PARTS["over"]
    figures["admitted_of_limit"] = round(len(admitted) / options.limit / (seconds + load.saved_s), 4)
    say(f"over: {figures}")
    check(all(f["above_bound"] <= OVER_MOST for f in figures.values() if isinstance(f, dict)),
          f"more was admitted than may be: {figures}")
    takeovers = faults.takeovers(load.begun_ns, load.begun_ns + seconds * NS)
    begun = begun_s(takeovers) / (seconds + load.saved_s)
    check(0.9 < figures["admitted_of_limit"] <= 1 + begun + OVER_MOST, f"not what may be: {figures}")
    return figures


def outage(options, load, faults):
    _, died, again = max(faults.times, key=lambda fault: fault[2])
    even = options.limit / 2
    figures = {"down_s": round((again - died) / NS, 1), "routers": []}
    away, after = (died + FAULT_S * NS / 2, again), again + FAULT_S * NS
    late = [0, 0]
    for asked, requests in zip(load.rates, load.requests()):
        served = sum(away[0] <= sent and answered <= away[1] and what == "ok"
                     for sent, answered, what in requests)
        per_s = served / ((away[1] - away[0]) / NS)
        figures["routers"].append({"asked_per_s": round(asked, 1), "even_part": even,
                                   "served_per_s": round(per_s, 1)})
        late[0] += sum(sent > after and what == "fail" for sent, _, what in requests)
        late[1] += sum(sent > after for sent, _, _ in requests)
        part = min(asked, even) * (away[1] - away[0]) / NS
        check(0.9 * part <= served <= 1.1 * part + LEASE, f"without servers: {figures}")
    figures |= {"throttled_afterwards": late[0], "of": late[1]}
    say(f"outage: {figures}")
    check(late[1] > 0 and late[0] <= FALSE_MOST * late[1], f"it does not recover: {figures}")
    return figures


def run_part(options, cluster, directory, part):
    made_ns = make_table(cluster.ports[0], part, options.limit)
    seconds = options.seconds * PARTS[part]
    faults = Faults(cluster)
    load = Load(options, cluster, directory, part, made_ns)
    try:
        if part == "outage":
            pass_by(load.begun_ns / NS + seconds / 4)
            faults.kill(cluster.gac, max(seconds / 4, FAULT_S))
        else:
            faults.kill_each(load.begun_ns, seconds)
        load.wait()
    finally:
        load.forget()
    failed = load.failed()
    check(not failed, f"{part}: requests failed: {failed}")
    return {"steady": steady, "over": over, "outage": outage}[part](options, load, faults)


def run(options, directory):
    settings = servers.set_words(["gac=lease", "gac_start_units=0", *options.set])
    with Cluster(options.weir, directory / "cluster", 3, 2, settings, gac=SERVERS) as cluster:
        figures = {part: run_part(options, cluster, directory, part) for part in PARTS}
        cluster.stop()
    return {"seconds": options.seconds, "limit": options.limit, **figures}


if __name__ == "__main__":
    servers.case(__doc__, run, seconds=(45.0, "of load"), limit=(1000, "of a table, units a second"), set=servers.SET_OPTION)
