/* bucket.h - buckets of the rate limiter: token buckets of applications, kept in ordinary items.
 *
 * A bucket belongs to an entity and a resource, and has several limits. It has 1, 2, 4, .. shards;
 * each shard is one item with all limits. The leader of an item's partition runs a command on the
 * item: one write, no read. Time is the leader's wall clock, an argument; for a shard it never
 * moves back. Units: tokens are thousandths (`mtok`), times are milliseconds since 1970.
 *
 * Invariants
 *   LIMITER-1  The shares of all shards of any number add up to the limit. Two shards that come
 *              from one have together its share.
 *   LIMITER-2  tokens <= share of the capacity. Below 0 tokens are debt: only LIMITER_ADJUST makes
 *              it.
 *   LIMITER-3  Refilling at t1 and t2 equals refilling once at t2: `fraction` is kept.
 *   LIMITER-4  Growth, merging, and messages that are lost, late or doubled make no tokens.
 *   LIMITER-5  Each limit has its own refill time: a slow limit is not starved by frequent
 *              requests.
 *   LIMITER-6  A shard has one reserved share for each number of shards to which it has divided. An
 *              item with reserved shares has no time to live: it says which part of its share other
 *              shards have.
 *
 * BUCKETS THAT DIVIDE
 *
 * One partition key takes 1,000 write units a second. The hidden limit `wcu` of a shard counts
 * them; it is not divided. A request costs a write unit, so a busier bucket needs several items.
 * The usual ways to divide a bucket miscount. Shards that begin full mint tokens. Shards that begin
 * empty lose tokens until they are refilled: of a daily limit, half a day's. A transaction over all
 * shards waits for the busiest item that there is. Here each step writes one item. A step may come
 * late, twice, or never, and the sum of all tokens stays right.
 *
 * Shares. Shard j of n has an n-th part of the capacity and the refill of each limit. The remainder
 * goes to the shards with the lowest numbers. When n shards become 2n, shard j divides into shard j
 * and its child, shard j + n. So the parent of a shard is its number without the highest bit:
 *
 *     1 shard                    0 (80)                       in parentheses: the share of a
 *                           /            \                    capacity of 80
 *     2 shards        0 (40)              1 (40)
 *                    /      \            /      \
 *     4 shards   0 (20)    2 (20)    1 (20)    3 (20)
 *
 * The shard map. Shard 0 has the true one: the number of shards (`count`), the epoch of the last
 * change, and for each power of two the epoch at which the bucket grew to it last (`grown`). An
 * epoch is the leader's clock, or one more than the epoch before, whichever is larger. Each command
 * brings the map that its sender knows, and a shard adopts a map that is newer than its own. So
 * growth reaches a shard with the next request.
 *
 * Growth. LIMITER_GROW at shard 0 doubles `count`. It is refused if the sender's epoch is not the
 * present one, so many senders who ask at a time get one growth. A shard that adopts a larger map
 * divides: half of its tokens stay, the other half is the reserved share of its child. The reserved
 * share stays in the item of the parent, and is refilled there as the child would be. A sender that
 * finds no child (LIMITER_ABSENT) asks the parent for the reserved share (LIMITER_RESERVE_CHILD),
 * and creates the child of it (LIMITER_CREATE_CHILD).
 *
 * An example. The capacity is 80, refill is left out, e1 < e2 < .. are epochs. `2: 15 @e3` is the
 * reserved share of shard 2, of the growth at e3. A share in brackets is spent, because its child
 * exists; it stays in the item, and is shown once. Shard 2 is never created.
 *
 *     step                               shard 0              shard 1        shard 3   total
 *     1. a request makes shard 0 at e1,
 *        and takes 20                    60                                            60
 *     2. GROW, e2: 2 shards              30, 1: 30 @e2                                 60
 *     3. shard 1 is absent: CREATE       30, [1: 30 @e2]      30                       60
 *     4. request R takes 10 at shard 1   30                   20                       50
 *     5. GROW, e3: 4 shards              15, 2: 15 @e3        20                       50
 *     6. a command with the map of e3
 *        comes to shard 1                15, 2: 15 @e3        10, 3: 10 @e3            50
 *     7. shard 3 is absent: CREATE       15, 2: 15 @e3        10, [3: ..]    10        50
 *     8. MERGE_BEGIN, e4: 2 shards stay  15, 2: 15 @e3        10, [3: ..]    10        50
 *     9. SEAL of shards 2 and 3          15, 2: 15 @e3        10, [3: ..]    10 sealed 50
 *    10. MERGE_IN at shards 0 and 1      30                   20             (sealed)  50
 *    11. MERGE_COMMIT, e5                30                   20             (sealed)  50
 *
 * Nobody asked for shard 2: its tokens waited in the item of shard 0, and shard 0 took them back in
 * step 10. Shard 3 had been created, so its own tokens went to its parent. The case "The example of
 * bucket.h" in tests/cases/limiter/shards.case runs these steps.
 *
 * Merging. LIMITER_MERGE_BEGIN at shard 0 halves `count`; no growth begins until the merging ends.
 * Each shard that goes is sealed (LIMITER_SEAL): it takes nothing more. A shard that was never
 * created gets a sealed item without tokens. The parent takes over the tokens of its sealed child,
 * or takes the reserved share back (LIMITER_MERGE_IN). When every parent has,
 * LIMITER_MERGE_COMMIT ends the merging: the epoch moves on, and `grown` is 0 for the number that
 * was given up. A shard that was created after its parent was merged may divide once more, because
 * an old command brings an old map. It takes the reserved share back when a command brings the map
 * after the merging.
 *
 * Why no token is minted. A reserved share becomes a shard once: LIMITER_CREATE_CHILD does nothing
 * if the child's item has reached the epoch of the share, alive or sealed, or if the sender's map
 * says that the bucket has grown to this number again since. In step 3 the second of two senders is
 * told LIMITER_NO_CHANGE. A sealed item stays until it expires, so a late command does not create
 * the shard again. An alive shard that has expired was full; by then what has become of its
 * reserved share is full as well, and the shard is created again as full as it was. Debt is never
 * cut off: a shard's debt is at most its share of LIMITER_MTOK_MAX, so two shards that merge have
 * room for theirs.
 *
 * Why no token is lost. Tokens are at any time in one item: in the shard's own balance, in its
 * reserved share, or in a sealed item until the parent has them. A shard is sealed before its
 * tokens are read, and the sender commits when every parent has them.
 *
 * Tokens of requests. Request R of step 4 has an idempotency key, whose hash 3 chooses its owner:
 * shard 3 mod count. With two shards the owner is shard 1, with four it is shard 3. The answer is
 * lost, and the client sends R again after step 5. The router first has shard 3 created, so shard 1
 * has adopted e3. Then the router asks the former owners, shards 0 and 1 (3 mod 1, 3 mod 2),
 * whether they know R. Shard 1 does, and R is not charged again. If R had been late instead of
 * done, shard 1 would refuse R from now on (LIMITER_NOT_OWNER), because shard 3 is the owner. So a
 * former owner that does not know a token will not do the request later (OWNER-1,
 * router/limiter/idempotency_lookup.h). A shard knows a token for `transaction_token_ms`; former
 * owners are asked for as long after a change of the number.
 *
 * What senders must heed. All this holds while sealed items stay (LIMITER_KEEP_MS). A sender drops
 * its copy of a shard map LIMITER_SHARD_MAP_TTL_MS after it has read shard 0, and a command arrives
 * within LIMITER_SHARD_MAP_TTL_MS or never (`expires_ms`). `sender_map` of a LIMITER_CREATE_CHILD
 * is at least as new as the epoch of the shard that had the reserved share.
 *
 * Not here: who sends commands, when a bucket grows or merges, and where an item is
 * (router/limiter). */
