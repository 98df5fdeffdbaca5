/* index_feed.h - carries the changes of a base table's items to its global indexes.
 *
 * A partition has a feed while it is led here. The feed holds each item whose indexes lag, with the
 * changes that the indexes do not have yet.
 *
 * Promises
 *   FEED-1  When all changes of an item are done, each index has exactly the row that follows from
 *           the item. A crash or a new leader repeats rounds from the item's present state, so the
 *           rows never go back.
 *   FEED-2  The changes that are not done take at most index_backlog_bytes: those in the store,
 *           those that are proposed, and those of parts of transactions that are prepared. Further
 *           writes that change indexes are refused until some are done, and so is preparing. What
 *           was prepared is never refused: its room is taken until its lock goes. A partition that
 *           has absorbed another one begins with the changes of both.
 *           While the changes cannot be read, no write may add one.
 *   FEED-3  Row writes go out within a session (index_sessions.h), each at most once.
 *   FEED-4  A change is as old as the time in it says, also after a split and for a new leader.
 *           Leaders whose wall clocks differ by some seconds see ages that differ as much. A time
 *           in the future counts as now.
 *
 * FEEDS OF INDEXES
 *
 * The rows of a global index lie in other partitions than the items. A write does not wait for
 * them, and no crash, split or change of leaders may lose a row or leave an old one.
 *
 * What lies beside the items. The leader adds a change to the log entry of each write that changes
 * index rows (index_feed_change.h). A change names the rows that the item may have had before. The
 * row of now is not in it: that row follows from the item. Each replica keeps the change as a row
 * in a key space of its own, under the key of the item. So a change goes with its item through
 * snapshots, splits and merges. For example, order 7 of partition 4 is closed, and an index has the
 * key `status`:
 *
 *     entry 812 of the log    put order 7 {status: closed}
 *                             change: order 7 | 4 | 812 -> the row before was (open, 7)
 *     round of order 7        read order 7
 *                             DELETE (open, 7)   --> leader of the index partition of "open"
 *                             PUT (closed, 7)    --> leader of the index partition of "closed"
 *     both are answered       entry 815 deletes the change order 7 | 4 | 812
 *
 * Both requests are sent together: for a moment the index may show both rows, or none.
 *
 * A round reads the item as it is now, deletes each row that the covered changes name, and puts the
 * present row. It covers up to INDEX_FEED_COVERED_MAX changes; later ones wait for the next round.
 * An item that is written ten times while its index is away costs two rounds, not ten. Everything
 * in a round may be done twice. If the item became `open` again meanwhile, the round puts (open, 7)
 * and does not delete it. A turn of the loop makes INDEX_FEED_TURN_BYTES of rows: a round of more
 * has parts, each of some indexes. A part is sent when each of its index partitions takes rows, and
 * after the part before it was written. Only the refused rows of a part are sent again.
 *
 * Order. Only the order of one item's changes matters, and a round keeps it, because a round sends
 * what follows from the present item. Items are tried in the order in which they came. An item
 * waits in the queue of the index partition that takes no rows, the oldest first; items for other
 * partitions go on. Deletions of changes are collected into log entries. A feed whose proposal
 * fails begins anew from the store, and so repeats rounds.
 *
 * Sessions. A row write that is done late is the danger: it could put back a row that a later round
 * has deleted. So row writes carry a session, which the leader of the index partition has given for
 * the range of the base partition. A new session closes all others of overlapping ranges, and
 * writes of a closed session are refused (SESSION-1). A feed and an index partition:
 *
 *     NONE ----> REQUESTED ----> CONFIRMING ----> READY
 *      ^         a session is    a read of raft   rows are sent
 *      |         asked for       asks: led still?   |
 *      +--------------------------------------------+
 *        no answer for INDEX_FEED_TIMEOUT_MS, or refused other than throttled or overloaded
 *
 * The confirmation makes sessions safe: a leader that was replaced may still open a session, but
 * cannot confirm that it leads, and so writes nothing. A row whose answer is missing is sent again
 * in the next session, which has closed the session of the first request.
 *
 * What happens when things change:
 *   - New leader: it reads the changes from the store, the oldest first, and opens sessions anew.
 *   - Split of the base partition: each half owns the changes of its items. Both feeds begin anew.
 *     The first session of one half closes the session of the whole.
 *   - Merge: a frozen partition sends nothing. The partition that absorbs it begins anew with the
 *     changes of both.
 *   - Split of an index partition, or another leader of it: the row is refused. The feed reads the
 *     map of the index again, and asks for a session.
 *   - The store cannot be read: the feed tries again after INDEX_FEED_RETRY_MS. No write may add a
 *     change meanwhile.
 *   - An item leaves the partition for a shard of its key: index_feeds_let_go says when it may.
 *
 * An index that is short of units. Its partition refuses rows as it refuses any write, and tells a
 * time. The feed waits for that time, a second at most, and up to a quarter longer, so that feeds
 * of several partitions do not come together. The number of rows that may be under way there is
 * halved by a refusal, and grows by one with each row that is taken, up to INDEX_FEED_CALLS_MAX.
 *
 * Back-pressure. A backlog must end somewhere, so a write that adds a change is refused in three
 * cases (index_feeds_may_add): the change would wait too long at the rate at which the index takes
 * rows (index_feed_pace.h); a change is older than index_backlog_ms; the changes have more than
 * index_backlog_bytes (FEED-2). The first bound makes the table's writes go on at the rate of the
 * index. With index_backlog_ms of 5 s, a change may wait for 3 s: behind an index of 100 rows a
 * second, about 300 changes wait. No index holds up reads, or writes that change none of its rows.
 *
 * A new index is filled piece by piece by the same rounds: index_feeds_fill makes items of a piece
 * of the partition part of the feed, as if they had changed (index_builder.h says which piece is
 * next). A piece takes at most a quarter of the backlog that the index allows.
 *
 * Not here: the bytes of a change (index_feed_change.h), who may write rows (index_sessions.h). */
