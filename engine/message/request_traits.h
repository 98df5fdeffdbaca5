/* request_traits.h - one table of all kinds of requests: their fields, what they are answered with,
 * who may send them, and what a router has to know of them. */
#ifndef WEIR_ENGINE_MESSAGE_REQUEST_TRAITS_H
#define WEIR_ENGINE_MESSAGE_REQUEST_TRAITS_H

#include "base/peer.h"
#include "engine/message/message.h"

enum {
    MESSAGE_FIELDS_MAX = 6
};

enum field_type {
    FIELD_END = 0,
    FIELD_SLICE,
    FIELD_BOOL,
    FIELD_U8,
    FIELD_U32,
    FIELD_U64
};

/* A member of the union of struct request or struct reply. */
struct message_field {
    uint8_t type;   /* enum field_type */
    uint8_t offset; /* in the struct */
};

struct request_traits {
    unsigned
        senders; /* processes that may send it to a node: bits 1 << enum peer_kind; 0: nobody */
    enum answer_kind answer; /* of its replies, where they have one */
    struct message_field fields[MESSAGE_FIELDS_MAX + 1];
    bool data;  /* asks for a table's data: routed by its key, admitted, paid for; else it goes
                         to the catalog, or to a node about itself */
    bool write; /* of data: paid for as a write */
    bool any_replica; /* of data: unless it is consistent, any replica may serve it; else the leader
                         alone */
    bool once;        /* sent to one node: it is not repeated where its outcome is not known */
    bool changes;     /* something may be different afterwards: its answer must not be lost */
    bool of_node;     /* asks the node that is named about itself */
    bool names_table; /* a refusal names the table that was asked for */
};

/* By op. */
extern const struct request_traits request_traits[REQUEST_OPS];
extern const struct message_field answer_fields[ANSWER_KINDS][MESSAGE_FIELDS_MAX + 1];

static inline const struct request_traits *traits_of(const struct request *q)
{
    return &request_traits[q->op];
}

static inline enum admit_kind request_admit_kind(const struct request *q)
{
    return traits_of(q)->write ? ADMIT_WRITE : ADMIT_READ;
}

/* Whether the reply has the answer of such a request, or none: a node may be at fault. */
static inline bool reply_fits(const struct reply *r, enum request_op op)
{
    return r->kind == ANSWER_NONE || r->kind == request_traits[op].answer;
}

/* Of what is asked about a table by its name; empty: nothing is. */
static inline struct slice request_table_name(const struct request *q)
{
    switch (q->op) {
    case REQUEST_TABLE_CREATE:
    case REQUEST_TABLE_UPDATE:
    case REQUEST_TABLE_DELETE:
    case REQUEST_TABLE_GET:
        return q->table.name;
    case REQUEST_TABLE_SPLIT:
        return q->cut.name;
    default:
        return (struct slice){NULL, 0};
    }
}

/* Of data: the key that is asked for, or the least key of a range. */
static inline struct slice request_key(const struct request *q)
{
    return q->op == REQUEST_GET ? q->get.key : q->op == REQUEST_RANGE ? q->range.lo : q->write.key;
}

/* Of data: whether the leader has to answer a read. */
static inline bool request_is_consistent(const struct request *q)
{
    return q->op == REQUEST_GET ? q->get.consistent : q->op == REQUEST_RANGE && q->range.consistent;
}

/* The bytes of the reply's answer, whatever its kind: none has more than one slice. */
static inline struct slice reply_bytes(const struct reply *r)
{
    const struct message_field *f = answer_fields[r->kind];
    while (f->type != FIELD_END && f->type != FIELD_SLICE)
        f++;
    return f->type == FIELD_END ? (struct slice){NULL, 0}
                                : *(const struct slice *)((const uint8_t *)r + f->offset);
}

/* The next slice of the message, from field `*at` on; NULL: there are no more. */
static inline struct slice *message_next_slice(const struct message_field *fields, void *message,
                                               uint32_t *at)
{
    while (fields[*at].type != FIELD_END && fields[*at].type != FIELD_SLICE)
        ++*at;
    return fields[*at].type == FIELD_END
               ? NULL
               : (struct slice *)((uint8_t *)message + fields[(*at)++].offset);
}

#endif
