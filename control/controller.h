/* controller.h - who should hold what, and how much of it: decisions about the cluster as a whole.
 *
 * A state machine beside the node that leads the catalog. In: the time, a view of the catalog, and
 * the last load reports. Out: requests, which are decisions for that node with their events, and
 * questions to leaders. The controller remembers nothing but recent loads: the controller of the
 * next leader starts from the catalog and fresh reports.
 *
 * Invariants
 *   CONTROL-1  while a decision is unanswered none is made; one that is lost is forgotten after a
 *              while.
 *   CONTROL-2  every decision says what it rests on, and the catalog refuses it where that has
 *              changed.
 *   CONTROL-3  same views at the same times, same decisions.
 *
 * Policies, each with a switch of its own (base/limits.h, control_*): placement (placement.c),
 * adaptive capacity (adaptive.c), peaks of tables on demand (on_demand.c), splits (split.c), merges
 * (merge.c), balance (balance.c), leadership (leaders.c). */
#ifndef WEIR_CONTROL_CONTROLLER_H
#define WEIR_CONTROL_CONTROLLER_H

#include "base/config.h"
#include "engine/node/control_port.h"

struct controller;

struct controller *controller_create(const struct config *config); /* borrows */
void controller_destroy(struct controller *c);                     /* NULL: nothing */

/* When to look next. `term`: in which this node leads the catalog; 0: it does not (INSTANT_NEVER).
 * `urgent_at`: when news came that cannot wait for the next look (node_control_urgent). */
struct instant controller_deadline(const struct controller *c, uint64_t term,
                                   struct instant urgent_at);
/* The caller has taken all requests of the last look. */
void controller_look(struct controller *c, struct instant now, const struct control_view *view);
/* Ids of the controller's requests have this bit; no other of a node's own does. */
#define CONTROL_ID_BIT (UINT64_C(1) << 63)

struct control_request {
    uint32_t node; /* the node itself: from CONTROL_FROM */
    struct request request;
};

/* The next request of this look. NULL: that was all. Lends until the next look. */
const struct control_request *controller_next_request(struct controller *c);
/* The answer to one of them. */
void controller_reply(struct controller *c, const struct reply *reply);

#endif
