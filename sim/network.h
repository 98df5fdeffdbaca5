/* network.h - links and datagrams between simulated processes, and their faults.
 *
 * A link is like a TCP connection: bytes arrive in order, each piece at most once. While the way is
 * cut, bytes wait. When the link goes down, they are lost, and both ends are told. A datagram may be
 * lost, doubled, late or overtaken, as the faults in force say.
 *
 * Invariants
 *   NET-1  Nothing arrives at a process that is dead or paused, or over a way that is cut.
 *   NET-2  An end that was told `closed`, or closed itself, hears nothing more of that link.
 *   NET-3  A handle is never used twice. */
#ifndef WEIR_SIM_NETWORK_H
#define WEIR_SIM_NETWORK_H

#include "base/buffer.h"
#include "base/prng.h"
#include "base/trace.h"
#include "sim/scheduler.h"

enum network_trace {
    NETWORK_TRACE_LINK = 1,      /* bytes over a link: from << 16 | to, their hash */
    NETWORK_TRACE_DATAGRAM = 2,  /* the same */
    NETWORK_TRACE_LOST = 3,      /* a datagram: from << 16 | to, its size */
    NETWORK_TRACE_LINK_DOWN = 4, /* at its end: process << 16 | other, - */
};

struct network_delays {
    int64_t least_ns;
    int64_t spread_ns;         /* uniform, above the least */
    int64_t tail_ns;           /* now and then, above both .. */
    uint32_t tail_per_million; /* .. this often */
};

/* What ways and processes cannot do at once. 0: no limit. */
struct network_speed {
    int64_t way_bytes_ms; /* from one process to another, links and datagrams together */
    int64_t event_ns;     /* a process is busy with what arrives for 0 .. this */
};

struct network_faults {
    uint32_t drop_per_million; /* datagrams */
    uint32_t duplicate_per_million;
    bool reorder; /* datagrams overtake each other */
};

/* Called from inside scheduler_step. Handles are the end's own. */
struct network_handler {
    void (*accepted)(void *context, uint64_t link, uint32_t from);
    void (*received)(void *context, uint64_t link, struct slice bytes); /* lends for the call */
    /* `gone`: the other end closed it, or died; otherwise it cannot be reached. */
    void (*closed)(void *context, uint64_t link, bool gone);
    void (*datagram)(void *context, uint32_t from, struct slice frame); /* lends for the call */
};

/* For processes that serve streams of bytes. */
struct network_stream_handler {
    /* The other end sends nothing more, and still reads. */
    void (*ended)(void *context, uint64_t link);
    /* Of what network_write could not pass on, so many bytes wait still. */
    void (*waiting)(void *context, uint64_t link, size_t bytes);
};

struct network;

struct network_options {
    struct scheduler *scheduler; /* borrows */
    struct trace *trace;         /* borrows */
    uint32_t processes;          /* numbered 1 .. processes */
    struct network_delays delays;
    struct network_speed speed;
    uint64_t seed;
};

struct network *network_create(const struct network_options *options);
/* Before its scheduler, which runs no event any more. */
void network_destroy(struct network *n);

void network_set_faults(struct network *n, const struct network_faults *faults);

/* ---- processes ---- */

void network_attach(struct network *n, uint32_t process, const struct network_handler *handler,
                    void *context);
void network_attach_streams(struct network *n, uint32_t process,
                            const struct network_stream_handler *handler);
/* From now on no message takes longer than the others by more than this, and nothing is slow. */
void network_calm(struct network *n, int64_t tail_ns);
/* It takes no more than so many bytes in a millisecond, as a client that reads slowly. */
void network_read_slowly(struct network *n, uint32_t process, int64_t bytes_ms);
/* Inside a handler: how long the process is busy with what has just arrived. */
struct duration network_busy(const struct network *n, uint32_t process);

/* A process is dead until it is started. When it dies its links go down. */
void network_start(struct network *n, uint32_t process);
void network_kill(struct network *n, uint32_t process);
bool network_is_alive(const struct network *n, uint32_t process);
/* What arrives meanwhile waits. */
void network_pause(struct network *n, uint32_t process, bool paused);
/* The end of a pause: what links hold arrives before the datagrams that were held, not after. */
void network_resume_links_first(struct network *n, uint32_t process);

/* ---- ways ---- */

/* Counted: a way is open once every cut has been healed. */
void network_cut(struct network *n, uint32_t from, uint32_t to);
void network_heal(struct network *n, uint32_t from, uint32_t to);
bool network_is_cut(const struct network *n, uint32_t from, uint32_t to);
/* Links between the two go down by themselves, as after a time-out. */
void network_reset(struct network *n, uint32_t a, uint32_t b);

/* ---- links ---- */

/* 0: refused: it is dead, or cannot be reached. */
uint64_t network_connect(struct network *n, uint32_t from, uint32_t to);
/* The process at the other end; 0: the link is down. */
uint32_t network_peer(struct network *n, uint64_t link);
/* False: the link is down. */
bool network_send(struct network *n, uint64_t link, struct slice bytes);
/* The same, of a stream: where the way is slow the bytes arrive in pieces. Returns how many bytes
 * wait, 0 where nothing is slow. */
size_t network_write(struct network *n, uint64_t link, struct slice bytes);
/* Nothing more is sent; the other end's `ended` is told. */
void network_end(struct network *n, uint64_t link);
/* After what was sent. The other end is told. */
void network_close(struct network *n, uint64_t link);

/* ---- datagrams ---- */

void network_datagram(struct network *n, uint32_t from, uint32_t to, struct slice frame);

#endif
