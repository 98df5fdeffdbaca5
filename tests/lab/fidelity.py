#!/usr/bin/env python3
"""The same scenarios at several fidelities, side by side: docs/fidelity.md has the table.

  tests/lab/fidelity.py --weir build/weir                        admission and full; checks the bounds
  tests/lab/fidelity.py --weir build/weir --real                 real too: processes on this machine
  tests/lab/fidelity.py --weir build/weir --real --write         writes the table into docs/fidelity.md

Each scenario is scaled down, so that it fits on two cores at every fidelity. Three are not run at real. A
figure of full or real may be off from admission's by at most its bound. real is run up to three times until its
bounds hold. Exit code 1: a bound does not hold.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = os.path.join(ROOT, "docs", "fidelity.md")
BEGIN, END = "<!-- lab: fidelity -->", "<!-- lab: end -->"
SMALL = ["cluster.nodes=3", "cluster.routers=4"]
RUN_WITHIN_S = 300
ATTEMPTS = 3  # of real: other work on this machine shows in it
RELIEVED = 0.95  # of the rate before the fault


def measure(name, tenant=""):
    return lambda runs: runs[0]["measures"][tenant][name]


def versus(name, tenant):
    """The first policy's value by the second one's."""
    return lambda runs: runs[0]["measures"][tenant][name] / runs[1]["measures"][tenant][name]


def throttled(place, tenant, from_s, to_s):
    """The refused part of what was offered in these seconds, of a policy by its place."""
    def value(runs):
        series = runs[place]["series"]
        slots = slice(*(round(s / (series["slot_ns"] / 1e9)) for s in (from_s, to_s)))
        of = series["tenants"][tenant]
        refused = sum(sum(refusals[slots]) for refusals in of["refused"].values())
        return refused / sum(of["offered"][slots])
    return value


def of_policy(place, name, tenant=""):
    return lambda runs: runs[place]["measures"][tenant][name]


def relief(at_s):
    """Seconds from the end of a fault until a second admits as much as before it."""
    def value(runs):
        series = runs[0]["series"]
        slot_s = series["slot_ns"] / 1e9
        admitted = series["tenants"][""]["admitted"]
        at = round(at_s / slot_s)
        usual = statistics.fmean(admitted[round(3 / slot_s):round(8 / slot_s)])
        for i in range(at, len(admitted)):
            if admitted[i] >= RELIEVED * usual:
                return (i - at) * slot_s
        return math.inf
    return value


# Scenario, its policies, what is set; then rows: figure, value, bounds of |full - admission| and
# |real - admission|. Scenarios whose rows have no bound for real are not run there.
SCENARIOS = [
    ("spikes", ["burst"],
     ["duration=40s", "workloads.spike.start=22s", "cluster.settings.burst_max_s=20"],
     [("burst duration, s", measure("burst_duration"), 0.01, 0.25),
      ("throttle fraction", measure("throttle_fraction"), 0.001, 0.02)]),
    ("shifting-hotspot", ["weir", "static-routers"],
     SMALL + ["duration=30s", "warm=5s", "tables.most.partitions=8", "tables.nearly-all.partitions=8",
              "workloads.hot-60.rate=400", "workloads.hot-99.rate=400", "tables.most.wcu=430",
              "tables.nearly-all.wcu=430"],
     [("throttle fraction", measure("throttle_fraction"), 0.005, 0.03),
      ("throttle fraction, static-routers, hot-99", of_policy(1, "throttle_fraction", "hot-99"), 0.02, 0.04)]),
    ("static-skew", ["weir", "static-shares"],
     SMALL + ["duration=25s", "warm=5s"] +
     [f"tables.{name}.{what}" for name, rcu, wcu in (("mild", 800, 400), ("usual", 800, 400), ("strong", 400, 200),
                                                       ("limited", 200, 100))
      for what in (f"rcu={rcu}", f"wcu={wcu}", "partitions=8")] +
     ["workloads.1.rate=1080", "workloads.2.rate=1080", "workloads.3.rate=540", "workloads.4.rate=225"],
     [("throttle fraction", measure("throttle_fraction"), 0.002, 0.02),
      ("throttle fraction, static-shares, zipf-1.2", of_policy(1, "throttle_fraction", "zipf-1.2"), 0.02, 0.04)]),
    ("gac-loss", ["weir"],
     SMALL + ["duration=30s", "warm=2s", "workloads.above.routers=shares:40:30:20:10", "workloads.above.rate=1500",
              "tables.items.wcu=1000", "faults=[{kind: gac-down, which: 0, at: 12s, for: 6s}]"],
     # In the outage routers have the parts that the last answers told, and these differ by chance.
     [("throttle fraction", measure("throttle_fraction"), 0.02, 0.03),
      ("over-admission, 10 s", measure("over_admission_10s"), 0.01, 0.02),
      ("relief time, s", relief(18), 1, 2)]),
    ("noisy-neighbour", ["weir", "alone"],
     ["cluster.nodes=3", "cluster.routers=2", "duration=25s", "warm=5s", "tables.victim.copies=5",
      "workloads.victims.rate=50", "tables.noisy.wcu=300", "tables.noisy.partitions=6", "workloads.noise.rate=900"],
     [("throttle fraction of victims", measure("throttle_fraction", "victims"), 0, 0.001),
      ("isolation: victims' p99 by p99 alone", versus("latency_p99", "victims"), 0.1, 5)]),
    ("read-heavy", ["weir", "leader-only"],
     ["duration=15s", "warm=5s", "cluster.settings.node_rcu=400", "tables.items.rcu=100",
      "workloads.readers.rate=2800"],
     [("throttle fraction", measure("throttle_fraction"), 0.03, 0.08),
      ("admitted by leader-only's", versus("admitted_rate", ""), 0.3, 0.5)]),
    # real refuses node-busy, and its processors and latencies are those of this machine.
    ("busy-follower", ["gauge", "lease", "off"], [],
     [("bursts throttled, gauge, 20 s to 40 s", throttled(0, "bursting", 20, 40), 0.02, None),
      ("bursts throttled, lease, 20 s to 40 s", throttled(1, "bursting", 20, 40), 0.02, None),
      ("throttle fraction of allocated, gauge", of_policy(0, "throttle_fraction", "allocated"), 0, None),
      ("p99 of all, gauge, ms", measure("latency_p99"), 60, None),
      ("throttle fraction, off", of_policy(2, "throttle_fraction"), 0.01, None)]),
    ("flatness", ["weir", "slow-nodes"],
     ["cluster.nodes=3", "cluster.routers=4", "cluster.costs.cores=1"] +
     [f"tables.{table}.{what}" for table in (1, 2) for what in ("rcu=4000", "wcu=4000", "partitions=8")] +
     ["tables.limited.wcu=50", "workloads.beyond.rate=40"] +
     [f"workloads.{table}.rate=steps:100:200:300:400:500:600:700:800:900:1000:5" for table in (1, 2)],
     [("p50, ms", measure("latency_p50"), 0.05, None),
      ("p99, ms", measure("latency_p99"), 0.1, None),
      ("slope of the p99", measure("latency_slope_p99"), 0.05, None),
      ("p50, slow-nodes, ms", of_policy(1, "latency_p50"), 0.3, None),
      ("p99, slow-nodes, ms", of_policy(1, "latency_p99"), 1.5, None)]),
    ("overload", ["weir", "breakwater"],
     ["tables.steady.rcu=120", "tables.flooded.rcu=120", "cluster.costs.read=2500us", "cluster.costs.refuse=50us", "workloads.steady.rate=96",
      "workloads.flood.rate=spike:100:12000:10:20"],
     [("throttle fraction", measure("throttle_fraction"), 0.01, None),
      ("throttle fraction of steady", measure("throttle_fraction", "steady"), 0.01, None),
      ("p50, ms", measure("latency_p50"), 12, None),
      ("throttle fraction, breakwater", of_policy(1, "throttle_fraction"), 0.02, None)]),
]


def run(weir, scenario, policy, fidelity, settings, directory):
    command = [weir, "lab", "run", scenario, "--fidelity", fidelity, "--only", policy, "--seeds", "1",
               "--quiet", "--jobs", "1", "--out", directory]
    for one in settings:
        command += ["--set", one]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_WITHIN_S, check=False)
    found = [os.path.join(path, name) for path, _, names in os.walk(os.path.join(directory, "runs"))
             for name in names]
    if len(found) != 1:  # expectations need not hold: the scenario is scaled down
        raise SystemExit("%s at %s: %s" % (scenario, fidelity, done.stderr.strip() or "no result"))
    with open(found[0], encoding="utf-8") as f:
        return json.load(f)


def figures(weir, fidelity, scenario, policies, settings, rows):
    runs = []
    with tempfile.TemporaryDirectory() as directory:
        for policy in policies:
            runs.append(run(weir, scenario, policy, fidelity, settings, os.path.join(directory, policy)))
    return [value(runs) for _, value, _, _ in rows]


def shown(value):
    if value is None:
        return "-"
    return "never" if math.isinf(value) else "%.4g" % value


def is_run(fidelity, rows):
    return fidelity != "real" or all(row[3] is not None for row in rows)


def bound_of(row, fidelity):
    return row[2] if fidelity == "full" else row[3]


def faults_of(scenario, fidelity, rows, expected, values):
    return ["%s, %s: %s is %s, admission %s: more than %g apart"
            % (scenario, row[0], fidelity, shown(v), shown(e), bound_of(row, fidelity))
            for row, e, v in zip(rows, expected, values) if not abs(v - e) <= bound_of(row, fidelity)]


def row_of(scenario, row, values):
    bounds = ", ".join("-" if b is None else "%g" % b for b in row[2:][:len(values) - 1])
    return "| %s | %s | %s | %s |" % (scenario, row[0], " | ".join(map(shown, values)), bounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", help="one scenario")
    o = parser.parse_args()
    fidelities = ["admission", "full"] + (["real"] if o.real else [])
    lines = ["| scenario | figure | " + " | ".join(fidelities) + " | may differ by |",
             "|---" * (3 + len(fidelities)) + "|"]
    wrong = []
    for scenario, policies, settings, rows in SCENARIOS:
        if o.only and scenario != o.only:
            continue
        columns = [figures(o.weir, "admission", scenario, policies, settings, rows)]
        for fidelity in fidelities[1:]:
            if not is_run(fidelity, rows):
                columns.append([None] * len(rows))
                continue
            for left in range(ATTEMPTS if fidelity == "real" else 1, 0, -1):
                column = figures(o.weir, fidelity, scenario, policies, settings, rows)
                faults = faults_of(scenario, fidelity, rows, columns[0], column)
                if not faults or left == 1:
                    break
            columns.append(column)
            wrong += faults
        lines += [row_of(scenario, row, [column[i] for column in columns]) for i, row in enumerate(rows)]
    print("\n".join(lines))
    if o.write:
        with open(DOCUMENT, encoding="utf-8") as f:
            text = f.read()
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        with open(DOCUMENT, "w", encoding="utf-8") as f:
            f.write(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after)
    for one in wrong:
        print(one, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
