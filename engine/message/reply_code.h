/* reply_code.h - what became of a request (message.h), or of a command of the catalog. */
#pragma once

enum reply_code {
    REPLY_OK = 0,
    REPLY_THROTTLED = 1,       /* the verdict has the reason and the time to wait */
    REPLY_WRONG_PARTITION = 2, /* not here, not this epoch, or key outside: refresh the map */
    REPLY_OVERLOADED = 3,      /* not done: the node is busy, or a change is under way; try again */
    REPLY_FULL = 4,            /* disk or map is full: writes are refused, nothing was done */
    REPLY_STOPPED = 5,         /* the node's disk failed: writes are refused until a restart */
    REPLY_CORRUPT = 6,         /* the stored item fails its checksum, or cannot be read */
    REPLY_UNKNOWN = 7,         /* the outcome of the write is unknown */
    REPLY_MALFORMED = 8,       /* the request makes no sense; `text` says why */
    REPLY_TABLE_EXISTS = 9,
    REPLY_TABLE_NOT_FOUND = 10,
    REPLY_TABLE_BUSY = 11,       /* being created, updated or deleted */
    REPLY_LIMIT_EXCEEDED = 12,   /* `text` names the limit */
    REPLY_NOT_LEADER = 13,       /* nothing was done; ask `leader`, if 0 try again later */
    REPLY_STALE_MAP = 14,        /* the sender's map is old: nothing was done, ask the catalog */
    REPLY_COLLECTION_FULL = 15,  /* the item collection may not grow; nothing was done */
    REPLY_CONDITION_FAILED = 16, /* the write's condition does not hold; nothing was done */
    REPLY_UPDATE_FAILED = 17,  /* an update, condition or filter does not fit the item; nothing was
                                    done, and `fault` says why */
    REPLY_TABLE_INVALID = 18,  /* the table may not be changed so; `text` says why */
    REPLY_LOCKED = 19,         /* a transaction has the item; nothing was done */
    REPLY_TOKEN_DONE = 20,     /* the transaction with this token has been committed before */
    REPLY_TOKEN_RUNS = 21,     /* it is under way; nothing was done */
    REPLY_TOKEN_MISMATCH = 22, /* the token was used for another request; nothing was done */
    REPLY_ABORTED = 23,        /* the transaction has been aborted; nothing was done */
    REPLY_SPREAD = 24, /* other partitions have some of the transaction's items; nothing was done */
    REPLY_CODES,
};
