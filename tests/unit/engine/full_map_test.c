/* Stores in a map that is full, or nearly (engine/store/space.h). */
#include "tests/check.h"
#include "tests/temporary.h"

#include "engine/store/lmdb_parts.h"
#include "engine/store/long_key.h"
#include "engine/store/store.h"

static char *directory;
static uint64_t map_max = 1 << 24;

static struct store *open_store(uint64_t resident_max)
{
    struct backing_options options = {
        .path = directory, .map_initial_bytes = 1 << 20, .map_max_bytes = map_max};
    struct backing *backing;
    assert_int_equal(backing_open_lmdb(&options, &backing), STATUS_OK);
    return store_create(backing, resident_max, 1);
}

static struct slice numbered(uint8_t key[6], uint32_t table, uint32_t number)
{
    key[0] = 0;
    key[1] = (uint8_t)table;
    number = __builtin_bswap32(number);
    memcpy(key + 2, &number, 4);
    return slice_make(key, 6);
}

static struct slice shared_key(uint8_t key[LONG_KEY_PREFIX_SIZE + 6], uint32_t number)
{
    uint8_t end[6];
    memset(key, 'k', LONG_KEY_PREFIX_SIZE);
    memcpy(key + LONG_KEY_PREFIX_SIZE, numbered(end, 1, number).data, sizeof end);
    return slice_make(key, LONG_KEY_PREFIX_SIZE + sizeof end);
}

/* Writes what the memtable has. The reserve is enough for every checkpoint. The map cannot grow
 * while `*open` is open. */
static void write_erasing(struct store *s, uint64_t lsn, uint64_t erase_max_bytes,
                          struct backing_snapshot **open)
{
    enum status status;
    store_freeze(s, lsn, erase_max_bytes);
    while ((status = store_checkpoint_write(s)) == STATUS_FULL) {
        store_checkpoint_done(s, STATUS_FULL);
        if (open != NULL && *open != NULL)
            store_snapshot_close(s, *open);
        if (open != NULL)
            *open = NULL;
        assert_int_equal(store_grow(s), STATUS_OK); /* it has its last size later */
    }
    assert_int_equal(status, STATUS_OK);
    store_checkpoint_done(s, STATUS_OK);
    struct slice lo;
    while (store_next_erased(s, &lo))
        continue;
}

static void write_within_map(struct store *s, uint64_t lsn)
{
    write_erasing(s, lsn, 0, NULL);
}

static bool may_grow(struct store *s, size_t bytes)
{
    return space_for_growth(store_space(s), store_space_cost(s), bytes) == SPACE_THERE;
}

/* Values of that size until there is no space for another one. Returns the next number. */
static uint32_t fill_map(struct store *s, uint8_t table, size_t size, uint64_t *lsn)
{
    static const uint8_t bytes[400000] = {7};
    uint8_t key[6];
    uint32_t count = 0;
    for (int tries = 0; tries < 2; tries++) {
        for (; may_grow(s, size); tries = 0)
            store_put(s, numbered(key, table, count++), slice_make(bytes, size));
        write_within_map(s, ++*lsn);
    }
    return count;
}

/* SPACE-1, SPACE-2: in a map that is full, items are deleted, and others take their place. */
TEST_WITH(a_full_map_is_emptied_by_deletions_and_filled_again, temporary_setup, temporary_teardown)
{
    static const size_t SIZES[] = {100, 1000, 3000, 20000, 100000};
    uint8_t key[6];
    uint64_t lsn = 0;
    directory = *state;
    map_max = 16 << 20;
    struct store *s = open_store(UINT64_MAX);
    for (uint8_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        const uint32_t count = fill_map(s, 1, SIZES[i], &lsn);
        assert_true(count * SIZES[i] > 4 << 20);
        assert_int_equal(space_for_growth(store_space(s), 0, SIZES[i]), SPACE_FULL);
        assert_true(space_used_bytes(store_space(s)) <= space_growth_max_bytes(store_space(s)));
        for (uint32_t at = 0; at < count; at++) {
            store_put(s, numbered(key, 1, at), slice_make(NULL, 0));
            if (space_for_change(store_space(s), store_space_cost(s), 100) != SPACE_THERE)
                write_within_map(s, ++lsn);
        }
        write_within_map(s, ++lsn);
        write_within_map(s, ++lsn);
    }
    store_destroy(s);
    map_max = 1 << 24;
}

