/* message.h - what routers, nodes and the catalog say to each other.
 *
 * Messages are structs whose slices are borrowed. In one process they are handed over as they are;
 * between processes message_encode and message_decode carry them in frames (u32 length first).
 * Every request has exactly one reply with the same id; a lost connection answers none of them. */
#ifndef WEIR_ENGINE_MESSAGE_MESSAGE_H
#define WEIR_ENGINE_MESSAGE_MESSAGE_H

#include "base/buffer.h"
#include "engine/admission/admission.h"

enum request_op {
    /* to the node that holds the partition */
    REQUEST_GET = 1, /* key */
    REQUEST_PUT,     /* key, item */
    REQUEST_DELETE,  /* key */
    REQUEST_RANGE,   /* key .. end: Query and Scan */
    /* to the node itself */
    REQUEST_STATS,           /* reply.body: struct partition_stats records, see partition_stats_* */
    REQUEST_PARTITION_OPEN,  /* catalog to node: body = struct partition_info */
    REQUEST_PARTITION_CLOSE, /* catalog to node: forget the partition, delete its range; consistent:
                                its table is deleted, and no lease may rest on a closed replica */
    REQUEST_PARTITION_MEMBERS, /* catalog to the group's leader: body = partition_info; OK once the
                                  group's members are these */
    /* to the catalog's leader */
    REQUEST_TABLE_CREATE, /* body = struct table_spec; reply.body = struct table */
    REQUEST_TABLE_GET,    /* key = name; reply.body = struct table */
    REQUEST_TABLE_LIST,   /* key = name to start after (may be empty), items_max; reply.body = names
                           */
    REQUEST_TABLE_UPDATE, /* body = struct table_spec: what is not AS_IT_IS; reply as GET */
    REQUEST_TABLE_DELETE, /* key = name; reply.body = struct table */
    REQUEST_TABLE_REPORT, /* node to catalog: body = engine/catalog/report.h; reply.body = those that
                             the reporter is to close: u32 partition, u8 1: no table has it, .. */
    REQUEST_TABLE_SPLIT,  /* to the catalog's leader: body = table_split; reply.body = struct table:
                             the map as it is to be */
    REQUEST_PARTITION_SPLIT, /* catalog to the group's leader: body = partition_split; OK once the
                                group has applied it */
    REQUEST_EVENTS, /* body = u64 number to start after, items_max; reply.body = events, each with
                       its size before it (engine/catalog/event.h), oldest first */
    REQUEST_DECIDE, /* body = u8 CATALOG_EVENT, MOVE, RATES, DRAIN or LEAD, then a decision
                       (engine/catalog/decision.h). OK: done, or done before */
    REQUEST_PARTITION_HEAT,   /* to the group's leader: where to cut it so that its heat divides;
                                 items_max = children wanted, 0: what its rate needs; reply.body =
                                 struct split_advice */
    REQUEST_PARTITION_MIDDLE, /* the same for its bytes; few-samples: not found yet, ask again */
    REQUEST_PING,             /* to the node itself: OK at once, whatever else it does */
    REQUEST_PARTITION_MERGE,  /* catalog to the group's leader: body = partition_info, whose `merge`
                                 says what to do; OK once the group has. FREEZE: to each replica;
                                 OK once it is frozen, reply.body = struct frozen */
    REQUEST_OPS,
};

struct request {
    uint64_t id; /* the sender's; comes back in the reply */
    enum request_op op;
    uint32_t partition; /* replication group */
    uint64_t epoch;     /* of the partition as the sender knows it; older or newer is refused */
    struct slice key;   /* storage key; RANGE: lower bound, inclusive */
    struct slice end;   /* RANGE: upper bound, exclusive; empty = the partition's */
    struct slice body;  /* item or catalog record */
    bool consistent;    /* reads */
    bool reverse;       /* RANGE: from the end downwards */
    bool want_old;      /* PUT, DELETE: reply with the item that was there */
    uint32_t items_max; /* RANGE: 0 = no limit */
    uint32_t bytes_max; /* RANGE: stop after the item that reaches this many bytes */
};

