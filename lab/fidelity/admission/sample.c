/* sample.c - series of balances and of the key space, for reports.
 *
 * Time is cut into slots of whole seconds, at most SLOTS_MAX of them. What is offered and admitted
 * is summed over a slot. Balances and ranges are those at the end of a slot.
 *
 * Invariants
 *   SAMPLE-1  Looks change nothing: a run with series decides the same as a run without.
 *   SAMPLE-2  The size is bounded: memory and JSON do not depend on requests, and of partitions,
 *             nodes and tables only the first ones are kept. */
#include <stdlib.h>

#include "lab/fidelity/admission/model_internal.h"
#include "router/json/json_writer.h"

enum {
    SLOTS_MAX = 300,
    PARTITIONS_KEPT = 512, /* by id */
    BALANCES_SAMPLED = 64, /* partitions whose buckets are told: those that were offered most */
    NODES_SAMPLED = 64,
    TABLES_SAMPLED = 16,
    RANGES_KEPT = 64, /* of one partition; later splits of it are not seen */
};

enum sample_bucket {
    SAMPLE_RATE,
    SAMPLE_ALLOCATION,
    SAMPLE_BURST,
    SAMPLE_CAP,
    SAMPLE_BUCKETS
};

static const char *const bucket_names[SAMPLE_BUCKETS] = {"rate", "allocation", "burst", "cap"};

enum sample_column {
    SAMPLE_LIMIT, /* a second */
    SAMPLE_OFFERED,
    SAMPLE_ADMITTED,
    SAMPLE_BANK, /* tokens at the servers of global admission control */
    SAMPLE_HELD, /* tokens at routers */
    SAMPLE_COLUMNS
};

static const char *const column_names[SAMPLE_COLUMNS] = {"rate", "offered", "admitted", "bank",
                                                         "held"};
static const char *const kind_names[ADMIT_KINDS] = {"read", "write"};

/* From `slot` on the partition has the hashes lo to hi. */
struct sample_range {
    uint32_t slot;
    uint64_t lo, hi;
};

struct sample_partition {
    const struct model_partition *partition; /* borrows */
    uint32_t first;                          /* slot */
    uint32_t range_count;
    struct sample_range ranges[RANGES_KEPT];
    int64_t offered_mcu[SLOTS_MAX];
    int64_t total_mcu[ADMIT_KINDS];
    int64_t capacity_mcu[ADMIT_KINDS][SAMPLE_BUCKETS];
    int64_t balances_mcu[ADMIT_KINDS][SAMPLE_BUCKETS][SLOTS_MAX];
};

struct sample_table {
    bool limited[ADMIT_KINDS]; /* by routers */
    int64_t columns_mcu[ADMIT_KINDS][SAMPLE_COLUMNS][SLOTS_MAX];
};

struct sample_node {
    int64_t bucket_mcu[ADMIT_KINDS][SLOTS_MAX];
    int64_t queue_us[SLOTS_MAX]; /* work that waits for the node's processors */
};

struct sample {
    int64_t slot_ns;
    uint32_t slots; /* of the whole run */
    uint32_t slot;  /* that is filled now; `slots`: the run is over */
    uint32_t table_count, node_count;
    struct sample_table *tables;                          /* owns */
    struct sample_node *nodes;                            /* owns */
    struct sample_partition *partitions[PARTITIONS_KEPT]; /* owns; by id - 1 */
};

/* ---- while the model runs ---- */

static struct sample_partition *sample_partition_of(struct sample *s,
                                                    const struct model_partition *p)
{
    if (p->id > PARTITIONS_KEPT)
        return NULL;
    struct sample_partition **sp = &s->partitions[p->id - 1];
    if (*sp == NULL) {
        *sp = must_calloc(1, sizeof **sp);
        (*sp)->partition = p;
        (*sp)->first = s->slot;
    }
    return *sp;
}

