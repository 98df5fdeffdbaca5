/* The series of balances and of the key space: they add up, and keeping them changes no
 * run. */
#include <stdlib.h>

#include "lab/run/run.h"
#include "router/json/json.h"
#include "tests/check.h"

static struct buffer error;

/* Splits, moves of the limit, refusals at routers and at nodes, and a server that is down. */
static const char busy[] =
    "name: busy\nduration: 20s\nwarm: 0s\n"
    "cluster: {nodes: 4, routers: 4, gac: 2}\n"
    "tables:\n"
    "  - {name: hot, rcu: 3000, wcu: 3000, partitions: 3}\n"
    "  - {name: calm, rcu: 100, wcu: 100}\n"
    "workloads:\n"
    "  - {name: writes, table: hot, rate: 4000, keys: uniform, mix: \"read:0:update:1\"}\n"
    "  - {name: reads, table: calm, rate: 300, keys: uniform, mix: \"read:1:update:0\"}\n"
    "faults:\n"
    "  - {kind: gac-down, which: 1, at: 8s, for: 2s}\n"
    "  - {kind: split, table: calm, at: 12500ms}\n";

static void run(const char *text, bool series, struct buffer *out)
{
    const struct lab_job job = {
        .file = "a.yaml", .text = slice_of(text), .point = "", .seed = 3, .series = series};
    buffer_clear(out);
    if (lab_run(&job, out, &error) != STATUS_OK)
        fail_msg("%.*s", (int)error.size, (const char *)error.data);
}

/* A result, parsed. */
struct parsed {
    struct json_parser *parser;
    struct buffer text;
    struct json_value root;
};

static void parse(struct parsed *p, const char *scenario, bool series)
{
    static const uint8_t padding[JSON_PADDING];
    *p = (struct parsed){.parser = json_parser_create()};
    run(scenario, series, &p->text);
    size_t size = p->text.size;
    buffer_append(&p->text, padding, sizeof padding);
    assert_int_equal(json_parse(p->parser, slice_make(p->text.data, size), &p->root), STATUS_OK);
}

static void parsed_end(struct parsed *p)
{
    buffer_deinit(&p->text);
    json_parser_destroy(p->parser);
}

static struct json_value find(struct json_value of, const char *name)
{
    struct json_value v = json_find(&of, name);
    if (v.type == JSON_ABSENT)
        fail_msg("there is no %s", name);
    return v;
}

static double value_of(struct json_value v)
{
    assert_true(v.type == JSON_INTEGER || v.type == JSON_DECIMAL);
    return v.type == JSON_INTEGER ? (double)json_integer(&v) : json_decimal(&v);
}

static double sum_of(struct json_value list)
{
    double sum = 0;
    struct json_value v;
    struct json_cursor c = json_elements(&list);
    while (json_next_element(&c, &v))
        sum += value_of(v);
    return sum;
}

static struct json_value element(struct json_value list, uint32_t at)
{
    struct json_value v = {0};
    struct json_cursor c = json_elements(&list);
    for (uint32_t i = 0; i <= at; i++)
        assert_true(json_next_element(&c, &v));
    return v;
}

TEST(a_run_with_series_decides_the_same_as_a_run_without) /* SAMPLE-1 */
{
    struct parsed with, without;
    parse(&with, busy, true);
    parse(&without, busy, false);
    struct json_value a = find(with.root, "hash"), b = find(without.root, "hash");
    assert_int_equal(slice_compare(json_text(&a), json_text(&b)), 0);
    assert_true(json_find(&without.root, "samples").type == JSON_ABSENT);
    parsed_end(&with);
    parsed_end(&without);
}

TEST(tables_and_partitions_add_up_to_what_the_measures_count)
{
    struct parsed p;
    struct json_value one;
    double offered = 0, admitted = 0, heat = 0;
    parse(&p, busy, true);
    struct json_value samples = find(p.root, "samples");
    struct json_value tables = find(samples, "tables"), parts = find(samples, "heat");
    struct json_cursor c = json_elements(&tables);
    while (json_next_element(&c, &one)) {
        offered += sum_of(find(one, "offered"));
        admitted += sum_of(find(one, "admitted"));
    }
    c = json_elements(&parts);
    while (json_next_element(&c, &one))
        heat += sum_of(find(one, "offered"));
    struct json_value all = find(find(p.root, "measures"), "");
    double expected = value_of(find(all, "offered_units"));
    assert_true(expected > 50000);
    /* A number of the series has one digit behind the point. */
    assert_true(offered > expected - 20 && offered < expected + 20);
    assert_true(heat > expected - 20 && heat < expected + 20);
    expected = value_of(find(all, "admitted_units"));
    assert_true(expected < offered / 1.1);
    assert_true(admitted > expected - 20 && admitted < expected + 20);
    parsed_end(&p);
}

