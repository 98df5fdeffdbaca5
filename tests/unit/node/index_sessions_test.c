/* Rows of a global index that come late: from a feed that has given them up, or whose leader was
 * replaced. The partition runs with and without the mutations that let such rows in. */
#include "base/config.h"
#include "base/mutation.h"
#include "engine/item/storage_key.h"
#include "engine/message/index_messages.h"
#include "tests/check.h"
#include "tests/support/lone_node.h"

struct scene {
    struct lone_node w;
    struct buffer key; /* of a row */
};

static void scene_open(struct scene *s)
{
    *s = (struct scene){0};
    lone_init(&s->w, PROFILE_OFF);
    lone_open_table(&s->w, 1000, 1000);
}

static void scene_close(struct scene *s)
{
    lone_deinit(&s->w);
    buffer_deinit(&s->key);
}

/* A session for the base keys between these letters; NULL: to the end. */
static uint64_t scene_session(struct scene *s, const char *lo, const char *hi)
{
    struct request r = lone_request(&s->w, REQUEST_INDEX_SESSION, 0);
    request_edit_session(&r)->lo = slice_of(lo);
    request_edit_session(&r)->hi = hi != NULL ? slice_of(hi) : slice_make(NULL, 0);
    lone_send(&s->w, &r);
    lone_assert_answer(&s->w, REPLY_OK);
    assert_int_not_equal(lone_answer(&s->w)->session, 0);
    return lone_answer(&s->w)->session;
}

/* version 0: the row goes. */
static enum reply_code scene_write(struct scene *s, uint64_t session, uint32_t row,
                                   uint32_t version)
{
    struct request r = lone_request(&s->w, version != 0 ? REQUEST_PUT : REQUEST_DELETE, row);
    if (version != 0)
        r.write.item = lone_item(&s->w, version, 10);
    r.write.origin = session != 0 ? WRITE_BY_FEED : WRITE_BY_CLIENT;
    r.write.session = session;
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    return lone_answer(&s->w)->code;
}

/* The first feed has written row 1 and heard nothing. Its successor writes row 1 again, then row 2
 * in its place. Now the first feed's write arrives once more. Whether row 1 is back. */
static bool a_late_row_is_back(enum mutation mutation)
{
    struct scene s;
    scene_open(&s);
    const uint64_t first = scene_session(&s, "a", "m");
    assert_int_equal(scene_write(&s, first, 1, 7), REPLY_OK);
    mutation_active = mutation;
    const uint64_t second = scene_session(&s, "c", NULL);
    assert_int_equal(scene_write(&s, second, 1, 7), REPLY_OK);
    assert_int_equal(scene_write(&s, second, 1, 0), REPLY_OK);
    assert_int_equal(scene_write(&s, second, 2, 8), REPLY_OK);
    const enum reply_code code = scene_write(&s, first, 1, 7);
    mutation_active = MUTATION_NONE;
    assert_true(code == REPLY_OK || code == REPLY_STALE_MAP);
    assert_int_equal(lone_get(&s.w, 2), 8);
    const bool back = lone_get(&s.w, 1) != 0;
    assert_int_equal(back, code == REPLY_OK);
    scene_close(&s);
    return back;
}

/* SESSION-1 */
TEST(a_row_of_a_closed_session_is_refused)
{
    assert_false(a_late_row_is_back(MUTATION_NONE));
}

TEST(rows_of_any_session_are_found)
{
    assert_true(a_late_row_is_back(MUTATION_ANY_SESSION));
}

TEST(rows_that_are_applied_twice_are_found)
{
    assert_true(a_late_row_is_back(MUTATION_APPLY_TWICE));
}

TEST(sessions_of_other_base_ranges_stay)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    const uint64_t low = scene_session(&s, "a", "m");
    const uint64_t high = scene_session(&s, "m", NULL);
    assert_int_equal(scene_write(&s, low, 1, 7), REPLY_OK);
    assert_int_equal(scene_write(&s, high, 2, 7), REPLY_OK);
    assert_int_equal(scene_write(&s, high + 1, 3, 7), REPLY_STALE_MAP); /* never given */
    scene_close(&s);
}
