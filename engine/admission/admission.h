/* admission.h - may this request run on this partition now?
 *
 * Promises: O(1), no allocation, no lock, no I/O, no clock: time is an argument and must not move
 * back. Same calls, same answers.
 * Units: mcu = 1/1000 of a read or write capacity unit; rates in mcu per second.
 * Source: DynamoDB, USENIX ATC 2022, section 4; differences are named at each function.
 *
 * For each kind (reads, writes) a partition has a cap, an allocation bucket and a burst bucket, and
 * a node has one bucket. A bucket "has" a cost if balance >= min(cost, capacity). Then the whole
 * cost is debited, and the balance may go below zero.
 *
 * Not here: the limit of a whole table (router/core/limit.h, gac/). */
#pragma once

#include "base/token_bucket.h"
#include "engine/admission/verdict.h"
#include "include/weir/policy_base.h"

struct config;
struct members;
struct policies;
struct weir_node_policy;
struct weir_partition_policy;

/* What the node reserves for a table whose limit routers keep: the sum of the allocations of the
 * table's partitions here. What some of them leave unused, the others may use before they count as
 * bursting (policy_fair.c). */
struct table_share {
    uint32_t table_id;
    uint32_t partitions; /* that count on it */
    struct token_bucket buckets[ADMIT_KINDS];
};

/* The buckets of a node that all its partitions debit. */
struct node_admission {
    int64_t depth_ns; /* of the node's buckets, as time */
    const struct weir_node_policy *sharing;
    struct policies *policies; /* borrows; those loaded from files; may be NULL */
    struct token_bucket buckets[ADMIT_KINDS];
    _Alignas(int64_t) uint8_t state[ADMIT_KINDS][WEIR_POLICY_STATE_MAX]; /* of `sharing` */
};

/* The other nodes of a replication group, whose headroom a burst write needs. */
struct admit_group {
    struct members *members;
    uint32_t count;
    uint32_t nodes[16];
};

struct admission_meter {
    const struct weir_partition_policy *policy; /* borrows */
    struct token_bucket cap;
    struct token_bucket allocation;
    struct token_bucket burst;
    _Alignas(int64_t) uint8_t share[WEIR_POLICY_STATE_MAX]; /* of the node's policy */
    _Alignas(int64_t) uint8_t state[WEIR_POLICY_STATE_MAX]; /* of the partition's policy */
};

struct admission {
    const struct weir_node_policy *sharing; /* borrows; the node's */
    struct table_share *table;              /* borrows; NULL: has no reserved bucket of a table */
    uint32_t weight;                        /* of the table, from 1 on */
    struct admission_meter meters[ADMIT_KINDS];
};

struct admission_rates {
    int64_t rate_mcu[ADMIT_KINDS];    /* allocated, per second */
    int64_t maximum_mcu[ADMIT_KINDS]; /* lowers the partition maximum; 0: does not */
    uint32_t weight;                  /* of the table, where nodes share; 0: 1 */
};

/* The policies of a partition, one for reads and one for writes. */
struct admission_policies {
    const struct weir_partition_policy *of[ADMIT_KINDS];
};

static inline struct admission_policies admission_policies_of(const struct admission *a)
{
    return (struct admission_policies){
        {a->meters[ADMIT_READ].policy, a->meters[ADMIT_WRITE].policy}};
}

static inline struct admission_policies
admission_policies_same(const struct weir_partition_policy *both)
{
    return (struct admission_policies){{both, both}};
}

/* The configured policy that shares a node. */
const struct weir_node_policy *node_policy_of(const struct config *config);

void node_admission_init(struct node_admission *n, const struct config *config, struct instant now);
/* Whether more than one partition bursts on this node, in this round or the last. */
bool node_admission_is_shared(const struct node_admission *n, enum admit_kind kind,
                              struct instant now);

/* Cap and allocation start full, burst starts empty. Each bucket may owe debt_max_s of its rate,
 * and at least the cost of one largest item. now >= 0, in all functions. */
void admission_init(struct admission *a, struct admission_policies policies,
                    const struct config *config, const struct admission_rates *rates,
                    struct instant now);

/* Sets a new allocation, perhaps under other policies. Keeps the balances, cut to the new
 * capacities. Afterwards the partition has no reserved bucket of a table. */
void admission_change(struct admission *a, struct admission_policies policies,
                      const struct config *config, const struct admission_rates *rates,
                      struct instant now);

/* From now on the partition has the reserved bucket of its table, which grows by the partition's
 * allocation; from now on it does not. A kind whose policy does not share is left out. */
void admission_join(struct admission *a, struct table_share *share, struct instant now);
void admission_leave(struct admission *a, struct instant now);

