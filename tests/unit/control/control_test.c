/* The controller as a pure machine: a catalog and loads in, decisions out. */
#include "tests/check.h"

#include "engine/item/storage_key.h"

#include "base/settings/adaptive.h"
#include "base/settings/admission.h"
#include "base/settings/control.h"
#include "base/settings/replication.h"
#include "tests/support/catalog_fixture.h"
#include "tests/support/control_fixture.h"

/* ---- what nodes and operators do ---- */

/* As the nodes do once a replica is where it should be: first LET_GO, then LEFT. */
static void replica_left(struct control_fixture *w, const char *name, enum catalog_op op)
{
    const struct table *t = catalog_find(w->catalog, slice_of(name));
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        if (p->leaving == 0)
            continue;
        struct buffer b = {0};
        struct decision d = {.table_id = t->id,
                             .partition = p->id,
                             .epoch = p->epoch,
                             .from_node = raft_member_node(p->leaving)};
        decision_encode(&b, &d);
        struct catalog_command c = control_fixture_command(w, op);
        c.decision = buffer_slice(&b);
        assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
        buffer_deinit(&b);
        t = catalog_find(w->catalog, slice_of(name));
    }
}

static void erase_what_left(struct control_fixture *w, const char *name)
{
    replica_left(w, name, CATALOG_LET_GO);
    replica_left(w, name, CATALOG_LEFT);
}

static void drain(struct control_fixture *w, uint32_t node, bool on)
{
    struct buffer b = {0};
    struct decision d = {.to_node = node, .drain = on};
    decision_encode(&b, &d);
    struct catalog_command c = control_fixture_command(w, CATALOG_DRAIN);
    c.decision = buffer_slice(&b);
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    buffer_deinit(&b);
}

static bool holds_any(const struct table *t, uint32_t node)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        if (partition_member_on(&t->partitions[i], node) != 0)
            return true;
    }
    return false;
}

/* ---- placement ---- */

TEST(nothing_is_decided_where_all_is_well)
{
    struct control_fixture w;
    control_fixture_init(&w, NODES);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 5000);
    for (int i = 0; i < 100; i++) {
        control_fixture_evaluate(&w, 500, true);
        assert_int_equal(w.decision_count, 0);
    }
    control_fixture_deinit(&w);
}

TEST(a_silent_node_is_replaced_after_its_time_and_not_before)
{
    struct control_fixture w;
    control_fixture_init(&w, 4);
    config_edit_control(&w.config)->node_silent_ms = 10000;
    const struct table *t = control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 10);
    uint32_t silent = partition_node(&t->partitions[0], 1);
    control_fixture_evaluate(&w, 500, true);
    w.view.reachable[silent] = false;
    control_fixture_evaluate(&w, 500, true);
    control_fixture_evaluate(&w, 9000, true);
    w.view.reachable[silent] = true; /* back in time: its silence is forgotten */
    control_fixture_evaluate(&w, 500, true);
    w.view.reachable[silent] = false;
    control_fixture_evaluate(&w, 500, true);
    control_fixture_evaluate(&w, 9999, true);
    assert_int_equal(w.decision_count, 0);
    control_fixture_evaluate(&w, 1, true);
    assert_int_equal(w.decision_count, 1);
    assert_int_equal(w.ops[0], CATALOG_MOVE);
    assert_int_equal(w.decisions[0].from_node, silent);
    assert_int_equal(w.decisions[0].event.kind, EVENT_REPLICA_REPLACED);
    assert_false(holds_any(catalog_find(w.catalog, slice_of("orders")), silent));
    assert_int_equal(catalog_last_event(w.catalog), 1);
    control_fixture_deinit(&w);
}

TEST(a_new_leader_waits_the_whole_time_anew)
{
    struct control_fixture w;
    control_fixture_init(&w, 4);
    config_edit_control(&w.config)->node_silent_ms = 10000;
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 10);
    w.view.reachable[2] = w.view.reachable[3] = false;
    control_fixture_evaluate(&w, 500, true);
    w.view.term = 2;
    control_fixture_evaluate(&w, 9999, true);
    assert_int_equal(w.decision_count, 0);
    control_fixture_evaluate(&w, 9999, true);
    assert_int_equal(w.decision_count, 0);
    control_fixture_evaluate(&w, 1, true);
    assert_true(w.decision_count > 0);
    control_fixture_deinit(&w);
}

