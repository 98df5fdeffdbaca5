/* transactions_turn.c - lock tables: asks what is decided, tells what is decided, and forgets. */
#include "base/probe.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/background/token_sweep.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/transaction/transactions_internal.h"
#include "engine/store/change_set.h"

enum {
    RETRY_MS = 20,
    TIMEOUT_MS = 1000,
    SET_BYTES_MAX = 8 * 1024 /* of an entry that forgets records or tokens, but for its last key */
};

/* Calls the leader of the partition that has the key. False: its place is not known yet. */
static bool transactions_call(struct transactions *transactions, struct slice key,
                              struct internal_call_options *options, struct request *request)
{
    const uint32_t table_id = storage_key_table(key);
    const struct table *map = index_maps_find(transactions->maps, table_id);
    if (map == NULL)
        return false;
    const struct partition_info *p = table_partition_of(map, key);
    internal_calls_to_leader(options, p);
    options->timeout = duration_ms(TIMEOUT_MS);
    request->partition = p->id;
    request->epoch = p->epoch;
    internal_calls_begin(transactions->calls, options, request);
    return true;
}

static void transactions_refresh(struct transactions *transactions, struct slice key,
                                 const struct reply *r)
{
    if (r->code != REPLY_OVERLOADED && r->code != REPLY_THROTTLED)
        index_maps_refresh(transactions->maps, storage_key_table(key));
}

static struct request request_about(enum request_op op, struct slice key, struct transaction_id id)
{
    struct request request = {.op = op};
    *request_edit_transaction(&request) =
        (struct request_transaction){.key = key, .id_high = id.high, .id_low = id.low};
    return request;
}

/* ---- locks ---- */

/* It is decided: this node, which leads the partition, does the part or drops it. */
static void lock_decided(struct transactions *transactions, const struct partition *p,
                         const struct lock *l, bool commits)
{
    struct request request = request_about(REQUEST_TRANSACT_RESOLVE, buffer_slice(&l->key), l->id);
    request.partition = p->info.id;
    request.epoch = p->info.epoch;
    request_edit_transaction(&request)->commits = commits;
    internal_calls_send(transactions->calls, transactions->env->id, &request);
}

/* Asks the anchor's partition. If the anchor's table is deleted, the transaction was not committed:
 * a table is deleted only after all parts of committed transactions were told. */
static void lock_query(struct transactions *transactions, const struct partition *p,
                       const struct lock_table *t, struct lock *l)
{
    const struct slice anchor = buffer_slice(&l->anchor);
    struct request request = request_about(REQUEST_TRANSACT_QUERY, anchor, l->id);
    struct internal_call_options options = {
        .kind = INTERNAL_CALL_TRANSACT_QUERY, .subject = t->partition, .token = l->number};
    request_edit_transaction(&request)->aborts = !instant_before(
        transactions->env->now, instant_add_ms(l->since, 2 * decide_ms(transactions)));
    l->query_at = instant_add_ms(transactions->env->now, RETRY_MS);
    if (index_maps_gone(transactions->maps, storage_key_table(anchor))) {
        PROBE("the table that decides of a lock was deleted");
        lock_decided(transactions, p, l, false);
        return;
    }
    if (!transactions_call(transactions, anchor, &options, &request))
        return;
    l->query = ++transactions->questions;
}

static void lock_answered(struct transactions *transactions, struct partition *p,
                          struct lock_table *t, const struct internal_call_answer *answer)
{
    const struct reply *r = answer->reply;
    struct lock *l = id_map_find(&t->numbered_locks, answer->token);
    if (l == NULL || l->query == 0)
        return; /* it is decided by another way */
    const uint64_t question = l->query;
    l->query = 0;
    l->query_at = instant_add_ms(transactions->env->now, RETRY_MS);
    lock_table_wake(transactions, t, l->query_at);
    if (r->code != REPLY_OK || r->kind != ANSWER_STATE) {
        transactions_refresh(transactions, buffer_slice(&l->anchor), r);
        return;
    }
    if (reply_state(r)->decided == TRANSACTION_PENDING) {
        l->pending_since = question;
        l->query_at = instant_add_ms(transactions->env->now, TIMEOUT_MS);
        transactions->freed = true;
        return;
    }
    lock_decided(transactions, p, l, reply_state(r)->decided == TRANSACTION_COMMITTED);
}

