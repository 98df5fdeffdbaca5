/* sim.c - `weir sim`: whole clusters in virtual time, with faults, from seeds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/arguments.h"
#include "cmd/cmd.h"
#include "cmd/daemon.h"
#include "cmd/sim_jobs.h"

struct sim_arguments {
    struct sim_jobs_options run;
    bool json;
    bool probes;
    bool jobs_given;
};

static const char help_text[] =
    "usage: weir sim [--seed S] [--seeds N] [--faults LIST|all|none] [options]\n\n"
    "Runs whole clusters, routers, nodes, disks, network and clients, in virtual time, and breaks\n"
    "them. A seed decides everything, and is run twice to prove it. After the faults every key\n"
    "must answer; what clients saw must be linearizable, and every node's data whole.\n"
    "Exit code 1 if a seed fails, or if its history is too tangled to judge. The seed is named, "
    "and\n"
    "does the same again with --seed and the same options.\n\n"
    "  --seed S           the first seed (1); `fresh`: one that nobody has seen\n"
    "  --seeds N          how many (1)\n"
    "  --faults LIST      all: the seed chooses (default); none; or these, all of them:\n";

static const char help_options[] =
    "  --nodes N, --replicas N, --routers N, --gac N, --clients N\n"
    "                     fix what the seed would choose\n"
    "  --merges N         percent of the splits that are merges of two partitions instead; 0: "
    "none\n"
    "  --tick US          events happen at multiples of so many us, as a loop takes in one turn "
    "all\n"
    "                     that has come; 0: at any time. Not given: the seed chooses,\n"
    "                     and --bench has none\n"
    "  --seconds V        virtual seconds during which faults strike\n"
    "  --jobs J           processes (the machine's cores); 0: this one\n"
    "  --wall-seconds W   begin no seed after that time\n"
    "  --once             do not run each seed twice\n"
    "  --plain            one table of short keys, the same settings on every node; no drains,\n"
    "                     suspended machines or changed settings, unless --faults names them\n"
    "  --bench            a quiet network, no history: how many requests per second?\n"
    "  --probes           list the marks on rare paths, and how often they were passed\n"
    "  --json             the summary as JSON\n"
    "\nexamples:\n"
    "  weir sim --seed 78\n"
    "  weir sim --seeds 1000 --nodes 3\n"
    "  weir sim --seeds 200 --faults crash,power,cut --seconds 60\n"
    "  weir sim --bench --clients 64 --nodes 1 --seconds 10\n";

static void print_help(FILE *out)
{
    fputs(help_text, out);
    for (unsigned i = 0; i < SIM_FAULTS; i++)
        fprintf(out, "    %-16s %s\n", sim_fault_name((enum sim_fault)i),
                sim_fault_help((enum sim_fault)i));
    fputs(help_options, out);
}

/* ---- arguments ---- */

static bool parse_number(const char *name, const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && *out <= most)
        return true;
    fprintf(stderr, "weir sim: --%s %s: must be a whole number up to %llu\n", name, text,
            (unsigned long long)most);
    return false;
}

