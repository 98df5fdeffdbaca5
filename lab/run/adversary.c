/* adversary.c - which policies the adversaries are, and what their runs break. */
#include "lab/run/adversary.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/gac_policy.h"
#include "base/policies.h"
#include "engine/admission/policy_choice.h"
#include "include/weir/policy_partition.h"
#include "lab/run/junit.h"
#include "lab/run/result_internal.h"

static const char delayed_name[] = "delayed",
                  partition_path[] = "cluster.settings.partition_policy",
                  gac_path[] = "cluster.settings.gac",
                  overload_path[] = "cluster.settings.overload_policy";

const char *const adversary_names[ADVERSARIES] = {"refuse-all", "every-other", "admit-all",
                                                  delayed_name};

static const char *const adversary_abouts[ADVERSARIES] = {
    "every request is refused", "every second request of a partition is refused",
    "nothing is limited or shed", "what the first policy admits is admitted two seconds later"};

enum {
    SETTINGS_MAX = SCENARIO_TABLES_MAX + 3,
    SETTING_PATH_SIZE = SCENARIO_NAME_SIZE_MAX + 32
};

/* What an adversary sets beside the first policy's own settings. */
struct adversary_settings {
    uint32_t count;
    char paths[SETTINGS_MAX][SETTING_PATH_SIZE];
    const char *values[SETTINGS_MAX];
};

/* ---- policies ---- */

static void settings_add(struct adversary_settings *s, const char *path, const char *value)
{
    snprintf(s->paths[s->count], SETTING_PATH_SIZE, "%s", path);
    s->values[s->count++] = value;
}

/* Every request comes to its partition: tables have no limit at routers, and nothing is shed. */
static void settings_open_all(struct adversary_settings *s, const struct scenario *first)
{
    settings_add(s, gac_path, "off");
    settings_add(s, overload_path, "off");
    for (uint32_t i = 0; i < first->table_count; i++) {
        char path[SETTING_PATH_SIZE];
        snprintf(path, sizeof path, "tables.%u.gac", i + 1);
        if (first->tables[i].gac != GAC_AS_CONFIGURED)
            settings_add(s, path, "off");
    }
}

static bool settings_have(const struct adversary_settings *s, struct slice path)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (slice_is(path, s->paths[i]))
            return true;
    }
    return false;
}

static void write_setting(struct buffer *out, bool begins, struct slice path, struct slice value)
{
    buffer_append_text(out, begins ? "" : ", ");
    document_append_text(out, path);
    buffer_append_text(out, ": ");
    document_append_text(out, value);
}

/* The first policy's settings, then the adversary's in their place. */
static void write_settings(const struct scenario *first, const struct adversary_settings *s,
                           struct buffer *out)
{
    const struct scenario_policy *p = &first->policies[0];
    bool begins = true;
    for (uint32_t i = 0; i < p->count; i++) {
        if (settings_have(s, p->set[i].path))
            continue;
        write_setting(out, begins, p->set[i].path, p->set[i].value);
        begins = false;
    }
    for (uint32_t i = 0; i < s->count; i++)
        write_setting(out, begins && i == 0, slice_of(s->paths[i]), slice_of(s->values[i]));
}

static void write_adversary(const struct scenario *first, uint32_t adversary,
                            const struct adversary_settings *s, struct buffer *out)
{
    buffer_append_format(out, "- {name: %s, about: %s, exceeds: true, set: {",
                         adversary_names[adversary], adversary_abouts[adversary]);
    write_settings(first, s, out);
    buffer_append_text(out, "}}\n");
}

/* The policy that decides in the partitions of the first table. False: it cannot be delayed. */
static bool delayed_policy(const struct scenario *first, char name[POLICY_NAME_MAX])
{
    const struct scenario_table *t = &first->tables[0];
    const struct config *c = &first->cluster.config;
    const int size = snprintf(name, POLICY_NAME_MAX, "%s-%s", delayed_name,
                              admission_policy_of(c, (uint8_t)t->gac, t->on_demand)->name);
    return size < POLICY_NAME_MAX &&
           policies_find(c->policies, POLICY_PARTITION, slice_of(name)) != NULL;
}

