#include "cmd/lab_files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_mode.h"
#include "cmd/lab_inputs.h"
#include "lab/adversaries/adversaries.h"
#include "lab/baselines/baselines.h"
#include "lab/fidelity/real/real.h"
#include "router/json/json.h"
#include "router/json/json_writer.h"
#include "workload/input_file.h"

enum {
    PATH_SIZE = 4096
};

static bool file_fail(struct buffer *error, const char *what, const char *path)
{
    buffer_append_format(error, "cannot %s %s: %s", what, path, strerror(errno));
    return false;
}

struct policies *lab_policies_begin(void)
{
    static struct policies policies;
    policy_file_begin(&policies);
    baselines_add(&policies);
    adversaries_add(&policies);
    return &policies;
}

enum status lab_policies_load(struct policies *policies, const char *path, struct buffer *error)
{
    enum status status = policy_file_load(policies, path, error);
    return status == STATUS_OK ? retry_policies_check(policies, error) : status;
}

static bool path_join(char out[PATH_SIZE], const char *directory, const char *name)
{
    return snprintf(out, PATH_SIZE, "%s/%s", directory, name) < PATH_SIZE;
}

bool lab_file_read(const char *path, struct buffer *out, struct buffer *error)
{
    return input_file_read(path, out, error) == STATUS_OK;
}

bool lab_file_make_directories(char *path, struct buffer *error)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, DIRECTORY_MODE_SHARED) == 0 || errno == EEXIST;
        if (!made)
            file_fail(error, "create the directory", path);
        *slash = '/';
        if (!made)
            return false;
    }
    return true;
}

static bool write_fresh(const char *fresh, const char *path, struct slice bytes,
                        struct buffer *error)
{
    FILE *f = fopen(fresh, "wb");
    if (f == NULL)
        return file_fail(error, "write", fresh);
    bool good = fwrite(bytes.data, 1, bytes.size, f) == bytes.size;
    good = fclose(f) == 0 && good;
    if (!good || rename(fresh, path) != 0) {
        file_fail(error, "write", path);
        unlink(fresh);
        return false;
    }
    return true;
}

bool lab_file_write(const char *directory, const char *name, struct slice bytes,
                    struct buffer *error)
{
    char path[PATH_SIZE], fresh[PATH_SIZE + 32];
    if (!path_join(path, directory, name))
        return buffer_explain(error, STATUS_TOO_LARGE, "the path %s/%s is too long", directory,
                              name) == STATUS_OK;
    if (!lab_file_make_directories(path, error))
        return false;
    snprintf(fresh, sizeof fresh, "%s.%d", path, (int)getpid());
    /* A process that is told to end leaves no fresh file behind. */
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &before);
    const bool good = write_fresh(fresh, path, bytes, error);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}

bool lab_file_exists(const char *directory, const char *name)
{
    char path[PATH_SIZE];
    struct stat s;
    return path_join(path, directory, name) && stat(path, &s) == 0;
}

/* ---- temporary directories ---- */

bool lab_temporary_make(char out[LAB_NAME_SIZE])
{
    const char *where = getenv("TMPDIR");
    snprintf(out, LAB_NAME_SIZE, "%s/weir-lab.XXXXXX", where != NULL ? where : "/tmp");
    if (mkdtemp(out) != NULL)
        return true;
    fprintf(stderr, "weir lab: cannot create the directory %s: %s\n", out, strerror(errno));
    return false;
}

/* ---- the plan ---- */

bool lab_files_write_plan(const struct lab_plan *p, struct buffer *out, struct buffer *error)
{
    const struct lab_plan_options *o = &p->options;
    json_write_open(out, '{');
    json_member_text(out, "format", "weir-lab-1");
    json_member_text(out, "version", WEIR_VERSION);
    json_member_text(out, "fidelity", lab_fidelity_names[o->fidelity]);
    json_member_integer(out, "seeds", (int64_t)p->seeds);
    json_member_integer(out, "first_seed", (int64_t)o->first_seed);
    if (o->until.ppm > 0) {
        json_member_integer(out, "until_ppm", o->until.ppm);
        json_member_string(out, "until_measures", o->until.measures);
    }
    json_member_bool(out, "sweep", o->sweep);
    json_member_string(out, "more_policies", o->more);
    if (o->adversary)
        json_member_bool(out, "adversary", true);
    json_member_open(out, "policy_files", '[');
    for (uint32_t i = 0; i < o->policy_file_count; i++)
        json_write_text(out, o->policy_files[i]);
    json_write_close(out, ']');
    json_member_open(out, "set", '[');
    for (uint32_t i = 0; i < o->set_count; i++) {
        json_write_open(out, '[');
        json_write_string(out, o->set[i].path);
        json_write_string(out, o->set[i].value);
        json_write_close(out, ']');
    }
    json_write_close(out, ']');
    const bool good = lab_inputs_write(p, out, error);
    json_write_close(out, '}');
    buffer_append_text(out, "\n");
    return good;
}

