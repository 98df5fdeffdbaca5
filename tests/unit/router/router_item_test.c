#include "tests/check.h"

#include "router/json/value.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    fake_table(&f, "events", "who", ATTR_STRING, "at", ATTR_NUMBER, 2);
    fake_table(&f, "blobs", "id", ATTR_STRING, "part", ATTR_BINARY, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

#define INVALID "One or more parameter values were invalid: "
#define ONE     "1 validation error detected: "

#define VALUES(text) text ",\"ExpressionAttributeValues\":{\":v\":%s}"
#define NOT_NUMERIC  "The parameter cannot be converted to a numeric value"
#define TOO_LARGE_NUMBER                                                                  \
    "Number overflow. Attempting to store a number with magnitude larger than supported " \
    "range"

TEST(malformed_values_have_the_words_of_the_operation)
{
    enum words {
        OLDER,
        BARE,
        PREFIXED
    };
    static const struct {
        const char *operation;
        const char *members;
        enum words words;
        bool wrapped; /* what is older names the value */
    } PLACES[] = {
        {"PutItem", "\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":%s}", PREFIXED,
         0},
        {"PutItem",
         "\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}}," VALUES(
             "\"ConditionExpression\":\"v = :v\""),
         PREFIXED, 0},
        {"UpdateItem",
         "\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}," VALUES(
             "\"UpdateExpression\":\"SET v = :v\""),
         PREFIXED, 0},
        {"DeleteItem", "\"TableName\":\"users\",\"Key\":{\"id\":%s}", PREFIXED, 0},
        {"GetItem", "\"TableName\":\"users\",\"Key\":{\"id\":%s}", BARE, 0},
        {"BatchGetItem", "\"RequestItems\":{\"users\":{\"Keys\":[{\"id\":%s}]}}", BARE, 0},
        {"Query", "\"TableName\":\"users\"," VALUES("\"KeyConditionExpression\":\"id = :v\""), BARE,
         0},
        {"Scan", "\"TableName\":\"users\"," VALUES("\"FilterExpression\":\"v = :v\""), OLDER, 1},
        {"BatchWriteItem",
         "\"RequestItems\":{\"users\":[{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"},\"v\":%s}}}]"
         "}",
         OLDER, 0},
        {"TransactWriteItems",
         "\"TransactItems\":[{\"Put\":{\"TableName\":\"users\",\"Item\":{\"id\":%s}}}]", OLDER, 0},
        {"TransactGetItems",
         "\"TransactItems\":[{\"Get\":{\"TableName\":\"users\",\"Key\":{\"id\":%s}}}]", OLDER, 0},
    };
    static const struct {
        const char *value;
        const char *older, *newer;
    } FAULTS[] = {
        {"{\"N\":\"x\"}", NOT_NUMERIC ": x", NOT_NUMERIC ": x"},
        {"{\"N\":\"\"}", NOT_NUMERIC, NOT_NUMERIC ": "},
        {"{\"N\":\"1e126\"}", TOO_LARGE_NUMBER, TOO_LARGE_NUMBER},
        {"{\"SS\":[\"d\",\"b\",\"a\",\"c\",\"b\"]}",
         INVALID "Input collection [d, b, a, c, b] contains duplicates.",
         INVALID "Input collection [\\\"a\\\", \\\"b\\\", \\\"b\\\"] contains duplicates."},
        {"{\"NS\":[\"1\",\"1.0\"]}", "Input collection contains duplicates",
         INVALID "Input collection contains duplicates."},
    };
    char members[1024], request[1024], text[1024];
    for (size_t i = 0; i < COUNT_OF(PLACES) * COUNT_OF(FAULTS); i++) {
        const size_t place = i / COUNT_OF(FAULTS), value = i % COUNT_OF(FAULTS);
        const enum words words = PLACES[place].words;
        const char *at = strstr(PLACES[place].members, "%s");
        snprintf(members, sizeof members, "%.*s%s%s", (int)(at - PLACES[place].members),
                 PLACES[place].members, FAULTS[value].value, at + 2);
        assert_true(snprintf(request, sizeof request, "{%s}", members) < (int)sizeof request);
        snprintf(text, sizeof text, "%s%s%s%s", words == PREFIXED ? ONE : "",
                 PLACES[place].wrapped ? "ExpressionAttributeValues contains invalid value: " : "",
                 words == OLDER ? FAULTS[value].older : FAULTS[value].newer,
                 PLACES[place].wrapped ? " for key :v" : "");
        expect_invalid(&f, PLACES[place].operation, request, text);
    }
}
