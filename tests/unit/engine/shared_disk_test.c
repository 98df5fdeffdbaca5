/* Stores of one process on one small disk: each counts on its quota (base/disk_account.h). */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/check.h"
#include "tests/temporary.h"

#include "engine/store/store.h"

enum {
    MIB = 1 << 20,
    DISK_BYTES = 48 * MIB,
    STORES = 3,
    KEYS = 600,
    STEPS = 4000,
    LARGE = 100000,
};

enum checkpoint {
    NONE,
    BEGUN,
    WRITTEN,
};

struct shared_store {
    char path[128];
    struct disk_share *share;
    struct store *store;
    uint64_t lsn;
    enum checkpoint checkpoint;
    size_t size[KEYS]; /* of the values; 0: there is none */
};

struct shared_disk {
    struct disk_account *account;
    uint64_t others; /* bytes of other processes */
    struct shared_store stores[STORES];
};

static uint8_t bytes[LARGE];

static uint64_t disk_used(const struct shared_disk *d)
{
    uint64_t used = d->others;
    for (int i = 0; i < STORES; i++) {
        char file[160];
        struct stat info;
        snprintf(file, sizeof file, "%s/data.mdb", d->stores[i].path);
        used += stat(file, &info) == 0 ? (uint64_t)info.st_size : 0;
    }
    return used;
}

static uint64_t disk_left(void *context)
{
    const uint64_t used = disk_used(context);
    return used < DISK_BYTES ? DISK_BYTES - used : 0;
}

static void disk_open(struct shared_disk *d, const char *directory)
{
    *d = (struct shared_disk){0};
    d->account = disk_account_create(disk_left, d);
    for (int i = 0; i < STORES; i++) {
        struct shared_store *s = &d->stores[i];
        static int number;
        struct backing *backing;
        snprintf(s->path, sizeof s->path, "%s/store-%d", directory, number++);
        assert_int_equal(mkdir(s->path, 0700), 0);
        s->share = disk_account_join(d->account);
        const struct backing_options options = {.path = s->path,
                                                .map_initial_bytes = 2 * DISK_BYTES,
                                                .map_max_bytes = 2 * DISK_BYTES,
                                                .disk = s->share};
        assert_int_equal(backing_open_lmdb(&options, &backing), STATUS_OK);
        s->store = store_create(backing, UINT64_MAX, 1);
    }
}

static void disk_close(struct shared_disk *d)
{
    for (int i = 0; i < STORES; i++) {
        store_destroy(d->stores[i].store);
        disk_share_leave(d->stores[i].share);
    }
    disk_account_destroy(d->account);
}

/* One step of a checkpoint: begin, write, end. Other stores do something between them. */
static void checkpoint_step(struct shared_disk *d, struct shared_store *s)
{
    switch (s->checkpoint) {
    case NONE:
        store_freeze(s->store, ++s->lsn, 0);
        s->checkpoint = BEGUN;
        break;
    case BEGUN:
        assert_int_equal(store_checkpoint_write(s->store), STATUS_OK);
        assert_true(disk_used(d) <= DISK_BYTES);
        s->checkpoint = WRITTEN;
        break;
    case WRITTEN:
        store_checkpoint_done(s->store, STATUS_OK);
        s->checkpoint = NONE;
        break;
    }
}

static void checkpoint_all(struct shared_disk *d, struct shared_store *s)
{
    do
        checkpoint_step(d, s);
    while (s->checkpoint != NONE);
}

static bool may_grow(struct store *s, size_t size)
{
    return space_for_growth(store_space(s), store_space_cost(s), size) == SPACE_THERE;
}

static bool may_change(struct store *s, size_t size)
{
    return space_for_change(store_space(s), store_space_cost(s), size) == SPACE_THERE;
}

static void put(struct shared_store *s, uint32_t at, size_t size)
{
    const uint8_t key[] = {1, (uint8_t)(at >> 8), (uint8_t)at};
    s->size[at] = size;
    store_put(s->store, slice_make(key, sizeof key), slice_make(size > 0 ? bytes : NULL, size));
}

static void write_step(struct shared_store *s, struct prng *p)
{
    static const size_t SIZES[] = {100, 3000, 20000, LARGE};
    const uint32_t at = (uint32_t)prng_below(p, KEYS);
    size_t size = prng_below(p, 4) == 0 ? 0 : SIZES[prng_below(p, COUNT_OF(SIZES))];
    if (!may_change(s->store, size + 100) || (size > s->size[at] && !may_grow(s->store, size)))
        size = 0;
    if (may_change(s->store, 100))
        put(s, at, size);
}

