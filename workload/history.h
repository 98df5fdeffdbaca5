/* history.h - reads the lines that load_history.h writes, and returns the operations of each key.
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

void history_init(struct history *h);
void history_deinit(struct history *h);

/* One line without its newline, followed by HISTORY_LINE_PADDING readable bytes.
 * STATUS_MALFORMED: `error` gets "line N: ..."; the line has changed nothing. */
enum status history_add_line(struct history *h, struct slice line, struct buffer *error);

/* After the last line: sorts the entries by key, and in a key by invocation. STATUS_MALFORMED: two
 * writes of a key wrote the same value. */
enum status history_group(struct history *h, struct buffer *error);

/* The operations of one key that must be linearizable; `out` has room for all of its entries. */
size_t history_strong_ops(const struct history *h, uint32_t key, struct history_op *out);

/* The first eventual read of a value that no write had begun to write; NULL: none. */
const struct history_entry *history_false_read(const struct history *h, uint32_t key);

/* An entry as a line for people. */
void history_describe(const struct history_entry *e, struct buffer *out);
