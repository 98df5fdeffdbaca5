/* admission_internal.h - what policies reach through include/weir/policy.h; for engine/admission
 * only. */
#pragma once

#include "base/policies.h"
#include "engine/admission/admission.h"

/* A request at a partition, with all buckets refilled up to `now`. */
struct weir_case {
    const struct weir_partition_policy *policy;
    struct admission_meter *meter;
    struct token_bucket *reserved; /* for the table on this node; NULL: none */
    struct node_admission *node;
    enum admit_kind kind;
    uint32_t weight; /* of the table */
    struct instant now;
    const struct admit_group *group; /* NULL: no other node is asked */
    const char *invalid;             /* the first that the policy passed; NULL: nothing */
    int64_t reserved_debited_mcu;    /* debited from `reserved` in this case */
};

extern const struct weir_partition_policy weir_partition_allocation;
extern const struct weir_partition_policy weir_partition_burst;
extern const struct weir_partition_policy weir_partition_always_burst;
extern const struct weir_partition_policy weir_partition_none;
extern const struct weir_node_policy weir_node_fair;
extern const struct weir_overload_policy weir_overload_delay;
extern const struct weir_overload_policy weir_overload_credits;
extern const struct weir_overload_policy weir_overload_off;

/* The debt limit of a bucket with this rate. */
int64_t admission_debt_max(const struct config *config, int64_t rate_mcu);
/* The capacity of a bucket with this rate and depth; at most INT64_MAX / 4. */
int64_t admission_depth(int64_t rate_mcu, int64_t depth_ms);

/* Refills the partition's buckets up to now. What does not fit the allocation goes to burst. */
void meter_refill(struct admission_meter *m, struct instant now);
