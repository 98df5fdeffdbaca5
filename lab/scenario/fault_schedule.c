/* fault_schedule.c - the events of faults. */
#include "lab/scenario/fault_schedule.h"

/* Faults of tables happen once, and have no end. */
static bool fault_is_of_tables(const struct scenario_fault *f)
{
    return f->kind == FAULT_SPLIT || f->kind == FAULT_UPDATE;
}

static void fault_tables(struct fault_schedule *s, const struct scenario_fault *f)
{
    for (uint32_t place = 0; place < s->scenario->table_count; place++) {
        const struct scenario_table *t = &s->scenario->tables[place];
        const bool named = f->table == NULL || strcmp(t->name, f->table) == 0;
        for (uint32_t copy = 0; named && copy < t->copies; copy++) {
            const struct scaling_update u = {.table = scaling_number(s->scenario, place, copy),
                                             .place = place,
                                             .copy = copy,
                                             .units = {f->rcu, f->wcu}};
            s->port.table(s->port.context, f, &u);
        }
    }
}

static int64_t fault_processes(const struct scenario_cluster *c, const struct scenario_fault *f)
{
    switch (f->kind) {
    case FAULT_ROUTER_DOWN:
    case FAULT_ROUTER_CLOCK:
        return c->routers;
    case FAULT_GAC_DOWN:
    case FAULT_GAC_CUT:
        return c->gac;
    default:
        return c->nodes;
    }
}

/* `argument`: the fault's place, and whether it begins. */
static void fault_turn(void *context, uint64_t argument)
{
    struct fault_schedule *s = context;
    const struct scenario_fault *f = &s->scenario->faults[argument >> 1];
    measure_step(s->measure, s->scheduler->now.ns - s->begin_ns);
    if (fault_is_of_tables(f)) {
        fault_tables(s, f);
        return;
    }
    for (uint32_t i = 1; i <= fault_processes(&s->scenario->cluster, f); i++) {
        if (f->which == 0 || f->which == i)
            s->port.process(s->port.context, f, i, argument & 1);
    }
}

void fault_schedule_begin(struct fault_schedule *s, const struct scenario *scenario,
                          struct scheduler *scheduler, struct measure *measure,
                          const struct fault_port *port)
{
    *s = (struct fault_schedule){.scenario = scenario,
                                 .scheduler = scheduler,
                                 .measure = measure,
                                 .port = *port,
                                 .begin_ns = scheduler->now.ns};
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        const struct scenario_fault *f = &scenario->faults[i];
        const uint64_t place = (uint64_t)i << 1;
        scheduler_in(scheduler, (struct duration){f->at_ns}, fault_turn, s, place | 1);
        if (!fault_is_of_tables(f) && f->for_ns < INT64_MAX)
            scheduler_in(scheduler, (struct duration){f->at_ns + f->for_ns}, fault_turn, s, place);
    }
}