/* Every second page of a full map becomes free: no two of them lie side by side. */
static void free_pages_apart(struct store *s, uint64_t *lsn)
{
    uint8_t key[6];
    const uint32_t count = fill_map(s, 1, 3000, lsn);
    for (uint32_t at = 0; at < count; at += 2) {
        store_put(s, numbered(key, 1, at), slice_make(NULL, 0));
        if (store_needs_checkpoint(s))
            write_within_map(s, ++*lsn);
    }
    write_within_map(s, ++*lsn);
}

/* Values of a page each until the file has its last size. Every second one goes then. */
static uint32_t use_all_pages(struct store *s, uint64_t *lsn)
{
    static const uint8_t bytes[3000] = {7};
    uint8_t key[6];
    uint32_t count = fill_map(s, 1, sizeof bytes, lsn);
    while (store_space(s)->file_bytes + (28 << 10) < map_max) {
        for (int i = 0; i < 3; i++)
            store_put(s, numbered(key, 1, count++), slice_make(bytes, sizeof bytes));
        write_within_map(s, ++*lsn);
    }
    for (uint32_t at = 0; at < count; at += 2) {
        store_put(s, numbered(key, 1, at), slice_make(NULL, 0));
        if (at % 50 == 0)
            write_within_map(s, ++*lsn);
    }
    write_within_map(s, ++*lsn);
    return count;
}

/* PARTS-3: one checkpoint deletes all large values. Nothing tells how much it frees. */
TEST_WITH(deletions_of_large_values_fit_where_no_pages_lie_side_by_side, temporary_setup,
          temporary_teardown)
{
    uint8_t key[6];
    uint64_t lsn = 0;
    directory = *state;
    map_max = 64 << 20;
    struct store *s = open_store(UINT64_MAX);
    use_all_pages(s, &lsn);
    assert_true(space_run_bytes(store_space(s)) < 1 << 20);
    const uint32_t count = fill_map(s, 2, 100000, &lsn);
    assert_true(count > 100);
    const uint64_t used = space_used_bytes(store_space(s));
    struct backing_snapshot *snapshot; /* while it is open, no part is swept */
    assert_int_equal(store_snapshot_open(s, &snapshot), STATUS_OK);
    for (uint32_t at = 0; at < count; at++)
        store_put(s, numbered(key, 2, at), slice_make(NULL, 0));
    store_freeze(s, ++lsn, 0);
    assert_int_equal(store_checkpoint_write(s), STATUS_OK);
    store_checkpoint_done(s, STATUS_OK);
    store_snapshot_close(s, snapshot);
    store_destroy(s);
    s = open_store(UINT64_MAX); /* what was noted is known after a restart */
    for (int i = 0; i < 3; i++)
        write_within_map(s, ++lsn);
    assert_true(space_used_bytes(store_space(s)) + count * 90000 < used);
    store_destroy(s);
    map_max = 1 << 24;
}

/* PARTS-1 */
TEST_WITH(a_large_value_needs_no_pages_side_by_side, temporary_setup, temporary_teardown)
{
    static const uint8_t bytes[400000] = {7};
    uint8_t key[6];
    uint64_t lsn = 0;
    directory = *state;
    map_max = 16 << 20;
    struct store *s = open_store(UINT64_MAX);
    free_pages_apart(s, &lsn);
    const uint32_t count = fill_map(s, 2, sizeof bytes, &lsn);
    assert_true(count > 10);
    for (uint32_t at = 0; at < count; at++) {
        struct slice value;
        assert_int_equal(store_get(s, numbered(key, 2, at), true, &value), STATUS_OK);
        assert_true(slice_equal(value, slice_make(bytes, sizeof bytes)));
        store_release(s);
    }
    store_destroy(s);
    map_max = 1 << 24;
}

