/* policy_file.c - opens shared objects: the only place that does. */
#include "server/host/policy_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#include "control/decision_points.h"
#include "engine/admission/admission.h"
#include "engine/admission/policy_choice.h"
#include "gac/grant_policy.h"

static bool is_own(enum policy_point point, const char *name)
{
    return admission_policy_is_own(point, name) || control_policy_is_own(point, name) ||
           table_policy_is_own(point, name);
}

/* A path without a slash is a file of this directory: the loader would look elsewhere. */
static void *policy_file_open(const char *path)
{
    char here[4096];
    if (strchr(path, '/') != NULL)
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int size = snprintf(here, sizeof here, "./%s", path);
    return size < (int)sizeof here ? dlopen(here, RTLD_NOW | RTLD_LOCAL) : NULL;
}

enum status policy_file_load(struct policies *p, const char *path, struct buffer *error)
{
    const struct weir_policy_plugin *(*plugin)(void);
    if (*path == '\0')
        return buffer_explain(error, STATUS_MALFORMED,
                              "the name of a file of policies (--policy FILE) is empty");
    void *file = policy_file_open(path);
    if (file == NULL) {
        const char *why = dlerror();
        return buffer_explain(error, STATUS_IO,
                              "cannot load the policies of %s: %s. A shared object compiled with "
                              "weir/policy.h of this version is expected",
                              path, why == NULL ? "the path is too long" : why);
    }
    void *symbol = dlsym(file, "weir_policy_plugin");
    if (symbol == NULL) {
        dlclose(file);
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s has no function weir_policy_plugin: expected: WEIR_POLICY_EXPORT "
                              "const struct weir_policy_plugin *weir_policy_plugin(void)",
                              path);
    }
    memcpy(&plugin, &symbol, sizeof plugin);
    enum status status = policies_add(p, plugin(), path, is_own, error);
    if (status != STATUS_OK)
        dlclose(file);
    return status;
}

static void policy_file_report(UNUSED void *context, const char *text)
{
    fprintf(stderr, "weir: %s\n", text);
}

static int64_t policy_file_clock_ns(void)
{
    struct timespec t;
    must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void policy_file_begin(struct policies *p)
{
    p->report = policy_file_report;
    p->clock_ns = policy_file_clock_ns;
}

const char *policy_file_take(void *policies, const char *path, struct buffer *error)
{
    return policy_file_load(policies, path, error) == STATUS_OK ? NULL : "";
}
