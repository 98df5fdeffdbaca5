#!/usr/bin/env python3
"""A cluster whose processes and links break at random, under load: what clients saw was possible.

64 clients read and write a few hot keys, strongly consistent, through two routers, while nodes, routers
and servers of global admission control are killed and started, paused and resumed, cut off from each
other both ways or one, and given slow disks, slow links and clocks that drift. Each fault lasts until clients have got
so many more answers, and others have begun. Then everything is healed, every key must be
readable through every router, the history must be linearizable (`weir check-history`), and what the
stopped nodes hold must be sound (`weir verify`), the same on every replica.

Meanwhile side tables are made, written, changed and deleted, over and over: a table that was made anew is
empty, what was acknowledged is there, and a table that is gone answers ResourceNotFoundException.

  chaos_test.py                       each kind of fault, the first of them at a leader
  chaos_test.py --seconds 600 --nodes 5 --seed 7    faults at random times
  chaos_test.py --prove               that all of this can fail: the clock of a leader that is cut off
                                      stands still, which leases do not allow for: it serves a stale read,
                                      and the history must NOT be linearizable
"""
import json
import random
import subprocess
import time

import servers
from servers import Client, Cluster, Load, Refused, Unreachable, check, leaders, make_table, say, until

TABLE = "chaos"
CLIENTS = 64
KEYS = 12
REPLICAS = 3
STILL_MS = 60000
CATCH_UP_TRIES = 3
ANSWERED_BYTES = 20000  # of history, while a fault lasts: about a hundred requests and their answers
FAULTS_MAX = 3  # at the same time
# Small enough that checkpoints and segments come and go.
SETTINGS = ["--set", "gac=lease", "--set", "checkpoint_ms=200", "--set", "memtable_max_bytes=256KiB",
            "--set", "log_segment_bytes=8MiB", "--set", "request_deadline_ms=1000"]
DRIFT_PPM_MAX = 400  # two clocks differ by twice that, and may by 1000: clock_drift_ppm
SLOW = ["disk slow 30", f"drift {DRIFT_PPM_MAX}", f"drift {-DRIFT_PPM_MAX}", "delay node 1 20", "delay node 2 20",
        "delay router 1 40"]


