/* dynamo.h - what simulated clients say in DynamoDB's words, and what they make of the answers.
 *
 * Tables have the partition key `k` and the sort key `s`; the number an item holds is `v`. A key is
 * a number: its collection's number begins the partition key, its own number stands in the sort
 * key, behind "key-" and the dots that fill it up. The answers are our own: they are searched, not
 * parsed. */
#ifndef WEIR_SIM_DYNAMO_H
#define WEIR_SIM_DYNAMO_H

#include "base/buffer.h"

/* What keys look like. */
struct dynamo_keys {
    uint32_t collection;   /* keys in an item collection */
    uint32_t long_percent; /* of collections and of sort keys: up to what a key may be */
    uint64_t seed;
};

/* A table and its keys: borrows both. */
struct dynamo_table {
    const char *name;
    const struct dynamo_keys *keys;
};

struct dynamo_spec {
    uint32_t units; /* of each kind; 0: on demand */
    bool whole_collections;
};

struct dynamo_write {
    uint32_t key;
    uint64_t value; /* 0: delete */
    size_t pad;     /* bytes of filler */
};

struct dynamo_query {
    uint32_t collection;
    uint32_t limit; /* 0: none */
    bool consistent;
    bool backward;
};

enum {
    DYNAMO_KEY_TEXT_MAX = 2048 + 1
};

/* The number of the collection a key is in. */
static inline uint32_t dynamo_collection(const struct dynamo_keys *k, uint32_t key)
{
    return key / k->collection;
}

/* The attributes of a key, as the table stores them. Returns their sizes; `out` has room. */
size_t dynamo_partition_text(const struct dynamo_keys *k, uint32_t key,
                             char out[DYNAMO_KEY_TEXT_MAX]);
size_t dynamo_sort_text(const struct dynamo_keys *k, uint32_t key, char out[DYNAMO_KEY_TEXT_MAX]);

/* The bodies of requests, appended. */
void dynamo_create_table(struct buffer *out, const char *name, const struct dynamo_spec *spec);
void dynamo_update_table(struct buffer *out, const char *name, uint32_t units);
void dynamo_tag_table(struct buffer *out, const char *name, uint32_t value);
void dynamo_table(struct buffer *out, const char *name); /* DescribeTable, DeleteTable */
void dynamo_get(struct buffer *out, const struct dynamo_table *t, uint32_t key, bool consistent);
void dynamo_write(struct buffer *out, const struct dynamo_table *t, const struct dynamo_write *w,
                  bool wants_old);
void dynamo_batch_get(struct buffer *out, const struct dynamo_table *t, const uint32_t *keys,
                      uint32_t count, bool consistent);
void dynamo_batch_write(struct buffer *out, const struct dynamo_table *t,
                        const struct dynamo_write *all, uint32_t count);
void dynamo_scan(struct buffer *out, const struct dynamo_table *t, bool consistent);
void dynamo_query(struct buffer *out, const struct dynamo_table *t, const struct dynamo_query *q);

/* The number in the first item; 0: there is none. */
uint64_t dynamo_value(struct slice body);
/* The next item or key in the answer; `rest` begins as the body. */
bool dynamo_next(struct slice *rest, uint32_t *key, uint64_t *value);
/* What came before the keys or items that were not dealt with, and those. */
void dynamo_split(struct slice body, struct slice *done, struct slice *left);
bool dynamo_says(struct slice body, const char *text);

#endif
