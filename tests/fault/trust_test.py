#!/usr/bin/env python3
"""What a process holds against others: links without the cluster's secret, a data directory that another
process has, and clients that use up its open files.
"""
import fcntl
import os
import socket
import subprocess
import time

import servers
from servers import Client, Refused, Server, check, free_ports, make_table, try_until, until


def secret(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return path


def identity(cluster, path):
    return ["--set", f"cluster_id={cluster}", "--set", f"secret_file={path}"]


def refused_at_start(weir, arguments, text):
    done = subprocess.run([str(weir), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=servers.START_S)
    check(done.returncode != 0 and text in done.stderr, f"{arguments}: {done.stderr!r}")


def links(weir, directory):
    """A router without the cluster's name, secret or role gets nothing, and both logs say why."""
    right = secret(directory / "right", "the secret of this cluster\n")
    wrong = secret(directory / "wrong", "the secret of another one\n")
    port, = free_ports(1)
    peers = f"1=127.0.0.1:{port}"
    common = ["--set", "gac=off", "--set", "replicas=1"]
    node = Server(weir, ["node", "--id", 1, "--listen", f"127.0.0.1:{port}", "--peers", peers,
                         "--data", directory / "node", *identity("orchard", right), *common],
                  directory / "node.log")
    node.start()
    router = ["router", "--listen", "127.0.0.1:0", "--peers", peers, *common]
    strangers = (
        ("secret", identity("orchard", wrong), "its secret differs", "has another secret"),
        ("cluster", identity("meadow", right), "its cluster_id differs", "belongs to another cluster"),
        ("none", ["--set", "cluster_id=orchard"], "requires a secret", "has no secret"))
    for name, arguments, theirs, ours in strangers:
        stranger = Server(weir, [*router, *arguments], directory / f"{name}.log")
        stranger.start()
        until(f"{name}: {theirs}", lambda s=stranger, t=theirs: t in s.tail())
        until(f"{name}: {ours}", lambda t=ours: t in node.log.read_text())
        stranger.kill()
    friend = Server(weir, [*router, *identity("orchard", right)], directory / "friend.log")
    friend.start()
    client = Client(friend.port)
    try_until("the router is let in", client.call, "ListTables")
    second = Server(weir, [*router, *identity("orchard", right)], directory / "second.log")
    second.start()
    until("a second router 1 is refused",
          lambda: "another with this kind and id is connected" in second.tail())
    try_until("the first router is let be", client.call, "ListTables")
    node.check_running()
    for server in (second, friend, node):
        server.kill()


def addresses(weir, directory):
    """What other machines reach is not opened without a secret, nor with one that all may read."""
    node = ["node", "--id", 1, "--peers", "1=127.0.0.1:1", "--data", directory / "d"]
    refused_at_start(weir, [*node, "--listen", "0.0.0.0:0"], "has no secret_file")
    refused_at_start(weir, ["gac", "--gac", "1=0.0.0.0:0"], "has no secret_file")
    open_to_all = secret(directory / "open", "a secret that all may read\n")
    open_to_all.chmod(0o644)
    refused_at_start(weir, [*node, "--listen", "127.0.0.1:0", "--set", f"secret_file={open_to_all}"],
                     "chmod 600")
    refused_at_start(weir, [*node, "--listen", "127.0.0.1:0", "--set", "heartbeat_ms=700"],
                     "support_ms = 600 must be more than 1400")


def lock(weir, directory):
    """A start waits for a process that has the directory and is ending; it does not wait for ever."""
    data = directory / "data" / "node-1"
    data.mkdir(parents=True)
    held = os.open(data / "LOCK", os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    server = Server(weir, ["local", "--data", directory / "data", "--port", 0],
                    directory / "local.log")
    server.start(wait=False)
    until("the start says what it waits for, or gives up",
          lambda: server.has_ended()
          or server.log.exists() and f"is in use by process {os.getpid()}" in server.tail())
    check(not server.has_ended(), "it waits")
    os.close(held)
    server.wait_ready()
    begun = time.monotonic()
    refused_at_start(weir, ["local", "--data", directory / "data", "--port", 0],
                     "is in use by another process")
    check(time.monotonic() - begun > 2, "a second one is waited for, too")
    server.kill()


def failed_start(weir, directory):
    """A start that fails leaves nothing that it has made, and leaves alone what was there."""
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    data = directory / "data"
    local = ["local", "--data", data, "--port", port]
    refused_at_start(weir, local, "in use")
    check(not data.exists(), "local: its directory is gone")
    refused_at_start(weir, ["node", "--id", 1, "--listen", f"127.0.0.1:{port}", "--data", data,
                            "--peers", f"1=127.0.0.1:{port}"], "in use")
    check(not data.exists(), "node: its directory is gone")
    server = Server(weir, ["local", "--data", data, "--nodes", 1, "--port", 0], directory / "local.log")
    server.start()
    make_table(server.port, "orchard")
    server.kill()
    refused_at_start(weir, [*local, "--nodes", 2], "in use")
    check([n.name for n in data.iterdir()] == ["node-1"], "only the new node's directory is gone")
    server.start()
    check(Client(server.port).call("ListTables")["TableNames"] == ["orchard"], "its table is there")
    server.kill()
    taken.close()


WRITES = 160  # of 380 kB: four segments of the log, of which two are there when it starts


def written(client, item):
    try:
        client.call("PutItem", TableName="orchard", Item=item)
    except Refused as refusal:
        check("full" not in refusal.text, f"not for lack of space: {refusal}")
        raise


def descriptors(weir, directory):
    """Idle clients never make writes fail for lack of space: there are fewer of them then."""
    server = Server(weir, ["local", "--profile", "off", "--data", directory / "data", "--port", 0],
                    directory / "local.log", files=(64, 64))
    server.start()
    check("open files are allowed" in server.tail(), "it says that there is room for few")
    client = Client(server.port)
    make_table(server.port, "orchard")
    client.call("ListTables")  # its connection is there before the idle ones
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(80)]
    for i in range(WRITES):
        try_until("an item is written", written, client, {"id": {"S": str(i)}, "v": {"S": "x" * 380000}})
    for connection in idle:
        connection.close()
    server.check_running()
    server.kill()
    tight = Server(weir, ["local", "--in-memory", "--port", 0], directory / "tight.log", files=(40, 40))
    tight.start(wait=False)
    until("it ends", tight.has_ended)
    check("40 open files are allowed, but" in tight.tail(), f"it says what it takes: {tight.tail()}")
    tight.forget()


def run(options, directory):
    for scene in (addresses, links, lock, failed_start, descriptors):
        if options.only in (None, scene.__name__):
            place = directory / scene.__name__
            place.mkdir()
            scene(options.weir, place)
            servers.say(f"{scene.__name__}: ok")
    return {}


if __name__ == "__main__":
    servers.case(__doc__, run, only={"choices": ("addresses", "links", "lock", "failed_start", "descriptors")})
