/* Conditions, updates, filters, projections and scans of the embedded library. Items are written as
 * JSON of the API, with ' for ". */
#include "embed/weir_internal.h"
#include "tests/check.h"
#include "tests/support/expression_fixture.h"
#include "tests/temporary.h"

enum {
    ITEMS_MAX = 64
};

struct fixture {
    struct weir *db;
    struct weir_table *t;
    struct expression_fixture json;
    struct weir_item *items[ITEMS_MAX]; /* owns */
    int item_count;
    struct weir_result r;
};

static void fixture_open(struct fixture *s, const char *directory, const char *settings,
                         const char *sort_key, int64_t units)
{
    struct weir_table_options options = {.partition_key = "id",
                                         .partition_key_type = WEIR_STRING,
                                         .sort_key = sort_key,
                                         .sort_key_type = WEIR_NUMBER,
                                         .read_units = units,
                                         .write_units = units};
    char *error = NULL;
    *s = (struct fixture){0};
    expression_fixture_init(&s->json, NULL, NULL);
    if (weir_open(directory, settings, &s->db, &error) != WEIR_OK)
        fail_msg("weir_open: %s", error);
    assert_int_equal(weir_table_create(s->db, "music", &options), WEIR_OK);
    assert_int_equal(weir_table_open(s->db, "music", &s->t), WEIR_OK);
}

static void fixture_free_items(struct fixture *s)
{
    while (s->item_count > 0)
        weir_item_destroy(s->items[--s->item_count]);
}

static void fixture_close(struct fixture *s)
{
    fixture_free_items(s);
    weir_close(s->db);
    expression_fixture_deinit(&s->json);
}

static const char *quoted(struct fixture *s, const char *text)
{
    char *copy = arena_zalloc(&s->json.arena, strlen(text) + 1);
    for (size_t i = 0; text[i] != '\0'; i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    return copy;
}

/* Lends until fixture_free_items. */
static struct weir_item *item(struct fixture *s, const char *json)
{
    struct slice name, bytes = expression_fixture_item(&s->json, quoted(s, json));
    struct attr value;
    assert_true(s->item_count < ITEMS_MAX);
    struct weir_item *out = s->items[s->item_count++] = weir_item_create();
    struct attr_cursor c = item_attrs(bytes);
    while (attr_next(&c, &name, &value)) {
        item_name(&out->writer, name);
        item_attr(&out->writer, &value);
    }
    return out;
}

static void put(struct fixture *s, const char *json)
{
    assert_int_equal(weir_put(s->t, item(s, json), &s->r), WEIR_OK);
}

/* The result's items as JSON, one after the other. */
static void assert_lends(struct fixture *s, const char *json)
{
    struct buffer all = {0};
    struct reader left = {slice_make(s->r.items, s->r.items_size), false};
    uint32_t count = 0;
    for (; left.left.size > 0; count++) {
        struct slice bytes = s->r.single ? left.left : reader_sized(&left);
        if (s->r.single)
            left.left.size = 0;
        assert_int_equal(item_check(bytes), STATUS_OK);
        buffer_append_text(&all, expression_fixture_json(&s->json, bytes));
    }
    buffer_append_u8(&all, 0);
    assert_string_equal((const char *)all.data, quoted(s, json));
    assert_int_equal(s->r.count, count);
    buffer_deinit(&all);
}

static void assert_stored(struct fixture *s, const char *key, const char *json)
{
    const struct weir_result kept = s->r;
    const enum weir_status status = weir_get(s->t, item(s, key), true, &s->r);
    assert_int_equal(status, json == NULL ? WEIR_NOT_FOUND : WEIR_OK);
    assert_lends(s, json == NULL ? "" : json);
    s->r = kept;
}

static void assert_error(struct fixture *s, const char *text)
{
    assert_int_equal(s->r.status, WEIR_INVALID);
    assert_int_equal(s->r.count, 0);
    assert_string_equal(weir_error(s->db), text);
}

/* ---- writes under a condition ---- */

FIXTURE(temporary_setup, temporary_teardown)

TEST(a_put_under_a_condition_writes_only_if_the_item_fulfils_it)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, NULL, 100);
    const struct weir_write_options absent = {.condition = "attribute_not_exists(id)"};
    const struct weir_write_options one = {
        .condition = "#v = :v",
        .placeholders = {&(struct weir_name){"#v", "version"}, 1, item(&s, "{':v':{'N':'1.0'}}")}};
    struct weir_item *first = item(&s, "{'id':{'S':'a'},'version':{'N':'1'}}");
    struct weir_item *second = item(&s, "{'id':{'S':'a'},'version':{'N':'2'}}");
    assert_int_equal(weir_put_if(s.t, second, &one, &s.r), WEIR_CONDITION_FAILED);
    assert_stored(&s, "{'id':{'S':'a'}}", NULL);
    assert_int_equal(weir_put_if(s.t, first, &absent, &s.r), WEIR_OK);
    assert_int_equal(weir_put_if(s.t, first, &absent, &s.r), WEIR_CONDITION_FAILED);
    assert_int_equal(s.r.status, WEIR_CONDITION_FAILED);
    assert_string_equal(weir_error(s.db), "the item does not fulfil the condition");
    assert_lends(&s, "");
    assert_int_equal(weir_put_if(s.t, second, &one, &s.r), WEIR_OK);
    assert_string_equal(weir_error(s.db), "");
    assert_lends(&s, "");
    assert_int_equal(weir_put_if(s.t, second, &one, &s.r), WEIR_CONDITION_FAILED);
    assert_stored(&s, "{'id':{'S':'a'}}", "{'id':{'S':'a'},'version':{'N':'2'}}");
    fixture_close(&s);
}

