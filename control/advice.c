/* advice.c - tells when the design of a table's keys makes heat, and when units are bought in vain.
 *
 *   sequential  one partition key has most of the writes, and each goes behind those before
 *   one-key     one partition key has most of the writes
 *   few-keys    a few partition keys have nearly all writes
 *   idle-units  the table has units left, but a partition refuses writes by its maximum
 *
 * Nothing is decided. What is told rests on what leaders report: keys that are asked for a lot
 * (engine/heat/heavy.h), in which direction a partition's writes move, and totals. So a table
 * whose load is spread, or small, hears nothing. Neither does one whose tag lets weir spread its
 * keys. Partition keys lie by their hashes: whether those ascend cannot be seen, and does no harm.
 *
 * A table hears the same advice once a day. A new leader of the catalog does not know what was
 * told. */
#include <stdlib.h>

#include "control/controller_internal.h"
#include "engine/catalog/key_text.h"

enum {
    ADVICE_INTERVAL_MS = 10000,
    WINDOW_MS = 10000,
    RECENT_MS = 2000, /* who has refused nothing for so long has been helped */
    AGAIN_MS = 86400000,
    KEYS_MAX = 8, /* more are not few */
    MAX_PERCENT = 50,
    ALL_PERCENT = 90,
    IDLE_PERCENT = 50 /* of its units are consumed at most */
};

struct advice_key {
    struct slice key; /* lends from a report */
    uint64_t hash;
    int64_t mcu;
    bool forward;
};

/* What is known of a table. */
struct advice_view {
    const struct table *table;
    int64_t offered_mcu; /* per second */
    int64_t consumed_mcu;
    uint32_t refusing; /* a partition that refuses writes by its maximum; 0: none */
    uint32_t key_count;
    bool many; /* keys */
    struct advice_key keys[KEYS_MAX];
};

static void advice_add_key(struct advice_view *v, const struct partition_load *l,
                           const struct heavy_key *heavy)
{
    const uint64_t hash = key_shard_bare_hash(heavy->key);
    struct advice_key *k = v->keys, *end = k + v->key_count;
    while (k < end && k->hash != hash)
        k++;
    if (k == v->keys + KEYS_MAX) {
        v->many = true;
        return;
    }
    if (k == end)
        v->keys[v->key_count++] = (struct advice_key){.key = heavy->key, .hash = hash};
    k->mcu += heavy->mcu;
    k->forward |= l->write_direction == SKETCH_FORWARD;
}

static void advice_see(const struct controller *c, const struct table *t, struct advice_view *v)
{
    *v = (struct advice_view){.table = t};
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_history *w = control_history(c, t->partitions[i].id);
        const struct rates r = control_rates(c, w, ADMIT_WRITE, WINDOW_MS);
        v->offered_mcu += r.consumed_mcu + r.refused_mcu;
        v->consumed_mcu += r.consumed_mcu;
        if (r.refused_cap > 0 && control_rates(c, w, ADMIT_WRITE, RECENT_MS).refused_cap > 0)
            v->refusing = t->partitions[i].id;
        for (uint32_t k = 0; r.known && k < w->load->heavy_count; k++)
            advice_add_key(v, w->load, &w->load->heavy[k]);
    }
}

static int advice_percent(const struct advice_view *v, int64_t mcu)
{
    const int64_t percent = v->offered_mcu > 0 ? mcu * 100 / v->offered_mcu : 0;
    return percent < 100 ? (int)percent : 100;
}

/* ---- events ---- */

static bool advice_is_repeated(struct controller *c, uint32_t table_id, enum control_advice kind)
{
    must_in_tests((unsigned)kind < ADVICE_KINDS);
    struct advised *a = id_map_find(&c->advised, table_id);
    must_in_tests(a == NULL || a->table_id == table_id);
    if (a == NULL) {
        a = must_calloc(1, sizeof *a);
        a->table_id = table_id;
        id_map_add(&c->advised, table_id, a);
    }
    if (a->given[kind] && instant_before(c->now, instant_add_ms(a->given_at[kind], AGAIN_MS)))
        return true;
    a->given[kind] = true;
    a->given_at[kind] = c->now;
    return false;
}

static void advice_report(struct controller *c, const struct advice_view *v,
                          enum control_advice kind, struct slice text)
{
    static const char *const NAMES[] = {[ADVICE_SEQUENTIAL] = "sequential",
                                        [ADVICE_ONE_KEY] = "one-key",
                                        [ADVICE_FEW_KEYS] = "few-keys",
                                        [ADVICE_IDLE_UNITS] = "idle-units"};
    struct decision d = {0};
    if (!control_has_room(c) || advice_is_repeated(c, v->table->id, kind))
        return;
    control_event(c, &d, EVENT_ADVICE, v->table, 0, "%s: %.*s", NAMES[kind], TEXT_OF(text));
    control_decide(c, CATALOG_EVENT, &d);
}

