/* Seeds that once found a bug find none: tables, and what the items of a table are used for.
 * Each run has the options of the run that found it. */
#include "tests/check.h"

#include "tests/sim/once_failed.h"

/* Tables that come and go, drains, suspended machines, settings that differ. 1040, 5103 and 47: a
 * deletion that never ended, or ended while a leader served the table. 2779 and 20349: a replica
 * opened late took today's members for the group's first. 10 (with drains alone): a lease grant to
 * a leader that had gone. 188: a snapshot of items larger than a slice. 41996: a term forgotten in
 * the second restart. 51253: a leader that was opened after a split's decision. 52147: a replica of
 * the catalog without state that was moved away. 853912: a replica opened again by a late word
 * after its table's deletion. 854917: one opened again after its group had let go of it. 862033:
 * one that was let go of, and kept its lease grant to a leader that did not count on it. 872529: a
 * deletion that was done because a split was. 320738628: a replica that gave up its state for a
 * snapshot of what its log had, and could not lead when another disk was lost. 1309806: a piece of
 * the first of two splits that kept its parent's lease grant for ever. 1600243: a router that
 * rested on what it had been granted before its table's limit fell kept others from what came in.
 * 2108064: a late word opened a replica with the range of another one that was being opened, and
 * its old writes came over newer items. 30031: a write that was done, answered 503. 14004662: the
 * simulator let any amount of data wait for a slow way. 4005037: the changes that an index lacked
 * lay under keys that a part which was split off used again. 22001740: a piece of a new index that
 * took longer than its caller waits was begun anew for ever. 22003940: a late word brought a
 * table's former indexes back. 22005513: a feed that began anew counted twice what went. 22008175:
 * a feed took the first error of a read for the end of the changes. 7002: followers took the lock
 * of a large item with local indexes for malformed, as it cost more than one item. */

SEED_PASSES(1040, .faults = SIM_FAULTS_ALL)
SEED_PASSES(5103, .faults = SIM_FAULTS_ALL)
SEED_PASSES(47, .faults = SIM_FAULTS_ALL)
SEED_PASSES(2779, .faults = SIM_FAULTS_ALL)
SEED_PASSES(20349, .faults = SIM_FAULTS_ALL)
SEED_PASSES(30031, .faults = SIM_FAULTS_ALL)
SEED_PASSES(41996, .faults = SIM_FAULTS_ALL)
SEED_PASSES(51253, .faults = SIM_FAULTS_ALL)
SEED_PASSES(52147, .faults = SIM_FAULTS_ALL)
SEED_PASSES(52700, .faults = SIM_FAULTS_ALL)
SEED_PASSES(94214, .faults = SIM_FAULTS_ALL)
SEED_PASSES(402713, .faults = SIM_FAULTS_ALL)
SEED_PASSES(515768, .faults = SIM_FAULTS_ALL)
SEED_PASSES(833520, .faults = SIM_FAULTS_ALL)
SEED_PASSES(853912, .faults = SIM_FAULTS_ALL)
SEED_PASSES(854917, .faults = SIM_FAULTS_ALL)
SEED_PASSES(862033, .faults = SIM_FAULTS_ALL)
SEED_PASSES(872529, .faults = SIM_FAULTS_ALL)
SEED_PASSES(320738628, .faults = SIM_FAULTS_ALL)
SEED_PASSES(1309806, .faults = SIM_FAULTS_ALL)
SEED_PASSES(1600243, .faults = SIM_FAULTS_ALL)
SEED_PASSES(2108064, .faults = SIM_FAULTS_ALL)
SEED_PASSES(14004662, .faults = SIM_FAULTS_ALL)
SEED_PASSES(4005037, .faults = SIM_FAULTS_ALL)
SEED_PASSES(22001740, .faults = SIM_FAULTS_ALL)
SEED_PASSES(22003940, .faults = SIM_FAULTS_ALL)
SEED_PASSES(22005513, .faults = SIM_FAULTS_ALL)
SEED_PASSES(22008175, .faults = SIM_FAULTS_ALL)
SEED_PASSES(2810, .faults = SIM_FAULTS_ALL, .work_transactions = 4)
SEED_PASSES(401, .faults = SIM_FAULTS_ALL, .work_transactions = 5)
SEED_PASSES(944, .faults = SIM_FAULTS_ALL, .work_transactions = 5)
SEED_PASSES(7002, .faults = SIM_FAULTS_ALL, .work_transactions = 4, .length_ms = 2000)
SEED_PASSES(23201527, .faults = SIM_FAULTS_ALL)
SEED_PASSES(25000352, .faults = SIM_FAULTS_ALL)
/* Boosts reserved what a third table needs, and were given up bit by bit for a minute. */
SEED_PASSES(97945497, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000)
/* Clients repeated strong reads of a key of 124 shards without a rest: none was answered. */
/* A router was started again, and the links of its former life stayed: it kept all of a rate. */
SEED_PASSES(41000033, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000)
SEED_PASSES(97946494, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000)
/* A router's first answers of a GAC server were late: it took all of the rate meanwhile. */
SEED_PASSES(97942578, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000)
/* A CreateTable came late, and the same deletion was recorded once for two tables. */
SEED_PASSES(97861958, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000)
SEED_PASSES(10, .faults = SIM_FAULT_BIT(SIM_DRAIN), .nodes = 4, .replicas = 2, .gac = SIM_NONE,
            .length_ms = 10000)
