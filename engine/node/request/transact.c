/* transact.c - a transaction whose items are all in one partition: judged as a whole, and done by
 * one entry of the log. */
#include <stdlib.h>

#include "base/probe.h"
#include "engine/message/frames.h"
#include "engine/message/request_traits.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/core/collection.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/core/stream_rows.h"
#include "engine/node/request/item_writes.h"
#include "engine/node/request/transaction_rows.h"
#include "engine/transaction/transaction.h"

/* The transaction while it is judged. */
struct transact {
    struct transaction_part part;
    struct operation at[TRANSACTION_ITEMS_MAX]; /* its writes */
    uint32_t count;
    int64_t mcu_min;
    int64_t cost_mcu;
    bool fails;
    bool in_flight;     /* a part fails for an item that is in flight */
    bool returns_items; /* a part's reply has its item after the write */
    /* The parts' item collections, after the parts judged so far. */
    struct {
        struct slice key;
        int64_t bytes;
        int64_t grown; /* by all these parts */
    } collections[TRANSACTION_ITEMS_MAX];
    uint32_t collection_count;
    struct buffer set;
    struct buffer replies;
    size_t index_feed_bytes;
    int64_t grown;       /* bytes that all parts add */
    size_t shared_bytes; /* write_shared_bytes of all parts */
};

/* ---- the request ---- */

/* What is wrong with the request; NULL: nothing. */
static const char *transact_read(const struct operation *o, struct transact *w)
{
    struct reader r = {request_transact(&o->request)->parts, false};
    if (!transaction_part_decode(request_transact(&o->request)->transaction, false, &w->part))
        return "malformed transaction";
    while (!r.failed && r.left.size > 0) {
        struct operation *part = &w->at[w->count];
        if (w->count == TRANSACTION_ITEMS_MAX)
            return "the transaction has too many parts";
        *part = *o;
        if (request_decode(reader_sized(&r), &part->request) != STATUS_OK ||
            traits_of(&part->request)->answer != ANSWER_ITEM || !traits_of(&part->request)->write ||
            request_moves(&part->request))
            return "a transaction part is not a write";
        part->request.partition = o->request.partition;
        part->request.epoch = o->request.epoch;
        part->request.write.transaction = request_transact(&o->request)->transaction;
        const char *fault = write_fault_of(&part->request);
        if (fault != NULL)
            return fault;
        w->count++;
    }
    return r.failed || w->count == 0 ||
                   !slice_equal(w->at[0].request.write.key, request_transact(&o->request)->key)
               ? "the transaction has no parts"
               : NULL;
}

/* Whether the partition has all keys, and no transaction has one of the items. */
static bool transact_may_begin(struct requests *requests, struct partition *p, struct operation *o,
                               const struct transact *w)
{
    struct slice keys[TRANSACTION_ITEMS_MAX];
    for (uint32_t i = 0; i < w->count; i++) {
        const struct slice key = keys[i] = w->at[i].request.write.key;
        if (!partition_holds(p, key)) {
            env_refuse(requests->env, o, i == 0 ? REPLY_WRONG_PARTITION : REPLY_SPREAD,
                       "a key is outside partition %u", p->info.id);
            return false;
        }
    }
    return transactions_let_writes(requests->transactions, p, o, keys, w->count);
}

/* ---- judging ---- */

static void transact_note(struct transact *w, const struct write *effect, enum reply_code code,
                          struct slice old, const struct request *q, int64_t cost_mcu,
                          int64_t wall_ms)
{
    struct reply r = {.code = code, .consumed_mcu = cost_mcu, .kind = ANSWER_ITEM};
    r.item.fault = effect->fault;
    const bool returns_new = code == REPLY_OK && q->write.return_values == RETURN_NEW;
    if (returns_new)
        r.item.bytes = effect->item;
    else if (code != REPLY_OK && q->write.return_failed)
        r.item.bytes = old;
    r.item.found = r.item.bytes.size > 0;
    r.item.wall_ms = code != REPLY_OK && q->write.limiter.size > 0 ? wall_ms : 0;
    w->returns_items |= returns_new;
    reply_encode(&w->replies, &r);
    w->fails |= code != REPLY_OK;
    w->in_flight |= code != REPLY_OK && effect->in_flight;
}

