#!/usr/bin/python3
"""DynamoDB Streams: streams of tables, their shards, and the records of writes, with raw requests and with boto3."""

import datetime
import json
import unittest
import urllib.error
import urllib.request

from suite import HEADERS, INVALID, URL, Suite, boto, keys_of, n, new_name, s, send, until

VIEWS = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")
ONE_SHARD = {"BillingMode": "PROVISIONED",
             "ProvisionedThroughput": {"ReadCapacityUnits": 500, "WriteCapacityUnits": 900}}
GONE = "Requested resource not found: Stream: %s not found"


def specification(view="NEW_AND_OLD_IMAGES"):
    return {"StreamEnabled": True, "StreamViewType": view}


class StreamTest(Suite):
    """Each test has a table of its own."""

    def stream(self, view="NEW_AND_OLD_IMAGES", keys=(("p", "S"),), **more):
        """(name, ARN of its stream) of a new table."""
        name = self.created({"TableName": new_name(), "BillingMode": "PAY_PER_REQUEST", **keys_of(*keys),
                             "StreamSpecification": specification(view), **more})["TableName"]
        return name, self.done("DescribeTable", TableName=name)["Table"]["LatestStreamArn"]

    def done(self, operation, **members):
        status, answer = send(operation, members)
        self.assertEqual(status, 200, answer)
        return answer

    def refused(self, operation, kind, message, **members):
        status, answer = send(operation, members)
        self.assertEqual((status, answer.get("__type", "").split("#")[-1]), (400, kind), answer)
        if message is not None:
            self.assertEqual(answer["message"], message)

    def described(self, arn, **more):
        return self.done("DescribeStream", StreamArn=arn, **more)["StreamDescription"]

    def shards(self, arn):
        return [shard["ShardId"] for shard in self.described(arn)["Shards"]]

    def iterator(self, arn, shard, kind="TRIM_HORIZON", **more):
        return self.done("GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType=kind,
                         **more)["ShardIterator"]

    def read(self, iterator, **more):
        """(records that are there now, an iterator behind them; None: the shard is closed)."""
        records = []
        while iterator is not None:
            answer = self.done("GetRecords", ShardIterator=iterator, **more)
            records += answer["Records"]
            iterator = answer.get("NextShardIterator")
            if not answer["Records"]:
                break
        return records, iterator

    def records(self, arn):
        return [r for shard in self.shards(arn) for r in self.read(self.iterator(arn, shard))[0]]

    def put_in(self, table, key, **attributes):
        """Again while the table has no throughput left."""
        item = {"TableName": table, "Item": {"p": s(key), **attributes}}
        until(self, lambda: send("PutItem", item)[0] == 200, "the item is put")

    # ---- streams of tables ----

    def test_a_table_is_created_with_a_stream(self):
        name, arn = self.stream("NEW_IMAGE")
        table = self.done("DescribeTable", TableName=name)["Table"]
        self.assertEqual(table["StreamSpecification"], specification("NEW_IMAGE"))
        self.assertEqual(arn, table["TableArn"] + "/stream/" + table["LatestStreamLabel"])
        self.assertIsNotNone(datetime.datetime.strptime(table["LatestStreamLabel"], "%Y-%m-%dT%H:%M:%S.%f"))
        stream = self.described(arn)
        self.assertEqual({k: v for k, v in stream.items() if k not in ("Shards", "CreationRequestDateTime")},
                         {"StreamArn": arn, "StreamLabel": table["LatestStreamLabel"], "StreamStatus": "ENABLED",
                          "StreamViewType": "NEW_IMAGE", "TableName": name,
                          "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}]})
        for shard in stream["Shards"]:
            self.assertRegex(shard["ShardId"], "^shardId-[0-9]{20}-[0-9a-f]{8}$")
            self.assertEqual(list(shard["SequenceNumberRange"]), ["StartingSequenceNumber"])
            self.assertNotIn("ParentShardId", shard)

    def test_a_table_without_a_stream_shows_none(self):
        table = self.ok("DescribeTable")["Table"]
        self.assertFalse({"StreamSpecification", "LatestStreamArn", "LatestStreamLabel"} & set(table))
        self.bad("UpdateTable", "Table has no stream to disable: TableName: " + self.table,
                 StreamSpecification={"StreamEnabled": False})

    def test_a_stream_is_enabled_disabled_and_enabled_anew(self):
        name = self.created({"TableName": new_name(), "BillingMode": "PAY_PER_REQUEST",
                             **keys_of(("p", "S"))})["TableName"]
        self.put_in(name, "before")
        table = self.done("UpdateTable", TableName=name, StreamSpecification=specification())["TableDescription"]
        first = table["LatestStreamArn"]
        self.refused("UpdateTable", "ValidationException", "Table already has an enabled stream: TableName: " + name,
                     TableName=name, StreamSpecification=specification("KEYS_ONLY"))
        self.put_in(name, "first")
        self.done("UpdateTable", TableName=name, StreamSpecification={"StreamEnabled": False})
        self.put_in(name, "between")
        table = self.done("DescribeTable", TableName=name)["Table"]
        self.assertNotIn("StreamSpecification", table)
        self.assertEqual(table["LatestStreamArn"], first)
        stream = self.described(first)
        self.assertEqual(stream["StreamStatus"], "DISABLED")
        for shard in stream["Shards"]:
            self.assertIn("EndingSequenceNumber", shard["SequenceNumberRange"])
            self.assertIsNone(self.read(self.iterator(first, shard["ShardId"]))[1])
        self.done("UpdateTable", TableName=name, StreamSpecification=specification("KEYS_ONLY"))
        second = self.done("DescribeTable", TableName=name)["Table"]["LatestStreamArn"]
        self.assertNotEqual(first, second)
        self.put_in(name, "second")
        self.assertEqual([r["dynamodb"]["Keys"]["p"]["S"] for r in self.records(first)], ["first"])
        self.assertEqual([r["dynamodb"]["Keys"]["p"]["S"] for r in self.records(second)], ["second"])
        listed = self.done("ListStreams", TableName=name)["Streams"]
        self.assertEqual([stream["StreamArn"] for stream in listed], [first, second])

    def test_streams_are_listed_page_by_page(self):
        arns = sorted(self.stream()[1] for _ in range(3))
        found, after = [], {}
        while True:
            answer = self.done("ListStreams", Limit=1, **after)
            found += answer["Streams"]
            self.assertLessEqual(len(answer["Streams"]), 1)
            if "LastEvaluatedStreamArn" not in answer:
                break
            self.assertEqual(answer["LastEvaluatedStreamArn"], found[-1]["StreamArn"])
            after = {"ExclusiveStartStreamArn": answer["LastEvaluatedStreamArn"]}
        self.assertEqual([stream["StreamArn"] for stream in found if stream["StreamArn"] in arns], arns)
        for stream in found:
            self.assertTrue(stream["StreamArn"].endswith("table/%s/stream/%s" % (stream["TableName"],
                                                                                 stream["StreamLabel"])))
        self.refused("ListStreams", "ResourceNotFoundException", None, TableName=new_name())
        self.assertEqual(self.done("ListStreams", TableName=self.table)["Streams"], [])
        self.refused("ListStreams", "ValidationException", None, TableName=self.table, ExclusiveStartStreamArn=arns[0])
        self.refused("ListStreams", "ValidationException", "Invalid StreamArn: " + "x" * 40,
                     ExclusiveStartStreamArn="x" * 40)

    def test_a_deleted_table_takes_its_stream_along(self):
        name, arn = self.stream()
        iterator = self.iterator(arn, self.shards(arn)[0])
        self.done("DeleteTable", TableName=name)
        until(self, lambda: send("DescribeTable", {"TableName": name})[0] == 400, "the table is gone")
        self.refused("DescribeStream", "ResourceNotFoundException", GONE % arn, StreamArn=arn)
        self.refused("GetRecords", "ResourceNotFoundException", GONE % arn, ShardIterator=iterator)

    # ---- shards ----

    def test_shards_are_listed_page_by_page(self):
        _, arn = self.stream(BillingMode="PROVISIONED",
                             ProvisionedThroughput={"ReadCapacityUnits": 10, "WriteCapacityUnits": 3000})
        all_shards = self.shards(arn)
        self.assertGreaterEqual(len(all_shards), 3)
        found, after = [], {}
        while True:
            page = self.described(arn, Limit=2, **after)
            found += [shard["ShardId"] for shard in page["Shards"]]
            if "LastEvaluatedShardId" not in page:
                break
            self.assertEqual(page["LastEvaluatedShardId"], found[-1])
            after = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
        self.assertEqual(found, all_shards)
        children = self.described(arn, ShardFilter={"Type": "CHILD_SHARDS", "ShardId": all_shards[0]})
        self.assertEqual(children["Shards"], [])
        none = "shardId-" + "9" * 20 + "-00000001"
        missing = "Requested resource not found: Shard does not exist in stream " + arn
        self.refused("DescribeStream", "ResourceNotFoundException", missing, StreamArn=arn,
                     ShardFilter={"Type": "CHILD_SHARDS", "ShardId": none})
        self.assertEqual(self.described(arn, ExclusiveStartShardId=none)["Shards"], [])
        self.refused("DescribeStream", "ValidationException", None, StreamArn=arn,
                     ShardFilter={"Type": "CHILD_SHARDS"})
        self.refused("GetShardIterator", "ResourceNotFoundException", missing, StreamArn=arn, ShardId=none,
                     ShardIteratorType="LATEST")
        other = arn[:-1] + ("0" if arn[-1] != "0" else "1")
        self.refused("DescribeStream", "ResourceNotFoundException", GONE % other, StreamArn=other)
        self.refused("GetShardIterator", "ResourceNotFoundException", GONE % other, StreamArn=other,
                     ShardId=all_shards[0], ShardIteratorType="LATEST")
        self.refused("DescribeStream", "ValidationException", "Invalid StreamArn: " + "y" * 37, StreamArn="y" * 37)

    # ---- records ----

    def test_writes_make_records_in_their_order(self):
        name, arn = self.stream(keys=(("p", "S"), ("s", "N")))
        key = {"p": s("a"), "s": n("-1.5")}
        self.done("PutItem", TableName=name, Item={**key, "v": n(1)})
        self.done("UpdateItem", TableName=name, Key=key, UpdateExpression="SET v = :two",
                  ExpressionAttributeValues={":two": n(2)})
        self.done("DeleteItem", TableName=name, Key=key)
        self.done("UpdateItem", TableName=name, Key=key, UpdateExpression="SET w = :x",
                  ExpressionAttributeValues={":x": s("x")})
        records = self.records(arn)
        self.assertEqual([r["eventName"] for r in records], ["INSERT", "MODIFY", "REMOVE", "INSERT"])
        self.assertEqual(len({r["eventID"] for r in records}), 4)
        images = [(r["dynamodb"].get("OldImage"), r["dynamodb"].get("NewImage")) for r in records]
        one, two = {**key, "v": n(1)}, {**key, "v": n(2)}
        self.assertEqual(images, [(None, one), (one, two), (two, None), (None, {**key, "w": s("x")})])
        numbers = [r["dynamodb"]["SequenceNumber"] for r in records]
        self.assertEqual(numbers, sorted(numbers, key=int))
        for r in records:
            self.assertEqual(r["dynamodb"]["Keys"], key)
            self.assertEqual((r["eventVersion"], r["eventSource"]), ("1.1", "aws:dynamodb"))
            self.assertEqual(r["dynamodb"]["StreamViewType"], "NEW_AND_OLD_IMAGES")
            self.assertGreater(r["dynamodb"]["ApproximateCreationDateTime"], 1.7e9)
            self.assertNotIn("userIdentity", r)

    def test_each_view_shows_its_images(self):
        for view in VIEWS:
            name, arn = self.stream(view)
            self.put_in(name, "a", v=s("one"))
            self.put_in(name, "a", v=s("other"))
            self.done("DeleteItem", TableName=name, Key={"p": s("a")})
            one, other = {"p": s("a"), "v": s("one")}, {"p": s("a"), "v": s("other")}
            new = view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")
            old = view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")
            keys = 2  # p and a
            with self.subTest(view):
                data = [r["dynamodb"] for r in self.records(arn)]
                self.assertEqual([d.get("NewImage") for d in data], [one, other, None] if new else [None] * 3)
                self.assertEqual([d.get("OldImage") for d in data], [None, one, other] if old else [None] * 3)
                self.assertEqual([d["SizeBytes"] for d in data],
                                 [keys + 6 * new, keys + 8 * new + 6 * old, keys + 8 * old])
                self.assertEqual({d["StreamViewType"] for d in data}, {view})

    def test_a_write_that_changes_nothing_makes_no_record(self):
        name, arn = self.stream()
        item = {"p": s("a"), "m": {"M": {"x": n(1), "y": {"SS": ["b", "c"]}}}, "v": n(1)}
        self.done("PutItem", TableName=name, Item=item)
        self.done("PutItem", TableName=name, Item=item)
        self.done("PutItem", TableName=name, Item={"v": n("1.0"), "m": {"M": {"y": {"SS": ["c", "b"]}, "x": n(1)}},
                                                   "p": s("a")})
        self.done("UpdateItem", TableName=name, Key={"p": s("a")}, UpdateExpression="SET v = :one",
                  ExpressionAttributeValues={":one": n(1)})
        self.done("DeleteItem", TableName=name, Key={"p": s("not there")})
        self.refused("PutItem", "ConditionalCheckFailedException", None, TableName=name, Item={"p": s("a")},
                     ConditionExpression="attribute_not_exists(p)")
        self.assertEqual([r["eventName"] for r in self.records(arn)], ["INSERT"])

    def test_batches_and_transactions_make_records_too(self):
        name, arn = self.stream()
        self.done("BatchWriteItem", RequestItems={name: [{"PutRequest": {"Item": {"p": s(k)}}} for k in "ab"]})
        self.done("TransactWriteItems", TransactItems=[
            {"Put": {"TableName": name, "Item": {"p": s("c")}}},
            {"Delete": {"TableName": name, "Key": {"p": s("a")}}},
            {"Update": {"TableName": name, "Key": {"p": s("b")}, "UpdateExpression": "SET v = :v",
                        "ExpressionAttributeValues": {":v": n(1)}}},
            {"ConditionCheck": {"TableName": name, "Key": {"p": s("d")},
                                "ConditionExpression": "attribute_not_exists(p)"}}])
        wanted = [("a", "INSERT"), ("a", "REMOVE"), ("b", "INSERT"), ("b", "MODIFY"), ("c", "INSERT")]
        until(self, lambda: self.found(arn) == wanted, "all records are there")

    def found(self, arn):
        return sorted((r["dynamodb"]["Keys"]["p"]["S"], r["eventName"]) for r in self.records(arn))

    def test_a_transaction_over_partitions_makes_records_too(self):
        name, arn = self.stream(BillingMode="PROVISIONED",
                                ProvisionedThroughput={"ReadCapacityUnits": 100, "WriteCapacityUnits": 3000})
        keys = ["k%d" % i for i in range(12)]
        self.done("TransactWriteItems", TransactItems=[
            {"Put": {"TableName": name, "Item": {"p": s(k), "v": n(1)}}} for k in keys])
        self.done("TransactWriteItems", TransactItems=[{"Delete": {"TableName": name, "Key": {"p": s(k)}}}
                                                       for k in keys])
        wanted = sorted((k, event) for k in keys for event in ("INSERT", "REMOVE"))
        until(self, lambda: self.found(arn) == wanted, "all records are there")

    def test_pages_of_records(self):
        name, arn = self.stream("NEW_IMAGE", **ONE_SHARD)
        for i in range(12):
            self.put_in(name, "k", v=n(i), filler=s("x" * 200000))
        (shard,) = self.shards(arn)
        answer = self.done("GetRecords", ShardIterator=self.iterator(arn, shard), Limit=3)
        self.assertEqual([r["dynamodb"]["NewImage"]["v"]["N"] for r in answer["Records"]], ["0", "1", "2"])
        answer = self.done("GetRecords", ShardIterator=answer["NextShardIterator"])
        self.assertLess(len(answer["Records"]), 9)  # a page of 1 MB
        self.assertEqual(answer["Records"][0]["dynamodb"]["NewImage"]["v"]["N"], "3")
        self.assertEqual(len(self.read(answer["NextShardIterator"])[0]) + len(answer["Records"]), 9)

    def test_large_items_before_and_after(self):
        name, arn = self.stream()
        nothing = [{"S": ""}] * 400000  # many bytes as stored
        for i in range(2):
            self.put_in(name, "k", l={"L": nothing}, v=n(i))
        records = self.records(arn)
        self.assertEqual([r["eventName"] for r in records], ["INSERT", "MODIFY"])
        self.assertEqual(len(records[1]["dynamodb"]["OldImage"]["l"]["L"]), len(nothing))

    # ---- iterators ----

    def test_iterators_begin_where_they_are_asked_to(self):
        name, arn = self.stream("NEW_IMAGE", **ONE_SHARD)
        for i in range(3):
            self.put_in(name, "k", v=n(i))
        (shard,) = self.shards(arn)
        latest = self.iterator(arn, shard, "LATEST")
        self.assertEqual(self.read(latest)[0], [])
        numbers = [r["dynamodb"]["SequenceNumber"] for r in self.read(self.iterator(arn, shard))[0]]
        self.put_in(name, "k", v=n(3))
        def values(iterator):
            return [r["dynamodb"]["NewImage"]["v"]["N"] for r in self.read(iterator)[0]]
        self.assertEqual(values(latest), ["3"])
        self.assertEqual(values(self.iterator(arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=numbers[1])),
                         ["1", "2", "3"])
        self.assertEqual(values(self.iterator(arn, shard, "AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[1])),
                         ["2", "3"])
        first = self.described(arn)["Shards"][0]["SequenceNumberRange"]["StartingSequenceNumber"]
        self.assertEqual(values(self.iterator(arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=first)),
                         ["0", "1", "2", "3"])
        for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
            self.refused("GetShardIterator", "ValidationException", INVALID + "SequenceNumber must be specified for "
                         "ShardIteratorType AT_SEQUENCE_NUMBER and AFTER_SEQUENCE_NUMBER", StreamArn=arn,
                         ShardId=shard, ShardIteratorType=kind)
        self.refused("GetShardIterator", "ValidationException", INVALID + "SequenceNumber must not be specified for "
                     "ShardIteratorType TRIM_HORIZON and LATEST", StreamArn=arn, ShardId=shard,
                     ShardIteratorType="LATEST", SequenceNumber=numbers[0])
        self.refused("GetShardIterator", "ValidationException", INVALID + "Invalid SequenceNumber: " + "1" * 21,
                     StreamArn=arn, ShardId=shard, ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber="1" * 21)

    def test_iterators_that_are_none_are_refused(self):
        _, arn = self.stream()
        iterator = self.iterator(arn, self.shards(arn)[0])
        for bad in ("x", arn, iterator[:-1], iterator[1:], iterator.replace("|1|", "|2|"),
                    iterator[:-10] + ("A" if iterator[-10] != "A" else "B") + iterator[-9:]):
            self.refused("GetRecords", "ValidationException", "Invalid ShardIterator", ShardIterator=bad)
        self.refused("GetRecords", "ValidationException", None, ShardIterator=iterator, Limit=1001)

    def test_streams_are_a_service_of_their_own(self):
        for target in ("DynamoDB_20120810.ListStreams", "DynamoDBStreams_20120810.ListTables"):
            request = urllib.request.Request(URL, b"{}", {**HEADERS, "X-Amz-Target": target})
            with self.assertRaises(urllib.error.HTTPError) as caught, urllib.request.urlopen(request):
                pass
            with caught.exception as answer:
                self.assertIn("UnknownOperationException", json.loads(answer.read())["__type"])

    # ---- boto3 ----

    def test_boto3_follows_a_table(self):
        streams, tables = boto("dynamodbstreams"), boto()
        name = new_name()
        made = tables.create_table(TableName=name, BillingMode="PAY_PER_REQUEST",
                                   StreamSpecification=specification(), **keys_of(("p", "S")))
        self.addCleanup(send, "DeleteTable", {"TableName": name})
        arn = made["TableDescription"]["LatestStreamArn"]
        tables.get_waiter("table_exists").wait(TableName=name)
        self.assertEqual(streams.list_streams(TableName=name, Limit=5)["Streams"][0]["StreamArn"], arn)
        streams.list_streams(ExclusiveStartStreamArn=arn)
        for i in range(5):
            tables.put_item(TableName=name, Item={"p": s("k%d" % i), "v": n(i)})
        shards = streams.describe_stream(StreamArn=arn, Limit=10)["StreamDescription"]["Shards"]
        streams.describe_stream(StreamArn=arn, ExclusiveStartShardId=shards[0]["ShardId"])
        gone = streams.describe_stream(StreamArn=arn, ExclusiveStartShardId="shardId-" + "0" * 20 + "-00000000")
        self.assertEqual(gone["StreamDescription"]["Shards"], [])
        seen = {}
        for shard in shards:
            iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"],
                                                  ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
            answer = streams.get_records(ShardIterator=iterator, Limit=100)
            for record in answer["Records"]:
                self.assertIsInstance(record["dynamodb"]["ApproximateCreationDateTime"], datetime.datetime)
                seen[record["dynamodb"]["Keys"]["p"]["S"]] = record["dynamodb"]["NewImage"]["v"]["N"]
                streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"],
                                           ShardIteratorType="AT_SEQUENCE_NUMBER",
                                           SequenceNumber=record["dynamodb"]["SequenceNumber"])
        self.assertEqual(seen, {"k%d" % i: str(i) for i in range(5)})
        tables.update_table(TableName=name, StreamSpecification={"StreamEnabled": False})
        tables.get_waiter("table_exists").wait(TableName=name)
        tables.update_table(TableName=name, StreamSpecification=specification("KEYS_ONLY"))


if __name__ == "__main__":
    unittest.main()
