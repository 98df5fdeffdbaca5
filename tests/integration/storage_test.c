/* What a node's disk may do to it: die with the process, tear a write, fail a sync, run full. Every
 * test checks the one guarantee: what was acknowledged is there, and nothing else is made of it. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/prng.h"
#include "embed/weir_internal.h"
#include "engine/node/node.h"
#include "tests/check.h"
#include "tests/temporary.h"

/* ---- the disk under LMDB: its syncs pass through here ---- */

static _Atomic int lmdb_syncs_until_failure = -1; /* the flush thread counts */
static pthread_mutex_t lmdb_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t lmdb_may_sync = PTHREAD_COND_INITIALIZER;
static bool lmdb_syncs_wait; /* under lmdb_lock */

static void lmdb_let_sync(bool may)
{
    pthread_mutex_lock(&lmdb_lock);
    lmdb_syncs_wait = !may;
    pthread_cond_broadcast(&lmdb_may_sync);
    pthread_mutex_unlock(&lmdb_lock);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    static int (*real)(int fd);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    pthread_mutex_lock(&lmdb_lock);
    while (lmdb_syncs_wait)
        pthread_cond_wait(&lmdb_may_sync, &lmdb_lock);
    pthread_mutex_unlock(&lmdb_lock);
    if (lmdb_syncs_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    if (lmdb_syncs_until_failure > 0)
        lmdb_syncs_until_failure--;
    return real(fd);
}

/* ---- the disk under the log: its segments are allocated through here ---- */

static _Atomic int disk_error; /* of an allocation that finds no space; 0: there is space */
static _Atomic bool disk_cannot_allocate;

__attribute__((visibility("default"))) int fallocate(int fd, int mode, off_t offset, off_t size)
{
    static int (*real)(int fd, int mode, off_t offset, off_t size);
    if (real == NULL)
        real = (int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate");
    if (disk_error == 0 && !disk_cannot_allocate)
        return real(fd, mode, offset, size);
    errno = disk_error != 0 ? disk_error : EOPNOTSUPP;
    return -1;
}

/* ---- helpers ---- */

static const char settings[] =
    "profile = off\nmemtable_max_bytes = 256KiB\nlog_segment_bytes = 8MiB\n"
    "checkpoint_ms = 20\n";

static struct weir *open_db(const char *directory, const char *with)
{
    struct weir *db;
    char *error = NULL;
    if (weir_open(directory, with, &db, &error) != WEIR_OK)
        fail_msg("weir_open: %s", error);
    return db;
}

static struct weir_table *open_table(struct weir *db)
{
    struct weir_table_options options = {.partition_key = "id",
                                         .partition_key_type = WEIR_NUMBER,
                                         .read_units = 2500,
                                         .write_units = 2500};
    struct weir_table *t;
    enum weir_status status = weir_table_open(db, "t", &t);
    if (status == WEIR_NOT_FOUND) {
        assert_int_equal(weir_table_create(db, "t", &options), WEIR_OK);
        status = weir_table_open(db, "t", &t);
    }
    assert_int_equal(status, WEIR_OK);
    return t;
}

static size_t filler_max = 700; /* larger where a disk is to be filled */

/* Item `id` holds `version` and a filler that depends on both. */
static void fill_item(struct weir_item *item, uint64_t id, uint64_t version)
{
    char text[32];
    static uint8_t filler[20000];
    weir_item_clear(item);
    int size = snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    weir_item_add(item, "id", WEIR_NUMBER, text, (size_t)size);
    size = snprintf(text, sizeof text, "%llu", (unsigned long long)version);
    weir_item_add(item, "version", WEIR_NUMBER, text, (size_t)size);
    memset(filler, (int)(id + version), sizeof filler);
    weir_item_add(item, "filler", WEIR_BINARY, filler, 1 + (id * 31 + version) % (filler_max - 1));
}

/* The stored version, or -1. */
static int64_t version_of(struct weir_table *t, uint64_t id)
{
    struct weir_item *key = weir_item_create();
    struct weir_result r;
    fill_item(key, id, 0);
    enum weir_status status = weir_get(t, key, true, &r);
    weir_item_destroy(key);
    if (status == WEIR_NOT_FOUND)
        return -1;
    assert_int_equal(status, WEIR_OK);
    size_t position = 0;
    struct weir_cursor c;
    struct weir_attr a;
    int64_t version = -2;
    assert_true(weir_result_next(&r, &position, &c));
    while (weir_cursor_next(&c, &a)) {
        char number[WEIR_NUMBER_TEXT_MAX];
        if (a.name_size == strlen("version") && memcmp(a.name, "version", a.name_size) == 0) {
            weir_attr_number(&a, number);
            version = atoll(number);
        }
    }
    return version;
}

static void assert_verified(struct weir *db)
{
    struct node_verification v;
    assert_int_equal(node_verify(weir_node(db), &v), STATUS_OK);
    assert_int_equal(v.damaged, 0);
    assert_int_equal(v.miscounted, 0);
}

/* The youngest file of the log. */
static void last_segment(const char *directory, char path[4096])
{
    char last[256] = "";
    DIR *d = opendir(directory);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        int fd;
        char name[4096], first[8];
        if (strncmp(e->d_name, "log-", 4) != 0 || strcmp(e->d_name, last) < 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", directory, e->d_name);
        fd = open(name, O_RDONLY);
        bool begun = read(fd, first, 8) == 8 && memcmp(first, "\0\0\0\0\0\0\0\0", 8) != 0;
        close(fd);
        if (begun)
            snprintf(last, sizeof last, "%s", e->d_name);
    }
    closedir(d);
    assert_true(last[0] != '\0');
    snprintf(path, 4096, "%s/%s", directory, last);
}

/* ---- kill -9 ---- */

enum {
    WRITERS = 64,
    IDS = 500,
    ROUNDS = 50
};

struct acknowledgement {
    uint32_t id;
    uint32_t version;
};

/* Writes for ever, 64 in flight, and reports each acknowledged write down the pipe. */
static void write_until_killed(const char *directory, int pipe, uint64_t seed, uint32_t version)
{
    struct prng prng = prng_seeded(seed);
    struct weir *db = open_db(directory, settings);
    struct weir_table *t = open_table(db);
    struct weir_item *item = weir_item_create();
    struct weir_result r;
    for (uint64_t started = 0;; started++) {
        struct acknowledgement a = {(uint32_t)prng_below(&prng, IDS), ++version};
        uint64_t tag;
        memcpy(&tag, &a, sizeof tag);
        fill_item(item, a.id, a.version);
        if (weir_put_start(t, item, tag) != WEIR_OK)
            _exit(1);
        if (started < WRITERS)
            continue;
        if (weir_complete(db, &r) != WEIR_OK)
            _exit(1);
        if (r.status == WEIR_BUSY) /* back-pressure while a checkpoint runs: not acknowledged */
            continue;
        if (r.status != WEIR_OK || write(pipe, &r.tag, sizeof r.tag) != sizeof r.tag)
            _exit(1);
    }
}

/* Takes acknowledgements until `count` have come, kills the writer, and takes the rest. */
static void kill_after(pid_t child, int pipe, int count, int64_t *acknowledged, uint32_t *highest)
{
    struct acknowledgement a;
    for (int n = 0; read(pipe, &a, sizeof a) == sizeof a; n++) {
        if ((int64_t)a.version > acknowledged[a.id])
            acknowledged[a.id] = a.version;
        if (a.version > *highest)
            *highest = a.version;
        if (n == count)
            kill(child, SIGKILL);
    }
    int status;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("the writer ended by itself, with wait status %#x", (unsigned)status);
}

FIXTURE(temporary_setup, temporary_teardown)

TEST(nothing_acknowledged_is_lost_by_kill_in_fifty_rounds)
{
    const char *seed_text = getenv("SEED");
    uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 10) : 78;
    struct prng prng = prng_seeded(seed);
    print_message("SEED=%llu\n", (unsigned long long)seed);
    static int64_t acknowledged[IDS];
    uint32_t highest = 0;
    memset(acknowledged, -1, sizeof acknowledged);
    for (int round = 0; round < ROUNDS; round++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0) {
            close(pipes[0]);
            write_until_killed(*state, pipes[1], prng_next(&prng), highest + 10000);
        }
        close(pipes[1]);
        kill_after(child, pipes[0], (int)prng_below(&prng, 4000), acknowledged, &highest);
        close(pipes[0]);
        struct weir *db = open_db(*state, settings);
        struct weir_table *t = open_table(db);
        for (uint64_t id = 0; id < IDS; id++) {
            int64_t version = version_of(t, id);
            if (version < acknowledged[id])
                fail_msg("round %d: item %llu is at %lld, %lld was acknowledged", round,
                         (unsigned long long)id, (long long)version, (long long)acknowledged[id]);
            if (version > (int64_t)highest)
                highest = (uint32_t)version;
        }
        assert_verified(db);
        weir_close(db);
    }
}