/* In each slot the ranges of a table's partitions are all hashes, each once. */
static double covered(struct json_value parts, const char *table, uint32_t slot, uint32_t *count)
{
    struct json_value part;
    double hashes = 0;
    struct json_cursor c = json_elements(&parts);
    *count = 0;
    while (json_next_element(&c, &part)) {
        struct json_value name = find(part, "table"), ranges = find(part, "ranges"), range;
        double width = -1;
        struct json_cursor r = json_elements(&ranges);
        if (!json_is_text(&name, table) || value_of(find(part, "first")) > slot)
            continue;
        while (json_next_element(&r, &range)) {
            if (value_of(element(range, 0)) <= slot)
                width = value_of(element(range, 2)) - value_of(element(range, 1));
        }
        assert_true(width >= 0);
        hashes += width;
        (*count)++;
    }
    return hashes / 4294967296.0;
}

TEST(ranges_divide_at_splits_and_always_cover_the_key_space)
{
    struct parsed p;
    uint32_t first, last, count;
    parse(&p, busy, true);
    struct json_value parts = find(find(p.root, "samples"), "heat");
    for (uint32_t slot = 0; slot < 20; slot++) {
        assert_float_equal(covered(parts, "hot", slot, &count), 1, 1e-9);
        assert_float_equal(covered(parts, "calm", slot, &count), 1, 1e-9);
    }
    (void)covered(parts, "hot", 0, &first);
    (void)covered(parts, "hot", 19, &last);
    assert_true(last > first); /* by the controller */
    (void)covered(parts, "calm", 11, &first);
    (void)covered(parts, "calm", 12, &last);
    assert_int_equal(last, 2 * first); /* by hand */
    parsed_end(&p);
}

TEST(a_limit_is_at_the_ledger_and_at_routers_and_not_more_than_its_bank)
{
    struct parsed p;
    struct json_value one;
    uint32_t limited = 0;
    parse(&p, busy, true);
    struct json_value tables = find(find(p.root, "samples"), "tables");
    struct json_cursor c = json_elements(&tables);
    while (json_next_element(&c, &one)) {
        struct json_value is = find(one, "limited"), bank, held;
        if (!json_bool(&is))
            continue;
        bank = find(one, "bank");
        held = find(one, "held");
        for (uint32_t slot = 0; slot < 20; slot++) {
            /* 300 s of the rate, and a token of one request over. */
            double most = 300 * value_of(element(find(one, "rate"), slot)) + 10;
            assert_true(value_of(element(bank, slot)) + value_of(element(held, slot)) <= most);
        }
        limited += sum_of(bank) != 0 && sum_of(held) > 0;
    }
    assert_true(limited >= 2);
    parsed_end(&p);
}

TEST(the_result_of_a_large_run_is_below_4_mib) /* SAMPLE-2 */
{
    static const char large[] =
        "name: large\nduration: 300s\nwarm: 0s\n"
        "cluster: {nodes: 64, routers: 4, gac: 1, settings: {control_split: 0}}\n"
        "tables:\n"
        "  - {name: wide, rcu: 100000, wcu: 100000, partitions: 700}\n"
        "  - {name: many, copies: 40, rcu: 50, wcu: 50}\n"
        "workloads:\n"
        "  - {name: a, table: wide, rate: 400, keys: uniform, key_count: 1000000}\n"
        "  - {name: b, table: many, rate: 400, keys: uniform}\n";
    struct parsed p;
    parse(&p, large, true);
    struct json_value samples = find(p.root, "samples");
    printf("%zu bytes\n", p.text.size);
    assert_in_range(p.text.size, 1 << 20, 4 << 20);
    assert_float_equal(value_of(find(samples, "slots")), 300, 0);
    assert_true(value_of(find(samples, "partitions_left_out")) > 0);
    assert_float_equal(value_of(find(samples, "nodes_left_out")), 0, 0);
    assert_float_equal(value_of(find(samples, "tables_left_out")), 25, 0);
    struct json_value nodes = find(samples, "nodes");
    assert_int_equal(json_count(&nodes), 64);
    parsed_end(&p);
}

static int finish(void **state)
{
    (void)state;
    buffer_deinit(&error);
    return 0;
}

FILE_FIXTURE(NULL, finish)

TEST(ranges_cover_the_key_space_when_partitions_are_merged)
{
    static const char text[] =
        "name: cold\nduration: 30s\ncluster: {nodes: 3, routers: 1, gac: 1, settings: "
        "{control_merge: 1, split_window_ms: 2500, merge_cold_ms: 3000, merge_backoff_ms: 1000}}\n"
        "tables: [{name: users, rcu: 500, wcu: 500}]\n"
        "workloads: [{name: w, table: users, rate: 100}]\n"
        "faults: [{kind: split, at: 1500ms}, {kind: split, at: 2500ms}]\n";
    struct parsed p;
    uint32_t count;
    parse(&p, text, true);
    struct json_value parts = find(find(p.root, "samples"), "heat");
    for (uint32_t slot = 0; slot < 30; slot++)
        assert_float_equal(covered(parts, "users", slot, &count), 1, 1e-9);
    assert_int_equal(count, 4);
    assert_true(value_of(find(find(find(p.root, "measures"), ""), "partitions")) < 4);
    parsed_end(&p);
}
