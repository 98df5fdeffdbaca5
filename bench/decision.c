/* decision.c - what one admission decision costs: a node's, and a router's, which takes
 * tokens of a table's limit.
 *
 * Method: a clock read costs about as much as a decision, so decisions are timed in batches of
 * BATCH; the median cost of an empty batch, measured first in the same loop, is subtracted, and the
 * rest divided by BATCH. Percentiles are therefore those of batch means, and a single decision that
 * takes longer than its neighbours shows as a BATCHth of its excess. Time inside the decisions is
 * virtual: it moves on by a fixed step, as it would for a busy node.
 * What is allocated is read from the allocator's own count for this thread, around all batches;
 * what router and server of global admission control say to each other meanwhile is left out of
 * both. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gac_policy.h"
#include "base/must.h"
#include "base/prng.h"
#include "base/settings/admission.h"
#include "bench/bench.h"
#include "cmd/usage.h"
#include "engine/admission/admission.h"
#include "engine/admission/policy_choice.h"
#include "gac/client.h"
#include "gac/server.h"
#include "router/json/json_writer.h"

enum {
    BATCH = BENCH_BATCH,
    BATCHES = 200000,
    BUDGET_NS = 40,
};

/* jemalloc's, where the executable is linked with it. */
int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
    __attribute__((weak));

/* Bytes this thread ever allocated; without jemalloc, bytes in use. */
static uint64_t bytes_allocated(void)
{
    uint64_t bytes = 0;
    size_t size = sizeof bytes;
    if (mallctl != NULL && mallctl("thread.allocated", &bytes, &size, NULL, 0) == 0)
        return bytes;
    return mallinfo2().uordblks;
}

struct scene {
    const char *name;
    const char *meaning;
    const char *policy;
    int64_t rate_mcu; /* of each partition */
    int64_t step_ns;  /* virtual time between decisions, of all partitions together */
    int64_t partitions;
    int64_t node_wcu;
    int64_t tables; /* > 0: it is the router that decides */
};

/* Virtual steps are chosen so that, with 1000 mcu a decision, the named branch is the common one.
 */
static const struct scene scenes[] = {
    {"allocation", "within the allocation, one partition", "burst", 500000, 2000000, 1, 40000, 0},
    {"burst", "nine of ten from the burst bucket, one partition", "burst", 90000, 1111111, 1, 40000,
     0},
    {"refused", "refused by the allocation, with the wait", "allocation", 1000, 1000, 1, 40000, 0},
    {"shared", "1,000 partitions burst on a node that is too small", "burst", 10000, 12500, 1000,
     20000, 0},
    {"strict", "policy allocation, 1,000 partitions", "allocation", 40000, 25000, 1000, 40000, 0},
    {"lease", "a router with tokens in hand, one table", "lease", 200000000, 10000, 0, 0, 1},
    {"leases", "the same, 1,000 tables", "lease", 200000, 10000, 0, 0, 1000},
    {"no-lease", "a router that knows that there are none", "lease", 1000000, 10000, 0, 0, 1},
};

enum {
    SCENES = sizeof scenes / sizeof scenes[0]
};

struct outcome {
    struct histogram ps; /* per decision, as batch means */
    uint64_t reasons[ADMIT_REASONS];
    uint64_t bursts;
    uint64_t allocated;
};

struct stage {
    struct config config;
    struct node_admission node;
    struct admission *partitions; /* owns */
    struct gac_server *server;    /* these two: NULL where nodes decide */
    struct gac_client *client;
    struct buffer answer;
    uint64_t allocated; /* by what is left out */
    uint32_t order[BATCH];
    struct instant now;
};

enum {
    GAC_SERVER = 1 /* the only one, and the link to it */
};

static void stage_set_router(struct stage *s)
{
    struct gac_server_options server = {
        .config = &s->config, .number = GAC_SERVER, .servers = 1, .incarnation = 1};
    struct gac_client_options client = {.config = &s->config, .servers = 1, .router = 1};
    s->server = gac_server_create(&server);
    s->client = gac_client_create(&client);
    gac_client_up(s->client, s->now, GAC_SERVER);
}