#pragma once

#include "base/codec.h"
#include "engine/item/item.h"

enum {
    LIMITER_LIMITS_MAX = 8, /* of a bucket, without the hidden one */
    LIMITER_SIZES = 8,      /* numbers of shards: 1, 2, 4, .. LIMITER_SHARDS_MAX */
    LIMITER_SHARDS_MAX = 128,
    LIMITER_NAME_MAX = 64,         /* bytes of a limit's name */
    LIMITER_KEEP_MS = 3600 * 1000, /* an item expires so long after its limits are full */
    LIMITER_SHARD_MAP_TTL_MS = LIMITER_KEEP_MS / 4,
};
#define LIMITER_TIME_MAX   (INT64_C(1) << 53)     /* of times in ms, and of epochs */
#define LIMITER_TOKENS_MAX INT64_C(1000000000000) /* of a limit */
#define LIMITER_MTOK_MAX   (1000 * LIMITER_TOKENS_MAX)
#define LIMITER_PERIOD_MAX (INT64_C(366) * 24 * 3600 * 1000) /* ms */
/* 15 digits: what any parser of structured fields (RFC 9651 3.3.1) and of JSON takes. */
#define LIMITER_WAIT_MS_MAX INT64_C(999999999999999)
#define LIMITER_WRITES_MWCU \
    INT64_C(1000000) /* the hidden limit: capacity, and refill in a second */
