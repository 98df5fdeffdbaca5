/* node_links.c - decodes frames, and checks the sender's rights. */
#include "server/node_links.h"

#include "engine/message/frames.h"
#include "server/link_messages.h"
#include "server/link_rights.h"

static void links_reply(void *context, uint64_t to, const struct reply *r)
{
    struct node_links *l = context;
    link_send_reply(&l->links, to, &l->scratch, r);
}

static void links_request(void *context, uint32_t node, const struct request *r)
{
    struct node_links *l = context;
    uint64_t link = l->links.find(l->links.context, PEER_NODE, node);
    link_send_request(&l->links, link, &l->scratch, r);
}

static void links_envelope(void *context, uint32_t node, struct slice frame)
{
    struct node_links *l = context;
    l->links.envelope(l->links.context, node, frame);
}

struct message_port node_links_messages(struct node_links *l)
{
    return (struct message_port){
        .context = l, .reply = links_reply, .request = links_request, .envelope = links_envelope};
}

void node_links_deinit(struct node_links *l)
{
    buffer_deinit(&l->scratch);
}

/* NULL: the frame was taken. Otherwise its fault. */
static const char *frame_take(struct node_server *s, const struct link_peer *from,
                              struct slice frame)
{
    enum message_kind kind;
    struct request request;
    struct reply reply;
    if (message_kind_of(frame, &kind) != STATUS_OK)
        return "sent a message of an unknown kind";
    if (kind == MESSAGE_REQUEST) {
        if (request_decode(frame, &request) != STATUS_OK)
            return "sent a malformed request";
        const char *why = link_rights_request(from, &request);
        if (why == NULL)
            node_server_request(s, from->link, &request);
        return why;
    }
    const char *why = link_rights_frame(from, kind, frame);
    if (why != NULL)
        return why;
    if (kind == MESSAGE_PEER)
        return node_server_envelope(s, frame) == STATUS_OK ? NULL : "sent a malformed envelope";
    if (reply_decode(frame, &reply) != STATUS_OK)
        return "sent a malformed reply";
    node_server_reply(s, &reply);
    return NULL;
}

void node_links_frame(struct node_links *l, struct node_server *s, const struct link_peer *from,
                      struct slice frame)
{
    const char *why = frame_take(s, from, frame);
    if (why != NULL)
        l->links.refuse(l->links.context, from->link, why);
}
