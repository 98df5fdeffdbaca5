/* When the controller has a partition cut, and when not. */
#include "tests/check.h"

#include "engine/item/storage_key.h"

#include "base/settings/choices.h"
#include "base/settings/control.h"
#include "base/settings/reports.h"
#include "base/settings/split.h"
#include "tests/support/control_fixture.h"

/* A request that is no decision is answered. */
static void answer(struct control_fixture *w, enum request_op op, uint32_t node,
                   enum reply_code code, struct slice body)
{
    assert_int_equal(w->other.request.op, op);
    assert_int_equal(w->other.node, node);
    struct reply reply = {.id = w->other.request.id, .code = code};
    if (body.size > 0) {
        reply.kind = ANSWER_ADVICE;
        reply.advice.bytes = body;
    }
    w->other = (struct control_request){0};
    controller_reply(w->controller, &reply);
}

static void advise(struct control_fixture *w, const struct table *t, enum split_verdict verdict)
{
    struct buffer b = {0}, key = {0};
    uint8_t cut[12] = {0};
    memcpy(cut, t->partitions[0].lo.data, 4);
    cut[4] = 0x10;
    struct split_advice a = {.verdict = verdict, .samples = 1000};
    if (verdict == SPLIT_ADVISED) {
        a.cut_count = 1;
        a.cuts[0] = slice_make(cut, sizeof cut);
        for (int kind = 0; kind < SPLIT_KINDS; kind++) {
            a.share_ppm[kind][0] = 400000;
            a.share_ppm[kind][1] = 600000;
        }
    }
    if (verdict == SPLIT_REFUSED_POPULAR_KEY) {
        struct attr popular = {ATTR_STRING, slice_of("popular")};
        storage_key_append(&key, t->id, &popular, NULL);
        a.key = buffer_slice(&key);
        a.key_share_ppm = 910000;
    }
    split_advice_encode(&b, &a);
    answer(w, REQUEST_PARTITION_HEAT, partition_node(&t->partitions[0], 0), REPLY_OK,
           buffer_slice(&b));
    buffer_deinit(&key);
    buffer_deinit(&b);
}

TEST(a_partition_near_its_maximum_is_cut_as_its_leader_advises)
{
    struct control_fixture w;
    struct table_split split;
    control_fixture_init(&w, 3);
    config_edit_control(&w.config)->control_adaptive = 0;
    const struct table *t =
        control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0); /* four of 1000 */
    struct demand d = {.units = {600, 790}};
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 60), -1);
    d.units[0] = 850;
    memcpy(w.config.partition_policy, "none", sizeof "none"); /* then a cut would gain nothing */
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 60), -1);
    memcpy(w.config.partition_policy, "burst", sizeof "burst");
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 60), 0,
                    1); /* it has been so for long */
    advise(&w, t, SPLIT_ADVISED);
    assert_true(instant_before(controller_deadline(w.controller, 1, (struct instant){0}),
                               instant_add(w.now, duration_ms(1)))); /* it is not kept waiting */
    control_fixture_evaluate(&w, 1, true);
    assert_int_equal(w.other.request.op, REQUEST_TABLE_SPLIT);
    assert_int_equal(table_split_decode(w.other.request.cut.split, &split), STATUS_OK);
    assert_int_equal(split.table_id, t->id);
    assert_int_equal(split.partition, t->partitions[0].id);
    assert_int_equal(split.epoch, t->partitions[0].epoch);
    assert_int_equal(split.cut_count, 1);
    assert_int_equal(split.share_ppm[ADMIT_WRITE][1], 600000);
    answer(&w, REQUEST_TABLE_SPLIT, 1, REPLY_OK, slice_make(NULL, 0));
    control_fixture_evaluate(&w, 1, true);
    assert_int_equal(w.decision_count, 1);
    assert_int_equal(w.ops[0], CATALOG_EVENT);
    assert_int_equal(w.decisions[0].event.kind, EVENT_SPLIT);
    control_fixture_deinit(&w);
}

/* One partition serves all that the table may use in the long run. */
TEST(a_table_whose_limit_a_partition_serves_is_not_cut_for_its_load)
{
    const int64_t units[] = {500, 1000, 2000};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        struct control_fixture w;
        control_fixture_init(&w, 3);
        config_edit_control(&w.config)->control_adaptive = 0;
        control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, units[i]);
        struct demand d = {.units = {950}};
        const bool cut = control_fixture_seconds_to_question(&w, "orders", &d, 60) >= 0;
        assert_int_equal(cut, units[i] > 1000);
        control_fixture_deinit(&w);
    }
}

