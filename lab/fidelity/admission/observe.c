/* observe.c - tells the measures what happens: streams, flows, resources, windows.
 *
 * The optimum of a window may use what ideal buckets have: those of each table, partition and node,
 * which saw exactly what was admitted until then. So the optimum starts from the state that the
 * policy left, and a policy that keeps the limits never admits more than the optimum. A request may
 * overdraw a bucket: each resource has the cost of the costliest request as its slack, a table that
 * of one for each router, or for each partition where these keep its limit.
 *
 * A strong read may only use its leader's node, a write uses the nodes of all members. What bounds
 * eventual reads is in node_sets.c, what bounds the nodes' processors in processors.c. */
#include <stdlib.h>

#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/gac.h"
#include "engine/admission/capacity.h"
#include "lab/fidelity/admission/model_internal.h"

enum {
    WEIGHT_ONE = 1000,
    SPLIT_EVALUATED_MS = 10000, /* a split is judged by the load of this time behind it */
    TABLES_WATCHED = 64         /* idle tokens are counted in runs of at most so many tables */
};

static void ideal_begin(struct model *m, struct model_ideal *i, enum measure_resource_kind kind,
                        int64_t rate_mcu, int64_t capacity_mcu, int64_t balance_mcu)
{
    *i = (struct model_ideal){.resource = measure_add_resource(m->measure, kind),
                              .rate_mcu = rate_mcu,
                              .capacity_mcu = capacity_mcu,
                              .balance_mcu = balance_mcu,
                              .spenders = 1};
    measure_set_bucket(m->measure, i->resource, rate_mcu, capacity_mcu);
}

/* What the resource could give in the window that ends, and what it has for the next. */
static void ideal_advance(struct model *m, struct model_ideal *i, int64_t consumed_mcu)
{
    if (i->rate_mcu == 0)
        return;
    int64_t inflow = (int64_t)((__int128)i->rate_mcu * m->scenario->window_ns / NS_PER_S);
    int64_t had = i->balance_mcu + inflow;
    i->had_mcu = had;
    measure_set_capacity(m->measure, i->resource, had);
    measure_set_slack(m->measure, i->resource,
                      (int64_t)i->spenders * m->costliest_mcu + i->slack_mcu);
    int64_t left = had - (consumed_mcu - i->consumed_mcu);
    i->balance_mcu = left < i->capacity_mcu ? left : i->capacity_mcu;
    i->consumed_mcu = consumed_mcu;
}

/* The ideal bucket takes over what is left in the other one, which gets the inflow of the whole
 * last window: so no capacity is told too low. */
void observe_merge(struct model *m, struct model_partition *p, struct model_partition *upper)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct model_ideal *i = &p->ideal[kind], *gone = &upper->ideal[kind];
        ideal_advance(m, gone, upper->totals[kind].consumed_mcu);
        i->balance_mcu += gone->balance_mcu > 0 ? gone->balance_mcu : 0;
    }
}

static int64_t tenant_weight(const struct model *m, uint32_t tenant)
{
    int64_t weight = (int64_t)(m->scenario->tenants[tenant].weight * WEIGHT_ONE);
    return weight > 0 ? weight : 1;
}

/* ---- limits ---- */

static int64_t depth_of(int64_t rate_mcu, int64_t depth_ms)
{
    return (int64_t)((__int128)rate_mcu * depth_ms / 1000);
}

/* The units that all replicas of a partition may read: see enum read_cap. */
static int64_t partition_rate(const struct model *m, const struct model_partition *p,
                              enum admit_kind kind)
{
    int64_t rate = partition_max_mcu(m->config, kind);
    if (kind == ADMIT_READ && config_choices(m->config)->read_cap == READ_CAP_MEASURED)
        return rate / 2 * 3;
    if (kind == ADMIT_READ && config_choices(m->config)->read_cap == READ_CAP_REPLICA)
        return rate * p->replica_count;
    return rate;
}

