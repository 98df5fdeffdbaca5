#!/usr/bin/env python3
"""The faults that daemons take through --faults do what they say, and heal.

 links   a router cut from all nodes gives no answers, both ways or one; the other one does; healed,
         both do. A delayed link answers late.
 disk    a slow one makes writes slow, one that fails stops them while reads go on, a full one
         refuses them with its reason
 clock   a node whose clock jumps or drifts goes on serving
 gac     without the server of global admission control, dead or cut off, a router serves its even
         part of a table's limit, as its page says; once the server is back, it asks that again.
         gac_test.py measures how much each router serves then.
 verify  replicas that have applied the same and hold different items are told by `weir verify`
"""
import itertools
import json
import shutil
import subprocess
import time

import servers
from servers import Client, Cluster, Refused, Server, check, make_table, page, try_until, until

TABLE = "faults"
SETTINGS = ["--profile", "off", "--set", "request_deadline_ms=500"]
SLOW_MS = 100
LIMIT = 50  # of a table, units a second
NO_ANSWER = ("InternalServerError", "ServiceUnavailable")


def put(client, number):
    client.call("PutItem", TableName=TABLE, Item={"id": {"S": "x"}, "n": {"N": str(number)}})


def get(client):
    answer = client.call("GetItem", TableName=TABLE, Key={"id": {"S": "x"}}, ConsistentRead=True)
    return int(answer["Item"]["n"]["N"])


def works(call, *arguments):
    """Whether it succeeds; an answer that none came in time is False."""
    try:
        call(*arguments)
        return True
    except Refused as error:
        if error.name not in NO_ANSWER:
            raise
        return False


def wait_put(client, number, what):
    try_until(what, put, client, number)


def reads(client, number, what):
    check(try_until(f"a read: {what}", get, client) == number, what)


def takes(call, *arguments):
    """Seconds from the request to the answer, once there is one."""
    def once():
        begin = time.monotonic()
        call(*arguments)
        return time.monotonic() - begin
    return try_until("an answer, however late", once)


def links(weir, directory):
    with Cluster(weir, directory, 3, 2, SETTINGS) as cluster:
        make_table(cluster.ports[0], TABLE)
        first, second = Client(cluster.ports[0]), Client(cluster.ports[1])
        wait_put(first, 1, "the first write")
        for one_way in (False, True):
            for node in cluster.nodes:
                if one_way:
                    cluster.cut(node, "router-1", one_way=True)
                else:
                    cluster.cut("router-1", node)
            check(not works(put, first, 2), "a router that is cut off answers")
            check("cut" in cluster["router-1"].fault("status"), "the cut is not told")
            wait_put(second, 3, "the other router")
            cluster.heal()
            wait_put(first, 4, "the healed router")
            reads(second, 4, "the healed router's write is there")
        for node in cluster.nodes:
            cluster["router-1"].fault(f"delay {node.replace('-', ' ')} {SLOW_MS}")
        check(takes(get, first) >= SLOW_MS / 1000, "a delayed link is not late")
        cluster.heal()
        for node in cluster.nodes:
            cluster[node].fault("skew 3000")
            wait_put(first, 5, f"{node} after a jump of its clock")
            cluster[node].fault("drift -100000")
            wait_put(first, 6, f"{node} with a slow clock")
        cluster.heal()
        wait_put(first, 7, "all is well again")
        reads(second, 7, "all is well again")
        cluster.stop()


def disk(weir, directory):
    settings = [*SETTINGS, "--set", "log_segment_bytes=8MiB"]
    with Cluster(weir, directory, 1, 1, settings) as cluster:
        make_table(cluster.ports[0], TABLE)
        client, node = Client(cluster.ports[0]), cluster["node-1"]
        wait_put(client, 1, "the first write")
        node.fault(f"disk slow {SLOW_MS}")
        check(takes(put, client, 2) >= SLOW_MS / 1000, "a slow disk is not slow")
        node.fault("disk full")
        fill(client)
        reads(client, 2, "a full disk does not stop reads")
        node.fault("disk ok")
        wait_put(client, 3, "there is space again")
        node.fault("disk fail")
        check(not works(put, client, 4), "a failed disk takes writes")
        reads(client, 3, "a failed disk does not stop reads, nor show what is not on it")
        node.kill()
        node.start()
        wait_put(client, 5, "the node is back")
        cluster.stop()
        servers.verify(weir, cluster.data, settings)


