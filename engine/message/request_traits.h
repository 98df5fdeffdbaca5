/* request_traits.h - the properties of each kind of request that a router needs: one table. */
#ifndef WEIR_ENGINE_MESSAGE_REQUEST_TRAITS_H
#define WEIR_ENGINE_MESSAGE_REQUEST_TRAITS_H

#include "base/peer.h"
#include "engine/message/message.h"

struct request_traits {
    unsigned
        senders; /* processes that may send it to a node: bits 1 << enum peer_kind; 0: nobody */
    bool data;   /* asks for a table's data: routed by its key, admitted, paid for; else it goes
                         to the catalog, or to a node about itself */
    bool write;  /* of data: paid for as a write */
    bool any_replica; /* of data: unless it is consistent, any replica may serve it; else the leader
                         alone */
    bool once;        /* sent to one node: it is not repeated where its outcome is not known */
    bool changes;     /* something may be different afterwards: its answer must not be lost */
    bool of_node;     /* asks the node that is named about itself */
    bool names_table; /* a refusal names the table that was asked for */
};

/* By op. */
extern const struct request_traits request_traits[REQUEST_OPS];

static inline const struct request_traits *traits_of(const struct request *q)
{
    return &request_traits[q->op];
}

static inline enum admit_kind request_admit_kind(const struct request *q)
{
    return traits_of(q)->write ? ADMIT_WRITE : ADMIT_READ;
}

#endif
