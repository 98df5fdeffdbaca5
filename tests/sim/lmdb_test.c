/* Nodes whose stores are LMDB itself: what was committed outlives them, and the same calls give the
 * same world. */
#include "tests/check.h"

#include "tests/support/lab.h"

struct answer {
    bool ended;
    int status;
    bool has_item;
};

static void answered(void *context, int status, struct slice body)
{
    struct answer *a = context;
    a->ended = true;
    a->status = status;
    a->has_item = memmem(body.data, body.size, "\"n\"", 3) != NULL;
}

static struct answer call(struct lab *l, const char *operation, const char *body)
{
    struct answer a = {0};
    http_client_call(&l->clients[0][0], operation, slice_of(body), duration_ms(10000), answered,
                     &a);
    while (!a.ended)
        lab_pass(l, 10 * NS_PER_US);
    return a;
}

static uint64_t run(void)
{
    struct lab l;
    struct buffer error = {0};
    lab_init(&l);
    l.world.plan.lmdb = true;
    lab_set(&l, "checkpoint_ms", "100");
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    lab_create_table(&l, "tab", 1000, 1000);
    struct answer a = call(&l, "PutItem",
                           "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"a\"},"
                           "\"n\":{\"N\":\"1\"}}}");
    assert_int_equal(a.status, 200);
    lab_pass(&l, 5 * NS_PER_S); /* the item leaves memory and log */
    for (uint32_t id = 1; id <= l.world.plan.nodes; id++) {
        node_process_crash(l.world.nodes[id], id % 2 == 0);
        assert_int_equal(node_process_start(l.world.nodes[id], &error), STATUS_OK);
    }
    lab_pass(&l, 5 * NS_PER_S);
    a = call(&l, "GetItem",
             "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"a\"}},\"ConsistentRead\":true}");
    assert_int_equal(a.status, 200);
    assert_true(a.has_item);
    const uint64_t hash = world_hash(&l.world);
    buffer_deinit(&error);
    lab_deinit(&l);
    return hash;
}

static void what_lmdb_has_committed_outlives_nodes(void **state)
{
    (void)state;
    const uint64_t hash = run();
    assert_true(hash == run());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lmdb_has_committed_outlives_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
