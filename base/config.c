/* config.c - settings by name, from the lists of base/settings/.
 *
 * Every error is one line that names the setting, the value and the allowed values. A refused
 * setting keeps its old value. */
#include "base/config.h"

#include <ctype.h>
#include <stdio.h>

#include "base/command_line.h"
#include "base/printable.h"
#include "base/settings.h"

static const struct {
    const char *name;
    const char *policy;
    enum gac_policy gac;
    enum read_cap read_cap;
    int64_t split_delay_ms;
} profiles[] = {
    [PROFILE_OFF] = {"off", "none", GAC_OFF, READ_CAP_GROUP, 0},
    [PROFILE_AWS] = {"aws", "burst", GAC_LEASE, READ_CAP_GROUP, 0},
    [PROFILE_AWS_MEASURED] = {"aws-measured", "burst", GAC_LEASE, READ_CAP_MEASURED, 600000},
    [PROFILE_STRICT] = {"strict", "allocation", GAC_OFF, READ_CAP_GROUP, 0},
    [PROFILE_RESEARCH] = {"research", "burst", GAC_LEASE, READ_CAP_GROUP, 0},
};

struct setting {
    const char *name;
    size_t at; /* offset in struct settings */
    int64_t initial;
    int64_t min;
    int64_t max;
    const char *help;
};

