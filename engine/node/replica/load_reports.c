/* load_reports.c - what this node tells the catalog's leader about its replicas, and when. */
#include "engine/node/replica/load_reports.h"

#include <xxhash.h>

#include "base/settings/key_sharding.h"
#include "base/settings/reports.h"
#include "engine/admission/capacity.h"
#include "engine/catalog/catalog.h"
#include "engine/message/message.h"

enum {
    REPORT_GAP_MS = 20, /* at least between two reports */
    DOUBLES_MAX = 4     /* of the time between them */
};

/* The keys that may need more shards, or soon do: engine/key_sharding/key_sharding.h. */
static void load_reports_name_heavy(const struct load_reports *reports, struct partition *p,
                                    struct partition_report *out)
{
    const int64_t cost_min =
        config_key_sharding(reports->env->config)->key_sharding_shard_units * MCU_PER_UNIT / 2;
    if (!heat_is_init(&p->heat))
        return;
    p->excess.heavy_reported = heat_is_recently(&p->heat, reports->env->now, ADMIT_WRITE, cost_min);
    if (!p->excess.heavy_reported)
        return;
    out->heavy_count = heat_heavy_keys(&p->heat, reports->env->now, ADMIT_WRITE, p->info.lo,
                                       cost_min, &reports->env->lent, out->heavy);
    if (out->heavy_count > 0)
        out->write_direction = (uint8_t)heat_direction(&p->heat, ADMIT_WRITE);
}

static void load_reports_describe(const struct load_reports *reports, struct partition *p,
                                  bool leads, struct partition_report *out)
{
    *out = (struct partition_report){.table_id = p->info.table_id,
                                     .partition = p->info.id,
                                     .member = raft_self(p->raft),
                                     .epoch = p->info.epoch,
                                     .index_refusal = p->index_refusal,
                                     .trimmed_early = leads ? p->stream.for_bytes : 0,
                                     .items = leads ? p->items.count : -1,
                                     .bytes = leads ? p->items.bytes : -1};
    if (leads)
        memcpy(out->rows, p->rows, sizeof out->rows);
    if (leads)
        load_reports_name_heavy(reports, p, out);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        out->totals[kind] = p->counts[kind].load;
        out->excess_ms[kind] = leads ? excess_ms(&p->excess.now[kind], reports->env->now) : 0;
    }
}

/* Appends the replica's record: of a leader whose figures have changed, or of a replica that asks
 * whether its group still exists. With `all`, the figures of leaders need not have changed. */
static void load_reports_append(const struct load_reports *reports, struct buffer *b,
                                struct partition *p, bool all)
{
    bool leads = p->led != 0;
    struct partition_report r;
    bool well = raft_leader(p->raft) != 0 && !p->doubted && p->frozen.index == 0;
    if (leads ? p->info.id == CATALOG_GROUP : well)
        return;
    if (leads && !partition_items_counted(p))
        return; /* its count is not known yet */
    load_reports_describe(reports, p, leads, &r);
    const size_t size = b->size;
    partition_report_encode(b, &r);
    const uint64_t hash = XXH3_64bits(b->data + size, b->size - size);
    if (leads && !all && hash == p->reported && p->frozen.index == 0)
        b->size = size;
    else if (leads)
        p->reported = hash;
}

static void load_reports_append_head(const struct load_reports *reports, struct buffer *b)
{
    struct node_report r = {
        .node = reports->env->id,
        .capacity_mcu = {[ADMIT_READ] = node_capacity_mcu(reports->env->config, ADMIT_READ),
                         [ADMIT_WRITE] = node_capacity_mcu(reports->env->config, ADMIT_WRITE)},
    };
    memcpy(r.consumed_mcu, reports->throughput->consumed_mcu, sizeof r.consumed_mcu);
    node_report_encode(b, &r);
}

