/* message.h - what routers, nodes and the catalog say to each other.
 *
 * Messages are structs. In one process they are handed over as they are; between processes
 * frames.h carries them in frames.
 * Every request has exactly one reply with the same id; a lost connection answers none of them. */
#ifndef WEIR_ENGINE_MESSAGE_MESSAGE_H
#define WEIR_ENGINE_MESSAGE_MESSAGE_H

#include "base/buffer.h"
#include "engine/admission/admission.h"

enum request_op {
    /* to the node that holds the partition */
    REQUEST_GET = 1,
    REQUEST_PUT,
    REQUEST_DELETE,
    REQUEST_RANGE, /* Query and Scan */
    /* to the node itself */
    REQUEST_STATS,
    REQUEST_PARTITION_OPEN,
    REQUEST_PARTITION_CLOSE,   /* forget the partition, delete its range */
    REQUEST_PARTITION_MEMBERS, /* to the group's leader; OK once the group's members are these */
    /* to the catalog's leader */
    REQUEST_TABLE_CREATE,
    REQUEST_TABLE_GET,
    REQUEST_TABLE_LIST,
    REQUEST_TABLE_UPDATE,
    REQUEST_TABLE_DELETE,
    REQUEST_TABLE_REPORT,     /* of a node about its replicas */
    REQUEST_TABLE_SPLIT,      /* the reply's map is as it is to be */
    REQUEST_PARTITION_SPLIT,  /* to the group's leader; OK once the group has applied it */
    REQUEST_EVENTS,           /* oldest first */
    REQUEST_DECIDE,           /* OK: done, or done before */
    REQUEST_PARTITION_HEAT,   /* to the group's leader: where to cut it so that its heat divides */
    REQUEST_PARTITION_MIDDLE, /* the same for its bytes; few-samples: not found yet, ask again */
    REQUEST_PING,             /* to the node itself: OK at once, whatever else it does */
    REQUEST_PARTITION_MERGE,  /* to the group's leader; OK once the group has done what
                                 `info.merge` says. FREEZE: to each replica; OK once it is frozen */
    REQUEST_OPS,
};

/* Slices are borrowed. */
struct request {
    uint64_t id;        /* the sender's; comes back in the reply */
    enum request_op op; /* says which member of the union holds what is asked */
    uint32_t partition; /* replication group; 0: the request is for none */
    uint64_t epoch;     /* of the partition as the sender knows it; older or newer is refused */
    union {
        struct {
            struct slice key; /* storage key */
            bool consistent;
        } get; /* GET */
        struct {
            struct slice key;
            struct slice item; /* PUT */
            bool want_old;     /* reply with the item that was there */
        } write;               /* PUT, DELETE */
        struct {
            struct slice lo; /* inclusive */
            struct slice hi; /* exclusive; empty: the partition's */
            bool consistent;
            bool reverse;       /* from the upper end downwards */
            uint32_t items_max; /* 0: no limit */
            uint32_t bytes_max; /* stop after the item that reaches this many bytes */
        } range;                /* RANGE */
        struct {
            struct slice info;  /* struct partition_info */
            uint64_t as_of;     /* up to where the sender knew the catalog's log */
            bool table_deleted; /* CLOSE: no lease may rest on a replica that is closed */
        } replica;              /* PARTITION_OPEN, PARTITION_CLOSE */
        struct {
            struct slice info; /* struct partition_info */
        } group;               /* PARTITION_MEMBERS, PARTITION_MERGE */
        struct {
            struct slice bytes; /* struct partition_split */
        } split;                /* PARTITION_SPLIT */
        struct {
            uint32_t children; /* wanted; 0: as many as the partition's rate needs */
        } heat;                /* PARTITION_HEAT */
        struct {
            struct slice name;
            struct slice spec; /* CREATE, UPDATE: struct table_spec */
        } table;               /* TABLE_CREATE, TABLE_UPDATE, TABLE_DELETE, TABLE_GET */
        struct {
            struct slice name;  /* of the table, for texts */
            struct slice split; /* struct table_split */
        } cut;                  /* TABLE_SPLIT */
        struct {
            struct slice after; /* a name; empty: from the first */
            uint32_t names_max; /* 0: as many as a page holds */
        } list;                 /* TABLE_LIST */
        struct {
            struct slice records; /* engine/catalog/report.h */
        } report;                 /* TABLE_REPORT */
        struct {
            uint64_t after;      /* the number of an event */
            uint32_t events_max; /* 0: as many as a page holds */
        } events;                /* EVENTS */
        struct {
            struct slice decision; /* engine/catalog/decision.h */
            uint8_t op;            /* enum catalog_op */
        } decide;                  /* DECIDE */
    };
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

/* What a reply tells beside its code: which member of its union. */
enum answer_kind {
    ANSWER_NONE,
    ANSWER_ITEM,
    ANSWER_RANGE,
    ANSWER_TABLE,
    ANSWER_PAGE,
    ANSWER_STATS,
    ANSWER_MEMBERS,
    ANSWER_FROZEN,
    ANSWER_ADVICE,
    ANSWER_GONE,
    ANSWER_KINDS,
};

/* Slices are borrowed. A refusal may have an answer too. */
struct reply {
    uint64_t id;
    enum reply_code code;
    uint32_t leader;              /* the node that leads the group; 0: not known */
    struct slice text;            /* what went wrong, for people */
    struct admit_verdict verdict; /* data operations: what admission said */
    int64_t consumed_mcu;         /* what the request was charged in the end */
    enum answer_kind kind;
    union {
        struct {
            struct slice bytes;       /* the item, if found */
            bool found;               /* GET: item there; want_old: the item that was there */
            int64_t collection_bytes; /* PUT, DELETE: in the item collection now, or -1: not
                                         counted */
        } item;                       /* GET, PUT, DELETE */
        struct {
            struct slice items; /* each u32 size + bytes */
            uint32_t count;
            int64_t read_bytes; /* sum of their item_size */
            bool more;          /* a limit stopped it before the end of range or partition */
        } range;                /* RANGE */
        struct {
            struct slice bytes; /* struct table */
        } table; /* TABLE_CREATE, TABLE_UPDATE, TABLE_DELETE, TABLE_GET, TABLE_SPLIT */
        struct {
            struct slice records; /* each u32 size + bytes: names, or events */
            uint32_t count;
            bool more;
        } page; /* TABLE_LIST, EVENTS */
        struct {
            struct slice records; /* struct partition_stats, see partition_stats_* */
        } stats;                  /* STATS */
        struct {
            bool too_many_voters; /* for now: ask again soon */
        } members;                /* PARTITION_MEMBERS */
        struct {
            uint64_t index; /* of the entry that froze the replica */
            uint64_t term;
        } frozen; /* PARTITION_MERGE: FREEZE */
        struct {
            struct slice bytes; /* struct split_advice */
        } advice;               /* PARTITION_HEAT, PARTITION_MIDDLE */
        struct {
            struct slice
                replicas;   /* of the reporter's, those that are nobody's: each u32 partition,
                                      u64 member, u8 1: the partition is gone */
            uint64_t as_of; /* the index in the catalog's log that says so */
        } gone;             /* TABLE_REPORT */
    };
};

/* The first byte of a frame. */
enum message_kind {
    MESSAGE_REQUEST = 1,
    MESSAGE_REPLY = 2,
    MESSAGE_PEER = 3, /* node to node: NODE_SEND's envelopes */
};

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
