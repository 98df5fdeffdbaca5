/* Files of the lab that the lab reads again: texts of YAML, plans of directories, results of runs.
 * What can be written is read back as it was; what could not be is refused before a run. */
#include <math.h>
#include <stdlib.h>

#include "cmd/lab_files.h"
#include "lab/measure/measure.h"
#include "router/json/json_writer.h"
#include "tests/check.h"
#include "tests/support/drawn.h"
#include "tests/temporary.h"

enum {
    SEEDS = 60,
    TEXTS = 200,
    VALUES = 200
};

static uint64_t taken, refused;

FILE_FIXTURE(temporary_setup, temporary_teardown)

static struct slice text_drawn(struct prng *p, bool bytes, size_t size, char *room)
{
    return drawn_text(p, bytes ? DRAWN_MIXED : DRAWN_TEXT, size, (uint8_t *)room);
}

/* ---- texts of YAML ---- */

static void yaml_text_reads_as_it_was(struct prng *p)
{
    char room[300];
    struct buffer text = {0}, error = {0};
    for (int i = 0; i < TEXTS; i++) {
        struct document d = {0};
        const struct slice given =
            text_drawn(p, prng_below(p, 2), prng_below(p, sizeof room), room);
        buffer_clear(&text);
        document_append_text(&text, given);
        must(document_parse(&d, "a.yaml", slice_of("list: [a]"), &error) == STATUS_OK);
        const enum status status =
            document_set(&d, slice_of("list.1"), buffer_slice(&text), &error);
        assert_int_equal(status == STATUS_OK, slice_is_utf8(given));
        if (status == STATUS_OK)
            assert_true(slice_equal(document_member(d.root, "list")->first->text, given));
        document_deinit(&d);
    }
    buffer_deinit(&text);
    buffer_deinit(&error);
}

TEST(a_text_of_yaml_is_read_as_it_was_written)
{
    check_seeds(SEEDS, yaml_text_reads_as_it_was);
}

/* ---- plans ---- */

static const char scenario_text[] =
    "name: x\nduration: 10s\ntables: [{name: users}]\nworkloads: [{name: w, table: users}]\n"
    "sweep: [{path: seeds, values: [1, 2, 3]}]\n";

static const char *directory;

/* Policies of so many bytes, of which most say what they are. */
static void append_policies(struct buffer *out, size_t size)
{
    buffer_append_text(out, "- {name: more, about: \"");
    while (out->size + 4 < size)
        buffer_append_text(out, "aaa ");
    buffer_append_text(out, "\"}\n");
}

static void plan_reads_as_it_was(struct prng *p)
{
    static const size_t sizes[] = {0, 100, 60000, 70000, 300000};
    char room[100], file[100] = "";
    struct buffer more = {0}, value = {0}, text = {0}, texts = {0}, error = {0};
    struct lab_plan plan, again;
    struct lab_plan_options o = {.file = "a.yaml",
                                 .text = slice_of(scenario_text),
                                 .seeds = prng_below(p, 2) ? 1 : LAB_RUNS_MAX / 6,
                                 .first_seed = prng_below(p, 2) ? INT64_MAX : prng_below(p, 9),
                                 .fidelity = (enum lab_fidelity)prng_below(p, LAB_FIDELITIES),
                                 .sweep = prng_below(p, 2)};
    const size_t size = sizes[prng_below(p, COUNT_OF(sizes))];
    if (size > 0)
        append_policies(&more, size);
    o.more = buffer_slice(&more);
    const struct slice about =
        text_drawn(p, prng_below(p, 3) == 0, prng_below(p, sizeof room), room);
    document_append_text(&value, about);
    o.set[o.set_count++] = (struct scenario_setting){slice_of("about"), buffer_slice(&value)};
    const bool made = lab_plan_make(&plan, &o, &error) == STATUS_OK;
    assert_int_equal(made, slice_is_utf8(about));
    const bool odd_file = prng_below(p, 8) == 0;
    if (odd_file) { /* as if it had been loaded */
        snprintf(file, sizeof file, "/tmp/\xff.so");
        plan.options.policy_files[plan.options.policy_file_count++] = file;
    }
    const bool opened = made && lab_files_open(directory, &plan, &error);
    assert_int_equal(opened, made && !odd_file);
    assert_int_equal(lab_file_exists(directory, "plan.json"), opened);
    if (opened) {
        const bool read = lab_files_plan(directory, &again, &text, &texts, &error);
        if (!read)
            fail_msg("%.*s", TEXT_OF(error));
        assert_true(again.runs == plan.runs && again.seeds == plan.seeds);
        assert_true(again.options.first_seed == o.first_seed && again.options.sweep == o.sweep);
        assert_true(again.options.fidelity == o.fidelity);
        assert_true(slice_equal(again.options.more, o.more));
        assert_int_equal(again.options.set_count, o.set_count);
        assert_true(slice_equal(again.options.set[0].value, o.set[0].value));
        assert_true(slice_is(about, again.scenario->about));
        assert_true(lab_files_open(directory, &again, &error));
        lab_plan_deinit(&again);
        snprintf(room, sizeof room, "%.60s/plan.json", directory);
        unlink(room);
    }
    lab_plan_deinit(&plan);
    buffer_deinit(&more);
    buffer_deinit(&value);
    buffer_deinit(&text);
    buffer_deinit(&texts);
    buffer_deinit(&error);
}

