/* The core, step by step, on a world by hand. */
#include "replication/raft_internal.h"
#include "tests/check.h"
#include "tests/support/raft_fixture.h"

static struct raft_fixture *make(uint32_t nodes, uint32_t voters)
{
    struct raft_fixture_options options = raft_fixture_options_default(nodes, voters);
    return raft_fixture_create(&options);
}

static void done(struct raft_fixture *w)
{
    assert_string_equal(w->violation, "");
    raft_fixture_destroy(w);
}

TEST(a_single_voter_leads_at_once)
{
    struct raft_fixture *w = make(1, 1);
    raft_fixture_sync(w, 1);
    raft_fixture_sync(w, 1);
    assert_int_equal(raft_leading(w->nodes[1].raft), 1);
    uint64_t id = raft_fixture_propose(w, 1, 20);
    assert_int_not_equal(id, 0);
    raft_fixture_sync(w, 1);
    assert_int_equal(w->acknowledged_count, 1);
    assert_int_equal(raft_fixture_request_read(w, 1), RAFT_OK);
    done(w);
}

TEST(three_voters_elect_replicate_and_commit)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 2));
    for (int i = 0; i < 10; i++) {
        assert_int_not_equal(raft_fixture_propose(w, 2, 20), 0);
        raft_fixture_settle(w);
    }
    assert_int_equal(w->acknowledged_count, 10);
    raft_fixture_pass(w, 200, true);
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(raft_applied(w->nodes[i].raft), 11);
    assert_int_equal(raft_fixture_request_read(w, 2), RAFT_OK);
    done(w);
}

TEST(a_settled_group_is_quiescent)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_propose(w, 1, 20);
    raft_fixture_pass(w, 300, true);
    uint64_t sent = w->raft_messages;
    raft_fixture_pass(w, 1000, true);
    assert_int_equal(w->raft_messages, sent); /* RAFT-6 */
    for (uint32_t i = 1; i <= 3; i++)
        assert_true(raft_deadline(w->nodes[i].raft).ns == INSTANT_NEVER.ns);
    done(w);
}

TEST(a_lost_leader_is_replaced)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_propose(w, 1, 20);
    raft_fixture_settle(w);
    raft_fixture_crash(w, 1, 0);
    raft_fixture_pass(w, 1000, true);
    uint32_t leader = raft_fixture_leader(w);
    assert_true(leader == 2 || leader == 3);
    assert_int_not_equal(raft_fixture_propose(w, leader, 20), 0);
    raft_fixture_settle(w);
    assert_int_equal(w->acknowledged_count, 2);
    raft_fixture_start(w, 1);
    raft_fixture_pass(w, 500, true);
    assert_int_equal(raft_applied(w->nodes[1].raft), raft_applied(w->nodes[leader].raft));
    done(w);
}

/* Two who ran at once refused each other: they do not wait as if nobody had answered. */
TEST(a_split_vote_is_soon_over)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_crash(w, 1, 0);
    while (raft_grants_lease(w->nodes[2].raft) || raft_grants_lease(w->nodes[3].raft))
        raft_fixture_pass(w, 1, false);
    for (uint32_t node = 2; node <= 3; node++)
        raft_fixture_campaign(w, node);
    static const enum raft_message_kind KINDS[] = {RAFT_PRE_VOTE, RAFT_PRE_VOTE_REPLY};
    for (int i = 0; i < 2; i++) {
        assert_true(raft_fixture_deliver_first(w, 2, 3, KINDS[i]));
        assert_true(raft_fixture_deliver_first(w, 3, 2, KINDS[i]));
    }
    assert_int_equal(w->nodes[2].raft->role, RAFT_CANDIDATE);
    assert_int_equal(w->nodes[3].raft->role, RAFT_CANDIDATE);
    raft_fixture_settle(w);
    for (uint32_t node = 2; node <= 3; node++) {
        const struct raft *r = w->nodes[node].raft;
        assert_int_equal(r->role, RAFT_CANDIDATE);
        int64_t left = r->election_at.ns - raft_fixture_local(w, &w->nodes[node]).ns;
        assert_in_range(left, 0, w->options.election.ns); /* otherwise it would be more */
    }
    raft_fixture_pass(w, 500, true);
    assert_true(raft_fixture_leader(w) == 2 || raft_fixture_leader(w) == 3);
    done(w);
}

