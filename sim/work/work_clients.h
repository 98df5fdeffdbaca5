/* work_clients.h - all simulated clients of one kind: each sends one request after the other.
 *
 * A kind is a table of functions (struct work_client_kind). The struct of one of its clients begins
 * with a struct work_client. The struct that its clients share begins with a struct work_clients.
 *
 *     struct work_clients *all = work_counters_create(&options);
 *     work_clients_begin(all);     the load; work_clients_end(all) when the faults are over
 *     work_clients_check(all, why) once work_clients_are_done(all)
 *
 * Steps of a client:
 *     IDLE -> MAKE_TABLE -> AWAIT_TABLE -> IDLE    work_client_has_tables: the first client's
 *     IDLE -> steps of the kind -> IDLE            choose, answered
 *     IDLE -> DONE                                 choose, after work_clients_end
 * While a step lasts, its request is written and sent again after each pause.
 *
 * Promises: each client has one request under way at most, and draws from a stream of its own. The
 * same seed gives the same requests.
 *
 * Not here: what is asked and what answers may say (the kinds: work_*.c); the connection
 * (sim/world/http_client.h); clients of items (sim/plan/sim_client.h), and the one whose tables
 * come and go (sim/plan/work_tables.h). */
#pragma once

#include "sim/plan/run.h"
#include "sim/world/dynamo.h"

enum {
    WORK_RETRY_MS = 100,
    WORK_POLL_MS = 200,
    WORK_QUIET_MS = 12000 /* then no request that a client gave up is on its way any more */
};

/* The kinds of a run, in the order in which they begin. */
enum {
    WORK_TRANSACTIONS,
    WORK_TTL,
    WORK_COUNTERS,
    WORK_STREAMS,
    WORK_LIST_STREAM, /* of the table of transactions that has a stream */
    WORK_RATE_LIMITER,
    WORK_SWITCHES,
    WORK_FILL,
    WORK_KINDS
};

/* The steps of a kind begin with WORK_STEPS. */
enum work_step {
    WORK_STEP_DONE = -1,
    WORK_STEP_IDLE,
    WORK_STEP_MAKE_TABLE,
    WORK_STEP_AWAIT_TABLE, /* until it is active */
    WORK_STEPS
};

struct work_client {
    struct work_clients *all; /* borrows */
    struct http_client http;
    struct prng prng;
    uint32_t number;
    int step;           /* enum work_step, or one of the kind */
    int64_t idle_ms;    /* until a client without a request chooses again */
    struct buffer body; /* of the request */
};

/* `client` and `all` are the structs of the kind. Functions behind `answered` may be NULL; `table`
 * only if the kind has no tables. */
struct work_client_kind {
    const char *name; /* as in "client 2 NAME is at step 3" */
    size_t size;      /* of the struct that the clients share, and of a client */
    size_t client_size;
    int64_t idle_ms;
    int64_t retry_ms; /* after an answer other than 200 */

    /* An idle client sets its step, or stays idle. */
    void (*choose)(void *client);
    /* Writes the request of a step of the kind to the body, which has the former request. Returns
     * the operation; NULL: the client waits for idle_ms. */
    const char *(*write)(void *client);
    /* The answer to that request. `status` as in http_client.h. */
    void (*answered)(void *client, int status, struct slice body);

    /* Before anything else, each time a client may send a request. */
    void (*wake)(void *client);
    /* The pause after an answer. NULL: work_client_think, or retry_ms. */
    int64_t (*pause)(void *client, int status);
    /* What the next table is like. Returns its name. */
    const char *(*table)(const void *client, struct dynamo_spec *spec);
    void (*describe)(const void *client, struct buffer *out);
    void (*client_deinit)(void *client);

    /* Of all clients: more than work_clients_* do for every kind. */
    void (*begin)(void *all);
    void (*end)(void *all);
    void (*describe_all)(const void *all, struct buffer *out);
    bool (*check)(const void *all, struct buffer *why);
    void (*deinit)(void *all);
};

struct work_clients_options {
    struct run *run;                   /* borrows */
    struct work_clients *const *kinds; /* borrows; all kinds of the run, complete at the begin */
    uint32_t first;                    /* the clients of the world are first .. first + count - 1 */
    uint32_t count;
    enum world_stream stream; /* from which the clients draw */
};

struct work_clients {
    const struct work_client_kind *kind; /* borrows */
    struct work_clients_options options;
    void *clients;    /* owns; count times kind->client_size */
    int64_t think_ns; /* between two requests: 0 .. this; the plan's, if the kind sets no other */
    uint32_t tables;  /* that the first client makes; set before the begin */
    uint32_t made;
    bool others_make; /* the table: the first client only awaits it */
    bool ending;
    struct instant quiet_from; /* 0: not known yet */
    struct buffer wrong;       /* what an answer must not say; empty: nothing */
};

/* Returns the struct of the kind, whose other members are zero. Borrows `kind`. */
void *work_clients_create(const struct work_client_kind *kind,
                          const struct work_clients_options *options);
void work_clients_destroy(struct work_clients *all);

void work_clients_begin(struct work_clients *all);
/* From now on `choose` leads every client to its end. */
void work_clients_end(struct work_clients *all);
bool work_clients_are_done(const struct work_clients *all);
/* Tells people what clients that are not done wait for. */
void work_clients_describe(const struct work_clients *all, struct buffer *out);
/* False: `why` tells what was wrong. */
bool work_clients_check(const struct work_clients *all, struct buffer *why);

/* ---- for the kinds ---- */

static inline struct instant work_clients_now(const struct work_clients *all)
{
    return all->options.run->world.scheduler.now;
}

static inline const struct plan *work_clients_plan(const struct work_clients *all)
{
    return &all->options.run->plan;
}

/* The clients of another kind of the run. */
static inline const struct work_clients *work_clients_of_run(const struct work_clients *all,
                                                             int kind)
{
    return all->options.kinds[kind];
}

/* The struct of the kind. */
void *work_clients_at(const struct work_clients *all, uint32_t number);
int work_clients_step(const struct work_clients *all, uint32_t number);
/* Whether all clients but the first are done. */
bool work_clients_others_are_done(const struct work_clients *all);
/* The same, and no request that they gave up is on its way any more. */
bool work_clients_are_quiet(struct work_clients *all);

/* In `choose`. False: the first client begins to make the next table, others stay idle. */
bool work_client_has_tables(struct work_client *c);
/* Draws the pause between two requests. */
int64_t work_client_think(struct work_client *c);
/* The pause after the nth refusal in a row: `ms`. Every eighth pause is long, and twice as long as
 * the last long one, up to `ms` << `doublings`. While it lasts, a table saves units, so that
 * refusals do not spend them all. The others stay short: what was asked for because of a request
 * must be used soon. */
int64_t work_client_pause_ns(uint32_t nth, int64_t ms, uint32_t doublings);
