#include "router/plan/batch.h"

#include "base/must.h"
#include "router/json/json_writer.h"
#include "router/operations/throttle.h"

/* ---- the request alone ---- */

bool batch_begin(struct call *c, const struct json_value m[], uint32_t entries_max,
                 bool (*read_table)(struct call *c, struct batch *b, struct batch_table *t,
                                    const struct json_value *value))
{
    struct batch *b = arena_zalloc(&c->arena, sizeof *b);
    size_t tables = json_count(&m[BATCH_REQUEST_ITEMS]);
    struct json_cursor cursor = json_members(&m[BATCH_REQUEST_ITEMS]);
    struct json_value value;
    struct slice name;
    c->state = b;
    if (tables == 0)
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "The requestItems parameter is required for %s", c->operation->name);
    b->tables = arena_zalloc(&c->arena, (tables + 1) * sizeof *b->tables);
    b->entries = arena_zalloc(&c->arena, (entries_max + 1) * sizeof *b->entries);
    b->entries_max = entries_max;
    call_take_consumed(c, &m[BATCH_RETURN_CONSUMED]);
    while (json_next_member(&cursor, &name, &value)) {
        struct batch_table *t = &b->tables[b->table_count++];
        t->name = arena_copy(&c->arena, name);
        if (!read_table(c, b, t, &value))
            return false;
    }
    for (uint32_t i = 0; i < b->table_count; i++)
        call_want_table(c, b->tables[i].name, &b->tables[i].route);
    return true;
}

struct batch_entry *batch_add_entry(struct call *c, struct batch *b)
{
    if (b->entry_count == b->entries_max) {
        fault_set(call_fault(c), FAULT_VALIDATION, "Too many items requested for the %s call",
                  c->operation->name);
        return NULL;
    }
    struct batch_entry *e = &b->entries[b->entry_count++];
    e->table = b->table_count - 1;
    b->tables[e->table].left++;
    return e;
}

/* ---- with the tables ---- */

static bool find_keys(struct call *c, struct batch *b)
{
    for (uint32_t i = 0; i < b->entry_count; i++) {
        struct batch_entry *e = &b->entries[i];
        if (!call_find_key(c, &b->tables[e->table].route->table, e->op, span_in(&c->bytes, e->item),
                           &e->storage_key))
            return false;
    }
    return true;
}

/* At most BATCH_GET_MAX keys: comparing each with each is quick. */
static bool keys_differ(struct call *c, const struct batch *b)
{
    for (uint32_t i = 1; i < b->entry_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (slice_equal(b->entries[i].storage_key, b->entries[j].storage_key))
                return fault_set(call_fault(c), FAULT_VALIDATION,
                                 "Provided list of item keys contains duplicates");
        }
    }
    return true;
}

static void send_entry(struct call *c, struct batch *b, uint32_t index)
{
    struct batch_entry *e = &b->entries[index];
    struct batch_table *t = &b->tables[e->table];
    struct subrequest *s = call_data_request(c, t->route, e->op);
    s->index = index;
    s->request.key = e->storage_key;
    s->request.consistent = t->consistent;
    if (e->op == REQUEST_PUT)
        s->request.body = span_in(&c->bytes, e->item);
    call_send(c, s);
}

bool batch_ready(struct call *c)
{
    struct batch *b = c->state;
    if (!find_keys(c, b) || !keys_differ(c, b))
        return false;
    for (uint32_t i = 0; i < b->entry_count; i++)
        send_entry(c, b, i);
    return true;
}

/* ---- what came back ---- */

/* One that may have been done goes before others: then the call must not say that nothing was. One
 * that is refused for good goes before all: whoever sends the batch again does so in vain. */
static int gravity(enum reply_code code)
{
    return code == REPLY_COLLECTION_FULL ? 2 : code == REPLY_UNKNOWN;
}

/* The gravest; of equal ones the first. */
static void keep_failure(struct call *c, struct batch *b, struct subrequest *s,
                         const struct reply *r)
{
    if (b->failed != NULL && gravity(r->code) <= gravity(b->failure.code))
        return;
    b->failed = s;
    b->failure = *r;
    b->failure.body = slice_make(NULL, 0);
    b->failure.text = arena_copy(&c->arena, r->text);
}

struct batch_entry *batch_take_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct batch *b = c->state;
    struct batch_entry *e = &b->entries[s->index];
    if (r->code == REPLY_THROTTLED)
        throttle_note(c, s, &r->verdict);
    if (r->code != REPLY_OK) {
        keep_failure(c, b, s, r);
        return NULL;
    }
    b->tables[e->table].consumed_mcu += r->consumed_mcu;
    b->done++;
    return e;
}

void batch_finish_entry(struct batch *b, struct batch_entry *e)
{
    e->done = true;
    b->tables[e->table].left--;
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
    for (uint32_t i = 0; i < b->table_count; i++)
        capacity_write(out, c, &b->tables[i].route->table, b->tables[i].consumed_mcu);
    json_write_close(out, ']');
}
