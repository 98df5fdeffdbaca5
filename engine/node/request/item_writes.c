/* item_writes.c - writes of items: route, admit, evaluate, settle, then propose or refuse.
 *
 * A write is judged by the newest item: the item after all writes proposed so far. Condition and
 * update see no other.
 *
 * Invariant
 *   REFUSAL-1  A refusal that tells about an item tells about committed state. So it is answered
 *              from the applied item, after leadership was confirmed since the request came. If
 *              only a write in flight stands in the way, the request waits until that write is
 *              applied, and is judged again: the write in flight may never be committed. */
#include "engine/node/request/item_writes.h"
#include "base/probe.h"
#include "base/settings/indexes.h"
#include "engine/expression/program.h"
#include "engine/index/row.h"
#include "engine/item/item_time.h"
#include "engine/limiter/bucket.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/stream_rows.h"
#include "engine/node/request/transaction_rows.h"
#include "engine/store/long_key.h"

/* ---- judging ---- */

/* The item that is applied: no write in flight counts. Empty without STATUS_OK. */
enum status write_applied_item(struct requests *requests, const struct partition *p,
                               const struct operation *o, struct slice *item)
{
    bool touched = (o->touched & TOUCHED_ITEMS) != 0;
    enum status status = store_get(requests->env->store, o->request.write.key, touched, item);
    const bool walked = o->request.write.condition.size > 0 || o->request.op == REQUEST_UPDATE ||
                        p->indexes != NULL || o->request.write.origin == WRITE_BY_EXPIRY ||
                        stream_rows_on(p);
    if (status == STATUS_OK && !items_is_valid(*item, walked))
        status = STATUS_CORRUPT;
    if (status != STATUS_OK)
        *item = slice_make(NULL, 0);
    return status;
}

/* The item that a write replaces, after all writes proposed so far. */
static enum status write_newest_item(struct requests *requests, const struct partition *p,
                                     const struct operation *o, struct write *w, struct slice *item)
{
    const struct uncommitted_version *uncommitted =
        proposals_find_uncommitted(requests->proposals, o->request.write.key, w->hash);
    w->in_flight = uncommitted != NULL;
    if (uncommitted == NULL ||
        (o->request.write.origin == WRITE_BY_EXPIRY && MUTATED(MUTATION_EXPIRE_APPLIED)))
        return write_applied_item(requests, p, o, item);
    *item = uncommitted->value;
    return item->data == NULL ? STATUS_NOT_FOUND : STATUS_OK;
}

static bool write_updates_nothing(const struct request *q, struct slice item)
{
    return q->write.update.size > 0 && item_count(item) == item_count(q->write.item);
}

/* Whether the values of the item can be the keys of indexes. Absent values can. */
static enum update_fault write_keys_fault(const struct index_set *set, struct slice item)
{
    static const enum update_fault FAULTS[] = {[INDEX_KEYS_COMPLETE] = UPDATE_OK,
                                               [INDEX_KEYS_TYPE] = UPDATE_INDEX_KEY_TYPE,
                                               [INDEX_KEYS_EMPTY] = UPDATE_INDEX_KEY_EMPTY,
                                               [INDEX_KEYS_SIZE] = UPDATE_INDEX_KEY_SIZE,
                                               [INDEX_KEYS_ABSENT] = UPDATE_OK};
    struct attr values[2 * INDEX_KEYS_MAX];
    enum update_fault fault = UPDATE_OK;
    for (uint32_t i = 0; set != NULL && fault == UPDATE_OK && item.size > 0 && i < set->count; i++)
        fault = FAULTS[index_keys_of(&set->at[i], item, values)];
    return fault;
}

/* Whether an expiry finds an item whose time is over, by the clocks of this leader and of most
 * nodes (EXPIRY-1). */
static bool write_expires(const struct requests *requests, const struct partition *p,
                          struct slice old)
{
    struct item_times times;
    item_times_at(env_agreed_ms(requests->env), &times);
    return MUTATED(MUTATION_EXPIRE_UNCHECKED) || item_time_is_over(&times, old, p->info.ttl);
}

