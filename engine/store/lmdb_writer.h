/* lmdb_writer.h - writes a batch of changes in a transaction of LMDB.
 *
 * LMDB lists the pages that a transaction frees in one record. If the pages are many, the record
 * needs pages side by side. Values can have very many parts, and the size of a deletion does not
 * tell how many it frees. So where free pages lie apart, parts that would make the list too long
 * are noted in `meta`, and later transactions erase them (lmdb_writer_sweep). No head has their
 * number any more.
 *
 * Invariant
 *   PARTS-3  A batch frees no more than `frees_max` pages of parts. */
#pragma once

#include "base/buffer.h"
#include "engine/store/backing.h"
#include "engine/store/lmdb_parts.h"

struct lmdb_writer {
    MDB_dbi items;
    MDB_dbi parts;
    MDB_dbi meta;
    MDB_cursor *at;      /* in the items, */
    MDB_cursor *at_part; /* and in the parts, while a batch is written */
    size_t page_bytes;
    bool has_parts;       /* there may be parts, */
    bool has_notes;       /* and notes of parts that nobody needs */
    uint64_t frees_max;   /* pages; the owner sets it */
    uint64_t freed;       /* of parts */
    struct buffer bucket; /* that is being rewritten, */
    struct buffer before; /* and as it was */
};

void lmdb_writer_deinit(struct lmdb_writer *w);
/* 0, or an error of LMDB: then the caller aborts the transaction. */
int lmdb_writer_write(struct lmdb_writer *w, MDB_txn *txn, const struct backing_batch *batch,
                      uint64_t *erased_bytes);
/* Erases parts that were noted, `most` at most. w->has_notes: there are more. */
int lmdb_writer_sweep(struct lmdb_writer *w, MDB_txn *txn, uint64_t most);