/* Parts of one collection make it grow together. */
static void transact_add_collection(const struct partition *p, struct transact *w,
                                    struct slice item_key, struct write *effect)
{
    const struct slice key = collection_key(item_key);
    uint32_t i = 0;
    if (!p->info.whole_collections)
        return;
    while (i < w->collection_count && !slice_equal(w->collections[i].key, key))
        i++;
    must(i < TRANSACTION_ITEMS_MAX);
    if (i < w->collection_count)
        effect->collection_bytes = w->collections[i].bytes + write_grows_by(effect);
    else
        w->collections[w->collection_count++].key = key;
    w->collections[i].bytes = effect->collection_bytes;
    w->collections[i].grown += write_grows_by(effect);
}

/* The parts are judged together: one may make the room that another one takes. */
static bool transact_has_room(struct requests *requests, const struct operation *o,
                              const struct transact *w)
{
    for (uint32_t i = 0; i < w->collection_count; i++) {
        if (write_collection_is_full(requests, o, w->collections[i].bytes, w->collections[i].grown))
            return false;
    }
    return true;
}

/* Evaluates a part, and appends what it does. STATUS_PENDING: the transaction will run again. */
static enum status transact_evaluate(struct requests *requests, struct partition *p,
                                     struct operation *o, struct transact *w, uint32_t index)
{
    must(index < w->count && w->count <= TRANSACTION_ITEMS_MAX);
    struct operation *part = &w->at[index];
    const struct request *q = &part->request;
    struct write effect;
    struct slice old = {NULL, 0};
    enum reply_code code = REPLY_OK;
    enum touched pages;
    /* Of each part the item's page is touched, and then the collection's. */
    part->touched = (o->steps > 2 * index + 1 ? TOUCHED_ITEMS : 0U) |
                    (o->steps > 2 * index + 2 ? TOUCHED_COLLECTION : 0U);
    enum status status = write_plan(requests, p, part, &effect, &code, &pages);
    if (status == STATUS_PENDING) {
        const bool items = pages == TOUCHED_ITEMS;
        o->steps = 2 * index + (items ? 2 : 3);
        pending_touch_row(requests->pending, o, items ? q->write.key : collection_key(q->write.key),
                          0);
        return status;
    }
    if (status != STATUS_OK) {
        items_refuse_corrupt(requests, o, status);
        return status;
    }
    const int64_t cost = write_cost(&effect, write_cost_min(q), TRANSACTION_FACTOR);
    w->cost_mcu += cost;
    if (code == REPLY_OK && q->op != REQUEST_CHECK)
        transact_add_collection(p, w, q->write.key, &effect);
    if (q->op != REQUEST_CHECK)
        w->grown += write_grows_by(&effect);
    const size_t index_feed_bytes = write_index_feed_bytes(q, &effect);
    if (code == REPLY_OK && index_feed_bytes > 0 &&
        !write_indexes_keep_up(requests, p, o, w->index_feed_bytes + index_feed_bytes))
        return STATUS_FULL;
    if (code != REPLY_OK && write_applied_item(requests, p, part, &old) != STATUS_OK)
        old = slice_make(NULL, 0);
    transact_note(w, &effect, code, old, q, cost, env_wall_ms(requests->env));
    if (code != REPLY_OK || q->op == REQUEST_CHECK)
        return STATUS_OK;
    write_effects_append(requests, p, q, &effect, &w->set);
    change_set_append(&w->set, &(struct change){.space = SPACE_ITEMS,
                                                .key = q->write.key,
                                                .value = effect.item,
                                                .old_size = effect.old_size});
    w->index_feed_bytes += index_feed_bytes;
    w->shared_bytes += write_shared_bytes(requests, q, &effect);
    return STATUS_OK;
}

/* ---- ending ---- */

static void transact_refuse(struct requests *requests, struct partition *p, struct operation *o,
                            const struct transact *w)
{
    if (!requests_leads_read(requests, p, o)) /* REFUSAL-1 of item_writes.c */
        return;
    if (w->in_flight) {
        pending_add_read(requests->pending, p, o, 0, raft_last(p->raft));
        return;
    }
    must(w->fails && w->cost_mcu >= w->mcu_min);
    items_settle(requests, p, o, ADMIT_WRITE, w->cost_mcu - w->mcu_min);
    struct reply *r = env_reply(requests->env, o, REPLY_CONDITION_FAILED);
    r->verdict = o->verdict;
    r->consumed_mcu = w->cost_mcu;
    r->kind = ANSWER_PARTS;
    reply_edit_parts(r)->replies = arena_copy(&requests->env->lent, buffer_slice(&w->replies));
}

