"""Every operation that is served, every place in its input: values of wrong types, missing members, values beyond
each constraint of the model, alone and together, with the service's type and whole text. See model.py."""

import json
import unittest

import model
from suite import send

ERRORS_MAX = 10
SHOWN_MAX = 2048


class ShapeTest(unittest.TestCase):
    maxDiff = None

    def refused(self, operation, body, kind, message):
        status, answer = send(operation, body)
        told = answer.get("message", answer.get("Message"))
        if len(message) > SHOWN_MAX and len(told) < len(message) and "' at '" in message:
            end = message.rindex("' at '")  # weir cuts long values
            message = message[:SHOWN_MAX] + told[SHOWN_MAX:len(told) + end - len(message)] + message[end:]
        with self.subTest(operation, body=str(body)[:200]):
            self.assertEqual(status, 400, answer)
            self.assertEqual((answer["__type"].split("#")[1], told), (kind, message))

    def each_site(self):
        for operation in model.SERVED:
            for site in model.sites(model.Site(model.input_of(operation))):
                yield operation, site

    def test_values_of_wrong_types_are_refused_first(self):
        count = 0
        for operation, site in self.each_site():
            for value, message in model.wrong_types(site):
                body = model.place(operation, site.path, value) if site.path else json.dumps(value)
                self.refused(operation, body, "SerializationException", message)
                count += 1
        self.assertGreater(count, 2000)

    def name_first(self, operation, site):
        return operation in model.NAME_FIRST and site.path == ("TableName",)

    def test_each_constraint_is_told_in_the_services_words(self):
        count = 0
        for operation, site in self.each_site():
            if self.name_first(operation, site):
                continue
            for value, texts in model.broken(site):
                self.refused(operation, model.place(operation, site.path, value), "ValidationException",
                             model.errors(texts))
                count += 1
        self.assertGreater(count, 300)

    def test_values_at_their_bounds_are_taken(self):
        for operation, site in self.each_site():
            if self.name_first(operation, site):
                continue
            for value in model.at_bounds(site):
                body = model.place(operation, site.path, value)
                status, answer = send(operation, body)
                text = answer.get("message", answer.get("Message", "")) if status != 200 else ""
                with self.subTest(operation, site=site.shown):
                    self.assertNotEqual(status, 500, answer)
                    self.assertNotIn("validation error", text)
                    self.assertNotIn("SerializationException", answer.get("__type", ""))

    def test_a_tables_name_alone_is_told_first_by_operations_on_tables(self):
        site = model.Site("TableName", ("TableName",), "tableName", "TableName")
        for operation in sorted(model.NAME_FIRST):
            for others in (False, True):  # the other members missing, too
                base = {} if others else model.base(operation)
                self.refused(operation, {k: v for k, v in base.items() if k != "TableName"}, "ValidationException",
                             "The parameter 'TableName' is required but was not present in the request")
                for name, over in (("", False), ("ab", False), ("a;", False), ("a" * 256, True)):
                    self.refused(operation, {**base, "TableName": name}, "ValidationException",
                                 model.errors([model.failed(site, name, model.bound_rule(site, over))]))
            self.refused(operation, model.place(operation, ("TableName",), "abc;"), "ValidationException",
                         model.errors([model.failed(site, "abc;", "Member must satisfy regular expression pattern: "
                                                    + model.NAME_PATTERN)]))

    def test_several_faults_are_told_together_in_the_services_order(self):
        together = 0
        for operation in model.SERVED:
            root = model.Site(model.input_of(operation))
            body, texts = model.base(operation), []
            for m in model.members(root.shape):
                site = root.step(m.shape, m.name, model.small(m.name), m.name, required=m.required)
                if m.later or self.name_first(operation, site) or model.SHAPES[m.shape]["type"] == "anything":
                    continue
                fault = next((b for b in model.broken(site)), None)
                if fault is not None and len(texts) < ERRORS_MAX:
                    model.place(operation, site.path, fault[0], body)
                    texts += fault[1]
            if texts:
                self.refused(operation, body, "ValidationException", model.errors(texts))
                together += len(texts) > 1
        self.assertGreaterEqual(together, 12)

    def test_members_that_come_later_are_refused_by_name(self):
        for operation in model.SERVED:
            for m in model.members(model.input_of(operation)):
                if m.later:
                    body = {**model.base(operation), m.name: {}}
                    self.refused(operation, body, "ValidationException", m.name + " is not supported by weir yet")

    def test_members_of_tables_are_told_with_their_paths(self):
        """What generated cases do not reach: faults of a map's keys and values."""
        rule = ("Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member must have "
                "length greater than or equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]")
        enum = ("Value 'hi' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value "
                "set: [INDEXES, TOTAL, NONE]")
        keys = {"bad!name": {"Keys": [{"pk": {"S": "a"}}]}}
        shown = "Value '{\"bad!name\":{\"Keys\":[{\"pk\":{\"S\":\"a\"}}]}}' at 'requestItems' failed to satisfy constraint: "
        self.refused("BatchGetItem", {"RequestItems": keys, "ReturnConsumedCapacity": "hi"}, "ValidationException",
                     model.errors([shown + rule, enum]))
        put = [{"PutRequest": {"Item": {"p": {"S": "a"}}}}]
        self.refused("BatchWriteItem", {"RequestItems": {"bad!name": put}, "ReturnConsumedCapacity": "hi"},
                     "ValidationException", model.errors([enum]))
        shown = "Value '%s' at 'requestItems' failed to satisfy constraint: "
        for items, text in (({"bad!name": put}, rule), ({"abc": put * 26},
                            "Map value must satisfy constraint: [Member must have length less than or equal to 25, "
                            "Member must have length greater than or equal to 1]")):
            self.refused("BatchWriteItem", {"RequestItems": items}, "ValidationException", model.errors(
                [shown % model.shown("BatchWriteItemRequestMap", items) + text]))


if __name__ == "__main__":
    unittest.main()
