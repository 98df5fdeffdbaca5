/* model_internal.h - the parts of the model, for lab/fidelity/admission/ only.
 *
 *   model.c     life, the order of events
 *   sources.c   clients: arrivals, retries, think time
 *   hedges.c    reads that are sent a second time while the first attempt is out
 *   routers.c   routers: tokens of table limits, requests that wait for tokens
 *   gac_links.c   messages between routers and servers of global admission control
 *   nodes.c     admission at nodes, headroom of members, what work costs in time
 *   resident.c  which items are in a node's memory
 *   item_sizes.c     the sizes of stored items
 *   tables.c    the scenario's tables
 *   partitions.c  partitions: routing, splits, moves, what a merge does to them
 *   merges.c    the steps of merges
 *   control.c   reports, the controller, the catalog
 *   faults.c    faults of the scenario
 *   observe.c   what is told to the measures
 *   processors.c  the same of the nodes' processors
 *   node_sets.c   the same of nodes together
 *   sample.c    series of balances, for reports */
#pragma once

#include <sys/queue.h>

#include "base/id_map.h"
#include "base/prng.h"
#include "control/controller.h"
#include "engine/admission/admission.h"
#include "engine/admission/member.h"
#include "engine/admission/overload.h"
#include "engine/heat/excess.h"
#include "engine/heat/split_point.h"
#include "gac/client.h"
#include "gac/server.h"
#include "lab/fidelity/admission/model.h"
#include "lab/fidelity/admission/resident.h"
#include "lab/scenario/fault_schedule.h"
#include "sim/world/scheduler.h"

enum {
    JITTER_BITS = 12,
    JITTER_STEPS = 1 << JITTER_BITS,
    JITTER_ONE = 1024
};

/* Reasons beyond enum admit_reason, for the measures. */
enum {
    REFUSED_BY_CLIENT = ADMIT_REASONS,
    REFUSED_FAILED /* no leader, no majority, no router */
};
_Static_assert((int)SCENARIO_MEMORY_ITEMS_MAX <= (int)RESIDENT_ITEMS_MAX, "memory of a node");
_Static_assert((int)REFUSED_FAILED < (int)MEASURE_REASONS,
               "the measures have a place for each reason");

struct model;
struct model_table;

/* What an ideal bucket of a resource has: it saw exactly what was admitted. */
struct model_ideal {
    uint32_t resource;
    int64_t rate_mcu; /* 0: unlimited */
    int64_t capacity_mcu;
    int64_t slack_mcu;    /* the policy may admit so much more at once */
    uint32_t spenders;    /* so many may each overdraw it by a request */
    int64_t had_mcu;      /* in the window that was told last: its balance and its inflow */
    int64_t balance_mcu;  /* when the window began */
    int64_t consumed_mcu; /* in all, when the window began */
};

struct model_replica {
    uint32_t node;
    uint64_t member; /* as the catalog numbers it */
    uint32_t life; /* counts the replicas of the partition; a late event names the one it is for */
    bool joining;  /* is being copied: does no work yet */
    int64_t allocated_mcu[ADMIT_KINDS]; /* of what its node counts */
    struct admission admission;
};

struct model_partition {
    uint32_t id;
    uint64_t epoch;
    struct model_table *table;
    struct slice lo, hi; /* owns, in `bounds` */
    struct buffer bounds;
    uint32_t replica_count;
    uint32_t leader;                /* place among the replicas */
    bool leaderless;                /* until an election is over */
    struct model_replica *replicas; /* owns */
    struct heat heat;
    struct excess excess[ADMIT_KINDS];
    struct instant excess_reported[ADMIT_KINDS];
    struct load_total totals[ADMIT_KINDS];
    bool unreported; /* the totals have changed since the last report */
    int64_t bytes;
    uint32_t arrivals; /* of replicas so far */
    /* of merges.c */
    bool merging; /* the next step is on its way */
    int64_t frozen_until_ns, give_up_ns;
    SLIST_ENTRY(model_partition) gone;
    /* of observe.c */
    struct model_ideal ideal[ADMIT_KINDS];
    LIST_HEAD(, model_flow) flows; /* owns */
};

