/* transaction_writes.c - the parts of transactions: prepared, decided and resolved
 * (engine/node/transaction/transactions.h), or done at once, where one partition has all of
 * them. */
#include "base/mutation.h"
#include "base/probe.h"
#include "engine/message/message.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/core/stream_rows.h"
#include "engine/node/request/item_writes.h"
#include "engine/node/request/transaction_rows.h"

/* ---- preparing ---- */

bool prepare_may_begin(struct requests *requests, struct partition *p, struct operation *o,
                       struct prepared *out)
{
    const struct request *q = &o->request;
    if (!transaction_part_decode(q->write.transaction, request_moves(q), &out->part)) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "malformed transaction");
        return false;
    }
    out->anchors = slice_equal(out->part.anchor, q->write.key);
    if (!out->anchors)
        return true;
    if (transactions_record_of(p, q->write.key, out->part.id) != NULL) {
        PROBE("a transaction was refused before it came");
        env_refuse(requests->env, o, REPLY_ABORTED, "the transaction was given up");
        return false;
    }
    return request_moves(q) || token_allows(requests, p, o, &out->part);
}

void prepare_propose(struct requests *requests, struct partition *p, const struct operation *o,
                     const struct write *w, const struct prepared *prepared)
{
    const struct transaction_part *part = &prepared->part;
    const struct request *q = &o->request;
    must(prepared->on && p->led != 0 && o->admitted);
    struct buffer *set = &requests->env->scratch;
    struct buffer row = {0};
    if (q->op == REQUEST_CHECK && !prepared->anchors && MUTATED(MUTATION_CHECK_UNLOCKED)) {
        env_reply(requests->env, o, REPLY_OK)->verdict = o->verdict;
        return;
    }
    buffer_clear(set);
    change_set_begin(set, w->cost_mcu, write_burst(requests, o));
    struct transaction_lock lock = {
        .id = part->id, .anchor = part->anchor, .kind = LOCK_CHECK, .moves = request_moves(q)};
    const bool copied =
        request_moves(q) && q->op == REQUEST_DELETE && MUTATED(MUTATION_MOVE_COPIES);
    if (q->op != REQUEST_CHECK && !MUTATED(MUTATION_SKIP_LOCK) && !copied)
        lock.kind = w->item.data != NULL ? LOCK_PUT : LOCK_DELETE;
    if (lock.kind == LOCK_PUT)
        lock.item = w->item;
    transaction_rows_append_lock(set, q->write.key, &lock);
    if (prepared->anchors) {
        struct transaction_record record = {.state = TRANSACTION_PENDING,
                                            .wall_ms = env_stamp_ms(requests->env),
                                            .token = part->token,
                                            .digest = part->digest,
                                            .keys = part->keys};
        transaction_rows_append_record(set, part->anchor, part->id, &record, &row);
        if (part->token.size > 0)
            transaction_rows_append_token(set, part->anchor, part->token,
                                          &(struct transaction_token){.id = part->id,
                                                                      .state = TRANSACTION_PENDING,
                                                                      .digest = part->digest,
                                                                      .wall_ms = record.wall_ms});
    }
    const struct lock_room room = {write_index_feed_bytes(q, w),
                                   LOCK_END_BYTES + q->write.key.size +
                                       write_payload(p, q, w->item, w),
                                   q->op == REQUEST_CHECK ? 0 : write_shared_bytes(requests, q, w)};
    const size_t decision =
        prepared->anchors ? LOCK_END_BYTES + 2 * part->anchor.size + row.size : 0;
    struct inflight *e = proposals_may_reserve(requests->proposals, o, set->size,
                                               room.log_bytes + room.shared_bytes + decision) &&
                                 (q->op == REQUEST_CHECK || request_moves(q) ||
                                  proposals_may_grow(requests->proposals, o, write_grows_by(w))) &&
                                 raft_driver_may_propose(requests->driver, p, o, set->size)
                             ? raft_driver_propose(requests->driver, p, o, LOG_WRITE,
                                                   buffer_slice(set), slice_make(NULL, 0))
                             : NULL;
    if (e != NULL) {
        write_add_uncommitted(requests, e);
        e->verdict = o->verdict;
        e->consumed_mcu = w->cost_mcu - w->paid_mcu;
        e->collection_bytes = w->collection_bytes;
        if (q->write.return_values == RETURN_NEW && w->item.size > 0)
            proposals_set_items(e, w->item);
        transactions_lock_proposed(requests->transactions, p, q->write.key, part, request_moves(q),
                                   room);
        if (prepared->anchors)
            transactions_record_proposed(requests->transactions, p, part->anchor, part->id,
                                         buffer_slice(&row));
    }
    buffer_deinit(&row);
}

