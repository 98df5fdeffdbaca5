/* bucket.h - buckets of the rate limiter: token buckets of applications, kept in ordinary items.
 *
 * A bucket belongs to an entity and a resource, and has several limits. It has 1, 2, 4, .. shards; each
 * shard is one item with all limits. A shard has its share of each limit: capacity and refill divided
 * by the number of shards, the remainder given to the shards with the lowest numbers.
 *
 * The leader of an item's partition runs a command on the item: one write, no read. Time is the
 * leader's wall clock, an argument; for a shard it never moves back.
 * Units: tokens are thousandths (`mtok`), times are milliseconds since 1970.
 *
 * Invariants
 *   LIMITER-1  The shares of all shards of any number add up to the limit. Two shards that come from
 *              one have together its share.
 *   LIMITER-2  tokens <= share of the capacity. Below 0 tokens are debt: only LIMITER_ADJUST makes it.
 *   LIMITER-3  Refilling at t1 and t2 equals refilling once at t2: the fraction is kept (`part`).
 *   LIMITER-4  Doubling, merging, and messages that are lost, late or doubled make no tokens.
 *   LIMITER-5  Each limit has its own refill time: a slow limit is not starved by frequent requests.
 *   LIMITER-6  A shard has one gift for each number of shards to which it has divided. An item with
 *              gifts has no time to live: it says which part of its share other shards have.
 *
 * How shards come and go. Shard 0 has the true number of shards (`count`), its epoch, and for each
 * power of two the epoch at which the bucket grew to it last (`grown`). Commands tell what their sender
 * knows of that. Shard j of n divides when it is told of 2n: it keeps its share and sets aside a gift,
 * the tokens of shard j + n. The gift stays in the item of shard j. Whoever finds no shard j + n asks
 * shard j for the gift (LIMITER_GIVE) and makes the shard of it (LIMITER_OPEN). A shard that was made
 * is not made again in the same epoch. A shard that has expired was full, and so is what its gift has
 * become meanwhile.
 * Merging: shard 0 halves `count` (LIMITER_HALVE). Each shard that goes is closed (LIMITER_CLOSE), and
 * its tokens go to the shard that it came from (LIMITER_ABSORB). When all have, LIMITER_HALVED: the epoch
 * moves on, and `grown` is 0 for the number that was given up. A closed item stays, until it expires, so
 * that no late command opens it again. A shard that was made of a gift after its LIMITER_ABSORB was
 * answered may divide once more, because an old command tells it to. It takes the gift back when it
 * hears that the merging is over.
 *
 * What senders must heed: all this holds while closed items stay. A sender forgets what it knows of a
 * bucket's shards LIMITER_KNOWN_MS after it has read shard 0, and a command arrives within
 * LIMITER_KNOWN_MS or never (`until_ms`). `known` of a LIMITER_OPEN is at least as new as the epoch of
 * the shard that had the gift.
 *
 * The hidden limit `wcu` is what one partition key may be written: 1,000 write units a second. It is
 * not divided. Not here: who sends commands, and where an item is (router/limiter). */
#pragma once

#include "base/codec.h"
#include "engine/item/item.h"

enum {
    LIMITER_LIMITS_MAX = 8, /* of a bucket, without the hidden one */
    LIMITER_SIZES = 8,      /* numbers of shards: 1, 2, 4, .. LIMITER_SHARDS_MAX */
    LIMITER_SHARDS_MAX = 128,
    LIMITER_NAME_MAX = 64,         /* bytes of a limit's name */
    LIMITER_KEEP_MS = 3600 * 1000, /* an item expires so long after its limits are full */
    LIMITER_KNOWN_MS = LIMITER_KEEP_MS / 4,
};
#define LIMITER_TIME_MAX   (INT64_C(1) << 53)     /* of times in ms, and of epochs */
#define LIMITER_TOKENS_MAX INT64_C(1000000000000) /* of a limit */
#define LIMITER_MTOK_MAX   (1000 * LIMITER_TOKENS_MAX)
#define LIMITER_PERIOD_MAX (INT64_C(366) * 24 * 3600 * 1000) /* ms */
/* 15 digits: what any parser of structured fields (RFC 9651 3.3.1) and of JSON takes. */
#define LIMITER_WAIT_MS_MAX INT64_C(999999999999999)
#define LIMITER_WRITES_MWCU \
    INT64_C(1000000) /* the hidden limit: capacity, and refill in a second */
