/* decisions.c - applies decisions of the controller: moves, allocations, drained nodes, events.
 *
 * Invariants
 *   DECISIONS-1  A partition has at most one replica that was moved away and not erased
 *                (`leaving`). Until that is erased, no other replica of the partition moves. So no
 *                node gets a replica back on which its group still counts.
 *   DECISIONS-2  No decision reserves more of a node than it has.
 *   DECISIONS-3  A refused decision changes nothing and records no event. */
#include <stdlib.h>

#include "engine/catalog/catalog_internal.h"

/* ---- events ---- */

uint64_t catalog_last_event(const struct catalog *c)
{
    return c->last_event;
}

struct slice catalog_event(const struct catalog *c, uint64_t number)
{
    bool kept = number > 0 && number <= c->last_event && number + EVENTS_MAX > c->last_event;
    return kept ? buffer_slice(&c->events[number % EVENTS_MAX]) : slice_make(NULL, 0);
}

enum status catalog_load_event(struct catalog *c, struct slice bytes)
{
    struct reader r = {bytes, false};
    struct event e;
    if (event_decode(&r, &e) != STATUS_OK || r.left.size > 0 || e.number == 0)
        return STATUS_CORRUPT;
    struct buffer *kept = &c->events[e.number % EVENTS_MAX];
    buffer_set(kept, bytes);
    c->last_event = MAX(c->last_event, e.number);
    return STATUS_OK;
}

static void decisions_note_event(struct catalog *c, const struct catalog_command *command,
                                 const struct decision *d, struct catalog_result *out)
{
    if (!d->has_event)
        return;
    struct event e = d->event;
    e.number = ++c->last_event;
    e.wall_ms = command->wall_ms;
    struct buffer *kept = &c->events[e.number % EVENTS_MAX];
    buffer_clear(kept);
    event_encode(kept, &e);
    struct buffer *row = catalog_row_open(c, out, ROW_EVENT, (uint32_t)(e.number % EVENTS_MAX));
    buffer_append_slice(row, buffer_slice(kept));
    catalog_row_close(c, out);
}

void catalog_record(struct catalog *c, const struct catalog_command *command, struct entry *e,
                    const struct table *t, const struct decision *d, struct catalog_result *out)
{
    catalog_entry_change(c, e, t, out);
    decisions_note_event(c, command, d, out);
}

/* ---- what decisions rest on ---- */

void catalog_refuse_stale(struct catalog *c, struct catalog_result *out, const char *why)
{
    buffer_append_text(&c->text, why);
    catalog_refuse(c, out, REPLY_WRONG_PARTITION);
}

struct entry *catalog_find_entry(struct catalog *c, uint32_t table_id, struct catalog_result *out)
{
    struct entry *e = catalog_entry(c, table_id);
    if (e == NULL)
        catalog_refuse(c, out, REPLY_TABLE_NOT_FOUND);
    else if (e->table.status == TABLE_CREATING || e->table.status == TABLE_DELETING)
        catalog_refuse(c, out, REPLY_TABLE_BUSY);
    else
        return e;
    return NULL;
}

struct partition_info *catalog_find_partition(const struct table *t, uint32_t partition,
                                              uint64_t epoch)
{
    struct partition_info *p = table_find_partition(t, partition);
    return p != NULL && p->epoch == epoch ? p : NULL;
}

/* DECISIONS-2. A node that reserves no more than before may be over its capacity. */
static bool within_capacity(const struct catalog_command *command,
                            const struct reservations *before, const struct reservations *after)
{
    for (uint32_t node = 1; node <= command->node_count; node++) {
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            if (after->loads_mcu[node][kind] > before->loads_mcu[node][kind] &&
                after->loads_mcu[node][kind] > command->node_mcu[kind])
                return false;
        }
    }
    return true;
}

/* Records the changed table. False: the decision is refused, take the change back. */
static bool record_within_capacity(struct catalog *c, const struct catalog_command *command,
                                   struct entry *e, const struct reservations *before,
                                   const struct decision *d, struct catalog_result *out)
{
    struct reservations after;
    catalog_count_reservations(c, CATALOG_TABLE_ID, &after);
    if (within_capacity(command, before, &after)) {
        catalog_record(c, command, e, &e->table, d, out);
        return true;
    }
    buffer_append_text(&c->text, "a node would reserve more throughput than it has");
    return catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
}