/* ---- the log's tail ---- */

static void write_items(const char *directory, uint64_t count)
{
    struct weir *db = open_db(directory, "profile = off\nlog_segment_bytes = 8MiB\n");
    struct weir_table *t = open_table(db);
    struct weir_item *item = weir_item_create();
    struct weir_result r;
    for (uint64_t id = 0; id < count; id++) {
        fill_item(item, id, id);
        assert_int_equal(weir_put(t, item, &r), WEIR_OK);
    }
    weir_item_destroy(item);
    weir_close(db);
}

/* Offset behind the last byte of the log that is not zero. */
static off_t written_end(const char *path)
{
    int fd = open(path, O_RDONLY);
    off_t end = 0, at = 0;
    uint8_t block[65536];
    ssize_t n;
    while ((n = read(fd, block, sizeof block)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (block[i] != 0)
                end = at + i + 1;
        }
        at += n;
    }
    close(fd);
    return end;
}

TEST(a_torn_last_write_is_cut_off_and_the_log_goes_on)
{
    enum {
        ITEMS = 50
    };
    char path[4096];
    write_items(*state, ITEMS);
    last_segment(*state, path);
    for (int round = 0; round < 20; round++) {
        /* Half a record behind the end, as a crash in the middle of a write leaves it. */
        off_t end = (written_end(path) + 7) / 8 * 8; /* each opening elects, and writes so */
        uint8_t garbage[300];
        int fd = open(path, O_RDWR);
        assert_true(pread(fd, garbage, sizeof garbage, end - 300) == 300);
        assert_true(pwrite(fd, garbage, (size_t)(15 * (round + 1)), end) > 0);
        close(fd);
        struct weir *db = open_db(*state, "profile = off\nlog_segment_bytes = 8MiB\n");
        struct weir_table *t = open_table(db);
        for (uint64_t id = 0; id < ITEMS; id++)
            assert_int_equal(version_of(t, id), (int64_t)id);
        assert_verified(db);
        weir_close(db);
    }
}

