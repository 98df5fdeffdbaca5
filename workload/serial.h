/* serial.h - whether transactions and single operations on lists were strictly serializable.
 *
 * A write appends its number to the lists of some keys. A read sees the lists of some keys. Numbers are
 * never used twice, so a list says in which order writes of its key were done, and a read says behind
 * which write it was. From that follow edges between operations: write before write, write before
 * read, read before write, and, in real time, what was over before what began later. A circle is an
 * anomaly.
 * Source: Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations",
 * VLDB 2020, for lists. The names of anomalies are Adya's. */
#pragma once

#include "base/buffer.h"
#include "base/instant.h"

enum {
    SERIAL_KEYS_MAX = 8 /* of an operation */
};

enum serial_outcome {
    SERIAL_UNKNOWN, /* or still under way */
    SERIAL_DONE,
    SERIAL_REFUSED, /* nothing was done */
};

struct serial_list {
    uint32_t *numbers; /* owns */
    uint32_t count;
};

struct serial_op {
    struct instant begun;
    struct instant ended; /* INSTANT_NEVER: its end is not known */
    enum serial_outcome outcome;
    uint32_t number; /* of a write; 0: it reads */
    uint32_t key_count;
    uint32_t keys[SERIAL_KEYS_MAX];
    struct serial_list seen[SERIAL_KEYS_MAX]; /* of a read that is done */
};

struct serial_history {
    struct serial_op *ops; /* owns */
    uint32_t count;
    size_t capacity;
    uint32_t keys;
};

void serial_deinit(struct serial_history *h);
/* An operation begins. Returns its place. */
uint32_t serial_begin(struct serial_history *h, struct instant now, uint32_t number,
                      const uint32_t *keys, uint32_t key_count);
void serial_end(struct serial_history *h, uint32_t place, struct instant now,
                enum serial_outcome outcome);
/* The list that a read saw of its key number `index`. Takes ownership of the numbers. */
void serial_saw(struct serial_history *h, uint32_t place, uint32_t index, struct serial_list list);

/* After a last read of all keys that is done. False: `why` names the anomaly. */
bool serial_check(const struct serial_history *h, struct buffer *why);
