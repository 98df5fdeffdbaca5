/* embedded.c - `weir-bench embedded`: the library against raw LMDB, side by side in one run.
 *
 * get: the same items under the same storage keys, in random order; both sides alternate in rounds,
 * so that what else the machine does hits both. The library admits, checks and finds; LMDB only
 * finds. put: durable, 64 in flight, against LMDB committing every 64 puts. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/instant.h"
#include "base/must.h"
#include "base/prng.h"
#include "bench/bench.h"
#include "bench/raw_lmdb.h"
#include "cmd/usage.h"
#include "engine/item/storage_key.h"
#include "include/weir.h"
#include "router/json/json_writer.h"

enum {
    ROUNDS = 10,
    IN_FLIGHT = 64,
    ID_SIZE = 22,
    KEY_SIZE = 4 + 8 + ID_SIZE - 1 + 2,
    ITEM_BYTES_MAX = 400 * 1024 - 100 /* the other attribute, and names */
};

struct figures {
    double get_ns[3]; /* weir, LMDB, LMDB and the value read; per operation, median of the rounds */
    double put_ns[2];
};

struct bench {
    int64_t items;
    int64_t item_bytes;
    int64_t puts;
    const char *directory;
    bool json;
    struct weir *db;
    struct weir_table *table;
    struct raw_lmdb *peer;
    struct weir_item **made;   /* the items, by number */
    struct buffer *encoded;    /* the same as the bytes weir stores, for the peer */
    char (*ids)[ID_SIZE];      /* their keys, as an application has them at hand */
    uint8_t (*keys)[KEY_SIZE]; /* the same as storage keys, ready for the peer */
};

static void bench_embedded_encode(struct buffer *out, const char *id, struct slice payload)
{
    struct item_writer w;
    item_begin(&w, out);
    item_name(&w, slice_of("id"));
    item_string(&w, slice_of(id));
    item_name(&w, slice_of("payload"));
    item_binary(&w, payload);
    item_end(&w);
}

static void make_items(struct bench *b)
{
    struct prng prng = prng_seeded(1);
    uint8_t *filler = must_have(malloc((size_t)b->item_bytes));
    b->made = calloc((size_t)b->items, sizeof(struct weir_item *));
    b->keys = calloc((size_t)b->items, sizeof b->keys[0]);
    b->ids = calloc((size_t)b->items, sizeof b->ids[0]);
    b->encoded = calloc((size_t)b->items, sizeof b->encoded[0]);
    must(b->made != NULL && b->keys != NULL && b->ids != NULL && b->encoded != NULL);
    struct buffer key = {0};
    for (int64_t i = 0; i < b->items; i++) {
        char *id = b->ids[i];
        snprintf(id, ID_SIZE, "user-%016llx", (unsigned long long)prng_next(&prng));
        for (int64_t j = 0; j < b->item_bytes; j++)
            filler[j] = (uint8_t)prng_next(&prng);
        b->made[i] = weir_item_create();
        weir_item_add(b->made[i], "id", WEIR_STRING, id, ID_SIZE - 1);
        weir_item_add(b->made[i], "payload", WEIR_BINARY, filler, (size_t)b->item_bytes);
        struct attr partition = {ATTR_STRING, slice_make(id, ID_SIZE - 1)};
        bench_embedded_encode(&b->encoded[i], id, slice_make(filler, (size_t)b->item_bytes));
        buffer_clear(&key);
        storage_key_append(&key, 1, &partition, NULL);
        must(key.size == KEY_SIZE);
        memcpy(b->keys[i], key.data, KEY_SIZE);
    }
    buffer_deinit(&key);
    free(filler);
}

/* One round of durable puts on each side; ns per put. */
static double put_weir(struct bench *b, struct prng *prng)
{
    int64_t start = bench_clock_ns();
    struct weir_result r;
    for (int64_t i = 0; i < b->puts; i++) {
        int64_t at = (int64_t)prng_below(prng, (uint64_t)b->items);
        must(weir_put_start(b->table, b->made[at], 0) == WEIR_OK);
        if (i >= IN_FLIGHT) {
            must(weir_complete(b->db, &r) == WEIR_OK);
            must(r.status == WEIR_OK);
        }
    }
    while (weir_complete(b->db, &r) == WEIR_OK)
        must(r.status == WEIR_OK);
    return (double)(bench_clock_ns() - start) / (double)b->puts;
}

