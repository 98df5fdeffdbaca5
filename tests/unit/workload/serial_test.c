/* serial_test.c - histories on lists: those that are strictly serializable, and each kind of anomaly. */
#include "tests/check.h"

#include <stdlib.h>

#include "workload/serial.h"

struct scene {
    struct serial_history history;
    struct buffer why;
    int64_t clock;
};

static struct instant later(struct scene *s)
{
    s->clock += NS_PER_MS;
    return (struct instant){s->clock};
}

static uint32_t begin(struct scene *s, uint32_t number, uint32_t count, const uint32_t *keys)
{
    return serial_begin(&s->history, later(s), number, keys, count);
}

static void end(struct scene *s, uint32_t place, enum serial_outcome outcome)
{
    serial_end(&s->history, place, later(s), outcome);
}

#define KEYS(...)                                                                  \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]) \
    {                                                                              \
        __VA_ARGS__                                                                \
    }

static void write_keys(struct scene *s, uint32_t number, uint32_t count, const uint32_t *keys)
{
    end(s, begin(s, number, count, keys), SERIAL_DONE);
}

/* What a read saw of one key: numbers up to a 0. */
static void saw(struct scene *s, uint32_t place, uint32_t index, const uint32_t *numbers)
{
    struct serial_list list = {0};
    while (numbers[list.count] != 0)
        list.count++;
    list.numbers = malloc((list.count + 1) * sizeof list.numbers[0]);
    memcpy(list.numbers, numbers, list.count * sizeof list.numbers[0]);
    serial_saw(&s->history, place, index, list);
}

#define LIST(...)      \
    (const uint32_t[]) \
    {                  \
        __VA_ARGS__    \
    }

static void read_one(struct scene *s, uint32_t key, const uint32_t *numbers)
{
    const uint32_t place = begin(s, 0, 1, &key);
    saw(s, place, 0, numbers);
    end(s, place, SERIAL_DONE);
}

/* `anomaly` NULL: there is none. */
static void expect(struct scene *s, const char *anomaly)
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
    struct scene s = {0};
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
        struct scene s = {0};
        begin(&s, 1, KEYS(0, 1));
        read_one(&s, 0, seen > 0 ? LIST(1, 0) : LIST(0));
        read_one(&s, 1, seen > 1 ? LIST(1, 0) : LIST(0));
        expect(&s, seen == 1 ? "torn" : NULL);
    }
}

TEST(what_is_lost_torn_doubled_or_made_up_is_found)
{
    struct scene s = {0};
    (void)state;
    write_keys(&s, 1, KEYS(0, 1));
    read_one(&s, 0, LIST(0));
    read_one(&s, 1, LIST(0));
    expect(&s, "lost");
    s = (struct scene){0};
    write_keys(&s, 1, KEYS(0, 1));
    read_one(&s, 0, LIST(1, 0));
    read_one(&s, 1, LIST(0));
    expect(&s, "torn");
    s = (struct scene){0};
    write_keys(&s, 1, KEYS(0));
    read_one(&s, 0, LIST(1, 1, 0));
    expect(&s, "twice");
    s = (struct scene){0};
    write_keys(&s, 1, KEYS(0));
    read_one(&s, 0, LIST(1, 7, 0));
    expect(&s, "nobody wrote");
    s = (struct scene){0};
    end(&s, begin(&s, 1, KEYS(0)), SERIAL_REFUSED);
    read_one(&s, 0, LIST(1, 0));
    expect(&s, "G1a");
}

TEST(lists_that_do_not_grow_are_found)
{
    struct scene s = {0};
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
    struct scene s = {0};
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
    struct scene s = {0};
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
    struct scene s = {0};
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
    struct scene s = {0};
    (void)state;
    write_keys(&s, 1, KEYS(0));
    read_one(&s, 0, LIST(0));
    read_one(&s, 0, LIST(1, 0));
    expect(&s, "real time");
}