/* What the router has to say is answered at once. */
static void stage_exchange(struct stage *s)
{
    uint64_t before = bytes_allocated();
    struct buffer error = {0};
    struct slice frame;
    uint32_t to;
    gac_client_tick(s->client, s->now);
    while (gac_client_next_frame(s->client, s->now, &to, &frame)) {
        buffer_clear(&s->answer);
        must(gac_server_receive(s->server, s->now, (struct gac_origin){.link = GAC_SERVER}, frame,
                                &s->answer, &error) == STATUS_OK);
        must(gac_client_receive(s->client, s->now, to, buffer_slice(&s->answer)) == STATUS_OK);
    }
    s->allocated += bytes_allocated() - before;
}

static void stage_clear(struct stage *s)
{
    free(s->partitions);
    buffer_deinit(&s->answer);
    if (s->client == NULL)
        return;
    gac_client_destroy(s->client);
    gac_server_destroy(s->server);
}

static void stage_set(struct stage *s, const struct scene *scene)
{
    *s = (struct stage){0};
    config_init(&s->config, PROFILE_RESEARCH);
    /* a bank that lasts for the whole scene */
    config_edit_admission(&s->config)->burst_max_s = 86400;
    if (scene->tables > 0) {
        stage_set_router(s);
        return;
    }
    config_edit_admission(&s->config)->node_wcu = scene->node_wcu;
    s->partitions = must_have(malloc((size_t)scene->partitions * sizeof *s->partitions));
    node_admission_init(&s->node, &s->config, s->now);
    struct admission_rates rates = {.rate_mcu = {scene->rate_mcu, scene->rate_mcu}};
    for (int64_t i = 0; i < scene->partitions; i++)
        admission_init(&s->partitions[i],
                       admission_policies_same(admission_policy_find(slice_of(scene->policy))),
                       &s->config, &rates, s->now);
    s->now.ns = 90000 * NS_PER_S; /* and is full */
}

/* The partitions of the next batch, drawn outside the timed part. */
static void stage_draw(struct stage *s, const struct scene *scene, struct prng *p)
{
    for (int i = 0; i < BATCH; i++)
        s->order[i] = (uint32_t)prng_below(
            p, (uint64_t)(scene->tables > 0 ? scene->tables : scene->partitions));
}

static void decide_at_node(struct stage *s, const struct scene *scene,
                           struct admit_verdict verdicts[BATCH])
{
    for (int i = 0; i < BATCH; i++) {
        s->now.ns += scene->step_ns;
        verdicts[i] = admission_try(&s->partitions[s->order[i]], &s->node, ADMIT_WRITE, s->now,
                                    MCU_PER_UNIT, NULL);
    }
}

static void decide_at_router(struct stage *s, const struct scene *scene,
                             struct admit_verdict verdicts[BATCH])
{
    struct gac_limit limit = {.policy = GAC_LEASE, .rate = scene->rate_mcu};
    struct duration wait;
    for (int i = 0; i < BATCH; i++) {
        s->now.ns += scene->step_ns;
        limit.key = (struct gac_key){.table = s->order[i] + 1, .kind = GAC_WRITE};
        bool taken = gac_client_take(s->client, s->now, &limit, MCU_PER_UNIT, &wait) == GAC_TAKEN;
        gac_client_settle(s->client, limit.key, taken ? MCU_PER_UNIT : 0, taken ? MCU_PER_UNIT : 0);
        verdicts[i] = (struct admit_verdict){.reason = taken ? ADMIT_OK : ADMIT_REFUSED_TABLE};
    }
}

