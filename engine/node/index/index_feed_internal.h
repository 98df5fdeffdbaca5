/* index_feed_internal.h - what the files of feeds share: index_feed.c has the changes,
 * index_feed_round.c sends rows. */
#pragma once

#include "base/id_map.h"
#include "engine/node/index/index_feed.h"
#include "engine/node/index/index_feed_pace.h"

enum {
    INDEX_FEED_CALLS_MAX = 256, /* requests of a feed that wait for an answer */
    INDEX_FEED_TURN_BYTES =
        1 << 20,                /* of rows; a feed that has made so much goes on in the next turn */
    INDEX_FEED_COVERED_MAX = 8, /* notes that a round covers at most */
    INDEX_FEED_REQUESTS_MAX = (INDEX_FEED_COVERED_MAX + 1) *
                              GLOBAL_INDEXES_MAX, /* of a round: old rows, and the present one */
    INDEX_FEED_RETRY_MS = 20,    /* after a failure that does not say when to try again */
    INDEX_FEED_TIMEOUT_MS = 1000 /* for an answer to a row write; then its session is given up */
};

/* The place of a change among those that indexes lack, in the order of the partition's log. The
 * note's bytes follow it. */
struct index_feed_order {
    TAILQ_ENTRY(index_feed_order) place;
    uint64_t index; /* of the entry; 0: of an earlier leader, or of another partition */
};
TAILQ_HEAD(index_feed_orders, index_feed_order);

struct index_feed_note {
    /* No change, and no row in the store: the item is there since before the index, or is to leave
     * the partition. */
    bool fills;
    bool of_piece;       /* `fill` waits for it */
    struct slice suffix; /* INDEX_FEED_SUFFIX_SIZE bytes of the row's key; lends from `order` */
    struct slice parts;
    size_t row_bytes;               /* key and value of the row in the store */
    struct instant since;           /* when the feed heard of it */
    struct index_feed_order *order; /* owns; in feed.order unless it fills */
};

/* An item whose indexes lag. */
struct index_feed_item {
    TAILQ_ENTRY(index_feed_item)
    place; /* in `ready`, `sent`, `done`, or `waiting` of feed or target */
    TAILQ_ENTRY(index_feed_item) age; /* in `by_age` */
    struct index_feed_item *same_hash;
    uint64_t hash;
    struct buffer key;             /* the item's storage key, in the key space of feeds */
    struct index_feed_note *notes; /* owns; oldest first */
    uint32_t note_count;
    size_t note_capacity;
    struct instant at;                /* while it waits: when to try again */
    struct index_feed_target *target; /* in whose queue it waits; NULL: none */
    bool woken;                       /* the target has room, for this item before newer ones */
    /* Of the last round: what is written need not be written again while no note is new. */
    uint32_t tried_notes;
    uint64_t written[INDEX_FEED_REQUESTS_MAX / 64 + 1]; /* a bit for each request of the round */
    /* Of the round that is on its way; covered 0: none. A round of many bytes has parts, each of
     * some indexes. A part begins once all of the part before it is written. */
    uint32_t covered; /* notes */
    uint32_t part;    /* the first index of the part */
    uint32_t part_end;
    uint32_t awaited; /* answers */
    bool failed;
    uint32_t slot; /* in feed->slots, while a part is on its way */
};

enum index_feed_target_state {
    TARGET_NONE,
    TARGET_REQUESTED,  /* for a session */
    TARGET_CONFIRMING, /* that this node still leads */
    TARGET_READY
};

TAILQ_HEAD(index_feed_items, index_feed_item);

/* An index partition that the feed writes to. Items wait for room in its queue, so that a refusal
 * costs the rows that were sent, and not a look at every item. */
struct index_feed_target {
    LIST_ENTRY(index_feed_target) place;
    uint32_t number; /* of the target, in the feed */
    uint32_t table_id;
    uint32_t partition;
    enum index_feed_target_state state;
    uint32_t node; /* that gave the session */
    uint64_t session;
    uint64_t round;                  /* of raft, while confirming */
    struct instant until;            /* it takes nothing before */
    struct index_feed_items waiting; /* owns */
    uint32_t out;                    /* rows that it has not answered */
    uint32_t out_max; /* halved when it refuses, then one more for each row that it takes */
};

