/* policy_credits.c - credits by class (weir's own): while a node is overloaded, a router sends it
 * only as many requests beyond limits as that node gives it credits for. Work within a limit needs
 * no credit.
 *
 * A queue that has stood above a third of the target for half an interval is no burst: the node
 * begins to give credits for requests in flight. They aim at a short queue, a 32nd of the target.
 * Credits shrink by how far the wait is above the aim, once no request has waited less than the aim
 * for as long as the aim. A pause of the process, because other programs run, makes long waits and
 * no such queue. Otherwise credits grow by a little. Each router gets a part by what it has sent
 * lately. A part below one is kept as a pause between two requests, an interval at most. What is
 * refused for want of credits costs the node nothing. Credits end when for RELEASE_NS no queue has
 * stood.
 * Behind the credits each node has a guard: while credits are given, it refuses what has waited
 * longer than the target, and work within a limit after overload_limit_ms.
 * Source: Cho et al., "Overload Control for us-scale RPCs with Breakwater", OSDI 2020, with its
 * numbers for growth and decrease. Classes, parts by demand, parts below one, a begin and an end,
 * and the difference between a wait and a standing queue are weir's. */
#include "include/weir/policy_overload.h"

extern const struct weir_overload_policy weir_overload_credits;

enum {
    AIM_PART = 32, /* of the target */
    AIM_MAX_PART = 2,
    BEGIN_PART = 3,
    AIM_SERVICES = 8, /* service times */
    SMOOTH = 16,
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
    int64_t begun_ns;   /* when the last request was begun */
    bool done;          /* it was not refused */
    int64_t service_ns; /* of a request, on average, with all other work meanwhile */
    int64_t queue_ns;   /* since when all have waited longer than the aim; 0: one has not */
    int64_t load_ns;    /* since when all have waited longer than a third of the target; 0 */
    int64_t stood_ns;   /* when a queue last stood above the aim */
    int64_t over_ns;    /* what the last request has waited beyond the aim, if a queue stands */
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

/* Since when all requests have waited longer than `most_ns`, with this one; 0: it has not. What
 * came after a pause of requests begins anew. */
static int64_t credits_since(int64_t since_ns, int64_t most_ns, int64_t now_ns, int64_t wait_ns,
                             int64_t pause_ns)
{
    if (wait_ns <= most_ns)
        return 0;
    return since_ns == 0 || pause_ns >= most_ns ? now_ns : since_ns;
}

/* The wait of a short queue. */
static int64_t credits_aim(const struct credits_node *n, const struct weir_arrival *a)
{
    const int64_t target_ns = weir_arrival_target_ns(a);
    const int64_t min_ns = target_ns / AIM_PART, max_ns = target_ns / AIM_MAX_PART;
    const int64_t aim_ns = AIM_SERVICES * n->service_ns;
    return aim_ns < min_ns ? min_ns : aim_ns < max_ns ? aim_ns : max_ns;
}

/* The time since the last request was begun is its service time, if this one was there by then. */
static void credits_time_service(struct credits_node *n, int64_t took_ns, int64_t wait_ns)
{
    if (n->done && took_ns <= wait_ns)
        n->service_ns += (took_ns - n->service_ns) / SMOOTH;
}

/* Begins and ends. */
static void credits_watch(struct credits_node *n, const struct weir_arrival *a)
{
    const int64_t now_ns = weir_arrival_now_ns(a), wait_ns = weir_arrival_wait_ns(a);
    const int64_t pause_ns = now_ns - wait_ns - n->begun_ns; /* no request came for so long */
    credits_time_service(n, now_ns - n->begun_ns, wait_ns);
    const int64_t aim_ns = credits_aim(n, a);
    int64_t load_ns = weir_arrival_target_ns(a) / BEGIN_PART;
    load_ns = load_ns > aim_ns ? load_ns : aim_ns;
    n->begun_ns = now_ns;
    n->queue_ns = credits_since(n->queue_ns, aim_ns, now_ns, wait_ns, pause_ns);
    n->load_ns = credits_since(n->load_ns, load_ns, now_ns, wait_ns, pause_ns);
    n->over_ns = n->queue_ns != 0 && now_ns - n->queue_ns >= aim_ns ? wait_ns - aim_ns : 0;
    if (n->over_ns > 0)
        n->stood_ns = now_ns;
    if (n->credits == 0 && n->load_ns != 0 &&
        now_ns - n->load_ns >= weir_arrival_interval_ns(a) / 2)
        n->credits = FIRST_CREDITS;
    else if (n->credits != 0 && now_ns - n->stood_ns >= RELEASE_NS)
        n->credits = 0;
}

static void credits_step(struct credits_node *n, int64_t aim_ns)
{
    if (++n->steps % RECENT_STEPS == 0)
        credits_fade(n);
    if (n->credits == 0)
        return;
    if (n->over_ns == 0) {
        n->credits += GROWTH;
    } else {
        const int64_t over = n->over_ns / (aim_ns / 1000 + 1); /* thousandths */
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
    n->arrivals[weir_arrival_sender(a)]++;
    n->all++;
    credits_watch(n, a);
    if (now_ns - n->step_ns >= STEP_NS) {
        n->step_ns = now_ns;
        credits_step(n, credits_aim(n, a));
    }
    n->done = n->credits == 0 || wait_ns <= weir_arrival_target_ns(a) ||
              (weir_arrival_is_within_limit(a) && wait_ns <= weir_arrival_limit_ns(a));
    return n->done;
}

static uint32_t credits_hint(struct weir_arrival *a)
{
    const struct credits_node *n = weir_arrival_state(a);
    const uint32_t own = n->arrivals[weir_arrival_sender(a)];
    const int64_t aim_ns = credits_aim(n, a);
    if (n->credits == 0)
        return CREDITS_FREE;
    int64_t part = n->all > 0 ? n->credits * own / n->all : n->credits;
    if (n->over_ns > 0) /* a queue that is there is worked off first */
        part = part * aim_ns / (aim_ns + n->over_ns);
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
    const int64_t aim_ns = weir_arrival_target_ns(a) / AIM_PART;
    int64_t took_ns = weir_arrival_now_ns(a) - p->sent_ns;
    took_ns = took_ns > aim_ns ? took_ns : aim_ns;
    if (hint != 0)
        p->part = hint == CREDITS_FREE ? 0 : hint;
    if (p->in_flight > 0)
        p->in_flight--;
    if (p->part == 0 || p->part >= CREDIT)
        return;
    int64_t pause_ns = took_ns * (CREDIT - p->part) / p->part;
    if (pause_ns > weir_arrival_interval_ns(a)) /* the node's queue may be gone long before */
        pause_ns = weir_arrival_interval_ns(a);
    p->free_ns = weir_arrival_now_ns(a) + pause_ns;
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
