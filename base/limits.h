/* limits.h - bounds that are fixed at compile time, and units of sizes.
 *
 * Source: the DynamoDB developer guide ("Quotas") where a service limit exists.
 * Not here: settings (base/config.h, base/settings/). */
#pragma once

#include <stdint.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

enum {
    ITEM_SIZE_MAX = 409600,        /* bytes, names included */
    PARTITION_KEY_SIZE_MAX = 2048, /* bytes */
    SORT_KEY_SIZE_MAX = 1024,      /* bytes */
    NESTING_MAX = 31,              /* lists and maps around a value */
    PAGE_SIZE_MAX = 1048576,       /* bytes of items a Query or Scan page may read */
    BATCH_GET_MAX = 100,           /* keys */
    BATCH_WRITE_MAX = 25,          /* puts and deletes */
    TABLE_NAME_SIZE_MIN = 3,
    TABLE_NAME_SIZE_MAX = 255,
    ATTRIBUTE_NAME_SIZE_MAX = 65535,
    KEY_NAME_SIZE_MAX = 255,
    EXPRESSION_SIZE_MAX = 4096,
    /* An item's storage key: escaping at most doubles a key; 12 bytes of table and hash, 2 of
     * terminator each. */
    ITEM_KEY_SIZE_MAX = 12 + 2 * PARTITION_KEY_SIZE_MAX + 2 + 2 * SORT_KEY_SIZE_MAX + 2,
    /* The key of an index row: an item's key, and both keys of the index, of several attributes. A
     * partition key of several attributes is escaped twice. */
    STORAGE_KEY_SIZE_MAX = ITEM_KEY_SIZE_MAX + 4 * PARTITION_KEY_SIZE_MAX + 2 * SORT_KEY_SIZE_MAX +
                           (2 + 2 * 4) * 2 + 2,
    LOCAL_INDEXES_MAX = 5,    /* of a table */
    GLOBAL_INDEXES_MAX = 20,  /* of a table */
    INDEX_KEYS_MAX = 4,       /* attributes of each of an index's two keys */
    PROJECTED_NAMES_MAX = 20, /* attributes that an index names in its projection */
    PROJECTED_ALL_MAX = 100,  /* of all indexes of a table together */
    INDEX_NAME_SIZE_MIN = 3,
    INDEX_NAME_SIZE_MAX = 255,
    /* An encoded item is no longer than its header, its DynamoDB size, and this many bytes for each
     * attribute, element and container. */
    ITEM_VALUE_OVERHEAD_MAX = 7,
    NODES_LIMIT = 64,                  /* nodes of a cluster; GAC servers, too */
    FRAME_SIZE_MAX = 24 * 1024 * 1024, /* bytes of one message between processes */
};
