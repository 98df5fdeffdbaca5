/* split_point.h - where to cut a partition so that its throughput, not its key range, divides
 * equally; or why no cut would help.
 *
 * Shares are of the heat (cost-weighted, decayed) that `heat.h` has seen, in parts per million.
 * Source: DynamoDB, USENIX ATC 2022, section 3.2 (split for consumption, and when not to). The test
 * for benefit and the refusals beyond the popular key are ours. */
#ifndef WEIR_ENGINE_HEAT_SPLIT_POINT_H
#define WEIR_ENGINE_HEAT_SPLIT_POINT_H

#include "engine/heat/heat.h"

enum {
    SPLIT_CUTS_MAX = 15, /* at once */
    SPLIT_KINDS = 2,     /* reads, writes: enum admit_kind */
    SPLIT_WHOLE_PPM = 1000000,
    SPLIT_SAMPLES_MIN = 256,
    SPLIT_LARGEST_PPM = 800000, /* a split helps if the hottest child has at most this much of what
                                   the parent has of its scarcest kind */
    SPLIT_FILL_PPM = 800000,    /* children are wanted until each has at most this much of a
                                   partition maximum */
    SPLIT_ALONE_PPM = 950000,   /* a key that asks for this much of a partition maximum is popular:
                                   its child would be over, wherever the cut */
};
_Static_assert((int)SPLIT_KINDS == (int)ADMIT_KINDS, "shares are by enum admit_kind");

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

/* Where access only moves forward. */
enum split_sequential {
    SPLIT_SEQUENTIAL_REFUSED,
    /* One cut just above the newest key. That does not make the inserts faster, all of them go to
     * the upper child; it frees the lower one of them, and them of its size. */
    SPLIT_SEQUENTIAL_AHEAD,
    SPLIT_SEQUENTIAL_IGNORED, /* it is cut as if access stayed: to show what that leads to */
};

/* Slices lend as the function that fills it says. */
struct split_advice {
    enum split_verdict verdict;
    int64_t samples;                   /* observations it rests on, decayed */
    uint32_t cut_count;                /* ADVISED: 1 .. SPLIT_CUTS_MAX */
    struct slice cuts[SPLIT_CUTS_MAX]; /* storage keys, ascending: each begins a child */
    /* Of each child, of reads and of writes; each adds up to SPLIT_WHOLE_PPM. Equal where the
     * parent has seen none of a kind. */
    uint32_t share_ppm[SPLIT_KINDS][SPLIT_CUTS_MAX + 1];
    struct slice key;       /* POPULAR_KEY: it; COLLECTION: where the collection begins */
    uint32_t key_share_ppm; /* its share of the heat */
};

struct split_question {
    struct slice lo; /* the partition's range, as in heat_init */
    struct slice hi;
    int64_t max_mcu[SPLIT_KINDS]; /* partition maxima, mcu per second, > 0 */
    uint32_t children;            /* wanted, up to SPLIT_CUTS_MAX + 1; 0: what the rate needs */
    bool whole_collections;       /* cuts may only fall between partition keys */
    enum split_sequential sequential;
};

/* Cuts lie strictly inside the range, as short as can be. Slices lend until the arena is reset. */
void split_advise(struct heat *h, struct instant now, const struct split_question *q,
                  struct arena *arena, struct split_advice *out);

void split_advice_encode(struct buffer *out, const struct split_advice *a);
/* Borrows from the bytes. STATUS_MALFORMED: cuts out of order or shares that are not whole, too. */
enum status split_advice_decode(struct slice bytes, struct split_advice *out);

#endif