enum reply_code {
    REPLY_OK = 0,
    REPLY_THROTTLED = 1,       /* verdict says by what, and until when */
    REPLY_WRONG_PARTITION = 2, /* not here, not this epoch, or key outside: refresh the map */
    REPLY_OVERLOADED = 3,      /* the node sheds load; nothing was done */
    REPLY_FULL = 4,            /* disk or map full: writes refused, nothing was done */
    REPLY_STOPPED = 5,         /* the node's disk failed: writes refused until restart */
    REPLY_CORRUPT = 6,         /* the stored item fails its checksum */
    REPLY_UNKNOWN = 7,         /* a write whose outcome is not known */
    REPLY_MALFORMED = 8,       /* the request makes no sense; text says why */
    REPLY_TABLE_EXISTS = 9,
    REPLY_TABLE_NOT_FOUND = 10,
    REPLY_TABLE_BUSY = 11,     /* being created, updated or deleted */
    REPLY_LIMIT_EXCEEDED = 12, /* text names the limit */
    REPLY_NOT_LEADER = 13,     /* nothing was done; `leader` may, or nobody for now: try again */
    REPLY_STALE_MAP = 14, /* the partition was split since: nothing was done, ask the catalog */
    REPLY_COLLECTION_FULL = 15, /* the item collection may not grow; nothing was done */
    REPLY_CODES,
};

struct reply {
    uint64_t id;
    enum reply_code code;
    struct admit_verdict verdict; /* data operations: what admission said */
    int64_t consumed_mcu;         /* what the request was charged in the end */
    bool found;                   /* GET: item there; PUT, DELETE with want_old: old item there */
    struct slice body;            /* item; RANGE: items, each u32 size + bytes; catalog records */
    uint32_t count;               /* RANGE: items in body */
    int64_t read_bytes;           /* RANGE: sum of their item_size */
    int64_t collection_bytes;     /* PUT, DELETE: in the item collection now, or -1: not counted */
    bool more;                    /* RANGE: a limit stopped it before the end of range or partition;
                                     PARTITION_MEMBERS: too many vote now, ask again soon */
    uint32_t leader;              /* the node that leads the group, as far as known; 0: not known */
    struct slice text;            /* what went wrong, for people */
};

/* Bytes of the frame without its length: at most FRAME_SIZE_MAX may be encoded. */
size_t request_size(const struct request *r);
size_t reply_size(const struct reply *r);

/* Appends a frame: u32 length, u8 kind, fields. */
void request_encode(struct buffer *out, const struct request *r);
void reply_encode(struct buffer *out, const struct reply *r);

enum message_kind {
    MESSAGE_REQUEST = 1,
    MESSAGE_REPLY = 2,
    MESSAGE_PEER = 3, /* node to node: NODE_SEND's envelopes */
};

/* A frame without its length word. STATUS_MALFORMED for anything the encoders do not write. */
enum status message_kind_of(struct slice frame, enum message_kind *out);
enum status request_decode(struct slice frame, struct request *out);
enum status reply_decode(struct slice frame, struct reply *out);

/* What a partition did since the node started: one record of a REQUEST_STATS reply. */
struct load_total {
    int64_t consumed_mcu;
    int64_t refused_mcu;            /* total cost of requests refused, as far as known */
    int64_t refused[ADMIT_REASONS]; /* requests; ADMIT_OK: none */
};

struct partition_counts {
    struct load_total load;
    int64_t admitted; /* requests */
    int64_t burst;    /* of them from burst */
};

struct partition_stats {
    uint32_t partition;
    uint32_t node;
    uint32_t table_id;
    bool leads;
    uint8_t voters;    /* of the group; 0 where it is not led */
    uint8_t caught_up; /* of them, with everything committed, in no need of a snapshot */
    int64_t bytes;     /* of the items it holds; -1: counted anew just now, after a cut */
    struct {
        int64_t allocated_mcu; /* per second */
        struct partition_counts counts;
        struct admit_levels levels;
    } kinds[ADMIT_KINDS];
};

void partition_stats_encode(struct buffer *out, const struct partition_stats *s);
enum status partition_stats_decode(struct reader *r, struct partition_stats *out);

#endif
