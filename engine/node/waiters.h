/* waiters.h - requests and scans that wait: for pages to be read by a reader thread, or, reads, for
 * leadership to be confirmed by a round of heartbeats. */
#ifndef WEIR_ENGINE_NODE_WAITERS_H
#define WEIR_ENGINE_NODE_WAITERS_H

#include "engine/node/env.h"
#include "engine/node/operation.h"
#include "engine/node/partition.h"

/* What goes on once pages have been read. */
enum resume {
    RESUME_REQUEST,
    RESUME_BACKGROUND,   /* background.c has its `subject` */
    RESUME_SNAPSHOT_OUT, /* snapshots.c; `subject` is the snapshot's id */
    RESUME_SNAPSHOT_IN,
};

/* Background work that reads the store on the loop, a slice at a time. Where data is not resident
 * a reader thread touches the slice's pages first. */
struct scan {
    enum {
        SCAN_IDLE,
        SCAN_WAITING, /* for its pages */
        SCAN_READY    /* they have been read */
    } state;
    uint64_t subject; /* for which they were asked for */
};
enum {
    SCAN_BYTES = 256 * 1024, /* of items: a slice ends there */
    SCAN_ITEMS = 256,
    SCAN_MS = 1 /* between two slices */
};

struct deferred {
    struct operation operation;
    enum resume resume;
    uint64_t subject;    /* of a scan */
    struct buffer bytes; /* what the operation's slices point to */
    bool used;
    int32_t next; /* of its partition's reads; they wait for `round`, in `term` */
    uint64_t round;
    uint64_t term;
};

struct waiters {
    struct node_env *env;
    struct deferred *slots; /* owns; `size` of them */
    struct buffer spare;    /* for the bytes of the next one */
    uint32_t size;
    uint32_t count;
};

void waiters_init(struct waiters *waiters, struct node_env *env);
void waiters_deinit(struct waiters *waiters);

/* The operation is run again, from where admission left it, once its pages have been read. */
void waiters_touch(struct waiters *waiters, const struct operation *o, enum touched pages,
                   uint64_t bytes);
/* The read is run again once the round is confirmed. False: too much waits, it was refused. */
bool waiters_add_read(struct waiters *waiters, struct partition *p, const struct operation *o,
                      uint64_t round);
/* The next read of the partition that need not wait any more, because its round is confirmed
 * (`confirmed` is the term then) or leadership is lost (0). False: there is none. What the
 * operation points to lends until the next call. */
bool waiters_next_read(struct waiters *waiters, struct partition *p, struct operation *out);
/* The reads that still wait are refused. */
void waiters_drop_reads(struct waiters *waiters, struct partition *p, enum reply_code code,
                        const char *why);

/* Whether a scan may read its next slice, from `key` on, now. False: its pages are being read, and
 * `resume` follows; or, with the scan still idle, too much waits: ask again in SCAN_MS. */
bool waiters_may_scan(struct waiters *waiters, struct scan *s, enum resume resume, uint64_t subject,
                      struct slice key);
static inline struct instant waiters_scan_again_at(const struct waiters *waiters,
                                                   const struct scan *s)
{
    return s->state == SCAN_WAITING ? INSTANT_NEVER
                                    : instant_add(waiters->env->now, duration_ms(SCAN_MS));
}

/* The pages of a ticket have been read: who waited for them, lent until waiters_free. */
const struct deferred *waiters_resume(const struct waiters *waiters, uint32_t ticket);
void waiters_free(struct waiters *waiters, uint32_t ticket);

#endif
