/* answers_test.c - what a router answers to requests, word for word: tests/cases/router
 * (tests/support/case_file.h, fake_cluster.h). Commands:
 *
 *   fresh [NAME=VALUE]..           a cluster without tables, with these settings
 *   table NAME KEY:TYPE [SORT:TYPE] [PARTITIONS]     TYPE: S, N or B
 *   after MS                       lets time pass
 *   counts                         shows how many items and tables there are
 *   Operation {..}                 a request; the output is its status and body
 *
 * A refusal whose body has a type and a message alone is shown as `400 Type: message`. */
#include "base/config.h"
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/fake_cluster.h"

enum {
    WORDS_MAX = 8
};

static struct fake_cluster f;

static enum attr_type type_of(const char *letter)
{
    assert_true(letter[0] != '\0' && letter[1] == '\0' && strchr("SNB", letter[0]) != NULL);
    return letter[0] == 'S' ? ATTR_STRING : letter[0] == 'N' ? ATTR_NUMBER : ATTR_BINARY;
}

static int64_t number_of(const char *text)
{
    char *end;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || number <= 0)
        fail_msg("'%s' is no number from 1 on", text);
    return number;
}

/* ---- commands ---- */

static void run_fresh(char **words, int count, struct buffer *out)
{
    (void)out;
    struct buffer error = {0};
    fake_deinit(&f);
    fake_init(&f);
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '=');
        assert_non_null(value);
        *value = '\0';
        if (config_set(&f.config, slice_of(words[i]), slice_of(value + 1), &error) != STATUS_OK)
            fail_msg("%.*s", (int)error.size, (const char *)error.data);
    }
    buffer_deinit(&error);
    fake_start(&f);
}

/* Divides "name:S". */
static enum attr_type run_key(char *word)
{
    char *type = strchr(word, ':');
    assert_non_null(type);
    *type = '\0';
    return type_of(type + 1);
}

static void run_table(char **words, int count, struct buffer *out)
{
    (void)out;
    assert_in_range(count, 3, 5);
    const enum attr_type type = run_key(words[2]);
    const bool sorted = count > 3 && strchr(words[3], ':') != NULL;
    const enum attr_type sort_type = sorted ? run_key(words[3]) : 0;
    const char *partitions = count > 3 + sorted ? words[3 + sorted] : "2";
    fake_table(&f, words[1], words[2], type, sorted ? words[3] : NULL, sort_type,
               (uint32_t)number_of(partitions));
}

static void run_counts(char **words, int count, struct buffer *out)
{
    (void)words;
    assert_int_equal(count, 1);
    buffer_append_format(out, "%zu items, %u tables\n", f.item_count, f.table_count);
}

static void run_after(char **words, int count, struct buffer *out)
{
    (void)out;
    assert_int_equal(count, 2);
    fake_advance_ms(&f, number_of(words[1]));
}

/* Whether the body is a fault with nothing beside type and message: then they are appended. */
static bool append_fault(struct buffer *out, const struct fake_answer *a)
{
    char *body = strndup((const char *)a->body.data, a->body.size), *type, *message, *rest;
    const bool is = a->status != 200 && strncmp(body, "{\"__type\":\"", 11) == 0 &&
                    (type = strchr(body, '#')) != NULL &&
                    (message = strstr(type, "\",\"message\":\"")) != NULL &&
                    (rest = strstr(message + 13, "\"}")) != NULL && rest[2] == '\0';
    if (is) {
        *message = *rest = '\0';
        buffer_append_format(out, "%d %s: %s\n", a->status, type + 1, message + 13);
    }
    free(body);
    return is;
}

static void run_request(const char *operation, const char *body, struct buffer *out)
{
    const struct fake_answer a = fake_call(&f, operation, body);
    if (append_fault(out, &a))
        return;
    struct buffer line = {0};
    buffer_append_format(&line, "%d ", a.status);
    buffer_append_slice(&line, a.body);
    case_append_wrapped(out, buffer_slice(&line));
    buffer_deinit(&line);
}

static void run_command(void *world, struct slice command, struct buffer *out)
{
    static const struct {
        const char *name;
        void (*run)(char **words, int count, struct buffer *out);
    } COMMANDS[] = {
        {"fresh", run_fresh}, {"table", run_table}, {"after", run_after}, {"counts", run_counts}};
    (void)world;
    char *text = strndup((const char *)command.data, command.size), *rest = strchr(text, ' ');
    assert_non_null(text);
    if (text[0] >= 'A' && text[0] <= 'Z') {
        if (rest != NULL)
            *rest++ = '\0';
        run_request(text, rest == NULL ? "{}" : rest, out);
        free(text);
        return;
    }
    char *words[WORDS_MAX];
    int count = 0;
    rest = text;
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        assert_true(count < WORDS_MAX);
        words[count++] = word;
    }
    for (size_t i = 0; i < COUNT_OF(COMMANDS); i++)
        if (strcmp(words[0], COMMANDS[i].name) == 0) {
            COMMANDS[i].run(words, count, out);
            free(text);
            return;
        }
    fail_msg("no command '%s'", words[0]);
}

static void *begin(void)
{
    fake_init(&f);
    fake_start(&f);
    return &f;
}

static void end(void *world)
{
    (void)world;
    fake_deinit(&f);
}

TEST(the_answers_are_those_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run_command};
    case_files_run("router/*.case", &FORMAT);
}