#define X(name, initial, min, max, help)                               \
    _Static_assert((min) >= 0 && (min) <= (initial), #name ": least"); \
    _Static_assert((initial) <= (max), #name ": most");
SETTINGS_LIST(X)
#undef X

static const struct setting settings[] = {
#define X(name, initial, min, max, help) \
    {#name, offsetof(struct settings, name), initial, min, max, help},
    SETTINGS_LIST(X)
#undef X
};

/* Settings with a choice of names; the value is the name's place. */
static const struct choice {
    const char *name;
    size_t at;
    int64_t initial;
    const char *help;
    const char *names[6]; /* NULL ends them */
} choices[] = {
#define X(name, initial, help, ...) \
    {#name, offsetof(struct settings, name), initial, help, {__VA_ARGS__}},
    SETTINGS_CHOICES(X)
#undef X
};

#define ONE(...)      +1
#define X(area, AREA) SETTINGS_##AREA(ONE)
_Static_assert(sizeof settings / sizeof settings[0] + sizeof choices / sizeof choices[0] ==
                   0 CONFIG_AREAS(X),
               "a list of base/settings/ is not in SETTINGS_LIST of base/settings.h");
#undef X
#undef ONE

/* Old names of settings, which are read for one version. */
static const struct {
    const char *old;
    const char *name;
} renamed[] = {
    {"commit_tell_ms", "commit_notify_ms"},
    {"control_salting", "control_key_sharding"},
    {"gac_forget_ms", "gac_router_timeout_ms"},
    {"limiter_aggregator", "limiter_refresh"},
    {"limiter_look_ms", "limiter_refresh_ms"},
    {"on_demand_promise_percent", "on_demand_reserved_percent"},
    {"salted_keys_max", "sharded_keys_max"},
    {"salting_counter_shards", "key_sharding_counter_shards"},
    {"salting_keep_ms", "key_sharding_keep_ms"},
    {"salting_moves_s", "key_sharding_moves_s"},
    {"salting_shard_units", "key_sharding_shard_units"},
    {"split_gap_ms", "split_gap_tolerance_ms"},
    {"split_judge", "split_by_load"},
    {"split_lull_ms", "split_hold_reset_ms"},
    {"split_vain_factor", "split_hold_factor"},
};
_Static_assert(COUNT_OF(renamed) <= 64, "a bit of renamed_used for each row");

/* The setting at that offset. */
static int64_t *value_at(const struct config *c, size_t at)
{
    return (int64_t *)((uintptr_t)c->rooms + at);
}

static void keep_text(char *out, size_t size, struct slice text)
{
    must(text.size < size);
    memset(out, 0, size);
    if (text.size > 0)
        memcpy(out, text.data, text.size);
}

bool profile_parse(struct slice name, enum profile *out)
{
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        if (slice_is(name, profiles[i].name)) {
            *out = (enum profile)i;
            return true;
        }
    }
    return false;
}

const char *profile_name(enum profile profile)
{
    must((unsigned)profile < COUNT_OF(profiles));
    return profiles[profile].name;
}

/* Policies by name, with the setting's default under every profile; NULL: the profile has it. */
static const struct policy_setting {
    const char *name;
    size_t at;
    const char *initial;
    const char *help;
} policy_settings[] = {
    {"partition_policy", offsetof(struct config, partition_policy), NULL,
     "The policy of partitions for requests. The profile chooses it. It is free under research."},
    {"node_policy", offsetof(struct config, node_policy), "fair",
     "The policy by which partitions share a node's throughput beyond allocations. It is free "
     "under research."},
    {"headroom_policy", offsetof(struct config, headroom_policy), "gauge",
     "With write_check = named: the check of other nodes by burst writes. It is free under "
     "research."},
    {"gac_policy", offsetof(struct config, gac_policy), "lease",
     "With gac = named: the policy by which routers share a table's limit. It is free under "
     "research."},
    {"overload_policy", offsetof(struct config, overload_policy), "delay",
     "The policy by which overloaded nodes and routers refuse requests. It is free under research, "
     "and off under the profile off."},
    {"adaptive_policy", offsetof(struct config, adaptive_policy), "proportional",
     "The policy by which allocations follow demand within a table. It is free under research."},
    {"split_policy", offsetof(struct config, split_policy), "limits",
     "The policy of splits: their time and their split points. It is free under research."},
    {"relocate_policy", offsetof(struct config, relocate_policy), "least-promised",
     "The policy of moves: replicas that leave overloaded nodes, and their new nodes. It is free "
     "under research."},
    {"demand_policy", offsetof(struct config, demand_policy), "peak",
     "The policy of an on-demand table's allocation after a peak. It is free under research."},
};

static void profile_apply(struct config *c, enum profile profile)
{
    for (size_t i = 0; i < COUNT_OF(policy_settings); i++) {
        const struct policy_setting *s = &policy_settings[i];
        keep_text((char *)c + s->at, POLICY_NAME_MAX,
                  slice_of(s->initial != NULL ? s->initial : profiles[profile].policy));
    }
    if (profile == PROFILE_OFF) /* nothing is refused */
        keep_text(c->overload_policy, POLICY_NAME_MAX, slice_of("off"));
    c->profile = profile;
    config_edit_choices(c)->gac = profiles[profile].gac;
    config_edit_choices(c)->read_cap = profiles[profile].read_cap;
    config_edit_split(c)->split_delay_ms = profiles[profile].split_delay_ms;
}

enum gac_policy gac_policy_of(const struct config *config, uint8_t said)
{
    if (config->profile == PROFILE_OFF)
        return GAC_OFF;
    return (enum gac_policy)(said == GAC_AS_CONFIGURED ? config_choices(config)->gac : said - 1);
}

void config_init(struct config *c, enum profile profile)
{
    must((unsigned)profile < COUNT_OF(profiles));
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        *value_at(c, settings[i].at) = settings[i].initial;
    for (size_t i = 0; i < COUNT_OF(choices); i++)
        *value_at(c, choices[i].at) = choices[i].initial;
    memcpy(c->cors_origins, "loopback", sizeof "loopback");
    profile_apply(c, profile);
}

/* ---- values ---- */

struct suffix {
    const char *text;
    int64_t unit;
    bool for_bytes;  /* allowed for sizes */
    bool for_counts; /* allowed for all other settings */
};

static const struct suffix suffixes[] = {
    {"", 1, true, true},
    {"k", INT64_C(1000), false, true},
    {"M", INT64_C(1000000), false, true},
    {"G", INT64_C(1000000000), false, true},
    {"T", INT64_C(1000000000000), false, true},
    {"kB", INT64_C(1000), true, false},
    {"MB", INT64_C(1000000), true, false},
    {"GB", INT64_C(1000000000), true, false},
    {"TB", INT64_C(1000000000000), true, false},
    {"KiB", KIB, true, true},
    {"MiB", MIB, true, true},
    {"GiB", GIB, true, true},
    {"TiB", TIB, true, true},
};

static bool ends_in(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);
    return size >= tail && strcmp(name + size - tail, end) == 0;
}

/* Whether a setting is a size in bytes, or bytes per second. */
static bool is_bytes(const char *name)
{
    return ends_in(name, "_bytes") || ends_in(name, "_bytes_s");
}

/* Digits and an optional suffix. False: malformed, or too large for int64_t. */
static bool whole_number_parse(struct slice text, bool bytes, int64_t *out)
{
    size_t digits = 0;
    int64_t unit = 0;
    *out = 0;
    for (; digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9'; digits++) {
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, text.data[digits] - '0', out))
            return false;
    }
    struct slice rest = slice_make(text.data + digits, text.size - digits);
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        const struct suffix *s = &suffixes[i];
        if ((bytes ? s->for_bytes : s->for_counts) && slice_is(rest, s->text))
            unit = s->unit;
    }
    return digits > 0 && unit > 0 && !__builtin_mul_overflow(*out, unit, out);
}

