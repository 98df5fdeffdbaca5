/* Calls by hand: CALLS-1 and CALLS-2 of engine/node/core/internal_calls.h. */
#include "engine/node/core/internal_calls.h"

#include <stdlib.h>

#include "engine/catalog/table.h"
#include "engine/message/message.h"
#include "engine/node/core/node_effect.h"
#include "tests/check.h"

enum {
    NODES = 3,
    TABLE = 7,
    TOKEN = 20,
    TIMEOUT_MS = 250
};

struct scene {
    struct node_env env;
    struct internal_calls calls;
    struct internal_call_answer answer;
};

static void scene_open(struct scene *s)
{
    *s = (struct scene){.env = {.id = 1, .node_count = NODES, .started = true}};
    internal_calls_init(&s->calls, &s->env);
    env_begin_event(&s->env, (struct instant){0});
}

static void scene_close(struct scene *s)
{
    internal_calls_deinit(&s->calls);
    free(s->env.effects);
    arena_deinit(&s->env.lent);
    buffer_deinit(&s->env.scratch);
}

/* To the leader of a partition on the nodes 1, 2 and 3; `first` is asked first. */
static void scene_begin(struct scene *s, uint32_t first)
{
    const struct internal_call_options options = {.kind = INTERNAL_CALL_RECONCILE,
                                                  .subject = TABLE,
                                                  .token = TOKEN,
                                                  .first = first,
                                                  .candidate_count = NODES,
                                                  .candidates = {1, 2, 3},
                                                  .timeout = duration_ms(1000)};
    const struct request request = {
        .op = REQUEST_PARTITION_MEMBERS, .partition = 9, .group.info = slice_of("members")};
    internal_calls_begin(&s->calls, &options, &request);
}

/* The request that leaves, and the node to which. 0: none does. */
static uint32_t scene_sent(struct scene *s, struct request *out)
{
    if (s->env.effect_next == s->env.effect_count)
        return 0;
    const struct node_effect *e = &s->env.effects[s->env.effect_next++];
    assert_int_equal(e->kind, NODE_REQUEST);
    *out = e->request;
    return (uint32_t)e->to;
}

static bool scene_pass(struct scene *s, int64_t ms)
{
    env_begin_event(&s->env, instant_add(s->env.now, duration_ms(ms)));
    return internal_calls_tick(&s->calls, &s->answer);
}

/* True: the reply ends the call. */
static bool scene_reply(struct scene *s, uint64_t id, enum reply_code code, uint32_t leader)
{
    static struct reply reply;
    reply = (struct reply){.id = id, .code = code, .leader = leader};
    return internal_calls_take_reply(&s->calls, &reply, &s->answer);
}

TEST(an_answer_names_its_request)
{
    struct scene s;
    struct request r;
    scene_open(&s);
    scene_begin(&s, 0);
    assert_int_equal(scene_sent(&s, &r), 1);
    assert_int_equal(r.op, REQUEST_PARTITION_MEMBERS);
    assert_int_equal(r.partition, 9);
    assert_slice_is(r.group.info, "members");
    assert_true(scene_reply(&s, r.id, REPLY_OVERLOADED, 0));
    assert_int_equal(s.answer.kind, INTERNAL_CALL_RECONCILE);
    assert_int_equal(s.answer.subject, TABLE);
    assert_int_equal(s.answer.token, TOKEN);
    assert_int_equal(s.answer.node, 1);
    assert_false(s.answer.moved);
    assert_int_equal(s.answer.reply->code, REPLY_OVERLOADED);
    assert_false(scene_pass(&s, 5000)); /* nothing is left to do */
    assert_int_equal(scene_sent(&s, &r), 0);
    scene_close(&s);
}

TEST(after_a_lost_reply_the_next_node_gets_the_request)
{
    struct scene s;
    struct request first, second;
    scene_open(&s);
    scene_begin(&s, 2);
    assert_int_equal(scene_sent(&s, &first), 2);
    assert_false(scene_pass(&s, TIMEOUT_MS - 1));
    assert_int_equal(scene_sent(&s, &second), 0);
    assert_false(scene_pass(&s, 1));
    assert_int_equal(scene_sent(&s, &second), 1);
    assert_slice_is(second.group.info, "members");
    /* Either may answer: the late one too. */
    assert_int_equal(second.id, first.id);
    assert_true(scene_reply(&s, first.id, REPLY_OK, 0));
    assert_true(s.answer.moved);
    assert_false(scene_reply(&s, second.id, REPLY_OK, 0));
    scene_close(&s);
}

