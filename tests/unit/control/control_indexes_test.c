/* control_indexes_test.c - events about global indexes that hold up writes of their table. */
#include "base/settings/control.h"
#include "engine/index/index.h"
#include "tests/check.h"
#include "tests/support/control_fixture.h"

struct fixture {
    struct control_fixture s;
    const struct table *table;
    uint32_t index; /* number of the index's table */
};

static void fixture_settle(struct fixture *w, const char *name)
{
    struct catalog_command c = control_fixture_command(&w->s, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_find(w->s.catalog, slice_of(name)));
    assert_int_equal(control_fixture_apply(&w->s, &c), REPLY_OK);
}

/* Table t with the global index by-a. */
static void fixture_open(struct fixture *w)
{
    struct index by_a = {.name = slice_of("by-a"),
                         .partition_count = 1,
                         .keys = {{slice_of("a"), ATTR_STRING}},
                         .projection = PROJECT_ALL};
    const struct index_set set = {{slice_of("k"), ATTR_STRING}, {{NULL, 0}, 0}, 1, 0, &by_a};
    const struct table_spec units = {
        .name = slice_of("by-a"), .billing = BILLING_PROVISIONED, .rcu = 10, .wcu = 10};
    struct buffer indexes = {0}, globals = {0};
    *w = (struct fixture){0};
    control_fixture_init(&w->s, 3);
    config_edit_control(&w->s.config)->control_split = 0;
    config_edit_control(&w->s.config)->control_adaptive = 0;
    index_set_encode(&indexes, &set);
    table_spec_append_sized(&globals, &units);
    struct catalog_command c = control_fixture_command(&w->s, CATALOG_CREATE);
    c.spec = (struct table_spec){.name = slice_of("t"),
                                 .partition_key = set.partition_key,
                                 .billing = BILLING_PROVISIONED,
                                 .rcu = 100,
                                 .wcu = 100,
                                 .indexes = buffer_slice(&indexes),
                                 .globals = buffer_slice(&globals)};
    assert_int_equal(control_fixture_apply(&w->s, &c), REPLY_OK);
    buffer_deinit(&indexes);
    buffer_deinit(&globals);
    fixture_settle(w, "t");
    fixture_settle(w, "t/by-a");
    w->table = catalog_find(w->s.catalog, slice_of("t"));
    w->index = catalog_find(w->s.catalog, slice_of("t/by-a"))->id;
}

/* The leader reports so many more writes that were refused for that index; 0: no index is named. */
static void fixture_report(struct fixture *w, int64_t refused, uint32_t index,
                           enum admit_reason reason)
{
    const struct partition_info *p = &w->table->partitions[0];
    struct partition_report *r = &w->s.reports[p->id];
    r->table_id = w->table->id;
    r->partition = p->id;
    r->member = p->members[0];
    r->epoch = p->epoch;
    r->totals[ADMIT_WRITE].refused[ADMIT_REFUSED_INDEX] += refused;
    r->index_refusal = (struct index_refusal){index, index == 0 ? 0 : 7, reason};
    cluster_loads_take_partition(w->s.loads, w->s.now, r);
}

/* Looks after half a second, and expects this event; NULL: none. */
static void fixture_expect(struct fixture *w, enum event_kind kind, const char *text)
{
    control_fixture_evaluate(&w->s, 500, true);
    const struct event *told = NULL;
    for (uint32_t i = 0; i < w->s.decision_count; i++) {
        const struct event *e = &w->s.decisions[i].event;
        if (e->kind == EVENT_INDEX_BEHIND || e->kind == EVENT_INDEX_CAUGHT_UP) {
            assert_null(told);
            told = e;
        }
    }
    assert_int_equal(told != NULL, text != NULL);
    if (told == NULL)
        return;
    assert_int_equal(told->kind, kind);
    assert_slice_is(told->reason, text);
    assert_slice_is(told->table, "t");
}

static void fixture_close(struct fixture *w)
{
    control_fixture_deinit(&w->s);
}

static const char BEHIND[] =
    "writes are refused: index by-a is behind, because its partition 7 refuses for key-range";

static const char CAUGHT_UP[] =
    "indexes take rows again, and no write was refused for one for 10 seconds";

/* A leader may refuse writes before it knows which index did not take a row. */
TEST(a_report_that_names_no_index_is_told_with_the_name_of_the_next)
{
    struct fixture w;
    fixture_open(&w);
    fixture_report(&w, 0, 0, ADMIT_OK);
    fixture_expect(&w, 0, NULL);
    fixture_report(&w, 3, 0, ADMIT_OK);
    fixture_expect(&w, 0, NULL);
    fixture_report(&w, 0, 0, ADMIT_OK);
    fixture_expect(&w, 0, NULL);
    fixture_report(&w, 0, w.index, ADMIT_REFUSED_KEY_RANGE);
    fixture_expect(&w, EVENT_INDEX_BEHIND, BEHIND);
    fixture_report(&w, 5, w.index, ADMIT_REFUSED_KEY_RANGE);
    fixture_expect(&w, 0, NULL);
    fixture_close(&w);
}

TEST(a_report_that_names_an_index_that_is_gone_is_kept_for_the_next)
{
    struct fixture w;
    fixture_open(&w);
    fixture_report(&w, 0, 0, ADMIT_OK);
    fixture_expect(&w, 0, NULL);
    fixture_report(&w, 3, w.index + 1000, ADMIT_REFUSED_KEY_RANGE);
    fixture_expect(&w, 0, NULL);
    fixture_report(&w, 0, w.index, ADMIT_OK);
    fixture_expect(&w, EVENT_INDEX_BEHIND,
                   "writes are refused: index by-a is behind, because its partition 7 does not "
                   "answer");
    fixture_close(&w);
}

/* Ten seconds without a refused write are not enough: perhaps nobody writes. */
TEST(an_index_has_not_caught_up_while_it_takes_no_rows)
{
    struct fixture w;
    fixture_open(&w);
    fixture_report(&w, 0, 0, ADMIT_OK);
    fixture_expect(&w, 0, NULL);
    fixture_report(&w, 1, w.index, ADMIT_REFUSED_KEY_RANGE);
    fixture_expect(&w, EVENT_INDEX_BEHIND, BEHIND);
    for (int i = 0; i < 40; i++)
        fixture_expect(&w, 0, NULL);
    fixture_report(&w, 0, 0, ADMIT_OK);
    fixture_expect(&w, EVENT_INDEX_CAUGHT_UP, CAUGHT_UP);
    fixture_close(&w);
}

TEST(an_index_has_caught_up_ten_seconds_after_the_last_refusal)
{
    struct fixture w;
    fixture_open(&w);
    fixture_report(&w, 0, 0, ADMIT_OK);
    fixture_expect(&w, 0, NULL);
    fixture_report(&w, 1, w.index, ADMIT_REFUSED_KEY_RANGE);
    fixture_expect(&w, EVENT_INDEX_BEHIND, BEHIND);
    for (int i = 0; i < 10; i++)
        fixture_expect(&w, 0, NULL);
    fixture_report(&w, 1, 0, ADMIT_OK); /* no name is needed any more */
    for (int i = 0; i < 20; i++)
        fixture_expect(&w, 0, NULL);
    fixture_expect(&w, EVENT_INDEX_CAUGHT_UP, CAUGHT_UP);
    fixture_expect(&w, 0, NULL);
    fixture_close(&w);
}
