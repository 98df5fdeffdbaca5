"""Reads what `weir lab run --requests` keeps, and computes a run's measures from it again.

    import weir_requests
    for run in weir_requests.runs("skew"):
        print(run.head["policy"], run.measures()["throttle_fraction"])
        print(run.rows.groupby(["table", "outcome"]).mcu.sum())

`rows` is a pandas.DataFrame, a row for each request; docs/requests.md of weir describes its columns. Nothing here
calls weir: the measures are computed by their definitions (docs/measures.md), with a histogram of their own.
"""
import gzip
import json
import math
import pathlib

import pandas

FORMAT = "weir-requests-1"
SUB_BITS = 7  # each power of two is divided into 2^7 buckets
NS_PER_S, NS_PER_MS, MCU = 10**9, 10**6, 1000


def read(path):
    """The head of a file, a dictionary, and its rows."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        words = file.readline().rstrip("\n").split(" ", 2)
        if words[:2] != ["#", FORMAT]:
            raise ValueError(f"{path} is not a file of {FORMAT}: it begins with `{' '.join(words)[:80]}`")
        rows = pandas.read_csv(file, keep_default_na=False, na_values={"latency_ns": ""},
                               dtype={"latency_ns": "Int64", "at_ns": "int64", "mcu": "int64", "index": "string"})
    return json.loads(words[2]), rows


def bucket_max(value):
    """The greatest value of the histogram's bucket that has this value."""
    if value < 1 << SUB_BITS:
        return value
    shift = value.bit_length() - 1 - SUB_BITS
    return (((value >> shift) + 1) << shift) - 1


def percentile(latencies, per_100000):
    """As weir reports it: never too low, and at most 1/128 too high."""
    values = sorted(latencies)
    if not values:
        return 0
    rank = -(-len(values) * per_100000 // 100000)
    return values[0] if rank == 0 else min(bucket_max(values[rank - 1]), values[-1])


def ratio(over, under):
    return over / under if under > 0 else math.nan


class Run:
    """A run: its head, its rows, and the result that weir has written beside them."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.head, self.rows = read(self.path)

    def result(self):
        name = self.path.name.replace(".requests.csv.gz", ".json")
        return json.loads((self.path.parent / name).read_text())

    def measures(self, tenant=None):
        """The measures that follow from requests alone, of all tenants or of one."""
        rows = self.rows if tenant is None else self.rows[self.rows.tenant == tenant]
        rows = rows[rows.at_ns >= self.head["counted_from_ns"]]
        requests, ends = rows[rows.event == "request"], rows[rows.event == "end"]
        admitted, refused = requests[requests.outcome == "admitted"], requests[requests.outcome != "admitted"]
        hedges = requests[requests.hedge == 1]
        told = admitted[admitted.latency_ns.notna()]
        latencies = [int(v) for v in told.latency_ns] + [int(v) for v in ends.latency_ns]
        span_s = (self.head["duration_ns"] - self.head["counted_from_ns"]) / NS_PER_S
        offered_mcu, admitted_mcu, refused_mcu = (int(part.mcu.sum()) for part in (requests, admitted, refused))
        hedge_mcu = int(admitted[admitted.hedge == 1].mcu.sum())
        values = {
            "offered_units": offered_mcu / MCU, "admitted_units": admitted_mcu / MCU, "refused_units": refused_mcu / MCU,
            "offered_requests": len(requests), "admitted_requests": len(admitted), "refused_requests": len(refused),
            "throttle_fraction": ratio(refused_mcu, offered_mcu),
            "throttle_fraction_requests": ratio(len(refused), len(requests)),
            "hedges": len(hedges),
            "hedge_fraction": ratio(len(hedges), len(requests) - len(hedges)),
            "hedge_load": ratio(hedge_mcu, admitted_mcu - hedge_mcu),
        }
        for name, mcu in (("offered_rate", offered_mcu), ("admitted_rate", admitted_mcu), ("refused_rate", refused_mcu),
                          ("goodput_rate", self.good_mcu(admitted, ends))):
            values[name] = ratio(mcu / MCU, span_s)
        for name, per_100000 in (("latency_p50", 50000), ("latency_p99", 99000), ("latency_p999", 99900)):
            values[name] = percentile(latencies, per_100000) / NS_PER_MS if latencies else math.nan
        return values

    def good_mcu(self, admitted, ends):
        """Served within the objective; where there is none, all that somebody waited for."""
        objective = self.head["objective_ns"]
        told, unknown = admitted[admitted.latency_ns.notna()], admitted[admitted.latency_ns.isna()]
        if objective == 0:
            return int(told.mcu.sum()) + int(unknown[unknown.awaited == 1].mcu.sum()) + int(ends.mcu.sum())
        return sum(int(part[part.latency_ns <= objective].mcu.sum()) for part in (told, ends))


def runs(directory):
    """All runs of a directory of `weir lab run --out DIR --requests`."""
    for path in sorted(pathlib.Path(directory).glob("runs/*/*/*.requests.csv.gz")):
        yield Run(path)
