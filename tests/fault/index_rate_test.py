#!/usr/bin/env python3
"""A table that is written faster than its index may be: writes go on at the rate of the index, second by second.

A table of 1,000 WCU is asked for 700 puts a second. Its index has 100 WCU. Meanwhile its partition is split, and the
node that leads one of the pieces is killed. A second accepts neither few puts nor many: the backlog is short, and what
it leaves room for comes evenly, also while a piece or the index has no leader.
"""
import servers
from servers import Client, Cluster, Load, check, leaders, say, until

TABLE = "paced"
INDEX_WCU, TABLE_WCU, ASKED = 100, 1000, 700
FIRST = 10  # seconds that are not looked at
LEAST, MOST = 80, 130
OUTSIDE = 0.02  # of the seconds: clients and servers share the processors


def make(port):
    units = {"ReadCapacityUnits": 100}
    Client(port).call("CreateTable", TableName=TABLE, KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                      AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                      ProvisionedThroughput={**units, "WriteCapacityUnits": TABLE_WCU},
                      GlobalSecondaryIndexes=[{
                          "IndexName": "all", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                          "Projection": {"ProjectionType": "ALL"},
                          "ProvisionedThroughput": {**units, "WriteCapacityUnits": INDEX_WCU}}])
    until("the table is active", lambda: Client(port).call("DescribeTable", TableName=TABLE)[
        "Table"]["TableStatus"] == "ACTIVE")
    until("it is led", lambda: leaders(port, TABLE))


def split(cluster, port):
    held = leaders(port, TABLE)
    partition = min(held)
    cluster["router-1"].change("/weir/split", {"TableName": TABLE, "Partition": partition})
    until("both pieces are led", lambda: len(leaders(port, TABLE)) > len(held))


def run(options, directory):
    with Cluster(options.weir, directory, 3, 1, ["--profile", "aws", "--set", "control_split=0",
                                                 "--set", "control_adaptive=0"], gac=1) as cluster:
        port = cluster.ports[0]
        make(port)
        arguments = ["--table", TABLE, "--keys", 10000, "--connections", 256]
        with Load(options.weir, cluster.ports, arguments, ASKED) as load:
            load.steady(options.seconds / 3)
            split(cluster, port)
            load.steady(options.seconds / 3)
            victim = f"node-{leaders(port, TABLE)[min(leaders(port, TABLE))]}"
            cluster[victim].kill()
            say(f"killed {victim}")
            load.steady(options.seconds / 6)
            cluster[victim].start()
            load.steady(options.seconds / 6)
            told = load.stop()
        cluster.stop()
    accepted = [s["admitted"] for s in told["seconds"][:-1]]
    say(f"accepted in each second: {accepted}")
    calm = accepted[FIRST:]
    outside = [n for n in calm if not LEAST <= n <= MOST]
    mean = sum(calm) / len(calm)
    check(abs(mean - INDEX_WCU) <= 0.1 * INDEX_WCU, f"a mean of {mean}, not of {INDEX_WCU}")
    check(len(outside) <= len(calm) * OUTSIDE, f"{len(outside)} of {len(calm)} seconds are outside {LEAST}..{MOST}: {outside}")
    return {"seconds": len(calm), "mean": round(mean, 1), "least": min(calm), "most": max(calm), "outside": outside}


if __name__ == "__main__":
    servers.case(__doc__, run, seconds=(150, "of load"))
