/* Two partitions of a node become one: what a frozen one refuses, what a word does that comes twice
 * or late, and what is on disk when a merge is said to be done. */
#include "tests/check.h"

#include "base/config.h"
#include "engine/catalog/catalog.h"
#include "engine/node/apply/applier_internal.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/node_internal.h"
#include "engine/transaction/transaction.h"
#include "tests/support/lone_node.h"

enum {
    NAMES = 40,
    OTHER_ID = 99, /* of a partition that the catalog does not know */
};

/* The table in two partitions, with items in both. */
struct scene {
    struct lone_node w;
    struct partition_info lower;
    struct partition_info upper;
    uint32_t in_lower; /* a name */
    uint32_t in_upper;
};

static void reconcile(struct lone_node *w)
{
    for (int i = 0; i < 20; i++) {
        lone_write_all(w);
        lone_pass(w, 50);
    }
    lone_write_all(w);
    w->answer_count = 0;
}

static bool is_in(struct lone_node *w, uint32_t name, const struct partition_info *p)
{
    lone_key(w, name);
    return slice_compare(buffer_slice(&w->key), p->lo) >= 0 &&
           slice_compare(buffer_slice(&w->key), p->hi) < 0;
}

static void scene_init_with(struct scene *s, uint8_t stream)
{
    struct lone_node *w = &s->w;
    lone_init(w, PROFILE_OFF);
    w->stream = stream;
    lone_open_table(w, 100, 100);
    lone_split_table(w);
    reconcile(w);
    lone_fetch_table(w);
    assert_int_equal(w->table.partition_count, 2);
    s->lower = w->table.partitions[0];
    s->upper = w->table.partitions[1];
    for (uint32_t name = 0; name < NAMES; name++) {
        if (is_in(w, name, &s->upper))
            s->in_upper = name;
        else
            s->in_lower = name;
        lone_put(w, name, name + 1);
        lone_write_all(w);
        lone_assert_answer(w, REPLY_OK);
    }
}

static void scene_init(struct scene *s)
{
    scene_init_with(s, 0);
}

/* Without the catalog, whose map stays as it is. */
static void send_merge(struct scene *s, const struct partition_info *p)
{
    struct buffer body = {0};
    partition_info_encode(&body, p);
    struct request r = {
        .op = REQUEST_PARTITION_MERGE, .partition = p->id, .group.info = buffer_slice(&body)};
    lone_send(&s->w, &r);
    buffer_deinit(&body);
}

static struct partition_info freezing(const struct scene *s)
{
    struct partition_info p = s->upper;
    p.merge = MERGE_FREEZE;
    p.merge_with = s->lower.id;
    return p;
}

static struct frozen freeze(struct scene *s)
{
    const struct partition_info p = freezing(s);
    send_merge(s, &p);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_OK);
    assert_int_not_equal(lone_answer(&s->w)->frozen.index, 0);
    return lone_answer(&s->w)->frozen;
}

static void thaw(struct scene *s)
{
    struct partition_info p = s->upper;
    p.merge = MERGE_THAW;
    p.merge_with = s->lower.id;
    p.epoch++;
    send_merge(s, &p);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_OK);
}

static struct partition_info absorbing(const struct scene *s, struct frozen frozen)
{
    struct partition_info p = s->lower;
    p.epoch++;
    p.hi = s->upper.hi;
    p.merge = MERGE_ABSORB;
    p.merge_with = s->upper.id;
    p.frozen_index = frozen.index;
    p.frozen_term = frozen.term;
    return p;
}

/* A leader that does not know of its predecessor's entry proposes the step once more. */
TEST(a_merge_that_is_in_the_log_twice_is_done_once)
{
    struct scene s;
    struct buffer body = {0};
    const struct operation self = {.from = FROM_SELF};
    scene_init(&s);
    struct node *n = s.w.node;
    const struct partition_info p = absorbing(&s, freeze(&s));
    partition_info_encode(&body, &p);
    env_begin_event(&n->env, s.w.now);
    for (int i = 0; i < 2; i++)
        assert_non_null(raft_driver_propose(&n->driver, partitions_find(&n->partitions, p.id),
                                            &self, LOG_MERGE, buffer_slice(&body),
                                            slice_make(NULL, 0)));
    lone_take_effects(&s.w);
    reconcile(&s.w);
    assert_false(node_is_stopped(n));
    assert_null(partitions_find(&n->partitions, s.upper.id));
    const struct partition *merged = partitions_find(&n->partitions, p.id);
    assert_int_equal(merged->info.epoch, p.epoch);
    assert_true(slice_equal(merged->info.hi, s.upper.hi));
    lone_assert_verified(&s.w, NAMES);
    buffer_deinit(&body);
    lone_deinit(&s.w);
}

