/* counter_cells_test.c - an update of a counter's cell has a token, and is done once. */
#include "base/config.h"
#include "engine/expression/update_program.h"
#include "engine/item/number.h"
#include "engine/transaction/transaction.h"
#include "tests/check.h"
#include "tests/support/lone_node.h"

enum {
    CELL = 1,
    KNOWN_MS = 10 * 60000
};

struct scene {
    struct lone_node w;
    struct arena arena;
    struct buffer program; /* ADD c :one */
    uint8_t token[TRANSACTION_TOKEN_SIZE];
};

static void scene_open(struct scene *s)
{
    struct number one;
    uint8_t body[NUMBER_ENCODED_MAX];
    *s = (struct scene){0};
    assert_int_equal(number_parse(slice_of("1"), &one), NUMBER_OK);
    struct expression_name value = {
        .key = slice_of(":one"),
        .value = {ATTR_NUMBER, slice_make(body, number_encode(&one, body))}};
    struct expression_names names = {.values = &value, .value_count = 1};
    struct expression_fault fault;
    const struct update *u = update_parse(slice_of("ADD c :one"), &names, &s->arena, &fault);
    assert_non_null(u);
    assert_true(update_program_encode(&s->program, u));
    lone_init(&s->w, PROFILE_OFF);
    lone_open_table(&s->w, 100, 100);
}

static void scene_close(struct scene *s)
{
    lone_deinit(&s->w);
    arena_deinit(&s->arena);
    buffer_deinit(&s->program);
}

static void scene_send(struct scene *s, uint8_t token, bool only)
{
    struct item_writer writer;
    struct request r = lone_request(&s->w, REQUEST_UPDATE, CELL);
    buffer_clear(&s->w.item);
    item_begin(&writer, &s->w.item);
    item_name(&writer, slice_of("id"));
    item_string(&writer, slice_of("1"));
    item_end(&writer);
    memset(s->token, token, sizeof s->token);
    r.write.item = buffer_slice(&s->w.item);
    r.write.update = buffer_slice(&s->program);
    r.write.token.id = slice_make(s->token, sizeof s->token);
    r.write.token.only = only;
    lone_send(&s->w, &r);
}

static enum reply_code scene_add(struct scene *s, uint8_t token, bool only)
{
    scene_send(s, token, only);
    lone_write_all(&s->w);
    return lone_answer(&s->w)->code;
}

/* The number in the cell. */
static int scene_count(struct scene *s)
{
    struct attr c;
    struct number n;
    size_t used;
    char text[NUMBER_TEXT_MAX];
    lone_send_to(&s->w, REQUEST_GET, CELL);
    const struct answer *a = lone_answer(&s->w);
    if (!a->found)
        return 0;
    assert_true(item_find(buffer_slice(&a->body), slice_of("c"), &c));
    assert_int_equal(number_decode(c.body, &n, &used), STATUS_OK);
    number_format(&n, text);
    return atoi(text);
}

TEST(an_addition_that_is_repeated_counts_once)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_add(&s, 1, false), REPLY_OK);
    assert_int_equal(scene_add(&s, 1, false), REPLY_OK);
    assert_int_equal(scene_count(&s), 1);
    assert_int_equal(scene_add(&s, 2, false), REPLY_OK);
    assert_int_equal(scene_count(&s), 2);
    lone_crash(&s.w);
    assert_int_equal(scene_add(&s, 1, false), REPLY_OK);
    assert_int_equal(scene_count(&s), 2);
    scene_close(&s);
}

/* The first one is on its way to the disk when the second one comes: both are answered, and one
 * counts. */
TEST(an_addition_that_is_repeated_too_early_counts_once)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_send(&s, 1, false);
    scene_send(&s, 1, false);
    assert_int_equal(s.w.answer_count, 0);
    lone_write_all(&s.w);
    assert_int_equal(s.w.answer_count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(s.w.answers[i].code, REPLY_OK);
    assert_int_equal(scene_count(&s), 1);
    scene_close(&s);
}

TEST(a_question_about_a_token_adds_nothing)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_add(&s, 1, true), REPLY_ABORTED);
    assert_int_equal(scene_count(&s), 0);
    assert_int_equal(scene_add(&s, 1, false), REPLY_OK);
    assert_int_equal(scene_add(&s, 1, true), REPLY_OK);
    assert_int_equal(scene_count(&s), 1);
    scene_close(&s);
}

TEST(a_token_is_known_for_ten_minutes)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_add(&s, 1, false), REPLY_OK);
    lone_pass(&s.w, KNOWN_MS - 1000);
    lone_write_all(&s.w);
    assert_int_equal(scene_add(&s, 1, true), REPLY_OK);
    lone_pass(&s.w, 2000);
    lone_write_all(&s.w);
    assert_int_equal(scene_add(&s, 1, true), REPLY_ABORTED);
    scene_close(&s);
}

TEST(a_token_of_another_size_is_refused)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    struct request r = lone_request(&s.w, REQUEST_UPDATE, CELL);
    r.write.update = buffer_slice(&s.program);
    r.write.token.id = slice_make(s.token, sizeof s.token - 1);
    lone_send(&s.w, &r);
    lone_assert_answer(&s.w, REPLY_MALFORMED);
    r = lone_request(&s.w, REQUEST_UPDATE, CELL);
    r.write.update = buffer_slice(&s.program);
    r.write.token.only = true;
    lone_send(&s.w, &r);
    lone_assert_answer(&s.w, REPLY_MALFORMED);
    scene_close(&s);
}
