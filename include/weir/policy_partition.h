/* weir/policy_partition.h - decisions of a node: the policies of partitions, and of what they leave
 * of a node. Part of weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request at a partition: its kind, the time, the buckets. All buckets are refilled up to now. */
struct weir_case;

enum weir_bucket {
    WEIR_BUCKET_CAP,        /* the partition maximum */
    WEIR_BUCKET_ALLOCATION, /* the partition's part of the table's throughput */
    WEIR_BUCKET_BURST,      /* allocation that was not used (WEIR_PARTITION_SAVES) */
    WEIR_BUCKET_NODE,       /* the node's capacity */
    /* What the node reserves for the table: the sum of the table's allocations there. Has nothing
     * if routers do not keep the table's limit (WEIR_PARTITION_SHARES). */
    WEIR_BUCKET_RESERVED,
    WEIR_BUCKETS
};

enum weir_policy_reason {
    WEIR_POLICY_ADMIT = 0,
    WEIR_POLICY_KEY_RANGE = 1,  /* refused: the partition maximum */
    WEIR_POLICY_ALLOCATION = 2, /* refused: what the partition may use */
    WEIR_POLICY_NODE = 3,       /* refused: the node has no room for a burst */
    WEIR_POLICY_MEMBER = 4      /* refused: another member of the group has no room */
};

enum weir_verdict_flag {
    WEIR_VERDICT_BURST = 1,   /* admitted beyond the allocation */
    WEIR_VERDICT_RESERVED = 2 /* a burst within what the node reserves for the table */
};

/* Zero when `decide` is called. */
struct weir_verdict {
    uint32_t reason; /* enum weir_policy_reason */
    uint32_t flags;  /* bits of enum weir_verdict_flag */
    uint32_t member; /* the node that has no room, for WEIR_POLICY_MEMBER */
    uint32_t unused; /* 0 */
    /* Of a refusal: until the request would pass if no other came. Clients get this time. 0 or
     * WEIR_POLICY_NEVER: not known; never below 0. */
    int64_t wait_ns;
};

WEIR_POLICY_API uint32_t weir_case_kind(const struct weir_case *c); /* enum weir_policy_kind */
WEIR_POLICY_API int64_t weir_case_now_ns(const struct weir_case *c);
/* The bucket's tokens (below zero: debt), size, and refill in a second. */
WEIR_POLICY_API int64_t weir_case_balance(const struct weir_case *c, enum weir_bucket b);
WEIR_POLICY_API int64_t weir_case_capacity(const struct weir_case *c, enum weir_bucket b);
WEIR_POLICY_API int64_t weir_case_rate(const struct weir_case *c, enum weir_bucket b);
/* Whether balance >= min(cost, capacity). */
WEIR_POLICY_API bool weir_case_has(const struct weir_case *c, enum weir_bucket b, int64_t cost_mcu);
/* The time until the bucket has the cost if nobody takes from it. */
WEIR_POLICY_API int64_t weir_case_wait_ns(const struct weir_case *c, enum weir_bucket b,
                                          int64_t cost_mcu);
/* Takes the cost, if necessary into debt, at most to the bucket's debt limit. */
WEIR_POLICY_API void weir_case_debit(struct weir_case *c, enum weir_bucket b, int64_t cost_mcu);

/* For partition policies: the state of the partition for reads or for writes. */
WEIR_POLICY_API void *weir_case_state(const struct weir_case *c);

/* What the node policy says. Call weir_case_burst_enter first, unless the burst is `reserved`:
 * within what the node reserves for the table. */
WEIR_POLICY_API void weir_case_burst_enter(struct weir_case *c);
WEIR_POLICY_API bool weir_case_burst_has(struct weir_case *c, int64_t cost_mcu, bool reserved);
WEIR_POLICY_API int64_t weir_case_burst_wait_ns(struct weir_case *c, int64_t cost_mcu);
/* Debits the node, and WEIR_BUCKET_RESERVED unless the work is a burst beyond it; then the node
 * policy is notified. */
WEIR_POLICY_API void weir_case_node_debit(struct weir_case *c, int64_t cost_mcu, bool burst,
                                          bool reserved);

