#!/usr/bin/python3
"""TransactWriteItems and TransactGetItems: what they do, what cancels them, what they cost, and tokens."""

import concurrent.futures
import re
import unittest

import botocore.exceptions
from suite import INVALID, Suite, boto, keys_of, make_table, n, new_name, s, send, until

CANCELED = "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]"
MISMATCH = "IdempotentParameterMismatchException"
TOO_LARGE = re.compile(r"(Transaction payload size cannot exceed 4MB\. Payload Size: ): \1\d+$")


class Transactions(Suite):
    def write(self, *items, **members):
        return send("TransactWriteItems", {"TransactItems": list(items), **members})

    def canceled(self, codes, *items, operation="TransactWriteItems", **members):
        status, answer = send(operation, {"TransactItems": list(items), **members})
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, "TransactionCanceledException"), answer)
        self.assertEqual(answer["Message"], CANCELED % ", ".join(codes))
        self.assertEqual([reason["Code"] for reason in answer["CancellationReasons"]], codes)
        return answer["CancellationReasons"]

    def done(self, *items, **members):
        status, answer = self.write(*items, **members)
        self.assertEqual(status, 200, answer)
        return answer


class TransactionTest(Transactions):
    def key(self, name):
        return {"TableName": self.table, "Key": {"p": s(name)}}

    def put(self, name, value, **more):
        return {"Put": {"TableName": self.table, "Item": {"p": s(name), "v": n(value)}, **more}}

    def delete(self, name, **more):
        return {"Delete": {**self.key(name), **more}}

    def add(self, name, amount, **more):
        return {"Update": {**self.key(name), "UpdateExpression": "ADD v :a",
                           "ExpressionAttributeValues": {":a": n(amount), **more.pop("values", {})}, **more}}

    def check(self, name, condition, **values):
        more = {"ExpressionAttributeValues": {":" + k: n(v) for k, v in values.items()}} if values else {}
        return {"ConditionCheck": {**self.key(name), "ConditionExpression": condition, **more}}

    def value(self, name):
        item = self.ok("GetItem", Key={"p": s(name)}, ConsistentRead=True).get("Item")
        return None if item is None else int(item["v"]["N"])

    def values(self, *names):
        status, answer = send("TransactGetItems", {"TransactItems": [{"Get": self.key(name)} for name in names]})
        self.assertEqual(status, 200, answer)
        return [int(r["Item"]["v"]["N"]) if "Item" in r else None for r in answer["Responses"]]

    # ---- what they do ----

    def test_all_or_nothing(self):
        names = ["all-%d" % i for i in range(8)]
        self.done(*(self.put(name, i) for i, name in enumerate(names)))
        self.assertEqual(self.values(*names), list(range(8)))
        self.done(self.add("all-0", 10), self.delete("all-1"), self.check("all-2", "v = :v", v=2), self.put("all-3", 7))
        self.assertEqual(self.values(*names[:4]), [10, None, 2, 7])
        self.canceled(["None", "ConditionalCheckFailed", "None"], self.put("all-0", 1),
                      self.check("all-2", "v > :v", v=2), self.delete("all-3"))
        self.assertEqual(self.values(*names[:4]), [10, None, 2, 7])

    def test_the_item_that_failed_a_condition_is_told_if_asked_for(self):
        self.done(self.put("told", 1))
        reasons = self.canceled(
            ["ConditionalCheckFailed", "None"],
            self.put("told", 2, ConditionExpression="attribute_not_exists(p)",
                     ReturnValuesOnConditionCheckFailure="ALL_OLD"), self.put("told-other", 2))
        self.assertEqual(reasons, [{"Code": "ConditionalCheckFailed", "Message": "The conditional request failed",
                                    "Item": {"p": s("told"), "v": n(1)}}, {"Code": "None"}])
        self.assertIsNone(self.value("told-other"))

    def test_an_update_that_does_not_fit_its_item_cancels(self):
        self.done({"Put": {"TableName": self.table, "Item": {"p": s("text"), "v": s("x")}}})
        reasons = self.canceled(["None", "ValidationError"], self.put("text-other", 1), self.add("text", 1))
        self.assertEqual(reasons[1]["Message"], "An operand in the update expression has an incorrect data type")

    def test_many_clients_move_money_and_none_is_lost(self):
        names = ["account-%d" % i for i in range(10)]
        self.done(*(self.put(name, 100) for name in names))
        client = boto()

        def move(i):
            source, target = names[i % 10], names[(i * 7 + 3) % 10]
            if source == target:
                return 0
            try:
                client.transact_write_items(TransactItems=[
                    self.add(source, -1, ConditionExpression="v >= :o", values={":o": n(1)}), self.add(target, 1)])
                return 1
            except client.exceptions.TransactionCanceledException:
                return 0
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            moves = [pool.submit(move, i) for i in range(300)]
            seen = 0
            while not all(m.done() for m in moves):
                try:
                    answer = client.transact_get_items(TransactItems=[{"Get": self.key(name)} for name in names])
                except client.exceptions.TransactionCanceledException:
                    continue
                self.assertEqual(sum(int(r["Item"]["v"]["N"]) for r in answer["Responses"]), 1000)
                seen += 1
        # How many get through beside each other is chance; alone, each does.
        until(self, lambda: move(1), "a move beside no other one")
        self.assertEqual(sum(self.values(*names)), 1000)

    # ---- tokens ----

    def test_a_token_makes_a_transaction_happen_once(self):
        token = {"ClientRequestToken": "once-" + self.table[:20]}
        parts = [self.add("once", 1), self.add("once-too", 1)]
        for _ in range(3):
            self.done(*parts, **token)
        self.assertEqual(self.values("once", "once-too"), [1, 1])
        status, answer = self.write(self.add("once", 2), parts[1], **token)
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, MISMATCH))
        one = {"ClientRequestToken": "one-" + self.table[:20]}
        for _ in range(3):
            self.done(self.add("alone", 1), **one)
        self.assertEqual(self.value("alone"), 1)

    def test_a_token_is_of_what_is_asked_not_of_the_order_in_which_it_is_written(self):
        """Many clients write maps in another order when they repeat a request."""
        def part(turn):
            def ordered(pairs):
                return dict(pairs[::turn])
            nested = {"M": ordered([("a", {"SS": ["x", "y"][::turn]}), ("b", n("1.0" if turn > 0 else "1"))])}
            return {"Put": {"TableName": self.table, "Item": ordered([("p", s("order")), ("v", nested), ("w", n(1))]),
                            "ConditionExpression": "attribute_not_exists(p) OR v <> :v",
                            "ExpressionAttributeValues": {":v": nested}}}

        def change(turn):
            return {"Update": {**self.key("order-too"), "UpdateExpression": "SET v = :v",
                               "ExpressionAttributeValues": {":v": {"NS": ["1", "2", "3"][::turn]}}}}
        token = {"ClientRequestToken": "order-" + self.table[:20]}
        self.done(part(1), change(1), **token)
        self.done(part(-1), change(-1), **token)
        other = part(1)
        other["Put"]["Item"]["v"] = {"L": [n(1), n(2)]}
        status, answer = self.write(other, change(1), **token)
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, MISMATCH))
        lists = {"ClientRequestToken": "lists-" + self.table[:20]}
        del other["Put"]["ConditionExpression"], other["Put"]["ExpressionAttributeValues"]
        self.done(other, **lists)
        other["Put"]["Item"]["v"] = {"L": [n(2), n(1)]}
        status, answer = self.write(other, **lists)
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, MISMATCH))

    def test_a_token_of_a_cancelled_transaction_may_be_used_again(self):
        token = {"ClientRequestToken": "again-" + self.table[:20]}
        parts = [self.put("again", 1, ConditionExpression="attribute_not_exists(p)"), self.put("again-too", 1)]
        self.done(self.put("again", 0))
        self.canceled(["ConditionalCheckFailed", "None"], *parts, **token)
        self.ok("DeleteItem", Key={"p": s("again")})
        self.done(*parts, **token)
        self.assertEqual(self.values("again", "again-too"), [1, 1])

    # ---- what they cost ----

    def test_transactions_cost_twice(self):
        answer = self.done(self.put("cost", 1), self.put("cost-too", 1), ReturnConsumedCapacity="TOTAL")
        self.assertEqual(answer["ConsumedCapacity"],
                         [{"TableName": self.table, "CapacityUnits": 4.0, "WriteCapacityUnits": 4.0}])
        units = {"CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}
        for asked, told in (("TOTAL", {}), ("INDEXES", {"Table": units})):
            status, answer = send("TransactGetItems", {"ReturnConsumedCapacity": asked, "TransactItems": [
                {"Get": self.key("cost")}, {"Get": self.key("cost-none")}]})
            self.assertEqual((status, answer["ConsumedCapacity"]), (200, [{"TableName": self.table, **units, **told}]))

    # ---- what is refused ----

    def test_what_is_wrong_is_told(self):
        def refused(message, *items):
            status, answer = self.write(*items)
            self.assertEqual((status, answer.get("message")), (400, message))
        twice = "Transaction request cannot include multiple operations on one item"
        refused(twice, self.put("twice", 1), self.delete("twice"))
        refused("TransactItems can only contain one of Check, Put, Update or Delete", {})
        refused("TransactItems can only contain one of Check, Put, Update or Delete",
                {**self.put("both", 1), **self.delete("both")})
        status, answer = self.write(*(self.put("many-%d" % i, 1) for i in range(101)))
        self.assertEqual(status, 400)
        self.assertIn("Member must have length less than or equal to 100", answer["message"])
        status, answer = self.write()
        self.assertIn("Member must have length greater than or equal to 1", answer["message"])
        status, answer = self.write({"Put": {"TableName": "none-such", "Item": {"p": s("a")}}})
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, "ResourceNotFoundException"))
        status, answer = send("TransactGetItems", {"TransactItems": [{"Get": self.key("a")}, {"Get": self.key("a")}]})
        self.assertEqual((status, answer["message"]), (400, twice))

    def test_a_read_shows_what_it_is_asked_for(self):
        self.ok("PutItem", Item={"p": s("shown"), "a": n(1), "b": n(2)})
        status, answer = send("TransactGetItems", {"TransactItems": [
            {"Get": {**self.key("shown"), "ProjectionExpression": "#b", "ExpressionAttributeNames": {"#b": "b"}}}]})
        self.assertEqual((status, answer["Responses"]), (200, [{"Item": {"b": n(2)}}]))
        status, answer = send("TransactGetItems", {"TransactItems": [
            {"Get": {**self.key("shown"), "ProjectionExpression": "absent"}}]})
        self.assertEqual((status, answer["Responses"]), (200, [{}]))

    def test_names_and_values_without_an_expression_are_ignored(self):
        idle = {"ExpressionAttributeNames": {"#a": "a"}}
        values = {"ExpressionAttributeValues": {":a": n(1)}}
        self.done(self.put("idle", 1, **idle, **values), self.delete("idle-too", **idle, **values))
        status, answer = send("TransactGetItems", {"TransactItems": [{"Get": {**self.key("idle"), **idle}}]})
        self.assertEqual((status, answer["Responses"]), (200, [{"Item": {"p": s("idle"), "v": n(1)}}]))
        self.bad("TransactWriteItems", "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}",
                 TransactItems=[self.put("idle", 1, ConditionExpression="attribute_exists(p)", **idle)])

    def test_each_kind_of_part_takes_names_values_and_conditions(self):
        client = boto()
        names = {"ExpressionAttributeNames": {"#v": "v"}}
        asks = {**names, "TableName": self.table, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

        def parts(value):
            values = {"ExpressionAttributeValues": {":n": n(value)}}
            return [{"Put": {**asks, **values, "Item": {"p": s("kind-put"), "v": n(value)},
                             "ConditionExpression": "attribute_not_exists(#v) OR #v = :n"}},
                    {"ConditionCheck": {**asks, **values, "Key": {"p": s("kind-check")}, "ConditionExpression": "#v = :n"}},
                    {"Delete": {**asks, **values, "Key": {"p": s("kind-delete")}, "ConditionExpression": "#v = :n"}},
                    {"Update": {**asks, **values, "Key": {"p": s("kind-update")}, "ConditionExpression": "#v = :n",
                                "UpdateExpression": "SET #v = #v + :n"}}]
        self.done(*(self.put("kind-" + kind, 5) for kind in ("check", "delete", "update")))
        with self.assertRaises(client.exceptions.TransactionCanceledException) as caught:
            client.transact_write_items(TransactItems=parts(4))
        reasons = caught.exception.response["CancellationReasons"]
        self.assertEqual([r["Code"] for r in reasons], ["None"] + 3 * ["ConditionalCheckFailed"])
        self.assertEqual(reasons[2]["Item"], {"p": s("kind-delete"), "v": n(5)})
        answer = client.transact_write_items(TransactItems=parts(5), ReturnConsumedCapacity="TOTAL",
                                             ReturnItemCollectionMetrics="SIZE", ClientRequestToken=new_name()[:36])
        self.assertEqual(answer["ConsumedCapacity"],
                         [{"TableName": self.table, "CapacityUnits": 8.0, "WriteCapacityUnits": 8.0}])
        self.assertEqual(answer["ItemCollectionMetrics"], {})
        answer = client.transact_get_items(ReturnConsumedCapacity="TOTAL", TransactItems=[
            {"Get": {**self.key("kind-" + kind), "ProjectionExpression": "#v", **names}}
            for kind in ("put", "check", "delete", "update")])
        self.assertEqual(answer["Responses"], [{"Item": {"v": n(5)}}, {"Item": {"v": n(5)}}, {}, {"Item": {"v": n(10)}}])
        self.assertEqual(answer["ConsumedCapacity"],
                         [{"TableName": self.table, "CapacityUnits": 8.0, "ReadCapacityUnits": 8.0}])

    def test_boto_names_the_reasons(self):
        self.done(self.put("boto", 1))
        client = boto()
        with self.assertRaises(client.exceptions.TransactionCanceledException) as caught:
            client.transact_write_items(TransactItems=[self.check("boto", "v = :v", v=2)])
        self.assertEqual(caught.exception.response["CancellationReasons"][0]["Code"], "ConditionalCheckFailed")
        self.assertIsInstance(caught.exception, botocore.exceptions.ClientError)

    def test_four_mebibytes_are_taken_and_no_more(self):
        table = self.created({"TableName": new_name(), "BillingMode": "PAY_PER_REQUEST", **keys_of(("p", "S"))})
        body = "x" * 399000
        # They cost 8,000 units, which leave debts: no other test may use the table.
        large = [{"Put": {**table, "Item": {"p": s("large-%d" % i), "b": s(body)}}} for i in range(10)]
        token = new_name()  # a busy machine may lose a leader
        until(self, lambda: self.write(*large, ClientRequestToken=token)[0] == 200, "they are taken")
        status, answer = self.write(*large, {"Put": {**table, "Item": {"p": s("more"), "b": s(body)}}})
        self.assertEqual(status, 400)
        self.assertRegex(answer["message"], TOO_LARGE)
        self.assertIn(int(answer["message"].rsplit(" ", 1)[1]), range(11 * 399000, 11 * 399100))
        reads = {"TransactItems": [{"Get": {**table, "Key": {"p": s("large-%d" % i)}}} for i in range(10)]}
        until(self, lambda: send("TransactGetItems", reads)[0] == 200, "there are units to read them")
        until(self, lambda: send("PutItem", {**table, "Item": {"p": s("more"), "b": s(body)}})[0] == 200, "one more")
        reads["TransactItems"].append({"Get": {**table, "Key": {"p": s("more")}}})
        until(self, lambda: TOO_LARGE.match(send("TransactGetItems", reads)[1].get("message", "")),
              "they are too much to read")

    def test_a_plain_write_meets_a_transaction_or_is_done(self):
        self.done(self.put("met", 0), self.put("met-too", 0))
        client = boto()

        def plain(_):
            try:
                client.update_item(TableName=self.table, Key={"p": s("met")}, UpdateExpression="ADD v :a",
                                   ExpressionAttributeValues={":a": n(1)})
                return 1
            except client.exceptions.TransactionConflictException as conflict:
                self.assertEqual(conflict.response["Error"]["Message"], "Transaction is ongoing for the item")
                return 0

        def both(_):
            try:
                client.transact_write_items(TransactItems=[self.add("met", 1), self.add("met-too", 1)])
                return 1
            except client.exceptions.TransactionCanceledException:
                return 0
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            met, together = pool.map(plain, range(100)), pool.map(both, range(100))
            met, together = sum(met), sum(together)
        self.assertGreater(min(met, together), 0)
        self.assertEqual(self.values("met", "met-too"), [met + together, together])


class IndexedTest(Transactions):
    """A table of several partitions with a local and a global index."""

    @classmethod
    def setUpClass(cls):
        cls.table = new_name()
        units = {"ReadCapacityUnits": 3000, "WriteCapacityUnits": 3000}
        show = {"Projection": {"ProjectionType": "ALL"}}
        keys = keys_of(("p", "S"), ("s", "S"))
        make_table({
            "TableName": cls.table, "ProvisionedThroughput": units, "KeySchema": keys["KeySchema"],
            "AttributeDefinitions": [{"AttributeName": a, "AttributeType": t}
                                     for a, t in (("p", "S"), ("s", "S"), ("l", "N"), ("g", "S"))],
            "LocalSecondaryIndexes": [{"IndexName": "by-l", "KeySchema": keys_of(("p", "S"), ("l", "N"))["KeySchema"],
                                       **show}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": keys_of(("g", "S"))["KeySchema"],
                                        "ProvisionedThroughput": units, **show}]})

    def item(self, p, s_key, l, g):
        return {"Put": {"TableName": self.table, "Item": {"p": s(p), "s": s(s_key), "l": n(l), "g": s(g)}}}

    def rows(self, index, **values):
        (name, value), = values.items()
        return self.ok("Query", IndexName=index, ConsistentRead=index == "by-l", KeyConditionExpression=name + " = :v",
                       ExpressionAttributeValues={":v": value})["Items"]

    KEY = {"p": s("fits"), "s": s("a")}
    KEYS_ALONE = {"ConditionCheck": {"ConditionExpression": "attribute_exists(p)"}, "Delete": {},
                  "Update": {"UpdateExpression": "SET v = :v", "ExpressionAttributeValues": {":v": n(1)}}}
    MISMATCH = "The provided key element does not match the schema"
    HASH_LONG = INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
    RANGE_LONG = INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"

    def part(self, kind, **members):
        return {kind: {"TableName": self.table, **self.KEYS_ALONE.get(kind, {}), **members}}

    def keys_that_do_not_fit(self):
        yield self.MISMATCH, {"p": n(1)}
        yield self.MISMATCH, {"s": {"L": []}}
        yield self.MISMATCH, {"more": s("a")}
        yield self.MISMATCH, {"s": None}
        yield self.HASH_LONG, {"p": s("x" * 2049)}
        yield self.RANGE_LONG, {"s": s("x" * 1025)}

    def changed(self, item, changes):
        return {k: v for k, v in {**item, **changes}.items() if v is not None}

    def check_first_reason(self, text, bad, good, **more):
        """The part is the reason; a later one like it is not looked at."""
        reasons = self.canceled(["None", "ValidationError", "None"], good, bad, bad, **more)
        self.assertEqual(reasons[1]["Message"], text, bad)

    def test_a_key_that_does_not_fit_its_table_cancels(self):
        good = self.part("Put", Item=self.KEY)
        for text, changes in self.keys_that_do_not_fit():
            for kind in self.KEYS_ALONE:
                self.check_first_reason(text, self.part(kind, Key=self.changed(self.KEY, changes)), good)
            self.check_first_reason(text, {"Get": {"TableName": self.table, "Key": self.changed(self.KEY, changes)}},
                                    {"Get": {"TableName": self.table, "Key": self.KEY}}, operation="TransactGetItems")
        self.assertNotIn("Item", self.ok("GetItem", Key=self.KEY, ConsistentRead=True))

    def test_an_item_that_does_not_fit_its_table_cancels(self):
        good = self.part("Delete", Key=self.KEY)
        index = INVALID + "Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s"
        for text, changes in (
                (INVALID + "Type mismatch for key p expected: S actual: N", {"p": n(1)}),
                (INVALID + "Missing the key s in the item", {"s": None}), (self.HASH_LONG, {"p": s("x" * 2049)}),
                (self.RANGE_LONG, {"s": s("x" * 1025)}), (index % ("l", "N", "S", "by-l"), {"l": s("x")}),
                (index % ("g", "S", "NULL", "by-g"), {"g": {"NULL": True}}), (self.HASH_LONG, {"g": s("x" * 2049)})):
            self.check_first_reason(text, self.part("Put", Item=self.changed(self.KEY, changes)), good)

    def test_paths_that_do_not_fit_their_table_cancel(self):
        good = self.part("Delete", Key={"p": s("fits"), "s": s("b")})
        for expression, text in (
                ("SET s = :v", INVALID + "Cannot update attribute s. This attribute is part of the key"),
                ("SET l = :v", INVALID + "Type mismatch for Index Key l Expected: N Actual: S IndexName: by-l")):
            self.check_first_reason(text, self.part("Update", Key=self.KEY, UpdateExpression=expression,
                                                    ExpressionAttributeValues={":v": s("x")}), good)

    def test_an_empty_key_is_an_error_of_the_call(self):
        empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an " \
                "empty string value. Key: s"
        key = {**self.KEY, "s": s("")}
        for part in [self.part("Put", Item=key)] + [self.part(kind, Key=key) for kind in self.KEYS_ALONE]:
            self.bad("TransactWriteItems", empty, TransactItems=[self.part("Put", Item={"p": n(1)}), part])
        self.bad("TransactGetItems", empty, TransactItems=[{"Get": {"TableName": self.table, "Key": key}}])
        status, answer = self.write(self.part("Put", Item={**self.KEY, "g": s("")}))
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, "ValidationException"))
        self.assertIn("IndexName: by-g, IndexKey: g", answer["message"])

    def check_costs(self, *keys):
        answer = self.done(*(self.item(p, s_key, i, "group") for i, (p, s_key) in enumerate(keys)),
                           ReturnConsumedCapacity="INDEXES", ReturnItemCollectionMetrics="SIZE")
        count = len(keys)
        self.assertEqual(answer["ConsumedCapacity"], [{
            "TableName": self.table, "CapacityUnits": 4.0 * count, "WriteCapacityUnits": 4.0 * count,
            "Table": {"CapacityUnits": 2.0 * count, "WriteCapacityUnits": 2.0 * count},
            "LocalSecondaryIndexes": {"by-l": {"CapacityUnits": 1.0 * count}},
            "GlobalSecondaryIndexes": {"by-g": {"CapacityUnits": 1.0 * count}}}])
        partitions = sorted({p for p, _ in keys})
        metrics = answer["ItemCollectionMetrics"][self.table]
        self.assertEqual(sorted(m["ItemCollectionKey"]["p"]["S"] for m in metrics), partitions)
        self.assertEqual(metrics[0]["SizeEstimateRangeGB"], [0.0, 1.0])
        for p in partitions:
            self.assertEqual(len(self.rows("by-l", p=s(p))), sum(1 for k, _ in keys if k == p))
        until(self, lambda: len(self.rows("by-g", g=s("group"))) >= count, "the global index follows")
        self.done(*({"Delete": {"TableName": self.table, "Key": {"p": s(p), "s": s(s_key)}}} for p, s_key in keys))
        until(self, lambda: not self.rows("by-g", g=s("group")), "the global index follows")

    def test_indexes_follow_and_cost_in_one_partition(self):
        self.check_costs(("one", "a"), ("one", "b"), ("one", "c"))

    def test_indexes_follow_and_cost_over_partitions(self):
        self.check_costs(*(("many-%d" % i, "a") for i in range(12)))


if __name__ == "__main__":
    unittest.main()
