/* lab_report.c - `weir lab report`: a page with figures of a directory's results, or the figures as
 * files, which a browser draws. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/lab.h"
#include "cmd/lab_files.h"
#include "cmd/usage.h"
#include "cmd/version.h"
#include "lab/report/report.h"
#include "lab/scenario/shipped.h"

extern char **environ;

enum {
    REPORT_BYTES_MAX = 128 << 20, /* time series beyond that are left out */
    DRAWN_BYTES_MAX = 1 << 30
};

struct report_arguments {
    const char *directory, *out, *svg;
    int word_count;
};

static const struct field report_options[] = {
    {"out", FIELD_TEXT, FIELD_MEMBER(struct report_arguments, out), "FILE",
     .initial = "report.html in DIR", .help = "Write the page to this file."},
    {"svg", FIELD_TEXT, FIELD_MEMBER(struct report_arguments, svg), "DIR", .initial = "none",
     .help = "Write each figure as an SVG file into this directory. Needs Chromium or Chrome: the "
             "environment's CHROMIUM, or chromium, chromium-browser or google-chrome on PATH. "
             "Without --out, --svg writes no page."},
};

/* ---- results ---- */

/* The time series of a policy's first seed, at the first point of a sweep. */
static bool add_series(struct lab_report *r, const char *directory, const struct lab_plan *p,
                       struct buffer *error)
{
    struct lab_planned *run = must_calloc(1, sizeof *run);
    bool good = true;
    for (uint64_t i = 0; good && i < p->runs; i++) {
        char path[LAB_NAME_SIZE];
        struct buffer json = {0};
        lab_plan_run(p, i, run);
        if (!run->job.series || !lab_file_exists(directory, run->path))
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, run->path);
        if (i / p->seeds % p->points != 0) {
            lab_report_leave_out(r);
        } else if (!lab_file_read(path, &json, error)) {
            good = false;
        } else if (r->out->size + json.size > REPORT_BYTES_MAX) {
            lab_report_leave_out(r);
        } else {
            lab_report_run(r, buffer_slice(&json));
        }
        buffer_deinit(&json);
    }
    free(run);
    return good;
}

static bool add_results(struct lab_report *r, const char *directory, const struct lab_plan *p,
                        struct buffer *error)
{
    struct lab_result *result = lab_result_create(p->scenario, p->options.fidelity);
    struct buffer json = {0};
    bool good = lab_files_gather(directory, p, result, error);
    if (good && lab_result_runs(result) == 0) {
        buffer_append_format(error, "%s has no results yet", directory);
        good = false;
    }
    if (good) {
        lab_result_evaluate(result);
        lab_result_json(result, &json);
        lab_report_begin_scenario(r, buffer_slice(&json));
        good = add_series(r, directory, p, error);
        lab_report_end_scenario(r);
    }
    buffer_deinit(&json);
    lab_result_destroy(result);
    return good;
}

static bool add_scenario(struct lab_report *r, const char *directory, struct buffer *error)
{
    struct lab_plan p;
    struct buffer text = {0}, storage = {0};
    bool good = lab_files_plan(directory, &p, &text, &storage, error) &&
                add_results(r, directory, &p, error);
    lab_plan_deinit(&p);
    buffer_deinit(&text);
    buffer_deinit(&storage);
    return good;
}

/* Shipped scenarios come first, in their order. */
static int compare_scenarios(const struct dirent **a, const struct dirent **b)
{
    const struct lab_shipped *x = lab_shipped_find((*a)->d_name),
                             *y = lab_shipped_find((*b)->d_name);
    if (x != NULL && y != NULL)
        return x < y ? -1 : x > y;
    if ((x == NULL) != (y == NULL))
        return x == NULL ? 1 : -1;
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The directories of a suite. */
static bool add_suite(struct lab_report *r, const char *directory, struct buffer *error)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, compare_scenarios);
    bool good = true, any = false;
    for (int i = 0; i < count; i++) {
        char below[LAB_NAME_SIZE];
        int size = snprintf(below, sizeof below, "%s/%s", directory, entries[i]->d_name);
        bool found = entries[i]->d_name[0] != '.' && size < (int)sizeof below &&
                     lab_file_exists(below, "plan.json");
        good = good && (!found || add_scenario(r, below, error));
        any = any || found;
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (!any)
        buffer_append_format(error, "%s is not a directory of `weir lab run --out`, sweep or suite",
                             directory);
    return good && any;
}

static bool make_page(const char *directory, struct buffer *page, struct buffer *error)
{
    struct lab_report r;
    char version[96];
    snprintf(version, sizeof version, "%s (%s)", WEIR_VERSION, version_build());
    lab_report_begin(&r, page, version);
    bool good = lab_file_exists(directory, "plan.json") ? add_scenario(&r, directory, error)
                                                        : add_suite(&r, directory, error);
    lab_report_end(&r);
    return good;
}

/* ---- figures as files ---- */

