/* example_policy.c - a template: one policy at each decision point.
 *
 * - steady, of partitions: the allocation, and a burst bucket that is refilled only from what was
 *   not used, spent at most twice as fast as the allocation. Shows a state, and its division at
 *   splits and merges.
 * - first, of nodes: first come, first served.
 * - halves, of headroom: a member has room while its bucket is more than half full.
 * - just-enough, of tables: a router gets what it needs now, and a little for the next requests.
 * - on-call, adaptive: a partition that asks for more gets all of it at once, while the table's
 *   limit has it; a partition that asks for less has its even part again after ten seconds. Shows a
 *   state of the controller.
 * - in-two, of splits: a partition near its maximum is split once, at the offered point that
 *   divides its load best; evenly, if no point is offered.
 * - half-way, of demand: a peak raises the allocation by half of what it adds, so a short peak
 *   changes little.
 * - idlest, of relocation: a replica goes to the node with the most capacity that nobody consumes.
 * - one-in-five, of retries: a client's retries are at most a fifth of what it sends; they wait
 *   longer each time, and not for the same time. */
#include <stddef.h>
#include <weir/policy.h>

#define NS_PER_S 1000000000

/* ---- partition ---- */

/* What bursts took in the second that began at `second`. weir keeps it, zero at first. */
struct steady {
    int64_t second;
    int64_t burst_mcu;
};

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void steady_debit(struct weir_case *c, int64_t cost_mcu, bool burst)
{
    struct steady *s = weir_case_state(c);
    weir_case_debit(c, burst ? WEIR_BUCKET_BURST : WEIR_BUCKET_ALLOCATION, cost_mcu);
    weir_case_debit(c, WEIR_BUCKET_CAP, cost_mcu);
    weir_case_node_debit(c, cost_mcu, burst, false);
    if (burst)
        s->burst_mcu += cost_mcu;
}

static bool steady_may_burst(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    struct steady *s = weir_case_state(c);
    int64_t second = weir_case_now_ns(c) / NS_PER_S;
    if (s->second != second)
        *s = (struct steady){.second = second};
    verdict->reason = WEIR_POLICY_ALLOCATION;
    if (!weir_case_has(c, WEIR_BUCKET_BURST, cost_mcu) ||
        s->burst_mcu >= weir_case_rate(c, WEIR_BUCKET_ALLOCATION))
        return false;
    verdict->reason = WEIR_POLICY_NODE;
    weir_case_burst_enter(c);
    if (!weir_case_burst_has(c, cost_mcu, false))
        return false;
    verdict->reason = WEIR_POLICY_MEMBER;
    return weir_case_members_have(c, cost_mcu, verdict);
}

static void steady_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    int64_t cap_ns = weir_case_wait_ns(c, WEIR_BUCKET_CAP, cost_mcu);
    int64_t allocation_ns = weir_case_wait_ns(c, WEIR_BUCKET_ALLOCATION, cost_mcu);
    if (cap_ns > 0) {
        verdict->reason = WEIR_POLICY_KEY_RANGE;
        verdict->wait_ns = longer(cap_ns, allocation_ns);
    } else if (allocation_ns == 0) {
        steady_debit(c, cost_mcu, false);
    } else if (steady_may_burst(c, cost_mcu, verdict)) {
        verdict->reason = WEIR_POLICY_ADMIT;
        verdict->flags = WEIR_VERDICT_BURST;
        steady_debit(c, cost_mcu, true);
        weir_case_members_spend(c, cost_mcu);
    } else {
        verdict->wait_ns = allocation_ns;
    }
}

static void steady_settle(struct weir_case *c, const struct weir_verdict *verdict,
                          int64_t extra_mcu)
{
    bool burst = verdict->flags & WEIR_VERDICT_BURST;
    steady_debit(c, extra_mcu, burst);
    if (burst)
        weir_case_members_spend(c, extra_mcu);
}

/* Each piece has taken its share of the bursts. */
static void steady_divide(void *const pieces[], const uint32_t share_ppm[], uint32_t count)
{
    const struct steady whole = *(struct steady *)pieces[0];
    for (uint32_t i = 0; i < count; i++) {
        struct steady *s = pieces[i];
        s->second = whole.second;
        s->burst_mcu = whole.burst_mcu / 1000000 * share_ppm[i] +
                       whole.burst_mcu % 1000000 * share_ppm[i] / 1000000;
    }
}

static void steady_absorb(void *into, const void *from)
{
    struct steady *s = into;
    const struct steady *other = from;
    if (other->second > s->second)
        *s = *other;
    else if (other->second == s->second)
        s->burst_mcu += other->burst_mcu;
}

