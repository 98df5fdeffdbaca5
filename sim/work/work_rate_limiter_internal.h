/* work_rate_limiter_internal.h - what work_rate_limiter.c, the load, and limiter_final_check.c,
 * the final check, share. */
#pragma once

#include "sim/check/limiter_ledger_check.h"
#include "sim/work/work_rate_limiter.h"

enum {
    WORK_LIMITER_BUCKETS = 4,
    WORK_LIMITER_TOP = 3,    /* the parent of buckets 1 and 2; nobody asks it for tokens itself */
    WORK_LIMITER_GROUPS = 3, /* levels with limits: of bucket 0, of buckets 1 and 2, of bucket 3 */
    WORK_LIMITER_SETTINGS = 5, /* at the start: the levels, and two parents */
    WORK_LIMITER_VERSION_LAST =
        1 << 20, /* the version of the last limits, by which all is full soon */
    TOKEN_SPREAD_MS = 5 * 60000,
    HOUR_MS = 3600 * 1000
};

/* All items of one bucket. */
struct limiter_bucket_items {
    uint32_t items;
    uint32_t open;                        /* shards that take requests */
    uint32_t count;                       /* of shards, as shard 0 says; 0: there is no shard 0 */
    bool merging;                         /* as shard 0 says */
    int64_t taken[LIMITER_LEDGER_LIMITS]; /* counted by all items */
    int64_t where
        [LIMITER_LEDGER_LIMITS]; /* the same, each times its shard: tells which item has counted */
    int64_t epoch;               /* of shard 0 */
    int64_t tokens[LIMITER_LEDGER_LIMITS]; /* of open shards */
    int64_t capacity[2]
                    [LIMITER_LEDGER_LIMITS]; /* of open shards' limits: the least, and the most */
    int64_t refused;                         /* requests that all items have counted */
};

enum limiter_step {
    LIMITER_STEP_SET = WORK_STEPS, /* limits, or a parent */
    LIMITER_STEP_TAKE,             /* acquire, or a use of a lease */
    LIMITER_STEP_PRESS,            /* a write to an item */
    LIMITER_STEP_QUERY,            /* status, or what is available */
    LIMITER_STEP_SCAN,
};

enum limiter_use {
    LIMITER_USE_ACQUIRE,
    LIMITER_USE_CONSUME,
    LIMITER_USE_ADJUST,
    LIMITER_USE_RELEASE,
    LIMITER_USE_COMMIT,
    LIMITER_USE_ROLLBACK,
    LIMITER_USES,
};

/* The final check, step by step. */
enum limiter_final_step {
    FINAL_NONE,
    FINAL_WAIT,         /* until no abandoned call is on its way */
    FINAL_SHAPE,        /* until each bucket has one shard */
    FINAL_COUNT,        /* all items are read */
    FINAL_FLOOD,        /* requests that must be refused, most of them by the router alone */
    FINAL_GROW,         /* a bucket is short of write units until it has more shards */
    FINAL_OPEN,         /* these shards are made */
    FINAL_LEASE,        /* a lease gives back to the shard that it is of */
    FINAL_SET,          /* limits that refill fast */
    FINAL_LIMITS_KNOWN, /* all shards have them */
    FINAL_FULL,         /* until the bucket is full */
    FINAL_TAKE,         /* all it has */
    FINAL_RECOUNT,
};

struct limiter_client {
    struct work_client client; /* the body is sent again as it is */
    const char *operation;     /* borrows */
    char path[128];
    uint32_t sets; /* LIMITER_STEP_SET: the group; from WORK_LIMITER_GROUPS on a parent */
    /* LIMITER_STEP_TAKE */
    enum limiter_use use;
    uint32_t bucket;
    int64_t amounts[LIMITER_LEDGER_LIMITS];
    size_t entries[2]; /* in the ledger of the bucket, and of its parent */
    bool keyed;        /* it has a token: it is sent again until it is answered */
    bool leases;
    bool doubtful;  /* an attempt was not answered, and may be done yet */
    bool counted;   /* it was done, and is sent once more */
    uint32_t tries; /* that were not answered, one after the other */
    /* the lease; empty: none */
    struct buffer lease;
    uint32_t lease_bucket;
    int64_t held[LIMITER_LEDGER_LIMITS];
    enum limiter_final_step final;
};