#define LIMITER_WRITES_NAME      "wcu"
#define LIMITER_REQUEST_MIN_MTOK 1000 /* the smallest useful request, if none is given */

/* A limit, as it was configured: of the whole bucket. */
struct limiter_limit {
    struct slice name;
    int64_t capacity; /* mtok, > 0 */
    int64_t amount;   /* mtok refilled in each period, > 0 */
    int64_t period_ms;
    int64_t request_min; /* mtok: the smallest useful request; no shard's share is smaller */
};

struct limiter_limits {
    uint64_t version; /* a later change has a larger one; at most INT64_MAX */
    uint32_t count;   /* may be 0 in a command that needs no limits, and in a sealed shard */
    struct limiter_limit at[LIMITER_LIMITS_MAX];
};

/* The hidden limit. Its share is that of shard 0 of 1. */
extern const struct limiter_limit limiter_write_limit;

/* The tokens of one limit in one shard. */
struct limiter_balance {
    int64_t tokens;   /* mtok */
    int64_t at_ms;    /* refilled up to here */
    int64_t fraction; /* of the next mtok: in [0, period_ms) / period_ms */
};

/* The share that a shard has reserved for its child. Balances are in the order of the limits. */
struct limiter_reserved_share {
    uint32_t child;
    uint64_t epoch; /* at which the bucket grew */
    /* at_ms is the same in all; the share is that of the child when it was created */
    struct limiter_balance balances[LIMITER_LIMITS_MAX];
};

/* The number of a bucket's shards, and how it came to be. Shard 0 has the true one. */
struct limiter_shard_map {
    uint64_t epoch;                /* of the last change; 0: the map is not known */
    uint32_t count;                /* a power of two */
    uint64_t grown[LIMITER_SIZES]; /* [i]: the epoch at which the bucket grew to 2^i shards last;
                                      [0]: at which it was made. 0: it has fewer, and those that it
                                      had are merged */
};

/* A shard's item, decoded. Names borrow from the item. */
struct limiter_bucket {
    uint32_t shard;
    uint32_t shards; /* its share is that of one of so many */
    uint64_t epoch;  /* of the newest shard map that it has adopted */
    bool sealed;     /* merged into its parent, or never created: it takes nothing */
    bool created;    /* of a sealed shard: it had been created; its balances are valid */
    struct limiter_limits limits;
    struct limiter_balance balances[LIMITER_LIMITS_MAX];
    int64_t taken[LIMITER_LIMITS_MAX]; /* mtok in all, adjustments included */
    /* mtok: `taken` less this is what was taken since the shard was created of its reserved share,
     * also by the shards that were merged into it; below 0: more was given back. */
    int64_t taken_before[LIMITER_LIMITS_MAX];
    struct limiter_balance write_balance; /* of the hidden limit, thousandths of write units */
    uint32_t reserved_count;
    struct limiter_reserved_share reserved[LIMITER_SIZES]; /* by child, ascending */
    int64_t admitted;                                      /* requests, since it was made */
    int64_t refused;    /* requests, as routers have reported them */
    int64_t changed_ms; /* when its number of shards changed last */
    /* of shard 0 */
    struct limiter_shard_map shard_map;
    bool merging; /* shards from shard_map.count on are not all sealed and merged yet */
};

/* The lowest balance of a limit in the shard: its share of the largest debt that a bucket may have.
 * Half of it is that of either half, with nothing left over. */
static inline int64_t limiter_balance_min(const struct limiter_bucket *b)
{
    _Static_assert(LIMITER_MTOK_MAX % (2 * LIMITER_SHARDS_MAX) == 0, "odd debt has room in halves");
    return -(LIMITER_MTOK_MAX / b->shards);
}

enum limiter_verb {
    LIMITER_TAKE = 1, /* takes `amounts`, or refuses; creates shard 0 */
    /* Takes `amounts`, below 0: gives back; into debt if need be. It is never refused for want of
     * tokens, but debt ends at limiter_balance_min: LIMITER_DEBT_TOO_LARGE. */
    LIMITER_ADJUST,
    LIMITER_GROW,          /* shard 0: twice as many shards, if the epoch is still the sender's */
    LIMITER_RESERVE_CHILD, /* reserves the share of `child`, unless that was done */
    LIMITER_CREATE_CHILD,  /* to the child: creates it of `reserved_share` */
    LIMITER_MERGE_BEGIN,   /* shard 0: half as many shards, if the epoch is still the sender's */
    LIMITER_SEAL,          /* of a shard that goes: takes nothing more */
    LIMITER_MERGE_IN,      /* takes over the tokens in `reserved_share` of its sealed child */
    LIMITER_MERGE_COMMIT,  /* shard 0: all shards that go were merged. The epoch moves on */
    LIMITER_CONFIGURE,     /* nothing but the newer limits, and growth */
    LIMITER_RESET,         /* fills all limits */
    LIMITER_VERBS,
};

