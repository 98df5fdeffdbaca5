/* pending_requests.h - requests and scans that wait for pages; reads, and writes to be refused,
 * that wait for confirmed leadership or for entries that are in flight.
 *
 * A reader thread reads the pages. A round of heartbeats confirms leadership.
 *
 * Invariants
 *   WAIT-1  Requests that wait for transactions leave an eighth of the slots to others. The
 *           questions that end such a wait need slots, perhaps of the same node.
 *   WAIT-2  Scans have slots of their own. Requests may wait for a replica that gets a snapshot,
 *           and the snapshot's pages are read by a scan. */
#pragma once

#include "engine/node/core/env.h"
#include "engine/node/core/partition.h"

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

struct pending_requests {
    struct node_env *env;
    struct parked_request *slots; /* owns `size` slots for requests, then those for scans */
    struct buffer spare;          /* for the bytes of the next operation */
    uint32_t size;
    uint32_t count;  /* of requests that wait */
    uint32_t locked; /* of them, requests that wait for transactions */
    uint32_t scans;  /* that wait */
};

void pending_init(struct pending_requests *pending, struct node_env *env);
void pending_deinit(struct pending_requests *pending);

/* Runs the operation again once its pages have been read. What admission decided stays. Refuses the
 * operation if node_queue_max operations wait. */
void pending_touch(struct pending_requests *pending, const struct operation *o, enum touched pages,
                   uint64_t bytes);
/* The same for another key than the request's. The operation says by `steps` what was touched. */
void pending_touch_row(struct pending_requests *pending, const struct operation *o,
                       struct slice key, uint64_t bytes);
/* Keeps the operation until the round is confirmed and the entry is applied; 0: is not waited for.
 * False: too many operations wait; it was refused. */
bool pending_add_read(struct pending_requests *pending, struct partition *p,
                      const struct operation *o, uint64_t round, uint64_t index);
/* Takes the next operation of the partition that has finished waiting (`confirmed` is the term), or
 * that waits in vain because leadership is lost (`confirmed` is 0). False: no such operation. The
 * operation's slices lend until the next call. */
bool pending_next_read(struct pending_requests *pending, struct partition *p,
                       struct operation *out);
/* Keeps the operation until a transaction is decided. Refuses it if too many operations wait
 * (WAIT-1). */
void pending_add_locked(struct pending_requests *pending, struct partition *p,
                        const struct operation *o);
/* How many operations wait for transactions of the partition. */
uint32_t pending_locked_count(const struct partition *p);
/* Takes the one that has waited longest. The operation's slices lend until the next call. */
void pending_take_locked(struct pending_requests *pending, struct partition *p,
                         struct operation *out);
/* Refuses all waiting reads of the partition. */
void pending_drop_reads(struct pending_requests *pending, struct partition *p, enum reply_code code,
                        const char *why);

/* Whether a scan may now read its next slice, from `key` on. False: its pages are being read, and
 * `resume` follows. False with an idle scan: too many scans wait, ask again in SCAN_MS. */
bool pending_may_scan(struct pending_requests *pending, struct scan *s, enum resume resume,
                      uint64_t subject, struct slice key);
static inline struct instant pending_scan_again_at(const struct pending_requests *pending,
                                                   const struct scan *s)
{
    return s->state == SCAN_WAITING ? INSTANT_NEVER : instant_add_ms(pending->env->now, SCAN_MS);
}

/* The pages of a ticket have been read: returns what waited for them. Lends until pending_free. */
const struct parked_request *pending_resume(const struct pending_requests *pending,
                                            uint32_t ticket);
void pending_free(struct pending_requests *pending, uint32_t ticket);
