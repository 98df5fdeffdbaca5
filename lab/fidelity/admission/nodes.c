/* nodes.c - admission at nodes, the headroom of members, and the time that work takes.
 *
 * A node's processors are one queue: work begins when the work before it is done. A write is
 * answered once a majority of the replicas has it on disk.
 *
 * A decision is made by admission_try of the product, with the buckets of the replica that decides,
 * of its node, and the headroom that its node knows of the others. */
#include <stdlib.h>

#include "base/settings/choices.h"
#include "base/settings/split.h"
#include "engine/admission/capacity.h"
#include "include/weir/policy_overload.h"
#include "lab/fidelity/admission/model_internal.h"

enum {
    PPM = 1000000
};

/* ---- life ---- */

void model_nodes_create(struct model *m)
{
    m->node_count = (uint32_t)m->scenario->cluster.nodes;
    m->nodes = must_calloc(m->node_count + 1, sizeof m->nodes[0]);
    for (uint32_t i = 1; i <= m->node_count; i++) {
        struct model_node *n = &m->nodes[i];
        n->slow_ppm = PPM;
        node_admission_init(&n->admission, m->config, model_now(m));
        members_init(&n->members, m->config, m->node_count);
        overload_init(&n->overload, m->config);
        resident_init(&n->resident, (size_t)m->scenario->cluster.memory_items);
    }
}

void model_nodes_destroy(struct model *m)
{
    for (uint32_t i = 1; m->nodes != NULL && i <= m->node_count; i++) {
        struct model_node *n = &m->nodes[i];
        members_deinit(&n->members);
        resident_deinit(&n->resident);
        size_t at = 0;
        for (struct table_share *s; (s = id_map_next(&n->shares, &at)) != NULL;)
            free(s);
        id_map_deinit(&n->shares);
    }
    free(m->nodes);
}

/* The replica's allocations count on its node, or no longer. */
static void node_count_allocations(struct model *m, struct model_replica *r, bool present)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        const int64_t rate = present ? r->admission.meters[kind].allocation.rate : 0;
        observe_allocation(m, r->node, kind, r->allocated_mcu[kind], rate);
        r->allocated_mcu[kind] = rate;
    }
}

void model_nodes_join(struct model *m, struct model_partition *p, struct model_replica *r)
{
    struct model_node *n = &m->nodes[r->node];
    struct table_share *share = id_map_find(&n->shares, p->table->id);
    if (share == NULL) {
        share = must_calloc(1, sizeof *share);
        share->table_id = p->table->id;
        id_map_add(&n->shares, p->table->id, share);
    }
    admission_join(&r->admission, share, model_now(m));
    node_count_allocations(m, r, true);
}

void model_nodes_leave(struct model *m, struct model_replica *r)
{
    admission_leave(&r->admission, model_now(m));
    node_count_allocations(m, r, false);
}

void node_set_down(struct model *m, uint32_t node, bool down)
{
    struct model_node *n = &m->nodes[node];
    if (n->down == down)
        return;
    processors_changed(n);
    n->down = down;
    processors_changed(n);
    if (!down) {
        n->busy_until_ns = m->scheduler.now.ns;
        resident_clear(&n->resident);
    }
    for (uint32_t id = 1; id < m->partition_room; id++) {
        struct model_partition *p = m->partitions[id];
        for (uint32_t i = 0; p != NULL && i < p->replica_count; i++) {
            if (p->replicas[i].node == node)
                model_partitions_elect(m, p);
        }
    }
}

/* ---- the time that work takes ---- */

/* When work of `ns` that comes at `at_ns` is done at the node. Work that comes later counts as
 * waiting from now on, so that the node is never idle while there is work. */
static int64_t node_work(struct model *m, struct model_node *n, int64_t at_ns, int64_t ns)
{
    const int64_t now_ns = m->scheduler.now.ns;
    int64_t takes = ns;
    if (n->slow_ppm != PPM)
        takes = (int64_t)((__int128)takes * n->slow_ppm / PPM);
    if (n->busy_until_ns < now_ns)
        n->busy_until_ns = now_ns;
    int64_t wait = n->busy_until_ns - at_ns;
    n->busy_until_ns += takes / m->scenario->cluster.costs.cores;
    return at_ns + (wait > 0 ? wait : 0) + takes;
}

