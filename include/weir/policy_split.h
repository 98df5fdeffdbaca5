/* weir/policy_split.h - the controller: splits. Part of weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A partition that may be split, at one evaluation of the controller. Amounts are mcu per second.
 * What does not exist is 0 or NULL. */
struct weir_split;

WEIR_POLICY_API int64_t weir_split_now_ns(const struct weir_split *c);
/* How long the controller has known the partition with this range of keys. */
WEIR_POLICY_API int64_t weir_split_age_ns(const struct weir_split *c);
/* Whether partitions have a maximum: without one, a split lets no more through. */
WEIR_POLICY_API bool weir_split_is_limited(const struct weir_split *c);
WEIR_POLICY_API int64_t weir_split_maximum(const struct weir_split *c, enum weir_policy_kind kind);
/* What the table may use in all, or the global index that the partition belongs to. INT64_MAX:
 * nothing limits it. */
WEIR_POLICY_API int64_t weir_split_table_limit(const struct weir_split *c,
                                               enum weir_policy_kind kind);
/* Means over the last `window_ns`, 15 s at most; 0 until half of that time was seen. */
WEIR_POLICY_API int64_t weir_split_consumed(const struct weir_split *c, enum weir_policy_kind kind,
                                            int64_t window_ns);
WEIR_POLICY_API int64_t weir_split_refused(const struct weir_split *c, enum weir_policy_kind kind,
                                           int64_t window_ns);
/* Requests that the maximum refused in that time. */
WEIR_POLICY_API int64_t weir_split_refusals(const struct weir_split *c, enum weir_policy_kind kind,
                                            int64_t window_ns);
/* For how long the leader has seen demand above the maximum, without a break. Below 0: the leader
 * has said nothing of late. */