/* ---- what is known of a token ---- */

/* The partition that leads here and has the request's key. NULL: it was refused. */
static struct partition *transaction_route(struct requests *requests, struct operation *o);

void prepare_query_token(struct requests *requests, struct operation *o)
{
    struct transaction_part part;
    struct partition *p = transaction_route(requests, o);
    if (p == NULL)
        return;
    if (!transaction_part_decode(o->request.write.transaction, false, &part))
        env_refuse(requests->env, o, REPLY_MALFORMED, "malformed transaction");
    else if (token_allows(requests, p, o, &part) && requests_leads_read(requests, p, o))
        env_refuse(requests->env, o, REPLY_ABORTED, "the token is not known");
}

/* ---- admission, before anything is prepared ---- */

static struct partition *transaction_route(struct requests *requests, struct operation *o)
{
    struct partition *p = items_route(requests, o);
    if (p == NULL || !items_holds_key(requests, p, o))
        return NULL;
    if (p->led == 0) {
        raft_driver_refuse(requests->driver, o, p);
        return NULL;
    }
    return transactions_are_known(requests->transactions, p, o) ? p : NULL;
}

/* What is wrong with the request; NULL: nothing. */
static const char *admit_read(const struct request *q, struct slice keys[TRANSACTION_ITEMS_MAX],
                              uint32_t *count)
{
    struct reader r = {request_admit(q)->keys, false};
    *count = 0;
    while (!r.failed && r.left.size > 0 && *count < TRANSACTION_ITEMS_MAX)
        keys[(*count)++] = reader_sized(&r);
    if (r.failed || r.left.size > 0 || *count == 0 || !slice_equal(keys[0], request_admit(q)->key))
        return "the transaction's parts have no keys";
    if (request_admit(q)->mcu < 0 ||
        request_admit(q)->mcu > *count * TRANSACTION_FACTOR * write_cost_mcu(ITEM_SIZE_MAX) ||
        request_admit(q)->back >= WRITE_ADMITTEDS)
        return "the cost does not fit the parts of the transaction";
    return NULL;
}

/* Parts that a transaction of another client has are refused here: many clients that want the same
 * items would lock each other out in vain. A key that a split has taken away is refused later. */
void requests_admit_parts(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct slice keys[TRANSACTION_ITEMS_MAX];
    uint32_t count;
    struct partition *p = transaction_route(requests, o);
    if (p == NULL)
        return;
    const char *fault = admit_read(q, keys, &count);
    if (fault != NULL) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "%s", fault);
        return;
    }
    if (request_admit(q)->back != WRITE_NOT_ADMITTED) {
        o->verdict = write_verdict(request_admit(q)->back);
        items_give_back(requests, p, o, ADMIT_WRITE, request_admit(q)->mcu);
    } else if (!transactions_let_writes(requests->transactions, p, o, keys, count) ||
               !items_admit(requests, p, o, ADMIT_WRITE, request_admit(q)->mcu)) {
        return;
    }
    items_settle(requests, p, o, ADMIT_WRITE, 0);
    struct reply *r = env_reply(requests->env, o, REPLY_OK);
    r->verdict = o->verdict;
    r->consumed_mcu = request_admit(q)->back != WRITE_NOT_ADMITTED ? 0 : request_admit(q)->mcu;
}

