/* query_scan.c - the members and the answer that Query and Scan share. */
#include "router/operations/query_scan.h"

#include "engine/index/row.h"
#include "router/core/counters.h"
#include "router/json/json_writer.h"

/* A projection goes with SPECIFIC_ATTRIBUTES, or with no Select at all. */
static bool page_check_select(struct call *c, const struct page *p, struct slice select,
                              const char *projection)
{
    if (projection != NULL && select.size > 0 && !slice_is(select, "SPECIFIC_ATTRIBUTES"))
        return call_invalid(c, "Cannot specify the %s when choosing to get %.*s", projection,
                            SHOWN(p->count_only ? slice_of("only the Count") : select));
    if (slice_is(select, "ALL_PROJECTED_ATTRIBUTES") && p->index_name.size == 0)
        return call_invalid(
            c, "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
    if (slice_is(select, "SPECIFIC_ATTRIBUTES") && projection == NULL)
        return call_invalid(c, "Must specify the AttributesToGet or ProjectionExpression when "
                               "choosing to get SPECIFIC_ATTRIBUTES");
    return true;
}

bool page_read(struct call *c, struct page *p, const struct page_members *of,
               const struct json_value m[])
{
    const struct expression_members *e = &of->expressions;
    const char *projection = NULL;
    if (m[e->expressions[PARAMETER_PROJECTION]].type != JSON_ABSENT)
        projection = "ProjectionExpression";
    else if (m[e->legacy[LEGACY_ATTRIBUTES_TO_GET]].type != JSON_ABSENT)
        projection = "AttributesToGet";
    p->plan.table = call_table_named(c, &m[of->table_name]);
    p->plan.limit = shape_integer(&m[of->limit], 0);
    p->plan.consistent = shape_boolean(&m[of->consistent_read], false);
    p->count_only = json_is_text(&m[of->select], "COUNT");
    p->all = json_is_text(&m[of->select], "ALL_ATTRIBUTES");
    p->index_name = arena_copy(&c->arena, json_text(&m[of->index_name]));
    call_take_consumed(c, &m[of->return_consumed]);
    return expressions_check(e, m, &p->expressions, call_fault(c)) &&
           page_check_select(c, p, json_text(&m[of->select]), projection) &&
           expressions_read_legacy(e, m, &c->arena, &p->expressions, call_fault(c));
}

bool page_read_expressions(struct call *c, struct page *p, const struct page_members *of,
                           const struct json_value m[])
{
    return expressions_read(&of->expressions, m, &c->arena, &p->expressions, call_fault(c)) &&
           (p->index_name.size > 0 ||
            key_conditions_are_few(&p->expressions.keys, call_fault(c))) &&
           expressions_encode(&c->bytes, p->expressions.condition, &p->filter, call_fault(c));
}

bool page_refuse_start_key(struct call *c)
{
    struct fault *f = call_fault(c);
    struct slice text = arena_copy(&c->arena, buffer_slice(&f->text));
    return fault_set(f, f->kind, "The provided starting key is invalid: %.*s", SHOWN(text));
}

/* The service blames the starting key only for some bad values. */
bool page_read_start_key(struct call *c, const struct json_value *member, struct span *out)
{
    if (member->type == JSON_ABSENT)
        return true;
    struct fault *f = call_fault(c);
    if (value_read_item(&c->bytes, &c->arena, member, out, f))
        return true;
    static const char *const PREFIXED[] = {"Supplied AttributeValue",
                                           "One or more parameter values were invalid: Null",
                                           "One or more parameter values were invalid: An string "
                                           "set  may",
                                           "One or more parameter values were invalid: Binary "
                                           "sets should"};
    for (size_t i = 0; i < COUNT_OF(PREFIXED); i++) {
        if (slice_starts_with(buffer_slice(&f->text), slice_of(PREFIXED[i])))
            return page_refuse_start_key(c);
    }
    return false;
}

/* ---- with the table ---- */

static bool page_has_no_index(struct call *c, const struct page *p)
{
    if (p->statement)
        return call_invalid(c, "The table does not have the specified index");
    return call_invalid(c, "The table does not have the specified index: %.*s",
                        SHOWN(p->index_name));
}

/* The router may know a table without its newest index. */
static void page_retry(struct call *c, struct page *p)
{
    p->retried = true;
    route_invalidate(c->router, p->plan.route->table.name);
    call_require_table(c, p->plan.route->table.name, &p->plan.route);
}

static void page_find_rows(struct call *c, struct page *p)
{
    const struct slice name = call_index_table(c, &p->plan.route->table, p->plan.index);
    call_find_table(c, name, &p->plan.rows, &p->rows_absent);
}

/* The index, or its table as a whole, was deleted and perhaps created anew: the router knows one of
 * the two as it was before. */
static bool page_refresh_both(struct call *c, struct page *p)
{
    const struct table *t = &p->plan.route->table;
    route_invalidate(c->router, call_index_table(c, t, p->plan.index));
    if (p->refreshed_both) {
        route_invalidate(c->router, t->name);
        return fault_set(call_fault(c), FAULT_UNAVAILABLE,
                         "The index was deleted and created again meanwhile: nothing was done, "
                         "please try again");
    }
    p->refreshed_both = true;
    p->rows_absent = false;
    p->plan.rows = NULL;
    page_retry(c, p);
    return true;
}

/* The table of a global index is there. */
static bool page_check_rows(struct call *c, struct page *p)
{
    const struct table *rows = &p->plan.rows->table;
    if (rows->id != p->plan.index->table_id)
        return page_refresh_both(c, p);
    if (rows->status == TABLE_CREATING || rows->status == TABLE_DELETING)
        return page_has_no_index(c, p);
    if (rows->filling && !p->retried) {
        p->retried = true;
        route_invalidate(c->router, rows->name);
        page_find_rows(c, p);
        return true;
    }
    return !rows->filling ||
           call_invalid(c, "Cannot read from backfilling global secondary index: %.*s",
                        SHOWN(p->plan.index->name));
}

/* What a global index cannot do. */
static bool page_check_global(struct call *c, const struct page *p, const struct index *x)
{
    if (p->plan.consistent)
        return call_invalid(c, p->statement ? "Strongly consistent read is not supported on Global "
                                              "Secondary Indexes"
                                            : "Consistent reads are not supported on global "
                                              "secondary indexes");
    return !p->all || x->projection == PROJECT_ALL ||
           call_invalid(c,
                        INVALID "Select type ALL_ATTRIBUTES is not supported for global secondary "
                                "index %.*s because its projection type is not ALL",
                        SHOWN(x->name));
}

bool page_find_index(struct call *c, struct page *p)
{
    const struct table *t = &p->plan.route->table;
    if (p->plan.rows != NULL)
        return page_check_rows(c, p);
    if (p->rows_absent)
        return page_refresh_both(c, p);
    if (!call_table_usable(c, t))
        return false;
    if (p->index_name.size == 0)
        return true;
    const struct index *x = index_set_find(t->index_set, p->index_name);
    if (x == NULL && !p->retried) {
        page_retry(c, p);
        return true;
    }
    if (x == NULL)
        return page_has_no_index(c, p);
    if (x->number == 0 && !page_check_global(c, p, x))
        return false;
    p->plan.index = x;
    p->index_place = (uint32_t)(x - t->index_set->at);
    if (x->number != 0)
        return true;
    page_find_rows(c, p);
    return p->plan.rows == NULL || page_check_rows(c, p);
}

static bool page_shows_filter(const struct index_set *set, const struct index *x,
                              const struct condition *c)
{
    if (c->kind == CONDITION_PATH)
        return index_shows(set, x, c->path->name);
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (!page_shows_filter(set, x, a))
            return false;
    }
    return true;
}

