/* recent.c - a few counters; recent.h tells what they promise. */
#include "engine/heat/recent.h"

static void recent_lower(struct recent_keys *r, int64_t mcu)
{
    for (uint32_t i = 0; i < RECENT_KEYS; i++)
        r->keys[i].mcu -= mcu;
    r->lost_mcu += mcu;
}

void recent_add(struct recent_keys *r, uint64_t hash, int64_t mcu)
{
    struct recent_key *least = &r->keys[0];
    for (uint32_t i = 0; i < RECENT_KEYS; i++) {
        struct recent_key *k = &r->keys[i];
        if (k->hash == hash && k->mcu > 0) {
            k->mcu += mcu;
            return;
        }
        least = k->mcu < least->mcu ? k : least;
    }
    const int64_t lower = mcu < least->mcu ? mcu : least->mcu;
    if (lower > 0)
        recent_lower(r, lower);
    if (mcu > lower)
        *least = (struct recent_key){hash, mcu - lower};
}

int64_t recent_mcu(const struct recent_keys *r, uint64_t hash)
{
    for (uint32_t i = 0; i < RECENT_KEYS; i++) {
        if (r->keys[i].hash == hash && r->keys[i].mcu > 0)
            return r->keys[i].mcu;
    }
    return 0;
}