/* ---- ending a part ---- */

/* What becomes of a locked item, and of the record beside it. */
struct ending {
    struct lock *lock;          /* NULL: there is none */
    struct open_record *record; /* of the anchor; NULL: none */
    bool commits;
    struct operation write; /* the part, as a write */
    struct write effect;
    bool writes; /* the item changes */
};

static struct transaction_id id_of(const struct request *q)
{
    return (struct transaction_id){request_transaction(q)->id_high, request_transaction(q)->id_low};
}

/* Reads the lock's row, and computes what its write does. False: the operation was refused, or will
 * run again. */
static bool ending_plan(struct requests *requests, struct partition *p, struct operation *o,
                        struct ending *e)
{
    struct buffer key = {0};
    struct slice value, old;
    struct transaction_lock lock;
    transaction_key_append(&key, ROW_LOCK, buffer_slice(&e->lock->key), NULL);
    bool in_flight;
    enum status status =
        transaction_row_newest(requests, o, buffer_slice(&key), &value, &in_flight);
    buffer_deinit(&key);
    if (status == STATUS_PENDING)
        return false;
    struct reader r = {value, false};
    if (status == STATUS_OK)
        transaction_lock_walk(&(struct codec){.in = &r}, &lock);
    if (status != STATUS_OK || r.failed) {
        items_refuse_corrupt(requests, o, STATUS_CORRUPT);
        return false;
    }
    e->writes =
        lock.kind != LOCK_CHECK && !(lock.kind == LOCK_DELETE && MUTATED(MUTATION_KEEP_DELETED));
    e->write = *o;
    e->write.request =
        (struct request){.id = o->request.id,
                         .op = lock.kind == LOCK_PUT ? REQUEST_PUT : REQUEST_DELETE,
                         .partition = o->request.partition,
                         .epoch = o->request.epoch,
                         .write = {.key = request_transaction(&o->request)->key,
                                   .item = lock.item,
                                   .origin = lock.moves ? WRITE_BY_MOVE : WRITE_BY_CLIENT}};
    if (!e->writes)
        return true;
    e->effect = (struct write){.old_size = -1};
    if (lock.kind == LOCK_PUT)
        e->effect.item = lock.item;
    status = write_applied_item(requests, p, &e->write, &old);
    if (status == STATUS_OK)
        e->effect.old_size = (int64_t)item_size(old);
    enum touched pages = TOUCHED_ITEMS;
    if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
        write_effects_plan(requests, p, &e->write.request, old, &e->effect);
        status = write_change_collection(requests, p, &e->write, &e->effect);
        pages = TOUCHED_COLLECTION;
    }
    if (status == STATUS_PENDING)
        pending_touch(requests->pending, o, pages, 0);
    else if (status != STATUS_OK)
        items_refuse_corrupt(requests, o, status);
    return status == STATUS_OK;
}

/* The record after the end of the anchor's part. */
static void ending_append_record(struct requests *requests, const struct ending *e,
                                 struct buffer *set, struct buffer *row)
{
    const struct open_record *r = e->record;
    must(r->row.state == TRANSACTION_PENDING); /* what is decided stays decided */
    const struct slice anchor = buffer_slice(&r->anchor);
    struct transaction_record record = r->row;
    record.wall_ms = env_stamp_ms(requests->env);
    record.state = e->commits ? TRANSACTION_COMMITTED : TRANSACTION_ABORTED;
    transaction_rows_append_record(set, anchor, r->id, &record, row);
    struct transaction_token token = {.id = r->id,
                                      .state = TRANSACTION_COMMITTED,
                                      .digest = record.digest,
                                      .wall_ms = record.wall_ms};
    if (record.token.size > 0)
        transaction_rows_append_token(set, anchor, record.token, e->commits ? &token : NULL);
}

