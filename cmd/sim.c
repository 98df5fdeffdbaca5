/* sim.c - `weir sim`: whole clusters in virtual time, with faults, from seeds. */
#include <stdio.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/sim_jobs.h"
#include "cmd/usage.h"
#include "control/decision_points.h"
#include "engine/admission/policy_choice.h"
#include "gac/grant_policy.h"
#include "lab/baselines/baselines.h"
#include "router/json/json_writer.h"
#include "server/host/daemon.h"
#include "server/host/policy_file.h"

struct sim_arguments {
    struct sim_jobs_options run;
    int64_t seconds; /* 0: the seed chooses */
    int64_t jobs;    /* -1: not given */
    bool json;
    bool probes;
    int argc; /* the command as it was given */
    char **argv;
    struct policies policies; /* of --policy */
    struct config names;      /* takes --set, to check it */
};

static const char about[] =
    "Simulates clusters: routers, nodes, disks, network and clients run in virtual time while "
    "faults are injected. The seed determines all events. Each seed runs twice, and both runs must "
    "be the same.\n\n"
    "When the faults have ended, every key must be readable and writable. The clients' histories "
    "must be linearizable, and the data of every node must be complete.\n\n"
    "Exit code 1: a seed failed, or its history could not be checked in time. The output names the "
    "seed. The same seed with the same options fails again.\n\n"
    "The faults:\n";

/* ---- arguments ---- */

static const char *take_seed(void *target, const char *value)
{
    struct sim_arguments *a = target;
    int64_t seed;
    if (strcmp(value, "fresh") == 0)
        seed = (int64_t)(daemon_seed() % 1000000000 + 1);
    else if (!field_parse_integer(value, 0, INT64_MAX, &seed))
        return "a whole number, or `fresh`";
    a->run.sim.seed = (uint64_t)seed;
    return NULL;
}

/* Sets the bits of `all`, of none, or of the names in `text` with commas between them. False: a
 * name is none of these. */
static bool take_names(const char *text, const struct sim_named *named, size_t count, uint32_t all,
                       bool *forced, uint32_t *bits)
{
    *forced = strcmp(text, "all") != 0;
    *bits = *forced ? 0 : all;
    if (!*forced || strcmp(text, "none") == 0)
        return true;
    while (*text != '\0') {
        const size_t size = strcspn(text, ",");
        const size_t place =
            name_place(slice_make(text, size), &named[0].name, count, sizeof(named[0]));
        if (place == count)
            return false;
        *bits |= UINT32_C(1) << place;
        text += size + (text[size] == ',');
    }
    return true;
}

static const char *take_faults(void *target, const char *value)
{
    struct sim_options *o = &((struct sim_arguments *)target)->run.sim;
    return take_names(value, sim_faults, SIM_FAULTS, SIM_FAULTS_ALL, &o->faults_forced, &o->faults)
               ? NULL
               : "all, none, or names of faults separated by commas";
}

static const char *take_extras(void *target, const char *value)
{
    struct sim_options *o = &((struct sim_arguments *)target)->run.sim;
    return take_names(value, sim_extras, SIM_EXTRAS, SIM_EXTRAS_ALL, &o->extras_forced, &o->extras)
               ? NULL
               : "all, none, or names of extras separated by commas";
}

