/* bucket_mirrors.c - the buckets of the replicas here: begun, told to other replicas, kept over a
 * restart.
 *
 * A partition's buckets are its leader's; followers have mirrors of them. Writes reach a mirror
 * with the log. The leader tells everything else some time after it was spent: the balances, up to
 * which log entry they count the writes, and how many of each follower's reads. So a mirror holds
 * the leader's balances, less the later writes, less the reads of this replica that the leader did
 * not count.
 *
 * With read_cap = group or measured a follower serves eventual reads from its mirror. It tells its
 * leader its total since its node began. So the next message makes up for a lost one, and a
 * repeated message changes nothing. All replicas together overdraw the buckets by what they serve
 * between two messages, and pay that back. The less is left, the sooner a message follows, but
 * messages are at least report_quick_ms apart.
 *
 * Restarts. Once per bucket_save_ms the log gets a record of the buckets that were spent from.
 * Buckets that only refill are recorded less often. A replica's row has the same balances, and the
 * final ones after an orderly end. Buckets do not change while the node is down. */
#include "engine/node/replica/bucket_mirrors.h"

#include <stdlib.h>

#include "base/settings/choices.h"
#include "base/settings/reports.h"
#include "base/settings/storage.h"
#include "engine/admission/policy_choice.h"
#include "engine/store/change_set.h"

enum {
    LEFT_PART = 64,  /* reads of 1/64 of what is left for all replicas are told soon */
    SAVED_PART = 64, /* so are reads of 1/64 of the allocation, in a partition that saves burst */
    SEEN_MAX = REPLICAS_MAX + 1,
    REFILL_SAVES = 10,      /* buckets that only refill are saved every so many intervals */
    READS_RECENT_MS = 1000, /* so long after a follower's reads the leader's reads are told soon */
};

/* The most that a node spends in its life: centuries at 3,000 units a second. More is damage. */
#define SPENT_MAX_MCU (INT64_C(1) << 54)

/* How much of a follower's reads the levels count. */
struct seen {
    uint64_t member;
    uint64_t life; /* of its node */
    uint64_t spent_mcu;
};

/* What a leader tells of a partition's buckets. */
struct levels {
    uint64_t term; /* a greater (term, sequence) is later */
    uint64_t sequence;
    uint64_t upto; /* the balances count the writes up to this entry */
    struct admission_balances balances[ADMIT_KINDS];
    uint32_t seen_count;
    struct seen seen[SEEN_MAX];
};

struct mirror {
    struct partition *partition; /* borrows */
    LIST_ENTRY(mirror) place;
    bool listed; /* its buckets must be told at send_at */
    struct instant send_at;
    struct instant sent_at;
    int64_t unsent_mcu;        /* reads since then */
    struct instant reads_at;   /* when a follower told reads, while this replica leads */
    uint64_t spent_mcu;        /* eventual reads that this replica has served as a follower */
    struct levels from_leader; /* the leader's last message */
};

/* ---- beginning ---- */

static struct table_share *bucket_mirrors_share_of(struct bucket_mirrors *buckets,
                                                   uint32_t table_id)
{
    for (uint32_t i = 0; i < buckets->shares_count; i++) {
        if (buckets->shares[i]->table_id == table_id)
            return buckets->shares[i];
    }
    struct table_share *share = must_calloc(1, sizeof *share);
    buckets->shares =
        must_grow(buckets->shares, buckets->shares_count, &buckets->shares_capacity, sizeof share);
    share->table_id = table_id;
    buckets->shares[buckets->shares_count++] = share;
    return share;
}

static void bucket_mirrors_drop_unused(struct bucket_mirrors *buckets, struct table_share *share)
{
    uint32_t i = 0;
    if (share == NULL || share->partitions > 0)
        return;
    while (buckets->shares[i] != share)
        i++;
    buckets->shares[i] = buckets->shares[--buckets->shares_count];
    free(share);
}