TEST(a_delete_under_a_condition_deletes_only_if_the_item_fulfils_it)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, NULL, 100);
    struct weir_item *key = item(&s, "{'id':{'S':'a'},'ignored':{'N':'7'}}");
    const struct weir_write_options big = {.condition = "size(v) > :two",
                                           .placeholders.values = item(&s, "{':two':{'N':'2'}}"),
                                           .returned = WEIR_RETURN_OLD};
    assert_int_equal(weir_delete_if(s.t, key, &big, &s.r), WEIR_CONDITION_FAILED);
    put(&s, "{'id':{'S':'a'},'v':{'S':'xy'}}");
    assert_int_equal(weir_delete_if(s.t, key, &big, &s.r), WEIR_CONDITION_FAILED);
    put(&s, "{'id':{'S':'a'},'v':{'S':'xyz'}}");
    assert_int_equal(weir_delete_if(s.t, key, &big, &s.r), WEIR_OK);
    assert_lends(&s, "{'id':{'S':'a'},'v':{'S':'xyz'}}");
    assert_stored(&s, "{'id':{'S':'a'}}", NULL);
    assert_int_equal(weir_delete_if(s.t, key, NULL, &s.r), WEIR_OK);
    assert_lends(&s, "");
    fixture_close(&s);
}

TEST(a_write_returns_the_requested_item)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, NULL, 100);
    struct weir_item *key = item(&s, "{'id':{'S':'a'}}");
    struct weir_item *next = item(&s, "{'id':{'S':'a'},'v':{'N':'2'}}");
    const struct weir_write_options old = {.returned = WEIR_RETURN_OLD};
    const struct weir_write_options new = {.returned = WEIR_RETURN_NEW};
    struct weir_write_options failing = {.condition = "attribute_exists(gone)"};
    assert_int_equal(weir_put_if(s.t, next, &old, &s.r), WEIR_OK);
    assert_lends(&s, "");
    assert_int_equal(weir_put_if(s.t, next, &old, &s.r), WEIR_OK);
    assert_lends(&s, "{'id':{'S':'a'},'v':{'N':'2'}}");
    assert_int_equal(weir_update(s.t, key, "REMOVE v SET w = v", &old, &s.r), WEIR_OK);
    assert_lends(&s, "{'id':{'S':'a'},'v':{'N':'2'}}");
    assert_int_equal(weir_update(s.t, key, "SET v = w", &new, &s.r), WEIR_OK);
    assert_lends(&s, "{'id':{'S':'a'},'w':{'N':'2'},'v':{'N':'2'}}");
    assert_int_equal(weir_update(s.t, key, "REMOVE w", &failing, &s.r), WEIR_CONDITION_FAILED);
    assert_lends(&s, "");
    failing.return_if_failed = true;
    assert_int_equal(weir_update(s.t, key, "REMOVE w", &failing, &s.r), WEIR_CONDITION_FAILED);
    assert_lends(&s, "{'id':{'S':'a'},'w':{'N':'2'},'v':{'N':'2'}}");
    assert_int_equal(weir_put_if(s.t, next, &failing, &s.r), WEIR_CONDITION_FAILED);
    assert_int_equal(s.r.count, 1);
    assert_int_equal(weir_delete_if(s.t, item(&s, "{'id':{'S':'b'}}"), &failing, &s.r),
                     WEIR_CONDITION_FAILED);
    assert_lends(&s, "");
    assert_int_equal(weir_put_if(s.t, next, &new, &s.r), WEIR_INVALID);
    assert_error(&s, "returned: 2 is none of the items that this write can return");
    assert_int_equal(weir_delete_if(s.t, key, &new, &s.r), WEIR_INVALID);
    fixture_close(&s);
}

/* ---- updates ---- */

