/* The store against a model: a sorted array of keys and the versions they hold. */
#include "tests/check.h"
#include "tests/temporary.h"

#include "engine/store/long_key.h"
#include "engine/store/store.h"

enum {
    KEYS = 160,
    KEY_SIZE_MAX = 560,
    VALUE_SIZE_MAX = 9000, /* needs three pages */
    ABSENT = 0,
    STEPS = 3000,
    SEED = 7
};

/* ---- keys: sorted, some longer than LMDB takes, many of those in one bucket ---- */

static struct {
    uint8_t bytes[KEY_SIZE_MAX];
    size_t size;
} pool[KEYS];

static struct slice key_at(size_t i)
{
    return slice_make(pool[i].bytes, pool[i].size);
}

static int compare_keys(const void *a, const void *b)
{
    const typeof(pool[0]) *x = a, *y = b;
    return slice_compare(slice_make(x->bytes, x->size), slice_make(y->bytes, y->size));
}

static void make_keys(struct prng *p)
{
    for (size_t i = 0; i < KEYS; i++) {
        bool again;
        do {
            /* The first byte is the "table": long keys of a few tables share their prefix. */
            size_t size = 2 + prng_below(p, 6);
            memset(pool[i].bytes, (int)(1 + prng_below(p, 4)), sizeof pool[i].bytes);
            if (prng_below(p, 3) == 0)
                size = LONG_KEY_PREFIX_SIZE - 3 + prng_below(p, 8);
            pool[i].size = size;
            for (size_t at = size < 10 ? 1 : LONG_KEY_PREFIX_SIZE - 2; at < size; at++)
                pool[i].bytes[at] = (uint8_t)prng_below(p, 3);
            again = false;
            for (size_t j = 0; j < i; j++)
                again |= slice_equal(key_at(i), key_at(j));
        } while (again);
    }
    qsort(pool, KEYS, sizeof pool[0], compare_keys);
}

/* What key `i` holds at `version`: its size too depends on both. */
static struct slice value_at(size_t i, uint32_t version, uint8_t bytes[VALUE_SIZE_MAX])
{
    size_t size = (i * 37 + version * 101) % 1000;
    if (i % 4 == 0 && version % 2 == 0)
        size *= VALUE_SIZE_MAX / 1000;
    memset(bytes, (int)(i + version), size);
    if (size >= 4)
        memcpy(bytes, &version, 4);
    return slice_make(bytes, size);
}

static void assert_holds(size_t i, uint32_t version, struct slice value)
{
    uint8_t bytes[VALUE_SIZE_MAX];
    assert_true(slice_equal(value_at(i, version, bytes), value));
}

/* ---- memtable ---- */

/* What the flush thread takes: all keys the memtable knows, in order. */
static void check_memtable_sorted(const struct memtable *m, const uint32_t *model)
{
    const struct mem_entry **sorted = memtable_sorted(m);
    size_t at = 0;
    for (size_t i = 0; i < KEYS; i++) {
        if (model[i] != ABSENT)
            assert_true(slice_equal(sorted[at++]->key, key_at(i)));
    }
    assert_int_equal(at, memtable_count(m));
    free(sorted);
}

static void check_memtable_range(struct memtable *m, const uint32_t *model, struct prng *p)
{
    size_t from = prng_below(p, KEYS);
    check_memtable_sorted(m, model);
    const struct mem_entry *e = memtable_seek(m, key_at(from));
    for (size_t i = from; i < KEYS; i++) {
        if (model[i] == ABSENT)
            continue;
        assert_non_null(e);
        assert_true(slice_equal(e->key, key_at(i)));
        e = memtable_next(e);
    }
    assert_null(e);
    e = memtable_seek_before(m, from == 0 ? slice_make(NULL, 0) : key_at(from));
    for (size_t i = from == 0 ? KEYS : from; i-- > 0;) {
        if (model[i] == ABSENT)
            continue;
        assert_non_null(e);
        assert_true(slice_equal(e->key, key_at(i)));
        e = memtable_prev(e);
    }
    assert_null(e);
}

/* A memtable knows a key once it was put, deleted or not: `model` holds its last version, and
 * `deleted` whether that was a deletion. */
