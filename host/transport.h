/* transport.h - messages between the processes of a cluster, over the loop's connections.
 *
 * A link is one connection on which both sides have shown who they are, and that they belong to the
 * same cluster (greeting.h). A process accepts links. It also keeps up links to the peers it was
 * given, and reconnects with growing pauses.
 * A process accepts one link per peer process. A second link is refused while the first has carried
 * bytes within LINK_RECENT_MS. Otherwise the first link is closed.
 * Links carry frames both ways, in order, each at most once. Frames in flight are lost when a link
 * goes down.
 * `down` reports the loss, and whether the other end closed the link: that process closed it or
 * died. This end closes links to dead machines and cut cables after a timeout. A refused connect is
 * no further evidence: the peer's link is down already, and a firewall refuses too.
 *
 * Bounds: FRAME_SIZE_MAX bytes a frame, LINK_UNSENT_MAX bytes waiting on a link, LINKS_MAX accepted
 * links, GREETING_FRAME_MAX bytes a frame of the greeting. A link is closed with a note if it
 * breaks a bound, if its greeting takes too long, or if a frame's checksum does not match.
 * Not here: the meaning of frames (engine/message), retries, who talks to whom. */
#pragma once

#include "base/limits.h"
#include "host/greeting.h"
#include "host/link_faults.h"
#include "host/loop.h"

enum {
    LINKS_MAX = 4096,
    LINK_UNSENT_MAX = 4 * FRAME_SIZE_MAX,
    GREETING_WAIT_MS = 5000, /* for the whole greeting */
    LINK_RECENT_MS = 5000,
    CONNECT_WAIT_MS = 5000,
    RECONNECT_MS_MIN = 20,
    RECONNECT_MS_MAX = 1000,
};

struct transport;

/* `link` names a connection from `up` to `down` and is never reused, nor 0. All are called inside
 * loop_turn; any may be NULL except `frame`. */
struct transport_handler {
    void (*up)(void *context, uint64_t link, enum peer_kind kind, uint32_t id);
    /* Lends both for the call. */
    void (*frame)(void *context, const struct link_peer *from, struct slice bytes);
    void (*down)(void *context, uint64_t link, enum peer_kind kind, uint32_t id, bool by_peer);
    /* One line for people, without a newline: why a link was refused or lost. Lends for the call.
     * Repeated failures to reach one peer are reported once. */
    void (*note)(void *context, const char *text);
};

struct transport_options {
    struct loop *loop;                       /* borrows */
    struct greeting_self self;               /* copied; its slices are borrowed */
    uint64_t seed;                           /* spreads the reconnects of many processes */
    const struct transport_handler *handler; /* copied */
    void *context;
};

struct transport *transport_create(const struct transport_options *options);
/* Before loop_destroy; closes all links without callbacks. */
void transport_destroy(struct transport *t);

/* Accept links. STATUS_IO with errno (host/address.h turns it into a text). */
enum status transport_listen(struct transport *t, const char *address, uint16_t port);
uint16_t transport_port(const struct transport *t);

/* Keeps a link to that peer up from now on. If the process at that address is not {kind, id}, it is
 * refused with a note. */
void transport_add_peer(struct transport *t, enum peer_kind kind, uint32_t id, const char *address,
                        uint16_t port);

/* The link to a peer given by transport_add_peer; 0 while it is down. */
uint64_t transport_link(const struct transport *t, enum peer_kind kind, uint32_t id);

/* Sends a copy of 1 .. FRAME_SIZE_MAX bytes. False, and nothing is sent: the link is down, or too
 * many bytes waited on it and it is closed now. */
bool transport_send(struct transport *t, uint64_t link, struct slice frame);
/* Bytes that wait on the link: the measure for back-pressure. */
size_t transport_unsent(struct transport *t, uint64_t link);
/* `down` follows. */
void transport_close(struct transport *t, uint64_t link);
/* transport_close with a note: the other end sent something forbidden. `why` says what. */
void transport_refuse(struct transport *t, uint64_t link, const char *why);

/* The time of transport_tick's next work: pass it to loop_turn, and call transport_tick after every
 * turn. */
struct instant transport_deadline(const struct transport *t);
void transport_tick(struct transport *t);

/* ---- faults: for tests and for the fault-injection switch ---- */

/* The rules of this process's links; change them through link_faults_rule. The first call creates
 * them; until then they cost nothing. No link can be made through a cut in either direction. */
struct link_faults *transport_faults(struct transport *t);
/* Removes all rules. Links that could not be made are tried again at once. */
void transport_heal(struct transport *t);
