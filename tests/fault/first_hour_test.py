#!/usr/bin/env python3
"""What a newcomer does wrong in the first hour is refused at once, and the refusal says what to do.

Fewer nodes than the data has, more replicas than nodes, a load on a table that is missing, a drain that
no other node can take, names that are mistyped. And `weir local --in-memory` leaves nothing behind.
"""
import os
import pathlib
import re
import resource
import signal
import subprocess

import servers
from servers import START_S, Client, Server, until


def weir(options, *arguments, bounds=None):
    """Exit code, standard output and standard error. `bounds`: arguments of setrlimit for the process."""
    done = subprocess.run([str(options.weir), *map(str, arguments)], capture_output=True, text=True, timeout=START_S,
                          preexec_fn=bounds and (lambda: resource.setrlimit(*bounds)))
    return done.returncode, done.stdout, done.stderr


def expect(answer, code, text):
    if answer[0] != code or text not in answer[1] + answer[2]:
        raise AssertionError(f"expected exit code {code} and `{text}`, not {answer}")


def local(options, directory, *arguments, log="log"):
    server = Server(options.weir, ["local", "--port", 0, "--admin", "127.0.0.1:0", *arguments],
                    directory / log)
    server.start()
    return server


def check_wrong_words(options):
    expect(weir(options, "lcoal"), 2, "unknown command `lcoal` (did you mean `weir local`?)")
    expect(weir(options, "local", "--prot", 1), 2, "unknown option `--prot` (did you mean `--port`?)")
    for command in ("load", "events", "drain"):
        expect(weir(options, command, "--url"), 2, "`--url` needs a value")
        expect(weir(options, command, "--urll", 1), 2, "did you mean `--url`?")
    for command in ("local", "router"):
        for region in ("", "EU", "eu:west", "a" * 33):
            expect(weir(options, command, "--region", region), 2,
                   f"`--region` takes 1 to 32 characters of a-z, 0-9 and -, not `{region}`")
        for account in ("", "12345678901", "1234567890123", "12345678901x", "+12345678901"):
            expect(weir(options, command, "--account", account), 2, f"`--account` takes 12 digits, not `{account}`")
    expect(weir(options, "sim", "--sed", 1), 2, "did you mean `--seed`?")
    expect(weir(options, "check-history", "--jsom"), 2, "did you mean `--json`?")


def check_user_files(options, directory):
    """A file without an end is refused in bounded memory, by its name and the limit. A trace without requests, and an
    output that cannot be written, are found before tables are created: no server runs here."""
    whole, line = "cannot read {}: it has more than 64 MiB", "{}: line 1: longer than {} bytes"
    sanitized = b"san_init" in options.weir.read_bytes()  # has terabytes of shadow memory
    bounds = None if sanitized else (resource.RLIMIT_AS, (3 << 30, 3 << 30))
    for code, text, *arguments in (
            (1, line.format("/dev/zero", 16384), "load", "--replay", "/dev/zero"),
            (1, "cannot read /: Is a directory", "load", "--replay", "/"),
            (1, "/dev/null has no requests", "load", "--replay", "/dev/null"),
            (1, "cannot write /nope/x: No such file or directory", "load", "--json=/nope/x"),
            (1, "cannot write /: Is a directory", "load", "--json=/"),
            (2, "`--json` takes a FILE, or - for standard output, not ``", "load", "--json="),
            (2, whole.format("/dev/zero"), "local", "--config", "/dev/zero"),
            (2, whole.format("/dev/urandom"), "local", "--config", "/dev/urandom"),
            (2, "cannot read /: Is a directory", "local", "--config", "/"),
            (2, line.format("/dev/zero", 16384), "lab", "replay", "/dev/zero"),
            (2, "/dev/null has no requests", "lab", "replay", "/dev/null"),
            (2, whole.format("/dev/zero"), "lab", "run", "/dev/zero"),
            (2, "cannot read /: Is a directory", "lab", "run", "/"),
            (2, whole.format("/dev/zero"), "lab", "run", "static-skew", "--add", "/dev/zero"),
            (2, line.format("/dev/zero", 65536), "check-history", "/dev/zero"),
            (2, "cannot read /: Is a directory", "check-history", "/")):
        expect(weir(options, *arguments, bounds=bounds), code, text)
    former = directory / "former.json"
    former.write_text("a result of an earlier run\n")
    expect(weir(options, "load", "--replay", "/dev/null", f"--json={former}"), 1, "no requests")
    assert former.read_text() == "a result of an earlier run\n"