/* The list of the pages that a checkpoint frees must have a place, too. */
TEST_WITH(many_deletions_fit_where_no_pages_lie_side_by_side, temporary_setup, temporary_teardown)
{
    uint8_t key[6];
    uint64_t lsn = 0;
    directory = *state;
    map_max = 128 << 20;
    struct store *s = open_store(UINT64_MAX);
    const uint32_t count = use_all_pages(s, &lsn);
    for (uint32_t at = 1; at < count; at += 2) {
        store_put(s, numbered(key, 1, at), slice_make(NULL, 0));
        if (store_needs_checkpoint(s))
            write_within_map(s, ++lsn);
    }
    write_within_map(s, ++lsn);
    store_destroy(s);
    map_max = 1 << 24;
}

/* PARTS-2 */
TEST_WITH(parts_go_with_their_value, temporary_setup, temporary_teardown)
{
    static const uint8_t bytes[100000] = {7};
    static const size_t SIZES[] = {100000, 50000, 100, 0};
    uint8_t key[6], lo[] = {0, 1}, hi[] = {0, 2};
    uint64_t lsn = 0;
    directory = *state;
    map_max = 8 << 20;
    struct store *s = open_store(UINT64_MAX);
    for (uint32_t i = 0; i < 100; i++) { /* one after the other, each way to leave its parts */
        for (size_t at = 0; at < COUNT_OF(SIZES); at++) {
            const bool erased = SIZES[at] == 100 && i % 2 == 0;
            if (!erased)
                store_put(s, numbered(key, 1, i),
                          slice_make(SIZES[at] > 0 ? bytes : NULL, SIZES[at]));
            else
                store_erase(s, slice_make(lo, sizeof lo), slice_make(hi, sizeof hi));
            do
                write_erasing(s, ++lsn, erased ? 1 << 20 : 0, NULL);
            while (store_erase_pending(s));
        }
    }
    assert_true(space_used_bytes(store_space(s)) < 1 << 20);
    store_destroy(s);
    map_max = 1 << 24;
}

TEST_WITH(a_value_that_shrinks_leaves_no_part_behind, temporary_setup, temporary_teardown)
{
    static const uint8_t bytes[100000] = {7};
    uint8_t key[6];
    uint64_t lsn = 0;
    directory = *state;
    map_max = 8 << 20;
    struct store *s = open_store(UINT64_MAX);
    for (int small = 0; small < 2; small++) {
        for (uint32_t i = 0; i < 60; i++)
            store_put(s, numbered(key, 1, i), slice_make(bytes, small ? 5000 : sizeof bytes));
        for (int times = 0; times < 3; times++)
            write_within_map(s, ++lsn);
    }
    assert_true(space_is_scarce(store_space(s))); /* so free pages are counted */
    assert_true(space_used_bytes(store_space(s)) < 1 << 20);
    store_destroy(s);
    map_max = 1 << 24;
}

TEST_WITH(a_value_may_resemble_the_head_of_parts, temporary_setup, temporary_teardown)
{
    static const uint8_t bytes[10000] = {7};
    struct slice value;
    uint8_t head[PARTS_HEAD_SIZE];
    directory = *state;
    struct store *s = open_store(UINT64_MAX);
    store_put(s, slice_of("large"), slice_make(bytes, sizeof bytes));
    write_within_map(s, 1);
    parts_head_encode(&(struct parts_head){.number = 1, .size = sizeof bytes}, head);
    store_put(s, slice_of("same"), slice_make(head, sizeof head));
    write_within_map(s, 2);
    assert_int_equal(store_get(s, slice_of("same"), true, &value), STATUS_OK);
    assert_true(slice_equal(value, slice_make(head, sizeof head)));
    assert_int_equal(store_get(s, slice_of("large"), true, &value), STATUS_OK);
    assert_true(slice_equal(value, slice_make(bytes, sizeof bytes)));
    store_destroy(s);
}