void observe_partition(struct model *m, struct model_partition *p)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t rate = partition_rate(m, p, kind);
        int64_t depth = depth_of(rate, config_admission(m->config)->cap_depth_ms);
        ideal_begin(m, &p->ideal[kind], MEASURE_PARTITION, rate, depth, depth);
        p->ideal[kind].consumed_mcu = p->totals[kind].consumed_mcu;
    }
}

/* What a table may save: routers' policies save it in one bank, partitions in their buckets. */
static int64_t table_bank(const struct model *m, const struct model_table *t, int64_t rate_mcu)
{
    bool partitions = t->limits[ADMIT_WRITE].policy == GAC_OFF;
    int64_t saved_ms = partitions ? config_admission(m->config)->burst_max_s * 1000 +
                                        config_admission(m->config)->allocation_depth_ms
                                  : config_gac(m->config)->gac_bank_ms;
    return (int64_t)((__int128)rate_mcu * saved_ms / 1000);
}

/* What a new table has: a second's worth, or more of it in a ledger (gac_start_units). */
static int64_t table_start(const struct model *m, const struct model_table *t, int64_t rate_mcu)
{
    const int64_t least_mcu = config_gac(m->config)->gac_start_units * MCU_PER_UNIT;
    if (t->limits[ADMIT_WRITE].policy == GAC_OFF)
        return depth_of(rate_mcu, config_admission(m->config)->allocation_depth_ms);
    return rate_mcu > least_mcu ? rate_mcu : least_mcu;
}

/* Who may each overdraw the table's limit by a request. */
static uint32_t table_spenders(const struct model *m, const struct model_table *t)
{
    return t->limits[ADMIT_WRITE].policy == GAC_OFF ? t->route_count : m->router_count;
}

/* The table's rate has changed, or it is new. */
void observe_limits(struct model *m, struct model_table *t)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct model_ideal *i = &t->ideal[kind];
        int64_t rate = t->limits[kind].rate;
        int64_t bank = table_bank(m, t, rate);
        if (m->config->profile == PROFILE_OFF || t->scenario->unlimited)
            rate = bank = 0;
        if (i->capacity_mcu == 0 && i->rate_mcu == 0)
            ideal_begin(m, i, MEASURE_TABLE, rate, bank, table_start(m, t, rate));
        i->rate_mcu = rate;
        i->capacity_mcu = bank;
        measure_set_bucket(m->measure, i->resource, rate, bank);
        if (i->balance_mcu > bank)
            i->balance_mcu = bank;
        if (rate == 0)
            continue;
        if (!t->bounded[kind])
            t->bounds[kind] = measure_add_limit(m->measure, rate, bank, i->balance_mcu);
        else
            measure_set_limit(m->measure, t->bounds[kind], m->scheduler.now.ns, rate, bank);
        t->bounded[kind] = true;
    }
}

/* If one tenant has a parent, all are groups of the optimum, for reads and for writes. */
static void groups_declare(struct model *m)
{
    for (uint32_t i = 0; i < m->scenario->tenant_count; i++)
        m->has_groups |= m->scenario->tenants[i].parent != NULL;
    for (uint32_t i = 0; m->has_groups && i < m->scenario->tenant_count; i++) {
        const uint32_t parent = m->scenario->tenants[i].parent_place;
        for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
            m->groups[i][kind] = measure_add_group(
                m->measure, parent == UINT32_MAX ? MEASURE_ANY : m->groups[parent][kind],
                tenant_weight(m, i));
    }
}

void observe_create(struct model *m)
{
    groups_declare(m);
    node_sets_create(m);
    processors_create(m);
    for (uint32_t node = 1; node <= m->node_count; node++) {
        for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
            int64_t rate = node_capacity_mcu(m->config, kind);
            int64_t depth = depth_of(rate, config_admission(m->config)->node_depth_ms);
            ideal_begin(m, &m->nodes[node].ideal[kind], MEASURE_NODE, rate, depth, depth);
            m->nodes[node].ideal[kind].slack_mcu = depth; /* allocated work is never asked */
            m->nodes[node].capacity_mcu[kind] = rate;
        }
    }
}

