"""walk_model - what the item API must answer: tables as dictionaries, requests as JSON.

Model.expect takes a request and gives the answer, or raises Failure. A request that changes items changes the model.
Expressions, values, sizes and keys are those of tests/model.

Sources: developer guide, "Read and write operations" (units), "Paginating table query results" (1 MB, LastEvaluatedKey),
"Legacy conditional parameters"; API reference, ReturnValues. docs/compatibility.md has a Scan's capacity. The order of
partition keys in a Scan and the parts that segments have are weir's: walk_test.py learns them.
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model"))
import expect  # noqa: E402
import meaning  # noqa: E402
import values  # noqa: E402
from language import Node  # noqa: E402
from values import INVALID, Refused  # noqa: E402

PAGE_BYTES = 2 ** 20
NO_MATCH = "The provided key element does not match the schema"
UNFIT = {
    meaning.NO_ATTRIBUTE: "The provided expression refers to an attribute that does not exist in the item",
    meaning.OPERAND_TYPE: "An operand in the update expression has an incorrect data type",
    meaning.PATH_INVALID: "The document path provided in the update expression is invalid for update",
    meaning.TOO_LARGE: "Item size to update has exceeded the maximum allowed size",
    meaning.TOO_DEEP: "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond "
                      "supported limit",
    meaning.NUMBER_RANGE: values.OVERFLOW,
    meaning.NUMBER_SMALL: values.UNDERFLOW,
}
LARGE_PAGE, DROPPED_LAST = "pages of 1 MB", "pages that end with an item which the filter drops"
NOT_SHOWN, BY_OLD = "updates of which nothing is shown", "writes that cost more by the old item"
RARE = (LARGE_PAGE, DROPPED_LAST, NOT_SHOWN, BY_OLD)
OLD_VALUES = ("NONE", "ALL_OLD")
ALL_VALUES = OLD_VALUES + ("ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
SIGNS = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


class Failure(Exception):
    """The request fails with this type and one of these texts. `item`: what the error shows, as JSON."""

    def __init__(self, kind, texts, item=None):
        super().__init__(kind, texts)
        self.kind, self.texts, self.item = kind, texts, item


class Faults:
    """What is wrong with a request. Nobody has measured which of several faults is told."""

    def __init__(self):
        self.texts = []

    def of(self, read, *arguments):
        try:
            return read(*arguments)
        except Refused as refused:
            self.texts.extend(refused.texts)
            return None

    def end(self):
        if self.texts:
            raise Failure("ValidationException", self.texts)


# ---- units ----


def write_units(size):
    return max(1, -(-size // 1024))


def read_units(size, strong):
    return max(1, -(-size // 4096)) * (1 if strong else 0.5)


def consumed(table, units, body):
    """The member ConsumedCapacity of one table; None: the request asks for none."""
    wanted = body.get("ReturnConsumedCapacity", "NONE")
    if wanted == "NONE":
        return None
    of_table = {"Table": {"CapacityUnits": units}} if wanted == "INDEXES" else {}
    return {"TableName": table.name, "CapacityUnits": units, **of_table}


def with_consumed(answer, table, units, body):
    member = consumed(table, units, body)
    return answer if member is None else {**answer, "ConsumedCapacity": member}


# ---- the parameters that expressions replaced ----


def attribute(name):
    return Node("path", path=[name])


def constant(json):
    return Node("value", value=values.read_value(json))


def term(name, member):
    """A condition on one attribute, of Expected, QueryFilter or ScanFilter."""
    operator = member.get("ComparisonOperator")
    path = attribute(name)
    if operator is None:
        if member.get("Exists") is False:
            return Node("function", [path], "attribute_not_exists")
        return Node("=", [path, constant(member["Value"])])
    operands = [path] + [constant(v) for v in member.get("AttributeValueList", ())]
    if operator in SIGNS:
        return Node(SIGNS[operator], operands)
    if operator in ("IN", "BETWEEN"):
        return Node(operator.lower(), operands)
    there = Node("function", [path], "attribute_exists")
    if operator == "NOT_CONTAINS":
        return Node("and", [there, Node("not", [Node("function", operands, "contains")])])
    if operator == "NOT_NULL":
        return there
    return Node("function", operands, {"NULL": "attribute_not_exists"}.get(operator, operator.lower()))


def older_condition(body, *parameters):
    for parameter in parameters:
        if parameter in body:
            terms = [term(name, member) for name, member in body[parameter].items()]
            return Node("or" if body.get("ConditionalOperator") == "OR" else "and", terms)
    return None


def older_update(body):
    actions = []
    for name, member in body["AttributeUpdates"].items():
        verb = {"PUT": "SET"}.get(member.get("Action", "PUT"), member.get("Action"))
        if "Value" in member:
            actions.append((verb, [name], constant(member["Value"])))
        else:
            actions.append(("REMOVE", [name], None))
    return actions


def older_keys(body):
    return {name: (SIGNS.get(m["ComparisonOperator"], m["ComparisonOperator"]).replace("BEGINS_WITH", "begins_with"),
                   [values.read_value(v) for v in m["AttributeValueList"]])
            for name, m in body["KeyConditions"].items()}


class Expressions:
    """What a request's expressions or their older forms say."""

    def __init__(self, table, body):
        case = {member: body[parameter] for member, parameter in expect.PARAMETERS if parameter in body}
        for member, parameter in (("names", "ExpressionAttributeNames"), ("values", "ExpressionAttributeValues")):
            if parameter in body:
                case[member] = body[parameter]
        trees, self.keys = expect.read_expressions({**case, "schema": table.schema})
        if "KeyConditions" in body:
            self.keys = older_keys(body)
        self.condition = (trees.get("condition") or trees.get("filter")
                          or older_condition(body, "Expected", "QueryFilter", "ScanFilter"))
        self.update = trees.get("update")
        if "AttributeUpdates" in body:
            self.update = older_update(body)
        self.projection = trees.get("projection")
        if "AttributesToGet" in body:
            self.projection = [[name] for name in body["AttributesToGet"]]

    def holds(self, item):
        return self.condition is None or meaning.holds(self.condition, item)

    def show(self, item):
        return values.write_item(item if self.projection is None else meaning.project(item, self.projection))


