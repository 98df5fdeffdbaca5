"""Scenes of admission_test.py about nodes and the members of groups: dead, hung, used up, shared."""
import contextlib
import os
import pathlib
import statistics

import open_loop
from admission_bench import (Bench, Checks, last_refusal_s, rates, say, short)
from open_loop import SERVED, Stream
from servers import until

# ---- a follower dies ----

LIMIT, PARTITIONS = 1000, 4


def hottest(bench, load, from_s, until_s):
    """The partition that is written most from one second to another, and its units a second."""
    load.wait_until(from_s)
    before, began = bench.consumed("skewed"), load.now()
    load.wait_until(until_s)
    after, seconds = bench.consumed("skewed"), load.now() - began
    units = {p: (after[p] - before[p]) / seconds for p in after}
    return max(units.items(), key=lambda item: item[1])


def kill_under(bench, stream, death_s, return_s, run_s):
    """The record of a load during which a follower of the hottest partition is dead, when it died and came back."""
    with bench.load([stream], run_s) as load:
        partition, units = hottest(bench, load, 1, death_s)
        if units < 1.1 * LIMIT / PARTITIONS:
            raise AssertionError(f"no partition bursts: {units:.0f} units/s are most; nothing can be shown")
        victim = bench.follower_node("skewed", partition)
        died_s = load.now()
        bench.cluster[victim].kill()
        load.wait_until(return_s)
        back_s = load.now()
        bench.cluster[victim].start()
        return load.record(), victim, died_s, back_s


def dead_follower(options, directory, name, stream, nodes, write_check):
    dead_s = 40 if options.long else 8
    settings = [f"write_check={write_check}"]
    with Bench(options, directory, f"{name}-{nodes}-{write_check}", nodes=nodes, gac=1,
               settings=settings) as b:
        b.create("skewed", wcu=LIMIT, partitions=PARTITIONS)
        record, victim, died_s, back_s = kill_under(b, stream, 4, 4 + dead_s, 8 + dead_s)
    far = [record.summary(None, 0, died_s - 1), record.summary(None, died_s + 1)]
    asked, refused = (sum(part[k] for part in far) for k in ("asked", "refused"))
    reasons = [part["reasons"] for part in far]
    dead = record.summary(None, died_s + 1, back_s)
    # What a bucket of the table's limit that holds a second would have served.
    false, within = open_loop.false_throttles(record.rows(), LIMIT, LIMIT)
    say(f"{nodes} nodes, {write_check}: {victim} dead for {back_s - died_s:.1f} s; {refused} of {asked} "
        f"throttled outside one second around its death: {reasons}")
    figures = {"asked": asked, "refused": refused, "reasons_before_and_after": reasons,
               "while_dead_refused_percent": round(100 * dead["refused"] / dead["asked"], 2),
               "while_dead_served_per_s": round(dead["served"] / (back_s - died_s - 1), 1),
               "refused_by_second": {s["t"]: s["refused"] for s in record.seconds() if s["refused"]},
               "died_s": round(died_s, 2), "back_s": round(back_s, 2), "false_throttle_ratio": round(false / within, 6),
               "failed": record.summary()["failed"], "sent_late": record.late(0.05)}
    missed = None
    if refused > max(1, asked * options.most):
        missed = (f"{name}, {nodes} nodes, write_check={write_check}: {refused} of {asked} throttled "
                  f"outside one second around the death, at most {options.most:.2%} may be: {reasons}")
    return figures, missed


def dead_follower_arms(options, directory, name, stream):
    figures, checks = {}, Checks()
    for nodes in (3, 5) if options.long else (options.nodes,):
        for write_check in ("gauge", "lease"):
            key = f"{nodes} nodes, {write_check}"
            figures[key], missed = dead_follower(options, directory, name, stream, nodes, write_check)
            checks.check(missed is None, missed)
    return figures, checks


def dead_follower_zipf(options, directory):
    """Four fifths of a table's limit by Zipf 0.99, while a follower's node is dead: nothing is throttled."""
    return dead_follower_arms(options, directory, "dead-follower-zipf",
                              Stream("skewed", rate=0.8 * LIMIT, key="zipf", keys=100, prefix="user"))


