#!/usr/bin/env python3
"""Replicas leave a node and come to one under full load: nothing is lost, and others hardly notice.

Four nodes, one router, two tables: `moved`, large and written all the time, and `others`, small.
 drain    a node is drained: within a bound it holds nothing, its process ends in good order, and a
          table made then does without it
 balance  it comes back on an empty disk and is undrained: the others consume more of their
          capacity than balance_percent, so that replicas go to it
What `weir load` saw, and in the end a strong read of every key, must be linearizable. The p99 of
requests to `others` while replicas move is compared with the time just before, over all rounds
together: each is a cluster of its own.

Both times must differ in nothing but the moves. So the test asks the same question at the same pace
in either: 100 looks a second at all partitions, but only during the move, made the p99 2.25 times what it
was without any move. And a move must take about as long as the time before, so that of either thousands
of requests are known and it has as many checkpoints. docs/testing.md has what was measured, and the
settings that put the causes back.

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import shutil
import subprocess
import sys
import time
import urllib.request

import servers
from servers import Client, Cluster, Refused, Unreachable, until

KEYS = {"moved": 40000, "others": 2000}
BATCH = 100
STEADY_S = 8  # before, to compare with
LEAST_S = 4   # a move, to be measured
LEAST = 1500  # requests to tell a p99 from
LOOK_S = 0.25
NODE_WCU = 800  # the load, 730 a second, is above balance_percent of it on three nodes and not on four
# Tables at new peaks have no place on nodes as small as that, which is another test's concern.
SETTINGS = ["--profile", "off", "--set", f"node_wcu={NODE_WCU}", "--set", "checkpoint_ms=1000",
            "--set", "control_on_demand=0"]


def say(text):
    print(f"relocation_test: {text}", file=sys.stderr, flush=True)


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return json.load(answer)


def look(port, node):
    """All replicas, and how many of them the node holds; -1 if nobody can tell."""
    try:
        found = get(port, "/weir/partitions")["partitions"]
    except OSError:
        return [], -1
    return found, sum(p["node"] == node for p in found)


def events(port, kind):
    return [e for e in get(port, "/weir/events")["events"] if e["kind"] == kind]


def create_table(client, name):
    try:
        client.call("CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST",
                    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
    except (Refused, Unreachable) as error:
        if getattr(error, "name", "") != "ResourceInUseException":
            return False
    return client.call("DescribeTable", TableName=name)["Table"]["TableStatus"] == "ACTIVE"


def drain(options, router, node, *more):
    subprocess.run([str(options.weir), "drain", "--admin", f"http://127.0.0.1:{router.admin_port}", *more,
                    str(node)], check=True, timeout=servers.START_S)


def start_load(options, port, history):
    return subprocess.Popen(
        [str(options.weir), "load", "--url", f"http://127.0.0.1:{port}", "--quiet", "--json",
         "--preload", "--duration", f"{options.seconds}s", "--history", str(history),
         "--connections", "16", "--consistent",
         "--workload", f"moved:table=moved,keys={KEYS['moved']},item-bytes=1000,rate=600,"
         "read-ratio=0.2",
         "--workload", f"others:table=others,keys={KEYS['others']},rate=500,read-ratio=0.5"],
        stdout=subprocess.PIPE)


def read_all(port, history):
    """Appends a strong read of every key to the history, as one more client of the run."""
    client = Client(port)
    op = 1 << 40
    with history.open("a") as out:
        for table, count in KEYS.items():
            names = [f"key-{i:010d}" for i in range(count)]
            for at in range(0, count, BATCH):
                keys = names[at:at + BATCH]
                begun = time.monotonic_ns()
                found = client.call("BatchGetItem", RequestItems={table: {
                    "Keys": [{"pk": {"S": k}} for k in keys], "ConsistentRead": True}})
                if found.get("UnprocessedKeys"):
                    raise AssertionError(f"not all of {table} can be read")
                values = {i["pk"]["S"]: i["v"]["S"] for i in found["Responses"][table]}
                ended = time.monotonic_ns()
                for key in keys:
                    op += 1
                    out.write(json.dumps({"op": op, "type": "invoke", "t": begun, "f": "read",
                                          "table": table, "key": key}) + "\n")
                    out.write(json.dumps({"op": op, "type": "ok", "t": ended,
                                          "value": values.get(key)}) + "\n")
    client.close()


def steady(options, port, load):
    """Time passes while the load goes on: what is compared is measured in it."""
    first = time.monotonic_ns()
    until("a steady while", lambda: look(port, options.node) and (
        load.poll() is not None or time.monotonic_ns() - first >= STEADY_S * 1e9), poll_s=LOOK_S)
    if load.poll() is not None:
        raise AssertionError("the load ended too early: --seconds")
    return first, time.monotonic_ns()


def moving(options, port, first, what, is_over):
    """From `first` until it is over, and there are enough requests to tell a p99 from."""
    until(what, lambda: is_over(*look(port, options.node)) and
          time.monotonic_ns() - first >= LEAST_S * 1e9, poll_s=LOOK_S)
    return first, time.monotonic_ns()


def drain_node(options, cluster, load):
    port = cluster.ports[0]
    before = steady(options, port, load)
    _, held = look(port, options.node)
    drain(options, cluster["router-1"], options.node)
    moved = moving(options, port, before[1], f"node {options.node} holds nothing",
                   lambda _, holds: holds == 0)
    cluster[f"node-{options.node}"].stop()
    say(f"{held} replicas have left node {options.node} in {(moved[1] - moved[0]) / 1e9:.1f} s, its process ended")
    client = Client(port)
    until("a table is made without it", lambda: create_table(client, "after"))
    client.close()
    _, holds = look(port, options.node)
    if held <= 0 or holds != 0 or events(port, "no-place"):
        raise AssertionError(f"node {options.node} held {held} replicas; events: {events(port, 'no-place')}")
    return before, moved


def fill_node(options, cluster, load):
    port = cluster.ports[0]
    shutil.rmtree(cluster.data / f"node-{options.node}")
    cluster[f"node-{options.node}"].start()
    before = steady(options, port, load)
    drain(options, cluster["router-1"], options.node, "--undo")
    moved = moving(options, port, before[1], f"node {options.node} has replicas again, all of them",
                   lambda found, holds: holds > 0 and all(
                       p["voters"] == 3 and p["caught_up"] == 3 for p in found if p["role"] == "leader"))
    say(f"node {options.node} has replicas again, {(moved[1] - moved[0]) / 1e9:.1f} s")
    return before, moved


def nothing_moves(port):
    """Each partition has its three replicas, and no other."""
    found, _ = look(port, 0)
    nodes = {}
    for p in found:
        nodes.setdefault(p["partition"], []).append(p["role"])
    return nodes and all(sorted(roles) == ["follower", "follower", "leader"] for roles in nodes.values())


def run(options, directory):
    more = [argument for setting in options.set for argument in ("--set", setting)]
    cluster = Cluster(options.weir, directory / "cluster", 4, 1, SETTINGS + more)
    history = directory / "history.jsonl"
    load = None
    try:
        cluster.start()
        port = cluster.ports[0]
        client = Client(port)
        for table in KEYS:
            until(f"{table} is ACTIVE", lambda: create_table(client, table))  # pylint: disable=cell-var-from-loop
        load = start_load(options, port, history)
        until("everything is preloaded", lambda: client.call(
            "Scan", TableName="others", Select="COUNT")["Count"] == KEYS["others"])
        phases = {"drain": drain_node(options, cluster, load),
                  "balance": fill_node(options, cluster, load)}
        figures = json.loads(load.communicate(timeout=servers.START_S * 5)[0])
        if load.returncode != 0:
            raise AssertionError(f"weir load ended with {load.returncode}")
        read_all(port, history)
        until("nothing moves any more", lambda: nothing_moves(port), poll_s=LOOK_S)
        cluster.stop()
    finally:
        if load is not None and load.poll() is None:
            load.kill()
        cluster.forget()
    checked = subprocess.run([str(options.weir), "check-history", str(history)], check=False,
                             capture_output=True, text=True, timeout=servers.START_S * 5)
    if checked.returncode != 0:
        raise AssertionError(f"not linearizable: {checked.stdout}{checked.stderr}")
    servers.check_replicas(options.weir, cluster.data, SETTINGS, copies=3)
    sent = sum(w["sent"] if "sent" in w else w["attempted"] for w in figures["workloads"])
    return phases, sent, *servers.latencies(history, "others")


def figures(rounds):
    """What clients of `others` saw, over all rounds together."""
    phases, sent, found, failed = zip(*rounds)
    found, failed = sum(found, []), sum(failed)
    out = {"requests": sum(sent), "failed_of_others": failed}
    for name in phases[0]:
        before, moved = zip(*(of_round[name] for of_round in phases))
        out[name] = {"p99_before_ms": servers.p99_ms(found, before, LEAST), "p99_ms": servers.p99_ms(found, moved, LEAST),
                     "seconds": round(sum(last - first for first, last in moved) / 1e9, 1)}
        out[name]["ratio"] = round(out[name]["p99_ms"] / out[name]["p99_before_ms"], 2)
    if failed:
        raise AssertionError(f"{failed} requests failed: {out}")
    return out


def measure(options):
    rounds = []
    for _ in range(options.rounds):
        with servers.workplace("relocation") as directory:
            rounds.append(run(options, directory))
    return figures(rounds)


def judge(options):
    """The first figures within the ratio. One stall of the disk makes a p99; a regression makes every one."""
    for _ in range(options.attempts):
        out = measure(options)
        if max(out["drain"]["ratio"], out["balance"]["ratio"]) <= options.ratio:
            return out
        say(f"p99 is above {options.ratio} times what it was: {out}")
    raise AssertionError(f"p99 is above {options.ratio} times what it was: measured {options.attempts} times")


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--node", type=int, default=1, help="that is emptied, 1 to 4; 1 to 3 found the "
                        "cluster, so that the catalog moves too")
    parser.add_argument("--seconds", type=int, default=70, help="of load, a round")
    parser.add_argument("--ratio", type=float, default=1.2, help="p99 while moving, to before")
    parser.add_argument("--attempts", type=int, default=1, help="at figures within the ratio")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a setting of the cluster, to see what it does to the p99")
    options = parser.parse_args()
    print(json.dumps(judge(options), indent=1))


if __name__ == "__main__":
    main()
