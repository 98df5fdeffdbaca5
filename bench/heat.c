/* heat.c - what it costs to count a request as heat of its key, and what memory that takes.
 *
 * Method: that of decision.c. Requests are drawn outside the timed parts; the median cost of an
 * empty batch is subtracted from each batch of BATCH additions. The mean tells what is left when
 * the rare work (a level is sorted, everything decays) is spread over all of them; it includes what
 * other processes took. Time in which the requests fall is virtual. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "base/settings/heat.h"
#include "bench/bench.h"
#include "cmd/usage.h"
#include "engine/heat/split_point.h"
#include "engine/item/storage_key.h"
#include "router/json/json_writer.h"

enum {
    BATCH = BENCH_BATCH,
    BATCHES = 100000,
    BLOCK = 4096,
    BLOCKS = 200,
    KEYS = 20000,
    BUDGET_NS = 30,
};

struct scene {
    const char *name;
    const char *meaning;
    int64_t per_second; /* requests, virtual */
    double zipf;        /* 0: uniform */
    bool collection;    /* all keys in one item collection */
};

static const struct scene scenes[] = {
    {"maximum", "1,000 writes/s, uniform: each is counted", 1000, 0, false},
    {"zipf", "1,000 writes/s, Zipf 0.99", 1000, 0.99, false},
    {"collection", "1,000 writes/s, sort keys of one partition key", 1000, 0, true},
    {"overload", "100,000 writes/s, uniform: a hundred times the maximum", 100000, 0, false},
};

enum {
    SCENES = sizeof scenes / sizeof scenes[0]
};

struct outcome {
    struct histogram ps; /* per addition, as batch means */
    int64_t spent_ns;    /* of processor time, in the blocks */
    size_t memory;
    int64_t advise_ns;
};

struct stage {
    struct buffer keys[KEYS]; /* owns */
    double below[KEYS + 1];
    struct prng prng;
    struct config config;
    struct heat heat;
    struct slice lo, hi;
    struct instant now;
};

struct requests {
    struct buffer bytes; /* owns */
    struct slice keys[BLOCK];
};

static void stage_init(struct stage *s, const struct scene *scene)
{
    *s = (struct stage){.prng = prng_seeded(1)};
    s->lo = slice_make("\0\0\0\5", 4);
    s->hi = slice_make("\0\0\0\6", 4);
    for (int i = 0; i < KEYS; i++) {
        char partition[32], sort[32];
        snprintf(partition, sizeof partition, "customer-%08d", scene->collection ? 0 : i);
        snprintf(sort, sizeof sort, "order-%08d", i);
        struct attr p = {.type = ATTR_STRING, .body = slice_of(partition)};
        struct attr k = {.type = ATTR_STRING, .body = slice_of(sort)};
        storage_key_append(&s->keys[i], 5, &p, &k);
        s->below[i + 1] = s->below[i] + pow(i + 1, -scene->zipf);
    }
    config_init(&s->config, PROFILE_AWS);
    config_edit_heat(&s->config)->heat_start_percent = 0;
    heat_init(&s->heat, s->lo, s->hi, 1, &s->config);
}

static void stage_deinit(struct stage *s)
{
    for (int i = 0; i < KEYS; i++)
        buffer_deinit(&s->keys[i]);
    heat_deinit(&s->heat);
}

static struct slice bench_heat_draw(struct stage *s)
{
    double u = prng_unit(&s->prng) * s->below[KEYS];
    int low = 0, high = KEYS - 1;
    LOWER_BOUND(low, high, middle, s->below[middle + 1] <= u);
    return buffer_slice(&s->keys[low]);
}

static int64_t time_advice(struct stage *s)
{
    struct split_question q = split_question_of(&s->config, s->lo, s->hi);
    struct split_advice advice;
    struct arena arena = {0};
    int64_t start = bench_clock_ns();
    split_advise(&s->heat, s->now, &q, &arena, &advice);
    int64_t spent = bench_clock_ns() - start;
    arena_deinit(&arena);
    return spent;
}

/* The keys of the next requests: each has just come in, and been compared. */
static void requests_draw(struct stage *s, struct requests *r, int count)
{
    buffer_clear(&r->bytes);
    for (int i = 0; i < count; i++) {
        r->keys[i] = bench_heat_draw(s);
        buffer_append_slice(&r->bytes, r->keys[i]);
    }
    for (size_t i = 0, at = 0; i < (size_t)count; at += r->keys[i++].size)
        r->keys[i].data = r->bytes.data + at;
}

