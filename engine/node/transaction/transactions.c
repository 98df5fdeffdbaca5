/* transactions.c - lock tables: locks and records in memory, and the reads that wait for them. */
#include <stdlib.h>

#include "base/probe.h"
#include "engine/message/frames.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/core/index_feed_change.h"
#include "engine/node/core/local_rows.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/stream_rows.h"
#include "engine/node/transaction/transactions_internal.h"

enum {
    RELOAD_MS = 20
};

/* ---- memory ---- */

static void room_take(struct transactions *transactions, struct lock_table *t, struct lock *l,
                      struct lock_room room)
{
    l->room = room;
    t->room.index_feed_bytes += room.index_feed_bytes;
    t->room.log_bytes += room.log_bytes;
    t->room.shared_bytes += room.shared_bytes;
    transactions->proposals->reserved_bytes += room.log_bytes;
    transactions->proposals->shared_bytes += room.shared_bytes;
}

static void room_give(struct transactions *transactions, struct lock_table *t, struct lock *l)
{
    must(t->room.index_feed_bytes >= l->room.index_feed_bytes &&
         t->room.log_bytes >= l->room.log_bytes && t->room.shared_bytes >= l->room.shared_bytes);
    must(transactions->proposals->reserved_bytes >= t->room.log_bytes);
    must(transactions->proposals->shared_bytes >= t->room.shared_bytes);
    t->room.index_feed_bytes -= l->room.index_feed_bytes;
    t->room.log_bytes -= l->room.log_bytes;
    t->room.shared_bytes -= l->room.shared_bytes;
    transactions->proposals->reserved_bytes -= l->room.log_bytes;
    transactions->proposals->shared_bytes -= l->room.shared_bytes;
    l->room = (struct lock_room){0};
}

static void lock_free(struct lock *l)
{
    LIST_REMOVE(l, place);
    buffer_deinit(&l->key);
    buffer_deinit(&l->anchor);
    free(l);
}

/* A record that is pending has room in the log for what will be decided. */
static void record_take_room(struct transactions *transactions, struct lock_table *t,
                             struct open_record *r, size_t bytes)
{
    must(t->room.log_bytes >= r->log_bytes);
    t->room.log_bytes += bytes - r->log_bytes;
    transactions->proposals->reserved_bytes += bytes - r->log_bytes;
    r->log_bytes = bytes;
}

static struct record_list *record_list(struct lock_table *t, const struct open_record *r)
{
    return r->fence ? &t->fences : &t->records;
}

static void record_free(struct transactions *transactions, struct lock_table *t,
                        struct open_record *r)
{
    record_take_room(transactions, t, r, 0);
    TAILQ_REMOVE(record_list(t, r), r, place);
    buffer_deinit(&r->anchor);
    buffer_deinit(&r->bytes);
    free(r);
}

static void lock_table_clear(struct transactions *transactions, struct lock_table *t)
{
    for (struct lock *l; (l = LIST_FIRST(&t->locks)) != NULL; lock_free(l))
        room_give(transactions, t, l);
    while (!TAILQ_EMPTY(&t->records))
        record_free(transactions, t, TAILQ_FIRST(&t->records));
    while (!TAILQ_EMPTY(&t->fences))
        record_free(transactions, t, TAILQ_FIRST(&t->fences));
    must(t->room.index_feed_bytes == 0 && t->room.log_bytes == 0 && t->room.shared_bytes == 0);
    id_map_deinit(&t->by_hash);
    id_map_deinit(&t->numbered_locks);
    id_map_deinit(&t->numbered_records);
    id_map_deinit(&t->by_id);
    t->by_hash = t->numbered_locks = t->numbered_records = t->by_id = (struct id_map){0};
    t->lock_count = t->moving = 0;
}

/* The partition is led no more, or the node ends. */
static void lock_table_free(struct transactions *transactions, struct lock_table *t)
{
    internal_calls_end(transactions->calls, INTERNAL_CALL_TRANSACT_QUERY, t->partition);
    internal_calls_end(transactions->calls, INTERNAL_CALL_TRANSACT_NOTIFY, t->partition);
    LIST_REMOVE(t, place);
    lock_table_clear(transactions, t);
    free(t);
}

void transactions_deinit(struct transactions *transactions)
{
    while (!LIST_EMPTY(&transactions->all))
        lock_table_free(transactions, LIST_FIRST(&transactions->all));
}

