/* main.c - `weir-bench`: finds the bench and runs it. */
#include "bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "cmd/arguments.h"

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
    fprintf(out, "usage: weir-bench NAME [--json] [options]\n\n"
                 "Measures a part of weir on this machine. NAME is one of:\n\n");
    for (size_t i = 0; i < BENCHES; i++)
        fprintf(out, "  %-10s %s\n", benches[i].name, benches[i].help);
    fprintf(out, "\n`weir-bench NAME --help` lists its options.\n"
                 "\nexample:\n  weir-bench decision --json\n");
}

/* False: the value is none that the option takes; `error` says which ones it does. */
static bool take_value(const struct bench_option *o, const char *value, struct buffer *error)
{
    if (o->flag != NULL)
        *o->flag = true;
    if (o->text != NULL)
        *o->text = value;
    if (o->number == NULL)
        return true;
    char *end;
    errno = 0;
    *o->number = strtoll(value, &end, 10);
    if (errno == 0 && end != value && *end == '\0' && *o->number >= o->least &&
        *o->number <= o->most)
        return true;
    buffer_append_format(error, "`--%s` takes %lld to %lld, not `%s`", o->name, (long long)o->least,
                         (long long)o->most, value);
    return false;
}

int bench_parse(const struct bench_option *options, size_t count, const char *help, int argc,
                char **argv)
{
    struct argument_spec specs[BENCH_OPTIONS_MAX + 1];
    struct arguments a = {specs, count + 1, argc, argv, 1};
    struct buffer error = {0};
    const char *value;
    int option, help_id = (int)count;
    must(count <= BENCH_OPTIONS_MAX);
    for (int i = 0; i < help_id; i++) {
        enum argument_value takes = options[i].flag != NULL ? ARGUMENT_FLAG : ARGUMENT_VALUE;
        specs[i] = (struct argument_spec){options[i].name, takes, i};
    }
    specs[count] = (struct argument_spec){"help", ARGUMENT_FLAG, help_id};
    while ((option = arguments_next(&a, &value, &error)) >= 0) {
        if (option == help_id) {
            fputs(help, stdout);
            return 0;
        }
        if (!take_value(&options[option], value, &error))
            break;
    }
    if (option == ARGUMENTS_WORD)
        buffer_append_format(&error, "unexpected argument `%s`", value);
    if (option != ARGUMENTS_END)
        fprintf(stderr, "weir-bench %s: %.*s; see `weir-bench %s --help`\n", argv[0],
                (int)error.size, (const char *)error.data, argv[0]);
    buffer_deinit(&error);
    return option == ARGUMENTS_END ? -1 : 2;
}

int main(int argc, char **argv)
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
    fprintf(stderr, "weir-bench: there is no bench '%s'; see `weir-bench --help`\n", argv[1]);
    return 2;
}
