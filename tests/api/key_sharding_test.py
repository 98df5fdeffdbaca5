#!/usr/bin/python3
"""Sharded keys and counters: clients see what they see without shards. weir unshard.

The server of WEIR_URL runs with --set key_sharding_shard_units=20 --set key_sharding_moves_s=50, so that a few hundred
units a second make a key hot, and its items move for some seconds. WEIR names the program.
"""

import json
import os
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request
import uuid

import boto3.dynamodb.types
import botocore.exceptions
from suite import HEADERS, POLL_S, URL, WAIT_S, Suite, boto, keys_of, make_table, n, new_name, s, send, until
from patience import Patience  # noqa: E402, found by suite

ADMIN = os.environ["WEIR_ADMIN"]
WEIR = os.environ["WEIR"]
DB = boto()
TAG = "weir:key-sharding"
ONLY = ("While the item's partition key is a sharded counter, the item takes only UpdateItem with ADD of numbers, without "
        "a condition, and with ReturnValues NONE; GetItem returns the sum. `weir unshard` makes an ordinary item of it")
BAD_TAG = "The tag weir:key-sharding is '%s' and may only be 'auto', 'counter', 'off', or a whole number from 2 to 128"
NO_SORT_KEY = ("The tag weir:key-sharding is '%s', which spreads the items of a partition key by their sort keys, and the table "
               "has no sort key. For counters, use 'counter'")
LATER = ("ThrottlingException", "ProvisionedThroughputExceededException", "TransactionInProgressException",
         "ServiceUnavailable", "TransactionConflictException")


def tags(value):
    return {"Tags": [{"Key": TAG, "Value": value}]}


def arn(name):
    return {"ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/" + name}


def insist(operation, body, **lines):
    """As send, again and again while the server says that nothing was done, and that another try may help."""
    waits = Patience(WAIT_S)
    while True:
        status, answer = send(operation, body, **lines)
        kind = answer.get("__type", "").split("#")[-1]
        if status == 200 or not (kind in LATER or status == 503) or waits.is_over():
            return status, answer
        time.sleep(POLL_S)


def sharded(table, p):
    """What /weir/partitions says of the key; None: it has no shards."""
    with urllib.request.urlopen(URL + "/weir/partitions?table=" + table) as answer:
        page = json.load(answer)
    keys = [k for t in page["tables"] if t["table"] == table for k in t.get("key_sharding", {}).get("keys", [])]
    return next((k for k in keys if k["key"] == 'p="%s"' % p), None)


def shards_of(table, p):
    return (sharded(table, p) or {"shards": 1})["shards"]


def heat_once(table, p, kib=40):
    """A write that costs so many units, and changes nothing."""
    send("PutItem", {"TableName": table, "Item": {"p": s(p), "s": s("heat"), "v": s("x" * 1024 * kib)},
                     "ConditionExpression": "attribute_exists(nothing)"})


def heat(test, table, p, shards, meanwhile=None, kib=40):
    """Asks for writes of the key until it has at least so many shards."""
    def grown():
        for _ in range(4):
            heat_once(table, p, kib)
            if meanwhile is not None:
                meanwhile()
        return shards_of(table, p) >= shards
    until(test, grown, "the key has %d shards" % shards)


def settled(test, table, p):
    until(test, lambda: not (sharded(table, p) or {"moving": False})["moving"], "all items are in their owner shards")