TEST(a_truncated_segment_loses_only_what_was_cut)
{
    enum {
        ITEMS = 50
    };
    char path[4096];
    write_items(*state, ITEMS);
    last_segment(*state, path);
    off_t end = written_end(path);
    assert_int_equal(truncate(path, end - 40), 0);
    struct weir *db = open_db(*state, "profile = off\nlog_segment_bytes = 8MiB\n");
    struct weir_table *t = open_table(db);
    for (uint64_t id = 0; id < ITEMS - 1; id++)
        assert_int_equal(version_of(t, id), (int64_t)id);
    assert_int_equal(version_of(t, ITEMS - 1), -1);
    assert_verified(db);
    weir_close(db);
}

TEST(damage_before_acknowledged_records_is_refused_not_skipped)
{
    char path[4096];
    write_items(*state, 50);
    last_segment(*state, path);
    off_t end = written_end(path);
    int fd = open(path, O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, end / 2), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, end / 2), 1);
    close(fd);
    struct weir *db;
    char *error = NULL;
    assert_int_equal(weir_open(*state, "profile = off\nlog_segment_bytes = 8MiB\n", &db, &error),
                     WEIR_CORRUPT);
    assert_non_null(strstr(error, "damaged"));
    free(error);
}

/* More than a segment of items, so that the last one starts with a batch of its own. */
static void fill_two_segments(const char *directory)
{
    struct weir *db = open_db(directory, "profile = off\nlog_segment_bytes = 8MiB\n");
    struct weir_table *t = open_table(db);
    struct weir_item *item = weir_item_create();
    struct weir_result r;
    static uint8_t filler[300000];
    for (int i = 0; i < 30; i++) {
        weir_item_clear(item);
        weir_item_add(item, "id", WEIR_NUMBER, "7", 1);
        weir_item_add(item, "filler", WEIR_BINARY, filler, sizeof filler);
        assert_int_equal(weir_put(t, item, &r), WEIR_OK);
    }
    weir_item_destroy(item);
    weir_close(db);
}