SEED_PASSES(188,
            .faults = SIM_FAULT_BIT(SIM_CUT) | SIM_FAULT_BIT(SIM_ONE_WAY) |
                      SIM_FAULT_BIT(SIM_SETTINGS),
            .nodes = 3, .replicas = 3, .gac = SIM_NONE, .length_ms = 10000)

/* 62: a replica that was opened late led its group, which waited for what that replica knew. */
TEST(time_to_live_that_once_failed_passes)
{
    const struct sim_options o = {.seed = 62,
                                  .faults = SIM_FAULTS_ALL,
                                  .work_ttl = 5,
                                  .work_streams = SIM_NONE,
                                  .work_counters = SIM_NONE,
                                  .work_limiter = SIM_NONE,
                                  .work_fill = SIM_NONE,
                                  .key_sharding_ms = SIM_NONE,
                                  .length_ms = 8000};
    (void)state;
    assert_passes(o);
}

/* 75000261, 75000462: the aggregators of three routers read the shards of buckets so often that a
 * small table had no units left for anything else. 79000785: a request with a key that had been
 * gathered, and was sent again, got a lease on what the router would have gathered now. 86020530:
 * a router that had read of a bucket's growth in its walk through the table did not ask the shard
 * where a request with a key had been done before. 90012892: reads and writes that waited for a
 * transaction took all places of a node's queue, also that of the question how the transaction
 * ended. 93004765: the next use of a lease whose use had been refused was told that the lease had
 * been used. 94000574: requests that waited for two replicas to get a snapshot took the place of
 * the scan that reads the snapshot. */
TEST(limiters_that_once_failed_pass)
{
    static const struct sim_options runs[] = {
        {.seed = 75000261, .length_ms = 4000},
        {.seed = 75000462, .length_ms = 4000},
        {.seed = 79000785, .length_ms = 4000},
        {.seed = 86020530, .length_ms = 3000, .plain = true, .nodes = 3},
        {.seed = 90012892,
         .length_ms = 3000,
         .plain = true,
         .nodes = 3,
         .routers = 3,
         .gac = SIM_NONE},
        {.seed = 93004765,
         .length_ms = 3000,
         .plain = true,
         .nodes = 3,
         .routers = 3,
         .gac = SIM_NONE},
        {.seed = 94000574, .length_ms = 3000, .plain = true, .nodes = 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct sim_options o = runs[i];
        o.faults = SIM_FAULTS_ALL;
        o.clients = 1;
        o.work_limiter = 4;
        assert_passes(alone(o));
    }
}

/* 41000244: items that went to their owner shards by several moves at a time filled the memtable,
 * and gave all of them up, again and again. 41000164: a page of a key that has one shard left
 * began anew when its table was told of other sharded keys, and named items twice. 41000543: an
 * item that went to its owner shard between two shards, and was written, had rows of an index at
 * two places of one page. 63000849: a deleted table waited for parts in its own partitions, which
 * were gone. */
TEST(sharded_keys_that_once_failed_pass)
{
    static const struct sim_options runs[] = {
        {.seed = 41000244, .key_sharding_ms = 100, .work_transactions = 4, .length_ms = 4000},
        {.seed = 41000164, .key_sharding_ms = 200, .merges = 50},
        {.seed = 41000543, .key_sharding_ms = 100, .work_transactions = 4, .length_ms = 4000},
        {.seed = 63000849, .key_sharding_ms = 200, .work_counters = 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct sim_options o = runs[i];
        o.faults = SIM_FAULTS_ALL;
        assert_passes(o);
    }
}

/* 95004351: by its own clock a router said that records were trimmed which their leader still had,
 * so a reader began the shard anew. */
TEST(a_stream_that_once_failed_passes)
{
    (void)state;
    assert_passes((struct sim_options){
        .seed = 95004351, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000});
}

/* 97420535: by its own clock a router hid a shard that nobody had read yet. */
TEST(a_stream_that_once_lacked_a_shard_passes)
{
    (void)state;
    assert_passes((struct sim_options){
        .seed = 97420535, .faults = SIM_FAULTS_ALL, .extras = SIM_EXTRAS_ALL, .length_ms = 1000});
}

/* A group of a deleted table lacked a leader for ten seconds: one disk was lost, and one replica
 * was never opened. What it had committed for other tables was given up. */
TEST(deleted_tables_that_once_lost_pending_parts_pass)
{
    static const uint64_t seeds[] = {7, 118, 169, 248};
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++)
        assert_passes(alone((struct sim_options){.seed = seeds[i],
                                                 .faults = SIM_FAULT_BIT(SIM_CRASH) |
                                                           SIM_FAULT_BIT(SIM_WIPE) |
                                                           SIM_FAULT_BIT(SIM_SUSPEND),
                                                 .faults_forced = true,
                                                 .extras = SIM_EXTRA_BIT(SIM_LEAVING_TABLE),
                                                 .extras_forced = true,
                                                 .nodes = 3,
                                                 .replicas = 3,
                                                 .gac = SIM_NONE,
                                                 .clients = 1,
                                                 .work_transactions = 4,
                                                 .length_ms = 1000}));
}
