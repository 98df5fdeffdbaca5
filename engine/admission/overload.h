/* overload.h - requests that waited too long for the processor are refused before they cost more.
 *
 * A node or a router has one struct overload. Its driver says how long each request has waited
 * (server/ports.h). A policy decides which requests are refused (include/weir/policy.h); weir's own
 * is policy_delay.c. A refused request costs no tokens, and its refusal is cheap.
 * A router also keeps a struct overload_peer for each node: what the node's answers told, for
 * policies that hold requests back before they reach a busy node.
 *
 * Only requests of clients for items are judged. Messages between nodes, and requests that change
 * tables or partitions, are always done: the cluster needs them to get out of overload.
 *
 * Promises: O(1), no allocation, no clock: time is an argument. Same calls, same answers. */
#pragma once

#include "base/instant.h"
#include "include/weir/policy_base.h"

struct config;
struct policies;
struct weir_overload_policy;

struct overload {
    const struct weir_overload_policy *policy;
    struct policies *policies; /* borrows; may be NULL */
    int64_t target_ns; /* a request that waited at most so long is within a limit; -1: by limits
                          alone */
    int64_t aim_ns;    /* the wait that is aimed at */
    int64_t interval_ns;
    int64_t limit_ns;
    _Alignas(int64_t) uint8_t state[WEIR_OVERLOAD_STATE_MAX];
};

struct overload_peer {
    _Alignas(int64_t) uint8_t state[WEIR_POLICY_STATE_MAX];
};

enum {
    OVERLOAD_TABLES = 256 /* that a router remembers */
};

/* Whose requests nodes lately did beyond the allocations, or refused. A router that keeps no limit
 * of a table takes its requests for work beyond limits for a second after such an answer. Tables of
 * the same place replace each other. */
struct overload_excess {
    struct {
        uint64_t table; /* any number but 0 of a table and a kind of throughput */
        struct instant until;
    } tables[OVERLOAD_TABLES];
};

/* What is known of a request before it is done. */
struct overload_arrival {
    struct instant now;     /* when the work begins */
    struct duration waited; /* for the processor, until then */
    bool within_limit;      /* it is within a limit, or has waited at most target_ns */
    uint64_t sender;        /* any number; the same for the same link */
    uint64_t key_hash;      /* of the partition key */
};

/* The configured policy of overload. */
const struct weir_overload_policy *overload_policy_of(const struct config *config);

/* admission_policies_check must have passed. */
void overload_init(struct overload *o, const struct config *config);

/* Whether the request is done. */
bool overload_arrive(struct overload *o, const struct overload_arrival *a);
/* What the node tells the sender with the answer to this request. */
uint32_t overload_report(struct overload *o, const struct overload_arrival *a);

/* At routers. overload_answered is called once for each request that was sent. */
bool overload_may_send(struct overload *o, struct overload_peer *to,
                       const struct overload_arrival *a);
/* A node has admitted a request of the table beyond the allocation, or refused it for overload. */
void overload_note_excess(struct overload_excess *x, uint64_t table, struct instant now);
bool overload_is_excess(const struct overload_excess *x, uint64_t table, struct instant now);
void overload_answered(struct overload *o, struct overload_peer *to, struct instant now,
                       uint32_t hint);
