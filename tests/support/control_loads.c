/* control_loads.c - commands about loads, reports and answers to the controller. */
#include "engine/item/storage_key.h"
#include "tests/check.h"
#include "tests/support/control_world.h"
#include "tests/support/split_verdicts.h"

/* ---- load ---- */

static void run_demand(void *world, struct case_words *c)
{
    struct control_table *t = control_world_load(world, case_word(c, 1));
    const bool none = c->count == 2;
    for (int i = 0; i < CONTROL_PARTITIONS_MAX; i++) {
        const char *units = case_next(c);
        t->units[i] = none || (units != NULL && units[0] == '-') ? -1
                      : units == NULL                            ? 0
                                                                 : case_number(units);
    }
}

static void loads_read_index(struct control_world *w, struct case_words *c, struct control_load *l)
{
    const char *index = case_option(c, "index"), *because = case_option(c, "because");
    int reason = ADMIT_OK;
    while (because != NULL && strcmp(admit_reason_name((enum admit_reason)reason), because) != 0)
        assert_true(++reason < ADMIT_REASONS);
    if (index != NULL) /* `gone`: one that is no more */
        l->index = (struct index_refusal){
            strcmp(index, "gone") == 0 ? 1000 : catalog_world_table(&w->c, index)->id, 7,
            (uint64_t)reason};
    l->index_refusals = case_option_number(c, "index-refusals", 0);
}

static void loads_read(struct control_world *w, struct case_words *c, struct control_load *l)
{
    static const char *const DIRECTIONS[] = {"unknown", "stays", "forward", "backward"};
    const char *direction = case_option(c, "direction"), *excess = case_option(c, "excess"),
               *heavy = case_option(c, "heavy");
    *l = (struct control_load){
        .set = true,
        .consumed = case_option_number(c, "consumed", 0),
        .refused = case_option_number(c, "refused", 0),
        .refusals = case_option_number(c, "refusals", 0),
        .bytes = case_option_number(c, "bytes", -1),
        .excess_ms = excess == NULL ? -1 : case_ms(excess),
        .epoch = case_option_number(c, "epoch", 0),
    };
    if (direction != NULL)
        l->direction = (uint8_t)case_choice(direction, DIRECTIONS, COUNT_OF(DIRECTIONS));
    if (heavy != NULL)
        assert_in_range(snprintf(l->heavy, sizeof l->heavy, "%s", heavy), 0, sizeof l->heavy - 1);
    loads_read_index(w, c, l);
}

static void run_load(void *world, struct case_words *c)
{
    const int64_t i = case_word_number(c, 2);
    assert_in_range(i, 0, CONTROL_PARTITIONS_MAX - 1);
    loads_read(world, c, &control_world_load(world, case_word(c, 1))->loads[i]);
}

static void run_note_or_report(void *world, struct case_words *c)
{
    struct control_world *w = world;
    struct control_load l;
    const struct partition_info *p =
        catalog_world_at(&w->c, case_word(c, 1), case_word_number(c, 2));
    loads_read(w, c, &l);
    control_world_note(w, p, &l, 0);
    if (strcmp(case_word(c, 0), "report") == 0)
        cluster_loads_take_partition(w->loads, w->now, &w->reports[p->id]);
}

static void run_nodes_report(void *world, struct case_words *c)
{
    struct control_world *w = world;
    (void)c;
    w->nodes_report = true;
}

static void run_busy(void *world, struct case_words *c)
{
    struct control_world *w = world;
    const int64_t node = case_word_number(c, 1);
    assert_in_range(node, 1, CONTROL_NODES);
    w->busy[node] = case_word_number(c, 2);
}

/* ---- answers ---- */

/* One point gives shares of 40 and 60 %, three give 10, 20, 30 and 40 %. */
static void advise_points(struct split_advice *a, uint32_t table, uint32_t points,
                          uint8_t bounds[][STORAGE_KEY_BOUND_SIZE])
{
    for (uint32_t i = 0; i <= points; i++) {
        const uint64_t hash = points == 1 ? 0x10 : 8 * (i + 1);
        if (i < points)
            a->points[a->point_count++] = storage_key_write_bound(bounds[i], table, hash << 56);
        for (int kind = 0; kind < SPLIT_KINDS; kind++)
            a->share_ppm[kind][i] = points == 1 ? 400000 + 200000 * i : 100000 * (i + 1);
    }
}

/* Advice about a partition of the table, by its leader. The popular item has 91 % of the load. */
static void loads_advise(struct control_world *w, uint32_t table, enum split_verdict verdict,
                         uint32_t points)
{
    struct buffer b = {0}, key = {0};
    uint8_t bounds[3][STORAGE_KEY_BOUND_SIZE];
    const struct attr popular = {ATTR_STRING, slice_of("popular")};
    struct split_advice a = {.verdict = verdict, .samples = 1000};
    assert_in_range(points, 1, 3);
    if (verdict == SPLIT_ADVISED)
        advise_points(&a, table, points, bounds);
    if (verdict == SPLIT_REFUSED_POPULAR_KEY) {
        storage_key_append(&key, table, &popular, NULL);
        a.key = buffer_slice(&key);
        a.key_share_ppm = 910000;
    }
    split_advice_encode(&b, &a);
    control_world_answer(w, REPLY_OK, buffer_slice(&b));
    buffer_deinit(&key);
    buffer_deinit(&b);
}

/* `answer ok`, `answer overloaded`, `answer VERDICT TABLE [points=N]` */
static void run_answer(void *world, struct case_words *c)
{
    struct control_world *w = world;
    const char *what = case_word(c, 1);
    if (strcmp(what, "ok") == 0 || strcmp(what, "overloaded") == 0) {
        control_world_answer(w, what[1] == 'k' ? REPLY_OK : REPLY_OVERLOADED, slice_make(NULL, 0));
        return;
    }
    int verdict = 0;
    while (strcmp(split_verdict_name((enum split_verdict)verdict), what) != 0)
        assert_true(++verdict < SPLIT_VERDICTS);
    loads_advise(w, catalog_world_table(&w->c, case_word(c, 2))->id, (enum split_verdict)verdict,
                 (uint32_t)case_option_number(c, "points", 1));
}

/* The catalog takes the split that the controller asks for. */
static void run_accept(void *world, struct case_words *c)
{
    struct control_world *w = world;
    struct catalog_command split = catalog_world_command(&w->c, CATALOG_SPLIT);
    assert_int_equal(w->request.request.op, REQUEST_TABLE_SPLIT);
    split.split = w->request.request.table_split.split;
    catalog_world_print(&w->c, c, catalog_world_apply(&w->c, &split));
    control_world_answer(w, REPLY_OK, slice_make(NULL, 0));
}

const struct case_verb control_load_verbs[] = {
    {.name = "demand", .run = run_demand},
    {.name = "load", .run = run_load},
    {.name = "note", .run = run_note_or_report},
    {.name = "report", .run = run_note_or_report},
    {.name = "nodes-report", .run = run_nodes_report},
    {.name = "busy", .run = run_busy},
    {.name = "answer", .run = run_answer},
    {.name = "accept", .run = run_accept},
    {.more = control_policy_verbs},
};
