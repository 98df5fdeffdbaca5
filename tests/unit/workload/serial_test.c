/* serial_test.c - histories on lists: those that are strictly serializable, and each kind of
 * anomaly. */
#include "tests/check.h"

#include "workload/serial.h"

struct fixture {
    struct serial_history history;
    struct buffer why;
    int64_t clock;
};

static struct instant later(struct fixture *s)
{
    s->clock += NS_PER_MS;
    return (struct instant){s->clock};
}

static uint32_t begin(struct fixture *s, uint32_t number, uint32_t count, const uint32_t *keys)
{
    return serial_begin(&s->history, later(s), number, keys, count);
}

static void end(struct fixture *s, uint32_t place, enum serial_outcome outcome)
{
    serial_end(&s->history, place, later(s), outcome);
}

#define KEYS(...)                                                                  \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]) \
    {                                                                              \
        __VA_ARGS__                                                                \
    }

static void write_keys(struct fixture *s, uint32_t number, uint32_t count, const uint32_t *keys)
{
    end(s, begin(s, number, count, keys), SERIAL_DONE);
}

/* The numbers up to a 0. */
static struct serial_list list_of(const uint32_t *numbers)
{
    struct serial_list list = {(uint32_t *)(uintptr_t)numbers, 0};
    while (numbers[list.count] != 0)
        list.count++;
    return serial_list_copy(&list);
}

/* What a read saw of one key. */
static void saw(struct fixture *s, uint32_t place, uint32_t index, const uint32_t *numbers)
{
    serial_saw(&s->history, place, index, list_of(numbers));
}

#define LIST(...)      \
    (const uint32_t[]) \
    {                  \
        __VA_ARGS__    \
    }

static void read_one(struct fixture *s, uint32_t key, const uint32_t *numbers)
{
    const uint32_t place = begin(s, 0, 1, &key);
    saw(s, place, 0, numbers);
    end(s, place, SERIAL_DONE);
}

/* `anomaly` NULL: there is none. */
static void expect(struct fixture *s, const char *anomaly)
{
    const bool good = serial_check(&s->history, &s->why);
    buffer_append(&s->why, "", 1);
    if (anomaly == NULL && !good)
        fail_msg("%s", (const char *)s->why.data);
    assert_int_equal(good, anomaly == NULL);
    if (anomaly != NULL && strstr((const char *)s->why.data, anomaly) == NULL)
        fail_msg("%s", (const char *)s->why.data);
    serial_deinit(&s->history);
    buffer_deinit(&s->why);
}

TEST(what_happens_one_after_the_other_is_in_order)
{
    struct fixture s = {0};
    (void)state;
    write_keys(&s, 1, KEYS(0, 1));
    write_keys(&s, 2, KEYS(1));
    end(&s, begin(&s, 3, KEYS(0, 1)), SERIAL_REFUSED);
    read_one(&s, 0, LIST(1, 0));
    read_one(&s, 1, LIST(1, 2, 0));
    expect(&s, NULL);
}

TEST(what_is_unknown_may_have_happened_as_a_whole)
{
    for (int seen = 0; seen < 3; seen++) {
        struct fixture s = {0};
        begin(&s, 1, KEYS(0, 1));
        read_one(&s, 0, seen > 0 ? LIST(1, 0) : LIST(0));
        read_one(&s, 1, seen > 1 ? LIST(1, 0) : LIST(0));
        expect(&s, seen == 1 ? "torn" : NULL);
    }
}

TEST(what_is_lost_torn_doubled_or_made_up_is_found)
{
    struct fixture s = {0};
    (void)state;
    write_keys(&s, 1, KEYS(0, 1));
    read_one(&s, 0, LIST(0));
    read_one(&s, 1, LIST(0));
    expect(&s, "lost");
    s = (struct fixture){0};
    write_keys(&s, 1, KEYS(0, 1));
    read_one(&s, 0, LIST(1, 0));
    read_one(&s, 1, LIST(0));
    expect(&s, "torn");
    s = (struct fixture){0};
    write_keys(&s, 1, KEYS(0));
    read_one(&s, 0, LIST(1, 1, 0));
    expect(&s, "twice");
    s = (struct fixture){0};
    write_keys(&s, 1, KEYS(0));
    read_one(&s, 0, LIST(1, 7, 0));
    expect(&s, "was never written");
    s = (struct fixture){0};
    end(&s, begin(&s, 1, KEYS(0)), SERIAL_REFUSED);
    read_one(&s, 0, LIST(1, 0));
    expect(&s, "G1a");
}

TEST(lists_that_do_not_grow_are_found)
{
    struct fixture s = {0};
    (void)state;
    const uint32_t a = begin(&s, 1, KEYS(0)), b = begin(&s, 2, KEYS(0));
    read_one(&s, 0, LIST(2, 0));
    end(&s, a, SERIAL_DONE);
    end(&s, b, SERIAL_DONE);
    read_one(&s, 0, LIST(1, 2, 0));
    expect(&s, "incompatible");
}

TEST(two_orders_of_two_writes_are_found)
{
    struct fixture s = {0};
    (void)state;
    const uint32_t a = begin(&s, 1, KEYS(0, 1)), b = begin(&s, 2, KEYS(0, 1));
    end(&s, a, SERIAL_DONE);
    end(&s, b, SERIAL_DONE);
    read_one(&s, 0, LIST(1, 2, 0));
    read_one(&s, 1, LIST(2, 1, 0));
    expect(&s, "G0");
}

