#include "router/expression/names.h"
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/plan/page.h"

enum {
    TABLE_NAME,
    SELECT,
    LIMIT,
    CONSISTENT_READ,
    START_KEY,
    RETURN_CONSUMED,
    TOTAL_SEGMENTS,
    SEGMENT,
    NAMES,
    VALUES,
};

static const struct shape SEGMENT_SHAPE = {
    .kind = SHAPE_INTEGER, .min = 0, .min_set = true, .max = SCAN_SEGMENTS_MAX - 1};
static const struct shape TOTAL_SHAPE = {
    .kind = SHAPE_INTEGER, .min = 1, .min_set = true, .max = SCAN_SEGMENTS_MAX};

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_table_name, MEMBER_REQUIRED},
    {"Select", &shape_select, MEMBER_OPTIONAL},
    {"Limit", &shape_limit, MEMBER_OPTIONAL},
    {"ConsistentRead", &shape_boolean_value, MEMBER_OPTIONAL},
    {"ExclusiveStartKey", &shape_attribute_map, MEMBER_OPTIONAL},
    {"ReturnConsumedCapacity", &shape_return_consumed, MEMBER_OPTIONAL},
    {"TotalSegments", &TOTAL_SHAPE, MEMBER_OPTIONAL},
    {"Segment", &SEGMENT_SHAPE, MEMBER_OPTIONAL},
    {"ExpressionAttributeNames", &shape_name_map, MEMBER_OPTIONAL},
    {"ExpressionAttributeValues", &shape_attribute_map, MEMBER_OPTIONAL},
    {"IndexName", &shape_table_name, MEMBER_LATER},
    {"FilterExpression", &shape_string, MEMBER_LATER},
    {"ProjectionExpression", &shape_string, MEMBER_LATER},
    {"AttributesToGet", &shape_anything, MEMBER_LATER},
    {"ScanFilter", &shape_anything, MEMBER_LATER},
    {"ConditionalOperator", &shape_anything, MEMBER_LATER},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "ScanInput", .members = MEMBERS};

struct scan {
    struct page page; /* first: what page_reply takes call->state for */
    int64_t segment;
    int64_t segments;
    struct span start_key; /* encoded as an item; size 0: none */
};

static bool check_segments(struct call *c, const struct scan *s, const struct json_value m[])
{
    struct fault *f = call_fault(c);
    bool total = m[TOTAL_SEGMENTS].type != JSON_ABSENT, segment = m[SEGMENT].type != JSON_ABSENT;
    if (segment && !total)
        return fault_set(f, FAULT_VALIDATION,
                         "The TotalSegments parameter is required but was not present in the "
                         "request when Segment parameter is present");
    if (total && !segment)
        return fault_set(f, FAULT_VALIDATION,
                         "The Segment parameter is required but was not present in the request "
                         "when parameter TotalSegments is present");
    if (total && s->segment >= s->segments)
        return fault_set(f, FAULT_VALIDATION,
                         "The Segment parameter is zero-based and must be less than parameter "
                         "TotalSegments: Segment: %lld is not less than TotalSegments: %lld",
                         (long long)s->segment, (long long)s->segments);
    return true;
}

static bool begin(struct call *c, const struct json_value m[])
{
    struct scan *s = arena_zalloc(&c->arena, sizeof *s);
    c->state = s;
    s->page.by_partition = true;
    s->segment = shape_integer(&m[SEGMENT], 0);
    s->segments = shape_integer(&m[TOTAL_SEGMENTS], 1);
    call_take_consumed(c, &m[RETURN_CONSUMED]);
    if (!expression_names_absent(&m[NAMES], &m[VALUES], "FilterExpression is null",
                                 call_fault(c)) ||
        !page_take(c, &s->page, &m[SELECT], &m[LIMIT], &m[CONSISTENT_READ]))
        return false;
    if (m[START_KEY].type != JSON_ABSENT &&
        !value_read_item(&c->bytes, &c->arena, &m[START_KEY], &s->start_key, call_fault(c)))
        return false;
    if (!check_segments(c, s, m))
        return false;
    call_want_table(c, json_string(&m[TABLE_NAME]), &s->page.route);
    return true;
}

/* The first hash of a segment: all of them together cover the 2^64 hashes. */
static uint64_t segment_hash(int64_t segment, int64_t segments)
{
    return (uint64_t)(((unsigned __int128)segment << 64) / (uint64_t)segments);
}

static void set_bounds(struct call *c, struct scan *s)
{
    struct page *p = &s->page;
    uint32_t table = p->route->table.id;
    struct buffer *scratch = &c->router->scratch;
    buffer_clear(scratch);
    storage_key_append_hash(scratch, table, segment_hash(s->segment, s->segments));
    p->lo = arena_copy(&c->arena, buffer_slice(scratch));
    buffer_clear(scratch);
    if (s->segment + 1 < s->segments) {
        storage_key_append_hash(scratch, table, segment_hash(s->segment + 1, s->segments));
    } else {
        storage_key_append_hash(scratch, table, 0);
        scratch->size = STORAGE_KEY_TABLE_SIZE;
        storage_key_successor(scratch);
    }
    p->hi = arena_copy(&c->arena, buffer_slice(scratch));
}

static bool skip_to_start(struct call *c, struct scan *s)
{
    const struct table *t = &s->page.route->table;
    struct fault *f = call_fault(c);
    struct key key;
    if (!key_of_key(t, span_in(&c->bytes, s->start_key), &key, f))
        return page_blame_start_key(c);
    struct slice at = call_storage_key(c, t, &key);
    if (slice_compare(at, s->page.lo) < 0 || slice_compare(at, s->page.hi) >= 0)
        return fault_set(f, FAULT_VALIDATION,
                         "The provided starting key is invalid: Invalid ExclusiveStartKey. Please "
                         "use ExclusiveStartKey with correct Segment. TotalSegments: %lld Segment: "
                         "%lld",
                         (long long)s->segments, (long long)s->segment);
    page_skip_past(c, &s->page, at);
    return true;
}

static bool ready(struct call *c)
{
    struct scan *s = c->state;
    if (!call_table_usable(c, &s->page.route->table))
        return false;
    set_bounds(c, s);
    if (s->start_key.size > 0 && !skip_to_start(c, s))
        return false;
    page_start(c, &s->page);
    return true;
}

const struct operation operation_scan = {.name = "Scan",
                                         .input = &INPUT,
                                         .begin = begin,
                                         .ready = ready,
                                         .reply = page_reply,
                                         .finish = page_finish};