/* A copy of the text, with a NUL behind it. */
static struct slice keep_text(struct buffer *storage, struct slice text)
{
    uint8_t *at = buffer_reserve(storage, text.size + 1);
    memcpy(at, text.data, text.size);
    at[text.size] = 0;
    storage->size += text.size + 1;
    return slice_make(at, text.size);
}

static bool read_set(const struct json_value *set, struct lab_plan_options *o,
                     struct buffer *storage)
{
    struct json_value pair, part;
    if (set->type != JSON_LIST || json_count(set) > SCENARIO_SETTINGS_MAX)
        return false;
    struct json_cursor c = json_elements(set);
    while (json_next_element(&c, &pair)) {
        struct slice texts[2] = {{NULL, 0}, {NULL, 0}};
        if (pair.type != JSON_LIST || json_count(&pair) != 2)
            return false;
        struct json_cursor inner = json_elements(&pair);
        for (int n = 0; n < 2 && json_next_element(&inner, &part); n++)
            texts[n] = keep_text(storage, json_text(&part));
        o->set[o->set_count++] = (struct scenario_setting){texts[0], texts[1]};
    }
    return true;
}

static bool read_policy_files(const struct json_value *files, struct lab_plan_options *o,
                              struct buffer *storage)
{
    struct json_value file;
    if (files->type != JSON_LIST || json_count(files) > LAB_POLICY_FILES_MAX)
        return false;
    struct json_cursor c = json_elements(files);
    while (json_next_element(&c, &file))
        o->policy_files[o->policy_file_count++] =
            (const char *)keep_text(storage, json_text(&file)).data;
    return true;
}

static bool read_fidelity(const struct json_value *v, enum lab_fidelity *out)
{
    for (int i = 0; i < LAB_FIDELITIES; i++) {
        *out = (enum lab_fidelity)i;
        if (json_is_text(v, lab_fidelity_names[i]))
            return true;
    }
    return false;
}

/* Absent: the number of seeds is fixed. */
static void read_until(const struct json_value *root, struct lab_until *until,
                       struct buffer *storage)
{
    const struct json_value ppm = json_find(root, "until_ppm"),
                            measures = json_find(root, "until_measures");
    if (ppm.type != JSON_INTEGER)
        return;
    until->ppm = json_integer(&ppm);
    until->measures = keep_text(storage, json_text(&measures));
}

static bool read_plan(const struct json_value *root, struct lab_plan_options *o,
                      struct buffer *storage)
{
    struct json_value format = json_find(root, "format"), seeds = json_find(root, "seeds"),
                      first = json_find(root, "first_seed"), sweep = json_find(root, "sweep"),
                      fidelity = json_find(root, "fidelity"), set = json_find(root, "set"),
                      files = json_find(root, "policy_files"),
                      more = json_find(root, "more_policies"),
                      adversary = json_find(root, "adversary");
    if (!json_is_text(&format, "weir-lab-1") || seeds.type != JSON_INTEGER ||
        first.type != JSON_INTEGER || sweep.type != JSON_BOOL || json_integer(&seeds) < 1 ||
        !read_fidelity(&fidelity, &o->fidelity))
        return false;
    o->seeds = json_integer(&seeds);
    o->first_seed = (uint64_t)json_integer(&first);
    o->sweep = json_bool(&sweep);
    read_until(root, &o->until, storage);
    o->adversary = adversary.type == JSON_BOOL && json_bool(&adversary);
    o->more = keep_text(storage, json_text(&more));
    return read_set(&set, o, storage) && read_policy_files(&files, o, storage);
}

