/* execute_select.c - finds what a SELECT reads, reads it, and answers. */
#include "router/operations/execute_select.h"

#include <stdlib.h>

#include "engine/expression/compare.h"
#include "engine/index/row.h"
#include "router/json/base64.h"
#include "router/json/json_writer.h"

/* ---- tokens ---- */

/* base64 of: u64 digest of the statement, then the key as an item. */

static bool select_refuse_token(struct call *c)
{
    return call_invalid(c, "The NextToken is invalid, or belongs to another statement");
}

static bool select_read_token(struct call *c, struct select *s, const struct json_value *member)
{
    const struct slice text = json_text(member);
    if (member->type == JSON_ABSENT)
        return true;
    if (base64_check(text) != BASE64_OK)
        return select_refuse_token(c);
    uint8_t *bytes = arena_alloc(&c->arena, text.size);
    struct reader r = {slice_make(bytes, base64_decode(text, bytes)), false};
    const uint64_t digest = reader_u64(&r);
    if (r.failed || digest != s->digest || item_check(r.left) != STATUS_OK)
        return select_refuse_token(c);
    s->token = r.left;
    return true;
}

static void select_write_token(struct call *c, const struct select *s, const struct key *last)
{
    const struct page *p = &s->page;
    struct buffer bytes = {0};
    buffer_append_u64(&bytes, s->digest);
    key_append_row_item(&bytes, &p->plan.route->table, p->plan.index, last);
    json_write_key(&c->body, "NextToken");
    json_write_base64(&c->body, buffer_slice(&bytes));
    buffer_deinit(&bytes);
}

/* ---- the answer ---- */

static void select_write_item(struct call *c, struct slice item)
{
    const struct select *s = c->state;
    statement_write_row(&c->body, s->statement->columns, item);
}

static void select_write_end(struct call *c, const struct page *p)
{
    const struct select *s = c->state;
    const struct key *last = page_last(p);
    json_write_close(&c->body, ']');
    if (last != NULL) {
        select_write_token(c, s, last);
        json_write_key(&c->body, "LastEvaluatedKey");
        key_write(&c->body, &p->plan.route->table, p->plan.index, last);
    }
    page_write_capacity(c, p);
    json_write_close(&c->body, '}');
}

/* ---- the request alone ---- */

bool select_begin(struct call *c, struct select *s, const struct json_value *token)
{
    struct page *p = &s->page;
    p->plan.table = execute_table(c, s->statement);
    p->index_name = s->statement->index;
    p->statement = true;
    p->take = select_write_item;
    p->write_end = select_write_end;
    p->expressions.projection = s->statement->columns;
    if (!select_read_token(c, s, token))
        return false;
    if (p->plan.table.size == 0)
        return fault_set(call_fault(c), FAULT_NOT_FOUND, "Requested resource not found");
    ranges_begin(c, &p->plan);
    return true;
}

/* ---- one item ---- */

/* Whether the clause names one item, and nothing but its key. */
static bool select_names_item(struct call *c, const struct select *s, struct where_key *key)
{
    const struct statement *st = s->statement;
    if (st->index.size > 0 || st->order != NULL || st->where == NULL)
        return false;
    where_find_key(st->where, &s->page.plan.route->table, true, &c->arena, key);
    return key->whole && key->rest == NULL;
}

static bool select_refuse_type(struct call *c, const struct key_attr *k)
{
    return call_invalid(c,
                        "Key attribute's data type should match its data type in table's schema: "
                        "Key %.*s",
                        SHOWN(k->name));
}

static bool select_get(struct call *c, struct select *s, const struct where_key *key)
{
    const struct table *t = &s->page.plan.route->table;
    struct item_plan *plan = item_plan_create(c, 1, 1);
    s->single = true;
    if (key->values[0].type != t->partition_key.type)
        return select_refuse_type(c, &t->partition_key);
    if (table_has_sort_key(t) && key->values[1].type != t->sort_key.type)
        return select_refuse_type(c, &t->sort_key);
    if (s->token.size > 0)
        return select_refuse_token(c);
    plan->tables->name = s->page.plan.table;
    plan->tables->route = s->page.plan.route;
    plan->items->consistent = s->page.plan.consistent;
    c->plan = plan;
    if (!execute_lower(c, s->statement, t, EXECUTE_ALONE, plan->items) || !items_find(c, 0))
        return false;
    items_send(c, 0);
    return true;
}

/* ---- ranges ---- */

/* A range of storage keys, and the values by which it is sorted. */
struct select_range {
    struct plan_range range;
    struct attr partition[INDEX_KEYS_MAX];
};

struct select_order {
    uint32_t partition_count;
    bool partition_descending;
    bool descending; /* within a partition */
};

static int select_compare_partitions(const struct select_range *a, const struct select_range *b,
                                     const struct select_order *o)
{
    int order = 0;
    for (uint32_t i = 0; i < o->partition_count && order == 0; i++)
        order = attr_compare(&a->partition[i], &b->partition[i]);
    return o->partition_descending ? -order : order;
}

