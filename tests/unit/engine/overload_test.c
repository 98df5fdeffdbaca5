/* overload_test.c - which requests a policy of overload refuses, by how long they waited; and what
 * nodes and routers answer then. */
#include "engine/admission/overload.h"

#include <string.h>

#include "base/settings/choices.h"
#include "base/settings/overload.h"
#include "engine/admission/admission.h"
#include "engine/admission/policy_choice.h"
#include "tests/check.h"
#include "tests/support/baseline_policies.h"
#include "tests/support/expect.h"
#include "tests/support/lone_node.h"

enum {
    TARGET_MS = 150,
    INTERVAL_MS = 200,
    LIMIT_MS = 750,
    LONG_MS = 250 /* more than the target, less than the limit */
};

static struct config config;
static struct overload overload;
static struct instant now;

static void begin(const char *policy)
{
    config_init(&config, PROFILE_RESEARCH);
    config.policies = baseline_policies();
    snprintf(config.overload_policy, sizeof config.overload_policy, "%s", policy);
    assert_int_equal(config_overload(&config)->overload_target_ms, TARGET_MS);
    assert_int_equal(config_overload(&config)->overload_interval_ms, INTERVAL_MS);
    assert_int_equal(config_overload(&config)->overload_limit_ms, LIMIT_MS);
    overload_init(&overload, &config);
    now = (struct instant){NS_PER_S};
}

/* A request comes 1 ms after the last one. */
static bool arrives(int64_t waited_ms, bool within_limit)
{
    now = instant_add(now, duration_ms(1));
    const struct overload_arrival a = {
        .now = now, .waited = duration_ms(waited_ms), .within_limit = within_limit};
    return overload_arrive(&overload, &a);
}

/* Requests of the same wait for `ms`; returns how many were refused. */
static int refused_in(int ms, int64_t waited_ms, bool within_limit)
{
    int refused = 0;
    for (int i = 0; i < ms; i++)
        refused += !arrives(waited_ms, within_limit);
    return refused;
}

/* ---- delay ---- */

TEST(a_queue_below_the_target_is_none)
{
    begin("delay");
    assert_int_equal(refused_in(1000, TARGET_MS, false), 0);
}

TEST(a_burst_shorter_than_the_interval_is_done)
{
    begin("delay");
    for (int i = 0; i < 10; i++) {
        assert_int_equal(refused_in(INTERVAL_MS - 2, 10 * LIMIT_MS, false), 0);
        assert_true(arrives(TARGET_MS, false));
    }
}

TEST(a_queue_that_stands_for_an_interval_is_shed)
{
    begin("delay");
    assert_true(arrives(0, false));
    assert_int_equal(refused_in(INTERVAL_MS, TARGET_MS + 1, false), 0);
    assert_int_equal(refused_in(500, TARGET_MS + 1, false), 500);
    assert_true(arrives(TARGET_MS, false)); /* what waited no longer than the target is done */
}

TEST(work_within_a_limit_is_done_up_to_the_longer_limit)
{
    begin("delay");
    assert_true(arrives(0, false));
    refused_in(2 * INTERVAL_MS, 2 * TARGET_MS, false);
    assert_false(arrives(2 * TARGET_MS, false));
    assert_true(arrives(LIMIT_MS, true));
    assert_false(arrives(LIMIT_MS + 1, true));
}

TEST(shedding_ends_after_an_interval_of_short_waits)
{
    begin("delay");
    assert_true(arrives(0, false));
    refused_in(2 * INTERVAL_MS, 2 * TARGET_MS, false);
    assert_int_equal(refused_in(INTERVAL_MS - 1, 1, false), 0);
    assert_false(arrives(TARGET_MS + 1, false)); /* not over yet */
    assert_int_equal(refused_in(INTERVAL_MS + 1, 1, false), 0);
    assert_true(arrives(TARGET_MS + 1, false)); /* over: this one begins a new interval */
}

