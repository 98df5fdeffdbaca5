/* adversaries.h - policies that are wrong on purpose. They take the place of a scenario's first
 * policy, so that each scenario shows that its expectations can fail: a plug-in that comes with the
 * program.
 *
 *   refuse-all   refuses every request
 *   every-other  refuses every second request of a partition
 *   admit-all    refuses nothing; nothing is limited and nothing is shed
 *   delayed      the first policy, but what it admits is admitted two seconds later
 *
 * They see no more than policies from files do (docs/guide-policies.md). All have the flag
 * WEIR_PARTITION_SHARES: without it a table on demand would have another policy in their place
 * (admission_policy_of in engine/admission/admission.h).
 *
 * Not here: the settings that each adversary needs beside its policy, and what is judged
 * (lab/run/adversary.h). */
#pragma once

struct policies;

/* Stands for the file of their entries. */
extern const char adversaries_source[];

/* Adds all of them, unless they are there. */
void adversaries_add(struct policies *p);