TEST(an_update_changes_attributes_or_makes_the_item)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, "n", 100);
    struct weir_item *key = item(&s, "{'id':{'S':'a'},'n':{'N':'1'},'other':{'S':'x'}}");
    const struct weir_write_options o = {
        .placeholders = {&(struct weir_name){"#count", "count"}, 1,
                         item(&s, "{':one':{'N':'1'},':tags':{'SS':['x','y']},"
                                  "':list':{'L':[{'S':'z'}]}}")},
        .returned = WEIR_RETURN_NEW};
    const char *update = "ADD #count :one, tags :tags SET hist = list_append(if_not_exists(hist, "
                         ":list), :list)";
    assert_int_equal(weir_update(s.t, key, update, &o, &s.r), WEIR_OK);
    assert_lends(&s, "{'id':{'S':'a'},'n':{'N':'1'},'count':{'N':'1'},'hist':{'L':[{'S':'z'},{'S':"
                     "'z'}]},'tags':{'SS':['x','y']}}");
    assert_int_equal(weir_update(s.t, key, update, &o, &s.r), WEIR_OK);
    assert_int_equal(weir_update(s.t, key, "REMOVE tags, hist[0]", NULL, &s.r), WEIR_OK);
    assert_stored(&s, "{'id':{'S':'a'},'n':{'N':'1'}}",
                  "{'id':{'S':'a'},'n':{'N':'1'},'count':{'N':'2'},'hist':{'L':[{'S':'z'},{'S':'z'}"
                  "]}}");
    key = item(&s, "{'id':{'S':'a'},'n':{'N':'2'}}");
    assert_int_equal(weir_update(s.t, key, NULL, NULL, &s.r), WEIR_OK);
    assert_stored(&s, "{'id':{'S':'a'},'n':{'N':'2'}}", "{'id':{'S':'a'},'n':{'N':'2'}}");
    fixture_close(&s);
}

TEST(an_update_that_does_not_fit_the_item_is_explained_and_writes_nothing)
{
    static const struct {
        const char *update;
        const char *text;
    } CASES[] = {
        {"SET x = gone", "update: The provided expression refers to an attribute that does not "
                         "exist in the item"},
        {"SET x = s + :one", "update: An operand in the update expression has an incorrect data "
                             "type"},
        {"SET s.a = :one", "update: The document path provided in the update expression is invalid "
                           "for update"},
        {"ADD s :one", "update: An operand in the update expression has an incorrect data type"},
        {"SET x = big + :one",
         "update: Number overflow. Attempting to store a number with magnitude larger than "
         "supported range"},
    };
    struct fixture s;
    fixture_open(&s, *state, NULL, NULL, 100);
    const char *stored = "{'id':{'S':'a'},'s':{'S':'text'},'big':{'N':'99999999999999999999999999"
                         "99999999999900000000000000000000000000000000000000000000000000000000000"
                         "00000000000000000000000000000'}}";
    put(&s, stored);
    struct weir_item *key = item(&s, "{'id':{'S':'a'}}"), *one = item(&s, "{':one':{'N':'1'}}");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct weir_write_options o = {.returned = WEIR_RETURN_NEW, .return_if_failed = true};
        if (strstr(CASES[i].update, ":one") != NULL)
            o.placeholders.values = one;
        assert_int_equal(weir_update_start(s.t, key, CASES[i].update, &o, i), WEIR_OK);
        weir_update(s.t, key, CASES[i].update, &o, &s.r);
        assert_int_equal(s.r.status, WEIR_INVALID);
        assert_string_equal(weir_error(s.db), CASES[i].text);
        assert_int_equal(weir_complete(s.db, &s.r), WEIR_OK);
        assert_int_equal(s.r.status, WEIR_INVALID);
        assert_int_equal(s.r.tag, i);
        assert_string_equal(weir_error(s.db), CASES[i].text);
    }
    assert_stored(&s, "{'id':{'S':'a'}}", stored);
    fixture_close(&s);
}

/* ---- refusals ---- */

