/* key_sharding.c - gives hot partition keys as many shards as they need.
 *
 * Leaders report their heaviest keys (engine/heat/heavy.h). A key that lies in shards is several
 * keys there: their rates are added up. Only reports of the present range of a partition count,
 * and no old ones. So a shard that goes to another partition counts once: heat does not go with
 * it.
 *
 * A key gets N = ceil(units per second / key_sharding_shard_units) shards, at once. Of the units
 * GROW_PERCENT are left out: so much may be chance. The number never falls here. All who ask
 * count,
 * also those who were refused: so N is never above what the table may be asked for.
 *
 * A counter begins with key_sharding_counter_shards when its partition refuses requests, and
 * doubles while its cells are at their limits. */
#include <stdlib.h>

#include "base/settings/adaptive.h"
#include "base/settings/key_sharding.h"
#include "base/settings/reports.h"
#include "base/settings/tables.h"
#include "control/controller_internal.h"
#include "engine/catalog/key_text.h"

enum {
    KEYS_MAX = 512,   /* looked at in one evaluation: the first that reports name */
    GROW_PERCENT = 2, /* what is measured may be wrong by this */
    GROWTHS_MAX = 8,  /* of one evaluation: other decisions need room too */
    REPORTS_KEPT = 4, /* a report holds for so many intervals */
    CALM_MS = 10000,  /* from one doubling of a counter to the next: by then the load is spread */
    REPORT_AGAIN_MS = 600000 /* that a bound holds up the growth */
};

/* A key, and what is asked for it. */
struct hot_key {
    const struct table *table;
    struct slice key; /* what the storage keys of its shard 0 begin with */
    uint64_t hash;
    int64_t mcu;    /* per second, of all its shards */
    bool throttled; /* a partition of it has lately refused writes by its maximum */
};

struct hot_keys {
    uint32_t count;
    struct hot_key *keys; /* KEYS_MAX */
};

uint32_t control_shards_for(int64_t mcu, int64_t shard_units)
{
    const int64_t shard_mcu = shard_units * MCU_PER_UNIT;
    must_in_tests(mcu >= 0 && shard_mcu > 0);
    const int64_t shards = mcu / shard_mcu + (mcu % shard_mcu > 0);
    return shards < 1 ? 1 : shards < KEY_SHARDS_MAX ? (uint32_t)shards : KEY_SHARDS_MAX;
}

/* ---- what is asked for ---- */

static struct hot_key *hot_find_or_add(struct hot_keys *all, struct controller *c,
                                       const struct table *t, struct slice key)
{
    const uint64_t hash = key_shard_bare_hash(key);
    const size_t head = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    for (uint32_t i = 0; i < all->count; i++) {
        struct hot_key *k = &all->keys[i];
        if (k->hash == hash && k->table == t && k->key.size == key.size &&
            memcmp(k->key.data + head, key.data + head, key.size - head) == 0)
            return k;
    }
    if (all->count == KEYS_MAX)
        return NULL;
    must_in_tests(key.size > head);
    struct hot_key *k = &all->keys[all->count++];
    *k = (struct hot_key){.table = t, .hash = hash, .key = arena_copy(&c->arena, key)};
    key_shard_put((uint8_t *)(uintptr_t)k->key.data, hash, 0);
    return k;
}

/* Whether what was reported is about the partition as it is, and not too old. */
static bool key_sharding_holds(const struct controller *c, const struct table *t,
                               const struct partition_load *l)
{
    const struct partition_info *p = table_find_partition(t, l->partition);
    const struct instant over =
        instant_add_ms(l->reported_at, REPORTS_KEPT * config_reports(c->config)->load_report_ms);
    return p != NULL && p->epoch == l->epoch && instant_before(c->now, over);
}

static void key_sharding_add(struct controller *c, struct hot_keys *all,
                             const struct partition_load *l)
{
    uint32_t fixed;
    const struct table *t =
        l->heavy_count > 0 ? catalog_find_id(c->view->catalog, l->table_id) : NULL;
    if (t == NULL || t->index_of != 0 || table_key_sharding_mode(t, &fixed) == KEY_SHARDING_OFF ||
        !key_sharding_holds(c, t, l))
        return;
    const struct rates r = control_rates(c, control_history(c, l->partition), ADMIT_WRITE,
                                         config_adaptive(c->config)->adaptive_calm_ms);
    for (uint32_t i = 0; i < l->heavy_count; i++) {
        if (key_shard_of(l->heavy[i].key) == UINT64_MAX)
            continue; /* no node writes such a key */
        struct hot_key *k = hot_find_or_add(all, c, t, l->heavy[i].key);
        if (k == NULL)
            return;
        k->mcu += l->heavy[i].mcu < INT64_MAX / 2 - k->mcu ? l->heavy[i].mcu : 0;
        k->throttled |= r.refused_cap > 0;
    }
}

