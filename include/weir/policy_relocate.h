/* weir/policy_relocate.h - the controller: replicas that move. Part of weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A replica that needs a node, or that may leave its node, at one evaluation of the controller.
 * Amounts are mcu per second. What does not exist is 0. */
struct weir_move;

enum weir_move_why {
    WEIR_MOVE_FILL = 0,       /* its partition has too few replicas */
    WEIR_MOVE_LEAVE = 1,      /* its node is unresponsive or drained */
    WEIR_MOVE_ALLOCATION = 2, /* its node cannot carry the allocation that it should get */
    WEIR_MOVE_BALANCE = 3     /* its node is overloaded */
};

WEIR_POLICY_API int64_t weir_move_now_ns(const struct weir_move *m);
WEIR_POLICY_API uint32_t weir_move_why(const struct weir_move *m);  /* enum weir_move_why */
WEIR_POLICY_API uint32_t weir_move_from(const struct weir_move *m); /* its node; 0: it has none */
/* Whether it is the first of its group: it carries the reads, too. */
WEIR_POLICY_API bool weir_move_leads(const struct weir_move *m);
/* What its node must reserve for it. */
WEIR_POLICY_API int64_t weir_move_required(const struct weir_move *m, enum weir_policy_kind kind);
/* What it consumed on its node over the last 5 s. */
WEIR_POLICY_API int64_t weir_move_cost(const struct weir_move *m, enum weir_policy_kind kind);

/* The nodes that are offered, in the order of their numbers: they are reachable, not drained, hold
 * no replica of the partition, and have the capacity that the replica needs. By index: the number,
 * the capacity, what of it is reserved for replicas, what was consumed over the setting
 * balance_window_ms, and the replicas there (one that leads counts twice). */
WEIR_POLICY_API uint32_t weir_move_nodes(const struct weir_move *m);
WEIR_POLICY_API uint32_t weir_move_node(const struct weir_move *m, uint32_t index);
WEIR_POLICY_API int64_t weir_move_capacity(const struct weir_move *m, uint32_t index,
                                           enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_move_reserved(const struct weir_move *m, uint32_t index,
                                           enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_move_consumed(const struct weir_move *m, uint32_t index,
                                           enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_move_replicas(const struct weir_move *m, uint32_t index);

/* As an index: no node. The host acts as if none were offered. */
#define WEIR_MOVE_NOWHERE UINT32_MAX

/* Chosen by the setting relocate_policy. The host bounds how many replicas move at once. */
struct weir_relocate_policy {
    uint32_t size;
    uint32_t unused; /* 0 */
    const char *name;
    uint64_t flags; /* 0 */
    /* The index of the node that gets the replica. At least one is offered. A replica does not move
     * for WEIR_MOVE_BALANCE if that would overload the chosen node. Required. */
    uint32_t (*place)(const struct weir_move *m);
    /* The replica's node is overloaded with `kind`: it consumes more than balance_percent of its
     * capacity. How much should this replica leave? The replica with the greatest value goes, the
     * first of equal ones; 0: it stays. No nodes are offered yet. NULL: weir_move_cost. */
    int64_t (*rank)(const struct weir_move *m, enum weir_policy_kind kind);
};

#ifdef __cplusplus
}
#endif