TEST(expressions_that_make_no_sense_are_refused_and_the_member_is_named)
{
    static const struct {
        const char *update;
        const char *condition;
        const char *text;
    } CASES[] = {
        {NULL, "a =", "condition: Syntax error; token: \"<EOF>\", near: \"=\""},
        {NULL, "", "condition: The expression can not be empty;"},
        {NULL, "attribute_exists(size)",
         "condition: Attribute name is a reserved keyword; reserved "
         "keyword: size"},
        {NULL, "a = :b",
         "condition: An expression attribute value used in expression is not "
         "defined; attribute value: :b"},
        {NULL, "attribute_exists(#b)",
         "condition: An expression attribute name used in the "
         "document path is not defined; attribute name: #b"},
        {NULL, "begins(a, a)", "condition: Invalid function name; function: begins"},
        {NULL, "id.x = id", "condition: the key attribute id is a scalar; nothing is inside it"},
        {"SET", NULL, "update: Syntax error; token: \"<EOF>\", near: \"SET\""},
        {"", NULL, "update: The expression can not be empty;"},
        {"SET a = b, a = c", NULL,
         "update: Two document paths overlap with each other; must "
         "remove or rewrite one of these paths; path one: [a], path two: "
         "[a]"},
        {"SET id = a", NULL, "update: the key attribute id cannot be changed"},
        {"SET a = n[0]", NULL, "update: the key attribute n is a scalar; nothing is inside it"},
    };
    struct fixture s;
    fixture_open(&s, *state, NULL, "n", 100);
    struct weir_item *key = item(&s, "{'id':{'S':'a'},'n':{'N':'1'}}");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const struct weir_write_options o = {.condition = CASES[i].condition};
        assert_int_equal(weir_update(s.t, key, CASES[i].update, &o, &s.r), WEIR_INVALID);
        assert_error(&s, CASES[i].text);
        assert_int_equal(weir_update_start(s.t, key, CASES[i].update, &o, 1), WEIR_INVALID);
        assert_string_equal(weir_error(s.db), CASES[i].text);
        if (CASES[i].update != NULL)
            continue;
        assert_int_equal(weir_put_if(s.t, key, &o, &s.r), WEIR_INVALID);
        assert_error(&s, CASES[i].text);
        assert_int_equal(weir_delete_if(s.t, key, &o, &s.r), WEIR_INVALID);
        assert_error(&s, CASES[i].text);
        const struct weir_query_options q = {.filter = CASES[i].condition};
        assert_int_equal(weir_scan(s.t, &q, &s.r), WEIR_INVALID);
        assert_memory_equal(weir_error(s.db), "filter: ", 8);
        assert_string_equal(weir_error(s.db) + 8, CASES[i].text + strlen("condition: "));
    }
    assert_int_equal(
        weir_query(s.t, key, &(struct weir_query_options){.projection = "a, a.b"}, &s.r),
        WEIR_INVALID);
    assert_memory_equal(weir_error(s.db), "projection: Two document paths overlap", 38);
    assert_int_equal(
        weir_query(s.t, key, &(struct weir_query_options){.projection = "id[1]"}, &s.r),
        WEIR_INVALID);
    assert_error(&s, "projection: the key attribute id is a scalar; nothing is inside it");
    assert_int_equal(weir_complete(s.db, &s.r), WEIR_NOT_FOUND);
    assert_stored(&s, "{'id':{'S':'a'},'n':{'N':'1'}}", NULL);
    fixture_close(&s);
}

TEST(placeholders_that_are_malformed_repeated_or_unused_are_refused)
{
    static const struct weir_name NAMES[][2] = {
        {{"n", "a"}},
        {{"#", "a"}},
        {{"#a-b", "a"}},
        {{NULL, "a"}},
        {{"#a", ""}},
        {{"#a", NULL}},
        {{"#a", "a"}, {"#a", "b"}},
        {{"#a", "a"}, {"#b", "b"}},
    };
    static const char *const NAME_TEXTS[] = {
        "names: \"n\" is not a placeholder: #, then letters, digits or _",
        "names: \"#\" is not a placeholder: #, then letters, digits or _",
        "names: \"#a-b\" is not a placeholder: #, then letters, digits or _",
        "names: \"\" is not a placeholder: #, then letters, digits or _",
        "names: #a stands for no name of 1 to 65535 bytes",
        "names: #a stands for no name of 1 to 65535 bytes",
        "names: #a occurs twice",
        "names: no expression uses #b",
    };
    static const char *const VALUES[][2] = {
        {"{'v':{'N':'1'}}", "values: \"v\" is not a placeholder: :, then letters, digits or _"},
        {"{':v':{'N':'1'},':w':{'N':'1'}}", "values: no expression uses :w"},
    };
    struct fixture s;
    fixture_open(&s, *state, NULL, NULL, 100);
    struct weir_item *key = item(&s, "{'id':{'S':'a'}}");
    for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
        const struct weir_write_options o = {
            .condition = "attribute_not_exists(#a)",
            .placeholders = {NAMES[i], NAMES[i][1].placeholder != NULL ? 2 : 1, NULL}};
        assert_int_equal(weir_put_if(s.t, key, &o, &s.r), WEIR_INVALID);
        assert_error(&s, NAME_TEXTS[i]);
    }
    for (size_t i = 0; i < COUNT_OF(VALUES); i++) {
        const struct weir_query_options o = {.filter = "a = :v",
                                             .placeholders.values = item(&s, VALUES[i][0])};
        assert_int_equal(weir_query(s.t, key, &o, &s.r), WEIR_INVALID);
        assert_error(&s, VALUES[i][1]);
    }
    struct weir_item *twice = item(&s, "{}");
    weir_item_add(twice, ":v", WEIR_NUMBER, "1", 1);
    weir_item_add(twice, ":v", WEIR_NUMBER, "2", 1);
    const struct weir_write_options o = {.condition = "a = :v", .placeholders.values = twice};
    assert_int_equal(weir_delete_if(s.t, key, &o, &s.r), WEIR_INVALID);
    assert_error(&s, "values: an attribute or element occurs twice");
    struct weir_item *open = item(&s, "{}");
    weir_item_begin(open, ":v", WEIR_LIST);
    const struct weir_write_options unended = {.condition = "a = :v", .placeholders.values = open};
    assert_int_equal(weir_put_if(s.t, key, &unended, &s.r), WEIR_INVALID);
    assert_error(&s, "values: weir_item_end is missing");
    const struct weir_write_options useless = {.placeholders.values = item(&s, "{':v':{'N':'1'}}")};
    assert_int_equal(weir_put_if(s.t, key, &useless, &s.r), WEIR_INVALID);
    assert_error(&s, "values: no expression uses :v");
    fixture_close(&s);
}