/* ---- advice ---- */

static const struct advice_key *advice_heaviest(const struct advice_view *v)
{
    const struct advice_key *max = v->keys;
    must(v->key_count <= KEYS_MAX);
    for (uint32_t i = 1; i < v->key_count; i++)
        max = v->keys[i].mcu > max->mcu ? &v->keys[i] : max;
    return v->key_count > 0 ? max : NULL;
}

static void advise_on_one(struct controller *c, const struct advice_view *v,
                          const struct advice_key *k)
{
    struct buffer text = {0};
    key_text_append(&text, v->table, k->key);
    buffer_append_format(&text, " has %d %% of the writes, %lld units a second",
                         advice_percent(v, k->mcu), (long long)(k->mcu / MCU_PER_UNIT));
    buffer_append_text(&text,
                       k->forward ? ", each behind the ones before: all in one place. " : ". ");
    buffer_append_text(&text, v->table->sort_key.name.size > 0
                                  ? "Set the table's tag " KEY_SHARDING_TAG
                                    " to auto, or spread them "
                                    "over several partition keys"
                                  : "Spread them over several partition keys");
    advice_report(c, v, k->forward ? ADVICE_SEQUENTIAL : ADVICE_ONE_KEY, buffer_slice(&text));
    buffer_deinit(&text);
}

static void advise_on_few(struct controller *c, const struct advice_view *v,
                          const struct advice_key *max)
{
    struct buffer text = {0};
    int64_t mcu = 0;
    for (uint32_t i = 0; i < v->key_count; i++)
        mcu += v->keys[i].mcu;
    if (v->many || v->key_count < 2 || advice_percent(v, mcu) < ALL_PERCENT)
        return;
    buffer_append_format(&text, "%u partition keys have %d %% of the writes, the heaviest is ",
                         v->key_count, advice_percent(v, mcu));
    key_text_append(&text, v->table, max->key);
    buffer_append_format(&text, " with %lld units a second. Choose a key of many values",
                         (long long)(max->mcu / MCU_PER_UNIT));
    advice_report(c, v, ADVICE_FEW_KEYS, buffer_slice(&text));
    buffer_deinit(&text);
}

static void advise_on_units(struct controller *c, const struct advice_view *v)
{
    struct buffer text = {0};
    const int64_t units = v->table->wcu;
    const bool idle = v->consumed_mcu * 100 < units * MCU_PER_UNIT * IDLE_PERCENT;
    if (v->table->billing != BILLING_PROVISIONED || v->refusing == 0 || !idle)
        return;
    buffer_append_format(&text,
                         "of %lld write units a second, %lld are consumed, but partition %u "
                         "refuses writes by its maximum: more units for the table do not help",
                         (long long)units, (long long)(v->consumed_mcu / MCU_PER_UNIT),
                         v->refusing);
    advice_report(c, v, ADVICE_IDLE_UNITS, buffer_slice(&text));
    buffer_deinit(&text);
}

static void advise_on(struct controller *c, const struct table *t)
{
    struct advice_view v;
    uint32_t fixed;
    advice_see(c, t, &v);
    const struct advice_key *max = advice_heaviest(&v);
    if (max != NULL && table_key_sharding_mode(t, &fixed) == KEY_SHARDING_OFF &&
        key_sharding_find(t->sharded_keys, max->key) == NULL) {
        if (advice_percent(&v, max->mcu) > MAX_PERCENT)
            advise_on_one(c, &v, max);
        else
            advise_on_few(c, &v, max);
    }
    advise_on_units(c, &v);
}

/* The table is gone. */
static bool advised_is_over(void *context, void *value)
{
    const struct controller *c = context;
    struct advised *a = value;
    const bool over = catalog_find_id(c->view->catalog, a->table_id) == NULL;
    if (over)
        free(a);
    return over;
}

void control_advise(struct controller *c)
{
    if (instant_before(c->now, c->advised_at))
        return;
    c->advised_at = instant_add_ms(c->now, ADVICE_INTERVAL_MS);
    id_map_remove_if(&c->advised, advised_is_over, c);
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        if (t->index_of == 0 && t->status == TABLE_ACTIVE)
            advise_on(c, t);
    }
}

void control_advice_reset(struct controller *c)
{
    size_t at = 0;
    for (struct advised *a; (a = id_map_next(&c->advised, &at)) != NULL;)
        free(a);
    id_map_deinit(&c->advised);
}