/* A browser that has opened the page, and prints what it made of it. 0: there is none. */
static pid_t spawn_browser(const char *profile, const char *url, int out)
{
    const char *names[] = {getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    for (size_t i = 0; i < COUNT_OF(names) && pid == 0; i++) {
        const char *arguments[] = {names[i],
                                   "--headless",
                                   "--disable-gpu",
                                   "--no-first-run",
                                   "--disable-background-networking",
                                   profile,
                                   "--dump-dom",
                                   url,
                                   geteuid() == 0 ? "--no-sandbox" : NULL, /* it refuses root */
                                   NULL};
        if (names[i] != NULL && posix_spawnp(&pid, names[i], &actions, NULL,
                                             (char *const *)(void *)arguments, environ) != 0)
            pid = 0;
    }
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static bool read_all(int from, struct buffer *out)
{
    for (;;) {
        ssize_t got = read(from, buffer_reserve(out, 1 << 16), 1 << 16);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || out->size > DRAWN_BYTES_MAX)
            return got == 0;
        out->size += (size_t)got;
    }
}

/* The page as a browser shows it. */
static bool report_draw(const char *profile, const char *url, struct buffer *drawn,
                        struct buffer *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        buffer_append_format(error, "cannot make a pipe: %s", strerror(errno));
        return false;
    }
    pid_t pid = spawn_browser(profile, url, ends[1]);
    close(ends[1]);
    bool good = pid != 0 && read_all(ends[0], drawn);
    close(ends[0]);
    int how = 0;
    if (pid == 0)
        buffer_append_text(error,
                           "--svg needs Chromium or Chrome to draw the figures, and none is on "
                           "PATH. Install it (Debian: `apt-get install chromium`), or set "
                           "CHROMIUM to its path");
    else
        waitpid(pid, &how, 0);
    if (pid != 0 && (!good || how != 0)) {
        buffer_append_text(error, "the browser that draws the figures failed");
        good = false;
    }
    return good;
}

static bool write_figures(const char *directory, struct slice drawn, struct buffer *error)
{
    struct slice files = lab_report_files(drawn), name;
    struct buffer bytes = {0};
    enum status status = STATUS_NOT_FOUND;
    int count = 0;
    bool good = true;
    while (good && (status = lab_report_next_file(&files, &name, &bytes)) == STATUS_OK) {
        char text[256];
        snprintf(text, sizeof text, "%.*s", (int)name.size, (const char *)name.data);
        good = lab_file_write(directory, text, buffer_slice(&bytes), error);
        count++;
    }
    if (good && (status != STATUS_NOT_FOUND || count == 0)) {
        buffer_append_text(error, "the browser did not draw the figures");
        good = false;
    }
    if (good)
        printf("%s: %d figures\n", directory, count);
    buffer_deinit(&bytes);
    return good;
}

static void append_url(struct buffer *out, const char *path)
{
    buffer_append_text(out, "file://");
    for (; *path != '\0'; path++) {
        if (strchr("/-_.", *path) != NULL || (*path >= '0' && *path <= '9') ||
            (*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z'))
            buffer_append_u8(out, (uint8_t)*path);
        else
            buffer_append_format(out, "%%%02x", (uint8_t)*path);
    }
    buffer_append_text(out, "/page.html#svg");
    buffer_append_u8(out, 0);
}

static bool write_svg(const char *directory, struct slice page, struct buffer *error)
{
    char temporary[LAB_NAME_SIZE], profile[LAB_NAME_SIZE + 32];
    char whole[PATH_MAX];
    struct buffer url = {0}, drawn = {0};
    if (!lab_temporary_make(temporary))
        return false;
    snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", temporary);
    bool good =
        realpath(temporary, whole) != NULL && lab_file_write(temporary, "page.html", page, error);
    append_url(&url, whole);
    good = good && report_draw(profile, (const char *)url.data, &drawn, error) &&
           write_figures(directory, buffer_slice(&drawn), error);
    remove_tree(temporary);
    buffer_deinit(&url);
    buffer_deinit(&drawn);
    return good;
}

/* ---- the command ---- */

static bool write_page(const struct report_arguments *a, struct slice page, struct buffer *error)
{
    char path[LAB_NAME_SIZE];
    char *slash;
    int size = snprintf(path, sizeof path, "%s%s", a->out != NULL ? a->out : a->directory,
                        a->out != NULL ? "" : "/report.html");
    if (size >= (int)sizeof path) {
        buffer_append_text(error, "the path of the page is too long");
        return false;
    }
    slash = strrchr(path, '/');
    bool good;
    if (slash == NULL) {
        good = lab_file_write(".", path, page, error);
    } else {
        *slash = '\0';
        good = lab_file_write(path, slash + 1, page, error);
        *slash = '/';
    }
    if (good)
        printf("%s: %.1f MiB; open it in a browser\n", path, (double)page.size / (1 << 20));
    return good;
}

int lab_report_command(int argc, char **argv)
{
    struct report_arguments a = {0};
    struct buffer page = {0}, error = {0};
    const struct command_line l = {
        .command = "weir lab report",
        .usage = "DIR [OPTION]...",
        .about =
            "Writes one HTML page with figures of all results in a directory of `weir lab run "
            "--out`, sweep or suite: expectations, load, balances, key space, latencies, and a "
            "comparison of the policies. The page needs no other file and no network.",
        .examples = "  weir lab report skew\n"
                    "  weir lab report skew --out skew.html\n"
                    "  weir lab report skew --svg figures\n",
        .groups = {OPTION_GROUP(NULL, report_options, &a)},
        .words = {&a.directory, &a.word_count, 1, 1, "one directory"},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    bool good = lab_report_can_draw();
    if (!good)
        buffer_append_text(&error,
                           "this weir was built without the chart libraries, which the build takes "
                           "from npm. Install npm and build again where npm can fetch packages. "
                           "result.json, result.csv and `weir lab compare` do not need them");
    good = good && make_page(a.directory, &page, &error);
    if (good && (a.out != NULL || a.svg == NULL))
        good = write_page(&a, buffer_slice(&page), &error);
    if (good && a.svg != NULL)
        good = write_svg(a.svg, buffer_slice(&page), &error);
    if (error.size > 0)
        fprintf(stderr, "weir lab report: %.*s\n", (int)error.size, (const char *)error.data);
    buffer_deinit(&page);
    buffer_deinit(&error);
    return good ? 0 : 1;
}
