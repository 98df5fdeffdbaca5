/* lab.c - `weir lab`: finds the subcommand. */
#include <stdio.h>

#include "base/command_line.h"
#include "cmd/cmd.h"
#include "cmd/lab.h"

struct lab_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

static const struct lab_command lab_commands[] = {
    {"run", lab_run_command, "run one scenario: all its policies, several seeds"},
    {"suite", lab_suite_command, "run all scenarios of weir, and check their expectations"},
    {"sweep", lab_sweep_command, "run every combination of a scenario's axes"},
    {"replay", lab_replay_command, "run a recording under other policies or capacities"},
    {"job", lab_job_command, "run one numbered run of a sweep's directory: for job engines"},
    {"result", lab_result_command, "combine the runs of a directory, and check expectations"},
    {"compare", lab_compare_command, "compare two policies of a directory, measure by measure"},
    {"reproduce", lab_reproduce_command, "run what a directory has again, and compare"},
    {"report", lab_report_command, "write a page with figures of a directory's results"},
    {"list", lab_list_command, "list scenarios, measures, or the fields of scenario files"},
    {"new", lab_new_command, "write a first scenario"},
};

static void lab_print_help(FILE *out)
{
    fputs("weir lab - scenarios that compare policies of admission control\n\n"
          "Usage: weir lab COMMAND [OPTION]...\n\n",
          out);
    for (size_t i = 0; i < COUNT_OF(lab_commands); i++)
        fprintf(out, "  %-10s %s\n", lab_commands[i].name, lab_commands[i].help);
    fputs("\n`weir lab COMMAND --help` describes a command.\n\n"
          "Examples:\n"
          "  weir lab list\n"
          "  weir lab run static-skew --seeds 3\n"
          "  weir lab new mine > mine.yaml && weir lab run mine.yaml\n",
          out);
}

int cmd_lab(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        lab_print_help(argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    const size_t place = NAME_PLACE(argv[1], lab_commands, COUNT_OF(lab_commands));
    if (place < COUNT_OF(lab_commands))
        return lab_commands[place].run(argc - 1, argv + 1);
    struct buffer text = {0};
    nearest_name_suggest(slice_of(argv[1]), "weir lab ", &lab_commands[0].name,
                         COUNT_OF(lab_commands), sizeof lab_commands[0], &text);
    fprintf(stderr, "weir lab: unknown command `%s`%.*s; see `weir lab --help`\n", argv[1],
            (int)text.size, text.size > 0 ? (const char *)text.data : "");
    buffer_deinit(&text);
    return 2;
}
