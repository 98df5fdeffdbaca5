/* lease.h - what a router holds of one key, and how much of it its clients want.
 * Internal to client.c. */
#ifndef WEIR_GAC_LEASE_H
#define WEIR_GAC_LEASE_H

#include "base/token_bucket.h"
#include "gac/client.h"

struct lease {
    struct gac_limit limit;
    int64_t tokens;
    struct instant expires_at;
    struct duration lifetime; /* as last answered */
    int64_t watermark;        /* below it, ask; and not before half of .. */
    int64_t left;             /* .. what the last answer left it with is spent */
    int64_t need;             /* of the dearest request that was not let in since the last ask */
    uint32_t owner;           /* server; 0: none */
    uint64_t epoch;
    uint64_t number;  /* of the last ask in this epoch */
    int64_t spent;    /* in this epoch, by requests that are done */
    int64_t pending;  /* by those that are not */
    int64_t told;     /* what its server takes it to have, pending included; or more */
    uint64_t told_at; /* bit server - 1: it was asked ever, and may remember something else */
    bool asking;      /* to go out at the end of the turn */
    bool awaiting;
    struct instant sent_at;
    uint32_t unanswered;   /* asks before it, one after the other */
    struct instant ask_at; /* not before, unless for less than was denied */
    int64_t asked_need;    /* in the last ask */
    int64_t denied;        /* by its answer; 0: nothing */
    struct instant taken_at;
    struct token_bucket reserve;
    /* demand */
    struct instant slot_at; /* the slot's begin */
    int64_t slot_sum;
    int64_t slot_count; /* requests */
    int64_t demand;
    int64_t cost; /* of a request, on average */
    struct duration round_trip;
    uint64_t asks;
    int64_t taken; /* ever, less what was given back */
    uint64_t refused;
    bool active;     /* in the client's list */
    bool created;    /* the table, by this router: its first server is told */
    bool untold;     /* no server has heard of this limit yet, and one should */
    bool doubtful;   /* the limit: another server is asked, which may know an older one */
    uint64_t newest; /* version that a server knew */
};

/* What is wanted now, mcu a second. */
void lease_want(struct lease *l, struct instant now, int64_t cost);
int64_t lease_demand(struct lease *l, struct instant now);

#endif
