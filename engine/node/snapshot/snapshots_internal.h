/* snapshots_internal.h - what the two halves of the snapshots share: snapshots.c sends, and
 * snapshots_receive.c receives. */
#pragma once

#include "engine/node/snapshot/snapshots.h"

enum {
    SNAPSHOT_BEGIN = 1,
    SNAPSHOT_CHUNK,
    SNAPSHOT_ACK
};

struct snapshot_in {
    TAILQ_ENTRY(snapshot_in) place;
    uint32_t group;
    uint64_t from;
    uint64_t id;
    struct partition_row row; /* at the snapshot's base; its info is not used after the offer */
    struct buffer counted_to; /* in the row */
    uint64_t sequence;
    struct buffer key; /* everything up to this key is in place */
    bool has_chunk;    /* a chunk is being put in place, in slices of the old keys */
    bool chunk_last;
    uint32_t chunk_count; /* items in `chunk` */
    struct buffer chunk;  /* the chunk's items that are not in place yet */
    struct buffer to;     /* the chunk's last key */
    struct instant again_at;
    struct scan scan;
    bool complete; /* all chunks are in the memtable, on their way to the backing */
    bool frozen;   /* the checkpoint that is being written contains the snapshot */
    bool installed;
};

/* ---- snapshots.c ---- */

/* Begins a message of such a kind, for the member `to`; the caller appends, and posts it. */
struct buffer *snapshot_message(struct snapshots *snapshots, uint64_t to, uint8_t kind,
                                const struct partition *p, uint64_t id);
void snapshot_post(struct snapshots *snapshots, uint64_t to);

/* ---- snapshots_receive.c ---- */

struct snapshot_in *snapshot_find_in(struct snapshots *snapshots, uint32_t group);
void snapshot_drop_in(struct snapshots *snapshots, struct snapshot_in *s);
/* False: malformed. */
bool snapshot_receive_begin(struct snapshots *snapshots, struct snapshot_offer *offer,
                            struct partition *p, struct slice bytes);
bool snapshot_receive_chunk(struct snapshots *snapshots, struct partition *p, uint64_t from,
                            uint64_t id, struct reader *r);
/* There may be room for the chunks that wait. */
void snapshots_wake_receiving(struct snapshots *snapshots);
void snapshots_go_on_receiving(struct snapshots *snapshots);