/* The value for an error line: printable and shortened. */
static void append_shown(struct buffer *out, struct slice value)
{
    enum {
        SHOWN_MAX = 64
    };
    buffer_append_printable(
        out, slice_make(value.data, value.size < SHOWN_MAX ? value.size : SHOWN_MAX));
    if (value.size > SHOWN_MAX)
        buffer_append_text(out, "...");
}

static const char HOST_HELP[] =
    "Names of this server in the header Host, without port, separated by commas. The first * of a "
    "name matches any text. Addresses, names without a dot and names ending in .localhost, .local, "
    ".internal and .svc need not be listed.";
static const char CORS_HELP[] = "Web pages that may use the endpoint: none, loopback (pages of "
                                "this machine, while the endpoint "
                                "is on loopback), * or a list of origins separated by commas.";

static enum status config_refuse(struct buffer *error, struct slice name, struct slice value,
                                 const char *why)
{
    append_shown(error, name);
    buffer_append_text(error, " = ");
    append_shown(error, value);
    buffer_append_text(error, ": ");
    return buffer_explain(error, STATUS_MALFORMED, "%s", why);
}

static enum status set_number(struct config *c, const struct setting *s, struct slice value,
                              struct buffer *error)
{
    int64_t number;
    bool bytes = is_bytes(s->name);
    if (whole_number_parse(value, bytes, &number) && number >= s->min && number <= s->max) {
        *value_at(c, s->at) = number;
        return STATUS_OK;
    }
    config_refuse(error, slice_of(s->name), value, "must be a whole number from ");
    return buffer_explain(error, STATUS_MALFORMED, "%lld to %lld (suffixes: %s)", (long long)s->min,
                          (long long)s->max,
                          bytes ? "KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB of 1000"
                                : "k, M, G, T are powers of 1000");
}

static enum status set_choice(struct config *c, const struct choice *choice, struct slice value,
                              struct buffer *error)
{
    for (int64_t i = 0; choice->names[i] != NULL; i++) {
        if (slice_is(value, choice->names[i])) {
            *value_at(c, choice->at) = i;
            return STATUS_OK;
        }
    }
    config_refuse(error, slice_of(choice->name), value, "must be ");
    option_append_choices(choice->names, error);
    return STATUS_MALFORMED;
}