#define LIMITER_WRITES_NAME "wcu"
#define LIMITER_LEAST_MTOK  1000 /* the smallest useful request, if none is given */

/* A limit, as it was configured: of the whole bucket. */
struct limiter_limit {
    struct slice name;
    int64_t capacity; /* mtok, > 0 */
    int64_t amount;   /* mtok refilled in each period, > 0 */
    int64_t period_ms;
    int64_t least; /* mtok: the smallest useful request; no shard's share is smaller */
};

struct limiter_limits {
    uint64_t version; /* a later change has a larger one; at most INT64_MAX */
    uint32_t count;   /* of a command that needs no limits, and of a closed shard: may be 0 */
    struct limiter_limit at[LIMITER_LIMITS_MAX];
};

/* The hidden limit. Its share is that of shard 0 of 1. */
extern const struct limiter_limit limiter_writes;

/* The tokens of one limit in one shard. */
struct limiter_level {
    int64_t tokens; /* mtok */
    int64_t at_ms;  /* refilled up to here */
    int64_t part;   /* of the next mtok: in [0, period_ms) / period_ms */
};

/* What a shard has set aside for one that will be made. Levels are in the order of the limits. */
struct limiter_gift {
    uint32_t child;
    uint64_t epoch;                                  /* at which the bucket grew */
    struct limiter_level levels[LIMITER_LIMITS_MAX]; /* at_ms is the same in all; the share is that
                                                        of the shard when it was made */
};

/* What is known of a bucket's shards. */
struct limiter_shards {
    uint64_t epoch;                /* of the last change; 0: nothing is known */
    uint32_t count;                /* a power of two */
    uint64_t grown[LIMITER_SIZES]; /* [i]: the epoch at which the bucket grew to 2^i shards last;
                                      [0]: at which it was made. 0: it has fewer, and those that it
                                      had are merged */
};

/* A shard's item, decoded. Names borrow from the item. */
struct limiter_bucket {
    uint32_t shard;
    uint32_t shards; /* its share is that of one of so many */
    uint64_t epoch;  /* up to which it knows of changes of the number of shards */
    bool closed;     /* merged into another shard, or never made: it takes nothing */
    bool opened;     /* of a closed shard: it had been made; its levels are valid */
    struct limiter_limits limits;
    struct limiter_level levels[LIMITER_LIMITS_MAX];
    int64_t taken[LIMITER_LIMITS_MAX]; /* mtok in all, adjustments included */
    /* mtok: `taken` less this is what was taken since the shard was made of its gift, by the shards that
     * it has absorbed, too; below 0: more was given back. */
    int64_t taken_before[LIMITER_LIMITS_MAX];
    struct limiter_level writes; /* of the hidden limit, thousandths of write units */
    uint32_t gift_count;
    struct limiter_gift gifts[LIMITER_SIZES]; /* by child, ascending */
    int64_t admitted;                         /* requests, since it was made */
    int64_t refused;                          /* requests that routers have told of */
    int64_t changed_ms;                       /* when it last heard of another number of shards */
    /* of shard 0 */
    struct limiter_shards truth;
    bool merging; /* shards from truth.count on are not all closed and absorbed yet */
};

enum limiter_verb {
    LIMITER_TAKE = 1, /* takes `amounts`, or refuses; makes shard 0 */
    LIMITER_ADJUST, /* takes `amounts`, below 0: gives back; into debt if need be; never refused for
                          tokens, but debt ends at LIMITER_MTOK_MAX: LIMITER_DEEP */
    LIMITER_DOUBLE, /* shard 0: twice as many shards, if the epoch is still the sender's */
    LIMITER_GIVE,   /* sets aside the gift for `child`, unless that was done */
    LIMITER_OPEN,   /* makes the shard of `gift` */
    LIMITER_HALVE,  /* shard 0: half as many shards, if the epoch is still the sender's */
    LIMITER_CLOSE,  /* of a shard that goes: takes nothing more */
    LIMITER_ABSORB, /* takes over the tokens in `gift` of the closed shard gift.child */
    LIMITER_HALVED, /* shard 0: all shards that go were absorbed. The epoch moves on */
    LIMITER_CONFIGURE, /* nothing but the newer limits, and growth */
    LIMITER_RESET,     /* fills all limits */
    LIMITER_VERBS,
};