def fill(client):
    """Writes until the log's space has run out: with the reason, not with silence."""
    item = {"id": {"S": "big"}, "v": {"S": "x" * 400000}}
    for _ in range(200):
        try:
            client.call("PutItem", TableName=TABLE, Item=item)
        except Refused as error:
            if error.status == 500:  # a busy machine: the deadline passed
                continue
            check(error.status == 503 and "full" in error.text, f"a full disk says {error}")
            return
    raise AssertionError("80 MB fit into a full disk")


def limited_by(cluster, *expected):
    """Waits until each router writes, and has the limit from this server; 0: serves its even part."""
    def found():
        for port in cluster.ports:
            try:
                put(Client(port), 1)
            except Refused as error:
                check(error.name == "ProvisionedThroughputExceededException", f"refused as {error}")
        return tuple(limit["server"] for port in cluster.ports for limit in page(port, "/weir/gac")["limits"]
                     if limit["table"] == TABLE and limit["kind"] == "write") == expected
    until(f"routers serve what servers {expected} grant", found, poll_s=1 / LIMIT)


def gac(weir, directory):
    with Cluster(weir, directory, 1, 2, ["--set", "gac=lease"], gac=1) as cluster:
        make_table(cluster.ports[0], TABLE, (LIMIT, LIMIT))
        limited_by(cluster, 1, 1)
        cluster["gac-1"].kill()
        limited_by(cluster, 0, 0)
        cluster["gac-1"].start()
        limited_by(cluster, 1, 1)
        cluster.cut("gac-1", "router-1")
        limited_by(cluster, 0, 1)
        cluster.heal()
        limited_by(cluster, 1, 1)
        cluster.stop()


def go_on(weir, source, directory, number):
    """What follows from the directory `source` by another start and a write."""
    shutil.copytree(source, directory)
    with Server(weir, ["local", "--port", 0, "--data", directory, *SETTINGS], directory.with_suffix(".log")) as server:
        client = Client(server.port)
        make_table(server.port, TABLE)
        wait_put(client, number, "a write")
        server.stop()
    return directory


def verify(weir, directory):
    """Nodes of two clusters that went different ways from the same beginning, and took as many entries for it."""
    directory.mkdir()
    (directory / "nothing").mkdir()
    beginning = go_on(weir, directory / "nothing", directory / "beginning", 0)
    one = go_on(weir, beginning, directory / "one", 1)
    servers.verify(weir, one, SETTINGS)
    tries = itertools.count()

    def told():
        other = go_on(weir, beginning, directory / f"other-{next(tries)}", 2)
        shutil.rmtree(one / "node-1")
        shutil.copytree(other / "node-1", one / "node-1")
        done = subprocess.run([str(weir), "verify", "--json", "--data", str(one), *SETTINGS], capture_output=True, text=True,
                              check=False)
        found = json.loads(done.stdout)
        # Where one way took more elections than the other, their replicas cannot be compared.
        check(found["replicas_different"] == 0 or done.returncode == 1, f"different replicas are no failure: {done.stdout}")
        return found["replicas_different"] > 0
    until("two ways with as many entries are told to differ", told)


def run(options, directory):
    for scene in (links, disk, gac, verify):
        begin = time.monotonic()
        scene(options.weir, directory / scene.__name__)
        servers.say(f"{scene.__name__}: {time.monotonic() - begin:.1f} s")
    return {}


if __name__ == "__main__":
    servers.case(__doc__, run)
