/* partitions.c - tables and partitions: created as the catalog says, found by key, split, moved,
 * merged. */
#include <stdlib.h>

#include "base/settings/replication.h"
#include "engine/admission/policy_choice.h"
#include "lab/fidelity/admission/model_internal.h"

enum {
    SETTLE_MS = 5 /* until the nodes have done what a change of a table asks for */
};

enum admit_kind model_kind(const struct traffic_request *t)
{
    return traffic_kind_writes(t->kind) ? ADMIT_WRITE : ADMIT_READ;
}

struct model_partition *model_partitions_find(const struct model *m, uint32_t id)
{
    return id < m->partition_room ? m->partitions[id] : NULL;
}

static struct model_table *model_partitions_table(struct model *m, uint32_t id)
{
    for (uint32_t i = 0; i < m->table_count; i++) {
        if (m->tables[i].id == id)
            return &m->tables[i];
    }
    return NULL;
}

/* ---- routing ---- */

/* The last route whose lower bound is not above the key. */
struct model_partition *model_partitions_route(const struct model_table *t, struct slice key)
{
    uint64_t hash = storage_key_bound_hash(key, 0);
    uint32_t low = 0, high = t->route_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        const struct model_route *r = &t->routes[middle];
        bool below =
            r->hash < hash || (r->hash == hash && slice_compare(r->partition->lo, key) <= 0);
        if (below)
            low = middle;
        else
            high = middle;
    }
    return t->routes[low].partition;
}

static void routes_build(struct model *m, struct model_table *mt, const struct table *t)
{
    mt->route_count = 0;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        struct model_partition *p = model_partitions_find(m, t->partitions[i].id);
        mt->routes =
            must_grow(mt->routes, mt->route_count, &mt->route_capacity, sizeof mt->routes[0]);
        mt->routes[mt->route_count++] =
            (struct model_route){.hash = storage_key_bound_hash(p->lo, 0), .partition = p};
    }
}

/* ---- replicas ---- */

static struct admission_rates rates_of(const struct partition_info *info)
{
    struct admission_rates r;
    memcpy(r.rate_mcu, info->rate_mcu, sizeof r.rate_mcu);
    memcpy(r.maximum_mcu, info->maximum_mcu, sizeof r.maximum_mcu);
    r.weight = info->weight;
    return r;
}

/* The model has no indexes. */
static struct admission_policies policies_of(const struct model *m,
                                             const struct partition_info *info)
{
    return admission_policies_same(admission_policy_of(m->config, info->gac, info->on_demand));
}

bool model_partitions_is_up(const struct model *m, const struct model_replica *r)
{
    return !r->joining && !m->nodes[r->node].down;
}

uint32_t model_partitions_up(const struct model *m, const struct model_partition *p)
{
    uint32_t up = 0;
    for (uint32_t i = 0; i < p->replica_count; i++)
        up += model_partitions_is_up(m, &p->replicas[i]);
    return up;
}

static void partitions_lead(struct model *m, struct model_partition *p)
{
    uint32_t leader = p->replica_count;
    for (uint32_t i = p->replica_count; i > 0; i--) {
        if (model_partitions_is_up(m, &p->replicas[i - 1]))
            leader = i - 1;
    }
    p->leaderless = leader == p->replica_count;
    if (!p->leaderless)
        p->leader = leader;
    observe_paths(m, p);
}

static void election_over(void *context, uint64_t argument)
{
    struct model *m = context;
    struct model_partition *p = model_partitions_find(m, (uint32_t)argument);
    if (p != NULL)
        partitions_lead(m, p);
}

/* The first replica that is up leads, after an election if the leader went down. */
void model_partitions_elect(struct model *m, struct model_partition *p)
{
    int64_t ms =
        config_replication(m->config)->support_ms + config_replication(m->config)->election_ms;
    if (!model_partitions_is_up(m, &p->replicas[p->leader]))
        p->leaderless = true;
    model_in(m, ms * NS_PER_MS, election_over, m, p->id);
}

static struct model_replica *replica_find(struct model_partition *p, uint32_t node)
{
    for (uint32_t i = 0; i < p->replica_count; i++) {
        if (p->replicas[i].node == node)
            return &p->replicas[i];
    }
    return NULL;
}

/* ---- moves ---- */

