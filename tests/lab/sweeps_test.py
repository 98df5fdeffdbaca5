#!/usr/bin/env python3
"""tools/lab_sweeps: weir accepts each sweep of lab/baselines/sweeps.toml; the best setting and the front are right.

  sweeps_test.py --weir build/weir
"""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FRONT = {"name": "test", "title": "A & B", "best": "good", "equal": 0.01, "beside": [],
         "measures": [{"name": "bad", "unit": "ms", "better": "lower"}, {"name": "good", "unit": "1", "better": "higher"}]}
POLICY = {"name": "policy", "axes": {"x": [1, 2]}, "compared": {"x": 1}}


def load_tool():
    loader = importlib.machinery.SourceFileLoader("lab_sweeps", str(ROOT / "tools" / "lab_sweeps"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lab_sweeps", loader))
    loader.exec_module(module)
    return module


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def weir_accepts_every_sweep(tool, weir):
    for _, policy, scenario in tool.pairs(tool.read_sweeps(), []):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "scenario.yaml"
            file.write_text(tool.scenario_of(policy, scenario))
            done = subprocess.run([weir, "lab", "sweep", file, "--out", f"{directory}/out", "--seeds", "1", "--print-jobs"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        expect(done.returncode == 0, f"{policy['name']} in {scenario}: {done.stderr}")
        runs = len([line for line in done.stdout.splitlines() if line.strip()])
        expect(runs == tool.SETTINGS, f"{policy['name']} in {scenario}: {runs} runs instead of {tool.SETTINGS}")


def setting(tool, x, bad, good, over=0):
    means = {("bad", ""): bad, ("good", ""): good, ("over_admission_10s", ""): over}
    return tool.Setting(FRONT, POLICY, {"x": x}, {k: v for k, v in means.items() if v is not None})


def the_best_is_the_cheapest_of_equals(tool):
    of = [setting(tool, 1, 9, 100), setting(tool, 2, 5, 99.5), setting(tool, 3, 1, 98), setting(tool, 4, 1, 200, over=0.02)]
    expect(tool.best_of(FRONT, of).value == {"x": 2}, "99.5 counts as 100, and 5 is better than 9")
    expect(tool.best_of(FRONT, of[3:]).value == {"x": 4}, "a setting that exceeds is the best only if it is alone")


def the_front_has_what_nothing_beats(tool):
    of = [setting(tool, 1, 1, 10), setting(tool, 2, 2, 10), setting(tool, 3, 2, 20), setting(tool, 4, 0.5, 30, over=0.02),
          setting(tool, 5, None, 40), setting(tool, 6, 1, 10)]
    expect([s.value["x"] for s in tool.front_of(of[:4])] == [1, 3], "2 is beaten by 1, and 4 exceeds the limit")
    expect([s.value["x"] for s in tool.front_of([of[0], of[5]])] == [1, 6], "equal settings do not beat each other")
    expect(of[5].beats(of[1]) and not of[1].beats(of[5]), "the same goodput sooner")
    expect(5 in [s.value["x"] for s in tool.front_of(of)], "the greatest goodput, with a latency that does not exist")
    xml.etree.ElementTree.fromstring("\n".join(tool.picture(FRONT, "scenario", of)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    options = parser.parse_args()
    tool = load_tool()
    the_best_is_the_cheapest_of_equals(tool)
    the_front_has_what_nothing_beats(tool)
    weir_accepts_every_sweep(tool, options.weir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
