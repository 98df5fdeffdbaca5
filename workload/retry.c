/* retry.c - the models' list, their texts, and the model `none`. */
#include "workload/retry.h"

#include "base/must.h"
#include "workload/retry_internal.h"
#include "workload/text_fields.h"

static struct retry_verdict none_after(void *state, const struct retry_options *o,
                                       struct retry_request *q, const struct retry_outcome *outcome,
                                       int64_t now_ns, struct prng *random)
{
    (void)state, (void)o, (void)q, (void)now_ns, (void)random;
    return retry_over(retry_is_over(outcome->result) ? RETRY_STOP_DONE : RETRY_STOP_ATTEMPTS);
}

static const struct retry_model retry_none = {.name = "none",
                                              .form = "none",
                                              .about = "Nothing is tried again.",
                                              .attempts_max = 1,
                                              .after = none_after};

const struct retry_model *const retry_models[] = {
    &retry_none,          &retry_legacy,        &retry_standard,     &retry_adaptive,
    &retry_standard_2026, &retry_adaptive_2026, &retry_sre_throttle, NULL};

static const char retry_expected[] =
    "one of none, legacy[:ATTEMPTS], standard[:ATTEMPTS], adaptive[:ATTEMPTS], "
    "standard-2026[:ATTEMPTS], adaptive-2026[:ATTEMPTS] with 1 to 1000 attempts, or "
    "sre-throttle[:K] with K from 1 to 100";

const char *retry_parse(struct retry_options *o, const char *text)
{
    const char *rest;
    int64_t attempts;
    *o = (struct retry_options){0};
    for (int i = 0; retry_models[i] != NULL && o->model == NULL; i++)
        if (text_begins(text, retry_models[i]->name, &rest))
            o->model = retry_models[i];
    if (o->model == NULL)
        return retry_expected;
    o->parameter = o->model->parameter;
    o->attempts_max = o->model->attempts_max;
    if (rest == NULL)
        return NULL;
    if (o->model->takes_parameter) {
        bool ok =
            option_parse_real(rest, &o->parameter) && o->parameter >= 1 && o->parameter <= 100;
        return ok ? NULL : retry_expected;
    }
    if (o->model == &retry_none || !option_parse_integer(rest, 1, RETRY_ATTEMPTS_MAX, &attempts))
        return retry_expected;
    o->attempts_max = (int32_t)attempts;
    return NULL;
}

void retry_describe(struct buffer *out)
{
    static const char *const evidence[] = {[RETRY_DOCUMENTED] = "documented",
                                           [RETRY_READ] = "read from a client's source",
                                           [RETRY_GUESSED] = "partly guessed"};
    for (int i = 0; retry_models[i] != NULL; i++) {
        const struct retry_model *m = retry_models[i];
        buffer_append_format(out, "%-26s%s (%s)\n", m->form, m->about, evidence[m->evidence]);
    }
}

void retry_init(struct retry *r, const struct retry_options *o, int64_t now_ns)
{
    *r = (struct retry){.options = *o};
    if (r->options.attempts_max == 0)
        r->options.attempts_max = o->model->attempts_max;
    if (o->model->init != NULL)
        o->model->init(r->state, &r->options, now_ns);
}

struct retry_verdict retry_send(struct retry *r, const struct retry_request *q, int64_t now_ns,
                                struct prng *random)
{
    const struct retry_model *m = r->options.model;
    if (m->send == NULL)
        return retry_at(now_ns);
    struct retry_verdict v = m->send(r->state, &r->options, q, now_ns, random);
    must(!v.again || v.at_ns >= now_ns);
    return v;
}

struct retry_verdict retry_after(struct retry *r, struct retry_request *q,
                                 const struct retry_outcome *outcome, int64_t now_ns,
                                 struct prng *random)
{
    q->attempts++;
    struct retry_verdict v =
        r->options.model->after(r->state, &r->options, q, outcome, now_ns, random);
    must(!v.again || (!retry_is_over(outcome->result) && v.at_ns >= now_ns));
    return v;
}