TEST(a_drained_node_is_emptied_a_few_replicas_at_a_time)
{
    struct control_fixture w;
    control_fixture_init(&w, NODES);
    config_edit_control(&w.config)->moves_max = 2;
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 10000);
    drain(&w, 2, true);
    int moved = 0;
    for (int i = 0; i < 20; i++) {
        control_fixture_evaluate(&w, 500, true);
        assert_true(w.decision_count <= 2);
        moved += (int)w.decision_count;
        uint32_t moves = w.decision_count;
        control_fixture_evaluate(&w, 500, true);
        assert_true(moves < 2 || w.decision_count == 0); /* they are on their way */
        moved += (int)w.decision_count;
        erase_what_left(&w, "orders");
    }
    const struct table *t = catalog_find(w.catalog, slice_of("orders"));
    assert_true(moved > 2);
    assert_false(holds_any(t, 2));
    for (uint32_t i = 0; i < t->partition_count; i++)
        assert_int_equal(t->partitions[i].member_count, 3);
    drain(&w, 2, false);
    control_fixture_evaluate(&w, 500, true);
    assert_int_equal(w.decision_count, 0);
    control_fixture_deinit(&w);
}

TEST(a_node_with_nowhere_to_go_is_told_once)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 10);
    drain(&w, 1, true);
    control_fixture_evaluate(&w, 500, true);
    assert_int_equal(w.decision_count, 1);
    assert_int_equal(w.ops[0], CATALOG_EVENT);
    assert_int_equal(w.decisions[0].event.kind, EVENT_STUCK);
    for (int i = 0; i < 100; i++) {
        control_fixture_evaluate(&w, 500, true);
        assert_int_equal(w.decision_count, 0);
    }
    control_fixture_introduce(&w, 4);
    control_fixture_evaluate(&w, 500, true);
    assert_int_equal(w.ops[0], CATALOG_MOVE);
    assert_int_equal(w.decisions[0].to_node, 4);
    control_fixture_deinit(&w);
}

TEST(no_replica_goes_where_its_allocation_does_not_fit)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    config_edit_admission(&w.config)->node_wcu = 1000;
    for (uint32_t node = 1; node <= 3; node++)
        w.nodes[node].capacity_mcu[ADMIT_WRITE] = 1000 * 1000;
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 800);
    control_fixture_introduce(&w, 4);
    w.nodes[4].capacity_mcu[ADMIT_WRITE] = 799 * 1000;
    cluster_loads_take_node(w.loads, w.now, &w.nodes[4]);
    drain(&w, 1, true);
    control_fixture_evaluate(&w, 500, true);
    assert_int_equal(w.ops[0], CATALOG_EVENT);
    w.nodes[4].capacity_mcu[ADMIT_WRITE] = 800 * 1000;
    cluster_loads_take_node(w.loads, w.now, &w.nodes[4]);
    control_fixture_evaluate(&w, 500, true);
    assert_int_equal(w.decision_count, 1);
    assert_int_equal(w.ops[0], CATALOG_MOVE);
    control_fixture_deinit(&w);
}

TEST(a_decision_is_not_made_twice_before_it_is_answered)
{
    struct control_fixture w;
    control_fixture_init(&w, 4);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 10);
    drain(&w, partition_node(&catalog_find(w.catalog, slice_of("orders"))->partitions[0], 0), true);
    w.now = instant_add(w.now, duration_ms(500));
    controller_evaluate(w.controller, w.now, &w.view);
    assert_non_null(controller_next_request(w.controller));
    assert_null(controller_next_request(w.controller));
    for (int i = 0; i < 19; i++) {
        control_fixture_evaluate(&w, 500, false);
        assert_int_equal(w.decision_count, 0);
    }
    control_fixture_evaluate(&w, 500, true); /* it is lost */
    assert_int_equal(w.decision_count, 1);
    control_fixture_deinit(&w);
}

TEST(groups_with_too_few_replicas_get_more)
{
    struct control_fixture w;
    control_fixture_init(&w, 1);
    config_edit_replication(&w.config)->replicas = 1;
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 10);
    config_edit_replication(&w.config)->replicas = 3;
    for (uint32_t node = 2; node <= NODES; node++)
        control_fixture_introduce(&w, node);
    for (int i = 0; i < 10; i++)
        control_fixture_evaluate(&w, 500, true);
    const struct table *t = catalog_find(w.catalog, slice_of("orders"));
    assert_int_equal(t->partitions[0].member_count, 3);
    assert_int_equal(t->partitions[0].joined, 6);
    control_fixture_deinit(&w);
}

