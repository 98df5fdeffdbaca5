/* weir/policy.h - the interface of admission policies. weir's own policies use nothing else.
 *
 * A policy is a struct of functions at a decision point:
 *
 *   partition  weir_partition_policy   may this request run on this partition now?
 *   node       weir_node_policy        which partitions may burst on what the node has left?
 *   headroom   weir_headroom_policy    has another member's node room for this burst write?
 *   table      weir_table_policy       how many tokens of a table's limit does a router get?
 *   overload   weir_overload_policy    work waits too long: which requests are not done?
 *   adaptive   weir_adaptive_policy    which allocation does each partition of a table get?
 *   split      weir_split_policy       is this partition cut, into how many, and where?
 *   demand     weir_demand_policy      what does the peak of a table on demand earn it?
 *   relocate   weir_relocate_policy    which replica leaves a node, and which node gets it?
 *   retry      weir_retry_policy       does a client try a request again, and when?
 *
 * A shared object exports one function, `weir_policy_plugin`. It returns the policies of the file:
 *
 *   static const struct weir_partition_policy fair = {
 *       .size = sizeof fair, .name = "my-fair", .decide = my_decide, .settle = my_settle};
 *   static const struct weir_partition_policy *const partition[] = {&fair};
 *   static const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
 *                                                    .size = sizeof plugin,
 *                                                    .partition_count = 1,
 *                                                    .partition = partition};
 *   WEIR_POLICY_EXPORT const struct weir_policy_plugin *weir_policy_plugin(void)
 *   {
 *       return &plugin;
 *   }
 *
 * Rules for every function of a policy
 *   - The same calls give the same answers: no clock, no randomness, no variables outside the state
 *     that the host keeps for the policy. `weir sim` runs each seed twice and compares.
 *   - A decision about a request takes less than a microsecond, one of the controller less than a
 *     hundred. It allocates nothing, takes no lock, does no I/O.
 *   - Handles and pointers are valid during the call only.
 *   - Units: mcu = 1/1000 of a read or write capacity unit; mcu per second; ns of monotonic time.
 *
 * The host checks what a policy returns, and what it passes to functions. What makes no sense
 * changes nothing, is counted, and is told once for each policy. A decision with nonsense about a
 * request is a refusal, and costs nothing. One of the controller changes nothing. One of a client
 * ends the request. A policy is native code: the host does not protect its memory from a
 * policy that writes through wild pointers, and it cannot stop a policy that never returns.
 *
 * Versions. WEIR_POLICY_ABI rises when a plug-in must be compiled anew. Without that, structs only
 * grow at their ends: the host reads `size` bytes, and takes the rest as zero. Functions are only
 * added. Later decision points will be new members at the end of weir_policy_plugin. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_POLICY_ABI UINT32_C(1)

/* The most bytes of each state that the host keeps for a policy. States are aligned to 8 bytes. */
#define WEIR_POLICY_STATE_MAX 64
/* The most bytes of a name, with the final zero: a-z, 0-9, _ and -. */
#define WEIR_POLICY_NAME_MAX 32
/* The most parts of a partition that is divided. */
#define WEIR_POLICY_PIECES_MAX 16
/* As a time to wait: never. */
#define WEIR_POLICY_NEVER INT64_MAX

#define WEIR_POLICY_API    __attribute__((visibility("default")))
#define WEIR_POLICY_EXPORT __attribute__((visibility("default")))

enum weir_policy_kind {
    WEIR_POLICY_READ,
    WEIR_POLICY_WRITE
};

/* ---- decisions of a node ---- */

/* A request at a partition: its kind, the time, the buckets. All buckets are refilled up to now. */
struct weir_case;

enum weir_bucket {
    WEIR_BUCKET_CAP,        /* the partition maximum */
    WEIR_BUCKET_ALLOCATION, /* the partition's part of the table's throughput */
    WEIR_BUCKET_BURST,      /* allocation that was not used (WEIR_PARTITION_SAVES) */
    WEIR_BUCKET_NODE,       /* the node's capacity */
    WEIR_BUCKET_PROMISE, /* the sum of the table's allocations on this node. Has nothing if routers
                          * do not keep the table's limit (WEIR_PARTITION_SHARES). */
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
    WEIR_VERDICT_PROMISED = 2 /* a burst within the node's promise to the table */
};

