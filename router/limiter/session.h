/* session.h - a call of the rate limiter, step by step.
 *
 *   table -> limits of the bucket and of its parents -> `known`: what the operation does next
 *
 * What it may do next is to charge: commands to one shard each. One command is an UpdateItem; several
 * are the parts of one transaction, all or none. A shard may answer that it does not exist, was merged,
 * or is written too often. Then the session mends that, and the operation plans the charge anew.
 *
 * Invariants
 *   CHARGE-1  A charge that was done, or may have been done, is never sent again without a token.
 *   CHARGE-2  A session ends: it mends at most SESSION_ROUNDS_MAX times, and waits for other
 *             requests until its deadline. */
#pragma once

#include "engine/transaction/transaction.h"
#include "router/limiter/buckets.h"
#include "router/operations/transact.h"

enum {
    SESSION_ROUNDS_MAX = 40,   /* growth to the most shards, and opening each shard's parents */
    SESSION_DOUBLINGS_MAX = 4, /* of the longest wait: 16 pauses */
    CHARGE_PARTS_MAX = 96      /* TRANSACTION_ITEMS_MAX or less */
};

/* A command that charges one shard. */
struct charge_part {
    struct known_bucket *bucket; /* borrows */
    uint32_t shard;
    enum limiter_verb verb;              /* TAKE or ADJUST */
    int64_t amounts[LIMITER_LIMITS_MAX]; /* mtok, in the order of the bucket's limits */
    /* set when it is sent */
    int64_t mwcu;
    int64_t attempts;
    bool reckoned; /* others do not count on its amounts */
};

enum charge_end {
    CHARGE_DONE = 1,
    CHARGE_REFUSED, /* part `failed`, for `refusal` */
    CHARGE_USED,    /* the token was used for something else */
    CHARGE_LOST /* the store could not be asked, or nobody knows what became of it: the fault says
                       why */
};

struct charge {
    uint32_t count;
    struct charge_part *parts; /* in the arena */
    uint8_t token[TRANSACTION_TOKEN_SIZE];
    bool named; /* it has a token */
    bool homed; /* the token belongs to a shard that `home` chooses (homes.h) */
    uint64_t home;
    uint32_t asked;  /* for so many shards it was asked whether it was done before */
    bool asked_own;  /* the own home, too */
    uint64_t digest; /* of what the client asked for */
    int64_t until_ms;
    /* the result */
    enum charge_end end;
    bool before; /* it was done before: the shards' items are not known */
    uint32_t failed;
    enum limiter_refusal refusal;
    bool throttled; /* LIMITER_TOO_FEW_WRITES: by the store itself */
};

enum session_step {
    SESSION_LIMITS,
    SESSION_CHARGE,   /* one command */
    SESSION_TRANSACT, /* several */
    SESSION_PAUSE,
    SESSION_READ, /* the items of shards */
    SESSION_GIVE, /* a shard is to be made: its gift is asked for */
    SESSION_OPEN, /* .. and brought */
    SESSION_GROW,
    SESSION_TELL, /* shards are told of newer limits */
    SESSION_ASK,  /* shards are asked whether the charge was done before */
    SESSION_OWN,  /* a step of the operation */
    SESSION_OVER, /* it is answered, unless a request follows */
};

/* call->state of all operations of the limiter. */
struct session {
    struct transact_write write; /* must be first: transactions take call->state as one */
    const struct session_work *work;
    struct route *table;
    bool absent; /* there is no table yet */
    enum session_step step;
    uint32_t rounds;
    uint32_t waits;  /* for other requests; up to SESSION_DOUBLINGS_MAX */
    uint32_t pauses; /* until it goes on */
    bool has_turn;   /* at the charge's shards: turns.h */
    bool waits_turn; /* in limiter.waiting */
    bool is_next;    /* it has waited: no other session is before it */
    TAILQ_ENTRY(session) waiting;
    struct instant asked; /* when the requests of this step were sent */
    struct timer pause;
    struct timer deadline;
    struct call *call; /* of the timers; borrows */
    /* the bucket, then the buckets of its entity's parents that are charged too */
    uint32_t chain_count;
    struct known_bucket *chain[LIMITER_CHAIN_MAX];
    uint32_t configured;         /* so many have their limits */
    bool fresh;                  /* limits must be asked for, however new they are */
    struct slice levels[LEVELS]; /* items that have come */
    bool deaf;                   /* an item could not be read */
    bool throttled;              /* because its table is read too often */
    struct charge charge;
    struct known_bucket *mended;
    uint32_t mended_shard;
    bool reads_home; /* SESSION_READ: for homes.c */
    bool home_read;
    bool late; /* by the clock of some shard: all homes are asked before that counts */
    uint32_t opened[LIMITER_SIZES]; /* shards to be made, the last one first */
    uint32_t opened_count;
    struct limiter_command *command;    /* OPEN */
    enum on_unavailable on_unavailable; /* as the request says */
};

