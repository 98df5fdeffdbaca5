#!/usr/bin/env python3
"""A cluster whose processes and links break at random, under load: what clients saw was possible.

64 clients read and write a few hot keys, strongly consistent, through two routers, while nodes, routers
and servers of global admission control are killed and started, paused and resumed, cut off from each
other both ways or one, and given slow disks, slow links and clocks that drift. Then everything is healed, every key must be
readable through every router, the history must be linearizable (`weir check-history`), and what the
stopped nodes hold must be sound (`weir verify`), the same on every replica.

Meanwhile side tables are made, written, changed and deleted, over and over: a table that was made anew is
empty, what was acknowledged is there, and a table that is gone answers ResourceNotFoundException.

  chaos_test.py                       about 20 seconds
  chaos_test.py --seconds 600 --nodes 5 --seed 7
  chaos_test.py --prove               that all of this can fail: the clock of a leader that is cut off
                                      stands still, which leases do not allow for: it serves a stale read,
                                      and the history must NOT be linearizable

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import random
import subprocess
import sys
import threading
import time
import urllib.request

import servers
from servers import Client, Cluster, Refused, Unreachable, until

TABLE = "chaos"
CLIENTS = 64
KEYS = 12
REPLICAS = 3
STILL_MS = 60000
CATCH_UP_TRIES = 3
CALM_S = 3  # at the end, so that the history has answers from after the faults
FAULTS_MAX = 3  # at the same time
# Small enough that checkpoints and segments come and go.
SETTINGS = ["--set", "gac=lease", "--set", "checkpoint_ms=200", "--set", "memtable_max_bytes=256KiB",
            "--set", "log_segment_bytes=8MiB", "--set", "request_deadline_ms=1000"]
DRIFT_PPM_MAX = 400  # two clocks differ by twice that, and may by 1000: clock_drift_ppm


def say(text):
    print(f"chaos_test: {text}", file=sys.stderr, flush=True)


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

    def begin(self, kind, name, text, for_s, mend):
        say(text)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.active.append((time.monotonic() + for_s, name, f"end of: {text}", mend))

    def kill(self):
        name = self.random.choice(self.running())
        self.cluster[name].kill()
        self.begin("kill", name, f"kill {name}", self.random.uniform(0, 1.5),
                   self.cluster[name].start)

    def pause(self):
        name = self.random.choice(self.running())
        self.cluster[name].pause()
        self.begin("pause", name, f"pause {name}", self.random.uniform(0.05, 2.5),
                   self.cluster[name].resume)

    def cut(self):
        a = self.random.choice(self.running("node-") + self.running("gac-"))
        kinds = ("router-",) if a.startswith("gac-") else ("node-", "router-")
        others = [name for name in self.running(kinds) if name != a]
        if not others:
            return
        count = self.random.choice([1, 1, len(others)])
        one_way = self.random.random() < 0.4
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

    def slow(self):
        a = self.random.choice(self.running("node-"))
        what = self.random.choice(["disk slow 30", f"drift {self.random.choice([-1, 1]) * DRIFT_PPM_MAX}",
                                   "delay node 1 20", "delay node 2 20", "delay router 1 40"])
        self.cluster[a].fault(what)
        self.begin("slow", None, f"{a}: {what}", self.random.uniform(0.2, 3), self.heal)

    def step(self):
        now = time.monotonic()
        for server in self.cluster.names.values():
            server.check_running()
        for fault in [f for f in self.active if f[0] <= now]:
            self.active.remove(fault)
            say(fault[2])
            fault[3]()
        if len(self.active) < FAULTS_MAX and self.random.random() < 0.25 and \
                len(self.running("node-")) > 0 and len(self.running()) > 1:
            self.random.choice([self.kill, self.pause, self.cut, self.cut, self.slow])()

    def trouble(self, for_s, pause_s, over=lambda: False):
        """Breaks and mends until the time is up or over(). At last all is mended."""
        end = time.monotonic() + for_s
        while time.monotonic() < end and not over():
            self.step()
            time.sleep(self.random.uniform(0, pause_s))
        self.mend_all()

    def mend_all(self):
        while self.active:
            fault = self.active.pop()
            say(fault[2])
            fault[3]()
        self.heal()


class Churn(threading.Thread):
    """Side tables that come and go, one after the other, each life of a table checked."""

    def __init__(self, ports, seed):
        super().__init__(daemon=True)
        self.clients = [Client(port, timeout_s=5) for port in ports]
        self.source = random.Random(seed)
        self.stopping = threading.Event()
        self.lives = 0
        self.error = None

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
        unknown = False
        while True:
            answer, lost = self.call(operation, **members)
            unknown |= lost
            if done(answer):
                return answer, unknown
            if self.stopping.is_set() and operation in ("PutItem", "UpdateTable"):
                return None, True
            time.sleep(0.05)

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

    def live(self, table, life):
        """From nothing to nothing. The other calls of this table have all ended."""
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
        if self.source.random() < 0.5 and not self.stopping.is_set():
            self.call("UpdateTable", TableName=table, BillingMode="PAY_PER_REQUEST")
            self.state(table, "ACTIVE")
        if not self.stopping.is_set():
            for key in keys:
                self.expect(table, key, f"{life}", "after its writes")
        _, lost = self.insist(lambda a: isinstance(a, dict) or a == "ResourceNotFoundException",
                              "DeleteTable", TableName=table)
        self.state(table, "ResourceNotFoundException")
        if not unknown:
            for key in keys:
                self.expect(table, key, "ResourceNotFoundException", "gone")
        self.lives += 1
        return not unknown and not lost

    def run(self):
        life, number = 0, 0
        try:
            while not self.stopping.is_set():
                life += 1
                # A call that may still come would be taken for one of the next life: another name.
                number += not self.live(f"side-{number}", life)
        except (AssertionError, KeyError, ValueError) as error:
            self.error = error

    def end(self):
        self.stopping.set()
        self.join(timeout=120)
        if self.is_alive():
            raise AssertionError("a side table does not come to its end in 120 s of calm")
        if self.error is not None:
            raise self.error
        return self.lives


def start_load(options, cluster, directory):
    urls = [part for port in cluster.ports for part in ("--url", f"http://127.0.0.1:{port}")]
    return subprocess.Popen(
        [str(options.weir), "load", *urls, "--table", TABLE, "--create-table",
         "--wcu", "4000", "--rcu", "12000", "--preload", "--rate", str(options.rate), "--connections", str(CLIENTS), "--outstanding",
         str(CLIENTS), "--keys", str(KEYS), "--read-ratio", "0.5", "--delete-ratio", "0.1",
         "--consistent", "--timeout", "3s", "--duration", f"{options.seconds}s", "--seed",
         str(options.seed), "--history", str(directory / "history.jsonl"), "--json",
         str(directory / "load.json"), "--quiet"], stdout=subprocess.DEVNULL)


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


def check_history(options, directory):
    done = subprocess.run([str(options.weir), "check-history", "--json",
                           str(directory / "history.jsonl")], capture_output=True, text=True,
                          timeout=servers.START_S * 5, check=False)
    if done.returncode != 0:
        text = subprocess.run([str(options.weir), "check-history",
                               str(directory / "history.jsonl")], capture_output=True, text=True,
                              check=False).stdout
        raise AssertionError(f"weir check-history ends with {done.returncode}:\n{text}"
                             f"{done.stderr}")
    return json.loads(done.stdout)


def wait_answers(cluster):
    for port in cluster.ports:
        until(f"every key can be read through port {port}", lambda p=port: answers(p), 60)


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
        until("no replica is left over", lambda: servers.caught_up(cluster.ports[0], REPLICAS))
        cluster.stop()
    raise AssertionError(f"replicas stay behind, or are too few: {unlike}")


def leader_of(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/weir/partitions", timeout=5) as answer:
        partitions = json.load(answer)["partitions"]
    leaders = [p["node"] for p in partitions if p["table"] == TABLE and p["role"] == "leader"]
    return leaders[0] if leaders else None


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
    cluster = Cluster(options.weir, directory, 3, 2, SETTINGS, gac=1)
    first, second = (Client(port) for port in cluster.ports)
    try:
        cluster.start()
        until("the cluster answers", lambda: lists_tables(cluster.ports[0]))
        first.call("CreateTable", TableName=TABLE,  # of one partition: one leader
                   ProvisionedThroughput={"ReadCapacityUnits": 100, "WriteCapacityUnits": 100},
                   KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                   AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        until("the table is ACTIVE", lambda: first.call(
            "DescribeTable", TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
        until("every key can be read", lambda: answers(cluster.ports[0]))
        with open(directory / "history.jsonl", "w", encoding="utf-8") as history:
            recorded(history, first, 1, "1")
            old = f"node-{until('a leader', lambda: leader_of(cluster.ports[0]))}"
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
        if read != "1":
            raise AssertionError(f"the read yields {read}: the lease was not broken")
        cluster.heal()
        wait_answers(cluster)
        cluster.stop()
    finally:
        cluster.forget()
    done = subprocess.run([str(options.weir), "check-history", str(directory / "history.jsonl")],
                          capture_output=True, text=True, check=False)
    if done.returncode != 1:
        raise AssertionError(f"the stale read was not found: {done.stdout}{done.stderr}")
    say(done.stdout)
    return {"proved": True, "info": 1}


def run(options, directory):
    source = random.Random(options.seed)
    cluster = Cluster(options.weir, directory, options.nodes, options.routers, SETTINGS,
                      gac=options.gac)
    chaos = Chaos(cluster, source)
    load = churn = None
    try:
        cluster.start()
        until("the cluster answers", lambda: lists_tables(cluster.ports[0]))
        load = start_load(options, cluster, directory)
        history = directory / "history.jsonl"
        until("the load has begun", lambda: history.exists() and history.stat().st_size > 100000)
        churn = Churn(cluster.ports, options.seed)
        churn.start()

        def over():
            if load.poll() is not None:
                raise AssertionError(f"weir load ended with {load.returncode}")
            return False
        chaos.trouble(options.seconds - CALM_S, 0.2, over)
        lives = churn.end()
        wait_answers(cluster)
        if load.wait(timeout=options.seconds + 60) != 0:
            raise AssertionError(f"weir load ended with {load.returncode}")
        wait_answers(cluster)
        cluster.stop()
        partitions = check_replicas(options, cluster)
    finally:
        if churn is not None:
            churn.stopping.set()
        if load is not None and load.poll() is None:
            load.kill()
            load.wait()
        cluster.forget()
    figures = check_history(options, directory)
    with open(directory / "load.json", encoding="utf-8") as file:
        load_figures = json.load(file)
    return {"seed": options.seed, "seconds": options.seconds, "nodes": options.nodes,
            "routers": options.routers, "faults": chaos.counts, "partitions_alike": partitions,
            "lives_of_side_tables": lives,
            **{name: figures[name] for name in ("operations", "ok", "fail", "info", "keys",
                                                "linearizable")},
            "admitted_per_s": load_figures["workloads"][0].get("admitted_per_s")}


def lists_tables(port):
    client = Client(port)
    try:
        client.call("ListTables")
        return True
    except (Unreachable, Refused):
        return False
    finally:
        client.close()


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="of load (20)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of faults and load")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--routers", type=int, default=2)
    parser.add_argument("--gac", type=int, default=3, help="servers of global admission control")
    parser.add_argument("--rate", type=int, default=2000, help="requests per second (2000)")
    parser.add_argument("--prove", action="store_true", help="that it can fail")
    options = parser.parse_args()
    say(f"--seed {options.seed}")
    with servers.workplace("chaos") as directory:
        figures = (prove if options.prove else run)(options, directory)
    if figures["info"] == 0:
        raise AssertionError("no write was ever hit by a fault: the test tests nothing")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
