/* lease.h - the tokens of one key that a router holds, and the demand of its clients. Internal to
 * client.c.
 *
 * Not here: the size of a grant. The server decides it by the table's policy (grant_policy.h). */
#pragma once

#include "base/token_bucket.h"
#include "gac/client.h"
#include "gac/waiting_line.h"

struct lease {
    struct gac_limit limit;
    int64_t tokens;
    struct instant expires_at;
    struct duration lifetime; /* as last answered */
    int64_t watermark;        /* below it, the router asks */
    int64_t left;   /* tokens after the last answer: no grant request before half is spent */
    int64_t need;   /* cost of the costliest request refused since the last grant request */
    uint32_t owner; /* server; 0: none */
    uint64_t epoch;
    uint64_t number;   /* of the last grant request in this epoch */
    int64_t spent;     /* in this epoch, by requests that are done */
    int64_t pending;   /* taken by requests that are not done */
    int64_t counted;   /* upper bound of what the server counts as held and pending */
    uint64_t notified; /* bit server - 1: asked before, so the server may remember a holding */
    bool requesting;   /* a grant request leaves at the end of the turn */
    bool awaiting;
    struct instant sent_at;
    uint32_t unanswered;       /* consecutive unanswered grant requests */
    struct instant request_at; /* no grant request before, except for less than was denied */
    int64_t requested_need;    /* in the last grant request */
    bool reports;              /* the grant request comes before `request_at`, to be told a time */
    int64_t denied;            /* need that the answer denied; 0: nothing denied */
    int64_t retry_cost;        /* a request of this cost is let in from `retry_at` on */
    struct instant retry_at;
    struct waiting_line *waiting_line; /* owns; NULL: nothing was refused yet */
    struct instant
        measured_at;  /* the begin of a stretch in which it is measured what clients get */
    int64_t measured; /* `taken` at that time */
    int64_t gets;     /* what clients got in the stretch before, mcu per second */
    struct instant taken_at;
    struct token_bucket reserve; /* the router's own part of the rate */
    bool unfilled;  /* no server: the reserve was empty then, and has let nothing in since */
    int64_t others; /* what other routers want, as last told; or GAC_UNKNOWN */
    int64_t share;  /* of the rate in `reserve`, in millionths, as last told; 0: even */
    uint32_t share_routers; /* so many may have been at work then */
    /* demand */
    struct instant slot_at; /* the slot's begin */
    int64_t slot_sum;
    int64_t slot_count; /* requests */
    int64_t demand;
    int64_t cost; /* of a request, on average */
    struct duration round_trip;
    uint64_t grant_requests;
    int64_t taken; /* in all, less tokens given back */
    uint64_t refused;
    bool active;     /* in the client's list */
    bool created;    /* this router created the table and tells its server */
    bool unsent;     /* the limit must be told to a server, and none has it yet */
    bool doubtful;   /* the limit may be outdated: another server is asked */
    uint64_t newest; /* newest version known to a server */
};

/* Counts a request's cost as demand. lease_demand returns the demand, mcu a second. */
void lease_add_demand(struct lease *l, struct instant now, int64_t cost);
int64_t lease_demand(struct lease *l, struct instant now);
