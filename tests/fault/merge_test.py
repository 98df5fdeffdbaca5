#!/usr/bin/env python3
"""Partitions are merged while clients write and read them: nothing is lost, and nothing fails for it.

Three nodes, two routers, one table that is split into several partitions. Clients write ascending
numbers to keys of their own, slowly enough for the partitions to count as cold, and read them back.
The controller merges the partitions, two at a time, until one is left: no request may fail. Then
the table is split and merged once more, and each time the leader of a partition that is being merged
is killed. Requests may fail while another leader takes its place, but what was acknowledged is
there. At the end every key is read back, and `weir verify` counts items and compares the replicas.
"""
import servers
from servers import Cluster, leaders, make_table, more_done, say, until
from split_test import TABLE, Worker, begin, check_none_failed, ended, grow

COLD_MS = 4000
SETTINGS = ["--profile", "off", "--set", "control_merge=1", "--set", f"merge_cold_ms={COLD_MS}",
            "--set", "merge_backoff_ms=500", "--set", "split_window_ms=2500",
            "--set", "control_split=0", "--set", "control_ms=100", "--set", "load_report_ms=100"]
PAUSE_S = 0.4  # between two writes of a client: partitions are cold


def events(port, kind):
    """The decisions of that kind, by number."""
    return {e["number"]: e for e in servers.events(port, TABLE) if e["kind"] == kind}


def shrink(cluster, most):
    """Waits until the controller has merged all but `most`."""
    port = cluster.ports[0]
    until(f"at most {most} partitions are left", lambda: 0 < len(leaders(port, TABLE)) <= most)


def shrink_and_kill(cluster, most, kills):
    """The same, and the leader of the partition that stops for a merge is killed, so many times."""
    port = cluster.ports[0]
    killed = 0
    seen = set(events(port, "merge"))
    while killed < kills:
        led = until("all partitions are led", lambda: leaders(port, TABLE))
        new = until("a merge begins", lambda: set(events(port, "merge")) - seen or
                    (len(led) <= most and {0}), poll_s=0.001)
        if new == {0}:
            break
        seen |= new
        partition = events(port, "merge")[max(new)]["partition"]
        name = f"node-{led.get(partition, 1)}"
        cluster[name].kill()
        killed += 1
        say(f"killed {name}, which led partition {partition} as it was merged")
        cluster[name].start()
        servers.wait_caught_up(port)
    shrink(cluster, most)
    return killed


def run(options, directory):
    with Cluster(options.weir, directory, 3, 2, SETTINGS) as cluster:
        workers = [Worker(cluster.ports[i % 2], i, PAUSE_S) for i in range(options.clients)]
        make_table(cluster.ports[0], TABLE, (100, 100))
        grow(cluster, options.partitions)
        with servers.working(*workers):
            begin(workers)
            shrink(cluster, 1)
            calm_s = max(w.longest_s for w in workers)
            check_none_failed(workers, "in merges alone")
            say(f"{options.partitions} partitions became one, {sum(w.count for w in workers)} writes, "
                f"none failed; the longest write and read took {calm_s:.3f} s")
            grow(cluster, options.partitions)
            killed = shrink_and_kill(cluster, 1, options.kills)
            more_done("every client works again", workers, 1)
            given_up = len(events(cluster.ports[0], "merge-given-up"))
        return {"partitions": options.partitions, "kills": killed, "given_up": given_up, "longest_s": round(calm_s, 3),
                **ended(options, cluster, workers, SETTINGS)}


if __name__ == "__main__":
    servers.case(__doc__, run, clients=16, partitions=5, kills=2)
