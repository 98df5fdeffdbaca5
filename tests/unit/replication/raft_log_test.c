/* The entries in memory: each is what was appended, wherever the log was cut off, at either end. */
#include "replication/raft_internal.h"
#include "tests/check.h"

enum {
    STEPS = 20000,
    PAYLOAD_MAX = 40000, /* several blocks' worth, now and then */
    TERM = 7
};

static uint8_t room[PAYLOAD_MAX];

/* Mostly as small as an item; all bytes are the index's lowest. */
static struct slice payload_of(uint64_t index)
{
    struct prng p = prng_seeded(index);
    uint64_t size = prng_below(&p, prng_below(&p, 100) == 0 ? PAYLOAD_MAX : 300);
    memset(room, (int)(index & 0xFF), size);
    return slice_make(room, size);
}

static void append(struct raft_log *l)
{
    struct slice payload = payload_of(raft_log_last(l) + 1);
    size_t first = payload.size / 3;
    raft_log_append(l, TERM, LOG_NOOP, slice_make(payload.data, first),
                    slice_make(payload.data + first, payload.size - first));
}

static void assert_entries(const struct raft_log *l)
{
    uint64_t bytes = l->base_bytes_to;
    for (uint64_t i = l->base_index + 1; i <= raft_log_last(l); i++) {
        const struct raft_entry *e = raft_log_at(l, i);
        assert_int_equal(e->index, i);
        assert_true(slice_equal(e->payload, payload_of(i)));
        bytes += raft_entry_bytes(e);
        assert_int_equal(raft_log_bytes_to(l, i), bytes);
    }
}

TEST(what_is_left_is_what_was_appended)
{
    struct raft_log l = {.base_term = TERM};
    struct prng p = prng_seeded(1);
    for (int step = 0; step < STEPS; step++) {
        uint64_t choice = prng_below(&p, 200);
        if (choice == 0)
            raft_log_compact(&l, l.base_index + prng_below(&p, l.count + 1));
        else if (choice == 1)
            raft_log_truncate(&l, raft_log_last(&l) + 1 - prng_below(&p, l.count + 1) / 4);
        else if (choice == 2)
            raft_log_compact(&l, raft_log_last(&l));
        else
            append(&l);
        if (choice <= 2)
            assert_entries(&l);
        assert_true(l.count > 0 || (l.slots == NULL && l.newest == NULL));
    }
    raft_log_deinit(&l);
    assert_null(l.newest);
}

TEST(an_entry_stays_where_it_is)
{
    struct raft_log l = {.base_term = TERM};
    for (int i = 0; i < 100; i++)
        append(&l);
    const struct raft_entry *kept = raft_log_at(&l, 60);
    for (int i = 0; i < 1000; i++)
        append(&l);
    raft_log_compact(&l, 59);
    raft_log_truncate(&l, 61);
    assert_ptr_equal(raft_log_at(&l, 60), kept);
    assert_true(slice_equal(kept->payload, payload_of(60)));
    raft_log_deinit(&l);
}
