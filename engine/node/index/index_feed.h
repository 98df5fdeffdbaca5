/* index_feed.h - carries the changes of a base table's items to its global indexes.
 *
 * A partition has a feed while it is led here. The feed holds each item whose indexes lag, with the
 * changes that the indexes do not have yet. It is filled by writes as they are applied, and, when a
 * leader begins, from the changes in the store (index_feed_change.h).
 *
 * In a round for an item the feed reads the item as it is now, deletes each row that an earlier
 * state may have left, and puts the row of the present state, in one request per row to the leaders
 * of the index partitions. Changes that come meanwhile wait for the next round. When all requests
 * of a round are answered, the changes that it covered are deleted from the store, by a log entry
 * of the group. A turn of the loop makes INDEX_FEED_TURN_BYTES of rows: a round of more has parts,
 * each of some indexes. A part is sent once the part before it is written. Only the refused rows of
 * a part are sent again.
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
 * A new index is filled piece by piece: index_feeds_fill makes items of a piece of the partition
 * part of the feed, as if they had changed (index_builder.h says which piece is next). */
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
