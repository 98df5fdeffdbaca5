/* plan.h - everything that a seed decides before a run: the cluster's shape, timings, settings, the
 * work, and the faults and how often they are injected. */
#pragma once

#include "base/config.h"
#include "sim/plan/sim_client.h"
#include "sim/world/network.h"
#include "sim/world/node_process.h"

/* Code, name on the command line, help. */
#define FAULT_LIST_SIM(X)                                                                      \
    X(SIM_CRASH, "crash", "a node's process ends; its disk keeps what was written")            \
    X(SIM_POWER, "power", "a node's machine loses power; unsynced writes tear")                \
    X(SIM_PAUSE, "pause", "one process stops for a while; its machine runs on")                \
    X(SIM_CUT, "cut", "processes cannot reach each other")                                     \
    X(SIM_ONE_WAY, "one-way", "processes cannot reach each other in one direction")            \
    X(SIM_RESET, "reset", "connections are closed")                                            \
    X(SIM_DROP, "drop", "envelopes between nodes are lost")                                    \
    X(SIM_DUPLICATE, "duplicate", "envelopes between nodes arrive twice")                      \
    X(SIM_REORDER, "reorder", "envelopes between nodes overtake each other")                   \
    X(SIM_SLOW_DISK, "slow-disk", "a disk takes up to a hundred times as long")                \
    X(SIM_FULL_DISK, "full-disk", "a disk has no space for a while")                           \
    X(SIM_FAILING_DISK, "failing-disk", "one write of a log or a checkpoint fails")            \
    X(SIM_CLOCK, "clock", "clocks run fast or slow, within what the cluster allows")           \
    X(SIM_ROUTER, "router", "the process of a router or GAC server ends")                      \
    X(SIM_WIPE, "wipe", "a node loses its disk; a majority keeps theirs")                      \
    X(SIM_LYING_DISK, "lying-disk", "a disk skips syncs; together with power, most runs fail") \
    X(SIM_SUSPEND, "suspend", "a whole machine stops for a while; only its clock runs on")     \
    X(SIM_DRAIN, "drain", "a node is drained, and later gets replicas again")                  \
    X(SIM_SETTINGS, "settings", "a node restarts with other settings")                         \
    X(SIM_READ_ERROR, "read-error", "reads of a disk fail, once or for a while")               \
    X(SIM_SLEEP, "sleep", "a machine stops, often for longer than all timeouts")               \
    X(SIM_WALL, "wall", "a wall clock steps by -10 minutes to 2 days, and back")               \
    X(SIM_LATE, "late", "bytes arrive up to 10 s late, also after their link broke")

enum sim_fault {
#define X(code, name, help) code,
    FAULT_LIST_SIM(X)
#undef X
    SIM_FAULTS
};

/* What a plan may have besides: code, name on the command line, help. A row at the end changes
 * nothing of what earlier seeds do. */
#define EXTRA_LIST_SIM(X)                                                                    \
    X(SIM_SHORT_TIMES, "short-times",                                                        \
      "tokens, fences and stream records are kept only for seconds")                         \
    X(SIM_SWITCHES, "switches", "two clients switch streams and time to live without waits") \
    X(SIM_MIXED, "mixed", "tables have several features at once")                            \
    X(SIM_SCARCE_INDEX, "scarce-index",                                                      \
      "an index has 1/50 of its table's units, where nodes limit")                           \
    X(SIM_QUIET_PHASE, "quiet-phase",                                                        \
      "after the faults, 30 s without writes; indexes, shards change")                       \
    X(SIM_LEAVING_TABLE, "leaving-table",                                                    \
      "transactions begin in a table that is deleted meanwhile")                             \
    X(SIM_OWN_READS, "own-reads", "one router, with read_your_writes")                       \
    X(SIM_LARGE_BODIES, "large-bodies", "one of 20 requests is padded, so that a thread parses it")

enum sim_extra {
#define X(code, name, help) code,
    EXTRA_LIST_SIM(X)
#undef X
    SIM_EXTRAS
};

