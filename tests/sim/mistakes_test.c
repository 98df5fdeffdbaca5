/* A simulator that finds nothing proves nothing: each mistake here is one that a test once could
 * not see. A bounded number of seeds must find it.
 *
 * Each search begins at a seed that finds the mistake soon. A change of weir changes what a seed does:
 * then the search goes on with the following seeds and takes longer, until another first seed is named here. */
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

static void a_clock_that_stands_still_in_suspended_machines_is_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_SUSPEND),
                                      .faults_forced = true,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .routers = 4,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .length_ms = 10000,
                                      .mistake = SIM_MISTAKE_CLOCK_STOPS},
                 RAFT_MUTATION_NONE, 1, SEEDS_LONG);
}

static void erasing_whole_buckets_of_long_keys_is_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_DRAIN),
                                      .faults_forced = true,
                                      .nodes = 4,
                                      .replicas = 2,
                                      .gac = SIM_GAC_NONE,
                                      .length_ms = 10000},
                 RAFT_MUTATION_WHOLE_RECORDS, 52, SEEDS);
}

static void leases_that_count_on_ones_own_settings_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_CUT) | SIM_FAULT_BIT(SIM_ONE_WAY),
                                      .faults_forced = true,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .plain = true,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .length_ms = 10000},
                 RAFT_MUTATION_OWN_SUPPORT, 1, SEEDS_LONG);
}

static void votes_that_do_not_heed_support_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_ONE_WAY),
                                      .faults_forced = true,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .routers = 4,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .length_ms = 10000},
                 RAFT_MUTATION_FORGET_PROMISE, 33, SEEDS);
}

static void writes_refused_for_a_dead_node_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_CRASH),
                                      .faults_forced = true,
                                      .nodes = 4,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 10,
                                      .length_ms = 10000,
                                      .mistake = SIM_MISTAKE_DEAD_MEMBERS},
                 RAFT_MUTATION_NONE, 15, SEEDS);
}

static void a_partition_that_absorbs_what_is_not_frozen_is_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_CUT) | SIM_FAULT_BIT(SIM_ONE_WAY),
                                      .faults_forced = true,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .merges = 70,
                                      .length_ms = 3000},
                 RAFT_MUTATION_ABSORB_AS_IT_IS, 282, SEEDS);
}

static void requests_that_are_done_though_they_were_cut_off_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = 0,
                                      .gac = SIM_GAC_NONE,
                                      .length_ms = 3000,
                                      .mistake = SIM_MISTAKE_CUT_REQUESTS},
                 RAFT_MUTATION_NONE, 11, SEEDS);
}

static void reads_that_fail_and_say_that_nothing_is_there_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_READ_ERROR),
                                      .faults_forced = true,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .length_ms = 3000,
                                      .mistake = SIM_MISTAKE_READ_ERRORS},
                 RAFT_MUTATION_NONE, 1, SEEDS);
}

/* A condition fails on an item that is in flight. The leader is cut off, the item is never
 * committed, and the refusal was answered: no item like that ever was. */
static void refusals_that_tell_of_writes_in_flight_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_CUT) | SIM_FAULT_BIT(SIM_CRASH),
                                      .faults_forced = true,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .length_ms = 5000},
                 RAFT_MUTATION_REFUSE_IN_FLIGHT, 5, SEEDS);
}

/* Busy processes and short targets: some writes are shed. One of them that is done nevertheless is a
 * value that nobody wrote. */
static void requests_that_are_shed_and_done_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = 0,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .length_ms = 3000},
                 RAFT_MUTATION_SHED_IN_VAIN, 6, SEEDS);
}

/* Items of tables with local indexes change and move, and replicas start from snapshots. */
static void assert_row_mistake_found(enum raft_mutation mutation)
{
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_CUT),
                                      .nodes = 4,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .length_ms = 3000},
                 mutation, 1, SEEDS);
}

static void index_rows_that_are_wrong_are_found(void **state)
{
    (void)state;
    assert_row_mistake_found(RAFT_MUTATION_KEEP_OLD_ROW);
    assert_row_mistake_found(RAFT_MUTATION_SKIP_ROW);
}

static void snapshots_without_index_rows_are_found(void **state)
{
    (void)state;
    assert_row_mistake_found(RAFT_MUTATION_FORGET_ROWS);
}

/* Global indexes: their rows are compared with the items at the end. */
static void assert_feed_mistake_found(enum raft_mutation mutation, uint32_t faults, uint64_t first)
{
    assert_found((struct sim_options){.faults = faults,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .length_ms = 4000},
                 mutation, first, SEEDS);
}

static void global_rows_that_are_wrong_are_found(void **state)
{
    (void)state;
    assert_feed_mistake_found(RAFT_MUTATION_SKIP_CHANGE, 0, 1);
    assert_feed_mistake_found(RAFT_MUTATION_KEEP_OLD_GLOBAL, 0, 1);
    assert_feed_mistake_found(RAFT_MUTATION_SKIP_FILL, 0, 1);
}

