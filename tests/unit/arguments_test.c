/* arguments_test.c - command lines, as every subcommand reads them. */
#include "cmd/arguments.h"

#include "cmd/options.h"
#include "tests/check.h"

enum {
    PORT,
    JSON,
    QUIET,
    RESULT
};

static const struct argument_spec specs[] = {
    {"port", ARGUMENT_VALUE, PORT},
    {"json", ARGUMENT_FLAG, JSON},
    {"quiet", ARGUMENT_SWITCH, QUIET},
    {"result", ARGUMENT_OPTIONAL, RESULT},
};

static struct buffer text;
static char *words[8];
static struct arguments line;

static void begin(int count, const char *const *given)
{
    for (int i = 0; i < count; i++)
        words[i + 1] = (char *)(uintptr_t)given[i];
    line = (struct arguments){specs, sizeof specs / sizeof specs[0], count + 1, words, 1};
    buffer_clear(&text);
}

#define BEGIN(...) \
    begin(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static void expect(int id, const char *expected)
{
    const char *value;
    assert_int_equal(arguments_next(&line, &value, &text), id);
    if (expected == NULL)
        assert_null(value);
    else
        assert_string_equal(value, expected);
}

static void values_stand_behind_a_blank_or_an_equals_sign(void **state)
{
    (void)state;
    BEGIN("--port", "80", "--port=81", "--port=", "word", "-", "--json");
    expect(PORT, "80");
    expect(PORT, "81");
    expect(PORT, "");
    expect(ARGUMENTS_WORD, "word");
    expect(ARGUMENTS_WORD, "-");
    expect(JSON, NULL);
    expect(ARGUMENTS_END, NULL);
    assert_int_equal(text.size, 0);
}

static void optional_values_are_words_that_are_no_options(void **state)
{
    (void)state;
    BEGIN("--result", "file", "--result", "--quiet", "x", "--quiet=true", "--result");
    expect(RESULT, "file");
    expect(RESULT, NULL);
    expect(QUIET, NULL);
    expect(ARGUMENTS_WORD, "x");
    expect(QUIET, "true");
    expect(RESULT, NULL);
    expect(ARGUMENTS_END, NULL);
}

static void a_wrong_option_is_named_and_so_is_the_nearest(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"--prot", "unknown option `--prot` (did you mean `--port`?)"},
        {"--prot=1", "unknown option `--prot` (did you mean `--port`?)"},
        {"--jsno", "unknown option `--jsno` (did you mean `--json`?)"},
        {"--frobnicate", "unknown option `--frobnicate`"},
        {"--a-word-that-is-longer-than-any-option-of-weir-is",
         "unknown option `--a-word-that-is-longer-than-any-option-of-weir-is`"},
        {"--", "unknown option `--`"},
        {"-p", "unknown option `-p`"},
        {"--port", "`--port` needs a value"},
        {"--json=yes", "`--json` takes no value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *value;
        begin(1, &cases[i][0]);
        assert_int_equal(arguments_next(&line, &value, &text), ARGUMENTS_WRONG);
        assert_slice_is(buffer_slice(&text), cases[i][1]);
    }
    buffer_deinit(&text);
}

static int options_of(const char *name, const char *value)
{
    static struct options o;
    char *argv[] = {(char[]){"node"}, (char *)(uintptr_t)name, (char *)(uintptr_t)value, NULL};
    return options_parse(&o, OPTION_ID | OPTION_PEERS, "", value == NULL ? 2 : 3, argv);
}

static void a_daemon_refuses_options_of_other_daemons(void **state)
{
    (void)state;
    assert_int_equal(options_of("--id", "3"), 0);
    assert_int_equal(options_of("--id=3", NULL), 0);
    assert_int_equal(options_of("--id", "0"), 3);
    assert_int_equal(options_of("--id", NULL), 3);
    assert_int_equal(options_of("--nodes", "3"), 3);
    assert_int_equal(options_of("--profile", "strict"), 0);
    assert_int_equal(options_of("--profile", "strictly"), 3);
    assert_int_equal(options_of("word", NULL), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stand_behind_a_blank_or_an_equals_sign),
        cmocka_unit_test(optional_values_are_words_that_are_no_options),
        cmocka_unit_test(a_wrong_option_is_named_and_so_is_the_nearest),
        cmocka_unit_test(a_daemon_refuses_options_of_other_daemons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
