/* dynamo.h - what simulated clients say in DynamoDB's words, and what they make of the answers.
 *
 * One table, `sim`, with the partition key `k` and the sort key `s`; the number an item holds is
 * `v`. The answers are our own: they are searched, not parsed. */
#ifndef WEIR_SIM_DYNAMO_H
#define WEIR_SIM_DYNAMO_H

#include "base/buffer.h"

struct dynamo_write {
    uint32_t key;
    uint64_t value; /* 0: delete */
    size_t pad;     /* bytes of filler */
};

/* The bodies of requests, appended. */
/* The number of the collection a key is in. */
static inline uint32_t dynamo_collection(uint32_t key)
{
    return key / 3;
}

/* Keys are sort keys, a few to an item collection. */
void dynamo_create_table(struct buffer *out, const char *name, uint32_t units,
                         bool whole_collections);
void dynamo_table(struct buffer *out, const char *name); /* DescribeTable, DeleteTable */
void dynamo_get(struct buffer *out, uint32_t key, bool consistent);
void dynamo_write(struct buffer *out, const struct dynamo_write *w, bool wants_old);
void dynamo_batch_get(struct buffer *out, const uint32_t *keys, uint32_t count, bool consistent);
void dynamo_batch_write(struct buffer *out, const struct dynamo_write *all, uint32_t count);
void dynamo_scan(struct buffer *out, bool consistent);

/* The number in the first item; 0: there is none. */
uint64_t dynamo_value(struct slice body);
/* The next item or key in the answer; `rest` begins as the body. */
bool dynamo_next(struct slice *rest, uint32_t *key, uint64_t *value);
/* What came before the keys or items that were not dealt with, and those. */
void dynamo_split(struct slice body, struct slice *done, struct slice *left);
bool dynamo_says(struct slice body, const char *text);

#endif
