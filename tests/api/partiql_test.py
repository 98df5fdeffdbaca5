#!/usr/bin/python3
"""PartiQL: what statements do and cost, by which requests, and each refusal."""

import base64
import json
import os
import random
import unittest

from suite import INVALID, Suite, boto, keys_of, n, new_name, s, send, steady, until

MALFORMED = "Statement wasn't well formed, can't be processed: "
NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"


class PartiqlSuite(Suite):
    """A table by p and s, both texts. {t} in a statement is its name."""

    SORT = "S"

    def members(self, statement, parameters, more):
        body = {"Statement": statement.replace("{t}", '"%s"' % self.table), **more}
        if parameters:
            body["Parameters"] = list(parameters)
        return body

    def run_one(self, statement, *parameters, **more):
        """Reads of the table see what was written before."""
        if statement.startswith("SELECT") and '"by-g"' not in statement and '"by-many"' not in statement:
            more = {"ConsistentRead": True, **more}
        return send("ExecuteStatement", self.members(statement, parameters, more))

    def done(self, statement, *parameters, **more):
        status, answer = self.run_one(statement, *parameters, **more)
        self.assertEqual(status, 200, (statement, answer))
        return answer

    def items(self, statement, *parameters, **more):
        return self.done(statement, *parameters, **more)["Items"]

    def refused(self, message, statement, *parameters, kind="ValidationException", **more):
        status, answer = self.run_one(statement, *parameters, **more)
        self.assertEqual(status, 400, (statement, answer))
        self.assertEqual(answer["__type"].split("#")[1], kind, answer)
        if message is not None:
            self.assertEqual(answer["message"], message)
        return answer

    def put(self, p, sort="1", **attributes):
        self.ok("PutItem", Item={"p": s(p), "s": s(sort), **attributes})

    def get(self, p, sort="1"):
        return self.ok("GetItem", Key={"p": s(p), "s": s(sort)}, ConsistentRead=True).get("Item")

    def sorts(self, where, *parameters, **more):
        return [i["s"]["S"] for i in self.items("SELECT * FROM {t} WHERE " + where, *parameters, ConsistentRead=True,
                                                **more)]

    def update(self, p, actions, *parameters):
        self.done("UPDATE {t} %s WHERE p = '%s' AND s = '1'" % (actions, p), *parameters)
        return self.get(p)


