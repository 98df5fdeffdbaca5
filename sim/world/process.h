/* process.h - what every process of the simulated world has: a number, lives, a clock, pauses.
 *
 * Nodes, routers and GAC servers share this part (sim/world/node_process.h, router_process.h,
 * gac_process.h). Each start of a process begins a life. An event that was scheduled in one life
 * does nothing in the next. An event that falls into a pause happens at the end of the pause. */
#pragma once

#include "base/prng.h"
#include "server/ports.h"
#include "sim/world/clock.h"
#include "sim/world/network.h"

struct reply;

enum {
    REDIAL_MS_MIN = 20,
    REDIAL_MS_MAX = 500
};

/* What the world tells about its processes. A function that is NULL is not called. */
struct process_watch {
    /* An event of a node's trace (enum node_trace). */
    void (*saw)(void *context, uint32_t node, const struct trace_event *e);
    /* A frame has reached a node. */
    void (*received)(void *context, uint32_t node, struct slice frame);
    /* The answer to node_process_receive. */
    void (*answered)(void *context, uint32_t node, const struct reply *r);
    /* A process has closed a link, because of what came over it. */
    void (*refused)(void *context, uint32_t process, const char *why);
    /* The timers of a process are always due: on a host it would use a whole processor. */
    void (*spins)(void *context, uint32_t process);
    void *context;
};

/* What all processes of a world share. */
struct surroundings {
    struct scheduler *scheduler; /* borrows */
    struct network *network;     /* borrows */
    struct trace *trace;         /* borrows */
    struct process_watch watch;
};

struct process {
    const struct surroundings *around; /* borrows */
    uint32_t number;
    bool is_up;
    uint32_t life;
    bool paused;
    bool links_first; /* at the end of the pause what waits in links comes before its timers */
    struct instant paused_until;
    /* Called at the end of a pause. NULL: the network goes on instead. */
    void (*resumed)(struct process *p);
    int64_t wake_at_ns; /* of the next alarm; INT64_MAX: none */
    uint32_t due;       /* so many times in a row the next alarm was due at once */
    /* The time of process_alarm_set has come. */
    void (*woken)(struct process *p);
    bool redial_scheduled;
    /* The time of process_redial_in has come. */
    void (*redial)(struct process *p);
    struct sim_clock clock;
    int64_t wall_skew_ms; /* how far its wall clock is ahead */
    int64_t wall_less_ms; /* so much less than it once was ahead */
};

/* The clock starts at a random reading. `handler` gets `context`. */
void process_init(struct process *p, const struct surroundings *around, uint32_t number,
                  struct prng *prng, const struct network_handler *handler, void *context);

/* What the clock of the process reads. */
static inline struct instant process_now(const struct process *p)
{
    return sim_clock_read(&p->clock, p->around->scheduler->now);
}
/* The clocks, for a driver. */
struct clock_port process_clock(struct process *p);

/* A life begins, and the network reaches the process. `kind` and `value` go to the trace. */
void process_begin(struct process *p, uint32_t kind, int64_t value);
/* The life ends: links go down. */
void process_end(struct process *p, uint32_t kind, int64_t value);

void process_note(const struct process *p, uint32_t kind, int64_t value);

/* Whether the event `run`, of that life, happens now. False: the event is for an earlier life, or
 * has been put off to the end of a pause. */
bool process_reached(struct process *p, uint64_t life, scheduler_run *run, void *context,
                     uint64_t argument);
/* Sets the alarm to `at` on the process's clock, unless it goes off earlier. At least a microsecond
 * passes, so that a timer that is always due does not stop time. */
void process_alarm_set(struct process *p, struct instant at);

/* Dials again after this time. Ignored while that is scheduled already. */
void process_redial_in(struct process *p, struct duration pause);

/* The process does nothing until then, while its clock goes on. False: the process is paused
 * already, and nothing changes. */
bool process_pause(struct process *p, struct instant until);

/* Handlers for a process that takes every link, and for a process that takes no datagrams. */
void process_link_accept(void *context, uint64_t link, uint32_t from);
void process_datagram_refuse(void *context, uint32_t from, struct slice frame);
/* Sends a frame: for a driver whose context begins with the process. */
bool process_link_send(void *context, uint64_t link, struct slice frame);
/* Closes a link because of what came over it. */
void process_refuse(struct process *p, uint64_t link, const char *why);
