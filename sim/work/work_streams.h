/* work_streams.h - clients that write items of a table with a stream, and one that reads the
 * stream.
 *
 * The table has few items, so that many writes meet. The reader reads a shard once the shard's
 * parent is read to its end, and keeps the items as the records tell. Each record must fit:
 * OldImage is the item as the reader has it, and sequence numbers rise. So no record may be lost,
 * come twice, or come before an earlier one of the same item. At last the items equal those that
 * strong reads find.
 *
 * If records are kept for seconds only, the reader may come too late for some. Then a record may
 * be missing only if its write was begun that long ago.
 *
 * The stream may be switched off and on (sim/work/work_switches.h). Then each of the table's
 * streams is
 * read by itself. A write while there surely was a stream has a record. A write while there
 * surely was none has none. */
#pragma once

#include "sim/work/work_switches.h"

enum {
    WORK_STREAMS_KEYS = 12
};

struct work_streams_options {
    struct scheduler *scheduler; /* borrows */
    struct http_client_options (*http)(void *context, uint32_t client);
    void *context;
    uint32_t clients; /* that write, and one that reads; 0: none */
    /* Borrows; NULL: work_streams_table. Others write this one, and nobody switches its stream. */
    const char *table;
    bool (*writes_are_over)(const void *writers);
    const void *writers; /* borrows */
    uint32_t units;      /* of the table; 0: on demand */
    int64_t kept_ms;     /* a record is surely there for so long; INT64_MAX: for the whole run */
    const struct work_clients *work_switches; /* borrows */
    int64_t think_ns;
    uint64_t seed;
};

struct work_streams;

struct work_streams *work_streams_create(const struct work_streams_options *options);
void work_streams_destroy(struct work_streams *f);

/* The table's name. */
extern const char work_streams_table[];

/* Makes the table, and then works until work_streams_end. */
void work_streams_begin(struct work_streams *f);
/* Ends the writes: at last the reader compares what it has with the table. */
void work_streams_end(struct work_streams *f);
/* Whether both are equal, or a record did not fit. */
bool work_streams_are_done(const struct work_streams *f);
bool work_streams_are_made(const struct work_streams *f);
void work_streams_describe(const struct work_streams *f, struct buffer *out);
/* False: `why` names the record that does not fit. */
bool work_streams_check(const struct work_streams *f, struct buffer *why);
/* Records that were read. */
uint32_t work_streams_records(const struct work_streams *f);