/* Only while the partition counts on no share. */
static void bucket_mirrors_join(struct bucket_mirrors *buckets, struct partition *p)
{
    struct table_share *share = bucket_mirrors_share_of(buckets, p->info.table_id);
    admission_join(&p->admission, share, buckets->env->now);
    bucket_mirrors_drop_unused(buckets, share);
}

static struct admission_policies bucket_mirrors_policies_of(const struct bucket_mirrors *buckets,
                                                            const struct partition *p)
{
    struct admission_policies policies;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        policies.of[kind] = admission_policy_of(
            buckets->env->config, table_gac_setting(p->info.gac, p->info.of_index, (int)kind),
            p->info.on_demand);
    return policies;
}

void bucket_mirrors_begin(struct bucket_mirrors *buckets, struct partition *p)
{
    const struct admission_rates rates = partition_rates(&p->info);
    admission_init(&p->admission, bucket_mirrors_policies_of(buckets, p), buckets->env->config,
                   &rates, buckets->env->now);
    bool kept = p->kept != NULL && p->kept->epoch == p->info.epoch;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS && kept; kind++)
        admission_restore(&p->admission, kind, buckets->env->now, &p->kept->balances[kind]);
    free(p->kept);
    p->kept = NULL;
    bucket_mirrors_join(buckets, p);
}

void bucket_mirrors_changed(struct bucket_mirrors *buckets, struct partition *p)
{
    const struct admission_rates rates = partition_rates(&p->info);
    admission_change(&p->admission, bucket_mirrors_policies_of(buckets, p), buckets->env->config,
                     &rates, buckets->env->now);
    bucket_mirrors_join(buckets, p);
}

static void bucket_mirrors_save_soon(struct bucket_mirrors *buckets, struct partition *p)
{
    const struct duration interval =
        duration_ms(config_storage(buckets->env->config)->bucket_save_ms);
    p->buckets = BUCKETS_SPENT;
    buckets->save_at = instant_earlier(buckets->save_at, instant_add(buckets->env->now, interval));
}

void bucket_mirrors_divided(struct bucket_mirrors *buckets, struct partition *p)
{
    bucket_mirrors_join(buckets, p);
    bucket_mirrors_save_soon(buckets, p);
}

void bucket_mirrors_end(struct bucket_mirrors *buckets, struct partition *p)
{
    if (p->mirror != NULL && p->mirror->listed)
        LIST_REMOVE(p->mirror, place);
    struct table_share *share = p->admission.table;
    admission_leave(&p->admission, buckets->env->now);
    bucket_mirrors_drop_unused(buckets, share);
    free(p->mirror);
    p->mirror = NULL;
}

void bucket_mirrors_deinit(struct bucket_mirrors *buckets)
{
    for (uint32_t i = 0; i < buckets->shares_count; i++)
        free(buckets->shares[i]);
    free(buckets->shares);
}

/* ---- when to tell ---- */

static struct mirror *bucket_mirrors_mirror_of(struct partition *p)
{
    if (p->mirror == NULL) {
        p->mirror = must_calloc(1, sizeof *p->mirror);
        p->mirror->partition = p;
        p->mirror->reads_at.ns = -READS_RECENT_MS * NS_PER_MS;
    }
    return p->mirror;
}

/* The place that notes how much of a follower's reads is counted. In a new place `life` is 0. */
static struct seen *bucket_mirrors_seen_of(struct levels *l, uint64_t member)
{
    for (uint32_t i = 0; i < l->seen_count; i++) {
        if (l->seen[i].member == member)
            return &l->seen[i];
    }
    if (l->seen_count == SEEN_MAX) { /* the oldest place belongs to a replica that is gone */
        memmove(&l->seen[0], &l->seen[1], (SEEN_MAX - 1) * sizeof l->seen[0]);
        l->seen_count--;
    }
    l->seen[l->seen_count] = (struct seen){.member = member};
    return &l->seen[l->seen_count++];
}

static void bucket_mirrors_send_at(struct bucket_mirrors *buckets, struct partition *p,
                                   struct instant at)
{
    struct mirror *m = p->mirror;
    if (!m->listed) {
        m->listed = true;
        m->send_at = at;
        LIST_INSERT_HEAD(&buckets->unsent, m, place);
    }
    m->send_at = instant_earlier(m->send_at, at);
    buckets->mirror_at = instant_earlier(buckets->mirror_at, m->send_at);
}

