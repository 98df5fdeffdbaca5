/* optimum.h - what an omniscient admission control could admit in one window.
 *
 * A problem has resources (tables, partitions, nodes, processors), each with a capacity in the
 * window, and flows, each with a demand. An admitted mcu of a flow debits every resource of the
 * flow: a read its table, its partition and one node; a write the nodes of all members. It debits
 * one from most resources, and from a processor the time that it takes: the coefficient.
 *
 * Two answers, since no single one serves every measure:
 *   - optimum_total: the greatest total. No policy admits more, so ratios to it are at most 1.
 *     Which flows get it is not unique: it may starve one flow to serve two others.
 *   - optimum_fair: the lexicographic max-min allocation. It is unique (but for rounding) and
 *     says what each flow should get. Its total may be smaller, for reads too: flows A (table 1,
 *     node 1), B (table 1), C (node 1), all capacities 2: max-min gives each 1, total 3; the
 *     greatest total is 4.
 *
 * Promises: deterministic; no answer exceeds a capacity or a demand. OPTIMUM-1: total_mcu <= the
 * true optimum <= bound_mcu. The bound is proven in integers at every call (optimum_total.c), so it
 * does not rest on floating-point arithmetic.
 * Units: demands are mcu in the window, and their sum is at most OPTIMUM_MAX. A capacity is in
 * mcu, or in any unit of which a flow's coefficients say how much an mcu takes.
 *
 * Not here: the capacities that a policy's buckets give a window (docs/measures.md). */
#pragma once

#include <stdint.h>

enum {
    OPTIMUM_PATH_MAX = 16 /* resources of one flow */
};

#define OPTIMUM_MAX        (INT64_C(1) << 60)
#define OPTIMUM_WEIGHT_MAX (INT64_C(1) << 40)
#define OPTIMUM_UNLIMITED  INT64_MAX /* a capacity that never binds */

struct optimum_flow {
    int64_t demand_mcu; /* >= 0 */
    int64_t weight;     /* 1 .. OPTIMUM_WEIGHT_MAX; optimum_fair shares by it; often the
                                            allocation */
    uint32_t count;     /* resources, none twice */
    uint32_t resources[OPTIMUM_PATH_MAX];    /* indices of capacities */
    uint32_t coefficients[OPTIMUM_PATH_MAX]; /* what an mcu debits of each; 0 stands for 1 */
};

/* Borrows its arrays. */
struct optimum_problem {
    const struct optimum_flow *flows;
    uint32_t flow_count;
    const int64_t
        *capacities; /* 0 .. OPTIMUM_MAX, or OPTIMUM_UNLIMITED; below zero counts as zero */
    uint32_t resource_count;
};

struct optimum_result {
    int64_t total_mcu; /* the sum of `admitted` */
    int64_t bound_mcu; /* no allocation of whole mcu has a greater total */
};

/* A group of flows or of groups: a tenant, an account. */
struct optimum_group {
    uint32_t parent; /* index of a group that comes before; OPTIMUM_NO_GROUP: none */
    int64_t weight;  /* 1 .. OPTIMUM_WEIGHT_MAX; among the members of the parent */
};

#define OPTIMUM_NO_GROUP UINT32_MAX

/* Borrows its arrays. The weight of a flow counts among the members of its group. */
struct optimum_tree {
    const struct optimum_group *groups;
    uint32_t group_count;
    const uint32_t *group_of; /* by flow */
};

/* Memory that calls reuse. */
struct optimum;

struct optimum *optimum_create(void);
void optimum_destroy(struct optimum *o);

/* The greatest total. `admitted_mcu`: one figure a flow, or NULL. Up to 512 overloaded resources of
 * several flows each, bound_mcu is the optimum but for rounding (1e-9 of it), and total_mcu less
 * than 1 mcu a resource below. Where coefficients of a resource differ a million times, they are
 * within 1e-7 and 1e-5 of the optimum. Beyond, bound_mcu may be some percent too high, never too
 * low. */
struct optimum_result optimum_total(struct optimum *o, const struct optimum_problem *p,
                                    int64_t *admitted_mcu);

/* The weighted lexicographic max-min allocation: a flow below its demand meets a full resource
 * where no other flow has more per weight. bound_mcu is total_mcu. */
struct optimum_result optimum_fair(struct optimum *o, const struct optimum_problem *p,
                                   int64_t *admitted_mcu);

/* The same where groups share, and their members within them: optimum_tree.c says how. On a single
 * resource a group gets its weighted part of its parent's share, or what its flows want. */
struct optimum_result optimum_fair_tree(struct optimum *o, const struct optimum_problem *p,
                                        const struct optimum_tree *tree, int64_t *admitted_mcu);
