/* index_sessions.h - who may write the rows of a global index: at the leader of the index's
 * partition.
 *
 * The leader of a base partition opens a session at the leader of an index partition, and writes
 * rows in it. A new session closes all others whose base ranges overlap with its own.
 *
 * Promises
 *   SESSION-1  A row write of a closed session is refused. So what a deposed leader of the base
 *              table wrote, or what arrives late, cannot come after the writes of its successor.
 *   SESSION-2  Sessions end with the term of the leader that gave them, and with its replica.
 *
 * A base leader uses a session only after it has confirmed that it still led after the session was
 * given, and it never sends a write twice in one session (index_feed.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/slice.h"

struct index_session;

/* Of one partition of an index. Zeroed: there are none. */
struct index_sessions {
    LIST_HEAD(, index_session) all; /* owns */
    uint32_t last;                  /* number of the last session */
};

/* Opens a session for the base keys [lo, hi); hi empty: no end. `term`: in which the partition is
 * led here. */
uint64_t index_sessions_open(struct index_sessions *sessions, uint64_t term, struct slice lo,
                             struct slice hi);
bool index_sessions_hold(const struct index_sessions *sessions, uint64_t session);
uint32_t index_sessions_count(const struct index_sessions *sessions);
/* The term is over, or the replica is removed (SESSION-2). */
void index_sessions_close(struct index_sessions *sessions);
