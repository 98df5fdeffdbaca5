/* answer_record.h - which requests leave a decision record (router/records), and what is in it.
 *
 * A record is kept of each request that was throttled or refused for overload, of each transaction
 * that met another one, of each request that took explain_slow_ms or waited for tokens for
 * ANSWER_RECORD_WAIT_MS, and of one in ANSWER_RECORD_SAMPLE others. The record is of one part of
 * the request: of the refused part whose retry time is latest, otherwise of the part that was
 * answered last. Only requests of DynamoDB's API are recorded.
 * Promise: a request that leaves no record costs a few comparisons. */
#pragma once

#include "router/core/router_internal.h"

enum {
    ANSWER_RECORD_WAIT_MS = 5,
    ANSWER_RECORD_SAMPLE = 1024,
};

void answer_record_init(struct router *r);

/* A part has its tokens, or is refused by the table's limit. */
void answer_record_note_wait(struct subrequest *s);

/* At the answer; `f` is NULL if the call was done. */
bool answer_record_is_due(const struct call *c, const struct fault *f);
/* Adds the record. The answer of a refused request gets a header line with its page. */
void answer_record_add(struct call *c, int status, const struct fault *f);
