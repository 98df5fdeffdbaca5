/* snapshots.c - sends a partition's range to a replica whose log ends before the leader's begins.
 *
 * The sender reads the backing as of its last checkpoint, in a read transaction, chunk by chunk.
 * One chunk is on its way at a time, and is sent again until it is acknowledged. All snapshots of a
 * node together send at most snapshot_bytes_s. The receiver replaces its keys in the chunk's
 * interval by the chunk. So it never needs room for two copies, and after a lost message the sender
 * only repeats the chunk.
 *
 * Meanwhile the replica has no state (raft.h): it votes, but is no candidate, serves no reads and
 * takes no entries. Its row says so: after a crash the snapshot starts over. Once the last chunk is
 * in the backing, with a row that says so, the replica goes on from the snapshot's index.
 *
 * Messages: u8 kind | u32 group | u64 from | u64 to (member ids) | u64 id | BEGIN: sized row of the
 * partition | CHUNK: u64 sequence, u8 last, u32 count, each: sized key, sized value |
 * ACK: u64 sequence awaited next (0: begin again), u64 index installed (0: not yet). */
#include "engine/node/snapshot/snapshots_internal.h"

#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/replication.h"
#include "engine/node/core/owned_keys.h"

enum {
    CHUNK_BYTES = 64 * 1024, /* as much as one turn has time for */
    SNAPSHOTS_OUT_MAX = 4,
    TRIES_MAX = 25,
    TRIES_RECEIVED_MAX = 10 * TRIES_MAX, /* of a chunk that the receiver has, and puts in place */
    TRIES_URGENT_MIN = 3,
    TRY_RETRIES = 5,  /* a chunk is sent again after so many times append_retry_ms */
    URGENT_MS = 1000, /* for a chunk, while writes are refused for the pages of its snapshot */
};

struct snapshot_out {
    LIST_ENTRY(snapshot_out) place;
    uint32_t group;
    uint64_t to;
    uint64_t id;
    uint64_t term; /* in which this node leads; after that term the snapshot ends */
    uint64_t index;
    struct backing_snapshot *source; /* owns */
    struct buffer row;
    struct buffer hi;   /* the range's end in the row; the partition may have been split since */
    struct buffer key;  /* the last acknowledged key */
    struct buffer sent; /* the last key of the chunk on its way */
    uint64_t sequence;  /* of the chunk; 0: BEGIN is not acknowledged yet */
    bool on_its_way;
    bool sent_last;
    bool received; /* the receiver has the chunk that is on its way */
    uint32_t tries;
    struct instant again_at;
    struct scan scan;
};

/* By this factor a byte costs more of the rate while the node serves requests. */
static int64_t snapshot_busy_factor(const struct snapshots *snapshots)
{
    int64_t factor = config_replication(snapshots->env->config)->snapshot_bytes_s /
                     config_replication(snapshots->env->config)->snapshot_busy_bytes_s;
    return MAX(factor, 1);
}

/* The bucket holds one chunk. A deeper bucket would save tokens in quiet times, and then many
 * chunks would go out ahead of requests. */
void snapshots_start(struct snapshots *snapshots)
{
    const int64_t max = 4 * (int64_t)CHUNK_BYTES + (int64_t)LOG_PAYLOAD_SIZE_MAX;
    token_bucket_init(&snapshots->rate, CHUNK_BYTES,
                      config_replication(snapshots->env->config)->snapshot_bytes_s,
                      max * snapshot_busy_factor(snapshots), CHUNK_BYTES, snapshots->env->now);
}

/* Whether a snapshot keeps the pages that writes are refused for. Then it is sent as fast as it can
 * be. Otherwise it may never end: the checkpoints of this node use up the map, which ends all
 * snapshots, and they begin again. */
static bool snapshots_are_urgent(const struct snapshots *snapshots)
{
    struct store *store = snapshots->env->store;
    return store_keeps_pages(store) && (proposals_lack_space(snapshots->driver->proposals) ||
                                        space_growth_left_bytes(store_space(store)) == 0);
}

