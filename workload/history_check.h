/* history_check.h - judges a whole history: could clients have seen it?
 *
 * Not here: lines and operations (history.h), the search (linearizability.h), texts for people. */
#pragma once

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
    size_t torn_bytes; /* size of an incomplete last line, which is ignored; 0: none */
    int64_t ok, fail, info, unanswered, eventual;
    int64_t violation_count, undecided_count;
    struct history_violation violations[HISTORY_VIOLATIONS_KEPT]; /* the first ones */
};

void history_check_init(struct history_check *c);
void history_check_deinit(struct history_check *c);

/* Reads the whole file; - is standard input. STATUS_IO or STATUS_MALFORMED: `error` gets one line
 * that names the file. */
enum status history_check_read(struct history_check *c, const char *path, struct buffer *error);

typedef void history_check_progress(void *context, uint32_t key);

/* Counts outcomes and judges every key. `progress`, if not NULL, is called before each key. */
void history_check_evaluate(struct history_check *c, history_check_progress *progress,
                            void *context);
