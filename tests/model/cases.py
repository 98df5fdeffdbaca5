"""cases - random cases for the model: valid ones, and ones that are wrong in one or two places.

Generator(random).case() gives one case, as tests/model/answer.c reads it. Every choice comes from the generator's
random stream. Names, values and paths are few, so that expressions meet the attributes of their items.
"""

import base64
import re

NAMES = ("a", "b", "c", "d", "e", "x", "Zz9", "a_b")
RESERVED_NAMES = ("name", "Status", "SIZE", "data", "and", "user", "set", "view")
ODD_NAMES = ("a.b", "é", "with space", "0", "[1]", "#a", "\U0001F600", "_under")
LETTERS = ("a", "b", "ab", "", "abc", "é", "\u00ff", "\uffee", "\U0001F600", "\x00", "a\x00", "a\x01", "z", "S", "N", "L",
           "SS", "NULL", "hello", "b\x7f", "\"", "\\", "a b")
BYTES = tuple(base64.b64encode(b).decode() for b in
              (b"", b"\x00", b"\x00\x00", b"\x00\x01", b"\x01", b"\xff", b"\xff\xff", b"a", b"ab", b"abc", b"\x80"))
SCALARS = ("S", "N", "B", "BOOL", "NULL")
SETS = ("SS", "NS", "BS")
SIZED = ("S", "B", "SS", "NS", "BS", "L", "M")
COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")
WRONG_TOKENS = ("=", "<", "(", ")", ",", ".", "[", "]", "+", "-", "AND", "or", "NOT", "IN", "BETWEEN", "a", "#n0", ":v0",
                "7", "SET", "remove", "ADD", "DELETE", "size", "if_not_exists", "/", "_", "é", "'", "==", "!=", "*")
WRONG_NUMBERS = ("", "-", ".", "1e", "e5", "1e+", " 1", "1 ", "--1", "0x10", "NaN", "Infinity", "1.2.3", "1e5.0", "1_0", "+",
                 "١", "1" * 39, "1." + "0" * 37 + "1", "1e126", "-9.9e126", "1e-131", "1e999999999999", "-1e-99999999999",
                 "0.9e-130", "9" * 39 + "e-300", "1" * 39 + "e300", "1,0")


class Texts:
    """An expression's names and values, as it is written."""

    def __init__(self, random):
        self.random = random
        self.names, self.values = {}, {}
        self.by_name = {}

    def name(self, name):
        """The name itself, or a placeholder for it."""
        plain = name in NAMES
        if plain and self.random.random() < 0.75:
            return name
        if name not in self.by_name:
            self.by_name[name] = f"#n{len(self.names)}"
            self.names[self.by_name[name]] = name
        return self.by_name[name]

    def value(self, json):
        if self.values and self.random.random() < 0.1:
            for ref, other in self.values.items():
                if other == json:
                    return ref
        ref = f":v{len(self.values)}"
        self.values[ref] = json
        return ref

    def path(self, path):
        text = self.name(path[0])
        for step in path[1:]:
            text += f"[{step}]" if isinstance(step, int) else "." + self.name(step)
        return text