TEST(a_wait_after_idle_time_is_no_standing_queue)
{
    begin("delay");
    assert_true(arrives(0, false));
    now = instant_add(now, duration_ms(60000));
    assert_true(arrives(10 * LIMIT_MS, false));
}

TEST(a_turn_longer_than_the_interval_is_no_idle_time)
{
    begin("delay");
    assert_true(arrives(0, false));
    for (int turn = 0; turn < 5; turn++) { /* all that came during a turn is begun after it */
        now = instant_add(now, duration_ms(2 * INTERVAL_MS));
        assert_int_equal(refused_in(100, 2 * INTERVAL_MS, false), turn == 0 ? 0 : 100);
    }
}

TEST(without_a_policy_all_is_done)
{
    begin("off");
    assert_int_equal(refused_in(1000, 100000, false), 0);
}

/* ---- baselines ---- */

static struct overload_arrival request_of(uint64_t key_hash, int64_t waited_ms)
{
    now = instant_add(now, (struct duration){NS_PER_MS / 10});
    return (struct overload_arrival){
        .now = now, .waited = duration_ms(waited_ms), .key_hash = key_hash};
}

/* With its source's numbers. */
static void begin_dagor(void)
{
    begin("dagor");
    config_edit_overload(&config)->overload_target_ms = 20;
    config_edit_overload(&config)->overload_interval_ms = 1000;
    overload_init(&overload, &config);
}

/* Requests of all priorities in turn. Returns the hundredths that were done. */
static int dagor_done(int requests, int64_t waited_ms)
{
    int done = 0;
    for (int i = 0; i < requests; i++) {
        const struct overload_arrival a = request_of((uint64_t)i, waited_ms);
        done += overload_arrive(&overload, &a);
    }
    return done * 100 / requests;
}

TEST(dagor_lowers_its_level_while_requests_wait)
{
    begin_dagor();
    assert_int_equal(dagor_done(2000, 100), 100);
    const int first = dagor_done(2000, 100), later = dagor_done(40000, 100);
    assert_true(first < 100 && first >= 90);
    assert_true(later < first);
    const struct overload_arrival highest = request_of(0, 100), lowest = request_of(127, 100);
    assert_true(overload_arrive(&overload, &highest));
    assert_false(overload_arrive(&overload, &lowest));
    assert_true(dagor_done(400000, 1) > later);
    assert_int_equal(dagor_done(10000, 1), 100);
}

TEST(dagor_routers_hold_back_what_the_node_would_refuse)
{
    struct overload router;
    struct overload_peer node = {0};
    begin_dagor();
    overload_init(&router, &config);
    const struct overload_arrival lowest = request_of(127, 0), highest = request_of(0, 0);
    assert_true(overload_may_send(&router, &node, &lowest));
    dagor_done(20000, 100);
    overload_answered(&router, &node, now, overload_report(&overload, &lowest));
    assert_false(overload_may_send(&router, &node, &lowest));
    assert_true(overload_may_send(&router, &node, &highest));
    overload_answered(&router, &node, now, 0); /* no answer tells nothing */
    assert_false(overload_may_send(&router, &node, &lowest));
}

static bool dagor_takes(uint64_t key_hash, int64_t waited_ms, bool within_limit)
{
    struct overload_arrival a = request_of(key_hash, waited_ms);
    a.within_limit = within_limit;
    return overload_arrive(&overload, &a);
}

/* As dagor_done, with the requests of both classes in turn. */
static int dagor_done_within(int requests, int64_t waited_ms, int *beyond)
{
    int within = 0;
    *beyond = 0;
    for (int i = 0; i < requests; i++) {
        within += dagor_takes((uint64_t)i, waited_ms, true);
        *beyond += dagor_takes((uint64_t)i, waited_ms, false);
    }
    *beyond = *beyond * 100 / requests;
    return within * 100 / requests;
}

