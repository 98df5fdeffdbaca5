#!/usr/bin/python3
"""PartiQL: statements in batches and in transactions, what cancels them, and each refusal."""

import unittest

from partiql_test import MALFORMED, PartiqlSuite
from suite import INVALID, n, new_name, s, send

CANCELED = "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]"
IN_TRANSACTION = "Validation failed in TransactStatements[%d]: "


class BatchTest(PartiqlSuite):
    def batch(self, *statements, **more):
        strong = {"ConsistentRead": True}
        status, answer = send("BatchExecuteStatement", {"Statements": [
            self.members(x, (), strong) if isinstance(x, str) else self.members(x[0], x[1:], strong) for x in statements],
            **more})
        self.assertEqual(status, 200, answer)
        self.assertEqual(len(answer["Responses"]), len(statements))
        return answer

    def errors(self, *statements):
        return [r["Error"]["Code"] if "Error" in r else None for r in self.batch(*statements)["Responses"]]

    def test_reads(self):
        for p in ("ra", "ra-too"):
            self.put(p, v=n(1), m={"M": {"k": s("x")}})
        answer = self.batch(("SELECT * FROM {t} WHERE p = ? AND s = ?", s("ra"), s("1")),
                            "SELECT v, m.k FROM {t} WHERE p IN ['ra-too'] AND s = '1'",
                            "SELECT * FROM {t} WHERE p = 'none' AND s = '1'", ReturnConsumedCapacity="TOTAL")
        self.assertEqual(answer["Responses"], [
            {"TableName": self.table, "Item": {"p": s("ra"), "s": s("1"), "v": n(1), "m": {"M": {"k": s("x")}}}},
            {"TableName": self.table, "Item": {"v": n(1), "k": s("x")}}, {"TableName": self.table}])
        self.assertEqual(answer["ConsumedCapacity"], [{"TableName": self.table, "CapacityUnits": 3.0}])

    def test_reads_that_are_refused(self):
        self.put("rb")
        key = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
        good, slipped = "SELECT * FROM {t} WHERE p = 'rb' AND s = '1'", new_name()
        answer = self.batch(good, "SLECT * FROM {t}", "SELECT * FROM {t} WHERE p = 'rb'",
                            good + " AND v = 1", 'SELECT * FROM {t}."x" WHERE p = \'rb\' AND s = \'1\'',
                            "SELECT * FROM \"%s\" WHERE p = 'x'" % slipped, good + " AND p = 'other'",
                            "EXISTS(" + good + " AND v IS MISSING)")
        def error(code, text):
            return {"Error": {"Code": code, "Message": text}}
        self.assertEqual(answer["Responses"][0]["Item"]["p"], s("rb"))
        self.assertEqual(answer["Responses"][1:], [
            error("ValidationError", MALFORMED + "Expected data manipulation"), error("ValidationError", key),
            error("ValidationError", key), error("ValidationError", key),
            error("ResourceNotFound", "Requested resource not found"), error("ValidationError", key),
            error("ValidationError", "EXISTS can only be used in ExecuteTransaction write requests.")])

    def test_writes(self):
        self.put("wa", v=n(1))
        self.put("wb", v=n(1))
        self.put("wd", v=n(1))
        self.put("we")
        answer = self.batch("INSERT INTO {t} VALUE {'p': 'wc', 's': '1'}",
                            "UPDATE {t} SET v = 2 WHERE p = 'wa' AND s = '1' RETURNING MODIFIED NEW *",
                            "DELETE FROM {t} WHERE p = 'wb' AND s = '1' RETURNING ALL OLD *",
                            "UPDATE {t} REMOVE none WHERE p = 'wd' AND s = '1' RETURNING MODIFIED NEW *",
                            ReturnConsumedCapacity="INDEXES")
        self.assertEqual(answer["Responses"], [
            {"TableName": self.table}, {"TableName": self.table, "Item": {"v": n(2)}},
            {"TableName": self.table, "Item": {"p": s("wb"), "s": s("1"), "v": n(1)}}, {"TableName": self.table}])
        self.assertEqual(answer["ConsumedCapacity"][0]["Table"], {"CapacityUnits": 4.0})
        self.assertEqual(self.errors("INSERT INTO {t} VALUE {'p': 'wc', 's': '1'}",
                                     "UPDATE {t} SET v = 3 WHERE p = 'wa' AND s = '1' AND v = 9",
                                     "UPDATE {t} SET v = 3 WHERE p = 'wa'", "UPDATE {t} SET v = 4 WHERE p = 'wd' AND s = '1'",
                                     "UPDATE {t} SET v = x + 1 WHERE p = 'we' AND s = '1'"),
                         ["DuplicateItem", "ConditionalCheckFailed", "ValidationError", None, "ValidationError"])
        self.assertEqual((self.get("wa")["v"], self.get("wd")["v"]), (n(2), n(4)))
        status, answer = send("BatchExecuteStatement", {"Statements": [{
            **self.members("UPDATE {t} SET v = 3 WHERE p = 'wa' AND s = '1' AND v = 9", (), {}),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}]})
        self.assertEqual((status, answer["Responses"][0]["Error"]["Item"]["v"]), (200, n(2)))
        self.assertEqual(answer["Responses"][0]["TableName"], self.table)

    def test_an_item_occurs_once(self):
        repeated = "Provided list of item keys contains duplicates"
        for statements in (["SELECT * FROM {t} WHERE p = 'x' AND s = '1'"] * 2,
                           ["INSERT INTO {t} VALUE {'p': 'x', 's': '1'}", "DELETE FROM {t} WHERE p = 'x' AND s = '1'"]):
            status, answer = send("BatchExecuteStatement", {"Statements": [self.members(x, (), {}) for x in statements]})
            self.assertEqual((status, answer.get("message")), (400, repeated))
        self.assertIsNone(self.get("x"))

    def test_bounds(self):
        one = "SELECT * FROM {t} WHERE p = 'a' AND s = '1'"
        self.batch(*("SELECT * FROM {t} WHERE p = 'a' AND s = '%d'" % i for i in range(25)))
        for count in (0, 26):
            status, answer = send("BatchExecuteStatement", {"Statements": [self.members(one, (), {})] * count})
            self.assertEqual((status, answer["__type"].split("#")[1]), (400, "ValidationException"))
        status, answer = send("BatchExecuteStatement", {"Statements": [
            self.members(one, (), {}), self.members("DELETE FROM {t} WHERE p = 'a' AND s = '1'", (), {})]})
        self.assertEqual((status, answer["message"]), (400, "BatchExecuteStatement API does not support both read and "
                                                            "write operations in the same request."))


