/* admission_watch.c - checks what admission guarantees under all faults, while the faults go on. */
#include "sim/check/admission_watch.h"

#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/indexes.h"
#include "base/settings/reports.h"
#include "sim/plan/work_tables.h"

enum {
    SLACK_MS = 1000,  /* for frames that were on their way, and for nodes that read them late */
    ROWS_OF_WRITE = 4 /* of two local indexes: each may lose a row and get one */
};

static bool should_exclude_member(const struct run *r, uint32_t node, uint32_t member)
{
    struct node_process *here = r->world.nodes[node], *there = r->world.nodes[member];
    const struct config *c = here->options.config;
    if (config_choices(&r->plan.config)->dead_member != DEAD_MEMBER_EXCLUDE ||
        node_process_is_up(there))
        return false;
    struct instant down = there->since, running = here->since;
    struct instant last = instant_before(down, running) ? running : down;
    struct instant due =
        instant_add(last, duration_ms(config_reports(c)->report_deadline_ms + SLACK_MS));
    return instant_before(due, r->world.scheduler.now);
}

void admission_watch_saw(struct run *r, uint32_t node, const struct trace_event *e)
{
    if (e->kind == NODE_TRACE_NO_HEADROOM && should_exclude_member(r, node, e->subject))
        run_violate(r, "node %u refuses a write for want of headroom at node %u, which is down\n",
                    node, e->subject);
}

/* What a write may cost beyond what was known when it was admitted. */
static int64_t rows_mcu(const struct workload *w)
{
    const bool indexed = w->indexed || w->tables > 1; /* also tables that come and go */
    const int64_t size = PARTITION_KEY_SIZE_MAX + SORT_KEY_SIZE_MAX + w->filler.max;
    return indexed ? ROWS_OF_WRITE * write_cost_mcu(size) : 0;
}

/* What new tables may spend in all: each partition's full buckets, and one write beyond them. */
static int64_t made_mcu(const struct run *r, uint32_t tables_made, int64_t rows)
{
    return tables_made * TABLE_PARTITIONS_MAX *
           (r->plan.workload.units * (int64_t)MCU_PER_UNIT + rows);
}

static void check_debts(struct run *r, struct node *n, uint32_t id, uint32_t tables_made)
{
    const struct config *c = r->world.nodes[id]->options.config;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t rate_mcu =
            (kind == ADMIT_READ ? config_admission(c)->node_rcu : config_admission(c)->node_wcu) *
            MCU_PER_UNIT;
        int64_t balance_mcu = node_balance(n, kind);
        const int64_t rows = kind == ADMIT_WRITE ? rows_mcu(&r->plan.workload) : 0;
        if (balance_mcu < -rate_mcu * r->plan.nodes - rows - made_mcu(r, tables_made, rows))
            run_violate(r, "node %u owes %lld mcu of %s, and gets %lld a second\n", id,
                        (long long)-balance_mcu, kind == ADMIT_READ ? "reads" : "writes",
                        (long long)rate_mcu);
    }
}

void admission_watch_check(struct run *r, uint32_t tables_made)
{
    for (uint32_t id = 1; id <= r->plan.nodes; id++) {
        struct node *n = node_process_node(r->world.nodes[id]);
        bool checks = config_choices(&r->plan.config)->write_check == WRITE_CHECK_GAUGE ||
                      config_choices(&r->plan.config)->write_check == WRITE_CHECK_LEASE;
        if (n != NULL && checks)
            check_debts(r, n, id, tables_made);
        if (n != NULL && r->plan.merge_percent == 0 &&
            node_backlog(n) >
                (size_t)config_indexes(r->world.nodes[id]->options.config)->index_backlog_bytes)
            run_violate(
                r, "node %u keeps %zu bytes of changes that an index lacks, of %lld\n", id,
                node_backlog(n),
                (long long)config_indexes(r->world.nodes[id]->options.config)->index_backlog_bytes);
    }
}
