/* overload_topfull.c - a baseline: routers limit the rate of what they send to an overloaded node.
 *
 * A node tells with each answer how long the last request waited, and does all work. A router
 * looks at each node every overload_interval_ms. If a wait was longer than overload_target_ms, the
 * router limits the rate of its requests to that node. The limit is what the node answered
 * meanwhile, less a twentieth. It is at least half of the rate before, and at most nineteen
 * twentieths of it. If no wait was longer, and the limit held requests back, the limit rises: by a
 * fifth if the waits were below half of the target, otherwise by a fiftieth. The limit ends once
 * the router sends less than half of it.
 * Work within a limit of a table is limited last: it may take the tokens of the next interval, too,
 * and other work waits until they have come in again.
 * Source: Park et al., "TopFull: An Adaptive Top-Down Overload Control for SLO-Oriented
 * Microservices", SIGCOMM 2024: rate limits at the entry, changed by a factor between a half and
 * one and a half, by goodput and latency.
 * Simplified: the fixed rule above is in the place of the learned controller. Goodput is what the
 * node answered, late or not. What leads to an overloaded node has one limit, where APIs have
 * limits of their own; of the importance of APIs, the two classes above are left. Each router looks
 * by itself, and sees its own answers. The controller acts once a second there. */
#include "include/weir/policy_overload.h"

extern const struct weir_overload_policy weir_overload_topfull;

enum {
    NS_PER_US = 1000,
    MIN_RATE = 10, /* requests a second */
    MAX_RATE = 1000000000,
    BURST_PARTS = 100 /* of a second: a limit lets so much through at once */
};

static const int64_t ns_per_s = 1000000000;

struct topfull_node {
    int64_t waited_ns; /* the last request */
};

struct topfull_peer {
    int64_t since_ns;    /* the begin of this window; 0: none yet */
    int64_t refilled_ns; /* the tokens */
    int64_t rate;        /* requests a second; 0: no limit */
    int64_t tokens;      /* a request takes ns_per_s of them */
    uint32_t sent;       /* in this window */
    uint32_t held_back;
    uint32_t answered;
    uint32_t longest_us;
};
_Static_assert(sizeof(struct topfull_peer) <= WEIR_POLICY_STATE_MAX, "the state fits");

static int64_t topfull_between(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value < max ? value : max;
}

/* Requests a second. */
static int64_t topfull_rate(uint32_t count, int64_t ns)
{
    return count * ns_per_s / ns;
}

static void topfull_adjust(struct topfull_peer *p, int64_t ns, int64_t target_ns)
{
    const int64_t sent = topfull_rate(p->sent, ns), answered = topfull_rate(p->answered, ns);
    const int64_t longest_ns = p->longest_us * (int64_t)NS_PER_US;
    const int64_t before = p->rate > 0 ? p->rate : sent;
    if (longest_ns > target_ns && before > 0) {
        const int64_t rate = topfull_between(answered * 19 / 20, before / 2, before * 19 / 20);
        p->rate = topfull_between(rate, MIN_RATE, MAX_RATE);
    } else if (p->rate > 0 && p->held_back > 0) {
        const int64_t more = p->rate / (longest_ns < target_ns / 2 ? 5 : 50);
        p->rate = topfull_between(p->rate + more + 1, 0, MAX_RATE);
    } else if (p->rate > 0 && sent < p->rate / 2) {
        p->rate = 0;
    }
}

static void topfull_check(struct topfull_peer *p, const struct weir_arrival *a)
{
    const int64_t now_ns = weir_arrival_now_ns(a), ns = now_ns - p->since_ns;
    if (p->since_ns != 0 && ns < weir_arrival_interval_ns(a))
        return;
    if (p->since_ns != 0)
        topfull_adjust(p, ns, weir_arrival_target_ns(a));
    p->since_ns = now_ns;
    p->sent = p->held_back = p->answered = p->longest_us = 0;
}

static bool topfull_arrive(struct weir_arrival *a)
{
    struct topfull_node *n = weir_arrival_state(a);
    n->waited_ns = weir_arrival_wait_ns(a);
    return true;
}

static uint32_t topfull_hint(struct weir_arrival *a)
{
    const struct topfull_node *n = weir_arrival_state(a);
    return (uint32_t)topfull_between(n->waited_ns / NS_PER_US, 1, UINT32_MAX);
}

/* Refills the tokens. How many a request may leave missing is for its class. */
static bool topfull_has(struct topfull_peer *p, const struct weir_arrival *a, int64_t ns)
{
    const int64_t room = topfull_between(p->rate * (ns_per_s / BURST_PARTS), ns_per_s, INT64_MAX);
    const int64_t debt = p->rate * topfull_between(weir_arrival_interval_ns(a), 0, ns_per_s);
    p->tokens = topfull_between(p->tokens + p->rate * ns, -debt, room);
    return p->tokens >= ns_per_s - (weir_arrival_is_within_limit(a) ? debt : 0);
}

static bool topfull_send(struct weir_arrival *a)
{
    struct topfull_peer *p = weir_arrival_state(a);
    const int64_t now_ns = weir_arrival_now_ns(a);
    topfull_check(p, a);
    if (p->rate > 0) {
        if (!topfull_has(p, a, topfull_between(now_ns - p->refilled_ns, 0, ns_per_s))) {
            p->refilled_ns = now_ns;
            p->held_back++;
            return false;
        }
        p->tokens -= ns_per_s;
    }
    p->refilled_ns = now_ns;
    p->sent++;
    return true;
}

static void topfull_answered(struct weir_arrival *a, uint32_t hint)
{
    struct topfull_peer *p = weir_arrival_state(a);
    if (hint == 0)
        return;
    p->answered++;
    if (hint > p->longest_us)
        p->longest_us = hint;
}

const struct weir_overload_policy weir_overload_topfull = {
    .size = sizeof weir_overload_topfull,
    .state_bytes = sizeof(struct topfull_node),
    .peer_bytes = sizeof(struct topfull_peer),
    .name = "topfull",
    .flags = WEIR_OVERLOAD_CLASSES,
    .arrive = topfull_arrive,
    .hint = topfull_hint,
    .send = topfull_send,
    .answered = topfull_answered};
