/* lab.h - a simulated cluster for tests (sim/world/world.h). Its clients send requests at a pace.
 * */
#pragma once

#include "engine/catalog/catalog.h"
#include "sim/check/gac_watch.h"
#include "sim/world/world.h"

enum {
    LAB_NODES_MAX = 5,
    LAB_ROUTERS_MAX = 16,
    LAB_GAC_MAX = 3,
    LAB_CLIENTS = 256 /* of a router */
};

/* Outcomes of requests. */
struct counts {
    int64_t ok;
    int64_t key_range;
    int64_t throttled; /* by the table's limit, the allocation, the node or a member */
    int64_t maximum;   /* by the table's maximum on demand */
    int64_t failed;
};

struct lab {
    /* Until lab_start a test may change its plan: three nodes, a router and no GAC server. */
    struct world world;
    struct config configs[LAB_NODES_MAX + 1]; /* by node; 0: of routers and GAC servers */
    uint64_t leads[LAB_NODES_MAX + 1];        /* by node: how often it began to lead a group */
    struct gac_watch *watch;                  /* borrows; NULL: none */
    struct http_client clients[LAB_ROUTERS_MAX][LAB_CLIENTS];
    struct counts *counts[LAB_ROUTERS_MAX][LAB_CLIENTS]; /* of the present call; NULL: free */
    uint32_t next_client[LAB_ROUTERS_MAX];
    struct buffer body;
};

struct flow {
    const char *table;
    const char *operation;
    const char *more; /* members of the request; with `rest`: up to a counted number */
    const char *rest; /* what comes after the number; NULL: nothing */
    int64_t number;
    const char (*puts)[64]; /* several `more`, used in turn; NULL: only `more` */
    int put_count;
    int put_next;
    int64_t per_second;
    struct counts counts;
    int64_t due_ns;
};

void lab_init(struct lab *l);
/* Sets a setting of all processes. Call it before lab_start. */
void lab_set(struct lab *l, const char *name, const char *value);
void lab_start(struct lab *l);
void lab_deinit(struct lab *l);
void lab_pass(struct lab *l, int64_t ns);

/* Sends a request. Its outcome is counted in `counts` when the answer comes. */
void lab_call(struct lab *l, struct counts *counts, const char *operation, const char *body);
/* lab_call through that router. Routers are counted from 0. */
void lab_call_at(struct lab *l, uint32_t router, struct counts *counts, const char *operation,
                 const char *body);
/* Options for an HTTP client of the test's own. */
struct http_client_options lab_http(const struct lab *l, uint64_t seed);
void lab_create_table(struct lab *l, const char *name, int rcu, int wcu);
/* Sends each flow's requests at its pace, evenly. */
void lab_run_flows(struct lab *l, struct flow *flows, int count, int64_t ns);

/* The table as the catalog's leader has it. It lives in the arena. */
struct table lab_table_of(struct lab *l, const char *name, struct arena *arena);
/* The number of events of this kind that the nodes know, added up over all nodes. */
int64_t lab_events_of(struct lab *l, enum event_kind kind);

/* The figures on this node of the table's only partition. `table` is the table's id. */
struct partition_stats lab_stats_of(struct lab *l, uint32_t node, uint32_t table);
uint32_t lab_leader_of(struct lab *l, uint32_t table);
/* The node that leads the catalog; 0: none does. */
uint32_t lab_catalog_leader(struct lab *l);
/* The catalog of the node that leads the catalog. Lends until time passes. */
const struct catalog *lab_catalog(struct lab *l);