TEST(dagor_takes_the_worst_key_within_limits_before_the_best_beyond)
{
    struct overload router;
    struct overload_peer node = {0};
    int beyond;
    begin_dagor();
    overload_init(&router, &config);
    assert_int_equal(dagor_done_within(8000, 100, &beyond), 100);
    assert_in_range(beyond, 50, 95);
    for (int i = 0; i < 100 && dagor_takes(0, 100, false); i++)
        dagor_done_within(1000, 100, &beyond);
    assert_true(dagor_done_within(100, 100, &beyond) > 80);
    assert_int_equal(beyond, 0);
    assert_true(dagor_takes(100, 100, true));
    struct overload_arrival within = request_of(100, 100), best = request_of(0, 100);
    within.within_limit = true;
    overload_answered(&router, &node, now, overload_report(&overload, &best));
    assert_true(overload_may_send(&router, &node, &within));
    assert_false(overload_may_send(&router, &node, &best));
}

TEST(dagor_opens_again_if_all_that_comes_is_beyond_its_level)
{
    int beyond;
    begin_dagor();
    dagor_done_within(100000, 100, &beyond);
    assert_in_range(dagor_done(2000, 1), 0, 1);
    assert_int_equal(dagor_done(2000, 1), 1); /* the best key of 64 */
    dagor_done(400000, 1);
    assert_int_equal(dagor_done(2000, 1), 100);
}

TEST(dagor_routers_discard_a_level_after_a_second)
{
    struct overload router;
    struct overload_peer node = {0};
    begin_dagor();
    overload_init(&router, &config);
    const struct overload_arrival first = request_of(0, 0);
    assert_true(overload_arrive(&overload, &first));
    dagor_done(40000, 100);
    const struct overload_arrival last = request_of(0, 0);
    overload_answered(&router, &node, now, overload_report(&overload, &last));
    struct overload_arrival a = request_of(127, 0);
    a.now = instant_add(now, duration_ms(990));
    assert_false(overload_may_send(&router, &node, &a));
    a.now = instant_add(now, duration_ms(1000));
    assert_true(overload_may_send(&router, &node, &a));
}

/* Routers hold back what the node refuses, so nothing of that comes. */
TEST(dagor_opens_by_a_level_a_window_for_what_is_held_back)
{
    begin_dagor();
    dagor_done(40000, 100);
    const int refused_at =
        (int)(overload_report(&overload, &(struct overload_arrival){.now = now}) % 256);
    for (int i = 0; i < 10 * 2000; i++)
        dagor_takes((uint64_t)(i % (2 * (refused_at - 64))), 1, false);
    const int level =
        (int)(overload_report(&overload, &(struct overload_arrival){.now = now}) % 256);
    assert_in_range(level, refused_at + 7, refused_at + 11);
}

/* A table without a limit that routers keep, whose partitions' allocations have the cost. */
TEST(dagor_routers_take_all_for_work_within_limits_if_their_node_does)
{
    struct overload router;
    struct overload_peer node = {0};
    begin_dagor();
    overload_init(&router, &config);
    for (int i = 0; i < 20000; i++)
        dagor_takes((uint64_t)i, i < 6000 ? 100 : 1, true);
    struct overload_arrival a = request_of(100, 0);
    overload_answered(&router, &node, now, overload_report(&overload, &a));
    assert_true(overload_may_send(&router, &node, &a));
    dagor_takes(0, 1, false);
    overload_answered(&router, &node, now, overload_report(&overload, &a));
    assert_false(overload_may_send(&router, &node, &a));
    a.within_limit = true;
    assert_true(overload_may_send(&router, &node, &a));
    /* A minute of overload with nothing beyond limits: the node takes the best key alone. */
    for (int i = 0; i < 590000; i++)
        dagor_takes(0, 100, true);
    a = request_of(0, 0);
    overload_answered(&router, &node, now, overload_report(&overload, &a));
    assert_false(overload_may_send(&router, &node, &a));
    for (int i = 0; i < 20000; i++)
        dagor_takes(0, 100, true);
    a = request_of(0, 0);
    overload_answered(&router, &node, now, overload_report(&overload, &a));
    assert_true(overload_may_send(&router, &node, &a));
}