TEST(a_settled_replica_is_small)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 300, true);
    for (uint32_t i = 1; i <= 3; i++) {
        raft_fixture_checkpoint(w, i, true);
        const struct raft *r = w->nodes[i].raft;
        assert_int_equal(raft_memory_bytes(r), 0);
        assert_null(r->log.slots);
        size_t bytes =
            sizeof *r + r->history_capacity * sizeof *r->history + r->peer_count * sizeof *r->peers;
        assert_in_range(bytes, 1, 1024);
    }
    done(w);
}

/* ---- limits ---- */

TEST(uncommitted_bytes_are_limited) /* RAFT-7 */
{
    struct raft_fixture_options options = raft_fixture_options_default(3, 3);
    options.uncommitted_max_bytes = 1000;
    struct raft_fixture *w = raft_fixture_create(&options);
    assert_true(raft_fixture_elect(w, 1));
    int accepted = 0;
    while (raft_fixture_propose(w, 1, 100) != 0)
        accepted++;
    assert_in_range(accepted, 1, 9);
    assert_int_equal(raft_role(w->nodes[1].raft), RAFT_LEADER);
    raft_fixture_settle(w);
    assert_int_equal(w->acknowledged_count, accepted);
    assert_int_not_equal(raft_fixture_propose(w, 1, 100), 0);
    done(w);
}

TEST(bytes_in_flight_are_limited_per_follower) /* RAFT-7 */
{
    struct raft_fixture_options options = raft_fixture_options_default(3, 3);
    options.inflight_max_bytes = 1000;
    options.message_max_bytes = 400;
    struct raft_fixture *w = raft_fixture_create(&options);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    for (int i = 0; i < 100; i++)
        assert_int_not_equal(raft_fixture_propose(w, 1, 100), 0);
    uint32_t in_flight = 0;
    for (size_t i = 0; i < w->bag_count; i++)
        in_flight += w->bag[i].to == 2 ? w->bag[i].shape.entry_count : 0;
    assert_in_range(in_flight, 2, 9);
    raft_fixture_settle(w);
    assert_int_equal(w->acknowledged_count, 100);
    done(w);
}

/* ---- reads and leases ---- */

TEST(reads_without_a_lease_share_a_round)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    for (uint32_t i = 2; i <= 3; i++)
        w->cut[i][1] = true; /* its lease runs out, it is not deposed yet */
    raft_fixture_pass(w, 110, true);
    memset(w->cut, 0, sizeof w->cut);
    struct raft *r = w->nodes[1].raft;
    struct instant now = raft_fixture_local(w, &w->nodes[1]);
    assert_int_equal(raft_role(r), RAFT_LEADER);
    assert_false(raft_has_lease(r, now));
    uint64_t first, second, third;
    assert_int_equal(raft_read(r, now, &first), RAFT_PENDING);
    assert_int_equal(raft_read(r, now, &second), RAFT_PENDING);
    assert_true(first == second);
    raft_flush(r, now);
    assert_int_equal(raft_read(r, now, &third), RAFT_PENDING);
    assert_true(third > second);
    assert_true(raft_reads_confirmed(r) < first);
    raft_fixture_turn(w, 1);
    raft_fixture_settle(w);
    assert_true(raft_reads_confirmed(r) >= third);
    done(w);
}

TEST(a_transfer_ends_the_lease_and_moves_the_lead)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    assert_int_equal(raft_fixture_request_read(w, 1), RAFT_OK);
    assert_int_equal(raft_fixture_transfer(w, 1, 3), RAFT_OK);
    assert_false(raft_has_lease(w->nodes[1].raft, raft_fixture_local(w, &w->nodes[1])));
    assert_int_equal(raft_fixture_propose(w, 1, 20), 0);
    raft_fixture_settle(w);
    assert_int_equal(raft_fixture_leader(w), 3);
    assert_int_equal(raft_term(w->nodes[3].raft), 2);
    done(w);
}