struct lock_table *transactions_table(const struct transactions *transactions, uint32_t partition)
{
    struct lock_table *t;
    LIST_FOREACH (t, &transactions->all, place) {
        if (t->partition == partition)
            return t;
    }
    return NULL;
}

/* ---- locks ---- */

static struct lock *lock_find(const struct lock_table *t, struct slice key)
{
    struct lock *l = id_map_find(&t->by_hash, memtable_hash(t->seed, key) | 1);
    while (l != NULL && !slice_equal(buffer_slice(&l->key), key))
        l = l->same_hash;
    return l;
}

struct lock *transactions_lock_of(const struct partition *p, struct slice key)
{
    return p->locks == NULL || p->locks->lock_count == 0 ? NULL : lock_find(p->locks, key);
}

/* A number by which answers find the lock or record. After many it begins anew. */
static uint32_t number_give(struct transactions *transactions, struct id_map *numbered, void *value)
{
    do
        transactions->numbers = (transactions->numbers + 1) % NUMBERS;
    while (transactions->numbers == 0 || id_map_find(numbered, transactions->numbers) != NULL);
    id_map_add(numbered, transactions->numbers, value);
    return transactions->numbers;
}

static struct lock *lock_add(struct transactions *transactions, struct lock_table *t,
                             struct slice key, struct transaction_id id, struct slice anchor,
                             bool moves, struct lock_room room)
{
    struct lock *l = must_calloc(1, sizeof *l);
    l->hash = memtable_hash(t->seed, key) | 1; /* never 0 */
    buffer_set(&l->key, key);
    buffer_set(&l->anchor, anchor);
    l->id = id;
    l->number = number_give(transactions, &t->numbered_locks, l);
    l->since = transactions->env->now;
    l->query_at = instant_add_ms(l->since, 2 * decide_ms(transactions));
    l->same_hash = id_map_find(&t->by_hash, l->hash);
    if (l->same_hash != NULL)
        id_map_remove(&t->by_hash, l->hash);
    id_map_add(&t->by_hash, l->hash, l);
    LIST_INSERT_HEAD(&t->locks, l, place);
    t->lock_count++;
    t->moving += l->moves = moves;
    room_take(transactions, t, l, room);
    lock_table_wake(transactions, t, l->query_at);
    return l;
}

static void lock_remove(struct transactions *transactions, struct lock_table *t, struct lock *l)
{
    struct lock *first = id_map_find(&t->by_hash, l->hash), **link = &first;
    id_map_remove(&t->by_hash, l->hash);
    id_map_remove(&t->numbered_locks, l->number);
    while (*link != l) {
        must(*link != NULL);
        link = &(*link)->same_hash;
    }
    *link = l->same_hash;
    if (first != NULL)
        id_map_add(&t->by_hash, l->hash, first);
    must(t->lock_count > 0 && t->moving >= l->moves);
    t->lock_count--;
    t->moving -= l->moves;
    room_give(transactions, t, l);
    transactions->freed = true;
    lock_free(l);
}

void transactions_count(const struct transactions *transactions, const struct partition *p,
                        int64_t *locks, int64_t *oldest_ms)
{
    struct instant oldest = transactions->env->now;
    const struct lock *l;
    *locks = p->locks == NULL ? 0 : p->locks->lock_count;
    if (*locks > 0)
        LIST_FOREACH (l, &p->locks->locks, place)
            oldest = instant_earlier(oldest, l->since);
    *oldest_ms = instant_since(transactions->env->now, oldest).ns / NS_PER_MS;
}

void transactions_lock_proposed(struct transactions *transactions, struct partition *p,
                                struct slice key, const struct transaction_part *part, bool moves,
                                struct lock_room room)
{
    must(p->locks != NULL && lock_find(p->locks, key) == NULL);
    lock_add(transactions, p->locks, key, part->id, part->anchor, moves, room);
}

void transactions_lock_ends(struct transactions *transactions, struct partition *p,
                            struct lock *lock)
{
    must(lock->applied && !lock->resolving);
    room_give(transactions, p->locks, lock);
    lock->resolving = true;
}

size_t transactions_index_feed_bytes(const struct partition *p)
{
    return p->locks == NULL ? 0 : p->locks->room.index_feed_bytes;
}

size_t transactions_log_bytes(const struct partition *p)
{
    return p->locks == NULL ? 0 : p->locks->room.log_bytes;
}

bool transactions_move(const struct partition *p)
{
    return p->locks != NULL && p->locks->moving > 0;
}

/* ---- records ---- */

/* Ids are random. */
static uint64_t id_of_map(struct transaction_id id)
{
    return id.low | 1; /* never 0 */
}

