/* ports.h - the interfaces that the drivers need: a clock, a log, background work, links.
 *
 * Each port is a struct of functions. The host implements the ports over io_uring, files and
 * threads (server/host/), the simulator over virtual time (sim/). A driver starts work through a
 * port. The answer is a call of a driver's function, named at the port's function.
 *
 * Answers come on the driver's thread.
 * PORT-1  an answer comes once, or never if the driver is destroyed first.
 * PORT-2  an answer comes outside of other calls to the driver; but log_port.make and
 *         log_port.append may answer before they return, if they failed.
 * `context` is the first argument of every function of its port. */
#pragma once

#include "base/buffer.h"
#include "base/instant.h"
#include "base/peer.h"

struct reply;
struct request;

struct clock_port {
    void *context;
    struct instant (*now)(void *context);
    int64_t (*wall_ms)(void *context); /* since 1970, for people */
    /* How long the message that is being delivered waits for the driver's thread, at most; 0: no
     * message is being delivered. `now` may move on by the call. */
    struct waiting (*waited)(void *context);
};

/* The segments of a node's log, numbered lsn / segment_bytes. STATUS_IO comes with errno. */
struct log_port {
    void *context;

    /* At the start, before the first record is appended. These functions return when the work is
     * done. */

    /* The lowest and the highest existing segment. False: no segment. */
    bool (*range)(void *context, uint64_t *first, uint64_t *last);
    /* The content of the segment; zeros at its end may be missing. `*out` lends until the next
     * read; `memory` is room for it. STATUS_IO. */
    enum status (*read)(void *context, uint64_t segment, struct buffer *memory, struct slice *out);
    /* Makes the segment, unless it exists. STATUS_FULL, STATUS_IO: nothing changed. */
    enum status (*prepare)(void *context, uint64_t segment);
    /* Writes zeros from `offset` to `offset + size` of the segment, durably. STATUS_IO. */
    enum status (*zero)(void *context, uint64_t segment, uint64_t offset, uint64_t size);

    /* While the node runs. */

    bool (*has)(void *context, uint64_t segment);
    /* Makes the segment; one at a time, in order. A trimmed segment may be reused with its old
     * content. `written`: zeros are written to a new segment, so that appends do not allocate
     * blocks. Answer: node_server_segment_made. */
    void (*make)(void *context, uint64_t segment, bool written);
    /* Writes the bytes durably, inside one existing segment. The bytes last until the answer:
     * node_server_log_written. */
    void (*append)(void *context, uint64_t lsn, struct slice bytes);
    /* Segments below this one are not needed any more. */
    void (*trim)(void *context, uint64_t segment);
};

enum work_kind {
    WORK_CHECKPOINT, /* writes much: one at a time */
    WORK_READ,       /* pages in data from disk */
    WORK_PARSE,      /* of a router: a large text */
};

/* Runs `job` where it may block, in parallel to everything else, and answers with `done`. */
struct work_port {
    void *context;
    void (*submit)(void *context, enum work_kind kind, void (*job)(void *argument),
                   void (*done)(void *argument), void *argument);
};

/* Sends the messages of a node. They lend for the call. The node is in the middle of its effects
 * then: the port must not call the same node. */
struct message_port {
    void *context;
    void (*reply)(void *context, uint64_t to, const struct reply *r);
    void (*request)(void *context, uint32_t node, const struct request *r);
    /* An envelope for another node; it may be lost, duplicated or late. */
    void (*envelope)(void *context, uint32_t node, struct slice frame);
};

/* Sends a router's messages to nodes and GAC servers. They lend for the call. */
struct router_port {
    void *context;
    /* False: the request is not sent. A node of the same process may answer inside the call. */
    bool (*request)(void *context, uint32_t node, const struct request *r);
    /* A frame of the router; dropped if it cannot be sent. */
    void (*gac)(void *context, uint32_t server, struct slice frame);
};

/* Connections of a router's clients. Calls about a closed connection do nothing. */
struct client_port {
    void *context;
    /* Copies. Returns the bytes that the client has not taken. While there are such bytes, every
     * change is reported by router_server_unsent. */
    size_t (*send)(void *context, uint64_t connection, struct slice bytes);
    /* Closes after all output has left; abort closes at once. */
    void (*close)(void *context, uint64_t connection);
    void (*abort)(void *context, uint64_t connection);
};

/* Links to other processes, which carry frames. */
struct link_port {
    void *context;
    /* Copies. False, and nothing is sent: the link is down. */
    bool (*send)(void *context, uint64_t link, struct slice frame);
    /* The link that this process keeps up to that process; 0: it is down. */
    uint64_t (*find)(void *context, enum peer_kind kind, uint32_t id);
    /* An envelope of consensus; it may be lost, duplicated or late. NULL: not a node. */
    void (*envelope)(void *context, uint32_t node, struct slice frame);
    /* Closes the link: the other end sent something forbidden. `why` says what. */
    void (*refuse)(void *context, uint64_t link, const char *why);
};
