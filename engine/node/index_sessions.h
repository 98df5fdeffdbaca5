/* index_sessions.h - who may write the rows of a global index: at the leader of the index's partition.
 *
 * The leader of a base partition opens a session at the leader of an index partition, and writes rows
 * in it. A new session closes all others whose base ranges overlap with its own. Sessions end with
 * the term of the leader that gave them.
 *
 * Promise
 *   SESSION-1  A row write of a closed session is refused. So what a deposed leader of the base table
 *              wrote, or what arrives late, cannot come after the writes of its successor.
 *
 * A base leader uses a session only after it has confirmed that it still led after the session was
 * given, and it never sends a write twice in one session (feed.h). */
#pragma once

#include <sys/queue.h>

#include "engine/node/groups.h"

struct index_session;

struct index_sessions {
    LIST_HEAD(, index_session) all; /* owns */
    uint32_t last;                  /* number of the last session */
};

void index_sessions_deinit(struct index_sessions *sessions);
/* Opens a session for the base keys [lo, hi); hi empty: no end. The partition must be led here. */
uint64_t index_sessions_open(struct index_sessions *sessions, const struct partition *p,
                             struct slice lo, struct slice hi);
bool index_sessions_hold(const struct index_sessions *sessions, const struct partition *p,
                         uint64_t session);
/* The partition is gone from this node, or has another leader. */
void index_sessions_close(struct index_sessions *sessions, uint32_t partition);