/* Others use a part of the node's write capacity. The optimum cannot have that part either. */
void observe_node_busy(struct model *m, uint32_t node, double part)
{
    const int64_t rate = node_capacity_mcu(m->config, ADMIT_WRITE);
    m->nodes[node].processors.busy = part < 1 ? part : 1;
    m->nodes[node].capacity_mcu[ADMIT_WRITE] =
        part < 1 ? (int64_t)((double)rate * (1 - part)) + 1 : 1;
}

void observe_allocation(struct model *m, uint32_t node, enum admit_kind kind, int64_t before_mcu,
                        int64_t after_mcu)
{
    struct model_node *n = &m->nodes[node];
    const int64_t depth_ms = config_admission(m->config)->allocation_depth_ms;
    n->allocated_mcu[kind] += after_mcu - before_mcu;
    if (before_mcu == 0 || after_mcu == 0) /* it brings what its bucket may have, or takes it */
        n->ideal[kind].balance_mcu += depth_of(after_mcu - before_mcu, depth_ms);
}

/* Allocated work always passes, with what its buckets have saved, also where adaptive capacity has
 * allocated more than the node has. */
static void observe_node(struct model *m, struct model_node *n, enum admit_kind kind)
{
    const struct settings_admission *settings = config_admission(m->config);
    const int64_t allocated = n->allocated_mcu[kind];
    const int64_t rate = n->capacity_mcu[kind] > allocated ? n->capacity_mcu[kind] : allocated;
    const int64_t depth = depth_of(rate, settings->node_depth_ms) +
                          depth_of(allocated, settings->allocation_depth_ms);
    struct model_ideal *i = &n->ideal[kind];
    if (rate != i->rate_mcu || depth != i->capacity_mcu)
        measure_set_bucket(m->measure, i->resource, rate, depth);
    i->rate_mcu = rate;
    i->capacity_mcu = depth;
    ideal_advance(m, i, n->consumed_mcu[kind]);
}

/* ---- flows ---- */

static uint32_t flow_path(struct model *m, const struct model_partition *p, enum admit_kind kind,
                          bool eventual, uint32_t path[MEASURE_PATH_MAX])
{
    uint32_t count = 0;
    if (p->table->ideal[kind].rate_mcu > 0)
        path[count++] = p->table->ideal[kind].resource;
    path[count++] = p->ideal[kind].resource;
    if (kind == ADMIT_READ)
        count += node_sets_path(m, p, path + count);
    for (uint32_t i = 0; i < p->replica_count && count < MEASURE_PATH_MAX; i++) {
        uint32_t node = p->replicas[i].node;
        bool works = kind == ADMIT_WRITE ? !m->nodes[node].down : i == p->leader && !eventual;
        if (works)
            path[count++] = m->nodes[node].ideal[kind].resource;
    }
    return count;
}

static void source_declare(struct model *m, struct model_source *s, const struct model_table *t,
                           enum admit_kind kind)
{
    s->streams[kind] = measure_add_stream(m->measure, s->tenant, t->number, kind);
    if (m->has_groups)
        measure_set_stream_group(m->measure, s->streams[kind], m->groups[s->tenant][kind]);
    if (t->bounded[kind])
        measure_set_stream_limit(m->measure, s->streams[kind], t->bounds[kind]);
}

