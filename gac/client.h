/* client.h - a router's side of global admission control: the tokens that it holds, and when it
 * requests more.
 *
 * A request takes tokens without a message while the router holds tokens. The watermark is what
 * the router will spend while an answer is on its way: below the watermark the router sends one
 * grant request. Tokens live as long as the answer says, counted from the moment the grant request
 * was sent. No clocks have to agree.
 *
 * A refused request gets a retry time: when it would be admitted if no other came. Only a server
 * can compute that time, and only from a report of what the router spent. So a router that has
 * spent tokens since the last answer, and may not send a grant request yet, sends a report. The
 * server answers it with a time.
 *
 * A router that reaches no server uses its even part of the rate. A server that closed its link is
 * gone and grants nothing to other routers. An unresponsive server may still grant: the router
 * begins to use its even part once that server must count the router as timed out too. A router
 * that has just started tries to reach a server for a second, because it does not know how many
 * routers there are. The even part begins with no tokens: the first requests wait for them, for
 * gac_wait_ms at most.
 *
 * Under a policy with `share` (include/weir/policy.h) the router spends no tokens of servers. It
 * sends reports to learn the demand of other routers, and computes its own part of the rate from
 * that demand.
 *
 * Invariants
 *   LEDGER-6  tokens spent <= tokens granted and in life, plus the reserve, plus what requests cost
 *             more than was known when they were admitted (which is debt).
 *   LEDGER-7  one grant request of a key is on its way at a time. None is sent before the time in
 *             the last answer, except for something cheaper than what was denied, for a request
 *             whose retry time is over (LEDGER-8), or as a report.
 * Promises: no I/O, no clock; taking allocates nothing once the key is known. The first refusal of
 * a key does. Not here: links (host), requests that wait (router). */
#pragma once

#include "base/gac_policy.h"
#include "gac/gac_message.h"

struct config;
struct gac_client;

struct gac_client_options {
    const struct config *config; /* borrows */
    uint32_t servers; /* numbered 1 .. servers; 0: only policies without servers limit anything */
    uint64_t router;  /* random, of this life; not 0 */
};

struct gac_client *gac_client_create(const struct gac_client_options *options);
void gac_client_destroy(struct gac_client *c);

/* What a table may use, as its description says. */
struct gac_limit {
    struct gac_key key;
    enum gac_policy policy;
    int64_t rate;     /* mcu a second */
    uint64_t version; /* of the rate: the higher is the newer */
    int64_t level;    /* gac_client_take says: the tokens before it, mcu */
    bool outdated;    /* gac_client_take says: there is a newer one, or may be */
};

enum gac_verdict {
    GAC_TAKEN,
    GAC_WAIT,   /* they will come soon: try again when gac_client_changes has changed */
    GAC_REFUSED /* there are none */
};

/* Whether tokens are needed: the policy limits tables, and has the servers that it needs. */
bool gac_client_limits(const struct gac_client *c, const struct gac_limit *limit);
/* Routers keep limits, as the setting gac says, but not this one: its policy limits nothing. */
bool gac_client_exempts(const struct gac_client *c, const struct gac_limit *limit);
/* `wait`, if refused: > 0. A second try after that time succeeds, if no other request comes
 * meanwhile. */
enum gac_verdict gac_client_take(struct gac_client *c, struct instant now, struct gac_limit *limit,
                                 int64_t cost, struct duration *wait);
/* The time to tell to a refused request, whose `wait` is what gac_client_take said: later, if
 * other refused requests come before (waiting_line.h). `request`: the same number if the same
 * request comes again. */
struct duration gac_client_place(struct gac_client *c, struct instant now, struct gac_key key,
                                 int64_t cost, uint64_t request, struct duration wait);
/* The limit of a table has just been changed, or the table was created, by this router. The router
 * tells the table's server, even if no request wants tokens here; the server tells all routers. */
void gac_client_notify(struct gac_client *c, struct instant now, const struct gac_limit *limit,
                       bool created);
/* The request is done and has cost `used`. Must be called exactly once for each gac_client_take
 * that has taken tokens: until then the tokens count as pending. */
void gac_client_settle(struct gac_client *c, struct gac_key key, int64_t taken, int64_t used);

/* A number that rises whenever a waiting request may succeed. */
uint64_t gac_client_changes(const struct gac_client *c);

/* ---- servers ---- */

void gac_client_up(struct gac_client *c, struct instant now, uint32_t server);
/* `gone`: the other end closed the link; otherwise it cannot be reached. */
void gac_client_down(struct gac_client *c, struct instant now, uint32_t server, bool gone);
/* STATUS_MALFORMED: the link is to be closed. */
enum status gac_client_receive(struct gac_client *c, struct instant now, uint32_t server,
                               struct slice frame);

struct instant gac_client_deadline(const struct gac_client *c);
void gac_client_tick(struct gac_client *c, struct instant now);

/* At the end of a turn: the next frame to send, until there is none (false). Lends until the next
 * call. */
bool gac_client_next_frame(struct gac_client *c, struct instant now, uint32_t *server,
                           struct slice *frame);

/* ---- for people and tests ---- */

struct gac_holding {
    struct gac_key key;
    int64_t tokens;     /* below zero: debt */
    int64_t demand;     /* mcu a second */
    uint32_t owner;     /* 0: none can be reached */
    bool knows_routers; /* a server has told how many there are; false: takes all of the rate */
    uint64_t grant_requests; /* sent */
    uint64_t refused;
    int64_t taken; /* since it is known, less what was given back; mcu */
};

/* False: no tokens of the key were taken within ten minutes. */
bool gac_client_holding(const struct gac_client *c, struct instant now, struct gac_key key,
                        struct gac_holding *out);
