/* trace_record.h - one request of a trace, and the keys' hash.
 *
 * weir's own recording, version 1, is text, a line each:
 *
 *   weir-trace 1 keys=plain          the first line; or keys=hashed
 *   salt XXXX                        keys=hashed: four hexadecimal digits that depend on the salt
 *   clock MICROSECONDS               the beginning, since 1970 by the recorder's wall clock
 *   table NUMBER NAME                names a table, before its first request
 *   tenant NUMBER NAME               the same for a tenant (a workload, a client)
 *   STEP TABLE TENANT KIND KEY BYTES OUTCOME [SCAN]     a request
 *
 * STEP: microseconds since the request before it (the first: since the beginning); requests come
 * in the order in which they were due. KIND: R read, r eventually consistent read, u update, i
 * insert, S scan, s eventually consistent scan, m read-modify-write, d delete. KEY: k and the
 * key's text, with %XX for bytes other than ! to ~ and for %; or x and up to 16 hexadecimal digits
 * of its hash. So is a key that is empty or has more than TRACE_KEY_SIZE_MAX bytes, also where
 * keys are plain. BYTES: the item's. OUTCOME: a admitted, t throttled, f failed, n not sent or not
 * answered. SCAN: items. `salt` and `clock` come before the first request; either may be missing.
 * Equal salts have equal digits, and so has one of 65536 other salts: the digits are too few to
 * guess the salt by them. Empty lines and lines that begin with # are skipped. A last line without
 * a line end was cut off.
 *
 * Twitter's cache traces (Yang et al., OSDI 2020; github.com/twitter/cache-trace) are
 * comma-separated: seconds, key, key size, value size, client, operation, TTL. Here a get is an
 * eventually consistent read, add an insert, delete a delete, all other operations updates; the
 * item has both sizes together; a client is a tenant. Not used: TTL. The requests of a second are
 * spread evenly over it. */
#pragma once

#include "base/buffer.h"
#include "base/limits.h"
#include "workload/mix.h"

enum {
    TRACE_LINE_SIZE_MAX = 16384,
    TRACE_NAME_SIZE_MAX = TABLE_NAME_SIZE_MAX + 1 + INDEX_NAME_SIZE_MAX, /* TABLE/INDEX */
    TRACE_KEY_SIZE_MAX = 3328, /* of a partition key, a zero byte and a sort key, and some room */
};
_Static_assert(3 * TRACE_KEY_SIZE_MAX + 256 <= TRACE_LINE_SIZE_MAX, "a line has room for each key");

/* A hundred years: sums of steps stay far below 2^63 ns. */
#define TRACE_US_MAX INT64_C(3155760000000000)

#define TRACE_HEAD "weir-trace 1 keys="

enum trace_outcome {
    TRACE_ADMITTED,
    TRACE_THROTTLED,
    TRACE_FAILED,
    TRACE_UNANSWERED, /* or not sent */
    TRACE_OUTCOMES
};

struct trace_record {
    int64_t at_ns; /* since the beginning */
    uint64_t key;  /* the number of `key-` and ten digits; of another key the hash */
    uint32_t table, tenant;
    int32_t size_bytes, scan_length;
    enum traffic_kind kind;
    bool consistent;
    enum trace_outcome outcome;
};

/* SipHash-2-4 (Aumasson and Bernstein, 2012): without the salt, a key cannot be guessed and
 * tried. */
struct trace_salt {
    uint64_t key[2];
};

struct trace_salt trace_salt_of(struct slice text);
uint64_t trace_hash(const struct trace_salt *salt, struct slice key);

/* The key's number in a record: see above. */
uint64_t trace_key_number(struct slice key);

bool trace_kind_of(char letter, enum traffic_kind *kind, bool *consistent);
extern const char trace_outcome_letters[TRACE_OUTCOMES + 1];

/* ---- lines ---- */

/* The first line, and `salt`. `salt` NULL: keys are written as they are. */
void trace_append_head(struct buffer *out, const char *salt);
/* Nothing for a clock that is no trace's: before 1970, or after TRACE_US_MAX. */
void trace_append_clock(struct buffer *out, int64_t wall_us);
/* `what`: "table" or "tenant". Blanks in the name become underscores, an empty name one; a name
 * ends after TRACE_NAME_SIZE_MAX bytes. */
void trace_append_name(struct buffer *out, const char *what, uint32_t number, struct slice name);
/* The line of a record, `step_us` after the one before it. */
void trace_append_line(struct buffer *out, int64_t step_us, const struct trace_record *r,
                       struct slice key, const struct trace_salt *salt);
/* The same; `r->key` is the key's hash. */
void trace_append_hashed(struct buffer *out, int64_t step_us, const struct trace_record *r);
