#!/usr/bin/python3
"""What weir shows of its requests is what clients saw: counts of GET /metrics, and records of `weir explain`.

WEIR: the program, for `weir load` and `weir explain`. The server of WEIR_URL has split keys and show_keys = full.
"""

import collections
import json
import os
import re
import subprocess
import unittest
import urllib.request

import suite
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse_text

WEIR = os.environ["WEIR"]
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def page(path, accept="*/*"):
    request = urllib.request.Request(suite.URL + path, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=suite.WAIT_S) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def samples(text, parse=parse_text):
    """{(name, labels): value}"""
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for f in parse(text) for s in f.samples}


def total(found, name, **labels):
    """The sum of the samples with these labels."""
    return sum(value for (other, given), value in found.items()
               if other == name and labels.items() <= dict(given).items())


def load(table, *options):
    """The result of a run whose requests all have an answer."""
    result = subprocess.run([WEIR, "load", "--url", suite.URL, "--table", table, "--create-table", "--quiet", "--json",
                             *options], capture_output=True, text=True, timeout=300, check=True)
    run = json.loads(result.stdout)["workloads"][0]
    assert run["unfinished"] == run["failed"] == run["client_overrun"] == 0, run
    return run


class MetricsTest(unittest.TestCase):
    def reconcile(self, table, run, operation, kind):
        found = samples(page("/metrics")[1])
        refused = {reason: total(found, "weir_table_refused_total", table=table, kind=kind, reason=reason)
                   for reason in ("key-range", "table", "allocation", "node", "member", "index")}
        self.assertEqual(run["throttled"], sum(refused.values()))
        self.assertEqual(run["throttled_by_reason"].get("TableWriteKeyRangeThroughputExceeded", 0),
                         refused["key-range"])
        self.assertEqual(run["writes_admitted"] if kind == "write" else run["reads_admitted"],
                         total(found, "weir_requests_total", operation=operation, outcome="ok") - self.before)
        self.before += run["admitted"]
        self.throttled += run["throttled"]
        self.assertEqual(total(found, "weir_requests_total", operation=operation, outcome="throttled"), self.throttled)
        consumed = total(found, "weir_table_consumed_units_total", table=table, kind=kind)
        self.assertEqual(consumed, run["write_units_admitted"])
        self.assertEqual(total(found, "weir_table_refused_units_total", table=table, kind=kind), run["throttled"])

    def test_counts_are_those_of_the_clients_also_while_a_partition_is_split(self):
        found = samples(page("/metrics")[1])
        self.before = total(found, "weir_requests_total", operation="PutItem", outcome="ok")
        self.throttled = total(found, "weir_requests_total", operation="PutItem", outcome="throttled")
        for keys, options in ((1, ()), (500, ()), (500, ("--item-bytes", "900"))):
            table = suite.new_name()
            run = load(table, "--rate", "2500", "--duration", "2s", "--wcu", "3000", "--keys", str(keys), *options)
            self.reconcile(table, run, "PutItem", "write")
        self.assertGreater(self.throttled, 0)

    def test_both_forms_are_read_by_the_official_parser_and_have_the_same_series(self):
        suite.send("ListTables", {})
        kind, text = page("/metrics")
        self.assertEqual(kind, "text/plain; version=0.0.4; charset=utf-8")
        open_kind, open_text = page("/metrics", OPEN)
        self.assertEqual(open_kind, OPEN)
        self.assertTrue(open_text.endswith("# EOF\n"))
        of_text, of_open = samples(text), samples(open_text, parse_open)
        self.assertEqual(set(of_text), set(of_open))
        for (name, labels), value in of_text.items():
            if name.endswith("_total"):
                self.assertLessEqual(value, of_open[name, labels])
        self.assertEqual(total(of_text, "weir_build_info", role="router"), 1)

    def test_a_histogram_counts_all_answers(self):
        for _ in range(3):
            suite.send("ListTables", {})
        found = samples(page("/metrics")[1])
        count = total(found, "weir_request_duration_seconds_count", operation="ListTables")
        self.assertEqual(count, total(found, "weir_request_duration_seconds_bucket", operation="ListTables", le="+Inf"))
        self.assertEqual(count, total(found, "weir_requests_total", operation="ListTables"))


