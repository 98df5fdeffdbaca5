/* Reads of a node's store that fail: nobody is told anything but that. */
#include "tests/check.h"

#include "engine/node/control_port.h"
#include "engine/node/node_internal.h"
#include "sim/check/check.h"
#include "tests/support/cut_off.h"
#include "tests/support/lab.h"

#define KEY "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"a\"}}"
#define PUT "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}"

enum {
    TABLE = 1 /* the first one created */
};

struct answer {
    bool ended;
    int status;
    struct buffer body;
};

static void answered(void *context, int status, struct slice body)
{
    struct answer *a = context;
    a->ended = true;
    a->status = status;
    buffer_clear(&a->body);
    buffer_append_slice(&a->body, body);
}

static bool contains(const struct answer *a, const char *text)
{
    return memmem(a->body.data, a->body.size, text, strlen(text)) != NULL;
}

static void set_unreadable_at(struct lab *l, uint32_t node, bool unreadable)
{
    struct store_disk *m = &l->world.nodes[node]->store_disk;
    m->unreadable = 64;
    m->unreadable_left = unreadable ? UINT32_MAX : 0;
}

static void set_unreadable(struct lab *l, bool unreadable)
{
    for (uint32_t id = 1; id <= l->world.plan.nodes; id++)
        set_unreadable_at(l, id, unreadable);
}

static const struct partition *replica_at(const struct lab *l, uint32_t node, uint32_t group)
{
    return partitions_find(&node_process_node(l->world.nodes[node])->partitions, group);
}

static bool writes_log(const struct lab *l)
{
    bool any = false;
    for (uint32_t id = 1; id <= l->world.plan.nodes; id++)
        any |= l->world.nodes[id]->log_disk.in_flight_count > 0;
    return any;
}

static void begin(struct lab *l, struct answer *a, const char *operation, const char *body)
{
    a->ended = false;
    http_client_call(&l->clients[0][0], operation, slice_of(body), duration_ms(10000), answered, a);
}

static void call(struct lab *l, struct answer *a, const char *operation, const char *body)
{
    begin(l, a, operation, body);
    while (!a->ended)
        lab_pass(l, 10 * NS_PER_US);
}

/* A table with an item that has left the memory of its nodes. */
static void fixture_begin(struct lab *l, struct answer *a)
{
    lab_init(l);
    lab_set(l, "checkpoint_ms", "100");
    lab_set(l, "entries_max_bytes", "64KiB");
    lab_start(l);
    lab_pass(l, 2 * NS_PER_S);
    lab_create_table(l, "tab", 1000, 1000);
    call(l, a, "PutItem", PUT "}");
    assert_int_equal(a->status, 200);
    lab_pass(l, 5 * NS_PER_S);
}

static void fixture_end(struct lab *l, struct answer *a)
{
    buffer_deinit(&a->body);
    lab_deinit(l);
}

TEST(reads_that_fail_are_not_answered_with_nothing)
{
    struct lab l;
    struct answer a = {0};
    fixture_begin(&l, &a);
    set_unreadable(&l, true);
    call(&l, &a, "GetItem", KEY ",\"ConsistentRead\":true}");
    assert_int_equal(a.status, 500);
    call(&l, &a, "Scan", "{\"TableName\":\"tab\",\"ConsistentRead\":true}");
    assert_int_equal(a.status, 500);
    call(&l, &a, "PutItem", PUT ",\"ReturnValues\":\"ALL_OLD\"}");
    assert_int_equal(a.status, 500);
    set_unreadable(&l, false);
    call(&l, &a, "GetItem", KEY ",\"ConsistentRead\":true}");
    assert_int_equal(a.status, 200);
    assert_true(contains(&a, "\"n\""));
    fixture_end(&l, &a);
}

