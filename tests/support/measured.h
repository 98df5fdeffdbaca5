/* measured.h - measures of runs that are small enough to be computed by hand. The tests of a file
 * share one run. */
#pragma once

#include "lab/measure/measure.h"

enum {
    REQUEST_ADMITTED = 0 /* enum admit_reason: ADMIT_OK */
};

extern struct measure *measured; /* owns; NULL: no run */

/* A new run instead of the present one. */
void measured_begin(const struct measure_options *options);
void measured_end(void);

/* The value of the measure, of what the selector says, or of the whole run. Fails the test if
 * there is none. */
double value_with(const char *name, struct measure_selector selector);
double value(const char *name);
void assert_about(double actual, double expected);

/* A request, or `count` requests of 1 unit each. `reason`: enum admit_reason. */
void request_at(uint32_t flow, double at_s, int64_t cost_mcu, uint32_t reason);
void requests_at(uint32_t flow, double at_s, int count, uint32_t reason);
void end_at(double at_s);
