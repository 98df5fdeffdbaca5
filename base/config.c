/* config.c - settings by name, from the lists of base/settings/.
 *
 * Every error is one line that names the setting, the value and the allowed values. A refused
 * setting keeps its old value. */
#include "base/config.h"

#include <ctype.h>

#include "base/fields.h"
#include "base/printable.h"
#include "base/settings.h"

static const char *const profile_names[] = {[PROFILE_OFF] = "off",
                                            [PROFILE_AWS] = "aws",
                                            [PROFILE_AWS_MEASURED] = "aws-measured",
                                            [PROFILE_STRICT] = "strict",
                                            [PROFILE_RESEARCH] = "research",
                                            NULL};

static const struct {
    const char *policy;
    enum gac_policy gac;
    enum read_cap read_cap;
    int64_t split_delay_ms;
} profiles[] = {
    [PROFILE_OFF] = {"none", GAC_OFF, READ_CAP_GROUP, 0},
    [PROFILE_AWS] = {"burst", GAC_LEASE, READ_CAP_GROUP, 0},
    [PROFILE_AWS_MEASURED] = {"burst", GAC_LEASE, READ_CAP_MEASURED, 600000},
    [PROFILE_STRICT] = {"allocation", GAC_OFF, READ_CAP_GROUP, 0},
    [PROFILE_RESEARCH] = {"burst", GAC_LEASE, READ_CAP_GROUP, 0},
};

/* ---- the table ---- */

static bool is_policy_name(struct slice value)
{
    for (size_t i = 0; i < value.size; i++)
        if (!islower(value.data[i]) && !isdigit(value.data[i]) && value.data[i] != '_' &&
            value.data[i] != '-')
            return false;
    return value.size > 0;
}

static bool is_printable(struct slice value, uint8_t first)
{
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] < first || value.data[i] > '~')
            return false;
    return true;
}

/* Without spaces: the text appears in log lines. */
static bool is_word(struct slice value)
{
    return is_printable(value, '!');
}

static bool is_origin_list(struct slice value)
{
    if (slice_is(value, "none") || slice_is(value, "loopback") || slice_is(value, "*"))
        return true;
    do {
        const struct slice origin = slice_trimmed(slice_cut(&value, ','));
        const uint8_t *colon = memmem(origin.data, origin.size, "://", 3);
        if (colon == NULL || colon == origin.data || colon + 3 == origin.data + origin.size ||
            !is_word(origin))
            return false;
    } while (value.data != NULL);
    return true;
}

/* An empty text is a list without names. */
static bool is_host_list(struct slice value)
{
    if (value.size == 0)
        return true;
    do {
        const struct slice name = slice_cut(&value, ',');
        for (size_t i = 0; i < name.size; i++)
            if (strchr(":/[]@", name.data[i]) != NULL)
                return false;
        if (name.size == 0 || !is_word(name))
            return false;
    } while (value.data != NULL);
    return true;
}

#define MEMBER(member) FIELD_MEMBER(struct config, member)

/* `initial`: the default under every profile; NULL: the profile has it. */
#define POLICY(name, initial_name, help_text)                                    \
    {                                                                            \
#name, FIELD_NAME, MEMBER(name), "the name of a policy",                 \
            .initial = initial_name, .help = help_text, .valid = is_policy_name, \
            .expected = "the name of a policy: 1 to 31 of a-z, 0-9, _ and -"     \
    }

