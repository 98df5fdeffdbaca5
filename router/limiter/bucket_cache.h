/* bucket_cache.h - a router's cache of buckets: their limits, their shard maps, and the balances of
 * their shards as they were read last.
 *
 * All of this may be old. It only saves reads, spreads load, and refuses what cannot have been
 * refilled: the shard decides what is taken.
 *
 * Invariants
 *   CACHE-1  The number of shards never goes back to a former epoch.
 *   CACHE-2  A request is refused from the cache only while no shard can have enough by refilling,
 *            or during the backoff of CACHE-3. Each shard's tokens are refilled up to now, from
 *            when the router sent its request, not from the answer. Other routers may give tokens
 *            back; so a shard's balances count for LIMITER_SHARD_FRESH_MS.
 *   CACHE-3  Routers do not all charge an empty shard at once for what it has just refilled: each
 *            backs off. The backoff doubles when the shard refuses, up to an eighth of the time in
 *            which its share fills: so no refill is lost.
 * Bound: limiter_buckets_max buckets; the one that was not used for the longest time goes first. */
#pragma once

#include "base/id_map.h"
#include "base/metrics.h"
#include "router/limiter/limit_scope.h"

struct router;
struct event_call;

enum {
    LIMITER_SHARD_FRESH_MS = 1000,
    LIMITER_CHAIN_MAX = 4 /* an entity, its parent, that one's parent, .. */
};

/* A shard as it was read last. */
struct cached_shard {
    bool is_valid;               /* the next members are valid */
    int64_t changed_ms;          /* when its number of shards changed, by its leader's clock */
    struct instant changed_at;   /* when the router learned of that */
    struct instant requested_at; /* when the router sent the request that the shard answered */
    int64_t at_ms;               /* the shard's time then */
    uint32_t shards;             /* its share was that of one of so many */
    uint64_t epoch;              /* of the shard map that it has adopted */
    uint64_t version; /* of its limits; balances are in the order of cached_bucket.limits */
    struct limiter_balance balances[LIMITER_LIMITS_MAX];
    int64_t requests;                      /* that it has counted */
    int64_t in_flight[LIMITER_LIMITS_MAX]; /* mtok that requests to it are for */
    int64_t write_tokens;                  /* of the hidden limit */
    int64_t cost_mcu;                      /* of the last write; 0: none yet */
    int64_t backoff_ms; /* after it was found empty: no refill is counted so long */
    struct instant backoff_until;
    bool by_transaction;        /* what is known of it came with the end of a transaction */
    bool in_transaction;        /* a transaction of this router holds it: transaction_queue.h */
    int64_t deferred_cost_mwcu; /* write units that its next write is charged for */
    struct instant deferred_at;
};

struct cached_bucket {
    uint64_t hash;
    struct bucket_name name;  /* borrows from `name_bytes` */
    struct buffer name_bytes; /* owns */
    uint32_t ref_count;       /* calls that use it: it stays */
    /* limits, as their scopes say */
    bool configured; /* the next members are valid */
    struct instant limits_valid_until;
    struct limiter_limits limits; /* names borrow from `names` */
    enum limit_scope scope;       /* the limits are set there */
    enum on_unavailable on_unavailable;
    struct slice parent; /* whose limits are charged too; empty: none; borrows from `names` */
    struct buffer names; /* owns */
    /* shards */
    struct limiter_shard_map shard_map;
    struct instant shard_map_read_at; /* from shard 0 */
    bool merging;
    int64_t changed_ms;
    struct instant changed_at;   /* when the router learned of that */
    struct cached_shard *shards; /* owns; by shard */
    uint32_t shards_allocated;
    uint32_t next_shard;             /* the shard that is charged next */
    int64_t unreported_refusals;     /* refused here, and not reported to a shard yet */
    bool in_maintenance;             /* a maintenance call is at work on it */
    struct instant maintenance_from; /* the next one begins then at the earliest */
    int64_t maintenance_backoff_ms;  /* after the last one, which failed; 0: it did not */
    struct instant check_from;       /* maintenance checks it then at the earliest */
    int64_t check_interval_ms;       /* between checks; 0: something has changed */
    bool is_checked;                 /* the next two are valid */
    struct instant checked_at;       /* when maintenance read all shards */
    int64_t checked_requests;        /* that the shards had counted then */
    struct instant idle_since;       /* it has needed half as many shards at most */
    int64_t admitted;                /* by this router, since it knows the bucket */
    int64_t refused;
    TAILQ_ENTRY(cached_bucket) lru_entry; /* the longest unused first */
};

/* What this router has counted of a namespace. */
struct namespace_counts {
    char name[LIMITER_NAMESPACE_MAX + 1];
    struct metrics_limiter counts;
};

enum {
    LIMITER_NAMESPACES_MAX =
        64 /* namespaces with counts of their own; the last counts all others */
};