void sample_request(struct model *m, const struct model_request *r, const struct model_partition *p,
                    uint32_t reason, int64_t cost_mcu)
{
    struct sample *s = m->sample;
    if (s == NULL || s->slot == s->slots || reason == REFUSED_BY_CLIENT)
        return;
    enum admit_kind kind = model_kind(&r->traffic);
    struct sample_partition *sp = sample_partition_of(s, p);
    if (sp != NULL) {
        sp->offered_mcu[s->slot] += cost_mcu;
        sp->total_mcu[kind] += cost_mcu;
    }
    if (p->table->number >= s->table_count)
        return;
    struct sample_table *t = &s->tables[p->table->number];
    t->columns_mcu[kind][SAMPLE_OFFERED][s->slot] += cost_mcu;
    if (reason == ADMIT_OK)
        t->columns_mcu[kind][SAMPLE_ADMITTED][s->slot] += cost_mcu;
}

static void sample_range(struct sample_partition *sp, uint32_t slot)
{
    uint64_t lo = storage_key_bound_hash(sp->partition->lo, 0);
    uint64_t hi = storage_key_bound_hash(sp->partition->hi, UINT64_MAX);
    const struct sample_range *last =
        sp->range_count == 0 ? NULL : &sp->ranges[sp->range_count - 1];
    if ((last != NULL && last->lo == lo && last->hi == hi) || sp->range_count == RANGES_KEPT)
        return;
    sp->ranges[sp->range_count++] = (struct sample_range){slot, lo, hi};
}

void sample_gone(struct model *m, const struct model_partition *p)
{
    struct sample *s = m->sample;
    struct sample_partition *sp = s == NULL || p->id > PARTITIONS_KEPT || s->slot == s->slots
                                      ? NULL
                                      : s->partitions[p->id - 1];
    if (sp == NULL || sp->range_count == 0 || sp->range_count == RANGES_KEPT)
        return;
    const uint64_t lo = sp->ranges[sp->range_count - 1].lo;
    sp->ranges[sp->range_count++] = (struct sample_range){s->slot, lo, lo};
}

static void sample_partition(struct model *m, struct sample *s, const struct model_partition *p)
{
    struct sample_partition *sp = sample_partition_of(s, p);
    const struct model_replica *leader = &p->replicas[p->leader];
    sample_range(sp, s->slot);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        const struct admission_meter *meter = &leader->admission.meters[kind];
        const struct admit_balances balances = admission_balances_with_node(
            &leader->admission, &m->nodes[leader->node].admission, kind, model_now(m));
        const int64_t now_mcu[SAMPLE_BUCKETS] = {meter->allocation.rate, balances.allocation_mcu,
                                                 balances.burst_mcu, balances.cap_mcu};
        const int64_t mcu_max[SAMPLE_BUCKETS] = {meter->allocation.rate, meter->allocation.capacity,
                                                 meter->burst.capacity, meter->cap.capacity};
        for (int b = 0; b < SAMPLE_BUCKETS; b++) {
            sp->balances_mcu[kind][b][s->slot] = now_mcu[b];
            sp->capacity_mcu[kind][b] = mcu_max[b];
        }
    }
}

static void sample_node(struct model *m, struct sample *s, uint32_t node)
{
    const struct model_node *n = &m->nodes[node];
    struct sample_node *sn = &s->nodes[node - 1];
    int64_t busy_ns = n->busy_until_ns - m->scheduler.now.ns;
    sn->queue_us[s->slot] = busy_ns > 0 ? busy_ns / NS_PER_US : 0;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct token_bucket b = n->admission.buckets[kind];
        token_bucket_refill(&b, model_now(m));
        sn->bucket_mcu[kind][s->slot] = b.balance;
    }
}

static int64_t bank_of(const struct model *m, struct gac_key key)
{
    int64_t bank_mcu = 0;
    for (uint32_t i = 1; i <= m->server_count; i++) {
        struct gac_bank b;
        if (!m->servers[i].down && gac_server_inspect(m->servers[i].server, model_now(m), key, &b))
            bank_mcu += b.bank;
    }
    return bank_mcu;
}

static int64_t held_of(const struct model *m, struct gac_key key)
{
    int64_t held_mcu = 0;
    for (uint32_t i = 0; i < m->router_count; i++) {
        const struct model_router *r = &m->routers[i];
        struct gac_holding h;
        if (!r->down && gac_client_holding(r->client, (struct instant){r->now_ns}, key, &h))
            held_mcu += h.tokens;
    }
    return held_mcu;
}