/* Whether every other member of the group that will do the write has room for it. If not, sets
 * `member` and `wait_ns` of the verdict: the member that is short for longest. */
WEIR_POLICY_API bool weir_case_members_have(struct weir_case *c, int64_t cost_mcu,
                                            struct weir_verdict *verdict);
WEIR_POLICY_API void weir_case_members_spend(struct weir_case *c, int64_t cost_mcu);

enum weir_partition_flag {
    WEIR_PARTITION_SAVES = 1,  /* unused allocation goes into the burst bucket */
    WEIR_PARTITION_SHARES = 2, /* a partition may use what its table's other partitions leave */
    WEIR_PARTITION_UNLIMITED =
        4, /* never refuses: nothing is gained by splits, nothing replaces it */
    WEIR_PARTITION_SAVED_ONLY = 8 /* bursts only what was saved: where routers keep the limit of the
                                   * table, always-burst takes its place */
};

/* Chosen by the setting partition_policy. */
struct weir_partition_policy {
    uint32_t size; /* of this struct where the policy was compiled */
    uint32_t state_bytes;
    const char *name;
    uint64_t flags; /* bits of enum weir_partition_flag */
    /* Says whether a request of `cost_mcu` >= 0 may run. Debits the cost if it may. Required. */
    void (*decide)(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict);
    /* Debits `extra_mcu` >= 0 from the buckets that an admitted verdict was charged to: the work
     * cost more, or another replica admitted it. Required. */
    void (*settle)(struct weir_case *c, const struct weir_verdict *verdict, int64_t extra_mcu);
    /* The state of a new partition. NULL: zero. */
    void (*begin)(void *state);
    /* The partition was split: `pieces[0]` holds its state, the others are as `begin` left them.
     * `share_ppm` adds up to one million. NULL: stays as it is. */
    void (*divide)(void *const pieces[], const uint32_t share_ppm[], uint32_t count);
    /* Two partitions have become one. NULL: `into` stays as it is. */
    void (*absorb)(void *into, const void *from);
};

/* For node policies: the partition's state, the node's, and the time in which the node's empty
 * bucket fills. States are kept for reads and writes apart. */
WEIR_POLICY_API void *weir_case_share_state(const struct weir_case *c);
WEIR_POLICY_API void *weir_case_node_state(const struct weir_case *c);
WEIR_POLICY_API int64_t weir_case_depth_ns(const struct weir_case *c);
/* The weight of the partition's table (tag weir:weight), from 1 to 100. Partitions that want more
 * than there is should get bursts in proportion to it. */
WEIR_POLICY_API int64_t weir_case_weight(const struct weir_case *c);

/* Shares what the allocations leave of a node. Chosen by the setting node_policy. */
struct weir_node_policy {
    uint32_t size;
    uint32_t node_bytes;
    uint32_t partition_bytes;
    uint32_t unused;
    const char *name;
    uint64_t flags; /* 0 */
    /* The partition requests a burst beyond WEIR_BUCKET_RESERVED. May be NULL. */
    void (*enter)(struct weir_case *c);
    /* Whether the burst may run now. Required. */
    bool (*has)(struct weir_case *c, int64_t cost_mcu);
    /* The time until `has` would say yes; an upper bound will do. Required. */
    int64_t (*wait_ns)(struct weir_case *c, int64_t cost_mcu);
    /* The burst was admitted, here or by a leader elsewhere, and the node's bucket was debited. May
     * be NULL. */
    void (*took)(struct weir_case *c, int64_t cost_mcu);
    /* The mcu that must remain for others at another member's node that is shared. NULL: 0. */
    int64_t (*taken)(struct weir_case *c);
    /* Whether more than one partition bursts here. Reports to other nodes contain it. NULL: no. */
    bool (*is_shared)(const void *node_state, int64_t now_ns, int64_t depth_ns);
    /* As those of weir_partition_policy. */
    void (*begin)(void *state);
    void (*divide)(void *const pieces[], const uint32_t share_ppm[], uint32_t count);
    void (*absorb)(void *into, const void *from);
};

#ifdef __cplusplus
}
#endif
