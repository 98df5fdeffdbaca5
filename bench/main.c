/* main.c - `weir-bench`: finds the bench and runs it. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "cmd/usage.h"

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

static void bench_main_print_help(FILE *out)
{
    fprintf(out, "usage: weir-bench NAME [--json] [option]...\n\n"
                 "Measures a part of weir on this machine. NAME is one of:\n\n");
    for (size_t i = 0; i < BENCHES; i++)
        fprintf(out, "  %-10s %s\n", benches[i].name, benches[i].help);
    fprintf(out, "\n`weir-bench NAME --help` lists its options.\n"
                 "\nexamples:\n  weir-bench decision --json\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        bench_main_print_help(stderr);
        return 2;
    }
    const size_t place = NAME_PLACE(argv[1], benches, BENCHES);
    if (place < BENCHES)
        return benches[place].run(argc - 1, argv + 1);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        bench_main_print_help(stdout);
        return 0;
    }
    struct buffer text = {0};
    buffer_append_format(&text, "there is no bench `%s`", argv[1]);
    nearest_name_suggest(slice_of(argv[1]), "", &benches[0].name, BENCHES, sizeof benches[0],
                         &text);
    int code = usage_wrong("weir-bench", "%.*s", (int)text.size, (const char *)text.data);
    buffer_deinit(&text);
    return code;
}
