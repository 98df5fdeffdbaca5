/* zipf.c - see zipf.h. */
#include "workload/zipf.h"

#include <math.h>
#include <stdlib.h>

#include "base/must.h"

/* A probability as a part of 2^64. */
static uint64_t zipf_part(double probability)
{
    return probability >= 1 ? UINT64_MAX : (uint64_t)(probability * 0x1.0p64);
}

/* Cuts the ranks into runs. `weights` gets how often a run is proposed. */
static void zipf_cut(struct zipf *z, double weights[ZIPF_CELLS_MAX])
{
    for (uint64_t first = 1; first <= z->count; z->cells++) {
        must(z->cells < ZIPF_CELLS_MAX);
        struct zipf_cell *c = &z->cell[z->cells];
        c->first = first;
        c->length = first < 32 ? 1 : first / 16;
        if (c->length > z->count - first + 1)
            c->length = z->count - first + 1;
        double last = (double)(first + c->length - 1);
        c->squeeze = zipf_part(pow((double)first / last, z->theta));
        weights[z->cells] = (double)c->length * pow((double)first, -z->theta);
        first += c->length;
    }
}

static void zipf_alias(struct zipf *z, double weights[ZIPF_CELLS_MAX])
{
    uint32_t small[ZIPF_CELLS_MAX], large[ZIPF_CELLS_MAX], smalls = 0, larges = 0;
    double whole = 0;
    for (uint32_t i = 0; i < z->cells; i++)
        whole += weights[i];
    for (uint32_t i = 0; i < z->cells; i++) {
        weights[i] *= z->cells / whole;
        if (weights[i] < 1)
            small[smalls++] = i;
        else
            large[larges++] = i;
    }
    while (smalls > 0 && larges > 0) {
        uint32_t less = small[--smalls], more = large[larges - 1];
        z->cell[less].stay = zipf_part(weights[less]);
        z->cell[less].alias = more;
        weights[more] -= 1 - weights[less];
        if (weights[more] < 1) {
            larges--;
            small[smalls++] = more;
        }
    }
    /* What is left has a weight of 1, but for rounding. */
    while (larges > 0)
        z->cell[large[--larges]].stay = UINT64_MAX;
    while (smalls > 0)
        z->cell[small[--smalls]].stay = UINT64_MAX;
    for (uint32_t i = 0; i < z->cells; i++)
        if (z->cell[i].stay == UINT64_MAX)
            z->cell[i].alias = i;
}

void zipf_init(struct zipf *z, double theta, uint64_t count)
{
    double weights[ZIPF_CELLS_MAX];
    must(theta > 0 && theta <= 10);
    must(count >= 1 && count <= UINT64_C(1000000000000));
    *z = (struct zipf){.theta = theta, .count = count};
    z->cell = must_calloc(ZIPF_CELLS_MAX, sizeof z->cell[0]);
    zipf_cut(z, weights);
    zipf_alias(z, weights);
}

void zipf_deinit(struct zipf *z)
{
    free(z->cell);
    *z = (struct zipf){0};
}

uint64_t zipf_next(const struct zipf *z, struct prng *random)
{
    for (;;) {
        /* The whole part chooses, the fraction decides: one random number for both. */
        unsigned __int128 r = (unsigned __int128)prng_next(random) * z->cells;
        const struct zipf_cell *c = &z->cell[(uint32_t)(r >> 64)];
        if ((uint64_t)r >= c->stay)
            c = &z->cell[c->alias];
        if (c->length == 1)
            return c->first - 1;
        r = (unsigned __int128)prng_next(random) * c->length;
        uint64_t rank = c->first + (uint64_t)(r >> 64), fraction = (uint64_t)r;
        if (fraction < c->squeeze)
            return rank - 1;
        if ((double)fraction * 0x1.0p-64 < pow((double)c->first / (double)rank, z->theta))
            return rank - 1;
    }
}
