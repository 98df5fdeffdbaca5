/* query.c - Query: items of one partition key, in the order of their sort keys. */
#include "router/expression/key_schema.h"
#include "router/operations/operations.h"
#include "router/operations/query_scan.h"
#include "router/operations/shapes.h"

/* The typed request, and its plan. */
struct query {
    struct page page;      /* must be first: page_reply takes call->state as a page */
    struct span start_key; /* encoded as an item; size 0: none */
};

static bool query_has_key_condition(struct call *c, const struct json_value m[])
{
    return m[QUERY_KEY_CONDITION_EXPRESSION].type != JSON_ABSENT ||
           m[QUERY_KEY_CONDITIONS].type != JSON_ABSENT ||
           call_invalid(c, "Either the KeyConditions or KeyConditionExpression parameter must be "
                           "specified in the request.");
}

static bool query_read(struct call *c, const struct json_value m[], struct query *q)
{
    static const struct page_members OF = {
        .table_name = QUERY_TABLE_NAME,
        .select = QUERY_SELECT,
        .limit = QUERY_LIMIT,
        .consistent_read = QUERY_CONSISTENT_READ,
        .return_consumed = QUERY_RETURN_CONSUMED_CAPACITY,
        .index_name = QUERY_INDEX_NAME,
        .expressions = {.names = QUERY_EXPRESSION_ATTRIBUTE_NAMES,
                        .values = QUERY_EXPRESSION_ATTRIBUTE_VALUES,
                        .expressions = {[PARAMETER_PROJECTION] = QUERY_PROJECTION_EXPRESSION,
                                        [PARAMETER_FILTER] = QUERY_FILTER_EXPRESSION,
                                        [PARAMETER_KEY_CONDITION] = QUERY_KEY_CONDITION_EXPRESSION},
                        .legacy = {[LEGACY_ATTRIBUTES_TO_GET] = QUERY_ATTRIBUTES_TO_GET,
                                   [LEGACY_QUERY_FILTER] = QUERY_QUERY_FILTER,
                                   [LEGACY_CONDITIONAL_OPERATOR] = QUERY_CONDITIONAL_OPERATOR,
                                   [LEGACY_KEY_CONDITIONS] = QUERY_KEY_CONDITIONS}}};
    q->page.plan.reverse = !shape_boolean(&m[QUERY_SCAN_INDEX_FORWARD], true);
    return page_read(c, &q->page, &OF, m) &&
           page_read_start_key(c, &m[QUERY_EXCLUSIVE_START_KEY], &q->start_key) &&
           query_has_key_condition(c, m) && page_read_expressions(c, &q->page, &OF, m);
}

static bool query_begin(struct call *c, const struct json_value m[])
{
    struct query *q = arena_zalloc(&c->arena, sizeof *q);
    c->state = q;
    if (!query_read(c, m, q))
        return false;
    ranges_begin(c, &q->page.plan);
    return true;
}

/* ---- with the table ---- */

static bool query_start_key_invalid(struct call *c)
{
    return call_invalid(c, "The provided starting key is invalid");
}

static bool query_start_key_element(struct call *c, struct slice item,
                                    const struct key_attr *schema)
{
    struct attr value;
    if (!item_find(item, schema->name, &value))
        return query_start_key_invalid(c);
    return value.type == schema->type ||
           call_invalid(c, "The provided key element does not match the schema");
}

/* A key of the table that is a key of the index, too, counts once. */
static uint32_t query_key_attrs(const struct table *t, const struct index *x)
{
    const uint32_t count = table_has_sort_key(t) ? 2 : 1;
    return x == NULL || slice_equal(index_sort_key(x)->name, t->sort_key.name) ? count : count + 1;
}

static bool query_start_key_counts(struct call *c, struct slice item, const struct query *q)
{
    return item_count(item) == query_key_attrs(&q->page.plan.route->table, page_index(&q->page)) ||
           query_start_key_invalid(c);
}

/* Refuses a starting key at which the query could not have stopped. */
static bool query_start_key_inside(struct call *c, const struct key *key, const struct attr *by,
                                   const struct key_condition *partition,
                                   const struct key_condition *sort)
{
    bool same = slice_equal(key->partition.body, partition->values[0].body);
    if (sort->op == KEY_ANY)
        return same || call_invalid(c, "The provided starting key is outside query boundaries "
                                       "based on provided conditions");
    if (!key_condition_holds(sort, by))
        return call_invalid(c, "The provided starting key does not match the range key predicate");
    return same || call_invalid(c, "The query can return at most one row and cannot be restarted");
}

static bool query_skip_to_start(struct call *c, struct query *q, struct slice item,
                                const struct key_condition *partition,
                                const struct key_condition *sort)
{
    const struct table *t = &q->page.plan.route->table;
    const struct index *x = page_index(&q->page);
    struct key key;
    if ((table_has_sort_key(t) && !query_start_key_element(c, item, &t->sort_key)) ||
        (x != NULL && !query_start_key_element(c, item, index_sort_key(x))))
        return false;
    if (!key_of_row_key(t, x, item, &key, call_fault(c)) ||
        !query_start_key_inside(c, &key, x != NULL ? &key.index_sort : &key.sort, partition, sort))
        return false;
    plan_range_skip_past(c, &q->page.range, q->page.plan.reverse,
                         page_storage_key(c, &q->page, &key));
    return true;
}

static void query_set_range(struct call *c, struct page *p, const struct key_condition *partition,
                            const struct key_condition *sort)
{
    struct buffer *scratch = &c->router->scratch;
    buffer_clear(scratch);
    key_condition_append_lo(scratch, p->plan.route->table.id, partition, sort);
    p->range.lo = arena_copy(&c->arena, buffer_slice(scratch));
    buffer_clear(scratch);
    key_condition_append_hi(scratch, p->plan.route->table.id, partition, sort);
    p->range.hi = arena_copy(&c->arena, buffer_slice(scratch));
}

static bool query_ready(struct call *c)
{
    struct query *q = c->state;
    const struct table *t = &q->page.plan.route->table;
    struct key_condition partition, sort;
    bool resumed = q->start_key.size > 0;
    struct slice start = resumed ? span_in(&c->bytes, q->start_key) : slice_make(NULL, 0);
    if (!page_find_index(c, &q->page))
        return false;
    const struct key_schema schema = key_schema_of(t, page_index(&q->page));
    if (resumed && (!query_start_key_counts(c, start, q) ||
                    !query_start_key_element(c, start, &t->partition_key)))
        return false;
    if (!key_conditions_match(&q->page.expressions.keys, &schema, &partition, &sort, call_fault(c)))
        return false;
    query_set_range(c, &q->page, &partition, &sort);
    if ((resumed && !query_skip_to_start(c, q, start, &partition, &sort)) ||
        !page_check_paths(c, &q->page,
                          q->page.expressions.legacy ? "QueryFilter" : "Filter Expression"))
        return false;
    page_start(c, &q->page);
    return true;
}

OPERATION(query, "Query", .begin = query_begin, .ready = query_ready, .reply = page_reply,
          .finish = page_finish);