static void changes_that_a_new_leader_forgets_are_found(void **state)
{
    (void)state;
    assert_feed_mistake_found(RAFT_MUTATION_FORGET_FEED,
                              SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_CUT), 1);
}

static void a_backlog_without_bound_is_found(void **state)
{
    (void)state;
    assert_feed_mistake_found(RAFT_MUTATION_NO_BACKLOG_BOUND,
                              SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_CUT), 2);
}

/* A base leader stands still with a row on its way, and its successor writes the row anew. */
static void assert_session_mistake_found(enum raft_mutation mutation)
{
    assert_found((struct sim_options){.faults = SIM_FAULT_BIT(SIM_PAUSE),
                                      .faults_forced = true,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .length_ms = 4000},
                 mutation, 1, SEEDS_LONG);
}

/* unit_index_sessions_test finds them every time. */
static void rows_that_come_late_are_found(void **state)
{
    (void)state;
    assert_session_mistake_found(RAFT_MUTATION_ANY_SESSION);
    assert_session_mistake_found(RAFT_MUTATION_APPLY_TWICE);
}

/* Transactions must be all or nothing, and in one order for all who look. */
static void assert_transaction_mistake_found(enum raft_mutation mutation, uint32_t faults,
                                             uint64_t first)
{
    assert_found((struct sim_options){.faults = faults,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .transacts = 6,
                                      .length_ms = 4000},
                 mutation, first, SEEDS);
}

/* Many partitions are split and merged while few clients beside those of transactions work. */
static void splits_that_forget_locks_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = 0,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 4,
                                      .merges = 30,
                                      .transacts = 6,
                                      .length_ms = 4000},
                 RAFT_MUTATION_SPLIT_FORGETS, 5, SEEDS);
}

static void mistakes_with_locks_are_found(void **state)
{
    const uint32_t faults = SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_CUT);
    (void)state;
    assert_transaction_mistake_found(RAFT_MUTATION_SKIP_LOCK, 0, 1);
    assert_transaction_mistake_found(RAFT_MUTATION_WRITE_LOCKED, 0, 3);
    assert_transaction_mistake_found(RAFT_MUTATION_READ_LOCKED, 0, 6);
    assert_transaction_mistake_found(RAFT_MUTATION_FORGET_LOCKS, faults, 5);
    assert_transaction_mistake_found(RAFT_MUTATION_SKIP_RECORD, faults, 3);
    assert_transaction_mistake_found(RAFT_MUTATION_DECIDE_EARLY, faults, 6);
    assert_transaction_mistake_found(RAFT_MUTATION_DECIDE_TWICE, faults | SIM_FAULT_BIT(SIM_PAUSE),
                                     70);
}

/* An item that is written anew must stay. */
static void expiries_that_do_not_see_the_newest_item_are_found(void **state)
{
    const struct sim_options o = {.nodes = 3,
                                  .replicas = 3,
                                  .gac = SIM_GAC_NONE,
                                  .clients = 1,
                                  .expiries = 12,
                                  .length_ms = 4000};
    (void)state;
    assert_found(o, RAFT_MUTATION_EXPIRE_UNJUDGED, 2, SEEDS);
    assert_found(o, RAFT_MUTATION_EXPIRE_APPLIED, 3, SEEDS);
}

/* A follower of a stream must see each change once, in its order, through splits and moves. */
static void assert_stream_mistake_found(enum raft_mutation mutation, uint32_t faults,
                                        uint64_t first)
{
    assert_found((struct sim_options){.faults = faults,
                                      .faults_forced = faults != 0,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_GAC_NONE,
                                      .follows = 8,
                                      .length_ms = 4000},
                 mutation, first, SEEDS);
}

static void mistakes_with_streams_are_found(void **state)
{
    (void)state;
    assert_stream_mistake_found(RAFT_MUTATION_SKIP_STREAM, 0, 4);
    assert_stream_mistake_found(RAFT_MUTATION_DOUBLE_STREAM, 0, 4);
    assert_stream_mistake_found(RAFT_MUTATION_OUTLIVE_SHARD, 0, 1);
    assert_stream_mistake_found(RAFT_MUTATION_FORGET_STREAM, SIM_FAULT_BIT(SIM_WIPE), 4);
}

/* An item of a salted key is at one place, and all who look find it there. */
static void assert_salting_mistake_found(enum raft_mutation mutation, uint64_t first)
{
    assert_found((struct sim_options){.faults = 0,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .routers = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .saltings_ms = 100,
                                      .length_ms = 3000},
                 mutation, first, SEEDS);
}

/* Keys whose shards change again before their items have moved. */
static void shards_that_are_read_in_any_order_are_found(void **state)
{
    (void)state;
    assert_found((struct sim_options){.faults = 0,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .routers = 3,
                                      .gac = SIM_GAC_NONE,
                                      .clients = 24,
                                      .saltings_ms = 30,
                                      .length_ms = 2000},
                 RAFT_MUTATION_NO_RANKS, 3, SEEDS);
}

