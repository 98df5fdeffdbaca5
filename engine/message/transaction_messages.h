/* transaction_messages.h - requests of transactions: their parts, and what is decided of them:
 * in the rooms of struct request and struct reply. */
#pragma once

#include "engine/message/message.h"

/* TRANSACT */
struct request_transact {
    struct slice key;         /* of the first part */
    struct slice parts;       /* PUT, DELETE, UPDATE, CHECK: each a frame (frames.h) */
    struct slice transaction; /* struct transaction_part */
    int64_t mcu_min;          /* the least that the parts cost together */
};
MESSAGE_FAMILY(request, transact)

/* TRANSACT_ADMIT */
struct request_admit {
    struct slice key;  /* of the first of the partition's parts */
    struct slice keys; /* of all: each u32 size, storage key */
    int64_t mcu;       /* the least that they cost */
    uint8_t back;      /* enum write_admitted: how they were admitted, and are not any more;
                          WRITE_NOT_ADMITTED: they are to be admitted */
};
MESSAGE_FAMILY(request, admit)

/* TRANSACT_DECIDE, TRANSACT_RESOLVE, TRANSACT_ASK */
struct request_transaction {
    struct slice key; /* DECIDE, ASK: the anchor; RESOLVE: of the part */
    uint64_t id_high;
    uint64_t id_low;
    struct slice token; /* DECIDE: TRANSACTION_TOKEN_SIZE bytes */
    bool commits;       /* RESOLVE */
    bool aborts;        /* ASK: what is not known is aborted */
};
MESSAGE_FAMILY(request, transaction)

/* TRANSACT, TRANSACT_ADMIT */
struct reply_parts {
    struct slice replies;     /* of the parts, in their order: each a frame; empty: all alike */
    struct slice index_costs; /* as in `item` */
    struct slice collections; /* the sizes of the item collections after each part that
                                 writes: each i64; empty: they are not counted */
};
MESSAGE_FAMILY(reply, parts)

/* TRANSACT_ASK */
struct reply_state {
    uint8_t decided; /* enum transaction_state */
};
MESSAGE_FAMILY(reply, state)