int64_t model_nodes_work_ns(const struct model *m, enum admit_kind kind, bool leads,
                            int64_t cost_mcu)
{
    const struct scenario_costs *c = &m->scenario->cluster.costs;
    int64_t units = cost_mcu / MCU_PER_UNIT;
    int64_t first = kind == ADMIT_READ ? c->read_ns : leads ? c->write_ns : c->follow_ns;
    return first + (units > 1 ? (units - 1) * c->unit_ns : 0);
}

/* The time that a read takes because items are not in the node's memory. */
static int64_t miss_work(struct model *m, struct model_node *n, const struct model_request *r)
{
    const int64_t items = r->traffic.scan_length > 1 ? r->traffic.scan_length : 1;
    int64_t hits = 0;
    if (n->resident.max == 0)
        return 0;
    for (int64_t i = 0; i < items; i++)
        hits += resident_use(&n->resident, r->table->id, r->traffic.key + (uint64_t)i);
    measure_memory(m->measure, m->scheduler.now.ns, items, hits);
    return (items - hits) * m->scenario->cluster.costs.miss_ns;
}

int64_t model_nodes_miss_ns(const struct model *m, const struct model_node *n,
                            const struct model_request *r)
{
    const int64_t items = r->traffic.scan_length > 1 ? r->traffic.scan_length : 1;
    int64_t misses = 0;
    for (int64_t i = 0; i < items && n->resident.max > 0; i++)
        misses += !resident_has(&n->resident, r->table->id, r->traffic.key + (uint64_t)i);
    return misses * m->scenario->cluster.costs.miss_ns;
}

/* When a majority of the replicas has the write on disk. */
static int64_t write_durable_at(struct model *m, struct model_partition *p, int64_t at_ns,
                                int64_t cost_mcu)
{
    const int64_t sync_ns = m->scenario->cluster.costs.sync_ns;
    int64_t done[REPLICAS_MAX + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->replica_count && count < REPLICAS_MAX; i++) {
        const struct model_replica *r = &p->replicas[i];
        struct model_node *n = &m->nodes[r->node];
        if (r->joining || n->down)
            continue;
        int64_t there = at_ns, back = 0;
        if (i != p->leader) {
            there = node_work(m, n, at_ns + model_way_ns(m),
                              model_nodes_work_ns(m, ADMIT_WRITE, false, cost_mcu));
            back = model_way_ns(m);
        }
        int64_t at = there + sync_ns + back;
        uint32_t place = count++;
        for (; place > 0 && done[place - 1] > at; place--)
            done[place] = done[place - 1];
        done[place] = at;
    }
    return done[p->replica_count / 2];
}

/* ---- overload ---- */

/* An answer on its way to a router, as one number. */
enum {
    ANSWER_TABLE_BITS = 32, /* the place of the table, and the kind of throughput */
    ANSWER_NODE_BITS = 15,
    ANSWER_ROUTER_BITS = 16
};

static uint64_t node_answer(const struct model *m, const struct model_request *r,
                            const struct model_outcome *out, enum admit_kind kind)
{
    const uint64_t table = (uint64_t)(r->table - m->tables) << 1 | (uint64_t)kind;
    const bool excess = out->verdict.burst || out->verdict.reason == ADMIT_REFUSED_OVERLOAD;
    must(table >> ANSWER_TABLE_BITS == 0 && out->node >> ANSWER_NODE_BITS == 0 &&
         r->router >> ANSWER_ROUTER_BITS == 0);
    return table | (uint64_t)out->node << ANSWER_TABLE_BITS |
           (uint64_t)r->router << (ANSWER_TABLE_BITS + ANSWER_NODE_BITS) | (uint64_t)excess << 63;
}