/* Runs a limiter's command on the item. */
static enum reply_code write_compute_command(struct requests *requests, const struct request *q,
                                             struct slice old, struct write *w)
{
    const bool exists = old.size > 0;
    struct limiter_command command;
    struct reader r = {q->write.limiter, false};
    limiter_command_walk(&(struct codec){.in = &r}, &command);
    buffer_clear(&requests->updated);
    w->fault = (uint8_t)limiter_apply(&command, exists ? old : q->write.item, exists,
                                      env_wall_ms(requests->env), &requests->updated);
    if (w->fault == LIMITER_DONE)
        w->item = buffer_slice(&requests->updated);
    return w->fault == LIMITER_DONE ? REPLY_OK : REPLY_CONDITION_FAILED;
}

/* Sets what the write makes of `old`; an empty `old` means that there is no item. REPLY_OK, or why
 * the write is refused. */
static enum reply_code write_compute(struct requests *requests, const struct partition *p,
                                     const struct request *q, struct slice old, struct write *w)
{
    w->item = q->op == REQUEST_PUT ? q->write.item : slice_make(NULL, 0);
    w->fault = UPDATE_OK;
    struct steps steps = steps_begin(store_hash_seed(requests->env->store));
    const bool holds =
        q->write.condition.size == 0 || program_holds(q->write.condition, old, &steps);
    if (steps_are_spent(&steps)) {
        w->fault = UPDATE_TOO_COSTLY;
        return REPLY_UPDATE_FAILED;
    }
    if (!holds || (q->write.origin == WRITE_BY_EXPIRY && !write_expires(requests, p, old)) ||
        (request_moves(q) && q->op != REQUEST_UPDATE &&
         (old.size > 0) != (q->op == REQUEST_DELETE)))
        return REPLY_CONDITION_FAILED; /* an item that moves is here, and not there */
    if (q->op == REQUEST_CHECK) {
        w->item = old;
        return REPLY_OK;
    }
    if (q->op != REQUEST_UPDATE)
        w->fault = (uint8_t)write_keys_fault(p->indexes, w->item);
    if (q->op != REQUEST_UPDATE)
        return w->fault == UPDATE_OK ? REPLY_OK : REPLY_UPDATE_FAILED;
    if (q->write.limiter.size > 0)
        return write_compute_command(requests, q, old, w);
    const bool exists = old.size > 0;
    buffer_clear(&requests->updated);
    w->fault = (uint8_t)update_apply(q->write.update, exists ? old : q->write.item, exists, &steps,
                                     &requests->updated);
    if (w->fault == UPDATE_OK)
        w->fault = (uint8_t)write_keys_fault(p->indexes, buffer_slice(&requests->updated));
    if (w->fault != UPDATE_OK)
        return REPLY_UPDATE_FAILED;
    w->item = buffer_slice(&requests->updated);
    /* An update that only removes makes no item of a key. */
    if (!exists && write_updates_nothing(q, w->item))
        w->item = slice_make(NULL, 0);
    return REPLY_OK;
}

/* Bytes that the write adds to the stored bytes, those of index rows too; negative: it frees
 * bytes. */
int64_t write_grows_by(const struct write *w)
{
    int64_t size = w->item.data != NULL ? (int64_t)item_size(w->item) : 0;
    must(w->old_size >= -1);
    return size - MAX(w->old_size, 0) + w->local.bytes;
}

/* ---- refusing ---- */

/* Refuses the write for the item that it met (REFUSAL-1). It costs what the write would have cost.
 * */
static void write_refuse(struct requests *requests, struct partition *p, struct operation *o,
                         struct write *w, enum reply_code code, int64_t cost_min)
{
    struct slice item = {NULL, 0};
    must(code != REPLY_OK && cost_min >= 0);
    if (!MUTATED(MUTATION_REFUSE_IN_FLIGHT) && !requests_leads_read(requests, p, o))
        return;
    enum status status = MUTATED(MUTATION_REFUSE_IN_FLIGHT)
                             ? write_newest_item(requests, p, o, w, &item)
                             : write_applied_item(requests, p, o, &item);
    if (status == STATUS_PENDING) {
        pending_touch(requests->pending, o, TOUCHED_ITEMS, 0);
        return;
    }
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        items_refuse_corrupt(requests, o, status);
        return;
    }
    if (w->in_flight)
        code = write_compute(requests, p, &o->request, item, w);
    if (code == REPLY_OK) {
        PROBE("only a write in flight fails a condition");
        pending_add_read(requests->pending, p, o, 0, raft_last(p->raft));
        return;
    }
    items_settle(requests, p, o, ADMIT_WRITE, w->cost_mcu - cost_min);
    struct reply *r = env_reply(requests->env, o, code);
    r->verdict = o->verdict;
    r->consumed_mcu = w->cost_mcu - w->paid_mcu;
    r->kind = ANSWER_ITEM;
    r->item.fault = w->fault;
    r->item.found = o->request.write.return_failed && status == STATUS_OK;
    r->item.wall_ms = o->request.write.limiter.size > 0 ? env_wall_ms(requests->env) : 0;
    if (r->item.found)
        r->item.bytes = item;
}

