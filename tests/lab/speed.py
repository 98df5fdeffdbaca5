#!/usr/bin/env python3
"""Requests a second and core of `weir lab`, at the fidelities admission and full, on one scenario.

  tests/lab/speed.py --weir build/weir

Counts the processor time of a whole run, with the cluster's start and the measures. Runs alternate; medians.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

SCENARIO = "static-skew"
SECONDS = {"admission": 60, "full": 10}


def run(weir, fidelity, rounds_seed):
    with tempfile.TemporaryDirectory() as directory:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([weir, "lab", "run", SCENARIO, "--fidelity", fidelity, "--only", "weir", "--seeds", "1",
                        "--seed", str(rounds_seed), "--jobs", "1", "--quiet", "--set", "warm=1s",
                        "--set", f"duration={SECONDS[fidelity]}s", "--out", directory],
                       stdout=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(os.path.join(directory, "runs", "1-weir", "0", f"{rounds_seed}.json"), encoding="utf-8") as f:
            requests = json.load(f)["requests"]
    return requests / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    o = parser.parse_args()
    rates = {fidelity: [] for fidelity in SECONDS}
    for seed in range(1, o.rounds + 1):
        for fidelity, of in rates.items():
            of.append(run(o.weir, fidelity, seed))
    medians = {fidelity: statistics.median(of) for fidelity, of in rates.items()}
    for fidelity, median in medians.items():
        print("%-10s %9.0f requests/s and core" % (fidelity, median))
    print("admission is %.1f times as fast" % (medians["admission"] / medians["full"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