/* The item is read once before the write is proposed, and once when the write is applied. */
TEST(a_write_whose_old_item_cannot_be_read_does_not_report_that_there_was_none)
{
    struct lab l;
    struct answer a = {0};
    fixture_begin(&l, &a);
    begin(&l, &a, "DeleteItem", KEY ",\"ReturnValues\":\"ALL_OLD\"}");
    while (!writes_log(&l))
        lab_pass(&l, 10 * NS_PER_US);
    set_unreadable(&l, true);
    while (!a.ended)
        lab_pass(&l, 10 * NS_PER_US);
    assert_int_equal(a.status, 500);
    assert_true(contains(&a, "the write is done"));
    set_unreadable(&l, false);
    call(&l, &a, "GetItem", KEY ",\"ConsistentRead\":true}");
    assert_int_equal(a.status, 200);
    assert_false(contains(&a, "\"n\""));
    fixture_end(&l, &a);
}

/* More than the leader keeps of the log for those that are behind. */
static void put_much(struct lab *l, struct answer *a)
{
    char body[32000];
    for (int i = 0; i < 30; i++) {
        snprintf(
            body, sizeof body,
            "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"%d\"},\"v\":{\"S\":\"%030000d\"}}}", i,
            0);
        call(l, a, "PutItem", body);
        assert_int_equal(a->status, 200);
    }
}

TEST(a_snapshot_leaves_no_key_in_place_that_it_cannot_read)
{
    struct lab l;
    struct answer a = {0};
    struct arena arena = {0};
    struct buffer why = {0};
    fixture_begin(&l, &a);
    const uint32_t behind = lab_leader_of(&l, TABLE) % 3 + 1;
    const uint32_t partition = lab_table_of(&l, "tab", &arena).partitions[0].id;
    world_cut_off(&l.world, behind);
    call(&l, &a, "DeleteItem", KEY "}");
    assert_int_equal(a.status, 200);
    put_much(&l, &a);
    lab_pass(&l, 2 * NS_PER_S); /* checkpoints: the log has the deletion no more */
    set_unreadable_at(&l, behind, true);
    world_heal(&l.world, behind);
    lab_pass(&l, 5 * NS_PER_S);
    assert_true(replica_at(&l, behind, partition)->no_state); /* a snapshot waits */
    set_unreadable_at(&l, behind, false);
    lab_pass(&l, 5 * NS_PER_S);
    assert_false(replica_at(&l, behind, partition)->no_state);
    lab_table_of(&l, "tab", &arena);
    if (!check_replicas(l.world.nodes, buffer_slice(&l.body), 3, &why))
        fail_msg("%.*s", (int)why.size, (const char *)why.data);
    arena_deinit(&arena);
    fixture_end(&l, &a);
}

TEST(a_node_that_cannot_read_the_catalog_of_a_snapshot_stops)
{
    struct lab l;
    struct answer a = {0};
    struct buffer error = {0};
    fixture_begin(&l, &a);
    const uint32_t lost = lab_catalog_leader(&l) % 3 + 1;
    struct node_process *p = l.world.nodes[lost];
    node_process_crash(p, false);
    node_process_wipe(p);
    assert_int_equal(node_process_start(p, &error), STATUS_OK);
    const struct partition *catalog = NULL;
    for (int tries = 0; catalog == NULL || catalog->installing == NULL; tries++) {
        assert_true(tries < 1000000);
        lab_pass(&l, 100 * NS_PER_US);
        catalog = replica_at(&l, lost, CATALOG_GROUP);
    }
    set_unreadable_at(&l, lost, true); /* the snapshot is whole, and not installed */
    lab_pass(&l, 5 * NS_PER_S);
    assert_true(node_is_stopped(node_process_node(p)));
    assert_true(catalog->no_state);
    set_unreadable_at(&l, lost, false);
    node_process_crash(p, false);
    assert_int_equal(node_process_start(p, &error), STATUS_OK);
    lab_pass(&l, 20 * NS_PER_S);
    assert_false(node_is_stopped(node_process_node(p)));
    assert_non_null(catalog_find(node_catalog(node_process_node(p)), slice_of("tab")));
    fixture_end(&l, &a);
}
