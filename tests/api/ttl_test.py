#!/usr/bin/python3
"""Time to live: which items are deleted, and which are not; how it is switched on and off.

The server of WEIR_URL runs with --set ttl_window_ms=1000.
"""

import json
import time
import unittest
import urllib.request

import botocore.exceptions
from suite import URL, Suite, boto, keys_of, n, new_name, s, send, steady, until

YEAR_S = 365 * 24 * 3600
DB = boto()


def now():
    return int(time.time())


def specification(enabled, attribute="t"):
    return {"TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


class SettingTest(Suite):
    def described(self, **wanted):
        self.assertEqual(self.ok("DescribeTimeToLive"), {"TimeToLiveDescription": wanted})

    def test_it_is_switched_on_and_off(self):
        self.described(TimeToLiveStatus="DISABLED")
        self.bad("UpdateTimeToLive", "TimeToLive is already disabled", **specification(False))
        self.assertEqual(self.ok("UpdateTimeToLive", **specification(True)), specification(True))
        self.described(TimeToLiveStatus="ENABLED", AttributeName="t")
        self.assertEqual(self.ok("DescribeTable")["Table"]["TableStatus"], "ACTIVE")
        self.bad("UpdateTimeToLive", "TimeToLive is already enabled", **specification(True))
        for enabled in (True, False):
            self.bad("UpdateTimeToLive",
                     "TimeToLive is active on a different AttributeName: current AttributeName is t",
                     **specification(enabled, "u"))
        self.assertEqual(self.ok("UpdateTimeToLive", **specification(False)), specification(False))
        self.described(TimeToLiveStatus="DISABLED")
        self.ok("UpdateTimeToLive", **specification(True, "n" * 255))
        self.described(TimeToLiveStatus="ENABLED", AttributeName="n" * 255)
        self.ok("UpdateTimeToLive", **specification(False, "n" * 255))

    def test_what_makes_no_sense(self):
        path = "Value '%s' at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: "
        self.bad("UpdateTimeToLive", "1 validation error detected: " + path % "" +
                 "Member must have length greater than or equal to 1", **specification(True, ""))
        self.bad("UpdateTimeToLive", "1 validation error detected: " + path % ("n" * 256) +
                 "Member must have length less than or equal to 255", **specification(True, "n" * 256))
        gone = new_name()
        for operation, members in (("UpdateTimeToLive", specification(True)), ("DescribeTimeToLive", {})):
            self.bad(operation, "Requested resource not found: Table: %s not found" % gone,
                     "ResourceNotFoundException", TableName=gone, **members)

    def test_boto3(self):
        name = {"TableName": self.table}
        answer = DB.update_time_to_live(**name, **specification(True, "boto"))
        self.assertEqual(answer["TimeToLiveSpecification"], specification(True, "boto")["TimeToLiveSpecification"])
        self.assertEqual(DB.describe_time_to_live(**name)["TimeToLiveDescription"],
                         {"TimeToLiveStatus": "ENABLED", "AttributeName": "boto"})
        with self.assertRaises(botocore.exceptions.ClientError) as refused:
            DB.update_time_to_live(**name, **specification(True, "boto"))
        self.assertEqual(refused.exception.response["Error"]["Code"], "ValidationException")
        DB.update_time_to_live(**name, **specification(False, "boto"))


class ExpiryTest(Suite):
    """A table with a local and a global index, whose items expire by t."""

    @classmethod
    def setUpClass(cls):
        def key(hash_name, range_name):
            return {"KeySchema": [{"AttributeName": hash_name, "KeyType": "HASH"},
                                  {"AttributeName": range_name, "KeyType": "RANGE"}],
                    "Projection": {"ProjectionType": "ALL"}}
        body = keys_of(("p", "S"), ("s", "S"))
        body["AttributeDefinitions"] += [{"AttributeName": "g", "AttributeType": "S"}]
        cls.table = new_name()
        status, answer = send("CreateTable", {
            "TableName": cls.table, "BillingMode": "PAY_PER_REQUEST", **body,
            "LocalSecondaryIndexes": [{"IndexName": "local-g", **key("p", "g")}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", **key("g", "s")}]})
        assert status == 200, answer
        status, answer = send("UpdateTimeToLive", {"TableName": cls.table, **specification(True)})
        assert status == 200, answer

    def put(self, name, time_value=None, p="p"):
        item = {"p": s(p), "s": s(name), "g": s("g")}
        if time_value is not None:
            item["t"] = time_value
        self.ok("PutItem", Item=item)

    def names(self, p="p", **more):
        items = self.ok("Query", KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": s(p)},
                        ConsistentRead=True, **more)["Items"]
        return sorted(item["s"]["S"] for item in items)

    def names_by_g(self):
        items = self.ok("Query", IndexName="by-g", KeyConditionExpression="g = :g",
                        ExpressionAttributeValues={":g": s("g")})["Items"]
        return sorted(item["s"]["S"] for item in items)

    def let_pass(self, p):
        """Each item of the partition key whose time is over by now is deleted. The first witness may meet a round that
        has passed the other items already; the second meets a whole round."""
        for _ in range(2):
            self.put("witness", n(now() - 5), p=p)
            until(self, lambda: "witness" not in self.names(p), "the witness has expired")

    def expiry(self):
        """The sums of both figures over the table's partitions."""
        with urllib.request.urlopen(URL + "/weir/partitions?table=" + self.table) as answer:
            page = json.load(answer)
        led = [p for p in page["partitions"] if p["role"] == "leader" and p["table"] == self.table]
        return sum(p["expiry"]["expired_items"] for p in led), sum(p["write"]["consumed"] for p in led)

    def test_items_whose_time_is_over_go(self):
        gone, kept = {}, {}
        for age in (1, 10, 3600, 4 * YEAR_S):
            gone["past-%d" % age] = n(now() - age - 1)
        gone["fraction"] = n("%d.5" % (now() - 10))
        kept["future"] = n(now() + 3600)
        kept["text"] = s(str(now() - 10))
        kept["set"] = {"NS": [str(now() - 10)]}
        kept["old"] = n(now() - 6 * YEAR_S)
        kept["negative"] = n(-1)
        kept["zero"] = n(0)
        kept["milliseconds"] = n(now() * 1000)
        kept["none"] = None
        before, consumed = self.expiry()
        for name, value in {**gone, **kept}.items():
            self.put(name, value, p="which")
        until(self, lambda: self.names("which") == sorted(kept), "items have expired")
        until(self, lambda: steady(lambda: set(self.names_by_g()).isdisjoint(gone)), "the global index follows")
        self.assertEqual(self.names("which", IndexName="local-g"), sorted(kept))
        self.assertGreaterEqual(set(self.names_by_g()), set(kept))
        expired, after = self.expiry()
        self.assertGreaterEqual(expired - before, len(gone))
        # Each put costs a unit for the item and one for its local row; expiry costs nothing.
        self.assertLessEqual(after - consumed, 2 * (len(gone) + len(kept)) + 4)

    def test_an_item_is_there_until_its_time_is_over(self):
        end = now() + 2
        self.put("later", n(end), p="later")
        gone_at = until(self, lambda: self.names("later") == [] and time.time(), "the item has expired")
        self.assertGreater(gone_at, end)

    def gets_a_later_time(self, name, how):
        """Puts an item whose time is soon over, and changes the time. False: it had expired before."""
        self.put(name, n(now() + 1), p="kept")
        status, answer = send("UpdateItem", {"TableName": self.table, "Key": {"p": s("kept"), "s": s(name)},
                                             "ConditionExpression": "attribute_exists(p)", **how})
        if status != 200:
            self.assertIn("ConditionalCheckFailedException", answer["__type"])
        return status == 200

    def test_an_item_that_gets_a_later_time_stays(self):
        later = {"UpdateExpression": "SET t = :t", "ExpressionAttributeValues": {":t": n(now() + 3600)}}
        for i in range(20):
            how = later if i % 2 == 0 else {"UpdateExpression": "REMOVE t"}
            until(self, lambda: self.gets_a_later_time("kept-%02d" % i, how), "the item has a later time")
        self.put("zz", n(now() + 1), p="kept")  # not before any of the former times
        until(self, lambda: "zz" not in self.names("kept"), "their former time is over")
        self.let_pass("kept")
        self.assertEqual(len(self.names("kept")), 20)

    def test_nothing_expires_once_it_is_switched_off(self):
        name = {"TableName": new_name()}
        self.created({**name, "BillingMode": "PAY_PER_REQUEST", **keys_of(("p", "S"))})
        self.ok("UpdateTimeToLive", **name, **specification(True))
        self.ok("PutItem", **name, Item={"p": s("first"), "t": n(now() - 5)})
        until(self, lambda: not self.ok("Scan", **name, ConsistentRead=True)["Items"], "the first item has expired")
        self.ok("UpdateTimeToLive", **name, **specification(False))
        self.ok("PutItem", **name, Item={"p": s("second"), "t": n(now() - 5)})
        self.let_pass("off")  # items of another table
        self.assertEqual(len(self.ok("Scan", **name, ConsistentRead=True)["Items"]), 1)
        self.ok("UpdateTimeToLive", **name, **specification(True, "u"))
        self.ok("PutItem", **name, Item={"p": s("third"), "u": n(now() - 5)})
        until(self, lambda: [i["p"]["S"] for i in self.ok("Scan", **name, ConsistentRead=True)["Items"]] == ["second"],
              "another attribute counts")

    def test_a_new_item_of_the_same_key_stays(self):
        self.put("again", n(now() - 5), p="again")
        until(self, lambda: not self.names("again"), "the item has expired")
        self.put("again", n(now() + 3600), p="again")
        self.let_pass("again")
        self.assertEqual(self.names("again"), ["again"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
