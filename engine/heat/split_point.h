/* split_point.h - where to split a partition so that more of its demand is served; or why no split
 * would help.
 *
 * A split is advised if it lets materially more be served. A partition serves its demand of each
 * kind up to its maximum, and each child will do the same. A split is also advised if the hottest
 * child is materially lighter than the partition. A key that fills a partition by itself is split
 * out, alone, if its neighbours gain by it.
 *
 * Shares are of the heat (cost-weighted, decayed) that `heat.h` has seen, in parts per million.
 * Source: DynamoDB, USENIX ATC 2022, section 3.2 (split for consumption, and when not to). The test
 * for benefit and the refusals beyond the popular key are ours.
 * Not here: the middle of a partition's bytes (engine/node/background/size_split.h); which of the
 * two a leader is asked for (control/split.c). */
#pragma once

#include "base/codec.h"
#include "engine/heat/heat.h"

enum {
    SPLIT_POINTS_MAX = 15, /* in one split */
    SPLIT_KINDS = 2,       /* reads, writes: enum admit_kind */
    SPLIT_WHOLE_PPM = 1000000,
};
_Static_assert((int)SPLIT_KINDS == (int)ADMIT_KINDS, "shares are by enum admit_kind");

enum split_verdict {
    SPLIT_ADVISED = 0,
    SPLIT_REFUSED_FEW_SAMPLES = 1, /* too little was seen to decide */
    SPLIT_REFUSED_POPULAR_KEY = 2, /* one key carries the heat */
    SPLIT_REFUSED_SEQUENTIAL = 3,  /* the demand moves on: the heat will be elsewhere */
    SPLIT_REFUSED_COLLECTION = 4,  /* the heat is in one item collection that must stay whole */
    SPLIT_REFUSED_NO_BENEFIT = 5,  /* little more is served, no child much lighter */
    SPLIT_VERDICTS,
};

/* Slices lend as long as the function that fills the advice says. */
struct split_advice {
    enum split_verdict verdict;
    int64_t samples;                       /* observations behind the advice, decayed */
    uint32_t point_count;                  /* ADVISED: 1 .. SPLIT_POINTS_MAX */
    struct slice points[SPLIT_POINTS_MAX]; /* storage keys, ascending; each begins a child */
    /* Each child's share of the reads and of the writes. The shares of a kind add up to
     * SPLIT_WHOLE_PPM, and are equal if the partition has seen none of the kind. */
    uint32_t share_ppm[SPLIT_KINDS][SPLIT_POINTS_MAX + 1];
    /* ADVISED: what is served of each kind, by the partition now and by all children, mcu/s. */
    int64_t served_before_mcu[SPLIT_KINDS];
    int64_t served_after_mcu[SPLIT_KINDS];
    /* POPULAR_KEY: the key. COLLECTION: where the collection begins. ADVISED: the heaviest key that
     * is split out; empty: none is. */
    struct slice key;
    uint32_t key_share_ppm;              /* the key's share of the heat */
    int64_t key_served_mcu[SPLIT_KINDS]; /* ADVISED: what is served of the key after the split */
};

struct split_question {
    struct slice lo; /* the partition's range, as in heat_init */
    struct slice hi;
    int64_t max_mcu[SPLIT_KINDS]; /* partition maxima, mcu per second, > 0 */
    uint32_t children;            /* wanted, up to SPLIT_POINTS_MAX + 1; 0: as many as needed */
    bool whole_collections;       /* split points may only lie between partition keys */
    /* settings split_fill_percent, split_largest_percent, split_gain_percent, split_samples_min */
    int64_t fill_ppm;
    int64_t largest_ppm;
    int64_t gain_ppm;
    int64_t samples_min;
};

/* A question by the settings, for as many children as the rate needs. */
struct split_question split_question_of(const struct config *config, struct slice lo,
                                        struct slice hi);

/* Split points lie strictly inside the range, and are as short as possible. Slices lend until the
 * arena is reset. */
void split_advise(struct heat *h, struct instant now, const struct split_question *q,
                  struct arena *arena, struct split_advice *out);

/* The bytes of `count` ascending points, u32 size and bytes each, then of the pieces' shares of
 * reads and of writes, u32 each. The shares of a kind add up to at least `total_ppm_min`. */
void split_points_walk(struct codec *c, uint32_t count, struct slice points[SPLIT_POINTS_MAX],
                       uint32_t share_ppm[SPLIT_KINDS][SPLIT_POINTS_MAX + 1],
                       uint64_t total_ppm_min);
void split_advice_encode(struct buffer *out, const struct split_advice *a);
/* Borrows from the bytes. STATUS_MALFORMED: also points out of order, and shares that do not add up
 * to the whole. */
enum status split_advice_decode(struct slice bytes, struct split_advice *out);
