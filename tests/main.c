/* main.c - the main function of every test program: runs the tests that registered themselves
 * (check.h).
 *
 *     unit_engine --list
 *     unit_engine --filter heat_test                      the tests of one file
 *     unit_engine --filter heat_test/an_old_key_goes      one test
 *     unit_engine --filter '*split*'
 *
 * Promises: the exit code is 0 only if at least one test ran, one for each --filter, and none
 * failed. */
#include <fnmatch.h>
#include <getopt.h>
#include <string.h>

#include "tests/check.h"

enum {
    TESTS_MAX = 512,
    EXIT_USAGE = 2
};

static const char *const USAGE =
    "usage: PROGRAM [--list] [--filter PATTERN]... [--rewrite]\n"
    "\n"
    "  --list              print the tests' names, FILE/TEST, and run nothing\n"
    "  --filter PATTERN    run the tests whose file, name or FILE/NAME matches, as a shell matches "
    "file names;\n"
    "                      several: the tests that match one of them\n"
    "  --rewrite           write the expected output of case files anew: read the diff before you "
    "commit it\n"
    "\n"
    "SEED=n replays what a failing property or simulation printed. FIRST_SEED=n and SEEDS=n: other "
    "and more seeds.\n";

static struct check_file *files, **last_file = &files;
static bool rewrites;
static const char *program;     /* argv[0] */
static char running[128];       /* the file whose tests run */
static bool matched[TESTS_MAX]; /* of each --filter: whether a test matches it */

void check_register(struct check_file *file, struct check_test *test)
{
    if (file->first == NULL) {
        file->last = &file->first;
        *last_file = file;
        last_file = &file->next;
    }
    *file->last = test;
    file->last = &test->next;
}

bool check_rewrites(void)
{
    return rewrites;
}

void check_seed_used(uint64_t seed)
{
    printf("SEED=%llu %s --filter %s\n", (unsigned long long)seed, program, running);
    fflush(stdout);
}

/* "tests/unit/engine/heat_test.c": "heat_test". */
static void stem_of(const char *path, char *stem, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(stem, size, "%s", slash == NULL ? path : slash + 1);
    char *dot = strrchr(stem, '.');
    if (dot != NULL)
        *dot = '\0';
}

static bool is_chosen(char **filters, int count, const char *stem, const char *name)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", stem, name);
    bool chosen = count == 0;
    for (int i = 0; i < count; i++)
        if (fnmatch(filters[i], whole, 0) == 0 || fnmatch(filters[i], stem, 0) == 0 ||
            fnmatch(filters[i], name, 0) == 0)
            chosen = matched[i] = true;
    return chosen;
}

/* How many of a file's tests ran; adds how many failed. */
static size_t run_file(const struct check_file *file, char **filters, int count, bool list,
                       int *failed)
{
    struct CMUnitTest chosen[TESTS_MAX];
    size_t found = 0;
    char stem[128];
    stem_of(file->path, stem, sizeof stem);
    for (const struct check_test *t = file->first; t != NULL; t = t->next) {
        if (!is_chosen(filters, count, stem, t->name))
            continue;
        if (found == TESTS_MAX) {
            fprintf(stderr, "%s: more than %d tests\n", file->path, TESTS_MAX);
            exit(EXIT_USAGE);
        }
        chosen[found++] =
            (struct CMUnitTest){t->name, t->run, t->own_fixture ? t->set_up : file->set_up,
                                t->own_fixture ? t->tear_down : file->tear_down, NULL};
        if (list)
            printf("%s/%s\n", stem, t->name);
    }
    snprintf(running, sizeof running, "%s", stem);
    if (found > 0 && !list)
        *failed +=
            _cmocka_run_group_tests(stem, chosen, found, file->set_up_once, file->tear_down_once);
    return found;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"list", no_argument, NULL, 'l'},
                                            {"filter", required_argument, NULL, 'f'},
                                            {"rewrite", no_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    bool list = false;
    program = argv[0];
    int count = 0, option;
    char *filters[TESTS_MAX];
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'f' && count < TESTS_MAX)
            filters[count++] = optarg;
        list = list || option == 'l';
        rewrites = rewrites || option == 'r';
        if (option == 'h' || option == '?') {
            fputs(USAGE, option == 'h' ? stdout : stderr);
            return option == 'h' ? EXIT_SUCCESS : EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: what is `%s`? Tests are chosen by --filter; see --help\n", argv[0],
                argv[optind]);
        return EXIT_USAGE;
    }
    int failed = 0;
    size_t found = 0;
    for (const struct check_file *file = files; file != NULL; file = file->next)
        found += run_file(file, filters, count, list, &failed);
    bool all_matched = found > 0;
    for (int i = 0; i < count; i++) {
        if (!matched[i])
            fprintf(stderr, "no test matches %s: %s --list shows all\n", filters[i], argv[0]);
        all_matched = all_matched && matched[i];
    }
    return !all_matched || failed > 0;
}
