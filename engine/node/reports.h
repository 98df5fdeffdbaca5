/* reports.h - what this node tells the catalog's leader about its replicas, and when. */
#ifndef WEIR_ENGINE_NODE_REPORTS_H
#define WEIR_ENGINE_NODE_REPORTS_H

#include "engine/catalog/report.h"
#include "engine/node/calls.h"
#include "engine/node/partitions.h"
#include "engine/node/throughput.h"

struct reports {
    struct node_env *env;
    struct partitions *partitions;
    struct throughput *throughput;
    struct calls *calls;
    uint32_t catalog_leader; /* a guess: where reports go */
    bool waiting;            /* for the answer to the last one */
    bool all;                /* the last one may be lost */
    struct instant at;       /* the next one */
};

/* Tells the catalog what the partitions led here hold and consume, where that changed, and asks
 * about those without a leader. */
void reports_tick(struct reports *reports);
/* Something is not to wait for the next report. */
void reports_soon(struct reports *reports);
/* The answer: the replicas it names are nobody's, as the catalog's log says up to `as_of`. False:
 * it names none. Lends from the reply. */
bool reports_answered(struct reports *reports, const struct call_answer *answer, uint64_t *as_of,
                      struct reader *named);
/* The next one of them that is here; NULL: no more. */
struct partition *reports_next_named(struct reports *reports, struct reader *named);

#endif
