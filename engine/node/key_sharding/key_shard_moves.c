/* key_shard_moves.c - moves of items to their shards, one step after the other, and pieces of
 * them. */
#include "engine/node/key_sharding/key_shard_moves.h"

#include <stdlib.h>

#include "base/probe.h"
#include "engine/message/move_messages.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/key_sharding/cell_merge.h"

enum {
    TIMEOUT_MS = 2000 /* for an answer to a step */
};

/* Items of a partition that are moved for one request. */
struct key_shard_piece {
    LIST_ENTRY(key_shard_piece) place;
    uint64_t from;
    uint64_t request_id;
    uint32_t partition;
    uint64_t epoch;
    uint32_t shards;
    bool merge_cells;             /* the items are cells */
    uint64_t sharded_key_version; /* as in struct request */
    struct buffer key;            /* it begins there */
    struct buffer next;           /* what follows was not looked at */
    struct buffer hi;             /* the end of what was asked for, or of the partition */
    struct buffer stuck; /* the least key that is not settled, as far as known; empty: none */
    struct buffer found; /* keys of items to move: each u32 size, bytes */
    size_t taken;        /* bytes of `found` whose moves have begun */
    uint32_t out;        /* moves under way */
    uint32_t moved;
    uint32_t scanned;
    struct instant until; /* when it begins no further move */
};

static void piece_moved(struct key_shard_moves *moves, struct key_shard_piece *piece,
                        struct slice key, bool done);

/* ---- life ---- */

static void piece_free(struct key_shard_moves *moves, struct key_shard_piece *piece)
{
    LIST_REMOVE(piece, place);
    moves->piece_count--;
    buffer_deinit(&piece->key);
    buffer_deinit(&piece->next);
    buffer_deinit(&piece->hi);
    buffer_deinit(&piece->stuck);
    buffer_deinit(&piece->found);
    free(piece);
}

static struct key_shard_waiter *next_waiter(struct key_shard_waiters *waiters)
{
    struct key_shard_waiter *waiter = STAILQ_FIRST(waiters);
    if (waiter != NULL)
        STAILQ_REMOVE_HEAD(waiters, place);
    return waiter;
}

void key_shard_moves_deinit(struct key_shard_moves *moves)
{
    for (uint32_t i = 0; i < KEY_SHARD_MOVES_MAX; i++) {
        struct item_move *m = &moves->all[i];
        struct key_shard_waiter *waiter;
        while (m->step != KEY_SHARD_FREE && (waiter = next_waiter(&m->waiters)) != NULL)
            free(waiter);
        buffer_deinit(&m->key);
        buffer_deinit(&m->target);
    }
    while (!LIST_EMPTY(&moves->pieces))
        piece_free(moves, LIST_FIRST(&moves->pieces));
}

/* The partition that leads here and has the key: what was split off has it, too. NULL: none. */
static struct partition *moves_partition(const struct key_shard_moves *moves, uint32_t id,
                                         struct slice key)
{
    struct partition *p = partitions_find(moves->partitions, id);
    if (p != NULL && p->led != 0 && partition_holds(p, key))
        return p;
    for (uint32_t i = 0; i < moves->partitions->count; i++) {
        p = moves->partitions->all[i];
        if (p->led != 0 && p->info.id != CATALOG_GROUP && partition_holds(p, key))
            return p;
    }
    return NULL;
}

/* ---- the end of a move ---- */

/* A piece that is told begins its next move, which may take this one's place. */
static void move_end(struct key_shard_moves *moves, struct item_move *m, enum reply_code code,
                     const char *text)
{
    const struct slice key = arena_copy(&moves->env->lent, buffer_slice(&m->key));
    struct key_shard_waiters waiters = STAILQ_HEAD_INITIALIZER(waiters);
    struct key_shard_waiter *waiter;
    STAILQ_CONCAT(&waiters, &m->waiters);
    must(m->step != KEY_SHARD_FREE && moves->count > 0);
    m->step = KEY_SHARD_FREE;
    moves->count--;
    while ((waiter = next_waiter(&waiters)) != NULL) {
        const struct operation o = {.from = waiter->from, .request.id = waiter->request_id};
        if (waiter->piece != NULL)
            piece_moved(moves, waiter->piece, key, code == REPLY_OK);
        else if (code == REPLY_OK)
            env_reply(moves->env, &o, REPLY_OK);
        else
            env_refuse(moves->env, &o, code, "the item cannot move to its shard now: %s", text);
        free(waiter);
    }
}

