/* config.h - the settings of a process, and which policies are in force.
 *
 * The settings are numbers and choices in areas, and a few texts. An area's header has its
 * settings:
 *
 *   #include "base/settings/gac.h"
 *   int64_t period_ms = config_gac(config)->gac_period_ms;
 *   config_edit_gac(config)->gac_period_ms = 500;
 *
 * base/settings.h has all areas in order. config.c has the relations between settings.
 *
 * A file holds `name = value` lines; `#` starts a comment. Values of the table are whole numbers,
 * with an optional suffix: k, M, G or T (powers of 1000), or KiB, MiB, GiB or TiB (powers of 1024).
 * Sizes in bytes take kB, MB, GB and TB too, but not k, which is ambiguous. `profile` comes before
 * the settings it chooses: `partition_policy`, `gac`, `read_cap` and `split_delay_ms`. Only the
 * profile research allows other policies by name. */
#pragma once

#include "base/buffer.h"
#include "base/status.h"

enum profile {
    PROFILE_OFF,          /* no throughput limit is enforced */
    PROFILE_AWS,          /* the documented behaviour; the default */
    PROFILE_AWS_MEASURED, /* PROFILE_AWS with published measurements of the service */
    PROFILE_STRICT,       /* allocation only: no burst */
    PROFILE_RESEARCH,     /* starts as PROFILE_AWS; every setting may change */
};

struct policies;

/* The most bytes of a policy's name, with the final zero. */
enum {
    POLICY_NAME_MAX = 32
};

/* The areas of settings: base/settings/AREA.h has the names, types and help texts. */
#define CONFIG_AREAS(X)           \
    X(admission, ADMISSION)       \
    X(overload, OVERLOAD)         \
    X(tables, TABLES)             \
    X(expiry, EXPIRY)             \
    X(key_sharding, KEY_SHARDING) \
    X(replication, REPLICATION)   \
    X(reports, REPORTS)           \
    X(control, CONTROL)           \
    X(indexes, INDEXES)           \
    X(transactions, TRANSACTIONS) \
    X(streams, STREAMS)           \
    X(limiter, LIMITER)           \
    X(split, SPLIT)               \
    X(heat, HEAT)                 \
    X(merge, MERGE)               \
    X(adaptive, ADAPTIVE)         \
    X(gac, GAC)                   \
    X(storage, STORAGE)           \
    X(http, HTTP)                 \
    X(requests, REQUESTS)         \
    X(explain, EXPLAIN)           \
    X(choices, CHOICES)

enum config_area {
#define X(area, AREA) CONFIG_##AREA,
    CONFIG_AREAS(X)
#undef X
    CONFIG_AREAS_COUNT
};

/* Each area has a room of fixed size, so that a new setting changes no other area, and nothing that
 * only holds a struct config. */
enum {
    SETTINGS_ROOM = 32
};

struct settings_room {
    int64_t values[SETTINGS_ROOM];
};

struct config {
    struct settings_room rooms[CONFIG_AREAS_COUNT]; /* read them by config_AREA() */
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
    char cors_origins[512];    /* none, loopback, * or a list: router/core/cors.c */
    char host_names[512];      /* a list of patterns: router/http/host.c */
    uint64_t renamed_used; /* bit i: row i of `renamed`, then of `renamed_policies` (config.c) */
};

/* Defaults under the profile. */
void config_init(struct config *c, enum profile profile);

/* STATUS_MALFORMED: `error` gets one line that names the setting, the value and the allowed
 * values. */
enum status config_set(struct config *c, struct slice name, struct slice value,
                       struct buffer *error);

/* config_set for each line of a file; the error starts with the line number. */
enum status config_parse(struct config *c, struct slice text, struct buffer *error);

/* For each setting that was set by an old name, a line that says its new name. Old names are read
 * for one version: config.c has the table. */
void config_describe_renamed(const struct config *c, struct buffer *out);

/* Checks the relations between settings that the code relies on. Call it once all are set.
 * STATUS_MALFORMED: `error` gets one line that names both settings, their values and the
 * relation. */
enum status config_check(const struct config *c, struct buffer *error);

/* Every setting, in groups: a line with value, unit and bounds, and a line with the meaning. */
void config_describe(const struct config *c, struct buffer *out);
/* The numbers, choices and policies in which `c` differs from `from`: " name=value" for each. */
void config_describe_changes(const struct config *c, const struct config *from, struct buffer *out);

const char *profile_name(enum profile profile);

/* Makes struct settings_AREA of the list SETTINGS_AREA, and its accessors config_AREA() and
 * config_edit_AREA(). What they return is a part of the struct config. */
#define CONFIG_MEMBER(name, ...) int64_t name;
#define CONFIG_AREA(area, AREA)                                                       \
    struct settings_##area {                                                          \
        SETTINGS_##AREA(CONFIG_MEMBER)                                                \
    };                                                                                \
    _Static_assert(sizeof(struct settings_##area) <= sizeof(struct settings_room),    \
                   #area ": raise SETTINGS_ROOM");                                    \
    static inline const struct settings_##area *config_##area(const struct config *c) \
    {                                                                                 \
        return (const struct settings_##area *)&c->rooms[CONFIG_##AREA];              \
    }                                                                                 \
    static inline struct settings_##area *config_edit_##area(struct config *c)        \
    {                                                                                 \
        return (struct settings_##area *)&c->rooms[CONFIG_##AREA];                    \
    }
