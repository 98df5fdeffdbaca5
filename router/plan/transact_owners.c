/* transact_owners.c - the owners of a transaction's items. */
#include "router/plan/transact_owners.h"

#include "engine/message/move_messages.h"
#include "router/core/counters.h"
#include "router/core/item_placement.h"

static const struct sharded_key *transact_key(const struct call *c, const struct item_request *q)
{
    return key_sharding_find(c->plan->tables[q->table].route->table.sharded_keys, q->key);
}

bool transact_find_owners(struct call *c)
{
    for (uint32_t i = 0; i < c->plan->count; i++) {
        struct item_request *q = &c->plan->items[i];
        const struct sharded_key *k = transact_key(c, q);
        q->owner_key = q->key;
        if (k != NULL && sharded_key_has_cells(k))
            return call_invalid(c, "%s", counter_takes_only);
        if (k != NULL)
            q->owner_key = sharded_key_in(&c->arena, k, q->key, sharded_key_owner(k, q->key));
    }
    return true;
}

bool transact_leave_previous(struct call *c)
{
    bool any = false;
    for (uint32_t i = 0; i < c->plan->count; i++) {
        const struct item_request *q = &c->plan->items[i];
        const struct sharded_key *k = transact_key(c, q);
        uint32_t former[KEY_SHARDS_BEFORE_MAX];
        if (k == NULL || sharded_key_previous_owners(k, q->key, former) == 0)
            continue;
        struct subrequest *s =
            call_request(c, c->plan->tables[q->table].route, REQUEST_KEY_SHARD_MOVE);
        s->index = i;
        request_edit_move(&s->request)->key = q->key;
        request_edit_move(&s->request)->shards = k->shards;
        subrequest_start(c->router, s);
        any = true;
    }
    return any;
}

bool transact_query_tokens(struct call *c, const uint8_t token[TRANSACTION_TOKEN_SIZE],
                           uint64_t digest)
{
    const struct item_request *q = &c->plan->items[0];
    const struct sharded_key *k = transact_key(c, q);
    uint32_t owners[KEY_SHARDS_MAX];
    const uint32_t count = k != NULL ? sharded_key_recent_owners(k, q->key, owners) : 0;
    struct buffer bytes = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct subrequest *s = call_request(c, c->plan->tables[q->table].route, REQUEST_CHECK);
        struct transaction_part part = {.anchor = sharded_key_in(&c->arena, k, q->key, owners[i]),
                                        .token = slice_make(token, TRANSACTION_TOKEN_SIZE),
                                        .digest = digest};
        buffer_clear(&bytes);
        transaction_part_walk(&(struct codec){.out = &bytes}, &part);
        s->request.write.key = part.anchor;
        s->request.write.transaction = arena_copy(&c->arena, buffer_slice(&bytes));
        s->request.write.token.only = true;
        subrequest_start(c->router, s);
    }
    buffer_deinit(&bytes);
    return count > 0;
}

uint64_t transact_sharded_key_version(const struct call *c, const struct item_request *q)
{
    const struct sharded_key *k = transact_key(c, q);
    return k != NULL ? k->version : 0;
}

bool transact_take_route(struct call *c, const struct subrequest *s)
{
    struct route **known = &c->plan->tables[c->plan->items[s->index].table].route;
    if (table_key_sharding_version(&s->route->table) <=
        table_key_sharding_version(&(*known)->table))
        return false;
    *known = s->route;
    return true;
}
