#!/usr/bin/python3
"""tools/lab_figures: PDF, SVG, CSV and caption of each figure; the numbers are those of the results, and something is drawn.

  figures_test.py --weir build/weir [--keep DIR]
"""
import argparse
import csv
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from matplotlib import image

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools" / "lab_figures"
SMALL = """name: small
about: A small table under too much load.
duration: 8s
warm: 3s
cluster: {nodes: 3, routers: 2, gac: 1}
tables: [{name: users, rcu: 200, wcu: 100}]
workloads: [{name: w, table: users, rate: 300, mix: "read:0:update:1"}]
policies:
  - {name: weir}
  - {name: static, set: {cluster.settings.gac: static}}
sweep:
  - {path: workloads.w.rate, values: [50, 200, 800]}
  - {path: cluster.routers, values: [1, 2]}
"""
WHITE = 0.99


def load_tool():
    loader = importlib.machinery.SourceFileLoader("lab_figures", str(TOOL))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lab_figures", loader))
    loader.exec_module(module)
    return module


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def figures(*arguments, code=0):
    done = subprocess.run([TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    expect(done.returncode == code, f"lab_figures {arguments} ended with {done.returncode}, not {code}:\n{done.stdout}")
    return done.stdout


def rows_of(file):
    with open(file, encoding="utf-8") as f:
        return list(csv.DictReader(f))


def the_files_are_figures(out, name, width_inches):
    expect((out / f"{name}.pdf").read_bytes().startswith(b"%PDF-"), f"{name}.pdf is no PDF")
    svg = xml.etree.ElementTree.parse(out / f"{name}.svg").getroot()
    expect(svg.get("width") == f"{width_inches * 72:g}pt", f"{name}.svg is {svg.get('width')} wide")
    pixels = image.imread(out / f"{name}.png")[:, :, :3]
    dark = (pixels < WHITE).any(axis=2).mean()
    expect(0.02 < dark < 0.6, f"{name}.png: {dark:.3f} of it is not white")
    coloured = (pixels.max(axis=2) - pixels.min(axis=2) > 0.3).mean()
    expect(coloured > 0.001, f"{name}.png has no line in colour")


def a_measure_has_the_numbers_of_the_results(directory, out, name, axes):
    result = json.loads((directory / "result.json").read_text())
    expected = {(v["policy"], v["point"]): v for v in result["values"]
                if v["tenant"] == "" and v["measure"] == name and isinstance(v["mean"], (int, float))}
    rows = rows_of(out / f"{name}.csv")
    expect(len(rows) == len(expected) > 0, f"{name}.csv has {len(rows)} rows instead of {len(expected)}")
    for row in rows:
        v = expected[row["policy"], ",".join(f"{a}={row[a]}" for a in axes)]
        expect(all(float(row[k]) == v[k] for k in ("mean", "low", "high", "runs")), f"{name}.csv: {row}, not {v}")


def a_series_has_the_numbers_of_the_run(directory, out):
    rows = rows_of(out / "series-refused.csv")
    for at, policy in enumerate(("weir", "static"), 1):
        series = json.loads((directory / f"runs/{at}-{policy}/0/1.json").read_text())["series"]
        slots = [sum(slot) / 1000 for slot in zip(*series["tenants"][""]["refused"].values())]
        found = [(float(r["time_s"]), float(r["units_per_s"])) for r in rows if r["policy"] == policy]
        expect(found == list(enumerate(slots))[3:], f"series-refused.csv, {policy}: {found}, not {slots} from 3 s on")


def a_caption_names_what_made_it(out, name, command):
    text = (out / f"{name}.txt").read_text()
    for part in ("Scenario small", "Seeds 1 to 2", "build ", command, "tools/lab_figures"):
        expect(part in text, f"{name}.txt lacks {part}:\n{text}")


def a_run_and_a_sweep_have_figures(weir, place):
    scenario = place / "small.yaml"
    scenario.write_text(SMALL)
    for command, axes in (("run", ()), ("sweep", ("rate", "routers"))):
        directory, out = place / command, place / f"figures-{command}"
        subprocess.run([weir, "lab", command, scenario, "--seeds", "2", "--jobs", "1", "--quiet", "--out", directory],
                       stdout=subprocess.DEVNULL, timeout=120, check=True)
        measures = ("throttle_fraction", "admitted_rate")
        figures(directory, "--out", out, "--png", "--measures", "throttle_fraction, admitted_rate", "--series", "refused")
        for name in measures:
            the_files_are_figures(out, name, 3.4)
            a_measure_has_the_numbers_of_the_results(directory, out, name, axes)
            a_caption_names_what_made_it(out, name, f"weir lab {command} {command}/scenario.yaml --seeds 2")
        the_files_are_figures(out, "series-refused", 3.4)
        a_caption_names_what_made_it(out, "series-refused", "warm-up")
        a_series_has_the_numbers_of_the_run(directory, out)
    svg = (place / "figures-sweep" / "throttle_fraction.svg").read_text()
    expect(svg.count("routers = ") == 2, "each value of the second axis is a facet")


def the_same_results_give_the_same_bytes(place):
    again = place / "again"
    figures(place / "run", "--out", again, "--png", "--measures", "throttle_fraction, admitted_rate", "--series", "refused")
    for file in again.iterdir():
        if file.suffix != ".txt":  # it has the name of the directory
            expect(file.read_bytes() == (place / "figures-run" / file.name).read_bytes(), f"{file.name} differs")


def wrong_use_is_refused_with_a_reason(place):
    run, out = place / "run", place / "none"
    expect("there is no measure throttled" in figures(run, "--out", out, "--measures", "throttled", code=1), "a measure")
    expect("weir, static" in figures(run, "--out", out, "--only", "other", code=1), "a policy")
    expect("no tenant" in figures(run, "--out", out, "--tenant", "other", code=1), "a tenant")
    expect("no directory" in figures(place, "--out", out, code=1).replace("not a", "no"), "a directory")
    expect("1 to 20" in figures(run, "--out", out, "--width", "0", code=2), "a width")


def numeric_axes_are_numeric(tool):
    expect(tool.chosen_axis({"gac": ["lease", "static"], "rate": ["1k", "900"], "wait": ["5ms", "1s", "20ms"]}) == "wait",
           "the numeric axis with the most values")
    expect(tool.chosen_axis({"gac": ["lease", "static"]}) == "gac", "there is no numeric one")
    expect(tool.as_number("2.5k") == (2500, "") and tool.as_number("40ms") == (0.04, "s"), "numbers with units")
    expect(tool.is_wide([1, 5, 10]) and not tool.is_wide([1, 9.9]) and not tool.is_wide([0, 100]), "a decade or more above 0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--keep", type=pathlib.Path, help="keeps the figures here, to look at")
    o = parser.parse_args()
    numeric_axes_are_numeric(load_tool())
    with tempfile.TemporaryDirectory() as directory:
        place = o.keep or pathlib.Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        a_run_and_a_sweep_have_figures(o.weir, place)
        the_same_results_give_the_same_bytes(place)
        wrong_use_is_refused_with_a_reason(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
