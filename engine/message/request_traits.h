/* request_traits.h - one table of all kinds of requests: their fields, answers and senders, and how
 * a router treats them. */
#pragma once

#include "base/peer.h"
#include "engine/message/message.h"

enum {
    MESSAGE_FIELDS_MAX = 14
};

enum field_type {
    FIELD_END = 0,
    FIELD_SLICE,
    FIELD_BOOL,
    FIELD_U8,
    FIELD_U32,
    FIELD_U64
};

/* A field is a member of the union of struct request or struct reply. Its number: enum field_type
 * << 8 | its offset in the struct. */
static inline enum field_type field_type(uint16_t field)
{
    return (enum field_type)(field >> 8);
}

static inline void *field_of(const void *message, uint16_t field)
{
    return (uint8_t *)(uintptr_t)message + (field & 255);
}

struct request_traits {
    unsigned senders; /* processes that may send it to a node: bits 1 << enum peer_kind; 0: none */
    enum answer_kind answer;                 /* of its replies, unless they have none */
    uint16_t fields[MESSAGE_FIELDS_MAX + 1]; /* in the order of the frame */
    bool data;  /* for a table's data: routed by its key, admitted, charged; otherwise it goes to
                   the catalog, or to a node about that node */
    bool write; /* data: charged as a write */
    bool free;  /* data: not charged */
    bool any_replica; /* data: any replica may serve it, unless it is consistent; otherwise only the
                         leader serves it */
    bool once;        /* not sent to another node while its outcome is unknown */
    bool changes;     /* may change something: its answer must not be thrown away */
    bool of_node;     /* asks a named node about that node */
    bool names_table; /* a refusal names the table of the request */
    bool mandatory;   /* ends what was begun, or does what the catalog has decided: not refused
                         because much is under way, and has the room on the disk that was kept */
};

/* By op. */
extern const struct request_traits request_traits[REQUEST_OPS];
extern const uint16_t answer_fields[ANSWER_KINDS][MESSAGE_FIELDS_MAX + 1];

static inline const struct request_traits *traits_of(const struct request *q)
{
    return &request_traits[q->op];
}

static inline enum admit_kind request_admit_kind(const struct request *q)
{
    return traits_of(q)->write ? ADMIT_WRITE : ADMIT_READ;
}

/* Whether the reply has the kind of answer that belongs to the request, or none. A faulty node may
 * send another. */
static inline bool reply_fits(const struct reply *r, enum request_op op)
{
    must(op < REQUEST_OPS);
    return r->kind == ANSWER_NONE || r->kind == request_traits[op].answer;
}

/* The name of the request's table. Empty: the request names no table. */
static inline struct slice request_table_name(const struct request *q)
{
    switch (q->op) {
    case REQUEST_TABLE_CREATE:
    case REQUEST_TABLE_UPDATE:
    case REQUEST_TABLE_DELETE:
    case REQUEST_TABLE_GET:
        return q->table.name;
    case REQUEST_TABLE_SPLIT:
        return q->table_split.name;
    default:
        return (struct slice){NULL, 0};
    }
}

/* For data: the request's key, or the least key of its range. */
struct slice request_key(const struct request *q);

/* For data: whether the request is a read that only the leader may answer. */
static inline bool request_is_consistent(const struct request *q)
{
    switch (q->op) {
    case REQUEST_GET:
        return q->get.consistent;
    case REQUEST_RANGE:
        return q->range.consistent;
    default:
        return q->op == REQUEST_UNCHANGED || q->op == REQUEST_RECORDS ||
               q->op == REQUEST_KEY_SHARD_MOVE || q->op == REQUEST_INDEX_SHOWS;
    }
}

/* The next slice of the message, from field `*at` on. NULL: no more. */
static inline struct slice *message_next_slice(const uint16_t *fields, const void *message,
                                               uint32_t *at)
{
    while (fields[*at] != 0 && field_type(fields[*at]) != FIELD_SLICE)
        ++*at;
    return fields[*at] == 0 ? NULL : field_of(message, fields[(*at)++]);
}

/* Appends the slices of the message's fields to `bytes`. The message lends from there from then on.
 * Before, the slices may not lie in `bytes`. */
void message_copy_slices(const uint16_t *fields, void *message, struct buffer *bytes);

/* The first slice of the reply's answer, whatever its kind: items, records or other bytes. */
static inline struct slice reply_bytes(const struct reply *r)
{
    uint32_t at = 0;
    must(r->kind < ANSWER_KINDS);
    const struct slice *s = message_next_slice(answer_fields[r->kind], r, &at);
    return s != NULL ? *s : (struct slice){NULL, 0};
}
