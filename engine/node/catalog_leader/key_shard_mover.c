/* key_shard_mover.c - which piece of which key is moved next, and what an answer means for it. */
#include "engine/node/catalog_leader/key_shard_mover.h"

#include <stdlib.h>

#include "base/settings/key_sharding.h"
#include "engine/catalog/key_text.h"
#include "engine/message/move_messages.h"

enum {
    CHECK_MS = 50,
    PIECE_MAX = 64, /* items that are moved by one request */
    MOVES_MAX = 16, /* keys whose items are moved at once */
    TIMEOUT_MS = 10000
};

struct key_shard_move {
    LIST_ENTRY(key_shard_move) place;
    uint32_t number; /* names its calls */
    uint32_t table_id;
    struct buffer key;   /* what the storage keys of its shard 0 begin with */
    uint64_t version;    /* of the key */
    uint32_t shard;      /* the one that is read */
    uint32_t requested;  /* items that the last request may move */
    struct buffer from;  /* everything before this key is done in that shard */
    struct buffer end;   /* of that shard */
    struct buffer until; /* of what the last request could read */
    struct instant since;
    int64_t moved;
    bool waits; /* it only waits until something may be forgotten */
    bool found; /* the pass has found items that are not in their owner shards */
    bool again; /* it is the pass that verifies */
    bool requesting;
    bool done;     /* the catalog is being told */
    bool reported; /* in this check */
};

static void move_free(struct key_shard_mover *mover, struct key_shard_move *m)
{
    internal_calls_end(mover->calls, INTERNAL_CALL_KEY_SHARD_MOVER, m->number);
    LIST_REMOVE(m, place);
    mover->count -= !m->waits;
    buffer_deinit(&m->key);
    buffer_deinit(&m->from);
    buffer_deinit(&m->end);
    buffer_deinit(&m->until);
    free(m);
}

void key_shard_mover_end(struct key_shard_mover *mover)
{
    while (!LIST_EMPTY(&mover->all))
        move_free(mover, LIST_FIRST(&mover->all));
    mover->seen = 0;
    mover->more = false;
}

void key_shard_mover_deinit(struct key_shard_mover *mover)
{
    key_shard_mover_end(mover);
    buffer_deinit(&mover->text);
}

/* ---- which keys ---- */

static bool key_has_work(const struct sharded_key *k)
{
    return sharded_key_moves(k) || sharded_key_was_wider(k);
}

/* Whether there is nothing to do for the key but to wait. */
static bool key_waits(const struct sharded_key *k)
{
    return !sharded_key_moves(k) || (k->counter && !sharded_key_shrinks(k));
}

/* NULL: the table is gone, or the key has changed since. */
static const struct sharded_key *move_key(const struct key_shard_mover *mover,
                                          const struct key_shard_move *m, const struct table **t)
{
    *t = catalog_find_id(mover->catalog->state, m->table_id);
    if (*t == NULL || (*t)->status == TABLE_DELETING)
        return NULL;
    const struct sharded_key *k = key_sharding_find((*t)->sharded_keys, buffer_slice(&m->key));
    return k != NULL && k->version == m->version && key_has_work(k) ? k : NULL;
}

/* The shards [first, behind) have items that are not in their owner shards. Jump hashing moves
 * items of a key that shrinks only out of those that it gives up. */
static uint32_t first_shard(const struct sharded_key *k)
{
    return sharded_key_shrinks(k) ? k->shards : 0;
}

static uint32_t behind_last_shard(const struct sharded_key *k)
{
    return k->before[k->before_count - 1];
}

static void move_begin_shard(struct key_shard_move *m, const struct sharded_key *k, uint32_t shard)
{
    m->shard = shard;
    buffer_clear(&m->from);
    buffer_clear(&m->end);
    sharded_key_append_prefix(&m->from, k, m->table_id, shard);
    sharded_key_append_prefix(&m->end, k, m->table_id, shard);
    storage_key_successor(&m->end);
}

static bool mover_has(const struct key_shard_mover *mover, const struct table *t,
                      const struct sharded_key *k)
{
    const size_t head = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    const struct key_shard_move *m;
    LIST_FOREACH (m, &mover->all, place) {
        if (m->table_id == t->id && m->version == k->version && m->key.size == head + k->key.size &&
            memcmp(m->key.data + head, k->key.data, k->key.size) == 0)
            return true;
    }
    return false;
}

static void mover_take(struct key_shard_mover *mover, const struct table *t,
                       const struct sharded_key *k)
{
    struct key_shard_move *m = must_calloc(1, sizeof *m);
    m->number = ++mover->last_number;
    m->table_id = t->id;
    m->version = k->version;
    m->since = mover->env->now;
    sharded_key_append_prefix(&m->key, k, t->id, 0);
    m->waits = key_waits(k);
    if (!m->waits)
        move_begin_shard(m, k, first_shard(k));
    LIST_INSERT_HEAD(&mover->all, m, place);
    mover->count += !m->waits;
}