/* The texts lend from `storage`. False: the bytes are no plan. */
static bool plan_decode(const struct buffer *json, struct lab_plan_options *o,
                        struct buffer *storage)
{
    struct buffer padded = {0};
    struct json_parser *parser = json_parser_create();
    struct json_value root;
    /* Texts are shorter than their JSON, and must not move. */
    buffer_reserve(storage, json->size + 1);
    buffer_append_slice(&padded, buffer_slice(json));
    buffer_reserve(&padded, JSON_PADDING);
    const bool good = json->size <= INPUT_FILE_SIZE_MAX &&
                      json_parse(parser, buffer_slice(&padded), &root) == STATUS_OK &&
                      read_plan(&root, o, storage);
    json_parser_destroy(parser);
    buffer_deinit(&padded);
    return good;
}

/* A plan that cannot be read makes the directory's runs useless: better to hear of it before
 * them. */
static bool plan_fits(const struct buffer *json, struct buffer *error)
{
    struct lab_plan_options o = {0};
    struct buffer storage = {0};
    const bool fits = plan_decode(json, &o, &storage);
    if (!fits)
        buffer_append_format(
            error, "the plan cannot be written to a file: a value of --set or the name of a "
                   "policy's file is not UTF-8, or the policies of --add are too long");
    buffer_deinit(&storage);
    return fits;
}

static bool policy_files_are_equal(const struct lab_plan_options *a,
                                   const struct lab_plan_options *b)
{
    bool equal = a->policy_file_count == b->policy_file_count;
    for (uint32_t i = 0; equal && i < a->policy_file_count; i++)
        equal = strcmp(a->policy_files[i], b->policy_files[i]) == 0;
    return equal;
}

static bool sets_are_equal(const struct lab_plan_options *a, const struct lab_plan_options *b)
{
    bool equal = a->set_count == b->set_count;
    for (uint32_t i = 0; equal && i < a->set_count; i++)
        equal = slice_equal(a->set[i].path, b->set[i].path) &&
                slice_equal(a->set[i].value, b->set[i].value);
    return equal;
}

/* Appends which options the plan of a directory was made with and this one was not. */
static void explain_options(const struct lab_plan_options *then, const struct lab_plan *p,
                            struct buffer *why)
{
    const struct lab_plan_options *now = &p->options;
    const struct {
        bool differs;
        const char *option;
    } rows[] = {{then->fidelity != now->fidelity, "--fidelity"},
                {then->seeds != (int64_t)p->seeds, "--seeds"},
                {then->first_seed != now->first_seed, "--seed"},
                {then->until.ppm != now->until.ppm, "--until"},
                {!slice_equal(then->until.measures, now->until.measures), "--measures"},
                {then->sweep != now->sweep, "the sweep"},
                {!slice_equal(then->more, now->more) && !now->adversary, "--add"},
                {then->adversary != now->adversary, "--adversary"},
                {!policy_files_are_equal(then, now), "--policy"},
                {!sets_are_equal(then, now), "--set"}};
    const size_t before = why->size;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].differs)
            buffer_append_format(why, "%s%s", why->size == before ? "it differs in " : ", ",
                                 rows[i].option);
    }
    if (why->size == before)
        buffer_append_text(why, "its plan.json differs");
}

/* Appends the first difference of a plan that is there. */
static void explain_plan(const struct buffer *there, const struct buffer *expected,
                         const struct lab_plan *p, struct buffer *why)
{
    struct lab_plan_options then = {0};
    struct buffer storage = {0};
    if (!plan_decode(there, &then, &storage))
        buffer_append_text(why, "its plan.json is not a plan of `weir lab`");
    else if (lab_inputs_are_same(there, expected, true, why))
        explain_options(&then, p, why);
    buffer_deinit(&storage);
}

/* `p`: the file is its plan; NULL: it is the scenario. */
static bool must_be_same(const char *directory, const char *name, const struct buffer *expected,
                         const struct lab_plan *p, struct buffer *error)
{
    char path[PATH_SIZE];
    struct buffer there = {0}, why = {0};
    if (!lab_file_exists(directory, name))
        return lab_file_write(directory, name, buffer_slice(expected), error);
    bool good = path_join(path, directory, name) && lab_file_read(path, &there, error);
    if (good && slice_compare(buffer_slice(&there), buffer_slice(expected)) != 0) {
        if (p == NULL)
            buffer_append_text(&why, "its scenario.yaml differs");
        else
            explain_plan(&there, expected, p, &why);
        buffer_append_format(
            error, "%s has other runs: %.*s. Choose another --out, or remove the directory",
            directory, TEXT_OF(why));
        good = false;
    }
    buffer_deinit(&why);
    buffer_deinit(&there);
    return good;
}

