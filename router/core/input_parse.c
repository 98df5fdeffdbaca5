/* input_parse.c - the turns of the loop in which a large operation input is parsed. */
#include "router/core/input_parse.h"

#include <stdlib.h>

#include "base/probe.h"
#include "router/json/shapes.h"

enum {
    SMALL_WORDS = 64,   /* of the tape: `begin` reads a value of fewer words itself, */
    SMALL_BYTES = 1024, /* if its strings have fewer bytes, */
    VALUES_MAX = EXPRESSION_SIZE_MAX, /* and refuses a list of more values unread */
};

static size_t input_parse_bytes(const struct call *c)
{
    return c->bytes.size + c->arena.used_bytes;
}

/* ---- the text ---- */

void input_parse_begin(struct call *c, struct body *b)
{
    struct router *r = c->router;
    struct input_parse *g = must_calloc(1, sizeof *g);
    g->call = c;
    g->body = *b;
    g->held = body_held(b);
    g->ahead.items = &c->bytes;
    *b = (struct body){0};
    c->input_parse = g;
    call_account(c);
    TAILQ_INSERT_TAIL(&r->texts, g, link);
}

bool input_parse_next_text(struct router *r, struct router_effect *out)
{
    struct input_parse *g = TAILQ_FIRST(&r->texts);
    if (g == NULL || r->parsing != NULL)
        return false;
    TAILQ_REMOVE(&r->texts, g, link);
    r->parsing = g;
    *out = (struct router_effect){.kind = ROUTER_PARSE, .parse = body_run, .text = &g->body};
    return true;
}

static bool input_parse_refuse_memory(struct router *r)
{
    r->counters.refused_memory++;
    return fault_set(&r->fault, FAULT_UNAVAILABLE,
                     "The decompressed and parsed body does not fit in the router's memory budget "
                     "(http_memory_max_bytes); please try again");
}

/* False: the text is refused. */
static bool input_parse_take_text(struct call *c, struct input_parse *g)
{
    const struct body *b = &g->body;
    if (b->unpacked != STATUS_OK)
        return body_refuse(call_fault(c), c->router->config, b->coding, b->unpacked_max,
                           b->unpacked);
    if (b->json == NULL)
        return fault_set(call_fault(c), FAULT_SERIALIZATION, "%s",
                         c->operation->fail != NULL ? JSON_MALFORMED_TEXT : "");
    if (!client_make_room(c->router, 0))
        return input_parse_refuse_memory(c->router);
    g->root = b->root;
    g->tape = *g->root.tape;
    g->tape.ahead = &g->ahead;
    g->root.tape = &g->tape;
    return true;
}

static void input_parse_destroy(struct router *r, struct input_parse *g)
{
    router_account(r, &g->accounted, 0);
    body_deinit(&g->body);
    values_ahead_deinit(&g->ahead);
    free(g);
}

void input_parse_parsed(struct router *r)
{
    struct input_parse *g = r->parsing;
    must(g != NULL);
    r->parsing = NULL;
    if (g->call == NULL) {
        PROBE("a client left while its body was parsed");
        input_parse_destroy(r, g);
        return;
    }
    struct call *c = g->call;
    g->held = body_held(&g->body);
    call_account(c);
    g->stage = INPUT_PARSE_MEMBERS;
    if (input_parse_take_text(c, g))
        call_rest(c);
    else
        call_fail(c);
}

/* ---- members ---- */

static bool input_parse_check(struct call *c, struct input_parse *g)
{
    const struct shape *input = c->operation->input;
    struct fault *f = call_fault(c);
    if (!shape_check(input, &g->root, c->operation->name_first, g->members, f) ||
        !shape_refuse_later(input, g->members, f))
        return false;
    g->places[g->depth++] = (struct input_parse_place){input, json_members(&g->root)};
    return true;
}

/* ---- values ---- */

static bool value_is_small(const struct json_value *v)
{
    const uint32_t end = json_after(v);
    size_t bytes = 0;
    if (end - v->at > SMALL_WORDS)
        return false;
    for (uint32_t at = v->at; at < end; at++)
        bytes += v->tape->words[at] >> 56 == '"' ? json_string_at(v->tape, at).size : 0;
    return bytes < SMALL_BYTES;
}