static struct open_record *record_find(const struct lock_table *t, struct slice anchor,
                                       struct transaction_id id)
{
    struct open_record *r = id_map_find(&t->by_id, id_of_map(id));
    while (r != NULL &&
           !(transaction_same(r->id, id) && slice_equal(buffer_slice(&r->anchor), anchor)))
        r = r->same_id;
    return r;
}

struct open_record *transactions_record_of(const struct partition *p, struct slice anchor,
                                           struct transaction_id id)
{
    return p->locks == NULL ? NULL : record_find(p->locks, anchor, id);
}

static bool record_has_pending_parts(const struct open_record *r)
{
    const uint32_t table_id = storage_key_table(buffer_slice(&r->anchor));
    struct reader keys = {r->row.keys, false};
    for (uint32_t i = 0; keys.left.size > 0; i++) {
        if (storage_key_table(reader_sized(&keys)) != table_id && !record_has_notified(r, i))
            return true;
    }
    return false;
}

bool transactions_have_pending_parts(const struct partition *p)
{
    const struct open_record *r;
    if (p->locks == NULL)
        return false;
    const bool takes = p->frozen.index == 0; /* else what is proposed changes nothing */
    TAILQ_FOREACH (r, &p->locks->records, place) {
        if ((r->row.state == TRANSACTION_COMMITTED || (r->changing && takes)) &&
            record_has_pending_parts(r))
            return true;
    }
    return false;
}

static void record_set(struct transactions *transactions, struct lock_table *t,
                       struct open_record *r, struct slice value)
{
    buffer_set(&r->bytes, value);
    struct reader reader = {buffer_slice(&r->bytes), false};
    struct codec c = {.in = &reader};
    transaction_record_walk(&c, &r->row);
    const bool pending = r->row.state == TRANSACTION_PENDING;
    record_take_room(transactions, t, r,
                     pending ? LOCK_END_BYTES + 2 * r->anchor.size + value.size : 0);
}

static struct open_record *record_add(struct transactions *transactions, struct lock_table *t,
                                      struct slice anchor, struct transaction_id id,
                                      struct slice value)
{
    struct open_record *r = must_calloc(1, sizeof *r);
    r->id = id;
    buffer_set(&r->anchor, anchor);
    record_set(transactions, t, r, value);
    r->number = number_give(transactions, &t->numbered_records, r);
    r->since = r->again_at = transactions->env->now;
    r->same_id = id_map_find(&t->by_id, id_of_map(id));
    if (r->same_id != NULL)
        id_map_remove(&t->by_id, id_of_map(id));
    id_map_add(&t->by_id, id_of_map(id), r);
    TAILQ_INSERT_TAIL(&t->records, r, place);
    lock_table_wake(transactions, t, transactions->env->now);
    return r;
}

static void record_remove(struct transactions *transactions, struct lock_table *t,
                          struct open_record *r)
{
    struct open_record *first = id_map_find(&t->by_id, id_of_map(r->id)), **link = &first;
    id_map_remove(&t->by_id, id_of_map(r->id));
    id_map_remove(&t->numbered_records, r->number);
    while (*link != r) {
        must(*link != NULL);
        link = &(*link)->same_id;
    }
    *link = r->same_id;
    if (first != NULL)
        id_map_add(&t->by_id, id_of_map(r->id), first);
    record_free(transactions, t, r);
}

void transactions_record_proposed(struct transactions *transactions, struct partition *p,
                                  struct slice anchor, struct transaction_id id, struct slice value)
{
    must(p->locks != NULL && record_find(p->locks, anchor, id) == NULL);
    record_add(transactions, p->locks, anchor, id, value);
}

/* ---- rows that were applied ---- */

/* The room of a lock whose preparing this leader has not seen. If the item's page is not in memory,
 * the item before counts as none. Records that rows of local indexes share are left out. */
