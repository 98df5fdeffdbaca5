/* plan.c - numbers the runs of a scenario. Seeds change fastest, then points, then policies. */
#include "lab/run/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/id_map.h"
#include "lab/run/adversary.h"

/* The value of each axis at a point. The last axis changes fastest. */
static uint32_t value_at(const struct scenario *s, uint32_t point, uint32_t axis)
{
    for (uint32_t i = s->axis_count; i > axis + 1; i--)
        point /= s->axes[i - 1].count;
    return point % s->axes[axis].count;
}

/* "rate=100,report_ms=5": the last step of each path. False: it is cut off. */
static bool name_point(const struct scenario *s, uint32_t point, char out[LAB_PATH_SIZE_MAX])
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < s->axis_count && used < LAB_PATH_SIZE_MAX - 1; i++) {
        struct slice path = s->axes[i].path, value = s->axes[i].values[value_at(s, point, i)];
        const uint8_t *dot = memrchr(path.data, '.', path.size);
        size_t skip = dot == NULL ? 0 : (size_t)(dot - path.data) + 1;
        int size = snprintf(out + used, LAB_PATH_SIZE_MAX - used, "%s%.*s=%.*s", i == 0 ? "" : ",",
                            (int)(path.size - skip), (const char *)path.data + skip,
                            (int)value.size, (const char *)value.data);
        used += size > 0 ? (size_t)size : 0;
    }
    return used < LAB_PATH_SIZE_MAX;
}

/* Letters, digits and .-_ stay; so names can be parts of paths. */
static void append_safe(char *out, size_t room, const char *text)
{
    size_t at = 0;
    for (; *text != '\0' && at + 1 < room; text++) {
        char c = *text;
        bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_' || (c == '.' && at > 0);
        out[at++] = safe ? c : '_';
    }
    out[at] = '\0';
}

void lab_plan_run(const struct lab_plan *p, uint64_t number, struct lab_planned *out)
{
    const struct scenario *s = p->scenario;
    must(number < p->runs);
    uint64_t seed = number % p->seeds;
    uint32_t point = (uint32_t)(number / p->seeds % p->points);
    uint32_t policy = p->chosen[number / p->seeds / p->points];
    char name[64];
    memset(out->point, 0, sizeof out->point);
    memcpy(out->set, p->options.set, sizeof p->options.set);
    uint32_t count = p->options.set_count;
    for (uint32_t i = 0; p->options.sweep && i < s->axis_count; i++)
        out->set[count++] =
            (struct scenario_setting){s->axes[i].path, s->axes[i].values[value_at(s, point, i)]};
    if (p->options.sweep)
        name_point(s, point, out->point);
    out->job = (struct lab_job){.file = p->options.file,
                                .text = p->options.text,
                                .more = p->options.more,
                                .policy = policy,
                                .set = out->set,
                                .set_count = count,
                                .point = out->point,
                                .seed = p->options.first_seed + seed,
                                .fidelity = p->options.fidelity,
                                .policies = p->options.policies,
                                .real = p->options.real,
                                .series = seed == 0};
    append_safe(name, sizeof name, s->policies[policy].name);
    snprintf(out->path, sizeof out->path, "runs/%u-%s/%u/%llu.json", policy + 1, name, point,
             (unsigned long long)out->job.seed);
}

bool lab_plan_includes(const struct lab_plan *p, uint64_t number)
{
    return p->seeds_now == 0 || number % p->seeds < p->seeds_now;
}

static bool name_is_listed(const char *list, const char *name)
{
    for (const char *at = list;; at = strchr(at, ',') + 1) {
        const size_t size = strcspn(at, ",");
        if (slice_is(slice_make(at, size), name))
            return true;
        if (at[size] == '\0')
            return false;
    }
}

static bool policy_runs(const struct lab_plan *p, uint32_t policy)
{
    if (p->options.adversary)
        return p->scenario->limit_count == 0 && adversary_needs_policy(p->scenario, policy);
    return p->options.only == NULL ||
           name_is_listed(p->options.only, p->scenario->policies[policy].name);
}

/* The first name of the list that is no policy's; size 0: there is none. */
static struct slice unknown_name(const struct scenario *s, const char *list)
{
    for (const char *at = list;; at = strchr(at, ',') + 1) {
        const struct slice name = slice_make(at, strcspn(at, ","));
        bool known = false;
        for (uint32_t i = 0; i < s->policy_count; i++)
            known |= slice_is(name, s->policies[i].name);
        if (!known)
            return name.size > 0 ? name : slice_of(list);
        if (at[name.size] == '\0')
            return slice_make(NULL, 0);
    }
}

