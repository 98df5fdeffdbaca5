/* transactions_in_flight_test.c - nothing is said of a write in flight, which may never be
 * committed (REFUSAL-1), and what is asked, kept or deleted meanwhile. */
#include "tests/check.h"

#include "engine/message/frames.h"
#include "engine/node/transaction/transactions.h"
#include "tests/support/expression_fixture.h"
#include "tests/support/transact_fixture.h"

enum {
    THIRD = 3 /* there is no such item */
};

TEST(a_token_that_is_in_flight_is_waited_for)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_at_once(&s, transact_prepared(&s, FIRST)), REPLY_UNKNOWN);
    transact_part(&s, 2, 1);
    assert_int_equal(transact_at_once(&s, transact_prepared(&s, FIRST)), REPLY_UNKNOWN);
    s.w.answer_count = 0;
    lone_write_all(&s.w);
    assert_int_equal(s.w.answer_count, 2);
    assert_int_equal(s.w.answers[1].code, REPLY_TOKEN_RUNS);
    transact_close(&s);
}

TEST(an_update_whose_token_is_in_flight_is_not_reported_as_done)
{
    struct transact_fixture s;
    transact_open(&s);
    struct request r = lone_request(&s.w, REQUEST_UPDATE, FIRST);
    r.write.item = lone_item(&s.w, NEW, 10);
    r.write.token.id = slice_make(s.token, sizeof s.token);
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    lone_write_all(&s.w);
    assert_int_equal(transact_at_once(&s, r), REPLY_OK);
    transact_close(&s);
}

TEST(a_transaction_of_one_entry_is_not_refused_for_a_write_in_flight)
{
    struct transact_fixture s;
    struct buffer program = {0}, parts = {0};
    transact_open(&s);
    expression_fixture_program(&program, "attribute_not_exists(v)");
    struct request put = lone_request(&s.w, REQUEST_PUT, THIRD);
    put.write.item = lone_item(&s.w, OLD, 10);
    assert_int_equal(transact_at_once(&s, put), REPLY_UNKNOWN);
    put = lone_request(&s.w, REQUEST_PUT, THIRD);
    put.write.item = lone_item(&s.w, NEW, 10);
    put.write.condition = buffer_slice(&program);
    request_encode(&parts, &put);
    struct request r = lone_request(&s.w, REQUEST_PUT, THIRD);
    const struct slice key = r.write.key;
    r.op = REQUEST_TRANSACT;
    *request_edit_transact(&r) = (struct request_transact){.key = key,
                                                           .parts = buffer_slice(&parts),
                                                           .transaction = buffer_slice(&s.other),
                                                           .mcu_min = 2 * MCU_PER_UNIT};
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    s.w.answer_count = 0;
    lone_write_all(&s.w);
    assert_int_equal(s.w.answer_count, 2);
    assert_int_equal(s.w.answers[1].code, REPLY_CONDITION_FAILED);
    buffer_deinit(&program);
    buffer_deinit(&parts);
    transact_close(&s);
}

/* TRANSACT-3: only a leader that has waited for long asks so that the transaction cannot begin any
 * more. */
TEST(a_question_about_a_part_does_not_refuse_its_transaction)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    const struct request get = lone_request(&s.w, REQUEST_GET, SECOND);
    assert_int_equal(transact_send(&s, &get), REPLY_OK);
    assert_int_equal(answer_version(lone_answer(&s.w)), OLD);
    transact_pass(&s, 100);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    transact_close(&s);
}

/* Until the sweep has found a token whose time is over. It is deleted in a turn soon. */
static void scene_pass_token(struct transact_fixture *s)
{
    const struct partition *p = transact_partition(s);
    for (int ms = 0; p->token_sweep.expired.size == 0; ms++) {
        assert_true(ms < 20 * 60000);
        lone_pass(&s->w, 1);
        lone_write_all(&s->w);
    }
}

static void scene_pass_deletion(struct transact_fixture *s)
{
    for (int ms = 0; ms < 100; ms++)
        lone_pass(&s->w, 1);
    lone_write_all(&s->w);
    assert_int_equal(transact_partition(s)->token_sweep.expired.size, 0);
}

/* A sweep that waits for cold pages may take longer than the time between two sweeps. */
TEST(a_node_rests_while_a_sweep_for_tokens_waits)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    lone_checkpoint_all(&s.w);
    s.w.resident_max = 0;
    lone_crash(&s.w);
    for (int ms = 0; ms < 3 * 60000; ms += 100) {
        lone_pass(&s.w, 100);
        lone_write_all(&s.w);
    }
    assert_true(transact_partition(&s)->token_sweep.on);
    for (int i = 0; i < 3; i++)
        lone_pass(&s.w, 1);
    assert_true(instant_before(s.w.now, node_deadline(s.w.node)));
    transact_close(&s);
}

/* A client may use its token again when its time is over. */
TEST(a_token_that_is_being_used_again_is_not_deleted)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    scene_pass_token(&s);
    transact_part(&s, 2, 1);
    assert_int_equal(transact_at_once(&s, transact_prepared(&s, FIRST)), REPLY_UNKNOWN);
    scene_pass_deletion(&s);
    transact_part(&s, 3, 1);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_TOKEN_RUNS);
    transact_close(&s);
}

/* Whether an update with the token was done now, and not before. */
static bool scene_update(struct transact_fixture *s)
{
    struct request r = lone_request(&s->w, REQUEST_UPDATE, FIRST);
    r.write.item = lone_item(&s->w, NEW, 10);
    r.write.token.id = slice_make(s->token, sizeof s->token);
    r.write.return_values = RETURN_NEW;
    assert_int_equal(transact_send(s, &r), REPLY_OK);
    return lone_answer(&s->w)->found;
}

TEST(a_token_that_was_used_again_is_not_deleted)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_true(scene_update(&s));
    assert_false(scene_update(&s));
    scene_pass_token(&s);
    assert_true(scene_update(&s));
    scene_pass_deletion(&s);
    assert_false(scene_update(&s));
    transact_close(&s);
}

/* What changed before the partition keeps marks is not known. */
TEST(an_item_is_unchanged_only_since_marks_are_kept)
{
    struct transact_fixture s;
    transact_open(&s);
    struct request get = lone_request(&s.w, REQUEST_GET, FIRST);
    get.get.transacts = true;
    assert_int_equal(transact_at_once(&s, get), REPLY_OK);
    const struct partition *p = transact_partition(&s);
    struct request r = lone_request(&s.w, REQUEST_GET, FIRST);
    const struct slice key = r.get.key;
    r.op = REQUEST_UNCHANGED;
    memset(&r.unchanged, 0, sizeof r.unchanged);
    r.unchanged.key = key;
    r.unchanged.since = (struct read_stamp){p->info.id, p->info.epoch, raft_applied(p->raft)};
    assert_int_equal(transact_at_once(&s, r), REPLY_OK);
    r.unchanged.since.index = 1; /* before the item was written */
    assert_int_equal(transact_at_once(&s, r), REPLY_LOCKED);
    transact_close(&s);
}
