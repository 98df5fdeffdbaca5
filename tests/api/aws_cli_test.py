#!/usr/bin/python3
"""The AWS command line against a weir endpoint (WEIR_URL).

Its commands run in this process, by what /usr/bin/aws calls: starting Python anew for each would take nearly all of
the time."""

import contextlib
import io
import json
import os
import sys
import unittest
import uuid

try:
    import awscli.clidriver
except ImportError as missing:
    print("skipped: awscli is not installed:", missing)
    sys.exit(77)

os.environ.update(AWS_PAGER="", AWS_MAX_ATTEMPTS="1")
DRIVER = awscli.clidriver.create_clidriver()
URL = os.environ["WEIR_URL"]


def run(*words):
    """(exit code, standard output, standard error) of `aws dynamodb WORDS`. A word that is no text is sent as JSON."""
    out, error = io.StringIO(), io.StringIO()
    words = [word if isinstance(word, str) else json.dumps(word) for word in words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = DRIVER.main(["dynamodb", *words, "--endpoint-url", URL])
    return code, out.getvalue(), error.getvalue()


class CommandLineTest(unittest.TestCase):
    def db(self, *words, query=None, output="text"):
        """What a command prints that succeeds."""
        code, out, error = run(*words, *(["--query", query, "--output", output] if query else []))
        self.assertEqual((code, error), (0, ""), words)
        return out.rstrip("\n")

    def refused(self, text, *words):
        code, _, error = run(*words)
        self.assertNotEqual(code, 0, words)
        self.assertIn(text, error)

    def test_a_table_and_its_items(self):
        name = "cli-" + uuid.uuid4().hex
        table = ("--table-name", name)

        def key(p, s):
            return {"p": {"S": p}, "s": {"N": str(s)}}
        self.assertEqual(self.db(
            "create-table", *table, "--attribute-definitions", "AttributeName=p,AttributeType=S",
            "AttributeName=s,AttributeType=N", "--key-schema", "AttributeName=p,KeyType=HASH",
            "AttributeName=s,KeyType=RANGE", "--provisioned-throughput", "ReadCapacityUnits=100,WriteCapacityUnits=100",
            query="TableDescription.TableStatus"), "CREATING")
        self.db("wait", "table-exists", *table)

        arn = self.db("describe-table", *table, query="Table.TableArn")
        self.db("tag-resource", "--resource-arn", arn, "--tags", "Key=team,Value=blue")
        self.assertEqual(self.db("list-tags-of-resource", "--resource-arn", arn, query="Tags[].[Key,Value]"), "team\tblue")

        self.db("put-item", *table, "--item", {**key("a", 1), "v": {"S": "one"}})
        self.db("put-item", *table, "--item", {**key("a", 2), "v": {"S": "two"}})
        self.assertEqual(self.db("get-item", *table, "--consistent-read", "--key", key("a", 1), query="Item.v.S"), "one")
        self.assertEqual(self.db(
            "query", "--consistent-read", *table, "--no-scan-index-forward", "--key-condition-expression",
            "p = :p AND s BETWEEN :a AND :b", "--expression-attribute-values",
            {":p": {"S": "a"}, ":a": {"N": "0"}, ":b": {"N": "9"}}, query="Items[].s.N"), "2\t1")
        scan = ("scan", "--consistent-read", *table)
        self.assertEqual(self.db(*scan, "--select", "COUNT", query="Count"), "2")
        self.assertEqual(self.db(*scan, "--page-size", "1", query="length(Items)", output="json"), "2")

        self.assertEqual(self.db("batch-write-item", "--request-items", {name: [
            {"PutRequest": {"Item": key("b", 3)}}, {"DeleteRequest": {"Key": key("a", 1)}}]},
            query="length(UnprocessedItems)"), "0")
        self.assertEqual(self.db("batch-get-item", "--request-items", {
            name: {"ConsistentRead": True, "Keys": [key("b", 3), key("a", 1)]}}, query=f'Responses."{name}"[].s.N'), "3")
        self.assertEqual(self.db("delete-item", *table, "--return-values", "ALL_OLD", "--key", key("a", 2),
                                 query="Attributes.v.S"), "two")
        self.assertIn(name, self.db("list-tables", query="TableNames").split("\t"))
        self.assertEqual(self.db("update-table", *table, "--billing-mode", "PAY_PER_REQUEST",
                                 query="TableDescription.TableStatus"), "UPDATING")
        self.db("wait", "table-exists", *table)
        self.refused("The provided key element does not match the schema", "get-item", *table, "--key", {"p": {"S": "a"}})
        self.db("delete-table", *table)
        self.db("wait", "table-not-exists", *table)
        self.refused("ResourceNotFoundException", "describe-table", *table)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # those of awscli would come with what its commands print