/* Requests come first: a chunk costs more if the node has served requests since the last chunk. */
static void snapshot_pay(struct snapshots *snapshots, int64_t bytes)
{
    int64_t served_mcu = snapshots->throughput->consumed_mcu[ADMIT_READ] +
                         snapshots->throughput->consumed_mcu[ADMIT_WRITE];
    bool busy = served_mcu != snapshots->served_mcu;
    snapshots->served_mcu = served_mcu;
    if (snapshots_are_urgent(snapshots))
        return;
    token_bucket_debit(&snapshots->rate, busy ? bytes * snapshot_busy_factor(snapshots) : bytes);
}

/* ---- sending ---- */

/* One more can be sent now: the groups whose members wait are asked again. */
static void snapshots_wake_waiting(struct snapshots *snapshots)
{
    if (!snapshots->full)
        return;
    snapshots->full = false;
    for (uint32_t i = 0; i < snapshots->partitions->count; i++) {
        struct partition *p = snapshots->partitions->all[i];
        if (raft_next_snapshot(p->raft) != 0)
            raft_driver_stepped(snapshots->driver, p);
    }
}

static void snapshot_drop_out(struct snapshots *snapshots, struct snapshot_out *s,
                              uint64_t installed)
{
    struct partition *p = partitions_find(snapshots->partitions, s->group);
    LIST_REMOVE(s, place);
    if (s->source != NULL)
        store_snapshot_close(snapshots->env->store, s->source);
    if (p != NULL)
        p->hold = 0;
    if (p != NULL && !p->closing && partition_led_term(p) == s->term) {
        raft_snapshot_ended(p->raft, snapshots->env->now, s->to, installed);
        raft_driver_stepped(snapshots->driver, p);
    }
    snapshots_wake_waiting(snapshots);
    buffer_deinit(&s->row);
    buffer_deinit(&s->hi);
    buffer_deinit(&s->key);
    buffer_deinit(&s->sent);
    free(s);
}

struct buffer *snapshot_message(struct snapshots *snapshots, uint64_t to, uint8_t kind,
                                const struct partition *p, uint64_t id)
{
    struct buffer *out = &snapshots->outgoing;
    buffer_clear(out);
    buffer_append_u8(out, kind);
    buffer_append_u32(out, p->info.id);
    buffer_append_u64(out, raft_self(p->raft));
    buffer_append_u64(out, to);
    buffer_append_u64(out, id);
    return out;
}

void snapshot_post(struct snapshots *snapshots, uint64_t to)
{
    buffer_append_sized(peers_message(snapshots->peers, raft_member_node(to), PEER_SNAPSHOT),
                        buffer_slice(&snapshots->outgoing));
}

/* Opens the partition as of the last checkpoint. False: the log does not continue from there, or
 * the checkpoint is from before a merge or a split. */
static bool snapshot_open_source(struct snapshots *snapshots, const struct partition *p,
                                 struct snapshot_out *s)
{
    struct slice value;
    struct partition_row row;
    if (store_snapshot_open(snapshots->env->store, &s->source) != STATUS_OK)
        return false;
    bool usable = store_snapshot_get(snapshots->env->store, s->source,
                                     local_state_partition_key(snapshots->env, p->info.id),
                                     &value) == STATUS_OK &&
                  partition_row_decode(value, &row) == STATUS_OK && !row.base.no_state &&
                  row.base.index + 1 >= raft_first(p->raft) &&
                  row.base.index <= raft_applied(p->raft) && row.base.index > 0;
    if (!usable) {
        store_snapshot_close(snapshots->env->store, s->source);
        return false;
    }
    struct partition_info info;
    must(partition_info_decode(row.info, &info) == STATUS_OK); /* the checksum held */
    if (info.epoch != p->info.epoch) { /* ABSORB-4: from before a merge, or a split */
        store_snapshot_close(snapshots->env->store, s->source);
        return false;
    }
    s->index = row.base.index;
    buffer_append_slice(&s->row, value);
    buffer_append_slice(&s->hi, info.hi);
    return true;
}

