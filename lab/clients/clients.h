/* clients.h - a scenario's clients, which send real HTTP requests: in the simulated world
 * (lab/fidelity/full/), or to processes (lab/fidelity/real/).
 *
 * Each workload has a pool of connections to each router. A connection carries one request at a
 * time. A request that finds no free connection opens one. If the pool is at its bound, the request
 * waits for a connection.
 * A request is measured when its attempt ends. Its latency counts from the time at which it was
 * due. If a workload hedges, a read may have a second attempt at another router. The first good
 * answer counts. The other attempt keeps its connection until its answer comes, which nobody looks
 * at. A read is measured as if its item existed. At the start the tables hold no item that is
 * asked for.
 *
 * The same calls give the same requests. Time comes from the scheduler.
 * Not here: the network, tables, faults. */
#pragma once

#include "lab/scenario/scaling.h"

struct clients_port {
    void *context; /* borrows */
    /* A connection to the router, counted from 0. Its handle is never used again. 0: none can be
     * made now. What is sent before the connection is up is kept. */
    uint64_t (*connect)(void *context, uint32_t router);
    /* False: the connection is down. */
    bool (*send)(void *context, uint64_t connection, struct slice bytes);
    /* Nothing more is told of the connection. */
    void (*close)(void *context, uint64_t connection);
};

struct clients_options {
    const struct scenario *scenario; /* borrows */
    uint64_t seed;
    struct measure *measure;     /* borrows; without an optimum */
    struct scheduler *scheduler; /* borrows */
    struct clients_port port;
    int64_t wall_ms;          /* the wall clock when the run begins, for times to live */
    uint32_t connections_max; /* of a workload to a router */
};

struct clients;

struct clients *clients_create(const struct clients_options *options);
/* No event of the scheduler may run afterwards. */
void clients_destroy(struct clients *c);

/* The run begins now: the time of its start. */
void clients_begin(struct clients *c);
/* Time since the start of the run. */
int64_t clients_now_ns(const struct clients *c);

/* Bytes came over a connection, or it is down. */
void clients_received(struct clients *c, uint64_t connection, struct slice bytes);
void clients_closed(struct clients *c, uint64_t connection);

/* What the table's admitted requests have cost so far, in mcu, as far as their answers have
 * come. */
void clients_consumed(const struct clients *c, uint32_t place, uint32_t copy,
                      int64_t mcu[ADMIT_KINDS]);

/* Tokens that requests to the buckets of the scenario's limit have taken, in mcu: as far as
 * answers tell; and those of requests whose outcome is not known, now or for ever. */
void clients_acquired(const struct clients *c, uint32_t limit, int64_t *mcu, int64_t *unknown_mcu);

/* The table's throughput has changed: over-admission is counted against it from now on. */
void clients_set_limit(struct clients *c, const struct scaling_update *u);

/* Attempts that were sent so far. */
uint64_t clients_requests(const struct clients *c);