class WritesTest(PartiqlSuite):
    def test_insert_of_every_literal(self):
        self.assertEqual(self.done("""INSERT INTO {t} VALUE {'p': 'lit', 's': '1', 'n': 1E3, 'd': -1.50, 'z': -0,
            'q': 'it''s here', 'yes': TRUE, 'no': false, 'nil': null, 'l': [1, 'a', [], {}], 'm': {'k': {'x': 1}},
            'ns': <<1, 34, 4.5>>, 'ss': <<'a', 'b'>>}"""), {"Items": []})
        self.assertEqual(self.get("lit"), {
            "p": s("lit"), "s": s("1"), "n": n(1000), "d": n(-1.5), "z": n(0), "q": s("it's here"),
            "yes": {"BOOL": True}, "no": {"BOOL": False}, "nil": {"NULL": True},
            "l": {"L": [n(1), s("a"), {"L": []}, {"M": {}}]}, "m": {"M": {"k": {"M": {"x": n(1)}}}},
            "ns": {"NS": ["1", "34", "4.5"]}, "ss": {"SS": ["a", "b"]}})

    def test_insert_with_parameters(self):
        self.done("INSERT INTO {t} VALUE {'p': ?, 's': ?, 'b': ?, 'm': ?}", s("par"), s("1"), {"B": "AAE="},
                  {"M": {"x": {"BS": ["AA=="]}}})
        self.assertEqual(self.get("par"), {"p": s("par"), "s": s("1"), "b": {"B": "AAE="},
                                           "m": {"M": {"x": {"BS": ["AA=="]}}}})
        for parameters in ((), (s("par"),), (s("par"), s("1"), s("x"))):
            self.refused("Number of parameters in request and statement don't match.",
                         "SELECT * FROM {t} WHERE p = ? AND s = ?", *parameters)

    def test_insert_of_an_item_that_exists(self):
        self.put("dup", v=n(1))
        self.refused("Duplicate primary key exists in table", "INSERT INTO {t} VALUE {'p': 'dup', 's': '1', 'v': 2}",
                     kind="DuplicateItemException")
        self.assertEqual(self.get("dup")["v"], n(1))
        self.done("DELETE FROM {t} WHERE p = 'dup' AND s = '1'")
        self.done("INSERT INTO {t} VALUE {'p': 'dup', 's': '1', 'v': 2}")
        self.assertEqual(self.get("dup")["v"], n(2))

    def test_insert_that_does_not_fit(self):
        insert = "INSERT INTO {t} VALUE {'p': 'bad', 's': '1', 'x': %s}"
        self.refused(INVALID + "Missing the key s in the item", "INSERT INTO {t} VALUE {'p': 'bad'}")
        self.refused(INVALID + "Type mismatch for key s expected: S actual: N",
                     "INSERT INTO {t} VALUE {'p': 'bad', 's': 1}")
        self.refused("Empty bags are not supported", insert % "<<>>")
        self.refused("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
                     insert % "<<1, 'a'>>")
        self.refused(INVALID + "Input collection [a, a] contains duplicates.", insert % "<<'a', 'a'>>")
        self.refused(INVALID + "Input collection [2, 2.0] contains duplicates! under root", insert % "<<2, 2.0>>")
        large = "Number overflow. Attempting to store a number with magnitude larger than supported range under "
        self.refused(large + "root", insert % "1e126")
        self.refused(large + "root.a.b", insert % "{'a': {'b': 1e126}}")
        self.refused(large + "root[1]", insert % "[1, 1e126]")
        self.refused("Attempting to store more than 38 significant digits in a Number under root",
                     insert % "123456789012345678901234567890123456789")
        deep = "Nesting Levels have exceeded supported limits under root"
        self.refused(deep + "[0]" * 32, insert % ("[" * 32 + "1" + "]" * 32))
        self.refused(deep + ".a" * 32, insert % ("{'a': " * 32 + "1" + "}" * 32))
        start = insert.index("%s") + len(self.table) + 2 - len("{t}") + 1
        self.refused("Unsupported data type: Parameter under key root[0] at 1:%d:1" % (start + 1), insert % "[?]",
                     s("v"))
        self.done(insert % ("{'a': " * 31 + "1" + "}" * 31))

    def test_update(self):
        self.put("upd", n=n(5), m={"M": {"x": n(1)}}, l={"L": [s("a"), s("b")]}, ss={"SS": ["a", "b"]},
                 only={"SS": ["o"]}, gone=n(1))
        self.assertEqual(self.update("upd", "SET n=n-1 SET m.y = [2, 'z'], l[1] = ? REMOVE gone", s("c")), {
            "p": s("upd"), "s": s("1"), "n": n(4), "m": {"M": {"x": n(1), "y": {"L": [n(2), s("z")]}}},
            "l": {"L": [s("a"), s("c")]}, "ss": {"SS": ["a", "b"]}, "only": {"SS": ["o"]}})
        item = self.update("upd", "SET l = LIST_APPEND(l, [<<1>>]), n = n + m.x, ss = set_add(ss, <<'c'>>), "
                                  "only = set_delete(only, <<'o'>>), fresh = set_add(fresh, <<7>>) REMOVE m.y, m.none")
        self.assertEqual(item, {
            "p": s("upd"), "s": s("1"), "n": n(5), "m": {"M": {"x": n(1)}}, "fresh": {"NS": ["7"]},
            "l": {"L": [s("a"), s("c"), {"NS": ["1"]}]}, "ss": {"SS": ["a", "b", "c"]}})
        self.assertEqual(self.update("upd", "SET n = n - - 2, c = n, \"quoted name\" = 'x'")["quoted name"], s("x"))
        self.assertEqual((self.get("upd")["n"], self.get("upd")["c"]), (n(7), n(5)))

    def test_update_that_is_refused(self):
        self.put("ref", n=n(1), ss={"SS": ["a"]})
        statement = "UPDATE {t} SET %s WHERE p = 'ref' AND s = '1'"
        start = statement.index("%s") + len(self.table) + 2 - len("{t}") + 1
        self.refused("The first argument to SET_ADD must equal the assignment value at 1:%d:7" % (start + 4),
                     statement % "x = set_add(ss, <<'x'>>)")
        self.refused("The second argument to SET_DELETE must be a value with type SET at 1:%d:2" % (start + 16),
                     statement % "ss = set_delete(ss, 'x')")
        self.refused("Incorrect operand type for operator or function; operator or function: +, operand type: S",
                     statement % "n = 'a' + 1")
        self.refused("The provided expression refers to an attribute that does not exist in the item",
                     statement % "x = list_append(x, [1])")
        self.refused("An operand in the update expression has an incorrect data type",
                     statement % "ss = set_add(ss, <<1>>)")
        self.refused("Two document paths overlap with each other; must remove or rewrite one of these paths; path "
                     "one: [a], path two: [a, b]", statement % "a = 1, a.b = 2")
        self.refused(INVALID + "Cannot update attribute s. This attribute is part of the key", statement % "s = '2'")
        self.refused(NO_KEY, "UPDATE {t} SET n = 2 WHERE p = 'ref'")
        self.refused(NO_KEY, "UPDATE {t} SET n = 2")
        self.refused(NO_KEY, "UPDATE {t} SET n = 2 WHERE p IN ['ref'] AND s = '1'")
        self.refused("Multiple conditions on same key p. Only single item Update/Insert/Delete are supported",
                     "UPDATE {t} SET n = 2 WHERE p = 'ref' AND s = '1' AND p = 'other'")
        self.refused("A statement that writes must name a table, not an index",
                     'UPDATE {t}."x" SET n = 2 WHERE p = \'ref\' AND s = \'1\'')
        self.assertEqual(self.get("ref")["n"], n(1))

    def test_conditions_of_writes(self):
        self.put("cond", v=n(1))
        failed = "The conditional request failed"
        for statement in ("UPDATE {t} SET v = 2 WHERE p = 'cond' AND s = '1' AND v = 2",
                          "DELETE FROM {t} WHERE p = 'cond' AND s = '1' AND NOT v < 5",
                          "UPDATE {t} SET v = 2 WHERE p = 'none' AND s = '1'"):
            answer = self.refused(failed, statement, kind="ConditionalCheckFailedException")
            self.assertNotIn("Item", answer)
        answer = self.refused(failed, "UPDATE {t} SET v = 2 WHERE p = 'cond' AND s = '1' AND v = 2",
                              kind="ConditionalCheckFailedException", ReturnValuesOnConditionCheckFailure="ALL_OLD")
        self.assertEqual(answer["Item"]["v"], n(1))
        self.assertIsNone(self.get("none"))
        self.done("UPDATE {t} SET v = 3 WHERE (p = 'cond' AND s = '1') AND v = 1 AND p = 'cond'")
        self.assertEqual(self.get("cond")["v"], n(3))
        self.assertEqual(self.done("DELETE FROM {t} WHERE p = 'none' AND s = '1' AND v = 1"), {"Items": []})
        self.assertEqual(self.done("DELETE FROM {t} WHERE p = 'cond' AND s = '1' AND v = 3"), {"Items": []})
        self.assertIsNone(self.get("cond"))

    def test_returning(self):
        self.put("ret", v=n(1), m={"M": {"x": n(1), "y": n(2)}})
        update = "UPDATE {t} %s WHERE p = 'ret' AND s = '1' RETURNING %s *"
        self.assertEqual(self.items(update % ("SET v = 2", "ALL OLD"))[0]["v"], n(1))
        self.assertEqual(self.items(update % ("SET v = 3", "ALL NEW"))[0]["v"], n(3))
        self.assertEqual(self.items(update % ("SET v = 4", "MODIFIED OLD")), [{"v": n(3)}])
        self.assertEqual(self.items(update % ("SET m.x = 7", "modified new")), [{"m": {"M": {"x": n(7)}}}])
        self.assertEqual(self.items(update % ("REMOVE v", "MODIFIED NEW")), [])
        delete = "DELETE FROM {t} WHERE p = 'ret' AND s = '1' RETURNING %s *"
        for what in ("MODIFIED OLD", "ALL NEW", "MODIFIED NEW"):
            self.refused("Invalid returning clause: RETURNING %s *. Only RETURNING ALL OLD * is allowed in DELETE "
                         "statements." % what, delete % what)
        self.assertEqual(self.items(delete % "ALL OLD")[0]["m"], {"M": {"x": n(7), "y": n(2)}})
        self.assertEqual(self.items(delete % "ALL OLD"), [])

    def test_what_writes_cost(self):
        def units(statement):
            answer = self.done(statement, ReturnConsumedCapacity="TOTAL")
            self.assertEqual(answer["ConsumedCapacity"]["TableName"], self.table)
            return answer["ConsumedCapacity"]["CapacityUnits"]
        self.assertEqual(units("INSERT INTO {t} VALUE {'p': 'cost', 's': '1', 'x': '%s'}" % ("x" * 1500)), 2)
        self.assertEqual(units("UPDATE {t} SET y = 1 WHERE p = 'cost' AND s = '1'"), 2)
        self.assertEqual(units("SELECT s FROM {t} WHERE p = 'cost' AND s = '1'"), 1)
        self.assertEqual(self.done("SELECT s FROM {t} WHERE p = 'cost'", ConsistentRead=False, ReturnConsumedCapacity="TOTAL")
                         ["ConsumedCapacity"]["CapacityUnits"], 0.5)
        self.assertEqual(self.done("SELECT s FROM {t} WHERE p = 'cost'", ReturnConsumedCapacity="INDEXES",
                                   ConsistentRead=True)["ConsumedCapacity"],
                         {"TableName": self.table, "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}})
        self.assertEqual(units("DELETE FROM {t} WHERE p = 'cost' AND s = '1'"), 2)


    def test_a_statement_costs_what_its_operation_costs(self):
        for i in range(12):
            self.put("same", str(i + 10), x=s("x" * 1500))
        key, one = {"p": s("same"), "s": s("10")}, "WHERE p = 'same' AND s = '10'"
        update = {"Key": key, "UpdateExpression": "SET y = :y", "ExpressionAttributeValues": {":y": s("y" * 2000)}}
        values = {":p": s("same")}
        for consistent in (False, True):
            for statement, operation, members in (
                    ("SELECT y FROM {t} " + one, "GetItem", {"Key": key, "ConsistentRead": consistent}),
                    ("SELECT * FROM {t} WHERE p = 'same'", "Query", {
                        "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": values,
                        "ConsistentRead": consistent}),
                    ("SELECT * FROM {t} WHERE p = 'same' AND s > '15' AND x = 'none'", "Query", {
                        "KeyConditionExpression": "p = :p AND s > :s", "FilterExpression": "x = :x",
                        "ExpressionAttributeValues": {**values, ":s": s("15"), ":x": s("none")},
                        "ConsistentRead": consistent}),
                    ("SELECT * FROM {t}", "Scan", {"ConsistentRead": consistent}),
                    ("UPDATE {t} SET y = '%s' %s" % ("y" * 2000, one), "UpdateItem", update),
                    ("DELETE FROM {t} WHERE p = 'none' AND s = '1'", "DeleteItem", {"Key": {"p": s("none"), "s": s("1")}})):
                for told in ("TOTAL", "INDEXES"):
                    def same():  # reads that may be of the past become equal
                        mine = self.done(statement, ConsistentRead=consistent, ReturnConsumedCapacity=told)
                        other = self.ok(operation, ReturnConsumedCapacity=told, **members)
                        return mine["ConsumedCapacity"] == other["ConsumedCapacity"]
                    until(self, same, statement + " costs what " + operation + " costs")


class ReadsTest(PartiqlSuite):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for p in ("a", "b", "c"):
            for i in range(1, 6):
                status, answer = send("PutItem", {"TableName": cls.table, "Item": {
                    "p": s(p), "s": s(str(i)), "v": n(i), "kind": s("alpha" if i % 2 else "beta"),
                    "m": {"M": {"k": {"L": [s("c"), n(i)]}}}, "tags": {"SS": ["x", "t%d" % i]},
                    **({"nil": {"NULL": True}} if i == 1 else {}), **({"b": {"B": "AAEC"}} if i == 2 else {})}})
                assert status == 200, answer

    def test_one_item_by_its_key(self):
        self.assertEqual(len(self.items("SELECT * FROM {t} WHERE p = 'a' AND s = '1'")), 1)
        self.assertEqual(self.items("SELECT v, kind FROM {t} WHERE s = '2' AND 'a' = p"),
                         [{"v": n(2), "kind": s("beta")}])
        self.assertEqual(self.items("SELECT v FROM {t} WHERE p IN ('a') AND s IN ['3']"), [{"v": n(3)}])
        self.assertEqual(self.done("SELECT * FROM {t} WHERE p = 'a' AND s = 'none'"), {"Items": []})
        self.assertEqual(self.items("SELECT v FROM \"arn:aws:dynamodb:us-east-1:000000000000:table/%s\" "
                                    "WHERE p = 'a' AND s = '1'" % self.table), [{"v": n(1)}])

    def test_columns(self):
        self.assertEqual(self.items("SELECT m.k[0], none, m.k[9], v FROM {t} WHERE p='a' AND s='1'"),
                         [{"k[0]": s("c"), "v": n(1)}])
        self.assertEqual(self.items("SELECT m.k[-0] FROM {t} WHERE p='a' AND s='1'"), [{"k[0]": s("c")}])
        self.assertEqual(self.items("SELECT m, m.k FROM {t} WHERE p='a' AND s='1'")[0]["k"], {"L": [s("c"), n(1)]})
        self.refused("Two columns of the statement have the same name: k", "SELECT m.k, k FROM {t}")
        at = len("SELECT m.k[")
        self.refused("List index is not within the allowable range; index: [-1] at 1:%d:1" % (at + 2),
                     "SELECT m.k[-1] FROM {t}")
        self.refused("List index is not within the allowable range; index: [2147483648] at 1:%d:10" % (at + 1),
                     "SELECT m.k[2147483648] FROM {t}")
        scalar = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: p"
        for where in ("", " WHERE p = 'a'", " WHERE p = 'a' AND s = '1'", " WHERE p.x = 1"):
            self.refused(scalar, "SELECT p.x FROM {t}" + where)

    def test_ranges_of_the_sort_key(self):
        for where, found in (("s = '2'", "2"), ("s < '3'", "12"), ("s <= '3'", "123"), ("'3' < s", "45"),
                             ("s >= '3' AND s < '5'", "34"), ("s BETWEEN '2' AND '4'", "234"),
                             ("s > '1' AND s < '4' AND s <> '2'", "3"), ("begins_with(s, '4')", "4"),
                             ("s IN ['1', '4', '9']", "14"), ("(s = '1' OR s = '5')", "15"), ("s <> '1'", "2345"),
                             ("NOT s = '1'", "2345"), ("s = '1' AND s > '0'", "1"), ("s = '1' AND s > '2'", ""),
                             ("p = 'b'", ""), ("attribute_exists(p)", "12345"), ("s NOT IN ['1', '2']", "345"),
                             ("s > '3' AND s < '3'", ""), ("s NOT BETWEEN '2' AND '4'", "15")):
            self.assertEqual("".join(self.sorts("p = 'a' AND " + where)), found, where)

    def test_filters(self):
        for where, found in (("v > 3", "45"), ("v != 3", "1245"), ("(v = 1 OR v = 5)", "15"), ("kind = 'beta'", "24"),
                             ("v + 0 = 1", None), ("m.k[1] = 4", "4"), ("contains(tags, 't3')", "3"),
                             ("NOT begins_with(kind, 'al')", "24"), ("attribute_type(b, 'B')", "2"),
                             ("nil IS NULL", "1"), ("nil IS NOT NULL", "2345"), ("nil IS MISSING", "2345"),
                             ("nil IS NOT MISSING", "1"), ("SIZE(b) = 3", "2"), ("size(kind) > 4", "135"),
                             ("v IN [1, 2]", "12"), ("tags = <<'t1', 'x'>>", "1"), ("m.k = ['c', 2]", "2"),
                             ("(v = 1 OR v = 2) AND (kind = 'beta' OR v > 9)", "2"), ("none = 1", ""),
                             ("v BETWEEN 2 AND 3 AND kind = 'beta'", "2"), ("none IS NULL", ""),
                             ("v > - - 4", "5"), ("v = m.k[1]", "12345")):
            if found is None:
                self.refused(None, "SELECT * FROM {t} WHERE p = 'a' AND " + where)
            else:
                self.assertEqual("".join(self.sorts("p = 'a' AND " + where)), found, where)
        self.assertEqual(self.sorts("p = ? AND v = ?", s("a"), n(2)), ["2"])

    def test_what_is_wrong_with_a_filter(self):
        wrong = "Incorrect operand type for operator or function; operator or function: %s, operand type: %s"
        for where, message in (
                ("v < true", wrong % ("<", "BOOL")), ("v BETWEEN [1] AND [2]", wrong % ("BETWEEN", "L")),
                ("attribute_type(v, 1)", wrong % ("attribute_type", "N")), ("begins_with(v, 1)", wrong % ("begins_with", "N")),
                ("nonsense(v)", "Invalid function name; function: nonsense"),
                ("attribute_exists('v')", "Operator or function requires a document path; operator or function: "
                                          "attribute_exists"),
                ("contains(v)", "Incorrect number of operands for operator or function; operator or function: contains, "
                                "number of operands: 1"),
                ("v IN [%s]" % ", ".join("1" * 101), "The IN operator is provided with too many operands; number of "
                                                     "operands: 101")):
            self.refused(message, "SELECT * FROM {t} WHERE p = 'a' AND " + where)
            self.refused(message, "SELECT * FROM \"%s\" WHERE p = 'a' AND %s" % (new_name(), where))

    def test_several_partition_keys(self):
        both = [("a", "1"), ("b", "1")]
        def rows(where):
            return [(i["p"]["S"], i["s"]["S"]) for i in self.items("SELECT p, s FROM {t} WHERE " + where,
                                                                   ConsistentRead=True)]
        self.assertEqual(rows("p IN ['b', 'a'] AND s = '1'"), both)
        self.assertEqual(rows("(p = 'a' OR p = 'b') AND s = '1'"), both)
        self.assertEqual(rows("(p = 'a' AND s = '1') OR (p = 'b' AND s = '1')"), both)
        self.assertEqual(rows("p IN ['a', 'b'] AND v = 1"), both)
        self.assertEqual(rows("(p = 'a' AND s < '3') OR (p = 'a' AND s > '4')"), [("a", "1"), ("a", "2"), ("a", "5")])
        self.assertEqual(sorted(rows("p = 'a' OR s = '1'")), sorted(both + [("c", "1")] + [("a", x) for x in "2345"]))
        self.assertEqual(rows("p IN ['a', 'b'] AND s IN ['1', '2']"), [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")])
        self.assertEqual(sorted(rows("p > 'b' AND s = '1'")), [("c", "1")])
        overlap = "Overlapping conditions with range keys are not supported in where clause"
        for where in ("p IN ['a', 'a']", "p = 'a' OR p = 'a'", "(p = 'a' AND v = 1) OR (p = 'a' AND v = 2)",
                      "(p = 'a' AND s > '1') OR (p = 'a' AND s < '4')"):
            self.refused(overlap, "SELECT * FROM {t} WHERE " + where)
        keys = ", ".join("'k%d'" % i for i in range(51))
        for where in ("p IN [%s]" % keys, "p = 'a' AND s IN [%s]" % keys):
            self.refused("Too many decomposed read operations for a given query.", "SELECT * FROM {t} WHERE " + where)
        self.done("SELECT * FROM {t} WHERE p IN [%s] OR v = 9" % keys)
        self.refused("Key attribute's data type should match its data type in table's schema: Key p",
                     "SELECT * FROM {t} WHERE p = 1 OR p = 'a'")
        self.refused("Key attribute's data type should match its data type in table's schema: Key s",
                     "SELECT * FROM {t} WHERE p = 'a' AND s = 1")
        self.assertEqual(rows("p > 1"), [])

    def random_clause(self, rng, depth=3):
        """A clause over keys and other attributes."""
        if depth > 0 and rng.random() < 0.6:
            kind = rng.choice(["AND", "AND", "OR", "NOT"])
            if kind == "NOT":
                return "NOT (%s)" % self.random_clause(rng, depth - 1)
            return "(%s)" % (" %s " % kind).join(self.random_clause(rng, depth - 1) for _ in range(rng.randint(2, 3)))
        name, values = rng.choice([("p", ["'a'", "'b'", "'c'", "'d'"]), ("p", ["'a'", "'b'"]), ("s", ["'%d'" % i for i in range(7)]),
                                   ("v", [str(i) for i in range(7)]), ("kind", ["'alpha'", "'beta'"])])
        one = rng.choice(values)
        low, high = sorted(rng.choices(values, k=2))
        return rng.choice(["%s = %s" % (name, one)] * 3 + [
            "%s %s %s" % (name, rng.choice(["<", "<=", ">", ">=", "<>"]), one), "%s = %s" % (one, name),
            "%s %s %s" % (one, rng.choice(["<", ">="]), name), "%s IN [%s]" % (name, ", ".join(rng.sample(values, 2))),
            "%s BETWEEN %s AND %s" % (name, low, high), "begins_with(%s, '1')" % ("s" if name == "v" else name)])

    def test_ranges_and_filters_find_what_a_scan_finds(self):
        """Below NOT no clause names keys to read by."""
        seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print("SEED=%d" % seed, flush=True)
        rng, compared, by_keys = random.Random(seed), 0, 0
        for _ in range(400):
            clause = self.random_clause(rng)
            def rows(where):
                return self.run_one("SELECT p, s FROM {t} WHERE " + where, ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
            status, found = rows(clause)
            scanned = rows("NOT (NOT (%s))" % clause)[1]
            if status == 400:
                self.assertIn("Overlapping conditions with range keys", found["message"], clause)
                continue
            self.assertEqual(sorted(map(str, found["Items"])), sorted(map(str, scanned["Items"])), clause)
            compared += 1
            by_keys += found["ConsumedCapacity"]["CapacityUnits"] != scanned["ConsumedCapacity"]["CapacityUnits"]
        self.assertGreater(compared, 200)
        self.assertGreater(by_keys, 20)

    def test_order(self):
        def rows(rest, **more):
            return " ".join(i["p"]["S"] + i["s"]["S"] for i in self.items(
                "SELECT p, s FROM {t} WHERE " + rest, **more))
        self.assertEqual(rows("p = 'a' ORDER BY s"), "a1 a2 a3 a4 a5")
        self.assertEqual(rows("p = 'a' ORDER BY s DESC"), "a5 a4 a3 a2 a1")
        self.assertEqual(rows("p = 'a' ORDER BY p ASC"), "a5 a4 a3 a2 a1")
        self.assertEqual(rows("p IN ['a', 'b'] AND s < '3' ORDER BY p DESC, s ASC"), "b1 b2 a1 a2")
        self.assertEqual(rows("p IN ['a', 'b'] AND s IN ['3', '1'] ORDER BY p, s DESC"), "a3 a1 b3 b1")
        self.refused("Must have WHERE clause in the statement when using ORDER BY clause.",
                     "SELECT * FROM {t} ORDER BY s")
        self.refused("Attribute v in ORDER BY clause must be part of the primary key",
                     "SELECT * FROM {t} WHERE p = 'a' ORDER BY v")
        self.refused("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY "
                     "clause.", "SELECT * FROM {t} WHERE p > 'a' ORDER BY s")
        self.refused("Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE "
                     "clause.", "SELECT * FROM {t} WHERE p IN ['a', 'b'] ORDER BY s")

    def pages(self, statement, limit, *parameters):
        found, token = [], {}
        while True:
            answer = self.done(statement, *parameters, Limit=limit, **token)
            self.assertLessEqual(len(answer["Items"]), limit)
            self.assertEqual("NextToken" in answer, "LastEvaluatedKey" in answer)
            found += [i["p"]["S"] + i["s"]["S"] for i in answer["Items"]]
            if "NextToken" not in answer:
                return found
            token = {"NextToken": answer["NextToken"]}

    def test_pages(self):
        everything = sorted(p + i for p in "abc" for i in "12345")
        for limit in (1, 2, 4, 100):
            self.assertEqual(sorted(self.pages("SELECT * FROM {t}", limit)), everything)
            self.assertEqual(self.pages("SELECT p, s FROM {t} WHERE p IN [?, ?] ORDER BY p DESC, s", limit, s("a"), s("b")),
                             ["b1", "b2", "b3", "b4", "b5", "a1", "a2", "a3", "a4", "a5"])
            self.assertEqual(self.pages("SELECT * FROM {t} WHERE p = 'a' AND v > 2", limit), ["a3", "a4", "a5"])
            self.assertEqual(self.pages("SELECT * FROM {t} WHERE p = 'a' ORDER BY s DESC", limit),
                             ["a5", "a4", "a3", "a2", "a1"])

    def test_an_empty_range_hides_no_overlap(self):
        overlap = "Overlapping conditions with range keys are not supported in where clause"
        ranges = "SELECT * FROM {t} WHERE (p = 'a' AND s >= '1' AND s < '5') OR (p = 'a' AND s > '3' AND s < '2')"
        self.refused(overlap, ranges + " OR (p = 'a' AND s >= '2' AND s < '3')")
        self.assertEqual(self.pages(ranges + " ORDER BY s", 2), ["a1", "a2", "a3", "a4"])
        self.assertEqual(self.items("SELECT * FROM {t} WHERE p = 'a' AND s > '3' AND s < '2'"), [])

    def test_a_token_of_another_statement_is_refused(self):
        message = "The NextToken is invalid, or belongs to another statement"
        statement = "SELECT * FROM {t} WHERE p = ? AND s > '1'"
        token = self.done(statement, s("a"), Limit=1)["NextToken"]
        self.assertEqual(len(self.items(statement, s("a"), NextToken=token)), 3)
        nested = "SELECT * FROM {t} WHERE p = 'a' AND x <> ?"
        token_of_map = self.done(nested, {"M": {"a": n(1), "b": {"SS": ["x", "y"]}}}, Limit=1)["NextToken"]
        self.done(nested, {"M": {"b": {"SS": ["y", "x"]}, "a": n("1.0")}}, NextToken=token_of_map)
        for other, parameter in ((statement, s("b")), (statement + " ", s("a")),
                                 ("SELECT * FROM {t} WHERE p = ? AND s = '1'", s("a"))):
            self.refused(message, other, parameter, NextToken=token)
        raw = bytearray(base64.b64decode(token))
        for i in range(len(raw)):
            raw[i] ^= 1
            self.refused(message, statement, s("a"), NextToken=base64.b64encode(raw).decode())
            raw[i] ^= 1
        for bad in ("x", "AAAA", token[:-4], token + "AAAA"):
            self.refused(message, statement, s("a"), NextToken=bad)


class TextTest(PartiqlSuite):
    """What the parser accepts and refuses."""

    def test_blanks_comments_and_cases(self):
        self.put("text", note=s("a--b /*c*/"))
        for statement in ("SELECT/**/* FROM {t} -- the table\nWHERE p/* key */='text' AND s='1' --",
                          "SELECT note FROM {t} WHERE p = 'text' AND s = '1' AND note = 'a--b /*c*/'; -- done",
                          "  select\t*\r\nfrom {t} where \"p\" = 'text' AND s='1' ;"):
            until(self, lambda statement=statement: len(self.items(statement)) == 1, statement)

    def test_an_update_may_begin_with_from(self):
        self.put("ff", a=n(1), b=s("b"))
        for statement in ("FROM {t} WHERE p = 'ff' AND s = '1' AND a = 1 SET c = 1, a = a + 1 REMOVE b RETURNING ALL NEW *",
                          "from {t} where p = 'ff' and s = ? set c = ? returning all new *"):
            got = self.items(statement, *([s("1"), n(2)] if "?" in statement else []))
        self.assertEqual(got, [{"p": s("ff"), "s": s("1"), "a": n(2), "c": n(2)}])
        self.refused("The conditional request failed", "FROM {t} WHERE p = 'ff-none' AND s = '1' SET c = 1",
                     kind="ConditionalCheckFailedException")
        self.refused(MALFORMED + "Unexpected token after expression", "FROM {t} WHERE p = 'ff' AND s = '1'")

    def test_types_functions_and_numbers_as_the_service_takes_them(self):
        self.put("types", a=n("7.3"), t=s("x"), f={"BOOL": False}, z={"NULL": True})
        where = "SELECT s FROM {t} WHERE p = 'types' AND "
        for condition, count in (
                ("t IS STRING", 1), ("a is string", 0), ("f IS BOOL", 1), ("t IS NOT BOOL", 1), ("z IS NULL", 1),
                ("attribute_exists(t) = true", 1), ("begins_with(t, 'y') = TRUE", 0), ("a = .73e1", 1), ("a = -.73e1", 0)):
            self.assertEqual(len(self.items(where + condition)), count, condition)
        self.done("INSERT INTO {t} VALUE {'p': 'types', 's': '2', 'a': .7325e1}")
        self.assertEqual(self.get("types", "2")["a"], n("7.325"))
        for number in ("1e2147483648", "1e-99999999999", "1.5e-2147483647"):
            self.refused(MALFORMED, where + "a = " + number)
        self.refused("Number overflow. Attempting to store a number with magnitude larger than supported range under root",
                     where + "a = 1e2147483647")

    def test_malformed_statements(self):
        after, term = "Unexpected token after expression", "Unexpected term"
        for statement, detail in (
                ("SLECT * FROM {t}", "Expected data manipulation"), (" ", "Expected data manipulation"),
                ("SELECT * FROM {t} WHERE p = 'a' foo", after), ("SELECT * FROM {t} WHERE p = 'a')", after),
                ("INSERT INTO {t} VALUE {'p': 'a'} foo", after), ("UPDATE {t} SET a = 9 WHERE p = 'a' foo", after),
                ("DELETE FROM {t} WHERE p = 'a' ORDER BY p", after), ("SELECT * FROM {t} ORDER BY p WHERE p = 'a'", after),
                ("INSERT INTO {t} t VALUE {'p': 'a'}", after), ("INSERT INTO {t} VALUE {'p': 'a'} RETURNING ALL OLD *", after),
                ("SELECT * FROM {t} WHERE", term), ("SELECT * FROM {t} WHERE NOT", term), ("SELECT * FROM {t} WHERE (", term),
                ("UPDATE {t} SET a = 1 WHERE", term), ("SELECT * FROM", term),
                ("SELECT * FROM {t} WHERE p = 'a' AND", "Missing right-hand side expression of infix operator"),
                ("SELECT * FROM {t} WHERE p = 'a' OR", "Missing right-hand side expression of infix operator"),
                ("SELECT * FROM {t} WHERE ORDER BY p", "Unexpected keyword"),
                ("SELECT * FROM {t} WHERE IS NULL", "Unexpected operator"),
                ("SELECT * FROM {t} WHERE p = 'a' AND x IS FOO", "Expected type name"),
                ("SELECT * FROM {t} WHERE p = 'a' # note", ""), ("SELECT * FROM {t} WHERE p = 'a' /* note", ""),
                ("SELECT * FROM {t} WHERE p = 'a", ""), ('SELECT * FROM "x', "")):
            self.refused(MALFORMED + detail, statement)
        self.refused(MALFORMED + "Too many levels of nesting", "SELECT * FROM {t} WHERE " + "(" * 2000 + "a = 1" + ")" * 2000)
        for text in ("[" * 2000, "NOT " * 1900, "- " * 2000, "a." * 2000, "f(" * 2000, "<<" * 1000, "{'a':" * 1500):
            self.refused(None, "SELECT * FROM {t} WHERE a = " + text)
            self.refused(None, "SELECT * FROM {t} WHERE " + text)
            self.refused(None, "UPDATE {t} SET a = " + text)

    def test_tables(self):
        for statement in ("SELECT * FROM {t} t WHERE p = 'x'", "SELECT * FROM {t} AS t WHERE p = 'x'",
                          "UPDATE {t} t SET a = 3 WHERE p = 'x'", "DELETE FROM {t} t WHERE p = 'x'"):
            self.refused("Aliasing is not supported", statement)
        self.refused("Path component cannot be an empty string", "SELECT * FROM \"\" WHERE p = 'x'")
        self.refused("Path component cannot be an empty string", "SELECT * FROM {t}.\"\" WHERE p = 'x'")
        self.refused("A path may contain at most 2 components in the FROM clause", 'SELECT * FROM {t}."a"."b"')
        self.refused("The table does not have the specified index", 'SELECT * FROM {t}."none" WHERE p = \'x\'')
        for name in (new_name(), "a/b", "x" * 300, "no such table"):
            for statement in ("SELECT * FROM \"%s\" WHERE p = 'x'", "SELECT * FROM \"%s\"",
                              "DELETE FROM \"%s\" WHERE p = 'x'", "INSERT INTO \"%s\" VALUE {'p': 'x'}"):
                self.refused("Requested resource not found", statement % name, kind="ResourceNotFoundException")

    def test_bounds_of_the_request(self):
        self.refused("1 validation error detected: Value '' at 'statement' failed to satisfy constraint: Member must "
                     "have length greater than or equal to 1", "")
        status, answer = self.run_one("SELECT * FROM {t} WHERE p = '%s'" % ("x" * 8192))
        self.assertEqual((status, answer["message"][-71:]),
                         (400, "failed to satisfy constraint: Member must have length less than or equal to 8192"[-71:]))
        self.refused(INVALID + "Input collection [a, a] contains duplicates.", "UPDATE {t} SET WHERE", {"SS": ["a", "a"]})
        self.refused("EXISTS can only be used in ExecuteTransaction write requests.",
                     "EXISTS(SELECT * FROM {t} WHERE p = 'a' AND s = '1' AND x IS MISSING)")
        self.refused("A condition as an operand of another one is not supported by weir yet",
                     "SELECT * FROM {t} WHERE p = 'a' AND attribute_exists(x) = (v = 1)")


class IndexTest(PartiqlSuite):
    @classmethod
    def setUpClass(cls):
        cls.table = new_name()
        status, answer = send("CreateTable", {
            "TableName": cls.table, "BillingMode": "PAY_PER_REQUEST", **keys_of(("p", "S"), ("s", "S")),
            "AttributeDefinitions": [{"AttributeName": a, "AttributeType": t} for a, t in (
                ("p", "S"), ("s", "S"), ("n", "N"), ("g", "S"))],
            "LocalSecondaryIndexes": [{"IndexName": "by-n", "Projection": {"ProjectionType": "KEYS_ONLY"}, "KeySchema": [
                {"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "Projection": {
                "ProjectionType": "INCLUDE", "NonKeyAttributes": ["shown"]}, "KeySchema": [
                {"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]},
                {"IndexName": "by-many", "Projection": {"ProjectionType": "KEYS_ONLY"}, "KeySchema": [
                    {"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "HASH"}]}]})
        assert status == 200, answer

    def setUp(self):
        name = {"TableName": self.table}
        until(self, lambda: send("DescribeTable", name)[1]["Table"]["TableStatus"] == "ACTIVE", "the table is there")
        for i in range(1, 7):
            self.put("p%d" % (i % 2), str(i), n=n(10 - i), g=s("g%d" % (i % 3)), shown=s("s%d" % i), hidden=n(i))
        for index in ("by-g", "by-n"):
            statement = 'SELECT s FROM {t}."%s"' % index
            until(self, lambda statement=statement: steady(lambda: len(self.items(statement)) == 6), "all rows are there")

    def sorts_of(self, rest, **more):
        return "".join(i["s"]["S"] for i in self.items("SELECT s FROM {t}." + rest, **more))

    def test_reads_by_indexes(self):
        self.assertEqual(self.sorts_of('"by-n" WHERE p = \'p1\'', ConsistentRead=True), "531")
        self.assertEqual(self.sorts_of('"by-n" WHERE p = \'p1\' AND n > 5', ConsistentRead=True), "31")
        self.assertEqual(self.sorts_of('"by-n" WHERE p = \'p1\' AND n IN [9, 5] ORDER BY n DESC'), "15")
        self.assertEqual(self.sorts_of('"by-g" WHERE g = \'g1\''), "41")
        self.assertEqual(self.sorts_of('"by-g" WHERE g IN [\'g1\', \'g2\'] ORDER BY g DESC, n ASC'), "5241")
        self.assertEqual(self.sorts_of('"by-g" WHERE g = \'g1\' AND shown = \'s4\''), "4")
        self.assertEqual(sorted(self.sorts_of('"by-g" WHERE p = \'p1\'')), ["1", "3", "5"])
        self.assertEqual(self.sorts_of('"by-g" WHERE hidden = 1'), "")
        self.assertEqual(self.items('SELECT hidden FROM {t}."by-n" WHERE p = \'p1\' AND n = 9'), [{"hidden": n(1)}])

    def test_pages_by_indexes(self):
        for index, key in (("by-g", "g IN ['g0', 'g1', 'g2']"), ("by-n", "p IN ['p0', 'p1']"), ("by-g", "n > 0")):
            statement, found, token = 'SELECT s FROM {t}."%s" WHERE %s' % (index, key), [], {}
            while True:
                answer = self.done(statement, Limit=1, **token)
                found += [i["s"]["S"] for i in answer["Items"]]
                if "NextToken" not in answer:
                    break
                token = {"NextToken": answer["NextToken"]}
            self.assertEqual(sorted(found), list("123456"), statement)

    def test_indexes_with_keys_of_several_attributes_are_not_read(self):
        text = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
        for where in ("", " WHERE g = 'g1'", " WHERE g = 1"):
            self.refused(text, 'SELECT s FROM {t}."by-many"' + where)
        status, answer = send("BatchExecuteStatement", {"Statements": [
            self.members('SELECT s FROM {t}."by-many" WHERE g = \'g1\'', (), {})]})
        self.assertEqual((status, answer["Responses"][0]["Error"]["Message"]), (200, text))

    def test_reads_by_indexes_that_are_refused(self):
        self.refused("Strongly consistent read is not supported on Global Secondary Indexes",
                     'SELECT * FROM {t}."by-g" WHERE g = \'g1\'', ConsistentRead=True)
        self.refused(INVALID + "Global secondary index by-g does not project [hidden, x]",
                     'SELECT hidden, x FROM {t}."by-g" WHERE g = \'g1\'')
        unshown = INVALID + "Secondary index %s does not project one or more filter attributes: [%s]"
        self.refused(unshown % ("by-g", "hidden"), 'SELECT s FROM {t}."by-g" WHERE g = \'g1\' AND hidden = 1')
        self.refused(unshown % ("by-n", "zz, aa"), 'SELECT s FROM {t}."by-n" WHERE p = \'p1\' AND (zz = 1 OR aa = 2)')
        self.refused("Attribute s in ORDER BY clause must be part of the primary key",
                     'SELECT s FROM {t}."by-g" WHERE g = \'g1\' ORDER BY s')


class BotoTest(PartiqlSuite):
    """The same by boto3, which reads the answers by its model."""

    def test_all_operations(self):
        client, table = boto(), '"%s"' % self.table
        self.assertEqual(client.execute_statement(
            Statement="INSERT INTO %s VALUE {'p': ?, 's': '1'}" % table, Parameters=[{"S": "boto"}],
            ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]["CapacityUnits"], 1.0)
        self.put("boto", "2")
        found = client.execute_statement(Statement="SELECT * FROM %s WHERE p = 'boto'" % table, Limit=1,
                                         ConsistentRead=True)
        more = client.execute_statement(Statement="SELECT * FROM %s WHERE p = 'boto'" % table,
                                        NextToken=found["NextToken"], ConsistentRead=True)
        self.assertEqual([i["s"]["S"] for i in found["Items"] + more["Items"]], ["1", "2"])
        read = {"Statement": "SELECT s FROM %s WHERE p = ? AND s = '1'" % table, "Parameters": [{"S": "boto"}]}
        answer = client.batch_execute_statement(Statements=[{**read, "ConsistentRead": True}],
                                                ReturnConsumedCapacity="TOTAL")
        self.assertEqual((answer["Responses"][0]["Item"], answer["ConsumedCapacity"][0]["CapacityUnits"]),
                         ({"s": s("1")}, 1.0))
        self.assertEqual(client.execute_transaction(TransactStatements=[read], ClientRequestToken="boto",
                                                    ReturnConsumedCapacity="TOTAL")["Responses"], [{"Item": {"s": s("1")}}])
        with self.assertRaises(client.exceptions.DuplicateItemException):
            client.execute_statement(Statement="INSERT INTO %s VALUE {'p': 'boto', 's': '1'}" % table)
        with self.assertRaises(client.exceptions.TransactionCanceledException) as caught:
            client.execute_transaction(TransactStatements=[
                {"Statement": "INSERT INTO %s VALUE {'p': 'boto', 's': '1'}" % table}])
        self.assertEqual(caught.exception.response["CancellationReasons"][0]["Code"], "DuplicateItem")
        for name, members in (("ExecuteStatement", read),
                              ("BatchExecuteStatement", {"Statements": [read]}),
                              ("ExecuteTransaction", {"TransactStatements": [read]})):
            inner = members if name == "ExecuteStatement" else list(members.values())[0][0]
            inner["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            self.assertEqual(send(name, json.loads(json.dumps(members)))[0], 200)


if __name__ == "__main__":
    unittest.main()
