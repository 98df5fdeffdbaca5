/* decision.h - what the controller has the catalog do, and tell: the payload of CATALOG_MOVE,
 * CATALOG_RATES, CATALOG_PEAK, CATALOG_DRAIN, CATALOG_LEAD, CATALOG_MERGE, CATALOG_LET_GO,
 * CATALOG_LEFT and CATALOG_EVENT.
 *
 * A decision is made on a view that may be old when it is applied. So it says what it rests on, and
 * is refused where that does not hold any more; applied twice, it is refused the second time. */
#ifndef WEIR_ENGINE_CATALOG_DECISION_H
#define WEIR_ENGINE_CATALOG_DECISION_H

#include "engine/catalog/event.h"
#include "engine/catalog/table.h"

enum {
    DECISION_RATES_MAX = 64 /* partitions whose allocation one decision changes */
};

/* CATALOG_MERGE: what is said of a merge, in this order. BEGIN, GIVE_UP, THAWED and ABSORB name the
 * upper partition, ABSORBED and DONE the lower one. */
enum merge_word {
    MERGE_BEGIN = 1, /* the upper partition is to be frozen */
    MERGE_GIVE_UP,   /* not all its replicas were frozen in time: it is to serve again */
    MERGE_THAWED,    /* it does */
    MERGE_ABSORB_IT, /* all its replicas are frozen: the lower one takes over its keys */
    MERGE_ABSORBED,  /* the lower one's group has done so */
    MERGE_DONE       /* all its replicas have */
};

struct decision_rate {
    uint32_t partition;
    uint64_t epoch;
    int64_t rate_mcu[2]; /* by enum admit_kind */
};

struct decision {
    uint32_t table_id;
    /* MOVE: of partition at epoch, the replica on from_node goes to to_node; from_node 0: to_node
     * gets one more. LET_GO: its group counts no more on the replica on from_node. LEFT: that is
     * erased. LEAD: the one on to_node should lead. */
    uint32_t partition;
    uint64_t epoch;
    uint32_t from_node;
    uint32_t to_node; /* DRAIN: this one */
    bool drain;       /* DRAIN: or no longer */
    uint32_t rate_count;
    struct decision_rate rates[DECISION_RATES_MAX]; /* RATES */
    int64_t peak[2];       /* PEAK: units per second, by enum admit_kind; 0: none */
    enum merge_word merge; /* MERGE, of partition at epoch */
    uint32_t merge_with;   /* BEGIN: the partition below, and its epoch */
    uint64_t merge_with_epoch;
    uint64_t frozen_index; /* ABSORB_IT: the entry that froze the upper one */
    uint64_t frozen_term;
    bool has_event;
    struct event event; /* number: not said; slices lend as whoever fills it in says */
};

void decision_encode(struct buffer *out, const struct decision *d);
/* Borrows from the bytes. */
enum status decision_decode(struct slice bytes, struct decision *out);

#endif
