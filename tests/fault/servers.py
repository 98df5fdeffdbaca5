"""What the fault tests share: weir processes that never outlive the test, ports, workers, and a lean client.

    def run(options, directory):
        with Cluster(options.weir, directory, 3, 2) as cluster:
            make_table(cluster.ports[0], "orders")
            with working(Writer(cluster.ports[0])):
                ...
            cluster.stop()
        return figures

    if __name__ == "__main__":
        case(__doc__, run, rounds=3)

- A server is ended by its process, never by name; the kernel ends it if the test dies first.
- Nothing sleeps for a fixed time: `until` polls a condition. All waits have one bound, START_S (tests/patience.py).
- Tests run side by side: no port is given to two of them.
"""
import argparse
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from patience import Patience  # noqa: E402
from ports import cluster_port, free_ports  # noqa: E402,F401 pylint: disable=unused-import

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
POLL_S = 0.01
START_S = 90  # for any condition: generous, and below what ctest gives a test, so that the test names the condition
POLL_ANSWER_S = 2  # for one answer of a poll that asks again
PR_SET_PDEATHSIG = 1
NAME = pathlib.Path(sys.argv[0]).stem  # of the test

LIBC = ctypes.CDLL(None, use_errno=True)


def say(text):
    print(f"{NAME}: {text}", file=sys.stderr, flush=True)


def check(holds, what):
    if not holds:
        raise AssertionError(what)


class Refused(Exception):
    """An answer that is not 200: `name` is the exception's, `status` the HTTP status."""

    def __init__(self, status, body):
        try:
            answer = json.loads(body)
        except ValueError:
            answer = {}
        self.status = status
        self.name = answer.get("__type", "").rsplit("#", 1)[-1]
        self.text = answer.get("message", answer.get("Message", ""))
        self.answer = answer
        self.throttled = self.name in ("ProvisionedThroughputExceededException", "ThrottlingException")
        super().__init__(f"{status} {self.name}: {self.text or body[:200]}")


class Unreachable(Exception):
    """No answer: the connection was lost, or silent for too long."""


class NotSent(Unreachable):
    """Nobody listens: the request never left."""


