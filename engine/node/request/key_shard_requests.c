/* key_shard_requests.c - REQUEST_KEY_SHARD_MOVE: items of a sharded key go to their owner shards
 * (key_shard_moves.h). */
#include "base/mutation.h"
#include "base/probe.h"
#include "engine/item/storage_key.h"
#include "engine/key_sharding/key_sharding.h"
#include "engine/message/message.h"
#include "engine/message/move_messages.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/request/item_requests.h"

/* Whether [key, hi) is within one shard of one partition key. */
static bool move_is_in_one_shard(const struct request *q)
{
    const struct slice key = request_move(q)->key, hi = request_move(q)->hi;
    if (hi.size > STORAGE_KEY_SIZE_MAX || slice_compare(key, hi) >= 0)
        return false;
    struct buffer end = {0};
    buffer_set(&end, slice_make(key.data, storage_key_collection_size(key)));
    storage_key_successor(&end);
    const bool within = slice_compare(hi, buffer_slice(&end)) <= 0;
    buffer_deinit(&end);
    return within;
}

/* What is wrong with the request; NULL: nothing. */
static const char *move_fault(const struct request *q)
{
    const struct slice key = request_move(q)->key;
    const bool piece = request_move(q)->hi.size > 0;
    if (key.size > STORAGE_KEY_SIZE_MAX || key.size <= STORAGE_KEY_BOUND_SIZE ||
        storage_key_part_size(key, STORAGE_KEY_BOUND_SIZE) == 0 ||
        (!piece && !storage_key_is_complete(key)))
        return "malformed item key";
    if (key_shard_of(key) == UINT64_MAX)
        return "the key is in no key shard";
    if (piece && !move_is_in_one_shard(q))
        return "the range is not within one key shard";
    if (!piece && request_move(q)->merge_cells)
        return "only ranges of counters have their cells merged";
    return request_move(q)->shards >= 1 && request_move(q)->shards <= KEY_SHARDS_MAX
               ? NULL
               : "more shards than a key may have";
}

/* Whether all that writers who know older sharded keys have proposed is applied. If not, the
 * request will run again. */
static bool move_sees_all(struct requests *requests, struct partition *p, struct operation *o)
{
    if (raft_applied(p->raft) >= p->index_versions.key_sharding_from)
        return true;
    PROBE("a move waits for writes from before the fence");
    pending_add_read(requests->pending, p, o, 0, p->index_versions.key_sharding_from);
    return false;
}

static void move_item(struct requests *requests, struct partition *p, struct operation *o)
{
    const struct slice key = request_move(&o->request)->key;
    struct slice item;
    if (key_shard_owner(key, request_move(&o->request)->shards) == key_shard_of(key)) {
        env_reply(requests->env, o, REPLY_OK);
        return;
    }
    if (key_shard_moves_join(requests->key_shard_moves, o, key) ||
        !transactions_let_write(requests->transactions, p, o, key))
        return;
    if (proposals_find_uncommitted(requests->proposals, key,
                                   store_hash(requests->env->store, key)) != NULL) {
        pending_add_read(requests->pending, p, o, 0, raft_last(p->raft));
        return;
    }
    const enum status status =
        store_get(requests->env->store, key, (o->touched & TOUCHED_ITEMS) != 0, &item);
    if (status == STATUS_PENDING)
        pending_touch(requests->pending, o, TOUCHED_ITEMS, 0);
    else if (status == STATUS_NOT_FOUND)
        env_reply(requests->env, o, REPLY_OK);
    else if (status != STATUS_OK)
        items_refuse_corrupt(requests, o, status);
    else
        key_shard_moves_item(requests->key_shard_moves, p, o);
}

void requests_move_shard(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    const char *fault = move_fault(q);
    if (fault != NULL) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "%s", fault);
        return;
    }
    struct partition *p = items_route(requests, o);
    if (p == NULL || !items_holds_key(requests, p, o) || !requests_leads_read(requests, p, o) ||
        !transactions_are_known(requests->transactions, p, o) || !move_sees_all(requests, p, o))
        return;
    if (request_move(q)->hi.size == 0 && MUTATED(MUTATION_MOVE_BLIND))
        env_reply(requests->env, o, REPLY_OK);
    else if (request_move(q)->hi.size == 0)
        move_item(requests, p, o);
    else if (store_needs_touch(requests->env->store) && o->touched == 0)
        pending_touch(requests->pending, o, TOUCHED_ITEMS, KEY_SHARD_PIECE_BYTES);
    else
        key_shard_moves_piece(requests->key_shard_moves, p, o);
}
