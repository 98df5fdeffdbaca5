/* split_hold.c - a table whose hot places leave soon waits longer before its next split.
 *
 * A load above a partition's maximum is split after split_hold_ms. If the new pieces have little
 * load within three times split_hold_ms, the load has left by itself: the split was futile. The
 * pieces stay. From then on the table's loads must last split_hold_factor times as long. After
 * another futile split they must last that much longer again. The controller forgets this after a
 * split that was of use, or after LEVEL_TIMEOUT_MS without a futile split.
 *
 * Why not longer from the start: a load that stays is to be relieved within 3 s. After 2.5 s only
 * the table's past can tell such a load from a spike of 4 s. */
#include <stdlib.h>

#include "base/settings/split.h"
#include "control/controller_internal.h"
#include "engine/admission/capacity.h"

enum {
    LEVEL_TIMEOUT_MS = 300000,
    LEVELS_MAX = 3,
    OUTCOME_HOLDS = 3, /* a split is judged for so many times split_hold_ms */
    EARLY_MS = 2000,   /* the pieces are seen so long before the answer to the split, at most */
    LITTLE_PERCENT = 50,
};

/* Of a table. */
struct split_outcome {
    bool judging; /* a split, of this time and for this kind of load */
    struct instant split_at;
    enum admit_kind kind;
    uint32_t level; /* futile splits in a row */
    struct instant level_at;
};

static struct split_outcome *split_outcome_of(struct controller *c, uint32_t table_id)
{
    struct split_outcome *v = id_map_find(&c->split_outcomes, table_id);
    if (v == NULL) {
        v = must_calloc(1, sizeof *v);
        id_map_add(&c->split_outcomes, table_id, v);
    }
    return v;
}

void control_split_hold_note(struct controller *c, uint32_t table_id, enum admit_kind kind)
{
    must_in_tests(table_id != 0 && (unsigned)kind < ADMIT_KINDS);
    struct split_outcome *v = split_outcome_of(c, table_id);
    v->judging = true;
    v->split_at = c->now;
    v->kind = kind;
}

int64_t control_split_hold_ms(const struct controller *c, uint32_t table_id)
{
    const struct split_outcome *v = id_map_find(&c->split_outcomes, table_id);
    must_in_tests(v == NULL || v->level <= LEVELS_MAX);
    int64_t hold_ms = config_split(c->config)->split_hold_ms;
    for (uint32_t i = 0; v != NULL && i < v->level; i++)
        hold_ms *= config_split(c->config)->split_hold_factor;
    return hold_ms;
}

/* The load of the pieces that have been seen since the split. */
static struct rates split_outcome_load(const struct controller *c, const struct table *t,
                                       const struct split_outcome *v)
{
    const int64_t hold_ms = config_split(c->config)->split_hold_ms;
    struct rates sum = {0};
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_history *w = control_history(c, t->partitions[i].id);
        if (w == NULL || instant_before(instant_add_ms(w->created_at, EARLY_MS), v->split_at))
            continue;
        const struct rates r = control_rates(c, w, v->kind, hold_ms);
        sum.known |= r.known;
        sum.consumed_mcu += r.consumed_mcu + r.refused_mcu;
    }
    return sum;
}

static void split_outcome_evaluate(const struct controller *c, const struct table *t,
                                   struct split_outcome *v)
{
    const int64_t hold_ms = config_split(c->config)->split_hold_ms;
    const struct rates load = split_outcome_load(c, t, v);
    const int64_t little = partition_max_mcu(c->config, v->kind) / 100 * LITTLE_PERCENT;
    if (load.known && load.consumed_mcu < little) {
        v->judging = false;
        v->level += v->level < LEVELS_MAX;
        v->level_at = c->now;
    } else if (!instant_before(c->now, instant_add_ms(v->split_at, OUTCOME_HOLDS * hold_ms))) {
        v->judging = false;
        v->level = 0;
    }
}

/* Nothing is to be remembered of the table, which may be gone. */
static bool split_outcome_is_over(void *context, void *value)
{
    const struct controller *c = context;
    struct split_outcome *v = value;
    const int64_t outcome_ms = OUTCOME_HOLDS * config_split(c->config)->split_hold_ms;
    v->judging &= instant_before(c->now, instant_add_ms(v->split_at, outcome_ms + EARLY_MS));
    const bool over =
        !v->judging &&
        (v->level == 0 || !instant_before(c->now, instant_add_ms(v->level_at, LEVEL_TIMEOUT_MS)));
    if (over)
        free(v);
    return over;
}

void control_split_hold_update(struct controller *c)
{
    id_map_remove_if(&c->split_outcomes, split_outcome_is_over, c);
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        struct split_outcome *v = id_map_find(&c->split_outcomes, t->id);
        if (v != NULL && v->judging)
            split_outcome_evaluate(c, t, v);
    }
}

void control_split_hold_deinit(struct controller *c)
{
    size_t at = 0;
    for (struct split_outcome *v; (v = id_map_next(&c->split_outcomes, &at)) != NULL;)
        free(v);
    id_map_deinit(&c->split_outcomes);
}
