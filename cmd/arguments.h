/* arguments.h - a command line, word by word: options from a table, and words that are no options.
 *
 * Promises: every subcommand reads its options the same way. `--name value` and `--name=value` mean
 * the same. A wrong option gets one line that names the option and the nearest one that exists.
 * Not here: what an option's value may be. */
#ifndef WEIR_CMD_ARGUMENTS_H
#define WEIR_CMD_ARGUMENTS_H

#include "base/buffer.h"

enum {
    ARGUMENTS_END = -1,   /* every word was read */
    ARGUMENTS_WRONG = -2, /* `error` tells why */
    ARGUMENTS_WORD = -3,  /* a word that is no option: `value` */
};

enum argument_value {
    ARGUMENT_FLAG,     /* no value */
    ARGUMENT_SWITCH,   /* a value after = alone: --name=true */
    ARGUMENT_VALUE,    /* needs a value; from here on the next word may be it */
    ARGUMENT_OPTIONAL, /* a value, if the next word is no option */
};

struct argument_spec {
    const char *name; /* without the dashes */
    enum argument_value takes;
    int id; /* 0 or more */
};

struct arguments {
    const struct argument_spec *specs;
    size_t spec_count;
    int argc;
    char **argv;
    int next; /* the word to be read next: starts at 1 */
};

/* The id of the next option, or one of the constants above. `value` is NULL for a flag and for an
 * optional value that is not there. `error` gets one line without a line end. */
int arguments_next(struct arguments *a, const char **value, struct buffer *error);

/* Appends " (did you mean `PREFIXname`?)" if one of the names is near enough to `typed`. The names
 * are `count` pointers, each `stride` bytes after the one before. */
void arguments_suggest(struct slice typed, const char *prefix, const char *const *names,
                       size_t count, size_t stride, struct buffer *out);

#endif
