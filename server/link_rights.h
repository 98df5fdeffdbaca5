/* link_rights.h - which process may connect to which, and which messages it may send.
 *
 * One table for all daemons: a link of one role does not carry another role's messages. A request
 * that names its sender must name the process at the other end of the link. A process that breaks
 * the rules loses the link, with a line in the log.
 *
 *   to a node      from routers: data requests, requests about tables, statistics, events, drains,
 *                  pings
 *                  from nodes: consensus, the settling of partitions, reports, replies
 *                  from tools: statistics, descriptions of tables, events
 *   to a GAC server  from routers: grant requests (gac/gac_message.h)
 *   to a router    nobody connects; replies come on the links it made */
#pragma once

#include "base/peer.h"
#include "engine/message/message.h"

/* Roles that may connect to a process of role `kind`: bits `1 << kind`. */
unsigned link_rights_accepted(enum peer_kind kind);

/* NULL: a node may act on this request of that process. Otherwise the reason against it, for the
 * log. */
const char *link_rights_request(const struct link_peer *from, const struct request *q);
/* link_rights_request for a reply and an envelope. */
const char *link_rights_frame(const struct link_peer *from, enum message_kind kind,
                              struct slice frame);
