/* retry_test.c - the models of clients that try again, by the numbers of their sources. */
#include "tests/check.h"

#include <math.h>

#include "base/instant.h"
#include "base/policies.h"
#include "include/weir/policy.h"
#include "workload/retry.h"

static const struct retry_outcome done = {RETRY_DONE, -1}, throttled = {RETRY_THROTTLED, -1},
                                  failed = {RETRY_ERROR, -1}, timed_out = {RETRY_TIMEOUT, -1};

static struct retry retry_of(const char *text, int64_t now_ns)
{
    struct retry_options o = {0};
    struct retry r;
    assert_null(retry_parse(&o, text));
    retry_init(&r, &o, now_ns);
    return r;
}

/* Lets one request fail until the client gives up; the delays in ms. Returns the attempts. */
static int fail_until_over(struct retry *r, const struct retry_outcome *outcome, double *delays_ms,
                           enum retry_stop *stop, struct prng *random)
{
    struct retry_request q = {0};
    int64_t now_ns = 0;
    for (;;) {
        struct retry_verdict v = retry_after(r, &q, outcome, now_ns, random);
        *stop = v.stop;
        if (!v.again)
            return q.attempts;
        delays_ms[q.attempts - 1] = (double)(v.at_ns - now_ns) / 1e6;
        now_ns = v.at_ns;
    }
}

TEST(models_make_as_many_attempts_as_their_sources)
{
    static const struct {
        const char *text;
        int attempts;
    } cases[] = {{"none", 1},         {"legacy", 10},       {"standard", 3},
                 {"adaptive", 3},     {"standard-2026", 4}, {"adaptive-2026", 4},
                 {"sre-throttle", 1}, {"standard:7", 7},    {"standard-2026:1", 1},
                 {"legacy:40", 40}};
    struct prng random = prng_seeded(1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double delays[100];
        enum retry_stop stop;
        struct retry r = retry_of(cases[i].text, 0);
        int attempts = fail_until_over(&r, &failed, delays, &stop, &random);
        if (attempts != cases[i].attempts)
            fail_msg("%s: %d attempts", cases[i].text, attempts);
    }
}

TEST(the_legacy_back_off_doubles_from_50_ms_without_jitter)
{
    double delays[100];
    enum retry_stop stop;
    struct prng random = prng_seeded(1);
    struct retry r = retry_of("legacy", 0);
    assert_int_equal(fail_until_over(&r, &throttled, delays, &stop, &random), 10);
    assert_int_equal(stop, RETRY_STOP_ATTEMPTS);
    for (int i = 0; i < 9; i++)
        assert_true(fabs(delays[i] - 50 * pow(2, i)) < 1e-3);
}

