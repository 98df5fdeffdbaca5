/* Lists of tags as bytes, and changes of them. */
#include "tests/check.h"

#include "engine/catalog/tags.h"

/* "a=1 b= c-": a tag with a value, one without, and the removal of a tag. */
static void list_of(struct buffer *out, const char *text)
{
    buffer_clear(out);
    while (*text != '\0') {
        size_t size = strcspn(text, " "), key = strcspn(text, "=-");
        tag_append(out, &(struct tag){.key = slice_make(text, key),
                                      .value = slice_make(text + key + 1, size - key - 1),
                                      .set = text[key] == '='});
        text += size + strspn(text + size, " ");
    }
}

static void text_of(struct slice list, struct buffer *out)
{
    buffer_clear(out);
    for (struct tag t; tags_next(&list, &t);)
        buffer_append_format(out, "%.*s%s%.*s ", (int)t.key.size, (const char *)t.key.data,
                             t.set ? "=" : "-", (int)t.value.size, (const char *)t.value.data);
}

TEST(changes_are_merged_in_the_order_of_keys)
{
    static const struct {
        const char *tags;
        const char *change;
        const char *merged;
        uint32_t count;
    } CASES[] = {
        {"", "", "", 0},
        {"", "a=1 b=", "a=1 b= ", 2},
        {"a=1 b=2", "", "a=1 b=2 ", 2},
        {"b=2", "a=1 c=3", "a=1 b=2 c=3 ", 3},
        {"a=1 b=2 c=3", "b=two", "a=1 b=two c=3 ", 3},
        {"a=1 b=2 c=3", "a- c- d-", "b=2 ", 1},
        {"a=1", "a-", "", 0},
        {"", "a-", "", 0},
        {"b=2", "a- bb=", "b=2 bb= ", 2},
    };
    struct buffer tags = {0}, change = {0}, merged = {0}, text = {0};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        list_of(&tags, CASES[i].tags);
        list_of(&change, CASES[i].change);
        buffer_clear(&merged);
        assert_int_equal(tags_merge(&merged, buffer_slice(&tags), buffer_slice(&change)),
                         CASES[i].count);
        assert_true(tags_valid(buffer_slice(&merged), false));
        text_of(buffer_slice(&merged), &text);
        assert_true(slice_is(buffer_slice(&text), CASES[i].merged));
    }
    buffer_deinit(&tags);
    buffer_deinit(&change);
    buffer_deinit(&merged);
    buffer_deinit(&text);
}

static bool valid(const char *text, bool change)
{
    struct buffer list = {0};
    list_of(&list, text);
    bool is = tags_valid(buffer_slice(&list), change);
    buffer_deinit(&list);
    return is;
}

TEST(lists_that_are_none_are_refused)
{
    assert_true(valid("", false));
    assert_true(valid("a= b=1", false));
    assert_true(valid("a- b=1", true));
    assert_false(valid("a- b=1", false)); /* a table has no tag that is not set */
    assert_false(valid("a-1", true));     /* a value of nothing */
    assert_false(valid("b= a=", true));
    assert_false(valid("a= a=", true));
    assert_false(valid("=1", true));
    assert_false(valid("\xff=1", true));
    assert_false(valid("a=\xff", true));
    struct buffer list = {0};
    list_of(&list, "a=1 b=2");
    for (size_t size = 1; size < list.size; size++) {
        bool whole = size == list.size / 2;
        assert_int_equal(tags_valid(slice_make(list.data, size), true), whole);
    }
    buffer_clear(&list);
    for (uint32_t i = 0; i <= TAGS_MAX; i++) {
        char key[8];
        assert_true(tags_valid(buffer_slice(&list), false));
        snprintf(key, sizeof key, "%03u", i);
        tag_append(&list, &(struct tag){.key = slice_of(key), .set = true});
    }
    assert_false(tags_valid(buffer_slice(&list), false));
    char long_key[TAG_KEY_SIZE_MAX + 1];
    memset(long_key, 'k', sizeof long_key);
    for (size_t more = 0; more < 2; more++) {
        buffer_clear(&list);
        tag_append(&list, &(struct tag){.key = slice_make(long_key, TAG_KEY_SIZE_MAX + more),
                                        .set = true});
        assert_int_equal(tags_valid(buffer_slice(&list), false), more == 0);
    }
    buffer_deinit(&list);
}