static void memtable_is_a_sorted_map_that_remembers_deletions(struct prng *p)
{
    uint32_t model[KEYS] = {0};
    bool deleted[KEYS] = {0};
    uint8_t bytes[VALUE_SIZE_MAX];
    size_t known = 0;
    make_keys(p);
    struct memtable *m = memtable_create();
    for (uint32_t step = 1; step <= STEPS; step++) {
        size_t i = prng_below(p, KEYS);
        uint64_t hash = memtable_hash(SEED, key_at(i));
        known += model[i] == ABSENT;
        model[i] = step;
        deleted[i] = prng_below(p, 4) == 0;
        memtable_put(m, key_at(i), hash,
                     deleted[i] ? slice_make(NULL, 0) : value_at(i, step, bytes));
        assert_int_equal(memtable_count(m), known);
        i = prng_below(p, KEYS);
        const struct mem_entry *e = memtable_get(m, key_at(i), memtable_hash(SEED, key_at(i)));
        assert_int_equal(e != NULL, model[i] != ABSENT);
        if (e != NULL && deleted[i])
            assert_null(e->value.data);
        else if (e != NULL)
            assert_holds(i, model[i], e->value);
        if (step % 50 == 0)
            check_memtable_range(m, model, p);
    }
    memtable_destroy(m);
}

TEST(a_memtable_grows_its_hash_and_keeps_replaced_values_readable)
{
    struct memtable *m = memtable_create();
    enum {
        MANY = 5000
    };
    struct slice first = {NULL, 0};
    for (uint32_t i = 0; i < MANY; i++) {
        struct slice key = slice_make(&i, sizeof i);
        memtable_put(m, key, memtable_hash(SEED, key), key);
        if (i == 7)
            first = memtable_get(m, key, memtable_hash(SEED, key))->value;
    }
    uint32_t seven = 7;
    struct slice key = slice_make(&seven, sizeof seven);
    memtable_put(m, key, memtable_hash(SEED, key), slice_of("new"));
    assert_true(slice_equal(first, key));
    assert_int_equal(memtable_count(m), MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        key = slice_make(&i, sizeof i);
        assert_non_null(memtable_get(m, key, memtable_hash(SEED, key)));
    }
    memtable_destroy(m);
}

/* ---- the store over LMDB ---- */

static char *directory;

struct world {
    struct store *store;
    uint32_t model[KEYS];   /* what reads must see */
    uint32_t durable[KEYS]; /* what is there after a crash */
    uint32_t frozen[KEYS];  /* durable once the running checkpoint is done */
    bool checkpoint;
    bool written; /* the checkpoint's write has been done, not yet taken over */
    uint64_t lsn;
    uint32_t version;
    size_t erase_lo; /* keys that are being erased: neither read nor written */
    size_t erase_hi;
    int erase_ranges;
    bool erasing;
    uint64_t resident_max;
};

static uint64_t map_max = 1 << 24;

static struct store *open_store(uint64_t resident_max)
{
    struct backing_options options = {
        .path = directory, .map_initial_bytes = 1 << 20, .map_max_bytes = map_max};
    struct backing *backing;
    assert_int_equal(backing_open_lmdb(&options, &backing), STATUS_OK);
    return store_create(backing, resident_max, 1);
}

static bool is_erased(const struct world *w, size_t i)
{
    return w->erasing && i >= w->erase_lo && i < w->erase_hi;
}

static void write_one(struct world *w, struct prng *p)
{
    uint8_t bytes[VALUE_SIZE_MAX];
    size_t i = prng_below(p, KEYS);
    if (is_erased(w, i))
        return;
    bool delete = prng_below(p, 3) == 0;
    w->model[i] = delete ? ABSENT : ++w->version;
    store_put(w->store, key_at(i), delete ? slice_make(NULL, 0) : value_at(i, w->version, bytes));
}

static void read_one(struct world *w, struct prng *p)
{
    struct slice value;
    size_t i = prng_below(p, KEYS);
    if (is_erased(w, i))
        return;
    bool touch = store_needs_touch(w->store);
    if (touch)
        store_touch(w->store, key_at(i), prng_below(p, 2) == 0, prng_below(p, 4096));
    enum status status = store_get(w->store, key_at(i), touch, &value);
    assert_int_equal(status, w->model[i] == ABSENT ? STATUS_NOT_FOUND : STATUS_OK);
    if (status == STATUS_OK)
        assert_holds(i, w->model[i], value);
}

