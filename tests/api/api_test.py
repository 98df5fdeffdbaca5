"""boto3 and raw sockets against a weir endpoint (WEIR_URL)."""

import decimal
import gzip
import json
import os
import pathlib
import re
import socket
import sys
import threading
import unittest
import urllib.parse
import urllib.request
import uuid
import zlib

import boto3
import botocore.config
import botocore.exceptions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from patience import Patience  # noqa: E402

URL = os.environ["WEIR_URL"]
HOST = urllib.parse.urlsplit(URL)


def client(**config):
    defaults = {"retries": {"max_attempts": 0}, "parameter_validation": False}
    return boto3.client(
        "dynamodb",
        endpoint_url=URL,
        region_name="us-east-1",
        aws_access_key_id="weir",
        aws_secret_access_key="weir",
        config=botocore.config.Config(**{**defaults, **config}),
    )



def read_own_writes(params, **_):
    """Tests read back what they wrote: from the leader, unless they say otherwise."""
    params.setdefault("ConsistentRead", True)


DB = client()
for operation in ("GetItem", "Query", "Scan"):
    DB.meta.events.register(f"provide-client-params.dynamodb.{operation}", read_own_writes)
# For setting up more at once than a partition takes in a second: goes on after throttles.
PATIENT = client(retries={"max_attempts": 20, "mode": "standard"})


def new_name():
    return "t-" + uuid.uuid4().hex


def new_table(keys=(("id", "S"),), rcu=2000, wcu=900, **more):
    """Creates a table and waits until it is active; returns its name."""
    name = new_name()
    settings = {"ProvisionedThroughput": {"ReadCapacityUnits": rcu, "WriteCapacityUnits": wcu}}
    if more:
        settings = more
    DB.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in keys],
        KeySchema=[
            {"AttributeName": n, "KeyType": k} for (n, _), k in zip(keys, ("HASH", "RANGE"))
        ],
        **settings,
    )
    DB.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    return name


class Refusals:
    """Mixin: expects an error by code, message and status."""

    def refused(self, code, message, call, *args, status=400, **kwargs):
        with self.assertRaises(botocore.exceptions.ClientError) as caught:
            call(*args, **kwargs)
        answer = caught.exception.response
        self.assertEqual(answer["Error"]["Code"], code)
        if message is not None:
            text = answer["Error"].get("Message") or answer.get("message", "")
            self.assertRegex(text, message)
        self.assertEqual(answer["ResponseMetadata"]["HTTPStatusCode"], status)
        self.assertRegex(answer["ResponseMetadata"]["RequestId"], r"^[0-9A-Z]{52}$")
        return answer

    def invalid(self, message, call, **kwargs):
        return self.refused("ValidationException", message, call, **kwargs)


