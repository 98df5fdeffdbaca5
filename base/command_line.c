/* command_line.c - finds options in tables, converts their values, and writes the help. */
#include "base/command_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/instant.h"

enum {
    NAME_SIZE_MAX = 31, /* a longer word gets no suggestion */
    EDITS_MAX = 2,
    WIDTH = 96,
    LEFT_MAX = 26 /* a longer name and value get a line of their own */
};

/* ---- the nearest name ---- */

static size_t command_line_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The least number of letters to insert, delete or change that turns a into b (Levenshtein). */
static size_t edits_between(struct slice a, struct slice b)
{
    size_t row[NAME_SIZE_MAX + 1];
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            size_t change = corner + (a.data[i - 1] != b.data[j - 1]);
            corner = row[j];
            row[j] = command_line_smaller(change, command_line_smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.size];
}

static void find_nearest(struct slice typed, const char *name, const char **best, size_t *edits)
{
    struct slice known = slice_of(name);
    if (known.size > NAME_SIZE_MAX || typed.size > NAME_SIZE_MAX)
        return;
    size_t distance = edits_between(typed, known);
    if (distance < *edits && distance * 2 <= known.size + 1) {
        *best = name;
        *edits = distance;
    }
}

static void append_suggestion(const char *best, const char *prefix, struct buffer *out)
{
    if (best != NULL)
        buffer_append_format(out, " (did you mean `%s%s`?)", prefix, best);
}

void command_line_suggest(struct slice typed, const char *prefix, const char *const *names,
                          size_t count, size_t stride, struct buffer *out)
{
    const char *best = NULL;
    size_t edits = EDITS_MAX + 1;
    for (size_t i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)names + i * stride, sizeof name);
        find_nearest(typed, name, &best, &edits);
    }
    append_suggestion(best, prefix, out);
}

/* ---- values ---- */

static bool is_finite(double value)
{
    return value - value == 0;
}

bool option_parse_real(const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text)
        return false;
    if (*end == 'k')
        value *= 1e3, end++;
    else if (*end == 'M')
        value *= 1e6, end++;
    *out = value;
    return *end == '\0' && is_finite(value);
}

bool option_parse_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    double real;
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (errno != 0 || end == text)
        return false;
    if (*end != '\0') { /* 2.5k */
        if (!option_parse_real(text, &real) || real > 1e15 || real < -1e15)
            return false;
        value = (int64_t)real;
        if (real != (double)value)
            return false;
    }
    *out = value;
    return value >= min && value <= max;
}

static bool parse_span(const char *text, int64_t *out_ns)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}};
    char *end;
    double value = strtod(text, &end);
    if (end == text || !is_finite(value) || value < 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        value *= units[i].seconds;
        *out_ns = value <= 1e7 ? (int64_t)(value * (double)NS_PER_S) : 0;
        return value <= 1e7;
    }
    return false;
}

static bool copy_name(const char *text, char *out, size_t min, size_t capacity)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] == '"' || text[i] == '\\' || text[i] == 127)
            return false;
    if (size == 0 || size < min || size >= capacity)
        return false;
    memcpy(out, text, size + 1);
    return true;
}

