/* router_plan_test.c - plans without JSON: pages merged out of several ranges, items put by a plan,
 * against a fake cluster. */
#include "tests/check.h"

#include "engine/expression/program.h"
#include "engine/item/storage_key.h"
#include "router/core/items.h"
#include "router/core/router_internal.h"
#include "router/plan/ranges.h"
#include "tests/support/expect.h"

enum {
    RANGES_MAX = 5,
    KEYS_MAX = 120,
};

static struct fake_cluster f;
static uint64_t connection;

/* What the next call is to do: a page over the collections "p0", "p1", .., in the order of their
 * sort keys; or over the whole table, cut into as many ranges, in the order of storage keys. */
static struct {
    uint32_t ranges;
    bool whole_table;
    bool reverse;
    int64_t limit;
    struct slice after; /* the sort key to start behind; size 0: none */
    bool filter;        /* only sort keys that contain FILTERED */
    bool truncated;
    char last[8]; /* the sort key of the plan's `last` */
} page;

static const char FILTERED[] = "1";

struct merged {
    struct ranges_plan plan;
    struct plan_range ranges[RANGES_MAX];
};

static int start(void **state)
{
    (void)state;
    connection = 1;
    memset(&page, 0, sizeof page);
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "names", "k", ATTR_STRING, "s", ATTR_STRING, 4);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

/* ---- operations of the test ---- */

static void take_sort_key(struct call *c, struct slice item)
{
    struct attr value;
    assert_true(item_find(item, slice_of("s"), &value));
    if (c->body.size > 0)
        buffer_append_u8(&c->body, ' ');
    buffer_append_slice(&c->body, value.body);
}

/* The program of "contains(s, :filtered)". */
static struct slice filter_program(struct call *c)
{
    struct expression_name value = {.key = slice_of(":f"),
                                    .value = {ATTR_STRING, slice_of(FILTERED)}};
    struct expression_names names = {.values = &value, .value_count = 1};
    struct expression_fault fault;
    struct buffer program = {0};
    const struct condition *tree =
        condition_parse(slice_of("contains(s, :f)"), &names, &c->arena, &fault);
    assert_non_null(tree);
    program_encode(&program, tree);
    struct slice copy = arena_copy(&c->arena, buffer_slice(&program));
    buffer_deinit(&program);
    return copy;
}

static bool merge_begin(struct call *c, const struct json_value m[])
{
    (void)m;
    struct merged *t = arena_zalloc(&c->arena, sizeof *t);
    c->state = t;
    t->plan = (struct ranges_plan){.table = slice_of("names"),
                                   .ranges = t->ranges,
                                   .count = page.ranges,
                                   .limit = page.limit,
                                   .consistent = true,
                                   .reverse = page.reverse,
                                   .take = take_sort_key};
    if (page.filter)
        t->plan.filter = filter_program(c);
    ranges_begin(c, &t->plan);
    return true;
}

static struct slice bound(struct call *c, struct buffer *bytes, bool successor)
{
    if (successor)
        storage_key_successor(bytes);
    struct slice copy = arena_copy(&c->arena, buffer_slice(bytes));
    buffer_deinit(bytes);
    return copy;
}

static void set_collection(struct call *c, struct merged *t, uint32_t i)
{
    char name[16];
    struct buffer lo = {0}, hi = {0}, at = {0};
    const uint32_t table = t->plan.route->table.id;
    snprintf(name, sizeof name, "p%u", i);
    const struct attr key = {ATTR_STRING, slice_of(name)}, sort = {ATTR_STRING, page.after};
    storage_key_append_collection(&lo, table, &key);
    storage_key_append_collection(&hi, table, &key);
    t->ranges[i].prefix = lo.size;
    t->ranges[i].lo = bound(c, &lo, false);
    t->ranges[i].hi = bound(c, &hi, true);
    if (page.after.size == 0)
        return;
    storage_key_append(&at, table, &key, &sort);
    plan_range_skip_past(c, &t->ranges[i], page.reverse, bound(c, &at, false));
}

