/* work_transactions_internal.h - one client of transactions, and how its operations are chosen and
 * recorded. */
#pragma once

#include "base/prng.h"
#include "sim/work/work_transactions.h"

enum {
    WORK_TRANSACTION_PARTS_MAX = 100
};

enum transaction_work {
    TRANSACTION_WORK_IDLE,
    TRANSACTION_WORK_MAKE,   /* the next table */
    TRANSACTION_WORK_AWAIT,  /* it is active */
    TRANSACTION_WORK_APPEND, /* an operation, as the next four */
    TRANSACTION_WORK_READ,
    TRANSACTION_WORK_READ_MANY, /* a scan or a query */
    TRANSACTION_WORK_JOIN,      /* sends the transaction of another client */
    TRANSACTION_WORK_READ_ALL,
    TRANSACTION_WORK_LEAVE, /* the third table is deleted */
    TRANSACTION_WORK_DONE,
};

/* A list that was read. */
struct known_list {
    bool known;
    bool named;              /* in the answers to the present operation */
    struct serial_list list; /* owns */
};

struct transaction_client {
    struct work_transactions *all; /* borrows */
    struct http_client http;
    struct prng prng;
    enum transaction_work work;
    uint32_t number; /* of the client */

    /* its operation */
    uint32_t place; /* in the history, of the first one if each list is read for itself */
    uint32_t op_number;
    uint32_t token;
    bool single; /* the operation is no transaction */
    uint32_t part_count;
    struct list_part parts
        [WORK_TRANSACTION_PARTS_MAX]; /* of a transaction that writes; of a read the keys alone */
    bool marks;                       /* the read is of marks, too */
    bool fails;                       /* a check does not hold */
    uint32_t pad;                     /* bytes in each item besides */
    bool again;     /* a transaction whose outcome is unknown is sent again, with its token */
    uint32_t calls; /* of the operation that are under way: one by this client */
    bool unknown;   /* the outcome of one of them */
    bool done;
    struct transaction_client *joined; /* JOIN: whose operation it sends; borrows */
    struct list_read read;             /* READ_MANY */
    struct buffer after;               /* where its last page ended */
    struct buffer body;

    bool fresh; /* the last operation was a transaction that read c->parts */
    struct known_list known[WORK_LISTS_MAX];
    bool insists;         /* the read failed, and is repeated */
    struct instant asked; /* when it began for the first time */
    int last_status;
    struct buffer last_error;
};

struct work_transactions {
    struct work_transactions_options options;
    struct serial_history history;
    struct transaction_client *clients; /* owns */
    uint32_t numbers;                   /* used so far */
    uint32_t committed;
    struct instant quiet_from; /* 0: not known yet */
    uint32_t read;             /* at last: lists and marks that have been read */
    uint32_t made;             /* tables that were made */
    bool anchors;              /* transactions begin in the third table */
    struct instant leaves_at;  /* when it is deleted */
    struct buffer wrong;       /* an answer that is wrong in itself */
    bool on;
    bool ending;
    bool expects_answers;
    struct instant calm_from;
};

static inline struct instant work_transactions_now(const struct work_transactions *t)
{
    return t->options.scheduler->now;
}

static inline uint32_t transaction_below(struct transaction_client *c, uint32_t end)
{
    return (uint32_t)prng_below(&c->prng, end);
}

static inline bool transaction_often(struct transaction_client *c, uint32_t percent)
{
    return transaction_below(c, 100) < percent;
}

/* Each chooses an operation, unless the last one is repeated, and begins it in the history. */
void transaction_begin_read(struct transaction_client *c);
void transaction_begin_read_many(struct transaction_client *c);
void transaction_begin_write(struct transaction_client *c);
/* Another transaction with the token of the other client's. False: it may have none. */
bool transaction_begin_rival(struct transaction_client *c, const struct transaction_client *other);
/* A transaction that is under way, and was sent by one client so far. NULL: there is none. */
struct transaction_client *transaction_find(struct transaction_client *c);