TEST(damage_at_the_start_of_the_last_segment_is_refused_too)
{
    char path[4096];
    fill_two_segments(*state);
    last_segment(*state, path);
    assert_non_null(strstr(path, "log-0000000000000001"));
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "damage", 6, 20), 6);
    close(fd);
    struct weir *db;
    char *error = NULL;
    assert_int_equal(weir_open(*state, "profile = off\nlog_segment_bytes = 8MiB\n", &db, &error),
                     WEIR_CORRUPT);
    assert_non_null(strstr(error, "damaged"));
    free(error);
}

TEST(a_log_that_was_removed_is_missed)
{
    char path[4096];
    struct weir *db = open_db(*state, settings);
    open_table(db);
    assert_int_equal(weir_checkpoint(db), WEIR_OK);
    weir_close(db);
    for (int segment = 0; segment < 3; segment++) {
        snprintf(path, sizeof path, "%s/log-%016x", (const char *)*state, segment);
        remove(path);
    }
    char *error = NULL;
    assert_int_equal(weir_open(*state, settings, &db, &error), WEIR_CORRUPT);
    assert_non_null(strstr(error, "removed"));
    free(error);
}

/* ---- failing writes and syncs ---- */

/* After the failure: writes refused, reads served; after reopening: all that was acknowledged. */
static void assert_stopped_but_reading(struct weir *db, struct weir_table *t, uint64_t written)
{
    struct weir_item *item = weir_item_create();
    struct weir_result r;
    fill_item(item, 999999, 1);
    assert_int_equal(weir_put(t, item, &r), WEIR_STOPPED);
    assert_non_null(strstr(weir_error(db), "restart"));
    weir_item_destroy(item);
    for (uint64_t id = 0; id < written; id++)
        assert_int_equal(version_of(t, id), (int64_t)id);
    /* It waits for something to come, not for a checkpoint that never will. */
    bool waits = false;
    for (int i = 0; i < 1000000 && !waits; i++) {
        version_of(t, 0);
        waits = instant_before(loop_now(weir_loop(db)), node_deadline(weir_node(db)));
    }
    assert_true(waits);
}

static uint64_t put_until(struct weir_table *t, uint64_t most, enum weir_status *last)
{
    struct weir_item *item = weir_item_create();
    struct weir_result r;
    uint64_t id = 0;
    *last = WEIR_OK;
    for (; id < most && *last == WEIR_OK; id++) {
        fill_item(item, id, id);
        *last = weir_put(t, item, &r);
        if (*last == WEIR_BUSY) { /* back-pressure while a checkpoint runs */
            *last = WEIR_OK;
            id--;
        }
    }
    weir_item_destroy(item);
    return *last == WEIR_OK ? id : id - 1;
}

static void assert_reopens_with(const char *directory, uint64_t written)
{
    struct weir *db = open_db(directory, settings);
    struct weir_table *t = open_table(db);
    for (uint64_t id = 0; id < written; id++)
        assert_int_equal(version_of(t, id), (int64_t)id);
    assert_verified(db);
    weir_close(db);
}

TEST(a_failed_log_write_or_sync_stops_the_node_for_good)
{
    for (int failing = 0; failing < 2; failing++) {
        struct weir *db = open_db(*state, settings);
        struct weir_table *t = open_table(db);
        struct loop_faults *faults = loop_faults(weir_loop(db));
        enum weir_status last;
        faults->write_error = faults->sync_error = failing == 0 ? EIO : ENOSPC;
        *(failing == 0 ? &faults->writes_until_failure : &faults->syncs_until_failure) = 20;
        uint64_t written = put_until(t, 100, &last);
        assert_int_equal(last, WEIR_UNKNOWN);
        assert_int_equal(written, 20);
        assert_stopped_but_reading(db, t, written);
        weir_close(db);
        assert_reopens_with(*state, written);
    }
}

