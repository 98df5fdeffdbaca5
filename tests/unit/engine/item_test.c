#include "engine/item/item.h"
#include "tests/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static struct number number_of(const char *text)
{
    struct number n;
    assert_int_equal(number_parse(slice_of(text), &n), NUMBER_OK);
    return n;
}

/* {pk: "k", n: -12.5, list: [true, null, {x: 0x00 0x01}], tags: ("a", "bc")} */
static uint32_t write_sample(struct buffer *out)
{
    struct item_writer w;
    struct number n = number_of("-12.5");
    item_begin(&w, out);
    item_name(&w, slice_of("pk"));
    item_string(&w, slice_of("k"));
    item_name(&w, slice_of("n"));
    item_number(&w, &n);
    item_name(&w, slice_of("list"));
    item_open(&w, ATTR_LIST);
    item_bool(&w, true);
    item_null(&w);
    item_open(&w, ATTR_MAP);
    item_name(&w, slice_of("x"));
    item_binary(&w, slice_make("\0\1", 2));
    item_close(&w);
    item_close(&w);
    item_name(&w, slice_of("tags"));
    item_open(&w, ATTR_STRING_SET);
    item_string(&w, slice_of("a"));
    item_string(&w, slice_of("bc"));
    item_close(&w);
    return item_end(&w);
}

/* Makes the checksum of a tampered item hold again, so that only its structure can betray it. */
static void reseal(uint8_t *item, size_t size)
{
    uint64_t checksum = XXH3_64bits(item + 8, size - 8);
    memcpy(item, &checksum, sizeof checksum);
}

TEST(the_size_is_what_the_service_counts)
{
    struct buffer out = {0};
    /* pk 2+1; n 1+(1+1+1+1); list 4 + 3 + 3*1 + 1 + 1 + (3 + 1 + 1 + 2); tags 4 + 1 + 2 */
    uint32_t expected = 3 + 5 + 19 + 7;
    assert_int_equal(write_sample(&out), expected);
    assert_int_equal(item_size(buffer_slice(&out)), expected);
    assert_int_equal(item_count(buffer_slice(&out)), 4);
    assert_int_equal(item_check(buffer_slice(&out)), STATUS_OK);
    buffer_deinit(&out);
}

TEST(an_item_without_attributes_is_an_item)
{
    struct buffer out = {0};
    struct item_writer w;
    item_begin(&w, &out);
    assert_int_equal(item_end(&w), 0);
    assert_int_equal(item_check(buffer_slice(&out)), STATUS_OK);
    struct attr value;
    assert_false(item_find(buffer_slice(&out), slice_of("x"), &value));
    buffer_deinit(&out);
}

TEST(attributes_are_found_by_name_and_containers_stepped_through)
{
    struct buffer out = {0};
    buffer_append_text(&out, "before");
    write_sample(&out);
    struct slice item = slice_make(out.data + 6, out.size - 6);
    struct attr value;
    assert_true(item_find(item, slice_of("pk"), &value));
    assert_int_equal(value.type, ATTR_STRING);
    assert_slice_is(value.body, "k");
    assert_false(item_find(item, slice_of("p"), &value));

    assert_true(item_find(item, slice_of("list"), &value));
    struct attr_cursor c = attr_elements(&value);
    struct slice name;
    struct attr element;
    assert_true(attr_next(&c, &name, &element));
    assert_int_equal(element.type, ATTR_BOOL);
    assert_int_equal(element.body.data[0], 1);
    assert_true(attr_next(&c, &name, &element));
    assert_int_equal(element.type, ATTR_NULL);
    assert_true(attr_next(&c, &name, &element));
    assert_int_equal(element.type, ATTR_MAP);
    assert_int_equal(name.size, 0);
    struct attr_cursor inner = attr_elements(&element);
    assert_true(attr_next(&inner, &name, &element));
    assert_slice_is(name, "x");
    assert_int_equal(element.body.size, 2);
    assert_false(attr_next(&inner, &name, &element));
    assert_false(attr_next(&c, &name, &element));
    buffer_deinit(&out);
}

TEST(copying_every_value_gives_the_same_bytes)
{
    struct buffer out = {0}, copy = {0};
    write_sample(&out);
    struct item_writer w;
    item_begin(&w, &copy);
    struct attr_cursor c = item_attrs(buffer_slice(&out));
    struct slice name;
    struct attr value;
    uint64_t size = 0;
    while (attr_next(&c, &name, &value)) {
        item_name(&w, name);
        item_attr(&w, &value);
        size += name.size + attr_size(&value);
    }
    assert_int_equal(item_end(&w), size);
    assert_true(slice_equal(buffer_slice(&out), buffer_slice(&copy)));
    buffer_deinit(&out);
    buffer_deinit(&copy);
}

