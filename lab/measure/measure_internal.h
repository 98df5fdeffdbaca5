/* measure_internal.h - the state of a run's measures: what measure.c counts, measure_window.c
 * compares with the optimum, and measure_value.c answers from. */
#pragma once

#include "lab/measure/measure.h"

enum {
    LIMIT_WINDOWS = 3, /* 0.1, 1 and 10 s */
    LIMIT_BINS = 1000, /* of 10 ms */
    STEPS_MAX = 65536, /* that relief and convergence are kept for */
    IMBALANCE_SCALE = 1000000,
    NEVER_YET = -1,
};

#define LIMIT_BIN_NS (10 * NS_PER_MS)

struct resource {
    enum measure_resource_kind kind;
    int64_t capacity_mcu;
    int64_t slack_mcu;
    int64_t rate_mcu, depth_mcu; /* of its bucket; rate 0: it has none */
    bool begun;                  /* the max-min optimum has its own balance */
    int64_t balance_mcu;         /* that balance, at the end of window `balanced_in` */
    uint64_t balanced_in;
    int64_t fair_capacity_mcu; /* of the max-min optimum, in the current window */
    uint64_t seen_in;          /* the window in which a flow asked for it last, from 1 on */
    uint32_t local;            /* its number in that window's problem */
    int64_t offered_mcu, admitted_mcu, fair_mcu, waiting_mcu; /* in that window */
    /* Of measure_floor.c: its balance, up to when it is refilled, and in which window. */
    bool ideal_begun;
    int64_t ideal_mcu, ideal_at_ns;
    uint64_t ideal_window;
};

struct tally {
    int64_t admitted_mcu, refused_mcu;
    int64_t refused_min_mcu; /* the cost of the cheapest refused request */
};

/* What a flow did in the current window. */
struct flow {
    uint32_t stream;
    uint32_t path_count;
    uint32_t path[MEASURE_PATH_MAX];
    uint32_t processor_count;
    struct measure_processor processors[MEASURE_PATH_MAX];
    uint64_t moved_in; /* the last window in which the processors changed after a request */
    int64_t weight;
    bool active;
    int64_t offered_mcu;
    int64_t work_ns[MEASURE_WORKS];     /* of all that was offered */
    uint32_t work_least[MEASURE_WORKS]; /* ns a unit, of the request with the least */
    struct tally served;                /* by the policy */
    struct tally ideal;                 /* by measure_floor.c */
};

struct stream {
    uint32_t tenant, table, kind;
    uint32_t limit;              /* MEASURE_ANY: none */
    uint32_t group;              /* of the optimum; MEASURE_ANY: none */
    struct measure_point *slots; /* owns; later slots are zero */
    size_t slot_capacity;
    struct histogram *latency;               /* owns; NULL: none yet */
    int64_t first_refusal_ns[MEASURE_STEPS]; /* after each step; NEVER_YET */
    int64_t window_admitted_mcu, window_fair_mcu;
    int64_t second_admitted_mcu, second_fair_mcu;
    int64_t largest_mcu; /* request, of the whole run */
};

/* An index by slot; later slots are zero. */
struct index_series {
    struct measure_index_point *slots; /* owns */
    size_t capacity;
};

/* The greatest that was told of a table, by slot; later slots are zero. */
struct state_series {
    uint32_t table;
    struct measure_state *slots; /* owns */
    size_t capacity;
};

/* Sums of the whole cluster in one slot. */
struct complete_slot {
    int64_t lost_mcu, used_mcu, usable_mcu;
    double min_max, jain; /* sums over fairness periods */
    double min_max_worst, jain_worst;
    uint32_t periods, idle_periods; /* idle: all was refused, so shares cannot be compared */
    uint32_t violations;
};

struct limit_bin {
    double admitted, allowed, bank;
};

struct limit {
    double rate, capacity;
    double bank;    /* what the ideal bucket has when the open bin begins; never below 0 */
    double largest; /* request that was admitted */
    int64_t bin;    /* the one that is open */
    double admitted;
    struct limit_bin *bins; /* owns LIMIT_BINS, by bin % LIMIT_BINS */
    int64_t first_bin;      /* the first that counts */
    double sum_admitted[LIMIT_WINDOWS], sum_allowed[LIMIT_WINDOWS];
    double admitted_all, allowed_all; /* in all bins that are closed */
    double worst[LIMIT_WINDOWS];
};

