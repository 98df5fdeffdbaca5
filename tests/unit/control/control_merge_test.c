/* When the controller has two partitions become one, and when not. */
#include "tests/check.h"

#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/control.h"
#include "base/settings/merge.h"
#include "base/settings/split.h"
#include "base/settings/tables.h"
#include "tests/support/control_fixture.h"

enum {
    COLD_S = 60,
    BACKOFF_S = 30
};

/* Nothing but merges, unless a test says so. */
static void start(struct control_fixture *w, uint32_t nodes)
{
    control_fixture_init(w, nodes);
    struct settings_control *control = config_edit_control(&w->config);
    control->control_merge = 1;
    config_edit_merge(&w->config)->merge_cold_ms = COLD_S * 1000;
    config_edit_merge(&w->config)->merge_backoff_ms = BACKOFF_S * 1000;
    control->control_adaptive = control->control_placement = control->control_split = 0;
    control->control_on_demand = control->control_balance = control->control_leaders = 0;
}

static const struct table *table_of(const struct control_fixture *w, const char *name)
{
    return catalog_find(w->catalog, slice_of(name));
}

static const struct partition_info *at(const struct control_fixture *w, const char *name,
                                       uint32_t i)
{
    assert_true(i < table_of(w, name)->partition_count);
    return &table_of(w, name)->partitions[i];
}

static uint64_t hash_of(struct slice bound, uint64_t open)
{
    uint64_t hash;
    if (bound.size < 12)
        return open;
    memcpy(&hash, bound.data + 4, sizeof hash);
    return __builtin_bswap64(hash);
}

/* Evenly, and settled. */
static void cut(struct control_fixture *w, const char *name, uint32_t i, uint32_t pieces)
{
    const struct partition_info *p = at(w, name, i);
    struct buffer b = {0};
    uint8_t keys[16][12];
    uint64_t lo = hash_of(p->lo, 0), step = (hash_of(p->hi, UINT64_MAX) - lo) / pieces;
    struct table_split s = {
        .table_id = p->table_id, .partition = p->id, .epoch = p->epoch, .cut_count = pieces - 1};
    for (uint32_t k = 0; k + 1 < pieces; k++) {
        uint64_t hash = __builtin_bswap64(lo + (k + 1) * step);
        memcpy(keys[k], p->lo.data, 4);
        memcpy(keys[k] + 4, &hash, 8);
        s.cuts[k] = slice_make(keys[k], 12);
    }
    table_split_share_equally(&s);
    table_split_encode(&b, &s);
    struct catalog_command c = control_fixture_command(w, CATALOG_SPLIT);
    c.split = buffer_slice(&b);
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    buffer_deinit(&b);
    c = control_fixture_command(w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, table_of(w, name));
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
}

/* A table of four partitions that needs one: 225 write units a second each. */
static void create_four(struct control_fixture *w, const char *name)
{
    control_fixture_create(w, name, BILLING_PROVISIONED, 900, 900);
    cut(w, name, 0, 4);
}

static enum reply_code decide(struct control_fixture *w, enum catalog_op op,
                              const struct decision *d)
{
    struct buffer b = {0};
    decision_encode(&b, d);
    struct catalog_command c = control_fixture_command(w, op);
    c.decision = buffer_slice(&b);
    enum reply_code code = control_fixture_apply(w, &c);
    buffer_deinit(&b);
    return code;
}

static void say(struct control_fixture *w, enum merge_word word, const struct partition_info *p)
{
    struct decision d = {
        .table_id = p->table_id, .partition = p->id, .epoch = p->epoch, .merge = word};
    assert_int_equal(decide(w, CATALOG_MERGE, &d), REPLY_OK);
}

/* What the last evaluation decided; NULL: no merge. */
static const struct decision *merge_of(const struct control_fixture *w)
{
    const struct decision *found = NULL;
    for (uint32_t i = 0; i < w->decision_count; i++) {
        if (w->ops[i] != CATALOG_MERGE)
            continue;
        assert_null(found); /* one at an evaluation */
        found = &w->decisions[i];
    }
    return found;
}

