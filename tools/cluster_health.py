#!/usr/bin/env python3
"""Whether a cluster of tools/cluster is healthy: what `tools/cluster status` prints below its processes.

    tools/cluster_health.py DAEMONS_FILE RUNNING,NAMES

Sends GET /weir/partitions and GET /weir/gac to every running router. Each line that starts with `!` is
a problem. Exit code 1: at least one such line.
"""
import collections
import json
import pathlib
import socket
import sys
import urllib.error
import urllib.request

ANSWER_S = 5
CONNECT_S = 1


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=ANSWER_S) as answer:
        return json.load(answer)


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), CONNECT_S).close()
    except OSError:
        return False
    return True


def partition_lines(told, nodes):
    """What one router knows of all partitions: lines of what is, lines of what is wrong."""
    replicas = collections.defaultdict(list)
    for replica in told["partitions"]:
        replicas[replica["partition"]].append(replica)
    leaders = {number: next((r for r in found if r["role"] == "leader"), None)
               for number, found in replicas.items()}
    led = collections.Counter(r["node"] for r in leaders.values() if r)
    lines = [f"partitions  {len(replicas)}; led by "
             + ", ".join(f"node {node}: {led[node]}" for node in nodes)]
    wrong = []
    headless = sorted(number for number, leader in leaders.items() if leader is None)
    behind = sorted(number for number, r in leaders.items()
                    if r and r.get("caught_up", 0) < r.get("voters", 0))
    if headless:
        wrong.append(f"{len(headless)} partitions without a leader: {few(headless)}")
    if behind:
        wrong.append(f"{len(behind)} partitions with replicas behind: {few(behind)}")
    if told["unresponsive_nodes"]:
        wrong.append(f"unresponsive nodes: {few(told['unresponsive_nodes'])}")
    return lines, wrong


def few(numbers, most=8):
    shown = ", ".join(str(n) for n in numbers[:most])
    return shown + (f" and {len(numbers) - most} more" if len(numbers) > most else "")


def gac_lines(port, servers):
    """Servers that listen. A limit names the server that grants it."""
    limits = get(port, "/weir/gac").get("limits", [])
    return [f"gac         {servers} server{'' if servers == 1 else 's'} listening, "
            f"{len(limits)} table limits in use at router-1"]


def main():
    daemons = [line.split() for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
    running = set(sys.argv[2].split(","))
    wrong = [f"{name} is down or paused" for name, *_ in daemons if name not in running]
    lines, answered, asked, gac_alive = [], None, 0, 0
    for name, kind, _, port, *_ in daemons:
        if name not in running:
            continue
        if kind == "router":
            asked += 1
            try:
                told = get(port, "/weir/partitions")
                answered = answered or (port, told)
            except urllib.error.HTTPError as error:
                wrong.append(f"{name} answers {error.code}")
            except (OSError, ValueError) as error:
                wrong.append(f"{name} does not answer on port {port}: {error}")
        elif kind == "gac":
            alive = listens(int(port))
            gac_alive += alive
            if not alive:
                wrong.append(f"{name} does not listen on port {port}")
    if answered:
        port, told = answered
        nodes = [int(number) for _, kind, number, *_ in daemons if kind == "node"]
        lines, found = partition_lines(told, nodes)
        wrong += found
        lines += gac_lines(port, gac_alive) if gac_alive else []
    elif not asked:
        wrong.append("no router runs: nobody can ask for partitions")
    print("\n".join(lines + ["! " + text for text in wrong]
                    + ["health      " + ("not healthy" if wrong else "healthy")]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
