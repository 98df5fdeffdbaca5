/* Splits for consumption on a simulated cluster: several partitions of a table that are hot at
 * once, and how soon nothing of theirs is refused; access that only moves forward, at twice what a
 * partition serves: what is served, and how often a partition is split for it. */
#include <stdlib.h>

#include "tests/check.h"

#include "engine/catalog/event.h"
#include "engine/heat/split_point.h"
#include "engine/item/storage_key.h"
#include "tests/support/lab.h"

enum {
    MAXIMUM = 200, /* of a partition, write units a second */
    OFFERED = 2 * MAXIMUM,
    FRONTIERS_MAX = 8,
    SETTLE_S = 10, /* until heat is known and was acted on */
    RUN_S = 20,
    HOT = 4,          /* partitions that are hot at once */
    KEYS_OF_EACH = 4, /* of them, each with as much */
    STEP_MS = 100,
    HOT_S = 30,
    RELIEF_MS = 4000, /* the first is relieved after 2,500 ms */
    APART_MS = 500,   /* the last behind the first */
};

struct outcome {
    int64_t served; /* a second */
    int64_t failed;
    int64_t splits;
    int64_t refusals;   /* events that say why not */
    int64_t sequential; /* of them, and of splits, those that name the access */
};

static void count_events(struct lab *l, struct outcome *out)
{
    struct request r = {.id = 1, .op = REQUEST_EVENTS};
    for (uint32_t node = 1; node <= l->world.plan.nodes; node++) {
        buffer_clear(&l->body);
        node_process_request(l->world.nodes[node], &r, &l->body);
        struct reader records = {buffer_slice(&l->body), false};
        while (records.left.size > 0) {
            struct reader record = {reader_sized(&records), false};
            struct event e;
            assert_int_equal(event_decode(&record, &e), STATUS_OK);
            out->splits += e.kind == EVENT_SPLIT;
            out->refusals += e.kind == EVENT_SPLIT_REFUSED;
            out->sequential +=
                memmem(e.reason.data, e.reason.size, "only moves forward", 18) != NULL;
        }
    }
}

static void create_table(struct lab *l)
{
    struct counts c = {0};
    lab_call(l, &c, "CreateTable",
             "{\"TableName\":\"log\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"},"
             "{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],\"AttributeDefinitions\":["
             "{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},"
             "{\"AttributeName\":\"s\",\"AttributeType\":\"S\"}],"
             "\"BillingMode\":\"PAY_PER_REQUEST\"}");
    lab_pass(l, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
}

/* `frontiers` writers side by side, each inserting in order: under partition keys of their own, or
 * all under one. An on-demand table, so that pieces keep the rate of the whole. */
static struct outcome insert_in_order(int frontiers, bool one_key)
{
    struct lab l;
    struct flow flows[FRONTIERS_MAX];
    char puts[FRONTIERS_MAX][64], text[24];
    struct outcome out = {0};
    lab_init(&l);
    snprintf(text, sizeof text, "%d", MAXIMUM);
    lab_set(&l, "partition_max_wcu", text);
    lab_set(&l, "on_demand_wcu", text);
    lab_set(&l, "on_demand_rcu", "3000");
    lab_set(&l, "split_backoff_ms", "10000");
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    create_table(&l);
    for (int i = 0; i < frontiers; i++) {
        snprintf(puts[i], sizeof puts[i], "\"Item\":{\"k\":{\"S\":\"%d\"},\"s\":{\"S\":\"%d#",
                 one_key ? 0 : i, i);
        flows[i] = (struct flow){.table = "log",
                                 .operation = "PutItem",
                                 .more = puts[i],
                                 .rest = "\"}}",
                                 .per_second = OFFERED / frontiers};
    }
    lab_run_flows(&l, flows, frontiers, SETTLE_S * NS_PER_S);
    for (int i = 0; i < frontiers; i++) {
        out.failed += flows[i].counts.failed;
        flows[i].counts = (struct counts){0};
    }
    lab_run_flows(&l, flows, frontiers, RUN_S * NS_PER_S);
    for (int i = 0; i < frontiers; i++) {
        out.served += flows[i].counts.ok;
        out.failed += flows[i].counts.failed;
    }
    out.served /= RUN_S;
    count_events(&l, &out);
    lab_deinit(&l);
    printf("    %d frontiers%s: %lld of %d a second served, %lld splits\n", frontiers,
           one_key ? " under one key" : "", (long long)out.served, OFFERED, (long long)out.splits);
    assert_int_equal(out.failed, 0);
    return out;
}

