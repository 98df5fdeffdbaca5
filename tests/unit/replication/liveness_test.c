/* Support between two nodes, by hand: LIVENESS-1, LIVENESS-2 and LIVENESS-3 of
 * replication/liveness.h. */
#include "replication/liveness.h"
#include "tests/check.h"

enum {
    A = 1,
    B = 2
};

static struct liveness_options options_of(uint32_t node, uint64_t incarnation)
{
    return (struct liveness_options){.node = node,
                                     .node_count = 3,
                                     .incarnation = incarnation,
                                     .interval = duration_ms(20),
                                     .support = duration_ms(100),
                                     .drift_ppm = 1000};
}

static struct instant at(int64_t ms)
{
    return (struct instant){ms * NS_PER_MS};
}

struct pair {
    struct liveness a;
    struct liveness b;
};

static void setup(struct pair *p)
{
    struct liveness_options a = options_of(A, 11), b = options_of(B, 22);
    liveness_init(&p->a, &a, at(0));
    liveness_init(&p->b, &b, at(0));
}

static void teardown(struct pair *p)
{
    liveness_deinit(&p->a);
    liveness_deinit(&p->b);
}

/* A heartbeat of A, sent at `sent`, which B hears at `received`. */
static struct liveness_change beat(struct pair *p, int64_t sent, int64_t received)
{
    assert_true(liveness_tick(&p->a, at(sent)).beat);
    struct liveness_beat b = liveness_beat(&p->a, at(sent), B, true);
    return liveness_received(&p->b, at(received), A, &b);
}

static struct liveness_change answer(struct pair *p, int64_t sent, int64_t received)
{
    struct liveness_beat b = liveness_beat(&p->b, at(sent), A, false);
    return liveness_received(&p->a, at(received), B, &b);
}

static uint64_t got(struct pair *p, int64_t ms, struct instant *until)
{
    return liveness_got(&p->a, at(ms), B, until);
}

TEST(support_is_counted_from_sending_and_given_from_hearing)
{
    struct pair p;
    struct instant until;
    setup(&p);
    struct liveness_change c = beat(&p, 0, 10);
    assert_true(c.answer && c.given && !c.got && !c.restarted);
    c = answer(&p, 10, 15);
    assert_true(c.got && !c.answer);
    uint64_t epoch = liveness_given(&p.b, at(10), A);
    assert_int_not_equal(epoch, 0);
    assert_true(got(&p, 15, &until) == epoch);
    assert_true(until.ns == 100 * NS_PER_MS - 200 * NS_PER_US); /* LIVENESS-2: two drifts less */
    assert_true(got(&p, 100, &until) == 0);
    assert_true(liveness_given(&p.b, at(109), A) == epoch);
    assert_true(liveness_given(&p.b, at(110), A) == 0);
    teardown(&p);
}

/* B gives support for less than A does: A may count on no more than B gives. The other way
 * round A counts what it would give itself. The larger drift of the two holds for both. */
TEST(support_is_counted_for_as_long_as_the_supporter_gives_it)
{
    struct pair p;
    struct instant until;
    setup(&p);
    p.b.options.support = duration_ms(60);
    p.b.options.drift_ppm = 10000;
    beat(&p, 0, 10);
    answer(&p, 10, 15);
    assert_true(got(&p, 15, &until) != 0);
    assert_true(until.ns == 60 * NS_PER_MS - 1200 * NS_PER_US);
    assert_true(got(&p, 60, &until) == 0);
    assert_true(liveness_given(&p.b, at(69), A) != 0);
    assert_true(liveness_given(&p.b, at(70), A) == 0);
    p.b.options.support = duration_ms(1000);
    beat(&p, 200, 201);
    answer(&p, 201, 202);
    assert_true(got(&p, 202, &until) != 0);
    assert_true(until.ns == 300 * NS_PER_MS - 2000 * NS_PER_US);
    teardown(&p);
}

TEST(an_epoch_lasts_without_a_gap_and_never_comes_back)
{
    struct pair p;
    setup(&p);
    beat(&p, 0, 1);
    uint64_t first = liveness_given(&p.b, at(1), A);
    assert_false(beat(&p, 90, 91).given);
    assert_true(liveness_given(&p.b, at(150), A) == first);
    assert_true(beat(&p, 191, 191).given); /* LIVENESS-1: 191 is the moment it lapsed */
    assert_true(liveness_given(&p.b, at(191), A) == first + 1);
    teardown(&p);
}

