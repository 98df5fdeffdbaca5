/* load_reports.h - what this node tells the catalog's leader about its replicas, and when.
 *
 * Promises
 *   REPORT-1  One report is under way at a time. Each report in a row that gets no answer
 *             doubles the time until the next report, up to 16 times load_report_ms. So
 *             reports do not queue up on a slow link, before the other requests of this node. */
#pragma once

#include "engine/catalog/report.h"
#include "engine/node/core/internal_calls.h"
#include "engine/node/core/partitions.h"
#include "engine/node/core/throughput.h"

struct load_reports {
    struct node_env *env;
    struct partitions *partitions;
    struct throughput *throughput;
    struct internal_calls *calls;
    uint32_t catalog_leader; /* the node to ask first; 0: not known yet */
    uint64_t catalog_term;   /* its term */
    bool waiting;            /* for the answer to the last report */
    bool all;                /* the last report may be lost: the next one contains all */
    bool urgent;             /* the next one does not wait for its time, but for the answer */
    uint32_t unanswered;     /* reports in a row */
    struct instant sent;     /* the last report */
    struct instant at;       /* the next report */
};

/* Sends the report that is due: what the node can serve and has consumed, and what the partitions
 * led here hold and consume, if that changed. The report also asks about replicas that know no
 * leader, are doubted or frozen. */
void load_reports_tick(struct load_reports *reports);
/* Brings the next report forward: there is urgent news. */
void load_reports_soon(struct load_reports *reports);
/* The answer to a report. True: `named` lists the replicas that belong to no group any more, by the
 * catalog's log up to `as_of`. False: the report was refused. `named` lends from the reply. */
bool load_reports_answered(struct load_reports *reports, const struct internal_call_answer *answer,
                           uint64_t *as_of, struct reader *named);
/* The next named replica that must be closed here. NULL: no more. */
struct partition *load_reports_next_named(struct load_reports *reports, struct reader *named);
