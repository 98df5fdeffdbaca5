/* sharded_keys.c - the registry of a table's sharded keys, as the catalog changes it.
 *
 * A change reaches the partitions as one of their indexes does: by an entry of each group's log.
 * The table stays ACTIVE. So that a change is not taken for one of a stream or an index, it waits
 * while the table is being updated.
 *
 * Each change has the registry's next version, MOVED too: partitions refuse routers that know an
 * older one, and so routers learn that the former numbers of shards are forgotten. Until then they
 * only do needless work. So MOVED leaves the key's own version as it is: no write has to wait until
 * partitions were told. An eventual read waits (sharded_key_min_version): a replica that lags may
 * lack what has come.
 *
 * Invariants
 *   KEYSHARD-4  A key's former numbers are forgotten by MOVED alone. The word names the version of
 *               the key whose items were moved: a key that has grown since keeps them all.
 *   KEYSHARD-5  A key that shrinks does not change until its items are in their owner shards, or
 *               its cells are added up.
 *   KEYSHARD-7  A key that had more shards of late stays in the registry until FORGET: a
 *               transaction that is sent again may have its token there.
 *   KEYSHARD-6  The registry of a table has at most KEY_SHARDING_SIZE_MAX bytes. The tables have at
 *               most sharded_keys_max sharded keys together. */
#include "engine/catalog/catalog_internal.h"

/* ---- the registry, with room for a change ---- */

struct registry {
    struct key_sharding all;
    struct sharded_key *keys;
    struct sharded_key key; /* the one that the decision names; not sharded yet: one shard */
    uint32_t at;            /* its place */
    bool has;
};

static void registry_read(const struct table *t, const struct decision_key_shards *d,
                          struct arena *arena, struct registry *out)
{
    const struct key_sharding *s = t->sharded_keys;
    const struct sharded_key *k = key_sharding_find(s, d->key);
    const uint32_t count = s != NULL ? s->count : 0;
    *out = (struct registry){.all = {.version = table_key_sharding_version(t), .count = count},
                             .keys = arena_zalloc(arena, (count + 1) * sizeof *out->keys),
                             .has = k != NULL};
    out->all.keys = out->keys;
    if (count > 0)
        memcpy(out->keys, s->keys, count * sizeof *out->keys);
    if (k != NULL) {
        out->at = (uint32_t)(k - s->keys);
        out->key = *k;
        return;
    }
    const size_t head = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    const struct sharded_key *next = key_sharding_from(s, d->key);
    out->at = next != NULL ? (uint32_t)(next - s->keys) : count;
    out->key = (struct sharded_key){.hash = key_shard_bare_hash(d->key),
                                    .key = slice_make(d->key.data + head, d->key.size - head),
                                    .counter = d->counter,
                                    .shards = 1,
                                    .widest = 1};
}

/* Puts the changed key into its place, or takes it out if it has one shard, and had no more of
 * late. */
static void registry_put(struct registry *r)
{
    const bool stays = r->key.shards > 1 || r->key.before_count > 0 || r->key.widest > 1;
    struct sharded_key *place = r->keys + r->at;
    const uint32_t behind = r->all.count - r->at - r->has;
    memmove(place + stays, place + r->has, behind * sizeof *place);
    if (stays)
        *place = r->key;
    r->all.count = r->at + stays + behind;
    r->all.version++;
}

static int64_t sharded_keys_count(const struct catalog *c)
{
    int64_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct key_sharding *s = c->entries[i]->table.sharded_keys;
        count += s != NULL ? s->count : 0;
    }
    return count;
}

/* ---- refusals ---- */

static bool key_shards_refuse(struct catalog *c, struct catalog_result *out, enum reply_code code,
                              const char *why)
{
    buffer_append_text(&c->text, why);
    catalog_refuse(c, out, code);
    return true;
}

/* Whether the table asks for it. A table without a sort key may only ask for counters
 * (labels.c). */
static bool key_shards_are_allowed(const struct table *t, const struct decision_key_shards *d)
{
    uint32_t fixed;
    const enum key_sharding_mode mode = table_key_sharding_mode(t, &fixed);
    return mode != KEY_SHARDING_OFF && d->counter == (mode == KEY_SHARDING_COUNTER);
}

static bool grow_is_refused(struct catalog *c, const struct catalog_command *command,
                            const struct table *t, const struct decision_key_shards *d,
                            const struct sharded_key *k, struct catalog_result *out)
{
    if (!key_shards_are_allowed(t, d) || k->counter != d->counter)
        return key_shards_refuse(c, out, REPLY_WRONG_PARTITION,
                                 "the table's tag " KEY_SHARDING_TAG " does not allow it");
    if (d->shards <= k->shards)
        return key_shards_refuse(c, out, REPLY_WRONG_PARTITION,
                                 "the key has this number of shards");
    if (sharded_key_shrinks(k))
        return key_shards_refuse(
            c, out, REPLY_TABLE_BUSY,
            "The key shrinks: its items must be in their owner shards before it grows again");
    if (k->before_count == KEY_SHARDS_BEFORE_MAX)
        return key_shards_refuse(
            c, out, REPLY_TABLE_BUSY,
            "The key has grown often: its items must be in their owner shards before it grows "
            "again");
    if (k->version == 0 && sharded_keys_count(c) >= command->sharded_keys_max) {
        buffer_append_format(&c->text, "The cluster has its maximum of %lld sharded keys",
                             (long long)command->sharded_keys_max);
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
        return true;
    }
    return false;
}

