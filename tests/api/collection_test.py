#!/usr/bin/python3
"""Item collections that stay whole, through boto3: their limit, and what is told about them.

The server of WEIR_URL runs with --set collection_max_bytes=4096.
"""
import os
import threading
import unittest
import uuid

import boto3
import botocore.config
import botocore.exceptions

LIMIT = 4096
GIB = 1 << 30
DB = boto3.client(
    "dynamodb", endpoint_url=os.environ["WEIR_URL"], region_name="us-east-1",
    aws_access_key_id="a", aws_secret_access_key="b",
    config=botocore.config.Config(retries={"max_attempts": 1}, max_pool_connections=64))


def create(indexed=True):
    """An index of which no item has a row."""
    name = f"t-{uuid.uuid4()}"
    keys = [{"AttributeName": n, "KeyType": t} for n, t in (("pk", "HASH"), ("sk", "RANGE"), ("x", "RANGE"))]
    index = {"IndexName": "by-x", "KeySchema": keys[::2], "Projection": {"ProjectionType": "ALL"}}
    DB.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=keys[:2],
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk", "x")[:2 + indexed]],
        **({"LocalSecondaryIndexes": [index]} if indexed else {}))
    DB.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    return name


def item(sk, size, pk="p"):
    """Of that size: names and values."""
    fixed = len("pk") + len(pk) + len("sk") + len(sk) + len("f")
    return {"pk": {"S": pk}, "sk": {"S": sk}, "f": {"S": "x" * (size - fixed)}}


def key(sk, pk="p"):
    return {"pk": {"S": pk}, "sk": {"S": sk}}


class CollectionTest(unittest.TestCase):
    def refused(self, code, message, call, **arguments):
        with self.assertRaises(botocore.exceptions.ClientError) as raised:
            call(**arguments)
        answer = raised.exception.response
        self.assertEqual(answer["Error"]["Code"], code)
        self.assertIn(message, answer["Error"]["Message"])
        self.assertEqual(answer["ResponseMetadata"]["HTTPStatusCode"], 400)

    def full(self, table, sk, size, pk="p"):
        self.refused("ItemCollectionSizeLimitExceededException", "Collection size exceeded",
                     DB.put_item, TableName=table, Item=item(sk, size, pk))

    def test_a_collection_holds_exactly_its_limit(self):
        table = create()
        DB.put_item(TableName=table, Item=item("a", 3000))
        self.full(table, "b", LIMIT - 3000 + 1)
        DB.put_item(TableName=table, Item=item("b", LIMIT - 3000))
        self.full(table, "c", 20)
        self.full(table, "a", 3001)
        DB.put_item(TableName=table, Item=item("c", LIMIT, pk="another"))
        found = DB.query(TableName=table, ConsistentRead=True, KeyConditionExpression="pk = :p",
                         ExpressionAttributeValues={":p": {"S": "p"}})
        self.assertEqual([i["sk"]["S"] for i in found["Items"]], ["a", "b"])
        self.assertEqual(DB.scan(TableName=table, ConsistentRead=True)["Count"], 3)

    def test_what_takes_nothing_more_passes_and_makes_room(self):
        table = create()
        DB.put_item(TableName=table, Item=item("a", 3000))
        DB.put_item(TableName=table, Item=item("b", LIMIT - 3000))
        DB.put_item(TableName=table, Item=item("a", 3000))
        DB.put_item(TableName=table, Item=item("a", 2000))
        DB.put_item(TableName=table, Item=item("c", 1000))
        self.full(table, "d", 20)
        DB.delete_item(TableName=table, Key=key("b"))
        DB.delete_item(TableName=table, Key=key("b"))
        DB.put_item(TableName=table, Item=item("d", LIMIT - 3000))
        self.full(table, "e", 20)

    def test_writes_side_by_side_never_pass_the_limit_together(self):
        table, codes = create(), []

        def put(i):
            try:
                DB.put_item(TableName=table, Item=item(f"{i:02}", 256))
                codes.append("OK")
            except botocore.exceptions.ClientError as error:
                codes.append(error.response["Error"]["Code"])

        threads = [threading.Thread(target=put, args=(i,)) for i in range(48)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(codes.count("OK"), LIMIT // 256)
        self.assertEqual(codes.count("ItemCollectionSizeLimitExceededException"),
                         48 - LIMIT // 256)
        self.assertEqual(DB.scan(TableName=table, ConsistentRead=True)["Count"], LIMIT // 256)

    def test_a_batch_fails_for_a_full_collection_and_what_had_room_is_there(self):
        table = create()
        DB.put_item(TableName=table, Item=item("a", LIMIT - 100))
        put = [{"PutRequest": {"Item": i}} for i in (item("b", 101), item("c", 100, pk="another"))]
        self.refused("ItemCollectionSizeLimitExceededException", "Collection size exceeded",
                     DB.batch_write_item, RequestItems={table: put})
        found = DB.scan(TableName=table, ConsistentRead=True)["Items"]
        self.assertEqual({i["sk"]["S"] for i in found}, {"a", "c"})
        told = DB.batch_write_item(RequestItems={table: put[1:]})
        self.assertEqual(told["UnprocessedItems"], {})

    def test_metrics_are_told_where_collections_are_whole_and_asked_for(self):
        table = create()
        told = DB.put_item(TableName=table, Item=item("a", 100), ReturnItemCollectionMetrics="SIZE")
        metrics = {"ItemCollectionKey": {"pk": {"S": "p"}}, "SizeEstimateRangeGB": [0.0, 1.0]}
        self.assertEqual(told["ItemCollectionMetrics"], metrics)
        told = DB.delete_item(TableName=table, Key=key("a"), ReturnValues="ALL_OLD",
                              ReturnItemCollectionMetrics="SIZE")
        self.assertEqual(told["ItemCollectionMetrics"], metrics)
        self.assertEqual(told["Attributes"], item("a", 100))
        told = DB.put_item(TableName=table, Item=item("a", 100))
        self.assertNotIn("ItemCollectionMetrics", told)
        told = DB.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": item("b", 50)}}]},
                                   ReturnItemCollectionMetrics="SIZE")
        self.assertEqual(told["ItemCollectionMetrics"], {table: [metrics]})
        plain = create(indexed=False)
        told = DB.put_item(TableName=plain, Item=item("a", 2 * LIMIT),
                           ReturnItemCollectionMetrics="SIZE")
        self.assertNotIn("ItemCollectionMetrics", told)

    def test_index_rows_count(self):
        table = create()
        DB.put_item(TableName=table, Item={**item("a", 1000), "x": {"S": "x"}})
        DB.put_item(TableName=table, Item=item("b", LIMIT - 2 * 1002))
        self.full(table, "c", 20)
        DB.update_item(TableName=table, Key=key("a"), UpdateExpression="REMOVE x")
        DB.put_item(TableName=table, Item=item("c", 1004))
        self.full(table, "d", 20)


if __name__ == "__main__":
    unittest.main()
