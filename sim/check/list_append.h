/* list_append.h - the items that clients of transactions work on: their requests in DynamoDB's
 * JSON, and what answers say of them.
 *
 * A list is an item: `l` has the numbers that were appended, and `v` the last of them. Beside the
 * list there may be its mark, an item of its own: `v` is the number of who put it. Lists with even
 * numbers are in the first table, where each has a partition key of its own. Those with odd numbers
 * are in the second: LISTS_TOGETHER of them share a partition key. */
#pragma once

#include "base/slice.h"
#include "sim/plan/plan.h"
#include "workload/serial.h"

enum {
    LISTS_TOGETHER = 3,
    LIST_KEY_TEXT = 16
};

/* The tables' names. The last one is for LIST_ANCHOR, and does not stay. */
extern const char *const work_transactions_tables[WORK_TRANSACTION_TABLES + 1];

/* What a part of a transaction does. */
enum list_act {
    LIST_APPEND,
    LIST_REPLACE, /* a put, if the list is as it was seen */
    LIST_CHECK,   /* whether it is so */
    LIST_FAIL,    /* a check that never holds */
    LIST_PUT_MARK,
    LIST_DELETE_MARK,
    LIST_ANCHOR, /* puts an item that nobody reads: `key` is not that of a list */
};

struct list_part {
    enum list_act act;
    uint32_t key;
    struct serial_list seen; /* REPLACE, CHECK; borrows */
};

enum list_range {
    LIST_SCAN,          /* a table */
    LIST_QUERY,         /* the lists that share a partition key */
    LIST_QUERY_BY,      /* the same by a local index, whose rows have all of an item */
    LIST_QUERY_FETCHED, /* by one whose rows have keys */
};

/* Lists that are read together, page after page. */
struct list_read {
    enum list_range range;
    uint32_t first; /* SCAN: the table; otherwise one of the lists */
    uint32_t limit; /* items of a page; 0: none */
};

/* An item of an answer. */
struct list_found {
    bool mark; /* it is the mark of the key */
    uint32_t key;
    uint32_t value;          /* `v`; 0: there is none */
    struct serial_list list; /* the caller owns it */
};

/* The partition key of a list of the second table, by the number of its partition key. */
void list_partition(uint32_t together, char out[LIST_KEY_TEXT]);
static inline uint32_t list_together(uint32_t key)
{
    return key / WORK_TRANSACTION_TABLES / LISTS_TOGETHER;
}
static inline bool list_is_by_index(const struct list_read *r)
{
    return r->range == LIST_QUERY_BY || r->range == LIST_QUERY_FETCHED;
}
bool list_is_in(const struct list_read *r, uint32_t key);

/* These append to a request. `pad`: bytes in the item besides. */
void list_append_part(struct buffer *out, const struct list_part *part, uint32_t number,
                      uint32_t pad);
void list_append_update(struct buffer *out, uint32_t key, uint32_t number, uint32_t pad);
/* The table and the key of a list or of its mark. */
void list_append_key(struct buffer *out, uint32_t key, bool mark);
/* `after`: where the last page ended, or nothing. Returns the operation. */
const char *list_append_read(struct buffer *out, const struct list_read *r, struct slice after);

/* The next object of an array. `rest` begins in the array. False: the array ends. */
bool list_next(struct slice *rest, struct slice *object);
/* Reads an item. False: it is not as somebody wrote it. */
bool list_find(struct slice item, struct list_found *out);
