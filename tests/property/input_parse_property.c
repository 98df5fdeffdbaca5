/* input_parse_property.c - searches for the costliest request: wherever a client puts large values,
 * a router reads a bounded number of steps of them in a turn of its loop (STEPS-2).
 *
 * A fixture is a place in a request, and a value that stands there many times. The costliest one
 * so far is changed at random, again and again: what costs more is kept. */
#include "router/core/input_parse.h"
#include "router/operations/operations.h"
#include "tests/check.h"
#include "tests/support/fake_cluster.h"

enum {
    TEXT_MAX = 3000000, /* of the values of a request */
    ROUNDS = 40,
    KINDS = 14
};

#define ITEM   "{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}"
#define TABLE  "{\"TableName\":\"users\","
#define VALUES "\"ExpressionAttributeValues\":{"
#define PART   "{\"TransactItems\":[{"
#define MARK   "\"Statement\":\"SELECT * FROM users WHERE id = ?\",\"Parameters\":["

/* Where values stand: before the first one, around each one with its number, and after the last. */
static const struct place {
    const char *operation, *begin, *before, *after, *end;
} PLACES[] = {
    {"PutItem", TABLE "\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"},", "\"v%u\":", "", "}}"},
    {"PutItem", TABLE "\"Item\":" ITEM ",\"ConditionExpression\":\"id = :0\"," VALUES,
     "\":%u\":", "", "}}"},
    {"PutItem", TABLE "\"Item\":" ITEM ",\"Expected\":{", "\"v%u\":{\"Value\":", "}", "}}"},
    {"PutItem",
     TABLE "\"Item\":" ITEM ",\"Expected\":{\"v\":{\"ComparisonOperator\":\"IN\","
           "\"AttributeValueList\":[",
     "", "", "]}}}"},
    {"DeleteItem", TABLE "\"Key\":{", "\"v%u\":", "", "}}"},
    {"DeleteItem", TABLE "\"Key\":" ITEM ",\"ConditionExpression\":\"id = :0\"," VALUES,
     "\":%u\":", "", "}}"},
    {"DeleteItem", TABLE "\"Key\":" ITEM ",\"Expected\":{", "\"v%u\":{\"Value\":", "}", "}}"},
    {"DeleteItem", TABLE "\"Key\":" ITEM ",\"Expected\":{",
     "\"v%u\":{\"ComparisonOperator\":\"EQ\",\"AttributeValueList\":[", "]}", "}}"},
    {"UpdateItem", TABLE "\"Key\":{", "\"v%u\":", "", "}}"},
    {"UpdateItem", TABLE "\"Key\":" ITEM ",\"UpdateExpression\":\"SET a = :0\"," VALUES,
     "\":%u\":", "", "}}"},
    {"UpdateItem", TABLE "\"Key\":" ITEM ",\"AttributeUpdates\":{",
     "\"v%u\":{\"Action\":\"PUT\",\"Value\":", "}", "}}"},
    {"UpdateItem", TABLE "\"Key\":" ITEM ",\"Expected\":{", "\"v%u\":{\"Value\":", "}", "}}"},
    {"UpdateItem", TABLE "\"Key\":" ITEM ",\"Expected\":{",
     "\"v%u\":{\"ComparisonOperator\":\"EQ\",\"AttributeValueList\":[", "]}", "}}"},
    {"GetItem", TABLE "\"Key\":{", "\"v%u\":", "", "}}"},
    {"Query", TABLE "\"KeyConditionExpression\":\"id = :0\"," VALUES, "\":%u\":", "", "}}"},
    {"Query", TABLE "\"KeyConditions\":{",
     "\"v%u\":{\"ComparisonOperator\":\"EQ\",\"AttributeValueList\":[", "]}", "}}"},
    {"Query", TABLE "\"QueryFilter\":{",
     "\"v%u\":{\"ComparisonOperator\":\"EQ\",\"AttributeValueList\":[", "]}", "}}"},
    {"Query", TABLE "\"ExclusiveStartKey\":{", "\"v%u\":", "", "}}"},
    {"Scan", TABLE "\"FilterExpression\":\"id = :0\"," VALUES, "\":%u\":", "", "}}"},
    {"Scan", TABLE "\"ScanFilter\":{",
     "\"v%u\":{\"ComparisonOperator\":\"EQ\",\"AttributeValueList\":[", "]}", "}}"},
    {"Scan", TABLE "\"ExclusiveStartKey\":{", "\"v%u\":", "", "}}"},
    {"BatchGetItem", "{\"RequestItems\":{\"users\":{\"Keys\":[", "{\"v%u\":", "}", "]}}}"},
    {"BatchWriteItem", "{\"RequestItems\":{\"users\":[",
     "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"%u\"},\"v\":", "}}}", "]}}"},
    {"BatchWriteItem", "{\"RequestItems\":{\"users\":[",
     "{\"DeleteRequest\":{\"Key\":{\"v%u\":", "}}}", "]}}"},
    {"TransactGetItems", "{\"TransactItems\":[",
     "{\"Get\":{\"TableName\":\"users\",\"Key\":{\"v%u\":", "}}}", "]}"},
    {"TransactWriteItems", "{\"TransactItems\":[",
     "{\"Put\":{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"%u\"},\"v\":",
     "}}}", "]}"},
    {"TransactWriteItems",
     PART "\"Put\":" TABLE "\"Item\":" ITEM ",\"ConditionExpression\":\"id = :0\"," VALUES,
     "\":%u\":", "", "}}}]}"},
    {"TransactWriteItems", PART "\"Update\":" TABLE "\"Key\":{", "\"v%u\":", "",
     "},\"UpdateExpression\":\"REMOVE a\"}}]}"},
    {"TransactWriteItems",
     PART "\"Update\":" TABLE "\"Key\":" ITEM ",\"UpdateExpression\":\"SET a = :0\"," VALUES,
     "\":%u\":", "", "}}}]}"},
    {"TransactWriteItems", PART "\"Delete\":" TABLE "\"Key\":{", "\"v%u\":", "", "}}}]}"},
    {"TransactWriteItems",
     PART "\"Delete\":" TABLE "\"Key\":" ITEM ",\"ConditionExpression\":\"id = :0\"," VALUES,
     "\":%u\":", "", "}}}]}"},
    {"TransactWriteItems", PART "\"ConditionCheck\":" TABLE "\"Key\":{", "\"v%u\":", "",
     "},\"ConditionExpression\":\"id = id\"}}]}"},
    {"TransactWriteItems",
     PART "\"ConditionCheck\":" TABLE "\"Key\":" ITEM
          ",\"ConditionExpression\":\"id = :0\"," VALUES,
     "\":%u\":", "", "}}}]}"},
    {"ExecuteStatement", "{" MARK, "", "", "]}"},
    {"BatchExecuteStatement", "{\"Statements\":[", "{" MARK, "]}", "]}"},
    {"ExecuteTransaction", "{\"TransactStatements\":[", "{" MARK, "]}", "]}"},
};