TEST(a_range_that_another_entry_has_frozen_is_not_taken_over)
{
    struct scene s;
    scene_init(&s);
    struct frozen frozen = freeze(&s);
    frozen.term++;
    const struct partition_info p = absorbing(&s, frozen);
    send_merge(&s, &p);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OVERLOADED);
    assert_non_null(partitions_find(&s.w.node->partitions, s.upper.id));
    lone_deinit(&s.w);
}

TEST(records_of_streams_are_counted_where_they_come)
{
    struct scene s;
    scene_init_with(&s, 1 + STREAM_KEYS_ONLY);
    const struct partition_info p = absorbing(&s, freeze(&s));
    send_merge(&s, &p);
    reconcile(&s.w);
    const struct partition *merged = partitions_find(&s.w.node->partitions, p.id);
    assert_int_equal(merged->info.epoch, p.epoch);
    assert_int_equal(merged->stream.rows.count, NAMES);
    lone_assert_verified(&s.w, NAMES);
    lone_deinit(&s.w);
}

/* Splits the merged partition where the two met. Without the catalog. */
static void split_again(struct scene *s, const struct partition_info *merged)
{
    struct buffer body = {0};
    struct partition_split split = {.parent = *merged, .child_count = 1};
    split.parent.merge = split.parent.merge_with = 0;
    split.parent.hi = s->upper.lo;
    split.parent.epoch++;
    split.children[0] = split.parent;
    split.children[0].id = OTHER_ID;
    split.children[0].parent = merged->id;
    split.children[0].lo = s->upper.lo;
    split.children[0].hi = merged->hi;
    partition_split_encode(&body, &split);
    struct request r = {
        .op = REQUEST_PARTITION_SPLIT, .partition = merged->id, .split.bytes = buffer_slice(&body)};
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_OK);
    buffer_deinit(&body);
}

/* The partition `id` trims the first record of the piece `of`. */
static void trim_one(struct scene *s, uint32_t id, uint32_t of)
{
    struct node *n = s->w.node;
    const struct operation self = {.from = FROM_SELF};
    const struct partition *p = partitions_find(&n->partitions, of);
    struct store_cursor c;
    struct change gone = {.space = SPACE_STREAM};
    struct buffer set = {0};
    env_begin_event(&n->env, s->w.now);
    store_seek(n->env.store, key_in_space(p->info.lo, SPACE_STREAM_KEYS, &n->env.lent),
               key_in_space(p->info.hi, SPACE_STREAM_KEYS, &n->env.lent), false, &c);
    struct slice value;
    assert_int_equal(store_next(&c, &gone.key, &value), STATUS_OK);
    gone.old_size = (int64_t)value.size;
    change_set_begin(&set, 0, 0);
    change_set_append(&set, &gone);
    assert_non_null(raft_driver_propose(&n->driver, partitions_find(&n->partitions, id), &self,
                                        LOG_WRITE, buffer_slice(&set), slice_make(NULL, 0)));
    lone_take_effects(&s->w);
    lone_write_all(&s->w);
    buffer_deinit(&set);
}

TEST(records_of_streams_are_counted_in_the_piece_that_has_them)
{
    struct scene s;
    int64_t in_upper = 0;
    scene_init_with(&s, 1 + STREAM_KEYS_ONLY);
    for (uint32_t name = 0; name < NAMES; name++)
        in_upper += is_in(&s.w, name, &s.upper);
    const struct partition_info p = absorbing(&s, freeze(&s));
    send_merge(&s, &p);
    reconcile(&s.w);
    split_again(&s, &p);
    const struct partitions *held = &s.w.node->partitions;
    assert_true(
        partitions_find(held, p.id)->count.on); /* what is written now is counted once, too */
    struct request put = lone_request(&s.w, REQUEST_PUT, s.in_lower);
    put.write.item = lone_item(&s.w, NAMES + 1, 0);
    put.epoch = partitions_find(held, p.id)->info.epoch;
    lone_send(&s.w, &put);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OK);
    lone_assert_verified(&s.w, NAMES);
    trim_one(&s, p.id, p.id);
    reconcile(&s.w);
    assert_int_equal(partitions_find(held, OTHER_ID)->stream.rows.count, in_upper);
    assert_int_equal(partitions_find(held, p.id)->stream.rows.count, NAMES - in_upper);
    lone_assert_verified(&s.w, NAMES);
    lone_deinit(&s.w);
}

