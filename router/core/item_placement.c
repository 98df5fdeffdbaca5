/* item_placement.c - the shards of single items, and the previous owners that they leave. */
#include "router/core/item_placement.h"

#include "base/mutation.h"
#include "engine/message/move_messages.h"
#include "engine/message/request_traits.h"
#include "engine/message/transaction_messages.h"
#include "router/core/call.h"
#include "router/core/counter_reads.h"
#include "router/core/counters.h"

struct slice sharded_key_in(struct arena *arena, const struct sharded_key *k, struct slice key,
                            uint32_t shard)
{
    const struct slice copy = arena_copy(arena, key);
    if (copy.size >= STORAGE_KEY_BOUND_SIZE)
        key_shard_put((uint8_t *)(uintptr_t)copy.data, k->hash, shard);
    return copy;
}

/* The key of a request about one item. NULL: it is about several, or about none. */
static struct slice *placement_key(struct request *q)
{
    switch (q->op) {
    case REQUEST_GET:
        return &q->get.key;
    case REQUEST_UNCHANGED:
        return &q->unchanged.key;
    case REQUEST_PUT:
    case REQUEST_DELETE:
    case REQUEST_UPDATE:
    case REQUEST_CHECK:
        return &q->write.key;
    case REQUEST_KEY_SHARD_MOVE:
        return request_move(q)->hi.size == 0 ? &request_edit_move(q)->key : NULL;
    default:
        return NULL;
    }
}

static bool placement_is_part(const struct request *q)
{
    return traits_of(q)->write && traits_of(q)->answer == ANSWER_ITEM &&
           q->write.transaction.size > 0;
}

bool placement_is_fixed(const struct request *q)
{
    switch (q->op) {
    case REQUEST_RANGE:
    case REQUEST_UNCHANGED:
    case REQUEST_TRANSACT:
        return true;
    case REQUEST_TRANSACT_ADMIT:
        return request_admit(q)->back == WRITE_NOT_ADMITTED;
    default:
        return placement_is_part(q);
    }
}

/* Makes the request what it was before its shards were found. */
static void placement_restore(struct subrequest *s)
{
    const struct request now = s->request;
    s->request = s->placement->original;
    s->request.id = now.id;
    s->request.partition = now.partition;
    s->request.epoch = now.epoch;
    s->request.key_sharding_version = now.key_sharding_version;
    s->request.sharded_key_version = now.sharded_key_version;
}

static bool placement_is_addition(const struct request *q)
{
    return q->op == REQUEST_UPDATE && q->write.token.id.size > 0;
}

/* Chooses the cell of an addition. */
static void placement_choose_cell(struct subrequest *s, const struct sharded_key *k,
                                  struct slice *key)
{
    struct arena *arena = &s->call->arena;
    const struct slice token = s->request.write.token.id;
    struct placement *h = s->placement = arena_zalloc(arena, sizeof *h);
    *key = sharded_key_in(arena, k, *key, 0);
    *h = (struct placement){.original = s->request, .shards = k->shards, .counter = true};
    h->owner_key = sharded_key_in(arena, k, *key, counter_cell(token, k->shards));
    h->previous_count = counter_previous_cells(k, token, h->previous);
    *key = h->owner_key;
}