struct fixture {
    uint8_t place;
    uint8_t kind;
    bool spoilt; /* the last element of each value is one that is refused, or stands there twice */
    uint32_t count; /* of a value's elements */
    uint32_t values;
};

static struct fake_cluster f;

/* ---- texts ---- */

static void append_elements(struct buffer *out, const struct fixture *s, const char *format)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t number = s->spoilt && i > 0 && i + 1 == s->count ? i - 1 : i;
        if (i > 0)
            buffer_append_u8(out, ',');
        buffer_append_format(out, format, number);
    }
}

static void append_times(struct buffer *out, const char *text, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++)
        buffer_append_text(out, text);
}

static void append_value(struct buffer *out, const struct fixture *s)
{
    static const struct {
        const char *begin, *element, *end;
    } LISTS[] = {
        {"{\"NS\":[", "\"%u\"", "]}"},        {"{\"SS\":[", "\"%x\"", "]}"},
        {"{\"BS\":[", "\"A%07u\"", "]}"},     {"{\"L\":[", "{\"NULL\":true}", "]}"},
        {"{\"L\":[", "{\"N\":\"%u\"}", "]}"}, {"{\"L\":[", "{\"L\":[]}", "]}"},
        {"{\"L\":[", "{\"M\":{}}", "]}"},     {"{\"M\":{", "\"%x\":{\"NULL\":true}", "}}"},
        {"{", "\"N\":\"%u\"", "}"},           {"{\"N\":\"1\",", "\"x%u\":1", "}"},
    };
    const char *const spoils[] = {"", ",{\"N\":\"x\"}"};
    if (s->kind < COUNT_OF(LISTS)) {
        buffer_append_text(out, LISTS[s->kind].begin);
        append_elements(out, s, LISTS[s->kind].element);
        if (strcmp(LISTS[s->kind].begin, "{\"L\":[") == 0)
            buffer_append_text(out, spoils[s->spoilt]);
        buffer_append_text(out, LISTS[s->kind].end);
    } else if (s->kind == KINDS - 4) {
        buffer_append_text(out, "{\"S\":\"");
        append_times(out, "y", s->count);
        buffer_append_text(out, "\"}");
    } else if (s->kind == KINDS - 3) {
        buffer_append_text(out, "{\"N\":\"");
        append_times(out, "0", s->count);
        buffer_append_text(out, s->spoilt ? "x\"}" : "1\"}");
    } else if (s->kind == KINDS - 2) {
        buffer_append_text(out, "{\"B\":\"");
        append_times(out, "AAAA", s->count / 4);
        buffer_append_text(out, "\"}");
    } else {
        const uint32_t depth = s->count % 40 + 1;
        append_times(out, "{\"L\":[", depth);
        append_times(out, "{\"N\":\"1\"},", s->count);
        buffer_append_text(out, "{\"N\":\"1\"}");
        append_times(out, "]}", depth);
    }
}

