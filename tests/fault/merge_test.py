#!/usr/bin/env python3
"""Partitions are merged while clients write and read them: nothing is lost, and nothing fails for it.

Three nodes, two routers, one table that is cut into several partitions. Clients write ascending
numbers to keys of their own, slowly enough for the partitions to count as cold, and read them back.
The controller merges the partitions, two at a time, until one is left: no request may fail. Then
the table is cut and merged once more, and each time the leader of a partition that is being merged
is killed. Requests may fail while another leader takes its place, but what was acknowledged is
there. At the end every key is read back, and `weir verify` counts items and compares the replicas.

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import sys
import urllib.request

import servers
from servers import Client, Cluster, until
from split_test import TABLE, Worker, check_all, create_table, grow, partitions

COLD_MS = 4000
SETTINGS = ["--profile", "off", "--set", "control_merge=1", "--set", f"merge_cold_ms={COLD_MS}",
            "--set", "merge_backoff_ms=500", "--set", "split_window_ms=2500",
            "--set", "control_split=0", "--set", "control_ms=100", "--set", "load_report_ms=100"]
PAUSE_S = 0.4  # between two writes of a client: partitions are cold


def say(text):
    print(f"merge_test: {text}", file=sys.stderr, flush=True)


def events(port, kind):
    """The numbers of the decisions of that kind."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/events", timeout=5) as answer:
        return {e["number"]: e for e in json.load(answer)["events"] if e["kind"] == kind}


def shrink(cluster, most):
    """Waits until the controller has merged all but `most`."""
    port = cluster.ports[0]
    until(f"at most {most} partitions are left", lambda: 0 < len(partitions(port)) <= most, 120)


def shrink_and_kill(cluster, most, kills):
    """The same, and the leader of the partition that stops for a merge is killed, so many times."""
    port = cluster.ports[0]
    killed = 0
    seen = set(events(port, "merge"))
    while killed < kills:
        led = until("all partitions are led", lambda: partitions(port))
        new = until("a merge begins", lambda: set(events(port, "merge")) - seen or
                    (len(led) <= most and {0}), 120, 0.001)
        if new == {0}:
            break
        seen |= new
        partition = events(port, "merge")[max(new)]["partition"]
        name = f"node-{led.get(partition, 1)}"
        cluster[name].kill()
        killed += 1
        say(f"killed {name}, which led partition {partition} as it was merged")
        cluster[name].start()
        until("all replicas have everything", lambda: servers.caught_up(port), 60)
    shrink(cluster, most)
    return killed


def run(options, directory):
    cluster = Cluster(options.weir, directory, 3, 2, SETTINGS)
    workers = [Worker(cluster.ports[i % 2], i, PAUSE_S) for i in range(options.clients)]
    try:
        cluster.start()
        client = Client(cluster.ports[0])
        until("the cluster answers", lambda: create_table(client))
        until("the table is ACTIVE", lambda: client.call(
            "DescribeTable", TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
        grow(cluster, options.partitions)
        for worker in workers:
            worker.start()
        until("every client has worked", lambda: all(w.count > 5 for w in workers), 60)
        for worker in workers:
            worker.longest_s = 0.0
        shrink(cluster, 1)
        calm_s = max(w.longest_s for w in workers)
        failed = [f for w in workers for f in w.failed]
        if failed:
            raise AssertionError(f"{len(failed)} requests failed in merges alone: {failed[0]}")
        say(f"{options.partitions} partitions became one, {sum(w.count for w in workers)} writes, "
            f"none failed; the longest write and read took {calm_s:.3f} s")
        grow(cluster, options.partitions)
        killed = shrink_and_kill(cluster, 1, options.kills)
        before = {w: w.count for w in workers}
        until("every client works again", lambda: all(w.count > before[w] for w in workers), 60)
        given_up = len(events(cluster.ports[0], "merge-given-up"))
        for worker in workers:
            worker.stopping.set()
        for worker in workers:
            worker.join()
        items = check_all(workers, cluster.ports[1])
        until("every replica has everything", lambda: servers.caught_up(cluster.ports[1]), 60)
        cluster.stop()
    finally:
        for worker in workers:
            worker.stopping.set()
        cluster.forget()
    servers.check_replicas(options.weir, cluster.data, SETTINGS, copies=3)
    return {"partitions": options.partitions, "kills": killed, "given_up": given_up,
            "clients": options.clients, "writes": sum(w.count for w in workers), "items": items,
            "longest_s": round(calm_s, 3),
            "failed_with_a_dead_leader": sum(len(w.failed) for w in workers)}


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--partitions", type=int, default=5)
    parser.add_argument("--kills", type=int, default=2)
    options = parser.parse_args()
    with servers.workplace("merge") as directory:
        figures = run(options, directory)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
