"""language - the grammar of DynamoDB's expressions, and what the service says of a wrong one.

parse_condition, parse_update and parse_projection return trees of Node; a wrong text raises Refused. The names and
values that a text uses are added to Names.used.

Sources: developer guide, "Condition and filter expressions", "Update expressions", "Projection expressions",
"Constraints". The texts, and which of two mistakes is told, are as others have measured them on the service.
Not here: what an expression means (meaning.py).
"""

import re

from values import Refused, is_ordered

TEXT_BYTES = 4096
OPERATORS = 300
OPERANDS_OF_IN = 100
STEPS = 32
INDEX_MAX = 2 ** 31 - 1
TOKEN = re.compile(r"[ \t\r\n]*(?:(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<ref>#[A-Za-z0-9_]+)|(?P<value>:[A-Za-z0-9_]+)"
                   r"|(?P<number>[0-9]+)|(?P<sign><>|<=|>=|[=<>+\-,.()\[\]])|(?P<bad>[^ \t\r\n])|\Z)")
COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")
WORDS = ("AND", "OR", "NOT", "IN", "BETWEEN")
SECTIONS = ("SET", "REMOVE", "ADD", "DELETE")
CONDITION_FUNCTIONS = {"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2,
                       "contains": 2, "size": 1}
UPDATE_FUNCTIONS = {"if_not_exists": 2, "list_append": 2}
TYPE_NAMES = ("S", "N", "B", "NULL", "SS", "BOOL", "L", "BS", "NS", "M")
LONG_NAMES = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "BOOL": "BOOLEAN", "NULL": "NULL", "SS": "STRING_SET",
              "NS": "NUMBER_SET", "BS": "BINARY_SET", "L": "LIST", "M": "MAP"}
# A part of the list in the developer guide, "Reserved words in DynamoDB". The cases use no reserved words but these.
RESERVED = frozenset("""ABORT ACTION ADD ALL AND BETWEEN BINARY BY COUNT CURRENT DATA DATE DELETE DESC END EXISTS
    FROM GROUP HASH IN INDEX ITEM ITEMS KEY KEYS LANGUAGE LEVEL LIST MAP NAME NOT NULL NUMBER OR ORDER PATH RANGE
    REGION SECTION SET SIZE STATUS STRING TABLE TIME TIMESTAMP TYPE USER USERS UUID VALUE VALUES VIEW YEAR
    """.split())

PARENTHESES = "The expression has redundant parentheses;"
NOT_DEFINED = "An expression attribute {} used in {} is not defined; attribute {}: "
NAME_UNDEFINED = NOT_DEFINED.format("name", "the document path", "name")
VALUE_UNDEFINED = NOT_DEFINED.format("value", "expression", "value")
OPERAND_TYPE = "Incorrect operand type for operator or function; operator or function: {}, operand type: {}"

# Which fault is told, if a text has several: the first rank of its grammar, then the first in the text. For a kind
# in `open` nobody knows: every fault of the text will do.
RANKS = {
    "condition": {"parentheses": 0, "function": 1, "elsewhere": 2, "misused": 3, "index": 4, "reserved": 5},
    "update": {"reserved": 0, "function": 1, "section": 2, "name": 3, "value": 4, "overlap": 5, "conflict": 6,
               "action": 7},
    "projection": {"reserved": 0, "name": 1, "overlap": 2, "conflict": 3},
}
OPEN = {"condition": (), "update": ("parentheses", "elsewhere", "misused", "index", "depth"),
        "projection": ("index", "depth")}
LAST = 8


class Names:
    """ExpressionAttributeNames and ExpressionAttributeValues, and what was used of them."""

    def __init__(self, names, values):
        self.names = names
        self.values = values
        self.used = set()


class Node:
    """kind: or, and, not, between, in, function, path, value, plus, minus, or a comparator."""
    __slots__ = ("kind", "args", "name", "path", "value", "wrapped")

    def __init__(self, kind, args=(), name=None, path=None, value=None):
        self.kind, self.args, self.name, self.path, self.value = kind, args, name, path, value
        self.wrapped = False

    def static_type(self):
        """The type that is known without an item, or None."""
        if self.kind == "value":
            return self.value and self.value[0]
        return "N" if self.kind == "function" and self.name == "size" else None


def shown(path):
    return "[" + ", ".join(f"[{s}]" if isinstance(s, int) else s for s in path) + "]"


