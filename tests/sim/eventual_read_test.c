/* An eventual read that follows a write of the same client sees the write, nearly always: followers
 * hear of a commit when the client does. */
#include "tests/check.h"

#include "tests/support/lab.h"

enum {
    ROUNDS = 300,
    MISSED_MAX = 3
};

struct read_back {
    int round;
    int missed;
    bool ended;
};

static void put_done(void *context, int status, struct slice body)
{
    struct read_back *b = context;
    (void)body;
    assert_int_equal(status, 200);
    b->ended = true;
}

static void get_done(void *context, int status, struct slice body)
{
    struct read_back *b = context;
    char expected[32];
    int size = snprintf(expected, sizeof expected, "\"N\":\"%d\"", b->round);
    assert_int_equal(status, 200);
    b->missed += body.size == 0 || memmem(body.data, body.size, expected, (size_t)size) == NULL;
    b->ended = true;
}

static void call(struct lab *l, struct read_back *b, const char *operation, const char *body,
                 void (*done)(void *context, int status, struct slice body))
{
    b->ended = false;
    http_client_call(&l->clients[0][0], operation, slice_of(body), duration_ms(10000), done, b);
    while (!b->ended)
        lab_pass(l, 10 * NS_PER_US);
}

/* What each replica says that it has read is what clients have read. */
static void check_consumed(struct lab *l)
{
    int64_t mcu = 0, followers_mcu = 0;
    lab_pass(l, NS_PER_S); /* followers tell their leader */
    for (uint32_t node = 1; node <= l->world.plan.nodes; node++) {
        const struct partition_stats s = lab_stats_of(l, node, 1);
        mcu += s.kinds[ADMIT_READ].counts.load.consumed_mcu;
        followers_mcu += s.leads ? 0 : s.kinds[ADMIT_READ].counts.load.consumed_mcu;
    }
    assert_true(followers_mcu > 0);
    assert_int_equal(mcu, ROUNDS * MCU_PER_UNIT / 2);
}

TEST(an_eventual_read_right_after_a_write_sees_it)
{
    struct lab l;
    struct read_back b = {0};
    char body[160];
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    lab_create_table(&l, "tab", 1000, 1000);
    for (b.round = 0; b.round < ROUNDS; b.round++) {
        snprintf(body, sizeof body,
                 "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"a\"},\"n\":{\"N\":\"%d\"}}}",
                 b.round);
        call(&l, &b, "PutItem", body, put_done);
        call(&l, &b, "GetItem", "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"a\"}}}", get_done);
    }
    printf("    %d of %d reads missed the write before them\n", b.missed, ROUNDS);
    assert_true(b.missed <= MISSED_MAX);
    check_consumed(&l);
    lab_deinit(&l);
}
