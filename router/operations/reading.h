/* reading.h - a large request is read in several turns of the loop.
 *
 * One turn takes the text, one parses it, one checks its members. Then all values that the shape of
 * the input knows are read, STEPS_READ_MAX steps of them in a turn, and kept (values_ahead.h): so `begin`
 * has them at once, wherever it reads them. An operation on a list of statements or of parts with
 * expressions ends a turn after READING_TURN_BYTES, too.
 *
 * The text and the tape stay until `begin` has returned and the call does not rest. */
#pragma once

#include "router/json/values_ahead.h"
#include "router/operations/operation.h"

enum {
    READING_TEXT_MIN = 256 * 1024, /* of a text that is read in turns */
    READING_TURN_BYTES = 256 * 1024,
    READING_DEPTH_MAX = 12 /* of structures, lists and maps around a value */
};

enum reading_stage {
    READING_PARSES,
    READING_CHECKS,
    READING_VALUES,
    READING_BEGINS
};

/* A part of the input that has values in it. */
struct reading_place {
    const struct shape *shape;
    struct json_cursor left;
};

struct reading {
    enum reading_stage stage;
    struct json_parser *json; /* owns */
    struct buffer text;       /* owns */
    struct json_tape tape;    /* the parser's, with what was read ahead */
    struct json_value root;
    struct json_value members[SHAPE_MEMBERS_MAX];
    struct values_ahead ahead; /* owns */
    struct reading_place places[READING_DEPTH_MAX];
    uint32_t depth;
    size_t read; /* bytes of items and statements that the call had when the turn began */
};

/* Takes the text of the router's scratch buffer, which is padded. */
void reading_begin(struct call *c);
/* The next turn. */
void reading_go_on(struct call *c);
/* In `begin`, between two elements: whether the rest is for later turns. Then `begin` lets the call
 * rest, and is called again. */
bool reading_turn_is_over(const struct call *c);
/* There may be none. */
void reading_end(struct call *c);