def dead_follower_one(options, directory):
    """700 writes a second to one partition that is allocated 250, while a follower's node is dead."""
    return dead_follower_arms(options, directory, "dead-follower-one", Stream("skewed", rate=700))


# ---- a follower is busy ----

SMALL, LARGE, NODE = 100, 500, 600


def used_up_elsewhere(b, small, large):
    """Whether the leader of `small` is on a node without a replica of `large`, which another of its nodes has."""
    of_small, of_large = b.replicas(small), {p["node"] for p in b.replicas(large)}
    leader = b.led(small)[0]["node"]
    return leader not in of_large and any(p["node"] in of_large for p in of_small)


@contextlib.contextmanager
def saver_and_tenant(options, directory, name, write_check, scale, saved):
    """A cluster with a table that has saved burst, and a tenant that can use up the node of one of its followers."""
    small, large, node = (units // scale for units in (SMALL, LARGE, NODE))
    settings = [f"node_wcu={node}", f"write_check={write_check}", "control_leaders=0", "control_balance=0"]
    with Bench(options, directory, f"{name}-{write_check}", nodes=5, settings=settings) as b:
        b.create("saver", wcu=node)  # saved soon, then lowered
        until("burst is saved", lambda: b.level("saver", "write", "burst") >= saved)
        b.change("saver", wcu=small)
        b.create("tenant", wcu=large)
        until("the leader is on a node without the tenant, a follower on one with it",
              lambda: used_up_elsewhere(b, "saver", "tenant") or b.restart(b.leader_node("saver")))
        yield b, [Stream("tenant", rate=large * 1.1), Stream("saver", rate=3 * small)]


def busy_follower(options, directory):
    """Burst writes are refused with the reason `member` where another tenant uses up a follower's node;
    allocated writes of both pass."""
    checks, figures = Checks(), {}
    first_s, run_s = 4, 20 if options.long else 9
    for write_check in ("gauge", "lease"):
        with saver_and_tenant(options, directory, "busy-follower", write_check, 1, 2 * SMALL * run_s) as (b, streams):
            record = b.measure(streams, run_s)
        saver = record.summary(["saver"], first_s, run_s)
        tenant = record.summary(["tenant"], first_s, run_s)
        seconds = run_s - first_s
        say(f"{write_check}: saver {saver['served'] / seconds:.1f}/s of {3 * SMALL}, {saver['reasons']}; tenant "
            f"{tenant['served'] / seconds:.1f}/s")
        figures[write_check] = {"saver": short(saver), "tenant": short(tenant), "sent_late": record.late(0.05),
                                "saver_by_second": rates(record, ["saver"], 0, run_s)}
        allocated = SMALL * seconds
        checks.check(saver["served"] >= 0.98 * allocated - 5,
                     f"busy-follower, {write_check}: {saver['served']} of {allocated} allocated writes passed")
        # Without the check all pass. Where the tenant is late for a moment, its node has headroom for a moment.
        checks.check(saver["served"] <= 1.5 * allocated,
                     f"busy-follower, {write_check}: {saver['served']} writes passed, {allocated} are allocated: bursts "
                     "pass although a follower's node is used up")
        checks.check(saver["reasons"].get("member", 0) >= 0.95 * saver["refused"] > 0,
                     f"busy-follower, {write_check}: refused for other reasons than `member`: {saver['reasons']}")
        checks.check(tenant["served"] >= 0.98 * LARGE * seconds,
                     f"busy-follower, {write_check}: the tenant got {tenant['served']} of {LARGE * seconds} allocated")
    return figures, checks


def refused_by_member(options, directory):
    """The same at a tenth of the rates, with no bound on how much passes: sooner or later burst writes are refused
    with the reason `member`, and writes of both tables pass."""
    checks, figures, scale = Checks(), {}, 10
    for write_check in ("gauge", "lease"):
        with saver_and_tenant(options, directory, "refused-by-member", write_check, scale, 2 * SMALL) as (b, streams):
            def is_refused():
                # The rates are low: a busy machine keeps them, and burst is left for five rounds.
                record = b.measure(streams, 2)  # pylint: disable=cell-var-from-loop
                found = {s.name: short(record.summary([s.name])) for s in streams}  # pylint: disable=cell-var-from-loop
                figures[write_check] = found  # pylint: disable=cell-var-from-loop
                return found["saver"].get("reasons", {}).get("member") and all(f["served"] for f in found.values())
            until("burst writes are refused for their follower's node", is_refused)
    return figures, checks


# ---- a neighbour ----


class Lowest:
    """The lowest level of write buckets of nodes that was seen, by node."""

    def __init__(self):
        self.levels = {}

    def __call__(self, page):
        for p in page["partitions"]:
            level = p["write"]["balances"]["node"]
            self.levels[p["node"]] = min(level, self.levels.get(p["node"], level))


PART_S = 10  # half of a round
CALM_S = 1  # what the latencies alone leave out at their start: answers to the noisy table may still be due


def foreign_user_s(b, *loads):
    """The processor time in user mode of all processes so far, but for those of the scene."""
    own = [os.getpid(), *(s.process.pid for s in b.cluster.names.values()), *(w.pid for l in loads for w in l.workers)]
    ticks = sum(int(word) for word in pathlib.Path("/proc/stat").read_text().split()[1:3])
    for pid in own:
        ticks -= int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])
    return ticks / os.sysconf("SC_CLK_TCK")


