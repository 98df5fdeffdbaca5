/* Seeds that once found a bug find none: partitions, admission and the world itself.
 * Each run has the options of the run that found it. */
#include "tests/check.h"

#include "tests/sim/once_failed.h"
#include "tests/support/baseline_policies.h"

/* Each found a bug in a node, a router, or the world itself. 2001769: three candidates whose votes
 * took longer to come than the others waited before they ran. */
TEST(seeds_that_once_failed_pass)
{
    static const uint64_t seeds[] = {20670, 100478, 100147, 100666, 102116, 114,   56,
                                     219,   17,     284,    834,    975,    21196, 2001769};
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        struct sim_options o = {.seed = seeds[i],
                                .faults = SIM_FAULTS_ALL,
                                .gac = SIM_NONE,
                                .plain = true,
                                .tick_us = SIM_NONE};
        assert_passes(o);
    }
}

/* Partitions that are split, for as long as the run was that found it. 20267: a replica that held
 * nothing yet knew of a split from the catalog, refused its group's snapshot from before it, and
 * the group needed it to commit that very split. 50463: the catalog's replica whose log had not
 * been compacted yet took itself, in the middle of a snapshot, for one without a past. 4011706: as
 * 20267, for a replica that has been there since the beginning. 4003515, 4012876 and 4014657:
 * groups asked for votes so often that these came too late. 6008291, 6011800,
 * 9001557, 12012011, 12013574, 12015072 and 14013908: tests/unit/gac/. 9001835: as 6008291,
 * of a router that was slow to connect. 16012533: tests/unit/replication/raft_split_test.c. */
TEST(work_splits_that_once_failed_pass)
{
    static const struct sim_options runs[] = {
        {.seed = 20267, .faults = SIM_FAULTS_ALL, .gac = SIM_NONE, .length_ms = 5000},
        {.seed = 50463, .faults = SIM_FAULTS_ALL, .gac = SIM_NONE},
        {.seed = 36, .faults = SIM_FAULTS_ALL, .gac = SIM_NONE, .length_ms = 3000},
        {.seed = 23, .faults = SIM_FAULTS_ALL, .gac = SIM_NONE, .length_ms = 3000},
        {.seed = 4003515, .faults = SIM_FAULTS_ALL},
        {.seed = 4011706, .faults = SIM_FAULTS_ALL},
        {.seed = 4012876, .faults = SIM_FAULTS_ALL},
        {.seed = 4014657, .faults = SIM_FAULTS_ALL},
        {.seed = 6008291, .faults = SIM_FAULTS_ALL},
        {.seed = 6011800, .faults = SIM_FAULTS_ALL},
        {.seed = 9001557, .faults = SIM_FAULTS_ALL},
        {.seed = 9001835, .faults = SIM_FAULTS_ALL},
        {.seed = 12012011, .faults = SIM_FAULTS_ALL},
        {.seed = 12013574, .faults = SIM_FAULTS_ALL},
        {.seed = 12015072, .faults = SIM_FAULTS_ALL},
        {.seed = 14013908, .faults = SIM_FAULTS_ALL},
        {.seed = 16012533, .faults = SIM_FAULTS_ALL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct sim_options o = runs[i];
        o.tick_us = SIM_NONE;
        o.plain = true;
        assert_passes(o);
    }
}

/* Of three nodes, with every fault of a kind. 1079, 1446 and 1488: a replica did not know, after a
 * restart, that it was frozen; it kept out the snapshot of the one that had taken over. 12315: a
 * frozen replica whose merge was given up was behind, and took no snapshot. */
TEST(merges_that_once_failed_pass)
{
    static const struct {
        uint64_t seed;
        uint32_t more;
    } runs[] = {{1079, 0}, {1446, 0}, {1488, 0}, {12315, SIM_FAULT_BIT(SIM_SLOW_DISK)}};
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        assert_passes(alone((struct sim_options){
            .seed = runs[i].seed,
            .faults = SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_POWER) |
                      SIM_FAULT_BIT(SIM_WIPE) | SIM_FAULT_BIT(SIM_CUT) | runs[i].more,
            .faults_forced = true,
            .nodes = 3,
            .replicas = 3,
            .gac = SIM_NONE,
            .merges = 50,
            .length_ms = 6000}));
}

/* 5: a replica that was frozen, thawed and frozen again knew after a restart only of the first. Its
 * node could not start. */
TEST(policies_that_once_failed_pass)
{
    const struct sim_options o = {.seed = 5,
                                  .faults = SIM_FAULTS_ALL,
                                  .work_counters = SIM_NONE,
                                  .work_limiter = SIM_NONE,
                                  .work_fill = SIM_NONE,
                                  .key_sharding_ms = SIM_NONE,
                                  .partition_policy = "always-burst",
                                  .node_policy = "drr",
                                  .policies = baseline_policies()};
    (void)state;
    assert_passes(o);
}

