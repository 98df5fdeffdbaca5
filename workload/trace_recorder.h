/* trace_recorder.h - writes a trace (trace_record.h) while its requests run.
 *
 * Requests are written in the order of their times, each once its outcome is known: those in
 * between wait in memory. A request that comes late (a millisecond, of another workload) gets the
 * time of the request before it. */
#pragma once

#include <stdio.h>

#include "base/buffer.h"
#include "workload/trace_record.h"

struct trace_pending;

struct trace_recorder {
    FILE *file; /* borrows */
    bool hashed;
    struct trace_salt salt;
    struct trace_pending *ring; /* owns */
    uint64_t first, end;        /* numbers of the oldest and after the newest one */
    uint64_t capacity;          /* a power of two */
    int64_t last_us;            /* of the last line */
    int64_t newest_ns;          /* of the newest request */
    uint32_t tables, tenants;
    struct buffer text;
};

/* `salt` NULL: keys are written as they are. Writes the first line. */
void trace_recorder_init(struct trace_recorder *t, FILE *file, const char *salt);
/* The wall clock at the beginning of the requests' times. Before the first request. */
void trace_recorder_clock(struct trace_recorder *t, int64_t wall_us);
/* Writes what is left, as unanswered. */
void trace_recorder_deinit(struct trace_recorder *t);

/* The number of the name; blanks in it become underscores. */
uint32_t trace_recorder_table(struct trace_recorder *t, const char *name);
uint32_t trace_recorder_tenant(struct trace_recorder *t, const char *name);

/* A request begins; `r.outcome` is not looked at. Returns what trace_recorder_end takes. */
uint64_t trace_recorder_begin(struct trace_recorder *t, const struct trace_record *r,
                              struct slice key);
void trace_recorder_end(struct trace_recorder *t, uint64_t request, enum trace_outcome outcome);
