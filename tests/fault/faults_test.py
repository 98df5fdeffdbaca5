#!/usr/bin/env python3
"""The faults that daemons take through --faults do what they say, and heal.

 links   a router cut from all nodes gives no answers, both ways or one; the other one does; healed,
         both do. A delayed link answers late.
 disk    a slow one makes writes slow, one that fails stops them while reads go on, a full one
         refuses them with its reason
 clock   a node whose clock jumps or drifts goes on serving
 gac     without the server of global admission control, dead or cut off, a router serves its even
         part of a table's limit; with it, all that the other router does not want
 verify  replicas that have applied the same and hold different items are told by `weir verify`
"""
import json
import shutil
import subprocess
import time

import servers
from servers import Client, Cluster, Refused, until

TABLE = "faults"
SETTINGS = ["--profile", "off", "--set", "request_deadline_ms=500"]
SLOW_MS = 200
TRIES = 5
LIMIT = 50  # of a table, units a second
LOOK_S = 2
NO_ANSWER = ("InternalServerError", "ServiceUnavailable")


def create_table(port, **billing):
    client = Client(port)
    client.call("CreateTable", TableName=TABLE, **(billing or {"BillingMode": "PAY_PER_REQUEST"}),
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
    until("the table is ACTIVE", lambda: client.call(
        "DescribeTable", TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")


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


def seconds_of(call, *arguments):
    begin = time.monotonic()
    call(*arguments)
    return time.monotonic() - begin


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def links(weir, directory):
    cluster = Cluster(weir, directory, 3, 2, SETTINGS)
    try:
        cluster.start()
        create_table(cluster.ports[0])
        first, second = Client(cluster.ports[0]), Client(cluster.ports[1])
        until("the first write", lambda: works(put, first, 1))
        for one_way in (False, True):
            for node in cluster.nodes:
                if one_way:
                    cluster.cut(node, "router-1", one_way=True)
                else:
                    cluster.cut("router-1", node)
            check(not works(put, first, 2), "a router that is cut off answers")
            check("cut" in cluster["router-1"].fault("status"), "the cut is not told")
            until("the other router", lambda: works(put, second, 3))
            cluster.heal()
            until("the healed router", lambda: works(put, first, 4))
            check(get(second) == 4, "the healed router's write is not there")
        for node in cluster.nodes:
            cluster["router-1"].fault(f"delay {node.replace('-', ' ')} {SLOW_MS}")
        check(seconds_of(get, first) >= SLOW_MS / 1000, "a delayed link is not late")
        cluster.heal()
        for node in cluster.nodes:
            cluster[node].fault("skew 3000")
            until(f"{node} after a jump of its clock", lambda: works(put, first, 5))
            cluster[node].fault("drift -100000")
            until(f"{node} with a slow clock", lambda: works(put, first, 6))
        cluster.heal()
        until("all is well again", lambda: works(put, first, 7) and get(second) == 7)
        cluster.stop()
    finally:
        cluster.forget()


def disk(weir, directory):
    settings = [*SETTINGS, "--set", "log_segment_bytes=8MiB"]
    cluster = Cluster(weir, directory, 1, 1, settings)
    try:
        cluster.start()
        create_table(cluster.ports[0])
        client, node = Client(cluster.ports[0]), cluster["node-1"]
        until("the first write", lambda: works(put, client, 1))
        node.fault(f"disk slow {SLOW_MS}")
        check(seconds_of(put, client, 2) >= SLOW_MS / 1000, "a slow disk is not slow")
        node.fault("disk full")
        fill(client)
        check(get(client) == 2, "a full disk stops reads")
        node.fault("disk ok")
        until("there is space again", lambda: works(put, client, 3))
        node.fault("disk fail")
        check(not works(put, client, 4), "a failed disk takes writes")
        check(get(client) == 3, "a failed disk stops reads, or shows what is not on it")
        node.kill()
        node.start()
        until("the node is back", lambda: works(put, client, 5))
        cluster.stop()
        servers.verify(weir, cluster.data, settings)
    finally:
        cluster.forget()


def fill(client):
    """Writes until the log's space has run out: with the reason, not with silence."""
    item = {"id": {"S": "big"}, "v": {"S": "x" * 400000}}
    for _ in range(200):
        try:
            client.call("PutItem", TableName=TABLE, Item=item)
        except Refused as error:
            check(error.status == 503 and "full" in error.text, f"a full disk says {error}")
            return
    raise AssertionError("80 MB fit into a full disk")


def serves(client, expected):
    """Whether so much is served a second of all that is asked for, about."""
    begin, served = time.monotonic(), 0
    while time.monotonic() < begin + LOOK_S:
        try:
            put(client, 1)
            served += 1
        except Refused as error:
            check(error.name == "ProvisionedThroughputExceededException", f"refused as {error}")
    return abs(served / (time.monotonic() - begin) / expected - 1) < 0.2


def gac(weir, directory):
    settings = ["--set", "gac=lease", "--set", "gac_bank_ms=1000"]
    cluster = Cluster(weir, directory, 1, 2, settings, gac=1)
    try:
        cluster.start()
        client = Client(cluster.ports[0])
        until("the cluster answers", lambda: works(client.call, "ListTables"))
        create_table(cluster.ports[0], ProvisionedThroughput={
            "ReadCapacityUnits": LIMIT, "WriteCapacityUnits": LIMIT})
        until("the whole limit is served", lambda: serves(client, LIMIT))
        cluster["gac-1"].kill()
        until("the even part is served", lambda: serves(client, LIMIT / 2))
        cluster["gac-1"].start()
        until("the whole limit is served again", lambda: serves(client, LIMIT))
        cluster.cut("gac-1", "router-1")
        until("the even part is served through a cut", lambda: serves(client, LIMIT / 2))
        cluster.heal()
        until("the whole limit is served, healed", lambda: serves(client, LIMIT))
        cluster.stop()
    finally:
        cluster.forget()


def unlike(weir, directory):
    """Nodes of two clusters that went different ways from the same beginning."""
    cluster = Cluster(weir, directory, 3, 1, SETTINGS)
    node_dirs = [cluster.data / name for name in cluster.nodes]
    try:
        cluster.start()
        create_table(cluster.ports[0])
        for way in ("beginning", "one", "other"):
            if way != "beginning":
                shutil.rmtree(cluster.data)
                shutil.copytree(directory / "beginning", cluster.data)
                cluster.start()
            client = Client(cluster.ports[0])
            until("a write", lambda c=client, w=way: works(put, c, len(w)))
            cluster.stop()
            shutil.copytree(cluster.data, directory / way)
    finally:
        cluster.forget()
    servers.verify(weir, directory / "one", SETTINGS)
    shutil.rmtree(directory / "one" / node_dirs[0].name)
    shutil.copytree(directory / "other" / node_dirs[0].name, directory / "one" / node_dirs[0].name)
    done = subprocess.run([str(weir), "verify", "--json", "--data", str(directory / "one"),
                           *SETTINGS], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    if found["replicas_behind"] > 0:
        return False  # one way took more elections than the other: they cannot be compared
    check(done.returncode == 1 and found["replicas_different"] > 0,
          f"different replicas are not told: {done.stdout}")
    return True


def main():
    parser = servers.parser(__doc__)
    options = parser.parse_args()
    with servers.workplace("faults") as directory:
        links(options.weir, directory / "links")
        disk(options.weir, directory / "disk")
        gac(options.weir, directory / "gac")
        check(any(unlike(options.weir, directory / f"unlike-{i}") for i in range(TRIES)),
              "no two ways had the same number of entries")


if __name__ == "__main__":
    main()
