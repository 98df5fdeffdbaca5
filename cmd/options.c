#include "cmd/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/arguments.h"
#include "cmd/cmd.h"

enum {
    EXIT_HELP = 1,
    EXIT_USAGE = 3,
    SPECS_MAX = 20
};

const char *const options_common_help =
    "  --profile P        off | aws | strict | research (default aws)\n"
    "  --config FILE      a file of settings, `name = value` on each line\n"
    "  --config help      list all settings with value, limits, unit and meaning\n"
    "  --set NAME=VALUE   one setting; may be repeated. The last one given wins\n"
    "                     k, M, G, T are powers of 1000; sizes in bytes take KiB, MiB, GiB, TiB\n"
    "                     (powers of 1024) or kB, MB, GB, TB (powers of 1000)\n"
    "  --help             this text\n";

const char *options_profile_meaning(enum profile profile)
{
    switch (profile) {
    case PROFILE_OFF:
        return "nothing is ever throttled";
    case PROFILE_AWS:
        return "documented behaviour: allocation, 300 s of burst, partition maxima";
    case PROFILE_AWS_MEASURED:
        return "like aws, with eventual reads at 1.5 times a partition's maximum and splits after "
               "ten minutes, as measured";
    case PROFILE_STRICT:
        return "allocation only: no burst";
    case PROFILE_RESEARCH:
        return "starts like aws, every parameter is yours";
    }
    return "";
}

static int usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int usage(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "weir %s: ", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see `weir %s --help`\n", command);
    va_end(arguments);
    return EXIT_USAGE;
}

static bool parse_number(const char *text, long least, long most, long *out)
{
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *out >= least && *out <= most;
}

/* ADDRESS:PORT, or PORT alone. */
static bool parse_endpoint(const char *text, char *address, size_t size, uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    long number;
    if (colon == NULL) {
        snprintf(address, size, "127.0.0.1");
    } else {
        if (colon == text || (size_t)(colon - text) >= size)
            return false;
        memcpy(address, text, (size_t)(colon - text));
        address[colon - text] = '\0';
        text = colon + 1;
    }
    if (!parse_number(text, 0, 65535, &number))
        return false;
    *port = (uint16_t)number;
    return true;
}

static bool parse_list(struct options_list *list, const char *text)
{
    list->count = 0;
    while (*text != '\0') {
        char entry[128];
        size_t size = strcspn(text, ",");
        if (size >= sizeof entry || list->count == NODES_LIMIT)
            return false;
        memcpy(entry, text, size);
        entry[size] = '\0';
        text += size + (text[size] == ',');
        char *equals = strchr(entry, '=');
        long id;
        if (equals == NULL)
            return false;
        *equals = '\0';
        uint32_t i = list->count;
        if (!parse_number(entry, 1, NODES_LIMIT, &id) ||
            !parse_endpoint(equals + 1, list->at[i].address, sizeof list->at[i].address,
                            &list->at[i].port))
            return false;
        list->at[list->count++].id = (uint32_t)id;
    }
    return list->count > 0;
}

static int read_config(struct options *o, const char *command, const char *path)
{
    struct buffer text = {0}, error = {0};
    if (strcmp(path, "help") == 0) {
        config_describe(&o->config, &text);
        fwrite(text.data, 1, text.size, stdout);
        buffer_deinit(&text);
        return EXIT_HELP;
    }
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return usage(command, "cannot open --config %s: %s", path, strerror(errno));
    size_t n;
    while ((n = fread(buffer_reserve(&text, 4096), 1, 4096, f)) > 0)
        text.size += n;
    fclose(f);
    int result = 0;
    if (config_parse(&o->config, buffer_slice(&text), &error) != STATUS_OK)
        result = usage(command, "%s: %.*s", path, (int)error.size, error.data);
    buffer_deinit(&text);
    buffer_deinit(&error);
    return result;
}

static int set_one(struct options *o, const char *command, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL)
        return usage(command, "--set takes NAME=VALUE, not `%s`", text);
    struct buffer error = {0};
    int result = 0;
    if (config_set(&o->config, slice_make(text, (size_t)(equals - text)), slice_of(equals + 1),
                   &error) != STATUS_OK)
        result = usage(command, "%.*s", (int)error.size, error.data);
    buffer_deinit(&error);
    return result;
}

/* The profile comes first: it is what --config and --set start from. */
static int apply_profile(struct options *o, int argc, char **argv)
{
    enum profile profile = PROFILE_AWS;
    for (int i = 1; i < argc; i++) {
        const char *name = NULL;
        if (strcmp(argv[i], "--profile") == 0 && i + 1 < argc)
            name = argv[i + 1];
        else if (strncmp(argv[i], "--profile=", 10) == 0)
            name = argv[i] + 10;
        if (name != NULL && !profile_parse(slice_of(name), &profile))
            return usage(argv[0],
                         "`--profile` is off, aws, aws-measured, strict or research, not `%s`",
                         name);
    }
    config_init(&o->config, profile);
    return 0;
}

static int check_config(const struct options *o, const char *command)
{
    struct buffer error = {0};
    int result = 0;
    if (config_check(&o->config, &error) != STATUS_OK)
        result = usage(command, "%.*s", (int)error.size, error.data);
    buffer_deinit(&error);
    return result;
}

/* `*out` is 0 after a usage error. */
static int take_number(const char *command, const char *name, const char *value, long least,
                       long most, long *out)
{
    if (parse_number(value, least, most, out))
        return 0;
    *out = 0;
    return usage(command, "`--%s` takes a number from %ld to %ld, not `%s`", name, least, most,
                 value);
}

static int take_replicas(struct options *o, const char *command, const char *value)
{
    char setting[64];
    o->replicas_given = true;
    snprintf(setting, sizeof setting, "replicas=%s", value);
    return set_one(o, command, setting);
}

