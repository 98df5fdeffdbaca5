/* controller_internal.h - what the controller's files share.
 *
 *   controller.c  looks, requests and their answers
 *   watch.c       how each partition's load went lately
 *   capacity.c    what nodes are promised to, and which of them could take a replica
 *   placement.c   missing replicas, silent nodes, drained nodes
 *   adaptive.c    allocations follow demand within a table
 *   on_demand.c   what tables on demand are made ready for follows their peaks
 *   split.c       partitions that are at their limits are cut, and those of tables with too few
 *   split_event.c what people are told of that
 *   merge.c       neighbours that have been cold for long become one partition
 *   balance.c     replicas leave nodes that are used up
 *   leaders.c     leading is spread over the nodes */
#ifndef WEIR_CONTROL_CONTROLLER_INTERNAL_H
#define WEIR_CONTROL_CONTROLLER_INTERNAL_H

#include "control/controller.h"
#include "engine/heat/split_point.h"

enum {
    SAMPLES = 36,       /* kept of a partition that is used */
    DECISIONS_MAX = 16, /* requests of one look */
    SPLIT_JOBS_MAX = 8  /* partitions being cut at once */
};

/* A partition's totals. */
struct sample {
    struct instant at; /* it was like that */
    struct load_total totals[ADMIT_KINDS];
};

/* What is remembered of a partition. */
struct watched {
    uint32_t table_id;
    const struct partition_load *load; /* lends for the look */
    uint64_t epoch;                    /* of the load; of another one nothing is remembered */
    struct instant born_at;            /* since then it is watched with that range */
    uint64_t seen;                     /* samples taken */
    struct instant sampled_at;
    struct sample *samples; /* owns; a ring, see watch.c */
    uint32_t room;          /* in it: SAMPLES; while it is not used 1, or 0 if it never was */
    struct instant throttled_since[ADMIT_KINDS]; /* INSTANT_NEVER: it is not */
    struct instant decay_at[ADMIT_KINDS];        /* an unused boost stays until then */
    struct instant split_at;                     /* it is not cut before */
    struct instant wanted_since;                 /* its load is a reason for a split */
    struct instant wanted_at;                    /* when that was seen last */
    struct instant quiet_until;                  /* no further event before */
    /* With the partition above, which is another one only if this one has another epoch too. */
    uint64_t above_epoch;      /* of that; 0: it was not seen yet */
    struct instant cold_since; /* both together, see merge.c */
    struct instant merge_at;   /* they are not merged before */
};

enum split_step {
    SPLIT_FREE,
    SPLIT_ADVICE, /* its leader is, or is to be, asked for advice */
    SPLIT_CUT     /* the catalog is, or is to be, asked to cut it */
};

/* A partition on its way to be cut. */
struct split_job {
    enum split_step step;
    uint32_t table_id;
    uint32_t partition;
    uint64_t epoch;
    /* why */
    enum admit_kind kind;
    bool refused; /* by the partition maximum, just now */
    int64_t rate_mcu;
    bool for_size;
    int64_t bytes;
    uint32_t wanted; /* of its table, to serve at once what it should; 0: that is not why */
    /* what was asked, and the answer */
    uint64_t id; /* 0: nothing yet */
    struct instant lost_at;
    bool answered;
    enum reply_code code;
    struct buffer answer; /* owns */
    uint32_t cut_count;
    struct buffer what; /* owns; the end of the event's sentence, once the cuts are known */
};

struct watched_node {
    struct instant silent_since; /* INSTANT_NEVER: it is not */
    struct instant quiet_until;
    struct instant sampled_at;
    int64_t sampled_mcu[ADMIT_KINDS];
    int64_t rate_mcu[ADMIT_KINDS]; /* over the last balance_window_ms */
};

/* What nodes are promised to, this look's decisions included. */
struct promises {
    int64_t loads_mcu[NODES_MAX + 1][ADMIT_KINDS];
    uint32_t work[NODES_MAX + 1]; /* replicas, a leader's counted twice */
};

struct controller {
    const struct config *config; /* borrows */
    uint64_t term;               /* of the last look */
    struct instant next_at;
    struct instant now;
    const struct control_view *view; /* lends for the look */
    struct id_map watched;           /* owns struct watched, by partition + 1: the catalog is 0 */
    struct watched_node nodes[NODES_MAX + 1];
    struct promises promises;
    struct instant adapted_at;  /* no allocation changes before */
    struct instant balanced_at; /* nor moves for balance */
    struct instant spread_at;   /* nor who leads, for balance */
    struct instant peaks_at;    /* no look at peaks before */
    struct instant peaks_quiet_until;
    struct split_job splits[SPLIT_JOBS_MAX];
    uint32_t unanswered; /* decisions */
    bool kept_waiting;   /* by them, at the last look */
    struct instant forget_at;
    uint64_t next_id;
    struct control_request requests[DECISIONS_MAX];
    uint32_t request_count;
    uint32_t request_next;
    struct arena arena; /* what they lend */
};

