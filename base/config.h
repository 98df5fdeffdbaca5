/* config.h - the settings of a process: limits.h's table, and which policies are in force.
 *
 * A file holds `name = value` lines; `#` starts a comment. Values of the table are whole numbers,
 * with an optional suffix: k, M, G or T (powers of 1000), or KiB, MiB, GiB or TiB (powers of 1024).
 * Sizes in bytes take kB, MB, GB and TB too, but not k, which is ambiguous. `profile` comes before
 * the settings it chooses: `partition_policy`, `gac`, `read_cap` and `split_delay_ms`. Only the
 * profile research allows other policies by name. */
#pragma once

#include "base/buffer.h"
#include "base/limits.h"

enum profile {
    PROFILE_OFF,          /* nothing is ever throttled */
    PROFILE_AWS,          /* the documented behaviour; the default */
    PROFILE_AWS_MEASURED, /* PROFILE_AWS with published measurements of the service */
    PROFILE_STRICT,       /* allocation only: no burst */
    PROFILE_RESEARCH,     /* starts as PROFILE_AWS; every setting may change */
};

/* What a burst write needs from the nodes of the other members. */
enum write_check {
    WRITE_CHECK_OFF,   /* nothing */
    WRITE_CHECK_GAUGE, /* headroom in their last report */
    WRITE_CHECK_LEASE, /* tokens they have set aside for this node */
    WRITE_CHECK_NAMED, /* as the policy headroom_policy says */
};

/* What counts as the headroom of a member that is silent for longer than report_deadline_ms. */
enum dead_member {
    DEAD_MEMBER_EXCLUDE,    /* the member is left out: it does no work */
    DEAD_MEMBER_LAST_KNOWN, /* the headroom that it reported last */
    DEAD_MEMBER_ZERO,       /* no headroom */
};

/* Whose tokens an eventual read may use. */
enum read_tokens {
    READ_TOKENS_LOCAL, /* tokens of the replica that serves the read */
    READ_TOKENS_GROUP, /* tokens of any replica */
};

/* The buckets of eventual reads that different replicas serve. */
enum read_cap {
    READ_CAP_GROUP,    /* the leader's buckets for all replicas */
    READ_CAP_MEASURED, /* READ_CAP_GROUP; two thirds of the reads count for the maximum */
    READ_CAP_REPLICA,  /* each replica has its own buckets */
};

/* How a router gets its part of a table's limit. */
enum gac_policy {
    GAC_OFF,    /* no limit except those of the partitions */
    GAC_STATIC, /* its even part of the rate, without asking */
    GAC_PERIODIC, /* in each period, by all routers' demand (DynamoDB, USENIX ATC 2022, section 4.3) */
    GAC_LEASE,    /* on demand, so large that messages are rare */
    GAC_NAMED,    /* as the policy gac_policy says */
    GAC_POLICIES
};

/* A table's own choice: GAC_AS_CONFIGURED, or 1 + the policy. */
enum {
    GAC_AS_CONFIGURED = 0
};

struct policies;

/* The most bytes of a policy's name, with the final zero. */
enum {
    POLICY_NAME_MAX = 32
};

struct config {
#define X(name, initial, least, most, help) int64_t name;
    LIMITS_LIST(X)
#undef X
    int64_t write_check; /* enum write_check */
    int64_t dead_member; /* enum dead_member */
    int64_t read_cap;    /* enum read_cap */
    int64_t read_tokens; /* enum read_tokens */
    int64_t gac;         /* of tables without a choice */
    enum profile profile;
    char partition_policy[POLICY_NAME_MAX]; /* policies by name; the profile chooses them */
    char node_policy[POLICY_NAME_MAX];
    char headroom_policy[POLICY_NAME_MAX]; /* for write_check = named */
    char gac_policy[POLICY_NAME_MAX];      /* for gac = named */
    char overload_policy[POLICY_NAME_MAX];
    char adaptive_policy[POLICY_NAME_MAX]; /* the controller's, from here on */
    char split_policy[POLICY_NAME_MAX];
    char demand_policy[POLICY_NAME_MAX];
    char relocate_policy[POLICY_NAME_MAX];
    struct policies *policies; /* borrows; those loaded from files (base/policies.h); may be NULL */
    char cluster_id[64];       /* the cluster of a daemon; empty: no name */
    char secret_file[256];     /* file with the secret of the cluster's daemons */
    char cors_origins[512];    /* none, loopback, * or a list: router/cors.c */
};

/* Defaults under the profile. */
void config_init(struct config *c, enum profile profile);

/* STATUS_MALFORMED: `error` gets one line that names the setting, the value and the allowed
 * values. */
enum status config_set(struct config *c, struct slice name, struct slice value,
                       struct buffer *error);

/* config_set for each line of a file; the error starts with the line number. */
enum status config_parse(struct config *c, struct slice text, struct buffer *error);

/* Checks the relations between settings that the code relies on. Call it once all are set.
 * STATUS_MALFORMED: `error` gets one line that names both settings, their values and the
 * relation. */
enum status config_check(const struct config *c, struct buffer *error);

/* Every setting, in groups: a line with value, unit and bounds, and a line with the meaning. */
void config_describe(const struct config *c, struct buffer *out);
/* The numbers and choices in which `c` differs from `from`: " name=value" for each. */
void config_describe_changes(const struct config *c, const struct config *from, struct buffer *out);

/* The policy of a table with the choice `said`. The profile off has no limits. */
static inline enum gac_policy gac_policy_of(const struct config *config, uint8_t said)
{
    if (config->profile == PROFILE_OFF)
        return GAC_OFF;
    return (enum gac_policy)(said == GAC_AS_CONFIGURED ? config->gac : said - 1);
}

bool profile_parse(struct slice name, enum profile *out);
const char *profile_name(enum profile profile);
