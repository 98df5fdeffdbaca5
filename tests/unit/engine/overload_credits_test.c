/* overload_credits_test.c - when credits begin and end, and which requests need them. */
#include "base/settings/overload.h"
#include "engine/admission/overload.h"
#include "tests/check.h"

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
    snprintf(config.overload_policy, sizeof config.overload_policy, "%s", policy);
    config_edit_overload(&config)->overload_target_ms = TARGET_MS;
    config_edit_overload(&config)->overload_interval_ms = INTERVAL_MS;
    config_edit_overload(&config)->overload_limit_ms = LIMIT_MS;
    overload_init(&overload, &config);
    now = (struct instant){NS_PER_S};
}

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

/* A hundredth of a credit would be a pause of many seconds. */
TEST(a_pause_is_an_interval_at_most)
{
    struct overload router;
    struct overload_peer node = {0};
    begin("credits");
    overload_init(&router, &config);
    credits_done(2 * INTERVAL_MS, 1, LIMIT_MS, true);
    const struct overload_arrival a = {.now = now};
    assert_true(overload_may_send(&router, &node, &a));
    now = instant_add(now, duration_ms(LONG_MS));
    credits_answer(&router, &node, 1, 1);
    now = instant_add(now, duration_ms(INTERVAL_MS - 1));
    assert_int_equal(credits_sent(&router, &node, false), 0);
    now = instant_add(now, duration_ms(1));
    assert_int_equal(credits_sent(&router, &node, false), 1);
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