TEST(late_and_doubled_beats_extend_nothing)
{
    struct pair p;
    struct instant until, before;
    setup(&p);
    assert_true(liveness_tick(&p.a, at(0)).beat);
    struct liveness_beat first = liveness_beat(&p.a, at(0), B, true);
    liveness_received(&p.b, at(1), A, &first);
    struct liveness_beat first_answer = liveness_beat(&p.b, at(1), A, false);
    beat(&p, 20, 21);
    struct liveness_beat second_answer = liveness_beat(&p.b, at(21), A, false);
    struct liveness_change c = liveness_received(&p.b, at(90), A, &first); /* LIVENESS-3 */
    assert_true(!c.answer && !c.given);
    assert_true(liveness_given(&p.b, at(121), A) == 0);
    liveness_received(&p.a, at(22), B, &second_answer);
    got(&p, 22, &before);
    liveness_received(&p.a, at(23), B, &first_answer);
    liveness_received(&p.a, at(24), B, &second_answer);
    got(&p, 24, &until);
    assert_true(until.ns == before.ns);
    teardown(&p);
}

TEST(rounds_that_are_not_remembered_count_for_nothing)
{
    struct pair p;
    struct instant until;
    setup(&p);
    beat(&p, 0, 1);
    struct liveness_beat late = liveness_beat(&p.b, at(1), A, false);
    for (int i = 1; i <= LIVENESS_ROUNDS; i++)
        assert_true(liveness_tick(&p.a, at(20 * i)).beat);
    assert_false(liveness_received(&p.a, at(330), B, &late).got);
    late.ack_round = p.a.round + 1;
    assert_false(liveness_received(&p.a, at(330), B, &late).got);
    late.ack_round = p.a.round;
    late.ack_incarnation = 12; /* of an earlier life */
    assert_false(liveness_received(&p.a, at(330), B, &late).got);
    assert_true(got(&p, 330, &until) == 0);
    teardown(&p);
}

TEST(a_restart_is_a_new_epoch_and_is_reported)
{
    struct pair p;
    setup(&p);
    beat(&p, 0, 1);
    answer(&p, 1, 2);
    uint64_t first = liveness_given(&p.b, at(2), A);
    liveness_deinit(&p.a);
    struct liveness_options again = options_of(A, 33);
    liveness_init(&p.a, &again, at(3));
    /* It does not know B yet: it might as well be a heartbeat from before A's last life. */
    assert_false(beat(&p, 3, 4).given);
    assert_true(liveness_given(&p.b, at(4), A) == first);
    assert_true(liveness_tick(&p.b, at(5)).beat);
    struct liveness_beat of_b = liveness_beat(&p.b, at(5), A, true);
    assert_true(liveness_received(&p.a, at(6), B, &of_b).answer);
    struct liveness_beat known = liveness_beat(&p.a, at(6), B, false);
    struct liveness_change c = liveness_received(&p.b, at(7), A, &known);
    assert_true(c.restarted);
    assert_true(liveness_given(&p.b, at(7), A) == 0);
    assert_true(beat(&p, 23, 24).given);
    assert_true(liveness_given(&p.b, at(24), A) == first + 1);
    teardown(&p);
}

TEST(a_beat_of_an_earlier_life_ends_no_support)
{
    struct pair p;
    setup(&p);
    assert_true(liveness_tick(&p.a, at(0)).beat);
    struct liveness_beat old = liveness_beat(&p.a, at(0), B, true); /* late, see below */
    liveness_deinit(&p.a);
    struct liveness_options again = options_of(A, 33);
    liveness_init(&p.a, &again, at(10));
    beat(&p, 10, 11);
    uint64_t epoch = liveness_given(&p.b, at(11), A);
    struct liveness_change c = liveness_received(&p.b, at(12), A, &old);
    assert_true(!c.restarted && !c.given && !c.answer);
    assert_true(liveness_given(&p.b, at(12), A) == epoch);
    c = liveness_received(&p.b, at(200), A, &old); /* nobody relies on anything any more */
    assert_true(c.restarted && c.given);
    teardown(&p);
}

TEST(support_that_lapsed_and_returns_is_reported_again)
{
    struct pair p;
    setup(&p);
    beat(&p, 0, 1);
    assert_true(answer(&p, 1, 2).got);
    beat(&p, 60, 61);
    assert_true(answer(&p, 61, 120).got); /* same epoch, but it had lapsed here at 99.8 ms */
    beat(&p, 80, 81);
    assert_false(answer(&p, 81, 121).got);
    teardown(&p);
}

TEST(the_deadline_is_the_next_beat_or_lapse)
{
    struct pair p;
    setup(&p);
    assert_true(liveness_deadline(&p.b, at(0)).ns == 0);
    assert_true(liveness_tick(&p.b, at(0)).beat);
    assert_false(liveness_tick(&p.b, at(19)).beat);
    assert_true(liveness_deadline(&p.b, at(0)).ns == at(20).ns);
    beat(&p, 0, 1);
    for (int i = 1; i <= 5; i++)
        assert_true(liveness_tick(&p.b, at(20 * i)).beat);
    assert_true(liveness_deadline(&p.b, at(100)).ns == at(101).ns);
    assert_true(liveness_deadline(&p.b, at(101)).ns == at(120).ns);
    teardown(&p);
}

