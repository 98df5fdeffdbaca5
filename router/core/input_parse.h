/* input_parse.h - a large operation input is parsed in several turns of the loop.
 *
 * The host unpacks and parses the text beside the loop, one text at a time: the memory of one alone
 * is not accounted yet. One turn checks its members. Then all values that the shape of
 * the input knows are read, STEPS_READ_MAX steps of them in a turn, and kept (values_ahead.h): so
 * `begin` has them at once, wherever it reads them. An operation on a list of statements or of
 * parts with expressions ends a turn after INPUT_PARSE_TURN_BYTES, too.
 *
 * The text and the tape stay until `begin` has returned and the call does not rest. If the call
 * ends while the host parses its text, they stay until that is done. */
#pragma once

#include "router/core/body.h"
#include "router/core/operation.h"
#include "router/json/values_ahead.h"

enum {
    INPUT_PARSE_TURN_BYTES = 256 * 1024,
    INPUT_PARSE_DEPTH_MAX = 12 /* of structures, lists and maps around a value */
};

enum input_parse_stage {
    INPUT_PARSE_TEXT, /* the text waits for the host, or the host has it; the call does not rest */
    INPUT_PARSE_MEMBERS,
    INPUT_PARSE_VALUES,
    INPUT_PARSE_BEGINS
};

/* A part of the input that has values in it. */
struct input_parse_place {
    const struct shape *shape;
    struct json_cursor left;
};

struct input_parse {
    TAILQ_ENTRY(input_parse) link; /* in router.texts */
    struct call *call;             /* borrows; NULL: it has ended */
    enum input_parse_stage stage;
    struct body body;      /* owns */
    size_t held;           /* body_held, before and after it is parsed */
    size_t accounted;      /* of a call that has ended */
    struct json_tape tape; /* the parser's, with what was read ahead */
    struct json_value root;
    struct json_value members[SHAPE_MEMBERS_MAX];
    struct values_ahead ahead; /* owns */
    struct input_parse_place places[INPUT_PARSE_DEPTH_MAX];
    uint32_t depth;
    size_t read; /* bytes of items and statements that the call had when the turn began */
};

/* Takes the body, which is not parsed. */
void input_parse_begin(struct call *c, struct body *b);
/* The text that waits for longest, for the host. False: none waits, or the host parses another. */
bool input_parse_next_text(struct router *r, struct router_effect *out);
/* The host has done that. */
void input_parse_parsed(struct router *r);
/* The next turn. */
void input_parse_go_on(struct call *c);
/* In `begin`, between two elements: whether the rest is for later turns. Then the call rests, and
 * `begin` returns and is called again. */
bool input_parse_ends_turn(struct call *c);
/* There may be none. */
void input_parse_end(struct call *c);
/* All calls have ended, and the host parses nothing. */
void input_parse_deinit(struct router *r);