/* ---- adaptive capacity ---- */

/* Parts of a thousand that are refused in the last of so many seconds. */
static int64_t run_demand(struct control_fixture *w, const char *name, struct demand *d,
                          int seconds)
{
    int64_t refused = 0, all = 0;
    for (int i = 0; i < seconds * 2; i++) {
        control_fixture_serve(w, catalog_find(w->catalog, slice_of(name)), d, 500);
        refused = i % 2 == 0 ? d->refused_mcu : refused + d->refused_mcu;
        all = (i % 2 == 0 ? 0 : all) + d->refused_mcu + d->consumed_mcu;
        control_fixture_evaluate(w, 500, true);
    }
    return refused * 1000 / all;
}

static int64_t rate_of(struct control_fixture *w, const char *name, uint32_t i)
{
    const struct table *t = catalog_find(w->catalog, slice_of(name));
    return t->partitions[i].rate_mcu[ADMIT_WRITE] / 1000;
}

/* Two partitions of 500 units: created with twice the throughput. */
static void create_diluted(struct control_fixture *w)
{
    control_fixture_create(w, "orders", BILLING_PROVISIONED, 10, 2000);
    struct catalog_command c = control_fixture_command(w, CATALOG_UPDATE);
    c.spec = (struct table_spec){
        .name = slice_of("orders"), .billing = BILLING_PROVISIONED, .rcu = 10, .wcu = 1000};
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    c = control_fixture_command(w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_find(w->catalog, slice_of("orders")));
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    assert_int_equal(rate_of(w, "orders", 0), 500);
}

TEST(dilution_throttles_a_third_and_adaptive_capacity_ends_it)
{
    for (int adaptive = 0; adaptive < 2; adaptive++) {
        struct control_fixture w;
        control_fixture_init(&w, 3);
        config_edit_control(&w.config)->control_adaptive = adaptive;
        create_diluted(&w);
        struct demand d = {.units = {810, 90}};
        int64_t refused = run_demand(&w, "orders", &d, 30);
        printf("    adaptive %s: %lld of 1000 refused\n", adaptive ? "on" : "off",
               (long long)refused);
        assert_in_range(refused, adaptive ? 0 : 340, adaptive ? 5 : 350);
        assert_int_equal(rate_of(&w, "orders", 1), 500); /* nobody pays for it */
        control_fixture_deinit(&w);
    }
}

TEST(nothing_is_raised_before_its_time)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    create_diluted(&w);
    struct demand d = {.units = {810, 90}};
    config_edit_adaptive(&w.config)->adaptive_after_ms = 5000;
    run_demand(&w, "orders", &d, 5);
    assert_int_equal(rate_of(&w, "orders", 0), 500);
    run_demand(&w, "orders", &d, 3);
    assert_true(rate_of(&w, "orders", 0) > 500);
    control_fixture_deinit(&w);
}

TEST(partitions_share_what_the_table_leaves_up_to_their_maximum)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 2400); /* three of 800 */
    struct demand d = {.units = {1000, 1000, 680}};
    run_demand(&w, "orders", &d, 7);
    int64_t given = rate_of(&w, "orders", 0) + rate_of(&w, "orders", 1) - 1600;
    assert_in_range(given, 1, 125); /* 120 are unused, and half of 200 wanted by each */
    d = (struct demand){.units = {2200}};
    run_demand(&w, "orders", &d, 40);
    assert_int_equal(rate_of(&w, "orders", 0), 1000); /* the partition maximum */
    control_fixture_deinit(&w);
}

TEST(a_table_above_its_limit_gets_no_more)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    create_diluted(&w);
    struct demand d = {.units = {900, 50}};
    run_demand(&w, "orders", &d, 30);
    assert_true(rate_of(&w, "orders", 0) >= 890);
    d.units[1] = 500; /* within its own allocation: together too much */
    run_demand(&w, "orders", &d, 60);
    assert_true(d.consumed_mcu <= 1000 * 500 * 110 / 100);
    assert_true(rate_of(&w, "orders", 0) <= 600);
    control_fixture_deinit(&w);
}

