/* message.h - the requests and replies between routers, nodes and the catalog.
 *
 * Messages are structs. Within a process they are handed over as they are. Between processes they
 * travel in frames (frames.h). Every request gets exactly one reply, with the same id. If the
 * connection is lost, its open requests get no reply. */
#pragma once

#include "base/buffer.h"
#include "base/status.h"
#include "engine/admission/verdict.h"
#include "engine/message/reply_code.h"

enum request_op {
    /* to the node that holds the partition */
    REQUEST_GET = 1,
    REQUEST_PUT,
    REQUEST_DELETE,
    REQUEST_RANGE, /* Query and Scan */
    REQUEST_UPDATE,
    REQUEST_UNCHANGED,      /* OK: no write has been done since the item was read */
    REQUEST_CHECK,          /* a write that changes nothing: its condition must hold */
    REQUEST_TRANSACT,       /* writes of one partition, all or none */
    REQUEST_TRANSACT_ADMIT, /* takes the units of parts that will be prepared, or gives them back */
    REQUEST_TRANSACT_DECIDE,  /* to the anchor's partition: all parts are prepared, commit */
    REQUEST_TRANSACT_RESOLVE, /* to the partition of a part: do it, or drop it */
    REQUEST_TRANSACT_QUERY,   /* to the anchor's partition: what is decided? */
    /* to the node itself */
    REQUEST_STATS,
    REQUEST_PARTITION_OPEN,
    REQUEST_PARTITION_CLOSE,   /* forget the partition, delete its range */
    REQUEST_PARTITION_MEMBERS, /* to the group's leader; OK once the group's members are these */
    /* to the catalog's leader, unless the line says otherwise */
    REQUEST_TABLE_CREATE,
    REQUEST_TABLE_GET,
    REQUEST_TABLE_LIST,
    REQUEST_TABLE_UPDATE,
    REQUEST_TABLE_DELETE,
    REQUEST_TABLE_REPORT,     /* a node's report on its replicas */
    REQUEST_TABLE_SPLIT,      /* the reply has the table as it will be after the split */
    REQUEST_PARTITION_SPLIT,  /* to the group's leader; OK once the leader has applied the split */
    REQUEST_EVENTS,           /* oldest first */
    REQUEST_DECIDE,           /* OK: done, or done before */
    REQUEST_PARTITION_HEAT,   /* to the group's leader: where to split, so that the heat divides */
    REQUEST_PARTITION_MIDDLE, /* the same for bytes; few-samples: not found yet, ask again */
    REQUEST_PING,             /* to the node itself: OK at once, whatever else it does */
    REQUEST_PARTITION_MERGE,  /* to the group's leader; OK once the leader has done what
                                 `info.merge` says. FREEZE: to each replica; OK once it is frozen */
    REQUEST_INDEX_SESSION,    /* to the leader of a global index's partition, from a leader of the
                                 base table: node/core/index_sessions.h */
    REQUEST_INDEX_FILL,       /* to the leader of a base partition: OK once an index has the rows of
                                 the next items */
    REQUEST_RECORDS,          /* to the leader of a partition: records of a shard of a stream */
    REQUEST_KEY_SHARD_MOVE, /* to the leader of a partition: items of a sharded key's shard that are
                                 not at home there go home:
                                 node/key_sharding/key_shard_moves.h */
    /* To the leader of a partition: OK if global indexes have its changes up to an entry of its
     * log. OVERLOADED: not yet, and `applied` is the entry. */
    REQUEST_INDEX_SHOWS,
    REQUEST_OPS,
};

/* Of reads that must show what their sender has written (struct request: after). */
#define AFTER_ALL UINT64_MAX

/* When an item was read: which entry of which partition's log was applied last. */
struct read_stamp {
    uint32_t partition;
    uint64_t epoch;
    uint64_t index;
};

/* Bytes for the fields of a family of messages whose header is not included here. */
enum {
    MESSAGE_ROOM = 96
};

