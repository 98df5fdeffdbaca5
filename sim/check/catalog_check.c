/* catalog_check.c - the tables of a run as the catalog has them at the end, and whether the nodes'
 * data fit. */
#include "sim/check/catalog_check.h"

#include <stdio.h>

#include "sim/check/check.h"

void catalog_check_deinit(struct catalog_check *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        buffer_deinit(&t->all[i].bytes);
}

static struct catalog_check_table *catalog_check_next(struct catalog_check *t)
{
    must(t->count < CATALOG_CHECK_TABLES_MAX);
    return &t->all[t->count++];
}

void catalog_check_add(struct catalog_check *t, const char *table, bool globals)
{
    const uint32_t base = t->count;
    snprintf(catalog_check_next(t)->name, CATALOG_CHECK_NAME_SIZE, "%s", table);
    for (int i = 0; i < DYNAMO_GLOBALS && globals; i++) {
        struct catalog_check_table *x = catalog_check_next(t);
        x->base = base;
        x->is_index = true;
        snprintf(x->name, CATALOG_CHECK_NAME_SIZE, "%s/%s", table, dynamo_globals[i]);
    }
}

static bool rows_fit(const struct catalog_check *t, const struct catalog_check_table *x,
                     const struct run *r, struct buffer *why)
{
    return !x->is_index || check_index(r->world.nodes, buffer_slice(&t->all[x->base].bytes),
                                       buffer_slice(&x->bytes), why);
}

bool catalog_check_run(const struct catalog_check *t, const struct run *r, struct buffer *why)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct catalog_check_table *x = &t->all[i];
        if (!check_replicas(r->world.nodes, buffer_slice(&x->bytes), r->plan.replicas, why) ||
            !rows_fit(t, x, r, why))
            return false;
    }
    return true;
}

bool catalog_check_run_first(const struct catalog_check *t, const struct run *r, struct buffer *why)
{
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->all[i].base == 0 && !rows_fit(t, &t->all[i], r, why))
            return false;
    }
    return true;
}
