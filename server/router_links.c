/* router_links.c - the links of a router by number. */
#include "server/router_links.h"

#include "engine/message/frames.h"
#include "server/link_messages.h"

static bool router_links_request(void *context, uint32_t node, const struct request *r)
{
    struct router_links *l = context;
    return link_send_request(&l->links, l->nodes[node], &l->scratch, r);
}

static void router_links_gac(void *context, uint32_t server, struct slice frame)
{
    struct router_links *l = context;
    l->links.send(l->links.context, l->gac[server], frame);
}

struct router_port router_links_peers(struct router_links *l)
{
    return (struct router_port){
        .context = l, .request = router_links_request, .gac = router_links_gac};
}

void router_links_deinit(struct router_links *l)
{
    buffer_deinit(&l->scratch);
}

void router_links_up(struct router_links *l, const struct link_peer *to)
{
    must(to->id >= 1 && to->id <= NODES_LIMIT);
    if (to->kind == PEER_NODE) {
        l->nodes[to->id] = to->link;
        return;
    }
    l->gac[to->id] = to->link;
    router_server_gac_up(l->server, to->id);
}

void router_links_down(struct router_links *l, const struct link_peer *to, bool gone)
{
    must(to->id >= 1 && to->id <= NODES_LIMIT);
    if (to->kind == PEER_NODE) {
        l->nodes[to->id] = 0;
        router_server_node_lost(l->server, to->id);
    } else {
        l->gac[to->id] = 0;
        router_server_gac_down(l->server, to->id, gone);
    }
}

void router_links_frame(struct router_links *l, const struct link_peer *from, struct slice frame)
{
    struct reply reply;
    const char *why = NULL;
    if (from->kind != PEER_NODE) {
        if (router_server_gac_receive(l->server, from->id, frame) != STATUS_OK)
            why = "sent other data than answers to grant requests";
    } else if (reply_decode(frame, &reply) == STATUS_OK) {
        router_server_reply(l->server, from->id, &reply);
        router_server_pump(l->server);
    } else {
        why = "sent other data than a reply";
    }
    if (why != NULL)
        l->links.refuse(l->links.context, from->link, why);
}
