/* retry_aws.c - the retry modes of AWS SDKs, for DynamoDB clients, before and after November 2026.
 *
 * legacy         Read from botocore 1.43 (botocore/data/_retry.json, botocore/retryhandler.py): 10
 *                attempts, 50 ms x 2^(n-1) after attempt n, without jitter, cap and quota. The mode
 *                differs by SDK: the .NET and C++ clients made 11 attempts.
 * standard       Documented ("Retry behavior", AWS SDKs and Tools Reference Guide): 3 attempts,
 *                full jitter on min(20 s, 2^(n-1) s), a quota of 500 tokens. Read from botocore: a
 *                retry costs 5 tokens, after a timeout 10; a success gives back what its last
 *                retry cost, or 1.
 * adaptive       standard, and a rate limiter of the client. Documented: that it exists. Read from
 *                botocore (botocore/retries/adaptive.py, botocore/retries/throttling.py,
 *                botocore/retries/bucket.py): all of its numbers.
 * standard-2026  Documented (the same guide, as of 2026, and the announcement in the AWS Developer
 *                Tools Blog): 4 attempts for DynamoDB, 25 ms as the base of DynamoDB's transient
 *                errors, 1 s of throttling, doubled each time, at most 20 s, full jitter; 14
 *                tokens for a transient error, 5 for throttling; x-amz-retry-after counts, within
 *                [computed, computed + 5 s].
 * adaptive-2026  standard-2026 with the limiter of adaptive. Guessed: that the limiter is
 *                unchanged.
 *
 * Simplified: an attempt that waits for a token looks again after at most 100 ms; botocore's
 * waiting threads look again when the rate changes. A quota is never short because two threads ask
 * at once. */
#include <math.h>

#include "include/weir/policy_retry.h"

enum {
    QUOTA = 500,
};

#define BACKOFF_MAX_S 20.0

/* The numbers in which the modes differ. */
struct aws_mode {
    double base_s, throttled_base_s;
    int32_t cost, throttled_cost, timeout_cost;
    bool jitter, capped, has_quota, takes_hint;
};

/* The limiter of the adaptive modes: CUBIC on the rate at which answers come. */
struct aws_limiter {
    bool enabled; /* after the first throttling */
    double fill_rate, capacity, tokens;
    double filled_s;
    double rate_max, rate_k, failed_s;              /* CUBIC */
    double measured_rate, measured_from_s, answers; /* since measured_from_s */
    int64_t origin_ns;
};

struct aws_state {
    struct aws_mode mode;
    bool limits; /* with the limiter */
    int32_t quota;
    struct aws_limiter limiter;
};

_Static_assert(sizeof(struct aws_state) <= WEIR_RETRY_STATE_MAX,
               "a model's state has a fixed size");

/* ---- the rate limiter ---- */

#define CUBIC_SCALE       0.4
#define CUBIC_BETA        0.7
#define MEASURE_SMOOTHING 0.8
#define MEASURE_SPAN_S    0.5
#define FILL_RATE_MIN     0.5
#define FILL_RATE_SCALE   2.0
#define POLL_AGAIN_S      0.1

static double limiter_seconds(const struct aws_limiter *l, int64_t now_ns)
{
    return (double)(now_ns - l->origin_ns) * 1e-9;
}

static void limiter_refill(struct aws_limiter *l, double now_s)
{
    l->tokens = fmin(l->capacity, l->tokens + (now_s - l->filled_s) * l->fill_rate);
    l->filled_s = now_s;
}

static void limiter_set_rate(struct aws_limiter *l, double rate, double now_s)
{
    limiter_refill(l, now_s);
    l->fill_rate = fmax(rate, FILL_RATE_MIN);
    l->capacity = fmax(rate, 1);
    l->tokens = fmin(l->tokens, l->capacity);
}

