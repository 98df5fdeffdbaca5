/* controller_internal.h - declarations shared by the controller's files.
 *
 *   controller.c       evaluations, requests and their answers
 *   load_history.c     the recent load of each partition
 *   capacity.c         reservations on nodes
 *   relocate.c         which replica moves, and which node gets it, as a policy says
 *   placement.c        missing replicas, unresponsive nodes, drained nodes
 *   decision_points.c  policies by name
 *   adaptive.c         allocations follow demand within a table, as a policy says
 *   policy_*.c         weir's own policies; each includes include/weir/policy.h alone
 *   on_demand.c        peaks of tables on demand
 *   split.c            splits partitions as a policy says, and tables with too few partitions
 *   split_policy.c     what policies of splits see and say
 *   split_hold.c       how long a load lasts before its partition is split
 *   split_event.c      the events of splits
 *   merge.c            merges neighbours that have long been cold
 *   balance.c          replicas leave overloaded nodes
 *   indexes.c          the events of global indexes that hold up writes
 *   streams.c          the events of records that are trimmed early
 *   key_sharding.c          hot partition keys get more shards
 *   advice.c           advice about the design of keys
 *   leaders.c          leadership is spread over the nodes */
#pragma once

#include "control/controller.h"
#include "control/decision_points.h"
#include "engine/message/message.h"
#include "include/weir/policy_base.h"
#include "include/weir/policy_relocate.h"

struct reply;

enum {
    SAMPLES = 36,       /* samples kept of a used partition */
    DECISIONS_MAX = 16, /* requests of one evaluation */
    SPLIT_JOBS_MAX = 8, /* partitions being split at once */
    KEY_SHARDING_NOTES_MAX = 64
};

enum control_advice {
    ADVICE_SEQUENTIAL,
    ADVICE_ONE_KEY,
    ADVICE_FEW_KEYS,
    ADVICE_IDLE_UNITS,
    ADVICE_KINDS
};

/* The advice that a table got. */
struct advised {
    uint32_t table_id;
    bool given[ADVICE_KINDS];
    struct instant given_at[ADVICE_KINDS];
};

/* What key_sharding.c did lately, and does not do again before that time. */
struct key_sharding_note {
    uint32_t table_id;
    uint64_t hash; /* of a key; 0: of the table */
    struct instant until;
};

/* A partition's totals: of struct load_total what the controller asks for, to keep samples
 * small. */
struct sampled_total {
    int64_t consumed_mcu;
    int64_t refused_mcu;
    int64_t refused_cap;   /* requests, by the partition maximum */
    int64_t refused_burst; /* requests, by the allocation or a member: a larger allocation helps */
};

struct sample {
    struct instant at; /* when the totals were true */
    struct sampled_total totals[ADMIT_KINDS];
};

/* What is remembered of a partition. */
struct partition_history {
    uint32_t table_id;
    const struct partition_load *load; /* lends for the evaluation */
    uint64_t epoch;                    /* of the load; another epoch drops all samples */
    struct instant created_at;         /* start of the watch with this range */
    uint64_t seen;                     /* samples taken */
    uint64_t reported_in;              /* the number of the last evaluation that had a load */
    uint64_t rated_in;                 /* the last one that changed its allocation */
    struct instant sampled_at;
    struct sample *samples; /* owns; a ring, see load_history.c */
    uint32_t room;          /* of the ring: SAMPLES; 1 while idle; 0 if never used */
    struct instant throttled_since[ADMIT_KINDS]; /* INSTANT_NEVER: no */
    /* The states of policies. */
    _Alignas(8) uint8_t adaptive_state[ADMIT_KINDS][WEIR_POLICY_STATE_MAX];
    _Alignas(8) uint8_t split_state[WEIR_POLICY_STATE_MAX];
    int64_t trimmed_early;              /* records, by the last evaluation */
    struct instant trimmed_reported_at; /* the last event that has told of them */
    bool trimmed_reported;              /* there was one */
    int64_t index_refused;              /* writes, for a global index that does not keep up */
    struct instant index_refused_at;    /* the last of them */
    bool index_reported;                /* an event has told of them, and none that they are over */
    struct instant split_at;            /* not split before this time */
    struct instant quiet_until;         /* no further event before this time */
    /* About the pair with the partition above. A new partition above gives this one a new epoch
     * too. */
    uint64_t above_epoch;      /* of the partition above; 0: not seen yet */
    struct instant cold_since; /* both together: see merge.c */
    struct instant merge_at;   /* not merged before this time */
};

