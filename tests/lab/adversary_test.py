#!/usr/bin/env python3
"""Bad policies in the place of a scenario's first policy: each breaks an expectation of every shipped scenario.

  adversary_test.py --weir build/weir [--full] [--only NAME] [--table]

One seed of each scenario at the fidelity admission; --full: those at `full`, too. Long scenarios are shortened.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent.parent / "scenarios"
ADVERSARIES = ["refuse-all", "every-other", "admit-all", "delayed"]
SHORTER = {  # the peak of the day is at 300 s
    "diurnal": ["--set", "duration=360s"],
    "noisy-neighbour": ["--set", "duration=30s"],
}
RATE_LIMITER = "limiter-hot-entity"  # the rate limiter decides there, not a policy
WITHIN = """name: within
about: The load is within the limit, so a policy that admits everything does no harm.
duration: 5s
cluster: {nodes: 3, routers: 2, gac: 1}
tables: [{name: users, rcu: 200, wcu: 100}]
workloads: [{name: w, table: users, rate: 50, mix: "read:0:update:1"}]
policies: [{name: weir}]
expect: [{measure: throttle_fraction, at_most: 0, why: nothing is scarce}]
"""


def lab(weir, *arguments, code=0):
    done = subprocess.run([weir, "lab", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900)
    if done.returncode != code:
        raise AssertionError(f"weir lab {' '.join(arguments)} ended with {done.returncode}, not {code}:\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def shipped(full):
    """Names of the shipped scenarios, in the order of their files."""
    for path in sorted(SCENARIOS.glob("*.yaml")):
        if full or "\nfidelity: full" not in path.read_text():
            yield path.stem.partition("-")[2]


def every_scenario_fails_under_each(weir, names, table):
    faults = []
    for name in names:
        command = ["run", name, "--adversary", "--seeds", "1", "--jobs", "1", "--quiet", "--json", *SHORTER.get(name, [])]
        done = subprocess.run([weir, "lab", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900)
        expect(done.stdout, done.stderr)
        found = json.loads(done.stdout)
        rows = {a["name"]: a for a in found["adversaries"]}
        if name == RATE_LIMITER:
            expect(not rows and done.returncode == 0, found)
            continue
        if table:
            print(f"{name:22}", *(f"{rows[a]['broken']} of {rows[a]['expected']}".rjust(12) for a in ADVERSARIES), flush=True)
        wrong = [a for a in ADVERSARIES if a not in rows or not rows[a]["called"] or rows[a]["broken"] == 0]
        expect((done.returncode == 0) == (not wrong), f"{name}: exit code {done.returncode} with {wrong}")
        faults += [f"{name}: its expectations hold under {a}, or it was never called" for a in wrong]
    expect(not faults, "\n".join(faults))


def a_scenario_that_holds_is_named(weir, directory):
    path, out = directory / "within.yaml", directory / "out"
    path.write_text(WITHIN)
    text = lab(weir, "run", str(path), "--seeds", "1", "--adversary", "--out", str(out), code=1)
    expect("WRONG: all expectations of within hold under admit-all\n" in text, text)
    expect("within                       1 of 1       1 of 1       0 of 1       1 of 1\n" in text, text)
    expect("weir: throttle_fraction must be at most 0\n    broken by refuse-all, every-other, delayed\n" in text, text)
    expect(all(len(line) <= 100 for line in text.splitlines()), text)
    kept = json.loads((out / "adversary.json").read_text())
    expect(not kept["all_break"] and [a["broken"] for a in kept["adversaries"]] == [1, 1, 0, 1], kept)
    expect(lab(weir, "result", str(out), code=1) == text, "`weir lab result` differs")
    expect(json.loads(lab(weir, "result", str(out), "--json", code=1)) == kept, "its JSON differs")
    expect(not (out / "result.json").exists(), "result.json calls what must fail a failure")
    suite = xml.etree.ElementTree.parse(out / "junit.xml").find("testsuite")
    expect([suite.get("tests"), suite.get("failures")] == ["4", "1"], (out / "junit.xml").read_text())
    expect("hold under admit-all" in suite[2][0].get("message"), (out / "junit.xml").read_text())
    lab(weir, "reproduce", str(out))


def options_that_choose_policies_are_refused(weir):
    text = lab(weir, "run", "spikes", "--adversary", "--only", "burst", code=2)
    expect("--adversary chooses the policies" in text, text)
    text = lab(weir, "suite", "--adversary", "--add", "baselines", code=2)
    expect("--adversary chooses the policies" in text, text)
    text = lab(weir, "run", "spikes", "--adversary", "--until", "5%", code=2)
    expect("judges all seeds: without --add, --only, --until" in text, text)
    text = lab(weir, "run", "spikes", "--adversary", "--fidelity", "real", code=2)
    expect("spikes: bad policies run at the fidelities admission and full" in text, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", help="one scenario, and nothing else")
    parser.add_argument("--table", action="store_true", help="print what breaks")
    options = parser.parse_args()
    if options.only:
        every_scenario_fails_under_each(options.weir, [options.only], options.table)
        return
    with tempfile.TemporaryDirectory() as directory:
        a_scenario_that_holds_is_named(options.weir, pathlib.Path(directory))
    options_that_choose_policies_are_refused(options.weir)
    every_scenario_fails_under_each(options.weir, shipped(options.full), options.table)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of processor")


if __name__ == "__main__":
    sys.exit(main())