static bool merges(const struct control_fixture *w, const char *name, uint32_t lower,
                   uint32_t upper)
{
    const struct decision *d = merge_of(w);
    return d != NULL && d->table_id == table_of(w, name)->id && d->merge_with == lower &&
           d->partition == upper;
}

/* Seconds of that demand until a merge is decided; -1: none is. */
static int seconds_to_merge(struct control_fixture *w, const char *name, struct demand *d, int max)
{
    for (int i = 1; i <= max * 2; i++) {
        control_fixture_serve(w, table_of(w, name), d, 500);
        control_fixture_evaluate(w, 500, true);
        if (merge_of(w) != NULL)
            return (i + 1) / 2;
    }
    return -1;
}

#define assert_merges_at(w, name, demand, seconds) \
    assert_in_range(seconds_to_merge(w, name, demand, (seconds) + 20), (seconds)-1, (seconds) + 2)

/* ---- how long, and how cold ---- */

TEST(the_first_two_that_have_been_cold_for_long_are_merged)
{
    struct control_fixture w;
    struct demand d = {.units = {10, 10, 10, 10}};
    start(&w, 3);
    create_four(&w, "orders");
    for (uint32_t i = 0; i < 4; i++)
        w.reports[at(&w, "orders", i)->id].bytes = 1000;
    const struct partition_info lower = *at(&w, "orders", 0), upper = *at(&w, "orders", 1);
    /* For the first half of split_window_ms nothing is known. */
    assert_in_range(seconds_to_merge(&w, "orders", &d, COLD_S + 10), COLD_S + 5, COLD_S + 7);
    const struct decision *m = merge_of(&w);
    assert_true(merges(&w, "orders", lower.id, upper.id));
    assert_int_equal(m->merge, MERGE_BEGIN);
    assert_int_equal(m->epoch, upper.epoch);
    assert_int_equal(m->merge_with_epoch, lower.epoch);
    assert_int_equal(m->event.kind, EVENT_MERGE);
    assert_int_equal(m->event.partition, upper.id);
    assert_slice_is(m->event.reason,
                    "partition 1 is to take over its keys: both have been cold for 60 s; together "
                    "they are asked for 2 % of a partition's maximum and hold 2000 bytes");
    assert_slice_is(m->event.figure, "partitions");
    assert_int_equal(m->event.before, 4);
    assert_int_equal(m->event.after, 3);
    assert_int_equal(at(&w, "orders", 1)->merge, MERGE_FREEZE); /* the catalog has taken it */
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1); /* one after the other */
    control_fixture_deinit(&w);
}

TEST(nothing_is_merged_unless_that_is_switched_on)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    struct config fresh;
    config_init(&fresh, PROFILE_AWS);
    config_edit_control(&w.config)->control_merge = config_control(&fresh)->control_merge;
    create_four(&w, "orders");
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 10 * COLD_S), -1);
    control_fixture_deinit(&w);
}

TEST(by_default_a_merge_takes_an_hour_without_load)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    struct config fresh;
    config_init(&fresh, PROFILE_AWS);
    config_edit_merge(&w.config)->merge_cold_ms = config_merge(&fresh)->merge_cold_ms;
    create_four(&w, "orders");
    assert_merges_at(&w, "orders", &d, 3600);
    control_fixture_deinit(&w);
}

TEST(partitions_are_cold_by_what_both_are_asked_for_together)
{
    static const struct {
        int64_t lower, upper;
        bool cold;
    } cases[] = {{100, 100, true}, {150, 50, true}, {101, 100, false}, {0, 201, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct control_fixture w;
        struct demand d = {.units = {cases[i].lower, cases[i].upper, 205, 205}};
        start(&w, 3);
        create_four(&w, "orders");
        int seconds = seconds_to_merge(&w, "orders", &d, 2 * COLD_S);
        assert_int_equal(seconds > 0, cases[i].cold);
        control_fixture_deinit(&w);
    }
}

TEST(what_is_refused_counts_as_asked_for)
{
    struct control_fixture w;
    struct demand d = {.units = {190, 10}}; /* 100 of them pass */
    start(&w, 3);
    config_edit_merge(&w.config)->merge_fill_percent = 19;
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 200, 200);
    cut(&w, "orders", 0, 2);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1);
    d.units[0] = 180;
    assert_merges_at(&w, "orders", &d, COLD_S + 10); /* once split_window_ms has passed */
    control_fixture_deinit(&w);
}

