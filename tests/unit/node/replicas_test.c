/* replicas_test.c - orders of the catalog to the replicas of a group of three nodes: orders that
 * come late, and orders that must wait for the group. */
#include "tests/check.h"

#include <errno.h>

#include "base/settings/storage.h"
#include "tests/support/group_fixture.h"

enum {
    KEPT_BYTES = 100000,
    CHECKPOINT_MS = 11000,
    LARGE_BYTES = 300000,
    HAND_BACK_MS = 10000, /* a group is with the node that should lead it again */
    AS_OF = 1000000       /* newer than all that the catalog says by itself */
};

struct scene {
    struct group_fixture g;
    struct buffer word;
};

static void scene_open(struct scene *s)
{
    struct config config;
    *s = (struct scene){0};
    group_configure(&config);
    config_edit_storage(&config)->map_max_bytes = 4 * MIB;
    group_open(&s->g, &config);
}

static void scene_close(struct scene *s)
{
    group_close(&s->g);
    buffer_deinit(&s->word);
}

static struct slice scene_word(struct scene *s, const struct partition_info *info)
{
    buffer_clear(&s->word);
    partition_info_encode(&s->word, info);
    return buffer_slice(&s->word);
}

static enum reply_code scene_order_members(struct scene *s, const struct partition_info *info)
{
    const struct request r = {
        .op = REQUEST_PARTITION_MEMBERS, .partition = info->id, .group.info = scene_word(s, info)};
    return group_send(&s->g, s->g.leader, r);
}

/* The table is deleted. */
static enum reply_code scene_order_close(struct scene *s, uint32_t node)
{
    const struct partition_info *info = &s->g.table.partitions[0];
    const struct request r = {
        .op = REQUEST_PARTITION_CLOSE,
        .partition = info->id,
        .replica = {.info = scene_word(s, info), .as_of = AS_OF, .table_deleted = true}};
    return group_send(&s->g, node, r);
}

/* RECONCILE-1: another leader would take the parts that are then pending. */
TEST(a_leader_that_has_given_its_word_keeps_its_group)
{
    struct scene s;
    scene_open(&s);
    struct group_fixture *g = &s.g;
    const struct partition_info *info = &g->table.partitions[0];
    const struct request query = {.op = REQUEST_PARTITION_CLOSE,
                                  .partition = info->id,
                                  .replica = {.info = scene_word(&s, info),
                                              .as_of = AS_OF,
                                              .table_deleted = true,
                                              .queries_leader = true}};
    group_hand_over(g, g->leader, g->other);
    group_send(g, g->other, query); /* answered once it is confirmed */
    while (!group_replica(g, g->other)->ended)
        frame_cluster_pass(g->w, 1);
    frame_cluster_pass(g->w, HAND_BACK_MS);
    assert_true(group_replica(g, g->other)->led != 0);
    scene_close(&s);
}

TEST(a_replica_is_closed_once_no_leader_relies_on_its_lease_grant)
{
    struct scene s;
    scene_open(&s);
    struct group_fixture *g = &s.g;
    const struct partition *p = group_replica(g, g->late);
    assert_true(raft_grants_lease(p->raft));
    assert_int_equal(scene_order_close(&s, g->late), REPLY_UNKNOWN);
    frame_cluster_pass(g->w, 100);
    assert_ptr_equal(group_replica(g, g->late), p);
    assert_true(raft_grants_lease(p->raft));
    assert_false(p->closing);
    assert_int_not_equal(group_replica(g, g->leader)->led, 0);
    scene_order_close(&s, g->leader); /* the leader resigns */
    frame_cluster_pass(g->w, 1000);
    assert_null(group_replica(g, g->late));
    scene_close(&s);
}