/* Whether a delay may cost something: replicas could serve the same tokens twice, or the next
 * leader could serve saved burst again. */
static bool bucket_mirrors_is_urgent(const struct bucket_mirrors *buckets,
                                     const struct partition *p)
{
    const struct mirror *m = p->mirror;
    const struct admission_meter *meter = &p->admission.meters[ADMIT_READ];
    bool recent = instant_since(buckets->env->now, m->reads_at).ns < READS_RECENT_MS * NS_PER_MS;
    if (m->unsent_mcu == 0)
        return false;
    if (meter->burst.capacity > 0 && m->unsent_mcu >= meter->allocation.capacity / SAVED_PART)
        return true;
    return (p->led == 0 || recent) &&
           m->unsent_mcu >= admission_left_mcu(&p->admission, ADMIT_READ) / LEFT_PART;
}

static void bucket_mirrors_note_change(struct bucket_mirrors *buckets, struct partition *p,
                                       int64_t reads_mcu)
{
    const struct config *c = buckets->env->config;
    struct mirror *m = bucket_mirrors_mirror_of(p);
    bucket_mirrors_save_soon(buckets, p);
    if (buckets->env->node_count == 1)
        return;
    m->unsent_mcu += reads_mcu;
    if (!m->listed)
        bucket_mirrors_send_at(buckets, p,
                               instant_add_ms(buckets->env->now, config_reports(c)->report_ms));
    if (bucket_mirrors_is_urgent(buckets, p))
        bucket_mirrors_send_at(buckets, p,
                               instant_add_ms(m->sent_at, config_reports(c)->report_quick_ms));
}

void bucket_mirrors_spent(struct bucket_mirrors *buckets, struct partition *p, enum admit_kind kind,
                          int64_t cost_mcu, bool eventual)
{
    if (kind == ADMIT_WRITE) {
        bucket_mirrors_note_change(buckets, p, 0);
        return;
    }
    if (eventual && config_choices(buckets->env->config)->read_cap == READ_CAP_MEASURED)
        admission_spare_cap(&p->admission, ADMIT_READ, cost_mcu / 3);
    if (p->led == 0 && config_choices(buckets->env->config)->read_cap == READ_CAP_REPLICA)
        return; /* the buckets for reads are this replica's own */
    if (p->led == 0)
        bucket_mirrors_mirror_of(p)->spent_mcu += (uint64_t)cost_mcu;
    bucket_mirrors_note_change(buckets, p, cost_mcu);
}

void bucket_mirrors_led(struct bucket_mirrors *buckets, struct partition *p)
{
    struct mirror *m = bucket_mirrors_mirror_of(p);
    *bucket_mirrors_seen_of(&m->from_leader, raft_self(p->raft)) = (struct seen){
        raft_self(p->raft), buckets->peers->liveness.options.incarnation, m->spent_mcu};
    bucket_mirrors_send_at(buckets, p, buckets->env->now);
}

void bucket_mirrors_resend(struct bucket_mirrors *buckets, uint32_t node)
{
    for (uint32_t i = 0; i < buckets->partitions->count; i++) {
        struct partition *p = buckets->partitions->all[i];
        if (p->led == 0 || p->mirror == NULL)
            continue;
        const struct raft_members *members = raft_members(p->raft);
        for (uint32_t m = 0; m < members->count; m++) {
            if (raft_member_node(members->all[m].id) == node)
                bucket_mirrors_send_at(buckets, p, buckets->env->now);
        }
    }
}

/* ---- telling ---- */

static void levels_walk(struct codec *c, struct levels *l)
{
    codec_u64(c, &l->term);
    codec_u64(c, &l->sequence);
    codec_u64(c, &l->upto);
    balances_walk(c, l->balances);
    codec_count(c, &l->seen_count, 0, SEEN_MAX);
    for (uint32_t i = 0; i < l->seen_count; i++) {
        codec_u64(c, &l->seen[i].member);
        codec_u64(c, &l->seen[i].life);
        codec_u64(c, &l->seen[i].spent_mcu);
    }
}