/* A stream's requests to one partition. */
struct model_flow {
    LIST_ENTRY(model_flow) entry;
    uint32_t stream;
    bool eventual;
    enum admit_kind kind;
    int64_t weight;
    uint32_t flow;
};

struct model_route {
    uint64_t hash; /* of the lower bound */
    struct model_partition *partition;
};

struct model_table {
    const struct scenario_table *scenario;
    uint32_t number; /* from 0: of this copy */
    uint32_t id;     /* in the catalog */
    char name[SCENARIO_NAME_SIZE_MAX + 16];
    uint64_t version;
    struct gac_limit limits[ADMIT_KINDS];
    bool limited[ADMIT_KINDS];
    uint32_t route_count;
    size_t route_capacity;
    struct model_route *routes; /* owns; in key order */
    /* of observe.c */
    struct model_ideal ideal[ADMIT_KINDS];
    uint32_t bounds[ADMIT_KINDS]; /* limits of the measures */
    bool bounded[ADMIT_KINDS];
    int64_t consumed_mcu[ADMIT_KINDS];
    struct id_map sizes; /* of items, by key; of item_sizes.c */
};

/* Of processors.c. `ideal` is in ps of processor time. */
struct model_processors {
    struct model_ideal ideal;
    int64_t queue_ns;       /* when the window began */
    int64_t slow_least_ppm; /* of the window */
    bool was_down;          /* in the window */
    double busy;            /* the part that others use */
};

struct model_node {
    struct node_admission admission;
    struct members members;
    int64_t consumed_mcu[ADMIT_KINDS];
    int64_t allocated_mcu[ADMIT_KINDS]; /* a second, of its replicas: this work always passes */
    int64_t capacity_mcu[ADMIT_KINDS];  /* a second; less while others use a part */
    int64_t busy_until_ns;              /* its processors have work until then */
    int64_t slow_ppm;                   /* its work takes so much as long; a million: as usual */
    bool down;
    struct overload overload;
    struct resident resident;
    struct id_map shares; /* owns struct table_share, by table */
    struct model_ideal ideal[ADMIT_KINDS];
    struct model_processors processors;
};

/* One attempt of a client's request. Lives on the stack until it has to wait. */
struct model_request {
    STAILQ_ENTRY(model_request) entry;
    struct model *model;
    struct model_source *source;
    struct model_table *table;
    struct traffic_request traffic;
    struct retry_request retry;
    int64_t due_ns;  /* when the client wanted it */
    int64_t sent_ns; /* this attempt */
    int64_t hint_ns; /* when a refused request may pass; below 0: not told */
    int64_t wait_until_ns;
    uint32_t router;
    uint32_t client;
    int64_t taken_mcu; /* tokens of the table's limit */
    int64_t miss_ns;   /* of a served read: the work because items were not in memory */
    bool pooled;
    /* of hedges.c */
    struct model_pair *pair; /* NULL: it is not hedged */
    bool hedge;              /* a second attempt */
    int64_t done_ns;         /* when the answer is there; the client may have given up before */
    uint32_t measured_flow;  /* as what it was told to the measures, if it was admitted */
    int64_t measured_mcu;    /* 0: it was not */
};

STAILQ_HEAD(model_requests, model_request);

/* Requests that wait for tokens of one limit, at one router. */
struct model_queue {
    struct gac_key key;
    struct model_requests requests;
};

struct model_router {
    uint32_t number; /* from 0 */
    struct gac_client *client;
    uint32_t life;
    bool down;
    int64_t clock_at_ns, clock_offset_ns; /* the clock at that time, and how far it was ahead */
    double clock_drift;
    int64_t now_ns; /* the latest time that the client has seen */
    struct instant tick_at;
    uint64_t changes;
    struct id_map queues; /* owns struct model_queue, by key */
    uint32_t waiting;
    int64_t busy_until_ns;
    struct overload overload;
    struct overload_peer *peers; /* owns; by node */
    struct overload_excess excess;
};

struct model_server {
    uint32_t number; /* from 1 */
    struct gac_server *server;
    uint32_t life;
    bool down, cut;
};

