/* mutations_test.c - a simulator that finds nothing proves nothing: each mutation of this table is
 * one that a test once could not see. A bounded number of seeds must find it.
 *
 *     MUTATION(a_lock_is_skipped, MUTATION_SKIP_LOCK, 1, TRANSACTIONS)
 *
 * A row: what is wrong, the mutation, the first seed, and the options of the run. A run has
 * nothing but what its options name. The first seed finds the mutation soon. A change of weir
 * changes what a seed does: then the search goes on with the following seeds and takes longer,
 * until another first seed is named here. tests/CMakeLists.txt reads this file: each row is a test
 * of ctest, sim.mutation.NAME. */
#include "tests/check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mutation.h"
#include "tests/sim/alone.h"
#include "tests/support/baseline_policies.h"

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

/* The same in a process of its own: a check of weir itself (must) finds a mutation, too. */
static bool mutant_violates(const struct sim_options *o, enum mutation mutation)
{
    int status;
    fflush(stdout);
    const pid_t mutant = fork();
    assert_true(mutant >= 0);
    if (mutant == 0) {
        mutation_active = mutation;
        const bool violates = run_violates(o);
        fflush(stdout);
        _exit(violates ? 1 : 0);
    }
    assert_int_equal(waitpid(mutant, &status, 0), mutant);
    const bool ends = WIFEXITED(status) && WEXITSTATUS(status) <= 1;
    assert_true(ends || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
    return !ends || WEXITSTATUS(status) == 1;
}

/* With the mutation, and not without it. */
static void assert_found(struct sim_options o, enum mutation mutation, uint64_t first,
                         uint64_t seeds)
{
    enum sim_mutation planted = o.mutation;
    bool found = false;
    o.gac = SIM_NONE;
    o.policies = baseline_policies();
    o = alone(o); /* nothing but what the mutation is about */
    for (o.seed = first; o.seed < first + seeds && !found; o.seed++) {
        o.mutation = planted;
        const bool violates = mutant_violates(&o, mutation);
        o.mutation = SIM_MUTATION_NONE;
        found = violates && !run_violates(&o);
    }
    assert_true(found);
}

#define MUTATION(name, mutation, first, ...)                                     \
    TEST(name)                                                                   \
    {                                                                            \
        assert_found((struct sim_options){__VA_ARGS__}, mutation, first, SEEDS); \
    }
/* Hundreds of seeds: only tools/test --long looks for it. */
#define LONG_MUTATION(name, mutation, first, ...)                                     \
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
LONG_MUTATION(a_clock_that_stands_still_in_a_suspended_machine, MUTATION_NONE, 1,
             FORCED(FAULT(SUSPEND)), THREE_NODES, .routers = 4, CLIENTS(24), MS(10000),
             .mutation = SIM_MUTATION_CLOCK_STOPS)
/* Nodes give support for unequal times. */
LONG_MUTATION(a_lease_counted_on_a_nodes_own_settings, MUTATION_OWN_SUPPORT, 104,
             FORCED(FAULT(CUT) | FAULT(SETTINGS)), THREE_NODES, .routers = 4, CLIENTS(60),
             MS(10000))
MUTATION(a_vote_in_spite_of_support, MUTATION_IGNORE_LEASE_GRANT, 44,
        FORCED(FAULT(ONE_WAY)), THREE_NODES, .routers = 4, CLIENTS(24), MS(10000))
MUTATION(a_write_refused_for_a_dead_node, MUTATION_NONE, 15,
        FORCED(FAULT(CRASH)), .nodes = 4, .replicas = 3, CLIENTS(10), MS(10000),
        .mutation = SIM_MUTATION_DEAD_MEMBERS)

/* ---- partitions and what they own ---- */
MUTATION(whole_buckets_of_long_keys_erased, MUTATION_WHOLE_RECORDS, 64,
        FORCED(FAULT(DRAIN)), .nodes = 4, .replicas = 2, MS(10000))
MUTATION(a_partition_absorbs_one_that_is_not_frozen, MUTATION_ABSORB_AS_IT_IS, 319,
        FORCED(FAULT(CUT) | FAULT(ONE_WAY)), THREE_NODES, CLIENTS(24), .merges = 70, MS(3000))
MUTATION(a_failed_read_finds_nothing, MUTATION_NONE, 1,
        FORCED(FAULT(READ_ERROR)), THREE_NODES, MS(3000), .mutation = SIM_MUTATION_READ_ERRORS)

/* ---- requests ---- */
MUTATION(a_request_that_was_cut_off_is_done, MUTATION_NONE, 11,
        MS(3000), .mutation = SIM_MUTATION_CUT_REQUESTS)
/* A condition fails on an item that is in flight. The leader is cut off, the item is never
 * committed, and the refusal was answered: no item like that ever was. */
MUTATION(a_refusal_shows_a_write_in_flight, MUTATION_REFUSE_IN_FLIGHT, 5,
        FORCED(FAULT(CUT) | FAULT(CRASH)), THREE_NODES, CLIENTS(24), MS(5000))
/* Busy processes and short targets: some writes are shed. One of them that is done nevertheless is
 * a value that nobody wrote. */
MUTATION(a_request_that_was_shed_is_done, MUTATION_SHED_IS_DONE, 6, THREE_NODES, CLIENTS(24),
        MS(3000))

/* Followers apply a write after it is acknowledged. The only router must remember that. */
MUTATION(a_router_loses_what_it_has_acknowledged, MUTATION_LOSE_OWN_WRITES, 7,
        EXTRA(OWN_READS), .faults_forced = true, THREE_NODES, CLIENTS(24), MS(3000))

/* ---- local indexes: items change and move, and replicas start from snapshots ---- */
#define LOCAL_INDEXES .faults = FAULT(CRASH) | FAULT(CUT), .nodes = 4, .replicas = 3, \
    CLIENTS(24), MS(3000)
MUTATION(an_old_index_row_stays, MUTATION_KEEP_OLD_ROW, 1, LOCAL_INDEXES)
MUTATION(a_new_index_row_is_missing, MUTATION_SKIP_ROW, 1, LOCAL_INDEXES)
MUTATION(a_snapshot_without_index_rows, MUTATION_SNAPSHOT_OMITS_ROWS, 1, LOCAL_INDEXES)

/* ---- global indexes: their rows are compared with the items at the end ---- */
#define GLOBAL_INDEXES THREE_NODES, CLIENTS(24), MS(4000)
MUTATION(a_change_reaches_no_global_index, MUTATION_SKIP_CHANGE, 1, GLOBAL_INDEXES)
MUTATION(an_old_global_row_stays, MUTATION_KEEP_OLD_GLOBAL, 1, GLOBAL_INDEXES)
MUTATION(a_new_index_lacks_an_older_item, MUTATION_SKIP_FILL, 6, GLOBAL_INDEXES)
MUTATION(a_new_leader_loses_changes, MUTATION_LOSE_INDEX_CHANGES, 1,
        .faults = FAULT(CRASH) | FAULT(CUT), GLOBAL_INDEXES)
MUTATION(a_backlog_without_bound, MUTATION_NO_BACKLOG_BOUND, 5,
        EXTRA(SCARCE_INDEX), .faults_forced = true, GLOBAL_INDEXES)
/* A row is late on its way, and the next leader writes the row anew. */
MUTATION(a_row_of_a_closed_session, MUTATION_ANY_SESSION, 7, FORCED(FAULT(LATE)), GLOBAL_INDEXES)
MUTATION(a_row_that_comes_late_and_twice, MUTATION_APPLY_TWICE, 7, FORCED(FAULT(LATE)),
        GLOBAL_INDEXES)

/* Nothing is written for a while, and then an index is added. */
MUTATION(a_new_index_waits_for_a_write, MUTATION_ONE_ENTRY_MORE, 1,
        EXTRA(QUIET_PHASE), .faults_forced = true, GLOBAL_INDEXES)

/* ---- transactions: all or nothing, and in one order for all readers ---- */
#define TRANSACTIONS THREE_NODES, .work_transactions = 6, MS(4000)
MUTATION(a_split_loses_locks, MUTATION_SPLIT_LOSES_LOCKS, 5, TRANSACTIONS, CLIENTS(4), .merges = 30)
MUTATION(a_lock_is_skipped, MUTATION_SKIP_LOCK, 1, TRANSACTIONS)
MUTATION(a_write_in_spite_of_a_lock, MUTATION_WRITE_LOCKED, 3, TRANSACTIONS)
MUTATION(a_read_in_spite_of_a_lock, MUTATION_READ_LOCKED, 6, TRANSACTIONS)
MUTATION(a_new_leader_loses_locks, MUTATION_LOSE_LOCKS, 5,
        .faults = FAULT(CRASH) | FAULT(CUT), TRANSACTIONS)
MUTATION(a_decision_without_its_other_parts, MUTATION_SKIP_RECORD, 3,
        .faults = FAULT(CRASH) | FAULT(CUT), TRANSACTIONS)
MUTATION(a_decision_sent_before_it_is_durable, MUTATION_DECIDE_EARLY, 6,
        .faults = FAULT(CRASH) | FAULT(CUT), TRANSACTIONS)
MUTATION(an_aborted_transaction_is_committed, MUTATION_DECIDE_TWICE, 86,
        FORCED(FAULT(SLEEP)), TRANSACTIONS)

/* Parts of a transaction take unequal times, and others come between. */
#define SLOW_PARTS                                                                     \
    FORCED(FAULT(SLOW_DISK)), .nodes = 3, .replicas = 1, .work_transactions = 6,          \
    CLIENTS(1), MS(4000)
MUTATION(a_check_takes_no_lock, MUTATION_CHECK_UNLOCKED, 186, SLOW_PARTS)
MUTATION(a_query_in_spite_of_a_lock, MUTATION_SCAN_LOCKED, 1, TRANSACTIONS, CLIENTS(1))
MUTATION(a_deletion_that_is_decided_does_nothing, MUTATION_KEEP_DELETED, 1,
        TRANSACTIONS, CLIENTS(1))
MUTATION(a_token_stands_for_any_request, MUTATION_ANY_DIGEST, 1, TRANSACTIONS, CLIENTS(1))
MUTATION(a_snapshot_without_tokens, MUTATION_SNAPSHOT_OMITS_TOKENS, 1,
        FORCED(FAULT(WIPE)), TRANSACTIONS, CLIENTS(1))
/* One seed in 370 finds it. transactions_test finds it every time. */
LONG_MUTATION(a_fence_is_lost, MUTATION_LOSE_FENCE, 369,
             FORCED(FAULT(LATE)), .nodes = 3, .replicas = 1, .work_transactions = 6, CLIENTS(1),
             MS(4000))
MUTATION(replicas_of_a_deleted_table_are_closed_unconfirmed, MUTATION_CLOSE_UNCONFIRMED, 25,
        FORCED(FAULT(CRASH) | FAULT(SLOW_DISK)), EXTRA(LEAVING_TABLE), THREE_NODES,
        .work_transactions = 6, CLIENTS(1), MS(2000))
MUTATION(a_decided_part_is_refused, MUTATION_REFUSE_DECIDED, 5, TRANSACTIONS, CLIENTS(1))

/* ---- time to live: an item that is written anew must stay ---- */
#define TTL_ITEMS THREE_NODES, CLIENTS(1), .work_ttl = 12, MS(4000)
MUTATION(an_item_expires_unchecked, MUTATION_EXPIRE_UNCHECKED, 5, TTL_ITEMS)
MUTATION(an_item_expires_in_spite_of_a_write_in_flight, MUTATION_EXPIRE_APPLIED, 52, TTL_ITEMS)
MUTATION(an_item_expires_by_one_clock, MUTATION_OWN_CLOCK, 1, FORCED(FAULT(WALL)), TTL_ITEMS)

/* ---- streams: each change once, in its order, through splits and moves ---- */
#define STREAMS THREE_NODES, .work_streams = 8, MS(4000)
MUTATION(a_change_makes_no_stream_record, MUTATION_SKIP_STREAM, 4, STREAMS)
MUTATION(a_change_makes_two_stream_records, MUTATION_DOUBLE_STREAM, 4, STREAMS)
MUTATION(a_write_after_its_shards_end, MUTATION_OUTLIVE_SHARD, 1, STREAMS)
MUTATION(a_snapshot_without_stream_records, MUTATION_SNAPSHOT_OMITS_STREAM, 4, FORCED(FAULT(WIPE)),
         STREAMS)

/* ---- streams and time to live, in tables that have more than one feature or change all the time
 * ---- */
MUTATION(a_late_step_ends_a_later_change, MUTATION_ANY_RECONCILED, 13,
        FORCED(FAULT(SLOW_DISK)), THREE_NODES, CLIENTS(1), EXTRA(SWITCHES),
        .work_ttl = 6, .work_streams = 6,
        MS(8000))
MUTATION(a_part_of_a_transaction_makes_no_stream_record, MUTATION_SKIP_STREAM, 1,
        THREE_NODES, CLIENTS(1), EXTRA(MIXED), .work_transactions = 4, MS(3000))
MUTATION(a_change_makes_no_record_of_a_stream_that_is_trimmed, MUTATION_SKIP_STREAM, 1,
        THREE_NODES, CLIENTS(1), EXTRA(SHORT_TIMES), .work_streams = 8, MS(4000))

/* ---- write sharding: an item is at one place, and every reader finds it there ---- */
#define SHARDED_KEYS THREE_NODES, .routers = 3, CLIENTS(24)
/* Keys whose shards change again before their items have moved. */
MUTATION(shards_read_in_any_order, MUTATION_NO_RANKS, 11,
        SHARDED_KEYS, .key_sharding_ms = 30, MS(2000))
MUTATION(a_router_that_knows_fewer_keys_is_served, MUTATION_SKIP_FENCE, 3,
        SHARDED_KEYS, .key_sharding_ms = 100, MS(3000))
MUTATION(a_moved_item_stays_where_it_was, MUTATION_MOVE_COPIES, 4, SHARDED_KEYS,
        .key_sharding_ms = 100, MS(3000))
MUTATION(an_item_reported_as_moved_was_not, MUTATION_MOVE_BLIND, 3, SHARDED_KEYS,
        .key_sharding_ms = 100, MS(3000))
MUTATION(a_request_by_an_older_registry, MUTATION_OLDER_SHARDS, 4, SHARDED_KEYS,
        .key_sharding_ms = 100, MS(3000))

/* ---- counters: each addition counts once, whatever cell it went to ---- */
#define COUNTERS THREE_NODES, .routers = 3, .key_sharding_ms = 150, .work_counters = 6, MS(3000)
MUTATION(a_sum_lacks_a_cell, MUTATION_READ_FEWER_CELLS, 1, COUNTERS)
MUTATION(a_cell_adds_twice, MUTATION_ADD_TWICE, 5, .faults = FAULT(CRASH) | FAULT(RESET), COUNTERS)

/* ---- full stores: what is deleted makes room for what is put ---- */
MUTATION(freed_pages_do_not_count, MUTATION_OMIT_FREED_PAGES, 1, THREE_NODES, CLIENTS(1),
        .work_fill = 3, MS(8000))

/* ---- the rate limiter: at most what there was is taken, and nothing is stuck ---- */
#define LIMITER THREE_NODES, .routers = 3, .work_limiter =6, MS(4000)
MUTATION(a_new_limiter_shard_begins_full, MUTATION_LIMITER_MINT, 3, LIMITER)
MUTATION(a_limiter_shard_made_again_in_its_epoch, MUTATION_LIMITER_RECREATE, 7, LIMITER)
MUTATION(newer_limits_reach_one_shard_only, MUTATION_LIMITER_OLD_LIMITS, 4, LIMITER)
MUTATION(the_hidden_limit_is_not_refilled, MUTATION_LIMITER_DRY_WRITES, 3, LIMITER)
MUTATION(a_lease_gives_back_elsewhere, MUTATION_LIMITER_FAR_REFUND, 3, LIMITER)
MUTATION(a_parents_bucket_does_not_grow, MUTATION_LIMITER_LONE_PARENT, 3, LIMITER)
MUTATION(a_router_refuses_nothing_from_memory, MUTATION_LIMITER_IGNORE_CACHE, 3, LIMITER)
MUTATION(a_repeated_request_reads_one_shard, MUTATION_LIMITER_QUERY_ONE_SHARD, 21,
        .faults = FAULT(CRASH) | FAULT(RESET), LIMITER)
MUTATION(a_repeated_request_counts_twice, MUTATION_ADD_TWICE, 4,
        .faults = FAULT(CRASH) | FAULT(RESET), LIMITER)
