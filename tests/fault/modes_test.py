#!/usr/bin/env python3
"""Throughput over time on real processes, each mechanism on and off, in a form that is scaled down.

  dilution   a partition that is split by hand: halves of a table refuse 34 % of what the whole served,
             until capacity adapts (scenario 9)
  spikes     five times what is provisioned: for as long as burst was saved, then not, unless the
             table has it to spare and capacity adapts (scenario 4)
  on-demand  twice the previous peak at once; four times, only once partitions were split; made ready
             ahead, at once too (scenario 11)

Settings shorten what takes minutes; every figure that is expected is computed from them. Clusters with
a mechanism on and off run side by side.
"""
import concurrent.futures

import admission_bench
import servers
from servers import Refused, check, say, until

JITTER_S = 0.1  # by which a busy machine may be late, at either end of what is counted


def near(value, exact, tolerance, what):
    say(f"{what}: {value:.1f}, computed {exact:.1f} +- {tolerance:.1f}")
    check(abs(value - exact) <= tolerance, f"{what}: {value} is not {exact} +- {tolerance}")


class Bench(admission_bench.Bench):
    """A cluster of three nodes and a router, with these settings."""

    def __init__(self, options, directory, name, settings):
        super().__init__(options, directory, name, settings=settings)

    def make(self, table, wcu=None, warm=None):
        self.create(table, wcu, 1, **({} if warm is None else {"WarmThroughput": {"WriteUnitsPerSecond": warm}}))

    def first_keys(self, table, count):
        """One key for each of the first `count` of its partitions, by their numbers."""
        parts = sorted(p["partition"] for p in self.led(table))[:count]
        found = {}
        for number in range(1000):
            if all(p in found for p in parts):
                break
            key, before = f"key{number}", self.consumed(table)
            self.call("PutItem", TableName=table, Item={"pk": {"S": key}})
            now = self.consumed(table)
            for p in now:
                if now[p] != before.get(p):
                    found.setdefault(p, key)
        return [found[p] for p in parts]

    def load(self, table, seconds, *workloads):
        """Of what `weir load` did, by second: offered and throttled, over all workloads."""
        arguments = [word for w in workloads for word in ("--workload", w)]
        done = servers.run_load(self.weir, [self.port], "--table", table, "--arrival", "constant", "--connections", 8,
                                "--duration", f"{seconds}s", *arguments)
        result = {"offered": [0] * seconds, "admitted": [0] * seconds, "throttled": [0] * seconds}
        for workload in done:
            check(workload["failed"] == 0, f"{self.name}: requests failed: {workload}")
            for second in workload["seconds"]:
                at = min(second["t"], seconds - 1)  # the last answers are late
                for name in result:
                    result[name][at] += second[name]
        return result


def per_thousand(result, first):
    return 1000 * sum(result["throttled"][first:]) / sum(result["offered"][first:])


def last_throttled(result):
    """The last second in which more than a hundredth was refused; -1: there is none."""
    return max((t for t, n in enumerate(result["throttled"]) if n * 100 > result["offered"][t]),
               default=-1)


def side_by_side(*tasks):
    """Runs each (function, arguments..) in a thread; their results."""
    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
        futures = [pool.submit(*task) for task in tasks]
        return [future.result() for future in futures]


# ---- dilution ----

UNITS, HOT, COLD = 200, 162, 18  # nine tenths are asked for, of that nine tenths in one half
HALF = UNITS // 2
# Seen after a report and two looks, and adaptive_after_ms; all that is lacking is given at once, as a
# mean of 5 s tells it.
ADAPTED_S = 2 + 1 + 1 + 5


def dilute(options, directory, adaptive, seconds):
    settings = [f"control_adaptive={adaptive}", "burst_max_s=0"]
    with Bench(options, directory, f"adaptive-{adaptive}", settings) as b:
        b.make("orders", wcu=UNITS)
        whole = b.load("orders", 3, f"all:rate={HOT + COLD}")
        check(sum(whole["throttled"]) == 0, f"the whole table throttled: {whole}")
        partition = b.leaders("orders")[0]["partition"]
        b.cluster["router-1"].change("/weir/split", {"TableName": "orders", "Partition": partition})
        until("both halves are led", lambda: len(b.leaders("orders")) == 2)
        check([p["write"]["allocated"] for p in b.leaders("orders")] == [HALF, HALF],
              f"not halves: {b.leaders('orders')}")
        hot, cold = b.first_keys("orders", 2)
        result = b.load("orders", seconds, f"hot:rate={HOT},distribution=single:{hot}",
                        f"cold:rate={COLD},distribution=single:{cold}")
        return result, len(b.events("orders", "allocation-raised"))


