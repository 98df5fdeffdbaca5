/* lab_inputs.h - what the results of a plan depend on beside its texts: this build of weir, and the
 * files that runs read (policies, traces, recordings), by their SHA-256.
 *
 *   "build":"638bbde7a1b2","inputs":[{"file":"./mine.so","sha256":"5f2c.."}]
 *
 * Not here: the scenario and what was set. The directory has these texts themselves
 * (lab_files.h). */
#pragma once

#include "lab/run/plan.h"

/* Writes both members into an open object. False: a file cannot be read; `error` gets one line. */
bool lab_inputs_write(const struct lab_plan *p, struct buffer *json, struct buffer *error);

/* Appends both members of a plan's JSON, without braces; nothing if it has none. */
void lab_inputs_copy(const struct buffer *plan, struct buffer *members);

/* Whether two plans name the same inputs, and the same build if `build_too`. Otherwise `error` gets
 * the first difference, as the end of a sentence. */
bool lab_inputs_are_same(const struct buffer *then, const struct buffer *now, bool build_too,
                         struct buffer *error);