enum split_step {
    SPLIT_FREE,
    SPLIT_ADVICE, /* its leader is or will be asked for advice */
    SPLIT_SENT    /* the catalog is or will be asked to split it */
};

/* A partition that is being split. */
struct split_job {
    enum split_step step;
    uint32_t table_id;
    uint32_t partition;
    uint64_t epoch;
    /* why */
    enum admit_kind kind;
    bool refused; /* by the partition maximum, recently */
    int64_t rate_mcu;
    bool for_size;
    bool evenly; /* the leader is not asked */
    int64_t bytes;
    uint32_t required; /* partitions, for the table's warm throughput; 0: not the reason */
    /* the request, and its answer */
    uint64_t id; /* 0: nothing yet */
    struct instant lost_at;
    bool answered;
    enum reply_code code;
    struct buffer answer; /* owns */
    uint32_t point_count;
    struct buffer what; /* owns; the end of the event's text, once the split points are known */
};

struct node_history {
    struct instant unresponsive_since; /* INSTANT_NEVER: no */
    struct instant quiet_until;
    struct instant sampled_at;
    int64_t sampled_mcu[ADMIT_KINDS];
    int64_t rate_mcu[ADMIT_KINDS]; /* over the last balance_window_ms */
};

struct controller {
    const struct config *config; /* borrows */
    uint64_t term;               /* of the last evaluation */
    struct instant next_at;
    struct instant now;
    uint64_t evaluations;          /* so far */
    uint32_t moved[DECISIONS_MAX]; /* partitions whose replicas this evaluation moves, or leads */
    uint32_t moved_count;
    const struct control_view *view; /* lends for the evaluation */
    struct id_map histories; /* owns struct partition_history, by partition + 1: the catalog is 0 */
    struct node_history nodes[NODES_MAX + 1];
    struct reservations reservations; /* this evaluation's decisions included */
    struct instant adapted_at;        /* no change of allocations before this time */
    struct instant balanced_at;       /* no move for balance before this time */
    struct instant spread_at;         /* no move of leadership for balance before this time */
    struct instant peaks_at;          /* no check of peaks before this time */
    struct instant peaks_quiet_until;
    struct split_job splits[SPLIT_JOBS_MAX];
    struct key_sharding_note key_sharding_notes[KEY_SHARDING_NOTES_MAX]; /* a ring */
    uint32_t key_sharding_note_next;
    struct id_map split_outcomes; /* owns struct split_outcome, by table (split_hold.c) */
    struct id_map advised;        /* owns struct advised, by table */
    struct instant advised_at;    /* no check for advice before this time */
    uint32_t unanswered;          /* decisions */
    bool kept_waiting;            /* the last evaluation waited for unanswered decisions */
    struct instant timeout_at;
    uint64_t next_id;
    struct control_request requests[DECISIONS_MAX];
    uint32_t request_count;
    uint32_t request_next;
    struct arena arena; /* memory that the requests lend */
};

/* ---- controller.c ---- */

/* Policies pass kinds: any value may come. */
static inline bool control_is_kind(enum weir_policy_kind kind)
{
    return kind == WEIR_POLICY_READ || kind == WEIR_POLICY_WRITE;
}