TEST(breakwater_routers_send_what_their_credits_allow)
{
    struct overload router;
    struct overload_peer node = {0};
    begin("breakwater");
    overload_init(&router, &config);
    const struct overload_arrival a = request_of(1, 0);
    uint32_t sent = 0;
    for (int i = 0; i < 100; i++)
        assert_true(overload_may_send(&router, &node, &a)); /* nothing was told yet */
    overload_answered(&router, &node, now, 10);
    for (int i = 0; i < 98; i++)
        overload_answered(&router, &node, now, 0);
    while (sent < 1000 && overload_may_send(&router, &node, &a))
        sent++;
    assert_int_equal(sent, 9); /* one is still on its way */
}

TEST(breakwater_credits_grow_below_the_target_and_shrink_above)
{
    begin("breakwater");
    struct overload_arrival a = request_of(1, 0);
    assert_true(overload_arrive(&overload, &a));
    const uint32_t first = overload_report(&overload, &a);
    for (int i = 0; i < 1000; i++) {
        a = request_of(1, 0);
        overload_arrive(&overload, &a);
    }
    const uint32_t grown = overload_report(&overload, &a);
    assert_in_range(grown, first + 90, first + 110); /* one a millisecond */
    for (int i = 0; i < 1000; i++) {
        a = request_of(1, 2 * TARGET_MS);
        assert_true(overload_arrive(&overload, &a));
    }
    const uint32_t shrunk = overload_report(&overload, &a);
    assert_true(shrunk < grown);
    a = request_of(1, 2 * TARGET_MS + 1);
    assert_false(overload_arrive(&overload, &a)); /* what waits this long is refused at the node */
    for (int i = 0; i < 100000; i++) {
        a = request_of(1, 100 * TARGET_MS);
        overload_arrive(&overload, &a);
    }
    assert_int_equal(overload_report(&overload, &a), 1); /* never less */
}

/* Requests of one link and class, a millisecond apart. Returns the hundredths that were done. */
static int aequitas_done(int requests, uint64_t sender, bool within_limit, int64_t waited_ms)
{
    int done = 0;
    for (int i = 0; i < requests; i++) {
        now = instant_add(now, duration_ms(1));
        const struct overload_arrival a = {.now = now,
                                           .waited = duration_ms(waited_ms),
                                           .within_limit = within_limit,
                                           .sender = sender};
        done += overload_arrive(&overload, &a);
    }
    return done * 100 / requests;
}

TEST(aequitas_lowers_the_class_and_link_that_misses_its_objective)
{
    begin("aequitas");
    assert_int_equal(aequitas_done(1000, 3, false, TARGET_MS), 100);
    assert_true(aequitas_done(10, 3, false, TARGET_MS + 1) >= 90); /* a hundredth each time */
    /* 90 more until the floor, then one in a hundred. */
    assert_in_range(aequitas_done(1000, 3, false, TARGET_MS + 1), 9, 10);
    assert_int_equal(aequitas_done(1000, 3, false, TARGET_MS + 1), 1);
    assert_int_equal(aequitas_done(1000, 3, true, LIMIT_MS), 100);
    assert_int_equal(aequitas_done(1000, 4, false, TARGET_MS), 100);
    assert_true(aequitas_done(2000, 3, true, LIMIT_MS + 1) < 50);
}

/* From 1 % on. A step takes an interval, and until the next request is admitted: the first steps
 * take a little longer. */
TEST(aequitas_raises_a_class_by_a_hundredth_an_interval)
{
    begin("aequitas");
    aequitas_done(2000, 0, false, TARGET_MS + 1);
    assert_int_equal(aequitas_done(100, 0, false, TARGET_MS + 1), 1);
    aequitas_done(50 * INTERVAL_MS, 0, false, TARGET_MS);
    const int half = aequitas_done(100, 0, false, TARGET_MS);
    assert_in_range(half, 45, 52);
    aequitas_done(60 * INTERVAL_MS, 0, false, TARGET_MS);
    assert_int_equal(aequitas_done(1000, 0, false, TARGET_MS), 100);
}

