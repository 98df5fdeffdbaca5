/* follows.h - clients that write items of a table with a stream, and one that follows the stream.
 *
 * The table has few items, so that many writes meet. The follower reads a shard once the shard's parent
 * is read to its end, and keeps the items as the records tell. Each record must fit: OldImage is the item
 * as the follower has it, and sequence numbers rise. So no record may be lost, come twice, or come before
 * an earlier one of the same item. At last the items equal those that strong reads find.
 *
 * If records are kept for seconds only, the follower may come too late for some. Then a record may
 * be missing only if its write was begun that long ago.
 *
 * The stream may be switched off and on (sim/switches.h). Then each of the table's streams is
 * followed by itself. A write while there surely was a stream has a record. A write while there
 * surely was none has none. */
#pragma once

#include "sim/switches.h"

enum {
    FOLLOW_KEYS = 12
};

struct follows_options {
    struct scheduler *scheduler; /* borrows */
    struct http_client_options (*http)(void *context, uint32_t client);
    void *context;
    uint32_t clients; /* that write, and one that follows; 0: none */
    /* Borrows; NULL: follows_table. Others write this one, and nobody switches its stream. */
    const char *table;
    bool (*writes_are_over)(const void *writers);
    const void *writers; /* borrows */
    uint32_t units;      /* of the table; 0: on demand */
    int64_t kept_ms;     /* a record is surely there for so long; INT64_MAX: for the whole run */
    const struct switches *switches; /* borrows */
    int64_t think_ns;
    uint64_t seed;
};

struct follows;

struct follows *follows_create(const struct follows_options *options);
void follows_destroy(struct follows *f);

/* The table's name. */
extern const char follows_table[];

/* Makes the table, and then works until follows_end. */
void follows_begin(struct follows *f);
/* Ends the writes: at last the follower compares what it has with the table. */
void follows_end(struct follows *f);
/* Whether both are equal, or a record did not fit. */
bool follows_are_done(const struct follows *f);
bool follows_are_made(const struct follows *f);
void follows_describe(const struct follows *f, struct buffer *out);
/* False: `why` names the record that does not fit. */
bool follows_check(const struct follows *f, struct buffer *why);
/* Records that were read. */
uint32_t follows_records(const struct follows *f);