static void placement_find(struct subrequest *s)
{
    if (s->placement != NULL)
        placement_restore(s);
    struct slice *key = placement_key(&s->request);
    if (key == NULL)
        return;
    struct placement *h = s->placement;
    const struct sharded_key *k = key_sharding_find(s->route->table.sharded_keys, *key);
    s->placement = NULL;
    s->request.sharded_key_version = k != NULL ? k->version : 0;
    if (k == NULL || placement_is_part(&s->request))
        return;
    if (k->counter && placement_is_addition(&s->request)) {
        placement_choose_cell(s, k, key);
        return;
    }
    if (sharded_key_has_cells(k)) { /* other reads are counter_reads.h's */
        const bool reads = s->request.op == REQUEST_GET && !s->request.get.transacts;
        *(reads ? &s->busy : &s->invalid) = reads ? counter_shrinks : counter_takes_only;
        return;
    }
    struct arena *arena = &s->call->arena;
    if (h == NULL)
        h = arena_zalloc(arena, sizeof *h);
    s->placement = h;
    *key = sharded_key_in(arena, k, *key, 0);
    *h = (struct placement){.original = s->request, .shards = k->shards};
    h->owner_key = sharded_key_in(arena, k, *key, sharded_key_owner(k, *key));
    if (s->request.op != REQUEST_UNCHANGED)
        h->previous_count = sharded_key_previous_owners(k, *key, h->previous);
    if (s->request.op == REQUEST_GET && h->previous_count > 0)
        s->request.get.consistent = true;
    if (s->request.op == REQUEST_GET)
        s->request.sharded_key_version = sharded_key_min_version(k, !s->request.get.consistent);
    *key = h->owner_key;
}

void placement_resolve(struct subrequest *s)
{
    const struct table *t = &s->route->table;
    const bool placed = s->request.key_sharding_version > 0;
    s->request.key_sharding_version = table_key_sharding_version(t);
    if (MUTATED(MUTATION_OLDER_SHARDS) && placed && !placement_moves(s))
        return;
    if (s->counter != NULL)
        counter_read_place(s);
    else if (t->sharded_keys != NULL || s->placement != NULL)
        placement_find(s);
}

bool placement_next(struct subrequest *s)
{
    struct placement *h = s->placement;
    if (h == NULL)
        return s->request.op != REQUEST_KEY_SHARD_MOVE;
    placement_restore(s);
    if (h->left < h->previous_count) {
        const struct sharded_key *k = key_sharding_find(s->route->table.sharded_keys, h->owner_key);
        must(k != NULL && k->version == s->request.sharded_key_version); /* SHARDS-1 */
        const uint32_t from = h->previous[h->left];
        if (h->counter) {
            s->request.write.key = sharded_key_in(&s->call->arena, k, h->owner_key, from);
            s->request.write.token.only = true;
            return true;
        }
        s->request.op = REQUEST_KEY_SHARD_MOVE;
        memset(request_edit_move(&s->request), 0, sizeof *request_move(&s->request));
        request_edit_move(&s->request)->key =
            sharded_key_in(&s->call->arena, k, h->owner_key, from);
        request_edit_move(&s->request)->shards = h->shards;
        return true;
    }
    *placement_key(&s->request) = h->owner_key;
    if (s->request.op == REQUEST_GET && h->previous_count > 0)
        s->request.get.consistent = true;
    return s->request.op != REQUEST_KEY_SHARD_MOVE;
}

bool placement_moves(const struct subrequest *s)
{
    return s->placement != NULL && s->placement->left < s->placement->previous_count;
}

void placement_left(struct subrequest *s)
{
    s->placement->left++;
    s->placement->locked = false;
}

const struct request *placement_original(const struct subrequest *s)
{
    return s->placement != NULL ? &s->placement->original : &s->request;
}

struct reply placement_end(struct subrequest *s, const struct reply *reply)
{
    struct reply out = *reply;
    const bool moves = placement_moves(s);
    const bool waited = reply->code == REPLY_NOT_LEADER,
               late = waited || reply->code == REPLY_UNKNOWN;
    placement_restore(s);
    if (moves ? !late && reply->code != REPLY_LOCKED : !waited || !s->placement->locked)
        return out;
    /* The request itself was not sent. */
    if (s->placement->locked)
        out.code = REPLY_LOCKED;
    else if (reply->code == REPLY_UNKNOWN)
        out = (struct reply){
            .code = REPLY_OVERLOADED,
            .text = slice_of(
                "the item is moving to another shard of its key: nothing was done, try again")};
    return out;
}