class Client:
    """One connection, opened when needed; not for several threads."""

    def __init__(self, port, timeout_s=START_S):
        self.port = port
        self.timeout_s = timeout_s
        self.connection = None
        self.connections = 0  # opened so far

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def connect(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout_s)
        try:
            self.connection.connect()
            self.connections += 1
        except OSError as error:
            self.close()
            raise NotSent(str(error)) from error

    def call(self, operation, **members):
        body = json.dumps(members).encode()
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        if self.connection is None:
            self.connect()
        try:
            self.connection.request("POST", "/", body, headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(str(error)) from error
        if answer.status != 200:
            raise Refused(answer.status, text)
        return json.loads(text)


def until(what, condition, bound_s=START_S, poll_s=POLL_S):
    """Polls until the condition is true; its value. Fails at once when a worker has failed."""
    patience = Patience(bound_s)
    while True:
        for worker in Worker.at_work:
            worker.check()
        value = condition()
        if value:
            return value
        if patience.is_over():
            raise AssertionError(f"not within {bound_s} s: {what}")
        time.sleep(poll_s)


def try_until(what, call, *arguments, **members):
    """Calls until it is not throttled, and does not fail with a 5xx or without an answer; its value."""
    found, failure = [], None
    def attempt():
        nonlocal failure
        try:
            found.append(call(*arguments, **members))
        except (Refused, Unreachable) as error:
            if isinstance(error, Refused) and error.status < 500 and not error.throttled:
                raise
            failure = error
        return found
    try:
        return until(what, attempt)[0]
    except AssertionError as error:
        raise AssertionError(f"{error}; at last: {failure}") from failure


def page(port, path, timeout_s=START_S):
    """A page of a router as JSON."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout_s) as answer:
        return json.load(answer)


def partitions(port, table=None):
    """The replicas, of all tables or of one. Empty: the router does not answer, it may stand still."""
    try:
        return page(port, "/weir/partitions" + (f"?table={table}" if table else ""), POLL_ANSWER_S)["partitions"]
    except OSError:
        return []


def leaders(port, table):
    """Of the table's partitions that somebody leads: id -> node."""
    return {p["partition"]: p["node"] for p in partitions(port, table) if p["role"] == "leader"}


def events(port, table, kind=""):
    """Of a table, whose kinds begin with `kind`."""
    return [e for e in page(port, "/weir/events")["events"] if e.get("table") == table and e["kind"].startswith(kind)]


def make_table(port, name, units=None, keys=("id",), **members):
    """A table with these keys, of strings. `units`: (read, write); without them on demand. Returns its description once
    it is ACTIVE, however young the cluster is."""
    client = Client(port)
    billing = {"BillingMode": "PAY_PER_REQUEST"} if units is None else {
        "ProvisionedThroughput": {"ReadCapacityUnits": units[0], "WriteCapacityUnits": units[1]}}

    def made():
        try:
            client.call("CreateTable", **{
                "TableName": name, **billing,
                "KeySchema": [{"AttributeName": n, "KeyType": kind} for n, kind in zip(keys, ("HASH", "RANGE"))],
                "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in keys], **members})
        except Unreachable:
            return False
        except Refused as error:
            if error.status < 500 and error.name != "ResourceInUseException":
                raise
            return error.status < 500
        return True

    def described():
        table = try_until(f"{name} is described", client.call, "DescribeTable", TableName=name)["Table"]
        return table if table["TableStatus"] == "ACTIVE" else None

    until(f"{name} is made", made)
    try:
        return until(f"{name} is ACTIVE", described)
    finally:
        client.close()


def change_table(port, name, **members):
    """UpdateTable. On a busy machine the answer may not come although the table is changed: then the same change again is
    refused as one that changes nothing."""
    client, lost = Client(port), False

    def changed():
        nonlocal lost
        try:
            client.call("UpdateTable", TableName=name, **members)
        except Unreachable:
            lost = True
            return False
        except Refused as error:
            if error.status < 500 and error.name != "ResourceInUseException" and not (
                    lost and error.name == "ValidationException"):
                raise
            lost |= error.status >= 500
            return error.name == "ValidationException"
        return True
    try:
        until(f"{name} is changed", changed)
    finally:
        client.close()


FILES_AT_START = resource.getrlimit(resource.RLIMIT_NOFILE)


def own_files(count):
    """Raises this process's limit of open files. Servers are started with the one it had: raising it is
    up to them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        raise AssertionError(f"the test needs {count} open files, the limit is {hard}: ulimit -Hn")
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


class Server:
    """One weir process. `arguments` without the executable; started anew with the same ones."""

    def __init__(self, weir, arguments, log, files=FILES_AT_START):
        self.files = files  # soft and hard limit of open files
        self.command = [str(weir)] + [str(a) for a in arguments]
        self.log = pathlib.Path(log)
        self.process = None
        self.watcher = None
        self.ready = threading.Event()
        self.address = None
        self.admin_port = None
        self.faults_port = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.forget()

    def start(self, wait=True):
        assert self.process is None
        self.ready.clear()
        owner = os.getpid()

        def die_with_the_test():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            resource.setrlimit(resource.RLIMIT_NOFILE, self.files)
            if os.getppid() != owner:
                os._exit(1)

        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.log.open("ab"), preexec_fn=die_with_the_test)
        self.watcher = threading.Thread(target=self.watch, args=(self.process,), daemon=True)
        self.watcher.start()
        if wait:
            self.wait_ready()

    def watch(self, process):
        with self.log.open("ab") as log:
            for line in process.stdout:
                log.write(line)
                log.flush()
                if line.startswith(b"faults "):
                    self.faults_port = int(line.rsplit(b":", 1)[1])
                if line.startswith(b"admin "):
                    self.admin_port = int(line.rsplit(b":", 1)[1])
                if line.startswith(b"ready "):
                    self.address = line.split()[1].decode()
                    self.ready.set()

    def wait_ready(self):
        until(f"{self.command[1]} is ready", lambda: self.ready.is_set() or self.has_ended())
        if not self.ready.is_set():
            raise AssertionError(f"{' '.join(self.command)} did not start:\n{self.tail()}")

    def has_ended(self):
        return self.process is not None and self.process.poll() is not None

    def tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    def memory_bytes(self):
        """The most memory it has had resident: VmHWM."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmHWM")

    def change(self, path, body=None):
        """POST to the admin listener; the answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.admin_port}{path}", json.dumps(body or {}).encode(),
            {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=START_S) as answer:
            return json.load(answer)

    def check_running(self):
        """A server that ends by itself is a failure; one that was killed is none."""
        if self.has_ended():
            raise AssertionError(f"{' '.join(self.command)} ended by itself with "
                                 f"{self.process.returncode}; {self.log}:\n{self.tail()}")

    def kill(self):
        """kill -9."""
        self.check_running()
        self.process.send_signal(signal.SIGKILL)
        self.forget()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """Ends it in good order, within a bound; it must say that all went well."""
        self.terminate()
        try:
            code = self.process.wait(timeout=START_S)
        finally:
            self.forget()
        if code != 0:
            raise AssertionError(f"{' '.join(self.command)} ended with {code}:\n{self.tail()}")

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def fault(self, command):
        """A line to the port that --faults opened; its answer without the "ok"."""
        self.check_running()
        with socket.create_connection(("127.0.0.1", self.faults_port), START_S) as s:
            s.sendall(command.encode() + b"\n")
            answer = s.makefile().readline().rstrip("\n")
        if not answer.startswith("ok"):
            raise AssertionError(f"{' '.join(self.command)}: {command}: {answer}")
        return answer[2:]

    def forget(self):
        """No process is left behind, however the test went."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.watcher.join()
        self.process.stdout.close()
        self.process = None


class Cluster:
    """Nodes, routers and `gac` servers of global admission control as processes that take faults;
    `names` maps node-1, router-1, gac-1, .. to them. Without servers all run with `gac = off`.
    In a `with` statement: all are started, and routers answer; in the end no process is left."""

    def __init__(self, weir, directory, nodes, routers, settings=(), gac=0):
        ports = free_ports(nodes + routers + gac)
        ports, gac_ports = ports[:nodes + routers], ports[nodes + routers:]
        peers = ",".join(f"{n + 1}=127.0.0.1:{ports[n]}" for n in range(nodes))
        gac_list = ",".join(f"{n}=127.0.0.1:{port}" for n, port in enumerate(gac_ports, 1))
        settings = [*settings] if gac else [*settings, "--set", "gac=off"]
        common = ["--peers", peers, "--faults", 0, *settings]
        self.weir = weir
        self.settings = settings
        self.data = pathlib.Path(directory) / "data"
        self.data.mkdir(parents=True)
        self.ports = ports[nodes:]
        self.names = {}
        for n in range(1, nodes + 1):
            self.names[f"node-{n}"] = Server(
                weir, ["node", "--id", n, "--listen", f"127.0.0.1:{ports[n - 1]}", "--data",
                       self.data / f"node-{n}", *common], self.data.parent / f"node-{n}.log")
        for n, port in enumerate(self.ports, 1):
            self.names[f"router-{n}"] = Server(
                weir, ["router", "--id", n, "--listen", f"127.0.0.1:{port}", "--admin",
                       "127.0.0.1:0", *common,
                       *(["--gac", gac_list] if gac else [])],
                self.data.parent / f"router-{n}.log")
        for n in range(1, gac + 1):
            self.names[f"gac-{n}"] = Server(
                weir, ["gac", "--id", n, "--gac", gac_list, "--faults", 0, *settings],
                self.data.parent / f"gac-{n}.log")

    def __enter__(self):
        try:
            self.start()
            for port in self.ports:
                self.wait_answers(port)
        except BaseException:
            self.forget()
            raise
        return self

    def __exit__(self, *_):
        self.forget()

    @staticmethod
    def wait_answers(port):
        client = Client(port)
        try_until(f"the router on port {port} answers", client.call, "ListTables")
        client.close()

    @property
    def nodes(self):
        return [name for name in self.names if name.startswith("node-")]

    @property
    def routers(self):
        return [name for name in self.names if name.startswith("router-")]

    @property
    def gac(self):
        return [name for name in self.names if name.startswith("gac-")]

    def __getitem__(self, name):
        return self.names[name]

    def start(self):
        for server in self.names.values():
            server.start(wait=False)
        for server in self.names.values():
            server.wait_ready()

    def cut(self, a, b, one_way=False):
        """Loses what a and b send each other, or only what a sends b."""
        self[a].fault(f"cut {b.replace('-', ' ')} {'out' if one_way else 'both'}")
        self[b].fault(f"cut {a.replace('-', ' ')} {'in' if one_way else 'both'}")

    def heal(self):
        for server in self.names.values():
            server.fault("heal")

    def stop(self):
        for name in self.routers:
            self[name].stop()
        for name in self.nodes:  # together: none is to lead on for a moment
            self[name].terminate()
        for name in self.nodes + self.gac:
            self[name].stop()

    def forget(self):
        for server in self.names.values():
            server.forget()


class Load:
    """`weir load` until it is told to stop."""

    def __init__(self, weir, ports, arguments, rate, history=None):
        to = ["--history", history] if history else []
        self.process = subprocess.Popen(
            load_command(weir, ports, *arguments, "--rate", rate, "--duration", "86400s", *to), stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def check_running(self):
        if self.process.poll() is not None:
            raise AssertionError(f"weir load ended with {self.process.returncode}")

    def steady(self, for_s):
        """Time passes while the load goes on: what is compared is measured in it."""
        first = time.monotonic_ns()

        def is_over():
            self.check_running()
            return time.monotonic_ns() - first >= for_s * 1e9
        until("a steady while", is_over, bound_s=2 * for_s + START_S, poll_s=0.1)
        return first, time.monotonic_ns()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return json.loads(self.process.communicate(timeout=START_S)[0])["workloads"][0]


class Worker(threading.Thread):
    """Repeats step() until it is told to stop. What step() raises fails the test."""

    at_work = []

    def __init__(self):
        super().__init__(daemon=True)
        self.stopping = threading.Event()
        self.error = None

    def step(self):
        raise NotImplementedError

    def run(self):
        try:
            while not self.stopping.is_set():
                self.step()
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error

    def check(self):
        if self.error is not None:
            raise AssertionError(f"{type(self).__name__} failed: {self.error!r}") from self.error


@contextlib.contextmanager
def working(*workers):
    """The workers work meanwhile. At the end all of them have ended, and none has failed."""
    try:
        for worker in workers:
            worker.start()
        Worker.at_work += workers
        yield workers
    finally:
        Worker.at_work = [w for w in Worker.at_work if w not in workers]
        for worker in workers:
            worker.stopping.set()
        for worker in workers:
            if worker.ident is not None:
                worker.join()
    for worker in workers:
        worker.check()


def more_done(what, workers, count, done=lambda worker: worker.count):
    """Waits until each worker has done so much more."""
    wanted = [(w, done(w) + count) for w in workers]
    until(what, lambda: all(done(w) >= n for w, n in wanted))


def check_history(weir, path, *arguments):
    """What clients saw must have been possible; what `weir check-history` prints."""
    done = subprocess.run([str(weir), "check-history", *arguments, str(path)], capture_output=True, text=True,
                          timeout=START_S * 5, check=False)
    check(done.returncode == 0, f"what clients saw is impossible: {path}\n{done.stdout}{done.stderr}")
    return done.stdout


def load_command(weir, ports, *arguments):
    urls = [word for port in ports for word in ("--url", f"http://127.0.0.1:{port}")]
    return [str(weir), "load", *urls, "--quiet", "--json", *map(str, arguments)]


def run_load(weir, ports, *arguments):
    """A run of `weir load` to its end; its workloads."""
    done = subprocess.run(load_command(weir, ports, *arguments), capture_output=True, text=True, timeout=START_S * 5,
                          check=False)
    check(done.stdout, f"weir load {arguments}: {done.stderr}")
    return json.loads(done.stdout)["workloads"]


def half_of_capacity(weir, port, seconds, arguments):
    """Requests a second."""
    told = run_load(weir, [port], *arguments, "--preload", "--rate", "max", "--duration", f"{seconds}s")
    return max(1, round(told[0]["admitted_per_s"] / 2))


def verify(weir, data, settings=()):
    """`weir verify` on a directory whose processes have stopped; what it printed."""
    done = subprocess.run([str(weir), "verify", "--data", str(data), *settings],
                          capture_output=True, text=True, timeout=START_S * 5, check=False)
    if done.returncode != 0:
        raise AssertionError(f"weir verify fails on {data}:\n{done.stdout}{done.stderr}")
    return done.stdout


def replicas(weir, data, settings=()):
    """What `weir verify` finds on a directory whose processes have stopped: a dict from partition to
    the (items, checksum) of each of its replicas."""
    found = {}
    for node in json.loads(verify(weir, data, ["--json", *settings]))["nodes"]:
        for replica in node["replicas"]:
            found.setdefault(replica["partition"], []).append(
                (replica["items"], replica["checksum"]))
    return found


def caught_up(port, voters=3):
    """Whether every partition that is led has so many voters, and all of them its whole log."""
    found = partitions(port)
    led = [p for p in found if p["role"] == "leader"]
    return bool(led) and len(led) == len({p["partition"] for p in found}) and all(
        p["voters"] == voters and p["caught_up"] == voters for p in led)


def wait_caught_up(port, voters=3):
    until("every replica has everything", lambda: caught_up(port, voters))


def pages_of(call, *arguments, **members):
    """The answers of a Scan or a Query, page by page. A page that is throttled, or that nobody can answer yet, is asked
    for again."""
    while True:
        answer = try_until(f"a page of {arguments}", call, *arguments, **members)
        yield answer
        if "LastEvaluatedKey" not in answer:
            return
        members["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def scan(port, table, **members):
    """All items of the table, or rows of its index."""
    client = Client(port)
    found = [item for answer in pages_of(client.call, "Scan", TableName=table, **members) for item in answer["Items"]]
    client.close()
    return found


def count(port, table, **members):
    """The number of its items."""
    client = Client(port)
    try:
        return sum(a["Count"] for a in pages_of(client.call, "Scan", TableName=table, Select="COUNT", **members))
    finally:
        client.close()


def index_lags(port, table):
    """Of the table's partitions: milliseconds, and items that global indexes lack. None: not all are known."""
    try:
        found = page(port, f"/weir/partitions?table={table}", POLL_ANSWER_S)
    except OSError:
        return None
    led = [p["indexes"] for p in found["partitions"] if p["table"] == table and p["role"] == "leader"]
    return [(x["lag_ms"], x["backlog_items"]) for x in led] if led and not found["unresponsive_nodes"] else None


def indexes_follow(port, table):
    """Whether the table's global indexes lack nothing."""
    found = index_lags(port, table)
    return found is not None and all(items == 0 for _, items in found)


def latencies(history, table):
    """Of the requests to a table, from a history of `weir load`: (sent, took) in ns, by the clock of
    time.monotonic_ns(); and how many did not succeed."""
    begun, found, failed = {}, [], 0
    with history.open() as lines:
        for line in lines:
            entry = json.loads(line)
            if entry["type"] == "invoke":
                if entry["table"] == table:
                    begun[entry["op"]] = entry["t"]
            elif entry["op"] in begun:
                found.append((begun[entry["op"]], entry["t"] - begun[entry["op"]]))
                failed += entry["type"] != "ok"
    return found, failed


def p99_ms(found, spans, least):
    """Of the requests that were sent in one of the spans; there must be `least` of them."""
    took = sorted(t for at, t in found if any(first <= at < last for first, last in spans))
    if len(took) < least:
        raise AssertionError(f"only {len(took)} requests to tell a p99 from")
    return round(took[len(took) * 99 // 100] / 1e6, 2)


def p99s_ms(found, spans, least):
    """Of each span by its name. Empty: one is too short to tell."""
    if min(sum(first <= at < last for at, _ in found) for first, last in spans.values()) < least:
        return {}
    return {name: p99_ms(found, [span], least) for name, span in spans.items()}


def judge_ratio(figures, most):
    check(most is None or (figures["ratio"] is not None and figures["ratio"] <= most),
          f"the p99 is {figures['ratio']} times what it was, {most} is allowed: {figures}")


def check_replicas(weir, data, settings=(), copies=None):
    """All replicas of a partition hold the same, and there are so many of each."""
    for partition, found in replicas(weir, data, settings).items():
        if len(set(found)) > 1 or copies not in (None, len(found)):
            raise AssertionError(f"the replicas of partition {partition} differ: {found}")


def parser(description):
    """Of a test's options; all have --weir."""
    found = argparse.ArgumentParser(description=description,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--weir", type=pathlib.Path, help="executable; or WEIR=",
                       default=pathlib.Path(os.environ.get("WEIR", ROOT / "build" / "weir")))
    return found


def case(description, run, **options):
    """The program of a test: prints the figures that run(options, directory) returns, if any, as JSON. Each option is named with
    its default, with (default, help), or with the arguments of add_argument. A seed without default is drawn."""
    made = parser(description)
    for name, value in options.items():
        if name == "seed" and value is None:
            value = int(time.time())
        if not isinstance(value, dict):
            default, text = value if isinstance(value, tuple) else (value, None)
            value = {"type": type(default), "default": default, "help": f"{text or ''} ({default})"}
        value = dict(value)
        positional = value.pop("positional", False)
        made.add_argument(name if positional else "--" + name.replace("_", "-"), **value)
    found = made.parse_args()
    if hasattr(found, "seed"):
        say(f"--seed {found.seed}")
    with workplace(NAME.removesuffix("_test")) as directory:
        figures = run(found, directory)
    if figures is not None:
        print(json.dumps(figures, indent=1))


SET_OPTION = {"action": "append", "default": [], "metavar": "NAME=VALUE", "help": "a setting of all processes; may be repeated"}


def set_words(settings):
    """NAME=VALUE of each as arguments."""
    return [word for setting in settings for word in ("--set", setting)]


@contextlib.contextmanager
def workplace(name):
    """A directory that goes when the test is done, and stays when it fails."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix=f"weir-{name}-"))
    try:
        yield directory
    except BaseException:
        print(f"{name}: failed; what was left stands in {directory}", file=sys.stderr, flush=True)
        raise
    shutil.rmtree(directory)
