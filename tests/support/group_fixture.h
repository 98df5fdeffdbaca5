/* group_fixture.h - a table of one partition on three nodes: its leader, a follower that keeps up,
 * and a late follower, which misses what the leader's log then lacks.
 *
 * Items have numbers as names, and versions. The numbers of the nodes are those at the start. */
#pragma once

#include "base/config.h"
#include "engine/node/node_internal.h"
#include "tests/support/frame_cluster.h"

enum {
    GROUP_ITEMS = 60 /* more than the leader keeps in its log, and four chunks of a snapshot */
};

struct group_fixture {
    struct frame_cluster *w;
    struct arena arena;
    struct buffer bytes;
    struct table table;
    struct buffer key;
    struct buffer item;
    uint32_t partition; /* the table's first */
    uint32_t leader;    /* nodes */
    uint32_t other;
    uint32_t late;
};

/* The configuration may be changed before the fixture is opened. */
void group_configure(struct config *config);
void group_open(struct group_fixture *s, const struct config *config);
void group_close(struct group_fixture *s);

/* NULL: the node has no replica. */
struct partition *group_replica(const struct group_fixture *s, uint32_t node);
/* Passes time until the node leads, and may serve. */
void group_wait_for_leader(struct group_fixture *s, uint32_t node);
/* The leader hands leadership over to another node, which may serve. */
void group_hand_over(struct group_fixture *s, uint32_t from, uint32_t to);
/* Puts all items in this version. */
void group_put_all(struct group_fixture *s, uint32_t version);
/* The late follower is cut off, and the others do not keep for it what is written. */
void group_leave_behind(struct group_fixture *s);
/* Cuts the partition in the middle. Does not wait. */
void group_split(struct group_fixture *s);
/* Gives the node a request by hand. The answer, if it comes at once; else REPLY_UNKNOWN. */
enum reply_code group_send(struct group_fixture *s, uint32_t node, struct request r);
/* Passes time until the late follower has all that the leader has. Both hold the same. */
void group_assert_caught_up(struct group_fixture *s, uint32_t leader);
