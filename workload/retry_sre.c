/* retry_sre.c - the client-side adaptive throttle of Google's SRE book.
 *
 * Source: Beyer et al., "Site Reliability Engineering", 2016, chapter 21 "Handling Overload".
 * Documented: a client rejects an attempt itself with a probability of
 * max(0, (requests - K x accepts) / (requests + 1)), counted over two minutes, K = 2; a request has at
 * most three attempts; retries are at most 10 % of what a client sends.
 * Guessed: attempts are repeated after 50 ms, doubled, full jitter (the book names exponential back-off
 * with jitter in chapter 22, without numbers). Simplified: the two minutes move on in steps of 5 s. A
 * rejected attempt counts as a request, and the request is over. */
#include <math.h>

#include "base/instant.h"
#include "workload/retry_internal.h"

enum {
    SRE_STEPS = 24,
    SRE_ATTEMPTS = 3,
    SRE_RETRY_PERCENT = 10,
};

#define SRE_STEP_NS (INT64_C(5) * NS_PER_S)
#define SRE_BASE_NS (INT64_C(50) * NS_PER_MS)

struct sre_state {
    int64_t origin_ns;
    int64_t step; /* the current one, since the origin */
    struct sre_step {
        uint32_t requests, accepts, retries;
    } steps[SRE_STEPS], sum;
};

_Static_assert(sizeof(struct sre_state) <= RETRY_STATE_SIZE, "a model's state has a fixed size");

static void sre_init(void *state, const struct retry_options *o, int64_t now_ns)
{
    (void)o;
    *(struct sre_state *)state = (struct sre_state){.origin_ns = now_ns};
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

static struct retry_verdict sre_send(void *state, const struct retry_options *o,
                                     const struct retry_request *q, int64_t now_ns,
                                     struct prng *random)
{
    struct sre_state *s = state;
    struct sre_step *step = sre_step_at(s, now_ns);
    double requests = s->sum.requests, accepts = s->sum.accepts;
    double reject = (requests - o->parameter * accepts) / (requests + 1);
    bool rejected = prng_unit(random) < reject;
    step->requests++, s->sum.requests++;
    if (rejected)
        return retry_over(RETRY_STOP_LOCAL);
    if (q->attempts > 0)
        step->retries++, s->sum.retries++;
    return retry_at(now_ns);
}

static struct retry_verdict sre_after(void *state, const struct retry_options *o,
                                      struct retry_request *q, const struct retry_outcome *outcome,
                                      int64_t now_ns, struct prng *random)
{
    struct sre_state *s = state;
    struct sre_step *step = sre_step_at(s, now_ns);
    if (retry_is_over(outcome->result)) {
        step->accepts++, s->sum.accepts++;
        return retry_over(RETRY_STOP_DONE);
    }
    if (q->attempts >= o->attempts_max)
        return retry_over(RETRY_STOP_ATTEMPTS);
    if ((uint64_t)s->sum.retries * 100 >= (uint64_t)s->sum.requests * SRE_RETRY_PERCENT)
        return retry_over(RETRY_STOP_QUOTA);
    double delay_ns = (double)SRE_BASE_NS * exp2(q->attempts - 1) * prng_unit(random);
    return retry_at(now_ns + (int64_t)delay_ns);
}

const struct retry_model retry_sre_throttle = {
    .name = "sre-throttle",
    .form = "sre-throttle[:K]",
    .about = "The SRE book's adaptive throttle: the client rejects what exceeds K times what was "
             "accepted in two minutes; 3 attempts, 10 % retries.",
    .evidence = RETRY_GUESSED,
    .attempts_max = SRE_ATTEMPTS,
    .takes_parameter = true,
    .parameter = 2,
    .init = sre_init,
    .send = sre_send,
    .after = sre_after};
