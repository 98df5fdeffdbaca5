/* load_request.h - the bytes of a request: DynamoDB PutItem, GetItem or DeleteItem, or a plain GET.
 *
 * An item is {key, "v": the write's own number in 16 hexadecimal digits, "data": filling}, and its
 * size counts names and values as DynamoDB does. Everything except key, number and filling is
 * written once, at the start. */
#pragma once

#include "workload/load_options.h"

#define LOAD_NUMBER_NAME "v" /* the attribute that holds a write's own number */

enum {
    LOAD_NUMBER_DIGITS = 16
};

struct load_template {
    const struct load_workload_options *options; /* borrows */
    struct buffer put_head;                      /* up to the digits of Content-Length */
    struct buffer get_head;
    struct buffer delete_head;
    struct buffer put_open; /* body up to the key */
    struct buffer get_open;
    struct buffer put_middle; /* from the key to the number */
    struct buffer get_close;
    struct buffer delete_close;
    struct buffer filling;
    struct buffer plain; /* a complete plain GET */
};

struct load_request {
    int64_t intended_ns; /* when the request was due, since the run's start */
    int64_t sent_ns;
    uint64_t number; /* of the request in the run, from 1 */
    uint64_t key;
    int32_t item_bytes;
    bool is_read;
    bool is_delete; /* otherwise a put */
};

/* The least `item-bytes` an item of this workload can have. */
int64_t load_item_bytes_min(const struct load_workload_options *w);

void load_template_init(struct load_template *t, const struct load_workload_options *w,
                        const struct client_url *url, bool is_unsigned);
void load_template_deinit(struct load_template *t);

/* The number's text in items and in histories. */
void load_number_text(uint64_t number, char out[LOAD_NUMBER_DIGITS]);

void load_request_write(const struct load_template *t, const struct load_request *r,
                        struct buffer *out);
