/* case_words.c - words, numbers and times of commands. */
#include "tests/support/case_words.h"

#include <string.h>

#include "base/instant.h"
#include "tests/check.h"

#define NO_LINE SIZE_MAX
enum {
    SHORT_MAX = 32,
    JOINED_MAX = 100
};

static void words_split(struct case_words *w, struct slice command)
{
    char *rest = w->text;
    assert_true(command.size < sizeof w->text);
    memcpy(w->text, command.data, command.size);
    w->text[command.size] = '\0';
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL && word[0] != '#';) {
        assert_true(w->count < CASE_WORDS_MAX);
        w->words[w->count++] = word;
    }
}

static struct {
    int count;
    char names[16][32], texts[16][CASE_COMMAND_SIZE];
} defined;

void case_words_begin(void)
{
    defined.count = 0;
}

/* `define NAME COMMANDS` */
static void words_define(struct slice command)
{
    const int i = defined.count++;
    int at = 0;
    assert_in_range(i, 0, COUNT_OF(defined.names) - 1);
    assert_int_equal(sscanf((const char *)command.data, "define %31s %n", defined.names[i], &at),
                     1);
    memcpy(defined.texts[i], command.data + at, command.size - (size_t)at + 1);
}

static void words_run_one(const struct case_verb *verbs, void *world, struct slice command,
                          struct buffer *out)
{
    struct case_words w = {.out = out};
    words_split(&w, command);
    if (w.count == 0)
        return;
    for (int i = 0; i < defined.count; i++) {
        if (strcmp(w.words[0], defined.names[i]) == 0) {
            case_words_run(verbs, world, slice_of(defined.texts[i]), out);
            return;
        }
    }
    w.seen[0] = true;
    while (verbs != NULL && (verbs->name == NULL || strcmp(verbs->name, w.words[0]) != 0))
        verbs = verbs->name == NULL ? verbs->more : verbs + 1;
    if (verbs == NULL)
        fail_msg("no command '%s'", w.words[0]);
    verbs->run(world, &w);
    for (int i = 0; i < w.count; i++) {
        if (!w.seen[i])
            fail_msg("'%s' of '%s' is not understood", w.words[i], w.words[0]);
    }
}

/* Short lines that commands of one line say stand on one line. `line`: where the last line begins;
 * `from`: what was said behind it. Returns where the last line begins now; `NO_LINE`: it is not
 * short. */
static size_t words_join(struct buffer *out, size_t line, size_t from)
{
    const uint8_t *end = memchr(out->data + from, '\n', out->size - from);
    if (out->size - from > SHORT_MAX || end != out->data + out->size - 1)
        return NO_LINE;
    if (line == NO_LINE || out->size - line >= JOINED_MAX)
        return from;
    buffer_append(out, "", 1);
    memmove(out->data + from + 1, out->data + from, out->size - 1 - from);
    memcpy(out->data + from - 1, "; ", 2);
    return line;
}

void case_words_run(const struct case_verb *verbs, void *world, struct slice command,
                    struct buffer *out)
{
    size_t line = NO_LINE;
    if (command.size > 7 && memcmp(command.data, "define ", 7) == 0) {
        words_define(command);
        return;
    }
    while (command.size > 0) {
        const uint8_t *end = memchr(command.data, ';', command.size);
        const size_t size = end == NULL ? command.size : (size_t)(end - command.data);
        const size_t used = end == NULL ? size : size + 1;
        const size_t from = out->size;
        words_run_one(verbs, world, slice_make(command.data, size), out);
        if (out->size > from)
            line = words_join(out, line, from);
        command = slice_make(command.data + used, command.size - used);
    }
}

void case_print(struct case_words *w, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_in_range(size, 0, sizeof text - 1);
    buffer_append(w->out, text, (size_t)size);
}

const char *case_word(struct case_words *w, int i)
{
    if (i >= w->count)
        fail_msg("'%s' needs %d words", w->words[0], i);
    w->seen[i] = true;
    return w->words[i];
}

int64_t case_word_number(struct case_words *w, int i)
{
    return case_number(case_word(w, i));
}

int64_t case_word_ms(struct case_words *w, int i)
{
    return case_ms(case_word(w, i));
}

bool case_flag(struct case_words *w, const char *word)
{
    bool any = false;
    for (int i = 1; i < w->count; i++) {
        if (strcmp(w->words[i], word) == 0)
            any = w->seen[i] = true;
    }
    return any;
}

const char *case_option(struct case_words *w, const char *name)
{
    const size_t size = strlen(name);
    for (int i = 1; i < w->count; i++) {
        if (strncmp(w->words[i], name, size) == 0 && w->words[i][size] == '=') {
            w->seen[i] = true;
            return w->words[i] + size + 1;
        }
    }
    return NULL;
}

int64_t case_option_number(struct case_words *w, const char *name, int64_t usual)
{
    const char *text = case_option(w, name);
    return text == NULL ? usual : case_number(text);
}

const char *case_next(struct case_words *w)
{
    for (int i = 1; i < w->count; i++) {
        if (!w->seen[i] && strchr(w->words[i], '=') == NULL)
            return case_word(w, i);
    }
    return NULL;
}

int64_t case_number(const char *text)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        fail_msg("'%s' is not a whole number", text);
    return number;
}

int64_t case_ns(const char *text)
{
    static const struct {
        const char *name;
        int64_t ns;
    } UNITS[] = {{"ns", 1},
                 {"ms", NS_PER_MS},
                 {"s", NS_PER_S},
                 {"min", 60 * NS_PER_S},
                 {"h", 3600 * NS_PER_S},
                 {"d", 86400 * NS_PER_S}};
    char *end;
    const long long number = strtoll(text, &end, 10);
    for (size_t i = 0; i < COUNT_OF(UNITS); i++) {
        if (end != text && strcmp(end, UNITS[i].name) == 0)
            return number * UNITS[i].ns;
    }
    fail_msg("'%s' is not a time with its unit", text);
    return 0;
}

int64_t case_ms(const char *text)
{
    return case_ns(text) / NS_PER_MS;
}

int case_choice(const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (names[i] != NULL && strcmp(text, names[i]) == 0)
            return i;
    }
    fail_msg("'%s' is not known here", text);
    return -1;
}
