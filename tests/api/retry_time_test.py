#!/usr/bin/python3
"""A refused write that waits as long as it was told, alone at its table, is taken.

Many tables at once, each with one client: rates of 1 to 50 write units, items of 1 to 60 KB, every choice of weir:gac.
REFUSALS=n: so many refusals of each table; 1 by default. The server of WEIR_URL runs with --set gac_start_units=0
--set gac_wait_ms=20000, so that a table's first tokens are soon used up, and a busy machine answers routers in time.
"""

import http.client
import json
import os
import threading
import time
import unittest

import suite

REFUSALS = int(os.environ.get("REFUSALS", "1"))
POLICIES = ("off", "static", "periodic", "lease")
SIZES = ((1, 1), (2, 5), (5, 9), (10, 1), (20, 36), (50, 60), (50, 1))  # write units a second, KB of an item
LONGEST_MS = 10000


class Client:
    """One connection, one table, one item."""

    def __init__(self, policy, units, kilobytes):
        self.what = "weir:gac=%s, %d units a second, %d KB" % (policy, units, kilobytes)
        self.table = suite.new_name()
        self.connection = http.client.HTTPConnection(suite.HOST.hostname, suite.HOST.port, timeout=suite.WAIT_S)
        self.item = {"p": {"S": "a"}, "v": {"S": "x" * (kilobytes * 1024 - 64)}}
        self.kept, self.broken = 0, []
        suite.make_table({"TableName": self.table, **suite.keys_of(("p", "S")), **self.throughput(units),
                          "Tags": [{"Key": "weir:gac", "Value": policy}]})

    def throughput(self, units):
        return {"BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": units}}

    OPERATION = "PutItem"

    def body(self):
        return {"TableName": self.table, "Item": self.item}

    def put(self):
        """None: it was written. Otherwise the milliseconds that the refusal tells; 0: it tells none."""
        self.connection.request("POST", "/", json.dumps(self.body()),
                                {**suite.HEADERS, "X-Amz-Target": "DynamoDB_20120810." + self.OPERATION})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status == 200:
            return None
        assert answer.status == 400 and (b"Throughput" in text or b"ThrottlingE" in text), text
        return int(answer.getheader("x-weir-retry-after-ms") or 0)

    def refusal(self):
        while True:
            told_ms = self.put()
            if told_ms is not None:
                return told_ms

    def run(self):
        for _ in range(REFUSALS):
            told_ms = self.refusal()
            left_s = min(told_ms, LONGEST_MS) / 1000
            time.sleep(left_s)
            again_ms = self.put()
            if 0 < told_ms < LONGEST_MS and again_ms is None:
                self.kept += 1
            else:
                self.broken.append("%s: told %d ms, then %s ms" % (self.what, told_ms, again_ms))
        self.connection.close()


class Transaction(Client):
    """Two writes in different partitions, or in one."""

    OPERATION = "TransactWriteItems"

    def body(self):
        return {"TransactItems": [{"Put": {"TableName": self.table, "Item": {**self.item, "p": {"S": key}}}}
                                  for key in ("a", "b")]}


class Maximum(Client):
    """A table on demand with a maximum, which routers keep."""

    def throughput(self, units):
        return {"BillingMode": "PAY_PER_REQUEST", "OnDemandThroughput": {"MaxWriteRequestUnits": units}}


class PromiseTest(unittest.TestCase):
    def test_who_waits_as_told_is_let_in(self):
        self.all_are_let_in([Client(policy, *size) for policy in POLICIES for size in SIZES])

    def test_transactions_too(self):
        self.all_are_let_in([Transaction(policy, *size) for policy in POLICIES for size in ((10, 1), (20, 5), (50, 9))])

    def test_the_maximum_of_a_table_on_demand_too(self):
        self.all_are_let_in([Maximum(policy, *size) for policy in POLICIES[1:] for size in ((5, 5), (20, 3))])

    def all_are_let_in(self, clients):
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        broken = [text for client in clients for text in client.broken]
        suite.connection.close()
        print("kept %d, broken %d" % (sum(client.kept for client in clients), len(broken)))
        self.assertEqual(broken, [])
        self.assertEqual(sum(client.kept for client in clients), REFUSALS * len(clients))


if __name__ == "__main__":
    unittest.main()