TEST(a_refusal_by_the_maximum_ends_the_cold)
{
    struct control_fixture w;
    struct demand d = {.units = {1, 1, 205, 205}};
    start(&w, 3);
    create_four(&w, "orders");
    assert_int_equal(seconds_to_merge(&w, "orders", &d, COLD_S - 5), -1);
    w.reports[at(&w, "orders", 1)->id].totals[ADMIT_WRITE].refused[ADMIT_REFUSED_KEY_RANGE]++;
    assert_merges_at(&w, "orders", &d, COLD_S + 10); /* once split_window_ms has passed */
    control_fixture_deinit(&w);
}

TEST(load_in_between_begins_the_time_anew)
{
    struct control_fixture w;
    struct demand d = {.units = {1, 1, 205, 205}};
    start(&w, 3);
    create_four(&w, "orders");
    assert_int_equal(seconds_to_merge(&w, "orders", &d, COLD_S - 5), -1);
    d.units[1] = 222;
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 10), -1);
    d.units[1] = 0;
    assert_in_range(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), COLD_S, COLD_S + 10);
    control_fixture_deinit(&w);
}

/* One of the tables is merged, and the answer is lost: meanwhile the controller decides nothing. */
TEST(load_is_noted_at_looks_that_decide_nothing)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    config_edit_split(&w.config)->split_window_ms = 2000;
    config_edit_merge(&w.config)->merge_backoff_ms = 1000000;
    control_fixture_create(&w, "a", BILLING_PROVISIONED, 100, 100);
    cut(&w, "a", 0, 2);
    create_four(&w, "b");
    for (int i = 0; i < 2 * COLD_S + 4; i++) {
        control_fixture_serve(&w, table_of(&w, "a"), &d, 500);
        control_fixture_serve(&w, table_of(&w, "b"), &d, 500);
        w.now = instant_add(w.now, duration_ms(500));
        controller_evaluate(w.controller, w.now, &w.view);
        if (controller_next_request(w.controller) == NULL)
            continue;
        assert_null(controller_next_request(w.controller)); /* and not answered */
        break;
    }
    d.units[0] = d.units[1] = d.units[2] = d.units[3] = 200;
    assert_int_equal(seconds_to_merge(&w, "b", &d, 3), -1);
    d = (struct demand){.units = {0}};
    assert_int_equal(seconds_to_merge(&w, "b", &d, COLD_S - 10), -1);
    control_fixture_deinit(&w);
}

/* ---- what is known ---- */

TEST(a_piece_is_cold_from_its_birth_on)
{
    struct control_fixture w;
    struct demand d = {.units = {1, 1, 205, 1}};
    start(&w, 3);
    create_four(&w, "orders");
    assert_int_equal(seconds_to_merge(&w, "orders", &d, COLD_S - 20), -1);
    cut(&w, "orders", 0, 2); /* the pieces, and the neighbour of the upper one */
    d = (struct demand){.units = {1, 1, 1, 205, 1}};
    assert_in_range(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), COLD_S, COLD_S + 15);
    control_fixture_deinit(&w);
}

TEST(what_another_leader_saw_does_not_count)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    create_four(&w, "orders");
    assert_int_equal(seconds_to_merge(&w, "orders", &d, COLD_S - 5), -1);
    w.view.term = 2;
    assert_merges_at(&w, "orders", &d, COLD_S);
    control_fixture_deinit(&w);
}

TEST(idle_partitions_of_which_nobody_reports_are_cold)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    create_four(&w, "orders");
    control_fixture_serve(&w, table_of(&w, "orders"), &d, 500);
    for (int i = 0; i < 2 * COLD_S; i++) {
        control_fixture_evaluate(&w, 500, true);
        assert_null(merge_of(&w));
    }
    control_fixture_evaluate(&w, 500, true);
    assert_non_null(merge_of(&w));
    control_fixture_deinit(&w);
}