static const char *take_set(void *target, const char *value, struct buffer *error)
{
    struct sim_arguments *a = target;
    struct sim_options *o = &a->run.sim;
    const struct {
        const char *name;
        const char **to;
        const char *kept;
    } settings[] = {{"partition_policy", &o->partition_policy, a->names.partition_policy},
                    {"node_policy", &o->node_policy, a->names.node_policy},
                    {"headroom_policy", &o->headroom_policy, a->names.headroom_policy},
                    {"gac_policy", &o->gac_policy, a->names.gac_policy},
                    {"overload_policy", &o->overload_policy, a->names.overload_policy},
                    {"adaptive_policy", &o->adaptive_policy, a->names.adaptive_policy},
                    {"split_policy", &o->split_policy, a->names.split_policy},
                    {"demand_policy", &o->demand_policy, a->names.demand_policy},
                    {"relocate_policy", &o->relocate_policy, a->names.relocate_policy}};
    size_t size = strcspn(value, "=");
    for (size_t i = 0; i < COUNT_OF(settings) && value[size] == '='; i++) {
        struct slice name = slice_make(value, size);
        if (!slice_is(name, settings[i].name))
            continue;
        *settings[i].to = settings[i].kept;
        return config_set(&a->names, name, slice_of(value + size + 1), error) == STATUS_OK ? NULL
                                                                                           : "";
    }
    return "POINT_policy=NAME; POINT is one of partition, node, headroom, gac, overload, "
           "adaptive, split, demand, relocate";
}

#define MEMBER(member) FIELD_MEMBER(struct sim_arguments, member)
#define SEED_CHOOSES   .initial = "the seed chooses"

