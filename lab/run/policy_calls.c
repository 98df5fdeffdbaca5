/* policy_calls.c - the policies of plug-ins that no decision of a run called. */
#include "lab/run/policy_calls.h"

#include <stdio.h>

#include "base/gac_policy.h"
#include "base/settings/choices.h"
#include "router/json/json_writer.h"

static void policy_calls_add_entry(struct policy_calls *a, const struct policy_entry *e)
{
    bool is_new = e != NULL;
    for (uint32_t i = 0; i < a->count; i++)
        is_new &= a->at[i].entry != e;
    if (!is_new)
        return;
    a->at[a->count].entry = e;
    a->at[a->count++].calls = e->calls;
}

static void policy_calls_add(struct policy_calls *a, const struct config *c,
                             enum policy_point point, const char *name)
{
    policy_calls_add_entry(a, policies_find(c->policies, point, slice_of(name)));
}

static void policy_calls_add_tables(struct policy_calls *a, const struct scenario *s)
{
    const struct config *c = &s->cluster.config;
    for (uint32_t i = 0; i < s->table_count; i++) {
        if (gac_policy_of(c, (uint8_t)s->tables[i].gac) == GAC_NAMED)
            policy_calls_add(a, c, POLICY_TABLE, c->gac_policy);
    }
}

static void policy_calls_add_retries(struct policy_calls *a, const struct scenario *s)
{
    const struct policies *p = s->cluster.config.policies;
    for (uint32_t w = 0; w < s->workload_count; w++) {
        for (uint32_t i = 0; p != NULL && i < p->count; i++) {
            if ((const void *)s->workloads[w].retry.policy == p->entries[i].policy)
                policy_calls_add_entry(a, &p->entries[i]);
        }
    }
}

void policy_calls_begin(struct policy_calls *a, const struct scenario *s)
{
    const struct config *c = &s->cluster.config;
    *a = (struct policy_calls){0};
    if (c->policies == NULL || c->policies->clock_ns == NULL)
        return; /* calls are counted where they are timed */
    policy_calls_add(a, c, POLICY_PARTITION, c->partition_policy);
    policy_calls_add(a, c, POLICY_OVERLOAD, c->overload_policy);
    if (config_choices(c)->write_check == WRITE_CHECK_NAMED)
        policy_calls_add(a, c, POLICY_HEADROOM, c->headroom_policy);
    policy_calls_add(a, c, POLICY_ADAPTIVE, c->adaptive_policy);
    policy_calls_add(a, c, POLICY_SPLIT, c->split_policy);
    policy_calls_add(a, c, POLICY_DEMAND, c->demand_policy);
    policy_calls_add(a, c, POLICY_RELOCATE, c->relocate_policy);
    policy_calls_add_tables(a, s);
    policy_calls_add_retries(a, s);
}

void policy_calls_write_uncalled(const struct policy_calls *a, struct buffer *out)
{
    bool any = false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct policy_entry *e = a->at[i].entry;
        char text[96];
        if (e->calls != a->at[i].calls)
            continue;
        if (!any)
            json_member_open(out, "uncalled", '[');
        any = true;
        snprintf(text, sizeof text, "%s policy %s", policy_point_name(e->point), e->name);
        json_write_text(out, text);
    }
    if (any)
        json_write_close(out, ']');
}