/* The partition was split. `pieces[0]` is what is left of it, and has no reserved bucket of a
 * table. The others are new, and need not be initialized. Each piece gets its rates and its share
 * of every balance and debt. What does not fit into one piece goes to another. The sums stay the
 * same, to the mcu, while the pieces together have room. `share_ppm` of each kind adds up to one
 * million. count <= 16. */
void admission_split(struct admission *const pieces[], uint32_t count, const struct config *config,
                     const struct admission_rates rates[],
                     const uint32_t *const share_ppm[ADMIT_KINDS], struct instant now);

/* Two partitions have become one. `into` has no reserved bucket of a table. It gets the new rates,
 * and takes over the balances and debts of `from`. A balance is the sum of both, or the new
 * capacity if that is less. A debt is kept to the mcu: if necessary, the debt limit of its bucket
 * rises. What both took by bursts lately counts as taken by `into`. `from` stays as it is: the
 * caller that closes it calls admission_leave. This is the inverse of admission_split, except for
 * the fraction of a token. */
void admission_merge(struct admission *into, const struct admission *from,
                     const struct config *config, const struct admission_rates *rates,
                     struct instant now);

/* Charges `cost_mcu` >= 0 to partition and node: both or neither. `group`: for a write, the other
 * nodes that will do the write too; NULL: no other node is asked. */
struct admit_verdict admission_try(struct admission *a, struct node_admission *node,
                                   enum admit_kind kind, struct instant now, int64_t cost_mcu,
                                   const struct admit_group *group);

/* Whether the work is within what the partition, or its table on this node, has reserved: it needs
 * no burst. Charges nothing. */
bool admission_is_within_limit(struct admission *a, enum admit_kind kind, struct instant now,
                               int64_t cost_mcu);

/* The work cost `extra_mcu` >= 0 more than was charged with the admitted `verdict`. Debits the same
 * buckets, if necessary into debt, at most to their debt limit. */
void admission_settle(struct admission *a, struct node_admission *node, enum admit_kind kind,
                      struct instant now, const struct admit_verdict *verdict, int64_t extra_mcu,
                      const struct admit_group *group);

/* What was charged with the admitted `verdict` is not done. Gives the buckets what they would be
 * debited for it now. What it has counted as consumed stays so. */
void admission_give_back(struct admission *a, struct node_admission *node, enum admit_kind kind,
                         struct instant now, const struct admit_verdict *verdict, int64_t cost_mcu,
                         const struct admit_group *group);

/* Facts about a write that another node admitted. */
enum follow {
    FOLLOW_BURST = 1,   /* it was a burst */
    FOLLOW_PAID = 2,    /* it was paid with tokens that this node had set aside */
    FOLLOW_LATE = 4,    /* it was committed before it came here: it adds little debt to the node */
    FOLLOW_COUNTED = 8, /* the leader's last balances count it */
};

/* This node does a write that the partition's leader on another node admitted. Debits the same
 * buckets here, so that they are right when this node leads. `follow`: bits of enum follow. */
void admission_follow(struct admission *a, struct node_admission *node, enum admit_kind kind,
                      struct instant now, int64_t cost_mcu, uint32_t follow);

/* The balances of one kind. A leader tells them to followers; they are saved for the next life. */
struct admission_balances {
    int64_t cap_mcu;
    int64_t allocation_mcu;
    int64_t burst_mcu;
};
struct admission_balances admission_balances(const struct admission *a, enum admit_kind kind,
                                             struct instant now);
/* Sets the balances, cut to the capacities. Debts are taken over as they are. */
void admission_restore(struct admission *a, enum admit_kind kind, struct instant now,
                       const struct admission_balances *b);
/* Whether the balances are those of a new partition: no debt, no saved burst. */
bool admission_is_new(const struct admission *a, struct instant now);
/* Whether time alone will change the balances. */
bool admission_refills(const struct admission *a, struct instant now);

/* What the partition could serve at once; 0: nothing, or it has a debt. */
int64_t admission_left_mcu(const struct admission *a, enum admit_kind kind);

/* Debits what another replica has served on these buckets. Its own node has paid for the work. */
void admission_spend(struct admission *a, struct node_admission *node, enum admit_kind kind,
                     struct instant now, int64_t cost_mcu);
/* Gives `mcu` back to the cap: so much of what was charged does not count towards the partition
 * maximum. */
void admission_spare_cap(struct admission *a, enum admit_kind kind, int64_t mcu);

/* The balances now, with that of the node: for status pages. */
struct admit_balances admission_balances_with_node(const struct admission *a,
                                                   const struct node_admission *node,
                                                   enum admit_kind kind, struct instant now);
