/* measure.h - what one run is judged by.
 *
 * A runner declares resources, streams and flows, then feeds requests, the ends of windows and
 * events. Afterwards measure_value answers by name. docs/measures.md defines each measure.
 *
 *   resource  a table, a partition or a node of one kind of throughput, or a node's processors,
 *             with a capacity a window
 *   stream    the requests of one tenant to one table, of one kind: what selectors choose
 *   flow      a stream's requests to one partition; it debits resources on one path
 *   window    the optimum is computed for each (100 ms)
 *   slot      sums of windows that are kept (1 s, doubled when there are more than slots_max)
 *
 * Promises: deterministic; no clock. Memory depends on streams, flows, resources and slots_max, not
 * on the number of requests: MEASURE-1. measure_request is O(1).
 * Calls come in the order of time. Times are ns since the start of the run.
 * Units: mcu; of processors: ps of their time.
 *
 * Not here: the optimum itself (lab/optimum/optimum.h); intervals over seeds
 * (lab/measure/statistics.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "lab/measure/statistics.h"
#include "lab/optimum/optimum.h"

enum {
    MEASURE_REASONS =
        12, /* 0: admitted; the others as in enum admit_reason, and those of clients */
    MEASURE_REASON_INDEX = 7, /* as ADMIT_REFUSED_INDEX */
    MEASURE_KINDS = 2,        /* 0: reads, 1: writes, as in enum admit_kind */
    MEASURE_STEPS = 64,   /* phases that are kept, and steps whose bursts are; later ones are not */
    MEASURE_PATH_MAX = 8, /* resources of a flow, and as many processors */
    MEASURE_PS_PER_NS = 1000,
};

#define MEASURE_ANY UINT32_MAX /* in a selector: all of them */

struct measure_request;
struct measure;

/* A request as it was told, or the end of one that was told without a latency. */
struct measure_event {
    const struct measure_request *request; /* NULL: the end of an earlier one */
    uint32_t tenant, table, kind;
    int64_t at_ns; /* of an end: the start of the window in which it was told */
    int64_t cost_mcu;
    int64_t latency_ns; /* < 0: not known */
};

/* What is computed for a window. */
enum measure_solved {
    MEASURE_MAX_MIN, /* by optimum_fair */
    MEASURE_LIMITS,  /* by optimum_total: what no policy admits that keeps the limits */
    MEASURE_IN_TIME, /* the same with processors: what no policy serves within the objective */
    MEASURE_SOLVED
};

/* A problem as it was solved. Lends its arrays during the call. */
struct measure_problem {
    enum measure_solved kind;
    int64_t at_ns; /* the start of the window */
    const struct optimum_problem *problem;
    const uint32_t *flows, *resources; /* their indices, by those of the problem */
    const int64_t *fair_mcu;           /* by flow; NULL: not of max-min */
    int64_t bound_mcu, policy_mcu;     /* of a total: the bound, and what the policy had */
};

/* Zero means the default. */
struct measure_options {
    int64_t window_ns;    /* 100 ms */
    int64_t slot_ns;      /* 1 s; a multiple of window_ns */
    uint32_t slots_max;   /* 4096 */
    int64_t objective_ns; /* the latency that goodput still counts; 0: any */
    int64_t begin_ns;     /* requests and windows before it (warming up) are not counted */
    int64_t settle_ns;    /* 1 s: how long a state must last to count as reached */
    uint32_t gain_ppm;    /* 20,000: a split is useful if it lets this much more be served */
    bool no_optimum;      /* the runner tells requests and counts of partitions only: measures that
                             need more, such as the optimum, are NAN */
    /* Called for each request, also before begin_ns, and for each measure_finish; may be NULL. */
    void (*row)(void *context, const struct measure_event *r);
    void *context;
    /* Called for each problem of a window that counts; may be NULL. */
    void (*solved)(void *context, const struct measure *m, const struct measure_problem *p);
    void *solved_context;
};

struct measure *measure_create(const struct measure_options *options);
void measure_destroy(struct measure *m);

/* ---- declared before use, also in the middle of a run (splits) ---- */

