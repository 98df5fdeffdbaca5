/* load_keys.h - chooses the key of the next request.
 *
 * Keys are numbered from 0. What a number means in a table is the caller's: load_keys_text makes a
 * text of it; a simulator may take number / count as the place in a table's range.
 * Not here: a clock. Time is an argument, counted from the beginning of the workload.
 * Sources: YCSB (Cooper et al., SoCC 2010) for latest and scrambled-zipf. Simplified: latest ranks
 * the last `count` keys, older ones get none; scrambled-zipf permutes the ranks instead of hashing
 * them, so that no two ranks share a key; all but latest choose among the first `count` keys, also
 * after inserts. */
#pragma once

#include "base/prng.h"
#include "base/slice.h"
#include "workload/zipf.h"

enum {
    LOAD_KEY_SIZE_MAX = 256
};

enum load_keys_kind {
    LOAD_KEYS_UNIFORM,
    LOAD_KEYS_ZIPF,           /* key number n with a probability of (n + 1)^-theta, normalised */
    LOAD_KEYS_SCRAMBLED_ZIPF, /* the same frequencies, scattered over all keys */
    LOAD_KEYS_LATEST,         /* the newest key is the most popular one, by Zipf */
    LOAD_KEYS_HOTSPOT,        /* a fraction of the requests is spread evenly over the first keys */
    LOAD_KEYS_SHIFTING,   /* a fraction goes to one range of keys, which moves; the rest to all */
    LOAD_KEYS_SEQUENTIAL, /* 0, 1, 2 and so on, then again from 0 */
    LOAD_KEYS_SINGLE,
    LOAD_KEYS_COLLECTION, /* spread evenly over the sort keys of one partition key */
    LOAD_KEYS_APPEND,     /* one sort key after the other, under one partition key */
};

struct load_keys {
    enum load_keys_kind kind;
    uint64_t count; /* keys that exist at the beginning */
    double theta;
    double hot_fraction;
    uint64_t hot_count;             /* HOTSPOT */
    int64_t shift_every_ns;         /* SHIFTING */
    uint64_t shift_ranges;          /* SHIFTING: the keys are cut into so many ranges */
    char single[LOAD_KEY_SIZE_MAX]; /* SINGLE, COLLECTION, APPEND: the partition key */
    /* set by load_keys_start */
    uint64_t next;     /* the next key of a sequence */
    uint64_t inserted; /* by load_keys_insert */
    uint64_t stride;   /* SHIFTING: from a range to the next one */
    int bits;          /* SCRAMBLED_ZIPF: the permutation's */
    struct zipf zipf;  /* owns: ZIPF, SCRAMBLED_ZIPF, LATEST */
};

/* "uniform", "zipf:THETA", "scrambled-zipf:THETA", "latest:THETA", "hotspot:FRACTION:KEYS",
 * "shifting:FRACTION:EVERY_S[:RANGES]" (64 ranges by default), "sequential", "single:KEY",
 * "collection:KEY", "append:KEY". Returns NULL, or the fault as a static text. */
const char *load_keys_parse(void *keys, const char *text); /* struct load_keys */

/* Whether keys are sort keys under one partition key. */
static inline bool load_keys_share_one(const struct load_keys *k)
{
    return k->kind == LOAD_KEYS_COLLECTION || k->kind == LOAD_KEYS_APPEND;
}

/* Call once kind and count are final. Returns NULL, or the fault as a static text. */
const char *load_keys_check(const struct load_keys *k);

/* Makes the tables; load_keys_check has found no fault. Until then a load_keys is a plain value
 * that may be copied. load_keys_stop frees the tables; it may be called without a start. */
void load_keys_start(struct load_keys *k);
void load_keys_stop(struct load_keys *k);

/* `now_ns` counts from the beginning of the workload; only SHIFTING looks at it. */
uint64_t load_keys_next(struct load_keys *k, struct prng *random, int64_t now_ns);
/* A new key: the number after the last one. */
uint64_t load_keys_insert(struct load_keys *k);
/* SHIFTING: the keys [*first, *end) that are hot at that time. */
void load_keys_hot_range(const struct load_keys *k, int64_t now_ns, uint64_t *first, uint64_t *end);

/* The text of a key: `key-` and ten digits, or the single key. Returns its size. */
size_t load_keys_text(const struct load_keys *k, uint64_t number, char out[LOAD_KEY_SIZE_MAX]);
