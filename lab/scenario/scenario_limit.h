/* scenario_limit.h - reads limits of the rate limiter, and finds the limit of a workload.
 *
 * A workload with `limiter` acquires tokens: its key is the entity, the field names the resource.
 * Every bucket has one limit, SCENARIO_LIMIT_NAME, and every request takes one token. For the
 * measures a token is a write unit.
 * Not here: requests (lab/clients/acquires.c), what buckets hold
 * (lab/fidelity/full/bucket_audit.c). */
#pragma once

#include "lab/scenario/scenario.h"

#define SCENARIO_LIMIT_NAME "requests"

enum {
    SCENARIO_LIMIT_NONE = SCENARIO_LIMITS_MAX /* in place of a limit's number */
};

/* For the fields of scenario files. */
extern const struct field scenario_limit_fields[];
/* Reads a struct scenario_limit. As `read` of struct field. */
bool scenario_limit_read(struct reading *r, const struct document_node *n, void *target);

/* The number of the limit of an entity's bucket: the entity's own, or that of all entities.
 * SCENARIO_LIMIT_NONE: there is none. */
uint32_t scenario_limit_of(const struct scenario *s, struct slice entity, const char *resource);
/* The entity that all requests of the workload name; empty: it has many. */
struct slice scenario_limit_entity(const struct scenario_workload *w);
/* The limit of the buckets that the workload uses. */
uint32_t scenario_limit_of_workload(const struct scenario *s, const struct scenario_workload *w);
/* Tokens that are refilled in a second, in mcu. */
int64_t scenario_limit_rate_mcu(const struct scenario_limit *l);

/* A workload with `limiter` has what it needs, and nothing that would be ignored; its mix is set.
 * `n`: the workload in the file. False: reading_fail was called. */
bool scenario_limit_check_workload(struct reading *r, const struct document_node *n,
                                   const struct scenario *s, struct scenario_workload *w);