TEST(a_leader_without_a_majority_steps_down)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    raft_fixture_isolate(w, 1, true);
    raft_fixture_pass(w, 100 + 150 + 20, true); /* support lapses, then patience */
    assert_int_not_equal(raft_role(w->nodes[1].raft), RAFT_LEADER);
    done(w);
}

/* ---- members ---- */

TEST(a_learner_is_promoted_once_it_has_caught_up)
{
    struct raft_fixture *w = make(4, 3);
    assert_true(raft_fixture_elect(w, 1));
    for (int i = 0; i < 100; i++)
        raft_fixture_propose(w, 1, 20);
    raft_fixture_pass(w, 100, true);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_PROMOTE, 99), RAFT_INVALID);
    raft_fixture_host(w, 4);
    raft_fixture_isolate(w, 4, true);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_ADD_LEARNER, raft_fixture_member(w, 4)),
                     RAFT_OK);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_REMOVE, raft_fixture_member(w, 3)),
                     RAFT_PENDING);
    raft_fixture_settle(w);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_PROMOTE, raft_fixture_member(w, 4)),
                     RAFT_BEHIND);
    raft_fixture_isolate(w, 4, false);
    raft_fixture_pass(w, 200, true);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_PROMOTE, raft_fixture_member(w, 4)), RAFT_OK);
    raft_fixture_pass(w, 100, true);
    assert_int_equal(raft_members(w->nodes[4].raft)->count, 4);
    assert_true(
        raft_members_find(raft_members(w->nodes[4].raft), raft_fixture_member(w, 4))->voter);
    done(w);
}

/* Node 1 alone, and a learner that lacks three entries which node 1 has committed. */
static struct raft_fixture *make_learner_behind(void)
{
    struct raft_fixture *w = make(2, 1);
    raft_fixture_pass(w, 100, true);
    raft_fixture_host(w, 2);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_ADD_LEARNER, raft_fixture_member(w, 2)),
                     RAFT_OK);
    raft_fixture_pass(w, 100, true);
    for (int i = 0; i < 3; i++)
        raft_fixture_propose(w, 1, 20);
    raft_fixture_sync(w, 1);
    raft_fixture_drop_all(w, 1, 2);
    assert_int_equal(raft_match(w->nodes[1].raft, raft_fixture_member(w, 2)) + 3,
                     raft_applied(w->nodes[1].raft));
    return w;
}

TEST(a_learner_whose_next_entry_is_gone_is_not_promoted)
{
    struct raft_fixture *w = make_learner_behind();
    raft_fixture_checkpoint(w, 1, true);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_PROMOTE, raft_fixture_member(w, 2)),
                     RAFT_BEHIND);
    done(w);
}

TEST(what_a_quorum_lacks_stays_in_the_leaders_log)
{
    struct raft_fixture *w = make_learner_behind();
    struct raft *leader = w->nodes[1].raft;
    const uint64_t lacking = raft_match(leader, raft_fixture_member(w, 2)) + 1;
    assert_int_equal(raft_fixture_change(w, 1, RAFT_PROMOTE, raft_fixture_member(w, 2)), RAFT_OK);
    raft_fixture_checkpoint(w, 1, true);
    assert_int_equal(raft_first(leader), lacking);
    raft_fixture_pass(w, 100, true);
    assert_int_equal(raft_match(leader, raft_fixture_member(w, 2)), raft_last(leader));
    raft_fixture_checkpoint(w, 1, true);
    assert_int_equal(raft_first(leader), raft_last(leader) + 1);
    done(w);
}

/* A replica leaves node 4 and comes back, to an empty disk; then an acknowledgement of the one
 * before it arrives. What the leader believes it holds: were it the same member, all of it. */
