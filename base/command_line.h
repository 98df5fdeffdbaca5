/* command_line.h - command lines, read and explained by tables.
 *
 * Promises: each option stands in one table, with its name, the kind of its value, the bounds and a
 * help text. The parser, the error texts and `--help` come from the table. `--name value` and
 * `--name=value` mean the same. An error is one line that names the option, the value and what the
 * option takes; an unknown name gets the nearest known one.
 * Why not argp of glibc: each subcommand would parse and check its values by hand; an optional
 * value could only follow a `=`; a mistyped name would get no suggestion.
 * Not here: printing (cmd/usage.h), and settings of the configuration (config.h). */
#pragma once

#include "base/fields.h"

enum {
    OPTION_GROUPS_MAX = 4
};

struct option_group {
    const char *title; /* NULL: none */
    const struct field *options;
    size_t count;
    void *target; /* borrows: the struct with the members */
};

#define OPTION_GROUP(title, options, target)                           \
    {                                                                  \
        title, options, sizeof(options) / sizeof((options)[0]), target \
    }

/* The words that are not options, and how many there may be. All zero: none. */
struct command_words {
    const char **at; /* borrows: room for `max` */
    int *count;
    int min, max;
    const char *expected; /* for errors, such as "one scenario" */
};

struct command_line {
    const char *command;  /* as typed: "weir load" */
    const char *usage;    /* what follows the command, in the help */
    const char *about;    /* paragraphs; lines that begin with two blanks stay as they are */
    const char *examples; /* whole lines */
    struct option_group groups[OPTION_GROUPS_MAX];
    struct command_words words;
};

enum command_line_result {
    COMMAND_LINE_TAKEN,
    COMMAND_LINE_HELP,  /* --help was given: `text` is the help, and no option was taken */
    COMMAND_LINE_WRONG, /* `text` is one line without a line end */
};

enum command_line_result command_line_read(const struct command_line *l, int argc, char **argv,
                                           struct buffer *text);

/* Sets the member of `target`. False: `error` gets one line, with `prefix` before the name. */
bool option_take(const struct field *o, void *target, const char *value, const char *prefix,
                 struct buffer *error);