class Chaos:
    """Breaks something, later mends it. A process has one fault of its own at a time."""

    def __init__(self, cluster, source):
        self.cluster = cluster
        self.random = source
        self.active = []  # (mend at, name or None, text, mend)
        self.counts = {}

    def running(self, kind=None):
        broken = {name for _, name, _, _ in self.active}
        return [name for name in self.cluster.names
                if name not in broken and (kind is None or name.startswith(kind))]

    def choose(self, name=None):
        """That process, if it runs; else any that does."""
        return name if name in self.running() else self.random.choice(self.running())

    def begin(self, kind, name, text, for_s, mend):
        say(text)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.active.append((time.monotonic() + for_s, name, f"end of: {text}", mend))

    def kill(self, name=None):
        name = self.choose(name)
        self.cluster[name].kill()
        self.begin("kill", name, f"kill {name}", self.random.uniform(0, 1.5),
                   self.cluster[name].start)

    def pause(self, name=None):
        name = self.choose(name)
        self.cluster[name].pause()
        self.begin("pause", name, f"pause {name}", self.random.uniform(0.05, 2.5),
                   self.cluster[name].resume)

    def cut(self, one_way=None):
        a = self.random.choice(self.running("node-") + self.running("gac-"))
        kinds = ("router-",) if a.startswith("gac-") else ("node-", "router-")
        others = [name for name in self.running(kinds) if name != a]
        if not others:
            return
        count = self.random.choice([1, 1, len(others)])
        one_way = self.random.random() < 0.4 if one_way is None else one_way
        cut_off = self.random.sample(others, count)
        for b in cut_off:
            pair = (a, b) if self.random.random() < 0.5 else (b, a)
            self.cluster.cut(*pair, one_way=one_way)
        self.begin("cut", None, f"cut {a} - {' '.join(cut_off)}{' one way' if one_way else ''}",
                   self.random.uniform(0.1, 3), self.heal)

    def heal(self):
        """Links, disks and clocks of all that can hear it."""
        deaf = {name for _, name, _, _ in self.active}
        for name, server in self.cluster.names.items():
            if name not in deaf:
                server.fault("heal")

    def slow(self, what=None):
        a = self.random.choice(self.running("node-"))
        what = what or self.random.choice(SLOW)
        self.cluster[a].fault(what)
        self.begin("slow", None, f"{a}: {what}", self.random.uniform(0.2, 3), self.heal)

    def mend(self, fault):
        self.active.remove(fault)
        say(fault[2])
        fault[3]()

    def check_running(self):
        for server in self.cluster.names.values():
            server.check_running()

    def each(self, leader, go_on):
        """Each kind of fault, as many at a time as may be. go_on() returns once clients have got more answers."""
        self.pause(leader())  # writes are on their way to it: nobody will know their outcome
        go_on()
        self.mend_all()
        faults = [lambda: self.kill(leader()), self.kill, self.pause, lambda: self.cut(False), lambda: self.cut(True),
                  *(lambda what=what: self.slow(what) for what in self.random.sample(SLOW, 3))]
        self.random.shuffle(faults)
        for fault in faults:
            if len(self.active) == FAULTS_MAX - 1:
                self.mend(self.active[0])
            fault()
            go_on()
            self.check_running()
        self.mend_all()

    def step(self):
        self.check_running()
        for fault in [f for f in self.active if f[0] <= time.monotonic()]:
            self.mend(fault)
        if len(self.active) < FAULTS_MAX and self.random.random() < 0.25 and \
                len(self.running("node-")) > 0 and len(self.running()) > 1:
            self.random.choice([self.kill, self.pause, self.cut, self.cut, self.slow])()

    def trouble(self, for_s, pause_s):
        """Breaks and mends at random times until the time is up. At last all is mended."""
        end = time.monotonic() + for_s
        while time.monotonic() < end:
            self.step()
            due = time.monotonic() + self.random.uniform(0, pause_s)
            until("the next fault is due", lambda due=due: time.monotonic() >= due)
        self.mend_all()

    def hit(self, what, has_hit, leader):
        """Kills leaders until a fault has hit a request: has_hit() tells whether there is one of unknown outcome."""
        def attempt():
            if not has_hit():
                self.kill(leader())
                self.mend_all()
            return has_hit()
        until(f"a fault hits {what}", attempt)

    def mend_all(self):
        while self.active:
            self.mend(self.active[-1])
        self.heal()


