/* heat.h - what a partition's keys are asked for: how much, where, and in which direction it moves.
 *
 * Reads and writes are measured separately, by cost, and decay: cost that is a half-life older
 * counts half. The leader adds every request that reaches admission, also refused ones: demand
 * counts.
 *
 * Promises: heat_add is O(1) amortised. It allocates only when a partition, or one kind of its
 * requests, has no heat. No clock, no floating point.
 *   HEAT-2  A partition without heat holds sizeof(struct heat). A kind has heat once it was asked
 *           for more than heat_start_percent of the partition maximum within a second. A partition
 *           with heat holds at most HEAT_MEMORY_MAX bytes more, whatever its keys. heat_cool frees
 *           memory of decayed heat.
 *   HEAT-3  Same calls, same answers: randomness comes from the seed.
 *
 * A partition that was just split off begins without heat: what was asked for before its birth is
 * no reason to split it again.
 *
 * Why heavy keys come from the sketch too: a key's weight is the weight of an interval, within
 * three times heat_error. In the same memory Space-Saving guarantees only a larger error (a
 * sixty-fourth of everything with 64 counters). Only for the last seconds there are counters beside
 * it (recent.h): the sketch cannot tell when a key was asked for.
 *
 * `now` must not move back. Units: mcu = 1/1000 capacity unit. */
#pragma once

#include "base/arena.h"
#include "engine/admission/verdict.h"
#include "engine/heat/sketch.h"

struct config;

enum {
    HEAT_POINTS_MAX = ADMIT_KINDS * SKETCH_ENTRIES,
    HEAT_MEMORY_MAX = ADMIT_KINDS * (int)sizeof(struct sketch) + 1024,
};

struct heat_state;

struct heat {
    struct heat_state *state; /* owns; NULL: no heat */
    uint64_t seed;
    uint32_t shared; /* bytes that all keys of the range begin with; the sketches leave them out */
    uint32_t half_life_ms; /* 0: not initialized */
    uint32_t recent_ms;
    int64_t start_mcu[ADMIT_KINDS]; /* within a second; what is asked for beyond that makes heat */
    struct instant cold_at;         /* the begin of the present second without heat */
    int64_t cold_mcu[ADMIT_KINDS];  /* asked for in that second */
};

/* For the range [lo, hi); an empty hi is no bound. Settings: heat_half_life_ms, heat_recent_ms,
 * heat_start_percent. A heat of zeroes is not initialized; it may be read, and has no heat. */
void heat_init(struct heat *h, struct slice lo, struct slice hi, uint64_t seed,
               const struct config *config);
static inline bool heat_is_init(const struct heat *h)
{
    return h->half_life_ms > 0;
}
void heat_deinit(struct heat *h);

/* The key lies in the range. */
void heat_add(struct heat *h, struct instant now, enum admit_kind kind, struct slice key,
              int64_t cost_mcu);

/* Frees what has decayed to nothing. True: some heat is left. */
bool heat_cool(struct heat *h, struct instant now);

/* The recent demand in mcu per second: a decayed mean over the time with heat, at least a
 * second. */
int64_t heat_rate(struct heat *h, struct instant now, enum admit_kind kind);

/* The mean over the last one to two heat_recent_ms, so that a new load is seen in full. If
 * heat_rate is lower, and the difference may be chance: heat_rate. After a machine has halted,
 * delayed and repeated requests come on top of a load. */
int64_t heat_rate_now(struct heat *h, struct instant now, enum admit_kind kind);

/* What a partition key is asked for in mcu per second. `hash`: of the key in storage keys. `mcu`:
 * the same by the decayed weights of heat_items, as part of heat_rate_now. If more or less than
 * that was asked for of late (recent.h), and the difference cannot be chance, that counts instead:
 * a key that has turned hot or cold is seen at once. 0 for the first heat_recent_ms of a load: it
 * is not known yet. */
int64_t heat_key_rate(struct heat *h, struct instant now, enum admit_kind kind, uint64_t hash,
                      int64_t mcu);

/* Observations, decayed. */
int64_t heat_samples(struct heat *h, struct instant now, enum admit_kind kind);

/* One standard deviation of the estimated rate of an interval or of a single key: mcu per second,
 * as part of heat_rate_now. */
int64_t heat_error(struct heat *h, struct instant now, enum admit_kind kind);

enum sketch_direction heat_direction(const struct heat *h, enum admit_kind kind);

/* Bytes on the heap. */
size_t heat_memory(const struct heat *h);

/* Whether at least `mcu` a second are asked for of late (recent.h): without a look at the keys, and
 * exact. False for the first heat_recent_ms of a load. */
bool heat_is_recently(struct heat *h, struct instant now, enum admit_kind kind, int64_t mcu);

/* The keys in the sketch of one kind, without the shared bytes, in no order: at most
 * SKETCH_ENTRIES. They lend until the heat changes. */
uint32_t heat_items(struct heat *h, struct instant now, enum admit_kind kind,
                    struct sketch_item *out);

/* A key in the sketches, and the decayed cost that was asked for it. */
struct heat_point {
    struct slice key; /* without the shared bytes; lends until the heat changes */
    int64_t mcu[ADMIT_KINDS];
};

/* All points in key order, each key once. They lend until the arena is reset. */
uint32_t heat_points(struct heat *h, struct instant now, struct arena *arena,
                     struct heat_point **out);