/* ---- topfull ---- */

struct topfull_pair {
    struct overload router;
    struct overload_peer node;
};

/* The router wants to send `offered` requests in an interval, evenly. The node answers `answered`
 * of them, and tells this wait. Returns how many were sent. */
static int topfull_interval(struct topfull_pair *t, int offered, int answered, int64_t waited_ms)
{
    int sent = 0;
    for (int i = 0; i < offered; i++) {
        now = instant_add(now, (struct duration){INTERVAL_MS * NS_PER_MS / offered});
        const struct overload_arrival a = {.now = now, .waited = duration_ms(waited_ms)};
        if (!overload_may_send(&t->router, &t->node, &a))
            continue;
        sent++;
        assert_true(overload_arrive(&overload, &a)); /* the node does all */
        overload_answered(&t->router, &t->node, now,
                          sent <= answered ? overload_report(&overload, &a) : 0);
    }
    return sent;
}

TEST(topfull_limits_what_is_sent_to_a_node_whose_requests_wait)
{
    struct topfull_pair t = {0};
    begin("topfull");
    overload_init(&t.router, &config);
    assert_int_equal(topfull_interval(&t, 1000, 1000, TARGET_MS), 1000);
    assert_int_equal(topfull_interval(&t, 1000, 1000, TARGET_MS), 1000);
    topfull_interval(&t, 1000, 300, TARGET_MS + 1);
    assert_in_range(topfull_interval(&t, 1000, 300, TARGET_MS + 1), 480,
                    515); /* no less than half */
    assert_in_range(topfull_interval(&t, 1000, 300, TARGET_MS + 1), 275, 300); /* 95 % of 300 */
    assert_in_range(topfull_interval(&t, 1000, 1000, TARGET_MS + 1), 255, 285);
}

TEST(topfull_raises_a_limit_that_holds_back_and_ends_one_that_does_not)
{
    struct topfull_pair t = {0};
    begin("topfull");
    overload_init(&t.router, &config);
    topfull_interval(&t, 1000, 1000, TARGET_MS);
    topfull_interval(&t, 1000, 400, TARGET_MS + 1);
    int limited = topfull_interval(&t, 1000, 1000, TARGET_MS);
    assert_in_range(limited, 480, 515);
    int raised = topfull_interval(&t, 1000, 1000, TARGET_MS / 4);
    assert_in_range(raised, limited, limited * 104 / 100); /* by a fiftieth */
    limited = topfull_interval(&t, 1000, 1000, TARGET_MS / 4);
    assert_in_range(limited, raised * 117 / 100, raised * 123 / 100); /* by a fifth */
    topfull_interval(&t, 100, 100, TARGET_MS); /* holds nothing back, and is more than twice that */
    topfull_interval(&t, 100, 100, TARGET_MS);
    assert_int_equal(topfull_interval(&t, 1000, 1000, TARGET_MS), 1000);
}

/* An interval at the node's objective, with 1,000 requests of both classes in turn: `within` of
 * them are within a limit. Returns how many of those were sent, and of the others. */
static int topfull_classes(struct topfull_pair *t, int within, int *beyond)
{
    int sent = 0;
    *beyond = 0;
    for (int i = 0; i < 1000; i++) {
        now = instant_add(now, (struct duration){INTERVAL_MS * NS_PER_MS / 1000});
        const struct overload_arrival a = {.now = now,
                                           .waited = duration_ms(TARGET_MS),
                                           .within_limit = (i * within) % 1000 < within};
        if (!overload_may_send(&t->router, &t->node, &a))
            continue;
        *(a.within_limit ? &sent : beyond) += 1;
        assert_true(overload_arrive(&overload, &a));
        overload_answered(&t->router, &t->node, now, overload_report(&overload, &a));
    }
    return sent;
}

