/* control_advice_test.c - what is told about the design of a table's keys, and when nothing is. */
#include "base/settings/control.h"
#include "control/controller_internal.h"
#include "engine/heat/sketch.h"
#include "tests/check.h"
#include "tests/support/control_fixture.h"

struct fixture {
    struct control_fixture s;
    const struct table *table;
    struct buffer keys[HEAVY_KEYS_MAX];
    struct buffer said; /* the texts of all advice */
    int count;
};

static void fixture_open(struct fixture *w, const char *tag)
{
    struct buffer tags = {0};
    *w = (struct fixture){0};
    control_fixture_init(&w->s, 3);
    config_edit_control(&w->s.config)->control_split = 0;
    config_edit_control(&w->s.config)->control_adaptive = 0;
    config_edit_control(&w->s.config)->control_key_sharding = 0;
    tag_append(&tags, &(struct tag){slice_of(KEY_SHARDING_TAG), slice_of(tag), true});
    struct catalog_command c = control_fixture_command(&w->s, CATALOG_CREATE);
    c.spec = (struct table_spec){.name = slice_of("t"),
                                 .partition_key = {slice_of("k"), ATTR_STRING},
                                 .sort_key = {slice_of("n"), ATTR_STRING},
                                 .billing = BILLING_PROVISIONED,
                                 .rcu = 100,
                                 .wcu = 10000,
                                 .tags = buffer_slice(&tags)};
    assert_int_equal(control_fixture_apply(&w->s, &c), REPLY_OK);
    buffer_deinit(&tags);
    c = control_fixture_command(&w->s, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_find(w->s.catalog, slice_of("t")));
    assert_int_equal(control_fixture_apply(&w->s, &c), REPLY_OK);
    w->table = catalog_find(w->s.catalog, slice_of("t"));
}

static void fixture_close(struct fixture *w)
{
    for (int i = 0; i < HEAVY_KEYS_MAX; i++)
        buffer_deinit(&w->keys[i]);
    buffer_deinit(&w->said);
    control_fixture_deinit(&w->s);
}

/* The load of partition 0. */
struct load {
    int64_t consumed; /* units per second */
    int64_t refused;
    enum sketch_direction direction;
    int64_t keys[HEAVY_KEYS_MAX]; /* units per second; 0: no more */
};

static void fixture_report(struct fixture *w, const struct load *l, int64_t ms)
{
    const struct partition_info *p = &w->table->partitions[0];
    struct partition_report *r = &w->s.reports[p->id];
    struct load_total *total = &r->totals[ADMIT_WRITE];
    r->table_id = w->table->id;
    r->partition = p->id;
    r->member = p->members[0];
    r->epoch = p->epoch;
    r->write_direction = (uint8_t)l->direction;
    total->consumed_mcu += l->consumed * ms;
    total->refused_mcu += l->refused * ms;
    total->refused[ADMIT_REFUSED_KEY_RANGE] += l->refused * ms / 1000;
    r->heavy_count = 0;
    for (int i = 0; i < HEAVY_KEYS_MAX && l->keys[i] > 0; i++) {
        char name[8];
        snprintf(name, sizeof name, "key%d", i);
        const struct attr a = {.type = ATTR_STRING, .body = slice_of(name)};
        buffer_clear(&w->keys[i]);
        storage_key_append_collection(&w->keys[i], w->table->id, &a);
        r->heavy[r->heavy_count++] =
            (struct heavy_key){buffer_slice(&w->keys[i]), l->keys[i] * MCU_PER_UNIT};
    }
    cluster_loads_take_partition(w->s.loads, w->s.now, r);
}

static void fixture_run(struct fixture *w, const struct load *l, int seconds)
{
    for (int i = 0; i < 2 * seconds; i++) {
        fixture_report(w, l, 500);
        control_fixture_evaluate(&w->s, 500, true);
        for (uint32_t k = 0; k < w->s.decision_count; k++) {
            const struct event *e = &w->s.decisions[k].event;
            if (e->kind != EVENT_ADVICE)
                continue;
            w->count++;
            buffer_append_slice(&w->said, e->reason);
            buffer_append_u8(&w->said, '\n');
        }
    }
}

