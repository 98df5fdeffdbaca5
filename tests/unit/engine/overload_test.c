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
    begin("dagor");
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
    begin("dagor");
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

/* ---- credits ---- */

enum {
    MANY = 5000,              /* requests: more than there are credits */
    BEGIN_MS = TARGET_MS / 3, /* a queue above this is an overload */
    AIM_MS = TARGET_MS / 32,
    BUSY_AIM_MS = 8 /* eight service times of a millisecond */
};

/* A request a millisecond for `ms`, of the sender. All wait for so long. How many are done. */
static int credits_done(int ms, uint64_t sender, int64_t waited_ms, bool within_limit)
{
    int done = 0;
    for (int i = 0; i < ms; i++) {
        now = instant_add(now, duration_ms(1));
        const struct overload_arrival a = {.now = now,
                                           .waited = duration_ms(waited_ms),
                                           .within_limit = within_limit,
                                           .sender = sender};
        done += overload_arrive(&overload, &a);
    }
    return done;
}

/* Sends until the router holds back; how many. At most MANY. */
static int credits_sent(struct overload *router, struct overload_peer *node, bool within_limit)
{
    const struct overload_arrival a = {.now = now, .within_limit = within_limit};
    int sent = 0;
    while (sent < MANY && overload_may_send(router, node, &a))
        sent++;
    return sent;
}

static void credits_answer(struct overload *router, struct overload_peer *node, uint64_t sender,
                           int count)
{
    const struct overload_arrival a = {.now = now, .sender = sender};
    for (int i = 0; i < count; i++)
        overload_answered(router, node, now, overload_report(&overload, &a));
}

TEST(credits_are_given_while_a_queue_stands)
{
    struct overload router;
    struct overload_peer node = {0};
    begin("credits");
    overload_init(&router, &config);
    assert_int_equal(credits_done(1000, 1, BEGIN_MS, false), 1000);
    credits_answer(&router, &node, 1, 1);
    assert_int_equal(credits_sent(&router, &node, false), MANY); /* none are needed */
    credits_answer(&router, &node, 1, MANY);
    assert_int_equal(credits_done(INTERVAL_MS / 2 - 1, 1, LONG_MS, false), INTERVAL_MS / 2 - 1);
    const int done = credits_done(100, 1, LONG_MS, false);
    assert_in_range(done, 0, 1); /* it has stood by then */
    credits_answer(&router, &node, 1, 1);
    assert_in_range(credits_sent(&router, &node, false), 0, 10);
    assert_int_equal(credits_sent(&router, &node, true), MANY); /* within a limit */
    credits_answer(&router, &node, 1, MANY + 10);
    credits_done(999, 1, AIM_MS, false);
    credits_answer(&router, &node, 1, 1);
    assert_true(credits_sent(&router, &node, false) < MANY);
    credits_done(2, 1, AIM_MS, false); /* a second without a queue */
    credits_answer(&router, &node, 1, MANY);
    assert_int_equal(credits_sent(&router, &node, false), MANY);
}

/* The process stands still for 20 ms in every 40, because other programs run. It works off what has
 * come meanwhile in 3 ms, and then requests do not wait. */
static void credits_with_pauses(int count)
{
    for (int i = 0; i < count; i++) {
        now = instant_add(now, duration_ms(20));
        for (int k = 20; k > 0; k--) {
            const struct overload_arrival a = {.now = now, .waited = duration_ms(k), .sender = 1};
            overload_arrive(&overload, &a);
            now = instant_add(now, (struct duration){3 * NS_PER_MS / 20});
        }
        credits_done(17, 1, 0, false);
    }
}

