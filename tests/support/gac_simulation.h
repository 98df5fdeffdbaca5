/* gac_simulation.h - the token leases of routers and GAC servers in virtual time, for one table.
 *
 * The world has the two state machines of the protocol (gac/client.h, gac/server.h). There are no
 * real routers and nodes: requests are cheap. They arrive at each router by a Poisson process.
 * A router admits a request if it has tokens, lets the request wait if tokens are on their way, and
 * refuses it otherwise. An ideal bucket has the rate and the capacity of the table. What the ideal
 * bucket could not have admitted is over-admission. */
#pragma once

#include "base/config.h"
#include "base/gac_policy.h"
#include "base/prng.h"
#include "base/token_bucket.h"
#include "gac/client.h"
#include "gac/server.h"
#include "sim/world/scheduler.h"

enum {
    GAC_SIMULATION_ROUTERS = 32,
    GAC_SIMULATION_SERVERS = 5,
    GAC_SIMULATION_COST = 1000 /* mcu of a request */
};

struct gac_simulation_options {
    uint32_t routers;
    uint32_t servers;
    enum gac_policy policy;
    const char *named;     /* for GAC_NAMED: the setting gac_policy */
    int64_t units;         /* a second: what the table may use */
    int64_t bank_ms;       /* what it may save up, as time at that rate */
    int64_t delay_ns;      /* of a message, on average */
    int64_t drift_ppm;     /* clocks run up to this much too fast or slow */
    int64_t skew_ns;       /* and are set apart by up to this much */
    int64_t costly_mcu;    /* one request in `costly_every`; the others cost GAC_SIMULATION_COST */
    uint64_t costly_every; /* 0: none is costly */
    uint64_t seed;
};

struct gac_link {
    bool cut;           /* nothing arrives, and no end is told */
    uint64_t life;      /* frames of an earlier life of the link are lost */
    int64_t last_ns[2]; /* by direction: arrival of the last frame, so that frames stay in order */
};

struct gac_simulation_router {
    struct gac_client *client; /* owns; NULL: down */
    uint64_t life;
    int64_t per_second;    /* requests that arrive, in thousandths */
    uint32_t flow;         /* counts changes of the load: arrivals of earlier flows are dropped */
    uint64_t changes;      /* gac_client_changes that the waiting requests have seen */
    uint32_t waiting;      /* requests */
    struct instant *until; /* owns; when each of them is refused, in order */
    int64_t *costs;        /* owns; the cost of each of them */
    uint32_t waiting_capacity;
    struct instant tick_at;
    int64_t clock_offset_ns;
    int64_t clock_ppm;
    uint64_t offered, admitted, refused;
};

struct gac_simulation_server {
    struct gac_server *server; /* owns; NULL: down */
    uint64_t life;
    int64_t clock_offset_ns;
    int64_t clock_ppm;
};

struct gac_simulation {
    struct gac_simulation_options options;
    struct config config;
    struct scheduler scheduler;
    struct prng prng;
    struct gac_simulation_router routers[GAC_SIMULATION_ROUTERS];
    struct gac_simulation_server servers[GAC_SIMULATION_SERVERS + 1];
    struct gac_link links[GAC_SIMULATION_ROUTERS][GAC_SIMULATION_SERVERS + 1];
    uint64_t next_link;
    struct token_bucket ideal;
    int64_t over_mcu;  /* the most by which the ideal bucket was overdrawn */
    uint64_t messages; /* frames with grant requests, and their answers */
    uint64_t offered, admitted, refused;
    uint64_t costly_admitted;
};

void gac_simulation_init(struct gac_simulation *w, const struct gac_simulation_options *options);
void gac_simulation_deinit(struct gac_simulation *w);

/* Sets the load of a router from now on: requests a second, in thousandths. */
void gac_simulation_load(struct gac_simulation *w, uint32_t router, int64_t per_second_thousandths);
void gac_simulation_run(struct gac_simulation *w, int64_t ns);
/* Counters and the measure of over-admission start again. The ideal bucket goes on. */
void gac_simulation_measure(struct gac_simulation *w);

/* The process ends: its links close, and the other ends see that. */
void gac_simulation_crash_server(struct gac_simulation *w, uint32_t server);
void gac_simulation_start_server(struct gac_simulation *w, uint32_t server);
void gac_simulation_crash_router(struct gac_simulation *w, uint32_t router);
void gac_simulation_start_router(struct gac_simulation *w, uint32_t router);
/* Messages between the two are lost from now on, or arrive again. */
void gac_simulation_cut(struct gac_simulation *w, uint32_t router, uint32_t server, bool cut);

/* The mcu that all routers hold. */
int64_t gac_simulation_held(const struct gac_simulation *w);
/* The server that answers for the table, by the first router that knows. 0: no router knows. */
uint32_t gac_simulation_owner(const struct gac_simulation *w);
