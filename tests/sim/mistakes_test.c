/* mistakes_test.c - a simulator that finds nothing proves nothing: each mistake of this table is one that a test
 * once could not see. A bounded number of seeds must find it.
 *
 *     MISTAKE(a_lock_is_skipped, RAFT_MUTATION_SKIP_LOCK, 1, TRANSACTS)
 *
 * A row: what is wrong, the mutation, the first seed, and the options of the run. A run has nothing but what its
 * options name. The first seed finds the mistake soon. A change of weir changes what a seed does: then the search
 * goes on with the following seeds and takes longer, until another first seed is named here.
 * tests/CMakeLists.txt reads this file: each row is a test of ctest, sim.mistake.NAME. */
#include "tests/check.h"

#include "replication/raft_mutation.h"
#include "tests/sim/alone.h"

enum {
    SEEDS = 100,
    SEEDS_LONG = 500
};

static bool run_violates(const struct sim_options *o)
{
    struct sim_result result;
    struct sim *s = sim_create(o);
    sim_run(s, &result);
    if (result.violated)
        printf("seed %llu: %.*s\n", (unsigned long long)o->seed,
               (int)(sim_violation(s).size < 200 ? sim_violation(s).size : 200),
               (const char *)sim_violation(s).data);
    sim_destroy(s);
    return result.violated;
}

/* With the mistake, and not without it. */
static void assert_found(struct sim_options o, enum raft_mutation mutation, uint64_t first,
                         uint64_t seeds)
{
    enum sim_mistake mistake = o.mistake;
    bool found = false;
    o.gac = SIM_GAC_NONE;
    o = alone(o); /* nothing but what the mistake is about */
    for (o.seed = first; o.seed < first + seeds && !found; o.seed++) {
        o.mistake = mistake;
        raft_mutation = mutation;
        bool violates = run_violates(&o);
        o.mistake = SIM_MISTAKE_NONE;
        raft_mutation = RAFT_MUTATION_NONE;
        found = violates && !run_violates(&o);
    }
    assert_true(found);
}

#define MISTAKE(name, mutation, first, ...)                                      \
    TEST(name)                                                                   \
    {                                                                            \
        assert_found((struct sim_options){__VA_ARGS__}, mutation, first, SEEDS); \
    }
/* Hundreds of seeds: only tools/test --long looks for it. */
#define LONG_MISTAKE(name, mutation, first, ...)                                      \
    TEST(name)                                                                        \
    {                                                                                 \
        assert_found((struct sim_options){__VA_ARGS__}, mutation, first, SEEDS_LONG); \
    }

#define FAULT(name)    SIM_FAULT_BIT(SIM_##name)
#define FORCED(bits)   .faults = (bits), .faults_forced = true
#define THREE_NODES    .nodes = 3, .replicas = 3
#define CLIENTS(count) .clients = (count)
#define MS(ms)         .length_ms = (ms)
#define EXTRA(name)    .extras = SIM_EXTRA_BIT(SIM_##name), .extras_forced = true

/* clang-format off */

/* ---- votes, leases, members ---- */
LONG_MISTAKE(a_clock_that_stands_still_in_a_suspended_machine, RAFT_MUTATION_NONE, 1,
             FORCED(FAULT(SUSPEND)), THREE_NODES, .routers = 4, CLIENTS(24), MS(10000),
             .mistake = SIM_MISTAKE_CLOCK_STOPS)
/* Nodes give support for unequal times. */
LONG_MISTAKE(a_lease_counted_on_a_nodes_own_settings, RAFT_MUTATION_OWN_SUPPORT, 104,
             FORCED(FAULT(CUT) | FAULT(SETTINGS)), THREE_NODES, .routers = 4, CLIENTS(60),
             MS(10000))
MISTAKE(a_vote_in_spite_of_support, RAFT_MUTATION_FORGET_PROMISE, 21,
        FORCED(FAULT(ONE_WAY)), THREE_NODES, .routers = 4, CLIENTS(24), MS(10000))
MISTAKE(a_write_refused_for_a_dead_node, RAFT_MUTATION_NONE, 15,
        FORCED(FAULT(CRASH)), .nodes = 4, .replicas = 3, CLIENTS(10), MS(10000),
        .mistake = SIM_MISTAKE_DEAD_MEMBERS)

/* ---- partitions and what they own ---- */
MISTAKE(whole_buckets_of_long_keys_erased, RAFT_MUTATION_WHOLE_RECORDS, 64,
        FORCED(FAULT(DRAIN)), .nodes = 4, .replicas = 2, MS(10000))
