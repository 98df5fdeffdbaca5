/* demand.c - seeds, routers, costs and steps of a scenario's demand. */
#include "lab/scenario/demand.h"

#include <stdio.h>

#include "engine/admission/admission.h"

uint64_t demand_seed(uint64_t seed, enum demand_stream stream, uint64_t which)
{
    struct prng p = prng_seeded(seed ^ (uint64_t)stream << 56 ^ which * 0x9E3779B97F4A7C15);
    return prng_next(&p);
}

uint32_t demand_router(const struct scenario_spread *spread, int64_t now_ns, uint32_t routers,
                       struct prng *random, uint32_t *next)
{
    if (spread->kind == SPREAD_EVEN)
        return (*next)++ % routers;
    double draw = prng_unit(random);
    if (spread->kind == SPREAD_MOVING) {
        uint32_t hot = (uint32_t)(now_ns / spread->every_ns) % routers;
        return draw < spread->fraction ? hot : (uint32_t)prng_below(random, routers);
    }
    for (uint32_t i = 0; i < spread->count; i++) {
        if (draw < spread->shares[i])
            return i % routers;
        draw -= spread->shares[i];
    }
    return (spread->count - 1) % routers;
}

uint32_t demand_other_router(uint32_t first, uint32_t routers, struct prng *random)
{
    return (first + 1 + (uint32_t)prng_below(random, routers - 1)) % routers;
}

int64_t demand_cost_mcu(const struct traffic_request *t)
{
    int64_t items = t->scan_length > 1 ? t->scan_length : 1;
    return traffic_kind_writes(t->kind) ? write_cost_mcu(t->size_bytes)
                                        : read_cost_mcu(t->size_bytes * items, t->consistent);
}

uint32_t demand_tenant(const struct scenario *s, const struct scenario_workload *w)
{
    return (uint32_t)NAME_PLACE(w->tenant, s->tenants, s->tenant_count);
}

uint32_t demand_index(const struct scenario *s, uint32_t table_place, uint32_t index)
{
    for (uint32_t i = 0; i < table_place; i++)
        index += s->tables[i].indexes.count;
    return index;
}

void demand_table_name(const struct scenario_table *t, uint32_t copy, char *out, size_t size)
{
    if (t->copies > 1)
        snprintf(out, size, "%s-%u", t->name, copy + 1);
    else
        snprintf(out, size, "%s", t->name);
}

bool demand_has_sort_key(const struct scenario *s, uint32_t table_place)
{
    bool shared = s->tables[table_place].whole_collections;
    for (uint32_t i = 0; i < s->workload_count; i++)
        shared |= s->workloads[i].table_place == table_place &&
                  load_keys_share_one(&s->workloads[i].traffic.keys);
    return shared;
}

bool demand_split_evenly(const struct table *t, const struct partition_info *p,
                         uint8_t key[STORAGE_KEY_BOUND_SIZE], struct table_split *out)
{
    uint64_t lo = storage_key_bound_hash(p->lo, 0), hi = storage_key_bound_hash(p->hi, UINT64_MAX);
    if (hi - lo < 2)
        return false;
    *out = (struct table_split){
        .table_id = t->id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    out->points[0] = storage_key_write_bound(key, t->id, storage_key_even_split(lo, hi, 1, 2));
    table_split_share_equally(out);
    return true;
}

/* ---- steps ---- */

static void demand_steps(void *context, uint64_t argument)
{
    struct demand_watch *w = context;
    (void)argument;
    measure_step(w->measure, w->scheduler->now.ns - w->begin_ns);
}

static void demand_phase(void *context, uint64_t argument)
{
    struct demand_watch *w = context;
    measure_phase(w->measure, w->scheduler->now.ns - w->begin_ns, (double)argument);
}

static void watch_at(struct demand_watch *w, int64_t at_ns, scheduler_run *run, uint64_t argument)
{
    scheduler_at(w->scheduler, (struct instant){w->begin_ns + at_ns}, run, w, argument);
}

void demand_watch_workload(struct demand_watch *w, const struct scenario_workload *workload,
                           bool first)
{
    const struct rate_curve *c = &workload->traffic.rate;
    int64_t start_ns = workload->traffic.start_ns;
    if (start_ns > 0)
        watch_at(w, start_ns, demand_steps, 0);
    if (c->kind == RATE_SPIKE)
        watch_at(w, start_ns + c->from_ns, demand_steps, 0);
    for (int i = 0; c->kind == RATE_STEPS && i < c->count; i++) {
        if (first)
            watch_at(w, start_ns + i * c->span_ns, demand_phase, (uint64_t)c->rates[i]);
        if (i > 0)
            watch_at(w, start_ns + i * c->span_ns, demand_steps, 0);
    }
}
