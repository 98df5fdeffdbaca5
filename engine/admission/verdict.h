/* verdict.h - what admission says of a request: kinds, reasons, verdicts, costs.
 *
 * Units: mcu = 1/1000 of a read or write capacity unit.
 * Not here: how it decides (admission.h). */
#pragma once

#include "base/instant.h"

enum {
    TRANSACTION_FACTOR = 2 /* reads and writes in transactions cost so many times as much */
};

#define MCU_PER_UNIT INT64_C(1000)

enum admit_kind {
    ADMIT_READ,
    ADMIT_WRITE,
    ADMIT_KINDS
};

enum admit_reason {
    ADMIT_OK = 0,
    ADMIT_REFUSED_KEY_RANGE = 1,  /* the partition maximum; burst never exceeds it */
    ADMIT_REFUSED_ALLOCATION = 2, /* allocation and burst are both short */
    ADMIT_REFUSED_NODE = 3,       /* the node has no headroom for a burst */
    ADMIT_REFUSED_MEMBER = 4,     /* a member of the replication group has no headroom */
    ADMIT_REFUSED_TABLE = 5,    /* the limit of the whole table, at routers (router/core/limit.h) */
    ADMIT_REFUSED_OVERLOAD = 6, /* it has waited too long for a processor (overload.h) */
    ADMIT_REFUSED_INDEX =
        7, /* a global index does not keep up with the writes (node/index/index_feed.h) */
    ADMIT_REASONS,
};

const char *admit_reason_name(enum admit_reason reason); /* "ok", "key-range", ... static */

/* The balances at the decision, before any debit. */
struct admit_balances {
    int64_t cap_mcu;
    int64_t allocation_mcu;
    int64_t burst_mcu;
    int64_t node_mcu;
};

/* Begins like struct weir_verdict, so that policies write into it. */
struct admit_verdict {
    enum admit_reason reason;
    union {
        uint32_t flags; /* enum weir_verdict_flag */
        struct {
            uint32_t burst : 1;    /* admitted beyond the allocation */
            uint32_t reserved : 1; /* a burst within what the node reserves for the table */
        };
    };
    uint32_t member;      /* ADMIT_REFUSED_MEMBER: the node that is short for longest.
                        ADMIT_REFUSED_INDEX: the partition of the index that holds up the others;
                        0: not known */
    uint32_t index;       /* ADMIT_REFUSED_INDEX: the table id of the index */
    struct duration wait; /* until the same request passes if no other comes: exact to the ns, or an
                             upper bound if several partitions burst on the node. 0: not known */
    struct admit_balances balances;
    enum admit_reason cause; /* ADMIT_REFUSED_INDEX: why the index's partition refused; ADMIT_OK: it
                                did not, it only lags */
};

/* ---- units (specification of the service: sizes are rounded up) ---- */

/* The cost of a read: one unit per 4 KiB, rounded up, at least one unit; half if not consistent. */
int64_t read_cost_mcu(int64_t size_bytes, bool consistent);
/* The cost of a write: one unit per 1 KiB, rounded up, at least one unit. */
int64_t write_cost_mcu(int64_t size_bytes);