def check_values(options, directory):
    """An error names the option, the value and what is allowed, and is found before a server is asked."""
    node, one = ["node", "--data", directory / "n"], "1=127.0.0.1:7101"
    limits = [word for n in range(9) for word in ("--limit", f"l{n}=1/1m")]
    for code, text, *arguments in (
            (2, "KEY must be the partition key as in GetItem, such as '{\"day\":{\"S\":\"2026-11-26\"}}', not `k`",
             "unshard", "nosuch", "k"),
            (2, "KEY must be the partition key", "unshard", "nosuch", '{"day":"2026-11-26"}'),
            (2, "`--url` takes a port from 1 to 64935 (the admin listener is expected 600 ports above; name another one "
             "with --admin URL), not `http://127.0.0.1:65000`", "drain", 1, "--url", "http://127.0.0.1:65000"),
            (2, "`--limit` may be given at most 8 times;", "limiter", "set", *limits),
            (2, "`--limit` takes a PERIOD from 1ms to 366d, not `rpm=1/0s`", "limiter", "set", "--limit", "rpm=1/0s"),
            (2, "`--limit` takes a CAPACITY from 1 to 1000000000000 tokens, not `rpm=0/1s`", "limiter", "set", "--limit",
             "rpm=0/1s"),
            (2, "`--limit` takes a REFILL from 1 to 1000000000000 tokens, not `rpm=1/1m:0`", "limiter", "set", "--limit",
             "rpm=1/1m:0"),
            (2, "`--set` may be given at most 64 times", "lab", "run", "x", *["--set", "seeds=1"] * 65),
            (2, "`--url` may be given at most 16 times", "load", *["--url", "http://127.0.0.1:1"] * 17),
            (2, "the name of a file of policies (--policy FILE) is empty", "local", "--policy", ""),
            (2, "`--port` takes a whole number from 0 to 65535, not ` 80`", "local", "--port", " 80"),
            (2, "`--port` takes a whole number from 0 to 65535, not `0x50`", "local", "--port", "0x50"),
            (2, "`--part` takes PART/OF", "lab", "sweep", "x", "--part", " 1/ 4"),
            (2, "NAME must be 1 to 63 letters, digits, -, _ and ., with no . at the beginning, not `../x`", "lab", "new",
             "../x"),
            (2, "`--seeds` takes a whole number from 1 to 1000000000, not `0`", "sim", "--seeds", 0),
            (1, "cannot open secret_file /nope: No such file or directory", "local", "--in-memory", "--set",
             "secret_file=/nope"),
            (2, "host_names = ,,: must be names", "local", "--set", "host_names=,,"),
            (1, "--id is needed: the number of this process in --peers, 1 to 1", *node, "--peers", one),
            (1, "--id 2 is not in --peers, which names processes 1 to 1", *node, "--id", 2, "--peers", one),
            (1, "--data is needed", "node", "--id", 1, "--peers", one),
            (1, "--peers: processes 1 and 2 have the same address 127.0.0.1:7101", *node, "--id", 1, "--peers",
             f"{one},2=127.0.0.1:7101"),
            (1, "--gac: processes 1 and 2 have the same address 127.0.0.1:7101", "gac", "--gac",
             f"{one},2=127.0.0.1:7101")):
        expect(weir(options, *arguments), code, text)


def check_default_listen(options, directory):
    """Without --listen, a node listens on its address in --peers, which other processes use."""
    port = servers.free_ports(1)[0]
    node = Server(options.weir, ["node", "--id", 1, "--data", directory / "placed", "--peers", f"1=127.0.0.1:{port}"],
                  directory / "placed.log")
    node.start()
    assert node.port == port, (node.port, port)
    node.stop()