TEST(topfull_limits_work_within_limits_last)
{
    struct topfull_pair t = {0};
    int beyond;
    begin("topfull");
    overload_init(&t.router, &config);
    topfull_interval(&t, 1000, 1000, TARGET_MS);
    topfull_interval(&t, 1000, 300, TARGET_MS + 1);
    assert_int_equal(topfull_classes(&t, 400, &beyond), 400); /* of a limit of 500 */
    assert_in_range(beyond, 90, 130);
    assert_int_equal(topfull_classes(&t, 400, &beyond), 400);
    assert_in_range(beyond, 90, 130);
    /* Beyond the limit they have the tokens of one interval more, once. */
    assert_in_range(topfull_classes(&t, 900, &beyond), 890, 900);
    assert_int_equal(beyond, 0);
    assert_in_range(topfull_classes(&t, 900, &beyond), 500, 800);
    assert_int_equal(beyond, 0);
    assert_in_range(topfull_classes(&t, 900, &beyond), 500, 600);
    topfull_classes(&t, 0, &beyond);
    assert_in_range(beyond, 0, 60); /* the debt is repaid first */
}

/* ---- a node ---- */

/* Strong reads of one item, each 1 ms after the last one. Returns how many were refused for
 * overload. */
static int node_refused(struct lone_node *w, int count)
{
    int refused = 0;
    for (int i = 0; i < count; i++) {
        struct request r = lone_request(w, REQUEST_GET, 1);
        r.get.consistent = true;
        w->now = instant_add(w->now, duration_ms(1));
        lone_send(w, &r);
        const struct answer *a = lone_answer(w);
        if (a->code == REPLY_OVERLOADED) {
            refused++;
            assert_int_equal(a->verdict.reason, ADMIT_REFUSED_OVERLOAD);
            assert_slice_is(buffer_slice(&a->text),
                            "the request has waited 250 ms for node 1's processor");
        }
    }
    return refused;
}

TEST(a_node_sheds_what_is_beyond_the_allocation_first)
{
    struct lone_node w;
    lone_init(&w, PROFILE_RESEARCH);
    snprintf(w.config.partition_policy, sizeof w.config.partition_policy, "always-burst");
    config_edit_choices(&w.config)->gac = GAC_OFF;
    lone_open_table(&w, 100,
                    100); /* of 1,000 reads a second, 100 and the first 100 are within it */
    assert_int_equal(node_refused(&w, 500), 0);
    w.waited.all = duration_ms(LONG_MS);
    const int refused = node_refused(&w, 1000);
    assert_in_range(refused, 780, 840); /* the first 100 ms are no overload */
    w.waited.all = duration_ms(0);
    assert_int_equal(node_refused(&w, 500), 0);
    lone_deinit(&w);
}

/* Requests that did not wait have a class, too: 100 of 1,000 a second are within the allocation. */
TEST(a_node_passes_the_class_of_each_request_to_a_policy_of_classes)
{
    struct lone_node w;
    int refused = 0;
    lone_init(&w, PROFILE_RESEARCH);
    snprintf(w.config.partition_policy, sizeof w.config.partition_policy, "always-burst");
    w.config.policies = baseline_policies();
    snprintf(w.config.overload_policy, sizeof w.config.overload_policy, "aequitas");
    config_edit_choices(&w.config)->gac = GAC_OFF;
    lone_open_table(&w, 100, 100);
    w.waited.all = duration_ms(LONG_MS);
    assert_in_range(node_refused(&w, 2000), 1400, 1800); /* all but 300 and the first ones */
    w.waited.all = duration_ms(0);
    for (int i = 0; i < 100; i++) {
        struct request r = lone_request(&w, REQUEST_GET, 1);
        r.get.consistent = true;
        w.now = instant_add(w.now, duration_ms(1));
        lone_send(&w, &r);
        refused += lone_answer(&w)->code == REPLY_OVERLOADED;
    }
    assert_in_range(refused, 80, 92);
    lone_deinit(&w);
}

