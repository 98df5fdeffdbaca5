/* load_keys.h - chooses the key of the next request. */
#pragma once

#include "base/prng.h"
#include "base/slice.h"

enum {
    LOAD_KEY_SIZE_MAX = 256
};

enum load_keys_kind {
    LOAD_KEYS_UNIFORM,
    LOAD_KEYS_ZIPF,       /* key number n with a probability of (n + 1)^-theta, normalised */
    LOAD_KEYS_HOTSPOT,    /* a fraction of the requests is spread evenly over the first keys */
    LOAD_KEYS_SEQUENTIAL, /* 0, 1, 2 and so on, then again from 0 */
    LOAD_KEYS_SINGLE,
    LOAD_KEYS_COLLECTION, /* spread evenly over the sort keys of one partition key */
    LOAD_KEYS_APPEND,     /* one sort key after the other, under one partition key */
};

struct load_keys {
    enum load_keys_kind kind;
    uint64_t count; /* keys are numbered from 0 */
    double theta;
    double hot_fraction;
    uint64_t hot_count;
    char single[LOAD_KEY_SIZE_MAX]; /* SINGLE, COLLECTION, APPEND: the partition key */
    uint64_t next;                  /* the next key of a sequence */
    /* of zipf: see load_keys.c */
    double zipf_low, zipf_high, zipf_shortcut;
};

/* "uniform", "zipf:THETA", "hotspot:FRACTION:KEYS", "sequential", "single:KEY", "collection:KEY",
 * "append:KEY". Returns NULL, or the fault as a static text. */
const char *load_keys_parse(struct load_keys *k, const char *text);

/* Whether keys are sort keys under one partition key. */
static inline bool load_keys_share_one(const struct load_keys *k)
{
    return k->kind == LOAD_KEYS_COLLECTION || k->kind == LOAD_KEYS_APPEND;
}

/* Call once kind and count are final. Returns NULL, or the fault as a static text. */
const char *load_keys_start(struct load_keys *k);

uint64_t load_keys_next(struct load_keys *k, struct prng *random);

/* The text of a key: `key-` and ten digits, or the single key. Returns its size. */
size_t load_keys_text(const struct load_keys *k, uint64_t number, char out[LOAD_KEY_SIZE_MAX]);