/* Whether the rows of the index have all that the answer needs. */
static bool page_rows_suffice(const struct page *p, const struct index *x)
{
    const struct index_set *set = p->plan.route->table.index_set;
    const struct expressions *e = &p->expressions;
    if (p->all && x->projection != PROJECT_ALL)
        return false;
    if (e->condition != NULL && !page_shows_filter(set, x, e->condition))
        return false;
    if (e->projection == NULL)
        return true;
    for (const struct projection_path *at = e->projection->paths; at != NULL; at = at->next) {
        if (!index_shows(set, x, at->path->name))
            return false;
    }
    return true;
}

/* The names that the projection shows and the index does not, each once: "a, b". */
static void page_append_unshown(struct buffer *out, const struct page *p)
{
    const struct index_set *set = p->plan.route->table.index_set;
    const struct projection_path *first = p->expressions.projection->paths;
    for (const struct projection_path *at = first; at != NULL; at = at->next) {
        const struct projection_path *same = first;
        while (same != at && !slice_equal(same->path->name, at->path->name))
            same = same->next;
        if (same != at || index_shows(set, p->plan.index, at->path->name) ||
            out->size >= SLICE_SHOWN_MAX)
            continue;
        buffer_append_text(out, out->size > 0 ? ", " : "");
        buffer_append(out, at->path->name.data, (size_t)slice_shown_size(at->path->name));
    }
}