/* ---- proposing ---- */

/* The bytes of the row that a replica makes of the change. */
size_t write_index_feed_bytes(const struct request *q, const struct write *w)
{
    return w->feed.size == 0 ? 0 : q->write.key.size + INDEX_FEED_SUFFIX_SIZE + w->feed.size;
}

uint32_t write_burst(const struct requests *requests, const struct operation *o)
{
    const bool leases = members_lease(&requests->throughput->members);
    return !o->verdict.burst ? 0 : leases ? 2 : 1;
}

/* What the record costs that a long key shares, unless the key before it has the same one. */
static size_t write_shared_cost(const struct requests *requests, struct slice key,
                                struct slice *last)
{
    const struct slice record = long_key_prefix(key);
    const bool same = slice_equal(record, *last);
    *last = record;
    return same ? 0 : store_shared_cost(requests->env->store, key);
}

/* The same for all rows of local indexes that a write changes. */
static size_t write_shared_rows(const struct requests *requests, const struct write *w)
{
    size_t bytes = 0;
    struct slice last = {NULL, 0};
    for (uint32_t i = 0; i < w->local.count; i++)
        bytes += write_shared_cost(requests, w->local.changes[i].key, &last);
    return bytes;
}

size_t write_shared_bytes(const struct requests *requests, const struct request *q,
                          const struct write *w)
{
    return store_shared_cost(requests->env->store, q->write.key) + write_shared_rows(requests, w);
}

void write_add_uncommitted(struct requests *requests, struct inflight *e)
{
    struct change_set set;
    struct slice last = {NULL, 0};
    change_set_reopen(e->payload, &set);
    for (struct change c; change_set_next(&set, &c);) {
        if (c.space == SPACE_INDEX_FEED || c.space == SPACE_STREAM)
            continue;
        proposals_count_shared(requests->proposals, e, write_shared_cost(requests, c.key, &last));
        if (c.space != SPACE_LOCAL_ROWS) /* no write is judged by them */
            proposals_add_uncommitted(requests->proposals, e,
                                      store_hash(requests->env->store, c.key), c.key, c.value);
    }
}

static void write_propose(struct requests *requests, struct partition *p, const struct operation *o,
                          const struct write *w)
{
    const struct request *q = &o->request;
    struct buffer *head = &requests->env->scratch;
    must(p->led != 0 && o->admitted && w->cost_mcu >= 0);
    must(w->stream.size == 0 || !stream_rows_wait(p)); /* STREAM-3 */
    const struct change change = {
        .space = SPACE_ITEMS, .key = q->write.key, .value = w->item, .old_size = w->old_size};
    buffer_clear(head);
    change_set_begin(head, w->cost_mcu, write_burst(requests, o));
    write_effects_append(requests, p, q, w, head);
    if (q->write.token.id.size > 0)
        transaction_rows_append_token(
            head, q->write.key, q->write.token.id,
            &(struct transaction_token){.state = TRANSACTION_COMMITTED,
                                        .digest = q->write.token.digest,
                                        .wall_ms = env_stamp_ms(requests->env)});
    change_set_append_last(head, &change);
    struct inflight *e =
        raft_driver_propose(requests->driver, p, o, LOG_WRITE, buffer_slice(head), w->item);
    if (e == NULL)
        return;
    write_add_uncommitted(requests, e);
    proposals_count_index_feed(p, e, write_index_feed_bytes(q, w));
    e->verdict = o->verdict;
    e->consumed_mcu = w->cost_mcu;
    e->collection_bytes = w->collection_bytes;
    e->return_values = q->write.return_values;
}

