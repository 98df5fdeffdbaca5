#include "cmd/arguments.h"

#include <stdio.h>

enum {
    NAME_MAX_SIZE = 31, /* longer words have no near name */
    EDITS_MAX = 2
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, delete or change, at most, that make one word of the other (Levenshtein). */
static size_t edits(struct slice a, struct slice b)
{
    size_t row[NAME_MAX_SIZE + 1];
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            size_t change = corner + (a.data[i - 1] != b.data[j - 1]);
            corner = row[j];
            row[j] = least(change, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.size];
}

void arguments_suggest(struct slice typed, const char *prefix, const char *const *names,
                       size_t count, size_t stride, struct buffer *out)
{
    const char *best = NULL;
    size_t best_edits = EDITS_MAX + 1;
    for (size_t i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)names + i * stride, sizeof name);
        struct slice known = slice_of(name);
        if (known.size > NAME_MAX_SIZE || typed.size > NAME_MAX_SIZE)
            continue;
        size_t distance = edits(typed, known);
        if (distance < best_edits && distance * 2 <= known.size + 1) {
            best = name;
            best_edits = distance;
        }
    }
    if (best != NULL)
        buffer_append_format(out, " (did you mean `%s%s`?)", prefix, best);
}

static int wrong_option(const struct arguments *a, struct slice name, struct buffer *error)
{
    buffer_append_format(error, "unknown option `--%.*s`", (int)name.size, (const char *)name.data);
    arguments_suggest(name, "--", &a->specs[0].name, a->spec_count, sizeof a->specs[0], error);
    return ARGUMENTS_WRONG;
}

/* The value of an option; NULL if there is none. */
static const char *next_value(struct arguments *a, const struct argument_spec *s)
{
    bool there = a->next < a->argc;
    if (s->takes == ARGUMENT_OPTIONAL)
        there = there && strncmp(a->argv[a->next], "--", 2) != 0;
    return there && s->takes >= ARGUMENT_VALUE ? a->argv[a->next++] : NULL;
}

int arguments_next(struct arguments *a, const char **value, struct buffer *error)
{
    *value = NULL;
    if (a->next >= a->argc)
        return ARGUMENTS_END;
    const char *word = a->argv[a->next++];
    if (strcmp(word, "-h") == 0)
        word = "--help";
    if (word[0] == '-' && word[1] != '-' && word[1] != '\0') {
        buffer_append_format(error, "unknown option `%s`", word);
        return ARGUMENTS_WRONG;
    }
    if (strncmp(word, "--", 2) != 0) {
        *value = word;
        return ARGUMENTS_WORD;
    }
    const char *equals = strchr(word, '=');
    size_t size = equals == NULL ? strlen(word) : (size_t)(equals - word);
    struct slice name = slice_make(word + 2, size - 2);
    const struct argument_spec *s = a->specs;
    while (s < a->specs + a->spec_count && !slice_is(name, s->name))
        s++;
    if (s == a->specs + a->spec_count)
        return wrong_option(a, name, error);
    *value = equals != NULL ? equals + 1 : next_value(a, s);
    if (s->takes == ARGUMENT_VALUE && *value == NULL)
        buffer_append_format(error, "`--%s` needs a value", s->name);
    else if (s->takes == ARGUMENT_FLAG && equals != NULL)
        buffer_append_format(error, "`--%s` takes no value", s->name);
    else
        return s->id;
    return ARGUMENTS_WRONG;
}
