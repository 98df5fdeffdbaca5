#!/usr/bin/env python3
"""Every command that README.md, docs/*.md and the --help texts show works as it is written.

    tests/docs/examples_test.py --weir FILE [--bench FILE] [--text NAME]... [--only WORD] [--jobs N]
    tests/docs/examples_test.py --weir FILE --lists

Taken from the texts: indented blocks and ```python blocks of README.md and docs/*.md; commands in backticks
in README.md and docs/operating.md; the lines below "example:" and "examples:" of every --help. A block that is not known to be
something else, and that does not begin with a command, fails the test.

A text is README, a page of docs by its name, or the --help texts of a program: help-weir, help-lab, help-bench,
help-tools. ctest runs each text by itself. --lists runs nothing: the lists in this file name only what is in the texts.

A scope is one block's section, one table row or paragraph of these two, or one --help text. Servers that a scope
starts run until the scope ends. A scope that needs a cluster, and has started nothing, gets one with four
nodes and the tables that its commands name.

Workers (--jobs) take one scope after the other. Each worker has a network and process namespace of its own, where port
8000 is free, and where no process outlives the worker. Each scope has a temporary directory that looks like this one.
Without such namespaces the test is skipped (exit code 77). Long runs are shortened: SHORTENED has the rules.
An example that needs the chart libraries is skipped where the build had none.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import patience  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WITH_SPANS = (ROOT / "README.md", ROOT / "docs" / "operating.md")
SKIPPED = 77
COMMAND_S = 120
HELP_COLUMNS = 80
READY_S = 60
POLL_S = 0.02

NOT_RUN = {  # how a command begins: why it is not run here
    "tools/test": "runs this test",
    "tools/setup": "installs packages; tests/fresh/run has it done",
    "tools/build": "builds for minutes; tests/fresh/run runs it",
    "tools/cluster demo": "lasts minutes; tests/fresh/run runs it",
    "cmake": "builds, or installs what was built",
    "tools/suite": "runs this test",
    "tools/mutate --only": "builds for minutes; tools/test --long runs it",
    "build/asan/tests/": "a test, which ctest runs",
    "SEED=7 build/asan/tests/": "a test, which ctest runs",
    "weir sim --policy": "a policy that is built first; tests/policy_test.py runs it",
    "weir local --policy": "a policy that is built first; tests/policy_test.py runs it",
    "tests/fault/": "the long form of a test, which ctest runs",
    "tests/model/": "the long form of a test, which ctest runs",
    "SEED=7 STEPS=3000 tests/api/run": "the long form of a test, which ctest runs",
    "sbatch": "needs Slurm and its daemons; tests/lab/slurm_test.py runs it",
    "weir lab run static-skew --policy": "tests/policy_test.py builds the policy and runs it",
    "weir lab run read-heavy --policy": "tests/policy_test.py builds the policy and runs it",
    "weir load --policy": "tests/policy_test.py builds the policy and runs it",
    "weir lab suite": "a test, which ctest runs",
    "weir unshard events": "needs a hot key; the tour of docs/guide-write-sharding.md has one",
    "weir unshard --shards": "the same",
    "weir explain TA7": "needs a request that was refused; tests/api/seeing_test.py has one",
    "weir explain - ": "the same",
    """curl -H 'Content-Type: application/json' -d '{"TableName": "chat\"""": "the same",
}
# Exit code 1 says that the machine, or this build, is slower than a budget: no reason to fail here.
MEASURES = re.compile(r"weir-bench (decision|heat|records|traffic|indexes|limiter)\b|weir-bench http .*--gac")
NOT_COMMANDS = {  # how a block begins: what it is
    "client": "a diagram",
    "your SDK": "a diagram",
    '{"number":': "an event",
    '{"table":': "a partition",
    '{"gac":': "a page",
    "name: mine": "a scenario",
    "# weir-requests-1": "the head of a file",
    "tables:": "a part of a scenario",
    "workloads:": "a part of a scenario",
}
SHORTENED = [  # in commands that match the first: what replaces what
    # A run without the busiest clients. The command's own options come later, so they hold.
    (r"weir sim (?!.*(--bench|--help|--list))", r"weir sim",
     "weir sim --seconds 1 --nodes 3 --routers 1 --gac 0 --clients 4 --faults crash --rate-limiter 0 --key-sharding 0"
     " --counters 0 --transactions 0 --streams 0 --ttl 0"),
    (r"weir sim .* --seconds 60", r"--seconds 60", "--seconds 2"),
    (r"weir sim --bench.* --seconds \d+", r"--seconds \d+", "--seconds 1"),
    (r"weir sim .*--seeds", r"$", " --wall-seconds 1"),
    (r"weir sim .*--wall-seconds 3600", r"--wall-seconds 3600", ""),
    (r"weir lab .*--seeds 3", r"--seeds 3", "--seeds 1"),
    (r"weir lab (run|sweep)", r"weir lab (run|sweep)", r"weir lab \1 --seeds 1 --set duration=8s"),
    (r"weir load.* append:room", r"--duration \d+s", "--duration 8s"),
    (r"weir( load|-bench)(?!.* append:room)", r"--duration \d+s", "--duration 2s"),
    (r"weir-bench http .*--gac", r"--gac \d+ --duration 2s", "--gac 1 --duration 200ms"),
    (r"weir-bench http$", r"$", " --duration 500ms"),
    (r"weir-bench indexes", r"weir-bench indexes", "weir-bench indexes --duration 200ms"),
    (r"weir-bench indexes .*--rounds", r"--rounds \d+", "--rounds 1"),
    (r"weir-bench (http|embedded) .*--duration \d+s", r"--duration \d+s", "--duration 500ms"),
    (r"weir-bench embedded", r"weir-bench embedded", "weir-bench embedded --items 4000 --puts 512"),
    (r"weir-bench limiter$", r"$", " --rounds 1 --duration 100ms"),
    (r"weir-bench limiter .*--rounds", r"--rounds \d+", "--rounds 1 --duration 100ms"),
    (r"weir load(?!.*--duration)(?!.*--help)", r"weir load", "weir load --duration 2s"),
    (r"(?s)weir load .*start=5s", r"start=5s", "start=1s"),
]
# Commands that leave nothing behind: once is enough, in whatever texts they stand.
ONCE = re.compile(r"(build/)?(weir sim|weir-bench (decision|heat|records|traffic))\b")
NO_CHARTS = "this weir was built without the chart libraries"
RECORDING = "weir load --create-table --wcu 100 --rate 300 --read-ratio 0 --record day.trace" \
            " && cp day.trace router-1.trace && cp day.trace router-2.trace"
