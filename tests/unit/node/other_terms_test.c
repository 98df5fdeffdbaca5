/* other_terms_test.c - between the moment at which a leader's term ends and the end of the turn,
 * its memory of that term is still there. Nothing may be added to it, and no answer to its
 * questions counts. */
#include "tests/check.h"

#include "engine/message/frames.h"
#include "engine/node/core/node_effect.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/index/index_feed_internal.h"
#include "engine/node/request/transaction_rows.h"
#include "engine/node/transaction/transactions_internal.h"
#include "engine/store/change_set.h"
#include "tests/support/transact_fixture.h"

static struct partition *scene_partition(struct transact_fixture *s)
{
    return partitions_find(&s->w.node->partitions, s->w.table.partitions[0].id);
}

static struct lock *scene_lock(struct transact_fixture *s, uint32_t name)
{
    lone_key(&s->w, name);
    return transactions_lock_of(scene_partition(s), buffer_slice(&s->w.key));
}

static uint64_t scene_questions(struct transact_fixture *s)
{
    struct transactions *t = &s->w.node->transactions;
    lock_table_wake(t, scene_partition(s)->locks, s->w.now);
    lone_pass(&s->w, 1);
    return t->questions;
}

/* TRANSACT-4: else the answer to one question would count for the next one. */
TEST(a_leader_sends_one_query_about_a_lock_at_a_time)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    const struct request get = lone_request(&s.w, REQUEST_GET, SECOND);
    assert_int_equal(transact_send(&s, &get), REPLY_OK); /* now the anchor's place is known */
    struct lock *l = scene_lock(&s, SECOND);
    const uint64_t before = scene_questions(&s);
    l->query_at = s.w.now;
    l->query = 1000;
    assert_int_equal(scene_questions(&s), before);
    l->query = 0;
    l->resolving = true; /* its end is proposed: there is nothing to ask */
    l->query_at = s.w.now;
    assert_int_equal(scene_questions(&s), before);
    l->resolving = false;
    l->applied = false; /* it may never be applied */
    l->query_at = s.w.now;
    assert_int_equal(scene_questions(&s), before);
    l->applied = true;
    scene_partition(&s)->frozen.index = 1; /* what a frozen partition proposes changes nothing */
    l->query_at = s.w.now;
    assert_int_equal(scene_questions(&s), before);
    scene_partition(&s)->frozen.index = 0;
    l->query_at = s.w.now;
    assert_int_equal(scene_questions(&s), before + 1);
    transact_close(&s);
}

TEST(an_answer_about_a_lock_of_another_term_counts_for_nothing)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    struct partition *p = scene_partition(&s);
    struct lock *l = scene_lock(&s, SECOND);
    struct reply reply = {.code = REPLY_OK, .kind = ANSWER_STATE};
    reply_edit_state(&reply)->decided = TRANSACTION_PENDING;
    const struct internal_call_answer answer = {.kind = INTERNAL_CALL_TRANSACT_QUERY,
                                                .subject = p->info.id,
                                                .token = l->number,
                                                .reply = &reply};
    l->query = 1000;
    p->led++;
    transactions_answered(&s.w.node->transactions, &answer);
    assert_int_equal(l->query, 1000);
    p->led--;
    transactions_answered(&s.w.node->transactions, &answer);
    assert_int_equal(l->pending_since, 1000);
    transact_close(&s);
}

/* TRANSACT-2: the record stays until each part has answered that it is done. */
TEST(a_part_that_was_refused_is_notified_again)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    struct partition *p = scene_partition(&s);
    const struct open_record *r = transactions_record_of(p, s.part.anchor, s.part.id);
    struct reply reply = {.code = REPLY_OVERLOADED};
    const struct internal_call_answer answer = {.kind = INTERNAL_CALL_TRANSACT_NOTIFY,
                                                .subject = p->info.id,
                                                .token = r->number << INDEX_BITS,
                                                .reply = &reply};
    env_begin_event(&s.w.node->env, s.w.now);
    transactions_answered(&s.w.node->transactions, &answer);
    assert_int_equal(r->notified[0], 0);
    reply.code = REPLY_OK;
    transactions_answered(&s.w.node->transactions, &answer);
    assert_int_equal(r->notified[0], 1);
    transact_close(&s);
}

