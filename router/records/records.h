/* records.h - decision records: why requests were refused, or slow, kept in a ring of fixed bytes.
 *
 *   records_add(records, &record);             at the answer of a request
 *   records_find(records, number, &record);    GET /weir/explain/ID
 *
 * A record belongs to a pair: what refused the request (a partition, or the limit of a table) and
 * the reason. Each pair may keep RECORDS_FULL_PER_S full records a second; the others are short:
 * their texts, times and levels are left out, except the level that refused. When there is no room,
 * the oldest record goes of the pair that has most. So a thousand refusals a second of one
 * partition do not remove the one record of another.
 *
 * Invariants:
 *   DECISION-1  a pool's records are each in the list of one pair, in the order of all, and can be
 *             found by their number.
 *   DECISION-2  the pair that has most records is at the top of the heap.
 * Promises: no clock, no I/O; after records_create nothing is allocated. Adding takes a logarithm
 * of the pairs.
 * Not here: which requests are recorded (router/core/answer_record.h), pages (router/admin). */
#pragma once

#include "base/slice.h"
#include "engine/admission/verdict.h"

enum {
    RECORDS_FULL_PER_S = 64, /* of a pair */
    RECORD_ID_SIZE = 52,
    RECORD_TEXTS_SIZE = 160,
    RECORD_TABLE_MAX = 64,
    RECORD_TABLE_MAX_SHORT = 32,
    RECORD_BYTES_MIN = 64 * 1024,
};

enum record_outcome {
    RECORD_DONE,
    RECORD_REFUSED,    /* by admission: a throttling error */
    RECORD_OVERLOADED, /* 503: by a node or the router, for overload */
    RECORD_CANCELLED,  /* a transaction that met another transaction or a write */
    RECORD_FAILED,     /* another error */
    RECORD_OUTCOMES,
};

/* Why it is kept, as bits. */
enum record_cause {
    RECORD_OF_OUTCOME = 1,
    RECORD_OF_SLOW = 2, /* took explain_slow_ms or more */
    RECORD_OF_WAIT = 4, /* waited long for tokens */
    RECORD_OF_SAMPLE = 8,
};

/* The moments of a request, in us since it was read from the connection. */
enum record_moment {
    RECORD_STARTED,  /* the part: the request is read, its table known */
    RECORD_TOKENS,   /* the table's limit has admitted it */
    RECORD_SENT,     /* to the node that has decided */
    RECORD_REPLIED,  /* by this node, or decided by the router itself */
    RECORD_ANSWERED, /* to the client */
    RECORD_MOMENTS,
};

enum record_text {
    RECORD_TABLE, /* the name, or TABLE/INDEX */
    RECORD_KEY,   /* as text */
    RECORD_ERROR, /* its type, with the service's prefix */
    RECORD_AGENT, /* user-agent */
    RECORD_TEXTS,
};

#define RECORD_NEVER UINT32_MAX

struct decision_record {
    char id[RECORD_ID_SIZE];
    uint8_t outcome; /* enum record_outcome */
    uint8_t causes;
    uint64_t number;       /* request_id_number */
    int64_t wall_ms;       /* of the answer */
    const char *operation; /* a static text */
    uint32_t partition;    /* 0: none was asked */
    uint32_t node;         /* the last one that was asked; 0: none */
    uint32_t table_id;     /* 0: no table */
    uint16_t status;       /* of HTTP */
    uint8_t kind;          /* enum admit_kind */
    bool short_form;
    bool consistent;    /* of a read */
    bool range;         /* a query or a scan of a partition; otherwise one item */
    uint8_t attempt;    /* of the client, as amz-sdk-request says: 1 is the first; 0: not known */
    uint16_t repeated;  /* how often the router has sent the part again */
    uint32_t parts;     /* of the request: requests to nodes */
    uint32_t refused;   /* of them, by admission */
    int64_t cost_mcu;   /* what admission asked for */
    int64_t item_bytes; /* -1: not known */
    struct admit_verdict verdict;
    struct {
        int64_t limit_level_mcu;  /* before the decision */
        int64_t limit_rate_mcu;   /* the limit of the whole table; 0: none that routers keep */
        int64_t limit_demand_mcu; /* of this router's clients, per second */
        uint32_t limit_server;    /* of GAC; 0: none can be reached */
        int64_t allocation_mcu;   /* of the partition, per second */
        int64_t maximum_mcu;      /* of a partition, per second */
    } rates;
    uint32_t moments_us[RECORD_MOMENTS]; /* RECORD_NEVER: did not come, or is not known */
    uint32_t waited_us;                  /* before that: for the router's processor */
    uint64_t invocation;                 /* the first bytes of amz-sdk-invocation-id; 0: none */
    uint8_t text_sizes[RECORD_TEXTS];
    char texts[RECORD_TEXTS_SIZE];
};

static inline struct slice record_text(const struct decision_record *d, enum record_text which)
{
    size_t at = 0;
    for (int i = 0; i < (int)which; i++)
        at += d->text_sizes[i];
    return slice_make(d->texts + at, d->text_sizes[which]);
}

/* Adds a text behind those that were added before, in the order of enum record_text. What exceeds
 * `max` bytes or the room is cut, between two characters of UTF-8. */
void record_add_text(struct decision_record *d, enum record_text which, struct slice text,
                     size_t max);

/* Whether the record is of this table: its name, or TABLE/INDEX. Long names are cut in records, so
 * tables whose names begin with the same RECORD_TABLE_MAX bytes (of short records
 * RECORD_TABLE_MAX_SHORT) count as one. */
bool record_is_of_table(const struct decision_record *d, struct slice name);

/* Takes the key out. */
void record_hide_key(struct decision_record *d);

struct records;

/* `bytes`: of all records, at least RECORD_BYTES_MIN. */
struct records *records_create(size_t bytes);
void records_destroy(struct records *r);

/* Copies the record. Sets no member but short_form. */
void records_add(struct records *r, const struct decision_record *d);
/* False: it was not kept, or had to go. */
bool records_find(const struct records *r, uint64_t number, struct decision_record *out);
/* Other attempts of the same call of an SDK: full records with the same invocation, the newest
 * first, `max` at most. Returns how many. */
uint32_t records_attempts(const struct records *r, const struct decision_record *d,
                          struct decision_record out[], uint32_t max);

/* Zeroed = before the newest. */
struct records_cursor {
    uint32_t next[2];
    bool begun;
};

/* The records from the newest to the oldest. False: there are no more. Nothing may be added
 * meanwhile. */
bool records_next(const struct records *r, struct records_cursor *at, struct decision_record *out);

struct records_counts {
    uint64_t full; /* added since the start */
    uint64_t brief;
    uint64_t held;
    int64_t oldest_ms; /* the answer of the oldest record that is held; 0: none */
};

struct records_counts records_count(const struct records *r);

/* For tests: checks DECISION-1 and DECISION-2. */
void records_check(const struct records *r);
