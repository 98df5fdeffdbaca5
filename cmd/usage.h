/* usage.h - a subcommand's command line: help to standard output, errors to standard error. */
#pragma once

#include "base/command_line.h"

enum {
    USAGE_GO_ON = -1
};

/* USAGE_GO_ON: the options are taken. Otherwise the exit code: 0 after --help, 2 after an error,
 * which is printed. A former name of an option is taken, with a note on standard error. */
int usage_parse(const struct command_line *l, int argc, char **argv);

/* usage_parse for the result of command_line_read, or of a function like it. */
int usage_print(const char *command, enum command_line_result result, const struct buffer *text);

/* Prints a fault that the parser cannot find. Returns 2, the exit code. */
int usage_wrong(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
