/* reading.h - a large request is read in several turns of the loop.
 *
 * The host unpacks and parses the text beside the loop, one text at a time: the memory of one alone
 * is not accounted yet. One turn checks its members. Then all values that the shape of
 * the input knows are read, STEPS_READ_MAX steps of them in a turn, and kept (values_ahead.h): so
 * `begin` has them at once, wherever it reads them. An operation on a list of statements or of
 * parts with expressions ends a turn after READING_TURN_BYTES, too.
 *
 * The text and the tape stay until `begin` has returned and the call does not rest. If the call
 * ends while the host parses its text, they stay until that is done. */
#pragma once

#include "router/core/body.h"
#include "router/core/operation.h"
#include "router/json/values_ahead.h"

enum {
    READING_TURN_BYTES = 256 * 1024,
    READING_DEPTH_MAX = 12 /* of structures, lists and maps around a value */
};

enum reading_stage {
    READING_PARSES, /* the text waits for the host, or the host has it; the call does not rest */
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
    TAILQ_ENTRY(reading) link; /* in router.texts */
    struct call *call;         /* borrows; NULL: it has ended */
    enum reading_stage stage;
    struct body body;      /* owns */
    size_t held;           /* body_held, before and after it is parsed */
    size_t accounted;      /* of a call that has ended */
    struct json_tape tape; /* the parser's, with what was read ahead */
    struct json_value root;
    struct json_value members[SHAPE_MEMBERS_MAX];
    struct values_ahead ahead; /* owns */
    struct reading_place places[READING_DEPTH_MAX];
    uint32_t depth;
    size_t read; /* bytes of items and statements that the call had when the turn began */
};

/* Takes the body, which is not parsed. */
void reading_begin(struct call *c, struct body *b);
/* The text that waits for longest, for the host. False: none waits, or the host parses another. */
bool reading_next_text(struct router *r, struct router_effect *out);
/* The host has done that. */
void reading_parsed(struct router *r);
/* The next turn. */
void reading_go_on(struct call *c);
/* In `begin`, between two elements: whether the rest is for later turns. Then `begin` lets the call
 * rest, and is called again. */
bool reading_turn_is_over(const struct call *c);
/* There may be none. */
void reading_end(struct call *c);
/* All calls have ended, and the host parses nothing. */
void reading_deinit(struct router *r);
