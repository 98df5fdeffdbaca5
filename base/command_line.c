/* command_line.c - finds the options of words, sets their members, and writes the help. */
#include "base/command_line.h"

#include <stdio.h>

enum {
    WIDTH = 80,
    LEFT_MAX = 26 /* a longer name and value get a line of their own */
};

bool option_take(const struct field *o, void *target, const char *value, const char *prefix,
                 struct buffer *error)
{
    struct buffer expected = {0};
    bool taken, flag = o->kind == FIELD_FLAG;
    if (flag && (value == NULL || *value == '\0'))
        value = "true";
    if (o->kind == FIELD_CUSTOM) {
        const char *allowed = o->take((char *)target + o->at, value, error);
        taken = allowed == NULL;
        buffer_append_text(&expected, taken ? "" : allowed);
    } else {
        taken = field_set(o, target, value, &expected);
    }
    if (!taken && expected.size > 0)
        buffer_append_format(error, "`%s%s` takes %s%.*s, not `%s`", prefix, o->name,
                             flag ? "no value, or " : "", TEXT_OF(expected),
                             value == NULL ? "" : value);
    buffer_deinit(&expected);
    return taken;
}

/* ---- words ---- */

struct word {
    struct slice name; /* of an option; NULL data: the word is not an option */
    const struct field *option;
    const struct option_group *group;
    const char *value; /* NULL: none */
};

static bool unknown_option(const struct command_line *l, struct slice name, struct buffer *error)
{
    struct nearest_name nearest = {.typed = name};
    if (slice_is(name, "help")) { /* without a value it was found before */
        buffer_append_text(error, "`--help` takes no value");
        return false;
    }
    buffer_append_format(error, "unknown option `--%.*s`", TEXT_OF(name));
    for (const struct option_group *g = l->groups; g < l->groups + OPTION_GROUPS_MAX; g++)
        if (g->count > 0)
            nearest_name_add(&nearest, &g->options[0].name, g->count, sizeof g->options[0]);
    nearest_name_add(&nearest, (const char *const[]){"help"}, 1, 0);
    nearest_name_append(&nearest, "--", error);
    return false;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* Takes one or two words, from argv[*at] on. */
static bool next_word(const struct command_line *l, int argc, char **argv, int *at,
                      struct word *out, struct buffer *error)
{
    const char *word = argv[(*at)++];
    *out = (struct word){.value = word};
    if (!is_option(word))
        return true;
    if (word[1] != '-') {
        buffer_append_format(error, "unknown option `%s`", word);
        return false;
    }
    const char *equals = strchr(word, '=');
    size_t size = equals == NULL ? strlen(word) : (size_t)(equals - word);
    out->name = slice_make(word + 2, size - 2);
    for (const struct option_group *g = l->groups;
         g < l->groups + OPTION_GROUPS_MAX && out->option == NULL; g++) {
        out->option = field_find(g->options, g->count, out->name);
        out->group = g;
    }
    const struct field *o = out->option;
    if (o == NULL)
        return unknown_option(l, out->name, error);
    out->value = equals == NULL ? NULL : equals + 1;
    bool more = *at < argc && (!o->optional || !is_option(argv[*at]));
    if (equals == NULL && o->form != NULL && more)
        out->value = argv[(*at)++];
    if (o->form == NULL || o->optional || out->value != NULL)
        return true;
    buffer_append_format(error, "`--%s` needs a value: %s", o->name, o->form);
    return false;
}

static bool take_word(const struct command_line *l, const char *word, struct buffer *error)
{
    const struct command_words *w = &l->words;
    const bool taken = w->max > 0 && *w->count < w->max;
    if (taken)
        w->at[(*w->count)++] = word;
    else
        buffer_append_format(error, "unexpected argument `%s`%s%s", word,
                             w->max > 0 ? ": expects " : "", w->max > 0 ? w->expected : "");
    return taken;
}

static bool has_enough_words(const struct command_line *l, struct buffer *error)
{
    const bool enough = l->words.min == 0 || *l->words.count >= l->words.min;
    if (!enough)
        buffer_append_format(error, "expects %s", l->words.expected);
    return enough;
}

static bool take_pass(const struct command_line *l, int argc, char **argv, bool early,
                      struct buffer *error)
{
    for (int at = 1; at < argc;) {
        struct word w;
        if (!next_word(l, argc, argv, &at, &w, error))
            return false;
        bool is_early = w.option != NULL && w.option->early;
        if (is_early != early)
            continue;
        if (w.option != NULL ? !option_take(w.option, w.group->target, w.value, "--", error)
                             : !take_word(l, w.value, error))
            return false;
    }
    return true;
}

/* ---- the help ---- */

/* Words of `text` from column `at` on, in lines that begin at column `indent`. */
static void command_line_wrap(struct buffer *out, const char *text, size_t size, size_t at,
                              size_t indent)
{
    bool first = true;
    while (size > 0) {
        size_t word = 0;
        while (word < size && text[word] != ' ' && text[word] != '\n')
            word++;
        if (!first && at + 1 + word > WIDTH) {
            buffer_append_format(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            buffer_append_u8(out, ' ');
            at++;
        }
        buffer_append(out, text, word);
        at += word;
        first = false;
        text += word;
        size -= word;
        while (size > 0 && (*text == ' ' || *text == '\n'))
            text++, size--;
    }
    buffer_append_u8(out, '\n');
}

/* Paragraphs stand between line ends; a line that begins with a blank is no paragraph. */
static void append_about(struct buffer *out, const char *text)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        if (size == 0 || *text == ' ') {
            buffer_append(out, text, size);
            buffer_append_u8(out, '\n');
        } else {
            command_line_wrap(out, text, size, 0, 0);
        }
        text += size + (text[size] == '\n');
    }
}