def latencies(options, directory, name, node_wcu, quiet, make):
    """The latencies of the streams `quiet`, in rounds: alone, then beside a new on-demand table that asks for twice
    what the nodes have. The table has a client process of its own. `foreign_cores` tells how many cores other
    processes of the machine used: where they used many, the figures are the machine's."""
    checks, rounds = Checks(), []
    names, run_s = [s.name for s in quiet], 2 * PART_S * options.rounds
    loud = [Stream(f"noisy{n:02d}", rate=2 * node_wcu, begin=(2 * n + 1) * PART_S, end=(2 * n + 2) * PART_S,
                   key="uniform", keys=5000) for n in range(options.rounds)]
    with Bench(options, directory, f"{name}-rounds", gac=1, settings=[f"node_wcu={node_wcu}"]) as b:
        make(b)
        for stream in loud:
            b.create(stream.table)
        with b.load(quiet, run_s) as load, b.load(loud, run_s) as other:
            foreign = [foreign_user_s(b, load, other)]
            for part in range(1, 2 * options.rounds + 1):
                load.wait_until(part * PART_S)
                foreign.append(foreign_user_s(b, load, other))
            record, noisy = load.record(), other.record()
    for n, stream in enumerate(loud):
        alone = record.latencies_ms(names, (50, 99), stream.begin - PART_S + CALM_S, stream.begin)
        beside = record.latencies_ms(names, (50, 99), stream.begin, stream.end)
        rounds.append({"alone_ms": alone, "beside_ms": beside, "p99_ratio": round(beside["p99"] / alone["p99"], 2),
                       "noisy_served_per_s": round(noisy.summary([stream.name])["served"] / PART_S, 1),
                       "foreign_cores": round((foreign[2 * n + 2] - foreign[2 * n]) / (2 * PART_S), 2)})

    def median(part, point):
        return statistics.median(r[part][point] for r in rounds)

    ratio = statistics.median(r["p99_ratio"] for r in rounds)
    figures = {"p99_ratio": ratio, "neighbours": short(record.summary(names)), "sent_late": record.late(0.05),
               "alone_ms": {p: median("alone_ms", p) for p in ("p50", "p99")},
               "beside_ms": {p: median("beside_ms", p) for p in ("p50", "p99")}, "rounds": rounds}
    say(f"{name}: medians of {options.rounds} rounds: p99 alone {figures['alone_ms']['p99']} ms, beside the noisy table "
        f"{figures['beside_ms']['p99']} ms, ratio {ratio}")
    checks.check(options.ratio is None or ratio <= options.ratio,
                 f"{name}: the neighbours' p99 rises {ratio} times, at most {options.ratio} times is wanted")
    return figures, checks


