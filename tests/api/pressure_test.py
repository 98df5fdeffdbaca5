#!/usr/bin/python3
"""A global index that cannot take as many writes as its table: who is refused, why, and until when.

The server of WEIR_URL runs with --profile strict --set index_backlog_ms=200.
"""

import itertools
import json
import unittest
import urllib.request

from suite import URL, Suite, n, new_name, s, send, until


def units(count):
    return {"ReadCapacityUnits": count, "WriteCapacityUnits": count}


def table(index_units):
    def key(name):
        return [{"AttributeName": name, "KeyType": "HASH"}]
    return {"TableName": new_name(), "BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1000), "KeySchema": key("p"),
            "AttributeDefinitions": [{"AttributeName": a, "AttributeType": "S"} for a in ("p", "g")],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "KEYS_ONLY"},
                                        "ProvisionedThroughput": units(index_units)}]}


class PressureTest(Suite):
    @classmethod
    def setUpClass(cls):
        body = table(2)
        cls.table = body["TableName"]
        assert send("CreateTable", body)[0] == 200
        while send("DescribeTable", {"TableName": cls.table})[1]["Table"]["TableStatus"] != "ACTIVE":
            pass

    def put(self, p, **attributes):
        return send("PutItem", {"TableName": self.table, "Item": {"p": s(p), **attributes}})

    def page(self, path):
        with urllib.request.urlopen(URL + path) as answer:
            return json.load(answer)

    def leader(self):
        page = self.page("/weir/partitions?table=" + self.table)
        return next(p for p in page["partitions"] if p["role"] == "leader" and p["table"] == self.table)

    def told(self, kind):
        return [e["reason"] for e in self.page("/weir/events")["events"] if e["kind"] == kind and e["table"] == self.table]

    def test_writes_of_the_table_wait_for_the_index_and_no_others(self):
        for i in range(100000):
            status, answer = self.put(str(i), g=s("hot"))
            if status != 200:
                break
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, "ProvisionedThroughputExceededException"))
        self.assertEqual(answer["ThrottlingReasons"], [
            {"reason": "IndexWriteProvisionedThroughputExceeded",
             "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/%s/index/by-g" % self.table}])
        self.assertIn("index by-g cannot take more writes", answer["message"])
        indexes = self.leader()["indexes"]
        self.assertEqual(indexes["held_up_by"]["index"], "by-g")
        self.assertEqual(indexes["held_up_by"]["reason"], "allocation")
        self.assertGreater(indexes["lag_ms"], 0)
        self.assertGreater(indexes["backlog_items"], 0)
        self.assertGreater(indexes["backlog_bytes"], 0)
        more = itertools.count(i)  # a write that changes nothing is not refused
        until(self, lambda: self.put(str(next(more)), g=s("hot")) and self.told("index-behind"), "an event tells of it")
        self.assertIn("index by-g lags", self.told("index-behind")[0])
        self.assertIn("refuses for allocation", self.told("index-behind")[0])
        self.assertEqual(self.put("no row", x=n(1))[0], 200)  # it changes no index
        self.assertEqual(send("GetItem", {"TableName": self.table, "Key": {"p": s("0")}})[0], 200)
        self.assertEqual(send("UpdateTable", {"TableName": self.table, "GlobalSecondaryIndexUpdates": [
            {"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(900)}}]})[0], 200)
        until(self, lambda: self.put("later", g=s("cold"))[0] == 200, "writes go on by themselves")
        until(self, lambda: self.leader()["indexes"]["backlog_items"] == 0, "the index has followed")
        self.assertNotIn("held_up_by", self.leader()["indexes"])
        until(self, lambda: self.told("index-caught-up"), "an event tells that it is over")
        self.assertEqual(len(self.told("index-behind")), 1)


if __name__ == "__main__":
    unittest.main()
