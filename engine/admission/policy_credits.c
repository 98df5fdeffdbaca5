/* policy_credits.c - credits by class (weir's own): while a node is overloaded, a router sends it
 * only as many requests beyond limits as that node gives it credits for. Work within a limit needs
 * no credit.
 *
 * A queue that has stood above the target for as long as the target is no burst: the node begins to
 * give credits for requests in flight. While requests wait at most the target, credits grow by a
 * little; otherwise they shrink by how far the wait is above it. Each router gets a part by what it
 * has sent lately. A part below one is kept as a pause between two requests. What is refused for
 * want of credits costs the node nothing. Credits end when no request has waited longer than the
 * target for RELEASE_NS.
 * Behind the credits each node has a guard: it refuses what has waited longer than twice the
 * target while credits are given, and work within a limit after overload_limit_ms.
 * Source: Cho et al., "Overload Control for us-scale RPCs with Breakwater", OSDI 2020, with its
 * numbers for growth and decrease. Classes, parts by demand, parts below one, and a begin and an
 * end are weir's. */
#include "include/weir/policy_overload.h"

extern const struct weir_overload_policy weir_overload_credits;

enum {
    STEP_NS = 1000000,
    RELEASE_NS = 1000000000,
    RECENT_STEPS = 64, /* of arrivals of senders */
    CREDIT = 1000,     /* credits are counted in thousandths */
    GROWTH = CREDIT,   /* a step */
    DECREASE_PERCENT = 2,
    DECREASE_MAX = 500, /* thousandths */
    FIRST_CREDITS = 64 * CREDIT,
    MIN_CREDITS = CREDIT,
    MAX_CREDITS = 1000000 * CREDIT,
};

#define CREDITS_FREE UINT32_MAX /* the hint of a node that gives no credits */

struct credits_node {
    int64_t credits; /* 0: none are given */
    int64_t step_ns;
    int64_t short_ns; /* when a request last waited at most the target */
    int64_t long_ns;  /* when one last waited longer */
    int64_t wait_ns;  /* of the last request */
    uint32_t steps;
    uint32_t all;                             /* of arrivals */
    uint32_t arrivals[WEIR_OVERLOAD_SENDERS]; /* lately */
};
_Static_assert(sizeof(struct credits_node) <= WEIR_OVERLOAD_STATE_MAX, "the state fits");

struct credits_peer {
    uint32_t part; /* thousandths of a credit, as the node told; 0: no credits are needed */
    uint32_t in_flight;
    int64_t sent_ns, free_ns; /* with a part below one: no request before that */
};
_Static_assert(sizeof(struct credits_peer) <= WEIR_POLICY_STATE_MAX, "the state fits");

static void credits_fade(struct credits_node *n)
{
    n->all = 0;
    for (uint32_t i = 0; i < WEIR_OVERLOAD_SENDERS; i++) {
        n->arrivals[i] /= 2;
        n->all += n->arrivals[i];
    }
}

/* Begins and ends. */
static void credits_watch(struct credits_node *n, int64_t now_ns, int64_t wait_ns,
                          int64_t target_ns)
{
    *(wait_ns <= target_ns ? &n->short_ns : &n->long_ns) = now_ns;
    /* What came after a pause has waited for the last turn alone. */
    if (now_ns - wait_ns - n->step_ns >= target_ns)
        n->short_ns = now_ns;
    if (n->credits == 0 && wait_ns > target_ns && now_ns - n->short_ns >= target_ns)
        n->credits = FIRST_CREDITS;
    else if (n->credits != 0 && now_ns - n->long_ns >= RELEASE_NS)
        n->credits = 0;
}

static void credits_step(struct credits_node *n, int64_t wait_ns, int64_t target_ns)
{
    if (++n->steps % RECENT_STEPS == 0)
        credits_fade(n);
    if (n->credits == 0)
        return;
    if (wait_ns <= target_ns) {
        n->credits += GROWTH;
    } else {
        const int64_t over = (wait_ns - target_ns) / (target_ns / 1000 + 1); /* thousandths */
        const int64_t lost = over * DECREASE_PERCENT / 100;
        n->credits -= n->credits * (lost < DECREASE_MAX ? lost : DECREASE_MAX) / 1000;
    }
    if (n->credits > MAX_CREDITS)
        n->credits = MAX_CREDITS;
    if (n->credits < MIN_CREDITS)
        n->credits = MIN_CREDITS;
}

static bool credits_arrive(struct weir_arrival *a)
{
    struct credits_node *n = weir_arrival_state(a);
    const int64_t now_ns = weir_arrival_now_ns(a), wait_ns = weir_arrival_wait_ns(a);
    const int64_t target_ns = weir_arrival_target_ns(a);
    n->arrivals[weir_arrival_sender(a)]++;
    n->all++;
    n->wait_ns = wait_ns;
    credits_watch(n, now_ns, wait_ns, target_ns);
    if (now_ns - n->step_ns >= STEP_NS) {
        n->step_ns = now_ns;
        credits_step(n, wait_ns, target_ns);
    }
    return n->credits == 0 || wait_ns <= 2 * target_ns ||
           (weir_arrival_is_within_limit(a) && wait_ns <= weir_arrival_limit_ns(a));
}

static uint32_t credits_hint(struct weir_arrival *a)
{
    const struct credits_node *n = weir_arrival_state(a);
    const uint32_t own = n->arrivals[weir_arrival_sender(a)];
    if (n->credits == 0)
        return CREDITS_FREE;
    int64_t part = n->all > 0 ? n->credits * own / n->all : n->credits;
    if (n->wait_ns > weir_arrival_target_ns(a)) /* a queue that is there is worked off first */
        part = part * weir_arrival_target_ns(a) / n->wait_ns;
    return part < 1 ? 1 : part < CREDITS_FREE ? (uint32_t)part : CREDITS_FREE - 1;
}

static bool credits_send(struct weir_arrival *a)
{
    struct credits_peer *p = weir_arrival_state(a);
    const int64_t now_ns = weir_arrival_now_ns(a);
    const bool free = p->part == 0 || weir_arrival_is_within_limit(a);
    if (!free && p->part >= CREDIT && p->in_flight >= p->part / CREDIT)
        return false;
    if (!free && p->part < CREDIT && (p->in_flight > 0 || now_ns < p->free_ns))
        return false;
    p->in_flight++;
    p->sent_ns = now_ns;
    return true;
}

static void credits_answered(struct weir_arrival *a, uint32_t hint)
{
    struct credits_peer *p = weir_arrival_state(a);
    /* One that was refused came back at once; another one would wait. */
    const int64_t target_ns = weir_arrival_target_ns(a);
    int64_t took_ns = weir_arrival_now_ns(a) - p->sent_ns;
    took_ns = took_ns > target_ns ? took_ns : target_ns;
    if (hint != 0)
        p->part = hint == CREDITS_FREE ? 0 : hint;
    if (p->in_flight > 0)
        p->in_flight--;
    if (p->part != 0 && p->part < CREDIT)
        p->free_ns = weir_arrival_now_ns(a) + took_ns * (CREDIT - p->part) / p->part;
}

const struct weir_overload_policy weir_overload_credits = {
    .size = sizeof weir_overload_credits,
    .state_bytes = sizeof(struct credits_node),
    .peer_bytes = sizeof(struct credits_peer),
    .name = "credits",
    .flags = WEIR_OVERLOAD_CLASSES,
    .arrive = credits_arrive,
    .hint = credits_hint,
    .send = credits_send,
    .answered = credits_answered};