static size_t write_change_bytes(const struct request *q, struct slice value)
{
    return value.size > 0 ? CHANGE_HEAD_SIZE + q->write.key.size + value.size : 0;
}

size_t write_payload(const struct partition *p, const struct request *q, struct slice item,
                     const struct write *w)
{
    return item_entry_bytes(p, q->write.key, item.size) +
           (q->op == REQUEST_UPDATE && q->write.token.id.size > 0
                ? TOKEN_ROW_SIZE + q->write.key.size
                : 0) +
           (w != NULL ? write_change_bytes(q, w->feed) + write_change_bytes(q, w->stream) : 0);
}

static bool write_has_room(struct requests *requests, const struct partition *p,
                           const struct operation *o, struct slice item, const struct write *w)
{
    const size_t payload = write_payload(p, &o->request, item, w);
    return proposals_may_write(requests->proposals, o, payload) &&
           raft_driver_may_propose(requests->driver, p, o, payload);
}

/* Whether there is space for what the write changes. Rows of indexes follow from writes that were
 * acknowledged, and an item that moves is there already: both may use the reserve. */
static bool write_has_space(struct requests *requests, const struct partition *p,
                            const struct operation *o, const struct write *w)
{
    const struct request *q = &o->request;
    const bool follows = q->write.origin == WRITE_BY_FEED || request_moves(q);
    const bool larger = q->op == REQUEST_UPDATE || w->feed.size > 0 || w->stream.size > 0;
    const size_t shared = write_shared_rows(requests, w);
    const int64_t grown = write_grows_by(w);
    return (follows ||
            proposals_may_grow(requests->proposals, o, grown > 0 ? grown + (int64_t)shared : 0)) &&
           (!larger || write_has_room(requests, p, o, w->item, w)) &&
           (shared == 0 ||
            proposals_may_reserve(requests->proposals, o, write_payload(p, &o->request, w->item, w),
                                  shared));
}

/* ---- the request ---- */

static const char *write_command_fault(const struct request *q)
{
    struct limiter_command command;
    struct reader r = {q->write.limiter, false};
    if (q->write.condition.size > 0 || q->write.update.size > 0)
        return "a rate limiter command excludes a condition and an update";
    limiter_command_walk(&(struct codec){.in = &r}, &command);
    return r.failed || r.left.size > 0 ? "malformed rate limiter command" : NULL;
}

/* What is wrong with the request; NULL: nothing. */
const char *write_fault_of(const struct request *q)
{
    if (!storage_key_is_complete(q->write.key))
        return "malformed item key";
    const bool has = q->op == REQUEST_PUT || q->op == REQUEST_UPDATE;
    if (has && (item_check(q->write.item) != STATUS_OK || item_size(q->write.item) > ITEM_SIZE_MAX))
        return "the item fails its checksum";
    if (q->write.origin >= WRITE_ORIGINS)
        return "unknown origin of a write";
    if ((q->write.origin == WRITE_BY_FEED) != (q->write.session != 0))
        return "an index row without a session, or a session without a row";
    if (q->write.origin == WRITE_BY_EXPIRY &&
        (q->op != REQUEST_DELETE || q->write.transaction.size > 0))
        return "an expiry must be a deletion outside a transaction";
    if (request_moves(q) &&
        (q->op == REQUEST_CHECK || q->write.transaction.size == 0 || q->write.condition.size > 0))
        return "an item is moved by a transaction, without a condition";
    if (q->op == REQUEST_CHECK && q->write.transaction.size == 0)
        return "a condition check outside a transaction";
    if (q->write.condition.size > 0 && program_check(q->write.condition) != STATUS_OK)
        return "malformed condition program";
    if (update_program_check(q->write.update) != STATUS_OK)
        return "malformed update program";
    if (q->write.limiter.size > 0 && write_command_fault(q) != NULL)
        return write_command_fault(q);
    if (q->write.token.id.size != 0 &&
        (q->write.token.id.size != TRANSACTION_TOKEN_SIZE || q->write.transaction.size > 0))
        return "malformed client request token";
    if (q->write.token.only && q->write.token.id.size == 0 && q->op != REQUEST_CHECK)
        return "a query for a token without a token";
    if (q->write.admitted >= WRITE_ADMITTEDS)
        return "unknown admission state of the write";
    return q->write.return_values < WRITE_RETURNS ? NULL : "unknown choice of the item to return";
}

