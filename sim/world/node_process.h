/* node_process.h - a storage node in the simulated world: the machine, its disk and its clock.
 *
 * The process gives the driver of a node (server/node_server.h) its ports. Events that come at
 * about the same time share one turn of the driver. Log writes, new segments, checkpoints and page
 * reads take time. Requests take processor time if the timings say so. A request is decided when
 * it comes, and its answer leaves when the work is done; a write's also when a majority would have
 * done its work. A queue of work delays no log and no other message. After a crash the node has
 * what its disk and its backing hold, and nothing else. Not here: which faults happen when
 * (sim/plan/faults.h). */
#pragma once

#include "base/id_map.h"
#include "base/peer.h"
#include "engine/node/node.h"
#include "server/node_links.h"
#include "sim/world/log_disk.h"
#include "sim/world/process.h"
#include "sim/world/processor.h"
#include "sim/world/store_disk.h"

enum node_process_trace {
    NODE_PROCESS_TRACE_STARTED = 16, /* node, records replayed */
    NODE_PROCESS_TRACE_CRASHED,      /* node, 1 if the power failed */
    NODE_PROCESS_TRACE_LOG,          /* node, end lsn of a batch that is on the disk */
    NODE_PROCESS_TRACE_LOG_FAILED,   /* node, end lsn of a batch that failed */
    NODE_PROCESS_TRACE_CHECKPOINT,   /* node, - */
    NODE_PROCESS_TRACE_WIPED,        /* node, - */
};

/* How long turns, the disk and requests take. */
struct node_timings {
    int64_t turn_ns; /* events within this time share a turn */
    int64_t write_min_ns;
    int64_t write_spread_ns;
    int64_t write_tail_ns;
    uint32_t write_tail_per_million;
    int64_t checkpoint_spread_ns;
    int64_t read_spread_ns;
    struct processor_costs work;
    int64_t cores; /* processors; 0: one */
};

struct node_process_options {
    const struct surroundings *around; /* borrows */
    const struct config *config;       /* borrows */
    uint32_t id;                       /* of the node and of the process */
    uint32_t node_count;               /* the nodes are processes 1 .. node_count */
    struct node_process *const *nodes; /* borrows; all of them by id, for what writes wait for */
    struct node_timings timings;
    uint64_t seed;
};

/* Short moments, which a crash at a random time would rarely hit. */
enum node_point {
    NODE_POINT_NONE,
    NODE_POINT_LOG,        /* a log write is in flight */
    NODE_POINT_CHECKPOINT, /* a checkpoint is being written */
    NODE_POINT_COMMITTED,  /* a checkpoint is durable, but the node does not know yet */
    NODE_POINT_STARTED,    /* the process has just been started */
    NODE_POINTS
};

/* Work that the driver gives to another thread. */
struct node_work {
    bool used;
    enum work_kind kind;
    void (*job)(void *argument);
    void (*done)(void *argument);
    void *argument; /* borrows */
};

/* Others read `process`, `options`, `log_disk`, `store_disk` and `since`. They may change what the
 * machine does: `slow_times`, `fail_write`, `processor.slow_ppm`, and the faults of `log_disk` and
 * `store_disk`. */
struct node_process {
    struct process process; /* first */
    struct node_process_options options;
    struct log_disk log_disk;     /* of the log */
    struct store_disk store_disk; /* of the store */
    struct node_server *server;   /* owns; NULL: down */
    struct node_links links;
    struct prng timing_prng;
    struct prng life_prng;
    uint64_t hash;
    uint64_t traced; /* events of the node's trace that the watch has seen */
    bool turn_scheduled;
    bool suspended;   /* the machine is suspended, not only the process paused */
    bool clock_stops; /* after the suspension the clock reads stopped_at */
    struct instant stopped_at;
    struct processor processor;
    struct served_totals served; /* what the processor has been told */
    struct id_map late;          /* ns that an answer must wait, by link and request */
    int64_t slow_times;          /* a disk operation takes this many times as long, up to a limit */
    bool fail_write;             /* the next log write that ends fails */
    struct node_work *works;     /* owns */
    size_t work_count;
    bool checkpoint_running;
    struct instant since; /* true time since which it is down, or runs without a pause */
    uint64_t *peers;      /* owns; by node; the links that this node made; 0: down */
    enum node_point armed;
    scheduler_run *ambush;
    void *ambush_context;  /* borrows */
    struct buffer *answer; /* borrows; for node_process_request */
    uint64_t last_request; /* the number of that question: answers to earlier ones come too late */
    bool refused;          /* the last frame closed its link */
};

struct node_process *node_process_create(const struct node_process_options *options);
void node_process_destroy(struct node_process *p);

/* Starts and recovers. STATUS_FULL, STATUS_IO: a later start may succeed. Others: damaged data. */
enum status node_process_start(struct node_process *p, struct buffer *error);
void node_process_crash(struct node_process *p, bool power);
void node_process_wipe(struct node_process *p); /* the process is down */
bool node_process_is_up(const struct node_process *p);
/* A pause (process_pause) of the whole machine. Ignored while the process is paused.
 * `clock_stops`: afterwards the clock reads what it read before. */
void node_process_suspend(struct node_process *p, struct instant until, bool clock_stops);
/* Others use the machine, besides weir: so much of the node's write capacity, and all processors
 * for `ns` of the time until now. Ignored while the node is down. */
void node_process_occupy(struct node_process *p, int64_t write_mcu, int64_t ns);
/* The process must be down. The configuration is used from the next start on. Borrows. */
void node_process_set_config(struct node_process *p, const struct config *config);

/* Runs `ambush` once, with the node's id, at a random time inside the next such moment. */
void node_process_arm(struct node_process *p, enum node_point point, scheduler_run *ambush,
                      void *context);

/* NULL while the node is down. */
struct node *node_process_node(struct node_process *p);
/* Gives the node a request, without the network. A suspended machine does not get the request. The
 * body of an OK answer goes into `answer`, which must live as long as the node; NULL: nowhere. */
void node_process_request(struct node_process *p, const struct request *r, struct buffer *answer);
/* Gives the node a frame as if it came from that peer. The node must be up. The answer goes to the
 * watch. If the peer is a node with a link, the answer goes over that link. False: the node has
 * closed the link. */
bool node_process_receive(struct node_process *p, enum peer_kind kind, uint32_t id,
                          struct slice frame);

/* A hash of the node's traces in all lives so far. */
uint64_t node_process_hash(const struct node_process *p);
