#define _POSIX_C_SOURCE 200809L /* nanosleep */
/* slow_policy.c - faulty on purpose: a decision takes 200 us. weir tells so. */
#include <stddef.h>
#include <time.h>
#include <weir/policy.h>

static void slow_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    (void)verdict;
    struct timespec nap = {0, 200000};
    nanosleep(&nap, NULL);
    weir_case_debit(c, WEIR_BUCKET_CAP, cost_mcu);
}

static void slow_settle(struct weir_case *c, const struct weir_verdict *verdict, int64_t extra_mcu)
{
    (void)verdict;
    weir_case_debit(c, WEIR_BUCKET_CAP, extra_mcu);
}

static const struct weir_partition_policy slow = {
    .size = sizeof slow, .name = "slow", .decide = slow_decide, .settle = slow_settle};
static const struct weir_partition_policy *const partition[] = {&slow};
static const struct weir_policy_plugin plugin = {
    .abi = WEIR_POLICY_ABI, .size = sizeof plugin, .partition_count = 1, .partition = partition};

WEIR_POLICY_EXPORT const struct weir_policy_plugin *weir_policy_plugin(void)
{
    return &plugin;
}