# ---- tables ----


class Table:
    def __init__(self, name, schema):
        self.name, self.schema = name, schema
        self.items = {}  # {(partition key, sort key): item}; keys in the form of order_key
        self.written = 0  # units of all writes, of refused ones too
        self.rank = {}  # of partition keys: their order in a Scan
        self.segment = {}  # {total segments: {partition key: segment}}
        self.partitions = 1

    def key_of(self, item):
        return tuple(values.order_key(item[k]) for k in self.schema)

    def key_json(self, item):
        return values.write_item({k: item[k] for k in self.schema})

    def read_key(self, json):
        key = values.read_members(json, 0)
        if {k: v[0] for k, v in key.items()} != self.schema:
            raise Refused(NO_MATCH)
        return key

    def check_item_key(self, item):
        for name, kind in self.schema.items():
            if name not in item:
                raise Refused(f"{INVALID}Missing the key {name} in the item")
            if item[name][0] != kind:
                raise Refused(f"{INVALID}Type mismatch for key {name} expected: {kind} actual: {item[name][0]}")

    def scanned(self):
        """The keys in the order of a Scan."""
        return sorted(self.items, key=lambda key: (self.rank[key[0]],) + key[1:])

    def charge(self, key, item, least=0):
        """The units of a write that leaves `item` (None: nothing), whether it is done or refused."""
        sizes = [values.item_size(i) for i in (self.items.get(key), item) if i is not None]
        units = write_units(max([least] + sizes))
        self.written += units
        return units

    def apply(self, key, item, least=0):
        """Puts or deletes (None) an item. Its units."""
        units = self.charge(key, item, least)
        if item is None:
            self.items.pop(key, None)
        else:
            self.items[key] = item
        return units


class Page:
    """Items of one Query or Scan, until a limit is met."""

    def __init__(self, limit):
        self.limit, self.items, self.bytes = limit, [], 0

    def is_full(self):
        return self.bytes >= PAGE_BYTES or len(self.items) == self.limit

    def take(self, items):
        """Takes items until the page is full; how many bytes these are."""
        before = self.bytes
        for item in items:
            if self.is_full():
                break
            self.items.append(item)
            self.bytes += values.item_size(item)
        return self.bytes - before


