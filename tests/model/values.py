"""values - attribute values, numbers, sizes and comparisons, as DynamoDB's documentation tells them.

A value is a pair (type, payload): S str, N Decimal, B bytes, BOOL bool, NULL True, SS NS BS frozenset, L list,
M dict. Values are equal in Python if DynamoDB calls them equal. An item is the payload of an M.

Sources: developer guide, "Supported data types and naming rules", "Item sizes and formats", "Constraints".
Texts of refusals: as others have measured them on the service.
Not here: expressions.
"""

import base64
import decimal
import re
from decimal import Decimal

CONTEXT = decimal.Context(prec=1000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)

ITEM_BYTES = 400 * 1024
NESTING = 31  # lists and maps around a value
NAME_BYTES = 65535
DIGITS = 38
NUMBER = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?\Z")

NOT_NUMERIC = "The parameter cannot be converted to a numeric value"
MANY_DIGITS = "Attempting to store more than 38 significant digits in a Number"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_LARGE = "Item size has exceeded the maximum allowed size"
TOO_DEEP = ("1 validation error detected: Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond "
            "supported limit")
INVALID = "One or more parameter values were invalid: "
TWO_TYPES = ("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
             "datatypes")
NO_TYPE = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
EMPTY_SET = {"SS": INVALID + "An string set  may not be empty", "NS": INVALID + "An number set  may not be empty",
             "BS": INVALID + "Binary sets should not be empty"}
ELEMENTS = {"SS": "S", "NS": "N", "BS": "B"}


class Refused(Exception):
    """The request is refused with one of these texts. More than one: several things are wrong, and nobody has
    measured which of them the service tells."""

    def __init__(self, *texts):
        super().__init__(texts[0])
        self.texts = texts


FORMS = {"PutItem": "1 validation error detected: ", "UpdateItem": "1 validation error detected: ",
         "DeleteItem": "1 validation error detected: ", "GetItem": "", "BatchGetItem": "", "Query": ""}


class Malformed(str):
    """The words for a malformed number, or for a set that has an element twice: older ones, and those of the
    operations in FORMS, without what stands before them."""

    def __new__(cls, older, newer):
        made = super().__new__(cls, older)
        made.newer = newer
        return made


def in_words_of(operation, text):
    return FORMS[operation] + text.newer if isinstance(text, Malformed) and operation in FORMS else text


# ---- numbers ----


def fault_of(number):
    """What is wrong with a number that has all its digits: a list of texts."""
    digits, exponent = parts(number)
    faults = [MANY_DIGITS] if len(digits) > DIGITS else []
    if digits and exponent > 125:
        faults.append(OVERFLOW)
    if digits and exponent < -130:
        faults.append(UNDERFLOW)
    return faults


def parts(number):
    """The significant digits, and the exponent of the first of them; of zero there are none."""
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits))
    exponent += len(text) - 1
    short = text.lstrip("0")
    return short.rstrip("0"), exponent - (len(text) - len(short))


def parse_number(text):
    found = NUMBER.match(text)
    if not found:
        raise Refused(Malformed(NOT_NUMERIC + (": " + text if text else ""), NOT_NUMERIC + ": " + text))
    sign, whole, fraction, bare, exponent = found.groups()
    digits = ((whole or "") + (fraction or bare or "")).lstrip("0")
    if not digits:
        return Decimal(0)
    if len(digits.rstrip("0")) > DIGITS:
        raise Refused(Malformed(MANY_DIGITS, MANY_DIGITS))
    power = int(exponent or 0)
    first = power - len(fraction or bare or "") + len(digits) - 1  # the exponent of the first digit
    if first > 125:
        raise Refused(Malformed(OVERFLOW, OVERFLOW))
    if first < -130:
        raise Refused(Malformed(UNDERFLOW, UNDERFLOW))
    return Decimal((1 if sign == "-" else 0, tuple(map(int, digits)), first - len(digits) + 1))


def number_text(number):
    """Plain digits: no exponent, no zero that could be left out."""
    digits, exponent = parts(number)
    if not digits:
        return "0"
    point = exponent + 1
    if point <= 0:
        text = "0." + "0" * -point + digits
    elif point >= len(digits):
        text = digits + "0" * (point - len(digits))
    else:
        text = digits[:point] + "." + digits[point:]
    return "-" + text if number < 0 else text


def number_size(number):
    """One byte for two digits, and one more. Two digits share a byte at an even exponent; the sign is a byte."""
    digits, exponent = parts(number)
    if not digits:
        return 1
    pairs = (len(digits) + 1) // 2
    apart = len(digits) % 2 == 0 and exponent % 2 == 0
    return 1 + pairs + apart + (number < 0)


def add(a, b, minus):
    """The exact sum: (number, None), or (None, texts)."""
    total = CONTEXT.subtract(a, b) if minus else CONTEXT.add(a, b)
    faults = fault_of(total)
    return (None, faults) if faults else (total, None)


