/* admission_cases_test.c - what admission decides, exact to the mcu: tests/cases/admission
 * (tests/support/case_file.h). Commands, times with a unit (ns, ms, s):
 *
 *   config NAME VALUE              a setting; config alone starts over with the defaults
 *   node                           a fresh node under that configuration, at time 0
 *   partition NAME POLICY wcu=N rcu=N      one more partition of it (or mcu-exact: wmcu=N rmcu=N)
 *   rates NAME wcu=N rcu=N         a new allocation
 *   at TIME                        set the clock
 *   after TIME                     move it on
 *   try NAME read|write MCU [TIMES]        TIMES: until refused, at most so often, and summed up
 *   settle NAME read|write MCU     on the last verdict
 *   balances NAME read|write
 *   retry                          the last refused request 1 ns before its wait is over, and then
 *   read SIZE strong|eventual, write SIZE   a cost
 *   share UNITS PARTITIONS         equal division
 *   partitions rcu=N wcu=N         of a new table */
#include "base/buffer.h"
#include "base/settings/admission.h"
#include "engine/admission/admission.h"
#include "engine/admission/policy_choice.h"
#include "engine/admission/share.h"
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/case_words.h"

enum {
    PARTITIONS_MAX = 8,
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
};

/* ---- words ---- */

static enum admit_kind kind_in(const char *text)
{
    static const char *const KINDS[] = {[ADMIT_READ] = "read", [ADMIT_WRITE] = "write"};
    return (enum admit_kind)case_choice(text, KINDS, ADMIT_KINDS);
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

static struct admission_rates rates_in(struct case_words *c)
{
    struct admission_rates rates = {0};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t units = case_option_number(c, kind == ADMIT_READ ? "rcu" : "wcu", -1);
        int64_t mcu = case_option_number(c, kind == ADMIT_READ ? "rmcu" : "wmcu", -1);
        rates.rate_mcu[kind] = units >= 0 ? units * MCU_PER_UNIT : mcu >= 0 ? mcu : 0;
    }
    return rates;
}

/* ---- output ---- */

static void print_balances(struct case_words *c, const struct admit_balances *l)
{
    case_print(c, "cap=%lld allocation=%lld burst=%lld node=%lld\n", (long long)l->cap_mcu,
               (long long)l->allocation_mcu, (long long)l->burst_mcu, (long long)l->node_mcu);
}

static void print_verdict(struct case_words *c, const struct admit_verdict *v)
{
    case_print(c, "%s", admit_reason_name(v->reason));
    if (v->burst)
        case_print(c, "%s", " burst");
    if (v->reason != ADMIT_OK && v->wait.ns == INT64_MAX)
        case_print(c, "%s", " wait=never");
    else if (v->reason != ADMIT_OK)
        case_print(c, " wait=%lldns", (long long)v->wait.ns);
    case_print(c, "%s", " saw ");
    print_balances(c, &v->balances);
}

/* ---- commands ---- */

enum {
    NODE_DEPTH_MS = 1000 /* the balances in the case files are for a second */
};

static void run_config(void *world, struct case_words *c)
{
    struct fixture *w = world;
    if (c->count == 1) {
        config_init(&w->config, PROFILE_RESEARCH);
        config_edit_admission(&w->config)->node_depth_ms = NODE_DEPTH_MS;
        return;
    }
    if (config_set(&w->config, slice_of(case_word(c, 1)), slice_of(case_word(c, 2)), c->out) !=
        STATUS_OK)
        case_print(c, "\n");
}

static void run_node(void *world, struct case_words *c)
{
    struct fixture *w = world;
    (void)c;
    w->now = (struct instant){0};
    w->partition_count = 0;
    node_admission_init(&w->node, &w->config, w->now);
}

static void run_partition(void *world, struct case_words *c)
{
    struct fixture *w = world;
    assert_true(w->partition_count < PARTITIONS_MAX);
    assert_true(strlen(case_word(c, 1)) < NAME_MAX_SIZE);
    struct partition *p = &w->partitions[w->partition_count++];
    struct admission_rates rates = rates_in(c);
    memcpy(p->name, case_word(c, 1), strlen(case_word(c, 1)) + 1);
    const struct weir_partition_policy *policy = admission_policy_find(slice_of(case_word(c, 2)));
    if (policy == NULL)
        fail_msg("no policy '%s'", case_word(c, 2));
    admission_init(&p->admission, admission_policies_same(policy), &w->config, &rates, w->now);
}

static void run_rates(void *world, struct case_words *c)
{
    struct fixture *w = world;
    struct admission_rates rates = rates_in(c);
    struct admission *a = &partition_in(w, case_word(c, 1))->admission;
    admission_change(a, admission_policies_of(a), &w->config, &rates, w->now);
}

static void run_at(void *world, struct case_words *c)
{
    struct fixture *w = world;
    w->now = (struct instant){case_ns(case_word(c, 1))};
}