static bool find_choice(const struct option *o, const char *text, int *out)
{
    for (int i = 0; o->choices[i] != NULL; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static void store_integer(const struct option *o, void *member, int64_t value)
{
    uint16_t small = (uint16_t)value;
    int32_t medium = (int32_t)value;
    if (o->size == sizeof small)
        memcpy(member, &small, sizeof small);
    else if (o->size == sizeof medium)
        memcpy(member, &medium, sizeof medium);
    else
        memcpy(member, &value, sizeof value);
}

static int64_t load_integer(const struct option *o, const void *member)
{
    uint16_t small;
    int32_t medium;
    int64_t value;
    if (o->size == sizeof small) {
        memcpy(&small, member, sizeof small);
        return small;
    }
    if (o->size == sizeof medium) {
        memcpy(&medium, member, sizeof medium);
        return medium;
    }
    must(o->size == sizeof value);
    memcpy(&value, member, sizeof value);
    return value;
}

/* Writes the value to the member. False: not a valid value. */
static bool command_line_convert(const struct option *o, void *member, const char *value)
{
    int64_t integer;
    double real;
    int choice;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)member = value == NULL || *value == '\0' || strcmp(value, "true") == 0;
        return *(bool *)member || strcmp(value, "false") == 0;
    case OPTION_INTEGER:
        if (!option_parse_integer(value, o->min, o->max, &integer))
            return false;
        store_integer(o, member, integer);
        return true;
    case OPTION_REAL:
        if (!option_parse_real(value, &real) || real < (double)o->min || real > (double)o->max)
            return false;
        *(double *)member = real;
        return true;
    case OPTION_SPAN:
        if (!parse_span(value, &integer) || integer < o->min)
            return false;
        *(int64_t *)member = integer;
        return true;
    case OPTION_TEXT:
        *(const char **)member = value;
        return *value != '\0';
    case OPTION_NAME:
        return copy_name(value, member, (size_t)o->min, o->size);
    case OPTION_CHOICE:
        if (!find_choice(o, value, &choice))
            return false;
        store_integer(o, member, choice);
        return true;
    case OPTION_CUSTOM:
        break;
    }
    return false;
}

void option_append_choices(const char *const *choices, struct buffer *out)
{
    for (int i = 0; choices[i] != NULL; i++) {
        const char *before = i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ";
        buffer_append_format(out, "%s%s", before, choices[i]);
    }
}

static void append_expected(const struct option *o, struct buffer *out)
{
    switch (o->kind) {
    case OPTION_FLAG:
        buffer_append_text(out, "no value, or true or false");
        break;
    case OPTION_INTEGER:
        buffer_append_format(out, "a whole number from %lld to %lld", (long long)o->min,
                             (long long)o->max);
        break;
    case OPTION_REAL:
        buffer_append_format(out, "a number from %lld to %lld", (long long)o->min,
                             (long long)o->max);
        break;
    case OPTION_SPAN:
        buffer_append_format(out, "a time%s, such as 30s, 500ms, 2m or 1h",
                             o->min > 0 ? " above 0" : "");
        break;
    case OPTION_TEXT:
        buffer_append_text(out, "a text that is not empty");
        break;
    case OPTION_NAME:
        buffer_append_format(
            out, "%lld to %zu characters without blanks, quotes, backslashes or control characters",
            (long long)(o->min > 0 ? o->min : 1), o->size - 1);
        break;
    case OPTION_CHOICE:
        option_append_choices(o->choices, out);
        break;
    case OPTION_CUSTOM:
        break;
    }
}

bool option_take(const struct option *o, void *target, const char *value, const char *prefix,
                 struct buffer *error)
{
    const char *expected = NULL;
    if (o->kind == OPTION_CUSTOM)
        expected = o->take(target, value, error);
    else if (!command_line_convert(o, (char *)target + o->at, value))
        expected = o->name; /* any text: append_expected has the words */
    if (expected == NULL)
        return true;
    if (*expected == '\0')
        return false;
    buffer_append_format(error, "`%s%s` takes ", prefix, o->name);
    if (o->kind == OPTION_CUSTOM)
        buffer_append_text(error, expected);
    else
        append_expected(o, error);
    buffer_append_format(error, ", not `%s`", value == NULL ? "" : value);
    return false;
}

/* ---- words ---- */

const struct option *option_find(const struct option *options, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++)
        if (slice_is(name, options[i].name) ||
            (options[i].former != NULL && slice_is(name, options[i].former)))
            return &options[i];
    return NULL;
}

struct word {
    struct slice name; /* of an option; NULL data: the word is not an option */
    const struct option *option;
    const struct option_group *group;
    const char *value; /* NULL: none */
};

