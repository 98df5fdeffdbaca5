#!/usr/bin/python3
"""Secondary indexes: their definition, their rows, reads by them, what they cost, and each refusal."""

import random
import unittest

from suite import INVALID, Suite, boto, keys_of, n, new_name, s, send, until

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
        return self.ok("PutItem", Item=self.item(sort, **attributes), ReturnConsumedCapacity="INDEXES")

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
        self.assertEqual(set(odd["Items"][0]), {"p", "s", "t", "y", "z"})

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


if __name__ == "__main__":
    unittest.main()