TEST(an_order_about_members_removes_none_that_came_after_it)
{
    struct scene s;
    scene_open(&s);
    struct group_fixture *g = &s.g;
    const struct partition_info older = g->table.partitions[0];
    struct partition_info newer = older;
    const struct raft *raft = group_replica(g, g->leader)->raft;
    newer.arrivals++;
    for (uint32_t i = 0; i < newer.member_count; i++) {
        if (partition_node(&newer, i) == g->late)
            newer.members[i] =
                raft_member_id(g->late, raft_member_generation(newer.members[i]), newer.arrivals);
    }
    assert_int_equal(scene_order_members(&s, &newer), REPLY_OVERLOADED);
    frame_cluster_pass(g->w, 100);
    assert_int_equal(raft_members_applied(raft)->count, older.member_count + 1);
    assert_int_equal(scene_order_members(&s, &older), REPLY_OVERLOADED);
    assert_int_equal(raft_members(raft)->count, older.member_count + 1);
    scene_close(&s);
}

/* An earlier leader's members may come back. */
TEST(members_are_as_required_once_their_change_is_committed)
{
    struct scene s;
    scene_open(&s);
    struct group_fixture *g = &s.g;
    struct partition_info info = g->table.partitions[0];
    const struct raft *raft = group_replica(g, g->leader)->raft;
    assert_int_equal(scene_order_members(&s, &info), REPLY_OK);
    for (uint32_t i = 0; i < info.member_count; i++) {
        if (partition_node(&info, i) == g->late)
            info.members[i] = info.members[info.member_count - 1];
    }
    info.member_count--;
    assert_int_equal(scene_order_members(&s, &info), REPLY_OVERLOADED);
    assert_int_equal(raft_members(raft)->count, info.member_count);
    assert_int_equal(scene_order_members(&s, &info), REPLY_OVERLOADED);
    frame_cluster_pass(g->w, 100);
    assert_int_equal(raft_members_applied(raft)->count, info.member_count);
    assert_int_equal(scene_order_members(&s, &info), REPLY_OK);
    scene_close(&s);
}

/* Whether the late node takes an entry of the leader. */
static bool scene_takes_entry(struct scene *s)
{
    struct group_fixture *g = &s->g;
    struct node *n = frame_cluster_node(g->w, g->late);
    const struct raft *raft = group_replica(g, g->late)->raft;
    const uint64_t last = raft_last(raft), term = raft_term_at(raft, last);
    const struct raft_entry entry = {.index = last + 1, .term = term, .kind = LOG_NOOP};
    const struct raft_entry *const entries[] = {&entry};
    const struct raft_message m = {.kind = RAFT_APPEND,
                                   .group = g->partition,
                                   .from = raft_leader(raft),
                                   .to = raft_self(raft),
                                   .term = term,
                                   .index = last,
                                   .log_term = term,
                                   .commit = raft_commit(raft),
                                   .entry_count = 1,
                                   .entries = entries};
    raft_driver_receive(&n->driver, g->leader, &m);
    return raft_last(raft) == last + 1;
}

/* PROPOSALS-1: what other leaders send fills the log too, and so do the node's own buckets. */
TEST(followers_and_buckets_leave_the_room_of_locks_on_a_full_disk)
{
    struct scene s;
    scene_open(&s);
    struct group_fixture *g = &s.g;
    struct node *n = frame_cluster_node(g->w, g->late);
    env_begin_event(&n->env, frame_cluster_clock(g->w, g->late));
    n->proposals.reserved_bytes += KEPT_BYTES;
    node_log_space(n, node_log_end(n) + KEPT_BYTES, ENOSPC);
    assert_false(proposals_leave_room(&n->proposals, 1));
    assert_false(scene_takes_entry(&s));
    n->proposals.reserved_bytes -= KEPT_BYTES;
    assert_true(proposals_leave_room(&n->proposals, 1));
    assert_true(scene_takes_entry(&s));
    scene_close(&s);
}

/* A tick tells once that support has lapsed. The log has no space then, and something else is done
 * for the replica in the same turn. */
TEST(a_follower_with_a_full_log_runs_when_its_leader_is_gone)
{
    struct scene s;
    scene_open(&s);
    struct group_fixture *g = &s.g;
    struct node *n = frame_cluster_node(g->w, g->late);
    struct partition *p = group_replica(g, g->late);
    const struct instant lapse = n->peers.liveness.peers[g->leader].given_until;
    assert_true(raft_grants_lease(p->raft));
    env_begin_event(&n->env, frame_cluster_clock(g->w, g->late));
    node_log_space(n, node_log_end(n), ENOSPC);
    raft_driver_stepped(&n->driver, p);
    node_tick(n, lapse);
    while (node_next_effect(n) != NULL)
        ;
    node_end_turn(n, lapse);
    while (node_next_effect(n) != NULL)
        ;
    assert_false(raft_grants_lease(p->raft));
    assert_true(p->deadline_place != 0);
    scene_close(&s);
}