/* What a global index does not show is not fetched. */
static bool page_check_shown(struct call *c, const struct page *p)
{
    struct buffer names = {0};
    if (p->expressions.projection != NULL)
        page_append_unshown(&names, p);
    const bool shown = names.size == 0;
    if (!shown)
        call_invalid(c, INVALID "Global secondary index %.*s does not project [%.*s]",
                     SHOWN(p->plan.index->name), TEXT_OF(names));
    buffer_deinit(&names);
    return shown;
}

bool page_check_paths(struct call *c, struct page *p, const char *no_keys)
{
    const struct table *t = &p->plan.route->table;
    const struct index *x = p->plan.index;
    const struct key_schema schema = key_schema_of(t, x);
    if (p->plan.rows != NULL && !page_check_shown(c, p))
        return false;
    p->fetches = x != NULL && p->plan.rows == NULL && !page_rows_suffice(p, x);
    return key_paths_of_projection(p->expressions.projection, t, call_fault(c)) &&
           key_paths_of_filter(p->expressions.condition, t, &schema, no_keys, call_fault(c));
}

struct slice page_storage_key(struct call *c, const struct page *p, const struct key *key)
{
    struct buffer *scratch = &c->router->scratch;
    buffer_clear(scratch);
    key_append_row(scratch, &p->plan.route->table, p->plan.index, key);
    return arena_copy(&c->arena, buffer_slice(scratch));
}

/* Appends what all storage keys of the range share, without the last condition's attribute. */
static void page_append_shared(struct buffer *out, const struct page *p,
                               const struct key_schema *schema, const struct key_matches *found)
{
    struct attr values[INDEX_KEYS_MAX];
    struct buffer scratch = {0};
    for (uint32_t i = 0; i < schema->partition_count; i++)
        values[i] = found->of[i].values[0];
    const struct index *x = p->plan.index;
    const struct attr partition =
        x != NULL ? index_global_partition(x, values, &scratch) : values[0];
    storage_key_append_collection(out, ranges_table_id(&p->plan), &partition);
    for (uint32_t i = schema->partition_count; i + 1 < found->count; i++)
        storage_key_append_sort(out, &found->of[i].values[0], true);
    buffer_deinit(&scratch);
}

void page_set_range(struct call *c, const struct page *p, const struct key_schema *schema,
                    const struct key_matches *found, struct plan_range *out)
{
    static const struct key_condition NONE = {.op = KEY_ANY};
    const struct key_condition *last =
        found->count > schema->partition_count ? &found->of[found->count - 1] : &NONE;
    struct buffer *scratch = &c->router->scratch;
    buffer_clear(scratch);
    page_append_shared(scratch, p, schema, found);
    key_condition_bound_lo(scratch, last);
    out->lo = arena_copy(&c->arena, buffer_slice(scratch));
    buffer_clear(scratch);
    page_append_shared(scratch, p, schema, found);
    key_condition_bound_hi(scratch, last);
    out->hi = arena_copy(&c->arena, buffer_slice(scratch));
}

/* The first hash of a segment. All segments together cover the 2^64 hashes. */
static uint64_t page_segment_hash(int64_t segment, int64_t segments)
{
    return (uint64_t)(((unsigned __int128)segment << 64) / (uint64_t)segments);
}

void page_set_segment(struct call *c, const struct page *p, int64_t segment, int64_t segments,
                      struct plan_range *out)
{
    uint32_t table = ranges_table_id(&p->plan);
    struct buffer *scratch = &c->router->scratch;
    buffer_clear(scratch);
    storage_key_append_hash(scratch, table, page_segment_hash(segment, segments));
    out->lo = arena_copy(&c->arena, buffer_slice(scratch));
    buffer_clear(scratch);
    if (segment + 1 < segments) {
        storage_key_append_hash(scratch, table, page_segment_hash(segment + 1, segments));
    } else {
        storage_key_append_hash(scratch, table, 0);
        scratch->size = STORAGE_KEY_TABLE_SIZE;
        storage_key_successor(scratch);
    }
    out->hi = arena_copy(&c->arena, buffer_slice(scratch));
}

