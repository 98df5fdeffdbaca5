/* dynamo.h - simulated clients' requests in DynamoDB's JSON, and how they read the answers.
 *
 * Tables have the partition key `k`. Most also have the sort key `s`. An item holds its number in
 * `v`. A key is a number. The partition key begins with the number of the key's collection; the
 * sort key holds the key's own number. Without a sort key each key is a collection. The answers
 * come from our own routers: they are searched, not parsed. */
#pragma once

#include "engine/item/item.h"

/* The form of a table's keys. */
struct dynamo_keys {
    enum attr_type partition; /* S, N or B */
    enum attr_type sort;      /* S, N or B; 0: the table has no sort key */
    uint32_t collection;      /* keys in an item collection; 1 without a sort key */
    uint32_t long_percent; /* of collections and of sort keys: filled, up to the limit for keys */
    uint64_t seed;
};

/* What items hold besides key and number. The item's number decides the filler, so a reader can
 * tell whether an item is whole. */
struct dynamo_filler {
    uint32_t max; /* bytes; 0: no filler */
    uint32_t big_percent;
    uint64_t seed;
};

/* Borrows all. */
struct dynamo_table {
    const char *name;
    const struct dynamo_keys *keys;
    const struct dynamo_filler *filler;
};

enum dynamo_key_sharding {
    DYNAMO_UNSHARDED, /* no tag */
    DYNAMO_SHARDED,   /* auto */
    DYNAMO_COUNTERS   /* counter */
};

struct dynamo_spec {
    const struct dynamo_keys *keys;        /* borrows */
    uint32_t units;                        /* read units, and write units; 0: on demand */
    bool indexed;                          /* two local indexes by v, if the table has a sort key */
    bool global_indexes;                   /* two global indexes: DYNAMO_GLOBALS */
    uint32_t index_units;                  /* of each; 0: as many as the table has */
    bool streams;                          /* a stream with both images */
    uint32_t weight;                       /* of the tag weir:weight; 0: no tag */
    enum dynamo_key_sharding key_sharding; /* of the tag weir:key-sharding */
};

enum dynamo_condition {
    DYNAMO_ALWAYS,     /* no condition */
    DYNAMO_IF_ABSENT,  /* attribute_not_exists(k) */
    DYNAMO_IF_PRESENT, /* attribute_exists(k) */
    DYNAMO_IF_VALUE,   /* v = expected */
    DYNAMO_IF_OTHER,   /* v <> expected */
    DYNAMO_CONDITIONS,
};

struct dynamo_write {
    uint32_t key;
    uint64_t value;      /* 0: delete */
    size_t pad;          /* bytes, if the table has no filler */
    bool updates;        /* UpdateItem, not PutItem */
    bool misfit;         /* an update that fits no item */
    bool returns_old;    /* ReturnValues ALL_OLD */
    bool returns_failed; /* the item that fails the condition */
    enum dynamo_condition condition;
    uint64_t expected;
};

/* The global indexes: by v, of all attributes; by k and v, of keys. */
enum {
    DYNAMO_GLOBALS = 2
};
extern const char *const dynamo_globals[DYNAMO_GLOBALS];

enum dynamo_index {
    DYNAMO_NO_INDEX,
    DYNAMO_BY_VALUE,         /* its rows have all of an item */
    DYNAMO_BY_VALUE_FETCHED, /* its rows have keys; the rest is asked for */
};

enum dynamo_range {
    DYNAMO_ALL,
    DYNAMO_BETWEEN,
    DYNAMO_AT_MIN, /* from `low` on */
    DYNAMO_BELOW,  /* below `high` */
};

struct dynamo_query {
    uint32_t collection;
    enum dynamo_range range; /* of sort keys */
    uint32_t low;            /* keys */
    uint32_t high;
    uint32_t limit;  /* 0: none */
    uint64_t filter; /* only items with this number or a larger one; 0: all */
    bool consistent;
    bool backward;
    enum dynamo_index index; /* then there is no range, limit or filter */
    bool goes_on;            /* starts behind `after` */
    uint32_t after;
};

