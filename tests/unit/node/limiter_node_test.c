/* limiter_node_test.c - a command of the rate limiter at a node: it is judged and run where the
 * item is, once for a token. */
#include "base/config.h"
#include "engine/limiter/bucket.h"
#include "engine/transaction/transaction.h"
#include "tests/check.h"
#include "tests/support/expression_fixture.h"
#include "tests/support/lone_node.h"

enum {
    ITEM = 1
};

struct scene {
    struct lone_node w;
    struct buffer command;
    uint8_t token[TRANSACTION_TOKEN_SIZE];
};

static void scene_open(struct scene *s)
{
    *s = (struct scene){0};
    lone_init(&s->w, PROFILE_OFF);
    lone_open_table(&s->w, 100, 100);
}

static void scene_close(struct scene *s)
{
    lone_deinit(&s->w);
    buffer_deinit(&s->command);
}

/* Takes so many tokens of 10 a minute. Token 0: the request has none. */
static struct request scene_take(struct scene *s, int64_t tokens, uint8_t token, uint64_t digest)
{
    struct item_writer writer;
    struct request r = lone_request(&s->w, REQUEST_UPDATE, ITEM);
    struct limiter_command command = {
        .verb = LIMITER_TAKE,
        .sender_map = {.count = 1},
        .limits = {.version = 1, .count = 1, .at = {{slice_of("rpm"), 10000, 10000, 60000, 1000}}},
        .amounts = {1000 * tokens},
        .mwcu = 1000};
    buffer_clear(&s->command);
    limiter_command_walk(&(struct codec){.out = &s->command}, &command);
    buffer_clear(&s->w.item);
    item_begin(&writer, &s->w.item);
    item_name(&writer, slice_of("id"));
    item_string(&writer, slice_of("1"));
    item_end(&writer);
    memset(s->token, token, sizeof s->token);
    r.write.item = buffer_slice(&s->w.item);
    r.write.limiter = buffer_slice(&s->command);
    r.write.token.id = slice_make(s->token, token > 0 ? sizeof s->token : 0);
    r.write.token.digest = digest;
    r.write.return_values = RETURN_NEW;
    r.write.return_failed = true;
    return r;
}

static const struct answer *scene_send(struct scene *s, struct request *r)
{
    lone_send(&s->w, r);
    lone_write_all(&s->w);
    return lone_answer(&s->w);
}

/* The tokens of the bucket in an answer, in thousandths. */
static int64_t tokens_of(const struct answer *a)
{
    struct limiter_bucket b;
    assert_true(a->found);
    assert_true(limiter_bucket_decode(buffer_slice(&a->body), &b));
    return b.balances[0].tokens;
}

TEST(a_command_makes_the_item_and_changes_it)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    struct request r = scene_take(&s, 3, 0, 0);
    const struct answer *a = scene_send(&s, &r);
    assert_int_equal(a->code, REPLY_OK);
    assert_int_equal(tokens_of(a), 7000);
    r = scene_take(&s, 7, 0, 0);
    assert_int_equal(tokens_of(scene_send(&s, &r)), 0);
    scene_close(&s);
}

TEST(a_refusal_brings_its_reason_and_the_item_and_changes_nothing)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    struct request r = scene_take(&s, 6, 0, 0);
    scene_send(&s, &r);
    r = scene_take(&s, 5, 0, 0);
    const struct answer *a = scene_send(&s, &r);
    assert_int_equal(a->code, REPLY_CONDITION_FAILED);
    assert_int_equal(a->fault, LIMITER_TOO_FEW_TOKENS);
    assert_int_equal(tokens_of(a), 4000);
    r = scene_take(&s, 4, 0, 0);
    assert_int_equal(tokens_of(scene_send(&s, &r)), 0);
    scene_close(&s);
}

TEST(a_token_is_taken_once_and_for_one_request_only)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    struct request r = scene_take(&s, 3, 1, 5);
    assert_int_equal(tokens_of(scene_send(&s, &r)), 7000);
    r = scene_take(&s, 3, 1, 5);
    const struct answer *a = scene_send(&s, &r);
    assert_int_equal(a->code, REPLY_OK);
    assert_false(a->found); /* it was done before */
    r = scene_take(&s, 3, 1, 6);
    assert_int_equal(scene_send(&s, &r)->code, REPLY_TOKEN_MISMATCH);
    lone_crash(&s.w);
    r = scene_take(&s, 3, 1, 5);
    assert_int_equal(scene_send(&s, &r)->code, REPLY_OK);
    r = scene_take(&s, 7, 2, 5);
    assert_int_equal(tokens_of(scene_send(&s, &r)), 0);
    scene_close(&s);
}

/* The request was not done, so its token is not known: later it may be. */
TEST(a_refused_request_leaves_no_token)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    struct request r = scene_take(&s, 11, 1, 5);
    assert_int_equal(scene_send(&s, &r)->code, REPLY_CONDITION_FAILED);
    r = scene_take(&s, 2, 1, 7);
    assert_int_equal(tokens_of(scene_send(&s, &r)), 8000);
    scene_close(&s);
}

TEST(a_command_is_the_whole_update)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    struct request r = scene_take(&s, 1, 0, 0);
    r.write.condition = slice_of("x");
    assert_int_equal(scene_send(&s, &r)->code, REPLY_MALFORMED);
    r = scene_take(&s, 1, 0, 0);
    r.write.limiter.size--;
    assert_int_equal(scene_send(&s, &r)->code, REPLY_MALFORMED);
    /* A condition that is a program, and holds: nobody would evaluate it. */
    struct buffer program = {0};
    expression_fixture_program(&program, "attribute_not_exists(x)");
    r = scene_take(&s, 1, 0, 0);
    r.write.condition = buffer_slice(&program);
    assert_int_equal(scene_send(&s, &r)->code, REPLY_MALFORMED);
    r = scene_take(&s, 10, 0, 0);
    assert_int_equal(tokens_of(scene_send(&s, &r)), 0); /* no token was taken before */
    buffer_deinit(&program);
    scene_close(&s);
}
