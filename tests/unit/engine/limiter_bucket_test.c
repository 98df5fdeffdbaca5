/* limiter_bucket_test.c - arithmetic and items of the rate limiter's buckets. */
#include "engine/limiter/bucket_internal.h"
#include "tests/check.h"

enum {
    DAY_MS = 24 * 3600 * 1000
};
#define NOW_MS INT64_C(1755500000000)

static const int64_t wholes[] = {1000, 1001, 1127, 60000, 999999, 1000000, LIMITER_MTOK_MAX - 1};

static struct limiter_limit limit_of(int64_t capacity, int64_t amount, int64_t period_ms)
{
    return (struct limiter_limit){slice_of("rpm"), capacity, amount, period_ms,
                                  LIMITER_REQUEST_MIN_MTOK};
}

TEST(the_shares_of_all_shards_add_up)
{
    for (size_t i = 0; i < COUNT_OF(wholes); i++) {
        for (uint32_t shards = 1; shards <= LIMITER_SHARDS_MAX; shards *= 2) {
            int64_t sum = 0;
            for (uint32_t shard = 0; shard < shards; shard++)
                sum += limiter_share(wholes[i], shard, shards);
            assert_int_equal(sum, wholes[i]);
        }
    }
}

TEST(a_shard_and_the_one_it_came_from_have_together_the_former_share)
{
    for (size_t i = 0; i < COUNT_OF(wholes); i++) {
        for (uint32_t shard = 1; shard < LIMITER_SHARDS_MAX; shard++) {
            const uint32_t parent = limiter_parent_shard(shard),
                           shards = limiter_size_at_creation(shard);
            assert_true(parent < shards / 2);
            assert_int_equal(limiter_share(wholes[i], shard, shards) +
                                 limiter_share(wholes[i], parent, shards),
                             limiter_share(wholes[i], parent, shards / 2));
        }
    }
}

TEST(a_shard_comes_from_the_one_without_its_highest_bit)
{
    static const uint32_t rows[][3] = {/* shard, parent, place in grown */
                                       {1, 0, 1}, {2, 0, 2},  {3, 1, 2},   {4, 0, 3},
                                       {6, 2, 3}, {64, 0, 7}, {127, 63, 7}};
    assert_int_equal(limiter_size_of(0), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(limiter_parent_shard(rows[i][0]), rows[i][1]);
        assert_int_equal(limiter_size_of(rows[i][0]), rows[i][2]);
    }
}

/* LIMITER-3 */
TEST(refilling_twice_equals_refilling_once)
{
    struct prng p = prng_seeded(check_first_seed(7));
    (void)state;
    for (int round = 0; round < 20000; round++) {
        const uint32_t shards = 1U << prng_below(&p, LIMITER_SIZES);
        const uint32_t shard = (uint32_t)prng_below(&p, shards);
        const struct limiter_limit limit =
            limit_of(1000 + (int64_t)prng_below(&p, 1000000),
                     1000 + (int64_t)prng_below(&p, 500000), 1 + (int64_t)prng_below(&p, DAY_MS));
        struct limiter_balance once = {.tokens = -(int64_t)prng_below(&p, 2000000),
                                       .at_ms = NOW_MS};
        struct limiter_balance twice = once;
        const int64_t first = NOW_MS + (int64_t)prng_below(&p, 3 * DAY_MS);
        const int64_t last = first + (int64_t)prng_below(&p, 3 * DAY_MS);
        limiter_refill(&twice, &limit, shard, shards, first);
        limiter_refill(&twice, &limit, shard, shards, last);
        limiter_refill(&once, &limit, shard, shards, last);
        assert_memory_equal(&once, &twice, sizeof once);
    }
}

TEST(a_balance_stops_at_its_share)
{
    const struct limiter_limit limit = limit_of(LIMITER_MTOK_MAX, LIMITER_MTOK_MAX, 1);
    struct limiter_balance balance = {.tokens = -LIMITER_MTOK_MAX};
    limiter_refill(&balance, &limit, 3, 4, LIMITER_TIME_MAX);
    assert_int_equal(balance.tokens, LIMITER_MTOK_MAX / 4);
    assert_int_equal(balance.at_ms, LIMITER_TIME_MAX);
}

