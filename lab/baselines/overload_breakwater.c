/* overload_breakwater.c - a baseline: a router sends a node only as many requests as that node gave
 * it credits for.
 *
 * A node has credits for requests in flight. While requests wait less than the target, the credits
 * grow by a little; otherwise they shrink by how far the wait is above it. Each router may have its
 * part of them in flight; further requests are refused at the router. What still waits longer than
 * twice the target at the node is refused there.
 * Source: Cho et al., "Overload Control for us-scale RPCs with Breakwater", OSDI 2020, with its
 * numbers for growth and decrease.
 * Simplified: all routers that asked within a second have equal parts; routers do not tell what
 * they would send. A router's part is never less than one. Credits change once a millisecond. */
#include "include/weir/policy_overload.h"

extern const struct weir_overload_policy weir_overload_breakwater;

enum {
    STEP_NS = 1000000,
    SENDER_ACTIVE_NS = 1000000000,
    CREDIT = 1000,   /* credits are counted in thousandths */
    GROWTH = CREDIT, /* a step, or a thousandth of a credit for each router if that is more */
    DECREASE_PERCENT = 2,
    FIRST_CREDITS = 64 * CREDIT,
    MAX_CREDITS = 1000000 * CREDIT,
};

struct breakwater_node {
    int64_t credits;
    int64_t step_ns;
    int64_t seen_ns[WEIR_OVERLOAD_SENDERS]; /* when the sender's last request came; 0: never */
    uint32_t senders;                       /* active at the last step */
};
_Static_assert(sizeof(struct breakwater_node) <= WEIR_OVERLOAD_STATE_MAX, "the state fits");

struct breakwater_peer {
    uint32_t credits; /* as the node told; 0: nothing was told */
    uint32_t in_flight;
};

static void breakwater_step(struct breakwater_node *n, int64_t now_ns, int64_t wait_ns,
                            int64_t target_ns)
{
    n->step_ns = now_ns;
    n->senders = 0;
    for (uint32_t i = 0; i < WEIR_OVERLOAD_SENDERS; i++)
        n->senders += n->seen_ns[i] != 0 && now_ns - n->seen_ns[i] < SENDER_ACTIVE_NS;
    if (wait_ns <= target_ns) {
        n->credits += n->senders > GROWTH ? n->senders : GROWTH;
    } else {
        int64_t over =
            (wait_ns - target_ns) / (target_ns / 1000 + 1); /* thousandths of the target */
        int64_t lost = over * DECREASE_PERCENT / 100;
        n->credits -= n->credits * (lost < 500 ? lost : 500) / 1000;
    }
    if (n->credits > MAX_CREDITS)
        n->credits = MAX_CREDITS;
    if (n->credits < CREDIT)
        n->credits = CREDIT;
}

static bool breakwater_arrive(struct weir_arrival *a)
{
    struct breakwater_node *n = weir_arrival_state(a);
    const int64_t now_ns = weir_arrival_now_ns(a), wait_ns = weir_arrival_wait_ns(a);
    const int64_t target_ns = weir_arrival_target_ns(a);
    if (n->credits == 0)
        n->credits = FIRST_CREDITS;
    n->seen_ns[weir_arrival_sender(a)] = now_ns > 0 ? now_ns : 1;
    if (now_ns - n->step_ns >= STEP_NS)
        breakwater_step(n, now_ns, wait_ns, target_ns);
    return wait_ns <= 2 * target_ns;
}

static uint32_t breakwater_hint(struct weir_arrival *a)
{
    const struct breakwater_node *n = weir_arrival_state(a);
    int64_t each = n->credits / CREDIT / (n->senders > 0 ? n->senders : 1);
    return each > 1 ? (uint32_t)each : 1;
}

static bool breakwater_send(struct weir_arrival *a)
{
    struct breakwater_peer *p = weir_arrival_state(a);
    if (p->credits != 0 && p->in_flight >= p->credits)
        return false;
    p->in_flight++;
    return true;
}

static void breakwater_answered(struct weir_arrival *a, uint32_t hint)
{
    struct breakwater_peer *p = weir_arrival_state(a);
    if (hint != 0)
        p->credits = hint;
    if (p->in_flight > 0)
        p->in_flight--;
}

const struct weir_overload_policy weir_overload_breakwater = {
    .size = sizeof weir_overload_breakwater,
    .state_bytes = sizeof(struct breakwater_node),
    .peer_bytes = sizeof(struct breakwater_peer),
    .name = "breakwater",
    .arrive = breakwater_arrive,
    .hint = breakwater_hint,
    .send = breakwater_send,
    .answered = breakwater_answered};