/* What the pages of a full map are used for, while snapshots come and go. */
struct full_map {
    struct store *store;
    uint32_t shared;                   /* so many of the last keys share a record */
    struct backing_snapshot *snapshot; /* NULL: none */
    uint64_t lsn;
    size_t size[400]; /* of the values; 0: there is none */
};

static void full_map_write(struct full_map *m)
{
    write_erasing(m->store, ++m->lsn, 0, &m->snapshot);
}

static struct slice full_map_key(const struct full_map *m, uint32_t at,
                                 uint8_t key[LONG_KEY_PREFIX_SIZE + 6])
{
    return at + m->shared < COUNT_OF(m->size) ? numbered(key, 1, at) : shared_key(key, at);
}

/* Whether a change of the key by so many bytes has space. */
static bool full_map_has_space(const struct full_map *m, struct slice key, size_t size, bool grows)
{
    const uint64_t cost = store_space_cost(m->store);
    const size_t bytes = size + (size_t)store_shared_cost(m->store, key);
    return (grows ? space_for_growth(store_space(m->store), cost, bytes)
                  : space_for_change(store_space(m->store), cost, bytes)) == SPACE_THERE;
}

static void full_map_step(struct full_map *m, struct prng *p)
{
    static const uint8_t bytes[100000] = {7};
    static const size_t SIZES[] = {100, 3000, 20000, 100000};
    uint8_t bytes_of_key[LONG_KEY_PREFIX_SIZE + 6];
    const uint32_t at = (uint32_t)prng_below(p, COUNT_OF(m->size));
    const struct slice key = full_map_key(m, at, bytes_of_key);
    size_t size = prng_below(p, 5) == 0 ? 0 : SIZES[prng_below(p, COUNT_OF(SIZES))];
    if (!full_map_has_space(m, key, size + 100, false))
        size = 0;
    if (size > m->size[at] && !full_map_has_space(m, key, size, true))
        size = 0;
    if (full_map_has_space(m, key, 100, false)) {
        m->size[at] = size;
        store_put(m->store, key, slice_make(size > 0 ? bytes : NULL, size));
    }
    if (store_needs_checkpoint(m->store) ||
        (prng_below(p, 100) == 0 && store_space_cost(m->store) > 0))
        full_map_write(m);
    if (prng_below(p, 200) > 0)
        return;
    if (m->snapshot != NULL)
        store_snapshot_close(m->store, m->snapshot);
    m->snapshot = NULL;
    if (prng_below(p, 2) == 0)
        assert_int_equal(store_snapshot_open(m->store, &m->snapshot), STATUS_OK);
}

static uint32_t shared_keys;

/* SPACE-2: what was allowed has space. */
static void no_checkpoint_finds_a_full_map(struct prng *p)
{
    struct full_map m = {.store = open_store(UINT64_MAX), .shared = shared_keys};
    m.lsn = store_log_lsn(m.store);
    uint32_t left = 0;
    uint8_t key[LONG_KEY_PREFIX_SIZE + 6];
    for (uint32_t i = 0; i < COUNT_OF(m.size); i++) /* of the run before */
        store_put(m.store, full_map_key(&m, i, key), slice_make(NULL, 0));
    full_map_write(&m);
    for (int i = 0; i < 3000; i++)
        full_map_step(&m, p);
    if (m.snapshot != NULL)
        store_snapshot_close(m.store, m.snapshot);
    full_map_write(&m);
    for (uint32_t i = 0; i < COUNT_OF(m.size); i++) {
        struct slice value;
        left += m.size[i] > 0;
        assert_int_equal(store_get(m.store, full_map_key(&m, i, key), true, &value),
                         m.size[i] > 0 ? STATUS_OK : STATUS_NOT_FOUND);
    }
    assert_true(left > 0);
    store_destroy(m.store);
}

