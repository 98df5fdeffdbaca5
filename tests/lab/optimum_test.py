#!/usr/bin/env python3
"""The optimum of runs, computed again by examples/optimum/weir_optimum.py, and that of whole runs.

  optimum_test.py --weir build/weir

Needs scipy: Debian's /usr/bin/python3 has it (python3-scipy).
"""
import argparse
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/optimum"
sys.path.insert(0, str(EXAMPLES))
import weir_optimum  # noqa: E402

CASES = (("overload", "--only", "weir", "--set", "duration=13s", "--set", "warm=9s"),
         ("read-heavy", "--only", "weir", "--set", "duration=6s", "--set", "warm=2s"),
         ("busy-follower", "--only", "gauge", "--set", "duration=20s", "--set", "warm=14s"),
         ("gac-loss", "--only", "weir", "--set", "duration=14s", "--set", "warm=10s"),
         ("mixed-costs", "--only", "weir", "--set", "duration=9s"))
# Units of the greatest total window by window, and of the whole run.
HORIZONS = {"shared-node": (2600, 3000), "one-table": (None, None)}


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def run(weir, out, scenario, *options):
    done = subprocess.run([weir, "lab", "run", scenario, "--seeds", "1", "--quiet", "--requests", "--allow-violations",
                           "--out", out, *options], capture_output=True, text=True, timeout=240)
    expect(done.returncode in (0, 1, 3), f"{scenario}: {done.returncode}\n{done.stdout}{done.stderr}")
    (path,) = out.glob("runs/*/*/*.windows.csv.gz")
    return path


def windows_are_computed_again(weir, directory):
    for name, *options in CASES:
        _, values = weir_optimum.compare(run(weir, directory / name, name, *options))
        wrong = [v for v in values if not abs(v[1] - v[2]) <= v[3]]
        expect(not wrong, f"{name}: {wrong}")
        expect(len(values) >= 80, f"{name}: {len(values)} values")
        print(f"{name}: {len(values)} values are equal")


def another_capacity_shows(weir, directory):
    """What is equal above is not equal by accident: one altered capacity is found."""
    (path,) = (directory / "overload").glob("runs/*/*/*.windows.csv.gz")
    with gzip.open(path, "rt") as file:
        lines = file.readlines()
    at = next(i for i, line in enumerate(lines) if ",in-time," in line and ",processors," in line and
              line.split(",")[1] == "12000000000")
    for i in range(at, len(lines)):
        row = lines[i].split(",")
        if row[0] == "resource" and row[1:3] == ["12000000000", "in-time"] and row[5] == "processors":
            row[6] = str(int(row[6]) // 2)
            lines[i] = ",".join(row)
    with gzip.open(path, "wt") as file:
        file.writelines(lines)
    _, values = weir_optimum.compare(path)
    wrong = [v[0] for v in values if not abs(v[1] - v[2]) <= v[3]]
    expect(wrong == ["bound of in-time at 12.0 s"], wrong)


def the_whole_run_is_at_least_its_windows(weir, directory):
    for name, (greedy, clairvoyant) in HORIZONS.items():
        _, units = weir_optimum.horizon(run(weir, directory / name, EXAMPLES / f"{name}.yaml"))
        if greedy is None:
            expect(abs(units["greedy"] - units["clairvoyant"]) <= 1e-6 * units["clairvoyant"], f"{name}: {units}")
        else:
            expect(abs(units["greedy"] - greedy) < 1, f"{name}: {units}")
            expect(abs(units["clairvoyant"] - clairvoyant) < 1, f"{name}: {units}")
        expect(units["max-min"] <= units["clairvoyant"] * (1 + 1e-9), f"{name}: {units}")
        print(f"{name}: {units}")


def another_file_is_refused(weir, directory):
    other = directory / "other.csv.gz"
    subprocess.run(["gzip"], input=b"row,at_ns\n", stdout=other.open("wb"), check=True)
    try:
        weir_optimum.read_problems(other)
        raise AssertionError("another file was read")
    except ValueError as e:
        expect("is not a file of weir-windows-1" in str(e), str(e))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    options = parser.parse_args()
    weir = os.path.abspath(options.weir)
    with tempfile.TemporaryDirectory() as name:
        for test in (windows_are_computed_again, another_capacity_shows, the_whole_run_is_at_least_its_windows,
                     another_file_is_refused):
            test(weir, pathlib.Path(name))


if __name__ == "__main__":
    main()
