/* Processors in the optimum, of runs that are small enough to be computed by hand. */
#include "base/instant.h"
#include "tests/check.h"
#include "tests/support/measured.h"

enum {
    OK = REQUEST_ADMITTED,
    NODE = 3
};

static int finish(void **state)
{
    (void)state;
    measured_end();
    return 0;
}

FIXTURE(NULL, finish)

enum {
    LEADER,
    FOLLOWER,
    ALL_NODES,
    PROCESSORS
};

/* One core each. The objective is 0.2 s. A write takes 50 ms of its leader and of a follower. */
static uint32_t flow_on_processors(uint32_t processors[PROCESSORS], int64_t queue_ms)
{
    measured_begin(&(struct measure_options){.objective_ns = 200 * NS_PER_MS});
    struct measure_processor path[PROCESSORS];
    for (uint32_t i = 0; i < PROCESSORS; i++) {
        const int64_t cores = i == ALL_NODES ? 2 : 1, second = NS_PER_S * MEASURE_PS_PER_NS * cores;
        processors[i] = measure_add_resource(measured, MEASURE_PROCESSORS);
        measure_set_bucket(measured, processors[i], second, second / 5);
        measure_set_capacity(measured, processors[i], second / 1000 * (300 - queue_ms));
        path[i] = (struct measure_processor){processors[i], (enum measure_work)i};
    }
    const uint32_t stream = measure_add_stream(measured, 1, 1, 1);
    const uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    measure_set_processors(measured, flow, path, PROCESSORS);
    return flow;
}

static void write_at(uint32_t flow, double at_s, int64_t latency_ms, uint32_t reason)
{
    const int64_t work_ns = 50 * NS_PER_MS;
    const struct measure_request r = {.flow = flow,
                                      .reason = reason,
                                      .at_ns = (int64_t)(at_s * 1e9),
                                      .cost_mcu = 1000,
                                      .latency_ns = latency_ms * NS_PER_MS,
                                      .work_ns = {work_ns, work_ns, 2 * work_ns, 2 * work_ns}};
    measure_request(measured, &r);
}

TEST(processors_have_the_window_and_the_objective_behind_it)
{
    uint32_t processors[PROCESSORS];
    const uint32_t a = flow_on_processors(processors, 0);
    for (int i = 0; i < 10; i++) /* 0.3 s are enough for 6, later for 2 a window */
        write_at(a, 0.01, 100, i < 6 ? OK : NODE);
    for (int i = 0; i < 10; i++)
        write_at(a, 0.11, 100, i < 1 ? OK : NODE);
    end_at(0.2);
    assert_about(value("fair_rate"), 8 / 0.2);
    assert_about(value("false_throttle"), 1.0 / 20);
    assert_about(value("goodput_ratio"), 7.0 / 8);
    assert_about(value("optimum_violations"), 0);
}

TEST(a_queue_at_the_start_of_a_window_takes_processor_time)
{
    uint32_t processors[PROCESSORS];
    const uint32_t a = flow_on_processors(processors, 100);
    for (int i = 0; i < 10; i++)
        write_at(a, 0.01, 100, NODE);
    end_at(0.1);
    assert_about(value("fair_rate"), 4 / 0.1);
}

/* A policy may admit more than processors can do. Then not all is served in time. */
static double violations_of(int in_time, int late, bool moved)
{
    uint32_t processors[PROCESSORS];
    const uint32_t a = flow_on_processors(processors, 0);
    write_at(a, 0.01, 100, OK);
    if (moved)
        measure_set_processors(measured, a,
                               &(struct measure_processor){processors[LEADER], MEASURE_SERVING}, 1);
    for (int i = 1; i < in_time + late; i++)
        write_at(a, 0.02, i < in_time ? 100 : 300, OK);
    end_at(0.1);
    return value("optimum_violations");
}

TEST(more_in_time_than_processors_can_do_is_a_violation)
{
    assert_about(violations_of(6, 4, false), 0);
    assert_about(violations_of(7, 0, false), 1);
    assert_about(violations_of(7, 0, true), 0); /* some of the work was done elsewhere */
}

/* One request of ten takes a fifth of what the others take: nine could not have been served, but
 * who knows in which order they came? */
TEST(the_bound_counts_the_least_work_and_max_min_the_mean)
{
    uint32_t processors[PROCESSORS];
    const uint32_t a = flow_on_processors(processors, 0);
    struct measure_request quick = {.flow = a, .at_ns = 1, .cost_mcu = 1000, .latency_ns = 1};
    quick.work_ns[MEASURE_SERVING] = 10 * NS_PER_MS;
    measure_request(measured, &quick);
    for (int i = 1; i < 10; i++)
        write_at(a, 0.01, 100, OK);
    end_at(0.1);
    assert_about(value("optimum_violations"), 0);
    assert_about(value("fair_rate"), 6.521 / 0.1); /* 0.3 s of 46 ms each */
}