/* What comes while a checkpoint is short of space makes the next one larger: it would not fit. */
TEST(a_follower_takes_entries_when_its_next_checkpoint_has_space_for_them)
{
    static const uint8_t bytes[10000] = {7};
    struct scene s;
    uint8_t key[] = {0xff, 0};
    scene_open(&s);
    struct node *n = frame_cluster_node(s.g.w, s.g.late);
    env_begin_event(&n->env, frame_cluster_clock(s.g.w, s.g.late));
    for (; proposals_may_follow(&n->proposals, 1); key[1]++) {
        assert_true(key[1] < 250);
        store_put(n->env.store, slice_make(key, sizeof key), slice_make(bytes, sizeof bytes));
    }
    assert_true(proposals_leave_room(&n->proposals, 1)); /* in the log */
    assert_false(scene_takes_entry(&s));
    assert_true(n->log.space_refused); /* so that a checkpoint is made */
    frame_cluster_pass(s.g.w, CHECKPOINT_MS);
    env_begin_event(&n->env, frame_cluster_clock(s.g.w, s.g.late));
    assert_true(scene_takes_entry(&s));
    scene_close(&s);
}

/* Otherwise groups that are led elsewhere take all that each checkpoint may cost (97827947). */
TEST(a_follower_leaves_a_part_of_each_checkpoint_for_its_own_deletions)
{
    static const uint8_t bytes[3000] = {7};
    struct scene s;
    uint8_t key[] = {0xff, 0, 0};
    scene_open(&s);
    struct node *n = frame_cluster_node(s.g.w, s.g.late);
    const struct operation deletion = {.from = 77,
                                       .request.op = REQUEST_DELETE,
                                       .request.write.key = {key, 3}},
                           put = {.from = 77,
                                  .request.op = REQUEST_PUT,
                                  .request.write.key = {key, 3}};
    env_begin_event(&n->env, frame_cluster_clock(s.g.w, s.g.late));
    while (proposals_may_follow(&n->proposals, 1)) {
        key[1] = (uint8_t)(key[1] + (++key[2] == 0));
        assert_true(key[1] < 200);
        store_put(n->env.store, slice_make(key, sizeof key), slice_make(bytes, sizeof bytes));
    }
    assert_false(proposals_leave_space(&n->proposals, 1));
    assert_false(proposals_may_write(&n->proposals, &put, 1));
    assert_true(proposals_may_write(&n->proposals, &deletion, 1));
    while (node_next_effect(n) != NULL) /* the refusal of the put */
        ;
    scene_close(&s);
}

/* A large entry would never fit, and keep out the deletions of other groups. */
TEST(a_full_follower_takes_small_entries_alone)
{
    static const uint8_t bytes[3000] = {7};
    struct scene s;
    uint8_t key[] = {0xff, 0, 0};
    scene_open(&s);
    struct node *n = frame_cluster_node(s.g.w, s.g.late);
    const struct space *space = store_space(n->env.store);
    while (space_for_change(space, 0, 1) == SPACE_THERE) {
        env_begin_event(&n->env, frame_cluster_clock(s.g.w, s.g.late));
        for (int i = 0; i < 6; i++) {
            key[1] = (uint8_t)(key[1] + (++key[2] == 0));
            store_put(n->env.store, slice_make(key, sizeof key), slice_make(bytes, sizeof bytes));
        }
        frame_cluster_pass(s.g.w, CHECKPOINT_MS);
    }
    env_begin_event(&n->env, frame_cluster_clock(s.g.w, s.g.late));
    assert_int_equal(space_for_change(space, 0, LARGE_BYTES), SPACE_FULL);
    assert_false(proposals_may_follow(&n->proposals, LARGE_BYTES));
    assert_true(proposals_may_follow(&n->proposals, 1));
    scene_close(&s);
}
