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

/* Whether the router does the request. `limited`: routers keep a limit of its table. If not, the
 * request is refused at the end of the event. */
bool shedding_arrive(struct router *r, struct subrequest *s, bool limited);
/* Whether the request may be sent to s->node. If not, sets s->shed. */
bool shedding_may_send(struct router *r, struct subrequest *s);
/* A request that was let pass by shedding_may_send has ended: it was answered, or withdrawn. */
void shedding_answered(struct router *r, struct subrequest *s);