/* A program has a value as often as the expression names it. */
TEST(values_that_would_make_a_program_too_large_are_refused)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, NULL, 100);
    char *big = malloc(400000);
    memset(big, 'x', 400000);
    struct weir_item *values = item(&s, "{}"), *key = item(&s, "{'id':{'S':'a'}}");
    weir_item_add(values, ":v", WEIR_BINARY, big, 400000);
    free(big);
    struct weir_write_options o = {.condition =
                                       "a <> :v AND b <> :v AND c <> :v AND d <> :v AND e <> :v",
                                   .placeholders.values = values};
    assert_int_equal(weir_put_if(s.t, key, &o, &s.r), WEIR_OK);
    o.condition = "a <> :v AND b <> :v AND c <> :v AND d <> :v AND e <> :v AND f <> :v";
    assert_int_equal(weir_put_if(s.t, key, &o, &s.r), WEIR_INVALID);
    assert_error(&s, "condition: its values have more than 2097152 bytes, each as often as it is "
                     "named");
    o.condition = NULL;
    assert_int_equal(
        weir_update(s.t, key, "SET a = :v, b = :v, c = :v, d = :v, e = :v, f = :v", &o, &s.r),
        WEIR_INVALID);
    assert_error(&s, "update: its values have more than 2097152 bytes, each as often as it is "
                     "named");
    assert_int_equal(weir_update(s.t, key, "SET a = :v, b = :v", &o, &s.r), WEIR_INVALID);
    assert_error(&s, "update: Item size to update has exceeded the maximum allowed size");
    fixture_close(&s);
}

/* ---- started writes ---- */

TEST(started_writes_have_conditions_and_their_completions_lend_items)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, NULL, 1000);
    struct weir_item *key = item(&s, "{'id':{'S':'a'}}");
    const struct weir_write_options add = {.placeholders.values = item(&s, "{':one':{'N':'1'}}"),
                                           .returned = WEIR_RETURN_NEW};
    const struct weir_write_options absent = {.condition = "attribute_not_exists(id)",
                                              .return_if_failed = true};
    const struct weir_write_options old = {.returned = WEIR_RETURN_OLD};
    bool seen[12] = {false};
    for (uint64_t tag = 0; tag < 10; tag++)
        assert_int_equal(weir_update_start(s.t, key, "ADD v :one", &add, tag), WEIR_OK);
    assert_int_equal(weir_put_if_start(s.t, key, &absent, 10), WEIR_OK);
    while (weir_complete(s.db, &s.r) == WEIR_OK) {
        char json[64];
        assert_true(s.r.tag < 11 && !seen[s.r.tag]);
        seen[s.r.tag] = true;
        assert_int_equal(s.r.status, s.r.tag == 10 ? WEIR_CONDITION_FAILED : WEIR_OK);
        assert_string_equal(weir_error(s.db),
                            s.r.tag == 10 ? "the item does not fulfil the condition" : "");
        snprintf(json, sizeof json, "{'id':{'S':'a'},'v':{'N':'%d'}}",
                 s.r.tag == 10 ? 10 : (int)s.r.tag + 1);
        assert_lends(&s, json);
    }
    assert_int_equal(weir_delete_if_start(s.t, key, &old, 11), WEIR_OK);
    assert_int_equal(weir_complete(s.db, &s.r), WEIR_OK);
    assert_lends(&s, "{'id':{'S':'a'},'v':{'N':'10'}}");
    assert_int_equal(weir_complete(s.db, &s.r), WEIR_NOT_FOUND);
    assert_stored(&s, "{'id':{'S':'a'}}", NULL);
    fixture_close(&s);
}

/* ---- queries and scans ---- */

static void put_numbered(struct fixture *s, const char *id, int count, size_t filler)
{
    char *bytes = malloc(filler + 1);
    memset(bytes, 'x', filler + 1);
    for (int i = 0; i < count; i++) {
        char json[96];
        snprintf(json, sizeof json, "{'id':{'S':'%s'},'n':{'N':'%d'},'odd':{'BOOL':%s}}", id, i,
                 i % 2 == 1 ? "true" : "false");
        struct weir_item *it = item(s, json);
        if (filler > 0)
            weir_item_add(it, "filler", WEIR_BINARY, bytes, filler);
        assert_int_equal(weir_put(s->t, it, &s->r), WEIR_OK);
        fixture_free_items(s);
    }
    free(bytes);
}