/* Spans of half a second; the rate of the last ones, smoothed. */
static double limiter_measure(struct aws_limiter *l, double now_s)
{
    double span_s = floor(now_s / MEASURE_SPAN_S) * MEASURE_SPAN_S;
    l->answers++;
    if (span_s > l->measured_from_s) {
        double rate = l->answers / (span_s - l->measured_from_s);
        l->measured_rate = rate * MEASURE_SMOOTHING + l->measured_rate * (1 - MEASURE_SMOOTHING);
        l->answers = 0;
        l->measured_from_s = span_s;
    }
    return l->measured_rate;
}

static void limiter_answered(struct aws_limiter *l, bool throttled, int64_t now_ns)
{
    double now_s = limiter_seconds(l, now_ns), measured = limiter_measure(l, now_s), rate;
    if (throttled) {
        l->rate_max = l->enabled ? fmin(measured, l->fill_rate) : measured;
        l->rate_k = cbrt(l->rate_max * (1 - CUBIC_BETA) / CUBIC_SCALE);
        l->failed_s = now_s;
        l->enabled = true;
        rate = l->rate_max * CUBIC_BETA;
    } else {
        double d = now_s - l->failed_s - l->rate_k;
        rate = CUBIC_SCALE * d * d * d + l->rate_max;
    }
    limiter_set_rate(l, fmin(rate, FILL_RATE_SCALE * measured), now_s);
}

static void aws_again(struct weir_retry_decision *decision, int64_t at_ns)
{
    decision->again = 1;
    decision->at_ns = at_ns;
}

static void aws_send(struct weir_retry *r, struct weir_retry_decision *decision)
{
    struct aws_limiter *l = &((struct aws_state *)weir_retry_state(r))->limiter;
    const int64_t now_ns = weir_retry_now_ns(r);
    if (!l->enabled) {
        aws_again(decision, now_ns);
        return;
    }
    limiter_refill(l, limiter_seconds(l, now_ns));
    if (l->tokens >= 1) {
        l->tokens -= 1;
        aws_again(decision, now_ns);
        return;
    }
    double wait_s = fmin((1 - l->tokens) / l->fill_rate, POLL_AGAIN_S);
    aws_again(decision, now_ns + 1 + (int64_t)(wait_s * 1e9));
}

/* ---- again or not ---- */

static int32_t aws_cost(const struct aws_mode *m, uint32_t result)
{
    return result == WEIR_RETRY_THROTTLED ? m->throttled_cost
           : result == WEIR_RETRY_TIMEOUT ? m->timeout_cost
                                          : m->cost;
}

/* The request's note is what its last retry took. */
static bool aws_take_quota(struct aws_state *s, struct weir_retry *r)
{
    int32_t cost = aws_cost(&s->mode, weir_retry_result(r));
    if (!s->mode.has_quota)
        return true;
    if (s->quota < cost)
        return false;
    s->quota -= cost;
    weir_retry_keep_note(r, cost);
    return true;
}

static void aws_give_quota(struct aws_state *s, const struct weir_retry *r)
{
    s->quota += weir_retry_note(r) > 0 ? weir_retry_note(r) : 1;
    if (s->quota > QUOTA)
        s->quota = QUOTA;
}

static double aws_delay_s(const struct aws_mode *m, struct weir_retry *r)
{
    double base_s = weir_retry_result(r) == WEIR_RETRY_THROTTLED ? m->throttled_base_s : m->base_s;
    double delay_s = base_s * exp2(weir_retry_attempts(r) - 1);
    if (m->capped)
        delay_s = fmin(delay_s, BACKOFF_MAX_S);
    if (m->jitter)
        delay_s *= weir_retry_random(r);
    if (m->takes_hint && weir_retry_hint_ns(r) >= 0)
        delay_s = fmax(delay_s, fmin((double)weir_retry_hint_ns(r) * 1e-9, delay_s + 5));
    return fmin(delay_s, 1e6);
}