static uint32_t flow_of(struct model *m, struct model_request *r, struct model_partition *p)
{
    enum admit_kind kind = model_kind(&r->traffic);
    struct model_source *s = r->source;
    bool eventual = kind == ADMIT_READ && !r->traffic.consistent;
    uint32_t path[MEASURE_PATH_MAX];
    struct model_flow *f;
    if (s->streams[kind] == UINT32_MAX)
        source_declare(m, s, r->table, kind);
    LIST_FOREACH (f, &p->flows, entry) {
        if (f->stream == s->streams[kind] && f->eventual == eventual)
            return f->flow;
    }
    f = must_calloc(1, sizeof *f);
    f->stream = s->streams[kind];
    f->eventual = eventual;
    uint32_t count = flow_path(m, p, kind, eventual, path);
    f->kind = kind;
    f->weight = m->has_groups ? 1 : tenant_weight(m, s->tenant);
    f->flow = measure_add_flow(m->measure, f->stream, f->weight, path, count);
    processors_path(m, p, kind, eventual, f->flow);
    LIST_INSERT_HEAD(&p->flows, f, entry);
    return f->flow;
}

void observe_paths(struct model *m, struct model_partition *p)
{
    struct model_flow *f;
    LIST_FOREACH (f, &p->flows, entry) {
        uint32_t path[MEASURE_PATH_MAX];
        uint32_t count = flow_path(m, p, f->kind, f->eventual, path);
        measure_set_path(m->measure, f->flow, f->weight, path, count);
        processors_path(m, p, f->kind, f->eventual, f->flow);
    }
}

/* ---- requests ---- */

void observe_request(struct model *m, struct model_request *r, struct model_partition *p,
                     uint32_t reason, int64_t cost_mcu, int64_t latency_ns)
{
    struct measure_request request = {.flow = flow_of(m, r, p),
                                      .reason = reason,
                                      .at_ns = m->scheduler.now.ns,
                                      .cost_mcu = cost_mcu,
                                      .latency_ns = r->pair == NULL ? latency_ns : -1,
                                      .unawaited = r->pair != NULL,
                                      .hedge = r->hedge};
    processors_work(m, r, p, cost_mcu, reason == ADMIT_OK, request.work_ns);
    if (r->pair != NULL && reason == ADMIT_OK) {
        r->measured_flow = request.flow;
        r->measured_mcu = cost_mcu;
    }
    if (cost_mcu > m->costliest_mcu)
        m->costliest_mcu = cost_mcu;
    measure_request(m->measure, &request);
    sample_request(m, r, p, reason, cost_mcu);
}

void observe_rejected(struct model *m, struct model_request *r)
{
    struct model_partition *p = r->table->routes[0].partition;
    observe_request(m, r, p, REFUSED_BY_CLIENT, MCU_PER_UNIT, -1);
}

static void observe_tokens(struct model *m)
{
    int64_t idle_mcu = 0;
    for (uint32_t i = 0; i < m->router_count; i++) {
        struct model_router *r = &m->routers[i];
        for (uint32_t t = 0; t < m->table_count && !r->down; t++) {
            for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
                struct gac_holding h;
                if (m->tables[t].limited[kind] &&
                    gac_client_holding(r->client, (struct instant){r->now_ns},
                                       m->tables[t].limits[kind].key, &h) &&
                    h.tokens > 0)
                    idle_mcu += h.tokens;
            }
        }
    }
    measure_stranded(m->measure, m->scheduler.now.ns, idle_mcu);
}

/* ---- splits ---- */

/* A split that is judged by the load that follows. */
struct evaluated_split {
    LIST_ENTRY(evaluated_split) entry;
    struct model *model;
    uint64_t observations;
    uint32_t count; /* pieces */
    uint32_t ids[SPLIT_POINTS_MAX + 1];
    int64_t offered_mcu[SPLIT_POINTS_MAX + 1]; /* in all, when the split was made */
    enum admit_kind kind;
};

static int64_t partition_offered(const struct model *m, uint32_t id, enum admit_kind kind)
{
    const struct model_partition *p = model_partitions_find(m, id);
    return p->totals[kind].consumed_mcu + p->totals[kind].refused_mcu;
}

/* A piece may have been merged meanwhile: then the split cannot be judged. */
static bool split_is_whole(const struct evaluated_split *j)
{
    for (uint32_t i = 0; i < j->count; i++) {
        if (model_partitions_find(j->model, j->ids[i]) == NULL)
            return false;
    }
    return true;
}