void adversary_write_policies(const struct scenario *first, struct buffer *out)
{
    struct adversary_settings *s = must_calloc(1, sizeof *s);
    char name[POLICY_NAME_MAX];
    for (uint32_t i = 0; i < ADVERSARIES; i++) {
        const bool delays = adversary_names[i] == delayed_name;
        s->count = 0;
        if (delays && !delayed_policy(first, name))
            continue;
        settings_add(s, partition_path, delays ? name : adversary_names[i]);
        if (!delays)
            settings_open_all(s, first);
        write_adversary(first, i, s, out);
    }
    free(s);
}

static uint32_t adversary_policy(const struct scenario *s, uint32_t adversary)
{
    for (uint32_t i = 1; i < s->policy_count; i++) {
        if (strcmp(s->policies[i].name, adversary_names[adversary]) == 0)
            return i;
    }
    return UINT32_MAX;
}

const char *adversary_name_taken(const struct scenario *s)
{
    for (uint32_t i = 0; i < s->policy_count; i++) {
        for (uint32_t k = 0; k < ADVERSARIES; k++) {
            if (strcmp(s->policies[i].name, adversary_names[k]) == 0)
                return s->policies[i].name;
        }
    }
    return NULL;
}

static bool is_of_first(const struct scenario *s, const struct scenario_expectation *e)
{
    return e->policy == NULL || strcmp(e->policy, s->policies[0].name) == 0;
}

bool adversary_needs_policy(const struct scenario *s, uint32_t policy)
{
    for (uint32_t i = 0; i < ADVERSARIES; i++) {
        if (policy == adversary_policy(s, i))
            return true;
    }
    for (uint32_t i = 0; i < s->expectation_count; i++) {
        const struct scenario_expectation *e = &s->expectations[i];
        if (e->versus != NULL && is_of_first(s, e) &&
            strcmp(e->versus, s->policies[policy].name) == 0)
            return true;
    }
    return false;
}

/* ---- judging ---- */

static bool was_called(const struct lab_result *r, uint32_t policy)
{
    for (uint32_t point = 0; point < r->point_count; point++) {
        if (lab_result_uncalled(r, policy, point).size > 0)
            return false;
    }
    return true;
}

static void evaluate_adversary(struct lab_result *r, struct adversary_verdict *v)
{
    lab_result_evaluate_as(r, v->policy);
    lab_result_evaluate(r);
    v->expected = lab_result_evaluated(r, &v->broken);
    v->was_called = was_called(r, v->policy);
    for (uint32_t i = 0; i < r->evaluated_count; i++)
        v->breaks[r->evaluated[i].expectation] |= r->evaluated[i].verdict == STATISTICS_FAILS;
}

bool adversary_evaluate(struct lab_result *r, struct adversary_report *out)
{
    bool all = true;
    *out = (struct adversary_report){0};
    for (uint32_t i = 0; i < ADVERSARIES; i++) {
        struct adversary_verdict *v = &out->of[i];
        v->policy = r->run_count == 0 ? UINT32_MAX : adversary_policy(r->scenario, i);
        if (v->policy == UINT32_MAX)
            continue;
        evaluate_adversary(r, v);
        all &= v->broken > 0 && v->was_called;
    }
    return all;
}

/* ---- for people ---- */

void adversary_print_head(struct buffer *out)
{
    buffer_append_format(out, "%-22s", "broken expectations");
    for (uint32_t i = 0; i < ADVERSARIES; i++)
        buffer_append_format(out, " %12s", adversary_names[i]);
    buffer_append_text(out, "\n");
}

