/* key.h - the key of an item by a table's key schema, with the service's errors. */
#pragma once

#include "engine/catalog/table.h"
#include "engine/item/storage_key.h"
#include "router/api_error.h"

/* The key attributes of an item. sort.type is 0 if the table has no sort key. */
struct key {
    struct attr partition; /* borrows from the item */
    struct attr sort;
};

static inline bool table_has_sort_key(const struct table *t)
{
    return t->sort_key.name.size > 0;
}

/* Takes the key out of a whole item, as in PutItem. */
bool key_of_item(const struct table *t, struct slice item, struct key *out, struct fault *fault);

/* Takes a key alone, encoded as an item. It must have exactly the attributes of the schema. */
bool key_of_key(const struct table *t, struct slice key_item, struct key *out, struct fault *fault);

/* Appends the storage key. */
void key_append_storage(struct buffer *out, const struct table *t, const struct key *key);

/* The key of an item that a node has sent. A missing attribute has type 0. */
void key_find(const struct table *t, struct slice item, struct key *out);

/* Appends {"id":{"S":...}}. */
void key_write(struct buffer *out, const struct table *t, const struct key *key);

/* Checks the size of one key attribute: not empty, not too large. */
bool key_attr_fits(const struct key_attr *schema, bool partition, const struct attr *value,
                   struct fault *fault);