class TableTest(unittest.TestCase, Refusals):
    def test_a_table_lives_from_create_to_delete(self):
        name = new_name()
        created = DB.create_table(
            TableName=name,
            AttributeDefinitions=[
                {"AttributeName": "p", "AttributeType": "S"},
                {"AttributeName": "s", "AttributeType": "N"},
            ],
            KeySchema=[
                {"AttributeName": "p", "KeyType": "HASH"},
                {"AttributeName": "s", "KeyType": "RANGE"},
            ],
            ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        )["TableDescription"]
        self.assertEqual(created["TableStatus"], "CREATING")
        DB.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        table = DB.describe_table(TableName=name)["Table"]
        self.assertEqual(table["TableStatus"], "ACTIVE")
        self.assertEqual(table["TableId"], created["TableId"])
        self.assertTrue(table["TableArn"].endswith(":table/" + name))
        self.assertEqual(table["KeySchema"][1], {"AttributeName": "s", "KeyType": "RANGE"})
        self.assertEqual(table["ProvisionedThroughput"]["WriteCapacityUnits"], 6)
        self.assertEqual(table["CreationDateTime"], created["CreationDateTime"])
        self.assertIn(name, all_tables())
        self.refused(
            "ResourceInUseException",
            "Table already exists: " + name,
            DB.create_table,
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        deleted = DB.delete_table(TableName=name)["TableDescription"]
        self.assertEqual(deleted["TableStatus"], "DELETING")
        DB.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        self.refused(
            "ResourceNotFoundException",
            f"Requested resource not found: Table: {name} not found",
            DB.describe_table,
            TableName=name,
        )
        self.refused(
            "ResourceNotFoundException",
            "^Requested resource not found$",
            DB.get_item,
            TableName=name,
            Key={"p": {"S": "a"}, "s": {"N": "1"}},
        )

    def test_a_table_deleted_and_created_anew_is_empty(self):
        name = new_table()
        DB.put_item(TableName=name, Item={"id": {"S": "a"}})
        DB.delete_table(TableName=name)
        DB.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        DB.create_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        DB.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        self.assertNotIn("Item", DB.get_item(TableName=name, Key={"id": {"S": "a"}}))

    def test_throughput_and_billing_change(self):
        name = new_table(rcu=10, wcu=10)
        DB.update_table(
            TableName=name,
            ProvisionedThroughput={"ReadCapacityUnits": 20, "WriteCapacityUnits": 5},
        )
        DB.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        throughput = DB.describe_table(TableName=name)["Table"]["ProvisionedThroughput"]
        self.assertEqual(throughput["ReadCapacityUnits"], 20)
        self.assertEqual(throughput["NumberOfDecreasesToday"], 1)
        self.assertIn("LastIncreaseDateTime", throughput)
        self.assertIn("LastDecreaseDateTime", throughput)
        self.invalid(
            "^The provisioned throughput for the table will not change.",
            DB.update_table,
            TableName=name,
            ProvisionedThroughput={"ReadCapacityUnits": 20, "WriteCapacityUnits": 5},
        )
        DB.update_table(TableName=name, BillingMode="PAY_PER_REQUEST")
        DB.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        table = DB.describe_table(TableName=name)["Table"]
        self.assertEqual(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        DB.put_item(TableName=name, Item={"id": {"S": "a"}})

    def test_tables_are_listed_in_pages(self):
        names = {new_table() for _ in range(3)}
        listed = all_tables(limit=2)
        self.assertTrue(names <= set(listed))
        self.assertEqual(listed, sorted(listed))

    def test_what_is_not_supported_is_said_to_be_so(self):
        name = new_table()
        self.refused(
            "UnknownOperationException",
            "CreateBackup is not supported by weir yet",
            DB.create_backup,
            TableName=name,
            BackupName="backup",
        )

    def test_limits_and_endpoints(self):
        limits = DB.describe_limits()
        self.assertGreater(limits["TableMaxReadCapacityUnits"], 0)
        self.assertEqual(
            DB.describe_endpoints()["Endpoints"][0]["Address"], HOST.netloc
        )


def all_tables(limit=100):
    names, start = [], {}
    while True:
        page = DB.list_tables(Limit=limit, **start)
        names += page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            return names
        start = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}


class ItemTest(unittest.TestCase, Refusals):
    @classmethod
    def setUpClass(cls):
        cls.table = new_table()

    def test_every_type_comes_back_as_it_was_put(self):
        item = {
            "id": {"S": "types \u00fc\u20ac\U0001f30a\x00\"\\\n"},
            "n": {"N": "-123.456"},
            "big": {"N": "9" * 38},
            "tiny": {"N": "0." + "0" * 129 + "1"},
            "b": {"B": bytes(range(256))},
            "t": {"BOOL": True},
            "z": {"NULL": True},
            "ss": {"SS": ["a", "b"]},
            "ns": {"NS": ["1", "-2.5"]},
            "bs": {"BS": [b"\x00", b"\xff"]},
            "l": {"L": [{"S": ""}, {"N": "0"}, {"L": []}, {"M": {}}]},
            "m": {"M": {"x": {"M": {"y": {"B": b""}}}}},
        }
        DB.put_item(TableName=self.table, Item=item)
        got = DB.get_item(TableName=self.table, Key={"id": item["id"]}, ConsistentRead=True)
        got = got["Item"]
        for name in ("n", "big", "tiny"):
            self.assertEqual(decimal.Decimal(got[name]["N"]), decimal.Decimal(item[name]["N"]))
            del got[name], item[name]
        for name, kind in (("ss", "SS"), ("ns", "NS"), ("bs", "BS")):
            self.assertEqual(set(got[name][kind]), set(item[name][kind]))
            del got[name], item[name]
        self.assertEqual(got, item)

    def test_put_replaces_and_delete_removes(self):
        key = {"id": {"S": uuid.uuid4().hex}}
        first = DB.put_item(TableName=self.table, Item=key, ReturnValues="ALL_OLD")
        self.assertNotIn("Attributes", first)
        item = {**key, "v": {"N": "1"}}
        second = DB.put_item(TableName=self.table, Item=item, ReturnValues="ALL_OLD")
        self.assertEqual(second["Attributes"], key)
        gone = DB.delete_item(TableName=self.table, Key=key, ReturnValues="ALL_OLD")
        self.assertEqual(gone["Attributes"], item)
        self.assertNotIn("Item", DB.get_item(TableName=self.table, Key=key))
        again = DB.delete_item(TableName=self.table, Key=key, ReturnValues="ALL_OLD")
        self.assertNotIn("Attributes", again)

    def test_capacity_is_exact_at_the_edges(self):
        key = {"id": {"S": uuid.uuid4().hex}}

        def write(size):
            item = {**key, "v": {"S": "x" * (size - 2 - 32 - 1)}}
            answer = DB.put_item(
                TableName=self.table, Item=item, ReturnConsumedCapacity="TOTAL"
            )
            return answer["ConsumedCapacity"]["CapacityUnits"]

        def read(consistent):
            answer = DB.get_item(
                TableName=self.table,
                Key=key,
                ConsistentRead=consistent,
                ReturnConsumedCapacity="INDEXES",
            )["ConsumedCapacity"]
            self.assertEqual(answer["Table"]["CapacityUnits"], answer["CapacityUnits"])
            return answer["CapacityUnits"]

        def eventually(units):
            """What eventual reads cost once all replicas have caught up: many in a row."""
            waits, row = Patience(60), 0
            while row < 20 and not waits.is_over():
                row = row + 1 if read(False) == units else 0
            self.assertEqual(row, 20)

        self.assertEqual((read(False), read(True)), (0.5, 1.0))  # a missing item costs too
        self.assertEqual(write(1024), 1.0)
        self.assertEqual(write(1025), 2.0)
        self.assertEqual(write(4096), 4.0)
        self.assertEqual(read(True), 1.0)
        self.assertEqual(write(4097), 5.0)
        self.assertEqual(read(True), 2.0)
        eventually(1.0)
        self.assertEqual(write(100), 5.0)  # the larger of old and new
        self.assertEqual(write(100), 1.0)
        self.assertEqual(write(3000), 3.0)
        gone = DB.delete_item(
            TableName=self.table, Key=key, ReturnConsumedCapacity="TOTAL"
        )
        self.assertEqual(gone["ConsumedCapacity"]["CapacityUnits"], 3.0)

    def test_the_largest_item_fits_and_one_byte_more_does_not(self):
        item = {"id": {"S": "big"}, "v": {"S": "x" * (409600 - 2 - 3 - 1)}}
        DB.put_item(TableName=self.table, Item=item)
        self.assertEqual(
            DB.get_item(TableName=self.table, Key={"id": {"S": "big"}})["Item"], item
        )
        item["v"]["S"] += "x"
        self.invalid(
            "^Item size has exceeded the maximum allowed size$",
            DB.put_item,
            TableName=self.table,
            Item=item,
        )

    def test_bad_keys_are_refused(self):
        for key in ({}, {"x": {"S": "a"}}, {"id": {"N": "1"}}, {"id": {"S": "a"}, "b": {"S": "b"}}):
            self.invalid(
                "^The provided key element does not match the schema$",
                DB.get_item,
                TableName=self.table,
                Key=key,
            )
        self.invalid(
            "cannot contain an empty string value. Key: id$",
            DB.get_item,
            TableName=self.table,
            Key={"id": {"S": ""}},
        )
        self.invalid(
            "Missing the key id in the item$",
            DB.put_item,
            TableName=self.table,
            Item={"x": {"S": ""}},
        )

    def test_hostile_parameters_are_refused_not_swallowed(self):
        self.invalid("^2 validation errors detected: ", DB.get_item)
        # SerializationException spells its member Message.
        self.refused(
            "SerializationException",
            "cannot be converted to String",
            raw_call_refused("GetItem", '{"TableName":5}'),
        )
        self.refused(
            "SerializationException",
            "Start of structure or map found where not expected",
            raw_call_refused("GetItem", '{"TableName":{}}'),
        )


def raw_call_refused(operation, body):
    """A call that raises as boto3 does, for bodies that boto3 cannot make."""

    def call():
        status, headers, answer = post(operation, body.encode())
        answer = json.loads(answer)
        raise botocore.exceptions.ClientError(
            {
                "Error": {
                    "Code": answer["__type"].split("#")[1],
                    "Message": answer.get("message") or answer.get("Message", ""),
                },
                "ResponseMetadata": {
                    "HTTPStatusCode": status,
                    "RequestId": headers["x-amzn-requestid"],
                },
            },
            operation,
        )

    return call


class QueryTest(unittest.TestCase, Refusals):
    @classmethod
    def setUpClass(cls):
        cls.table = new_table((("p", "S"), ("s", "N")), rcu=9000, wcu=3000)
        for start in range(0, 100, 25):
            DB.batch_write_item(
                RequestItems={
                    cls.table: [
                        {"PutRequest": {"Item": {"p": {"S": "a"}, "s": {"N": str(i - 50)}}}}
                        for i in range(start, start + 25)
                    ]
                }
            )

    def pages(self, operation="query", **arguments):
        for page in DB.get_paginator(operation).paginate(TableName=self.table, **arguments):
            yield page

    def query(self, condition, values, **more):
        found = []
        for page in self.pages(
            KeyConditionExpression=condition,
            ExpressionAttributeValues={":p": {"S": "a"}, **values},
            **more,
        ):
            found += [int(i["s"]["N"]) for i in page["Items"]]
        return found

    def test_conditions_select_ranges_in_order(self):
        every = list(range(-50, 50))
        five, seven = {":a": {"N": "5"}}, {":b": {"N": "7"}}
        self.assertEqual(self.query("p = :p", {}), every)
        self.assertEqual(self.query("p = :p", {}, ScanIndexForward=False), every[::-1])
        self.assertEqual(self.query("p = :p AND s = :a", five), [5])
        self.assertEqual(self.query("p = :p AND s < :a", five), every[:55])
        self.assertEqual(self.query("p = :p AND s <= :a", five), every[:56])
        self.assertEqual(self.query("p = :p AND s > :a", five), every[56:])
        self.assertEqual(self.query("p = :p AND s >= :a", five), every[55:])
        self.assertEqual(
            self.query("p = :p AND s BETWEEN :a AND :b", {**five, **seven}), [5, 6, 7]
        )

    def test_pages_join_to_the_whole(self):
        for size in (1, 7, 100):
            for forward in (True, False):
                found = self.query(
                    "p = :p",
                    {},
                    ScanIndexForward=forward,
                    PaginationConfig={"PageSize": size},
                )
                self.assertEqual(found, sorted(range(-50, 50), reverse=not forward))

    def test_names_stand_for_reserved_words(self):
        table = new_table((("name", "S"), ("value", "S")))
        for suffix in ("a", "ab", "b"):
            DB.put_item(TableName=table, Item={"name": {"S": "n"}, "value": {"S": suffix}})
        found = DB.query(
            TableName=table,
            KeyConditionExpression="#n = :n AND begins_with(#v, :v)",
            ExpressionAttributeNames={"#n": "name", "#v": "value"},
            ExpressionAttributeValues={":n": {"S": "n"}, ":v": {"S": "a"}},
        )
        self.assertEqual([i["value"]["S"] for i in found["Items"]], ["a", "ab"])
        self.invalid(
            "reserved keyword: name$",
            DB.query,
            TableName=table,
            KeyConditionExpression="name = :n",
            ExpressionAttributeValues={":n": {"S": "n"}},
        )

    def test_counts_and_capacity(self):
        answer = DB.query(
            TableName=self.table,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "a"}},
            Select="COUNT",
            ConsistentRead=False,
            ReturnConsumedCapacity="TOTAL",
        )
        self.assertEqual((answer["Count"], answer["ScannedCount"]), (100, 100))
        self.assertNotIn("Items", answer)
        self.assertEqual(answer["ConsumedCapacity"]["CapacityUnits"], 0.5)

    def test_a_scan_sees_all_in_pages_and_in_segments(self):
        found = [i for page in self.pages("scan", Limit=9) for i in page["Items"]]
        self.assertEqual(sorted(int(i["s"]["N"]) for i in found), list(range(-50, 50)))
        table = new_table(rcu=9000, wcu=3000)
        for start in range(0, 100, 25):
            DB.batch_write_item(
                RequestItems={
                    table: [
                        {"PutRequest": {"Item": {"id": {"S": str(i)}}}}
                        for i in range(start, start + 25)
                    ]
                }
            )
        found = []
        for segment in range(5):
            for page in DB.get_paginator("scan").paginate(
                TableName=table, Segment=segment, TotalSegments=5, Limit=3
            ):
                found += [int(i["id"]["S"]) for i in page["Items"]]
        self.assertEqual(sorted(found), list(range(100)))

    def test_a_page_holds_at_most_a_megabyte(self):
        table = new_table((("p", "S"), ("s", "N")), rcu=9000, wcu=9000)
        for i in range(4):
            PATIENT.put_item(
                TableName=table,
                Item={"p": {"S": "a"}, "s": {"N": str(i)}, "v": {"S": "x" * 400000}},
            )
        page = DB.query(
            TableName=table,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "a"}},
        )
        self.assertEqual(page["Count"], 3)
        self.assertEqual(page["LastEvaluatedKey"], {"p": {"S": "a"}, "s": {"N": "2"}})