#define SIM_EXTRA_BIT(extra) (UINT32_C(1) << (extra))
#define SIM_EXTRAS_ALL       (SIM_EXTRA_BIT(SIM_EXTRAS) - 1)

/* What the command line says of a fault or an extra. */
struct sim_named {
    const char *name;
    const char *help;
};

extern const struct sim_named sim_faults[SIM_FAULTS];
extern const struct sim_named sim_extras[SIM_EXTRAS];

enum {
    SIM_NODES_MAX = 9,
    SIM_ROUTERS_MAX = 4,
    SIM_GAC_MAX = 3,
    WORK_TRANSACTION_TABLES = 2, /* of lists that transactions append to */
    WORK_LISTS_MAX = 128,
    WORK_LISTS_FEW = 8, /* what tables that are limited can serve */
    SIM_NONE = -1,      /* in struct sim_options: none, whatever the seed says */
    SIM_CLIENTS_MAX = 256,
    SIM_TICK_US_MAX = 1000,
    SIM_FAULTS_FIRST = SIM_LYING_DISK + 1, /* faults below this are drawn for all plans */
    SIM_FAULTS_MORE = SIM_SETTINGS + 1,    /* each fault from here on draws from its own stream */
};

#define SIM_FAULT_BIT(fault) (UINT32_C(1) << (fault))
/* All faults that a correct cluster must survive. */
#define SIM_FAULTS_ALL ((SIM_FAULT_BIT(SIM_FAULTS) - 1) & ~SIM_FAULT_BIT(SIM_LYING_DISK))

/* The faults that hit GAC servers and their links to routers. */
#define SIM_FAULTS_GAC                                                                 \
    (SIM_FAULT_BIT(SIM_PAUSE) | SIM_FAULT_BIT(SIM_CUT) | SIM_FAULT_BIT(SIM_ONE_WAY) |  \
     SIM_FAULT_BIT(SIM_RESET) | SIM_FAULT_BIT(SIM_CLOCK) | SIM_FAULT_BIT(SIM_ROUTER) | \
     SIM_FAULT_BIT(SIM_SLEEP))

/* How far a split has come in its group: first at the leader, then at the other members. */
enum split_stage {
    SPLIT_STAGE_NONE,
    SPLIT_STAGE_PROPOSED, /* in the leader's log, but not durable there */
    SPLIT_STAGE_LOGGED,   /* durable at the leader, and not applied */
    SPLIT_STAGE_APPLIED,  /* applied at the leader; its LOG_SPLIT_DONE is not durable */
    SPLIT_STAGE_DONE,     /* LOG_SPLIT_DONE is durable; no other member has applied the split */
    SPLIT_STAGE_FOLLOWED, /* other members have applied the split; not all have it durably */
    SPLIT_STAGES
};

/* Mutations that the world makes on purpose, to show that a run finds them. */
enum sim_mutation {
    SIM_MUTATION_NONE,
    SIM_MUTATION_CLOCK_STOPS,  /* a machine's clock stands still while the machine is suspended */
    SIM_MUTATION_DEAD_MEMBERS, /* dead_member = zero: a node that is down has no headroom */
    SIM_MUTATION_CUT_REQUESTS, /* a request that a client says it gave up was sent whole */
    SIM_MUTATION_READ_ERRORS,  /* a read that fails finds nothing */
};

/* What the caller chooses. nodes, replicas, routers, gac, clients, merges, tick_us and length_ms: 0
 * lets the seed decide. */
