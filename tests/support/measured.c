/* measured.c - measures of runs that are small enough to be computed by hand. */
#include "tests/support/measured.h"

#include <math.h>

#include "base/instant.h"
#include "tests/check.h"

struct measure *measured;

void measured_begin(const struct measure_options *options)
{
    measured_end();
    measured = measure_create(options);
}

void measured_end(void)
{
    if (measured != NULL)
        measure_destroy(measured);
    measured = NULL;
}

double value_with(const char *name, struct measure_selector selector)
{
    char error[2048];
    double result;
    const char *fault = measure_value(measured, name, &selector, &result, error, sizeof error);
    if (fault != NULL)
        fail_msg("%s", fault);
    return result;
}

double value(const char *name)
{
    return value_with(name, MEASURE_ALL);
}

void assert_about(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-9 * fmax(1, fabs(expected))))
        fail_msg("%.12g is not %.12g", actual, expected);
}

void request_at(uint32_t flow, double at_s, int64_t cost_mcu, uint32_t reason)
{
    const bool admitted = reason == REQUEST_ADMITTED;
    measure_request(measured, &(struct measure_request){.flow = flow,
                                                        .reason = reason,
                                                        .at_ns = (int64_t)(at_s * 1e9 + 0.5),
                                                        .cost_mcu = cost_mcu,
                                                        .latency_ns = admitted ? 1000000 : -1});
}

void requests_at(uint32_t flow, double at_s, int count, uint32_t reason)
{
    for (int i = 0; i < count; i++)
        request_at(flow, at_s, 1000, reason);
}

void end_at(double at_s)
{
    measure_end(measured, (int64_t)(at_s * 1e9 + 0.5));
}
