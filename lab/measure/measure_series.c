/* measure_series.c - what selected streams did, slot by slot. */
#include "base/must.h"
#include "lab/measure/measure_internal.h"

bool stream_is_selected(const struct stream *s, const struct measure_selector *q)
{
    return (q->tenant == MEASURE_ANY || q->tenant == s->tenant) &&
           (q->table == MEASURE_ANY || q->table == s->table) &&
           (q->kind == MEASURE_ANY || q->kind == s->kind);
}

static void add_slot(struct measure_point *p, const struct stream_slot *slot)
{
    p->offered_mcu += slot->offered_mcu;
    p->in_budget_mcu += slot->in_budget_mcu;
    p->admitted_mcu += slot->admitted_mcu;
    p->good_mcu += slot->good_mcu;
    p->fair_mcu += slot->fair_mcu;
    p->false_mcu += slot->false_mcu;
    p->offered += slot->offered;
    p->admitted += slot->admitted;
    for (int r = 0; r < MEASURE_REASONS; r++) {
        p->refused_mcu[r] += slot->refused_mcu[r];
        p->refused[r] += slot->refused[r];
    }
    p->hedges += slot->hedges;
    p->hedges_won += slot->hedges_won;
    p->hedge_mcu += slot->hedge_mcu;
}

void point_add(struct measure_point *p, const struct measure *m, const struct measure_selector *q,
               size_t slot)
{
    for (size_t i = 0; i < m->stream_count; i++)
        if (slot < m->streams[i].slot_capacity && stream_is_selected(&m->streams[i], q))
            add_slot(p, &m->streams[i].slots[slot]);
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
    struct measure_point p = {.at_ns = (int64_t)slot * m->slot_ns, .span_ns = m->slot_ns};
    if (m->ended && p.at_ns + p.span_ns > m->end_ns)
        p.span_ns = m->end_ns - p.at_ns;
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