struct sim_options {
    uint64_t seed;
    uint32_t faults;    /* the faults that may be chosen */
    bool faults_forced; /* all of these faults are injected; the seed does not choose among them */
    uint32_t extras;    /* that may be chosen */
    bool extras_forced;
    uint32_t nodes;
    uint32_t replicas;
    uint32_t routers;
    int gac; /* GAC servers; SIM_NONE: none */
    uint32_t clients;
    int work_transactions; /* clients of transactions; SIM_NONE: none */
    int work_ttl;          /* clients whose items expire; SIM_NONE: none */
    int work_streams;      /* clients of a table with a stream; SIM_NONE: none */
    int work_counters;     /* clients of counters; SIM_NONE: none */
    int work_limiter;      /* clients of the rate limiter; SIM_NONE: none */
    int work_fill;         /* clients that fill the stores; SIM_NONE: none */
    int key_sharding_ms;   /* mean time between two changes; SIM_NONE: none */
    int merges;            /* percent of the splits that are merges instead; SIM_NONE: none */
    int tick_us;           /* events happen at multiples of it; SIM_NONE: at any time */
    int64_t length_ms;     /* how long faults are injected */
    enum split_stage kill_leader_at; /* at the first split that can be caught there */
    bool plain; /* one table, short keys, equal settings; later faults only if they are forced */
    enum sim_mutation mutation;
    bool bench; /* no history, no pauses, a quiet network: to measure the speed */
    /* Policies by name; NULL: the seed decides. A policy of tables needs a GAC server, every other
     * one needs nodes that limit: every seed has them then. */
    const char *partition_policy;
    const char *node_policy;
    const char *headroom_policy;
    const char *overload_policy;
    const char *gac_policy;
    const char *adaptive_policy;
    const char *split_policy;
    const char *demand_policy;
    const char *relocate_policy;
    struct policies *policies; /* borrows; those from files; may be NULL */
};

struct plan {
    uint64_t seed;
    uint32_t faults;
    uint32_t extras;
    uint32_t nodes;
    uint32_t replicas;
    uint32_t routers;
    uint32_t gac; /* GAC servers */
    uint32_t clients;
    int64_t wall_ahead_ms; /* the most that a wall clock steps ahead */
    int64_t tick_ns;       /* 0: none */
    int64_t length_ns;
    int64_t fault_interval_ns;  /* mean time between two faults */
    int64_t split_ns;           /* mean time between two splits of a partition; 0: none */
    int64_t key_sharding_ns;    /* mean time between two changes of a key's shards; 0: none */
    uint32_t work_transactions; /* clients of transactions */
    uint32_t work_ttl;          /* clients whose items expire */
    uint32_t work_streams;   /* clients that write to a table with a stream; one more follows it */
    uint32_t work_counters;  /* clients of counters */
    uint32_t work_limiter;   /* clients of the rate limiter */
    uint32_t work_fill;      /* clients that fill the stores */
    uint32_t fill_bytes_max; /* bytes of an item of theirs */
    uint32_t work_lists;     /* lists that they work on */
    uint32_t work_list_pad;  /* bytes in an item besides the list, at most */
    int64_t steady_ns;       /* after the faults: they go on, and strong reads must be answered */
    uint32_t merge_percent;  /* of the splits, this many are merges instead */
    enum split_stage kill_leader_at;
    int64_t drift_ppm; /* the most that a clock gains or loses */
    bool keep_history;
    uint32_t split_per_million;
    struct config config;
    struct config configs[SIM_NODES_MAX + 1]; /* of the nodes, by id */
    enum sim_mutation mutation;
    bool moves;  /* replicas may move */
    bool limits; /* nodes limit what clients use */
    struct workload workload;
    struct network_delays delays;
    struct network_speed speed;
    struct http_manners manners;          /* of clients */
    struct network_faults network_faults; /* as long as faults are injected */
    struct node_timings timings;
};

static inline bool plan_has(const struct plan *plan, enum sim_extra extra)
{
    return (plan->extras & SIM_EXTRA_BIT(extra)) != 0;
}

/* Whether a request with a token that is sent again is recognized, as long as a client may send it.
 * */
bool plan_keeps_tokens(const struct plan *plan);

/* Units per second of a table that a few clients write beside the others. Where nodes limit, its
 * plan counts on those of the first table. */
uint32_t plan_side_units(const struct plan *plan);

/* The same of the table of counters, whose reads take units of all cells at once. */
uint32_t plan_counter_units(const struct plan *plan);

void plan_make(const struct sim_options *options, struct plan *out);
/* Draws other settings for one node of a cluster with these: what a rolling restart may change.
 * heartbeat_ms stays below the support_ms of all nodes. */
void plan_vary_settings(const struct config *base, struct config *c, struct prng *p);
void plan_describe(const struct plan *p, struct buffer *out);