/* The delay before attempt n + 2 is uniform in [0, most): by its mean and its greatest value. */
static void assert_back_off(const char *text, const struct retry_outcome *outcome, int count,
                            const double *ms_max)
{
    enum {
        ROUNDS = 4000
    };
    double sum[20] = {0}, greatest[20] = {0};
    struct prng random = prng_seeded(3);
    for (int round = 0; round < ROUNDS; round++) {
        double delays[100];
        enum retry_stop stop;
        struct retry r = retry_of(text, 0); /* a full quota each time */
        assert_int_equal(fail_until_over(&r, outcome, delays, &stop, &random), count + 1);
        for (int i = 0; i < count; i++) {
            sum[i] += delays[i] / ROUNDS;
            greatest[i] = fmax(greatest[i], delays[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        if (greatest[i] > ms_max[i] || greatest[i] < 0.99 * ms_max[i] ||
            fabs(sum[i] / ms_max[i] - 0.5) > 5 * sqrt(1.0 / 12 / ROUNDS))
            fail_msg("%s, delay %d: at most %g ms, on average %g ms", text, i, greatest[i], sum[i]);
    }
}

TEST(back_off_has_full_jitter_on_the_documented_bases)
{
    const double second[] = {1000, 2000}, errors[] = {25, 50, 100}, slow[] = {1000, 2000, 4000},
                 capped[] = {1000, 2000, 4000, 8000, 16000, 20000, 20000, 20000};
    assert_back_off("standard", &throttled, 2, second);
    assert_back_off("standard", &failed, 2, second);
    assert_back_off("standard:9", &failed, 8, capped);
    assert_back_off("standard-2026", &failed, 3, errors);
    assert_back_off("standard-2026", &timed_out, 3, errors);
    assert_back_off("standard-2026", &throttled, 3, slow);
    assert_back_off("standard-2026:9", &throttled, 8, capped);
}

/* How many retries a full quota lets through, and how many after `successes` first tries. */
static int retries_of_quota(struct retry *r, const struct retry_outcome *outcome)
{
    struct prng random = prng_seeded(4);
    for (int retries = 0;; retries++) {
        struct retry_request q = {0};
        struct retry_verdict v = retry_after(r, &q, outcome, 0, &random);
        if (!v.again) {
            assert_int_equal(v.stop, RETRY_STOP_QUOTA);
            return retries;
        }
    }
}

TEST(a_quota_of_500_tokens_bounds_the_retries_of_a_client)
{
    static const struct {
        const char *text;
        const struct retry_outcome *outcome;
        int cost;
    } cases[] = {{"standard", &failed, 5},         {"standard", &throttled, 5},
                 {"standard", &timed_out, 10},     {"standard-2026", &failed, 14},
                 {"standard-2026", &throttled, 5}, {"standard-2026", &timed_out, 14}};
    struct prng random = prng_seeded(4);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct retry r = retry_of(cases[i].text, 0);
        int cost = cases[i].cost;
        assert_int_equal(retries_of_quota(&r, cases[i].outcome), 500 / cost);
        /* First tries that succeed give back one token each. */
        int left = 500 % cost;
        for (int n = 0; n < cost - left; n++) {
            struct retry_request q = {0};
            assert_int_equal(retry_after(&r, &q, &done, 0, &random).stop, RETRY_STOP_DONE);
        }
        assert_int_equal(retries_of_quota(&r, cases[i].outcome), 1);
        /* A retry that succeeds gives back what it took; an error that no try mends gives
         * nothing. */
        struct retry_request q = {.attempts = 1, .note = cost};
        const struct retry_outcome final = {RETRY_FINAL, -1};
        assert_false(retry_after(&r, &q, &final, 0, &random).again);
        assert_int_equal(retries_of_quota(&r, cases[i].outcome), 0);
        q.attempts = 1;
        retry_after(&r, &q, &done, 0, &random);
        assert_int_equal(retries_of_quota(&r, cases[i].outcome), 1);
    }
}

TEST(a_full_quota_does_not_grow)
{
    struct prng random = prng_seeded(4);
    struct retry r = retry_of("standard", 0);
    for (int n = 0; n < 1000; n++) {
        struct retry_request q = {0};
        retry_after(&r, &q, &done, 0, &random);
    }
    assert_int_equal(retries_of_quota(&r, &failed), 100);
}

TEST(x_amz_retry_after_counts_from_2026_on_within_five_seconds_of_the_back_off)
{
    struct prng random = prng_seeded(5);
    for (int round = 0; round < 1000; round++) {
        const struct retry_outcome soon = {RETRY_THROTTLED, 0},
                                   later = {RETRY_THROTTLED, 3 * NS_PER_S},
                                   late = {RETRY_THROTTLED, 3600 * NS_PER_S};
        struct retry r = retry_of("standard-2026", 0), old = retry_of("standard", 0);
        struct retry_request q[4] = {0};
        assert_in_range(retry_after(&r, &q[0], &soon, 0, &random).at_ns, 0, NS_PER_S);
        assert_int_equal(retry_after(&r, &q[1], &later, 0, &random).at_ns, 3 * NS_PER_S);
        assert_in_range(retry_after(&r, &q[2], &late, 0, &random).at_ns, 5 * NS_PER_S,
                        6 * NS_PER_S);
        assert_in_range(retry_after(&old, &q[3], &late, 0, &random).at_ns, 0, NS_PER_S);
    }
}

/* A service that serves `limit` requests in each tenth of a second, and a client that always wants
 * more. Returns what was sent a second in the last ten of 60 seconds. */
static double sent_per_second(const char *text, int limit)
{
    struct retry r = retry_of(text, 0);
    struct prng random = prng_seeded(6);
    int64_t now_ns = 0, tenth = 0;
    int served = 0, sent = 0;
    while (now_ns < 60 * NS_PER_S) {
        struct retry_request q = {0};
        struct retry_verdict v = retry_send(&r, &q, now_ns, &random);
        assert_true(v.again && v.at_ns >= now_ns);
        if (v.at_ns > now_ns) {
            now_ns = v.at_ns;
            continue;
        }
        now_ns += NS_PER_MS / 5; /* at most 5,000 a second */
        if (now_ns / (100 * NS_PER_MS) != tenth) {
            tenth = now_ns / (100 * NS_PER_MS);
            served = 0;
        }
        bool ok = served++ < limit;
        sent += now_ns >= 50 * NS_PER_S;
        retry_after(&r, &q, ok ? &done : &throttled, now_ns, &random);
    }
    return sent / 10.0;
}

TEST(adaptive_clients_slow_down_to_what_is_served_and_others_do_not)
{
    double plain = sent_per_second("standard", 10), limited = sent_per_second("adaptive", 10),
           limited_2026 = sent_per_second("adaptive-2026", 10);
    assert_true(plain > 4900);
    /* 100 a second are served; CUBIC swings around that. */
    assert_true(limited > 40 && limited < 200);
    assert_true(limited_2026 > 40 && limited_2026 < 200);
}

TEST(an_adaptive_client_is_not_limited_before_the_first_throttling)
{
    struct retry r = retry_of("adaptive", 5);
    struct prng random = prng_seeded(7);
    for (int i = 0; i < 1000; i++) {
        struct retry_request q = {0};
        assert_int_equal(retry_send(&r, &q, 5 + i, &random).at_ns, 5 + i);
        retry_after(&r, &q, i % 2 ? &done : &failed, 5 + i, &random);
    }
}

/* How long the limiter of a client without tokens lets it wait for one, in ms. */
static double token_ms(struct retry *r, int64_t now_ns)
{
    struct prng random = prng_seeded(1);
    struct retry_request q = {0};
    struct retry_verdict v;
    while ((v = retry_send(r, &q, now_ns, &random)).at_ns == now_ns)
        ; /* tokens that are left */
    now_ns = v.at_ns;
    while ((v = retry_send(r, &q, now_ns, &random)).at_ns == now_ns)
        ;
    return (double)(v.at_ns - now_ns) / 1e6;
}

/* The limiter's numbers: 100 answers a second, then a throttling. The rate falls to 0.7 of the
 * measured one, and is back at it after cbrt(0.3 x 100 / 0.4) = 4.217 s (CUBIC with the scale
 * 0.4). */
TEST(the_limiter_cuts_to_seven_tenths_and_recovers_by_a_cubic)
{
    struct retry r = retry_of("adaptive", 0);
    struct prng random = prng_seeded(1);
    struct retry_request q = {0};
    int64_t now_ns = 0;
    for (int i = 0; i < 600; i++, now_ns += 10 * NS_PER_MS)
        retry_after(&r, &q, &done, now_ns, &random);
    q = (struct retry_request){0};
    retry_after(&r, &q, &throttled, now_ns, &random);
    assert_true(fabs(token_ms(&r, now_ns) - 1000 / 70.0) < 0.02);
    /* After 1 s: 100 - 0.4 x 3.217^3 = 86.68 a second. token_ms moves the time of a copy. */
    const int64_t cut_ns = now_ns;
    static const struct {
        int64_t after_ns;
        double per_s;
    } points[] = {{NS_PER_S, 86.68}, {INT64_C(4217163327), 100}};
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        while ((now_ns += 10 * NS_PER_MS) < cut_ns + points[i].after_ns)
            retry_after(&r, &q, &done, now_ns, &random);
        now_ns = cut_ns + points[i].after_ns;
        retry_after(&r, &q, &done, now_ns, &random);
        struct retry copy = r;
        assert_true(fabs(token_ms(&copy, now_ns) - 1000 / points[i].per_s) < 0.03);
    }
}

/* Requests that come every ms to a service that accepts one of ten; the attempts that are sent in
 * the fourth minute. */
TEST(the_sre_throttle_sends_k_times_what_is_accepted)
{
    static const struct {
        const char *text;
        double k;
    } cases[] = {{"sre-throttle", 2}, {"sre-throttle:1.1", 1.1}, {"sre-throttle:4", 4}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct retry r = retry_of(cases[i].text, 0);
        struct prng random = prng_seeded(8);
        int sent = 0, accepted = 0, budget = 0;
        for (int64_t ms = 0; ms < 240000; ms++) {
            struct retry_request q = {.attempts = 0};
            if (ms % 10 == 0) /* accepted at most 100 a second, at any time of it */
                budget = budget < 10 ? budget + 1 : 10;
            if (!retry_send(&r, &q, ms * NS_PER_MS, &random).again)
                continue;
            bool ok = budget > 0;
            budget -= ok;
            sent += ms >= 180000;
            accepted += ok && ms >= 180000;
            retry_after(&r, &q, ok ? &done : &throttled, ms * NS_PER_MS, &random);
        }
        /* Rejected with 1 - K x accepts / requests: K times the accepts are sent. */
        if (fabs((double)sent / accepted / cases[i].k - 1) > 0.06)
            fail_msg("%s: %d sent, %d accepted", cases[i].text, sent, accepted);
    }
}

TEST(the_sre_throttle_counts_two_minutes_and_caps_retries_at_a_tenth)
{
    struct retry r = retry_of("sre-throttle", 0);
    struct prng random = prng_seeded(9);
    int rejected = 0, retries = 0;
    for (int i = 0; i < 100; i++) {
        struct retry_request q = {0};
        if (retry_send(&r, &q, 0, &random).again)
            retry_after(&r, &q, &failed, 0, &random);
        else
            rejected++;
    }
    assert_true(rejected > 80);
    struct retry_request q = {0};
    assert_true(retry_send(&r, &q, 126 * NS_PER_S, &random).again);
    /* All is well, but a tenth is asked for again. */
    r = retry_of("sre-throttle", 0);
    for (int i = 0; i < 1000; i++) {
        struct retry_request one = {0};
        retry_send(&r, &one, 0, &random);
        if (retry_after(&r, &one, i % 2 ? &failed : &done, 0, &random).again) {
            retries++;
            retry_send(&r, &one, 0, &random);
            retry_after(&r, &one, &done, 0, &random);
        }
    }
    assert_in_range(retries, 90, 130);
}

TEST(unknown_models_are_refused_and_known_ones_are_taken)
{
    static const char *const wrong[] = {
        "",           "nothing",        "standard:0",    "standard:",
        "standard:x", "none:3",         "legacy:1001",   "standard:2:3",
        "standard-2", "sre-throttle:0", "sre-throttle:x"};
    struct retry_options o = {0};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (retry_parse(&o, wrong[i]) == NULL)
            fail_msg("`%s` was taken", wrong[i]);
    for (int i = 0; retry_models[i] != NULL; i++) {
        assert_null(retry_parse(&o, retry_models[i]->name));
        assert_ptr_equal(o.policy, retry_models[i]);
    }
}

/* ---- policies from files ---- */

static struct {
    struct weir_retry_decision send, after;
    uint32_t result;
    int64_t hint_ns;
    int32_t attempts, note, attempts_max;
    double number;
} script;

static void scripted_begin(struct weir_retry *r)
{
    *(int64_t *)weir_retry_state(r) = weir_retry_now_ns(r);
    assert_int_equal(weir_retry_attempts(r), 0);
    weir_retry_keep_note(r, 9); /* of no request */
    assert_int_equal(weir_retry_note(r), 0);
    assert_true(weir_retry_random(r) == 0);
    assert_true(weir_retry_hint_ns(r) < 0);
}

static void scripted_send(struct weir_retry *r, struct weir_retry_decision *decision)
{
    assert_int_equal(decision->again, 0);
    *decision = script.send;
    decision->at_ns += weir_retry_now_ns(r);
}

static void scripted_after(struct weir_retry *r, struct weir_retry_decision *decision)
{
    assert_int_equal(*(int64_t *)weir_retry_state(r), 5);
    script.result = weir_retry_result(r);
    script.hint_ns = weir_retry_hint_ns(r);
    script.attempts = weir_retry_attempts(r);
    script.attempts_max = weir_retry_attempts_max(r);
    script.number = weir_retry_number(r);
    script.note = weir_retry_note(r);
    weir_retry_keep_note(r, script.note + 7);
    assert_true(weir_retry_random(r) >= 0 && weir_retry_random(r) < 1);
    *decision = script.after;
    decision->at_ns += weir_retry_now_ns(r);
}

static int invalid_reported;

static void report(void *context, const char *text)
{
    (void)context;
    assert_non_null(strstr(text, "retry policy 'scripted' of FILE.so "));
    assert_non_null(strstr(text, "Such decisions end the request"));
    invalid_reported++;
}

static struct weir_retry_policy scripted = {.size = sizeof scripted,
                                            .state_bytes = 8,
                                            .name = "scripted",
                                            .attempts_max = 3,
                                            .number = 4,
                                            .begin = scripted_begin,
                                            .send = scripted_send,
                                            .after = scripted_after};

static enum status add_retry(struct policies *policies, const struct weir_retry_policy *p)
{
    const struct weir_retry_policy *const retry[] = {p};
    const struct weir_policy_plugin plugin = {
        .abi = WEIR_POLICY_ABI, .size = sizeof plugin, .retry_count = 1, .retry = retry};
    struct buffer error = {0};
    enum status status = policies_add(policies, &plugin, "FILE.so", NULL, &error);
    if (status == STATUS_OK)
        status = retry_policies_check(policies, &error);
    buffer_deinit(&error);
    return status;
}

TEST(a_policy_from_a_file_decides_for_a_client)
{
    static struct policies policies;
    struct prng random = prng_seeded(1);
    struct retry_request q = {0};
    struct retry_options o = {0};
    struct retry r;
    const struct retry_outcome hinted = {RETRY_THROTTLED, 1234};
    memset(&script, 0, sizeof script);
    policies = (struct policies){0};
    assert_non_null(retry_parse(&o, "scripted"));
    assert_int_equal(add_retry(&policies, &scripted), STATUS_OK);
    o.policies = &policies;
    assert_null(retry_parse(&o, "scripted:12"));
    assert_non_null(retry_parse(&o, "scripted:x"));
    assert_non_null(retry_parse(&o, "scripted-2"));
    assert_null(retry_parse(&o, "legacy:7")); /* weir's own are there, too */
    assert_null(retry_parse(&o, "scripted:12"));
    retry_init(&r, &o, 5);
    script.send = (struct weir_retry_decision){.again = 1, .at_ns = 20};
    assert_int_equal(retry_send(&r, &q, 100, &random).at_ns, 120);
    script.after = (struct weir_retry_decision){.again = 1, .at_ns = 50};
    for (int32_t attempt = 1; attempt < 4; attempt++) {
        struct retry_verdict v = retry_after(&r, &q, &hinted, 200, &random);
        assert_true(v.again && v.at_ns == 250);
        assert_int_equal(script.attempts, attempt);
        assert_int_equal(script.note, (attempt - 1) * 7);
    }
    assert_int_equal(script.result, WEIR_RETRY_THROTTLED);
    assert_int_equal(script.hint_ns, 1234);
    assert_int_equal(script.attempts_max, 12);
    assert_true(script.number == 4);
    script.after = (struct weir_retry_decision){.stop = WEIR_RETRY_STOP_QUOTA};
    assert_int_equal(retry_after(&r, &q, &failed, 200, &random).stop, RETRY_STOP_QUOTA);
    assert_int_equal(retry_after(&r, &q, &done, 200, &random).stop, RETRY_STOP_DONE);
    script.after = (struct weir_retry_decision){0};
    assert_int_equal(retry_after(&r, &q, &failed, 200, &random).stop, RETRY_STOP_ATTEMPTS);
    assert_int_equal(policies.entries[0].invalid_results, 0);
}

TEST(a_number_in_place_of_attempts_goes_to_a_policy_that_takes_it)
{
    static struct policies policies;
    struct retry_options o = {.policies = &policies};
    struct weir_retry_policy p = scripted;
    policies = (struct policies){0};
    p.flags = WEIR_RETRY_TAKES_NUMBER;
    assert_int_equal(add_retry(&policies, &p), STATUS_OK);
    assert_null(retry_parse(&o, "scripted"));
    assert_true(o.parameter == 4);
    assert_null(retry_parse(&o, "scripted:2.5"));
    assert_true(o.parameter == 2.5 && o.attempts_max == 3);
    assert_non_null(retry_parse(&o, "scripted:101"));
}

TEST(what_a_retry_policy_lacks_is_reported)
{
    static struct policies policies;
    struct weir_retry_policy cases[] = {scripted, scripted, scripted, scripted, scripted, scripted};
    cases[0].after = NULL;
    cases[1].attempts_max = 0;
    cases[2].attempts_max = WEIR_RETRY_ATTEMPTS_MAX + 1;
    cases[3].state_bytes = WEIR_RETRY_STATE_MAX + 1;
    cases[4].flags = 2;
    cases[5].name = "standard-2026"; /* weir's own */
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        policies = (struct policies){0};
        assert_int_equal(add_retry(&policies, &cases[i]), STATUS_MALFORMED);
    }
}