TEST(a_plan_is_read_as_it_was_written)
{
    directory = *state;
    check_seeds(SEEDS, plan_reads_as_it_was);
}

/* ---- results of runs ---- */

static void append_name(struct prng *p, struct buffer *out)
{
    static const char *const usual[] = {"", "a", "b", "a b", "A\"\\\n", "\xe2\x80\xa8"};
    char room[80];
    const uint64_t which = prng_below(p, 2 * COUNT_OF(usual));
    document_append_text(out, which < COUNT_OF(usual) ? slice_of(usual[which])
                                                      : text_drawn(p, false, sizeof room, room));
}

/* Two policies, two tenants, and a sweep of a few values, all with drawn names. The name of the
 * scenario has few characters, and is seldom wrong. */
static void append_scenario(struct prng *p, struct buffer *out)
{
    static const char *const changes[] = {"", ", set: {name: other}", ", set: {policies.1.name: c}",
                                          ", set: {seeds: \"3\"}"};
    char *room = must_have(malloc(LAB_PATH_SIZE_MAX));
    static const char *const names[] = {"a", "other", "A-1_x.y", "\"\"", "a/b"};
    buffer_append_text(out, "duration: 1s\ncluster: {nodes: 1, routers: 1, gac: 1}\nname: ");
    buffer_append_text(out,
                       names[prng_below(p, 12) < 10 ? prng_below(p, 3) : 3 + prng_below(p, 2)]);
    buffer_append_text(out, "\ntables: [{name: users}]\nworkloads:\n");
    for (int i = 0; i < 2; i++) {
        buffer_append_text(out, " - {table: users, rate: 20, name: w, tenant: ");
        append_name(p, out);
        buffer_append_text(out, "}\n");
    }
    buffer_append_text(out, "policies:\n");
    for (int i = 0; i < 2; i++) {
        buffer_append_text(out, " - {name: ");
        append_name(p, out);
        buffer_append_format(
            out, "%s}\n",
            changes[prng_below(p, 12) < COUNT_OF(changes) ? prng_below(p, COUNT_OF(changes)) : 0]);
    }
    buffer_append_text(out, "expect: [{measure: admitted_rate, at_least: 1}]\n"
                            "sweep:\n - {path: about, values: [");
    const bool long_names = prng_below(p, 4) == 0;
    for (int i = 0; i < 2; i++) {
        struct buffer value = {0};
        /* about="..",rate=5 */
        const size_t size =
            long_names ? LAB_PATH_SIZE_MAX - 15 - prng_below(p, 3) : prng_below(p, 5);
        memset(room, 'a' + i, size);
        document_append_text(&value, long_names ? slice_make(room, size)
                                                : text_drawn(p, false, size, room));
        buffer_append_text(out, i > 0 ? ", " : "");
        document_append_text(out, buffer_slice(&value));
        buffer_deinit(&value);
    }
    buffer_append_text(out, "]}\n - {path: workloads.1.rate, values: [5, 6]}\n");
    free(room);
}

