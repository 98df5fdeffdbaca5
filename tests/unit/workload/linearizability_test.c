/* linearizability_test.c - known good and bad histories of one key. */
#include "tests/check.h"
#include "workload/config_set.h"
#include "workload/linearizability.h"

static struct history_op op(enum history_kind kind, uint64_t value, int64_t from, int64_t to)
{
    return (struct history_op){.invoked_ns = from, .returned_ns = to, .kind = kind, .value = value};
}

static struct history_op write_of(uint64_t value, int64_t from, int64_t to)
{
    return op(HISTORY_WRITE, value, from, to);
}

static struct history_op read_of(uint64_t value, int64_t from, int64_t to)
{
    return op(HISTORY_READ, value, from, to);
}

static struct history_op write_after(uint64_t old, uint64_t value, int64_t from, int64_t to)
{
    struct history_op o = op(HISTORY_WRITE, value, from, to);
    o.after_known = true;
    o.after = old;
    return o;
}

static struct history_op unknown_write(uint64_t value, int64_t from)
{
    struct history_op o = op(HISTORY_WRITE, value, from, INT64_MAX);
    o.outcome = HISTORY_INFO;
    return o;
}

static struct history_op failed_write(uint64_t value, int64_t from, int64_t to)
{
    struct history_op o = op(HISTORY_WRITE, value, from, to);
    o.outcome = HISTORY_FAIL;
    return o;
}

/* Operations are numbered from 1. */
static struct history_verdict check(struct history_op *ops, size_t count)
{
    struct history_verdict v;
    for (size_t i = 0; i < count; i++)
        ops[i].id = i + 1;
    history_check(ops, count, &v);
    assert_false(v.exhausted);
    return v;
}

#define CHECK(...)                            \
    check((struct history_op[]){__VA_ARGS__}, \
          sizeof((struct history_op[]){__VA_ARGS__}) / sizeof(struct history_op))
#define GOOD(...) assert_true(CHECK(__VA_ARGS__).linearizable)
#define BAD(at, ...)                                         \
    do {                                                     \
        struct history_verdict verdict = CHECK(__VA_ARGS__); \
        assert_false(verdict.linearizable);                  \
        assert_int_equal(verdict.culprit, at);               \
    } while (0)

TEST(what_happens_one_after_another_is_a_register)
{
    struct history_verdict v;
    history_check(NULL, 0, &v);
    assert_true(v.linearizable);
    GOOD(read_of(0, 0, 1));
    GOOD(write_of(7, 0, 1), read_of(7, 2, 3), write_of(8, 4, 5), read_of(8, 6, 7));
    BAD(1, read_of(7, 0, 1));
    BAD(2, write_of(7, 0, 1), read_of(0, 2, 3));
}

TEST(a_stale_read_is_found)
{
    BAD(3, write_of(1, 0, 1), write_of(2, 2, 3), read_of(1, 4, 5));
    GOOD(write_of(1, 0, 1), write_of(2, 2, 4), read_of(1, 3, 5));
    /* Two readers must agree on the order of overlapping writes. */
    BAD(4, write_of(1, 0, 9), write_of(2, 0, 9), read_of(1, 10, 11), read_of(2, 12, 13));
    BAD(4, write_of(1, 0, 9), read_of(1, 1, 2), write_of(2, 1, 9), read_of(0, 3, 4));
    BAD(5, write_of(1, 0, 9), write_of(2, 0, 9), read_of(1, 1, 2), read_of(2, 3, 4),
        read_of(1, 5, 6));
}

TEST(equal_times_overlap)
{
    GOOD(write_of(1, 0, 1), write_of(2, 2, 3), read_of(1, 3, 4));
    GOOD(write_of(1, 5, 5), read_of(0, 5, 5), read_of(1, 5, 5));
}

TEST(a_lost_write_is_found)
{
    BAD(3, write_of(1, 0, 1), write_of(2, 2, 3), read_of(1, 4, 5), read_of(1, 6, 7));
    BAD(2, write_of(1, 0, 1), read_of(0, 2, 3));
}

TEST(a_dirty_read_is_found)
{
    BAD(2, failed_write(1, 0, 1), read_of(1, 2, 3));
    BAD(3, write_of(1, 0, 1), failed_write(2, 2, 3), read_of(2, 2, 5));
    GOOD(write_of(1, 0, 1), failed_write(2, 2, 3), read_of(1, 2, 5));
    /* From the future. */
    BAD(1, read_of(1, 0, 1), write_of(1, 2, 3));
}

