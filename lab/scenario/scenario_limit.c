/* scenario_limit.c - see scenario_limit.h. */
#include "lab/scenario/scenario_limit.h"

#include "base/instant.h"
#include "router/limiter/limit_scope.h"

#define AT(member) FIELD_MEMBER(struct scenario_limit, member)

enum {
    TOKENS_MAX = 100000000, /* as units of a table */
    PERIOD_MAX_S = 86400
};

const struct field scenario_limit_fields[] = {
    {"entity", FIELD_ANY_TEXT, AT(entity),
     .help =
         "Entity whose bucket has the limit. Default: all entities without limits of their own."},
    {"resource", FIELD_ANY_TEXT, AT(resource), .required = true,
     .help = "Resource, as `limiter` of a workload."},
    {"capacity", FIELD_INTEGER, AT(capacity), .required = true, .min = 1, .max = TOKENS_MAX,
     .help = "Maximum number of tokens in a bucket. A new bucket is full."},
    {"refill", FIELD_INTEGER, AT(refill), .min = 1, .max = TOKENS_MAX,
     .help = "Tokens that are refilled in each period. Default: the capacity."},
    {"period", FIELD_DURATION, AT(period_ns), .min = NS_PER_MS, .max = PERIOD_MAX_S * NS_PER_S,
     .help = "Time in which `refill` tokens are refilled. Default: 60s."},
    {"smallest_request", FIELD_INTEGER, AT(smallest), .min = 1, .max = TOKENS_MAX,
     .help =
         "The minimum of a shard's share: the capacity keeps a bucket in one item. Default: 1."},
    FIELDS_END};

bool scenario_limit_read(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_limit *l = target;
    *l = (struct scenario_limit){.period_ns = 60 * NS_PER_S, .smallest = 1};
    if (!fields_read(r, n, scenario_limit_fields, l))
        return false;
    l->refill = l->refill == 0 ? l->capacity : l->refill;
    if (!limiter_name_is_plain(slice_of(l->resource), LIMITER_ENTITY_MAX) ||
        (l->entity != NULL && !limiter_name_is_plain(slice_of(l->entity), LIMITER_ENTITY_MAX)))
        return reading_fail(r, n,
                            "entities and resources of limits have letters, digits, _, . and -");
    if (l->smallest > l->capacity)
        return reading_fail(r, n, "smallest_request is %lld, but capacity is %lld",
                            (long long)l->smallest, (long long)l->capacity);
    return true;
}

uint32_t scenario_limit_of(const struct scenario *s, struct slice entity, const char *resource)
{
    uint32_t found = SCENARIO_LIMIT_NONE;
    for (uint32_t i = 0; i < s->limit_count; i++) {
        const struct scenario_limit *l = &s->limits[i];
        if (strcmp(l->resource, resource) != 0)
            continue;
        if (l->entity != NULL && slice_is(entity, l->entity))
            return i;
        if (l->entity == NULL)
            found = i;
    }
    return found;
}

struct slice scenario_limit_entity(const struct scenario_workload *w)
{
    const struct load_keys *k = &w->traffic.keys;
    return k->kind == LOAD_KEYS_SINGLE ? slice_of(k->single) : slice_make(NULL, 0);
}

uint32_t scenario_limit_of_workload(const struct scenario *s, const struct scenario_workload *w)
{
    return scenario_limit_of(s, scenario_limit_entity(w), w->limiter);
}

int64_t scenario_limit_rate_mcu(const struct scenario_limit *l)
{
    return (int64_t)((__int128)l->refill * 1000 * NS_PER_S / l->period_ns);
}

/* ---- workloads ---- */

static bool check_members(struct reading *r, const struct document_node *n,
                          const struct scenario_workload *w)
{
    static const char *const others[] = {"ycsb", "mix", "item_bytes", "trace", "hedge", "each"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (document_member(n, others[i]) != NULL)
            return reading_fail(r, n, "workload %s acquires tokens: it cannot have `%s`", w->name,
                                others[i]);
    }
    return true;
}

static bool has_entities(const struct load_keys *k)
{
    return !load_keys_share_one(k) &&
           (k->kind != LOAD_KEYS_SINGLE ||
            limiter_name_is_plain(slice_of(k->single), LIMITER_ENTITY_MAX));
}

bool scenario_limit_check_workload(struct reading *r, const struct document_node *n,
                                   const struct scenario *s, struct scenario_workload *w)
{
    const struct scenario_table *t = &s->tables[w->table_place];
    if (w->limiter == NULL)
        return true;
    if (!check_members(r, n, w))
        return false;
    if (strcmp(t->name, LIMITER_TABLE) != 0 || t->copies != 1)
        return reading_fail(r, n,
                            "workload %s acquires tokens: its table must be " LIMITER_TABLE
                            ", without copies",
                            w->name);
    if (!has_entities(&w->traffic.keys))
        return reading_fail(r, n,
                            "workload %s acquires tokens: its keys name entities, and cannot be "
                            "collection or append. A single key has letters, digits, _, . and -",
                            w->name);
    if (scenario_limit_of_workload(s, w) == SCENARIO_LIMIT_NONE)
        return reading_fail(r, n,
                            "workload %s: no limit is for the resource `%s`; limits come "
                            "before workloads",
                            w->name, w->limiter);
    must(traffic_mix_parse(&w->traffic.mix, "read:0:update:1") == NULL);
    must(item_sizes_parse(&w->traffic.sizes, "1") == NULL);
    return true;
}