TEST(time_never_moves_back)
{
    const struct limiter_limit limit = limit_of(60000, 60000, 60000);
    struct limiter_balance balance = {.at_ms = NOW_MS, .fraction = 17};
    limiter_refill(&balance, &limit, 0, 1, NOW_MS - 500);
    assert_int_equal(balance.tokens, 0);
    assert_int_equal(balance.at_ms, NOW_MS);
    assert_int_equal(balance.fraction, 17);
}

TEST(a_wait_ends_at_the_first_millisecond_with_enough)
{
    struct prng p = prng_seeded(check_first_seed(8));
    (void)state;
    for (int round = 0; round < 20000; round++) {
        const uint32_t shards = 1U << prng_below(&p, LIMITER_SIZES);
        const uint32_t shard = (uint32_t)prng_below(&p, shards);
        const struct limiter_limit limit =
            limit_of(1000 + (int64_t)prng_below(&p, 1000000),
                     1000 + (int64_t)prng_below(&p, 500000), 1 + (int64_t)prng_below(&p, DAY_MS));
        const int64_t full = limiter_share(limit.capacity, shard, shards);
        struct limiter_balance balance = {
            .tokens = (int64_t)prng_below(&p, (uint64_t)full + 5000) - 5000,
            .at_ms = NOW_MS,
            .fraction = (int64_t)prng_below(&p, (uint64_t)limit.period_ms)};
        if (balance.tokens >= full)
            continue;
        const int64_t wait = limiter_wait_ms(&balance, &limit, shard, shards, full);
        struct limiter_balance before = balance;
        assert_true(wait > 0);
        limiter_refill(&before, &limit, shard, shards, NOW_MS + wait - 1);
        limiter_refill(&balance, &limit, shard, shards, NOW_MS + wait);
        assert_true(before.tokens < full);
        assert_int_equal(balance.tokens, full);
        assert_int_equal(limiter_wait_ms(&balance, &limit, shard, shards, full), 0);
    }
}

TEST(what_exceeds_the_share_is_never_admitted)
{
    const struct limiter_limit slow = limit_of(LIMITER_MTOK_MAX, 1000, LIMITER_PERIOD_MAX);
    const struct limiter_balance balance = {.tokens = -LIMITER_MTOK_MAX};
    assert_int_equal(limiter_wait_ms(&balance, &slow, 0, 2, LIMITER_MTOK_MAX / 2 + 1), INT64_MAX);
    assert_int_equal(limiter_wait_ms(&balance, &slow, 0, 128, LIMITER_MTOK_MAX / 128), INT64_MAX);
    assert_int_equal(limiter_wait_ms(&balance, &slow, 0, 128, -LIMITER_MTOK_MAX), 0);
}

TEST(no_share_is_smaller_than_the_smallest_request)
{
    struct limiter_limits limits = {.count = 2};
    limits.at[0] = limit_of(1000000, 1000, 1000);
    limits.at[1] = limit_of(100000, 1000, 1000);
    assert_int_equal(limiter_shards_max(&limits), 64);
    limits.at[1].request_min = 30000;
    assert_int_equal(limiter_shards_max(&limits), 2);
    limits.at[1].request_min = 100000;
    assert_int_equal(limiter_shards_max(&limits), 1);
    limits.count = 1;
    assert_int_equal(limiter_shards_max(&limits), 128);
}