/* Nobody keeps the table's limit: routers do not, and partitions use what others leave. */
TEST(a_limit_that_nobody_keeps_does_not_count)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    config_edit_control(&w.config)->control_adaptive = 0;
    config_edit_choices(&w.config)->gac = GAC_OFF;
    memcpy(w.config.partition_policy, "always-burst", sizeof "always-burst");
    control_fixture_create(&w, "orders", BILLING_PROVISIONED, 100, 1000);
    struct demand d = {.units = {950}};
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 60), 0, 60);
    control_fixture_deinit(&w);
}

TEST(a_split_waits_for_as_long_as_is_set)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    config_edit_control(&w.config)->control_adaptive = 0;
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    struct demand d = {.units = {900}};
    int at_once = control_fixture_seconds_to_question(&w, "orders", &d, 60);
    control_fixture_deinit(&w);
    control_fixture_init(&w, 3);
    config_edit_control(&w.config)->control_adaptive = 0;
    config_edit_split(&w.config)->split_delay_ms = 600000;
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 300), -1);
    d.units[0] = 1; /* a pause: the load begins anew */
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 60), -1);
    d.units[0] = 900;
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 900), 600 + at_once - 2,
                    600 + at_once + 2);
    control_fixture_deinit(&w);
}

TEST(load_after_a_pause_is_seen_as_early_as_load_that_grows)
{
    int after[2];
    for (int busy = 0; busy < 2; busy++) {
        struct control_fixture w;
        control_fixture_init(&w, 3);
        control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
        struct demand d = {.units = {400}};
        for (int i = 0; i < 2; i++) { /* a pause at the start, and one in between */
            d.units[0] = busy;
            assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 60), -1);
            d.units[0] = 400;
            assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 10), -1);
        }
        d.units[0] = busy;
        assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 60), -1);
        d.units[0] = 900;
        after[busy] = control_fixture_seconds_to_question(&w, "orders", &d, 60);
        control_fixture_deinit(&w);
    }
    assert_true(after[0] > 2);
    assert_int_equal(after[0], after[1]);
}

/* The leader of the first partition says that it is asked for more than its maximum, for so long.
 */
static void tell_excess(struct control_fixture *w, const char *name, int64_t excess,
                        int64_t refused)
{
    const struct table *t = catalog_find(w->catalog, slice_of(name));
    struct partition_report *r = &w->reports[t->partitions[0].id];
    r->excess_ms[ADMIT_WRITE] = excess;
    r->totals[ADMIT_WRITE].refused[ADMIT_REFUSED_KEY_RANGE] += refused;
}

TEST(a_load_above_the_maximum_is_acted_on_once_it_has_lasted)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    struct demand d = {.units = {100}};
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), -1);
    tell_excess(&w, "orders", config_split(&w.config)->split_hold_ms - 1, 100);
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 10), -1);
    tell_excess(&w, "orders", config_split(&w.config)->split_hold_ms,
                0); /* its allocation keeps it from it */
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 10), -1);
    tell_excess(&w, "orders", config_split(&w.config)->split_hold_ms, 5);
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), 1);
    control_fixture_deinit(&w);
}

/* The first partition is cut for a load above its maximum. */
static void cut_for_excess(struct control_fixture *w, struct demand *d)
{
    tell_excess(w, "orders", config_split(&w->config)->split_hold_ms, 5);
    assert_int_equal(control_fixture_seconds_to_question(w, "orders", d, 5), 1);
    const struct table *t = catalog_find(w->catalog, slice_of("orders"));
    advise(w, t, SPLIT_ADVISED);
    control_fixture_evaluate(w, 1, true);
    struct catalog_command c = control_fixture_command(w, CATALOG_SPLIT);
    c.spec.name = slice_of("orders");
    c.table_id = t->id;
    c.split = w->other.request.cut.split;
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    c = control_fixture_command(w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_find(w->catalog, slice_of("orders")));
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    answer(w, REQUEST_TABLE_SPLIT, 1, REPLY_OK, slice_make(NULL, 0));
    tell_excess(w, "orders", 0, 0);
}

static const struct {
    int64_t units; /* of each of the two pieces, after the cut */
    bool vain;
} AFTER_CUT[] = {{600, false}, {50, true}};

TEST(a_table_whose_hot_places_leave_soon_waits_longer_before_the_next_cut)
{
    for (size_t i = 0; i < COUNT_OF(AFTER_CUT); i++) {
        struct control_fixture w;
        control_fixture_init(&w, 3);
        control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
        const int64_t hold_ms = config_split(&w.config)->split_hold_ms;
        const int64_t longer_ms = hold_ms * config_split(&w.config)->split_vain_factor;
        struct demand d = {.units = {100}};
        assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), -1);
        cut_for_excess(&w, &d);
        d = (struct demand){.units = {AFTER_CUT[i].units, AFTER_CUT[i].units}};
        assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 12), -1);
        tell_excess(&w, "orders", AFTER_CUT[i].vain ? longer_ms - 1 : hold_ms - 1, 5);
        assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), -1);
        tell_excess(&w, "orders", AFTER_CUT[i].vain ? longer_ms : hold_ms, 5);
        assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), 1);
        control_fixture_deinit(&w);
    }
}

