#!/usr/bin/env python3
"""A node that dies throttles nobody whose table is within its limit, and neither does its return.

A table of 1,000 write units in four partitions, each allocated 250, asks for 700 a second with one key: 450 of
them are burst, which asks the nodes of the other replicas. A follower's node is killed under that load and
started again, with `write_check` gauge and lease. What is throttled outside one second around the death
must be at most one request in 10,000 (--most).

  dead_member_test.py             three nodes, half a minute
  dead_member_test.py --nodes 5
"""
import concurrent.futures
import time

import servers
from servers import Client, Cluster, check, leaders, make_table, partitions, say, until

TABLE = "skewed"
LIMIT = 1000
PARTITIONS = 4
RATE = 700
DEATH_S = 3  # after the load's begin
RETURN_S = 8
RUN_S = 13


def create(port):
    """As many partitions as four times the throughput needs; then the throughput is lowered."""
    make_table(port, TABLE, (100, PARTITIONS * LIMIT), ("pk",))
    client = Client(port)
    servers.change_table(port, TABLE, ProvisionedThroughput={"ReadCapacityUnits": 100, "WriteCapacityUnits": LIMIT})
    client.call("PutItem", TableName=TABLE, Item={"pk": {"S": "key-0000000000"}})
    client.close()
    until("a leader of each of the four partitions", lambda: len(leaders(port, TABLE)) == PARTITIONS)


def follower_of_the_written(port):
    """A node that follows the partition which has the item, and leads nothing of the catalog's."""
    written = [p["partition"] for p in partitions(port, TABLE) if p["role"] == "leader" and p.get("bytes")]
    if len(written) != 1:
        return None
    nodes = [p["node"] for p in partitions(port, TABLE) if p["partition"] == written[0] and p["role"] == "follower"]
    return max(nodes) if nodes else None


def one(options, directory, write_check):
    settings = servers.set_words(["gac=lease", f"write_check={write_check}", f"gac_wait_ms={options.wait_ms}",
                                  f"member_lease_ms={options.lease_ms}"])
    with Cluster(options.weir, directory / write_check, options.nodes, 1, settings, gac=1) as cluster:
        port = cluster.ports[0]
        create(port)
        victim = f"node-{until('a follower', lambda: follower_of_the_written(port))}"
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            load = pool.submit(servers.run_load, options.weir, [port], "--table", TABLE, "--rate", RATE, "--keys", 1,
                               "--duration", f"{RUN_S}s")
            for at, do in ((DEATH_S, cluster[victim].kill), (RETURN_S, cluster[victim].start)):
                until("the load has gone on", lambda at=at: time.monotonic() >= began + at)
                do()
            workload = load.result()[0]
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, settings)
    around = range(DEATH_S - 1, DEATH_S + 2)
    far = sum(second["throttled"] for second in workload["seconds"] if second["t"] not in around)
    say(f"{write_check}: {victim} killed; {workload['throttled']} of {workload['offered']} throttled, {far} of them "
        f"more than a second from its death; reasons {workload['throttled_by_reason']}")
    check(workload["admitted"] >= RATE * RUN_S * 0.9, f"too little was admitted: {workload['admitted']}")
    when = [second for second in workload["seconds"] if second["throttled"] > 0]
    check(far <= workload["offered"] * options.most, f"{far} of {workload['offered']} were throttled: {when}")
    return {"offered": workload["offered"], "throttled": workload["throttled"], "throttled_far": far}


def run(options, directory):
    return {write_check: one(options, directory, write_check) for write_check in ("gauge", "lease")}


if __name__ == "__main__":
    servers.case(__doc__, run, nodes=3, wait_ms=(100, "gac_wait_ms"), most=(0.0001, "share that may be throttled"),
                 lease_ms=(200, "member_lease_ms"))
