#include "server/link_rights.h"

#include "engine/catalog/catalog.h"
#include "engine/message/request_traits.h"

enum {
    NODE = 1 << PEER_NODE,
    ROUTER = 1 << PEER_ROUTER,
    TOOL = 1 << PEER_TOOL
};

unsigned link_rights_accepted(enum peer_kind kind)
{
    return kind == PEER_NODE ? NODE | ROUTER | TOOL : kind == PEER_GAC ? ROUTER : 0;
}

/* Whether a report or an envelope names its sender. The node's number is behind `skip` bytes. */
static bool names_itself(const struct link_peer *from, struct slice bytes, size_t skip)
{
    struct reader r = {bytes, false};
    reader_take(&r, skip);
    return reader_u32(&r) == from->id && !r.failed;
}

/* Routers drain nodes, give up shards of keys, and tell of the rate limiter's buckets. All else is
 * the controller's. */
static bool is_routers(const struct request *q)
{
    struct decision d;
    if (q->decide.op == CATALOG_DRAIN)
        return true;
    if (decision_decode(q->decide.decision, &d) != STATUS_OK)
        return false;
    return (q->decide.op == CATALOG_KEY_SHARDS && d.key_shards.change == KEY_SHARDS_SHRINK) ||
           (q->decide.op == CATALOG_EVENT &&
            (d.event.kind == EVENT_BUCKET_GROWN || d.event.kind == EVENT_BUCKET_MERGED));
}

/* Who sends a write of this origin with this operation. Nobody: a node asks only itself so. */
static bool may_write(const struct link_peer *from, const struct request *q)
{
    static const struct {
        enum peer_kind kind;
        uint32_t ops; /* as bits */
    } SENDERS[WRITE_ORIGINS] = {
        [WRITE_BY_CLIENT] = {PEER_ROUTER,
                             1U << REQUEST_PUT | 1U << REQUEST_DELETE | 1U << REQUEST_UPDATE},
        [WRITE_BY_FEED] = {PEER_NODE, 1U << REQUEST_PUT | 1U << REQUEST_DELETE},
        [WRITE_BY_MOVE] = {PEER_NODE, 1U << REQUEST_PUT | 1U << REQUEST_UPDATE},
    };
    if (q->op != REQUEST_PUT && q->op != REQUEST_DELETE && q->op != REQUEST_UPDATE)
        return true;
    const uint8_t origin = q->write.origin;
    return origin < WRITE_ORIGINS && from->kind == SENDERS[origin].kind &&
           (SENDERS[origin].ops & 1U << q->op) != 0;
}

const char *link_rights_request(const struct link_peer *from, const struct request *q)
{
    if ((request_traits[q->op].senders & 1U << from->kind) == 0)
        return "sent a request that its role may not send";
    if (q->op == REQUEST_TABLE_REPORT && !names_itself(from, q->report.records, 0))
        return "sent a report in another node's name";
    if (!may_write(from, q))
        return "sent a write of another node";
    if (q->op == REQUEST_DECIDE && !is_routers(q))
        return "sent a decision, and is not the controller";
    return NULL;
}

const char *link_rights_frame(const struct link_peer *from, enum message_kind kind,
                              struct slice frame)
{
    if (from->kind != PEER_NODE)
        return kind == MESSAGE_PEER ? "sent a message of consensus, and is not a node"
                                    : "sent a reply, and is not a node";
    if (kind == MESSAGE_PEER && !names_itself(from, frame, 1))
        return "sent an envelope in another node's name";
    return NULL;
}
