#!/usr/bin/env python3
"""start_test.py - how long a node takes to serve again after kill -9, with much data in it.

  tests/fault/start_test.py --gigabytes 10 --weir build/weir

Loads items of 60 KB into one node until the directory holds that much, kills the node while it is written to, and starts it five
times: from the start of the process to the first answer of a GetItem. Fails where the median is above --within seconds.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import servers

ITEM_BYTES = 60000
STARTS = 5


def directory_bytes(path):
    return sum(os.stat(os.path.join(top, name)).st_blocks * 512
               for top, _, names in os.walk(path) for name in names)


def get_item(port):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/", json.dumps({"TableName": "load", "Key": {"pk": {"S": "1"}}}).encode(),
        {"X-Amz-Target": "DynamoDB_20120810.GetItem", "Content-Type": "application/x-amz-json-1.0"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.status


def answers(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


def wait_for_item(port, process):
    while True:
        if process.poll() is not None:
            sys.exit(f"start_test: the node ended with {process.returncode}")
        try:
            if get_item(port) == 200:
                return
        except OSError:
            time.sleep(0.005)  # the pace of asking, not the condition


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weir", default="build/weir")
    options.add_argument("--gigabytes", type=float, default=10)
    options.add_argument("--within", type=float, default=2.0, help="seconds, at most; the median of the starts")
    o = options.parse_args()
    port = servers.free_ports(1)[0]
    with tempfile.TemporaryDirectory(prefix="weir-start-") as top:
        data = os.path.join(top, "data")
        command = [o.weir, "local", "--port", str(port), "--data", data, "--nodes", "1", "--profile", "off"]
        log = open(os.path.join(top, "log"), "ab")

        def start():
            return subprocess.Popen(command, stdout=log, stderr=log)

        node = start()
        load = None
        try:
            servers.until("the node answers", lambda: answers(port))
            load = subprocess.Popen([o.weir, "load", "--url", f"http://127.0.0.1:{port}", "--create-table", "--on-demand",
                                     "--rate", "max", "--concurrency", "16", "--connections", "16", "--keys", "10000000",
                                     "--distribution", "sequential", "--item-bytes", str(ITEM_BYTES), "--duration", "3600s",
                                     "--quiet"], stdout=log, stderr=log)
            while directory_bytes(data) < o.gigabytes * 1e9:
                if node.poll() is not None or load.poll() is not None:
                    sys.exit(f"start_test: the load ended: see {top}/log")
                time.sleep(0.5)  # how often the directory is looked at
            node.send_signal(signal.SIGKILL)
            node.wait()
            load.kill()
            load.wait()
            seconds = []
            for _ in range(STARTS):
                begun = time.monotonic()
                node = start()
                wait_for_item(port, node)
                seconds.append(time.monotonic() - begun)
                node.send_signal(signal.SIGKILL)
                node.wait()
        finally:
            for process in (node, load):
                if process is not None and process.poll() is None:
                    process.kill()
                    process.wait()
        print(f"{directory_bytes(data) / 1e9:.1f} GB: served again after " + ", ".join(f"{s:.2f}" for s in seconds) + " s")
        if statistics.median(seconds) > o.within:
            sys.exit(f"start_test: the median is above {o.within} s")


main()
