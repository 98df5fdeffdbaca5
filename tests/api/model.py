"""The inputs that weir serves, read from the service model in Debian's botocore with the facts of tools/shapes.json
over it, and the service's words for values that do not fit. Nothing here is taken from weir's own code."""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FACTS = json.loads((ROOT / "tools" / "shapes.json").read_text())
DATA = pathlib.Path("/usr/lib/python3/dist-packages/botocore/data")
SERVICE = json.loads((DATA / "dynamodb/2012-08-10/service-2.json").read_text())
STREAMS = json.loads((DATA / "dynamodbstreams/2012-08-10/service-2.json").read_text())
PACKAGE = "com.amazonaws.dynamodb.v20120810."
NAME_PATTERN = "[a-zA-Z0-9_.-]+"
# These operations check the table's name on its own, before the other constraints.
NAME_FIRST = {"CreateTable", "UpdateTable", "DescribeTable", "DeleteTable", "DescribeTimeToLive", "UpdateTimeToLive"}
CAST = ("class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
        "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of "
        "loader 'bootstrap')")
STRUCTURE_MET = "Start of structure or map found where not expected"
ATTRIBUTE_MEMBERS = ("s", "n", "b", "iNT", "dECIMAL", "dOUBLE", "sS", "nS", "bS", "iNTSET", "dECIMALSET", "dOUBLESET",
                     "m", "l", "nULL", "bOOL")


def load():
    shapes = dict(PLAIN)
    for name, facts in FACTS["shapes"].items():
        shapes[name] = {**shapes.get(name, {}), **facts}
    return {**STREAMS["operations"], **SERVICE["operations"]}, shapes


PLAIN = {**STREAMS["shapes"], **SERVICE["shapes"]}  # what boto3 itself knows
OPERATIONS, SHAPES = load()
SERVED = FACTS["operations"]
PLAIN_OPERATIONS = OPERATIONS.keys()


def small(name):
    return name[:1].lower() + name[1:]


def kind(shape):
    return "attribute" if shape == "AttributeValue" else SHAPES[shape]["type"]


def bounds(shape):
    """(least, most) of a string's length, a number or a collection's size; None: no bound."""
    facts = SHAPES[shape]
    if facts["type"] == "string" and facts.get("min") == 0:
        return None, facts.get("max")
    return facts.get("min"), facts.get("max")


class Member:
    def __init__(self, name, shape, required, later):
        self.name, self.shape, self.required, self.later = name, shape, required, later


def members(structure):
    """Members that weir knows, in the order of the service's checks."""
    facts, extra = SHAPES[structure], FACTS["structures"].get(structure, {})
    types = {**{m: f["shape"] for m, f in facts["members"].items()}, **extra.get("types", {})}
    known = extra.get("members", list(facts["members"]))
    everything = list(dict.fromkeys(list(m for m in facts["members"] if m in known + extra.get("ignored", []))
                                    + known + extra.get("ignored", [])))
    order = extra.get("turns") or sorted(everything, key=lambda name: slot(small(name), len(everything)))
    return [Member(m, types[m], m in facts.get("required", []) and m not in extra.get("optional", []),
                   m in extra.get("later", [])) for m in order if m in known]


def slot(key, count):
    """Where a Java HashMap of `count` keys has this key."""
    size, code = 16, 0
    while count > 3 * size / 4:
        size *= 2
    for character in key:
        code = (code * 31 + ord(character)) % 2 ** 32
    return (code ^ (code >> 16)) % size


def input_of(operation):
    return FACTS["newer"].get(operation) or OPERATIONS[operation]["input"]["shape"]


def minimal(shape, name="a"):
    """A value that fits a shape, with no more than it needs."""
    facts, (least, _) = SHAPES[shape], bounds(shape)
    if shape == "AttributeValue":
        return {"S": "a"}
    if facts["type"] == "structure":
        return {m.name: minimal(m.shape) for m in members(shape) if m.required}
    if facts["type"] == "list":
        return [minimal(facts["member"]["shape"])] * max(1, least or 0)
    if facts["type"] == "map":
        key = "abc" if SHAPES[facts["key"]["shape"]].get("pattern") else name
        return {key: minimal(facts["value"]["shape"])}
    if facts["type"] == "string":
        return facts["enum"][0] if facts.get("enum") else "a" * max(3, least or 0)
    return {"boolean": True, "integer": max(1, least or 1), "long": max(1, least or 1)}.get(facts["type"], 1)


def base(operation):
    """An input that fits. The model of these operations on tables does not say that the name is required."""
    return {**minimal(input_of(operation)), **({"TableName": "abc"} if operation in NAME_FIRST else {})}