/* The router hears the answer to a request that it sent. */
static void node_answered(void *context, uint64_t answer)
{
    struct model *m = context;
    const uint32_t node = (uint32_t)(answer >> ANSWER_TABLE_BITS) & ((1U << ANSWER_NODE_BITS) - 1);
    struct model_router *r = &m->routers[answer >> (ANSWER_TABLE_BITS + ANSWER_NODE_BITS) &
                                         ((1U << ANSWER_ROUTER_BITS) - 1)];
    struct model_node *n = &m->nodes[node];
    const struct model_table *t = &m->tables[(uint32_t)answer >> 1];
    const struct overload_arrival a = {.now = model_now(m), .sender = r->number};
    if (answer >> 63)
        overload_note_excess(&r->excess, gac_key_number(t->limits[answer & 1].key), model_now(m));
    overload_answered(&r->overload, &r->peers[node], model_now(m),
                      n->down ? 0 : overload_report(&n->overload, &a));
}

/* Whether the node does the request. If not, `out` is a refusal. As router/core/shedding.c and
 * engine/node/request/item_requests.c. The node judges when it takes the request from its queue.
 * Requests leave the queue in the order in which they came, so that time is known now. */
static bool node_arrives(struct model *m, uint32_t node, struct admission *a, enum admit_kind kind,
                         const struct model_request *r, uint64_t key_hash, int64_t cost_mcu,
                         struct model_outcome *out)
{
    struct model_node *n = &m->nodes[node];
    struct model_router *router = &m->routers[r->router];
    const int64_t wait_ns = n->busy_until_ns - m->scheduler.now.ns;
    struct overload_arrival o = {.now = model_now(m), .key_hash = key_hash};
    o.within_limit =
        router->overload.target_ns >= 0 || model_routers_is_within(m, router, r->table, kind);
    out->verdict = (struct admit_verdict){.reason = ADMIT_REFUSED_OVERLOAD};
    out->node = node;
    if (!overload_may_send(&router->overload, &router->peers[node], &o)) {
        out->done_ns = m->scheduler.now.ns;
        return false;
    }
    out->sent = true;
    o.sender = r->router;
    o.waited.ns = wait_ns > 0 ? wait_ns : 0;
    o.now = instant_add(o.now, o.waited);
    o.within_limit = o.waited.ns <= n->overload.target_ns ||
                     admission_is_within_limit(a, kind, model_now(m), cost_mcu);
    return overload_arrive(&n->overload, &o);
}

/* ---- admission ---- */

/* As engine/node/replica/heat.c: counts what is asked for, and reports a load above the maximum at
 * once when it has lasted long enough to be a reason for a split. */
static void node_count_heat(struct model *m, struct model_partition *p, enum admit_kind kind,
                            struct slice key, int64_t cost_mcu)
{
    struct excess *e = &p->excess[kind];
    const struct excess_rule rule = {.max_mcu = partition_max_mcu(m->config, kind),
                                     .reset_ms = config_split(m->config)->split_hold_reset_ms,
                                     .gap_tolerance_ms =
                                         config_split(m->config)->split_gap_tolerance_ms};
    if (!heat_is_init(&p->heat))
        heat_init(&p->heat, p->lo, p->hi, p->id, m->config);
    heat_add(&p->heat, model_now(m), kind, key, cost_mcu);
    excess_add(e, model_now(m), cost_mcu, &rule);
    if (excess_ms(e, model_now(m)) < config_split(m->config)->split_hold_ms ||
        p->excess_reported[kind].ns == e->since.ns)
        return;
    p->excess_reported[kind] = e->since;
    model_control_report_now(m, p);
}

static void node_count(struct model_partition *p, enum admit_kind kind,
                       const struct admit_verdict *v, int64_t cost_mcu)
{
    struct load_total *t = &p->totals[kind];
    p->unreported = true;
    if (v->reason == ADMIT_OK) {
        t->consumed_mcu += cost_mcu;
    } else {
        t->refused_mcu += cost_mcu;
        t->refused[v->reason]++;
    }
}

static void node_group(struct model *m, const struct model_partition *p, struct admit_group *g)
{
    g->members = &m->nodes[p->replicas[p->leader].node].members;
    g->count = 0;
    for (uint32_t i = 0; i < p->replica_count; i++) {
        if (i != p->leader)
            g->nodes[g->count++] = p->replicas[i].node;
    }
}

