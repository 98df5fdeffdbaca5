#!/usr/bin/env python3
"""kill -9 under 64 writers, round after round: what was acknowledged is there, nothing else is.

Two set-ups: `weir local`, and three `weir node` with two `weir router`, of which one node is killed
at a time. Every key has one writer. A write whose outcome is unknown (no answer, or one that says so)
is the last one of its key until the read-back, so after a round exactly two states of a key are
legal: that of the last acknowledged write, and that of the unknown one. A refusal that says nothing
was done must have done nothing. At the end the stopped nodes must pass `weir verify`.

Prints one JSON object of figures on standard output, what it is doing on standard error.
"""
import json
import random
import sys
import threading
import time

import servers
from servers import Client, NotSent, Refused, Server, Unreachable, until

WRITERS = 64
KEYS_PER_WRITER = 24
TABLE = "crash"
# Small enough that every round runs through checkpoints and log segments.
SETTINGS = ["--profile", "off", "--set", "checkpoint_ms=100", "--set", "memtable_max_bytes=256KiB",
            "--set", "log_segment_bytes=8MiB", "--set", "log_max_bytes=16MiB"]
ABSENT = None
READ_BATCH = 50
UNNOTICED = 500  # writes after which a kill counts as unnoticed
# An answer that promises that nothing was done.
NOTHING_DONE = ("The node is overloaded and did nothing", "The node's storage is full")
UNKNOWN = "InternalServerError"


def say(text):
    print(f"crash_test: {text}", file=sys.stderr, flush=True)