/* Any two bounds, of keys or just beside them, the empty ones too; the erased range is not asked
 * for. */
static void read_range(struct world *w, struct prng *p)
{
    size_t lo = prng_below(p, KEYS), hi = lo + prng_below(p, KEYS - lo + 1);
    bool reverse = prng_below(p, 2) == 0;
    if (w->erasing && lo < w->erase_hi && hi > w->erase_lo)
        return;
    struct slice from =
        lo == 0 && !w->erasing && prng_below(p, 2) == 0 ? slice_make(NULL, 0) : key_at(lo);
    struct slice to = hi == KEYS ? slice_make(NULL, 0) : key_at(hi);
    struct store_cursor c;
    store_seek(w->store, from, to, reverse, &c);
    struct slice key, value;
    for (size_t n = 0; n < hi - lo; n++) {
        size_t i = reverse ? hi - 1 - n : lo + n;
        if (w->model[i] == ABSENT)
            continue;
        assert_int_equal(store_next(&c, &key, &value), STATUS_OK);
        assert_true(slice_equal(key, key_at(i)));
        assert_holds(i, w->model[i], value);
    }
    assert_int_equal(store_next(&c, &key, &value), STATUS_NOT_FOUND);
    assert_int_equal(store_next(&c, &key, &value), STATUS_NOT_FOUND);
}

static void start_erasing(struct world *w, struct prng *p)
{
    /* Bounds may be long keys: a bucket may lie on both sides of one. */
    size_t lo = prng_below(p, KEYS), hi = lo + 1 + prng_below(p, 20);
    if (w->erasing || hi >= KEYS)
        return;
    w->erasing = true;
    w->erase_lo = lo;
    w->erase_hi = hi;
    size_t middle = lo + prng_below(p, hi - lo); /* one range, or two that a bucket may lie in */
    if (middle > lo)
        store_erase(w->store, key_at(middle), key_at(hi));
    w->erase_ranges = middle > lo ? 2 : 1;
    store_erase(w->store, key_at(lo), key_at(middle > lo ? middle : hi));
}

static void checkpoint_step(struct world *w)
{
    if (!w->checkpoint) {
        w->lsn += 10;
        store_freeze(w->store, w->lsn, w->lsn % 20 == 0 ? 0 : 2000); /* some erase nothing */
        memcpy(w->frozen, w->model, sizeof w->model);
        w->checkpoint = true;
        w->written = false;
    } else if (!w->written) {
        assert_int_equal(store_checkpoint_write(w->store), STATUS_OK);
        w->written = true;
        memcpy(w->durable, w->frozen, sizeof w->frozen);
    } else {
        struct slice lo;
        int erased = 0;
        bool first = false;
        w->checkpoint = false;
        store_checkpoint_done(w->store, STATUS_OK);
        for (; store_next_erased(w->store, &lo); erased++)
            first |= slice_equal(lo, key_at(w->erase_lo));
        if (erased > 0) {
            assert_true(w->erasing);
            assert_int_equal(erased, w->erase_ranges);
            assert_true(first);
            w->erasing = false;
            for (size_t i = w->erase_lo; i < w->erase_hi; i++)
                w->model[i] = w->durable[i] = ABSENT;
        }
        assert_int_equal(store_log_lsn(w->store), w->lsn);
    }
}

static void finish_checkpoints(struct world *w)
{
    while (w->checkpoint || w->erasing)
        checkpoint_step(w);
}

/* The process dies: memtables are gone, LMDB holds the last transaction. */
static void crash(struct world *w)
{
    if (w->erasing) /* the node remembers it in a row; the store does not */
        finish_checkpoints(w);
    store_destroy(w->store);
    w->store = open_store(w->resident_max);
    memcpy(w->model, w->durable, sizeof w->model);
    if (w->checkpoint && !w->written)
        w->lsn -= 10;
    w->checkpoint = false;
    assert_int_equal(store_log_lsn(w->store), w->lsn);
}