class BatchTest(unittest.TestCase, Refusals):
    def test_batches_over_tables(self):
        first, second = new_table(), new_table((("p", "S"), ("s", "N")))
        answer = DB.batch_write_item(
            RequestItems={
                first: [
                    {"PutRequest": {"Item": {"id": {"S": str(i)}, "v": {"N": str(i)}}}}
                    for i in range(20)
                ],
                second: [{"PutRequest": {"Item": {"p": {"S": "x"}, "s": {"N": "1"}}}}],
            },
            ReturnConsumedCapacity="TOTAL",
        )
        self.assertEqual(answer["UnprocessedItems"], {})
        units = {c["TableName"]: c["CapacityUnits"] for c in answer["ConsumedCapacity"]}
        self.assertEqual(units, {first: 20.0, second: 1.0})
        got = DB.batch_get_item(
            RequestItems={
                first: {"Keys": [{"id": {"S": str(i)}} for i in range(30)], "ConsistentRead": True},
                second: {"Keys": [{"p": {"S": "x"}, "s": {"N": "1"}}], "ConsistentRead": True},
            }
        )
        self.assertEqual(got["UnprocessedKeys"], {})
        self.assertEqual(
            sorted(int(i["v"]["N"]) for i in got["Responses"][first]), list(range(20))
        )
        self.assertEqual(got["Responses"][second], [{"p": {"S": "x"}, "s": {"N": "1"}}])

    def test_duplicates_and_too_many_are_refused(self):
        table = new_table()
        put = {"PutRequest": {"Item": {"id": {"S": "a"}}}}
        self.invalid(
            "^Provided list of item keys contains duplicates$",
            DB.batch_write_item,
            RequestItems={table: [put, put]},
        )
        self.invalid(
            "Member must have length less than or equal to 25",
            DB.batch_write_item,
            RequestItems={
                table: [{"PutRequest": {"Item": {"id": {"S": str(i)}}}} for i in range(26)]
            },
        )
        self.assertEqual(DB.scan(TableName=table)["Count"], 0)


