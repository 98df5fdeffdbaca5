/* transacts_internal.h - one client of transactions, and how its operations are chosen and
 * recorded. */
#pragma once

#include "base/prng.h"
#include "sim/transacts.h"

enum {
    TRANSACT_PARTS_MAX = 100
};

enum transact_work {
    TRANSACT_IDLE,
    TRANSACT_MAKE,   /* the next table */
    TRANSACT_AWAIT,  /* it is active */
    TRANSACT_APPEND, /* an operation, as the next four */
    TRANSACT_READ,
    TRANSACT_READ_MANY, /* a scan or a query */
    TRANSACT_JOIN,      /* sends the transaction of another client */
    TRANSACT_READ_ALL,
    TRANSACT_LEAVE, /* the third table is deleted */
    TRANSACT_DONE,
};

/* A list that was read. */
struct known_list {
    bool known;
    bool named;              /* in the answers to the present operation */
    struct serial_list list; /* owns */
};

struct transact_client {
    struct transacts *all; /* borrows */
    struct http_client http;
    struct prng prng;
    enum transact_work work;
    uint32_t number; /* of the client */

    /* its operation */
    uint32_t place; /* in the history, of the first one if each list is read for itself */
    uint32_t op_number;
    uint32_t token;
    bool single; /* the operation is no transaction */
    uint32_t part_count;
    struct list_part
        parts[TRANSACT_PARTS_MAX]; /* of a transaction that writes; of a read the keys alone */
    bool marks;                    /* the read is of marks, too */
    bool fails;                    /* a check does not hold */
    uint32_t pad;                  /* bytes in each item besides */
    bool again;     /* a transaction whose outcome is unknown is sent again, with its token */
    uint32_t calls; /* of the operation that are under way: one by this client */
    bool unknown;   /* the outcome of one of them */
    bool done;
    struct transact_client *joined; /* JOIN: whose operation it sends; borrows */
    struct list_read read;          /* READ_MANY */
    struct buffer after;            /* where its last page ended */
    struct buffer body;

    bool fresh; /* the last operation was a transaction that read c->parts */
    struct known_list known[TRANSACT_KEYS_MAX];
    bool insists;         /* the read failed, and is repeated */
    struct instant asked; /* when it began for the first time */
    int last_status;
    struct buffer last_error;
};

struct transacts {
    struct transacts_options options;
    struct serial_history history;
    struct transact_client *clients; /* owns */
    uint32_t numbers;                /* used so far */
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

static inline struct instant transacts_now(const struct transacts *t)
{
    return t->options.scheduler->now;
}

static inline uint32_t transact_below(struct transact_client *c, uint32_t end)
{
    return (uint32_t)prng_below(&c->prng, end);
}

static inline bool transact_often(struct transact_client *c, uint32_t percent)
{
    return transact_below(c, 100) < percent;
}

/* Each chooses an operation, unless the last one is repeated, and begins it in the history. */
void transact_begin_read(struct transact_client *c);
void transact_begin_read_many(struct transact_client *c);
void transact_begin_write(struct transact_client *c);
/* Another transaction with the token of the other client's. False: it may have none. */
bool transact_begin_rival(struct transact_client *c, const struct transact_client *other);
/* A transaction that is under way, and was sent by one client so far. NULL: there is none. */
struct transact_client *transact_find(struct transact_client *c);
