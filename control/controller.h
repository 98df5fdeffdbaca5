/* controller.h - decisions about the whole cluster: where replicas are, and how much throughput
 * they get.
 *
 * A state machine beside the node that leads the catalog. In: the time, a view of the catalog, and
 * the last load reports. Out: requests, which are decisions for that node with their events, and
 * questions to leaders. The controller remembers only recent loads: the controller of the next
 * leader starts from the catalog and fresh reports.
 *
 * Invariants
 *   CONTROL-1  while a decision of an evaluation is unanswered, no later evaluation decides; a lost
 *              decision is forgotten after a timeout.
 *   CONTROL-2  every decision names the state that it assumes; the catalog refuses the decision if
 *              that state has changed.
 *   CONTROL-3  the same views at the same times give the same decisions.
 *
 * Policies, each with a switch of its own (base/settings/control.h): placement (placement.c),
 * adaptive capacity (adaptive.c), peaks of tables on demand (on_demand.c), splits (split.c), merges
 * (merge.c), balance (balance.c), leadership (leaders.c), shards of hot keys (key_sharding.c).
 *
 * Not here: disk space. No report has it, and the room of a node is throughput (capacity.c). A node
 * refuses growth by itself (engine/store/space.h). */
#pragma once

#include "engine/message/message.h"
#include "engine/node/control_port.h"

struct controller;
struct reply;

struct controller *controller_create(const struct config *config); /* borrows */
void controller_destroy(struct controller *c);                     /* NULL: nothing */

/* The time of the next evaluation. `term`: the term in which this node leads the catalog; 0: it
 * does not lead (INSTANT_NEVER). `urgent_at`: the time of urgent news (node_control_urgent). */
struct instant controller_deadline(const struct controller *c, uint64_t term,
                                   struct instant urgent_at);
/* The caller must have taken all requests of the last evaluation. */
void controller_evaluate(struct controller *c, struct instant now, const struct control_view *view);
/* Ids of the controller's requests have this bit; no other id of a node's own requests does. */
#define CONTROL_ID_BIT (UINT64_C(1) << 63)

struct control_request {
    uint32_t node; /* the node itself: from CONTROL_FROM */
    struct request request;
};

/* The next request of this evaluation. NULL: no more. Lends until the next evaluation. */
const struct control_request *controller_next_request(struct controller *c);
/* The answer to one of the requests. */
void controller_reply(struct controller *c, const struct reply *reply);