/* B gave support until 101 ms and 121 ms. A counts what it got until 99.8 ms. */
TEST(a_tick_reports_support_that_has_lapsed_and_only_once)
{
    struct pair p;
    setup(&p);
    beat(&p, 0, 1);
    assert_true(answer(&p, 1, 2).got);
    assert_false(liveness_tick(&p.b, at(20)).lapsed);
    beat(&p, 20, 21);
    assert_false(liveness_tick(&p.a, at(99)).lapsed);
    assert_true(liveness_tick(&p.a, at(100)).lapsed);
    assert_false(liveness_tick(&p.a, at(101)).lapsed);
    assert_false(liveness_tick(&p.b, at(101)).lapsed); /* a later beat has renewed it */
    assert_true(liveness_tick(&p.b, at(140)).lapsed);
    assert_false(liveness_tick(&p.b, at(300)).lapsed);
    teardown(&p);
}

TEST(a_node_supports_itself_and_nobody_it_does_not_know)
{
    struct pair p;
    struct instant until;
    setup(&p);
    assert_true(liveness_given(&p.a, at(0), A) == 1);
    assert_true(liveness_got(&p.a, at(0), A, &until) == 1 && until.ns == INSTANT_NEVER.ns);
    assert_true(liveness_got(&p.a, at(0), 99, &until) == 0);
    assert_true(liveness_given(&p.a, at(0), 0) == 0);
    struct liveness_beat b = {.incarnation = 5, .round = 1};
    assert_false(liveness_received(&p.a, at(0), 99, &b).answer);
    assert_false(liveness_received(&p.a, at(0), A, &b).answer);
    teardown(&p);
}

/* LIVENESS-2, whatever the clocks do within the bound and whatever the two nodes' settings are: who
 * believes in support has it. */
static void drifting(struct prng *p)
{
    struct liveness_options o[2] = {options_of(A, prng_next(p) | 1), options_of(B, 5)};
    int64_t drift = prng_between(p, 0, 100000), rate[2];
    struct liveness l[2];
    uint64_t careful = prng_below(p, 2); /* who allows for all of the drift */
    for (uint64_t i = 0; i < 2; i++) {
        o[i].drift_ppm = i == careful ? drift : prng_between(p, 0, drift);
        o[i].support = duration_ms(prng_between(p, 30, 200));
        rate[i] = 1000000 + prng_between(p, -drift, drift);
        liveness_init(&l[i], &o[i], at(0));
    }
    struct liveness_beat in_flight = {0};
    for (int64_t now = 0; now < 4000; now++) { /* real time, ms */
        struct instant clock[2] = {{now * rate[0]}, {now * rate[1]}};
        if (liveness_tick(&l[0], clock[0]).beat && prng_below(p, 3) > 0)
            in_flight = liveness_beat(&l[0], clock[0], B, true);
        if (prng_below(p, 15) == 0 && in_flight.incarnation != 0 &&
            liveness_received(&l[1], clock[1], A, &in_flight).answer) {
            struct liveness_beat b = liveness_beat(&l[1], clock[1], A, false);
            liveness_received(&l[0], clock[0], B, &b);
        }
        struct instant until;
        uint64_t epoch = liveness_got(&l[0], clock[0], B, &until);
        assert_true(epoch == 0 || liveness_given(&l[1], clock[1], A) == epoch);
    }
    liveness_deinit(&l[0]);
    liveness_deinit(&l[1]);
}

TEST(support_believed_in_is_given_while_clocks_drift)
{
    check_seeds(200, drifting);
}

TEST(a_beat_is_read_as_it_was_written)
{
    struct buffer bytes = {0};
    const struct liveness_beat b = {1, 2, 3, 4, 5, duration_ms(6), 7};
    liveness_beat_encode(&bytes, &b);
    struct reader r = {buffer_slice(&bytes), false};
    struct liveness_beat out = {0};
    assert_int_equal(liveness_beat_decode(&r, &out), STATUS_OK);
    assert_memory_equal(&b, &out, offsetof(struct liveness_beat, ack_drift_ppm));
    assert_int_equal(b.ack_drift_ppm, out.ack_drift_ppm);
    for (size_t size = 0; size < bytes.size; size++) {
        r = (struct reader){slice_make(bytes.data, size), false};
        assert_int_equal(liveness_beat_decode(&r, &out), STATUS_MALFORMED);
    }
    memset(bytes.data, 0, 8); /* no incarnation */
    r = (struct reader){buffer_slice(&bytes), false};
    assert_int_equal(liveness_beat_decode(&r, &out), STATUS_MALFORMED);
    bytes.data[0] = 1;
    memset(bytes.data + LIVENESS_BEAT_SIZE - 4, 255, 4); /* a drift that cannot be */
    r = (struct reader){buffer_slice(&bytes), false};
    assert_int_equal(liveness_beat_decode(&r, &out), STATUS_MALFORMED);
    buffer_deinit(&bytes);
}
