#!/usr/bin/python3
"""Records of streams that are trimmed: by their age, and because a partition has too many bytes of them; and a record of
an item that expires. The server runs with --set stream_retention_ms=4000 --set stream_max_bytes=64KiB
--set ttl_window_ms=1000."""

import json
import time
import unittest
import urllib.request

from suite import URL, Suite, keys_of, n, new_name, s, send, until


class TrimTest(Suite):
    def page(self, path):
        with urllib.request.urlopen(URL + path) as answer:
            return json.load(answer)

    def done(self, operation, **members):
        status, answer = send(operation, members)
        self.assertEqual(status, 200, answer)
        return answer

    def stream(self):
        """(name, ARN, the one shard) of a new table."""
        name = self.created({"TableName": new_name(), **keys_of(("p", "S")), "StreamSpecification":
                             {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
                             "ProvisionedThroughput": {"ReadCapacityUnits": 100, "WriteCapacityUnits": 900}})["TableName"]
        arn = self.done("DescribeTable", TableName=name)["Table"]["LatestStreamArn"]
        (shard,) = self.done("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]
        return name, arn, shard["ShardId"]

    def records(self, arn, shard, kind="TRIM_HORIZON", **more):
        iterator = self.done("GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType=kind,
                             **more)["ShardIterator"]
        return self.done("GetRecords", ShardIterator=iterator)["Records"]

    def figures(self, name):
        (found,) = [p["streams"] for p in self.page("/weir/partitions?table=" + name)["partitions"]
                    if p["role"] == "leader"]
        return found

    def put(self, table, number, filler=0):
        self.done("PutItem", TableName=table, Item={"p": s("k"), "v": n(number), "f": s("x" * filler)})

    def trimmed(self, operation, **members):
        status, answer = send(operation, members)
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, "TrimmedDataAccessException"), answer)

    def five(self, name, arn, shard):
        """(sequence number, iterator, records written so far) of the first of five new records. None: some of them were
        trimmed before they were read."""
        for i in range(5):
            self.put(name, i)
        written = self.figures(name)["written"]
        records = self.records(arn, shard)[-5:]
        if [r["dynamodb"]["NewImage"]["v"]["N"] for r in records] != list("01234"):
            return None
        first = records[0]["dynamodb"]["SequenceNumber"]
        status, answer = send("GetShardIterator", {"StreamArn": arn, "ShardId": shard, "SequenceNumber": first,
                                                   "ShardIteratorType": "AT_SEQUENCE_NUMBER"})
        return (first, answer["ShardIterator"], written) if status == 200 else None

    def test_old_records_go(self):
        name, arn, shard = self.stream()
        first, iterator, written = until(self, lambda: self.five(name, arn, shard), "five records were read in time")
        until(self, lambda: self.records(arn, shard) == [], "all records are trimmed")
        self.trimmed("GetRecords", ShardIterator=iterator)
        self.trimmed("GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType="AT_SEQUENCE_NUMBER",
                     SequenceNumber=first)
        figures = self.figures(name)
        self.assertEqual((figures["records"], figures["written"], figures["trimmed"]), (0, written, written))
        until(self, lambda: self.put(name, 5) or len(self.records(arn, shard)) == 1, "a record alone was read in time")

    def test_the_oldest_records_go_when_there_are_too_many(self):
        name, arn, shard = self.stream()
        for i in range(30):
            self.put(name, i, 8000)
        until(self, lambda: self.figures(name)["record_bytes"] <= 65536, "there are few bytes of records")
        records = self.records(arn, shard)
        if records:  # they are trimmed by their age soon, too
            self.assertEqual(records[-1]["dynamodb"]["NewImage"]["v"]["N"], "29")
        until(self, lambda: [e for e in self.page("/weir/events")["events"]
                             if e["kind"] == "stream-trimmed" and e["table"] == name], "an event tells of it")

    def test_a_disabled_stream_goes(self):
        name, arn, shard = self.stream()
        self.put(name, 1)
        self.done("UpdateTable", TableName=name, StreamSpecification={"StreamEnabled": False})
        self.assertEqual(len(self.done("ListStreams", TableName=name)["Streams"]), 1)
        until(self, lambda: self.done("ListStreams", TableName=name)["Streams"] == [], "the stream is forgotten")
        status, answer = send("DescribeStream", {"StreamArn": arn})
        self.assertEqual((status, answer["message"]),
                         (400, "Requested resource not found: Stream: %s not found" % arn))
        status, _ = send("GetShardIterator", {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "LATEST"})
        self.assertEqual(status, 400)
        self.assertNotIn("LatestStreamArn", self.done("DescribeTable", TableName=name)["Table"])

    def test_an_expiry_is_the_services_own(self):
        name, arn, shard = self.stream()
        self.done("UpdateTimeToLive", TableName=name, TimeToLiveSpecification={"AttributeName": "over", "Enabled": True})
        until(self, lambda: self.done("DescribeTable", TableName=name)["Table"]["TableStatus"] == "ACTIVE", "items expire")
        self.done("PutItem", TableName=name, Item={"p": s("k"), "over": n(int(time.time()) - 60)})
        expired = lambda: [r for r in self.records(arn, shard) if r["eventName"] == "REMOVE"]  # noqa: E731
        until(self, expired, "a record tells of the expiry")
        self.assertEqual(expired()[0]["userIdentity"], {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"})


if __name__ == "__main__":
    unittest.main()
