/* Storage keys order as (table, hash, partition key, sort key), whatever bytes the keys hold. */
#include "engine/item/storage_key.h"
#include "tests/check.h"

struct key {
    uint32_t table;
    struct attr partition;
    struct attr sort;
    uint8_t bytes[2][NUMBER_ENCODED_MAX];
    struct buffer encoded;
};

/* Few letters, the awkward ones: 00, 01 and FF are what escaping and ends are made of. */
static struct attr any_bytes(struct prng *p, uint8_t bytes[NUMBER_ENCODED_MAX])
{
    static const uint8_t letters[] = {0x00, 0x01, 0x02, 0xFE, 0xFF};
    size_t size = prng_below(p, 6);
    for (size_t i = 0; i < size; i++)
        bytes[i] = letters[prng_below(p, sizeof letters)];
    return (struct attr){ATTR_BINARY, slice_make(bytes, size)};
}

static struct attr any_number(struct prng *p, uint8_t bytes[NUMBER_ENCODED_MAX])
{
    char text[32];
    struct number n;
    int size = snprintf(text, sizeof text, "%llde%lld", (long long)prng_between(p, -200, 200),
                        (long long)prng_between(p, -3, 3));
    assert_int_equal(number_parse(slice_make(text, (size_t)size), &n), NUMBER_OK);
    return (struct attr){ATTR_NUMBER, slice_make(bytes, number_encode(&n, bytes))};
}

static void any_key(struct prng *p, struct key *k, bool numbers)
{
    k->table = (uint32_t)prng_below(p, 2) * 0x01000000;
    k->partition = numbers ? any_number(p, k->bytes[0]) : any_bytes(p, k->bytes[0]);
    k->sort = numbers ? any_number(p, k->bytes[1]) : any_bytes(p, k->bytes[1]);
    buffer_clear(&k->encoded);
    storage_key_append(&k->encoded, k->table, &k->partition, &k->sort);
}

static int key_compare(const struct key *a, const struct key *b)
{
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    uint64_t x = storage_key_hash(&a->partition), y = storage_key_hash(&b->partition);
    if (x != y)
        return x < y ? -1 : 1;
    int order = slice_compare(a->partition.body, b->partition.body);
    return order != 0 ? order : slice_compare(a->sort.body, b->sort.body);
}

static void order(struct prng *p)
{
    struct key a = {0}, b = {0};
    for (int i = 0; i < 5000; i++) {
        bool numbers = prng_below(p, 2);
        any_key(p, &a, numbers);
        any_key(p, &b, numbers);
        if (prng_below(p, 2)) { /* the same collection: the sort keys decide */
            b.partition = a.partition;
            b.table = a.table;
            buffer_clear(&b.encoded);
            storage_key_append(&b.encoded, b.table, &b.partition, &b.sort);
        }
        int bytes = slice_compare(buffer_slice(&a.encoded), buffer_slice(&b.encoded));
        int keys = key_compare(&a, &b);
        assert_int_equal((bytes > 0) - (bytes < 0), (keys > 0) - (keys < 0));
    }
    buffer_deinit(&a.encoded);
    buffer_deinit(&b.encoded);
}

TEST(byte_order_is_key_order)
{
    check_seeds(20, order);
}

static void prefixes(struct prng *p)
{
    struct key k = {0};
    struct buffer lo = {0}, hi = {0};
    for (int i = 0; i < 5000; i++) {
        uint8_t bytes[NUMBER_ENCODED_MAX];
        any_key(p, &k, false);
        struct attr begin = any_bytes(p, bytes);
        buffer_clear(&lo);
        storage_key_append_collection(&lo, k.table, &k.partition);
        storage_key_append_sort(&lo, &begin, false);
        buffer_clear(&hi);
        buffer_append_slice(&hi, buffer_slice(&lo));
        storage_key_successor(&hi);
        struct slice key = buffer_slice(&k.encoded);
        bool between = slice_compare(buffer_slice(&lo), key) <= 0 &&
                       (hi.size == 0 || slice_compare(key, buffer_slice(&hi)) < 0);
        assert_int_equal(between, slice_starts_with(k.sort.body, begin.body));
    }
    buffer_deinit(&k.encoded);
    buffer_deinit(&lo);
    buffer_deinit(&hi);
}

TEST(a_prefix_and_its_successor_enclose_what_begins_with_it)
{
    check_seeds(20, prefixes);
}
