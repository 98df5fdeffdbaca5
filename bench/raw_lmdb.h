/* raw_lmdb.h - raw LMDB, the peer that `weir-bench embedded` is measured against. */
#pragma once

#include "base/slice.h"

struct raw_lmdb;

/* NULL if it cannot be opened. */
struct raw_lmdb *raw_lmdb_open(const char *directory);
void raw_lmdb_close(struct raw_lmdb *b);

/* One synchronous transaction with all the pairs. */
bool raw_lmdb_put(struct raw_lmdb *b, const struct slice *keys, const struct slice *values,
                  size_t count);

/* Reads in one long snapshot; begin anew to see later puts. */
bool raw_lmdb_begin(struct raw_lmdb *b);
bool raw_lmdb_get(struct raw_lmdb *b, struct slice key, struct slice *value);
