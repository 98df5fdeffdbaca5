/* bucket_split.c - divides a partition's buckets among the pieces of a split.
 *
 * Invariants
 *   DIVIDE-1  The balances of a bucket's pieces add up to its balance, if their capacities together
 *             have room for it. Debts always add up.
 *   DIVIDE-2  If two replicas have the same buckets, they get the same pieces. */

#include "engine/admission/admission_internal.h"
#include "include/weir/policy_partition.h"

enum {
    PIECES_MAX = WEIR_POLICY_PIECES_MAX,
    WHOLE_PPM = 1000000
};

/* The remainder goes to the first pieces. Giving it to the largest shares would be fairer, by less
 * than a token. */
static void shares_of(int64_t amount, uint32_t count, const uint32_t share_ppm[], int64_t out[])
{
    int64_t given = 0;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (int64_t)((__int128)amount * share_ppm[i] / WHOLE_PPM);
        given += out[i];
    }
    int64_t step = amount < 0 ? -1 : 1;
    for (uint32_t i = 0; given != amount; i = (i + 1) % count) {
        out[i] += step;
        given += step;
    }
}

/* What does not fit into a piece goes to the first pieces with room. */
static void pour_over(uint32_t count, struct token_bucket *const buckets[], int64_t parts[])
{
    int64_t over = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i] <= buckets[i]->capacity)
            continue;
        over += parts[i] - buckets[i]->capacity;
        parts[i] = buckets[i]->capacity;
    }
    for (uint32_t i = 0; i < count && over > 0; i++) {
        int64_t room = buckets[i]->capacity - parts[i];
        int64_t taken = MIN(over, room);
        parts[i] += taken;
        over -= taken;
    }
}

/* `whole`: the bucket before the split. The pieces' buckets have their capacities and rates. */
static void bucket_divide(const struct token_bucket *whole, uint32_t count,
                          struct token_bucket *const buckets[], const uint32_t share_ppm[])
{
    int64_t parts[PIECES_MAX];
    shares_of(whole->balance, count, share_ppm, parts);
    pour_over(count, buckets, parts);
    for (uint32_t i = 0; i < count; i++) {
        struct token_bucket *b = buckets[i];
        int64_t debt_max = MAX(-parts[i], b->debt_max);
        token_bucket_init(b, b->capacity, b->rate, debt_max, parts[i], whole->updated_at);
        b->fraction = i == 0 ? whole->fraction : 0;
    }
}

/* The first piece goes on with the states of the whole, and the policies may divide them. */
static void split_states(struct admission *const pieces[], uint32_t count,
                         const struct admission_meter *whole, const uint32_t share_ppm[],
                         enum admit_kind kind)
{
    void *states[PIECES_MAX], *shares[PIECES_MAX];
    memcpy(pieces[0]->meters[kind].state, whole->state, sizeof whole->state);
    memcpy(pieces[0]->meters[kind].share, whole->share, sizeof whole->share);
    for (uint32_t i = 0; i < count; i++) {
        states[i] = pieces[i]->meters[kind].state;
        shares[i] = pieces[i]->meters[kind].share;
    }
    const struct weir_partition_policy *policy = whole->policy;
    if (policy->divide != NULL)
        policy->divide(states, share_ppm, count);
    if (pieces[0]->sharing->divide != NULL)
        pieces[0]->sharing->divide(shares, share_ppm, count);
}

void admission_split(struct admission *const pieces[], uint32_t count, const struct config *config,
                     const struct admission_rates rates[],
                     const uint32_t *const share_ppm[ADMIT_KINDS], struct instant now)
{
    must(count > 0);
    must(count <= PIECES_MAX);
    must(pieces[0]->table == NULL);
    struct admission whole = *pieces[0];
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        meter_refill(&whole.meters[kind], now);
    for (uint32_t i = 0; i < count; i++)
        admission_init(pieces[i], admission_policies_of(&whole), config, &rates[i], now);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct token_bucket *cap[PIECES_MAX], *allocation[PIECES_MAX], *burst[PIECES_MAX];
        const struct admission_meter *m = &whole.meters[kind];
        for (uint32_t i = 0; i < count; i++) {
            cap[i] = &pieces[i]->meters[kind].cap;
            allocation[i] = &pieces[i]->meters[kind].allocation;
            burst[i] = &pieces[i]->meters[kind].burst;
        }
        bucket_divide(&m->cap, count, cap, share_ppm[kind]);
        bucket_divide(&m->allocation, count, allocation, share_ppm[kind]);
        bucket_divide(&m->burst, count, burst, share_ppm[kind]);
        split_states(pieces, count, m, share_ppm[kind], kind);
    }
}