/* For qsort_r. */
static int select_compare(const void *x, const void *y, void *context)
{
    const struct select_range *a = x, *b = y;
    const struct select_order *o = context;
    int order = select_compare_partitions(a, b, o);
    if (order != 0)
        return order;
    order = slice_compare(a->range.lo, b->range.lo);
    return o->descending ? -order : order;
}

/* Keys of both ranges. */
static void select_intersect(struct plan_range *range, const struct plan_range *other)
{
    if (slice_compare(other->lo, range->lo) > 0)
        range->lo = other->lo;
    if (slice_compare(other->hi, range->hi) < 0)
        range->hi = other->hi;
}

static void select_set_range(struct call *c, const struct page *p, const struct key_schema *schema,
                             const struct where_range *from, struct select_range *out)
{
    *out = (struct select_range){0};
    page_set_range(c, p, schema, &from->found, &out->range);
    if (from->also.op != KEY_ANY) {
        struct key_matches also = from->found;
        struct plan_range other = {0};
        also.of[also.count - 1] = from->also;
        page_set_range(c, p, schema, &also, &other);
        select_intersect(&out->range, &other);
    }
    for (uint32_t i = 0; i < schema->partition_count; i++)
        out->partition[i] = from->found.of[i].values[0];
}

/* Keeps one range at least. An empty range overlaps nothing, but could stand between two ranges
 * that overlap. Returns how many are left. */
static uint32_t select_drop_empty(struct select_range *list, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (slice_compare(list[i].range.lo, list[i].range.hi) < 0)
            list[kept++] = list[i];
    }
    return kept > 0 ? kept : 1;
}

/* Of ranges in order, of which none is empty: those that overlap are neighbours. */
static bool select_check_overlap(struct call *c, const struct select_range *list, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct plan_range *a = &list[i - 1].range, *b = &list[i].range;
        if (slice_compare(a->lo, b->hi) < 0 && slice_compare(b->lo, a->hi) < 0)
            return call_invalid(c, "Overlapping conditions with range keys are not supported in "
                                   "where clause");
    }
    return true;
}

/* Starts after the token's key, which must lie in one of the ranges. */
static bool select_skip_to_token(struct call *c, struct select *s, struct plan_range *ranges,
                                 uint32_t *first, uint32_t count)
{
    struct page *p = &s->page;
    struct key key;
    if (s->token.size == 0)
        return true;
    if (!key_of_row_key(&p->plan.route->table, p->plan.index, s->token, &key, call_fault(c)))
        return select_refuse_token(c);
    const struct slice at = page_storage_key(c, p, &key);
    for (; *first < count; (*first)++) {
        if (slice_compare(at, ranges[*first].lo) < 0 || slice_compare(at, ranges[*first].hi) >= 0)
            continue;
        plan_range_skip_past(c, &ranges[*first], p->plan.reverse, at);
        return true;
    }
    return select_refuse_token(c);
}

static bool select_use_ranges(struct call *c, struct select *s, struct plan_range *ranges,
                              uint32_t count)
{
    struct page *p = &s->page;
    uint32_t first = 0;
    if (!select_skip_to_token(c, s, ranges, &first, count))
        return false;
    p->range = ranges[first];
    p->later = ranges + first + 1;
    p->later_count = count - first - 1;
    return true;
}

/* ---- ORDER BY ---- */

static const struct statement_order *select_find_order(const struct statement *s, struct slice name)
{
    for (const struct statement_order *o = s->order; o != NULL; o = o->next) {
        if (slice_equal(o->name, name))
            return o;
    }
    return NULL;
}

static bool select_check_order(struct call *c, const struct statement *s,
                               const struct key_schema *k, const struct where_ranges *found)
{
    for (const struct statement_order *o = s->order; o != NULL; o = o->next) {
        uint32_t i = 0;
        while (i < k->partition_count + k->sort_count && !slice_equal(k->keys[i].name, o->name))
            i++;
        if (i == k->partition_count + k->sort_count)
            return call_invalid(c,
                                "Attribute %.*s in ORDER BY clause must be part of the primary key",
                                SHOWN(o->name));
    }
    return found->count > 0 || s->order == NULL ||
           call_invalid(c, "Must have at least one non-optional hash key condition in WHERE clause "
                           "when using ORDER BY clause.");
}

/* If ORDER BY names the partition key alone, the service orders by the sort key downwards. */
static struct select_order select_order_of(const struct statement *s, const struct key_schema *k)
{
    const struct statement_order *partition = select_find_order(s, k->keys[0].name);
    const struct statement_order *sort =
        k->sort_count > 0 ? select_find_order(s, k->keys[k->partition_count].name) : NULL;
    return (struct select_order){.partition_count = k->partition_count,
                                 .partition_descending = partition != NULL && partition->descending,
                                 .descending = sort != NULL ? sort->descending : s->order != NULL};
}

