"""Expressions: conditions, updates, projections, and what the service says of wrong ones."""

import unittest

from suite import INVALID, Suite, n, s

CONDITION_FAILED = "The conditional request failed"


class ConditionTest(Suite):
    def setUp(self):
        self.put("a", n=n(5), t=s("hello"), l={"L": [n(1), s("x"), {"M": {"deep": {"BOOL": True}}}]},
                 m={"M": {"k": s("v"), "z": {"NULL": True}}}, ss={"SS": ["x", "y"]}, b={"B": "AAEC"})

    def holds(self, condition, values=None, names=None):
        members = {"Key": {"p": s("a")}, "ConditionExpression": condition}
        if values:
            members["ExpressionAttributeValues"] = values
        if names:
            members["ExpressionAttributeNames"] = names
        self.ok("UpdateItem", **members)

    def fails(self, condition, values=None):
        members = {"ExpressionAttributeValues": values} if values else {}
        self.bad("UpdateItem", CONDITION_FAILED, "ConditionalCheckFailedException", Key={"p": s("a")},
                 ConditionExpression=condition, **members)

    def test_comparators_and_functions_hold(self):
        v = {":5": n("5.0")}
        for condition, values in (
            ("n = :5", v), ("n <> :6", {":6": n(6)}), ("n < :6", {":6": n("1e1")}), ("n <= :5", v),
            ("n >= :5", v), ("n BETWEEN :4 AND :6", {":4": n(4), ":6": n(6)}),
            ("n IN (:1, :5)", {":1": n(1), **v}), ("attribute_exists(m.k)", None),
            ("attribute_not_exists(m.nothing)", None), ("attribute_not_exists(l[9])", None),
            ("attribute_type(m, :t)", {":t": s("M")}), ("begins_with(t, :h)", {":h": s("hell")}),
            ("contains(t, :e)", {":e": s("ell")}), ("contains(ss, :x)", {":x": s("x")}),
            ("contains(l, :1)", {":1": n(1)}), ("size(t) = :5", v), ("size(b) = :3", {":3": n(3)}),
            ("size(l) = :3 AND size(ss) = :2", {":3": n(3), ":2": n(2)}),
            ("l[2].deep = :true", {":true": {"BOOL": True}}),
            ("NOT n = :6 AND (t = :no OR t = :h)", {":6": n(6), ":no": s("no"), ":h": s("hello")}),
            ("n = :6 OR n = :5 AND t = :h", {":6": n(6), **v, ":h": s("hello")}),
            (":5 = n", v), ("ss = :ss", {":ss": {"SS": ["y", "x"]}}),
        ):
            with self.subTest(condition):
                self.holds(condition, values)
        self.holds("#a = :5 and attribute_exists(#m.#k)", v, {"#a": "n", "#m": "m", "#k": "k"})

    def test_conditions_of_other_types_and_missing_attributes_fail(self):
        for condition, values in (
            ("n = :s", {":s": s("5")}), ("n < :s", {":s": s("9")}), ("nil = :5", {":5": n(5)}),
            ("nil < :5", {":5": n(5)}), ("attribute_exists(nil)", None), ("attribute_not_exists(p)", None),
            ("contains(t, :n)", {":n": n(1)}), ("begins_with(n, :s)", {":s": s("5")}),
            ("n BETWEEN :6 AND :9", {":6": n(6), ":9": n(9)}), ("NOT (n = :5)", {":5": n(5)}),
        ):
            with self.subTest(condition):
                self.fails(condition, values)
        self.holds("nil <> :5", {":5": n(5)})

    def test_a_failed_condition_shows_the_item_if_asked(self):
        answer = self.bad("DeleteItem", CONDITION_FAILED, "ConditionalCheckFailedException",
                          Key={"p": s("a")}, ConditionExpression="n = :1",
                          ExpressionAttributeValues={":1": n(1)},
                          ReturnValuesOnConditionCheckFailure="ALL_OLD")
        self.assertEqual(answer["Item"]["t"], s("hello"))
        answer = self.bad("PutItem", CONDITION_FAILED, "ConditionalCheckFailedException",
                          Item={"p": s("a")}, ConditionExpression="attribute_not_exists(p)")
        self.assertNotIn("Item", answer)
        self.assertEqual(self.get("a")["n"], n(5))

    def test_wrong_conditions_are_refused_in_the_services_words(self):
        bad = "Invalid ConditionExpression: "
        for message, members in (
            (bad + "The expression can not be empty;", {"ConditionExpression": ""}),
            (bad + 'Syntax error; token: "=", near: "= :a"',
             {"ConditionExpression": "= :a", "ExpressionAttributeValues": {":a": n(1)}}),
            (bad + 'Syntax error; token: "<EOF>", near: "="', {"ConditionExpression": "a ="}),
            (bad + "Attribute name is a reserved keyword; reserved keyword: name",
             {"ConditionExpression": "attribute_exists(name)"}),
            (bad + "An expression attribute name used in the document path is not defined; attribute name: #x",
             {"ConditionExpression": "attribute_exists(#x)"}),
            (bad + "An expression attribute value used in expression is not defined; attribute value: :x",
             {"ConditionExpression": "a = :x"}),
            (bad + "Invalid function name; function: exists", {"ConditionExpression": "exists(a)"}),
            (bad + "Incorrect number of operands for operator or function; operator or function: "
             "attribute_exists, number of operands: 2", {"ConditionExpression": "attribute_exists(a, b)"}),
            (bad + "The expression has redundant parentheses;",
             {"ConditionExpression": "((attribute_exists(a)))"}),
            (bad + "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
             "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
             {"ConditionExpression": "a BETWEEN :2 AND :1",
              "ExpressionAttributeValues": {":1": n(1), ":2": n(2)}}),
            (bad + "Incorrect operand type for operator or function; operator or function: begins_with, "
             "operand type: N", {"ConditionExpression": "begins_with(a, :1)",
                                 "ExpressionAttributeValues": {":1": n(1)}}),
            ("ExpressionAttributeNames can only be specified when using expressions",
             {"ExpressionAttributeNames": {"#a": "a"}}),
            ("ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
             {"ExpressionAttributeValues": {":a": n(1)}}),
            ("ExpressionAttributeNames contains invalid key: The expression attribute map contains a key that is too long; "
             "size of key: 256", {"ConditionExpression": "attribute_exists(a)",
                                  "ExpressionAttributeNames": {"#" + 255 * "a": "a"}}),
            ("ExpressionAttributeValues contains invalid key: The expression attribute map contains a key that is too "
             "long; size of key: 256", {"ConditionExpression": "a = :a", "ExpressionAttributeValues": {255 * "-" + "a": n(1)}}),
            ("ExpressionAttributeNames must not be empty",
             {"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeNames": {}}),
            ("Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}",
             {"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeNames": {"#b": "b"}}),
            ("Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}",
             {"ConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": n(1), ":b": n(1)}}),
        ):
            with self.subTest(message):
                self.bad("PutItem", message, Item={"p": s("a")}, **members)


