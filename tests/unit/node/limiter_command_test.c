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
            struct buffer cut = {bytes.data, size, size};
            assert_false(command_read(&cut, &back));
        }
    }
    buffer_deinit(&bytes);
    limiter_fixture_deinit(&s);
}

#define BREAK(name, of, change)                              \
    static enum limiter_verb name(struct limiter_command *m) \
    {                                                        \
        if (m != NULL) {                                     \
            change;                                          \
        }                                                    \
        return of;                                           \
    }

BREAK(break_shard, LIMITER_TAKE, m->shard = 128)
BREAK(break_verb, LIMITER_TAKE, m->verb = LIMITER_VERBS)
BREAK(break_epoch, LIMITER_TAKE, m->sender_map.epoch = UINT64_MAX)
BREAK(break_count, LIMITER_TAKE, m->sender_map.count = 3)
BREAK(break_no_count, LIMITER_TAKE, m->sender_map.count = 0)
BREAK(break_many, LIMITER_TAKE, m->sender_map.count = 256)
BREAK(break_grown, LIMITER_TAKE, m->sender_map.grown[1] = 100)
BREAK(break_later, LIMITER_TAKE, m->sender_map.grown[1] = 501)
BREAK(break_limits, LIMITER_TAKE, m->limits.count = 0)
BREAK(break_limit, LIMITER_TAKE, m->limits.at[0].capacity = 1)
BREAK(break_version, LIMITER_TAKE, m->limits.version = UINT64_MAX)
BREAK(break_amount, LIMITER_TAKE, m->amounts[0] = -1)
BREAK(break_amount_large, LIMITER_ADJUST, m->amounts[0] = LIMITER_MTOK_MAX + 1)
BREAK(break_amount_small, LIMITER_ADJUST, m->amounts[0] = -LIMITER_MTOK_MAX - 1)
BREAK(break_mwcu, LIMITER_RESET, m->mwcu = -1)
BREAK(break_attempts, LIMITER_RESET, m->unreported_refusals = -1)
BREAK(break_root, LIMITER_GROW, m->shard = 1)
BREAK(break_unknown, LIMITER_MERGE_BEGIN, m->sender_map.epoch = 0)
BREAK(break_child, LIMITER_RESERVE_CHILD, m->child = 2)
BREAK(break_child_none, LIMITER_RESERVE_CHILD, m->child = 0)
BREAK(break_child_large, LIMITER_RESERVE_CHILD, m->child = 129)
BREAK(break_reserved, LIMITER_CREATE_CHILD, m->reserved_share.child = 2)
BREAK(break_reserved_epoch, LIMITER_CREATE_CHILD, m->reserved_share.epoch = 0)
BREAK(break_reserved_tokens, LIMITER_CREATE_CHILD, m->reserved_share.balances[0].tokens = INT64_MIN)
BREAK(break_reserved_fraction, LIMITER_CREATE_CHILD,
      m->reserved_share.balances[0].fraction = DAY_MS)
BREAK(break_reserved_at, LIMITER_CREATE_CHILD, m->reserved_share.balances[1].at_ms = -1)
BREAK(break_seal, LIMITER_SEAL, m->sender_map.count = 4)
BREAK(break_merge_in, LIMITER_MERGE_IN, m->sender_map.count = 1)
BREAK(break_merge_in_child, LIMITER_MERGE_IN, m->reserved_share.child = 5)
BREAK(break_merge_in_limits, LIMITER_MERGE_IN, m->limits.count = 0)

TEST(commands_that_cannot_be_are_refused)
{
    static enum limiter_verb (*const breaks[])(struct limiter_command *) = {break_shard,
                                                                            break_verb,
                                                                            break_epoch,
                                                                            break_count,
                                                                            break_no_count,
                                                                            break_many,
                                                                            break_grown,
                                                                            break_later,
                                                                            break_limits,
                                                                            break_limit,
                                                                            break_version,
                                                                            break_amount,
                                                                            break_amount_large,
                                                                            break_amount_small,
                                                                            break_mwcu,
                                                                            break_attempts,
                                                                            break_root,
                                                                            break_unknown,
                                                                            break_child,
                                                                            break_child_none,
                                                                            break_child_large,
                                                                            break_reserved,
                                                                            break_reserved_epoch,
                                                                            break_reserved_tokens,
                                                                            break_reserved_fraction,
                                                                            break_reserved_at,
                                                                            break_seal,
                                                                            break_merge_in,
                                                                            break_merge_in_child,
                                                                            break_merge_in_limits};
    struct limiter_fixture s;
    struct buffer bytes = {0};
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_limit(&s, "tpm", 100, 100, MINUTE_MS);
    for (size_t i = 0; i < COUNT_OF(breaks); i++) {
        struct limiter_command m = full_command(&s, breaks[i](NULL)), back;
        breaks[i](&m);
        command_write(&bytes, m);
        if (command_read(&bytes, &back))
            fail_msg("mistake %zu is taken", i);
    }
    buffer_deinit(&bytes);
    limiter_fixture_deinit(&s);
}