static struct lock_room room_of_row(const struct transactions *transactions,
                                    const struct partition *p, struct slice key,
                                    const struct transaction_lock *row)
{
    struct buffer feed = {0};
    struct slice old = {NULL, 0}, now = {NULL, 0};
    struct steps steps = steps_begin(store_hash_seed(transactions->env->store));
    struct lock_room room = {0, LOCK_END_BYTES + key.size, 0};
    if (row->kind == LOCK_CHECK)
        return room;
    room.shared_bytes = store_shared_cost(transactions->env->store, key);
    if (row->kind == LOCK_PUT)
        now = row->item;
    if (store_get(transactions->env->store, key, false, &old) != STATUS_OK)
        old = slice_make(NULL, 0);
    if (index_set_global(p->indexes) > 0 && !(row->moves && row->kind == LOCK_DELETE))
        index_feed_change_append(&feed, p->indexes, key, old, now, 0, &steps);
    room.index_feed_bytes = feed.size == 0 ? 0 : key.size + INDEX_FEED_SUFFIX_SIZE + feed.size;
    const size_t record = stream_rows_on(p) ? old.size : 0; /* its new image is the item itself */
    room.log_bytes += item_entry_bytes(p, key, now.size) + feed.size + record;
    buffer_deinit(&feed);
    return room;
}

static void applied_lock(struct transactions *transactions, const struct partition *p,
                         struct lock_table *t, struct slice key, struct slice value)
{
    struct lock *l = lock_find(t, key);
    struct transaction_lock row;
    struct reader r = {value, false};
    struct codec c = {.in = &r};
    if (value.size == 0) {
        if (l != NULL)
            lock_remove(transactions, t, l);
        return;
    }
    transaction_lock_walk(&c, &row);
    if (r.failed)
        return; /* verifying finds it */
    if (l == NULL)
        l = lock_add(transactions, t, key, row.id, row.anchor, row.moves,
                     room_of_row(transactions, p, key, &row));
    l->applied = true;
    lock_table_wake(transactions, t, l->query_at);
}

static void applied_record(struct transactions *transactions, struct lock_table *t,
                           struct slice anchor, const uint8_t *name, struct slice value)
{
    struct transaction_id id = transaction_id_of(name);
    struct open_record *r = record_find(t, anchor, id);
    if (value.size == 0) {
        if (r != NULL)
            record_remove(transactions, t, r);
        return;
    }
    if (r == NULL)
        r = record_add(transactions, t, anchor, id, value);
    record_set(transactions, t, r, value);
    TAILQ_REMOVE(record_list(t, r), r, place);
    r->fence = r->row.state == TRANSACTION_ABORTED && r->row.keys.size == 0;
    TAILQ_INSERT_TAIL(record_list(t, r), r, place);
    r->applied = true;
    r->changing = false;
    r->since = r->again_at = transactions->env->now;
    lock_table_wake(transactions, t, transactions->env->now);
}

static void applied_row(struct transactions *transactions, const struct partition *p,
                        struct lock_table *t, struct slice row_key, struct slice value)
{
    enum transaction_row row;
    struct slice key;
    const uint8_t *name;
    if (!transaction_key_split(row_key, &row, &key, &name) || row == ROW_TOKEN)
        return;
    key = key_in_space(key, 0, &transactions->env->lent);
    if (row == ROW_LOCK)
        applied_lock(transactions, p, t, key, value);
    else
        applied_record(transactions, t, key, name, value);
}

void transactions_applied(struct transactions *transactions, struct partition *p,
                          struct slice row_key, struct slice value)
{
    if (p->locks != NULL && p->locks->term == p->led)
        applied_row(transactions, p, p->locks, row_key, value);
}

/* ---- life ---- */

static void lock_table_load(struct transactions *transactions, struct lock_table *t,
                            const struct partition *p)
{
    struct store_cursor c;
    struct slice key, value;
    struct arena *arena = &transactions->env->lent;
    store_seek(transactions->env->store, key_in_space(p->info.lo, SPACE_LOCK_KEYS, arena),
               key_in_space(p->info.hi, SPACE_LOCK_KEYS, arena), false, &c);
    enum status status = STATUS_NOT_FOUND;
    while (!MUTATED(MUTATION_LOSE_LOCKS) && (status = store_next(&c, &key, &value)) == STATUS_OK)
        applied_row(transactions, p, t, key, value);
    t->lost = status != STATUS_NOT_FOUND;
}

static void lock_table_keep_record(struct transactions *transactions, struct partition *p,
                                   const struct open_record *r)
{
    const struct slice anchor = buffer_slice(&r->anchor);
    struct open_record *now = record_find(p->locks, anchor, r->id);
    if (now == NULL && !r->applied && partition_holds(p, anchor))
        now = record_add(transactions, p->locks, anchor, r->id, buffer_slice(&r->bytes));
    if (now != NULL)
        now->changing = r->changing;
}

/* What was proposed in this term and is not applied is on its way, as far as the keys stay: locks
 * and records that come, and ends of those that are there. */
