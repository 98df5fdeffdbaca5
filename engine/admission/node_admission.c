/* node_admission.c - the node's capacity, and how bursting partitions share the rest of it.
 *
 * Allocated work debits the node's bucket without a check. Bursts take the rest, the residual.
 * First come, first served would give the residual to the partition that asks most often. So each
 * partition counts what its bursts took lately. While more than one partition bursts, the node
 * admits a burst only if as much as the partition has taken would remain for the others:
 *
 *     balance >= min(taken lately by the partition + cost, capacity)
 *
 * Why this is fair (max-min): all partitions have the same bound. Of two partitions that are
 * refused, the one that has taken less passes first. Partitions that want less than their share get
 * all they ask for. The others come to equal amounts. The rule needs no list of partitions. If only
 * one partition bursts, it may take everything: its condition is `balance >= cost`.
 * Source: the aim is that of deficit round robin, the means are dynamic buffer thresholds
 * (Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). A refused request is not
 * queued here, so there is no queue to go round.
 *
 * Bursts that a leader elsewhere admitted, and that this node follows, count like its own. A leader
 * applies the same rule to the other members' nodes, if more than one partition bursts there
 * (member.c).
 *
 * The allocations of a table's partitions here are the node's promise to the table. If routers keep
 * the table's limit, a hot partition may use what the others leave of the promise. This takes
 * nothing from other tables. So such a burst needs only its cost, and does not count as taken.
 *
 * Invariants
 *   RESIDUAL-1  The burst of a partition that took nothing lately needs only its cost.
 *   RESIDUAL-2  If only one partition bursts, its burst needs only its cost.
 *   RESIDUAL-3  A full node admits every cost.
 *   RESIDUAL-4  A burst within the promise to the table needs only its cost. */
#include "engine/admission/admission_internal.h"

/* "Lately" is the time of one round before now. Two counters estimate it: all that this round took,
 * and of the round before the part that lies in this time.
 * So the start of a round is no better moment than another, and nodes need not start their rounds
 * together. A round is as long as the bucket is deep: shorter rounds would forget what a partition
 * took before the tokens came back, and favour small requests. */
static int64_t round_of(const struct node_admission *n, struct instant now)
{
    if ((uint64_t)(now.ns - n->round_began_ns) < (uint64_t)n->round_ns)
        return n->round; /* saves a division, which costs as much as all the rest */
    return now.ns / n->round_ns;
}

void node_burst_enter(const struct admission_case *c)
{
    int64_t round = round_of(c->node, c->now);
    c->node->round = round;
    c->node->round_began_ns = round * c->node->round_ns;
    struct node_residual *residual = &c->node->residual[c->kind];
    struct admission_meter *m = c->meter;
    if (residual->round != round) {
        residual->bursters_before = residual->round + 1 == round ? residual->bursters : 0;
        residual->bursters = 0;
        residual->round = round;
    }
    if (m->burst_round != round) {
        m->burst_before_mcu = m->burst_round + 1 == round ? m->burst_mcu : 0;
        m->burst_mcu = 0;
        m->burst_round = round;
        residual->bursters++;
    }
}

/* Whether more than one partition bursts in this round, or did in the round before. */
static bool is_shared(const struct node_residual *residual, int64_t round)
{
    if (residual->round == round)
        return residual->bursters > 1 || residual->bursters_before > 1;
    return residual->round + 1 == round && residual->bursters > 1;
}

/* The part of what the last round took that lies less than a round before `at`. */
static int64_t part_of(int64_t taken_mcu, int64_t round_ns, struct instant at)
{
    int64_t whole_us = round_ns / NS_PER_US, left_us = (round_ns - at.ns % round_ns) / NS_PER_US;
    int64_t product;
    if (!__builtin_mul_overflow(taken_mcu, left_us, &product))
        return product / whole_us;
    return (int64_t)((__int128)taken_mcu * left_us / whole_us);
}

int64_t burst_taken_mcu(const struct admission_case *c, struct instant at)
{
    const struct admission_meter *m = c->meter;
    int64_t round = round_of(c->node, at), round_ns = c->node->round_ns, sum;
    if (m->burst_round + 1 == round)
        return part_of(m->burst_mcu, round_ns, at);
    if (m->burst_round != round)
        return 0;
    int64_t before = part_of(m->burst_before_mcu, round_ns, at);
    return __builtin_add_overflow(m->burst_mcu, before, &sum) ? INT64_MAX : sum;
}

/* The balance that the node must have for the burst. */
static int64_t cost_with_reserve(const struct admission_case *c, int64_t cost_mcu,
                                 struct instant at)
{
    int64_t sum;
    if (!is_shared(&c->node->residual[c->kind], round_of(c->node, at)))
        return cost_mcu;
    return __builtin_add_overflow(cost_mcu, burst_taken_mcu(c, at), &sum) ? INT64_MAX : sum;
}

bool promise_has(const struct admission_case *c, int64_t cost_mcu)
{
    return c->promise != NULL && token_bucket_has(c->promise, cost_mcu);
}

bool node_burst_has(const struct admission_case *c, int64_t cost_mcu, bool promised)
{
    int64_t needed = promised ? cost_mcu : cost_with_reserve(c, cost_mcu, c->now);
    return token_bucket_has(&c->node->buckets[c->kind], needed);
}

/* An upper bound: it assumes that the reserve stays as it is until the next round has ended,
 * although it falls all the time. Finding the exact time would cost ten times as much. */
struct duration node_burst_wait(const struct admission_case *c, int64_t cost_mcu)
{
    const struct token_bucket *bucket = &c->node->buckets[c->kind];
    struct duration alone = token_bucket_wait(bucket, cost_mcu);
    struct duration reserved = token_bucket_wait(bucket, cost_with_reserve(c, cost_mcu, c->now));
    struct instant forgotten = {(round_of(c->node, c->now) + 2) * c->node->round_ns};
    struct duration unreserved = instant_since(forgotten, c->now);
    if (c->promise != NULL)
        unreserved = duration_shorter(unreserved, token_bucket_wait(c->promise, cost_mcu));
    return duration_shorter(reserved, duration_longer(alone, unreserved));
}

void node_debit(const struct admission_case *c, int64_t cost_mcu, bool burst, bool promised)
{
    token_bucket_debit(&c->node->buckets[c->kind], cost_mcu);
    if (c->promise != NULL && (!burst || promised))
        token_bucket_debit(c->promise, cost_mcu);
    if (burst && !promised && c->meter->burst_round == round_of(c->node, c->now) &&
        __builtin_add_overflow(c->meter->burst_mcu, cost_mcu, &c->meter->burst_mcu))
        c->meter->burst_mcu = INT64_MAX;
}

bool node_admission_is_shared(const struct node_admission *n, enum admit_kind kind,
                              struct instant now)
{
    return is_shared(&n->residual[kind], round_of(n, now));
}

void node_admission_init(struct node_admission *n, const struct config *config, struct instant now)
{
    must(now.ns >= 0);
    *n = (struct node_admission){.round_ns = config->node_depth_ms * NS_PER_MS};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t rate = node_capacity_mcu(config, kind);
        int64_t depth = admission_depth(rate, config->node_depth_ms);
        token_bucket_init(&n->buckets[kind], depth, rate, admission_debt_max(config, rate), depth,
                          now);
        n->residual[kind].round = round_of(n, now);
    }
}
