#!/usr/bin/python3
"""Computes the optimum of runs again, from what `weir lab run --out DIR --requests` keeps.

  weir_optimum.py DIR             # the optimum of each window, compared with weir's measures
  weir_optimum.py --horizon DIR   # the optimum of the whole run, by one linear program

The max-min optimum is computed by water-filling in whole numbers, with balances of its own. The
greatest totals are computed by linear programs (HiGHS). Nothing here calls weir. Exit code 1: a
value differs. docs/requests.md of weir describes the files, docs/measures.md the optimum. Runs of
scenarios whose tenants have parents are refused: there the optimum is divided along a tree.
"""
import argparse
import collections
import copy
import csv
import gzip
import json
import pathlib
import sys

import numpy
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

FORMATS = {"requests": "weir-requests-1", "windows": "weir-windows-1"}
NS_PER_S, MCU = 10**9, 1000
CLOSE = 1e-9  # what sums of doubles differ by


class Problem:
    """One problem of a window: capacities of resources (None: unlimited), and flows that debit them."""

    def __init__(self):
        self.capacity, self.bucket, self.kinds = {}, {}, {}
        self.flows, self.debits = [], []
        self.bound, self.policy = None, None


class Flow:
    def __init__(self, row):
        self.number = int(row["flow"])
        self.weight, self.demand = int(row["weight"]), int(row["demand_mcu"])
        self.fair = int(row["fair_mcu"])
        self.admitted, self.refused = int(row["admitted_mcu"]), int(row["refused_mcu"])
        self.refused_min = int(row["refused_min_mcu"])
        self.debits = {}


def rows_of(path, kind):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        words = file.readline().rstrip("\n").split(" ", 2)
        if words[:2] != ["#", FORMATS[kind]]:
            raise ValueError(f"{path} is not a file of {FORMATS[kind]}: it begins with `{' '.join(words)[:80]}`")
        yield json.loads(words[2])
        yield from csv.DictReader(file)


def read_problems(path):
    """The head of the file, and the problems by the start of their window and their name."""
    rows = rows_of(path, "windows")
    head, problems = next(rows), collections.defaultdict(Problem)
    for row in rows:
        problem = problems[int(row["at_ns"]), row["problem"]]
        if row["row"] == "resource":
            number = int(row["resource"])
            problem.capacity[number] = int(row["capacity"]) if row["capacity"] else None
            problem.bucket[number] = int(row["rate"]), int(row["depth"])
            problem.kinds[number] = row["resource_kind"]
        elif row["row"] == "flow":
            problem.flows.append(Flow(row))
        elif row["row"] == "debit":
            problem.debits.append((int(row["flow"]), int(row["resource"]), int(row["coefficient"])))
        else:
            problem.bound, problem.policy = int(row["bound_mcu"]), int(row["policy_mcu"])
    for (at_ns, name), problem in problems.items():
        complete(problem, name, problems.get((at_ns, "max-min")), problems.get((at_ns, "limits")))
    return head, dict(problems)


def complete(problem, name, fair, limits):
    """The totals have the flows of max-min and their debits, but for processors, which only `in-time` has."""
    debits = problem.debits
    if name != "max-min":
        debits = [d for d in fair.debits if fair.kinds[d[1]] != "processors"] + problem.debits
        problem.flows = [copy.copy(flow) for flow in fair.flows]
    if name == "in-time":
        problem.capacity = {**limits.capacity, **problem.capacity}
    flows = {flow.number: flow for flow in problem.flows}
    for flow in problem.flows:
        flow.debits = {}
    for number, resource, coefficient in debits:
        flows[number].debits[resource] = coefficient


def good_units(path):
    """The units served within the objective, after the warm-up."""
    rows = rows_of(path, "requests")
    head, good = next(rows), 0
    for row in rows:
        late = head["objective_ns"] > 0 and row["latency_ns"] and int(row["latency_ns"]) > head["objective_ns"]
        unknown = not row["latency_ns"] and (head["objective_ns"] > 0 or row["awaited"] == "0")
        if int(row["at_ns"]) >= head["counted_from_ns"] and row["outcome"] == "admitted" and not late and not unknown:
            good += int(row["mcu"])
    return good / MCU


# ---- one window ----