static const struct field settings[] = {
    {"profile", FIELD_CHOICE, MEMBER(profile), .choices = profile_names,
     .help = "The profile chooses partition_policy, gac, read_cap and split_delay_ms."},
    POLICY(partition_policy, NULL,
           "The policy of partitions for requests. The profile chooses it. It is free under "
           "research."),
    POLICY(
        node_policy, "fair",
        "The policy by which partitions share a node's throughput beyond allocations. It is free "
        "under research."),
    POLICY(headroom_policy, "gauge",
           "With write_check = named: the check of other nodes by burst writes. It is free under "
           "research."),
    POLICY(gac_policy, "lease",
           "With gac = named: the policy by which routers share a table's limit. It is free under "
           "research."),
    POLICY(overload_policy, "credits",
           "The policy by which overloaded nodes and routers refuse requests. It is free under "
           "research, and off under the profile off."),
    POLICY(adaptive_policy, "proportional",
           "The policy by which allocations follow demand within a table. It is free under "
           "research."),
    POLICY(split_policy, "limits",
           "The policy of splits: their time and their split points. It is free under research."),
    POLICY(relocate_policy, "least-reserved",
           "The policy of moves: replicas that leave overloaded nodes, and their new nodes. It is "
           "free under research."),
    POLICY(demand_policy, "peak",
           "The policy of an on-demand table's allocation after a peak. It is free under "
           "research.")
/* clang-format off */
#define X(name, initial, help_text, ...)                                                           \
    , {#name, FIELD_CHOICE, FIELD_MEMBER(struct settings, name),                                   \
       .choices = (const char *const[]){__VA_ARGS__, NULL}, .help = help_text}
    SETTINGS_CHOICES(X),
#undef X
    /* clang-format on */
    {"cluster_id", FIELD_NAME, MEMBER(cluster_id), "at most 63 characters", .valid = is_word,
     .expected = "at most 63 printable characters without spaces",
     .help = "All daemons of a cluster have this name of the cluster."},
    {"secret_file", FIELD_NAME, MEMBER(secret_file), "a file of mode 0600", .valid = is_word,
     .expected = "at most 255 printable characters without spaces",
     .help = "All daemons of a cluster have the secret in this file."},
    {"cors_origins", FIELD_NAME, MEMBER(cors_origins), "none, loopback, * or a list",
     .valid = is_origin_list,
     .expected = "none, loopback, * or origins such as https://example.org, separated by commas, "
                 "511 characters at most",
     .help = "Web pages that may use the endpoint: none, loopback (pages of this machine, while "
             "the endpoint is on loopback), * or a list of origins separated by commas."},
    {"host_names", FIELD_NAME, MEMBER(host_names), "at most 511 characters", .valid = is_host_list,
     .expected = "names without scheme and port, separated by commas, none empty: db.example, not "
                 "http://db.example:8000; addresses need not be listed; 511 characters at most",
     .help = "Names of this server in the header Host, without port, separated by commas. The "
             "first * of a name matches any text. Addresses, names without a dot and names ending "
             "in .localhost, .local, .internal and .svc need not be listed."},
#define X(name, initial, least, most, help_text)                     \
    {#name,        FIELD_COUNT, FIELD_MEMBER(struct settings, name), \
     .min = least, .max = most, .help = help_text},
    SETTINGS_LIST(X)
#undef X
};

#undef MEMBER