static const struct field sim_options[] = {
    {"seed", FIELD_PARSED, .form = "S", .parse = take_seed, .initial = "1",
     .help = "The first seed. fresh: a random one."},
    {"seeds", FIELD_INTEGER, MEMBER(run.seeds), "N", .min = 1, .max = 1000000000,
     .help = "The number of seeds."},
    {"faults", FIELD_PARSED, .form = "LIST", .parse = take_faults, .initial = "all",
     .help = "all: the seed chooses some. none: no faults. Or names of faults, separated by "
             "commas: all of them are injected."},
    {"extras", FIELD_PARSED, .form = "LIST", .parse = take_extras, .initial = "all",
     .help = "all: the seed chooses some extras. none: no extras. Or names of extras, separated by "
             "commas: every plan has these."},
    {"nodes", FIELD_INTEGER, MEMBER(run.sim.nodes), "N", .max = SIM_NODES_MAX, SEED_CHOOSES,
     .help = "The number of nodes."},
    {"replicas", FIELD_INTEGER, MEMBER(run.sim.replicas), "N", .max = SIM_NODES_MAX, SEED_CHOOSES,
     .help = "The number of replicas of each partition."},
    {"routers", FIELD_INTEGER, MEMBER(run.sim.routers), "N", .max = SIM_ROUTERS_MAX, SEED_CHOOSES,
     .help = "The number of routers."},
    {"gac", FIELD_INTEGER, MEMBER(run.sim.gac), "N", .max = SIM_GAC_MAX, .zero = SIM_NONE,
     SEED_CHOOSES, .help = "The number of servers of global admission control."},
    {"clients", FIELD_INTEGER, MEMBER(run.sim.clients), "N", .max = SIM_CLIENTS_MAX, SEED_CHOOSES,
     .help = "The number of clients."},
    {"transactions", FIELD_INTEGER, MEMBER(run.sim.work_transactions), "N", .max = 16,
     .zero = SIM_NONE, SEED_CHOOSES, .former = "transacts",
     .help = "The number of clients of transactions. 0: none."},
    {"ttl", FIELD_INTEGER, MEMBER(run.sim.work_ttl), "N", .max = 16, .zero = SIM_NONE, SEED_CHOOSES,
     .former = "expiries",
     .help = "The number of clients whose items have a time to live. 0: none."},
    {"streams", FIELD_INTEGER, MEMBER(run.sim.work_streams), "N", .max = 16, .zero = SIM_NONE,
     SEED_CHOOSES, .former = "follows",
     .help = "The number of clients that write to a table whose stream another client follows. 0: "
             "none."},
    {"counters", FIELD_INTEGER, MEMBER(run.sim.work_counters), "N", .max = 16, .zero = SIM_NONE,
     SEED_CHOOSES, .former = "tallies",
     .help = "The number of clients that add to counters. 0: none."},
    {"rate-limiter", FIELD_INTEGER, MEMBER(run.sim.work_limiter), "N", .max = 16, .zero = SIM_NONE,
     SEED_CHOOSES, .former = "limits",
     .help = "The number of clients that take tokens of the rate limiter's buckets. 0: none."},
    {"fill", FIELD_INTEGER, MEMBER(run.sim.work_fill), "N", .max = 16, .zero = SIM_NONE,
     SEED_CHOOSES, .former = "fills",
     .help = "The number of clients that fill the stores, and delete items when the stores are "
             "full. They need nodes without limits. 0: none."},
    {"key-sharding", FIELD_INTEGER, MEMBER(run.sim.key_sharding_ms), "MS", .max = 100000,
     .zero = SIM_NONE, SEED_CHOOSES, .former = "saltings",
     .help = "The mean time between two changes of a key's number of shards. 0: no changes."},
    {"merges", FIELD_INTEGER, MEMBER(run.sim.merges), "N", .max = 100, .zero = SIM_NONE,
     SEED_CHOOSES,
     .help = "Of 100 splits, this many are replaced by merges of two partitions. 0: no merges."},
    {"tick", FIELD_INTEGER, MEMBER(run.sim.tick_us), "US", .max = SIM_TICK_US_MAX, .zero = SIM_NONE,
     .initial = "the seed chooses; --bench has none",
     .help = "All events happen at multiples of US microseconds, as in a loop whose turn handles "
             "all arrived events. 0: events happen at any time."},
    {"seconds", FIELD_INTEGER, MEMBER(seconds), "V", .max = 1000000, SEED_CHOOSES,
     .help = "The virtual seconds during which faults are injected."},
    {"jobs", FIELD_INTEGER, MEMBER(jobs), "J", .max = SIM_JOBS_MAX,
     .initial = "the number of cores",
     .help = "The number of processes. 0: this process runs one seed after the other."},
    {"wall-seconds", FIELD_INTEGER, MEMBER(run.wall_s_max), "W", .max = 1000000,
     .initial = "no limit", .help = "Begin no seed after this number of seconds."},
    {"once", FIELD_FLAG, MEMBER(run.once), .help = "Do not run each seed twice."},
    {"plain", FIELD_FLAG, MEMBER(run.sim.plain),
     .help = "One table of short keys and the same settings on every node; no drains, stopped "
             "machines, changed settings, read errors, wrong wall clocks or late bytes, unless "
             "--faults names them."},
    {"bench", FIELD_FLAG, MEMBER(run.sim.bench),
     .help = "Measure the speed: a quiet network, no history, and the requests per second."},
    {"policy", FIELD_CUSTOM, MEMBER(policies), "FILE", .take = policy_file_take,
     .help =
         "Load admission policies from this shared object (docs/guide-policies.md). --policy may "
         "be repeated."},
    {"set", FIELD_CUSTOM, .form = "NAME=POLICY", .take = take_set, SEED_CHOOSES,
     .help = "Every seed uses this policy. NAME is the setting of a decision point, such as "
             "partition_policy. gac_policy needs GAC servers, the others need nodes with limits."},
    {"probes", FIELD_FLAG, MEMBER(probes),
     .help = "List the marks on rare paths, with their counts."},
    {"json", FIELD_FLAG, MEMBER(json), .help = "Print the summary as JSON."},
};

#undef MEMBER

static int sim_parse(struct sim_arguments *a, int argc, char **argv)
{
    struct buffer text = {0};
    buffer_append_text(&text, about);
    for (unsigned i = 0; i < SIM_FAULTS; i++)
        buffer_append_format(&text, "  %-15s %s\n", sim_faults[i].name, sim_faults[i].help);
    buffer_append_text(&text, "\nThe extras:\n");
    for (unsigned i = 0; i < SIM_EXTRAS; i++)
        buffer_append_format(&text, "  %-15s %s\n", sim_extras[i].name, sim_extras[i].help);
    buffer_append_u8(&text, '\0');
    const struct command_line line = {
        .command = "weir sim",
        .usage = "[--seed S] [--seeds N] [--faults LIST|all|none] [option]...",
        .about = (const char *)text.data,
        .examples = "  weir sim --seed 78\n"
                    "  weir sim --seeds 1000 --nodes 3\n"
                    "  weir sim --seeds 200 --faults crash,power,cut --seconds 60\n"
                    "  weir sim --bench --clients 64 --nodes 1 --seconds 10\n",
        .groups = {OPTION_GROUP(NULL, sim_options, a)}};
    int code = usage_parse(&line, argc, argv);
    buffer_deinit(&text);
    return code;
}