/* Whether the member is gone: its node is unknown or this node, or has another generation now. */
static bool snapshot_is_gone(const struct snapshots *snapshots, uint64_t member)
{
    uint32_t node = raft_member_node(member);
    return node == 0 || node > snapshots->env->node_count || node == snapshots->env->id ||
           snapshots->peers->nodes[node].generation != raft_member_generation(member);
}

/* The next member that needs a snapshot and can be reached. For the others the attempt counts as
 * failed; raft asks again later. */
static uint64_t snapshot_next_receiver(struct snapshots *snapshots, struct partition *p)
{
    uint64_t to = raft_next_snapshot(p->raft);
    for (uint32_t i = 0; to != 0 && i < RAFT_MEMBERS_MAX; i++) {
        if (!snapshot_is_gone(snapshots, to) && peers_reach(snapshots->peers, raft_member_node(to)))
            return to;
        raft_snapshot_started(p->raft, to);
        raft_snapshot_ended(p->raft, snapshots->env->now, to, 0);
        to = raft_next_snapshot(p->raft);
    }
    return 0;
}

/* snapshots_offer_held goes on after the next checkpoint, which has the partition. */
static void snapshot_await_checkpoint(struct snapshots *snapshots, struct partition *p)
{
    p->hold = raft_applied(p->raft);
    local_state_store_partition(snapshots->env, p);
}

static void snapshots_begin(struct snapshots *snapshots, struct partition *p)
{
    uint32_t running = 0;
    uint64_t to = p->hold != 0 ? 0 : snapshot_next_receiver(snapshots, p);
    if (to == 0)
        return;
    struct snapshot_out *s;
    LIST_FOREACH (s, &snapshots->out, place)
        running++;
    if (running >= SNAPSHOTS_OUT_MAX) {
        snapshots->full = true;
        return;
    }
    s = must_calloc(1, sizeof *s);
    if (!snapshot_open_source(snapshots, p, s)) {
        free(s);
        snapshot_await_checkpoint(snapshots, p);
        checkpoints_soon(snapshots->checkpoints);
        return;
    }
    s->group = p->info.id;
    s->to = to;
    s->term = partition_led_term(p);
    s->id = prng_next(&snapshots->env->prng);
    s->again_at = snapshots->env->now;
    LIST_INSERT_HEAD(&snapshots->out, s, place);
    p->hold = s->index;
    raft_snapshot_started(p->raft, to);
    env_note(snapshots->env, NODE_TRACE_SNAPSHOT_BEGUN, p->info.id, (int64_t)s->index);
}

/* Whether writes were refused for want of the pages that a new snapshot would keep. */
static bool snapshots_lack_space(const struct snapshots *snapshots)
{
    struct store *store = snapshots->env->store;
    return !store_is_frozen(store) && space_is_scarce(store_space(store)) &&
           proposals_lack_space(snapshots->driver->proposals);
}

/* Where space is short, a checkpoint comes between a snapshot that ended and the next one. Without
 * it the next one would keep the same pages before a write finds space. */
void snapshots_offer(struct snapshots *snapshots, struct partition *p)
{
    if (p->hold == 0 && raft_next_snapshot(p->raft) != 0 && snapshots_lack_space(snapshots)) {
        PROBE("a snapshot waits until a checkpoint has found space for writes");
        snapshot_await_checkpoint(snapshots, p);
        return;
    }
    snapshots_begin(snapshots, p);
}

/* The first item of the ranges at `from` or after it; with `after`, only after it.
 * STATUS_NOT_FOUND: no item. */
