/* Replicas that go or stop while something is under way: a snapshot, a report, a read. */
#include "tests/check.h"

#include "engine/catalog/report.h"
#include "engine/node/control_port.h"
#include "engine/node/node_internal.h"
#include "tests/support/cut_off.h"
#include "tests/support/lab.h"

enum {
    ITEMS = 60,
    ITEM_BYTES = 30000,
    TABLE = 1, /* the first one created */
    PARTITION = 1
};

static void set_at(struct lab *l, uint32_t node, const char *name, const char *value)
{
    struct buffer error = {0};
    assert_int_equal(config_set(&l->configs[node], slice_of(name), slice_of(value), &error),
                     STATUS_OK);
}

static void put_items(struct lab *l, const char *table, int count, int bytes)
{
    char *body = malloc((size_t)bytes + 256);
    struct counts c = {0};
    assert_non_null(body);
    for (int i = 0; i < count; i++) {
        int at = snprintf(body, 256,
                          "{\"TableName\":\"%s\",\"Item\":{\"k\":{\"S\":\"%d\"},\"v\":{\"S\":\"",
                          table, i);
        memset(body + at, 'v', (size_t)bytes);
        snprintf(body + at + bytes, 64, "\"}}}");
        lab_call(l, &c, "PutItem", body);
        lab_pass(l, 20 * NS_PER_MS);
    }
    free(body);
    lab_pass(l, NS_PER_S);
    assert_int_equal(c.ok, count);
}

static bool is_sending_a_snapshot(const struct lab *l, uint32_t node)
{
    const struct trace *t = node_trace(node_process_node(l->world.nodes[node]));
    int open = 0;
    for (uint64_t back = 0; trace_last(t, back) != NULL; back++) {
        const struct trace_event *e = trace_last(t, back);
        open += e->kind == NODE_TRACE_SNAPSHOT_BEGUN && e->subject > 0;
        open -= e->kind == NODE_TRACE_SNAPSHOT_ENDED && e->subject > 0;
    }
    return open > 0;
}

/* The leader's snapshot of a partition is dropped in the event that removes the partition. */
TEST(a_table_is_deleted_while_its_leader_sends_a_snapshot)
{
    struct lab l;
    struct buffer error = {0};
    struct counts c = {0};
    lab_init(&l);
    lab_set(&l, "snapshot_bytes_s", "64KiB");
    lab_set(&l, "snapshot_busy_bytes_s", "64KiB");
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    lab_create_table(&l, "tab", 1000, 1000);
    put_items(&l, "tab", ITEMS, ITEM_BYTES);
    uint32_t leader = lab_leader_of(&l, TABLE), victim = leader % 3 + 1;
    node_process_crash(l.world.nodes[victim], false);
    lab_pass(&l, 20 * NS_PER_S); /* a checkpoint: what the log had is compacted */
    node_process_wipe(l.world.nodes[victim]);
    assert_int_equal(node_process_start(l.world.nodes[victim], &error), STATUS_OK);
    for (int tries = 0; !is_sending_a_snapshot(&l, leader); tries++) {
        assert_true(tries < 600);
        lab_pass(&l, 100 * NS_PER_MS);
    }
    lab_call(&l, &c, "DeleteTable", "{\"TableName\":\"tab\"}");
    lab_pass(&l, 60 * NS_PER_S);
    assert_int_equal(c.ok, 1);
    lab_create_table(&l, "tab", 1000, 1000); /* the nodes live, and are able to hold it again */
    put_items(&l, "tab", 3, ITEM_BYTES);
    lab_deinit(&l);
}

/* Three lives of one replica's log: L has compacted what R lacks, M has not even written a
 * checkpoint of what R has. R begins to install a snapshot of L's, L dies, and M offers R one that
 * is older than what R has applied. */