/* The hottest first; of equals, by table and key: CONTROL-3. */
static int key_sharding_by_heat(const void *a, const void *b)
{
    const struct hot_key *x = a, *y = b;
    if (x->mcu != y->mcu)
        return x->mcu > y->mcu ? -1 : 1;
    return slice_compare(x->key, y->key);
}

/* ---- how many shards ---- */

/* The write units that a table may be asked for. */
static int64_t key_sharding_table_units(const struct controller *c, const struct table *t)
{
    if (t->billing == BILLING_PROVISIONED)
        return t->wcu;
    return t->maximum[ADMIT_WRITE] > 0 ? t->maximum[ADMIT_WRITE]
                                       : config_tables(c->config)->table_max_wcu;
}

/* Whether so many shards are for less than what is asked for. */
static bool are_too_few(const struct controller *c, const struct hot_key *k, uint32_t shards)
{
    const int64_t enough =
        config_key_sharding(c->config)->key_sharding_shard_units * MCU_PER_UNIT * shards;
    return k->mcu > enough + enough * GROW_PERCENT / 100;
}

static uint32_t shards_max(const struct controller *c, const struct table *t)
{
    return control_shards_for(key_sharding_table_units(c, t) * MCU_PER_UNIT,
                              config_key_sharding(c->config)->key_sharding_shard_units);
}

static uint32_t counter_shards(const struct controller *c, const struct hot_key *k, uint32_t shards)
{
    const uint32_t more =
        shards == 1 ? (uint32_t)config_key_sharding(c->config)->key_sharding_counter_shards
                    : 2 * shards;
    if (!k->throttled && !are_too_few(c, k, shards))
        return shards;
    return shards == 1 && !k->throttled ? shards : MIN(more, KEY_SHARDS_MAX);
}

/* The number of shards that the key should have; `shards`: it has. */
static uint32_t key_sharding_target(const struct controller *c, const struct hot_key *k,
                                    uint32_t shards)
{
    uint32_t fixed;
    const enum key_sharding_mode mode = table_key_sharding_mode(k->table, &fixed);
    const uint32_t max = shards_max(c, k->table);
    if (mode == KEY_SHARDING_COUNTER)
        return counter_shards(c, k, shards);
    if (!are_too_few(c, k, shards))
        return shards;
    if (mode == KEY_SHARDING_FIXED)
        return MAX(fixed, shards);
    const int64_t surely = k->mcu / (100 + GROW_PERCENT) * 100;
    const uint32_t target =
        control_shards_for(surely, config_key_sharding(c->config)->key_sharding_shard_units);
    return MIN(target, max);
}

/* ---- what was done lately ---- */

/* The note about a key or, with hash 0, a table. NULL: there is none, or it is over. */
static struct key_sharding_note *key_sharding_noted(struct controller *c, uint32_t table_id,
                                                    uint64_t hash)
{
    for (uint32_t i = 0; i < KEY_SHARDING_NOTES_MAX; i++) {
        struct key_sharding_note *n = &c->key_sharding_notes[i];
        if (n->table_id == table_id && n->hash == hash && instant_before(c->now, n->until))
            return n;
    }
    return NULL;
}

static void key_sharding_note(struct controller *c, uint32_t table_id, uint64_t hash, int64_t ms)
{
    c->key_sharding_notes[c->key_sharding_note_next++ % KEY_SHARDING_NOTES_MAX] =
        (struct key_sharding_note){table_id, hash, instant_add_ms(c->now, ms)};
}

/* ---- decisions ---- */

static int64_t key_sharding_keys_count(const struct controller *c)
{
    int64_t count = 0;
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;)
        count += t->sharded_keys != NULL ? t->sharded_keys->count : 0;
    return count;
}

/* What keeps the key from getting more shards. NULL: nothing does. */
static const char *key_sharding_bound(const struct controller *c, const struct hot_key *k,
                                      bool is_new, uint32_t shards)
{
    enum {
        KEY_SIZE = 64 /* of a key in the registry, besides its bytes; rounded up */
    };
    if (shards == KEY_SHARDS_MAX && are_too_few(c, k, shards))
        return "it has the maximum number of shards";
    if (is_new && k->table->key_sharding.size + k->key.size + KEY_SIZE > KEY_SHARDING_SIZE_MAX)
        return "the table's list of sharded keys is full: unshard some keys";
    if (is_new && key_sharding_keys_count(c) >= config_key_sharding(c->config)->sharded_keys_max)
        return "the cluster has its maximum of sharded keys (sharded_keys_max)";
    return NULL;
}