static enum status snapshot_next_item(struct snapshots *snapshots, const struct snapshot_out *s,
                                      struct key_ranges ranges, struct slice from, bool after,
                                      struct backing_change *out)
{
    key_ranges_skip(&ranges, from);
    while (ranges.count > 0) {
        const struct key_range *range = &ranges.at[0];
        enum status status = store_snapshot_seek(snapshots->env->store, s->source, range->lo,
                                                 after && slice_equal(range->lo, from), out);
        bool inside =
            status == STATUS_OK && (range->hi.size == 0 || slice_compare(out->key, range->hi) < 0);
        if (inside || (status != STATUS_OK && status != STATUS_NOT_FOUND))
            return status;
        key_ranges_drop_first(&ranges);
    }
    return STATUS_NOT_FOUND;
}

/* Appends the items after the last acknowledged key, up to a chunk's size. False: an error; the
 * snapshot must end. */
static bool snapshot_append_items(struct snapshots *snapshots, const struct partition *p,
                                  struct snapshot_out *s, struct buffer *out)
{
    size_t head = out->size, start = out->size + 5;
    uint32_t count = 0;
    buffer_append_u8(out, 0);
    buffer_append_u32(out, 0);
    bool after = s->key.size > 0;
    struct slice from = after ? buffer_slice(&s->key) : p->info.lo;
    const struct key_ranges ranges =
        key_ranges_of(p->info.lo, buffer_slice(&s->hi), p->info.indexes, &snapshots->env->lent);
    struct backing_change item;
    buffer_set(&s->sent, from);
    s->sent_last = false;
    while (out->size - start < CHUNK_BYTES) {
        enum status status = snapshot_next_item(snapshots, s, ranges, from, after, &item);
        if (status != STATUS_OK && status != STATUS_NOT_FOUND)
            return false;
        s->sent_last = status == STATUS_NOT_FOUND;
        if (s->sent_last)
            break;
        buffer_append_sized(out, item.key);
        buffer_append_sized(out, item.value);
        count++;
        buffer_set(&s->sent, item.key);
        from = buffer_slice(&s->sent);
        after = true;
    }
    out->data[head] = s->sent_last;
    memcpy(out->data + head + 1, &count, sizeof count);
    return true;
}

static int64_t snapshot_try_ms(const struct snapshots *snapshots)
{
    return TRY_RETRIES * config_replication(snapshots->env->config)->append_retry_ms;
}

/* Sends BEGIN or the next chunk. False: the snapshot cannot go on. */
static bool snapshot_send_next(struct snapshots *snapshots, struct partition *p,
                               struct snapshot_out *s)
{
    struct slice from = s->key.size > 0 ? buffer_slice(&s->key) : p->info.lo;
    if (s->sequence > 0 &&
        !pending_may_scan(snapshots->pending, &s->scan, RESUME_SNAPSHOT_OUT, s->id, from)) {
        s->again_at = pending_scan_again_at(snapshots->pending, &s->scan);
        return true;
    }
    if (s->sequence == 0) {
        struct buffer *out = snapshot_message(snapshots, s->to, SNAPSHOT_BEGIN, p, s->id);
        buffer_append_sized(out, buffer_slice(&s->row));
    } else {
        struct buffer *out = snapshot_message(snapshots, s->to, SNAPSHOT_CHUNK, p, s->id);
        size_t before = out->size;
        buffer_append_u64(out, s->sequence);
        if (!snapshot_append_items(snapshots, p, s, out))
            return false;
        snapshot_pay(snapshots, (int64_t)(out->size - before));
    }
    snapshot_post(snapshots, s->to);
    s->on_its_way = true;
    s->tries++;
    s->again_at = instant_add_ms(snapshots->env->now, snapshot_try_ms(snapshots));
    return true;
}

