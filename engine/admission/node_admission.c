/* node_admission.c - the node's capacity, and how those that burst share what is left of it.
 *
 * Allocated work is debited here and never asked; bursts take what remains, the residual. First
 * come would take all of it: whoever asks most often finds the token that just fell. So every
 * partition that bursts counts what its bursts took in the present round, and while more than one
 * partition bursts, the node lets it take on only if as much as it has already taken would remain
 * for the others:
 *
 *     balance >= min(taken by it in this round + cost, capacity)
 *
 * Why this shares fairly: the bound is the same for all, so of two that are short, the one that has
 * taken less passes first, and those that want more than their share end a round with equal
 * amounts, after those that want less got all they asked for (max-min). It needs no list of
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
 *   F1  a partition that took nothing in this round is asked for its cost alone.
 *   F2  a sole burster is asked for its cost alone.
 *   F3  a full node passes every cost.
 *   F4  so is a burst within what the table was promised. */
#include "base/must.h"
#include "engine/admission/policy_internal.h"

/* As long as the bucket is deep: shorter rounds would forget what a partition took before the
 * tokens it took came back, and favour whoever asks for small amounts. */
static int64_t round_of(const struct node_admission *n, struct instant now)
{
    return now.ns / n->round_ns;
}

void node_burst_enter(const struct admission_case *c)
{
    int64_t round = round_of(c->node, c->now);
    struct node_residual *residual = &c->node->residual[c->kind];
    if (residual->round != round) {
        residual->bursters_before = residual->round + 1 == round ? residual->bursters : 0;
        residual->bursters = 0;
        residual->round = round;
    }
    if (c->meter->burst_round != round) {
        c->meter->burst_round = round;
        c->meter->burst_spent_mcu = 0;
        residual->bursters++;
    }
}

/* What the node must hold for the burst. */
static int64_t cost_with_reserve(const struct admission_case *c, int64_t cost_mcu)
{
    const struct node_residual *residual = &c->node->residual[c->kind];
    if (c->meter->burst_round != round_of(c->node, c->now))
        return cost_mcu;
    if (residual->bursters < 2 && residual->bursters_before < 2)
        return cost_mcu;
    int64_t sum;
    return __builtin_add_overflow(cost_mcu, c->meter->burst_spent_mcu, &sum) ? INT64_MAX : sum;
}

bool promise_has(const struct admission_case *c, int64_t cost_mcu)
{
    return c->promise != NULL && token_bucket_has(c->promise, cost_mcu);
}

bool node_burst_has(const struct admission_case *c, int64_t cost_mcu, bool promised)
{
    int64_t needed = promised ? cost_mcu : cost_with_reserve(c, cost_mcu);
    return token_bucket_has(&c->node->buckets[c->kind], needed);
}

/* In this round the reserve is asked for too; from the next round on the cost alone, and as soon as
 * the table's promise has it. */
struct duration node_burst_wait(const struct admission_case *c, int64_t cost_mcu)
{
    const struct token_bucket *bucket = &c->node->buckets[c->kind];
    struct duration alone = token_bucket_wait(bucket, cost_mcu);
    struct duration reserved = token_bucket_wait(bucket, cost_with_reserve(c, cost_mcu));
    struct duration unreserved = instant_since((struct instant){(round_of(c->node, c->now) + 1) * c->node->round_ns},
                                               c->now);
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
        __builtin_add_overflow(c->meter->burst_spent_mcu, cost_mcu, &c->meter->burst_spent_mcu))
        c->meter->burst_spent_mcu = INT64_MAX;
}

bool node_admission_is_shared(const struct node_admission *n, enum admit_kind kind,
                              struct instant now)
{
    const struct node_residual *residual = &n->residual[kind];
    int64_t round = round_of(n, now);
    bool now_shared = residual->round == round && residual->bursters > 1;
    bool before = residual->round == round ? residual->bursters_before > 1
                                           : residual->round + 1 == round && residual->bursters > 1;
    return now_shared || before;
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
