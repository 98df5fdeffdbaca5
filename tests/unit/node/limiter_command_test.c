/* limiter_command_test.c - bytes of commands on buckets, and items that are none. What commands do:
 * tests/cases/limiter. */
#include "tests/check.h"
#include "tests/support/limiter_fixture.h"

enum {
    MINUTE_MS = 60 * 1000,
    DAY_MS = 24 * 60 * MINUTE_MS,
};
#define NOW_MS INT64_C(1755500000000)

TEST(an_item_that_is_not_of_the_bucket_is_left_alone)
{
    struct limiter_fixture s;
    struct item_writer w;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    item_begin(&w, &s.items[0]);
    item_name(&w, slice_of("PK"));
    item_string(&w, slice_of("x"));
    item_end(&w);
    for (int verb = LIMITER_TAKE; verb < LIMITER_VERBS; verb++) {
        const struct limiter_command m = limiter_fixture_command(&s, (enum limiter_verb)verb, 0);
        assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_BUCKET);
    }
    buffer_deinit(&s.items[0]);
    assert_int_equal(limiter_fixture_take(&s, 0, 1000), LIMITER_DONE);
    s.items[1] = s.items[0]; /* another shard's item */
    s.items[0] = (struct buffer){0};
    assert_int_equal(limiter_fixture_take(&s, 1, 1000), LIMITER_NO_BUCKET);
    limiter_fixture_deinit(&s);
}

/* ---- bytes ---- */

static struct limiter_command full_command(const struct limiter_fixture *s, enum limiter_verb verb)
{
    const bool ends = verb == LIMITER_SEAL, merges = verb == LIMITER_MERGE_IN;
    const bool opens = verb == LIMITER_CREATE_CHILD;
    struct limiter_command m =
        limiter_fixture_command(s, verb,
                                ends || opens                             ? 3
                                : merges || verb == LIMITER_RESERVE_CHILD ? 1
                                                                          : 0);
    m.sender_map = (struct limiter_shard_map){
        .epoch = 500, .count = 2, .grown = {100, 200, merges || ends ? 300 : 0}};
    m.unreported_refusals = 7;
    m.expires_ms = NOW_MS;
    m.token_has_owner = true;
    m.owner_key = 0x123456789abcdef;
    if (verb == LIMITER_TAKE || verb == LIMITER_ADJUST)
        m.amounts[1] = verb == LIMITER_TAKE ? 5 : -5;
    if (verb == LIMITER_RESERVE_CHILD)
        m.child = 3;
    if (opens || merges) {
        m.reserved_share.child = 3;
        m.reserved_share.epoch = 300;
        for (uint32_t i = 0; i < 2; i++)
            m.reserved_share.balances[i] = (struct limiter_balance){-5, NOW_MS, 17};
        m.created = merges;
    }
    return m;
}

static bool command_read(struct buffer *bytes, struct limiter_command *out)
{
    struct codec c = {.in = &(struct reader){buffer_slice(bytes), false}};
    *out = (struct limiter_command){0};
    limiter_command_walk(&c, out);
    return codec_end(&c) == STATUS_OK;
}

static void command_write(struct buffer *bytes, struct limiter_command m)
{
    buffer_clear(bytes);
    limiter_command_walk(&(struct codec){.out = bytes}, &m);
}

TEST(every_command_comes_back_from_its_bytes)
{
    struct limiter_fixture s;
    struct limiter_command back;
    struct buffer bytes = {0};
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_limit(&s, "tpm", 100, 100, MINUTE_MS);
    for (int verb = LIMITER_TAKE; verb < LIMITER_VERBS; verb++) {
        const struct limiter_command m = full_command(&s, (enum limiter_verb)verb);
        command_write(&bytes, m);
        if (!command_read(&bytes, &back))
            fail_msg("verb %d is refused", verb);
        for (uint32_t i = 0; i < 2; i++) {
            assert_true(slice_equal(back.limits.at[i].name, m.limits.at[i].name));
            back.limits.at[i].name = m.limits.at[i].name;
        }
        assert_memory_equal(&back, &m, sizeof m);
        for (size_t size = 0; size < bytes.size; size++) {
            struct buffer point = {bytes.data, size, size};
            assert_false(command_read(&point, &back));
        }
    }
    buffer_deinit(&bytes);
    limiter_fixture_deinit(&s);
}