TEST(pauses_of_a_process_are_no_queue)
{
    struct overload router;
    struct overload_peer node = {0};
    begin("credits");
    overload_init(&router, &config);
    credits_with_pauses(50);
    assert_true(overload_may_send(&router, &node, &(struct overload_arrival){.now = now}));
    credits_answer(&router, &node, 1, 1);
    assert_int_equal(credits_sent(&router, &node, false), MANY);
    credits_answer(&router, &node, 1, MANY);
    credits_done(INTERVAL_MS, 1, LONG_MS, false);
    credits_answer(&router, &node, 1, 1);
    assert_in_range(credits_sent(&router, &node, false), 0, 10);
    credits_answer(&router, &node, 1, 10);
    credits_with_pauses(50); /* they end all the same */
    credits_answer(&router, &node, 1, 1);
    assert_int_equal(credits_sent(&router, &node, false), MANY);
}

TEST(a_guard_behind_credits_refuses_what_has_waited_longer_than_the_target)
{
    begin("credits");
    credits_done(2 * TARGET_MS, 1, TARGET_MS, false);
    assert_int_equal(credits_done(10, 1, TARGET_MS, false), 10);
    assert_int_equal(credits_done(10, 1, TARGET_MS + 1, false), 0);
    assert_int_equal(credits_done(10, 1, LIMIT_MS, true), 10);
    assert_int_equal(credits_done(10, 1, LIMIT_MS + 1, true), 0);
}

TEST(credits_are_divided_by_what_routers_send)
{
    struct overload routers[2];
    struct overload_peer node[2] = {{{0}}, {{0}}};
    begin("credits");
    for (int i = 0; i < 2; i++)
        overload_init(&routers[i], &config);
    credits_done(INTERVAL_MS, 1, TARGET_MS, false);
    for (int i = 0; i < 100; i++) { /* credits grow while waits are short */
        credits_done(3, 1, AIM_MS, false);
        credits_done(1, 2, AIM_MS, false);
    }
    int sent[2];
    for (int i = 0; i < 2; i++) {
        const struct overload_arrival a = {.now = now};
        assert_true(overload_may_send(&routers[i], &node[i], &a));
        credits_answer(&routers[i], &node[i], (uint64_t)i + 1, 1);
        sent[i] = credits_sent(&routers[i], &node[i], false);
    }
    assert_in_range(sent[0], 5 * sent[1] / 2, 7 * sent[1] / 2);
}

/* A queue of seven service times is short. */
TEST(a_slow_process_aims_at_eight_service_times)
{
    struct overload router;
    struct overload_peer node = {0};
    begin("credits");
    overload_init(&router, &config);
    credits_done(INTERVAL_MS, 1, LONG_MS, false);
    for (int i = 0; i < 200; i++) {
        now = instant_add(now, duration_ms(4));
        credits_done(1, 1, 30, false); /* 5 ms a request */
    }
    assert_true(overload_may_send(&router, &node, &(struct overload_arrival){.now = now}));
    credits_answer(&router, &node, 1, 1);
    assert_in_range(credits_sent(&router, &node, false), 50, MANY); /* they grow */
    for (int i = 0; i < 200; i++) {
        now = instant_add(now, duration_ms(4));
        credits_done(1, 1, 120, false);
    }
    credits_answer(&router, &node, 1, MANY);
    assert_in_range(credits_sent(&router, &node, false), 0, 10);
}

TEST(a_part_of_a_credit_is_a_pause_between_two_requests)
{
    struct overload router;
    struct overload_peer node = {0};
    begin("credits");
    overload_init(&router, &config);
    credits_done(2 * INTERVAL_MS, 1, TARGET_MS, false); /* a credit in all, and a long queue */
    credits_done(1, 1, 4 * BUSY_AIM_MS, false);
    const struct overload_arrival a = {.now = now};
    assert_true(overload_may_send(&router, &node, &a));
    credits_answer(&router, &node, 1, 1);
    assert_int_equal(credits_sent(&router, &node, false), 0);
    now = instant_add(now, duration_ms(3 * AIM_MS)); /* three quarters are missing */
    assert_int_equal(credits_sent(&router, &node, false), 0);
    now = instant_add(now, duration_ms(AIM_MS));
    assert_int_equal(credits_sent(&router, &node, false), 1);
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
