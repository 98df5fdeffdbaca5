/* reading.c - the turns in which a large request is read. */
#include "router/operations/reading.h"

#include <stdlib.h>

static size_t reading_bytes(const struct call *c)
{
    return c->bytes.size + c->arena.used_bytes;
}

void reading_begin(struct call *c, const struct json_value *root)
{
    struct router *r = c->router;
    struct reading *g = must_calloc(1, sizeof *g);
    g->json = r->json;
    g->text = r->scratch;
    g->root = *root;
    r->json = json_parser_create();
    r->scratch = (struct buffer){0};
    router_account(r, &r->scratch_accounted, 0);
    c->reading = g;
    call_account(c);
    call_rest(c);
}

void reading_go_on(struct call *c)
{
    struct reading *g = c->reading;
    struct fault *f = call_fault(c);
    if (g->checked) {
        g->read = reading_bytes(c);
        call_begin(c, g->members);
        return;
    }
    g->checked =
        shape_check(c->operation->input, &g->root, c->operation->name_first, g->members, f) &&
        shape_refuse_later(c->operation->input, g->members, f);
    if (g->checked)
        call_rest(c);
    else
        call_fail(c);
}

bool reading_turn_is_over(const struct call *c)
{
    return c->reading != NULL && reading_bytes(c) - c->reading->read >= READING_TURN_BYTES;
}

void reading_end(struct call *c)
{
    if (c->reading == NULL)
        return;
    json_parser_destroy(c->reading->json);
    buffer_deinit(&c->reading->text);
    free(c->reading);
    c->reading = NULL;
}
