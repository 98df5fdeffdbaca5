#!/usr/bin/env python3
"""The classic story, live: tables that are throttled while much of what they paid for is idle.

First two tables that differ in one thing: one's units are divided among its partitions, the other's are
shared by routers through global admission control; the same skewed writes come to both. Then a table
with 10,000 write units a second, 2,500 in use: one key grows popular, which no cut can help; and one
customer has many orders, whose partition is cut while it is written to. Runs `weir load` against a cluster that is up (tools/cluster
demo starts one) and shows the table's partitions second by second: what each may consume, consumes,
and refuses, and why, and what the controller decides about it. Every figure is measured: the live
table's by the cluster (GET /weir/partitions, /weir/events), the summary's by `weir load`. Exit code 1: it
did not happen as told.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

PAID = 1000
ASKED = 950
HOT_PART = 0.6  # of what is asked for: one key's
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
HOT_START_S = 6
HOT_END_S = 20
CUSTOMER = "acme"
CUSTOMER_RATE = 2500
CUSTOMER_START_S = 24
LENGTH_S = 44
SETTLE_S = 3  # left out of the summary: the first seconds of what is new
EVENTS_SHOWN = 3
WIDTH = 80  # columns that every line fits into

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
            print("\n".join(lines), end="\n\n")
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


def get_events(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/events", timeout=5) as answer:
        return [e for e in json.load(answer)["events"] if e.get("table") == TABLE]


def event_lines(screen, events):
    lines = [screen.paint(" what the controller decided", "1") if events else ""]
    for event in events[-EVENTS_SHOWN:]:
        when = time.strftime("%H:%M:%S", time.localtime(event["time"]))
        about = f"partition {event['partition']}" if "partition" in event else "the table"
        text = f" {when}  {about}: {event['reason']}"
        if len(text) > WIDTH:
            text = text[:WIDTH - 2] + ".."
        lines.append(screen.paint(text, "32" if event["kind"] == "split" else "33"))
    return lines + [""] * (1 + EVENTS_SHOWN - len(lines))


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


def table_lines(screen, rows, headline):
    lines = [
        screen.paint(headline, "1"),
        "",
        " part  node   allocated   consumed               throttled  why",
    ]
    for row in rows:
        throttled = sum(row["throttled"].values())
        why = ""
        note = "has moved" if row["moved"] else ""
        if throttled >= 0.5:
            reason = max(row["throttled"], key=row["throttled"].get)
            why = WHY.get(reason, reason)
        line = (f" {row['partition']:>4} {row['node']:>5} {row['allocated']:>9,.0f}/s "
                f"{row['consumed']:>8,.0f}/s {bar(row['consumed'] / max(row['allocated'], 1))} "
                f"{throttled:>7,.0f}/s  {why or note}")
        lines.append(screen.paint(line, "31") if why else line)
    allocated = sum(row["allocated"] for row in rows)
    consumed = sum(row["consumed"] for row in rows)
    throttled = sum(sum(row["throttled"].values()) for row in rows)
    lines.append(screen.paint(
        f"  table     {allocated:>9,.0f}/s {consumed:>8,.0f}/s {bar(consumed / max(allocated, 1))} "
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


def side_lines(screen, rows, second):
    lines = [screen.paint(f"second {second} of {SIDES_S}: two tables, {PAID:,} writes/s paid for by each;", "1"),
             screen.paint(f"{ASKED:,} writes/s come to each, {HOT_PART:.0%} of them to one key", "1"),
             "", " table    paid for   consumed               of which one partition"]
    for table in SIDES:
        mine = [row["consumed"] for row in rows if row["table"] == table]
        line = (f" {table:<8} {PAID:>7,}/s {sum(mine):>8,.0f}/s {bar(sum(mine) / PAID)} "
                f"{max(mine, default=0):>8,.0f}/s")
        lines.append(screen.paint(line, "31") if table == DIVIDED else line)
    return lines


def watch_sides(screen, port, load):
    before, at, start = {}, 0.0, time.monotonic()
    while load.poll() is None:
        after, now = get_partitions(port, *SIDES), time.monotonic()
        if before and round(now - start) <= SIDES_S:
            screen.draw(side_lines(screen, rates(before, after, now - at), round(now - start)),
                        keep=round(now - start) == SIDES_S // 2)
        before, at = after, now
        time.sleep(max(0.0, start + round(now - start) + 1 - time.monotonic()))


def sides(screen, weir, ports):
    """Whether the divided table was throttled below what was asked and paid for, and the shared one was not."""
    make_sides(ports[0])
    urls = [word for port in ports for word in ("--url", f"http://127.0.0.1:{port}")]
    workloads = [word for table in SIDES for word in (
        "--workload", f"{table}:table={table},rate={ASKED},distribution=hotspot:{HOT_PART}:1")]
    with tempfile.TemporaryFile() as output:
        load = subprocess.Popen([weir, "load", *urls, "--quiet", "--json", "--duration",
                                 f"{SIDES_S}s", *workloads], stdout=output)
        try:
            watch_sides(screen, ports[0], load)
        finally:
            load.terminate()
            code = load.wait()
        output.seek(0)
        measured = json.load(output)["workloads"] if code == 0 else []
    print("\n" + screen.paint(f"What `weir load` measured, in seconds {SIDES_SETTLED[0]} to "
                              f"{SIDES_SETTLED[1]}:", "1"))
    admitted = {w["name"]: mean(w, "admitted", *SIDES_SETTLED) for w in measured}
    for workload in measured:
        print(f"  {workload['name']:<8} {mean(workload, 'admitted', *SIDES_SETTLED):>6,.0f}/s admitted, "
              f"{mean(workload, 'throttled', *SIDES_SETTLED):>6,.0f}/s throttled, "
              f"of {PAID:,}/s paid for")
    print("Why: the divided table gives each of four partitions a quarter of its units.\n"
          "The popular key's partition uses its quarter up; the other quarters lie idle.\n"
          "The shared table keeps its units in one place. Routers borrow tokens from\n"
          "there, for any partition, up to what one partition can serve.\n", flush=True)
    # What a partition saved up while the table was made helps it for a while: how much differs from machine to machine.
    return (admitted.get(DIVIDED, PAID) < 0.95 * ASKED and
            admitted.get(SHARED, 0) >= 0.97 * ASKED)


# ---- what one partition can serve ----

def load_command(weir, port):
    return [
        weir, "load", "--url", f"http://127.0.0.1:{port}", "--table", TABLE, "--create-table",
        "--wcu", str(WCU), "--rcu", "1", "--quiet", "--json", "--keys", "100000",
        "--connections", "64", "--key-name", "customer", "--sort-key", "order",
        "--workload", f"base:rate={BASE_RATE},distribution=uniform,duration={LENGTH_S}s",
        "--workload", f"hot:rate={HOT_RATE},distribution=single:{HOT_KEY},start={HOT_START_S}s,"
                      f"duration={HOT_END_S - HOT_START_S}s",
        "--workload", f"customer:rate={CUSTOMER_RATE},distribution=collection:{CUSTOMER},"
                      f"start={CUSTOMER_START_S}s,duration={LENGTH_S - CUSTOMER_START_S}s",
    ]


def what_comes(second):
    if HOT_START_S < second <= HOT_END_S:
        return f" + one key, {HOT_RATE:,}/s"
    return f" + one customer's orders, {CUSTOMER_RATE:,}/s" if second > CUSTOMER_START_S else ""


def watch(screen, port, load):
    """Shows the partitions until the load is over."""
    before, at, start = {}, 0.0, None
    next_look = time.monotonic()
    while load.poll() is None:
        next_look += 1
        try:
            after = get_partitions(port, TABLE)
            events = get_events(port)
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
            headline = (f"second {second} of {LENGTH_S}: {BASE_RATE:,} writes/s spread evenly"
                        f"{what_comes(second)}")
            rows = rates(before, after, now - at)
            screen.draw(table_lines(screen, rows, headline) + event_lines(screen, events),
                        keep=second > 0 and second % 5 == 0)
        before, at = after, now
        time.sleep(max(0.0, next_look - time.monotonic()))


def mean(workload, name, first, last):
    seconds = [s[name] for s in workload["seconds"] if first <= s["t"] < last]
    return sum(seconds) / max(len(seconds), 1)


def summary(screen, result, events):
    """Figures of the seconds in which each was settled; whether the story was as told."""
    base, hot, customer = result["workloads"]
    acts = [("one key", hot, HOT_RATE, HOT_START_S + SETTLE_S, HOT_END_S - 1),
            ("one customer", customer, CUSTOMER_RATE, CUSTOMER_START_S + SETTLE_S, LENGTH_S - 1)]
    lines = ["", screen.paint("What `weir load` measured, beside "
                              f"{BASE_RATE:,} writes/s spread evenly:", "1")]
    for name, workload, rate, first, last in acts:
        lines.append(f"  {name:<13} {rate:>5,}/s asked, "
                     f"{mean(workload, 'admitted', first, last):>5,.0f}/s admitted, "
                     f"{mean(workload, 'throttled', first, last):>5,.0f}/s throttled "
                     f"(s {first} to {last})")
    latency = base["latency_us"]["admitted"]
    lines.append(f"  latency of admitted writes, p50 / p99: {latency['p50'] / 1000:.2f} / "
                 f"{latency['p99'] / 1000:.2f} ms,")
    lines.append("  with nodes, routers and load on this machine")
    failed = sum(w["failed"] + w["client_overrun"] + w["unfinished"] for w in (base, hot, customer))
    if failed:
        lines.append(f"  and {failed:,} requests failed or were not sent")
    splits = [e for e in events if e["kind"] == "split"]
    lines += [
        "",
        "Why: no partition serves more than 1,000 write units a second, however much",
        "the table has left. One key lives in one partition: more units, retries or a",
        "split do not help; spreading the key does.",
        "One customer's orders are many keys: their partition was cut between them",
        f"({len(splits)} splits), where the load divides, while they were written.",
        "",
        "Look next:",
        "  tools/cluster up                  a cluster to point your own code at",
        "  build/weir events --follow        what its controller decides, and why",
        "  build/weir load --help            your own workload",
        "  build/weir node --config help     every limit that took part in this",
    ]
    print("\n".join(lines))
    helped = mean(customer, "admitted", LENGTH_S - SETTLE_S - 1, LENGTH_S - 1)
    return mean(hot, "throttled", *acts[0][3:]) > 0 and splits and helped >= 0.95 * CUSTOMER_RATE


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=8000, help="of the first of two routers")
    parser.add_argument("--weir", default="build/weir", help="the executable")
    options = parser.parse_args()
    try:
        shared = sides(Screen(), options.weir, (options.port, options.port + 1))
    except KeyboardInterrupt:
        return 130
    screen = Screen()
    print(f"Now a table with {WCU:,} write units a second, for {LENGTH_S} seconds. "
          f"{BASE_RATE:,} writes/s\ncome in. After {HOT_START_S} seconds one key grows popular, after "
          f"{CUSTOMER_START_S} one customer\nhas many orders.\n", flush=True)
    with tempfile.TemporaryFile() as output:
        load = subprocess.Popen(load_command(options.weir, options.port), stdout=output)
        try:
            watch(screen, options.port, load)
            events = get_events(options.port)
        except KeyboardInterrupt:
            load.terminate()
            load.wait()
            return 130
        if load.wait() != 0:
            return 1
        output.seek(0)
        result = json.load(output)
    return 0 if summary(screen, result, events) and shared else 1


if __name__ == "__main__":
    sys.exit(main())
