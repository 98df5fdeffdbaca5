/* Case files (tests/support/case_file.h) that test nothing fail. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/temporary.h"

FIXTURE(temporary_setup, temporary_teardown)

static void *begin(void)
{
    return NULL;
}

static void end(void *world)
{
    (void)world;
}

/* `say WORD` has an output, `set` has none. */
static void run_command(void *world, struct slice command, struct buffer *out)
{
    (void)world;
    if (command.size > 4 && memcmp(command.data, "say ", 4) == 0)
        buffer_append_format(out, "%s\n", (const char *)command.data + 4);
    else if (!slice_is(command, "set"))
        fail_msg("no command '%s'", (const char *)command.data);
}

static void run_file(const char *directory, const char *text)
{
    static const struct case_format FORMAT = {begin, end, run_command};
    char path[512];
    snprintf(path, sizeof path, "%s/a.case", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    snprintf(path, sizeof path, "../../../../../../../../../../..%s/a.case", directory);
    case_files_run(path, &FORMAT);
}

/* In a process of its own: there a failed check aborts. */
static bool file_fails(const char *directory, const char *text)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(1);
        signal(SIGABRT, SIG_DFL);
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        run_file(directory, text);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST(a_file_whose_outputs_are_those_that_come_passes)
{
    run_file(*state, "# A comment.\nset\nsay a\n  b\n----\nab\n\nsay c\n----\nc\n");
    assert_false(file_fails(*state, "say a\n----\na"));
}

TEST(a_file_that_tests_nothing_fails)
{
    static const char *const FILES[] = {
        "",
        "# A comment alone.\n",
        "\n\n",
        "----\n",                           /* no command */
        "say a\n----\na\n\n# more\n----\n", /* a block without a command */
        "set\n----\n",                      /* a block without an output */
        "set\n",                            /* no ---- */
        "say a\n----\na\n\nset\n",
    };
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        if (!file_fails(*state, FILES[i]))
            fail_msg("passes: %s", FILES[i]);
}

TEST(a_file_that_is_malformed_fails)
{
    static const char *const FILES[] = {
        "say a\n----\nb\n",
        "say a\n----\n",
        "say a\n----\na\nb\n",
        "say a\n-----\na\n",
        "say a\n ----\na\n",
        "say a\n---- \na\n",
        "say a\n----\na\nsay b\n----\nb\n", /* no empty line */
        "say a\n\nsay b\n----\nb\n",
        "say a\n----\na\n\nsay b\nb\n",
        "say a\r\n----\r\na\r\n",
        "sya a\n----\na\n",
    };
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        if (!file_fails(*state, FILES[i]))
            fail_msg("passes: %s", FILES[i]);
}