TEST(a_late_reply_to_an_earlier_call_is_for_nobody)
{
    struct scene s;
    struct request first, second;
    scene_open(&s);
    scene_begin(&s, 0);
    assert_int_equal(scene_sent(&s, &first), 1);
    internal_calls_end(&s.calls, INTERNAL_CALL_RECONCILE, TABLE + 1);
    internal_calls_end(&s.calls, INTERNAL_CALL_REPORT, TABLE);
    assert_false(scene_pass(&s, TIMEOUT_MS)); /* it was neither of them */
    assert_int_equal(scene_sent(&s, &first), 2);
    internal_calls_end(&s.calls, INTERNAL_CALL_RECONCILE, TABLE);
    scene_begin(&s, 0);
    assert_int_equal(scene_sent(&s, &second), 1);
    assert_false(scene_reply(&s, first.id, REPLY_OK, 0));
    assert_false(scene_reply(&s, 0, REPLY_OK, 0));
    assert_true(scene_reply(&s, second.id, REPLY_OK, 0));
    scene_close(&s);
}

TEST(a_leader_that_has_moved_is_followed)
{
    struct scene s;
    struct request r;
    scene_open(&s);
    scene_begin(&s, 0);
    assert_int_equal(scene_sent(&s, &r), 1);
    assert_false(scene_reply(&s, r.id, REPLY_NOT_LEADER, 3));
    assert_int_equal(scene_sent(&s, &r), 3);
    assert_true(scene_reply(&s, r.id, REPLY_OK, 3));
    assert_int_equal(s.answer.node, 3);
    assert_true(s.answer.moved);
    scene_close(&s);
}

TEST(two_nodes_that_name_each_other_are_not_tried_without_end)
{
    struct scene s;
    struct request r;
    uint32_t node, nodes = 0;
    scene_open(&s);
    scene_begin(&s, 0);
    for (; (node = scene_sent(&s, &r)) != 0; nodes++) {
        assert_true(nodes < 100);
        assert_false(scene_reply(&s, r.id, REPLY_NOT_LEADER, 3 - node));
    }
    assert_int_equal(nodes, 5);
    assert_false(scene_pass(&s, 10));
    assert_int_equal(scene_sent(&s, &r), 2);
    scene_close(&s);
}

TEST(where_no_leader_is_known_pauses_grow)
{
    struct scene s;
    struct request r;
    const enum reply_code codes[] = {REPLY_NOT_LEADER, REPLY_WRONG_PARTITION, REPLY_STOPPED};
    scene_open(&s);
    scene_begin(&s, 0);
    assert_int_equal(scene_sent(&s, &r), 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(scene_reply(&s, r.id, codes[i], 0));
        assert_false(scene_pass(&s, (10 << i) - 1));
        assert_int_equal(scene_sent(&s, &r), 0);
        assert_false(scene_pass(&s, 1));
        assert_int_equal(scene_sent(&s, &r), (i + 1) % NODES + 1);
    }
    scene_close(&s);
}

/* A node may be at fault; the answer's union is not looked at by another kind than its own. */
/* Else an outdated map costs the patience of a call, and a lock holds its readers up as long. */
TEST(a_call_that_is_wrong_at_every_candidate_ends)
{
    struct scene s;
    struct request first, r;
    uint32_t nodes = 0;
    bool ends = false;
    scene_open(&s);
    scene_begin(&s, 2);
    uint32_t node = scene_sent(&s, &first);
    assert_false(scene_reply(&s, first.id, REPLY_NOT_LEADER, 0)); /* it has a replica, now */
    while (!ends) {
        while ((node = scene_sent(&s, &r)) == 0)
            assert_false(scene_pass(&s, 10));
        nodes |= 1U << node;
        ends = scene_reply(&s, first.id, REPLY_WRONG_PARTITION, 0);
        assert_int_equal(ends, nodes == (1 << 1 | 1 << 2 | 1 << 3));
    }
    assert_int_equal(s.answer.reply->code, REPLY_WRONG_PARTITION);
    scene_close(&s);
}

TEST(an_answer_to_another_kind_of_request_is_none)
{
    struct scene s;
    struct request r;
    scene_open(&s);
    scene_begin(&s, 0);
    assert_int_equal(scene_sent(&s, &r), 1);
    const struct reply other = {.id = r.id, .kind = ANSWER_TABLE};
    assert_false(internal_calls_take_reply(&s.calls, &other, &s.answer));
    assert_true(scene_reply(&s, r.id, REPLY_OK, 0));
    scene_close(&s);
}