_Static_assert(offsetof(struct config, rooms) == 0, "places in struct settings are those in it");
#define X(name, initial, min, max, help)                               \
    _Static_assert((min) >= 0 && (min) <= (initial), #name ": least"); \
    _Static_assert((initial) <= (max), #name ": most");
SETTINGS_LIST(X)
#undef X

#define ONE(...)      +1
#define X(area, AREA) SETTINGS_##AREA(ONE)
_Static_assert(0 SETTINGS_LIST(ONE) SETTINGS_CHOICES(ONE) == 0 CONFIG_AREAS(X),
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
    {"node_silent_ms", "node_unresponsive_ms"},
    {"on_demand_promise_percent", "on_demand_reserved_percent"},
    {"salted_keys_max", "sharded_keys_max"},
    {"salting_counter_shards", "key_sharding_counter_shards"},
    {"salting_keep_ms", "key_sharding_keep_ms"},
    {"salting_moves_s", "key_sharding_moves_s"},
    {"salting_shard_units", "key_sharding_shard_units"},
    {"silent_heartbeats", "unresponsive_heartbeats"},
    {"split_gap_ms", "split_gap_tolerance_ms"},
    {"split_judge", "split_by_load"},
    {"split_lull_ms", "split_hold_reset_ms"},
    {"split_vain_factor", "split_hold_factor"},
};

/* The same for names of policies. */
static const struct {
    const char *setting;
    const char *old;
    const char *name;
} renamed_policies[] = {
    {"relocate_policy", "least-promised", "least-reserved"},
};
_Static_assert(COUNT_OF(renamed) + COUNT_OF(renamed_policies) <= 64,
               "a bit of renamed_used for each row");

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

const char *profile_name(enum profile profile)
{
    must((unsigned)profile < COUNT_OF(profiles));
    return profile_names[profile];
}

static void profile_apply(struct config *c, enum profile profile)
{
    for (const struct field *f = settings; f < settings + COUNT_OF(settings); f++)
        if (f->valid == is_policy_name)
            keep_text((char *)c + f->at, POLICY_NAME_MAX,
                      slice_of(f->initial != NULL ? f->initial : profiles[profile].policy));
    if (profile == PROFILE_OFF) /* nothing is refused for its throughput or for overload */
        keep_text(c->overload_policy, POLICY_NAME_MAX, slice_of("off"));
    c->profile = profile;
    config_edit_choices(c)->gac = profiles[profile].gac;
    config_edit_choices(c)->read_cap = profiles[profile].read_cap;
    config_edit_split(c)->split_delay_ms = profiles[profile].split_delay_ms;
}

enum gac_policy gac_policy_of(const struct config *config, uint8_t setting)
{
    if (config->profile == PROFILE_OFF)
        return GAC_OFF;
    return (enum gac_policy)(setting == GAC_AS_CONFIGURED ? config_choices(config)->gac
                                                          : setting - 1);
}

void config_init(struct config *c, enum profile profile)
{
    must((unsigned)profile < COUNT_OF(profiles));
    memset(c, 0, sizeof *c);
#define X(name, initial, ...) config_edit_all(c)->name = initial;
    SETTINGS_LIST(X)
    SETTINGS_CHOICES(X)
#undef X
    memcpy(c->cors_origins, "loopback", sizeof "loopback");
    profile_apply(c, profile);
}

/* ---- values ---- */

/* The value for an error line: printable and shortened. */
static void append_shown(struct buffer *out, struct slice value)
{
    enum {
        SHOWN_MAX = 64
    };
    buffer_append_printable(out, slice_make(value.data, MIN(value.size, SHOWN_MAX)));
    if (value.size > SHOWN_MAX)
        buffer_append_text(out, "...");
}

static enum status config_refuse(struct buffer *error, struct slice name, struct slice value,
                                 const char *why)
{
    append_shown(error, name);
    buffer_append_text(error, " = ");
    append_shown(error, value);
    buffer_append_text(error, ": ");
    return buffer_explain(error, STATUS_MALFORMED, "%s", why);
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

/* The name that the policy has now. */
static struct slice config_new_policy(struct config *c, struct slice setting, struct slice policy)
{
    for (size_t i = 0; i < COUNT_OF(renamed_policies); i++) {
        if (slice_is(setting, renamed_policies[i].setting) &&
            slice_is(policy, renamed_policies[i].old)) {
            c->renamed_used |= UINT64_C(1) << (COUNT_OF(renamed) + i);
            return slice_of(renamed_policies[i].name);
        }
    }
    return policy;
}

void config_describe_renamed(const struct config *c, struct buffer *out)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++) {
        if (c->renamed_used >> i & 1)
            buffer_append_format(
                out, "the setting %s is now called %s; the next version drops the old name\n",
                renamed[i].old, renamed[i].name);
    }
    for (size_t i = 0; i < COUNT_OF(renamed_policies); i++) {
        if (c->renamed_used >> (COUNT_OF(renamed) + i) & 1)
            buffer_append_format(
                out, "the policy %s is now called %s; the next version drops the old name\n",
                renamed_policies[i].old, renamed_policies[i].name);
    }
}

enum status config_set(struct config *c, struct slice name, struct slice value,
                       struct buffer *error)
{
    char text[sizeof c->host_names]; /* the longest value */
    struct buffer expected = {0};
    name = config_new_name(c, name);
    const struct field *f = field_find(settings, COUNT_OF(settings), name);
    if (f == NULL) {
        config_refuse(error, name, value, "no such setting");
        nearest_name_suggest(name, "", &settings[0].name, COUNT_OF(settings), sizeof settings[0],
                             error);
        return STATUS_MALFORMED;
    }
    if (f->valid == is_policy_name && c->profile != PROFILE_RESEARCH) {
        config_refuse(error, name, value, "only `--profile research` lets you choose it, not ");
        return buffer_explain(error, STATUS_MALFORMED, "%s (`--config help` lists the settings)",
                              profile_name(c->profile));
    }
    if (f->valid == is_policy_name)
        value = config_new_policy(c, name, value);
    bool taken =
        value.size < sizeof text && (value.size == 0 || memchr(value.data, 0, value.size) == NULL);
    if (taken) {
        keep_text(text, sizeof text, value);
        taken = field_set(f, c, text, &expected);
    } else {
        field_append_expected(f, &expected);
    }
    if (!taken) {
        config_refuse(error, name, value, "must be ");
        buffer_append_slice(error, buffer_slice(&expected));
    }
    buffer_deinit(&expected);
    if (taken && slice_is(name, "profile"))
        profile_apply(c, c->profile);
    return taken ? STATUS_OK : STATUS_MALFORMED;
}

/* ---- files ---- */

enum status config_parse(struct config *c, struct slice text, struct buffer *error)
{
    if (slice_starts_with(text, slice_of(SLICE_BYTE_ORDER_MARK)))
        text = slice_make(text.data + strlen(SLICE_BYTE_ORDER_MARK),
                          text.size - strlen(SLICE_BYTE_ORDER_MARK));
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
    R_SETTING(support_ms, true, unresponsive_heartbeats, heartbeat_ms,
              "other nodes would lead before routers use them"),
    R(node_unresponsive_ms, true, 1, support_ms, "a node with support would be replaced"),
    R(node_unresponsive_ms, true, 2, load_report_ms, "a healthy node would be replaced"),
    R(report_deadline_ms, true, 1, report_ms, "every member would count as unresponsive"),
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
    {"profile", "Policies"},
    {"cluster_id", "Trust"},
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

void config_describe(const struct config *c, struct buffer *out)
{
    struct buffer value = {0};
    buffer_append_text(out, "Settings: name, value, unit, limits, meaning\n");
    for (const struct field *f = settings; f < settings + COUNT_OF(settings); f++) {
        for (size_t g = 0; g < COUNT_OF(groups); g++) {
            if (strcmp(groups[g].first, f->name) == 0)
                buffer_append_format(out, "\n%s\n", groups[g].title);
        }
        buffer_clear(&value);
        field_append_value(f, c, &value);
        buffer_append_format(out, "  %-34s %-12.*s %-8s ", f->name, TEXT_OF(value), field_unit(f));
        if (f->form != NULL)
            buffer_append_text(out, f->form);
        else if (f->kind == FIELD_COUNT)
            field_append_bounds(f, out);
        else
            field_append_expected(f, out);
        buffer_append_format(out, "\n      %s\n", f->help);
    }
    buffer_deinit(&value);
}

void config_describe_changes(const struct config *c, const struct config *from, struct buffer *out)
{
    static const enum field_kind kinds[] = {FIELD_COUNT, FIELD_CHOICE, FIELD_NAME};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        for (const struct field *f = settings; f < settings + COUNT_OF(settings); f++) {
            if (f->kind != kinds[k] || (f->kind == FIELD_NAME && f->valid != is_policy_name) ||
                memcmp((const char *)c + f->at, (const char *)from + f->at, f->size) == 0)
                continue;
            buffer_append_format(out, " %s=", f->name);
            field_append_value(f, c, out);
        }
    }
}