static uint64_t believed_of_a_replica_that_came_back(uint32_t arrival)
{
    struct raft_fixture *w = make(4, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_host(w, 4);
    uint64_t before = raft_fixture_member(w, 4),
             back = before + ((uint64_t)arrival << RAFT_NODE_BITS);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_ADD_LEARNER, before), RAFT_OK);
    raft_fixture_pass(w, 100, true);
    struct raft *leader = w->nodes[1].raft;
    const struct raft_message late = {.kind = RAFT_APPEND_REPLY,
                                      .group = RAFT_FIXTURE_GROUP,
                                      .from = before,
                                      .to = raft_fixture_member(w, 1),
                                      .term = raft_term(leader),
                                      .index = raft_match(leader, before),
                                      .commit = raft_match(leader, before)};
    assert_true(late.index > 0);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_REMOVE, before), RAFT_OK);
    raft_fixture_pass(w, 100, true);
    raft_fixture_unhost(w, 4);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_ADD_LEARNER, back), RAFT_OK);
    raft_fixture_settle(w);
    raft_receive(leader, raft_fixture_local(w, &w->nodes[1]), &late);
    uint64_t believed = raft_match(leader, back);
    raft_fixture_turn(w, 1);
    raft_fixture_destroy(w);
    return believed;
}

TEST(a_late_acknowledgement_proves_nothing_about_a_replica_that_came_back)
{
    assert_true(believed_of_a_replica_that_came_back(0) > 0); /* why arrivals are counted */
    assert_int_equal(believed_of_a_replica_that_came_back(1), 0);
}

TEST(a_removed_leader_hands_over)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_REMOVE, raft_fixture_member(w, 1)), RAFT_OK);
    assert_false(raft_has_lease(w->nodes[1].raft, raft_fixture_local(w, &w->nodes[1])));
    raft_fixture_pass(w, 1000, true);
    uint32_t leader = raft_fixture_leader(w);
    assert_true(leader == 2 || leader == 3);
    assert_int_equal(raft_members(w->nodes[leader].raft)->count, 2);
    done(w);
}

/* ---- what seeds of the property test found ---- */

/* Seeds 32 and 49. The leader removed itself and is gone, but its node lives, and so does a grant
 * of one who missed the change. */
TEST(a_lease_grant_to_a_replica_that_is_gone_ends)
{
    struct raft_fixture *w = make(4, 4);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    raft_fixture_cut(w, 1, 4, true);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_REMOVE, raft_fixture_member(w, 1)), RAFT_OK);
    raft_fixture_settle(w);
    raft_fixture_cut(w, 1, 4, false);
    raft_fixture_unhost(w, 1);
    assert_true(raft_grants_lease(w->nodes[4].raft));
    raft_fixture_crash(w, 3, 0);
    raft_fixture_pass(w, 2000, true);
    assert_int_equal(raft_fixture_leader(w), 2); /* of 2, 3 and 4; it takes the vote of 4 */
    done(w);
}

/* Seed 13194. It has the only copy of its own removal, and a restart made it forget that it was a
 * member when that was written. */
TEST(who_removes_itself_runs_until_that_is_committed)
{
    struct raft_fixture *w = make(2, 1);
    raft_fixture_pass(w, 100, true);
    raft_fixture_host(w, 2);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_ADD_LEARNER, raft_fixture_member(w, 2)),
                     RAFT_OK);
    raft_fixture_pass(w, 100, true);
    assert_int_equal(raft_fixture_change(w, 1, RAFT_PROMOTE, raft_fixture_member(w, 2)), RAFT_OK);
    raft_fixture_pass(w, 100, true);
    assert_int_equal(raft_fixture_transfer(w, 1, 2), RAFT_OK);
    raft_fixture_settle(w);
    assert_int_equal(raft_fixture_leader(w), 2);
    raft_fixture_isolate(w, 1, true);
    assert_int_equal(raft_fixture_change(w, 2, RAFT_REMOVE, raft_fixture_member(w, 2)), RAFT_OK);
    raft_fixture_sync(w, 2);
    raft_fixture_crash(w, 1, 0);
    raft_fixture_crash(w, 2, 0);
    raft_fixture_drop_all(w, 0, 0);
    raft_fixture_isolate(w, 1, false);
    raft_fixture_start(w, 1);
    raft_fixture_start(w, 2);
    raft_fixture_pass(w, 3000, true);
    assert_int_equal(raft_fixture_leader(w), 1);
    assert_int_equal(raft_members(w->nodes[1].raft)->count, 1);
    done(w);
}

