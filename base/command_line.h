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

#include "base/buffer.h"

enum {
    OPTION_GROUPS_MAX = 4
};

/* The kind of a value, and the type of the member that takes the value. */
enum option_kind {
    OPTION_FLAG,    /* bool: the name alone, or =true, or =false */
    OPTION_INTEGER, /* uint16_t, int32_t, uint32_t or int64_t; k and M: times 1,000, 1,000,000 */
    OPTION_REAL,    /* double; k and M as above */
    OPTION_SPAN,    /* int64_t, in nanoseconds: 10, 10s, 500ms, 2m, 1h */
    OPTION_TEXT,    /* const char *: borrows the argument */
    OPTION_NAME,    /* char []: a copy; no blanks, quotes, backslashes or control characters */
    OPTION_CHOICE,  /* an enum: the value's place among `choices` */
    OPTION_CUSTOM,  /* `take` converts the value */
};

struct option {
    const char *name;  /* without the dashes */
    const char *value; /* the value's form in the help; NULL for a flag */
    enum option_kind kind;
    size_t at, size;            /* of the member: OPTION_MEMBER */
    int64_t min, max;           /* of a number; OPTION_NAME: least characters; OPTION_SPAN: least */
    const char *const *choices; /* ended by NULL */
    /* NULL: taken. Otherwise what the option takes, or "" if `error` has the whole line. `value` is
     * NULL if there is none. */
    const char *(*take)(void *target, const char *value, struct buffer *error);
    bool optional; /* the value may be missing: the next word is the value unless it is an option */
    bool early;    /* read before all others, which depend on it */
    const char *former;  /* a name that is taken, too, and not in the help; NULL: none */
    const char *initial; /* the default in the help instead of the member's; "" hides it */
    const char *help;    /* whole sentences; the default is appended */
};

#define OPTION_MEMBER(type, member) \
    .at = offsetof(type, member), .size = sizeof(((type *)0)->member)

struct option_group {
    const char *title; /* NULL: none */
    const struct option *options;
    size_t count;
    void *target; /* borrows: the struct with the members */
};

#define OPTION_GROUP(title, options, target)                           \
    {                                                                  \
        title, options, sizeof(options) / sizeof((options)[0]), target \
    }

struct command_line {
    const char *command;  /* as typed: "weir load" */
    const char *usage;    /* what follows the command, in the help */
    const char *about;    /* paragraphs; lines that begin with two blanks stay as they are */
    const char *examples; /* whole lines */
    struct option_group groups[OPTION_GROUPS_MAX];
    /* Takes a word that is not an option; NULL: no such words. Returns as `take` does. */
    const char *(*word)(void *target, const char *word, struct buffer *error);
    void *word_target;
};

enum command_line_result {
    COMMAND_LINE_TAKEN,
    COMMAND_LINE_HELP,  /* --help was given: `text` is the help, and no option was taken */
    COMMAND_LINE_WRONG, /* `text` is one line without a line end */
};

enum command_line_result command_line_read(const struct command_line *l, int argc, char **argv,
                                           struct buffer *text);

/* NULL: no option has, or had, this name. */
const struct option *option_find(const struct option *options, size_t count, struct slice name);

/* Sets the member of `target`. False: `error` gets one line, with `prefix` before the name. */
bool option_take(const struct option *o, void *target, const char *value, const char *prefix,
                 struct buffer *error);

/* "a, b or c". NULL ends the choices. */
void option_append_choices(const char *const *choices, struct buffer *out);

/* For `take` functions. */
bool option_parse_integer(const char *text, int64_t min, int64_t max, int64_t *out);
bool option_parse_real(const char *text, double *out);

/* Appends " (did you mean `PREFIXname`?)" if one of the names is near enough to `typed`. The names
 * are `count` pointers, each `stride` bytes after the one before. */
void command_line_suggest(struct slice typed, const char *prefix, const char *const *names,
                          size_t count, size_t stride, struct buffer *out);