def unshard(url, **body):
    """(status, answer) of POST /weir/unshard."""
    request = urllib.request.Request(url + "/weir/unshard", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


class TagTest(Suite):
    SORT = "S"

    def tags_of(self, table):
        return self.ok("ListTagsOfResource", **arn(table))["Tags"]

    def test_its_values(self):
        for value in ("auto", "counter", "off", "2", "128"):
            self.ok("TagResource", **arn(self.table), **tags(value))
            self.assertEqual(self.tags_of(self.table), tags(value)["Tags"])
        for value in ("", "1", "129", "Auto", "on", "-2", "2.0", "0x10", " 2", "9" * 40):
            self.bad("TagResource", BAD_TAG % value, **arn(self.table), **tags(value))
            self.assertEqual(self.tags_of(self.table), tags("128")["Tags"])
        self.ok("UntagResource", **arn(self.table), TagKeys=[TAG])
        self.assertEqual(self.tags_of(self.table), [])
        self.bad("TagResource", None, **arn(self.table), Tags=[{"Key": "weir:key-shard", "Value": "auto"}])

    def test_a_new_table_has_it(self):
        for value in ("auto", "7", "counter", "off"):
            name = self.created({"TableName": new_name(), "BillingMode": "PAY_PER_REQUEST", **tags(value),
                                 **keys_of(("p", "S"), ("s", "S"))})["TableName"]
            self.assertEqual(self.tags_of(name), tags(value)["Tags"])
        self.bad("CreateTable", BAD_TAG % "fast", TableName=new_name(), BillingMode="PAY_PER_REQUEST", **tags("fast"),
                 **keys_of(("p", "S"), ("s", "S")))

    def test_without_a_sort_key_there_are_only_counters(self):
        body = {"BillingMode": "PAY_PER_REQUEST", **keys_of(("p", "S"))}
        for value in ("auto", "2"):
            self.bad("CreateTable", NO_SORT_KEY % value, TableName=new_name(), **body, **tags(value))
        name = self.created({"TableName": new_name(), **body, **tags("counter")})["TableName"]
        for value in ("auto", "5"):
            self.bad("TagResource", NO_SORT_KEY % value, **arn(name), **tags(value))
        self.ok("TagResource", **arn(name), **tags("off"))
        self.ok("TagResource", **arn(name), **tags("counter"))

    def test_boto3(self):
        DB.tag_resource(**arn(self.table), **tags("auto"))
        self.assertEqual(DB.list_tags_of_resource(**arn(self.table))["Tags"], tags("auto")["Tags"])
        with self.assertRaises(botocore.exceptions.ClientError) as refused:
            DB.tag_resource(**arn(self.table), **tags("no"))
        self.assertEqual(refused.exception.response["Error"]["Code"], "ValidationException")
        DB.untag_resource(**arn(self.table), TagKeys=[TAG])


def index_keys(hash_name, range_name):
    return {"KeySchema": [{"AttributeName": hash_name, "KeyType": "HASH"},
                          {"AttributeName": range_name, "KeyType": "RANGE"}], "Projection": {"ProjectionType": "ALL"}}


def make_twin(**more):
    body = keys_of(("p", "S"), ("s", "S"))
    body["AttributeDefinitions"] += [{"AttributeName": "g", "AttributeType": "S"},
                                     {"AttributeName": "l", "AttributeType": "N"}]
    name = new_name()
    make_table({"TableName": name, "BillingMode": "PAY_PER_REQUEST", **body, **more,
                "LocalSecondaryIndexes": [{"IndexName": "local-l", **index_keys("p", "l")}],
                "GlobalSecondaryIndexes": [{"IndexName": "by-g", **index_keys("g", "l")}]})
    return name


def renamed(value, old, new):
    """The value with another table name, wherever it is one."""
    return json.loads(json.dumps(value).replace(old, new))


def bare(answer):
    """Without what may differ: the capacity that shards consume."""
    return {k: v for k, v in answer.items() if k not in ("ConsumedCapacity", "ItemCollectionMetrics")}


class Twins(Suite):
    """Two tables that get the same requests: keys of one have shards."""

    @classmethod
    def setUpClass(cls):
        cls.table = make_twin(**tags("4"))
        cls.plain = make_twin()

    @classmethod
    def tearDownClass(cls):
        for name in (cls.table, cls.plain):
            send("DeleteTable", {"TableName": name})

    def both(self, operation, **members):
        """The answer of both tables, which must be the same. NAME stands for the table's name."""
        def asked():
            for name in (self.plain, self.table):
                body = json.loads(json.dumps(members).replace("NAME", name))
                status, answer = insist(operation, body)
                yield status, renamed(bare(answer), name, "NAME")
        plain, answer = asked()
        waits = Patience(WAIT_S)
        while plain != answer and members.get("ConsistentRead") is False and not waits.is_over():
            plain, answer = asked()  # a replica was behind
        self.assertEqual(plain, answer, (operation, members))
        return answer

    def done(self, operation, **members):
        status, answer = self.both(operation, **members)
        self.assertEqual(status, 200, answer)
        return answer

    def refused(self, operation, **members):
        status, answer = self.both(operation, **members)
        self.assertEqual(status, 400, answer)
        return answer

    def item(self, p, i, **more):
        return {"p": s(p), "s": s("%s%04d" % ("ab"[i % 2], i)), "l": n(i * 37 % 100), "g": s("g-" + p), "i": n(i),
                "odd": {"BOOL": i % 2 == 1}, "text": s("t%d" % i), **more}

    def key(self, p, i):
        return {k: v for k, v in self.item(p, i).items() if k in "ps"}

    def fill(self, p, count):
        for at in range(0, count, 25):
            puts = [{"PutRequest": {"Item": self.item(p, i)}} for i in range(at, min(at + 25, count))]
            left = self.done("BatchWriteItem", RequestItems={"NAME": puts})["UnprocessedItems"]
            self.assertEqual(left, {})

    def pages(self, operation, **members):
        """All items of all pages, each of which is the same in both tables."""
        items, count = [], 0
        while True:
            answer = self.done(operation, TableName="NAME", **members)
            items += answer.get("Items", [])
            count += answer["Count"]
            if "LastEvaluatedKey" not in answer:
                return items, count
            members["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def check_queries(self, p):
        values = {":p": s(p)}
        whole = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": values}
        for forward in (True, False):
            for limit in ({}, {"Limit": 17}, {"Limit": 1000}):
                for consistent in (True, False) if self.settled else (True,):
                    more = {**whole, "ScanIndexForward": forward, "ConsistentRead": consistent, **limit}
                    items, _ = self.pages("Query", **more)
                    sorts = [i["s"]["S"] for i in items]
                    self.assertEqual(sorts, sorted(set(sorts), reverse=not forward))
            more = {"ScanIndexForward": forward, "ConsistentRead": True}
            self.pages("Query", **more, Limit=19, FilterExpression="odd = :t", ProjectionExpression="s, i, p",
                       KeyConditionExpression="p = :p", ExpressionAttributeValues={**values, ":t": {"BOOL": True}})
            self.pages("Query", **more, Select="COUNT", Limit=23, **whole)
            self.pages("Query", **more, KeyConditionExpression="p = :p AND begins_with(s, :b)",
                       ExpressionAttributeValues={**values, ":b": s("a")})
            for limit, first, last in ((5, "a0010", "b0031"), (1, "a0010", "a0040")):
                self.pages("Query", **more, KeyConditionExpression="p = :p AND s BETWEEN :x AND :y", Limit=limit,
                           ExpressionAttributeValues={**values, ":x": s(first), ":y": s(last)})
            for sign in ("<", "<=", ">", ">=", "="):
                self.pages("Query", **more, KeyConditionExpression="p = :p AND s %s :x" % sign,
                           ExpressionAttributeValues={**values, ":x": s("b0021")})
            self.pages("Query", **more, IndexName="local-l", Limit=18, **whole)
            self.pages("Query", **more, IndexName="local-l", KeyConditionExpression="p = :p AND l > :x",
                       ExpressionAttributeValues={**values, ":x": n(50)})

    def check_indexes(self, p):
        """The global index follows."""
        body = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": s("g-" + p)}, "IndexName": "by-g"}

        def same():
            found = [sorted(json.dumps(i, sort_keys=True) for i in insist("Query", {"TableName": name, **body})[1]["Items"])
                     for name in (self.plain, self.table)]
            return found[0] == found[1]
        until(self, same, "the global indexes are the same")

    def check_scans(self):
        for total in (None, 3):
            for segment in range(total or 1):
                part = {"TotalSegments": total, "Segment": segment} if total else {}
                for more in ({}, {"Limit": 33}, {"Limit": 30, "FilterExpression": "odd = :t",
                                                 "ExpressionAttributeValues": {":t": {"BOOL": True}}},
                             {"Select": "COUNT"}, {"ProjectionExpression": "s"}):
                    self.pages("Scan", ConsistentRead=True, **part, **more)

    def check_items(self, p, first):
        """Each operation on single items; those from `first` on may be changed."""
        name = {"TableName": "NAME"}
        for i in (0, 1, 5, 999):
            self.done("GetItem", **name, Key=self.key(p, i), ConsistentRead=True)
            self.done("GetItem", **name, Key=self.key(p, i), ConsistentRead=True, ProjectionExpression="i, #t",
                      ExpressionAttributeNames={"#t": "text"})
        keys = [self.key(p, i) for i in range(0, 40, 3)] + [self.key("cold", 1)]
        status, answer = 200, {}
        got = []
        for table in (self.plain, self.table):
            status, answer = insist("BatchGetItem", {"RequestItems": {table: {"Keys": keys, "ConsistentRead": True}}})
            self.assertEqual((status, answer["UnprocessedKeys"]), (200, {}))
            got.append(sorted(json.dumps(i, sort_keys=True) for i in answer["Responses"][table]))
        self.assertEqual(*got)
        one = self.key(p, first)
        for values in ("ALL_OLD", "NONE"):
            self.done("PutItem", **name, Item={**one, "v": n(1)}, ReturnValues=values)
        self.refused("PutItem", **name, Item=one, ConditionExpression="attribute_not_exists(p)",
                     ReturnValuesOnConditionCheckFailure="ALL_OLD")
        for values in ("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"):
            self.done("UpdateItem", **name, Key=one, UpdateExpression="SET w = v ADD v :one", ReturnValues=values,
                      ConditionExpression="v >= :one", ExpressionAttributeValues={":one": n(1)})
        self.refused("UpdateItem", **name, Key=one, UpdateExpression="SET v = :one", ConditionExpression="v = :one",
                     ExpressionAttributeValues={":one": n(1)})
        self.refused("DeleteItem", **name, Key=one, ConditionExpression="v < :one", ExpressionAttributeValues={":one": n(1)})
        self.done("DeleteItem", **name, Key=one, ReturnValues="ALL_OLD")
        self.done("DeleteItem", **name, Key=one, ReturnValues="ALL_OLD")
        self.done("BatchWriteItem", RequestItems={"NAME": [
            {"PutRequest": {"Item": self.item(p, first + i, new={"BOOL": True})}} for i in range(10)]})
        self.done("BatchWriteItem", RequestItems={"NAME": [
            {"DeleteRequest": {"Key": self.key(p, first + i)}} for i in range(5)]})

    def check_transactions(self, p, first):
        name = {"TableName": "NAME"}
        add = {"UpdateExpression": "ADD v :n", "ExpressionAttributeValues": {":n": n(1)}}
        parts = [{"Update": {**name, "Key": self.key(p, first + i), **add}} for i in range(6)]
        self.done("TransactWriteItems", TransactItems=parts)
        check = {"ConditionCheck": {**name, "Key": self.key(p, first + 50), "ConditionExpression": "attribute_exists(p)"}}
        self.refused("TransactWriteItems", TransactItems=parts + [check])
        self.done("TransactWriteItems", TransactItems=[
            {"Put": {**name, "Item": self.item(p, first + 10)}}, {"Delete": {**name, "Key": self.key(p, first)}},
            {"Update": {**name, "Key": self.key("cold", first), **add}}])
        self.done("TransactGetItems", TransactItems=[
            {"Get": {**name, "Key": self.key(p, first + i)}} for i in range(12)])

    def check_statements(self, p, first):
        def key(i):
            return [self.key(p, first + i)[k] for k in "ps"]
        where = "WHERE p = ? AND s = ?"
        for i in range(3):
            self.done("ExecuteStatement", Statement="INSERT INTO \"NAME\" VALUE {'p': ?, 's': ?, 'v': 1}", Parameters=key(i))
        self.refused("ExecuteStatement", Statement="INSERT INTO \"NAME\" VALUE {'p': ?, 's': ?}", Parameters=key(0))
        self.done("ExecuteStatement", Statement="UPDATE \"NAME\" SET v = v + 1 %s RETURNING ALL NEW *" % where,
                  Parameters=key(0))
        self.done("ExecuteStatement", Statement="DELETE FROM \"NAME\" %s RETURNING ALL OLD *" % where, Parameters=key(1))
        select = 'SELECT * FROM "NAME" '
        self.done("ExecuteStatement", Statement=select + where, Parameters=key(2), ConsistentRead=True)
        for order in ("ASC", "DESC"):
            self.done("ExecuteStatement", Statement=select + "WHERE p = ? ORDER BY s " + order, Parameters=[s(p)],
                      ConsistentRead=True)
        self.done("BatchExecuteStatement", Statements=[
            {"Statement": select + where, "Parameters": key(i), "ConsistentRead": True} for i in range(3)])
        self.done("ExecuteTransaction", TransactStatements=[
            {"Statement": "UPDATE \"NAME\" SET v = 9 " + where, "Parameters": key(i)} for i in (0, 2)])


class ShardedTest(Twins):
    settled = False

    def check_all(self, p, first):
        self.check_items(p, first)
        self.check_transactions(p, first + 100)
        self.check_statements(p, first + 200)
        self.check_queries(p)
        self.check_scans()
        self.check_indexes(p)

    def test_a_key_that_grows_is_for_clients_what_it_was(self):
        p, written = "hot", [120]
        self.fill(p, 120)
        self.fill("cold", 5)
        token = {"ClientRequestToken": uuid.uuid4().hex}
        add = [{"Update": {"TableName": "NAME", "Key": self.key(p, i), "UpdateExpression": "ADD once :n",
                           "ExpressionAttributeValues": {":n": n(1)}}} for i in (3, 30, 31)]
        self.done("TransactWriteItems", TransactItems=add, **token)

        def write():
            self.done("PutItem", TableName="NAME", Item=self.item(p, written[0]))
            written[0] += 1
        heat(self, self.table, p, 4, write)
        self.check_items(p, 1000)  # while items move
        self.check_all(p, 2000)
        self.done("TransactWriteItems", TransactItems=add, **token)
        settled(self, self.table, p)
        type(self).settled = True
        self.check_all(p, 3000)
        self.assertEqual(shards_of(self.table, "cold"), 1)

        # It grows again. What was done before is not done again.
        type(self).settled = False
        self.ok("TagResource", **arn(self.table), **tags("8"))
        heat(self, self.table, p, 8, write)
        self.done("TransactWriteItems", TransactItems=add, **token)
        other = json.loads(json.dumps(add).replace('"1"', '"2"'))
        answer = self.refused("TransactWriteItems", TransactItems=other, **token)
        self.assertEqual(answer["__type"].split("#")[1], "IdempotentParameterMismatchException")
        self.check_all(p, 4000)
        settled(self, self.table, p)
        for i in (3, 30, 31):
            item = self.done("GetItem", TableName="NAME", Key=self.key(p, i), ConsistentRead=True)["Item"]
            self.assertEqual(item["once"], n(1))
        type(self).settled = True
        self.check_all(p, 5000)
        self.check_capacity(p, 8)
        self.check_unshard(p)

    def check_capacity(self, p, shards):
        """A Query consumes what its shards consume: half a unit or a whole one for each 4 KiB of each."""
        body = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": s(p)}, "ProjectionExpression": "s",
                "ReturnConsumedCapacity": "TOTAL", "TableName": self.table}
        sizes = [0.5 * shards, 1.0 * shards]
        items, units = None, []
        for consistent in (False, True):
            answer = insist("Query", {**body, "ConsistentRead": consistent})[1]
            units.append(answer["ConsumedCapacity"]["CapacityUnits"])
            items = answer["Count"]
        plain = insist("Query", {**body, "ConsistentRead": True, "TableName": self.plain})[1]
        whole = plain["ConsumedCapacity"]["CapacityUnits"]
        self.assertEqual(plain["Count"], items)
        self.assertEqual(units[1], 2 * units[0])
        self.assertGreaterEqual(units[1], max(whole, sizes[1]))
        self.assertLessEqual(units[1], whole + shards)  # each rounds up
        few = {**body, "KeyConditionExpression": "p = :p AND s = :s",
               "ExpressionAttributeValues": {":p": s(p), ":s": s("nothing")}}
        self.assertEqual(insist("Query", few)[1]["ConsumedCapacity"]["CapacityUnits"], sizes[0])
        key = {"TableName": self.table, "Key": self.key(p, 3), "ReturnConsumedCapacity": "TOTAL"}
        self.assertEqual(insist("GetItem", key)[1]["ConsumedCapacity"]["CapacityUnits"], 0.5)

    def check_unshard(self, p):
        """Items come back while they are written and read."""
        self.ok("TagResource", **arn(self.table), **tags("off"))
        key = {"p": s(p)}
        name = {"TableName": self.table}
        status, answer = unshard(ADMIN, **name, Key=key, Shards=8)
        self.assertEqual((status, answer["message"]), (400, "The key has 8 shards: 8 are not fewer"))
        status, answer = unshard(ADMIN, **name, Key=key, Shards=3)
        self.assertEqual((status, answer["shards"], answer["former"], answer["moving"]), (200, 3, [8], True))
        type(self).settled = False
        status, answer = unshard(ADMIN, **name, Key=key)
        self.assertEqual((status, answer["message"]), (
            400, "Items of the key are still moving to their shards: try again"))
        self.assertEqual(answer["__type"].split("#")[1], "ResourceInUseException")
        self.check_all(p, 6000)
        settled(self, self.table, p)
        run = subprocess.run([WEIR, "unshard", "--admin", ADMIN, "--wait", self.table, json.dumps(key)],
                             capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertTrue(run.stdout.startswith("the key gets 1 shard; its items move\n"), run.stdout)
        self.assertTrue(run.stdout.endswith("all items are in their owner shards\n"), run.stdout)
        self.assertEqual(shards_of(self.table, p), 1)
        self.check_all(p, 7000)


class UnshardTest(Suite):
    SORT = "S"

    def test_what_cannot_be(self):
        key, name = {"p": s("nobody")}, {"TableName": self.table}
        alone = "Key: the partition key of the table alone is expected"
        range_text = "failed to satisfy constraint: Member must have value %s than or equal to %d"
        gone = new_name()
        cases = (
            ({**name, "Key": key}, 400, "ValidationException", "The key is not sharded"),
            ({**name, "Key": {"p": s("a"), "s": s("b")}}, 400, "ValidationException", alone),
            ({**name, "Key": {"s": s("b")}}, 400, "ValidationException", alone),
            ({**name, "Key": {"p": n(1)}}, 400, "ValidationException", alone),
            ({**name, "Key": {}}, 400, "ValidationException", alone),
            ({**name, "Key": key, "Shards": 0}, 400, "ValidationException", range_text % ("greater", 1)),
            ({**name, "Key": key, "Shards": 129}, 400, "ValidationException", range_text % ("less", 128)),
            ({"Key": key}, 400, "ValidationException", "'tableName' failed to satisfy constraint: Member must not be null"),
            (name, 400, "ValidationException", "'key' failed to satisfy constraint: Member must not be null"),
            ({"TableName": gone, "Key": key}, 400, "ResourceNotFoundException", "Requested resource not found"),
        )
        for body, code, kind, text in cases:
            status, answer = unshard(ADMIN, **body)
            self.assertEqual((status, answer["__type"].split("#")[1]), (code, kind), answer)
            self.assertIn(text, answer.get("message", answer.get("Message")))
        status, answer = unshard(URL, **name, Key=key)
        self.assertEqual(status, 403, answer)
        self.assertIn("Only the admin listener", answer.get("message", answer.get("Message")))

    def test_the_command(self):
        def run(*words):
            return subprocess.run([WEIR, "unshard", "--admin", ADMIN, *words], capture_output=True, text=True, timeout=60,
                                  check=False)
        none = run(self.table, json.dumps({"p": s("nobody")}))
        self.assertEqual((none.returncode, none.stdout, none.stderr), (1, "", "weir unshard: The key is not sharded\n"))
        self.assertEqual(run(self.table).returncode, 2)
        self.assertEqual(run("--shards", "128", self.table, "{}").returncode, 2)

    def test_old_names(self):
        run = subprocess.run([WEIR, "unsalt", "--admin", ADMIN, self.table, json.dumps({"p": s("nobody")})],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("the command unsalt is now called unshard", run.stderr)
        self.assertIn("weir unshard: The key is not sharded", run.stderr)
        run = subprocess.run([WEIR, "local", "--set", "salting_moves_s=7", "--set", "split_fill_percent=80"],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("the setting salting_moves_s is now called key_sharding_moves_s", run.stderr)
        run = subprocess.run([WEIR, "local", "--set", "salting_moves_s=x"], capture_output=True, text=True, check=False)
        note, error = run.stderr.splitlines()
        self.assertTrue(note.startswith("the setting salting_moves_s is now called key_sharding_moves_s"), note)
        self.assertIn("key_sharding_moves_s = x: must be", error)


class Counter:
    """Adds, as a client would that sends a request again, and knows the sum."""

    def __init__(self, test, table, p, sort="n"):
        self.test, self.table, self.sum = test, table, 0
        self.key = {"p": s(p)} if sort is None else {"p": s(p), "s": s(sort)}

    def add(self, by=1, name=None, attempt=1, counts=True):
        name = name or str(uuid.uuid4())
        status, answer = insist("UpdateItem", {
            "TableName": self.table, "Key": self.key, "UpdateExpression": "ADD v :n",
            "ExpressionAttributeValues": {":n": n(by)}}, amz_sdk_invocation_id=name,
            amz_sdk_request="attempt=%d; max=3" % attempt)
        self.test.assertEqual((status, answer), (200, {}))
        self.sum += by if counts else 0
        return name

    def again(self, name, by=1):
        """The same request, which was done before."""
        self.add(by, name, 2, False)

    def check(self):
        answer = insist("GetItem", {"TableName": self.table, "Key": self.key, "ConsistentRead": True})[1]
        self.test.assertEqual(answer["Item"], {**self.key, "v": n(self.sum)})


class Counters(Suite):
    @classmethod
    def setUpClass(cls):
        cls.table = new_name()
        make_table({"TableName": cls.table, "BillingMode": "PAY_PER_REQUEST", **keys_of(("p", "S"), ("s", "S")),
                    **tags("counter")})

    def hot(self, p, meanwhile=None):
        heat(self, self.table, p, 2, meanwhile, kib=300)
        self.assertEqual(sharded(self.table, p)["shards"], 10)
        self.assertTrue(sharded(self.table, p)["counter"])


class CounterTest(Counters):
    def test_additions_are_spread_and_count_once(self):
        c, other = Counter(self, self.table, "hot"), Counter(self, self.table, "hot", "other")
        before = [c.add() for _ in range(12)]
        for name in before:
            c.again(name)
        c.check()
        self.hot("hot", c.add)
        for name in before:  # the answer was lost, and the key has grown since
            c.again(name)
        c.check()
        for by in (1, 2, -1, "0.5", "1.5"):
            for name in [c.add(by if isinstance(by, int) else 0) for _ in range(4)]:
                c.again(name, by if isinstance(by, int) else 0)
        for i in range(15):
            other.add(i)
        c.check()
        other.check()
        self.check_reads(c, other)

    def check_reads(self, c, other):
        """Ten cells are read, and added up."""
        more = {"ReturnConsumedCapacity": "TOTAL", "ConsistentRead": True}
        items = [{**x.key, "v": n(x.sum)} for x in (c, other)]
        got = self.ok("GetItem", Key=c.key, **more)
        self.assertEqual(got["Item"], items[0])
        self.assertEqual(got["ConsumedCapacity"]["CapacityUnits"], 10)
        values = {":p": s("hot")}
        for forward in (True, False):
            order = items if forward else items[::-1]
            for limit in ({}, {"Limit": 1}):
                found, key = [], {}
                while key is not None:
                    page = self.ok("Query", KeyConditionExpression="p = :p", ExpressionAttributeValues=values,
                                   ScanIndexForward=forward, **more, **limit, **key)
                    found += page["Items"]
                    key = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if "LastEvaluatedKey" in page else None
                self.assertEqual(found, order)
        found = self.ok("Query", KeyConditionExpression="p = :p", FilterExpression="v = :v", ProjectionExpression="v",
                        ExpressionAttributeValues={**values, ":v": n(c.sum)}, ConsistentRead=True)
        self.assertEqual((found["Items"], found["Count"], found["ScannedCount"]), ([{"v": n(c.sum)}], 1, 2))
        scanned = self.ok("Scan", ConsistentRead=True, FilterExpression="p = :p", ExpressionAttributeValues=values)
        self.assertEqual(scanned["Items"], items)
        batch = self.ok("BatchGetItem", RequestItems={self.table: {"Keys": [c.key, other.key], "ConsistentRead": True}})
        self.assertEqual(sorted(batch["Responses"][self.table], key=lambda i: i["s"]["S"]), items)
        select = self.ok("ExecuteStatement", Statement='SELECT v FROM "%s" WHERE p = ? AND s = ?' % self.table,
                         Parameters=[c.key["p"], c.key["s"]], ConsistentRead=True)
        self.assertEqual(select["Items"], [{"v": n(c.sum)}])
        self.assertNotIn("Item", self.ok("GetItem", Key={"p": s("hot"), "s": s("none")}, ConsistentRead=True))

    def test_other_writes_are_refused(self):
        self.hot("strict")
        key, one = {"p": s("strict"), "s": s("n")}, {"ExpressionAttributeValues": {":n": n(1)}}
        c = Counter(self, self.table, "strict")
        c.add()
        add = {"Key": key, "UpdateExpression": "ADD v :n", **one}
        cases = (
            ("PutItem", {"Item": {**key, "v": n(5)}}),
            ("DeleteItem", {"Key": key}),
            ("UpdateItem", {"Key": key, "UpdateExpression": "SET v = :n", **one}),
            ("UpdateItem", {"Key": key, "UpdateExpression": "REMOVE v"}),
            ("UpdateItem", {"Key": key}),
            ("UpdateItem", {**add, "UpdateExpression": "ADD v :n SET w = :n"}),
            ("UpdateItem", {**add, "ExpressionAttributeValues": {":n": {"NS": ["1"]}}}),
            ("UpdateItem", {**add, "UpdateExpression": "ADD v.w :n"}),
            ("UpdateItem", {**add, "ConditionExpression": "attribute_exists(p)"}),
            ("UpdateItem", {"Key": key, "AttributeUpdates": {"v": {"Action": "PUT", "Value": n(1)}}}),
            *(("UpdateItem", {**add, "ReturnValues": v}) for v in ("ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")),
            ("TransactWriteItems", {"TransactItems": [{"Update": {"TableName": self.table, **add}}]}),
            ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": self.table, "Key": key}}]}),
            ("BatchWriteItem", {"RequestItems": {self.table: [{"PutRequest": {"Item": key}}]}}),
            ("ExecuteStatement", {"Statement": "UPDATE \"%s\" SET v = 1 WHERE p = 'strict' AND s = 'n'" % self.table}),
        )
        for operation, members in cases:
            with self.subTest(operation=operation, **members):
                self.bad(operation, ONLY, **members)
        self.ok("UpdateItem", Key=key, AttributeUpdates={"v": {"Action": "ADD", "Value": n(1)}})
        c.sum += 1
        c.check()

    def test_boto3_threads_lose_and_double_nothing(self):
        p, done, stop = "threads", [0] * 4, threading.Event()
        key = {"p": s(p), "s": s("n")}
        client = boto(retries={"max_attempts": 10, "mode": "standard"})

        def run(i):
            while not stop.is_set():
                client.update_item(TableName=self.table, Key=key, UpdateExpression="ADD v :n",
                                   ExpressionAttributeValues={":n": n(1)})
                done[i] += 1
        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(done))]
        for t in threads:
            t.start()
        try:
            self.hot(p)
            at = sum(done)
            until(self, lambda: sum(done) > at + 100, "additions go to the cells")
        finally:
            stop.set()
            for t in threads:
                t.join()
        got = client.get_item(TableName=self.table, Key=key, ConsistentRead=True)["Item"]
        client.close()
        self.assertEqual(got, {**key, "v": n(sum(done))})


class UnshardCounterTest(Counters):
    """Cells are added up while additions go on; reads wait for seconds."""

    def patient(self, operation, **members):
        def answered():
            status, answer = send(operation, {"TableName": self.table, **members})
            if status == 503:
                self.assertTrue(answer["message"].startswith("Nothing was read: "), answer)
            return answer if status == 200 else None
        return until(self, answered, "the cells are added up")

    def test_a_counter_becomes_an_ordinary_item(self):
        p = "leaves"
        counters = [Counter(self, self.table, p, "n%d" % i) for i in range(30)]
        self.hot(p)
        names = [(c, c.add(i + 1), i + 1) for i, c in enumerate(counters) for _ in range(4)]
        self.ok("TagResource", **arn(self.table), **tags("off"))
        status, answer = unshard(ADMIN, TableName=self.table, Key={"p": s(p)}, Shards=4)
        self.assertEqual((status, answer["shards"], answer["former"], answer["counter"]), (200, 4, [10], True), answer)
        for c, name, by in names[::3]:  # sent again while cells are given up
            c.again(name, by)
        for c in counters:
            names.append((c, c.add(), 1))
        settled(self, self.table, p)
        found = self.patient("Query", KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": s(p)},
                             ConsistentRead=True)["Items"]
        self.assertEqual({i["s"]["S"]: int(i["v"]["N"]) for i in found}, {c.key["s"]["S"]: c.sum for c in counters})
        run = subprocess.run([WEIR, "unshard", "--admin", ADMIN, "--wait", self.table, json.dumps({"p": s(p)})],
                             capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        for c, name, by in names:  # no cell is left, but what was done is known
            c.again(name, by)
        for c in counters:
            self.assertEqual(self.patient("GetItem", Key=c.key, ConsistentRead=True)["Item"], {**c.key, "v": n(c.sum)})
        key = counters[0].key
        self.ok("PutItem", Item={**key, "v": n(5)})
        got = self.ok("UpdateItem", Key=key, UpdateExpression="SET v = v + :n", ReturnValues="UPDATED_NEW",
                      ConditionExpression="v = :five", ExpressionAttributeValues={":n": n(1), ":five": n(5)})
        self.assertEqual(got["Attributes"], {"v": n(6)})
        self.ok("TransactWriteItems", TransactItems=[{"Delete": {"TableName": self.table, "Key": key}}])
        status, answer = unshard(ADMIN, TableName=self.table, Key={"p": s(p)})
        self.assertEqual((status, answer["message"]), (400, "The key is not sharded"))


class OverflowTest(Counters):
    def test_a_sum_that_is_no_number_is_told(self):
        self.hot("large")
        body = {"TableName": self.table, "Key": {"p": s("large"), "s": s("n")}, "UpdateExpression": "ADD v :n",
                "ExpressionAttributeValues": {":n": n("9E+125")}}
        done = sum(insist("UpdateItem", body)[0] == 200 for _ in range(20))
        self.assertGreaterEqual(done, 2)
        text = "The sum of the counter's cells is outside the range of numbers"
        self.bad("GetItem", text, Key=body["Key"], ConsistentRead=True)
        self.bad("Query", text, KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": s("large")})


class CounterWithoutSortKeyTest(Suite):
    def test_it_is_a_counter(self):
        self.ok("TagResource", **arn(self.table), **tags("counter"))
        c = Counter(self, self.table, "hot", None)
        before = [c.add() for _ in range(3)]

        def grown():
            for _ in range(4):
                send("PutItem", {"TableName": self.table, "Item": {"p": s("hot"), "v": s("x" * 300000)},
                                 "ConditionExpression": "attribute_exists(nothing)"})
            return shards_of(self.table, "hot") == 10
        until(self, grown, "the key has cells")
        for name in before:
            c.again(name)
        for _ in range(10):
            c.add()
        c.check()
        scanned = self.ok("Scan", ConsistentRead=True)
        self.assertEqual((scanned["Items"], scanned["Count"]), ([{**c.key, "v": n(c.sum)}], 1))


if __name__ == "__main__":
    unittest.main()
