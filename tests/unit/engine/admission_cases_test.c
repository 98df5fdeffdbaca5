/* admission_cases_test.c - what admission decides, exact to the mcu: tests/cases/admission
 * (tests/support/case_file.h). Commands, times in ns or with the suffix ms or s:
 *
 *   config NAME VALUE              a setting; config alone starts over with the defaults
 *   node                           a fresh node under that configuration, at time 0
 *   partition NAME POLICY wcu=N rcu=N      one more partition of it (or mcu-exact: wmcu=N rmcu=N)
 *   rates NAME wcu=N rcu=N         a new allocation
 *   at TIME                        set the clock
 *   after TIME                     move it on
 *   try NAME read|write MCU [TIMES]        TIMES: until refused, at most so often, and summed up
 *   settle NAME read|write MCU     on the last verdict
 *   levels NAME read|write
 *   retry                          the last refused request 1 ns before its wait is over, and then
 *   read SIZE strong|eventual, write SIZE   a cost
 *   share UNITS PARTITIONS         equal division
 *   partitions rcu=N wcu=N         of a new table */
#include <errno.h>

#include "base/buffer.h"
#include "base/settings/admission.h"
#include "engine/admission/admission.h"
#include "engine/admission/policy_choice.h"
#include "engine/admission/share.h"
#include "tests/check.h"
#include "tests/support/case_file.h"

enum {
    PARTITIONS_MAX = 8,
    WORDS_MAX = 8,
    NAME_MAX_SIZE = 16
};

struct fixture {
    struct config config;
    struct node_admission node;
    struct partition {
        char name[NAME_MAX_SIZE];
        struct admission admission;
    } partitions[PARTITIONS_MAX];
    int partition_count;
    struct instant now;
    struct {
        struct partition *partition;
        enum admit_kind kind;
        int64_t cost_mcu;
        struct admit_verdict verdict;
    } last;
    struct buffer *out;
};

/* ---- words ---- */

static int64_t number_in(const char *text)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        fail_msg("'%s' is not a whole number", text);
    return number;
}

static int64_t time_in(const char *text)
{
    char *end;
    int64_t number = strtoll(text, &end, 10);
    if (end == text)
        fail_msg("'%s' is not a time", text);
    if (strcmp(end, "s") == 0)
        return number * NS_PER_S;
    if (strcmp(end, "ms") == 0)
        return number * NS_PER_MS;
    if (*end != '\0')
        fail_msg("'%s' is not a time", text);
    return number;
}

/* The number behind `key=`, or -1. */
static int64_t option_in(char **words, int count, const char *key)
{
    for (int i = 0; i < count; i++) {
        size_t size = strlen(key);
        if (strncmp(words[i], key, size) == 0 && words[i][size] == '=')
            return number_in(words[i] + size + 1);
    }
    return -1;
}

static enum admit_kind kind_in(const char *text)
{
    if (strcmp(text, "read") == 0)
        return ADMIT_READ;
    if (strcmp(text, "write") != 0)
        fail_msg("'%s' is neither read nor write", text);
    return ADMIT_WRITE;
}

static struct partition *partition_in(struct fixture *w, const char *name)
{
    for (int i = 0; i < w->partition_count; i++) {
        if (strcmp(w->partitions[i].name, name) == 0)
            return &w->partitions[i];
    }
    fail_msg("no partition '%s'", name);
    return NULL;
}

static struct admission_rates rates_in(char **words, int count)
{
    struct admission_rates rates = {0};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t units = option_in(words, count, kind == ADMIT_READ ? "rcu" : "wcu");
        int64_t mcu = option_in(words, count, kind == ADMIT_READ ? "rmcu" : "wmcu");
        rates.rate_mcu[kind] = units >= 0 ? units * MCU_PER_UNIT : mcu >= 0 ? mcu : 0;
    }
    return rates;
}

/* ---- output ---- */

static void say_levels(struct fixture *w, const struct admit_levels *l)
{
    buffer_append_format(w->out, "cap=%lld allocation=%lld burst=%lld node=%lld\n",
                         (long long)l->cap_mcu, (long long)l->allocation_mcu,
                         (long long)l->burst_mcu, (long long)l->node_mcu);
}

