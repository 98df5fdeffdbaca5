#include "gac/lease.h"

enum {
    SLOT_MS = 100,
    SLOTS_A_SECOND = 10,
    SLOTS_REMEMBERED = 20, /* after as many empty ones nothing is wanted */
    ONE_UNIT = 1000        /* mcu */
};

static int64_t square_root(int64_t value)
{
    int64_t root = 0;
    for (int64_t bit = INT64_C(1) << 31; bit != 0; bit >>= 1) {
        int64_t more = root | bit;
        if (more * more <= value)
            root = more;
    }
    return root;
}

/* What goes out while an ask and its answer are on their way, and twice what that varies by. */
static int64_t watermark_of(const struct lease *l)
{
    int64_t ns = l->round_trip.ns + NS_PER_MS;
    int64_t meanwhile = (int64_t)((__int128)l->demand * ns / NS_PER_S);
    return meanwhile + 2 * square_root(meanwhile * ONE_UNIT) + ONE_UNIT;
}

/* Up at once, down by and by. */
static void end_slot(struct lease *l)
{
    int64_t rate = l->slot_sum * SLOTS_A_SECOND;
    if (rate > l->demand)
        l->demand += (rate - l->demand + 1) / 2;
    else
        l->demand -= (l->demand - rate) / 4;
    l->slot_sum = 0;
    l->slot_at = instant_add(l->slot_at, duration_ms(SLOT_MS));
}

static void roll(struct lease *l, struct instant now)
{
    int64_t slots = instant_since(now, l->slot_at).ns / (SLOT_MS * NS_PER_MS);
    if (slots == 0)
        return;
    if (slots > SLOTS_REMEMBERED) {
        l->demand = l->slot_sum = 0;
        l->slot_at = now;
    }
    for (; slots > 0 && slots <= SLOTS_REMEMBERED; slots--)
        end_slot(l);
    l->watermark = watermark_of(l);
}

void lease_want(struct lease *l, struct instant now, int64_t cost)
{
    roll(l, now);
    l->slot_sum += cost;
}

int64_t lease_demand(struct lease *l, struct instant now)
{
    roll(l, now);
    int64_t now_a_second = l->slot_sum * SLOTS_A_SECOND;
    return now_a_second > l->demand ? now_a_second : l->demand;
}