static void lock_table_keep(struct transactions *transactions, const struct lock_table *old,
                            struct partition *p)
{
    const struct lock *l;
    const struct open_record *r;
    LIST_FOREACH (l, &old->locks, place) {
        const struct slice key = buffer_slice(&l->key);
        struct lock *now = lock_find(p->locks, key);
        if (now == NULL && !l->applied && partition_holds(p, key))
            now = lock_add(transactions, p->locks, key, l->id, buffer_slice(&l->anchor), l->moves,
                           l->room);
        if (now == NULL || !transaction_same(now->id, l->id))
            continue;
        if (l->resolving)
            transactions_lock_ends(transactions, p, now);
    }
    TAILQ_FOREACH (r, &old->records, place)
        lock_table_keep_record(transactions, p, r);
    TAILQ_FOREACH (r, &old->fences, place)
        lock_table_keep_record(transactions, p, r);
}

void transactions_begin(struct transactions *transactions, struct partition *p)
{
    struct lock_table *old = p->locks;
    p->locks = NULL;
    free(p->marks);
    p->marks = NULL;
    p->token_sweep.on = false;
    buffer_clear(&p->token_sweep.expired);
    transactions->freed = true; /* reads that waited for a lock find it again, or not */
    if (p->led != 0 && p->info.id != CATALOG_GROUP) {
        struct lock_table *t = must_calloc(1, sizeof *t);
        t->seed = store_hash_seed(transactions->env->store);
        t->partition = p->info.id;
        t->term = p->led;
        TAILQ_INIT(&t->records);
        TAILQ_INIT(&t->fences);
        t->at = INSTANT_NEVER;
        t->sweep_at = next_sweep(transactions);
        lock_table_wake(transactions, t, t->sweep_at);
        p->locks = t;
        if (old == NULL || old->term != p->led || !MUTATED(MUTATION_SPLIT_LOSES_LOCKS))
            lock_table_load(transactions, t, p);
        if (t->lost)
            lock_table_wake(transactions, t, instant_add_ms(transactions->env->now, RELOAD_MS));
        if (old != NULL && old->term == p->led)
            lock_table_keep(transactions, old, p);
    }
    if (old != NULL)
        lock_table_free(transactions, old);
    if (p->locks != NULL)
        LIST_INSERT_HEAD(&transactions->all, p->locks, place);
}

void transactions_see(struct transactions *transactions, struct partition *p)
{
    if (p->locks != NULL && p->locks->term != p->led)
        transactions_begin(transactions, p);
}

void transactions_discard(struct transactions *transactions, struct partition *p)
{
    if (p->locks != NULL)
        lock_table_free(transactions, p->locks);
    p->locks = NULL;
}

bool transactions_are_known(struct transactions *transactions, const struct partition *p,
                            const struct operation *o)
{
    if (p->locks != NULL && !p->locks->lost)
        return true;
    env_refuse(transactions->env, o, REPLY_OVERLOADED,
               "the locks of partition %u are not known yet", p->info.id);
    return false;
}

void transactions_mark(struct partition *p)
{
    if (p->marks != NULL)
        return;
    p->marks = must_calloc(MARKS, sizeof p->marks[0]);
    for (uint32_t i = 0; i < MARKS; i++)
        p->marks[i] = raft_applied(p->raft); /* what changed before is not known */
}

/* ---- reads ---- */

static bool key_is_in(struct slice key, struct slice lo, struct slice hi)
{
    return slice_compare(lo, key) <= 0 && (hi.size == 0 || slice_compare(key, hi) < 0);
}

static bool lock_is_in(const struct lock *l, struct slice lo, struct slice hi)
{
    return key_is_in(buffer_slice(&l->key), lo, hi);
}

bool transactions_hold_moved(const struct partition *p, struct slice lo, struct slice hi,
                             uint32_t shards, bool cells, struct slice *first)
{
    const struct lock *l;
    const struct open_record *r;
    *first = slice_make(NULL, 0);
    if (p->locks == NULL)
        return false;
    LIST_FOREACH (l, &p->locks->locks, place) {
        const struct slice key = buffer_slice(&l->key);
        if (lock_is_in(l, lo, hi) && !key_shard_stays(key, shards, cells) &&
            (first->size == 0 || slice_compare(key, *first) < 0))
            *first = key;
    }
    TAILQ_FOREACH (r, &p->locks->records, place) {
        const struct slice key = buffer_slice(&r->anchor);
        if (r->row.keys.size > 0 && key_is_in(key, lo, hi) &&
            !key_shard_stays(key, shards, cells) &&
            (first->size == 0 || slice_compare(key, *first) < 0))
            *first = key;
    }
    return first->size > 0;
}

