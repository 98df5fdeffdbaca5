/* decision.h - what the controller tells the catalog to do: the payload of CATALOG_MOVE,
 * CATALOG_RATES, CATALOG_PEAK, CATALOG_DRAIN, CATALOG_LEAD, CATALOG_MERGE, CATALOG_KEY_SHARDS,
 * CATALOG_LET_GO, CATALOG_LEFT and CATALOG_EVENT.
 *
 * A decision may rest on an old view of the cluster. So it names what it rests on, and is refused
 * if that is no longer true. Applied twice, RATES, PEAK and EVENT record their event twice. All
 * others are refused or change nothing the second time. */
#pragma once

#include "engine/catalog/event.h"
#include "engine/catalog/table.h"

enum {
    DECISION_RATES_MAX = 64 /* partitions whose allocation one decision changes */
};

/* CATALOG_MERGE: the steps of a merge. BEGIN, GIVE_UP, THAWED and ABSORB_IT name the upper
 * partition, ABSORBED and DONE the lower one. */
enum merge_command {
    MERGE_BEGIN = 1, /* the upper partition must be frozen */
    MERGE_GIVE_UP,   /* instead of ABSORB_IT: some replicas did not freeze in time, it must thaw */
    MERGE_THAWED,    /* after GIVE_UP: the upper partition serves again */
    MERGE_ABSORB_IT, /* all its replicas are frozen: the lower one takes over its keys */
    MERGE_ABSORBED,  /* the lower partition's group has taken over the keys */
    MERGE_DONE       /* all replicas of the lower partition have taken over the keys */
};

/* CATALOG_KEY_SHARDS: what happens to a sharded key (sharded_keys.c). */
enum key_shards_change {
    KEY_SHARDS_GROW = 1, /* it gets more shards, or is sharded from now on */
    /* all its items are in their owner shards: its former numbers of shards are forgotten */
    KEY_SHARDS_MOVED,
    KEY_SHARDS_SHRINK, /* it gets fewer shards; 1: it shall not be sharded any more */
    KEY_SHARDS_DISCARD /* no token is known any more where it had its shards before */
};

struct decision_key_shards {
    enum key_shards_change change;
    struct slice
        key; /* what the storage keys of its shard 0 begin with: sharded_key_append_prefix */
    uint64_t version; /* of the key, as the sender knows it; 0: it is not sharded */
    uint32_t shards;  /* GROW, SHRINK: the new number */
    bool counter;     /* GROW */
};

struct decision_rate {
    uint32_t partition;
    uint64_t epoch;
    int64_t rate_mcu[2]; /* by enum admit_kind */
};

struct decision {
    uint32_t table_id;
    /* MOVE: the replica on from_node goes to to_node; from_node 0: to_node gets one more. LET_GO:
     * the group does not count on the replica on from_node any more. LEFT: that replica is erased.
     * LEAD: the replica on to_node should lead. All name the partition at this epoch. */
    uint32_t partition;
    uint64_t epoch;
    uint32_t from_node;
    uint32_t to_node; /* DRAIN: the node */
    bool drain;       /* DRAIN: must hold nothing; otherwise it may hold replicas again */
    uint32_t rate_count;
    struct decision_rate rates[DECISION_RATES_MAX]; /* RATES */
    int64_t peak[2];          /* PEAK: units per second, by enum admit_kind; 0: none */
    enum merge_command merge; /* MERGE: of the partition at this epoch */
    uint32_t merge_with;      /* BEGIN: the partition below, and its epoch */
    uint64_t merge_with_epoch;
    uint64_t frozen_index; /* ABSORB_IT: the entry that froze the upper one */
    uint64_t frozen_term;
    struct decision_key_shards key_shards; /* KEY_SHARDS */
    bool has_event;
    struct event event; /* without its number; slices lend as long as the caller says */
};

void decision_encode(struct buffer *out, const struct decision *d);
/* Borrows from the bytes. */
enum status decision_decode(struct slice bytes, struct decision *out);