void key_shard_moves_stop(struct key_shard_moves *moves, const char *why)
{
    internal_calls_end_all(moves->calls, INTERNAL_CALL_KEY_SHARD_MOVE);
    struct key_shard_piece *piece;
    LIST_FOREACH (piece, &moves->pieces, place)
        piece->until = moves->env->now;
    for (uint32_t i = 0; i < KEY_SHARD_MOVES_MAX; i++) {
        if (moves->all[i].step != KEY_SHARD_FREE)
            move_end(moves, &moves->all[i], REPLY_STOPPED, why);
    }
}

/* ---- steps ---- */

static void move_call(struct key_shard_moves *moves, const struct item_move *m,
                      struct internal_call_options *options, const struct request *request)
{
    options->kind = INTERNAL_CALL_KEY_SHARD_MOVE;
    options->subject = m->partition;
    options->token = (uint32_t)(m - moves->all);
    options->insists = m->step != KEY_SHARD_LOCKING; /* what was prepared is not given up at once */
    options->timeout = duration_ms(TIMEOUT_MS);
    internal_calls_begin(moves->calls, options, request);
}

/* Asks this node, once. False: it does not lead the partition any more. */
static bool move_call_self(struct key_shard_moves *moves, const struct item_move *m,
                           struct request *request)
{
    const struct partition *p = moves_partition(moves, m->partition, buffer_slice(&m->key));
    struct internal_call_options options = {
        .candidate_count = 1, .candidates = {moves->env->id}, .once = true};
    if (p == NULL)
        return false;
    request->partition = p->info.id;
    request->epoch = p->info.epoch;
    move_call(moves, m, &options, request);
    return true;
}

static void move_append_part(const struct item_move *m, bool anchors, struct buffer *out)
{
    struct buffer keys = {0};
    struct transaction_part part = {.id = m->id, .anchor = buffer_slice(&m->key)};
    if (anchors)
        buffer_append_sized(&keys, buffer_slice(&m->target));
    part.keys = buffer_slice(&keys);
    transaction_part_walk(&(struct codec){.out = out}, &part);
    buffer_deinit(&keys);
}

static bool move_lock(struct key_shard_moves *moves, struct item_move *m)
{
    struct buffer part = {0};
    move_append_part(m, true, &part);
    struct request request = {.op = REQUEST_DELETE,
                              .write = {.key = buffer_slice(&m->key),
                                        .transaction = buffer_slice(&part),
                                        .origin = WRITE_BY_MOVE}};
    m->step = KEY_SHARD_LOCKING;
    const bool sent = move_call_self(moves, m, &request);
    buffer_deinit(&part);
    return sent;
}

/* Drops what was prepared. */
static void move_abort(struct key_shard_moves *moves, struct item_move *m, enum reply_code code,
                       const char *text)
{
    const struct partition *p = moves_partition(moves, m->partition, buffer_slice(&m->key));
    PROBE("an item that goes to its shard is left where it is");
    if (p != NULL) {
        struct request request = {
            .op = REQUEST_TRANSACT_RESOLVE, .partition = p->info.id, .epoch = p->info.epoch};
        *request_edit_transaction(&request) = (struct request_transaction){
            .key = arena_copy(&moves->env->lent, buffer_slice(&m->key)),
            .id_high = m->id.high,
            .id_low = m->id.low};
        internal_calls_send(moves->calls, moves->env->id, &request);
    }
    move_end(moves, m, code, text);
}

/* This node alone decides. So its patience counts, and not transaction_decide_ms, in which a slow
 * disk may not get to the decision (MOVE-5). */
static void move_hold(struct key_shard_moves *moves, const struct item_move *m)
{
    const struct slice key = buffer_slice(&m->key);
    const struct partition *p = moves_partition(moves, m->partition, key);
    struct open_record *r = p != NULL ? transactions_record_of(p, key, m->id) : NULL;
    if (r != NULL)
        r->held_until = instant_add_ms(moves->env->now, 2 * TIMEOUT_MS);
}