/* Seeds 246 and 291. */
TEST(a_late_refusal_for_lack_of_state_settles)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    raft_fixture_checkpoint(w, 1, true);
    struct raft *r = w->nodes[1].raft;
    struct instant now = raft_fixture_local(w, &w->nodes[1]);
    const struct raft_message late = {.kind = RAFT_APPEND_REPLY,
                                      .group = RAFT_FIXTURE_GROUP,
                                      .from = raft_fixture_member(w, 2),
                                      .to = raft_fixture_member(w, 1),
                                      .term = 1,
                                      .support =
                                          raft_peer_find(r, raft_fixture_member(w, 2))->epoch,
                                      .rejected = true,
                                      .no_state = true};
    raft_receive(r, now, &late);
    raft_fixture_turn(w, 1);
    raft_fixture_pass(w, 500, true);
    assert_true(raft_deadline(r).ns == INSTANT_NEVER.ns);
    assert_int_equal(raft_next_snapshot(r), 0);
    assert_int_equal(raft_first(w->nodes[2].raft), 1);
    done(w);
}

/* The member asks for votes, so it is probed. The probe is lost, and an old refusal comes late. */
TEST(a_late_refusal_keeps_no_entries_back)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    raft_fixture_isolate(w, 3, true);
    struct raft *r = w->nodes[1].raft;
    const struct instant now = raft_fixture_local(w, &w->nodes[1]);
    struct raft_message m = {.kind = RAFT_PRE_VOTE,
                             .group = RAFT_FIXTURE_GROUP,
                             .from = raft_fixture_member(w, 2),
                             .to = raft_fixture_member(w, 1),
                             .term = 2};
    raft_receive(r, now, &m);
    raft_fixture_turn(w, 1);
    assert_int_not_equal(raft_fixture_find(w, 1, 2, RAFT_APPEND), SIZE_MAX);
    raft_fixture_drop_all(w, 1, 2);
    m.kind = RAFT_APPEND_REPLY;
    m.term = 1;
    m.support = raft_peer_find(r, raft_fixture_member(w, 2))->epoch;
    m.rejected = true;
    raft_receive(r, now, &m);
    raft_fixture_turn(w, 1);
    raft_fixture_propose(w, 1, 20);
    raft_fixture_pass(w, 1000, true);
    assert_int_equal(w->acknowledged_count, 1);
    done(w);
}

/* Found by the sixth case: what an unreachable member lacks is not known. */
TEST(who_was_away_but_has_everything_needs_no_snapshot)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    for (int i = 0; i < 5; i++)
        raft_fixture_propose(w, 1, 20);
    raft_fixture_pass(w, 100, true);
    raft_fixture_checkpoint(w, 1, true);
    raft_fixture_checkpoint(w, 2, true);
    raft_fixture_isolate(w, 3, true);
    assert_int_equal(raft_fixture_transfer(w, 1, 2), RAFT_OK);
    raft_fixture_pass(w, 1000, true);
    assert_int_equal(raft_fixture_leader(w), 2);
    raft_fixture_isolate(w, 3, false);
    raft_fixture_pass(w, 300, true);
    assert_int_equal(raft_first(w->nodes[3].raft), 1);
    assert_int_equal(raft_applied(w->nodes[3].raft), raft_applied(w->nodes[2].raft));
    done(w);
}

static struct raft *bare(struct raft_fixture *w, uint64_t index, uint64_t term)
{
    struct raft_base base = {.index = index, .term = term, .members = w->first};
    struct raft_options options = {.group = RAFT_FIXTURE_GROUP,
                                   .self = raft_fixture_member(w, 1),
                                   .shared = &w->nodes[1].shared};
    return raft_create(&options, &base);
}