TEST(a_call_ends_at_its_deadline)
{
    struct scene s;
    struct request r = {0};
    scene_open(&s);
    scene_begin(&s, 0);
    scene_begin(&s, 0);
    uint32_t sent = 0;
    for (int64_t ms = 0; ms < 999; ms++) {
        while (scene_sent(&s, &r) != 0)
            sent++;
        assert_false(scene_pass(&s, 1));
    }
    assert_int_equal(sent, 8);
    for (int i = 0; i < 2; i++) { /* both are told */
        assert_true(scene_pass(&s, i == 0 ? 1 : 0));
        assert_int_equal(s.answer.token, TOKEN);
        assert_int_equal(s.answer.reply->code, REPLY_UNKNOWN);
    }
    assert_false(scene_pass(&s, 0));
    assert_false(scene_reply(&s, r.id, REPLY_OK, 0));
    scene_close(&s);
}

TEST(a_call_to_one_replica_stays_with_its_node)
{
    struct scene s;
    struct request r;
    const struct internal_call_options options = {.kind = INTERNAL_CALL_RECONCILE,
                                                  .candidate_count = 1,
                                                  .candidates = {2},
                                                  .timeout = duration_ms(1000)};
    const struct request request = {.op = REQUEST_PARTITION_OPEN, .replica.info = slice_of("open")};
    scene_open(&s);
    internal_calls_begin(&s.calls, &options, &request);
    assert_int_equal(scene_sent(&s, &r), 2);
    assert_false(scene_pass(&s, TIMEOUT_MS));
    assert_int_equal(scene_sent(&s, &r), 2);
    assert_true(scene_reply(&s, r.id, REPLY_NOT_LEADER, 3));
    assert_int_equal(s.answer.reply->leader, 3);
    scene_close(&s);
}

/* A node that has no room just now is asked again, though the call is for it alone, and once. */
TEST(a_call_that_insists_waits_for_a_node_without_room)
{
    struct scene s;
    struct request r;
    struct internal_call_options options = {.kind = INTERNAL_CALL_KEY_SHARD_MOVE,
                                            .candidate_count = 1,
                                            .candidates = {2},
                                            .once = true,
                                            .insists = true,
                                            .timeout = duration_ms(1000)};
    const struct request request = {.op = REQUEST_PARTITION_OPEN, .replica.info = slice_of("open")};
    scene_open(&s);
    internal_calls_begin(&s.calls, &options, &request);
    for (int64_t ms = 10; ms <= 40; ms *= 2) {
        assert_int_equal(scene_sent(&s, &r), 2);
        assert_false(scene_reply(&s, r.id, REPLY_OVERLOADED, 0));
        assert_int_equal(scene_sent(&s, &r), 0);
        assert_false(scene_pass(&s, ms));
    }
    assert_int_equal(scene_sent(&s, &r), 2);
    assert_true(scene_reply(&s, r.id, REPLY_LOCKED, 0));
    options.insists = false;
    internal_calls_begin(&s.calls, &options, &request);
    assert_int_equal(scene_sent(&s, &r), 2);
    assert_true(scene_reply(&s, r.id, REPLY_OVERLOADED, 0));
    scene_close(&s);
}

TEST(a_call_to_the_catalog_may_try_every_node)
{
    struct scene s;
    struct request r;
    const struct internal_call_options options = {
        .kind = INTERNAL_CALL_REPORT, .first = 3, .timeout = duration_ms(1000)};
    const struct request request = {.op = REQUEST_TABLE_REPORT,
                                    .report.records = slice_of("report")};
    scene_open(&s);
    internal_calls_begin(&s.calls, &options, &request);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(scene_sent(&s, &r), (i + 2) % NODES + 1);
        assert_false(scene_pass(&s, TIMEOUT_MS));
    }
    internal_calls_end_all(&s.calls, INTERNAL_CALL_REPORT);
    assert_int_equal(scene_sent(&s, &r), 3); /* what has left may still be sent */
    assert_slice_is(r.report.records, "report");
    scene_close(&s);
}

/* The only replica moves: its new one does not know the leader, and the old one leads. */
TEST(a_replica_on_its_way_out_may_lead)
{
    struct scene s;
    struct request r;
    const struct partition_info info = {.member_count = 1,
                                        .members = {raft_member_id(1, 1, 0)},
                                        .leaving = raft_member_id(3, 1, 0)};
    struct internal_call_options options = {.kind = INTERNAL_CALL_TRANSACT_QUERY,
                                            .timeout = duration_ms(1000)};
    const struct request request = {
        .op = REQUEST_PARTITION_MEMBERS, .partition = 9, .group.info = slice_of("members")};
    scene_open(&s);
    internal_calls_to_leader(&options, &info);
    internal_calls_begin(&s.calls, &options, &request);
    assert_int_equal(scene_sent(&s, &r), 1);
    assert_false(scene_reply(&s, r.id, REPLY_NOT_LEADER, 0));
    assert_false(scene_pass(&s, 10));
    assert_int_equal(scene_sent(&s, &r), 3);
    assert_true(scene_reply(&s, r.id, REPLY_OK, 0));
    scene_close(&s);
}