/* Room for another decision in this evaluation. */
static inline bool control_has_room(const struct controller *c)
{
    return c->request_count < DECISIONS_MAX;
}
/* A request that is not a decision. Its body lends until the next evaluation. */
struct request *control_add_request(struct controller *c, uint32_t node, enum request_op op);
void control_decide(struct controller *c, enum catalog_op op, struct decision *d);
/* Adds an event to the decision, with a formatted reason. */
void control_event(struct controller *c, struct decision *d, enum event_kind kind,
                   const struct table *t, uint32_t partition, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
const char *control_kind_name(enum admit_kind kind); /* static */
void control_figures(struct decision *d, const char *what, int64_t before, int64_t after);

/* ---- decision_points.c ---- */

/* The policy of one of the controller's points, as the settings name it: a struct of
 * include/weir/policy.h. Lends as long as the settings' policies. */
const void *control_policy(const struct controller *c, enum policy_point point);
/* Around each call of a policy. */
int64_t control_call_begin(const struct controller *c, const void *policy);
void control_call_end(const struct controller *c, const void *policy, int64_t begun_ns);
/* The policy did what makes no sense: it is counted, and told the first time. */
void control_report_invalid(const struct controller *c, const void *policy, const char *what);

/* ---- load_history.c ---- */

void control_history_update(struct controller *c);
void control_history_deinit(struct controller *c);
/* NULL: no load was reported. */
struct partition_history *control_history(const struct controller *c, uint32_t partition);
/* The load of the last `ms`, per second. Unknown until the partition was watched for half of that
 * time. */
struct rates {
    bool known; /* false: all figures are 0 */
    int64_t consumed_mcu;
    int64_t refused_mcu;
    int64_t refused_cap;   /* requests in the whole time, not per second: struct sampled_total */
    int64_t refused_burst; /* the same */
};
struct rates control_rates(const struct controller *c, const struct partition_history *w,
                           enum admit_kind kind, int64_t ms);

/* ---- capacity.c ---- */

int64_t control_capacity_mcu(const struct controller *c, uint32_t node, enum admit_kind kind);
/* The members that carry the load: every member carries the writes, the first member the reads. */
static inline uint32_t control_carriers(const struct partition_info *p, enum admit_kind kind)
{
    return kind == ADMIT_READ ? 1 : p->member_count;
}
/* Decides the move, and adds it to the reservations. `d` has the event. */
void control_move(struct controller *c, const struct table *t, const struct partition_info *p,
                  uint32_t from, uint32_t to, struct decision *d);
/* Reserves for the table's partitions equal shares of `units` per second instead of their
 * allocations. `without`, if not NULL, gets no share. False: a node's capacity is too small, and
 * nothing has changed. */
bool control_reserve(struct controller *c, const struct table *t, const int64_t units[ADMIT_KINDS],
                     const struct partition_info *without);
/* Whether this evaluation has decided about the partition, so that nothing else may: what is
 * reserved for it is as of before. */
bool control_is_decided(const struct controller *c, uint32_t partition);
void control_note_moved(struct controller *c, uint32_t partition);
/* The count of replicas that are being moved. */
uint32_t control_moving(const struct controller *c);

/* ---- relocate.c ---- */

/* A replica that may move. */
struct control_replica {
    const struct partition_info *partition;
    uint32_t from; /* 0: a new replica */
    enum weir_move_why why;
    const int64_t *reserved_mcu; /* by enum admit_kind: what is reserved for the partition then */
};
/* The node that gets the replica, as the policy says; 0: none could take it, or none should. The
 * first of its group takes the reads along. */
uint32_t control_find_node(const struct controller *c, const struct control_replica *r);
/* How much the replica should leave its node, which has too much of that kind; 0 and less: it
 * stays. */
int64_t control_rank(const struct controller *c, const struct control_replica *r,
                     enum admit_kind kind);
/* What the partition costs the node per second; 0: nothing, or no replica there. */
int64_t control_replica_cost(const struct controller *c, const struct partition_info *p,
                             uint32_t node, enum admit_kind kind);

/* ---- policies: each sees everything, and decides what it may ---- */

void control_place(struct controller *c);
void control_adapt(struct controller *c);
void control_on_demand(struct controller *c);

/* ---- indexes.c ---- */

/* Tells when global indexes begin to hold up writes of their table, and when that is over. */
void control_indexes(struct controller *c);

/* ---- streams.c ---- */
void control_streams(struct controller *c);

/* ---- key_sharding.c ---- */
void control_key_sharding(struct controller *c);
/* The shards that a key needs which is asked for so much per second: 1 to KEY_SHARDS_MAX. */
uint32_t control_shards_for(int64_t mcu, int64_t shard_units);

/* ---- advice.c ---- */
void control_advise(struct controller *c);
void control_advice_reset(struct controller *c);

/* ---- split_hold.c ---- */

/* A partition of the table was split for its load. */
void control_split_hold_note(struct controller *c, uint32_t table_id, enum admit_kind kind);
/* How long a load of the table must last before the next split. */
int64_t control_split_hold_ms(const struct controller *c, uint32_t table_id);
/* Judges the splits. */
void control_split_hold_update(struct controller *c);
void control_split_hold_deinit(struct controller *c);
void control_balance(struct controller *c);
/* Whether the node consumes more than its share, of either kind. */
bool control_is_above(const struct controller *c, uint32_t node);
void control_lead(struct controller *c);
void control_split(struct controller *c);
/* Whether the answer belongs to a request of a split. */
bool control_split_reply(struct controller *c, const struct reply *reply);
void control_split_reset(struct controller *c);
/* Whether a partition of the table is about to be split. */
bool control_split_has_job(const struct controller *c, const struct table *t);
/* Partitions that the table needs to serve its warm throughput. */
uint32_t control_partitions_required(const struct controller *c, const struct table *t);
void control_merge(struct controller *c);
/* Notes which partitions are cold: at every evaluation, also at evaluations without decisions. */
void control_note_cold(struct controller *c);

/* Whether partitions have limits: otherwise a split adds nothing. */
bool control_split_is_limited(const struct controller *c);

/* ---- split_policy.c ---- */

/* Whether the policy triggers a split. Puts into the job: its reason, rate and `evenly`. False: no
 * split. The partition's load was reported. */
bool control_split_trigger(struct controller *c, const struct table *t,
                           const struct partition_info *p, struct split_job *j);
/* What the policy says to the leader's advice. SPLIT_DECISION_INVALID: nothing that makes sense. */
enum split_decision {
    SPLIT_DECISION_INVALID,
    SPLIT_DECISION_NONE,
    SPLIT_DECISION_POINTS, /* those that are left in `advice` */
    SPLIT_DECISION_EVENLY
};
enum split_decision control_split_decide(struct controller *c, const struct table *t,
                                         const struct split_job *j, struct split_advice *advice);
/* Into how many equal pieces; 0: the policy says nothing that makes sense. */
uint32_t control_split_pieces(struct controller *c, const struct table *t,
                              const struct split_job *j);

/* ---- split_event.c ---- */

/* The event of a job: its reason, and `what` happened. */
void control_split_event(struct controller *c, const struct table *t, const struct split_job *j,
                         enum event_kind kind, const char *what);
/* "not split: 91 % of the load is for one item, id="a". Spread it over several keys (..)" */
void control_split_refusal_event(struct controller *c, const struct table *t,
                                 const struct split_job *j, const struct split_advice *a);
/* ", with 27, 46 and 27 % of the writes; gains 702 write units a second: 500 of id="a" and 702 of
 * its neighbours are served instead of 500 in all; split at id="a" and behind it": how the sentence
 * of a split goes on. */
void control_split_describe(const struct table *t, const struct split_job *j,
                            const struct split_advice *a, struct buffer *out);
