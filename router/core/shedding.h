/* shedding.h - requests that the router refuses because it, or a node, has too much work.
 *
 * The policy of overload (engine/admission/overload.h) judges a request twice: when its bytes came,
 * by the time that they waited for the router's processor, and when it would be sent to a node, by
 * what the node's answers have told. Both cost one call if there is no overload.
 * A refused request holds no tokens and was not sent. Its answer is the error 503, which clients
 * repeat later. */
#pragma once

#include "router/core/subrequest.h"

void shedding_init(struct router *r);
void shedding_deinit(struct router *r);

/* Whether the router does the request. If not, it is refused at the end of the event.
 * `within_limit`: routers keep a limit of its table, or nodes have lately done such requests within
 * the allocations of its table. */
bool shedding_arrive(struct router *r, struct subrequest *s, bool within_limit);
/* Whether the request may be sent to s->node. If not, sets s->shed. */
bool shedding_may_send(struct router *r, struct subrequest *s);
/* Whether a request of this table, of which routers keep no limit, counts as beyond limits. */
bool shedding_is_excess(const struct router *r, struct gac_key table);
/* The node's answer to the request tells whether it was beyond the allocation. */
void shedding_note_reply(struct router *r, const struct subrequest *s, const struct reply *reply);
/* `limit`: gac_key_number of the request's table and kind. */
void shedding_note_verdict(struct router *r, uint64_t limit, const struct admit_verdict *verdict);
/* A request that was let pass by shedding_may_send has ended, at the node too. `hint`: the node's;
 * 0: it did not answer. */
void shedding_answered(struct router *r, uint32_t node, uint32_t hint);
