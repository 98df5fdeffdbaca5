"""mistakes - spoils a case of expressions in one place: what the service refuses, and what stands at its limits."""

import re

from cases import RESERVED_NAMES, WRONG_NUMBERS, WRONG_TOKENS

TOKENS = re.compile(r"[A-Za-z_0-9#:]+|<>|<=|>=|\s+|.", re.DOTALL)
KINDS = ("condition", "filter", "update", "projection", "key")

# In place of {s}, {n}, {l} .. stands a :value of the type; {n1} < {n2}. What goes with a valid text is here, too.
CONDITIONS = (
    "attribute_exists({s})", "attribute_exists(size(a))", "attribute_not_exists({n})", "attribute_type(a, b)",
    "attribute_type(a, {n})", "attribute_type(a, {l})", "attribute_type(a, {word})", "attribute_type({n}, {S})",
    "attribute_type(a, size(b))", "begins_with(a, {n})", "begins_with({l}, a)", "begins_with(size(a), {s})",
    "begins_with(a, {bool})", "begins_with(a, b)", "begins_with({s}, {s})", "contains(a)", "contains(a, b, c)",
    "contains(a, a)", "contains(a[1].b, a[1].b)", "contains({s}, a)", "contains(size(a), {n})", "contains(a, {l})",
    "size({n}) = {n}", "size({bool}) > {n}", "size({null}) = {n}", "size({l}) = {n}", "size({s}) < size(a)",
    "size(size(a)) = {n}", "size(a)", "(size(a))", "NOT size(a)", "size(a, b) = {n}", "if_not_exists(a, b)",
    "list_append(a, b) = {n}", "f(a)", "Size(a) = {n}", "ATTRIBUTE_EXISTS(a)", "attribute_exists(a) = {n}",
    "{n} = contains(a, b)", "contains(a, begins_with(b, {s}))", "a IN (contains(b, {s}))", "a < {l}", "a >= {bool}",
    "{ss} > a", "{null} <= a", "a = {l}", "a <> {bool}", "a BETWEEN {l} AND {l}", "a BETWEEN {n} AND {s}",
    "a BETWEEN {n2} AND {n1}", "a BETWEEN {n1} AND {n1}", "{n} BETWEEN a AND b", "a BETWEEN a AND {n}",
    "size(a) BETWEEN {n1} AND size(b)", "a BETWEEN {S} AND {s}", "a BETWEEN {bool} AND b", "a = a", "a.b[0] <> a.b[0]",
    "a < a", "a.b = a[0]", "a IN (b, a)", "a IN ({n}, {s}, {l}, b)", "a[99999999999] = {n}", "a[2147483647] = {n}", "a[2147483648] = {n}",
    "a[4294967296] = {n}", "a[00001] = {n}", "((a)) = {n}", "((a = {n}))", "((a) = {n})", "(a) = (b)", "(((a = b)))",
    "(NOT (a = {n}))", "((a = b) AND (a = c))", "(a)", "(a AND b = c)", "(a = {n}", "a = {n})", "a", "{n}", "a = ", "= a",
    "NOT NOT a = {n}", "NOT", "a = b = c", "a BETWEEN {n}", "a IN {n}", "a IN ()", "size()", "a.{n} = b", "a[b] = c",
    "a. b [ 0 ] = c", "(a = b) = c", "(attribute_exists(a))", "(contains(a, b)) = {n}", "contains(a, (b))",
    "contains(a, ((b)))", "attribute_exists(#n99)", "a = :undefined", "size(:undefined) = #n99", "a IN (:undefined, b)",
    "a = b and attribute_exists(c) Or not b < c", "A = {n}", "a.name = {n}", "a.b.c.d.e[1][2][3] = {n}",
)
UPDATES = (
    "SET {p} = a + b", "SET {p} = (a + b)", "SET {p} = ((a + b))", "SET {p} = (a) - ({n})", "SET {p} = (a + b) + c",
    "SET {p} = a + b + c", "SET {p} = ((a))", "SET {p} = {s} + {n}", "SET {p} = a - {l}", "SET {p} = {n} - {ss}",
    "SET {p} = list_append({l}, {n})", "SET {p} = list_append(a, {s})", "SET {p} = list_append({l})",
    "SET {p} = list_append(a, b, c)", "SET {p} = list_append(list_append(a, {l}), b)",
    "SET {p} = list_append(if_not_exists(a, {l}), {l})", "SET {p} = if_not_exists(a)", "SET {p} = if_not_exists({n}, a)",
    "SET {p} = if_not_exists(if_not_exists(a, b), c)", "SET {p} = if_not_exists(a, if_not_exists(b, {n}))",
    "SET {p} = if_not_exists((a), {n})", "SET {p} = if_not_exists(a, {n} + {n})", "SET {p} = if_not_exists(a, {n}) + {n}",
    "SET {p} = if_not_exists(a, {s}) + {n}", "SET {p} = size(a)", "SET {p} = contains(a, b)", "SET {p} = f(a)",
    "SET {p} = If_Not_Exists(a, b)", "SET {p} = attribute_exists(a)", "SET {p} = :undefined", "SET {p} = #n99 + {n}",
    "SET #n99 = {n}", "SET {p} = {n}, {p} = {n}", "SET {p} = {n}, {p}.x = {n}", "SET {p}[1].x = {n}, {p}[1] = {n}",
    "SET {p}.x = {n}, {p}[0] = {n}", "SET {p} = {n} SET q = {n}", "REMOVE {p} remove q", "SET {p} = {n} REMOVE {p}",
    "REMOVE {p}[0], {p}[1], {p}[0].a", "ADD {p} {s}", "ADD {p} {l}", "ADD {p} {bool}", "ADD {p} {null}", "ADD {p} {m}",
    "DELETE {p} {n}", "DELETE {p} {b}", "DELETE {p} {l}", "DELETE {p} {m}", "ADD {p} {ns}", "DELETE {p} {ss}", "ADD {p} a",
    "DELETE {p}", "ADD {p} = {n}", "SET {p} {n}", "SET {p} =", "SET", "SET {p} = {n},", "SET ({p}) = {n}", "REMOVE {n}",
    "REMOVE {p} = a", "REMOVE ({p})", "{p} = {n}", "SET {p} = a AND b", "SET {p} = a / b", "SET {p} = 1",
    "SET {p}[99999999999] = {n}", "SET {p}[-1] = {n}", "SET name = {n}", "REMOVE {p}, {p}.name", "SET and = {n}",
    "SET set = {n}", "SET {p} = add", "set {p} = {n} Remove q Add r {n} dElete s {ss}", "SET _a = {n}", "SET {p} = {n} + ",
    "SET {p} = list_append({l}, a) + {n}", "SET {p} = if_not_exists(a, list_append(b, {l}))", "SET {p} = a.b.c[1] - {n}",
    "REMOVE a.zzz, b.zzz.y", "SET zzz.a = {n}", "ADD zzz.a {n}", "DELETE zzz.a {ss}", "SET a[0][0] = {n}", "ADD a[0] {n}",
    "SET {p} = zzz", "SET {p} = zzz + {n}", "SET {p} = {big} + {big}", "SET {p} = {big} + {n}", "SET {p} = {tiny} - {tiny2}",
    "ADD {p} {big}", "SET {p} = {deep}", "SET a.a = {deep}", "SET a[9] = {deep}", "SET {p} = {top} + {top}",
    "SET {p} = {n} - {tiny}", "SET q = {n}, {p} = q",
)
PROJECTIONS = (
    "a, a", "a, a.b", "a[1], a[1].c", "a.b, a[0]", "a.b.c, a.b[0].d", "name", "a.name", "#n99", "a.#n99", "a,", ",a", "a b",
    "a..b", "a.[0]", "a[", "a[]", "a[b]", "a[-1]", "(a)", "a = b", ":v0", "a[99999999999]", "size(a)", "a.b.c.d", "a[1][2]",
    "a.0", "a[0].b, a[1].b, a[0].c", "a[3], a[0], a[1]", "_a", "a,b,c,d,e,x,Zz9,a_b", "a.and", "AND", "a\t,\n b", "a[0 ]",
)
KEYS = (
    "{p} OR {p}", "NOT {p}", "p IN ({s})", "p <> {s}", "contains(p, {s})", "attribute_exists(p)", "p < {s}", "s = {s}",
    "{p} AND s = {s}", "{p} AND s = {n}", "{p} AND s = {b}", "{p} AND s <> {n}", "{p} AND s IN ({n})", "{p} AND x = {n}",
    "{p} AND s = {l}", "{p} AND s = {bool}", "{p} AND s > {null}", "{p} AND s = {ss}", "{p} AND s = {m}", "{p} AND p = {s}",
    "{p} AND s > {n} AND s < {n}", "{p} AND s = {n} AND x = {n}", "{p} AND size(s) = {n}", "{p} AND s = size(p)",
    "{p} AND s = p", "{p} AND s.a = {n}", "{p} AND s[0] = {n}", "{p} AND {n} = {s}", "{p} AND {n} BETWEEN s AND {n}",
    "{p} AND begins_with({s}, s)", "{p} AND begins_with(s, {n})", "{p} AND begins_with(s, {b})", "p = {empty}",
    "{p} AND s = {empty}", "p = {long2049}", "{p} AND s = {long1025}", "{p} AND s > {long1025}", "{p} AND {long1025} >= s",
    "{p} AND begins_with(s, {long1025})", "{p} AND s BETWEEN {n1} AND {n2}",
    "{p} AND s BETWEEN {n2} AND {n1}", "{p} AND s BETWEEN {s} AND {n}", "{p} AND {n2} > s", "{p} AND ({n1} <= s)", "p = p",
    "{p} AND", "AND {p}", "(({p}))", "{p} AND s", "begins_with(p, {s})", "p BETWEEN {s} AND {s}", "{p} AND (s = {n} OR s = {n})",
    "{p} AND NOT s = {n}", "{p} AND s = :undefined", "#n99 = {s}", "x = {s}", "{p} AND f(s, {n})", "{p} AND begins_with(s)",
    "{p} AND contains(s, begins_with(s, {s}))", "{p} AND if_not_exists(s, p)", "{p} AND s[99999999999] = {n}",
    "{p} AND attribute_exists({n})", "{p} AND attribute_type(s, {word})", "name = {s}", "{p} AND size(s)",
)
VALUES = {
    "s": {"S": "a"}, "S": {"S": "S"}, "word": {"S": "String"}, "n": {"N": "1"}, "n1": {"N": "1"}, "n2": {"N": "2"},
    "l": {"L": [{"N": "1"}]}, "m": {"M": {"a": {"N": "1"}}}, "b": {"B": "YQ=="}, "bool": {"BOOL": True},
    "null": {"NULL": True}, "ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1", "2"]}, "big": {"N": "9" * 38 + "e88"},
    "top": {"N": "9e125"}, "tiny": {"N": "1e-130"}, "tiny2": {"N": "1.1e-130"}, "empty": {"S": ""},
    "long2049": {"S": "k" * 2049}, "long1025": {"S": "k" * 1025},
}


