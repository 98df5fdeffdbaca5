"""The scene `burst` of admission_test.py: what is saved is there exactly once, whatever happens to nodes."""
import time

import servers
from admission_bench import Bench, Checks, say, short
from open_loop import Load, Stream, beyond_rate
from servers import Client, Cluster, Refused, Unreachable, until

UNITS = 100  # per second, of writes and of reads
RATE = 500
KINDS = {"write": "PutItem", "read": "GetItem strong"}
SAVED = 3000  # by what is restarted
SLACK = 5  # tokens


def streams(table, rate, **members):
    return [Stream(table, rate=rate, operation=operation, name=f"{table} {kind}", **members)
            for kind, operation in KINDS.items()]


def judge(checks, figures, record, name, least, most):
    """Whether so many tokens were used; a request that failed may have used one, too."""
    used, failed = beyond_rate(record.rows([name]), UNITS), record.summary([name])["failed"]
    told = "nothing was refused" if used is None else f"{used:.1f} tokens were used"
    say(f"burst: {name}: {told}, {least:.0f} to {most:.0f} expected; {failed} failed")
    figures[name] = {"tokens": used and round(used, 1), "least": round(least), "most": round(most),
                     **short(record.summary([name]))}
    checks.check(used is not None and least - SLACK - failed <= used <= most + SLACK,
                 f"burst: {name}: {told}, {least:.0f} to {most:.0f} had been saved")


def full(b, table, seconds):
    return all(b.level(table, kind, "burst") >= UNITS * seconds for kind in KINDS)


def undisturbed(b, checks, figures, saved_s, rate, run_s):
    """A full bucket; beside it a table that is split while its bucket is used up."""
    with b.load(streams("plain", rate) + streams("split", rate, key="uniform", keys=1000), run_s) as load:
        load.wait_until(2)
        b.split("split", b.led("split")[0]["partition"])
        record = load.record()
    for table in ("plain", "split"):
        for kind in KINDS:
            judge(checks, figures, record, f"{table} {kind}", UNITS * (saved_s + 1), UNITS * (saved_s + 1))


def leader_dies(b, checks, figures, saved_s, rate, run_s):
    """The node comes back, and leads again, while the bucket is being used up."""
    with b.load(streams("died", rate), run_s) as load:
        load.wait_until(2)
        victim = b.leader_node("died")
        b.cluster[victim].kill()
        load.wait_until(4)
        b.cluster[victim].start()
        record = load.record()
    for kind in KINDS:
        judge(checks, figures, record, f"died {kind}", UNITS * (saved_s + 1), UNITS * (saved_s + 1))


# ---- restarts ----


def save(b, table):
    """Saved quickly at ten times the throughput, so that little comes in during a restart. Levels and their time."""
    b.create(table, wcu=10 * UNITS, rcu=10 * UNITS)
    until("burst is saved", lambda: full(b, table, SAVED / UNITS))
    b.change(table, wcu=UNITS, rcu=UNITS)
    until("the throughput is lowered", lambda: b.led(table)[0]["write"]["allocated"] == UNITS)
    return {kind: b.level(table, kind, "burst") for kind in KINDS}, time.monotonic()


def spend(ports, table, saved, since, checks, figures):
    """What was saved is there, and at most what has come in since."""
    run_s = 4 + 1.5 * max(saved.values()) / (RATE - UNITS)
    load = Load(ports, streams(table, RATE), run_s)
    try:
        record = load.record()
    finally:
        load.stop()
    came = UNITS * (load.start - since)
    for kind in KINDS:
        judge(checks, figures, record, f"{table} {kind}", saved[kind], saved[kind] + came + UNITS)


def rolling(options, directory, checks, figures):
    with Bench(options, directory, "rolling") as b:
        saved, since = save(b, "rolled")
        until("every replica has caught up", b.caught_up)
        for name in b.cluster.nodes:
            b.restart(name)
        spend(b.ports, "rolled", saved, since, checks, figures)


class Local(Bench):
    """`weir local` in the place of a cluster."""

    def __init__(self, options, directory):  # pylint: disable=super-init-not-called
        words = [word for s in ["gac=off", *options.set] for word in ("--set", s)]
        self.name = "local"
        [self.port] = self.ports = servers.free_ports(1)
        self.server = servers.Server(options.weir, [
            "local", "--port", self.port, "--admin", "127.0.0.1:0", "--data", directory / "local", *words],
            directory / "local.log")

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, kind, error, trace):
        self.server.forget()

    def restart(self, name="", voters=3):
        self.server.stop()
        self.server.start()
        Cluster.wait_answers(self.port)


def stopped(options, directory, checks, figures):
    """`weir local` is stopped in good order: what was saved is kept, and what is owed."""
    with Local(options, directory) as b:
        saved, since = save(b, "local")
        b.create("owing", wcu=5)
        client = Client(b.port)
        client.call("PutItem", TableName="owing", Item={"pk": {"S": "key"}, "v": {"S": "x" * 97 * 1000}})
        client.close()
        owed, owed_since = b.level("owing", "write", "allocation"), time.monotonic()
        b.restart()
        level, came = b.level("owing", "write", "allocation"), 5 * (time.monotonic() - owed_since)
        try:
            b.call("PutItem", TableName="owing", Item={"pk": {"S": "key"}})
            forgiven = True
        except (Refused, Unreachable) as error:
            forgiven = "Throughput" not in str(error)
        say(f"burst: debt of {owed:.1f} before weir local stopped, {level:.1f} after it, {came:.1f} came in")
        figures["debt"] = {"before": owed, "after": level, "came_in": round(came, 1)}
        checks.check(owed < -50, f"burst: no debt to begin with: {owed}")
        checks.check(not forgiven, f"burst: weir local forgave a debt of {owed:.1f} when it was stopped: {level:.1f}")
        spend(b.ports, "local", saved, since, checks, figures)


def burst(options, directory):
    """What a partition saved is there exactly, for writes and for strong reads: undisturbed, when the partition is
    split, when its leader dies, after a restart of all nodes one by one, after a stop of `weir local`."""
    checks, figures = Checks(), {}
    saved_s, rate, run_s = (300, RATE, 90) if options.long else (10, 300, 9)
    with Bench(options, directory, "burst", settings=[f"burst_max_s={saved_s}", "control_adaptive=0"]) as b:
        for table in ("plain", "split", "died"):
            b.create(table, wcu=UNITS, rcu=UNITS)
        rolling(options, directory, checks, figures)  # meanwhile the others save
        until("burst is saved", lambda: all(full(b, t, saved_s) for t in ("plain", "split", "died")), bound_s=400)
        until("every replica has caught up", b.caught_up)
        undisturbed(b, checks, figures, saved_s, rate, run_s)
        leader_dies(b, checks, figures, saved_s, *((rate, run_s) if options.long else (2 * UNITS, 15)))
    stopped(options, directory, checks, figures)
    return figures, checks
