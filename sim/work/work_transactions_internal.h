/* work_transactions_internal.h - one client of transactions, and how its operations are chosen and
 * recorded. */
#pragma once

#include "sim/work/work_transactions.h"

enum {
    WORK_TRANSACTION_PARTS_MAX = 100
};

enum transaction_step {
    TRANSACTION_APPEND = WORK_STEPS, /* an operation, as the next four */
    TRANSACTION_READ,
    TRANSACTION_READ_MANY, /* a scan or a query */
    TRANSACTION_JOIN,      /* sends the transaction of another client */
    TRANSACTION_READ_ALL,
    TRANSACTION_LEAVE, /* the third table is deleted */
};

/* A list that was read. */
struct known_list {
    bool known;
    bool named;              /* in the answers to the present operation */
    struct serial_list list; /* owns */
};

struct transaction_client {
    struct work_client client;

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

    bool fresh; /* the last operation was a transaction that read c->parts */
    struct known_list known[WORK_LISTS_MAX];
    bool insists;               /* the read failed, and is repeated */
    uint32_t repeated;          /* times in a row that it sent the read again */
    struct instant first_begun; /* when it began for the first time */
};

struct work_transactions {
    struct work_clients clients;
    const struct plan *plan; /* borrows */
    struct serial_history history;
    uint32_t numbers;         /* used so far */
    uint32_t read;            /* at last: lists and marks that have been read */
    bool anchors;             /* transactions begin in the third table */
    struct instant leaves_at; /* when it is deleted */
    bool expects_answers;
    struct instant calm_from;
};

static inline struct work_transactions *transactions_of(const struct transaction_client *c)
{
    return (struct work_transactions *)c->client.all;
}

static inline struct instant transactions_now(const struct work_transactions *t)
{
    return work_clients_now(&t->clients);
}

static inline uint32_t transaction_below(struct transaction_client *c, uint32_t end)
{
    return (uint32_t)prng_below(&c->client.prng, end);
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
