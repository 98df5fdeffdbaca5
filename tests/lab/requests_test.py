#!/usr/bin/env python3
"""`weir lab run --requests`: the files, and the measures that follow from them, to the last digit.

  requests_test.py --weir build/weir

The code of examples/requests/measures.ipynb is executed on runs of scenarios with throttling, indexes, hedges and tables
on demand, at the fidelities admission and full.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/requests"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
sys.path.insert(0, str(EXAMPLES))
from servers import until  # noqa: E402
import weir_requests  # noqa: E402

SCENARIOS = (("static-skew", "--only", "weir", "--set", "duration=8s"), ("hedging", "--set", "duration=12s"),
             ("overload", "--only", "weir", "--set", "duration=16s"), ("on-demand", "--set", "duration=170s", "--set", "workloads.1.rate=200"),
             ("index-steady-pressure", "--set", "duration=13s", "--set", "warm=2s"))


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def lab(weir, *arguments, codes=(0,)):
    done = subprocess.run([weir, "lab", *map(str, arguments)], capture_output=True, text=True, timeout=240)
    expect(done.returncode in codes, f"weir lab {arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def executed(directory):
    """The variables that the notebook has at its end."""
    notebook = json.loads((EXAMPLES / "measures.ipynb").read_text())
    variables, printed = {"directory": str(directory)}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), cell["id"], "exec"), variables)
    return variables


def measures_are_computed_again(weir, directory):
    for name, *options in SCENARIOS:
        out = directory / name
        lab(weir, "run", name, "--seeds", 1, "--quiet", "--requests", "--out", out, "--allow-violations", *options,
            codes=(0, 1, 3))
        found = executed(out)
        expect(len(found["compared"]) >= 18, f"{name}: {len(found['compared'])} values")
        expect(found["differences"].empty, f"{name}:\n{found['differences'].to_string()}")
        counted = sum(run.result()["measures"][""]["offered_requests"] for run in found["runs"])
        expect(counted > 100, f"{name}: {counted} requests")
        print(f"{name}: {len(found['compared'])} values of {len(found['rows'])} rows are equal")


def a_result_is_the_same_without_rows(weir, directory):
    out = directory / "plain"
    run = ("run", "static-skew", "--only", "weir", "--seeds", 1, "--quiet", "--out", out, "--set", "duration=8s")
    lab(weir, *run, codes=(0, 1, 3))
    for path in sorted(out.glob("runs/*/*/*.json")):
        other = directory / "static-skew" / path.relative_to(out)
        expect(path.read_bytes() == other.read_bytes(), f"{path} differs with --requests")
    before = {p: p.stat().st_mtime_ns for p in out.glob("runs/*/*/*.json")}
    lab(weir, *run, "--requests", codes=(0, 1, 3))
    expect(len(list(weir_requests.runs(out))) == len(before) > 0, "runs without rows were not run again")


def a_stopped_command_leaves_no_part_of_a_file(weir, directory):
    out = directory / "stopped"
    child = subprocess.Popen([weir, "lab", "run", "static-skew", "--seeds", "40", "--jobs", "2", "--quiet", "--requests",
                              "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until("a file is begun", lambda: list(out.glob("runs/*/*/*.requests.csv.gz.*")) or child.poll() is not None,
          poll_s=0.005)
    child.send_signal(signal.SIGINT)
    child.wait(timeout=60)
    until("the runs have ended", lambda: not list(out.glob("runs/*/*/*.gz.*")))
    for run in weir_requests.runs(out):
        run.measures()


def a_full_disk_is_told(weir, directory):
    def with_room_for_little():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))

    out = directory / "full"
    done = subprocess.run([weir, "lab", "run", "static-skew", "--only", "weir", "--seeds", "1", "--quiet", "--requests", "--out",
                           str(out), "--set", "duration=8s"], capture_output=True, text=True, timeout=240,
                          preexec_fn=with_room_for_little)
    expect(done.returncode == 1 and "1.requests.csv.gz: File too large" in done.stderr, f"{done.returncode} {done.stderr}")
    expect(not list(out.glob("runs/*/*/*")), list(out.glob("runs/*/*/*")))


def wrong_use_is_refused(weir, directory):
    expect("--requests needs --out DIR" in lab(weir, "run", "static-skew", "--requests", codes=(2,)), "no --out")
    expect("cannot have --requests" in lab(weir, "sweep", "static-skew", "--out", directory / "jobs", "--print-jobs",
                                           "--requests", codes=(2,)), "jobs with rows")
    other = directory / "other.csv.gz"
    subprocess.run(["gzip"], input=b"event,at_ns\n", stdout=other.open("wb"), check=True)
    try:
        weir_requests.read(other)
        raise AssertionError("another file was read")
    except ValueError as e:
        expect("is not a file of weir-requests-1" in str(e), str(e))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    options = parser.parse_args()
    weir = os.path.abspath(options.weir)
    with tempfile.TemporaryDirectory() as name:
        for test in (measures_are_computed_again, a_result_is_the_same_without_rows,
                     a_stopped_command_leaves_no_part_of_a_file, a_full_disk_is_told,
                     wrong_use_is_refused):
            test(weir, pathlib.Path(name))


if __name__ == "__main__":
    main()
