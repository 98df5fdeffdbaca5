/* router_update_test.c - UpdateItem: expressions, AttributeUpdates, what it returns, its faults. */
#include "tests/check.h"

#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    fake_table(&f, "events", "who", ATTR_STRING, "ts", ATTR_NUMBER, 2);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

/* An update of users/a. */
static const char *update(const char *members)
{
    static char request[4096];
    snprintf(request, sizeof request, "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}%s}",
             members);
    return request;
}

static void expect_refused(const char *members, const char *message)
{
    expect_invalid(&f, "UpdateItem", update(members), message);
}

#define UPDATE ",\"UpdateExpression\":"
#define VALUES ",\"ExpressionAttributeValues\":"

TEST(key_attributes_do_not_change)
{
    static const char TEXT[] = "One or more parameter values were invalid: Cannot update attribute "
                               "%s. This attribute is part of the key";
    static const struct {
        const char *members;
        const char *name;
    } CASES[] = {
        {UPDATE "\"SET ts = :v\"" VALUES "{\":v\":{\"N\":\"1\"}}", "ts"},
        {UPDATE "\"REMOVE who.x\"", "who"},
        {UPDATE "\"SET x = ts.y, ts = :v\"" VALUES "{\":v\":{\"N\":\"1\"}}", "ts"},
        {",\"AttributeUpdates\":{\"who\":{\"Action\":\"DELETE\"}}", "who"},
    };
    char request[512], message[256];
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        snprintf(
            request, sizeof request,
            "{\"TableName\":\"events\",\"Key\":{\"who\":{\"S\":\"a\"},\"ts\":{\"N\":\"1\"}}%s}",
            CASES[i].members);
        snprintf(message, sizeof message, TEXT, CASES[i].name);
        expect_invalid(&f, "UpdateItem", request, message);
    }
    expect_refused(UPDATE "\"SET v = if_not_exists(w, id.x)\"",
                   "Key attributes must be scalars; list random access '[]' and map lookup '.' are "
                   "not allowed: Key: id");
    expect_invalid(&f, "UpdateItem",
                   "{\"TableName\":\"users\",\"Key\":{\"x\":{\"S\":\"a\"}},"
                   "\"UpdateExpression\":\"REMOVE id\"}",
                   "The provided key element does not match the schema");
}

TEST(an_updated_item_has_at_most_400_kib)
{
    struct buffer b = {0};
    for (int more = 0; more < 2; more++) { /* id: 2 + 1, v: 1 + its size, w: 1 + 1 */
        size_t size = 409600 - 6 + (size_t)more;
        buffer_clear(&b);
        buffer_append_text(&b,
                           "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}},"
                           "\"UpdateExpression\":\"SET v = :v, w = :w\","
                           "\"ExpressionAttributeValues\":{\":w\":{\"S\":\"w\"},\":v\":{\"S\":\"");
        memset(buffer_reserve(&b, size), 'x', size);
        b.size += size;
        buffer_append_text(&b, "\"}}}");
        buffer_append_u8(&b, 0);
        if (more == 0)
            expect_call(&f, "UpdateItem", (const char *)b.data, 200, "{}");
        else
            expect_invalid(&f, "UpdateItem", (const char *)b.data,
                           "Item size to update has exceeded the maximum allowed size");
    }
    buffer_deinit(&b);
}
