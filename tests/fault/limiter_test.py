#!/usr/bin/env python3
"""The rate limiter's books are right while routers and nodes are killed.

64 clients take tokens of a few buckets at all routers: without a name, with a name that is sent again until there is an
answer, under leases that are adjusted, rolled back or committed, and of an entity whose parent is charged too. The buckets
get more and fewer shards meanwhile, and one process after the other is killed with SIGKILL. Then:

  - no more was admitted in any window than capacity + rate * time;
  - of buckets that hardly refill, exactly what was answered is gone, but for requests whose outcome nobody knows;
  - parent and child were charged together or not at all;
  - buckets that refill are full again: no token is lost for good;
  - nothing is stuck: every request is answered, every merging ends;
  - a bucket with several shards that no router knows of any more is merged, too;
  - a router that reaches no node answers as the request says, and soon; then as if nothing had been.

  limiter_test.py                     20 s, for ctest
  limiter_test.py --seconds 600       the whole
"""
import collections
import http.client
import json
import random
import time

import servers
from servers import Cluster, page, say, until

CLIENTS = 64
YEAR_MS = 366 * 24 * 3600 * 1000
MTOK = 1000
# entity: (capacity, refill, period in ms)
LIMITS = {"hot": (4000, 4000, 4000), "slow": (20000, 20000, YEAR_MS), "named": (20000, 20000, YEAR_MS),
          "leased": (20000, 20000, YEAR_MS), "child": (50000, 50000, YEAR_MS), "org": (50000, 50000, YEAR_MS),
          "forgotten": (1000, 1000, 60000)}


class Lost(Exception):
    """Nobody knows what became of the request."""