TEST(one_frontier_gets_the_maximum_and_no_useless_split)
{
    struct outcome o = insert_in_order(1, true);
    assert_int_equal(o.served, MAXIMUM);
    assert_int_equal(o.splits, 0);
    assert_true(o.refusals >= 2);
    assert_int_equal(o.sequential, o.refusals);
}

/* Side by side they are heat that stays, each between its neighbours: a split between them
 * helps. */
TEST(frontiers_side_by_side_are_split_apart)
{
    static const struct {
        int frontiers;
        bool one_key;
    } CASES[] = {{2, false}, {FRONTIERS_MAX, false}, {FRONTIERS_MAX, true}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct outcome o = insert_in_order(CASES[i].frontiers, CASES[i].one_key);
        assert_in_range(o.served, OFFERED * 98 / 100, OFFERED);
        assert_true(o.splits >= 1);
    }
}

/* The `n`th name whose hash lies in this quarter of all. */
static int key_in_quarter(int quarter, int n)
{
    for (int number = 0;; number++) {
        char text[16];
        int size = snprintf(text, sizeof text, "%d", number);
        struct attr pk = {ATTR_STRING, slice_make(text, (size_t)size)};
        if ((int)(storage_key_hash(&pk) >> 62) == quarter && n-- == 0)
            return number;
    }
}

/* Each partition is offered half more than its maximum, and every one is split in two. */
TEST(partitions_that_are_hot_at_once_are_relieved_at_once)
{
    struct lab l;
    struct flow flows[HOT * KEYS_OF_EACH];
    char puts[HOT * KEYS_OF_EACH][64];
    int64_t refused = 0, relieved_ms[HOT] = {0}, first = INT64_MAX, last = 0;
    struct outcome out = {0};
    lab_init(&l);
    lab_set(&l, "partition_max_wcu", "200");
    lab_set(&l, "on_demand_wcu", "800");
    lab_set(&l, "on_demand_rcu", "3000");
    lab_set(&l, "control_on_demand", "0"); /* which would split them further, for the peak */
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    create_table(&l);
    for (int i = 0; i < HOT * KEYS_OF_EACH; i++) {
        snprintf(puts[i], sizeof puts[i], "\"Item\":{\"k\":{\"S\":\"%d\"},\"s\":{\"S\":\"0\"}}",
                 key_in_quarter(i / KEYS_OF_EACH, i % KEYS_OF_EACH));
        flows[i] = (struct flow){.table = "log",
                                 .operation = "PutItem",
                                 .more = puts[i],
                                 .per_second = MAXIMUM * 3 / 2 / KEYS_OF_EACH};
    }
    for (int64_t ms = STEP_MS; ms <= HOT_S * 1000; ms += STEP_MS) {
        lab_run_flows(&l, flows, HOT * KEYS_OF_EACH, STEP_MS * NS_PER_MS);
        for (int i = 0; i < HOT * KEYS_OF_EACH; i++) {
            struct counts *c = &flows[i].counts;
            if (c->key_range + c->throttled > 0)
                relieved_ms[i / KEYS_OF_EACH] = ms;
            refused += c->key_range + c->throttled;
            out.failed += c->failed;
            *c = (struct counts){0};
        }
    }
    count_events(&l, &out);
    lab_deinit(&l);
    for (int i = 0; i < HOT; i++) {
        first = relieved_ms[i] < first ? relieved_ms[i] : first;
        last = relieved_ms[i] > last ? relieved_ms[i] : last;
    }
    printf("    %d hot partitions: the first relieved after %lld ms, the last after %lld ms, %lld "
           "refused, %lld splits\n",
           HOT, (long long)first, (long long)last, (long long)refused, (long long)out.splits);
    assert_int_equal(out.failed, 0);
    assert_int_equal(out.splits, HOT);
    assert_true(first > 0);
    assert_true(last <= RELIEF_MS && last - first <= APART_MS);
}