static bool parse_count(const char *name, const char *text, uint32_t most, uint32_t *out)
{
    uint64_t number;
    if (!parse_number(name, text, most, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool parse_faults(const char *text, struct sim_options *o)
{
    o->faults = 0;
    o->faults_forced = true;
    if (strcmp(text, "none") == 0)
        return true;
    if (strcmp(text, "all") == 0) {
        o->faults = SIM_FAULTS_ALL;
        o->faults_forced = false;
        return true;
    }
    while (*text != '\0') {
        size_t size = strcspn(text, ",");
        unsigned i = 0;
        while (i < SIM_FAULTS && (strlen(sim_fault_name((enum sim_fault)i)) != size ||
                                  strncmp(sim_fault_name((enum sim_fault)i), text, size) != 0))
            i++;
        if (i == SIM_FAULTS) {
            fprintf(stderr, "weir sim: --faults: there is no fault `%.*s`; see --help\n", (int)size,
                    text);
            return false;
        }
        o->faults |= SIM_FAULT_BIT(i);
        text += size + (text[size] == ',');
    }
    return true;
}

enum {
    OPT_HELP = 'h',
    OPT_SEED = 1000,
    OPT_SEEDS,
    OPT_FAULTS,
    OPT_NODES,
    OPT_REPLICAS,
    OPT_ROUTERS,
    OPT_GAC,
    OPT_CLIENTS,
    OPT_MERGES,
    OPT_TICK,
    OPT_SECONDS,
    OPT_JOBS,
    OPT_WALL,
    OPT_ONCE,
    OPT_PLAIN,
    OPT_BENCH,
    OPT_PROBES,
    OPT_JSON,
};

static bool take(struct sim_arguments *a, int option, const char *value)
{
    struct sim_options *o = &a->run.sim;
    uint64_t seconds;
    uint32_t servers, tick, merges;
    switch (option) {
    case OPT_SEED:
        if (strcmp(value, "fresh") == 0) {
            o->seed = daemon_seed() % 1000000000 + 1;
            return true;
        }
        return parse_number("seed", value, UINT64_MAX - 1, &o->seed);
    case OPT_SEEDS:
        return parse_number("seeds", value, 1000000000, &a->run.seeds);
    case OPT_FAULTS:
        return parse_faults(value, o);
    case OPT_NODES:
        return parse_count("nodes", value, SIM_NODES_MAX, &o->nodes);
    case OPT_REPLICAS:
        return parse_count("replicas", value, SIM_NODES_MAX, &o->replicas);
    case OPT_ROUTERS:
        return parse_count("routers", value, SIM_ROUTERS_MAX, &o->routers);
    case OPT_GAC:
        if (!parse_count("gac", value, SIM_GAC_MAX, &servers))
            return false;
        o->gac = servers > 0 ? (int)servers : SIM_GAC_NONE;
        return true;
    case OPT_CLIENTS:
        return parse_count("clients", value, SIM_CLIENTS_MAX, &o->clients);
    case OPT_MERGES:
        if (!parse_count("merges", value, 100, &merges))
            return false;
        o->merges = merges > 0 ? (int)merges : SIM_MERGES_NONE;
        return true;
    case OPT_TICK:
        if (!parse_count("tick", value, SIM_TICK_US_MAX, &tick))
            return false;
        o->tick_us = tick > 0 ? (int)tick : SIM_TICK_NONE;
        return true;
    case OPT_SECONDS:
        if (!parse_number("seconds", value, 1000000, &seconds))
            return false;
        o->length_ms = (int64_t)seconds * 1000;
        return true;
    case OPT_JOBS:
        a->jobs_given = true;
        return parse_count("jobs", value, SIM_JOBS_MAX, &a->run.jobs);
    case OPT_WALL:
        if (!parse_number("wall-seconds", value, 1000000, &seconds))
            return false;
        a->run.wall_s_max = (int64_t)seconds;
        return true;
    case OPT_ONCE:
        a->run.once = true;
        return true;
    case OPT_PLAIN:
        o->plain = true;
        return true;
    case OPT_BENCH:
        o->bench = a->run.once = true;
        return parse_faults("none", o);
    case OPT_PROBES:
        a->probes = true;
        return true;
    case OPT_JSON:
        a->json = true;
        return true;
    default:
        return false;
    }
}

/* 0: go on; otherwise exit code + 1. */
static int parse(struct sim_arguments *of, int argc, char **argv)
{
    static const struct argument_spec specs[] = {
        {"help", ARGUMENT_FLAG, OPT_HELP},        {"seed", ARGUMENT_VALUE, OPT_SEED},
        {"seeds", ARGUMENT_VALUE, OPT_SEEDS},     {"faults", ARGUMENT_VALUE, OPT_FAULTS},
        {"nodes", ARGUMENT_VALUE, OPT_NODES},     {"replicas", ARGUMENT_VALUE, OPT_REPLICAS},
        {"routers", ARGUMENT_VALUE, OPT_ROUTERS}, {"gac", ARGUMENT_VALUE, OPT_GAC},
        {"merges", ARGUMENT_VALUE, OPT_MERGES},   {"tick", ARGUMENT_VALUE, OPT_TICK},
        {"clients", ARGUMENT_VALUE, OPT_CLIENTS}, {"seconds", ARGUMENT_VALUE, OPT_SECONDS},
        {"jobs", ARGUMENT_VALUE, OPT_JOBS},       {"wall-seconds", ARGUMENT_VALUE, OPT_WALL},
        {"once", ARGUMENT_FLAG, OPT_ONCE},        {"plain", ARGUMENT_FLAG, OPT_PLAIN},
        {"bench", ARGUMENT_FLAG, OPT_BENCH},      {"probes", ARGUMENT_FLAG, OPT_PROBES},
        {"json", ARGUMENT_FLAG, OPT_JSON},
    };
    struct arguments a = {specs, sizeof specs / sizeof specs[0], argc, argv, 1};
    struct buffer error = {0};
    const char *value;
    int option, result = 0;
    while (result == 0 && (option = arguments_next(&a, &value, &error)) != ARGUMENTS_END) {
        if (option == OPT_HELP) {
            print_help(stdout);
            result = 1;
        } else if (option == ARGUMENTS_WRONG) {
            fprintf(stderr, "weir sim: %.*s\n", (int)error.size, (const char *)error.data);
            result = 3;
        } else if (option == ARGUMENTS_WORD) {
            fprintf(stderr, "weir sim: unexpected argument `%s`\n", value);
            result = 3;
        } else if (!take(of, option, value)) {
            result = 3;
        }
    }
    if (result == 3)
        fputs("see `weir sim --help`\n", stderr);
    buffer_deinit(&error);
    return result;
}

/* ---- summary ---- */

static double rate(const struct sim_summary *s)
{
    return s->wall_ns > 0 ? (double)s->clients.calls * 1e9 / (double)s->wall_ns : 0;
}

static void print_seeds(const uint64_t *seeds, uint64_t count)
{
    for (size_t i = 0; i < count && i < SIM_SEEDS_TOLD; i++)
        printf("%s%llu", i > 0 ? "," : "", (unsigned long long)seeds[i]);
}

static void print_json(const struct sim_arguments *a, const struct sim_summary *s)
{
    printf("{\"seed\":%llu,\"seeds\":%llu,\"violations\":%llu,\"violating_seeds\":[",
           (unsigned long long)a->run.sim.seed, (unsigned long long)s->seeds,
           (unsigned long long)s->violations);
    print_seeds(s->first_violations, s->violations);
    printf("],\"undecided_seeds\":[");
    print_seeds(s->first_undecided, s->undecided);
    printf("],\"undecided\":%llu,\"faults\":%llu,\"events\":%llu,\"requests\":%llu,\"ok\":%llu,"
           "\"failed\":%llu,\"unknown\":%llu,\"virtual_s\":%.3f,\"wall_s\":%.3f,"
           "\"requests_per_wall_s\":%.0f,\"calm_ms_max\":%lld",
           (unsigned long long)s->undecided, (unsigned long long)s->strikes,
           (unsigned long long)s->events, (unsigned long long)s->clients.calls,
           (unsigned long long)s->clients.ok, (unsigned long long)s->clients.failed,
           (unsigned long long)s->clients.unknown, (double)s->virtual_ns / 1e9,
           (double)s->wall_ns / 1e9, rate(s), (long long)(s->calm_ns_max / NS_PER_MS));
    printf(",\"probes\":{");
    for (size_t i = 0; i < sim_probe_count(); i++)
        printf("%s\"%s\":%llu", i > 0 ? "," : "", sim_probe_name(i),
               (unsigned long long)s->probes[i]);
    puts("}}");
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

static void print_text(const struct sim_arguments *a, const struct sim_summary *s)
{
    unsigned long long first = a->run.sim.seed, seeds = s->seeds;
    if (seeds == 1)
        printf("1 seed (%llu)", first);
    else
        printf("%llu seeds (%llu to %llu)", seeds, first, first + seeds - (seeds > 0));
    printf(": %llu violations, %llu undecided\n", (unsigned long long)s->violations,
           (unsigned long long)s->undecided);
    if (s->violations > 0)
        printf("again: weir sim --seed %llu, with the same options\n",
               (unsigned long long)s->first_violations[0]);
    if (s->undecided > 0) {
        printf("too tangled to judge: seeds ");
        print_seeds(s->first_undecided, s->undecided);
        putchar('\n');
    }
    printf("%llu requests: %llu ok, %llu failed, %llu unknown; %llu faults; all keys answered "
           "%.1f s after the last fault at most\n",
           (unsigned long long)s->clients.calls, (unsigned long long)s->clients.ok,
           (unsigned long long)s->clients.failed, (unsigned long long)s->clients.unknown,
           (unsigned long long)s->strikes, (double)s->calm_ns_max / NS_PER_S);
    printf("%.1f s of virtual time in %.2f s; %.0f requests/s of the first runs, %llu events\n",
           (double)s->virtual_ns / 1e9, (double)s->wall_ns / 1e9, rate(s),
           (unsigned long long)s->events);
}

int cmd_sim(int argc, char **argv)
{
    struct sim_arguments a = {.run = {.sim = {.seed = 1, .faults = SIM_FAULTS_ALL}, .seeds = 1}};
    int parsed = parse(&a, argc, argv);
    if (parsed != 0)
        return parsed - 1;
    if (!a.jobs_given && a.run.seeds > 1) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        a.run.jobs = cores < 1 ? 1 : cores > SIM_JOBS_MAX ? SIM_JOBS_MAX : (uint32_t)cores;
    }
    a.run.progress = a.run.seeds > 1 && isatty(STDERR_FILENO);
    a.run.quiet = a.json;
    struct sim_summary summary;
    sim_jobs_run(&a.run, &summary);
    if (a.json)
        print_json(&a, &summary);
    else
        print_text(&a, &summary);
    if (a.probes && !a.json)
        print_probes(&summary);
    return summary.violations > 0 || summary.undecided > 0 ? 1 : 0;
}
