#!/usr/bin/python3
"""Secondary indexes: their definition, their rows, reads by them, what they cost, and each refusal."""

import base64
import random
import unittest
import uuid

from suite import INVALID, REDEFINED, Suite, boto, keys_of, n, new_name, s, send, steady, until

KEYS = (("p", "S"), ("s", "S"))


def local(name, attribute, projection="ALL", *names):
    shown = {"ProjectionType": projection}
    if names:
        shown["NonKeyAttributes"] = list(names)
    return {"IndexName": name, "Projection": shown,
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"},
                          {"AttributeName": attribute, "KeyType": "RANGE"}]}


def defined(*more):
    return [{"AttributeName": a, "AttributeType": t} for a, t in KEYS + more]


def table(*indexes, more=(("n", "N"), ("t", "S"), ("b", "B")), **members):
    return {"TableName": new_name(), "BillingMode": "PAY_PER_REQUEST", **keys_of(*KEYS),
            "AttributeDefinitions": defined(*more), "LocalSecondaryIndexes": list(indexes), **members}


class DefinitionTest(Suite):
    def refused(self, message, body):
        status, answer = send("CreateTable", body)
        self.assertEqual((status, answer.get("message", answer.get("Message"))), (400, message))

    def test_what_is_wrong_with_an_index_is_told(self):
        n_only = (("n", "N"),)
        plain = local("by-n", "n")
        self.refused(INVALID + "List of LocalSecondaryIndexes is empty", table(more=n_only))
        self.refused(INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
                     "LocalSecondaryIndex",
                     {**table(plain, more=n_only), "KeySchema": keys_of(KEYS[0])["KeySchema"]})
        self.refused(INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [p, x], "
                     "AttributeDefinitions: [p, s, n]", table(local("by-x", "x"), more=n_only))
        self.refused("Both the Hash Key and the Range Key element in the KeySchema have the same name",
                     table(local("by-p", "p"), more=n_only))
        turned = {**plain, "KeySchema": plain["KeySchema"][::-1]}
        self.refused("Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
                     table(turned, more=n_only))
        self.refused(INVALID + "Index KeySchema does not have a range key for index: by-n",
                     table({**plain, "KeySchema": plain["KeySchema"][:1]}, more=n_only))
        other = {**plain, "KeySchema": [{"AttributeName": "s", "KeyType": "HASH"}, plain["KeySchema"][1]]}
        self.refused(INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for "
                     "index: by-n. index hash key: s, table hash key: p", table(other, more=n_only))
        self.refused(INVALID + "Unknown ProjectionType: null", table({**plain, "Projection": {}}, more=n_only))
        self.refused(INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
                     table(local("by-n", "n", "ALL", "x"), more=n_only))
        self.refused(INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
                     table(local("by-n", "n", "INCLUDE"), more=n_only))
        self.refused(INVALID + "Duplicate index name: by-n", table(plain, plain, more=n_only))
        many = [local("index-%d" % i, "n") for i in range(6)]
        self.refused(INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
                     table(*many, more=n_only))
        self.refused(INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [p, s, n, t, b], keys "
                     "used: [p, s, n]", table(plain))
        wide = [local("index-%d" % i, "n", "INCLUDE", *["a%d" % j for j in range(20)]) for i in range(5)]
        status, answer = send("CreateTable", table(*wide, more=n_only))
        self.assertEqual(status, 200, answer)
        status, answer = send("CreateTable", table(local("no", "n"), more=n_only))
        self.assertIn("Member must have length greater than or equal to 3", answer["message"])

    def test_a_table_describes_its_indexes(self):
        body = table(local("by-n", "n", "KEYS_ONLY"), local("by-t", "t", "INCLUDE", "x", "y"), local("by-b", "b"))
        boto().create_table(**body)
        name = {"TableName": body["TableName"]}
        until(self, lambda: send("DescribeTable", name)[1]["Table"]["TableStatus"] == "ACTIVE", "the table is there")
        for i in range(4):
            item = {"p": s("a"), "s": s(str(i)), **({"n": n(i)} if i > 0 else {})}
            self.assertEqual(send("PutItem", {**name, "Item": item})[0], 200)
        told = send("DescribeTable", name)[1]["Table"]
        self.assertEqual(told["AttributeDefinitions"], body["AttributeDefinitions"])
        for shown, asked in zip(told["LocalSecondaryIndexes"], body["LocalSecondaryIndexes"]):
            self.assertEqual({k: shown[k] for k in asked}, asked)
            self.assertEqual(shown["IndexArn"], told["TableArn"] + "/index/" + asked["IndexName"])

        def counted():
            indexes = send("DescribeTable", name)[1]["Table"]["LocalSecondaryIndexes"]
            return [(x["ItemCount"], x["IndexSizeBytes"]) for x in indexes] == [(3, 21), (0, 0), (0, 0)]
        until(self, counted, "three rows of 7 bytes are counted")


