/* tables.c - requests about tables, decisions, events and reports, at the catalog's leader. */
#include "base/settings/key_sharding.h"
#include "base/settings/replication.h"
#include "base/settings/reports.h"
#include "base/settings/split.h"
#include "engine/node/request/requests_internal.h"

enum {
    EVENTS_PAGE_MAX = 1000
};

void requests_change_table(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    enum catalog_op op = q->op == REQUEST_TABLE_CREATE   ? CATALOG_CREATE
                         : q->op == REQUEST_TABLE_UPDATE ? CATALOG_UPDATE
                                                         : CATALOG_DELETE;
    struct catalog_command command = catalog_replica_command(requests->catalog, op);
    command.spec.name = q->table.name;
    bool valid =
        op == CATALOG_DELETE || table_spec_decode(q->table.spec, &command.spec) == STATUS_OK;
    valid = valid && command.spec.name.size > 0 && command.spec.name.size <= TABLE_NAME_SIZE_MAX &&
            (op != CATALOG_CREATE || (command.spec.partition_key.name.size > 0 &&
                                      command.spec.billing != BILLING_AS_IT_IS));
    if (!valid) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "invalid table description");
        return;
    }
    if (op == CATALOG_CREATE && !catalog_replica_knows_enough_nodes(requests->catalog)) {
        env_refuse(requests->env, o, REPLY_NOT_LEADER,
                   "fewer nodes are known than the %u that a table's replicas need",
                   command.replicas);
        return;
    }
    if (proposals_may_write(requests->proposals, o, q->table.spec.size + 2048))
        catalog_replica_propose(requests->catalog, o, &command);
}

void requests_split_table(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct table_split split;
    if (table_split_decode(q->table_split.split, &split) != STATUS_OK) {
        env_refuse(requests->env, o, REPLY_MALFORMED,
                   "malformed split: 1 to %d ascending split points, and shares within the whole",
                   SPLIT_POINTS_MAX);
        return;
    }
    struct catalog_command command = catalog_replica_command(requests->catalog, CATALOG_SPLIT);
    command.spec.name = slice_of("-");
    command.split = q->table_split.split;
    if (proposals_may_write(requests->proposals, o, q->table_split.split.size + 1024))
        catalog_replica_propose(requests->catalog, o, &command);
}

void requests_get_table(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    const struct table *t = q->table.name.size > 0
                                ? catalog_find(requests->catalog->state, q->table.name)
                                : catalog_find_id(requests->catalog->state, q->table.id);
    if (t == NULL) {
        env_reply(requests->env, o, REPLY_TABLE_NOT_FOUND);
        return;
    }
    catalog_replica_answer(requests->catalog, t, env_reply(requests->env, o, REPLY_OK));
}

void requests_list_tables(struct requests *requests, struct operation *o)
{
    struct reply *r = env_reply(requests->env, o, REPLY_OK);
    r->kind = ANSWER_PAGE;
    buffer_clear(&requests->env->scratch);
    struct slice name = o->request.list.after;
    for (const struct table *t; (t = catalog_after(requests->catalog->state, name)) != NULL;
         name = t->name) {
        if (t->index_of != 0)
            continue;
        r->page.more =
            (o->request.list.names_max > 0 && r->page.count == o->request.list.names_max) ||
            requests->env->scratch.size >= PAGE_SIZE_MAX;
        if (r->page.more)
            break;
        buffer_append_sized(&requests->env->scratch, t->name);
        r->page.count++;
    }
    r->page.records = env_lend_scratch(requests->env);
}

/* Makes the controller look at once if a load has just become a reason for a split. */
static void tables_note_excess(struct requests *requests, const struct partition_report *r)
{
    const struct partition_load *before = cluster_loads_of(requests->catalog->loads, r->partition);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        bool known = before != NULL && before->epoch == r->epoch &&
                     before->excess_ms[kind] >= config_split(requests->env->config)->split_hold_ms;
        if (r->excess_ms[kind] >= config_split(requests->env->config)->split_hold_ms && !known)
            requests->catalog->urgent_at = requests->env->now;
    }
}

/* Makes the controller look at once if a key has just become a reason for more shards. */
static void tables_note_heavy(struct requests *requests, const struct partition_report *r)
{
    const struct partition_load *before = cluster_loads_of(requests->catalog->loads, r->partition);
    const struct table *t = catalog_find_id(requests->catalog->state, r->table_id);
    const int64_t max =
        config_key_sharding(requests->env->config)->key_sharding_shard_units * MCU_PER_UNIT;
    uint32_t fixed;
    const bool heavy = r->heavy_count > 0 && r->heavy[0].mcu > max;
    const bool known = before != NULL && before->epoch == r->epoch && before->heavy_count > 0 &&
                       before->heavy[0].mcu > max;
    if (heavy && !known && t != NULL && table_key_sharding_mode(t, &fixed) != KEY_SHARDING_OFF)
        requests->catalog->urgent_at = requests->env->now;
}

/* Takes a report. The answer names its replicas that belong to no group any more. Their partition
 * is gone, or they know no leader and the catalog does not have them as members. */
