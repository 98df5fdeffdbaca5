/* result_steadiness.c - policies whose runs are not steady after the warm-up. */
#include <math.h>

#include "lab/run/result_internal.h"
#include "router/json/json_writer.h"

struct steadiness {
    uint32_t checked, unsteady; /* runs */
    double change;              /* the greatest of the runs that are not steady, by size */
};

static struct steadiness steadiness_sum(const struct lab_result *r, uint32_t policy, uint32_t point)
{
    struct steadiness sum = {0};
    for (uint32_t i = 0; i < r->run_count; i++) {
        const struct lab_run_values *run = &r->runs[i];
        if (run->policy != policy || run->point != point || !run->steadiness_checked)
            continue;
        sum.checked++;
        if (run->steady)
            continue;
        sum.unsteady++;
        sum.change = fabs(run->change) > fabs(sum.change) ? run->change : sum.change;
    }
    return sum;
}

void lab_result_print_steadiness(const struct lab_result *r, uint32_t point, struct buffer *out)
{
    for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
        const struct steadiness sum = steadiness_sum(r, p, point);
        if (sum.unsteady > 0)
            buffer_append_format(
                out,
                "%s is not steady after `warm` in %u of %u runs: the admitted rate of the second "
                "half differs from the first by up to %+.2g %%\n",
                r->scenario->policies[p].name, sum.unsteady, sum.checked, sum.change * 100);
    }
}

static uint32_t count_checked(const struct lab_result *r)
{
    uint32_t checked = 0;
    for (uint32_t i = 0; i < r->run_count; i++)
        checked += r->runs[i].steadiness_checked;
    return checked;
}

void lab_result_write_steadiness(const struct lab_result *r, struct buffer *out)
{
    json_member_integer(out, "steadiness_checked", count_checked(r));
    json_member_open(out, "unsteady", '[');
    for (uint32_t point = 0; point < r->point_count; point++) {
        for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
            const struct steadiness sum = steadiness_sum(r, p, point);
            if (sum.unsteady == 0)
                continue;
            json_write_open(out, '{');
            json_member_string(out, "point", r->points[point]);
            json_member_text(out, "policy", r->scenario->policies[p].name);
            json_member_integer(out, "runs", sum.unsteady);
            json_member_integer(out, "checked", sum.checked);
            json_write_key(out, "change");
            json_write_decimal(out, sum.change);
            json_write_close(out, '}');
        }
    }
    json_write_close(out, ']');
}