static bool shrink_is_refused(struct catalog *c, const struct decision_key_shards *d,
                              const struct sharded_key *k, struct catalog_result *out)
{
    const bool ready = k->before_count == 0 || (k->counter && !sharded_key_shrinks(k));
    if (!ready)
        return key_shards_refuse(c, out, REPLY_TABLE_BUSY,
                                 "Items of the key are still moving to their shards: try again");
    if (d->shards < k->shards)
        return false;
    buffer_append_format(&c->text, "The key has %u shards: %u are not fewer", k->shards, d->shards);
    catalog_refuse(c, out, REPLY_TABLE_INVALID);
    return true;
}

/* ---- changes ---- */

/* Changes the key. False: the decision is refused, or the catalog knows this already. */
static bool key_shards_change(struct catalog *c, const struct catalog_command *command,
                              const struct table *t, const struct decision_key_shards *d,
                              struct registry *r, struct catalog_result *out)
{
    struct sharded_key *k = &r->key;
    if (d->change == KEY_SHARDS_MOVED) {
        const bool moved = k->before_count > 0;
        k->shrank =
            k->shrank && sharded_key_shrinks(k); /* otherwise all tokens are where it has grown */
        k->before_count = 0;
        k->placed_version = r->all.version + 1;
        return moved;
    }
    if (d->change == KEY_SHARDS_DISCARD) {
        const bool wider = sharded_key_was_wider(k);
        k->widest = wider ? k->shards : k->widest;
        k->shrank = k->shrank && !wider;
        return wider;
    }
    if (d->change == KEY_SHARDS_GROW ? grow_is_refused(c, command, t, d, k, out)
                                     : shrink_is_refused(c, d, k, out))
        return false;
    if (d->change == KEY_SHARDS_SHRINK) {
        k->shrank = true; /* so the former numbers of a counter that has grown need not be kept */
        k->before_count = 0;
    }
    k->before[k->before_count++] = k->shards;
    k->shards = d->shards;
    k->widest = MAX(k->widest, k->shards);
    k->version = r->all.version + 1;
    return true;
}

static void key_shards_record(struct catalog *c, const struct catalog_command *command,
                              struct entry *e, const struct decision *d, struct arena *arena,
                              const struct registry *r, struct catalog_result *out)
{
    struct table t = e->table;
    struct buffer bytes = {0};
    key_sharding_encode(&bytes, &r->all);
    t.key_sharding = arena_take(arena, &bytes);
    if (t.key_sharding.size > KEY_SHARDING_SIZE_MAX) { /* KEYSHARD-6 */
        buffer_append_format(&c->text,
                             "The table's list of sharded keys has its maximum of %d bytes",
                             KEY_SHARDING_SIZE_MAX);
        catalog_refuse(c, out, REPLY_LIMIT_EXCEEDED);
        return;
    }
    t.indexes_version++;
    catalog_record(c, command, e, &t, d, out);
}

/* Whether the registry cannot change now: refused. */
static bool key_shards_must_wait(struct catalog *c, const struct table *t,
                                 struct catalog_result *out)
{
    if (t->index_of != 0 || t->id == CATALOG_TABLE_ID)
        return key_shards_refuse(c, out, REPLY_TABLE_INVALID, "Only keys of tables are sharded");
    if (t->status == TABLE_ACTIVE && !table_is_merging(t))
        return false;
    return key_shards_refuse(c, out, REPLY_TABLE_BUSY,
                             "The table is being updated, or partitions of it are being merged");
}

void catalog_change_key_shards(struct catalog *c, const struct catalog_command *command,
                               struct catalog_result *out)
{
    struct decision d;
    struct arena arena = {0};
    struct registry r;
    must(decision_decode(command->decision, &d) == STATUS_OK);
    struct entry *e = catalog_find_entry(c, d.table_id, out);
    if (e == NULL || key_shards_must_wait(c, &e->table, out))
        return;
    registry_read(&e->table, &d.key_shards, &arena, &r);
    if (d.key_shards.version != r.key.version ||
        (!r.has && d.key_shards.change != KEY_SHARDS_GROW)) {
        catalog_refuse_stale(c, out, "the key has changed since the decision");
    } else if (key_shards_change(c, command, &e->table, &d.key_shards, &r, out)) {
        registry_put(&r);
        key_shards_record(c, command, e, &d, &arena, &r, out);
    }
    arena_deinit(&arena);
}