static void snapshot_receive_ack(struct snapshots *snapshots, uint64_t id, uint64_t sequence,
                                 uint64_t installed)
{
    struct snapshot_out *s = LIST_FIRST(&snapshots->out);
    while (s != NULL && s->id != id)
        s = LIST_NEXT(s, place);
    if (s == NULL)
        return;
    if (installed != 0) {
        env_note(snapshots->env, NODE_TRACE_SNAPSHOT_ENDED, s->group, (int64_t)installed);
        snapshot_drop_out(snapshots, s, installed);
        return;
    }
    if (sequence == 0) { /* the receiver asks for a new snapshot, from a later checkpoint */
        struct partition *p = partitions_find(snapshots->partitions, s->group);
        snapshot_drop_out(snapshots, s, 0);
        if (p != NULL)
            local_state_store_partition(snapshots->env, p);
        checkpoints_soon(snapshots->checkpoints);
        return;
    }
    if (sequence == s->sequence && s->on_its_way && s->sequence > 0) {
        s->received = true; /* and waits: for room, or for the checkpoint behind the last chunk */
        return;
    }
    if (sequence != s->sequence + 1 || !s->on_its_way)
        return; /* a late or repeated message */
    if (s->sequence > 0) {
        buffer_set(&s->key, buffer_slice(&s->sent));
    }
    s->sequence = sequence;
    s->on_its_way = s->received = false;
    s->tries = 0;
    s->again_at = snapshots->env->now;
}

void snapshots_touched(struct snapshots *snapshots, enum resume resume, uint64_t id)
{
    struct snapshot_out *s;
    LIST_FOREACH (s, &snapshots->out, place) {
        if (resume == RESUME_SNAPSHOT_OUT && s->id == id) {
            s->scan.state = SCAN_READY;
            s->again_at = snapshots->env->now;
        }
    }
    struct snapshot_in *in;
    TAILQ_FOREACH (in, &snapshots->in, place) {
        if (resume == RESUME_SNAPSHOT_IN && in->id == id) {
            in->scan.state = SCAN_READY;
            in->again_at = snapshots->env->now;
        }
    }
}

bool snapshots_receive(struct snapshots *snapshots, uint32_t from_node, struct reader *r,
                       struct snapshot_offer *offer)
{
    offer->to = NULL;
    struct reader m = {reader_sized(r), false};
    if (r->failed)
        return false;
    uint8_t kind = reader_u8(&m);
    uint32_t group = reader_u32(&m);
    uint64_t from = reader_u64(&m), to = reader_u64(&m), id = reader_u64(&m);
    if (m.failed || raft_member_node(from) != from_node)
        return false;
    struct partition *p = partitions_find(snapshots->partitions, group);
    bool ours = p != NULL && !p->closing && raft_self(p->raft) == to;
    if (kind == SNAPSHOT_BEGIN) {
        struct slice row = reader_sized(&m);
        offer->from = from;
        offer->id = id;
        return !m.failed && (!ours || snapshot_receive_begin(snapshots, offer, p, row));
    }
    if (kind == SNAPSHOT_CHUNK)
        return !ours || snapshot_receive_chunk(snapshots, p, from, id, &m);
    uint64_t sequence = reader_u64(&m), installed = reader_u64(&m);
    if (kind != SNAPSHOT_ACK || m.failed || m.left.size > 0)
        return false;
    if (ours)
        snapshot_receive_ack(snapshots, id, sequence, installed);
    return true;
}

/* ---- checkpoints ---- */

static bool snapshot_is_sending(const struct snapshots *snapshots, uint32_t group)
{
    const struct snapshot_out *s;
    LIST_FOREACH (s, &snapshots->out, place) {
        if (s->group == group)
            return true;
    }
    return false;
}

void snapshots_offer_held(struct snapshots *snapshots)
{
    snapshots_wake_receiving(snapshots);
    for (uint32_t i = 0; i < snapshots->partitions->count; i++) {
        struct partition *p = snapshots->partitions->all[i];
        if (p->hold == 0 || snapshot_is_sending(snapshots, p->info.id))
            continue;
        p->hold = 0;
        if (partition_led_term(p) == 0)
            continue;
        snapshots_begin(snapshots, p);
        raft_driver_stepped(snapshots->driver, p);
    }
}

