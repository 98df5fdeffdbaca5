#!/usr/bin/env python3
"""kill -9 under 64 writers, round after round: what was acknowledged is there, nothing else is.

Two set-ups: `weir local`, and three `weir node` with two `weir router`, of which one node is killed
at a time. Every key has one writer. A write whose outcome is unknown (no answer, or one that says so)
is the last one of its key until the read-back, so after a round exactly two states of a key are
legal: that of the last acknowledged write, and that of the unknown one. A refusal that says nothing
was done must have done nothing. There are so many rounds (--rounds), and more until a kill has hit a write.
At the end the stopped nodes must pass `weir verify`.
"""
import random
import threading
import time

import servers
from servers import Client, Cluster, NotSent, Refused, Server, Unreachable, more_done, say, until

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


class Writer(servers.Worker):
    """Writes its keys, as long as there are keys whose state is known."""

    def __init__(self, run, index):
        super().__init__()
        self.run_ = run
        self.random = random.Random(f"{run.seed}/{run.round}/{index}")
        self.client = Client(run.ports[index % len(run.ports)])
        self.keys = list(run.keys[index])

    def step(self):
        if not self.keys:
            self.stopping.wait()
            return
        key = self.random.choice(self.keys)
        if not self.write(self.client, key):
            self.keys.remove(key)

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
            self.stopping.wait(servers.POLL_S)
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
        self.directory = directory
        self.data = directory / "data"
        self.keys = [[Key(f"{w}-{k}") for k in range(KEYS_PER_WRITER)] for w in range(WRITERS)]
        self.round = 0
        self.lock = threading.Lock()
        self.counts = {"acknowledged": 0, "unknown": 0, "refused": 0, "not_sent": 0}
        self.restart_s = []

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def kill_one(self):
        """The process that was killed."""
        raise NotImplementedError

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
        more_done(f"{more} more acknowledged writes", [self], more, lambda run: run.counts["acknowledged"])

    def one_round(self):
        with servers.working(*(Writer(self, index) for index in range(WRITERS))):
            self.wait_for_writes(self.random.randrange(50, 1000))
            before, wanted = self.hit(), self.counts["acknowledged"] + UNNOTICED
            killed = self.kill_one()
            # A node that leads nothing may die unnoticed: then the others go on.
            until("the writers have met it", lambda: self.hit() > before or self.counts["acknowledged"] > wanted)
            begin = time.monotonic()
            killed.start()
            self.read(Client(self.ports[0]), [mine[0].name for mine in self.keys[:READ_BATCH]])
            self.restart_s.append(time.monotonic() - begin)
            self.wait_for_writes(self.random.randrange(100))
        self.read_back()

    def hit(self):
        return self.counts["unknown"] + self.counts["not_sent"]

    def run(self, running):
        begin = time.monotonic()
        with running:
            servers.make_table(self.ports[0], TABLE, (9000, 9000))
            while self.round < self.rounds or self.counts["unknown"] == 0:
                self.one_round()
                self.round += 1
                say(f"{type(self).__name__}: round {self.round} of {self.rounds}, {self.counts}")
            running.stop()
        say(servers.verify(self.weir, self.data, SETTINGS).strip())
        return {"rounds": self.round, "writers": WRITERS, **self.counts, "lost": 0,
                "restart_s_max": round(max(self.restart_s), 3),
                "restart_s_mean": round(sum(self.restart_s) / len(self.restart_s), 3),
                "seconds": round(time.monotonic() - begin, 1)}


class Local(Run):
    def __init__(self, options, directory):
        super().__init__(options, directory)
        self.data.mkdir(parents=True)
        self.ports = servers.free_ports(1)
        self.server = Server(self.weir, ["local", "--port", self.ports[0], "--data", self.data, *SETTINGS],
                             self.directory / "local.log")

    def kill_one(self):
        self.server.kill()
        return self.server

    def run(self, running=None):
        return super().run(self.server)


class Nodes(Run):
    def __init__(self, options, directory):
        super().__init__(options, directory)
        self.cluster = Cluster(self.weir, directory, 3, 2, SETTINGS)
        self.ports = self.cluster.ports

    def kill_one(self):
        killed = self.cluster[self.random.choice(self.cluster.nodes)]
        killed.kill()
        return killed

    def run(self, running=None):
        return super().run(self.cluster)


SETUPS = {"local": Local, "cluster": Nodes}


def run(options, directory):
    return {name: setup(options, directory / name).run() for name, setup in SETUPS.items()
            if options.only in (None, name)}


if __name__ == "__main__":
    servers.case(__doc__, run, rounds=(5, "of each set-up"), seed=None, only={"choices": SETUPS})