def deep():
    value = {"S": "deep"}
    for _ in range(31):
        value = {"L": [value]}
    return value


VALUES["deep"] = deep()


def filled(g, case, template):
    """The template with :values of its own."""
    def put(found):
        word = found[1]
        if word == "p":
            return case["key"] if "key" in case else "np"
        refs = case.setdefault("values", {})
        ref = f":m{len(refs)}"
        refs[ref] = VALUES[word]
        if word == "deep" and g.chance(0.7):
            case["item"]["a"] = g.pick(({"M": {}}, {"L": []}))
        return ref
    return re.sub(r"\{(\w+)\}", put, template)


def use_template(g, case, kind):
    if kind == "update":
        case[kind] = filled(g, case, g.pick(UPDATES))
    elif kind == "projection":
        case[kind] = g.pick(PROJECTIONS)
    elif kind == "key":
        case[kind] = filled(g, case, g.pick(KEYS))
    else:
        text = filled(g, case, g.pick(CONDITIONS))
        r = g.random.random()
        case[kind] = text if r < 0.5 else f"{case[kind]} AND {text}" if r < 0.8 else f"{text} OR {case[kind]}"
    if g.chance(0.8):
        leave_out_unused(case)


def leave_out_unused(case):
    """What the other text used must go, or nothing else is told."""
    texts = " ".join(case[k] for k in KINDS if k in case)
    used = set(re.findall(r"[#:][A-Za-z0-9_]+", texts))
    for member in ("names", "values"):
        kept = {ref: what for ref, what in case.pop(member, {}).items() if ref in used}
        if kept:
            case[member] = kept