class LocalTest(Suite):
    """One table with an index of each projection."""

    @classmethod
    def setUpClass(cls):
        body = table(local("all", "n"), local("keys", "t", "KEYS_ONLY"), local("some", "b", "INCLUDE", "x", "n"))
        cls.table = body["TableName"]
        assert send("CreateTable", body)[0] == 200
        while send("DescribeTable", {"TableName": cls.table})[1]["Table"]["TableStatus"] != "ACTIVE":
            pass

    def setUp(self):
        self.p = new_name()

    def item(self, sort, **attributes):
        return {"p": s(self.p), "s": s(sort), **attributes}

    def write(self, sort, **attributes):
        def written():
            status, answer = send("PutItem", {"TableName": self.table, "Item": self.item(sort, **attributes),
                                              "ReturnConsumedCapacity": "INDEXES"})
            return answer if status == 200 or "Throttling" not in answer["__type"] else None
        return until(self, written, "the partition has tokens")

    def by(self, index, **more):
        return self.ok("Query", IndexName=index, ConsistentRead=True, KeyConditionExpression="p = :p",
                       ExpressionAttributeValues={":p": s(self.p)}, **more)

    def sorts(self, index, **more):
        return [i["s"]["S"] for i in self.by(index, **more)["Items"]]

    def test_rows_are_those_items_that_have_the_key_in_its_order(self):
        self.write("a", n=n(3), x=s("x"))
        self.write("b", n=n(-20), t=s("z"))
        self.write("c", x=s("x"))
        self.write("d", n=n(1.5), t=s("y"))
        self.assertEqual(self.sorts("all"), ["b", "d", "a"])
        self.assertEqual(self.sorts("all", ScanIndexForward=False), ["a", "d", "b"])
        self.assertEqual(self.sorts("keys"), ["d", "b"])
        self.assertEqual(self.sorts("some"), [])
        self.ok("DeleteItem", Key=self.item("b"))
        self.ok("UpdateItem", Key=self.item("a"), UpdateExpression="SET t = :t, n = :n",
                ExpressionAttributeValues={":t": s("a"), ":n": n(-1)})
        self.ok("UpdateItem", Key=self.item("d"), UpdateExpression="REMOVE n")
        self.assertEqual(self.sorts("all"), ["a"])
        self.assertEqual(self.sorts("keys"), ["a", "d"])

    def test_rows_show_what_the_projection_says(self):
        whole = self.item("a", n=n(1), t=s("t"), b={"B": "AQ=="}, x=s("x"), y=s("y"))
        self.ok("PutItem", Item=whole)
        self.assertEqual(self.by("all")["Items"], [whole])
        self.assertEqual(self.by("keys")["Items"], [{k: whole[k] for k in "pst"}])
        self.assertEqual(self.by("some")["Items"], [{k: whole[k] for k in "psbxn"}])
        shown = self.by("keys", Select="ALL_PROJECTED_ATTRIBUTES")
        self.assertEqual(shown["Items"], [{k: whole[k] for k in "pst"}])
        self.assertEqual(self.by("keys", Select="COUNT")["Count"], 1)

    def test_what_rows_lack_is_fetched(self):
        for i in range(60):
            self.write("%02d" % i, t=s("%02d" % (60 - i)), y=n(i % 2), z=s("z" * 5000))
        told = self.by("keys", Select="ALL_ATTRIBUTES", ReturnConsumedCapacity="INDEXES")
        self.assertEqual([i["s"]["S"] for i in told["Items"]], ["%02d" % i for i in range(59, -1, -1)])
        self.assertEqual(len(told["Items"][0]["z"]["S"]), 5000)
        self.assertEqual(told["ConsumedCapacity"]["Table"]["CapacityUnits"], 60 * 2)
        self.assertEqual(told["ConsumedCapacity"]["LocalSecondaryIndexes"], {"keys": {"CapacityUnits": 1.0}})
        self.assertEqual(told["ConsumedCapacity"]["CapacityUnits"], 121)
        some = self.by("keys", ProjectionExpression="y", Limit=3)
        self.assertEqual(some["Items"], [{"y": n(1)}, {"y": n(0)}, {"y": n(1)}])
        self.assertEqual(some["LastEvaluatedKey"], self.item("57", t=s("03")))
        odd = self.ok("Query", IndexName="keys", KeyConditionExpression="p = :p", FilterExpression="y = :y",
                      ExpressionAttributeValues={":p": s(self.p), ":y": n(1)}, ConsistentRead=True)
        self.assertEqual((odd["Count"], odd["ScannedCount"]), (30, 60))
        self.assertEqual(set(odd["Items"][0]), {"p", "s", "t"})
        for select, shown in (("ALL_PROJECTED_ATTRIBUTES", {"p", "s", "t"}), ("ALL_ATTRIBUTES", {"p", "s", "t", "y", "z"})):
            odd = self.ok("Scan", IndexName="keys", FilterExpression="p = :p AND y = :y", Select=select, ConsistentRead=True,
                          ExpressionAttributeValues={":p": s(self.p), ":y": n(1)})
            self.assertEqual(set(odd["Items"][0]), shown)

    def test_key_conditions_are_those_of_the_index(self):
        for i in range(10):
            self.write("%d" % i, n=n(i // 2), t=s("ab%d" % (9 - i)))

        def asked(condition, index="all", **values):
            values = {":" + k: v for k, v in values.items()}
            found = self.ok("Query", IndexName=index, ConsistentRead=True, KeyConditionExpression="p = :p AND "
                            + condition, ExpressionAttributeValues={":p": s(self.p), **values})
            return "".join(i["s"]["S"] for i in found["Items"])
        self.assertEqual(asked("n = :n", n=n(2)), "45")
        self.assertEqual(asked("n < :n", n=n(2)), "0123")
        self.assertEqual(asked("n <= :n", n=n(1)), "0123")
        self.assertEqual(asked("n > :n", n=n(3)), "89")
        self.assertEqual(asked("n BETWEEN :a AND :b", a=n(1), b=n(2)), "2345")
        self.assertEqual(asked("begins_with(t, :t)", "keys", t=s("ab")), "9876543210")
        self.assertEqual(asked("t >= :t", "keys", t=s("ab8")), "10")
        query = {"IndexName": "all", "ExpressionAttributeValues": {":p": s(self.p), ":v": s("0")}}
        self.bad("Query", "Query condition missed key schema element: n", **query,
                 KeyConditionExpression="p = :p AND s = :v")
        self.bad("Query", INVALID + "Condition parameter type does not match schema type", **query,
                 KeyConditionExpression="p = :p AND n = :v")
        self.bad("Query", "The table does not have the specified index: none", **{**query, "IndexName": "none"},
                 KeyConditionExpression="p = :p AND n = :v")
        self.bad("Query", "Filter Expression can only contain non-primary key attributes: Primary key attribute: n",
                 **query, KeyConditionExpression="p = :p", FilterExpression="n = :v")

    def test_pages_go_on_after_the_last_key(self):
        for i in range(23):
            self.write("%02d" % i, n=n(i % 3))
        for forward in (True, False):
            seen, start = [], None
            while True:
                more = {"ExclusiveStartKey": start} if start else {}
                page = self.by("all", Limit=4, ScanIndexForward=forward, **more)
                seen += [(int(i["n"]["N"]), i["s"]["S"]) for i in page["Items"]]
                start = page.get("LastEvaluatedKey")
                if start is None:
                    break
                self.assertEqual(set(start), {"p", "s", "n"})
            wanted = sorted((i % 3, "%02d" % i) for i in range(23))
            self.assertEqual(seen, wanted if forward else wanted[::-1])
        start = {"p": s(self.p), "s": s("a"), "n": n(1)}
        query = {"IndexName": "all", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": s(self.p)}}
        without = {k: v for k, v in start.items() if k != "n"}
        self.bad("Query", "The provided starting key is invalid", **query, ExclusiveStartKey=without)
        self.bad("Query", "The provided key element does not match the schema", **query,
                 ExclusiveStartKey={**start, "n": s("x")})
        self.bad("Query", "The provided starting key is outside query boundaries based on provided conditions",
                 **query, ExclusiveStartKey={**start, "p": s("other")})
        self.bad("Query", "The provided starting key is invalid", **query, ExclusiveStartKey={**start, "m": n(1)})

    def test_a_scan_reads_all_rows(self):
        for i in range(30):
            self.ok("PutItem", Item={"p": s("%s-%d" % (self.p, i % 7)), "s": s(str(i)),
                                     **({"t": s("x%d" % i)} if i % 2 else {})})
        found, start = [], None
        while True:
            more = {"ExclusiveStartKey": start} if start else {}
            page = self.ok("Scan", IndexName="keys", ConsistentRead=True, Limit=5, **more)
            found += [i["s"]["S"] for i in page["Items"] if i["p"]["S"].startswith(self.p)]
            start = page.get("LastEvaluatedKey")
            if start is None:
                break
            self.assertEqual(set(start), {"p", "s", "t"})
        self.assertEqual(sorted(map(int, found)), list(range(1, 30, 2)))
        parts = [self.ok("Scan", IndexName="keys", ConsistentRead=True, Segment=k, TotalSegments=3)["Items"]
                 for k in range(3)]
        mine = [i["s"]["S"] for part in parts for i in part if i["p"]["S"].startswith(self.p)]
        self.assertEqual(sorted(map(int, mine)), list(range(1, 30, 2)))

    def test_each_row_that_a_write_changes_costs(self):
        def cost(told):
            told = told["ConsumedCapacity"]
            indexes = {k: v["CapacityUnits"] for k, v in told.get("LocalSecondaryIndexes", {}).items()}
            self.assertEqual(told["CapacityUnits"], told["Table"]["CapacityUnits"] + sum(indexes.values()))
            return told["Table"]["CapacityUnits"], indexes
        big = {"y": s("y" * 1500)}
        self.assertEqual(cost(self.write("a", **big)), (2, {}))
        self.assertEqual(cost(self.write("a", n=n(1), t=s("t"), **big)), (2, {"all": 2, "keys": 1}))
        self.assertEqual(cost(self.write("a", n=n(1), t=s("t"), **big)), (2, {}))
        self.assertEqual(cost(self.write("a", n=n(1), t=s("t"), y=s("y"))), (2, {"all": 2}))
        self.assertEqual(cost(self.write("a", n=n(2), t=s("u"), y=s("y"))), (1, {"all": 2, "keys": 2}))
        for order, rows in ((1, {"all": 1}), (-1, {})):  # sets and maps have no order
            told = self.write("a", n=n(2), t=s("u"), y={"M": dict([("a", {"SS": ["x", "y"][::order]}), ("b", n(1))][::order])})
            self.assertEqual(cost(told), (1, rows))
        told = self.ok("UpdateItem", Key=self.item("a"), UpdateExpression="REMOVE t",
                       ReturnConsumedCapacity="INDEXES")
        self.assertEqual(cost(told), (1, {"all": 1, "keys": 1}))
        told = self.ok("DeleteItem", Key=self.item("a"), ReturnConsumedCapacity="INDEXES")
        self.assertEqual(cost(told), (1, {"all": 1}))
        entries = [{"PutRequest": {"Item": self.item(str(i), n=n(i))}} for i in range(3)]
        status, told = send("BatchWriteItem", {"RequestItems": {self.table: entries},
                                               "ReturnConsumedCapacity": "INDEXES"})
        self.assertEqual(status, 200, told)
        self.assertEqual(cost({"ConsumedCapacity": told["ConsumedCapacity"][0]}), (3, {"all": 3}))
        status, told = send("PutItem", {"TableName": self.table, "Item": self.item("0", n=n(9)),
                                        "ConditionExpression": "attribute_not_exists(p)"})
        self.assertEqual(status, 400)
        self.assertEqual(self.by("all")["Items"][0]["n"], n(0))

    def test_values_that_cannot_be_keys_are_refused(self):
        mismatch = INVALID + "Type mismatch for Index Key n Expected: N Actual: S IndexName: all"
        self.bad("PutItem", mismatch, Item=self.item("a", n=s("x")))
        status, told = send("BatchWriteItem", {"RequestItems": {self.table: [
            {"PutRequest": {"Item": self.item("a", n=s("x"))}}]}})
        self.assertEqual((status, told["message"]), (400, mismatch))
        self.bad("PutItem", "One or more parameter values are not valid. A value specified for a secondary index key "
                 "is not supported. The AttributeValue for a key attribute cannot contain an empty string value. "
                 "IndexName: keys, IndexKey: t", Item=self.item("a", t=s("")))
        self.bad("PutItem", INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
                 Item=self.item("a", t=s("x" * 1025)))

        def update(message, expression, **values):
            more = {"ExpressionAttributeValues": {":" + k: v for k, v in values.items()}} if values else {}
            self.bad("UpdateItem", message, Key=self.item("a"), UpdateExpression=expression, **more)
        self.ok("PutItem", Item=self.item("a", x=n(1)))
        update(mismatch, "SET n = :v", v=s("x"))
        update(INVALID + "Type mismatch for Index Key t Expected: S Actual: N IndexName: keys", "SET t = x + :v", v=n(1))
        update(INVALID + "Type mismatch for Index Key t Expected: S Actual: N IndexName: keys", "ADD t :v", v=n(1))
        update("The update expression attempted to update the secondary index key to unsupported type", "SET t = x")
        scalar = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: n"
        update(scalar, "SET n.a = :v", v=n(1))
        update(scalar, "SET y = n[1]")
        self.bad("GetItem", scalar, Key=self.item("a"), ProjectionExpression="n.a")
        self.assertEqual(self.sorts("keys") + self.sorts("all"), [])

    def test_eventual_and_boto_reads(self):
        self.write("a", n=n(5))
        client = boto()
        found = client.query(TableName=self.table, IndexName="all", KeyConditionExpression="p = :p",
                             ExpressionAttributeValues={":p": s(self.p)}, ReturnConsumedCapacity="INDEXES")
        until(self, lambda: client.query(TableName=self.table, IndexName="all", KeyConditionExpression="p = :p",
                                         ExpressionAttributeValues={":p": s(self.p)})["Count"] == 1,
              "an eventual read finds the row")
        self.assertEqual(found["ConsumedCapacity"]["Table"], {"CapacityUnits": 0.0})
        self.assertEqual(found["ConsumedCapacity"]["LocalSecondaryIndexes"], {"all": {"CapacityUnits": 0.5}})
        self.assertTrue(client.scan(TableName=self.table, IndexName="all", Select="COUNT")["Count"] >= 1)

    def test_a_random_walk_agrees_with_a_model(self):
        chance, items = random.Random(7), {}
        for _ in range(400):
            sort = str(chance.randrange(12))
            item = self.item(sort)
            if chance.random() < 0.2:
                self.ok("DeleteItem", Key=item)
                items.pop(sort, None)
                continue
            for name, value in (("n", n(chance.randrange(4))), ("t", s(chance.choice("uvw"))),
                                ("b", {"B": chance.choice(("AA==", "AQ=="))}), ("x", s(chance.choice("xy"))),
                                ("y", s("y" * chance.randrange(9)))):
                if chance.random() < 0.6:
                    item[name] = value
            self.ok("PutItem", Item=item)
            items[sort] = item
            for index, by, shown in (("all", "n", "psntbxy"), ("keys", "t", "pst"), ("some", "b", "psbxn")):
                wanted = sorted((i for i in items.values() if by in i),
                                key=lambda i: (list(i[by].values())[0], i["s"]["S"]))
                wanted = [{k: v for k, v in i.items() if k in shown} for i in wanted]
                self.assertEqual(self.by(index)["Items"], wanted)


UNITS = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}


def global_index(name, hashes, ranges=(), projection="ALL", names=(), **more):
    shown = {"ProjectionType": projection, **({"NonKeyAttributes": list(names)} if names else {})}
    schema = [{"AttributeName": a, "KeyType": kind} for kind, keys in (("HASH", hashes), ("RANGE", ranges)) for a in keys]
    return {"IndexName": name, "Projection": shown, "KeySchema": schema, **more}


def globally(*indexes, more=(), locals_=(), **members):
    """CreateTable with these global indexes. `more`: definitions beside those of p and s."""
    body = {"TableName": new_name(), "BillingMode": "PAY_PER_REQUEST", **keys_of(*KEYS),
            "AttributeDefinitions": defined(*more), "GlobalSecondaryIndexes": list(indexes), **members}
    if locals_:
        body["LocalSecondaryIndexes"] = list(locals_)
    return body


class GlobalDefinitionTest(Suite):
    def refused(self, message, body, kind="ValidationException", operation="CreateTable"):
        status, answer = send(operation, body)
        told = (status, answer["__type"].split("#")[1], answer.get("message", answer.get("Message")))
        self.assertEqual(told, (400, kind, message))

    def told(self, name):
        return {x["IndexName"]: x for x in send("DescribeTable", name)[1]["Table"]["GlobalSecondaryIndexes"]}

    def test_what_is_wrong_with_an_index_is_told(self):
        a, plain = (("a", "S"),), global_index("by-a", "a")
        self.refused(INVALID + "List of GlobalSecondaryIndexes is empty", globally())
        self.refused(INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [x], "
                     "AttributeDefinitions: [p, s, a]", globally(global_index("by-x", "x"), more=a))
        self.refused("Both the Hash Key and the Range Key element in the KeySchema have the same name",
                     globally(global_index("by-a", "a", "a"), more=a))
        self.refused("Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
                     globally(global_index("by-a", "", "a"), more=a))
        turned = {**plain, "KeySchema": global_index("x", "a", "p")["KeySchema"][::-1] + plain["KeySchema"]}
        self.refused("The KeySchema contains multiple key attributes with the same name", globally(turned, more=a))
        mixed = {**plain, "KeySchema": global_index("x", "a", "p")["KeySchema"] + global_index("x", "s")["KeySchema"]}
        self.refused(INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema",
                     globally(mixed, more=a))
        wide = tuple((k, "S") for k in "abcde")
        self.refused(INVALID + "The KeySchema exceeds the maximum allowed number of HASH key attributes",
                     globally(global_index("by-5", "abcde"), more=wide))
        self.refused(INVALID + "Unknown ProjectionType: null", globally({**plain, "Projection": {}}, more=a))
        self.refused(INVALID + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
                     globally(global_index("by-a", "a", projection="KEYS_ONLY", names="x"), more=a))
        self.refused(INVALID + "Duplicate element in NonKeyAttributes: x",
                     globally(global_index("by-a", "a", projection="INCLUDE", names="xx"), more=a))
        self.refused(INVALID + "ProvisionedThroughput should not be specified for index: by-a when BillingMode is "
                     "PAY_PER_REQUEST", globally({**plain, "ProvisionedThroughput": UNITS}, more=a))
        self.refused(INVALID + "ProvisionedThroughput is not specified for index: by-a",
                     globally(plain, more=a, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS))
        self.refused(INVALID + "Duplicate index name: by-a", globally(plain, plain, more=a))
        self.refused(INVALID + "Duplicate index name: by-a", globally(plain, more=a, locals_=[local("by-a", "a")]))
        self.refused(INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
                     globally(*[global_index("by-%d" % i, "a") for i in range(100, 121)], more=a))
        status, answer = send("CreateTable", globally({**plain, "KeySchema": [plain["KeySchema"][0]] * 9}, more=a))
        self.assertIn("Member must have length less than or equal to 8", answer["message"])

    def test_a_table_describes_its_indexes(self):
        limit = {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 60}
        body = globally(global_index("by-a", "a", "n", "INCLUDE", "xy", OnDemandThroughput=limit), global_index("wide", "abn", "sp", "KEYS_ONLY"),
                        more=(("n", "N"), ("a", "S"), ("b", "B")), locals_=[local("local", "n")])
        name = self.created(body)
        table = send("DescribeTable", name)[1]["Table"]
        self.assertEqual(table["AttributeDefinitions"], body["AttributeDefinitions"])
        for shown, asked in zip(table["GlobalSecondaryIndexes"], body["GlobalSecondaryIndexes"]):
            self.assertEqual({k: shown[k] for k in asked}, asked)
            self.assertEqual(shown["IndexArn"], table["TableArn"] + "/index/" + asked["IndexName"])
            self.assertEqual((shown["IndexStatus"], shown["ItemCount"], shown["IndexSizeBytes"]), ("ACTIVE", 0, 0))
            self.assertEqual(shown["ProvisionedThroughput"],
                             {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0})
            self.assertEqual(shown["WarmThroughput"]["Status"], "ACTIVE")
        self.assertEqual([x["IndexName"] for x in table["LocalSecondaryIndexes"]], ["local"])
        self.assertNotIn(body["TableName"] + "/by-a", send("ListTables", {})[1]["TableNames"])
        insights = send("DescribeContributorInsights", {**name, "IndexName": "by-a"})[1]
        self.assertEqual((insights["IndexName"], insights["ContributorInsightsStatus"]), ("by-a", "DISABLED"))
        status, answer = send("DeleteTable", name)
        self.assertEqual((status, answer["TableDescription"]["TableStatus"]), (200, "DELETING"))
        until(self, lambda: send("DescribeTable", name)[0] == 400, "the table is gone")
        self.created(body)

    def test_throughput_of_indexes_changes(self):
        body = globally(global_index("by-a", "a", ProvisionedThroughput=UNITS,
                                     WarmThroughput={"ReadUnitsPerSecond": 9, "WriteUnitsPerSecond": 8}),
                        global_index("by-b", "b", ProvisionedThroughput=UNITS), more=(("a", "S"), ("b", "S")),
                        BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
        name = self.created(body)
        more = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 4}

        def update(*updates, **members):
            listed = {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": x, **u}} for x, u in updates]}
            return {**name, **(listed if updates else {}), **members}

        def units(index):
            told = self.told(name)[index]["ProvisionedThroughput"]
            return told["ReadCapacityUnits"], told["WriteCapacityUnits"]
        status, answer = send("UpdateTable", update(("by-a", {"ProvisionedThroughput": more}),
                                                    AttributeDefinitions=body["AttributeDefinitions"]))
        self.assertEqual(status, 200, answer)
        answered = answer["TableDescription"]
        self.assertEqual((answered["TableStatus"], answered["GlobalSecondaryIndexes"][0]["IndexStatus"]),
                         ("ACTIVE", "UPDATING"))
        self.assertEqual(answered["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"], 3)
        self.assertEqual((units("by-a"), units("by-b")), ((5, 4), (3, 2)))
        self.assertIn("LastIncreaseDateTime", self.told(name)["by-a"]["ProvisionedThroughput"])
        self.refused("The provisioned throughput for the index by-a will not change. The requested value equals the "
                     "current value. Current ReadCapacityUnits provisioned for index by-a: 5. Requested "
                     "ReadCapacityUnits: 5. Current WriteCapacityUnits provisioned for index by-a: 4. Requested "
                     "WriteCapacityUnits: 4. Refer to the Amazon DynamoDB Developer Guide for current limits and how "
                     "to request higher limits.", update(("by-a", {"ProvisionedThroughput": more})),
                     operation="UpdateTable")
        self.refused("Requested resource not found: Index none for table " + name["TableName"],
                     update(("none", {"ProvisionedThroughput": more})), "ResourceNotFoundException", "UpdateTable")
        too_much = {"ReadCapacityUnits": 10 ** 9, "WriteCapacityUnits": 4}
        status, answer = send("UpdateTable", update(("by-b", {"ProvisionedThroughput": too_much}),
                                                    ProvisionedThroughput=more))
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, "LimitExceededException"))
        self.assertEqual(send("DescribeTable", name)[1]["Table"]["ProvisionedThroughput"]["ReadCapacityUnits"], 3)
        self.assertEqual(send("UpdateTable", update(BillingMode="PAY_PER_REQUEST"))[0], 200)
        self.assertEqual((units("by-a"), units("by-b")), ((0, 0), (0, 0)))
        limit = {"MaxReadRequestUnits": 70, "MaxWriteRequestUnits": 80}
        status, answer = send("UpdateTable", update(("by-b", {"OnDemandThroughput": limit})))
        self.assertEqual(status, 200, answer)
        until(self, lambda: self.told(name)["by-b"]["IndexStatus"] == "ACTIVE", "the index is changed")
        self.assertEqual(self.told(name)["by-b"]["OnDemandThroughput"], limit)
        warm = {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000}
        self.assertEqual(send("UpdateTable", update(("by-b", {"WarmThroughput": warm})))[0], 200)
        self.refused(INVALID + "The only Updates for index: by-a when TableThroughputMode is PAY_PER_REQUEST can be to "
                     "OnDemandThroughput, WarmThroughput", update(("by-a", {"ProvisionedThroughput": more})),
                     operation="UpdateTable")
        self.refused(INVALID + "ProvisionedThroughput must be specified for index: by-a,by-b",
                     update(BillingMode="PROVISIONED", ProvisionedThroughput=more), operation="UpdateTable")
        status, answer = send("UpdateTable", update(*((x, {"ProvisionedThroughput": UNITS}) for x in ("by-a", "by-b")),
                                                    BillingMode="PROVISIONED", ProvisionedThroughput=more))
        self.assertEqual(status, 200, answer)
        self.assertEqual((units("by-a"), units("by-b")), ((3, 2), (3, 2)))

    def test_reads_are_throttled_by_the_throughput_of_the_index(self):
        one = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
        name = self.created(globally(global_index("by-a", "a", ProvisionedThroughput=one), more=(("a", "S"),),
                                     BillingMode="PROVISIONED", ProvisionedThroughput=UNITS))
        refusal = until(self, lambda: (lambda status, answer: answer if status == 400 else None)(
            *send("Scan", {**name, "IndexName": "by-a"})), "a Scan is throttled")
        self.assertEqual(refusal["__type"].split("#")[1], "ProvisionedThroughputExceededException")
        self.assertTrue(refusal["message"].startswith("The level of configured provisioned throughput for one or more "
                                                      "global secondary indexes of the table was exceeded. "))
        self.assertEqual(refusal["ThrottlingReasons"], [
            {"reason": "IndexReadProvisionedThroughputExceeded",
             "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/%s/index/by-a" % name["TableName"]}])
        self.assertEqual(send("Scan", name)[0], 200)

    def test_what_is_wrong_with_a_change_of_indexes_is_told(self):
        name = self.created(globally(global_index("by-a", "a"), more=(("a", "S"), ("n", "N")),
                                     locals_=[local("local", "n")]))
        update = {"IndexName": "local", "OnDemandThroughput": {"MaxReadRequestUnits": 9}}
        for updates, message in (
                ([], INVALID + "List of GlobalSecondaryIndexUpdates is empty"),
                ([{}], INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                 "GlobalSecondaryIndexUpdate.Delete must not be null"),
                ([{"Create": global_index("by-b", "b")}],
                 INVALID + "AttributeDefinitions must be provided when creating a Global Secondary Index"),
                ([{"Delete": {"IndexName": "local"}}],
                 "Cannot update an index that is not a GlobalSecondaryIndex: local"),
                ([{"Update": update, "Delete": {"IndexName": "by-a"}}],
                 INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"),
                ([{"Update": update}, {"Update": update}],
                 INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: local"),
                ([{"Update": update}], "Cannot update an index that is not a GlobalSecondaryIndex: local")):
            self.refused(message, {**name, "GlobalSecondaryIndexUpdates": updates}, operation="UpdateTable")
        self.refused(INVALID + "DeletionProtection modification must be the only operation in the request",
                     {**name, "GlobalSecondaryIndexUpdates": [{"Update": update}], "DeletionProtectionEnabled": True},
                     operation="UpdateTable")


class ChangeTest(Suite):
    """Global indexes that are added to a table with items, and dropped."""

    def setUp(self):
        self.table = new_name()
        keys = keys_of(("p", "S"))
        self.assertEqual(send("CreateTable", {"TableName": self.table, "BillingMode": "PAY_PER_REQUEST", **keys})[0], 200)
        self.until_rests()

    def described(self):
        return send("DescribeTable", {"TableName": self.table})[1]["Table"]

    def until_rests(self):
        until(self, lambda: all(x == "ACTIVE" for x in [self.described()["TableStatus"]] + [
            i["IndexStatus"] for i in self.described().get("GlobalSecondaryIndexes", [])]), "the table rests")

    def change(self, *updates, types=(("g", "S"),)):
        return send("UpdateTable", {"TableName": self.table, "GlobalSecondaryIndexUpdates": list(updates),
                                    "AttributeDefinitions": [{"AttributeName": a, "AttributeType": t} for a, t in types]})

    def refused(self, message, *updates, **more):
        status, answer = self.change(*updates, **more)
        self.assertEqual((status, answer.get("message", answer.get("Message"))), (400, message))

    def put(self, p, **attributes):
        self.assertEqual(send("PutItem", {"TableName": self.table, "Item": {"p": s(p), **attributes}})[0], 200)

    def rows(self, index="by-g"):
        return {i["p"]["S"]: i["g"]["S"] for i in self.ok("Scan", IndexName=index)["Items"]}

    def test_a_new_index_gets_the_items_that_are_there_and_those_that_change_meanwhile(self):
        model = {}
        choose = random.Random(7)
        for i in range(300):
            model[str(i)] = str(choose.randrange(9))
            self.put(str(i), g=s(model[str(i)]))
        for p, value in (("number", n(1)), ("empty", s("")), ("large", s("x" * 2049))):
            self.put(p, g=value)  # they have no row
        self.put("none")
        status, answer = self.change({"Create": global_index("by-g", "g")})
        self.assertEqual(status, 200, answer)
        index = answer["TableDescription"]["GlobalSecondaryIndexes"][0]
        self.assertEqual((index["IndexStatus"], index["Backfilling"]), ("CREATING", False))
        for i in range(0, 400, 3):
            model[str(i)] = "new"
            self.put(str(i), g=s("new"))
            model.pop(str(i + 1), None)
            self.assertEqual(send("DeleteItem", {"TableName": self.table, "Key": {"p": s(str(i + 1))}})[0], 200)
        self.until_rests()
        self.assertNotIn("Backfilling", self.described()["GlobalSecondaryIndexes"][0])
        until(self, lambda: self.rows() == model, "the index has all items")
        self.assertEqual(send("PutItem", {"TableName": self.table, "Item": {"p": s("x"), "g": n(1)}})[0], 400)

    def test_a_dropped_index_is_gone_and_can_be_made_anew(self):
        self.put("a", g=s("1"), h=s("2"))
        self.assertEqual(self.change({"Create": global_index("by-g", "g")})[0], 200)
        self.until_rests()
        self.assertEqual(self.rows(), {"a": "1"})
        self.assertEqual(self.change({"Delete": {"IndexName": "by-g"}})[0], 200)
        self.until_rests()
        self.assertNotIn("GlobalSecondaryIndexes", self.described())
        self.bad("Scan", "The table does not have the specified index: by-g", IndexName="by-g")
        self.put("b", g=s("3"), h=s("4"))
        until(self, lambda: self.change({"Create": global_index("by-g", "h", "g")}, types=(("g", "S"), ("h", "S")))[0]
              == 200, "the name is free")
        self.until_rests()
        self.assertEqual(self.rows(), {"a": "1", "b": "3"})

    def test_a_new_index_takes_all_that_one_of_a_new_table_takes(self):
        self.assertEqual(self.change({"Create": {
            **global_index("by-g", "g", (), "INCLUDE", "x"), "OnDemandThroughput": {
                "MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 60},
            "WarmThroughput": {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000}}})[0], 200)
        self.until_rests()
        index = self.described()["GlobalSecondaryIndexes"][0]
        self.assertEqual(index["Projection"], {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]})
        self.assertEqual(index["OnDemandThroughput"], {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 60})
        self.assertEqual(index["WarmThroughput"]["ReadUnitsPerSecond"], 13000)

    def test_a_new_index_of_a_provisioned_table_has_throughput(self):
        units = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}
        self.assertEqual(send("UpdateTable", {"TableName": self.table, "BillingMode": "PROVISIONED",
                                              "ProvisionedThroughput": units})[0], 200)
        self.until_rests()
        create = global_index("by-g", "g")
        self.refused(INVALID + "ProvisionedThroughput is not specified for index: by-g", {"Create": create})
        self.assertEqual(self.change({"Create": {**create, "ProvisionedThroughput": units}})[0], 200)
        self.until_rests()
        self.assertEqual(self.described()["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"], 4)

    def test_what_is_wrong_is_told(self):
        create = {"Create": global_index("by-g", "g")}
        one = ("Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
        self.refused(one, create, {"Create": global_index("by-h", "g")})
        self.refused(one, create, {"Delete": {"IndexName": "by-h"}})
        self.refused(INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [g], "
                     "AttributeDefinitions: [h]", create, types=(("h", "S"),))
        self.refused("Attribute Name is duplicated: g", create, types=(("g", "S"), ("g", "N")))
        self.refused(REDEFINED % ("S", "N"), {"Create": global_index("by-p", "p")}, types=(("p", "N"),))
        self.refused("Requested resource not found: Index none for table %s" % self.table,
                     {"Delete": {"IndexName": "none"}})
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
        self.refused(INVALID + "ProvisionedThroughput should not be specified for index: by-g when BillingMode is "
                     "PAY_PER_REQUEST", {"Create": {**create["Create"], "ProvisionedThroughput": units}})
        self.assertEqual(self.change(create)[0], 200)
        self.until_rests()
        self.refused("Attempting to create an index which already exists", create)


class GlobalTest(Suite):
    """One table with an index of each projection, and one of keys of several attributes. An index follows its table
    after a while."""

    @classmethod
    def setUpClass(cls):
        body = globally(global_index("all", "t"), global_index("keys", "t", "n", "KEYS_ONLY"),
                        global_index("some", "b", "n", "INCLUDE", "x"), global_index("wide", "tn", "bu"),
                        more=(("n", "N"), ("t", "S"), ("b", "B"), ("u", "S")))
        cls.table = body["TableName"]
        assert send("CreateTable", body)[0] == 200
        while send("DescribeTable", {"TableName": cls.table})[1]["Table"]["TableStatus"] != "ACTIVE":
            pass

    def setUp(self):
        self.p = new_name()
        self.t = new_name()  # the partition key of this test's rows

    def item(self, sort, **attributes):
        return {"p": s(self.p), "s": s(sort), **attributes}

    def write(self, sort, **attributes):
        return self.ok("PutItem", Item=self.item(sort, t=s(self.t), **attributes), ReturnConsumedCapacity="INDEXES")

    def by(self, index, condition="t = :t", values=None, **more):
        values = {":t": s(self.t), **(values or {})}
        return self.ok("Query", IndexName=index, KeyConditionExpression=condition, ExpressionAttributeValues=values,
                       **more)

    def sorts(self, index, *query, **more):
        return [i["s"]["S"] for i in self.by(index, *query, **more)["Items"]]

    def follows(self, index, wanted, *query, **more):
        until(self, lambda: steady(lambda: self.sorts(index, *query, **more) == wanted), "the index has %s" % wanted)

    def test_rows_are_those_items_that_have_the_keys_in_their_order(self):
        self.write("a", n=n(3))
        self.write("b", n=n(-20))
        self.write("c")
        self.follows("keys", ["b", "a"])
        self.follows("keys", ["a", "b"], ScanIndexForward=False)
        until(self, lambda: steady(lambda: sorted(self.sorts("all")) == ["a", "b", "c"]), "all rows are there")
        self.ok("DeleteItem", Key=self.item("b"))
        self.ok("UpdateItem", Key=self.item("c"), UpdateExpression="SET n = :n", ExpressionAttributeValues={":n": n(9)})
        self.ok("UpdateItem", Key=self.item("a"), UpdateExpression="REMOVE t")
        self.follows("keys", ["c"])
        self.follows("all", ["c"])

    def test_rows_show_what_the_projection_says(self):
        bytes_ = {"B": base64.b64encode(uuid.uuid4().bytes).decode()}
        whole = self.item("a", n=n(1), t=s(self.t), b=bytes_, x=s("x"), y=s("y"))
        self.ok("PutItem", Item=whole)
        self.follows("all", ["a"])
        self.follows("keys", ["a"])

        def some(**more):
            return self.ok("Query", IndexName="some", KeyConditionExpression="b = :b AND n = :n",
                           ExpressionAttributeValues={":b": bytes_, ":n": n(1)}, **more)["Items"]
        until(self, lambda: steady(some), "the row is there")
        self.assertEqual(self.by("all")["Items"], [whole])
        self.assertEqual(self.by("all", Select="ALL_ATTRIBUTES")["Items"], [whole])
        self.assertEqual(self.by("keys")["Items"], [{k: whole[k] for k in "psnt"}])
        self.assertEqual(some(), [{k: whole[k] for k in "psbnx"}])
        self.assertEqual(some(ProjectionExpression="x, p"), [{k: whole[k] for k in "px"}])
        self.assertEqual(self.by("keys", Select="COUNT")["Count"], 1)
        self.assertEqual(self.by("keys", Select="ALL_PROJECTED_ATTRIBUTES", FilterExpression="attribute_exists(y)")
                         ["ScannedCount"], 1)

    def test_what_a_global_index_cannot_do(self):
        query = {"IndexName": "keys", "KeyConditionExpression": "t = :t", "ExpressionAttributeValues": {":t": s("x")}}
        self.bad("Query", "Consistent reads are not supported on global secondary indexes", ConsistentRead=True, **query)
        self.bad("Scan", "Consistent reads are not supported on global secondary indexes", ConsistentRead=True,
                 IndexName="all")
        self.bad("Query", INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index keys because "
                 "its projection type is not ALL", Select="ALL_ATTRIBUTES", **query)
        self.bad("Query", INVALID + "Global secondary index keys does not project [x, y]",
                 ProjectionExpression="p, x.a, y, x.b", **query)
        self.bad("Query", "Filter Expression can only contain non-primary key attributes: Primary key attribute: n",
                 FilterExpression="n = :t", **query)
        self.assertEqual(self.ok("Query", FilterExpression="attribute_exists(y)", **query)["Count"], 0)
        unequal = "RANGE key attributes b must have equality conditions specified in the query because a condition is " \
                  "present on key attribute u"
        for condition, message in (
                ("n = :n", "Query condition missed key schema element: t"),
                ("t = :t", "Query condition missed key schema element: n"),
                ("t = :t AND n > :n", "Query key condition not supported"),
                ("t = :t AND n = :n AND u = :t", unequal), ("t = :t AND n = :n AND b > :b AND u = :t", unequal),
                ("t = :t AND n = :n AND s = :t", "Query condition missed key schema element: b"),
                ("t = :t AND n = :n AND b = :t", INVALID + "Condition parameter type does not match schema type")):
            values = {k: v for k, v in ((":t", s("x")), (":n", n(1)), (":b", {"B": "AQ=="})) if k in condition}
            self.bad("Query", message, IndexName="wide", KeyConditionExpression=condition,
                     ExpressionAttributeValues=values)

    def test_keys_of_several_attributes(self):
        for i in range(12):
            self.write("%02d" % i, n=n(i % 2), b={"B": "AA==" if i < 6 else "AQ=="}, u=s("u%02d" % (20 - i)))
        both = "t = :t AND n = :n"
        self.follows("wide", ["04", "02", "00", "10", "08", "06"], both, {":n": n(0)})
        self.follows("wide", ["05", "03", "01", "11", "09", "07"], both, {":n": n(1)})
        query = both + " AND b = :b"
        self.assertEqual(self.sorts("wide", query, {":n": n(1), ":b": {"B": "AQ=="}}), ["11", "09", "07"])
        query += " AND u BETWEEN :a AND :z"
        between = {":n": n(1), ":b": {"B": "AQ=="}, ":a": s("u10"), ":z": s("u11")}
        self.assertEqual(self.sorts("wide", query, between), ["09"])

    def test_pages_go_on_after_the_last_key(self):
        for i in range(23):
            self.write("%02d" % i, n=n(i % 3))
        wanted = ["%02d" % i for k in range(3) for i in range(k, 23, 3)]
        self.follows("keys", wanted)
        for forward in (True, False):
            seen, more = [], {}
            while more is not None:
                page = self.by("keys", Limit=4, ScanIndexForward=forward, **more)
                seen += [i["s"]["S"] for i in page["Items"]]
                start = page.get("LastEvaluatedKey")
                more = {"ExclusiveStartKey": start} if start else None
                if start:
                    self.assertEqual(set(start), {"p", "s", "t", "n"})
            self.assertEqual(seen, wanted if forward else wanted[::-1])
        start = {**self.item("a"), "t": s(self.t), "n": n(1)}
        query = {"IndexName": "keys", "KeyConditionExpression": "t = :t", "ExpressionAttributeValues": {":t": s(self.t)}}
        self.bad("Query", "The provided starting key is invalid", **query,
                 ExclusiveStartKey={k: v for k, v in start.items() if k != "n"})
        self.bad("Query", "The provided key element does not match the schema", **query,
                 ExclusiveStartKey={**start, "n": s("x")})
        self.bad("Query", "The provided starting key is outside query boundaries based on provided conditions", **query,
                 ExclusiveStartKey={**start, "t": s("other")})

    def test_a_scan_reads_all_rows(self):
        for i in range(30):
            self.ok("PutItem", Item={"p": s("%s-%d" % (self.p, i % 7)), "s": s(str(i)), "n": n(i),
                                     **({"t": s(self.t + str(i % 5))} if i % 2 else {})})

        def scanned(segments):
            found = []
            for k in range(segments):
                more = {"TotalSegments": segments, "Segment": k}
                while more is not None:
                    page = self.ok("Scan", IndexName="keys", Limit=5, **more)
                    found += [int(i["s"]["S"]) for i in page["Items"] if i["p"]["S"].startswith(self.p)]
                    start = page.get("LastEvaluatedKey")
                    more = {**more, "ExclusiveStartKey": start} if start else None
            return sorted(found)
        until(self, lambda: steady(lambda: scanned(1) == list(range(1, 30, 2))), "all rows are scanned")
        self.assertEqual(scanned(3), list(range(1, 30, 2)))

    def test_what_reads_and_writes_cost(self):
        told = self.write("a", n=n(1))["ConsumedCapacity"]
        self.assertEqual(told["Table"], {"CapacityUnits": 1})
        self.assertEqual(told["GlobalSecondaryIndexes"], {"all": {"CapacityUnits": 1}, "keys": {"CapacityUnits": 1}})
        self.assertEqual(told["CapacityUnits"], 3)
        again = self.write("a", n=n(1))["ConsumedCapacity"]
        self.assertEqual((again["CapacityUnits"], "GlobalSecondaryIndexes" in again), (1, False))
        moved = self.write("a", n=n(2))["ConsumedCapacity"]["GlobalSecondaryIndexes"]
        self.assertEqual(moved, {"all": {"CapacityUnits": 1}, "keys": {"CapacityUnits": 2}})
        read = self.by("keys", ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        self.assertEqual(read["Table"], {"CapacityUnits": 0})
        self.assertEqual(read["GlobalSecondaryIndexes"], {"keys": {"CapacityUnits": 0.5}})

    def test_values_that_cannot_be_keys_are_refused(self):
        mismatch = INVALID + "Type mismatch for Index Key n Expected: N Actual: S IndexName: keys"
        self.bad("PutItem", mismatch, Item=self.item("a", n=s("x")))
        self.bad("PutItem", "One or more parameter values are not valid. A value specified for a secondary index key is "
                 "not supported. The AttributeValue for a key attribute cannot contain an empty string value. "
                 "IndexName: all, IndexKey: t", Item=self.item("a", t=s("")))
        hashes = INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
        self.bad("PutItem", hashes, Item=self.item("a", t=s("x" * 2049)))
        self.bad("PutItem", hashes, Item=self.item("a", t=s("x" * 2048), n=n(1)))
        self.bad("PutItem", INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
                 Item=self.item("a", u=s("x" * 1020), b={"B": "AAAAAAAA"}))
        self.bad("UpdateItem", mismatch, Key=self.item("a"), UpdateExpression="SET n = :v",
                 ExpressionAttributeValues={":v": s("x")})

    def test_updates_to_values_that_cannot_be_keys_are_refused(self):
        self.ok("PutItem", Item=self.item("a", x=n(1), y=s("")))
        self.bad("UpdateItem", "The update expression attempted to update the secondary index key to unsupported type",
                 Key=self.item("a"), UpdateExpression="SET t = x")
        self.bad("UpdateItem", None, Key=self.item("a"), UpdateExpression="SET t = y")


if __name__ == "__main__":
    unittest.main()
