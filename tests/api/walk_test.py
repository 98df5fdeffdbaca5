"""A random walk over the item API: each answer is compared whole with a model (walk_model.py).

    SEED=n STEPS=n tests/api/run tests/api/walk_test.py build/weir local --profile off

One process sends one request after the other to a few tables with few keys, so that writes meet items and the model
knows every answer. Compared are items, Attributes, errors and their texts, Count, ScannedCount, LastEvaluatedKey and
ConsumedCapacity. The write units that the nodes have counted are compared too: an error shows no ConsumedCapacity.

The same seed sends the same requests. A failure prints the seed, the step, the request and both answers.

Eventual reads may be older than the last write. So an eventual read that differs is sent again until it agrees, for
STALE_SECONDS at most; strong reads and writes are sent once. The end tells how many were sent again.
"""

import base64
import json
import os
import random
import sys
import time
import urllib.request

import suite
import walk_model
from suite import keys_of, n, s, send
from walk_model import Failure, Model, Table, values
import cases  # noqa: E402, of tests/model
from patience import Patience  # noqa: E402, found by suite

SEED = int(os.environ.get("SEED") or int.from_bytes(os.urandom(4), "big"))
STEPS = int(os.environ.get("STEPS") or 1200)
STALE_SECONDS = 30
COUNT_STEPS = 200  # how often the counters of the nodes are compared
SHOWN = 2000  # characters of a request or answer
SEGMENTS = (1, 2, 3, 4, 5, 7, 16)
OPERATORS = ("EQ", "NE", "LT", "LE", "GT", "GE", "NULL", "NOT_NULL", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH", "IN",
             "BETWEEN")
READS = ("GetItem", "BatchGetItem", "Query", "Scan")
WEIGHTS = {"PutItem": 22, "UpdateItem": 22, "DeleteItem": 8, "GetItem": 10, "BatchGetItem": 6, "BatchWriteItem": 6,
           "Query": 18, "Scan": 8}
SCHEMAS = ({"p": "S"}, {"p": "S", "s": "S"}, {"p": "N", "s": "N"}, {"p": "B", "s": "B"})


class Differs(Exception):
    pass


# ---- answers ----


def normal(operation, answer):
    """An answer in the form of the model's: sets have no order, nor have a batch's items and tables."""
    for item in [answer[m] for m in ("Item", "Attributes", "LastEvaluatedKey") if m in answer] + answer.get("Items", []):
        values.sorted_item(item)
    for items in answer.get("Responses", {}).values():
        for item in items:
            values.sorted_item(item)
    return ordered(answer) if operation.startswith("Batch") else answer


def ordered(answer):
    for items in answer.get("Responses", {}).values():
        items.sort(key=lambda item: json.dumps(item, sort_keys=True))
    answer.get("ConsumedCapacity", []).sort(key=lambda c: c["TableName"])
    return answer


def agrees(operation, expected, status, answer):
    if not isinstance(expected, Failure):
        return status == 200 and normal(operation, answer) == expected
    return (status == 400 and answer["__type"].split("#")[1] == expected.kind
            and answer.get("message", answer.get("Message")) in expected.texts
            and (None if "Item" not in answer else values.sorted_item(answer["Item"])) == expected.item)


def is_eventual(operation, body):
    if operation == "BatchGetItem":
        return not all(r.get("ConsistentRead") for r in body["RequestItems"].values())
    return operation in READS and not body.get("ConsistentRead")


def shown(value):
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} .. ({len(text)} characters)"


# ---- requests ----