static void locks_turn(struct transactions *transactions, struct lock_table *t,
                       const struct partition *p)
{
    struct lock *l;
    LIST_FOREACH (l, &t->locks, place) {
        if (!l->applied || l->resolving)
            continue; /* the entry in the log wakes this table when it is applied */
        if (l->query == 0 && !instant_before(transactions->env->now, l->query_at))
            lock_query(transactions, p, t, l);
        if (l->query == 0)
            lock_table_wake(transactions, t, l->query_at);
    }
}

/* ---- records ---- */

static bool bit_of(const uint64_t bits[2], uint32_t i)
{
    return (bits[i / 64] >> i % 64 & 1) != 0;
}

static void bit_set(uint64_t bits[2], uint32_t i, bool value)
{
    bits[i / 64] = (bits[i / 64] & ~(UINT64_C(1) << i % 64)) | (uint64_t)value << i % 64;
}

/* Tells every other part what is decided. True: all have been told. */
static bool record_notify(struct transactions *transactions, const struct lock_table *t,
                          struct open_record *r)
{
    struct reader keys = {r->row.keys, false};
    bool all = true;
    const bool again = !instant_before(transactions->env->now, r->again_at);
    for (uint32_t i = 0; keys.left.size > 0; i++) {
        const struct slice key = reader_sized(&keys);
        if (index_maps_leaves(transactions->maps, storage_key_table(key)))
            bit_set(r->notified, i, true);
        if (record_has_notified(r, i))
            continue;
        all = false;
        if (bit_of(r->notifying, i) || !again)
            continue;
        struct request request = request_about(REQUEST_TRANSACT_RESOLVE, key, r->id);
        struct internal_call_options options = {.kind = INTERNAL_CALL_TRANSACT_NOTIFY,
                                                .subject = t->partition,
                                                .token = r->number << INDEX_BITS | i};
        request_edit_transaction(&request)->commits = r->row.state == TRANSACTION_COMMITTED;
        bit_set(r->notifying, i, transactions_call(transactions, key, &options, &request));
    }
    if (!all && again)
        r->again_at = instant_add_ms(transactions->env->now, RETRY_MS);
    return all;
}

static struct slice record_key_at(const struct open_record *r, uint32_t index)
{
    struct reader keys = {r->row.keys, false};
    struct slice key = {NULL, 0};
    for (uint32_t i = 0; i <= index && keys.left.size > 0; i++)
        key = reader_sized(&keys);
    return key;
}

static void record_answered(struct transactions *transactions, struct lock_table *t,
                            const struct internal_call_answer *answer)
{
    const uint32_t index = answer->token % (1U << INDEX_BITS);
    struct open_record *r = id_map_find(&t->numbered_records, answer->token >> INDEX_BITS);
    if (r == NULL)
        return;
    bit_set(r->notifying, index, false);
    lock_table_wake(transactions, t, transactions->env->now);
    if (answer->reply->code == REPLY_OK)
        bit_set(r->notified, index, true);
    else
        transactions_refresh(transactions, record_key_at(r, index), answer->reply);
}

/* The router did not decide in time: this node drops the anchor's part, and decides by that. */
static void record_give_up(struct transactions *transactions, const struct partition *p,
                           struct open_record *r)
{
    PROBE("a transaction that nobody decided is aborted");
    struct request request =
        request_about(REQUEST_TRANSACT_RESOLVE, buffer_slice(&r->anchor), r->id);
    request.partition = p->info.id;
    request.epoch = p->info.epoch;
    internal_calls_send(transactions->calls, transactions->env->id, &request);
    r->since = instant_add_ms(transactions->env->now, TIMEOUT_MS - decide_ms(transactions));
}

