"""What the scenes of admission_test.py share: a cluster, its tables, its pages, and what is measured.

A scene is a function (options, directory) -> (figures, checks)."""
import contextlib
import urllib.error

import servers
from open_loop import Load
from servers import Client, Cluster, say, until


class Checks:
    """Bounds that are all judged before the scene fails: its figures are printed either way."""

    def __init__(self):
        self.missed = []

    def check(self, holds, what):
        if not holds:
            say(f"missed: {what}")
            self.missed.append(what)


class Bench:
    """A cluster with these settings (`name=value`), and `options.set` after them."""

    def __init__(self, options, directory, name, *, nodes=3, routers=1, gac=0, settings=()):
        # A GAC server on a busy machine answers late. Requests wait for it, so that no refusal is the machine's.
        shared = ["gac=lease", "gac_wait_ms=1000"] if gac else []
        self.weir = options.weir
        self.cluster = Cluster(options.weir, directory / name, nodes, routers,
                               servers.set_words([*shared, *settings, *getattr(options, "set", [])]), gac=gac)
        self.ports = self.cluster.ports
        self.port = self.ports[0]
        self.name = name

    def __enter__(self):
        self.cluster.__enter__()
        return self

    def __exit__(self, kind, error, trace):
        try:
            if kind is None:
                self.cluster.stop()
        finally:
            self.cluster.forget()

    def call(self, operation, **members):
        client = Client(self.port)
        try:
            return client.call(operation, **members)
        finally:
            client.close()

    def get(self, path):
        return servers.page(self.port, path)

    # ---- tables ----

    def create(self, table, wcu=None, rcu=100, *, sort=False, partitions=1, **members):
        """A table, on demand without `wcu`. It is split by hand until it has so many partitions."""
        servers.make_table(self.port, table, wcu and (rcu, wcu), ("pk", "sk") if sort else ("pk",), **members)
        while (count := len(self.led(table))) < partitions:
            widest = max(self.led(table), key=lambda p: int(p["end_hash"], 16) - int(p["start_hash"], 16))
            self.split(table, widest["partition"])
            until(f"{table} has {count + 1} partitions", lambda n=count + 1: len(self.led(table)) == n)

    def change(self, table, wcu, rcu=100):
        servers.change_table(self.port, table, ProvisionedThroughput={
            "ReadCapacityUnits": rcu, "WriteCapacityUnits": wcu})

    def describe(self, table):
        return self.call("DescribeTable", TableName=table)["Table"]

    def split(self, table, partition):
        """Splits it in the middle of its hashes, once an earlier split is done."""
        def split():
            try:
                return self.cluster["router-1"].change(
                    "/weir/split", {"TableName": table, "Partition": partition})
            except urllib.error.HTTPError as error:
                text = error.read()
                if b"being split" not in text:
                    raise AssertionError(f"no split of partition {partition} of {table}: {text}") from error
                return None
        until(f"partition {partition} of {table} is split", split)

    def replicas(self, table):
        return self.get(f"/weir/partitions?table={table}")["partitions"]

    def leaders(self, table):
        """Its partitions as those who lead them tell, in key order."""
        return sorted((p for p in self.replicas(table) if p["role"] == "leader"),
                      key=lambda p: (p["start_hash"], p["end_hash"]))

    def led(self, table):
        """The same, once each of its partitions is led."""
        def all_led():
            found = self.replicas(table)
            led = [p for p in found if p["role"] == "leader"]
            return led if led and {p["partition"] for p in found} == {p["partition"] for p in led} else None
        return until(f"each partition of {table} is led", all_led)

    def events(self, table, kind):
        return [e for e in servers.events(self.port, table) if e["kind"] == kind]

    def keys(self, table, names, count, sort=False):
        """Of these names one for each of `count` partitions: a dict from partition to name."""
        found, before = {}, self.consumed(table)
        for name in names:
            item = {"pk": {"S": name}} | ({"sk": {"S": "probe"}} if sort else {})
            self.call("PutItem", TableName=table, Item=item)
            now = self.consumed(table)
            for partition in now:
                if now[partition] != before.get(partition):
                    found.setdefault(partition, name)
            before = now
            if len(found) >= count:
                return found
        raise AssertionError(f"no key for each partition of {table}: {found}")

    def consumed(self, table):
        return {p["partition"]: p["write"]["consumed"] for p in self.led(table)}

    def level(self, table, kind, bucket):
        """What is in a bucket of a table of one partition, at its leader."""
        return self.led(table)[0][kind]["balances"][bucket]

    # ---- nodes ----

    def leader_node(self, table):
        return f"node-{self.led(table)[0]['node']}"

    def follower_node(self, table, partition):
        """The follower that leads the fewest partitions of the table, the last of several."""
        found = self.replicas(table)
        leads = {p["node"]: sum(q["node"] == p["node"] and q["role"] == "leader" for q in found)
                 for p in found}
        followers = [p["node"] for p in found if p["partition"] == partition and p["role"] == "follower"]
        return f"node-{min(followers, key=lambda node: (leads[node], -node))}"

    def caught_up(self, voters=3):
        return servers.caught_up(self.port, voters)

    def restart(self, name, voters=3):
        """Stops a node in good order and starts it again; it has everything then."""
        self.cluster[name].stop()
        self.cluster[name].start()
        until(f"{name} has caught up", lambda: self.caught_up(voters))

    @contextlib.contextmanager
    def load(self, streams, duration_s, **members):
        load = Load(self.ports, streams, duration_s, **members)
        try:
            yield load
        finally:
            load.stop()

    def measure(self, streams, duration_s, **members):
        with self.load(streams, duration_s, **members) as load:
            return load.record()

    @contextlib.contextmanager
    def watching(self, function, every_s=0.25):
        """Calls function(self.get("/weir/partitions")) again and again beside the test."""
        class Watcher(servers.Worker):
            def step(_self):  # pylint: disable=no-self-argument
                with contextlib.suppress(OSError, ValueError):  # a router that is busy: the next time
                    function(self.get("/weir/partitions"))
                _self.stopping.wait(every_s)

        with servers.working(Watcher()):
            yield


def last_refusal_s(record, names, share=0.01):
    """The end of the last second with more than this share refused; 0: there is none."""
    return max((s["t"] + 1 for s in record.seconds(names) if s["refused"] > s["asked"] * share), default=0)


def rates(record, names, first, end):
    """Served in each whole second from `first` up to `end`."""
    return [s["served"] for s in record.seconds(names) if first <= s["t"] < end]


def short(summary):
    """A summary for the figures of a scene."""
    found = {k: summary[k] for k in ("asked", "served", "refused", "failed")}
    return found | ({"reasons": summary["reasons"]} if summary["refused"] else {}) | (
        {"failures": summary["failures"]} if summary["failed"] else {})