static void say_verdict(struct fixture *w, const struct admit_verdict *v)
{
    buffer_append_text(w->out, admit_reason_name(v->reason));
    if (v->burst)
        buffer_append_text(w->out, " burst");
    if (v->reason != ADMIT_OK && v->wait.ns == INT64_MAX)
        buffer_append_text(w->out, " wait=never");
    else if (v->reason != ADMIT_OK)
        buffer_append_format(w->out, " wait=%lldns", (long long)v->wait.ns);
    buffer_append_text(w->out, " saw ");
    say_levels(w, &v->levels);
}

/* ---- commands ---- */

enum {
    NODE_DEPTH_MS = 1000 /* the levels in the case files are for a second */
};

static void run_config(struct fixture *w, char **words, int count)
{
    if (count == 1) {
        config_init(&w->config, PROFILE_RESEARCH);
        config_edit_admission(&w->config)->node_depth_ms = NODE_DEPTH_MS;
        return;
    }
    assert_int_equal(count, 3);
    if (config_set(&w->config, slice_of(words[1]), slice_of(words[2]), w->out) != STATUS_OK)
        buffer_append_u8(w->out, '\n');
}

static void run_node(struct fixture *w, char **words, int count)
{
    (void)words;
    (void)count;
    w->now = (struct instant){0};
    w->partition_count = 0;
    node_admission_init(&w->node, &w->config, w->now);
}

static void run_partition(struct fixture *w, char **words, int count)
{
    assert_true(count >= 3);
    assert_true(w->partition_count < PARTITIONS_MAX);
    assert_true(strlen(words[1]) < NAME_MAX_SIZE);
    struct partition *p = &w->partitions[w->partition_count++];
    struct admission_rates rates = rates_in(words, count);
    memcpy(p->name, words[1], strlen(words[1]) + 1);
    const struct weir_partition_policy *policy = admission_policy_find(slice_of(words[2]));
    if (policy == NULL)
        fail_msg("no policy '%s', only %s", words[2], admission_policy_names());
    admission_init(&p->admission, admission_policies_same(policy), &w->config, &rates, w->now);
}

static void run_rates(struct fixture *w, char **words, int count)
{
    assert_true(count >= 3);
    struct admission_rates rates = rates_in(words, count);
    struct admission *a = &partition_in(w, words[1])->admission;
    admission_change(a, admission_policies_of(a), &w->config, &rates, w->now);
}

static void run_at(struct fixture *w, char **words, int count)
{
    assert_int_equal(count, 2);
    w->now = (struct instant){time_in(words[1])};
}

static void run_after(struct fixture *w, char **words, int count)
{
    assert_int_equal(count, 2);
    w->now = instant_add(w->now, (struct duration){time_in(words[1])});
}

static void try_once(struct fixture *w)
{
    w->last.verdict = admission_try(&w->last.partition->admission, &w->node, w->last.kind, w->now,
                                    w->last.cost_mcu, NULL);
}

static void run_try(struct fixture *w, char **words, int count)
{
    assert_true(count == 4 || count == 5);
    w->last.partition = partition_in(w, words[1]);
    w->last.kind = kind_in(words[2]);
    w->last.cost_mcu = number_in(words[3]);
    if (count == 4) {
        try_once(w);
        say_verdict(w, &w->last.verdict);
        return;
    }
    int64_t times = number_in(words[4]), admitted = 0, burst = 0;
    for (int64_t i = 0; i < times; i++) {
        try_once(w);
        if (w->last.verdict.reason != ADMIT_OK)
            break;
        admitted++;
        burst += w->last.verdict.burst;
    }
    buffer_append_format(w->out, "admitted %lld, %lld from burst\n", (long long)admitted,
                         (long long)burst);
    if (w->last.verdict.reason != ADMIT_OK)
        say_verdict(w, &w->last.verdict);
}

