/* request_metrics.h - counts of requests by operation and of units by table, for GET /metrics.
 *
 * What is counted: each answer to an operation of the API, once, by its outcome; each request to a
 * node that admission has decided, by the table or index that has paid or refused.
 * Bounds: METRIC_TABLES tables and indexes have counts of their own from their first request on,
 * until the router ends. What others count is counted for one that has no name, so no count falls.
 * Not here: the text of the page (router/admin/exposition.h). */
#pragma once

#include "base/metrics.h"
#include "router/core/router_internal.h"

enum {
    METRIC_TABLES = 500,
    METRIC_OPERATIONS = 96,
    DURATION_BUCKETS = 17,
};

/* The upper bounds of the buckets, in ns. Above the last one: +Inf. */
extern const int64_t duration_bounds_ns[DURATION_BUCKETS];

enum request_outcome {
    OUTCOME_OK,        /* also a batch whose parts were throttled */
    OUTCOME_CONDITION, /* a condition did not hold */
    OUTCOME_THROTTLED,
    OUTCOME_CONFLICT, /* a transaction met another one */
    OUTCOME_USER_ERROR,
    OUTCOME_SYSTEM_ERROR,
    OUTCOME_SHED, /* refused for overload */
    OUTCOMES,
};

const char *request_outcome_name(enum request_outcome outcome);

struct operation_counts {
    const struct operation *operation; /* borrows */
    int64_t outcomes[OUTCOMES];
    int64_t durations[DURATION_BUCKETS + 1];
    int64_t sum_ns;
};

struct table_counts {
    char *name; /* owns; TABLE or TABLE/INDEX; NULL: all others */
    int64_t consumed_mcu[ADMIT_KINDS];
    int64_t refused_mcu[ADMIT_KINDS]; /* what the refused requests would have cost at least */
    int64_t refused[ADMIT_KINDS][ADMIT_REASONS];
};

struct request_metrics {
    struct operation_counts operations[METRIC_OPERATIONS];
    uint32_t operation_count;
    struct table_counts *tables; /* owns; the first one has what is left out of the others */
    uint32_t table_count;
    uint32_t dropped;    /* tables without counts of their own */
    struct id_map by_id; /* by table id; the values are in `tables` */
    int64_t waited_tokens_ns;
    int64_t waited_processor_ns;
};

void request_metrics_init(struct router *r);
void request_metrics_deinit(struct router *r);

/* The call is answered; `f` is NULL if it was done. */
void request_metrics_note_answer(struct call *c, const struct fault *f);
/* The part has its final reply. */
void request_metrics_note_reply(struct router *r, const struct subrequest *s,
                                const struct reply *reply);
