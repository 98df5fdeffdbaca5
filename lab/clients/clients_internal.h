/* clients_internal.h - the parts of a scenario's clients, for lab/clients/ only.
 *
 *   clients.c   life, arrivals, retries, measures
 *   indexes.c   keys of global indexes, and refusals that name one
 *   acquires.c  requests to the rate limiter, and its refusals
 *   hedges.c    reads that are sent a second time while the first attempt is out
 *   pool.c      connections, requests that wait for one, answers, time-outs */
#pragma once

#include <sys/queue.h>

#include "base/id_map.h"
#include "engine/admission/admission.h"
#include "lab/clients/clients.h"
#include "workload/client_response.h"
#include "workload/load_request.h"

/* One attempt of a request. Its memory is used again, and never freed before the end. */
struct attempt {
    TAILQ_ENTRY(attempt) sent;    /* in the order of their sending, in the workload */
    TAILQ_ENTRY(attempt) waiting; /* in the pool */
    STAILQ_ENTRY(attempt) spare;
    struct clients_source *source;
    uint32_t copy; /* of the table */
    struct traffic_request traffic;
    struct retry_request retry;
    uint64_t index_keys[INDEXES_MAX]; /* of a write, for each index of the table */
    int64_t due_ns;                   /* when the client wanted the request */
    int64_t deadline_ns;              /* of this attempt */
    uint32_t client;
    struct pool_connection *connection; /* NULL: waits in the pool */
    struct pool *pool;
    /* of hedges.c */
    int64_t sent_ns;       /* the first attempt */
    uint64_t serial;       /* of an attempt that may be hedged; 0: it may not */
    struct attempt *other; /* that is out for the same request; NULL: none */
    bool hedge;            /* the second one */
    bool unawaited;        /* the client has its answer already */
};

TAILQ_HEAD(attempts, attempt);

struct pool_connection {
    LIST_ENTRY(pool_connection) entry; /* idle ones are in the pool */
    struct clients *clients;
    struct pool *pool;
    uint64_t handle;
    struct attempt *attempt; /* NULL: idle */
    struct client_response response;
};

struct pool {
    uint32_t router;
    uint32_t open;
    LIST_HEAD(, pool_connection) idle; /* owns */
    struct attempts waiting;
};

struct clients_workload {
    struct clients *clients;
    const struct scenario_workload *scenario;
    struct pool *pools; /* owns; by router */
    struct attempts sent;
    bool timer;                      /* for the deadline of the first attempt that was sent */
    struct load_template *templates; /* owns; by copy of the table */
    struct load_workload_options *template_options; /* owns; the same */
    int64_t (*consumed_mcu)[ADMIT_KINDS];           /* owns; the same */
    uint32_t copies;
    uint64_t unknown; /* attempts whose outcome is not known: yet, or at all */
};

struct clients_source {
    struct clients_workload *workload;
    uint32_t copy; /* of the table; UINT32_MAX: all copies in turn */
    struct traffic traffic;
    struct traffic_request next;
    struct prng spread, retries, hedging, index_random;
    struct load_keys *index_keys; /* owns; for each index of the table; NULL: there is none */
    struct hedge *hedges;         /* owns; by client; NULL: it does not hedge */
    struct retry *states;         /* owns */
    uint32_t state_count, state_next;
    uint32_t router_next;
    uint32_t flows[2];
    uint32_t limits[2]; /* of the measures; MEASURE_ANY: none */
};

/* As the measures number reasons: behind enum admit_reason. */
enum {
    REASON_CLIENT = ADMIT_REASONS, /* rejected by the client itself */
    REASON_FAILED,
    REASON_LIMIT,  /* the rate limiter: the bucket has too few tokens */
    REASON_WRITES, /* the rate limiter: the bucket's shards were written too often */
};
_Static_assert((int)REASON_WRITES + 1 == (int)MEASURE_REASONS, "measures know all reasons");

struct clients {
    struct clients_options options;
    struct demand_watch watch;
    uint32_t router_count;
    struct clients_workload *workloads; /* owns */
    uint32_t workload_count;
    struct clients_source *sources; /* owns */
    uint32_t source_count;
    struct id_map connections; /* owns struct pool_connection, by handle */
    struct arena arena;        /* of attempts */
    STAILQ_HEAD(, attempt) spare;
    struct buffer bytes;   /* of a request */
    struct buffer members; /* of its item: the keys of indexes */
    uint64_t requests;
    uint64_t attempts; /* that were taken from the memory */
};

/* What became of an attempt. */
struct attempt_end {
    enum retry_result result;
    uint32_t reason; /* for the measures */
    uint32_t index;  /* the same: which index the refusal names */
    int64_t hint_ns; /* when to try again; below 0: not told */
};

/* Sends the attempt, or lets it wait for a connection. */
void pool_submit(struct clients *c, struct attempt *a);
void pools_create(struct clients *c, struct clients_workload *w);
void pools_destroy(struct clients *c, struct clients_workload *w);
/* Of clients.c: the attempt is over. */
void attempt_over(struct clients *c, struct attempt *a, const struct attempt_end *end);
struct attempt *attempt_take(struct clients *c);

void indexes_declare(struct clients *c);
void indexes_start(struct clients_source *s, uint64_t seed);
void indexes_stop(struct clients_source *s);
/* Draws the keys of a write. */
void indexes_draw(struct clients_source *s, struct attempt *a);
/* Adds the keys to the item of a put. */
void indexes_add_members(struct clients *c, const struct attempt *a, struct load_request *r);
/* 1 + the number of the index that the answer names; 0: none. */
uint32_t indexes_named(const struct clients *c, const struct attempt *a, struct slice body);

/* The bytes of a request to the rate limiter. */
void acquires_write(struct clients *c, const struct attempt *a);
/* The reason of its refusal; 0: it is none. */
uint32_t acquires_refusal(struct slice body);

/* A first attempt is about to be sent: decides whether and when it is hedged. */
void hedges_begin(struct clients *c, struct attempt *a);
/* An attempt has its answer. False: the client waits for the other attempt, or has its answer
 * already. */
bool hedges_answered(struct clients *c, struct attempt *a, enum retry_result result);