/* UPDATE of a counter's cell or of a limiter's bucket, CHECK of a transaction: what the client
 * repeats it by. */
struct write_token {
    struct slice id; /* TRANSACTION_TOKEN_SIZE bytes; an update whose token is known was done
                        before: OK, without an item; empty: none */
    uint64_t digest; /* of what the client asked for. Another one: TOKEN_MISMATCH */
    bool only;       /* nothing is done. ABORTED: the token is not known */
};

/* Slices are borrowed. */
struct request {
    uint64_t id;        /* chosen by the sender; the reply has it too */
    enum request_op op; /* says which member of the union is used */
    uint32_t partition; /* replication group; 0: none, or the catalog */
    uint64_t epoch;     /* of the partition, as the sender knows it; another epoch is refused */
    /* Of the table's registry of sharded keys, for data from routers. */
    uint64_t key_sharding_version; /* its version as the sender knows it: an older one is refused */
    /* The version of the sharded key that the request is about: the partition must have been told
     * it; 0: the key is not sharded. */
    uint64_t sharded_key_version;
    union {
        struct {
            struct slice key; /* storage key */
            bool consistent;
            bool transacts; /* a part of TransactGetItems: a locked item is refused */
            uint64_t
                after; /* the read must show the partition's log up to this entry. A replica that
                               has applied less answers as it answers a consistent read, at the cost
                               of an eventual one. AFTER_ALL: so does every replica; 0: none */
        } get;         /* GET */
        struct {
            struct slice key;
            struct slice item;      /* PUT: the item. UPDATE: the key attributes, as an item */
            struct slice condition; /* engine/expression/program.h; empty: no condition */
            struct slice update;    /* UPDATE: engine/expression/update_program.h; empty: changes
                                       nothing, but makes an item of the key */
            struct slice limiter;   /* UPDATE without condition and update: a command that is run on
                                       the item: engine/limiter/bucket.h; empty: none */
            uint8_t return_values;  /* enum write_return */
            bool return_failed;     /* if the condition fails, the reply must have the item */
            uint8_t origin;         /* enum write_origin */
            uint64_t session;       /* WRITE_BY_FEED: as REQUEST_INDEX_SESSION gave it; else 0 */
            struct slice transaction; /* struct transaction_part: the write is prepared, and done
                                       once the transaction commits; empty: done at once */
            uint8_t admitted;         /* enum write_admitted: of a part */
            struct write_token token;
        } write; /* PUT, DELETE, UPDATE, CHECK */
        struct {
            struct slice key;
            struct read_stamp since;
        } unchanged; /* UNCHANGED */
        struct {
            struct slice lo; /* inclusive */
            struct slice hi; /* exclusive; empty: the partition's end */
            bool consistent;
            uint8_t index;       /* the number of a local index, whose rows are read; 0: items. Keys
                                    are as if the rows were in the items' key space */
            bool reverse;        /* from the upper end downwards */
            struct slice filter; /* engine/expression/program.h; empty: all items pass */
            bool count_only;     /* the reply needs no items */
            uint32_t items_max;  /* items scanned, before the filter; 0: no limit */
            uint32_t bytes_max;  /* stop after the scanned item that reaches this many bytes */
            uint32_t shard;      /* only items in this shard of their keys count; looked at if
                                    `key_sharding_version` is not 0 */
            uint64_t after;      /* as in `get` */
        } range;                 /* RANGE */
        struct {
            struct slice info;   /* struct partition_info */
            uint64_t as_of;      /* up to where the sender knew the catalog's log */
            bool table_deleted;  /* CLOSE: wait until no leader's lease relies on the replica */
            bool queries_leader; /* CLOSE: has the group pending parts? Closes nothing: from OK on
                                   the leader serves nothing */
        } replica;               /* PARTITION_OPEN, PARTITION_CLOSE */
        struct {
            struct slice info; /* struct partition_info */
        } group;               /* PARTITION_MEMBERS, PARTITION_MERGE */
        struct {
            struct slice bytes; /* struct partition_split */
        } split;                /* PARTITION_SPLIT */
        struct {
            uint32_t children; /* wanted number; 0: as many as the partition's rate needs */
        } heat;                /* PARTITION_HEAT */
        struct {
            struct slice name;
            struct slice spec; /* CREATE, UPDATE: struct table_spec */
            uint32_t id;       /* GET without a name */
        } table;               /* TABLE_CREATE, TABLE_UPDATE, TABLE_DELETE, TABLE_GET */
        struct {
            struct slice name;  /* of the table, for texts */
            struct slice split; /* struct table_split */
        } table_split;          /* TABLE_SPLIT */
        struct {
            struct slice after; /* a name; empty: from the first */
            uint32_t names_max; /* 0: as many as fit in a page */
        } list;                 /* TABLE_LIST */
        struct {
            struct slice records; /* engine/catalog/report.h */
        } report;                 /* TABLE_REPORT */
        struct {
            uint64_t after;      /* the number of an event */
            uint32_t events_max; /* 0: as many as fit in a page */
        } events;                /* EVENTS */
        struct {
            struct slice decision;                     /* engine/catalog/decision.h */
            uint8_t op;                                /* enum catalog_op */
        } decide;                                      /* DECIDE */
        _Alignas(uint64_t) uint8_t room[MESSAGE_ROOM]; /* the other kinds: MESSAGE_FAMILY */
    };
};