TEST(every_flipped_bit_is_noticed)
{
    struct buffer out = {0};
    write_sample(&out);
    for (size_t bit = 0; bit < out.size * 8; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(item_checksum_holds(buffer_slice(&out)));
        assert_int_equal(item_check(buffer_slice(&out)), STATUS_CORRUPT);
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buffer_deinit(&out);
}

TEST(every_cut_item_is_refused_although_its_checksum_holds)
{
    struct buffer out = {0};
    write_sample(&out);
    for (size_t size = 0; size < out.size; size++) {
        if (size >= 16)
            reseal(out.data, size);
        assert_int_equal(item_check(slice_make(out.data, size)), STATUS_CORRUPT);
    }
    buffer_deinit(&out);
}

static bool readable; /* the item that check_tampered saw last */

static enum status check_tampered(const void *attrs, size_t size, uint32_t item_bytes,
                                  uint32_t count)
{
    struct buffer b = {0};
    buffer_append_u64(&b, 0);
    buffer_append_u32(&b, item_bytes);
    buffer_append_u32(&b, count);
    buffer_append(&b, attrs, size);
    reseal(b.data, b.size);
    enum status status = item_check(buffer_slice(&b));
    readable = item_is_readable(buffer_slice(&b));
    assert_true(readable || status != STATUS_OK);
    buffer_deinit(&b);
    return status;
}

TEST(structure_is_checked_behind_a_valid_checksum)
{
#define TAMPERED(attrs, bytes, count) check_tampered(attrs, sizeof attrs - 1, bytes, count)
    /* the control: {a: true} */
    assert_int_equal(TAMPERED("\1\0a\4\1", 2, 1), STATUS_OK);
    assert_int_equal(TAMPERED("\1\0a\4\1", 3, 1), STATUS_CORRUPT); /* wrong size */
    assert_int_equal(TAMPERED("\1\0a\4\1", 2, 2), STATUS_CORRUPT); /* wrong count */
    assert_int_equal(TAMPERED("\1\0a\4\2", 2, 1), STATUS_CORRUPT); /* a bool of 2 */
    assert_int_equal(TAMPERED("\1\0a\0\1", 2, 1), STATUS_CORRUPT); /* no such type */
    assert_int_equal(TAMPERED("\1\0a\x0b\1", 2, 1), STATUS_CORRUPT);
    assert_int_equal(TAMPERED("\2\0a\4\1", 2, 1), STATUS_CORRUPT); /* a name cut short */
    assert_false(readable);
    /* {a: true, a: true} */
    assert_int_equal(TAMPERED("\1\0a\4\1\1\0b\4\1", 4, 2), STATUS_OK);
    assert_int_equal(TAMPERED("\1\0a\4\1\1\0a\4\1", 4, 2), STATUS_CORRUPT);
    assert_true(readable); /* readers find the first one */
    /* a set of strings with a null in it */
    assert_int_equal(TAMPERED("\1\0a\6\6\0\0\0\1\1\0\0\0b", 2, 1), STATUS_OK);
    assert_int_equal(TAMPERED("\1\0a\6\1\0\0\0\5", 2, 1), STATUS_CORRUPT);
    /* the number 1, and the same with a pair 00 behind it */
    assert_int_equal(TAMPERED("\1\0a\2\4\3\x82\x0c\1", 3, 1), STATUS_OK);
    assert_int_equal(TAMPERED("\1\0a\2\5\3\x82\x0c\2\1", 3, 1), STATUS_CORRUPT);
    assert_int_equal(TAMPERED("\1\0a\2\5\3\x82\x0c\1\1", 3, 1), STATUS_CORRUPT);
    assert_false(readable);
#undef TAMPERED
}

static struct slice nested(struct buffer *out, int lists)
{
    struct buffer attrs = {0};
    buffer_append(&attrs, "\1\0a", 3);
    for (int i = 0; i < lists; i++) {
        buffer_append_u8(&attrs, ATTR_LIST);
        buffer_append_u32(&attrs, (uint32_t)((lists - 1 - i) * 5));
    }
    buffer_append_u64(out, 0);
    buffer_append_u32(out, (uint32_t)(1 + lists * 3 + (lists - 1)));
    buffer_append_u32(out, 1);
    buffer_append_slice(out, buffer_slice(&attrs));
    reseal(out->data, out->size);
    buffer_deinit(&attrs);
    return buffer_slice(out);
}

TEST(nesting_stops_at_31_lists_around_a_value)
{
    struct buffer deepest = {0}, deeper = {0}, abyss = {0};
    assert_int_equal(item_check(nested(&deepest, 31)), STATUS_OK);
    assert_int_equal(item_check(nested(&deeper, 32)), STATUS_CORRUPT);
    assert_int_equal(item_check(nested(&abyss, 100000)), STATUS_CORRUPT);
    buffer_deinit(&deepest);
    buffer_deinit(&deeper);
    buffer_deinit(&abyss);
}

TEST(the_writer_fills_all_levels_and_a_set_in_the_innermost)
{
    struct buffer out = {0};
    struct item_writer w;
    item_begin(&w, &out);
    item_name(&w, slice_of("a"));
    for (int i = 0; i < NESTING_MAX; i++)
        item_open(&w, ATTR_LIST);
    item_open(&w, ATTR_BINARY_SET);
    item_binary(&w, slice_of("x"));
    for (int i = 0; i <= NESTING_MAX; i++)
        item_close(&w);
    assert_int_equal(item_end(&w), 1 + NESTING_MAX * (3 + 1) + 1);
    assert_int_equal(item_check(buffer_slice(&out)), STATUS_OK);
    buffer_deinit(&out);
}

TEST(an_encoded_item_is_bounded_by_its_size)
{
    struct buffer out = {0};
    uint32_t size = write_sample(&out);
    uint32_t values = 10; /* attributes, elements and containers of the sample */
    assert_true(out.size <= 16 + size + values * ITEM_VALUE_OVERHEAD_MAX);
    buffer_deinit(&out);
}
