/* member.h - what a node knows of the other nodes' headroom for writes. A burst write needs
 * headroom at every member of its replication group.
 *
 * A policy decides on what is known (policy_headroom.c). Nodes may set tokens aside for each other:
 * that is the policy's choice, too.
 *
 * A member that is unresponsive for longer than the report deadline does no work. By default it is
 * not asked; enum dead_member has the alternatives. The member's next frame ends this state. No
 * acknowledgement of an entry comes before that frame. Until the member has set tokens aside again,
 * its reports replace the lease.
 *
 * Leases. The holder asks before it needs tokens: for as much as it spent and lacked lately, and
 * more while it runs short. It counts the lease's time from the sending of the request, so clocks
 * need not agree. Requests are numbered, so that a late or repeated grant adds nothing. Unspent
 * tokens expire.
 *
 * Promises: pure; O(1) per member; no allocation after init. Units: mcu of writes. */
#pragma once

#include "base/instant.h"

struct config;
struct policies;
struct token_bucket;
struct weir_headroom_policy;

struct member {
    /* the member's last report */
    bool is_known;
    bool shared; /* more than one partition bursts there */
    bool back;   /* has set no tokens aside since it was unresponsive last */
    struct instant received_at;
    int64_t balance_mcu;
    int64_t capacity_mcu;
    /* tokens that the member has set aside for this node */
    int64_t held_mcu;
    struct instant held_until;
    /* the request on its way, or the last request */
    uint64_t number;
    bool requesting;
    struct instant requested_at;
    int64_t spent_mcu;  /* since asked_at */
    int64_t lacked_mcu; /* since asked_at: cost of requests for which tokens were missing */
};

struct members {
    const struct weir_headroom_policy *policy; /* borrows */
    struct policies *policies;                 /* borrows; those loaded from files; may be NULL */
    int64_t dead;                              /* enum dead_member */
    struct duration deadline;                  /* of reports */
    struct duration lease;
    struct duration depth; /* in which an empty bucket of a node fills up */
    uint32_t count;
    struct member *nodes; /* owns; by node, 1 .. count */
};

extern const struct weir_headroom_policy weir_headroom_off;
extern const struct weir_headroom_policy weir_headroom_gauge;
extern const struct weir_headroom_policy weir_headroom_lease;
extern const struct weir_headroom_policy weir_headroom_refilled;

/* The configured policy. */
const struct weir_headroom_policy *headroom_policy_of(const struct config *config);

void members_init(struct members *m, const struct config *config, uint32_t node_count);
void members_deinit(struct members *m);
/* Whether nodes set tokens aside for each other. */
bool members_lease(const struct members *m);

/* The node's report has come. `shared`: more than one partition bursts there. */
void members_reported(struct members *m, uint32_t node, struct instant now, int64_t balance_mcu,
                      int64_t capacity_mcu, bool shared);
bool member_is_unresponsive(struct members *m, uint32_t node, struct instant now);

/* Whether the node has headroom for `cost_mcu` of a partition whose bursts took `taken_mcu` lately.
 * If not, `wait` gets the time until it has headroom if nobody else comes; INT64_MAX: not known. */
bool member_has(struct members *m, uint32_t node, struct instant now, int64_t cost_mcu,
                int64_t taken_mcu, struct duration *wait);
void member_spend(struct members *m, uint32_t node, struct instant now, int64_t cost_mcu);

/* ---- leases, on the holder's side ---- */

/* Whether to ask the node now, and for how much. */
bool member_is_request_due(struct members *m, uint32_t node, struct instant now, uint64_t *number,
                           int64_t *demand_mcu);
void member_granted(struct members *m, uint32_t node, struct instant now, uint64_t number,
                    int64_t granted_mcu);

/* ---- leases, on the granting side ---- */

/* Sets tokens aside: debits the node's bucket, and returns the amount. A holder gets at most half
 * of the balance. */
int64_t member_grant(struct token_bucket *node, struct instant now, int64_t demand_mcu);
