#!/usr/bin/env python3
"""A node joins a cluster under load: `tools/cluster add-node`.

Three nodes, two routers, one table; while `weir load` writes and reads through both routers, a fourth
node is added, for which every daemon starts anew, one after the other. What the load saw must be
linearizable, nearly all of it must have been answered, and replicas of a table made then must come to the
new node.

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import os
import socket
import subprocess
import sys
import urllib.request

import servers
from servers import ROOT, Client, Refused, Unreachable, free_ports, until

RATE = 200
DURATION_S = 20
FAILED_PERCENT = 5  # a router that ends takes what it was asked with it


def say(text):
    print(f"grow_test: {text}", file=sys.stderr, flush=True)


def cluster(options, directory, *arguments):
    done = subprocess.run([str(ROOT / "tools" / "cluster"), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "WEIR": str(options.weir),
                               "WEIR_CLUSTER": str(directory / "cluster")})
    if done.returncode != 0:
        raise AssertionError(f"tools/cluster {' '.join(arguments)}: {done.stdout}")
    say(done.stdout.splitlines()[0])


def is_free(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) != 0


def base_port():
    """Of routers, such that the ports of nodes and GAC servers behind it are free, too."""
    return until("free ports", lambda: next(
        (port for port in free_ports(20)
         if all(map(is_free, (port, port + 1, *range(port + 101, port + 105),
                                  *range(port + 401, port + 404),
                                  *range(port + 600, port + 602))))), None))


def make_table(client, name):
    try:
        client.call("CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST",
                    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
    except Refused as error:
        if error.name != "ResourceInUseException":
            return False
    except Unreachable:
        return False
    return client.call("DescribeTable", TableName=name)["Table"]["TableStatus"] == "ACTIVE"


def nodes_of(port, table):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions?table={table}") as answer:
        return {p["node"] for p in json.load(answer)["partitions"]}


def run(options, directory):
    port = base_port()
    history = directory / "history.jsonl"
    cluster(options, directory, "up", "--nodes", "3", "--routers", "2", "--port", str(port))
    try:
        client = Client(port)
        until("the table is there", lambda: make_table(client, "before"))
        with subprocess.Popen(
                [str(options.weir), "load", "--url", f"http://127.0.0.1:{port}", "--url",
                 f"http://127.0.0.1:{port + 1}", "--table", "before", "--rate", str(RATE),
                 "--duration", f"{DURATION_S}s", "--keys", "200", "--read-ratio", "0.5",
                 "--consistent", "--history", str(history), "--quiet", "--json"],
                stdout=subprocess.PIPE) as load:
            cluster(options, directory, "add-node")
            if load.poll() is not None:
                raise AssertionError("the load ended before the node was there")
            workload = json.loads(load.communicate()[0])["workloads"][0]
        subprocess.run([str(options.weir), "check-history", str(history)], check=True,
                       stdout=subprocess.DEVNULL)
        client.close()
        until("another table is there", lambda: make_table(client, "after"))
        nodes = nodes_of(port, "after")
        client.close()
    finally:
        cluster(options, directory, "down")
    failed = workload["offered"] - workload["admitted"]
    say(f"{failed} of {workload['offered']} were not answered; the table made then is on {nodes}")
    if failed * 100 > FAILED_PERCENT * workload["offered"]:
        raise AssertionError(f"{failed} of {workload['offered']} failed: {workload}")
    if 4 not in nodes:
        raise AssertionError(f"a table made then is on nodes {nodes} only")
    return {"offered": workload["offered"], "failed": failed, "nodes": sorted(nodes)}


def main():
    parser = servers.parser(__doc__)
    options = parser.parse_args()
    options.weir = options.weir.resolve()
    with servers.workplace("grow") as directory:
        print(json.dumps(run(options, directory), indent=1))


if __name__ == "__main__":
    main()