#pragma once

#include "engine/node/core/index_feed_change.h"
#include "engine/node/core/index_maps.h"
#include "engine/node/replica/raft_driver.h"

struct index_feed;

struct index_feeds {
    struct node_env *env;
    struct partitions *partitions;
    struct proposals *proposals;
    struct raft_driver *driver;
    struct internal_calls *calls;
    struct index_maps *maps;
    LIST_HEAD(, index_feed) all; /* owns */
};

void index_feeds_deinit(struct index_feeds *feeds);

/* The partition leads here in a new term, or has another range or other indexes: its feed begins
 * anew, in the same term once what is proposed is applied. */
void index_feeds_begin(struct index_feeds *feeds, struct partition *p);

/* Whether the item may leave the partition: nothing that this leader, or a former one, has sent
 * about it will come to an index later. So no change is left, and each index partition with a row
 * of the item has given this leader a session, which closes the former leaders' (FEED-3). If not,
 * the feed does what is needed: ask again later. */
bool index_feeds_let_go(struct index_feeds *feeds, const struct partition *p, struct slice key,
                        struct slice item);
/* Whether a write may add a change of so many bytes: there is room (FEED-2), no change is older
 * than index_backlog_ms, and this one need not wait for so long (index_feed_pace.h). If not,
 * `verdict` says which index holds the write up. */
bool index_feeds_may_add(struct index_feeds *feeds, struct partition *p, size_t bytes,
                         struct admit_verdict *verdict);
/* A change was applied: a row of the store from now on, or gone from it. Where the partition is not
 * led nothing happens. */
void index_feeds_added(struct index_feeds *feeds, const struct partition *p, struct slice row_key,
                       struct slice value);
void index_feeds_removed(struct index_feeds *feeds, const struct partition *p, struct slice row_key,
                         size_t value_size);

enum {
    INDEX_FEED_FILL_BYTES = 256 * 1024 /* a piece ends after so many bytes of items */
};

/* REQUEST_INDEX_FILL. Reads the next piece of the partition, whose pages are in memory. Answers
 * once the index has the rows of its items. */
void index_feeds_fill(struct index_feeds *feeds, struct partition *p, const struct operation *o);

/* At the end of a turn: sends what can be sent, and proposes what is done. */
void index_feeds_end_turn(struct index_feeds *feeds);
struct instant index_feeds_deadline(const struct index_feeds *feeds);
void index_feeds_answered(struct index_feeds *feeds, const struct internal_call_answer *answer);

/* What a partition's indexes lack. */
struct index_feed_lag {
    uint32_t items;
    size_t bytes;
    struct instant since; /* of the oldest item; now if there is none */
};
/* Whether the indexes have all changes of the partition's log up to this entry. A feed that has
 * begun anew says so only once all that it has found is done. */
bool index_feeds_have_done(const struct index_feeds *feeds, const struct partition *p,
                           uint64_t index);
/* The most bytes of a feed, as FEED-2 counts them. */
size_t index_feeds_bytes_max(const struct index_feeds *feeds);
struct index_feed_lag index_feeds_lag(const struct index_feeds *feeds, const struct partition *p);
