/* command_line_test.c - command lines, as every subcommand reads them. */
#include "base/command_line.h"

#include "base/instant.h"
#include "cmd/options.h"
#include "cmd/usage.h"
#include "tests/check.h"

enum color {
    RED,
    GREEN
};

struct values {
    bool quiet;
    uint16_t port;
    int32_t cpu;
    int64_t count;
    double ratio;
    int64_t wait_ns;
    const char *file;
    char name[8];
    enum color color;
    char result[16];
    int64_t base, derived;
};

static const char *take_result(void *target, const char *value)
{
    struct values *v = target;
    snprintf(v->result, sizeof v->result, "%s", value == NULL ? "none" : value);
    return NULL;
}

static const char *take_base(void *target, const char *value)
{
    struct values *v = target;
    return field_parse_integer(value, 0, 9, &v->base) ? NULL : "0 to 9";
}

static const char *take_derived(void *target, const char *value, struct buffer *error)
{
    struct values *v = target;
    if (!field_parse_integer(value, 0, 9, &v->derived)) {
        buffer_append_format(error, "%s is no digit", value);
        return "";
    }
    v->derived += 10 * v->base;
    return NULL;
}

static const char *const colors[] = {"red", "green", NULL};

#define MEMBER(member) FIELD_MEMBER(struct values, member)

static const struct field options[] = {
    {"port", FIELD_INTEGER, MEMBER(port), "N", .max = 65535, .former = "door", .help = "A port."},
    {"cpu", FIELD_INTEGER, MEMBER(cpu), "N", .min = -1, .max = 7, .help = "A core."},
    {"count", FIELD_INTEGER, MEMBER(count), "N", .max = INT64_C(10000000000), .help = "Many."},
    {"ratio", FIELD_REAL, MEMBER(ratio), "R", .max = 1, .help = "A part."},
    {"wait", FIELD_SPAN, MEMBER(wait_ns), "TIME", .min = 1, .help = "A time."},
    {"file", FIELD_TEXT, MEMBER(file), "FILE", .help = "A file."},
    {"name", FIELD_NAME, MEMBER(name), "NAME", .min = 3, .help = "A name."},
    {"color", FIELD_CHOICE, MEMBER(color), "C", .choices = colors, .help = "A color."},
    {"quiet", FIELD_FLAG, MEMBER(quiet), .help = "Say nothing."},
    {"result", FIELD_PARSED, .form = "[FILE]", .parse = take_result, .optional = true,
     .help = "Print."},
};
static const struct field more_options[] = {
    {"derived", FIELD_CUSTOM, .form = "D", .take = take_derived, .help = "A digit."},
    {"base", FIELD_PARSED, .form = "D", .parse = take_base, .early = true,
     .help = "A digit before."},
};

static struct values values;
static struct buffer text;
static const char *words[2];
static int word_count;

static int least_words; /* of the command line */

static enum command_line_result read_words(int count, const char *const *given)
{
    char *argv[16];
    for (int i = 0; i < count; i++)
        argv[i + 1] = (char *)(uintptr_t)given[i];
    values = (struct values){.port = 80, .wait_ns = 1500 * NS_PER_MS, .name = "abc"};
    buffer_clear(&text);
    word_count = 0;
    const struct command_line line = {.command = "weir test",
                                      .usage = "[option]...",
                                      .about = "What it does.\n  kept   as it is\n",
                                      .examples = "  weir test --quiet\n",
                                      .groups = {OPTION_GROUP(NULL, options, &values),
                                                 OPTION_GROUP("more", more_options, &values)},
                                      .words = {words, &word_count, least_words, 2, "files"}};
    return command_line_read(&line, count + 1, argv, &text);
}

#define READ(...)                                                      \
    read_words(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
               (const char *[]){__VA_ARGS__})