static void sample_table(struct model *m, struct sample *s, uint32_t number)
{
    const struct model_table *t = &m->tables[number];
    struct sample_table *st = &s->tables[number];
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        st->columns_mcu[kind][SAMPLE_LIMIT][s->slot] = t->limits[kind].rate;
        if (!t->limited[kind])
            continue;
        st->limited[kind] = true;
        st->columns_mcu[kind][SAMPLE_BANK][s->slot] = bank_of(m, t->limits[kind].key);
        st->columns_mcu[kind][SAMPLE_HELD][s->slot] = held_of(m, t->limits[kind].key);
    }
}

static void slot_over(void *context, uint64_t argument)
{
    struct model *m = context;
    struct sample *s = m->sample;
    (void)argument;
    for (uint32_t id = 1; id <= PARTITIONS_KEPT; id++) {
        const struct model_partition *p = model_partitions_find(m, id);
        if (p != NULL)
            sample_partition(m, s, p);
    }
    for (uint32_t i = 1; i <= s->node_count; i++)
        sample_node(m, s, i);
    for (uint32_t i = 0; i < s->table_count; i++)
        sample_table(m, s, i);
    if (++s->slot < s->slots)
        model_in(m, s->slot_ns, slot_over, m, 0);
}

static uint32_t min_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void sample_keep(void *runner)
{
    struct model *m = runner;
    const int64_t duration_ns = m->scenario->duration_ns;
    struct sample *s = must_calloc(1, sizeof *s);
    int64_t seconds = (duration_ns / SLOTS_MAX + NS_PER_S - 1) / NS_PER_S;
    s->slot_ns = (seconds > 1 ? seconds : 1) * NS_PER_S;
    if (s->slot_ns > duration_ns)
        s->slot_ns = duration_ns;
    s->slots = min_of((uint32_t)(duration_ns / s->slot_ns), SLOTS_MAX);
    s->table_count = min_of(m->table_count, TABLES_SAMPLED);
    s->node_count = min_of(m->node_count, NODES_SAMPLED);
    s->tables = must_calloc(s->table_count + 1, sizeof s->tables[0]);
    s->nodes = must_calloc(s->node_count + 1, sizeof s->nodes[0]);
    m->sample = s;
    model_in(m, s->slot_ns, slot_over, m, 0);
}

void sample_destroy(struct model *m)
{
    struct sample *s = m->sample;
    for (uint32_t i = 0; s != NULL && i < PARTITIONS_KEPT; i++)
        free(s->partitions[i]);
    if (s != NULL) {
        free(s->tables);
        free(s->nodes);
    }
    free(s);
}

/* ---- JSON ---- */

/* Units with one digit behind the point. */
static void write_units(struct buffer *out, int64_t mcu)
{
    int64_t tenths = (mcu + (mcu < 0 ? -50 : 50)) / 100;
    if (tenths % 10 == 0 || tenths >= 10000 || tenths <= -10000)
        json_write_integer(out, tenths / 10);
    else
        json_write_thousandths(out, tenths * 100);
}

static void member_units(struct buffer *out, const char *name, const int64_t *mcu, uint32_t from,
                         uint32_t to)
{
    json_member_open(out, name, '[');
    for (uint32_t i = from; i < to; i++)
        write_units(out, mcu[i]);
    json_write_close(out, ']');
}

static void write_tables(const struct model *m, struct buffer *out)
{
    const struct sample *s = m->sample;
    json_member_open(out, "tables", '[');
    for (uint32_t i = 0; i < s->table_count; i++) {
        for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
            json_write_open(out, '{');
            json_member_text(out, "table", m->tables[i].name);
            json_member_text(out, "kind", kind_names[kind]);
            json_member_bool(out, "limited", s->tables[i].limited[kind]);
            int columns = s->tables[i].limited[kind] ? SAMPLE_COLUMNS : SAMPLE_BANK;
            for (int c = 0; c < columns; c++)
                member_units(out, column_names[c], s->tables[i].columns_mcu[kind][c], 0, s->slot);
            json_write_close(out, '}');
        }
    }
    json_write_close(out, ']');
}

