#!/usr/bin/env python3
"""start_test.py - how long a node takes to serve again after kill -9, with much data in it.

  tests/fault/start_test.py --gigabytes 10 --weir build/weir

Loads items of 60 KB into one node until the directory holds that much, kills the node while it is written to, and starts it five
times: from the start of the process to the first answer of a GetItem. Fails where the median is above --within seconds.
"""
import os
import statistics
import time

import servers
from servers import Client, Load, Refused, Server, Unreachable, check, say, until

ITEM_BYTES = 60000
STARTS = 5


def directory_bytes(path):
    return sum(os.stat(os.path.join(top, name)).st_blocks * 512
               for top, _, names in os.walk(path) for name in names)


def seconds_to_serve(server, client):
    """From the start of the process to the first answer of a GetItem."""
    def answers():
        check(not server.has_ended(), f"the node ended: {server.tail()}")
        try:
            return client.call("GetItem", TableName="load", Key={"pk": {"S": "1"}}) is not None
        except (Refused, Unreachable):
            return None
    begun = time.monotonic()
    server.start(wait=False)
    until("an item can be read", answers, poll_s=0.005)
    return time.monotonic() - begun


def run(options, directory):
    [port] = servers.free_ports(1)
    data, wanted = directory / "data", options.gigabytes * 1e9
    with Server(options.weir, ["local", "--port", port, "--data", data, "--nodes", 1, "--profile", "off"],
                directory / "log") as server:
        arguments = ["--create-table", "--on-demand", "--concurrency", 16, "--connections", 16, "--keys", 10000000,
                     "--distribution", "sequential", "--item-bytes", ITEM_BYTES]
        with Load(options.weir, [port], arguments, "max") as load:
            def is_filled():
                load.check_running()
                return directory_bytes(data) >= wanted
            until("the directory is full", is_filled, servers.START_S * (1 + options.gigabytes), poll_s=0.5)
            server.kill()
        seconds = []
        for _ in range(STARTS):
            seconds.append(seconds_to_serve(server, Client(port)))
            server.kill()
    say(f"{directory_bytes(data) / 1e9:.1f} GB: served again after " + ", ".join(f"{s:.2f}" for s in seconds) + " s")
    check(statistics.median(seconds) <= options.within, f"the median is above {options.within} s")
    return {"seconds": [round(s, 3) for s in seconds]}


if __name__ == "__main__":
    servers.case(__doc__, run, gigabytes=10.0, within=(2.0, "seconds, at most; the median of the starts"))