/* ---- fetching items from the table ---- */

static struct attr page_keep_attr(struct call *c, struct attr value)
{
    value.body = arena_copy(&c->arena, value.body);
    return value;
}

static void page_take_row(struct call *c, struct slice row)
{
    struct page *p = c->state;
    const struct index *x = p->plan.index;
    must(p->row_count < PAGE_FETCH_MAX);
    struct key *key = &p->rows[p->row_count++].key;
    key_find(&p->plan.route->table, x, row, key);
    key->partition = page_keep_attr(c, key->partition);
    key->sort = page_keep_attr(c, key->sort);
    for (uint32_t i = 0; i < x->partition_count + x->sort_count; i++)
        key->index[i] = page_keep_attr(c, key->index[i]);
}

static void page_fetch_rows(struct call *c, struct page *p)
{
    for (uint32_t i = 0; i < p->row_count; i++) {
        struct subrequest *s = call_request(c, p->plan.route, REQUEST_GET);
        s->index = i;
        s->request.get.key = call_storage_key(c, &p->plan.route->table, &p->rows[i].key);
        s->request.get.consistent = p->plan.consistent;
        subrequest_start(c->router, s);
    }
}

static bool page_fetched_row(struct call *c, struct page *p, struct subrequest *s,
                             const struct reply *r)
{
    struct page_row *row = &p->rows[s->index];
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    p->fetched_mcu += r->consumed_mcu;
    row->found = r->item.found;
    row->item = r->item.found ? arena_copy(&c->arena, r->item.bytes) : slice_make(NULL, 0);
    return true;
}

/* Whether the item has a row of the index still. It may have been deleted or changed since the row
 * was read. An item whose row has another place now is taken: a reader of all rows must not miss
 * it. */
static bool page_row_holds(const struct page *p, const struct page_row *row)
{
    struct attr values[2 * INDEX_KEYS_MAX];
    return row->found && index_keys_of(p->plan.index, row->item, values) == INDEX_KEYS_COMPLETE;
}

/* Takes the fetched items in order. A page ends when it has so many bytes of items, or when its
 * filter has taken so many steps. */
static bool page_take_fetched(struct call *c, struct page *p)
{
    const struct slice filter = span_in(&c->bytes, p->filter);
    const size_t begin = c->body.size;
    bool passes;
    for (; p->row_at < p->row_count; p->row_at++) {
        const struct page_row *row = &p->rows[p->row_at];
        if (call_ends_turn(c, begin))
            return true;
        if (p->fetched_bytes >= PAGE_SIZE_MAX || p->plan.steps >= STEPS_TURN_MAX) {
            p->plan.ended = p->plan.truncated = true;
            break;
        }
        p->fetched_scanned++;
        p->fetched_last = row->key;
        if (!page_row_holds(p, row))
            continue;
        p->fetched_bytes += item_size(row->item);
        if (!call_filter(c, filter, row->item, &p->plan.steps, &passes))
            return false;
        if (!passes)
            continue;
        p->fetched++;
        if (!p->count_only)
            p->take(c, row->item);
    }
    p->row_count = p->row_at = 0;
    p->fetching = false;
    return true;
}

/* ---- the answer ---- */

/* The answer has what the index shows, also if the filter has the items fetched. */
static void page_write_item(struct call *c, struct slice item)
{
    const struct page *p = c->state;
    struct buffer *scratch = &c->router->scratch;
    if (p->fetches && !p->all && p->expressions.projection == NULL) {
        buffer_clear(scratch);
        index_row_append(scratch, p->plan.route->table.index_set, p->plan.index, item);
        item = buffer_slice(scratch);
    }
    call_write_item(c, &c->body, item, p->expressions.projection);
}

bool page_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct page *p = c->state;
    return s->request.op == REQUEST_GET ? page_fetched_row(c, p, s, r)
                                        : ranges_reply(c, &p->plan, s, r);
}