struct work_rate_limiter {
    struct work_clients clients;
    int64_t nodes_spread_ms; /* between the wall clocks of two nodes, at most */
    int64_t spread_ms;       /* between those of any two processes */
    struct limiter_ledger ledger[WORK_LIMITER_BUCKETS];
    int64_t capacity[WORK_LIMITER_BUCKETS][LIMITER_LEDGER_LIMITS]; /* of the first limits */
    uint32_t shards_max;                                           /* that the limits allow */
    uint32_t shards[WORK_LIMITER_BUCKETS];                         /* by the last status */
    uint32_t shards_seen;                                          /* the most */
    uint32_t versions[WORK_LIMITER_GROUPS];
    struct instant change_from; /* until then a former change may still come late */
    uint64_t keys;
    uint32_t made; /* settings at the start that are done */
    /* of the last look */
    struct instant until; /* the step must be over */
    uint32_t unanswered;  /* requests without an answer, one after the other */
    struct instant answer_until;
    int64_t pause_ns; /* before the next request */
    uint32_t tries;   /* in vain */
    uint32_t checked; /* buckets, or groups, that the step is done with */
    struct limiter_bucket_items items[WORK_LIMITER_BUCKETS];
    struct buffer next; /* the Scan of the next page; empty: the first, or there is none */
    uint32_t tried;     /* requests of the step */
    bool fair;          /* FINAL_GROW: the table has had units for the round so far */
    uint32_t fair_rounds;
    uint32_t floods;
    int64_t refused;                      /* requests that the first bucket has counted */
    int64_t where[LIMITER_LEDGER_LIMITS]; /* FINAL_LEASE: before the lease */
    int64_t epoch;
    bool trial_is_open; /* a request of the step was not answered */
    int64_t counted[WORK_LIMITER_BUCKETS]
                   [LIMITER_LEDGER_LIMITS]; /* by the items, at the first count */
};

extern const char *const work_rate_limiter_entities[WORK_LIMITER_BUCKETS];

static inline struct work_rate_limiter *limiter_of(const struct limiter_client *c)
{
    return (struct work_rate_limiter *)c->client.all;
}

static inline struct instant limiter_now(const struct work_rate_limiter *l)
{
    return work_clients_now(&l->clients);
}

/* Only the first thing that is wrong counts. */
void work_rate_limiter_wrong(struct work_rate_limiter *l, const char *what, struct slice body);
bool work_rate_limiter_often(struct limiter_client *c, uint32_t percent);
void work_rate_limiter_rules(const struct work_rate_limiter *l, uint32_t bucket, uint32_t version,
                             struct limiter_ledger_rule out[LIMITER_LEDGER_LIMITS]);
uint32_t work_rate_limiter_group(uint32_t bucket);
/* The pause after a request that was in vain; `tries` counts them. */
int64_t work_rate_limiter_pause(uint32_t *tries);

/* These write a request. */
void work_rate_limiter_write_set(struct limiter_client *c, uint32_t group, uint32_t version);
void work_rate_limiter_write_acquire(struct limiter_client *c, bool keyed, int64_t lease_ms);
void work_rate_limiter_write_use(struct limiter_client *c, enum limiter_use use);
void work_rate_limiter_write_query(struct limiter_client *c, const char *page, uint32_t bucket);

void work_rate_limiter_write_press(struct limiter_client *c, uint32_t bucket, uint32_t shard,
                                   int64_t units);

/* How long all steps take at most. */
struct duration final_check_time_all(const struct work_rate_limiter *l);
/* The next request of the last look. */
void final_check_choose(struct limiter_client *c);
void final_check_answered(struct limiter_client *c, int status, struct slice body);
/* The step begins; it has a bound of time. */
void final_check_step(struct limiter_client *c, enum limiter_final_step step, uint32_t checked);
/* The step has not come further. Wrong, if its time is over. */
void final_check_late(struct limiter_client *c, const char *what, struct slice body);
/* The same for what was not answered: some answer must come in the time that a step has. A step
 * whose requests are answered may be repeated for longer. */
void final_check_unanswered(struct limiter_client *c, const char *what, struct slice body);
/* Writes the request that reads the items, or the next page of them. */
void final_check_write_count(struct limiter_client *c);
/* True: all items are read. */
bool final_check_counted(struct limiter_client *c, int status, struct slice body);

/* limiter_scripted.c: FINAL_FLOOD, FINAL_GROW, FINAL_OPEN, FINAL_LEASE and FINAL_LIMITS_KNOWN. */
void trial_choose(struct limiter_client *c);
void trial_answered(struct limiter_client *c, int status, struct slice body);