/* The number of the key's collection. */
static inline uint32_t dynamo_collection(const struct dynamo_keys *k, uint32_t key)
{
    return key / k->collection;
}

/* Appends the storage key under which the table keeps the key. */
void dynamo_storage_key(struct buffer *out, uint32_t table_id, const struct dynamo_keys *k,
                        uint32_t key);
/* The order of two keys of a collection: negative, 0 or positive. */
int dynamo_order(const struct dynamo_keys *k, uint32_t a, uint32_t b);
/* Whether the answers to the query may name the key. */
bool dynamo_query_covers(const struct dynamo_query *q, const struct dynamo_keys *k, uint32_t key);

/* These append the body of a request. */
void dynamo_create_table(struct buffer *out, const char *name, const struct dynamo_spec *spec);
void dynamo_update_table(struct buffer *out, const char *name, uint32_t units);
/* UpdateTable: a global index, 0 .. DYNAMO_GLOBALS - 1, comes or goes. `units`: as in
 * dynamo_spec. */
void dynamo_add_index(struct buffer *out, const char *table, int index, uint32_t units);
void dynamo_drop_index(struct buffer *out, const char *table, int index);
void dynamo_tag_table(struct buffer *out, const char *name, uint32_t value);
void dynamo_table(struct buffer *out, const char *name); /* DescribeTable, DeleteTable */
void dynamo_get(struct buffer *out, const struct dynamo_table *t, uint32_t key, bool consistent);
void dynamo_write(struct buffer *out, const struct dynamo_table *t, const struct dynamo_write *w);
/* Adds 1 to the number of a key that is a counter. The answer has the new number. */
void dynamo_increment(struct buffer *out, const struct dynamo_table *t, uint32_t key);
void dynamo_batch_get(struct buffer *out, const struct dynamo_table *t, const uint32_t *keys,
                      uint32_t count, bool consistent);
void dynamo_batch_write(struct buffer *out, const struct dynamo_table *t,
                        const struct dynamo_write *all, uint32_t count);
void dynamo_scan(struct buffer *out, const struct dynamo_table *t, bool consistent);
/* A global index, 0 .. DYNAMO_GLOBALS - 1. */
void dynamo_scan_index(struct buffer *out, const struct dynamo_table *t, int index);
void dynamo_query(struct buffer *out, const struct dynamo_table *t, const struct dynamo_query *q);

/* Whether an item with this number, 0: no item, meets the write's condition. */
bool dynamo_meets(const struct dynamo_write *w, uint64_t value);

/* The number in the first item. 0: there is no item. */
uint64_t dynamo_value(struct slice body);
/* Whether `item`, or an answer with one item, has the filler that belongs to the value. */
bool dynamo_is_complete(const struct dynamo_table *t, struct slice item, uint64_t value);
/* An item or a key of an answer. */
struct dynamo_found {
    struct slice item; /* borrows */
    uint32_t key;
    uint64_t value;
};
/* Finds the next item or key of an answer. `rest` starts as the body. False: there is none. */
bool dynamo_next(const struct dynamo_table *t, struct slice *rest, struct dynamo_found *out);
/* Divides an answer: `left` begins with the unprocessed keys or items, `done` comes before. */
void dynamo_split(struct slice body, struct slice *done, struct slice *left);
/* Whether the body contains the text, of two bytes or more. */
bool dynamo_contains(struct slice body, const char *text);
/* What follows the text. NULL data: the text does not occur. */
struct slice dynamo_behind(struct slice body, const char *text);
/* What follows the text, up to the next quotation mark. Empty: there is none. */
struct slice dynamo_text(struct slice body, const char *text);
/* The number that follows the text. 0: there is none. */
uint64_t dynamo_number(struct slice body, const char *text);
/* The number at the beginning of the slice. 0: there is none. */
uint64_t dynamo_number_at(struct slice s);
