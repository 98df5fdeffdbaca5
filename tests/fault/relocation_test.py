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
"""
import json
import shutil
import subprocess
import time

import servers
from servers import Client, Cluster, check, make_table, page, partitions, say, until

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


def look(port, node):
    """All replicas, and how many of them the node holds; -1 if nobody can tell."""
    found = partitions(port)
    return found, sum(p["node"] == node for p in found) if found else -1


def events(port, kind):
    return [e for e in page(port, "/weir/events")["events"] if e["kind"] == kind]


def drain(options, router, node, *more):
    subprocess.run([str(options.weir), "drain", "--admin", f"http://127.0.0.1:{router.admin_port}", *more,
                    str(node)], check=True, timeout=servers.START_S)


def start_load(options, port, history):
    arguments = ["--preload", "--duration", f"{options.seconds}s", "--history", history, "--connections", 16, "--consistent",
                 "--workload", f"moved:table=moved,keys={KEYS['moved']},item-bytes=1000,rate=600,read-ratio=0.2",
                 "--workload", f"others:table=others,keys={KEYS['others']},rate=500,read-ratio=0.5"]
    return subprocess.Popen(servers.load_command(options.weir, [port], *arguments), stdout=subprocess.PIPE)


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
    make_table(port, "after", None, ("pk",))
    _, holds = look(port, options.node)
    if held <= 0 or holds != 0 or events(port, "no-capacity"):
        raise AssertionError(f"node {options.node} held {held} replicas; events: {events(port, 'no-capacity')}")
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


def one_round(options, directory):
    history = directory / "history.jsonl"
    with Cluster(options.weir, directory / "cluster", 4, 1, SETTINGS + servers.set_words(options.set)) as cluster:
        port = cluster.ports[0]
        for table in KEYS:
            make_table(port, table, None, ("pk",))
        load = start_load(options, port, history)
        try:
            until("everything is preloaded", lambda: servers.count(port, "others") == KEYS["others"])
            phases = {"drain": drain_node(options, cluster, load),
                      "balance": fill_node(options, cluster, load)}
            told = json.loads(load.communicate(timeout=servers.START_S * 5)[0])
        finally:
            if load.poll() is None:
                load.kill()
                load.wait()
        check(load.returncode == 0, f"weir load ended with {load.returncode}")
        read_all(port, history)
        until("nothing moves any more", lambda: nothing_moves(port), poll_s=LOOK_S)
        cluster.stop()
    servers.check_history(options.weir, history)
    servers.check_replicas(options.weir, cluster.data, SETTINGS, copies=3)
    sent = sum(w["sent"] if "sent" in w else w["attempted"] for w in told["workloads"])
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


def measure(options, directory, attempt):
    return figures([one_round(options, directory / f"{attempt}-{number}") for number in range(options.rounds)])


def run(options, directory):
    """The first figures within the ratio. One stall of the disk makes a p99; a regression makes every one."""
    for attempt in range(options.attempts):
        out = measure(options, directory, attempt)
        if max(out["drain"]["ratio"], out["balance"]["ratio"]) <= options.ratio:
            return out
        say(f"p99 is above {options.ratio} times what it was: {out}")
    raise AssertionError(f"p99 is above {options.ratio} times what it was: measured {options.attempts} times")


if __name__ == "__main__":
    servers.case(__doc__, run, rounds=1, node=(1, "that is emptied, 1 to 4; 1 to 3 found the cluster, so that the catalog moves "
                                                  "too"),
                 seconds=(70, "of load, a round"), ratio=(1.2, "p99 while moving, to before"),
                 attempts=(1, "at figures within the ratio"), set=servers.SET_OPTION)
