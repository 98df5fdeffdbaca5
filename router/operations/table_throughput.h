/* table_throughput.h - ProvisionedThroughput, OnDemandThroughput and WarmThroughput of a table: as
 * they are asked for, and as they are described. */
#ifndef WEIR_ROUTER_OPERATIONS_TABLE_THROUGHPUT_H
#define WEIR_ROUTER_OPERATIONS_TABLE_THROUGHPUT_H

#include "router/operations/operation.h"

struct throughput_asked {
    bool provisioned; /* rcu and wcu */
    int64_t rcu;
    int64_t wcu;
    bool has_maximum[ADMIT_KINDS];
    int64_t maximum[ADMIT_KINDS];
    int64_t warm[ADMIT_KINDS]; /* 0: not asked */
};

/* From the three members, that passed shape_check. */
bool table_read_throughput(struct call *c, const struct json_value *provisioned,
                           const struct json_value *on_demand, const struct json_value *warm,
                           struct throughput_asked *out);
/* Into the spec, whose billing is known. `t`: the table as it is, which keeps what is not asked
 * for; NULL: there is none yet. */
bool table_take_throughput(struct call *c, const struct throughput_asked *asked,
                           const struct table *t, struct table_spec *spec);
/* What does not go with PAY_PER_REQUEST was asked for. */
bool table_refuse_provisioned(struct call *c);

/* OnDemandThroughput and WarmThroughput. */
void table_throughput_write(struct buffer *out, const struct config *config, const struct table *t);

#endif