def undefine(g, case, kind):
    member = g.pick([m for m in ("names", "values") if m in case] or ["names"])
    refs = case.get(member)
    if refs:
        del refs[g.pick(list(refs))]
        if not refs:
            del case[member]


def add_unused(g, case, kind):
    if g.chance(0.5):
        case.setdefault("names", {})["#unused"] = "a"
    else:
        if kind != "projection" or "condition" in case:
            case.setdefault("values", {})[":unused"] = {"N": "1"}
        if g.chance(0.3):
            case.setdefault("names", {})["#too"] = "name"


def change_token(g, case, kind):
    tokens = TOKENS.findall(case[kind])
    if not tokens:
        return
    at = g.below(len(tokens))
    r = g.random.random()
    if r < 0.3:
        del tokens[at]
    elif r < 0.6:
        tokens[at:at] = [g.pick(WRONG_TOKENS) if g.chance(0.8) else g.pick(tokens), " " if g.chance(0.6) else ""]
    elif r < 0.8:
        tokens[at] = g.pick(WRONG_TOKENS)
    else:
        other = g.below(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    case[kind] = "".join(tokens)


def reserve(g, case, kind):
    found = re.findall(r"(?<![A-Za-z0-9_#:])(?:a|b|c|d|e|x)(?![A-Za-z0-9_(])", case[kind])
    if found:
        case[kind] = re.sub(rf"(?<![A-Za-z0-9_#:]){g.pick(found)}(?![A-Za-z0-9_(])", g.pick(RESERVED_NAMES), case[kind],
                            count=1)


def spoil_names(g, case, kind):
    wrong = g.pick(({"names": {}}, {"names": {"a": "a"}}, {"names": {"#a-b": "a"}}, {"names": {"#": "a"}},
                    {"names": {"#a": ""}}, {"names": {":a": "a"}}, {"values": {}}, {"values": {"v": {"N": "1"}}},
                    {"values": {"#v": {"N": "1"}}}, {"values": {":v": {"N": g.pick(WRONG_NUMBERS)}}},
                    {"values": {":v": {}}}, {"values": {":v": {"SS": []}}}, {"values": {":v": {"S": "a", "N": "1"}}},
                    {"values": {":v": {"NS": ["1", "1.0"]}}}, {"values": {":": {"N": "1"}}},
                    {"values": {":v": {"M": {"": {"N": "1"}}}}}, {"values": {":v": {"L": [VALUES["deep"]]}}}))
    member, refs = next(iter(wrong.items()))
    if member == "values" and all(k not in case for k in ("condition", "filter", "update", "key")):
        return
    case[member] = {**case.get(member, {}), **refs} if refs else {}


def limit(g, case, kind):
    """Just within the limits of a text, and just past them."""
    over = g.below(2)
    if kind == "projection":
        text = "a" + ".b" * (31 + over) if g.chance(0.7) else "a,b" + " " * (4093 + over)
    elif kind == "update":
        text = g.pick(("SET " + ",".join(f"z{i}=n+n" for i in range(300 + over)),
                       "SET np" + ".a" * (31 + over) + " = a", "REMOVE np" + " " * (4087 + over)))
    else:
        case.setdefault("values", {})[":one"] = {"N": "1"}
        text = g.pick((" OR ".join(["a=:one"] * (150 + over)), "NOT " * (299 + over) + "a = :one",
                       " AND ".join(["a<b"] * 150) + (" AND a<b" if over else ""),
                       f"a IN ({','.join([':one'] * (100 + over))})", "a" + "[0]" * (31 + over) + " = :one",
                       "a = :one" + " " * (4088 + over),
                       " OR ".join(["contains(a,b)"] * 150) + (" OR a = b" if over else "")))
    case[kind] = text
    leave_out_unused(case)


def spoil(g, case):
    kind = g.pick([k for k in KINDS if k in case])
    r = g.random.random()
    if r < 0.5:
        use_template(g, case, kind)
    elif r < 0.72:
        change_token(g, case, kind)
        if g.chance(0.7):
            leave_out_unused(case)
    elif r < 0.79:
        undefine(g, case, kind)
    elif r < 0.85:
        add_unused(g, case, kind)
    elif r < 0.92:
        reserve(g, case, kind)
    elif r < 0.96:
        spoil_names(g, case, kind)
    elif r < 0.972:
        limit(g, case, kind)
    elif r < 0.98:
        case[kind] = ""
    else:
        case[kind] = g.pick(("({})", "(({}))", " {} ", "\n{}\t")).format(case[kind])