/* Zero when `decide` is called. */
struct weir_verdict {
    uint32_t reason; /* enum weir_policy_reason */
    uint32_t flags;  /* bits of enum weir_verdict_flag */
    uint32_t member; /* the node that has no room, for WEIR_POLICY_MEMBER */
    uint32_t unused; /* 0 */
    int64_t
        wait_ns; /* of a refusal: until the request would pass if no other came; never below 0 */
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

/* What the node policy says. Call weir_case_burst_enter first, unless the burst is `promised`. */
WEIR_POLICY_API void weir_case_burst_enter(struct weir_case *c);
WEIR_POLICY_API bool weir_case_burst_has(struct weir_case *c, int64_t cost_mcu, bool promised);
WEIR_POLICY_API int64_t weir_case_burst_wait_ns(struct weir_case *c, int64_t cost_mcu);
/* Debits the node, and the promise unless the work is a burst beyond the promise; then the node
 * policy is told. */
WEIR_POLICY_API void weir_case_node_debit(struct weir_case *c, int64_t cost_mcu, bool burst,
                                          bool promised);

/* Whether every other member of the group that will do the write has room for it. If not, sets
 * `member` and `wait_ns` of the verdict. */
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
    /* Debits `extra_mcu` >= 0 from the buckets that an admitted verdict was charged to: the work cost
     * more, or another replica admitted it. Required. */
    void (*settle)(struct weir_case *c, const struct weir_verdict *verdict, int64_t extra_mcu);
    /* The state of a new partition. NULL: zero. */
    void (*begin)(void *state);
    /* The partition was cut: `pieces[0]` holds its state, the others are as `begin` left them.
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
    /* The partition asks for a burst beyond the promise. May be NULL. */
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
    /* Whether more than one partition bursts here. Other nodes are told. NULL: no. */
    bool (*is_shared)(const void *node_state, int64_t now_ns, int64_t depth_ns);
    /* As those of weir_partition_policy. */
    void (*begin)(void *state);
    void (*divide)(void *const pieces[], const uint32_t share_ppm[], uint32_t count);
    void (*absorb)(void *into, const void *from);
};

/* ---- the room of other members, for burst writes ---- */

/* What a node knows of another node, at the decision. */
struct weir_member;

/* The node's last report of its bucket for writes, and whether several partitions burst there. */
WEIR_POLICY_API int64_t weir_member_balance(const struct weir_member *m);
WEIR_POLICY_API int64_t weir_member_capacity(const struct weir_member *m);
WEIR_POLICY_API bool weir_member_is_shared(const struct weir_member *m);
WEIR_POLICY_API int64_t weir_member_report_age_ns(const struct weir_member *m);
/* The node sets tokens aside for this one (WEIR_HEADROOM_LEASES). False: it has set none aside since
 * its last silence. */
WEIR_POLICY_API bool weir_member_is_leased(const struct weir_member *m);
WEIR_POLICY_API int64_t weir_member_held(const struct weir_member *m); /* tokens that are alive */
WEIR_POLICY_API int64_t weir_member_lease_ns(const struct weir_member *m);
/* Tokens were missing: the next request for tokens asks for so much more. */
WEIR_POLICY_API void weir_member_lacked(struct weir_member *m, int64_t cost_mcu);
/* The time in which the node's bucket gets `mcu`. */
WEIR_POLICY_API int64_t weir_member_refill_ns(const struct weir_member *m, int64_t mcu);

enum weir_headroom_flag {
    WEIR_HEADROOM_LEASES = 1, /* nodes set tokens aside for each other, and the host spends them */
    WEIR_HEADROOM_UNCHECKED = 2 /* members are not asked, not even silent ones */
};

/* Chosen by the setting write_check. A silent member is the host's matter (setting dead_member). */
struct weir_headroom_policy {
    uint32_t size;
    uint32_t unused;
    const char *name;
    uint64_t flags; /* bits of enum weir_headroom_flag */
    /* Whether the node has room for `cost_mcu` of a partition that must leave `taken_mcu` there for
     * others. If not, sets `wait_ns`. Required, unless WEIR_HEADROOM_UNCHECKED. */
    bool (*has)(struct weir_member *m, int64_t cost_mcu, int64_t taken_mcu, int64_t *wait_ns);
};

/* ---- the limit of a table ---- */

/* The tokens of one table or index for reads or for writes, at a GAC server. */
struct weir_ledger;
/* A router that asks for tokens of a ledger. */
struct weir_holder;

