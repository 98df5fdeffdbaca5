/* shape.h - the shapes of operations' inputs, and the checks that come before an operation's own.
 *
 * A request is checked in the service's order: first that every value has the type its member asks
 * for (SerializationException at the first that has not), then the constraints of the model, all in
 * one list ("2 validation errors detected: ..."), at most SHAPE_ERRORS_MAX of them. Members
 * that are not part of a shape are ignored, as the service does; members that weir does not support
 * yet are refused by name.
 *
 * Not here: what values mean together (operations), attribute values' contents (value.h). */
#ifndef WEIR_ROUTER_JSON_SHAPE_H
#define WEIR_ROUTER_JSON_SHAPE_H

#include "router/api_error.h"
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
    SHAPE_ANYTHING, /* refused later, so not looked at */
};

struct shape {
    enum shape_kind kind;
    /* Of a number its value, of a string its characters, of lists and maps their entries. max 0: no
     * upper bound; min_set because 0 and "none" differ for numbers. */
    int64_t min;
    int64_t max;
    bool min_set;
    bool named; /* a table's name: letters, digits and _.- */
    bool bare;  /* the message of a bound has no value, and the member's name as it was sent */
    bool parameterized;          /* the service answers a wrong type with a Java cast error */
    const char *choices;         /* "A, B": the strings allowed */
    const char *java;            /* the service's class for a structure or a map's values */
    const struct shape *element; /* of a list or map */
    const struct shape *key;     /* of a map */
    const struct shape_member *members; /* of a structure; ends in one without a name */
};

enum member_use {
    MEMBER_OPTIONAL,
    MEMBER_REQUIRED,
    MEMBER_LATER, /* weir refuses it: not supported yet */
};

struct shape_member {
    const char *name;
    const struct shape *shape;
    enum member_use use;
};

/* Checks all of `input` and binds its members, in the order of the shape: absent members and JSON
 * nulls are JSON_ABSENT. `name_first`: the service checks TableName, member 0, before all
 * other constraints, and its message differs from theirs. */
bool shape_check(const struct shape *shape, const struct json_value *input, bool name_first,
                 struct json_value members[SHAPE_MEMBERS_MAX], struct fault *fault);

/* Binds a structure inside an input that passed shape_check. */
void shape_bind(const struct shape *shape, const struct json_value *structure,
                struct json_value members[SHAPE_MEMBERS_MAX]);

/* False, with the fault set: a member is present that weir does not support yet. */
bool shape_refuse_later(const struct shape *shape, const struct json_value members[],
                        struct fault *fault);

/* Whether the characters are those of a table's name; not its length. */
bool shape_is_table_name(struct slice text);

/* Of a value that passed shape_check as SHAPE_BOOLEAN, or is absent: then `otherwise`. */
bool shape_boolean(const struct json_value *v, bool otherwise);
/* Of a SHAPE_INTEGER or SHAPE_LONG, fractions cut off; absent: `otherwise`. */
int64_t shape_integer(const struct json_value *v, int64_t otherwise);

#endif
