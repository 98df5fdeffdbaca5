"""PutItem, GetItem, DeleteItem, UpdateItem: parameters, capacity, values and keys that are refused."""

import unittest

from suite import INVALID, Suite, n, s, send

ONE = "1 validation error detected: "
KEY = {"p": {"S": "a"}}


class ItemTest(Suite):
    def test_return_values_of_put_and_delete(self):
        self.ok("DeleteItem", Key=KEY)
        self.assertEqual(self.ok("PutItem", Item={**KEY, "v": n(1)}, ReturnValues="ALL_OLD"), {})
        self.assertEqual(self.ok("PutItem", Item={**KEY, "v": n(2)}, ReturnValues="ALL_OLD"),
                         {"Attributes": {**KEY, "v": n(1)}})
        self.assertEqual(self.ok("DeleteItem", Key=KEY, ReturnValues="ALL_OLD"),
                         {"Attributes": {**KEY, "v": n(2)}})
        self.assertEqual(self.ok("DeleteItem", Key=KEY, ReturnValues="ALL_OLD"), {})
        for operation, members in (("PutItem", {"Item": KEY}), ("DeleteItem", {"Key": KEY})):
            self.bad(operation, "Return values set to invalid value", ReturnValues="ALL_NEW", **members)

    def test_a_condition_that_fails_shows_the_item_if_asked(self):
        self.ok("PutItem", Item={**KEY, "v": n(1)})
        show = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        for operation, members in (("PutItem", {"Item": KEY}), ("DeleteItem", {"Key": KEY}), ("UpdateItem", {"Key": KEY})):
            for more in ({"ConditionExpression": "attribute_not_exists(p)"}, {"Expected": {"p": {"Exists": False}}}):
                answer = self.bad(operation, "The conditional request failed", "ConditionalCheckFailedException",
                                  **members, **more, **show)
                self.assertEqual(answer["Item"], {**KEY, "v": n(1)})
                answer = self.bad(operation, None, "ConditionalCheckFailedException", **members, **more)
                self.assertNotIn("Item", answer)
            self.ok(operation, ConditionExpression="attribute_exists(p)", **members, **show)
            self.ok("PutItem", Item={**KEY, "v": n(1)})

    def test_a_table_can_be_named_by_its_arn(self):
        arn = self.ok("DescribeTable")["Table"]["TableArn"]
        total = {"ReturnConsumedCapacity": "TOTAL"}
        used = {"TableName": arn, "CapacityUnits": 1}
        self.assertEqual(self.ok("PutItem", TableName=arn, Item=KEY, **total)["ConsumedCapacity"], used)
        answer = self.ok("GetItem", TableName=arn, Key=KEY, ConsistentRead=True, **total)
        self.assertEqual((answer["Item"], answer["ConsumedCapacity"]), (KEY, used))
        for operation, members in (("Scan", {}), ("Query", {"KeyConditionExpression": "p = :p",
                                                           "ExpressionAttributeValues": {":p": KEY["p"]}})):
            answer = self.ok(operation, TableName=arn, ConsistentRead=True, **members, **total)
            self.assertEqual((KEY in answer["Items"], answer["ConsumedCapacity"]["TableName"]), (True, arn))
        status, answer = send("BatchGetItem", {"RequestItems": {arn: {"Keys": [KEY], "ConsistentRead": True}}, **total})
        self.assertEqual((status, answer["Responses"], answer["ConsumedCapacity"]), (200, {arn: [KEY]}, [used]))
        status, answer = send("BatchWriteItem", {"RequestItems": {arn: [{"DeleteRequest": {"Key": KEY}}]}, **total})
        self.assertEqual((status, answer["ConsumedCapacity"]), (200, [used]))
        self.ok("UpdateItem", TableName=arn, Key=KEY)
        self.ok("DeleteItem", TableName=arn, Key=KEY)
        table = self.ok("DescribeTable", TableName=arn)["Table"]
        self.assertEqual(table["TableName"], self.table)
        self.ok("GetItem", Key=KEY, **total)  # no answer remembers the ARN
        self.assertEqual(self.ok("GetItem", Key=KEY, **total)["ConsumedCapacity"]["TableName"], self.table)
        pattern = "1 validation error detected: Value '%s' at 'tableName' failed to satisfy constraint: Member must " \
                  "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
        for bad in ("arn:aws:s3:us-east-1:000000000000:table/abc", "arn:aws:dynamodb:us-east-1:table/abc",
                    arn + "/index/abc", arn.replace("table/", "stream/")):
            self.bad("GetItem", pattern % bad, TableName=bad, Key=KEY)
        self.bad("GetItem", "Requested resource not found", "ResourceNotFoundException", TableName=arn + "x", Key=KEY)

    def test_capacity_of_each_operation(self):
        def units(operation, **members):
            answer = self.ok(operation, ReturnConsumedCapacity="TOTAL", **members)["ConsumedCapacity"]
            self.assertEqual(answer["TableName"], self.table)
            return answer["CapacityUnits"]
        big = {**KEY, "v": s("x" * 3000)}
        self.assertEqual(units("PutItem", Item=big), 3)
        self.assertEqual(units("PutItem", Item=KEY), 3)  # the larger of both
        self.assertEqual(units("UpdateItem", Key=KEY, UpdateExpression="SET v = :v",
                               ExpressionAttributeValues={":v": s("x" * 5000)}), 5)
        self.assertEqual(units("UpdateItem", Key=KEY, UpdateExpression="REMOVE v"), 5)
        self.assertEqual(units("UpdateItem", Key=KEY), 1)
        self.assertEqual(units("GetItem", Key=KEY), 0.5)
        self.assertEqual(units("GetItem", Key=KEY, ConsistentRead=True), 1)
        self.assertEqual(units("GetItem", Key={"p": s("nobody")}), 0.5)
        self.ok("PutItem", Item=big)
        self.assertEqual(units("DeleteItem", Key=KEY), 3)
        self.assertEqual(units("DeleteItem", Key=KEY), 1)
        indexes = self.ok("PutItem", Item=KEY, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        self.assertEqual(indexes, {"TableName": self.table, "CapacityUnits": 1, "Table": {"CapacityUnits": 1}})

    def test_values_that_are_none_are_refused(self):
        for message, value in (
            ("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes", {}),
            ("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "
             "supported datatypes", {"S": "a", "N": "1"}),
            (ONE + "The parameter cannot be converted to a numeric value: abc", n("abc")),
            (ONE + "The parameter cannot be converted to a numeric value: ", n("")),
            (ONE + "Attempting to store more than 38 significant digits in a Number", n("1" * 39)),
            (ONE + "Number overflow. Attempting to store a number with magnitude larger than supported range", n("1e126")),
            (ONE + "Number underflow. Attempting to store a number with magnitude smaller than supported range",
             n("1e-131")),
            (INVALID + "An string set  may not be empty", {"SS": []}),
            (INVALID + "An number set  may not be empty", {"NS": []}),
            (INVALID + "Binary sets should not be empty", {"BS": []}),
            (INVALID + "A set may not have a null as an element", {"SS": ["a", None]}),
            (INVALID + "A set may not have a null as an element", {"BS": [None]}),
            (ONE + "The parameter cannot be converted to a numeric value: ", {"NS": ["1", None]}),
            (ONE + INVALID + 'Input collection ["a", "b", "b"] contains duplicates.', {"SS": ["b", "a", "b"]}),
            (ONE + INVALID + "Input collection contains duplicates.", {"NS": ["1", "1.0"]}),
            (INVALID + "Null attribute value types must have the value of true", {"NULL": False}),
        ):
            with self.subTest(value):
                self.bad("PutItem", message, Item={**KEY, "v": value})

    def test_malformed_values_have_the_words_of_the_operation(self):
        text = "The parameter cannot be converted to a numeric value: abc"
        named = "ExpressionAttributeValues contains invalid value: %s for key :v"
        expected = {"ConditionExpression": "v = :v", "ExpressionAttributeValues": {":v": n("abc")}}
        self.bad("PutItem", ONE + text, Item=KEY, **expected)
        self.bad("UpdateItem", ONE + text, Key=KEY, **expected)
        self.bad("DeleteItem", ONE + text, Key=KEY, **expected)
        self.bad("GetItem", text, Key={"p": n("abc")})
        self.bad("Query", text, KeyConditionExpression="p = :v", ExpressionAttributeValues={":v": n("abc")})
        self.bad("Scan", named % text, FilterExpression="v = :v", ExpressionAttributeValues={":v": n("abc")})
        put = {"Put": {"TableName": self.table, "Item": {**KEY, "v": {"SS": ["b", "a", "b"]}}}}
        status, answer = send("TransactWriteItems", {"TransactItems": [put]})
        self.assertEqual((status, answer["message"]),
                         (400, INVALID + "Input collection [b, a, b] contains duplicates."))

    def test_values_that_nest_too_deep_are_refused_in_three_ways(self):
        def deep(levels):
            return {"M": {"n": deep(levels - 1)}} if levels > 0 else s("leaf")
        text = ("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond "
                "supported limit")
        self.ok("PutItem", Item={**KEY, "v": deep(31)})
        for levels, put, named in ((32, ONE + text, ONE + text), (61, ONE + text, ONE + text), (
                63, text, "ExpressionAttributeValues contains invalid value: %s for key :v" % text)):
            item = {**KEY, "v": deep(levels)}
            self.bad("PutItem", put, Item=item)
            self.bad("UpdateItem", named, Key=KEY, ConditionExpression="v = :v",
                     ExpressionAttributeValues={":v": deep(levels)})
            status, answer = send("BatchWriteItem", {"RequestItems": {self.table: [{"PutRequest": {"Item": item}}]}})
            self.assertEqual((status, answer["message"]), (400, text))

    def test_keys_that_do_not_fit_are_refused(self):
        mismatch = "The provided key element does not match the schema"
        self.bad("GetItem", mismatch, Key={"q": s("a")})
        self.bad("GetItem", mismatch, Key={**KEY, "q": s("a")})
        self.bad("GetItem", mismatch, Key={"p": n(1)})
        self.bad("PutItem", INVALID + "Missing the key p in the item", Item={"q": s("a")})
        self.bad("PutItem", INVALID + "Type mismatch for key p expected: S actual: N", Item={"p": n(1)})
        self.bad("PutItem", INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes",
                 Item={"p": s("x" * 2049)})

    def test_structures_are_checked_before_all_else(self):
        for operation, body, kind, message in (
            ("GetItem", {}, "ValidationException",
             "2 validation errors detected: Value null at 'key' failed to satisfy constraint: Member must "
             "not be null; Value null at 'tableName' failed to satisfy constraint: Member must not be null"),
            ("GetItem", {"TableName": "ab;", "Key": {}}, "ValidationException",
             "1 validation error detected: Value 'ab;' at 'tableName' failed to satisfy constraint: Member must "
             "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
            ("GetItem", {"TableName": 1}, "SerializationException", "NUMBER_VALUE cannot be converted to String"),
            ("PutItem", {"TableName": "abc", "Item": []}, "SerializationException",
             "Unrecognized collection type java.util.Map<java.lang.String, "
             "com.amazonaws.dynamodb.v20120810.AttributeValue>"),
            ("PutItem", {"TableName": "abc", "Item": {}, "ReturnConsumedCapacity": "ALL"}, "ValidationException",
             "1 validation error detected: Value 'ALL' at 'returnConsumedCapacity' failed to satisfy constraint: "
             "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"),
        ):
            with self.subTest(body):
                status, answer = send(operation, body)
                self.assertEqual(status, 400)
                self.assertEqual(answer["__type"].split("#")[1], kind, answer)
                self.assertEqual(answer.get("message", answer.get("Message")), message)

    def test_bodies_that_are_no_json_are_refused(self):
        for body in (b"", b"{", b"[]", b"null", b'{"TableName":"a","TableName":"b"}', b"\xff"):
            with self.subTest(body):
                status, answer = send("GetItem", body)
                self.assertEqual(status, 400)
                self.assertEqual(answer["__type"], "com.amazon.coral.service#SerializationException")

    def test_operations_that_are_not_there(self):
        status, answer = send("Nothing", {})
        self.assertEqual((status, answer["__type"]), (400, "com.amazon.coral.service#UnknownOperationException"))


if __name__ == "__main__":
    unittest.main()
