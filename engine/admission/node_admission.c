/* node_admission.c - the node's capacity, and how those that burst share what is left of it.
 *
 * Allocated work is debited here and never asked; bursts take what remains, the residual. First
 * come would take all of it: whoever asks most often finds the token that just fell. So every
 * partition that bursts counts what its bursts took in the present round of ROUND_NS, and while
 * more than one partition bursts, the node lets it take on only if as much as it has already taken
 * would remain for the others:
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
 * Invariants:
 *   F1  a partition that took nothing in this round is asked for its cost alone.
 *   F2  a sole burster is asked for its cost alone.
 *   F3  a full node passes every cost. */
#include "base/must.h"
#include "engine/admission/policy_internal.h"

/* As long as the bucket's depth: shorter rounds would forget what a partition took before the
 * tokens it took came back, and favour whoever asks for small amounts. */
#define ROUND_NS NS_PER_S

static int64_t round_of(struct instant now)
{
    return now.ns / ROUND_NS;
}

void node_burst_enter(const struct admission_case *c)
{
    int64_t round = round_of(c->now);
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
    if (c->meter->burst_round != round_of(c->now))
        return cost_mcu;
    if (residual->bursters < 2 && residual->bursters_before < 2)
        return cost_mcu;
    int64_t sum;
    return __builtin_add_overflow(cost_mcu, c->meter->burst_spent_mcu, &sum) ? INT64_MAX : sum;
}

bool node_burst_has(const struct admission_case *c, int64_t cost_mcu)
{
    return token_bucket_has(&c->node->buckets[c->kind], cost_with_reserve(c, cost_mcu));
}

/* In this round the reserve is asked for too, from the next round on the cost alone. */
struct duration node_burst_wait(const struct admission_case *c, int64_t cost_mcu)
{
    const struct token_bucket *bucket = &c->node->buckets[c->kind];
    struct duration alone = token_bucket_wait(bucket, cost_mcu);
    struct duration reserved = token_bucket_wait(bucket, cost_with_reserve(c, cost_mcu));
    struct instant next_round = {(round_of(c->now) + 1) * ROUND_NS};
    return duration_shorter(reserved, duration_longer(alone, instant_since(next_round, c->now)));
}

void node_debit(const struct admission_case *c, int64_t cost_mcu, bool burst)
{
    token_bucket_debit(&c->node->buckets[c->kind], cost_mcu);
    if (burst && c->meter->burst_round == round_of(c->now) &&
        __builtin_add_overflow(c->meter->burst_spent_mcu, cost_mcu, &c->meter->burst_spent_mcu))
        c->meter->burst_spent_mcu = INT64_MAX;
}

void node_admission_init(struct node_admission *n, const struct config *config, struct instant now)
{
    must(now.ns >= 0);
    const int64_t units[ADMIT_KINDS] = {
        [ADMIT_READ] = config->node_rcu, [ADMIT_WRITE] = config->node_wcu};
    *n = (struct node_admission){0};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t rate = units[kind] * MCU_PER_UNIT;
        token_bucket_init(&n->buckets[kind], rate, rate, admission_debt_max(config, rate), rate,
                          now);
        n->residual[kind].round = round_of(now);
    }
}
