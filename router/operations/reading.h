/* reading.h - a large request is read in several turns of the loop: one turn parses its text, one
 * checks its members, and an operation on a list reads READING_TURN_BYTES of its elements in a turn.
 *
 * The text and the tape stay until `begin` has returned and the call does not rest. */
#pragma once

#include "router/operations/operation.h"

enum {
    READING_TEXT_MIN = 256 * 1024, /* of a text that is read in turns */
    READING_TURN_BYTES = 256 * 1024
};

struct reading {
    struct json_parser *json; /* owns */
    struct buffer text;       /* owns */
    struct json_value root;
    struct json_value members[SHAPE_MEMBERS_MAX];
    bool checked;
    size_t read; /* bytes of items and statements that the call had when the turn began */
};

/* Takes the parser and the scratch buffer of the router, which have this text. */
void reading_begin(struct call *c, const struct json_value *root);
/* The next turn. */
void reading_go_on(struct call *c);
/* In `begin`, between two elements: whether the rest is for later turns. Then `begin` lets the call
 * rest, and is called again. */
bool reading_turn_is_over(const struct call *c);
/* There may be none. */
void reading_end(struct call *c);
