/* local_state.c - the node's own rows in its store: their keys and values. */
#include "engine/node/core/local_state.h"

#include <xxhash.h>

#include "engine/node/core/owned_keys.h"

enum {
    ROW_PARTITION = 'p',  /* | id, BE: a replica */
    ROW_ERASE = 'e',      /* | lower bound: a range still to be erased; value: upper bound */
    ROW_GENERATION = 'g', /* u32 generation, u64 length of the support that the node gives, in ns */
    ROW_LEFT = 'c',       /* a replica of the catalog was moved away: this node founds no catalog */
    ROW_CLOSED = 'd',     /* u64: closed_as_of */
    ROW_LOCAL_LSN = 'l',  /* u64: own records before it are in the rows */
    ROW_NO_STATE = 1,     /* flags of a replica */
    ROW_COUNTING = 2,
    ROW_BUCKETS = 4,
    ROW_FROZEN = 8,
    ROW_INDEXED = 16, /* the tallies of local indexes are at the end */
    ROW_STREAMS = 32, /* behind them are those of streams */
};

static struct slice local_state_key(struct node_env *env, uint8_t kind, struct slice rest)
{
    buffer_clear(&env->scratch);
    buffer_append_be32(&env->scratch, NODE_TABLE_ID);
    buffer_append_u8(&env->scratch, kind);
    buffer_append_slice(&env->scratch, rest);
    return buffer_slice(&env->scratch);
}

struct slice local_state_partition_key(struct node_env *env, uint32_t id)
{
    uint8_t rest[sizeof id];
    be32_put(rest, id);
    return local_state_key(env, ROW_PARTITION, slice_make(rest, sizeof rest));
}

static void tally_walk(struct codec *c, struct tally *t)
{
    codec_i64(c, &t->count, INT64_MIN, INT64_MAX);
    codec_i64(c, &t->bytes, INT64_MIN, INT64_MAX);
}

static bool rows_are_indexed(const struct partition_row *row)
{
    int64_t any = 0;
    for (uint32_t i = 0; i < LOCAL_INDEXES_MAX; i++)
        any |= row->rows[i].count | row->rows[i].bytes;
    return any != 0;
}

static bool rows_have_streams(const struct partition_row *row)
{
    return (row->stream.count | row->stream.bytes) != 0 || row->trimmed.stream != 0;
}

/* Value: XXH3 of what follows | the row | partition_info. */
static void partition_row_walk(struct codec *c, struct partition_row *row)
{
    codec_u64(c, &row->since_lsn);
    codec_u64(c, &row->base.index);
    codec_u64(c, &row->base.term);
    codec_u64(c, &row->term);
    codec_u64(c, &row->vote);
    tally_walk(c, &row->items);
    uint8_t flags =
        (uint8_t)((row->base.no_state ? ROW_NO_STATE : 0) | (row->counting ? ROW_COUNTING : 0) |
                  (row->has_buckets ? ROW_BUCKETS : 0) | (row->frozen.index != 0 ? ROW_FROZEN : 0) |
                  (rows_are_indexed(row) ? ROW_INDEXED : 0) |
                  (rows_have_streams(row) ? ROW_STREAMS : 0));
    codec_u8(c, &flags);
    row->base.no_state = flags & ROW_NO_STATE;
    row->counting = flags & ROW_COUNTING;
    row->has_buckets = flags & ROW_BUCKETS;
    codec_sized(c, &row->members, UINT32_MAX);
    codec_count(c, &row->splits.count, 0, SPLITS_KEPT);
    for (uint32_t i = 0; i < row->splits.count; i++) {
        codec_u64(c, &row->splits.at[i].index);
        codec_u64(c, &row->splits.at[i].term);
    }
    if (row->counting)
        codec_sized(c, &row->counted_to, UINT32_MAX);
    if (flags & ROW_FROZEN) {
        codec_u64(c, &row->frozen.index);
        codec_u64(c, &row->frozen.term);
    }
    if (row->has_buckets)
        balances_walk(c, row->buckets);
    for (uint32_t i = 0; i < LOCAL_INDEXES_MAX && flags & ROW_INDEXED; i++)
        tally_walk(c, &row->rows[i]);
    if (flags & ROW_STREAMS) {
        tally_walk(c, &row->stream);
        stream_position_walk(c, &row->trimmed);
    }
}

