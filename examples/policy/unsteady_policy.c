/* unsteady_policy.c - faulty on purpose: decides by a variable of its own, which outlives the run.
 * The same seed gives two different runs, and `weir sim` tells so. */
#include <stddef.h>

#include <weir/policy.h>

static unsigned long calls;

static void unsteady_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    if (++calls % 13 == 0) {
        verdict->reason = WEIR_POLICY_ALLOCATION;
        verdict->wait_ns = 1000000;
        return;
    }
    weir_case_debit(c, WEIR_BUCKET_CAP, cost_mcu);
}

static void unsteady_settle(struct weir_case *c, const struct weir_verdict *verdict,
                            int64_t extra_mcu)
{
    (void)verdict;
    weir_case_debit(c, WEIR_BUCKET_CAP, extra_mcu);
}

static const struct weir_partition_policy unsteady = {.size = sizeof unsteady,
                                                      .name = "unsteady",
                                                      .decide = unsteady_decide,
                                                      .settle = unsteady_settle};
static const struct weir_partition_policy *const partition[] = {&unsteady};
static const struct weir_policy_plugin plugin = {
    .abi = WEIR_POLICY_ABI, .size = sizeof plugin, .partition_count = 1, .partition = partition};

WEIR_POLICY_EXPORT const struct weir_policy_plugin *weir_policy_plugin(void)
{
    return &plugin;
}