TEST(a_snapshot_older_than_what_was_applied_is_refused_while_another_is_installed)
{
    struct lab l;
    lab_init(&l);
    lab_set(&l, "snapshot_bytes_s", "64KiB");
    lab_set(&l, "snapshot_busy_bytes_s", "64KiB");
    lab_set(&l, "snapshot_step_bytes", "1GiB");
    lab_set(&l, "control_leaders", "0");
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    lab_create_table(&l, "tab", 1000, 1000);
    uint32_t leader = lab_leader_of(&l, TABLE), behind = leader % 3 + 1, heir = behind % 3 + 1;
    put_items(&l, "tab", 3, ITEM_BYTES);
    lab_pass(&l, 20 * NS_PER_S); /* every node has written a checkpoint, so M has one to send */
    set_at(&l, heir, "checkpoint_ms", "3600000");
    set_at(&l, behind, "checkpoint_ms", "3600000");
    set_at(&l, leader, "checkpoint_ms", "100");
    set_at(&l, leader, "entries_max_bytes", "64KiB");
    put_items(&l, "tab", 10, ITEM_BYTES);
    world_cut_off(&l.world, behind);
    put_items(&l, "tab", 30, ITEM_BYTES);
    lab_pass(&l, 2 * NS_PER_S);
    world_heal(&l.world, behind);
    for (int tries = 0; !is_sending_a_snapshot(&l, leader); tries++) {
        assert_true(tries < 1000);
        lab_pass(&l, 10 * NS_PER_MS);
    }
    lab_pass(&l, 2 * NS_PER_S); /* R has begun */
    node_process_crash(l.world.nodes[leader], false);
    lab_pass(&l, 120 * NS_PER_S);
    assert_int_equal(lab_leader_of(&l, TABLE), heir);
    assert_int_equal(lab_stats_of(&l, behind, TABLE).bytes, lab_stats_of(&l, heir, TABLE).bytes);
    lab_deinit(&l);
}

/* A node that leads nothing does the writes of others, and has a capacity. */
TEST(a_node_that_only_follows_reports_what_it_consumes)
{
    struct lab l;
    struct control_view view;
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    lab_create_table(&l, "tab", 1000, 1000);
    put_items(&l, "tab", 10, 100);
    uint32_t leader = lab_catalog_leader(&l), node = lab_leader_of(&l, TABLE) % 3 + 1;
    node = node == leader ? node % 3 + 1 : node;
    assert_int_not_equal(node, leader);
    set_at(&l, node, "node_wcu", "7777");
    put_items(&l, "tab", 10, 100);
    lab_pass(&l, 2 * NS_PER_S);
    assert_int_not_equal(lab_leader_of(&l, TABLE), node);
    node_control_view(node_process_node(l.world.nodes[leader]), &view);
    const struct node_load *load = &view.loads->nodes[node];
    assert_true(load->has_report);
    assert_int_equal(load->capacity_mcu[ADMIT_WRITE], 7777 * MCU_PER_UNIT);
    assert_true(load->totals_mcu[ADMIT_WRITE] >= 10 * MCU_PER_UNIT);
    lab_deinit(&l);
}

/* A node that was cut off does not know what its successor has decided. */
TEST(a_catalog_leader_without_lease_names_no_replica_to_be_closed)
{
    struct lab l;
    struct buffer report = {0}, names = {0};
    lab_init(&l);
    lab_set(&l, "election_ms", "5000"); /* it steps down that much later than its lease ends */
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    lab_create_table(&l, "tab", 10, 10);
    uint32_t leader = lab_catalog_leader(&l);
    struct partition_report p = {
        .table_id = TABLE, .partition = PARTITION, .member = 1, .items = -1, .bytes = -1};
    struct node_report head = {.node = leader};
    node_report_encode(&report, &head);
    partition_report_encode(&report, &p);
    struct request r = {
        .id = 1, .op = REQUEST_TABLE_REPORT, .report.records = buffer_slice(&report)};
    node_process_request(l.world.nodes[leader], &r, &names);
    assert_true(names.size > 0); /* while it leads, it is sure */
    world_cut_off(&l.world, leader);
    lab_pass(&l, 700 * NS_PER_MS);
    assert_true(node_control_term(node_process_node(l.world.nodes[leader])) != 0);
    buffer_clear(&names);
    node_process_request(l.world.nodes[leader], &r, &names);
    lab_pass(&l, 20 * NS_PER_S);
    assert_int_equal(names.size, 0);
    buffer_deinit(&names);
    buffer_deinit(&report);
    lab_deinit(&l);
}

/* Strong reads wait for a round of heartbeats, then for pages. Every slot for waiting requests is
 * taken, so that each read waits the second time where it waited the first time. */
