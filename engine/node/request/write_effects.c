/* write_effects.c - what the change of an item implies: for its collection, for local and global
 * indexes, for the stream. A feature that follows changes of items is a row of WRITE_EFFECTS. */
#include "engine/node/core/collection.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/stream_rows.h"
#include "engine/node/request/item_writes.h"

/* A write, and what it was computed from. */
struct effect {
    struct requests *requests;
    const struct partition *p;
    const struct request *q;
    struct slice old; /* the item before; empty: none */
    struct steps steps;
};

/* ---- item collections ---- */

/* The size of the write's item collection, after all writes proposed so far. */
static enum status write_current_collection(struct requests *requests, const struct operation *o,
                                            struct slice key, uint64_t hash, int64_t *bytes)
{
    const struct uncommitted_version *uncommitted =
        proposals_find_uncommitted(requests->proposals, key, hash);
    struct slice row = uncommitted != NULL ? uncommitted->value : slice_make(NULL, 0);
    enum status status = row.data != NULL ? STATUS_OK : STATUS_NOT_FOUND;
    if (uncommitted == NULL)
        status = store_get(requests->env->store, key, (o->touched & TOUCHED_COLLECTION) != 0, &row);
    *bytes = 0;
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    return status == STATUS_OK ? collection_decode(key, row, bytes) : status;
}

enum status write_change_collection(struct requests *requests, const struct partition *p,
                                    const struct operation *o, struct write *w)
{
    w->collection_bytes = COLLECTION_NOT_COUNTED;
    if (!p->info.whole_collections)
        return STATUS_OK;
    struct slice key = collection_key(o->request.write.key);
    w->collection_hash = store_hash(requests->env->store, key);
    enum status status =
        write_current_collection(requests, o, key, w->collection_hash, &w->collection_bytes);
    if (status != STATUS_OK)
        return status;
    const bool complete = w->collection_bytes >= w->old_size;
    w->collection_bytes += write_grows_by(w);
    return complete && w->collection_bytes >= 0 ? STATUS_OK : STATUS_CORRUPT;
}

/* The collection's row goes before the item: the item must be the last bytes of the entry. */
static void append_collection(const struct effect *e, const struct write *w, struct buffer *out)
{
    uint8_t row[COLLECTION_ROW_SIZE];
    struct change c = {
        .space = SPACE_COLLECTIONS, .key = collection_key(e->q->write.key), .old_size = -1};
    if (!e->p->info.whole_collections)
        return;
    if (w->collection_bytes > 0) {
        collection_encode(c.key, w->collection_bytes, row);
        c.value = slice_make(row, sizeof row);
    }
    change_set_append(out, &c);
}

/* ---- local indexes ---- */

static void plan_local_rows(struct effect *e, struct write *w)
{
    local_rows_plan(e->p, e->q->write.key, e->old, w->item, &e->requests->row_keys, &e->steps,
                    &w->local);
}

static void append_local_rows(UNUSED const struct effect *e, const struct write *w,
                              struct buffer *out)
{
    for (uint32_t i = 0; i < w->local.count; i++)
        change_set_append(out, &w->local.changes[i]);
}

/* ---- global indexes and streams ---- */

/* A row that is stored under the item's key in another key space; nothing if it is empty. */
static void append_row(const struct effect *e, enum key_space space, uint8_t keys,
                       struct slice value, struct buffer *out)
{
    if (value.size == 0)
        return;
    change_set_append(
        out, &(struct change){.space = space,
                              .key = key_in_space(e->q->write.key, keys, &e->requests->env->lent),
                              .value = value,
                              .old_size = -1});
}

static void plan_index_feed(struct effect *e, struct write *w)
{
    struct requests *requests = e->requests;
    const bool leaves = request_moves(e->q) && e->q->op == REQUEST_DELETE;
    if (index_set_global(e->p->indexes) == 0 || leaves) /* its new place tells indexes */
        return;
    buffer_clear(&requests->index_feed_value);
    index_feed_change_append(&requests->index_feed_value, e->p->indexes, e->q->write.key, e->old,
                             w->item, env_stamp_ms(requests->env), &e->steps);
    w->feed = buffer_slice(&requests->index_feed_value);
}

static void append_index_feed(const struct effect *e, const struct write *w, struct buffer *out)
{
    append_row(e, SPACE_INDEX_FEED, SPACE_INDEX_FEED_KEYS, w->feed, out);
}

static void plan_stream(struct effect *e, struct write *w)
{
    struct requests *requests = e->requests;
    if (!stream_rows_on(e->p) || request_moves(e->q))
        return;
    buffer_clear(&requests->stream_value);
    stream_rows_plan(e->p, e->old, w->item,
                     e->q->op == REQUEST_DELETE && e->q->write.origin == WRITE_BY_EXPIRY,
                     env_stamp_ms(requests->env), &e->steps, &requests->stream_value);
    w->stream = buffer_slice(&requests->stream_value);
}

static void append_stream(const struct effect *e, const struct write *w, struct buffer *out)
{
    append_row(e, SPACE_STREAM, SPACE_STREAM_KEYS, w->stream, out);
}

/* ---- the table ---- */

static const struct write_effect {
    const char *name;
    /* Sets what the write implies; NULL: write_change_collection does, which may wait for pages. */
    void (*plan)(struct effect *e, struct write *w);
    /* Appends it to the entry, if there is any. */
    void (*append)(const struct effect *e, const struct write *w, struct buffer *out);
} WRITE_EFFECTS[] = {
    {"the size of its collection", NULL, append_collection},
    {"rows of local indexes", plan_local_rows, append_local_rows},
    {"changes for global indexes", plan_index_feed, append_index_feed},
    {"a record of the stream", plan_stream, append_stream},
};

void write_effects_plan(struct requests *requests, const struct partition *p,
                        const struct request *q, struct slice old, struct write *w)
{
    struct effect e = {.requests = requests,
                       .p = p,
                       .q = q,
                       .old = old,
                       .steps = steps_begin(store_hash_seed(requests->env->store))};
    for (size_t i = 0; i < COUNT_OF(WRITE_EFFECTS); i++) {
        if (WRITE_EFFECTS[i].plan != NULL)
            WRITE_EFFECTS[i].plan(&e, w);
    }
}

void write_effects_append(struct requests *requests, const struct partition *p,
                          const struct request *q, const struct write *w, struct buffer *out)
{
    const struct effect e = {.requests = requests, .p = p, .q = q};
    for (size_t i = 0; i < COUNT_OF(WRITE_EFFECTS); i++)
        WRITE_EFFECTS[i].append(&e, w, out);
}