TEST(a_partition_that_was_never_heard_of_is_not_cold)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    create_four(&w, "orders");
    struct table first = *table_of(&w, "orders");
    first.partition_count = 1; /* of the others there is no report */
    for (int i = 0; i < 4 * COLD_S; i++) {
        control_fixture_serve(&w, &first, &d, 500);
        control_fixture_evaluate(&w, 500, true);
        assert_null(merge_of(&w));
    }
    control_fixture_deinit(&w);
}

TEST(nothing_is_known_of_partitions_whose_leader_is_out_of_reach)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    create_four(&w, "orders");
    uint32_t leader = partition_node(at(&w, "orders", 0), 0);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, COLD_S - 5), -1);
    w.view.reachable[leader] = false;
    control_fixture_evaluate(&w, 500, true);
    w.view.reachable[leader] = true;
    assert_merges_at(&w, "orders", &d, COLD_S);
    control_fixture_deinit(&w);
}

/* After a split that the leader has not reported yet. */
TEST(what_is_known_of_another_range_says_nothing)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 100);
    cut(&w, "orders", 0, 2);
    control_fixture_serve(&w, table_of(&w, "orders"), &d, 500);
    control_fixture_evaluate(&w, 500, true);
    cut(&w, "orders", 1, 2);
    for (int i = 0; i < 4 * COLD_S; i++) {
        control_fixture_evaluate(&w, 500, true);
        assert_null(merge_of(&w));
    }
    assert_merges_at(&w, "orders", &d, COLD_S);
    control_fixture_deinit(&w);
}

/* The replica that reported is no member any more, and the one that leads now has not. */
TEST(what_a_former_member_reported_says_nothing)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 4);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 100);
    cut(&w, "orders", 0, 2);
    control_fixture_serve(&w, table_of(&w, "orders"), &d, 500);
    for (uint32_t i = 0; i < 2; i++) {
        const struct partition_info *p = at(&w, "orders", i);
        struct decision move = {.table_id = p->table_id,
                                .partition = p->id,
                                .epoch = p->epoch,
                                .from_node = partition_node(p, 0),
                                .to_node = 1};
        while (partition_member_on(p, move.to_node) != 0)
            move.to_node++;
        assert_int_equal(decide(&w, CATALOG_MOVE, &move), REPLY_OK);
        assert_int_equal(decide(&w, CATALOG_LET_GO, &move), REPLY_OK);
        assert_int_equal(decide(&w, CATALOG_LEFT, &move), REPLY_OK);
    }
    for (int i = 0; i < 4 * COLD_S; i++) {
        control_fixture_evaluate(&w, 500, true);
        assert_null(merge_of(&w));
    }
    assert_merges_at(&w, "orders", &d, COLD_S);
    control_fixture_deinit(&w);
}

/* ---- what must hold at that moment ---- */

TEST(a_merge_waits_for_every_node_that_has_a_replica)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    create_four(&w, "orders");
    uint32_t follower = partition_node(at(&w, "orders", 0), 1);
    w.view.reachable[follower] = false;
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1);
    w.view.reachable[follower] = true;
    struct decision drain = {.to_node = follower, .drain = true};
    assert_int_equal(decide(&w, CATALOG_DRAIN, &drain), REPLY_OK);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, COLD_S), -1);
    drain.drain = false;
    assert_int_equal(decide(&w, CATALOG_DRAIN, &drain), REPLY_OK);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 5), 1); /* they were cold all the time */
    control_fixture_deinit(&w);
}

TEST(partitions_on_different_nodes_are_passed_over)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 4);
    create_four(&w, "orders");
    const struct partition_info p = *at(&w, "orders", 1);
    struct decision move = {
        .table_id = p.table_id, .partition = p.id, .epoch = p.epoch, .to_node = 1};
    while (partition_member_on(&p, move.to_node) != 0)
        move.to_node++;
    move.from_node = partition_node(&p, 2);
    assert_int_equal(decide(&w, CATALOG_MOVE, &move), REPLY_OK);
    assert_merges_at(&w, "orders", &d, COLD_S);
    assert_true(merges(&w, "orders", at(&w, "orders", 2)->id, at(&w, "orders", 3)->id));
    control_fixture_deinit(&w);
}