void local_state_store_partition(struct node_env *env, struct partition *p)
{
    struct buffer bytes = {0}, members = {0};
    struct partition_row row = {.since_lsn = p->since_lsn,
                                .base.index = raft_applied(p->raft),
                                .base.no_state = p->no_state,
                                .term = raft_term(p->raft),
                                .vote = raft_vote(p->raft),
                                .items = p->items,
                                .stream = p->stream.rows,
                                .trimmed = p->stream.trimmed,
                                .counting = p->count.on,
                                .counted_to = buffer_slice(&p->count.to),
                                .splits = *partition_splits(p),
                                .frozen = p->frozen,
                                .has_buckets = env->started};
    memcpy(row.rows, p->rows, sizeof row.rows);
    row.base.term = raft_term_at(p->raft, row.base.index);
    row.base.members = *raft_members_applied(p->raft);
    if (p->installing != NULL)
        row.base = *p->installing;
    if (row.has_buckets)
        partition_balances(p, env->now, row.buckets);
    raft_members_encode(&members, &row.base.members);
    row.members = buffer_slice(&members);
    buffer_append_u64(&bytes, 0);
    partition_row_walk(&(struct codec){.out = &bytes}, &row);
    buffer_append_slice(&bytes, buffer_slice(&p->bytes));
    uint64_t checksum = XXH3_64bits(bytes.data + 8, bytes.size - 8);
    memcpy(bytes.data, &checksum, sizeof checksum);
    store_put(env->store, local_state_partition_key(env, p->info.id), buffer_slice(&bytes));
    p->stored = true;
    buffer_deinit(&members);
    buffer_deinit(&bytes);
}

enum status partition_row_decode(struct slice value, struct partition_row *out)
{
    struct reader r = {value, false};
    uint64_t checksum = reader_u64(&r);
    if (r.failed || XXH3_64bits(r.left.data, r.left.size) != checksum)
        return STATUS_CORRUPT;
    *out = (struct partition_row){0};
    partition_row_walk(&(struct codec){.in = &r}, out);
    struct reader members = {out->members, false};
    if (r.failed || raft_members_decode(&members, &out->base.members) != STATUS_OK)
        return STATUS_CORRUPT;
    out->info = r.left;
    return STATUS_OK;
}

void partition_take_row(struct partition *p, const struct partition_row *row)
{
    p->items = row->items;
    memcpy(p->rows, row->rows, sizeof p->rows);
    p->stream.rows = row->stream;
    p->stream.trimmed = row->trimmed;
    p->count.on = row->counting;
    buffer_set(&p->count.to, row->counted_to);
    partition_set_splits(p, &row->splits);
    p->frozen = row->frozen;
}

void local_state_store_generation(struct node_env *env, const struct identity *identity)
{
    uint8_t row[12];
    put_u64(put_u32(row, identity->generation), (uint64_t)identity->support_kept.ns);
    store_put(env->store, local_state_key(env, ROW_GENERATION, slice_make(NULL, 0)),
              slice_make(row, sizeof row));
}

void local_state_store_left_catalog(struct node_env *env, struct identity *identity)
{
    identity->left_catalog = true;
    store_put(env->store, local_state_key(env, ROW_LEFT, slice_make(NULL, 0)), slice_of(""));
}

void local_state_store_closed(struct node_env *env, const struct identity *identity)
{
    struct slice key = local_state_key(env, ROW_CLOSED, slice_make(NULL, 0));
    store_put(env->store, key, slice_make(&identity->closed_as_of, sizeof identity->closed_as_of));
}

void local_state_store_local_lsn(struct node_env *env, uint64_t lsn)
{
    struct slice key = local_state_key(env, ROW_LOCAL_LSN, slice_make(NULL, 0));
    store_put(env->store, key, slice_make(&lsn, sizeof lsn));
}

