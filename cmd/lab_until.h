/* lab_until.h - `--until`: seeds are added until the results are precise (lab/run/until.h). */
#pragma once

#include "base/fields.h"
#include "cmd/lab_jobs.h"

/* Of a struct lab_until. */
extern const struct field lab_until_options[2];

/* Runs all seeds of `p`, which is the plan of `o`. With --until: some first, then more, until the
 * results are precise. `p` then has the seeds that were run. */
enum lab_jobs_end lab_until_run(const struct lab_jobs_options *o, struct lab_plan *p);