TEST(a_read_that_waits_twice_keeps_its_range)
{
    enum {
        SLOTS = 16,
        SECOND = 2 /* a partition that does not begin where the table does */
    };
    struct lab l;
    struct buffer now = {0}, late = {0};
    struct counts c = {0};
    char body[128];
    lab_init(&l);
    lab_set(&l, "resident_max_bytes", "0");
    lab_set(&l, "node_queue_max", "16");
    lab_set(&l, "election_ms", "5000");
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    lab_create_table(&l, "tab", 1000, 2000);
    for (int i = 0; i < ITEMS; i++) {
        snprintf(body, sizeof body, "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"%d\"}}}", i);
        lab_call(&l, &c, "PutItem", body);
        lab_pass(&l, 50 * NS_PER_MS);
    }
    lab_pass(&l, 20 * NS_PER_S);
    assert_int_equal(c.ok, ITEMS);
    uint32_t leader = 0;
    struct request r = {.op = REQUEST_RANGE, .range = {.consistent = true, .bytes_max = 1 << 20}};
    for (uint32_t node = 1; node <= 3; node++) {
        const struct partition_info *p =
            node_replica(node_process_node(l.world.nodes[node]), SECOND);
        leader = node;
        r.partition = SECOND;
        r.epoch = p->epoch;
        buffer_clear(&now);
        r.id = 1;
        node_process_request(l.world.nodes[node], &r, &now);
        lab_pass(&l, NS_PER_S);
        if (now.size > 0)
            break;
    }
    assert_true(now.size > 0);
    const uint8_t end[] = {0, 0, 0, TABLE, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    r.range.hi = slice_make(end, sizeof end);
    world_cut_off(&l.world, leader);
    lab_pass(&l, 700 * NS_PER_MS); /* the lease is over */
    for (r.id = 2; r.id < 2 + SLOTS; r.id++)
        node_process_request(l.world.nodes[leader], &r, &late);
    assert_int_equal(late.size, 0);
    world_heal(&l.world, leader);
    lab_pass(&l, 2 * NS_PER_S);
    assert_true(slice_equal(buffer_slice(&now), buffer_slice(&late)));
    buffer_deinit(&now);
    buffer_deinit(&late);
    lab_deinit(&l);
}

TEST(reads_that_wait_are_answered_when_the_disk_fails)
{
    struct lab l;
    struct buffer late = {0};
    struct counts c = {0};
    lab_init(&l);
    lab_set(&l, "election_ms", "5000");
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    lab_create_table(&l, "tab", 100, 100);
    lab_pass(&l, 20 * NS_PER_S);
    const char *put = "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"a\"}}}";
    lab_call(&l, &c, "PutItem", put); /* the router knows the way */
    lab_pass(&l, NS_PER_S);
    assert_int_equal(c.ok, 1);
    uint32_t leader = lab_leader_of(&l, TABLE);
    const struct node *n = node_process_node(l.world.nodes[leader]);
    struct request r = {.op = REQUEST_RANGE, .range = {.consistent = true, .bytes_max = 1000}};
    r.partition = PARTITION;
    r.epoch = node_replica(n, PARTITION)->epoch;
    world_cut_off(&l.world, leader);
    lab_pass(&l, 700 * NS_PER_MS);
    for (r.id = 1; r.id < 4; r.id++)
        node_process_request(l.world.nodes[leader], &r, &late);
    assert_false(node_is_idle(n));
    l.world.nodes[leader]->fail_write = true;
    lab_call(&l, &c, "PutItem", put);
    for (int tries = 0; !node_is_stopped(n); tries++) {
        assert_true(tries < 1000);
        lab_pass(&l, NS_PER_MS);
    }
    assert_true(node_is_idle(n)); /* nothing waits any more */
    lab_pass(&l, 20 * NS_PER_S);
    buffer_deinit(&late);
    lab_deinit(&l);
}

static void append_envelope_head(struct buffer *frame, uint32_t node, uint32_t generation,
                                 const struct liveness_beat *beat, uint32_t messages)
{
    buffer_append_u8(frame, MESSAGE_PEER);
    buffer_append_u32(frame, node);
    buffer_append_u32(frame, generation);
    buffer_append_u8(frame, 0);
    liveness_beat_encode(frame, beat);
    buffer_append_u64(frame, 0); /* headroom */
    buffer_append_u64(frame, 0);
    buffer_append_u64(frame, 0); /* wall clock */
    buffer_append_u32(frame, messages);
}

/* A frame that an earlier life of the node sent and that is read late. */
TEST(a_late_frame_of_an_earlier_life_changes_no_generation)
{
    struct lab l;
    struct buffer frame = {0};
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    uint32_t leader = lab_catalog_leader(&l), other = leader % 3 + 1;
    uint32_t generation = catalog_generation(lab_catalog(&l), other);
    struct liveness_beat beat = {.incarnation = 4711, .round = 1};
    append_envelope_head(&frame, other, generation + 2, &beat, 0);
    for (int i = 0; i < 100; i++) {
        network_datagram(l.world.network, other, leader, buffer_slice(&frame));
        lab_pass(&l, 5 * NS_PER_MS);
        assert_int_equal(catalog_generation(lab_catalog(&l), other), generation);
    }
    buffer_deinit(&frame);
    lab_deinit(&l);
}

/* Seed 41996: a term that came without entries. The row of the replica has to say it before the log
 * that says it is trimmed, also when the log was replayed meanwhile. */
TEST(a_term_and_a_vote_outlive_two_restarts)
{
    enum {
        TERM = 50
    };
    struct lab l;
    struct buffer error = {0}, frame = {0};
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    lab_create_table(&l, "tab", 100, 100);
    put_items(&l, "tab", 3, 100);
    lab_pass(&l, 20 * NS_PER_S);
    uint32_t leader = lab_leader_of(&l, TABLE), voter = leader % 3 + 1, other = voter % 3 + 1;
    const struct partition *p =
        partitions_find(&node_process_node(l.world.nodes[voter])->partitions, PARTITION);
    struct raft_message vote = {.kind = RAFT_VOTE,
                                .group = PARTITION,
                                .from = partition_member_on(&p->info, other),
                                .to = raft_self(p->raft),
                                .term = TERM,
                                .index = 1000,
                                .log_term = TERM - 1};
    uint32_t generation = catalog_generation(lab_catalog(&l), other);
    node_process_crash(l.world.nodes[leader], false);
    node_process_crash(l.world.nodes[other], false);
    lab_pass(&l, 5 * NS_PER_S); /* no lease grant is left */
    struct liveness_beat beat = {.incarnation = 4711, .round = 1};
    append_envelope_head(&frame, other, generation, &beat, 1);
    buffer_append_u8(&frame, PEER_RAFT);
    raft_message_encode(&frame, &vote);
    network_datagram(l.world.network, other, voter, buffer_slice(&frame));
    lab_pass(&l, NS_PER_S);
    assert_int_equal(raft_term(p->raft), TERM);
    for (int restarts = 0; restarts < 2; restarts++) {
        set_at(&l, voter, "support_ms", restarts == 0 ? "700" : "800"); /* which is written down */
        node_process_crash(l.world.nodes[voter], false);
        assert_int_equal(node_process_start(l.world.nodes[voter], &error), STATUS_OK);
        lab_pass(&l, 20 * NS_PER_S); /* a checkpoint */
        p = partitions_find(&node_process_node(l.world.nodes[voter])->partitions, PARTITION);
        assert_true(raft_term(p->raft) >= TERM);
    }
    buffer_deinit(&frame);
    lab_deinit(&l);
}

/* A full map refuses what the catalog's leader proposes by itself. */
TEST(a_refused_proposal_of_its_own_is_no_answer_to_a_nodes_report)
{
    struct lab l;
    struct buffer error = {0};
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    lab_create_table(&l, "tab", 100, 100);
    lab_pass(&l, 20 * NS_PER_S);
    uint32_t leader = lab_catalog_leader(&l), other = leader % 3 + 1;
    struct node *n = node_process_node(l.world.nodes[leader]);
    node_process_crash(l.world.nodes[other], false);
    node_process_wipe(l.world.nodes[other]);
    n->log.map_full = true;
    assert_int_equal(node_process_start(l.world.nodes[other], &error),
                     STATUS_OK); /* another generation */
    for (int i = 0; i < 200; i++) {
        lab_pass(&l, 5 * NS_PER_MS);
        assert_int_equal(n->reports.catalog_leader, leader);
    }
    lab_deinit(&l);
}

/* Its leader's map is full, so that it cannot be closed; its two followers can. */
TEST(a_deleted_table_is_served_by_nobody)
{
    struct lab l;
    struct buffer answer = {0};
    struct counts gone = {0};
    char name[16], name_body[64];
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    uint32_t table = 0, leader = 0;
    do { /* a table that is led elsewhere than the catalog, which must be able to write */
        assert_true(++table < 10);
        snprintf(name, sizeof name, "tab%u", table);
        lab_create_table(&l, name, 100, 100);
        put_items(&l, name, 1, ITEM_BYTES);
        lab_pass(&l, 20 * NS_PER_S);
        leader = lab_leader_of(&l, table);
    } while (leader == lab_catalog_leader(&l));
    snprintf(name_body, sizeof name_body, "{\"TableName\":\"%s\"}", name);
    struct node *n = node_process_node(l.world.nodes[leader]);
    struct request r = {.op = REQUEST_RANGE,
                        .partition = table,
                        .epoch = node_replica(n, table)->epoch,
                        .range = {.consistent = true, .bytes_max = 1000}};
    node_process_request(l.world.nodes[leader], &r, &answer);
    assert_true(answer.size > 0);
    n->log.map_full = true;
    lab_call(&l, &gone, "DeleteTable", name_body);
    lab_pass(&l, NS_PER_S);
    assert_int_equal(gone.ok, 1);
    for (int tries = 0; gone.failed == 0; tries++) {
        assert_true(tries < 100);
        lab_call(&l, &gone, "DescribeTable", name_body);
        lab_pass(&l, 100 * NS_PER_MS);
    }
    buffer_clear(&answer);
    node_process_request(l.world.nodes[leader], &r, &answer);
    lab_pass(&l, NS_PER_S);
    assert_int_equal(answer.size, 0);
    buffer_deinit(&answer);
    lab_deinit(&l);
}

/* They are told to open a part of what they hold, as after the decision to split it. Their leader
 * goes on serving strong reads without asking them. */
TEST(followers_that_doubt_support_their_leader)
{
    struct lab l;
    struct buffer body = {0}, answer = {0};
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    lab_create_table(&l, "tab", 10, 10);
    lab_pass(&l, 20 * NS_PER_S);
    uint32_t leader = lab_leader_of(&l, TABLE);
    const struct node *n = node_process_node(l.world.nodes[leader]);
    struct raft *raft = partitions_find(&n->partitions, PARTITION)->raft;
    for (uint32_t node = 1; node <= 3; node++) {
        struct partition_info child =
            *node_replica(node_process_node(l.world.nodes[node]), PARTITION);
        child.id = PARTITION + 1;
        buffer_clear(&body);
        partition_info_encode(&body, &child);
        struct request r = {.op = REQUEST_PARTITION_OPEN,
                            .partition = child.id,
                            .epoch = child.epoch,
                            .replica = {.info = buffer_slice(&body), .as_of = 1000}};
        if (node != leader)
            node_process_request(l.world.nodes[node], &r, &answer);
    }
    for (int i = 0; i < 4000; i++) {
        uint64_t round;
        lab_pass(&l, 100 * NS_PER_US);
        assert_int_equal(raft_read(raft, n->env.now, &round), RAFT_OK);
    }
    buffer_deinit(&answer);
    buffer_deinit(&body);
    lab_deinit(&l);
}

/* Items larger than a slice of what is read on the loop, on both sides. */
TEST(a_snapshot_passes_items_larger_than_a_slice)
{
    enum {
        BIG_BYTES = 350000,
        BIG_ITEMS = 5
    };
    struct lab l;
    lab_init(&l);
    lab_set(&l, "checkpoint_ms", "100");
    lab_set(&l, "entries_max_bytes", "64KiB");
    lab_set(&l, "partition_max_wcu", "40000");
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    lab_create_table(&l, "tab", 1000, 40000);
    put_items(&l, "tab", BIG_ITEMS, BIG_BYTES);
    uint32_t leader = lab_leader_of(&l, TABLE), behind = leader % 3 + 1;
    world_cut_off(&l.world, behind);
    put_items(&l, "tab", BIG_ITEMS + 2, BIG_BYTES);
    lab_pass(&l, 2 * NS_PER_S);
    world_heal(&l.world, behind);
    lab_pass(&l, 30 * NS_PER_S);
    assert_int_equal(lab_stats_of(&l, behind, TABLE).bytes, lab_stats_of(&l, leader, TABLE).bytes);
    lab_deinit(&l);
}

TEST(writers_leave_a_leader_whose_disk_has_failed)
{
    struct lab l;
    struct counts c = {0}, after = {0};
    const char *put = "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"a\"}}}";
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    lab_create_table(&l, "tab", 100, 100);
    lab_call(&l, &c, "PutItem", put);
    lab_pass(&l, NS_PER_S);
    uint32_t leader = lab_leader_of(&l, TABLE);
    l.world.nodes[leader]->fail_write = true;
    lab_call(&l, &c, "PutItem", put);
    lab_pass(&l, 10 * NS_PER_S); /* another one leads by now */
    assert_true(node_is_stopped(node_process_node(l.world.nodes[leader])));
    for (int i = 0; i < 5; i++) {
        lab_call(&l, &after, "PutItem", put);
        lab_pass(&l, NS_PER_S);
    }
    assert_int_equal(after.ok, 5);
    lab_deinit(&l);
}

static void cut_between(struct lab *l, uint32_t a, uint32_t b)
{
    network_cut(l->world.network, a, b);
    network_cut(l->world.network, b, a);
    network_reset(l->world.network, a, b); /* what was on its way is lost */
}

static void heal_between(struct lab *l, uint32_t a, uint32_t b)
{
    network_heal(l->world.network, a, b);
    network_heal(l->world.network, b, a);
}

static void lose_disk(struct lab *l, uint32_t node)
{
    struct buffer error = {0};
    node_process_crash(l->world.nodes[node], false);
    node_process_wipe(l->world.nodes[node]);
    assert_int_equal(node_process_start(l->world.nodes[node], &error), STATUS_OK);
}

static void put(struct lab *l, const char *key)
{
    char body[64];
    struct counts c = {0};
    snprintf(body, sizeof body, "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"%s\"}}}", key);
    lab_call(l, &c, "PutItem", body);
    lab_pass(l, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
}

/* The catalog decides to split the table's first partition. Its group need not hear of that. */
static void decide_split(struct lab *l, const char *table)
{
    struct buffer body = {0}, answer = {0};
    const struct table *t = catalog_find(lab_catalog(l), slice_of(table));
    const uint8_t middle[] = {0, 0, 0, (uint8_t)t->id, 0x80, 0, 0, 0, 0, 0, 0, 0};
    struct table_split split = {.table_id = t->id,
                                .partition = t->partitions[0].id,
                                .epoch = t->partitions[0].epoch,
                                .point_count = 1,
                                .points = {slice_make(middle, sizeof middle)}};
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {
        .id = 1, .op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    node_process_request(l->world.nodes[lab_catalog_leader(l)], &r, &answer);
    lab_pass(l, NS_PER_S);
    assert_true(table_is_splitting(catalog_find(lab_catalog(l), slice_of(table))));
    buffer_deinit(&answer);
    buffer_deinit(&body);
}

/* A group has its replicas on A, B and C. The replica on C is opened after the decision to split
 * the group, while the catalog's leader reaches neither A nor B. A loses its disk, and C leads.
 * Then B loses its disk: no replica is left that was opened before the decision. */
TEST(a_group_splits_though_every_replica_left_was_opened_after_the_decision)
{
    enum {
        CATALOG = 1, /* the node that leads the catalog */
        A = 4,
        B = 2,
        C = 5,
        TAB = 2 /* the table and its partition */
    };
    struct lab l;
    struct counts read = {0};
    lab_init(&l);
    l.world.plan.nodes = 5;
    lab_start(&l);
    lab_pass(&l, 20 * NS_PER_S);
    lab_create_table(&l, "other", 10, 10); /* on nodes 1 to 3: "tab" finds room on A, B and C */
    cut_between(&l, CATALOG, C);
    lab_create_table(&l, "tab", 10, 10);
    put(&l, "1");
    assert_int_equal(lab_catalog_leader(&l), CATALOG);
    assert_true(lab_stats_of(&l, A, TAB).leads);
    assert_non_null(node_replica(node_process_node(l.world.nodes[B]), TAB));
    assert_null(node_replica(node_process_node(l.world.nodes[C]), TAB));
    cut_between(&l, CATALOG, A);
    cut_between(&l, CATALOG, B);
    lab_pass(&l, 2 * NS_PER_S);
    decide_split(&l, "tab");
    heal_between(&l, CATALOG, C);
    lab_pass(&l, 2 * NS_PER_S);
    assert_non_null(node_replica(node_process_node(l.world.nodes[C]), TAB));
    cut_between(&l, A, B);
    put(&l, "2"); /* which C has, but not B: C is elected */
    lose_disk(&l, A);
    heal_between(&l, CATALOG, A);
    heal_between(&l, A, B);
    lab_pass(&l, 10 * NS_PER_S); /* A is a member anew */
    lose_disk(&l, B);
    heal_between(&l, CATALOG, B);
    lab_pass(&l, 10 * NS_PER_S);
    assert_false(table_is_splitting(catalog_find(lab_catalog(&l), slice_of("tab"))));
    lab_call(&l, &read, "Scan", "{\"TableName\":\"tab\",\"ConsistentRead\":true}");
    lab_pass(&l, NS_PER_S);
    assert_int_equal(read.ok, 1);
    lab_deinit(&l);
}