/* No answer came. The node that was asked may be gone: the next one knows the leader. */
static void load_reports_missed(struct load_reports *reports)
{
    reports->waiting = false;
    reports->all = true;
    reports->catalog_leader = reports->catalog_leader % reports->env->node_count + 1;
}

static void load_reports_send(struct load_reports *reports, int64_t wait_ms)
{
    struct buffer *b = &reports->env->scratch;
    buffer_clear(b);
    load_reports_append_head(reports, b);
    for (uint32_t i = 0; i < reports->partitions->count; i++)
        load_reports_append(reports, b, reports->partitions->all[i], reports->all);
    reports->waiting = true;
    reports->all = reports->urgent = false;
    const struct internal_call_options options = {
        .kind = INTERNAL_CALL_REPORT,
        .first = reports->catalog_leader,
        .once = true, /* later its figures are old */
        .timeout = duration_ms(wait_ms),
    };
    const struct request request = {.op = REQUEST_TABLE_REPORT,
                                    .report.records = env_lend_scratch(reports->env)};
    internal_calls_begin(reports->calls, &options, &request);
}

void load_reports_tick(struct load_reports *reports)
{
    if (instant_before(reports->env->now, reports->at))
        return;
    if (reports->waiting) {
        internal_calls_end(reports->calls, INTERNAL_CALL_REPORT, 0);
        load_reports_missed(reports);
    }
    const uint32_t doubles = MIN(reports->unanswered, DOUBLES_MAX);
    const int64_t wait_ms = config_reports(reports->env->config)->load_report_ms << doubles;
    reports->sent = reports->env->now;
    reports->at = instant_add_ms(reports->sent, wait_ms);
    reports->unanswered++;
    load_reports_send(reports, wait_ms);
}

/* The next report is due so long after the last one. */
static void load_reports_within(struct load_reports *reports, int64_t ms)
{
    struct instant at = instant_add_ms(reports->sent, ms);
    if (instant_before(at, reports->env->now))
        at = reports->env->now;
    reports->at = instant_earlier(reports->at, at);
}

void load_reports_soon(struct load_reports *reports)
{
    reports->urgent = reports->waiting;
    if (!reports->waiting)
        load_reports_within(reports, REPORT_GAP_MS);
}

/* If more than one node was asked, or the catalog's term is new, the node that answered may have
 * only the changes since the last report. Then the next report contains all. */
bool load_reports_answered(struct load_reports *reports, const struct internal_call_answer *answer,
                           uint64_t *as_of, struct reader *named)
{
    const struct reply *reply = answer->reply;
    reports->catalog_leader = answer->node;
    *named = (struct reader){reply->gone.replicas, false};
    if (reply->code == REPLY_UNKNOWN) {
        load_reports_missed(reports);
        return false;
    }
    reports->waiting = false;
    reports->unanswered = 0;
    reports->all = answer->moved || reply->code != REPLY_OK;
    load_reports_within(reports, config_reports(reports->env->config)->load_report_ms);
    if (reports->urgent)
        load_reports_soon(reports);
    if (reply->code != REPLY_OK)
        return false;
    reports->all |= reply->gone.term != reports->catalog_term;
    reports->catalog_term = reply->gone.term;
    if (answer->moved)
        load_reports_soon(reports);
    for (uint32_t i = 0; i < reports->partitions->count; i++)
        reports->partitions->all[i]->doubted = false; /* set again if the doubt remains */
    *as_of = reply->gone.as_of;
    return true;
}

/* A replica that its group has let go of does not count, whatever is reserved for it. If the whole
 * partition is gone, its leader is closed too: the other replicas are closed. */
struct partition *load_reports_next_named(struct load_reports *reports, struct reader *named)
{
    while (named->left.size > 0) {
        struct partition *p = partitions_find(reports->partitions, reader_u32(named));
        uint64_t member = reader_u64(named);
        bool gone = reader_u8(named) != 0;
        if (named->failed)
            return NULL;
        if (p != NULL && raft_self(p->raft) == member && (gone || p->led == 0))
            return p;
    }
    return NULL;
}