bool write_indexes_keep_up(struct requests *requests, struct partition *p, struct operation *o,
                           size_t index_feed_bytes)
{
    struct admit_verdict verdict;
    if (index_feed_bytes == 0 ||
        index_feeds_may_add(requests->feeds, p, index_feed_bytes, &verdict))
        return true;
    PROBE("a write is refused for an index that lags");
    p->counts[ADMIT_WRITE].load.refused[ADMIT_REFUSED_INDEX]++;
    struct reply *r = env_reply(requests->env, o, REPLY_THROTTLED);
    r->verdict = verdict;
    env_note(requests->env, NODE_TRACE_THROTTLED, p->info.id, o->charged_mcu);
    return false;
}

/* An item and its rows in local indexes share the room of an item. One that has more, from before
 * that rule, may shrink. */
static enum reply_code write_check_rows(const struct request *q, struct write *w)
{
    const int64_t before = MAX(w->old_size, 0);
    const int64_t size = w->item.size > 0 ? (int64_t)item_size(w->item) : 0;
    const bool grows = size - before + w->local.bytes > 0;
    if (w->local.size == 0 || size + w->local.size <= ITEM_SIZE_MAX || !grows || request_moves(q))
        return REPLY_OK;
    w->fault = UPDATE_TOO_LARGE;
    w->local = (struct local_writes){0};
    w->feed = w->stream = slice_make(NULL, 0);
    return REPLY_UPDATE_FAILED;
}

enum status write_plan(struct requests *requests, const struct partition *p,
                       const struct operation *o, struct write *w, enum reply_code *code,
                       enum touched *pages)
{
    const struct request *q = &o->request;
    struct slice old;
    *w = (struct write){.hash = store_hash(requests->env->store, q->write.key), .old_size = -1};
    *pages = TOUCHED_ITEMS;
    enum status status = write_newest_item(requests, p, o, w, &old);
    if (status == STATUS_OK)
        w->old_size = (int64_t)item_size(old);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return status;
    *code = write_compute(requests, p, q, old, w);
    if (*code == REPLY_OK && q->op != REQUEST_CHECK) {
        write_effects_plan(requests, p, q, old, w);
        *code = write_check_rows(q, w);
    }
    *pages = TOUCHED_COLLECTION;
    return write_change_collection(requests, p, o, w);
}

/* STATUS_OK: `code` is the result. Otherwise the operation was refused, or will run again. */
static enum status write_evaluate(struct requests *requests, struct partition *p,
                                  struct operation *o, struct write *w, enum reply_code *code)
{
    enum touched pages;
    enum status status = write_plan(requests, p, o, w, code, &pages);
    if (status == STATUS_PENDING)
        pending_touch(requests->pending, o, pages, 0);
    else if (status != STATUS_OK)
        items_refuse_corrupt(requests, o, status);
    return status;
}

/* A write costs by the larger of the two items, whether it is done or refused for its condition,
 * and by the index rows that it changes. */
int64_t write_cost(const struct write *w, int64_t cost_min, int64_t factor)
{
    const int64_t before = w->old_size > 0 ? write_cost_mcu(w->old_size) : 0;
    const int64_t after = w->item.data != NULL ? write_cost_mcu(item_size(w->item)) : 0;
    const int64_t cost = MAX(before, after);
    must(factor >= 0 && cost_min > 0 && w->local.cost_mcu >= 0);
    return factor * MAX(cost, cost_min) + w->local.cost_mcu;
}

int64_t write_cost_min(const struct request *q)
{
    return write_cost_mcu(q->write.item.size > 0 ? item_size(q->write.item) : 0);
}

bool write_collection_is_full(struct requests *requests, const struct operation *o, int64_t bytes,
                              int64_t grown)
{
    const int64_t max = config_indexes(requests->env->config)->collection_max_bytes;
    if (grown <= 0 || bytes <= max)
        return false;
    env_refuse(requests->env, o, REPLY_COLLECTION_FULL,
               "the item collection would hold %lld bytes, collection_max_bytes is %lld",
               (long long)bytes, (long long)max);
    return true;
}