TEST(values_stand_behind_a_blank_or_an_equals_sign)
{
    assert_int_equal(READ("--port", "81", "--file=", "word", "-"), COMMAND_LINE_WRONG);
    assert_int_equal(READ("--port=81", "--file", "f", "word", "-", "--quiet"), COMMAND_LINE_TAKEN);
    assert_int_equal(values.port, 81);
    assert_string_equal(values.file, "f");
    assert_true(word_count == 2 && strcmp(words[0], "word") == 0 && strcmp(words[1], "-") == 0);
    assert_true(values.quiet);
    assert_int_equal(READ("--quiet", "--quiet=false", "--port", "1", "--port", "2"),
                     COMMAND_LINE_TAKEN);
    assert_true(!values.quiet && values.port == 2);
    assert_int_equal(text.size, 0);
}

TEST(each_kind_of_value_is_converted)
{
    assert_int_equal(READ("--cpu", "-1", "--count", "2.5k", "--ratio", "0.25", "--wait", "2m",
                          "--name", "abcdefg", "--color=green"),
                     COMMAND_LINE_TAKEN);
    assert_int_equal(values.cpu, -1);
    assert_int_equal(values.count, 2500);
    assert_true(values.ratio == 0.25);
    assert_int_equal(values.wait_ns, 120 * NS_PER_S);
    assert_string_equal(values.name, "abcdefg");
    assert_int_equal(values.color, GREEN);
    assert_int_equal(READ("--count", "10000000000", "--wait=500ms"), COMMAND_LINE_TAKEN);
    assert_int_equal(values.count, INT64_C(10000000000));
    assert_int_equal(values.wait_ns, 500 * NS_PER_MS);
}

TEST(optional_values_are_words_that_are_no_options)
{
    assert_int_equal(READ("--result", "file"), COMMAND_LINE_TAKEN);
    assert_string_equal(values.result, "file");
    assert_int_equal(READ("x", "--result", "--quiet", "y"), COMMAND_LINE_TAKEN);
    assert_string_equal(values.result, "none");
    assert_true(word_count == 2 && strcmp(words[0], "x") == 0 && strcmp(words[1], "y") == 0);
    assert_int_equal(READ("--result"), COMMAND_LINE_TAKEN);
}

TEST(a_former_name_is_taken_and_is_not_in_the_help)
{
    assert_int_equal(READ("--door", "81"), COMMAND_LINE_TAKEN);
    assert_int_equal(values.port, 81);
    assert_int_equal(READ("--door=70000"), COMMAND_LINE_WRONG);
    assert_non_null(memmem(text.data, text.size, "--port", 6));
    assert_int_equal(READ("--help"), COMMAND_LINE_HELP);
    assert_null(memmem(text.data, text.size, "door", 4));
}

TEST(early_options_are_read_before_all_others)
{
    assert_int_equal(READ("--derived", "3", "--base", "4"), COMMAND_LINE_TAKEN);
    assert_int_equal(values.derived, 43);
}