/* The entry that trims was on its way when the split was applied (seed 97781536). */
TEST(a_record_that_a_split_took_away_is_trimmed_by_its_new_partition_alone)
{
    struct scene s;
    scene_init_with(&s, 1 + STREAM_KEYS_ONLY);
    const struct partition_info p = absorbing(&s, freeze(&s));
    send_merge(&s, &p);
    reconcile(&s.w);
    split_again(&s, &p);
    reconcile(&s.w);
    const struct partition *lower = partitions_find(&s.w.node->partitions, p.id),
                           *upper = partitions_find(&s.w.node->partitions, OTHER_ID);
    const int64_t in_lower = lower->stream.rows.count, in_upper = upper->stream.rows.count;
    trim_one(&s, p.id, OTHER_ID);
    assert_int_equal(lower->stream.rows.count, in_lower);
    assert_int_equal(upper->stream.rows.count, in_upper);
    lone_assert_verified(&s.w, NAMES);
    trim_one(&s, OTHER_ID, OTHER_ID);
    assert_int_equal(upper->stream.rows.count, in_upper - 1);
    lone_assert_verified(&s.w, NAMES);
    lone_deinit(&s.w);
}

/* A snapshot brings half of what another replica holds. */
TEST(a_replica_does_not_give_way_to_a_part_of_its_range)
{
    struct scene s;
    scene_init(&s);
    struct node *n = s.w.node;
    uint8_t middle[12] = {0};
    memcpy(middle, s.upper.lo.data, sizeof middle);
    middle[4] = 0xC0;
    assert_false(merge_give_way(&n->applier, partitions_find(&n->partitions, s.lower.id),
                                s.upper.lo, slice_make(middle, sizeof middle)));
    assert_non_null(partitions_find(&n->partitions, s.upper.id));
    lone_deinit(&s.w);
}

static void send_open(struct scene *s, struct partition_info p)
{
    struct buffer word = {0};
    p.merge = MERGE_NONE;
    partition_info_encode(&word, &p);
    struct request r = {.op = REQUEST_PARTITION_OPEN,
                        .partition = p.id,
                        .replica = {.info = buffer_slice(&word), .as_of = 1000}};
    lone_send(&s->w, &r);
    buffer_deinit(&word);
}

/* ---- frozen ---- */

static void assert_refused(struct scene *s, enum request_op op, bool consistent)
{
    struct request r = lone_request(&s->w, op, s->in_upper);
    if (op == REQUEST_GET)
        r.get.consistent = consistent;
    if (op == REQUEST_RANGE) {
        r.range.consistent = consistent;
        r.range.lo = s->upper.lo;
        r.range.bytes_max = UINT32_MAX;
    }
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_STALE_MAP);
}

static void assert_serves_nothing(struct scene *s)
{
    assert_refused(s, REQUEST_GET, true);
    assert_refused(s, REQUEST_GET, false);
    assert_refused(s, REQUEST_RANGE, true);
    assert_refused(s, REQUEST_DELETE, false);
    assert_int_equal(lone_get(&s->w, s->in_lower), s->in_lower + 1);
}

TEST(a_frozen_partition_serves_nothing_until_it_is_thawed)
{
    struct scene s;
    scene_init(&s);
    freeze(&s);
    assert_serves_nothing(&s);
    lone_crash(&s.w);
    reconcile(&s.w);
    assert_serves_nothing(&s);
    lone_checkpoint_all(&s.w);
    lone_crash(&s.w);
    reconcile(&s.w);
    assert_serves_nothing(&s);
    thaw(&s);
    const struct partition_info late = freezing(&s); /* of the epoch before */
    send_merge(&s, &late);
    lone_assert_answer(&s.w, REPLY_STALE_MAP);
    s.w.table.partitions[1].epoch++;
    assert_int_equal(lone_get(&s.w, s.in_upper), s.in_upper + 1);
    lone_put(&s.w, s.in_upper, 99);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OK);
    lone_deinit(&s.w);
}

