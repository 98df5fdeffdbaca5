/* options.c - values of the daemons' options: endpoints, lists of processes, settings. */
#include "cmd/options.h"

#include <stdio.h>

#include "base/settings/choices.h"
#include "base/settings/requests.h"
#include "cmd/usage.h"
#include "control/decision_points.h"
#include "engine/admission/policy_choice.h"
#include "gac/grant_policy.h"
#include "lab/baselines/baselines.h"
#include "workload/input_file.h"

const char *options_profile_meaning(enum profile profile)
{
    switch (profile) {
    case PROFILE_OFF:
        return "no throughput limit is enforced";
    case PROFILE_AWS:
        return "documented behaviour: allocation, 300 s of burst, partition maxima";
    case PROFILE_AWS_MEASURED:
        return "like aws, with eventual reads at 1.5 times a partition's maximum and splits after "
               "ten minutes, as measured";
    case PROFILE_STRICT:
        return "allocation only: no burst";
    case PROFILE_RESEARCH:
        return "starts like aws, with every parameter free";
    }
    return "";
}

/* ADDRESS:PORT, or PORT alone. */
static bool parse_endpoint(const char *text, char address[64], uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    int64_t number;
    size_t size = colon == NULL ? 0 : (size_t)(colon - text);
    if (size >= 64 || colon == text)
        return false;
    snprintf(address, 64, "%.*s", colon == NULL ? 9 : (int)size,
             colon == NULL ? "127.0.0.1" : text);
    if (!field_parse_integer(colon == NULL ? text : colon + 1, 0, UINT16_MAX, &number))
        return false;
    *port = (uint16_t)number;
    return true;
}

static bool parse_entry(char *entry, struct peer_list *list)
{
    char *equals = strchr(entry, '=');
    uint32_t i = list->count;
    int64_t id;
    if (equals == NULL || i == NODES_LIMIT)
        return false;
    *equals = '\0';
    if (!field_parse_integer(entry, 1, NODES_LIMIT, &id) ||
        !parse_endpoint(equals + 1, list->at[i].address, &list->at[i].port))
        return false;
    list->at[list->count++].id = (uint32_t)id;
    return true;
}

const char *options_parse_peers(void *target, const char *text)
{
    static const char *const expected = "a list 1=ADDRESS:PORT,2=ADDRESS:PORT,..";
    struct peer_list *list = target;
    list->count = 0;
    while (*text != '\0') {
        char entry[128];
        size_t size = strcspn(text, ",");
        if (size >= sizeof entry)
            return expected;
        memcpy(entry, text, size);
        entry[size] = '\0';
        text += size + (text[size] == ',');
        if (!parse_entry(entry, list))
            return expected;
    }
    return list->count > 0 ? NULL : expected;
}

const char *options_parse_admin_url(void *url, const char *text)
{
    struct client_url parsed;
    const char *allowed = client_url_parse(&parsed, text);
    if (allowed != NULL)
        return allowed;
    parsed.port = admin_port_of(parsed.port);
    if (parsed.port == 0)
        return "a port from 1 to 64935 (the admin listener is expected 600 ports above; name "
               "another one with --admin URL)";
    *(struct client_url *)url = parsed;
    return NULL;
}

enum status options_place(struct options *o, const struct peer_list *list, const char *option,
                          struct buffer *error)
{
    if (!daemon_list_valid(list, option, error))
        return STATUS_MALFORMED;
    if (o->id == 0)
        return buffer_explain(error, STATUS_MALFORMED,
                              "--id is needed: the number of this process in %s, 1 to %u", option,
                              list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->at[i].id != o->id)
            continue;
        if (o->address == NULL) {
            o->address = list->at[i].address;
            o->port = list->at[i].port;
        }
        return STATUS_OK;
    }
    return buffer_explain(error, STATUS_MALFORMED,
                          "--id %u is not in %s, which names processes 1 to %u", o->id, option,
                          list->count);
}

const char *options_parse_listen(void *target, const char *value)
{
    struct options *o = target;
    o->address = o->listen;
    return parse_endpoint(value, o->listen, &o->port) ? NULL : "ADDRESS:PORT";
}

const char *options_parse_admin(void *target, const char *value)
{
    struct options *o = target;
    return parse_endpoint(value, o->admin, &o->admin_port) ? NULL : "ADDRESS:PORT";
}

const char *options_parse_faults(void *target, const char *value)
{
    struct options *o = target;
    int64_t port;
    if (!field_parse_integer(value, 0, UINT16_MAX, &port))
        return "a port from 0 to 65535";
    o->faults = true;
    o->faults_port = (uint16_t)port;
    return NULL;
}

bool options_account_is_valid(struct slice account)
{
    return account.size == 12 && slice_number(account) >= 0;
}

const char *options_parse_log(void *target, const char *value)
{
    ((struct options *)target)->log_requests = true;
    return strcmp(value, "requests") == 0 ? NULL : "requests";
}

/* ---- settings ---- */

