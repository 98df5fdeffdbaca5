#include "cmd/lab_until.h"

#include <stdlib.h>
#include <string.h>

/* "2%", in ppm. */
static const char *take_until(void *target, const char *value)
{
    struct lab_until *until = target;
    char *end;
    const double percent = strtod(value, &end);
    if (end == value || strcmp(end, "%") != 0 || !(percent >= 0.01 && percent <= 50))
        return "a percentage from 0.01% to 50%, such as 2%";
    until->ppm = (int64_t)(percent * 10000 + 0.5);
    return NULL;
}

static const char *take_measures(void *target, const char *value)
{
    struct lab_until *until = target;
    until->measures = slice_of(value);
    return value[0] == 0 ? "names of measures with commas between them" : NULL;
}

const struct field lab_until_options[2] = {
    {"until", FIELD_PARSED, .form = "P%", .parse = take_until, .initial = "",
     .help = "Run further seeds of all policies until the half width of the 95 % interval is at "
             "most P % of the mean, for the values of all expectations. At least 5 seeds are run, "
             "and at most --seeds, by default 50. docs/measures.md has the rule."},
    {"measures", FIELD_PARSED, .form = "NAME,..", .parse = take_measures, .initial = "",
     .help = "With --until: these measures of all policies, in place of the expectations."},
};

static bool results_are_precise(const char *directory, const struct lab_plan *p)
{
    struct lab_result *r = lab_result_create(p->scenario, p->options.fidelity);
    struct buffer error = {0};
    bool precise = true; /* with a fault, which is found again when all is printed */
    if (lab_files_gather(directory, p, r, &error)) {
        lab_result_evaluate(r);
        precise = lab_result_is_precise(r);
    }
    lab_result_destroy(r);
    buffer_deinit(&error);
    return precise;
}

enum lab_jobs_end lab_until_run(const struct lab_jobs_options *o, struct lab_plan *p)
{
    must(o->plan == p);
    if (p->options.until.ppm == 0)
        return lab_jobs_run(o);
    enum lab_jobs_end end;
    do {
        p->seeds_now = statistics_next_analysis(p->seeds_now, p->seeds);
        end = lab_jobs_run(o);
    } while (end == LAB_JOBS_DONE && p->seeds_now < p->seeds &&
             !results_are_precise(o->directory, p));
    return end;
}
