/* counting.c - counts a partition's items and bytes again, a slice at a time. */
#include "engine/node/counting.h"

#include "engine/node/owned_keys.h"
#include "engine/node/waiters.h"

bool counting_wants(const struct partition *p)
{
    return p->counting && !p->no_state;
}

struct slice counting_from(const struct partition *p)
{
    return p->counted_to.size > 0 ? buffer_slice(&p->counted_to) : p->info.lo;
}

void counting_slice(struct node_env *env, struct partition *p)
{
    struct items_cursor c;
    struct slice key, item;
    enum status status = STATUS_NOT_FOUND;
    size_t bytes = 0;
    items_seek(p, env->store, buffer_slice(&p->counted_to), p->info.hi, false, &c);
    for (int i = 0;; i++) {
        status = items_next(&c, &key, &item);
        if (status != STATUS_OK || i == SCAN_ITEMS || bytes >= SCAN_BYTES)
            break;
        bytes += item.size;
        if (!item_checksum_holds(item))
            continue; /* a damaged item does not count; a reader of it gets an error */
        partition_count_item(p, item);
    }
    p->stored = false;
    p->counting = status != STATUS_NOT_FOUND;
    if (status == STATUS_OK)
        buffer_set(&p->counted_to, key);
    else if (status == STATUS_NOT_FOUND)
        buffer_deinit(&p->counted_to);
    else
        partition_count_anew(p); /* the store cannot be read: the count may lack items */
}
