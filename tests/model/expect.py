"""expect - what the model says of a case: the answer, as tests/model/answer.c writes it, or the texts of a refusal."""

import language
import meaning
import values
from values import INVALID, Refused

PARAMETERS = (("update", "UpdateExpression"), ("condition", "ConditionExpression"),
              ("key", "KeyConditionExpression"), ("filter", "FilterExpression"),
              ("projection", "ProjectionExpression"))
PARSERS = {"update": language.parse_update, "condition": language.parse_condition, "key": language.parse_condition,
           "filter": language.parse_condition, "projection": language.parse_projection}
SCALAR_KEYS = ("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: ")
KEY_BYTES = {"p": 2048, "s": 1024}


def check_key(ref, sign, what):
    name = ref[1:]
    if not ref.startswith(sign) or not name or not (name.isascii() and name.replace("_", "a").isalnum()):
        raise Refused(f'{what} contains invalid key: Syntax error; key: "{ref}"')


def read_names(case):
    names = case.get("names")
    if names is None:
        return {}
    what = "ExpressionAttributeNames"
    if not names:
        raise Refused(what + " must not be empty")
    for ref, name in names.items():
        check_key(ref, "#", what)
        if not name:
            raise Refused(f'{what} contains invalid value: Empty attribute name for key {ref}')
    return names


def read_values(case):
    refs = case.get("values")
    if refs is None:
        return {}
    what = "ExpressionAttributeValues"
    if not refs:
        raise Refused(what + " must not be empty")
    for ref in refs:
        check_key(ref, ":", what)
    read = {}
    for ref, json in refs.items():
        try:
            read[ref] = values.read_value(json)
        except Refused as refused:
            if refused.texts[0] == values.TOO_DEEP:
                raise
            text = f"{what} contains invalid value: {refused.texts[0]} for key {ref}"
            newer = getattr(refused.texts[0], "newer", None)
            raise Refused(text if newer is None else values.Malformed(text, newer)) from None
    return read


def check_used(given, used, what):
    unused = [ref for ref in given if ref not in used]
    if unused:
        raise Refused(f"Value provided in {what} unused in expressions: keys: {{{', '.join(unused)}}}")


def parse_all(case, names):
    trees = {}
    for member, parameter in PARAMETERS:
        if member not in case:
            continue
        try:
            trees[member] = PARSERS[member](case[member], names)
        except Refused as refused:
            raise Refused(*(f"Invalid {parameter}: {text}" for text in refused.texts)) from None
    return trees


# ---- what needs the table ----


def leads_into(path, key):
    return path[0] == key and len(path) > 1


def check_paths(trees, case):
    keys = [k for k in ("p", "s") if k in case["schema"]]
    checks = [(key, path) for key in keys for path in trees.get("projection", ())]
    for key, path in checks:
        if leads_into(path, key):
            raise Refused(SCALAR_KEYS + key)
    actions = trees.get("update", ())
    for key in keys:
        if any(path[0] == key for _, path, _ in actions):
            raise Refused(f"{INVALID}Cannot update attribute {key}. This attribute is part of the key")
    operands = [p for _, _, node in actions if node for p in meaning.paths_in(node)]
    condition = trees.get("condition") or trees.get("filter")
    of_condition = meaning.paths_in(condition) if condition else []
    for key in keys:
        if "key" in case and any(path[0] == key for path in of_condition):
            raise Refused("Filter Expression can only contain non-primary key attributes: Primary key attribute: " + key)
    for paths in (operands, of_condition):
        for key in keys:
            if any(leads_into(path, key) for path in paths):
                raise Refused(SCALAR_KEYS + key)


def check_key_values(key, condition, kind):
    for value in condition[1]:
        if value[0] != kind:
            raise Refused(INVALID + "Condition parameter type does not match schema type")
        if kind == "N":
            continue
        size = values.value_size(value)
        if size == 0:
            raise Refused("One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
                          f"contain an empty {'string' if kind == 'S' else 'binary'} value. Key: {key}")
        if size > KEY_BYTES[key]:
            raise Refused(INVALID + (f"Size of hashkey has exceeded the maximum size limit of{KEY_BYTES[key]} bytes"
                                     if key == "p" else "Aggregated size of all range keys has exceeded the size limit "
                                     f"of {KEY_BYTES[key]} bytes"))


