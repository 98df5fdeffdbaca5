/* Messages and lists of members as bytes: what is written is read, what is not whole is refused. */
#include "replication/raft.h"
#include "tests/check.h"

static const struct raft_member_case {
    const char *what;
    struct raft_members members;
    enum status expected;
} MEMBER_CASES[] = {
    {"one voter", {1, {{5, true}}}, STATUS_OK},
    {"a learner too", {2, {{5, true}, {6, false}}}, STATUS_OK},
    {"nobody", {0, {{0, false}}}, STATUS_MALFORMED},
    {"no voter", {1, {{5, false}}}, STATUS_MALFORMED},
    {"twice the same", {2, {{5, true}, {5, true}}}, STATUS_MALFORMED},
    {"no id", {1, {{0, true}}}, STATUS_MALFORMED},
};

TEST(members_are_read_as_they_were_written)
{
    for (size_t i = 0; i < sizeof MEMBER_CASES / sizeof MEMBER_CASES[0]; i++) {
        const struct raft_member_case *c = &MEMBER_CASES[i];
        struct buffer bytes = {0};
        raft_members_encode(&bytes, &c->members);
        struct reader r = {buffer_slice(&bytes), false};
        struct raft_members out;
        if (raft_members_decode(&r, &out) != c->expected)
            fail_msg("%s", c->what);
        if (c->expected == STATUS_OK)
            assert_memory_equal(&out, &c->members, sizeof out);
        for (size_t size = 0; size < bytes.size; size++) {
            r = (struct reader){slice_make(bytes.data, size), false};
            assert_int_equal(raft_members_decode(&r, &out), STATUS_MALFORMED);
        }
        buffer_deinit(&bytes);
    }
    const uint8_t many[] = {RAFT_MEMBERS_MAX + 1};
    struct reader r = {slice_make(many, 1), false};
    struct raft_members out;
    assert_int_equal(raft_members_decode(&r, &out), STATUS_MALFORMED);
}

static struct raft_message any_message(void)
{
    return (struct raft_message){.kind = RAFT_APPEND,
                                 .group = 3,
                                 .from = raft_member_id(1, 2, 0),
                                 .to = raft_member_id(3, 4, 0),
                                 .term = 9,
                                 .index = 10,
                                 .log_term = 5,
                                 .commit = 8,
                                 .round = 77,
                                 .support = 88,
                                 .transfer = true};
}

static enum status decode(struct slice bytes, struct arena *arena, struct raft_message *out)
{
    struct reader r = {bytes, false};
    return raft_message_decode(&r, arena, out);
}

TEST(an_append_is_read_as_it_was_written)
{
    const struct raft_entry entries[] = {
        {.index = 11, .term = 5, .kind = LOG_WRITE, .payload = slice_of("first")},
        {.index = 12, .term = 9, .kind = LOG_NOOP},
    };
    const struct raft_entry *all[] = {&entries[0], &entries[1]};
    struct raft_message m = any_message(), out;
    m.entry_count = 2;
    m.entries = all;
    struct buffer bytes = {0};
    struct arena arena = {0};
    raft_message_encode(&bytes, &m);
    assert_int_equal(decode(buffer_slice(&bytes), &arena, &out), STATUS_OK);
    assert_int_equal(out.entry_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(out.entries[i]->index == entries[i].index);
        assert_true(out.entries[i]->term == entries[i].term);
        assert_true(out.entries[i]->kind == entries[i].kind);
        assert_true(slice_equal(out.entries[i]->payload, entries[i].payload));
    }
    out.entries = all;
    assert_memory_equal(&out, &m, sizeof m);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(decode(slice_make(bytes.data, size), &arena, &out), STATUS_MALFORMED);
    buffer_deinit(&bytes);
    arena_deinit(&arena);
}

TEST(every_kind_and_flag_is_read_as_it_was_written)
{
    struct buffer bytes = {0};
    struct arena arena = {0};
    for (int kind = RAFT_APPEND; kind < RAFT_MESSAGE_KINDS; kind++) {
        for (int flags = 0; flags < 8; flags++) {
            struct raft_message m = any_message(), out;
            m.kind = (enum raft_message_kind)kind;
            m.rejected = flags & 1;
            m.transfer = flags & 2;
            m.no_state = flags & 4;
            buffer_clear(&bytes);
            raft_message_encode(&bytes, &m);
            assert_int_equal(decode(buffer_slice(&bytes), &arena, &out), STATUS_OK);
            assert_memory_equal(&out, &m, sizeof m);
        }
    }
    buffer_deinit(&bytes);
    arena_deinit(&arena);
}

/* Each breaks one rule of a message that was good. */
static void expect_malformed(struct raft_message m)
{
    struct buffer bytes = {0};
    struct arena arena = {0};
    struct raft_message out;
    raft_message_encode(&bytes, &m);
    assert_int_equal(decode(buffer_slice(&bytes), &arena, &out), STATUS_MALFORMED);
    buffer_deinit(&bytes);
    arena_deinit(&arena);
}

static void expect_malformed_entry(struct raft_entry e)
{
    const struct raft_entry *all[] = {&e};
    struct raft_message m = any_message();
    m.entry_count = 1;
    m.entries = all;
    expect_malformed(m);
}

TEST(what_no_leader_would_send_is_refused)
{
    struct raft_message m = any_message();
    m.from = 0;
    expect_malformed(m);
    m = any_message();
    m.to = 0;
    expect_malformed(m);
    m = any_message();
    m.log_term = m.term + 1;
    expect_malformed(m);
    m = any_message();
    m.index = UINT64_MAX;
    expect_malformed(m);
    m = any_message();
    m.term = UINT64_MAX;
    expect_malformed(m);
    expect_malformed_entry((struct raft_entry){.index = 11, .term = 4, .kind = LOG_NOOP});
    expect_malformed_entry((struct raft_entry){.index = 11, .term = 10, .kind = LOG_NOOP});
    expect_malformed_entry((struct raft_entry){.index = 11, .term = 9, .kind = LOG_HARD_STATE});
    expect_malformed_entry((struct raft_entry){.index = 11, .term = 9, .kind = LOG_SEGMENT});
    expect_malformed_entry((struct raft_entry){.index = 11, .term = 9, .kind = LOG_KINDS});
    expect_malformed_entry((struct raft_entry){
        .index = 11, .term = 9, .kind = LOG_MEMBERS, .payload = slice_of("nonsense")});
}

TEST(a_count_that_the_bytes_cannot_hold_allocates_nothing)
{
    struct buffer bytes = {0};
    struct arena arena = {0};
    struct raft_message m = any_message(), out;
    raft_message_encode(&bytes, &m);
    memset(bytes.data + bytes.size - 4, 0xff, 4);
    assert_int_equal(decode(buffer_slice(&bytes), &arena, &out), STATUS_MALFORMED);
    assert_int_equal(arena.used_bytes, 0);
    buffer_deinit(&bytes);
    arena_deinit(&arena);
}
