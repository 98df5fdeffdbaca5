/* admission.h - may this request run on this partition now?
 *
 * Promises: O(1), no allocation, no lock, no I/O, no clock: time is an argument and must not move
 * back. Same calls, same answers.
 * Units: mcu = 1/1000 of a read or write capacity unit; rates in mcu per second.
 * Source: DynamoDB, USENIX ATC 2022, section 4; differences are named at each function.
 *
 * For reads and for writes separately a partition has a cap, an allocation and a burst bucket, and
 * a node has one bucket. A bucket "has" a cost when balance >= min(cost, capacity); the whole cost
 * is then debited and the balance may go below zero. */
#ifndef WEIR_ENGINE_ADMISSION_ADMISSION_H
#define WEIR_ENGINE_ADMISSION_ADMISSION_H

#include "base/config.h"
#include "base/instant.h"
#include "base/token_bucket.h"
#include "engine/admission/member.h"

#define MCU_PER_UNIT INT64_C(1000)

enum admit_kind {
    ADMIT_READ,
    ADMIT_WRITE,
    ADMIT_KINDS
};

enum admit_reason {
    ADMIT_OK = 0,
    ADMIT_REFUSED_KEY_RANGE = 1,  /* the partition maximum; burst never lifts it */
    ADMIT_REFUSED_ALLOCATION = 2, /* allocation and burst both short */
    ADMIT_REFUSED_NODE = 3,       /* neighbours have used up the node */
    ADMIT_REFUSED_MEMBER = 4,     /* a member of the replication group has no headroom */
    ADMIT_REFUSED_TABLE =
        5, /* what the table may use, all over: at routers (router/limiter/limit.h) */
    ADMIT_REASONS,
};

const char *admit_reason_name(enum admit_reason reason); /* "ok", "key-range", ... static */

/* Balances as the decision saw them, before any debit. */
struct admit_levels {
    int64_t cap_mcu;
    int64_t allocation_mcu;
    int64_t burst_mcu;
    int64_t node_mcu;
};

struct admit_verdict {
    enum admit_reason reason;
    bool burst;           /* admitted beyond the allocation */
    bool promised;        /* a burst within what the node has promised to the table */
    uint32_t member;      /* the node that refused, for ADMIT_REFUSED_MEMBER */
    struct duration wait; /* until the same request passes, were nothing else to come: to the ns; at
                             most, where bursts share a node */
    struct admit_levels levels;
};

/* What a node has promised to a table whose limit routers keep: what its partitions here are
 * allocated, together. What some of them leave unused the others may use before they count as
 * bursting (node_admission.c). */
struct table_share {
    uint32_t table_id;
    uint32_t partitions; /* that count on it */
    struct token_bucket buckets[ADMIT_KINDS];
};

/* Who shares what the node has left for bursts: see node_admission.c. */
struct node_residual {
    int64_t round;
    int32_t bursters;        /* partitions that burst in this round, let or not */
    int32_t bursters_before; /* in the round before */
};

/* The buckets of a node that all its partitions debit. */
struct node_admission {
    int64_t round_ns; /* as long as its buckets are deep */
    int64_t round;    /* the last one in which somebody burst, and when it began */
    int64_t round_began_ns;
    struct token_bucket buckets[ADMIT_KINDS];
    struct node_residual residual[ADMIT_KINDS];
};

/* The other nodes of a replication group, whose headroom a burst write needs. */
struct admit_group {
    struct members *members;
    uint32_t count;
    uint32_t nodes[16];
};

struct admission_policy;

struct admission_meter {
    struct token_bucket cap;
    struct token_bucket allocation;
    struct token_bucket burst;
    int64_t burst_round;      /* the node's round in which it burst last */
    int64_t burst_mcu;        /* taken in it */
    int64_t burst_before_mcu; /* in the round before */
};

struct admission {
    const struct admission_policy *policy; /* borrows a static table */
    struct table_share *table;             /* borrows; NULL: it counts on none */
    struct admission_meter meters[ADMIT_KINDS];
};

struct admission_rates {
    int64_t rate_mcu[ADMIT_KINDS];    /* allocated, per second */
    int64_t maximum_mcu[ADMIT_KINDS]; /* less than a partition may serve; 0: as much */
};

/* "allocation", "burst", "always-burst", "none"; NULL for any other name. */
const struct admission_policy *admission_policy_find(struct slice name);
/* The configured one, of a table that says `gac` (base/config.h). Where routers keep the table's
 * limit, partitions need not save up to burst: always-burst takes the place of burst. So it does
 * for a table on demand, which has no limit, whatever else limits. */
const struct admission_policy *admission_policy_of(const struct config *config, uint8_t gac,
                                                   bool on_demand);
/* Known names, separated by ", ": for error texts. */
const char *admission_policy_names(void);

void node_admission_init(struct node_admission *n, const struct config *config, struct instant now);
/* Whether more than one partition bursts here, in this round or the last. */
bool node_admission_is_shared(const struct node_admission *n, enum admit_kind kind,
                              struct instant now);