/* ---- turns ---- */

/* A receiver that has the chunk may wait for room for long. But the pages that a snapshot keeps are
 * not kept for it while this node refuses writes for want of them: two full nodes that send
 * snapshots to each other would wait for each other. */
static uint32_t snapshot_tries_max(const struct snapshots *snapshots, const struct snapshot_out *s)
{
    if (!snapshots_are_urgent(snapshots))
        return s->received ? TRIES_RECEIVED_MAX : TRIES_MAX;
    const int64_t tries = URGENT_MS / snapshot_try_ms(snapshots);
    if (tries < TRIES_URGENT_MIN)
        return TRIES_URGENT_MIN;
    return tries > TRIES_MAX ? TRIES_MAX : (uint32_t)tries;
}

void snapshots_end_turn(struct snapshots *snapshots)
{
    snapshots_go_on_receiving(snapshots);
    if (LIST_EMPTY(&snapshots->out))
        return;
    token_bucket_refill(&snapshots->rate, snapshots->env->now);
    for (struct snapshot_out *s = LIST_FIRST(&snapshots->out), *next; s != NULL; s = next) {
        next = LIST_NEXT(s, place);
        struct partition *p = partitions_find(snapshots->partitions, s->group);
        bool valid = p != NULL && partition_led_term(p) == s->term &&
                     s->tries < snapshot_tries_max(snapshots, s) &&
                     !snapshot_is_gone(snapshots, s->to) &&
                     raft_members_find(raft_members(p->raft), s->to) != NULL;
        bool due =
            !instant_before(snapshots->env->now, s->again_at) &&
            (snapshots_are_urgent(snapshots) || token_bucket_has(&snapshots->rate, CHUNK_BYTES));
        if (!valid || (due && !snapshot_send_next(snapshots, p, s)))
            snapshot_drop_out(snapshots, s, 0);
    }
}

struct instant snapshots_deadline(const struct snapshots *snapshots)
{
    struct instant t = INSTANT_NEVER;
    const struct snapshot_out *s;
    LIST_FOREACH (s, &snapshots->out, place) {
        struct instant rate = snapshots_are_urgent(snapshots)
                                  ? s->again_at
                                  : instant_add(snapshots->rate.updated_at,
                                                token_bucket_wait(&snapshots->rate, CHUNK_BYTES));
        t = instant_earlier(t, instant_before(s->again_at, rate) ? rate : s->again_at);
    }
    const struct snapshot_in *in;
    TAILQ_FOREACH (in, &snapshots->in, place) {
        if (in->has_chunk)
            t = instant_earlier(t, in->again_at);
    }
    return t;
}

/* ---- endings ---- */

void snapshots_close(struct snapshots *snapshots)
{
    while (!LIST_EMPTY(&snapshots->out))
        snapshot_drop_out(snapshots, LIST_FIRST(&snapshots->out), 0);
}

void snapshots_deinit(struct snapshots *snapshots)
{
    snapshots_close(snapshots);
    while (!TAILQ_EMPTY(&snapshots->in))
        snapshot_drop_in(snapshots, TAILQ_FIRST(&snapshots->in));
    buffer_deinit(&snapshots->outgoing);
}

void snapshots_remove_group(struct snapshots *snapshots, uint32_t group)
{
    for (struct snapshot_out *s = LIST_FIRST(&snapshots->out), *next; s != NULL; s = next) {
        next = LIST_NEXT(s, place);
        if (s->group == group)
            snapshot_drop_out(snapshots, s, 0);
    }
    struct snapshot_in *in = snapshot_find_in(snapshots, group);
    if (in != NULL)
        snapshot_drop_in(snapshots, in);
}
