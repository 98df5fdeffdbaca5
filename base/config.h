/* config.h - the settings of a process: limits.h's table, and which policies are in force.
 *
 * A file holds `name = value` lines; `#` starts a comment. Values of the table are whole numbers,
 * with an optional suffix: k, M, G or T (powers of 1000), or KiB, MiB, GiB or TiB (powers of 1024).
 * Sizes in bytes take kB, MB, GB and TB too, but not k: that is 1000 to some and 1024 to others.
 * `profile` comes before the settings it chooses: `partition_policy`, `gac`, `read_cap` and
 * `split_delay_ms`. Only the profile research lets the first be set to something else. */
#ifndef WEIR_BASE_CONFIG_H
#define WEIR_BASE_CONFIG_H

#include "base/buffer.h"
#include "base/limits.h"

enum profile {
    PROFILE_OFF,          /* nothing is ever throttled */
    PROFILE_AWS,          /* the documented behaviour; the default */
    PROFILE_AWS_MEASURED, /* the same with what others have measured of the service */
    PROFILE_STRICT,       /* allocation only: no burst */
    PROFILE_RESEARCH,     /* the aws start, every parameter free */
};

/* What a burst write asks of the group's other nodes. */
enum write_check {
    WRITE_CHECK_OFF,   /* nothing */
    WRITE_CHECK_GAUGE, /* headroom in their last report */
    WRITE_CHECK_LEASE, /* tokens they have set aside for this node */
};

/* What counts as the headroom of a member that is silent for longer than report_deadline_ms. */
enum dead_member {
    DEAD_MEMBER_EXCLUDE,    /* it is not asked: it does no work */
    DEAD_MEMBER_LAST_KNOWN, /* what it told last */
    DEAD_MEMBER_ZERO,       /* none */
};

/* Whose tokens an eventual read may use. */
enum read_tokens {
    READ_TOKENS_LOCAL, /* those of the replica that serves it */
    READ_TOKENS_GROUP, /* those of any replica */
};

/* What eventual reads that different replicas serve have in common. */
enum read_cap {
    READ_CAP_GROUP,    /* the leader's buckets, for all of them */
    READ_CAP_MEASURED, /* the same; towards the partition maximum two thirds of them count */
    READ_CAP_REPLICA,  /* nothing: each replica has its own */
};

/* How a router gets its part of what a table may use. */
enum gac_policy {
    GAC_OFF,      /* there is no limit but those of the partitions */
    GAC_STATIC,   /* its even part of the rate, without asking */
    GAC_PERIODIC, /* each period, by what all want (DynamoDB, USENIX ATC 2022, section 4.3) */
    GAC_LEASE,    /* when it runs low, as little as keeps messages rare */
    GAC_POLICIES
};

/* What a table says about it: nothing, or 1 + the policy. */
enum {
    GAC_AS_CONFIGURED = 0
};

struct config {
#define X(name, initial, least, most, help) int64_t name;
    LIMITS_LIST(X)
#undef X
    int64_t write_check; /* enum write_check */
    int64_t dead_member; /* enum dead_member */
    int64_t read_cap;    /* enum read_cap */
    int64_t read_tokens; /* enum read_tokens */
    int64_t gac;         /* enum gac_policy, of tables that name none */
    enum profile profile;
    char partition_policy[32]; /* engine/admission's policy by name; the profile chooses it */
    char cluster_id[64];       /* of the cluster a daemon belongs to; empty: it has no name */
    char secret_file[256];     /* what a cluster's daemons prove to each other that they know */
    char cors_origins[512];    /* none, loopback, * or a list: router/cors.c */
};

/* Defaults under the profile. */
void config_init(struct config *c, enum profile profile);

/* STATUS_MALFORMED: `error` gets one line that names the setting, the value and what it may be. */
enum status config_set(struct config *c, struct slice name, struct slice value,
                       struct buffer *error);

/* The same for a file's text; the error starts with the line number. */
enum status config_parse(struct config *c, struct slice text, struct buffer *error);

/* Whether the settings fit each other: what the code relies on beyond the bounds of each. To be
 * asked once all are set. STATUS_MALFORMED: `error` gets one line that names both settings, their
 * values and what must hold. */
enum status config_check(const struct config *c, struct buffer *error);

/* Every setting, in groups: a line with value, unit and bounds, and a line with the meaning. */
void config_describe(const struct config *c, struct buffer *out);

/* What holds for a table that says `said`: nothing is limited under the profile off. */
static inline enum gac_policy gac_policy_of(const struct config *config, uint8_t said)
{
    if (config->profile == PROFILE_OFF)
        return GAC_OFF;
    return (enum gac_policy)(said == GAC_AS_CONFIGURED ? config->gac : said - 1);
}

bool profile_parse(struct slice name, enum profile *out);
const char *profile_name(enum profile profile);

#endif