TEST(vain_cuts_are_forgotten_in_the_end)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    const int64_t hold_ms = config_split(&w.config)->split_hold_ms;
    struct demand d = {.units = {100}};
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), -1);
    cut_for_excess(&w, &d);
    d = (struct demand){.units = {50, 50}};
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 200), -1);
    tell_excess(&w, "orders", hold_ms, 5);
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), -1);
    tell_excess(&w, "orders", 0, 0);
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 120), -1);
    tell_excess(&w, "orders", hold_ms, 5);
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), 1);
    control_fixture_deinit(&w);
}

TEST(what_was_told_long_ago_is_no_reason_for_a_split)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    struct demand d = {.units = {100}};
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), -1);
    tell_excess(&w, "orders", config_split(&w.config)->split_hold_ms, 5);
    control_fixture_serve(&w, catalog_find(w.catalog, slice_of("orders")), &d, 500);
    control_fixture_evaluate(&w, 2 * config_reports(&w.config)->load_report_ms + 501, true);
    assert_int_equal(w.other.request.op, 0);
    control_fixture_deinit(&w);
}

TEST(what_is_urgent_does_not_wait_for_the_next_evaluation)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_evaluate(&w, 500, true);
    struct instant due = instant_add(w.now, duration_ms(config_control(&w.config)->control_ms));
    struct instant soon = instant_add(w.now, duration_ms(3));
    assert_int_equal(controller_deadline(w.controller, 1, (struct instant){0}).ns, due.ns);
    assert_int_equal(controller_deadline(w.controller, 1, w.now).ns, due.ns); /* it was seen */
    assert_int_equal(controller_deadline(w.controller, 1, soon).ns, soon.ns);
    control_fixture_deinit(&w);
}

/* The piece that keeps the id consumed too much for ten seconds, while it was the whole. */
TEST(a_piece_is_not_judged_by_what_the_whole_consumed)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    struct demand d = {.units = {950}};
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 20), 9, 11);
    const struct table *t = catalog_find(w.catalog, slice_of("orders"));
    advise(&w, t, SPLIT_ADVISED);
    control_fixture_evaluate(&w, 1, true);
    struct catalog_command c = control_fixture_command(&w, CATALOG_SPLIT);
    c.spec.name = slice_of("orders");
    c.table_id = t->id;
    c.split = w.other.request.cut.split;
    assert_int_equal(control_fixture_apply(&w, &c), REPLY_OK);
    c = control_fixture_command(&w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_find(w.catalog, slice_of("orders")));
    assert_int_equal(control_fixture_apply(&w, &c), REPLY_OK);
    answer(&w, REQUEST_TABLE_SPLIT, 1, REPLY_OK, slice_make(NULL, 0));
    d = (struct demand){.units = {790, 500}};
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 60), -1);
    d.units[0] = 810;
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 60), 1, 10);
    control_fixture_deinit(&w);
}

TEST(advice_against_a_split_is_told_and_not_asked_for_again_soon)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    config_edit_split(&w.config)->split_backoff_ms = 30000;
    const struct table *t = control_fixture_create(&w, "orders", BILLING_ON_DEMAND, 0, 0);
    struct demand d = {.units = {950}};
    assert_true(control_fixture_seconds_to_question(&w, "orders", &d, 20) > 0);
    advise(&w, t, SPLIT_REFUSED_POPULAR_KEY);
    control_fixture_evaluate(&w, 1, true);
    assert_int_equal(w.decision_count, 1);
    assert_int_equal(w.decisions[0].event.kind, EVENT_SPLIT_REFUSED);
    struct slice reason = w.decisions[0].event.reason;
    static const char WHY[] =
        "not split: 91 % of the load is for one item, k=\"popular\". Spread it over "
        "several keys (add a suffix)";
    assert_non_null(memmem(reason.data, reason.size, WHY, sizeof WHY - 1));
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 60), 29, 31);
    advise(&w, t, SPLIT_REFUSED_FEW_SAMPLES);
    control_fixture_evaluate(&w, 1, true);
    assert_int_equal(w.decision_count, 0); /* not worth telling */
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 60), 1, 2);
    control_fixture_deinit(&w);
}

TEST(a_large_partition_is_cut_in_the_middle_of_its_bytes)
{
    struct control_fixture w;
    control_fixture_init(&w, 3);
    const struct table *t = control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 10);
    struct demand d = {.units = {1}};
    w.reports[t->partitions[0].id].bytes = config_control(&w.config)->partition_max_bytes - 1;
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), -1);
    w.reports[t->partitions[0].id].bytes++;
    assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 5), 1);
    assert_int_equal(w.other.request.op, REQUEST_PARTITION_MIDDLE);
    control_fixture_deinit(&w);
}
