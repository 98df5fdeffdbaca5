/* policy_file.h - policies from shared objects (include/weir/policy.h). */
#pragma once

#include "base/policies.h"

/* Opens the file and adds its policies. The file stays open until the process ends, and `path` is
 * borrowed until then. STATUS_IO, STATUS_MALFORMED: `error` names the file, what is wrong with it,
 * and what is expected. */
enum status policy_file_load(struct policies *p, const char *path, struct buffer *error);

/* policy_file_load for an option of a command: NULL, or "", and `error` has the fault. */
const char *policy_file_take(void *policies, const char *path, struct buffer *error);

/* For a process: its policies are timed, and what they do wrong is a line on standard error. */
void policy_file_begin(struct policies *p);
