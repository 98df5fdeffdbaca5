/* link_transport.c - sends envelopes over the same links as all other frames. */
#include "server/host/link_transport.h"

static bool transport_links_send(void *context, uint64_t link, struct slice frame)
{
    return transport_send(context, link, frame);
}

static uint64_t transport_links_find(void *context, enum peer_kind kind, uint32_t id)
{
    return transport_link(context, kind, id);
}

static void transport_links_envelope(void *context, uint32_t node, struct slice frame)
{
    uint64_t link = transport_link(context, PEER_NODE, node);
    if (link != 0)
        transport_send(context, link, frame);
}

static void transport_links_refuse(void *context, uint64_t link, const char *why)
{
    transport_refuse(context, link, why);
}

struct link_port transport_links(struct transport *t)
{
    return (struct link_port){.context = t,
                              .send = transport_links_send,
                              .find = transport_links_find,
                              .envelope = transport_links_envelope,
                              .refuse = transport_links_refuse};
}
