/* items.c - sends one request for each item, all at once. */
#include "router/core/items.h"

#include "router/core/counters.h"
#include "router/core/key_schema.h"

struct item_plan *item_plan_create(struct call *c, uint32_t tables, uint32_t items)
{
    struct item_plan *p =
        arena_zalloc(&c->arena, sizeof *p + tables * sizeof *p->tables + items * sizeof *p->items);
    p->tables = (struct item_table *)(p + 1);
    p->items = (struct item_request *)(p->tables + tables);
    p->table_count = tables;
    p->count = items;
    return p;
}

void items_begin(struct call *c, struct item_plan *p)
{
    c->plan = p;
    for (uint32_t i = 0; i < p->table_count; i++)
        call_find_table(c, shape_table_of(p->tables[i].name), &p->tables[i].route,
                        p->lenient ? &p->tables[i].absent : NULL);
}

bool items_are_distinct(const struct item_plan *p)
{
    for (uint32_t i = 1; i < p->count; i++) {
        for (uint32_t j = 0; j < i && p->items[i].key.size > 0; j++) {
            if (slice_equal(p->items[i].key, p->items[j].key))
                return false;
        }
    }
    return true;
}

void items_send(struct call *c, uint32_t index)
{
    const struct item_plan *p = c->plan;
    const struct item_request *q = &p->items[index];
    struct subrequest *s = call_request(c, p->tables[q->table].route, q->op);
    s->index = index;
    if (q->op == REQUEST_GET) {
        s->request.get.key = q->key;
        s->request.get.consistent = q->consistent;
    } else {
        s->request.write.key = q->key;
        s->request.write.return_values = (uint8_t)q->return_values;
        s->request.write.condition = span_in(&c->bytes, q->condition);
        s->request.write.return_failed = q->return_failed;
    }
    if (q->op == REQUEST_PUT || q->op == REQUEST_UPDATE)
        s->request.write.item = span_in(&c->bytes, q->item);
    if (q->op == REQUEST_UPDATE)
        s->request.write.update = span_in(&c->bytes, q->update);
    if (q->op == REQUEST_UPDATE)
        counter_name_update(c, &p->tables[q->table].route->table, q, &s->request);
    subrequest_start(c->router, s);
}

bool items_find(struct call *c, uint32_t index)
{
    const struct item_plan *p = c->plan;
    struct item_request *q = &p->items[index];
    const struct item_table *t = &p->tables[q->table];
    const struct slice item = span_in(&c->bytes, q->item);
    return (!p->batch || key_is_in_item(&t->route->table, item, call_fault(c))) &&
           call_find_key(c, &t->route->table, q->op, item, &q->key) &&
           key_paths_of_projection(t->projection, &t->route->table, call_fault(c)) &&
           key_paths_of_update(q->updated, &t->route->table, call_fault(c));
}

static bool items_find_all(struct call *c, const struct item_plan *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (!items_find(c, i))
            return false;
    }
    return !p->batch || items_are_distinct(p) || call_invalid(c, "%s", ITEMS_REPEATED);
}

bool items_ready(struct call *c)
{
    struct item_plan *p = c->plan;
    if (p->sent == 0 && !items_find_all(c, p))
        return false;
    for (size_t bytes = 0; p->sent < p->count; p->sent++) {
        if (bytes >= ITEMS_TURN_BYTES) {
            call_rest(c);
            break;
        }
        bytes += p->items[p->sent].item.size;
        items_send(c, p->sent);
    }
    return true;
}
