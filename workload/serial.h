/* serial.h - whether transactions and single operations on lists were strictly serializable.
 *
 * A write appends its number to the lists of some keys. A read sees the lists of some keys. A write
 * may have conditions: then it has also read the lists that they name. Numbers are never used
 * twice, so a list says in which order writes of its key were done, and a read says behind which
 * write it was. From that follow edges between operations: write before write, write before read,
 * read before write, and, in real time, what was over before what began later. A circle is an
 * anomaly.
 *
 * A key may also have a mark, which comes and goes. Who puts or deletes it appends to the key's
 * list in the same operation. So a list says whether its key has a mark, and who put it.
 *
 * Source: Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
 * Observations", VLDB 2020, for lists. The names of anomalies are Adya's. */
#pragma once

#include "base/buffer.h"
#include "base/instant.h"

enum serial_outcome {
    SERIAL_UNKNOWN, /* or still under way */
    SERIAL_DONE,
    SERIAL_REFUSED, /* nothing was done */
};

struct serial_list {
    uint32_t *numbers; /* owns */
    uint32_t count;
};

/* What a write does to the mark of a key. */
enum serial_mark {
    SERIAL_MARK_STAYS,
    SERIAL_MARK_PUT,
    SERIAL_MARK_DELETED,
};

/* What an operation does with one key. */
struct serial_key {
    uint32_t key;
    bool writes; /* it appends its number */
    bool reads;  /* it has seen the list, or is done only if the list is so */
    bool reads_mark;
    enum serial_mark mark;
    uint32_t mark_seen; /* who put the mark; 0: there was none */
    struct serial_list seen;
};

struct serial_op {
    struct instant begun;
    struct instant ended; /* INSTANT_NEVER: its end is not known */
    enum serial_outcome outcome;
    uint32_t number; /* of a write; 0: it reads */
    uint32_t rival;  /* 1 + place of another one: at most one of them is done; 0: none */
    uint32_t write_count;
    struct serial_key *keys; /* owns */
    uint32_t key_count;
    size_t key_capacity;
};

struct serial_history {
    struct serial_op *ops; /* owns */
    uint32_t count;
    size_t capacity;
    uint32_t keys;
};

void serial_deinit(struct serial_history *h);
struct serial_list serial_list_copy(const struct serial_list *list);
/* An operation begins that appends `number` to the lists of the keys; 0: that reads them. Time does
 * not go back from one call to the next. Returns the operation's place. */
uint32_t serial_begin(struct serial_history *h, struct instant now, uint32_t number,
                      const uint32_t *keys, uint32_t key_count);
/* The write is done only if the key has this list. Takes ownership of the numbers. */
void serial_condition(struct serial_history *h, uint32_t place, uint32_t key,
                      struct serial_list list);
/* The write also does this to the mark of its key number `index`. */
void serial_marks(struct serial_history *h, uint32_t place, uint32_t index, enum serial_mark mark);
/* At most one of the two operations may be done. */
void serial_rivals(struct serial_history *h, uint32_t place, uint32_t other);
void serial_end(struct serial_history *h, uint32_t place, struct instant now,
                enum serial_outcome outcome);
/* The list that a read saw of its key number `index`. Takes ownership of the numbers. */
void serial_saw(struct serial_history *h, uint32_t place, uint32_t index, struct serial_list list);
/* Whose mark the read saw at the same moment; 0: none. */
void serial_saw_mark(struct serial_history *h, uint32_t place, uint32_t index, uint32_t number);

/* After a last read of all keys that is done. False: `why` names the anomaly. */
bool serial_check(const struct serial_history *h, struct buffer *why);