/* False: the text is too large. */
static bool fixture_text(const struct fixture *s, struct buffer *out)
{
    const struct place *p = &PLACES[s->place];
    struct buffer value = {0};
    append_value(&value, s);
    const bool fits = value.size * s->values <= TEXT_MAX;
    buffer_clear(out);
    buffer_append_text(out, p->begin);
    for (uint32_t i = 0; i < s->values && fits; i++) {
        if (i > 0)
            buffer_append_u8(out, ',');
        buffer_append_format(out, p->before, i);
        buffer_append_slice(out, buffer_slice(&value));
        buffer_append_text(out, p->after);
    }
    buffer_append_text(out, p->end);
    buffer_append_u8(out, 0);
    buffer_deinit(&value);
    return fits;
}

/* ---- the search ---- */

/* Sends it. `out`, unless it is NULL, gets the answer of a request that is refused. */
static void fixture_send(const struct fixture *s, const struct buffer *text, struct buffer *out)
{
    f.hold = true; /* what comes after reading is not looked at */
    fake_send_call(&f, 1, PLACES[s->place].operation, (const char *)text->data);
    const struct fake_answer a = fake_take_answer(&f, 1);
    if (out != NULL)
        buffer_append_format(out, "%zu sent, status %d ", f.held_count, a.status);
    if (out != NULL && a.status != 0)
        buffer_append_slice(out, a.body);
    router_close(f.router, f.now, 1);
    f.clients[1].open = false;
    while (f.held_count > 0)
        fake_answer_code(&f, 0, REPLY_OVERLOADED);
}

static uint64_t fixture_cost(const struct fixture *s)
{
    struct buffer text = {0};
    f.read_max = 0;
    if (fixture_text(s, &text))
        fixture_send(s, &text, NULL);
    buffer_deinit(&text);
    if (f.read_max >= STEPS_READ_MAX + STEPS_ONE_MAX)
        fprintf(stderr, "%s: %u values of kind %u with %u elements take %llu steps in a turn\n",
                PLACES[s->place].operation, s->values, s->kind, s->count,
                (unsigned long long)f.read_max);
    assert_true(f.read_max < STEPS_READ_MAX + STEPS_ONE_MAX);
    return f.read_max;
}

static void fixture_draw(struct prng *p, struct fixture *s)
{
    *s = (struct fixture){.place = (uint8_t)prng_below(p, COUNT_OF(PLACES)),
                          .kind = (uint8_t)prng_below(p, KINDS),
                          .spoilt = prng_below(p, 3) == 0,
                          .count = 1 + (uint32_t)prng_below(p, 1u << prng_below(p, 19)),
                          .values = 1 + (uint32_t)prng_below(p, 1u << prng_below(p, 12))};
}

static void fixture_change(struct prng *p, struct fixture *s)
{
    struct fixture other;
    fixture_draw(p, &other);
    switch (prng_below(p, 5)) {
    case 0:
        s->place = other.place;
        break;
    case 1:
        s->kind = other.kind;
        break;
    case 2:
        s->count = prng_below(p, 2) ? other.count : s->count * 2;
        break;
    case 3:
        s->values = prng_below(p, 2) ? other.values : s->values * 2;
        break;
    default:
        s->spoilt = other.spoilt;
    }
}

