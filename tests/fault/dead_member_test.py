#!/usr/bin/env python3
"""A node that dies throttles nobody whose table is within its limit, and neither does its return.

A table of 1,000 write units in four partitions, each allocated 250, asks for 700 a second with one key: 450 of
them are burst, which asks the nodes of the other replicas. A follower's node is killed under that load and
started again, with `write_check` gauge and lease. What is throttled outside one second around the death
must be at most one request in 10,000 (--most).

  dead_member_test.py             three nodes, half a minute
  dead_member_test.py --nodes 5

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import subprocess
import sys
import time
import urllib.request

import servers
from servers import Client, Cluster, Refused, Unreachable, until

TABLE = "skewed"
LIMIT = 1000
PARTITIONS = 4
RATE = 700
DEATH_S = 3  # after the load's begin
RETURN_S = 8
RUN_S = 13


def say(text):
    print(f"dead_member_test: {text}", file=sys.stderr, flush=True)


def replicas(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions?table={TABLE}", timeout=10) as answer:
        return json.load(answer)["partitions"]


def answers(port):
    try:
        return Client(port).call("ListTables") is not None
    except (Unreachable, Refused):
        return False


def create(port):
    """As many partitions as four times the throughput needs; then the throughput is lowered."""
    client = Client(port)
    key = {"AttributeName": "pk", "AttributeType": "S"}
    client.call("CreateTable", TableName=TABLE, AttributeDefinitions=[key],
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                ProvisionedThroughput={"ReadCapacityUnits": 100, "WriteCapacityUnits": PARTITIONS * LIMIT})
    client.call("UpdateTable", TableName=TABLE,
                ProvisionedThroughput={"ReadCapacityUnits": 100, "WriteCapacityUnits": LIMIT})
    client.call("PutItem", TableName=TABLE, Item={"pk": {"S": "key-0000000000"}})
    client.close()
    until("a leader of each of the four partitions", lambda: PARTITIONS == len({
        p["partition"] for p in replicas(port) if p["role"] == "leader"}))


def follower_of_the_written(port):
    """A node that follows the partition which has the item, and leads nothing of the catalog's."""
    written = [p["partition"] for p in replicas(port) if p["role"] == "leader" and p.get("bytes")]
    if len(written) != 1:
        return None
    nodes = [p["node"] for p in replicas(port) if p["partition"] == written[0] and p["role"] == "follower"]
    return max(nodes) if nodes else None


def run(options, directory, check):
    settings = ["--set", "gac=lease", "--set", f"write_check={check}", "--set", f"gac_wait_ms={options.wait_ms}",
                "--set", f"member_lease_ms={options.lease_ms}"]
    cluster = Cluster(options.weir, directory / check, options.nodes, 1, settings, gac=1)
    try:
        cluster.start()
        port = cluster.ports[0]
        until("the cluster answers", lambda: answers(port))
        create(port)
        victim = f"node-{until('a follower', lambda: follower_of_the_written(port))}"
        began = time.monotonic()
        load = subprocess.Popen(
            [str(options.weir), "load", "--url", f"http://127.0.0.1:{port}", "--table", TABLE, "--rate", str(RATE),
             "--keys", "1", "--duration", f"{RUN_S}s", "--json", "--quiet"], stdout=subprocess.PIPE)
        for at, do in ((DEATH_S, cluster[victim].kill), (RETURN_S, cluster[victim].start)):
            time.sleep(max(0, began + at - time.monotonic()))  # the load goes on meanwhile
            do()
        output = load.communicate(timeout=servers.START_S)[0]
        workload = json.loads(output)["workloads"][0]
        cluster.stop()
    finally:
        cluster.forget()
    servers.check_replicas(options.weir, cluster.data, settings)
    around = range(DEATH_S - 1, DEATH_S + 2)
    far = sum(second["throttled"] for second in workload["seconds"] if second["t"] not in around)
    say(f"{check}: {victim} killed; {workload['throttled']} of {workload['offered']} throttled, {far} of them "
        f"more than a second from its death; reasons {workload['throttled_by_reason']}")
    if workload["admitted"] < RATE * RUN_S * 0.9:
        raise AssertionError(f"too little was admitted: {workload['admitted']}")
    if far > workload["offered"] * options.most:
        when = [second for second in workload["seconds"] if second["throttled"] > 0]
        raise AssertionError(f"{far} of {workload['offered']} were throttled: {when}")
    return {"offered": workload["offered"], "throttled": workload["throttled"], "throttled_far": far}


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--wait-ms", type=int, default=100, help="gac_wait_ms (100)")
    parser.add_argument("--most", type=float, default=0.0001, help="share that may be throttled (0.0001)")
    parser.add_argument("--lease-ms", type=int, default=200, help="member_lease_ms (200)")
    options = parser.parse_args()
    with servers.workplace("dead-member") as directory:
        figures = {check: run(options, directory, check) for check in ("gauge", "lease")}
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