FIRST_WORD = re.compile(r"(?:[A-Z_]+=\S+\s+(?:\\\s+)?)*(\S+)")
PROGRAMS = {"aws", "cmake", "ctest", "curl", "export", "for", "head", "printf", "python3", "weir", "weir-bench"}
SERVER = re.compile(r"weir (local|node|router|gac)\b(?!.*(--help|--config help))")
OTHER_SERVER = {  # how a command begins: the port on which it listens
    "nginx": 8080,
    "python3 -m http.server 8090": 8090,
    "python3 examples/fake_model.py 8090": 8090,
    "python3 examples/limiter_proxy.py --listen 8080": 8080,
}
# Tokens, and times until there are some: they change with time.
REFILLED = re.compile(r'(;r=|;t=|"remaining":|retry-after-ms: |try again in )[0-9.]+')
FOLLOWER = re.compile(r"weir events .*--follow|tools/cluster logs")
NEEDS_CLUSTER = re.compile(r"(curl|aws|weir (load|events|explain|drain|limiter)|boto3|"
                           r"tools/cluster (?!up|down|demo|--help))\b(?!.*--help)")
STARTS_CLUSTER = re.compile(r"tools/cluster up")


def begins_with_one_of(text, beginnings):
    return next((begin for begin in beginnings if text.startswith(begin)), None)


def begins_with_command(text):
    word = FIRST_WORD.match(text).group(1)
    return word in PROGRAMS or (word.startswith(("tools/", "build/", "tests/")) and not word.endswith("/"))


