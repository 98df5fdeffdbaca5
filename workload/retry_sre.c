/* retry_sre.c - the client-side adaptive throttle of Google's SRE book.
 *
 * Source: Beyer et al., "Site Reliability Engineering", 2016, chapter 21 "Handling Overload".
 * Documented: a client rejects an attempt itself with a probability of max(0, (requests - K x
 * accepts) / (requests + 1)), counted over two minutes, K = 2; a request has at most three
 * attempts; retries are at most 10 % of what a client sends.
 * Guessed: attempts are repeated after 50 ms, doubled, full jitter (the book names exponential
 * back-off with jitter in chapter 22, without numbers). Simplified: the two minutes move on in
 * steps of 5 s. A rejected attempt counts as a request, and the request is over. */
#include <math.h>

#include "include/weir/policy_retry.h"

enum {
    SRE_STEPS = 24,
    SRE_ATTEMPTS = 3,
    SRE_RETRY_PERCENT = 10,
};

#define SRE_STEP_NS (INT64_C(5) * 1000000000)
#define SRE_BASE_NS (INT64_C(50) * 1000000)

struct sre_state {
    int64_t origin_ns;
    int64_t step; /* the current one, since the origin */
    struct sre_step {
        uint32_t requests, accepts, retries;
    } steps[SRE_STEPS], sum;
};

_Static_assert(sizeof(struct sre_state) <= WEIR_RETRY_STATE_MAX,
               "a model's state has a fixed size");

extern const struct weir_retry_policy retry_sre_throttle;

static void sre_begin(struct weir_retry *r)
{
    struct sre_state *s = weir_retry_state(r);
    s->origin_ns = weir_retry_now_ns(r);
}

static struct sre_step *sre_step_at(struct sre_state *s, int64_t now_ns)
{
    int64_t step = (now_ns - s->origin_ns) / SRE_STEP_NS;
    if (step - s->step > SRE_STEPS)
        s->step = step - SRE_STEPS;
    while (s->step < step) {
        struct sre_step *old = &s->steps[++s->step % SRE_STEPS];
        s->sum.requests -= old->requests;
        s->sum.accepts -= old->accepts;
        s->sum.retries -= old->retries;
        *old = (struct sre_step){0};
    }
    return &s->steps[s->step % SRE_STEPS];
}

static void sre_send(struct weir_retry *r, struct weir_retry_decision *decision)
{
    struct sre_state *s = weir_retry_state(r);
    struct sre_step *step = sre_step_at(s, weir_retry_now_ns(r));
    double requests = s->sum.requests, accepts = s->sum.accepts;
    double reject = (requests - weir_retry_number(r) * accepts) / (requests + 1);
    bool rejected = weir_retry_random(r) < reject;
    step->requests++, s->sum.requests++;
    if (rejected) {
        decision->stop = WEIR_RETRY_STOP_LOCAL;
        return;
    }
    if (weir_retry_attempts(r) > 0)
        step->retries++, s->sum.retries++;
    decision->again = 1;
    decision->at_ns = weir_retry_now_ns(r);
}

static void sre_after(struct weir_retry *r, struct weir_retry_decision *decision)
{
    struct sre_state *s = weir_retry_state(r);
    struct sre_step *step = sre_step_at(s, weir_retry_now_ns(r));
    const uint32_t result = weir_retry_result(r);
    if (result == WEIR_RETRY_DONE || result == WEIR_RETRY_FINAL) {
        step->accepts++, s->sum.accepts++;
        return;
    }
    if (weir_retry_attempts(r) >= weir_retry_attempts_max(r)) {
        decision->stop = WEIR_RETRY_STOP_ATTEMPTS;
        return;
    }
    if ((uint64_t)s->sum.retries * 100 >= (uint64_t)s->sum.requests * SRE_RETRY_PERCENT) {
        decision->stop = WEIR_RETRY_STOP_QUOTA;
        return;
    }
    double delay_ns = (double)SRE_BASE_NS * exp2(weir_retry_attempts(r) - 1) * weir_retry_random(r);
    decision->again = 1;
    decision->at_ns = weir_retry_now_ns(r) + (int64_t)delay_ns;
}

const struct weir_retry_policy retry_sre_throttle = {
    .size = sizeof retry_sre_throttle,
    .state_bytes = sizeof(struct sre_state),
    .name = "sre-throttle",
    .about = "The SRE book's adaptive throttle: the client rejects what exceeds K times what was "
             "accepted in two minutes; 3 attempts, 10 % retries.",
    .attempts_max = SRE_ATTEMPTS,
    .flags = WEIR_RETRY_TAKES_NUMBER,
    .number = 2,
    .begin = sre_begin,
    .send = sre_send,
    .after = sre_after};
