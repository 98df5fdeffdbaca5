/* linearizability.h - could these operations on one key have happened one after the other?
 *
 * A history is linearizable if every operation can be given an instant between its invocation and
 * its return such that each read yields what the last write before it wrote. A write may know what
 * it replaced: then that value is the last one written before it. An operation that returned before
 * another was invoked comes before it; equal times count as overlapping.
 * The key is absent at the start.
 *
 * How conditional writes and updates are told: a write whose condition failed is a strong read of
 * the item that failed it. A compare-and-set that succeeded knows what it replaced, and so does a
 * write that was told the old item. A counter is checked by history_check_counter.
 *
 * Source: Lowe, "Testing for linearizability", 2017 (just-in-time linearization), after Wing and
 * Gong, 1993. linearizability.c describes the additions for a register of unique values.
 * Not here: where histories come from (workload/history.h, sim/world/recording.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum history_kind {
    HISTORY_READ,
    HISTORY_WRITE
}; /* a delete is a write of the value 0 = absent */

enum history_outcome {
    HISTORY_OK,
    HISTORY_FAIL, /* certainly not applied: ignored */
    HISTORY_INFO, /* takes effect at some time after its invocation, or never; a read: no answer */
};

struct history_op {
    uint64_t id;
    int64_t invoked_ns;
    int64_t returned_ns; /* >= invoked_ns; INT64_MAX if info */
    enum history_kind kind;
    enum history_outcome outcome;
    uint64_t value; /* 0 = absent; of a write that did not fail: unique, unless 0 */
    bool
        after_known; /* of a write: it replaced `after`, or did nothing if its outcome is unknown */
    uint64_t after;  /* 0 = absent */
};

struct history_verdict {
    bool linearizable; /* false while undecided too */
    bool exhausted;    /* undecided: the search met its limit at `culprit` */
    uint64_t culprit;  /* if not linearizable: no order is left at this operation's return */
};

/* `ops` are operations of one key, in any order, fewer than 2^31. Time: O(n log n) without deletes;
 * with deletes, more by a factor that depends on their overlap. Memory: O(n), and a fixed limit for
 * the search. */
void history_check(const struct history_op *ops, size_t count, struct history_verdict *out);
