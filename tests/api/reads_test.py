"""Query and Scan: key conditions, filters, Select, pages, segments, capacity."""

import unittest

from suite import INVALID, Suite, n, s

COUNT = 30


class ReadTest(Suite):
    SORT = "N"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        me = cls("test_key_conditions")
        for i in range(COUNT):
            me.ok("PutItem", Item={"p": s("a" if i < 20 else "b"), "s": n(i), "even": {"BOOL": i % 2 == 0},
                                   "m": {"M": {"k": n(i)}}})

    def query(self, condition="p = :p", values=None, **more):
        return self.ok("Query", KeyConditionExpression=condition, ConsistentRead=True,
                       ExpressionAttributeValues={":p": s("a"), **(values or {})}, **more)

    def numbers(self, answer):
        return [int(item["s"]["N"]) for item in answer["Items"]]

    def test_key_conditions(self):
        for condition, values, wanted in (
            ("p = :p", {}, range(20)), ("p = :p AND s = :1", {":1": n(3)}, [3]),
            ("s < :1 AND p = :p", {":1": n(3)}, range(3)), ("p = :p AND s <= :1", {":1": n(3)}, range(4)),
            ("p = :p AND s > :1", {":1": n(16)}, [17, 18, 19]), ("p = :p AND s >= :1", {":1": n("16.5")}, [17, 18, 19]),
            ("(p = :p) AND (s BETWEEN :1 AND :2)", {":1": n(4), ":2": n(6)}, [4, 5, 6]),
            (":p = p", {}, range(20)),
        ):
            with self.subTest(condition):
                self.assertEqual(self.numbers(self.query(condition, values)), list(wanted))
        self.assertEqual(self.numbers(self.query(ScanIndexForward=False)), list(range(19, -1, -1)))

    def test_filters_count_what_was_scanned(self):
        answer = self.query(values={":t": {"BOOL": True}}, FilterExpression="even = :t")
        self.assertEqual((answer["Count"], answer["ScannedCount"]), (10, 20))
        answer = self.query(values={":t": {"BOOL": True}}, FilterExpression="even = :t", Limit=5)
        self.assertEqual((answer["Count"], answer["ScannedCount"]), (3, 5))
        self.assertEqual(answer["LastEvaluatedKey"], {"p": s("a"), "s": n(4)})
        answer = self.query(values={":x": n(99)}, FilterExpression="m.k = :x")
        self.assertEqual(answer["Items"], [])
        self.assertNotIn("LastEvaluatedKey", answer)
        answer = self.ok("Scan", FilterExpression="m.k > :x", ExpressionAttributeValues={":x": n(24)},
                         ConsistentRead=True)
        self.assertEqual((answer["Count"], answer["ScannedCount"]), (5, COUNT))

    def test_select_and_projections(self):
        answer = self.query(Select="COUNT")
        self.assertEqual((answer["Count"], answer["ScannedCount"]), (20, 20))
        self.assertNotIn("Items", answer)
        answer = self.query("p = :p AND s = :1", {":1": n(3)}, ProjectionExpression="m.k")
        self.assertEqual(answer["Items"], [{"m": {"M": {"k": n(3)}}}])
        answer = self.query("p = :p AND s = :1", {":1": n(3)}, ProjectionExpression="s",
                            Select="SPECIFIC_ATTRIBUTES")
        self.assertEqual(answer["Items"], [{"s": n(3)}])
        self.bad("Query", "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
                 KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": s("a")},
                 Select="ALL_ATTRIBUTES", ProjectionExpression="s")
        self.bad("Scan", "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
                 Select="ALL_PROJECTED_ATTRIBUTES")

    def test_pages_join_to_the_whole_both_ways(self):
        for forward in (True, False):
            for limit in (1, 3, 7, 20, 21):
                got, start = [], {}
                while True:
                    page = self.query(Limit=limit, ScanIndexForward=forward, **start)
                    got += self.numbers(page)
                    if "LastEvaluatedKey" not in page:
                        break
                    self.assertEqual(page["LastEvaluatedKey"], {"p": s("a"), "s": n(got[-1])})
                    start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
                self.assertEqual(got, list(range(20)) if forward else list(range(19, -1, -1)))

    def test_segments_cover_the_table_once(self):
        got = []
        for segment in range(4):
            start = {}
            while True:
                page = self.ok("Scan", TotalSegments=4, Segment=segment, Limit=4, ConsistentRead=True, **start)
                got += self.numbers(page)
                if "LastEvaluatedKey" not in page:
                    break
                start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        self.assertEqual(sorted(got), list(range(COUNT)))

    def test_a_filter_costs_what_was_read(self):
        def units(**more):
            return self.query(ReturnConsumedCapacity="TOTAL", **more)["ConsumedCapacity"]["CapacityUnits"]
        self.assertEqual(units(), 1)
        self.assertEqual(units(values={":x": n(99)}, FilterExpression="m.k = :x"), 1)

    def test_wrong_reads_are_refused(self):
        values = {":p": s("a"), ":1": n(1)}
        for message, members in (
            ("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.", {}),
            ("Query condition missed key schema element: p", {"KeyConditionExpression": "s = :1"}),
            ("Query key condition not supported", {"KeyConditionExpression": "p > :p AND s = :1"}),
            (INVALID + "Condition parameter type does not match schema type",
             {"KeyConditionExpression": "p = :1 AND s = :p"}),
            ("Filter Expression can only contain non-primary key attributes: Primary key attribute: s",
             {"KeyConditionExpression": "p = :p", "FilterExpression": "s = :1"}),
            ('Invalid FilterExpression: Syntax error; token: "<EOF>", near: "="',
             {"KeyConditionExpression": "p = :p", "FilterExpression": "x ="}),
            ("1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have "
             "value greater than or equal to 1", {"KeyConditionExpression": "p = :p", "Limit": 0}),
        ):
            more = {}
            if "KeyConditionExpression" in members:
                text = " ".join(v for v in members.values() if isinstance(v, str))
                more = {"ExpressionAttributeValues": {k: v for k, v in values.items() if k in text}}
            with self.subTest(message):
                self.bad("Query", message, **members, **more)
        self.bad("Scan", "The TotalSegments parameter is required but was not present in the request when "
                 "Segment parameter is present", Segment=0)
        self.bad("Scan", "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
                 "Segment: 4 is not less than TotalSegments: 4", Segment=4, TotalSegments=4)
        self.bad("Query", "The provided starting key is outside query boundaries based on provided conditions",
                 KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": s("a")},
                 ExclusiveStartKey={"p": s("b"), "s": n(1)})


if __name__ == "__main__":
    unittest.main()
