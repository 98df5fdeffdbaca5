/* transaction_rows.c - the rows of transactions in change sets, and what tokens allow. */
#include "engine/node/request/transaction_rows.h"

#include "base/probe.h"
#include "engine/node/background/token_sweep.h"
#include "engine/node/request/item_requests.h"

/* ---- rows ---- */

bool transaction_part_decode(struct slice bytes, bool moves, struct transaction_part *out)
{
    struct reader r = {bytes, false};
    struct codec c = {.in = &r};
    transaction_part_walk(&c, out);
    return !r.failed && r.left.size == 0 && (out->token.size == 0) == moves;
}

/* Appends a change of a row. Without a value the row goes. */
static void append_row(struct buffer *out, struct slice key, struct slice value)
{
    change_set_append(
        out,
        &(struct change){.space = SPACE_TRANSACTIONS, .key = key, .value = value, .old_size = -1});
}

void transaction_rows_append_lock(struct buffer *set, struct slice key,
                                  struct transaction_lock *lock)
{
    struct buffer row_key = {0}, value = {0};
    transaction_key_append(&row_key, ROW_LOCK, key, NULL);
    transaction_lock_walk(&(struct codec){.out = &value}, lock);
    append_row(set, buffer_slice(&row_key), buffer_slice(&value));
    buffer_deinit(&row_key);
    buffer_deinit(&value);
}

void transaction_rows_end_lock(struct buffer *set, struct slice key)
{
    struct buffer row_key = {0};
    transaction_key_append(&row_key, ROW_LOCK, key, NULL);
    append_row(set, buffer_slice(&row_key), slice_make(NULL, 0));
    buffer_deinit(&row_key);
}

void transaction_rows_append_record(struct buffer *set, struct slice anchor,
                                    struct transaction_id id, struct transaction_record *record,
                                    struct buffer *value)
{
    struct buffer key = {0};
    transaction_record_key_append(&key, anchor, id);
    buffer_clear(value);
    transaction_record_walk(&(struct codec){.out = value}, record);
    append_row(set, buffer_slice(&key), buffer_slice(value));
    buffer_deinit(&key);
}

void transaction_rows_append_token(struct buffer *set, struct slice anchor, struct slice name,
                                   struct transaction_token *token)
{
    struct buffer key = {0}, value = {0};
    must(name.size == TRANSACTION_TOKEN_SIZE);
    transaction_key_append(&key, ROW_TOKEN, anchor, name.data);
    if (token != NULL)
        transaction_token_walk(&(struct codec){.out = &value}, token);
    append_row(set, buffer_slice(&key), buffer_slice(&value));
    buffer_deinit(&key);
    buffer_deinit(&value);
}

enum status transaction_row_newest(struct requests *requests, struct operation *o, struct slice key,
                                   struct slice *value, bool *in_flight)
{
    const struct uncommitted_version *uncommitted =
        proposals_find_uncommitted(requests->proposals, key, store_hash(requests->env->store, key));
    *in_flight = uncommitted != NULL;
    if (uncommitted != NULL) {
        *value = uncommitted->value;
        return value->size == 0 ? STATUS_NOT_FOUND : STATUS_OK;
    }
    enum status status = store_get(requests->env->store, key, o->steps > 0, value);
    if (status == STATUS_PENDING) {
        o->steps++;
        pending_touch_row(requests->pending, o, key, 0);
    }
    return status;
}

/* ---- tokens ---- */

static enum reply_code token_compare(const struct requests *requests, const struct partition *p,
                                     const struct transaction_token *t,
                                     const struct transaction_part *part)
{
    if (t->state == TRANSACTION_PENDING) /* without a record it was dropped */
        return transactions_record_of(p, part->anchor, t->id) == NULL ? REPLY_OK : REPLY_TOKEN_RUNS;
    if (token_is_over(requests->env, t->wall_ms))
        return REPLY_OK;
    return t->digest == part->digest || MUTATED(MUTATION_ANY_DIGEST) ? REPLY_TOKEN_DONE
                                                                     : REPLY_TOKEN_MISMATCH;
}

enum status token_find(struct requests *requests, struct operation *o, struct slice anchor,
                       struct slice name, struct transaction_token *out, bool *in_flight)
{
    struct buffer key = {0};
    struct slice value;
    transaction_key_append(&key, ROW_TOKEN, anchor, name.data);
    enum status status = transaction_row_newest(requests, o, buffer_slice(&key), &value, in_flight);
    buffer_deinit(&key);
    if (status == STATUS_PENDING || status == STATUS_NOT_FOUND)
        return status;
    struct reader r = {value, false};
    if (status == STATUS_OK)
        transaction_token_walk(&(struct codec){.in = &r}, out);
    if (status == STATUS_OK && !r.failed)
        return STATUS_OK;
    items_refuse_corrupt(requests, o, STATUS_CORRUPT);
    return STATUS_PENDING;
}

bool token_allows(struct requests *requests, struct partition *p, struct operation *o,
                  const struct transaction_part *part)
{
    struct transaction_token t;
    bool in_flight;
    const enum status status = token_find(requests, o, part->anchor, part->token, &t, &in_flight);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND;
    const enum reply_code code = token_compare(requests, p, &t, part);
    if (code == REPLY_OK)
        return true;
    if (!requests_leads_read(requests, p, o)) /* REFUSAL-1 of item_writes.c */
        return false;
    if (in_flight)
        pending_add_read(requests->pending, p, o, 0, raft_last(p->raft));
    else
        env_refuse(requests->env, o, code, "the token is known");
    return false;
}

bool token_allows_update(struct requests *requests, struct partition *p, struct operation *o)
{
    const struct request *q = &o->request;
    const struct transaction_part part = {.anchor = q->write.key, .digest = q->write.token.digest};
    struct transaction_token t;
    bool in_flight = false;
    const enum status status =
        token_find(requests, o, q->write.key, q->write.token.id, &t, &in_flight);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return false;
    const enum reply_code code = status == STATUS_OK && !MUTATED(MUTATION_ADD_TWICE)
                                     ? token_compare(requests, p, &t, &part)
                                     : REPLY_OK;
    const bool known = code != REPLY_OK;
    if (!known && !q->write.token.only)
        return true;
    if (!requests_leads_read(requests, p, o)) /* REFUSAL-1 of item_writes.c */
        return false;
    PROBE("the token of an update is known");
    if (known && in_flight)
        pending_add_read(requests->pending, p, o, 0, raft_last(p->raft));
    else if (code == REPLY_TOKEN_DONE)
        env_reply(requests->env, o, REPLY_OK);
    else if (known)
        env_refuse(requests->env, o, code, "the token is known");
    else
        env_refuse(requests->env, o, REPLY_ABORTED, "the token is not known");
    return false;
}
