/* buckets.h - what a router remembers of buckets: their limits, their shards, and what the shards had
 * when they were heard of last.
 *
 * All of this may be old. It only saves reads, spreads load, and refuses what cannot have been
 * refilled: what is taken is decided at the shard.
 *
 * Invariants
 *   KNOWN-1  The number of shards never goes back to a former epoch.
 *   KNOWN-2  A request is refused from memory only while no shard can have enough by refilling, or in
 *            the pause of KNOWN-3. Each shard's tokens are reckoned up to now, from when the router
 *            asked, not from the answer.
 *            Other routers may give tokens back; so what was heard counts for LIMITER_HEARD_MS.
 *   KNOWN-3  Routers do not ask an empty shard all at once for what it has just refilled: each lets it
 *            refill for a pause. The pause doubles when a shard was asked in vain, up to an eighth of the
 *            time in which its share fills: so no refill is lost.
 * Bound: limiter_buckets_max buckets; the one that was not used for the longest time goes first. */
#pragma once

#include "base/id_map.h"
#include "base/metrics.h"
#include "router/limiter/levels.h"

struct router;
struct tell;

enum {
    LIMITER_HEARD_MS = 1000,
    LIMITER_CHAIN_MAX = 4 /* an entity, its parent, that one's parent, .. */
};

/* What a shard had. */
struct known_shard {
    bool heard;             /* the next members are valid */
    bool sure;              /* at_ms is what its leader's clock said, not the router's */
    int64_t changed_ms;     /* when it heard of its number of shards, by its leader's clock */
    struct instant changed; /* .. when the router learned of that */
    struct instant asked;   /* when the router asked */
    int64_t at_ms;          /* the shard's time then */
    uint32_t shards;        /* its share was that of one of so many */
    uint64_t epoch;         /* up to which it knows of changes of the number of shards */
    uint64_t version;       /* of its limits; levels are in the order of known_bucket.limits */
    struct limiter_balance levels[LIMITER_LIMITS_MAX];
    int64_t requests;                   /* that it has counted */
    int64_t on_way[LIMITER_LIMITS_MAX]; /* mtok that requests to it are for */
    int64_t writes;                     /* of the hidden limit */
    int64_t cost_mcu;                   /* of the last write; 0: none yet */
    int64_t pause_ms; /* after it was found empty, no refill is reckoned so long */
    struct instant paused_until;
    bool has_turn;     /* a transaction of this router is at it: turns.h */
    int64_t owed_mwcu; /* write units that the shard was not charged for */
    struct instant owed_at;
};

struct known_bucket {
    uint64_t hash;
    struct bucket_name name; /* borrows from `text` */
    struct buffer text;      /* owns */
    uint32_t uses;           /* by calls: it stays */
    /* limits, as the levels say */
    bool configured; /* the next members are valid */
    struct instant fresh_until;
    struct limiter_limits limits; /* names borrow from `words` */
    enum level level;             /* that gives the limits */
    enum on_unavailable on_unavailable;
    struct slice parent; /* whose limits are charged too; empty: none; borrows from `words` */
    struct buffer words; /* owns */
    /* shards */
    struct limiter_shard_map shards;
    struct instant shards_heard; /* of shard 0 */
    bool merging;
    int64_t changed_ms;
    struct instant changed; /* when the router learned of that */
    struct known_shard *at; /* owns; by shard */
    uint32_t at_count;
    uint32_t turn;             /* of the shard that is asked next */
    int64_t attempts;          /* refused here, and told to no shard yet */
    bool tended;               /* a call of the router's own is at work on it */
    struct instant tend_from;  /* the next one begins then at the earliest */
    int64_t tend_pause_ms;     /* after the last one, which failed; 0: it did not */
    struct instant look_from;  /* the aggregator looks at it then at the earliest */
    int64_t look_pause_ms;     /* between its looks; 0: something has changed */
    bool looked;               /* the next two are valid */
    struct instant looked_at;  /* at all shards, by the aggregator */
    int64_t looked_requests;   /* that the shards had counted then */
    struct instant idle_since; /* it has needed half as many shards at most */
    int64_t admitted;          /* by this router, since it knows the bucket */
    int64_t refused;
    TAILQ_ENTRY(known_bucket) used; /* the longest unused first */
};

/* What this router has counted of a namespace. */
struct space_counts {
    char name[WORDS_NAMESPACE_MAX + 1];
    struct metrics_limiter counts;
};

enum {
    LIMITER_SPACES_MAX = 64 /* namespaces with counts of their own; the last counts all others */
};