static void move_over(void *context, uint64_t argument)
{
    struct model *m = context;
    struct model_partition *p = model_partitions_find(m, (uint32_t)(argument >> 32));
    const struct table *t = p == NULL ? NULL : catalog_find_id(m->catalog, p->table->id);
    const struct partition_info *info = t == NULL ? NULL : table_find_partition(t, p->id);
    if (info == NULL || p->arrivals != (uint32_t)argument)
        return;
    for (uint32_t i = 0; i < p->replica_count; i++)
        p->replicas[i].joining = false;
    if (info->leaving != 0) {
        const struct decision d = {.table_id = t->id,
                                   .partition = info->id,
                                   .epoch = info->epoch,
                                   .from_node = raft_member_node(info->leaving)};
        model_control_decide(m, CATALOG_LEFT, &d);
    }
    partitions_lead(m, p);
}

/* Replicas as the catalog wants them. A new replica has the leader's buckets, and works once the
 * partition's bytes are copied. */
static void replicas_set(struct model *m, struct model_partition *p,
                         const struct partition_info *info)
{
    struct model_replica *fresh = must_calloc(info->member_count + 1, sizeof *fresh);
    struct model_replica *leader = &p->replicas[p->leader];
    const struct admission copied = leader->admission;
    uint32_t count = 0;
    bool joins = false;
    for (uint32_t i = 0; i < info->member_count; i++) {
        uint32_t node = partition_node(info, i);
        struct model_replica *old = replica_find(p, node);
        struct model_replica *r = &fresh[count++];
        if (old != NULL) {
            model_nodes_leave(m, old);
            *r = *old;
            old->node = 0;
        } else {
            *r = (struct model_replica){.node = node, .joining = true, .admission = copied};
            r->admission.table = NULL;
            joins = true;
        }
        r->member = info->members[i];
        model_nodes_join(m, p, r);
    }
    for (uint32_t i = 0; i < p->replica_count; i++) {
        if (p->replicas[i].node != 0)
            model_nodes_leave(m, &p->replicas[i]);
    }
    free(p->replicas);
    p->replicas = fresh;
    p->replica_count = count;
    p->leader = 0;
    partitions_lead(m, p);
    if (joins || info->leaving != 0) {
        int64_t speed = m->scenario->cluster.costs.move_bytes_per_s;
        int64_t ns = joins ? (int64_t)((__int128)p->bytes * NS_PER_S / speed) : 0;
        model_in(m, ns + SETTLE_MS * NS_PER_MS, move_over, m,
                 (uint64_t)p->id << 32 | ++p->arrivals);
    }
}

static bool members_differ(const struct model_partition *p, const struct partition_info *info)
{
    if (p->replica_count != info->member_count)
        return true;
    for (uint32_t i = 0; i < info->member_count; i++) {
        if (p->replicas[i].node != partition_node(info, i))
            return true;
    }
    return false;
}

/* ---- partitions ---- */

static void set_bounds(struct model_partition *p, const struct partition_info *info)
{
    struct buffer bounds = {0};
    buffer_append_slice(&bounds, info->lo);
    buffer_append_slice(&bounds, info->hi);
    buffer_deinit(&p->bounds);
    p->bounds = bounds;
    p->lo = slice_make(bounds.data, info->lo.size);
    p->hi = slice_make(bounds.data + info->lo.size, info->hi.size);
    p->epoch = info->epoch;
    p->unreported = true;
}

/* What was counted is of another range. */
static void loads_discard(struct model_partition *p)
{
    heat_deinit(&p->heat);
    p->heat = (struct heat){0};
    memset(p->excess, 0, sizeof p->excess);
}

/* Its replicas have no buckets yet. */
static struct model_partition *partition_add(struct model *m, struct model_table *mt,
                                             const struct partition_info *info)
{
    struct model_partition *p = must_calloc(1, sizeof *p);
    p->id = info->id;
    p->table = mt;
    p->replica_count = info->member_count;
    p->replicas = must_calloc(info->member_count + 1, sizeof p->replicas[0]);
    LIST_INIT(&p->flows);
    set_bounds(p, info);
    for (uint32_t i = 0; i < info->member_count; i++) {
        p->replicas[i].node = partition_node(info, i);
        p->replicas[i].member = info->members[i];
    }
    m->partitions =
        must_grow_zeroed(m->partitions, info->id, &m->partition_room, sizeof m->partitions[0]);
    m->partitions[info->id] = p;
    m->counts.partitions++;
    observe_partition(m, p);
    return p;
}

