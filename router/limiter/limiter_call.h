/* limiter_call.h - a call of the rate limiter, step by step.
 *
 *   table -> limits of the bucket and of its parents -> `plan`: what the operation does next
 *
 * What it may do next is to charge: commands to one shard each. One command is an UpdateItem;
 * several are the parts of one transaction, all or none. A shard may answer that it does not exist,
 * was merged, or is written too often. Then the call repairs that, and the operation plans the
 * charge anew.
 *
 * Invariants
 *   CHARGE-1  A charge that was done, or may have been done, is never sent again without a token.
 *   CHARGE-2  A call ends: it repairs at most LIMITER_CALL_REPAIRS_MAX times, and waits for other
 *             requests until its deadline. */
#pragma once

#include "engine/transaction/transaction.h"
#include "router/limiter/bucket_cache.h"
#include "router/operations/transact.h"

enum {
    LIMITER_CALL_REPAIRS_MAX =
        40, /* growth to the maximum of shards, and creating each shard's parents */
    LIMITER_CALL_DOUBLINGS_MAX = 4, /* of the longest backoff: 16 ticks */
    CHARGE_PARTS_MAX = 96           /* TRANSACTION_ITEMS_MAX or less */
};

/* A command that charges one shard. */
struct charge_part {
    struct cached_bucket *bucket; /* borrows */
    uint32_t shard;
    enum limiter_verb verb;              /* TAKE or ADJUST */
    int64_t amounts[LIMITER_LIMITS_MAX]; /* mtok, in the order of the bucket's limits */
    /* set when it is sent */
    int64_t mwcu;
    int64_t unreported_refusals;
    bool is_in_flight; /* other requests do not count on its amounts */
};

enum charge_end {
    CHARGE_DONE = 1,
    CHARGE_REFUSED,        /* part `failed`, for `refusal` */
    CHARGE_TOKEN_MISMATCH, /* the token was used for something else */
    CHARGE_UNAVAILABLE,    /* no answer of the store, or the outcome is not known; see the fault */
};

struct charge {
    uint32_t count;
    struct charge_part *parts; /* in the arena */
    uint8_t token[TRANSACTION_TOKEN_SIZE];
    bool has_token;
    bool token_has_owner;    /* a shard owns the token: idempotency_lookup.h */
    uint64_t owner_key;      /* chooses that shard */
    uint32_t queried_shards; /* of so many shards the former owners were asked */
    bool queried_own;        /* the owner, too */
    uint64_t digest;         /* of what the client asked for */
    int64_t expires_ms;
    /* the result */
    enum charge_end end;
    bool is_repeat; /* it was done before: the shards' items are not known */
    uint32_t failed;
    enum limiter_refusal refusal;
    bool throttled; /* LIMITER_TOO_FEW_WRITES: by the store itself */
};

enum limiter_call_step {
    LIMITER_CALL_READ_LIMITS,
    LIMITER_CALL_CHARGE,   /* one command */
    LIMITER_CALL_TRANSACT, /* several */
    LIMITER_CALL_WAIT,
    LIMITER_CALL_READ_SHARDS,   /* the items of shards */
    LIMITER_CALL_RESERVE_CHILD, /* a shard is to be created: its parent reserves its share */
    LIMITER_CALL_CREATE_CHILD,  /* the child is created of the reserved share */
    LIMITER_CALL_GROW,
    LIMITER_CALL_SEND_LIMITS, /* shards get newer limits */
    LIMITER_CALL_LOOKUP,      /* shards are asked whether the charge was done before */
    LIMITER_CALL_OWN_STEP,    /* a step of the operation itself */
    LIMITER_CALL_DONE,        /* it is answered, unless a request follows */
};

/* call->state of all operations of the limiter. */
struct limiter_call {
    struct transact_write write; /* must be first: transactions take call->state as one */
    const struct limiter_call_handlers *handlers;
    struct route *table;
    bool table_absent; /* there is no table yet */
    enum limiter_call_step step;
    uint32_t repairs;
    uint32_t backoff_doublings; /* at most LIMITER_CALL_DOUBLINGS_MAX */
    uint32_t retry_ticks;       /* ticks of RETRY_MS until it goes on */
    bool holds_shards;          /* of the charge: transaction_queue.h */
    bool is_queued;             /* in limiter.queue */
    bool is_next;               /* it has waited: no other call is before it */
    TAILQ_ENTRY(limiter_call) queue_entry;
    struct instant requested_at; /* when the requests of this step were sent */
    struct timer retry_timer;
    struct timer deadline;
    struct call *call; /* of the timers; borrows */
    /* the bucket, then the buckets of its entity's parents that are charged too */
    uint32_t chain_count;
    struct cached_bucket *chain[LIMITER_CHAIN_MAX];
    uint32_t configured_count;              /* so many have their limits */
    bool force_refresh;                     /* limits must be asked for, however new they are */
    struct slice scope_items[LIMIT_SCOPES]; /* items that have come */
    bool read_failed;                       /* an item could not be read */
    bool throttled;                         /* because its table is read too often */
    struct charge charge;
    struct cached_bucket *repaired;
    bool reads_owner; /* LIMITER_CALL_READ_SHARDS: for idempotency_lookup.c */
    bool owner_was_read;
    bool maybe_expired; /* by the clock of some shard: all owners are asked before that counts */
    uint32_t children[LIMITER_SIZES]; /* shards to be created, the last one first */
    uint32_t child_count;
    struct limiter_command *command;    /* CREATE_CHILD */
    enum on_unavailable on_unavailable; /* as the request says */
};

