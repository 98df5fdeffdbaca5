/* change.c - the payload of a LOG_WRITE entry, read. */
#include "engine/node/change.h"

#include "engine/admission/admission.h"
#include "engine/item/item.h"
#include "engine/item/storage_key.h"
#include "engine/node/collection.h"

bool write_decode(struct slice payload, struct write_head *head, struct slice *key,
                  struct slice *item)
{
    if (payload.size < sizeof *head)
        return false;
    memcpy(head, payload.data, sizeof *head);
    if (head->key_size > payload.size - sizeof *head)
        return false;
    size_t item_at = sizeof *head + head->key_size;
    *key = slice_make(payload.data + sizeof *head, head->key_size);
    *item = slice_make(NULL, 0);
    if (payload.size > item_at)
        *item = slice_make(payload.data + item_at, payload.size - item_at);
    return true;
}

/* What apply_write relies on; items are checked where they are read. */
bool write_is_sound(struct slice payload)
{
    struct write_head head;
    struct slice key, item;
    if (!write_decode(payload, &head, &key, &item))
        return false;
    const int64_t collection_max = INT64_C(1) << 50;
    bool put = item.size > 0;
    return key.size > STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE &&
           key.size <= STORAGE_KEY_SIZE_MAX && head.burst <= 2 && head.old_size >= -1 &&
           head.old_size <= ITEM_SIZE_MAX && head.cost_mcu >= 0 &&
           head.cost_mcu <= write_cost_mcu(ITEM_SIZE_MAX) &&
           head.collection_bytes >= COLLECTION_NOT_COUNTED &&
           head.collection_bytes <= collection_max &&
           (!put || (item_checksum_holds(item) && item_size(item) <= ITEM_SIZE_MAX));
}