TEST(both_together_hold_at_most_half_of_what_one_may_hold)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 100);
    cut(&w, "orders", 0, 2);
    int64_t *bytes = &w.reports[at(&w, "orders", 1)->id].bytes;
    w.reports[at(&w, "orders", 0)->id].bytes = 5;
    *bytes = config_control(&w.config)->partition_max_bytes / 2 - 4;
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1);
    *bytes -= 1;
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 5), 1);
    control_fixture_deinit(&w);
}

/* As the nodes do, once the replicas have stopped. */
static void complete(struct control_fixture *w, const char *name)
{
    uint32_t upper = 1;
    while (at(w, name, upper)->merge != MERGE_FREEZE)
        upper++;
    say(w, MERGE_ABSORB_IT, at(w, name, upper));
    say(w, MERGE_ABSORBED, at(w, name, upper - 1));
    say(w, MERGE_DONE, at(w, name, upper - 1));
    assert_false(table_is_changing(table_of(w, name)));
}

TEST(a_table_keeps_the_partitions_for_what_it_is_to_serve_at_once)
{
    for (int on_demand = 0; on_demand <= 1; on_demand++) {
        struct control_fixture w;
        struct demand d = {.units = {0}};
        start(&w, 3);
        config_edit_control(&w.config)->control_split = 1; /* which would undo it */
        control_fixture_create(&w, "orders", on_demand ? BILLING_ON_DEMAND : BILLING_PROVISIONED,
                               on_demand ? 0 : 10, on_demand ? 0 : 3001);
        assert_int_equal(table_of(&w, "orders")->partition_count, 4);
        assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1);
        cut(&w, "orders", 0, 2);
        assert_true(seconds_to_merge(&w, "orders", &d, 2 * COLD_S) > 0);
        complete(&w, "orders");
        assert_int_equal(table_of(&w, "orders")->partition_count, 4);
        w.other = (struct control_request){0};
        assert_int_equal(seconds_to_merge(&w, "orders", &d, 3 * COLD_S), -1);
        assert_int_equal(w.other.request.op, 0); /* nor is anything cut again */
        control_fixture_deinit(&w);
    }
}

/* A peak above what a table may be made ready for is promised all the same. */
TEST(the_share_of_one_partition_stays_below_its_maximum)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    /* which is no reason for more than four partitions */
    config_edit_tables(&w.config)->table_max_wcu = 4000;
    cut(&w, "orders", 0, 2);
    struct decision peak = {.table_id = table_of(&w, "orders")->id, .peak = {0, 4001}};
    assert_int_equal(decide(&w, CATALOG_PEAK, &peak), REPLY_OK);
    assert_int_equal(table_of(&w, "orders")->warm[ADMIT_WRITE], 4000);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1);
    cut(&w, "orders", 0, 2);
    assert_true(seconds_to_merge(&w, "orders", &d, 2 * COLD_S) > 0);
    control_fixture_deinit(&w);
}

TEST(one_share_fewer_is_enough_for_what_both_are_asked_for)
{
    struct control_fixture w;
    struct demand d = {.units = {7, 7, 7, 7}}; /* of 10 each, or 13.3 */
    start(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 40, 40);
    cut(&w, "orders", 0, 4);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1);
    d.units[1] = 6;
    d.units[0] = 7;
    assert_in_range(seconds_to_merge(&w, "orders", &d, BACKOFF_S + 10), 1, BACKOFF_S + 10);
    assert_true(merges(&w, "orders", at(&w, "orders", 0)->id, at(&w, "orders", 1)->id) ||
                merges(&w, "orders", at(&w, "orders", 1)->id, at(&w, "orders", 2)->id));
    control_fixture_deinit(&w);
}

static void lead(struct control_fixture *w, const char *name, uint32_t i, uint32_t node)
{
    const struct partition_info *p = at(w, name, i);
    struct decision d = {
        .table_id = p->table_id, .partition = p->id, .epoch = p->epoch, .to_node = node};
    if (partition_node(p, 0) != node)
        assert_int_equal(decide(w, CATALOG_LEAD, &d), REPLY_OK);
}

