/* Reads of a node's store that fail: nobody is told anything but that. */
#include "tests/check.h"

#include "tests/support/lab.h"

#define KEY "{\"TableName\":\"tab\",\"Key\":{\"k\":{\"S\":\"a\"}}"
#define PUT "{\"TableName\":\"tab\",\"Item\":{\"k\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}"

struct answer {
    bool ended;
    int status;
    struct buffer body;
};

static void answered(void *context, int status, struct slice body)
{
    struct answer *a = context;
    a->ended = true;
    a->status = status;
    buffer_clear(&a->body);
    buffer_append_slice(&a->body, body);
}

static bool says(const struct answer *a, const char *text)
{
    return memmem(a->body.data, a->body.size, text, strlen(text)) != NULL;
}

static void set_unreadable(struct lab *l, bool unreadable)
{
    for (uint32_t id = 1; id <= l->world.plan.nodes; id++) {
        struct medium *m = node_process_medium(l->world.nodes[id]);
        m->unreadable = 64;
        m->unreadable_left = unreadable ? UINT32_MAX : 0;
    }
}

static bool writes_log(const struct lab *l)
{
    bool any = false;
    for (uint32_t id = 1; id <= l->world.plan.nodes; id++)
        any |= node_process_disk(l->world.nodes[id])->flying_count > 0;
    return any;
}

static void begin(struct lab *l, struct answer *a, const char *operation, const char *body)
{
    a->ended = false;
    http_client_call(&l->clients[0][0], operation, slice_of(body), duration_ms(10000), answered, a);
}

static void call(struct lab *l, struct answer *a, const char *operation, const char *body)
{
    begin(l, a, operation, body);
    while (!a->ended)
        lab_pass(l, 10 * NS_PER_US);
}

/* A table with an item that has left the memory of its nodes. */
static void scene_begin(struct lab *l, struct answer *a)
{
    lab_init(l);
    lab_set(l, "checkpoint_ms", "100");
    lab_start(l);
    lab_pass(l, 2 * NS_PER_S);
    lab_create_table(l, "tab", 1000, 1000);
    call(l, a, "PutItem", PUT "}");
    assert_int_equal(a->status, 200);
    lab_pass(l, 5 * NS_PER_S);
}

static void scene_end(struct lab *l, struct answer *a)
{
    buffer_deinit(&a->body);
    lab_deinit(l);
}

static void reads_that_fail_are_not_answered_with_nothing(void **state)
{
    (void)state;
    struct lab l;
    struct answer a = {0};
    scene_begin(&l, &a);
    set_unreadable(&l, true);
    call(&l, &a, "GetItem", KEY ",\"ConsistentRead\":true}");
    assert_int_equal(a.status, 500);
    call(&l, &a, "Scan", "{\"TableName\":\"tab\",\"ConsistentRead\":true}");
    assert_int_equal(a.status, 500);
    call(&l, &a, "PutItem", PUT ",\"ReturnValues\":\"ALL_OLD\"}");
    assert_int_equal(a.status, 500);
    set_unreadable(&l, false);
    call(&l, &a, "GetItem", KEY ",\"ConsistentRead\":true}");
    assert_int_equal(a.status, 200);
    assert_true(says(&a, "\"n\""));
    scene_end(&l, &a);
}

/* The item is read once before the write is proposed, and once when the write is applied. */
static void a_write_whose_old_item_cannot_be_read_does_not_say_there_was_none(void **state)
{
    (void)state;
    struct lab l;
    struct answer a = {0};
    scene_begin(&l, &a);
    begin(&l, &a, "DeleteItem", KEY ",\"ReturnValues\":\"ALL_OLD\"}");
    while (!writes_log(&l))
        lab_pass(&l, 10 * NS_PER_US);
    set_unreadable(&l, true);
    while (!a.ended)
        lab_pass(&l, 10 * NS_PER_US);
    assert_int_equal(a.status, 500);
    assert_true(says(&a, "the write is done"));
    set_unreadable(&l, false);
    call(&l, &a, "GetItem", KEY ",\"ConsistentRead\":true}");
    assert_int_equal(a.status, 200);
    assert_false(says(&a, "\"n\""));
    scene_end(&l, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_that_fail_are_not_answered_with_nothing),
        cmocka_unit_test(a_write_whose_old_item_cannot_be_read_does_not_say_there_was_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