/* The runs of the plan are all found, one by one. */
static void gather(const struct lab_plan *plan)
{
    struct buffer json = {0}, error = {0}, csv = {0};
    struct lab_planned *run = must_calloc(1, sizeof *run);
    struct lab_result *r = lab_result_create(plan->scenario, plan->options.fidelity);
    for (uint64_t i = 0; i < plan->runs; i++) {
        lab_plan_run(plan, i, run);
        buffer_clear(&json);
        run->job.series = false;
        if (lab_run(&run->job, &json, &error) != STATUS_OK ||
            lab_result_add(r, buffer_slice(&json), &error) != STATUS_OK)
            fail_msg("%.*s", TEXT_OF(error));
        assert_int_equal(lab_result_runs(r), i + 1);
    }
    lab_result_evaluate(r);
    uint32_t failed;
    assert_int_equal(lab_result_evaluated(r, &failed), plan->points);
    assert_int_equal(failed, 0);
    lab_result_destroy(r);
    free(run);
    buffer_deinit(&json);
    buffer_deinit(&error);
    buffer_deinit(&csv);
}

static void runs_are_found(struct prng *p)
{
    struct buffer text = {0}, error = {0};
    struct lab_plan plan;
    append_scenario(p, &text);
    const struct lab_plan_options o = {.file = "a.yaml",
                                       .text = buffer_slice(&text),
                                       .seeds = 2,
                                       .first_seed = prng_below(p, 2) ? INT64_MAX : 1,
                                       .fidelity = LAB_ADMISSION,
                                       .sweep = true};
    if (lab_plan_make(&plan, &o, &error) == STATUS_OK) {
        gather(&plan);
        taken++;
    } else {
        refused++;
    }
    lab_plan_deinit(&plan);
    buffer_deinit(&text);
    buffer_deinit(&error);
}

/* A scenario whose results could not be told apart is refused. */
TEST(each_run_of_a_scenario_is_found_in_its_results)
{
    check_seeds(SEEDS, runs_are_found);
    if (getenv("SEED") != NULL)
        return;
    printf("%llu scenarios were run, %llu refused\n", (unsigned long long)taken,
           (unsigned long long)refused);
    assert_true(taken > 5);
    assert_true(refused > 5);
}

/* ---- numbers of results ---- */

static double double_of(struct prng *p)
{
    static const double ends[] = {0,
                                  -0.0,
                                  5e-324,
                                  2.3e-308,
                                  1.7976931348623157e308,
                                  -1.7976931348623157e308,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0.1,
                                  9007199254740993.0,
                                  1e16,
                                  1e17,
                                  12345678901234567.0,
                                  9.2233720368547758e18,
                                  1e19};
    union {
        uint64_t bits;
        double value;
    } any = {.bits = prng_next(p)};
    const uint64_t which = prng_below(p, COUNT_OF(ends) * 2);
    return which < COUNT_OF(ends) ? ends[which] : any.value;
}

/* The mean of one run is the run's value. */
static double value_read(const struct lab_plan *plan, const char *measure, double value)
{
    struct buffer json = {0}, csv = {0}, error = {0};
    char line[200];
    double read = NAN;
    struct lab_result *r = lab_result_create(plan->scenario, LAB_ADMISSION);
    buffer_append_text(&json, "{\"scenario\":\"x\",\"policy\":\"weir\",\"point\":\"\",\"seed\":1,"
                              "\"measures\":{\"\":{");
    json_write_key(&json, measure);
    json_write_decimal(&json, value);
    buffer_append_text(&json, "}}}");
    assert_int_equal(lab_result_add(r, buffer_slice(&json), &error), STATUS_OK);
    lab_result_evaluate(r);
    lab_result_csv(r, &csv);
    buffer_append_u8(&csv, 0);
    snprintf(line, sizeof line, "\"x\",\"\",\"weir\",\"\",\"%s\",1,", measure);
    const char *at = strstr((const char *)csv.data, line);
    if (at != NULL)
        read = strtod(at + strlen(line), NULL);
    lab_result_destroy(r);
    buffer_deinit(&json);
    buffer_deinit(&csv);
    buffer_deinit(&error);
    return read;
}

static void number_reads_as_it_was(struct prng *p)
{
    struct lab_plan plan;
    struct buffer error = {0};
    const struct lab_plan_options o = {
        .file = "a.yaml", .text = slice_of(scenario_text), .seeds = 1};
    must(lab_plan_make(&plan, &o, &error) == STATUS_OK);
    for (int i = 0; i < VALUES / 10; i++) {
        const double value = double_of(p), read = value_read(&plan, "admitted_rate", value);
        if (!(isnan(value) ? isnan(read) : read == value))
            fail_msg("%.17g is read as %.17g", value, read);
    }
    lab_plan_deinit(&plan);
    buffer_deinit(&error);
}

TEST(a_number_of_a_result_is_read_as_it_was_written)
{
    check_seeds(SEEDS, number_reads_as_it_was);
}
