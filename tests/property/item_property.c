/* Items: what was written is what is read, at every depth; damage does not pass. */
#include "engine/item/item.h"
#include "tests/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static struct slice any_bytes(struct prng *p, uint8_t bytes[64])
{
    size_t size = prng_below(p, prng_below(p, 4) == 0 ? 64 : 8);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)prng_below(p, 256);
    return slice_make(bytes, size);
}

static void write_number(struct prng *p, struct item_writer *w)
{
    char text[64];
    struct number n;
    int size = snprintf(text, sizeof text, "%lld.%llue%lld", (long long)prng_between(p, -999, 999),
                        (unsigned long long)prng_next(p) >> prng_below(p, 64),
                        (long long)prng_between(p, -120, 120));
    assert_int_equal(number_parse(slice_make(text, (size_t)size), &n), NUMBER_OK);
    item_number(w, &n);
}

static void write_scalar(struct prng *p, struct item_writer *w, enum attr_type type)
{
    uint8_t bytes[64];
    switch (type) {
    case ATTR_STRING:
        item_string(w, any_bytes(p, bytes));
        break;
    case ATTR_NUMBER:
        write_number(p, w);
        break;
    case ATTR_BINARY:
        item_binary(w, any_bytes(p, bytes));
        break;
    case ATTR_BOOL:
        item_bool(w, prng_below(p, 2));
        break;
    default:
        item_null(w);
    }
}

/* Names are numbered, so that they differ. */
static void write_name(struct item_writer *w, unsigned index)
{
    char name[16];
    int size = snprintf(name, sizeof name, "n%u", index);
    item_name(w, slice_make(name, (size_t)size));
}

/* A value of any type; deep ones have few elements. */
static void write_value(struct prng *p, struct item_writer *w, int depth)
{
    enum attr_type type = (enum attr_type)prng_between(p, ATTR_STRING, ATTR_MAP);
    if (depth == NESTING_MAX && type >= ATTR_LIST)
        type = ATTR_BINARY_SET;
    if (type < ATTR_STRING_SET) {
        write_scalar(p, w, type);
        return;
    }
    item_open(w, type);
    unsigned count = (unsigned)prng_below(p, depth < 3 ? 5 : 2);
    for (unsigned i = 0; i < count; i++) {
        if (type == ATTR_MAP)
            write_name(w, i);
        if (type >= ATTR_LIST)
            write_value(p, w, depth + 1);
        else
            write_scalar(p, w, (enum attr_type)(ATTR_STRING + (type - ATTR_STRING_SET)));
    }
    item_close(w);
}

static void write_item(struct prng *p, struct buffer *out)
{
    struct item_writer w;
    item_begin(&w, out);
    unsigned count = (unsigned)prng_below(p, 12);
    for (unsigned i = 0; i < count; i++) {
        write_name(&w, i);
        write_value(p, &w, 0);
    }
    item_end(&w);
}

/* Reads a value with the public readers only and writes it again. */
static void copy_value(struct item_writer *w, const struct attr *value)
{
    struct number n;
    size_t used;
    switch (value->type) {
    case ATTR_STRING:
        item_string(w, value->body);
        return;
    case ATTR_BINARY:
        item_binary(w, value->body);
        return;
    case ATTR_NUMBER:
        assert_int_equal(number_decode(value->body, &n, &used), STATUS_OK);
        item_number(w, &n);
        return;
    case ATTR_BOOL:
        item_bool(w, value->body.data[0] == 1);
        return;
    case ATTR_NULL:
        item_null(w);
        return;
    default:
        break;
    }
    struct attr_cursor c = attr_elements(value);
    struct slice name;
    struct attr element;
    item_open(w, value->type);
    while (attr_next(&c, &name, &element)) {
        if (value->type == ATTR_MAP)
            item_name(w, name);
        copy_value(w, &element);
    }
    item_close(w);
}

static void round_trip(struct prng *p)
{
    struct buffer item = {0}, copy = {0};
    for (int i = 0; i < 200; i++) {
        buffer_clear(&item);
        buffer_clear(&copy);
        write_item(p, &item);
        struct slice bytes = buffer_slice(&item);
        assert_int_equal(item_check(bytes), STATUS_OK);
        struct item_writer w;
        struct attr_cursor c = item_attrs(bytes);
        struct slice name;
        struct attr value, found;
        uint64_t size = 0;
        uint32_t count = 0;
        item_begin(&w, &copy);
        while (attr_next(&c, &name, &value)) {
            assert_true(item_find(bytes, name, &found));
            assert_ptr_equal(found.body.data, value.body.data);
            size += name.size + attr_size(&value);
            count++;
            item_name(&w, name);
            copy_value(&w, &value);
        }
        assert_int_equal(item_end(&w), size);
        assert_int_equal(item_count(bytes), count);
        assert_true(slice_equal(bytes, buffer_slice(&copy)));
    }
    buffer_deinit(&item);
    buffer_deinit(&copy);
}

TEST(what_is_read_and_written_again_is_the_same_bytes)
{
    check_seeds(50, round_trip);
}

/* One byte changed and the checksum made good: either refused, or a valid item that reads. An item
 * that is only readable may have a name twice. */
static void damage(struct prng *p)
{
    struct buffer item = {0}, copy = {0};
    write_item(p, &item);
    for (int i = 0; i < 500 && item.size > 16; i++) {
        buffer_clear(&copy);
        buffer_append_slice(&copy, buffer_slice(&item));
        copy.data[8 + prng_below(p, copy.size - 8)] = (uint8_t)prng_below(p, 256);
        uint64_t checksum = XXH3_64bits(copy.data + 8, copy.size - 8);
        memcpy(copy.data, &checksum, sizeof checksum);
        struct slice bytes = buffer_slice(&copy);
        assert_true(item_check(bytes) != STATUS_OK || item_is_readable(bytes));
        if (!item_is_readable(bytes))
            continue;
        struct attr_cursor c = item_attrs(bytes);
        struct slice name;
        struct attr value;
        uint64_t size = 0;
        while (attr_next(&c, &name, &value))
            size += name.size + attr_size(&value);
        assert_int_equal(size, item_size(bytes));
    }
    buffer_deinit(&item);
    buffer_deinit(&copy);
}

TEST(a_damaged_item_is_refused_or_still_whole)
{
    check_seeds(100, damage);
}