void requests_take_report(struct requests *requests, struct operation *o)
{
    struct reader r = {o->request.report.records, false};
    struct node_report head;
    struct partition_report p;
    buffer_clear(&requests->env->scratch);
    if (node_report_decode(&r, &head) == STATUS_OK)
        cluster_loads_take_node(requests->catalog->loads, requests->env->now, &head);
    while (r.left.size > 0 && !r.failed && partition_report_decode(&r, &p) == STATUS_OK) {
        bool gone = catalog_is_gone(requests->catalog->state, p.partition);
        if (p.items >= 0 &&
            catalog_has(requests->catalog->state, p.table_id, p.partition, p.member)) {
            catalog_report(requests->catalog->state, &p);
            tables_note_excess(requests, &p);
            tables_note_heavy(requests, &p);
            cluster_loads_take_partition(requests->catalog->loads, requests->env->now, &p);
        } else if (gone || (p.items < 0 &&
                            !catalog_may_have(requests->catalog->state, p.partition, p.member))) {
            buffer_append_u32(&requests->env->scratch, p.partition);
            buffer_append_u64(&requests->env->scratch, p.member);
            buffer_append_u8(&requests->env->scratch, gone);
        }
    }
    struct reply *reply = env_reply(requests->env, o, r.failed ? REPLY_MALFORMED : REPLY_OK);
    reply->kind = ANSWER_GONE;
    reply->gone.as_of = catalog_replica_as_of(requests->catalog);
    reply->gone.term = catalog_replica_term(requests->catalog);
    reply->gone.replicas = env_lend_scratch(requests->env);
}

void requests_list_events(struct requests *requests, struct operation *o)
{
    uint64_t after = o->request.events.after, last = catalog_last_event(requests->catalog->state);
    if (last >= EVENTS_MAX && after < last - EVENTS_MAX)
        after = last - EVENTS_MAX;
    uint32_t max = o->request.events.events_max;
    if (max == 0 || max > EVENTS_PAGE_MAX)
        max = EVENTS_PAGE_MAX;
    struct reply *reply = env_reply(requests->env, o, REPLY_OK);
    reply->kind = ANSWER_PAGE;
    buffer_clear(&requests->env->scratch);
    for (; after < last && reply->page.count < max && requests->env->scratch.size < PAGE_SIZE_MAX;
         reply->page.count++)
        buffer_append_sized(&requests->env->scratch,
                            catalog_event(requests->catalog->state, ++after));
    reply->page.more = after < last;
    reply->page.records = env_lend_scratch(requests->env);
}

/* Whether every healthy node has had time to report to this leader of the catalog. */
static bool tables_all_have_reported(const struct requests *requests)
{
    int64_t wait_ms = config_replication(requests->env->config)->support_ms +
                      config_reports(requests->env->config)->load_report_ms;
    return !instant_before(requests->env->now,
                           instant_add_ms(requests->catalog->led_since, wait_ms));
}

/* Whether another node answers, may hold replicas, and has no replica of the partition. A node that
 * has not had time to answer counts too. The catalog may not know the node yet, but will soon. */
static bool tables_has_other_place(const struct requests *requests, const struct partition_info *p)
{
    for (uint32_t node = 1; node <= requests->env->node_count; node++) {
        if ((peers_reach(requests->peers, node) || !tables_all_have_reported(requests)) &&
            !catalog_is_drained(requests->catalog->state, node) &&
            partition_member_on(p, node) == 0)
            return true;
    }
    return false;
}

/* A partition of the table that the node could not give away. NULL: no such partition. */
static const struct partition_info *tables_stuck_on(const struct requests *requests,
                                                    const struct table *t, uint32_t node)
{
    for (uint32_t i = 0; t != NULL && i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        if (partition_member_on(p, node) != 0 && !tables_has_other_place(requests, p))
            return p;
    }
    return NULL;
}

/* Whether other nodes can take all replicas of the node. If not, the request was refused. */
static bool tables_drain_has_room(struct requests *requests, const struct operation *o,
                                  uint32_t node)
{
    const struct table *t = catalog_itself(requests->catalog->state);
    const struct partition_info *p = tables_stuck_on(requests, t, node);
    for (t = NULL; p == NULL && (t = catalog_next(requests->catalog->state, t)) != NULL;)
        p = tables_stuck_on(requests, t, node);
    if (p == NULL)
        return true;
    if (p->id == CATALOG_GROUP)
        env_refuse(requests->env, o, REPLY_LIMIT_EXCEEDED,
                   "node %u cannot be drained: each other node that answers has a copy of the "
                   "catalog, or is being drained. Add a node first",
                   node);
    else
        env_refuse(requests->env, o, REPLY_LIMIT_EXCEEDED,
                   "node %u cannot be drained: each other node that answers has a copy of "
                   "partition %u of table %.*s, or is being drained. Add a node first",
                   node, p->id, (int)t->name.size, (const char *)t->name.data);
    return false;
}

void requests_decide(struct requests *requests, struct operation *o)
{
    const uint8_t op = o->request.decide.op;
    const struct slice bytes = o->request.decide.decision;
    struct decision decision;
    struct catalog_command command =
        catalog_replica_command(requests->catalog, (enum catalog_op)op);
    command.spec.name = slice_of("-");
    command.decision = bytes;
    if (op < CATALOG_EVENT || op > CATALOG_KEY_SHARDS || op == CATALOG_LET_GO ||
        op == CATALOG_LEFT || decision_decode(bytes, &decision) != STATUS_OK ||
        (op == CATALOG_MERGE && decision.merge != MERGE_BEGIN) ||
        (op == CATALOG_KEY_SHARDS && decision.key_shards.change != KEY_SHARDS_GROW &&
         decision.key_shards.change != KEY_SHARDS_SHRINK))
        env_refuse(requests->env, o, REPLY_MALFORMED, "malformed controller decision");
    else if (op == CATALOG_MERGE && !reconcile_rests(requests->reconciler, decision.table_id))
        env_refuse(requests->env, o, REPLY_OVERLOADED,
                   "not all replicas of the table are confirmed at their nodes");
    else if ((op != CATALOG_DRAIN || !decision.drain ||
              tables_drain_has_room(requests, o, decision.to_node)) &&
             proposals_may_write(requests->proposals, o, bytes.size + 1024))
        catalog_replica_propose(requests->catalog, o, &command);
}
