#!/usr/bin/env python3
"""The classic story, live: tables that are throttled while many of their provisioned units are idle.

 1 shared   two tables with one difference: the units of one are divided among its partitions, those of the other are
            shared by routers through global admission control. Both get the same skewed writes.
 2 split    a table with 10,000 write units a second, 2,500 in use. One key grows popular: weir splits it out, so that
            its neighbours are served; the key itself stays at a partition's 1,000. Then one customer has many orders:
            their partition is split between them, during the writes.
 3 sharded  one conversation needs more than a partition can serve. The tag of its table shards such keys.

Runs `weir load` against a running cluster (tools/cluster demo starts one) and shows, second by second, for each
partition: allocation, consumption, refusals with reasons, and the controller's decisions. Every figure is measured: the
live ones by the cluster (GET /weir/partitions, /weir/events), those of the summaries by `weir load`. Exit code 1: a
step differed from this text; the last lines name it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request

import hot_partition

PAID = 1000
ASKED = 950
HOT_PART = 0.6  # of what is offered: one key's
DIVIDED, SHARED = "divided", "shared"
SIDES = {DIVIDED: "off", SHARED: "lease"}  # by the tag weir:gac
SIDES_PARTITIONS = 4
SIDES_S = 8
SIDES_SETTLED = (2, 5)  # seconds; after five the controller moves what is divided

TABLE = "orders"
WCU = 10000
BASE_RATE = 2500
HOT_RATE = 5000
HOT_KEY = "the-popular-one"
HOT_START_S = 5
HOT_END_S = 15
ORDERS_KEY = "customer"
CUSTOMER = "acme"
CUSTOMER_RATE = 2500
CUSTOMER_START_S = 17
LENGTH_S = 36
SETTLE_S = 3  # left out of the summary: the first seconds of what is new

CHAT = "chat"
CHAT_TAG = "weir:key-sharding"
CHAT_WCU = 8000
CHAT_RATE = 4000
CHAT_S = 14

WIDTH = 80  # columns that every line fits into
ROWS_MAX = 9  # partitions that are shown one by one: with the rest the screen has less than 24 rows
EVENT_ROWS = 5

WHY = {
    "key-range": "partition maximum",
    "allocation": "share used up",
    "node": "node full",
    "member": "follower full",
}


class Screen:
    """Redraws a block of lines on a terminal; elsewhere prints it now and then."""

    def __init__(self):
        self.tty = sys.stdout.isatty()
        self.color = self.tty and "NO_COLOR" not in os.environ
        self.drawn = 0

    def paint(self, text, code):
        return f"\033[{code}m{text}\033[0m" if self.color else text

    def draw(self, lines, keep=True):
        if self.tty:
            if self.drawn:
                sys.stdout.write(f"\033[{self.drawn}A")
            # No wrapping: a narrow window cuts lines instead of breaking the block.
            sys.stdout.write("\033[?7l" + "".join(f"\033[K{line}\n" for line in lines) + "\033[?7h")
            self.drawn = len(lines)
        elif keep:
            print("\n".join(lines).rstrip("\n "), end="\n\n")
        sys.stdout.flush()


def get_partitions(port, *tables):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions", timeout=5) as answer:
        partitions = json.load(answer)["partitions"]
    mine = [p for p in partitions if p["table"] in tables and p["role"] == "leader"]
    return {p["partition"]: p for p in mine}


def call(port, operation, **members):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/", json.dumps(members).encode(),
        {"Content-Type": "application/x-amz-json-1.0",
         "X-Amz-Target": f"DynamoDB_20120810.{operation}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def get_events(port, table):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/events", timeout=5) as answer:
        return [e for e in json.load(answer)["events"] if e.get("table") == table]


def event_lines(screen, events):
    """The newest event in full, and before it one line of the one before it."""
    lines = []
    for event in events[-2:]:
        when = time.strftime("%H:%M:%S", time.localtime(event["time"]))
        about = f"partition {event['partition']}" if "partition" in event else "the table"
        wrapped = textwrap.wrap(f"{when}  {about}: {event['reason']}", WIDTH - 1, subsequent_indent=" " * 10)
        if event is not events[-1] and len(wrapped) > 1:
            wrapped = [wrapped[0][:WIDTH - 3] + ".."]
        lines += [screen.paint(f" {line}", "32" if event["kind"] == "split" else "33") for line in wrapped]
    head = [screen.paint(" what the controller decided", "1") if events else ""]
    return (head + lines + [""] * EVENT_ROWS)[:1 + EVENT_ROWS]


def rates(before, after, seconds):
    """Per partition: what happened between two looks, per second."""
    rows = []
    for number, now in sorted(after.items()):
        writes = now["write"]
        last = before.get(number)
        moved = last is not None and last["node"] != now["node"]  # its new leader counts anew
        was = writes if moved else (last or {}).get("write", {"consumed": 0, "throttled": {}})
        throttled = {
            reason: (count - was["throttled"].get(reason, 0)) / seconds
            for reason, count in writes["throttled"].items()
        }
        rows.append({
            "partition": number,
            "table": now["table"],
            "node": now["node"],
            "allocated": writes["allocated"],
            "consumed": (writes["consumed"] - was["consumed"]) / seconds,
            "throttled": throttled,
            "moved": moved,
        })
    return rows


def bar(part, width=12):
    eighths = round(max(0.0, min(1.0, part)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width)


def row_line(screen, row):
    throttled = sum(row["throttled"].values())
    note = "has moved" if row["moved"] else ""
    why = ""
    if throttled >= 0.5:
        reason = max(row["throttled"], key=row["throttled"].get)
        why = WHY.get(reason, reason)
    line = (f" {row['partition']:>4} {row['node']:>5} {row['allocated']:>9,.0f}/s "
            f"{row['consumed']:>8,.0f}/s {bar(row['consumed'] / max(row['allocated'], 1))} "
            f"{throttled:>7,.0f}/s  {why or note}")
    return screen.paint(line, "31") if why else line


def totals(rows):
    return [sum(row["allocated"] for row in rows), sum(row["consumed"] for row in rows),
            sum(sum(row["throttled"].values()) for row in rows)]


def table_lines(screen, rows, headline):
    """The busiest partitions; the others in one line."""
    busiest = sorted(rows, key=lambda row: -sum(row["throttled"].values()) - row["consumed"])
    shown = busiest if len(rows) <= ROWS_MAX else busiest[:ROWS_MAX - 1]
    rest = [row for row in rows if row not in shown]
    lines = [screen.paint(headline, "1"), "",
             " part  node   allocated   consumed               throttled  why"]
    lines += [row_line(screen, row) for row in sorted(shown, key=lambda row: row["partition"])]
    if rest:
        allocated, consumed, throttled = totals(rest)
        lines.append(f" {len(rest):>2} more    {allocated:>9,.0f}/s {consumed:>8,.0f}/s "
                     f"{bar(consumed / max(allocated, 1))} {throttled:>7,.0f}/s")
    lines += [""] * (3 + ROWS_MAX - len(lines))
    allocated, consumed, throttled = totals(rows)
    lines.append(screen.paint(
        f" table     {allocated:>9,.0f}/s {consumed:>8,.0f}/s {bar(consumed / max(allocated, 1))} "
        f"{throttled:>7,.0f}/s  {max(0, allocated - consumed):,.0f}/s idle", "1"))
    return lines


# ---- what was paid for, divided and shared ----

def make_sides(port):
    """Each of several partitions: made large, then given what it shall have."""
    for table, policy in SIDES.items():
        call(port, "CreateTable", TableName=table, Tags=[{"Key": "weir:gac", "Value": policy}],
             KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
             AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
             ProvisionedThroughput={"ReadCapacityUnits": 1,
                                    "WriteCapacityUnits": 1000 * SIDES_PARTITIONS})
    for table in SIDES:
        for units in (PAID, None):
            while call(port, "DescribeTable", TableName=table)["Table"]["TableStatus"] != "ACTIVE":
                time.sleep(0.02)
            if units is not None:
                call(port, "UpdateTable", TableName=table, ProvisionedThroughput={
                    "ReadCapacityUnits": 1, "WriteCapacityUnits": units})


def side_lines(screen, rows, when):
    lines = [screen.paint(f"{when}: two tables, {PAID:,} writes/s paid for by each;", "1"),
             screen.paint(f"{ASKED:,} writes/s come to each, {HOT_PART:.0%} of them to one key", "1"),
             "", " table    paid for   consumed               of which one partition"]
    for table in SIDES:
        mine = [row["consumed"] for row in rows if row["table"] == table]
        line = (f" {table:<8} {PAID:>7,}/s {sum(mine):>8,.0f}/s {bar(sum(mine) / PAID)} "
                f"{max(mine, default=0):>8,.0f}/s")
        lines.append(screen.paint(line, "31") if table == DIVIDED else line)
    return lines


def watch_sides(screen, port, load):
    """Leaves the second on the screen in which the divided table got least."""
    before, at, start = {}, 0.0, time.monotonic()
    worst = (0, [])
    while load.poll() is None:
        after, now = get_partitions(port, *SIDES), time.monotonic()
        second = round(now - start)
        if before and second <= SIDES_S:
            rows = rates(before, after, now - at)
            got = sum(row["consumed"] for row in rows if row["table"] == DIVIDED)
            if second >= SIDES_SETTLED[0] and (not worst[1] or got < worst[0]):
                worst = (got, side_lines(screen, rows, f"second {second}, the worst"))
            screen.draw(side_lines(screen, rows, f"second {second} of {SIDES_S}"), keep=False)
        before, at = after, now
        time.sleep(max(0.0, start + round(now - start) + 1 - time.monotonic()))
    screen.draw(worst[1])


def what_control_did(port):
    raised = [e for e in get_events(port, DIVIDED) if e["kind"] == "allocation-raised"]
    if not raised:
        return ""
    return textwrap.fill(
        f"After some seconds adaptive capacity gave the popular key's partition {raised[-1]['after']:,.0f} of the "
        f"{PAID:,} units, which its neighbours did not use. A load that moves from key to key stays ahead of that.",
        WIDTH - 2) + "\n"


def run_load(weir, arguments, watch):
    """Watches a load until it is over. Its workloads, as it measured them; [] if it failed."""
    with tempfile.TemporaryFile() as output:
        load = subprocess.Popen([weir, "load", "--quiet", "--json", *arguments], stdout=output)
        try:
            watch(load)
        finally:
            load.terminate()
            code = load.wait()
        output.seek(0)
        return json.load(output)["workloads"] if code == 0 else []


def mean(workload, name, first, last):
    seconds = [s[name] for s in workload["seconds"] if first <= s["t"] < last]
    return sum(seconds) / max(len(seconds), 1)


def sides(screen, weir, ports, told):
    make_sides(ports[0])
    urls = [word for port in ports for word in ("--url", f"http://127.0.0.1:{port}")]
    workloads = [word for table in SIDES for word in (
        "--workload", f"{table}:table={table},rate={ASKED},distribution=hotspot:{HOT_PART}:1")]
    measured = run_load(weir, [*urls, "--duration", f"{SIDES_S}s", *workloads],
                        lambda load: watch_sides(screen, ports[0], load))
    first, last = SIDES_SETTLED
    print("\n" + screen.paint(f"What `weir load` measured, in seconds {first} to {last}:", "1"))
    admitted = {w["name"]: mean(w, "admitted", first, last) for w in measured}
    for workload in measured:
        print(f"  {workload['name']:<8} {admitted[workload['name']]:>6,.0f}/s admitted, "
              f"{mean(workload, 'throttled', first, last):>6,.0f}/s throttled, of {PAID:,}/s paid for")
    print("Why: the divided table gives each of four partitions a quarter of its units.\n"
          "The popular key's partition uses its quarter up; the other quarters lie idle.\n"
          "The shared table keeps its units in one place. Routers borrow tokens from\n"
          "there, for any partition, up to what one partition can serve.\n" + what_control_did(ports[0]), flush=True)
    # What a partition saved up while the table was made helps it for a while: how much differs from machine to machine.
    told.less("writes admitted a second of the divided table", admitted.get(DIVIDED, PAID), 0.95 * ASKED)
    told.more("writes admitted a second of the shared table", admitted.get(SHARED, 0), 0.97 * ASKED)


# ---- partitions, live ----

def watch(screen, port, table, length_s, what_comes, load):
    """Shows the partitions until the load is over. `what_comes`: at a second, for the headline. Returns rows, headline
    and screen of the second in which most was refused."""
    worst = (0, [], "", [])
    before, at, start = {}, 0.0, None
    next_look = time.monotonic()
    while load.poll() is None:
        next_look += 1
        try:
            after = get_partitions(port, table)
            events = get_events(port, table)
        except OSError as error:
            if load.poll() is None:
                print(f"demo: the router does not answer: {error}", file=sys.stderr)
            after, events = {}, []
        now = time.monotonic()
        busy = any(p["write"]["consumed"] for p in after.values())
        if busy and start is None:
            start = now
        if start is not None and before:
            second = round(now - start)
            rows = rates(before, after, now - at)
            decided = event_lines(screen, events)
            screen.draw(table_lines(screen, rows, f"second {second} of {length_s}: {what_comes(second)}") + decided,
                        keep=second > 0 and second % 5 == 0)
            refused = totals(rows)[2]
            if refused > worst[0]:
                headline = f"second {second}, the worst: {what_comes(second)}"
                worst = (refused, rows, what_comes(second), table_lines(screen, rows, headline) + decided)
        before, at = after, now
        time.sleep(max(0.0, next_look - time.monotonic()))
    return worst[1:]


# ---- what one partition can serve ----

def orders_arguments(port):
    return [
        "--url", f"http://127.0.0.1:{port}", "--table", TABLE, "--create-table",
        "--wcu", str(WCU), "--rcu", "1", "--keys", "100000",
        "--connections", "64", "--key-name", ORDERS_KEY, "--sort-key", "order",
        "--workload", f"base:rate={BASE_RATE},distribution=uniform,duration={LENGTH_S}s",
        "--workload", f"hot:rate={HOT_RATE},distribution=single:{HOT_KEY},start={HOT_START_S}s,"
                      f"duration={HOT_END_S - HOT_START_S}s",
        "--workload", f"customer:rate={CUSTOMER_RATE},distribution=collection:{CUSTOMER},"
                      f"start={CUSTOMER_START_S}s,duration={LENGTH_S - CUSTOMER_START_S}s",
    ]


def orders_come(second):
    even = f"{BASE_RATE:,} writes/s spread evenly"
    # `watch` may begin to count up to a second late: when it says 5 seconds, the load of the sixth may have begun.
    if HOT_START_S <= second <= HOT_END_S:
        return f"{even} + one key, {HOT_RATE:,}/s"
    return f"{even} + one customer's orders, {CUSTOMER_RATE:,}/s" if second >= CUSTOMER_START_S else even


def customer_splits(events):
    """Splits at a key of the customer's. Those of the popular key's partition are not counted."""
    return sum(e["kind"] == "split" and f'{ORDERS_KEY}="{CUSTOMER}"' in e["reason"] for e in events)


def measured_line(name, rate, admitted, throttled, first, last):
    return (f"  {name:<12} {rate:>5,}/s offered, {admitted:>5,.0f}/s admitted, {throttled:>5,.0f}/s throttled "
            f"(s {first} to {last})")


def why_orders(splits):
    """No line is wider than WIDTH."""
    return ("Why: no partition serves more than 1,000 write units a second (an idle one has\n"
            "saved a second's worth), however much the table has left. One key lives in one\n"
            "partition. weir splits the key out: it gets a partition of its own, with a new\n"
            "number, and its neighbours are served again. The key itself stays at 1,000:\n"
            "more units or retries do not help; spreading the key does.\n"
            "One customer's orders are many keys: their partition was split between them\n"
            f"({splits} split{'' if splits == 1 else 's'}), where the load divides, while they were written. The parts\n"
            "divide what the partition was allocated.\n")


def orders(screen, weir, port, told, picture):
    print(f"Now a table with {WCU:,} write units a second, for {LENGTH_S} seconds. {BASE_RATE:,} writes/s\n"
          f"come in. After {HOT_START_S} seconds one key grows popular, after {CUSTOMER_START_S} one customer\n"
          "has many orders.\n", flush=True)
    worst = []
    measured = run_load(weir, orders_arguments(port), lambda load: worst.extend(
        watch(screen, port, TABLE, LENGTH_S, orders_come, load)))
    if worst[0]:
        screen.draw(worst[2])
    if picture and worst[0]:
        picture.write_text(hot_partition.draw(*worst[:2], WHY))
    if not measured:
        return told.failed("`weir load` for the table of orders")
    base, hot, customer = measured
    splits = customer_splits(get_events(port, TABLE))
    acts = [("one key", hot, HOT_RATE, HOT_START_S + SETTLE_S, HOT_END_S - 1),
            ("one customer", customer, CUSTOMER_RATE, LENGTH_S - SETTLE_S - 1, LENGTH_S - 1)]
    print("\n" + screen.paint(f"What `weir load` measured, beside {BASE_RATE:,} writes/s spread evenly:", "1"))
    for name, workload, rate, first, last in acts:
        print(measured_line(name, rate, mean(workload, "admitted", first, last),
                            mean(workload, "throttled", first, last), first, last))
    print("  (a request is offered when it is sent, admitted when it is answered: what waited\n"
          "  before these seconds is admitted in them)")
    latency = base["latency_us"]["admitted"]
    print(f"  latency of admitted writes, p50 / p99: {latency['p50'] / 1000:.2f} / {latency['p99'] / 1000:.2f} ms,\n"
          "  with nodes, routers and load on this machine")
    failed = sum(w["failed"] + w["client_overrun"] + w["unfinished"] for w in measured)
    if failed:
        print(f"  and {failed:,} requests failed or were not sent")
    print(why_orders(splits), flush=True)
    told.more("writes throttled a second of the popular key", mean(hot, "throttled", *acts[0][3:]), 1)
    told.more("splits of the customer's partition", splits, 1)
    told.more("writes admitted a second of the customer's orders in the end",
              mean(customer, "admitted", *acts[1][3:]), 0.95 * CUSTOMER_RATE)
    return None


# ---- a key that is spread ----

def chat(screen, weir, port, told):
    print(f"Last a key that one partition cannot serve: a conversation of {CHAT_RATE:,} messages/s.\n"
          f"Its table has the tag {CHAT_TAG}=auto.\n", flush=True)
    call(port, "CreateTable", TableName=CHAT, Tags=[{"Key": CHAT_TAG, "Value": "auto"}],
         KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
         AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"},
                               {"AttributeName": "sk", "AttributeType": "S"}],
         ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": CHAT_WCU})
    measured = run_load(
        weir, ["--url", f"http://127.0.0.1:{port}", "--table", CHAT, "--sort-key", "sk", "--connections", "64",
               "--distribution", "append:room", "--rate", str(CHAT_RATE), "--duration", f"{CHAT_S}s"],
        lambda load: watch(screen, port, CHAT, CHAT_S, lambda second: f"{CHAT_RATE:,} messages/s to one key", load))
    if not measured:
        return told.failed("`weir load` for the conversation")
    begun, ended = (mean(measured[0], "admitted", *seconds) for seconds in ((0, 2), (CHAT_S - SETTLE_S, CHAT_S)))
    print("\n" + screen.paint("What `weir load` measured:", "1") +
          f"\n  {begun:,.0f}/s admitted in the first two seconds, {ended:,.0f}/s in the last {SETTLE_S}\n"
          "Why: weir found that one key is hot, gave it shards in several partitions, and\n"
          "writes and reads go to all of them. Clients see one key, its items in order.\n", flush=True)
    told.more("messages admitted a second in the end", ended, 0.95 * CHAT_RATE)
    return None


class Told:
    """Whether the story happened as it is told."""

    def __init__(self):
        self.not_so = []

    def more(self, what, figure, wanted):
        if figure < wanted:
            self.not_so.append(f"{what}: {figure:,.0f}, expected at least {wanted:,.0f}")

    def less(self, what, figure, wanted):
        if figure >= wanted:
            self.not_so.append(f"{what}: {figure:,.0f}, expected less than {wanted:,.0f}")

    def failed(self, what):
        self.not_so.append(f"{what} failed: see its message above")

    def explain(self):
        busy, processors = os.getloadavg()[0], os.cpu_count()
        print("demo: some steps differed from the text:\n" + "".join(f"  {line}\n" for line in self.not_so) +
              f"This machine has {processors} processors, and {busy:.0f} threads wanted one in the last minute."
              + (" That is the cause: run the demo again when the machine is less busy." if busy > 2 * processors else ""),
              file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--port", type=int, default=8000, help="of the first of two routers")
    parser.add_argument("--weir", default="build/weir", help="the executable")
    parser.add_argument("--picture", type=pathlib.Path, help="draw the second with most refusals: an SVG file")
    options = parser.parse_args()
    told = Told()
    try:
        sides(Screen(), options.weir, (options.port, options.port + 1), told)
        orders(Screen(), options.weir, options.port, told, options.picture)
        chat(Screen(), options.weir, options.port, told)
    except KeyboardInterrupt:
        return 130
    print("Look next:\n"
          "  tools/cluster up                  a cluster to point your own code at\n"
          "  build/weir events --follow        decisions of its controller, with reasons\n"
          "  build/weir load --help            your own workload\n"
          "  docs/guide-write-sharding.md      keys that need more than a partition", flush=True)
    if told.not_so:
        told.explain()
    return 1 if told.not_so else 0


if __name__ == "__main__":
    sys.exit(main())
