/* world.h - a cluster in the simulated world, built from one description.
 *
 * `weir sim` and the tests build their clusters here: virtual time, a network, and the processes of
 * nodes, routers and GAC servers. Each process has its clock, and each node its disk. The processes
 * run the drivers of server/.
 * Processes have numbers: nodes 1 .. nodes, then routers, GAC servers and clients. A client is
 * whatever the caller attaches to its number (sim/world/network.h).
 * The same plan and the same calls give the same world. */
#pragma once

#include "sim/world/gac_process.h"
#include "sim/world/http_client.h"
#include "sim/world/node_process.h"
#include "sim/world/router_process.h"

enum {
    WORLD_NODES_MAX = 9,
    WORLD_ROUTERS_MAX = 32,
    WORLD_GAC_MAX = 5
};

/* One stream of random numbers per concern: more draws from one do not change the others. */
enum world_stream {
    WORLD_NETWORK = 1,
    WORLD_NODES,
    WORLD_ROUTERS,
    WORLD_CLIENTS,
    WORLD_FAULTS,
    WORLD_WORK_SPLITS,
    WORLD_LEADER_KILL,
    WORLD_GAC,
    WORLD_TABLES,
    WORLD_FAULT_DRAINS,
    WORLD_WORK_TRANSACTIONS,
    WORLD_WORK_TTL,
    WORLD_WORK_STREAMS,
    WORLD_WORK_KEY_SHARDING,
    WORLD_WORK_COUNTERS,
    WORLD_WORK_RATE_LIMITER,
    WORLD_WORK_SWITCHES,
    WORLD_LISTS,
    WORLD_WORK_FILL,
};

struct world_plan {
    uint64_t seed;
    uint32_t nodes;
    uint32_t routers;
    uint32_t gac; /* GAC servers */
    uint32_t clients;
    int64_t tick_ns;              /* events happen at multiples of it; 0: at any time */
    const struct config *config;  /* borrows; of routers and GAC servers */
    const struct config *configs; /* borrows; of the nodes, by id */
    uint32_t split_per_million;   /* requests that clients send in two pieces */
    struct http_manners manners;  /* of clients */
    struct network_delays delays;
    struct network_speed speed;
    struct node_timings timings;
    struct process_watch watch;
};

struct world {
    struct world_plan plan;
    struct scheduler scheduler;
    struct trace trace;
    struct network *network; /* owns */
    struct surroundings around;
    struct node_process *nodes[WORLD_NODES_MAX + 1];   /* owns; by id */
    struct router_process *routers[WORLD_ROUTERS_MAX]; /* owns; 0 .. plan.routers - 1 */
    struct gac_process *gac[WORLD_GAC_MAX];            /* owns; 0 .. plan.gac - 1 */
};

/* No process runs yet. Events hold pointers to `w`, which must not move. */
void world_init(struct world *w, const struct world_plan *plan);
void world_deinit(struct world *w);
/* Starts all processes. */
void world_start(struct world *w);
/* Runs the events of the next `ns` nanoseconds. */
void world_pass(struct world *w, int64_t ns);

/* The seed of a stream. `which` is one of several streams of a concern. */
uint64_t world_seed(const struct world *w, enum world_stream stream, uint32_t which);

/* ---- processes: their numbers, from 0 within each kind ---- */

uint32_t world_router(const struct world *w, uint32_t router);
uint32_t world_gac(const struct world *w, uint32_t server);
uint32_t world_client(const struct world *w, uint32_t client);
/* Options of an HTTP client with that number. The client uses all routers. */
struct http_client_options world_http(const struct world *w, uint32_t client, uint64_t seed);

/* The process is a router or a GAC server. */
void world_start_process(struct world *w, uint32_t process);
void world_crash_process(struct world *w, uint32_t process);
/* A node, a router or a GAC server does nothing until then, while its clock goes on. Ignored while
 * the process is paused. */
void world_pause(struct world *w, uint32_t process, struct instant until);
/* The same of the whole machine. `links_first`: then a router or GAC server meets what came
 * meanwhile before it looks at its clock. A node does so now and then. */
void world_suspend(struct world *w, uint32_t process, struct instant until, bool links_first);
bool world_is_up(const struct world *w, uint32_t process);
/* A node's, a router's or a GAC server's wall clock steps. */
void world_step_wall(struct world *w, uint32_t process, int64_t ms);
/* How far a wall clock is ahead: of node 1 + i, or of a router behind the nodes. */
int64_t *world_wall_skew_ms(const struct world *w, uint32_t i);
/* How far the wall clocks of nodes, or of nodes and routers, are apart at most. */
int64_t world_wall_spread_ms(const struct world *w, bool routers);
/* How far the wall clocks of more than half of the nodes are ahead, each when it was ahead most;
 * below zero: behind. */
int64_t world_max_ahead_ms(const struct world *w);
struct sim_clock *world_clock(struct world *w, uint32_t process);

/* Asks every node that is up (node_process_request): the node that leads the catalog answers. */
void world_request(struct world *w, const struct request *r, struct buffer *answer);
/* A hash of everything that has happened so far. */
uint64_t world_hash(const struct world *w);