MISTAKE(a_partition_absorbs_one_that_is_not_frozen, RAFT_MUTATION_ABSORB_AS_IT_IS, 282,
        FORCED(FAULT(CUT) | FAULT(ONE_WAY)), THREE_NODES, CLIENTS(24), .merges = 70, MS(3000))
MISTAKE(a_failed_read_finds_nothing, RAFT_MUTATION_NONE, 1,
        FORCED(FAULT(READ_ERROR)), THREE_NODES, MS(3000), .mistake = SIM_MISTAKE_READ_ERRORS)

/* ---- requests ---- */
MISTAKE(a_request_that_was_cut_off_is_done, RAFT_MUTATION_NONE, 11,
        MS(3000), .mistake = SIM_MISTAKE_CUT_REQUESTS)
/* A condition fails on an item that is in flight. The leader is cut off, the item is never committed, and the
 * refusal was answered: no item like that ever was. */
MISTAKE(a_refusal_shows_a_write_in_flight, RAFT_MUTATION_REFUSE_IN_FLIGHT, 5,
        FORCED(FAULT(CUT) | FAULT(CRASH)), THREE_NODES, CLIENTS(24), MS(5000))
/* Busy processes and short targets: some writes are shed. One of them that is done nevertheless is a value that
 * nobody wrote. */
MISTAKE(a_request_that_was_shed_is_done, RAFT_MUTATION_SHED_IN_VAIN, 6, THREE_NODES, CLIENTS(24), MS(3000))

/* Followers apply a write after it is acknowledged. The only router must remember that. */
MISTAKE(a_router_forgets_what_it_has_acknowledged, RAFT_MUTATION_FORGET_OWN, 1,
        EXTRA(OWN_READS), .faults_forced = true, THREE_NODES, CLIENTS(24), MS(3000))

/* ---- local indexes: items change and move, and replicas start from snapshots ---- */
#define LOCAL_INDEXES .faults = FAULT(CRASH) | FAULT(CUT), .nodes = 4, .replicas = 3, CLIENTS(24), MS(3000)
MISTAKE(an_old_index_row_stays, RAFT_MUTATION_KEEP_OLD_ROW, 1, LOCAL_INDEXES)
MISTAKE(a_new_index_row_is_missing, RAFT_MUTATION_SKIP_ROW, 1, LOCAL_INDEXES)
MISTAKE(a_snapshot_without_index_rows, RAFT_MUTATION_FORGET_ROWS, 1, LOCAL_INDEXES)

/* ---- global indexes: their rows are compared with the items at the end ---- */
#define GLOBAL_INDEXES THREE_NODES, CLIENTS(24), MS(4000)
MISTAKE(a_change_reaches_no_global_index, RAFT_MUTATION_SKIP_CHANGE, 1, GLOBAL_INDEXES)
MISTAKE(an_old_global_row_stays, RAFT_MUTATION_KEEP_OLD_GLOBAL, 1, GLOBAL_INDEXES)
MISTAKE(a_new_index_lacks_an_older_item, RAFT_MUTATION_SKIP_FILL, 1, GLOBAL_INDEXES)
MISTAKE(a_new_leader_forgets_changes, RAFT_MUTATION_FORGET_FEED, 1,
        .faults = FAULT(CRASH) | FAULT(CUT), GLOBAL_INDEXES)
MISTAKE(a_backlog_without_bound, RAFT_MUTATION_NO_BACKLOG_BOUND, 3,
        EXTRA(SCARCE_INDEX), .faults_forced = true, GLOBAL_INDEXES)
/* A row is late on its way, and the next leader writes the row anew. */
MISTAKE(a_row_of_a_closed_session, RAFT_MUTATION_ANY_SESSION, 7, FORCED(FAULT(LATE)), GLOBAL_INDEXES)
MISTAKE(a_row_that_comes_late_and_twice, RAFT_MUTATION_APPLY_TWICE, 7, FORCED(FAULT(LATE)), GLOBAL_INDEXES)

/* Nothing is written for a while, and then an index is added. */
MISTAKE(a_new_index_waits_for_a_write, RAFT_MUTATION_ONE_ENTRY_MORE, 1,
        EXTRA(SILENCE), .faults_forced = true, GLOBAL_INDEXES)

