#!/usr/bin/env python3
"""tools/reproduce: documents have no figure of the lab that is typed by hand; the page says what the results say.

  reproduce_test.py --weir build/weir
"""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools" / "reproduce"
DOCUMENT = """# A document

`weir lab run static-skew`: all are served, but one
in 12 % of the runs.

The scenario `spikes` shows:

| policy | seconds |
|---|---|
| weir | 75.25 s |

- `dilution` refuses nothing.
- A page of 4 KB takes 3 ms.

<!-- lab: given -->
`weir lab compare` marks what is below 0.05.

The next one, of `spikes`, has 0.5.

<!-- lab: results -->
`weir lab run spikes`: 0.25.
<!-- lab: end -->

`weir lab run spikes --set duration=2.5s` is a command.

    weir lab run spikes    # 10 s
"""


def load_tool():
    loader = importlib.machinery.SourceFileLoader("reproduce", str(TOOL))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("reproduce", loader))
    loader.exec_module(module)
    return module


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def documents_have_no_figure_that_nobody_makes():
    done = subprocess.run([TOOL, "--check"], stdout=subprocess.PIPE, text=True, check=False)
    expect(done.returncode == 0, f"tools/reproduce --check:\n{done.stdout}")


def a_figure_that_is_typed_is_found(tool):
    found = list(tool.unmade(DOCUMENT, ["static-skew", "spikes", "dilution"]))
    expect(found == [(4, "12 %"), (10, "75.25 s"), (18, "0.5")], found)
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "document.md"
        file.write_text(DOCUMENT)
        done = subprocess.run([TOOL, "--check", file], stdout=subprocess.PIPE, text=True, check=False)
    expect(done.returncode == 1 and "document.md:10: 75.25 s" in done.stdout, done.stdout)


def value(policy, measure, mean, low=None, high=None):
    return {"policy": policy, "point": "", "tenant": "", "measure": measure, "mean": mean, "runs": 2,
            "low": mean if low is None else low, "high": mean if high is None else high}


def result_of(*values, verdict="holds", fidelity="admission"):
    names = list(dict.fromkeys(v["policy"] for v in values))
    measures = [{"name": n, "better": "higher" if n in ("goodput_ratio", "utilisation", "fairness_min_max", "fairness_jain") else "lower",
                 "target": {"false_throttle": 0.0001, "control_share": 0.01}.get(n)}
                for n in ("false_throttle", "over_admission_10s", "goodput_ratio", "utilisation", "fairness_min_max", "fairness_jain",
                          "time_to_relief", "control_share", "useless_splits", "latency_p99")]
    return {"scenario": "gac-loss", "about": "A test.", "fidelity": fidelity, "runs": 2 * len(names), "measures": measures,
            "values": list(values), "policies": [{"name": n, "ablation": False} for n in names],
            "exceeding": [{"policy": "gossip"}], "equal": [{"policy": "doorman", "point": "", "to": "gac-paper"}],
            "expectations": [{"subject": "weir: false_throttle", "at_least": None, "at_most": 0.1, "why": "", "mean": 0.2, "low": 0.1, "high": 0.3,
                              "verdict": verdict}]}


def the_page_says_what_the_results_say(tool):
    result = result_of(value("weir", "false_throttle", 0.2, 0.1, 0.3), value("weir", "control_share", 0.001),
                       value("gac-paper", "false_throttle", 0.05, 0.04, 0.06), value("periodic", "false_throttle", 0.15, 0.14, 0.16),
                       value("gossip", "false_throttle", 0.01, 0.01, 0.01), value("weir", "false_throttle_floor", 0.02), value("doorman", "false_throttle", 0.05, 0.04, 0.06), verdict="fails")
    page = tool.page([result], [], True, "0 (build)")
    for part in ("Of 1 expectations of 1 scenarios, 0 hold, 1 fail", "[gac-loss](#gac-loss), fails: weir: false_throttle is 0.2",
                 "| weir | 0.2 ± 0.1 |", "- `false_throttle` is 0.2, target 0.0001, its floor 0.02: while no server",
                 "| `false_throttle`: 1, best gac-paper |",
                 "- gac-paper: `false_throttle` 0.05 instead of 0.2.", "quick run", "| 0.2 (0.1 to 0.3) | **no** |"):
        expect(part in page, f"the page lacks {part}:\n{page}")
    expect("All runs equal those of gac-paper: doorman.\n" in page, page)
    for part in ("- periodic:", "- gossip:", "`control_share` is", "- doorman:", "| doorman |"):
        expect(part not in page, f"{part}: intervals overlap, a limit is exceeded, the target is met, or it is equal to another:\n{page}")
    expect("quick" not in tool.page([result], [], False, "0"), "a whole run is no quick one")


def the_whole_is_extrapolated_from_what_was_counted(tool):
    parts = [tool.Part("a", ["true"], [], 100), tool.Part("page", ["true"], [], 0)]
    costs = {"a": {"processor_s": 6, "runs": 3}, "page": {"processor_s": 5, "runs": 0}}
    expect(tool.extrapolate(parts, costs) == 100 * 2 + 5, "2 s a run")


def weir_accepts_the_studies(tool, weir):
    for study in tool.STUDIES:
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "scenario.yaml"
            file.write_text(tool.study_scenario(study))
            done = subprocess.run([weir, "lab", "sweep", file, "--out", f"{directory}/out", "--seeds", "1", "--print-jobs"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        runs = len(done.stdout.splitlines())
        expect(runs == len(study["policies"]) * len(study["axis"][2]), f"{study['name']}: {runs} runs: {done.stderr}")


def every_scenario_is_known(tool, weir):
    listed = subprocess.run([weir, "lab", "list"], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout.split()
    for name, _, policies in tool.shipped():
        expect(name in listed and policies, f"{name}: {policies}")
    expect(len(tool.baseline_names()) > 10, tool.baseline_names())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    o = parser.parse_args()
    tool = load_tool()
    documents_have_no_figure_that_nobody_makes()
    a_figure_that_is_typed_is_found(tool)
    the_page_says_what_the_results_say(tool)
    the_whole_is_extrapolated_from_what_was_counted(tool)
    weir_accepts_the_studies(tool, o.weir)
    every_scenario_is_known(tool, o.weir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