TEST_WITH(what_was_allowed_has_space_in_a_full_map, temporary_setup, temporary_teardown)
{
    directory = *state;
    map_max = 16 << 20;
    check_seeds(5, no_checkpoint_finds_a_full_map);
    map_max = 1 << 24;
}

/* A checkpoint writes a record that keys share once, however many of them change. */
TEST_WITH(what_keys_that_share_a_record_were_allowed_has_space, temporary_setup, temporary_teardown)
{
    directory = *state;
    map_max = 16 << 20;
    shared_keys = 60;
    check_seeds(5, no_checkpoint_finds_a_full_map);
    shared_keys = 0;
    map_max = 1 << 24;
}

/* Half of a full map is deleted, and put again without a question, as a follower does. A snapshot
 * has what was deleted, too. */
TEST_WITH(what_a_checkpoint_has_freed_is_used_by_the_next_one, temporary_setup, temporary_teardown)
{
    static const uint8_t bytes[100000] = {7};
    uint8_t key[6];
    uint64_t lsn = 0;
    directory = *state;
    map_max = 16 << 20;
    struct store *s = open_store(UINT64_MAX);
    const uint32_t count = fill_map(s, 1, sizeof bytes, &lsn);
    for (int i = 0; i < 4; i++) {
        struct backing_snapshot *snapshot = NULL;
        if (i % 2 == 1)
            assert_int_equal(store_snapshot_open(s, &snapshot), STATUS_OK);
        for (uint32_t at = 0; at < count / 2; at++)
            store_put(s, numbered(key, 1, at), slice_make(NULL, 0));
        write_within_map(s, ++lsn);
        for (uint32_t at = 0; at < count / 2; at++)
            store_put(s, numbered(key, 1, at), slice_make(bytes, sizeof bytes));
        store_freeze(s, ++lsn, 0);
        for (int tries = 0; snapshot != NULL && tries < 2; tries++) {
            assert_int_equal(store_checkpoint_write(s), STATUS_FULL);
            store_checkpoint_done(s, STATUS_FULL);
            if (tries == 0)
                store_snapshot_close(s, snapshot);
        }
        assert_int_equal(store_checkpoint_write(s), STATUS_OK);
        store_checkpoint_done(s, STATUS_OK);
    }
    store_destroy(s);
    map_max = 1 << 24;
}

/* ---- long keys ---- */

static void put_shared(struct store *s, uint32_t count)
{
    static const uint8_t bytes[20000] = {7};
    uint8_t key[LONG_KEY_PREFIX_SIZE + 6];
    for (uint32_t i = 0; i < count; i++)
        store_put(s, shared_key(key, i), slice_make(bytes, sizeof bytes));
}

/* What a small change writes anew. */
TEST_WITH(a_change_of_a_long_key_costs_the_record_that_it_shares, temporary_setup,
          temporary_teardown)
{
    uint8_t key[LONG_KEY_PREFIX_SIZE + 6], other[6];
    uint64_t lsn = 0;
    directory = *state;
    map_max = 1 << 20;
    struct store *s = open_store(UINT64_MAX);
    put_shared(s, 30);
    write_within_map(s, ++lsn);
    assert_true(space_is_scarce(store_space(s)));
    assert_int_equal(store_space_cost(s), 0);
    assert_int_equal(store_shared_cost(s, numbered(other, 1, 0)), 0);
    const uint64_t before = store_shared_cost(s, shared_key(key, 0));
    assert_in_range(before, 600000, 630000);
    store_put(s, shared_key(key, 7), slice_of("small"));
    assert_in_range(store_space_cost(s), 600000, 700000);
    assert_int_equal(store_shared_cost(s, shared_key(key, 8)), 0); /* it is written once */
    store_put(s, shared_key(key, 8), slice_make(NULL, 0));
    assert_in_range(store_space_cost(s), 600000, 700000);
    store_freeze(s, ++lsn, 0); /* the next checkpoint writes it again, as it is then */
    assert_in_range(store_shared_cost(s, shared_key(key, 9)), before + 1000, before + 1100);
    store_destroy(s);
    map_max = 1 << 24;
}

