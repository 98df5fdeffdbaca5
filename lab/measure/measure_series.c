/* measure_series.c - what selected streams did, slot by slot. */
#include "base/must.h"
#include "lab/measure/measure_internal.h"

bool stream_is_selected(const struct stream *s, const struct measure_selector *q)
{
    return (q->tenant == MEASURE_ANY || q->tenant == s->tenant) &&
           (q->table == MEASURE_ANY || q->table == s->table) &&
           (q->kind == MEASURE_ANY || q->kind == s->kind);
}

void point_sum(struct measure_point *to, const struct measure_point *from)
{
    to->offered_mcu += from->offered_mcu;
    to->in_budget_mcu += from->in_budget_mcu;
    to->admitted_mcu += from->admitted_mcu;
    to->good_mcu += from->good_mcu;
    to->fair_mcu += from->fair_mcu;
    to->false_mcu += from->false_mcu;
    to->false_floor_mcu += from->false_floor_mcu;
    to->offered += from->offered;
    to->admitted += from->admitted;
    for (int r = 0; r < MEASURE_REASONS; r++) {
        to->refused_mcu[r] += from->refused_mcu[r];
        to->refused[r] += from->refused[r];
    }
    to->hedges += from->hedges;
    to->hedges_won += from->hedges_won;
    to->hedge_mcu += from->hedge_mcu;
}

void point_add(struct measure_point *p, const struct measure *m, const struct measure_selector *q,
               size_t slot)
{
    for (size_t i = 0; i < m->stream_count; i++)
        if (slot < m->streams[i].slot_capacity && stream_is_selected(&m->streams[i], q))
            point_sum(p, &m->streams[i].slots[slot]);
}

size_t measure_slots(const struct measure *m)
{
    size_t whole = (size_t)((m->end_ns + m->slot_ns - 1) / m->slot_ns);
    return m->ended ? (whole > 0 ? whole : 1) : m->slot + 1;
}

int64_t measure_slot_ns(const struct measure *m)
{
    return m->slot_ns;
}

struct measure_point measure_point(const struct measure *m, const struct measure_selector *selector,
                                   size_t slot)
{
    must(slot <= m->slot);
    struct measure_point p = {0};
    point_add(&p, m, selector, slot);
    return p;
}

void measure_latency(const struct measure *m, const struct measure_selector *selector,
                     struct histogram *h)
{
    for (size_t i = 0; i < m->stream_count; i++)
        if (m->streams[i].latency != NULL && stream_is_selected(&m->streams[i], selector))
            histogram_add(h, m->streams[i].latency);
}