def filler(key, version):
    """What an item holds beside its version: any mix-up of keys or versions shows."""
    source = random.Random(f"{key}/{version}")
    size = source.randrange(20000) if source.randrange(40) == 0 else source.randrange(400)
    return f"{source.randrange(16 ** 8):08x}" * (size // 8 + 1)


class Key:
    def __init__(self, name):
        self.name = name
        self.version = 0  # of the last write begun; a deletion takes one too
        self.acknowledged = ABSENT
        self.unknown = []  # the state of a write whose outcome is not known, if there is one

    def check(self, item, where):
        state = ABSENT if item is None else int(item["version"]["N"])
        if state is not ABSENT and item["filler"]["S"] != filler(self.name, state):
            raise AssertionError(f"{where}: {self.name} holds version {state} with bytes that were "
                                 "never written")
        if state not in [self.acknowledged] + self.unknown:
            raise AssertionError(f"{where}: {self.name} is at {state}; acknowledged was "
                                 f"{self.acknowledged}, unknown {self.unknown or 'nothing'}")
        self.acknowledged = state
        self.unknown = []


class Writer(threading.Thread):
    """Writes its keys until told to stop, or as long as there are keys whose state is known."""

    def __init__(self, run, index):
        super().__init__(daemon=True)
        self.run_ = run
        self.index = index
        self.random = random.Random(f"{run.seed}/{run.round}/{index}")
        self.failure = None

    def run(self):
        client = Client(self.run_.ports[self.index % len(self.run_.ports)])
        keys = list(self.run_.keys[self.index])
        try:
            while keys and not self.run_.stopping.is_set():
                key = self.random.choice(keys)
                if not self.write(client, key):
                    keys.remove(key)
        except BaseException as error:  # pylint: disable=broad-except
            self.failure = error
            self.run_.failed.set()
        finally:
            client.close()

    def write(self, client, key):
        """False: the outcome is unknown."""
        key.version += 1
        state = ABSENT if self.random.randrange(8) == 0 else key.version
        try:
            if state is ABSENT:
                client.call("DeleteItem", TableName=TABLE, Key={"id": {"S": key.name}})
            else:
                client.call("PutItem", TableName=TABLE, Item={
                    "id": {"S": key.name}, "version": {"N": str(state)},
                    "filler": {"S": filler(key.name, state)}})
        except NotSent:
            self.run_.count("not_sent")
            self.run_.stopping.wait(servers.POLL_S)
            return True
        except Unreachable:
            key.unknown = [state]
        except Refused as error:
            if error.text.startswith(NOTHING_DONE):
                self.run_.count("refused")
                return True
            if error.name != UNKNOWN:
                raise
            key.unknown = [state]
        if key.unknown:
            self.run_.count("unknown")
            return False
        key.acknowledged = state
        self.run_.count("acknowledged")
        return True


class Run:
    """Rounds of writing and killing; the subclasses know what runs and what dies."""

    def __init__(self, options, directory):
        self.seed = options.seed
        self.weir = options.weir
        self.rounds = options.rounds
        self.random = random.Random(f"{self.seed}/{type(self).__name__}")
        self.data = directory / "data"
        self.data.mkdir(parents=True)
        self.directory = directory
        self.keys = [[Key(f"{w}-{k}") for k in range(KEYS_PER_WRITER)] for w in range(WRITERS)]
        self.round = 0
        self.stopping = threading.Event()
        self.failed = threading.Event()
        self.lock = threading.Lock()
        self.counts = {"acknowledged": 0, "unknown": 0, "refused": 0, "not_sent": 0}
        self.restart_s = []
        self.ports = []

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    # what the subclasses know

    def start(self):
        raise NotImplementedError

    def kill_one(self):
        raise NotImplementedError

    def restart(self):
        raise NotImplementedError

    def stop(self):
        raise NotImplementedError

    def forget(self):
        raise NotImplementedError

    # the rest is the same

    def create_table(self):
        client = Client(self.ports[0])
        client.call("CreateTable", TableName=TABLE,
                    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                    ProvisionedThroughput={"ReadCapacityUnits": 9000, "WriteCapacityUnits": 9000})
        until("the table is ACTIVE", lambda: client.call(
            "DescribeTable", TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
        client.close()

    def read(self, client, names):
        """The items of these keys, once all partitions answer."""
        found, left = {}, {TABLE: {"ConsistentRead": True, "Keys": [{"id": {"S": n}} for n in names]}}

        def answered():
            try:
                return client.call("BatchGetItem", RequestItems=left)
            except Unreachable:
                return None
            except Refused as error:
                if error.name not in (UNKNOWN, "ServiceUnavailable"):
                    raise
                return None

        while left:
            answer = until("the items can be read", answered)
            for item in answer["Responses"].get(TABLE, []):
                found[item["id"]["S"]] = item
            left = answer["UnprocessedKeys"]
        return found

    def read_back(self):
        client = Client(self.ports[0])
        keys = [key for mine in self.keys for key in mine]
        for at in range(0, len(keys), READ_BATCH):
            some = keys[at:at + READ_BATCH]
            items = self.read(client, [key.name for key in some])
            for key in some:
                key.check(items.get(key.name), f"{type(self).__name__}, round {self.round}")
        client.close()

    def wait_for_writes(self, more):
        wanted = self.counts["acknowledged"] + more
        until(f"{more} more acknowledged writes",
              lambda: self.counts["acknowledged"] >= wanted or self.failed.is_set())

    def one_round(self):
        self.stopping.clear()
        writers = [Writer(self, index) for index in range(WRITERS)]
        for writer in writers:
            writer.start()
        try:
            self.wait_for_writes(self.random.randrange(50, 3000))
            if not self.failed.is_set():
                before = self.hit()
                self.kill_one()
                # A node that leads nothing may die unnoticed: then the others go on.
                wanted = self.counts["acknowledged"] + UNNOTICED
                until("the writers have met it", lambda: self.hit() > before or
                      self.counts["acknowledged"] > wanted or self.failed.is_set())
                begin = time.monotonic()
                self.restart()
                self.read(Client(self.ports[0]), [mine[0].name for mine in self.keys[:READ_BATCH]])
                self.restart_s.append(time.monotonic() - begin)
                self.wait_for_writes(self.random.randrange(100))
        finally:
            self.stopping.set()
            for writer in writers:
                writer.join()
        for writer in writers:
            if writer.failure is not None:
                raise writer.failure
        self.read_back()

    def hit(self):
        return self.counts["unknown"] + self.counts["not_sent"]

    def run(self):
        begin = time.monotonic()
        try:
            self.start()
            self.create_table()
            for self.round in range(self.rounds):
                self.one_round()
                say(f"{type(self).__name__}: round {self.round + 1} of {self.rounds}, {self.counts}")
            self.stop()
        finally:
            self.forget()
        verified = servers.verify(self.weir, self.data, SETTINGS)
        say(verified.strip())
        if self.counts["unknown"] == 0:
            raise AssertionError("no write was ever hit by a kill: the test tests nothing")
        return {
            "rounds": self.rounds,
            "writers": WRITERS,
            **self.counts,
            "lost": 0,
            "restart_s_max": round(max(self.restart_s), 3),
            "restart_s_mean": round(sum(self.restart_s) / len(self.restart_s), 3),
            "seconds": round(time.monotonic() - begin, 1),
        }


class Local(Run):
    def start(self):
        port = servers.free_ports(1)[0]
        self.server = Server(self.weir, ["local", "--port", port, "--data", self.data, *SETTINGS],
                             self.directory / "local.log")
        self.server.start()
        self.ports = [port]

    def kill_one(self):
        self.server.kill()

    def restart(self):
        self.server.start()

    def stop(self):
        self.server.stop()

    def forget(self):
        if hasattr(self, "server"):
            self.server.forget()


class Cluster(Run):
    NODES = 3
    ROUTERS = 2
    nodes = routers = ()
    killed = None

    def start(self):
        ports = servers.free_ports(self.NODES + self.ROUTERS)
        peers = ",".join(f"{n + 1}=127.0.0.1:{ports[n]}" for n in range(self.NODES))
        self.ports = ports[self.NODES:]
        self.nodes = [
            Server(self.weir, ["node", "--id", n + 1, "--listen", f"127.0.0.1:{ports[n]}", "--data",
                               self.data / f"node-{n + 1}", "--peers", peers, *SETTINGS],
                   self.directory / f"node-{n + 1}.log") for n in range(self.NODES)]
        self.routers = [
            Server(self.weir, ["router", "--id", n + 1, "--listen", f"127.0.0.1:{port}",
                               "--peers", peers, *SETTINGS],
                   self.directory / f"router-{port}.log") for n, port in enumerate(self.ports)]
        for server in [*self.nodes, *self.routers]:
            server.start()

    def kill_one(self):
        self.killed = self.random.choice(self.nodes)
        self.killed.kill()

    def restart(self):
        self.killed.start()

    def stop(self):
        for server in [*self.routers, *self.nodes]:
            server.stop()

    def forget(self):
        for server in [*self.routers, *self.nodes]:
            server.forget()


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of each set-up (5)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of keys, kills, sizes")
    parser.add_argument("--only", choices=["local", "cluster"])
    options = parser.parse_args()
    say(f"--seed {options.seed}")
    figures = {"seed": options.seed}
    with servers.workplace("crash") as directory:
        for name, kind in (("local", Local), ("cluster", Cluster)):
            if options.only in (None, name):
                figures[name] = kind(options, directory / name).run()
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
