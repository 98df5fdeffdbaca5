/* throttle.h - what a client sees of an admission refusal.
 *
 * The service documents the reasons {Table|Index}{Read|Write}{KeyRangeThroughputExceeded |
 * ProvisionedThroughputExceeded | AccountLimitExceeded | MaxOnDemandThroughputExceeded}. It has two
 * exceptions: ProvisionedThroughputExceededException for provisioned tables, ThrottlingException
 * for on-demand tables. weir has more reasons: tokens may be short at the partition, at its node,
 * at a member of its group or in the table's limit. In ThrottlingReasons these are
 * ProvisionedThroughputExceeded, or MaxOnDemandThroughputExceeded for the maximum of a table. The
 * message and the header lines tell the exact reason, the place, and when to try again. A write
 * that a global index refused is told with the reason of the index's partition.
 * Source: DynamoDB developer guide, "Diagnosing throttling issues". */
#pragma once

#include "router/core/router_internal.h"

/* Notes the refusal for the answer's header lines, even if the call succeeds: x-weir-throttled-by
 * (the reason's name), x-weir-partition, x-weir-retry-after-ms. Of several refusals, the longest
 * wait is told; none, if one of them is not known. */
void throttle_note(struct call *c, const struct subrequest *s, const struct admit_verdict *verdict);

/* Sets the fault of a call whose request was refused. Always false. */
bool throttle_refuse(struct call *c, const struct subrequest *s,
                     const struct admit_verdict *verdict);
