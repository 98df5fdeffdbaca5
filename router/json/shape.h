/* shape.h - the shapes of operations' inputs, and the checks that come before an operation's own.
 *
 * A request is checked in the service's order:
 *   1. Types. The first value of a wrong type is answered with a SerializationException.
 *   2. The constraints of the model. All failed constraints, SHAPE_ERRORS_MAX at most, form one
 *      error: "2 validation errors detected: ...".
 * The members of a structure are checked in the order in which the service's hash table has them.
 * Members that are not part of a shape are ignored, as by the service. Members that weir does not
 * support yet are refused by name.
 *
 * Not here: what values mean together (operations), the contents of attribute values (value.h). */
#pragma once

#include "router/json/api_error.h"
#include "router/json/json.h"

enum {
    SHAPE_ERRORS_MAX = 10,
    SHAPE_MEMBERS_MAX = 24,
};

enum shape_kind {
    SHAPE_STRING,
    SHAPE_BOOLEAN,
    SHAPE_INTEGER,
    SHAPE_LONG,
    SHAPE_ATTRIBUTE, /* an AttributeValue */
    SHAPE_LIST,
    SHAPE_MAP,
    SHAPE_STRUCTURE,
    SHAPE_ANYTHING, /* not checked: the member is refused later */
};

struct shape {
    enum shape_kind kind;
    /* Bounds of a number's value, a string's length in UTF-16 units, the entries of a list or map.
     * max 0: no upper bound. min_set false: no lower bound. */
    int64_t min;
    int64_t max;
    bool min_set;
    bool named;          /* a table's name, or its ARN: letters, digits and _.- */
    bool as_json;        /* messages show the value as JSON */
    bool bare;           /* messages of bounds have no value; they name the member as it was sent */
    bool parameterized;  /* the service answers a wrong type with a Java cast error */
    const char *choices; /* "A, B": the allowed strings */
    const char *java;    /* the service's class for a structure or for a map's values */
    const struct shape *element;        /* of a list or map */
    const struct shape *key;            /* of a map */
    const struct shape_member *members; /* of a structure; a member without a name ends them */
};

enum member_use {
    MEMBER_OPTIONAL,
    MEMBER_REQUIRED,
    MEMBER_LATER, /* weir does not support it yet, and refuses it */
};

struct shape_member {
    const char *name;
    const struct shape *shape;
    enum member_use use;
    uint8_t turn; /* row i: the index of the member that is checked as the i-th */
};

/* Checks all of `input` and binds its members, in the order of the shape. Absent members and JSON
 * nulls become JSON_ABSENT. `name_first`: the service checks TableName, which is member 0, before
 * the other constraints. Its message for this error differs from the other messages. */
bool shape_check(const struct shape *shape, const struct json_value *input, bool name_first,
                 struct json_value members[SHAPE_MEMBERS_MAX], struct fault *fault);

/* Binds a structure inside an input that passed shape_check. */
void shape_bind(const struct shape *shape, const struct json_value *structure,
                struct json_value members[SHAPE_MEMBERS_MAX]);

/* Refuses a member that weir does not support yet: false, and the fault is set. */
bool shape_refuse_later(const struct shape *shape, const struct json_value members[],
                        struct fault *fault);

/* Whether the text is one of `choices`, such as "A, B". */
bool shape_choice_matches(const char *choices, struct slice text);

/* Whether all characters may occur in a table's name. Of the length checks only that it is not
 * 0. */
bool shape_is_table_name(struct slice text);

/* The name in arn:partition:dynamodb:region:account:table/name; other texts come back as they are.
 * */
struct slice shape_table_of(struct slice text);

/* The value must have passed shape_check as SHAPE_BOOLEAN. Absent: `otherwise`. */
bool shape_boolean(const struct json_value *v, bool otherwise);
/* The value must have passed shape_check as SHAPE_INTEGER or SHAPE_LONG. Fractions are cut off, as
 * Java does when it makes a number an integer. Absent: `otherwise`. */
int64_t shape_integer(const struct json_value *v, int64_t otherwise);
