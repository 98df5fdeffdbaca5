/* Storage keys as people read them. */
#include "tests/check.h"

#include "engine/catalog/key_text.h"
#include "engine/item/number.h"
#include "engine/item/storage_key.h"

static struct buffer number_of(const char *text)
{
    struct number n;
    struct buffer b = {0};
    assert_int_equal(number_parse(slice_of(text), &n), 0);
    buffer_reserve(&b, NUMBER_ENCODED_MAX);
    b.size = number_encode(&n, b.data);
    return b;
}

static void assert_text(const struct table *t, struct slice key, const char *expected)
{
    struct buffer text = {0};
    key_text_append(&text, t, key);
    buffer_append_u8(&text, 0);
    assert_string_equal((const char *)text.data, expected);
    buffer_deinit(&text);
}

/* `cut` bytes are missing at the end. */
static void assert_key(const struct attr *partition, const struct attr *sort, size_t cut,
                       const char *expected)
{
    struct table t = {.partition_key = {slice_of("id"), partition->type}};
    struct buffer key = {0};
    if (sort != NULL)
        t.sort_key = (struct key_attr){slice_of("n"), sort->type};
    storage_key_append(&key, 7, partition, sort);
    assert_text(&t, slice_make(key.data, key.size - cut), expected);
    buffer_deinit(&key);
}

TEST(each_part_is_shown_by_its_type)
{
    struct buffer seventeen = number_of("-17.5");
    struct attr number = {ATTR_NUMBER, buffer_slice(&seventeen)};
    struct attr string = {ATTR_STRING, slice_of("r\xc3\xa9"
                                                "d\n")};
    struct attr binary = {ATTR_BINARY, slice_make("\0\1\xff", 3)};
    assert_key(&string, NULL, 0,
               "id=\"r\xc3\xa9"
               "d.\"");
    assert_key(&string, &number, 0,
               "id=\"r\xc3\xa9"
               "d.\", n=-17.5");
    assert_key(&number, &binary, 0, "id=-17.5, n=0x0001ff");
    buffer_deinit(&seventeen);
}

TEST(what_is_missing_is_shown_as_dots)
{
    struct attr string = {ATTR_STRING, slice_of("red")}, sort = {ATTR_STRING, slice_of("x")};
    assert_key(&string, &sort, 2, "id=\"red\", n=\"x\"..");
    assert_key(&string, &sort, 3, "id=\"red\"");
    assert_key(&string, &sort, 4, "id=\"red\"..");
    assert_key(&string, NULL, 5, "");
    assert_key(&string, NULL, 9, "");
}

TEST(long_values_are_shortened_between_characters)
{
    char value[200] = "", expected[300];
    for (int i = 0; i < 33; i++)
        memcpy(value + 2 * i + 1, "\xc3\xa9", 3);
    value[0] = 'x';
    struct attr string = {ATTR_STRING, slice_of(value)};
    snprintf(expected, sizeof expected, "id=\"%.63s..\"", value);
    assert_key(&string, NULL, 0, expected);
    struct attr binary = {ATTR_BINARY, slice_make(expected, 33)};
    assert_key(&binary, NULL, 0,
               "id=0x69643d2278c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3..");
}
