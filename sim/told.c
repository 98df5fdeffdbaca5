/* told.c - the tables of a run as the catalog tells them at the end, and whether the nodes' data
 * fit. */
#include "sim/told.h"

#include <stdio.h>

#include "base/must.h"
#include "sim/check.h"
#include "sim/dynamo.h"

void told_deinit(struct told *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        buffer_deinit(&t->all[i].bytes);
}

static struct told_table *told_next(struct told *t)
{
    must(t->count < TOLD_TABLES_MAX);
    return &t->all[t->count++];
}

void told_add(struct told *t, const char *table, bool globals)
{
    const uint32_t base = t->count;
    snprintf(told_next(t)->name, TOLD_NAME_SIZE, "%s", table);
    for (int i = 0; i < DYNAMO_GLOBALS && globals; i++) {
        struct told_table *x = told_next(t);
        x->base = base;
        x->is_index = true;
        snprintf(x->name, TOLD_NAME_SIZE, "%s/%s", table, dynamo_globals[i]);
    }
}

static bool rows_fit(const struct told *t, const struct told_table *x, const struct run *r,
                     struct buffer *why)
{
    return !x->is_index || check_index(r->world.nodes, buffer_slice(&t->all[x->base].bytes),
                                       buffer_slice(&x->bytes), why);
}

bool told_check(const struct told *t, const struct run *r, struct buffer *why)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct told_table *x = &t->all[i];
        if (!check_replicas(r->world.nodes, buffer_slice(&x->bytes), r->plan.replicas, why) ||
            !rows_fit(t, x, r, why))
            return false;
    }
    return true;
}

bool told_check_first(const struct told *t, const struct run *r, struct buffer *why)
{
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->all[i].base == 0 && !rows_fit(t, &t->all[i], r, why))
            return false;
    }
    return true;
}