/* The item is locked, so it stays as it is. */
static void move_put(struct key_shard_moves *moves, struct item_move *m)
{
    struct slice item;
    struct buffer part = {0};
    const struct slice target = buffer_slice(&m->target);
    const struct table *map = index_maps_find(moves->maps, storage_key_table(target));
    if (map == NULL || moves_partition(moves, m->partition, buffer_slice(&m->key)) == NULL) {
        move_abort(moves, m, REPLY_OVERLOADED, "the partition has another leader");
        return;
    }
    if (store_get(moves->env->store, buffer_slice(&m->key), true, &item) != STATUS_OK ||
        item_check(item) != STATUS_OK) {
        move_abort(moves, m, REPLY_CORRUPT, "it cannot be read");
        return;
    }
    const struct partition_info *p = table_partition_of(map, target);
    /* An addition that comes late, when the move is done, would count again: it is sent anew only
     * after a refusal. A late put is refused, because there is an item. */
    struct internal_call_options options = {.once = m->merge_cells};
    internal_calls_to_leader(&options, p);
    move_append_part(m, false, &part);
    struct request request = {.op = m->merge_cells ? REQUEST_UPDATE : REQUEST_PUT,
                              .partition = p->id,
                              .epoch = p->epoch,
                              .sharded_key_version = m->sharded_key_version,
                              .write = {.key = target,
                                        .item = item,
                                        .transaction = buffer_slice(&part),
                                        .origin = WRITE_BY_MOVE}};
    if (m->merge_cells) {
        PROBE("a counter's cell is added to another");
        cell_merge(map, item, &moves->env->lent, &request.write.item, &request.write.update);
    }
    m->step = KEY_SHARD_PUTTING;
    move_hold(moves, m);
    move_call(moves, m, &options, &request);
    buffer_deinit(&part);
}

static void move_decide(struct key_shard_moves *moves, struct item_move *m)
{
    struct request request = {.op = REQUEST_TRANSACT_DECIDE};
    *request_edit_transaction(&request) = (struct request_transaction){
        .key = buffer_slice(&m->key), .id_high = m->id.high, .id_low = m->id.low};
    m->step = KEY_SHARD_DECIDING;
    if (!move_call_self(moves, m, &request))
        move_end(moves, m, REPLY_OVERLOADED, "the partition has another leader");
}

/* ---- answers ---- */

static void move_locked(struct key_shard_moves *moves, struct item_move *m, enum reply_code code)
{
    if (code == REPLY_OK)
        move_put(moves, m);
    else if (code == REPLY_LOCKED)
        move_end(moves, m, code, "a transaction has locked it");
    else if (code == REPLY_UNKNOWN)
        move_abort(moves, m, REPLY_OVERLOADED, "its lock state is unknown");
    else
        move_end(moves, m, REPLY_OVERLOADED, "it cannot be locked");
}

static void move_was_put(struct key_shard_moves *moves, struct item_move *m, enum reply_code code)
{
    switch (code) {
    case REPLY_OK:
        move_decide(moves, m);
        return;
    case REPLY_LOCKED:
        move_abort(moves, m, code, "a transaction has locked its new place");
        return;
    case REPLY_CONDITION_FAILED:
        move_abort(moves, m, REPLY_CORRUPT, "its new place has an item already");
        return;
    case REPLY_UPDATE_FAILED:
        PROBE("a cell cannot be added to another");
        move_abort(moves, m, REPLY_OVERLOADED,
                   "the sum of the cells is outside the range of numbers");
        return;
    case REPLY_OVERLOADED:
    case REPLY_THROTTLED:
        break;
    default:
        index_maps_refresh(moves->maps, storage_key_table(buffer_slice(&m->target)));
    }
    move_abort(moves, m, REPLY_OVERLOADED, "it cannot be put at its new place");
}

void key_shard_moves_answered(struct key_shard_moves *moves,
                              const struct internal_call_answer *answer)
{
    must(answer->token < KEY_SHARD_MOVES_MAX);
    struct item_move *m = &moves->all[answer->token];
    const enum reply_code code = answer->reply->code;
    switch (m->step) {
    case KEY_SHARD_LOCKING:
        move_locked(moves, m, code);
        break;
    case KEY_SHARD_PUTTING:
        move_was_put(moves, m, code);
        break;
    case KEY_SHARD_DECIDING:
        if (code == REPLY_OK)
            move_end(moves, m, REPLY_OK, "");
        else
            move_abort(moves, m, REPLY_OVERLOADED, "its move was not decided");
        break;
    case KEY_SHARD_FREE:
        break;
    }
}

/* ---- the beginning ---- */

static struct item_move *move_of(struct key_shard_moves *moves, struct slice key)
{
    const uint64_t hash = store_hash(moves->env->store, key);
    for (uint32_t i = 0; moves->count > 0 && i < KEY_SHARD_MOVES_MAX; i++) {
        struct item_move *m = &moves->all[i];
        if (m->step != KEY_SHARD_FREE && m->hash == hash && slice_equal(buffer_slice(&m->key), key))
            return m;
    }
    return NULL;
}

