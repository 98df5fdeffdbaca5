/* query.c - Query: items of one partition key, in the order of their sort keys. */
#include "router/core/key_schema.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/query_scan.h"

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

/* The attributes of a starting key. A key of the table that is a key of the index, too, counts
 * once.
 */
static uint32_t query_key_attrs(const struct table *t, const struct key_schema *schema)
{
    struct slice names[2 + 2 * INDEX_KEYS_MAX] = {t->partition_key.name, t->sort_key.name};
    uint32_t count = table_has_sort_key(t) ? 2 : 1;
    for (uint32_t i = 0; i < schema->partition_count + schema->sort_count; i++) {
        uint32_t same = 0;
        while (same < count && !slice_equal(names[same], schema->keys[i].name))
            same++;
        if (same == count)
            names[count++] = schema->keys[i].name;
    }
    return count;
}

static bool query_start_key_counts(struct call *c, struct slice item, const struct table *t,
                                   const struct key_schema *schema)
{
    return item_count(item) == query_key_attrs(t, schema) || query_start_key_invalid(c);
}

/* Of the keys by which the query reads. */
static const struct attr *query_key_value(const struct key *key, const struct index *x, uint32_t i)
{
    if (x != NULL)
        return &key->index[i];
    return i == 0 ? &key->partition : &key->sort;
}

/* Refuses a starting key at which the query could not have stopped. */
static bool query_start_key_inside(struct call *c, const struct key *key, const struct index *x,
                                   const struct key_matches *found, uint32_t partition_count)
{
    bool same = true, holds = true;
    for (uint32_t i = 0; i < found->count; i++) {
        const struct attr *value = query_key_value(key, x, i);
        if (i < partition_count)
            same &= slice_equal(value->body, found->of[i].values[0].body);
        else
            holds &= key_condition_holds(&found->of[i], value);
    }
    if (found->count == partition_count)
        return same || call_invalid(c, "The provided starting key is outside query boundaries "
                                       "based on provided conditions");
    if (!holds)
        return call_invalid(c, "The provided starting key does not match the range key predicate");
    return same || call_invalid(c, "The query can return at most one row and cannot be restarted");
}

static bool query_skip_to_start(struct call *c, struct query *q, struct slice item,
                                const struct key_schema *schema, const struct key_matches *found)
{
    const struct table *t = &q->page.plan.route->table;
    const struct index *x = q->page.plan.index;
    struct key key;
    if (table_has_sort_key(t) && !query_start_key_element(c, item, &t->sort_key))
        return false;
    for (uint32_t i = 0; i < schema->partition_count + schema->sort_count; i++) {
        if (!query_start_key_element(c, item, &schema->keys[i]))
            return false;
    }
    if (!key_of_row_key(t, x, item, &key, call_fault(c)) ||
        !query_start_key_inside(c, &key, x, found, schema->partition_count))
        return false;
    plan_range_skip_past(c, &q->page.range, q->page.plan.reverse,
                         page_storage_key(c, &q->page, &key));
    return true;
}

static bool query_ready(struct call *c)
{
    struct query *q = c->state;
    const struct table *t = &q->page.plan.route->table;
    struct key_matches found;
    bool resumed = q->start_key.size > 0;
    struct slice start = resumed ? span_in(&c->bytes, q->start_key) : slice_make(NULL, 0);
    if (!page_find_index(c, &q->page))
        return false;
    if (page_waits(&q->page))
        return true;
    const struct key_schema schema = key_schema_of(t, q->page.plan.index);
    if (resumed && (!query_start_key_counts(c, start, t, &schema) ||
                    !query_start_key_element(c, start, &t->partition_key)))
        return false;
    if (!key_conditions_match(&q->page.expressions.keys, &schema, &found, call_fault(c)))
        return false;
    page_set_range(c, &q->page, &schema, &found, &q->page.range);
    if ((resumed && !query_skip_to_start(c, q, start, &schema, &found)) ||
        !page_check_paths(c, &q->page,
                          q->page.expressions.legacy ? "QueryFilter" : "Filter Expression"))
        return false;
    page_start(c, &q->page);
    return true;
}

OPERATION(query, "Query", .begin = query_begin, .ready = query_ready, .reply = page_reply,
          .finish = page_finish);