#define BREAKS(X)                                                             \
    X(LIMITER_TAKE, m->shard = 128)                                           \
    X(LIMITER_TAKE, m->verb = LIMITER_VERBS)                                  \
    X(LIMITER_TAKE, m->sender_map.epoch = UINT64_MAX)                         \
    X(LIMITER_TAKE, m->sender_map.count = 3)                                  \
    X(LIMITER_TAKE, m->sender_map.count = 0)                                  \
    X(LIMITER_TAKE, m->sender_map.count = 256)                                \
    X(LIMITER_TAKE, m->sender_map.grown[1] = 100)                             \
    X(LIMITER_TAKE, m->sender_map.grown[1] = 501)                             \
    X(LIMITER_TAKE, m->limits.count = 0)                                      \
    X(LIMITER_TAKE, m->limits.at[0].capacity = 1)                             \
    X(LIMITER_TAKE, m->limits.version = UINT64_MAX)                           \
    X(LIMITER_TAKE, m->amounts[0] = -1)                                       \
    X(LIMITER_ADJUST, m->amounts[0] = LIMITER_MTOK_MAX + 1)                   \
    X(LIMITER_ADJUST, m->amounts[0] = -LIMITER_MTOK_MAX - 1)                  \
    X(LIMITER_RESET, m->mwcu = -1)                                            \
    X(LIMITER_RESET, m->unreported_refusals = -1)                             \
    X(LIMITER_GROW, m->shard = 1)                                             \
    X(LIMITER_MERGE_BEGIN, m->sender_map.epoch = 0)                           \
    X(LIMITER_RESERVE_CHILD, m->child = 2)                                    \
    X(LIMITER_RESERVE_CHILD, m->child = 0)                                    \
    X(LIMITER_RESERVE_CHILD, m->child = 129)                                  \
    X(LIMITER_CREATE_CHILD, m->reserved_share.child = 2)                      \
    X(LIMITER_CREATE_CHILD, m->reserved_share.epoch = 0)                      \
    X(LIMITER_CREATE_CHILD, m->reserved_share.balances[0].tokens = INT64_MIN) \
    X(LIMITER_CREATE_CHILD, m->reserved_share.balances[0].fraction = DAY_MS)  \
    X(LIMITER_CREATE_CHILD, m->reserved_share.balances[1].at_ms = -1)         \
    X(LIMITER_SEAL, m->sender_map.count = 4)                                  \
    X(LIMITER_MERGE_IN, m->sender_map.count = 1)                              \
    X(LIMITER_MERGE_IN, m->reserved_share.child = 5)                          \
    X(LIMITER_MERGE_IN, m->limits.count = 0)

TEST(commands_that_cannot_be_are_refused)
{
    struct limiter_fixture s;
    struct buffer bytes = {0};
    const char *text = "";
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_limit(&s, "tpm", 100, 100, MINUTE_MS);
    for (int row = 0; text != NULL; row++) {
        struct limiter_command command, back, *m = &command;
        int i = 0;
        text = NULL;
#define APPLY(verb, change)               \
    if (i++ == row) {                     \
        command = full_command(&s, verb); \
        change;                           \
        text = #change;                   \
    }
        BREAKS(APPLY)
        if (text == NULL)
            continue;
        command_write(&bytes, command);
        if (command_read(&bytes, &back))
            fail_msg("taken: %s", text);
    }
    buffer_deinit(&bytes);
    limiter_fixture_deinit(&s);
}