/* u32 group | the levels. */
static void bucket_mirrors_send_levels(struct bucket_mirrors *buckets, struct partition *p,
                                       uint32_t node)
{
    struct levels l = p->mirror->from_leader;
    struct buffer *out = peers_message(buckets->peers, node, PEER_LEVELS);
    l.term = p->led;
    l.upto = raft_last(p->raft);
    partition_balances(p, buckets->env->now, l.balances);
    buffer_append_u32(out, p->info.id);
    levels_walk(&(struct codec){.out = out}, &l);
}

/* u32 group | u64 member | u64 mcu of eventual reads served since its node began. */
static void bucket_mirrors_send_reads(struct bucket_mirrors *buckets, struct partition *p,
                                      uint32_t node)
{
    struct buffer *out = peers_message(buckets->peers, node, PEER_READS);
    buffer_append_u32(out, p->info.id);
    buffer_append_u64(out, raft_self(p->raft));
    buffer_append_u64(out, p->mirror->spent_mcu);
}

static bool bucket_mirrors_is_peer(const struct bucket_mirrors *buckets, uint32_t node)
{
    return node >= 1 && node <= buckets->env->node_count && node != buckets->env->id;
}

static void bucket_mirrors_send(struct bucket_mirrors *buckets, struct partition *p)
{
    struct mirror *m = p->mirror;
    uint32_t leader = raft_member_node(raft_leader(p->raft));
    if (p->led == 0 && !bucket_mirrors_is_peer(buckets, leader)) { /* wait for the next leader */
        bucket_mirrors_send_at(
            buckets, p,
            instant_add_ms(buckets->env->now, config_reports(buckets->env->config)->report_ms));
        return;
    }
    m->sent_at = buckets->env->now;
    m->unsent_mcu = 0;
    if (p->led == 0) {
        if (m->spent_mcu > 0)
            bucket_mirrors_send_reads(buckets, p, leader);
        return;
    }
    const struct raft_members *members = raft_members(p->raft);
    m->from_leader.sequence++;
    for (uint32_t i = 0; i < members->count; i++) {
        uint32_t node = raft_member_node(members->all[i].id);
        if (members->all[i].id != raft_self(p->raft) && bucket_mirrors_is_peer(buckets, node))
            bucket_mirrors_send_levels(buckets, p, node);
    }
}

/* ---- being told ---- */

/* The leader counts what a follower has served since its last message. */
bool bucket_mirrors_receive_reads(struct bucket_mirrors *buckets, struct reader *r, uint32_t from,
                                  uint64_t life)
{
    uint32_t group = reader_u32(r);
    uint64_t member = reader_u64(r), spent = reader_u64(r);
    if (r->failed || raft_member_node(member) != from || spent > SPENT_MAX_MCU)
        return false;
    struct partition *p = partitions_find(buckets->partitions, group);
    if (p == NULL || p->led == 0 || life == 0)
        return true; /* the follower tells the present leader */
    struct mirror *m = bucket_mirrors_mirror_of(p);
    struct seen *s = bucket_mirrors_seen_of(&m->from_leader, member);
    uint64_t before = s->life == 0 ? spent : s->life == life ? s->spent_mcu : 0;
    if (s->life == life && spent <= before)
        return true;                          /* a repeated or late message */
    int64_t more = (int64_t)(spent - before); /* 0 at a follower's first message */
    *s = (struct seen){member, life, spent};
    m->reads_at = buckets->env->now;
    admission_spend(&p->admission, &buckets->throughput->admission, ADMIT_READ, buckets->env->now,
                    more);
    if (config_choices(buckets->env->config)->read_cap == READ_CAP_MEASURED)
        admission_spare_cap(&p->admission, ADMIT_READ, more / 3);
    if (p->counts[ADMIT_READ].load.consumed_mcu < SPENT_MAX_MCU) {
        p->counts[ADMIT_READ].load.consumed_mcu += more;
        p->followers_mcu += more;
    }
    bucket_mirrors_note_change(buckets, p, more);
    return true;
}

