#!/usr/bin/env python3
"""Many items expire at once: they are gone within a bound, and requests hardly notice.

The table has --items items whose time to live is over, and --kept items whose time is not. `weir load` reads and
writes another table all the time, at half of what the cluster serves. After a while UpdateTimeToLive is called. Told
are the time until the table has only the kept items, items per second, and the p99 of the requests of the load while
items expire, and its ratio to the mean of the p99 before and after.

Without --no-kill a node is killed in the middle and started again: expiry goes on, and no item comes back. At the end
all replicas hold the same, and their counts are true.

  expire_test.py                                            2,000 items, and one node is killed
  expire_test.py --items 1000000 --no-kill --ratio 1.1      fails if that ratio is above 1.1

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import subprocess
import sys
import threading
import time
import urllib.request

import servers
from servers import Client, Cluster, Refused, Unreachable, until

TABLE, LOADED = "expires", "loaded"
REPLICAS = 3
ITEM_BYTES = 100
KEYS = 10000  # of the load
CONNECTIONS = 64
WRITERS = 8  # connections that fill the table
BATCH = 25
PROBE_S = 3
LEAST = 1000  # requests to tell a p99 from
LOOK_S = 0.1
HOUR_S = 3600
SETTINGS = ["--profile", "off", "--set", "checkpoint_ms=1000"]


def say(text):
    print(f"expire_test: {text}", file=sys.stderr, flush=True)


def make_table(client, table):
    """Whether the table is there: not yet while the nodes come to know each other."""
    try:
        client.call("CreateTable", TableName=table, BillingMode="PAY_PER_REQUEST",
                    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
    except (Refused, Unreachable) as error:
        if getattr(error, "name", "") != "ResourceInUseException":
            return False
    return client.call("DescribeTable", TableName=table)["Table"]["TableStatus"] == "ACTIVE"


def fill(port, first, step, count, end):
    """Every `step`-th item from `first` on. Their time is `end`, in seconds."""
    client = Client(port)
    names = range(first, count, step)
    for at in range(0, len(names), BATCH):
        puts = [{"PutRequest": {"Item": {"pk": {"S": f"{end}-{i}"}, "t": {"N": str(end)},
                                         "f": {"S": "x" * ITEM_BYTES}}}} for i in names[at:at + BATCH]]
        while puts:
            answer = client.call("BatchWriteItem", RequestItems={TABLE: puts})
            puts = answer["UnprocessedItems"].get(TABLE, [])
    client.close()


def fill_table(port, count, end):
    threads = [threading.Thread(target=fill, args=(port, i, WRITERS, count, end)) for i in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def load_command(options, port, *more):
    return [str(options.weir), "load", "--url", f"http://127.0.0.1:{port}", "--quiet", "--json", "--table", LOADED,
            "--keys", str(KEYS), "--item-bytes", str(ITEM_BYTES), "--connections", str(CONNECTIONS), *more]


def half_of_capacity(options, port):
    done = subprocess.run(load_command(options, port, "--preload", "--rate", "max", "--duration", f"{PROBE_S}s"),
                          stdout=subprocess.PIPE, check=True)
    return max(1, round(json.loads(done.stdout)["workloads"][0]["admitted_per_s"] / 2))


def told(port):
    """(items that have expired, the largest lag in ms). None: not all leaders are known."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions?table={TABLE}", timeout=5) as answer:
            page = json.load(answer)
    except OSError:
        return None
    led = [p["expiry"] for p in page["partitions"] if p["role"] == "leader" and "expiry" in p]
    return (sum(x["expired_items"] for x in led), max(x["lag_ms"] for x in led)) if led else None


def count(port):
    """The number of items. None: not all can be read now."""
    client, total, start = Client(port, timeout_s=20), 0, {}
    try:
        while True:
            page = client.call("Scan", TableName=TABLE, Select="COUNT", **start)
            total += page["Count"]
            if "LastEvaluatedKey" not in page:
                return total
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    except (Refused, Unreachable):
        return None
    finally:
        client.close()