static enum status set_policy(struct config *c, const struct policy_setting *s, struct slice value,
                              struct buffer *error)
{
    struct slice name = slice_of(s->name);
    if (c->profile != PROFILE_RESEARCH) {
        config_refuse(error, name, value,
                      "the profile chooses it: only profile research may, not ");
        return buffer_explain(error, STATUS_MALFORMED, "%s", profile_name(c->profile));
    }
    bool fits = value.size > 0 && value.size < POLICY_NAME_MAX;
    for (size_t i = 0; i < value.size && fits; i++) {
        uint8_t byte = value.data[i];
        fits = islower(byte) || isdigit(byte) || byte == '_' || byte == '-';
    }
    if (!fits)
        return config_refuse(error, name, value,
                             "must be the name of a policy: 1 to 31 of a-z, 0-9, _ and -");
    keep_text((char *)c + s->at, POLICY_NAME_MAX, value);
    return STATUS_OK;
}

/* Printable, without spaces: both appear in log lines. */
static enum status set_text(char *out, size_t size, struct slice name, struct slice value,
                            struct buffer *error)
{
    bool fits = value.size < size;
    for (size_t i = 0; i < value.size && fits; i++)
        fits = value.data[i] > ' ' && value.data[i] <= '~';
    if (!fits) {
        char text[64];
        snprintf(text, sizeof text, "must be at most %zu printable characters without spaces",
                 size - 1);
        return config_refuse(error, name, value, text);
    }
    keep_text(out, size, value);
    return STATUS_OK;
}

static enum status set_cors(struct config *c, struct slice value, struct buffer *error)
{
    bool fits = value.size > 0 && value.size < sizeof c->cors_origins;
    bool word = slice_is(value, "none") || slice_is(value, "loopback") || slice_is(value, "*");
    for (size_t i = 0; i < value.size && fits; i++)
        fits = value.data[i] >= ' ' && value.data[i] < 0x7F;
    if (!fits || (!word && memmem(value.data, value.size, "://", 3) == NULL))
        return config_refuse(
            error, slice_of("cors_origins"), value,
            "must be none, loopback, * or origins such as https://example.org, separated "
            "by commas, 511 characters at most");
    keep_text(c->cors_origins, sizeof c->cors_origins, value);
    return STATUS_OK;
}

static enum status set_hosts(struct config *c, struct slice value, struct buffer *error)
{
    static const char NONE_OF_A_NAME[] = ":/[]@";
    for (const char *bad = NONE_OF_A_NAME; *bad != '\0'; bad++) {
        if (value.size > 0 && memchr(value.data, *bad, value.size) != NULL)
            return config_refuse(error, slice_of("host_names"), value,
                                 "must be names without scheme and port, separated by commas: "
                                 "db.example, not http://db.example:8000; addresses need not be "
                                 "listed");
    }
    return set_text(c->host_names, sizeof c->host_names, slice_of("host_names"), value, error);
}

static enum status refuse_unknown(struct slice name, struct slice value, struct buffer *error)
{
    static const char *const OTHERS[] = {"profile", "cluster_id", "secret_file", "cors_origins",
                                         "host_names"};
    const char *names[COUNT_OF(settings) + COUNT_OF(choices) + COUNT_OF(policy_settings) +
                      COUNT_OF(OTHERS)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        names[count++] = settings[i].name;
    for (size_t i = 0; i < COUNT_OF(choices); i++)
        names[count++] = choices[i].name;
    for (size_t i = 0; i < COUNT_OF(policy_settings); i++)
        names[count++] = policy_settings[i].name;
    for (size_t i = 0; i < COUNT_OF(OTHERS); i++)
        names[count++] = OTHERS[i];
    config_refuse(error, name, value, "no such setting");
    command_line_suggest(name, "", names, count, sizeof names[0], error);
    return STATUS_MALFORMED;
}

/* The name that the setting has now. */
static struct slice config_new_name(struct config *c, struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++) {
        if (slice_is(name, renamed[i].old)) {
            c->renamed_used |= UINT64_C(1) << i;
            return slice_of(renamed[i].name);
        }
    }
    return name;
}

void config_describe_renamed(const struct config *c, struct buffer *out)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++) {
        if (c->renamed_used >> i & 1)
            buffer_append_format(
                out, "the setting %s is now called %s; the next version drops the old name\n",
                renamed[i].old, renamed[i].name);
    }
}