TEST(a_query_filters_projects_and_counts)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, "n", 100);
    put_numbered(&s, "a", 5, 0);
    put_numbered(&s, "b", 3, 0);
    struct weir_item *key = item(&s, "{'id':{'S':'a'}}");
    struct weir_query_options o = {.filter = "odd = :odd",
                                   .projection = "n",
                                   .placeholders.values = item(&s, "{':odd':{'BOOL':true}}")};
    assert_int_equal(weir_query(s.t, key, &o, &s.r), WEIR_OK);
    assert_lends(&s, "{'n':{'N':'1'}}{'n':{'N':'3'}}");
    assert_int_equal(s.r.scanned, 5);
    assert_false(s.r.more);
    o.reverse = true;
    o.projection = NULL;
    assert_int_equal(weir_query(s.t, key, &o, &s.r), WEIR_OK);
    assert_lends(&s, "{'id':{'S':'a'},'n':{'N':'3'},'odd':{'BOOL':true}}{'id':{'S':'a'},'n':{'N':"
                     "'1'},'odd':{'BOOL':true}}");
    o.count_only = true;
    assert_int_equal(weir_query(s.t, key, &o, &s.r), WEIR_OK);
    assert_int_equal(s.r.count, 2);
    assert_int_equal(s.r.scanned, 5);
    assert_int_equal(s.r.items_size, 0);
    o = (struct weir_query_options){.projection = "gone"};
    assert_int_equal(weir_query(s.t, key, &o, &s.r), WEIR_OK);
    assert_lends(&s, "{}{}{}{}{}");
    fixture_close(&s);
}

/* Reads all pages; counts them, and those that the filter left empty. Returns the items lent. */
static int read_pages(struct fixture *s, struct weir_item *key, struct weir_query_options o,
                      int *pages, int *empty, uint32_t *scanned)
{
    struct weir_item *after = weir_item_create();
    int count = 0;
    *pages = *empty = 0;
    *scanned = 0;
    do {
        const enum weir_status status =
            key != NULL ? weir_query(s->t, key, &o, &s->r) : weir_scan(s->t, &o, &s->r);
        if (status != WEIR_OK)
            fail_msg("%d: %s", status, weir_error(s->db));
        count += (int)s->r.count;
        *scanned += s->r.scanned;
        ++*pages;
        *empty += s->r.count == 0;
        assert_true(o.limit == 0 || s->r.scanned <= o.limit);
        o.after = after;
        assert_int_equal(weir_result_last(&s->r, after), s->r.more);
    } while (s->r.more);
    weir_item_destroy(after);
    return count;
}

TEST(pages_that_the_filter_leaves_empty_go_on_behind_the_last_item_read)
{
    struct fixture s;
    int pages, empty;
    uint32_t scanned;
    fixture_open(&s, *state, NULL, "n", 1000);
    put_numbered(&s, "a", 20, 0);
    put_numbered(&s, "b", 20, 0);
    struct weir_item *key = item(&s, "{'id':{'S':'a'}}");
    struct weir_query_options o = {
        .limit = 3, .filter = "n = :n", .placeholders.values = item(&s, "{':n':{'N':'10'}}")};
    for (int reverse = 0; reverse < 2; reverse++) {
        o.reverse = reverse == 1;
        assert_int_equal(read_pages(&s, key, o, &pages, &empty, &scanned), 1);
        assert_int_equal(pages, 7);
        assert_int_equal(empty, 6);
        assert_int_equal(scanned, 20);
        assert_int_equal(read_pages(&s, NULL, o, &pages, &empty, &scanned), 2);
        assert_int_equal(pages, 14);
        assert_int_equal(empty, 12);
        assert_int_equal(scanned, 40);
    }
    fixture_close(&s);
}

TEST(a_scan_reads_the_whole_table_in_pages_of_a_mebibyte)
{
    struct fixture s;
    int pages, empty;
    uint32_t scanned;
    fixture_open(&s, *state, "profile = off\n", "n", 1000);
    put_numbered(&s, "a", 30, 50000);
    put_numbered(&s, "b", 30, 50000);
    struct weir_query_options o = {.consistent = true};
    assert_int_equal(read_pages(&s, NULL, o, &pages, &empty, &scanned), 60);
    assert_int_equal(pages, 3);
    o.filter = "attribute_not_exists(id)";
    assert_int_equal(read_pages(&s, NULL, o, &pages, &empty, &scanned), 0);
    assert_int_equal(pages, 3);
    assert_int_equal(empty, 3);
    assert_int_equal(scanned, 60);
    o.projection = "n";
    o.filter = NULL;
    assert_int_equal(read_pages(&s, NULL, o, &pages, &empty, &scanned), 60);
    assert_int_equal(pages, 3); /* a page ends by what is read, not by what is shown */
    fixture_close(&s);
}

