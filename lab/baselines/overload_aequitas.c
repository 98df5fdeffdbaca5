/* overload_aequitas.c - a baseline: each class of requests has a probability to be admitted.
 *
 * The classes are the work within a limit and all other work. The probability of a class rises by
 * a hundredth in each interval in which one of its requests met the class's objective, and falls
 * by a hundredth with each admitted request that missed the objective. So the fall is in
 * proportion to the work that came too late. The objective is a wait of at most overload_limit_ms
 * within a limit, and overload_target_ms for other work: the loss of work within a limit comes
 * last.
 * Source: Zhang et al., "Aequitas: Admission Control for Performance-Critical RPCs in
 * Datacenters", SIGCOMM 2022; both steps as in its simulator (github.com/SymbioticLab/Aequitas).
 * Simplified: the sender keeps the probabilities there, one for each receiver and class. Here the
 * node keeps them, one for each link and class, because a router knows neither the class nor the
 * wait of a request. A request that is not admitted is refused; there it gets a lower class. All
 * requests count as one size, since the host does not tell sizes. In place of a random draw, a
 * class admits requests in even succession. The least probability is a hundredth; a tenth there.
 * The interval is overload_interval_ms: the published one, many times the objective, is made for
 * objectives of microseconds. */
#include "include/weir/policy_overload.h"

extern const struct weir_overload_policy weir_overload_aequitas;

enum {
    MILLION = 1000000,
    RAISE_PPM = MILLION / 100,
    LOWER_PPM = MILLION / 100,
    MIN_PPM = MILLION / 100, /* without any request nothing would be seen to raise it */
    CLASSES = 2
};

struct aequitas_class {
    int64_t raised_ns;
    int32_t admit_ppm;  /* 0: the class has just begun */
    int32_t credit_ppm; /* a request is admitted when a million has come together */
};

struct aequitas_node {
    struct aequitas_class classes[WEIR_OVERLOAD_SENDERS][CLASSES];
};
_Static_assert(sizeof(struct aequitas_node) <= WEIR_OVERLOAD_STATE_MAX, "the state fits");

static void aequitas_evaluate(struct aequitas_class *c, int64_t now_ns, bool met,
                              int64_t interval_ns)
{
    if (!met) {
        const int32_t less = c->admit_ppm - LOWER_PPM;
        c->admit_ppm = less > MIN_PPM ? less : MIN_PPM;
    } else if (now_ns - c->raised_ns >= interval_ns) {
        const int32_t more = c->admit_ppm + RAISE_PPM;
        c->admit_ppm = more < MILLION ? more : MILLION;
        c->raised_ns = now_ns;
    }
}

static bool aequitas_arrive(struct weir_arrival *a)
{
    struct aequitas_node *n = weir_arrival_state(a);
    const bool within_limit = weir_arrival_is_within_limit(a);
    struct aequitas_class *c = &n->classes[weir_arrival_sender(a)][within_limit];
    if (c->admit_ppm == 0)
        *c = (struct aequitas_class){.raised_ns = weir_arrival_now_ns(a), .admit_ppm = MILLION};
    c->credit_ppm += c->admit_ppm;
    if (c->credit_ppm < MILLION)
        return false;
    c->credit_ppm -= MILLION;
    const int64_t objective_ns =
        within_limit ? weir_arrival_limit_ns(a) : weir_arrival_target_ns(a);
    aequitas_evaluate(c, weir_arrival_now_ns(a), weir_arrival_wait_ns(a) <= objective_ns,
                      weir_arrival_interval_ns(a));
    return true;
}

const struct weir_overload_policy weir_overload_aequitas = {.size = sizeof weir_overload_aequitas,
                                                            .state_bytes =
                                                                sizeof(struct aequitas_node),
                                                            .name = "aequitas",
                                                            .flags = WEIR_OVERLOAD_CLASSES,
                                                            .arrive = aequitas_arrive};
