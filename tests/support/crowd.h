/* crowd.h - the clients of one table in the lab: they arrive by a Poisson process, at routers and
 * partitions by weight.
 *
 * A request costs one unit: a write of an item of less than 1 KB, or a strong read of one that is
 * not there. Outcomes are counted by router. */
#ifndef WEIR_TESTS_SUPPORT_CROWD_H
#define WEIR_TESTS_SUPPORT_CROWD_H

#include "base/prng.h"
#include "tests/support/lab.h"

enum {
    CROWD_PARTITIONS_MAX = 64,
    CROWD_PARTITION_UNITS = 1000, /* most of a partition */
    CROWD_KEYS = 8                /* of a partition, in turn: no item is hot by itself */
};

struct crowd {
    struct lab *lab; /* borrows */
    char table[16];
    bool writes;
    int64_t units; /* a second: the table's */
    struct prng prng;
    int64_t per_second; /* all requests */
    double routers[LAB_ROUTERS_MAX];
    uint32_t partition_count;
    double partitions[CROWD_PARTITIONS_MAX];
    char keys[CROWD_PARTITIONS_MAX][CROWD_KEYS][16];
    struct counts counts[LAB_ROUTERS_MAX];
};

/* Makes the table, of so many partitions, that may use `units` a second of what the crowd wants.
 * The lab has started, with a `partition_max_wcu` of CROWD_PARTITION_UNITS. */
void crowd_init(struct crowd *c, struct lab *l, uint32_t partitions, int64_t units, bool writes,
                uint64_t seed);
/* The i-th of `count` gets 1 / i^s, in a random order. */
void crowd_zipf(struct crowd *c, double *weights, uint32_t count, double s);
/* Part of it at one, the rest even. */
void crowd_hot(double *weights, uint32_t count, uint32_t at, double part);
void crowd_run(struct crowd *c, int64_t ns);
/* What has become of it so far, at all routers. */
struct counts crowd_counts(const struct crowd *c);
/* Counts start again. */
void crowd_measure(struct crowd *c);

#endif
