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
    void (*trigger)(struct weir_split *c, struct weir_split_trigger *trigger);
    /* After the trigger: the leader has answered. NULL: at all offered points, if there are any. */
    void (*decide)(struct weir_split *c, struct weir_split_decision *decision);
    /* Into how many equal parts, 2 to WEIR_POLICY_PIECES_MAX: after WEIR_SPLIT_DECISION_EVENLY,
     * after a trigger with `evenly`, or since the table has fewer partitions than it needs (the
     * host has taken the partition with the most hashes). NULL: 2. */
    uint32_t (*pieces)(struct weir_split *c);
};

#ifdef __cplusplus
}
#endif