static void move_add_waiter(struct item_move *m, uint64_t from, uint64_t request_id,
                            struct key_shard_piece *piece)
{
    struct key_shard_waiter *waiter = must_calloc(1, sizeof *waiter);
    waiter->from = from;
    waiter->request_id = request_id;
    waiter->piece = piece;
    STAILQ_INSERT_TAIL(&m->waiters, waiter, place);
}

/* NULL: the node moves too many, or does not know where the owner shard is. */
static struct item_move *move_begin(struct key_shard_moves *moves, const struct partition *p,
                                    struct slice key, uint32_t shards, bool merge_cells,
                                    uint64_t sharded_key_version)
{
    struct item_move *m = moves->all;
    if (moves->count == KEY_SHARD_MOVES_MAX ||
        index_maps_find(moves->maps, storage_key_table(key)) == NULL)
        return NULL;
    while (m->step != KEY_SHARD_FREE)
        m++;
    struct prng *prng = &moves->env->prng;
    m->partition = p->info.id;
    m->hash = store_hash(moves->env->store, key);
    m->sharded_key_version = sharded_key_version;
    buffer_set(&m->key, key);
    buffer_set(&m->target, key);
    key_shard_put(m->target.data, key_shard_bare_hash(key),
                  merge_cells ? 0 : key_shard_owner(key, shards));
    m->merge_cells = merge_cells;
    m->id.high = (uint64_t)moves->identity->generation << 32 | (uint32_t)prng_next(prng);
    m->id.low = prng_next(prng);
    STAILQ_INIT(&m->waiters);
    moves->count++;
    must(move_lock(moves, m)); /* the caller knows that it leads */
    return m;
}

bool key_shard_moves_join(struct key_shard_moves *moves, const struct operation *o,
                          struct slice key)
{
    struct item_move *m = move_of(moves, key);
    if (m == NULL)
        return false;
    PROBE("two who need an item share its move");
    move_add_waiter(m, o->from, o->request.id, NULL);
    return true;
}

void key_shard_moves_item(struct key_shard_moves *moves, const struct partition *p,
                          const struct operation *o)
{
    const struct request *q = &o->request;
    struct item_move *m = move_begin(moves, p, request_move(q)->key, request_move(q)->shards, false,
                                     q->sharded_key_version);
    if (m != NULL)
        move_add_waiter(m, o->from, q->id, NULL);
    else
        env_refuse(moves->env, o, REPLY_OVERLOADED, "node %u cannot move the item yet",
                   moves->env->id);
}

/* ---- pieces ---- */

static void piece_is_stuck(struct key_shard_piece *piece, struct slice key)
{
    if (piece->stuck.size == 0 || slice_compare(key, buffer_slice(&piece->stuck)) < 0)
        buffer_set(&piece->stuck, key);
}