/* Buckets start full, burst starts empty. Each may owe debt_max_s of its rate, but never less than
 * one largest item. now >= 0, here and everywhere. */
void admission_init(struct admission *a, const struct admission_policy *policy,
                    const struct config *config, const struct admission_rates *rates,
                    struct instant now);

/* A new allocation, perhaps under another policy: balances are kept, cut to the new capacities. It
 * counts on no table now. */
void admission_change(struct admission *a, const struct admission_policy *policy,
                      const struct config *config, const struct admission_rates *rates,
                      struct instant now);

/* The partition counts on what its table was promised here, which grows by its allocation; and not
 * any more. Nothing where the policy does not share: there a partition has its own part and no
 * other. */
void admission_join(struct admission *a, struct table_share *share, struct instant now);
void admission_leave(struct admission *a, struct instant now);

/* The partition was cut: `pieces[0]`, which counts on no table, is what is left of it, the others
 * are new; each gets its rates
 * and its share of every balance and debt. The sums stay what they were, to the mcu: what one piece
 * cannot hold another takes, and nothing is lost while the pieces together have room. The new ones
 * need not be initialized. `share_ppm` of each kind adds up to the whole. count <= 16. */
void admission_divide(struct admission *const pieces[], uint32_t count, const struct config *config,
                      const struct admission_rates rates[],
                      const uint32_t *const share_ppm[ADMIT_KINDS], struct instant now);

/* Two partitions have become one: `into`, which counts on no table, gets the rates of the one, and
 * takes over what `from` holds and owes. A balance is the sum of both, or the new capacity if that
 * is less. A debt is kept to the mcu: the debt limit of its bucket rises if it must. What both took
 * by bursts lately counts as taken by the one. `from` stays as it is: whoever closes it leaves its
 * table. What admission_divide has divided comes together again, but for the fraction of a token.
 */
void admission_absorb(struct admission *into, const struct admission *from,
                      const struct config *config, const struct admission_rates *rates,
                      struct instant now);

/* Charge `cost_mcu` >= 0 to partition and node: both or neither. `group`: for a write, the other
 * nodes that will do it too; NULL: none are asked. */
struct admit_verdict admission_try(struct admission *a, struct node_admission *node,
                                   enum admit_kind kind, struct instant now, int64_t cost_mcu,
                                   const struct admit_group *group);

/* The work cost `extra_mcu` >= 0 more than was charged by the admitted `verdict`: debit the same
 * buckets, into debt if need be, at most to their debt limit. */
void admission_settle(struct admission *a, struct node_admission *node, enum admit_kind kind,
                      struct instant now, const struct admit_verdict *verdict, int64_t extra_mcu,
                      const struct admit_group *group);

/* Of what another node admitted. */
enum follow {
    FOLLOW_BURST = 1, /* from the burst bucket */
    FOLLOW_PAID = 2,  /* with tokens that this node has set aside before */
    FOLLOW_LATE = 4, /* and had already committed when it came here: the node owes nothing for it */
    FOLLOW_TOLD = 8, /* and is counted in what the leader told of its buckets */
};

/* What another node admitted for this partition and this one does too, as a member of its group:
 * debits the same buckets here, so that they tell the truth when this node leads. `follow`: the
 * bits of enum follow. */
void admission_follow(struct admission *a, struct node_admission *node, enum admit_kind kind,
                      struct instant now, int64_t cost_mcu, uint32_t follow);

/* What the buckets of one kind hold: as a leader tells followers, and as it is kept. */
struct admission_balances {
    int64_t cap_mcu;
    int64_t allocation_mcu;
    int64_t burst_mcu;
};
struct admission_balances admission_balances(const struct admission *a, enum admit_kind kind,
                                             struct instant now);
/* Cut to the capacities; debts are taken over as they are. */
void admission_restore(struct admission *a, enum admit_kind kind, struct instant now,
                       const struct admission_balances *b);
/* Whether they are as those of a new partition: nothing is owed, nothing saved. */
bool admission_is_new(const struct admission *a, struct instant now);
/* Whether time alone will change them. */
bool admission_refills(const struct admission *a, struct instant now);

/* What the partition could serve at once; 0: nothing, or it owes. */
int64_t admission_left_mcu(const struct admission *a, enum admit_kind kind);

/* Another replica has served so much on these buckets; its own node has paid for the work. */
void admission_spend(struct admission *a, struct node_admission *node, enum admit_kind kind,
                     struct instant now, int64_t cost_mcu);
/* What was charged counts so much less towards the partition maximum. */
void admission_spare_cap(struct admission *a, enum admit_kind kind, int64_t mcu);

/* Levels now, for status pages. */
struct admit_levels admission_levels(const struct admission *a, const struct node_admission *node,
                                     enum admit_kind kind, struct instant now);

/* ---- units (spec of the service: sizes round up per item) ---- */

/* Whole units for one read of `size` bytes: 4 KiB steps, at least one; halved if not consistent. */
int64_t read_cost_mcu(int64_t size_bytes, bool consistent);
/* 1 KiB steps, at least one. */
int64_t write_cost_mcu(int64_t size_bytes);

#endif