struct model_source {
    struct model *model;
    const struct scenario_workload *workload;
    uint32_t tenant;
    uint32_t copy; /* of the table; UINT32_MAX: all copies in turn */
    struct model_table *table;
    struct traffic traffic;
    struct traffic_request next;
    int64_t next_ns; /* INT64_MAX: over */
    struct prng spread, retries, hedging;
    struct hedge *hedges;  /* owns; by client; NULL: it does not hedge */
    struct retry *clients; /* owns */
    uint32_t client_count;
    int32_t attempts_max;
    bool sizes_vary;
    uint32_t client_next;
    uint32_t router_next;
    struct buffer key;
    uint32_t streams[ADMIT_KINDS]; /* UINT32_MAX: not declared yet */
};

struct model {
    const struct scenario *scenario; /* borrows */
    const struct config *config;     /* borrows */
    uint64_t seed;
    struct measure *measure; /* borrows */
    uint32_t groups[SCENARIO_TENANTS_MAX]
                   [ADMIT_KINDS]; /* of the measures, if tenants have parents */
    bool has_groups;
    uint32_t all_nodes, all_processors; /* resources, of node_sets.c */
    struct id_map node_sets;            /* owns struct model_node_set, by hash */
    struct scheduler scheduler;
    struct demand_watch watch;
    struct prng network, replicas;
    int32_t jitter[JITTER_STEPS];
    uint64_t hash;
    int64_t costliest_mcu; /* the cost of the costliest request so far */
    struct lab_counts counts;

    struct model_node *nodes; /* owns; by id, from 1 */
    uint32_t node_count;
    struct model_router *routers; /* owns */
    uint32_t router_count;
    struct model_server *servers; /* owns; by number, from 1 */
    uint32_t server_count;

    struct model_table *tables; /* owns */
    uint32_t table_count;
    struct model_partition **partitions; /* owns; by id; NULL: none */
    size_t partition_room;
    SLIST_HEAD(, model_partition) gone; /* owns; they were merged into others */

    struct model_source *sources; /* owns */
    uint32_t source_count;
    uint32_t *arrivals; /* owns; a heap of sources by their next arrival */
    uint32_t arrival_count;
    struct arena pool; /* requests that wait; their memory is used again */
    struct model_requests free;
    STAILQ_HEAD(, model_pair) pairs; /* in the pool, not used */

    struct catalog *catalog;
    struct cluster_loads *loads;
    struct controller *controller;
    struct instant evaluate_at, urgent_at;
    bool by_hand;                        /* a split that the scenario asks for: nobody judges it */
    struct arena arena;                  /* of one advice */
    LIST_HEAD(, model_message) messages; /* owns; of gac_links.c */
    LIST_HEAD(, model_answer) answers;   /* owns; of control.c */
    LIST_HEAD(, evaluated_split) evaluated; /* owns; of observe.c */
    struct sample *sample;                  /* owns; of sample.c; NULL: no series are kept */
    struct scaling scaling;
    struct fault_schedule faults;
};

/* The bytes that a write is charged for before the old item is known. */
static inline int64_t model_write_bytes(const struct traffic_request *t)
{
    return t->kind == TRAFFIC_DELETE ? 0 : t->size_bytes;
}

static inline struct instant model_now(const struct model *m)
{
    return (struct instant){m->scheduler.now.ns};
}

static inline uint64_t model_seed(const struct model *m, enum demand_stream stream, uint64_t which)
{
    return demand_seed(m->seed, stream, which);
}
/* Adds something that was decided to the hash. */
static inline void model_note(struct model *m, uint64_t what)
{
    m->hash = (m->hash ^ what) * UINT64_C(0x9E3779B97F4A7C15);
    m->hash ^= m->hash >> 29;
}
/* Runs `run(context, argument)` in `delay_ns`. */
void model_in(struct model *m, int64_t delay_ns, scheduler_run *run, void *context,
              uint64_t argument);
/* The time of one way on the network. */
int64_t model_way_ns(struct model *m);

/* ---- sources.c ---- */

void model_sources_create(struct model *m);
void model_sources_destroy(struct model *m);
/* The time of the next arrival; INT64_MAX: none. */
int64_t model_sources_next_ns(const struct model *m);
void model_sources_arrive(struct model *m);
/* A request that may wait: the same one, in memory that stays. */
struct model_request *model_sources_keep(struct model *m, const struct model_request *r);
/* The end of an attempt. `reason`: enum admit_reason. `failed`: not served for another reason.
 * Frees a pooled request, or sends it again later. */