WEIR_POLICY_API int64_t weir_split_excess_ns(const struct weir_split *c,
                                             enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_split_bytes(const struct weir_split *c);
/* Partitions of the table. */
WEIR_POLICY_API uint32_t weir_split_partitions(const struct weir_split *c);
/* Partitions that the table needs for what it is to serve at once. In `pieces`: 0 if that is not
 * the reason for the split. */
WEIR_POLICY_API uint32_t weir_split_needed(const struct weir_split *c);
/* The state of the partition: as weir_rates_state. */
WEIR_POLICY_API void *weir_split_state(const struct weir_split *c);

enum weir_split_setting {
    WEIR_SPLIT_PERCENT,   /* split_percent */
    WEIR_SPLIT_WINDOW_NS, /* split_window_ms */
    WEIR_SPLIT_HOLD_NS,   /* split_hold_ms; longer for a table whose last splits were futile */
    WEIR_SPLIT_DELAY_NS,  /* split_delay_ms */
    WEIR_SPLIT_BYTES,     /* partition_max_bytes */
    WEIR_SPLIT_BY_LOAD    /* split_by_load: 0 or 1 */
};

WEIR_POLICY_API int64_t weir_split_setting(const struct weir_split *c, enum weir_split_setting s);

/* In `decide`: what the partition's leader says about its heat. */
enum weir_split_advice {
    WEIR_SPLIT_ADVISED = 0,
    WEIR_SPLIT_FEW_SAMPLES = 1, /* too little was seen */
    WEIR_SPLIT_POPULAR_KEY = 2, /* one key carries the load */
    WEIR_SPLIT_SEQUENTIAL = 3,  /* the load moves on */
    WEIR_SPLIT_COLLECTION = 4,  /* the load is in one item collection that must stay whole */
    WEIR_SPLIT_NO_BENEFIT = 5   /* no more would be served */
};

WEIR_POLICY_API uint32_t weir_split_advice(const struct weir_split *c); /* enum weir_split_advice */
/* The split points that the leader offers, in the order of their keys: 0 unless the split is
 * advised. `point` points make point + 1 pieces. */
WEIR_POLICY_API uint32_t weir_split_points(const struct weir_split *c);
/* The part of the load of piece `index`, between the points index - 1 and index. */
WEIR_POLICY_API uint32_t weir_split_share_ppm(const struct weir_split *c,
                                              enum weir_policy_kind kind, uint32_t index);
/* What is served of the load now, and if all points are taken. */
WEIR_POLICY_API int64_t weir_split_served_now(const struct weir_split *c,
                                              enum weir_policy_kind kind);
WEIR_POLICY_API int64_t weir_split_served_then(const struct weir_split *c,
                                               enum weir_policy_kind kind);
/* The part of the load of the heaviest key, if it is known. */
WEIR_POLICY_API uint32_t weir_split_key_ppm(const struct weir_split *c);

/* What triggers a split: an event names it. */
enum weir_split_trigger_why {
    WEIR_SPLIT_TRIGGER_NONE = 0,
    WEIR_SPLIT_TRIGGER_CONSUMED = 1, /* the partition consumes `rate_mcu` */
    WEIR_SPLIT_TRIGGER_REFUSED =
        2,                      /* the partition is at its maximum, and the demand is `rate_mcu` */
    WEIR_SPLIT_TRIGGER_SIZE = 3 /* the partition has too many bytes */
};

/* Zero when `trigger` is called: no split. */
struct weir_split_trigger {
    uint32_t why;  /* enum weir_split_trigger_why */
    uint32_t kind; /* enum weir_policy_kind, of rate_mcu */
    /* 1: split into equal parts of the hashes (`pieces`). 0: query the leader, which offers points.
     * For the size, the leader offers the middle of its bytes. */
    uint32_t evenly;
    uint32_t unused; /* 0 */
    int64_t rate_mcu;
};

enum weir_split_decision_how {
    /* No split. The partition rests for split_backoff_ms, and an event has the reason. After
     * WEIR_SPLIT_FEW_SAMPLES: for split_retry_ms, without an event. */
    WEIR_SPLIT_DECISION_WHOLE = 0,
    WEIR_SPLIT_DECISION_POINTS = 1, /* at the offered points whose bits are set in `points` */
    WEIR_SPLIT_DECISION_EVENLY = 2  /* into equal parts of the hashes (`pieces`) */
};

/* Zero when `decide` is called. */
struct weir_split_decision {
    uint32_t how;    /* enum weir_split_decision_how */
    uint32_t points; /* bit i: point i */
};

/* Chosen by the setting split_policy. The host calls it for partitions that are not being split or
 * moved, and do not rest after a failed attempt. */
struct weir_split_policy {
    uint32_t size;
    uint32_t state_bytes;
    const char *name;
    uint64_t flags; /* 0 */
    /* At every evaluation, about each partition. Required. */
    union {
        void (*trigger)(struct weir_split *c, struct weir_split_trigger *trigger);
        void (*wish)(struct weir_split *c, struct weir_split_trigger *wish); /* the former name */
    };
    /* After the trigger: the leader has answered. NULL: at all offered points, if there are any. */
    union {
        void (*decide)(struct weir_split *c, struct weir_split_decision *decision);
        void (*choose)(struct weir_split *c, struct weir_split_decision *choice); /* the same */
    };
    /* Into how many equal parts, 2 to WEIR_POLICY_PIECES_MAX: after WEIR_SPLIT_DECISION_EVENLY,
     * after a trigger with `evenly`, or since the table has fewer partitions than it needs (the
     * host has taken the partition with the most hashes). NULL: 2. */
    uint32_t (*pieces)(struct weir_split *c);
};

/* The former names, for one version. */
#define weir_cut             weir_split
#define weir_cut_now_ns      weir_split_now_ns
#define weir_cut_age_ns      weir_split_age_ns
#define weir_cut_is_limited  weir_split_is_limited
#define weir_cut_maximum     weir_split_maximum
#define weir_cut_table_limit weir_split_table_limit
#define weir_cut_consumed    weir_split_consumed
#define weir_cut_refused     weir_split_refused
#define weir_cut_refusals    weir_split_refusals
#define weir_cut_excess_ns   weir_split_excess_ns
#define weir_cut_bytes       weir_split_bytes
#define weir_cut_partitions  weir_split_partitions
#define weir_cut_needed      weir_split_needed
#define weir_cut_state       weir_split_state
#define weir_cut_setting     weir_split_setting
#define weir_cut_advice      weir_split_advice
#define weir_cut_points      weir_split_points
#define weir_cut_share_ppm   weir_split_share_ppm
#define weir_cut_served_now  weir_split_served_now
#define weir_cut_served_then weir_split_served_then
#define weir_cut_key_ppm     weir_split_key_ppm
#define WEIR_CUT_PERCENT     WEIR_SPLIT_PERCENT
#define WEIR_CUT_WINDOW_NS   WEIR_SPLIT_WINDOW_NS
#define WEIR_CUT_HOLD_NS     WEIR_SPLIT_HOLD_NS
#define WEIR_CUT_DELAY_NS    WEIR_SPLIT_DELAY_NS
#define WEIR_CUT_BYTES       WEIR_SPLIT_BYTES
#define WEIR_CUT_JUDGE       WEIR_SPLIT_BY_LOAD
#define WEIR_CUT_ADVISED     WEIR_SPLIT_ADVISED
#define WEIR_CUT_FEW_SAMPLES WEIR_SPLIT_FEW_SAMPLES
#define WEIR_CUT_POPULAR_KEY WEIR_SPLIT_POPULAR_KEY
#define WEIR_CUT_SEQUENTIAL  WEIR_SPLIT_SEQUENTIAL
#define WEIR_CUT_COLLECTION  WEIR_SPLIT_COLLECTION
#define WEIR_CUT_NO_BENEFIT  WEIR_SPLIT_NO_BENEFIT
#define weir_wish            weir_split_trigger
#define weir_wish_why        weir_split_trigger_why
#define WEIR_WISH_NONE       WEIR_SPLIT_TRIGGER_NONE
#define WEIR_WISH_CONSUMED   WEIR_SPLIT_TRIGGER_CONSUMED
#define WEIR_WISH_REFUSED    WEIR_SPLIT_TRIGGER_REFUSED
#define WEIR_WISH_SIZE       WEIR_SPLIT_TRIGGER_SIZE
#define weir_choice          weir_split_decision
#define weir_choice_how      weir_split_decision_how
#define WEIR_CHOICE_WHOLE    WEIR_SPLIT_DECISION_WHOLE
#define WEIR_CHOICE_POINTS   WEIR_SPLIT_DECISION_POINTS
#define WEIR_CHOICE_EVENLY   WEIR_SPLIT_DECISION_EVENLY

#ifdef __cplusplus
}
#endif