bool lab_files_open(const char *directory, const struct lab_plan *p, struct buffer *error)
{
    struct buffer plan = {0}, text = {0};
    buffer_append_slice(&text, p->options.text);
    bool good = lab_files_write_plan(p, &plan, error) && plan_fits(&plan, error) &&
                must_be_same(directory, "scenario.yaml", &text, NULL, error) &&
                must_be_same(directory, "plan.json", &plan, p, error);
    buffer_deinit(&plan);
    buffer_deinit(&text);
    return good;
}

static bool load_policies(struct lab_plan_options *o, struct buffer *error)
{
    o->policies = lab_policies_begin();
    for (uint32_t i = 0; i < o->policy_file_count; i++) {
        if (lab_policies_load(o->policies, o->policy_files[i], error) != STATUS_OK)
            return false;
    }
    return true;
}

bool lab_files_plan(const char *directory, struct lab_plan *p, struct buffer *text,
                    struct buffer *storage, struct buffer *error)
{
    char path[PATH_SIZE];
    struct buffer json = {0};
    struct lab_plan_options o = {.file = "scenario.yaml", .real = &lab_real_runner};
    *p = (struct lab_plan){0};
    bool good = path_join(path, directory, "plan.json") && lab_file_read(path, &json, error);
    if (good && !plan_decode(&json, &o, storage)) {
        buffer_append_format(error, "%s is not a plan of `weir lab`", path);
        good = false;
    }
    good = good && load_policies(&o, error) && path_join(path, directory, "scenario.yaml") &&
           lab_file_read(path, text, error);
    o.text = buffer_slice(text);
    good = good && lab_plan_make(p, &o, error) == STATUS_OK;
    buffer_deinit(&json);
    return good;
}

/* ---- results ---- */

static bool gather_inputs(const char *directory, struct lab_result *r, struct buffer *error)
{
    char path[PATH_SIZE];
    struct buffer plan = {0}, members = {0};
    const bool good = path_join(path, directory, "plan.json") && lab_file_read(path, &plan, error);
    if (good)
        lab_inputs_copy(&plan, &members);
    lab_result_set_inputs(r, buffer_slice(&members));
    buffer_deinit(&plan);
    buffer_deinit(&members);
    return good;
}

static bool add_run(const char *path, const struct buffer *json, struct lab_result *r,
                    struct buffer *error)
{
    struct buffer fault = {0};
    const bool good = lab_result_add(r, buffer_slice(json), &fault) == STATUS_OK;
    if (!good)
        buffer_append_format(error, "%s: %.*s. Remove the file, and run again", path,
                             TEXT_OF(fault));
    buffer_deinit(&fault);
    return good;
}

bool lab_files_gather(const char *directory, const struct lab_plan *p, struct lab_result *r,
                      struct buffer *error)
{
    struct lab_planned *run = must_calloc(1, sizeof *run);
    bool good = gather_inputs(directory, r, error);
    lab_result_set_until(r, &p->options.until);
    for (uint64_t i = 0; good && i < p->runs; i++) {
        char path[PATH_SIZE];
        struct buffer json = {0};
        lab_plan_run(p, i, run);
        if (lab_plan_includes(p, i) && lab_file_exists(directory, run->path))
            good = path_join(path, directory, run->path) && lab_file_read(path, &json, error) &&
                   add_run(path, &json, r, error);
        buffer_deinit(&json);
    }
    free(run);
    return good;
}

bool lab_files_write_junit(const char *directory, const struct buffer *suites, struct buffer *error)
{
    struct buffer junit = {0};
    buffer_append_text(&junit, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    buffer_append_slice(&junit, buffer_slice(suites));
    buffer_append_text(&junit, "</testsuites>\n");
    const bool good = lab_file_write(directory, "junit.xml", buffer_slice(&junit), error);
    buffer_deinit(&junit);
    return good;
}

bool lab_files_finish(const char *directory, const struct lab_result *r, struct buffer *error)
{
    struct buffer json = {0}, csv = {0}, junit = {0};
    lab_result_json(r, &json);
    lab_result_csv(r, &csv);
    lab_result_junit(r, &junit);
    bool good = lab_file_write(directory, "result.json", buffer_slice(&json), error) &&
                lab_file_write(directory, "result.csv", buffer_slice(&csv), error) &&
                lab_files_write_junit(directory, &junit, error);
    buffer_deinit(&json);
    buffer_deinit(&csv);
    buffer_deinit(&junit);
    return good;
}
