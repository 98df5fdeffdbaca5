/* sim_client.h - one simulated client: makes the first table, works on a few hot keys, or tests
 * that every key answers. All its requests and answers go into the history. */
#pragma once

#include "sim/world/dynamo.h"
#include "sim/world/http_client.h"
#include "sim/world/recording.h"

struct work_tables;

enum {
    TABLES_MAX = 4
};

struct workload {
    uint32_t tables; /* the first table stays */
    uint32_t keys;   /* of each table */
    struct dynamo_keys shapes[TABLES_MAX];
    struct dynamo_filler filler; /* of all tables */
    uint32_t partitions;         /* of the table, at the start */
    uint32_t units;              /* of each kind, for each partition of the table */
    uint32_t index_units;        /* of each kind, of a global index; 0: as many as the table has */
    uint32_t read_percent;
    uint32_t delete_percent;    /* of writes */
    uint32_t eventual_percent;  /* of reads */
    uint32_t old_percent;       /* of writes: these ask for the old item */
    uint32_t condition_percent; /* of writes */
    uint32_t update_percent;    /* of writes that leave an item: UpdateItem */
    uint32_t counters;          /* of the keys of the first table, the last ones: only added to */
    uint32_t many_percent;      /* of all operations: BatchGetItem, BatchWriteItem, Scan, Query */
    uint32_t query_percent;     /* of the reads of many keys: Query of a collection */
    uint32_t range_percent;     /* of queries: with a range; of pages: the next page follows */
    uint32_t pad_bytes;         /* at most, in an item without filler */
    int64_t churn_ns;           /* between two changes of a table: 0 .. twice this */
    int64_t think_ns;           /* between two operations: 0 .. this */
    int64_t timeout_ns;
    bool indexed;        /* the first table has local indexes, so item collections stay whole */
    bool global_indexes; /* the first table has global indexes */
    bool sharded;        /* partition keys of tables with sort keys have shards */
    bool index_churn;    /* and the first of them is dropped and made anew */
};

struct client_counters {
    uint64_t calls;
    uint64_t ok;
    uint64_t failed;
    uint64_t unknown;
    uint64_t shed;     /* failed: refused by a process that has too much work */
    uint64_t behind;   /* failed: refused because a global index is behind */
    uint64_t rejected; /* failed: the request is wrong, so a retry would not help */
};

struct sim_client_options {
    struct http_client_options http;
    struct recording *history;       /* borrows */
    const struct workload *workload; /* borrows */
    struct work_tables *work_tables; /* borrows */
    uint32_t number;                 /* 0 .. clients - 1 */
    uint32_t clients;
    uint64_t seed;
};

enum client_plan {
    CLIENT_IDLE,
    CLIENT_SETUP, /* makes the table, until it is active */
    CLIENT_LOAD,  /* works without end */
    CLIENT_PROBE, /* writes and reads each of the client's keys */
};

struct sim_client;

struct sim_client *sim_client_create(const struct sim_client_options *options);
void sim_client_destroy(struct sim_client *c);

/* The present operation is finished first. */
void sim_client_set_plan(struct sim_client *c, enum client_plan plan);
/* SETUP, PROBE: the plan is done. IDLE: no operation is under way. */
bool sim_client_is_done(const struct sim_client *c);
struct client_counters sim_client_counters(const struct sim_client *c);
/* Tells people what the client waits for. */
void sim_client_describe(const struct sim_client *c, struct buffer *out);