struct step {
    int64_t at_ns;
    double relief_s, convergence_s; /* INFINITY: not yet */
};

/* How long a state lasts already. */
struct steady {
    int64_t since_ns; /* NEVER_YET: it does not hold */
};

struct phase {
    double load;
    struct histogram latency;
};

/* Arrays of declared things; all owned. */
struct measure {
    struct measure_options options;
    struct optimum *optimum;
    struct resource *resources;
    struct flow *flows;
    struct stream *streams;
    struct limit *limits;
    struct optimum_group *groups;
    struct step *steps; /* [0] is the start of the run */
    struct phase *phases[MEASURE_STEPS];
    size_t resource_count, resource_capacity, flow_count, flow_capacity;
    size_t stream_count, stream_capacity, limit_count, limit_capacity, group_count, group_capacity;
    size_t step_count, step_capacity, phase_count;

    bool has_processors;
    int64_t good_mcu; /* admitted in this window, and served within the objective */
    uint32_t *active; /* flows with requests in this window */
    size_t active_count, active_capacity;
    struct optimum_flow *problem_flows; /* scratch for the optimum, by active flow */
    uint32_t *problem_groups;           /* the same, of their groups */
    int64_t *fair, *in_budget;
    size_t problem_capacity;
    int64_t *capacities, *capacities_slack;
    uint32_t *window_resources; /* by local number */
    size_t window_resource_count, window_resource_capacity;
    double *shares; /* scratch, by stream */

    int64_t window_start_ns, end_ns;
    uint64_t window; /* number, from 1 on */
    int64_t slot_ns;
    size_t slot; /* the current one */
    struct complete_slot *whole;
    size_t whole_capacity;
    uint32_t period_windows; /* in the fairness period */
    bool period_refused;
    struct steady relieved, converged;
    bool ended;

    uint64_t splits, evaluated_splits, useless_splits;
    double imbalance_sum, imbalance_floor_sum;
    struct histogram *imbalance, *imbalance_floor; /* in 1/IMBALANCE_SCALE */
    int64_t partitions;
    uint64_t gac_messages;
    double stranded_integral; /* mcu * s */
    int64_t stranded_mcu, stranded_since_ns;
    bool provisioned_known;
    int64_t provisioned[MEASURE_KINDS], provisioned_since_ns;
    double provisioned_integral[MEASURE_KINDS]; /* units * s */
    bool *on_demand;                            /* by table */
    size_t on_demand_count, on_demand_capacity;
    double on_demand_mcu[MEASURE_KINDS]; /* admitted */
    int64_t items_read, items_hit;
    struct index_series *indexes;
    struct state_series *states;
    size_t index_count, index_capacity, state_count, state_capacity;
};

/* The current slot of a stream. */
struct measure_point *stream_slot_now(struct measure *m, struct stream *s);
void limit_advance(struct limit *l, int64_t now_ns);
/* The processor time of a capacity unit, in whole ns: so many ps an mcu. */
static inline int64_t work_of_unit(int64_t work_ns, int64_t cost_mcu)
{
    const __int128 ns = (__int128)work_ns * MEASURE_PS_PER_NS / cost_mcu;
    return ns < UINT32_MAX ? (int64_t)ns : UINT32_MAX;
}

void tally_request(struct tally *t, int64_t cost_mcu, bool admitted);
/* Of measure_floor.c: the request as an ideal bucket of each resource serves it. */
void floor_request(struct measure *m, struct flow *f, const struct measure_request *q);
/* Of measure_series.c. */
bool stream_is_selected(const struct stream *s, const struct measure_selector *q);
void point_sum(struct measure_point *to, const struct measure_point *from);
/* Adds what the selected streams did in the slot. */
void point_add(struct measure_point *p, const struct measure *m, const struct measure_selector *q,
               size_t slot);
/* Of measure_index.c. */
void index_refused(struct measure *m, const struct measure_request *r);
void index_halve_slots(struct measure *m);
void index_destroy(struct measure *m);
