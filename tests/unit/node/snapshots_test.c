/* snapshots_test.c - messages of snapshots that come late, and snapshots that must not go on. */
#include "tests/check.h"

#include "base/settings/replication.h"
#include "base/settings/storage.h"
#include "engine/message/frames.h"
#include "engine/node/node_internal.h"
#include "tests/support/group_fixture.h"

enum {
    ENVELOPE_HEAD_SIZE = 38 + LIVENESS_BEAT_SIZE,
    LEVELS_HEAD_SIZE = 76, /* of PEER_LEVELS, before a count */
    LEVELS_EACH_SIZE = 24,
    READS_SIZE = 20,
    LEASE_SIZE = 16,
    BEGIN = 1, /* as snapshots.c has them */
    CHUNK = 2,
    ACK = 3,
    RECEIVED_MAX = 64,
    WAIT_MS = 10000
};

/* A message about a snapshot of the group, as a node has heard it. */
struct received {
    uint32_t node;
    uint8_t kind;
    uint64_t from; /* member */
    uint64_t id;
    uint64_t sequence;   /* of CHUNK and ACK */
    uint64_t epoch;      /* of BEGIN */
    struct buffer frame; /* the whole envelope */
};

struct scene {
    struct group_fixture g;
    struct arena arena;
    struct received received[RECEIVED_MAX];
    size_t count;
};

static void scene_take(struct scene *s, uint32_t node, struct slice message, struct slice frame)
{
    struct reader r = {message, false};
    struct received h = {.node = node, .kind = reader_u8(&r)};
    const uint32_t group = reader_u32(&r);
    h.from = reader_u64(&r);
    reader_u64(&r);
    h.id = reader_u64(&r);
    if (group != s->g.partition)
        return;
    if (h.kind == BEGIN) {
        struct partition_row row;
        struct partition_info info;
        assert_int_equal(partition_row_decode(reader_sized(&r), &row), STATUS_OK);
        assert_int_equal(partition_info_decode(row.info, &info), STATUS_OK);
        h.epoch = info.epoch;
    } else {
        h.sequence = reader_u64(&r);
    }
    assert_false(r.failed);
    assert_true(s->count < RECEIVED_MAX);
    buffer_set(&h.frame, frame);
    s->received[s->count++] = h;
}

/* A message that is about no snapshot (peers.h). */
static void scene_skip(struct scene *s, enum peer_message kind, struct reader *r)
{
    struct raft_message m;
    if (kind == PEER_RAFT) {
        arena_reset(&s->arena);
        assert_int_equal(raft_message_decode(r, &s->arena, &m), STATUS_OK);
    } else if (kind == PEER_INITIAL_MEMBERS) {
        reader_sized(r);
    } else if (kind == PEER_LEVELS) {
        reader_take(r, LEVELS_HEAD_SIZE);
        reader_take(r, (size_t)reader_u8(r) * LEVELS_EACH_SIZE);
    } else {
        reader_take(r, kind == PEER_READS ? READS_SIZE : LEASE_SIZE);
    }
}

static void scene_receive(void *context, uint32_t node, struct slice frame)
{
    struct scene *s = context;
    struct reader r = {frame, false};
    if (frame.data[0] != MESSAGE_PEER)
        return;
    reader_take(&r, ENVELOPE_HEAD_SIZE);
    while (r.left.size > 0 && !r.failed) {
        const enum peer_message kind = reader_u8(&r);
        if (kind == PEER_SNAPSHOT)
            scene_take(s, node, reader_sized(&r), frame);
        else
            scene_skip(s, kind, &r);
    }
    assert_false(r.failed);
}

/* Chunks go out at this rate; the first one at once. */
static void scene_open_with(struct scene *s, struct config config, int64_t chunks_s)
{
    *s = (struct scene){0};
    config_edit_replication(&config)->snapshot_bytes_s = chunks_s * (64 << 10);
    config_edit_replication(&config)->snapshot_busy_bytes_s = chunks_s * (64 << 10);
    group_open(&s->g, &config);
    frame_cluster_watch(s->g.w, scene_receive, s);
}

static void scene_open(struct scene *s, int64_t chunks_s)
{
    struct config config;
    group_configure(&config);
    scene_open_with(s, config, chunks_s);
}

