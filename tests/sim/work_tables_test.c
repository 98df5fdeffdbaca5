/* What the client of tables knows of a table (sim/plan/work_tables.h). */
#include "tests/check.h"

#include "sim/plan/work_tables.h"
#include "tests/support/lab.h"

enum {
    STOPPED_S = 8, /* longer than the client waits for an answer */
    LONGEST_S = 120,
    TABLE = 1
};

static void not_expected(void *context, struct slice why)
{
    (void)context;
    fail_msg("%.*s", (int)why.size, (const char *)why.data);
}

/* TABLES-1 is checked again: work_tables_mark is 0 while nothing is certain. */
TEST(a_creation_of_unknown_outcome_is_not_unknown_for_ever)
{
    struct lab l;
    struct recording history;
    struct workload workload = {.tables = 2,
                                .keys = 1,
                                .partitions = 1,
                                .units = 10,
                                .churn_ns = 100 * NS_PER_MS,
                                .shapes = {{.partition = ATTR_STRING}, {.partition = ATTR_STRING}}};
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    recording_init(&history, workload.tables * workload.keys);
    const struct work_tables_options options = {.http = lab_http(&l, 1),
                                                .history = &history,
                                                .workload = &workload,
                                                .seed = check_first_seed(1),
                                                .failed = not_expected};
    struct work_tables *t = work_tables_create(&options);
    assert_int_equal(work_tables_mark(t, TABLE), 1);
    for (uint32_t node = 1; node <= l.world.plan.nodes; node++)
        world_pause(&l.world, node,
                    instant_add(l.world.scheduler.now, duration_ms(STOPPED_S * 1000)));
    work_tables_begin(t); /* with a CreateTable, which is not answered */
    for (int ms = 0; ms < LONGEST_S * 1000 && work_tables_mark(t, TABLE) <= 1; ms++)
        lab_pass(&l, NS_PER_MS);
    assert_true(work_tables_mark(t, TABLE) > 1);
    work_tables_destroy(t);
    recording_deinit(&history);
    lab_deinit(&l);
}