TEST(invalid_limits_are_named)
{
    struct limiter_limits limits = {.count = 1};
    const struct limiter_limit good = limit_of(1000, 1000, 1);
    struct limiter_limit *l = &limits.at[0];
    *l = good;
    assert_null(limiter_limits_fault(&limits));
    l->name = slice_of("");
    assert_non_null(limiter_limits_fault(&limits));
    l->name = slice_of("a/b");
    assert_non_null(limiter_limits_fault(&limits));
    l->name = slice_of("wcu");
    assert_non_null(limiter_limits_fault(&limits));
    l->name = slice_of("0123456789012345678901234567890123456789012345678901234567890123-");
    assert_non_null(limiter_limits_fault(&limits));
    *l = good;
    l->capacity = 999;
    assert_non_null(limiter_limits_fault(&limits));
    l->capacity = LIMITER_MTOK_MAX + 1;
    assert_non_null(limiter_limits_fault(&limits));
    *l = good;
    l->amount = 0;
    assert_non_null(limiter_limits_fault(&limits));
    *l = good;
    l->period_ms = LIMITER_PERIOD_MAX + 1;
    assert_non_null(limiter_limits_fault(&limits));
    *l = good;
    l->request_min = 1001;
    assert_non_null(limiter_limits_fault(&limits));
    *l = good;
    limits.at[1] = good;
    limits.count = 2;
    assert_non_null(limiter_limits_fault(&limits));
    limits.count = 0;
    assert_non_null(limiter_limits_fault(&limits));
    limits.count = LIMITER_LIMITS_MAX + 1;
    assert_non_null(limiter_limits_fault(&limits));
}

/* ---- items ---- */

struct kept {
    struct buffer key;
    struct buffer item;
};

static void kept_deinit(struct kept *k)
{
    buffer_deinit(&k->key);
    buffer_deinit(&k->item);
}

static void kept_key(struct kept *k)
{
    struct item_writer w;
    item_begin(&w, &k->key);
    item_name(&w, slice_of("other"));
    item_bool(&w, true);
    item_name(&w, slice_of("PK"));
    item_string(&w, slice_of("default/BUCKET#user-4711#completions#0"));
    item_name(&w, slice_of("SK"));
    item_string(&w, slice_of("#STATE"));
    item_end(&w);
}

static struct slice kept_write(struct kept *k, const struct limiter_bucket *b)
{
    if (k->key.size == 0)
        kept_key(k);
    buffer_clear(&k->item);
    limiter_bucket_encode(buffer_slice(&k->key), b, &k->item);
    return buffer_slice(&k->item);
}

/* Four limits as an application has them; nothing was taken yet. */
static struct limiter_bucket four_limits(void)
{
    struct limiter_bucket b = {
        .shards = 1,
        .epoch = (uint64_t)NOW_MS,
        .changed_ms = NOW_MS,
        .limits = {.version = 12,
                   .count = 4,
                   .at = {{slice_of("rpm"), 600000, 600000, 60000, 1000},
                          {slice_of("tpm"), 150000000, 150000000, 60000, 1000000},
                          {slice_of("rpd"), 10000000, 10000000, DAY_MS, 1000},
                          {slice_of("spend"), 100000000, 100000000, DAY_MS, 1000}}},
        .write_balance = {.tokens = 987654, .at_ms = NOW_MS},
        .admitted = 1234567,
        .refused = 8901,
        .shard_map = {
            .epoch = (uint64_t)NOW_MS, .count = 1, .grown = {(uint64_t)NOW_MS - 5000000}}};
    limiter_balances_fill(b.balances, &b.limits, 0, 1, NOW_MS);
    return b;
}

/* And with seven reserved shares, and odd amounts everywhere. */
static struct limiter_bucket four_limits_divided(void)
{
    struct limiter_bucket b = four_limits();
    for (uint32_t i = 0; i < 4; i++) {
        b.balances[i].tokens -= 1234567 * (int64_t)i + 33333;
        b.balances[i].fraction = 12345 * i;
        b.taken[i] = 7654321987 * (int64_t)(i + 1);
        b.taken_before[i] = 54321987 * (int64_t)i;
    }
    for (uint32_t i = 1; i < LIMITER_SIZES; i++) {
        b.epoch = b.shard_map.epoch = b.shard_map.grown[i] = (uint64_t)NOW_MS + i;
        b.shard_map.count *= 2;
        limiter_bucket_divide(&b, b.epoch, NOW_MS + i);
        for (uint32_t k = 0; k < 4; k++)
            b.balances[k].at_ms = NOW_MS + i;
    }
    return b;
}

