/* overload.c - asks the policy of overload, and lends it what it may see. */
#include "engine/admission/overload.h"

#include "base/policies.h"
#include "base/policy_value.h"
#include "base/settings/overload.h"
#include "include/weir/policy_overload.h"

struct weir_arrival {
    const struct overload *overload;
    const struct overload_arrival *arrival;
    void *state;
};

POLICY_VALUE(int64_t, weir_arrival_now_ns, struct weir_arrival *a, a->arrival->now.ns)
POLICY_VALUE(int64_t, weir_arrival_wait_ns, struct weir_arrival *a, a->arrival->waited.ns)
POLICY_VALUE(bool, weir_arrival_is_within_limit, struct weir_arrival *a, a->arrival->within_limit)

uint32_t weir_arrival_priority(const struct weir_arrival *a)
{
    return (uint32_t)(a->arrival->key_hash % WEIR_OVERLOAD_PRIORITIES);
}

uint32_t weir_arrival_sender(const struct weir_arrival *a)
{
    return (uint32_t)(a->arrival->sender % WEIR_OVERLOAD_SENDERS);
}

POLICY_VALUE(int64_t, weir_arrival_target_ns, struct weir_arrival *a, a->overload->aim_ns)
POLICY_VALUE(int64_t, weir_arrival_interval_ns, struct weir_arrival *a, a->overload->interval_ns)
POLICY_VALUE(int64_t, weir_arrival_limit_ns, struct weir_arrival *a, a->overload->limit_ns)
POLICY_VALUE(void *, weir_arrival_state, struct weir_arrival *a, a->state)

void overload_init(struct overload *o, const struct config *config)
{
    const struct weir_overload_policy *policy = overload_policy_of(config);
    const int64_t aim_ns = config_overload(config)->overload_target_ms * NS_PER_MS;
    *o = (struct overload){.policy = policy,
                           .policies = config->policies,
                           .target_ns = policy->flags & WEIR_OVERLOAD_CLASSES ? -1 : aim_ns,
                           .aim_ns = aim_ns,
                           .interval_ns = config_overload(config)->overload_interval_ms * NS_PER_MS,
                           .limit_ns = config_overload(config)->overload_limit_ms * NS_PER_MS};
}

bool overload_arrive(struct overload *o, const struct overload_arrival *arrival)
{
    struct weir_arrival a = {o, arrival, o->state};
    const bool loaded = o->policy->flags & POLICY_LOADED;
    const int64_t begun_ns = loaded ? policies_begin(o->policies, o->policy) : -1;
    const bool goes_on = o->policy->arrive(&a);
    if (loaded)
        policies_end(o->policies, o->policy, begun_ns);
    return goes_on;
}

uint32_t overload_report(struct overload *o, const struct overload_arrival *arrival)
{
    struct weir_arrival a = {o, arrival, o->state};
    return o->policy->hint == NULL ? 0 : o->policy->hint(&a);
}

bool overload_may_send(struct overload *o, struct overload_peer *to,
                       const struct overload_arrival *arrival)
{
    struct weir_arrival a = {o, arrival, to->state};
    return o->policy->send == NULL || o->policy->send(&a);
}

void overload_answered(struct overload *o, struct overload_peer *to, struct instant now,
                       uint32_t hint)
{
    const struct overload_arrival arrival = {.now = now};
    struct weir_arrival a = {o, &arrival, to->state};
    if (o->policy->answered != NULL)
        o->policy->answered(&a, hint);
}

static uint32_t overload_place_of(uint64_t table)
{
    return (uint32_t)(table * UINT64_C(0x9E3779B97F4A7C15) >> 56) % OVERLOAD_TABLES;
}

void overload_note_excess(struct overload_excess *x, uint64_t table, struct instant now)
{
    const uint32_t at = overload_place_of(table);
    x->tables[at].table = table;
    x->tables[at].until = instant_add(now, (struct duration){NS_PER_S});
}

bool overload_is_excess(const struct overload_excess *x, uint64_t table, struct instant now)
{
    const uint32_t at = overload_place_of(table);
    return x->tables[at].table == table && instant_before(now, x->tables[at].until);
}