/* ---- transactions: all or nothing, and in one order for all readers ---- */
#define TRANSACTS THREE_NODES, .transacts = 6, MS(4000)
MISTAKE(a_split_forgets_locks, RAFT_MUTATION_SPLIT_FORGETS, 5, TRANSACTS, CLIENTS(4), .merges = 30)
MISTAKE(a_lock_is_skipped, RAFT_MUTATION_SKIP_LOCK, 1, TRANSACTS)
MISTAKE(a_write_in_spite_of_a_lock, RAFT_MUTATION_WRITE_LOCKED, 3, TRANSACTS)
MISTAKE(a_read_in_spite_of_a_lock, RAFT_MUTATION_READ_LOCKED, 6, TRANSACTS)
MISTAKE(a_new_leader_forgets_locks, RAFT_MUTATION_FORGET_LOCKS, 5, .faults = FAULT(CRASH) | FAULT(CUT), TRANSACTS)
MISTAKE(a_decision_without_its_other_parts, RAFT_MUTATION_SKIP_RECORD, 3,
        .faults = FAULT(CRASH) | FAULT(CUT), TRANSACTS)
MISTAKE(a_decision_told_before_it_is_durable, RAFT_MUTATION_DECIDE_EARLY, 6,
        .faults = FAULT(CRASH) | FAULT(CUT), TRANSACTS)
MISTAKE(an_aborted_transaction_is_committed, RAFT_MUTATION_DECIDE_TWICE, 86,
        FORCED(FAULT(SLEEP)), TRANSACTS)

/* Parts of a transaction take unequal times, and others come between. */
#define SLOW_PARTS                                                                     \
    FORCED(FAULT(SLOW_DISK)), .nodes = 3, .replicas = 1, .transacts = 6, CLIENTS(1), MS(4000)
MISTAKE(a_check_takes_no_lock, RAFT_MUTATION_CHECK_UNLOCKED, 186, SLOW_PARTS)
MISTAKE(a_query_in_spite_of_a_lock, RAFT_MUTATION_SCAN_LOCKED, 1, TRANSACTS, CLIENTS(1))
MISTAKE(a_deletion_that_is_decided_does_nothing, RAFT_MUTATION_KEEP_DELETED, 1,
        TRANSACTS, CLIENTS(1))
MISTAKE(a_token_stands_for_any_request, RAFT_MUTATION_ANY_DIGEST, 1, TRANSACTS, CLIENTS(1))
MISTAKE(a_snapshot_without_tokens, RAFT_MUTATION_FORGET_TOKENS, 1,
        FORCED(FAULT(WIPE)), TRANSACTS, CLIENTS(1))
/* One seed in 370 finds it. transactions_test finds it every time. */
LONG_MISTAKE(what_was_given_up_is_forgotten, RAFT_MUTATION_FORGET_FENCE, 369,
             FORCED(FAULT(LATE)), .nodes = 3, .replicas = 1, .transacts = 6, CLIENTS(1), MS(4000))
MISTAKE(replicas_of_a_deleted_table_go_unasked, RAFT_MUTATION_CLOSE_UNASKED, 14,
        FORCED(FAULT(CRASH) | FAULT(SLOW_DISK)), EXTRA(LEAVING_TABLE), THREE_NODES,
        .transacts = 6, CLIENTS(1), MS(2000))
MISTAKE(a_decided_part_is_refused, RAFT_MUTATION_REFUSE_DECIDED, 5, TRANSACTS, CLIENTS(1))

/* ---- time to live: an item that is written anew must stay ---- */
#define EXPIRIES THREE_NODES, CLIENTS(1), .expiries = 12, MS(4000)
MISTAKE(an_item_expires_unjudged, RAFT_MUTATION_EXPIRE_UNJUDGED, 2, EXPIRIES)
MISTAKE(an_item_expires_in_spite_of_a_write_in_flight, RAFT_MUTATION_EXPIRE_APPLIED, 49, EXPIRIES)
MISTAKE(an_item_expires_by_one_clock, RAFT_MUTATION_OWN_CLOCK, 1, FORCED(FAULT(WALL)), EXPIRIES)

/* ---- streams: each change once, in its order, through splits and moves ---- */
#define STREAMS THREE_NODES, .follows = 8, MS(4000)
MISTAKE(a_change_makes_no_stream_record, RAFT_MUTATION_SKIP_STREAM, 4, STREAMS)
MISTAKE(a_change_makes_two_stream_records, RAFT_MUTATION_DOUBLE_STREAM, 4, STREAMS)
MISTAKE(a_write_after_its_shards_end, RAFT_MUTATION_OUTLIVE_SHARD, 1, STREAMS)
MISTAKE(a_snapshot_without_stream_records, RAFT_MUTATION_FORGET_STREAM, 4, FORCED(FAULT(WIPE)), STREAMS)