def complete_lines(text):
    """Lines of a shell script; what goes on in the next line is one of them."""
    lines, begun = [], ""
    for line in text.splitlines():
        begun += ("\n" if begun else "") + line
        whole = subprocess.run(["bash", "-n"], input=begun, text=True, capture_output=True, check=False)
        if whole.returncode == 0 and not begun.endswith("\\") and not whole.stderr:
            if begun.strip() and not begun.lstrip().startswith("#"):
                lines.append(begun)
            begun = ""
    if begun:
        raise AssertionError(f"not a whole command: {begun}")
    return lines


# ---- the texts: scopes, each a name and a list of (kind, text) ----

def markdown_scopes(path):
    """One scope a section with blocks. Kinds: block, python and the paragraph before it."""
    scopes, steps, title, block, paragraph, fence = [], [], path.name, [], "", None
    before = ""
    for line in path.read_text().splitlines() + [""]:
        if fence is not None:
            if line.startswith("```"):
                if fence != "c":  # tests/library_test.sh looks for its lines in the examples
                    steps.append((fence, "\n".join(block), paragraph))
                fence, block = None, []
            else:
                block.append(line)
        elif line.startswith("```"):
            fence = line[3:]
        elif line.startswith("    ") and (block or not before.strip()):
            block.append(line[4:])
        else:
            if block:
                steps.append(("", "\n".join(block), paragraph))
                block = []
            if line.startswith("#"):
                scopes.append((title, steps))
                title, steps = f"{path.name}: {line.strip('# ')}", []
            if line.strip():
                paragraph = line if not before.strip() else paragraph + " " + line
        before = line
    return scopes + [(title, steps)]


def span_scopes(path, cluster_commands):
    """One scope a table row, or a paragraph, with commands in backticks."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    parts = [part for paragraph in re.split(r"\n\s*\n", text) if not paragraph.startswith("    ")
             for part in (paragraph.splitlines() if paragraph.startswith("|") else [paragraph])]
    for part in parts:
        steps, cluster = [], False
        for span in re.findall(r"`([^`]+)`", part):
            words = span.split()
            if cluster and words[0] in cluster_commands:
                span = "tools/cluster " + span
            elif words[0] == "weir" or len(words) < 2 or not begins_with_command(span):
                continue
            cluster = cluster or span.startswith("tools/cluster")
            steps.append(("", span, ""))
        if steps:
            yield f"{path.name}: {part[:60]}", steps


def help_of(*command):
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=COMMAND_S, cwd=ROOT,
                          check=False)
    if done.returncode != 0 or not done.stdout:
        raise AssertionError(f"{' '.join(map(str, command))} --help: exit code {done.returncode}")
    return done.stdout


def help_scope(name, text):
    steps, lines = [], text.splitlines()
    for i, line in enumerate(lines):
        if len(line) > HELP_COLUMNS:
            raise AssertionError(f"{name}: {len(line)} columns, at most {HELP_COLUMNS}: {line}")
        inline = re.match(r"examples?:(.*)", line, re.I)
        if inline and inline.group(1).strip():
            raise AssertionError(f"{name}: an example stands on a line of its own")
        if inline:
            shown = []
            for following in lines[i + 1:]:
                if not following.startswith("  "):
                    break
                shown.append(following[2:])
            if not shown:
                raise AssertionError(f"{name}: no example below `{line}`")
            steps.append(("", "\n".join(shown), ""))
    return f"{name} --help", steps


def names_in(text, pattern):
    return re.findall(pattern, text, re.M)


def help_scopes(name, *command, leave_out=()):
    """A program's own text, and one scope for each of its commands."""
    overview = help_of(*command)
    scopes = [help_scope(name, overview)]
    for word in names_in(overview, r"^  ([a-z-]+)  "):
        if word not in leave_out:
            scopes.append(help_scope(f"{name} {word}", help_of(*command, word)))
    return scopes


def lab_scopes(weir):
    """The examples of weir lab's commands, in an order in which each finds what it needs."""
    order = ["new", "list", "run", "compare", "reproduce", "report", "sweep", "job", "result", "replay", "suite"]
    names = names_in(help_of(weir, "lab"), r"^  ([a-z-]+)  ")
    assert sorted(order) == sorted(names), names
    steps = []
    for name in order:
        if name == "replay":
            steps.append(("", RECORDING, ""))
        steps += help_scope(f"weir lab {name}", help_of(weir, "lab", name))[1]
    return [help_scope("weir lab", help_of(weir, "lab")), ("weir lab COMMAND --help", steps)]


