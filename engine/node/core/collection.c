/* collection.c - the row with the size of an item collection: its key and its value. */
#include "engine/node/core/collection.h"

#include <xxhash.h>

#include "engine/item/storage_key.h"

struct slice collection_key(struct slice key)
{
    return slice_make(key.data, storage_key_collection_size(key));
}

bool collection_is_row(struct slice key)
{
    return storage_key_collection_size(key) == key.size;
}

void collection_encode(struct slice row_key, int64_t bytes, uint8_t out[COLLECTION_ROW_SIZE])
{
    must(bytes > 0);
    uint64_t checksum = XXH3_64bits_withSeed(row_key.data, row_key.size, (uint64_t)bytes);
    memcpy(out, &checksum, sizeof checksum);
    memcpy(out + sizeof checksum, &bytes, sizeof bytes);
}

enum status collection_decode(struct slice row_key, struct slice value, int64_t *bytes)
{
    uint8_t row[COLLECTION_ROW_SIZE];
    if (value.size != sizeof row)
        return STATUS_CORRUPT;
    memcpy(bytes, value.data + sizeof(uint64_t), sizeof *bytes);
    if (*bytes <= 0)
        return STATUS_CORRUPT;
    collection_encode(row_key, *bytes, row);
    return memcmp(row, value.data, sizeof row) == 0 ? STATUS_OK : STATUS_CORRUPT;
}