static void take_flag(struct options *o, int option)
{
    o->verbose |= option == OPTION_VERBOSE;
    o->in_memory |= option == OPTION_IN_MEMORY;
    o->json |= option == OPTION_JSON;
}

static int take_option(struct options *o, const char *command, int option, const char *value,
                       const char *help)
{
    long number;
    int result;
    switch (option) {
    case OPTION_HELP:
        printf("%s\n%s", help, options_common_help);
        return EXIT_HELP;
    case OPTION_CONFIG:
        return read_config(o, command, value);
    case OPTION_SET:
        return set_one(o, command, value);
    case OPTION_PROFILE: /* apply_profile has taken it */
        return 0;
    case OPTION_DATA:
        o->data = value;
        o->data_given = true;
        return 0;
    case OPTION_PORT:
        result = take_number(command, "port", value, 0, UINT16_MAX, &number);
        o->port = (uint16_t)number;
        return result;
    case OPTION_LISTEN:
        if (!parse_endpoint(value, o->listen, sizeof o->listen, &o->port))
            return usage(command, "--listen takes ADDRESS:PORT, not `%s`", value);
        o->address = o->listen;
        return 0;
    case OPTION_NODES:
        result = take_number(command, "nodes", value, 1, NODES_LIMIT, &number);
        o->nodes = (uint32_t)number;
        return result;
    case OPTION_REPLICAS:
        return take_replicas(o, command, value);
    case OPTION_ID:
        result = take_number(command, "id", value, 1, NODES_LIMIT, &number);
        o->id = (uint32_t)number;
        return result;
    case OPTION_PEERS:
    case OPTION_GAC:
        if (!parse_list(option == OPTION_PEERS ? &o->peers : &o->gac, value))
            return usage(command, "--%s takes 1=ADDRESS:PORT,2=ADDRESS:PORT,.. not `%s`",
                         option == OPTION_PEERS ? "peers" : "gac", value);
        return 0;
    case OPTION_ADMIN:
        if (!parse_endpoint(value, o->admin, sizeof o->admin, &o->admin_port))
            return usage(command, "--admin takes ADDRESS:PORT, not `%s`", value);
        o->admin_given = true;
        return 0;
    case OPTION_ADMIN_TOKEN:
        o->admin_token = value;
        return 0;
    case OPTION_LOG:
        if (strcmp(value, "requests") != 0)
            return usage(command, "`--log` takes requests, not `%s`", value);
        o->log_requests = true;
        return 0;
    case OPTION_VERBOSE:
    case OPTION_IN_MEMORY:
    case OPTION_JSON:
        take_flag(o, option);
        return 0;
    case OPTION_FAULTS:
        result = take_number(command, "faults", value, 0, UINT16_MAX, &number);
        o->faults = true;
        o->faults_port = (uint16_t)number;
        return result;
    default:
        return usage(command, "unknown option");
    }
}

/* The options that `known` names, and those of every subcommand. */
static size_t list_options(unsigned known, struct argument_spec *out)
{
    static const struct argument_spec all[] = {
        {"data", ARGUMENT_VALUE, OPTION_DATA},
        {"log", ARGUMENT_VALUE, OPTION_LOG},
        {"verbose", ARGUMENT_FLAG, OPTION_VERBOSE},
        {"in-memory", ARGUMENT_FLAG, OPTION_IN_MEMORY},
        {"port", ARGUMENT_VALUE, OPTION_PORT},
        {"listen", ARGUMENT_VALUE, OPTION_LISTEN},
        {"nodes", ARGUMENT_VALUE, OPTION_NODES},
        {"replicas", ARGUMENT_VALUE, OPTION_REPLICAS},
        {"id", ARGUMENT_VALUE, OPTION_ID},
        {"peers", ARGUMENT_VALUE, OPTION_PEERS},
        {"gac", ARGUMENT_VALUE, OPTION_GAC},
        {"faults", ARGUMENT_VALUE, OPTION_FAULTS},
        {"json", ARGUMENT_FLAG, OPTION_JSON},
        {"admin", ARGUMENT_VALUE, OPTION_ADMIN},
        {"admin-token", ARGUMENT_VALUE, OPTION_ADMIN_TOKEN},
    };
    static const struct argument_spec common[] = {
        {"help", ARGUMENT_FLAG, OPTION_HELP},
        {"config", ARGUMENT_VALUE, OPTION_CONFIG},
        {"set", ARGUMENT_VALUE, OPTION_SET},
        {"profile", ARGUMENT_VALUE, OPTION_PROFILE},
    };
    _Static_assert(sizeof all / sizeof all[0] + sizeof common / sizeof common[0] <= SPECS_MAX,
                   "the table holds all options");
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (known & (unsigned)all[i].id)
            out[count++] = all[i];
    }
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        out[count++] = common[i];
    return count;
}

int options_parse(struct options *o, unsigned known, const char *help, int argc, char **argv)
{
    struct argument_spec specs[SPECS_MAX];
    struct arguments a = {specs, list_options(known, specs), argc, argv, 1};
    struct buffer error = {0};
    const char *value;
    int result = apply_profile(o, argc, argv), option = ARGUMENTS_END;
    while (result == 0 && (option = arguments_next(&a, &value, &error)) >= 0)
        result = take_option(o, argv[0], option, value, help);
    if (result == 0 && option == ARGUMENTS_WRONG)
        result = usage(argv[0], "%.*s", (int)error.size, (const char *)error.data);
    if (result == 0 && option == ARGUMENTS_WORD)
        result = usage(argv[0], "unexpected argument `%s`", value);
    buffer_deinit(&error);
    return result == 0 ? check_config(o, argv[0]) : result;
}