def scopes_with_spans(path):
    cluster = names_in(help_of("tools/cluster"), r"^  ([a-z-]+) ")
    return [*markdown_scopes(path), *span_scopes(path, cluster)]


def tool_scopes():
    for tool in sorted((ROOT / "tools").iterdir()):
        if tool.is_file() and os.access(tool, os.X_OK) and re.search("--help|argparse", tool.read_text()):
            yield help_scope(f"tools/{tool.name}", help_of(tool))


def all_texts(options):
    """What gives the scopes of a text, by the text's name."""
    return {
        **{path.stem: lambda path=path: markdown_scopes(path) for path in sorted((ROOT / "docs").glob("*.md"))},
        **{path.stem: lambda path=path: scopes_with_spans(path) for path in WITH_SPANS},
        "help-weir": lambda: help_scopes("weir", options.weir, leave_out=("lab",)),
        "help-lab": lambda: lab_scopes(options.weir),
        "help-bench": lambda: help_scopes("weir-bench", options.bench),
        "help-tools": tool_scopes,
    }


def chosen_scopes(options):
    texts = all_texts(options)
    scopes = [scope for text in options.text or texts for scope in texts[text]()]
    return [(name, steps) for name, steps in scopes if steps and (options.only or "") in name]


# ---- running them ----

