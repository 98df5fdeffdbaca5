/* traffic.h - the demand of one tenant on one table: which request is due when.
 *
 * One description for `weir load`, the simulator's runners and real runs. The texts of its parts
 * are the same in scenario files and on the command line: rate_curve_parse, arrival_names,
 * traffic_clients_parse, load_keys_parse, traffic_mix_parse, item_sizes_parse.
 *
 * Promises:
 *   TRAFFIC-1  The same options and seed give the same requests, whatever the answers are.
 *   TRAFFIC-2  Arrivals, keys, kinds, consistency, sizes, scan lengths and think times have random
 *              streams of their own: another mix leaves the arrivals as they are, and so on (common
 *              random numbers). Only inserts move the keys that `latest` chooses.
 * A request costs no allocation. Time is an argument.
 * Floating-point functions of the C library are used, so that another library may give other
 * requests.
 * Not here: sending, tries after a failure (retry.h), traces' formats (trace_reader.h). */
#pragma once

#include "workload/load_keys.h"
#include "workload/mix.h"
#include "workload/rate_curve.h"

struct traffic_request {
    int64_t at_ns;   /* due at; TRAFFIC_NO_TIME of a closed loop */
    uint64_t number; /* from 0 */
    uint64_t key;    /* a number below the count of keys, or beyond after inserts; a trace's hash */
    int32_t size_bytes;  /* of the item */
    int32_t scan_length; /* items; 1 but for scans */
    enum traffic_kind kind;
    bool consistent;        /* reads and scans; true for writes */
    uint32_t table, tenant; /* numbers in a trace; otherwise 0 */
};

/* Requests from elsewhere, such as a trace, in the order of their times. */
struct traffic_source {
    /* Sets all but `number`; at_ns counts from the trace's beginning. False: over. NULL: no
     * source. */
    bool (*next)(void *context, struct traffic_request *out);
    void *context; /* borrows */
    double speed;  /* 2: twice as fast; 0 counts as 1 */
};

/* A closed loop: each client sends, waits for the answer, thinks, and sends again. */
struct traffic_clients {
    int64_t count; /* 0: an open loop */
    int64_t think_ns;
    bool exponential; /* think times have think_ns as their mean */
};

/* "closed:CLIENTS:THINK_MS[:exponential]". Returns NULL, or the fault as a static text. */
const char *traffic_clients_parse(void *clients, const char *text); /* struct traffic_clients */

/* A plain value. Time in it is the runner's clock. */
struct traffic_options {
    int64_t start_ns,
        end_ns; /* requests are due in [start_ns, end_ns); the curve begins at start_ns */
    struct rate_curve rate; /* open loop */
    enum arrival_kind arrivals;
    struct traffic_clients clients;
    struct load_keys keys; /* load_keys_check found no fault; not started */
    struct traffic_mix mix;
    struct item_sizes sizes;
    struct traffic_source source; /* in place of rate, arrivals, keys, mix and sizes */
};

/* 100 requests a second, Poisson, for ever, on 10,000 keys, uniform; half reads; 100 bytes. */
struct traffic_options traffic_defaults(void);

struct traffic {
    struct traffic_options options;
    struct arrivals arrivals;
    struct prng arrival_random, key_random, kind_random, consistency_random, size_random,
        scan_random, think_random;
    uint64_t number;
};

#define TRAFFIC_NO_TIME (-1)

void traffic_init(struct traffic *t, const struct traffic_options *o, uint64_t seed);
void traffic_deinit(struct traffic *t);

/* Open loop, or a source: the next request. False: no more before end_ns. */
bool traffic_next(struct traffic *t, struct traffic_request *out);
/* Closed loop: a request for now, which the caller may take as at_ns. */
void traffic_make(struct traffic *t, int64_t now_ns, struct traffic_request *out);
/* Closed loop: how long a client thinks after an answer. */
int64_t traffic_think_ns(struct traffic *t);