/* WAIT-1: the questions that end the waiting need room, too. */
TEST(requests_that_wait_for_transactions_leave_slots_to_others)
{
    struct transact_fixture s;
    transact_open(&s);
    struct pending_requests *pending = &s.w.node->pending;
    const struct operation o = {.from = 1, .request = lone_request(&s.w, REQUEST_GET, FIRST)};
    env_begin_event(&s.w.node->env, s.w.now);
    for (uint32_t i = 0; i < pending->size; i++)
        pending_add_locked(pending, scene_partition(&s), &o);
    assert_int_equal(pending->locked, pending->size - pending->size / 8);
    pending_drop_reads(pending, scene_partition(&s), REPLY_STOPPED, "the test ends");
    assert_int_equal(pending->locked, 0);
    transact_close(&s);
}

/* Its table is deleted, and it is not closed yet. */
TEST(a_partition_that_has_ended_serves_nothing)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_partition(&s)->ended = true;
    lone_put(&s.w, FIRST, NEW);
    lone_assert_answer(&s.w, REPLY_WRONG_PARTITION);
    lone_send_to(&s.w, REQUEST_GET, FIRST);
    lone_assert_answer(&s.w, REPLY_WRONG_PARTITION);
    scene_partition(&s)->ended = false;
    assert_int_equal(lone_get(&s.w, FIRST), OLD);
    transact_close(&s);
}

TEST(a_lock_that_is_applied_in_another_term_is_not_remembered_for_the_former_one)
{
    struct transact_fixture s;
    struct buffer set = {0};
    struct change_set changes;
    struct change c;
    transact_open(&s);
    struct partition *p = scene_partition(&s);
    struct transaction_lock row = {
        .id = {5, 5}, .anchor = buffer_slice(&s.anchor), .kind = LOCK_CHECK};
    lone_key(&s.w, SECOND);
    change_set_begin(&set, 0, 0);
    transaction_rows_append_lock(&set, buffer_slice(&s.w.key), &row);
    change_set_reopen(buffer_slice(&set), &changes);
    assert_true(change_set_next(&changes, &c));
    env_begin_event(&s.w.node->env, s.w.now);
    p->led++;
    transactions_applied(&s.w.node->transactions, p, c.key, c.value);
    p->led--;
    assert_null(scene_lock(&s, SECOND));
    transactions_applied(&s.w.node->transactions, p, c.key, c.value);
    assert_non_null(scene_lock(&s, SECOND));
    buffer_deinit(&set);
    transact_close(&s);
}

TEST(a_read_that_was_confirmed_in_one_term_is_not_confirmed_in_the_next)
{
    struct transact_fixture s;
    transact_open(&s);
    struct partition *p = scene_partition(&s);
    struct pending_requests *pending = &s.w.node->pending;
    const struct operation o = {.from = 1, .request = lone_request(&s.w, REQUEST_GET, FIRST)};
    struct operation out;
    env_begin_event(&s.w.node->env, s.w.now);
    assert_true(pending_add_read(pending, p, &o, 0, 0));
    assert_true(pending_next_read(pending, p, &out));
    assert_true(out.confirmed == p->led);
    assert_true(pending_add_read(pending, p, &o, 0, 0));
    p->led++;
    assert_true(pending_next_read(pending, p, &out));
    assert_int_equal(out.confirmed, 0);
    p->led--;
    assert_true(pending_add_read(pending, p, &o, 0, raft_last(p->raft) + 1));
    assert_false(pending_next_read(pending, p, &out)); /* the entry is not applied */
    transact_close(&s);
}

