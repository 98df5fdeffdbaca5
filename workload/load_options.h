/* load_options.h - the options of `weir load`. */
#pragma once

#include "base/command_line.h"
#include "base/limits.h"
#include "workload/client_request.h"
#include "workload/retry.h"
#include "workload/traffic.h"

enum {
    LOAD_WORKLOADS_MAX = 16,
    LOAD_URLS_MAX = 16,
    LOAD_NAME_SIZE_MAX = 32,
    LOAD_EXPRESSION_SIZE_MAX = 4096,
};

struct load_workload_options {
    char name[LOAD_NAME_SIZE_MAX];
    char table[TABLE_NAME_SIZE_MAX + 1];
    char key_name[LOAD_KEY_SIZE_MAX];  /* name of the partition key attribute */
    char sort_name[LOAD_KEY_SIZE_MAX]; /* name of the sort key attribute; empty: no sort key */
    /* Time counts from the beginning of the run. clients.count 0: an open loop. */
    struct traffic_options traffic;
    bool as_fast_as_possible; /* rate max: a closed loop of `concurrency` clients, no think time */
    int64_t concurrency;      /* 0 = connections * pipeline */
    int64_t connections;
    int64_t pipeline; /* requests in flight on one connection */
    int64_t outstanding_max;
    int64_t duration_ns; /* 0: 10 s, or as long as the trace is */
    bool has_mix;        /* --mix or --ycsb: the mix says what the next three say otherwise */
    double read_ratio;
    double delete_ratio; /* share of deletes among the writes */
    bool consistent;     /* reads; with a mix: all of them */
    bool increments;     /* writes add 1 to the items' numbers */
    bool returns_sum;    /* these tell the new number: a history needs it */
    int64_t transact;    /* writes are transactions of so many items; 0: of single items */
    struct retry_options retry;
    char replay[1024]; /* a trace in place of rate, keys, mix and sizes; empty: none */
    double replay_speed;
    bool queries;                                 /* reads are Queries for a partition key */
    char condition[LOAD_EXPRESSION_SIZE_MAX + 1]; /* of every write; empty: none */
    char filter[LOAD_EXPRESSION_SIZE_MAX + 1];    /* of every Query; empty: none */
    bool on_demand;                               /* a created table's mode */
    int64_t rcu, wcu; /* a created table's capacity, if it is provisioned */
    char path[1024];  /* not empty: plain GETs of this path, no DynamoDB operations */
};

/* Where policies from files go, and how a file is opened. */
struct load_policies {
    struct policies *policies;
    /* STATUS_IO, STATUS_MALFORMED: `error` tells. */
    enum status (*load)(struct policies *policies, const char *path, struct buffer *error);
};

struct load_options {
    const struct load_policies *policies;  /* borrows; NULL: --policy is refused */
    struct client_url urls[LOAD_URLS_MAX]; /* connections are spread over them */
    int url_count;
    struct load_workload_options workloads[LOAD_WORKLOADS_MAX];
    int workload_count;
    bool create_table;
    bool preload;
    bool unsigned_requests;
    bool quiet;
    bool json;
    const char *json_path;    /* NULL: standard output */
    const char *history_path; /* NULL: none */
    const char *record_path;  /* NULL: none */
    const char *record_salt;  /* NULL: keys are recorded as they are */
    int64_t timeout_ns;
    uint64_t seed;
};

/* As command_line_read: `text` gets the help, or one line that tells the fault. `policies`:
 * borrows; may be NULL. */
enum command_line_result load_options_parse(struct load_options *o, int argc, char **argv,
                                            const struct load_policies *policies,
                                            struct buffer *text);
