/* sim_client.h - what a client does all day: makes the first table, works on a few hot keys, or
 * asks whether every key answers. Everything it asks and is told goes into the history. */
#ifndef WEIR_SIM_SIM_CLIENT_H
#define WEIR_SIM_SIM_CLIENT_H

#include "sim/dynamo.h"
#include "sim/http_client.h"
#include "sim/recording.h"

struct tables;

enum {
    TABLES_MAX = 4
};

struct workload {
    uint32_t tables; /* the first stays */
    uint32_t keys;   /* of each table */
    struct dynamo_keys shapes[TABLES_MAX];
    struct dynamo_filler filler; /* of all tables */
    uint32_t partitions;         /* of the table, at the start */
    uint32_t units;              /* a partition's: the table has so many times that, of each kind */
    uint32_t read_percent;
    uint32_t delete_percent;   /* of writes */
    uint32_t eventual_percent; /* of reads */
    uint32_t old_percent;      /* of writes: asked for what they replace */
    uint32_t many_percent;     /* of all: BatchGetItem, BatchWriteItem, Scan */
    uint32_t query_percent;    /* of the reads of many: Query of a collection */
    uint32_t range_percent;    /* of queries: of a range of sort keys, page by page */
    uint32_t pad_bytes;        /* of an item without filler, at most */
    int64_t churn_ns;          /* between two changes of tables: 0 .. twice this */
    int64_t think_ns;          /* between two operations: 0 .. this */
    int64_t timeout_ns;
    bool whole_collections; /* of the table, and counted */
};

struct client_counters {
    uint64_t calls;
    uint64_t ok;
    uint64_t failed;
    uint64_t unknown;
    uint64_t shed;     /* of the failed: by a node whose queue is full */
    uint64_t rejected; /* of the failed: the request is wrong, it is said; no retry would help */
};

struct sim_client_options {
    struct http_client_options http;
    struct recording *history;       /* borrows */
    const struct workload *workload; /* borrows */
    struct tables *tables;           /* borrows */
    uint32_t number;                 /* 0 .. clients - 1 */
    uint32_t clients;
    uint64_t seed;
};

enum client_plan {
    CLIENT_IDLE,
    CLIENT_SETUP, /* until the table is active */
    CLIENT_LOAD,  /* without end */
    CLIENT_PROBE, /* until each key that falls to this client was written and read */
};

struct sim_client;

struct sim_client *sim_client_create(const struct sim_client_options *options);
void sim_client_destroy(struct sim_client *c);

/* What is under way is finished first. */
void sim_client_set_plan(struct sim_client *c, enum client_plan plan);
/* SETUP, PROBE: it has done it. IDLE: nothing is under way. */
bool sim_client_is_done(const struct sim_client *c);
struct client_counters sim_client_counters(const struct sim_client *c);
/* What it is waiting for, for people. */
void sim_client_describe(const struct sim_client *c, struct buffer *out);

#endif