enum measure_resource_kind {
    MEASURE_TABLE,
    MEASURE_PARTITION,
    MEASURE_NODE,
    MEASURE_PROCESSORS, /* of a node, or of several together */
    MEASURE_OTHER,      /* bounds flows, and no measure names it: a burst budget, say */
};

/* Returns the index: 0, 1, .. Its capacity is OPTIMUM_UNLIMITED until it is set. */
uint32_t measure_add_resource(struct measure *m, enum measure_resource_kind kind);

/* What the resource can give in the current window and, until the next call, in each later one:
 * what the policy's bucket had when the window began, and what flows in (docs/measures.md). */
void measure_set_capacity(struct measure *m, uint32_t resource, int64_t mcu);
/* The resource is a bucket. The max-min optimum then has a balance of its own: it begins with the
 * policy's, at the first window that uses the resource, and later has what it left itself. So
 * tokens that a policy never uses count once, not in every window. A rate of 0: no bucket. */
void measure_set_bucket(struct measure *m, uint32_t resource, int64_t rate_mcu, int64_t depth_mcu);
/* What a policy may admit beyond that: the debt that one largest request leaves in a bucket. Only
 * the greatest total counts it, so that no policy exceeds it. Default: 0. */
void measure_set_slack(struct measure *m, uint32_t resource, int64_t mcu);

/* Tenant and table are the runner's own numbers. Returns the index: 0, 1, .. */
uint32_t measure_add_stream(struct measure *m, uint32_t tenant, uint32_t table, uint32_t kind);

/* A tenant or an account of tenants, of one kind of requests. `parent`: a group, or MEASURE_ANY
 * for none. Once there is a group, the max-min optimum shares among groups (optimum_tree.c), each
 * stream needs one, and the weights of flows count within a group. Returns the index: 0, 1, .. */
uint32_t measure_add_group(struct measure *m, uint32_t parent, int64_t weight);
void measure_set_stream_group(struct measure *m, uint32_t stream, uint32_t group);

/* `weight` > 0: what the max-min optimum shares by. Returns the index: 0, 1, .. */
uint32_t measure_add_flow(struct measure *m, uint32_t stream, int64_t weight,
                          const uint32_t *resources, uint32_t count);

/* From the current window on: after a move or a change of members. */
void measure_set_path(struct measure *m, uint32_t flow, int64_t weight, const uint32_t *resources,
                      uint32_t count);

/* Which part of a request's processor time a resource has to spend. */
enum measure_work {
    MEASURE_SERVING,   /* what the node that serves a read or leads a write spends */
    MEASURE_FOLLOWING, /* what each other member that does the write spends */
    MEASURE_MEMBERS,   /* what all of these spend together */
    MEASURE_MAJORITY,  /* what those spend that an answer waits for. A request tells it, and no
                          processor names it: the greatest total has it in place of MEMBERS */
    MEASURE_WORKS
};

struct measure_processor {
    uint32_t resource;
    enum measure_work work;
};

/* The processors that the flow's requests use, from the current window on. Work may wait in a queue
 * of processors for as long as objective_ns: docs/measures.md says what bounds which optimum. */
void measure_set_processors(struct measure *m, uint32_t flow,
                            const struct measure_processor *processors, uint32_t count);

/* A limit that over-admission is counted against: an ideal bucket of `rate_mcu` a second that holds
 * at most `capacity_mcu`, and has `balance_mcu` now. Admitted requests of the streams that name the
 * limit debit it, those before begin_ns too. Returns the index: 0, 1, .. */
uint32_t measure_add_limit(struct measure *m, int64_t rate_mcu, int64_t capacity_mcu,
                           int64_t balance_mcu);
void measure_set_stream_limit(struct measure *m, uint32_t stream, uint32_t limit);
/* From `now_ns` on. The bucket keeps what it has, up to the new capacity. */
void measure_set_limit(struct measure *m, uint32_t limit, int64_t now_ns, int64_t rate_mcu,
                       int64_t capacity_mcu);

/* A global index, which refusals of its table's writes may name. Returns the index: 0, 1, .. */
uint32_t measure_add_index(struct measure *m);

/* ---- fed during the run ---- */

