#!/usr/bin/env python3
"""`weir lab` from outside: files of a directory, going on after a stop, sharing runs among processes, errors.

  lab_test.py --weir build/weir [--runs 200]
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
from servers import until  # noqa: E402

SMALL = """name: small
about: A small table under too much load.
duration: {duration}
cluster: {{nodes: 3, routers: 2, gac: 1}}
tables: [{{name: users, rcu: 200, wcu: 100}}]
workloads: [{{name: w, table: users, rate: 300, mix: "read:0:update:1"}}]
policies:
  - {{name: weir}}
  - {{name: "free <&>", exceeds: true, set: {{cluster.settings.gac: "off", cluster.settings.partition_policy: none}}}}
expect:
  - {{policy: "free <&>", measure: throttle_fraction, at_most: 0}}
  - {{measure: throttle_fraction, at_most: {most}}}
sweep:
  - {{path: workloads.w.rate, values: [100, 200, 300, 400, 500]}}
  - {{path: cluster.routers, values: [1, 2]}}
"""


class Lab:
    def __init__(self, weir, directory):
        self.weir, self.directory = str(weir), pathlib.Path(directory)

    def scenario(self, name, duration="5s", most=1):
        path = self.directory / name
        path.write_text(SMALL.format(duration=duration, most=most))
        return str(path)

    def run(self, *arguments, code=0):
        done = subprocess.run([self.weir, "lab", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=240)
        if done.returncode != code:
            raise AssertionError(f"weir lab {' '.join(arguments)} ended with {done.returncode}, not {code}:\n"
                                 f"{done.stdout}{done.stderr}")
        return done.stdout + done.stderr


def tree(directory):
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(pathlib.Path(directory).rglob("*"))
            if p.is_file()}


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def a_directory_has_all_results(lab):
    out = lab.directory / "all"
    scenario = lab.scenario("all.yaml")
    lab.run("run", scenario, "--seeds", "3", "--out", str(out))
    files = tree(out)
    expect({"scenario.yaml", "plan.json", "result.json", "result.csv", "junit.xml", "runs/1-weir/0/1.json",
            "runs/2-free____/0/3.json"} <= set(files), sorted(files))
    result = json.loads(files["result.json"])
    expect(result["runs"] == 6 and result["failed"] == 0 and result["expected"] == 2, result)
    suite = xml.etree.ElementTree.fromstring(files["junit.xml"]).find("testsuite")
    expect(suite.get("tests") == "2" and "free <&>" in suite[0].get("name"), files["junit.xml"])
    run = json.loads(files["runs/1-weir/0/1.json"])
    slots = run["series"]["tenants"][""]["offered"]
    expect(sum(slots) == run["measures"][""]["offered_units"] * 1000, "the series is not what was offered")
    before = {p: p.stat().st_mtime_ns for p in out.rglob("runs/*/*/*.json")}
    lab.run("run", scenario, "--seeds", "3", "--out", str(out))
    expect(before == {p: p.stat().st_mtime_ns for p in before}, "runs with a result were repeated")
    for options, differ in ((["--seeds", "4"], "--seeds"), (["--seeds", "3", "--seed", "2"], "--seed"),
                            (["--seeds", "3", "--set", "cluster.routers=3", "--add", "baselines"], "--add, --set"),
                            (["--seeds", "5", "--until", "9%"], "--seeds, --until"),
                            (["--seeds", "3", "--fidelity", "full"], "--fidelity")):
        text = lab.run("run", scenario, *options, "--out", str(out), code=2)
        expect(f"all has other runs: it differs in {differ}. Choose another --out" in text, text)
    text = lab.run("compare", str(out), "weir,free <&>")
    expect("throttle_fraction" in text, text)
    expect("nan" not in text, text)
    text = lab.run("compare", str(out), "weir,weir", code=2)
    expect("each named once" in text, text)
    text = lab.run("compare", str(out), "weir,nobody", code=2)
    expect("policies with runs in" in text and ": weir, free <&>" in text, text)
    sweep = lab.directory / "compared"
    lab.run("sweep", scenario, "--seeds", "2", "--out", str(sweep))
    text = lab.run("compare", str(sweep), "weir,free <&>")
    expect(text.count("throttle_fraction ") == 10 and "rate=500,routers=2\n" in text, text)


def a_stopped_command_goes_on(lab):
    whole, parts = lab.directory / "whole", lab.directory / "parts"
    scenario = lab.scenario("long.yaml", duration="20s")
    options = ["--seeds", "20", "--jobs", "2", "--quiet"]
    lab.run("run", scenario, *options, "--out", str(whole))
    child = subprocess.Popen([lab.weir, "lab", "run", scenario, *options, "--out", str(parts)], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    until("a run comes to its end", lambda: list(parts.glob("runs/*/*/*.json")) or child.poll() is not None, poll_s=0.005)
    child.send_signal(signal.SIGINT)
    output = child.communicate(timeout=60)[0].decode()
    done = len(list(parts.glob("runs/*/*/*.json")))
    expect(child.returncode == 1 or done == 40, output)
    lab.run("run", scenario, *options, "--out", str(parts))
    expect(tree(whole) == tree(parts), "the results differ from those of a command that was not stopped")


def one_process(lab, scenario, runs, *options):
    """What one process writes for the sweep of a scenario."""
    one = lab.directory / "one"
    lab.run("sweep", scenario, *options, "--jobs", "1", "--out", str(one))
    found = len(list(one.glob("runs/*/*/*.json")))
    expect(found == runs, f"{found} of {runs} runs have a result")
    return tree(one)


def expect_same(one, directory, who):
    """The directory has the files of one process, byte for byte."""
    files = tree(directory)
    expect(one == files, f"the files of {who} differ from one process's: "
                         f"{sorted(p for p in one.keys() | files.keys() if one.get(p) != files.get(p))[:5]}")


def many_workers_give_the_same_files(lab, runs):
    scenario = lab.scenario("sweep.yaml", duration="2s")
    seeds = str(max(1, runs // 20))
    parallel, machines = (lab.directory / name for name in ("many jobs' results", "machines"))
    one = one_process(lab, scenario, 20 * int(seeds), "--seeds", seeds)
    commands = lab.run("sweep", scenario, "--seeds", seeds, "--out", str(parallel), "--print-jobs")
    expect(len(commands.splitlines()) == 20 * int(seeds), commands)
    if shutil.which("parallel") is None:
        raise AssertionError("GNU parallel is missing: tools/setup test installs it")
    path = f"{os.path.dirname(os.path.abspath(lab.weir))}:{os.environ['PATH']}"
    subprocess.run(["parallel", "--will-cite", "--jobs", "4"], input=commands, text=True, check=True,
                   env=dict(os.environ, PATH=path), timeout=300)
    lab.run("result", str(parallel))
    expect_same(one, parallel, "GNU parallel")
    for part in ("1/3", "2/3", "3/3"):
        lab.run("sweep", scenario, "--seeds", seeds, "--out", str(machines), "--part", part)
    lab.run("result", str(machines))
    expect_same(one, machines, "three parts")


def errors_tell_what_is_wrong(lab):
    scenario = lab.scenario("errors.yaml", most=0)
    for arguments, code, part in (
            (["run", "nothing.yaml"], 2, "cannot read nothing.yaml"),
            (["run"], 2, "expects one scenario"),
            (["run", scenario, "--set", "cluster.routes=2"], 2, "unknown field `routes`; known are nodes, routers"),
            (["run", scenario, "--set", "rate"], 2, "PATH=VALUE"),
            (["run", scenario, "--only", "nobody"], 2, "there is no policy `nobody`"),
            (["run", scenario, "--seeds", "0"], 2, "seeds"),
            (["run", scenario, "--until", "2"], 2, "a percentage from 0.01% to 50%"),
            (["run", scenario, "--until", "2%", "--seeds", "4"], 2, "at least 5 seeds"),
            (["run", scenario, "--measures", "splits"], 2, "--measures needs --until"),
            (["run", scenario, "--until", "2%", "--measures", "nosuch"], 2, "no measure `nosuch`"),
            (["sweep", scenario], 2, "needs --out DIR"),
            (["job", str(lab.directory), "x"], 2, "NUMBER must be a number from 0 to 10000000, not `x`"),
            (["job", str(lab.directory), "0"], 2, "plan.json"),
            (["job", str(lab.directory / "all"), "99"], 2, "runs 0 to 5"),
            (["new", "nothing", "mine"], 2, "no scenario `nothing`"),
            (["list", "everything"], 2, "must be scenarios, measures or format"),
            (["rum"], 2, "did you mean `weir lab run`"),
            (["comp"], 2, "did you mean `weir lab compare`"),
            (["suite", "--set", "cluster.routes=2"], 2, "no scenario can be run: flatness: what is set at"),
            (["suite", "--out", str(lab.directory / "all")], 2, "has the runs of one scenario"),
            (["run", scenario, "--seeds", "1"], 1, "FAILS")):
        text = lab.run(*arguments, code=code)
        expect(part in text, f"{arguments}: `{part}` is not in: {text}")
    broken = lab.directory / "broken"
    shutil.copytree(lab.directory / "all", broken)
    (broken / "runs/1-weir/0/1.json").write_text("{")
    text = lab.run("result", str(broken), code=1)
    expect("broken/runs/1-weir/0/1.json: not the JSON of a run. Remove the file, and run again" in text, text)
    text = lab.run("run", scenario, "--seeds", "1", "--only", "free <&>")
    expect("not judged: 1 of 2 expectations, whose policies have no runs" in text, text)


def results_belong_to_their_inputs(lab):
    """What a run reads beside the scenario, and the build, are a part of the plan."""
    trace, out = lab.directory / "day.csv", lab.directory / "replayed"
    lines = [f"{i // 50},key{i % 7},20,100,1,get,0\n" for i in range(500)]
    trace.write_text("".join(lines))
    replay = ["replay", str(trace), "--seeds", "2", "--quiet", "--out", str(out)]
    lab.run(*replay)
    plan = json.loads((out / "plan.json").read_text())
    expect([i["file"] for i in plan["inputs"]] == [str(trace.resolve())], plan)
    result = json.loads((out / "result.json").read_text())
    expect(result["build"] == plan["build"] and result["inputs"] == plan["inputs"], result["inputs"])
    expect(f"({plan['build']})" in subprocess.run([lab.weir, "--version"], capture_output=True, text=True, check=True).stdout,
           plan["build"])
    expect("all 2 runs are equal" in lab.run("reproduce", str(out)), "a run is not reproduced")

    trace.write_text("".join(lines[:-1]) + lines[-1].replace("100", "101"))
    expect(f"{trace} has changed: its SHA-256 was" in lab.run(*replay, code=2), "an altered trace was taken")
    expect("cannot be repeated" in lab.run("reproduce", str(out), code=1), "an altered trace was taken")
    expect("has changed" in lab.run("job", str(out), "0", code=2), "an altered trace was taken by a job")
    trace.write_text("".join(lines))
    lab.run(*replay)

    runs = sorted(out.glob("runs/*/*/2.json"))
    whole = runs[0].read_text()
    offered = json.loads(whole)["measures"][""]["offered_requests"]
    runs[0].write_text(whole.replace(f'"offered_requests":{offered}', '"offered_requests":77'))
    text = lab.run("reproduce", str(out), code=1)
    expect(f"differs: offered_requests was 77 and is {offered}" in text and "1 of 2 runs differ" in text, text)
    runs[0].write_text(whole)

    (out / "plan.json").write_text(json.dumps({**plan, "build": "0123456789ab"}))
    expect("its runs are of the build 0123456789ab of weir" in lab.run(*replay, code=2), "another build was taken")
    text = lab.run("reproduce", str(out))
    expect("of the build 0123456789ab" in text and "all 2 runs are equal" in text, text)


def a_policy_without_effect_is_told(lab):
    scenario = lab.scenario("twins.yaml")
    path = pathlib.Path(scenario)
    path.write_text(path.read_text().replace("expect:", "  - {name: twin, set: {cluster.settings.gac_grant_ms: 77}}\nexpect:")
                    .replace("gac: 1}", "gac: 1, settings: {gac: \"off\"}}"))
    text = lab.run("run", scenario, "--seeds", "2", "--out", str(lab.directory / "twins"))
    expect("twin changes nothing here: each of its runs is equal to that of weir with the same seed" in text, text)
    expect("free <&> changes" not in text, text)
    result = json.loads((lab.directory / "twins/result.json").read_text())
    expect(result["equal"] == [{"point": "", "policy": "twin", "to": "weir"}], result["equal"])


def a_policy_beyond_its_limit_is_told(lab):
    path = lab.directory / "beyond.yaml"
    path.write_text("name: beyond\nduration: 20s\nwarm: 2s\ncluster: {nodes: 3, routers: 2, gac: 1}\n"
                    "tables: [{name: users, rcu: 1000, wcu: 1000, partitions: 6}]\n"
                    "workloads: [{name: www, table: users, rate: 2500, mix: \"read:0:update:1\"}]\n"
                    "policies: [{name: weir}, {name: none, set: {cluster.settings.gac: \"off\", "
                    "cluster.settings.partition_policy: none}}]\n")
    run = ["run", str(path), "--seeds", "1", "--quiet"]
    text = lab.run(*run, code=1)
    expect("WRONG: none exceeds the optimum in 180 windows and its limit" in text and "weir exceeds" not in text, text)
    lab.run(*run, "--allow-violations")
    result = json.loads(lab.run(*run, "--json", code=1))
    expect([(e["policy"], e["declared"]) for e in result["exceeding"]] == [("none", False)], result["exceeding"])
    path.write_text(path.read_text().replace("{name: none,", "{name: none, exceeds: true,"))
    expect("note: none exceeds the optimum" in lab.run(*run), "a declared policy")


NOISY = """name: noisy
duration: {duration}
cluster: {{nodes: 3, routers: 2, gac: 1}}
tables: [{{name: users, rcu: 200, wcu: 200}}]
workloads: [{{name: w, table: users, rate: 100, mix: "read:0:update:1"}}]
policies: [{{name: weir}}, {{name: other}}]
expect: [{{measure: offered_rate, at_most: {most}}}]
"""


def what_cannot_be_told_is_no_success(lab):
    """100 Poisson arrivals a second: the mean of three seeds is below the bound, the interval is not."""
    path = lab.directory / "noisy.yaml"
    path.write_text(NOISY.format(duration="4s", most=110))
    text = lab.run("run", str(path), "--seeds", "3", "--quiet", code=3)
    expect("UNSURE weir: offered_rate" in text and "cannot be told with 3 runs" in text, text)
    expect("no interval" in lab.run("run", str(path), "--seeds", "1", "--quiet"), text)


def seeds_are_added_until_the_results_are_precise(lab):
    path, out = lab.directory / "until.yaml", lab.directory / "until"
    path.write_text(NOISY.format(duration="4s", most=1000))
    run = ["run", str(path), "--quiet", "--out", str(out), "--until", "3%"]
    text = lab.run(*run)
    result = json.loads((out / "result.json").read_text())
    seeds = result["until"]["seeds"]
    expect(f"precision: reached after {seeds} seeds" in text and 5 <= seeds < 50, text)
    expect(len(list(out.glob("runs/*/*/*.json"))) == 2 * seeds == result["runs"], text)
    expect(seeds in (5, 6, 8, 10, 13, 17, 22, 29, 38), text)
    value = result["expectations"][0]
    expect(value["high"] - value["mean"] <= 0.03 * value["mean"], value)
    (out / "runs/2-other/0/2.json").unlink()
    before = tree(out / "runs")
    expect(lab.run(*run) == text and len(tree(out / "runs")) == len(before) + 1, "the command goes on elsewhere")
    expect("runs have results" not in lab.run("result", str(out)), "runs after the last analysis are missed")
    lab.run("compare", str(out), "weir,other")
    for other, differ in ((["--until", "4%"], "--until"), (["--until", "3%", "--measures", "splits"], "--measures"),
                          (["--seeds", "50"], "--until")):
        text = lab.run(*run[:-2], *other, code=2)
        expect(f"has other runs: it differs in {differ}. " in text, text)
    text = lab.run("run", str(path), "--quiet", "--seeds", "6", "--until", "0.01%", "--measures", "offered_rate")
    expect("precision: NOT REACHED after 6 seeds" in text and "other: offered_rate is" in text, text)


def a_run_that_is_not_steady_is_told(lab):
    """The saved tokens of the table are used up after some seconds."""
    path = lab.directory / "unsteady.yaml"
    path.write_text(NOISY.format(duration="40s", most=1000).replace("rate: 100", "rate: 300"))
    text = lab.run("run", str(path), "--seeds", "2", "--quiet")
    expect("weir is not steady after `warm` in 2 of 2 runs" in text, text)
    path.write_text(NOISY.format(duration="40s", most=1000))
    expect("not steady" not in lab.run("run", str(path), "--seeds", "2", "--quiet"), text)


def a_new_scenario_runs(lab):
    path = lab.directory / "mine.yaml"
    path.write_text(lab.run("new", "mine"))
    lab.run("run", str(path), "--seeds", "1", "--set", "duration=20s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--runs", type=int, default=200, help="of the sweep that workers share")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        lab = Lab(pathlib.Path(arguments.weir).resolve(), directory)
        a_directory_has_all_results(lab)
        a_stopped_command_goes_on(lab)
        many_workers_give_the_same_files(lab, arguments.runs)
        errors_tell_what_is_wrong(lab)
        results_belong_to_their_inputs(lab)
        a_policy_without_effect_is_told(lab)
        a_policy_beyond_its_limit_is_told(lab)
        what_cannot_be_told_is_no_success(lab)
        seeds_are_added_until_the_results_are_precise(lab)
        a_run_that_is_not_steady_is_told(lab)
        a_new_scenario_runs(lab)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