static bool select_query(struct call *c, struct select *s, const struct key_schema *schema,
                         const struct where_ranges *found)
{
    struct page *p = &s->page;
    struct select_order order = select_order_of(s->statement, schema);
    struct select_range *list = arena_alloc(&c->arena, found->count * sizeof *list);
    struct plan_range *ranges = arena_alloc(&c->arena, found->count * sizeof *ranges);
    bool several = false;
    for (uint32_t i = 0; i < found->count; i++) {
        select_set_range(c, p, schema, &found->list[i], &list[i]);
        several |= select_compare_partitions(&list[i], &list[0], &order) != 0;
    }
    const uint32_t count = select_drop_empty(list, found->count);
    qsort_r(list, count, sizeof *list, select_compare, &order);
    for (uint32_t i = 0; i < count; i++)
        ranges[i] = list[i].range;
    if (several && s->statement->order != NULL &&
        select_find_order(s->statement, schema->keys[0].name) == NULL)
        return call_invalid(c, "Must have hash key in ORDER BY clause when more than one hash key "
                               "condition specified in WHERE clause.");
    p->plan.reverse = order.descending;
    p->by_partition = found->count > 1;
    return select_check_overlap(c, list, count) && select_use_ranges(c, s, ranges, count);
}

static bool select_scan(struct call *c, struct select *s)
{
    struct plan_range *range = arena_zalloc(&c->arena, sizeof *range);
    s->page.by_partition = true;
    page_set_segment(c, &s->page, 0, 1, range);
    return select_use_ranges(c, s, range, 1);
}

/* ---- what an index does not show ---- */

static void select_list_unshown(struct buffer *out, const struct index_set *set,
                                const struct index *x, const struct condition *c)
{
    if (c->kind == CONDITION_PATH && !index_shows(set, x, c->path->name) &&
        out->size < SLICE_SHOWN_MAX) {
        buffer_append_text(out, out->size > 0 ? ", " : "");
        buffer_append(out, c->path->name.data, (size_t)slice_shown_size(c->path->name));
    }
    for (const struct condition *a = c->args; a != NULL; a = a->next)
        select_list_unshown(out, set, x, a);
}

/* A query by an index filters by what the index shows. A scan of it takes the rest as missing. */
static bool select_check_filter(struct call *c, const struct page *p,
                                const struct condition *filter)
{
    struct buffer names = {0};
    if (p->plan.index == NULL || filter == NULL)
        return true;
    select_list_unshown(&names, p->plan.route->table.index_set, p->plan.index, filter);
    const bool shown = names.size == 0;
    if (!shown)
        call_invalid(c,
                     INVALID "Secondary index %.*s does not project one or more filter attributes: "
                             "[%.*s]",
                     SHOWN(p->plan.index->name), TEXT_OF(names));
    buffer_deinit(&names);
    return shown;
}

/* ---- with the table ---- */

static bool select_pages(struct call *c, struct select *s)
{
    struct page *p = &s->page;
    const struct table *t = &p->plan.route->table;
    const struct key_schema schema = key_schema_of(t, p->plan.index);
    struct where_ranges found;
    struct fault *f = call_fault(c);
    if (!where_find_ranges(s->statement->where, &schema, &c->arena, &found, f) ||
        !select_check_order(c, s->statement, &schema, &found) ||
        !(found.count > 0 ? select_query(c, s, &schema, &found) : select_scan(c, s)) ||
        (found.count > 0 && !select_check_filter(c, p, found.filter)) ||
        !key_paths_of_filter(found.filter, t, &schema, NULL, f) ||
        !expressions_encode(&c->bytes, found.filter, &p->filter, f) ||
        !page_check_paths(c, p, NULL))
        return false;
    page_start(c, p);
    return true;
}

bool select_ready(struct call *c)
{
    struct select *s = c->state;
    struct where_key key;
    if (!page_find_index(c, &s->page))
        return false;
    if (page_waits(&s->page))
        return true;
    if (!execute_index_is_read(c, s->statement, &s->page.plan.route->table))
        return false;
    return select_names_item(c, s, &key) ? select_get(c, s, &key) : select_pages(c, s);
}

static bool select_get_reply(struct call *c, const struct select *s, struct subrequest *sub,
                             const struct reply *r)
{
    const struct capacity capacity = {.table_mcu = r->consumed_mcu};
    if (r->code != REPLY_OK)
        return call_refuse(c, sub, r);
    json_write_open_with(&c->body, "Items", '[');
    execute_write_shown(c, s->statement, execute_shown(s->statement, r));
    json_write_close(&c->body, ']');
    capacity_write_member(&c->body, c, &sub->route->table, &capacity);
    json_write_close(&c->body, '}');
    return true;
}

bool select_reply(struct call *c, struct subrequest *sub, const struct reply *r)
{
    const struct select *s = c->state;
    return s->single ? select_get_reply(c, s, sub, r) : page_reply(c, sub, r);
}

bool select_finish(struct call *c)
{
    const struct select *s = c->state;
    return s->single || page_finish(c);
}
