/* bench_lmdb.h - raw LMDB, the peer that `weir bench embedded` is measured against. */
#ifndef WEIR_CMD_BENCH_LMDB_H
#define WEIR_CMD_BENCH_LMDB_H

#include "base/slice.h"

struct bench_lmdb;

/* NULL if it cannot be opened. */
struct bench_lmdb *bench_lmdb_open(const char *directory);
void bench_lmdb_close(struct bench_lmdb *b);

/* One synchronous transaction with all the pairs. */
bool bench_lmdb_put(struct bench_lmdb *b, const struct slice *keys, const struct slice *values,
                    size_t count);

/* Reads in one long snapshot; begin anew to see later puts. */
bool bench_lmdb_begin(struct bench_lmdb *b);
bool bench_lmdb_get(struct bench_lmdb *b, struct slice key, struct slice *value);

#endif
