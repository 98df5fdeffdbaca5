/* table_throughput.h - ProvisionedThroughput, OnDemandThroughput and WarmThroughput of a table, in
 * requests and in descriptions. */
#pragma once

#include "router/operations/operation.h"

struct throughput_asked {
    bool provisioned; /* rcu and wcu are given */
    int64_t rcu;
    int64_t wcu;
    bool has_maximum[ADMIT_KINDS];
    int64_t maximum[ADMIT_KINDS];
    int64_t warm[ADMIT_KINDS]; /* 0: not given */
};

/* Reads the three members, which must have passed shape_check. */
bool table_read_throughput(struct call *c, const struct json_value *provisioned,
                           const struct json_value *on_demand, const struct json_value *warm,
                           struct throughput_asked *out);
/* Checks the request against the table, and puts it into the spec. spec->billing must be set. `t`
 * is the present table, which keeps what is not given. NULL: the table is new. */
bool table_take_throughput(struct call *c, const struct throughput_asked *asked,
                           const struct table *t, struct table_spec *spec);
/* Refuses provisioned throughput together with PAY_PER_REQUEST. Always false. */
bool table_refuse_provisioned(struct call *c);

/* Writes OnDemandThroughput and WarmThroughput. `is_new`: WarmThroughput only if it is more than
 * what a new table has by itself. */
void table_throughput_write(struct buffer *out, const struct config *config, const struct table *t,
                            bool is_new);