static void ending_propose(struct requests *requests, struct partition *p,
                           const struct operation *o, struct ending *e)
{
    struct buffer set = {0}, row = {0};
    const struct request *q = &e->write.request;
    const bool writes = e->commits && e->writes;
    must(e->lock != NULL || e->record != NULL);
    must(e->lock == NULL || (e->lock->applied && !e->lock->resolving));
    must(e->record == NULL || (e->record->applied && !e->record->changing));
    change_set_begin(&set, 0, 0);
    if (e->record != NULL && !(e->commits && MUTATED(MUTATION_SKIP_RECORD)))
        ending_append_record(requests, e, &set, &row);
    if (e->lock != NULL)
        transaction_rows_end_lock(&set, buffer_slice(&e->lock->key));
    if (writes) {
        write_effects_append(requests, p, q, &e->effect, &set);
        change_set_append(&set, &(struct change){.space = SPACE_ITEMS,
                                                 .key = q->write.key,
                                                 .value = e->effect.item,
                                                 .old_size = e->effect.old_size});
    }
    struct inflight *inflight = proposals_may_write(requests->proposals, o, set.size) &&
                                        raft_driver_may_propose(requests->driver, p, o, set.size)
                                    ? raft_driver_propose(requests->driver, p, o, LOG_WRITE,
                                                          buffer_slice(&set), slice_make(NULL, 0))
                                    : NULL;
    if (inflight != NULL) {
        write_add_uncommitted(requests, inflight);
        if (writes)
            proposals_count_index_feed(p, inflight, write_index_feed_bytes(q, &e->effect));
        if (e->lock != NULL)
            transactions_lock_ends(requests->transactions, p, e->lock);
        if (e->record != NULL)
            e->record->changing = true;
        if (e->commits && e->record != NULL && MUTATED(MUTATION_DECIDE_EARLY)) {
            env_reply(requests->env, o, REPLY_OK);
            inflight->answer = false;
        }
    }
    buffer_deinit(&set);
    buffer_deinit(&row);
}

/* Ends the part. The operation is answered once that is applied. */
static void ending_run(struct requests *requests, struct partition *p, struct operation *o,
                       struct ending *e)
{
    if ((e->lock != NULL && (e->lock->resolving || !e->lock->applied)) ||
        (e->record != NULL && (e->record->changing || !e->record->applied))) {
        /* A request that was sent again. What is on its way may be what it asks for. */
        PROBE("a part is being ended already");
        pending_add_read(requests->pending, p, o, 0, raft_last(p->raft));
        return;
    }
    if (MUTATED(MUTATION_REFUSE_DECIDED) && e->commits && e->record == NULL &&
        instant_before(requests->env->now, instant_add_ms(e->lock->since, 10000))) {
        env_refuse(requests->env, o, REPLY_OVERLOADED, "not now");
        return;
    }
    if (e->commits && e->lock != NULL && !ending_plan(requests, p, o, e))
        return;
    if (e->commits && e->writes && e->effect.stream.size > 0 && stream_rows_wait(p)) {
        PROBE("a part of a transaction waits for the end of a shard");
        pending_add_read(requests->pending, p, o, 0, p->stream.changing);
        return;
    }
    ending_propose(requests, p, o, e);
}

void requests_resolve(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct partition *p = transaction_route(requests, o);
    if (p == NULL || !requests_leads_read(requests, p, o))
        return; /* only who leads surely may say that there is nothing to do */
    struct ending e = {.lock = transactions_lock_of(p, request_transaction(q)->key),
                       .record = transactions_record_of(p, request_transaction(q)->key, id_of(q)),
                       .commits = request_transaction(q)->commits};
    if (e.lock != NULL && !transaction_same(e.lock->id, id_of(q)))
        e.lock = NULL;
    if (e.record != NULL && (e.commits || e.record->row.state != TRANSACTION_PENDING)) {
        /* Its leader has decided: the lock goes by that entry. */
        e.record = NULL;
        e.lock = NULL;
    }
    if (e.lock == NULL && e.record == NULL)
        env_reply(requests->env, o, REPLY_OK);
    else
        ending_run(requests, p, o, &e);
}

