/* crowd.h - the clients of one table in the lab: they arrive by a Poisson process, at routers and
 * partitions by weight.
 *
 * A request costs one unit: a write of an item of less than 1 KB, or a strong read of an item that
 * does not exist. Outcomes are counted by router. */
#pragma once

#include "base/prng.h"
#include "tests/support/lab.h"

enum {
    CROWD_PARTITIONS_MAX = 64,
    CROWD_PARTITION_UNITS = 1000, /* the partition maximum */
    CROWD_KEYS = 8 /* of each partition, chosen at random: no item is hot by itself */
};

struct crowd {
    struct lab *lab; /* borrows */
    char table[16];
    bool writes;
    int64_t units; /* of the table, a second */
    struct prng prng;
    int64_t per_second; /* of all requests */
    double routers[LAB_ROUTERS_MAX];
    uint32_t partition_count;
    double partitions[CROWD_PARTITIONS_MAX];
    char keys[CROWD_PARTITIONS_MAX][CROWD_KEYS][16];
    struct counts counts[LAB_ROUTERS_MAX];
};

/* Makes a table with this many partitions, which may use `units` a second of the crowd's kind. The
 * lab must have started, with a `partition_max_wcu` of CROWD_PARTITION_UNITS. */
void crowd_init(struct crowd *c, struct lab *l, uint32_t partitions, int64_t units, bool writes,
                uint64_t seed);
/* Weights 1 / i^s, in a random order. */
void crowd_zipf(struct crowd *c, double *weights, uint32_t count, double s);
/* The weight at `at` is `part`. The others share the rest evenly. */
void crowd_hot(double *weights, uint32_t count, uint32_t at, double part);
void crowd_run(struct crowd *c, int64_t ns);
/* The outcomes so far, at all routers. */
struct counts crowd_counts(const struct crowd *c);
/* Sets the counts to zero. */
void crowd_measure(struct crowd *c);