enum status config_set(struct config *c, struct slice name, struct slice value,
                       struct buffer *error)
{
    name = config_new_name(c, name);
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        if (slice_is(name, settings[i].name))
            return set_number(c, &settings[i], value, error);
    }
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        if (slice_is(name, choices[i].name))
            return set_choice(c, &choices[i], value, error);
    }
    if (slice_is(name, "cors_origins"))
        return set_cors(c, value, error);
    for (size_t i = 0; i < COUNT_OF(policy_settings); i++) {
        if (slice_is(name, policy_settings[i].name))
            return set_policy(c, &policy_settings[i], value, error);
    }
    if (slice_is(name, "cluster_id"))
        return set_text(c->cluster_id, sizeof c->cluster_id, name, value, error);
    if (slice_is(name, "secret_file"))
        return set_text(c->secret_file, sizeof c->secret_file, name, value, error);
    if (slice_is(name, "host_names"))
        return set_hosts(c, value, error);
    if (!slice_is(name, "profile"))
        return refuse_unknown(name, value, error);
    enum profile profile;
    if (!profile_parse(value, &profile))
        return config_refuse(error, name, value,
                             "must be off, aws, aws-measured, strict or research");
    profile_apply(c, profile);
    return STATUS_OK;
}

/* ---- files ---- */

enum status config_parse(struct config *c, struct slice text, struct buffer *error)
{
    for (int line_number = 1; text.size > 0; line_number++) {
        struct slice whole = slice_cut(&text, '\n'), line = slice_trimmed(slice_cut(&whole, '#'));
        struct slice value = line, name = slice_cut(&value, '=');
        if (line.size == 0)
            continue;
        size_t start = error->size;
        buffer_append_format(error, "line %d: ", line_number);
        if (name.size == line.size) {
            append_shown(error, line);
            return buffer_explain(error, STATUS_MALFORMED, ": must be name = value");
        }
        if (config_set(c, slice_trimmed(name), slice_trimmed(value), error) != STATUS_OK)
            return STATUS_MALFORMED;
        error->size = start;
    }
    return STATUS_OK;
}

/* ---- relations ---- */

/* `greater` must be at least `times` x `lesser`; more than that if `strictly`. `times` may be a
 * setting, too. */