/* What an operation does with its session. Each returns false if a fault was set. */
struct session_work {
    /* Limits are known, or something was mended: plan the charge and send it, or answer. */
    bool (*known)(struct call *c);
    /* The charge has ended otherwise than by what the session mends. */
    bool (*charged)(struct call *c);
    /* SESSION_READ: the shards of `mended` were read. NULL: `known` is called. */
    bool (*read)(struct call *c);
    /* SESSION_OWN: a reply to a request of the operation, and the end of all of them. */
    bool (*reply)(struct call *c, struct subrequest *s, const struct reply *r);
    bool (*finish)(struct call *c);
    bool lenient; /* no table and no limits are no fault */
    bool no_parents;
    bool patient; /* has no deadline of the limiter */
};

/* `begin` of an operation: its state begins with the session. */
void session_begin(struct call *c, struct session *s, const struct session_work *work,
                   const struct bucket_name *name);
bool session_ready(struct call *c);
/* Goes on with a bucket that was added: its limits, then work->known. */
bool session_go_on(struct call *c);
bool session_reply(struct call *c, struct subrequest *sub, const struct reply *r);
bool session_finish(struct call *c);
void session_end(struct call *c);
/* The steps of an operation. */
#define SESSION_STEPS                                                                             \
    .ready = session_ready, .reply = session_reply, .finish = session_finish, .fail = words_fail, \
    .end = session_end

/* Adds a bucket to those that the session holds. */
struct known_bucket *session_add(struct call *c, const struct bucket_name *name);

/* Sends session->charge. */
void session_charge(struct call *c);
/* Reads the items of all shards of the bucket. */
void session_read(struct call *c, struct known_bucket *b);
/* Comes back to work->known after a moment. */
void session_pause(struct call *c);
/* The same, while other requests have the bucket: each time after a longer while, until the
 * deadline. */
void session_wait(struct call *c);
void session_pause_over(struct session *s);
void session_deadline(struct session *s);
/* Asks shard 0 for twice as many shards, then goes on with work->known. */
void session_grow(struct call *c, struct known_bucket *b);
/* Tells shards whose limits are older, then goes on with work->known. False: no shard's are. What a shard
 * refuses changes nothing in it: without this it would refill by its old limits until it admits. */
bool session_tell(struct call *c, struct known_bucket *b);
/* Mends what the refusal of the charge tells. False: nothing to mend; or too often. */
bool session_mend(struct call *c);

/* ---- commands ---- */

/* A command with what is known of the bucket, and what the shard is owed. */
void command_begin(const struct router *r, struct known_bucket *b, enum limiter_verb verb,
                   uint32_t shard, struct limiter_command *out);
/* Sends it. subrequest.index is `index`. `named`: TRANSACTION_TOKEN_SIZE bytes, or empty. */
struct subrequest *command_send(struct call *c, struct known_bucket *b,
                                const struct limiter_command *command, uint32_t index,
                                struct slice token, uint64_t digest);
/* Reads the item of a shard. */
void command_read(struct call *c, struct known_bucket *b, uint32_t shard);

struct command_end {
    enum charge_end end;
    bool before;
    bool throttled;
    bool busy; /* CHARGE_LOST: a transaction has the item: try again */
    enum limiter_refusal refusal;
    bool heard; /* `item` is valid */
    struct limiter_bucket item;
};
/* What a reply to a command says. CHARGE_LOST: the fault is set, unless `busy`. `mwcu`: what the command
 * has charged the hidden limit. */
void command_took(struct call *c, struct known_bucket *b, uint32_t shard, int64_t mwcu,
                  const struct subrequest *s, const struct reply *r, struct command_end *out);