/* ---- streams and time to live, in tables that have more than one feature or change all the time
 * ---- */
MISTAKE(a_late_step_ends_a_later_change, RAFT_MUTATION_ANY_RECONCILED, 13,
        FORCED(FAULT(SLOW_DISK)), THREE_NODES, CLIENTS(1), EXTRA(SWITCHES),
        .expiries = 6, .follows = 6,
        MS(8000))
MISTAKE(a_part_of_a_transaction_makes_no_stream_record, RAFT_MUTATION_SKIP_STREAM, 1,
        THREE_NODES, CLIENTS(1), EXTRA(MIXED), .transacts = 4, MS(3000))
MISTAKE(a_change_makes_no_record_of_a_stream_that_is_trimmed, RAFT_MUTATION_SKIP_STREAM, 1,
        THREE_NODES, CLIENTS(1), EXTRA(SHORT_TIMES), .follows = 8, MS(4000))

/* ---- write sharding: an item is at one place, and every reader finds it there ---- */
#define SHARDED_KEYS THREE_NODES, .routers = 3, CLIENTS(24)
/* Keys whose shards change again before their items have moved. */
MISTAKE(shards_read_in_any_order, RAFT_MUTATION_NO_RANKS, 11,
        SHARDED_KEYS, .saltings_ms = 30, MS(2000))
MISTAKE(a_router_that_knows_fewer_keys_is_served, RAFT_MUTATION_SKIP_FENCE, 3,
        SHARDED_KEYS, .saltings_ms = 100, MS(3000))
MISTAKE(a_moved_item_stays_where_it_was, RAFT_MUTATION_MOVE_COPIES, 4, SHARDED_KEYS, .saltings_ms = 100, MS(3000))
MISTAKE(an_item_said_to_be_moved_was_not, RAFT_MUTATION_MOVE_BLIND, 2, SHARDED_KEYS, .saltings_ms = 100, MS(3000))
MISTAKE(a_request_by_an_older_registry, RAFT_MUTATION_OLDER_SHARDS, 4, SHARDED_KEYS, .saltings_ms = 100, MS(3000))

/* ---- counters: each addition counts once, whatever cell it went to ---- */
#define COUNTERS THREE_NODES, .routers = 3, .saltings_ms = 150, .tallies = 6, MS(3000)
MISTAKE(a_sum_lacks_a_cell, RAFT_MUTATION_READ_FEWER_CELLS, 1, COUNTERS)
MISTAKE(a_cell_adds_twice, RAFT_MUTATION_ADD_TWICE, 3, .faults = FAULT(CRASH) | FAULT(RESET), COUNTERS)

/* ---- full stores: what is deleted makes room for what is put ---- */
MISTAKE(freed_pages_do_not_count, RAFT_MUTATION_FORGET_FREED, 1, THREE_NODES, CLIENTS(1), .fills = 3, MS(8000))

/* ---- the rate limiter: at most what there was is taken, and nothing is stuck ---- */
#define LIMITS THREE_NODES, .routers = 3, .limits = 6, MS(4000)
MISTAKE(a_new_limiter_shard_begins_full, RAFT_MUTATION_LIMITER_MINT, 3, LIMITS)
MISTAKE(a_limiter_shard_made_again_in_its_epoch, RAFT_MUTATION_LIMITER_REOPEN, 4, LIMITS)
MISTAKE(newer_limits_reach_one_shard_only, RAFT_MUTATION_LIMITER_OLD_LIMITS, 3, LIMITS)
MISTAKE(the_hidden_limit_is_not_refilled, RAFT_MUTATION_LIMITER_DRY_WRITES, 3, LIMITS)
MISTAKE(a_lease_gives_back_elsewhere, RAFT_MUTATION_LIMITER_FAR_REFUND, 3, LIMITS)
MISTAKE(a_parents_bucket_does_not_grow, RAFT_MUTATION_LIMITER_LONE_PARENT, 3, LIMITS)
MISTAKE(a_router_refuses_nothing_from_memory, RAFT_MUTATION_LIMITER_ASK_IN_VAIN, 3, LIMITS)
MISTAKE(a_repeated_request_is_asked_for_at_one_shard, RAFT_MUTATION_LIMITER_FORGET_HOME, 21,
        .faults = FAULT(CRASH) | FAULT(RESET), LIMITS)
MISTAKE(a_repeated_request_counts_twice, RAFT_MUTATION_ADD_TWICE, 3, .faults = FAULT(CRASH) | FAULT(RESET), LIMITS)