static enum status find_policies(struct lab_plan *p, struct buffer *error)
{
    const struct scenario *s = p->scenario;
    for (uint32_t i = 0; i < s->policy_count; i++) {
        if (policy_runs(p, i))
            p->chosen[p->policies++] = i;
    }
    if (p->options.adversary || p->options.only == NULL)
        return STATUS_OK;
    const struct slice unknown = unknown_name(s, p->options.only);
    if (unknown.data == NULL)
        return STATUS_OK;
    buffer_append_format(error, "%s: there is no policy `%.*s`; there are", p->options.file,
                         TEXT_OF(unknown));
    for (uint32_t i = 0; i < s->policy_count; i++)
        buffer_append_format(error, "%s %s", i == 0 ? "" : ",", s->policies[i].name);
    return STATUS_MALFORMED;
}

static enum status check_until_measures(const struct lab_plan *p, struct buffer *error)
{
    const struct measure_selector all = MEASURE_ALL;
    struct slice left = p->options.until.measures;
    enum status status = STATUS_OK;
    while (left.size > 0 && status == STATUS_OK) {
        const struct slice name = slice_trimmed(slice_cut(&left, ','));
        char text[64], fault[2048];
        snprintf(text, sizeof text, "%.*s", (int)name.size, (const char *)name.data);
        if (measure_check(text, &all, fault, sizeof fault) != NULL)
            status = buffer_explain(error, STATUS_MALFORMED, "--measures: %s", fault);
    }
    return status;
}

static enum status check_until(const struct lab_plan *p, struct buffer *error)
{
    if (p->options.until.ppm == 0)
        return p->options.until.measures.size == 0
                   ? STATUS_OK
                   : buffer_explain(error, STATUS_MALFORMED, "--measures needs --until");
    if (p->seeds < STATISTICS_SAMPLES_MIN)
        return buffer_explain(error, STATUS_MALFORMED,
                              "--until needs at least %d seeds, and --seeds is %llu",
                              STATISTICS_SAMPLES_MIN, (unsigned long long)p->seeds);
    if (p->scenario->expectation_count == 0 && p->options.until.measures.size == 0)
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s: --until needs --measures, since the scenario expects nothing",
                              p->options.file);
    return check_until_measures(p, error);
}

static uint64_t seeds_of(const struct lab_plan *p)
{
    if (p->options.seeds > 0)
        return (uint64_t)p->options.seeds;
    return p->options.until.ppm > 0 ? LAB_UNTIL_SEEDS : (uint64_t)p->scenario->seeds;
}

/* Results tell points apart by their names. */
static enum status check_points(const struct lab_plan *p, struct buffer *error)
{
    static const char *const faults[] = {"is too long for a name", "is named as another point is"};
    struct id_map names = {0};
    uint32_t point = 0;
    const char *fault = NULL;
    char name[LAB_PATH_SIZE_MAX];
    for (; p->options.sweep && point < p->points && fault == NULL; point++) {
        const bool whole = name_point(p->scenario, point, name);
        const uint64_t hash = XXH3_64bits(name, strlen(name)) | 1;
        fault = !whole ? faults[0] : id_map_find(&names, hash) != NULL ? faults[1] : NULL;
        if (fault == NULL)
            id_map_add(&names, hash, name);
    }
    id_map_deinit(&names);
    if (fault == NULL)
        return STATUS_OK;
    return buffer_explain(error, STATUS_MALFORMED, "%s: point %u of the sweep %s: %s",
                          p->options.file, point, fault, name);
}

/* The result of a run is found by these names, and its values by the expectations' places. */
static bool job_is_found(const struct scenario *all, const struct scenario *s, uint32_t policy)
{
    return strcmp(s->name, all->name) == 0 && s->policy_count == all->policy_count &&
           strcmp(s->policies[policy].name, all->policies[policy].name) == 0 &&
           s->expectation_count == all->expectation_count;
}

static void plan_add_trace(struct lab_plan *p, const char *path)
{
    for (uint32_t i = 0; i < p->trace_count; i++) {
        if (strcmp(p->traces[i], path) == 0)
            return;
    }
    p->traces = must_grow(p->traces, p->trace_count, &p->trace_capacity, sizeof *p->traces);
    p->traces[p->trace_count++] = must_have(strdup(path));
}

static void plan_add_traces(struct lab_plan *p, const struct scenario *s)
{
    for (uint32_t i = 0; i < s->workload_count; i++) {
        for (uint32_t k = 0; k < s->workloads[i].trace_count; k++)
            plan_add_trace(p, s->workloads[i].traces[k]);
    }
}