static double put_peer(struct bench *b, struct prng *prng)
{
    int64_t start = bench_clock_ns();
    struct slice keys[IN_FLIGHT], values[IN_FLIGHT];
    for (int64_t i = 0; i < b->puts; i += IN_FLIGHT) {
        for (size_t j = 0; j < IN_FLIGHT; j++) {
            int64_t at = (int64_t)prng_below(prng, (uint64_t)b->items);
            keys[j] = slice_make(b->keys[at], KEY_SIZE);
            values[j] = buffer_slice(&b->encoded[at]);
        }
        must(raw_lmdb_put(b->peer, keys, values, IN_FLIGHT));
    }
    return (double)(bench_clock_ns() - start) / (double)b->puts;
}

static double get_weir(struct bench *b, struct prng *prng, int64_t gets)
{
    struct weir_item *key = weir_item_create();
    int64_t start = bench_clock_ns();
    for (int64_t i = 0; i < gets; i++) {
        struct weir_result r;
        int64_t at = (int64_t)prng_below(prng, (uint64_t)b->items);
        weir_item_clear(key);
        weir_item_add(key, "id", WEIR_STRING, b->ids[at], ID_SIZE - 1);
        must(weir_get(b->table, key, true, &r) == WEIR_OK);
    }
    double ns = (double)(bench_clock_ns() - start) / (double)gets;
    weir_item_destroy(key);
    return ns;
}

/* What any use of the value costs at least: its cache lines. */
static uint64_t read_value(struct slice value)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < value.size; at += 64)
        sum += value.data[at];
    return sum;
}

static double get_peer(struct bench *b, struct prng *prng, int64_t gets, bool read)
{
    uint64_t sum = 0;
    int64_t start = bench_clock_ns();
    for (int64_t i = 0; i < gets; i++) {
        struct slice value;
        int64_t at = (int64_t)prng_below(prng, (uint64_t)b->items);
        must(raw_lmdb_get(b->peer, slice_make(b->keys[at], KEY_SIZE), &value));
        if (read)
            sum += read_value(value);
    }
    double ns = (double)(bench_clock_ns() - start) / (double)gets;
    must(!read || sum > 0);
    return ns;
}

static void load_peer(struct bench *b)
{
    enum {
        BATCH = 1024
    };
    struct slice keys[BATCH], values[BATCH];
    for (int64_t at = 0; at < b->items;) {
        size_t n = 0;
        for (; n < BATCH && at < b->items; n++, at++) {
            keys[n] = slice_make(b->keys[at], KEY_SIZE);
            values[n] = buffer_slice(&b->encoded[at]);
        }
        must(raw_lmdb_put(b->peer, keys, values, n));
    }
}

static void load_weir(struct bench *b)
{
    struct weir_result r;
    for (int64_t i = 0; i < b->items; i++) {
        must(weir_put_start(b->table, b->made[i], 0) == WEIR_OK);
        if (i >= IN_FLIGHT * 16)
            must(weir_complete(b->db, &r) == WEIR_OK);
    }
    while (weir_complete(b->db, &r) == WEIR_OK)
        must(r.status == WEIR_OK);
}

static const char *const settings = "partition_max_wcu = 1000000\npartition_max_rcu = 1000000\n"
                                    "table_max_wcu = 100000000\ntable_max_rcu = 100000000\n"
                                    "node_wcu = 100000000\nnode_rcu = 100000000\n";

/* Sixteen partitions with allocations nobody can use up: admission decides, and always admits. */
static bool open_both(struct bench *b)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/weir", b->directory);
    struct weir_table_options options = {.partition_key = "id",
                                         .partition_key_type = WEIR_STRING,
                                         .read_units = 16000000,
                                         .write_units = 16000000};
    char *error = NULL;
    if (weir_open(path, settings, &b->db, &error) != WEIR_OK) {
        fprintf(stderr, "weir-bench embedded: %s\n", error);
        free(error);
        return false;
    }
    must(weir_table_create(b->db, "bench", &options) == WEIR_OK);
    must(weir_table_open(b->db, "bench", &b->table) == WEIR_OK);
    snprintf(path, sizeof path, "%s/lmdb", b->directory);
    mkdir(path, 0755);
    b->peer = raw_lmdb_open(path);
    return b->peer != NULL;
}

static void bench_embedded_measure(struct bench *b, struct figures *f)
{
    struct prng prng = prng_seeded(2);
    double gets[3][ROUNDS], puts[2][ROUNDS];
    must(weir_checkpoint(b->db) == WEIR_OK);
    must(raw_lmdb_begin(b->peer));
    for (int i = 0; i < ROUNDS; i++) {
        int64_t count = 200000;
        gets[0][i] = get_weir(b, &prng, count);
        gets[1][i] = get_peer(b, &prng, count, false);
        gets[2][i] = get_peer(b, &prng, count, true);
    }
    for (int i = 0; i < ROUNDS; i++) {
        puts[0][i] = put_weir(b, &prng);
        puts[1][i] = put_peer(b, &prng);
    }
    for (int side = 0; side < 3; side++)
        f->get_ns[side] = bench_median(gets[side], ROUNDS);
    for (int side = 0; side < 2; side++)
        f->put_ns[side] = bench_median(puts[side], ROUNDS);
}

