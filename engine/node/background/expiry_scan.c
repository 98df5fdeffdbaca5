/* expiry_scan.c - finds items whose time is over. */
#include "engine/node/background/expiry_scan.h"

#include "engine/item/item_time.h"
#include "engine/node/core/owned_keys.h"

enum {
    FOUND_BYTES_MAX = 64 * 1024,
    SLICE_ITEMS = 64 /* fewer than SCAN_ITEMS: each item is checked whole, and requests wait */
};

bool expiry_scan_is_needed(const struct partition *p)
{
    const struct expiry_round *r = p->expiry;
    return r != NULL && r->scanning && r->may_read > 0 && r->found.size < FOUND_BYTES_MAX &&
           !p->no_state && p->led == r->term && p->info.epoch == r->epoch;
}

struct slice expiry_scan_from(const struct partition *p)
{
    return buffer_slice(&p->expiry->at);
}

void expiry_scan_slice(struct node_env *env, struct partition *p)
{
    struct expiry_round *r = p->expiry;
    struct items_cursor c;
    struct item_times times;
    struct slice key, item;
    enum status status;
    must(r->on && r->scanning && p->led == r->term && p->info.epoch == r->epoch);
    item_times_at(env_agreed_ms(env), &times);
    items_seek(p, env->store, buffer_slice(&r->at), p->info.hi, false, &c);
    for (int i = 0; (status = items_next(&c, &key, &item)) == STATUS_OK; i++) {
        if (i == SLICE_ITEMS || r->may_read <= 0)
            break;
        r->may_read -= item.size > EXPIRY_ITEM_BYTES ? (int64_t)item.size : EXPIRY_ITEM_BYTES;
        /* A damaged item stays: a reader of it gets an error. */
        if (item_check(item) == STATUS_OK && item_time_is_over(&times, item, p->info.ttl))
            buffer_append_sized(&r->found, key);
    }
    r->scanning = status == STATUS_OK;
    r->failed = status != STATUS_OK && status != STATUS_NOT_FOUND;
    if (r->scanning)
        buffer_set(&r->at, key);
}
