/* lab_list.c - `weir lab list` and `weir lab new`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/lab.h"
#include "cmd/lab_files.h"
#include "cmd/usage.h"
#include "lab/measure/measure.h"
#include "lab/scenario/scenario.h"
#include "lab/scenario/shipped.h"

static int list_scenarios(void)
{
    struct scenario *s = must_calloc(1, sizeof *s);
    for (size_t i = 0; i < lab_shipped_count; i++) {
        struct document d;
        struct buffer error = {0};
        bool good =
            document_parse(&d, lab_shipped[i].name, lab_shipped[i].text, &error) == STATUS_OK &&
            scenario_read(&d, lab_policies_begin(), s, &error) == STATUS_OK;
        must(good);
        printf("%-20s %s\n", lab_shipped[i].name, s->about);
        document_deinit(&d);
        buffer_deinit(&error);
    }
    free(s);
    return 0;
}

static int list_measures(void)
{
    static const char *const better[] = {"lower is better", "higher is better", ""};
    const struct measure_definition *d;
    for (size_t i = 0; (d = measure_definition_at(i)) != NULL; i++) {
        printf("%s (%s", d->name, d->unit);
        if (better[d->better][0] != '\0')
            printf("; %s", better[d->better]);
        if (!isnan(d->target))
            printf("; target %g", d->target);
        printf(")\n    %s\n", d->definition);
    }
    return 0;
}

static int list_format(void)
{
    struct buffer text = {0};
    scenario_describe_format(&text);
    fwrite(text.data, 1, text.size, stdout);
    buffer_deinit(&text);
    return 0;
}

#define LISTS_EXPECTED "scenarios, measures or format"

int lab_list_command(int argc, char **argv)
{
    const char *what = "scenarios";
    int count = 0;
    const struct command_line l = {
        .command = "weir lab list",
        .usage = "[scenarios | measures | format]",
        .about = "scenarios: the scenarios of weir (the default). measures: the measures of runs. "
                 "format: the fields of scenario files.",
        .examples = "  weir lab list measures\n",
        .words = {&what, &count, 0, 1, LISTS_EXPECTED},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    if (strcmp(what, "scenarios") == 0)
        return list_scenarios();
    if (strcmp(what, "measures") == 0)
        return list_measures();
    if (strcmp(what, "format") == 0)
        return list_format();
    return usage_wrong("weir lab list", "`%s` must be " LISTS_EXPECTED, what);
}

static const char template[] =
    "# %s: a scenario of `weir lab`. `weir lab list format` describes all fields.\n"
    "name: %s\n"
    "about: One sentence about the finding.\n"
    "seeds: 5\n"
    "duration: 60s\n"
    "warm: 5s\n"
    "\n"
    "cluster:\n"
    "  nodes: 4\n"
    "  routers: 4\n"
    "  gac: 3\n"
    "  settings: {gac: lease}\n"
    "\n"
    "tables:\n"
    "  - {name: users, rcu: 4000, wcu: 2000, partitions: 8}\n"
    "  - {name: events, rcu: 500, wcu: 500}\n"
    "\n"
    "workloads:\n"
    "  - name: clients\n"
    "    table: users\n"
    "    rate: 3600\n"
    "    keys: zipf:0.99\n"
    "    mix: read:0.5:update:0.5\n"
    "    item_bytes: 900\n"
    "  - name: beyond\n"
    "    table: events\n"
    "    rate: 1000\n"
    "    mix: read:0:update:1\n"
    "\n"
    "policies:\n"
    "  - {name: weir, about: the defaults}\n"
    "  - name: static\n"
    "    about: each partition has only its equal share\n"
    "    ablation: true\n"
    "    set: {cluster.settings.gac: \"off\", cluster.settings.partition_policy: "
    "allocation, cluster.settings.control_adaptive: \"0\"}\n"
    "\n"
    "expect:\n"
    "  - {policy: weir, measure: throttle_fraction, tenant: clients, at_most: 0.001,\n"
    "     why: the table is within its limit}\n"
    "  - {policy: weir, measure: admitted_rate, tenant: beyond, at_least: 490, at_most: 510,\n"
    "     why: a table beyond its limit gets its limit}\n"
    "  - {policy: static, measure: throttle_fraction, tenant: clients, at_least: 0.02,\n"
    "     why: hot partitions are throttled although the table is within its limit}\n"
    "\n"
    "sweep:\n"
    "  - {path: cluster.routers, values: [2, 4, 8]}\n";

int lab_new_command(int argc, char **argv)
{
    const char *words[2];
    int count = 0;
    const struct command_line l = {
        .command = "weir lab new",
        .usage = "NAME | SCENARIO NAME",
        .about = "Writes a scenario to standard output: a small first one, or the text of a "
                 "scenario of weir.",
        .examples = "  weir lab new mine > mine.yaml\n"
                    "  weir lab new static-skew mine > mine.yaml\n",
        .words = {words, &count, 1, 2, "the name of the new scenario"},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    const char *name = words[count - 1];
    if (!scenario_name_is_valid(slice_of(name)))
        return usage_wrong("weir lab new", "NAME must be " SCENARIO_NAME_EXPECTED ", not `%s`",
                           name);
    if (count == 1) {
        printf(template, name, name);
        return 0;
    }
    const struct lab_shipped *s = lab_shipped_find(words[0]);
    if (s == NULL)
        return usage_wrong("weir lab new", "weir has no scenario `%s`; see `weir lab list`",
                           words[0]);
    fwrite(s->text.data, 1, s->text.size, stdout);
    return 0;
}