static const struct weir_partition_policy steady = {.size = sizeof steady,
                                                    .state_bytes = sizeof(struct steady),
                                                    .name = "steady",
                                                    .flags = WEIR_PARTITION_SAVES,
                                                    .decide = steady_decide,
                                                    .settle = steady_settle,
                                                    .divide = steady_divide,
                                                    .absorb = steady_absorb};

/* ---- node ---- */

static bool first_has(struct weir_case *c, int64_t cost_mcu)
{
    return weir_case_has(c, WEIR_BUCKET_NODE, cost_mcu);
}

static int64_t first_wait_ns(struct weir_case *c, int64_t cost_mcu)
{
    return weir_case_wait_ns(c, WEIR_BUCKET_NODE, cost_mcu);
}

static const struct weir_node_policy first = {
    .size = sizeof first, .name = "first", .has = first_has, .wait_ns = first_wait_ns};

/* ---- headroom ---- */

static bool halves_has(struct weir_member *m, int64_t cost_mcu, int64_t taken_mcu, int64_t *wait_ns)
{
    (void)taken_mcu;
    int64_t lacking = weir_member_capacity(m) / 2 + cost_mcu - weir_member_balance(m);
    if (lacking <= 0)
        return true;
    *wait_ns = weir_member_refill_ns(m, lacking);
    return false;
}

static const struct weir_headroom_policy halves = {
    .size = sizeof halves, .name = "halves", .has = halves_has};

/* ---- table ---- */

static void just_enough_grant(struct weir_ledger *l, struct weir_holder *h)
{
    int64_t need = weir_holder_need(h), held = weir_holder_held(h), bank = weir_ledger_bank(l);
    int64_t ahead = weir_holder_demand(h) / 100; /* what is spent in 10 ms */
    int64_t missing = longer(need, ahead) - held;
    if (weir_holder_demand(h) == 0 || missing <= 0)
        return;
    if (bank > 0 &&
        bank >= weir_ledger_grant_threshold(l, need) - held) /* the whole need, perhaps in debt */
        weir_ledger_grant(l, h, need - held > bank ? need - held : missing < bank ? missing : bank);
    else
        weir_holder_wait(h, weir_ledger_lifetime_ns(l) / 10);
}

static const struct weir_table_policy just_enough = {
    .size = sizeof just_enough,
    .name = "just-enough",
    .flags = WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST,
    .grant = just_enough_grant};

/* ---- allocations ---- */

/* Since when the partition asks for less than its even part. weir keeps it, zero at first. */
struct on_call {
    int64_t calm_ns;
};

static void on_call_lower(struct weir_rates *r, uint32_t i)
{
    struct on_call *s = weir_rates_state(r, i);
    const int64_t now_ns = weir_rates_now_ns(r), base = weir_rates_base(r, i);
    if (s == NULL)
        return;
    if (s->calm_ns == 0 || weir_rates_demand(r, i) > base)
        s->calm_ns = now_ns;
    if (weir_rates_allocation(r, i) > base && now_ns - s->calm_ns > INT64_C(10) * NS_PER_S)
        weir_rates_lower(r, i, base, WEIR_RATES_UNUSED);
}

static void on_call_adapt(struct weir_rates *r)
{
    int64_t left = weir_rates_limit(r);
    for (uint32_t i = 0; i < weir_rates_count(r); i++)
        left -= weir_rates_use(r, i);
    for (uint32_t i = 0; i < weir_rates_count(r); i++) {
        int64_t now = weir_rates_allocation(r, i), more = weir_rates_demand(r, i) - now;
        more = more < left ? more : left;
        more = more < weir_rates_maximum(r) - now ? more : weir_rates_maximum(r) - now;
        if (weir_rates_throttled_ns(r, i) >= 0 && more > 0) {
            weir_rates_raise(r, i, now + more);
            left -= more;
        } else {
            on_call_lower(r, i);
        }
    }
}

static const struct weir_adaptive_policy on_call = {.size = sizeof on_call,
                                                    .partition_bytes = sizeof(struct on_call),
                                                    .name = "on-call",
                                                    .adapt = on_call_adapt};

/* ---- splits ---- */

static void in_two_trigger(struct weir_split *c, struct weir_split_trigger *trigger)
{
    for (enum weir_policy_kind kind = WEIR_POLICY_READ; kind <= WEIR_POLICY_WRITE; kind++) {
        int64_t rate = weir_split_consumed(c, kind, INT64_C(5) * NS_PER_S);
        if (weir_split_is_limited(c) && rate > weir_split_maximum(c, kind) / 10 * 6)
            *trigger = (struct weir_split_trigger){
                .why = WEIR_SPLIT_TRIGGER_CONSUMED, .kind = kind, .rate_mcu = rate};
    }
    if (weir_split_bytes(c) >= weir_split_setting(c, WEIR_SPLIT_BYTES))
        *trigger = (struct weir_split_trigger){.why = WEIR_SPLIT_TRIGGER_SIZE};
}

