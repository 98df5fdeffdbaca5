/* dynamo.h - what simulated clients say in DynamoDB's words, and what they make of the answers.
 *
 * Tables have the partition key `k`, most also the sort key `s`; the number an item holds is `v`.
 * A key is a number. The partition key begins with the number of the key's collection, the sort key
 * holds the key's own number. Without a sort key each key is a collection. The answers are our own:
 * they are searched, not parsed. */
#ifndef WEIR_SIM_DYNAMO_H
#define WEIR_SIM_DYNAMO_H

#include "engine/item/item.h"

/* What keys look like. */
struct dynamo_keys {
    enum attr_type partition; /* S, N or B */
    enum attr_type sort;      /* the same; 0: the table has no sort key */
    uint32_t collection;      /* keys in an item collection: 1 without a sort key */
    uint32_t long_percent;    /* of collections and of sort keys: up to what a key may be */
    uint64_t seed;
};

/* What items hold besides key and number. Their writer's number decides it: a reader can tell
 * whether an item is whole. */
struct dynamo_filler {
    uint32_t most; /* bytes; 0: no such filler */
    uint32_t big_percent;
    uint64_t seed;
};

/* Borrows all. */
struct dynamo_table {
    const char *name;
    const struct dynamo_keys *keys;
    const struct dynamo_filler *filler;
};

struct dynamo_spec {
    const struct dynamo_keys *keys; /* borrows */
    uint32_t units;                 /* of each kind; 0: on demand */
    bool whole_collections;
};

struct dynamo_write {
    uint32_t key;
    uint64_t value; /* 0: delete */
    size_t pad;     /* bytes, where the table has no filler */
};

enum dynamo_range {
    DYNAMO_ALL,
    DYNAMO_BETWEEN,
    DYNAMO_AT_LEAST, /* `low` */
    DYNAMO_BELOW,    /* `high` */
};

struct dynamo_query {
    uint32_t collection;
    enum dynamo_range range; /* of sort keys */
    uint32_t low;            /* keys */
    uint32_t high;
    uint32_t limit; /* 0: none */
    bool consistent;
    bool backward;
    bool goes_on; /* behind this key: */
    uint32_t after;
};

/* The number of the collection a key is in. */
static inline uint32_t dynamo_collection(const struct dynamo_keys *k, uint32_t key)
{
    return key / k->collection;
}

/* Where the table keeps it. */
void dynamo_storage_key(struct buffer *out, uint32_t table_id, const struct dynamo_keys *k,
                        uint32_t key);
/* The order of two keys of a collection: negative, 0 or positive. */
int dynamo_order(const struct dynamo_keys *k, uint32_t a, uint32_t b);
/* Whether the answers to the query may name the key. */
bool dynamo_asks_for(const struct dynamo_query *q, const struct dynamo_keys *k, uint32_t key);

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
/* Whether the item, or the answer with one item, has what the writer of its value wrote. */
bool dynamo_is_whole(const struct dynamo_table *t, struct slice item, uint64_t value);
/* An item or a key of an answer. */
struct dynamo_found {
    struct slice item; /* borrows */
    uint32_t key;
    uint64_t value;
};
/* The next one in the answer; `rest` begins as the body. */
bool dynamo_next(const struct dynamo_table *t, struct slice *rest, struct dynamo_found *out);
/* What came before the keys or items that were not dealt with, and those. */
void dynamo_split(struct slice body, struct slice *done, struct slice *left);
bool dynamo_says(struct slice body, const char *text);

#endif
