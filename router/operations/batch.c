/* batch.c - many items in one call: entries that are done, and entries that failed. */
#include "router/operations/batch.h"

#include "router/core/throttle.h"
#include "router/json/json_writer.h"

/* ---- the request alone ---- */

/* False: the request names no table. */
static bool batch_create(struct call *c, const struct json_value *request_items,
                         uint32_t entries_max)
{
    struct batch *b = arena_zalloc(&c->arena, sizeof *b);
    const uint32_t tables = (uint32_t)json_count(request_items);
    c->state = b;
    if (tables == 0)
        return call_invalid(c, "The requestItems parameter is required for %s", c->operation->name);
    b->plan = item_plan_create(c, tables, entries_max);
    b->plan->batch = true;
    b->plan->table_count = b->plan->count = 0; /* reading counts them up */
    b->tables = arena_zalloc(&c->arena, tables * sizeof *b->tables);
    b->entries = arena_zalloc(&c->arena, entries_max * sizeof *b->entries);
    b->entries_max = entries_max;
    b->tables_left = json_members(request_items);
    return true;
}

bool batch_read(struct call *c, const struct json_value *request_items, uint32_t entries_max,
                bool (*read_table)(struct call *c, struct batch *b, const struct json_value *value))
{
    if (c->state == NULL && !batch_create(c, request_items, entries_max))
        return false;
    struct batch *b = c->state;
    struct slice name;
    while (b->table.type != JSON_ABSENT || json_next_member(&b->tables_left, &name, &b->table)) {
        if (b->entries_left.tape == NULL)
            b->plan->tables[b->plan->table_count++].name = arena_copy(&c->arena, name);
        if (!read_table(c, b, &b->table))
            return false;
        if (c->rests)
            return true;
        b->table.type = JSON_ABSENT;
        b->entries_left.tape = NULL;
    }
    return true;
}

struct item_request *batch_add(struct call *c, struct batch *b)
{
    struct item_plan *plan = b->plan;
    if (plan->count == b->entries_max) {
        call_invalid(c, "Too many items requested for the %s call", c->operation->name);
        return NULL;
    }
    struct item_request *q = &plan->items[plan->count++];
    q->table = plan->table_count - 1;
    b->tables[q->table].left++;
    return q;
}

/* ---- replies ---- */

/* An entry that may have been done is graver than an entry that was not done: the call must not say
 * that nothing was done. A full collection is gravest: sending the batch again does not help. */
static int batch_gravity(enum reply_code code)
{
    return code == REPLY_COLLECTION_FULL ? 2 : code == REPLY_UNKNOWN;
}

/* Keeps the gravest failure; of equally grave failures the first. */
static void batch_keep_failure(struct call *c, struct batch *b, struct subrequest *s,
                               const struct reply *r)
{
    if (b->failed != NULL && batch_gravity(r->code) <= batch_gravity(b->failure.code))
        return;
    b->failed = s;
    b->failure = *r;
    b->failure.kind = ANSWER_NONE;
    b->failure.text = arena_copy(&c->arena, r->text);
}

struct batch_entry *batch_take_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct batch *b = c->state;
    struct batch_entry *e = &b->entries[s->index];
    if (r->code == REPLY_THROTTLED)
        throttle_note(c, s, &r->verdict);
    if (r->code != REPLY_OK) {
        batch_keep_failure(c, b, s, r);
        return NULL;
    }
    struct capacity *consumed = &b->tables[b->plan->items[s->index].table].consumed;
    if (s->request.op == REQUEST_GET)
        consumed->table_mcu += r->consumed_mcu;
    else
        capacity_add_write(consumed, &s->route->table, r);
    b->done++;
    return e;
}

void batch_mark_entry(struct batch *b, struct batch_entry *e, bool done)
{
    uint32_t *left = &b->tables[b->plan->items[e - b->entries].table].left;
    must(e->done != done);
    e->done = done;
    *left = done ? *left - 1 : *left + 1;
}

bool batch_succeeded(struct call *c, const struct batch *b)
{
    bool partly = b->done > 0 && b->failure.code != REPLY_COLLECTION_FULL;
    return partly || b->failed == NULL || call_refuse(c, b->failed, &b->failure);
}

void batch_write_capacity(struct buffer *out, const struct call *c, const struct batch *b)
{
    if (c->consumed == CONSUMED_NONE)
        return;
    json_member_open(out, "ConsumedCapacity", '[');
    for (uint32_t i = 0; i < b->plan->table_count; i++)
        capacity_write(out, c, &b->plan->tables[i].route->table, b->plan->tables[i].name,
                       &b->tables[i].consumed, NULL);
    json_write_close(out, ']');
}
