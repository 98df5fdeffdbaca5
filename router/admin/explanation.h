/* explanation.h - what a decision record means: each limit on the way of the request, and what
 * helps.
 *
 * Not here: the texts and the JSON (router/admin/explain_text.c). */
#pragma once

#include "base/buffer.h"
#include "router/records/records.h"

struct config;

enum {
    EXPLANATION_LIMITS = 8,
    EXPLANATION_HELPS = 6,
    EXPLANATION_ATTEMPTS = 8,
};

enum limit_verdict {
    LIMIT_ENOUGH,
    LIMIT_EMPTY,   /* short, but another one has what is needed */
    LIMIT_REFUSED, /* this one has refused the request */
    LIMIT_NOT_NEEDED,
    LIMIT_NOT_REACHED, /* an earlier one has refused the request */
    LIMIT_VERDICTS,
};

#define LIMIT_UNKNOWN INT64_MIN

/* Amounts in mcu; LIMIT_UNKNOWN: not known. */
struct explained_limit {
    char name[32];
    enum limit_verdict verdict;
    int64_t level;    /* before the decision; below 0: debt */
    int64_t capacity; /* the most that can be saved */
    int64_t rate;     /* per second */
};

enum help_kind {
    HELP_NOW,  /* what the client can do */
    HELP_SOON, /* what the cluster does */
    HELP_CURE, /* what ends the refusals */
    HELP_NO,   /* what does not help */
    HELP_KINDS,
};

struct explained_help {
    enum help_kind kind;
    char text[200];
};

struct explanation {
    const struct decision_record *record; /* borrows */
    int64_t would_pass_ms;                /* since 1970: if no other request comes; 0: not known */
    struct explained_limit limits[EXPLANATION_LIMITS];
    uint32_t limit_count;
    struct explained_help helps[EXPLANATION_HELPS];
    uint32_t help_count;
    struct decision_record attempts[EXPLANATION_ATTEMPTS]; /* others of the same call of the SDK */
    uint32_t attempt_count;
};

const char *limit_verdict_name(enum limit_verdict verdict); /* "not reached" */
const char *help_kind_name(enum help_kind kind);
const char *record_outcome_name(enum record_outcome outcome);
/* "key-range"; of a request that admission did not refuse: "conflict", "slow", "sample", ... */
const char *record_reason_name(const struct decision_record *d);

void explanation_make(struct explanation *e, const struct decision_record *d,
                      const struct config *config);

/* Adds the other attempts that have records. */
void explanation_add_attempts(struct explanation *e, const struct records *records);

/* Append one record: as text of at most 80 columns, or as an object. `router`: its number. */
void explanation_append_text(struct buffer *out, const struct explanation *e, uint32_t router);
void explanation_append_json(struct buffer *out, const struct explanation *e, uint32_t router);
/* Two lines, for lists: id and time, and what happened. */
void record_append_line(struct buffer *out, const struct decision_record *d);