/* Two partitions of 100, nine tenths of the load in one. The step of demand in the other one is the
 * worst there is: until it is seen, the window of five seconds has passed. */
TEST(a_table_at_its_limit_gets_it_every_second)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 2000);
    struct catalog_command c = control_fixture_command(&w, CATALOG_UPDATE);
    c.spec = (struct table_spec){
        .name = slice_of("orders"), .billing = BILLING_PROVISIONED, .rcu = 10, .wcu = 200};
    assert_int_equal(control_fixture_apply(&w, &c), REPLY_OK);
    c = control_fixture_command(&w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_find(w.catalog, slice_of("orders")));
    assert_int_equal(control_fixture_apply(&w, &c), REPLY_OK);
    struct demand d = {.units = {360, 40}};
    for (int second = 0; second < 120; second++) {
        int64_t consumed = 0;
        d.units[1] = second < 60 ? 40 : 80;
        for (int half = 0; half < 2; half++) {
            control_fixture_serve(&w, catalog_find(w.catalog, slice_of("orders")), &d, 500);
            control_fixture_evaluate(&w, 500, true);
            consumed += d.consumed_mcu;
        }
        if (second % 60 >= 10)
            assert_in_range(consumed, 200 * 980, 200 * 1020);
    }
    assert_in_range(rate_of(&w, "orders", 0), 118, 122);
    control_fixture_deinit(&w);
}

TEST(what_a_table_leaves_is_shared_by_what_is_lacking)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 2400); /* three of 800 */
    struct demand d = {.units = {1000, 850, 680}}; /* 120 left, 200 and 50 lacking */
    run_demand(&w, "orders", &d, 20);
    int64_t given = rate_of(&w, "orders", 0) + rate_of(&w, "orders", 1) - 1600;
    assert_in_range(given, 120 - 24, 120); /* adaptive_margin_percent of 2,400 */
    assert_in_range(rate_of(&w, "orders", 0), 860, 910);
    control_fixture_deinit(&w);
}

TEST(a_boost_that_is_not_used_is_taken_back)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    create_diluted(&w);
    struct demand d = {.units = {810, 90}};
    run_demand(&w, "orders", &d, 30);
    d.units[0] = 100;
    run_demand(&w, "orders", &d, 60);
    int64_t after_minute = rate_of(&w, "orders", 0);
    assert_in_range(after_minute, 501, 650);
    run_demand(&w, "orders", &d, 600);
    assert_int_equal(rate_of(&w, "orders", 0), 500);
    control_fixture_deinit(&w);
}

/* Two nodes; the one that holds the hot partition is promised to others. */
TEST(a_node_without_the_spare_gives_the_replica_away_first)
{
    struct control_fixture w;
    control_fixture_init(&w, 1);
    config_edit_replication(&w.config)->replicas = 1;
    config_edit_admission(&w.config)->node_wcu = 2000;
    create_diluted(&w);
    control_fixture_create(&w, "others", BILLING_PROVISIONED, 10, 900);
    w.nodes[1].capacity_mcu[ADMIT_WRITE] = 2000 * 1000; /* 100 left */
    cluster_loads_take_node(w.loads, w.now, &w.nodes[1]);
    struct demand d = {.units = {810, 90}};
    run_demand(&w, "orders", &d, 20);
    assert_int_equal(rate_of(&w, "orders", 0), 600); /* what there is */
    control_fixture_introduce(&w, 2);
    w.nodes[2].capacity_mcu[ADMIT_WRITE] = 2000 * 1000;
    cluster_loads_take_node(w.loads, w.now, &w.nodes[2]);
    run_demand(&w, "orders", &d, 5);
    const struct partition_info *p = &catalog_find(w.catalog, slice_of("orders"))->partitions[0];
    assert_int_equal(partition_node(p, 0), 2);
    erase_what_left(&w, "orders");
    assert_in_range(run_demand(&w, "orders", &d, 20), 0, 5);
    control_fixture_deinit(&w);
}

/* ---- switches ---- */

TEST(what_is_switched_off_decides_nothing)
{
    struct control_fixture w;
    control_fixture_init(&w, 4);
    config_edit_control(&w.config)->control_split = 0;
    config_edit_control(&w.config)->control_adaptive = 0;
    config_edit_control(&w.config)->control_placement = 0;
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 800);
    drain(&w, 1, true);
    struct demand d = {.units = {2000}};
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 60), -1);
    assert_int_equal(catalog_last_event(w.catalog), 0);
    assert_int_equal(rate_of(&w, "orders", 0), 800);
    control_fixture_deinit(&w);
}