TEST(a_write_of_unknown_outcome_may_show_late_once_or_never)
{
    GOOD(unknown_write(1, 0), read_of(0, 1, 2), read_of(0, 3, 4));
    GOOD(unknown_write(1, 0), read_of(0, 1, 2), write_of(2, 3, 4), read_of(2, 5, 6),
         read_of(1, 7, 8));
    BAD(5, unknown_write(1, 0), write_of(2, 1, 2), read_of(1, 3, 4), write_of(3, 5, 6),
        read_of(1, 7, 8));
    BAD(1, read_of(1, 0, 1), unknown_write(1, 2));
    /* Having been seen, it is over. */
    BAD(4, unknown_write(1, 0), read_of(1, 1, 2), write_of(2, 3, 4), read_of(1, 5, 6));
}

TEST(deletes_are_writes_that_may_repeat)
{
    GOOD(write_of(1, 0, 1), write_of(0, 2, 3), read_of(0, 4, 5), write_of(2, 6, 7),
         write_of(0, 8, 9), read_of(0, 10, 11));
    BAD(3, write_of(1, 0, 1), write_of(0, 2, 3), read_of(1, 4, 5));
    BAD(3, write_of(1, 0, 1), write_of(0, 10, 11), read_of(0, 4, 5));
    /* One delete serves one absence: 1 is read before and after, 2 between. */
    GOOD(write_of(1, 0, 1), write_of(0, 2, 20), read_of(1, 3, 4), read_of(0, 5, 6),
         write_of(2, 7, 8), read_of(2, 9, 10));
    BAD(6, write_of(1, 0, 1), write_of(0, 2, 20), read_of(0, 3, 4), write_of(2, 5, 6),
        read_of(2, 7, 8), read_of(0, 9, 10));
    GOOD(write_of(1, 0, 1), write_of(0, 2, 20), write_of(0, 2, 20), read_of(0, 3, 4),
         write_of(2, 5, 6), read_of(2, 7, 8), read_of(0, 9, 10));
    /* It may have gone by unseen, before the write that overlaps it. */
    GOOD(write_of(1, 0, 1), write_of(0, 2, 9), write_of(2, 3, 8), read_of(2, 10, 11));
    BAD(4, write_of(1, 0, 1), read_of(1, 2, 3), write_of(0, 4, 6), read_of(1, 7, 8));
}

TEST(a_delete_of_unknown_outcome_serves_one_absence)
{
    GOOD(write_of(1, 0, 1), unknown_write(0, 2), read_of(1, 3, 4), read_of(0, 5, 6),
         read_of(0, 7, 8));
    GOOD(write_of(1, 0, 1), unknown_write(0, 2), read_of(1, 3, 4), write_of(2, 5, 6),
         read_of(2, 7, 8), read_of(0, 9, 10));
    BAD(6, write_of(1, 0, 1), unknown_write(0, 2), read_of(0, 3, 4), write_of(2, 5, 6),
        read_of(2, 7, 8), read_of(0, 9, 10));
    /* Seen just before the write it overlaps. */
    GOOD(write_of(1, 0, 1), unknown_write(0, 2), read_of(0, 3, 9), write_of(2, 4, 5),
         read_of(2, 6, 7), write_of(3, 10, 11));
}

TEST(a_write_that_replaced_a_value_directly_follows_it)
{
    GOOD(write_of(1, 0, 9), write_after(1, 2, 0, 9), write_after(2, 3, 0, 9), read_of(3, 10, 11));
    BAD(3, write_of(1, 0, 1), write_of(2, 2, 3), write_after(1, 3, 4, 5));
    /* Two may not replace the same value, also if nobody reads either. */
    BAD(3, write_of(1, 0, 1), write_after(1, 2, 2, 9), write_after(1, 3, 2, 10));
    BAD(2, write_after(0, 1, 0, 9), write_after(0, 2, 0, 10));
    GOOD(write_after(0, 1, 0, 9), write_of(0, 0, 9), write_after(0, 2, 0, 9));
    /* A write overlaps two in a chain: it comes before or after both. */
    GOOD(write_of(1, 0, 1), write_after(1, 2, 2, 3), write_of(9, 0, 9), write_after(2, 3, 4, 5));
    BAD(6, write_of(1, 0, 1), write_after(1, 2, 2, 3), write_of(9, 2, 9), read_of(9, 4, 5),
        read_of(2, 2, 6), write_after(2, 3, 6, 7));
    /* What is replaced has to exist. */
    BAD(1, write_after(7, 1, 0, 1));
    BAD(1, write_after(2, 1, 0, 9), write_after(1, 2, 0, 9));
}

