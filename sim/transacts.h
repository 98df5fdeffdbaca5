/* transacts.h - clients whose transactions append numbers to lists, and read them.
 *
 * The lists are items of two tables of their own, which stay; the second may have indexes. A
 * transaction appends its number to some lists, or reads some. It may have a check, too, and some
 * checks fail: then nothing may be done. Single operations append to one list or read one. Afterwards
 * all lists are read, and the whole must be strictly serializable (workload/serial.h). */
#pragma once

#include "sim/http_client.h"
#include "workload/serial.h"

enum {
    TRANSACT_KEYS_MAX = 12,
    TRANSACT_TABLES = 2
};

struct transacts_options {
    struct scheduler *scheduler; /* borrows */
    /* `http` of client i is that of the simulated client `first` + i. */
    struct http_client_options (*http)(void *context, uint32_t client);
    void *context;
    uint32_t clients;
    uint32_t keys;
    uint32_t units;       /* of a table; 0: on demand */
    bool indexed;         /* the second table has local indexes */
    bool salted;          /* partition keys of the sorted lists have shards */
    bool global_indexes;  /* it has global ones */
    uint32_t index_units; /* as in dynamo_spec */
    bool streams;         /* it has a stream */
    bool tokens_last;     /* a token is known for as long as a client may send it again */
    int64_t think_ns;
    uint64_t seed;
};

struct transacts;

struct transacts *transacts_create(const struct transacts_options *options);
void transacts_destroy(struct transacts *t);

/* The tables' names. */
extern const char *const transacts_tables[TRANSACT_TABLES];

/* Makes the tables, and then works until transacts_end. */
void transacts_begin(struct transacts *t);
/* Ends the work: at last all lists are read. */
void transacts_end(struct transacts *t);
bool transacts_are_done(const struct transacts *t);
void transacts_describe(const struct transacts *t, struct buffer *out);
/* False: `why` names the anomaly. */
bool transacts_check(const struct transacts *t, struct buffer *why);
uint32_t transacts_committed(const struct transacts *t);