class UpdateTest(Suite):
    def changed(self, before, expression, after, values=None, names=None):
        with self.subTest(expression):
            self.put("u", **before)
            self.update("u", expression, values, names)
            item = self.get("u")
            del item["p"]
            self.assertEqual(item, after)

    def test_set(self):
        one = {":1": n(1)}
        self.changed({}, "SET a = :1", {"a": n(1)}, one)
        self.changed({"a": n(5)}, "SET a = a + :1, b = a - :1", {"a": n(6), "b": n(4)}, one)
        self.changed({"a": n(5)}, "SET b = a", {"a": n(5), "b": n(5)})
        self.changed({"a": n(5), "b": n(6)}, "SET a = b, b = a", {"a": n(6), "b": n(5)})
        self.changed({}, "SET a = if_not_exists(a, :1)", {"a": n(1)}, one)
        self.changed({"a": n(9)}, "SET a = if_not_exists(a, :1) + :1", {"a": n(10)}, one)
        self.changed({"l": {"L": [n(2)]}}, "SET l = list_append(l, :l)", {"l": {"L": [n(2), n(1)]}},
                     {":l": {"L": [n(1)]}})
        self.changed({"l": {"L": [n(2)]}}, "SET l = list_append(:l, l)", {"l": {"L": [n(1), n(2)]}},
                     {":l": {"L": [n(1)]}})
        self.changed({"l": {"L": [n(2)]}}, "SET l[0] = :1, l[7] = :3, l[5] = :2",
                     {"l": {"L": [n(1), n(2), n(3)]}}, {":1": n(1), ":2": n(2), ":3": n(3)})
        self.changed({"m": {"M": {"x": n(2)}}}, "SET m.y = m.x, #m.#z = :1",
                     {"m": {"M": {"x": n(2), "y": n(2), "z": n(1)}}}, one, {"#m": "m", "#z": "z"})
        self.changed({"a": n("0.1")}, "SET a = a + :v", {"a": n("0.3")}, {":v": n("0.2")})

    def test_only_an_update_that_sets_or_adds_makes_an_item(self):
        self.update("none", "REMOVE a")
        self.assertIsNone(self.get("none"))
        self.ok("UpdateItem", Key={"p": s("none")})
        self.assertEqual(self.get("none"), {"p": s("none")})

    def test_remove_add_and_delete(self):
        self.changed({"a": n(1), "b": n(2)}, "REMOVE a, nothing", {"b": n(2)})
        self.changed({"l": {"L": [n(0), n(1), n(2), n(3)]}}, "REMOVE l[1], l[2], l[9]",
                     {"l": {"L": [n(0), n(3)]}})
        self.changed({"m": {"M": {"x": n(1), "y": n(2)}}}, "REMOVE m.x", {"m": {"M": {"y": n(2)}}})
        self.changed({"a": n(1)}, "ADD a :v, b :v", {"a": n(-2), "b": n(-3)}, {":v": n(-3)})
        self.changed({"z": {"SS": ["a"]}}, "ADD z :v", {"z": {"SS": ["a", "b"]}}, {":v": {"SS": ["b", "a"]}})
        self.changed({"z": {"NS": ["1", "2"]}}, "DELETE z :v", {"z": {"NS": ["2"]}}, {":v": {"NS": ["1.0", "7"]}})
        self.changed({"z": {"NS": ["1"]}, "a": n(1)}, "DELETE z :v", {"a": n(1)}, {":v": {"NS": ["1"]}})
        self.changed({"a": n(1), "b": n(1), "z": {"SS": ["q", "r"]}},
                     "SET c = :1 REMOVE a ADD b :1 DELETE z :q",
                     {"b": n(2), "c": n(1), "z": {"SS": ["r"]}}, {":1": n(1), ":q": {"SS": ["q"]}})

    def test_return_values(self):
        def after(wanted, expression="SET a = :2, m.y = :2 REMOVE c"):
            self.put("r", a=n(1), c=n(3), m={"M": {"x": n(1)}})
            return self.update("r", expression, {":2": n(2)}, ReturnValues=wanted).get("Attributes")
        new = {"p": s("r"), "a": n(2), "m": {"M": {"x": n(1), "y": n(2)}}}
        self.assertIsNone(after("NONE"))
        self.assertEqual(after("ALL_OLD"), {"p": s("r"), "a": n(1), "c": n(3), "m": {"M": {"x": n(1)}}})
        self.assertEqual(after("ALL_NEW"), new)
        self.assertEqual(after("UPDATED_OLD"), {"a": n(1), "c": n(3)})
        self.assertEqual(after("UPDATED_NEW"), {"a": n(2), "m": {"M": {"y": n(2)}}})

    def test_an_update_makes_an_item_and_without_an_expression_only_its_key(self):
        self.ok("UpdateItem", Key={"p": s("fresh")})
        self.assertEqual(self.get("fresh"), {"p": s("fresh")})
        self.assertEqual(self.update("fresh-2", "ADD n :1", {":1": n(1)}, ReturnValues="ALL_NEW")["Attributes"],
                         {"p": s("fresh-2"), "n": n(1)})

    def test_updates_that_do_not_fit_the_item_are_refused(self):
        self.put("x", a=n(1), t=s("text"), l={"L": []})
        missing = "The provided expression refers to an attribute that does not exist in the item"
        operand = "An operand in the update expression has an incorrect data type"
        path = "The document path provided in the update expression is invalid for update"
        for message, expression, values in (
            (missing, "SET b = nothing", None), (missing, "SET b = nothing + :1", {":1": n(1)}),
            (operand, "SET a = t + :1", {":1": n(1)}), (operand, "SET l = list_append(a, :l)", {":l": {"L": []}}),
            (operand, "ADD t :1", {":1": n(1)}), (operand, "DELETE a :s", {":s": {"SS": ["a"]}}),
            (path, "SET nothing.x = :1", {":1": n(1)}), (path, "SET a.x = :1", {":1": n(1)}),
            (path, "SET t[0] = :1", {":1": n(1)}), (path, "REMOVE a.b", None),
        ):
            members = {"ExpressionAttributeValues": values} if values else {}
            with self.subTest(expression):
                self.bad("UpdateItem", message, Key={"p": s("x")}, UpdateExpression=expression, **members)
        self.bad("UpdateItem", "Item size to update has exceeded the maximum allowed size", Key={"p": s("x")},
                 UpdateExpression="SET big = :b", ExpressionAttributeValues={":b": s("x" * 409600)})
        self.assertEqual(self.get("x"), {"p": s("x"), "a": n(1), "t": s("text"), "l": {"L": []}})

    def test_wrong_updates_are_refused_in_the_services_words(self):
        bad = "Invalid UpdateExpression: "
        one = {":1": n(1)}
        for message, expression, values in (
            (bad + "The expression can not be empty;", "", None),
            (bad + 'Syntax error; token: "a", near: "a ="', "a = :1", one),
            (bad + 'The "SET" section can only be used once in an update expression;',
             "SET a = :1 SET b = :1", one),
            (bad + "Two document paths overlap with each other; must remove or rewrite one of these paths; "
             "path one: [a], path two: [a, b]", "SET a = :1, a.b = :1", one),
            (bad + "Two document paths conflict with each other; must remove or rewrite one of these paths; "
             "path one: [a, b], path two: [a, [1]]", "SET a.b = :1, a[1] = :1", one),
            (bad + "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
             "typeSet: ALLOWED_FOR_ADD_OPERAND", "ADD a :t", {":t": s("t")}),
            (bad + "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, "
             "typeSet: ALLOWED_FOR_DELETE_OPERAND", "DELETE a :1", one),
            (bad + "Incorrect operand type for operator or function; operator or function: list_append, "
             "operand type: N", "SET a = list_append(a, :1)", one),
            (bad + "The function is not allowed in an update expression; function: size", "SET a = size(b)", None),
            (INVALID + "Cannot update attribute p. This attribute is part of the key", "SET p = :1", one),
            (INVALID + "Cannot update attribute p. This attribute is part of the key", "REMOVE p", None),
        ):
            members = {"ExpressionAttributeValues": values} if values else {}
            with self.subTest(expression):
                self.bad("UpdateItem", message, Key={"p": s("x")}, UpdateExpression=expression, **members)

    def test_numbers_are_exact_and_bounded(self):
        big = "9" * 38
        self.put("n", a=n(big))
        self.update("n", "SET b = a - :1", {":1": n(1)})
        self.assertEqual(self.get("n")["b"], n("9" * 37 + "8"))
        self.put("n", a=n("9.9999999999999999999999999999999999999E+125"))
        self.bad("UpdateItem", None, Key={"p": s("n")}, UpdateExpression="SET a = a + a")