static void assert_comes_back(struct kept *k, const struct limiter_bucket *b)
{
    struct limiter_bucket back;
    assert_int_equal(item_check(kept_write(k, b)), STATUS_OK);
    assert_true(limiter_bucket_decode(buffer_slice(&k->item), &back));
    assert_int_equal(back.limits.count, b->limits.count);
    for (uint32_t i = 0; i < b->limits.count; i++) {
        assert_true(slice_equal(back.limits.at[i].name, b->limits.at[i].name));
        back.limits.at[i].name = b->limits.at[i].name;
    }
    assert_memory_equal(&back, b, sizeof back);
}

TEST(a_bucket_comes_back_from_its_item)
{
    struct kept k = {0};
    struct limiter_bucket b = four_limits();
    (void)state;
    assert_comes_back(&k, &b);
    b = four_limits_divided();
    assert_comes_back(&k, &b);
    b.balances[1].tokens = -LIMITER_MTOK_MAX;
    b.taken[2] = INT64_MIN;
    b.reserved[3].balances[2].fraction = 4711;
    b.write_balance.tokens = -LIMITER_WRITES_MWCU;
    assert_comes_back(&k, &b);
    b.merging = true; /* half as many, and shard 0 has not merged it in yet */
    b.shard_map.count /= 2;
    b.epoch = ++b.shard_map.epoch;
    assert_comes_back(&k, &b);
    kept_deinit(&k);
}

TEST(a_sealed_shard_comes_back_from_its_item)
{
    struct kept k = {0};
    struct limiter_bucket b = four_limits();
    (void)state;
    b.shard = 5;
    b.shards = 8;
    b.sealed = b.created = true;
    b.shard_map = (struct limiter_shard_map){0};
    limiter_balances_fill(b.balances, &b.limits, 5, 8, NOW_MS);
    assert_comes_back(&k, &b);
    b.created = false;
    b.limits = (struct limiter_limits){0};
    memset(b.balances, 0, sizeof b.balances);
    assert_comes_back(&k, &b);
    kept_deinit(&k);
}

/* A write of up to 1,024 bytes costs one write unit. */
TEST(an_item_costs_one_write_unit)
{
    struct kept k = {0};
    const struct limiter_bucket plain = four_limits(), divided = four_limits_divided();
    (void)state;
    const uint32_t small = item_size(kept_write(&k, &plain));
    const uint32_t large = item_size(kept_write(&k, &divided));
    printf("an item with 4 limits has %u bytes, with 7 reserved shares %u\n", small, large);
    assert_true(small < 512);
    assert_true(large < 1024);
    kept_deinit(&k);
}

static int64_t number_at(struct attr value)
{
    struct number n;
    size_t used;
    int64_t out;
    assert_int_equal(value.type, ATTR_NUMBER);
    assert_int_equal(number_decode(value.body, &n, &used), STATUS_OK);
    assert_true(number_to_i64(&n, &out));
    return out;
}

TEST(any_client_can_read_an_item)
{
    struct kept k = {0};
    struct limiter_bucket b = four_limits();
    struct attr value, limits, limit;
    (void)state;
    b.balances[0].tokens = 17500;
    const struct slice item = kept_write(&k, &b);
    assert_true(item_find(item, slice_of("PK"), &value));
    assert_slice_is(value.body, "default/BUCKET#user-4711#completions#0");
    assert_true(item_find(item, slice_of("SK"), &value));
    assert_false(item_find(item, slice_of("other"), &value));
    assert_true(item_find(item, slice_of("lm"), &limits));
    assert_true(attr_find(attr_elements(&limits), slice_of("rpm"), &limit));
    assert_true(attr_find(attr_elements(&limit), slice_of("tk"), &value));
    assert_int_equal(number_at(value), 17500);
    assert_true(attr_find(attr_elements(&limit), slice_of("rp"), &value));
    assert_int_equal(number_at(value), 60000);
    assert_false(attr_find(attr_elements(&limit), slice_of("ls"), &value));
    assert_false(attr_find(attr_elements(&limit), slice_of("pt"), &value));
    assert_true(attr_find(attr_elements(&limits), slice_of("tpm"), &limit));
    assert_true(attr_find(attr_elements(&limit), slice_of("ls"), &value));
    assert_int_equal(number_at(value), 1000000);
    assert_true(attr_find(attr_elements(&limits), slice_of("wcu"), &limit));
    assert_true(attr_find(attr_elements(&limit), slice_of("tk"), &value));
    assert_int_equal(number_at(value), 987654);
    kept_deinit(&k);
}