static void aws_after(struct weir_retry *r, struct weir_retry_decision *decision)
{
    struct aws_state *s = weir_retry_state(r);
    const uint32_t result = weir_retry_result(r);
    if (s->limits)
        limiter_answered(&s->limiter, result == WEIR_RETRY_THROTTLED, weir_retry_now_ns(r));
    if (result == WEIR_RETRY_DONE)
        aws_give_quota(s, r);
    if (result == WEIR_RETRY_DONE || result == WEIR_RETRY_FINAL)
        return;
    if (weir_retry_attempts(r) >= weir_retry_attempts_max(r)) {
        decision->stop = WEIR_RETRY_STOP_ATTEMPTS;
    } else if (!aws_take_quota(s, r)) {
        decision->stop = WEIR_RETRY_STOP_QUOTA;
    } else {
        double delay_s = aws_delay_s(&s->mode, r);
        aws_again(decision, weir_retry_now_ns(r) + (int64_t)(delay_s * 1e9));
    }
}

/* ---- the modes ---- */

static const struct aws_mode mode_legacy = {.base_s = 0.05, .throttled_base_s = 0.05};
static const struct aws_mode mode_standard = {.base_s = 1,
                                              .throttled_base_s = 1,
                                              .cost = 5,
                                              .throttled_cost = 5,
                                              .timeout_cost = 10,
                                              .jitter = true,
                                              .capped = true,
                                              .has_quota = true};
static const struct aws_mode mode_2026 = {.base_s = 0.025,
                                          .throttled_base_s = 1,
                                          .cost = 14,
                                          .throttled_cost = 5,
                                          .timeout_cost = 14,
                                          .jitter = true,
                                          .capped = true,
                                          .has_quota = true,
                                          .takes_hint = true};

static void aws_begin(struct weir_retry *r, const struct aws_mode *mode, bool limits)
{
    *(struct aws_state *)weir_retry_state(r) = (struct aws_state){
        .mode = *mode,
        .limits = limits,
        .quota = QUOTA,
        .limiter = {.fill_rate = 1, .capacity = 1, .origin_ns = weir_retry_now_ns(r)}};
}

/* A mode as a model. `limits`: with the rate limiter. */
#define AWS_MODEL(id, model, mode, limits, attempts, text)                                 \
    static void id##_begin(struct weir_retry *r)                                           \
    {                                                                                      \
        aws_begin(r, &(mode), limits);                                                     \
    }                                                                                      \
    const struct weir_retry_policy retry_##id = {.size = sizeof(struct weir_retry_policy), \
                                                 .state_bytes = sizeof(struct aws_state),  \
                                                 .name = model,                            \
                                                 .about = text,                            \
                                                 .attempts_max = attempts,                 \
                                                 .begin = id##_begin,                      \
                                                 .send = (limits) ? aws_send : 0,          \
                                                 .after = aws_after}

extern const struct weir_retry_policy retry_legacy, retry_standard, retry_adaptive,
    retry_standard_2026, retry_adaptive_2026;

AWS_MODEL(legacy, "legacy", mode_legacy, false, 10,
          "AWS SDKs' oldest mode: 10 attempts, 50 ms doubled each time, no jitter, no quota.");
AWS_MODEL(standard, "standard", mode_standard, false, 3,
          "AWS SDKs before November 2026: 3 attempts, 1 s doubled, full jitter, a quota.");
AWS_MODEL(adaptive, "adaptive", mode_standard, true, 3,
          "standard, and a client-side rate limiter after the first throttling.");
AWS_MODEL(standard_2026, "standard-2026", mode_2026, false, 4,
          "AWS SDKs from November 2026 on, DynamoDB: 4 attempts, 25 ms after errors, 1 s after "
          "throttling, doubled, full jitter, a quota, x-amz-retry-after.");
AWS_MODEL(adaptive_2026, "adaptive-2026", mode_2026, true, 4,
          "standard-2026 with the rate limiter of adaptive.");
