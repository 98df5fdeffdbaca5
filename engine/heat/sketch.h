/* sketch.h - how much is asked for below any key: a weighted, decayed KLL quantile sketch over
 * byte strings, and which way what is asked for moves.
 *
 * A sketch holds keys at SKETCH_LEVELS levels; one at level h stands for 2^h units of cost. A level
 * that is full is sorted, every other key of it goes one level up, the others are forgotten. When
 * the top is full every level forgets half of its keys in that way, and the unit doubles. Decay
 * halves the unit: what comes next weighs more units than what was, and nothing is forgotten that
 * there is room for.
 *
 * Promises
 *   S1  Memory is sizeof(struct sketch), whatever the keys. Long keys fill a level sooner: then it
 *       is less precise, not larger. Keys that agree in SKETCH_KEY_MAX bytes count as one.
 *   S2  The weight below any key is estimated without bias; an interval's standard deviation is
 *       at most sketch_error.
 *   S3  Integers only, randomness from a seed: the same calls leave the same state everywhere.
 *   S4  Costs that are whole units are counted, not sampled.
 *
 * Sources: Karnin, Lang, Liberty, "Optimal quantile approximation in streams", FOCS 2016; halves
 * taken alternately, Ivkin et al., "Streaming quantiles algorithms with small space and update
 * time", 2019. Decay, the fixed height and the direction are ours. */
#ifndef WEIR_ENGINE_HEAT_SKETCH_H
#define WEIR_ENGINE_HEAT_SKETCH_H

#include "base/prng.h"
#include "base/slice.h"

enum {
    SKETCH_LEVELS = 7,
    SKETCH_K = 400,         /* keys at the top; about 0.85 of it a level below, and so on */
    SKETCH_ENTRIES = 1758,  /* at all levels */
    SKETCH_BYTES = 77488,   /* of their keys */
    SKETCH_FRACTION = 8,    /* decay makes the unit as much smaller before keys are forgotten */
    SKETCH_KEY_MAX = 512,   /* bytes kept of a key */
    SKETCH_WINDOWS_MIN = 3, /* compared before a direction is named */
};

enum sketch_direction {
    SKETCH_UNKNOWN,  /* too little seen */
    SKETCH_STAYS,    /* what was asked for is what will be */
    SKETCH_FORWARD,  /* nearly all of each window lies above the middle of the one before */
    SKETCH_BACKWARD, /* below it */
};

struct sketch_entry {
    uint64_t head; /* the key's first 8 bytes, as a number */
    uint32_t at;   /* in its level's bytes */
    uint32_t size;
};

/* A level's share of the arrays is fixed: sketch.c. */
struct sketch_level {
    uint32_t count;
    uint32_t bytes;
    bool again; /* the last halving was a free choice: the next takes the other half */
    bool upper;
    uint32_t windows;     /* halvings compared with the one before, up to SKETCH_WINDOWS_MIN */
    uint32_t forward_ppm; /* of a window above the middle of the one before, on average */
    uint32_t backward_ppm;
    uint32_t mark_size; /* that middle; UINT32_MAX: none yet */
    uint8_t mark[SKETCH_KEY_MAX];
};

struct sketch {
    int64_t unit_min; /* in 1/SKETCH_FRACTION mcu, like those below */
    int64_t unit;
    int64_t until;      /* the next unit is taken after this much cost */
    int64_t rest;       /* from there to the end of the stretch it was drawn in */
    int64_t whole_cost; /* a cost of whole_units units and no rest: the last one; 0: none */
    int64_t whole_units;
    int64_t variance4; /* four times the variance of a rank, in units squared */
    struct prng prng;
    struct sketch_level levels[SKETCH_LEVELS];
    struct sketch_entry entries[SKETCH_ENTRIES];
    uint8_t bytes[SKETCH_BYTES];
};

struct sketch_item {
    struct slice key; /* lends until the sketch changes */
    int64_t mcu;      /* it stands for */
};

/* Costs of less than `unit_mcu` are sampled. */
void sketch_init(struct sketch *s, int64_t unit_mcu, uint64_t seed);

/* Cost > 0. Whether the key was taken as a sample. */
bool sketch_add(struct sketch *s, struct slice key, int64_t cost_mcu);

/* Halves every weight. */
void sketch_decay(struct sketch *s);

/* Everything it holds, in no order; at most SKETCH_ENTRIES. */
uint32_t sketch_items(const struct sketch *s, struct sketch_item *out);

/* One standard deviation of an estimated weight of an interval, a single key among them. */
int64_t sketch_error(const struct sketch *s);

enum sketch_direction sketch_direction(const struct sketch *s);

#endif
