/* server.h - a server of global admission control: grant requests in, answers out. Nothing is kept
 * on disk: a server that ends loses its banks and nothing else.
 *
 * A router is known from its first frame until its link is closed, or until it has been
 * unresponsive for gac_router_timeout_ms. Meanwhile the server leaves the router its even part of
 * every rate, because the router may use that part by itself or get it from another server. Every
 * frame names the servers that the router takes to be alive, and so which of the two it does.
 *
 * Invariants: LEDGER-4 (ledger.h), and
 *   LEDGER-5  a server knows about a table what routers tell it, and forgets it.
 * Bounds: ledgers, routers (options). Not here: sockets (host), when to ask (client.h). */
#pragma once

#include "gac/grant_policy.h"

struct gac_server;

struct gac_server_options {
    const struct config *config; /* borrows */
    uint32_t number;             /* of this server, 1 .. servers */
    uint32_t servers;
    uint64_t incarnation; /* random, not 0 */
};

struct gac_server *gac_server_create(const struct gac_server_options *options);
void gac_server_destroy(struct gac_server *s);

struct gac_origin {
    uint64_t link;
    uint32_t number; /* of the router in its cluster; 0: not known */
};

/* A frame of a router arrived over its link: appends the answer to `out`. A router with the number
 * of another one is that router after a restart: the former one has ended, although its link was
 * not closed, and its frames that come late have no answer. STATUS_MALFORMED: the frame changed
 * nothing, and the link must be closed; `error` tells why. */
enum status gac_server_receive(struct gac_server *s, struct instant now, struct gac_origin from,
                               struct slice frame, struct buffer *out, struct buffer *error);

/* The other end closed the link: the router is gone, and its tokens with it. */
void gac_server_link_closed(struct gac_server *s, uint64_t link);

/* A ledger at one moment. */
struct gac_bank {
    int64_t rate; /* of the whole limit, mcu a second */
    int64_t bank; /* unspent at the server; below zero: it owes */
    int64_t held; /* granted to live routers, and not reported as spent */
};

/* Changes nothing: after a read the server goes on as if nobody had read. The part of the rate of
 * routers that have just timed out may still count. False: the server has no such ledger. */
bool gac_server_inspect(const struct gac_server *s, struct instant now, struct gac_key key,
                        struct gac_bank *out);
