#include "cmd/bench.h"

#include <getopt.h>
#include <string.h>

#include "cmd/cmd.h"

static const struct {
    const char *name;
    const char *help;
    int (*run)(int argc, char **argv);
} benches[] = {
#define X(name, help) {#name, help, bench_##name},
    BENCH_LIST(X)
#undef X
};

enum {
    BENCHES = sizeof benches / sizeof benches[0]
};

static void print_help(FILE *out)
{
    fprintf(out, "usage: weir bench NAME [--json] [options]\n\n"
                 "Measures a part of weir on this machine. NAME is one of:\n\n");
    for (size_t i = 0; i < BENCHES; i++)
        fprintf(out, "  %-10s %s\n", benches[i].name, benches[i].help);
    fprintf(out, "\n`weir bench NAME --help` lists its options.\n"
                 "\nexample:\n  weir bench decision --json\n");
}

int bench_parse_json(int argc, char **argv, void (*help)(FILE *out), bool *json)
{
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        if (option == 'h') {
            help(stdout);
            return 0;
        }
        if (option != 'j') {
            help(stderr);
            return 2;
        }
        *json = true;
    }
    if (optind != argc) {
        fprintf(stderr, "weir bench %s: '%s' is not an option\n", argv[0], argv[optind]);
        return 2;
    }
    return -1;
}

int cmd_bench(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    for (size_t i = 0; i < BENCHES; i++) {
        if (strcmp(argv[1], benches[i].name) == 0)
            return benches[i].run(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    fprintf(stderr, "weir bench: there is no bench '%s'; see `weir bench --help`\n", argv[1]);
    return 2;
}
