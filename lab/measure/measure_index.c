/* measure_index.c - what was refused for global indexes, how far they are behind, and how many
 * shards hot keys have. */
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "lab/measure/measure_internal.h"

uint32_t measure_add_index(struct measure *m)
{
    m->indexes = must_grow(m->indexes, m->index_count, &m->index_capacity, sizeof *m->indexes);
    m->indexes[m->index_count] = (struct index_series){0};
    return (uint32_t)m->index_count++;
}

void index_refused(struct measure *m, const struct measure_request *r)
{
    struct index_series *x = &m->indexes[r->index - 1];
    x->slots = must_grow_zeroed(x->slots, m->slot, &x->capacity, sizeof *x->slots);
    x->slots[m->slot].refused++;
    x->slots[m->slot].refused_mcu += r->cost_mcu;
}

static struct state_series *state_series_of(struct measure *m, uint32_t table)
{
    for (size_t i = 0; i < m->state_count; i++) {
        if (m->states[i].table == table)
            return &m->states[i];
    }
    m->states = must_grow(m->states, m->state_count, &m->state_capacity, sizeof *m->states);
    m->states[m->state_count] = (struct state_series){.table = table};
    return &m->states[m->state_count++];
}

static void state_raise(struct measure_state *to, const struct measure_state *state)
{
    to->behind_ns = state->behind_ns > to->behind_ns ? state->behind_ns : to->behind_ns;
    to->backlog_bytes =
        state->backlog_bytes > to->backlog_bytes ? state->backlog_bytes : to->backlog_bytes;
    to->shards = state->shards > to->shards ? state->shards : to->shards;
    to->refill_lag_ns =
        state->refill_lag_ns > to->refill_lag_ns ? state->refill_lag_ns : to->refill_lag_ns;
    to->miscounted_mtok =
        state->miscounted_mtok > to->miscounted_mtok ? state->miscounted_mtok : to->miscounted_mtok;
    to->minted_mtok = state->minted_mtok > to->minted_mtok ? state->minted_mtok : to->minted_mtok;
}

void measure_report_state(struct measure *m, int64_t at_ns, uint32_t table,
                          const struct measure_state *state)
{
    must(!m->ended);
    if (at_ns < m->options.begin_ns)
        return;
    measure_advance(m, at_ns);
    struct state_series *l = state_series_of(m, table);
    l->slots = must_grow_zeroed(l->slots, m->slot, &l->capacity, sizeof *l->slots);
    state_raise(&l->slots[m->slot], state);
}

void index_halve_slots(struct measure *m)
{
    for (size_t i = 0; i < m->index_count; i++) {
        struct index_series *x = &m->indexes[i];
        for (size_t k = 0; k < x->capacity; k++) {
            const struct measure_index_point slot = x->slots[k];
            x->slots[k] = (struct measure_index_point){0};
            x->slots[k / 2].refused += slot.refused;
            x->slots[k / 2].refused_mcu += slot.refused_mcu;
        }
    }
    for (size_t i = 0; i < m->state_count; i++) {
        struct state_series *l = &m->states[i];
        for (size_t k = 0; k < l->capacity; k++) {
            const struct measure_state slot = l->slots[k];
            l->slots[k] = (struct measure_state){0};
            state_raise(&l->slots[k / 2], &slot);
        }
    }
}

struct measure_index_point measure_index_point(const struct measure *m, uint32_t index, size_t slot)
{
    must(index < m->index_count);
    const struct index_series *x = &m->indexes[index];
    return slot < x->capacity ? x->slots[slot] : (struct measure_index_point){0};
}

bool measure_state_point(const struct measure *m, uint32_t table, size_t slot,
                         struct measure_state *out)
{
    bool known = false;
    *out = (struct measure_state){0};
    for (size_t i = 0; i < m->state_count; i++) {
        const struct state_series *l = &m->states[i];
        if (table != MEASURE_ANY && table != l->table)
            continue;
        known = true;
        if (slot < l->capacity)
            state_raise(out, &l->slots[slot]);
    }
    return known;
}

void index_destroy(struct measure *m)
{
    for (size_t i = 0; i < m->index_count; i++)
        free(m->indexes[i].slots);
    for (size_t i = 0; i < m->state_count; i++)
        free(m->states[i].slots);
    free(m->indexes);
    free(m->states);
}