/* The entry at a proposal's place is another leader's: who proposed is not told that it is done. */
TEST(an_entry_of_another_term_answers_no_proposal)
{
    struct transact_fixture s;
    transact_open(&s);
    lone_put(&s.w, FIRST, NEW);
    struct partition *p = scene_partition(&s);
    const struct inflight *first = STAILQ_FIRST(&p->proposals);
    const struct raft_entry other = {.index = first->index, .term = first->term + 1};
    assert_null(proposals_take(&s.w.node->proposals, p, &other));
    assert_ptr_equal(STAILQ_FIRST(&p->proposals), first);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OK);
    transact_close(&s);
}

/* It was proposed after the newer one, by a leader that had not applied that yet. */
TEST(an_older_word_of_the_catalog_that_comes_later_in_the_log_changes_nothing)
{
    struct transact_fixture s;
    transact_open(&s);
    struct partition *p = scene_partition(&s);
    struct partition_info info = p->info;
    const uint32_t versions[] = {info.indexes_version + 5, info.indexes_version + 3};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        env_begin_event(&s.w.node->env, s.w.now);
        info.indexes_version = versions[i];
        p->index_versions.proposed = 0;
        applier_propose_indexes(&s.w.node->applier, p, &info);
        assert_true(p->index_versions.proposed == p->led);
        lone_take_effects(&s.w);
        lone_write_all(&s.w);
        assert_int_equal(p->info.indexes_version, versions[0]);
    }
    transact_close(&s);
}

/* A write is proposed before the partition knows of the index: the index is filled behind it. */
TEST(writes_from_before_an_index_are_known_by_their_place_in_the_log)
{
    struct transact_fixture s;
    struct index x = {.name = slice_of("by-v"),
                      .table_id = 99,
                      .partition_count = 1,
                      .keys = {{slice_of("v"), ATTR_BINARY}},
                      .projection = PROJECT_ALL};
    const struct index_set set = {{slice_of("id"), ATTR_STRING}, {{NULL, 0}, 0}, 1, 0, &x};
    struct buffer indexes = {0};
    transact_open(&s);
    index_set_encode(&indexes, &set);
    struct partition *p = scene_partition(&s);
    struct partition_info info = p->info;
    info.indexes_version++;
    info.indexes = buffer_slice(&indexes);
    env_begin_event(&s.w.node->env, s.w.now);
    applier_propose_indexes(&s.w.node->applier, p, &info);
    const uint64_t last = raft_last(p->raft);
    applier_propose_indexes(&s.w.node->applier, p, &info);
    assert_true(raft_last(p->raft) == last); /* it is proposed already */
    lone_take_effects(&s.w);
    assert_true(lone_write_begin(&s.w));
    lone_put(&s.w, FIRST, NEW);
    lone_write_end(&s.w, 0);
    assert_int_equal(index_set_global(p->indexes), 1);
    assert_true(raft_applied(p->raft) < raft_last(p->raft));
    assert_true(p->index_versions.from == raft_last(p->raft));
    buffer_deinit(&indexes);
    transact_close(&s);
}

/* They may rest on older indexes, or on fewer sharded keys. */
TEST(a_new_leader_waits_for_the_entries_of_its_predecessors)
{
    struct transact_fixture s;
    transact_open(&s);
    const uint64_t last = raft_last(scene_partition(&s)->raft);
    lone_crash(&s.w);
    assert_true(scene_partition(&s)->index_versions.from >= last);
    assert_true(scene_partition(&s)->index_versions.key_sharding_from >= last);
    transact_close(&s);
}

/* Pages of one subject were made resident: they are not those of another one. */
TEST(a_scan_does_not_read_by_the_pages_of_another_one)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    w.resident_max = 0;
    lone_open(&w);
    struct pending_requests *pending = &w.node->pending;
    struct scan scan = {.state = SCAN_READY, .subject = 1};
    env_begin_event(&w.node->env, w.now);
    assert_false(pending_may_scan(pending, &scan, RESUME_BACKGROUND, 2, slice_of("key")));
    assert_int_equal(scan.state, SCAN_WAITING);
    scan = (struct scan){.state = SCAN_READY, .subject = 1};
    assert_true(pending_may_scan(pending, &scan, RESUME_BACKGROUND, 1, slice_of("key")));
    lone_deinit(&w);
}