/* No record: the transaction was aborted, or committed and forgotten. Its token knows. */
static void decide_again(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct transaction_token t;
    bool in_flight;
    enum status status = STATUS_NOT_FOUND; /* who moves an item looks again */
    if (request_transaction(q)->token.size > 0)
        status = token_find(requests, o, request_transaction(q)->key, request_transaction(q)->token,
                            &t, &in_flight);
    if (status == STATUS_PENDING)
        return;
    const bool done =
        status == STATUS_OK && t.state == TRANSACTION_COMMITTED && transaction_same(t.id, id_of(q));
    if (done || MUTATED(MUTATION_DECIDE_TWICE))
        env_reply(requests->env, o, REPLY_OK);
    else
        env_refuse(requests->env, o, REPLY_ABORTED, "the transaction was given up");
}

void requests_decide_transaction(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct partition *p = transaction_route(requests, o);
    if (p == NULL || !requests_leads_read(requests, p, o))
        return;
    struct ending e = {.lock = transactions_lock_of(p, request_transaction(q)->key),
                       .record = transactions_record_of(p, request_transaction(q)->key, id_of(q)),
                       .commits = true};
    if (e.lock != NULL && !transaction_same(e.lock->id, id_of(q)))
        e.lock = NULL;
    const size_t token_size = request_transaction(q)->token.size;
    if (token_size != TRANSACTION_TOKEN_SIZE &&
        (token_size != 0 || (e.record != NULL && e.record->row.token.size != 0)))
        env_refuse(requests->env, o, REPLY_MALFORMED, "malformed client request token");
    else if (e.record == NULL)
        decide_again(requests, o);
    else if (e.record->row.state == TRANSACTION_ABORTED)
        env_refuse(requests->env, o, REPLY_ABORTED, "the transaction was given up");
    else if (e.record->row.state == TRANSACTION_COMMITTED)
        env_reply(requests->env, o, REPLY_OK);
    else
        ending_run(requests, p, o, &e);
}

void requests_query_transaction(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct partition *p = transaction_route(requests, o);
    if (p == NULL || !requests_leads_read(requests, p, o))
        return;
    const struct open_record *r = transactions_record_of(p, request_transaction(q)->key, id_of(q));
    if (r == NULL && request_transaction(q)->aborts) {
        PROBE("a transaction is refused before it comes");
        struct buffer set = {0}, row = {0};
        struct transaction_record fence = {.state = TRANSACTION_ABORTED,
                                           .wall_ms = env_stamp_ms(requests->env)};
        change_set_begin(&set, 0, 0);
        transaction_rows_append_record(&set, request_transaction(q)->key, id_of(q), &fence, &row);
        if (proposals_may_write(requests->proposals, o, set.size) &&
            raft_driver_may_propose(requests->driver, p, o, set.size) &&
            raft_driver_propose(requests->driver, p, o, LOG_WRITE, buffer_slice(&set),
                                slice_make(NULL, 0)) != NULL)
            transactions_record_proposed(requests->transactions, p, request_transaction(q)->key,
                                         id_of(q), buffer_slice(&row));
        buffer_deinit(&set);
        buffer_deinit(&row);
        return;
    }
    struct reply *answer = env_reply(requests->env, o, REPLY_OK);
    answer->kind = ANSWER_STATE;
    reply_edit_state(answer)->decided =
        (uint8_t)(r == NULL || !r->applied ? TRANSACTION_PENDING : r->row.state);
}
