/* other_terms_test.c - between the moment at which a leader's term ends and the end of the turn, its memory of
 * that term is still there. Nothing may be added to it, and no answer to its questions counts. */
#include "tests/check.h"

#include "engine/message/frames.h"
#include "engine/node/feed_internal.h"
#include "engine/node/node_effect.h"
#include "engine/node/operation.h"
#include "engine/node/owned_keys.h"
#include "engine/node/transaction_rows.h"
#include "engine/node/transactions_internal.h"
#include "engine/store/change_set.h"
#include "tests/support/transact_scene.h"

static struct partition *scene_partition(struct transact_scene *s)
{
    return partitions_find(&s->w.node->partitions, s->w.table.partitions[0].id);
}

static struct lock *scene_lock(struct transact_scene *s, uint32_t name)
{
    lone_key(&s->w, name);
    return transactions_lock_of(scene_partition(s), buffer_slice(&s->w.key));
}

static uint64_t scene_questions(struct transact_scene *s)
{
    struct transactions *t = &s->w.node->transactions;
    lock_table_wake(t, scene_partition(s)->locks, s->w.now);
    lone_pass(&s->w, 1);
    return t->questions;
}

/* TRANSACT-4: else the answer to one question would count for the next one. */
TEST(a_leader_asks_one_question_about_a_lock_at_a_time)
{
    struct transact_scene s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    const struct request get = lone_request(&s.w, REQUEST_GET, SECOND);
    assert_int_equal(transact_ask(&s, &get), REPLY_OK); /* now the anchor's place is known */
    struct lock *l = scene_lock(&s, SECOND);
    const uint64_t before = scene_questions(&s);
    l->ask_at = s.w.now;
    l->asking = 1000;
    assert_int_equal(scene_questions(&s), before);
    l->asking = 0;
    l->resolving = true; /* its end is proposed: there is nothing to ask */
    l->ask_at = s.w.now;
    assert_int_equal(scene_questions(&s), before);
    l->resolving = false;
    l->applied = false; /* it may never be applied */
    l->ask_at = s.w.now;
    assert_int_equal(scene_questions(&s), before);
    l->applied = true;
    l->ask_at = s.w.now;
    assert_int_equal(scene_questions(&s), before + 1);
    transact_close(&s);
}

TEST(an_answer_about_a_lock_of_another_term_counts_for_nothing)
{
    struct transact_scene s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    struct partition *p = scene_partition(&s);
    struct lock *l = scene_lock(&s, SECOND);
    struct reply reply = {.code = REPLY_OK, .kind = ANSWER_STATE};
    reply_edit_state(&reply)->decided = TRANSACTION_PENDING;
    const struct call_answer answer = {
        .kind = CALL_TRANSACT_ASK, .subject = p->info.id, .token = l->number, .reply = &reply};
    l->asking = 1000;
    p->led++;
    transactions_answered(&s.w.node->transactions, &answer);
    assert_int_equal(l->asking, 1000);
    p->led--;
    transactions_answered(&s.w.node->transactions, &answer);
    assert_int_equal(l->pending_since, 1000);
    transact_close(&s);
}

TEST(a_lock_that_is_applied_in_another_term_is_not_remembered_for_the_former_one)
{
    struct transact_scene s;
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
    struct transact_scene s;
    transact_open(&s);
    struct partition *p = scene_partition(&s);
    struct waiters *waiters = &s.w.node->waiters;
    const struct operation o = {.from = 1, .request = lone_request(&s.w, REQUEST_GET, FIRST)};
    struct operation out;
    env_begin_event(&s.w.node->env, s.w.now);
    assert_true(waiters_add_read(waiters, p, &o, 0, 0));
    assert_true(waiters_next_read(waiters, p, &out));
    assert_true(out.confirmed == p->led);
    assert_true(waiters_add_read(waiters, p, &o, 0, 0));
    p->led++;
    assert_true(waiters_next_read(waiters, p, &out));
    assert_int_equal(out.confirmed, 0);
    p->led--;
    assert_true(waiters_add_read(waiters, p, &o, 0, raft_last(p->raft) + 1));
    assert_false(waiters_next_read(waiters, p, &out)); /* the entry is not applied */
    transact_close(&s);
}
