/* expression.h - parts of all expressions: document paths, the names and values that #n and :v
 * stand for, and the faults of a text.
 *
 * Not here: JSON, and the service's texts for a fault (router/expression). */
#pragma once

#include "base/arena.h"
#include "engine/item/item.h"

enum {
    EXPRESSION_OPERATORS_MAX = 300, /* operators and functions: the service's limit */
    EXPRESSION_DEPTH_MAX = 300,     /* levels of parentheses, NOT and functions: ours */
    EXPRESSION_PATH_MAX = 32,       /* steps of a path: the service's limit */
    /* The service's limit for the names and values of an expression. weir counts a value as often
     * as the expression names it, because a program has it so often. */
    EXPRESSION_VALUES_SIZE_MAX = 2 * 1024 * 1024,
};

/* One step of a document path: a name, or the index of a list's element. */
struct path_part {
    struct slice name;
    uint32_t index;
    bool indexed;
    struct path_part *next;
};

/* One of the paths that a projection shows or an update changes. */
struct projection_path {
    struct path_part *path;
    struct projection_path *next;
};

/* Compares one step of each path, not the steps after: indexes by number, before names. */
int path_step_compare(const struct path_part *a, const struct path_part *b);
/* Compares whole paths: by their steps, and the shorter one first. */
int path_compare(const struct path_part *a, const struct path_part *b);

/* What a placeholder stands for: #n for a name, :v for a value. */
struct expression_name {
    struct slice key; /* "#n" or ":v" */
    struct slice name;
    struct attr value;
    bool used; /* an expression uses it */
};

struct expression_names {
    struct expression_name *names; /* borrows */
    size_t name_count;
    struct expression_name *values; /* borrows */
    size_t value_count;
};

/* The faults of an expression. If a text has several faults, the service tells one:
 * - A fault before EXPRESSION_PARENTHESES ends the parsing, and is told.
 * - Otherwise, of EXPRESSION_PARENTHESES to EXPRESSION_RESERVED, the first in this list is told.
 * - Otherwise, of EXPRESSION_NAME_UNDEFINED and after, the first in the text is told.
 * Updates and projections have another order (parser.c, UPDATE_RANKS).
 * A comment names the members of expression_fault that are set. */
enum expression_error {
    EXPRESSION_OK,
    EXPRESSION_EMPTY,
    EXPRESSION_TOO_LONG,           /* count: bytes of the text */
    EXPRESSION_SYNTAX,             /* text: the token, empty at the end of the text; near */
    EXPRESSION_TOO_MANY_OPERATORS, /* count: where the count stopped */
    EXPRESSION_PARENTHESES,
    EXPRESSION_FUNCTION_NAME,     /* text */
    EXPRESSION_NOT_IN_CONDITIONS, /* text: a function of updates */
    EXPRESSION_NOT_IN_UPDATES,    /* text: a function of conditions */
    EXPRESSION_MISUSED,           /* text: the function */
    EXPRESSION_LIST_INDEX,        /* text: the index */
    EXPRESSION_RESERVED,          /* text: the word */
    EXPRESSION_NAME_UNDEFINED,    /* text: "#n" */
    EXPRESSION_VALUE_UNDEFINED,   /* text: ":v" */
    EXPRESSION_PATH_DEPTH,        /* count: steps of the path */
    EXPRESSION_OPERANDS_OF_IN,    /* count */
    EXPRESSION_SAME_OPERANDS,     /* text: the operator or function; path */
    EXPRESSION_BETWEEN_TYPES,     /* low, high */
    EXPRESSION_BETWEEN_ORDER,     /* low, high */
    EXPRESSION_OPERAND_COUNT,     /* text: the function; count */
    EXPRESSION_OPERAND_TYPE,      /* text: the function; type; 0: the operand is not a :value */
    EXPRESSION_PATH_REQUIRED,     /* text: the function */
    EXPRESSION_TYPE_NAME,         /* text: names no type */
    /* of updates and projections */
    EXPRESSION_SECTION_TWICE,  /* text: SET, REMOVE, ADD or DELETE */
    EXPRESSION_PATHS_OVERLAP,  /* path, other */
    EXPRESSION_PATHS_CONFLICT, /* path, other */
    EXPRESSION_ACTION_TYPE,    /* text: ADD or DELETE; type: of the value */
    /* of key conditions */
    EXPRESSION_KEY_OPERATOR,       /* text */
    EXPRESSION_KEY_BETWEEN,        /* the first operand is no attribute */
    EXPRESSION_KEY_BEGINS_WITH,    /* the first operand is no attribute */
    EXPRESSION_KEY_FUNCTION,       /* size() is not allowed */
    EXPRESSION_KEY_TWO_PATHS,      /* in one condition */
    EXPRESSION_KEY_NESTED,         /* a path of more than one step */
    EXPRESSION_KEY_NO_PATH,        /* a condition without an attribute */
    EXPRESSION_KEY_TWO_CONDITIONS, /* on one attribute */
    EXPRESSION_KEY_VALUE_TYPE,     /* text: the operator's name; type */
    EXPRESSION_KEY_COUNT,          /* more conditions than any key has attributes */
};

struct expression_fault {
    enum expression_error error;
    struct slice text;            /* borrows from the expression */
    struct slice near;            /* borrows from the expression */
    const struct path_part *path; /* borrows from the arena; `other` does too */
    const struct path_part *other;
    struct attr low;  /* borrows from the names */
    struct attr high; /* borrows from the names */
    enum attr_type type;
    size_t count;
};