/* The other members do the write too. */
static void node_follow(struct model *m, struct model_partition *p, const struct admit_verdict *v,
                        int64_t cost_mcu)
{
    uint32_t follow = v->burst ? FOLLOW_BURST : 0;
    if (v->burst && config_choices(m->config)->write_check == WRITE_CHECK_LEASE)
        follow |= FOLLOW_PAID;
    for (uint32_t i = 0; i < p->replica_count; i++) {
        struct model_replica *r = &p->replicas[i];
        struct model_node *n = &m->nodes[r->node];
        if (i == p->leader || n->down)
            continue;
        admission_follow(&r->admission, &n->admission, ADMIT_WRITE, model_now(m), cost_mcu, follow);
        n->consumed_mcu[ADMIT_WRITE] += cost_mcu;
    }
}

/* The replica that serves an eventual read: any that is up. */
static uint32_t node_pick_replica(struct model *m, const struct model_partition *p)
{
    uint32_t first = (uint32_t)prng_below(&m->replicas, p->replica_count);
    for (uint32_t i = 0; i < p->replica_count; i++) {
        uint32_t at = (first + i) % p->replica_count;
        if (model_partitions_is_up(m, &p->replicas[at]))
            return at;
    }
    return p->leader;
}

static bool node_has_majority(const struct model *m, const struct model_partition *p)
{
    return model_partitions_up(m, p) > p->replica_count / 2;
}

/* Which buckets decide on a read that replica `at` serves. */
static struct admission *read_buckets(struct model *m, struct model_partition *p, uint32_t at)
{
    bool own = config_choices(m->config)->read_cap == READ_CAP_REPLICA;
    return &p->replicas[own ? at : p->leader].admission;
}

static void node_serve_read(struct model *m, struct model_partition *p,
                            const struct model_request *r, uint64_t key_hash,
                            struct model_outcome *out)
{
    const struct traffic_request *t = &r->traffic;
    uint32_t at = t->consistent ? p->leader : node_pick_replica(m, p);
    struct model_node *n = &m->nodes[p->replicas[at].node];
    struct admission *a = read_buckets(m, p, at);
    const int64_t min = read_cost_mcu(0, t->consistent);
    out->cost_mcu = read_cost_mcu(
        (int64_t)t->size_bytes * (t->scan_length > 1 ? t->scan_length : 1), t->consistent);
    if (!node_arrives(m, p->replicas[at].node, a, ADMIT_READ, r, key_hash, min, out))
        return;
    out->verdict = admission_try(a, &n->admission, ADMIT_READ, model_now(m), min, NULL);
    node_count(p, ADMIT_READ, &out->verdict, min);
    if (out->verdict.reason != ADMIT_OK)
        return;
    if (out->cost_mcu > min) {
        admission_settle(a, &n->admission, ADMIT_READ, model_now(m), &out->verdict,
                         out->cost_mcu - min, NULL);
        p->totals[ADMIT_READ].consumed_mcu += out->cost_mcu - min;
    }
    if (!t->consistent && config_choices(m->config)->read_cap == READ_CAP_MEASURED)
        admission_spare_cap(a, ADMIT_READ, out->cost_mcu / 3);
    n->consumed_mcu[ADMIT_READ] += out->cost_mcu;
    out->miss_ns = miss_work(m, n, r);
    const int64_t work_ns = model_nodes_work_ns(m, ADMIT_READ, true, out->cost_mcu) + out->miss_ns;
    out->done_ns =
        node_work(m, n, m->scheduler.now.ns + model_way_ns(m), work_ns) + model_way_ns(m);
}

/* What a write costs beyond the least, once the old item is known. */
static int64_t write_extra(const struct model_request *r, int64_t mcu_min)
{
    if (!r->source->sizes_vary)
        return 0;
    int64_t old = write_cost_mcu(model_sizes_of(r->table, r->traffic.key));
    return old > mcu_min ? old - mcu_min : 0;
}

static void write_settle(struct model *m, struct model_partition *p, const struct model_request *r,
                         const struct admit_group *group, struct model_outcome *out)
{
    struct model_node *n = &m->nodes[p->replicas[p->leader].node];
    int64_t extra = write_extra(r, out->cost_mcu);
    if (extra > 0) {
        admission_settle(&p->replicas[p->leader].admission, &n->admission, ADMIT_WRITE,
                         model_now(m), &out->verdict, extra, group);
        p->totals[ADMIT_WRITE].consumed_mcu += extra;
        out->cost_mcu += extra;
    }
    if (r->source->sizes_vary)
        model_sizes_set(r->table, r->traffic.key,
                        r->traffic.kind == TRAFFIC_DELETE ? 0 : r->traffic.size_bytes);
}