static void replay(struct raft *r, uint64_t index, uint64_t term, uint64_t lsn)
{
    const struct raft_entry e = {.index = index, .term = term, .kind = LOG_NOOP, .lsn = lsn};
    assert_int_equal(raft_replay_entry(r, &e), STATUS_OK);
}

/* Seed 38986: entries acknowledged after a snapshot were taken for the tail it had replaced. */
TEST(the_tail_behind_an_installed_base_is_found_by_its_mark)
{
    struct raft_fixture *w = make(3, 3);
    struct raft *r = bare(w, 5, 3);
    for (uint64_t i = 4; i <= 7; i++)
        replay(r, i, 2, i); /* another history */
    assert_int_equal(raft_last(r), 5);
    replay(r, 5, 3, 8); /* the mark */
    replay(r, 6, 4, 9);
    assert_int_equal(raft_last(r), 6);
    assert_int_equal(raft_term_at(r, 6), 4);
    raft_destroy(r);

    struct raft_writes writes;
    const struct raft_base base = {.index = 5, .term = 3, .members = w->first};
    r = w->nodes[1].raft;
    assert_true(raft_install(r, raft_fixture_local(w, &w->nodes[1]), &base));
    assert_true(raft_take_writes(r, &writes));
    assert_int_equal(writes.first, 5);
    assert_int_equal(writes.last, 5);
    assert_int_equal(raft_entry_at(r, 5)->term, 3);
    raft_entry_logged(r, 5, 100);
    assert_null(raft_entry_at(r, 5));
    assert_false(raft_take_writes(r, &writes));
    raft_fixture_destroy(w);
}

TEST(entries_written_anew_are_found_behind_a_gap)
{
    struct raft_fixture *w = make(1, 1);
    struct raft *r = bare(w, 4, 1);
    replay(r, 6, 1, 20); /* the record of 5 before it is gone */
    replay(r, 7, 1, 30);
    assert_int_equal(raft_last(r), 4);
    for (uint64_t i = 5; i <= 7; i++)
        replay(r, i, 1, 100 + i);
    assert_int_equal(raft_last(r), 7);
    replay(r, 6, 1, 200); /* the same once more cuts nothing off */
    assert_int_equal(raft_last(r), 7);
    replay(r, 6, 2, 300); /* another does */
    assert_int_equal(raft_last(r), 6);
    raft_destroy(r);
    done(w);
}

/* Seed 3213 of long schedules: the log before half of a rewritten tail was freed. */
TEST(old_records_are_needed_until_all_are_written_anew)
{
    struct raft_fixture *w = make(3, 3);
    assert_true(raft_fixture_elect(w, 1));
    raft_fixture_pass(w, 100, true);
    raft_fixture_isolate(w, 1, true);
    for (int i = 0; i < 3; i++)
        raft_fixture_propose(w, 1, 20);
    raft_fixture_sync(w, 1);
    struct raft_fixture_node *n = &w->nodes[1];
    struct instant now = raft_fixture_local(w, n);
    uint64_t first = raft_applied(n->raft) + 1, pinned = raft_pinned_lsn(n->raft);
    assert_true(raft_entry_at(n->raft, first)->lsn == pinned);
    raft_entry_logged(n->raft, first, n->next_lsn + 100);
    raft_entry_logged(n->raft, first + 1, n->next_lsn + 200);
    raft_persisted(n->raft, now, n->next_lsn + 200);
    assert_true(raft_pinned_lsn(n->raft) == pinned);
    raft_entry_logged(n->raft, first + 2, n->next_lsn + 300);
    raft_persisted(n->raft, now, n->next_lsn + 299);
    assert_true(raft_pinned_lsn(n->raft) == pinned);
    raft_persisted(n->raft, now, n->next_lsn + 300);
    assert_true(raft_pinned_lsn(n->raft) == n->next_lsn + 100);
    raft_fixture_destroy(w);
}