static void the_store_reads_like_one_sorted_map_through_checkpoints_and_crashes(struct prng *p)
{
    void *state;
    struct world w = {.resident_max = prng_below(p, 2) == 0 ? 0 : UINT64_MAX};
    assert_int_equal(temporary_setup(&state), 0);
    directory = state;
    make_keys(p);
    w.store = open_store(w.resident_max);
    for (int step = 0; step < STEPS; step++) {
        uint64_t dice = prng_below(p, 1000);
        if (dice < 500)
            write_one(&w, p);
        else if (dice < 800)
            read_one(&w, p);
        else if (dice < 960)
            read_range(&w, p);
        else if (dice < 990)
            checkpoint_step(&w);
        else if (dice < 997)
            start_erasing(&w, p);
        else
            crash(&w);
    }
    finish_checkpoints(&w);
    for (int i = 0; i < KEYS; i++)
        read_range(&w, p);
    store_destroy(w.store);
    assert_int_equal(temporary_teardown(&state), 0);
}

/* ---- what the random walk does not reach ---- */

/* Returns how many ranges were erased to their end. */
static int checkpoint(struct store *s, uint64_t lsn)
{
    struct slice lo;
    int erased = 0;
    store_freeze(s, lsn, 1 << 20);
    assert_int_equal(store_checkpoint_write(s), STATUS_OK);
    store_checkpoint_done(s, STATUS_OK);
    while (store_next_erased(s, &lo))
        erased++;
    return erased;
}

static struct slice numbered(uint8_t key[6], uint32_t table, uint32_t number)
{
    key[0] = 0;
    key[1] = (uint8_t)table;
    number = __builtin_bswap32(number);
    memcpy(key + 2, &number, 4);
    return slice_make(key, 6);
}

/* More keys than one checkpoint erases, neighbours on both sides, and two erasures in a row. */
TEST_WITH(erasing_a_range_takes_all_of_it_and_nothing_else, temporary_setup, temporary_teardown)
{
    enum {
        MANY = 25000
    };
    uint8_t key[6];
    directory = *state;
    struct store *s = open_store(UINT64_MAX);
    for (uint32_t table = 1; table <= 4; table++) {
        for (uint32_t i = 0; i < MANY; i += table == 1 || table == 4 ? 1000 : 1)
            store_put(s, numbered(key, table, i), slice_of("v"));
    }
    assert_int_equal(checkpoint(s, 1), 0);
    const uint8_t two[] = {0, 2}, three[] = {0, 3}, four[] = {0, 4};
    store_erase(s, slice_make(two, 2), slice_make(three, 2));
    store_erase(s, slice_make(three, 2), slice_make(four, 2));
    int done = 0;
    uint64_t lsn = 1;
    while (store_erase_pending(s)) {
        done += checkpoint(s, ++lsn);
        assert_true(lsn < 20);
    }
    assert_int_equal(done, 2);
    struct store_cursor c;
    struct slice k, v;
    int left = 0;
    store_seek(s, slice_make(NULL, 0), slice_make(NULL, 0), false, &c);
    for (; store_next(&c, &k, &v) == STATUS_OK; left++)
        assert_true(k.data[1] == 1 || k.data[1] == 4);
    assert_int_equal(left, 2 * MANY / 1000);
    store_destroy(s);
}

/* STORE-3: a checkpoint that finds no room changes nothing, and is written once there is some. */
TEST_WITH(a_full_map_keeps_the_memtable_until_the_map_has_grown, temporary_setup,
          temporary_teardown)
{
    enum {
        MANY = 3000
    };
    uint8_t key[6], bytes[1000] = {7};
    directory = *state;
    struct store *s = open_store(UINT64_MAX);
    for (uint32_t i = 0; i < MANY; i++)
        store_put(s, numbered(key, 1, i), slice_make(bytes, sizeof bytes));
    struct slice value;
    store_freeze(s, 5, 1 << 20);
    int grown = 0;
    enum status status;
    while ((status = store_checkpoint_write(s)) == STATUS_FULL) {
        store_checkpoint_done(s, STATUS_FULL);
        assert_true(store_is_frozen(s));
        assert_int_equal(store_log_lsn(s), 0);
        assert_int_equal(store_get(s, numbered(key, 1, MANY - 1), false, &value), STATUS_OK);
        assert_int_equal(store_grow(s), STATUS_OK);
        grown++;
    }
    assert_true(grown > 0);
    assert_int_equal(status, STATUS_OK);
    store_checkpoint_done(s, STATUS_OK);
    assert_int_equal(store_log_lsn(s), 5);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(store_get(s, numbered(key, 1, i), false, &value), STATUS_OK);
    while (store_grow(s) == STATUS_OK)
        assert_true(grown++ < 10);
    assert_int_equal(store_get(s, numbered(key, 1, 0), false, &value), STATUS_OK);
    store_destroy(s);
}

