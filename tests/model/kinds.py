"""kinds - the kinds of answers. The long form of the check must meet each of them (KINDS)."""

import meaning

# The first words of a text, behind the parameter's name.
EVERYWHERE = (
    ("empty", "The expression can not be empty"), ("too long", "Expression size has exceeded"),
    ("syntax", "Syntax error"), ("reserved word", "Attribute name is a reserved keyword"),
    ("list index", "List index is not within"), ("undefined name", "An expression attribute name used"),
    ("path depth", "The document path has too many nesting levels"),
)
OF_VALUES = (
    ("too many operators", "The expression contains too many operators"),
    ("parentheses", "The expression has redundant parentheses"), ("function name", "Invalid function name"),
    ("misused function", "The function is not allowed to be used this way"),
    ("undefined value", "An expression attribute value used"), ("operand count", "Incorrect number of operands"),
    ("operand type", "Incorrect operand type for operator or function; operator or function"),
    ("path required", "Operator or function requires a document path"),
)
OF_CONDITIONS = EVERYWHERE + OF_VALUES + (
    ("function of updates", "The function is not allowed in a condition expression"),
    ("same operands", "The first operand must be distinct"), ("types of bounds", "The BETWEEN operator requires same"),
    ("order of bounds", "The BETWEEN operator requires upper"), ("operands of IN", "The IN operator is provided"),
    ("type name", "Invalid attribute type name"),
)
OF_PATHS = (
    ("overlapping paths", "Two document paths overlap"), ("conflicting paths", "Two document paths conflict"),
)
OF_UPDATES = EVERYWHERE + OF_VALUES + OF_PATHS + (
    ("function of conditions", "The function is not allowed in an update expression"), ("section twice", 'The "'),
    ("type of ADD or DELETE", "Incorrect operand type for operator or function; operator: "),
)
OF_PARAMETERS = {
    "ConditionExpression": OF_CONDITIONS, "FilterExpression": OF_CONDITIONS, "KeyConditionExpression": OF_CONDITIONS,
    "UpdateExpression": OF_UPDATES, "ProjectionExpression": EVERYWHERE + OF_PATHS,
}
OF_ATTRIBUTES = (
    ("not numeric", "The parameter cannot be converted to a numeric value"),
    ("digits", "Attempting to store more than 38"), ("overflow", "Number overflow"), ("underflow", "Number underflow"),
    ("no type", "Supplied AttributeValue is empty"), ("two types", "Supplied AttributeValue has more than one"),
    ("too deep", "1 validation error detected: Nesting Levels"), ("duplicate numbers", "Input collection contains"),
    ("duplicates", "One or more parameter values were invalid: Input collection"),
    ("empty set", "One or more parameter values were invalid: An "),
    ("empty set of binaries", "One or more parameter values were invalid: Binary sets"),
    ("null", "One or more parameter values were invalid: Null attribute"),
    ("empty name", "One or more parameter values were invalid: Empty attribute name"),
    ("long name", "One or more parameter values were invalid: Attribute name is too large"),
)
VALUES = "ExpressionAttributeValues"
ALONE = OF_ATTRIBUTES + (
    ("item size", "Item size has exceeded"),
    ("names: empty", "ExpressionAttributeNames must not be"), ("values: empty", VALUES + " must not be"),
    ("names: key", "ExpressionAttributeNames contains invalid key"), ("values: key", VALUES + " contains invalid key"),
    ("names: name", "ExpressionAttributeNames contains invalid value"), ("values: value", VALUES + " contains invalid value"),
    ("names: unused", "Value provided in ExpressionAttributeNames unused"),
    ("values: unused", "Value provided in ExpressionAttributeValues unused"),
    ("key: operator", "Invalid operator used in Key"), ("key: nested operation", "KeyConditionExpressions cannot contain nested"),
    ("key: BETWEEN", "Invalid condition in KeyConditionExpression: BETWEEN"),
    ("key: begins_with", "Invalid condition in KeyConditionExpression: begins_with"),
    ("key: two names", "Invalid condition in KeyConditionExpression: Multiple"),
    ("key: no name", "Invalid condition in KeyConditionExpression: No key"),
    ("key: nested name", "KeyConditionExpressions cannot have"), ("key: twice", "KeyConditionExpressions must only"),
    ("key: count", "Conditions can be of length"),
    ("key: type of value", "One or more parameter values were invalid: ComparisonOperator"),
    ("key: type of schema", "One or more parameter values were invalid: Condition parameter"),
    ("key: missed", "Query condition missed"), ("key: not supported", "Query key condition not supported"),
    ("key: empty value", "One or more parameter values are not valid. The AttributeValue for a key"),
    ("key: partition size", "One or more parameter values were invalid: Size of hashkey"),
    ("key: sort size", "One or more parameter values were invalid: Aggregated size"),
    ("update of the key", "One or more parameter values were invalid: Cannot update"),
    ("path into the key", "Key attributes must be scalars"), ("filter of the key", "Filter Expression can only"),
)
ANSWERS = (
    ["condition: true", "condition: false", "projection: some", "projection: nothing", "key: all rows", "key: no row",
     "key: some rows", "update: made", "update: made no item", "item: taken", "number: taken", "sum: taken",
     "sum: digits", "sum: overflow", "sum: underflow", "order: told"] +
    ["update: " + name for name in meaning.FAULT_NAMES[1:]])
KINDS = frozenset(ANSWERS + [kind for kind, _ in ALONE] +
                  [f"{p}: {kind}" for p, kinds in OF_PARAMETERS.items() for kind, _ in kinds])
SUM_FAULTS = {2: "digits", 3: "overflow", 4: "underflow"}


def kind_of_text(text):
    if text.startswith("Invalid ") and ": " in text:
        parameter, rest = text[8:].split(": ", 1)
        for kind, words in OF_PARAMETERS.get(parameter, ()):
            if rest.startswith(words):
                return f"{parameter}: {kind}"
    return next((kind for kind, words in ALONE if text.startswith(words)), text)


def kind_of_rows(rows):
    found = [row[0] for row in rows]
    return "key: all rows" if all(found) else "key: some rows" if any(found) else "key: no row"


def kind_of(case, expected):
    """`expected`: the model's answer, or the texts of a refusal."""
    if not isinstance(expected, dict):
        return kind_of_text(expected[0])
    op = case["op"]
    if op != "expressions":
        if "fault" in expected:
            return "sum: " + SUM_FAULTS[expected["fault"][0]]
        return f"{op}: {'told' if op == 'order' else 'taken'}"
    if "fault" in expected:
        return "update: " + meaning.FAULT_NAMES[expected["fault"][0]]
    if "made" in expected:
        return "update: made" if len(expected["made"]) > 0 else "update: made no item"
    if "rows" in expected:
        return kind_of_rows(expected["rows"])
    if "holds" in expected:
        return f"condition: {'true' if expected['holds'] else 'false'}"
    return "projection: some" if expected["shown"] else "projection: nothing"