TEST(a_failed_checkpoint_sync_stops_the_node_and_loses_nothing)
{
    for (int n = 0; n < 6; n++) {
        struct weir *db = open_db(*state, settings);
        struct weir_table *t = open_table(db);
        enum weir_status last;
        lmdb_syncs_until_failure = n;
        uint64_t written = put_until(t, 100000, &last);
        lmdb_syncs_until_failure = -1;
        assert_true(last == WEIR_STOPPED || last == WEIR_UNKNOWN);
        assert_stopped_but_reading(db, t, written);
        weir_close(db);
        assert_reopens_with(*state, written);
    }
}

/* ---- no space ---- */

TEST(a_full_map_refuses_writes_and_serves_reads_until_it_may_grow)
{
    char small[512];
    snprintf(small, sizeof small, "%smap_initial_bytes = 1MiB\nmap_max_bytes = 2MiB\n", settings);
    struct weir *db = open_db(*state, small);
    struct weir_table *t = open_table(db);
    enum weir_status last;
    uint64_t written = put_until(t, 100000, &last);
    assert_int_equal(last, WEIR_FULL);
    assert_non_null(strstr(weir_error(db), "map"));
    for (uint64_t id = 0; id < written; id++)
        assert_int_equal(version_of(t, id), (int64_t)id);
    weir_close(db);
    assert_reopens_with(*state, written);
}

/* Puts go on being refused, reads served, until `repair`; then the node finds out by itself. */
static void fill_repair_and_go_on(const char *directory, const char *with, void (*spoil)(void),
                                  void (*repair)(void), const char *word)
{
    struct weir *db = open_db(directory, with);
    struct weir_table *t = open_table(db);
    enum weir_status last;
    filler_max = 20000;
    spoil();
    uint64_t written = put_until(t, 200000, &last);
    assert_int_equal(last, WEIR_FULL);
    assert_non_null(strstr(weir_error(db), word));
    for (uint64_t id = 0; id < written; id++)
        assert_int_equal(version_of(t, id), (int64_t)id);
    repair();
    struct weir_item *item = weir_item_create();
    struct weir_result r;
    fill_item(item, written, written);
    do {
        enum weir_status status = weir_put(t, item, &r);
        assert_true(status == WEIR_OK || status == WEIR_FULL || status == WEIR_BUSY);
    } while (r.status != WEIR_OK);
    weir_item_destroy(item);
    weir_close(db);
    filler_max = 700;
    assert_reopens_with(directory, written + 1);
}

/* As NFS, 9p and some of FUSE. */
TEST(a_file_system_that_cannot_allocate_keeps_the_log_all_the_same)
{
    disk_cannot_allocate = true;
    write_items(*state, 50);
    struct weir *db = open_db(*state, settings);
    assert_int_equal(version_of(open_table(db), 49), 49);
    assert_verified(db);
    weir_close(db);
    disk_cannot_allocate = false;
}

/* The kernel refuses to let LMDB's file grow, as it does when the disk is full. */
static void limit_files(void)
{
    struct rlimit limit = {9 << 20, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void unlimit_files(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_full_disk_under_lmdb_refuses_writes_until_there_is_space)
{
    fill_repair_and_go_on(*state, settings, limit_files, unlimit_files, "map");
}

/* The log cannot grow. A checkpoint would give it segments back, but has no space either. */
static void fill_disk(void)
{
    disk_error = ENOSPC;
    limit_files();
}

static void empty_disk(void)
{
    disk_error = 0;
    unlimit_files();
}

TEST(a_full_disk_under_the_log_refuses_writes_until_there_is_space)
{
    fill_repair_and_go_on(*state,
                          "profile = off\nmemtable_max_bytes = 1GiB\nlog_segment_bytes = 8MiB\n"
                          "checkpoint_ms = 3600000\n",
                          fill_disk, empty_disk, "disk");
}

/* A user's quota (EDQUOT). LMDB still has space, but its disk is slow: the log is full before a
 * checkpoint gives it segments back. The refusal is the log's. */
static void fill_quota(void)
{
    disk_error = EDQUOT;
    lmdb_let_sync(false);
}

static void lift_quota(void)
{
    disk_error = 0;
    lmdb_let_sync(true);
}

TEST(a_quota_that_is_met_under_the_log_refuses_writes_until_there_is_space)
{
    fill_repair_and_go_on(*state,
                          "profile = off\nmemtable_max_bytes = 1GiB\nlog_segment_bytes = 8MiB\n"
                          "checkpoint_ms = 3600000\n",
                          fill_quota, lift_quota, "the log's disk");
}