/* What was written is in the memory of all members. */
static void node_remember(struct model *m, const struct model_partition *p,
                          const struct model_request *r)
{
    for (uint32_t i = 0; i < p->replica_count; i++) {
        struct model_node *n = &m->nodes[p->replicas[i].node];
        if (!n->down)
            resident_use(&n->resident, r->table->id, r->traffic.key);
    }
}

static void node_serve_write(struct model *m, struct model_partition *p,
                             const struct model_request *r, uint64_t key_hash,
                             struct model_outcome *out)
{
    struct model_node *n = &m->nodes[p->replicas[p->leader].node];
    struct admission *a = &p->replicas[p->leader].admission;
    struct admit_group group;
    if (!node_has_majority(m, p)) {
        out->failed = true;
        return;
    }
    out->cost_mcu = write_cost_mcu(model_write_bytes(&r->traffic));
    if (!node_arrives(m, p->replicas[p->leader].node, a, ADMIT_WRITE, r, key_hash, out->cost_mcu,
                      out))
        return;
    node_group(m, p, &group);
    out->verdict =
        admission_try(a, &n->admission, ADMIT_WRITE, model_now(m), out->cost_mcu, &group);
    node_count(p, ADMIT_WRITE, &out->verdict, out->cost_mcu);
    if (out->verdict.reason != ADMIT_OK)
        return;
    write_settle(m, p, r, &group, out);
    if (m->scenario->cluster.memory_items > 0)
        node_remember(m, p, r);
    n->consumed_mcu[ADMIT_WRITE] += out->cost_mcu;
    node_follow(m, p, &out->verdict, out->cost_mcu);
    int64_t logged = node_work(m, n, m->scheduler.now.ns + model_way_ns(m),
                               model_nodes_work_ns(m, ADMIT_WRITE, true, out->cost_mcu));
    out->done_ns = write_durable_at(m, p, logged, out->cost_mcu) + model_way_ns(m);
}

void model_nodes_serve(struct model *m, struct model_partition *p, const struct model_request *r,
                       struct slice key, struct model_outcome *out)
{
    enum admit_kind kind = model_kind(&r->traffic);
    *out = (struct model_outcome){0};
    if (p->leaderless) {
        out->failed = true;
        return;
    }
    const uint64_t key_hash = storage_key_bound_hash(key, 0);
    if (kind == ADMIT_READ)
        node_serve_read(m, p, r, key_hash, out);
    else
        node_serve_write(m, p, r, key_hash, out);
    if (out->failed)
        return;
    const int64_t frozen_ns = p->frozen_until_ns - m->scheduler.now.ns;
    out->done_ns += frozen_ns > 0 ? frozen_ns : 0;
    bool admitted = out->verdict.reason == ADMIT_OK;
    if (!admitted && (out->sent || out->verdict.reason != ADMIT_REFUSED_OVERLOAD))
        out->done_ns = node_work(m, &m->nodes[out->node], m->scheduler.now.ns + model_way_ns(m),
                                 m->scenario->cluster.costs.refuse_ns) +
                       model_way_ns(m);
    if (out->sent && m->routers[r->router].overload.policy->answered != NULL)
        model_in(m, out->done_ns - m->scheduler.now.ns, node_answered, m,
                 node_answer(m, r, out, kind));
    if (out->verdict.reason == ADMIT_REFUSED_OVERLOAD) {
        p->totals[kind].refused[ADMIT_REFUSED_OVERLOAD]++;
        return;
    }
    int64_t requested_mcu =
        admitted || kind == ADMIT_WRITE ? out->cost_mcu : read_cost_mcu(0, r->traffic.consistent);
    node_count_heat(m, p, kind, key, requested_mcu);
    if (admitted)
        p->table->consumed_mcu[kind] += out->cost_mcu;
}
