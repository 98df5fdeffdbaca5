/* reply_code_name.c - the names of the codes. */
#include "engine/message/reply_code_name.h"

#include <stdbool.h>

#include "base/must.h"

const char *reply_code_name(enum reply_code code)
{
    switch (code) {
    case REPLY_OK:
        return "ok";
    case REPLY_THROTTLED:
        return "throttled";
    case REPLY_WRONG_PARTITION:
        return "wrong partition";
    case REPLY_OVERLOADED:
        return "overloaded";
    case REPLY_FULL:
        return "full";
    case REPLY_STOPPED:
        return "stopped";
    case REPLY_CORRUPT:
        return "corrupt";
    case REPLY_UNKNOWN:
        return "unknown";
    case REPLY_MALFORMED:
        return "malformed";
    case REPLY_TABLE_EXISTS:
        return "table exists";
    case REPLY_TABLE_NOT_FOUND:
        return "table not found";
    case REPLY_TABLE_BUSY:
        return "table busy";
    case REPLY_LIMIT_EXCEEDED:
        return "limit exceeded";
    case REPLY_NOT_LEADER:
        return "not leader";
    case REPLY_STALE_MAP:
        return "stale map";
    case REPLY_COLLECTION_FULL:
        return "collection full";
    case REPLY_CONDITION_FAILED:
        return "condition failed";
    case REPLY_UPDATE_FAILED:
        return "update failed";
    case REPLY_TABLE_INVALID:
        return "table invalid";
    case REPLY_LOCKED:
        return "locked";
    case REPLY_TOKEN_DONE:
        return "token done";
    case REPLY_TOKEN_RUNS:
        return "token runs";
    case REPLY_TOKEN_MISMATCH:
        return "token mismatch";
    case REPLY_ABORTED:
        return "aborted";
    case REPLY_SPREAD:
        return "spread";
    case REPLY_CODES:
        break;
    }
    must(false);
    return "";
}
