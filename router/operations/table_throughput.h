/* table_throughput.h - ProvisionedThroughput, OnDemandThroughput and WarmThroughput of a table, in
 * requests and in descriptions. */
#pragma once

#include "router/core/operation.h"

struct throughput_spec {
    struct slice index; /* the name of the global index; size 0: of the table itself */
    bool provisioned;   /* rcu and wcu are given */
    int64_t rcu;
    int64_t wcu;
    bool has_maximum[ADMIT_KINDS];
    int64_t maximum[ADMIT_KINDS];
    int64_t warm[ADMIT_KINDS]; /* 0: not given */
};

/* Ends the service's texts about throughput that will not change. */
#define THROUGHPUT_GUIDE                                                                         \
    "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher " \
    "limits."

/* Reads the three members, which must have passed shape_check. */
bool table_read_throughput(struct call *c, const struct json_value *provisioned,
                           const struct json_value *on_demand, const struct json_value *warm,
                           struct throughput_spec *out);
/* Checks the request against the table, or the table of the index, and puts it into the spec.
 * spec->billing must be set. `t` is the present table, which keeps what is not given. NULL: the
 * table is new. */
bool table_take_throughput(struct call *c, const struct throughput_spec *requested,
                           const struct table *t, struct table_spec *spec);
/* Whether the spec changes the throughput or the billing mode of the table. */
bool table_spec_changes_throughput(const struct table_spec *spec, const struct table *t);
/* Refuses provisioned throughput together with PAY_PER_REQUEST. Always false. */
bool table_refuse_provisioned(struct call *c, const struct throughput_spec *requested);

/* Writes seconds since 1970. 0: the time is not known, and nothing is written. */
void table_date_write(struct buffer *out, const char *key, int64_t wall_ms);
/* Writes ProvisionedThroughput. */
void table_provisioned_write(struct buffer *out, const struct router *r, const struct table *t);
/* Writes OnDemandThroughput and WarmThroughput. `is_new`: WarmThroughput only if it is more than
 * what a new table has by itself. */
void table_throughput_write(struct buffer *out, const struct config *config, const struct table *t,
                            bool is_new);