/* Why a command was not done; the item is as before. Numbers are never reused: replies carry them. */
enum limiter_refusal {
    LIMITER_DONE = 0,
    LIMITER_SHORT = 1,        /* a limit has too few tokens */
    LIMITER_SHORT_WRITES = 2, /* the hidden limit has */
    LIMITER_ABSENT = 3,       /* there is no such shard, or only one of a former epoch: open it */
    LIMITER_CLOSED = 4,       /* the shard was merged into another one */
    LIMITER_NO_CHANGE = 5,    /* it was done before, or the epoch has moved on */
    LIMITER_LATE = 6,         /* after until_ms */
    LIMITER_ELSEWHERE = 7,    /* the token may belong to another shard (`homed`) */
    LIMITER_NO_LIMIT = 8,     /* an amount is for a limit that the bucket has no more */
    LIMITER_NO_BUCKET = 9,    /* the item is none of a bucket */
    LIMITER_DEEP = 10,        /* a limit would have more debt than LIMITER_MTOK_MAX */
    LIMITER_REFUSALS,
};

/* Slices lend from the bytes. */
struct limiter_command {
    uint8_t verb;
    uint32_t shard;
    struct limiter_shards known;
    struct limiter_limits limits;
    int64_t amounts[LIMITER_LIMITS_MAX]; /* TAKE, ADJUST: mtok, in the order of `limits` */
    int64_t mwcu; /* of the hidden limit: what this write costs, and what earlier requests that left
                         no trace have cost. More than LIMITER_WRITES_MWCU counts as that */
    int64_t attempts; /* requests that were refused and not told yet */
    int64_t until_ms; /* 0: for ever. Otherwise refuse from then on */
    bool homed;       /* TAKE, ADJUST: only if `home` modulo the shard's number of shards is the
                         shard, and the sender knows of all changes that the shard knows of */
    uint64_t home;
    uint32_t child;           /* GIVE */
    struct limiter_gift gift; /* OPEN; ABSORB: with the epoch of the closed shard */
    bool opened; /* ABSORB: the closed shard had been made; else the gift is still here */
};

/* The fields in their order; a reader fails on what cannot be. */
void limiter_command_walk(struct codec *c, struct limiter_command *command);

/* Runs the command on a sound item. `exists` false: there is no item yet, and `old` has only the
 * key. LIMITER_DONE: `out` gets the new item, with header and checksum. Otherwise nothing is appended. */
enum limiter_refusal limiter_apply(const struct limiter_command *command, struct slice old,
                                   bool exists, int64_t now_ms, struct buffer *out);

/* False: the item is none of a bucket. */
bool limiter_bucket_decode(struct slice item, struct limiter_bucket *out);

/* ---- arithmetic ---- */

/* The shard's share of a capacity or an amount. */
int64_t limiter_share(int64_t whole, uint32_t shard, uint32_t shards);
/* Refills up to `now_ms`. */
void limiter_refill(struct limiter_level *level, const struct limiter_limit *limit, uint32_t shard,
                    uint32_t shards, int64_t now_ms);
/* How long until that many mtok are refilled, rounded up; at most LIMITER_WAIT_MS_MAX. */
int64_t limiter_refill_ms(int64_t mtok, int64_t amount, int64_t period_ms);
/* From at_ms on, until the level has so many tokens by refilling alone; INT64_MAX: never, the share is
 * smaller. */
int64_t limiter_wait_ms(const struct limiter_level *level, const struct limiter_limit *limit,
                        uint32_t shard, uint32_t shards, int64_t tokens);
/* How many shards the limits allow: no share may be smaller than the smallest useful request. */
uint32_t limiter_shards_most(const struct limiter_limits *limits);
/* What is wrong with the limits; NULL: nothing. A static text. */
const char *limiter_limits_fault(const struct limiter_limits *limits);

/* The shard that a shard comes from: without its highest bit. `shard` > 0. */
uint32_t limiter_parent(uint32_t shard);
/* The place in `grown` of the number of shards at which the shard came to be. */
uint32_t limiter_size_of(uint32_t shard);