TEST(an_item_expires_an_hour_after_all_limits_are_full)
{
    struct kept k = {0};
    struct limiter_bucket b = four_limits();
    struct attr value;
    (void)state;
    assert_int_equal(limiter_bucket_expiry_s(&b), (NOW_MS + LIMITER_KEEP_MS + 999) / 1000);
    b.balances[2].tokens = -10000000; /* two days' worth below full */
    assert_int_equal(limiter_bucket_expiry_s(&b),
                     (NOW_MS + 2 * INT64_C(24) * 3600 * 1000 + LIMITER_KEEP_MS + 999) / 1000);
    assert_true(item_find(kept_write(&k, &b), slice_of("ttl"), &value));
    assert_int_equal(number_at(value), limiter_bucket_expiry_s(&b));
    kept_deinit(&k);
}

/* What was given back to a shard is not in the reserved share that it was made of. */
TEST(a_shard_stays_until_its_reserved_share_is_full_too)
{
    struct limiter_bucket b = four_limits();
    (void)state;
    b.taken[2] = -5000000; /* half a day's worth */
    assert_int_equal(limiter_bucket_expiry_s(&b),
                     (NOW_MS + INT64_C(12) * 3600 * 1000 + LIMITER_KEEP_MS + 999) / 1000);
    b.taken[2] = 3000000; /* beyond what had been taken before it was made of the reserved share */
    b.taken_before[2] = 8000000;
    assert_int_equal(limiter_bucket_expiry_s(&b),
                     (NOW_MS + INT64_C(12) * 3600 * 1000 + LIMITER_KEEP_MS + 999) / 1000);
    b.taken[2] = INT64_MIN;
    assert_true(limiter_bucket_expiry_s(&b) > 0);
}

/* Otherwise the bucket would be made anew, full, while other shards have less. */
TEST(a_shard_that_has_divided_does_not_expire)
{
    struct kept k = {0};
    const struct limiter_bucket b = four_limits_divided();
    struct attr value;
    (void)state;
    assert_false(item_find(kept_write(&k, &b), slice_of("ttl"), &value));
    kept_deinit(&k);
}

/* ---- items that a client has written ---- */

static struct limiter_bucket broken_base(void)
{
    struct limiter_bucket b = four_limits();
    b.shards = b.shard_map.count = 1;
    limiter_bucket_divide(&b, (uint64_t)NOW_MS, NOW_MS);
    b.shard_map = (struct limiter_shard_map){
        .epoch = b.epoch, .count = 2, .grown = {(uint64_t)NOW_MS - 9, (uint64_t)NOW_MS}};
    return b;
}