def noise(options, directory, name, node_wcu, quiet, make, *, begin_s, end_s, run_s):
    """A new on-demand table asks for twice what the nodes have. The streams `quiet` lose nothing."""
    if options.rounds:
        return latencies(options, directory, name, node_wcu, quiet, make)
    checks = Checks()
    with Bench(options, directory, name, gac=1, settings=[f"node_wcu={node_wcu}"]) as b:
        make(b)
        b.create("noisy")
        lowest = Lowest()
        loud = Stream("noisy", rate=2 * node_wcu, begin=begin_s, end=end_s, key="uniform", keys=5000)
        with b.watching(lowest):
            record = b.measure([*quiet, loud], run_s)
    names = [s.name for s in quiet]
    calm = record.summary(names)
    noisy = record.summary(["noisy"])
    late = record.summary(["noisy"], begin_s + 3, end_s)
    figures = {"neighbours": short(calm), "noisy": short(noisy),
               "noisy_served_per_s": round(late["served"] / (end_s - begin_s - 3), 1),
               "neighbours_served_by_second": rates(record, names, 0, run_s),
               "node_level_lowest": {f"node-{n}": round(v, 1) for n, v in sorted(lowest.levels.items())},
               "neighbours_ms": record.latencies_ms(names), "sent_late": record.late(0.05)}
    say(f"{name}: neighbours {short(calm)}; noisy {figures['noisy_served_per_s']}/s of {loud.rate}, "
        f"{noisy['reasons']}; lowest levels {figures['node_level_lowest']}")
    told = sum(noisy["reasons"].get(reason, 0) for reason in ("node", "member"))
    worst = last_refusal_s(record, names, 0)
    checks.check(calm["refused"] <= calm["asked"] * options.stalls,
                 f"{name}: {calm['refused']} of the neighbours' {calm['asked']} requests were refused, until second "
                 f"{worst}: {calm['reasons']}")
    checks.check(calm["failed"] == 0, f"{name}: neighbours' requests failed: {calm['failures']}")
    checks.check(told > 0, f"{name}: the noisy table was not told `node` or `member`: {noisy['reasons']}")
    checks.check(min(lowest.levels.values()) >= -node_wcu, f"{name}: a node's debt is more than a second of its "
                 f"rate of {node_wcu}: {figures['node_level_lowest']}")
    return figures, checks


def neighbour(options, directory):
    """A new on-demand table asks for twice the nodes' capacity. A neighbour that bursts beyond its partition's
    allocation, within its table's limit, is refused nothing. The noisy table is told `node` or `member`."""
    def make(b):
        b.create("quiet", wcu=400, partitions=4)

    times = {"begin_s": 3, "end_s": 13, "run_s": 18}
    if options.long:
        times = {"begin_s": 10, "end_s": 30, "run_s": 60}
    return noise(options, directory, "neighbour", 1500, [Stream("quiet", rate=250)], make, **times)


def victims(options, directory):
    """The same beside tables that ask for four fifths of their allocation."""
    node_wcu, count = (3000, 20) if options.long else (1500, 10)

    def make(b):
        for n in range(count):
            b.create(f"victim{n:02d}", wcu=100)

    times = {"begin_s": 3, "end_s": 11, "run_s": 14}
    if options.long:
        times = {"begin_s": 10, "end_s": 30, "run_s": 40}
    quiet = [Stream(f"victim{n:02d}", rate=80, key="uniform", keys=100) for n in range(count)]
    return noise(options, directory, "victims", node_wcu, quiet, make, **times)


# ---- bursts share a node ----

ASKED = {"first": 400, "second": 900, "third": 200}
OPTIMUM = {"first": 400, "second": 400, "third": 200}  # max-min of what a node of 1,000 has
SHARE = 100


def leaders_of(b):
    return {table: b.led(table)[0]["node"] for table in ASKED}


def create_led_by(b, table, wcu, node):
    """A table whose leader is on this node. Small tables take the turns of other nodes."""
    for n in range(20):
        b.create(table, wcu=wcu)
        if b.led(table)[0]["node"] == node:
            return
        b.call("DeleteTable", TableName=table)
        until(f"{table} is gone", lambda: table not in b.call("ListTables")["TableNames"])
        b.create(f"filler-{table}-{n}", wcu=1)
    raise AssertionError(f"no way to a leader on node {node}: {b.replicas(table)}")


def fair_saved(b, nodes, run_s):
    """Tables with leaders on these nodes and burst for the whole load: saved at three times their throughput."""
    for table, node in zip(ASKED, nodes):
        create_led_by(b, table, 3 * SHARE, node)

    def saved():
        for table, rate in ASKED.items():
            if b.level(table, "write", "burst") < (run_s + 1) * (rate - SHARE):
                return False
        return True

    return saved


