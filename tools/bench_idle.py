#!/usr/bin/env python3
"""tools/bench_idle.py - the cost of idle replicas: memory, and processor time.

Three nodes and a router on loopback. Tables of 300 partitions are created one
after the other, all with a replica on each node. Memory is RssAnon, once the
memory for creating a table has been freed: after the first table and after the
last one, so that a node's constant memory is not counted. The node that leads
the catalog also keeps the load of every partition. Processor time is
/proc/PID/stat over 20 s with one table.

Writes docs/data/bench-idle.json. Exit code 1: above the budget.

  tools/bench_idle.py
  tools/bench_idle.py --tables 11
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "fault"))
from servers import Client, Cluster, Refused, Unreachable, until  # pylint: disable=wrong-import-position

NODES = 3
PARTITIONS = 300
SETTLE_S = 13  # longer than it takes until a checkpoint, and until the allocator gives pages back
CPU_S = 20
MOST_KIB = 4.0
MOST_CPU_PERCENT = 1.0
SETTINGS = ["--profile", "off", "--set", "table_max_wcu=10000000", "--set", "node_wcu=90000000"]


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise AssertionError("no RssAnon")


def processor_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def create(client, name):
    try:
        client.call("CreateTable", TableName=name,
                    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                    ProvisionedThroughput={"ReadCapacityUnits": 1,
                                           "WriteCapacityUnits": PARTITIONS * 1000})
    except (Refused, Unreachable) as error:
        if getattr(error, "name", "") != "ResourceInUseException":
            return False
    return client.call("DescribeTable", TableName=name)["Table"]["TableStatus"] == "ACTIVE"


def measure(weir, tables, directory):
    cluster = Cluster(weir, directory, NODES, 1, SETTINGS)
    try:
        cluster.start()
        client = Client(cluster.ports[0])
        pids = [cluster[name].process.pid for name in cluster.nodes]
        before, cpu = [], []
        for number in range(tables):
            name = f"idle-{number}"
            print(f"bench_idle: table {number + 1} of {tables}", file=sys.stderr, flush=True)
            until(f"{name} is active", lambda: create(client, name))  # pylint: disable=cell-var-from-loop
            if number == 0:
                time.sleep(SETTLE_S)
                before = [resident_kib(pid) for pid in pids]
                begun = [processor_s(pid) for pid in pids]
                time.sleep(CPU_S)
                cpu = [(processor_s(pid) - was) * 100 / CPU_S for pid, was in zip(pids, begun)]
        time.sleep(SETTLE_S)
        replicas = (tables - 1) * PARTITIONS
        return ([(resident_kib(pid) - was) / replicas for pid, was in zip(pids, before)], cpu)
    finally:
        cluster.forget()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default=ROOT / "build" / "weir")
    parser.add_argument("--tables", type=int, default=6, help="how many, 2 or more (6)")
    options = parser.parse_args()
    if options.tables < 2:
        parser.error(f"--tables is {options.tables}, and must be 2 or more")
    with tempfile.TemporaryDirectory(prefix="weir-bench-idle-") as directory:
        kib, cpu = measure(options.weir, options.tables, directory)
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True, check=False).stdout.strip()
    found = {"command": "tools/bench_idle.py " + " ".join(sys.argv[1:]), "commit": commit,
             "kib_per_replica": [round(value, 2) for value in kib],
             "kib_per_replica_mean": round(sum(kib) / NODES, 2),
             "cpu_percent_of_300_groups": [round(value, 2) for value in cpu]}
    (ROOT / "docs" / "data" / "bench-idle.json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))
    return 1 if sum(kib) / NODES > MOST_KIB or max(cpu) >= MOST_CPU_PERCENT else 0


if __name__ == "__main__":
    sys.exit(main())
