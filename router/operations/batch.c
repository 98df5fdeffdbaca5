#include "router/operations/batch.h"

#include "base/must.h"
#include "router/json_writer.h"

struct batch *batch_create(struct call *c, size_t tables, size_t entries)
{
    struct batch *b = arena_zalloc(&c->arena, sizeof *b);
    b->tables = arena_zalloc(&c->arena, (tables + 1) * sizeof *b->tables);
    b->entries = arena_zalloc(&c->arena, (entries + 1) * sizeof *b->entries);
    c->state = b;
    return b;
}

struct batch_table *batch_add_table(struct call *c, struct batch *b, struct slice name)
{
    struct batch_table *t = &b->tables[b->table_count++];
    t->name = arena_copy(&c->arena, name);
    return t;
}

struct batch_entry *batch_add_entry(struct batch *b)
{
    struct batch_entry *e = &b->entries[b->entry_count++];
    e->table = b->table_count - 1;
    return e;
}

void batch_want_tables(struct call *c, struct batch *b)
{
    for (uint32_t i = 0; i < b->table_count; i++)
        call_want_table(c, b->tables[i].name, &b->tables[i].route);
}

bool batch_find_keys(struct call *c, struct batch *b)
{
    for (uint32_t i = 0; i < b->entry_count; i++) {
        struct batch_entry *e = &b->entries[i];
        const struct table *t = &b->tables[e->table].route->table;
        struct slice item = span_in(&c->bytes, e->item);
        struct key key;
        if (!call_table_usable(c, t) || !(e->put ? key_of_item(t, item, &key, call_fault(c))
                                                 : key_of_key(t, item, &key, call_fault(c))))
            return false;
        e->storage_key = call_storage_key(c, t, &key);
    }
    return true;
}

/* At most BATCH_GET_MAX keys: comparing each with each is quick. */
bool batch_keys_differ(struct call *c, const struct batch *b)
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

void batch_send(struct call *c, struct batch *b, uint32_t index, enum request_op op)
{
    struct batch_entry *e = &b->entries[index];
    struct batch_table *t = &b->tables[e->table];
    struct subrequest *s = call_data_request(c, t->route, op);
    s->index = index;
    s->request.key = e->storage_key;
    s->request.consistent = t->consistent;
    if (op == REQUEST_PUT)
        s->request.body = span_in(&c->bytes, e->item);
    call_send(c, s);
}

void batch_fail(struct call *c, struct batch *b, struct subrequest *s, const struct reply *r)
{
    if (b->failed != NULL)
        return;
    b->failed = s;
    b->failure = *r;
    b->failure.body = slice_make(NULL, 0);
    b->failure.text = arena_copy(&c->arena, r->text);
}

bool batch_any_done(struct call *c, const struct batch *b)
{
    return b->done > 0 || b->failed == NULL || call_refuse(c, b->failed, &b->failure);
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
