/* reply_code_name.c - the names of the codes. */
#include "engine/message/reply_code_name.h"

#include <stddef.h>

#include "base/must.h"

static const char *const reply_code_names[REPLY_CODES] = {
    [REPLY_OK] = "ok",
    [REPLY_THROTTLED] = "throttled",
    [REPLY_WRONG_PARTITION] = "wrong partition",
    [REPLY_OVERLOADED] = "overloaded",
    [REPLY_FULL] = "full",
    [REPLY_STOPPED] = "stopped",
    [REPLY_CORRUPT] = "corrupt",
    [REPLY_UNKNOWN] = "unknown",
    [REPLY_MALFORMED] = "malformed",
    [REPLY_TABLE_EXISTS] = "table exists",
    [REPLY_TABLE_NOT_FOUND] = "table not found",
    [REPLY_TABLE_BUSY] = "table busy",
    [REPLY_LIMIT_EXCEEDED] = "limit exceeded",
    [REPLY_NOT_LEADER] = "not leader",
    [REPLY_STALE_MAP] = "stale map",
    [REPLY_COLLECTION_FULL] = "collection full",
    [REPLY_CONDITION_FAILED] = "condition failed",
    [REPLY_UPDATE_FAILED] = "update failed",
    [REPLY_TABLE_INVALID] = "table invalid",
    [REPLY_LOCKED] = "locked",
    [REPLY_TOKEN_DONE] = "token done",
    [REPLY_TOKEN_RUNS] = "token runs",
    [REPLY_TOKEN_MISMATCH] = "token mismatch",
    [REPLY_ABORTED] = "aborted",
    [REPLY_SPREAD] = "spread",
};

const char *reply_code_name(enum reply_code code)
{
    must(code < REPLY_CODES && reply_code_names[code] != NULL);
    return reply_code_names[code];
}
