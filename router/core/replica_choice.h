/* replica_choice.h - which node a subrequest goes to.
 *
 * Writes and strong reads go to the leader that a node named last. If no leader is known, or the
 * leader is unresponsive, the members are asked in turn. Eventual reads go to any member that is
 * not unresponsive, by chance. With read_tokens = group, an eventual read that is throttled may go
 * to the other members. Requests to the catalog go to the nodes in turn.
 *
 * Not here: when a subrequest is sent again (subrequest.c); which nodes are unresponsive
 * (node_watch.h). */
#pragma once

#include "router/core/subrequest.h"

/* The partition of the request's key, by the map in use. For data requests alone. */
const struct partition_info *replica_choice_partition(const struct subrequest *s);
/* Whether any replica may answer: an eventual read. */
bool replica_choice_is_any(const struct subrequest *s);
/* The node to ask, a member of `p`. Sets s->guessed; draws the first turn of an eventual read. */
uint32_t replica_choice_of(struct router *r, struct subrequest *s, const struct partition_info *p);
/* The node to ask for the catalog after `node`: the next node that is not unresponsive. */
uint32_t replica_choice_catalog_after(const struct router *r, uint32_t node);

/* The partition's leader is that node; 0: not known. */
void replica_choice_note_leader(struct subrequest *s, uint32_t node);
/* The node that was asked does not lead, or does not answer. */
void replica_choice_clear_leader(struct subrequest *s);
/* A replica may lack what the router has written: then the leader is asked from now on. */
void replica_choice_note_reply(struct subrequest *s, const struct reply *reply);

/* A node whose disk has failed may not know that another node leads. */
bool replica_choice_is_led_elsewhere(const struct subrequest *s, const struct reply *reply);
/* Whether another replica may have the tokens that the replica lacks that was asked. */
bool replica_choice_has_other_tokens(const struct router *r, const struct subrequest *s);
bool replica_choice_has_other(const struct router *r, const struct subrequest *s);
/* Whether another node can answer and is not unresponsive. A read is hedged once only: if all
 * answers take longer than that timeout, a read that moved each time would never get an answer. */
bool replica_choice_may_hedge(const struct router *r, const struct subrequest *s);