/* Nodes 1 to 3 lead two, one and one of four partitions, of 30 reads a second each. Without the
 * second or third one node 1 would be promised 80; without the fourth one every node 40. */
TEST(nodes_can_be_promised_the_shares_of_one_partition_fewer)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 120, 120);
    cut(&w, "orders", 0, 4);
    static const uint32_t leaders[] = {1, 2, 3, 1};
    for (uint32_t i = 0; i < 4; i++)
        lead(&w, "orders", i, leaders[i]);
    config_edit_admission(&w.config)->node_rcu = 69;
    assert_true(seconds_to_merge(&w, "orders", &d, COLD_S + 5) > 0);
    assert_true(merges(&w, "orders", at(&w, "orders", 2)->id, at(&w, "orders", 3)->id));
    control_fixture_deinit(&w);
}

TEST(a_table_that_is_updated_or_about_to_be_cut_merges_nothing)
{
    struct control_fixture w;
    struct demand d = {.units = {0, 0, 0, 0, 850}};
    start(&w, 3);
    config_edit_control(&w.config)->control_split = 1;
    config_edit_control(&w.config)->control_answer_ms = 1000000; /* it waits for advice */
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    cut(&w, "orders", 0, 2);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 3 * COLD_S), -1);
    assert_int_equal(w.other.request.op, REQUEST_PARTITION_HEAT);
    d.units[4] = 0;
    struct reply reply = {.id = w.other.request.id, .code = REPLY_OVERLOADED};
    controller_reply(w.controller, &reply);
    struct catalog_command c = control_fixture_command(&w, CATALOG_UPDATE);
    c.spec = (struct table_spec){
        .name = slice_of("orders"), .billing = BILLING_ON_DEMAND, .maximum = {0, 5000}};
    assert_int_equal(control_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(table_of(&w, "orders")->status, TABLE_UPDATING);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 20), -1);
    c = control_fixture_command(&w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, table_of(&w, "orders"));
    assert_int_equal(control_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 5), 1);
    control_fixture_deinit(&w);
}

TEST(a_maximum_of_the_tables_own_is_what_its_partitions_are_compared_with)
{
    struct control_fixture w;
    struct demand d = {.units = {20, 21, 200, 200, 200}};
    start(&w, 3);
    config_edit_choices(&w.config)->gac = GAC_OFF; /* each partition keeps it */
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    cut(&w, "orders", 0, 2);
    struct catalog_command c = control_fixture_command(&w, CATALOG_UPDATE);
    c.spec = (struct table_spec){
        .name = slice_of("orders"), .billing = BILLING_ON_DEMAND, .maximum = {0, 200}};
    assert_int_equal(control_fixture_apply(&w, &c), REPLY_OK);
    c = control_fixture_command(&w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, table_of(&w, "orders"));
    assert_int_equal(control_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1);
    d.units[1] = 20;
    assert_in_range(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), COLD_S, COLD_S + 11);
    assert_non_null(memmem(merge_of(&w)->event.reason.data, merge_of(&w)->event.reason.size,
                           "asked for 20 %", 14));
    control_fixture_deinit(&w);
}

/* ---- one after the other ---- */

TEST(one_pair_is_merged_at_an_evaluation)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    int decided[4] = {0};
    start(&w, 3);
    create_four(&w, "a");
    create_four(&w, "b");
    for (int i = 0; i < 2 * COLD_S + 6; i++) {
        control_fixture_serve(&w, table_of(&w, "a"), &d, 500);
        control_fixture_serve(&w, table_of(&w, "b"), &d, 500);
        control_fixture_evaluate(&w, 500, true);
        const struct decision *m = merge_of(&w);
        if (m != NULL)
            decided[m->table_id == table_of(&w, "b")->id] = i;
    }
    assert_true(decided[0] > 0);
    assert_int_equal(decided[1], decided[0] + 1);
    control_fixture_deinit(&w);
}

