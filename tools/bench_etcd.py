#!/usr/bin/env python3
"""tools/bench_etcd.py - durable replicated puts: three weir nodes beside three
members of etcd.

Both run on loopback, with their data on the same disk, not pinned to cores.
Each of 64 connections has one put in flight; items have the same size; requests
are not signed. weir and etcd take turns, round by round, and the median of the
rounds' ratios counts. weir-bench sends puts to weir over HTTP through one
router. h2load sends them to etcd's leader, over gRPC (the protocol of etcd's
clients) and through its JSON gateway. The better figure of etcd counts. h2load
writes one key repeatedly, weir-bench many keys: etcd keeps every version of a
key as a separate entry, so the work is the same.

An etcd is one replication group, so it is compared with a table of one
partition. A default on-demand table, of four partitions led by three nodes, is
measured beside them.

Writes docs/data/bench-etcd.json. Exit code 1: below the budget.

  tools/bench_etcd.py
  tools/bench_etcd.py --rounds 5 --seconds 8
"""
import argparse
import base64
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WEIR = os.path.join(ROOT, "build", "weir")
BENCH = os.path.join(ROOT, "build", "weir-bench")
READY_WITHIN_S = 60
MEMBERS = 3
LEAST_RATIO = 5.0
# A table on demand has as many as it takes to serve what it starts with.
ONE_PARTITION = ["--set", "on_demand_wcu=1000", "--set", "on_demand_rcu=3000"]
sys.path.insert(0, os.path.join(ROOT, "tests", "fault"))
import servers  # pylint: disable=wrong-import-position


def until(what, condition):
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            sys.exit(f"bench_etcd: not within {READY_WITHIN_S} s: {what}")
        time.sleep(0.05)


KEY = b"key-0000000001"


def grpc_put(value):
    """The message of etcdserverpb.KV/Put, behind gRPC's head: not compressed, and its size."""
    def field(number, data):
        size, digits = len(data), []
        while size > 127:
            digits, size = [*digits, size & 127 | 128], size >> 7
        return bytes([number << 3 | 2, *digits, size]) + data
    message = field(1, KEY) + field(2, value)
    return b"\0" + len(message).to_bytes(4, "big") + message


def json_put(value):
    return json.dumps({"key": base64.b64encode(KEY).decode(),
                       "value": base64.b64encode(value).decode()}).encode()


# How h2load is told to put: by the protocol's name.
PUTS = {"grpc": (grpc_put, "/etcdserverpb.KV/Put", ["-H", "content-type: application/grpc"]),
        "json": (json_put, "/v3/kv/put", ["--h1", "-H", "content-type: application/json"])}