static bool partition_is_one_key(const struct model_partition *p)
{
    return p->lo.size == STORAGE_KEY_BOUND_SIZE && p->hi.size == STORAGE_KEY_BOUND_SIZE &&
           storage_key_bound_hash(p->hi, 0) - storage_key_bound_hash(p->lo, 0) == 1;
}

/* Keys are taken to be small beside a partition, but for those that have one of their own. */
static void split_evaluate(void *context, uint64_t argument)
{
    struct evaluated_split *j = context;
    struct model *m = j->model;
    int64_t pieces_mcu[SPLIT_POINTS_MAX + 1], key_mcu = 0;
    (void)argument;
    LIST_REMOVE(j, entry);
    if (!split_is_whole(j)) {
        free(j);
        return;
    }
    for (uint32_t i = 0; i < j->count; i++) {
        pieces_mcu[i] = (partition_offered(m, j->ids[i], j->kind) - j->offered_mcu[i]) * 1000 /
                        SPLIT_EVALUATED_MS;
        if (partition_is_one_key(model_partitions_find(m, j->ids[i])) && pieces_mcu[i] > key_mcu)
            key_mcu = pieces_mcu[i];
    }
    const struct measure_split split = {.observations = j->observations,
                                        .pieces_mcu = pieces_mcu,
                                        .count = j->count,
                                        .key_mcu = key_mcu,
                                        .cap_mcu = partition_max_mcu(m->config, j->kind)};
    measure_split_evaluated(m->measure, &split);
    free(j);
}

/* Call before the parent's heat goes. */
void observe_split(struct model *m, struct model_partition *p,
                   struct model_partition *const children[], uint32_t count)
{
    struct evaluated_split *j = must_calloc(1, sizeof *j);
    measure_split_made(m->measure);
    int64_t writes = heat_rate(&p->heat, model_now(m), ADMIT_WRITE);
    int64_t reads = heat_rate(&p->heat, model_now(m), ADMIT_READ);
    j->model = m;
    j->kind = writes * 3 >= reads ? ADMIT_WRITE : ADMIT_READ;
    j->observations = (uint64_t)heat_samples(&p->heat, model_now(m), j->kind);
    j->count = count + 1;
    for (uint32_t i = 0; i <= count; i++) {
        j->ids[i] = i == 0 ? p->id : children[i - 1]->id;
        j->offered_mcu[i] = partition_offered(m, j->ids[i], j->kind);
    }
    LIST_INSERT_HEAD(&m->evaluated, j, entry);
    model_in(m, SPLIT_EVALUATED_MS * NS_PER_MS, split_evaluate, j, 0);
}

void observe_destroy(struct model *m)
{
    for (struct evaluated_split *j; (j = LIST_FIRST(&m->evaluated)) != NULL;) {
        LIST_REMOVE(j, entry);
        free(j);
    }
    node_sets_destroy(m);
}

/* ---- windows ---- */

void observe_window(struct model *m)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        for (uint32_t i = 0; i < m->table_count; i++) {
            struct model_table *t = &m->tables[i];
            t->ideal[kind].spenders = table_spenders(m, t);
            ideal_advance(m, &t->ideal[kind], t->consumed_mcu[kind]);
        }
        for (uint32_t id = 1; id < m->partition_room; id++) {
            struct model_partition *p = m->partitions[id];
            if (p != NULL)
                ideal_advance(m, &p->ideal[kind], p->totals[kind].consumed_mcu);
        }
        for (uint32_t node = 1; node <= m->node_count; node++)
            observe_node(m, &m->nodes[node], kind);
    }
    processors_window(m);
    node_sets_window(m);
    if (m->table_count <= TABLES_WATCHED)
        observe_tokens(m);
    measure_partitions(m->measure, m->counts.partitions);
    measure_advance(m->measure, m->scheduler.now.ns);
}
