/* weir/policy.h - the interface of admission policies. weir's own policies use nothing else.
 *
 * A policy is a struct of functions at a decision point:
 *
 *   partition  weir_partition_policy   may this request run on this partition now?
 *   node       weir_node_policy        which partitions may burst on what the node has left?
 *   headroom   weir_headroom_policy    has another member's node room for this burst write?
 *   table      weir_table_policy       how many tokens of a table's limit does a router get?
 *   overload   weir_overload_policy    work waits too long: which requests are not done?
 *   adaptive   weir_adaptive_policy    which allocation does each partition of a table get?
 *   split      weir_split_policy       is this partition split, into how many, and where?
 *   demand     weir_demand_policy      which allocation does a peak give a table on demand?
 *   relocate   weir_relocate_policy    which replica leaves a node, and which node gets it?
 *   retry      weir_retry_policy       does a client try a request again, and when?
 *
 * Each point has a header, which this one includes: weir/policy_partition.h (partition and node),
 * weir/policy_headroom.h and so on.
 *
 * A shared object exports one function, `weir_policy_plugin`. It returns the policies of the file:
 *
 *   static const struct weir_partition_policy fair = {
 *       .size = sizeof fair, .name = "my-fair", .decide = my_decide, .settle = my_settle};
 *   static const struct weir_partition_policy *const partition[] = {&fair};
 *   static const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
 *                                                    .size = sizeof plugin,
 *                                                    .partition_count = 1,
 *                                                    .partition = partition};
 *   WEIR_POLICY_EXPORT const struct weir_policy_plugin *weir_policy_plugin(void)
 *   {
 *       return &plugin;
 *   }
 *
 * Rules for every function of a policy
 *   - The same calls give the same answers: no clock, no randomness, no variables outside the state
 *     that the host keeps for the policy. `weir sim` runs each seed twice and compares.
 *   - A decision about a request takes less than a microsecond, one of the controller less than a
 *     hundred. It allocates nothing, takes no lock, does no I/O.
 *   - Handles and pointers are valid during the call only.
 *   - Units: mcu = 1/1000 of a read or write capacity unit; mcu per second; ns of monotonic time.
 *
 * The host checks the results of policies, and the arguments that they pass to functions. Invalid
 * values change nothing, are counted, and are logged once for each policy. If the decision is about
 * a request, an invalid result is a refusal, and costs nothing. If it is the controller's, nothing
 * changes; if it is a client's, the request ends. A policy is native code: the host does not
 * protect its memory from a policy that writes through wild pointers, and it cannot stop a policy
 * that never returns.
 *
 * Versions. WEIR_POLICY_ABI rises when a plug-in must be compiled anew. Without that, structs only
 * grow at their ends: the host reads `size` bytes, and takes the rest as zero. Functions are only
 * added. Later decision points will be new members at the end of weir_policy_plugin. */
#pragma once

#include "policy_adaptive.h"
#include "policy_base.h"
#include "policy_demand.h"
#include "policy_headroom.h"
#include "policy_overload.h"
#include "policy_partition.h"
#include "policy_relocate.h"
#include "policy_retry.h"
#include "policy_split.h"
#include "policy_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct weir_policy_plugin {
    uint32_t abi; /* WEIR_POLICY_ABI */
    uint32_t size;
    uint32_t partition_count;
    uint32_t node_count;
    uint32_t headroom_count;
    uint32_t table_count;
    const struct weir_partition_policy *const *partition;
    const struct weir_node_policy *const *node;
    const struct weir_headroom_policy *const *headroom;
    const struct weir_table_policy *const *table;
    uint32_t overload_count;
    uint32_t unused;
    const struct weir_overload_policy *const *overload;
    /* The controller. */
    uint32_t adaptive_count;
    uint32_t split_count;
    uint32_t demand_count;
    uint32_t relocate_count;
    const struct weir_adaptive_policy *const *adaptive;
    const struct weir_split_policy *const *split;
    const struct weir_demand_policy *const *demand;
    const struct weir_relocate_policy *const *relocate;
    /* Clients. */
    uint32_t retry_count;
    uint32_t spare;
    const struct weir_retry_policy *const *retry;
};

/* The shared object defines this function. What it returns stays valid while the file is loaded. */
WEIR_POLICY_EXPORT const struct weir_policy_plugin *weir_policy_plugin(void);

#ifdef __cplusplus
}
#endif
