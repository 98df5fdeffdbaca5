/* limits_internal.h - what limits.c, the load, and limits_audit.c, the last look, share. */
#pragma once

#include "base/must.h"
#include "base/prng.h"
#include "sim/limit_books.h"
#include "sim/limits.h"

enum {
    LIMIT_BUCKETS = 4,
    LIMIT_TOP = 3,           /* the parent of buckets 1 and 2; nobody asks it for tokens itself */
    LIMIT_GROUPS = 3,        /* levels with limits: of bucket 0, of buckets 1 and 2, of bucket 3 */
    LIMITS_SETTINGS = 5,     /* at the start: the levels, and two parents */
    LIMITS_QUIET_MS = 12000, /* then no abandoned call is on its way any more */
    LIMITS_LAST = 1 << 20,   /* the version of the last limits, by which all is full soon */
    TOKEN_SPREAD_MS = 5 * 60000,
    HOUR_MS = 3600 * 1000
};

/* All items of one bucket. */
struct limit_items {
    uint32_t items;
    uint32_t open;                /* shards that take requests */
    uint32_t count;               /* of shards, as shard 0 says; 0: there is no shard 0 */
    bool merging;                 /* as shard 0 says */
    int64_t taken[BOOKS_LIMITS];  /* counted by all items */
    int64_t where[BOOKS_LIMITS];  /* the same, each times its shard: tells which item has counted */
    int64_t epoch;                /* of shard 0 */
    int64_t tokens[BOOKS_LIMITS]; /* of open shards */
    int64_t capacity[2][BOOKS_LIMITS]; /* of open shards' limits: the least, and the most */
    int64_t refused;                   /* requests that all items have counted */
};

enum limit_work {
    LIMIT_IDLE,
    LIMIT_SET,   /* limits, or a parent */
    LIMIT_TAKE,  /* acquire, or a use of a lease */
    LIMIT_PRESS, /* a write to an item */
    LIMIT_LOOK,  /* status, or what is available */
    LIMIT_SCAN,
    LIMIT_DONE,
};

enum limit_use {
    LIMIT_ACQUIRE,
    LIMIT_CONSUME,
    LIMIT_ADJUST,
    LIMIT_RELEASE,
    LIMIT_COMMIT,
    LIMIT_ROLLBACK,
    LIMIT_USES,
};

/* The last look, step by step. */
enum limit_audit {
    AUDIT_NONE,
    AUDIT_WAIT,  /* until no abandoned call is on its way */
    AUDIT_SHAPE, /* until each bucket has one shard */
    AUDIT_COUNT, /* all items are read */
    AUDIT_FLOOD, /* requests that must be refused, most of them by the router alone */
    AUDIT_GROW,  /* a bucket is short of write units until it has more shards */
    AUDIT_OPEN,  /* .. which are made */
    AUDIT_LEASE, /* a lease gives back to the shard that it is of */
    AUDIT_SET,   /* limits that refill fast */
    AUDIT_TOLD,  /* all shards have them */
    AUDIT_FULL,  /* until the bucket is full */
    AUDIT_TAKE,  /* all it has */
    AUDIT_RECOUNT,
};

struct limit_client {
    struct limits *all; /* borrows */
    struct http_client http;
    struct prng prng;
    uint32_t number; /* of the client */
    enum limit_work work;
    const char *operation; /* borrows */
    char path[128];
    struct buffer body; /* of the request: sent again as it is */
    uint32_t sets;      /* LIMIT_SET: the group; from LIMIT_GROUPS on a parent */
    /* LIMIT_TAKE */
    enum limit_use use;
    uint32_t bucket;
    int64_t amounts[BOOKS_LIMITS];
    size_t entries[2]; /* in the books of the bucket, and of its parent */
    bool keyed;        /* it has a token: it is sent again until it is answered */
    bool leases;
    bool doubtful;  /* an attempt was not answered, and may be done yet */
    bool counted;   /* it was done, and is sent once more */
    uint32_t tries; /* that were not answered, one after the other */
    /* the lease; empty: none */
    struct buffer lease;
    uint32_t lease_bucket;
    int64_t held[BOOKS_LIMITS];
    enum limit_audit audit;
    int last_status;
    struct buffer last_error;
};