/* Appends the transaction's token. Whether all that it changes may be proposed; if not, it was
 * refused. */
static bool transact_fits(struct requests *requests, struct partition *p, const struct operation *o,
                          struct transact *w)
{
    const int64_t wall_ms = env_stamp_ms(requests->env);
    struct transaction_token token = {.id = w->part.id,
                                      .state = TRANSACTION_COMMITTED,
                                      .digest = w->part.digest,
                                      .wall_ms = wall_ms};
    if (!transact_has_room(requests, o, w))
        return false;
    transaction_rows_append_token(&w->set, w->part.anchor, w->part.token, &token);
    if (proposals_split(p) || stream_rows_wait(p)) {
        PROBE("a transaction of several items meets a split");
        env_refuse(requests->env, o, REPLY_OVERLOADED, "partition %u is being split", p->info.id);
        return false;
    }
    if (w->set.size > LOG_PAYLOAD_SIZE_MAX) {
        PROBE("a transaction is too large for one entry");
        env_refuse(requests->env, o, REPLY_SPREAD,
                   "the transaction needs more than one entry of the log");
        return false;
    }
    return proposals_may_reserve(requests->proposals, o, w->set.size, w->shared_bytes) &&
           proposals_may_grow(requests->proposals, o,
                              w->grown > 0 ? w->grown + (int64_t)w->shared_bytes : 0) &&
           raft_driver_may_propose(requests->driver, p, o, w->set.size);
}

static void transact_propose(struct requests *requests, struct partition *p, struct operation *o,
                             struct transact *w)
{
    if (!transact_fits(requests, p, o, w)) {
        items_uncharge(requests, p, o, ADMIT_WRITE);
        return;
    }
    must(!w->fails && p->led != 0 && o->admitted && w->cost_mcu >= w->mcu_min);
    items_settle(requests, p, o, ADMIT_WRITE, w->cost_mcu - w->mcu_min);
    change_set_charge(&w->set, w->cost_mcu, write_burst(requests, o));
    struct inflight *e = raft_driver_propose(requests->driver, p, o, LOG_WRITE,
                                             buffer_slice(&w->set), slice_make(NULL, 0));
    if (e == NULL)
        return;
    write_add_uncommitted(requests, e);
    if (w->returns_items)
        proposals_set_items(e, buffer_slice(&w->replies));
    proposals_count_index_feed(p, e, w->index_feed_bytes);
    e->verdict = o->verdict;
    e->consumed_mcu = w->cost_mcu;
}

static void transact_run(struct requests *requests, struct partition *p, struct operation *o,
                         struct transact *w)
{
    const char *fault = transact_read(o, w);
    if (fault != NULL) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "%s", fault);
        return;
    }
    if (p->led == 0) {
        raft_driver_refuse(requests->driver, o, p);
        return;
    }
    if (!token_allows(requests, p, o, &w->part) || !transact_may_begin(requests, p, o, w))
        return;
    for (uint32_t i = 0; i < w->count; i++)
        w->mcu_min += TRANSACTION_FACTOR * write_cost_min(&w->at[i].request);
    if (!proposals_may_write(requests->proposals, o, request_transact(&o->request)->parts.size) ||
        !items_admit(requests, p, o, ADMIT_WRITE, w->mcu_min))
        return;
    change_set_begin(&w->set, 0, 0);
    for (uint32_t i = 0; i < w->count; i++) {
        const enum status status = transact_evaluate(requests, p, o, w, i);
        if (status != STATUS_OK && status != STATUS_PENDING)
            items_uncharge(requests, p, o, ADMIT_WRITE);
        if (status != STATUS_OK)
            return;
    }
    if (w->fails)
        transact_refuse(requests, p, o, w);
    else
        transact_propose(requests, p, o, w);
}

void requests_transact(struct requests *requests, struct operation *o)
{
    struct partition *p = items_route(requests, o);
    if (p == NULL)
        return;
    struct transact *w = must_calloc(1, sizeof *w);
    transact_run(requests, p, o, w);
    buffer_deinit(&w->set);
    buffer_deinit(&w->replies);
    free(w);
}