class Site:
    """A place in an input. `path`: how to get there; `shown`: how messages name it."""

    def __init__(self, shape, path=(), shown="", sent="", inside=False, required=False):
        self.shape, self.path, self.shown, self.sent = shape, path, shown, sent
        self.inside = inside  # an element of a list or map
        self.required = required

    def step(self, shape, key, shown, sent, **more):
        def join(a, b):
            return a + "." + b if a else b
        return Site(shape, self.path + (key,), join(self.shown, shown), join(self.sent, sent), **more)


def sites(site):
    """A site and those in it, but for members that are refused by name or not looked at."""
    facts = SHAPES[site.shape]
    yield site
    if site.shape == "AttributeValue":
        return
    if facts["type"] == "structure":
        for m in members(site.shape):
            if not m.later and SHAPES[m.shape]["type"] != "anything":
                yield from sites(site.step(m.shape, m.name, small(m.name), m.name, required=m.required))
    elif facts["type"] == "list" and SHAPES[facts["member"]["shape"]]["type"] != "anything":
        yield from sites(site.step(facts["member"]["shape"], 0, "1.member", "1.member", inside=True))
    elif facts["type"] == "map":
        key = next(iter(minimal(site.shape)))
        yield from sites(site.step(facts["value"]["shape"], key, key + ".member", key + ".member", inside=True))


def place(operation, path, value, body=None):
    """An input that fits, but for `value` at the path. `value` ...: the member is left out."""
    root = base(operation) if body is None else body
    at, shape = root, input_of(operation)
    for step, following in zip(path, path[1:] + (None,)):
        facts = SHAPES[shape]
        if facts["type"] == "structure":
            shape = next(m.shape for m in members(shape) if m.name == step)
            at.setdefault(step, minimal(shape))
        else:
            shape = facts["member" if facts["type"] == "list" else "value"]["shape"]
        if following is not None:
            at = at[step]
        elif value is ...:
            del at[step]
        else:
            at[step] = value
    return root


# ---- wrong types ----

def wrong_types(site):
    """(value, the message of its SerializationException) of values that have no place at a site."""
    what, facts = kind(site.shape), SHAPES[site.shape]
    tokens = ((1, "NUMBER_VALUE"), (1.5, "DECIMAL_VALUE"), (True, "TRUE_VALUE"), (False, "FALSE_VALUE"),
              ("x", "STRING_VALUE"))
    java = {"string": "String", "boolean": "Boolean", "integer": "Integer", "long": "Long"}.get(what)
    if java:
        yield {}, STRUCTURE_MET
        yield [], "Unrecognized collection type class java.lang." + java
        for value, token in tokens:
            if what == "boolean" and token == "STRING_VALUE":
                yield value, "Unexpected token received from parser"
            elif not fits(what, value):
                yield value, "%s cannot be converted to %s" % (token, java)
    elif what == "list":
        yield {}, STRUCTURE_MET
        for value, _ in tokens:
            yield value, CAST if site.inside else "Unexpected field type"
    elif what == "map":
        yield [], "Unrecognized collection type java.util.Map<java.lang.String, %s>" % java_of(facts["value"]["shape"])
        for value, _ in tokens:
            yield value, CAST if site.inside else "Unexpected field type"
    else:
        yield [], "Unrecognized collection type class %s%s" % (PACKAGE, site.shape)
        for value, _ in tokens:
            yield value, "Unexpected value type in payload" if site.inside or not site.path else "Unexpected field type"
    if what == "attribute":
        yield from wrong_attributes()


def fits(what, value):
    if isinstance(value, bool):
        return what == "boolean"
    return isinstance(value, str) if what == "string" else what in ("integer", "long") and not isinstance(value, str)


def java_of(shape):
    facts = SHAPES[shape]
    if facts["type"] == "string":
        return "java.lang.String"
    if facts["type"] == "list":
        return "java.util.List<%s%s>" % (PACKAGE, facts["member"]["shape"])
    return PACKAGE + shape