static void key_sharding_report_full(struct controller *c, const struct hot_key *k,
                                     const char *text, const char *bound)
{
    struct decision d = {0};
    if (key_sharding_noted(c, k->table->id, 0) != NULL)
        return;
    key_sharding_note(c, k->table->id, 0, REPORT_AGAIN_MS);
    control_event(c, &d, EVENT_KEY_SHARDING_FULL, k->table, 0,
                  "%s has a demand of %lld write units a second, and gets no more shards: %s", text,
                  (long long)(k->mcu / MCU_PER_UNIT), bound);
    control_decide(c, CATALOG_EVENT, &d);
}

static void key_sharding_grow(struct controller *c, const struct hot_key *k, const char *text,
                              const struct sharded_key *s, uint32_t target)
{
    uint32_t fixed;
    const enum key_sharding_mode mode = table_key_sharding_mode(k->table, &fixed);
    const uint32_t shards = s != NULL ? s->shards : 1;
    must_in_tests(target > shards && target <= KEY_SHARDS_MAX);
    must_in_tests(k->table->status == TABLE_ACTIVE && !table_is_merging(k->table));
    struct decision d = {.table_id = k->table->id,
                         .key_shards = {.change = KEY_SHARDS_GROW,
                                        .key = k->key,
                                        .version = s != NULL ? s->version : 0,
                                        .shards = target,
                                        .counter = mode == KEY_SHARDING_COUNTER}};
    control_event(c, &d, s == NULL ? EVENT_KEY_SHARDED : EVENT_KEY_GROWN, k->table, 0,
                  "%s has a demand of %lld write units a second: %s%u shards", text,
                  (long long)(k->mcu / MCU_PER_UNIT),
                  mode == KEY_SHARDING_COUNTER ? "its additions go to "
                  : mode == KEY_SHARDING_FIXED ? "by the table's tag, its items go to "
                                               : "its items go to ",
                  target);
    control_figures(&d, "shards", shards, target);
    control_decide(c, CATALOG_KEY_SHARDS, &d);
    if (mode == KEY_SHARDING_COUNTER)
        key_sharding_note(c, k->table->id, k->hash, CALM_MS);
}

/* Whether the catalog would take a growth of the key now. */
static bool key_sharding_may_grow(struct controller *c, const struct hot_key *k,
                                  const struct sharded_key *s)
{
    uint32_t fixed;
    const struct table *t = k->table;
    const bool counter = table_key_sharding_mode(t, &fixed) == KEY_SHARDING_COUNTER;
    if (t->status != TABLE_ACTIVE || table_is_merging(t))
        return false;
    if (counter && key_sharding_noted(c, t->id, k->hash) != NULL)
        return false;
    return s == NULL || (s->counter == counter && s->before_count < KEY_SHARDS_BEFORE_MAX &&
                         (s->before_count == 0 || s->before[0] < s->shards));
}

static void key_sharding_check(struct controller *c, const struct hot_key *k)
{
    const struct sharded_key *s = key_sharding_find(k->table->sharded_keys, k->key);
    const uint32_t shards = s != NULL ? s->shards : 1;
    const uint32_t target = key_sharding_target(c, k, shards);
    struct buffer text = {0};
    if (!are_too_few(c, k, shards) && target <= shards)
        return;
    const char *bound = key_sharding_bound(c, k, s == NULL, shards);
    key_text_append(&text, k->table, k->key);
    buffer_append_u8(&text, 0);
    if (bound != NULL)
        key_sharding_report_full(c, k, (const char *)text.data, bound);
    else if (target > shards && key_sharding_may_grow(c, k, s))
        key_sharding_grow(c, k, (const char *)text.data, s, target);
    buffer_deinit(&text);
}

void control_key_sharding(struct controller *c)
{
    size_t at = 0;
    struct hot_keys all = {.keys = arena_alloc(&c->arena, KEYS_MAX * sizeof *all.keys)};
    const uint32_t room = c->request_count + GROWTHS_MAX;
    for (const struct partition_load *l;
         (l = id_map_next(&c->view->loads->partitions, &at)) != NULL;)
        key_sharding_add(c, &all, l);
    qsort(all.keys, all.count, sizeof *all.keys, key_sharding_by_heat);
    for (uint32_t i = 0; i < all.count && control_has_room(c) && c->request_count < room; i++)
        key_sharding_check(c, &all.keys[i]);
}