TEST(a_delete_that_replaced_a_value_saw_it)
{
    GOOD(write_of(1, 0, 1), write_after(1, 0, 2, 3), read_of(0, 4, 5));
    BAD(2, write_of(1, 0, 1), write_after(0, 0, 2, 3));
    BAD(3, write_of(1, 0, 1), write_of(2, 2, 3), write_after(1, 0, 4, 5));
}

enum {
    CLIENTS = 64,
    OPS = 100000
};

/* A long run of 64 clients that always overlap, every value from a real register. */
static struct history_op *long_history(uint64_t seed, uint64_t delete_in, uint64_t unknown_in)
{
    struct history_op *ops = calloc(OPS, sizeof *ops);
    struct prng p = prng_seeded(seed);
    int64_t free_at[CLIENTS] = {0}, clock = 0;
    uint64_t held = 0;
    for (uint64_t i = 0; i < OPS; i++) {
        struct history_op *o = &ops[i];
        uint64_t client = i % CLIENTS;
        clock += 1 + (int64_t)prng_below(&p, 3);
        o->id = i + 1;
        /* Effects come in the order of i, at `clock`; each client's operations do not overlap. */
        o->invoked_ns = free_at[client] > clock ? clock : free_at[client];
        o->returned_ns = clock + (int64_t)prng_below(&p, 60);
        free_at[client] = o->returned_ns + 1;
        if (prng_below(&p, 2)) {
            o->value = held;
            continue;
        }
        o->kind = HISTORY_WRITE;
        o->value = delete_in && prng_below(&p, delete_in) == 0 ? 0 : i + 1;
        bool unknown = unknown_in && prng_below(&p, unknown_in) == 0;
        if (unknown) {
            o->outcome = HISTORY_INFO;
            o->returned_ns = INT64_MAX;
        }
        if (!unknown || prng_below(&p, 2))
            held = o->value;
    }
    return ops;
}

TEST(long_histories_are_decided)
{
    static const struct {
        uint64_t delete_in, unknown_in;
    } MIXES[] = {{0, 0}, {0, 50}, {10, 0}, {10, 500}};
    for (size_t i = 0; i < sizeof MIXES / sizeof MIXES[0]; i++) {
        struct history_op *ops = long_history(i + 1, MIXES[i].delete_in, MIXES[i].unknown_in);
        struct history_verdict v;
        history_check(ops, OPS, &v);
        assert_false(v.exhausted);
        assert_true(v.linearizable);
        /* One read near the end of a value from the beginning. */
        uint64_t at = OPS - 1000, old = 1;
        while (ops[at].kind != HISTORY_READ)
            at++;
        while (ops[old - 1].kind != HISTORY_WRITE || ops[old - 1].value == 0)
            old++;
        ops[at].value = ops[old - 1].value;
        history_check(ops, OPS, &v);
        assert_false(v.linearizable);
        assert_false(v.exhausted);
        free(ops);
    }
}

TEST(a_configuration_that_is_no_better_is_not_added) /* LINEAR-5 */
{
    struct config_set s = {0};
    const struct config good = {.value = 1, .unknown_deletes = 1, .absent_until = 5, .bits = {3}};
    struct config other = good;
    config_set_clear(&s);
    assert_true(config_set_add(&s, &good, 1));
    other.unknown_deletes = 2;
    assert_true(config_set_add(&s, &other, 1)); /* worse */
    assert_true(config_set_add(&s, &good, 1));  /* the same */
    assert_int_equal(s.count, 1);
    assert_memory_equal(&s.items[0], &good, sizeof good);
    other.unknown_deletes = 0;
    assert_true(config_set_add(&s, &other, 1)); /* better: it takes the place */
    assert_int_equal(s.count, 1);
    assert_memory_equal(&s.items[0], &other, sizeof other);
    other.bits[0] = 2;
    assert_true(config_set_add(&s, &other, 1));
    assert_int_equal(s.count, 2);
    config_set_deinit(&s);
}
