/* transact.h - TransactGetItems, TransactWriteItems and ExecuteTransaction: what they do with their
 * parts. */
#pragma once

#include "engine/transaction/transaction.h"
#include "router/core/items.h"

enum {
    TRANSACTION_BYTES_MAX = 4 * 1024 * 1024 /* of all items */
};

/* What became of a part. */
struct part_end {
    bool replied;
    enum reply_code code;
    uint8_t fault;    /* REPLY_UPDATE_FAILED: enum update_fault */
    bool on_demand;   /* REPLY_THROTTLED: of a table on demand */
    uint8_t admitted; /* enum write_admitted */
    uint32_t partition;
    uint32_t first;    /* of the parts of the same partition; in one partition: 0 */
    struct slice item; /* if the answer must have it; in the call's arena; empty: none */
    int64_t wall_ms;   /* of a limiter's command that was refused: the node's clock */
    struct capacity consumed;
    struct read_stamp stamp;
    int64_t collection_bytes; /* after a write; -1: not counted */
    const char *refused; /* before any node was asked: the code of the reason; NULL: it was not */
    struct slice why;    /* its text */
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

/* Takes the call's fault as the reason of this part, which never reaches a node. Always false: the
 * transaction is cancelled. Faults that need the table's key schema are reasons, others are errors
 * of the call. */
bool transact_refuse(struct call *c, struct part_end *ends, uint32_t index);

/* `ready`: finds the storage keys of all parts, or cancels at the first that does not fit its
 * table. An empty key is an error of the call. `shown`: what each read shows; NULL: the parts are
 * writes. */
bool transact_find_keys(struct call *c, struct part_end *ends,
                        const struct projection *const shown[]);

/* Refuses more than TRANSACTION_BYTES_MAX bytes. */
bool transact_bytes_fit(struct call *c, size_t bytes);

/* Refuses keys that occur twice. */
bool transact_keys_differ(struct call *c, const struct item_plan *plan);

/* Writes "ConsumedCapacity":[...] if the client has asked for it. */
void transact_write_capacity(struct call *c, const struct part_end *ends);

/* ---- reads ---- */

struct transact_get {
    struct part_end *ends;
    const struct projection **shown; /* of each item; NULL: all of it */
    bool columns;                    /* `shown` are columns of statements */
    uint32_t attempts;
    bool checks;               /* the items are read, and their partitions are asked */
    struct subrequest *failed; /* for another reason than those that cancel */
    struct reply failure;
    bool decided;     /* all was read at one moment: the answer is being written */
    uint32_t written; /* parts of the answer */
};

/* Makes room for so many parts. */
void transact_gets_init(struct call *c, struct transact_get *t, uint32_t count);
/* `ready`, once each item of the call's plan has its key: sends the requests. call->state begins
 * with the transact_get, here and below. */
bool transact_gets_send(struct call *c);
bool transact_get_reply(struct call *c, struct subrequest *s, const struct reply *r);
bool transact_get_finish(struct call *c);

/* ---- writes ---- */

enum transact_step {
    STEP_MOVE, /* items of sharded keys leave their previous owners */
    STEP_WHOLE,
    STEP_ADMIT,
    STEP_GIVE_BACK,
    STEP_PREPARE,
    STEP_DECIDE,
    STEP_DROP,
};

struct transact_write {
    struct item_plan *plan;  /* while the request is read */
    struct json_cursor left; /* of it */
    enum transact_step step;
    struct part_end *ends;
    bool statements; /* the answer has an empty list of responses */
    struct transaction_id id;
    uint8_t token[TRANSACTION_TOKEN_SIZE];
    struct slice first; /* struct transaction_part, for the anchor */
    struct slice other; /* the same for the other parts */
    bool named;         /* the client has given the token */
    uint64_t digest;
    uint32_t digested; /* parts that the digest has, over several turns */
    bool stale;        /* a registry of sharded keys has changed: owner shards must be found anew */
    uint32_t attempts;
    bool return_collections;
    struct reply failure; /* of a step as a whole; REPLY_OK: none */
    struct subrequest *failed;
};

/* Makes room for so many parts. The client's token may be empty. */
void transact_writes_init(struct call *c, struct transact_write *t, uint32_t count,
                          struct slice token);
/* Once all parts are read: refuses too many bytes. */
bool transact_writes_fit(struct call *c, const struct item_plan *plan);
/* `ready`, once each item of the call's plan has its key: sends the requests. What the parts are is
 * digested over several turns: the call may rest. Then `ready` calls this function again. */
bool transact_writes_send(struct call *c);
/* The same, once the keys are known to differ and the digest is set. */
bool transact_writes_start(struct call *c);
bool transact_write_reply(struct call *c, struct subrequest *s, const struct reply *r);
bool transact_write_finish(struct call *c);