void local_state_erase(struct node_env *env, struct slice lo, struct slice hi, struct slice indexes)
{
    const struct key_ranges ranges = key_ranges_of(lo, hi, indexes, &env->lent);
    for (uint32_t i = 0; i < ranges.count; i++) {
        const struct key_range *r = &ranges.at[i];
        store_put(env->store, local_state_key(env, ROW_ERASE, r->lo),
                  r->hi.size > 0 ? r->hi : slice_of(""));
        store_erase(env->store, r->lo, r->hi);
    }
}

bool local_state_is_erasing(struct node_env *env, struct slice lo, struct slice hi,
                            struct slice indexes)
{
    const struct key_ranges ranges = key_ranges_of(lo, hi, indexes, &env->lent);
    bool erasing = false;
    for (uint32_t i = 0; i < ranges.count; i++)
        erasing |= store_erase_overlaps(env->store, ranges.at[i].lo, ranges.at[i].hi);
    return erasing;
}

void local_state_erased(struct node_env *env, struct slice lo)
{
    store_put(env->store, local_state_key(env, ROW_ERASE, lo), slice_make(NULL, 0));
}

void local_state_remove_partition(struct node_env *env, uint32_t id)
{
    store_put(env->store, local_state_partition_key(env, id), slice_make(NULL, 0));
}

/* ---- at the start ---- */

enum status local_state_each(struct node_env *env, struct slice lo, struct slice hi, void *context,
                             enum status (*row)(void *context, struct slice key,
                                                struct slice value))
{
    struct store_cursor c;
    struct slice key, value;
    store_seek(env->store, lo, hi, false, &c);
    enum status status;
    while ((status = store_next(&c, &key, &value)) == STATUS_OK) {
        status = row(context, key, value);
        if (status != STATUS_OK)
            return status;
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status load_generation(struct identity *identity, struct slice value)
{
    struct reader r = {value, false};
    identity->generation = reader_u32(&r);
    identity->support_kept.ns = (int64_t)reader_u64(&r);
    bool valid =
        !r.failed && r.left.size == 0 && identity->generation != 0 && identity->support_kept.ns > 0;
    return valid ? STATUS_OK : STATUS_CORRUPT;
}

static enum status load_number(struct slice value, uint64_t *out)
{
    if (value.size != sizeof *out)
        return STATUS_CORRUPT;
    memcpy(out, value.data, value.size);
    return STATUS_OK;
}

static enum status local_state_load_partition(const struct local_state_loader *loader,
                                              struct slice value)
{
    struct partition_row row;
    struct partition_info info;
    if (partition_row_decode(value, &row) != STATUS_OK)
        return STATUS_CORRUPT;
    if (partition_info_decode(row.info, &info) != STATUS_OK ||
        partition_member_on(&info, loader->env->id) == 0)
        return STATUS_CORRUPT;
    loader->partition(loader->context, &row, &info);
    return STATUS_OK;
}

static enum status load_row(void *context, struct slice key, struct slice value)
{
    const struct local_state_loader *loader = context;
    if (key.size < 5)
        return STATUS_CORRUPT;
    switch (key.data[4]) {
    case ROW_PARTITION:
        return local_state_load_partition(loader, value);
    case ROW_ERASE:
        if (key.size == 5)
            return STATUS_CORRUPT;
        store_erase(loader->env->store, slice_make(key.data + 5, key.size - 5), value);
        return STATUS_OK;
    case ROW_GENERATION:
        return load_generation(loader->identity, value);
    case ROW_LEFT:
        loader->identity->left_catalog = true;
        return STATUS_OK;
    case ROW_CLOSED:
        return load_number(value, &loader->identity->closed_as_of);
    case ROW_LOCAL_LSN:
        return load_number(value, loader->local_lsn);
    default:
        return STATUS_CORRUPT;
    }
}

enum status local_state_load(const struct local_state_loader *loader)
{
    uint32_t lo = NODE_TABLE_ID;
    return local_state_each(loader->env, slice_make(&lo, sizeof lo), slice_make(NULL, 0),
                            (void *)(uintptr_t)loader, load_row);
}
