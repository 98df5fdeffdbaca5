/* work_counters.h - clients that count: additions to counters of a table with the tag
 * weir:key-sharding = counter.
 *
 * Each addition has an invocation id, as SDKs send it, and is sent again with the same id until it
 * is acknowledged, whatever the answers before said. So each counts once:
 *   A strong read finds at least what was acknowledged and what was read before it began, and at
 *   most what was begun before it ended. At last each counter is what was acknowledged. */
#pragma once

#include "sim/world/http_client.h"

enum {
    WORK_COUNTERS_KEYS = 3 /* counters */
};

struct work_counters_options {
    struct scheduler *scheduler;                                        /* borrows */
    struct http_client_options (*http)(void *context, uint32_t client); /* of client i */
    void *context;
    uint32_t clients;
    uint32_t units; /* of the table; 0: on demand */
    int64_t think_ns;
    uint64_t seed;
};

struct work_counters;

struct work_counters *work_counters_create(const struct work_counters_options *options);
void work_counters_destroy(struct work_counters *t);

/* The table's name, and the partition key of a counter. */
extern const char work_counters_table[];
void work_counters_key(uint32_t key, char out[8]);

/* Makes the table, and then works until work_counters_end. */
void work_counters_begin(struct work_counters *t);
/* Ends the additions: at last every counter is read. */
void work_counters_end(struct work_counters *t);
bool work_counters_are_done(const struct work_counters *t);
void work_counters_describe(const struct work_counters *t, struct buffer *out);
/* False: `why` tells what was wrong. */
bool work_counters_check(const struct work_counters *t, struct buffer *why);