def key_rows(conditions, case):
    schema = case["schema"]
    if "s" not in schema and len(conditions) > 1:
        raise Refused("Query key condition not supported")
    for key in ("p", "s") if len(conditions) > 1 else ("p",):
        if key not in conditions:
            raise Refused("Query condition missed key schema element: " + key)
        check_key_values(key, conditions[key], schema[key])
        if key == "p" and conditions["p"][0] != "=":
            raise Refused("Query key condition not supported")
    rows = []
    for row in case["rows"]:
        p, s = (values.read_value(row[k]) if k in row else None for k in ("p", "s"))
        sorted_ = s is None or "s" not in conditions or meaning.key_holds(conditions["s"], s)
        rows.append([meaning.key_holds(conditions["p"], p) and sorted_, sorted_])
    return rows


# ---- whole cases ----


def expect_update(actions, item, exists):
    try:
        new = meaning.update(actions, item, exists)
    except meaning.Unfit as unfit:
        return {"fault": unfit.faults}
    paths = [path for _, path, _ in actions]
    return {"size": values.item_size(new), "made": values.write_item(new),
            "new": values.write_item(meaning.project(new, paths)),
            "old": values.write_item(meaning.project(item, paths))}


def read_expressions(case):
    """The trees of the case's expressions, and its key conditions or None."""
    if "names" in case and not any(member in case for member, _ in PARAMETERS):
        raise Refused("ExpressionAttributeNames can only be specified when using expressions")
    names = language.Names(read_names(case), read_values(case))
    trees = parse_all(case, names)
    check_used(names.names, names.used, "ExpressionAttributeNames")
    check_used(names.values, names.used, "ExpressionAttributeValues")
    conditions = meaning.gather(trees["key"]) if "key" in trees else None
    if isinstance(conditions, str):
        raise Refused(conditions)
    if "schema" in case:
        check_paths(trees, case)
    return trees, conditions


def expect_expressions(case):
    item = values.read_members(case.get("item", {}), 0)
    present = item if case.get("exists", True) else {}
    trees, conditions = read_expressions(case)
    expected = {}
    if conditions:
        expected["rows"] = key_rows(conditions, case)
    for member in ("condition", "filter"):
        if member in trees:
            expected["holds"] = meaning.holds(trees[member], present)
    if "projection" in trees:
        expected["shown"] = values.write_item(meaning.project(item, trees["projection"]))
    if "update" in trees:
        expected.update(expect_update(trees["update"], item, case["exists"]))
    return expected


def expect_item(case):
    item = values.read_item(case["item"])
    return {"size": values.item_size(item), "item": values.write_item(item)}


def expect_number(case):
    number = values.parse_number(case["list"][0]["N"])
    return {"text": values.number_text(number), "size": values.number_size(number)}


SUM_FAULTS = {values.MANY_DIGITS: 2, values.OVERFLOW: 3, values.UNDERFLOW: 4}


def expect_sum(case):
    a, b = (values.parse_number(v["N"]) for v in case["list"])
    total, faults = values.add(a, b, case["minus"])
    return {"fault": [SUM_FAULTS[f] for f in faults]} if faults else {"text": values.number_text(total)}


def expect_order(case):
    """Not the bytes of the keys: for each pair of values their order, and whether the partitions are the same."""
    keys = [values.order_key(values.read_value(v)) for v in case["list"]]
    return {"order": [[(a > b) - (a < b) for b in keys] for a in keys], "same": [[a == b for b in keys] for a in keys]}


EXPECT = {"expressions": expect_expressions, "item": expect_item, "number": expect_number, "sum": expect_sum,
          "order": expect_order}


def expect(case):
    """(answer, None), or (None, texts)."""
    try:
        return EXPECT[case["op"]](case), None
    except Refused as refused:
        return None, refused.texts


def same(expected, answer):
    """The model may know several faults of which one is told."""
    faults = expected.get("fault")
    if faults and answer.get("fault") in faults:
        expected = {**expected, "fault": answer["fault"]}
    return expected == answer


def normal(case, answer):
    """An answer in the form of the model's."""
    for member in ("item", "made", "new", "old", "shown"):
        if member in answer:
            values.sorted_item(answer[member])
    if case["op"] == "order" and "keys" in answer:
        keys = answer["keys"]
        count = len(keys) // 2
        sort, partition = keys[:count], keys[count:]
        return {"order": [[(a > b) - (a < b) for b in sort] for a in sort],
                "same": [[a == b for b in partition] for a in partition]}
    return answer