static void scene_close(struct scene *s)
{
    group_close(&s->g);
    arena_deinit(&s->arena);
    for (size_t i = 0; i < s->count; i++)
        buffer_deinit(&s->received[i].frame);
}

/* The first such message that `node` has heard from `from`. */
static const struct received *scene_find(const struct scene *s, uint32_t node, uint32_t from,
                                         uint8_t kind, uint64_t sequence)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct received *h = &s->received[i];
        if (h->node == node && raft_member_node(h->from) == from && h->kind == kind &&
            h->sequence == sequence)
            return h;
    }
    return NULL;
}

/* Passes time until the node hears it. */
static struct received scene_wait(struct scene *s, uint32_t node, uint32_t from, uint8_t kind,
                                  uint64_t sequence)
{
    const struct received *h;
    for (int ms = 0; (h = scene_find(s, node, from, kind, sequence)) == NULL; ms++) {
        assert_true(ms < WAIT_MS);
        frame_cluster_pass(s->g.w, 1);
    }
    return *h;
}

/* The node hears the same once more. */
static void scene_repeat(struct scene *s, const struct received *h)
{
    assert_true(frame_cluster_inject(s->g.w, PEER_NODE, raft_member_node(h->from), h->node,
                                     buffer_slice(&h->frame)));
}

/* A chunk that was sent twice is acknowledged twice. */
TEST(a_late_acknowledgement_counts_for_no_chunk)
{
    struct scene s;
    scene_open(&s, 10);
    struct group_fixture *g = &s.g;
    group_leave_behind(g);
    frame_cluster_heal(g->w, g->late);
    const struct received ack = scene_wait(&s, g->leader, g->late, ACK, 2);
    frame_cluster_pause(g->w, g->late, 400);
    frame_cluster_pass(g->w, 200); /* the second chunk is on its way */
    scene_repeat(&s, &ack);
    group_assert_caught_up(g, g->leader);
    assert_non_null(scene_find(&s, g->late, g->leader, CHUNK, 4));
    scene_close(&s);
}

/* Its sender would bring it again only after some seconds. */
TEST(a_chunk_for_which_the_memtable_has_no_room_waits_for_it)
{
    struct scene s;
    struct config config;
    group_configure(&config);
    config_edit_storage(&config)->memtable_max_bytes = 16 << 10; /* a chunk has 64 KiB */
    config_edit_replication(&config)->append_retry_ms = 60000;   /* a checkpoint ends the wait */
    scene_open_with(&s, config, 100);
    struct group_fixture *g = &s.g;
    group_leave_behind(g);
    frame_cluster_slow_checkpoints(g->w, g->late, 200);
    frame_cluster_heal(g->w, g->late);
    group_assert_caught_up(g, g->leader);
    uint64_t chunks = 0;
    for (size_t i = 0; i < s.count; i++) {
        if (s.received[i].node == g->late && s.received[i].kind == CHUNK)
            assert_int_equal(s.received[i].sequence, ++chunks);
    }
    assert_true(chunks >= 4);
    scene_close(&s);
}

static uint32_t scene_count(const struct scene *s, uint32_t node, uint8_t kind, uint64_t sequence)
{
    uint32_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->received[i].node == node && s->received[i].kind == kind &&
                 s->received[i].sequence == sequence;
    return count;
}

/* A sender without an answer gives the snapshot up, and begins it anew. Writes are refused from
 * twice memtable_max_bytes on: they have room beside the snapshot. */
TEST(a_chunk_that_waits_is_acknowledged_again_and_leaves_room_for_writes)
{
    enum {
        MEMTABLE_BYTES = 24 << 10
    };
    struct scene s;
    struct config config;
    group_configure(&config);
    config_edit_storage(&config)->memtable_max_bytes = MEMTABLE_BYTES;
    config_edit_replication(&config)->append_retry_ms = 60000;
    scene_open_with(&s, config, 100);
    struct group_fixture *g = &s.g;
    group_leave_behind(g);
    frame_cluster_slow_checkpoints(g->w, g->late, 200);
    frame_cluster_heal(g->w, g->late);
    const struct received chunk = scene_wait(&s, g->late, g->leader, CHUNK, 2);
    const uint32_t before = scene_count(&s, g->leader, ACK, 2);
    scene_repeat(&s, &chunk);
    for (int ms = 0; ms < 50; ms++) {
        frame_cluster_pass(g->w, 1);
        assert_true(store_active_bytes(frame_cluster_node(g->w, g->late)->env.store) <
                    2 * MEMTABLE_BYTES);
    }
    assert_int_equal(scene_count(&s, g->leader, ACK, 2), before + 1);
    group_assert_caught_up(g, g->leader);
    scene_close(&s);
}

