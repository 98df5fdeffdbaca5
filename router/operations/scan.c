/* scan.c - Scan: all items of a table, or of one segment of a table. */
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/query_scan.h"

/* The typed request, and its plan. */
struct scan {
    struct page page; /* must be first: page_reply takes call->state as a page */
    int64_t segment;
    int64_t segments;
    struct span start_key; /* encoded as an item; size 0: none */
};

static bool scan_check_segments(struct call *c, const struct scan *s, const struct json_value m[])
{
    struct fault *f = call_fault(c);
    bool total = m[SCAN_TOTAL_SEGMENTS].type != JSON_ABSENT,
         segment = m[SCAN_SEGMENT].type != JSON_ABSENT;
    if (segment && !total)
        return fault_invalid(f, "The TotalSegments parameter is required but was not present in "
                                "the request when Segment parameter is present");
    if (total && !segment)
        return fault_invalid(f, "The Segment parameter is required but was not present in the "
                                "request when parameter TotalSegments is present");
    if (total && s->segment >= s->segments)
        return fault_invalid(f,
                             "The Segment parameter is zero-based and must be less than parameter "
                             "TotalSegments: Segment: %lld is not less than TotalSegments: %lld",
                             (long long)s->segment, (long long)s->segments);
    return true;
}

static bool scan_read(struct call *c, const struct json_value m[], struct scan *s)
{
    static const struct page_members OF = {
        .table_name = SCAN_TABLE_NAME,
        .select = SCAN_SELECT,
        .limit = SCAN_LIMIT,
        .consistent_read = SCAN_CONSISTENT_READ,
        .return_consumed = SCAN_RETURN_CONSUMED_CAPACITY,
        .index_name = SCAN_INDEX_NAME,
        .expressions = {.names = SCAN_EXPRESSION_ATTRIBUTE_NAMES,
                        .values = SCAN_EXPRESSION_ATTRIBUTE_VALUES,
                        .expressions = {[PARAMETER_PROJECTION] = SCAN_PROJECTION_EXPRESSION,
                                        [PARAMETER_FILTER] = SCAN_FILTER_EXPRESSION},
                        .legacy = {[LEGACY_ATTRIBUTES_TO_GET] = SCAN_ATTRIBUTES_TO_GET,
                                   [LEGACY_SCAN_FILTER] = SCAN_SCAN_FILTER,
                                   [LEGACY_CONDITIONAL_OPERATOR] = SCAN_CONDITIONAL_OPERATOR}}};
    s->page.by_partition = true;
    s->segment = shape_integer(&m[SCAN_SEGMENT], 0);
    s->segments = shape_integer(&m[SCAN_TOTAL_SEGMENTS], 1);
    return page_read(c, &s->page, &OF, m) &&
           page_read_start_key(c, &m[SCAN_EXCLUSIVE_START_KEY], &s->start_key) &&
           scan_check_segments(c, s, m) && page_read_expressions(c, &s->page, &OF, m);
}

static bool scan_begin(struct call *c, const struct json_value m[])
{
    struct scan *s = arena_zalloc(&c->arena, sizeof *s);
    c->state = s;
    if (!scan_read(c, m, s))
        return false;
    ranges_begin(c, &s->page.plan);
    return true;
}

static bool scan_skip_to_start(struct call *c, struct scan *s)
{
    const struct table *t = &s->page.plan.route->table;
    struct fault *f = call_fault(c);
    struct key key;
    if (!key_of_row_key(t, s->page.plan.index, span_in(&c->bytes, s->start_key), &key, f))
        return page_refuse_start_key(c);
    struct slice at = page_storage_key(c, &s->page, &key);
    if (slice_compare(at, s->page.range.lo) < 0 || slice_compare(at, s->page.range.hi) >= 0)
        return fault_invalid(
            f,
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
            "ExclusiveStartKey with correct Segment. TotalSegments: %lld Segment: %lld",
            (long long)s->segments, (long long)s->segment);
    plan_range_skip_past(c, &s->page.range, false, at);
    return true;
}

static bool scan_ready(struct call *c)
{
    struct scan *s = c->state;
    if (!page_find_index(c, &s->page))
        return false;
    if (page_waits(&s->page))
        return true;
    page_set_segment(c, &s->page, s->segment, s->segments, &s->page.range);
    if ((s->start_key.size > 0 && !scan_skip_to_start(c, s)) ||
        !page_check_paths(c, &s->page, NULL))
        return false;
    page_start(c, &s->page);
    return true;
}

OPERATION(scan, "Scan", .begin = scan_begin, .ready = scan_ready, .reply = page_reply,
          .finish = page_finish);
