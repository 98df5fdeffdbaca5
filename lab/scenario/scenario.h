/* scenario.h - a scenario: a cluster, tables, workloads, faults, the policies to compare, and what
 * must hold.
 *
 * A scenario is one YAML file (docs/lab.md has the reference). It is read in two steps. First the
 * file becomes a document. Then one policy and one point of a sweep are set in a copy of the
 * document, and the result is read into a `struct scenario`. So a policy may change anything: a
 * setting of the cluster, the rate of a workload, a fault.
 *
 * A scenario says at which fidelity it is run, and nothing else about how: the runners
 * (lab/fidelity/) read it. */
#pragma once

#include "base/config.h"
#include "lab/scenario/autoscaling.h"
#include "lab/scenario/fidelity.h"
#include "lab/scenario/indexes.h"
#include "workload/hedge.h"
#include "workload/retry.h"
#include "workload/traffic.h"

#define SCENARIO_NS_MAX (INT64_C(30) * 86400 * 1000000000) /* a virtual month */

enum {
    SCENARIO_NAME_SIZE_MAX = 63,
    SCENARIO_TABLES_MAX = 64,
    SCENARIO_COPIES_MAX = 20000,
    SCENARIO_TENANTS_MAX = 64,
    SCENARIO_LIMITS_MAX = 16,
    SCENARIO_WORKLOADS_MAX = 64,
    SCENARIO_TRACES_MAX = 64,
    SCENARIO_FAULTS_MAX = 64,
    SCENARIO_POLICIES_MAX = 64,
    SCENARIO_EXPECTATIONS_MAX = 128,
    SCENARIO_AXES_MAX = 4,
    SCENARIO_VALUES_MAX = 256,
    SCENARIO_SETTINGS_MAX = 64,
    SCENARIO_ROUTERS_MAX = 1024,
    SCENARIO_GAC_MAX = 16,
    SCENARIO_MEMORY_ITEMS_MAX = 10000000,
};

/* What work costs, where the runner computes it: the model of a node, a router and the network. */
struct scenario_costs {
    int64_t read_ns;          /* processor time of a node for a read of one unit */
    int64_t miss_ns;          /* the same, in addition for each item not in memory */
    int64_t write_ns;         /* processor time of the leader for a write of one unit */
    int64_t follow_ns;        /* processor time of a follower for that write */
    int64_t unit_ns;          /* processor time for each further unit */
    int64_t refuse_ns;        /* processor time of a node or router for a refused request */
    int64_t sync_ns;          /* until a write is durable on a disk */
    int64_t router_ns;        /* processor time of a router for a request */
    int64_t network_ns;       /* one way between any two processes */
    int64_t jitter_ns;        /* mean of the exponential addition to each way */
    int64_t cores;            /* processors of a node */
    int64_t move_bytes_per_s; /* a replica that moves is copied at this speed */
};

struct scenario_cluster {
    int64_t nodes;
    int64_t routers;
    int64_t gac;          /* servers of global admission control */
    int64_t memory_items; /* that each node keeps in memory; 0: all */
    int64_t wall_skew_ns; /* most that a process's wall clock is off */
    struct config config;
    struct scenario_costs costs;
};

struct scenario_table {
    const char *name;
    int64_t copies; /* so many tables: NAME-1, NAME-2 and so on; 1: NAME itself */
    int64_t rcu;
    int64_t wcu;
    bool on_demand;
    bool unlimited;     /* for the measures, its throughput is no limit */
    int64_t partitions; /* at the start; 0: as many as the throughput needs */
    int64_t max_rcu;    /* on demand; 0: none */
    int64_t max_wcu;
    int64_t gac;          /* 0: as configured; otherwise 1 + enum gac_policy */
    int64_t bytes;        /* stored at the start, spread evenly over the hashes */
    int64_t expire_at_ns; /* of the run: all items that clients put expire then; 0: never */
    int64_t weight;       /* where nodes share what allocations leave */
    bool whole_collections;
    const char *key_sharding; /* the tag weir:key-sharding; NULL: none */
    struct autoscaling_options autoscaling;
    struct indexes_options indexes;
};

struct scenario_tenant {
    const char *name;
    double weight;         /* in fairness; among those with the same parent */
    const char *parent;    /* an account; NULL: none */
    uint32_t parent_place; /* before its own; UINT32_MAX: none */
};

/* A limit of the rate limiter, as PUT /limiter/v1/limits has it. In tokens. */
struct scenario_limit {
    const char *entity; /* NULL: all that have no limit of their own */
    const char *resource;
    int64_t capacity;
    int64_t refill; /* in each period */
    int64_t period_ns;
    int64_t smallest; /* request: no shard's share is smaller */
};

/* How a workload's requests are spread over the routers. */
struct scenario_spread {
    enum {
        SPREAD_EVEN,   /* round and round */
        SPREAD_SHARES, /* by weights */
        SPREAD_MOVING  /* `fraction` to one router, which changes every `every_ns` */
    } kind;
    uint32_t count;
    double shares[SCENARIO_ROUTERS_MAX];
    double fraction;
    int64_t every_ns;
};