static struct instant record_given_up_at(const struct transactions *transactions,
                                         const struct open_record *r)
{
    return instant_later(instant_add_ms(r->since, decide_ms(transactions)), r->held_until);
}

/* Whether the record has served its purpose. Sets when to look again. */
static bool record_turn(struct transactions *transactions, const struct partition *p,
                        struct lock_table *t, struct open_record *r)
{
    if (!r->applied || r->changing)
        return false;
    if (r->row.state == TRANSACTION_PENDING) {
        if (!instant_before(transactions->env->now, record_given_up_at(transactions, r)))
            record_give_up(transactions, p, r);
        lock_table_wake(transactions, t, record_given_up_at(transactions, r));
        return false;
    }
    const bool all = record_notify(transactions, t, r);
    if (!all)
        lock_table_wake(transactions, t, r->again_at);
    return all;
}

/* Proposes the set. False: not now. */
static bool rows_propose(struct transactions *transactions, struct partition *p,
                         const struct buffer *set)
{
    const struct operation o = {.from = FROM_SELF};
    return proposals_may_write(transactions->proposals, &o, set->size) &&
           raft_driver_may_propose(transactions->driver, p, &o, set->size) &&
           raft_driver_propose(transactions->driver, p, &o, LOG_WRITE, buffer_slice(set),
                               slice_make(NULL, 0)) != NULL;
}

static void record_append_end(struct buffer *set, const struct open_record *r)
{
    struct buffer key = {0};
    transaction_record_key_append(&key, buffer_slice(&r->anchor), r->id);
    change_set_append(
        set,
        &(struct change){.space = SPACE_TRANSACTIONS, .key = buffer_slice(&key), .old_size = -1});
    buffer_deinit(&key);
}

/* Tells the parts of what is committed. */
static void records_notify(struct transactions *transactions, struct lock_table *t)
{
    struct open_record *r;
    TAILQ_FOREACH (r, &t->records, place) {
        if (r->applied && r->row.state == TRANSACTION_COMMITTED)
            record_notify(transactions, t, r);
    }
}

static int64_t fence_ms(const struct transactions *transactions)
{
    return MUTATED(MUTATION_LOSE_FENCE)
               ? 0
               : config_transactions(transactions->env->config)->transaction_fence_ms;
}

/* Names the fences that are over in the set. Fences lie in the order of their ends: the turn
 * stops at the first fence that is not over. */
static void fences_turn(struct transactions *transactions, struct lock_table *t, struct buffer *set)
{
    struct open_record *r;
    TAILQ_FOREACH (r, &t->fences, place) {
        const struct instant over = instant_add_ms(r->since, fence_ms(transactions));
        if (set->size >= SET_BYTES_MAX)
            return; /* the next turn is soon */
        if (instant_before(transactions->env->now, over)) {
            lock_table_wake(transactions, t, over);
            return;
        }
        r->ends = !r->changing;
        if (r->ends)
            record_append_end(set, r);
    }
}

/* What is named in the set changes, if it was proposed. */
static void records_proposed(const struct record_list *list, bool proposed)
{
    struct open_record *r;
    TAILQ_FOREACH (r, list, place) {
        if (!r->ends && r->fence && !r->changing)
            return;
        r->changing |= proposed && r->ends;
        r->ends = false;
    }
}

static void records_turn(struct transactions *transactions, struct lock_table *t,
                         struct partition *p)
{
    struct buffer set = {0};
    struct open_record *r;
    change_set_begin(&set, 0, 0);
    TAILQ_FOREACH (r, &t->records, place) {
        r->ends = record_turn(transactions, p, t, r) && set.size < SET_BYTES_MAX;
        if (r->ends)
            record_append_end(&set, r);
    }
    fences_turn(transactions, t, &set);
    if (set.size > CHANGE_SET_HEAD_SIZE) {
        const bool proposed = rows_propose(transactions, p, &set);
        records_proposed(&t->records, proposed);
        records_proposed(&t->fences, proposed);
        if (!proposed || set.size >= SET_BYTES_MAX)
            lock_table_wake(transactions, t, instant_add_ms(transactions->env->now, RETRY_MS));
    }
    buffer_deinit(&set);
}

