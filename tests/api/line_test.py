#!/usr/bin/python3
"""Clients that ask for twice what a table may use, and wait as they are told: attempts for each success.

40 clients on connections of their own write items of 1 unit to a table of 30 write units a second, 60 a second in all.
A refused write is repeated after the time that it was told, and up to a fifth more. The server of WEIR_URL runs with
--set gac_start_units=0.
"""

import http.client
import json
import random
import threading
import time
import unittest

import suite

UNITS, CLIENTS, ASKED = 30, 40, 60
WARM_UP_S, MEASURED_S = 10, 20
ATTEMPTS_MOST = 1.5


class Client(threading.Thread):
    def __init__(self, number, table, began):
        super().__init__()
        self.body = json.dumps({"TableName": table, "Item": {"p": {"S": "client %d" % number}}})
        self.began, self.period_s = began, CLIENTS / ASKED
        self.due = began + number / ASKED
        self.random = random.Random(number)
        self.attempts = self.successes = 0

    def attempt(self, connection):
        """None: it is done. Otherwise the seconds that it was told."""
        connection.request("POST", "/", self.body, {**suite.HEADERS, "X-Amz-Target": "DynamoDB_20120810.PutItem"})
        answer = connection.getresponse()
        answer.read()
        return None if answer.status == 200 else int(answer.getheader("x-weir-retry-after-ms")) / 1000

    def run(self):
        connection = http.client.HTTPConnection(suite.HOST.hostname, suite.HOST.port, timeout=suite.WAIT_S)
        at, now = self.due, 0
        while now < self.began + WARM_UP_S + MEASURED_S:
            left_s = max(0, at - time.monotonic())
            time.sleep(left_s)
            told_s = self.attempt(connection)
            now = time.monotonic()
            measured = now > self.began + WARM_UP_S
            self.attempts += measured
            self.successes += measured and told_s is None
            if told_s is None:
                self.due = at = max(now, self.due + self.period_s)
            else:
                at = now + told_s * self.random.uniform(1, 1.2)
        connection.close()


class LineTest(unittest.TestCase):
    def test_waiting_clients_come_when_their_tokens_do(self):
        table = suite.new_name()
        suite.make_table({"TableName": table, **suite.keys_of(("p", "S")), "BillingMode": "PROVISIONED",
                          "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": UNITS}})
        clients = [Client(number, table, time.monotonic()) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        attempts, successes = sum(c.attempts for c in clients), sum(c.successes for c in clients)
        print("%.2f attempts per success, %.1f successes a second" % (attempts / successes, successes / MEASURED_S))
        self.assertLessEqual(attempts / successes, ATTEMPTS_MOST)
        self.assertGreater(successes / MEASURED_S, 0.95 * UNITS)
        suite.connection.close()


if __name__ == "__main__":
    unittest.main()