class Model:
    def __init__(self, tables):
        self.tables = {t.name: t for t in tables}
        self.met = collections.Counter()  # how often each of RARE came: a walk must meet all of them

    def expect(self, operation, body):
        try:
            return self.expected(operation, body)
        except Failure as failure:
            raise Failure(failure.kind, [values.in_words_of(operation, t) for t in failure.texts], failure.item) from None

    def expected(self, operation, body):
        return {"PutItem": self.put, "UpdateItem": self.update, "DeleteItem": self.delete, "GetItem": self.get,
                "BatchGetItem": self.batch_get, "BatchWriteItem": self.batch_write, "Query": self.query,
                "Scan": self.scan}[operation](body)

    # ---- writes ----

    def begin_write(self, body, item_of, return_values):
        """(table, the item or key, expressions), if the request alone is right."""
        t, faults = self.tables[body["TableName"]], Faults()
        item = faults.of(item_of, t, body)
        e = faults.of(Expressions, t, body)
        if body.get("ReturnValues", "NONE") not in return_values:
            faults.texts.append("Return values set to invalid value")
        faults.end()
        return t, item, e

    @staticmethod
    def check_condition(body, t, key, e, new, least):
        """The item that the write meets; {}: none."""
        old = t.items.get(key)
        if not e.holds(old or {}):
            t.charge(key, new, least)
            shown = old if body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" else None
            raise Failure("ConditionalCheckFailedException", ["The conditional request failed"],
                          None if shown is None else values.write_item(shown))
        return old or {}

    def finish_write(self, body, t, units, old, new, paths):
        wanted = body.get("ReturnValues", "NONE")
        shown = {"NONE": {}, "ALL_OLD": old, "ALL_NEW": new,
                 "UPDATED_OLD": meaning.project(old, paths), "UPDATED_NEW": meaning.project(new, paths)}[wanted]
        self.met[NOT_SHOWN] += wanted.startswith("UPDATED") and not shown
        self.met[BY_OLD] += units > write_units(values.item_size(new))
        return with_consumed({"Attributes": values.write_item(shown)} if shown else {}, t, units, body)

    def put(self, body):
        t, item, e = self.begin_write(body, item_of_put, OLD_VALUES)
        key = t.key_of(item)
        old = self.check_condition(body, t, key, e, item, 0)
        return self.finish_write(body, t, t.apply(key, item), old, item, [])

    def delete(self, body):
        t, item, e = self.begin_write(body, key_of_write, OLD_VALUES)
        key = t.key_of(item)
        old = self.check_condition(body, t, key, e, None, 0)
        return self.finish_write(body, t, t.apply(key, None), old, {}, [])

    def update(self, body):
        t, key_item, e = self.begin_write(body, key_of_write, ALL_VALUES)
        key, least = t.key_of(key_item), values.item_size(key_item)
        old = self.check_condition(body, t, key, e, None, least)
        actions = e.update or []
        try:
            new = meaning.update(actions, old or key_item, bool(old))
        except meaning.Unfit as unfit:
            t.charge(key, None, least)
            older = {UNFIT[meaning.OPERAND_TYPE]: "Type mismatch for attribute to update"}
            texts = [UNFIT[f] for f in unfit.faults]
            raise Failure("ValidationException", [older.get(x, x) for x in texts] if "AttributeUpdates" in body
                          else texts) from None
        if not old and actions and new == key_item:
            new = {}  # an update that only removes makes no item
        units = t.apply(key, new or None, least)
        return self.finish_write(body, t, units, old, new, [path for _, path, _ in actions])

    def batch_write(self, body):
        faults, work = Faults(), []
        for name, requests in body["RequestItems"].items():
            t, keys = self.tables[name], []
            for request in requests:
                put = request.get("PutRequest")
                item = faults.of(*((item_of_batch, t, put["Item"]) if put
                                   else (t.read_key, request["DeleteRequest"]["Key"])))
                if item is not None:
                    keys.append(t.key_of(item))
                    work.append((t, keys[-1], item if put else None))
            if len(set(keys)) < len(keys):
                faults.texts.append("Provided list of item keys contains duplicates")
        faults.end()
        units = dict.fromkeys(body["RequestItems"], 0)
        for t, key, item in work:
            units[t.name] += t.apply(key, item)
        return self.finish_batch(body, units, {"UnprocessedItems": {}})

    def finish_batch(self, body, units, answer):
        if body.get("ReturnConsumedCapacity", "NONE") != "NONE":
            answer["ConsumedCapacity"] = [consumed(self.tables[name], u, body) for name, u in units.items()]
        return answer

    # ---- reads ----

    def get(self, body):
        t, faults = self.tables[body["TableName"]], Faults()
        key = faults.of(t.read_key, body["Key"])
        e = faults.of(Expressions, t, body)
        faults.end()
        item = t.items.get(t.key_of(key))
        units = read_units(values.item_size(item or {}), body.get("ConsistentRead", False))
        return with_consumed({} if item is None else {"Item": e.show(item)}, t, units, body)

    def batch_get(self, body):
        faults, work = Faults(), []
        for name, request in body["RequestItems"].items():
            t = self.tables[name]
            keys = [faults.of(t.read_key, json) for json in request["Keys"]]
            e = faults.of(Expressions, t, request)
            known = [t.key_of(key) for key in keys if key is not None]
            if len(set(known)) < len(known):
                faults.texts.append("Provided list of item keys contains duplicates")
            work.append((t, known, e, request.get("ConsistentRead", False)))
        faults.end()
        units, responses = {}, {}
        for t, keys, e, strong in work:
            found = [t.items.get(key) for key in keys]
            units[t.name] = sum(read_units(values.item_size(item or {}), strong) for item in found)
            responses[t.name] = [e.show(item) for item in found if item is not None]
        return self.finish_batch(body, units, {"Responses": responses, "UnprocessedKeys": {}})

    @staticmethod
    def check_select(body):
        select = body.get("Select")
        projection = next((p for p in ("ProjectionExpression", "AttributesToGet") if p in body), None)
        if projection and select not in (None, "SPECIFIC_ATTRIBUTES"):
            raise Refused(f"Cannot specify the {projection} when choosing to get "
                          + ("only the Count" if select == "COUNT" else select))
        if select == "ALL_PROJECTED_ATTRIBUTES":
            raise Refused("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
        if select == "SPECIFIC_ATTRIBUTES" and not projection:
            raise Refused("Must specify the AttributesToGet or ProjectionExpression when choosing to get "
                          "SPECIFIC_ATTRIBUTES")

    def finish_page(self, body, t, e, page, units):
        shown = [e.show(item) for item in page.items if e.holds(item)]
        if page.is_full():
            self.met[LARGE_PAGE] += page.bytes >= PAGE_BYTES
            self.met[DROPPED_LAST] += not e.holds(page.items[-1])
        answer = {"Count": len(shown), "ScannedCount": len(page.items)}
        if body.get("Select") != "COUNT":
            answer["Items"] = shown
        if page.is_full():
            answer["LastEvaluatedKey"] = t.key_json(page.items[-1])
        return with_consumed(answer, t, units, body)

    def query(self, body):
        t, faults = self.tables[body["TableName"]], Faults()
        e = faults.of(Expressions, t, body)
        faults.of(self.check_select, body)
        if e:
            faults.of(expect.key_rows, e.keys, {"schema": t.schema, "rows": []})
        start = None
        if "ExclusiveStartKey" in body:
            start = faults.of(t.read_key, body["ExclusiveStartKey"])
        if not faults.texts and start:
            faults.of(check_start, e.keys, start)
        faults.end()
        partition, sort = values.order_key(e.keys["p"][1][0]), e.keys.get("s")
        found = sorted((key for key, item in t.items.items() if key[0] == partition
                        and (sort is None or meaning.key_holds(sort, item["s"]))),
                       reverse=not body.get("ScanIndexForward", True))
        if start:
            at = t.key_of(start)
            found = [key for key in found if (key > at if body.get("ScanIndexForward", True) else key < at)]
        page = Page(body.get("Limit"))
        size = page.take(t.items[key] for key in found)
        return self.finish_page(body, t, e, page, read_units(size, body.get("ConsistentRead", False)))

    def scan(self, body):
        t, faults = self.tables[body["TableName"]], Faults()
        e = faults.of(Expressions, t, body)
        faults.of(self.check_select, body)
        total, segment = body.get("TotalSegments", 1), body.get("Segment", 0)
        first, last = (segment * t.partitions // total, -(-(segment + 1) * t.partitions // total) - 1)
        keys = [key for key in t.scanned() if t.segment[total][key[0]] == segment]
        if "ExclusiveStartKey" in body:
            start = faults.of(t.read_key, body["ExclusiveStartKey"])
            at = start and t.key_of(start)
            if at and t.segment[total][at[0]] != segment:
                faults.texts.append("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
                                    f"ExclusiveStartKey with correct Segment. TotalSegments: {total} Segment: {segment}")
            elif at:
                place = (t.rank[at[0]],) + at[1:]
                keys = [key for key in keys if (t.rank[key[0]],) + key[1:] > place]
                first = t.segment[t.partitions][at[0]]
        faults.end()
        page, units = Page(body.get("Limit")), 0
        for partition in range(first, last + 1):
            here = [key for key in keys if t.segment[t.partitions][key[0]] == partition]
            size = page.take(t.items[key] for key in here)
            units += read_units(size, body.get("ConsistentRead", False))
            if page.is_full():
                break
        return self.finish_page(body, t, e, page, units)


def check_start(keys, start):
    """Where a Query may begin: at a key that it could have met."""
    same = start["p"] == keys["p"][1][0]
    if "s" not in keys:
        if not same:
            raise Refused("The provided starting key is outside query boundaries based on provided conditions")
    elif not meaning.key_holds(keys["s"], start["s"]):
        raise Refused("The provided starting key does not match the range key predicate")
    elif not same:
        raise Refused("The query can return at most one row and cannot be restarted")


def key_of_write(t, body):
    return t.read_key(body["Key"])


def item_of_put(t, body):
    item = values.read_item(body["Item"])
    t.check_item_key(item)
    return item


def item_of_batch(t, json):
    """docs/compatibility.md: one text for all keys that do not fit, and other words for what nests too deep."""
    try:
        item = values.read_item(json)
    except Refused as refused:
        raise Refused(*(UNFIT[meaning.TOO_DEEP] if x == values.TOO_DEEP else x for x in refused.texts)) from None
    if {k: item[k][0] for k in t.schema if k in item} != t.schema:
        raise Refused(NO_MATCH)
    return item
