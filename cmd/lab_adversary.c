/* lab_adversary.c - prints and keeps what bad policies break. */
#include "cmd/lab_adversary.h"

#include <stdio.h>
#include <stdlib.h>

#include "lab/run/adversary.h"

void lab_adversary_print_head(void)
{
    struct buffer text = {0};
    adversary_print_head(&text);
    fwrite(text.data, 1, text.size, stdout);
    buffer_deinit(&text);
}

static void append_texts(const struct lab_adversary_options *o, const struct lab_plan *p,
                         const struct lab_result *r, const struct adversary_report *report,
                         struct buffer *out)
{
    if (!o->in_suite) {
        buffer_append_format(out, "%s: %s\n", p->scenario->name, p->scenario->about);
        adversary_print_head(out);
    }
    adversary_print_row(r, report, out);
    adversary_print_faults(r, report, out);
    if (!o->in_suite)
        adversary_print_expectations(r, report, out);
}

/* result.json would say that expectations fail, which is what they must do here. */
static bool keep_results(const char *directory, const struct lab_result *r,
                         const struct buffer *json, const struct buffer *junit,
                         struct buffer *error)
{
    struct buffer csv = {0};
    lab_result_csv(r, &csv);
    const bool good = lab_file_write(directory, "result.csv", buffer_slice(&csv), error) &&
                      lab_file_write(directory, "adversary.json", buffer_slice(json), error) &&
                      lab_files_write_junit(directory, junit, error);
    buffer_deinit(&csv);
    return good;
}

static int print_evaluated(const struct lab_plan *p, const char *directory,
                           const struct lab_adversary_options *o, struct lab_result *r,
                           struct buffer *error)
{
    struct adversary_report *report = must_calloc(1, sizeof *report);
    struct buffer text = {0}, json = {0}, junit = {0};
    const bool all = adversary_evaluate(r, report);
    adversary_write_json(r, report, &json);
    adversary_junit(r, report, &junit);
    append_texts(o, p, r, report, &text);
    const bool good = !o->keep || keep_results(directory, r, &json, &junit, error);
    const struct buffer *shown = o->json ? &json : &text;
    fwrite(shown->data, 1, shown->size, stdout);
    if (o->junit != NULL)
        buffer_append_slice(o->junit, buffer_slice(&junit));
    buffer_deinit(&json);
    buffer_deinit(&junit);
    buffer_deinit(&text);
    free(report);
    return good && all ? 0 : 1;
}

int lab_adversary_print(const struct lab_plan *p, const char *directory,
                        const struct lab_adversary_options *o)
{
    struct lab_result *r = lab_result_create(p->scenario, p->options.fidelity);
    struct buffer error = {0};
    int code = 1;
    if (lab_files_gather(directory, p, r, &error) && lab_result_runs(r) == p->runs)
        code = print_evaluated(p, directory, o, r, &error);
    else if (error.size == 0)
        buffer_append_format(&error, "%u of %llu runs have results: bad policies are not judged",
                             lab_result_runs(r), (unsigned long long)p->runs);
    if (error.size > 0)
        fprintf(stderr, "weir lab: %.*s\n", TEXT_OF(error));
    buffer_deinit(&error);
    lab_result_destroy(r);
    return code;
}