/* The old names that were used so far. */
static void report_renamed(const struct options *o)
{
    struct buffer text = {0};
    config_describe_renamed(&o->config, &text);
    if (text.size > 0)
        fwrite(text.data, 1, text.size, stderr);
    buffer_deinit(&text);
}

static const char *take_setting(struct options *o, struct slice name, const char *value,
                                struct buffer *error)
{
    if (config_set(&o->config, name, slice_of(value), error) == STATUS_OK)
        return NULL;
    report_renamed(o); /* the error has the new name */
    return "";
}

static const char *take_profile(void *target, const char *value)
{
    struct options *o = target;
    struct buffer error = {0};
    enum status status = config_set(&o->config, slice_of("profile"), slice_of(value), &error);
    buffer_deinit(&error);
    return status == STATUS_OK ? NULL : "off, aws, aws-measured, strict or research";
}

static const char *take_set(void *target, const char *value, struct buffer *error)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL)
        return "NAME=VALUE";
    return take_setting(target, slice_make(value, (size_t)(equals - value)), equals + 1, error);
}

const char *options_take_replicas(void *target, const char *value, struct buffer *error)
{
    struct options *o = target;
    o->replicas_given = true;
    return take_setting(o, slice_of("replicas"), value, error);
}

static const char *take_config(void *target, const char *path, struct buffer *error)
{
    struct options *o = target;
    struct buffer text = {0}, wrong = {0};
    o->describe |= strcmp(path, "help") == 0;
    if (o->describe)
        return NULL;
    enum status status = input_file_read(path, &text, &wrong);
    if (status == STATUS_OK) {
        status = config_parse(&o->config, buffer_slice(&text), &wrong);
        if (status != STATUS_OK)
            buffer_append_format(error, "%s: %.*s", path, TEXT_OF(wrong));
    } else {
        buffer_append_format(error, "--config: %.*s", TEXT_OF(wrong));
    }
    buffer_deinit(&text);
    buffer_deinit(&wrong);
    if (status == STATUS_OK)
        return NULL;
    report_renamed(o);
    return "";
}

static const struct field settings[] = {
    {"profile", FIELD_PARSED, .form = "P", .parse = take_profile, .early = true, .initial = "aws",
     .help = "The profile of initial settings: off, aws, aws-measured, strict or research. off: no "
             "throughput limit is enforced; writes can still be refused for a global index that "
             "lags too far behind, or while a node has its maximum of writes in flight."},
    {"config", FIELD_CUSTOM, .form = "FILE", .take = take_config,
     .help = "Take settings from FILE, `name = value` on each line. `--config help` lists all "
             "settings with value, limits, unit and meaning."},
    {"set", FIELD_CUSTOM, .form = "NAME=VALUE", .take = take_set,
     .help =
         "Change one setting. --set may be repeated: the last value counts. k, M, G and T "
         "are powers of 1000. Sizes in bytes take KiB, MiB, GiB and TiB (powers of 1024) or kB, "
         "MB, GB and TB (powers of 1000)."},
    {"policy", FIELD_CUSTOM, OPTIONS_MEMBER(policies), "FILE", .take = policy_file_take,
     .help =
         "Load policies from this shared object (docs/guide-policies.md). The settings that end in "
         "_policy choose them by name. --policy may be repeated."},
};

static int check_config(const struct options *o, const char *command)
{
    struct buffer text = {0};
    int code = USAGE_GO_ON;
    if (o->record_salt != NULL && o->record == NULL)
        return usage_wrong(command, "--record-salt needs --record FILE");
    if (o->describe) {
        config_describe(&o->config, &text);
        fwrite(text.data, 1, text.size, stdout);
        code = 0;
    } else if (config_check(&o->config, &text) != STATUS_OK ||
               admission_policies_check(&o->config, &text) != STATUS_OK ||
               control_policies_check(&o->config, &text) != STATUS_OK ||
               table_policy_check(&o->config, &text) != STATUS_OK) {
        code = usage_wrong(command, "%.*s", TEXT_OF(text));
    }
    buffer_deinit(&text);
    report_renamed(o);
    return code;
}

int options_parse(struct options *o, const struct command_line *l, int argc, char **argv)
{
    struct command_line line = *l;
    line.groups[1] = (struct option_group)OPTION_GROUP("settings", settings, o);
    config_init(&o->config, PROFILE_AWS);
    if (o->is_local) {
        config_edit_requests(&o->config)->read_your_writes = 1;
        config_edit_choices(&o->config)->show_keys = SHOW_KEYS_FULL;
    }
    policy_file_begin(&o->policies);
    baselines_add(&o->policies);
    int code = usage_parse(&line, argc, argv);
    o->config.policies = &o->policies;
    return code == USAGE_GO_ON ? check_config(o, l->command) : code;
}

enum status options_admin(const struct options *o, struct admin *out, struct buffer *error)
{
    const struct admin_options options = {.address = o->admin,
                                          .port = o->admin_port,
                                          .public_port = o->port,
                                          .token_file = o->admin_token};
    return admin_of(&options, out, error);
}

void options_stop(void *stopping)
{
    *(bool *)stopping = true;
}