static void report_json(const struct bench *b, const struct figures *f, double get_ratio,
                        double put_ratio)
{
    struct buffer out = {0};
    json_write_open(&out, '{');
    json_member_text(&out, "bench", "embedded");
    json_member_integer(&out, "items", b->items);
    json_member_integer(&out, "item_bytes", b->item_bytes);
    json_member_integer(&out, "rounds", ROUNDS);
    json_member_open(&out, "get", '{');
    json_member_real(&out, "weir_ns", f->get_ns[0]);
    json_member_real(&out, "lmdb_ns", f->get_ns[1]);
    json_member_real(&out, "lmdb_and_read_ns", f->get_ns[2]);
    json_member_real(&out, "ratio", get_ratio);
    json_member_real(&out, "ratio_and_read", f->get_ns[2] / f->get_ns[0]);
    json_member_real(&out, "budget", 0.8);
    json_write_close(&out, '}');
    json_member_open(&out, "durable_put", '{');
    json_member_integer(&out, "in_flight", IN_FLIGHT);
    json_member_real(&out, "weir_ns", f->put_ns[0]);
    json_member_real(&out, "lmdb_ns", f->put_ns[1]);
    json_member_real(&out, "ratio", put_ratio);
    json_member_real(&out, "budget", 5);
    json_write_closes(&out, "}}");
    bench_print(&out);
}

static void bench_embedded_report(const struct bench *b, const struct figures *f)
{
    double get_ratio = f->get_ns[1] / f->get_ns[0], put_ratio = f->put_ns[1] / f->put_ns[0];
    if (b->json) {
        report_json(b, f, get_ratio, put_ratio);
        return;
    }
    printf("%lld items of %lld bytes, median of %d alternating rounds\n", (long long)b->items,
           (long long)b->item_bytes, ROUNDS);
    printf("  get          weir %8.0f ns   raw mdb_get            %8.0f ns   ratio %.2f "
           "(budget 0.8)\n",
           f->get_ns[0], f->get_ns[1], get_ratio);
    printf("               and the value read by both %8.0f ns   ratio %.2f\n", f->get_ns[2],
           f->get_ns[2] / f->get_ns[0]);
    printf("  durable put  weir %8.0f ns   raw LMDB, 64 a commit  %8.0f ns   ratio %.2f "
           "(budget 5)\n",
           f->put_ns[0], f->put_ns[1], put_ratio);
}

static const struct field embedded_options[] = {
    {"data", FIELD_TEXT, FIELD_MEMBER(struct bench, directory), "DIR",
     .help = "An empty directory for both. It is not deleted."},
    {"items", FIELD_INTEGER, FIELD_MEMBER(struct bench, items), "N", .min = 1, .max = 100000000,
     .help = "The number of items."},
    {"item-bytes", FIELD_INTEGER, FIELD_MEMBER(struct bench, item_bytes), "N", .min = 1,
     .max = ITEM_BYTES_MAX, .help = "The size of the attribute that is not a key, in bytes."},
    {"puts", FIELD_INTEGER, FIELD_MEMBER(struct bench, puts), "N", .min = 1, .max = 1000000000,
     .help = "The number of puts in a round."},
    {"json", FIELD_FLAG, FIELD_MEMBER(struct bench, json), .help = "Print one JSON object."},
};

int bench_embedded(int argc, char **argv)
{
    struct bench b = {.items = 200000, .item_bytes = 200, .puts = 20032};
    const struct command_line line = {
        .command = "weir-bench embedded",
        .usage = "--data DIR [option]...",
        .about = "The embedded library against raw LMDB on the same data, in one run: random gets, "
                 "and durable puts with 64 in flight.\n",
        .examples = "  weir-bench embedded --data bench-data --json\n",
        .groups = {OPTION_GROUP(NULL, embedded_options, &b)}};
    int code = usage_parse(&line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    if (b.directory == NULL)
        return usage_wrong(line.command, "`--data` is missing");
    mkdir(b.directory, 0755);
    make_items(&b);
    if (!open_both(&b))
        return 1;
    load_weir(&b);
    load_peer(&b);
    struct figures f;
    bench_embedded_measure(&b, &f);
    bench_embedded_report(&b, &f);
    weir_close(b.db);
    raw_lmdb_close(b.peer);
    for (int64_t i = 0; i < b.items; i++) {
        weir_item_destroy(b.made[i]);
        buffer_deinit(&b.encoded[i]);
    }
    free(b.made);
    free(b.encoded);
    free(b.ids);
    free(b.keys);
    return 0;
}