class ProjectionTest(Suite):
    def setUp(self):
        self.put("a", a=n(1), m={"M": {"x": n(1), "y": {"L": [n(0), n(1), n(2)]}}}, name=s("n"))

    def test_projections_select_paths(self):
        for projection, names, wanted in (
            ("a", None, {"a": n(1)}), ("p, nothing", None, {"p": s("a")}),
            ("m.x", None, {"m": {"M": {"x": n(1)}}}),
            ("m.y[2], m.y[0]", None, {"m": {"M": {"y": {"L": [n(0), n(2)]}}}}),
            ("#n", {"#n": "name"}, {"name": s("n")}), ("nothing", None, {}), ("m.y[9]", None, {}),
        ):
            members = {"ExpressionAttributeNames": names} if names else {}
            with self.subTest(projection):
                self.assertEqual(self.get("a", ProjectionExpression=projection, **members), wanted)

    def test_wrong_projections_are_refused(self):
        bad = "Invalid ProjectionExpression: "
        for message, projection in (
            (bad + "The expression can not be empty;", ""),
            (bad + 'Syntax error; token: "<EOF>", near: ","', "a,"),
            (bad + "Attribute name is a reserved keyword; reserved keyword: name", "name"),
            (bad + "Two document paths overlap with each other; must remove or rewrite one of these paths; "
             "path one: [m, x], path two: [m]", "m.x, m"),
        ):
            with self.subTest(projection):
                self.bad("GetItem", message, Key={"p": s("a")}, ProjectionExpression=projection)