/* Finds items that are not in their owner shards, from `key` on. */
static enum status piece_scan(struct key_shard_moves *moves, struct key_shard_piece *piece,
                              const struct partition *p, uint32_t items_max)
{
    struct items_cursor c;
    struct slice key, item, first;
    uint32_t found = 0;
    size_t bytes = 0;
    enum status status;
    if (transactions_hold_moved(p, buffer_slice(&piece->key), buffer_slice(&piece->hi),
                                piece->shards, piece->merge_cells, &first))
        piece_is_stuck(piece, first);
    items_seek(p, moves->env->store, buffer_slice(&piece->key), buffer_slice(&piece->hi), false,
               &c);
    while ((status = items_next(&c, &key, &item)) == STATUS_OK) {
        if (found == items_max || piece->scanned == KEY_SHARD_PIECE_SCANS ||
            bytes >= KEY_SHARD_PIECE_BYTES) {
            buffer_set(&piece->next, key);
            return STATUS_OK;
        }
        piece->scanned++;
        bytes += item.size;
        if (key_shard_stays(key, piece->shards, piece->merge_cells))
            continue;
        buffer_append_sized(&piece->found, key);
        found++;
    }
    buffer_set(&piece->next, buffer_slice(&piece->hi));
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* The partition, if it is as it was. NULL: it is not. */
static const struct partition *piece_partition(const struct key_shard_moves *moves,
                                               const struct key_shard_piece *piece)
{
    const struct partition *p = partitions_find(moves->partitions, piece->partition);
    return p != NULL && p->led != 0 && p->info.epoch == piece->epoch && !p->no_state ? p : NULL;
}

static void piece_end(struct key_shard_moves *moves, struct key_shard_piece *piece)
{
    const struct operation o = {.from = piece->from, .request.id = piece->request_id};
    const struct partition *p = piece_partition(moves, piece);
    struct slice first;
    if (p == NULL) {
        env_refuse(moves->env, &o, REPLY_OVERLOADED, "partition %u has changed", piece->partition);
        piece_free(moves, piece);
        return;
    }
    if (transactions_hold_moved(p, buffer_slice(&piece->key), buffer_slice(&piece->next),
                                piece->shards, piece->merge_cells, &first))
        piece_is_stuck(piece, first);
    const struct slice next = buffer_slice(&piece->next), stuck = buffer_slice(&piece->stuck);
    struct reply *r = env_reply(moves->env, &o, REPLY_OK);
    r->kind = ANSWER_RANGE;
    r->range.count = piece->moved;
    r->range.scanned = piece->scanned;
    r->range.last = arena_copy(&moves->env->lent,
                               stuck.size > 0 && slice_compare(stuck, next) < 0 ? stuck : next);
    r->range.more = slice_compare(r->range.last, buffer_slice(&piece->hi)) < 0;
    piece_free(moves, piece);
}

/* Begins moves, and answers once all are done. */
static void piece_run(struct key_shard_moves *moves, struct key_shard_piece *piece)
{
    const struct partition *p = piece_partition(moves, piece);
    while (p != NULL && piece->taken < piece->found.size && piece->out < KEY_SHARD_PIECE_MOVES &&
           instant_before(moves->env->now, piece->until)) {
        struct reader left = {
            slice_make(piece->found.data + piece->taken, piece->found.size - piece->taken), false};
        const struct slice key = reader_sized(&left);
        struct item_move *m = move_of(moves, key);
        if (m == NULL && (m = move_begin(moves, p, key, piece->shards, piece->merge_cells,
                                         piece->sharded_key_version)) == NULL) {
            PROBE("a piece waits for room among the moves, or for a map");
            piece->until = moves->env->now;
            break;
        }
        move_add_waiter(m, 0, 0, piece);
        piece->taken = piece->found.size - left.left.size;
        piece->out++;
    }
    if (piece->out > 0)
        return;
    if (piece->taken < piece->found.size) {
        struct reader left = {
            slice_make(piece->found.data + piece->taken, piece->found.size - piece->taken), false};
        piece_is_stuck(piece, reader_sized(&left));
    }
    piece_end(moves, piece);
}

static void piece_moved(struct key_shard_moves *moves, struct key_shard_piece *piece,
                        struct slice key, bool done)
{
    piece->out--;
    piece->moved += done;
    if (!done)
        piece_is_stuck(piece, key);
    piece_run(moves, piece);
}

void key_shard_moves_piece(struct key_shard_moves *moves, const struct partition *p,
                           const struct operation *o)
{
    const struct request *q = &o->request;
    if (moves->piece_count == KEY_SHARD_PIECES_MAX) {
        env_refuse(moves->env, o, REPLY_OVERLOADED, "node %u moves too many pieces",
                   moves->env->id);
        return;
    }
    struct key_shard_piece *piece = must_calloc(1, sizeof *piece);
    LIST_INSERT_HEAD(&moves->pieces, piece, place);
    moves->piece_count++;
    piece->from = o->from;
    piece->request_id = q->id;
    piece->partition = p->info.id;
    piece->epoch = p->info.epoch;
    piece->shards = request_move(q)->shards;
    piece->merge_cells = request_move(q)->merge_cells;
    piece->sharded_key_version = q->sharded_key_version;
    piece->until = instant_add_ms(moves->env->now, KEY_SHARD_PIECE_MS);
    const bool complete =
        p->info.hi.size == 0 || slice_compare(request_move(q)->hi, p->info.hi) <= 0;
    buffer_set(&piece->key, request_move(q)->key);
    buffer_set(&piece->hi, complete ? request_move(q)->hi : p->info.hi);
    const uint32_t max =
        request_move(q)->items_max != 0 ? request_move(q)->items_max : KEY_SHARD_PIECE_ITEMS;
    if (piece_scan(moves, piece, p, max) != STATUS_OK) {
        env_refuse(moves->env, o, REPLY_CORRUPT, "partition %u cannot be read", p->info.id);
        piece_free(moves, piece);
        return;
    }
    piece_run(moves, piece);
}
