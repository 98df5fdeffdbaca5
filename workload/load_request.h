/* load_request.h - the bytes of a request: DynamoDB PutItem, GetItem, DeleteItem, UpdateItem,
 * Query or Scan, TransactWriteItems of puts, or a plain GET.
 *
 * An item is {key, "v": the write's own number in 16 hexadecimal digits, further members, "data":
 * filling}, and its size counts names and values as DynamoDB does. A counter is {key, "v": a
 * number}. Everything except key, number, further members and filling is written once, at the
 * start. */
#pragma once

#include "workload/load_options.h"

#define LOAD_NUMBER_NAME "v" /* the attribute that holds a write's own number */

enum {
    LOAD_NUMBER_DIGITS = 16
};

enum load_kind {
    LOAD_PUT,
    LOAD_DELETE,
    LOAD_ADD,      /* an UpdateItem that adds 1 */
    LOAD_TRANSACT, /* puts of the key and of others */
    LOAD_GET,      /* or a plain GET */
    LOAD_QUERY,
    LOAD_SCAN, /* some items from a key on */
    LOAD_KINDS
};

struct load_template {
    const struct load_workload_options *options; /* borrows */
    struct load_form {
        struct buffer head;             /* up to the digits of Content-Length */
        struct buffer open;             /* the body up to the key */
        struct buffer close;            /* the body behind the key; a put's, behind the item */
        struct buffer close_consistent; /* the same of a strongly consistent read */
    } forms[LOAD_KINDS];
    struct buffer put_middle; /* from the key to the number */
    struct buffer filling;
    struct buffer body;  /* of the request that is being written */
    struct buffer plain; /* a complete plain GET */
};

struct load_request {
    int64_t intended_ns; /* when the request was due, since the run's start */
    int64_t sent_ns;
    uint64_t number; /* of the request in the run, from 1 */
    uint64_t key;
    uint64_t recorded; /* trace_recorder_end takes it */
    int32_t item_bytes;
    int32_t scan_length;
    enum load_kind kind;
    bool consistent;    /* a read */
    bool modify;        /* the read of a read-modify-write: a write of the key follows */
    struct slice more;  /* further members of a put's item, as JSON: ,"NAME":VALUE; borrows */
    int32_t more_bytes; /* of their names and values, a part of item_bytes */
    struct retry_request retry;
};

static inline bool load_kind_reads(enum load_kind kind)
{
    return kind == LOAD_GET || kind == LOAD_QUERY || kind == LOAD_SCAN;
}

/* The least `item-bytes` an item of this workload can have. */
int64_t load_item_bytes_min(const struct load_workload_options *w);

void load_template_init(struct load_template *t, const struct load_workload_options *w,
                        const struct client_url *url, bool is_unsigned);
void load_template_deinit(struct load_template *t);

/* The number's text in items and in histories. */
void load_number_text(uint64_t number, char out[LOAD_NUMBER_DIGITS]);

void load_request_write(struct load_template *t, const struct load_request *r, struct buffer *out);
