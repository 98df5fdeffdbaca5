/* gac_links.h - a server of global admission control (gac/server.h) behind links. It answers each
 * frame over the link of that frame. */
#pragma once

#include "gac/server.h"
#include "server/ports.h"

struct gac_links {
    struct gac_server *server; /* borrows */
    struct clock_port clock;
    struct link_port links;
    struct buffer answer; /* owns */
};

void gac_links_deinit(struct gac_links *l);

/* A frame came over a link. A forbidden frame closes its link. */
void gac_links_frame(struct gac_links *l, const struct link_peer *from, struct slice frame);
/* `gone`: the other end closed the link. Otherwise the router may be active and spend its tokens:
 * its part is left to it for a while. */
void gac_links_down(struct gac_links *l, uint64_t link, bool gone);