def check_nodes(options, directory):
    data = directory / "data"
    local(options, directory, "--data", data).stop()
    expect(weir(options, "local", "--data", data, "--nodes", 1), 1,
           f"{data} holds nodes 1 to 3: start with --nodes 3")
    expect(weir(options, "local", "--data", data / "node-1"), 1, f"{data}/node-1 is the directory of one node")
    expect(weir(options, "local", "--data", data, "--nodes", 2, "--replicas", 3), 1,
           "start with --nodes 3, or with --replicas 2")
    few = local(options, directory, "--data", directory / "few", "--nodes", 2)
    few.stop()
    if "2 nodes, 2 replicas of each new partition" not in few.log.read_text():
        raise AssertionError(few.tail())


def check_load(options, directory, server):
    url = f"http://127.0.0.1:{server.port}"
    load = ["load", "--url", url, "--duration", "500ms", "--quiet"]
    expect(weir(options, *load, "--table", "missing"), 1,
           "the table `missing` does not exist: create it with --create-table")
    expect(weir(options, *load, "--create-table", "--workload", "a:table=small,wcu=7,rcu=9",
                "--workload", "b:table=open,on-demand"), 0, "admitted")
    client = Client(server.port)
    small = client.call("DescribeTable", TableName="small")["Table"]["ProvisionedThroughput"]
    assert (small["WriteCapacityUnits"], small["ReadCapacityUnits"]) == (7, 9), small
    mode = client.call("DescribeTable", TableName="open")["Table"]["BillingModeSummary"]
    assert mode["BillingMode"] == "PAY_PER_REQUEST", mode
    # A key of another name: every request is refused as malformed.
    expect(weir(options, *load, "--table", "small", "--key-name", "other"), 1, "requests succeeded")
    # Values of the run before would be in no history.
    history = [*load, "--table", "open", "--read-ratio", 0.5, "--keys", 10, "--consistent", "--history"]
    file = directory / "run.jsonl"
    expect(weir(options, *history, file), 1, "table `open` has items that would not be in the history")
    expect(weir(options, *history, file, "--preload"), 0, "admitted")
    expect(weir(options, "check-history", file), 0, "linearizable")


def check_drain(options, server):
    drain = ["drain", "--admin", f"http://127.0.0.1:{server.admin_port}"]
    expect(weir(options, *drain, 9), 1, "weir drain: There is no node 9; nodes are 1 to 3\n")
    expect(weir(options, *drain, 2), 1, "node 2 cannot be drained")
    expect(weir(options, *drain, "--undo", 2), 0, "node 2 may hold replicas again")


def check_memory(options, directory):
    server = local(options, directory, "--in-memory")
    found = re.search(r"data in (/dev/shm/weir-\w+) \(in memory", server.log.read_text())
    path = pathlib.Path(found.group(1))
    assert (path / "node-1").is_dir()
    check_load(options, directory, server)
    check_drain(options, server)
    server.stop()
    assert not path.exists(), path
    expect(weir(options, "local", "--in-memory", "--data", directory), 1, "not both")
    check_memory_is_removed(options, directory)


def memory_of(server):
    return pathlib.Path(re.search(r"data in (/dev/shm/weir-\w+) \(in memory", server.log.read_text()).group(1))


def check_memory_is_removed(options, directory):
    """At the end of a terminal, and after a kill at the next start; never under a process that lives."""
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # a shell may have this test ignore it, and weir with it
        server = local(options, directory, "--in-memory", "--nodes", 1, log=number.name)
        path = memory_of(server)
        os.kill(server.process.pid, number)
        until("it ends", server.has_ended)
        assert not path.exists(), path
        server.forget()
    living = local(options, directory, "--in-memory", "--nodes", 1, log="living")
    killed = local(options, directory, "--in-memory", "--nodes", 1, log="killed")
    left = memory_of(killed)
    killed.kill()
    assert left.exists()
    local(options, directory, "--in-memory", "--nodes", 1, log="next").stop()
    assert not left.exists(), left
    assert memory_of(living).exists()
    living.stop()