struct limiter {
    struct id_map buckets;
    TAILQ_HEAD(, cached_bucket) lru;
    uint32_t count;
    struct namespace_counts namespaces[LIMITER_NAMESPACES_MAX];
    uint32_t namespace_count;
    struct timer_queue retry_timers;
    struct timer_queue deadline_timers;
    struct timer_queue check_timers;
    struct timer_queue queue_timers;
    TAILQ_HEAD(, limiter_call) queue; /* calls that wait for a shard; borrows */
    struct timer queue_timer;         /* a shard was released */
    struct timer check_timer;
    struct instant
        checks_from;         /* until then maintenance reads nothing: the table has too few units */
    struct call *sweep;      /* NULL: none; borrows */
    struct instant sweep_at; /* the next page is read then at the earliest */
    struct buffer sweep_key; /* the storage key that it begins with; empty: the first */
    LIST_HEAD(, bucket_maintenance) maintenance_calls; /* without a client */
    LIST_HEAD(, event_call) event_calls;
    struct instant last_event_at; /* events are at least EVENT_INTERVAL_MS apart */
};

void limiter_init(struct router *r);
void limiter_deinit(struct router *r);

/* The bucket, which is in use until bucket_release. */
struct cached_bucket *bucket_hold(struct router *r, const struct bucket_name *name);
void bucket_release(struct router *r, struct cached_bucket *b);

/* Sets what the scopes say. `items` by enum limit_scope; empty: no such item. */
void bucket_configure(struct router *r, struct cached_bucket *b,
                      const struct slice items[LIMIT_SCOPES]);
/* The same for all buckets of the namespace; entity and resource count if they are not empty. */
void limiter_expire_limits(struct router *r, const struct bucket_name *of);

/* The place of a limit; limits.count: not found. */
uint32_t bucket_find_limit(const struct cached_bucket *b, struct slice name);

/* The cached shard. */
struct cached_shard *bucket_shard(struct cached_bucket *b, uint32_t shard);
/* A shard's item was read. `requested_at`: when the request for it was sent. `leader_ms`: what its
 * leader's clock said then; 0: the item was written then. False: the item is not a bucket. */
bool bucket_update_from_shard(struct router *r, struct cached_bucket *b, uint32_t shard,
                              struct slice item, struct instant requested_at, int64_t leader_ms,
                              struct limiter_bucket *out);
/* Drops the shard map and the shards if they are too old (LIMITER_SHARD_MAP_TTL_MS). */
void bucket_expire_shard_map(const struct router *r, struct cached_bucket *b);
/* The number of shards that requests are spread over; at least 1. */
uint32_t bucket_shard_count(const struct cached_bucket *b);
/* Whether the bucket needs more shards because of this one: it has few write units left, and it is
 * long enough ago that it got a smaller share. `empty`: it has refused a request for that. */
bool bucket_shard_is_hot(const struct router *r, const struct cached_bucket *b, uint32_t shard,
                         bool empty);

/* The sweeper has found shard 0, as it was some time ago. */
void bucket_update_from_sweep(struct router *r, struct cached_bucket *b,
                              const struct limiter_bucket *first);

/* A request for these amounts is in flight to the shard (`sign` 1), or answered (-1): meanwhile
 * other requests do not count on them. */
void bucket_add_in_flight(struct cached_bucket *b, uint32_t shard, const int64_t amounts[],
                          int sign);
/* The shard was last read with a charge of these amounts, and of `mwcu` of the hidden limit, that
 * did not take place. */
void bucket_return_charge(struct cached_bucket *b, uint32_t shard, const int64_t amounts[],
                          int64_t mwcu);
/* A request for these amounts, sent at `requested_at`, was done, or refused because the shard had
 * too few tokens: sets how long the router backs off from the shard. */
void bucket_update_backoff(const struct router *r, struct cached_bucket *b, uint32_t shard,
                           const int64_t amounts[], struct instant requested_at, bool done);
/* A request that left no trace in the shard has cost so much: the shard's next write is charged for
 * it. */
void bucket_add_deferred_cost(const struct router *r, struct cached_bucket *b, uint32_t shard,
                              int64_t mcu);
/* Whether all shards were read within LIMITER_SHARD_FRESH_MS, after the last transaction. A charge
 * of several shards by older balances is often refused, and costs as many writes. */
bool bucket_is_fresh(const struct router *r, const struct cached_bucket *b);
/* The maximum of tokens of the limit that the shard can have now by refilling. */
int64_t bucket_tokens_max(const struct router *r, const struct cached_bucket *b, uint32_t shard,
                          uint32_t limit);
/* The same of all shards. */
int64_t bucket_tokens_max_total(const struct router *r, const struct cached_bucket *b,
                                uint32_t limit);
/* How long until that many can have been refilled in all shards, at most LIMITER_WAIT_MS_MAX. -1:
 * never, the capacity is smaller. */
int64_t bucket_wait_ms(const struct router *r, const struct cached_bucket *b, uint32_t limit,
                       int64_t mtok);
/* The time until one shard alone has all the amounts, as far as it is known. */
int64_t bucket_shard_wait_ms(const struct router *r, const struct cached_bucket *b,
                             const int64_t amounts[]);

struct metrics_limiter *limiter_counts(struct router *r, struct slice name);