/* Whether no feed will tell indexes of the item when it is gone: they would lose its rows. If not,
 * the deletion was refused. While the item is locked, none begins to (requests_fill_index). */
static bool write_may_leave(struct requests *requests, const struct partition *p,
                            const struct operation *o, const struct write *w)
{
    const struct request *q = &o->request;
    struct slice item;
    if (q->op != REQUEST_DELETE ||
        (!w->in_flight && write_applied_item(requests, p, o, &item) == STATUS_OK &&
         index_feeds_let_go(requests->feeds, p, q->write.key, item)))
        return true;
    PROBE("an item waits with its move for indexes");
    env_refuse(requests->env, o, REPLY_OVERLOADED,
               "the item is being written, or indexes lack a change of it");
    return false;
}

/* ---- the stages ---- */

/* A write on its way. */
struct write_run {
    struct requests *requests;
    struct partition *p;
    struct operation *o;
    struct prepared prepared;
    struct write w;
    enum reply_code code; /* the result */
    int64_t factor;       /* of the item's units; 0: the write is free */
    int64_t paid_mcu;     /* at least so much it costs: charged before it is judged */
};

static bool write_is_free(const struct request *q)
{
    return q->write.origin == WRITE_BY_EXPIRY || request_moves(q);
}

static bool write_stage_route(struct write_run *r)
{
    r->p = items_route(r->requests, r->o);
    return r->p != NULL;
}

/* Whether the client's token is known is asked of any partition that has the item. */
static bool write_stage_known_token(struct write_run *r)
{
    const struct request *q = &r->o->request;
    if (q->op != REQUEST_CHECK || !q->write.token.only || write_fault_of(q) != NULL)
        return true;
    prepare_query_token(r->requests, r->o);
    return false;
}

static bool write_stage_key(struct write_run *r)
{
    return items_holds_key(r->requests, r->p, r->o);
}

static bool write_stage_shape(struct write_run *r)
{
    const char *fault = write_fault_of(&r->o->request);
    if (fault != NULL)
        env_refuse(r->requests->env, r->o, REPLY_MALFORMED, "%s", fault);
    return fault == NULL;
}

static bool write_stage_leader(struct write_run *r)
{
    if (r->p->led == 0)
        raft_driver_refuse(r->requests->driver, r->o, r->p);
    return r->p->led != 0;
}

/* A row of an index comes within a session of the feed that writes it. */
static bool write_stage_session(struct write_run *r)
{
    const uint64_t session = r->o->request.write.session;
    if (r->o->request.write.origin != WRITE_BY_FEED ||
        index_sessions_hold(&r->p->sessions, session))
        return true;
    PROBE("a row comes from a session that is closed");
    env_refuse(r->requests->env, r->o, REPLY_STALE_MAP, "the session is closed");
    return false;
}

static bool write_stage_transaction(struct write_run *r)
{
    const struct request *q = &r->o->request;
    r->prepared.on = q->write.transaction.size > 0;
    if (r->prepared.on && q->write.admitted != WRITE_NOT_ADMITTED) {
        r->o->admitted = true;
        r->o->verdict = write_verdict(q->write.admitted);
    }
    return !r->prepared.on || prepare_may_begin(r->requests, r->p, r->o, &r->prepared);
}

static bool write_stage_lock(struct write_run *r)
{
    return transactions_let_write(r->requests->transactions, r->p, r->o, r->o->request.write.key);
}

static bool write_stage_token(struct write_run *r)
{
    return r->o->request.write.token.id.size == 0 || token_allows_update(r->requests, r->p, r->o);
}

static bool write_stage_room(struct write_run *r)
{
    const struct request *q = &r->o->request;
    return write_has_room(r->requests, r->p, r->o, q->write.item, NULL);
}

static bool write_stage_admit(struct write_run *r)
{
    const struct request *q = &r->o->request;
    r->factor = write_is_free(q) ? 0 : r->prepared.on ? TRANSACTION_FACTOR : 1;
    r->paid_mcu = r->factor * write_cost_min(q);
    r->o->admitted |= write_is_free(q);
    return items_admit(r->requests, r->p, r->o, ADMIT_WRITE, r->paid_mcu);
}

