/* weir.h - weir's storage engine, with its admission control, inside your own process.
 *
 * A database is a directory: tables, their partitions with allocation and burst token buckets, a
 * log and an LMDB environment. What was acknowledged survives a crash. One thread at a time may use
 * a database; threads of its own do what would block.
 *
 * Units: mcu = 1/1000 of a read or write capacity unit.
 * Errors: every function that can fail returns an enum weir_status; weir_error has the text.
 * Lifetimes: what a result lends stays until the next call with the same database. What a call was
 * given may change once it returns, also if the call started a write. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_API __attribute__((visibility("default")))

enum weir_status {
    WEIR_OK = 0,
    WEIR_NOT_FOUND = 1, /* no such item or table */
    WEIR_THROTTLED = 2, /* result.reason: which limit; result.wait_ns: the wait */
    WEIR_INVALID = 3,   /* the request is invalid; weir_error names field, value and limit */
    WEIR_EXISTS = 4,    /* a table of that name is there */
    WEIR_LIMIT = 5,     /* a limit of the database is reached */
    WEIR_BUSY = 6,      /* too much in flight: complete some, try again */
    WEIR_FULL = 7,      /* disk or map full: writes are refused, reads go on */
    WEIR_STOPPED = 8,   /* the disk failed: no more writes until the database is opened anew */
    WEIR_CORRUPT = 9,   /* stored data fails its checksum */
    WEIR_IO = 10,
    WEIR_UNKNOWN = 11,          /* a write whose outcome is not known: the disk failed under it */
    WEIR_CONDITION_FAILED = 12, /* the item does not fulfil the condition: nothing was written */
};

enum weir_type {
    WEIR_STRING = 1, /* UTF-8 */
    WEIR_NUMBER,     /* decimal text, up to 38 digits */
    WEIR_BINARY,
    WEIR_BOOL, /* one byte, 0 or 1 */
    WEIR_NULL,
    WEIR_STRING_SET,
    WEIR_NUMBER_SET,
    WEIR_BINARY_SET,
    WEIR_LIST,
    WEIR_MAP,
};

enum weir_reason {
    WEIR_ADMITTED = 0,
    WEIR_REFUSED_KEY_RANGE = 1,  /* the partition's maximum */
    WEIR_REFUSED_ALLOCATION = 2, /* its allocation and burst are used up */
    WEIR_REFUSED_NODE = 3,       /* the node's capacity */
    WEIR_REFUSED_MEMBER = 4,
};

struct weir;       /* an open database */
struct weir_table; /* a table of it */
struct weir_item;  /* attributes being put together */

/* ---- databases ---- */

/* `settings`: "name = value" lines as a configuration file has them, "profile = off" among them;
 * NULL for the defaults. On failure *out is NULL, and *error gets a text to be freed, if `error` is
 * not NULL. */
WEIR_API enum weir_status weir_open(const char *directory, const char *settings, struct weir **out,
                                    char **error);
WEIR_API void weir_close(struct weir *db); /* NULL: does nothing */

/* Returns once LMDB has taken over everything that was acknowledged so far: the log is then short,
 * and the next weir_open fast. Never needed for safety. */
WEIR_API enum weir_status weir_checkpoint(struct weir *db);

/* Why the last call failed; lends until the next. */
WEIR_API const char *weir_error(const struct weir *db);

/* ---- tables ---- */

struct weir_table_options {
    const char *partition_key;
    enum weir_type partition_key_type; /* WEIR_STRING, WEIR_NUMBER or WEIR_BINARY */
    const char *sort_key;              /* NULL: none */
    enum weir_type sort_key_type;
    int64_t read_units; /* per second, at least 1; both 0: on demand */
    int64_t write_units;
};

WEIR_API enum weir_status weir_table_create(struct weir *db, const char *name,
                                            const struct weir_table_options *options);
/* The handle stays valid until weir_close. WEIR_INVALID: the table has keys that weir local has
 * spread over shards (the tag weir:key-sharding), which the library does not read. */
WEIR_API enum weir_status weir_table_open(struct weir *db, const char *name,
                                          struct weir_table **out);

/* ---- putting items together ---- */

WEIR_API struct weir_item *weir_item_create(void);
WEIR_API void weir_item_destroy(struct weir_item *item);
WEIR_API void weir_item_clear(struct weir_item *item);
/* `name` is NULL inside lists and sets. `data` as enum weir_type says. Mistakes show in the call
 * that uses the item. */
WEIR_API void weir_item_add(struct weir_item *item, const char *name, enum weir_type type,
                            const void *data, size_t size);
/* Everything until weir_item_end is inside this list, map or set. At most 31 lists and maps nest
 * around a value. */
WEIR_API void weir_item_begin(struct weir_item *item, const char *name, enum weir_type container);
WEIR_API void weir_item_end(struct weir_item *item);

/* ---- expressions ---- */

/* Conditions, filters, updates and projections are DynamoDB's expressions, with the same grammar,
 * functions, reserved words and limits. */

struct weir_name {
    const char *placeholder; /* "#n" */
    const char *attribute;   /* the name that it stands for */
};

/* What the expressions of a request use for names and values. Each must be used. */
struct weir_placeholders {
    const struct weir_name *names;
    size_t name_count;
    const struct weir_item *values; /* its attributes are named ":v"; NULL: none */
};

/* ---- requests ---- */

struct weir_result {
    enum weir_status status;
    uint64_t tag;            /* of the request */
    enum weir_reason reason; /* WEIR_THROTTLED: by what */
    int64_t wait_ns; /* WEIR_THROTTLED: then the same request passes if no other comes; 0: not
                              * known */
    int64_t consumed_mcu;
    uint32_t count;    /* items lent, or only counted */
    uint32_t scanned;  /* items that a query or scan read, before the filter */
    bool more;         /* a query or scan stopped at a limit: go on after weir_result_last */
    const void *items; /* read them with weir_result_next */
    size_t items_size;
    bool single;
    const void *last; /* for weir_result_last */
    size_t last_size;
};