/* Each policy at each point must be a scenario: better to hear of a fault before the first run. */
static enum status check_all(struct lab_plan *p, struct buffer *error)
{
    struct scenario *s = must_calloc(1, sizeof *s);
    struct lab_planned *run = must_calloc(1, sizeof *run);
    enum status status = check_points(p, error);
    for (uint64_t i = 0; i < p->runs && status == STATUS_OK; i += p->seeds) {
        struct document d = {0};
        lab_plan_run(p, i, run);
        status = lab_job_read(&run->job, &d, s, error);
        if (status == STATUS_OK && !job_is_found(p->scenario, s, run->job.policy))
            status = buffer_explain(error, STATUS_MALFORMED,
                                    "%s: policy %s%s%s changes the name of the scenario, its "
                                    "policies, or how many expectations there are",
                                    p->options.file, p->scenario->policies[run->job.policy].name,
                                    run->point[0] == 0 ? "" : " at ", run->point);
        if (status == STATUS_OK)
            plan_add_traces(p, s);
        document_deinit(&d);
    }
    free(run);
    free(s);
    return status;
}

/* The scenario as its first policy changes it becomes the adversaries' own policies. */
static enum status plan_write_adversaries(struct lab_plan *p, const struct scenario *first,
                                          struct buffer *error)
{
    const char *taken = adversary_name_taken(first);
    if (taken != NULL)
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s: policy %s has the name of a bad policy: choose another",
                              p->options.file, taken);
    adversary_write_policies(first, &p->adversaries);
    p->options.more = buffer_slice(&p->adversaries);
    return STATUS_OK;
}

static enum status plan_add_adversaries(struct lab_plan *p, struct buffer *error)
{
    struct scenario *first = must_calloc(1, sizeof *first);
    struct document d = {0};
    const struct lab_job job = {.file = p->options.file,
                                .text = p->options.text,
                                .set = p->options.set,
                                .set_count = p->options.set_count,
                                .fidelity = p->options.fidelity,
                                .policies = p->options.policies};
    enum status status = lab_job_read(&job, &d, first, error);
    if (status == STATUS_OK)
        status = plan_write_adversaries(p, first, error);
    document_deinit(&d);
    free(first);
    return status;
}

/* The scenario with all its policies. */
static enum status plan_read(struct lab_plan *p, struct buffer *error)
{
    const struct lab_plan_options *o = &p->options;
    enum status status = o->adversary ? plan_add_adversaries(p, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = document_parse(&p->document, o->file, o->text, error);
    if (status == STATUS_OK && o->more.size > 0)
        status = scenario_add_policies(&p->document, o->more, error);
    for (uint32_t i = 0; status == STATUS_OK && i < o->set_count; i++)
        status = document_set(&p->document, o->set[i].path, o->set[i].value, error);
    if (status == STATUS_OK)
        status = scenario_read(&p->document, o->policies, p->scenario, error);
    return status == STATUS_OK ? find_policies(p, error) : status;
}

enum status lab_plan_make(struct lab_plan *p, const struct lab_plan_options *options,
                          struct buffer *error)
{
    *p = (struct lab_plan){.options = *options, .points = 1};
    p->scenario = must_calloc(1, sizeof *p->scenario);
    enum status status = plan_read(p, error);
    if (status != STATUS_OK)
        return status;
    if (options->fidelity == LAB_FIDELITIES)
        p->options.fidelity = (enum lab_fidelity)p->scenario->fidelity;
    if (options->adversary && p->options.fidelity == LAB_REAL)
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s: bad policies run at the fidelities admission and full",
                              options->file);
    uint64_t points = 1; /* at most 256^4 */
    for (uint32_t i = 0; options->sweep && i < p->scenario->axis_count; i++)
        points *= p->scenario->axes[i].count;
    p->seeds = seeds_of(p);
    if (points > LAB_RUNS_MAX || p->seeds > LAB_RUNS_MAX ||
        p->policies * points * p->seeds > LAB_RUNS_MAX)
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s: %llu points of a sweep with %llu seeds are more than %d runs",
                              options->file, (unsigned long long)points,
                              (unsigned long long)p->seeds, LAB_RUNS_MAX);
    p->points = (uint32_t)points;
    p->runs = p->policies * points * p->seeds;
    status = check_until(p, error);
    return status == STATUS_OK ? check_all(p, error) : status;
}

void lab_plan_deinit(struct lab_plan *p)
{
    document_deinit(&p->document);
    buffer_deinit(&p->adversaries);
    free(p->scenario);
    p->scenario = NULL;
    for (uint32_t i = 0; i < p->trace_count; i++)
        free((char *)(uintptr_t)p->traces[i]);
    free(p->traces);
    p->traces = NULL;
}