static void write_nodes(const struct model *m, struct buffer *out)
{
    const struct sample *s = m->sample;
    json_member_open(out, "nodes", '[');
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct token_bucket *b = m->nodes[i + 1].admission.buckets;
        json_write_open(out, '{');
        json_member_integer(out, "node", i + 1);
        json_write_key(out, "read_capacity");
        write_units(out, b[ADMIT_READ].capacity);
        json_write_key(out, "write_capacity");
        write_units(out, b[ADMIT_WRITE].capacity);
        for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
            member_units(out, kind_names[kind], s->nodes[i].bucket_mcu[kind], 0, s->slot);
        member_units(out, "queue_ms", s->nodes[i].queue_us, 0, s->slot);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

static int compare_offered(const void *a, const void *b)
{
    const struct sample_partition *x = *(struct sample_partition *const *)a,
                                  *y = *(struct sample_partition *const *)b;
    int64_t left = x->total_mcu[0] + x->total_mcu[1], right = y->total_mcu[0] + y->total_mcu[1];
    if (left != right)
        return left > right ? -1 : 1;
    return x->partition->id < y->partition->id ? -1 : 1;
}

/* The buckets of the partitions that were offered most. */
static void write_balances(const struct sample *s, struct buffer *out)
{
    struct sample_partition *max[PARTITIONS_KEPT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < PARTITIONS_KEPT; i++) {
        if (s->partitions[i] != NULL)
            max[count++] = s->partitions[i];
    }
    qsort(max, count, sizeof max[0], compare_offered);
    json_member_open(out, "partitions", '[');
    for (uint32_t i = 0; i < min_of(count, BALANCES_SAMPLED); i++) {
        for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
            const struct sample_partition *sp = max[i];
            if (sp->total_mcu[kind] == 0)
                continue;
            json_write_open(out, '{');
            json_member_integer(out, "partition", sp->partition->id);
            json_member_text(out, "table", sp->partition->table->name);
            json_member_text(out, "kind", kind_names[kind]);
            json_member_integer(out, "first", sp->first);
            member_units(out, "capacities", sp->capacity_mcu[kind], 0, SAMPLE_BUCKETS);
            for (int b = 0; b < SAMPLE_BUCKETS; b++)
                member_units(out, bucket_names[b], sp->balances_mcu[kind][b], sp->first, s->slot);
            json_write_close(out, '}');
        }
    }
    json_write_close(out, ']');
}

/* Hashes are told by their upper 32 bits. */
static void write_range(const struct sample_range *r, struct buffer *out)
{
    json_write_open(out, '[');
    json_write_integer(out, r->slot);
    json_write_integer(out, (int64_t)(r->lo >> 32));
    json_write_integer(out, (int64_t)(r->hi >> 32) + (r->hi == UINT64_MAX));
    json_write_close(out, ']');
}

static void write_heat(const struct sample *s, struct buffer *out)
{
    json_member_open(out, "heat", '[');
    for (uint32_t i = 0; i < PARTITIONS_KEPT; i++) {
        const struct sample_partition *sp = s->partitions[i];
        if (sp == NULL)
            continue;
        json_write_open(out, '{');
        json_member_integer(out, "partition", sp->partition->id);
        json_member_text(out, "table", sp->partition->table->name);
        json_member_integer(out, "first", sp->first);
        json_member_open(out, "ranges", '[');
        for (uint32_t r = 0; r < sp->range_count; r++)
            write_range(&sp->ranges[r], out);
        json_write_close(out, ']');
        member_units(out, "offered", sp->offered_mcu, sp->first, s->slot);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

void sample_write(const void *runner, struct buffer *out)
{
    const struct model *m = runner;
    const struct sample *s = m->sample;
    uint32_t kept = min_of(m->counts.partitions, PARTITIONS_KEPT);
    json_write_open(out, '{');
    json_member_integer(out, "slot_ns", s->slot_ns);
    json_member_integer(out, "slots", s->slot);
    json_member_integer(out, "partitions_left_out", m->counts.partitions - kept);
    json_member_integer(out, "tables_left_out", m->table_count - s->table_count);
    json_member_integer(out, "nodes_left_out", m->node_count - s->node_count);
    write_tables(m, out);
    write_nodes(m, out);
    write_balances(s, out);
    write_heat(s, out);
    json_write_close(out, '}');
}