struct measure_request {
    uint32_t flow;
    uint32_t reason; /* 0: admitted */
    uint32_t index;  /* of a refusal: 1 + the index that it names; 0: none */
    int64_t at_ns;   /* when it was offered; not before the previous request's window */
    int64_t cost_mcu;
    int64_t latency_ns; /* of an admitted request; < 0: not known */
    bool unawaited;     /* nobody waits for the answer, or it is not known yet: no goodput so far */
    bool hedge;         /* a second attempt, sent while the first one is out */
    int64_t work_ns[MEASURE_WORKS]; /* of processors, if it is admitted */
};

void measure_request(struct measure *m, const struct measure_request *r);

/* The latency of an admitted request that was told without, once it is known. */
void measure_finish(struct measure *m, uint32_t flow, int64_t cost_mcu, int64_t latency_ns);
/* The answer to a hedge came before that of the first attempt. */
void measure_hedge_won(struct measure *m, uint32_t flow);

/* Closes all windows that end at or before `now_ns`. The runner calls it at the end of every
 * window, after setting the capacities that this window had. measure_request closes windows before
 * its time too, with the capacities as they are. */
void measure_advance(struct measure *m, int64_t now_ns);

/* Closes the run. Afterwards only measure_value and the getters below are called. */
void measure_end(struct measure *m, int64_t now_ns);

/* A step in demand, an overload's onset, a fault: relief, convergence and burst duration count from
 * here. A step within settle_ns of the one before is a part of it. Steps before begin_ns, and those
 * with less than settle_ns behind them when the run ends, are none. */
void measure_step(struct measure *m, int64_t now_ns);

/* A phase of a load ramp begins: flatness compares latencies of phases. `load`: in any unit. */
void measure_phase(struct measure *m, int64_t now_ns, double load);

/* A partition was split. */
void measure_split_made(struct measure *m);

/* A split in two pieces or more, and the load that followed. */
struct measure_split {
    uint64_t observations;     /* that the split points were chosen by */
    const int64_t *pieces_mcu; /* borrows: offered to each piece afterwards, per second */
    uint32_t count;
    int64_t
        key_mcu; /* of a piece that is one key, the most loaded one: no split divides it; 0: there
                        is none */
    int64_t cap_mcu; /* what one partition can serve, per second */
};

/* Told once the later load is known. */
void measure_split_evaluated(struct measure *m, const struct measure_split *s);
/* Whether the split lets materially more of the load be served (gain_ppm). */
bool measure_split_is_useful(const struct measure *m, const struct measure_split *s);

void measure_partitions(struct measure *m, int64_t count);             /* how many there are now */
void measure_gac_messages(struct measure *m, uint64_t count);          /* requests to GAC servers */
void measure_stranded(struct measure *m, int64_t now_ns, int64_t mcu); /* tokens idle at routers,
                                                                          from now on */
/* Provisioned units of all tables together, from now on. */
void measure_provisioned(struct measure *m, int64_t now_ns, const int64_t units[MEASURE_KINDS]);
/* Whether the table has no provisioned throughput: then each admitted unit is paid for. Default:
 * false. */
void measure_set_on_demand(struct measure *m, uint32_t table, bool on_demand);
/* Items that nodes read, and how many of them were in memory. */
void measure_memory(struct measure *m, int64_t at_ns, int64_t items, int64_t hits);
/* What a node or the catalog says of a table: how far the global indexes of one of its partitions
 * are behind its writes, and how far its hot keys are spread. */
struct measure_state {
    int64_t behind_ns;     /* the age of the oldest change that an index lacks */
    int64_t backlog_bytes; /* of all these changes */
    int64_t shards;        /* of the sharded key, or the bucket, that has most; 0: not told */
    /* of the rate limiter's table */
    int64_t refill_lag_ns; /* since the last refill of a shard; of buckets that are divided */
    int64_t
        miscounted_mtok; /* between what the items have counted, and what clients can have taken */
    int64_t minted_mtok; /* beyond capacity and refill */
};
void measure_report_state(struct measure *m, int64_t at_ns, uint32_t table,
                          const struct measure_state *lag);

/* ---- inside of `solved` ---- */