static void scene_make_space_scarce(struct node *n, struct group_fixture *g)
{
    static const uint8_t bytes[30000] = {7};
    for (uint8_t key[] = {0xff, 0}; !space_is_scarce(store_space(n->env.store)); key[1]++) {
        assert_true(key[1] < 250);
        env_begin_event(&n->env, frame_cluster_clock(g->w, n->env.id));
        store_put(n->env.store, slice_make(key, sizeof key), slice_make(bytes, sizeof bytes));
        node_checkpoint_soon(n);
        frame_cluster_pass(g->w, 20);
    }
}

/* A write was refused for want of space. A snapshot that begins before the next checkpoint would
 * keep the pages that the checkpoint is to free. */
TEST(where_space_is_short_a_checkpoint_comes_before_a_snapshot)
{
    struct scene s;
    struct config config;
    group_configure(&config);
    config_edit_storage(&config)->map_max_bytes = 2 << 20;
    scene_open_with(&s, config, 100);
    struct group_fixture *g = &s.g;
    group_leave_behind(g);
    struct node *n = frame_cluster_node(g->w, g->leader);
    scene_make_space_scarce(n, g);
    n->log.space_refused = true; /* as a refused write leaves it */
    frame_cluster_heal(g->w, g->late);
    scene_wait(&s, g->late, g->leader, BEGIN, 0);
    assert_false(n->log.space_refused); /* a checkpoint has begun */
    group_assert_caught_up(g, g->leader);
    scene_close(&s);
}

/* The receiver has the chunk, and no room for it. Its sender waits, but not while it refuses writes
 * for want of the pages that the snapshot keeps: perhaps the receiver waits for it, too. */
TEST(a_full_receiver_is_not_waited_for_while_writes_are_refused)
{
    enum {
        TRIES_MS = 4 * 5 * 200 /* as snapshots.c has them, with append_retry_ms */
    };
    struct scene s;
    struct config config;
    group_configure(&config);
    config_edit_storage(&config)->map_max_bytes = 2 << 20;
    config_edit_storage(&config)->memtable_max_bytes = 16 << 10;
    config_edit_replication(&config)->append_retry_ms = 200;
    scene_open_with(&s, config, 100);
    struct group_fixture *g = &s.g;
    group_leave_behind(g);
    struct node *n = frame_cluster_node(g->w, g->leader);
    scene_make_space_scarce(n, g);
    frame_cluster_heal(g->w, g->late);
    scene_wait(&s, g->leader, g->late, ACK, 2);
    frame_cluster_slow_checkpoints(g->w, g->late, 60000); /* the second chunk finds no room */
    frame_cluster_pass(g->w, TRIES_MS);
    assert_true(store_keeps_pages(n->env.store));
    n->log.space_refused = true; /* as a refused write leaves it */
    for (int ms = 0; store_keeps_pages(n->env.store); ms++) {
        assert_true(ms < TRIES_MS);
        frame_cluster_pass(g->w, 1);
    }
    scene_close(&s);
}

/* Its sender leads no more, and its items are older than those of the present snapshot. */
TEST(a_chunk_of_an_earlier_snapshot_is_not_put_among_those_of_the_present_one)
{
    struct scene s;
    scene_open(&s, 5);
    struct group_fixture *g = &s.g;
    group_leave_behind(g);
    group_hand_over(g, g->leader, g->other); /* the catalog will have it handed back */
    frame_cluster_heal(g->w, g->late);
    scene_wait(&s, g->late, g->other, BEGIN, 0);
    group_put_all(g, 2);
    const struct received chunk = scene_wait(&s, g->late, g->other, CHUNK, 2);
    node_checkpoint_soon(frame_cluster_node(g->w, g->leader));
    frame_cluster_pass(g->w, 20);
    group_hand_over(g, g->other, g->leader);
    scene_wait(&s, g->late, g->leader, CHUNK, 1);
    frame_cluster_pass(g->w, 20); /* the next chunk goes out later */
    assert_null(scene_find(&s, g->late, g->leader, CHUNK, 2));
    scene_repeat(&s, &chunk);
    group_assert_caught_up(g, g->leader);
    assert_non_null(scene_find(&s, g->late, g->leader, CHUNK, 4));
    scene_close(&s);
}

