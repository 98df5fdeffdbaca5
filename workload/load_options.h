/* load_options.h - the options of `weir load`. */
#pragma once

#include "base/command_line.h"
#include "base/limits.h"
#include "workload/client_request.h"
#include "workload/load_keys.h"

enum {
    LOAD_WORKLOADS_MAX = 16,
    LOAD_URLS_MAX = 16,
    LOAD_NAME_SIZE_MAX = 32,
};

enum load_arrival {
    LOAD_ARRIVAL_POISSON,
    LOAD_ARRIVAL_CONSTANT
};

struct load_workload_options {
    char name[LOAD_NAME_SIZE_MAX];
    char table[TABLE_NAME_SIZE_MAX + 1];
    char key_name[LOAD_KEY_SIZE_MAX];  /* name of the partition key attribute */
    char sort_name[LOAD_KEY_SIZE_MAX]; /* name of the sort key attribute; empty: no sort key */
    double rate;                       /* requests per second; 0 = as fast as answers come back */
    enum load_arrival arrival;
    int64_t concurrency; /* used if rate is 0; 0 = connections * pipeline */
    int64_t connections;
    int64_t pipeline; /* requests in flight on one connection */
    int64_t outstanding_max;
    int64_t start_ns; /* after the run's start */
    int64_t duration_ns;
    struct load_keys keys;
    int64_t item_bytes_min; /* DynamoDB's size of an item: names and values */
    int64_t item_bytes_max;
    double read_ratio;
    double delete_ratio; /* share of deletes among the writes */
    bool consistent;
    bool on_demand;   /* a created table's mode */
    int64_t rcu, wcu; /* a created table's capacity, if it is provisioned */
    char path[1024];  /* not empty: plain GETs of this path, no DynamoDB operations */
};

struct load_options {
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
    int64_t timeout_ns;
    uint64_t seed;
};

/* As command_line_read: `text` gets the help, or one line that tells the fault. */
enum command_line_result load_options_parse(struct load_options *o, int argc, char **argv,
                                            struct buffer *text);
