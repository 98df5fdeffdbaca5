#!/usr/bin/env python3
"""Policies from outside the tree: examples/policy is built with the installed header alone, and runs in `weir sim`
and `weir local`. Faulty policies are told, and cannot stop a node. Files that are no policies are refused.

  policy_test.py BUILD_DIR SOURCE_DIR
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "fault"))
from servers import Client, Refused, Server, until  # noqa: E402

BUILD, SOURCE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
POINTS = {"partition_policy": "steady", "node_policy": "first", "headroom_policy": "halves",
          "gac_policy": "just-enough", "adaptive_policy": "on-call",
          "split_policy": "in-two", "demand_policy": "half-way",
          "relocate_policy": "idlest"}
CONTROLLER = ("adaptive", "split", "demand", "relocate")  # its decision points
BROKEN = {  # what is compiled, what must be told
    "no_function": ("int nothing;", ["has no function weir_policy_plugin"]),
    "old": (".abi = WEIR_POLICY_ABI + 1, .size = sizeof plugin", ["version 2", "version 1", "compile it anew"]),
    "small": (".abi = WEIR_POLICY_ABI, .size = 4", ["size = 4", "expected .size = sizeof"]),
    "empty": (".abi = WEIR_POLICY_ABI, .size = sizeof plugin", ["offers no policy"]),
    "undefined": ("void weir_case_of_the_future(void); void f(void) { weir_case_of_the_future(); }\n",
                  ["undefined symbol: weir_case_of_the_future"]),
}


def run(*command, code=0, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **more)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def expect(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"'{part}' is not in:\n{text}")


class Installed:
    """weir in a directory of its own, and the examples built with it."""

    def __init__(self, work):
        self.prefix, self.out = work / "prefix", work / "out"
        run("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.weir = next(self.prefix.rglob("bin/weir"))
        pc = next(self.prefix.rglob("weir.pc"))
        shutil.copytree(SOURCE / "examples/policy", work / "policy")
        env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent))
        run("cmake", "-B", self.out, "-S", work / "policy", env=env)
        run("cmake", "--build", self.out, env=env)
        self.include = next(self.prefix.rglob("weir/policy.h")).parent.parent

    def file(self, name):
        return self.out / f"{name}_policy.so"


def header_is_cpp(i, work):
    (work / "plus.cc").write_text("#include <weir/policy.h>\n#include <weir.h>\nint main() { return 0; }\n")
    run("c++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", work / "plus", work / "plus.cc", f"-I{i.include}")


def guide_compiles(i, work):
    """What docs/guide-policies.md shows is a function that compiles."""
    blocks = re.findall(r"^```c\n(.*?)^```", (SOURCE / "docs/guide-policies.md").read_text(), flags=re.M | re.S)
    assert blocks
    (work / "guide.c").write_text("#include <weir/policy.h>\n" + "".join(blocks) +
                                  "void (*used)(struct weir_case *, int64_t, struct weir_verdict *) = strict_decide;\n")
    run("cc", "-Wall", "-Wextra", "-Werror", "-c", "-o", work / "guide.o", work / "guide.c", f"-I{i.include}")


def simulated(i):
    """Each policy of the template decides in the simulator, twice the same."""
    for name, policy in POINTS.items():
        out = run(i.weir, "sim", "--seeds", 1, "--seconds", 1, "--policy", i.file("example"), "--set",
                  f"{name}={policy}")
        expect(out, "1 seed (1): 0 violations")
        if "policy '" in out:
            raise AssertionError(f"the template is told to be faulty:\n{out}")


def in_the_lab(i):
    """A scenario names the policy of a file; without the file it is unknown."""
    command = ("lab", "run", "read-heavy", "--only", "leader-only", "--seeds", 1, "--quiet", "--set", "duration=8s",
               "--set", "cluster.settings.partition_policy=steady")
    expect(run(i.weir, *command, "--policy", i.file("example")), "leader-only")
    expect(run(i.weir, *command, code=2), "steady")


def lab_throttled(i, work, fidelity, settings):
    """The throttle fraction of a spike after 8 s without requests."""
    out = work / f"lab-{fidelity}-{len(settings)}"
    command = ["lab", "run", "spikes", "--only", "burst", "--seeds", 1, "--quiet", "--fidelity", fidelity, "--out", out,
               "--policy", i.file("example")]
    small = ["duration=12s", "workloads.spike.start=8s", "workloads.spike.rate=250", "tables.items.wcu=50"]
    for setting in small + settings:
        command += ["--set", setting]
    run(i.weir, *command, code=1)  # the scenario is scaled down: its expectations do not hold
    return json.loads(next(out.glob("runs/*/*/*.json")).read_text())["measures"][""]["throttle_fraction"]


def in_real_processes(i, work):
    """Nodes, routers and GAC servers of the fidelity real load the file, and its policies decide there."""
    steady = ["cluster.settings.partition_policy=steady"]
    named = [f"cluster.settings.{name}={policy}" for name, policy in POINTS.items()]
    named += ["cluster.settings.gac=named", "cluster.settings.write_check=named"]
    usual = lab_throttled(i, work, "admission", [])
    expected = lab_throttled(i, work, "admission", steady)
    assert expected > usual + 0.15, (usual, expected)  # steady spends a burst more slowly
    found = lab_throttled(i, work, "real", steady)
    assert found > (usual + expected) / 2, (usual, expected, found)  # a busy machine moves it by some 0.05
    found = lab_throttled(i, work, "real", named)
    assert found > usual + 0.1, (usual, found)


def clients_in_the_lab(i):
    """Clients of a scenario try again as the policy of a file says. Nonsense is told once, and ends a request."""
    command = ("lab", "run", "read-heavy", "--only", "leader-only", "--seeds", 1, "--jobs", 1, "--quiet", "--set",
               "duration=8s", "--set", "cluster.settings.partition_policy=allocation", "--set")
    out = run(i.weir, *command, "workloads.readers.retry=one-in-five:4", "--policy", i.file("example"))
    expect(out, "leader-only")
    if "policy 'one" in out:
        raise AssertionError(f"the template is told to be faulty:\n{out}")
    expect(run(i.weir, *command, "workloads.readers.retry=one-in-five", code=2), "one-in-five", "none, legacy",
           "--policy FILE")
    out = run(i.weir, *command, "workloads.readers.retry=nonsense", "--policy", i.file("nonsense"))
    expect(out, "leader-only", f"retry policy 'nonsense' of {i.file('nonsense')}", "end the request")
    if out.count("policy 'nonsense'") != 1:
        raise AssertionError(f"nonsense is to be told once:\n{out}")


def clients_of_load(i, server):
    """`weir load` takes retry policies, before or after the option that names one."""
    command = ("load", "--url", server.address, "--create-table", "--wcu", 20, "--rate", 200, "--read-ratio", 0,
               "--duration", "3s", "--quiet", "--json", "--policy", i.file("example"), "--table")
    result = json.loads(run(i.weir, *command, "patient", "--retry", "one-in-five:3"))["workloads"][0]
    assert result["retry"] == "one-in-five" and result["throttled"] > 0, result
    assert 0 < result["retries"] <= result["sent"] / 5 + 1 and result["gave_up_quota"] > 0, result
    expect(run(i.weir, "load", "--retry", "one-in-five", code=2), "one-in-five", "--policy FILE")
    expect(run(i.weir, *command, "patient", "--retry", "one-in-five:0", code=2), "one-in-five")


def baselines_simulated(i):
    for name, policies in (("node_policy", ("drr", "wfq", "sfq")),
                           ("gac_policy", ("one-bucket", "doorman", "tenant-bucket", "pd-group", "gossip"))):
        for policy in policies:
            out = run(i.weir, "sim", "--once", "--seeds", 1, "--seconds", 1, "--set", f"{name}={policy}")
            expect(out, "1 seed (1): 0 violations")


def faulty_simulated(i):
    out = run(i.weir, "sim", "--jobs", 0, "--once", "--seconds", 3, "--policy", i.file("nonsense"),
              "--set", "partition_policy=nonsense")
    expect(out, f"partition policy 'nonsense' of {i.file('nonsense')}", "0 violations")
    if out.count("policy 'nonsense'") != 1:
        raise AssertionError(f"nonsense is to be told once:\n{out}")
    for point in CONTROLLER:
        out = run(i.weir, "sim", "--jobs", 0, "--once", "--seeds", 3, "--seconds", 3, "--policy", i.file("nonsense"),
                  "--set", f"{point}_policy=nonsense")
        expect(out, f"{point} policy 'nonsense' of {i.file('nonsense')}", "change nothing", "0 violations")
        if out.count("policy 'nonsense'") != 1:
            raise AssertionError(f"nonsense is to be told once:\n{out}")
    out = run(i.weir, "sim", "--jobs", 0, "--seeds", 3, "--seconds", 3, "--policy", i.file("unsteady"),
              "--set", "partition_policy=unsteady", code=1)
    expect(out, "a policy of --policy may differ between runs", "the same seed gave two different runs")
    out = run(i.weir, "sim", "--jobs", 0, "--once", "--seconds", 1, "--policy", i.file("slow"),
              "--set", "partition_policy=slow")
    expect(out, f"partition policy 'slow' of {i.file('slow')} is slow")


def refused_files(i, work):
    """Each error names the file, and what is expected."""
    text = work / "text.so"
    text.write_text("no shared object\n" * 1000)
    expect(run(i.weir, "sim", "--policy", text, code=2), str(text), "invalid ELF header", "A shared object compiled with")
    expect(run(i.weir, "sim", "--policy", "absent.so", code=2), "absent.so", "No such file")
    for name, (what, parts) in BROKEN.items():
        source, file = work / f"{name}.c", work / f"{name}.so"
        if what.startswith("."):
            what = ("static const struct weir_policy_plugin plugin = {%s};\n"
                    "const struct weir_policy_plugin *weir_policy_plugin(void) { return &plugin; }\n" % what)
        source.write_text("#include <weir/policy.h>\n" + what)
        run("cc", "-shared", "-fPIC", f"-I{i.include}", "-o", file, source)
        expect(run(i.weir, "sim", "--policy", file, code=2), str(file), *parts)
    expect(run(i.weir, "sim", "--policy", i.file("example"), "--policy", i.file("example"), code=2),
           "partition policy 'steady' is there already")
    expect(run(i.weir, "sim", "--policy", i.file("example"), "--set", "partition_policy=luck", code=2),
           "partition_policy 'luck' is not known", "always-burst, none, count-requests, steady", "--policy FILE.so loads more")
    for point in CONTROLLER:
        expect(run(i.weir, "sim", "--policy", i.file("example"), "--set", f"{point}_policy=luck", code=2),
               f"{point}_policy 'luck' is not known", f", {POINTS[point + '_policy']}", "--policy FILE.so loads more")
    expect(run(i.weir, "local", "--in-memory", "--port", 0, "--profile", "research", "--set", "adaptive_policy=luck",
               code=2), "adaptive_policy 'luck' is not known")
    expect(run(i.weir, "gac", "--gac", "1=127.0.0.1:7999", "--profile", "research", "--set", "gac_policy=luck", code=2),
           "gac_policy 'luck' is not known", "static, periodic, lease")
    expect(run(i.weir, "local", "--in-memory", "--port", 0, "--profile", "research", "--set", "node_policy=luck",
               code=2), "node_policy 'luck' is not known")


def page_of(server, policy):
    with urllib.request.urlopen(f"{server.address}/weir/partitions", timeout=20) as answer:
        return next(p for p in json.load(answer)["policies"] if p["policy"] == policy)


def served(i, work, name, settings, writes=300):
    """`weir local` with a policy: its log, what was written and refused, and the policy's row of the page."""
    log = work / f"{name}.log"
    arguments = ["local", "--in-memory", "--port", 0, "--nodes", 1, "--policy", i.file(name), "--profile", "research"]
    for setting in settings:
        arguments += ["--set", setting]
    server = Server(i.weir, arguments, log)
    server.start()
    done = refused = 0
    try:
        client = Client(server.port)
        client.call("CreateTable", TableName="table", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
                    ProvisionedThroughput={"ReadCapacityUnits": 50, "WriteCapacityUnits": 50})
        until("the table is there",
              lambda: client.call("DescribeTable", TableName="table")["Table"]["TableStatus"] == "ACTIVE")
        for n in range(writes):
            try:
                client.call("PutItem", TableName="table", Item={"k": {"S": str(n)}})
                done += 1
            except Refused as error:
                assert error.status == 400 and "Throughput" in str(error.name), error
                refused += 1
        if name == "example":
            until("the controller has asked", lambda: page_of(server, POINTS["adaptive_policy"])["timed"] > 0)
            clients_of_load(i, server)
        pages = {p: page_of(server, p) for p in ([name] if name != "example" else POINTS.values())}
        client.close()
    finally:
        if not server.has_ended():
            server.stop()
    return log.read_text(), done, refused, pages