def listening(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def until(what, condition, seconds=READY_S):
    if not patience.until(condition, seconds, POLL_S):
        raise AssertionError(f"not within {seconds} s: {what}")


def create_table(name, key):
    body = json.dumps({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
                       "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
                       "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}]})
    request = urllib.request.Request(
        "http://127.0.0.1:8000", body.encode(),
        {"X-Amz-Target": "DynamoDB_20120810.CreateTable", "Content-Type": "application/x-amz-json-1.0"})
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except urllib.error.HTTPError as error:
        if b"ResourceInUseException" not in error.read():
            raise


def claim(claims, name):
    """True for the first of all workers that asks for this name."""
    try:
        (claims / hashlib.sha256(name.encode()).hexdigest()).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def spent_s():
    """Processor seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Scope:
    """What one scope has started. `tree` is where commands run, `passed` counts the commands that worked."""

    def __init__(self, tree, name, claims):
        self.tree, self.name, self.claims = tree, name, claims
        self.servers, self.output, self.passed, self.skipped = [], "", 0, []
        self.started = False
        self.has_cluster = False  # one that prepare() started
        self.exports = ""

    def fail(self, command, why, output=""):
        raise AssertionError(f"{self.name}\n  {command}\n  {why}\n{output[-3000:]}")

    def shell(self, command):
        done = subprocess.run(["bash", "-c", self.exports + command], cwd=self.tree, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              timeout=COMMAND_S, check=False)
        slow = done.returncode == 1 and MEASURES.search(command) and done.stdout
        if done.returncode != 0 and NO_CHARTS in done.stdout:
            self.skipped.append(f"{command}: {NO_CHARTS}")
        elif done.returncode != 0 and not slow:
            self.fail(command, f"exit code {done.returncode}", done.stdout)
        return done.stdout

    def prepare(self, command):
        """The cluster and the tables that a command needs, or the data of a server that was stopped."""
        if "--data weir-data" in command and not (self.tree / "weir-data").exists():
            self.start("build/weir local")
            self.end()
        if not NEEDS_CLUSTER.search(command):
            return
        if not self.started:
            self.shell("tools/cluster up --nodes 4 --faults")
            self.started = self.has_cluster = True
        if not self.has_cluster:
            return
        tables = re.findall(r'"TableName": "(\w+)"', command)
        tables += re.findall(r"--table (\w+)", command) if "--create-table" not in command else []
        for table in tables:
            create_table(table, "pk" if "weir load" in command else "id")
        if FOLLOWER.search(command):
            self.shell("build/weir drain 2")  # something to follow

    def start(self, command, sign="ready"):
        log = self.tree / f"log-{len(self.servers)}"
        with open(log, "wb") as out:
            process = subprocess.Popen(["bash", "-c", f"{self.exports}exec {command}"], cwd=self.tree,
                                       stdout=out, stderr=subprocess.STDOUT)
        self.servers.append((command, process, log, sign))
        until(f"`{command}` says `{sign}`",
              lambda: process.poll() is not None or re.search(sign, log.read_text(), re.M))
        if process.poll() is not None:
            self.fail(command, f"ended with exit code {process.returncode}", log.read_text())

    def run(self, command):
        command = re.sub(r"\s+&$", "", command)  # the test starts servers in the background itself
        if begins_with_one_of(command, NOT_RUN):
            return
        for where, old, new in SHORTENED:
            if re.search(where, command):
                bare = re.sub(r"\s+#.*", "", command) if old == "$" else command
                command = re.sub(old, new, bare, count=1)
        if ONCE.match(command) and not claim(self.claims, re.sub(r"\s+#.*|^build/", "", command)):
            self.passed += 1
            return
        self.prepare(command)
        began, spent = time.monotonic(), spent_s()
        if SERVER.search(command):
            self.start(re.sub(r"\s+#.*", "", command))
            self.started = True
        elif any(map(command.startswith, OTHER_SERVER)):
            self.start(command, "")
            port = next(port for begin, port in OTHER_SERVER.items() if command.startswith(begin))
            until(f"`{command}` listens", lambda: listening(port))
        elif FOLLOWER.search(command):
            self.start(command, ".")
        elif command.startswith("export ") and "$(" in command:  # not anew for each command that follows
            name = re.match(r"export (\w+)=", command).group(1)
            self.exports += self.shell(f"{command}\ndeclare -p {name}")
        elif command.startswith("export "):
            self.exports += command + "\n"
        else:
            self.output += self.shell(command)
            self.started = self.started or bool(STARTS_CLUSTER.search(command))
        self.passed += 1
        print(f"{time.monotonic() - began:6.1f} s, {spent_s() - spent:5.1f} s of the processor  {command}", flush=True)

    def python(self, text, paragraph):
        shown = re.search(r"`python3 (\S+\.py)([^`]*)`", paragraph)
        name, arguments = shown.groups() if shown else ("example.py", "")
        (self.tree / name).write_text(text + "\n")
        if "boto3" in text:
            self.prepare(text)
        self.run(f"python3 {name}{arguments}")

    def compare(self, shown):
        """Every piece of an answer that a text shows, `..` apart, came in the answers so far, in this order."""
        at, output = 0, REFILLED.sub(r"\1N", " ".join(self.output.split()))
        for line in re.sub(r"\n(?!\S+: |\{)", " ", REFILLED.sub(r"\1N", shown)).splitlines():
            for part in line.split(".."):
                part = " ".join(part.split()).strip(" ,")
                found = output.find(part, at)
                if found < 0:
                    self.fail(part, "is shown, but did not come", self.output)
                at = found
        self.passed += 1

    def end(self):
        for command, process, log, sign in reversed(self.servers):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            code = process.wait(READY_S)
            if sign == "ready" and code != 0:
                self.fail(command, f"exit code {code} at its end", log.read_text())
        self.servers.clear()
        if (self.tree / ".cluster/daemons").exists():
            self.shell("tools/cluster down --wipe")


def run_scope(tree, name, steps, claims):
    scope = Scope(tree, name, claims)
    try:
        for kind, text, paragraph in steps:
            if begins_with_one_of(text, NOT_COMMANDS):
                continue
            if kind == "python":
                scope.python(text, paragraph)
            elif text.startswith("HTTP/1.1 "):
                scope.compare(text)
            elif kind or not begins_with_command(text):
                scope.fail(text, "does not begin with a command: name it in NOT_COMMANDS, with the reason")
            else:
                for command in complete_lines(text):
                    scope.run(command)
    finally:
        scope.end()
    return scope


def make_tree(directory, options):
    tree = directory / "tree"
    (tree / "build").mkdir(parents=True)
    for entry in ROOT.iterdir():
        if entry.name not in {"build", ".cluster", ".git", "weir-data"}:
            (tree / entry.name).symlink_to(entry)
    (tree / "build/weir").symlink_to(options.weir)
    (tree / "build/weir-bench").symlink_to(options.bench)
    (directory / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n")
    os.environ.update(WEIR="build/weir", CURL_HOME=str(directory), HOME=str(directory), TMPDIR=str(directory),
                      PATH=f"{tree}/build:{os.environ['PATH']}:/usr/sbin")
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
    return tree


def inside(options):
    """One worker: runs the scopes that no other worker has taken, and leaves a report for the first process."""
    failures, skipped, passed = [], [], 0
    for number, (name, steps) in enumerate(chosen_scopes(options)):
        if not claim(options.claims, f"scope {number}"):
            continue
        with tempfile.TemporaryDirectory(prefix="weir-examples-") as directory:
            try:
                scope = run_scope(make_tree(pathlib.Path(directory), options), name, steps, options.claims)
                skipped += scope.skipped
                passed += scope.passed
            except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                failures.append(str(error))
                print(f"FAILED  {error}", flush=True)
    report = {"failures": failures, "skipped": skipped, "passed": passed}
    (options.claims / f"report {options.inside}").write_text(json.dumps(report))
    return 0


def run_workers(space, options):
    with tempfile.TemporaryDirectory(prefix="weir-examples-claims-") as directory:
        command = [*space, *sys.argv, "--claims", directory, "--inside"]
        workers = [subprocess.Popen([*command, str(number)]) for number in range(options.jobs)]
        codes = [worker.wait() for worker in workers]
        reports = [json.loads(path.read_text()) for path in pathlib.Path(directory).glob("report *")]
    failures = [failure for report in reports for failure in report["failures"]]
    failures += [f"a worker ended with exit code {code}" for code in codes if code != 0]
    skipped = [example for report in reports for example in report["skipped"]]
    passed = sum(report["passed"] for report in reports) - len(skipped)
    print(*(f"skipped: {example}" for example in skipped),
          f"{passed} examples work, {len(skipped)} were skipped, {len(failures)} do not work", *failures, sep="\n")
    return 1 if failures else 0


def check_lists(options):
    """Each entry of NOT_RUN and NOT_COMMANDS is the first that fits some example."""
    used = set()
    for _, steps in chosen_scopes(options):
        for kind, text, _ in steps:
            other = begins_with_one_of(text, NOT_COMMANDS)
            used.add(other)
            if not kind and other is None and begins_with_command(text):
                used |= {begins_with_one_of(command, NOT_RUN) for command in complete_lines(text)}
    unused = [begin for begin in [*NOT_RUN, *NOT_COMMANDS] if begin not in used]
    for begin in unused:
        print(f"no text has `{begin}` any more: take it out of this test")
    return 1 if unused else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir", type=pathlib.Path, required=True)
    parser.add_argument("--bench", type=pathlib.Path, help="weir-bench; default: the one beside weir")
    parser.add_argument("--text", action="append", help="only this text; may be given again. Default: all")
    parser.add_argument("--only", help="scopes with this word in their names")
    parser.add_argument("--lists", action="store_true", help="only look at the lists in this file")
    parser.add_argument("--jobs", type=int, default=2, help="scopes at a time; default 2")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # the number of this worker
    parser.add_argument("--claims", type=pathlib.Path, help=argparse.SUPPRESS)  # a directory of all workers
    options = parser.parse_args()
    options.weir = options.weir.resolve()
    options.bench = (options.bench or options.weir.parent / "weir-bench").resolve()
    for unknown in set(options.text or []) - set(all_texts(options)):
        parser.error(f"no text {unknown}: there are {', '.join(all_texts(options))}")
    if options.lists:
        return check_lists(options)
    if options.inside:
        return inside(options)
    space = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "--net", "--pid", "--fork", "--mount-proc",
             "--kill-child", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    try:
        probe = subprocess.run([*space, "true"], capture_output=True, text=True, timeout=COMMAND_S, check=False)
        refused = probe.stderr.strip() if probe.returncode else ""
    except FileNotFoundError as error:
        refused = str(error)
    if refused:
        print(f"skipped: no namespaces: {refused}")
        return SKIPPED
    return run_workers(space, options)


if __name__ == "__main__":
    sys.exit(main())