TEST(a_write_behind_the_entry_that_freezes_does_nothing)
{
    struct scene s;
    scene_init(&s);
    const struct partition_info p = freezing(&s);
    send_merge(&s, &p);
    s.w.answer_count = 0;
    struct request r = lone_request(&s.w, REQUEST_DELETE, s.in_upper);
    lone_send(&s.w, &r); /* into the log behind it */
    lone_write_all(&s.w);
    bool notified = false;
    for (size_t i = 0; i < s.w.answer_count; i++)
        notified |= s.w.answers[i].code == REPLY_STALE_MAP;
    assert_true(notified);
    struct frozen again = freeze(&s), first;
    const struct partition_info absorb = absorbing(&s, again);
    first = freeze(&s); /* said again, nothing changes */
    assert_memory_equal(&first, &again, sizeof first);
    send_merge(&s, &absorb);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OK);
    s.w.table.partitions[0].epoch++;
    s.w.table.partitions[0].hi = s.upper.hi;
    s.w.table.partition_count = 1;
    assert_int_equal(lone_get(&s.w, s.in_upper), s.in_upper + 1);
    lone_deinit(&s.w);
}

/* ---- taking over ---- */

TEST(nothing_is_taken_over_that_is_not_frozen)
{
    struct scene s;
    scene_init(&s);
    struct frozen frozen = {raft_last(partitions_find(&s.w.node->partitions, s.upper.id)->raft), 1};
    const struct partition_info absorb = absorbing(&s, frozen);
    send_merge(&s, &absorb);
    lone_assert_answer(&s.w, REPLY_OVERLOADED);
    lone_write_all(&s.w);
    assert_false(node_is_stopped(s.w.node));
    assert_int_equal(lone_get(&s.w, s.in_upper), s.in_upper + 1);
    lone_deinit(&s.w);
}

/* What the leader of another node has let into the log. */
TEST(a_node_stops_rather_than_guess_what_it_takes_over)
{
    struct scene s;
    struct buffer body = {0};
    scene_init(&s);
    struct frozen frozen = {raft_last(partitions_find(&s.w.node->partitions, s.upper.id)->raft), 1};
    const struct partition_info absorb = absorbing(&s, frozen);
    partition_info_encode(&body, &absorb);
    const struct operation o = {.from = ROUTER, .request.id = 1};
    struct partition *lower = partitions_find(&s.w.node->partitions, s.lower.id);
    assert_non_null(raft_driver_propose(&s.w.node->driver, lower, &o, LOG_MERGE,
                                        buffer_slice(&body), slice_make(NULL, 0)));
    lone_pass(&s.w, 1);
    while (!node_is_stopped(s.w.node) && (s.w.in_flight != NULL || lone_write_begin(&s.w)))
        lone_write_end(&s.w, 0);
    buffer_deinit(&body);
    assert_true(node_is_stopped(s.w.node));
    assert_non_null(partitions_find(&s.w.node->partitions, s.upper.id));
    lone_deinit(&s.w);
}

/* Until the lower replica has taken over. The record of that is not on disk. */
static void absorb(struct scene *s, const struct partition_info *lower)
{
    send_merge(s, lower);
    while (partitions_find(&s->w.node->partitions, s->upper.id) != NULL) {
        assert_true(lone_write_begin(&s->w));
        lone_write_end(&s->w, 0);
    }
}

static void absorb_without_its_record_on_disk(struct scene *s, struct partition_info *lower)
{
    scene_init(s);
    *lower = absorbing(s, freeze(s));
    absorb(s, lower);
}

/* ABSORB-3. Or the catalog takes the upper partition for gone, and what a node holds of it is
 * erased, when the node dies, forgets the merge, and needs that. */
TEST(a_merge_is_reported_as_done_once_it_is_on_disk)
{
    struct scene s;
    struct partition_info lower;
    absorb_without_its_record_on_disk(&s, &lower);
    send_open(&s, lower);
    lone_assert_answer(&s.w, REPLY_OVERLOADED);
    lone_write_all(&s.w);
    send_open(&s, lower);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OK);
    lone_crash(&s.w);
    assert_null(partitions_find(&s.w.node->partitions, s.upper.id));
    assert_int_equal(partitions_find(&s.w.node->partitions, lower.id)->info.epoch, lower.epoch);
    reconcile(&s.w);
    lone_assert_verified(&s.w, NAMES);
    lone_deinit(&s.w);
}