/* What an operation does with its call. Each returns false if a fault was set. */
struct limiter_call_handlers {
    /* Limits are known, or something was repaired: plan the charge and send it, or answer. */
    bool (*plan)(struct call *c);
    /* The charge has ended otherwise than by what the call repairs. */
    bool (*charge_ended)(struct call *c);
    /* LIMITER_CALL_READ_SHARDS: the shards of `repaired` were read. NULL: `plan` is called. */
    bool (*shards_read)(struct call *c);
    /* LIMITER_CALL_OWN_STEP: a reply to a request of the operation, and the end of all of them. */
    bool (*reply)(struct call *c, struct subrequest *s, const struct reply *r);
    bool (*finish)(struct call *c);
    bool allows_no_limits; /* no table and no limits are no fault */
    bool no_parents;
    bool no_deadline; /* limiter_deadline_ms does not count */
};

/* `begin` of an operation: its state begins with the limiter call. */
void limiter_call_begin(struct call *c, struct limiter_call *s,
                        const struct limiter_call_handlers *handlers,
                        const struct bucket_name *name);
bool limiter_call_ready(struct call *c);
/* Goes on with a bucket that was added: its limits, then handlers->plan. */
bool limiter_call_continue(struct call *c);
bool limiter_call_reply(struct call *c, struct subrequest *sub, const struct reply *r);
bool limiter_call_finish(struct call *c);
void limiter_call_end(struct call *c);
/* The steps of an operation. */
#define LIMITER_CALL_STEPS                                                                   \
    .ready = limiter_call_ready, .reply = limiter_call_reply, .finish = limiter_call_finish, \
    .end = limiter_call_end
#define LIMITER_CALL_OPERATION LIMITER_CALL_STEPS, .fail = limiter_error_answer
#define LIMITER_OPERATION(id, operation_name, ...) \
    const struct operation operation_limiter_##id = {.name = operation_name, __VA_ARGS__}

/* Adds a bucket to those that the call holds. */
struct cached_bucket *limiter_call_add_bucket(struct call *c, const struct bucket_name *name);

/* Sends limiter_call->charge. */
void limiter_call_charge(struct call *c);
/* Reads the items of all shards of the bucket. */
void limiter_call_read_shards(struct call *c, struct cached_bucket *b);
/* Comes back to handlers->plan after RETRY_MS. */
void limiter_call_retry(struct call *c);
/* The same, while other requests have the bucket: each time after a longer time, until the
 * deadline. */
void limiter_call_back_off(struct call *c);
void limiter_call_retry_due(struct limiter_call *s);
void limiter_call_time_out(struct limiter_call *s);
/* Lets shard 0 grow to twice as many shards, then goes on with handlers->plan. */
void limiter_call_grow(struct call *c, struct cached_bucket *b);
/* Sends the limits to shards that have older ones, then goes on with handlers->plan. False: no
 * shard has. A refused command changes nothing in a shard: without this it would refill by its old
 * limits until it admits a request. */
bool limiter_call_send_limits(struct call *c, struct cached_bucket *b);
/* Repairs the reason of the charge's refusal. False: it cannot be repaired, or was repaired too
 * often. */
bool limiter_call_repair(struct call *c);

/* ---- commands ---- */

/* A command with the cached shard map and limits, and the shard's deferred cost. */
void shard_command_begin(const struct router *r, struct cached_bucket *b, enum limiter_verb verb,
                         uint32_t shard, struct limiter_command *out);
/* Its bytes. */
struct slice shard_command_encode(struct call *c, const struct limiter_command *command);
/* Sends it. subrequest.index is `index`. `token`: TRANSACTION_TOKEN_SIZE bytes, or empty. */
struct subrequest *shard_command_send(struct call *c, struct cached_bucket *b,
                                      const struct limiter_command *command, uint32_t index,
                                      struct slice token, uint64_t digest);
/* Reads the item of a shard. */
void shard_read_send(struct call *c, struct cached_bucket *b, uint32_t shard);

struct shard_command_result {
    enum charge_end end;
    bool is_repeat;
    bool throttled;
    bool busy; /* CHARGE_UNAVAILABLE: a transaction has the item: try again */
    enum limiter_refusal refusal;
    bool has_item; /* `item` is valid */
    struct limiter_bucket item;
};
/* What a reply to a command says. CHARGE_UNAVAILABLE: the fault is set, unless `busy`. `mwcu`: what
 * the command has charged the hidden limit. */
void shard_command_reply(struct call *c, struct cached_bucket *b, uint32_t shard, int64_t mwcu,
                         const struct subrequest *s, const struct reply *r,
                         struct shard_command_result *out);