TEST(a_wrong_option_is_named_with_its_value_and_limit)
{
    static const struct {
        const char *words[2];
        const char *text;
    } cases[] = {
        {{"--prot", "1"}, "unknown option `--prot` (did you mean `--port`?)"},
        {{"--prot=1"}, "unknown option `--prot` (did you mean `--port`?)"},
        {{"--derivde", "1"}, "unknown option `--derivde` (did you mean `--derived`?)"},
        {{"--hlep"}, "unknown option `--hlep` (did you mean `--help`?)"},
        {{"--help=1"}, "`--help` takes no value"},
        {{"--frobnicate"}, "unknown option `--frobnicate`"},
        {{"--a-word-that-is-longer-than-any-option-of-weir-is"},
         "unknown option `--a-word-that-is-longer-than-any-option-of-weir-is`"},
        {{"--"}, "unknown option `--`"},
        {{"-p"}, "unknown option `-p`"},
        {{"--port"}, "`--port` needs a value: N"},
        {{"--quiet=yes"}, "`--quiet` takes no value, or true or false, not `yes`"},
        {{"--port", "65536"}, "`--port` takes a whole number from 0 to 65535, not `65536`"},
        {{"--port", "80x"}, "`--port` takes a whole number from 0 to 65535, not `80x`"},
        {{"--count", "1.5"}, "`--count` takes a whole number from 0 to 10000000000, not `1.5`"},
        {{"--ratio", "nan"}, "`--ratio` takes a number from 0 to 1, not `nan`"},
        {{"--wait", "0"}, "`--wait` takes a time above 0, such as 30s, 500ms, 2m or 1h, not `0`"},
        {{"--wait", "inf"},
         "`--wait` takes a time above 0, such as 30s, 500ms, 2m or 1h, not `inf`"},
        {{"--name", "ab"},
         "`--name` takes 3 to 7 ASCII characters without blanks, quotes, backslashes or "
         "controls, not `ab`"},
        {{"--color", "blue"}, "`--color` takes red or green, not `blue`"},
        {{"--base", "x"}, "`--base` takes 0 to 9, not `x`"},
        {{"--derived", "x"}, "x is no digit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int count = cases[i].words[1] == NULL ? 1 : 2;
        assert_int_equal(read_words(count, cases[i].words), COMMAND_LINE_WRONG);
        assert_slice_is(buffer_slice(&text), cases[i].text);
    }
}

TEST(there_are_as_many_words_as_the_command_takes)
{
    assert_int_equal(READ("--quiet", "a", "b", "c"), COMMAND_LINE_WRONG);
    assert_slice_is(buffer_slice(&text), "unexpected argument `c`: expects files");
    least_words = 2;
    assert_int_equal(READ("a", "--quiet"), COMMAND_LINE_WRONG);
    assert_slice_is(buffer_slice(&text), "expects files");
    assert_int_equal(READ("a", "b"), COMMAND_LINE_TAKEN);
    least_words = 0;
}

TEST(the_help_lists_all_options_with_their_defaults)
{
    static const char expected[] = "usage: weir test [option]...\n\n"
                                   "What it does.\n"
                                   "  kept   as it is\n"
                                   "\noptions:\n"
                                   "  --port N         A port. Default: 80.\n"
                                   "  --cpu N          A core. Default: 0.\n"
                                   "  --count N        Many. Default: 0.\n"
                                   "  --ratio R        A part. Default: 0.\n"
                                   "  --wait TIME      A time. Default: 1500ms.\n"
                                   "  --file FILE      A file.\n"
                                   "  --name NAME      A name. Default: abc.\n"
                                   "  --color C        A color. Default: red.\n"
                                   "  --quiet          Say nothing.\n"
                                   "  --result [FILE]  Print.\n"
                                   "  --help           Print this text.\n"
                                   "\nmore:\n"
                                   "  --derived D      A digit.\n"
                                   "  --base D         A digit before.\n"
                                   "\nexamples:\n"
                                   "  weir test --quiet\n";
    assert_int_equal(READ("--port", "1", "--help"), COMMAND_LINE_HELP);
    assert_slice_is(buffer_slice(&text), expected);
    assert_int_equal(values.port, 80);
    assert_int_equal(READ("-h"), COMMAND_LINE_HELP);
    buffer_deinit(&text);
}

static int options_of(const char *name, const char *value)
{
    static struct options o;
    static const struct field known[] = {{OPTIONS_ID, .help = "A node."},
                                         {OPTIONS_PEERS, .help = "Nodes."}};
    const struct command_line line = {.command = "weir node",
                                      .usage = "",
                                      .about = "",
                                      .examples = "",
                                      .groups = {OPTION_GROUP(NULL, known, &o)}};
    char *argv[] = {(char[]){"node"}, (char *)(uintptr_t)name, (char *)(uintptr_t)value, NULL};
    return options_parse(&o, &line, value == NULL ? 2 : 3, argv);
}

TEST(a_daemon_refuses_options_of_other_daemons)
{
    assert_int_equal(options_of("--id", "3"), USAGE_GO_ON);
    assert_int_equal(options_of("--id=3", NULL), USAGE_GO_ON);
    assert_int_equal(options_of("--id", "0"), 2);
    assert_int_equal(options_of("--id", NULL), 2);
    assert_int_equal(options_of("--nodes", "3"), 2);
    assert_int_equal(options_of("--peers", "1=127.0.0.1:7101,2=7102"), USAGE_GO_ON);
    assert_int_equal(options_of("--peers", "1:127.0.0.1=7101"), 2);
    assert_int_equal(options_of("--profile", "strict"), USAGE_GO_ON);
    assert_int_equal(options_of("--profile", "strictly"), 2);
    assert_int_equal(options_of("word", NULL), 2);
}