TEST(a_merge_that_a_crash_lost_is_done_again)
{
    struct scene s;
    struct partition_info lower;
    absorb_without_its_record_on_disk(&s, &lower);
    lone_crash(&s.w);
    reconcile(&s.w);
    assert_null(partitions_find(&s.w.node->partitions, s.upper.id));
    lone_assert_verified(&s.w, NAMES);
    lone_deinit(&s.w);
}

/* What is behind the entry changes nothing, so it is not waited for. */
TEST(a_lock_behind_the_entry_that_freezes_is_none)
{
    struct scene s;
    scene_init(&s);
    uint8_t token[TRANSACTION_TOKEN_SIZE] = {7};
    struct transaction_part part = {.id = {1, 1}, .token = slice_make(token, sizeof token)};
    struct buffer bytes = {0};
    const struct partition_info p = freezing(&s);
    struct request r = lone_request(&s.w, REQUEST_DELETE, s.in_upper);
    part.anchor = r.write.key;
    transaction_part_walk(&(struct codec){.out = &bytes}, &part);
    r.write.transaction = buffer_slice(&bytes);
    send_merge(&s, &p);
    s.w.answer_count = 0;
    lone_send(&s.w, &r); /* into the log behind it */
    lone_write_all(&s.w);
    s.w.answer_count = 0;
    thaw(&s);
    s.w.table.partitions[1].epoch++;
    lone_put(&s.w, s.in_upper, 99);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OK);
    buffer_deinit(&bytes);
    lone_deinit(&s.w);
}

/* The store has the upper replica frozen by the first merge, which was given up. */
static void absorb_in_a_second_merge(struct scene *s)
{
    scene_init(s);
    freeze(s);
    lone_checkpoint_all(&s->w);
    thaw(s);
    s->upper.epoch++;
    const struct partition_info lower = absorbing(s, freeze(s));
    absorb(s, &lower);
}

static void assert_starts_merged(struct scene *s)
{
    lone_crash(&s->w);
    reconcile(&s->w);
    assert_false(node_is_stopped(s->w.node));
    assert_null(partitions_find(&s->w.node->partitions, s->upper.id));
    lone_assert_verified(&s->w, NAMES);
}

TEST(a_second_merge_is_replayed_over_the_freeze_of_one_that_was_given_up)
{
    struct scene s;
    absorb_in_a_second_merge(&s);
    lone_write_all(&s.w);
    assert_starts_merged(&s);
    lone_deinit(&s.w);
}

TEST(a_second_merge_that_a_crash_lost_is_done_again)
{
    struct scene s;
    absorb_in_a_second_merge(&s);
    assert_starts_merged(&s);
    lone_deinit(&s.w);
}

TEST(a_late_word_opens_nothing_that_was_taken_over)
{
    struct scene s;
    struct partition_info lower;
    absorb_without_its_record_on_disk(&s, &lower);
    lone_write_all(&s.w);
    send_open(&s, s.upper);
    lone_assert_answer(&s.w, REPLY_OVERLOADED);
    lone_write_all(&s.w);
    assert_null(partitions_find(&s.w.node->partitions, s.upper.id));
    lone_deinit(&s.w);
}

TEST(words_that_make_no_sense_are_refused)
{
    struct scene s;
    scene_init(&s);
    struct partition_info p = s.upper; /* no step */
    send_merge(&s, &p);
    lone_assert_answer(&s.w, REPLY_MALFORMED);
    p = freezing(&s);
    p.id = 4711;
    send_merge(&s, &p);
    lone_assert_answer(&s.w, REPLY_WRONG_PARTITION);
    p = freezing(&s);
    p.epoch++;
    send_merge(&s, &p);
    lone_assert_answer(&s.w, REPLY_STALE_MAP);
    p = absorbing(&s, (struct frozen){1, 1});
    p.hi = s.lower.hi; /* nothing is taken over */
    send_merge(&s, &p);
    lone_assert_answer(&s.w, REPLY_STALE_MAP);
    lone_deinit(&s.w);
}
