/* scaling.c - periods of autoscaling, its requests, and what tables are provisioned with. */
#include "lab/scenario/scaling.h"

#include <stdlib.h>

_Static_assert((int)AUTOSCALING_KINDS == (int)ADMIT_KINDS, "reads and writes");

static void scaling_report(struct scaling *s)
{
    measure_provisioned(s->measure, s->scheduler->now.ns - s->begin_ns, s->total);
}

/* ---- autoscaling ---- */

static void scaling_request(void *context, uint64_t argument)
{
    struct scaled_table *t = context;
    struct scaling_update u = t->now;
    (void)argument;
    u.is_autoscaling = true;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        if (t->autoscaling.requested[kind] > 0)
            u.units[kind] = t->autoscaling.requested[kind];
    }
    t->scaling->port.update(t->scaling->port.context, &u);
}

static void scaling_period(void *context, uint64_t argument)
{
    struct scaled_table *t = context;
    struct scaling *s = t->scaling;
    const struct autoscaling_options *o = t->autoscaling.options;
    int64_t total_mcu[ADMIT_KINDS], rate_mcu[ADMIT_KINDS];
    (void)argument;
    s->port.consumed(s->port.context, &t->now, total_mcu);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t mcu = total_mcu[kind] - t->consumed_mcu[kind];
        rate_mcu[kind] = (int64_t)((__int128)mcu * NS_PER_S / o->period_ns);
        t->consumed_mcu[kind] = total_mcu[kind];
    }
    if (autoscaling_evaluate(&t->autoscaling, rate_mcu))
        scheduler_in(s->scheduler, (struct duration){o->delay_ns}, scaling_request, t, 0);
    scheduler_in(s->scheduler, (struct duration){o->period_ns}, scaling_period, t, 0);
}

/* ---- what is provisioned ---- */

void scaling_updated(struct scaling *s, const struct scaling_update *u, bool done)
{
    struct scaled_table *t = &s->tables[u->table];
    for (int kind = 0; kind < ADMIT_KINDS && done; kind++) {
        s->total[kind] += u->units[kind] - t->now.units[kind];
        t->now.units[kind] = u->units[kind];
    }
    if (done)
        measure_set_on_demand(s->measure, u->table, false);
    if (u->is_autoscaling)
        autoscaling_done(&t->autoscaling, t->now.units);
    else
        autoscaling_changed(&t->autoscaling, t->now.units);
    scaling_report(s);
}

uint32_t scaling_number(const struct scenario *s, uint32_t place, uint32_t copy)
{
    uint32_t number = copy;
    for (uint32_t i = 0; i < place; i++)
        number += (uint32_t)s->tables[i].copies;
    return number;
}

/* ---- life ---- */

static void scaling_begin_table(struct scaling *s, const struct scenario_table *st, uint32_t place,
                                uint32_t copy)
{
    struct scaled_table *t = &s->tables[s->table_count];
    *t = (struct scaled_table){.scaling = s,
                               .now = {.table = s->table_count++, .place = place, .copy = copy}};
    if (st->on_demand) {
        measure_set_on_demand(s->measure, t->now.table, true);
    } else {
        t->now.units[ADMIT_READ] = st->rcu;
        t->now.units[ADMIT_WRITE] = st->wcu;
    }
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        s->total[kind] += t->now.units[kind];
    autoscaling_init(&t->autoscaling, &st->autoscaling, t->now.units);
    if (st->autoscaling.on)
        scheduler_in(s->scheduler, (struct duration){st->autoscaling.period_ns}, scaling_period, t,
                     0);
}

void scaling_begin(struct scaling *s, const struct scenario *scenario, struct scheduler *scheduler,
                   struct measure *measure, const struct scaling_port *port)
{
    *s = (struct scaling){
        .scheduler = scheduler, .measure = measure, .port = *port, .begin_ns = scheduler->now.ns};
    s->tables =
        must_calloc(scaling_number(scenario, scenario->table_count, 0) + 1, sizeof s->tables[0]);
    for (uint32_t place = 0; place < scenario->table_count; place++) {
        for (uint32_t copy = 0; copy < scenario->tables[place].copies; copy++)
            scaling_begin_table(s, &scenario->tables[place], place, copy);
    }
    scaling_report(s);
}

void scaling_deinit(struct scaling *s)
{
    free(s->tables);
}