/* It sees one write of two that came one after the other, and it is the later one. */
TEST(a_read_of_a_state_that_never_was_is_found)
{
    struct fixture s = {0};
    (void)state;
    const uint32_t read = begin(&s, 0, KEYS(0, 1));
    write_keys(&s, 1, KEYS(0));
    write_keys(&s, 2, KEYS(1));
    saw(&s, read, 0, LIST(0));
    saw(&s, read, 1, LIST(2, 0));
    end(&s, read, SERIAL_DONE);
    read_one(&s, 0, LIST(1, 0));
    read_one(&s, 1, LIST(2, 0));
    expect(&s, "real time");
}

/* Half of a transaction: the rest was read as before. */
TEST(a_read_of_half_a_transaction_is_found)
{
    struct fixture s = {0};
    (void)state;
    const uint32_t read = begin(&s, 0, KEYS(0, 1)), write = begin(&s, 1, KEYS(0, 1));
    saw(&s, read, 0, LIST(1, 0));
    saw(&s, read, 1, LIST(0));
    end(&s, read, SERIAL_DONE);
    end(&s, write, SERIAL_DONE);
    read_one(&s, 0, LIST(1, 0));
    read_one(&s, 1, LIST(1, 0));
    expect(&s, "G2");
}

/* Nothing contradicts the order, but the read began after the write had been answered. */
TEST(a_stale_read_is_found)
{
    struct fixture s = {0};
    (void)state;
    write_keys(&s, 1, KEYS(0));
    read_one(&s, 0, LIST(0));
    read_one(&s, 0, LIST(1, 0));
    expect(&s, "real time");
}

/* The lists that the write is done for, up to a 0. */
static void condition(struct fixture *s, uint32_t place, uint32_t key, const uint32_t *numbers)
{
    serial_condition(&s->history, place, key, list_of(numbers));
}

/* Each of two writes rests on what the other one changes. */
TEST(write_skew_is_found)
{
    for (int skewed = 0; skewed < 2; skewed++) {
        struct fixture s = {0};
        read_one(&s, 0, LIST(0));
        read_one(&s, 1, LIST(0));
        const uint32_t a = begin(&s, 1, KEYS(0)), b = begin(&s, 2, KEYS(1));
        condition(&s, a, 1, LIST(0));
        condition(&s, b, skewed ? 0 : 2, LIST(0));
        end(&s, a, SERIAL_DONE);
        end(&s, b, SERIAL_UNKNOWN);
        read_one(&s, 0, LIST(1, 0));
        read_one(&s, 1, LIST(2, 0));
        expect(&s, skewed ? "G2" : NULL);
    }
}

/* The number that the write replaced was not the list's last one. */
TEST(a_lost_update_is_found)
{
    struct fixture s = {0};
    (void)state;
    write_keys(&s, 1, KEYS(0));
    read_one(&s, 0, LIST(1, 0));
    const uint32_t a = begin(&s, 2, KEYS(0));
    condition(&s, a, 0, LIST(1, 0));
    write_keys(&s, 3, KEYS(0));
    end(&s, a, SERIAL_DONE);
    read_one(&s, 0, LIST(1, 3, 2, 0));
    expect(&s, "G2");
}

/* A condition of a write that was not done says nothing. */
TEST(a_refused_condition_is_no_read)
{
    struct fixture s = {0};
    (void)state;
    write_keys(&s, 1, KEYS(0));
    read_one(&s, 0, LIST(1, 0));
    write_keys(&s, 2, KEYS(0));
    const uint32_t a = begin(&s, 3, KEYS(1));
    condition(&s, a, 0, LIST(1, 0));
    end(&s, a, SERIAL_REFUSED);
    read_one(&s, 0, LIST(1, 2, 0));
    read_one(&s, 1, LIST(0));
    expect(&s, NULL);
}

static void read_mark(struct fixture *s, const uint32_t *numbers, uint32_t mark)
{
    const uint32_t place = begin(s, 0, KEYS(0));
    saw(s, place, 0, numbers);
    serial_saw_mark(&s->history, place, 0, mark);
    end(s, place, SERIAL_DONE);
}

/* 1 puts the mark of key 0, 2 leaves it, 3 deletes it. */
TEST(a_mark_that_does_not_fit_its_list_is_found)
{
    static const struct {
        uint32_t after[3]; /* the mark, by how many of the writes a read has seen */
        const char *anomaly;
    } reads[] = {
        {{1, 1, 0}, NULL},
        {{0, 1, 0}, "does not fit"},
        {{1, 2, 0}, "does not fit"},
        {{1, 1, 1}, "does not fit"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        struct fixture s = {0};
        read_mark(&s, LIST(0), 0);
        uint32_t place = begin(&s, 1, KEYS(0));
        serial_marks(&s.history, place, 0, SERIAL_MARK_PUT);
        end(&s, place, SERIAL_DONE);
        read_mark(&s, LIST(1, 0), reads[i].after[0]);
        write_keys(&s, 2, KEYS(0));
        read_mark(&s, LIST(1, 2, 0), reads[i].after[1]);
        place = begin(&s, 3, KEYS(0));
        serial_marks(&s.history, place, 0, SERIAL_MARK_DELETED);
        end(&s, place, SERIAL_DONE);
        read_mark(&s, LIST(1, 2, 3, 0), reads[i].after[2]);
        expect(&s, reads[i].anomaly);
    }
}

TEST(two_rivals_that_are_both_done_are_found)
{
    for (int both = 0; both < 2; both++) {
        struct fixture s = {0};
        const uint32_t a = begin(&s, 1, KEYS(0)), b = begin(&s, 2, KEYS(0));
        serial_rivals(&s.history, b, a);
        read_one(&s, 0, both ? LIST(1, 2, 0) : LIST(2, 0));
        expect(&s, both ? "one token" : NULL);
    }
}