/* A feed began anew while deletions of its changes were on their way. It proposed them again, and
 * they were subtracted twice: the backlog grew beyond its bound. */
TEST(backlogs_that_once_grew_too_large_pass)
{
    static const uint64_t seeds[] = {42, 284};
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        const struct sim_options o = {.seed = seeds[i],
                                      .faults = SIM_FAULT_BIT(SIM_PAUSE),
                                      .faults_forced = true,
                                      .nodes = 3,
                                      .replicas = 3,
                                      .gac = SIM_NONE,
                                      .clients = 24,
                                      .merges = SIM_NONE,
                                      .work_counters = SIM_NONE,
                                      .work_limiter = SIM_NONE,
                                      .work_fill = SIM_NONE,
                                      .key_sharding_ms = SIM_NONE,
                                      .length_ms = 4000};
        assert_passes(o);
    }
}

/* 275: an eventual read that waited for the router's own writes moved to a key's shards, and became
 * consistent. When the wait was over the router wrote to no address. */
TEST(own_reads_that_once_failed_pass)
{
    const struct sim_options o = {.seed = 275,
                                  .faults = SIM_FAULT_BIT(SIM_CRASH),
                                  .faults_forced = true,
                                  .extras = SIM_EXTRAS_ALL,
                                  .nodes = 3,
                                  .replicas = 3,
                                  .work_fill = SIM_NONE,
                                  .length_ms = 1000};
    (void)state;
    assert_passes(o);
}

/* 124: free pages lay apart, and a chunk of a snapshot was taken for one large value: a replica
 * never got its snapshot. */
TEST(snapshots_that_once_found_no_space_pass)
{
    const struct sim_options o = {.seed = 124,
                                  .faults =
                                      SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_READ_ERROR),
                                  .faults_forced = true,
                                  .nodes = 3,
                                  .replicas = 3,
                                  .work_transactions = 6,
                                  .work_fill = SIM_NONE,
                                  .length_ms = 1000};
    (void)state;
    assert_passes(o);
}

/* 88200223: after a merge and a split, the piece without the records of a stream counted them.
 * 87000626: moves of items took longer than transaction_decide_ms, and were
 * given up again and again. 87000747: the look at limits took a repeated step for one without an
 * answer. */
TEST(large_worlds_that_once_failed_pass)
{
    static const uint64_t SEEDS[] = {87000626, 87000747, 88200223};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SEEDS); i++) {
        const struct sim_options o = {.seed = SEEDS[i],
                                      .faults = SIM_FAULTS_ALL,
                                      .extras = SIM_EXTRAS_ALL,
                                      .work_fill = SIM_NONE,
                                      .length_ms = 1000};
        assert_passes(o);
    }
}

/* 20152: a follower's free pages lay apart, and its checkpoint found no place for a large value.
 * 305: a snapshot kept the last pages of a full store, was ended, and began again. */
TEST(stores_that_once_stayed_full_pass)
{
    static const uint64_t SEEDS[] = {305, 20152};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SEEDS); i++) {
        const struct sim_options o = {
            .seed = SEEDS[i], .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .work_fill = 3};
        assert_passes(o);
    }
}

/* One evaluation of the controller decided twice about a partition: its replica left a node, and
 * then that node was to hand over its lead. What the node had reserved fell below zero. */
TEST(two_decisions_about_a_partition_that_once_failed_pass)
{
    (void)state;
    assert_passes((struct sim_options){
        .seed = 95010512, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000});
}

/* 96200059: a member waited for one of the node's few snapshots, and its group was not asked again
 * when another snapshot had ended. */
TEST(members_that_once_waited_for_a_snapshot_for_good_pass)
{
    (void)state;
    assert_passes((struct sim_options){
        .seed = 96200059, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000});
}

/* 97211351: clients that wrote without a pause took all that each checkpoint of a full store freed,
 * and a deletion waited for 20 s. */
TEST(a_deletion_that_once_found_no_space_passes)
{
    (void)state;
    assert_passes((struct sim_options){
        .seed = 97211351, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000});
}

/* 97303457: two snapshots that waited for room in one memtable were given up in turn for ever, and
 * the node refused all writes. 97721323: two full stores sent snapshots to each other, and the next
 * one began before a write found room. */
TEST(snapshots_that_once_waited_for_room_for_good_pass)
{
    static const uint64_t seeds[] = {97303457, 97721323};
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++)
        assert_passes((struct sim_options){.seed = seeds[i],
                                           .faults = SIM_FAULTS_ALL,
                                           .extras = SIM_EXTRAS_ALL,
                                           .length_ms = 1000});
}