def wrong_attributes():
    attributes = "Unrecognized collection type java.util.Map<java.lang.String, %sAttributeValue>" % PACKAGE
    yield from (({t: 1}, "NUMBER_VALUE cannot be converted to String") for t in ("S", "N"))
    yield from (({t: {}}, STRUCTURE_MET) for t in ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L"))
    yield from (({t: "x"}, "Unexpected field type") for t in ("SS", "NS", "BS", "L", "M"))
    yield {"S": True}, "TRUE_VALUE cannot be converted to String"
    yield {"N": []}, "Unrecognized collection type class java.lang.String"
    yield {"B": 1}, "only base-64-encoded strings are convertible to bytes"
    yield {"B": "abc"}, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"
    yield {"BOOL": "x"}, "Unexpected token received from parser"
    yield {"NULL": 1}, "NUMBER_VALUE cannot be converted to Boolean"
    yield {"SS": [1]}, "NUMBER_VALUE cannot be converted to String"
    yield {"BS": [1]}, "only base-64-encoded strings are convertible to bytes"
    yield {"L": ["x"]}, "Unexpected value type in payload"
    yield {"M": []}, attributes
    yield {"M": {"a": {"M": {"b": {"L": [{"S": 1}]}}}}}, "NUMBER_VALUE cannot be converted to String"


# ---- constraints ----

def shown_attribute(value):
    given = {t[0].lower() + t[1:]: v for t, v in value.items()}
    return "AttributeValue(%s)" % ", ".join("%s=%s" % (m, given.get(m, "null")) for m in ATTRIBUTE_MEMBERS)


def shown(shape, value):
    """A value as the service prints it."""
    facts = SHAPES[shape]
    if facts.get("json"):
        return json.dumps(value, separators=(",", ":"))
    if value is None:
        return "null"
    if shape == "AttributeValue":
        return shown_attribute(value)
    if facts["type"] == "list":
        return "[%s]" % ", ".join(shown(facts["member"]["shape"], v) for v in value)
    if facts["type"] == "map":
        return "{%s}" % ", ".join("%s=%s" % (k, shown(facts["value"]["shape"], v)) for k, v in value.items())
    if facts["type"] == "structure":
        extra = FACTS["structures"].get(shape, {})
        types = {**{m: f["shape"] for m, f in facts["members"].items()}, **extra.get("types", {})}
        parts = ["%s=%s" % (small(m), shown(types[m], value.get(m))) for m in extra.get("members", facts["members"])]
        return "%s(%s)" % (shape, ", ".join(parts + ["workloadProfileName=null"] * (shape == "PutRequest")))
    return str(value)


def failed(site, value, rule):
    return "Value %s at '%s' failed to satisfy constraint: %s" % (
        "null" if value in (None, ...) else "'%s'" % shown(site.shape, value), site.shown, rule)


def bound_rule(site, over):
    what = "value" if kind(site.shape) in ("integer", "long") else "length"
    return "Member must have %s %s than or equal to %d" % (
        what, "less" if over else "greater", bounds(site.shape)[over])


def out_of_bounds(site, value, over):
    facts, rule = SHAPES[site.shape], bound_rule(site, over)
    if facts.get("bare") and (over or facts["type"] != "list"):
        return "Value at '%s' failed to satisfy constraint: %s" % (site.sent, rule)
    return failed(site, value, rule)


def sized(site, size):
    """A value of a size: a number, a string or list of this length."""
    facts = SHAPES[site.shape]
    if facts["type"] in ("integer", "long"):
        return size
    if facts["type"] == "string":
        return "a" * size
    if facts["type"] == "list":
        return [minimal(facts["member"]["shape"])] * size
    return {"abc%d" % i: minimal(facts["value"]["shape"]) for i in range(size)}


def map_value(site):
    """Whether a list is a map's value: its length is told as the map's fault."""
    return site.inside and kind(site.shape) == "list" and isinstance(site.path[-1], str)


def broken(site):
    """(value, texts of the constraints it breaks) of values of the right type that do not fit a site."""
    facts, what = SHAPES[site.shape], kind(site.shape)
    least, most = bounds(site.shape)
    named = facts.get("pattern") == NAME_PATTERN
    if site.required:
        yield ..., [failed(site, ..., "Member must not be null")]
    if site.inside and (isinstance(site.path[-1], int) or what not in ("attribute", "string")):
        yield None, [failed(site, None, "Member must not be null")]
    if facts.get("enum"):
        for value in ("hi", "", facts["enum"][0].lower()):
            yield value, [failed(site, value, "Member must satisfy enum value set: [%s]" % ", ".join(facts["enum"]))]
    if named:
        pattern = "Member must satisfy regular expression pattern: " + NAME_PATTERN
        yield "abc;", [failed(site, "abc;", pattern)]
        if least is not None:
            yield "", [failed(site, "", "Member must have length greater than or equal to 1")]
            yield ";", [failed(site, ";", pattern), failed(site, ";", bound_rule(site, False))]
    if map_value(site):
        return
    if least is not None and (least > 0 or what in ("integer", "long")) and not (named and least == 1):
        value = sized(site, least - 1)
        yield value, [out_of_bounds(site, value, False)]
    if most is not None:
        value = sized(site, most + 1)
        yield value, [out_of_bounds(site, value, True)]


def at_bounds(site):
    """Values at the bounds of a site, which fit."""
    if not map_value(site) and not SHAPES[site.shape].get("enum"):
        for bound in bounds(site.shape):
            if bound is not None and bound > 0:
                yield sized(site, bound)


def errors(texts):
    return "%d validation error%s detected: %s" % (len(texts), "" if len(texts) == 1 else "s", "; ".join(texts))