static void run_settle(struct fixture *w, char **words, int count)
{
    assert_int_equal(count, 4);
    admission_settle(&partition_in(w, words[1])->admission, &w->node, kind_in(words[2]), w->now,
                     &w->last.verdict, number_in(words[3]), NULL);
}

static void run_levels(struct fixture *w, char **words, int count)
{
    assert_int_equal(count, 3);
    struct admit_levels levels = admission_levels(&partition_in(w, words[1])->admission, &w->node,
                                                  kind_in(words[2]), w->now);
    say_levels(w, &levels);
}

static void run_retry(struct fixture *w, char **words, int count)
{
    (void)words;
    (void)count;
    assert_true(w->last.verdict.reason != ADMIT_OK);
    struct instant passes = instant_add(w->now, w->last.verdict.wait);
    w->now = (struct instant){passes.ns - 1};
    try_once(w);
    say_verdict(w, &w->last.verdict);
    w->now = passes;
    try_once(w);
    say_verdict(w, &w->last.verdict);
}

static void run_read(struct fixture *w, char **words, int count)
{
    assert_int_equal(count, 3);
    bool strong = strcmp(words[2], "strong") == 0;
    assert_true(strong || strcmp(words[2], "eventual") == 0);
    buffer_append_format(w->out, "%lld\n", (long long)read_cost_mcu(number_in(words[1]), strong));
}

static void run_write(struct fixture *w, char **words, int count)
{
    assert_int_equal(count, 2);
    buffer_append_format(w->out, "%lld\n", (long long)write_cost_mcu(number_in(words[1])));
}

/* Runs of equal shares as `times x share`, then the sum. */
static void run_share(struct fixture *w, char **words, int count)
{
    assert_int_equal(count, 3);
    int64_t units = number_in(words[1]), sum = 0, run = 0, share = 0;
    uint32_t partitions = (uint32_t)number_in(words[2]);
    for (uint32_t i = 0; i < partitions; i++) {
        int64_t next = share_equal_mcu(units, partitions, i);
        if (run > 0 && next != share) {
            buffer_append_format(w->out, "%lld x %lld, ", (long long)run, (long long)share);
            run = 0;
        }
        share = next;
        sum += next;
        run++;
    }
    buffer_append_format(w->out, "%lld x %lld, sum %lld\n", (long long)run, (long long)share,
                         (long long)sum);
}

static void run_partitions(struct fixture *w, char **words, int count)
{
    buffer_append_format(w->out, "%u\n",
                         share_partitions_initial(&w->config, option_in(words, count, "rcu"),
                                                  option_in(words, count, "wcu")));
}

static const struct {
    const char *name;
    void (*run)(struct fixture *w, char **words, int count);
} commands[] = {
    {"config", run_config},
    {"node", run_node},
    {"partition", run_partition},
    {"rates", run_rates},
    {"at", run_at},
    {"after", run_after},
    {"try", run_try},
    {"settle", run_settle},
    {"levels", run_levels},
    {"retry", run_retry},
    {"read", run_read},
    {"write", run_write},
    {"share", run_share},
    {"partitions", run_partitions},
};

static void run_command(void *world, struct slice command, struct buffer *out)
{
    char text[256], *words[WORDS_MAX], *rest = text;
    struct fixture *w = world;
    int count = 0;
    assert_true(command.size < sizeof text);
    memcpy(text, command.data, command.size);
    text[command.size] = '\0';
    text[strcspn(text, "#")] = '\0';
    w->out = out;
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        assert_true(count < WORDS_MAX);
        words[count++] = word;
    }
    if (count == 0)
        return;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(words[0], commands[i].name) == 0) {
            commands[i].run(w, words, count);
            return;
        }
    }
    fail_msg("no command '%s'", words[0]);
}

static void *begin(void)
{
    static struct fixture w;
    w = (struct fixture){0};
    config_init(&w.config, PROFILE_RESEARCH);
    config_edit_admission(&w.config)->node_depth_ms = NODE_DEPTH_MS;
    run_node(&w, NULL, 0);
    return &w;
}

static void end(void *world)
{
    (void)world;
}

TEST(the_outputs_are_those_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run_command};
    case_files_run("admission/*.case", &FORMAT);
}