def dilution(options, directory):
    empty_s = 2  # the bucket of a second's allocation lasts HALF / (HOT - HALF)
    (off, _), (on, raised) = side_by_side((dilute, options, directory, 0, 12),
                                          (dilute, options, directory, 1, ADAPTED_S + 4))
    offered = sum(off["offered"][empty_s:])
    near(per_thousand(off, empty_s), 1000 * (HOT - HALF) / (HOT + COLD),
         1000 * 2 * (HALF * JITTER_S + 1) / offered, "of 1000 refused by halves")
    say(f"adaptive: {sum(on['throttled'])} refused, the last in second {last_throttled(on)}; "
        f"{raised} raises told")
    check(sum(on["throttled"]) > 0 and raised > 0, f"nothing was refused, or raised for it: {on}")
    check(last_throttled(on) < ADAPTED_S, f"refused until second {last_throttled(on)}: {on}")
    return {"static_refused_per_1000": round(per_thousand(off, empty_s)),
            "adaptive_last_refusal_s": last_throttled(on)}


# ---- spikes ----

SHARE, TIMES, SAVED_S = 20, 5, 8
SPIKE = SHARE * TIMES
# After a report and two looks, and adaptive_after_ms; all that is lacking is given at once, as a mean
# of 5 s tells it.
SPIKE_ADAPTED_S = 2 + 1 + 1 + 5


def is_full(b, table, seconds):
    return all(p["write"]["balances"]["burst"] >= SHARE * seconds for p in b.leaders(table))


def spike(options, directory, adaptive, saved_s):
    """At a table of one partition, and at one of the six of a table that has it to spare."""
    settings = [f"control_adaptive={adaptive}", f"burst_max_s={saved_s}", "partition_max_wcu=200"]
    with Bench(options, directory, f"adaptive-{adaptive}-burst-{saved_s}", settings) as b:
        b.make("whole", wcu=SHARE)
        b.make("part", wcu=6 * SHARE, warm=1200)
        key = b.first_keys("part", 1)[0]
        until("burst is saved", lambda: is_full(b, "whole", saved_s) and is_full(b, "part", saved_s))
        part_s = SPIKE_ADAPTED_S + 4
        return side_by_side((b.load, "whole", 8, f"all:rate={SPIKE}"),
                            (b.load, "part", part_s,
                             f"all:rate={SPIKE},distribution=single:{key}"))


def check_burst(result, seconds, saved_s):
    """Over the whole spike SHARE a second are allocated, a second more was in that bucket, and
    saved_s in the other: what is beyond the allocation, at the rate it was asked for."""
    lasted = (sum(result["admitted"]) - SHARE * seconds) / (SPIKE - SHARE)
    near(lasted, (saved_s + 1) / (TIMES - 1), (2 * SHARE * JITTER_S + 2) / (SPIKE - SHARE),
         f"seconds that a spike lasts, {saved_s} s saved")
    return lasted


def spikes(options, directory):
    (whole, on), (whole_off, off), (without, _) = side_by_side(
        (spike, options, directory, 1, SAVED_S), (spike, options, directory, 0, SAVED_S),
        (spike, options, directory, 0, 0))
    empty_s = 4
    lasted = check_burst(whole, 8, SAVED_S)  # a table at its limit is not helped
    check_burst(whole_off, 8, SAVED_S)
    at_once = check_burst(without, 8, 0)
    share = 1000 * (TIMES - 1) / TIMES
    near(per_thousand(off, empty_s), share,
         1000 * 2 * (SHARE * JITTER_S + 1) / sum(off["offered"][empty_s:]), "of 1000 refused then")
    relieved = last_throttled(on)
    say(f"adaptive: the last refusal in second {relieved}")
    check(sum(on["throttled"]) > 0, f"nothing was refused: {on}")
    check(relieved < SPIKE_ADAPTED_S + (SAVED_S + 1) / (TIMES - 1), f"until {relieved}: {on}")
    return {"burst_lasts_s": round(lasted, 2), "without_burst_s": round(at_once, 2),
            "adaptive_last_refusal_s": relieved}


# ---- on demand ----

MAXIMUM = 50  # of a partition; a new table has four
INITIAL = 4 * MAXIMUM
PEAK = INITIAL * 45 // 100  # below half, because keys come at random
# The peak is seen after two windows of on_demand_peak_ms at most, and a report and two looks; four
# splits, one after the other.
SPLIT_S = 2 + 2 + 4 * 2


