/* counting.c - counts a partition's items and records again, a slice at a time. */
#include "engine/node/background/counting.h"

#include "engine/node/core/owned_keys.h"
#include "engine/node/core/pending_requests.h"

bool counting_is_needed(const struct partition *p)
{
    return p->count.on && !p->no_state;
}

struct slice counting_from(const struct partition *p)
{
    return p->count.to.size > 0 ? buffer_slice(&p->count.to) : p->info.lo;
}

/* Goes on after the key, or in the next key space, or ends. */
static void counting_goes_on(struct node_env *env, struct partition *p, enum status status,
                             struct slice key)
{
    must(p->count.on);
    p->stored = false;
    if (status == STATUS_OK) {
        buffer_set(&p->count.to, key);
    } else if (status != STATUS_NOT_FOUND) {
        partition_count_anew(p); /* the store cannot be read: the count may lack items */
    } else if (!partition_items_counted(p)) {
        buffer_set(&p->count.to, key_in_space(p->info.lo, SPACE_STREAM_KEYS, &env->lent));
    } else {
        p->count.on = false;
        buffer_deinit(&p->count.to);
    }
}

static void counting_items(struct node_env *env, struct partition *p)
{
    struct items_cursor c;
    struct slice key, item;
    enum status status = STATUS_NOT_FOUND;
    size_t bytes = 0;
    items_seek(p, env->store, buffer_slice(&p->count.to), p->info.hi, false, &c);
    for (int i = 0;; i++) {
        status = items_next(&c, &key, &item);
        if (status != STATUS_OK || i == SCAN_ITEMS || bytes >= SCAN_BYTES)
            break;
        bytes += item.size;
        if (!item_checksum_holds(item))
            continue; /* a damaged item does not count; a reader of it gets an error */
        partition_count_item(p, item);
    }
    counting_goes_on(env, p, status, key);
}

static void counting_records(struct node_env *env, struct partition *p)
{
    struct store_cursor c;
    struct slice key, record;
    enum status status = STATUS_NOT_FOUND;
    size_t bytes = 0;
    store_seek(env->store, buffer_slice(&p->count.to),
               key_in_space(p->info.hi, SPACE_STREAM_KEYS, &env->lent), false, &c);
    for (int i = 0;; i++) {
        status = store_next(&c, &key, &record);
        if (status != STATUS_OK || i == SCAN_ITEMS || bytes >= SCAN_BYTES)
            break;
        bytes += record.size;
        tally_add(&p->stream.rows, 1, (int64_t)(key.size + record.size));
    }
    counting_goes_on(env, p, status, key);
}

void counting_slice(struct node_env *env, struct partition *p)
{
    if (partition_items_counted(p))
        counting_records(env, p);
    else
        counting_items(env, p);
}