def water_filling(problem, capacity):
    """The weighted max-min allocation in whole mcu, by flow.

    All flows rise by their weights. The flows of a resource that is full stop, each at the whole mcu of the level. What
    rounding leaves is handed out in the order of the flows, mcu by mcu, at most two each.
    """
    flows = problem.flows
    users = collections.defaultdict(list)
    for i, flow in enumerate(flows):
        for resource in flow.debits:
            users[resource].append(i)
    rest = {r: max(0, c) for r, c in capacity.items() if c is not None and
            sum(flows[i].demand * flows[i].debits[r] for i in users[r]) > max(0, c)}
    amounts = [flow.demand for flow in flows]
    if not rest:
        return amounts
    left = dict(rest)
    rising = set(range(len(flows)))

    def stop(i, amount):
        rising.discard(i)
        amounts[i] = amount
        for r, coefficient in flows[i].debits.items():
            if r in left:
                left[r] -= amount * coefficient

    while rising:
        # Levels are fractions (over, under), compared by their products: Python's integers have no end.
        full, level = None, None
        for r in left:
            speed = sum(flows[i].weight * flows[i].debits[r] for i in users[r] if i in rising)
            if speed > 0 and (level is None or left[r] * level[1] < level[0] * speed):
                full, level = r, (left[r], speed)
        first = min(rising, key=lambda i: (numpy.longdouble(flows[i].demand) / flows[i].weight, i))
        if full is None or level[0] * flows[first].weight >= flows[first].demand * level[1]:
            stop(first, flows[first].demand)
            continue
        for i in [i for i in users[full] if i in rising]:
            stop(i, min(flows[i].demand, flows[i].weight * level[0] // level[1]))
    for _ in range(2):
        for i, flow in enumerate(flows):
            if amounts[i] < flow.demand and all(left[r] >= c for r, c in flow.debits.items() if r in left):
                amounts[i] += 1
                for r, coefficient in flow.debits.items():
                    if r in left:
                        left[r] -= coefficient
    return amounts


def greatest_total(problem, capacity):
    """By a linear program: the total, and the allocation."""
    names = [r for r in capacity if capacity[r] is not None]
    flows = problem.flows
    matrix = numpy.zeros((len(names), len(flows)))
    for k, flow in enumerate(flows):
        for row, r in enumerate(names):
            matrix[row, k] = flow.debits.get(r, 0)
    scale = numpy.maximum(matrix.max(axis=1, initial=0), 1) if names else numpy.ones(0)
    limits = numpy.array([max(0, capacity[r]) for r in names], dtype=float) / scale
    done = linprog(-numpy.ones(len(flows)), A_ub=matrix / scale[:, None], b_ub=limits,
                   bounds=[(0, flow.demand) for flow in flows], method="highs")
    if done.status != 0:
        raise ValueError(done.message)
    return -done.fun, done.x


class Balances:
    """What the optimum's own buckets have."""

    def __init__(self, window_ns):
        self.window_ns = window_ns
        self.balance, self.at = {}, {}

    def inflow(self, rate, windows=1):
        return rate * self.window_ns * windows // NS_PER_S

    def capacities(self, at_ns, problem):
        """A bucket begins with what the policy's has, at the first window that uses it."""
        found = {}
        for r, told in problem.capacity.items():
            rate, depth = problem.bucket[r]
            found[r] = told
            if rate > 0 and told is not None and r in self.balance:
                missed = (at_ns - self.at[r]) // self.window_ns - 1
                found[r] = min(depth, self.balance[r] + self.inflow(rate, missed)) + self.inflow(rate)
        return found

    def keep(self, at_ns, problem, capacity, amounts):
        used = collections.Counter()
        for flow, mcu in zip(problem.flows, amounts):
            for r, coefficient in flow.debits.items():
                used[r] += mcu * coefficient
        for r, c in capacity.items():
            depth = problem.bucket[r][1]
            if c is not None:
                self.balance[r] = min(depth, c - used[r])
                self.at[r] = at_ns
            elif r in self.balance:
                self.balance[r], self.at[r] = depth, at_ns


def in_budget(problem, capacity):
    """The offered mcu that fit into the limits of tables, by flow."""
    offered = collections.Counter()
    for flow in problem.flows:
        for r in flow.debits:
            offered[r] += flow.demand
    found = []
    for flow in problem.flows:
        parts = [flow.demand * max(0, capacity[r]) // offered[r] for r in flow.debits
                 if problem.kinds[r] == "table" and capacity[r] is not None and capacity[r] < offered[r]]
        found.append(min([flow.demand] + parts))
    return found


def falsely_refused(flow, fair):
    room = fair - flow.admitted
    if flow.refused == 0 or room < flow.refused_min:
        return 0
    return min(room - room % flow.refused_min, flow.refused)


# ---- a run ----

def compare(path):
    """Pairs of values, computed here and by weir: name, own, weir's, tolerance."""
    head, problems = read_problems(path)
    result = json.loads(path.with_name(path.name.replace(".windows.csv.gz", ".json")).read_text())["measures"][""]
    balances = Balances(head["window_ns"])
    fair = budget = false = lost = violations = 0
    values = []
    for at_ns in sorted({at_ns for at_ns, _ in problems}):
        problem = problems[at_ns, "max-min"]
        capacity = balances.capacities(at_ns, problem)
        amounts = water_filling(problem, capacity)
        balances.keep(at_ns, problem, capacity, amounts)
        fair += sum(amounts)
        budget += sum(in_budget(problem, capacity))
        false += sum(falsely_refused(flow, mcu) for flow, mcu in zip(problem.flows, amounts))
        admitted, refused = (sum(getattr(f, name) for f in problem.flows) for name in ("admitted", "refused"))
        lost += max(0, min(sum(amounts) - admitted, refused))
        beyond = False
        for name in ("limits", "in-time"):
            total = problems.get((at_ns, name))
            if total is None:
                continue
            own = greatest_total(total, total.capacity)[0]
            # No allocation of whole mcu has more than the bound; a linear program has parts of mcu.
            values.append((f"bound of {name} at {at_ns / NS_PER_S} s", own, total.bound,
                           CLOSE * own + len(total.capacity)))
            beyond |= total.policy > own + 1
        violations += beyond
    span_s = (head["duration_ns"] - head["counted_from_ns"]) / NS_PER_S
    good = good_units(path.with_name(path.name.replace(".windows.", ".requests.")))
    own = {"fair_rate": fair / MCU / span_s, "false_throttle": false / budget, "lost_throughput": lost / budget,
           "goodput_ratio": good * MCU / fair, "optimum_violations": violations}
    values += [(name, value, result[name], CLOSE * max(1, abs(value))) for name, value in own.items()]
    return head, values


# ---- the whole run ----

def horizon(path):
    """Units of the max-min optimum, of the greatest totals window by window, and of one program for all windows."""
    head, problems = read_problems(path)
    windows = {at_ns: p for (at_ns, name), p in sorted(problems.items()) if name == "max-min"}
    totals = {}
    for name, solve in (("max-min", water_filling), ("greedy", lambda p, c: greatest_total(p, c)[1])):
        balances = Balances(head["window_ns"])
        totals[name] = 0
        for at_ns, problem in windows.items():
            capacity = balances.capacities(at_ns, problem)
            amounts = solve(problem, capacity)
            balances.keep(at_ns, problem, capacity, amounts)
            totals[name] += sum(amounts) / MCU
    totals["clairvoyant"] = clairvoyant(head, windows)
    return head, totals


def clairvoyant(head, windows):
    """Variables: what each flow gets in each window, and the level of each bucket after each window."""
    step, starts = head["window_ns"], list(windows)
    grid = range(starts[0], starts[-1] + step, step)
    columns, upper = {}, []
    rows, limits = [], []

    def column(key, bound):
        columns[key] = len(upper)
        upper.append(bound)

    buckets, first = {}, {}
    for at_ns, problem in windows.items():
        for k, flow in enumerate(problem.flows):
            column((at_ns, k), flow.demand)
        for r, (rate, depth) in problem.bucket.items():
            if rate > 0 and problem.capacity[r] is not None and r not in first:
                first[r] = at_ns
                buckets[r] = rate, depth
    for at_ns in grid:
        problem = windows.get(at_ns)
        if problem is not None:
            buckets.update({r: b for r, b in problem.bucket.items() if b[0] > 0 and r in first})
        used = collections.defaultdict(list)
        for k, flow in enumerate(problem.flows if problem else []):
            for r, coefficient in flow.debits.items():
                used[r].append((columns[at_ns, k], coefficient))
        for r in sorted(first):
            rate, depth = buckets[r]
            inflow = rate * step // NS_PER_S
            if at_ns < first[r]:
                continue
            column((at_ns + step, "level", r), depth)
            had = [] if at_ns == first[r] else [(columns[at_ns, "level", r], -1)]
            gained = problem.capacity[r] if at_ns == first[r] else inflow
            # What is left of it, up to the depth. Levels are not below 0, so no window uses more than it has.
            rows.append(used[r] + had + [(columns[at_ns + step, "level", r], 1)])
            limits.append(max(0, gained))
        for r, debits in used.items():
            if r not in first and problem.capacity[r] is not None:
                rows.append(debits)
                limits.append(max(0, problem.capacity[r]))
    places = [(i, j, a) for i, row in enumerate(rows) for j, a in row]
    scale = numpy.array([max(abs(a) for _, a in row) for row in rows], dtype=float)
    i, j, a = (numpy.array(part) for part in zip(*places))
    matrix = coo_matrix((a / scale[i], (i, j)), shape=(len(rows), len(upper))).tocsr()
    cost = numpy.array([0 if "level" in key else -1 for key in columns], dtype=float)
    done = linprog(cost, A_ub=matrix, b_ub=numpy.array(limits, dtype=float) / scale, bounds=[(0, u) for u in upper],
                   method="highs")
    if done.status != 0:
        raise ValueError(done.message)
    return -done.fun / MCU


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--horizon", action="store_true", help="the optimum of the whole run")
    options = parser.parse_args()
    differ = 0
    for path in sorted(pathlib.Path(options.directory).glob("runs/*/*/*.windows.csv.gz")):
        if options.horizon:
            head, totals = horizon(path)
            print(f"{head['scenario']}, {head['policy']}, seed {head['seed']}: " +
                  ", ".join(f"{name} {units:.1f}" for name, units in totals.items()) +
                  f"; gap {1 - totals['greedy'] / totals['clairvoyant']:.4f}")
            continue
        head, values = compare(path)
        wrong = [v for v in values if not abs(v[1] - v[2]) <= v[3]]
        differ += len(wrong)
        print(f"{head['scenario']}, {head['policy']}, seed {head['seed']}: {len(values)} values, {len(wrong)} differ")
        for name, own, weirs, _ in [v for v in values if " at " not in v[0]] + wrong:
            print(f"  {name}: {own:.12g}, weir {weirs:.12g}")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