/* What makes a write. link_rights.c says who may send which. */
enum write_origin {
    WRITE_BY_CLIENT,
    WRITE_BY_FEED,   /* PUT, DELETE of an index row */
    WRITE_BY_EXPIRY, /* DELETE of an item whose time is over: costs nothing; streams say that the
                        service deleted it. A node asks only itself so */
    WRITE_BY_MOVE,   /* PUT, DELETE, UPDATE in a transaction: the item goes from key shard to key
                        shard, or is a cell that is added to another: costs nothing, and streams
                        have no record of it. A node asks only itself for the DELETE */
    WRITE_ORIGINS,
};

/* Of a PUT, DELETE, UPDATE or CHECK. */
static inline bool request_moves(const struct request *q)
{
    return q->write.origin == WRITE_BY_MOVE;
}

/* Whether admission has taken the least that a write costs before it comes. */
enum write_admitted {
    WRITE_NOT_ADMITTED,
    WRITE_ADMITTED,
    WRITE_ADMITTED_AS_BURST,
    WRITE_ADMITTEDS,
};

/* The item that the reply of a write must have. */
enum write_return {
    RETURN_NONE,
    RETURN_OLD, /* the item before the write */
    RETURN_NEW, /* UPDATE: the item after the write */
    WRITE_RETURNS,
};

/* The member of the union that a reply uses. */
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
    ANSWER_SESSION,
    ANSWER_PARTS,
    ANSWER_STATE,
    ANSWER_RECORDS,
    ANSWER_KINDS,
};