/* Why a command was not done; the item is as before. Numbers are never reused: replies carry
 * them. */
enum limiter_refusal {
    LIMITER_DONE = 0,
    LIMITER_TOO_FEW_TOKENS = 1,
    LIMITER_TOO_FEW_WRITES = 2, /* the hidden limit has too few write units */
    LIMITER_ABSENT = 3,    /* there is no such shard, or only one of a former epoch: create it */
    LIMITER_SEALED = 4,    /* the shard was merged into its parent */
    LIMITER_NO_CHANGE = 5, /* it was done before, or the epoch has moved on */
    LIMITER_EXPIRED = 6,   /* the command came after expires_ms */
    LIMITER_NOT_OWNER = 7, /* the token may belong to another shard (`token_has_owner`) */
    LIMITER_NO_LIMIT = 8,  /* an amount is for a limit that the bucket does not have any more */
    LIMITER_NO_BUCKET = 9, /* the item is not a bucket */
    LIMITER_DEBT_TOO_LARGE = 10, /* a limit would be below limiter_balance_min */
    LIMITER_REFUSALS,
};

/* Slices lend from the bytes. */
struct limiter_command {
    uint8_t verb;
    uint32_t shard;
    struct limiter_shard_map sender_map; /* the sender's copy of shard 0's map */
    struct limiter_limits limits;
    int64_t amounts[LIMITER_LIMITS_MAX]; /* TAKE, ADJUST: mtok, in the order of `limits` */
    /* Of the hidden limit: the cost of this write, and the deferred cost of earlier requests that
     * left no trace. More than LIMITER_WRITES_MWCU counts as that. */
    int64_t mwcu;
    int64_t unreported_refusals; /* requests that the router has refused, and not reported yet */
    int64_t expires_ms;          /* 0: never. Otherwise the command is refused from then on */
    /* TAKE, ADJUST: the command is done only if `owner_key` modulo the shard's number of shards is
     * the shard, and the sender's map is as new as the shard's. */
    bool token_has_owner;
    uint64_t owner_key;
    uint32_t child; /* RESERVE_CHILD */
    /* CREATE_CHILD. MERGE_IN: what the sealed child has, with the child's epoch. */
    struct limiter_reserved_share reserved_share;
    bool created; /* MERGE_IN: the child had been created; else its share is still reserved here */
};

/* The fields in their order; a reader fails on what cannot be. */
void limiter_command_walk(struct codec *c, struct limiter_command *command);

/* Runs the command on a valid item. `exists` false: there is no item yet, and `old` has only the
 * key. LIMITER_DONE: `out` gets the new item, with header and checksum. Otherwise nothing is
 * appended. */
enum limiter_refusal limiter_apply(const struct limiter_command *command, struct slice old,
                                   bool exists, int64_t now_ms, struct buffer *out);

/* False: the item is not a bucket. */
bool limiter_bucket_decode(struct slice item, struct limiter_bucket *out);

/* ---- arithmetic ---- */

/* The shard's share of a capacity or an amount. */
int64_t limiter_share(int64_t whole, uint32_t shard, uint32_t shards);
/* Refills up to `now_ms`. */
void limiter_refill(struct limiter_balance *balance, const struct limiter_limit *limit,
                    uint32_t shard, uint32_t shards, int64_t now_ms);
/* How long until that many mtok are refilled, rounded up; at most LIMITER_WAIT_MS_MAX. */
int64_t limiter_refill_ms(int64_t mtok, int64_t amount, int64_t period_ms);
/* From at_ms on, until the balance has so many tokens by refilling alone; INT64_MAX: never, the
 * share is smaller. */
int64_t limiter_wait_ms(const struct limiter_balance *balance, const struct limiter_limit *limit,
                        uint32_t shard, uint32_t shards, int64_t tokens);
/* How many shards the limits allow: no share may be smaller than the smallest useful request. */
uint32_t limiter_shards_max(const struct limiter_limits *limits);
/* What is wrong with the limits; NULL: nothing. A static text. */
const char *limiter_limits_fault(const struct limiter_limits *limits);

/* The parent of a shard, which has divided into both: without its highest bit. `shard` > 0. */
uint32_t limiter_parent_shard(uint32_t shard);
/* The place in `grown` of the number of shards at which the shard was created. */
uint32_t limiter_size_of(uint32_t shard);
