/* history.h - reads the lines that load_history.h writes, and returns the operations of each key.
 *
 * Lines: {"op":7,"type":"invoke","t":5,"f":"write","table":"t","key":"k","value":"1f"}, later
 * {"op":7,"type":"ok","t":9}. `type`: invoke, then ok, fail or info (the outcome is unknown).
 *   read   its return has the value, in hexadecimal; null: nothing was there.
 *   write  has its value; null: a delete. Either line may have `after`: the value that the write
 *          replaced, if it was done. So a compare-and-set has the expected value as `after`. If it
 *          was refused and was told the value that it met, its `fail` has that as `value`: it
 *          counts as a read.
 *   add    an increment of a counter by 1. Its return has the counter's new value.
 * A key is either a counter or not.
 *
 * Bounds: HISTORY_LINE_SIZE_MAX bytes a line. Unknown members are ignored. Any other unexpected
 * text is an error that names the line.
 * Not here: whether a history is linearizable (workload/linearizability.h). */
#pragma once

#include "base/buffer.h"
#include "workload/linearizability.h"

enum {
    HISTORY_LINE_SIZE_MAX = 64 * 1024,
    HISTORY_LINE_PADDING = 64 /* readable bytes after a line's end */
};

struct history_entry {
    struct history_op op;
    int64_t invoked_line, returned_line; /* returned_line 0: no answer was recorded */
    uint32_t key;
    bool eventual; /* a read that may be stale */
};

struct history_key {
    char *table;         /* owns */
    char *name;          /* owns */
    uint32_t next;       /* next key with the same hash: its number + 1, or 0 */
    size_t first, count; /* its entries, after history_group */
    bool counter;        /* it has adds */
    bool written;        /* it has writes */
};

struct history {
    struct history_entry *entries; /* owns; in order of invocation until history_group */
    size_t count, capacity;
    struct history_key *keys; /* owns */
    uint32_t key_count;
    size_t key_capacity;
    int64_t lines;
    struct history_index *index; /* owns */
};

/* A value of a line: 1 to 16 hexadecimal digits, not all 0. The writer asks, too. */
bool history_value_read(struct slice text, uint64_t *out);

void history_init(struct history *h);
void history_deinit(struct history *h);

/* One line without its newline, followed by HISTORY_LINE_PADDING readable bytes.
 * STATUS_MALFORMED: `error` gets "line N: ..."; the line has changed nothing. */
enum status history_add_line(struct history *h, struct slice line, struct buffer *error);

/* After the last line: sorts the entries by key, and in a key by invocation. STATUS_MALFORMED: two
 * writes of a key wrote the same value. */
enum status history_group(struct history *h, struct buffer *error);

/* Whether the operations of one key are linearizable. `ops` is room for all of its entries. */
void history_check_key(const struct history *h, uint32_t key, struct history_op *ops,
                       struct history_verdict *out);

/* The first eventual read of a value that no operation had begun to write; NULL: none. */
const struct history_entry *history_false_read(const struct history *h, uint32_t key);

/* An entry as a line for people. */
void history_describe(const struct history_entry *e, struct buffer *out);