static void begin(void)
{
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, "n", ATTR_NUMBER, 1);
    fake_call(&f, "Scan", TABLE "\"Limit\":1}"); /* the router knows the table */
}

static void no_request_is_read_in_more_steps_a_turn_than_the_bound(struct prng *p)
{
    struct fixture best, s;
    begin();
    fixture_draw(p, &best);
    uint64_t max = fixture_cost(&best);
    for (int i = 0; i < ROUNDS; i++) {
        s = best;
        for (uint64_t changes = 1 + prng_below(p, 3); changes > 0; changes--)
            fixture_change(p, &s);
        const uint64_t cost = fixture_cost(&s);
        if (cost < max)
            continue;
        max = cost;
        best = s;
    }
    fake_deinit(&f);
}

TEST(reading)
{
    check_seeds(4, no_request_is_read_in_more_steps_a_turn_than_the_bound);
}

/* Blanks make a text a large one. */
static void values_that_were_read_ahead_get_the_same_answer(struct prng *p)
{
    struct buffer text = {0}, answer = {0}, ahead = {0};
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        struct fixture s;
        fixture_draw(p, &s);
        if (!fixture_text(&s, &text) || text.size >= BODY_LARGE_MIN)
            continue;
        buffer_clear(&answer);
        buffer_clear(&ahead);
        fixture_send(&s, &text, &answer);
        text.size--; /* of the NUL */
        memset(buffer_reserve(&text, BODY_LARGE_MIN), ' ', BODY_LARGE_MIN);
        text.size += BODY_LARGE_MIN;
        buffer_append_u8(&text, 0);
        fixture_send(&s, &text, &ahead);
        assert_int_equal(answer.size, ahead.size);
        assert_memory_equal(answer.data, ahead.data, answer.size);
    }
    buffer_deinit(&text);
    buffer_deinit(&answer);
    buffer_deinit(&ahead);
    fake_deinit(&f);
}

TEST(reading_ahead)
{
    check_seeds(8, values_that_were_read_ahead_get_the_same_answer);
}

/* Eight values with as many numbers as an item may have, at each place. */
TEST(values_are_read_in_turns_at_every_place)
{
    begin();
    for (size_t i = 0; i < COUNT_OF(PLACES); i++) {
        const struct fixture s = {.place = (uint8_t)i, .count = 30000, .values = 8};
        assert_true(fixture_cost(&s) > 0);
    }
    fake_deinit(&f);
}

/* ---- no place is missing ---- */

/* Whether a place of the operation has all these members. */
static bool places_have(const char *operation, const char *const path[], int depth)
{
    char name[80];
    bool has = false;
    for (size_t i = 0; i < COUNT_OF(PLACES) && !has; i++) {
        has = strcmp(PLACES[i].operation, operation) == 0;
        for (int k = 0; k < depth && has; k++) {
            snprintf(name, sizeof name, "\"%s\"", path[k]);
            has = strstr(PLACES[i].begin, name) != NULL || strstr(PLACES[i].before, name) != NULL;
        }
    }
    return has;
}

static uint32_t shape_check_places(const char *operation, const struct shape *s, const char *path[],
                                   int depth)
{
    uint32_t count = 0;
    if (s->kind == SHAPE_ATTRIBUTE) {
        if (!places_have(operation, path, depth))
            fail_msg("%s: no place has values in %s", operation, path[depth - 1]);
        return 1;
    }
    if (s->kind == SHAPE_LIST || s->kind == SHAPE_MAP)
        return shape_check_places(operation, s->element, path, depth);
    for (const struct shape_member *m = s->members; s->kind == SHAPE_STRUCTURE && m->name != NULL;
         m++) {
        path[depth] = m->name;
        if (m->use != MEMBER_LATER)
            count += shape_check_places(operation, m->shape, path, depth + 1);
    }
    return count;
}

TEST(every_member_that_has_values_is_tried)
{
    static const struct operation *const OPERATIONS[] = {
#define X(name) &operation_##name,
        OPERATION_LIST(X)
#undef X
    };
    const char *path[INPUT_PARSE_DEPTH_MAX];
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(OPERATIONS); i++)
        count += shape_check_places(OPERATIONS[i]->name, OPERATIONS[i]->input, path, 0);
    assert_in_range(count, 30, 60);
}