static void bench_heat_add(struct stage *s, const struct scene *scene, const struct requests *r,
                           int count)
{
    for (int i = 0; i < count; i++) {
        s->now.ns += NS_PER_S / scene->per_second;
        heat_add(&s->heat, s->now, ADMIT_WRITE, r->keys[i], MCU_PER_UNIT);
    }
}

static void bench_heat_scene_run(const struct scene *scene, int64_t overhead, struct outcome *o)
{
    static struct stage s;
    static struct requests r;
    stage_init(&s, scene);
    memset(o, 0, sizeof *o);
    histogram_init(&o->ps);
    for (int batch = -BATCHES / 10; batch < BATCHES; batch++) { /* the first tenth warms up */
        requests_draw(&s, &r, BATCH);
        int64_t start = bench_clock_ns();
        bench_heat_add(&s, scene, &r, BATCH);
        int64_t spent = bench_clock_ns() - start - overhead;
        if (batch >= 0)
            histogram_record(&o->ps, MAX(spent, 0) * BENCH_PS_PER_NS / BATCH);
    }
    for (int block = 0; block < BLOCKS; block++) {
        requests_draw(&s, &r, BLOCK);
        int64_t start = bench_thread_ns();
        bench_heat_add(&s, scene, &r, BLOCK);
        o->spent_ns += bench_thread_ns() - start;
    }
    o->memory = heat_memory(&s.heat);
    o->advise_ns = time_advice(&s);
    buffer_deinit(&r.bytes);
    stage_deinit(&s);
}

static double mean_ns(const struct outcome *o)
{
    return (double)o->spent_ns / ((double)BLOCKS * BLOCK);
}

static void bench_heat_print_text(const struct scene *scene, const struct outcome *o)
{
    printf("%-10s p50 %6.1f ns  p99 %6.1f ns  mean %6.1f ns  memory %zu bytes  advice %lld us  "
           "(%s)\n",
           scene->name, bench_ns_at(&o->ps, 50000), bench_ns_at(&o->ps, 99000), mean_ns(o),
           o->memory, (long long)(o->advise_ns / NS_PER_US), scene->meaning);
}

static void bench_heat_write_scene(struct buffer *out, const struct scene *scene,
                                   const struct outcome *o)
{
    json_write_open(out, '{');
    json_member_text(out, "name", scene->name);
    json_member_real(out, "p50_ns", bench_ns_at(&o->ps, 50000));
    json_member_real(out, "p99_ns", bench_ns_at(&o->ps, 99000));
    json_member_real(out, "mean_ns", mean_ns(o));
    json_member_integer(out, "memory_bytes", (int64_t)o->memory);
    json_member_integer(out, "advise_ns", o->advise_ns);
    json_write_close(out, '}');
}

static void bench_heat_write_end(struct buffer *out, bool within)
{
    json_write_close(out, ']');
    json_member_integer(out, "memory_max_bytes", HEAT_MEMORY_MAX);
    json_member_bool(out, "within_budget", within);
    json_write_close(out, '}');
    bench_print(out);
}

static const char about[] =
    "Times the counting of requests as heat of their keys, in batches of 32 with the clock's own "
    "cost subtracted. Fails if the p50 is over 30 ns in any scene. Memory is for one kind "
    "(reads "
    "or writes) of a partition that has heat.\n";

int bench_heat(int argc, char **argv)
{
    static struct outcome outcome;
    bool json = false, within = true;
    int code = bench_parse("weir-bench heat", about, &json, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    _Static_assert(BATCH == 32 && BUDGET_NS == 30, "the help says so");
    struct buffer out = {0};
    int64_t overhead = bench_overhead_ns(&outcome.ps);
    if (json)
        bench_write_scenes(&out, "heat", BATCH, overhead, BUDGET_NS);
    for (int i = 0; i < SCENES; i++) {
        bench_heat_scene_run(&scenes[i], overhead, &outcome);
        within = within && bench_ns_at(&outcome.ps, 50000) <= BUDGET_NS;
        if (json)
            bench_heat_write_scene(&out, &scenes[i], &outcome);
        else
            bench_heat_print_text(&scenes[i], &outcome);
    }
    if (json)
        bench_heat_write_end(&out, within);
    else
        printf("budget: p50 <= %d ns: %s; a partition's heat takes at most %d bytes\n", BUDGET_NS,
               within ? "kept" : "BROKEN", HEAT_MEMORY_MAX);
    return within ? 0 : 1;
}
