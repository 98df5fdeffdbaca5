/* split_point.h - where to cut a partition so that its throughput, not its key range, divides
 * equally; or why no cut would help.
 *
 * Shares are of the heat (cost-weighted, decayed) that `heat.h` has seen, in parts per million.
 * Source: DynamoDB, USENIX ATC 2022, section 3.2 (split for consumption, and when not to). The test
 * for benefit and the refusals beyond the popular key are ours. */
#ifndef WEIR_ENGINE_HEAT_SPLIT_POINT_H
#define WEIR_ENGINE_HEAT_SPLIT_POINT_H

#include "base/buffer.h"

enum {
    SPLIT_CUTS_MAX = 15, /* at once */
    SPLIT_KINDS = 2,     /* reads, writes: enum admit_kind */
    SPLIT_WHOLE_PPM = 1000000
};

enum split_verdict {
    SPLIT_ADVISED = 0,
    SPLIT_REFUSED_FEW_SAMPLES = 1, /* not enough seen to tell */
    SPLIT_REFUSED_POPULAR_KEY = 2, /* one key carries the heat */
    SPLIT_REFUSED_SEQUENTIAL = 3,  /* access only moves forward: the heat will be elsewhere */
    SPLIT_REFUSED_COLLECTION = 4,  /* the heat lies in one item collection that must stay whole */
    SPLIT_REFUSED_NO_BENEFIT = 5,  /* the hottest child would hardly be lighter */
    SPLIT_VERDICTS,
};

const char *split_verdict_name(enum split_verdict v); /* "advised", "popular-key", ... static */

/* Slices lend as the function that fills it says. */
struct split_advice {
    enum split_verdict verdict;
    int64_t samples;                   /* observations it rests on, decayed */
    uint32_t cut_count;                /* ADVISED: 1 .. SPLIT_CUTS_MAX */
    struct slice cuts[SPLIT_CUTS_MAX]; /* storage keys, ascending: each begins a child */
    uint32_t share_ppm[SPLIT_KINDS][SPLIT_CUTS_MAX + 1]; /* of each child, of reads and of writes */
    struct slice key;       /* POPULAR_KEY: it; COLLECTION: where the collection begins */
    uint32_t key_share_ppm; /* its share of the heat */
};

void split_advice_encode(struct buffer *out, const struct split_advice *a);
/* Borrows from the bytes. STATUS_MALFORMED: cuts out of order or shares that are not whole, too. */
enum status split_advice_decode(struct slice bytes, struct split_advice *out);

#endif