struct limits {
    struct limits_options options;
    struct limit_client *clients; /* owns */
    struct limit_books books[LIMIT_BUCKETS];
    int64_t capacity[LIMIT_BUCKETS][BOOKS_LIMITS]; /* of the first limits */
    uint32_t shards_most;                          /* that the limits allow */
    uint32_t shards[LIMIT_BUCKETS];                /* that a status has told of last */
    uint32_t shards_seen;                          /* the most */
    uint32_t versions[LIMIT_GROUPS];
    struct instant change_from; /* until then a former change may still come late */
    uint64_t keys;
    uint32_t made; /* settings at the start that are done */
    bool on;
    bool ending;
    struct buffer wrong; /* empty: nothing */
    /* of the last look */
    struct instant until; /* the step must be over */
    uint32_t unanswered;  /* requests without an answer, one after the other */
    struct instant answer_until;
    int64_t pause_ns; /* before the next request */
    uint32_t tries;   /* in vain */
    uint32_t looked;  /* buckets, or groups, that the step is done with */
    struct limit_items items[LIMIT_BUCKETS];
    struct buffer next; /* the Scan of the next page; empty: the first, or there is none */
    uint32_t tried;     /* requests of the step */
    bool fair;          /* AUDIT_GROW: the table has had units for the round so far */
    uint32_t fair_rounds;
    uint32_t floods;
    int64_t refused;             /* requests that the first bucket has counted */
    int64_t where[BOOKS_LIMITS]; /* AUDIT_LEASE: before the lease */
    int64_t epoch;
    bool trial_is_open;                           /* a request of the step was not answered */
    int64_t counted[LIMIT_BUCKETS][BOOKS_LIMITS]; /* by the items, at the first count */
};

extern const char *const limits_entities[LIMIT_BUCKETS];

struct instant limits_now(const struct limits *l);
/* Only the first thing that is wrong counts. */
void limits_wrong(struct limits *l, const char *what, struct slice body);
bool limits_often(struct limit_client *c, uint32_t percent);
void limits_rules(const struct limits *l, uint32_t bucket, uint32_t version,
                  struct books_rule out[BOOKS_LIMITS]);
uint32_t limits_group(uint32_t bucket);
/* The pause after a request that was in vain; `tries` counts them. */
int64_t limits_pause(uint32_t *tries);
/* The client goes on after this time. */
void limits_next(struct limit_client *c, int64_t ns);

/* These write a request. */
void limits_write_set(struct limit_client *c, uint32_t group, uint32_t version);
void limits_write_acquire(struct limit_client *c, bool keyed, int64_t lease_ms);
void limits_write_use(struct limit_client *c, enum limit_use use);
void limits_write_look(struct limit_client *c, const char *page, uint32_t bucket);

void limits_write_press(struct limit_client *c, uint32_t bucket, uint32_t shard, int64_t units);

/* The next request of the last look. */
void audit_choose(struct limit_client *c);
void audit_answered(struct limit_client *c, int status, struct slice body);
/* The step begins; it has a bound of time. */
void audit_step(struct limit_client *c, enum limit_audit audit, uint32_t looked);
/* The step has not come further. Wrong, if its time is over. */
void audit_late(struct limit_client *c, const char *what, struct slice body);
/* The same for what was not answered: some answer must come in the time that a step has. A step
 * whose requests are answered may be repeated for longer. */
void audit_unanswered(struct limit_client *c, const char *what, struct slice body);
/* Writes the request that reads the items, or the next page of them. */
void audit_write_count(struct limit_client *c);
/* True: all items are read. */
bool audit_counted(struct limit_client *c, int status, struct slice body);

/* limits_trials.c: AUDIT_FLOOD, AUDIT_GROW, AUDIT_OPEN, AUDIT_LEASE and AUDIT_TOLD. */
void trial_choose(struct limit_client *c);
void trial_answered(struct limit_client *c, int status, struct slice body);
