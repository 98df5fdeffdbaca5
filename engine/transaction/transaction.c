/* transaction.c - what is logged and stored of transactions that span partitions. */
#include "engine/transaction/transaction.h"

#include "base/big_endian.h"
#include "engine/item/storage_key.h"

/* ---- values ---- */

static void transaction_id_walk(struct codec *c, struct transaction_id *id)
{
    codec_u64(c, &id->high);
    codec_u64(c, &id->low);
}

/* Whether the bytes are a list of keys of items. */
static bool transaction_keys_are_valid(struct slice keys)
{
    struct reader r = {keys, false};
    uint32_t count = 0;
    while (!r.failed && r.left.size > 0) {
        if (!storage_key_is_complete(reader_sized(&r)) || ++count >= TRANSACTION_ITEMS_MAX)
            return false;
    }
    return !r.failed;
}

/* An item's storage key. */
static void key_walk(struct codec *c, struct slice *key)
{
    codec_sized(c, key, STORAGE_KEY_SIZE_MAX);
    codec_check(c, storage_key_is_complete(*key));
}

static void token_walk(struct codec *c, struct slice *token)
{
    codec_sized(c, token, TRANSACTION_TOKEN_SIZE);
    codec_check(c, token->size == 0 || token->size == TRANSACTION_TOKEN_SIZE);
}

static void keys_walk(struct codec *c, struct slice *keys)
{
    codec_sized(c, keys, UINT32_MAX);
    codec_check(c, transaction_keys_are_valid(*keys));
}

void transaction_part_walk(struct codec *c, struct transaction_part *p)
{
    transaction_id_walk(c, &p->id);
    key_walk(c, &p->anchor);
    token_walk(c, &p->token);
    codec_u64(c, &p->digest);
    keys_walk(c, &p->keys);
}

void transaction_lock_walk(struct codec *c, struct transaction_lock *l)
{
    transaction_id_walk(c, &l->id);
    key_walk(c, &l->anchor);
    l->kind = (enum lock_kind)codec_choice(c, l->kind, LOCK_CHECK, LOCK_PUT);
    codec_bool(c, &l->moves);
    codec_sized(c, &l->item, UINT32_MAX);
    codec_check(c, (l->kind == LOCK_PUT) == (l->item.size > 0));
}

void transaction_record_walk(struct codec *c, struct transaction_record *r)
{
    r->state =
        (enum transaction_state)codec_choice(c, r->state, TRANSACTION_PENDING, TRANSACTION_ABORTED);
    codec_i64(c, &r->wall_ms, INT64_MIN, INT64_MAX);
    token_walk(c, &r->token);
    codec_u64(c, &r->digest);
    keys_walk(c, &r->keys);
}

void transaction_token_walk(struct codec *c, struct transaction_token *t)
{
    transaction_id_walk(c, &t->id);
    t->state = (enum transaction_state)codec_choice(c, t->state, TRANSACTION_PENDING,
                                                    TRANSACTION_COMMITTED);
    codec_u64(c, &t->digest);
    codec_i64(c, &t->wall_ms, INT64_MIN, INT64_MAX);
}

/* ---- keys ---- */

static void append_kind(struct buffer *out, enum transaction_row row)
{
    const uint8_t bytes[] = {0, 0, (uint8_t)row};
    buffer_append(out, bytes, sizeof bytes);
}

void transaction_key_append(struct buffer *out, enum transaction_row row, struct slice key,
                            const uint8_t name[TRANSACTION_TOKEN_SIZE])
{
    static const uint8_t none[TRANSACTION_TOKEN_SIZE];
    storage_key_append_in_space(out, row == ROW_TOKEN ? SPACE_TOKEN_KEYS : SPACE_LOCK_KEYS, key);
    append_kind(out, row);
    buffer_append(out, name != NULL ? name : none, TRANSACTION_TOKEN_SIZE);
}

void transaction_record_key_append(struct buffer *out, struct slice anchor,
                                   struct transaction_id id)
{
    storage_key_append_in_space(out, SPACE_LOCK_KEYS, anchor);
    append_kind(out, ROW_RECORD);
    buffer_append_be64(out, id.high);
    buffer_append_be64(out, id.low);
}

bool transaction_key_split(struct slice row_key, enum transaction_row *row, struct slice *key,
                           const uint8_t **name)
{
    if (row_key.size <= TRANSACTION_SUFFIX_SIZE)
        return false;
    const size_t size = row_key.size - TRANSACTION_SUFFIX_SIZE;
    const uint8_t kind = row_key.data[size + 2];
    if (row_key.data[size] != 0 || row_key.data[size + 1] != 0)
        return false;
    *row = (enum transaction_row)kind;
    *key = slice_make(row_key.data, size);
    *name = row_key.data + size + 3;
    return kind == ROW_TOKEN
               ? row_key.data[0] == SPACE_TOKEN_KEYS
               : (kind == ROW_LOCK || kind == ROW_RECORD) && row_key.data[0] == SPACE_LOCK_KEYS;
}

struct transaction_id transaction_id_of(const uint8_t bytes[16])
{
    return (struct transaction_id){be64_get(bytes), be64_get(bytes + 8)};
}

/* ---- rows from elsewhere ---- */

static bool lock_is_valid(struct codec *c)
{
    struct transaction_lock lock;
    transaction_lock_walk(c, &lock);
    return lock.item.size == 0 ||
           (item_check(lock.item) == STATUS_OK && item_size(lock.item) <= ITEM_SIZE_MAX);
}

bool transaction_row_is_valid(struct slice row_key, struct slice value)
{
    enum transaction_row row;
    struct slice key;
    const uint8_t *name;
    struct reader r = {value, false};
    struct codec c = {.in = &r};
    struct transaction_record record;
    struct transaction_token token;
    bool valid = transaction_key_split(row_key, &row, &key, &name) &&
                 key.size <= STORAGE_KEY_SIZE_MAX &&
                 key.size > STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    if (!valid || value.size == 0)
        return valid;
    if (row == ROW_LOCK)
        valid = lock_is_valid(&c);
    else if (row == ROW_RECORD)
        transaction_record_walk(&c, &record);
    else
        transaction_token_walk(&c, &token);
    return valid && !r.failed && r.left.size == 0;
}

bool transaction_row_is_open(struct slice row_key, struct slice value)
{
    enum transaction_row row;
    struct slice key;
    const uint8_t *name;
    struct transaction_record record;
    struct reader r = {value, false};
    if (!transaction_key_split(row_key, &row, &key, &name) || row == ROW_TOKEN)
        return false;
    if (row == ROW_LOCK)
        return true;
    transaction_record_walk(&(struct codec){.in = &r}, &record);
    return !r.failed && (record.state != TRANSACTION_ABORTED || record.keys.size > 0);
}