static void partition_open(struct model *m, struct model_table *mt,
                           const struct partition_info *info)
{
    struct model_partition *p = partition_add(m, mt, info);
    const struct admission_rates rates = rates_of(info);
    for (uint32_t i = 0; i < p->replica_count; i++) {
        admission_init(&p->replicas[i].admission, policies_of(m, info), m->config, &rates,
                       model_now(m));
        model_nodes_join(m, p, &p->replicas[i]);
    }
    partitions_lead(m, p);
}

static void rates_set(struct model *m, struct model_partition *p, const struct partition_info *info)
{
    const struct admission_rates rates = rates_of(info);
    for (uint32_t i = 0; i < p->replica_count; i++) {
        admission_change(&p->replicas[i].admission, policies_of(m, info), m->config, &rates,
                         model_now(m));
        model_nodes_join(m, p, &p->replicas[i]);
    }
}

/* ---- splits ---- */

/* As engine/node/apply/split.c: each replica divides its buckets among the pieces. */
static void replicas_divide(struct model *m, struct model_partition *p,
                            struct model_partition *const children[],
                            const struct partition_split *s, const uint32_t *const shares[])
{
    struct admission_rates rates[SPLIT_POINTS_MAX + 1] = {rates_of(&s->parent)};
    for (uint32_t c = 0; c < s->child_count; c++)
        rates[c + 1] = rates_of(&s->children[c]);
    for (uint32_t i = 0; i < p->replica_count; i++) {
        struct admission spare[SPLIT_POINTS_MAX + 1];
        struct admission *pieces[SPLIT_POINTS_MAX + 1] = {&p->replicas[i].admission};
        model_nodes_leave(m, &p->replicas[i]);
        for (uint32_t c = 0; c < s->child_count; c++) {
            struct model_replica *r = replica_find(children[c], p->replicas[i].node);
            pieces[c + 1] = r != NULL ? &r->admission : &spare[c];
        }
        admission_split(pieces, s->child_count + 1, m->config, rates, shares, model_now(m));
        model_nodes_join(m, p, &p->replicas[i]);
        for (uint32_t c = 0; c < s->child_count; c++) {
            struct model_replica *r = replica_find(children[c], p->replicas[i].node);
            if (r != NULL)
                model_nodes_join(m, children[c], r);
        }
    }
}

static void partition_divide(struct model *m, struct model_table *mt, struct model_partition *p,
                             const struct partition_split *s)
{
    struct model_partition *children[SPLIT_POINTS_MAX];
    uint32_t shares[ADMIT_KINDS][SPLIT_POINTS_MAX + 1];
    const uint32_t *const by_kind[] = {shares[ADMIT_READ], shares[ADMIT_WRITE]};
    for (uint32_t kind = 0; kind < ADMIT_KINDS; kind++)
        partition_split_shares(s, kind, shares[kind]);
    int64_t bytes = p->bytes;
    for (uint32_t c = 0; c < s->child_count; c++) {
        children[c] = partition_add(m, mt, &s->children[c]);
        children[c]->bytes = bytes / (s->child_count + 1);
        p->bytes -= children[c]->bytes;
    }
    replicas_divide(m, p, children, s, by_kind);
    if (!m->by_hand)
        observe_split(m, p, children, s->child_count);
    set_bounds(p, &s->parent);
    loads_discard(p);
    for (uint32_t c = 0; c < s->child_count; c++)
        partitions_lead(m, children[c]);
}

/* The partitions that the catalog has cut off from this one, in key order. */
static void split_collect(const struct table *t, uint32_t at, struct partition_split *s)
{
    *s = (struct partition_split){.parent = t->partitions[at]};
    for (uint32_t i = at + 1; i < t->partition_count && s->child_count < SPLIT_POINTS_MAX; i++) {
        if (t->partitions[i].parent == t->partitions[at].id)
            s->children[s->child_count++] = t->partitions[i];
    }
}

/* ---- merges ---- */