WEIR_POLICY_API int64_t weir_ledger_now_ns(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_rate(const struct weir_ledger *l); /* the limit of the table */
/* Tokens that can be granted: balance (below zero: debt), size, refill in a second. Less than the
 * limit of the table refills here while routers ask other servers. */
WEIR_POLICY_API int64_t weir_ledger_bank(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_bank_capacity(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_bank_rate(const struct weir_ledger *l);
/* The least balance at which a request of `cost_mcu` is granted whole: min(cost, a second of the
 * rate, the bank's capacity). */
WEIR_POLICY_API int64_t weir_ledger_enough(const struct weir_ledger *l, int64_t cost_mcu);
/* Settings: the least and the longest life of tokens, the length of a period, the length of a grant
 * as time of a router's even part, requests that a grant covers, routers anywhere. */
WEIR_POLICY_API int64_t weir_ledger_lifetime_ns(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_longest_ns(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_grant_ns(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_requests(const struct weir_ledger *l);
WEIR_POLICY_API uint32_t weir_ledger_routers(const struct weir_ledger *l);
WEIR_POLICY_API void *weir_ledger_state(const struct weir_ledger *l);
WEIR_POLICY_API uint32_t weir_ledger_holders(const struct weir_ledger *l);
/* NULL: no such index. */
WEIR_POLICY_API struct weir_holder *weir_ledger_holder(const struct weir_ledger *l, uint32_t index);
/* The max-min level of `rate`: the sum of min(demand, level) over all holders with a claim is
 * `rate`. INT64_MAX: all demand can be met. */
WEIR_POLICY_API int64_t weir_ledger_level(const struct weir_ledger *l, int64_t rate);

/* What the router wants: mcu per second; 0: nothing. */
WEIR_POLICY_API int64_t weir_holder_demand(const struct weir_holder *h);
/* What it owes, because requests cost more than they had taken. */
WEIR_POLICY_API int64_t weir_holder_owed(const struct weir_holder *h);
/* For its dearest request, and what it owes. */
WEIR_POLICY_API int64_t weir_holder_need(const struct weir_holder *h);
WEIR_POLICY_API int64_t
weir_holder_cost(const struct weir_holder *h); /* an average one; 0: unknown */
WEIR_POLICY_API int64_t weir_holder_held(const struct weir_holder *h); /* tokens */
/* The router asked another server since, or this one has restarted, if the number is new. */
WEIR_POLICY_API uint64_t weir_holder_epoch(const struct weir_holder *h);
/* It has asked within the least life of tokens; its tokens may still be alive. */
WEIR_POLICY_API bool weir_holder_claims(const struct weir_ledger *l, const struct weir_holder *h);
WEIR_POLICY_API bool weir_holder_is_live(const struct weir_ledger *l, const struct weir_holder *h);
WEIR_POLICY_API void *weir_holder_state(const struct weir_holder *h);

/* Takes tokens from the bank for the answer; at most once in a `vend`. The bank may go into debt only
 * if it has none, and only for the holder's dearest request. */
WEIR_POLICY_API void weir_ledger_grant(struct weir_ledger *l, struct weir_holder *h,
                                       int64_t tokens_mcu);
/* The router asks no sooner than that, unless it wants less. */
WEIR_POLICY_API void weir_holder_wait(struct weir_holder *h, int64_t wait_ns);
/* Everything that the router holds lives so long from its ask on; at most the longest life. Not
 * set: the least life. */
WEIR_POLICY_API void weir_holder_live(struct weir_holder *h, int64_t lifetime_ns);
/* The router is told what other routers want together, mcu per second >= 0: for `share`. */
WEIR_POLICY_API void weir_holder_tell(struct weir_holder *h, int64_t others_mcu);

/* The integer square root; 0 of what is below zero. */
WEIR_POLICY_API int64_t weir_policy_root(int64_t value);

enum weir_table_flag {
    WEIR_TABLE_LIMITS = 1,     /* the limit of the table holds */
    WEIR_TABLE_ASKS = 2,       /* routers ask servers. Otherwise each uses its reserve. */
    WEIR_TABLE_WHOLE_COST = 4, /* a router needs all tokens of a request before it lets it in */
    WEIR_TABLE_PERIODS = 8 /* tokens live for gac_period_ms instead of gac_lifetime_ms, and the bank
                            * begins with those of a period */
};

/* Chosen by the setting gac, or by gac = named and the setting gac_policy. */
struct weir_table_policy {
    uint32_t size;
    uint32_t ledger_bytes;
    uint32_t holder_bytes;
    uint32_t unused;
    const char *name;
    uint64_t flags; /* bits of enum weir_table_flag */
    /* A router has asked, and the bank is refilled up to now. Required if routers ask. */
    void (*vend)(struct weir_ledger *l, struct weir_holder *h);
    /* At routers: the mcu per second that a router uses while it reaches no server, or asks none.
     * NULL: rate / routers. More is cut to the rate. */
    int64_t (*reserve)(int64_t rate_mcu, uint32_t routers);
    /* At routers: the mcu per second that a router uses of its own accord, whether it reaches a
     * server or not. It saves up to gac_bank_ms of that, and uses no tokens that are granted; with
     * WEIR_TABLE_ASKS it asks when the wait of the last answer is over. `demand_mcu`: what its
     * clients want now. `others_mcu`: as weir_holder_tell told last; below 0: nothing was told yet.
     * NULL: routers use the tokens that they are granted. More is cut to the rate. */
    int64_t (*share)(int64_t rate_mcu, uint32_t routers, int64_t demand_mcu, int64_t others_mcu);
};

/* ---- overload ---- */

/* A request that a node or a router is about to work on, or that a router is about to send. */
struct weir_arrival;

/* Priorities are 0 .. this - 1, the same for all requests of a partition key. 0 is the highest. */
#define WEIR_OVERLOAD_PRIORITIES 128
/* Senders are numbered 0 .. this - 1. If there are more, some share a number. */
#define WEIR_OVERLOAD_SENDERS 64
/* The most bytes of the state of a node or router. */
#define WEIR_OVERLOAD_STATE_MAX 2048

WEIR_POLICY_API int64_t weir_arrival_now_ns(const struct weir_arrival *a);
/* How long the request has waited for the processor of this node or router. */
WEIR_POLICY_API int64_t weir_arrival_wait_ns(const struct weir_arrival *a);
/* The work is within a limit: the partition's allocation has the cost; at a router, the table has a
 * limit that routers keep. Also true if the request has waited at most the target, unless the policy
 * has the flag WEIR_OVERLOAD_CLASSES. */
WEIR_POLICY_API bool weir_arrival_is_promised(const struct weir_arrival *a);
WEIR_POLICY_API uint32_t weir_arrival_priority(const struct weir_arrival *a);
/* At a node: the link that the request came by. At a router: 0. */
WEIR_POLICY_API uint32_t weir_arrival_sender(const struct weir_arrival *a);
/* Settings: the wait that is aimed at, the time after which a queue counts as standing, and the
 * longest wait of promised work. */
WEIR_POLICY_API int64_t weir_arrival_target_ns(const struct weir_arrival *a);
WEIR_POLICY_API int64_t weir_arrival_interval_ns(const struct weir_arrival *a);
WEIR_POLICY_API int64_t weir_arrival_limit_ns(const struct weir_arrival *a);
/* In `arrive` and `tell`: the state of this node or router. In `send` and `answered`: what the router
 * keeps of the node that the request is for. */
WEIR_POLICY_API void *weir_arrival_state(const struct weir_arrival *a);

enum weir_overload_flag {
    WEIR_OVERLOAD_CLASSES = 1 /* `arrive` wants to know of each request whether it is promised */
};

/* Sheds work that has waited too long. Chosen by the setting overload_policy. */
struct weir_overload_policy {
    uint32_t size;
    uint32_t state_bytes; /* of a node or router, at most WEIR_OVERLOAD_STATE_MAX */
    uint32_t peer_bytes;  /* at a router, for each node, at most WEIR_POLICY_STATE_MAX */
    uint32_t unused;
    const char *name;
    uint64_t flags; /* bits of enum weir_overload_flag */
    /* Whether the request is done. Otherwise it is refused before admission decides, and nothing is
     * charged. Required. */
    bool (*arrive)(struct weir_arrival *a);
    /* At a node: what the router is told with the answer to this request. NULL: 0. */
    uint32_t (*tell)(struct weir_arrival *a);
    /* At a router: whether the request is sent to the node. Otherwise the router refuses it. NULL:
     * yes. */
    bool (*send)(struct weir_arrival *a);
    /* At a router: a request that was sent has ended. `told`: what the node said; 0: it did not
     * answer. May be NULL. */
    void (*answered)(struct weir_arrival *a, uint32_t told);
};

/* ---- the controller: allocations of a table's partitions ---- */

/* The allocations of one table for reads or for writes, at one look of the controller. Partitions
 * have indices from 0 on, in the order of their keys. Amounts are mcu per second. An index that does
 * not exist gives 0 or NULL. */
struct weir_rates;

WEIR_POLICY_API uint32_t weir_rates_kind(const struct weir_rates *r); /* enum weir_policy_kind */
WEIR_POLICY_API int64_t weir_rates_now_ns(const struct weir_rates *r);
WEIR_POLICY_API int64_t weir_rates_limit(const struct weir_rates *r);   /* of the table */
WEIR_POLICY_API int64_t weir_rates_maximum(const struct weir_rates *r); /* of each partition */
WEIR_POLICY_API uint32_t weir_rates_count(const struct weir_rates *r);  /* partitions */
/* Of a partition: its allocation, and its equal part of the table's limit. */
WEIR_POLICY_API int64_t weir_rates_allocation(const struct weir_rates *r, uint32_t index);
WEIR_POLICY_API int64_t weir_rates_base(const struct weir_rates *r, uint32_t index);
/* What was consumed and refused over the setting adaptive_window_ms; 0 while that is unknown. */
WEIR_POLICY_API int64_t weir_rates_demand(const struct weir_rates *r, uint32_t index);
/* The part of its allocation that the partition uses: min(allocation, demand). After a split all of
 * it, until demand is known. */
WEIR_POLICY_API int64_t weir_rates_use(const struct weir_rates *r, uint32_t index);
/* For how long its allocation has refused requests, without a break of the setting
 * adaptive_calm_ms. Below 0: it has refused none. */
WEIR_POLICY_API int64_t weir_rates_throttled_ns(const struct weir_rates *r, uint32_t index);
/* The state of the partition for this kind. Zero at first, and when another node leads the catalog.
 * A split or merge leaves it as it is. NULL: no load was reported yet. */
WEIR_POLICY_API void *weir_rates_state(const struct weir_rates *r, uint32_t index);

enum weir_rates_setting {
    WEIR_RATES_AFTER_NS,       /* adaptive_after_ms */
    WEIR_RATES_STEP_PERCENT,   /* adaptive_step_percent */
    WEIR_RATES_MARGIN_PERCENT, /* adaptive_margin_percent */
    WEIR_RATES_DECAY_NS,       /* adaptive_decay_ms */
    WEIR_RATES_DECAY_PERCENT,  /* adaptive_decay_percent */
    WEIR_RATES_USED_PERCENT    /* adaptive_used_percent */
};

WEIR_POLICY_API int64_t weir_rates_setting(const struct weir_rates *r, enum weir_rates_setting s);

/* Why an allocation is lowered: an event tells it. */
enum weir_rates_why {
    WEIR_RATES_ABOVE_LIMIT, /* the table uses more than its limit */
    WEIR_RATES_UNUSED       /* the partition does not need it */
};

/* Changes the allocation to `rate_mcu`; a partition at most once in a call. A raise ends at the
 * maximum, and at what the nodes can carry: if a node cannot, the host moves the replica to a node
 * that can, if there is one. */
WEIR_POLICY_API void weir_rates_raise(struct weir_rates *r, uint32_t index, int64_t rate_mcu);
WEIR_POLICY_API void weir_rates_lower(struct weir_rates *r, uint32_t index, int64_t rate_mcu,
                                      enum weir_rates_why why);

/* Chosen by the setting adaptive_policy, for tables with provisioned throughput. */
struct weir_adaptive_policy {
    uint32_t size;
    uint32_t partition_bytes;
    const char *name;
    uint64_t flags; /* 0 */
    /* Every adaptive_every_ms, for reads and for writes of each table. Required. */
    void (*adapt)(struct weir_rates *r);
};

/* ---- the controller: splits ---- */

/* A partition that may be cut, at one look of the controller. Amounts are mcu per second. What does
 * not exist is 0 or NULL. */
struct weir_cut;

WEIR_POLICY_API int64_t weir_cut_now_ns(const struct weir_cut *c);
/* How long the controller has known the partition with this range of keys. */
WEIR_POLICY_API int64_t weir_cut_age_ns(const struct weir_cut *c);
/* Whether partitions have a maximum: without one, a cut lets no more through. */
WEIR_POLICY_API bool weir_cut_is_limited(const struct weir_cut *c);
WEIR_POLICY_API int64_t weir_cut_maximum(const struct weir_cut *c, enum weir_policy_kind kind);
/* Means over the last `window_ns`, 15 s at most; 0 until half of that time was seen. */
WEIR_POLICY_API int64_t weir_cut_consumed(const struct weir_cut *c, enum weir_policy_kind kind,
                                          int64_t window_ns);
WEIR_POLICY_API int64_t weir_cut_refused(const struct weir_cut *c, enum weir_policy_kind kind,
                                         int64_t window_ns);
/* Requests that the maximum refused in that time. */
WEIR_POLICY_API int64_t weir_cut_refusals(const struct weir_cut *c, enum weir_policy_kind kind,
                                          int64_t window_ns);
/* For how long the leader has seen demand above the maximum, without a break. Below 0: the leader
 * has said nothing of late. */
WEIR_POLICY_API int64_t weir_cut_excess_ns(const struct weir_cut *c, enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_cut_bytes(const struct weir_cut *c);
/* Partitions of the table. */
WEIR_POLICY_API uint32_t weir_cut_partitions(const struct weir_cut *c);
/* Partitions that the table needs for what it is to serve at once. In `pieces`: 0 if that is not the
 * reason for the cut. */
WEIR_POLICY_API uint32_t weir_cut_needed(const struct weir_cut *c);
/* The state of the partition: as weir_rates_state. */
WEIR_POLICY_API void *weir_cut_state(const struct weir_cut *c);

enum weir_cut_setting {
    WEIR_CUT_PERCENT,   /* split_percent */
    WEIR_CUT_WINDOW_NS, /* split_window_ms */
    WEIR_CUT_HOLD_NS,   /* split_hold_ms */
    WEIR_CUT_DELAY_NS,  /* split_delay_ms */
    WEIR_CUT_BYTES,     /* partition_max_bytes */
    WEIR_CUT_JUDGE      /* split_judge: 0 or 1 */
};

WEIR_POLICY_API int64_t weir_cut_setting(const struct weir_cut *c, enum weir_cut_setting s);

/* In `choose`: what the partition's leader says about its heat. */
enum weir_cut_advice {
    WEIR_CUT_ADVISED = 0,
    WEIR_CUT_FEW_SAMPLES = 1, /* too little was seen */
    WEIR_CUT_POPULAR_KEY = 2, /* one key carries the load */
    WEIR_CUT_SEQUENTIAL = 3,  /* the load moves on */
    WEIR_CUT_COLLECTION = 4,  /* the load is in one item collection that must stay whole */
    WEIR_CUT_NO_BENEFIT = 5   /* no more would be served */
};

WEIR_POLICY_API uint32_t weir_cut_advice(const struct weir_cut *c); /* enum weir_cut_advice */
/* The split points that the leader offers, in the order of their keys: 0 unless the cut is advised.
 * `point` points make point + 1 pieces. */
WEIR_POLICY_API uint32_t weir_cut_points(const struct weir_cut *c);
/* The part of the load of piece `index`, between the points index - 1 and index. */
WEIR_POLICY_API uint32_t weir_cut_share_ppm(const struct weir_cut *c, enum weir_policy_kind kind,
                                            uint32_t index);
/* What is served of the load now, and if all points are taken. */
WEIR_POLICY_API int64_t weir_cut_served_now(const struct weir_cut *c, enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_cut_served_then(const struct weir_cut *c, enum weir_policy_kind kind);
/* The part of the load of the heaviest key, if it is known. */
WEIR_POLICY_API uint32_t weir_cut_key_ppm(const struct weir_cut *c);

/* The reason for a cut: an event tells it. */
enum weir_wish_why {
    WEIR_WISH_NONE = 0,
    WEIR_WISH_CONSUMED = 1, /* the partition consumes `rate_mcu` */
    WEIR_WISH_REFUSED = 2,  /* the partition is at its maximum, and asked for `rate_mcu` */
    WEIR_WISH_SIZE = 3      /* the partition has too many bytes */
};

/* Zero when `wish` is called: no cut. */
struct weir_wish {
    uint32_t why;  /* enum weir_wish_why */
    uint32_t kind; /* enum weir_policy_kind, of rate_mcu */
    /* 1: cut into equal parts of the hashes (`pieces`). 0: ask the leader, which offers points. For
     * the size, the leader offers the middle of its bytes. */
    uint32_t evenly;
    uint32_t unused; /* 0 */
    int64_t rate_mcu;
};

enum weir_choice_how {
    WEIR_CHOICE_WHOLE = 0,  /* no cut. The partition rests for split_backoff_ms, and an event tells
                             * why. After WEIR_CUT_FEW_SAMPLES: for split_retry_ms, without one. */
    WEIR_CHOICE_POINTS = 1, /* at the offered points whose bits are set in `points` */
    WEIR_CHOICE_EVENLY = 2  /* into equal parts of the hashes (`pieces`) */
};

/* Zero when `choose` is called. */
struct weir_choice {
    uint32_t how;    /* enum weir_choice_how */
    uint32_t points; /* bit i: point i */
};

/* Chosen by the setting split_policy. The host asks about partitions that are not being cut or
 * moved, and do not rest after a failed attempt. */
struct weir_split_policy {
    uint32_t size;
    uint32_t state_bytes;
    const char *name;
    uint64_t flags; /* 0 */
    /* At every look, about each partition. Required. */
    void (*wish)(struct weir_cut *c, struct weir_wish *wish);
    /* After the wish: the leader has answered. NULL: at all offered points, if there are any. */
    void (*choose)(struct weir_cut *c, struct weir_choice *choice);
    /* Into how many equal parts, 2 to WEIR_POLICY_PIECES_MAX: after WEIR_CHOICE_EVENLY, after a wish
     * with `evenly`, or since the table has fewer partitions than it needs (the host has taken the
     * partition with the most hashes). NULL: 2. */
    uint32_t (*pieces)(struct weir_cut *c);
};

/* ---- the controller: peaks of tables on demand ---- */

/* A table on demand, at one look of the controller. Amounts are mcu per second. */
struct weir_peak;

WEIR_POLICY_API int64_t weir_peak_now_ns(const struct weir_peak *p);
/* What the table's partitions consumed, as a mean over the last `window_ns`, 15 s at most; whole
 * units, rounded up. */
WEIR_POLICY_API int64_t weir_peak_consumed(const struct weir_peak *p, enum weir_policy_kind kind,
                                           int64_t window_ns);
WEIR_POLICY_API int64_t weir_peak_window_ns(const struct weir_peak *p); /* on_demand_peak_ms */
/* What the table's partitions are allocated together: what was earned before. */
WEIR_POLICY_API int64_t weir_peak_promised(const struct weir_peak *p, enum weir_policy_kind kind);
/* What the table has partitions for, or will have: its warm throughput. */
WEIR_POLICY_API int64_t weir_peak_ready(const struct weir_peak *p, enum weir_policy_kind kind);
/* The most that a table is made ready for. */
WEIR_POLICY_API int64_t weir_peak_maximum(const struct weir_peak *p, enum weir_policy_kind kind);

/* Chosen by the setting demand_policy. */
struct weir_demand_policy {
    uint32_t size;
    uint32_t unused; /* 0 */
    const char *name;
    uint64_t flags; /* 0 */
    /* Every on_demand_peak_ms, about each table on demand. `earned_mcu`, by kind, is zero at first. The
     * table gets an allocation of what it has earned, and is made ready for twice as much; what it
     * has earned before it keeps. At most the larger one of weir_peak_maximum and what was consumed
     * over weir_peak_window_ns. False: nothing changes. Required. */
    bool (*earn)(const struct weir_peak *p, int64_t earned_mcu[2]);
};

/* ---- the controller: replicas that move ---- */

/* A replica that needs a node, or that may leave its node, at one look of the controller. Amounts
 * are mcu per second. What does not exist is 0. */
struct weir_move;

enum weir_move_why {
    WEIR_MOVE_FILL = 0,       /* its partition has too few replicas */
    WEIR_MOVE_LEAVE = 1,      /* its node is silent or drained */
    WEIR_MOVE_ALLOCATION = 2, /* its node cannot carry the allocation that it should get */
    WEIR_MOVE_BALANCE = 3     /* its node is overloaded */
};

WEIR_POLICY_API int64_t weir_move_now_ns(const struct weir_move *m);
WEIR_POLICY_API uint32_t weir_move_why(const struct weir_move *m);  /* enum weir_move_why */
WEIR_POLICY_API uint32_t weir_move_from(const struct weir_move *m); /* its node; 0: it has none */
/* Whether it is the first of its group: it carries the reads, too. */
WEIR_POLICY_API bool weir_move_leads(const struct weir_move *m);
/* What a node must have promised to it. */
WEIR_POLICY_API int64_t weir_move_needs(const struct weir_move *m, enum weir_policy_kind kind);
/* What it consumed on its node over the last 5 s. */
WEIR_POLICY_API int64_t weir_move_cost(const struct weir_move *m, enum weir_policy_kind kind);

/* The nodes that are offered, in the order of their numbers: they are reachable, not drained, hold no
 * replica of the partition, and have the capacity that the replica needs. By index: the number, the
 * capacity, what of it is promised to replicas, what was consumed over the setting
 * balance_window_ms, and the replicas there (one that leads counts twice). */
WEIR_POLICY_API uint32_t weir_move_nodes(const struct weir_move *m);
WEIR_POLICY_API uint32_t weir_move_node(const struct weir_move *m, uint32_t index);
WEIR_POLICY_API int64_t weir_move_capacity(const struct weir_move *m, uint32_t index,
                                           enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_move_promised(const struct weir_move *m, uint32_t index,
                                           enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_move_consumed(const struct weir_move *m, uint32_t index,
                                           enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_move_replicas(const struct weir_move *m, uint32_t index);

/* As an index: no node. The host acts as if none were offered. */
#define WEIR_MOVE_NOWHERE UINT32_MAX

/* Chosen by the setting relocate_policy. The host bounds how many replicas move at once. */
struct weir_relocate_policy {
    uint32_t size;
    uint32_t unused; /* 0 */
    const char *name;
    uint64_t flags; /* 0 */
    /* The index of the node that gets the replica. At least one is offered. A replica does not move
     * for WEIR_MOVE_BALANCE if that would overload the chosen node. Required. */
    uint32_t (*place)(const struct weir_move *m);
    /* The replica's node is overloaded with `kind`: it consumes more than balance_percent of its
     * capacity. How much should this replica leave? The replica with the greatest value goes, the
     * first of equal ones; 0: it stays. No nodes are offered yet. NULL: weir_move_cost. */
    int64_t (*rank)(const struct weir_move *m, enum weir_policy_kind kind);
};

/* ---- clients that try again ---- */

/* A client and one of its requests. A client is what an SDK calls a client object: its requests share
 * one state. `weir load` and `weir lab` have such clients. */
struct weir_retry;

enum weir_retry_result {
    WEIR_RETRY_DONE = 0,      /* the request is answered well */
    WEIR_RETRY_FINAL = 1,     /* an error that no try mends, such as a condition that is false */
    WEIR_RETRY_THROTTLED = 2, /* ProvisionedThroughputExceededException and the like */
    WEIR_RETRY_ERROR = 3,     /* an answer 5xx, or a connection that broke */
    WEIR_RETRY_TIMEOUT = 4    /* no answer in time */
};

/* Why a request is over without an answer: reports count it. */
enum weir_retry_stop {
    WEIR_RETRY_STOP_ATTEMPTS = 2, /* the most attempts were made */
    WEIR_RETRY_STOP_QUOTA = 3,    /* the client has no budget for retries left */
    WEIR_RETRY_STOP_LOCAL = 4     /* the client itself rejects the attempt */
};

/* The most bytes of a client's state. */
#define WEIR_RETRY_STATE_MAX 512
/* The most attempts of a request, and the longest wait before one. */
#define WEIR_RETRY_ATTEMPTS_MAX 1000
#define WEIR_RETRY_WAIT_NS_MAX  (INT64_C(1000000) * 1000000000)

WEIR_POLICY_API int64_t weir_retry_now_ns(const struct weir_retry *r);
/* The state of the client. Zero at first. */
WEIR_POLICY_API void *weir_retry_state(const struct weir_retry *r);
/* A number between 0 and 1 (excluded). The same seed gives the same numbers. */
WEIR_POLICY_API double weir_retry_random(struct weir_retry *r);
/* What stands behind the policy's name, or its defaults: the most attempts, or the number
 * (WEIR_RETRY_TAKES_NUMBER). */
WEIR_POLICY_API int32_t weir_retry_attempts_max(const struct weir_retry *r);
WEIR_POLICY_API double weir_retry_number(const struct weir_retry *r);
/* Of the request: attempts that ended, and a number that the policy keeps. 0 at first. */
WEIR_POLICY_API int32_t weir_retry_attempts(const struct weir_retry *r);
WEIR_POLICY_API int32_t weir_retry_note(const struct weir_retry *r);
WEIR_POLICY_API void weir_retry_keep_note(struct weir_retry *r, int32_t note);
/* In `after`: enum weir_retry_result, and the header x-amz-retry-after; below 0: none. */
WEIR_POLICY_API uint32_t weir_retry_result(const struct weir_retry *r);
WEIR_POLICY_API int64_t weir_retry_hint_ns(const struct weir_retry *r);

/* Zero when a function is called: the request is over. */
struct weir_retry_decision {
    uint32_t again;
    uint32_t stop; /* enum weir_retry_stop, if not `again`. 0: WEIR_RETRY_STOP_ATTEMPTS */
    int64_t at_ns; /* if `again`: not before this time, which is not before now */
};

enum weir_retry_flag {
    WEIR_RETRY_TAKES_NUMBER = 1 /* NAME:NUMBER is for weir_retry_number (1 to 100), not attempts */
};

/* Chosen by --retry of `weir load`, and by the field retry of workloads in scenarios: NAME, or
 * NAME:ATTEMPTS. */
struct weir_retry_policy {
    uint32_t size;
    uint32_t state_bytes;
    const char *name;
    uint64_t flags;       /* bits of enum weir_retry_flag */
    const char *about;    /* a sentence; may be NULL */
    int32_t attempts_max; /* the first one included; 1 to WEIR_RETRY_ATTEMPTS_MAX */
    uint32_t unused;      /* 0 */
    double number;        /* the default of weir_retry_number */
    /* A new client. There is no request yet, and there are no random numbers. NULL: zero. */
    void (*begin)(struct weir_retry *r);
    /* Before each attempt, the first one too. Again, now: it is sent. Again, later: `send` is called
     * again at that time. NULL: now, always. */
    void (*send)(struct weir_retry *r, struct weir_retry_decision *decision);
    /* After each attempt that was sent, with a good result too. Again only if the result is neither
     * WEIR_RETRY_DONE nor WEIR_RETRY_FINAL. Required. */
    void (*after)(struct weir_retry *r, struct weir_retry_decision *decision);
};

/* ---- the file ---- */

struct weir_policy_plugin {
    uint32_t abi; /* WEIR_POLICY_ABI */
    uint32_t size;
    uint32_t partition_count;
    uint32_t node_count;
    uint32_t headroom_count;
    uint32_t table_count;
    const struct weir_partition_policy *const *partition;
    const struct weir_node_policy *const *node;
    const struct weir_headroom_policy *const *headroom;
    const struct weir_table_policy *const *table;
    uint32_t overload_count;
    uint32_t unused;
    const struct weir_overload_policy *const *overload;
    /* The controller. */
    uint32_t adaptive_count;
    uint32_t split_count;
    uint32_t demand_count;
    uint32_t relocate_count;
    const struct weir_adaptive_policy *const *adaptive;
    const struct weir_split_policy *const *split;
    const struct weir_demand_policy *const *demand;
    const struct weir_relocate_policy *const *relocate;
    /* Clients. */
    uint32_t retry_count;
    uint32_t spare;
    const struct weir_retry_policy *const *retry;
};

/* The shared object defines this function. What it returns stays valid while the file is loaded. */
WEIR_POLICY_EXPORT const struct weir_policy_plugin *weir_policy_plugin(void);

#ifdef __cplusplus
}
#endif