/* The catalog does as if it had not heard. */
TEST(what_could_not_be_merged_is_left_alone_for_a_while)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    int count = 0, at_evaluation[4] = {0};
    start(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 100);
    cut(&w, "orders", 0, 2);
    for (int i = 0; i < 2 * (COLD_S + 2 * BACKOFF_S) + 10; i++) {
        control_fixture_serve(&w, table_of(&w, "orders"), &d, 500);
        control_fixture_evaluate(&w, 500, false);
        if (merge_of(&w) != NULL)
            at_evaluation[count++ % 4] = i;
    }
    assert_int_equal(count, 3);
    assert_int_equal(at_evaluation[1], at_evaluation[0] + 2 * BACKOFF_S);
    assert_int_equal(at_evaluation[2], at_evaluation[1] + 2 * BACKOFF_S);
    control_fixture_deinit(&w);
}

TEST(the_next_pair_is_merged_while_another_one_is_left_alone)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    uint32_t lower = 0;
    start(&w, 3);
    create_four(&w, "orders");
    for (int i = 0; i < 2 * COLD_S + 6; i++) {
        control_fixture_serve(&w, table_of(&w, "orders"), &d, 500);
        control_fixture_evaluate(&w, 500, false);
        if (merge_of(&w) == NULL)
            continue;
        assert_int_equal(merge_of(&w)->merge_with, at(&w, "orders", lower)->id);
        lower++;
    }
    assert_int_equal(lower, 3);
    control_fixture_deinit(&w);
}

/* `ms`: how long the upper partition thaws. */
static void give_up(struct control_fixture *w, const char *name, uint32_t upper, int64_t ms)
{
    struct demand d = {.units = {0}};
    say(w, MERGE_GIVE_UP, at(w, name, upper));
    for (; ms > 0; ms -= 500) {
        control_fixture_serve(w, table_of(w, name), &d, 500);
        control_fixture_evaluate(w, 500, true);
        assert_null(merge_of(w));
    }
    say(w, MERGE_THAWED, at(w, name, upper));
}

TEST(a_merge_that_was_given_up_rests_from_then_on)
{
    for (int64_t ms = 0; ms <= 5000; ms += 5000) {
        struct control_fixture w;
        struct demand d = {.units = {0}};
        start(&w, 3);
        config_edit_merge(&w.config)->merge_cold_ms = 12000;
        control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 100);
        cut(&w, "orders", 0, 2);
        assert_true(seconds_to_merge(&w, "orders", &d, 20) > 0);
        assert_int_equal(seconds_to_merge(&w, "orders", &d, 20), -1); /* it is frozen */
        give_up(&w, "orders", 1, ms);
        assert_merges_at(&w, "orders", &d, BACKOFF_S);
        control_fixture_deinit(&w);
    }
}

/* It has another epoch: its keys might be others. */
TEST(a_partition_that_thaws_is_cold_from_then_on)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 100);
    cut(&w, "orders", 0, 3);
    assert_true(seconds_to_merge(&w, "orders", &d, 2 * COLD_S) > 0);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, COLD_S), -1);
    give_up(&w, "orders", 1, 0); /* no pair without it */
    assert_merges_at(&w, "orders", &d, COLD_S);
    control_fixture_deinit(&w);
}

TEST(a_partition_that_has_absorbed_another_waits_the_whole_time)
{
    struct control_fixture w;
    struct demand d = {.units = {0}};
    start(&w, 3);
    create_four(&w, "orders");
    assert_true(seconds_to_merge(&w, "orders", &d, 2 * COLD_S) > 0);
    complete(&w, "orders");
    assert_true(seconds_to_merge(&w, "orders", &d, 5) > 0); /* the two behind it are due */
    assert_true(merges(&w, "orders", at(&w, "orders", 1)->id, at(&w, "orders", 2)->id));
    complete(&w, "orders");
    assert_merges_at(&w, "orders", &d, COLD_S);
    complete(&w, "orders");
    assert_int_equal(table_of(&w, "orders")->partition_count, 1);
    assert_int_equal(seconds_to_merge(&w, "orders", &d, 2 * COLD_S), -1);
    control_fixture_deinit(&w);
}
