/* node_admission.c - the node's capacity, and how those that burst share what is left of it.
 *
 * Allocated work is debited here and never asked; bursts take what remains, the residual. First
 * come would take all of it: whoever asks most often finds the token that just fell. So every
 * partition that bursts counts what its bursts took lately, and while more than one partition
 * bursts, the node lets it take on only if as much as it has already taken would remain for the
 * others:
 *
 *     balance >= min(taken by it lately + cost, capacity)
 *
 * Why this shares fairly: the bound is the same for all, so of two that are short, the one that has
 * taken less passes first, and those that want more than their share come to equal amounts, after
 * those that want less got all they asked for (max-min). It needs no list of
 * partitions and gives everything away when only one bursts: that one sees `balance >= cost`.
 * It is deficit round robin's aim by the means of dynamic buffer thresholds (Choudhury and Hahne,
 * IEEE/ACM Transactions on Networking 6(2), 1998): a refused request is not queued here, so there
 * is no queue to go round.
 *
 * Bursts that a leader elsewhere admitted, and that this node follows, count like its own. A leader
 * asks the same of the other members: of a node where more than one partition bursts, as much as
 * its own has taken (member.c).
 *
 * What the partitions of a table were allocated here was promised to the table. Where routers keep
 * the table's limit, a hot partition may use what the others leave of that, and takes nothing from
 * anybody: such a burst is asked for its cost alone, and does not count as taken.
 *
 * Invariants:
 *   F1  a partition that took nothing lately is asked for its cost alone.
 *   F2  a sole burster is asked for its cost alone.
 *   F3  a full node passes every cost.
 *   F4  so is a burst within what the table was promised. */
#include "base/must.h"
#include "engine/admission/admission_internal.h"

/* Lately: in the time of a round before now, as far as two counters tell: what this round took, and
 * of what the round before took the part by which it reaches into that time. So no moment is better
 * to begin than another, and nodes need not begin their rounds together. A round is as long as the
 * bucket is deep: shorter ones would forget what a partition took before the tokens came back, and
 * favour whoever asks for small amounts. */
static int64_t round_of(const struct node_admission *n, struct instant now)
{
    if ((uint64_t)(now.ns - n->round_began_ns) < (uint64_t)n->round_ns)
        return n->round; /* dividing costs as much as all the rest */
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

/* More than one partition bursts in this round, or did in the one before. */
static bool is_shared(const struct node_residual *residual, int64_t round)
{
    if (residual->round == round)
        return residual->bursters > 1 || residual->bursters_before > 1;
    return residual->round + 1 == round && residual->bursters > 1;
}

/* Of what a round took, the part that lies less than a round before `at`, which is in the next. */
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

/* What the node must hold for the burst. */
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

/* At most: the reserve as it is now is asked for until the round after this one has ended, though
 * it falls all the time. The exact moment would cost ten times as much to find. */
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
    const int64_t units[ADMIT_KINDS] = {
        [ADMIT_READ] = config->node_rcu, [ADMIT_WRITE] = config->node_wcu};
    *n = (struct node_admission){.round_ns = config->node_depth_ms * NS_PER_MS};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t rate = units[kind] * MCU_PER_UNIT;
        int64_t depth = admission_depth(rate, config->node_depth_ms);
        token_bucket_init(&n->buckets[kind], depth, rate, admission_debt_max(config, rate), depth,
                          now);
        n->residual[kind].round = round_of(n, now);
    }
}