def is_ready(b, table, units):
    warm = b.describe(table)["WarmThroughput"]
    return warm["Status"] == "ACTIVE" and warm["WriteUnitsPerSecond"] >= units


def went_on(b, table, rate, units):
    """Whether it is ready. The load goes on until then: what was seen as it began may be less than
    the whole rate, and more is not taken for a peak before the splits for that are made."""
    if not is_ready(b, table, units):
        b.load(table, 3, f"all:rate={rate}")
    return is_ready(b, table, units)


def doubled(b):
    b.make("doubled")
    refused = []
    for rate in (PEAK, 2 * PEAK, 4 * PEAK):
        result = b.load("doubled", 5, f"all:rate={rate}")
        refused.append(round(per_thousand(result, 0), 1))
        until(f"it is ready for {2 * rate}",
              lambda rate=rate: went_on(b, "doubled", rate, min(2 * rate, 8 * PEAK) * 95 // 100))
    say(f"of 1000 refused at {PEAK}, {2 * PEAK}, {4 * PEAK}/s: {refused}")
    # Without readiness it is hundreds. A machine that halts for half a second lets what was due come
    # at once, and a partition holds one second of its maximum.
    check(max(refused) <= 50, f"doubling throttles: {refused} of 1000")
    check(len(b.events("doubled", "peak")) > 0, "no event tells a peak")
    return refused


def jumped(b, seconds):
    b.make("jumped")
    b.load("jumped", 3, f"all:rate={PEAK}")
    return b.load("jumped", seconds, f"all:rate={4 * PEAK}"), len(b.events("jumped", "split"))


def made_ready(b):
    b.make("ready")
    told = b.call("UpdateTable", TableName="ready", WarmThroughput={"WriteUnitsPerSecond": 8 * MAXIMUM})
    check(told["TableDescription"]["WarmThroughput"]["Status"] == "UPDATING", f"at once? {told}")
    until("it is ready", lambda: is_ready(b, "ready", 8 * MAXIMUM))
    until("eight partitions are led", lambda: len(b.leaders("ready")) == 8)
    try:
        b.call("UpdateTable", TableName="ready", WarmThroughput={"WriteUnitsPerSecond": MAXIMUM})
        raise AssertionError("warm throughput was lowered")
    except Refused as refused:
        check("decreasing WarmThroughput" in refused.text, refused.text)
    return round(per_thousand(b.load("ready", 4, f"all:rate={4 * PEAK}"), 0), 1)


def grow(options, directory, on, seconds):
    settings = [f"partition_max_wcu={MAXIMUM}", f"on_demand_wcu={INITIAL}", "on_demand_rcu=100",
                "on_demand_peak_ms=1000", f"control_on_demand={on}", f"control_split={on}"]
    with Bench(options, directory, f"peaks-{on}", settings) as b:
        if on == 0:
            return [jumped(b, seconds)]
        return side_by_side((jumped, b, seconds), (doubled, b), (made_ready, b))


def on_demand(options, directory):
    [(jump, splits), refused, ready], [(stuck, stuck_splits)] = side_by_side(
        (grow, options, directory, 1, SPLIT_S + 6), (grow, options, directory, 0, 10))
    first = 2  # by then the buckets of a second's maximum are empty
    near(per_thousand(stuck, first), 1000 * (1 - INITIAL / (4 * PEAK)),
         1000 * 2 * (INITIAL * JITTER_S + 1) / sum(stuck["offered"][first:]),
         "of 1000 refused at four times the peak, nothing split")
    check(stuck_splits == 0, f"{stuck_splits} splits")
    last = last_throttled(jump)
    say(f"a jump: {sum(jump['throttled'])} refused, the last in second {last}; {splits} splits")
    check(splits > 0 and sum(jump["throttled"]) > 0, f"nothing refused or split: {jump}")
    check(last < SPLIT_S, f"refused until second {last}: {jump}")
    check(ready <= 10, f"made ready, {ready} of 1000 were refused")
    return {"doubled_refused_per_1000": refused, "jump_last_refusal_s": last, "jump_splits": splits,
            "stuck_refused_per_1000": round(per_thousand(stuck, first)),
            "made_ready_refused_per_1000": ready}


SCENES = {"dilution": dilution, "spikes": spikes, "on-demand": on_demand}


def run(options, directory):
    return SCENES[options.scene](options, directory)


if __name__ == "__main__":
    servers.case(__doc__, run, scene={"choices": SCENES, "positional": True})
