/* server.h - a server of global admission control: asks in, answers out. Nothing is kept on disk,
 * and nothing is lost with it but banks.
 *
 * A router is known from its first sign of life until its link is closed, or it has been silent for
 * long: until then its even part of every rate is left to it, because it may be using that by
 * itself, or have it from another server. Which of the two a router does follows from its view of
 * who is alive: every frame tells it.
 *
 * Invariants: LEDGER-4 (ledger.h).  LEDGER-5  a server knows about a table what routers tell it,
 * and forgets it. Bounds: ledgers, routers (options). Not here: sockets (host), when to ask
 * (client.h). */
#ifndef WEIR_GAC_SERVER_H
#define WEIR_GAC_SERVER_H

#include "base/config.h"
#include "gac/vend.h"

struct gac_server;

struct gac_server_options {
    const struct config *config; /* borrows */
    uint32_t number;             /* of this server, 1 .. servers */
    uint32_t servers;
    uint64_t incarnation; /* random, not 0 */
};

struct gac_server *gac_server_create(const struct gac_server_options *options);
void gac_server_destroy(struct gac_server *s);

/* A frame of a router's, over its link; appends the frame that answers it to `out`.
 * STATUS_MALFORMED: nothing was taken over, and the link is to be closed; `error` tells why. */
enum status gac_server_receive(struct gac_server *s, struct instant now, uint64_t link,
                               struct slice frame, struct buffer *out, struct buffer *error);

/* The other end closed the link: that router is gone, with what it held. */
void gac_server_link_closed(struct gac_server *s, uint64_t link);

/* What it vends, for a person: one line of JSON a ledger. */
void gac_server_report(struct gac_server *s, struct instant now, struct buffer *out);

#endif
