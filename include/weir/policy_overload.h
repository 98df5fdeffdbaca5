/* weir/policy_overload.h - work that has waited too long. Part of weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request that a node or a router is about to work on, or that a router is about to send. In
 * `hint` and `answered` it is none: the time, the sender (in `hint`), the settings and the state
 * are known. */
struct weir_arrival;

/* Priorities are 0 .. this - 1, the same for all requests of a partition key. 0 is the highest. */
#define WEIR_OVERLOAD_PRIORITIES 128
/* Senders are numbered 0 .. this - 1. If there are more, some share a number. */
#define WEIR_OVERLOAD_SENDERS 64

WEIR_POLICY_API int64_t weir_arrival_now_ns(const struct weir_arrival *a);
/* How long the request has waited for the processor of this node or router. */
WEIR_POLICY_API int64_t weir_arrival_wait_ns(const struct weir_arrival *a);
/* The work is within a limit: the partition's allocation has the cost; at a router, the table has a
 * limit that routers keep. Also true if the request has waited at most the target, unless the
 * policy has the flag WEIR_OVERLOAD_CLASSES. */
WEIR_POLICY_API bool weir_arrival_is_within_limit(const struct weir_arrival *a);
WEIR_POLICY_API uint32_t weir_arrival_priority(const struct weir_arrival *a);
/* At a node: the link that the request came by. At a router: 0. */
WEIR_POLICY_API uint32_t weir_arrival_sender(const struct weir_arrival *a);
/* Settings: the wait that is aimed at, the time after which a queue counts as standing, and the
 * maximum wait of work within a limit. */
WEIR_POLICY_API int64_t weir_arrival_target_ns(const struct weir_arrival *a);
WEIR_POLICY_API int64_t weir_arrival_interval_ns(const struct weir_arrival *a);
WEIR_POLICY_API int64_t weir_arrival_limit_ns(const struct weir_arrival *a);
/* In `arrive` and `hint`: the state of this node or router. In `send` and `answered`: what the
 * router keeps of the node that the request is for. */
WEIR_POLICY_API void *weir_arrival_state(const struct weir_arrival *a);

enum weir_overload_flag {
    WEIR_OVERLOAD_CLASSES = 1 /* weir_arrival_is_within_limit knows each request */
};

/* Sheds work that has waited too long. Chosen by the setting overload_policy. */
struct weir_overload_policy {
    uint32_t size;
    uint32_t state_bytes; /* of a node or router, at most WEIR_OVERLOAD_STATE_MAX */
    uint32_t peer_bytes;  /* at a router, for each node, at most WEIR_POLICY_STATE_MAX */
    uint32_t unused;
    const char *name;
    uint64_t flags; /* bits of enum weir_overload_flag */
    /* Whether the request is done. Otherwise it is refused before admission decides, and nothing is
     * charged. Required. */
    bool (*arrive)(struct weir_arrival *a);
    /* At a node: the hint that the router gets with the answer to this request. NULL: 0. */
    uint32_t (*hint)(struct weir_arrival *a);
    /* At a router: whether the request is sent to the node. Otherwise the router refuses it. NULL:
     * yes. */
    bool (*send)(struct weir_arrival *a);
    /* At a router: a request that was sent has ended. `hint`: the node's; 0: the node did not
     * answer. May be NULL. */
    void (*answered)(struct weir_arrival *a, uint32_t hint);
};

#ifdef __cplusplus
}
#endif
