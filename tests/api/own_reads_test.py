"""Eventual reads show what the same router has acknowledged (read_your_writes)."""

import unittest

from suite import Suite, make_table, n, new_name, s, send

ROUNDS = 150


class OwnReadsTest(Suite):
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
                self.assertEqual(self.ok("GetItem", Key={"p": s("t%d" % k)})["Item"]["v"], n(i))

    def test_the_items_of_a_transaction_by_an_index(self):
        for i in range(ROUNDS // 5):
            self.ok("TransactWriteItems", TransactItems=[
                {"Put": {"TableName": self.table, "Item": {"p": s("u%d" % k), "v": n(i), "city": s("rome")}}}
                for k in range(3)])
            self.assertEqual(self.versions("rome"), [str(i)] * 3)

    def test_the_items_of_a_batch(self):
        keys = [{"p": s("b%d" % k)} for k in range(10)]
        for i in range(ROUNDS // 2):
            self.ok("BatchWriteItem", RequestItems={
                self.table: [{"PutRequest": {"Item": {**key, "v": n(i)}}} for key in keys]})
            answer = self.ok("BatchGetItem", RequestItems={self.table: {"Keys": keys}})
            self.assertEqual([item["v"] for item in answer["Responses"][self.table]], [n(i)] * 10)

    def test_the_rows_of_an_index(self):
        for i in range(ROUNDS // 3):
            here, there = "a%d" % i, "b%d" % i
            self.put(here, city=s(here), v=n(1))
            self.assertEqual(self.versions(here), ["1"])
            self.update(here, "SET v = :v", {":v": n(2)})
            self.assertEqual(self.versions(here), ["2"])
            self.update(here, "SET city = :c", {":c": s(there)})
            self.assertEqual((self.versions(here), self.versions(there)), ([], ["2"]))
            self.ok("DeleteItem", Key={"p": s(here)})
            self.assertEqual(self.versions(there), [])

    def test_a_scan_and_a_statement(self):
        for i in range(ROUNDS // 5):
            self.ok("TransactWriteItems", TransactItems=[
                {"Put": {"TableName": self.table, "Item": {"p": s("s%d" % k), "v": n(i)}}} for k in range(3)])
            items = self.ok("Scan", FilterExpression="begins_with(p, :s)", ExpressionAttributeValues={":s": s("s")})
            self.assertEqual([item["v"] for item in items["Items"]], [n(i)] * 3)
            status, answer = send("ExecuteStatement", {
                "Statement": "SELECT v FROM \"%s\" WHERE p = 's2'" % self.table})
            self.assertEqual((status, answer["Items"]), (200, [{"v": n(i)}]))


if __name__ == "__main__":
    unittest.main()
