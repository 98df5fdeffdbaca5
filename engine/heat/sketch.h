/* sketch.h - how much is asked for below any key: a weighted, decayed KLL quantile sketch over
 * byte strings. Also the direction in which the demand moves.
 *
 * A sketch holds keys at SKETCH_LEVELS levels. A key at level h stands for 2^h units of cost. A
 * full level is sorted: every other key goes one level up, and the others are forgotten. When the
 * top level is full, every level forgets half of its keys in this way, and the unit doubles. Decay
 * halves the unit: later cost weighs more units than earlier cost. Decay forgets keys only once the
 * unit is at its least.
 *
 * Promises: memory is sizeof(struct sketch), whatever the keys. Long keys fill a level sooner and
 * make the sketch less precise. Integers only.
 *   SKETCH-1  Keys that agree in SKETCH_KEY_MAX bytes count as one.
 *   SKETCH-2  The estimated weight below any key has no bias. The standard deviation of an
 *             interval's weight is at most sketch_error.
 *   SKETCH-3  The same calls leave the same state: randomness comes from a seed.
 *   SKETCH-4  Costs of whole units are counted, not sampled.
 *
 * Sources: Karnin, Lang, Liberty, "Optimal quantile approximation in streams", FOCS 2016; halves
 * taken alternately, Ivkin et al., "Streaming quantiles algorithms with small space and update
 * time", 2019. Decay, the fixed height and the direction are ours. */
#pragma once

#include "base/prng.h"
#include "base/slice.h"

enum {
    SKETCH_LEVELS = 7,
    SKETCH_K = 400,         /* keys at the top; about 0.85 of that a level below, and so on */
    SKETCH_ENTRIES = 1758,  /* at all levels */
    SKETCH_BYTES = 77488,   /* of all keys */
    SKETCH_FRACTION = 8,    /* decay may divide the unit by this before keys are forgotten */
    SKETCH_KEY_MAX = 512,   /* bytes kept of a key */
    SKETCH_WINDOWS_MIN = 3, /* windows compared before a direction is named */
};

enum sketch_direction {
    SKETCH_UNKNOWN,  /* too little was seen */
    SKETCH_STAYS,    /* the demand stays where it is */
    SKETCH_FORWARD,  /* nearly all of each window is above the middle of the window before */
    SKETCH_BACKWARD, /* nearly all of each window is below that middle */
};

struct sketch_entry {
    uint64_t head; /* the key's first 8 bytes, as a number */
    uint32_t at;   /* offset in its level's bytes */
    uint32_t size;
};

/* Each level has a fixed share of the arrays: sketch.c. */
struct sketch_level {
    uint32_t count;
    uint32_t bytes;
    bool again; /* the last halving was a free choice: the next takes the other half */
    bool upper;
    uint32_t windows;     /* compared with the window before; up to SKETCH_WINDOWS_MIN */
    uint32_t forward_ppm; /* average share of a window above the middle of the window before */
    uint32_t backward_ppm;
    uint32_t mark_size; /* of `mark`, the middle of the last window; UINT32_MAX: none yet */
    uint8_t mark[SKETCH_KEY_MAX];
};

struct sketch {
    int64_t unit_min; /* like unit, until, rest and whole_cost in 1/SKETCH_FRACTION mcu */
    int64_t unit;
    int64_t until;      /* cost until the next unit is sampled */
    int64_t rest;       /* from there to the end of its stretch */
    int64_t whole_cost; /* the last cost that was exactly whole_units units; 0: none */
    int64_t whole_units;
    int64_t variance4; /* four times the variance of a rank, in units squared */
    struct prng prng;
    struct sketch_level levels[SKETCH_LEVELS];
    struct sketch_entry entries[SKETCH_ENTRIES];
    uint8_t bytes[SKETCH_BYTES];
};

struct sketch_item {
    struct slice key; /* lends until the sketch changes */
    int64_t mcu;      /* the cost that the key stands for */
};

/* Costs of less than `unit_mcu` are sampled. */
void sketch_init(struct sketch *s, int64_t unit_mcu, uint64_t seed);

/* Cost > 0. True: the key was taken as a sample. */
bool sketch_add(struct sketch *s, struct slice key, int64_t cost_mcu);

/* Halves every weight. */
void sketch_decay(struct sketch *s);

/* All keys in the sketch, in no order; at most SKETCH_ENTRIES. */
uint32_t sketch_items(const struct sketch *s, struct sketch_item *out);

/* One standard deviation of the estimated weight of an interval or of a single key. */
int64_t sketch_error(const struct sketch *s);

enum sketch_direction sketch_direction(const struct sketch *s);
