/* counting.c - what partitions hold is counted anew, a slice at a time. */
#include "engine/node/counting.h"

#include "engine/item/item.h"
#include "engine/node/ranges.h"

static struct partition *counting_next(const struct counting *counting)
{
    uint32_t id = counting->last;
    for (uint32_t i = 0; i < counting->partitions->count; i++) {
        struct partition *p = partitions_after(counting->partitions, id);
        if (p->counting && !p->no_state)
            return p;
        id = p->info.id;
    }
    return NULL;
}

static void counting_slice(struct counting *counting, struct partition *p)
{
    struct items_cursor c;
    struct slice key, item;
    enum status status = STATUS_NOT_FOUND;
    size_t bytes = 0;
    items_seek(p, counting->env->store, buffer_slice(&p->counted_to), p->info.hi, false, &c);
    for (int i = 0;; i++) {
        status = items_next(&c, &key, &item);
        if (status != STATUS_OK || i == SCAN_ITEMS || bytes >= SCAN_BYTES)
            break;
        bytes += item.size;
        if (!item_checksum_holds(item))
            continue; /* of an item that is damaged, whoever reads it is told */
        p->item_count++;
        p->item_bytes += (int64_t)item_size(item);
    }
    p->stored = false;
    p->counting = status != STATUS_NOT_FOUND;
    struct buffer to = {0};
    if (status == STATUS_OK)
        buffer_append_slice(&to, key);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        partition_count_anew(p); /* what was counted behind the place is not known to be whole */
    if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
        buffer_deinit(&p->counted_to);
        p->counted_to = to;
    }
}

void counting_tick(struct counting *counting)
{
    if (instant_before(counting->env->now, counting->at))
        return;
    struct partition *p = NULL;
    if (counting->scan.state != SCAN_IDLE) /* pages of this one were asked for */
        p = partitions_find(counting->partitions, counting->last);
    if (p == NULL || !p->counting || p->no_state)
        p = counting_next(counting);
    counting->at = INSTANT_NEVER;
    if (p == NULL)
        return;
    counting->last = p->info.id;
    struct slice from = p->counted_to.size > 0 ? buffer_slice(&p->counted_to) : p->info.lo;
    if (!waiters_may_scan(counting->waiters, &counting->scan, RESUME_COUNT, p->info.id, from)) {
        counting->at = waiters_scan_again_at(counting->waiters, &counting->scan);
        return;
    }
    counting_slice(counting, p);
    counting->at = instant_add(counting->env->now, duration_ms(SCAN_MS));
}