/* Judges the write by the newest item, and knows its cost then. */
static bool write_stage_evaluate(struct write_run *r)
{
    const struct request *q = &r->o->request;
    if (write_evaluate(r->requests, r->p, r->o, &r->w, &r->code) != STATUS_OK)
        return false;
    must(r->p->led != 0); /* the stages before have refused it */
    const bool paid = r->prepared.on && q->write.admitted != WRITE_NOT_ADMITTED;
    r->w.cost_mcu = write_is_free(q) ? 0 : write_cost(&r->w, write_cost_min(q), r->factor);
    r->w.paid_mcu = paid ? r->paid_mcu : 0;
    if (r->code != REPLY_OK)
        write_refuse(r->requests, r->p, r->o, &r->w, r->code, r->paid_mcu);
    return r->code == REPLY_OK;
}

static bool write_stage_indexes(struct write_run *r)
{
    const size_t bytes = write_index_feed_bytes(&r->o->request, &r->w);
    return write_indexes_keep_up(r->requests, r->p, r->o, bytes);
}

static bool write_stage_space(struct write_run *r)
{
    return write_has_space(r->requests, r->p, r->o, &r->w);
}

static bool write_stage_collection(struct write_run *r)
{
    const int64_t grown = write_grows_by(&r->w);
    return request_moves(&r->o->request) ||
           !write_collection_is_full(r->requests, r->o, r->w.collection_bytes, grown);
}

/* No record follows the end of a stream's shard. */
static bool write_stage_stream(struct write_run *r)
{
    if (r->w.stream.size == 0 || !stream_rows_wait(r->p))
        return true;
    PROBE("a write waits for the end of a shard");
    pending_add_read(r->requests->pending, r->p, r->o, 0, r->p->stream.changing);
    return false;
}

static bool write_stage_settle(struct write_run *r)
{
    must(r->o->admitted && r->w.cost_mcu >= r->paid_mcu);
    items_settle(r->requests, r->p, r->o, ADMIT_WRITE, r->w.cost_mcu - r->paid_mcu);
    return true;
}

static bool write_stage_leave(struct write_run *r)
{
    return !request_moves(&r->o->request) || write_may_leave(r->requests, r->p, r->o, &r->w);
}

static bool write_stage_propose(struct write_run *r)
{
    if (r->prepared.on)
        prepare_propose(r->requests, r->p, r->o, &r->w, &r->prepared);
    else
        write_propose(r->requests, r->p, r->o, &r->w);
    return false;
}

/* The order in which a write may be refused. A stage that does not go on has answered, or the write
 * runs again from the first stage when what it waits for is there. docs/architecture.md has the
 * names. */
static const struct write_stage {
    const char *name;
    bool (*run)(struct write_run *r); /* whether the next stage comes */
    bool uncharges;                   /* if it does not go on, the write has cost nothing */
} WRITE_STAGES[] = {
    {"route", write_stage_route, false},
    {"known-token", write_stage_known_token, false},
    {"key", write_stage_key, false},
    {"shape", write_stage_shape, false},
    {"leader", write_stage_leader, false},
    {"session", write_stage_session, false},
    {"transaction", write_stage_transaction, false},
    {"lock", write_stage_lock, false},
    {"token", write_stage_token, false},
    {"room", write_stage_room, false},
    {"admit", write_stage_admit, false},
    {"evaluate", write_stage_evaluate, false},
    {"indexes", write_stage_indexes, true},
    {"space", write_stage_space, true},
    {"collection", write_stage_collection, true},
    {"stream", write_stage_stream, false},
    {"settle", write_stage_settle, false},
    {"leave", write_stage_leave, false},
    {"propose", write_stage_propose, false},
};

const char *write_stage_name(size_t number)
{
    return number < COUNT_OF(WRITE_STAGES) ? WRITE_STAGES[number].name : NULL;
}

void requests_write(struct requests *requests, struct operation *o)
{
    struct write_run r; /* each stage sets what it finds; the whole is too large to be cleared */
    r.requests = requests;
    r.o = o;
    size_t i = 0;
    while (WRITE_STAGES[i].run(&r)) {
        i++;
        must(i < COUNT_OF(WRITE_STAGES)); /* the last one does not go on */
    }
    if (WRITE_STAGES[i].uncharges)
        items_uncharge(requests, r.p, o, ADMIT_WRITE);
}
