/* policy_delay.c - queue-delay shedding (weir's own), and no shedding.
 *
 * delay  A queue that has stood longer than the target for a whole interval is no burst: more work
 *        comes than can be done. From then on only requests that waited at most the target are
 *        done, so the queue stays at the target. Work within a limit is done up to
 *        overload_limit_ms: it is refused only if such work alone is too much. Requests are begun
 *        in the order in which they came, so what is refused is the oldest. It ends when for a
 *        whole interval no request has waited longer than the target.
 *        Source: CoDel (Nichols and Jacobson, ACM Queue 2012), in the form that serves requests
 *        instead of packets (Maurer, "Fail at Scale", ACM Queue 2015): the allowed wait shrinks,
 *        instead of a rate of drops that grows by a square root.
 * off    Nothing is refused. */
#include "include/weir/policy_overload.h"

extern const struct weir_overload_policy weir_overload_delay;
extern const struct weir_overload_policy weir_overload_off;

struct delay_state {
    int64_t begun_ns; /* when the last request was begun */
    int64_t
        above_ns; /* since when every request has waited longer than the target; 0: one has not */
    int64_t long_ns; /* when a request last had waited longer */
    bool overloaded;
};

static bool delay_arrive(struct weir_arrival *a)
{
    struct delay_state *s = weir_arrival_state(a);
    const int64_t now_ns = weir_arrival_now_ns(a), wait_ns = weir_arrival_wait_ns(a);
    const int64_t target_ns = weir_arrival_target_ns(a), interval_ns = weir_arrival_interval_ns(a);
    /* For so long no request came: no queue has stood. A turn of the loop that is longer than the
     * interval is no such pause, because requests came during it. */
    const int64_t pause_ns = now_ns - wait_ns - s->begun_ns;
    s->begun_ns = now_ns;
    if (wait_ns <= target_ns) {
        s->above_ns = 0;
        s->overloaded = s->overloaded && now_ns - s->long_ns < interval_ns;
        return true;
    }
    s->long_ns = now_ns;
    if (s->above_ns == 0 || pause_ns >= interval_ns)
        s->above_ns = now_ns;
    s->overloaded = s->overloaded || now_ns - s->above_ns >= interval_ns;
    return !s->overloaded ||
           (weir_arrival_is_within_limit(a) && wait_ns <= weir_arrival_limit_ns(a));
}

static bool off_arrive(struct weir_arrival *a)
{
    (void)a;
    return true;
}

const struct weir_overload_policy weir_overload_delay = {.size = sizeof weir_overload_delay,
                                                         .state_bytes = sizeof(struct delay_state),
                                                         .name = "delay",
                                                         .arrive = delay_arrive};
const struct weir_overload_policy weir_overload_off = {
    .size = sizeof weir_overload_off, .name = "off", .arrive = off_arrive};