def in_local(i, work):
    named = [f"{name}={policy}" for name, policy in POINTS.items()] + ["gac=named", "write_check=named"]
    log, done, refused, pages = served(i, work, "example", named)
    assert done >= 50 and refused > 0, (done, refused)
    assert all(p["invalid_results"] == 0 for p in pages.values()), pages
    assert all(pages[name]["timed"] > 0 for name in ("steady", "just-enough", "on-call", "in-two")), pages
    assert "policy '" not in log, log
    log, done, refused, pages = served(i, work, "nonsense", ["partition_policy=nonsense", "gac=off"])
    assert done > 0 and refused > 0 and pages["nonsense"]["invalid_results"] == refused, (done, refused, pages)
    assert log.count("partition policy 'nonsense'") == 1, log
    log, done, refused, pages = served(i, work, "slow", ["partition_policy=slow", "gac=off"], writes=40)
    assert done == 40 and pages["slow"]["slow"] > 8, (done, pages)
    assert log.count("partition policy 'slow'") == 1 and "is slow" in log, log


def main():
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        i = Installed(work)
        header_is_cpp(i, work)
        guide_compiles(i, work)
        refused_files(i, work)
        simulated(i)
        in_the_lab(i)
        clients_in_the_lab(i)
        in_real_processes(i, work)
        baselines_simulated(i)
        faulty_simulated(i)
        in_local(i, work)


if __name__ == "__main__":
    main()
