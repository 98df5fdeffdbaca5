/* heat.h - what a partition's keys are asked for: how much, where, and which way it moves.
 *
 * Reads and writes are measured separately, by cost, in decayed weights: what is a half-life older
 * counts half. Whoever leads adds every request that reaches admission, refused or not: what counts
 * is what is asked for.
 *
 * Promises
 *   H1  heat_add is O(1) amortised. It allocates on a partition's first heat and never again.
 *   H2  A partition without heat holds sizeof(struct heat); one with heat at most
 *       HEAT_MEMORY_MAX bytes more, whatever its keys. heat_cool gives that back.
 *   H3  No clock, no floating point; randomness from the seed. Same calls, same answers.
 *
 * A partition that was just split off begins without heat: what was asked for before its birth is
 * no reason to cut it again.
 *
 * Why heavy keys come from the sketch as well: what a key weighs is the weight of an interval, to
 * within heat_top's error, which is smaller than what Space-Saving would promise in the same memory
 * (a sixty-fourth of everything with 64 counters), and costs nothing while heat is added. A key too
 * light to be told from none is not named.
 *
 * `now` must not move back. Units: mcu = 1/1000 capacity unit. */
#ifndef WEIR_ENGINE_HEAT_HEAT_H
#define WEIR_ENGINE_HEAT_HEAT_H

#include "base/arena.h"
#include "base/config.h"
#include "base/instant.h"
#include "engine/admission/admission.h"
#include "engine/heat/sketch.h"

enum {
    HEAT_POINTS_MAX = ADMIT_KINDS * SKETCH_ENTRIES,
    HEAT_MEMORY_MAX = ADMIT_KINDS * (int)sizeof(struct sketch) + 256,
};

struct heat_state;

struct heat {
    struct heat_state *state; /* owns; NULL: no heat */
    uint64_t seed;
    uint32_t shared; /* bytes that all keys of the range begin with; the sketches leave them out */
    uint32_t half_life_ms;
    uint32_t recent_ms;
};

/* Of the range [lo, hi); an empty hi is no bound. Half-life and what is recent: settings
 * heat_half_life_ms and heat_recent_ms. A heat of zeroes may be looked at, and has none. */
void heat_init(struct heat *h, struct slice lo, struct slice hi, uint64_t seed,
               const struct config *config);
void heat_deinit(struct heat *h);

/* The key lies in the range. */
void heat_add(struct heat *h, struct instant now, enum admit_kind kind, struct slice key,
              int64_t cost_mcu);

/* Frees what has decayed to nothing. Whether there is any heat left. */
bool heat_cool(struct heat *h, struct instant now);

/* mcu per second that were asked for lately: a decayed mean over the time there was heat, of at
 * least a second. */
int64_t heat_rate(struct heat *h, struct instant now, enum admit_kind kind);

/* The mean over the last one to two heat_recent_ms: a load that has only just begun is seen in
 * full. Where the mean over all of the time is lower, and the difference may be chance, that one:
 * what was due while a machine halted, and requests tried again, come on top of a load. */
int64_t heat_rate_now(struct heat *h, struct instant now, enum admit_kind kind);

/* Observations, decayed. */
int64_t heat_samples(struct heat *h, struct instant now, enum admit_kind kind);

/* One standard deviation of the estimated rate of an interval, a single key among them: mcu per
 * second, at heat_rate_now. */
int64_t heat_error(struct heat *h, struct instant now, enum admit_kind kind);

enum sketch_direction heat_direction(const struct heat *h, enum admit_kind kind);

/* Bytes on the heap. */
size_t heat_memory(const struct heat *h);

/* A key of which the sketches know, and what was asked for it, decayed. */
struct heat_point {
    struct slice key; /* without the shared bytes; lends until the heat changes */
    int64_t mcu[ADMIT_KINDS];
};

/* All of them, in order, each key once; lend until the arena is reset. */
uint32_t heat_points(struct heat *h, struct instant now, struct arena *arena,
                     struct heat_point **out);

struct heat_key {
    struct slice key;  /* storage key; lends until the arena is reset */
    bool cut_off;      /* only the beginning of the key is known: it is longer than is kept */
    int64_t rate_mcu;  /* per second */
    int64_t error_mcu; /* the rate is within this of it in 997 of 1000 cases */
};

/* The heaviest keys of a kind, heaviest first, at most `max`; none that may weigh nothing. `lo` as
 * in heat_init. */
uint32_t heat_top(struct heat *h, struct instant now, enum admit_kind kind, struct slice lo,
                  struct arena *arena, struct heat_key *out, uint32_t max);

#endif