/* The last room of an evaluation goes to telling that a replica finds no place: adding one, for
 * which there is a place, has to wait. */
TEST(an_evaluation_that_is_full_adds_no_replica)
{
    struct control_fixture w;
    control_fixture_init(&w, 0);
    config_edit_control(&w.config)->moves_max = 100;
    config_edit_replication(&w.config)->replicas = 2;
    control_fixture_introduce(&w, 2);
    control_fixture_introduce(&w, 3);
    for (int i = 0; i < CONTROL_FIXTURE_DECISIONS_MAX - 1; i++) {
        char name[8];
        snprintf(name, sizeof name, "few-%02d", i);
        control_fixture_create(&w, name, BILLING_PROVISIONED, 10, 10);
    }
    control_fixture_introduce(&w, 1);
    const struct table *t = control_fixture_create(&w, "read", BILLING_PROVISIONED, 3000, 10);
    assert_int_equal(partition_node(&t->partitions[0], 0), 1);
    control_fixture_introduce(&w, 4);
    drain(&w, 1, true);
    config_edit_replication(&w.config)->replicas = 3;
    /* for its leader there is no place, for a follower there is */
    config_edit_admission(&w.config)->node_rcu = 2000;
    control_fixture_evaluate(&w, 1000, false);
    assert_int_equal(w.decision_count, CONTROL_FIXTURE_DECISIONS_MAX);
    for (int i = 0; i < CONTROL_FIXTURE_DECISIONS_MAX - 1; i++)
        assert_int_equal(w.decisions[i].event.kind, EVENT_REPLICA_ADDED);
    assert_int_equal(w.decisions[CONTROL_FIXTURE_DECISIONS_MAX - 1].event.kind, EVENT_STUCK);
    control_fixture_deinit(&w);
}

/* ---- balance ---- */

TEST(a_node_that_is_used_up_gives_away_what_costs_it_most)
{
    struct control_fixture w;
    control_fixture_init(&w, 2);
    config_edit_replication(&w.config)->replicas = 1;
    config_edit_admission(&w.config)->node_wcu = 1000;
    config_edit_control(&w.config)->control_split = 0;
    config_edit_control(&w.config)->control_adaptive = 0;
    config_edit_control(&w.config)->control_on_demand = 0;
    w.nodes[1].capacity_mcu[ADMIT_WRITE] = w.nodes[2].capacity_mcu[ADMIT_WRITE] = 1000 * 1000;
    w.view.reachable[2] = false; /* so that all is placed, and stays, on the first node */
    drain(&w, 2, true);
    control_fixture_create(&w, "small", BILLING_ON_DEMAND, 0, 0);
    control_fixture_create(&w, "large", BILLING_ON_DEMAND, 0, 0);
    w.view.reachable[2] = true;
    drain(&w, 2, false);
    struct demand small = {.units = {100}}, large = {.units = {600}};
    int moves = 0;
    for (int i = 0; i < 120; i++) {
        control_fixture_serve(&w, catalog_find(w.catalog, slice_of("small")), &small, 500);
        control_fixture_serve(&w, catalog_find(w.catalog, slice_of("large")), &large, 500);
        uint32_t node =
            partition_node(&catalog_find(w.catalog, slice_of("large"))->partitions[0], 0);
        w.nodes[1].consumed_mcu[ADMIT_WRITE] += small.consumed_mcu;
        w.nodes[node].consumed_mcu[ADMIT_WRITE] += large.consumed_mcu;
        cluster_loads_take_node(w.loads, w.now, &w.nodes[1]);
        cluster_loads_take_node(w.loads, w.now, &w.nodes[2]);
        control_fixture_evaluate(&w, 500, true);
        moves += (int)w.decision_count;
        erase_what_left(&w, "large");
        erase_what_left(&w, "small");
        if (i < 90) /* until 60: 700 of 1000; then the other node is no better off */
            assert_int_equal(moves, 0);
        w.nodes[2].consumed_mcu[ADMIT_WRITE] += i < 90 ? 600 * 500 : 0;
        if (i == 60)
            small.units[0] = 250; /* 850 */
    }
    assert_int_equal(moves, 1);
    assert_int_equal(partition_node(&catalog_find(w.catalog, slice_of("large"))->partitions[0], 0),
                     2);
    control_fixture_deinit(&w);
}