class TransactionTest(PartiqlSuite):
    def transact(self, *statements, **more):
        return send("ExecuteTransaction", {"TransactStatements": [
            self.members(x, (), {}) if isinstance(x, str) else self.members(x[0], x[1:], {}) for x in statements], **more})

    def together(self, *statements, **more):
        status, answer = self.transact(*statements, **more)
        self.assertEqual(status, 200, answer)
        return answer

    def stopped(self, message, *statements):
        status, answer = self.transact(*statements)
        self.assertEqual((status, answer["__type"].split("#")[1], answer["message"]),
                         (400, "ValidationException", message))

    def canceled(self, codes, *statements):
        status, answer = self.transact(*statements)
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, "TransactionCanceledException"), answer)
        self.assertEqual(answer["Message"], CANCELED % ", ".join(codes))
        self.assertEqual([r["Code"] for r in answer["CancellationReasons"]], codes)
        return answer["CancellationReasons"]

    def test_reads(self):
        self.put("ta", v=n(1), m={"M": {"k": s("x")}})
        answer = self.together(("SELECT * FROM {t} WHERE p = ? AND s = '1'", s("ta")),
                               "SELECT m.k FROM {t} WHERE p = 'ta' AND s = '2'", ReturnConsumedCapacity="TOTAL")
        self.assertEqual(answer["Responses"], [{"Item": {"p": s("ta"), "s": s("1"), "v": n(1), "m": {"M": {"k": s("x")}}}},
                                               {}])
        self.assertEqual(answer["ConsumedCapacity"], [{"TableName": self.table, "CapacityUnits": 4.0,
                                                       "ReadCapacityUnits": 4.0}])
        self.assertEqual(self.together("SELECT m.k FROM {t} WHERE (s IN ['1']) AND p = 'ta'")["Responses"],
                         [{"Item": {"k": s("x")}}])

    def test_reads_that_are_refused(self):
        one = "SELECT * FROM {t} WHERE p = 'ta' AND s = '1'"
        key = IN_TRANSACTION % 0 + "Select statements within ExecuteTransaction must specify the primary key in the " \
                                   "where clause."
        self.stopped(key, "SELECT * FROM {t} WHERE p = 'ta'")
        self.stopped(key, one + " AND v = 1")
        self.stopped(IN_TRANSACTION % 1 + MALFORMED + "Unexpected term", one, "SELECT * FROM {t} WHERE")
        self.stopped(IN_TRANSACTION % 0 + "Reads on indices are not supported within transactions.",
                     'SELECT * FROM {t}."x" WHERE p = \'a\' AND s = \'1\'')
        self.stopped("Transaction request cannot include multiple operations on one item", one, one)
        self.stopped("ExecuteTransaction API does not support both read and write operations in the same request.",
                     one, "DELETE FROM {t} WHERE p = 'x' AND s = '1'")
        absent = "SELECT * FROM \"%s\" WHERE p = 'x' AND s = '1'" % new_name()
        mistyped = "SELECT * FROM {t} WHERE p = 'ta' AND s = 1"
        reasons = self.canceled(["None", "ResourceNotFound", "None"], one, absent, mistyped)
        self.assertEqual(reasons[1]["Message"], "Requested resource not found")
        reasons = self.canceled(["None", "ValidationError", "None"], one, mistyped, absent)
        self.assertEqual(reasons[1]["Message"], "The provided key element does not match the schema")

    def test_writes(self):
        self.put("tb", v=n(1))
        self.put("tc", v=n(1))
        answer = self.together("INSERT INTO {t} VALUE {'p': 'td', 's': '1'}",
                               "UPDATE {t} SET v = v + 1 WHERE p = 'tb' AND s = '1' AND v = 1",
                               "DELETE FROM {t} WHERE p = 'tc' AND s = '1'",
                               "DELETE FROM {t} WHERE p = 'none' AND s = '1'", ReturnConsumedCapacity="TOTAL")
        self.assertEqual(answer["Responses"], [])
        self.assertEqual(answer["ConsumedCapacity"],
                         [{"TableName": self.table, "CapacityUnits": 8.0, "WriteCapacityUnits": 8.0}])
        self.assertEqual((self.get("tb")["v"], self.get("tc"), self.get("td")["p"]), (n(2), None, s("td")))

    def test_writes_that_are_canceled(self):
        self.put("te", v=n(1))
        update = "UPDATE {t} SET v = 2 WHERE p = 'te' AND s = '1'"
        reasons = self.canceled(["None", "DuplicateItem", "ConditionalCheckFailed"], "DELETE FROM {t} WHERE p = 'x' AND s = '1'",
                                "INSERT INTO {t} VALUE {'p': 'te', 's': '1'}",
                                "UPDATE {t} SET v = 2 WHERE p = 'none' AND s = '1'")
        self.assertEqual([r.get("Message") for r in reasons],
                         [None, "Duplicate primary key exists in table", "The conditional request failed"])
        for code, text, statement in (
                ("ValidationError", "The provided key element does not match the schema",
                 "UPDATE {t} SET v = 2 WHERE p = 'te'"),
                ("ResourceNotFound", "Requested resource not found", "DELETE FROM \"%s\" WHERE p = 'x'" % new_name()),
                ("ValidationError", INVALID + "Missing the key s in the item", "INSERT INTO {t} VALUE {'p': 'te'}")):
            reasons = self.canceled(["None", code, "None"], update, statement, statement)
            self.assertEqual([r.get("Message") for r in reasons], [None, text, None])
        self.stopped(IN_TRANSACTION % 0 + "RETURNING clause is not supported in ExecuteTransaction.",
                     update + " RETURNING ALL OLD *")
        self.stopped("Transaction request cannot include multiple operations on one item", update,
                     "DELETE FROM {t} WHERE p = 'te' AND s = '1'")
        self.assertEqual(self.get("te")["v"], n(1))
        status, answer = send("ExecuteTransaction", {"TransactStatements": [{
            **self.members(update + " AND v = 9", (), {}), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}]})
        self.assertEqual((status, answer["CancellationReasons"][0]["Item"]["v"]), (400, n(1)))

    def test_exists(self):
        self.put("tf", v=n(1))
        self.put("tg", v=n(1))
        exists = "EXISTS(SELECT * FROM {t} WHERE p = 'tf' AND s = '1'%s)"
        update = "UPDATE {t} SET v = v + 1 WHERE p = 'tg' AND s = '1'"
        self.together(exists % " AND x IS MISSING", update)
        self.canceled(["ConditionalCheckFailed", "None"], exists % " AND v IS MISSING", update)
        self.canceled(["ConditionalCheckFailed", "None"], (exists % " AND x IS MISSING").replace("'tf'", "'none'"), update)
        self.stopped(IN_TRANSACTION % 0 + "EXISTS() must contain a single item read with additional condition",
                     exists % "", update)
        self.assertEqual(self.get("tg")["v"], n(2))

    def test_a_token_is_done_once(self):
        self.put("th", v=n(1))
        token, update = "once-" + self.table[:20], "UPDATE {t} SET v = v + 1 WHERE p = 'th' AND s = '1'"
        for _ in range(3):
            self.together(update, ClientRequestToken=token)
        self.assertEqual(self.get("th")["v"], n(2))
        insert, maps = "INSERT INTO {t} VALUE {'p': 'ti', 's': '1', 'm': ?}", "maps-" + self.table[:20]
        self.together((insert, {"M": {"a": n(1), "b": n(2)}}), ClientRequestToken=maps)
        self.together((insert, {"M": {"b": n(2), "a": n(1)}}), ClientRequestToken=maps)
        status, answer = self.transact(update.replace("+ 1", "+ 2"), ClientRequestToken=token)
        self.assertEqual((status, answer["__type"].split("#")[1]), (400, "IdempotentParameterMismatchException"))

    def test_bounds(self):
        one = "DELETE FROM {t} WHERE p = 'bound-%d' AND s = '1'"
        self.together(*[one % i for i in range(100)])
        for count in (0, 101):
            status, answer = self.transact(*[one % i for i in range(count)])
            self.assertEqual((status, answer["__type"].split("#")[1]), (400, "ValidationException"))


if __name__ == "__main__":
    unittest.main()