/* ---- tokens ---- */

/* Deletes the expired ones that have not been used again meanwhile. */
static void tokens_delete(struct transactions *transactions, struct lock_table *t,
                          struct partition *p)
{
    struct reader keys = {buffer_slice(&p->token_sweep.expired), false};
    struct buffer set = {0};
    struct slice value;
    change_set_begin(&set, 0, 0);
    while (keys.left.size > 0 && set.size < SET_BYTES_MAX) {
        const struct slice key = reader_sized(&keys);
        if (proposals_find_uncommitted(transactions->proposals, key,
                                       store_hash(transactions->env->store, key)) == NULL &&
            store_get(transactions->env->store, key, true, &value) == STATUS_OK &&
            token_row_is_over(transactions->env, value))
            change_set_append(
                &set, &(struct change){.space = SPACE_TRANSACTIONS, .key = key, .old_size = -1});
    }
    if (set.size == CHANGE_SET_HEAD_SIZE || rows_propose(transactions, p, &set))
        buffer_set(&p->token_sweep.expired, arena_copy(&transactions->env->lent, keys.left));
    lock_table_wake(transactions, t, instant_add_ms(transactions->env->now, RETRY_MS));
    buffer_deinit(&set);
}

/* A sweep begins now and then. */
static void tokens_turn(struct transactions *transactions, struct lock_table *t,
                        struct partition *p)
{
    const struct instant now = transactions->env->now;
    if (p->token_sweep.expired.size > 0)
        tokens_delete(transactions, t, p);
    if (!p->token_sweep.on && !instant_before(now, t->sweep_at)) {
        t->sweep_at = next_sweep(transactions);
        buffer_set(&p->token_sweep.to,
                   key_in_space(p->info.lo, SPACE_TOKEN_KEYS, &transactions->env->lent));
        p->token_sweep.on = true;
    }
    if (p->token_sweep.on) {
        background_wake(transactions->background, BACKGROUND_TOKENS);
        lock_table_wake(transactions, t, instant_add_ms(now, RETRY_MS));
    } else {
        lock_table_wake(transactions, t, t->sweep_at);
    }
}

/* ---- events ---- */

void transactions_answered(struct transactions *transactions,
                           const struct internal_call_answer *answer)
{
    struct lock_table *t = transactions_table(transactions, answer->subject);
    struct partition *p = partitions_find(transactions->partitions, answer->subject);
    if (t == NULL || p == NULL || p->led != t->term)
        return;
    if (answer->kind == INTERNAL_CALL_TRANSACT_QUERY)
        lock_answered(transactions, p, t, answer);
    else
        record_answered(transactions, t, answer);
}

/* What is due for the locks and records of one partition. */
static void lock_table_turn(struct transactions *transactions, struct lock_table *t)
{
    struct partition *p = partitions_find(transactions->partitions, t->partition);
    must(p != NULL); /* a replica that goes takes its table along */
    if (t->lost) {
        transactions_begin(transactions, p);
        return;
    }
    t->at = INSTANT_NEVER;
    if (p->frozen.index != 0) { /* nothing that it would propose has an effect */
        records_notify(transactions, t);
        lock_table_wake(transactions, t, instant_add_ms(transactions->env->now, RETRY_MS));
        return;
    }
    locks_turn(transactions, t, p);
    records_turn(transactions, t, p);
    tokens_turn(transactions, t, p);
}

void transactions_end_turn(struct transactions *transactions)
{
    const struct instant now = transactions->env->now;
    if (instant_before(now, transactions->at))
        return;
    transactions->at = INSTANT_NEVER;
    struct lock_table *t = LIST_FIRST(&transactions->all), *next;
    for (; t != NULL; t = next) {
        next = LIST_NEXT(t, place);
        if (instant_before(now, t->at))
            lock_table_wake(transactions, t, t->at);
        else
            lock_table_turn(transactions, t);
    }
}

struct instant transactions_deadline(const struct transactions *transactions)
{
    return transactions->freed ? transactions->env->now : transactions->at;
}