void model_sources_done(struct model *m, struct model_request *r,
                        const struct admit_verdict *verdict, bool failed, int64_t done_ns);

/* ---- hedges.c ---- */

/* An attempt is about to be sent. */
void model_hedges_begin(struct model *m, struct model_request *r);
/* The answer to an attempt with a pair comes to the client. False: the client waits for the other
 * attempt, or has its answer already. */
bool model_hedges_answered(struct model *m, struct model_request *r, enum retry_result result);

/* ---- routers.c ---- */

void model_routers_create(struct model *m);
void model_routers_destroy(struct model *m);
void model_routers_submit(struct model *m, struct model_request *r);
struct instant router_clock(const struct model *m, struct model_router *r);
/* As router/core/limit.c: whether the router takes the table's requests for work within limits. */
bool model_routers_is_within(const struct model *m, const struct model_router *r,
                             const struct model_table *t, enum admit_kind kind);
/* After anything happened at the router: waiting requests, messages, deadlines. */
void router_pump(struct model *m, struct model_router *r);
void router_start(struct model *m, struct model_router *r);
void router_stop(struct model *m, struct model_router *r);

/* ---- gac_links.c ---- */

void model_links_send(struct model *m, struct model_router *r, uint32_t server, struct slice frame);
void model_links_start(struct model *m, struct model_server *s);
void model_links_stop(struct model *m, struct model_server *s);
void model_links_cut(struct model *m, struct model_server *s, bool cut);
void model_links_destroy(struct model *m);
/* The router's links to all servers are up. */
void model_links_link(struct model *m, struct model_router *r);
/* The router ends: its links close. */
void model_links_unlink(struct model *m, struct model_router *r);

/* ---- nodes.c ---- */

void model_nodes_create(struct model *m);
void model_nodes_destroy(struct model *m);
/* What became of a request at its partition. */
struct model_outcome {
    struct admit_verdict verdict;
    bool failed;      /* no leader, or no majority */
    bool sent;        /* to the node */
    int64_t miss_ns;  /* of a served read */
    uint32_t node;    /* that was asked */
    int64_t cost_mcu; /* in all */
    int64_t done_ns;  /* when the answer is at the router */
};
void model_nodes_serve(struct model *m, struct model_partition *p, const struct model_request *r,
                       struct slice key, struct model_outcome *out);
/* The processor time of a node for a request of this cost. */
int64_t model_nodes_work_ns(const struct model *m, enum admit_kind kind, bool leads,
                            int64_t cost_mcu);
/* What a read would take in addition, because items are not in the node's memory. */
int64_t model_nodes_miss_ns(const struct model *m, const struct model_node *n,
                            const struct model_request *r);
void model_nodes_join(struct model *m, struct model_partition *p, struct model_replica *r);
void model_nodes_leave(struct model *m, struct model_replica *r);
void node_set_down(struct model *m, uint32_t node, bool down);

/* ---- partitions.c ---- */

struct model_partition *model_partitions_find(const struct model *m, uint32_t id);
struct model_partition *model_partitions_route(const struct model_table *t, struct slice key);
/* The catalog has changed the table. */
void model_partitions_sync(struct model *m, const struct table *t);
enum admit_kind model_kind(const struct traffic_request *t);
bool model_partitions_is_up(const struct model *m, const struct model_replica *r);
/* The number of its replicas that are up. */
uint32_t model_partitions_up(const struct model *m, const struct model_partition *p);
/* A node of the partition went down or came back. */
void model_partitions_elect(struct model *m, struct model_partition *p);

/* ---- merges.c ---- */

/* The catalog has changed the table: steps of merges that it asks for begin. */
void model_merges_sync(struct model *m, const struct table *t);

/* ---- item_sizes.c ---- */

/* Whether the source's writes may change the sizes of items. */
bool model_sizes_vary(const struct model_source *s);
/* The size of the item in bytes; 0: there is none, as far as is known. */
int64_t model_sizes_of(const struct model_table *t, uint64_t key);
/* 0: the item is deleted. */
void model_sizes_set(struct model_table *t, uint64_t key, int64_t bytes);