def expire(options, cluster, client, load):
    """The time from UpdateTimeToLive until only the kept items are left."""
    port, kill = cluster.ports[0], options.kill
    first = time.monotonic_ns()
    client.call("UpdateTimeToLive", TableName=TABLE,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"})
    end = time.monotonic() + options.within

    def some(share):
        load.check_running()
        expired = told(port)
        return expired is not None and expired[0] >= share * options.items
    if kill:
        until("some items have expired", lambda: some(0.3), bound_s=options.within, poll_s=LOOK_S / 10)
        say("kill -9 of node-1 in the middle")
        cluster["node-1"].kill()
        cluster["node-1"].start()
    else:
        until("the items have expired", lambda: some(1), bound_s=options.within, poll_s=LOOK_S)
    until("only the kept items are left", lambda: count(port) == options.kept,
          bound_s=max(1, end - time.monotonic()), poll_s=LOOK_S)
    return first, time.monotonic_ns()


def figures(options, history, spans):
    found, _ = servers.latencies(history, LOADED)
    first, last = spans["p99_ms"]
    seconds = (last - first) / 1e9
    out = {"expired_s": round(seconds, 2), "items_per_s": round(options.items / seconds)}
    if min(sum(a <= at < b for at, _ in found) for a, b in spans.values()) < LEAST:
        return {**out, "ratio": None}  # too short for a p99
    out.update((name, servers.p99_ms(found, [span], LEAST)) for name, span in spans.items())
    calm = (out["p99_before_ms"] + out["p99_after_ms"]) / 2  # on a machine whose other work comes and goes
    return {**out, "ratio": round(out["p99_ms"] / calm, 2)}


def run(options, directory):
    window = ["--set", f"ttl_window_ms={options.window_ms}"]
    settings = SETTINGS + window + [argument for setting in options.set for argument in ("--set", setting)]
    cluster = Cluster(options.weir, directory, options.nodes, 1, settings)
    load = None
    try:
        cluster.start()
        port, client = cluster.ports[0], Client(cluster.ports[0])
        for table in (TABLE, LOADED):
            until(f"table {table} is made", lambda: make_table(client, table))
        fill_table(port, options.items, int(time.time()) - 60)
        fill_table(port, options.kept, int(time.time()) + 100 * HOUR_S)
        rate = options.rate or half_of_capacity(options, port)
        say(f"{options.items} items whose time is over, {options.kept} whose time is not; {rate} requests a second")
        history = directory / "history.jsonl"
        load = servers.Load(load_command(options, port), rate, history)
        before = load.steady(options.before)
        expiring = expire(options, cluster, client, load)
        after = load.steady(options.before)
        ended = load.stop()
        if count(port) != options.kept:
            raise AssertionError(f"{count(port)} items are left, {options.kept} should be")
        names = {item["t"]["N"] for item in servers.scan(port, TABLE)}
        if len(names) != 1:
            raise AssertionError(f"items of these times are left: {names}")
        out = {"items": options.items, "kept": options.kept, "requests_per_s": rate, "admitted": ended["admitted"],
               "lag_ms": told(port)[1],
               **figures(options, history, {"p99_before_ms": before, "p99_ms": expiring, "p99_after_ms": after})}
        until("all replicas have caught up", lambda: servers.caught_up(port, min(REPLICAS, options.nodes)))
        cluster.stop()
        servers.check_replicas(options.weir, cluster.data, settings)
        return out
    finally:
        if load is not None:
            load.forget()
        cluster.forget()


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--kept", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--no-kill", dest="kill", action="store_false", help="no node is killed")
    parser.add_argument("--rate", type=int, default=0, help="requests a second; 0: half of what is served at most")
    parser.add_argument("--before", type=float, default=3, help="seconds of load before and after")
    parser.add_argument("--window-ms", type=int, default=4000, help="ttl_window_ms")
    parser.add_argument("--within", type=float, default=servers.START_S, help="seconds until the items are gone")
    parser.add_argument("--ratio", type=float, help="the most of the p99 while items expire")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the cluster")
    options = parser.parse_args()
    with servers.workplace("expire") as directory:
        out = run(options, directory)
    print(json.dumps(out))
    if options.ratio is not None and (out["ratio"] is None or out["ratio"] > options.ratio):
        raise AssertionError(f"the p99 is {out['ratio']} times that of before and after, {options.ratio} is allowed")


if __name__ == "__main__":
    main()
