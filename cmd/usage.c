/* usage.c - prints the parser's help and errors. */
#include "cmd/usage.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    EXIT_USAGE = 2
};

int usage_print(const char *command, enum command_line_result result, const struct buffer *text)
{
    switch (result) {
    case COMMAND_LINE_TAKEN:
        break;
    case COMMAND_LINE_HELP:
        fwrite(text->data, 1, text->size, stdout);
        return 0;
    case COMMAND_LINE_WRONG:
        return usage_wrong(command, "%.*s", TEXT_OF(*text));
    }
    return USAGE_GO_ON;
}

/* Former names are taken for one version. */
static void usage_note_former(const struct command_line *l, const char *word)
{
    const struct slice name = slice_make(word + 2, strcspn(word + 2, "="));
    for (const struct option_group *g = l->groups; g < l->groups + OPTION_GROUPS_MAX; g++) {
        const struct field *o = field_find(g->options, g->count, name);
        if (o != NULL && !slice_is(name, o->name))
            fprintf(stderr, "%s: `--%.*s` is now called `--%s`\n", l->command, TEXT_OF(name),
                    o->name);
    }
}

int usage_parse(const struct command_line *l, int argc, char **argv)
{
    struct buffer text = {0};
    int code = usage_print(l->command, command_line_read(l, argc, argv, &text), &text);
    buffer_deinit(&text);
    for (int i = 1; i < argc && code == USAGE_GO_ON; i++) {
        if (strncmp(argv[i], "--", 2) == 0)
            usage_note_former(l, argv[i]);
    }
    return code;
}

int usage_wrong(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see `%s --help`\n", command);
    va_end(arguments);
    return EXIT_USAGE;
}