/* ---- moves ---- */

static uint32_t member_index(const struct partition_info *p, uint32_t node)
{
    uint32_t i = 0;
    while (i < p->member_count && partition_node(p, i) != node)
        i++;
    return i;
}

/* NULL: the replica can be moved. */
static const char *why_not_move(const struct catalog *c, const struct catalog_command *command,
                                const struct decision *d, const struct table *t,
                                const struct partition_info *p)
{
    if (p == NULL)
        return "the partition has changed since the decision";
    if (table_partition_is_splitting(t, p))
        return "the partition is being split";
    if (table_partition_is_merging(t, p) && !p->absorbed)
        return "the partition is being merged";
    if (p->leaving != 0)
        return "a replica of the partition is moving already";
    if (p->arrivals == RAFT_ARRIVAL_MAX)
        return "the partition's count of moves is at its maximum";
    if (d->to_node == 0 || d->to_node > command->node_count ||
        catalog_generation(c, d->to_node) == 0 || catalog_is_drained(c, d->to_node))
        return "the target node takes no replicas";
    if (partition_member_on(p, d->to_node) != 0)
        return "the target node has a replica";
    if (d->from_node == 0)
        return p->member_count < command->replicas ? NULL : "the partition has all its replicas";
    return partition_member_on(p, d->from_node) != 0 ? NULL : "the replica to move does not exist";
}

static void decisions_move(struct catalog *c, const struct catalog_command *command,
                           const struct decision *d, struct catalog_result *out)
{
    struct entry *e = catalog_find_entry(c, d->table_id, out);
    if (e == NULL)
        return;
    struct partition_info *p = catalog_find_partition(&e->table, d->partition, d->epoch);
    const char *why = why_not_move(c, command, d, &e->table, p);
    if (why != NULL) {
        catalog_refuse_stale(c, out, why);
        return;
    }
    struct reservations before;
    struct partition_info was = *p;
    catalog_count_reservations(c, CATALOG_TABLE_ID, &before);
    uint32_t i = d->from_node == 0 ? p->member_count++ : member_index(p, d->from_node);
    p->leaving = d->from_node == 0 ? 0 : p->members[i];
    catalog_join(p, i, d->to_node, catalog_generation(c, d->to_node));
    if (!record_within_capacity(c, command, e, &before, d, out))
        *p = was;
}

/* First the group lets go of the replica, then the replica is erased. In between the replica must
 * not be opened again: it would vote without the entries that it has acknowledged. */
static void decisions_left(struct catalog *c, const struct catalog_command *command,
                           const struct decision *d, struct catalog_result *out)
{
    struct entry *e = catalog_entry(c, d->table_id);
    struct partition_info *p =
        e == NULL ? NULL : catalog_find_partition(&e->table, d->partition, d->epoch);
    bool lets_go = command->op == CATALOG_LET_GO;
    if (p == NULL || p->leaving == 0 || raft_member_node(p->leaving) != d->from_node ||
        (lets_go && p->let_go))
        return; /* the catalog knows this already */
    p->let_go = lets_go;
    if (!lets_go)
        p->leaving = 0;
    catalog_record(c, command, e, &e->table, d, out);
}

/* The first replica should lead: this changes the order of the replicas. */
static void decisions_lead(struct catalog *c, const struct catalog_command *command,
                           const struct decision *d, struct catalog_result *out)
{
    struct entry *e = catalog_find_entry(c, d->table_id, out);
    if (e == NULL)
        return;
    struct partition_info *p = catalog_find_partition(&e->table, d->partition, d->epoch);
    uint32_t i = p == NULL ? 0 : member_index(p, d->to_node);
    if (i == 0 || i == p->member_count || p->leaving != 0 || table_is_changing(&e->table)) {
        catalog_refuse_stale(c, out,
                             "the partition has changed since the decision, or is changing");
        return;
    }
    struct reservations before;
    struct partition_info was = *p;
    catalog_count_reservations(c, CATALOG_TABLE_ID, &before);
    p->members[0] = was.members[i];
    p->members[i] = was.members[0];
    p->joined &= ~(1U << i | 1U);
    p->joined |= (was.joined & 1U) << i | (was.joined >> i & 1U);
    if (!record_within_capacity(c, command, e, &before, d, out))
        *p = was;
}