/* `key` holds the key attributes; others are ignored. */
WEIR_API enum weir_status weir_get(struct weir_table *table, const struct weir_item *key,
                                   bool consistent, struct weir_result *result);
/* Replaces the item with the same key. Returns once it is on disk. */
WEIR_API enum weir_status weir_put(struct weir_table *table, const struct weir_item *item,
                                   struct weir_result *result);
WEIR_API enum weir_status weir_delete(struct weir_table *table, const struct weir_item *key,
                                      struct weir_result *result);

enum weir_returned {
    WEIR_RETURN_NOTHING = 0,
    WEIR_RETURN_OLD, /* the item before the write, if there was one */
    WEIR_RETURN_NEW, /* weir_update: the item after the write */
};

struct weir_write_options {
    const char *condition; /* of the item before the write; NULL: none */
    struct weir_placeholders placeholders;
    enum weir_returned returned; /* the item that the result lends */
    bool return_if_failed;       /* if the condition fails, the result lends the item */
};

/* weir_put and weir_delete under a condition. Reading the item, the condition and the write are one
 * step: no other write comes between. `options` NULL: as without. WEIR_CONDITION_FAILED: nothing
 * was written; the capacity is consumed as if it were. */
WEIR_API enum weir_status weir_put_if(struct weir_table *table, const struct weir_item *item,
                                      const struct weir_write_options *options,
                                      struct weir_result *result);
WEIR_API enum weir_status weir_delete_if(struct weir_table *table, const struct weir_item *key,
                                         const struct weir_write_options *options,
                                         struct weir_result *result);
/* Changes attributes of the item as the update expression says, such as "SET a = :v ADD n :one".
 * Makes the item if there is none. `update` NULL: only makes the item. WEIR_INVALID also if the
 * update does not fit the item; nothing was written then. */
WEIR_API enum weir_status weir_update(struct weir_table *table, const struct weir_item *key,
                                      const char *update, const struct weir_write_options *options,
                                      struct weir_result *result);

struct weir_query_options {
    bool reverse; /* by descending sort key; a scan: in the opposite order */
    bool consistent;
    bool count_only;               /* lend no items */
    uint32_t limit;                /* items to read, before the filter; 0: up to 1 MiB of them */
    const struct weir_item *after; /* go on behind this item's key; NULL: from the start */
    const char *filter;            /* a condition; other items are left out; NULL: all items */
    const char *projection;        /* the attributes to lend; NULL: whole items */
    struct weir_placeholders placeholders;
};

/* Items with the partition key in `key`, in sort key order. Capacity is consumed for the items that
 * were read, before the filter. */
WEIR_API enum weir_status weir_query(struct weir_table *table, const struct weir_item *key,
                                     const struct weir_query_options *options,
                                     struct weir_result *result);
/* Items of the whole table. Items with the same partition key are together, in sort key order. */
WEIR_API enum weir_status weir_scan(struct weir_table *table,
                                    const struct weir_query_options *options,
                                    struct weir_result *result);
/* Makes `key` the key of the last item that the query or scan read, even if the filter left it out:
 * `after` of the next page. False: there is no next page. */
WEIR_API bool weir_result_last(const struct weir_result *result, struct weir_item *key);

/* Writes without waiting: many share one trip to the disk. Each start that returns WEIR_OK has one
 * completion, in any order, with its tag. */
WEIR_API enum weir_status weir_put_start(struct weir_table *table, const struct weir_item *item,
                                         uint64_t tag);
WEIR_API enum weir_status weir_delete_start(struct weir_table *table, const struct weir_item *key,
                                            uint64_t tag);
WEIR_API enum weir_status weir_put_if_start(struct weir_table *table, const struct weir_item *item,
                                            const struct weir_write_options *options, uint64_t tag);
WEIR_API enum weir_status weir_delete_if_start(struct weir_table *table,
                                               const struct weir_item *key,
                                               const struct weir_write_options *options,
                                               uint64_t tag);
WEIR_API enum weir_status weir_update_start(struct weir_table *table, const struct weir_item *key,
                                            const char *update,
                                            const struct weir_write_options *options, uint64_t tag);
/* Waits for a completion; WEIR_NOT_FOUND if nothing is in flight. If the completed write failed,
 * weir_error has the text. */
WEIR_API enum weir_status weir_complete(struct weir *db, struct weir_result *result);

/* ---- reading items ---- */

struct weir_cursor {
    const unsigned char *data;
    size_t size;
    bool named;
};

struct weir_attr {
    const char *name; /* not NUL ended */
    size_t name_size;
    enum weir_type type;
    const void *data; /* containers: read with weir_attr_elements; numbers: weir_attr_number */
    size_t size;
};

/* The next item of a result; false at the end. Start with *position = 0. */
WEIR_API bool weir_result_next(const struct weir_result *result, size_t *position,
                               struct weir_cursor *attrs);
WEIR_API bool weir_cursor_next(struct weir_cursor *cursor, struct weir_attr *out);
WEIR_API struct weir_cursor weir_attr_elements(const struct weir_attr *container);
/* A number's text, NUL ended; `out` holds at least WEIR_NUMBER_TEXT_MAX bytes. */
enum {
    WEIR_NUMBER_TEXT_MAX = 176
};
WEIR_API size_t weir_attr_number(const struct weir_attr *number, char *out);

#ifdef __cplusplus
}
#endif