/* The pieces of the table stand in any order. */
static void set_piece(struct call *c, struct merged *t, uint32_t i)
{
    struct buffer lo = {0}, hi = {0};
    const uint32_t table = t->plan.route->table.id, piece = (i + 2) % page.ranges;
    const uint64_t width = UINT64_MAX / page.ranges;
    storage_key_append_hash(&lo, table, piece * width);
    storage_key_append_hash(&hi, table, piece + 1 < page.ranges ? (piece + 1) * width : 0);
    if (piece + 1 == page.ranges)
        hi.size = STORAGE_KEY_TABLE_SIZE;
    t->ranges[i].lo = bound(c, &lo, false);
    t->ranges[i].hi = bound(c, &hi, piece + 1 == page.ranges);
}

static bool merge_ready(struct call *c)
{
    struct merged *t = c->state;
    for (uint32_t i = 0; i < page.ranges; i++) {
        if (page.whole_table)
            set_piece(c, t, i);
        else
            set_collection(c, t, i);
    }
    ranges_start(c, &t->plan);
    return true;
}

static bool merge_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct merged *t = c->state;
    return ranges_reply(c, &t->plan, s, r);
}

static bool merge_finish(struct call *c)
{
    struct merged *t = c->state;
    if (!ranges_finish(c, &t->plan))
        return false;
    page.truncated = t->plan.truncated;
    snprintf(page.last, sizeof page.last, "%.*s", TEXT_OF(t->plan.last.sort.body));
    return true;
}

static const struct operation MERGE = {.name = "Merge",
                                       .begin = merge_begin,
                                       .ready = merge_ready,
                                       .reply = merge_reply,
                                       .finish = merge_finish};

static struct fake_answer run(const struct operation *o)
{
    connection = connection == FAKE_CLIENTS_MAX ? 2 : connection + 1; /* 1 is fake_call's */
    f.clients[connection].open = false;
    fake_open(&f, connection);
    struct call *c = call_create(f.router, id_map_find(&f.router->clients, connection), o);
    c->content_type = "text/plain";
    call_begin(c, NULL);
    fake_pump(&f);
    return fake_take_answer(&f, connection);
}

/* ---- what is there ---- */

struct known {
    char sort[KEYS_MAX][8];
    uint32_t count;
};

static void put(const char *partition, const char *sort)
{
    char request[200];
    snprintf(request, sizeof request,
             "{\"TableName\":\"names\",\"Item\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"%s\"}}}",
             partition, sort);
    assert_int_equal(fake_call(&f, "PutItem", request).status, 200);
}

/* Sort keys that differ, each in one of the collections, in ascending order. */
static void fill(struct prng *p, struct known *k, uint32_t least, uint32_t collections)
{
    char partition[16];
    k->count = least + (uint32_t)prng_below(p, KEYS_MAX - least);
    for (uint32_t i = 0; i < k->count; i++) {
        snprintf(k->sort[i], sizeof k->sort[i], "s%03u", i * 3 + (uint32_t)prng_below(p, 3));
        snprintf(partition, sizeof partition, "p%u", (unsigned)prng_below(p, collections));
        put(partition, k->sort[i]);
    }
}

/* The next keys of a page, and where it leaves off. */
static void expect_page(const struct known *k, uint32_t *at, struct fake_answer a)
{
    char expected[KEYS_MAX * 9] = "";
    uint32_t count = 0;
    for (; *at < k->count && (page.limit == 0 || count < page.limit); ++*at, count++) {
        const char *sort = k->sort[page.reverse ? k->count - 1 - *at : *at];
        size_t used = strlen(expected);
        page.after = slice_of(sort);
        if (!page.filter || strstr(sort, FILTERED) != NULL)
            snprintf(expected + used, sizeof expected - used, "%s%s", used > 0 ? " " : "", sort);
    }
    assert_int_equal(a.status, 200);
    if (count > 0)
        assert_slice_is(page.after, page.last);
    assert_slice_is(a.body, expected);
    assert_int_equal(page.truncated, page.limit > 0 && count == page.limit);
}

/* ---- pages ---- */

