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
 * The stream may be switched off and on (sim/work/work_switches.h). Then each stream of the table
 * is read by itself. A write while there surely was a stream has a record. A write while there
 * surely was none has none. */
#pragma once

#include "sim/work/work_switches.h"

enum {
    WORK_STREAMS_KEYS = 12
};

/* The first client reads, the others write. At last the reader compares what it has with the
 * table. */
struct work_clients *work_streams_create(const struct work_clients_options *options);
/* A reader alone: of the second table of transactions, whose stream nobody switches. */
struct work_clients *work_list_stream_create(const struct work_clients_options *options);
/* Whether a run has that reader. */
bool work_streams_has_lists(const struct plan *p);

/* The table's name. */
extern const char work_streams_table[];

bool work_streams_are_made(const struct work_clients *all);
