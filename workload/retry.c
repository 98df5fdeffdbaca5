/* retry.c - the models' list, what policies see of a client, and the model `none`. */
#include "workload/retry.h"

#include <stdio.h>

#include "base/policies.h"
#include "base/policy_value.h"
#include "workload/text_fields.h"

_Static_assert((int)RETRY_TIMEOUT == (int)WEIR_RETRY_TIMEOUT, "policies see results as they are");
_Static_assert((int)RETRY_STOP_ATTEMPTS == (int)WEIR_RETRY_STOP_ATTEMPTS &&
                   (int)RETRY_STOP_LOCAL == (int)WEIR_RETRY_STOP_LOCAL,
               "and say why they stop");

/* A client and its request for the time of a call. */
struct weir_retry {
    struct retry *client;
    struct retry_request *request;       /* NULL: none yet */
    const struct retry_outcome *outcome; /* NULL: not in this call */
    int64_t now_ns;
    struct prng *random; /* NULL: none */
};

/* ---- by name ---- */

static void none_after(struct weir_retry *r, struct weir_retry_decision *decision)
{
    (void)r, (void)decision;
}

static const struct weir_retry_policy retry_none = {.size = sizeof retry_none,
                                                    .name = "none",
                                                    .about = "Nothing is tried again.",
                                                    .attempts_max = 1,
                                                    .after = none_after};

extern const struct weir_retry_policy retry_legacy, retry_standard, retry_adaptive,
    retry_standard_2026, retry_adaptive_2026, retry_sre_throttle;

const struct weir_retry_policy *const retry_models[] = {
    &retry_none,          &retry_legacy,        &retry_standard,     &retry_adaptive,
    &retry_standard_2026, &retry_adaptive_2026, &retry_sre_throttle, NULL};

static const char retry_expected[] =
    "one of none, legacy[:ATTEMPTS], standard[:ATTEMPTS], adaptive[:ATTEMPTS], "
    "standard-2026[:ATTEMPTS], adaptive-2026[:ATTEMPTS] with 1 to 1000 attempts, or "
    "sre-throttle[:K] with K from 1 to 100, or a retry policy of a file (--policy FILE)";

/* `*rest`: the text behind the name. NULL: no policy has it. */
static const struct weir_retry_policy *retry_find(const struct policies *policies, const char *text,
                                                  const char **rest)
{
    for (int i = 0; retry_models[i] != NULL; i++) {
        if (text_begins(text, retry_models[i]->name, rest))
            return retry_models[i];
    }
    const struct slice name = slice_make(text, strcspn(text, ":"));
    const struct policy_entry *e = policies_find(policies, POLICY_RETRY, name);
    if (e != NULL && text_begins(text, e->name, rest))
        return policies_policy(e);
    return NULL;
}

const char *retry_parse(void *member, const char *text)
{
    struct retry_options *o = member;
    const char *rest = NULL;
    int64_t attempts;
    *o = (struct retry_options){.policies = o->policies};
    o->policy = retry_find(o->policies, text, &rest);
    if (o->policy == NULL)
        return retry_expected;
    o->parameter = o->policy->number;
    o->attempts_max = o->policy->attempts_max;
    if (rest == NULL)
        return NULL;
    if (o->policy->flags & WEIR_RETRY_TAKES_NUMBER) {
        bool ok = field_parse_real(rest, &o->parameter) && o->parameter >= 1 && o->parameter <= 100;
        return ok ? NULL : retry_expected;
    }
    if (o->policy == &retry_none || !field_parse_integer(rest, 1, RETRY_ATTEMPTS_MAX, &attempts))
        return retry_expected;
    o->attempts_max = (int32_t)attempts;
    return NULL;
}

enum status retry_policies_check(const struct policies *policies, struct buffer *error)
{
    for (int i = 0; retry_models[i] != NULL; i++) {
        const char *name = retry_models[i]->name;
        const struct policy_entry *e = policies_find(policies, POLICY_RETRY, slice_of(name));
        if (e != NULL)
            return buffer_explain(error, STATUS_MALFORMED,
                                  "%s: retry policy '%s' has the name of a policy of weir: choose "
                                  "another",
                                  e->file, name);
    }
    return STATUS_OK;
}

/* ---- what policies see ---- */

POLICY_VALUE(int64_t, weir_retry_now_ns, struct weir_retry *r, r->now_ns)
POLICY_VALUE(void *, weir_retry_state, struct weir_retry *r, r->client->state)