/* Whether the read need not wait for the lock: it is not prepared yet, or was pending after the
 * read came. If it must, the anchor's partition is asked. */
static bool lock_lets_read(struct transactions *transactions, struct lock_table *t, struct lock *l,
                           struct operation *o)
{
    if (o->questions == 0)
        o->questions = transactions->questions + 1; /* asked after the read came */
    if (!l->applied || l->pending_since >= o->questions)
        return true;
    l->query_at = transactions->env->now;
    lock_table_wake(transactions, t, transactions->env->now);
    return false;
}

static void read_waits(struct transactions *transactions, struct partition *p,
                       const struct operation *o)
{
    PROBE("a strong read waits for a transaction");
    pending_add_locked(transactions->pending, p, o);
}

bool transactions_let_get(struct transactions *transactions, struct partition *p,
                          struct operation *o, struct slice key)
{
    if (!transactions_are_known(transactions, p, o))
        return false;
    struct lock *l = transactions_lock_of(p, key);
    if (l == NULL || MUTATED(MUTATION_READ_LOCKED) || lock_lets_read(transactions, p->locks, l, o))
        return true;
    read_waits(transactions, p, o);
    return false;
}

enum lock_state {
    LOCK_FREE,
    LOCK_QUERIED, /* the anchor's partition is asked */
    LOCK_TAKEN
};

static enum lock_state lock_state_of(struct transactions *transactions, struct partition *p,
                                     struct operation *o, struct slice key)
{
    struct lock *l = transactions_lock_of(p, key);
    const bool plain = o->request.op == REQUEST_UPDATE && o->request.write.transaction.size == 0;
    if (l == NULL || (plain && MUTATED(MUTATION_WRITE_LOCKED)))
        return LOCK_FREE;
    return lock_lets_read(transactions, p->locks, l, o) ? LOCK_TAKEN : LOCK_QUERIED;
}

/* Whether the writes may go on. If not, `o` was refused, with a reply for each if there are
 * several; or it waits. */
static bool let_writes(struct transactions *transactions, struct partition *p, struct operation *o,
                       const struct slice keys[], uint32_t count, bool several)
{
    bool queried = false, taken = false;
    struct buffer replies = {0};
    for (uint32_t i = 0; i < count; i++) {
        const enum lock_state state = lock_state_of(transactions, p, o, keys[i]);
        const struct reply r = {.code = state == LOCK_TAKEN ? REPLY_LOCKED : REPLY_OK};
        queried |= state == LOCK_QUERIED;
        taken |= state == LOCK_TAKEN;
        if (several)
            reply_encode(&replies, &r);
    }
    if (queried) {
        PROBE("a write waits for a transaction that may be decided");
        pending_add_locked(transactions->pending, p, o);
    } else if (taken) {
        PROBE("a write meets an item that a transaction has");
        struct reply *r =
            env_refuse(transactions->env, o, REPLY_LOCKED, "a transaction has locked the item");
        r->kind = several ? ANSWER_PARTS : ANSWER_NONE;
        if (several)
            reply_edit_parts(r)->replies =
                arena_copy(&transactions->env->lent, buffer_slice(&replies));
    }
    buffer_deinit(&replies);
    return !queried && !taken;
}

bool transactions_let_write(struct transactions *transactions, struct partition *p,
                            struct operation *o, struct slice key)
{
    return transactions_are_known(transactions, p, o) &&
           (p->locks->lock_count == 0 || let_writes(transactions, p, o, &key, 1, false));
}

bool transactions_let_writes(struct transactions *transactions, struct partition *p,
                             struct operation *o, const struct slice keys[], uint32_t count)
{
    return transactions_are_known(transactions, p, o) &&
           (p->locks->lock_count == 0 || let_writes(transactions, p, o, keys, count, true));
}

bool transactions_let_range(struct transactions *transactions, struct partition *p,
                            struct operation *o, struct slice lo, struct slice hi)
{
    struct lock *l;
    bool free = true;
    if (!transactions_are_known(transactions, p, o))
        return false;
    if (p->locks->lock_count == 0 || MUTATED(MUTATION_READ_LOCKED) || MUTATED(MUTATION_SCAN_LOCKED))
        return true;
    LIST_FOREACH (l, &p->locks->locks, place) {
        if (lock_is_in(l, lo, hi))
            free = lock_lets_read(transactions, p->locks, l, o) && free;
    }
    if (!free)
        read_waits(transactions, p, o);
    return free;
}