struct scenario_workload {
    const char *name;
    const char *tenant; /* NULL: the workload's name */
    const char *table;
    uint32_t table_place;
    const char *limiter;   /* requests acquire tokens of this resource; NULL: they are for items */
    bool idempotency_keys; /* each of these requests has a name of its own */
    /* Files of requests, merged by their times, in place of rate, keys, mix and sizes. */
    const char *traces[SCENARIO_TRACES_MAX];
    uint32_t trace_count;
    const char *trace_table; /* only requests to this table of the traces; NULL: all */
    double trace_speed;      /* 2: twice as fast */
    bool each;               /* the rate is of each copy of the table; otherwise of all together */
    struct traffic_options traffic;
    int64_t transact;        /* writes are transactions of so many puts; 0: of single items */
    int64_t index_key_count; /* values of the keys of the table's indexes; 0: as these say */
    struct retry_options retry;
    struct hedge_options hedge;
    int64_t timeout_ns;
    struct scenario_spread routers;
};

#define SCENARIO_FAULT_LIST(X)                                                               \
    X(FAULT_NODE_DOWN, "node-down", "the node is down; the others lead what it led")         \
    X(FAULT_NODE_SLOW, "node-slow", "the node's work takes `factor` times as long")          \
    X(FAULT_NODE_BUSY, "node-busy", "others use `factor` of the node's write capacity")      \
    X(FAULT_ROUTER_DOWN, "router-down", "the router is down; its tokens are lost")           \
    X(FAULT_ROUTER_CLOCK, "router-clock",                                                    \
      "the router's clock is off by `offset` and runs "                                      \
      "1 + `drift` as fast")                                                                 \
    X(FAULT_GAC_DOWN, "gac-down", "the server of global admission control is down")          \
    X(FAULT_GAC_CUT, "gac-cut", "the server of global admission control reaches no router")  \
    X(FAULT_SPLIT, "split", "each partition of the table is split in two equal hash ranges") \
    X(FAULT_UPDATE, "update", "the table gets `rcu` and `wcu`")

enum scenario_fault_kind {
#define X(code, name, help) code,
    SCENARIO_FAULT_LIST(X)
#undef X
};

struct scenario_fault {
    uint32_t line;
    int64_t kind; /* enum scenario_fault_kind */
    int64_t at_ns;
    int64_t for_ns; /* INT64_MAX: to the end of the run */
    int64_t which;  /* node, router or server, from 1; 0: all */
    const char *table;
    double factor;
    int64_t offset_ns;
    double drift;
    int64_t rcu, wcu;
};

/* A change to the document. */
struct scenario_setting {
    struct slice path;
    struct slice value;
};

struct scenario_policy {
    const char *name;
    const char *about;
    bool exceeds;  /* limits and the optimum, on purpose */
    bool ablation; /* one mechanism is off, to show that it is needed */
    uint32_t count;
    struct scenario_setting set[SCENARIO_SETTINGS_MAX];
};

struct scenario_expectation {
    const char *policy; /* NULL: the first one */
    const char *measure;
    const char *tenant;       /* NULL: all */
    const char *table;        /* NULL: all */
    const char *reason;       /* of refusals; NULL: all */
    int64_t from_ns, to_ns;   /* the part of the run; -1, INT64_MAX: not bounded */
    const char *versus;       /* not NULL: the value divided by that policy's, seed by seed */
    double at_least, at_most; /* -HUGE_VAL, HUGE_VAL: no bound */
    const char *why;
    uint32_t line;
};

struct scenario_axis {
    struct slice path;
    uint32_t count;
    struct slice values[SCENARIO_VALUES_MAX];
};

struct scenario {
    const char *name;
    const char *about;
    int64_t fidelity; /* enum lab_fidelity: unless the command says another */
    int64_t seeds;
    int64_t duration_ns;
    int64_t warm_ns;      /* the measures leave out this first part */
    int64_t window_ns;    /* of the optimum */
    int64_t objective_ns; /* a request served later than this is no goodput; 0: none is late */
    struct scenario_cluster cluster;
    uint32_t table_count, tenant_count, limit_count, workload_count, fault_count, policy_count,
        expectation_count, axis_count;
    struct scenario_table tables[SCENARIO_TABLES_MAX];
    struct scenario_tenant tenants[SCENARIO_TENANTS_MAX];
    struct scenario_limit limits[SCENARIO_LIMITS_MAX];
    struct scenario_workload workloads[SCENARIO_WORKLOADS_MAX];
    struct scenario_fault faults[SCENARIO_FAULTS_MAX];
    struct scenario_policy policies[SCENARIO_POLICIES_MAX];
    struct scenario_expectation expectations[SCENARIO_EXPECTATIONS_MAX];
    struct scenario_axis axes[SCENARIO_AXES_MAX];
};

/* Of a scenario: its results may stand in files of this name. */
#define SCENARIO_NAME_EXPECTED "1 to 63 letters, digits, -, _ and ., with no . at the beginning"
bool scenario_name_is_valid(struct slice name);

/* Reads a document. Texts lend from it. `policies`: those loaded from files, which it may name; may
 * be NULL; borrows. STATUS_MALFORMED: `error` gets one line. The struct is large: keep it on the
 * heap. */
enum status scenario_read(struct document *d, struct policies *policies, struct scenario *out,
                          struct buffer *error);

/* Adds a YAML list of policies to the document's, behind the one that a document without policies
 * implies. */
enum status scenario_add_policies(struct document *d, struct slice more, struct buffer *error);

/* The policy's changes, applied to a document of the same file. */
enum status scenario_choose(const struct scenario_policy *p, struct document *d,
                            struct buffer *error);

/* The reference of the format, for people. */
void scenario_describe_format(struct buffer *out);
const char *scenario_fault_name(enum scenario_fault_kind kind);