static void shared_step(struct shared_disk *d, struct prng *p)
{
    struct shared_store *s = &d->stores[prng_below(p, STORES)];
    for (uint64_t writes = prng_below(p, 8); writes > 0; writes--)
        write_step(s, p);
    if (s->checkpoint != NONE ? prng_below(p, 4) == 0
                              : store_needs_checkpoint(s->store) || prng_below(p, 100) == 0)
        checkpoint_step(d, s);
}

static char *place;

static void no_checkpoint_finds_a_full_disk(struct prng *p)
{
    struct shared_disk d;
    disk_open(&d, place);
    for (int step = 0; step < STEPS; step++)
        shared_step(&d, p);
    disk_close(&d);
}

/* SHARE-1, SPACE-2 */
TEST_WITH(what_stores_of_one_disk_have_accepted_finds_its_space, temporary_setup,
          temporary_teardown)
{
    place = *state;
    check_seeds(4, no_checkpoint_finds_a_full_disk);
}

/* Puts until nothing more may be added. */
static uint32_t fill(struct shared_disk *d, struct shared_store *s)
{
    uint32_t count = 0;
    for (int tries = 0; tries < 2; tries++) {
        for (; may_grow(s->store, LARGE) && count < KEYS; tries = 0)
            put(s, count++, LARGE);
        checkpoint_all(d, s);
    }
    return count;
}

/* SHARE-2: others fill the disk before the store writes its checkpoint. */
TEST_WITH(what_a_store_has_accepted_is_in_no_quota_of_others, temporary_setup, temporary_teardown)
{
    struct shared_disk d;
    disk_open(&d, *state);
    struct shared_store *waits = &d.stores[0];
    uint32_t count = 0;
    while (may_grow(waits->store, LARGE))
        put(waits, count++, LARGE);
    assert_true(count > 80);
    assert_true(fill(&d, &d.stores[1]) > 80);
    fill(&d, &d.stores[2]);
    checkpoint_all(&d, waits);
    disk_close(&d);
}

/* SHARE-2: what one store takes is seen by the others at once, and leaves them a part. */
TEST_WITH(a_store_that_was_idle_has_its_part_of_a_full_disk, temporary_setup, temporary_teardown)
{
    struct shared_disk d;
    disk_open(&d, *state);
    struct shared_store *idle = &d.stores[1];
    const uint64_t before = store_space(idle->store)->total_bytes;
    const uint32_t count = fill(&d, &d.stores[0]);
    assert_in_range(count, 300, KEYS - 1);
    assert_true(store_space(idle->store)->total_bytes < before / 2);
    assert_true(store_space(idle->store)->disk_bound);
    assert_true(fill(&d, idle) > 5);
    for (uint32_t at = 0; at < count; at++) {
        while (!may_change(d.stores[0].store, 100))
            checkpoint_all(&d, &d.stores[0]);
        put(&d.stores[0], at, 0);
    }
    checkpoint_all(&d, &d.stores[0]);
    checkpoint_all(&d, &d.stores[0]);
    assert_true(fill(&d, &d.stores[0]) > count / 2);
    disk_close(&d);
}

static void limit_files(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The pages that it has written behind the last one would be lost for all stores of the disk. */
TEST_WITH(a_checkpoint_without_space_gives_back_what_it_has_taken, temporary_setup,
          temporary_teardown)
{
    struct shared_disk d;
    disk_open(&d, *state);
    struct shared_store *s = &d.stores[0];
    const uint64_t before = disk_used(&d);
    void (*kept)(int) = signal(SIGXFSZ, SIG_IGN);
    for (uint32_t at = 0; at < 50; at++)
        put(s, at, LARGE);
    store_freeze(s->store, ++s->lsn, 0);
    limit_files(2 * MIB);
    const enum status status = store_checkpoint_write(s->store);
    limit_files(RLIM_INFINITY);
    signal(SIGXFSZ, kept);
    assert_int_equal(status, STATUS_FULL);
    assert_int_equal(disk_used(&d), before);
    store_checkpoint_done(s->store, status);
    assert_int_equal(store_checkpoint_write(s->store), STATUS_OK);
    store_checkpoint_done(s->store, STATUS_OK);
    disk_close(&d);
}

/* What others take is seen by the measurement of any store. */
TEST_WITH(a_quota_shrinks_when_others_fill_the_disk, temporary_setup, temporary_teardown)
{
    struct shared_disk d;
    disk_open(&d, *state);
    struct store *s = d.stores[0].store;
    assert_true(may_grow(s, 5 * MIB));
    d.others = DISK_BYTES - MIB;
    checkpoint_all(&d, &d.stores[1]);
    assert_false(may_grow(s, 5 * MIB));
    d.others = 0;
    checkpoint_all(&d, &d.stores[2]);
    assert_true(may_grow(s, 5 * MIB));
    disk_close(&d);
}