class ThrottleTest(unittest.TestCase, Refusals):
    def test_a_table_of_one_unit_throttles_and_says_why(self):
        table = new_table(rcu=1, wcu=1)
        item = {"id": {"S": "a"}, "v": {"S": "x" * 100000}}
        refused = None
        for _ in range(400):  # 98 units each, of 1 a second and a little burst
            try:
                DB.put_item(TableName=table, Item=item)
            except botocore.exceptions.ClientError as error:
                refused = error.response
                break
        self.assertIsNotNone(refused)
        self.assertEqual(refused["Error"]["Code"], "ProvisionedThroughputExceededException")
        self.assertEqual(refused["ResponseMetadata"]["HTTPStatusCode"], 400)
        status, _, body = post(
            "PutItem", json.dumps({"TableName": table, "Item": item}).encode()
        )
        self.assertEqual(status, 400)
        reasons = json.loads(body)["ThrottlingReasons"]
        self.assertEqual(reasons[0]["reason"], "TableWriteProvisionedThroughputExceeded")
        self.assertTrue(reasons[0]["resource"].endswith(":table/" + table))
        headers = refused["ResponseMetadata"]["HTTPHeaders"]  # any boto3 shows these
        self.assertEqual(headers["x-weir-throttled-by"], "table")
        self.assertIn("(table: the table's limit of write units is used up",
                      refused["Error"]["Message"])
        with urllib.request.urlopen(f"{URL}/weir/gac") as answer:
            refused = [limit["refused"] for limit in json.load(answer)["limits"]
                       if (limit["table"], limit["kind"]) == (table, "write")]
        self.assertGreaterEqual(refused[0], 2)

    def test_a_new_table_takes_items_larger_than_its_rate_at_once(self):
        for wcu, kilobytes in ((1, (3,)), (5, (381, 342)), (1, (1, 1, 1, 1))):
            table = new_table(rcu=1, wcu=wcu)
            for i, size in enumerate(kilobytes):
                status, _, body = post("PutItem", json.dumps({
                    "TableName": table,
                    "Item": {"id": {"S": str(i)}, "v": {"S": "x" * (size * 1024 - 100)}},
                }).encode())
                self.assertEqual(status, 200, body)

    def test_a_batch_that_is_throttled_in_part_returns_the_rest(self):
        table = new_table(rcu=1, wcu=1)  # 300 units may be used at once at first
        puts = [
            {"PutRequest": {"Item": {"id": {"S": str(i)}, "v": {"S": "x" * 20000}}}}
            for i in range(25)
        ]
        answer = DB.batch_write_item(RequestItems={table: puts})
        left = answer["UnprocessedItems"][table]
        self.assertGreater(len(left), 0)
        self.assertLess(len(left), 25)
        self.assertEqual(set(left[0]["PutRequest"]["Item"]), {"id", "v"})