static void run_after(void *world, struct case_words *c)
{
    struct fixture *w = world;
    w->now = instant_add(w->now, (struct duration){case_ns(case_word(c, 1))});
}

static void try_once(struct fixture *w)
{
    w->last.verdict = admission_try(&w->last.partition->admission, &w->node, w->last.kind, w->now,
                                    w->last.cost_mcu, NULL);
}

static void run_try(void *world, struct case_words *c)
{
    struct fixture *w = world;
    w->last.partition = partition_in(w, case_word(c, 1));
    w->last.kind = kind_in(case_word(c, 2));
    w->last.cost_mcu = case_word_number(c, 3);
    if (c->count == 4) {
        try_once(w);
        print_verdict(c, &w->last.verdict);
        return;
    }
    int64_t times = case_word_number(c, 4), admitted = 0, burst = 0;
    for (int64_t i = 0; i < times; i++) {
        try_once(w);
        if (w->last.verdict.reason != ADMIT_OK)
            break;
        admitted++;
        burst += w->last.verdict.burst;
    }
    case_print(c, "admitted %lld, %lld from burst\n", (long long)admitted, (long long)burst);
    if (w->last.verdict.reason != ADMIT_OK)
        print_verdict(c, &w->last.verdict);
}

static void run_settle(void *world, struct case_words *c)
{
    struct fixture *w = world;
    admission_settle(&partition_in(w, case_word(c, 1))->admission, &w->node,
                     kind_in(case_word(c, 2)), w->now, &w->last.verdict, case_word_number(c, 3),
                     NULL);
}

static void run_balances(void *world, struct case_words *c)
{
    struct fixture *w = world;
    struct admit_balances balances = admission_balances_with_node(
        &partition_in(w, case_word(c, 1))->admission, &w->node, kind_in(case_word(c, 2)), w->now);
    print_balances(c, &balances);
}

static void run_retry(void *world, struct case_words *c)
{
    struct fixture *w = world;
    (void)c;
    assert_true(w->last.verdict.reason != ADMIT_OK);
    struct instant passes = instant_add(w->now, w->last.verdict.wait);
    w->now = (struct instant){passes.ns - 1};
    try_once(w);
    print_verdict(c, &w->last.verdict);
    w->now = passes;
    try_once(w);
    print_verdict(c, &w->last.verdict);
}

static void run_read(void *world, struct case_words *c)
{
    (void)world;
    const bool strong = case_flag(c, "strong");
    assert_true(strong || case_flag(c, "eventual"));
    case_print(c, "%lld\n", (long long)read_cost_mcu(case_word_number(c, 1), strong));
}

static void run_write(void *world, struct case_words *c)
{
    (void)world;
    case_print(c, "%lld\n", (long long)write_cost_mcu(case_word_number(c, 1)));
}

/* Runs of equal shares as `times x share`, then the sum. */
static void run_share(void *world, struct case_words *c)
{
    (void)world;
    int64_t units = case_word_number(c, 1), sum = 0, run = 0, share = 0;
    uint32_t partitions = (uint32_t)case_word_number(c, 2);
    for (uint32_t i = 0; i < partitions; i++) {
        int64_t next = share_equal_mcu(units, partitions, i);
        if (run > 0 && next != share) {
            case_print(c, "%lld x %lld, ", (long long)run, (long long)share);
            run = 0;
        }
        share = next;
        sum += next;
        run++;
    }
    case_print(c, "%lld x %lld, sum %lld\n", (long long)run, (long long)share, (long long)sum);
}

static void run_partitions(void *world, struct case_words *c)
{
    struct fixture *w = world;
    case_print(c, "%u\n",
               share_partitions_initial(&w->config, case_option_number(c, "rcu", -1),
                                        case_option_number(c, "wcu", -1)));
}

static void run_command(void *world, struct slice command, struct buffer *out)
{
    static const struct case_verb VERBS[] = {
        {.name = "config", .run = run_config},
        {.name = "node", .run = run_node},
        {.name = "partition", .run = run_partition},
        {.name = "rates", .run = run_rates},
        {.name = "at", .run = run_at},
        {.name = "after", .run = run_after},
        {.name = "try", .run = run_try},
        {.name = "settle", .run = run_settle},
        {.name = "balances", .run = run_balances},
        {.name = "retry", .run = run_retry},
        {.name = "read", .run = run_read},
        {.name = "write", .run = run_write},
        {.name = "share", .run = run_share},
        {.name = "partitions", .run = run_partitions},
        {0},
    };
    case_words_run(VERBS, world, command, out);
}

static void *begin(void)
{
    static struct fixture w;
    w = (struct fixture){0};
    case_words_begin();
    config_init(&w.config, PROFILE_RESEARCH);
    config_edit_admission(&w.config)->node_depth_ms = NODE_DEPTH_MS;
    run_node(&w, NULL);
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
