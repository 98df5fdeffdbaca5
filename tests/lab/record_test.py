#!/usr/bin/env python3
"""Recordings of routers: what `weir local --record` and `weir router --record` write replays as it was, recordings of
two routers are merged, a salt hides keys, a full disk ends the recording and nothing else.

  record_test.py --weir build/weir [--seconds 20]
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
from replay_test import UNITS, lab, near  # noqa: E402
from servers import Cluster, Server, until  # noqa: E402

SAME = 0.02  # how far the replay's throttle fraction may be from the recorded one
SALT = ["--record-salt", "a salt of the test"]


def load(weir, address, rate, seconds, *arguments):
    """Offered and throttled requests of a run."""
    done = subprocess.run([weir, "load", "--url", address, "--rate", str(rate), "--distribution", "zipf:0.99",
                           "--read-ratio", "0.3", "--item-bytes", "uniform:300:1500", "--duration", f"{seconds}s",
                           "--json", "--quiet", *arguments],
                          stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + 120)
    workload = json.loads(done.stdout)["workloads"][0]
    if workload["failed"] > 0 or workload["client_overrun"] > 0:
        raise AssertionError(f"not only admitted and throttled: {workload}")
    return workload["offered"], workload["throttled"]


def outcomes(record):
    """The requests' outcomes in a recording."""
    text = record.read_text()
    return [line.split()[6] for line in text[:text.rfind("\n") + 1].splitlines() if line[0].isdigit()]


def check_recording(record, offered, throttled, salted):
    found = outcomes(record)
    if (len(found), found.count("t")) != (offered, throttled):
        raise AssertionError(f"{record}: {len(found)} requests, {found.count('t')} throttled, "
                             f"but {offered} were sent and {throttled} throttled")
    if (b"key-" in record.read_bytes()) == salted:
        raise AssertionError(f"{record}: keys are {'readable' if salted else 'missing'}")


def one_router(weir, directory, seconds):
    record = directory / "one.trace"
    server = Server(weir, ["local", "--port", "0", "--data", directory / "one", "--record", record, *SALT],
                    directory / "one.log")
    server.start()
    try:
        offered, throttled = load(weir, server.address, 3 * UNITS, seconds, "--create-table", "--wcu", str(UNITS),
                                  "--rcu", str(UNITS))
        until("all requests are in the file", lambda: len(outcomes(record)) == offered)
        server.kill()
    finally:
        server.forget()
    check_recording(record, offered, throttled, True)
    fraction = throttled / offered
    if not 0.2 < fraction < 0.9:
        raise AssertionError(f"a throttle fraction of {fraction} shows little")
    near(lab(weir, [record], UNITS), fraction, SAME, "one router")


def two_routers(weir, directory, seconds):
    """Each router has half of the requests, in a recording of its own."""
    cluster = Cluster(weir, directory / "two", 3, 2, gac=1)
    records = [directory / f"router-{n}.trace" for n in (1, 2)]
    for n, record in enumerate(records, 1):
        cluster[f"router-{n}"].command += ["--record", str(record)]
    cluster.start()
    try:
        urls = [cluster[name].address for name in cluster.routers]
        load(weir, urls[0], 1, 1, "--create-table", "--wcu", str(UNITS), "--rcu", str(UNITS))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = list(pool.map(lambda i: load(weir, urls[i], 1.5 * UNITS, seconds, "--seed", str(i + 1)), (0, 1)))
        cluster.stop()
    finally:
        cluster.forget()
    total, refused = 0, 0
    for record, (offered, throttled) in zip(records, runs):
        found = outcomes(record)
        total, refused = total + len(found), refused + found.count("t")
        if not 0 <= len(found) - offered <= 10 or found.count("t") != throttled:
            raise AssertionError(f"{record}: {len(found)} requests, {offered} and at most 10 others were sent")
    print(f"two routers: {total} requests, {refused} refused", flush=True)
    near(lab(weir, records, UNITS, "cluster.routers=2"), refused / total, SAME, "two routers")
    return records


def errors(weir, directory, records):
    """What cannot be merged, or recorded."""
    other = directory / "other.trace"
    other.write_text("weir-trace 1 keys=hashed\nsalt 0000\nclock 1\n0 0 0 r x1 1 a\n")
    bare = directory / "bare.trace"
    bare.write_text("weir-trace 1 keys=plain\n0 0 0 r x1 1 a\n")
    for arguments, part in (
            (["lab", "replay", records[0], directory / "one.trace"], "equal keys would differ"),
            (["lab", "replay", directory / "one.trace", other], "the same salt"),
            (["lab", "replay", records[0], bare], "no line `clock`"),
            (["lab", "replay", records[0], records[0]], "is named twice"),
            (["lab", "replay", records[0], records[1], directory / "none"], "cannot read"),
            (["local", *SALT], "--record-salt needs --record"),
            (["local", "--port", "0", "--data", directory / "e", "--record", directory / "no/file"],
             "cannot create --record")):
        done = subprocess.run([weir, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 0 or part not in done.stderr:
            raise AssertionError(f"{arguments}: {done.returncode}, `{part}` is not in: {done.stderr}")


def files(weir, directory):
    """A full disk ends the recording with one line. A file that exists is kept."""
    kept = directory / "kept.trace"
    kept.write_text("kept")
    for name, record in (("full", pathlib.Path("/dev/full")), ("kept", kept)):
        log = directory / f"{name}.log"
        server = Server(weir, ["local", "--port", "0", "--data", directory / name, "--record", record, "--log", "requests"],
                        log)
        server.start()
        try:
            load(weir, server.address, 100, 2, "--create-table", "--on-demand", "--table", "kept")
            server.stop()
        finally:
            server.forget()
        if "PutItem kept/" not in log.read_text():
            raise AssertionError(f"{name}: --log requests beside --record tells no request: {log.read_text()}")
        said = log.read_text().count("The recording ends here; the router goes on.")
        if said != (name == "full"):
            raise AssertionError(f"{name}: {said} lines about the end of the recording: {log.read_text()}")
    if kept.read_text() != "kept" or not outcomes(directory / "kept.trace.1"):
        raise AssertionError("a file that existed was not kept, or nothing was recorded beside it")
    check_recording(directory / "kept.trace.1", len(outcomes(directory / "kept.trace.1")), 0, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--seconds", type=int, default=20)
    arguments = parser.parse_args()
    weir = str(pathlib.Path(arguments.weir).resolve())
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        one_router(weir, directory, arguments.seconds)
        records = two_routers(weir, directory, arguments.seconds)
        errors(weir, directory, records)
        files(weir, directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