/* A map of values that is one item: a key, or what is put. */
static bool shape_is_item(const struct shape *s)
{
    return s->kind == SHAPE_MAP && s->element->kind == SHAPE_ATTRIBUTE &&
           s != &shape_expression_attribute_value_map;
}

static void input_parse_take(struct call *c, struct input_parse *g, const struct shape *s,
                             const struct json_value *v)
{
    struct fault *f = call_fault(c);
    if (v->type == JSON_OBJECT && shape_is_item(s))
        values_ahead_item(&g->ahead, &c->bytes, &c->arena, v, f);
    else if (v->type == JSON_OBJECT && s->kind == SHAPE_ATTRIBUTE && !value_is_small(v))
        values_ahead_attr(&g->ahead, &c->arena, v, f);
    else if (v->type == JSON_OBJECT && s->kind == SHAPE_STRUCTURE)
        g->places[g->depth++] = (struct input_parse_place){s, json_members(v)};
    else if (v->type == JSON_OBJECT && s->kind == SHAPE_MAP && json_count(v) <= VALUES_MAX)
        g->places[g->depth++] = (struct input_parse_place){s, json_members(v)};
    else if (v->type == JSON_LIST && s->kind == SHAPE_LIST && json_count(v) <= VALUES_MAX)
        g->places[g->depth++] = (struct input_parse_place){s, json_elements(v)};
}

/* The shape of a structure's member. NULL: the shape has no such member. */
static const struct shape *member_shape(const struct shape *structure, struct slice name)
{
    const struct shape_member *m = structure->members;
    while (m->name != NULL && !slice_is(name, m->name))
        m++;
    return m->shape;
}

/* Whether there may be more. */
static bool input_parse_next(struct call *c, struct input_parse *g)
{
    struct input_parse_place *p = &g->places[g->depth - 1];
    const struct shape *s = p->shape->element;
    struct json_value v;
    struct slice name = {NULL, 0};
    const bool more = p->shape->kind == SHAPE_LIST ? json_next_element(&p->left, &v)
                                                   : json_next_member(&p->left, &name, &v);
    if (!more)
        return --g->depth > 0;
    if (p->shape->kind == SHAPE_STRUCTURE)
        s = member_shape(p->shape, name);
    must(g->depth < INPUT_PARSE_DEPTH_MAX);
    if (s != NULL)
        input_parse_take(c, g, s, &v);
    steps_take(&call_fault(c)->reading, STEPS_VALUE);
    return true;
}

/* ---- turns ---- */

static bool steps_are_over(const struct call *c)
{
    return c->router->fault.reading.taken >= STEPS_READ_MAX;
}

void input_parse_go_on(struct call *c)
{
    struct input_parse *g = c->input_parse;
    bool good = true, more = true;
    switch (g->stage) {
    case INPUT_PARSE_TEXT:
        must(false); /* its call does not rest */
        return;
    case INPUT_PARSE_MEMBERS:
        good = input_parse_check(c, g);
        more = false;
        break;
    case INPUT_PARSE_VALUES:
        call_fault(c)->operation = c->operation->name;
        while (more && !steps_are_over(c))
            more = input_parse_next(c, g);
        call_account(c);
        break;
    case INPUT_PARSE_BEGINS:
        g->read = input_parse_bytes(c);
        call_begin(c, g->members);
        return;
    }
    g->stage += !more;
    if (good)
        call_rest(c);
    else
        call_fail(c);
}

bool input_parse_ends_turn(struct call *c)
{
    const bool is_over = c->input_parse != NULL &&
                         (steps_are_over(c) ||
                          input_parse_bytes(c) - c->input_parse->read >= INPUT_PARSE_TURN_BYTES);
    if (is_over)
        call_rest(c);
    return is_over;
}

void input_parse_end(struct call *c)
{
    struct router *r = c->router;
    struct input_parse *g = c->input_parse;
    if (g == NULL)
        return;
    c->input_parse = NULL;
    if (g == r->parsing) { /* its memory is in use, and stays accounted */
        g->call = NULL;
        router_account(r, &g->accounted, g->held);
        return;
    }
    if (g->stage == INPUT_PARSE_TEXT)
        TAILQ_REMOVE(&r->texts, g, link);
    input_parse_destroy(r, g);
}

void input_parse_deinit(struct router *r)
{
    if (r->parsing != NULL)
        input_parse_destroy(r, r->parsing);
    r->parsing = NULL;
}