void page_write_capacity(struct call *c, const struct page *p)
{
    const struct ranges_plan *plan = &p->plan;
    const int64_t read_mcu =
        p->by_partition ? plan->consumed_mcu : read_cost_mcu(plan->read_bytes, plan->consistent);
    struct capacity capacity = {.table_mcu = p->fetched_mcu};
    if (plan->index == NULL)
        capacity.table_mcu += read_mcu;
    else
        capacity.index_mcu[p->index_place] = read_mcu;
    capacity_write_member(&c->body, c, &plan->route->table, &capacity);
}

const struct key *page_last(const struct page *p)
{
    const int64_t scanned = p->fetches ? p->fetched_scanned : p->plan.scanned;
    if (!p->plan.truncated || scanned == 0)
        return NULL;
    return p->fetches ? &p->fetched_last : &p->plan.last;
}

static void page_write_end(struct call *c, const struct page *p)
{
    const struct ranges_plan *plan = &p->plan;
    struct buffer *out = &c->body;
    const struct key *last = page_last(p);
    if (!p->count_only)
        json_write_close(out, ']');
    json_member_integer(out, "Count", p->fetches ? p->fetched : plan->taken);
    json_member_integer(out, "ScannedCount", p->fetches ? p->fetched_scanned : plan->scanned);
    if (last != NULL) {
        json_write_key(out, "LastEvaluatedKey");
        key_write(out, &plan->route->table, plan->index, last);
    }
    page_write_capacity(c, p);
    json_write_close(out, '}');
}

static void page_start_subrange(struct call *c, struct page *p)
{
    subranges_next(c, &p->plan, &p->range);
    const struct sharded_key *k = p->plan.key;
    p->by_partition |= k != NULL;
    p->meets_shrinking = k != NULL && k->counter && sharded_key_shrinks(k);
    if (p->meets_shrinking)
        p->plan.ended = p->plan.truncated = true;
    else
        ranges_start(c, &p->plan);
}

/* The sums of the counter cannot be read now. The catalog is asked whether that holds for the next
 * request. */
static bool page_refuse_shrinking(struct call *c, const struct page *p)
{
    route_renew(c->router, p->plan.route);
    return fault_set(call_fault(c), FAULT_UNAVAILABLE, "Nothing was read: %s", counter_shrinks);
}

void page_start(struct call *c, struct page *p)
{
    json_write_open(&c->body, '{');
    if (!p->count_only)
        json_member_open(&c->body, "Items", '[');
    if (p->take == NULL)
        p->take = page_write_item;
    if (p->write_end == NULL)
        p->write_end = page_write_end;
    p->plan.take = p->count_only ? NULL : p->take;
    p->plan.filter = span_in(&c->bytes, p->filter);
    if (p->fetches) {
        p->rows = arena_zalloc(&c->arena, PAGE_FETCH_MAX * sizeof *p->rows);
        p->plan.step = PAGE_FETCH_MAX;
        p->plan.take = page_take_row;
        p->plan.filter = slice_make(NULL, 0);
    }
    page_start_subrange(c, p);
}

/* Goes on with the next subrange that is not empty. */
static void page_next_subrange(struct call *c, struct page *p)
{
    while (p->plan.ended && !p->plan.truncated) {
        if (p->plan.stale)
            subranges_give_back(c, &p->plan, &p->range);
        if (slice_compare(p->range.lo, p->range.hi) >= 0) {
            if (p->later_count == 0)
                break;
            p->range = *p->later++;
            p->later_count--;
        }
        page_start_subrange(c, p);
    }
}

static void page_fetch(struct call *c, struct page *p)
{
    p->fetching = true;
    page_fetch_rows(c, p);
}

bool page_finish(struct call *c)
{
    struct page *p = c->state;
    if (p->meets_shrinking)
        return page_refuse_shrinking(c, p);
    if (p->row_count > 0 && !p->fetching) {
        page_fetch(c, p);
        return true;
    }
    if (p->fetching && !page_take_fetched(c, p))
        return false;
    if (c->rests)
        return true;
    if (!ranges_finish(c, &p->plan))
        return false;
    if (c->rests)
        return true;
    if (p->row_count > 0 && c->outstanding == 0) {
        page_fetch(c, p); /* rows that a merge has taken */
        return true;
    }
    page_next_subrange(c, p);
    if (p->meets_shrinking)
        return page_refuse_shrinking(c, p);
    if (p->plan.ended)
        p->write_end(c, p);
    return true;
}
