#include "tests/check.h"

#include "tests/support/expect.h"

static struct fake_cluster f;
static uint32_t tables_reported;

/* The partition that is told is one of the table that is told. */
static void note_tables(void *context, const struct router_answer *a)
{
    const struct fake_cluster *cluster = context;
    bool fits = false;
    for (uint32_t t = 0; t < cluster->table_count; t++) {
        for (uint32_t p = 0; p < cluster->tables[t].partition_count; p++)
            fits |= slice_equal(cluster->tables[t].name, a->table) &&
                    cluster->tables[t].partitions[p].id == a->partition;
    }
    assert_true(fits || a->partition == 0);
    tables_reported += fits;
}

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    f.answered = note_tables;
    tables_reported = 0;
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 4);
    fake_table(&f, "events", "who", ATTR_STRING, "n", ATTR_NUMBER, 2);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static const char PUTS[] =
    "{\"RequestItems\":{\"users\":[{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"}}}},"
    "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"b\"}}}}],"
    "\"events\":[{\"PutRequest\":{\"Item\":{\"who\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}}]},"
    "\"ReturnConsumedCapacity\":\"TOTAL\"}";

TEST(gets_of_several_tables_come_back_by_table)
{
    fake_call(&f, "BatchWriteItem", PUTS);
    f.hold = true;
    fake_call(&f, "BatchGetItem",
              "{\"RequestItems\":{\"users\":{\"Keys\":[{\"id\":{\"S\":\"a\"}},"
              "{\"id\":{\"S\":\"none\"}},{\"id\":{\"S\":\"b\"}}]},"
              "\"events\":{\"Keys\":[{\"n\":{\"N\":\"1\"},\"who\":{\"S\":\"a\"}}],"
              "\"ConsistentRead\":true}},\"ReturnConsumedCapacity\":\"TOTAL\"}");
    /* All are asked at once; the answers come in another order. */
    assert_int_equal(f.held_count, 4);
    while (f.held_count > 0)
        fake_answer(&f, f.held_count - 1);
    expect_answer(fake_take_answer(&f, 1), 200,
                  "{\"Responses\":{\"users\":[{\"id\":{\"S\":\"a\"}},{\"id\":{\"S\":\"b\"}}],"
                  "\"events\":[{\"who\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}]},"
                  "\"UnprocessedKeys\":{},\"ConsumedCapacity\":[{\"TableName\":\"users\","
                  "\"CapacityUnits\":1.5},{\"TableName\":\"events\",\"CapacityUnits\":1.0}]}");
}

/* The router knows the table that is asked last before it knows the first. */
TEST(the_log_of_requests_names_a_partition_of_the_table_that_it_names)
{
    fake_call(&f, "GetItem",
              "{\"TableName\":\"events\",\"Key\":{\"who\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}");
    fake_call(&f, "BatchWriteItem", PUTS);
    assert_int_equal(tables_reported, 2);
}

/* Not by the first refusal: what nobody knows may have been done. */
TEST(a_call_of_which_a_part_may_be_done_does_not_report_that_nothing_was)
{
    fake_call(&f, "BatchWriteItem", PUTS);
    f.hold = true;
    fake_call(&f, "BatchWriteItem", PUTS);
    fake_answer_code(&f, 0, REPLY_OVERLOADED);
    fake_answer_code(&f, 0, REPLY_UNKNOWN);
    while (f.held_count > 0)
        fake_answer_code(&f, 0, REPLY_OVERLOADED);
    assert_int_equal(fake_take_answer(&f, 1).status, 500);
}

static char *many(const char *head, int count, const char *entry, const char *tail)
{
    struct buffer b = {0};
    buffer_append_text(&b, head);
    for (int i = 0; i < count; i++) {
        if (i > 0)
            buffer_append_u8(&b, ',');
        const char *at = strchr(entry, '%');
        if (at == NULL) {
            buffer_append_text(&b, entry);
            continue;
        }
        buffer_append(&b, entry, (size_t)(at - entry));
        buffer_append_format(&b, "%d%s", i, at + 2);
    }
    buffer_append_text(&b, tail);
    buffer_append_u8(&b, 0);
    return (char *)b.data;
}

TEST(one_answer_holds_at_most_16_mib_of_items)
{
    struct buffer b = {0};
    for (int i = 0; i < 45; i++) {
        buffer_clear(&b);
        buffer_append_format(&b,
                             "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"%d\"},"
                             "\"v\":{\"S\":\"%0400000d\"}}}",
                             i, 0);
        buffer_append_u8(&b, 0);
        expect_call(&f, "PutItem", (char *)b.data, 200, "{}");
    }
    buffer_deinit(&b);
    char *text =
        many("{\"RequestItems\":{\"users\":{\"Keys\":[", 45, "{\"id\":{\"S\":\"%d\"}}", "]}}}");
    struct fake_answer a = fake_call(&f, "BatchGetItem", text);
    assert_int_equal(a.status, 200);
    assert_true(a.body.size > 16000000);
    assert_true(a.body.size < 17000000);
    const char *left = memmem(a.body.data, a.body.size, "\"UnprocessedKeys\":{\"users\"", 26);
    assert_non_null(left);
    free(text);
}

/* A null has two bytes in an item and fourteen in JSON: writing 16 MiB of such items would hold the
 * loop for long. */
TEST(an_answer_that_grows_much_in_json_ends_early)
{
    struct buffer b = {0};
    for (int i = 0; i < 8; i++) {
        buffer_clear(&b);
        buffer_append_format(
            &b, "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"%d\"},\"v\":{\"L\":[", i);
        for (int n = 0; n < 150000; n++)
            buffer_append_text(&b, n == 0 ? "{\"NULL\":true}" : ",{\"NULL\":true}");
        buffer_append_text(&b, "]}}}");
        buffer_append_u8(&b, 0);
        expect_call(&f, "PutItem", (char *)b.data, 200, "{}");
    }
    buffer_deinit(&b);
    char *text =
        many("{\"RequestItems\":{\"users\":{\"Keys\":[", 8, "{\"id\":{\"S\":\"%d\"}}", "]}}}");
    struct fake_answer a = fake_call(&f, "BatchGetItem", text);
    assert_int_equal(a.status, 200);
    assert_true(a.body.size > 4000000);
    assert_true(a.body.size < 8000000);
    assert_non_null(memmem(a.body.data, a.body.size, "\"UnprocessedKeys\":{\"users\"", 26));
    free(text);
}

/* Comparing them by pairs, name by name, would take minutes. */
TEST(keys_of_many_attributes_are_refused_and_not_compared)
{
    struct buffer b = {0};
    buffer_append_text(&b, "{\"RequestItems\":{\"users\":{\"Keys\":[");
    for (int key = 0; key < 20; key++) {
        buffer_append_text(&b, key == 0 ? "{" : ",{");
        for (int n = 0; n < 4000; n++)
            buffer_append_format(&b, "%s\"a%d\":{\"BOOL\":true}", n == 0 ? "" : ",", n);
        buffer_append_text(&b, "}");
    }
    buffer_append_text(&b, "]}}}");
    buffer_append_u8(&b, 0);
    expect_invalid(&f, "BatchGetItem", (char *)b.data,
                   "The provided key element does not match the schema");
    buffer_deinit(&b);
}