static const struct relation {
    const char *greater;
    const char *lesser;
    const char *factor; /* NULL: `times` is a number */
    int64_t times;
    bool strictly;
    size_t greater_at, lesser_at, factor_at;
    const char *why;
} relations[] = {
#define AT(setting) offsetof(struct settings, setting)
#define R(greater, strictly, times, lesser, why)                                  \
    {                                                                             \
#greater, #lesser, NULL, times, strictly, AT(greater), AT(lesser), 0, why \
    }
#define R_SETTING(greater, strictly, factor, lesser, why)                                 \
    {                                                                                     \
#greater, #lesser, #factor, 0, strictly, AT(greater), AT(lesser), AT(factor), why \
    }
    R(support_ms, true, 2, heartbeat_ms, "one lost heartbeat would depose a leader"),
    R_SETTING(support_ms, true, silent_heartbeats, heartbeat_ms,
              "other nodes would lead before routers use them"),
    R(node_silent_ms, true, 1, support_ms, "a node with support would be replaced"),
    R(node_silent_ms, true, 2, load_report_ms, "a healthy node would be replaced"),
    R(report_deadline_ms, true, 1, report_ms, "every member would count as silent"),
    R(on_demand_peak_ms, true, 1, load_report_ms, "a peak would come from one report"),
    R(split_percent, true, 1, split_fill_percent, "the pieces would be split again"),
    R(split_fill_percent, true, 1, merge_fill_percent, "merged partitions would be split again"),
    R(merge_cold_ms, true, 1, split_window_ms,
      "partitions would be merged before they are measured"),
    R(split_window_ms, true, 2, load_report_ms, "consumption would come from one report"),
    R(split_window_ms, true, 2, control_ms, "consumption would come from one evaluation"),
    R(split_window_ms, false, 1, split_hold_ms, "a load would have to outlast the window"),
    R(split_hold_ms, true, 1, split_hold_reset_ms, "one request would count as a load"),
    R(split_hold_ms, false, 2, heat_recent_ms, "demand before the load would count"),
    R(heat_half_life_ms, false, 1, split_hold_ms, "most of the load would have decayed"),
    R(adaptive_window_ms, true, 2, load_report_ms, "demand would come from one report"),
    R(adaptive_window_ms, true, 2, control_ms, "demand would come from one evaluation"),
    R(adaptive_calm_ms, true, 1, load_report_ms, "a throttled partition would seem calm"),
    R(balance_window_ms, true, 1, load_report_ms, "consumption would come from one report"),
    R(control_answer_ms, true, 1, control_ms, "answers would count as lost before they are read"),
    R(snapshot_bytes_s, false, 1, snapshot_busy_bytes_s, "a busy node would send more"),
    R(log_max_bytes, false, 2, log_segment_bytes, "the log is trimmed in whole segments"),
    R(log_segment_bytes, false, 1, follower_max_bytes, "a message must fit into a log segment"),
    R(map_max_bytes, false, 1, map_initial_bytes, "the map begins with this size"),
    R(gac_lifetime_max_ms, false, 1, gac_lifetime_ms, "it is the maximum of both"),
    R(gac_router_timeout_ms, false, 1, gac_lifetime_ms, "tokens would outlive their record"),
    R(gac_lifetime_ms, false, 2, gac_timeout_ms, "a request would not be repeated in time"),
    R(overload_limit_ms, false, 1, overload_target_ms,
      "work within a limit would be refused first"),
    R(request_deadline_ms, true, 1, gac_wait_ms, "a request would only wait for tokens"),
    R(transaction_token_ms, false, 1, request_deadline_ms,
      "a repeated request for a decision would get none"),
    R(transaction_fence_ms, false, 1, request_deadline_ms,
      "a router could continue a transaction that was given up"),
    R(key_sharding_keep_ms, false, 1, transaction_token_ms,
      "a token would not be searched where it is recorded"),
#undef R
#undef R_SETTING
#undef AT
};

enum status config_check(const struct config *c, struct buffer *error)
{
    for (size_t i = 0; i < COUNT_OF(relations); i++) {
        const struct relation *r = &relations[i];
        int64_t greater = *value_at(c, r->greater_at), lesser = *value_at(c, r->lesser_at);
        int64_t times = r->factor != NULL ? *value_at(c, r->factor_at) : r->times;
        bool holds = r->strictly ? greater > lesser * times : greater >= lesser * times;
        if (holds)
            continue;
        buffer_append_format(error, "%s = %lld must be %s %lld: ", r->greater, (long long)greater,
                             r->strictly ? "more than" : "at least", (long long)(lesser * times));
        if (r->factor != NULL)
            buffer_append_format(error, "%s = %lld times ", r->factor, (long long)times);
        else if (times > 1)
            buffer_append_format(error, "%lld times ", (long long)times);
        return buffer_explain(error, STATUS_MALFORMED, "%s = %lld (%s)", r->lesser,
                              (long long)lesser, r->why);
    }
    return STATUS_OK;
}

/* A heading before the first setting of each group. */
static const struct {
    const char *first;
    const char *title;
} groups[] = {
    {"partition_max_wcu", "Throughput"},
    {"replicas", "Replication"},
    {"control_ms", "Controller"},
    {"split_percent", "Splits for throughput, and heat"},
    {"merge_cold_ms", "Merges of cold partitions"},
    {"adaptive_after_ms", "Adaptive capacity"},
    {"gac_bank_ms", "Global admission control (GAC)"},
    {"log_segment_bytes", "Storage"},
    {"connections_max", "Wire"},
};