/* ---- the catalog's side ---- */

TEST(a_stale_move_is_refused_and_tells_nothing)
{
    struct control_fixture w;
    control_fixture_init(&w, NODES);
    const struct table *t = control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 10);
    const struct partition_info *p = &t->partitions[0];
    uint32_t from = partition_node(p, 0), other = partition_node(p, 1), to = 1, next;
    while (partition_member_on(p, to) != 0)
        to++;
    next = to + 1;
    while (partition_member_on(p, next) != 0)
        next++;
    struct decision d = {.table_id = t->id,
                         .partition = p->id,
                         .epoch = p->epoch,
                         .from_node = from,
                         .to_node = to,
                         .has_event = true,
                         .event = {.kind = EVENT_REPLICA_MOVED, .reason = slice_of("why")}};
    const struct {
        uint32_t from, to;
        uint64_t epoch;
        enum reply_code code;
    } steps[] = {
        {from, other, 0, REPLY_WRONG_PARTITION}, /* it has one */
        {next, to, 0, REPLY_WRONG_PARTITION},    /* it has none */
        {from, to, 1, REPLY_WRONG_PARTITION},    /* another epoch */
        {0, to, 0, REPLY_WRONG_PARTITION},       /* it has all its replicas */
        {from, to, 0, REPLY_OK},
        {from, to, 0, REPLY_WRONG_PARTITION},    /* a second time */
        {to, from, 0, REPLY_WRONG_PARTITION},    /* back, before it is erased */
        {other, next, 0, REPLY_WRONG_PARTITION}, /* one at a time */
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct buffer b = {0};
        uint64_t events = catalog_last_event(w.catalog);
        d.from_node = steps[i].from;
        d.to_node = steps[i].to;
        d.epoch = 1 + steps[i].epoch;
        decision_encode(&b, &d);
        struct catalog_command c = control_fixture_command(&w, CATALOG_MOVE);
        c.decision = buffer_slice(&b);
        assert_int_equal(control_fixture_apply(&w, &c), steps[i].code);
        assert_int_equal(catalog_last_event(w.catalog) - events, steps[i].code == REPLY_OK);
        buffer_deinit(&b);
    }
    assert_true(catalog_may_have(w.catalog, d.partition, raft_member_id(from, from * 11, 0)));
    for (int twice = 0; twice < 2; twice++) {
        replica_left(&w, "orders", CATALOG_LET_GO);
        p = &catalog_find(w.catalog, slice_of("orders"))->partitions[0];
        assert_true(p->let_go && raft_member_node(p->leaving) == from);
    }
    erase_what_left(&w, "orders");
    assert_false(catalog_may_have(w.catalog, d.partition, raft_member_id(from, from * 11, 0)));
    p = &catalog_find(w.catalog, slice_of("orders"))->partitions[0];
    assert_true(p->leaving == 0 && !p->let_go);
    control_fixture_deinit(&w);
}

/* DECISIONS-3. The second rate is more than the nodes have. */
TEST(a_decision_that_names_a_partition_twice_changes_no_rate)
{
    struct catalog_fixture w;
    struct buffer before = {0}, after = {0};
    catalog_fixture_init(&w, NODES);
    const struct partition_info *p = catalog_fixture_at(&w, 0);
    table_encode(&before, catalog_fixture_table(&w));
    struct decision d = {.table_id = p->table_id, .rate_count = 2};
    for (int64_t i = 0; i < 2; i++)
        d.rates[i] = (struct decision_rate){p->id, p->epoch, {1 + i * INT64_C(1000000000000), 1}};
    enum reply_code code = catalog_fixture_decide(&w, CATALOG_RATES, &d);
    table_encode(&after, catalog_fixture_table(&w));
    assert_true(slice_equal(buffer_slice(&before), buffer_slice(&after)));
    assert_int_equal(code, REPLY_WRONG_PARTITION);
    assert_non_null(memmem(w.text.data, w.text.size, "names a partition twice", 23));
    buffer_deinit(&before);
    buffer_deinit(&after);
    catalog_fixture_deinit(&w);
}
