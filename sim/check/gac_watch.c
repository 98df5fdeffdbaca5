/* gac_watch.c - compares what routers take of a table's limit with an ideal bucket at the same
 * rate. Over-admission is what the ideal bucket would have refused. */
#include "sim/check/gac_watch.h"

#include "base/settings/choices.h"
#include "base/settings/gac.h"
#include "gac/grant_policy.h"
#include "include/weir/policy_table.h"

void gac_watch_init(struct gac_watch *w, struct instant now, struct gac_key key, int64_t rate,
                    struct duration bank)
{
    int64_t capacity = (int64_t)((__int128)rate * bank.ns / NS_PER_S);
    *w = (struct gac_watch){.key = key};
    token_bucket_init(&w->ideal, capacity, rate, INT64_MAX / 4, capacity, now);
}

static void gac_watch_take(struct gac_watch *w, struct instant now, int64_t mcu)
{
    w->taken_mcu += mcu;
    token_bucket_refill(&w->ideal, now);
    if (mcu < 0)
        token_bucket_add(&w->ideal, -mcu);
    else
        token_bucket_debit(&w->ideal, mcu);
    w->over_mcu = MAX(w->over_mcu, -w->ideal.balance);
}

void gac_watch_sample(struct gac_watch *w, struct instant now,
                      struct router_process *const *routers, uint32_t count)
{
    must(count <= GAC_WATCH_ROUTERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct gac_holding h = {0};
        if (router_process_is_up(routers[i]))
            router_process_holding(routers[i], w->key, &h);
        else
            w->seen[i] = 0;
        if (h.taken != w->seen[i] && (h.owner != 0 || h.knows_routers))
            gac_watch_take(w, now, h.taken - w->seen[i]);
        w->seen[i] = h.taken;
    }
}

bool gac_has_periods(const struct config *c)
{
    return (table_policy_of(c, (enum gac_policy)config_choices(c)->gac)->flags &
            WEIR_TABLE_PERIODS) != 0;
}

bool gac_watch_check(const struct gac_watch *w, const struct plan *plan, uint64_t injected,
                     struct buffer *why)
{
    enum {
        GRANTS_OF_A_FAULT = 4
    };
    const struct config *c = &plan->config;
    bool touched = (plan->faults & SIM_FAULTS_GAC) != 0;
    int64_t faults = touched ? (int64_t)injected : 0;
    __int128 ms_max = (__int128)config_gac(c)->gac_grant_ms * GRANTS_OF_A_FAULT * faults;
    if (gac_has_periods(c))
        ms_max += (__int128)config_gac(c)->gac_period_ms * (faults + 1);
    __int128 max = w->ideal.rate * ms_max / 1000;
    if (w->over_mcu <= max)
        return true;
    buffer_append_format(why,
                         "routers took %lld mcu of the %s of table %u more than it may use, and "
                         "%lld faults account for %lld\n",
                         (long long)w->over_mcu, w->key.kind == GAC_READ ? "reads" : "writes",
                         w->key.table, (long long)faults, (long long)max);
    return false;
}

bool gac_watch_applies(const struct plan *p)
{
    const enum gac_policy policy = (enum gac_policy)config_choices(&p->config)->gac;
    return table_policy_requests_grants(&p->config, policy) &&
           table_policy_of(&p->config, policy)->share == NULL;
}
