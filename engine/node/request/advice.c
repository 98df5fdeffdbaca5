/* advice.c - requests for the statistics of partitions, and for advice on where to split them. */
#include "engine/node/background/size_split.h"
#include "engine/node/background/stream_sweep.h"
#include "engine/node/core/stream_rows.h"
#include "engine/node/request/requests_internal.h"
#include "engine/node/ttl/expiry.h"

void requests_advise(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct partition *p = partitions_find(requests->partitions, q->partition);
    struct split_advice advice;
    if (p == NULL || p->closing || p->info.epoch != q->epoch || p->info.id == CATALOG_GROUP) {
        env_refuse(requests->env, o, REPLY_WRONG_PARTITION,
                   "node %u does not hold partition %u at epoch %llu", requests->env->id,
                   q->partition, (unsigned long long)q->epoch);
        return;
    }
    if (p->led == 0) {
        raft_driver_refuse(requests->driver, o, p);
        return;
    }
    const uint32_t children = q->op == REQUEST_PARTITION_HEAT ? q->heat.children : 0;
    if (children == 1 || children > SPLIT_POINTS_MAX + 1) {
        env_refuse(requests->env, o, REPLY_MALFORMED,
                   "a partition is split into 2 to %d children, not %u", SPLIT_POINTS_MAX + 1,
                   children);
        return;
    }
    struct split_question question =
        split_question_of(requests->env->config, p->info.lo, p->info.hi);
    question.children = children;
    question.whole_collections = p->info.whole_collections;
    bool begins = false;
    if (q->op == REQUEST_PARTITION_MIDDLE)
        begins = size_split_advise(requests->env, p, &advice);
    else
        split_advise(&p->heat, requests->env->now, &question, &requests->env->lent, &advice);
    if (begins)
        background_wake(requests->background, BACKGROUND_MIDDLE);
    buffer_clear(&requests->env->range_out);
    split_advice_encode(&requests->env->range_out, &advice);
    struct reply *r = env_reply(requests->env, o, REPLY_OK);
    r->kind = ANSWER_ADVICE;
    r->advice.bytes = arena_copy(&requests->env->lent, buffer_slice(&requests->env->range_out));
}

static void advice_count_replicas(const struct partition *p, struct partition_stats *s)
{
    const struct raft_members *m = raft_members(p->raft);
    s->leads = p->led != 0;
    for (uint32_t i = 0; s->leads && i < m->count; i++) {
        if (!m->all[i].voter)
            continue;
        s->voters++;
        s->caught_up += raft_is_whole(p->raft, m->all[i].id);
    }
}

static void advice_count_lag(const struct requests *requests, const struct partition *p,
                             struct partition_stats *s)
{
    const struct index_feed_lag lag = index_feeds_lag(requests->feeds, p);
    s->indexes.feeds = p->led != 0 && index_set_global(p->indexes) > 0;
    s->indexes.lag_ms = instant_since(requests->env->now, lag.since).ns / NS_PER_MS;
    s->indexes.items = lag.items;
    s->indexes.bytes = (int64_t)lag.bytes;
    if (lag.items > 0)
        s->indexes.refusal = p->index_refusal;
}

static void advice_count_records(const struct requests *requests, const struct partition *p,
                                 struct partition_stats *s)
{
    s->streams.any = p->led != 0 && (stream_rows_any(p) || stream_rows_on(p));
    s->streams.records = p->stream.rows.count;
    s->streams.bytes = p->stream.rows.bytes;
    s->streams.written = p->stream.written;
    s->streams.trimmed = p->stream.trims;
    s->streams.lag_ms = stream_sweep_lag_ms(requests->env, p);
}

static void advice_stats_of(const struct requests *requests, const struct partition *p,
                            struct partition_stats *out)
{
    *out = (struct partition_stats){.partition = p->info.id,
                                    .node = requests->env->id,
                                    .table_id = p->info.table_id,
                                    .bytes = partition_items_counted(p) ? partition_bytes(p) : -1};
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        out->kinds[kind].allocated_mcu = p->info.rate_mcu[kind];
        out->kinds[kind].counts = p->counts[kind];
        out->kinds[kind].balances =
            admission_balances_with_node(&p->admission, &requests->throughput->admission,
                                         (enum admit_kind)kind, requests->env->now);
    }
    out->kinds[ADMIT_READ].counts.load.consumed_mcu -= p->followers_mcu; /* they say it, too */
    advice_count_replicas(p, out);
    advice_count_lag(requests, p, out);
    out->expiry.on = p->expiry != NULL;
    out->expiry.lag_ms = expiry_lag_ms(requests->env, p);
    out->expiry.items = p->expired_items;
    transactions_count(requests->transactions, p, &out->transactions.locks,
                       &out->transactions.oldest_ms);
    out->transactions.reserved_log_bytes = (int64_t)transactions_log_bytes(p);
    out->transactions.reserved_index_bytes = (int64_t)transactions_index_feed_bytes(p);
    advice_count_records(requests, p, out);
}

static void advice_count_space(const struct requests *requests, struct reply *r)
{
    const struct space *space = store_space(requests->env->store);
    r->stats.used_bytes = space_used_bytes(space);
    r->stats.total_bytes = space->total_bytes;
    r->stats.growth_left_bytes = proposals_growth_left(requests->proposals);
    r->stats.refused_full = requests->log->refused_full;
    r->stats.refused_waiting = requests->log->refused_waiting;
}

void requests_stats(struct requests *requests, struct operation *o)
{
    buffer_clear(&requests->env->range_out);
    for (uint32_t i = 0; i < requests->partitions->count; i++) {
        const struct partition *p = requests->partitions->all[i];
        struct partition_stats s;
        if (p->info.id == CATALOG_GROUP)
            continue;
        advice_stats_of(requests, p, &s);
        partition_stats_encode(&requests->env->range_out, &s);
    }
    struct reply *r = env_reply(requests->env, o, REPLY_OK);
    r->kind = ANSWER_STATS;
    r->stats.records = arena_copy(&requests->env->lent, buffer_slice(&requests->env->range_out));
    advice_count_space(requests, r);
}