/* ---- tables.c ---- */

/* False: the catalog refuses a table; `error` tells. */
bool model_tables_create(struct model *m, struct buffer *error);
void model_tables_destroy(struct model *m);
/* Cuts each partition of the table into two equal ranges of hashes. */
void model_tables_split(struct model *m, struct model_table *t);
void model_tables_update(struct model *m, const struct scaling_update *u);
/* Autoscaling begins. */
void model_tables_run(struct model *m);

/* ---- control.c ---- */

void model_control_create(struct model *m);
/* Reports and looks begin. */
void model_control_run(struct model *m);
/* Sets the time of the controller's next evaluation. */
void model_control_start(struct model *m);
void model_control_destroy(struct model *m);
/* Applies a command to the catalog, and takes over what it changed. */
void model_control_apply(struct model *m, const struct catalog_command *c,
                         struct catalog_result *out);
/* A command of now, without arguments. */
struct catalog_command model_control_command(const struct model *m, enum catalog_op op);
/* Applies a command that is a decision. */
void model_control_decide(struct model *m, enum catalog_op op, const struct decision *d);
/* The partition must be reported at once. */
void model_control_report_now(struct model *m, struct model_partition *p);

/* ---- faults.c ---- */

void model_faults_begin(struct model *m);

/* ---- observe.c ---- */

void observe_create(struct model *m);
void observe_destroy(struct model *m);
void observe_partition(struct model *m, struct model_partition *p);
void observe_node_busy(struct model *m, uint32_t node, double part);
/* A replica on the node had, and has, this allocation; 0: it was not, or is not, there. */
void observe_allocation(struct model *m, uint32_t node, enum admit_kind kind, int64_t before_mcu,
                        int64_t after_mcu);
void observe_paths(struct model *m, struct model_partition *p);
/* The partition was split: `children` are new. */
void observe_split(struct model *m, struct model_partition *p,
                   struct model_partition *const children[], uint32_t count);
/* The partition has taken over the keys of `upper`, which is gone. */
void observe_merge(struct model *m, struct model_partition *p, struct model_partition *upper);
void observe_limits(struct model *m, struct model_table *t);
void observe_request(struct model *m, struct model_request *r, struct model_partition *p,
                     uint32_t reason, int64_t cost_mcu, int64_t latency_ns);
/* The client itself gave the request up. */
void observe_rejected(struct model *m, struct model_request *r);
/* Closes the window that ends now, and opens the next. */
void observe_window(struct model *m);

/* ---- node_sets.c ---- */

void node_sets_create(struct model *m);
void node_sets_destroy(struct model *m);
/* The resources that a read of the partition debits beside its node. Returns how many. */
uint32_t node_sets_path(struct model *m, const struct model_partition *p, uint32_t path[2]);
/* The processors together that a request of the partition uses. Returns how many there are. */
uint32_t node_sets_processors(struct model *m, const struct model_partition *p,
                              struct measure_processor path[2]);
/* Call once the nodes' and the processors' capacities of the window are told. */
void node_sets_window(struct model *m);

/* ---- processors.c ---- */

void processors_create(struct model *m);
/* The node has gone down or come back, or has another speed. */
void processors_changed(struct model_node *n);
void processors_window(struct model *m);
/* Tells the processors of a flow. */
void processors_path(struct model *m, const struct model_partition *p, enum admit_kind kind,
                     bool eventual, uint32_t flow);
/* Fills what a request takes, or would have taken. */
void processors_work(struct model *m, const struct model_request *r,
                     const struct model_partition *p, int64_t cost_mcu, bool admitted,
                     int64_t work_ns[MEASURE_WORKS]);

/* ---- sample.c ---- */

void sample_keep(void *runner);
void sample_write(const void *runner, struct buffer *out);
void sample_request(struct model *m, const struct model_request *r, const struct model_partition *p,
                    uint32_t reason, int64_t cost_mcu);
/* The partition has no keys any more. It is borrowed until the end. */
void sample_gone(struct model *m, const struct model_partition *p);
void sample_destroy(struct model *m);
