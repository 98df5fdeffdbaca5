"""Eventual reads show what the same router has acknowledged (read_your_writes)."""

import json
import os
import unittest
import urllib.request

from suite import POLL_S, WAIT_S, Suite, make_table, n, new_name, patience, s, send

ROUNDS = 150


def late():
    """How many reads were answered as they were, because their wait was over: a busy machine may do that."""
    with urllib.request.urlopen(os.environ["WEIR_URL"] + "/weir/partitions", timeout=WAIT_S) as answer:
        return json.load(answer)["router"]["own_writes_late"]


class OwnReadsTest(Suite):
    def shows(self, read, expected):
        """The read shows what was written, or the router says that it was late."""
        def is_shown():
            before, seen = late(), read()
            if seen != expected and late() == before:
                self.assertEqual(seen, expected)
            return seen == expected
        self.assertTrue(patience.until(is_shown, WAIT_S, POLL_S), "no read shows %s" % (expected,))

    @classmethod
    def setUpClass(cls):
        cls.table = new_name()
        make_table({
            "TableName": cls.table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("p", "city")],
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-city", "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}]})

    def versions(self, city):
        items = self.ok("Query", IndexName="by-city", KeyConditionExpression="city = :c",
                        ExpressionAttributeValues={":c": s(city)})["Items"]
        return [item["v"]["N"] for item in items]

    def test_the_last_item_of_a_transaction(self):
        for i in range(ROUNDS):
            self.ok("TransactWriteItems", TransactItems=[
                {"Put": {"TableName": self.table, "Item": {"p": s("t%d" % k), "v": n(i)}}} for k in range(3)])
            for k in (2, 1, 0):
                self.shows(lambda key=s("t%d" % k): self.ok("GetItem", Key={"p": key}).get("Item", {}).get("v"), n(i))

    def test_the_items_of_a_transaction_by_an_index(self):
        for i in range(ROUNDS // 5):
            self.ok("TransactWriteItems", TransactItems=[
                {"Put": {"TableName": self.table, "Item": {"p": s("u%d" % k), "v": n(i), "city": s("rome")}}}
                for k in range(3)])
            self.shows(lambda: self.versions("rome"), [str(i)] * 3)

    def test_the_items_of_a_batch(self):
        keys = [{"p": s("b%d" % k)} for k in range(10)]
        for i in range(ROUNDS // 2):
            self.ok("BatchWriteItem", RequestItems={
                self.table: [{"PutRequest": {"Item": {**key, "v": n(i)}}} for key in keys]})
            self.shows(lambda: [item["v"] for item in self.ok("BatchGetItem", RequestItems={
                self.table: {"Keys": keys}})["Responses"][self.table]], [n(i)] * 10)

    def test_the_rows_of_an_index(self):
        for i in range(ROUNDS // 3):
            here, there = "a%d" % i, "b%d" % i
            self.put(here, city=s(here), v=n(1))
            self.shows(lambda: self.versions(here), ["1"])
            self.update(here, "SET v = :v", {":v": n(2)})
            self.shows(lambda: self.versions(here), ["2"])
            self.update(here, "SET city = :c", {":c": s(there)})
            self.shows(lambda: (self.versions(here), self.versions(there)), ([], ["2"]))
            self.ok("DeleteItem", Key={"p": s(here)})
            self.shows(lambda: self.versions(there), [])

    def test_a_scan_and_a_statement(self):
        for i in range(ROUNDS // 5):
            self.ok("TransactWriteItems", TransactItems=[
                {"Put": {"TableName": self.table, "Item": {"p": s("s%d" % k), "v": n(i)}}} for k in range(3)])
            self.shows(lambda: [item["v"] for item in self.ok(
                "Scan", FilterExpression="begins_with(p, :s)",
                ExpressionAttributeValues={":s": s("s")})["Items"]], [n(i)] * 3)
            self.shows(lambda: send("ExecuteStatement", {
                "Statement": "SELECT v FROM \"%s\" WHERE p = 's2'" % self.table})[1].get("Items"), [{"v": n(i)}])


if __name__ == "__main__":
    unittest.main()
