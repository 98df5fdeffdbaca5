/* router_internal.h - the router's state, for its own files only.
 *
 *   client --(a whole request)--> call --(subrequests)--> nodes
 *        ^                             |  \--(tables)------> route cache --> catalog
 *        \---------(answer)------------/
 *
 * Invariants:
 *   CORE-1  held_bytes is the sum of the bytes that clients, calls, and bodies whose call has ended
 *           account for. */
#pragma once

#include "base/id_map.h"
#include "base/metrics.h"
#include "base/prng.h"
#include "engine/admission/overload.h"
#include "router/core/call.h"
#include "router/core/client.h"
#include "router/core/own_writes.h"
#include "router/core/router.h"
#include "router/core/subrequest.h"
#include "router/json/api_error.h"

struct limit_waiters;
struct limiter;
struct node_watch;
struct records;
struct reply_slot;
struct request_metrics;

enum {
    BACKOFFS = 6,
    ROUTE_BUCKETS = 1024, /* a power of two */
    SPARE_BUFFERS = 64,
    SPARE_CALLS = 256,
    /* A buffer that grew larger is freed after its use. */
    KEPT_BUFFER_MAX = 64 * 1024,
};

struct router {
    struct router_options options;
    const struct config *config; /* borrows */
    struct instant now;
    struct waiting waited; /* the bytes that are being received, for the processor */
    int64_t wall_ms;       /* at wall_at */
    struct instant wall_at;
    int64_t agreed_ms; /* at agreed_at: router_agreed_ms */
    struct instant agreed_at;
    char date[HTTP_DATE_SIZE]; /* the text of date_s */
    int64_t date_s;
    struct instant date_until;
    char known_host[HTTP_HOST_MAX]; /* passes whatever host_names says: the last such one */
    size_t known_host_size;
    struct prng prng;
    uint64_t hash_seed;              /* of hashes of what clients send */
    uint32_t id_count;               /* request ids made */
    struct records *records;         /* owns: decision records; NULL: it keeps none */
    struct request_metrics *metrics; /* owns */
    uint32_t catalog_node;           /* a guess: the node that leads the catalog */
    struct gac_client *gac;          /* owns */
    struct limiter *limiter;         /* owns: the rate limiter (router/limiter) */
    struct own_writes own;           /* what it has acknowledged */
    struct json_parser *json;
    struct buffer scratch; /* a request's body, padded for the parser, for example */
    struct fault fault;    /* of the call at work */
    struct id_map clients;
    int64_t client_count;    /* clients of the public listener, without those turned away */
    struct timer_queue mute; /* clients that have sent nothing yet */
    struct timer_queue idle; /* clients between two requests */
    struct timer_queue unread;
    struct timer_queue arriving;
    struct timer_queue deadlines;
    struct timer_queue backoffs[BACKOFFS];
    struct timer_queue node_timeout;
    struct timer_queue node_polls;
    int64_t polls_to_give_up;   /* at an unresponsive node */
    struct node_watch *watches; /* owns; by node */
    struct overload overload;
    struct overload_peer *overload_peers; /* owns; by node */
    struct overload_excess excess;
    uint32_t pings_due;
    struct reply_slot *slots; /* owns */
    uint32_t slot_count;
    uint32_t slot_free; /* index + 1; 0: none */
    struct subrequest_queue sending;
    struct id_map limit_waiters;             /* by gac_key_number */
    LIST_HEAD(, limit_waiters) limit_queues; /* owns; one for each key that requests wait for */
    struct subrequest_queue refused;         /* by the router; told at the end of the event */
    uint64_t limit_changes; /* gac_client_changes when the waiting subrequests were last tried */
    struct timer_queue limit_waits;
    struct id_map late_replies; /* owns: late_replies.h */
    struct timer_queue late_timers;
    TAILQ_HEAD(, call) resting;      /* calls that go on in later turns, one in each */
    TAILQ_HEAD(, input_parse) texts; /* large bodies that wait to be parsed */
    struct input_parse *parsing; /* what the host parses, not in `texts` any more; NULL: nothing */
    TAILQ_HEAD(, client) output; /* clients with bytes or a close for the host */
    LIST_HEAD(, client) resume;  /* clients that were answered during the event */
    struct buffer lent;          /* the bytes of the last effect */
    struct buffer spare[SPARE_BUFFERS];
    uint32_t spare_count;
    struct call *spare_calls;
    uint32_t spare_call_count;
    struct call *finished;
    LIST_HEAD(, route_entry) routes[ROUTE_BUCKETS];
    uint32_t route_count;
    uint32_t route_evict;
    size_t held_bytes;
    struct metrics_router counters; /* the gauges in it are not used */
};

/* Sets the number of bytes that an owner accounts for. */
static inline void router_account(struct router *r, size_t *accounted, size_t bytes)
{
    must(r->held_bytes >= *accounted); /* CORE-1 */
    r->held_bytes = r->held_bytes - *accounted + bytes;
    *accounted = bytes;
}

bool router_over_budget(const struct router *r, uint64_t more);

static inline int64_t router_wall_ms(const struct router *r)
{
    return r->wall_ms + instant_since(r->now, r->wall_at).ns / NS_PER_MS;
}

/* What the catalog's answer says. A time that cannot be is no time. */
static inline void router_set_agreed(struct router *r, int64_t agreed_ms)
{
    const bool known = agreed_ms > 0 && agreed_ms < INT64_C(1) << 52;
    r->agreed_ms = known ? agreed_ms : 0;
    r->agreed_at = r->now;
}

/* What the clocks of most nodes have reached, as the catalog's answers tell. Streams and shards are
 * hidden by it, as the catalog forgets them by it: this router's clock may be ahead. */
static inline int64_t router_agreed_ms(const struct router *r)
{
    return r->agreed_ms + instant_since(r->now, r->agreed_at).ns / NS_PER_MS;
}

/* Sets the fault of a request or an answer that exceeds the memory budget. Always false. */
bool router_refuse_memory(struct router *r);

/* Writes an x-amzn-RequestId (request_id.h), and returns its number. */
uint64_t router_make_id(struct router *r, char out[HTTP_REQUEST_ID_SIZE]);

/* The Date of an answer: HTTP_DATE_SIZE characters, made once a second. */
const char *router_date(struct router *r);
