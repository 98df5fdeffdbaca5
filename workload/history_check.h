/* history_check.h - is what clients saw possible? A whole history, judged.
 *
 * Not here: lines and operations (history.h), the search (linearizability.h), words for people. */
#ifndef WEIR_WORKLOAD_HISTORY_CHECK_H
#define WEIR_WORKLOAD_HISTORY_CHECK_H

#include <stdio.h>

#include "workload/history.h"

enum {
    HISTORY_VIOLATIONS_KEPT = 5
};

struct history_violation {
    uint32_t key;
    uint64_t op; /* the operation that no order explains */
};

struct history_check {
    struct history history;
    size_t torn_bytes; /* of a last line that was cut off, and left out; 0: none */
    int64_t ok, fail, info, unanswered, eventual;
    int64_t violation_count, undecided_count;
    struct history_violation violations[HISTORY_VIOLATIONS_KEPT]; /* the first ones */
};

void history_check_init(struct history_check *c);
void history_check_deinit(struct history_check *c);

/* All of `f`. STATUS_IO or STATUS_MALFORMED: `error` gets one line. */
enum status history_check_read(struct history_check *c, FILE *f, struct buffer *error);

typedef void history_check_progress(void *context, uint32_t key);

/* Counts outcomes and judges every key. `progress`, if not NULL, is told each key beforehand. */
void history_check_judge(struct history_check *c, history_check_progress *progress, void *context);

#endif
