/* throttle.h - what a client sees of an admission refusal.
 *
 * The service documents the reasons {Table|Index}{Read|Write}{KeyRangeThroughputExceeded |
 * ProvisionedThroughputExceeded | AccountLimitExceeded | MaxOnDemandThroughputExceeded}, and two
 * exceptions: ProvisionedThroughputExceededException for provisioned tables, ThrottlingException
 * for on-demand ones. weir knows more reasons than that: a partition's allocation, its node, a
 * member of its replication group and the table's limit being short are all
 * ProvisionedThroughputExceeded in ThrottlingReasons; the message and the header lines say which it
 * was, where, and when to come again. Source: DynamoDB developer guide, "Diagnosing throttling
 * issues". */
#ifndef WEIR_ROUTER_OPERATIONS_THROTTLE_H
#define WEIR_ROUTER_OPERATIONS_THROTTLE_H

#include "engine/catalog/table.h"
#include "engine/message/message.h"
#include "router/router_internal.h"

/* "TableReadKeyRangeThroughputExceeded", ...: static. */
const char *throttle_reason_name(enum admit_kind kind, enum admit_reason reason);

/* The call's answer tells of it in header lines, whatever else it says: x-weir-throttled-by with
 * the name of the reason, x-weir-partition, x-weir-retry-after-ms. Of several refusals the one that
 * waits longest is told. */
void throttle_note(struct call *c, const struct subrequest *s, const struct admit_verdict *verdict);

/* Sets the fault of a call whose request was refused; false. */
bool throttle_refuse(struct call *c, const struct subrequest *s,
                     const struct admit_verdict *verdict);

#endif
