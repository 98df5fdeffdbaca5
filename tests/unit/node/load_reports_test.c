/* Reports by hand: REPORT-1 of engine/node/replica/load_reports.h. */
#include "engine/node/replica/load_reports.h"

#include <stdlib.h>

#include "base/settings/reports.h"
#include "engine/message/message.h"
#include "engine/node/core/node_effect.h"
#include "tests/check.h"

enum {
    NODES = 3,
    INTERVAL_MS = 100,
    GAP_MS = 20
};

struct scene {
    struct config config;
    struct node_env env;
    struct partitions partitions; /* none */
    struct throughput throughput;
    struct internal_calls calls;
    struct load_reports reports;
    uint64_t last_id; /* of the report that was sent last */
};

static void scene_open(struct scene *s)
{
    *s = (struct scene){.env = {.id = 1, .node_count = NODES, .started = true}};
    config_init(&s->config, PROFILE_RESEARCH);
    config_edit_reports(&s->config)->load_report_ms = INTERVAL_MS;
    s->env.config = &s->config;
    internal_calls_init(&s->calls, &s->env);
    env_begin_event(&s->env, (struct instant){0});
    s->reports = (struct load_reports){.env = &s->env,
                                       .partitions = &s->partitions,
                                       .throughput = &s->throughput,
                                       .calls = &s->calls,
                                       .catalog_leader = 2};
}

static void scene_close(struct scene *s)
{
    internal_calls_deinit(&s->calls);
    free(s->env.effects);
    arena_deinit(&s->env.lent);
    buffer_deinit(&s->env.scratch);
}

static void scene_take(struct scene *s, const struct internal_call_answer *answer)
{
    uint64_t as_of;
    struct reader named;
    load_reports_answered(&s->reports, answer, &as_of, &named);
}

/* So much later. The node to which a report leaves; 0: none does. */
static uint32_t scene_pass(struct scene *s, int64_t ms)
{
    struct internal_call_answer answer;
    env_begin_event(&s->env, instant_add(s->env.now, duration_ms(ms)));
    while (internal_calls_tick(&s->calls, &answer))
        scene_take(s, &answer);
    load_reports_tick(&s->reports);
    if (s->env.effect_next == s->env.effect_count)
        return 0;
    const struct node_effect *e = &s->env.effects[s->env.effect_next++];
    assert_int_equal(e->kind, NODE_REQUEST);
    assert_int_equal(e->request.op, REQUEST_TABLE_REPORT);
    assert_int_equal(s->env.effect_next, s->env.effect_count);
    s->last_id = e->request.id;
    return (uint32_t)e->to;
}

static void scene_answer(struct scene *s)
{
    struct internal_call_answer answer;
    const struct reply reply = {.id = s->last_id, .code = REPLY_OK, .kind = ANSWER_GONE};
    assert_true(internal_calls_take_reply(&s->calls, &reply, &answer));
    scene_take(s, &answer);
}

/* The milliseconds until the next report, which leaves for this node. */
static int64_t scene_wait(struct scene *s, uint32_t *to)
{
    for (int64_t ms = 1; ms < 1000 * INTERVAL_MS; ms++) {
        if ((*to = scene_pass(s, 1)) != 0)
            return ms;
    }
    return 0;
}

TEST(a_report_that_is_answered_is_followed_by_one_after_the_interval)
{
    struct scene s;
    uint32_t to;
    scene_open(&s);
    assert_int_equal(scene_pass(&s, 0), 2);
    for (int i = 0; i < 3; i++) {
        scene_answer(&s);
        assert_int_equal(scene_wait(&s, &to), INTERVAL_MS);
        assert_int_equal(to, 2);
    }
    scene_close(&s);
}

TEST(reports_without_answers_become_rare_and_try_each_node)
{
    static const int64_t waits_ms[] = {100, 200, 400, 800, 1600, 1600};
    struct scene s;
    uint32_t to, before = 2;
    scene_open(&s);
    assert_int_equal(scene_pass(&s, 0), 2);
    for (size_t i = 0; i < sizeof waits_ms / sizeof *waits_ms; i++) {
        assert_int_equal(scene_wait(&s, &to), waits_ms[i]);
        assert_int_equal(to, before % NODES + 1);
        before = to;
    }
    assert_int_equal(scene_pass(&s, 700), 0);
    scene_answer(&s);
    assert_int_equal(scene_pass(&s, 0), to); /* at once: the interval is over */
    scene_answer(&s);
    assert_int_equal(scene_wait(&s, &to), INTERVAL_MS);
    scene_close(&s);
}

TEST(urgent_news_wait_for_the_answer_to_the_last_report)
{
    struct scene s;
    uint32_t to;
    scene_open(&s);
    scene_pass(&s, 0);
    load_reports_soon(&s.reports);
    assert_int_equal(scene_pass(&s, INTERVAL_MS - 1), 0);
    scene_answer(&s);
    assert_int_equal(scene_pass(&s, 0), 2);
    scene_answer(&s);
    load_reports_soon(&s.reports);
    assert_int_equal(scene_wait(&s, &to), GAP_MS);
    scene_close(&s);
}