static bool unknown_option(const struct command_line *l, struct slice name, struct buffer *error)
{
    const char *best = NULL;
    size_t edits = EDITS_MAX + 1;
    if (slice_is(name, "help")) { /* without a value it was found before */
        buffer_append_text(error, "`--help` takes no value");
        return false;
    }
    buffer_append_format(error, "unknown option `--%.*s`", TEXT_OF(name));
    for (const struct option_group *g = l->groups; g < l->groups + OPTION_GROUPS_MAX; g++)
        for (size_t i = 0; i < g->count; i++)
            find_nearest(name, g->options[i].name, &best, &edits);
    find_nearest(name, "help", &best, &edits);
    append_suggestion(best, "--", error);
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
        out->option = option_find(g->options, g->count, out->name);
        out->group = g;
    }
    const struct option *o = out->option;
    if (o == NULL)
        return unknown_option(l, out->name, error);
    out->value = equals == NULL ? NULL : equals + 1;
    bool more = *at < argc && (!o->optional || !is_option(argv[*at]));
    if (equals == NULL && o->value != NULL && more)
        out->value = argv[(*at)++];
    if (o->value == NULL || o->optional || out->value != NULL)
        return true;
    buffer_append_format(error, "`--%s` needs a value: %s", o->name, o->value);
    return false;
}

static bool take_word(const struct command_line *l, const char *word, struct buffer *error)
{
    const char *expected = l->word == NULL ? "" : l->word(l->word_target, word, error);
    if (expected == NULL)
        return true;
    if (error->size == 0)
        buffer_append_format(error, "unexpected argument `%s`", word);
    if (*expected != '\0')
        buffer_append_format(error, ": %s", expected);
    return false;
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

static void append_span(struct buffer *out, int64_t ns)
{
    if (ns % NS_PER_S == 0)
        buffer_append_format(out, "%llds", (long long)(ns / NS_PER_S));
    else
        buffer_append_format(out, "%gms", (double)ns / (double)NS_PER_MS);
}

/* The member's value before any option is taken. */
static void append_member(const struct option *o, const void *member, struct buffer *out)
{
    switch (o->kind) {
    case OPTION_INTEGER:
        buffer_append_format(out, "%lld", (long long)load_integer(o, member));
        break;
    case OPTION_REAL:
        buffer_append_format(out, "%g", *(const double *)member);
        break;
    case OPTION_SPAN:
        append_span(out, *(const int64_t *)member);
        break;
    case OPTION_TEXT:
        if (*(const char *const *)member != NULL)
            buffer_append_text(out, *(const char *const *)member);
        break;
    case OPTION_NAME:
        buffer_append_text(out, member);
        break;
    case OPTION_CHOICE:
        buffer_append_text(out, o->choices[load_integer(o, member)]);
        break;
    case OPTION_FLAG:
    case OPTION_CUSTOM:
        break;
    }
}

static void append_option(struct buffer *out, const struct option *o, const void *target,
                          size_t column)
{
    struct buffer text = {0}, initial = {0};
    char left[LEFT_MAX * 3];
    int size = snprintf(left, sizeof left, "  --%s%s%s", o->name, o->value == NULL ? "" : " ",
                        o->value == NULL ? "" : o->value);
    must(size > 0 && (size_t)size < sizeof left);
    buffer_append_text(&text, o->help);
    if (o->initial != NULL)
        buffer_append_text(&initial, o->initial);
    else
        append_member(o, (const char *)target + o->at, &initial);
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
            const struct option *o = &g->options[i];
            size_t size = 4 + strlen(o->name) + (o->value == NULL ? 0 : 1 + strlen(o->value));
            if (size <= LEFT_MAX && size > widest)
                widest = size;
        }
    }
    return widest + 2;
}

static void append_help(const struct command_line *l, struct buffer *out)
{
    static const struct option help = {.name = "help", .initial = "", .help = "Print this text."};
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
    bool taken = take_pass(l, argc, argv, true, text) && take_pass(l, argc, argv, false, text);
    return taken ? COMMAND_LINE_TAKEN : COMMAND_LINE_WRONG;
}