/* What this replica has served and the levels do not count. */
static int64_t bucket_mirrors_uncounted(const struct bucket_mirrors *buckets,
                                        const struct partition *p, const struct levels *l)
{
    uint64_t counted = 0;
    for (uint32_t i = 0; i < l->seen_count; i++) {
        if (l->seen[i].member == raft_self(p->raft) &&
            l->seen[i].life == buckets->peers->liveness.options.incarnation)
            counted = l->seen[i].spent_mcu;
    }
    return counted < p->mirror->spent_mcu ? (int64_t)(p->mirror->spent_mcu - counted) : 0;
}

static void bucket_mirrors_take_levels(struct bucket_mirrors *buckets, struct partition *p,
                                       const struct levels *l)
{
    struct mirror *m = bucket_mirrors_mirror_of(p);
    m->from_leader = *l;
    admission_restore(&p->admission, ADMIT_WRITE, buckets->env->now, &l->balances[ADMIT_WRITE]);
    bucket_mirrors_save_soon(buckets, p);
    if (config_choices(buckets->env->config)->read_cap == READ_CAP_REPLICA)
        return;
    int64_t own = bucket_mirrors_uncounted(buckets, p, l);
    if (own > 0) /* the last message to the leader was lost, or is on its way */
        bucket_mirrors_send_at(
            buckets, p,
            instant_add_ms(buckets->env->now, config_reports(buckets->env->config)->report_ms));
    admission_restore(&p->admission, ADMIT_READ, buckets->env->now, &l->balances[ADMIT_READ]);
    admission_spend(&p->admission, &buckets->throughput->admission, ADMIT_READ, buckets->env->now,
                    own);
    if (config_choices(buckets->env->config)->read_cap == READ_CAP_MEASURED)
        admission_spare_cap(&p->admission, ADMIT_READ, own / 3);
}

bool bucket_mirrors_receive_levels(struct bucket_mirrors *buckets, struct reader *r)
{
    struct levels l;
    uint32_t group = reader_u32(r);
    levels_walk(&(struct codec){.in = r}, &l);
    if (r->failed)
        return false;
    struct partition *p = partitions_find(buckets->partitions, group);
    if (p == NULL || p->led != 0 || l.term < raft_term(p->raft))
        return true;
    const struct mirror *m = bucket_mirrors_mirror_of(p);
    if (l.term > m->from_leader.term ||
        (l.term == m->from_leader.term && l.sequence > m->from_leader.sequence))
        bucket_mirrors_take_levels(buckets, p, &l);
    return true;
}

/* Whether the leader's last message counts the entry, or no message has come. */
static bool bucket_mirrors_counts_entry(const struct partition *p, uint64_t index)
{
    return p->mirror == NULL || p->mirror->from_leader.term == 0 ||
           index <= p->mirror->from_leader.upto;
}

/* A follower pays for the write too: its node does the same work, and its buckets must be right
 * when it leads. It pays when the write comes: if it paid at the commit, others could get the same
 * tokens in between. */
void bucket_mirrors_follow(struct bucket_mirrors *buckets, struct partition *p,
                           const struct raft_entry *e)
{
    struct change_set set;
    change_set_reopen(e->payload, &set);
    uint32_t follow = (set.burst != 0 ? FOLLOW_BURST : 0U) | (set.burst == 2 ? FOLLOW_PAID : 0U) |
                      (e->index <= p->late_until ? FOLLOW_LATE : 0U) |
                      (bucket_mirrors_counts_entry(p, e->index) ? FOLLOW_COUNTED : 0U);
    buckets->throughput->consumed_mcu[ADMIT_WRITE] += set.cost_mcu;
    buckets->throughput->served.kinds[SERVED_FOLLOW].requests++;
    buckets->throughput->served.kinds[SERVED_FOLLOW].mcu += set.cost_mcu;
    admission_follow(&p->admission, &buckets->throughput->admission, ADMIT_WRITE, buckets->env->now,
                     set.cost_mcu, follow);
}