def check_modes(options, directory):
    """Nobody else may read what is stored."""
    server = local(options, directory, "--data", directory / "private", "--nodes", 1)
    for path in [directory / "private", *(directory / "private").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, (path, oct(path.stat().st_mode))
    server.stop()


def check_room(options, directory):
    """Four nodes have room for what one of them holds."""
    server = local(options, directory, "--in-memory", "--nodes", 4)
    url = f"http://127.0.0.1:{server.port}"
    drain = ["drain", "--admin", f"http://127.0.0.1:{server.admin_port}"]
    expect(weir(options, *drain, 2), 0, "node 2 is being drained")  # whoever the leader has heard of yet
    expect(weir(options, *drain, "--undo", 2), 0, "may hold")
    expect(weir(options, "load", "--url", url, "--duration", "200ms", "--create-table"), 0, "admitted")
    expect(weir(options, *drain, 4), 0, "node 4 is being drained")
    server.stop()


def check_log(options, directory):
    """A line for each request, with the reason of a refusal; none without --log."""
    expect(weir(options, "local", "--log", "everything"), 2, "`--log` takes requests")
    quiet = local(options, directory, "--in-memory")
    weir(options, "load", "--url", f"http://127.0.0.1:{quiet.port}", "--table", "seen", "--create-table",
         "--duration", "100ms")
    quiet.stop()
    assert "PutItem" not in quiet.log.read_text()
    server = local(options, directory, "--in-memory", "--log", "requests", "--set", "gac_start_units=0",
                   "--set", "burst_max_s=0")
    weir(options, "load", "--url", f"http://127.0.0.1:{server.port}", "--table", "seen", "--create-table",
         "--wcu", 1, "--rate", 50, "--duration", "1s", "--item-bytes", 900)
    server.stop()
    text = server.log.read_text()
    stamp = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 127\.0\.0\.1:\d+ [A-Z0-9]{52} "
    put = stamp + r'PutItem seen(?:/\d+)? \(pk="[^"]+"\) '
    for line in (stamp + r"CreateTable \S+ 200 0 units [\d.]+ ms$", put + r"200 1 units [\d.]+ ms$",
                 put + r"400 0 units [\d.]+ ms \w+Exception .*reason"):
        if re.search(line, text, re.MULTILINE) is None:
            raise AssertionError(f"no line like {line} in:\n{text[-2000:]}")


def check_verbose(options, directory):
    """What was asked and by whom, and what the nodes did meanwhile."""
    server = local(options, directory, "--in-memory", "--log", "requests", "--verbose")
    client = Client(server.port)
    client.call("CreateTable", TableName="log", BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"},
                                      {"AttributeName": "n", "AttributeType": "N"}],
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"},
                           {"AttributeName": "n", "KeyType": "RANGE"}])
    client.call("PutItem", TableName="log",
                Item={"id": {"S": "a\n"}, "n": {"N": "-17"}, "v": {"S": "x" * 2000}})
    server.stop()
    log = server.log.read_text()
    line = (r'^\d{4}-\d\d-\d\dT[\d:.]+Z 127\.0\.0\.1:\d+ \S+ PutItem log/\d+ \(id="a\.", n=-17\) 200 '
            r'2 units [\d.]+ ms$')
    for expected in (line, r"^weir: node \d: leads partition \d+, term \d+$"):
        if re.search(expected, log, re.MULTILINE) is None:
            raise AssertionError(f"no line like {expected} in:\n{log}")


def run(options, directory):
    check_wrong_words(options)
    for scene in (check_user_files, check_values, check_default_listen, check_nodes, check_memory, check_modes, check_room, check_log, check_verbose):
        place = directory / scene.__name__
        place.mkdir()
        scene(options, place)
    return {}


if __name__ == "__main__":
    servers.case(__doc__, run)
