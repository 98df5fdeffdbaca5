"""The parameters that expressions replaced: Expected, AttributeUpdates, KeyConditions, QueryFilter,
ScanFilter, AttributesToGet, ConditionalOperator."""

import unittest

from suite import Suite, n, s

KEY = {"p": {"S": "a"}, "s": {"N": "1"}}


def one(operator, *values):
    return {"ComparisonOperator": operator, **({"AttributeValueList": list(values)} if values else {})}


class LegacyTest(Suite):
    SORT = "N"

    def setUp(self):
        self.ok("PutItem", Item={**KEY, "n": n(5), "t": s("hello"), "z": {"SS": ["x", "y"]}})

    def read(self):
        return self.ok("GetItem", Key=KEY, ConsistentRead=True)["Item"]

    def holds(self, expected, **more):
        self.ok("UpdateItem", Key=KEY, Expected=expected, **more)

    def fails(self, expected, **more):
        self.bad("UpdateItem", "The conditional request failed", "ConditionalCheckFailedException", Key=KEY,
                 Expected=expected, **more)

    def test_expected(self):
        self.holds({"n": {"Value": n(5)}})
        self.holds({"gone": {"Exists": False}})
        self.fails({"n": {"Value": n(6)}})
        self.fails({"n": {"Exists": False}})
        for condition in (one("EQ", n(5)), one("NE", n(6)), one("LT", n(6)), one("LE", n(5)), one("GT", n(4)),
                          one("GE", n(5)), one("IN", n(1), n(5)), one("BETWEEN", n(4), n(6)), one("NOT_NULL")):
            with self.subTest(condition):
                self.holds({"n": condition})
        for condition in (one("BEGINS_WITH", s("he")), one("CONTAINS", s("ell")), one("NOT_CONTAINS", s("z"))):
            self.holds({"t": condition})
        self.holds({"z": one("CONTAINS", s("x"))})
        self.holds({"gone": one("NULL")})
        self.holds({"gone": one("NE", n(1))})
        self.fails({"n": one("EQ", n(5)), "t": one("EQ", s("no"))})
        self.holds({"n": one("EQ", n(5)), "t": one("EQ", s("no"))}, ConditionalOperator="OR")

    def test_attribute_updates(self):
        self.ok("UpdateItem", Key=KEY, AttributeUpdates={
            "n": {"Action": "ADD", "Value": n(2)}, "t": {"Action": "DELETE"}, "new": {"Value": n(1)},
            "z": {"Action": "DELETE", "Value": {"SS": ["x"]}}, "made": {"Action": "ADD", "Value": n(3)}})
        self.assertEqual(self.read(), {**KEY, "n": n(7), "new": n(1), "z": {"SS": ["y"]}, "made": n(3)})
        answer = self.ok("UpdateItem", Key=KEY, ReturnValues="UPDATED_NEW",
                         AttributeUpdates={"n": {"Action": "PUT", "Value": n(9)}})
        self.assertEqual(answer["Attributes"], {"n": n(9)})

    def test_key_conditions_and_filters(self):
        for i in range(2, 6):
            self.ok("PutItem", Item={"p": s("a"), "s": n(i), "n": n(i)})
        equal = {"p": one("EQ", s("a"))}
        def numbers(**more):
            answer = self.ok("Query", ConsistentRead=True, **more)
            return [int(i["s"]["N"]) for i in answer["Items"]], answer["ScannedCount"]
        self.assertEqual(numbers(KeyConditions=equal), ([1, 2, 3, 4, 5], 5))
        self.assertEqual(numbers(KeyConditions={**equal, "s": one("BETWEEN", n(2), n(4))}), ([2, 3, 4], 3))
        self.assertEqual(numbers(KeyConditions=equal, QueryFilter={"n": one("GT", n(3))}), ([1, 4, 5], 5))
        self.assertEqual(numbers(KeyConditions=equal, QueryFilter={"n": one("EQ", n(3)), "t": one("NOT_NULL")},
                                 ConditionalOperator="OR"), ([1, 3], 5))
        answer = self.ok("Scan", ScanFilter={"n": one("LE", n(3))}, ConsistentRead=True)
        self.assertEqual((answer["Count"], answer["ScannedCount"]), (2, 5))

    def test_attributes_to_get(self):
        self.assertEqual(self.ok("GetItem", Key=KEY, AttributesToGet=["n", "gone"], ConsistentRead=True)["Item"],
                         {"n": n(5)})
        answer = self.ok("BatchGetItem", RequestItems={self.table: {
            "Keys": [KEY], "AttributesToGet": ["t"], "ConsistentRead": True}})
        self.assertEqual(answer["Responses"][self.table], [{"t": s("hello")}])

    def test_wrong_parameters_are_refused(self):
        both = ("Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {%s} Expression parameters: {%s}")
        self.bad("PutItem", both % ("Expected", "ConditionExpression"), Item=KEY,
                 Expected={"n": one("NULL")}, ConditionExpression="attribute_exists(n)")
        self.bad("GetItem", both % ("AttributesToGet", "ProjectionExpression"), Key=KEY, AttributesToGet=["n"],
                 ProjectionExpression="n")
        self.bad("UpdateItem", both % ("AttributeUpdates", "UpdateExpression"), Key=KEY,
                 AttributeUpdates={"n": {"Action": "DELETE"}}, UpdateExpression="REMOVE n")
        self.bad("GetItem", "One or more parameter values were invalid: Duplicate value in attribute name: n",
                 Key=KEY, AttributesToGet=["n", "n"])
        self.bad("UpdateItem", "One or more parameter values were invalid: Only DELETE action is allowed when no "
                 "attribute value is specified", Key=KEY, AttributeUpdates={"n": {"Action": "PUT"}})
        self.bad("UpdateItem", "One or more parameter values were invalid: Cannot update attribute p. This "
                 "attribute is part of the key", Key=KEY, AttributeUpdates={"p": {"Value": s("b")}})
        self.bad("PutItem", "ConditionalOperator cannot be used without Filter or Expected", Item=KEY,
                 ConditionalOperator="AND")
        self.bad("PutItem", "One or more parameter values were invalid: Invalid number of argument(s) for the EQ "
                 "ComparisonOperator", Item=KEY, Expected={"n": {"ComparisonOperator": "EQ", "AttributeValueList": []}})
        self.bad("PutItem", "One or more parameter values were invalid: Value must be provided when Exists is null "
                 "for Attribute: n", Item=KEY, Expected={"n": {}})


if __name__ == "__main__":
    unittest.main()