static void collections_merge(struct prng *p)
{
    struct known k;
    start(NULL);
    page.ranges = 1 + (uint32_t)prng_below(p, RANGES_MAX);
    page.reverse = prng_below(p, 2);
    page.filter = prng_below(p, 2);
    page.limit = prng_below(p, 3) == 0 ? 0 : prng_between(p, 1, 30);
    fill(p, &k, 0, page.ranges);
    uint32_t at = 0;
    do {
        expect_page(&k, &at, run(&MERGE));
    } while (page.truncated);
    assert_int_equal(at, k.count);
    stop(NULL);
}

TEST(collections_merge_in_the_order_of_their_sort_keys)
{
    check_seeds(40, collections_merge);
}

TEST_WITH(pieces_of_a_table_merge_to_a_scan, start, stop)
{
    struct known k;
    struct prng p = prng_seeded(1);
    char whole[KEYS_MAX * 8];
    fill(&p, &k, KEYS_MAX / 2, 40); /* collections, in all partitions */
    page.whole_table = true;
    page.ranges = 1;
    struct fake_answer a = run(&MERGE);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body.size, k.count * 5 - 1);
    snprintf(whole, sizeof whole, "%.*s", (int)a.body.size, (const char *)a.body.data);
    for (page.ranges = 2; page.ranges <= RANGES_MAX; page.ranges++)
        assert_slice_is(run(&MERGE).body, whole);
    page.ranges = 3;
    page.limit = 4;
    whole[4 * 5 - 1] = '\0';
    assert_slice_is(run(&MERGE).body, whole);
    assert_true(page.truncated);
}

TEST_WITH(a_merge_that_is_throttled_ends_with_what_it_has, start, stop)
{
    struct known k;
    struct prng p = prng_seeded(1);
    char whole[KEYS_MAX * 8];
    fill(&p, &k, KEYS_MAX / 2, 40);
    page.whole_table = true;
    page.ranges = 2;
    struct fake_answer a = run(&MERGE);
    snprintf(whole, sizeof whole, "%.*s", (int)a.body.size, (const char *)a.body.data);
    f.fail_code = REPLY_THROTTLED;
    f.fail_reason = ADMIT_REFUSED_ALLOCATION;
    f.fail_count = 1;
    assert_int_equal(run(&MERGE).status, 400); /* nothing was taken yet */
    f.fail_count = 1;
    f.fail_after = 3; /* the first range's second partition, once its first has been taken */
    a = run(&MERGE);
    assert_int_equal(a.status, 200);
    assert_true(page.truncated);
    assert_in_range(a.body.size, 4, strlen(whole) - 1);
    assert_memory_equal(a.body.data, whole, a.body.size);
}

/* ---- items ---- */

static bool two_begin(struct call *c, const struct json_value m[])
{
    (void)m;
    struct item_plan *plan = item_plan_create(c, 1, 2);
    plan->tables->name = slice_of("names");
    plan->batch = true;
    for (uint32_t i = 0; i < 2; i++) {
        struct item_writer w;
        struct item_request *q = &plan->items[i];
        *q = (struct item_request){.op = REQUEST_PUT, .item.at = c->bytes.size};
        item_begin(&w, &c->bytes);
        item_name(&w, slice_of("k"));
        item_string(&w, slice_of("p0"));
        item_name(&w, slice_of("s"));
        item_string(&w, slice_of(i == 0 ? "one" : page.reverse ? "one" : "two"));
        item_end(&w);
        q->item.size = c->bytes.size - q->item.at;
    }
    c->state = plan;
    items_begin(c, plan);
    return true;
}

static bool two_ready(struct call *c)
{
    return items_ready(c);
}

static bool two_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    buffer_append_u8(&c->body, (uint8_t)('0' + s->index));
    return r->code == REPLY_OK;
}

TEST_WITH(items_are_put_without_json, start, stop)
{
    static const struct operation TWO = {
        .name = "Two", .begin = two_begin, .ready = two_ready, .reply = two_reply};
    assert_int_equal(run(&TWO).body.size, 2);
    page.ranges = 1;
    assert_slice_is(run(&MERGE).body, "one two");
    page.reverse = true; /* the same key twice */
    assert_int_equal(run(&TWO).status, 400);
}
