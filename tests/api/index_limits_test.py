#!/usr/bin/python3
"""Limits with indexes: of an index's reads, which routers keep, and of an item with its rows."""

import json
import unittest
import urllib.request

from indexes_test import UNITS, global_index, globally, local, table
from suite import URL, Suite, n, s, send, until

ONE = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
KEY = {"p": s("p"), "s": s("a")}


class IndexLimitsTest(Suite):
    def provisioned(self, *indexes, more, **members):
        return self.created(globally(*indexes, more=more, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS,
                                     **members))

    def limits(self, table):
        """What the router holds of limits, by table or TABLE/INDEX and kind."""
        with urllib.request.urlopen(URL + "/weir/gac") as answer:
            return {(x["table"], x["kind"]): x for x in json.load(answer)["limits"]
                    if x["table"].split("/")[0] == table}

    def test_an_index_has_a_limit_of_its_own_for_reads(self):
        name = self.provisioned(*(global_index("by-" + x, x, ProvisionedThroughput=ONE) for x in "ab"),
                            more=(("a", "S"), ("b", "S")))
        table = name["TableName"]
        refusal = until(self, lambda: (lambda status, answer: answer if status == 400 else None)(
            *send("Scan", {**name, "IndexName": "by-a"})), "a Scan is throttled")
        self.assertIn("(table: the index's limit of read units is used up", refusal["message"])
        self.assertEqual(send("Scan", {**name, "IndexName": "by-b"})[0], 200)
        self.assertEqual(send("Scan", name)[0], 200)
        self.assertEqual(send("PutItem", {**name, "Item": {"p": s("x"), "s": s("x"), "a": s("x")}})[0], 200)
        limits = self.limits(table)
        self.assertGreaterEqual(limits[table + "/by-a", "read"]["refused"], 1)
        self.assertEqual(limits[table + "/by-a", "read"]["rate"], 1)
        self.assertEqual(limits[table + "/by-b", "read"]["refused"], 0)
        self.assertEqual(limits[table, "read"]["refused"], 0)
        self.assertNotIn((table + "/by-a", "write"), limits)  # partitions limit the rows

    def test_an_index_takes_part_in_global_admission_as_its_table_does(self):
        name = self.provisioned(global_index("by-a", "a", ProvisionedThroughput=ONE), more=(("a", "S"),),
                            Tags=[{"Key": "weir:gac", "Value": "off"}])
        refusal = until(self, lambda: (lambda status, answer: answer if status == 400 else None)(
            *send("Scan", {**name, "IndexName": "by-a"})), "a Scan is throttled")
        self.assertIn("(allocation: partition ", refusal["message"])
        self.assertEqual(refusal["ThrottlingReasons"][0]["reason"], "IndexReadProvisionedThroughputExceeded")
        self.assertEqual(self.limits(name["TableName"]), {})


class ItemRoomTest(Suite):
    def test_an_item_and_its_rows_share_the_room_of_an_item(self):
        name = self.created(table(local("by-n", "n"), more=(("n", "N"),)))["TableName"]

        def done(operation, **members):
            def answered():
                status, answer = send(operation, {"TableName": name, **members})
                return (status, answer) if status == 200 or "Throttling" not in answer["__type"] else None
            status, answer = until(self, answered, "the partition has tokens")
            return (status, answer.get("message", answer.get("Message")))

        def grown(to):
            return done("UpdateItem", Key=KEY, UpdateExpression="SET x = :x",
                        ExpressionAttributeValues={":x": s("x" * to)})

        half, more = s("x" * 204500), s("x" * 204800)
        self.assertEqual(done("PutItem", Item={**KEY, "n": n(1), "x": more}),
                         (400, "Item size has exceeded the maximum allowed size"))
        self.assertEqual(done("PutItem", Item={**KEY, "n": n(1), "x": half}), (200, None))
        self.assertEqual(done("PutItem", Item={**KEY, "s": s("b"), "x": more}), (200, None))  # it has no row
        self.assertEqual(grown(204800), (400, "Item size to update has exceeded the maximum allowed size"))
        self.assertEqual(grown(100), (200, None))
        transacted = {"Put": {"TableName": name, "Item": {**KEY, "n": n(1), "x": more}}}

        def cancelled():
            reasons = send("TransactWriteItems", {"TransactItems": [transacted]})[1].get("CancellationReasons")
            return reasons if reasons != [] and "Throttling" not in reasons[0]["Code"] else None

        self.assertEqual(until(self, cancelled, "the partition has tokens")[0]["Code"], "ValidationError")


if __name__ == "__main__":
    unittest.main()