TEST(a_scan_of_an_empty_table_beside_others_finds_nothing)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, NULL, 100);
    put(&s, "{'id':{'S':'a'}}");
    const struct weir_table_options other = {.partition_key = "id",
                                             .partition_key_type = WEIR_STRING};
    struct weir_table *t;
    assert_int_equal(weir_table_create(s.db, "other", &other), WEIR_OK);
    assert_int_equal(weir_table_open(s.db, "other", &t), WEIR_OK);
    assert_int_equal(weir_scan(t, NULL, &s.r), WEIR_OK);
    assert_lends(&s, "");
    assert_int_equal(s.r.scanned, 0);
    struct weir_item *last = item(&s, "{'id':{'S':'old'}}");
    assert_false(weir_result_last(&s.r, last));
    assert_int_equal(weir_scan(s.t, NULL, &s.r), WEIR_OK);
    assert_lends(&s, "{'id':{'S':'a'}}");
    fixture_close(&s);
}

/* Otherwise the items of other partition keys would be read. */
TEST(a_query_goes_on_only_behind_an_item_of_its_own)
{
    struct fixture s;
    fixture_open(&s, *state, NULL, "n", 100);
    put_numbered(&s, "a", 3, 0);
    put_numbered(&s, "b", 3, 0);
    for (int i = 0; i < 2; i++) {
        const struct weir_query_options o = {
            .after = item(&s, i == 0 ? "{'id':{'S':'a'},'n':{'N':'1'}}"
                                     : "{'id':{'S':'b'},'n':{'N':'1'}}")};
        for (int j = 0; j < 2; j++) {
            struct weir_item *key = item(&s, j == 0 ? "{'id':{'S':'a'}}" : "{'id':{'S':'b'}}");
            const enum weir_status status = weir_query(s.t, key, &o, &s.r);
            assert_int_equal(status, i == j ? WEIR_OK : WEIR_INVALID);
            if (i != j)
                assert_error(&s, "after: the item is none of those that the query reads");
        }
    }
    const struct weir_query_options bad = {.after = item(&s, "{'id':{'S':'a'}}")};
    assert_int_equal(weir_scan(s.t, &bad, &s.r), WEIR_INVALID);
    fixture_close(&s);
}

/* ---- capacity ---- */

TEST(capacity_is_that_of_what_was_read_or_would_have_been_written)
{
    struct fixture s;
    fixture_open(&s, *state, "profile = off\n", "n", 1000);
    put_numbered(&s, "a", 4, 3000); /* 3 write units each, 12 KB in all */
    struct weir_item *key = item(&s, "{'id':{'S':'a'}}");
    struct weir_query_options o = {.filter = "attribute_not_exists(id)", .consistent = true};
    assert_int_equal(weir_query(s.t, key, &o, &s.r), WEIR_OK);
    assert_int_equal(s.r.consumed_mcu, 3000);
    o.consistent = false;
    assert_int_equal(weir_scan(s.t, &o, &s.r), WEIR_OK);
    assert_int_equal(s.r.consumed_mcu, 1500);
    key = item(&s, "{'id':{'S':'a'},'n':{'N':'1'}}");
    const struct weir_write_options failing = {.condition = "attribute_not_exists(id)"};
    assert_int_equal(weir_put_if(s.t, key, &failing, &s.r), WEIR_CONDITION_FAILED);
    assert_int_equal(s.r.consumed_mcu, 3000);
    assert_int_equal(weir_update(s.t, key, "REMOVE filler", NULL, &s.r), WEIR_OK);
    assert_int_equal(s.r.consumed_mcu, 3000);
    assert_int_equal(weir_update(s.t, key, "REMOVE filler", NULL, &s.r), WEIR_OK);
    assert_int_equal(s.r.consumed_mcu, 1000);
    fixture_close(&s);
}

TEST(a_conditional_write_over_the_allocation_is_throttled)
{
    struct fixture s;
    fixture_open(&s, *state, "profile = strict # no burst\n", NULL, 2);
    struct weir_item *key = item(&s, "{'id':{'S':'a'}}");
    const struct weir_write_options failing = {.condition = "attribute_exists(id)"};
    int failed = 0;
    while (weir_put_if(s.t, key, &failing, &s.r) == WEIR_CONDITION_FAILED && failed < 100)
        failed++;
    assert_true(failed >= 1 && failed < 100);
    assert_int_equal(s.r.status, WEIR_THROTTLED);
    assert_int_equal(s.r.reason, WEIR_REFUSED_ALLOCATION);
    fixture_close(&s);
}

/* ---- tables that are split ---- */