static void mistakes_with_salted_keys_are_found(void **state)
{
    (void)state;
    assert_salting_mistake_found(RAFT_MUTATION_SKIP_FENCE, 1);
    assert_salting_mistake_found(RAFT_MUTATION_MOVE_COPIES, 4);
    assert_salting_mistake_found(RAFT_MUTATION_MOVE_BLIND, 2);
    assert_salting_mistake_found(RAFT_MUTATION_OLDER_SHARDS, 4);
}

/* Each addition counts once, whatever cell it went to. */
static void assert_counter_mistake_found(enum raft_mutation mutation, uint32_t faults,
                                         uint64_t first)
{
    assert_found((struct sim_options){.faults = faults,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .routers = 3,
                                      .gac = SIM_GAC_NONE,
                                      .saltings_ms = 150,
                                      .tallies = 6,
                                      .length_ms = 3000},
                 mutation, first, SEEDS);
}

static void mistakes_with_counters_are_found(void **state)
{
    (void)state;
    assert_counter_mistake_found(RAFT_MUTATION_READ_FEWER_CELLS, 0, 1);
    assert_counter_mistake_found(RAFT_MUTATION_ADD_TWICE,
                                 SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_RESET), 3);
}

/* Buckets of the rate limiter: what was taken, at most what there was, and nothing stuck. */
static void assert_limiter_mistake_found(enum raft_mutation mutation, uint32_t faults,
                                         uint64_t first)
{
    assert_found((struct sim_options){.faults = faults,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .routers = 3,
                                      .gac = SIM_GAC_NONE,
                                      .limits = 6,
                                      .length_ms = 4000},
                 mutation, first, SEEDS);
}

static void mistakes_with_buckets_are_found(void **state)
{
    (void)state;
    assert_limiter_mistake_found(RAFT_MUTATION_LIMITER_MINT, 0, 3);
    assert_limiter_mistake_found(RAFT_MUTATION_LIMITER_REOPEN, 0, 3);
    assert_limiter_mistake_found(RAFT_MUTATION_LIMITER_OLD_LIMITS, 0, 3);
    assert_limiter_mistake_found(RAFT_MUTATION_LIMITER_DRY_WRITES, 0, 3);
}

static void mistakes_of_routers_with_buckets_are_found(void **state)
{
    const uint32_t faults = SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_RESET);
    (void)state;
    assert_limiter_mistake_found(RAFT_MUTATION_LIMITER_FAR_REFUND, 0, 3);
    assert_limiter_mistake_found(RAFT_MUTATION_LIMITER_LONE_PARENT, 0, 3);
    assert_limiter_mistake_found(RAFT_MUTATION_LIMITER_ASK_IN_VAIN, 0, 3);
    assert_limiter_mistake_found(RAFT_MUTATION_LIMITER_FORGET_HOME, faults, 1);
    assert_limiter_mistake_found(RAFT_MUTATION_ADD_TWICE, faults, 3);
}

/* What takes hundreds of seeds is for the long form: SEEDS=1 build/tests/sim_mistakes_test. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(erasing_whole_buckets_of_long_keys_is_found),
        cmocka_unit_test(votes_that_do_not_heed_support_are_found),
        cmocka_unit_test(writes_refused_for_a_dead_node_are_found),
        cmocka_unit_test(a_partition_that_absorbs_what_is_not_frozen_is_found),
        cmocka_unit_test(requests_that_are_done_though_they_were_cut_off_are_found),
        cmocka_unit_test(requests_that_are_shed_and_done_are_found),
        cmocka_unit_test(index_rows_that_are_wrong_are_found),
        cmocka_unit_test(snapshots_without_index_rows_are_found),
        cmocka_unit_test(global_rows_that_are_wrong_are_found),
        cmocka_unit_test(changes_that_a_new_leader_forgets_are_found),
        cmocka_unit_test(a_backlog_without_bound_is_found),
        cmocka_unit_test(mistakes_with_locks_are_found),
        cmocka_unit_test(splits_that_forget_locks_are_found),
        cmocka_unit_test(expiries_that_do_not_see_the_newest_item_are_found),
        cmocka_unit_test(mistakes_with_streams_are_found),
        cmocka_unit_test(mistakes_with_salted_keys_are_found),
        cmocka_unit_test(shards_that_are_read_in_any_order_are_found),
        cmocka_unit_test(mistakes_with_counters_are_found),
        cmocka_unit_test(mistakes_with_buckets_are_found),
        cmocka_unit_test(mistakes_of_routers_with_buckets_are_found),
        cmocka_unit_test(reads_that_fail_and_say_that_nothing_is_there_are_found),
        cmocka_unit_test(refusals_that_tell_of_writes_in_flight_are_found),
    };
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_clock_that_stands_still_in_suspended_machines_is_found),
        cmocka_unit_test(leases_that_count_on_ones_own_settings_are_found),
        cmocka_unit_test(rows_that_come_late_are_found),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return getenv("SEEDS") != NULL ? failed + cmocka_run_group_tests(all, NULL, NULL) : failed;
}
