/* recording.h - what clients did and saw, key by key, and whether that is possible.
 *
 * Checked: strong reads and writes of a key are linearizable; an eventual read shows a value that
 * some write of that key, not known to have failed, had set out to write by then, and none of a
 * table that was deleted before the read began (eventual reads: from `calm_ns` on, while a way may
 * be cut a replica cannot hear of it); no two writes replaced the same value, and none
 * overlooked one; nothing
 * was wrong with an answer as such (recording_wrong).
 * Values are the numbers of the operations that wrote them; 0 means absent. A table's deletion is a
 * write of 0 to each of its keys. */
#ifndef WEIR_SIM_RECORDING_H
#define WEIR_SIM_RECORDING_H

#include "base/buffer.h"
#include "base/instant.h"
#include "workload/linearizability.h"

struct recorded {
    struct history_op op;
    uint32_t client;
    bool consistent;
    bool old_known; /* a write that was told what it replaced */
    uint64_t old;
    const char *wrong; /* with the answer that told of it; NULL: nothing */
    bool clears;       /* the deletion of the table */
};

struct recording_key {
    struct recorded *ops; /* owns; in the order of invocation */
    size_t count;
    size_t capacity;
};

struct recording {
    struct recording_key *keys; /* owns */
    uint32_t key_count;
    uint64_t next_id;
    int64_t calm_ns; /* no fault strikes any more */
    bool off;        /* nothing is kept */
    bool undecided;  /* a key was too tangled to judge */
};

/* Names one operation until it has returned. */
struct recording_ticket {
    uint32_t key;
    size_t index;
    uint64_t id; /* the value, if it writes one */
};

void recording_init(struct recording *h, uint32_t key_count);
void recording_deinit(struct recording *h);

struct recording_ticket recording_invoke(struct recording *h, struct instant now, uint32_t client,
                                         uint32_t key, enum history_kind kind, bool consistent,
                                         bool deletes);
/* The key's table is to be deleted. */
struct recording_ticket recording_clear(struct recording *h, struct instant now, uint32_t key);
/* `value`: what a read saw. */
void recording_return(struct recording *h, struct instant now, const struct recording_ticket *t,
                      enum history_outcome outcome, uint64_t value);
/* Before recording_return: what the write replaced. */
void recording_replaced(struct recording *h, const struct recording_ticket *t, uint64_t old);

/* The answer that told of it is wrong: it "..". `what`: static. */
void recording_wrong(struct recording *h, const struct recording_ticket *t, const char *what);

/* False: `why` gets what is wrong and with it the key's history. */
bool recording_verify(struct recording *h, struct buffer *why);

#endif
