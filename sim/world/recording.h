/* recording.h - records what clients did and saw, key by key, and checks that this is possible.
 *
 * The checks:
 *   - Strong reads and writes of a key are linearizable. A write that was told what it replaced, or
 *     whose condition names it, directly follows that value. A write whose condition failed is a
 *     read of the item that failed it.
 *   - Increments and strong reads of a counter are linearizable.
 *   - A read shows a value only if a write of that value to the key had begun by the end of the
 *     read, and is not known to have failed.
 *   - A read does not show a value of a table that was deleted before the read began. Eventual
 *     reads are checked from `calm_ns` on: before that a cut replica may miss the deletion.
 *   - No two writes replaced the same value.
 *   - No answer was wrong in itself (recording_wrong).
 * A value is the number of the operation that wrote it; 0 means absent. A table's deletion is a
 * write of 0 to each of its keys. */
#pragma once

#include "base/buffer.h"
#include "base/instant.h"
#include "workload/linearizability.h"

struct recorded {
    struct history_op op;
    uint32_t client;
    bool consistent;
    const char *wrong; /* what is wrong with the answer; NULL: nothing */
    bool clears;       /* this write is a deletion of the table */
};

struct recording_key {
    struct recorded *ops; /* owns; in the order of invocation */
    size_t count;
    size_t capacity;
    bool counter; /* its writes are increments */
};

struct recording {
    struct recording_key *keys; /* owns */
    uint32_t key_count;
    uint64_t next_id;
    int64_t calm_ns; /* no fault is injected from this time on */
    bool own;        /* eventual reads show the writes that were acknowledged before them */
    bool off;        /* nothing is recorded */
    bool undecided;  /* a key's history was too complex to judge */
};

/* Names one operation until it has returned. */
struct recording_ticket {
    uint32_t key;
    size_t index;
    uint64_t id; /* also the value that the operation writes */
};

void recording_init(struct recording *h, uint32_t key_count);
void recording_deinit(struct recording *h);

struct recording_ticket recording_invoke(struct recording *h, struct instant now, uint32_t client,
                                         uint32_t key, enum history_kind kind, bool consistent,
                                         bool deletes);
/* The key is a counter: its writes add 1. */
void recording_count(struct recording *h, uint32_t key);
/* A deletion of the key's table begins. */
struct recording_ticket recording_clear(struct recording *h, struct instant now, uint32_t key);
/* `value`: what a read saw, or what an increment made. HISTORY_INFO: the outcome is unknown. */
void recording_return(struct recording *h, struct instant now, const struct recording_ticket *t,
                      enum history_outcome outcome, uint64_t value);
/* The value that the write has replaced, or replaces if it is done. Before recording_return. */
void recording_replaced(struct recording *h, const struct recording_ticket *t, uint64_t old);
/* The write did nothing: its condition failed on an item with this value, 0: on no item. */
void recording_refused(struct recording *h, struct instant now, const struct recording_ticket *t,
                       uint64_t met);

/* The answer to the operation is wrong. `what` ends the sentence "the answer to op N ...";
 * static. */
void recording_wrong(struct recording *h, const struct recording_ticket *t, const char *what);

/* False: `why` gets the error and the key's history. */
bool recording_verify(struct recording *h, struct buffer *why);