/* Completes the options that follow from others. */
static void sim_complete(struct sim_arguments *a)
{
    struct sim_options *o = &a->run.sim;
    o->length_ms = a->seconds * 1000;
    if (o->bench) {
        a->run.once = true;
        o->faults = o->faults_forced ? o->faults : 0;
        o->faults_forced = true;
        o->extras = 0;
    }
    a->run.jobs = a->jobs < 0 ? 0 : (uint32_t)a->jobs;
    if (a->jobs < 0 && a->run.seeds > 1) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        a->run.jobs = cores < 1 ? 1 : cores > SIM_JOBS_MAX ? SIM_JOBS_MAX : (uint32_t)cores;
    }
    a->run.progress = a->run.seeds > 1 && isatty(STDERR_FILENO);
    a->run.quiet = a->json;
}

/* ---- summary ---- */

static double sim_rate(const struct sim_summary *s)
{
    return s->wall_ns > 0 ? (double)s->clients.calls * 1e9 / (double)s->wall_ns : 0;
}

static void print_seeds(const uint64_t *seeds, uint64_t count)
{
    for (size_t i = 0; i < count && i < SIM_SEEDS_NAMED; i++)
        printf("%s%llu", i > 0 ? "," : "", (unsigned long long)seeds[i]);
}

static void write_seeds(struct buffer *out, const char *name, const uint64_t *seeds, uint64_t count)
{
    json_member_open(out, name, '[');
    for (size_t i = 0; i < count && i < SIM_SEEDS_NAMED; i++)
        json_write_integer(out, (int64_t)seeds[i]);
    json_write_close(out, ']');
}

static void print_json(const struct sim_arguments *a, const struct sim_summary *s)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"undecided", s->undecided},    {"faults", s->injected},
                  {"events", s->events},          {"requests", s->clients.calls},
                  {"ok", s->clients.ok},          {"failed", s->clients.failed},
                  {"unknown", s->clients.unknown}};
    struct buffer out = {0};
    json_write_open(&out, '{');
    json_member_integer(&out, "seed", (int64_t)a->run.sim.seed);
    json_member_integer(&out, "seeds", (int64_t)s->seeds);
    json_member_integer(&out, "violations", (int64_t)s->violations);
    write_seeds(&out, "violating_seeds", s->first_violations, s->violations);
    write_seeds(&out, "undecided_seeds", s->first_undecided, s->undecided);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        json_member_integer(&out, counts[i].name, (int64_t)counts[i].value);
    json_member_real(&out, "virtual_s", (double)s->virtual_ns / 1e9);
    json_member_real(&out, "wall_s", (double)s->wall_ns / 1e9);
    json_member_integer(&out, "requests_per_wall_s", (int64_t)sim_rate(s));
    json_member_integer(&out, "calm_ms_max", s->calm_ns_max / NS_PER_MS);
    json_member_open(&out, "probes", '{');
    for (size_t i = 0; i < sim_probe_count(); i++)
        json_member_integer(&out, sim_probe_name(i), (int64_t)s->probes[i]);
    json_write_closes(&out, "}}");
    printf("%.*s\n", TEXT_OF(out));
    buffer_deinit(&out);
}

static void print_probes(const struct sim_summary *s)
{
    size_t missed = 0;
    if (sim_probe_count() == 0)
        puts("this build has no probes: configure it with -DWEIR_PROBES=ON");
    for (size_t i = 0; i < sim_probe_count(); i++) {
        printf("%12llu  %s\n", (unsigned long long)s->probes[i], sim_probe_name(i));
        missed += s->probes[i] == 0;
    }
    if (sim_probe_count() > 0)
        printf("%zu of %zu marks were never reached\n", missed, sim_probe_count());
}