TEST(an_invalid_result_ends_the_request_and_is_reported_once)
{
    static struct policies policies;
    static const struct weir_retry_decision cases[] = {
        {.again = 2},
        {.again = 1, .at_ns = -1},
        {.again = 1, .at_ns = WEIR_RETRY_WAIT_NS_MAX + 1},
        {.stop = 1},
        {.stop = WEIR_RETRY_STOP_LOCAL + 1},
    };
    struct prng random = prng_seeded(1);
    struct retry_options o = {.policies = &policies};
    struct retry r;
    policies = (struct policies){.report = report};
    invalid_reported = 0;
    assert_int_equal(add_retry(&policies, &scripted), STATUS_OK);
    assert_null(retry_parse(&o, "scripted"));
    retry_init(&r, &o, 5);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct retry_request q = {0};
        script.send = script.after = cases[i];
        assert_int_equal(retry_send(&r, &q, 100, &random).stop, RETRY_STOP_LOCAL);
        struct retry_verdict v = retry_after(&r, &q, &failed, 100, &random);
        assert_true(!v.again && v.stop == RETRY_STOP_LOCAL);
        assert_int_equal(policies.entries[0].invalid_results, 2 * (i + 1));
    }
    struct retry_request q = {0}, old = {.attempts = RETRY_ATTEMPTS_MAX};
    script.send = script.after = (struct weir_retry_decision){.again = 1};
    struct retry_verdict v = retry_after(&r, &q, &done, 100, &random);
    assert_true(!v.again && v.stop == RETRY_STOP_DONE); /* it is answered */
    v = retry_after(&r, &old, &failed, 100, &random);
    assert_true(!v.again && v.stop == RETRY_STOP_LOCAL);
    assert_int_equal(policies.entries[0].invalid_results, 12);
    assert_int_equal(invalid_reported, 1);
}
