"""BatchGetItem and BatchWriteItem."""

import unittest

from suite import Suite, n, s


class BatchTest(Suite):
    def write(self, *requests):
        return self.ok("BatchWriteItem", RequestItems={self.table: list(requests)},
                       ReturnConsumedCapacity="TOTAL")

    def test_what_is_put_is_got_and_deleted(self):
        answer = self.write(*({"PutRequest": {"Item": {"p": s(str(i)), "v": n(i), "w": n(i)}}} for i in range(25)))
        self.assertEqual(answer["UnprocessedItems"], {})
        self.assertEqual(answer["ConsumedCapacity"], [{"TableName": self.table, "CapacityUnits": 25}])
        keys = [{"p": s(str(i))} for i in range(30)]
        answer = self.ok("BatchGetItem", RequestItems={self.table: {
            "Keys": keys, "ConsistentRead": True, "ProjectionExpression": "p, #v",
            "ExpressionAttributeNames": {"#v": "v"}}}, ReturnConsumedCapacity="TOTAL")
        self.assertEqual(sorted(answer["Responses"][self.table], key=str),
                         sorted(({"p": s(str(i)), "v": n(i)} for i in range(25)), key=str))
        self.assertEqual(answer["ConsumedCapacity"], [{"TableName": self.table, "CapacityUnits": 30}])
        self.assertEqual(answer["UnprocessedKeys"], {})
        self.write(*({"DeleteRequest": {"Key": {"p": s(str(i))}}} for i in range(25)))
        answer = self.ok("BatchGetItem", RequestItems={self.table: {"Keys": keys, "ConsistentRead": True}})
        self.assertEqual(answer["Responses"], {self.table: []})

    def test_wrong_batches_are_refused(self):
        put = {"PutRequest": {"Item": {"p": s("a")}}}
        for message, operation, items in (
            ("Provided list of item keys contains duplicates", "BatchWriteItem", [put, put]),
            ("Provided list of item keys contains duplicates", "BatchGetItem", {"Keys": [{"p": s("a")}] * 2}),
            ("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
             "datatypes", "BatchWriteItem", [{"DeleteRequest": {"Key": {"p": {"S": "a", "N": "1"}}}}]),
            ("The provided key element does not match the schema", "BatchGetItem", {"Keys": [{"q": s("a")}]}),
        ):
            with self.subTest(message):
                self.bad(operation, message, RequestItems={self.table: items})
        self.bad("BatchWriteItem", "Requested resource not found", "ResourceNotFoundException",
                 RequestItems={"not-there": [put]})
        many = [{"PutRequest": {"Item": {"p": s(str(i))}}} for i in range(26)]
        self.bad("BatchWriteItem", None, RequestItems={self.table: many})
        self.bad("BatchGetItem", None, RequestItems={self.table: {"Keys": [{"p": s(str(i))} for i in range(101)]}})


if __name__ == "__main__":
    unittest.main()
