"""meaning - what expressions do to items: conditions, projections, updates and key conditions.

Sources: developer guide, "Condition and filter expressions, operators, and functions", "Update expressions",
"Projection expressions", "Key condition expressions for the Query operation". What a missing attribute means is as
others have measured it on the service.
Not here: the grammar (language.py), the values (values.py).
"""

from values import ELEMENTS, INVALID, ITEM_BYTES, NESTING, UNDERFLOW, add, depth_of, is_ordered, item_size

# Why an update does not fit an item: the numbers that weir's nodes answer with.
NO_ATTRIBUTE, OPERAND_TYPE, PATH_INVALID, TOO_LARGE, TOO_DEEP, NUMBER_RANGE, NUMBER_SMALL = range(1, 8)
FAULT_NAMES = ("ok", "no attribute", "operand type", "path invalid", "too large", "too deep", "number range",
               "number small")


class Unfit(Exception):
    """The update does not fit the item, for one of these reasons: as Refused, in values.py."""

    def __init__(self, *faults):
        super().__init__(faults)
        self.faults = faults


def step_into(value, step):
    """One step of a path; None: the step leads to nothing."""
    kind, payload = value
    if isinstance(step, int):
        return payload[step] if kind == "L" and step < len(payload) else None
    return payload.get(step) if kind == "M" else None


def follow(item, path):
    value = item.get(path[0])
    for step in path[1:]:
        if value is None:
            return None
        value = step_into(value, step)
    return value


# ---- conditions ----


def length_of(value):
    kind, payload = value
    if kind == "S":
        return len(payload.encode("utf-16-le")) // 2
    return None if kind in ("N", "BOOL", "NULL") else len(payload)


def operand_of(node, item):
    if node.kind == "path":
        return follow(item, node.path)
    if node.kind == "value":
        return node.value
    whole = operand_of(node.args[0], item)
    size = None if whole is None else length_of(whole)
    return None if size is None else ("N", size)


def contains(whole, part):
    kind, payload = whole
    if kind in ("S", "B"):
        return part[0] == kind and part[1] in payload
    if kind in ELEMENTS:
        return part[0] == ELEMENTS[kind] and part[1] in payload
    return kind == "L" and part in payload


def compare(sign, a, b):
    if sign == "<>":
        return a is None or b is None or a != b
    if a is None or b is None:
        return False
    if sign == "=":
        return a == b
    if a[0] != b[0] or not is_ordered(a[0]):
        return False
    x, y = a[1], b[1]
    return x < y if sign == "<" else x <= y if sign == "<=" else x > y if sign == ">" else x >= y


def function_holds(node, item):
    values = [operand_of(a, item) for a in node.args]
    if node.name == "attribute_exists":
        return values[0] is not None
    if node.name == "attribute_not_exists":
        return values[0] is None
    if None in values:
        return False
    first, second = values
    if node.name == "attribute_type":
        return first[0] == second[1]
    if node.name == "begins_with":
        return first[0] == second[0] and first[0] in ("S", "B") and first[1].startswith(second[1])
    return contains(first, second)


def holds(node, item):
    if node.kind == "or":
        return any(holds(a, item) for a in node.args)
    if node.kind == "and":
        return all(holds(a, item) for a in node.args)
    if node.kind == "not":
        return not holds(node.args[0], item)
    if node.kind == "function":
        return function_holds(node, item)
    values = [operand_of(a, item) for a in node.args]
    if node.kind == "between":
        return compare(">=", values[0], values[1]) and compare("<=", values[0], values[2])
    if node.kind == "in":
        return any(compare("=", values[0], v) for v in values[1:])
    return compare(node.kind, *values)


# ---- projections ----


def tree_of(paths):
    """{step: leaf or tree}; `paths` are pairs of a path and its leaf. No path leads into another."""
    tree = {}
    for path, leaf in paths:
        at = tree
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = leaf
    return tree


def shown_part(value, tree):
    """What the tree shows of the value; None: nothing."""
    if tree is True:
        return value
    found = [(step, shown_part(part, below)) for step, below in sorted(tree.items())
             if (part := step_into(value, step)) is not None]
    found = [(step, part) for step, part in found if part is not None]
    if not found:
        return None
    return ("L", [part for _, part in found]) if value[0] == "L" else ("M", dict(found))


def project(item, paths):
    part = shown_part(("M", item), tree_of((p, True) for p in paths))
    return part[1] if part else {}


# ---- updates ----


def value_of(node, item):
    """The new value that SET gives; always of the old item."""
    if node.kind == "value":
        return node.value
    if node.kind == "path":
        value = follow(item, node.path)
        if value is None:
            raise Unfit(NO_ATTRIBUTE)
        return value
    if node.kind == "function" and node.name == "if_not_exists":
        value = follow(item, node.args[0].path)
        return value_of(node.args[1], item) if value is None else value
    left, right = operands(node, item)
    if node.kind == "function":
        if left[0] != "L" or right[0] != "L":
            raise Unfit(OPERAND_TYPE)
        return ("L", left[1] + right[1])
    return total(left, right, node.kind == "minus")


