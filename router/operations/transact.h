/* transact.h - TransactGetItems and TransactWriteItems: what both do with their parts. */
#pragma once

#include "router/plan/items.h"

enum {
    TRANSACTION_BYTES_MAX = 4 * 1024 * 1024 /* of all items */
};

/* What became of a part. */
struct part_end {
    bool replied;
    enum reply_code code;
    uint8_t fault;     /* REPLY_UPDATE_FAILED: enum update_fault */
    bool on_demand;    /* REPLY_THROTTLED: of a table on demand */
    uint8_t admitted;  /* enum write_admitted */
    struct slice item; /* if the answer must have it; in the call's arena; empty: none */
    struct capacity consumed;
    struct read_stamp stamp;
    int64_t collection_bytes; /* after a write; -1: not counted */
};

/* The place of the table in the plan, which gets it if it is new. */
uint32_t transact_table(struct call *c, struct item_plan *plan, struct slice name);

/* Takes what a reply to a part says. */
void part_take(struct call *c, struct part_end *end, const struct subrequest *s,
               const struct reply *r);

/* Whether the code cancels a transaction with a reason of its own. */
bool part_cancels(enum reply_code code);

/* Sets the fault of a transaction that was cancelled, with a reason for each part. Always false. */
bool transact_cancel(struct call *c, const struct part_end *ends, uint32_t count);

/* Refuses keys that occur twice. */
bool transact_keys_differ(struct call *c, const struct item_plan *plan);

/* Writes "ConsumedCapacity":[...] if the client has asked for it. */
void transact_write_capacity(struct call *c, const struct part_end *ends);