static uint32_t partitions_of(struct weir *db)
{
    struct node_verification v;
    assert_int_equal(node_verify(weir_node(db), &v), STATUS_OK);
    assert_int_equal(v.damaged, 0);
    return (uint32_t)v.partitions;
}

enum {
    SPLIT_ITEMS = 120,
    SPLIT_FILLER = 20000,
    SPLIT_ROUNDS_MAX = 400,
    SPLIT_IN_FLIGHT = 8,
    FORBIDDEN = SPLIT_ITEMS /* the tag of writes that a condition forbids */
};

static struct weir_item *counter_key(int i)
{
    char id[16];
    snprintf(id, sizeof id, "item-%d", i);
    struct weir_item *key = weir_item_create();
    weir_item_add(key, "id", WEIR_STRING, id, strlen(id));
    return key;
}

/* Takes a completion; counts the adds that were done. */
static void take_completion(struct fixture *s, uint64_t done[SPLIT_ITEMS])
{
    struct attr v;
    char text[24], stored[WEIR_NUMBER_TEXT_MAX];
    assert_int_equal(weir_complete(s->db, &s->r), WEIR_OK);
    if (s->r.tag == FORBIDDEN) {
        assert_int_equal(s->r.status, WEIR_CONDITION_FAILED);
        return;
    }
    if (s->r.status != WEIR_OK)
        fail_msg("%d: %s", s->r.status, weir_error(s->db));
    assert_int_equal(s->r.count, 1);
    assert_true(item_find(slice_make(s->r.items, s->r.items_size), slice_of("v"), &v));
    snprintf(text, sizeof text, "%llu", (unsigned long long)++done[s->r.tag]);
    weir_attr_number(&(struct weir_attr){.data = v.body.data, .size = v.body.size}, stored);
    assert_string_equal(stored, text);
}

/* Each counter counts every add once, in order, while its table is split; what a condition forbids
 * is never done. */
TEST(counters_under_conditions_are_exact_while_their_table_is_split)
{
    struct fixture s;
    uint64_t done[SPLIT_ITEMS] = {0}, sent = 0;
    int pages, empty;
    uint32_t scanned;
    fixture_open(&s, *state,
                 "profile = off\ncontrol_split = 1\npartition_max_bytes = 1MiB\n"
                 "control_ms = 10\nload_report_ms = 10\n",
                 NULL, 1000);
    char *filler = malloc(SPLIT_FILLER);
    memset(filler, 'x', SPLIT_FILLER);
    struct weir_item *values = item(&s, "{':one':{'N':'1'}}");
    weir_item_add(values, ":f", WEIR_BINARY, filler, SPLIT_FILLER);
    free(filler);
    const struct weir_write_options add = {.condition = "attribute_not_exists(v) OR v >= :one",
                                           .placeholders.values = values,
                                           .returned = WEIR_RETURN_NEW};
    const struct weir_write_options never = {.condition = "attribute_exists(gone)",
                                             .return_if_failed = true};
    bool was_split = false;
    for (int round = 0; round < SPLIT_ROUNDS_MAX && !was_split; round++) {
        for (int i = 0; i < SPLIT_ITEMS; i++) {
            struct weir_item *key = counter_key(i);
            assert_int_equal(
                weir_update_start(s.t, key, "SET filler = :f ADD v :one", &add, (uint64_t)i),
                WEIR_OK);
            assert_int_equal(weir_put_if_start(s.t, key, &never, FORBIDDEN), WEIR_OK);
            for (sent += 2; sent > SPLIT_IN_FLIGHT; sent--)
                take_completion(&s, done);
            if (i % 10 == 0)
                assert_int_equal(weir_put_if(s.t, key, &never, &s.r), WEIR_CONDITION_FAILED);
            weir_item_destroy(key);
        }
        was_split = partitions_of(s.db) >= 3; /* the catalog's, and the table's: split */
    }
    for (; sent > 0; sent--)
        take_completion(&s, done);
    assert_int_equal(weir_complete(s.db, &s.r), WEIR_NOT_FOUND);
    assert_true(was_split);
    const struct weir_query_options all = {.consistent = true, .limit = 50};
    assert_int_equal(read_pages(&s, NULL, all, &pages, &empty, &scanned), SPLIT_ITEMS);
    const struct weir_query_options back = {.consistent = true, .reverse = true, .limit = 11};
    assert_int_equal(read_pages(&s, NULL, back, &pages, &empty, &scanned), SPLIT_ITEMS);
    const struct weir_query_options none = {
        .consistent = true, .filter = "attribute_not_exists(v)", .limit = 7};
    assert_int_equal(read_pages(&s, NULL, none, &pages, &empty, &scanned), 0);
    assert_int_equal(scanned, SPLIT_ITEMS);
    assert_true(s.t->table.partition_count >= 2);
    fixture_close(&s);
}