struct index_feed {
    LIST_ENTRY(index_feed) place;
    uint32_t partition;
    uint64_t term;
    /* Some changes are not known here. It begins anew once what was proposed until then is applied:
     * deletions of changes are still on their way, and would be proposed twice. */
    bool lost;
    uint64_t lost_at;        /* the last entry then */
    bool loading;            /* items are not in order of age yet */
    bool unread;             /* lost, because the store could not be read: nobody knows its size */
    struct instant again_at; /* if so: when to try again */
    uint64_t seed;           /* of hashes */
    struct id_map by_hash;
    struct index_feed_items ready;
    struct index_feed_items waiting;
    struct index_feed_items sent;
    struct index_feed_items done;   /* covered notes are to be deleted from the store */
    struct index_feed_items by_age; /* all items, by their oldest note */
    struct index_feed_orders order; /* the notes that do not fill, the oldest first */
    uint32_t item_count;
    size_t bytes; /* of the rows in the store */
    struct index_feed_pace pace;
    LIST_HEAD(, index_feed_target) targets;
    uint32_t target_count; /* that there ever were */
    struct {
        bool on;
        uint64_t from; /* whom to answer */
        uint64_t id;
        uint32_t index;     /* table id */
        struct buffer key;  /* the piece begins there */
        uint32_t items_max; /* items of the piece; 0: there was none yet */
        uint32_t left;      /* notes that are not done */
        struct buffer next; /* the key to go on with */
    } fill;
    struct index_feed_item **slots; /* owns; of INDEX_FEED_CALLS_MAX; by slot, NULL: free */
    uint32_t calls;
    size_t turn_bytes; /* of rows that were made in this turn */
    struct buffer scratch;
    struct buffer acks; /* the entry that deletes changes, while it is made */
};

/* ---- index_feed.c ---- */

/* Adds a note of the item with this key in the key space of feeds. */
struct index_feed_note *index_feed_note(struct index_feed *f, struct instant now, struct slice key,
                                        struct slice suffix, struct slice value, bool fills);

/* The feed of a partition that leads here. NULL: it has none. */
struct index_feed *index_feed_live(const struct index_feeds *feeds, const struct partition *p);
/* Whether there are notes of the item. */
bool index_feed_has(struct index_feeds *feeds, const struct index_feed *f, struct slice key);

/* ---- index_feed_fill.c ---- */

/* A note of the piece is done. */
void index_feed_filled(struct index_feeds *feeds, struct index_feed *f);

/* ---- index_feed_round.c ---- */

/* Begins the round of an item, or its next part, if everything that it needs is there. True: it is
 * on its way, or nothing is to be sent. False: item->target or item->at is set. */
bool index_feed_send(struct index_feeds *feeds, struct index_feed *f, struct partition *p,
                     struct index_feed_item *item);
/* Sessions that were granted become usable once leadership is confirmed. */
void index_feed_confirm(struct index_feed *f, const struct partition *p);
/* How many rows may be sent to it now, as far as its `until` does not forbid it. */
uint32_t index_feed_target_room(const struct index_feed_target *t);
void index_feed_session_answered(struct index_feeds *feeds, struct index_feed *f,
                                 struct partition *p, const struct internal_call_answer *answer);
/* The part is not on its way any more. True: the round has no other part. */
bool index_feed_part_is_last(const struct partition *p, struct index_feed_item *item);
/* The rest of the round is tried again. */
void index_feed_part_failed(struct index_feed_item *item);
/* True: all of a part of `*item` are answered. */
bool index_feed_row_answered(struct index_feeds *feeds, struct index_feed *f, struct partition *p,
                             const struct internal_call_answer *answer,
                             struct index_feed_item **item);
/* Whether the feed writes to the partition in a session of this term. */
bool index_feed_has_session(const struct index_feed *f, uint32_t partition);
void index_feed_targets_free(struct index_feed *f);
