/* overload_dagor.c - a baseline: requests are refused by priority, and routers refuse them early.
 *
 * A node counts the requests of each priority for a while. If their average wait was longer than
 * the limit of the method, it lowers the level of priorities that it takes, so that a twentieth
 * less of what it took remains. Otherwise it raises the level for a hundredth more. Answers tell
 * the level, and routers refuse requests beyond it.
 * Source: Zhou et al., "Overload Control for Scaling WeChat Microservices", SoCC 2018 (DAGOR), with
 * its numbers.
 * Simplified: a request has one priority, by its partition key; there are no priorities of
 * businesses, and priorities of keys do not change from hour to hour. A level that rises over
 * priorities that routers hold back rises by one a window, since nobody counts those requests. */
#include <string.h>

#include "include/weir/policy_overload.h"

extern const struct weir_overload_policy weir_overload_dagor;

enum {
    WAIT_LIMIT_NS = 20000000,
    WINDOW_NS = 1000000000,
    WINDOW_REQUESTS = 2000,
    LESS_PERCENT = 5,
    MORE_PERCENT = 1,
    LEVELS = WEIR_OVERLOAD_PRIORITIES,
};

struct dagor_node {
    int64_t since_ns;
    int64_t waited_ns; /* the sum of this window's requests */
    uint32_t came;
    uint32_t taken;
    uint32_t level; /* priorities from here on are refused; 0: the node has just begun */
    uint32_t counts[LEVELS];
};
_Static_assert(sizeof(struct dagor_node) <= WEIR_OVERLOAD_STATE_MAX, "the state fits");

struct dagor_peer {
    uint32_t level; /* as the node told; 0: nothing was told */
};

static void dagor_window_end(struct dagor_node *n)
{
    uint64_t taken = n->taken;
    if (n->waited_ns > (int64_t)WAIT_LIMIT_NS * n->came) {
        const uint64_t target = taken * (100 - LESS_PERCENT) / 100;
        while (n->level > 1 && taken > target)
            taken -= n->counts[--n->level];
    } else {
        const uint64_t target = (taken * (100 + MORE_PERCENT) + 99) / 100;
        bool counted = true;
        while (n->level < LEVELS && taken < target && counted) {
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
    const int64_t now_ns = weir_arrival_now_ns(a);
    const uint32_t priority = weir_arrival_priority(a);
    if (n->level == 0) {
        n->level = LEVELS;
        n->since_ns = now_ns;
    }
    if (now_ns - n->since_ns >= WINDOW_NS || n->came >= WINDOW_REQUESTS) {
        n->since_ns = now_ns;
        dagor_window_end(n);
    }
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
    return n->level;
}

static bool dagor_send(struct weir_arrival *a)
{
    const struct dagor_peer *p = weir_arrival_state(a);
    return p->level == 0 || weir_arrival_priority(a) < p->level;
}

static void dagor_answered(struct weir_arrival *a, uint32_t hint)
{
    struct dagor_peer *p = weir_arrival_state(a);
    if (hint != 0)
        p->level = hint;
}

const struct weir_overload_policy weir_overload_dagor = {.size = sizeof weir_overload_dagor,
                                                         .state_bytes = sizeof(struct dagor_node),
                                                         .peer_bytes = sizeof(struct dagor_peer),
                                                         .name = "dagor",
                                                         .arrive = dagor_arrive,
                                                         .hint = dagor_hint,
                                                         .send = dagor_send,
                                                         .answered = dagor_answered};