class Parser:
    def __init__(self, grammar, text, names):
        size = len(text.encode())
        if size == 0:
            raise Refused("The expression can not be empty;")
        if size > TEXT_BYTES:
            raise Refused(f"Expression size has exceeded the maximum allowed size; expression size: {size}")
        self.grammar, self.text, self.names = grammar, text, names
        self.faults = []
        self.operators = 0
        self.paths = []
        self.tokens = []
        self.at = 0
        for found in TOKEN.finditer(text):
            kind = found.lastgroup
            if kind is None:
                break
            self.tokens.append((self.kind_of(kind, found[kind]), found[kind], found.start(kind), found.end(kind)))
        self.tokens.append(("end", "", len(text), len(text)))

    def kind_of(self, kind, text):
        if kind == "sign":
            return text
        if kind == "name" and text.upper() in (WORDS + SECTIONS if self.grammar == "update" else WORDS):
            return text.upper()
        return kind

    # ---- tokens ----

    def kind(self):
        return self.tokens[self.at][0]

    def accept(self, kind):
        if self.tokens[self.at][0] != kind:
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def expect(self, kind):
        text = self.accept(kind)
        if text is None:
            self.syntax()
        return text

    def syntax(self):
        kind, text, start, end = self.tokens[self.at]
        if self.at > 0:
            start = self.tokens[self.at - 1][2]
        if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] != "end":
            end = self.tokens[self.at + 1][3]
        if kind == "end":
            text = "<EOF>"
            end = self.tokens[self.at - 1][3]
        texts = [f'Syntax error; token: "{text}", near: "{near}"' for near in {self.text[start:end], self.to_end(start)}]
        raise Refused(*texts)

    def to_end(self, start):
        """Nobody knows whether `near` goes on to blanks at the end of the text."""
        last = self.at + 1 >= len(self.tokens) - 1
        return self.text[start:] if last else self.text[start:self.tokens[self.at + 1][3]]

    # ---- faults ----

    def note(self, kind, text):
        self.faults.append((kind, text))

    def finish(self):
        if self.kind() != "end":
            self.syntax()
        if not self.faults:
            return
        if any(kind in OPEN[self.grammar] for kind, _ in self.faults):
            raise Refused(*(text for _, text in self.faults))
        ranks = RANKS[self.grammar]
        raise Refused(min(self.faults, key=lambda f: ranks.get(f[0], LAST))[1])

    def operator(self):
        self.operators += 1
        if self.operators > OPERATORS:
            raise Refused(f"The expression contains too many operators; operator count: {self.operators}")

    # ---- paths and values ----

    def step(self):
        word = self.accept("name")
        if word is not None:
            if word.upper() in RESERVED:
                self.note("reserved", "Attribute name is a reserved keyword; reserved keyword: " + word)
            return word
        ref = self.expect("ref")
        if ref not in self.names.names:
            self.note("name", NAME_UNDEFINED + ref)
            return None
        self.names.used.add(ref)
        return self.names.names[ref]

    def parse_path(self):
        path = [self.step()]
        while True:
            if self.accept("."):
                path.append(self.step())
            elif self.accept("["):
                index = self.expect("number")
                if int(index) > INDEX_MAX:
                    self.note("index", f"List index is not within the allowable range; index: [{index}]")
                path.append(int(index))
                self.expect("]")
            else:
                break
        if len(path) > STEPS:
            self.note("depth", f"The document path has too many nesting levels; nesting levels: {len(path)}")
        return path

    def parse_value(self):
        ref = self.expect("value")
        if ref not in self.names.values:
            self.note("value", VALUE_UNDEFINED + ref)
            return None
        self.names.used.add(ref)
        return self.names.values[ref]

    def add_path(self, path):
        """A path that is shown or changed: no other may lead to it, or to a part of it."""
        if None in path:
            return
        for other in self.paths:
            kind = "overlap"
            for a, b in zip(other, path):
                if isinstance(a, int) != isinstance(b, int):
                    kind = "conflict"
                    break
                if a != b:
                    kind = None
                    break
            if kind:
                self.note(kind, f"Two document paths {kind} with each other; must remove or rewrite one of these "
                                f"paths; path one: {shown(other)}, path two: {shown(path)}")
        self.paths.append(path)

    # ---- operands ----

    def wrap(self, node):
        if node.wrapped:
            self.note("parentheses", PARENTHESES)
        node.wrapped = True
        return node

    def operand(self):
        if self.accept("("):
            node = self.operand()
            self.expect(")")
            return self.wrap(node)
        if self.kind() == "value":
            return Node("value", value=self.parse_value())
        if self.kind() == "name" and self.tokens[self.at + 1][0] == "(":
            return self.function()
        return Node("path", path=self.parse_path())

    def function(self):
        name = self.expect("name")
        self.operator()
        self.expect("(")
        args = [self.operand()]
        while self.accept(","):
            args.append(self.operand())
        self.expect(")")
        node = Node("function", args, name)
        (self.check_update_function if self.grammar == "update" else self.check_condition_function)(name, args)
        return node

    def check_name(self, name, own, others, text):
        if name in others:
            self.note("elsewhere", f"The function is not allowed in {text} expression; function: {name}")
        elif name not in own:
            self.note("function", "Invalid function name; function: " + name)
        return name in own

    def check_count(self, name, args, count):
        if len(args) == count:
            return True
        self.note("count", "Incorrect number of operands for operator or function; operator or function: "
                           f"{name}, number of operands: {len(args)}")
        return False

    def misused(self, node):
        self.note("misused", "The function is not allowed to be used this way in an expression; function: " + node.name)

    def check_nested(self, args):
        for arg in args:
            if arg.kind == "function" and arg.name != "size":
                self.misused(arg)

    def needs_path(self, name):
        self.note("path", "Operator or function requires a document path; operator or function: " + name)

    def wrong_type(self, name, kind):
        self.note("type", OPERAND_TYPE.format(name, kind))

    # ---- conditions ----

    def distinct(self, name, first, others):
        for other in others:
            if first.kind == other.kind == "path" and first.path == other.path and None not in first.path:
                self.note("distinct", "The first operand must be distinct from the remaining operands for this "
                                      f"operator or function; operator: {name}, first operand: {shown(first.path)}")
                return

    def ordered(self, name, operands):
        for o in operands:
            kind = o.static_type()
            if kind and not is_ordered(kind):
                self.wrong_type(name, kind)
                return False
        return True

    def check_condition_function(self, name, args):
        self.check_nested(args)
        if not self.check_name(name, CONDITION_FUNCTIONS, UPDATE_FUNCTIONS, "a condition"):
            return
        if not self.check_count(name, args, CONDITION_FUNCTIONS[name]):
            return
        if len(args) == 2:
            self.distinct(name, args[0], args[1:])
        kinds = [a.static_type() for a in args]
        if name in ("attribute_exists", "attribute_not_exists"):
            if args[0].kind != "path":
                self.needs_path(name)
        elif name == "attribute_type":
            self.check_type_name(args[1])
        elif name == "begins_with":
            for kind in kinds:
                if kind and kind not in ("S", "B"):
                    self.wrong_type(name, kind)
                    break
        elif name == "size" and kinds[0] in ("N", "BOOL", "NULL"):
            self.wrong_type(name, kinds[0])

    def check_type_name(self, arg):
        if arg.kind == "value" and arg.value is None:
            return  # not defined
        if arg.static_type() != "S":
            self.wrong_type("attribute_type", arg.static_type() or "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
        elif arg.value[1] not in TYPE_NAMES:
            self.note("type name", f"Invalid attribute type name found; type: {arg.value[1]}, "
                                   "valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}")

    def disjunction(self, alone):
        left = self.conjunction(alone)
        while self.accept("OR"):
            self.operator()
            self.check_alone(left)
            right = self.conjunction(False)
            self.check_alone(right)
            left = Node("or", [left, right])
        return left

    def conjunction(self, alone):
        left = self.negation(alone)
        while self.accept("AND"):
            self.operator()
            self.check_alone(left)
            right = self.negation(False)
            self.check_alone(right)
            left = Node("and", [left, right])
        return left

    def negation(self, alone):
        if self.accept("NOT"):
            self.operator()
            inner = self.negation(False)
            self.check_alone(inner)
            return Node("not", [inner])
        return self.primary(alone)

    def check_alone(self, node):
        """size() is no condition."""
        if node.kind == "function" and node.name == "size":
            self.misused(node)

    def primary(self, alone):
        """A condition; an operand, if it stands `alone` in parentheses."""
        if self.accept("("):
            node = self.disjunction(True)
            self.expect(")")
            self.wrap(node)
        else:
            node = self.operand()
        if node.kind in ("path", "value", "function"):
            if self.kind() in COMPARATORS or self.kind() in ("BETWEEN", "IN"):
                return self.comparison(node)
            if node.kind != "function" and not (alone and self.kind() == ")"):
                self.syntax()
        return node

    def comparison(self, first):
        sign = self.kind()
        self.at += 1
        self.operator()
        if sign == "IN":
            return self.membership(first)
        if sign == "BETWEEN":
            return self.between(first)
        second = self.operand()
        self.check_nested([first, second])
        self.distinct(sign, first, [second])
        if sign in ("<", "<=", ">", ">="):
            self.ordered(sign, [first, second])
        return Node(sign, [first, second])

    def membership(self, first):
        self.expect("(")
        args = [self.operand()]
        while self.accept(","):
            args.append(self.operand())
        self.expect(")")
        self.check_nested([first] + args)
        if len(args) > OPERANDS_OF_IN:
            self.note("in", "The IN operator is provided with too many operands; number of operands: "
                            f"{len(args)}")
        self.distinct("IN", first, args)
        return Node("in", [first] + args)

    def between(self, first):
        low = self.operand()
        self.expect("AND")
        high = self.operand()
        self.check_nested([first, low, high])
        self.distinct("BETWEEN", first, [low, high])
        if self.ordered("BETWEEN", [first, low, high]) and low.kind == high.kind == "value" and low.value and high.value:
            self.check_bounds(low.value, high.value)
        return Node("between", [first, low, high])

    def check_bounds(self, low, high):
        if low[0] != high[0]:
            what = "same data type for lower and upper bounds"
        elif low[1] > high[1]:
            what = "upper bound to be greater than or equal to lower bound"
        else:
            return
        self.note("bounds", f"The BETWEEN operator requires {what}; lower bound operand: AttributeValue: "
                            f"{bound(low)}, upper bound operand: AttributeValue: {bound(high)}")

    # ---- updates ----

    def check_update_function(self, name, args):
        if not self.check_name(name, UPDATE_FUNCTIONS, CONDITION_FUNCTIONS, "an update"):
            return
        for arg in args:
            if arg.kind == "function" and arg.name == "list_append":
                self.misused(arg)
        if not self.check_count(name, args, 2):
            return
        if name == "if_not_exists" and args[0].kind != "path":
            self.needs_path(name)
        elif name == "list_append":
            self.check_types(name, args, "L")

    def check_types(self, name, args, wanted):
        for arg in args:
            kind = arg.static_type()
            if kind and kind != wanted:
                self.wrong_type(name, kind)
                return

    def assigned(self):
        """The value of SET: an operand, a sum, a difference, or one of these in parentheses."""
        if self.accept("("):
            left = self.assigned()
            self.expect(")")
            self.wrap(left)
            if left.kind in ("plus", "minus"):
                return left
        else:
            left = self.operand()
        for sign, kind in (("+", "plus"), ("-", "minus")):
            if self.accept(sign):
                self.operator()
                right = self.operand()
                for arg in (left, right):
                    if arg.kind == "function" and arg.name == "list_append":
                        self.misused(arg)
                self.check_types(sign, [left, right], "N")
                return Node(kind, [left, right])
        return left

    def action(self, verb):
        path = self.parse_path()
        value = None
        if verb == "SET":
            self.expect("=")
            value = self.assigned()
        elif verb != "REMOVE":
            value = Node("value", value=self.parse_value())
            kind = value.static_type()
            if kind and kind not in ("SS", "NS", "BS") and (verb, kind) != ("ADD", "N"):
                self.note("action", f"Incorrect operand type for operator or function; operator: {verb}, operand "
                                    f"type: {LONG_NAMES[kind]}, typeSet: ALLOWED_FOR_{verb}_OPERAND")
        self.add_path(path)
        return (verb, path, value)

    def sections(self):
        actions, seen = [], set()
        while self.kind() in SECTIONS:
            verb = self.kind()
            self.at += 1
            actions.append(self.action(verb))
            while self.accept(","):
                actions.append(self.action(verb))
            if verb in seen:
                self.note("section", f'The "{verb}" section can only be used once in an update expression;')
            seen.add(verb)
        if not actions:
            self.syntax()
        return actions


def bound(value):
    """As the service prints a value."""
    from values import number_text
    kind, payload = value
    return f"{{{kind}:{payload if kind == 'S' else number_text(payload) if kind == 'N' else ''}}}"


def parse_condition(text, names):
    p = Parser("condition", text, names)
    tree = p.disjunction(False)
    p.check_alone(tree)
    p.finish()
    return tree


def parse_update(text, names):
    """A list of (verb, path, Node or None)."""
    p = Parser("update", text, names)
    actions = p.sections()
    p.finish()
    return actions


def parse_projection(text, names):
    """A list of paths."""
    p = Parser("projection", text, names)
    while True:
        p.add_path(p.parse_path())
        if not p.accept(","):
            break
    p.finish()
    return p.paths