static const char *unit_of(const char *name)
{
    static const struct {
        const char *end, *unit;
    } units[] = {
        {"_bytes_s", "bytes/s"}, {"_bytes", "bytes"}, {"_ms", "ms"},   {"_s", "s"},
        {"_percent", "%"},       {"_ppm", "ppm"},     {"_wcu", "WCU"}, {"_rcu", "RCU"},
    };
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (ends_in(name, units[i].end))
            return units[i].unit;
    }
    return "";
}

/* In the form that config_set reads: 16MiB rather than 16777216. */
static void value_text(const char *name, int64_t value, char out[32])
{
    const char *suffix = "";
    int64_t unit = 1;
    for (size_t i = 0; is_bytes(name) && i < COUNT_OF(suffixes); i++) {
        const struct suffix *s = &suffixes[i];
        if (s->unit % KIB == 0 && value >= s->unit && value % s->unit == 0) {
            suffix = s->text;
            unit = s->unit;
        }
    }
    snprintf(out, 32, "%lld%s", (long long)(value / unit), suffix);
}

static void config_describe_setting(struct buffer *out, const char *name, const char *value,
                                    const char *unit, const char *range, const char *help)
{
    buffer_append_format(out, "  %-34s %-12s %-8s %s\n      %s\n", name, value, unit, range, help);
}

static void describe_numbers(const struct config *c, struct buffer *out)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const struct setting *s = &settings[i];
        char value[32], min[32], max[32], range[80];
        for (size_t g = 0; g < COUNT_OF(groups); g++) {
            if (strcmp(groups[g].first, s->name) == 0)
                buffer_append_format(out, "\n%s\n", groups[g].title);
        }
        value_text(s->name, *value_at(c, s->at), value);
        value_text(s->name, s->min, min);
        value_text(s->name, s->max, max);
        snprintf(range, sizeof range, "%s to %s", min, max);
        config_describe_setting(out, s->name, value, unit_of(s->name), range, s->help);
    }
}

void config_describe(const struct config *c, struct buffer *out)
{
    struct buffer names = {0};
    buffer_append_text(out, "Settings: name, value, unit, limits, meaning\n\nPolicies\n");
    config_describe_setting(
        out, "profile", profile_name(c->profile), "", "off, aws, aws-measured, strict or research",
        "The profile chooses partition_policy, gac, read_cap and split_delay_ms.");
    for (size_t i = 0; i < COUNT_OF(policy_settings); i++)
        config_describe_setting(out, policy_settings[i].name,
                                (const char *)c + policy_settings[i].at, "", "the name of a policy",
                                policy_settings[i].help);
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const struct choice *choice = &choices[i];
        buffer_clear(&names);
        option_append_choices(choice->names, &names);
        buffer_append_u8(&names, 0);
        config_describe_setting(out, choice->name, choice->names[*value_at(c, choice->at)], "",
                                (const char *)names.data, choice->help);
    }
    buffer_deinit(&names);
    buffer_append_text(out, "\nTrust\n");
    config_describe_setting(out, "cluster_id", c->cluster_id, "", "at most 63 characters",
                            "All daemons of a cluster have this name of the cluster.");
    config_describe_setting(out, "secret_file", c->secret_file, "", "a file of mode 0600",
                            "All daemons of a cluster have the secret in this file.");
    config_describe_setting(out, "cors_origins", c->cors_origins, "", "none, loopback, * or a list",
                            CORS_HELP);
    config_describe_setting(out, "host_names", c->host_names, "", "at most 511 characters",
                            HOST_HELP);
    describe_numbers(c, out);
}

void config_describe_changes(const struct config *c, const struct config *from, struct buffer *out)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const int64_t value = *value_at(c, settings[i].at);
        char text[32];
        value_text(settings[i].name, value, text);
        if (value != *value_at(from, settings[i].at))
            buffer_append_format(out, " %s=%s", settings[i].name, text);
    }
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const int64_t value = *value_at(c, choices[i].at);
        if (value != *value_at(from, choices[i].at))
            buffer_append_format(out, " %s=%s", choices[i].name, choices[i].names[value]);
    }
}
