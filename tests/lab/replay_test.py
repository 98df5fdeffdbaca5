#!/usr/bin/env python3
"""A recording of a real run, replayed by `weir lab`: under the same limits it throttles as much as the real run did,
and under twice the capacity as much as a real run with twice the capacity.

  replay_test.py --weir build/weir [--seconds 30]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
from servers import Server  # noqa: E402

UNITS = 100
SAME, TWICE = 0.02, 0.05  # how far a throttle fraction may be from the real run's


def real(weir, directory, units, record, replay, seconds):
    """The throttle fraction of a run against a new `weir local`."""
    data = directory / f"data-{record.name}"
    server = Server(weir, ["local", "--port", "0", "--data", data], directory / "log")
    server.start()
    try:
        command = [weir, "load", "--url", server.address, "--create-table", "--wcu", str(units), "--rcu", str(units),
                   "--json", "--quiet", "--record", str(record)]
        command += ["--replay", str(replay)] if replay else \
            ["--rate", str(3 * UNITS), "--distribution", "zipf:0.99", "--read-ratio", "0.3", "--item-bytes", "uniform:300:1500",
             "--duration", f"{seconds}s"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + 120)
    finally:
        server.kill()
    workload = json.loads(done.stdout)["workloads"][0]
    print(f"real, {units} units: {workload['throttled']} of {workload['offered']} refused, {workload['failed']} failed",
          flush=True)
    return workload["throttled"] / workload["offered"]


def lab(weir, records, units, *settings):
    """The throttle fraction of the replay of recordings."""
    settings = [word for s in (f"tables.1.wcu={units}", f"tables.1.rcu={units}", *settings) for word in ("--set", s)]
    done = subprocess.run([weir, "lab", "replay", *map(str, records), *settings, "--seeds", "1", "--json", "--quiet"],
                          stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    values = json.loads(done.stdout)["values"]
    value = next(v["mean"] for v in values if v["measure"] == "throttle_fraction_requests" and v["tenant"] == "")
    print(f"lab, {units} units: {value:.4f}", flush=True)
    return value


def near(a, b, bound, what):
    print(f"{what}: {a:.4f} and {b:.4f}", flush=True)
    if abs(a - b) > bound:
        raise AssertionError(f"{what}: {a:.4f} and {b:.4f} differ by more than {bound}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--seconds", type=int, default=30)
    arguments = parser.parse_args()
    weir = str(pathlib.Path(arguments.weir).resolve())
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        first = directory / "first"
        once = real(weir, directory, UNITS, first, None, arguments.seconds)
        if not 0.2 < once < 0.9:
            raise AssertionError(f"a throttle fraction of {once} shows little")
        near(lab(weir, [first], UNITS), once, SAME, "the same capacity")
        twice = real(weir, directory, 2 * UNITS, directory / "second", first, arguments.seconds)
        near(lab(weir, [first], 2 * UNITS), twice, TWICE, "twice the capacity")
        if abs(once - twice) < 2 * TWICE:
            raise AssertionError("twice the capacity makes too little difference to show anything")
    return 0


if __name__ == "__main__":
    sys.exit(main())
