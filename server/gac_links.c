/* gac_links.c - passes grant requests to the server, and answers to the link. */
#include "server/gac_links.h"

void gac_links_deinit(struct gac_links *l)
{
    buffer_deinit(&l->answer);
}

void gac_links_frame(struct gac_links *l, const struct link_peer *from, struct slice frame)
{
    struct buffer error = {0}, why = {0};
    buffer_clear(&l->answer);
    if (gac_server_receive(l->server, l->clock.now(l->clock.context),
                           (struct gac_origin){from->link, from->id}, frame, &l->answer,
                           &error) == STATUS_OK) {
        if (l->answer.size > 0)
            l->links.send(l->links.context, from->link, buffer_slice(&l->answer));
    } else {
        buffer_append_format(&why, "sent %.*s", (int)error.size, (const char *)error.data);
        buffer_append_u8(&why, 0);
        l->links.refuse(l->links.context, from->link, (const char *)why.data);
    }
    buffer_deinit(&why);
    buffer_deinit(&error);
}

void gac_links_down(struct gac_links *l, uint64_t link, bool gone)
{
    if (gone)
        gac_server_link_closed(l->server, link);
}
