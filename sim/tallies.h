/* tallies.h - clients that count: additions to counters of a table with the tag weir:key-sharding =
 * counter.
 *
 * Each addition has an invocation id, as SDKs send it, and is sent again with the same id until it is
 * acknowledged, whatever the answers before said. So each counts once:
 *   A strong read finds at least what was acknowledged and what was read before it began, and at most what was
 *   begun before it ended.
 *   At last each counter is what was acknowledged. */
#pragma once

#include "sim/http_client.h"

enum {
    TALLIES_KEYS = 3 /* counters */
};

struct tallies_options {
    struct scheduler *scheduler;                                        /* borrows */
    struct http_client_options (*http)(void *context, uint32_t client); /* of client i */
    void *context;
    uint32_t clients;
    uint32_t units; /* of the table; 0: on demand */
    int64_t think_ns;
    uint64_t seed;
};

struct tallies;

struct tallies *tallies_create(const struct tallies_options *options);
void tallies_destroy(struct tallies *t);

/* The table's name, and the partition key of a counter. */
extern const char tallies_table[];
void tallies_key(uint32_t key, char out[8]);

/* Makes the table, and then works until tallies_end. */
void tallies_begin(struct tallies *t);
/* Ends the additions: at last every counter is read. */
void tallies_end(struct tallies *t);
bool tallies_are_done(const struct tallies *t);
void tallies_describe(const struct tallies *t, struct buffer *out);
/* False: `why` tells what was wrong. */
bool tallies_check(const struct tallies *t, struct buffer *why);
