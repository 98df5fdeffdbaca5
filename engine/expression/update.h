/* update.h - the grammar of update expressions, as a list of actions.
 *
 *   update  := section section*        each of the four sections at most once
 *   section := SET path = value, ...   value := operand | operand + operand | operand - operand
 *            | REMOVE path, ...
 *            | ADD path :value, ...
 *            | DELETE path :value, ...
 *   operand := path | :value | if_not_exists(path, operand) | list_append(operand, operand)
 *            | (operand)
 *
 * Not here: the program, which is the update as bytes (update_program.h).
 * Source: DynamoDB developer guide, "Update expressions". */
#pragma once

#include "engine/expression/expression.h"

enum update_verb {
    UPDATE_SET = 1,
    UPDATE_REMOVE,
    UPDATE_ADD,
    UPDATE_DELETE,
};

enum update_value_kind {  /* the comments name the members in use */
    UPDATE_PATH = 1,      /* path */
    UPDATE_VALUE,         /* value */
    UPDATE_PLUS,          /* left, right */
    UPDATE_MINUS,         /* left, right */
    UPDATE_IF_NOT_EXISTS, /* path, right */
    UPDATE_LIST_APPEND,   /* left, right */
};

struct update_value {
    enum update_value_kind kind;
    struct path_part *path;
    struct attr value;
    struct update_value *left;
    struct update_value *right;
    bool parenthesized; /* the parser's */
};

struct update_action {
    enum update_verb verb;
    struct path_part *path;
    struct update_value *value; /* NULL: of UPDATE_REMOVE */
    struct update_action *next;
};

struct update {
    struct update_action *actions; /* in the order of the text */
    uint32_t count;
};

/* Parses the text, and marks the names and values that it uses. Refuses paths that overlap or
 * conflict. The result lends from the arena, from `text` and from `names`. NULL: the fault says
 * why. */
const struct update *update_parse(struct slice text, struct expression_names *names,
                                  struct arena *arena, struct expression_fault *fault);

/* Checks an update that another grammar has made, as condition_check does. The arena is scratch
 * memory. */
bool update_check(const struct update *u, struct arena *arena, struct expression_fault *fault);

/* Whether an action changes the attribute, or something in it. */
bool update_changes(const struct update *u, struct slice name);
/* Whether an action changes something in the attribute, such as name.a and name[0]. */
bool update_changes_part(const struct update *u, struct slice name);
/* The type that the attribute will have, if the text alone says so; otherwise 0. */
enum attr_type update_value_type(const struct update *u, struct slice name);
/* Whether a value is read from inside the attribute, such as name.a and name[0]. */
bool update_uses(const struct update *u, struct slice name);

/* The actions' paths, to show only what an update has changed (UPDATED_OLD, UPDATED_NEW). */
struct projection;
const struct projection *update_paths(const struct update *update, struct arena *arena);
