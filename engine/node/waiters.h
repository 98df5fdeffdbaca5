/* waiters.h - requests and scans that wait for pages; reads, and writes to be refused, that wait
 * for confirmed leadership or for entries that are in flight.
 *
 * A reader thread reads the pages. A round of heartbeats confirms leadership.
 *
 * Invariants
 *   WAIT-1  Requests that wait for transactions leave an eighth of the slots to others. The questions
 *           that end such a wait need slots, perhaps of the same node.
 *   WAIT-2  Scans have slots of their own. Requests may wait for a replica that gets a snapshot, and
 *           the snapshot's pages are read by a scan. */
#pragma once

#include "engine/node/env.h"
#include "engine/node/partition.h"

/* The rows whose pages a reader thread has touched already. */
enum touched {
    TOUCHED_ITEMS = 1,
    TOUCHED_COLLECTION = 2 /* the row of the item's collection */
};

/* What goes on once the pages have been read. */
enum resume {
    RESUME_REQUEST,
    RESUME_BACKGROUND,   /* background.c; `subject` is the job and the partition */
    RESUME_SNAPSHOT_OUT, /* snapshots.c; `subject` is the snapshot's id */
    RESUME_SNAPSHOT_IN,  /* the same */
};

/* Background work that reads the store on the loop, a slice at a time. If data is not resident, a
 * reader thread first touches the slice's pages. */
struct scan {
    enum {
        SCAN_IDLE,
        SCAN_WAITING, /* for its pages */
        SCAN_READY    /* the pages have been read */
    } state;
    uint64_t subject; /* that the pages are for */
};
enum {
    SCAN_BYTES = 256 * 1024, /* a slice ends after so many bytes of items */
    SCAN_ITEMS = 256,        /* or after so many items */
    SCAN_MS = 1              /* between two slices */
};

struct waiters {
    struct node_env *env;
    struct deferred *slots; /* owns `size` slots for requests, then those for scans */
    struct buffer spare;    /* for the bytes of the next operation */
    uint32_t size;
    uint32_t count;  /* of requests that wait */
    uint32_t locked; /* of them, requests that wait for transactions */
    uint32_t scans;  /* that wait */
};

void waiters_init(struct waiters *waiters, struct node_env *env);
void waiters_deinit(struct waiters *waiters);

/* Runs the operation again once its pages have been read. What admission decided stays. Refuses the
 * operation if node_queue_max operations wait. */
void waiters_touch(struct waiters *waiters, const struct operation *o, enum touched pages,
                   uint64_t bytes);
/* The same for another key than the request's. The operation says by `steps` what was touched. */
void waiters_touch_row(struct waiters *waiters, const struct operation *o, struct slice key,
                       uint64_t bytes);
/* Keeps the operation until the round is confirmed and the entry is applied; 0: is not waited for.
 * False: too many operations wait; it was refused. */
bool waiters_add_read(struct waiters *waiters, struct partition *p, const struct operation *o,
                      uint64_t round, uint64_t index);
/* Takes the next operation of the partition that has finished waiting (`confirmed` is the term), or
 * that waits in vain because leadership is lost (`confirmed` is 0). False: no such operation. The
 * operation's slices lend until the next call. */
bool waiters_next_read(struct waiters *waiters, struct partition *p, struct operation *out);
/* Keeps the operation until a transaction is decided. Refuses it if too many operations wait (WAIT-1). */
void waiters_add_locked(struct waiters *waiters, struct partition *p, const struct operation *o);
/* How many operations wait for transactions of the partition. */
uint32_t waiters_locked(const struct partition *p);
/* Takes the one that has waited longest. The operation's slices lend until the next call. */
void waiters_take_locked(struct waiters *waiters, struct partition *p, struct operation *out);
/* Refuses all waiting reads of the partition. */
void waiters_drop_reads(struct waiters *waiters, struct partition *p, enum reply_code code,
                        const char *why);

/* Whether a scan may now read its next slice, from `key` on. False: its pages are being read, and
 * `resume` follows. False with an idle scan: too many scans wait, ask again in SCAN_MS. */
bool waiters_may_scan(struct waiters *waiters, struct scan *s, enum resume resume, uint64_t subject,
                      struct slice key);
static inline struct instant waiters_scan_again_at(const struct waiters *waiters,
                                                   const struct scan *s)
{
    return s->state == SCAN_WAITING ? INSTANT_NEVER : instant_add_ms(waiters->env->now, SCAN_MS);
}

/* The pages of a ticket have been read: returns what waited for them. Lends until waiters_free. */
const struct deferred *waiters_resume(const struct waiters *waiters, uint32_t ticket);
void waiters_free(struct waiters *waiters, uint32_t ticket);