class Generator:
    def __init__(self, random):
        self.random = random
        self.pick = random.choice
        self.below = random.randrange

    def chance(self, p):
        return self.random.random() < p

    # ---- values ----

    def digits(self, count):
        return "".join(self.pick("0123456789") for _ in range(count))

    def number(self):
        """A number in any spelling."""
        r = self.random.random()
        if r < 0.5:
            return str(self.below(9) - 3)
        if r < 0.7:
            return self.pick(("-0", "0.0", "00", "1.0", "+1", "10e-1", "0.1e1", "1E+2", "100", "2.50", ".5", "5.", "-1.0",
                              "-0.5", "-5E-1", "0.25", "1e0", "-2e0", "20E-1"))
        return self.wide_number()

    def wide_number(self):
        count = self.pick((1, 2, 3, 8, 19, 36, 37, 38))
        whole = self.pick("123456789") + self.digits(count - 1)
        first = self.pick((-130, -129, -100, -40, -2, -1, 0, 0, 1, 2, 37, 38, 100, 124, 125))
        sign = self.pick(("", "", "-", "+"))
        if self.chance(0.3):  # 38 digits around the point
            point = self.below(count + 1)
            return sign + (whole[:point] or "0") + "." + whole[point:] if point < count else sign + whole
        return f"{sign}{'0' * self.below(3)}{whole[0]}.{whole[1:]}{'0' * self.below(3)}{self.pick('eE')}{first}"

    def scalar(self, kind):
        if kind == "S":
            return self.pick(LETTERS)
        if kind == "N":
            return self.number()
        if kind == "B":
            return self.pick(BYTES)
        return True if kind == "NULL" else self.chance(0.5)

    def set_of(self, kind):
        """Elements that may be the same number in two spellings are left out."""
        count = self.pick((1, 1, 2, 3, 4, 20)) if self.chance(0.95) else 40
        if kind == "NS":
            elements = {str(self.below(60) - 5): 0 for _ in range(count)}
        else:
            pool = LETTERS if kind == "SS" else BYTES
            elements = {self.pick(pool): 0 for _ in range(count)}
        return list(elements)

    def value(self, depth=0):
        r = self.random.random()
        if r < 0.6 or depth > 3:
            kind = self.pick(SCALARS[:3] if r < 0.5 else SCALARS)
            return {kind: self.scalar(kind)}
        if r < 0.72:
            kind = self.pick(SETS)
            return {kind: self.set_of(kind)}
        if r < 0.73:  # its elements may be told in another order
            return {"L": [{"SS": ["a", "b"]}, {"M": {"a": {"N": "1"}, "b": self.value(4)}}]}
        if r < 0.86:
            count = self.below(4) if self.chance(0.98) else 40
            return {"L": [self.value(depth + (1 if count < 4 else 4)) for _ in range(count)]}
        if self.chance(0.02):  # more than the few that are compared pair by pair
            return {"M": {f"{self.pick(NAMES)}{i}": self.value(4) for i in range(20)}}
        return {"M": {self.pick(NAMES): self.value(depth + 1) for _ in range(self.below(4))}}

    def item(self):
        item = {self.pick(NAMES): self.value() for _ in range(self.pick((0, 1, 3, 4, 5, 6)))}
        for odd in (RESERVED_NAMES, ODD_NAMES):
            if self.chance(0.15):
                item[self.pick(odd)] = self.value()
        return item

    # ---- paths and values that have to do with an item ----

    def known_path(self, item, wanted=None):
        """A path to something in the item, of the wanted types if there is one."""
        best = None
        for _ in range(6 if wanted else 1):
            name = self.pick(list(item))
            path, value = [name], item[name]
            while self.chance(0.6):
                if value.get("M"):
                    step = self.pick(list(value["M"]))
                    value = value["M"][step]
                elif value.get("L"):
                    step = self.below(len(value["L"]))
                    value = value["L"][step]
                else:
                    break
                path.append(step)
            best = path, value
            if wanted and next(iter(value)) in wanted:
                break
        return best

    def path_and_value(self, item, wanted=None):
        if item and self.chance(0.85):
            path, value = self.known_path(item, wanted)
            if self.chance(0.12):
                return path + [self.pick((0, 1, 2, 7, "a", "b"))], None
            return path, value
        path = [self.pick(NAMES if self.chance(0.9) else ODD_NAMES + RESERVED_NAMES)]
        while self.chance(0.25):
            path.append(self.pick((0, 1, 3, "a", "b", "x")))
        return path, None

    def path(self, item, wanted=None):
        return self.path_and_value(item, wanted)[0]

    def respelled(self, value):
        """An equal value, but for one element in four: sets and maps in another order, numbers in another spelling."""
        kind, payload = next(iter(value.items()))
        if kind == "N":
            return {kind: "0" + payload if payload.isdigit() else payload}
        if kind in SETS:
            other = self.random.sample(payload, len(payload))
            if len(other) > 16 and self.chance(0.25):
                other[0] = "7777" if kind == "NS" else "other"
            return {kind: other if kind != "BS" or "other" not in other else payload}
        if kind == "L":
            parts = [self.respelled(e) for e in payload]
            if parts and self.chance(0.25):
                parts[self.below(len(parts))] = self.value(3)
            return {kind: parts}
        if kind == "M":
            names = self.random.sample(list(payload), len(payload))
            return {kind: {name: self.respelled(payload[name]) for name in names}}
        return value

    def near(self, value):
        """The same value, a part of it, one of its type, or any."""
        r = self.random.random()
        if value is not None and r < (0.35 if "L" in value or "M" in value else 0.12):
            return self.respelled(value)
        if value is None or r > 0.85:
            return self.value(2)
        kind = next(iter(value))
        if r < 0.45:
            return value
        if kind in SETS:
            return {kind: self.set_of(kind)} if r < 0.7 else {kind[0]: self.pick(value[kind])}
        if kind == "L" and value["L"]:
            return self.pick(value["L"])
        return {kind: self.scalar(kind)} if kind in SCALARS else self.value(2)

    # ---- conditions ----

    def operand(self, t, item, value=None, sized=True):
        r = self.random.random()
        if sized and r < 0.12:
            inner = t.path(self.path(item)) if self.chance(0.9) else t.value({"S": self.pick(LETTERS)})
            return f"size({inner})"
        if r < 0.4:
            return self.in_parentheses(t.path(self.path(item)))
        return self.in_parentheses(t.value(self.near(value)))

    def in_parentheses(self, text):
        return f"({text})" if self.chance(0.04) else text

    def comparison(self, t, item):
        path, value = self.path_and_value(item)
        sign = self.pick(COMPARATORS)
        if sign not in ("=", "<>") and self.chance(0.9):
            path, value = self.path_and_value(item, ("S", "N", "B"))
            if value is None or next(iter(value)) not in ("S", "N", "B"):
                value = {"N": "1"}
            first, second = t.path(path), t.value(self.same_type(value))
        elif self.chance(0.15):
            first, second = self.operand(t, item), self.operand(t, item)
        elif self.chance(0.25):
            path, value = self.path_and_value(item, SIZED)
            first, second = f"size({t.path(path)})", t.value({"N": str(self.size_near(value))})
        else:
            first, second = t.path(path), self.operand(t, item, value)
        if self.chance(0.1):
            first, second = second, first
        return self.pick(("{} {} {}", "{}{}{}", " {}\t{}\n{}")).format(first, sign, second)

    def size_near(self, value):
        """What size() is, mostly."""
        kind, payload = next(iter(value.items())) if value else ("N", "")
        if kind not in SIZED or self.chance(0.25):
            return self.below(6)
        size = len(base64.b64decode(payload) if kind == "B" else payload.encode("utf-16-le")[::2] if kind == "S" else payload)
        return size + self.pick((0, 0, 0, 1, -1))

    def same_type(self, value):
        kind = next(iter(value))
        return value if self.chance(0.4) else {kind: self.scalar(kind)}

    def between(self, t, item):
        path, value = self.path_and_value(item, ("S", "N", "B"))
        if self.chance(0.2):
            return f"{t.path(path)} BETWEEN {self.operand(t, item)} AND {self.operand(t, item)}"
        kind = next(iter(value)) if value and next(iter(value)) in ("S", "N", "B") else "N"
        bounds = [{kind: self.scalar(kind)}, value if value and self.chance(0.5) else {kind: self.scalar(kind)}]
        if kind == "S":
            bounds.sort(key=lambda b: b[kind].encode() if kind in b else b"")
        elif kind == "N":
            bounds = [{"N": str(self.below(4) - 3)}, {"N": str(self.below(5) + 1)}]
        if self.chance(0.1):
            bounds.reverse()
        low, high = map(t.value, bounds)
        return f"{t.path(path)} {self.pick(('between', 'BETWEEN'))} {low} {self.pick(('and', 'AND'))} {high}"

    def membership(self, t, item):
        path, value = self.path_and_value(item)
        count = self.pick((1, 1, 2, 3, 4))
        others = [self.operand(t, item, value) for _ in range(count)]
        return f"{t.path(path)} {self.pick(('IN', 'in'))} ({', '.join(others)})"

    def function(self, t, item):
        name = self.pick(("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains",
                          "contains"))
        wanted = {"begins_with": ("S", "B"), "contains": ("S", "B", "L", "SS", "NS", "BS")}.get(name)
        path, value = self.path_and_value(item, wanted)
        text = t.path(path)
        if name.endswith("exists"):
            return f"{name}({text})"
        if name == "attribute_type":
            kinds = SCALARS + SETS + ("L", "M")
            other = {"S": next(iter(value)) if value and self.chance(0.5) else self.pick(kinds)}
        elif name == "begins_with":
            kind = "B" if value and "B" in value else "S"
            other = {kind: value[kind][:1] if kind == "S" and value and "S" in value and self.chance(0.6) else
                     self.scalar(kind)}
        else:
            other = self.part_of(value)
        second = t.path(self.path(item)) if name != "attribute_type" and self.chance(0.15) else t.value(other)
        return f"{name}({self.pick((text, text, text, f' {text} '))}, {second})"

    def part_of(self, value):
        if value is None or self.chance(0.2):
            return self.value(2)
        kind, payload = next(iter(value.items()))
        if kind in SETS:
            return {kind[0]: self.pick(payload) if self.chance(0.6) else self.scalar(kind[0])}
        if kind == "L" and payload:
            return self.pick(payload)
        if kind == "S" and payload:
            return {"S": payload[self.below(len(payload)):]}
        return {"S": self.pick(LETTERS)} if kind != "B" else {"B": self.pick(BYTES)}

    def condition(self, t, item, depth=0):
        r = self.random.random()
        if depth < 3 and r < 0.3:
            parts = [self.condition(t, item, depth + 1) for _ in range(2)]
            return self.pick((" AND ", " OR ", " and ", " or ")).join(parts)
        if depth < 3 and r < 0.38:
            return self.pick(("NOT ", "not ")) + self.condition(t, item, depth + 1)
        if depth < 3 and r < 0.46:
            inner = self.condition(t, item, depth + 1)
            return inner if inner.startswith("(") and inner.endswith(")") else f"({inner})"
        kind = self.pick((self.comparison, self.comparison, self.comparison, self.between, self.membership, self.function,
                          self.function))
        return kind(t, item)

    # ---- updates and projections ----

    def distinct_paths(self, item, count, wanted=None):
        """Paths of which none leads into another, but for a few."""
        paths = []
        for _ in range(count):
            path = self.path(item, wanted)
            if self.chance(0.02) or not any(self.meet(path, p) for p in paths):
                paths.append(path)
        return paths

    @staticmethod
    def meet(a, b):
        for x, y in zip(a, b):
            if isinstance(x, int) != isinstance(y, int):
                return True
            if x != y:
                return False
        return True

    def new_place(self, item, paths):
        """A path to a new attribute beside others, or past the end of a list."""
        path = self.path(item, ("L", "M"))
        path = path + [self.pick((0, 1, 5, 9, 9, 2000000000, "new", "a"))] if self.chance(0.5) else [self.pick(NAMES)]
        return None if any(self.meet(path, p) for p in paths) else path

    def set_operand(self, t, item, wanted, depth=0):
        r = self.random.random()
        if depth < 2 and r < 0.2:
            return f"if_not_exists({t.path(self.path(item))}, {self.set_operand(t, item, wanted, depth + 1)})"
        path, value = self.path_and_value(item, wanted)
        if r < 0.6 and (self.chance(0.06) or (value and next(iter(value)) in wanted)):
            return self.in_parentheses(t.path(path))
        kind = self.pick(wanted)
        json = self.value(1) if kind in ("L", "M") else {kind: self.set_of(kind) if kind in SETS else self.scalar(kind)}
        if kind == "L" and "L" not in json:
            json = {"L": [json]}
        return self.in_parentheses(t.value(json))

    def set_value(self, t, item):
        r = self.random.random()
        if r < 0.25:
            left, right = (self.set_operand(t, item, ("N",)) for _ in range(2))
            return self.in_parentheses(f"{left} {self.pick('+-')} {right}")
        if r < 0.45:
            left, right = (self.set_operand(t, item, ("L",)) for _ in range(2))
            return f"list_append({left}, {right})"
        return self.set_operand(t, item, SCALARS + SETS + ("L", "M"))

    def change(self, t, item, verb, path):
        if verb == "SET":
            return f"{t.path(path)} = {self.set_value(t, item)}"
        if verb == "REMOVE":
            return t.path(path)
        value = item.get(path[0]) if len(path) == 1 else None
        kind = next(iter(value)) if value else None
        kinds = SETS + ("N",) if verb == "ADD" else SETS
        if kind not in kinds or self.chance(0.1):
            kind = self.pick(kinds)
        json = {"N": self.number()} if kind == "N" else {kind: self.set_of(kind)}
        if verb == "DELETE" and value and kind in value and self.chance(0.3):
            json = value
        return f"{t.path(path)} {t.value(json)}"

    def update(self, t, item):
        sections, paths = [], []
        for verb in self.random.sample(("SET", "REMOVE", "ADD", "DELETE"), self.pick((1, 1, 1, 2, 3))):
            wanted = {"ADD": SETS + ("N",), "DELETE": SETS}.get(verb)
            changes = []
            for _ in range(self.pick((1, 1, 2, 3))):
                path = self.new_place(item, paths) if verb == "SET" and self.chance(0.5) else self.path(item, wanted)
                if path is None or (any(self.meet(path, p) for p in paths) and not self.chance(0.05)):
                    continue
                paths.append(path)
                changes.append(self.change(t, item, verb, path))
            if changes:
                word = verb if self.chance(0.8) else verb.lower()
                sections.append(word + " " + self.pick((", ", ",")).join(changes))
        return " ".join(sections) or "REMOVE " + t.path(self.path(item))

    def projection(self, t, item):
        if self.chance(0.02):
            return self.wide_projection(t, item)
        paths = self.distinct_paths(item, self.pick((1, 2, 3, 4, 6)))
        return self.pick((", ", ",", " , ")).join(map(t.path, paths)) or "a"

    def wide_projection(self, t, item):
        """Many elements or members of one attribute."""
        name = self.pick(NAMES)
        item[name] = {"L": [self.value(3) for _ in range(60)]}
        steps = self.random.sample(range(80), self.pick((20, 40, 70)))
        texts = [f"{t.name(name)}[{i}]" for i in steps]
        if self.chance(0.5):
            item[name] = {"M": {f"k{i}": self.value(3) for i in range(60)}}
            texts = [f"{t.name(name)}.k{i}" for i in steps]
        return ", ".join(texts)

    # ---- key conditions ----

    def key_value(self, kind):
        if kind == "N":
            return {"N": self.number()}
        return {kind: self.pick([v for v in (LETTERS if kind == "S" else BYTES) if v])}

    def key_condition(self, t, schema):
        p = self.key_value(schema["p"])
        first = f"{t.name('p')} = {t.value(p)}"
        rows = [p, self.key_value(schema["p"])]
        if "s" not in schema or self.chance(0.15):
            return self.in_parentheses(first), rows, None
        kind = schema["s"]
        low, high = self.key_value(kind), self.key_value(kind)
        name, r = t.name("s"), self.random.random()
        if r < 0.6:
            second = f"{name} {self.pick(('=', '<', '<=', '>', '>='))} {t.value(low)}"
            if self.chance(0.1):
                second = f"{t.value(high)} {self.pick(('=', '<', '<=', '>', '>='))} {name}"
        elif r < 0.8 or kind == "N":
            if kind == "S" and low["S"].encode() > high["S"].encode():
                low, high = high, low
            elif kind == "B":
                low, high = sorted((low, high), key=lambda v: base64.b64decode(v["B"]))
            elif kind == "N":
                low, high = {"N": str(self.below(4) - 3)}, {"N": self.pick(("1", "1.0", "100", "1e125", "2.5"))}
            second = f"{name} BETWEEN {t.value(low)} AND {t.value(high)}"
        else:
            second = f"begins_with({name}, {t.value(low)})"
        parts = [first, second] if self.chance(0.7) else [second, first]
        return " AND ".join(map(self.in_parentheses, parts)), rows, (low, high)

    def key_case(self):
        t = Texts(self.random)
        schema = {"p": self.pick("SNB")}
        if self.chance(0.9):
            schema["s"] = self.pick("SNB")
        text, partitions, bounds = self.key_condition(t, schema)
        rows = []
        for p in partitions:
            for _ in range(4):
                row = {"p": p}
                if "s" in schema:
                    row["s"] = self.pick(bounds) if bounds and self.chance(0.3) else self.key_value(schema["s"])
                rows.append(row)
        case = {"op": "expressions", "key": text, "schema": schema, "rows": rows}
        if self.chance(0.15):
            item = self.item()
            case.update(item=item, filter=self.condition(t, item))
            if self.chance(0.3):
                self.meet_key(case, ("filter",), schema)
        return self.with_names(case, t)

    # ---- whole cases ----

    def with_names(self, case, t):
        if t.names:
            case["names"] = t.names
        if t.values:
            case["values"] = t.values
        return case

    def expressions(self, *kinds):
        item = self.item()
        t = Texts(self.random)
        case = {"op": "expressions", "item": item}
        for kind in kinds:
            case[kind] = getattr(self, "condition" if kind == "filter" else kind)(t, item)
        if "update" in kinds:
            case["exists"] = self.chance(0.92)
            if not case["exists"]:
                case["item"] = {"p": {"S": "k"}}
        if self.chance(0.03):
            self.meet_key(case, kinds, {"p": "S"} if self.chance(0.5) else {"p": "S", "s": "N"})
        return self.with_names(case, t)

    def meet_key(self, case, kinds, schema):
        """The paths of some expressions lead to key attributes."""
        case["schema"] = schema
        for kind in kinds:
            name = self.pick(("a", "b", "c"))
            key = self.pick(tuple(schema)) + self.pick(("", "", ".a", "[0]"))
            case[kind] = re.sub(rf"(?<![A-Za-z0-9_#:.]){name}(?![A-Za-z0-9_(])", key, case[kind])

    def number_case(self):
        text = self.pick(WRONG_NUMBERS) if self.chance(0.2) else self.number()
        return {"op": "number", "list": [{"N": text}]}

    def sum_case(self):
        a = self.wide_number() if self.chance(0.8) else self.number()
        b = self.number() if self.chance(0.5) else self.wide_number()
        if self.chance(0.2):  # numbers that cancel or carry
            a = self.pick(("9" * 38, "1e38", "1e-130", "1.1e-130", "9.9e125", "-9e125", "0.1", "1" + "0" * 37 + ".1"))
            b = self.pick(("1", "-1", "1e-130", "1e-129", "9e125", "1e125", "0.2", "0.9", a))
        return {"op": "sum", "list": [{"N": a}, {"N": b}], "minus": self.chance(0.5)}

    def order_case(self):
        kind = self.pick("SNNB")
        values = [self.key_value(kind) for _ in range(self.pick((2, 4, 6)))]
        if kind == "S":
            values.append({"S": self.pick(LETTERS[6:]) + self.pick(("", "\x00", "\x01", "a", "\uffff"))})
        return {"op": "order", "list": values}

    def item_case(self):
        item = self.item()
        if self.chance(0.3):
            self.spoil_item(item)
        return {"op": "item", "item": item}

    def spoil_item(self, item):
        wrong = self.pick((
            lambda: {"N": self.pick(WRONG_NUMBERS)}, lambda: {self.pick(SETS): []}, lambda: {"NULL": False},
            lambda: {"SS": ["a", "b", "a"]}, lambda: {"NS": ["1", "2", "1.0"]}, lambda: {"BS": ["YQ==", "YQ=="]},
            lambda: {}, lambda: {"S": "a", "N": self.pick(("1", "x"))}, lambda: {"M": {"": {"S": "a"}}},
            lambda: self.nested(self.pick((30, 31, 32, 33))), lambda: {"NS": ["1", "z"]}, lambda: {"XX": "a"},
            lambda: {"S": "a", "BOOL": True}))()
        for _ in range(self.below(3)):
            wrong = {"L": [self.value(2), wrong]} if self.chance(0.5) else {"M": {"a": wrong}}
        item[self.pick(NAMES)] = wrong
        if self.chance(0.05):
            item[""] = {"S": "a"}

    def nested(self, levels):
        value = {"S": "deep"}
        for _ in range(levels):
            value = {"L": [value]} if self.chance(0.5) else {"M": {"a": value}}
        return value

    def large_case(self):
        """Around 400 KB, and 64 KB of a name."""
        r = self.random.random()
        size = 409600 + self.pick((-1, 0, 1, 2, 700))
        if r < 0.3:
            return {"op": "item", "item": {"a": {"S": "x" * (size - 1)}}}
        if r < 0.4:
            return {"op": "item", "item": {"n" * self.pick((65535, 65536)): {"BOOL": True}}}
        if r < 0.5:
            return {"op": "item", "item": {"a": {"L": [{"S": "x" * 99}] * ((size - 4) // 100)}}}
        text = self.pick(("SET b = :v", "SET b = a", "REMOVE a", "SET c[0] = :v"))
        case = {"op": "expressions", "exists": True, "update": text,
                "item": {"a": {"S": "x" * (409600 - self.pick((5, 6, 7, 8, 9, 90)))}, "c": {"L": []}}}
        if ":v" in text:
            case["values"] = {":v": {"S": "v"}}
        return case

    def case(self):
        r = self.random.random()
        if r < 0.29:
            case = self.expressions(self.pick(("condition", "condition", "filter")))
        elif r < 0.6:
            case = self.expressions("update")
        elif r < 0.64:
            case = self.expressions("update", "condition")
        elif r < 0.74:
            case = self.expressions("projection")
        elif r < 0.83:
            case = self.key_case()
        elif r < 0.91:
            return self.item_case()
        elif r < 0.95:
            return self.number_case()
        elif r < 0.98:
            return self.sum_case()
        elif r < 0.9992:
            return self.order_case()
        else:
            return self.large_case()
        if self.chance(0.4):
            from mistakes import spoil
            spoil(self, case)
        return case
