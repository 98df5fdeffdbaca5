/* gac_policy.h - how routers share the limit of a table: a setting, and a table's own choice. */
#pragma once

#include <stdint.h>

struct config;

/* How a router gets its part of a table's limit. */
enum gac_policy {
    GAC_OFF,      /* no limit except those of the partitions */
    GAC_STATIC,   /* its even part of the rate, without asking */
    GAC_PERIODIC, /* in each period, by all routers' demand (DynamoDB, ATC 2022, section 4.3) */
    GAC_LEASE,    /* on demand, so large that messages are rare */
    GAC_NAMED,    /* as the policy gac_policy says */
    GAC_POLICIES
};

/* A table's own choice: GAC_AS_CONFIGURED, or 1 + the policy. */
enum {
    GAC_AS_CONFIGURED = 0
};

/* The policy of a table with the choice `setting`. The profile off has no limits. */
enum gac_policy gac_policy_of(const struct config *config, uint8_t setting);