class Churn(servers.Worker):
    """Side tables that come and go, one after the other, each life of a table checked."""

    def __init__(self, ports, seed):
        super().__init__()
        self.clients = [Client(port, timeout_s=5) for port in ports]
        self.source = random.Random(seed)
        self.lives = self.number = 0

    def call(self, operation, **members):
        """(what it was answered, or None; nobody knows whether it was done)"""
        try:
            return self.source.choice(self.clients).call(operation, **members), False
        except Refused as refused:
            return refused.name, refused.status == 500
        except Unreachable:
            return None, True

    def insist(self, done, operation, **members):
        """Again until done(answer). Returns the answer and whether an outcome is unknown."""
        unknown, answer = False, None

        def attempt():
            nonlocal unknown, answer
            answer, lost = self.call(operation, **members)
            unknown |= lost
            return done(answer)
        until(f"{operation} {members['TableName']} in the churn of tables", attempt, poll_s=0.05)
        return answer, unknown

    def state(self, table, wanted):
        self.insist(lambda a: a == wanted or (isinstance(a, dict) and
                                              a["Table"]["TableStatus"] == wanted),
                    "DescribeTable", TableName=table)

    def read(self, table, key):
        answer, _ = self.insist(lambda a: isinstance(a, dict) or a == "ResourceNotFoundException",
                                "GetItem", TableName=table, Key={"pk": {"S": key}},
                                ConsistentRead=True)
        return answer if isinstance(answer, str) else answer.get("Item", {}).get("v", {}).get("S")

    def expect(self, table, key, wanted, when):
        read = self.read(table, key)
        if read != wanted:
            raise AssertionError(f"{table}, {when}: key {key} reads {read}, not {wanted}")

    def step(self):
        """A table's life, from nothing to nothing. The other calls of this table have all ended."""
        life, table = self.lives + 1, f"side-{self.number}"
        keys = [f"{k}{'x' * self.source.choice([0, 600, 1900])}" for k in range(4)]
        throughput = {"ReadCapacityUnits": 200, "WriteCapacityUnits": 200}
        _, unknown = self.insist(
            lambda a: isinstance(a, dict) or a == "ResourceInUseException", "CreateTable",
            TableName=table, ProvisionedThroughput=throughput,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        self.state(table, "ACTIVE")
        for key in keys:
            self.expect(table, key, None, "made anew")
        for key in keys:
            self.insist(lambda a: isinstance(a, dict), "PutItem", TableName=table,
                        Item={"pk": {"S": key}, "v": {"S": f"{life}"}})
        if self.source.random() < 0.5:
            self.call("UpdateTable", TableName=table, BillingMode="PAY_PER_REQUEST")
            self.state(table, "ACTIVE")
        for key in keys:
            self.expect(table, key, f"{life}", "after its writes")
        _, lost = self.insist(lambda a: isinstance(a, dict) or a == "ResourceNotFoundException",
                              "DeleteTable", TableName=table)
        self.state(table, "ResourceNotFoundException")
        if not unknown:
            for key in keys:
                self.expect(table, key, "ResourceNotFoundException", "gone")
        self.lives += 1
        # A call that may still come would be taken for one of the next life: another name.
        self.number += unknown or lost


def start_load(options, cluster, directory):
    return Load(options.weir, cluster.ports, ["--table", TABLE, "--preload", "--connections", CLIENTS, "--outstanding",
                                              CLIENTS, "--keys", KEYS, "--read-ratio", 0.5, "--delete-ratio", 0.1,
                                              "--consistent", "--timeout", "3s", "--seed", options.seed],
                options.rate, directory / "history.jsonl")


def answers(port):
    """Whether every key can be read through that router."""
    client = Client(port, timeout_s=5)
    try:
        for key in range(KEYS):
            client.call("GetItem", TableName=TABLE, ConsistentRead=True,
                        Key={"pk": {"S": f"key-{key:010d}"}})
        return True
    except (Unreachable, Refused):
        return False
    finally:
        client.close()


def wait_answers(cluster):
    for port in cluster.ports:
        until(f"every key can be read through port {port}", lambda p=port: answers(p))


def check_replicas(options, cluster):
    """The stopped nodes must be sound, and their replicas alike. `weir verify` fails if two differ
    that have applied the same. One that had not heard of the last entries gets another chance, and one
    that had not heard that its table was deleted."""
    for _ in range(CATCH_UP_TRIES):
        found = servers.replicas(options.weir, cluster.data, SETTINGS)
        unlike = {partition: held for partition, held in found.items()
                  if len(set(held)) > 1 or len(held) < REPLICAS}
        if not unlike:
            return len(found)
        say(f"replicas are behind, once more: {unlike}")
        cluster.start()
        wait_answers(cluster)
        servers.wait_caught_up(cluster.ports[0], REPLICAS)
        cluster.stop()
    raise AssertionError(f"replicas stay behind, or are too few: {unlike}")


def leader_of(cluster, table=TABLE):
    """A node that leads one of the table's partitions."""
    def found():
        return next((node for port in cluster.ports for node in leaders(port, table).values()), None)
    return f"node-{until('a leader', found)}"


def recorded(history, client, number, value=None):
    """A write of `value`, or a read, by a client that writes its history as `weir load` does."""
    kind = "read" if value is None else "write"
    line = {"op": number, "type": "invoke", "t": time.monotonic_ns(), "f": kind, "key": "x"}
    if value is not None:
        line["value"] = value
    history.write(json.dumps(line) + "\n")
    line = {"op": number, "type": "ok"}
    if value is None:
        line["value"] = client.call("GetItem", TableName=TABLE, Key={"pk": {"S": "x"}},
                                    ConsistentRead=True)["Item"]["v"]["S"]
    else:
        client.call("PutItem", TableName=TABLE, Item={"pk": {"S": "x"}, "v": {"S": value}})
    line["t"] = time.monotonic_ns()
    history.write(json.dumps(line) + "\n")
    return line.get("value")


def prove(options, directory):
    """A read that is stale, really served: the old leader's clock stands still, and its lease with it."""
    with Cluster(options.weir, directory, 3, 2, SETTINGS, gac=1) as cluster:
        first, second = (Client(port) for port in cluster.ports)
        make_table(cluster.ports[0], TABLE, (100, 100), ("pk",))  # of one partition: one leader
        until("every key can be read", lambda: answers(cluster.ports[0]))
        with open(directory / "history.jsonl", "w", encoding="utf-8") as history:
            recorded(history, first, 1, "1")
            old = leader_of(cluster)
            cluster["router-2"].kill()
            cluster[old].fault("cut router 2 both")
            cluster[old].fault(f"skew {-STILL_MS}")
            for name in cluster.nodes:
                if name != old:
                    cluster.cut(old, name)
            cluster["router-2"].start()
            until("the other router finds another leader", lambda: answers(cluster.ports[1]))
            recorded(history, second, 2, "2")
            read = recorded(history, first, 3)
        check(read == "1", f"the read yields {read}: the lease was not broken")
        cluster.heal()
        wait_answers(cluster)
        cluster.stop()
    done = subprocess.run([str(options.weir), "check-history", str(directory / "history.jsonl")],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 1, f"the stale read was not found: {done.stdout}{done.stderr}")
    say(done.stdout)
    return {"proved": True}


def chaos(options, directory):
    with Cluster(options.weir, directory, options.nodes, options.routers, SETTINGS, gac=options.gac) as cluster:
        faults = Chaos(cluster, random.Random(options.seed))
        make_table(cluster.ports[0], TABLE, (12000, 4000), ("pk",))
        history = directory / "history.jsonl"
        with start_load(options, cluster, directory) as load:
            def go_on():
                wanted = ANSWERED_BYTES + (history.stat().st_size if history.exists() else 0)

                def has_grown():
                    load.check_running()
                    return history.exists() and history.stat().st_size >= wanted
                until("clients get answers", has_grown)
            go_on()
            churn = Churn(cluster.ports, options.seed)
            with servers.working(churn):
                if options.seconds:
                    faults.trouble(options.seconds, 0.2)
                else:
                    faults.each(lambda: leader_of(cluster), go_on)
                faults.hit("a request", lambda: b'"info"' in history.read_bytes(), lambda: leader_of(cluster))
                wait_answers(cluster)
                servers.more_done("a side table lives without faults", [churn], 1, lambda churn: churn.lives)
            go_on()  # so that the history has answers from after the faults
            told = load.stop()
        wait_answers(cluster)
        cluster.stop()
        partitions = check_replicas(options, cluster)
    figures = json.loads(servers.check_history(options.weir, history, "--json"))
    return {"seed": options.seed, "seconds": options.seconds, "nodes": options.nodes, "routers": options.routers,
            "faults": faults.counts, "partitions_alike": partitions, "lives_of_side_tables": churn.lives,
            **{name: figures[name] for name in ("operations", "ok", "fail", "info", "keys", "linearizable")},
            "admitted_per_s": told.get("admitted_per_s")}


def run(options, directory):
    return (prove if options.prove else chaos)(options, directory)


if __name__ == "__main__":
    servers.case(__doc__, run, seed=None, nodes=3, routers=2, gac=(3, "servers of global admission control"),
                 rate=(500, "requests per second"), prove={"action": "store_true", "help": "that it can fail"},
                 seconds=(0, "of faults at random times; 0: each kind of fault, as long as it takes"))