static void mover_scan_table(struct key_shard_mover *mover, const struct table *t)
{
    const uint32_t count =
        t->sharded_keys != NULL && t->status != TABLE_DELETING ? t->sharded_keys->count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sharded_key *k = &t->sharded_keys->keys[i];
        if (!key_has_work(k) || mover_has(mover, t, k))
            continue;
        const bool may = key_waits(k) || mover->count < MOVES_MAX;
        mover->more |= !may;
        if (may)
            mover_take(mover, t, k);
    }
}

/* A number that another registry of a table changes: a check of all keys is needed then only. */
static uint64_t mover_hash(const struct catalog *catalog)
{
    uint64_t hash = 1;
    for (const struct table *t = NULL; (t = catalog_next(catalog, t)) != NULL;) {
        if (t->sharded_keys != NULL)
            hash =
                (hash ^ (uint64_t)t->id << 32 ^ t->sharded_keys->version) * UINT64_C(0x100000001B3);
    }
    return hash;
}

static void mover_scan(struct key_shard_mover *mover)
{
    const struct catalog *catalog = mover->catalog->state;
    const uint64_t hash = mover_hash(catalog);
    const struct table *t;
    struct key_shard_move *m = LIST_FIRST(&mover->all), *next;
    for (; m != NULL; m = next) {
        next = LIST_NEXT(m, place);
        const struct sharded_key *k = move_key(mover, m, &t);
        if (k == NULL || (!m->waits && key_waits(k)))
            move_free(
                mover,
                m); /* all items are in their owner shards: now it waits, from the beginning */
        else
            m->reported = false;
    }
    if (hash == mover->seen && !(mover->more && mover->count < MOVES_MAX))
        return;
    mover->seen = hash;
    mover->more = false;
    for (t = NULL; (t = catalog_next(catalog, t)) != NULL;)
        mover_scan_table(mover, t);
}

/* ---- asking ---- */

/* The end of the shard, or of the partition. */
static struct slice until_of(const struct key_shard_move *m, const struct partition_info *p)
{
    const struct slice end = buffer_slice(&m->end);
    const bool inside = p->hi.size > 0 && (end.size == 0 || slice_compare(p->hi, end) < 0);
    return inside ? p->hi : end;
}

static void move_send(struct key_shard_mover *mover, struct key_shard_move *m,
                      const struct table *t, const struct sharded_key *k)
{
    const struct partition_info *p = table_partition_of(t, buffer_slice(&m->from));
    struct internal_call_options options = {.kind = INTERNAL_CALL_KEY_SHARD_MOVER,
                                            .subject = m->number,
                                            .timeout = duration_ms(TIMEOUT_MS)};
    internal_calls_to_leader(&options, p);
    m->requested = mover->moves.balance < PIECE_MAX ? (uint32_t)mover->moves.balance : PIECE_MAX;
    m->requesting = true;
    token_bucket_debit(&mover->moves, m->requested);
    buffer_set(&m->until, until_of(m, p));
    struct request request = {.op = REQUEST_KEY_SHARD_MOVE,
                              .partition = p->id,
                              .epoch = p->epoch,
                              .key_sharding_version = t->sharded_keys->version,
                              .sharded_key_version = k->version};
    *request_edit_move(&request) = (struct request_move){.key = buffer_slice(&m->from),
                                                         .hi = buffer_slice(&m->end),
                                                         .shards = k->shards,
                                                         .items_max = m->requested,
                                                         .merge_cells = k->counter};
    internal_calls_begin(mover->calls, &options, &request);
}

static void move_go_on(struct key_shard_mover *mover, struct key_shard_move *m)
{
    const struct table *t;
    const struct sharded_key *k = move_key(mover, m, &t);
    const struct instant over =
        instant_add_ms(m->since, config_key_sharding(mover->env->config)->key_sharding_keep_ms);
    if (k == NULL || m->done || m->requesting)
        return;
    if (m->waits) /* MOVER-2, MOVER-4 */
        m->done = !instant_before(mover->env->now, over);
    else if (mover->moves.balance > 0)
        move_send(mover, m, t, k);
}

void key_shard_mover_tick(struct key_shard_mover *mover)
{
    struct key_shard_move *m;
    const int64_t rate = config_key_sharding(mover->env->config)->key_sharding_moves_s;
    if (!catalog_replica_leads(mover->catalog) || instant_before(mover->env->now, mover->at))
        return;
    mover->at = instant_add_ms(mover->env->now, CHECK_MS);
    if (mover->moves.rate != rate)
        token_bucket_init(&mover->moves, rate, rate, 0, rate, mover->env->now);
    token_bucket_refill(&mover->moves, mover->env->now);
    mover_scan(mover);
    LIST_FOREACH (m, &mover->all, place)
        move_go_on(mover, m);
}

