/* transactions_internal.h - what the files of lock tables share: transactions.c has the memory,
 * transactions_turn.c asks, tells and forgets. */
#pragma once

#include "base/id_map.h"
#include "base/settings/transactions.h"
#include "engine/node/transaction/transactions.h"

enum {
    INDEX_BITS = 7, /* of a call's token: the place of the part in its record */
    NUMBERS = 1 << (32 - INDEX_BITS)
};

TAILQ_HEAD(record_list, open_record);

struct lock_table {
    LIST_ENTRY(lock_table) place;
    uint32_t partition;
    uint64_t term;
    uint64_t seed;         /* of hashes */
    struct id_map by_hash; /* of locks */
    struct id_map numbered_locks;
    struct id_map numbered_records;
    struct id_map by_id; /* of records, by a hash */
    uint32_t lock_count;
    struct lock_room room;      /* the sum of the locks' */
    uint32_t moving;            /* locks of items that move */
    LIST_HEAD(, lock) locks;    /* owns */
    struct record_list records; /* owns; without fences */
    struct record_list fences;  /* owns; in the order in which they end */
    struct instant at;          /* there is nothing to do before */
    struct instant sweep_at;    /* the next sweep for tokens that are over */
    bool lost;                  /* some locks cannot be read: it is made anew */
};

_Static_assert(TRANSACTION_ITEMS_MAX <= 1 << INDEX_BITS, "a token has room for every part");

static inline int64_t decide_ms(const struct transactions *transactions)
{
    return config_transactions(transactions->env->config)->transaction_decide_ms;
}

/* The next sweep for tokens that are over. */
static inline struct instant next_sweep(const struct transactions *transactions)
{
    return instant_add_ms(transactions->env->now,
                          config_transactions(transactions->env->config)->transaction_sweep_ms);
}

/* There is something to do then. */
static inline void lock_table_wake(struct transactions *transactions, struct lock_table *t,
                                   struct instant at)
{
    t->at = instant_earlier(t->at, at);
    transactions->at = instant_earlier(transactions->at, at);
}

/* Whether other part i has been told what is decided, and has answered. */
static inline bool record_has_notified(const struct open_record *r, uint32_t i)
{
    return (r->notified[i / 64] >> i % 64 & 1) != 0;
}

/* NULL: none. */
struct lock_table *transactions_table(const struct transactions *transactions, uint32_t partition);