/* ---- allocations ---- */

static void swap_rates(struct entry *e, struct decision *d)
{
    for (uint32_t i = 0; i < d->rate_count; i++) {
        struct partition_info *p =
            catalog_find_partition(&e->table, d->rates[i].partition, d->rates[i].epoch);
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            int64_t rate = p->rate_mcu[kind];
            p->rate_mcu[kind] = d->rates[i].rate_mcu[kind];
            d->rates[i].rate_mcu[kind] = rate;
        }
    }
}

/* NULL: the decision may set its rate `i`. */
static const char *why_not_rate(const struct table *t, const struct partition_info *p,
                                const struct decision *d, uint32_t i)
{
    if (p == NULL)
        return "a partition has changed since the decision";
    if (table_partition_is_changing(t, p))
        return "a partition is being split or merged";
    for (uint32_t before = 0; before < i; before++) {
        if (d->rates[before].partition == d->rates[i].partition)
            return "the decision names a partition twice";
    }
    return NULL;
}

static void set_rates(struct catalog *c, const struct catalog_command *command,
                      const struct decision *d, struct catalog_result *out)
{
    struct entry *e = catalog_find_entry(c, d->table_id, out);
    if (e == NULL)
        return;
    for (uint32_t i = 0; i < d->rate_count; i++) {
        const struct partition_info *p =
            catalog_find_partition(&e->table, d->rates[i].partition, d->rates[i].epoch);
        const char *why = why_not_rate(&e->table, p, d, i);
        if (why != NULL) {
            catalog_refuse_stale(c, out, why);
            return;
        }
    }
    struct reservations before;
    struct decision rates = *d; /* holds the other rates after each swap */
    catalog_count_reservations(c, CATALOG_TABLE_ID, &before);
    swap_rates(e, &rates);
    if (!record_within_capacity(c, command, e, &before, d, out))
        swap_rates(e, &rates);
}

static void take_peak(struct catalog *c, const struct catalog_command *command,
                      const struct decision *d, struct catalog_result *out)
{
    struct entry *e = catalog_find_entry(c, d->table_id, out);
    if (e == NULL)
        return;
    if (e->table.billing != BILLING_ON_DEMAND || table_is_changing(&e->table)) {
        catalog_refuse_stale(
            c, out, "the table is not on demand, or a partition of it is being split or merged");
        return;
    }
    struct table t = e->table;
    size_t size = t.partition_count * sizeof t.partitions[0];
    t.partitions = must_calloc(1, size);
    memcpy(t.partitions, e->table.partitions, size);
    catalog_reach_peak(command, &t, d->peak);
    if (catalog_allocate(c, command, &t, false)) {
        catalog_record(c, command, e, &t, d, out);
    } else {
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
    }
    free(t.partitions);
}

/* ---- nodes ---- */

/* A node that was never heard of may be drained too: it gets no replica when it comes. */
static void decisions_drain(struct catalog *c, const struct catalog_command *command,
                            const struct decision *d, struct catalog_result *out)
{
    if (d->to_node == 0 || d->to_node > command->node_count) {
        buffer_append_format(&c->text, "There is no node %u", d->to_node);
        catalog_refuse(c, out, REPLY_MALFORMED);
        return;
    }
    if (c->drained[d->to_node] == d->drain)
        return;
    c->drained[d->to_node] = d->drain;
    catalog_node_row(c, d->to_node, out);
    decisions_note_event(c, command, d, out);
}

void catalog_decide(struct catalog *c, const struct catalog_command *command,
                    struct catalog_result *out)
{
    static void (*const ops[CATALOG_OPS])(struct catalog * c, const struct catalog_command *command,
                                          const struct decision *d, struct catalog_result *out) = {
        [CATALOG_EVENT] = decisions_note_event,
        [CATALOG_MOVE] = decisions_move,
        [CATALOG_LET_GO] = decisions_left,
        [CATALOG_LEFT] = decisions_left,
        [CATALOG_RATES] = set_rates,
        [CATALOG_PEAK] = take_peak,
        [CATALOG_DRAIN] = decisions_drain,
        [CATALOG_LEAD] = decisions_lead,
    };
    struct decision d;
    must(decision_decode(command->decision, &d) == STATUS_OK);
    ops[command->op](c, command, &d, out);
}
