/* main.c - `weir`: finds the subcommand. */
#include <stdio.h>

#include "base/command_line.h"
#include "cmd/cmd.h"
#include "cmd/version.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

static const struct command commands[] = {
#define X(name, typed, help) {typed, cmd_##name, help},
    COMMAND_LIST(X)
#undef X
};

static const struct {
    const char *old;
    const char *name;
} renamed[] = {
#define X(old, name) {old, name},
    COMMAND_RENAMED_LIST(X)
#undef X
};

static void main_print_help(FILE *out)
{
    fputs("weir - a DynamoDB-compatible storage cluster with real admission control\n\n"
          "Usage: weir COMMAND [OPTION]...\n\n",
          out);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        fprintf(out, "  %-14s %s\n", commands[i].name, commands[i].help);
    fputs("\n`weir COMMAND --help` describes a command; `weir --version` prints the version.\n"
          "Begin with `weir local`, and connect any DynamoDB client to it.\n",
          out);
}

static const struct command *main_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++) {
        if (strcmp(renamed[i].old, name) == 0) {
            fprintf(stderr,
                    "weir: the command %s is now called %s; the next version drops the old name\n",
                    name, renamed[i].name);
            return main_find(renamed[i].name);
        }
    }
    const size_t place = NAME_PLACE(name, commands, COUNT_OF(commands));
    return place < COUNT_OF(commands) ? &commands[place] : NULL;
}

static void main_suggest(const char *wrong)
{
    struct buffer text = {0};
    nearest_name_suggest(slice_of(wrong), "weir ", &commands[0].name, COUNT_OF(commands),
                         sizeof commands[0], &text);
    fprintf(stderr, "weir: unknown command `%s`%.*s; see `weir --help`\n", wrong, (int)text.size,
            text.size > 0 ? (const char *)text.data : "");
    buffer_deinit(&text);
}

static int main_run_command(const struct command *command, int argc, char **argv)
{
    if (command == NULL) {
        main_suggest(argv[0]);
        return 2;
    }
    return command->run(argc, argv);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        main_print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("weir %s (%s)\n", WEIR_VERSION, version_build());
        return 0;
    }
    if (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "help") != 0)
        return main_run_command(main_find(argv[1]), argc - 1, argv + 1);
    if (argc == 2) {
        main_print_help(stdout);
        return 0;
    }
    static char help_option[] = "--help";
    char *arguments[] = {argv[2], help_option, NULL};
    return main_run_command(main_find(argv[2]), 2, arguments);
}