def operands(node, item):
    """Both operands. If one fails and the other is of a wrong type, nobody knows which is told."""
    found, faults = [], []
    wanted = "L" if node.kind == "function" else "N"
    for arg in node.args:
        try:
            found.append(value_of(arg, item))
            if found[-1][0] != wanted:
                faults.append(OPERAND_TYPE)
        except Unfit as unfit:
            faults.extend(unfit.faults)
    if faults:
        raise Unfit(*faults)
    return found


def total(left, right, minus):
    if left[0] != "N" or right[0] != "N":
        raise Unfit(OPERAND_TYPE)
    number, faults = add(left[1], right[1], minus)
    if faults:
        raise Unfit(NUMBER_SMALL if faults == [UNDERFLOW] else NUMBER_RANGE)
    return ("N", number)


def check_parent(item, path):
    """The path but for its last step must lead to a map or list that can have such a step."""
    parent = follow(item, path[:-1]) if len(path) > 1 else ("M", item)
    if parent is None or parent[0] != ("L" if isinstance(path[-1], int) else "M"):
        raise Unfit(PATH_INVALID)


KEEP, DROP = object(), object()


def changed(verb, path, value, item):
    """The value that an ADD or DELETE leaves, KEEP or DROP."""
    old = follow(item, path)
    if old is None:
        return value if verb == "ADD" else KEEP
    if old[0] != value[0]:
        raise Unfit(OPERAND_TYPE)
    if verb == "ADD":
        return total(old, value, False) if old[0] == "N" else (old[0], old[1] | value[1])
    left = old[1] - value[1]
    return (old[0], left) if left else DROP


def rebuilt(value, tree):
    """The map or list with the changes of the tree. New elements of a list come in the order of their indexes."""
    kind, payload = value
    new = dict(payload) if kind == "M" else dict(enumerate(payload))
    for step, change in sorted(tree.items()) if kind == "L" else tree.items():
        if isinstance(change, dict):
            new[step] = rebuilt(new[step], change)
        elif change is DROP:
            new.pop(step, None)
        elif change is not KEEP:
            new[step] = change
    return ("M", new) if kind == "M" else ("L", [new[i] for i in sorted(new)])


def update(actions, item, exists):
    """The new item. Unfit: the first of the values of SET that fails, else the first of the actions."""
    sets = {i: value_of(node, item) for i, (verb, _, node) in enumerate(actions) if verb == "SET"}
    changes = []
    for i, (verb, path, node) in enumerate(actions):
        if verb == "REMOVE" and not exists:
            continue
        check_parent(item, path)
        if verb == "SET":
            changes.append((path, sets[i]))
        elif verb == "REMOVE":
            changes.append((path, DROP))
        else:
            changes.append((path, changed(verb, path, node.value, item)))
    new = rebuilt(("M", item), tree_of(changes))[1]
    if item_size(new) > ITEM_BYTES:
        raise Unfit(TOO_LARGE)
    if max(map(depth_of, new.values()), default=0) > NESTING:
        raise Unfit(TOO_DEEP)
    return new


# ---- key conditions ----

TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
WRONG = "Invalid condition in KeyConditionExpression: "


def conditions_of(tree):
    return [c for part in tree.args for c in conditions_of(part)] if tree.kind == "and" else [tree]


def paths_in(node):
    return [node.path] if node.kind == "path" else [p for a in node.args for p in paths_in(a)]


def has_size(node):
    return (node.kind == "function" and node.name == "size") or any(map(has_size, node.args))


def operator_of(c):
    return c.name if c.kind == "function" else c.kind.upper()


def key_fault(c):
    """What a single condition may not be, or None."""
    if c.kind not in TURNED and c.kind != "between" and operator_of(c) != "begins_with":
        return "Invalid operator used in KeyConditionExpression: " + operator_of(c)
    if c.kind not in TURNED and c.args[0].kind != "path":
        return f"{WRONG}{operator_of(c)} operator must have the key attribute as its first operand"
    if any(map(has_size, c.args)):
        return "KeyConditionExpressions cannot contain nested operations"
    paths = paths_in(c)
    if len(paths) > 1:
        return WRONG + "Multiple attribute names used in one condition"
    if paths and len(paths[0]) > 1:
        return "KeyConditionExpressions cannot have conditions on nested attributes"
    return None if paths else WRONG + "No key attribute specified"


def gather(tree):
    """{attribute: (operator, values)}, or a text that says why not."""
    found = {}
    for c in conditions_of(tree):
        fault = key_fault(c)
        if fault:
            return fault
        name = paths_in(c)[0][0]
        if name in found:
            return "KeyConditionExpressions must only contain one condition per key"
        turned = c.args[0].kind == "value"
        kind = TURNED[c.kind] if turned else operator_of(c)
        found[name] = (kind, [a.value for a in c.args if a.kind == "value"])
    for kind, values in found.values():
        for value in values:
            if kind == "=" and value[0] in ("BOOL", "NULL", "L", "M"):
                return f"{INVALID}ComparisonOperator EQ is not valid for {value[0]} AttributeValue type"
    return found if len(found) <= 2 else "Conditions can be of length 1 or 2 only"


def key_holds(condition, value):
    kind, values = condition
    if kind == "BETWEEN":
        return compare(">=", value, values[0]) and compare("<=", value, values[1])
    if kind == "begins_with":
        return value[0] == values[0][0] and value[1].startswith(values[0][1])
    return compare(kind, value, values[0])