def fair_load(b, run_s, first_s, checks):
    for table in ASKED:
        b.change(table, wcu=SHARE)
    before = leaders_of(b)
    record = b.measure([Stream(t, rate=rate) for t, rate in ASKED.items()], run_s)
    after = leaders_of(b)
    seconds = run_s - first_s
    parts = {t: record.summary([t], first_s, run_s) for t in ASKED}
    served = {t: parts[t]["served"] / seconds for t in ASKED}
    index = open_loop.jain([max(0, served[t] - SHARE) / (OPTIMUM[t] - SHARE) for t in ASKED])
    name = "leaders on nodes " + ", ".join(str(n) for n in before.values())
    say(f"{name}: {', '.join(f'{v:.1f}' for v in served.values())}/s, Jain {index:.4f}")
    for t in ASKED:
        checks.check(abs(served[t] - OPTIMUM[t]) <= 0.03 * OPTIMUM[t],
                     f"fair-bursts: {name}: the {t} table got {served[t]:.1f}/s, its fair part is "
                     f"{OPTIMUM[t]} +- 3 %: {parts[t]['reasons']}")
    checks.check(index >= 0.995, f"fair-bursts: {name}: Jain's index of bursts is {index:.4f}, not 0.995")
    return {"served_per_s": {t: round(v, 1) for t, v in served.items()}, "jain": round(index, 4),
            "leaders_before": before, "leaders_after": after, "sent_late": record.late(0.05),
            "reasons": {t: parts[t]["reasons"] for t in ASKED}}


def fair_bursts(options, directory):
    """Three tables of 100 WCU that ask for 400, 900 and 200 of nodes of 1,000 get 400, 400 and 200: with leaders
    on three nodes, and on one."""
    # What the nodes' buckets held at the start is used up in halves, a second each.
    first_s, run_s = 6, 18 if options.long else 12
    settings = ["node_wcu=1000", "control_leaders=0", "control_balance=0", "control_split=0", "control_adaptive=0"]
    figures, checks = {}, Checks()
    with Bench(options, directory, "fair-three", settings=settings) as three, \
            Bench(options, directory, "fair-one", settings=settings) as one:
        arms = {"leaders on three nodes": (three, [1, 2, 3]), "leaders on one node": (one, [1, 1, 1])}
        saved = [fair_saved(b, nodes, run_s) for b, nodes in arms.values()]
        until("burst is saved", lambda: all(f() for f in saved))
        for name, (b, _) in arms.items():
            figures[name] = fair_load(b, run_s, first_s, checks)
    return figures, checks


# ---- a leader hangs ----


def hung(options, directory):
    """The leader stands still (SIGSTOP): writes succeed again soon."""
    checks, rounds, hung_s = Checks(), [], 20 if options.long else 7
    with Bench(options, directory, "hung", settings=["control_leaders=0"]) as b:
        b.create("hung", wcu=1000)
        for number in range(3 if options.long else 1):
            with b.load([Stream("hung", rate=200)], hung_s + 5, connections=6000) as load:
                load.wait_until(2)
                node, paused_s = b.leader_node("hung"), load.now()
                b.cluster[node].pause()
                try:
                    load.wait_until(2 + hung_s)
                finally:
                    b.cluster[node].resume()
                record = load.record()
            done = [end for at, outcome, _, _, end in record.rows() if outcome == SERVED and at > paused_s]
            first_s = min(done, default=float("inf")) - paused_s
            failed = record.summary()["failures"]
            answered_s = [end - due for _, outcome, _, due, end in record.rows() if outcome != SERVED]
            say(f"round {number + 1}: {node} hung; first success after {first_s:.2f} s; failed: {failed}")
            rounds.append({"first_success_s": round(first_s, 3), "failed": failed,
                           "failed_longest_s": round(max(answered_s, default=0), 2),
                           "served_ms": record.latencies_ms(),
                           "served_by_second": rates(record, None, 0, hung_s + 5)})
            until("every replica has caught up", b.caught_up)
    worst = max(r["first_success_s"] for r in rounds)
    checks.check(worst <= options.within, f"hung: the first success came after {worst} s, not {options.within} s")
    return {"rounds": rounds}, checks


