/* overload_dagor.c - a baseline: requests are refused by priority, and routers refuse them early.
 *
 * Work within a limit has the better half of the levels, other work the worse half. Within a half,
 * the level of a request follows from its partition key. These are the priorities of businesses
 * and of users in the source: the first decides, the second divides.
 * A node counts the requests of each priority for a window: overload_interval_ms, or two requests
 * for each of its milliseconds. If their average wait was longer than overload_target_ms, the node
 * lowers the level of priorities that it takes, so that a twentieth less of what it took remains.
 * Otherwise it raises the level for a hundredth more. Answers report the level, and routers refuse
 * requests beyond it.
 * Source: Zhou et al., "Overload Control for Scaling WeChat Microservices", SoCC 2018 (DAGOR), with
 * its numbers: 20 ms, and windows of a second or 2,000 requests.
 * Simplified: there are two businesses, and priorities of keys do not change from hour to hour. A
 * request is judged when the node begins with it, after its wait; there before it. A request does
 * not carry its priority: a router knows whether routers keep a limit of the table, a node whether
 * the partition's allocation has the cost. So a node reports, too, whether it has had work beyond
 * limits within a minute. Otherwise its routers take all for work within limits. A level that rises
 * over priorities that routers hold back rises by one a window, since nobody counts those requests.
 * A router discards a level that no answer has reported for a second: a node that takes nothing of
 * what its routers have would never be asked again. */
#include <string.h>

#include "include/weir/policy_overload.h"

extern const struct weir_overload_policy weir_overload_dagor;

enum {
    REQUESTS_NS = 500000, /* of a window, for each request that ends it */
    REPORTED_NS = 1000000000,
    BEYOND_SPANS = 60, /* of REPORTED_NS */
    LESS_PERCENT = 5,
    MORE_PERCENT = 1,
    LEVELS = WEIR_OVERLOAD_PRIORITIES,
    BEYOND = 2 * LEVELS, /* added to a reported level: the node has had work beyond limits */
};

struct dagor_node {
    int64_t since_ns;
    int64_t beyond_ns; /* when work beyond limits last came; 0: never */
    int64_t waited_ns; /* the sum of this window's requests */
    uint32_t came;
    uint32_t taken;
    uint32_t level; /* priorities from here on are refused; 0: the node has just begun */
    uint32_t counts[LEVELS];
};
_Static_assert(sizeof(struct dagor_node) <= WEIR_OVERLOAD_STATE_MAX, "the state fits");

struct dagor_peer {
    int64_t reported_ns;
    uint32_t level; /* as the node reported; 0: not yet */
    bool beyond;    /* the node has had work beyond limits */
};

static uint32_t dagor_priority(const struct weir_arrival *a, bool within)
{
    const uint32_t half = weir_arrival_priority(a) / 2;
    return within ? half : LEVELS / 2 + half;
}

static void dagor_window_end(struct dagor_node *n, int64_t target_ns)
{
    uint64_t taken = n->taken;
    if (n->waited_ns > target_ns * n->came) {
        const uint64_t target = taken * (100 - LESS_PERCENT) / 100;
        while (n->level > 1 && taken > target)
            taken -= n->counts[--n->level];
    } else {
        const uint64_t more = (taken * MORE_PERCENT + 99) / 100;
        const uint64_t target = taken + (more > 0 ? more : 1);
        bool counted = true;
        while (n->level < LEVELS && taken < target && (counted || taken == 0)) {
            counted = n->counts[n->level] > 0;
            taken += n->counts[n->level++];
        }
    }
    n->waited_ns = 0;
    n->came = n->taken = 0;
    memset(n->counts, 0, sizeof n->counts);
}

static bool dagor_arrive(struct weir_arrival *a)
{
    struct dagor_node *n = weir_arrival_state(a);
    const int64_t now_ns = weir_arrival_now_ns(a), window_ns = weir_arrival_interval_ns(a);
    const bool within = weir_arrival_is_within_limit(a);
    const uint32_t priority = dagor_priority(a, within);
    if (n->level == 0) {
        n->level = LEVELS;
        n->since_ns = now_ns;
    }
    if (now_ns - n->since_ns >= window_ns || n->came >= window_ns / REQUESTS_NS) {
        n->since_ns = now_ns;
        dagor_window_end(n, weir_arrival_target_ns(a));
    }
    if (!within)
        n->beyond_ns = now_ns;
    const bool taken = priority < n->level;
    n->waited_ns += weir_arrival_wait_ns(a);
    n->came++;
    n->taken += taken;
    n->counts[priority]++;
    return taken;
}

static uint32_t dagor_hint(struct weir_arrival *a)
{
    const struct dagor_node *n = weir_arrival_state(a);
    const bool beyond =
        n->beyond_ns != 0 && (weir_arrival_now_ns(a) - n->beyond_ns) / REPORTED_NS < BEYOND_SPANS;
    return n->level + (beyond ? BEYOND : 0);
}

static bool dagor_send(struct weir_arrival *a)
{
    const struct dagor_peer *p = weir_arrival_state(a);
    const bool within = weir_arrival_is_within_limit(a) || !p->beyond;
    if (p->level == 0 || weir_arrival_now_ns(a) - p->reported_ns >= REPORTED_NS)
        return true;
    return dagor_priority(a, within) < p->level;
}

static void dagor_answered(struct weir_arrival *a, uint32_t hint)
{
    struct dagor_peer *p = weir_arrival_state(a);
    if (hint == 0)
        return;
    p->reported_ns = weir_arrival_now_ns(a);
    p->level = hint % BEYOND;
    p->beyond = hint >= BEYOND;
}

const struct weir_overload_policy weir_overload_dagor = {.size = sizeof weir_overload_dagor,
                                                         .state_bytes = sizeof(struct dagor_node),
                                                         .peer_bytes = sizeof(struct dagor_peer),
                                                         .name = "dagor",
                                                         .flags = WEIR_OVERLOAD_CLASSES,
                                                         .arrive = dagor_arrive,
                                                         .hint = dagor_hint,
                                                         .send = dagor_send,
                                                         .answered = dagor_answered};