double weir_retry_random(struct weir_retry *r)
{
    return r->random == NULL ? 0 : prng_unit(r->random);
}

int32_t weir_retry_attempts_max(const struct weir_retry *r)
{
    return r->client->options.attempts_max;
}

POLICY_VALUE(double, weir_retry_number, struct weir_retry *r, r->client->options.parameter)

int32_t weir_retry_attempts(const struct weir_retry *r)
{
    return r->request == NULL ? 0 : r->request->attempts;
}

int32_t weir_retry_note(const struct weir_retry *r)
{
    return r->request == NULL ? 0 : r->request->note;
}

void weir_retry_keep_note(struct weir_retry *r, int32_t note)
{
    if (r->request != NULL)
        r->request->note = note;
}

uint32_t weir_retry_result(const struct weir_retry *r)
{
    return r->outcome == NULL ? WEIR_RETRY_DONE : (uint32_t)r->outcome->result;
}

int64_t weir_retry_hint_ns(const struct weir_retry *r)
{
    return r->outcome == NULL ? -1 : r->outcome->retry_after_ns;
}

/* ---- clients ---- */

void retry_init(struct retry *r, const struct retry_options *o, int64_t now_ns)
{
    *r = (struct retry){.options = *o};
    if (r->options.attempts_max == 0)
        r->options.attempts_max = o->policy->attempts_max;
    struct weir_retry view = {.client = r, .now_ns = now_ns};
    if (o->policy->begin != NULL)
        o->policy->begin(&view);
}

static bool retry_is_over(const struct weir_retry *r)
{
    return r->outcome != NULL &&
           (r->outcome->result == RETRY_DONE || r->outcome->result == RETRY_FINAL);
}

static const char *decision_fault(const struct weir_retry *r, const struct weir_retry_decision *d)
{
    if (d->again > 1)
        return "decides with again above 1";
    if (d->again == 0)
        return d->stop == 0 || (d->stop >= RETRY_STOP_ATTEMPTS && d->stop <= RETRY_STOP_LOCAL)
                   ? NULL
                   : "stops for a reason that does not exist";
    if (retry_is_over(r))
        return "tries a request again that is answered";
    if (r->request->attempts >= RETRY_ATTEMPTS_MAX)
        return "makes more than 1000 attempts";
    if (d->at_ns < r->now_ns)
        return "tries again in the past";
    return d->at_ns - r->now_ns > WEIR_RETRY_WAIT_NS_MAX ? "waits for more than 1000000 s" : NULL;
}

static struct retry_verdict retry_verdict_of(const struct weir_retry *r,
                                             const struct weir_retry_decision *d)
{
    const struct retry_options *o = &r->client->options;
    const char *fault = decision_fault(r, d);
    if (fault != NULL)
        policies_report_invalid(o->policies, o->policy, fault);
    if (retry_is_over(r))
        return (struct retry_verdict){.stop = RETRY_STOP_DONE};
    if (fault != NULL)
        return (struct retry_verdict){.stop = RETRY_STOP_LOCAL};
    if (d->again == 1)
        return (struct retry_verdict){.again = true, .at_ns = d->at_ns};
    return (struct retry_verdict){.stop = d->stop == 0 ? RETRY_STOP_ATTEMPTS
                                                       : (enum retry_stop)d->stop};
}

static struct retry_verdict retry_decide(struct weir_retry *r,
                                         void (*decide)(struct weir_retry *r,
                                                        struct weir_retry_decision *decision))
{
    const struct retry_options *o = &r->client->options;
    struct weir_retry_decision decision = {0};
    int64_t begun_ns = policies_begin(o->policies, o->policy);
    decide(r, &decision);
    policies_end(o->policies, o->policy, begun_ns);
    return retry_verdict_of(r, &decision);
}

struct retry_verdict retry_send(struct retry *r, struct retry_request *q, int64_t now_ns,
                                struct prng *random)
{
    struct weir_retry view = {.client = r, .request = q, .now_ns = now_ns, .random = random};
    if (r->options.policy->send == NULL)
        return (struct retry_verdict){.again = true, .at_ns = now_ns};
    return retry_decide(&view, r->options.policy->send);
}

struct retry_verdict retry_after(struct retry *r, struct retry_request *q,
                                 const struct retry_outcome *outcome, int64_t now_ns,
                                 struct prng *random)
{
    struct weir_retry view = {
        .client = r, .request = q, .outcome = outcome, .now_ns = now_ns, .random = random};
    q->attempts++;
    return retry_decide(&view, r->options.policy->after);
}
