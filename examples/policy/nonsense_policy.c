/* nonsense_policy.c - faulty on purpose: one decision about requests in eight makes no sense, and
 * none of the controller's and of clients does. weir tells so, and goes on. */
#include <stddef.h>

#include <weir/policy.h>

static void nonsense_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    switch (weir_case_now_ns(c) / 1000 % 32) {
    case 0:
        verdict->reason = 77; /* does not exist */
        break;
    case 1:
        verdict->wait_ns = -1;
        break;
    case 2:
        verdict->reason = WEIR_POLICY_MEMBER; /* without saying which */
        break;
    case 3:
        weir_case_debit(c, WEIR_BUCKET_NODE, -cost_mcu - 1); /* makes tokens */
        break;
    default:
        weir_case_debit(c, WEIR_BUCKET_CAP, cost_mcu);
        weir_case_debit(c, (enum weir_bucket)99, cost_mcu); /* is ignored */
        break;
    }
}

static void nonsense_settle(struct weir_case *c, const struct weir_verdict *verdict,
                            int64_t extra_mcu)
{
    (void)verdict;
    weir_case_debit(c, WEIR_BUCKET_CAP, extra_mcu);
}

static const struct weir_partition_policy nonsense = {.size = sizeof nonsense,
                                                      .name = "nonsense",
                                                      .decide = nonsense_decide,
                                                      .settle = nonsense_settle};
/* ---- the controller ---- */

static void nonsense_adapt(struct weir_rates *r)
{
    weir_rates_lower(r, 0, 0, WEIR_RATES_UNUSED);
    weir_rates_raise(r, weir_rates_count(r), 1000000); /* there is no such partition */
}

static const struct weir_adaptive_policy nonsense_adaptive = {
    .size = sizeof nonsense_adaptive, .name = "nonsense", .adapt = nonsense_adapt};

static void nonsense_trigger(struct weir_split *c, struct weir_split_trigger *trigger)
{
    trigger->why = WEIR_SPLIT_TRIGGER_SIZE + 1; /* does not exist */
    trigger->rate_mcu = weir_split_bytes(c);
}

static const struct weir_split_policy nonsense_split = {
    .size = sizeof nonsense_split, .name = "nonsense", .trigger = nonsense_trigger};

static bool nonsense_raise(const struct weir_peak *p, int64_t allocation_mcu[2])
{
    allocation_mcu[WEIR_POLICY_WRITE] = -weir_peak_window_ns(p);
    return true;
}

static const struct weir_demand_policy nonsense_demand = {
    .size = sizeof nonsense_demand, .name = "nonsense", .raise = nonsense_raise};

static uint32_t nonsense_place(const struct weir_move *m)
{
    return weir_move_nodes(m); /* one too many */
}

static const struct weir_relocate_policy nonsense_relocate = {
    .size = sizeof nonsense_relocate, .name = "nonsense", .place = nonsense_place};

/* ---- clients ---- */

static void nonsense_after(struct weir_retry *r, struct weir_retry_decision *decision)
{
    decision->again = 1; /* also if the request is answered */
    decision->at_ns = weir_retry_now_ns(r) - 1;
}

static const struct weir_retry_policy nonsense_retry = {
    .size = sizeof nonsense_retry, .name = "nonsense", .attempts_max = 5, .after = nonsense_after};

/* ---- the file ---- */

static const struct weir_partition_policy *const partition[] = {&nonsense};
static const struct weir_adaptive_policy *const adaptive[] = {&nonsense_adaptive};
static const struct weir_split_policy *const split[] = {&nonsense_split};
static const struct weir_demand_policy *const demand[] = {&nonsense_demand};
static const struct weir_relocate_policy *const relocate[] = {&nonsense_relocate};
static const struct weir_retry_policy *const retry[] = {&nonsense_retry};
static const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
                                                 .size = sizeof plugin,
                                                 .partition_count = 1,
                                                 .partition = partition,
                                                 .adaptive_count = 1,
                                                 .split_count = 1,
                                                 .demand_count = 1,
                                                 .relocate_count = 1,
                                                 .adaptive = adaptive,
                                                 .split = split,
                                                 .demand = demand,
                                                 .relocate = relocate,
                                                 .retry_count = 1,
                                                 .retry = retry};

WEIR_POLICY_EXPORT const struct weir_policy_plugin *weir_policy_plugin(void)
{
    return &plugin;
}
