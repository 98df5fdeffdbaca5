/* gac_message.h - the messages between routers and servers of global admission control.
 *
 * A router asks, a server answers. A grant request is about one key: tokens spent, tokens held,
 * and demand. Amounts are totals, not differences, and grant requests are numbered. So a lost,
 * duplicated or late one does no harm. Frame: u8 kind | u64 sender | u64 view or routers | u32
 * count | grant requests or answers. A frame without grant requests or answers is a sign of life.
 * Units: mcu, mcu a second, ns; spans of time, never points. */
#pragma once

#include "base/buffer.h"
#include "base/gac_policy.h"
#include "base/instant.h"
#include "base/must.h"
#include "base/status.h"

enum {
    GAC_SERVERS_MAX = 64,
    GAC_BATCH_MAX = 4096, /* grant requests or answers of a frame */
};

/* The most tokens, or tokens a second, of one grant request or answer: the largest table for more
 * than a day. Sums of a few of them never overflow. */
#define GAC_AMOUNT_MAX (INT64_C(1) << 55)

enum gac_kind {
    GAC_READ,
    GAC_WRITE
};

/* An answer does not say what other routers want. */
#define GAC_UNKNOWN INT64_C(-1)
/* The whole of a rate. */
#define GAC_WHOLE INT64_C(1000000)

const char *gac_policy_name(enum gac_policy policy);
/* False: no policy has that name. */
bool gac_policy_find(struct slice name, enum gac_policy *out);

/* What a ledger is kept for. */
struct gac_key {
    uint32_t table;
    uint32_t index; /* of the table; 0: the table itself */
    enum gac_kind kind;
};

/* One number for each key; never 0, because tables are numbered from 1. */
static inline uint64_t gac_key_number(struct gac_key key)
{
    must(key.table != 0 && key.index >> 31 == 0);
    return (uint64_t)key.table << 32 | (uint64_t)key.index << 1 | (uint64_t)key.kind;
}

static inline bool gac_key_equal(struct gac_key a, struct gac_key b)
{
    return a.table == b.table && a.index == b.index && a.kind == b.kind;
}

struct gac_request {
    struct gac_key key;
    enum gac_policy policy;
    bool created;     /* this router has just created the table */
    bool reports;     /* to be told a time, before the wait of the last answer is over */
    uint64_t epoch;   /* counts the servers asked; a restarted server counts anew */
    uint64_t number;  /* in this epoch: 1, 2, ... */
    uint64_t version; /* of `rate`: the higher is the newer */
    int64_t rate;     /* the table's limit, mcu a second */
    int64_t spent;    /* in this epoch, by requests that are done */
    int64_t pending;  /* taken by requests that are not: they may give it back */
    int64_t held;     /* tokens; below zero: spent, but not had */
    int64_t demand;   /* what its clients want; 0: it gives back what it had */
    int64_t need;     /* the cost of the costliest request that waits */
    int64_t cost;     /* of a request on average; 0: not known */
    int64_t share;    /* of the rate, in millionths, while it reaches no server; 0: even */
};

struct gac_answer {
    struct gac_key key;
    uint64_t epoch;
    uint64_t number;
    uint64_t version; /* of the rate that is granted from */
    int64_t granted;
    struct duration
        lifetime;          /* of all that is held then, from the sending of the grant request on */
    struct duration wait;  /* before the next grant request; it is for nothing until then */
    struct duration until; /* at most so long until `need` is granted, if nobody else asks */
    int64_t others;        /* what other routers want, mcu a second; or GAC_UNKNOWN */
    int64_t share;         /* of the rate from now on, as in a request; 0: as before */
};

/* The time in which `more` tokens come. Routers add it to a retry time for a cheaper request, and
 * servers keep that: LEDGER-8. */
struct duration gac_refill_time(int64_t more, int64_t rate);

struct gac_requests {
    uint64_t router; /* random, of this life of it; not 0 */
    uint64_t view;   /* servers it takes for alive: bit number - 1 */
    uint32_t count;
};

struct gac_answers {
    uint64_t server;  /* random, of this life of it; not 0 */
    uint32_t routers; /* that may be at work: each is safe with its part of a rate */
    uint32_t count;
};

void gac_requests_encode(struct buffer *out, const struct gac_requests *requests);
void gac_request_encode(struct buffer *out, const struct gac_request *request);
void gac_answers_encode(struct buffer *out, const struct gac_answers *answers);
void gac_answer_encode(struct buffer *out, const struct gac_answer *answer);

/* The head, then `count` times the rest. STATUS_MALFORMED: not what the writers above write. */
enum status gac_requests_decode(struct reader *r, struct gac_requests *out);
enum status gac_request_decode(struct reader *r, struct gac_request *out);
enum status gac_answers_decode(struct reader *r, struct gac_answers *out);
enum status gac_answer_decode(struct reader *r, struct gac_answer *out);
