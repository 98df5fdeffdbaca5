/* scenario_fault.c - see scenario_fault.h. */
#include "lab/scenario/scenario_fault.h"

#include "base/instant.h"
#include "base/limits.h"

#define AT(member) FIELD_MEMBER(struct scenario_fault, member)

static const char *const fault_names[] = {
#define X(code, name, help) [code] = name,
    SCENARIO_FAULT_LIST(X)
#undef X
        NULL};

const char *scenario_fault_name(enum scenario_fault_kind kind)
{
    return fault_names[kind];
}

const struct field scenario_fault_fields[] = {
    {"kind", FIELD_CHOICE, AT(kind), .required = true, .choices = fault_names,
     .help = "The kind of fault."},
    {"at", FIELD_DURATION, AT(at_ns), .required = true, .max = SCENARIO_NS_MAX,
     .help = "The start of the fault."},
    {"for", FIELD_DURATION, AT(for_ns), .min = 1, .max = SCENARIO_NS_MAX,
     .help = "The duration. Default: to the end of the run."},
    {"which", FIELD_INTEGER, AT(which), .min = 0, .max = NODES_LIMIT,
     .help = "Number of the node, router or server, from 1; 0: all of them. Default: 1."},
    {"table", FIELD_ANY_TEXT, AT(table),
     .help = "split, update: name of the table. Default: all tables."},
    {"factor", FIELD_REAL, AT(factor), .min = 0, .max = 1000000,
     .help = "node-slow: the factor by which work takes longer. node-busy: the part of the write "
             "capacity that other work uses. Default: 1."},
    {"offset", FIELD_DURATION, AT(offset_ns), .max = SCENARIO_NS_MAX,
     .help = "router-clock: the clock jumps ahead by this time. Default: 0s."},
    {"drift", FIELD_REAL, AT(drift), .min = -1, .max = 1,
     .help = "router-clock: the seconds that the clock gains per second. Default: 0."},
    {"rcu", FIELD_INTEGER, AT(rcu), .min = 1, .max = 100000000,
     .help = "update: new read units per second."},
    {"wcu", FIELD_INTEGER, AT(wcu), .min = 1, .max = 100000000,
     .help = "update: new write units per second."},
    FIELDS_END};

bool scenario_fault_read(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_fault *f = target;
    *f = (struct scenario_fault){.line = n->line, .for_ns = INT64_MAX, .which = 1, .factor = 1};
    if (!fields_read(r, n, scenario_fault_fields, f))
        return false;
    if (f->drift < -0.9)
        return reading_fail(r, n, "drift is %g, but must be at least -0.9: a clock runs", f->drift);
    if (f->kind == FAULT_UPDATE && (f->rcu == 0 || f->wcu == 0))
        return reading_fail(r, n, "the fault update needs rcu and wcu");
    return true;
}

bool scenario_fault_check(struct reading *r, const struct scenario *s,
                          const struct scenario_fault *f)
{
    static const char *const whose[] = {[FAULT_NODE_DOWN] = "nodes",
                                        [FAULT_NODE_SLOW] = "nodes",
                                        [FAULT_NODE_BUSY] = "nodes",
                                        [FAULT_ROUTER_DOWN] = "routers",
                                        [FAULT_ROUTER_CLOCK] = "routers",
                                        [FAULT_GAC_DOWN] = "gac",
                                        [FAULT_GAC_CUT] = "gac",
                                        [FAULT_SPLIT] = NULL,
                                        [FAULT_UPDATE] = NULL};
    const struct document_node at = {.line = f->line};
    const char *processes = whose[f->kind];
    if (processes != NULL) {
        const int64_t most = *processes == 'n'   ? s->cluster.nodes
                             : *processes == 'r' ? s->cluster.routers
                                                 : s->cluster.gac;
        return f->which <= most ||
               reading_fail(r, &at, "which of %s is %lld, but cluster.%s is %lld",
                            scenario_fault_name((enum scenario_fault_kind)f->kind),
                            (long long)f->which, processes, (long long)most);
    }
    return f->table == NULL || NAME_PLACE(f->table, s->tables, s->table_count) < s->table_count ||
           reading_fail(r, &at, "%s: there is no table `%s`",
                        scenario_fault_name((enum scenario_fault_kind)f->kind), f->table);
}