#define BREAKS(X)                                                                            \
    X(b->shards = 3)                                                                         \
    X(b->shard = 2)                                                                          \
    X(b->shards = 256)                                                                       \
    X(b->epoch = b->shard_map.epoch = 0)                                                     \
    X(b->epoch = b->shard_map.epoch = (uint64_t)LIMITER_TIME_MAX + 1)                        \
    X(b->limits.version = UINT64_MAX)                                                        \
    X(b->changed_ms = -1)                                                                    \
    X(b->balances[0].tokens = limiter_share(b->limits.at[0].capacity, 0, 2) + 1)             \
    X(b->balances[0].tokens = -LIMITER_MTOK_MAX - 1)                                         \
    X(b->balances[0].fraction = b->limits.at[0].period_ms)                                   \
    X(b->balances[0].fraction = -1)                                                          \
    X(b->balances[0].at_ms = LIMITER_TIME_MAX + 1)                                           \
    X(b->limits.at[0].capacity = 999)                                                        \
    X(b->limits.at[0].amount = 0)                                                            \
    X(b->limits.at[0].period_ms = 0)                                                         \
    X(b->limits.at[0].request_min = b->limits.at[0].capacity + 1)                            \
    X(b->limits.at[0].name = b->limits.at[1].name)                                           \
    X(b->limits.at[0].name = slice_of("r p m"))                                              \
    X(b->limits.count = 0)                                                                   \
    X(b->write_balance.tokens = LIMITER_WRITES_MWCU + 1)                                     \
    X(b->write_balance.tokens = -LIMITER_WRITES_MWCU - 1)                                    \
    X(b->reserved[0].child = 2)                                                              \
    X(b->reserved_count = 0)                                                                 \
    X(b->reserved[0].balances[0].tokens = limiter_share(b->limits.at[0].capacity, 1, 2) + 1) \
    X(b->reserved[0].epoch = 0)                                                              \
    X(b->reserved[0].balances[3].fraction = DAY_MS)                                          \
    X((b->reserved[1] = b->reserved[0], b->reserved[1].child = 2, b->reserved_count = 2))    \
    X(b->shard_map.count = 4)                                                                \
    X(b->shard_map.count = 3)                                                                \
    X(b->shard_map.grown[1] = 0)                                                             \
    X(b->shard_map.grown[2] = b->shard_map.grown[1] + 1)                                     \
    X(b->shard_map.grown[1] = b->shard_map.grown[0])                                         \
    X(b->shard_map.grown[1] = b->shard_map.epoch + 1)                                        \
    X(b->merging = true)                                                                     \
    X(b->sealed = true)                                                                      \
    X(b->admitted = -1)                                                                      \
    X(b->refused = -1)

TEST(items_that_break_an_invariant_are_refused)
{
    struct kept k = {0};
    struct limiter_bucket bucket = broken_base(), out, *b = &bucket;
    const char *text = "";
    (void)state;
    assert_comes_back(&k, b);
    for (int row = 0; text != NULL; row++) {
        int i = 0;
        bucket = broken_base();
        text = NULL;
#define APPLY(change)   \
    if (i++ == row) {   \
        change;         \
        text = #change; \
    }
        BREAKS(APPLY)
        if (text != NULL && limiter_bucket_decode(kept_write(&k, b), &out))
            fail_msg("taken: %s", text);
    }
    kept_deinit(&k);
}

/* The item with one attribute replaced, or without it. */
static struct slice item_changed(struct kept *k, struct buffer *out, const char *name,
                                 enum attr_type type)
{
    struct item_writer w;
    struct attr_cursor at = item_attrs(buffer_slice(&k->item));
    struct slice found;
    struct attr value;
    buffer_clear(out);
    item_begin(&w, out);
    while (attr_next(&at, &found, &value)) {
        const bool here = slice_is(found, name);
        if (here && type == 0)
            continue;
        item_name(&w, found);
        if (!here)
            item_attr(&w, &value);
        else if (type == ATTR_STRING)
            item_string(&w, slice_of("1"));
        else if (type == ATTR_NULL)
            item_null(&w);
        else {
            item_open(&w, type);
            item_close(&w);
        }
    }
    item_end(&w);
    return buffer_slice(out);
}

TEST(items_with_other_types_are_refused)
{
    static const char *const names[] = {"sh", "sc", "ep", "vn", "ch", "lm",
                                        "gf", "ct", "gr", "ad", "rd"};
    static const enum attr_type types[] = {0, ATTR_STRING, ATTR_NULL, ATTR_LIST, ATTR_MAP};
    struct kept k = {0};
    struct buffer out = {0};
    struct limiter_bucket b = broken_base();
    (void)state;
    kept_write(&k, &b);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (size_t t = 0; t < COUNT_OF(types); t++) {
            if (limiter_bucket_decode(item_changed(&k, &out, names[i], types[t]), &b))
                fail_msg("%s is taken with type %d", names[i], types[t]);
        }
    }
    for (size_t t = 0; t < COUNT_OF(types); t++) /* nobody reads this one */
        assert_true(limiter_bucket_decode(item_changed(&k, &out, "ttl", types[t]), &b));
    assert_false(limiter_bucket_decode(buffer_slice(&k.key), &b));
    buffer_deinit(&out);
    kept_deinit(&k);
}