# ---- from JSON ----


def read_value(json, depth=0):
    kinds = [kind for kind in json if kind in READERS]
    if len(kinds) > 1:
        for kind in kinds:
            if kind == "N":
                parse_number(json["N"])
        raise Refused(TWO_TYPES)
    if not kinds:
        raise Refused(NO_TYPE)
    kind = kinds[0]
    return (kind, READERS[kind](json[kind], depth))


def read_null(value, _):
    if value is not True:
        raise Refused(INVALID + "Null attribute value types must have the value of true")
    return True


def repeated(kind, elements):
    if kind == "NS":
        text = "Input collection contains duplicates"
        return Malformed(text, INVALID + text + ".")
    older = INVALID + "Input collection [" + ", ".join(elements) + "]"
    if kind == "BS":
        return Malformed(older + "of type BS contains duplicates.", older + "of type BS contains duplicates.")
    inorder = sorted(elements, key=str.encode)
    upto = next(i for i in range(1, len(inorder)) if inorder[i] == inorder[i - 1])
    shown = ", ".join(f'"{e}"' for e in inorder[:upto + 1])
    return Malformed(older + " contains duplicates.", INVALID + f"Input collection [{shown}] contains duplicates.")


def read_set(kind):
    def read(elements, _):
        if not elements:
            raise Refused(EMPTY_SET[kind])
        read_element = READERS[ELEMENTS[kind]]
        payload = frozenset(read_element(e, 0) for e in elements)
        if len(payload) == len(elements):
            return payload
        raise Refused(repeated(kind, elements))
    return read


def check_depth(depth):
    if depth >= NESTING:
        raise Refused(TOO_DEEP)


def read_list(elements, depth):
    check_depth(depth)
    return [read_value(e, depth + 1) for e in elements]


def read_map(members, depth):
    check_depth(depth)
    return read_members(members, depth + 1)


def read_members(members, depth):
    payload = {}
    for name, json in members.items():
        if not name:
            raise Refused(INVALID + "Empty attribute name")
        if len(name.encode()) > NAME_BYTES:
            raise Refused(INVALID + f"Attribute name is too large, must be less than {NAME_BYTES + 1} bytes")
        payload[name] = read_value(json, depth)
    return payload


READERS = {"S": lambda text, _: text, "N": lambda text, _: parse_number(text),
           "B": lambda text, _: base64.b64decode(text), "BOOL": lambda value, _: value, "NULL": read_null,
           "SS": read_set("SS"), "NS": read_set("NS"), "BS": read_set("BS"), "L": read_list, "M": read_map}


def read_item(json):
    item = read_members(json, 0)
    if item_size(item) > ITEM_BYTES:
        raise Refused(TOO_LARGE)
    return item


# ---- to JSON: one form for equal values ----


def element_text(kind, payload):
    return payload if kind == "S" else number_text(payload) if kind == "N" else base64.b64encode(payload).decode()


def write_value(value):
    kind, payload = value
    if kind in ELEMENTS:
        return {kind: sorted(element_text(ELEMENTS[kind], e) for e in payload)}
    if kind == "L":
        return {"L": [write_value(e) for e in payload]}
    if kind == "M":
        return {"M": write_item(payload)}
    return {kind: payload if kind in ("BOOL", "NULL") else element_text(kind, payload)}


def write_item(item):
    return {name: write_value(value) for name, value in item.items()}


def sorted_sets(json):
    """An answer's JSON in the form of write_value: the elements of a set have no order."""
    for kind, payload in json.items():
        if kind in ELEMENTS:
            payload.sort()
        elif kind == "L":
            for e in payload:
                sorted_sets(e)
        elif kind == "M":
            sorted_item(payload)
    return json


def sorted_item(json):
    for value in json.values():
        sorted_sets(value)
    return json


# ---- sizes ----


def value_size(value):
    kind, payload = value
    if kind == "S":
        return len(payload.encode())
    if kind == "N":
        return number_size(payload)
    if kind == "B":
        return len(payload)
    if kind in ("BOOL", "NULL"):
        return 1
    if kind in ELEMENTS:
        return sum(value_size((ELEMENTS[kind], e)) for e in payload)
    if kind == "L":
        return 3 + sum(1 + value_size(e) for e in payload)
    return 3 + sum(1 + len(name.encode()) + value_size(e) for name, e in payload.items())


def item_size(item):
    return sum(len(name.encode()) + value_size(value) for name, value in item.items())


def depth_of(value):
    """How many lists and maps stand inside each other."""
    kind, payload = value
    if kind not in ("L", "M"):
        return 0
    return 1 + max(map(depth_of, payload if kind == "L" else payload.values()), default=0)


# ---- order ----


def order_key(value):
    """Strings are ordered by their UTF-8 bytes, binaries by unsigned bytes."""
    kind, payload = value
    return payload.encode() if kind == "S" else payload


def is_ordered(kind):
    return kind in ("S", "N", "B")