/* What a flow did in the window. */
struct measure_flow_state {
    uint32_t tenant, table, kind;
    int64_t admitted_mcu, refused_mcu;
    int64_t refused_min_mcu; /* the cheapest refused request */
};

struct measure_flow_state measure_flow_state(const struct measure *m, uint32_t flow);

struct measure_resource_state {
    enum measure_resource_kind kind;
    int64_t rate_mcu, depth_mcu; /* of its bucket; rate 0: it has none */
};

struct measure_resource_state measure_resource_state(const struct measure *m, uint32_t resource);

/* ---- answers ---- */

struct measure_selector {
    uint32_t tenant, table, kind; /* MEASURE_ANY: all */
    uint32_t reason;              /* of refusals; MEASURE_REASONS + i: those that name index i;
                                     MEASURE_ANY: all */
    int64_t from_ns, to_ns;       /* whole slots are taken; to_ns <= 0: the end */
    uint32_t percentile;          /* of latency, in 1/100,000, as in base/histogram.h; 0: the
                                     measure's own */
};

#define MEASURE_ALL             \
    ((struct measure_selector){ \
        .tenant = MEASURE_ANY, .table = MEASURE_ANY, .kind = MEASURE_ANY, .reason = MEASURE_ANY})

enum measure_better {
    MEASURE_LOWER,
    MEASURE_HIGHER,
    MEASURE_NEITHER, /* a count that is neither good nor bad by itself */
};

struct measure_definition {
    const char *name;
    const char *unit; /* "1": a ratio */
    struct statistics_bounds bounds;
    double floor; /* an interval of this half width is precise, also if the mean is near 0 */
    const char *definition;
    enum measure_better better;
    double target; /* NAN: none */
};

/* The measures in the order of docs/measures.md; NULL past the last. */
const struct measure_definition *measure_definition_at(size_t index);

/* After measure_end. NULL, or what is wrong, as a text for people that names what is known;
 * `error` holds it. The value is NAN if the run has nothing to tell (no split, no request of the
 * tenant), INFINITY if what was waited for never came. */
const char *measure_value(const struct measure *m, const char *name,
                          const struct measure_selector *selector, double *value, char *error,
                          size_t error_size);

/* NULL, or what is wrong with the name and the selector, as measure_value says. A reason is checked
 * by measure_value alone. */
const char *measure_check(const char *name, const struct measure_selector *selector, char *error,
                          size_t error_size);

/* Whether the measure is NAN with `no_optimum`. */
bool measure_needs_optimum(const char *name);

/* ---- series, for reports ---- */

struct measure_point {
    int64_t offered_mcu, in_budget_mcu, admitted_mcu, good_mcu;
    int64_t refused_mcu[MEASURE_REASONS]; /* [0] is unused */
    uint64_t offered, admitted;           /* requests */
    uint64_t refused[MEASURE_REASONS];
    uint64_t hedges, hedges_won; /* of the offered requests */
    int64_t hedge_mcu;           /* of the admitted units */
    int64_t fair_mcu;            /* what the max-min optimum gives */
    int64_t false_mcu;           /* refused, although the max-min optimum admits it */
    int64_t false_floor_mcu;     /* the same, of ideal buckets */
};

size_t measure_slots(const struct measure *m);
int64_t measure_slot_ns(const struct measure *m); /* at present */
/* The sum over the selected streams in one slot; the selector's times are not used. */
struct measure_point measure_point(const struct measure *m, const struct measure_selector *selector,
                                   size_t slot);
/* What refusals in the slot named the index. */
struct measure_index_point {
    uint64_t refused; /* requests */
    int64_t refused_mcu;
};
struct measure_index_point measure_index_point(const struct measure *m, uint32_t index,
                                               size_t slot);
/* The greatest of the slot, of a table or of all (MEASURE_ANY). False: nobody tells states of
 * it. */
bool measure_state_point(const struct measure *m, uint32_t table, size_t slot,
                         struct measure_state *out);
/* Latencies of the selected streams, added into `h`, which the caller has initialized. */
void measure_latency(const struct measure *m, const struct measure_selector *selector,
                     struct histogram *h);
