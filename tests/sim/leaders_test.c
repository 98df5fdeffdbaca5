/* Who leads: spread over the nodes that are there, by load and then by count, and left alone. */
#include "tests/check.h"

#include "engine/item/storage_key.h"
#include "tests/support/lab.h"

enum {
    NODES = 5,
    PARTITIONS = 30
};

struct spread {
    uint32_t min;
    uint32_t max;
    uint32_t of[NODES + 1];
};

/* Partitions that each node that is up leads, as the nodes themselves say. */
static struct spread spread_of(struct lab *l)
{
    struct request r = {.id = 1, .op = REQUEST_STATS};
    struct partition_stats s;
    struct spread out = {.min = UINT32_MAX};
    for (uint32_t node = 1; node <= NODES; node++) {
        if (!node_process_is_up(l->world.nodes[node]))
            continue;
        buffer_clear(&l->body);
        node_process_request(l->world.nodes[node], &r, &l->body);
        struct reader records = {buffer_slice(&l->body), false};
        while (records.left.size > 0 && partition_stats_decode(&records, &s) == STATUS_OK)
            out.of[node] += s.leads;
        out.min = out.of[node] < out.min ? out.of[node] : out.min;
        out.max = out.of[node] > out.max ? out.of[node] : out.max;
    }
    return out;
}

static void print_spread(const char *when, const struct spread *s)
{
    printf("    %s: ", when);
    for (uint32_t node = 1; node <= NODES; node++)
        printf("%u%s", s->of[node], node < NODES ? ", " : " partitions led\n");
}

static uint32_t spread_total(const struct spread *s)
{
    uint32_t total = 0;
    for (uint32_t node = 1; node <= NODES; node++)
        total += s->of[node];
    return total;
}

static void start(struct lab *l)
{
    lab_init(l);
    l->world.plan.nodes = NODES;
    lab_set(l, "partition_max_wcu", "100");
    lab_set(l, "node_rcu", "1000");
    lab_start(l);
    lab_pass(l, 2 * NS_PER_S);
    lab_create_table(l, "led", 2000, PARTITIONS * 100);
}

static uint64_t sum_of_terms(struct lab *l)
{
    uint64_t leads = 0;
    for (uint32_t node = 1; node <= NODES; node++)
        leads += l->leads[node];
    return leads;
}

TEST(leaders_are_spread_over_the_nodes_that_are_there)
{
    struct lab l;
    struct buffer error = {0};
    start(&l);
    lab_pass(&l, 30 * NS_PER_S);
    struct spread s = spread_of(&l);
    print_spread("at first", &s);
    assert_int_equal(spread_total(&s), PARTITIONS);
    assert_true(s.max - s.min <= 1);
    uint32_t victim = lab_catalog_leader(&l) % NODES + 1;
    node_process_crash(l.world.nodes[victim], false);
    lab_pass(&l, 30 * NS_PER_S);
    s = spread_of(&l);
    print_spread("a node is down", &s);
    assert_int_equal(spread_total(&s), PARTITIONS);
    assert_true(s.max - s.min <= 2); /* of the nodes that have a replica */
    assert_int_equal(node_process_start(l.world.nodes[victim], &error), STATUS_OK);
    lab_pass(&l, 40 * NS_PER_S);
    s = spread_of(&l);
    print_spread("it is back", &s);
    assert_int_equal(spread_total(&s), PARTITIONS);
    assert_true(s.max - s.min <= 2);
    uint64_t terms = sum_of_terms(&l);
    lab_pass(&l, 300 * NS_PER_S);
    assert_int_equal(sum_of_terms(&l), terms); /* nothing swings */
    lab_deinit(&l);
}

/* The partition of a key, and the node that should lead it. */
static uint32_t node_for_key(struct lab *l, uint32_t key, uint32_t *partition)
{
    char text[16];
    struct buffer b = {0};
    const struct table *t = catalog_find(lab_catalog(l), slice_of("led"));
    int size = snprintf(text, sizeof text, "%u", key);
    struct attr a = {ATTR_STRING, slice_make(text, (size_t)size)};
    storage_key_append(&b, t->id, &a, NULL);
    const struct partition_info *p = table_partition_of(t, buffer_slice(&b));
    buffer_deinit(&b);
    *partition = p->id;
    return partition_node(p, 0);
}

/* Four partitions that one node leads are read at a tenth of its capacity each. */
TEST(load_is_led_by_several_nodes)
{
    enum {
        HOT = 4,
        EACH_PER_S = 100
    };
    struct lab l;
    struct flow flows[HOT];
    char keys[HOT][64];
    uint32_t hot[HOT], count = 0, partition, other, led[NODES + 1] = {0};
    start(&l);
    lab_pass(&l, 30 * NS_PER_S);
    for (uint32_t key = 0; count < HOT; key++) {
        bool known = false;
        assert_true(key < 10000);
        if (node_for_key(&l, key, &partition) != 1)
            continue;
        for (uint32_t i = 0; i < count; i++)
            known |= node_for_key(&l, hot[i], &other) == 1 && other == partition;
        if (known)
            continue;
        hot[count] = key;
        snprintf(keys[count], sizeof keys[0],
                 "\"Key\":{\"k\":{\"S\":\"%u\"}},\"ConsistentRead\":true", key);
        flows[count] = (struct flow){
            .table = "led", .operation = "GetItem", .more = keys[count], .per_second = EACH_PER_S};
        count++;
    }
    lab_run_flows(&l, flows, HOT, 60 * NS_PER_S);
    for (uint32_t i = 0; i < HOT; i++) {
        led[node_for_key(&l, hot[i], &partition)]++;
        assert_int_equal(flows[i].counts.failed, 0);
    }
    printf("    of %d hot partitions the nodes lead %u, %u, %u, %u, %u\n", HOT, led[1], led[2],
           led[3], led[4], led[5]);
    for (uint32_t node = 1; node <= NODES; node++)
        assert_true(led[node] <= 2);
    uint64_t terms = sum_of_terms(&l);
    lab_run_flows(&l, flows, HOT, 60 * NS_PER_S);
    assert_int_equal(sum_of_terms(&l), terms); /* nothing swings */
    lab_deinit(&l);
}
