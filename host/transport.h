/* transport.h - messages between the processes of a cluster, over the loop's connections.
 *
 * A link is one connection on which both sides have shown who they are, and that they belong to the
 * same cluster (greeting.h). One process has one link: while a link of the same kind and number was
 * heard of within LINK_HEARD_MS, a second one is refused; a link that is silent gives way. A
 * process accepts links and keeps up links to the peers it was given, reconnecting with growing
 * pauses. Links carry frames both ways, in order, each at most once; what was on its way when a
 * link went down is lost, and `down` says so, and whether the other end closed it: its process did
 * so, or has died. What a dead machine or a cut cable leaves behind is closed by this end, sooner
 * or later. A connect that is refused tells nothing more: the peer's link is down already, and a
 * firewall in the way refuses too.
 *
 * Bounds: FRAME_SIZE_MAX bytes a frame, LINK_UNSENT_MAX bytes waiting on a link, LINKS_MAX accepted
 * links, GREETING_FRAME_MAX bytes a frame of the greeting; a link that breaks one, or whose
 * greeting takes too long, or that carries a frame whose checksum does not match, is closed with a
 * note. Not here: what frames mean (engine/message), retries, who talks to whom. */
#ifndef WEIR_HOST_TRANSPORT_H
#define WEIR_HOST_TRANSPORT_H

#include "base/limits.h"
#include "host/greeting.h"
#include "host/link_faults.h"
#include "host/loop.h"

enum {
    LINKS_MAX = 4096,
    LINK_UNSENT_MAX = 4 * FRAME_SIZE_MAX,
    GREETING_WAIT_MS = 5000, /* for all of the greeting */
    LINK_HEARD_MS = 5000,
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
     * Repeated failures to reach the same peer are told once. */
    void (*note)(void *context, const char *text);
};

struct transport_options {
    struct loop *loop;                       /* borrows */
    struct greeting_self self;               /* copied; what its slices borrow is borrowed */
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

/* Keep a link to that peer up from now on; another process than {kind, id} at that address is
 * refused with a note. */
void transport_add_peer(struct transport *t, enum peer_kind kind, uint32_t id, const char *address,
                        uint16_t port);

/* The link to a peer given by transport_add_peer; 0 while it is down. */
uint64_t transport_link(const struct transport *t, enum peer_kind kind, uint32_t id);

/* Copies. False, and nothing is sent: the link is down, or it is closed now because too much waits
 * on it. 1 .. FRAME_SIZE_MAX bytes. */
bool transport_send(struct transport *t, uint64_t link, struct slice frame);
/* Bytes that wait on it: the measure for back-pressure. */
size_t transport_unsent(struct transport *t, uint64_t link);
/* `down` follows. */
void transport_close(struct transport *t, uint64_t link);
/* The same, with a note: the other end has sent what it may not send, and `why` says what. */
void transport_refuse(struct transport *t, uint64_t link, const char *why);
/* Frames whose checksum did not match, since the start: each closed its link. */
uint64_t transport_corrupt_frames(const struct transport *t);

/* When transport_tick has something to do: give it to loop_turn, and tick after every turn. */
struct instant transport_deadline(const struct transport *t);
void transport_tick(struct transport *t);

/* ---- faults: for tests and for the fault-injection switch ---- */

/* The rules of this process's links, made at the first call (and costing nothing before it): change
 * them through link_faults_rule. A link cannot be made through a cut, one way or both. */
struct link_faults *transport_faults(struct transport *t);
/* No rules any more; links that could not be made are tried again at once. */
void transport_heal(struct transport *t);

#endif