/* ---- controller.c ---- */

/* Room for another decision in this look. */
static inline bool control_has_room(const struct controller *c)
{
    return c->request_count < DECISIONS_MAX;
}
/* A request that is no decision; lends its body until the next look. */
struct request *control_ask(struct controller *c, uint32_t node, enum request_op op);
void control_decide(struct controller *c, enum catalog_op op, struct decision *d);
/* An event of the decision, with a reason that is formatted. */
void control_tell(struct controller *c, struct decision *d, enum event_kind kind,
                  const struct table *t, uint32_t partition, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
const char *control_kind_name(enum admit_kind kind); /* static */
void control_figures(struct decision *d, const char *what, int64_t before, int64_t after);

/* ---- watch.c ---- */

void control_watch(struct controller *c);
void control_forget(struct controller *c);
/* NULL: nothing was heard of it. */
struct watched *control_watched(const struct controller *c, uint32_t partition);
/* What came in the last `ms`, per second; not known until it was watched for half of that. */
struct rates {
    bool known; /* or all is 0 */
    int64_t consumed_mcu;
    int64_t refused_mcu;
    int64_t refused[ADMIT_REASONS]; /* requests in all of that time, not per second */
};
struct rates control_rates(const struct controller *c, const struct watched *w,
                           enum admit_kind kind, int64_t ms);

/* ---- capacity.c ---- */

void control_count_promises(struct controller *c);
int64_t control_capacity_mcu(const struct controller *c, uint32_t node, enum admit_kind kind);
/* Whose node carries it: every member the writes, the one that should lead the reads. */
static inline uint32_t control_carriers(const struct partition_info *p, enum admit_kind kind)
{
    return kind == ADMIT_READ ? 1 : p->member_count;
}
/* The node that could take a replica of it, promised to as much, and would be used least; 0: none.
 * `leads`: and the reads. */
uint32_t control_find_node(const struct controller *c, const struct partition_info *p,
                           const int64_t promised_mcu[ADMIT_KINDS], bool leads);
/* Decides the move, and counts it among the promises. The event is in `d`. */
void control_move(struct controller *c, const struct table *t, const struct partition_info *p,
                  uint32_t from, uint32_t to, struct decision *d);
/* Promises the table's partitions their equal shares of so much, in units a second, in place of
 * their allocations; all but one partition, if `without` is not NULL. False: that is beyond a
 * node's capacity, and nothing has changed. */
bool control_promise(struct controller *c, const struct table *t, const int64_t units[ADMIT_KINDS],
                     const struct partition_info *without);
/* Replicas on their way. */
uint32_t control_moving(const struct controller *c);

/* ---- policies: each looks at everything, and decides what it may ---- */

void control_place(struct controller *c);
void control_adapt(struct controller *c);
void control_on_demand(struct controller *c);
void control_balance(struct controller *c);
/* Whether the node consumes more than its share, of either kind. */
bool control_is_above(const struct controller *c, uint32_t node);
void control_lead(struct controller *c);
void control_split(struct controller *c);
/* Whether it is the answer to something asked for a split. */
bool control_split_reply(struct controller *c, const struct reply *reply);
void control_split_forget(struct controller *c);
/* Whether a partition of the table is about to be cut. */
bool control_split_has_job(const struct controller *c, const struct table *t);
/* Partitions that the table should have, for what it is to serve at once. */
uint32_t control_partitions_wanted(const struct controller *c, const struct table *t);
void control_merge(struct controller *c);
/* At every look, also at those that decide nothing: which partitions are cold. */
void control_note_cold(struct controller *c);

/* ---- split_event.c ---- */

/* The event of a job: why, and `what` became of it. */
void control_split_tell(struct controller *c, const struct table *t, const struct split_job *j,
                        enum event_kind kind, const char *what);
/* "not split: 91 % of the load is for one item, id="a". Spread it over several keys (..)" */
void control_split_tell_refusal(struct controller *c, const struct table *t,
                                const struct split_job *j, const struct split_advice *a);
/* ", with 27, 46 and 27 % of the writes; gains 702 write units a second: 500 of id="a" and 702 of
 * its neighbours are served instead of 500 in all; cut at id="a" and behind it": how the sentence
 * of a split goes on. */
void control_split_describe(const struct table *t, const struct split_job *j,
                            const struct split_advice *a, struct buffer *out);

#endif