class UnitsTest(unittest.TestCase):
    """The sums of ConsumedCapacity, of all kinds of requests, are those of the page."""

    def setUp(self):
        self.client, self.table, self.sums = suite.boto(), suite.new_name(), collections.Counter()
        throughput = {"ReadCapacityUnits": 1000, "WriteCapacityUnits": 1000}
        all_attributes = {"Projection": {"ProjectionType": "ALL"}}
        suite.make_table({
            "TableName": self.table, "ProvisionedThroughput": throughput,
            "AttributeDefinitions": [{"AttributeName": a, "AttributeType": "S"} for a in "psg"],
            "KeySchema": self.keys("p", "s"),
            "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": self.keys("p", "g"), **all_attributes}],
            "GlobalSecondaryIndexes": [{"IndexName": "global", "KeySchema": self.keys("g"), **all_attributes,
                                        "ProvisionedThroughput": throughput}]})

    @staticmethod
    def keys(*names):
        return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"))]

    @staticmethod
    def item(number, more=None, size=100):
        item = {"p": {"S": "p%d" % (number % 7)}, "s": {"S": "s%d" % number}, "v": {"S": "x" * size}}
        return item if more is None else {**item, "g": {"S": more}}

    def key(self, number):
        return {name: self.item(number)[name] for name in "ps"}

    def done(self, kind, operation, **request):
        answer = getattr(self.client, operation)(ReturnConsumedCapacity="INDEXES", **request)
        consumed = answer["ConsumedCapacity"]
        for one in consumed if isinstance(consumed, list) else [consumed]:
            local = one.get("LocalSecondaryIndexes", {}).values()
            self.sums["", kind] += one.get("Table", {}).get("CapacityUnits", 0) + sum(x["CapacityUnits"] for x in local)
            for name, units in one.get("GlobalSecondaryIndexes", {}).items():
                self.sums[name, kind] += units["CapacityUnits"]
        return answer

    def write(self):
        table = {"TableName": self.table}
        for i in range(30):
            self.done("write", "put_item", **table, Item=self.item(i, "g%d" % (i % 3) if i % 2 else None, i * 200))
        for i in range(10):
            self.done("write", "update_item", **table, Key=self.key(i), UpdateExpression="SET g = :g",
                      ExpressionAttributeValues={":g": {"S": "new"}})
        self.done("write", "batch_write_item",
                  RequestItems={self.table: [{"PutRequest": {"Item": self.item(100 + i, "b")}} for i in range(20)]})
        self.done("write", "transact_write_items",
                  TransactItems=[{"Put": {**table, "Item": self.item(200 + i, "t", 1500)}} for i in range(5)])

    def fail(self):
        """Three writes of a transaction, and one alone: they cost seven units, which no answer tells."""
        table = {"TableName": self.table}
        with self.assertRaises(self.client.exceptions.TransactionCanceledException):
            self.client.transact_write_items(TransactItems=[
                {"Put": {**table, "Item": self.item(300 + i), "ConditionExpression": "attribute_exists(p)"}}
                for i in range(3)])
        with self.assertRaises(self.client.exceptions.ConditionalCheckFailedException):
            self.client.put_item(**table, Item=self.item(0), ConditionExpression="attribute_not_exists(p)")
        self.sums["", "write"] += 3 * 2 + 1

    def read(self):
        table, one = {"TableName": self.table}, {"ExpressionAttributeValues": {":p": {"S": "p1"}}}
        for i in range(10):
            self.done("read", "get_item", **table, Key=self.key(i), ConsistentRead=bool(i % 2))
        self.done("read", "batch_get_item", RequestItems={self.table: {"Keys": [self.key(100 + i) for i in range(20)]}})
        self.done("read", "transact_get_items",
                  TransactItems=[{"Get": {**table, "Key": self.key(200 + i)}} for i in range(5)])
        page = {"LastEvaluatedKey": None}
        while "LastEvaluatedKey" in page:
            after = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if page["LastEvaluatedKey"] else {}
            page = self.done("read", "query", **table, KeyConditionExpression="p = :p", Limit=3, **one, **after)
        self.done("read", "query", **table, IndexName="local", KeyConditionExpression="p = :p", **one)
        self.done("read", "scan", **table)
        self.done("read", "scan", **table, IndexName="global")
        self.done("read", "execute_statement", Statement="SELECT * FROM \"%s\" WHERE p = 'p1'" % self.table)

    def test_units_of_a_table_and_its_indexes_are_those_of_the_answers(self):
        self.write()
        self.fail()
        self.read()
        found = samples(page("/metrics")[1])
        for index, kind in (("", "read"), ("", "write"), ("global", "read"), ("global", "write")):
            self.assertEqual(total(found, "weir_table_consumed_units_total", table=self.table, index=index, kind=kind),
                             self.sums[index, kind], (index, kind))


class ExplainTest(unittest.TestCase):
    def explain(self, *arguments, code=0):
        result = subprocess.run([WEIR, "explain", *arguments, "--url", suite.URL], capture_output=True, text=True,
                                timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout

    def test_the_text_of_an_exception_leads_to_the_reason_of_the_answer(self):
        table = suite.new_name()
        suite.make_table({"TableName": table, **suite.keys_of(("p", "S")), "BillingMode": "PROVISIONED",
                          "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}})
        client = suite.boto()
        for _ in range(5):
            try:
                client.put_item(TableName=table, Item={"p": {"S": "a"}, "v": {"S": "x" * 300000}})
            except client.exceptions.ProvisionedThroughputExceededException as e:
                error = e
                break
        headers = error.response["ResponseMetadata"]["HTTPHeaders"]
        said = "%s (request id: %s)" % (error, error.response["ResponseMetadata"]["RequestId"])
        text, found = self.explain(said), json.loads(self.explain(said, "--json"))
        self.assertEqual(found["reason"], headers["x-weir-throttled-by"])
        self.assertEqual(headers["x-weir-explain"], "/weir/explain/" + found["id"])
        self.assertEqual(found["table"], table)
        self.assertEqual(found["cost_units"], 293)
        self.assertEqual(found["key"], 'p="a"')
        [refusing] = [row for row in found["decision"]["limits"] if row["verdict"] == "REFUSED"]
        self.assertLess(refusing["level_units"], found["cost_units"])
        self.assertAlmostEqual(refusing["wait_us"] / 1000, int(headers["x-weir-retry-after-ms"]), delta=1)
        self.assertIn("REFUSED", text.splitlines()[0])
        self.assertIn("cost 293 WCU", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        self.assertIn(found["id"], self.explain("--table", table))
        self.assertEqual(self.explain("--table", table, "--reason", "overload"), "no such record\n")

    def test_an_id_that_has_no_record_and_a_text_without_an_id_are_different_errors(self):
        request_id = suite.boto().list_tables()["ResponseMetadata"]["RequestId"]
        if not re.search(request_id, self.explain("--last", "1000")):
            self.explain(request_id, code=1)
        self.explain("nothing here", code=2)


if __name__ == "__main__":
    unittest.main()