/* Slices are borrowed. A refusal may have an answer too. */
struct reply {
    uint64_t id;
    enum reply_code code;
    uint32_t leader;              /* the node that leads the group; 0: not known */
    uint32_t overload_hint;       /* what the node's policy of overload tells the sender */
    struct slice text;            /* the error, for people */
    struct admit_verdict verdict; /* data operations: the decision of admission */
    int64_t consumed_mcu;         /* the final cost of the request */
    uint64_t applied; /* of a write: the entry of the partition's log that has it; 0: none,
                                     or not known. INDEX_SHOWS: the entry that is waited for */
    enum answer_kind kind;
    union {
        struct {
            struct slice bytes;       /* the item, if found */
            bool found;               /* GET: the item exists; a write: the wanted item does */
            int64_t collection_bytes; /* writes: size of the item collection now; -1: not counted */
            uint8_t fault;            /* UPDATE_FAILED: enum update_fault; CONDITION_FAILED of
                                         a limiter's command: enum limiter_refusal */
            struct slice index_costs; /* of the writes to indexes: each u8 number of a local index,
                                         or 0 | u32 table id of a global one, or 0 | i64 mcu. Those
                                         of local indexes are a part of consumed_mcu, the others
                                         are not: a global index has throughput of its own */
            struct read_stamp stamp;  /* of a GET that transacts */
            int64_t wall_ms; /* GET, and a limiter's command that was refused: the node's clock */
        } item;              /* GET, PUT, DELETE, UPDATE, CHECK */
        struct {
            struct slice items; /* each u32 size + bytes; count_only: empty */
            uint32_t count;     /* items that passed the filter */
            uint32_t scanned;   /* items read */
            int64_t read_bytes; /* sum of the scanned items' item_size */
            struct slice last;  /* storage key of the last scanned item; empty: none. `more` without
                                   a scanned item: no key, but to go on past it in the same way, as
                                   many items of other shards lie before it */
            bool more;          /* a limit was reached before the end of the range or partition */
        } range;                /* RANGE */
        struct {
            struct slice bytes;   /* struct table */
            struct slice indexes; /* its global indexes: each u32 size, struct table */
            int64_t agreed_ms;    /* env_agreed_ms of the node; INT64_MIN / 2 or so: not known */
        } table; /* TABLE_CREATE, TABLE_UPDATE, TABLE_DELETE, TABLE_GET, TABLE_SPLIT */
        struct {
            struct slice records; /* each u32 size + bytes: names, or events */
            uint32_t count;
            bool more;
        } page; /* TABLE_LIST, EVENTS */
        struct {
            struct slice records; /* struct partition_stats, see partition_stats_* */
            uint64_t used_bytes;  /* of the node's store, as what follows (METRICS_STORE) */
            uint64_t total_bytes;
            uint64_t growth_left_bytes;
            uint64_t refused_full;
            uint64_t refused_waiting;
        } stats; /* STATS */
        struct {
            bool too_many_voters; /* with OVERLOADED: the group has more voters than wanted members,
                                     which slows its writes: ask again soon */
        } members;                /* PARTITION_MEMBERS */
        struct {
            uint64_t index; /* of the entry that froze the replica */
            uint64_t term;
        } frozen; /* PARTITION_MERGE: FREEZE */
        struct {
            struct slice bytes; /* struct split_advice */
        } advice;               /* PARTITION_HEAT, PARTITION_MIDDLE */
        struct {
            struct slice replicas; /* those of the report that belong to no group any more: each u32
                                      partition, u64 member, u8 1: the whole partition is gone,
                                      0: only this replica */
            uint64_t as_of;        /* up to this index of the catalog's log */
            uint64_t term;         /* the catalog's: another one has heard no earlier report */
        } gone;                    /* TABLE_REPORT */
        _Alignas(uint64_t) uint8_t room[MESSAGE_ROOM]; /* the other kinds: MESSAGE_FAMILY */
    };
};

/* The first byte of a frame. */
enum message_kind {
    MESSAGE_REQUEST = 1,
    MESSAGE_REPLY = 2,
    MESSAGE_PEER = 3, /* node to node: NODE_SEND's envelopes */
};

/* Accessors of struct request_NAME or reply_NAME, which lies in the room: request_NAME() to read
 * and request_edit_NAME() to write. A family has a header of its own, so that a new field has only
 * the family's users compiled anew. */
#define MESSAGE_FAMILY(message, name)                                                       \
    _Static_assert(sizeof(struct message##_##name) <= MESSAGE_ROOM, "raise MESSAGE_ROOM");  \
    _Static_assert(_Alignof(struct message##_##name) <= _Alignof(uint64_t), "of the room"); \
    static inline const struct message##_##name *message##_##name(const struct message *m)  \
    {                                                                                       \
        return (const struct message##_##name *)m->room;                                    \
    }                                                                                       \
    static inline struct message##_##name *message##_edit_##name(struct message *m)         \
    {                                                                                       \
        return (struct message##_##name *)m->room;                                          \
    }