/* The command that runs one failed seed again: the options as they were given, without those that
 * say which seeds. */
static void sim_print_again(const struct sim_arguments *a, uint64_t seed)
{
    static const char *const LEFT_OUT[] = {"--seed", "--seeds", "--wall-seconds", "--jobs"};
    printf("again: weir sim --seed %llu", (unsigned long long)seed);
    for (int i = 1; i < a->argc; i++) {
        bool left_out = false, joined = false;
        for (size_t o = 0; o < COUNT_OF(LEFT_OUT) && !left_out; o++) {
            size_t size = strlen(LEFT_OUT[o]);
            joined = strncmp(a->argv[i], LEFT_OUT[o], size) == 0 && a->argv[i][size] == '=';
            left_out = joined || strcmp(a->argv[i], LEFT_OUT[o]) == 0;
        }
        if (!left_out)
            printf(" %s", a->argv[i]);
        i += left_out && !joined;
    }
    putchar('\n');
}

static void sim_print_text(const struct sim_arguments *a, const struct sim_summary *s)
{
    unsigned long long first = a->run.sim.seed, seeds = s->seeds;
    if (seeds == 1)
        printf("1 seed (%llu)", first);
    else
        printf("%llu seeds (%llu to %llu)", seeds, first, first + seeds - (seeds > 0));
    printf(": %llu violations, %llu undecided\n", (unsigned long long)s->violations,
           (unsigned long long)s->undecided);
    for (size_t i = 0; i < s->violations && i < SIM_SEEDS_NAMED; i++)
        sim_print_again(a, s->first_violations[i]);
    if (s->undecided > 0) {
        printf("too complex to check: seeds ");
        print_seeds(s->first_undecided, s->undecided);
        putchar('\n');
    }
    printf("%llu requests: %llu ok, %llu failed, %llu unknown; %llu faults; all keys answered "
           "within %.1f s after the last fault\n",
           (unsigned long long)s->clients.calls, (unsigned long long)s->clients.ok,
           (unsigned long long)s->clients.failed, (unsigned long long)s->clients.unknown,
           (unsigned long long)s->injected, (double)s->calm_ns_max / NS_PER_S);
    printf("%.1f s of virtual time in %.2f s; %.0f requests/s of the first runs, %llu events\n",
           (double)s->virtual_ns / 1e9, (double)s->wall_ns / 1e9, sim_rate(s),
           (unsigned long long)s->events);
}

static int sim_check_policies(struct sim_arguments *a)
{
    struct buffer error = {0};
    int code = USAGE_GO_ON;
    a->names.policies = a->run.sim.policies = &a->policies;
    if (admission_policies_check(&a->names, &error) != STATUS_OK ||
        control_policies_check(&a->names, &error) != STATUS_OK ||
        table_policy_check(&a->names, &error) != STATUS_OK)
        code = usage_wrong("weir sim", "%.*s", TEXT_OF(error));
    buffer_deinit(&error);
    return code;
}

int cmd_sim(int argc, char **argv)
{
    struct sim_arguments a = {
        .run = {.sim = {.seed = 1, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL}, .seeds = 1},
        .jobs = -1};
    policy_file_begin(&a.policies);
    baselines_add(&a.policies);
    config_init(&a.names, PROFILE_RESEARCH);
    int code = sim_parse(&a, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    a.argc = argc;
    a.argv = argv;
    sim_complete(&a);
    code = sim_check_policies(&a);
    if (code != USAGE_GO_ON)
        return code;
    struct sim_summary summary;
    sim_jobs_run(&a.run, &summary);
    if (a.json)
        print_json(&a, &summary);
    else
        sim_print_text(&a, &summary);
    if (a.probes && !a.json)
        print_probes(&summary);
    return summary.violations > 0 || summary.undecided > 0 ? 1 : 0;
}
