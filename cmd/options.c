#include "cmd/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"

enum {
    EXIT_HELP = 1,
    EXIT_USAGE = 3
};

const char *const options_common_help =
    "  --profile P        off | aws | strict | research (default aws)\n"
    "  --config FILE      settings, `name = value` a line; `--config help` lists them all\n"
    "  --set NAME=VALUE   one setting; may be repeated, wins over --config\n"
    "  --help             this text\n";

const char *options_profile_meaning(enum profile profile)
{
    switch (profile) {
    case PROFILE_OFF:
        return "nothing is ever throttled";
    case PROFILE_AWS:
        return "documented behaviour: allocation, 300 s of burst, partition maxima";
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
            return usage(argv[0], "--profile is off, aws, strict or research, not `%s`", name);
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

static int take_option(struct options *o, const char *command, int option, const char *help)
{
    long number;
    switch (option) {
    case 'h':
        printf("%s\n%s", help, options_common_help);
        return EXIT_HELP;
    case 'c':
        return read_config(o, command, optarg);
    case 's':
        return set_one(o, command, optarg);
    case 'f':
        return 0;
    case OPTION_DATA:
        o->data = optarg;
        return 0;
    case OPTION_PORT:
        if (!parse_number(optarg, 0, 65535, &number))
            return usage(command, "--port is a number up to 65535, not `%s`", optarg);
        o->port = (uint16_t)number;
        return 0;
    case OPTION_LISTEN:
        if (!parse_endpoint(optarg, o->listen, sizeof o->listen, &o->port))
            return usage(command, "--listen takes ADDRESS:PORT, not `%s`", optarg);
        o->address = o->listen;
        return 0;
    case OPTION_NODES:
        if (!parse_number(optarg, 1, NODES_LIMIT, &number))
            return usage(command, "--nodes is 1 to %d, not `%s`", NODES_LIMIT, optarg);
        o->nodes = (uint32_t)number;
        return 0;
    case OPTION_REPLICAS: {
        char setting[64];
        snprintf(setting, sizeof setting, "replicas=%s", optarg);
        return set_one(o, command, setting);
    }
    case OPTION_ID:
        if (!parse_number(optarg, 1, NODES_LIMIT, &number))
            return usage(command, "--id is 1 to %d, not `%s`", NODES_LIMIT, optarg);
        o->id = (uint32_t)number;
        return 0;
    case OPTION_PEERS:
    case OPTION_GAC:
        if (!parse_list(option == OPTION_PEERS ? &o->peers : &o->gac, optarg))
            return usage(command, "--%s takes 1=ADDRESS:PORT,2=ADDRESS:PORT,.. not `%s`",
                         option == OPTION_PEERS ? "peers" : "gac", optarg);
        return 0;
    case OPTION_ADMIN:
        if (!parse_endpoint(optarg, o->admin, sizeof o->admin, &o->admin_port))
            return usage(command, "--admin takes ADDRESS:PORT, not `%s`", optarg);
        o->admin_given = true;
        return 0;
    case OPTION_ADMIN_TOKEN:
        o->admin_token = optarg;
        return 0;
    case OPTION_JSON:
        o->json = true;
        return 0;
    case OPTION_FAULTS:
        if (!parse_number(optarg, 0, 65535, &number))
            return usage(command, "--faults is a port up to 65535, not `%s`", optarg);
        o->faults = true;
        o->faults_port = (uint16_t)number;
        return 0;
    default:
        return usage(command, "unknown option");
    }
}

int options_parse(struct options *o, unsigned known, const char *help, int argc, char **argv)
{
    static const struct option all[] = {
        {"data", required_argument, NULL, OPTION_DATA},
        {"port", required_argument, NULL, OPTION_PORT},
        {"listen", required_argument, NULL, OPTION_LISTEN},
        {"nodes", required_argument, NULL, OPTION_NODES},
        {"replicas", required_argument, NULL, OPTION_REPLICAS},
        {"id", required_argument, NULL, OPTION_ID},
        {"peers", required_argument, NULL, OPTION_PEERS},
        {"gac", required_argument, NULL, OPTION_GAC},
        {"faults", required_argument, NULL, OPTION_FAULTS},
        {"json", no_argument, NULL, OPTION_JSON},
        {"admin", required_argument, NULL, OPTION_ADMIN},
        {"admin-token", required_argument, NULL, OPTION_ADMIN_TOKEN},
    };
    static const struct option common[] = {
        {"help", no_argument, NULL, 'h'},
        {"config", required_argument, NULL, 'c'},
        {"set", required_argument, NULL, 's'},
        {"profile", required_argument, NULL, 'f'},
    };
    struct option table[16] = {0};
    int count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (known & (unsigned)all[i].val)
            table[count++] = all[i];
    }
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        table[count++] = common[i];
    int result = apply_profile(o, argc, argv);
    optind = 1;
    opterr = 0;
    int option;
    while (result == 0 && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (option == '?')
            return usage(argv[0], "`%s` is no option, or lacks its value", argv[optind - 1]);
        result = take_option(o, argv[0], option, help);
    }
    if (result == 0 && optind < argc)
        return usage(argv[0], "`%s` is not expected", argv[optind]);
    return result == 0 ? check_config(o, argv[0]) : result;
}