struct limiter {
    struct id_map buckets;
    TAILQ_HEAD(, known_bucket) used;
    uint32_t count;
    struct space_counts spaces[LIMITER_SPACES_MAX];
    uint32_t space_count;
    struct timer_queue pauses;
    struct timer_queue deadlines;
    struct timer_queue looks;
    struct timer_queue turns;
    TAILQ_HEAD(, session) waiting; /* for a turn; borrows */
    struct timer turn;             /* one has ended */
    struct timer look;
    struct instant
        look_from;       /* until then the aggregator reads nothing: the table has too few units */
    struct call *patrol; /* NULL: none; borrows */
    struct instant patrol_at;  /* the next page is read then at the earliest */
    struct buffer patrol_from; /* the storage key that it begins with; empty: the first */
    LIST_HEAD(, tend) tends;   /* calls of the router's own */
    LIST_HEAD(, tell) tells;
    struct instant told; /* of an event: events are at least EVENT_PAUSE_MS apart */
};

void limiter_init(struct router *r);
void limiter_deinit(struct router *r);

/* The bucket, which is in use until bucket_release. */
struct known_bucket *bucket_hold(struct router *r, const struct bucket_name *name);
void bucket_release(struct router *r, struct known_bucket *b);

/* Sets what the levels say. `items` by enum level; empty: no such item. */
void bucket_configure(struct router *r, struct known_bucket *b, const struct slice items[LEVELS]);
/* The limits are asked for before they are used again. */
void bucket_forget_limits(struct known_bucket *b);
/* The same for all buckets of the namespace; entity and resource count if they are not empty. */
void limiter_forget_limits(struct router *r, const struct bucket_name *of);

/* The place of a limit; limits.count: there is none. */
uint32_t bucket_limit(const struct known_bucket *b, struct slice name);

/* What is remembered of the shard. */
struct known_shard *bucket_shard(struct known_bucket *b, uint32_t shard);
/* A shard's item has come. `asked`: when it was asked for. `leader_ms`: what its leader's clock said
 * then; 0: the item was written then; -1: not known. False: it is none of a bucket. */
bool bucket_heard(struct router *r, struct known_bucket *b, uint32_t shard, struct slice item,
                  struct instant asked, int64_t leader_ms, struct limiter_bucket *out);
/* Forgets what it knows of the shards if that is too old (LIMITER_SHARD_MAP_TTL_MS). */
void bucket_check_age(const struct router *r, struct known_bucket *b);
/* The number of shards that requests are spread over; at least 1. */
uint32_t bucket_count(const struct known_bucket *b);
/* Whether the shard needs help with what is written to it: it has few write units left, and it is long
 * enough ago that it got a smaller share. `empty`: it has refused a request for that. */
bool bucket_is_pressed(const struct router *r, const struct known_bucket *b, uint32_t shard,
                       bool empty);

/* A walk through the table has found shard 0, as it was some time ago. */
void bucket_seen(struct router *r, struct known_bucket *b, const struct limiter_bucket *first);

/* A request for so much is on its way to the shard (`sign` 1), and is answered (-1): meanwhile others do
 * not count on that. */
void bucket_reckon(struct known_bucket *b, uint32_t shard, const int64_t amounts[], int sign);
/* The shard was charged so much, and `mwcu` of the hidden limit; its item did not come. */
void bucket_took(const struct router *r, struct known_bucket *b, uint32_t shard,
                 const int64_t amounts[], int64_t mwcu);
/* A request for so much, sent at `asked`, was done, or refused because the shard had too few tokens: sets how
 * long the router leaves the shard alone. */
void bucket_learn_pause(const struct router *r, struct known_bucket *b, uint32_t shard,
                        const int64_t amounts[], struct instant asked, bool done);
/* A request that left no trace in the shard has cost so much. */
void bucket_owe(const struct router *r, struct known_bucket *b, uint32_t shard, int64_t mcu);
/* Whether all shards were heard of lately. */
bool bucket_is_known(const struct router *r, const struct known_bucket *b);
/* The most tokens of the limit that the shard can have now by refilling. */
int64_t bucket_possible(const struct router *r, const struct known_bucket *b, uint32_t shard,
                        uint32_t limit);
/* The same of all shards. */
int64_t bucket_possible_in_all(const struct router *r, const struct known_bucket *b,
                               uint32_t limit);
/* How long until that many can have been refilled in all shards, at most LIMITER_WAIT_MS_MAX. -1:
 * never, the capacity is smaller. */
int64_t bucket_wait_ms(const struct router *r, const struct known_bucket *b, uint32_t limit,
                       int64_t mtok);

struct metrics_limiter *limiter_counts(struct router *r, struct slice name);