class ReturnedValuesTest(Suite):
    """What UPDATED_OLD and UPDATED_NEW show of paths, as others have measured it on the service."""

    def test_nested_paths_show_only_what_was_updated(self):
        self.put("a", a={"M": {"b": s("dog"), "c": {"L": [n(1), n(2), n(3)]}}}, d=s("cat"))
        def updated(which, expression, *values):
            names = {":%d" % i: v for i, v in enumerate(values)} or None
            return self.update("a", expression, names, ReturnValues="UPDATED_" + which).get("Attributes")
        def c(*numbers):
            return {"a": {"M": {"c": {"L": [n(i) for i in numbers]}}}}
        self.assertEqual(updated("OLD", "SET a.b = :0", s("x")), {"a": {"M": {"b": s("dog")}}})
        self.assertEqual(updated("OLD", "SET a.c[1] = :0", n(7)), c(2))
        self.assertEqual(updated("NEW", "SET a.c[1] = :0", n(8)), c(8))
        self.assertEqual(updated("OLD", "REMOVE a.c[1], a.c[3]"), c(8))
        self.assertIsNone(updated("OLD", "SET a.x = :0", n(1)))
        self.assertEqual(updated("NEW", "SET a.y = :0", n(1)), {"a": {"M": {"y": n(1)}}})
        self.assertIsNone(updated("NEW", "SET a.c[100] = :0", n(70)))  # an element is added, and not shown
        self.assertEqual(updated("NEW", "REMOVE a.c[1]"), c(70))       # what stands there now
        self.assertIsNone(updated("NEW", "REMOVE d"))
        self.assertIsNone(updated("OLD", "SET e = :0", n(1)))


if __name__ == "__main__":
    unittest.main()
