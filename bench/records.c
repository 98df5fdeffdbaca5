/* records.c - what it costs to keep a decision record.
 *
 * Method: that of decision.c. Each scene fills the ring first, so that every further record
 * displaces one. Time in which the records fall is virtual. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"
#include "router/records/records.h"

enum {
    BATCHES = 20000,
    RING_BYTES = 8 * 1024 * 1024,
    BUDGET_NS = 150,
};

static const struct scene {
    const char *name, *meaning;
    uint32_t places;    /* partitions that refuse in turn */
    int64_t per_second; /* records, virtual */
} scenes[] = {
    {"full", "64 records a second of one partition: all are full", 1, 64},
    {"short", "100,000 records a second of one partition: nearly all are short", 1, 100000},
    {"many", "one record of each of 1,000 partitions in turn", 1000, 1000},
};

struct records_stage {
    struct records *records;
    struct decision_record next;
    uint64_t number;
};

static void records_batch(struct records_stage *s, const struct scene *scene, int count)
{
    for (int i = 0; i < count; i++) {
        s->number++;
        s->next.number = s->number * UINT64_C(0x9E3779B97F4A7C15);
        s->next.partition = (uint32_t)(s->number % scene->places) + 1;
        s->next.wall_ms = (int64_t)s->number * 1000 / scene->per_second;
        records_add(s->records, &s->next);
    }
}

static void records_scene_run(const struct scene *scene, int64_t overhead, struct histogram *ps)
{
    struct records_stage s = {.records = records_create(RING_BYTES)};
    s.next = (struct decision_record){.outcome = RECORD_REFUSED,
                                      .operation = "PutItem",
                                      .node = 1,
                                      .table_id = 1,
                                      .verdict.reason = ADMIT_REFUSED_KEY_RANGE};
    record_add_text(&s.next, RECORD_TABLE, slice_of("orders"), RECORD_TEXTS_SIZE);
    record_add_text(&s.next, RECORD_KEY, slice_of("id=\"user#17\""), RECORD_TEXTS_SIZE);
    histogram_init(ps);
    records_batch(&s, scene, RING_BYTES / 64); /* the ring is full */
    for (int batch = 0; batch < BATCHES; batch++) {
        const int64_t start = bench_clock_ns();
        records_batch(&s, scene, BENCH_BATCH);
        const int64_t spent = bench_clock_ns() - start - overhead;
        histogram_record(ps, MAX(spent, 0) * BENCH_PS_PER_NS / BENCH_BATCH);
    }
    records_destroy(s.records);
}

static void records_write_scene(struct buffer *out, const struct scene *scene,
                                const struct histogram *ps)
{
    json_write_open(out, '{');
    json_member_text(out, "name", scene->name);
    json_member_real(out, "p50_ns", bench_ns_at(ps, 50000));
    json_member_real(out, "p99_ns", bench_ns_at(ps, 99000));
    json_write_close(out, '}');
}

static const char about[] =
    "Times the keeping of decision records in a full ring of 8 MiB, in batches of 32 with the "
    "clock's own cost subtracted. Fails if the p50 is over 150 ns in any scene.\n";

int bench_records(int argc, char **argv)
{
    static struct histogram ps;
    bool json = false, within = true;
    const int code = bench_parse("weir-bench records", about, &json, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    _Static_assert(BENCH_BATCH == 32 && BUDGET_NS == 150, "the help says so");
    struct buffer out = {0};
    const int64_t overhead = bench_overhead_ns(&ps);
    if (json)
        bench_write_scenes(&out, "records", BENCH_BATCH, overhead, BUDGET_NS);
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        records_scene_run(&scenes[i], overhead, &ps);
        within = within && bench_ns_at(&ps, 50000) <= BUDGET_NS;
        if (json)
            records_write_scene(&out, &scenes[i], &ps);
        else
            printf("%-6s p50 %6.1f ns  p99 %6.1f ns  (%s)\n", scenes[i].name,
                   bench_ns_at(&ps, 50000), bench_ns_at(&ps, 99000), scenes[i].meaning);
    }
    if (json) {
        json_write_close(&out, ']');
        json_member_bool(&out, "within_budget", within);
        json_write_close(&out, '}');
        bench_print(&out);
    } else {
        printf("budget: p50 <= %d ns: %s\n", BUDGET_NS, within ? "kept" : "BROKEN");
    }
    return within ? 0 : 1;
}