static void append_option(struct buffer *out, const struct field *o, const void *target,
                          size_t column)
{
    struct buffer text = {0}, initial = {0};
    char left[LEFT_MAX * 3];
    int size = snprintf(left, sizeof left, "  --%s%s%s", o->name, o->form == NULL ? "" : " ",
                        o->form == NULL ? "" : o->form);
    must(size > 0 && (size_t)size < sizeof left);
    buffer_append_text(&text, o->help);
    if (o->initial != NULL)
        buffer_append_text(&initial, o->initial);
    else
        field_append_value(o, target, &initial);
    if (initial.size > 0)
        buffer_append_format(&text, " Default: %.*s.", TEXT_OF(initial));
    buffer_append_format(out, "%-*s", (int)column, left);
    if ((size_t)size >= column)
        buffer_append_format(out, "\n%*s", (int)column, "");
    command_line_wrap(out, (const char *)text.data, text.size, column, column);
    buffer_deinit(&text);
    buffer_deinit(&initial);
}

/* Where the help texts begin: behind the longest name and value that is not too long. */
static size_t help_column(const struct command_line *l)
{
    size_t widest = strlen("  --help");
    for (const struct option_group *g = l->groups; g < l->groups + OPTION_GROUPS_MAX; g++) {
        for (size_t i = 0; i < g->count; i++) {
            const struct field *o = &g->options[i];
            size_t size = 4 + strlen(o->name) + (o->form == NULL ? 0 : 1 + strlen(o->form));
            if (size <= LEFT_MAX && size > widest)
                widest = size;
        }
    }
    return widest + 2;
}

static void append_help(const struct command_line *l, struct buffer *out)
{
    static const struct field help = {.name = "help", .initial = "", .help = "Print this text."};
    size_t column = help_column(l);
    buffer_append_format(out, "usage: %s %s\n\n", l->command, l->usage);
    append_about(out, l->about);
    for (const struct option_group *g = l->groups; g < l->groups + OPTION_GROUPS_MAX; g++) {
        if (g->count > 0 || g == l->groups)
            buffer_append_format(out, "\n%s:\n", g->title == NULL ? "options" : g->title);
        for (size_t i = 0; i < g->count; i++)
            append_option(out, &g->options[i], g->target, column);
        if (g == l->groups)
            append_option(out, &help, NULL, column);
    }
    buffer_append_format(out, "\nexamples:\n%s", l->examples);
}

enum command_line_result command_line_read(const struct command_line *l, int argc, char **argv,
                                           struct buffer *text)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            append_help(l, text);
            return COMMAND_LINE_HELP;
        }
    }
    bool taken = take_pass(l, argc, argv, true, text) && take_pass(l, argc, argv, false, text) &&
                 has_enough_words(l, text);
    return taken ? COMMAND_LINE_TAKEN : COMMAND_LINE_WRONG;
}