class Limiter:
    """The API at one of several routers; the next one when a connection breaks."""

    def __init__(self, ports):
        self.ports, self.turn, self.connection = ports, random.randrange(len(ports)), None

    def call(self, method, path, body=None, name=None):
        headers = {"Content-Type": "application/json"}
        if name:
            headers["Idempotency-Key"] = name
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.ports[self.turn % len(self.ports)],
                                                             timeout=20)
            self.connection.request(method, "/limiter/v1/" + path, json.dumps(body) if body is not None else None, headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            if self.connection:
                self.connection.close()
            self.connection, self.turn = None, self.turn + 1
            raise Lost(repr(error)) from error

    def insist(self, method, path, body=None, name=None):
        """Asks until there is an answer other than 5xx. For requests that may be sent again."""
        why = None

        def answered():
            nonlocal why
            try:
                why = self.call(method, path, body, name)
                return why if why[0] < 500 else None
            except Lost as error:
                why = error
                return None
        try:
            return until(f"{method} {path} {body} is answered", answered, poll_s=0.05 * random.random())
        except AssertionError as error:
            raise AssertionError(f"{error}; at last: {why}") from error


class Worker(servers.Worker):
    def __init__(self, test, number):
        super().__init__()
        self.test, self.number = test, number
        self.limiter = Limiter(test.ports)
        self.count = 0
        self.taken = collections.Counter()   # tokens that are surely gone, by entity
        self.unknown = collections.Counter() # tokens that may be gone
        self.admitted = []                   # (begun, ended, tokens) of the hot bucket
        self.statuses = collections.Counter()

    def body(self, entity, tokens, **more):
        return {"entity": entity, "resource": "r", "consume": {"rpm": tokens}, **more}

    def step(self):
        what = random.choices(("hot", "slow", "named", "leased", "child"), (50, 15, 15, 10, 10))[0]
        tokens = random.choice((1, 1, 1, 2, 5))
        self.count += 1
        getattr(self, "take_" + what)(tokens)

    def take_plain(self, entity, tokens):
        begun = time.time()
        try:
            status, _ = self.limiter.call("POST", "acquire", self.body(entity, tokens))
        except Lost:
            status = 0
        self.statuses[(entity, status)] += 1
        if status == 200:
            self.taken[entity] += tokens
            return begun, time.time(), tokens
        if status != 429:
            self.unknown[entity] += tokens
            self.stopping.wait(0.01)
        return None

    def take_hot(self, tokens):
        admitted = self.take_plain("hot", tokens)
        if admitted:
            self.admitted.append(admitted)

    def take_slow(self, tokens):
        self.take_plain("slow", tokens)

    def take_child(self, tokens):
        self.take_plain("child", tokens)

    def take_named(self, tokens):
        status, answer = self.limiter.insist("POST", "acquire", self.body("named", tokens),
                                             f"{self.number}-{self.count}")
        self.statuses[("named", status)] += 1
        if status == 200:
            self.taken["named"] += tokens
        elif status != 429:
            raise AssertionError(f"a request with a name: {status} {answer}")

    def take_leased(self, tokens):
        status, answer = self.limiter.insist("POST", "acquire", self.body("leased", tokens, lease_ms=300000),
                                             f"{self.number}-{self.count}")
        self.statuses[("leased", status)] += 1
        if status == 429:
            return
        lease, more = answer["lease"], random.choice((-1, 0, 2))
        if more:
            lease = self.use("adjust", lease, adjust={"rpm": more})["lease"]
        if random.random() < 0.5:
            self.use("rollback", lease)
        else:
            self.use("commit", lease)
            self.taken["leased"] += tokens + more

    def use(self, what, lease, **more):
        status, answer = self.limiter.insist("POST", what, {"lease": lease, **more})
        if status != 200:
            raise AssertionError(f"{what}: {status} {answer}")
        return answer


class Test:
    def __init__(self, options, cluster):
        self.options, self.cluster = options, cluster
        self.ports = cluster.ports
        self.limiter = Limiter(self.ports)
        self.kills = collections.Counter()

    def configure(self):
        for entity, (capacity, amount, period) in LIMITS.items():
            status, answer = self.limiter.insist("PUT", "limits", {
                "entity": entity, "resource": "r",
                "limits": [{"name": "rpm", "capacity": capacity, "refill_amount": amount, "refill_period_ms": period}]})
            assert status == 200, answer
        status, answer = self.limiter.insist("PUT", "entities", {"entity": "child", "parent": "org"})
        assert status == 200, answer

    def kill_one(self):
        name = random.choice(self.cluster.nodes + self.cluster.routers)
        kind, server = name.split("-")[0], self.cluster[name]
        say(f"kills {name}")
        server.kill()
        self.pass_by(random.random())
        server.start()
        self.kills[kind] += 1
        if kind == "node":
            servers.wait_caught_up(self.ports[0])

    @staticmethod
    def pass_by(seconds):
        """Time in which the clients work."""
        end = time.monotonic() + seconds
        until("the clients have worked", lambda: time.monotonic() >= end)

    def work(self):
        workers = [Worker(self, i) for i in range(CLIENTS)]
        end = time.monotonic() + self.options.seconds
        with servers.working(*workers):
            while time.monotonic() < end:
                self.pass_by(self.options.kill_s)
                self.kill_one()
        return workers

    def available(self, entity):
        status, answer = self.limiter.insist("GET", f"available?entity={entity}&resource=r")
        assert status == 200, answer
        return round(answer["limits"][0]["available"] * MTOK)

    def is_merged(self, entity):
        status = self.limiter.insist("GET", f"status?entity={entity}&resource=r")[1]
        return status["shards"] == 1 and not status["merging"]

    def cut_off(self):
        """A router whose links to all nodes are cut; before, it knows the bucket's limits."""
        alone = Limiter(self.ports[:1])
        ask = lambda **more: alone.call("POST", "acquire", {  # noqa: E731
            "entity": "hot", "resource": "r", "consume": {"rpm": 1}, **more})
        until("the router knows the bucket", lambda: ask()[0] == 200)
        for node in self.cluster.nodes:
            self.cluster.cut("router-1", node)
        for choice, expected in (("allow", 200), ("block", 503)):
            begun = time.monotonic()
            status, answer = ask(on_unavailable=choice)
            if status != expected or "unavailable" not in json.dumps(answer):
                raise AssertionError(f"cut off, {choice}: {status} {answer}")
            if time.monotonic() - begun > 5:
                raise AssertionError(f"cut off, {choice}: the answer took {time.monotonic() - begun} s")
        self.cluster.heal()
        until("the router takes tokens again", lambda: ask(on_unavailable="block")[0] == 200)

    def shards_in_item(self, entity):
        """As a client of the table sees it: no router learns of the bucket by that."""
        item = servers.Client(self.ports[0]).call(
            "GetItem", TableName="weir-limiter", ConsistentRead=True,
            Key={"PK": {"S": f"default/BUCKET#{entity}#r#0"}, "SK": {"S": "#STATE"}})["Item"]
        return int(item["ct"]["N"]), item.get("mg", {}).get("BOOL", False)

    def press(self, entity):
        """Writes to the item as if it had been written too often, and asks for a token: the bucket grows."""
        self.limiter.insist("POST", "acquire", {"entity": entity, "resource": "r", "consume": {"rpm": 1}})
        servers.Client(self.ports[0]).call(
            "UpdateItem", TableName="weir-limiter", UpdateExpression="SET lm.wcu.tk = :n",
            ExpressionAttributeValues={":n": {"N": "-1000000"}},
            Key={"PK": {"S": f"default/BUCKET#{entity}#r#0"}, "SK": {"S": "#STATE"}})
        self.limiter.insist("POST", "acquire", {"entity": entity, "resource": "r", "consume": {"rpm": 1}})
        return self.shards_in_item(entity)[0] > 1

    def forget(self):
        until("the bucket grows", lambda: self.press("forgotten"), poll_s=0.2)
        for name in self.cluster.routers:
            self.cluster[name].kill()
            self.cluster[name].start()
        self.limiter.insist("POST", "acquire", {"entity": "hot", "resource": "r", "consume": {"rpm": 1}})
        until("a bucket that nobody asks for has one shard", lambda: self.shards_in_item("forgotten") == (1, False))


def worst_window(admitted, capacity, rate_s):
    """The most by which what was admitted in a window exceeds what may be, in tokens. Each request was decided
    between its begin and its end; so the window begins at a begin, and ends at an end."""
    longest = max((end - begin for begin, end, _ in admitted), default=0)
    bank, last, worst = 0.0, None, float("-inf")
    for _, end, tokens in sorted(admitted, key=lambda a: a[1]):
        if last is not None:
            bank = max(0.0, bank - rate_s * (end - last))
        last, bank = end, bank + tokens
        worst = max(worst, bank - capacity - rate_s * longest)
    return worst


def judge(test, workers):
    taken, unknown = collections.Counter(), collections.Counter()
    for w in workers:
        taken.update(w.taken)
        unknown.update(w.unknown)
    admitted = [a for w in workers for a in w.admitted]
    capacity, amount, period = LIMITS["hot"]
    excess = worst_window(admitted, capacity, amount * 1000 / period)
    if excess > 0:
        raise AssertionError(f"{excess} tokens too many were admitted in a window")
    for entity in LIMITS:  # while shards are merged, tokens are on their way from one to the other
        until(f"{entity} has one shard", lambda e=entity: test.is_merged(e))
    books = {}
    for entity in ("slow", "named", "leased", "child"):
        left = test.available(entity)
        gone = LIMITS[entity][0] * MTOK - left
        refilled = LIMITS[entity][1] * MTOK * 3600 * 1000 // YEAR_MS + 1  # an hour's, at most
        books[entity] = {"gone": gone, "answered": taken[entity] * MTOK, "unknown": unknown[entity] * MTOK}
        if not taken[entity] * MTOK - refilled <= gone <= (taken[entity] + unknown[entity]) * MTOK:
            raise AssertionError(f"the books of {entity} are wrong: {books[entity]}")
    child, org = test.available("child"), test.available("org")
    if abs(child - org) > LIMITS["org"][1] * MTOK * 3600 * 1000 // YEAR_MS + 1:
        raise AssertionError(f"child and parent were not charged together: {child} and {org} are left")
    until("the hot bucket is full", lambda: test.available("hot") == capacity * MTOK)
    return books, len(admitted), excess


def run(options, directory):
    settings = ["--set", "limiter_merge_ms=3000", "--set", "limiter_refresh_ms=300", "--set", "node_wcu=100000",
                "--set", "node_rcu=100000", "--set", "on_demand_wcu=20000", "--set", "on_demand_rcu=40000"]
    with Cluster(options.weir, directory, 3, 2, settings, gac=1) as cluster:
        port, test = cluster.ports[0], Test(options, cluster)
        test.configure()
        workers = test.work()
        statuses = collections.Counter()
        for w in workers:
            statuses.update(w.statuses)
        servers.wait_caught_up(port)
        books, admitted, excess = judge(test, workers)
        test.forget()
        test.cut_off()
        kinds = collections.Counter(e["kind"] for e in page(port, "/weir/events")["events"])
        servers.wait_caught_up(port)
        cluster.stop()
    servers.check_replicas(options.weir, cluster.data, settings)
    return {"seconds": options.seconds, "kills": dict(test.kills), "admitted_hot": admitted,
            "worst_window": round(excess, 3), "books": books, "grown": kinds["bucket-grown"],
            "merged": kinds["bucket-merged"], "statuses": {f"{e} {s}": n for (e, s), n in sorted(statuses.items())}}


if __name__ == "__main__":
    servers.case(__doc__, run, seconds=(20.0, "of load"), kill_s=(3.0, "between two kills"))