/* A checkpoint frees only as many pages as fit LMDB's list of them, also if it has taken them
 * itself. So a record that is written anew for each of its changes would take the whole map. */
TEST_WITH(a_checkpoint_writes_a_shared_record_once, temporary_setup, temporary_teardown)
{
    enum {
        SHARED = 120
    };
    uint8_t key[LONG_KEY_PREFIX_SIZE + 6];
    struct slice value;
    uint64_t lsn = 0;
    directory = *state;
    struct store *s = open_store(UINT64_MAX);
    put_shared(s, SHARED);
    const uint32_t count = fill_map(s, 1, 3000, &lsn);
    for (uint32_t i = 0; i < count; i += 2)
        store_put(s, numbered(key, 1, i), slice_make(NULL, 0));
    write_within_map(s, ++lsn);
    put_shared(s, SHARED);
    store_put(s, shared_key(key, SHARED), slice_of("the last"));
    write_within_map(s, ++lsn);
    for (uint32_t i = 0; i <= SHARED; i++)
        assert_int_equal(store_get(s, shared_key(key, i), true, &value), STATUS_OK);
    store_destroy(s);
}

TEST_WITH(while_there_is_much_space_a_shared_record_costs_nothing, temporary_setup,
          temporary_teardown)
{
    uint8_t key[LONG_KEY_PREFIX_SIZE + 6];
    directory = *state;
    struct store *s = open_store(UINT64_MAX);
    put_shared(s, 20);
    write_within_map(s, 1);
    assert_false(space_is_scarce(store_space(s)));
    assert_int_equal(store_shared_cost(s, shared_key(key, 0)), 0);
    store_destroy(s);
}

/* Values in parts, and a record in parts that keys share. */
TEST_WITH(a_snapshot_and_a_cursor_read_values_in_parts_in_order, temporary_setup,
          temporary_teardown)
{
    static const uint8_t bytes[20000] = {7};
    uint8_t key[LONG_KEY_PREFIX_SIZE + 6];
    uint32_t count = 0, seen = 0;
    struct backing_snapshot *snapshot;
    struct backing_change at;
    struct store_cursor cursor;
    struct slice k, value;
    directory = *state;
    struct store *s = open_store(UINT64_MAX);
    for (uint32_t i = 0; i < 10; i++, count++)
        store_put(s, numbered(key, 1, i), slice_make(bytes, sizeof bytes - i));
    put_shared(s, 10);
    count += 10;
    write_within_map(s, 1);
    assert_int_equal(store_snapshot_open(s, &snapshot), STATUS_OK);
    struct buffer from = {0};
    while (store_snapshot_seek(s, snapshot, buffer_slice(&from), seen > 0, &at) == STATUS_OK) {
        assert_int_equal(at.value.size, sizeof bytes - (seen < 10 ? seen : 0));
        assert_int_equal(memcmp(at.value.data, bytes, at.value.size), 0);
        buffer_set(&from, at.key);
        seen++;
    }
    assert_int_equal(seen, count);
    for (int reverse = 0; reverse < 2; reverse++) {
        store_seek(s, slice_make(NULL, 0), slice_make(NULL, 0), reverse == 1, &cursor);
        for (seen = 0; store_next(&cursor, &k, &value) == STATUS_OK; seen++)
            assert_int_equal(memcmp(value.data, bytes, value.size), 0);
        assert_int_equal(seen, count);
        store_release(s);
    }
    store_snapshot_close(s, snapshot);
    buffer_deinit(&from);
    store_destroy(s);
}