/* Entries of the log would stay for it, and chunks go out in vain. */
TEST(a_node_that_leads_no_more_ends_its_snapshots)
{
    struct scene s;
    scene_open(&s, 1);
    struct group_fixture *g = &s.g;
    group_leave_behind(g);
    frame_cluster_heal(g->w, g->late);
    scene_wait(&s, g->late, g->leader, CHUNK, 1);
    const struct snapshots *snapshots = &frame_cluster_node(g->w, g->leader)->snapshots;
    assert_false(LIST_EMPTY(&snapshots->out));
    assert_int_not_equal(group_replica(g, g->leader)->hold, 0);
    group_hand_over(g, g->leader, g->other);
    assert_int_equal(partition_led_term(group_replica(g, g->leader)), 0);
    assert_true(LIST_EMPTY(&snapshots->out));
    assert_int_equal(group_replica(g, g->leader)->hold, 0);
    group_assert_caught_up(g, g->other);
    scene_close(&s);
}

/* ABSORB-4. The last checkpoint has the group as it was before the split. */
TEST(a_snapshot_from_before_a_split_is_not_sent)
{
    struct scene s;
    size_t begun = 0;
    scene_open(&s, 100);
    struct group_fixture *g = &s.g;
    group_leave_behind(g);
    const struct partition *p = group_replica(g, g->leader);
    const uint64_t before = p->info.epoch;
    group_split(g);
    for (int ms = 0; p->info.epoch == before; ms++) {
        assert_true(ms < WAIT_MS);
        frame_cluster_pass(g->w, 1);
    }
    frame_cluster_heal(g->w, g->late);
    scene_wait(&s, g->late, g->leader, BEGIN, 0);
    group_assert_caught_up(g, g->leader);
    for (size_t i = 0; i < s.count; i++) {
        if (s.received[i].kind != BEGIN)
            continue;
        assert_true(s.received[i].epoch > before);
        begun++;
    }
    assert_int_not_equal(begun, 0);
    scene_close(&s);
}

/* SPLIT-3. The late follower has the entry on its disk, and does not know that it is committed.
 * Its acknowledgement may have been the one that made the majority. */
TEST(a_split_is_applied_before_a_snapshot_overtakes_it)
{
    struct scene s;
    scene_open(&s, 100);
    struct group_fixture *g = &s.g;
    struct node *n = frame_cluster_node(g->w, g->late);
    const struct partition *p = group_replica(g, g->late);
    const uint64_t before = p->info.epoch;
    const struct raft_entry *e = NULL;
    group_split(g);
    for (int turn = 0; e == NULL || n->log.writer.written_lsn < p->logged_lsn; turn++) {
        assert_true(turn < 100000);
        frame_cluster_pass_us(g->w, 10);
        const struct raft_entry *last = raft_entry_at(p->raft, raft_last(p->raft));
        e = last != NULL && last->kind == LOG_SPLIT ? last : NULL;
    }
    assert_true(raft_applied(p->raft) < e->index);
    group_leave_behind(g);
    assert_int_equal(p->info.epoch, before);
    frame_cluster_heal(g->w, g->late);
    for (int turn = 0; !p->no_state; turn++) {
        assert_true(turn < 100000);
        frame_cluster_pass_us(g->w, 100);
    }
    assert_int_equal(g->table.partition_count, 2);
    const struct partition *child = partitions_find(&n->partitions, g->table.partitions[1].id);
    assert_non_null(child);
    assert_int_not_equal(raft_applied(child->raft), 0);
    group_assert_caught_up(g, g->leader);
    scene_close(&s);
}