/* ---- over a restart ---- */

static bool bucket_mirrors_append_kept(struct bucket_mirrors *buckets)
{
    bool fits = !proposals_are_full(buckets->proposals) &&
                proposals_leave_room(buckets->proposals, buckets->env->scratch.size);
    if (fits && buckets->env->scratch.size > 0)
        proposals_append_own(buckets->proposals, LOG_BUCKETS, 0, 0,
                             buffer_slice(&buckets->env->scratch));
    buffer_clear(&buckets->env->scratch);
    return fits;
}

/* Record, for each partition: u32 id, u64 epoch, its balances. */
static void bucket_mirrors_save(struct bucket_mirrors *buckets)
{
    enum {
        RECORD_BYTES = 256 * 1024
    };
    const struct duration interval =
        duration_ms(config_storage(buckets->env->config)->bucket_save_ms);
    bool fits = true, refills = false;
    buffer_clear(&buckets->env->scratch);
    for (uint32_t i = 0; i < buckets->partitions->count && fits; i++) {
        struct partition *p = buckets->partitions->all[i];
        if (p->buckets == BUCKETS_SAVED)
            continue;
        p->stored = false; /* the next checkpoint stores the balances too */
        bool still = admission_refills(&p->admission, buckets->env->now);
        p->buckets = still ? BUCKETS_REFILLED : BUCKETS_SAVED;
        refills |= still;
        buffer_append_u32(&buckets->env->scratch, p->info.id);
        buffer_append_u64(&buckets->env->scratch, p->info.epoch);
        struct admission_balances balances[ADMIT_KINDS];
        partition_balances(p, buckets->env->now, balances);
        balances_walk(&(struct codec){.out = &buckets->env->scratch}, balances);
        if (buckets->env->scratch.size > RECORD_BYTES)
            fits = bucket_mirrors_append_kept(buckets);
    }
    buckets->save_at = INSTANT_NEVER;
    if (refills)
        buckets->save_at =
            instant_add(buckets->env->now, (struct duration){interval.ns * REFILL_SAVES});
    if (!bucket_mirrors_append_kept(buckets)) /* try again at the next interval */
        buckets->save_at = instant_add(buckets->env->now, interval);
}

void bucket_mirrors_tick(struct bucket_mirrors *buckets)
{
    if (!instant_before(buckets->env->now, buckets->save_at))
        bucket_mirrors_save(buckets);
    if (instant_before(buckets->env->now, buckets->mirror_at) || !peers_may_send(buckets->peers))
        return;
    buckets->mirror_at = INSTANT_NEVER;
    for (struct mirror *m = LIST_FIRST(&buckets->unsent), *next; m != NULL; m = next) {
        next = LIST_NEXT(m, place);
        if (instant_before(buckets->env->now, m->send_at)) {
            buckets->mirror_at = instant_earlier(buckets->mirror_at, m->send_at);
            continue;
        }
        LIST_REMOVE(m, place);
        m->listed = false;
        bucket_mirrors_send(buckets, m->partition);
    }
}

void bucket_mirrors_finish(struct bucket_mirrors *buckets)
{
    for (uint32_t i = 0; i < buckets->partitions->count; i++) {
        if (!admission_is_new(&buckets->partitions->all[i]->admission, buckets->env->now))
            buckets->partitions->all[i]->stored = false;
    }
}

/* In a replay: buckets begin at the node's start, with these balances. */
enum status bucket_mirrors_replay(struct bucket_mirrors *buckets, struct slice payload)
{
    struct reader r = {payload, false};
    while (r.left.size > 0 && !r.failed) {
        struct kept_buckets kept;
        uint32_t id = reader_u32(&r);
        kept.epoch = reader_u64(&r);
        balances_walk(&(struct codec){.in = &r}, kept.balances);
        struct partition *p = partitions_find(buckets->partitions, id);
        if (!r.failed && p != NULL)
            partition_keep_buckets(p, &kept);
    }
    return r.failed ? STATUS_CORRUPT : STATUS_OK;
}