static void in_two_decide(struct weir_split *c, struct weir_split_decision *decision)
{
    int64_t below = 0, best = INT64_MAX;
    decision->how =
        weir_split_points(c) > 0 ? WEIR_SPLIT_DECISION_POINTS : WEIR_SPLIT_DECISION_EVENLY;
    for (uint32_t i = 0; i < weir_split_points(c); i++) {
        below += weir_split_share_ppm(c, WEIR_POLICY_READ, i);
        below += weir_split_share_ppm(c, WEIR_POLICY_WRITE, i);
        int64_t off = below > 1000000 ? below - 1000000 : 1000000 - below;
        if (off >= best)
            continue;
        best = off;
        decision->points = UINT32_C(1) << i;
    }
}

static const struct weir_split_policy in_two = {
    .size = sizeof in_two, .name = "in-two", .trigger = in_two_trigger, .decide = in_two_decide};

/* ---- peaks ---- */

static bool half_way_raise(const struct weir_peak *p, int64_t allocation_mcu[2])
{
    bool more = false;
    for (enum weir_policy_kind kind = WEIR_POLICY_READ; kind <= WEIR_POLICY_WRITE; kind++) {
        int64_t had = weir_peak_allocated(p, kind);
        int64_t new = weir_peak_consumed(p, kind, weir_peak_window_ns(p)) - had;
        allocation_mcu[kind] = new > 1000 ? had + new / 2 : had;
        allocation_mcu[kind] = allocation_mcu[kind] < weir_peak_maximum(p, kind)
                                   ? allocation_mcu[kind]
                                   : weir_peak_maximum(p, kind);
        more |= new > 1000;
    }
    return more;
}

static const struct weir_demand_policy half_way = {
    .size = sizeof half_way, .name = "half-way", .raise = half_way_raise};

/* ---- moves ---- */

static int64_t idlest_left(const struct weir_move *m, uint32_t i)
{
    return weir_move_capacity(m, i, WEIR_POLICY_WRITE) -
           weir_move_consumed(m, i, WEIR_POLICY_WRITE);
}

static uint32_t idlest_place(const struct weir_move *m)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < weir_move_nodes(m); i++) {
        if (idlest_left(m, i) > idlest_left(m, best))
            best = i;
    }
    return best;
}

static const struct weir_relocate_policy idlest = {
    .size = sizeof idlest, .name = "idlest", .place = idlest_place};

/* ---- retries ---- */

/* What the client has sent. */
struct one_in_five {
    int64_t attempts;
    int64_t retries; /* those that wait, too */
};

static void one_in_five_send(struct weir_retry *r, struct weir_retry_decision *decision)
{
    struct one_in_five *s = weir_retry_state(r);
    s->attempts++;
    decision->again = 1;
    decision->at_ns = weir_retry_now_ns(r);
}

static void one_in_five_after(struct weir_retry *r, struct weir_retry_decision *decision)
{
    struct one_in_five *s = weir_retry_state(r);
    const uint32_t result = weir_retry_result(r);
    if (result == WEIR_RETRY_DONE || result == WEIR_RETRY_FINAL ||
        weir_retry_attempts(r) >= weir_retry_attempts_max(r))
        return;
    if (s->retries * 5 >= s->attempts) {
        decision->stop = WEIR_RETRY_STOP_QUOTA;
        return;
    }
    s->retries++;
    double longest_ns = 50e6 * weir_retry_attempts(r);
    decision->again = 1;
    decision->at_ns = weir_retry_now_ns(r) + (int64_t)(longest_ns * weir_retry_random(r));
}

static const struct weir_retry_policy one_in_five = {
    .size = sizeof one_in_five,
    .state_bytes = sizeof(struct one_in_five),
    .name = "one-in-five",
    .about = "A client's retries are at most a fifth of what it sends.",
    .attempts_max = 5,
    .send = one_in_five_send,
    .after = one_in_five_after};

/* ---- the file ---- */

static const struct weir_partition_policy *const partition[] = {&steady};
static const struct weir_node_policy *const node[] = {&first};
static const struct weir_headroom_policy *const headroom[] = {&halves};
static const struct weir_table_policy *const table[] = {&just_enough};
static const struct weir_adaptive_policy *const adaptive[] = {&on_call};
static const struct weir_split_policy *const split[] = {&in_two};
static const struct weir_demand_policy *const demand[] = {&half_way};
static const struct weir_relocate_policy *const relocate[] = {&idlest};
static const struct weir_retry_policy *const retry[] = {&one_in_five};

static const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
                                                 .size = sizeof plugin,
                                                 .partition_count = 1,
                                                 .node_count = 1,
                                                 .headroom_count = 1,
                                                 .table_count = 1,
                                                 .partition = partition,
                                                 .node = node,
                                                 .headroom = headroom,
                                                 .table = table,
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