TEST(a_node_without_limits_sheds_whatever_waits)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    snprintf(w.config.overload_policy, sizeof w.config.overload_policy, "delay");
    lone_open_table(&w, 100, 100);
    w.waited.all = duration_ms(LONG_MS);
    assert_in_range(node_refused(&w, 1000), 1000 - INTERVAL_MS, 1005 - INTERVAL_MS);
    lone_deinit(&w);
}

TEST(what_was_shed_costs_nothing)
{
    struct lone_node w;
    struct admit_balances before, after;
    lone_init(&w, PROFILE_OFF);
    snprintf(w.config.overload_policy, sizeof w.config.overload_policy, "delay");
    lone_open_table(&w, 100, 100);
    w.waited.all = duration_ms(LONG_MS);
    node_refused(&w, 2 * INTERVAL_MS);
    struct request r = lone_request(&w, REQUEST_GET, 1);
    lone_send(&w, &r);
    assert_int_equal(lone_answer(&w)->code, REPLY_OVERLOADED);
    before = lone_answer(&w)->verdict.balances;
    lone_send(&w, &r);
    after = lone_answer(&w)->verdict.balances;
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(lone_answer(&w)->consumed_mcu, 0);
    lone_deinit(&w);
}

/* ---- a router ---- */

TEST(a_router_sheds_before_it_sends_to_a_node)
{
    static struct fake_cluster f;
    static const char GET[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";
    fake_init(&f);
    config_edit_choices(&f.config)->gac = GAC_OFF;
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    expect_call(&f, "GetItem", GET, 200, "{}");
    f.waited.all = duration_ms(LIMIT_MS + 1); /* nodes have not said that it is beyond limits */
    const struct instant begin = f.now;
    struct fake_answer a;
    while ((a = fake_call(&f, "GetItem", GET)).status == 200)
        fake_advance_ms(&f, 1);
    assert_in_range(instant_since(f.now, begin).ns / NS_PER_MS, INTERVAL_MS / 2 - 5,
                    INTERVAL_MS / 2 + 5);
    expect_answer(a, 503,
                  "{\"__type\":\"com.amazon.coral.service#ServiceUnavailable\",\"message\":\"The "
                  "router is overloaded and did nothing: the request has waited too long for the "
                  "router's processor\"}");
    /* Requests about tables are done. */
    assert_int_equal(fake_call(&f, "DescribeTable", "{\"TableName\":\"users\"}").status, 200);
    f.waited.all = duration_ms(0);
    expect_call(&f, "GetItem", GET, 200, "{}");
    fake_deinit(&f);
}

/* ---- settings ---- */

TEST(an_unknown_policy_is_refused_by_name)
{
    struct buffer error = {0};
    config_init(&config, PROFILE_RESEARCH);
    config.policies = baseline_policies();
    snprintf(config.overload_policy, sizeof config.overload_policy, "sheep");
    assert_int_equal(admission_policies_check(&config, &error), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&error),
                    "overload_policy 'sheep' is not known: it must be one of "
                    "delay, credits, off, dagor, breakwater, aequitas, topfull. --policy "
                    "FILE.so loads more");
    buffer_deinit(&error);
}

TEST(the_profile_off_refuses_nothing)
{
    config_init(&config, PROFILE_OFF);
    assert_string_equal(config.overload_policy, "off");
    config_init(&config, PROFILE_AWS);
    assert_string_equal(config.overload_policy, "credits");
}

TEST(work_within_limits_may_not_wait_less_than_other_work)
{
    struct buffer error = {0};
    config_init(&config, PROFILE_RESEARCH);
    config_edit_overload(&config)->overload_limit_ms =
        config_overload(&config)->overload_target_ms - 1;
    assert_int_equal(config_check(&config, &error), STATUS_MALFORMED);
    buffer_deinit(&error);
}
