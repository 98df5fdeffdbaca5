#!/usr/bin/env python3
"""A node joins a cluster under load: `tools/cluster add-node`.

Three nodes, two routers, one table; while `weir load` writes and reads through both routers, a fourth
node is added, for which every daemon starts anew, one after the other. What the load saw must be
linearizable, nearly all of it must have been answered, and replicas of a table made then must come to the
new node.
"""
import os
import subprocess

import servers
from servers import ROOT, check, make_table, partitions, say

RATE = 200
OFFSETS = [0, 1, *range(101, 105), *range(401, 404), 600, 601]  # from the first port; see tools/cluster --help
FAILED_PERCENT = 5  # a router that ends takes what it was asked with it


def cluster(options, directory, *arguments):
    done = subprocess.run([str(ROOT / "tools" / "cluster"), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "WEIR": str(options.weir),
                               "WEIR_CLUSTER": str(directory / "cluster")})
    if done.returncode != 0:
        raise AssertionError(f"tools/cluster {' '.join(arguments)}: {done.stdout}")
    say(done.stdout.splitlines()[0])


def run(options, directory):
    options.weir = options.weir.resolve()
    port = servers.cluster_port(OFFSETS)
    history = directory / "history.jsonl"
    cluster(options, directory, "up", "--nodes", "3", "--routers", "2", "--port", str(port))
    try:
        make_table(port, "before", None, ("pk",))
        arguments = ["--table", "before", "--keys", 200, "--read-ratio", 0.5, "--consistent"]
        with servers.Load(options.weir, [port, port + 1], arguments, RATE, history) as load:
            cluster(options, directory, "add-node")
            load.check_running()
            workload = load.stop()
        servers.check_history(options.weir, history)
        make_table(port, "after", None, ("pk",))
        nodes = {p["node"] for p in partitions(port, "after")}
    finally:
        cluster(options, directory, "down")
    failed = workload["offered"] - workload["admitted"]
    say(f"{failed} of {workload['offered']} were not answered; the table made then is on {nodes}")
    check(failed * 100 <= FAILED_PERCENT * workload["offered"], f"{failed} of {workload['offered']} failed: {workload}")
    check(4 in nodes, f"a table made then is on nodes {nodes} only")
    return {"offered": workload["offered"], "failed": failed, "nodes": sorted(nodes)}


if __name__ == "__main__":
    servers.case(__doc__, run)