struct instant key_shard_mover_deadline(const struct key_shard_mover *mover)
{
    return LIST_EMPTY(&mover->all) ? INSTANT_NEVER : mover->at;
}

/* ---- answers ---- */

static struct key_shard_move *move_find(const struct key_shard_mover *mover, uint32_t number)
{
    struct key_shard_move *m = LIST_FIRST(&mover->all);
    while (m != NULL && m->number != number)
        m = LIST_NEXT(m, place);
    return m;
}

/* The shard was read to its end. */
static void move_end_shard(struct key_shard_move *m, const struct sharded_key *k)
{
    if (m->shard + 1 < behind_last_shard(k)) {
        move_begin_shard(m, k, m->shard + 1);
        return;
    }
    if (sharded_key_shrinks(k) && (!m->again || m->found)) { /* MOVER-1 */
        m->again = true;
        m->found = false;
        move_begin_shard(m, k, first_shard(k));
        return;
    }
    m->done = true;
}

/* Goes on behind what the answer says was read. False: that is no step forward. */
static bool move_step(struct key_shard_move *m, const struct reply *r)
{
    const struct slice last = r->range.last, from = buffer_slice(&m->from);
    if (!r->range.more) {
        buffer_set(&m->from, buffer_slice(&m->until));
        return true;
    }
    if (slice_compare(last, from) <= 0)
        return false;
    buffer_set(&m->from, last);
    return true;
}

void key_shard_mover_answered(struct key_shard_mover *mover,
                              const struct internal_call_answer *answer)
{
    struct key_shard_move *m = move_find(mover, answer->subject);
    const struct reply *r = answer->reply;
    const struct table *t;
    const struct sharded_key *k = m != NULL ? move_key(mover, m, &t) : NULL;
    if (m == NULL)
        return;
    m->requesting = false;
    const bool answered = r->code == REPLY_OK && r->kind == ANSWER_RANGE;
    const uint32_t moved = answered ? r->range.count : r->code == REPLY_UNKNOWN ? m->requested : 0;
    token_bucket_add(&mover->moves, moved < m->requested ? m->requested - moved : 0);
    if (k == NULL || !answered)
        return; /* asked again at the next check, if at all */
    m->moved += r->range.count;
    m->found |= r->range.count > 0 || r->range.scanned > 0;
    if (!move_step(m, r))
        return;
    const struct slice end = buffer_slice(&m->end), from = buffer_slice(&m->from);
    if (from.size == 0 || (end.size > 0 && slice_compare(from, end) >= 0))
        move_end_shard(m, k);
    mover->at = mover->env->now;
}

/* ---- the end ---- */

/* What is forgotten changes nothing that people see. */
static void move_report_discarded(const struct key_shard_move *m, const struct table *t,
                                  struct decision *out)
{
    *out = (struct decision){.table_id = t->id,
                             .key_shards = {.change = KEY_SHARDS_DISCARD,
                                            .key = buffer_slice(&m->key),
                                            .version = m->version}};
}

static void move_report(struct key_shard_mover *mover, const struct key_shard_move *m,
                        const struct table *t, const struct sharded_key *k, struct decision *out)
{
    const bool leaves = k->shards == 1;
    buffer_clear(&mover->text);
    key_text_append(&mover->text, t, buffer_slice(&m->key));
    if (k->counter && sharded_key_shrinks(k))
        buffer_append_format(&mover->text, ": %lld cells were merged into one",
                             (long long)m->moved);
    else if (k->counter)
        buffer_append_text(&mover->text, ": its former number of shards is deleted");
    else
        buffer_append_format(&mover->text, ": all items are in their shards, %lld moved",
                             (long long)m->moved);
    *out = (struct decision){.table_id = t->id,
                             .key_shards = {.change = KEY_SHARDS_MOVED,
                                            .key = buffer_slice(&m->key),
                                            .version = m->version},
                             .has_event = true,
                             .event = {.kind = leaves ? EVENT_KEY_UNSHARDED : EVENT_KEY_MOVED,
                                       .table_id = t->id,
                                       .table = t->name,
                                       .reason = buffer_slice(&mover->text),
                                       .figure = slice_of("shards"),
                                       .before = k->before[0],
                                       .after = k->shards}};
}

bool key_shard_mover_next(struct key_shard_mover *mover, struct decision *out)
{
    struct key_shard_move *m;
    const struct table *t;
    LIST_FOREACH (m, &mover->all, place) {
        const struct sharded_key *k = m->done && !m->reported ? move_key(mover, m, &t) : NULL;
        if (k == NULL)
            continue;
        m->reported = true;
        if (sharded_key_moves(k))
            move_report(mover, m, t, k, out);
        else
            move_report_discarded(m, t, out);
        return true;
    }
    return false;
}
