#!/usr/bin/python3
"""Global indexes and global admission control: routers keep the limit of an index's reads."""

import json
import unittest
import urllib.request

from indexes_test import UNITS, global_index, globally
from suite import URL, Suite, s, send, until

ONE = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


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


if __name__ == "__main__":
    unittest.main()
