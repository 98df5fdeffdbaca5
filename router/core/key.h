/* key.h - takes keys out of requests, with the service's errors. */
#pragma once

#include "engine/catalog/table_key.h"
#include "router/json/api_error.h"

/* Takes the key out of a whole item, as in PutItem. */
bool key_of_item(const struct table *t, struct slice item, struct key *out, struct fault *fault);

/* Whether the item has the key attributes with their types. The fault does not name them. */
bool key_is_in_item(const struct table *t, struct slice item, struct fault *fault);

/* Whether no key attribute of the table or of an index, as far as it is there with its type, is
 * empty. */
bool key_attrs_are_filled(const struct table *t, struct slice item, struct fault *fault);

/* Whether the values of index keys in a whole item can be keys. An absent one can. */
bool key_indexes_fit(const struct table *t, struct slice item, struct fault *fault);
/* Always false. */
bool index_key_mismatch(const struct index *x, const struct key_attr *k, enum attr_type actual,
                        struct fault *fault);

/* Takes a key alone, encoded as an item. It must have exactly the attributes of the schema. */
bool key_of_key(const struct table *t, struct slice key_item, struct key *out, struct fault *fault);
/* The same for a row of the index. `x` NULL: for an item. */
bool key_of_row_key(const struct table *t, const struct index *x, struct slice key_item,
                    struct key *out, struct fault *fault);

/* Appends {"id":{"S":...}}. `x` NULL: of an item. */
void key_write(struct buffer *out, const struct table *t, const struct index *x,
               const struct key *key);

/* Appends the key as an item, which key_of_row_key takes. */
void key_append_row_item(struct buffer *out, const struct table *t, const struct index *x,
                         const struct key *key);

/* The bytes of all attributes of a partition key, and of a sort key, are limited. */
bool key_sizes_fit(size_t partition, size_t sort, struct fault *fault);

/* Checks the size of one key attribute: not empty, not too large. */
bool key_attr_fits(const struct key_attr *schema, bool partition, const struct attr *value,
                   struct fault *fault);