class Requests:
    """Random requests that have to do with the model's items."""

    def __init__(self, source, model):
        self.random, self.model = source, model
        self.make = cases.Generator(source)
        self.pick, self.below, self.chance = source.choice, source.randrange, self.make.chance
        self.tables = list(model.tables.values())
        self.pools = {t.name: self.pool(t.schema) for t in self.tables}

    # ---- keys ----

    def distinct(self, kind, count):
        found = {}
        while len(found) < count:
            json_ = self.make.key_value(kind)
            found.setdefault(values.order_key(values.read_value(json_)), json_)
        return list(found.values())

    def pool(self, schema):
        """The values of each key attribute."""
        counts = {"p": 4 if "s" in schema else 12, "s": 9}
        return {k: self.distinct(kind, min(counts[k], 10 if kind == "B" else 12)) for k, kind in schema.items()}

    def key(self, t, wrong=0.0):
        key = {k: self.pick(pool) for k, pool in self.pools[t.name].items()}
        if self.chance(0.25):
            key["p"] = self.pools[t.name]["p"][0]  # the partition key of the large items
        if self.chance(wrong):
            key[self.pick(("p", "q"))] = {"BOOL": True}
        return key

    def some_key(self, t, wrong=0.0):
        """More often than not the key of an item."""
        if t.items and self.chance(0.6):
            return t.key_json(t.items[self.pick(sorted(t.items))])
        return self.key(t, wrong)

    def current(self, t, key):
        """The item's attributes as JSON, but for its key and its filling; None: no item."""
        try:
            item = t.items.get(t.key_of(t.read_key(key)))
        except walk_model.Refused:
            return None
        return item and {k: values.write_value(v) for k, v in item.items() if k not in ("p", "s", "fill")}

    # ---- items ----

    def size(self, t, key):
        """How large an item shall be; 0: as it comes. The items of one partition key are larger: four
        of them may be a page exactly."""
        if self.chance(0.6 if key["p"] == self.pools[t.name]["p"][0] else 0.03):
            return self.pick((20000,) + (256 * 1024,) * 6 + (390 * 1024, 400 * 1024, 400 * 1024 + 1))
        if self.chance(0.5):
            return 0
        return self.pick((1024, 2048, 3072, 4096, 8192)) + self.pick((-1, 0, 1))

    def filling(self, size):
        kind = self.pick("SSBLN")
        if size < 100 or kind == "S":
            return {"S": "x" * size}
        if kind == "B":
            return {"B": base64.b64encode(b"\xfe" * size).decode()}
        if kind == "N":
            return {"NS": [str(i) for i in range(1, min(size // 3, 2000))]}
        return {"L": [s("y" * 60), {"M": {"k": s("z" * (size - 80))}}]}

    def item(self, t):
        key = self.key(t, 0.01)
        item = {**self.make.item(), **key}
        if self.chance(0.03):
            self.make.spoil_item(item)
            return item
        left = self.size(t, key) - 4 - values.item_size(values.read_members(item, 0))
        if left >= 0:
            item["fill"] = self.filling(left)
        return item

    # ---- expressions and their older forms ----

    @staticmethod
    def with_texts(body, t):
        if t.names:
            body["ExpressionAttributeNames"] = t.names
        if t.values:
            body["ExpressionAttributeValues"] = t.values

    def older_values(self, operator, value):
        kind = next(iter(value))
        if operator in ("EQ", "NE"):
            return [self.make.near(value)]
        if operator in ("NULL", "NOT_NULL"):
            return None
        kind = kind if kind in "SNB" and not (operator == "BEGINS_WITH" and kind == "N") else "S"
        count = {"IN": self.pick((1, 2, 3)), "BETWEEN": 2}.get(operator, 1)
        found = [{kind: self.make.scalar(kind)} for _ in range(count)]
        if kind in value and self.chance(0.4):
            found[0] = value
        return sorted(found, key=lambda v: values.order_key(values.read_value(v)))

    def older_terms(self, item, expected=False):
        terms = {}
        for _ in range(self.pick((1, 1, 2, 3))):
            name = self.pick(list(item)) if item and self.chance(0.8) else self.pick(cases.NAMES)
            value = item.get(name) or self.make.value(2)
            operator, r = self.pick(OPERATORS), self.random.random()
            if expected and r < 0.2:
                terms[name] = {"Exists": False}
            elif expected and r < 0.4:
                terms[name] = {"Value": self.make.near(value)}
            else:
                terms[name] = {"ComparisonOperator": operator}
                found = self.older_values(operator, value)
                if found is not None:
                    terms[name]["AttributeValueList"] = found
        return terms

    def add_older(self, body, parameter, item):
        body[parameter] = self.older_terms(item, parameter == "Expected")
        if len(body[parameter]) > 1 and self.chance(0.5):
            body["ConditionalOperator"] = self.pick(("AND", "OR"))

    def older_update(self, item):
        updates = {}
        for _ in range(self.pick((1, 1, 2, 3))):
            name = self.pick(list(item)) if item and self.chance(0.7) else self.pick(cases.NAMES)
            value, action = item.get(name), self.pick(("PUT", "PUT", "ADD", "ADD", "DELETE", None))
            kinds = cases.SETS + (("N",) if action == "ADD" else ())
            kind = next(iter(value)) if value and self.chance(0.8) else None
            kind = kind if kind in kinds else self.pick(kinds)
            if action in ("PUT", None):
                json_ = self.make.value(1)
            else:
                json_ = {kind: self.make.number() if kind == "N" else self.make.set_of(kind)}
            updates[name] = {"Value": json_, **({"Action": action} if action else {})}
            if action == "DELETE" and self.chance(0.5):
                del updates[name]["Value"]
        return updates

    def condition(self, body, item, older, texts):
        """A condition on the item that the write meets."""
        r = self.random.random()
        if r < 0.55:
            return
        if older:
            self.add_older(body, "Expected", item)
        elif r < 0.7:
            body["ConditionExpression"] = self.pick(("attribute_exists(p)", "attribute_not_exists(p)", "size(fill) > a"))
        else:
            body["ConditionExpression"] = self.make.condition(texts, item or self.make.item())

    # ---- writes ----

    def finish_write(self, body, return_values):
        for member, choices, p in (
                ("ReturnValues", return_values, 0.7), ("ReturnConsumedCapacity", ("TOTAL", "INDEXES", "NONE"), 0.8),
                ("ReturnValuesOnConditionCheckFailure", ("ALL_OLD", "NONE"), 0.5),
                ("ReturnItemCollectionMetrics", ("SIZE", "NONE"), 0.2)):
            if self.chance(p):
                body[member] = self.pick(choices)
        return body

    def put_item(self, t):
        texts, item = cases.Texts(self.random), self.item(t)
        body = {"TableName": t.name, "Item": item}
        key = {k: v for k, v in item.items() if k in t.schema}
        self.condition(body, self.current(t, key) or {}, self.chance(0.3), texts)
        self.with_texts(body, texts)
        return self.finish_write(body, ("ALL_OLD",) * 8 + ("NONE", "UPDATED_NEW"))

    def delete_item(self, t):
        texts, key = cases.Texts(self.random), self.some_key(t, 0.03)
        body = {"TableName": t.name, "Key": key}
        self.condition(body, self.current(t, key) or {}, self.chance(0.3), texts)
        self.with_texts(body, texts)
        return self.finish_write(body, ("ALL_OLD",) * 8 + ("NONE", "ALL_NEW"))

    def update_item(self, t):
        texts, key = cases.Texts(self.random), self.some_key(t, 0.03)
        body, item = {"TableName": t.name, "Key": key}, self.current(t, key) or {}
        r = self.random.random()
        older = r < 0.25
        if older:
            body["AttributeUpdates"] = self.older_update(item)
        elif r < 0.38:
            size = self.size(t, key)
            body["UpdateExpression"] = "SET fill = " + texts.value(self.filling(size)) if size else "REMOVE fill, x, e"
        elif r < 0.95:
            body["UpdateExpression"] = self.make.update(texts, item or self.make.item())
        self.condition(body, item, older, texts)
        self.with_texts(body, texts)
        return self.finish_write(body, walk_model.ALL_VALUES)

    # ---- reads ----

    def project(self, body, item, texts, older=False):
        if older:
            body["AttributesToGet"] = self.random.sample(cases.NAMES + ("p", "s", "fill"), self.pick((1, 2, 4)))
        else:
            body["ProjectionExpression"] = self.make.projection(texts, dict(item))
            if self.chance(0.3) and " p" not in body["ProjectionExpression"]:
                body["ProjectionExpression"] += self.pick((", p", ", s", ", fill"))

    def finish_read(self, body):
        if self.chance(0.6):
            body["ConsistentRead"] = self.chance(0.8)
        return body

    def get_item(self, t):
        texts, key = cases.Texts(self.random), self.some_key(t, 0.03)
        body = self.finish_read({"TableName": t.name, "Key": key})
        if self.chance(0.4):
            self.project(body, self.current(t, key) or self.make.item(), texts, self.chance(0.3))
        self.with_texts(body, texts)
        return self.with_capacity(body)

    def with_capacity(self, body):
        if self.chance(0.8):
            body["ReturnConsumedCapacity"] = self.pick(("TOTAL", "INDEXES", "NONE"))
        return body

    def batch_tables(self):
        return self.random.sample(self.tables, self.pick((1, 1, 2, 3)))

    def batch_get_item(self, _):
        requests, older = {}, self.chance(0.3)
        for t in self.batch_tables():
            texts = cases.Texts(self.random)
            keys = {json.dumps(k): k for k in (self.some_key(t, 0.005) for _ in range(self.pick((1, 3, 6))))}
            keys = list(keys.values()) * (2 if self.chance(0.02) else 1)
            requests[t.name] = self.finish_read({"Keys": keys})
            if self.chance(0.3):
                self.project(requests[t.name], self.make.item(), texts, older)
            self.with_texts(requests[t.name], texts)
        return self.with_capacity({"RequestItems": requests})

    def batch_write_item(self, _):
        requests = {}
        for t in self.batch_tables():
            found = {}
            for _ in range(self.pick((1, 2, 5))):
                item = self.item(t)
                if self.chance(0.4):
                    item = self.some_key(t)
                    found[json.dumps(item)] = {"DeleteRequest": {"Key": item}}
                else:
                    key = {k: item[k] for k in t.schema if k in item}
                    found[json.dumps(key)] = {"PutRequest": {"Item": item}}
            requests[t.name] = list(found.values()) * (2 if self.chance(0.02) else 1)
        return self.with_capacity({"RequestItems": requests})

    def finish_page(self, body, t, texts, filter_parameter):
        item = self.current(t, self.some_key(t)) or self.make.item()
        older = "KeyConditions" in body
        if not older and filter_parameter == "ScanFilter":
            older = self.chance(0.3)
        if self.chance(0.45):
            if older:
                self.add_older(body, filter_parameter, item)
            else:
                body["FilterExpression"] = self.make.condition(texts, item)
        if self.chance(0.3):
            self.project(body, item, texts, older)
        if self.chance(0.25):
            body["Select"] = self.pick(("COUNT", "COUNT", "ALL_ATTRIBUTES", "SPECIFIC_ATTRIBUTES",
                                        "ALL_PROJECTED_ATTRIBUTES"))
        if self.chance(0.4):
            body["Limit"] = self.pick((1, 1, 2, 3, 5, 8, 100))
        self.with_texts(body, texts)
        return self.with_capacity(self.finish_read(body))

    def sort_condition(self, kind, pool):
        """(operator, values) of a sort key."""
        operator = self.pick(("EQ", "LT", "LE", "GT", "GE", "BETWEEN", "BETWEEN") + (("BEGINS_WITH",) * 2 if kind != "N" else ()))
        found = [self.pick(pool) for _ in range(2 if operator == "BETWEEN" else 1)]
        return operator, sorted(found, key=lambda v: values.order_key(values.read_value(v)))

    def query(self, t):
        texts, body, pools = cases.Texts(self.random), {"TableName": t.name}, self.pools[t.name]
        p = self.pick(pools["p"][:1] * 2 + pools["p"])
        conditions = {"p": ("EQ", [p])}
        if "s" in t.schema and self.chance(0.6):
            conditions["s"] = self.sort_condition(t.schema["s"], pools["s"])
        if self.chance(0.3):
            body["KeyConditions"] = {k: {"ComparisonOperator": o, "AttributeValueList": v}
                                     for k, (o, v) in conditions.items()}
        else:
            body["KeyConditionExpression"] = self.pick((" AND ", " and ")).join(
                self.key_text(k, o, [texts.value(value) for value in v]) for k, (o, v) in conditions.items())
        if self.chance(0.5):
            body["ScanIndexForward"] = self.chance(0.3)
        if self.chance(0.15):
            body["ExclusiveStartKey"] = {**self.key(t), **({"p": p} if self.chance(0.9) else {})}
        return self.finish_page(body, t, texts, "QueryFilter")

    @staticmethod
    def key_text(name, operator, refs):
        if operator == "BETWEEN":
            return f"{name} BETWEEN {refs[0]} AND {refs[1]}"
        if operator == "BEGINS_WITH":
            return f"begins_with({name}, {refs[0]})"
        return f"{name} {walk_model.SIGNS[operator]} {refs[0]}"

    def scan(self, t):
        body = {"TableName": t.name}
        if self.chance(0.4):
            body["TotalSegments"] = self.pick(SEGMENTS)
            body["Segment"] = self.below(body["TotalSegments"])
        if self.chance(0.25):
            body["ExclusiveStartKey"] = self.key(t)
        return self.finish_page(body, t, cases.Texts(self.random), "ScanFilter")

    def next(self):
        operation = self.random.choices(list(WEIGHTS), WEIGHTS.values())[0]
        name = "".join("_" * (i > 0 and c.isupper()) + c.lower() for i, c in enumerate(operation))
        return operation, getattr(self, name)(self.pick(self.tables))


# ---- the walk ----


class Walk:
    def __init__(self):
        self.random = random.Random(SEED)
        self.model = Model([Table(f"walk-{os.getpid()}-{i}", schema) for i, schema in enumerate(SCHEMAS)])
        self.requests = Requests(self.random, self.model)
        self.step, self.again = 0, 0  # requests; eventual reads sent again
        self.counts = {}
        self.before = {}  # counters before the walk
        self.counted = "write units of nodes compared"

    def send(self, operation, body):
        """The model's answer, which the service's answer must be."""
        self.step += 1
        try:
            expected = self.model.expect(operation, json.loads(json.dumps(body)))
            if operation.startswith("Batch"):
                ordered(expected)
        except Failure as failure:
            expected = failure
        waits = Patience(STALE_SECONDS)
        while True:
            status, answer = send(operation, body)
            suite.SENT.clear()
            if agrees(operation, expected, status, answer):
                break
            if not is_eventual(operation, body) or isinstance(expected, Failure) or waits.is_over():
                raise Differs(f"{operation} {shown(body)}\n  weir:  {status} {shown(answer)}\n  model: "
                              f"{expected if isinstance(expected, Failure) else shown(expected)}")
            self.again += 1
            time.sleep(suite.POLL_S)
        kind = operation + (" " + expected.kind if isinstance(expected, Failure) else "")
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return expected

    def pages(self, operation, body):
        """A request, and more pages of it."""
        answer = self.send(operation, body)
        while not isinstance(answer, Failure) and "LastEvaluatedKey" in answer and self.requests.chance(0.6):
            answer = self.send(operation, {**body, "ExclusiveStartKey": answer["LastEvaluatedKey"]})

    # ---- what the model cannot know ----

    def create(self, t):
        status, answer = send("CreateTable", {"TableName": t.name, "BillingMode": "PAY_PER_REQUEST",
                                              **keys_of(*t.schema.items())})
        assert status == 200, answer
        suite.await_active(t.name)

    def learn(self, t):
        """The order of the partition keys, and their segments: each key is in one, and the order is the table's."""
        pools = self.requests.pools[t.name]
        for p in pools["p"]:
            item = {"p": p, **({"s": pools["s"][0]} if "s" in pools else {})}
            self.send("PutItem", {"TableName": t.name, "Item": item})
        bounds = sorted({p["start_hash"] for p in self.figures(t)["partitions"]})
        t.partitions = len(bounds)
        assert [int(b, 16) for b in bounds] == [i * 2 ** 64 // len(bounds) for i in range(len(bounds))], bounds
        for total in sorted(set(SEGMENTS) | {t.partitions}):
            found = []
            for segment in range(total):
                status, answer = send("Scan", {"TableName": t.name, "ConsistentRead": True, "TotalSegments": total,
                                               "Segment": segment})
                assert status == 200, answer
                found += [(values.order_key(values.read_value(item["p"])), segment) for item in answer["Items"]]
            t.segment[total] = dict(found)
            order = {p: i for i, (p, _) in enumerate(found)}
            assert len(order) == len(found) == len(pools["p"]), found
            t.rank = t.rank or order
            assert t.rank == order, "the segments' order is not the table's"

    @staticmethod
    def figures(t):
        with urllib.request.urlopen(f"{suite.URL}/weir/partitions?table={t.name}") as answer:
            return json.load(answer)

    def counters(self, t):
        """(requests that the router has sent again, write units that nodes have counted)"""
        page = self.figures(t)
        return page["router"]["internal_retries"], sum(p["write"]["consumed"] for p in page["partitions"])

    def check_counted(self):
        """The write units that the nodes have counted. They may count a request twice that the router has sent again."""
        for t in self.model.tables.values():
            (retries, units), (retries_before, units_before) = self.counters(t), self.before[t.name]
            if retries > retries_before:
                self.counted = "write units of nodes not compared: the router has sent requests again"
            elif units - units_before != t.written:
                raise Differs(f"write units of {t.name} (schema {t.schema}): nodes {units - units_before}, model "
                              f"{t.written}")

    def run(self):
        for t in self.model.tables.values():
            self.create(t)
            self.learn(t)
        for t in self.model.tables.values():
            self.before[t.name] = self.counters(t)
            t.written = 0
        while self.step < STEPS:
            before = self.step // COUNT_STEPS
            self.pages(*self.requests.next())
            if self.step // COUNT_STEPS > before:
                self.check_counted()
        self.check_counted()
        for t in self.model.tables.values():
            send("DeleteTable", {"TableName": t.name})


def main():
    print(f"SEED={SEED} STEPS={STEPS}", flush=True)
    walk, begun = Walk(), time.monotonic()
    try:
        walk.run()
    except Differs as differs:
        print(f"SEED={SEED}, step {walk.step}: weir and the model differ\n  {differs}")
        return 1
    for kind, count in sorted({**walk.counts, **walk.model.met}.items()):
        print(f"{count:>8,}  {kind}")
    missed = [what for what in walk_model.RARE if walk.model.met[what] == 0]
    if missed and STEPS >= 1000:
        print("never met:", *missed, sep="\n  ")
        return 1
    print(f"{walk.step:,} requests in {time.monotonic() - begun:.1f} s; {walk.again} eventual reads sent again; "
          + walk.counted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