/* As engine/node/apply/merge.c: each replica takes over the buckets of the one beside it. */
static void replicas_absorb(struct model *m, struct model_partition *p,
                            struct model_partition *upper, const struct partition_info *info)
{
    const struct admission_rates rates = rates_of(info);
    for (uint32_t i = 0; i < p->replica_count; i++) {
        struct model_replica *r = &p->replicas[i];
        struct model_replica *u = replica_find(upper, r->node);
        must(u != NULL); /* the catalog merges only what stands together */
        model_nodes_leave(m, r);
        model_nodes_leave(m, u);
        admission_merge(&r->admission, &u->admission, m->config, &rates, model_now(m));
        model_nodes_join(m, p, r);
    }
}

static void partition_absorb(struct model *m, struct model_partition *p,
                             const struct partition_info *info)
{
    struct model_partition *upper = model_partitions_find(m, info->merge_with);
    replicas_absorb(m, p, upper, info);
    observe_merge(m, p, upper);
    sample_gone(m, upper);
    set_bounds(p, info);
    p->bytes += upper->bytes;
    loads_discard(p);
    m->partitions[upper->id] = NULL;
    m->counts.partitions--;
    SLIST_INSERT_HEAD(&m->gone, upper, gone);
}

/* ---- what the catalog says ---- */

static void settle_over(void *context, uint64_t argument)
{
    struct model *m = context;
    const struct table *t = catalog_find_id(m->catalog, (uint32_t)argument);
    struct catalog_command c = model_control_command(m, CATALOG_RECONCILED);
    struct catalog_result out;
    if (t == NULL || (t->status == TABLE_ACTIVE && !table_is_splitting(t)))
        return;
    catalog_command_reconciled(&c, t);
    model_control_apply(m, &c, &out);
}

static void partition_sync(struct model *m, struct model_table *mt, const struct table *t,
                           uint32_t at)
{
    const struct partition_info *info = &t->partitions[at];
    struct model_partition *p = model_partitions_find(m, info->id);
    struct partition_split s;
    if (p == NULL) {
        partition_open(m, mt, info);
        return;
    }
    split_collect(t, at, &s);
    if (p->epoch != info->epoch && s.child_count > 0 &&
        model_partitions_find(m, s.children[0].id) == NULL)
        partition_divide(m, mt, p, &s);
    else if (p->epoch != info->epoch && info->merge == MERGE_ABSORB &&
             model_partitions_find(m, info->merge_with) != NULL)
        partition_absorb(m, p, info);
    else if (p->epoch != info->epoch)
        set_bounds(p, info);
    rates_set(m, p, info);
    if (members_differ(p, info))
        replicas_set(m, p, info);
    else if (info->leaving != 0)
        model_in(m, SETTLE_MS * NS_PER_MS, move_over, m, (uint64_t)p->id << 32 | p->arrivals);
}

static void limits_set(struct model *m, struct model_table *mt, const struct table *t, bool created)
{
    enum gac_policy policy = gac_policy_of(m->config, t->gac);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t units = t->billing == BILLING_ON_DEMAND ? t->maximum[kind]
                        : kind == ADMIT_READ            ? t->rcu
                                                        : t->wcu;
        const struct gac_key key = {.table = t->id,
                                    .kind = kind == ADMIT_READ ? GAC_READ : GAC_WRITE};
        mt->limits[kind] = (struct gac_limit){
            .key = key, .policy = policy, .rate = units * MCU_PER_UNIT, .version = t->version};
        mt->limited[kind] = policy != GAC_OFF && units > 0;
        struct model_router *r = &m->routers[0];
        if (r->down || !mt->limited[kind])
            continue;
        gac_client_notify(r->client, router_clock(m, r), &mt->limits[kind], created);
        router_pump(m, r);
    }
    observe_limits(m, mt);
}

void model_partitions_sync(struct model *m, const struct table *t)
{
    struct model_table *mt = model_partitions_table(m, t->id);
    if (mt == NULL)
        return; /* the catalog's own group */
    bool created = mt->version == 0, changed = mt->version != t->version;
    mt->version = t->version;
    if (changed || created)
        limits_set(m, mt, t, created);
    for (uint32_t i = 0; i < t->partition_count; i++)
        partition_sync(m, mt, t, i);
    routes_build(m, mt, t);
    model_merges_sync(m, t);
    if (t->status != TABLE_ACTIVE || table_is_splitting(t))
        model_in(m, SETTLE_MS * NS_PER_MS, settle_over, m, t->id);
}