# ---- raw HTTP ----


def connect():
    s = socket.create_connection((HOST.hostname, HOST.port), timeout=60)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def read_answer(f):
    """Status, headers by lower-case name, body; None at the end of the stream."""
    line = f.readline()
    if not line:
        return None
    status = int(line.split()[1])
    headers = {}
    while (line := f.readline().strip()) != b"":
        name, value = line.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    body = f.read(int(headers.get("content-length", 0)))
    return status, headers, body


def request(operation, body, *headers):
    lines = [
        "POST / HTTP/1.1",
        "Host: " + HOST.netloc,
        "Content-Type: application/x-amz-json-1.0",
        "X-Amz-Target: DynamoDB_20120810." + operation,
        f"Content-Length: {len(body)}",
        *headers,
        "\r\n",
    ]
    return "\r\n".join(lines).encode() + body


def post(operation, body, *headers):
    with connect() as s, s.makefile("rb") as f:
        s.sendall(request(operation, body, *headers))
        return read_answer(f)


class HttpTest(unittest.TestCase):
    def test_get_answers_healthy(self):
        with urllib.request.urlopen(URL) as answer:
            self.assertEqual(answer.read(), b"healthy: " + HOST.netloc.encode())

    def test_answers_carry_their_checksum(self):
        status, headers, body = post("ListTables", b"{}")
        self.assertEqual(status, 200)
        self.assertEqual(int(headers["x-amz-crc32"]), zlib.crc32(body))
        self.assertRegex(headers["x-amzn-requestid"], r"^[0-9A-Z]{52}$")

    def test_pipelined_requests_are_answered_in_order(self):
        table = new_table()
        for i in range(10):
            DB.put_item(TableName=table, Item={"id": {"S": str(i)}})
        with connect() as s, s.makefile("rb") as f:
            s.sendall(
                b"".join(
                    request(
                        "GetItem",
                        json.dumps({
                            "TableName": table,
                            "Key": {"id": {"S": str(i)}},
                            "ConsistentRead": True,
                        }).encode(),
                    )
                    for i in range(10)
                )
            )
            for i in range(10):
                status, _, body = read_answer(f)
                self.assertEqual((status, json.loads(body)), (200, {"Item": {"id": {"S": str(i)}}}))

    def test_a_request_may_come_byte_by_byte(self):
        with connect() as s, s.makefile("rb") as f:
            for byte in request("ListTables", b"{}"):
                s.send(bytes([byte]))
            self.assertEqual(read_answer(f)[0], 200)

    def test_gzip_both_ways(self):
        packed = gzip.compress(b"{}")
        self.assertEqual(post("ListTables", packed, "Content-Encoding: gzip")[0], 200)
        table = new_table()
        for i in range(20):
            DB.put_item(TableName=table, Item={"id": {"S": str(i)}, "v": {"S": "x" * 1000}})
        body = json.dumps({"TableName": table, "ConsistentRead": True}).encode()
        _, headers, answer = post("Scan", body, "Accept-Encoding: gzip")
        self.assertEqual(headers["content-encoding"], "gzip")
        self.assertEqual(int(headers["x-amz-crc32"]), zlib.crc32(answer))
        self.assertEqual(json.loads(gzip.decompress(answer))["Count"], 20)

    def test_a_body_too_large_gets_413(self):
        with connect() as s, s.makefile("rb") as f:
            size = 17 * 1024 * 1024
            s.sendall(f"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n".encode())
            s.sendall(b" " * size)
            self.assertEqual(read_answer(f)[0], 413)
            self.assertIsNone(read_answer(f))

    def test_noise_gets_400_and_a_close(self):
        for noise in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"HELLO\r\n\r\n", b"\x00" * 100):
            with connect() as s, s.makefile("rb") as f:
                s.sendall(noise)
                self.assertEqual(read_answer(f)[0], 400)
                self.assertIsNone(read_answer(f))

    def test_header_lines_without_end_get_400(self):
        with connect() as s, s.makefile("rb") as f:
            s.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 40000)
            self.assertEqual(read_answer(f)[0], 400)

    def test_a_half_closed_client_still_gets_its_answer(self):
        with connect() as s, s.makefile("rb") as f:
            s.sendall(request("ListTables", b"{}"))
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(read_answer(f)[0], 200)
            self.assertIsNone(read_answer(f))

    def test_clients_that_vanish_do_no_harm(self):
        table = new_table()
        body = json.dumps({"TableName": table, "Item": {"id": {"S": "v"}}}).encode()
        for cut in (1, 20, 150, None):
            for _ in range(20):
                s = connect()
                s.sendall(request("PutItem", body)[:cut])
                s.close()
        self.assertEqual(post("ListTables", b"{}")[0], 200)

    def test_many_clients_at_once(self):
        table = new_table(rcu=30000, wcu=3000)
        failures = []

        def work(number):
            try:
                with connect() as s, s.makefile("rb") as f:
                    for i in range(50):
                        item = {"id": {"S": f"{number}-{i}"}}
                        body = json.dumps({"TableName": table, "Item": item}).encode()
                        s.sendall(request("PutItem", body))
                        status, _, answer = read_answer(f)
                        if status != 200:
                            failures.append(answer)
            except OSError as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        count = sum(
            page["Count"]
            for page in DB.get_paginator("scan").paginate(TableName=table, Select="COUNT")
        )
        self.assertEqual(count, 32 * 50)

    def test_retries_of_clients_are_counted(self):
        def retries():
            with urllib.request.urlopen(URL + "/weir/partitions") as answer:
                return json.load(answer)["router"]["client_retries"]

        before = retries()
        post("ListTables", b"{}", "amz-sdk-request: attempt=2; max=3")
        self.assertEqual(retries(), before + 1)

    def test_hostile_json_is_refused(self):
        for body in (
            b"{",
            b'{"TableName":"\xff"}',
            b'{"TableName":"\\ud800"}',
            b"[" * 100000,
            b'{"a":' * 50000,
            b'{"Limit":1e999}',
            b"nul",
        ):
            status, _, answer = post("ListTables", body)
            self.assertEqual(status, 400, body[:20])
            self.assertTrue(re.search(b"SerializationException", answer))
        status, _, answer = post("ListTables", b'{"Limit":1,"Limit":2}')
        self.assertEqual(status, 400)


if __name__ == "__main__":
    unittest.main(verbosity=1)