static void assert_said(struct fixture *w, const char *text)
{
    if (!slice_is(buffer_slice(&w->said), text))
        fail_msg("%.*s", (int)w->said.size, (const char *)w->said.data);
    buffer_clear(&w->said);
    w->count = 0;
}

TEST(each_design_that_makes_heat_is_named_with_its_evidence)
{
    static const struct {
        struct load load;
        const char *text;
    } CASES[] = {
        {{900, 100, SKETCH_FORWARD, {900}},
         "sequential: k=\"key0\" has 90 % of the writes, 900 units a second, and each goes behind "
         "those before: all to one place. Set the table's tag weir:key-sharding to auto, or spread "
         "them "
         "over several partition keys\n"
         "idle-units: of 10000 write units a second 900 are consumed, but partition 1 refuses "
         "writes by its maximum: more units of the table do not help it\n"},
        {{1000, 0, SKETCH_STAYS, {800}},
         "one-key: k=\"key0\" has 80 % of the writes, 800 units a second. Set the table's tag "
         "weir:key-sharding to auto, or spread them over several partition keys\n"},
        {{2000, 0, SKETCH_STAYS, {700, 700, 500}},
         "few-keys: 3 partition keys have 95 % of the writes, the heaviest is k=\"key0\" with 700 "
         "units a second. Choose a key of many values\n"},
        {{2000, 0, SKETCH_STAYS, {700, 500}}, ""},
        {{3000, 0, SKETCH_STAYS, {0}}, ""},
        {{3000, 0, SKETCH_FORWARD, {0}}, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct fixture w;
        fixture_open(&w, "off");
        config_edit_control(&w.s.config)->control_advice = 0;
        fixture_run(&w, &CASES[i].load, 30); /* until rates are exact */
        config_edit_control(&w.s.config)->control_advice = 1;
        fixture_run(&w, &CASES[i].load, 60); /* said once */
        assert_said(&w, CASES[i].text);
        fixture_close(&w);
    }
}

TEST(it_is_said_again_after_a_day)
{
    static const struct load LOAD = {900, 0, SKETCH_STAYS, {900}};
    struct fixture w;
    (void)state;
    fixture_open(&w, "off");
    fixture_run(&w, &LOAD, 60);
    assert_int_equal(w.count, 1);
    control_fixture_evaluate(&w.s, 86400000 - 120000, true);
    fixture_run(&w, &LOAD, 30);
    assert_int_equal(w.count, 1);
    fixture_run(&w, &LOAD, 90);
    assert_int_equal(w.count, 2);
    fixture_close(&w);
}

TEST(weir_says_nothing_of_keys_that_it_spreads_itself)
{
    static const struct load LOAD = {900, 0, SKETCH_FORWARD, {900}};
    struct fixture w;
    (void)state;
    fixture_open(&w, "auto");
    fixture_run(&w, &LOAD, 30);
    assert_int_equal(w.count, 0);
    fixture_close(&w);
    fixture_open(&w, "off");
    config_edit_control(&w.s.config)->control_advice = 0;
    fixture_run(&w, &LOAD, 30);
    assert_int_equal(w.count, 0);
    fixture_close(&w);
}

/* A split or more shards have helped the partition since: the last evaluation would tell of what is
 * over. */
TEST(who_refuses_nothing_any_more_gets_no_advice_on_units)
{
    static const struct load HOT = {900, 100, SKETCH_STAYS, {0}},
                             HELPED = {900, 0, SKETCH_STAYS, {0}};
    struct fixture w;
    (void)state;
    fixture_open(&w, "off");
    config_edit_control(&w.s.config)->control_advice = 0;
    fixture_run(&w, &HOT, 30);
    fixture_run(&w, &HELPED, 4);
    config_edit_control(&w.s.config)->control_advice = 1;
    fixture_run(&w, &HELPED, 60);
    assert_said(&w, "");
    fixture_close(&w);
}
