/* item_writes.h - what writes of items share: item_writes.c has those that are done at once,
 * transaction_writes.c those of transactions. */
#pragma once

#include "engine/message/message.h"
#include "engine/node/core/local_rows.h"
#include "engine/node/request/item_requests.h"
#include "engine/store/change_set.h"

/* The effect of a write, before it is proposed. */
struct write {
    uint64_t hash;
    bool in_flight;    /* the newest item is that of a write in flight */
    struct slice item; /* after the write; data NULL: no item */
    int64_t old_size;  /* item_size of the replaced item; -1: no item */
    int64_t cost_mcu;
    int64_t paid_mcu;         /* of the cost: by an earlier request */
    int64_t collection_bytes; /* after the write */
    uint64_t collection_hash;
    struct local_writes local;
    struct slice
        feed; /* what the write means for global indexes (index_feed_change.h); empty: nothing */
    struct slice stream; /* the record that it makes (stream_rows.h); empty: none */
    uint8_t fault;       /* why the update does not fit the item: enum update_fault; or why a
                                limiter's command was not done: enum limiter_refusal */
};

/* ---- item_writes.c ---- */

/* Of what was admitted before. */
static inline struct admit_verdict write_verdict(enum write_admitted admitted)
{
    return (struct admit_verdict){.reason = ADMIT_OK, .burst = admitted == WRITE_ADMITTED_AS_BURST};
}

/* The stages of a write, in the order in which each may refuse it, from 0; NULL: there are no more.
 * */
const char *write_stage_name(size_t number);
/* What is wrong with the request; NULL: nothing. */
const char *write_fault_of(const struct request *q);
/* The least that a write costs, outside of a transaction. */
int64_t write_cost_min(const struct request *q);
/* Evaluates the write on the newest item, and computes its effect. STATUS_OK: `code` is the result.
 * STATUS_PENDING: `pages` must be touched first. The effect lends until the next plan. */
enum status write_plan(struct requests *requests, const struct partition *p,
                       const struct operation *o, struct write *w, enum reply_code *code,
                       enum touched *pages);
/* A write costs by the larger of the two items, whether it is done or refused for its condition,
 * and by the index rows that it changes. `factor`: for the item alone; a transaction's rows cost
 * once. */
int64_t write_cost(const struct write *w, int64_t cost_min, int64_t factor);
/* The item that is applied: no write in flight counts. Empty without STATUS_OK. */
enum status write_applied_item(struct requests *requests, const struct partition *p,
                               const struct operation *o, struct slice *item);
/* Whether the global indexes keep up, so that a change of so many bytes may be added. If not, the
 * operation is refused: the caller uncharges it. */
bool write_indexes_keep_up(struct requests *requests, struct partition *p, struct operation *o,
                           size_t index_feed_bytes);
/* Bytes that the write adds to the stored bytes, those of index rows too; negative: it frees
 * bytes. */
int64_t write_grows_by(const struct write *w);
/* Whether the item collection has no room for what grows it by `grown` to `bytes`: then the
 * operation was refused. */
bool write_collection_is_full(struct requests *requests, const struct operation *o, int64_t bytes,
                              int64_t grown);
/* The bytes of the log entry of a write that leaves `item`. `w`: what else it changes; NULL: not
 * known yet. */
size_t write_payload(const struct partition *p, const struct request *q, struct slice item,
                     const struct write *w);
/* The bytes of the row that a replica makes of the word for feeds. */
size_t write_index_feed_bytes(const struct request *q, const struct write *w);
/* What the records cost that the item's key and its rows in local indexes share with other long
 * keys: a checkpoint writes them anew. */
size_t write_shared_bytes(const struct requests *requests, const struct request *q,
                          const struct write *w);
/* The mark of a change set for what admission took. */
uint32_t write_burst(const struct requests *requests, const struct operation *o);
/* Later writes are judged by the proposal. */
void write_add_uncommitted(struct requests *requests, struct inflight *e);

/* ---- write_effects.c ---- */

/* Sets what w->item changes beside the item: rows of indexes, and the record for a stream. */
void write_effects_plan(struct requests *requests, const struct partition *p,
                        const struct request *q, struct slice old, struct write *w);
/* Sets the size that the item collection will have after the write. STATUS_CORRUPT: the row says
 * less than the item alone has, or there is none. */
enum status write_change_collection(struct requests *requests, const struct partition *p,
                                    const struct operation *o, struct write *w);
/* Appends what changes beside the item. The change of the item must follow. */
void write_effects_append(struct requests *requests, const struct partition *p,
                          const struct request *q, const struct write *w, struct buffer *out);

/* ---- transaction_writes.c ---- */

/* A write that is prepared. */
struct prepared {
    bool on; /* false: it is done at once */
    bool anchors;
    struct transaction_part part;
};

/* Answers a CHECK that only asks whether the client's token is known. */
void prepare_query_token(struct requests *requests, struct operation *o);
/* Whether the write may be prepared. If not, it was refused, or will run again. */
bool prepare_may_begin(struct requests *requests, struct partition *p, struct operation *o,
                       struct prepared *out);
/* Proposes to lock the item. */
void prepare_propose(struct requests *requests, struct partition *p, const struct operation *o,
                     const struct write *w, const struct prepared *prepared);
