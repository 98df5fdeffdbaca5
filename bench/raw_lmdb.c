/* raw_lmdb.c - raw LMDB, each group of puts in a durable transaction of its own. */
#include "bench/raw_lmdb.h"

#include <lmdb.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/must.h"

struct raw_lmdb {
    MDB_env *env;
    MDB_dbi dbi;
    MDB_txn *snapshot;
};

struct raw_lmdb *raw_lmdb_open(const char *directory)
{
    struct raw_lmdb *b = must_have(calloc(1, sizeof *b));
    MDB_txn *txn;
    bool opened = mdb_env_create(&b->env) == 0 && mdb_env_set_mapsize(b->env, 4 * GIB) == 0 &&
                  mdb_env_open(b->env, directory, MDB_NORDAHEAD, 0644) == 0 &&
                  mdb_txn_begin(b->env, NULL, 0, &txn) == 0 &&
                  mdb_dbi_open(txn, NULL, 0, &b->dbi) == 0 && mdb_txn_commit(txn) == 0;
    if (opened)
        return b;
    raw_lmdb_close(b);
    return NULL;
}

void raw_lmdb_close(struct raw_lmdb *b)
{
    if (b->snapshot != NULL)
        mdb_txn_abort(b->snapshot);
    mdb_env_close(b->env);
    free(b);
}

static MDB_val raw_lmdb_val_of(struct slice s)
{
    return (MDB_val){s.size, (void *)(uintptr_t)s.data};
}

bool raw_lmdb_put(struct raw_lmdb *b, const struct slice *keys, const struct slice *values,
                  size_t count)
{
    MDB_txn *txn;
    if (mdb_txn_begin(b->env, NULL, 0, &txn) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        MDB_val k = raw_lmdb_val_of(keys[i]), v = raw_lmdb_val_of(values[i]);
        if (mdb_put(txn, b->dbi, &k, &v, 0) != 0) {
            mdb_txn_abort(txn);
            return false;
        }
    }
    return mdb_txn_commit(txn) == 0;
}

bool raw_lmdb_begin(struct raw_lmdb *b)
{
    if (b->snapshot != NULL)
        mdb_txn_abort(b->snapshot);
    b->snapshot = NULL;
    return mdb_txn_begin(b->env, NULL, MDB_RDONLY, &b->snapshot) == 0;
}

bool raw_lmdb_get(struct raw_lmdb *b, struct slice key, struct slice *value)
{
    MDB_val k = raw_lmdb_val_of(key), v;
    if (mdb_get(b->snapshot, b->dbi, &k, &v) != 0)
        return false;
    *value = slice_make(v.mv_data, v.mv_size);
    return true;
}
