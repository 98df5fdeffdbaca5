/* network.h - links and datagrams between simulated processes, and their faults.
 *
 * A link is like a TCP connection: bytes arrive in order, each piece at most once. While the way is
 * cut, bytes wait. When the link goes down, waiting bytes are lost, but for those that a slow way
 * has (network_delay), and both ends are told. A
 * datagram may be lost, duplicated, late or overtaken, as the present faults say.
 *
 * Invariants
 *   NET-1  No bytes and no datagrams arrive at a dead or paused process, or over a cut way. A reset
 *          (network_reset) does not wait for the way or the process.
 *   NET-2  After `closed`, or after it closed itself, an end hears nothing more of its link.
 *   NET-3  A handle is never used twice. */
#pragma once

#include "base/buffer.h"
#include "base/prng.h"
#include "base/trace.h"
#include "sim/world/scheduler.h"

enum {
    /* If so many bytes wait for a way, its next datagrams are lost. In the same way
     * host/transport loses envelopes (LINK_UNSENT_MAX); the simulator's messages are smaller. */
    NETWORK_DATAGRAMS_MAX = 4 * 1024 * 1024
};

enum network_trace {
    NETWORK_TRACE_LINK = 1,      /* bytes over a link: from << 16 | to, their hash */
    NETWORK_TRACE_DATAGRAM = 2,  /* the same */
    NETWORK_TRACE_LOST = 3,      /* a datagram: from << 16 | to, size */
    NETWORK_TRACE_LINK_DOWN = 4, /* at one end: process << 16 | other, - */
};

struct network_delays {
    int64_t ns_min;
    int64_t spread_ns;         /* uniform, above the least */
    int64_t tail_ns;           /* sometimes 0 .. this is added */
    uint32_t tail_per_million; /* how often */
};

/* Limits of ways and processes. 0: no limit. */
struct network_speed {
    int64_t way_bytes_ms; /* from one process to another, links and datagrams together */
    int64_t event_ns;     /* a process is busy with each arrival for 0 .. this */
};

struct network_faults {
    uint32_t drop_per_million; /* datagrams */
    uint32_t duplicate_per_million;
    bool reorder; /* datagrams overtake each other */
};

/* Called from inside scheduler_step. Each end of a link has its own handle. */
struct network_handler {
    void (*accepted)(void *context, uint64_t link, uint32_t from);
    void (*received)(void *context, uint64_t link, struct slice bytes); /* lends for the call */
    /* `gone`: the other end has closed or died. Otherwise the other end cannot be reached. */
    void (*closed)(void *context, uint64_t link, bool gone);
    void (*datagram)(void *context, uint32_t from, struct slice frame); /* lends for the call */
};

/* For processes that serve streams of bytes. NULL: not called. */
struct network_stream_handler {
    /* The other end sends nothing more, but still reads. */
    void (*ended)(void *context, uint64_t link);
    /* Bytes have left. This many bytes that were sent over the link still wait. */
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
/* Call it before the scheduler is freed. No event may run afterwards. */
void network_destroy(struct network *n);

void network_set_faults(struct network *n, const struct network_faults *faults);

/* ---- processes ---- */

void network_attach(struct network *n, uint32_t process, const struct network_handler *handler,
                    void *context);
void network_attach_streams(struct network *n, uint32_t process,
                            const struct network_stream_handler *handler);
/* From now on the delays' tail is at most `tail_ns`, and no way, process or reader is slow. */
void network_calm(struct network *n, int64_t tail_ns);
/* The process takes at most this many bytes in a millisecond, as a client that reads slowly. */
void network_read_slowly(struct network *n, uint32_t process, int64_t bytes_ms);
/* The process needs `ns` for each message over links from the process `from` and from later ones:
 * so much later it arrives, after those that came before. network_waited tells how long it has
 * waited for them. */
void network_set_cost(struct network *n, uint32_t process, uint32_t from, int64_t ns);
/* A message cost `ns` less than network_set_cost said: later messages arrive sooner. */
void network_cost_back(struct network *n, uint32_t process, int64_t ns);
/* For a handler: how long the process is busy with what has just arrived. */
struct duration network_busy(const struct network *n, uint32_t process);

/* For a handler: how long the bytes that are being handled have waited for the process since they
 * came; 0: none are being handled. */
struct duration network_waited(const struct network *n, uint32_t process);

/* A process is dead until network_start. network_kill takes its links down. */
void network_start(struct network *n, uint32_t process);
void network_kill(struct network *n, uint32_t process);
bool network_is_alive(const struct network *n, uint32_t process);
/* What arrives during a pause waits. */
void network_pause(struct network *n, uint32_t process, bool paused);
/* Ends a pause. What waits in links arrives now, then the held datagrams. After network_pause the
 * held datagrams arrive first. */
void network_resume_links_first(struct network *n, uint32_t process);

/* ---- ways ---- */

/* Cuts are counted: a way is open once each cut has been healed. */
void network_cut(struct network *n, uint32_t from, uint32_t to);
void network_heal(struct network *n, uint32_t from, uint32_t to);
bool network_is_cut(const struct network *n, uint32_t from, uint32_t to);
/* What is sent over links on this way arrives `ns` later, until this is called again: also if the
 * link goes down meanwhile. As with TCP, when bytes wait in a buffer on the way. */
void network_delay(struct network *n, uint32_t from, uint32_t to, int64_t ns);
/* Takes the links between the two processes down, as a time-out would. */
void network_reset(struct network *n, uint32_t a, uint32_t b);

/* ---- links ---- */

/* Returns 0 if `to` is dead or cannot be reached. */
uint64_t network_connect(struct network *n, uint32_t from, uint32_t to);
/* The process at the other end; 0: the link is down. */
uint32_t network_peer(struct network *n, uint64_t link);
/* False: the link is down. */
bool network_send(struct network *n, uint64_t link, struct slice bytes);
/* Sends at this time, if the link is up then: a process that needs time for an answer. Messages
 * that are sent before then go first. False: the link is down. */
bool network_send_at(struct network *n, uint64_t link, struct slice bytes, struct instant at);
/* Sends bytes of a stream. On a slow way they arrive in pieces. Returns how many bytes wait: 0 if
 * the way is not slow, or the link is down. */
size_t network_write(struct network *n, uint64_t link, struct slice bytes);
/* This end sends nothing more. The other end's `ended` is told. */
void network_end(struct network *n, uint64_t link);
/* Closes this end. The other end gets what was sent, then `closed`. */
void network_close(struct network *n, uint64_t link);

/* ---- datagrams ---- */

void network_datagram(struct network *n, uint32_t from, uint32_t to, struct slice frame);
