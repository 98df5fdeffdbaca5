/* result_limits.c - policies that exceed a limit or the optimum: then a measure against the optimum
 * says nothing of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/run/result_internal.h"
#include "router/json/json_writer.h"

/* So much beyond rate and bank in 10 s is more than requests that cost more than was known. */
#define OVER_ADMISSION_MAX 0.01

/* The greatest value of the runs; 0: there is none. */
static double result_greatest(const struct lab_result *r, uint32_t policy, uint32_t point,
                              const char *measure)
{
    double *samples = must_calloc((size_t)r->run_count + 1, sizeof *samples), greatest = 0;
    const struct lab_sample what = {
        .policy = policy, .point = point, .place = lab_result_place(measure)};
    const size_t count = lab_samples(r, &what, 0, samples, NULL);
    for (size_t i = 0; i < count; i++)
        greatest = fmax(greatest, samples[i]);
    free(samples);
    return greatest;
}

static bool result_exceeds(const struct lab_result *r, uint32_t policy, uint32_t point,
                           double *windows, double *over)
{
    *windows = result_greatest(r, policy, point, "optimum_violations");
    *over = result_greatest(r, policy, point, "over_admission_10s");
    return *windows > 0 || *over > OVER_ADMISSION_MAX;
}

bool lab_result_keeps_limits(const struct lab_result *r)
{
    double windows, over;
    for (uint32_t point = 0; point < r->point_count; point++) {
        for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
            if (!r->scenario->policies[p].exceeds && result_exceeds(r, p, point, &windows, &over))
                return false;
        }
    }
    return true;
}

void lab_result_print_limits(const struct lab_result *r, uint32_t point, struct buffer *out)
{
    double windows, over;
    for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
        const struct scenario_policy *policy = &r->scenario->policies[p];
        if (!result_exceeds(r, p, point, &windows, &over))
            continue;
        buffer_append_format(out, "%s %s exceeds",
                             policy->exceeds ? "note:" : "WRONG:", policy->name);
        if (windows > 0)
            buffer_append_format(out, " the optimum in %.0f windows", windows);
        if (over > OVER_ADMISSION_MAX)
            buffer_append_format(out, "%s its limit by %.3g times the rate in 10 s",
                                 windows > 0 ? " and" : "", over);
        buffer_append_text(out, ": false, goodput and other measures against the optimum say "
                                "nothing of it\n");
    }
}

void lab_result_write_limits(const struct lab_result *r, struct buffer *out)
{
    double windows, over;
    json_member_open(out, "exceeding", '[');
    for (uint32_t point = 0; point < r->point_count; point++) {
        for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
            if (!result_exceeds(r, p, point, &windows, &over))
                continue;
            json_write_open(out, '{');
            json_member_string(out, "point", r->points[point]);
            json_member_text(out, "policy", r->scenario->policies[p].name);
            json_member_bool(out, "declared", r->scenario->policies[p].exceeds);
            json_member_integer(out, "windows", (int64_t)windows);
            json_write_key(out, "over_admission_10s");
            json_write_decimal(out, over);
            json_write_close(out, '}');
        }
    }
    json_write_close(out, ']');
}
