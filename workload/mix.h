/* mix.h - what the next request does, and how large its item is.
 *
 * Source of the letters: YCSB core workloads (Cooper et al., SoCC 2010, and its
 * workloads/workload*). Not here: keys (load_keys.h), times (rate_curve.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"
#include "workload/load_keys.h"

enum traffic_kind {
    TRAFFIC_READ,
    TRAFFIC_UPDATE, /* writes an existing key */
    TRAFFIC_INSERT, /* writes a new key */
    TRAFFIC_SCAN,   /* reads scan_length items from a key on */
    TRAFFIC_READ_MODIFY_WRITE,
    TRAFFIC_DELETE,
    TRAFFIC_KINDS
};

extern const char *const traffic_kind_names[TRAFFIC_KINDS]; /* "read", "update" and so on */

static inline bool traffic_kind_writes(enum traffic_kind kind)
{
    return kind != TRAFFIC_READ && kind != TRAFFIC_SCAN;
}

struct traffic_mix {
    double fraction[TRAFFIC_KINDS]; /* sum: 1 */
    double eventual;                /* of reads and scans; the others are strongly consistent */
    int32_t scan_length_max;        /* lengths are uniform from 1 on */
};

/* "ycsb:LETTER" (A to F), or fractions of kinds that add up to 1, "read:0.95:update:0.05", with
 * ":eventual:FRACTION" (default 0) and ":scan-length:MOST" (default 100) behind them. Returns
 * NULL, or the fault as a static text. */
const char *traffic_mix_parse(void *mix, const char *text); /* struct traffic_mix */

/* Draws take the same count of random numbers for every mix, so that two mixes see the same
 * stream. */
enum traffic_kind traffic_mix_kind(const struct traffic_mix *m, struct prng *random);

enum item_sizes_kind {
    ITEM_SIZES_UNIFORM, /* fixed: least == most */
    ITEM_SIZES_TWITTER, /* log-normal; see mix.c */
};

struct item_sizes {
    enum item_sizes_kind kind;
    int64_t min, max; /* bytes: names and values together, as DynamoDB counts */
    double median;    /* TWITTER */
};

/* "900", "uniform:MIN:MAX", "twitter[:MEDIAN]" (default 230). Returns NULL, or the fault as a
 * static text. */
const char *item_sizes_parse(void *sizes, const char *text); /* struct item_sizes */
int32_t item_sizes_next(const struct item_sizes *s, struct prng *random);

/* The mix, the keys' distribution (not their count) and the item size (1000 bytes) of a YCSB core
 * workload. False: there is no such letter. */
bool ycsb_workload(char letter, struct traffic_mix *m, struct load_keys *k, struct item_sizes *s);
