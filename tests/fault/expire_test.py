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
"""
import argparse
import threading
import time

import servers
from servers import Client, Cluster, Refused, Unreachable, check, say, until

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


def load_arguments(*more):
    return ["--table", LOADED, "--keys", KEYS, "--item-bytes", ITEM_BYTES, "--connections", CONNECTIONS, *more]


def told(port):
    """(items that have expired, the largest lag in ms). None: not all leaders are known."""
    led = [p["expiry"] for p in servers.partitions(port, TABLE) if p["role"] == "leader" and "expiry" in p]
    return (sum(x["expired_items"] for x in led), max(x["lag_ms"] for x in led)) if led else None


def count(port):
    """The number of items. None: not all can be read now."""
    try:
        return servers.count(port, TABLE)
    except (Refused, Unreachable):
        return None


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
    first, last = spans["p99_ms"]
    seconds = (last - first) / 1e9
    out = {"expired_s": round(seconds, 2), "items_per_s": round(options.items / seconds),
           **servers.p99s_ms(servers.latencies(history, LOADED)[0], spans, LEAST)}
    if "p99_ms" not in out:
        return {**out, "ratio": None}
    calm = (out["p99_before_ms"] + out["p99_after_ms"]) / 2  # on a machine whose other work comes and goes
    return {**out, "ratio": round(out["p99_ms"] / calm, 2)}


def run(options, directory):
    settings = SETTINGS + servers.set_words([f"ttl_window_ms={options.window_ms}", *options.set])
    with Cluster(options.weir, directory, options.nodes, 1, settings) as cluster:
        port, client = cluster.ports[0], Client(cluster.ports[0])
        for table in (TABLE, LOADED):
            servers.make_table(port, table, None, ("pk",))
        fill_table(port, options.items, int(time.time()) - 60)
        fill_table(port, options.kept, int(time.time()) + 100 * HOUR_S)
        rate = options.rate or servers.half_of_capacity(options.weir, port, PROBE_S, load_arguments())
        say(f"{options.items} items whose time is over, {options.kept} whose time is not; {rate} requests a second")
        history = directory / "history.jsonl"
        with servers.Load(options.weir, [port], load_arguments(), rate, history) as load:
            before = load.steady(options.before)
            expiring = expire(options, cluster, client, load)
            after = load.steady(options.before)
            ended = load.stop()
        check(count(port) == options.kept, f"{count(port)} items are left, {options.kept} should be")
        names = {item["t"]["N"] for item in servers.scan(port, TABLE)}
        check(len(names) == 1, f"items of these times are left: {names}")
        out = {"items": options.items, "kept": options.kept, "requests_per_s": rate, "admitted": ended["admitted"],
               "lag_ms": told(port)[1],
               **figures(options, history, {"p99_before_ms": before, "p99_ms": expiring, "p99_after_ms": after})}
        servers.wait_caught_up(port, min(REPLICAS, options.nodes))
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, settings)
    servers.judge_ratio(out, options.ratio)
    return out


if __name__ == "__main__":
    servers.case(__doc__, run, items=2000, kept=500, nodes=3, window_ms=(4000, "ttl_window_ms"),
                 kill={"dest": "kill", "action": argparse.BooleanOptionalAction, "default": True, "help": "kill a node"},
                 rate=(0, "requests a second; 0: half of what is served at most"),
                 before=(3.0, "seconds of load before and after"),
                 within=(float(servers.START_S), "seconds until the items are gone"),
                 ratio={"type": float, "help": "the most of the p99 while items expire"}, set=servers.SET_OPTION)