TEST_WITH(cold_data_is_pending_until_touched_but_memory_answers_at_once, temporary_setup,
          temporary_teardown)
{
    directory = *state;
    struct store *s = open_store(0);
    struct slice value;
    store_put(s, slice_of("cold"), slice_of("1"));
    assert_int_equal(store_get(s, slice_of("cold"), false, &value), STATUS_OK);
    checkpoint(s, 1);
    assert_true(store_needs_touch(s));
    assert_int_equal(store_get(s, slice_of("cold"), false, &value), STATUS_PENDING);
    assert_int_equal(store_get(s, slice_of("none"), false, &value), STATUS_PENDING);
    store_touch(s, slice_of("cold"), false, 0);
    assert_int_equal(store_get(s, slice_of("cold"), true, &value), STATUS_OK);
    store_put(s, slice_of("cold"), slice_make(NULL, 0));
    assert_int_equal(store_get(s, slice_of("cold"), false, &value), STATUS_NOT_FOUND);
    store_destroy(s);
}

/* ---- buckets of long keys ---- */

static void a_bucket_is_a_sorted_list_under_any_changes(struct prng *p)
{
    enum {
        NAMES = 12
    };
    uint32_t model[NAMES] = {0};
    struct buffer bucket = {0}, next = {0};
    for (uint32_t step = 1; step < 400; step++) {
        size_t i = prng_below(p, NAMES);
        uint8_t name = (uint8_t)('a' + i);
        model[i] = prng_below(p, 3) == 0 ? ABSENT : step;
        buffer_clear(&next);
        size_t from = 0;
        bucket_change(buffer_slice(&bucket), &from, slice_make(&name, 1),
                      model[i] == ABSENT ? slice_make(NULL, 0) : slice_make(&step, sizeof step),
                      &next);
        for (size_t also = i + 1; also < NAMES && prng_below(p, 3) > 0; also++) {
            const uint8_t then = (uint8_t)('a' + also);
            model[also] = prng_below(p, 3) == 0 ? ABSENT : step;
            bucket_change(buffer_slice(&bucket), &from, slice_make(&then, 1),
                          model[also] == ABSENT ? slice_make(NULL, 0)
                                                : slice_make(&step, sizeof step),
                          &next);
        }
        bucket_append_rest(buffer_slice(&bucket), from, &next);
        struct buffer swap = bucket;
        bucket = next;
        next = swap;
        size_t at = 0;
        struct bucket_entry e, before = {.end = 0};
        for (size_t k = 0; k < NAMES; k++) {
            uint8_t key = (uint8_t)('a' + k);
            bool found = bucket_seek(buffer_slice(&bucket), slice_make(&key, 1), &e);
            if (model[k] == ABSENT) {
                assert_false(found && slice_equal(e.key, slice_make(&key, 1)));
                continue;
            }
            assert_true(bucket_at(buffer_slice(&bucket), at, &e));
            assert_true(slice_equal(e.key, slice_make(&key, 1)));
            assert_true(slice_equal(e.value, slice_make(&model[k], sizeof model[k])));
            assert_int_equal(bucket_seek_before(buffer_slice(&bucket), e.key, &before), at > 0);
            if (at > 0)
                assert_int_equal(before.end, at);
            at = e.end;
        }
        assert_int_equal(at, bucket.size);
    }
    buffer_deinit(&bucket);
    buffer_deinit(&next);
}

#define PROPERTY(name, runs, property) \
    TEST(name)                         \
    {                                  \
        check_seeds(runs, property);   \
    }

PROPERTY(a_memtable_is_a_sorted_map_that_remembers_deletions, 10,
         memtable_is_a_sorted_map_that_remembers_deletions)
PROPERTY(a_store_reads_like_one_sorted_map_through_checkpoints_and_crashes, 10,
         the_store_reads_like_one_sorted_map_through_checkpoints_and_crashes)
PROPERTY(a_bucket_of_long_keys_is_a_sorted_list, 10, a_bucket_is_a_sorted_list_under_any_changes)