void adversary_print_row(const struct lab_result *r, const struct adversary_report *report,
                         struct buffer *out)
{
    buffer_append_format(out, "%-22s", r->scenario->name);
    for (uint32_t i = 0; i < ADVERSARIES; i++) {
        const struct adversary_verdict *v = &report->of[i];
        char text[32] = "-";
        if (v->policy != UINT32_MAX)
            snprintf(text, sizeof text, "%u of %u", v->broken, v->expected);
        buffer_append_format(out, " %12s", text);
    }
    buffer_append_text(out, "\n");
}

/* A line about an adversary that broke nothing, or that was never called; none otherwise. */
static void append_fault(const struct lab_result *r, uint32_t adversary,
                         const struct adversary_verdict *v, struct buffer *out)
{
    const struct scenario *s = r->scenario;
    if (!v->was_called)
        lab_result_print_uncalled(r, v->policy, out);
    else if (v->expected == 0)
        buffer_append_format(out,
                             "WRONG: %s expects nothing of %s that this fidelity can judge: %s is "
                             "not seen\n",
                             s->name, s->policies[0].name, adversary_names[adversary]);
    else if (v->broken == 0)
        buffer_append_format(out, "WRONG: all expectations of %s hold under %s\n", s->name,
                             adversary_names[adversary]);
}

void adversary_print_faults(const struct lab_result *r, const struct adversary_report *report,
                            struct buffer *out)
{
    if (r->run_count == 0)
        buffer_append_format(out,
                             "note: in %s the rate limiter decides, not a policy: no bad policy "
                             "runs\n",
                             r->scenario->name);
    for (uint32_t i = 0; i < ADVERSARIES && r->run_count > 0; i++) {
        const struct adversary_verdict *v = &report->of[i];
        if (v->policy == UINT32_MAX)
            buffer_append_format(
                out, "note: %s cannot take the place of the partition policy of %s in %s\n",
                adversary_names[i], r->scenario->policies[0].name, r->scenario->name);
        else
            append_fault(r, i, v, out);
    }
}

void adversary_junit(const struct lab_result *r, const struct adversary_report *report,
                     struct buffer *out)
{
    struct buffer cases = {0}, fault = {0};
    uint32_t count = 0, failed = 0;
    for (uint32_t i = 0; i < ADVERSARIES; i++) {
        const struct adversary_verdict *v = &report->of[i];
        if (v->policy == UINT32_MAX)
            continue;
        buffer_clear(&fault);
        append_fault(r, i, v, &fault);
        const struct slice message =
            slice_make(fault.data, fault.size > 0 ? fault.size - 1 : 0); /* without its end */
        junit_append_case(&cases, r->scenario->name, slice_of(adversary_names[i]), "fails",
                          message);
        count++;
        failed += fault.size > 0;
    }
    junit_append_suite(out, r->scenario->name, count, failed, buffer_slice(&cases));
    buffer_deinit(&cases);
    buffer_deinit(&fault);
}

static void print_breakers(const struct adversary_report *report, uint32_t expectation,
                           struct buffer *out)
{
    bool any = false;
    for (uint32_t i = 0; i < ADVERSARIES; i++) {
        if (!report->of[i].breaks[expectation])
            continue;
        buffer_append_format(out, "%s%s", any ? ", " : "", adversary_names[i]);
        any = true;
    }
    buffer_append_text(out, any ? "" : "none");
}

void adversary_print_expectations(const struct lab_result *r, const struct adversary_report *report,
                                  struct buffer *out)
{
    for (uint32_t i = 0; i < r->scenario->expectation_count && r->run_count > 0; i++) {
        const struct scenario_expectation *e = &r->scenario->expectations[i];
        if (!is_of_first(r->scenario, e) || !lab_result_can_evaluate(r, e))
            continue;
        buffer_append_text(out, "  ");
        lab_result_print_expectation(r, i, out);
        buffer_append_text(out, "\n    broken by ");
        print_breakers(report, i, out);
        buffer_append_text(out, "\n");
    }
}