static void bench_decision_scene_run(const struct scene *scene, int64_t overhead, struct outcome *o)
{
    struct stage s;
    struct admit_verdict verdicts[BATCH];
    struct prng p = prng_seeded(1);
    stage_set(&s, scene);
    memset(o, 0, sizeof *o);
    histogram_init(&o->ps);
    bool router = scene->tables > 0;
    uint64_t before = 0;
    for (int batch = -BATCHES / 10; batch < BATCHES; batch++) { /* the first tenth warms up */
        if (batch == 0)
            before = bytes_allocated() - s.allocated;
        stage_draw(&s, scene, &p);
        if (router)
            stage_exchange(&s);
        int64_t start = bench_clock_ns();
        if (router)
            decide_at_router(&s, scene, verdicts);
        else
            decide_at_node(&s, scene, verdicts);
        int64_t spent = bench_clock_ns() - start - overhead;
        if (batch < 0)
            continue;
        histogram_record(&o->ps, MAX(spent, 0) * BENCH_PS_PER_NS / BATCH);
        for (int i = 0; i < BATCH; i++) {
            o->reasons[verdicts[i].reason]++;
            o->bursts += verdicts[i].burst;
        }
    }
    o->allocated = bytes_allocated() - s.allocated - before;
    stage_clear(&s);
}

static void bench_decision_print_text(const struct scene *scene, const struct outcome *o)
{
    uint64_t all = (uint64_t)BATCHES * BATCH;
    printf("%-10s p50 %6.1f ns  p99 %6.1f ns  allocated %llu bytes  (%s; %.0f %% burst, %.0f %% "
           "refused)\n",
           scene->name, bench_ns_at(&o->ps, 50000), bench_ns_at(&o->ps, 99000),
           (unsigned long long)o->allocated, scene->meaning,
           100.0 * (double)o->bursts / (double)all,
           100.0 * (double)(all - o->reasons[ADMIT_OK]) / (double)all);
}

static void bench_decision_write_scene(struct buffer *out, const struct scene *scene,
                                       const struct outcome *o)
{
    json_write_open(out, '{');
    json_member_text(out, "name", scene->name);
    json_member_text(out, "policy", scene->policy);
    json_member_integer(out, "partitions", scene->partitions);
    json_member_real(out, "p50_ns", bench_ns_at(&o->ps, 50000));
    json_member_real(out, "p99_ns", bench_ns_at(&o->ps, 99000));
    json_member_integer(out, "allocated_bytes", (int64_t)o->allocated);
    json_write_key(out, "allocations"); /* only bytes are counted */
    if (o->allocated == 0)
        json_write_integer(out, 0);
    else
        json_write_null(out);
    json_member_integer(out, "burst", (int64_t)o->bursts);
    json_member_integer(out, "decisions", (int64_t)BATCHES * BATCH);
    for (enum admit_reason reason = 0; reason < ADMIT_REASONS; reason++)
        json_member_integer(out, admit_reason_name(reason), (int64_t)o->reasons[reason]);
    json_write_close(out, '}');
}

static void bench_decision_write_end(struct buffer *out, bool within)
{
    json_write_close(out, ']');
    json_member_bool(out, "within_budget", within);
    json_write_close(out, '}');
    bench_print(out);
}

static const char about[] =
    "Times admission decisions in batches of 32 with the clock's own cost subtracted; percentiles "
    "are those of batch means. Fails if the p50 of a decision is over 40 ns in any scene, or if "
    "memory was allocated.\n";

int bench_decision(int argc, char **argv)
{
    static struct outcome outcome;
    bool json = false, within = true;
    int code = bench_parse("weir-bench decision", about, &json, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    _Static_assert(BATCH == 32 && BUDGET_NS == 40, "the help says so");
    struct buffer out = {0};
    int64_t overhead = bench_overhead_ns(&outcome.ps);
    if (json)
        bench_write_scenes(&out, "decision", BATCH, overhead, BUDGET_NS);
    else
        printf("means of batches of %d decisions, the clock's %lld ns a batch subtracted\n", BATCH,
               (long long)overhead);
    for (int i = 0; i < SCENES; i++) {
        bench_decision_scene_run(&scenes[i], overhead, &outcome);
        within = within && outcome.allocated == 0 && bench_ns_at(&outcome.ps, 50000) <= BUDGET_NS;
        if (json)
            bench_decision_write_scene(&out, &scenes[i], &outcome);
        else
            bench_decision_print_text(&scenes[i], &outcome);
    }
    if (json)
        bench_decision_write_end(&out, within);
    else
        printf("budget: p50 <= %d ns, nothing allocated: %s\n", BUDGET_NS,
               within ? "kept" : "BROKEN");
    return within ? 0 : 1;
}