class Etcd:
    """Three members, with their defaults."""

    def __init__(self, folder, log):
        ports = servers.free_ports(2 * MEMBERS)
        self.clients = [f"http://127.0.0.1:{port}" for port in ports[:MEMBERS]]
        peers = [f"http://127.0.0.1:{port}" for port in ports[MEMBERS:]]
        everyone = ",".join(f"m{n}={peer}" for n, peer in enumerate(peers))
        self.folder = folder
        self.processes = [subprocess.Popen(
            ["etcd", "--name", f"m{n}", "--data-dir", os.path.join(folder, f"etcd-{n}"),
             "--listen-client-urls", self.clients[n], "--advertise-client-urls", self.clients[n],
             "--listen-peer-urls", peers[n], "--initial-advertise-peer-urls", peers[n],
             "--initial-cluster", everyone], stdout=log, stderr=log) for n in range(MEMBERS)]
        self.url = until("etcd has a leader", self.leader)

    def leader(self):
        done = subprocess.run(
            ["etcdctl", "--endpoints", ",".join(self.clients), "endpoint", "status", "-w", "json"],
            env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None
        for member in json.loads(done.stdout):
            status = member["Status"]
            if status["leader"] and status["leader"] == status["header"]["member_id"]:
                return member["Endpoint"]
        return None

    def version(self):
        """How often the key was written."""
        done = subprocess.run(
            ["etcdctl", "--endpoints", self.url, "get", KEY.decode(), "-w", "json"],
            env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, text=True, check=True)
        return sum(kv["version"] for kv in json.loads(done.stdout).get("kvs", []))

    def measure(self, options, protocol):
        """HTTP says 200 of a put that gRPC says has failed: the key's version tells how many went well."""
        put, path, arguments = PUTS[protocol]
        body, log = os.path.join(self.folder, "put"), os.path.join(self.folder, "h2load.log")
        with open(body, "wb") as file:
            file.write(put(b"x" * (options.item_bytes - len(KEY))))
        before = self.version()
        subprocess.run(["h2load", "-c", str(options.connections), "-m", "1", "-D", str(options.seconds),
                        "-d", body, "--log-file", log, *arguments, self.url + path],
                       check=True, stdout=subprocess.DEVNULL)
        with open(log, encoding="ascii") as file:
            rows = [line.split("\t") for line in file]
        os.remove(log)
        times = sorted(int(us) for _, status, us in rows if status == "200")
        if not times or self.version() - before < len(times):
            sys.exit(f"bench_etcd: etcd {protocol}: not every put that was answered is there")

        def at(percent):
            return times[min(len(times) - 1, int(len(times) * percent / 100))]
        return {"name": "Put", "requests_per_s": round(len(times) / options.seconds, 1),
                "not_admitted": len(rows) - len(times),
                "latency_us": {"p50": at(50), "p99": at(99), "p99.9": at(99.9), "max": times[-1]}}

    def stop(self):
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait()


class Weir:
    """Three nodes, each partition on all of them, and a router."""

    def __init__(self, folder, settings=()):
        self.cluster = servers.Cluster(WEIR, folder, MEMBERS, 1, ["--profile", "off", *settings])
        self.cluster.start()
        self.url = f"http://127.0.0.1:{self.cluster.ports[0]}"
        until("weir answers", self.answers)

    def answers(self):
        try:
            with urllib.request.urlopen(f"{self.url}/weir/partitions", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def measure(self, options):
        done = subprocess.run(
            [BENCH, "http", "--json", "--url", self.url, "--unsigned", "--load-cpu", "-1",
             "--duration", f"{options.seconds}s", "--connections", str(options.connections),
             "--item-bytes", str(options.item_bytes), "--keys", str(options.keys)],
            check=True, stdout=subprocess.PIPE, text=True)
        return next(m for m in json.loads(done.stdout)["measures"] if m["name"] == "PutItem")

    def stop(self):
        self.cluster.stop()


def run_rounds(options, folder):
    rounds = []
    one = default = etcd = None
    with open(os.path.join(folder, "etcd.log"), "wb") as log:
        try:
            one = Weir(os.path.join(folder, "one"), ONE_PARTITION)
            default = Weir(os.path.join(folder, "default"))
            etcd = Etcd(folder, log)
            for number in range(options.rounds):
                print(f"bench_etcd: round {number + 1} of {options.rounds}", file=sys.stderr)
                rounds.append({"weir": one.measure(options),
                               "weir, 4 partitions": default.measure(options),
                               "etcd grpc": etcd.measure(options, "grpc"),
                               "etcd json": etcd.measure(options, "json")})
                for name, m in rounds[-1].items():
                    if m["not_admitted"] > 0:
                        print(f"bench_etcd: {name}: {m['not_admitted']} were not admitted", file=sys.stderr)
        finally:
            for started in (one, default, etcd):
                if started is not None:
                    started.stop()
    return rounds


def compare(rounds, name):
    """Ratios within each round against the better of etcd's two figures."""
    ratios = [r[name]["requests_per_s"] /
              max(r["etcd grpc"]["requests_per_s"], r["etcd json"]["requests_per_s"])
              for r in rounds]
    return {"measure": f"durable put, 3 replicas: {name}", "against": "etcd", "least": LEAST_RATIO,
            "ratio": round(statistics.median(ratios), 3),
            "of_rounds": [round(ratio, 3) for ratio in ratios]}


def median_of(rounds, name):
    by_rate = sorted((r[name] for r in rounds), key=lambda m: m["requests_per_s"])
    return by_rate[len(by_rate) // 2]


def show(figures, row, other):
    print(f"{'server':<20}{'puts/s':>10}{'p50 us':>10}{'p99 us':>10}")
    for name, m in figures.items():
        print(f"{name:<20}{m['requests_per_s']:>10,.0f}{m['latency_us']['p50']:>10,.0f}"
              f"{m['latency_us']['p99']:>10,.0f}")
    verdict = "ok" if row["ratio"] >= row["least"] else "BELOW ITS BUDGET"
    print(f"\n{row['measure']} is {row['ratio']:.2f} x {row['against']} (at least "
          f"{row['least']:g}): {verdict}")
    print(f"{other['measure']} is {other['ratio']:.2f} x")
    lower = figures["weir"]["latency_us"]["p99"] < figures["etcd grpc"]["latency_us"]["p99"]
    print(f"p99 is {'lower' if lower else 'NOT LOWER'} than etcd's")
    return row["ratio"] >= row["least"] and lower


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--item-bytes", type=int, default=100)
    parser.add_argument("--keys", type=int, default=10000)
    parser.add_argument("--out", default=os.path.join(ROOT, "docs", "data"), help="directory")
    options = parser.parse_args()
    subprocess.run([os.path.join(ROOT, "tools", "setup"), "build", "bench"], check=True)
    busy = os.getloadavg()[0]
    if busy > 0.5:
        print(f"bench_etcd: the machine is busy (load average {busy:.1f}): these figures will say "
              "little", file=sys.stderr)
    subprocess.run([os.path.join(ROOT, "tools", "build"), "--bench"], check=True)
    # Not below /tmp, which may be memory.
    folder = tempfile.mkdtemp(prefix="bench-etcd-", dir=os.path.join(ROOT, "build"))
    try:
        rounds = run_rounds(options, folder)
    finally:
        shutil.rmtree(folder)
    figures = {name: median_of(rounds, name) for name in rounds[0]}
    row, other = compare(rounds, "weir"), compare(rounds, "weir, 4 partitions")
    kept = show(figures, row, other)
    os.makedirs(options.out, exist_ok=True)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    etcd = subprocess.run(["etcd", "--version"], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.splitlines()[:1]
    with open(os.path.join(options.out, "bench-etcd.json"), "w", encoding="utf-8") as file:
        json.dump({"command": "tools/bench_etcd.py " + " ".join(sys.argv[1:]), "commit": commit,
                   "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release()}",
                   "load_average_before": busy, "etcd": etcd, "median_round": figures,
                   "ratios": [row, other], "rounds": rounds}, file, indent=1)
        file.write("\n")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
