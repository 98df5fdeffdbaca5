/* request_parts.h - records of a trace (workload/trace_record.h) out of what a router was asked
 * for.
 *
 * A part of an answered request (router/core/router.h) becomes a record: a GetItem, each item of a
 * batch, the range of each partition that a Query or a Scan read. The key is the text of a string,
 * the digits of a number or the bytes of a binary value; a sort key follows after a zero byte. A
 * Query has the partition key alone. A Scan's range has `scan-` and the hash at which it begins.
 * The size of an item that nobody has told is that of the key's last request; otherwise the mean
 * of the table's requests of that kind. A write that does not tell the size has what its units pay
 * for.
 * Not here: times, tenants, files (request_record.h). */
#pragma once

#include "base/id_map.h"
#include "router/core/router.h"
#include "workload/trace_record.h"

struct request_parts {
    struct id_map tables;       /* owns; by table id */
    struct request_size *sizes; /* owns; by the key's hash */
    uint32_t table_count;
};

void request_parts_init(struct request_parts *p);
void request_parts_deinit(struct request_parts *p);

/* Sets all of the record but `at_ns`, `key` and `tenant`, and `key` to the key's text. Appends to
 * `lines` the line that names the part's table, if the table is new. */
void request_parts_take(struct request_parts *p, const struct router_part *part,
                        struct trace_record *out, struct buffer *key, struct buffer *lines);
