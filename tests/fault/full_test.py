#!/usr/bin/env python3
"""A store that is full gets empty again by requests, without a restart.

Large items are put until one is refused. Then every deletion is done, puts are done again, and so are DeleteTable,
CreateTable and puts into the new table. No answer leaves open whether a write was done. --of says what is full:

  map      LMDB's map: map_max_bytes
  files    LMDB's file, which may not grow to its map: RLIMIT_FSIZE
  disk     the file system of --data: a small tmpfs
  memory   /dev/shm, as small as containers make it, for --in-memory

For the last two of them the test needs a mount namespace, and is skipped where it may not have one.
"""
import os
import resource
import subprocess
import sys

import servers
from servers import Client, Refused, Server, check, make_table, say, until

MIB = 1 << 20
ITEM_BYTES = 100_000
FIRST, SECOND = "first", "second"
INSIDE = "WEIR_TEST_INSIDE"  # set in the namespace
SKIPPED = 77
PUTS_MAX = 5000
MAP = ["--nodes", 1, "--replicas", 1, "--set", "map_initial_bytes=64MiB", "--set", "map_max_bytes=64MiB"]


def enter_namespace():
    """Starts this test again in a mount namespace of its own."""
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    tried = subprocess.run([*alone, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        print("skipped: no mount namespace:", tried.stderr.strip())
        sys.exit(SKIPPED)
    os.environ[INSIDE] = "1"
    os.execvp(alone[0], [*alone, sys.executable, *sys.argv])


def mount(directory, mib):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(directory)], check=True)


def arguments(options, directory):
    if options.of == "map":
        return ["--data", directory / "data", *MAP]
    if options.of == "files":
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * MIB, 64 * MIB))
        return ["--data", directory / "data", "--nodes", 1, "--replicas", 1]
    if options.of == "memory":
        mount("/dev/shm", 64)
        return ["--in-memory"]
    small = directory / "small"
    small.mkdir()
    mount(small, 128)
    return ["--data", small / "data"]


def put(client, table, key):
    client.call("PutItem", TableName=table, Item={"id": {"S": str(key)}, "f": {"S": "x" * ITEM_BYTES}})


def outcome(call, *what, **members):
    """None: done. Otherwise the refusal. A write whose outcome is not known fails the test."""
    try:
        call(*what, **members)
        return None
    except Refused as error:
        check(error.status == 503, f"neither done nor refused: {error}")
        return error


def fill(client, table):
    """Puts until the store is full. The number of items. While a checkpoint is waited for, puts are tried again."""
    count = 0
    while count < PUTS_MAX:
        refusal = outcome(put, client, table, count)
        if refusal is None:
            count += 1
        elif "no space left" in refusal.text:
            say(f"{count} items, then: {refusal.text}")
            return count
    raise AssertionError(f"{PUTS_MAX} puts did not fill it")


def delete(client, keys):
    """Each is done at the first attempt, but for a checkpoint that is waited for."""
    for key in keys:
        def deleted(key=key):
            refusal = outcome(client.call, "DeleteItem", TableName=FIRST, Key={"id": {"S": str(key)}})
            check(refusal is None or "no space left" not in refusal.text, f"a deletion is refused: {refusal}")
            return refusal is None
        until("an item is deleted", deleted)


def puts_again(client, table, count):
    for key in range(count):
        until(f"put {key} into {table}", lambda key=key: outcome(put, client, table, key) is None)


def run(options, directory):
    with Server(options.weir, ["local", "--port", 0, "--admin", "127.0.0.1:0", "--profile", "off",
                               *arguments(options, directory)], directory / "log") as server:
        client = Client(server.port)
        make_table(server.port, FIRST)
        filled = fill(client, FIRST)
        check(filled >= 10, "there was no space for anything")
        half = filled // 2
        delete(client, range(half))
        puts_again(client, FIRST, half // 2)
        delete(client, range(half // 2))
        client.call("DeleteTable", TableName=FIRST)
        make_table(server.port, SECOND)
        puts_again(client, SECOND, half)
        held = servers.count(server.port, SECOND, ConsistentRead=True)
        check(held == half, f"{held} of {half} items are there")
        if options.of == "memory":
            check("--shm-size" in server.log.read_text(), "no word about /dev/shm")
        if options.of == "files":
            check(f"map_max_bytes is reduced to {64 * MIB}" in server.log.read_text(), "no word about ulimit")
        server.stop()
    if options.of == "disk":
        subprocess.run(["umount", str(directory / "small")], check=True)
    return {"of": options.of, "items": filled}


if __name__ == "__main__":
    if {"disk", "memory"} & set(sys.argv) and INSIDE not in os.environ:
        enter_namespace()
    servers.case(__doc__, run, of=("map", "map, files, disk or memory: what is full"))
