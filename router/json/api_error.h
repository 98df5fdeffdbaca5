/* api_error.h - the errors that a client sees: kind, HTTP status, the service's type name, text.
 *
 * A function that can refuse takes a fault. To refuse, it sets the fault and returns false. */
#pragma once

#include "base/buffer.h"
#include "engine/item/step_budget.h"

/* kind, HTTP status, __type, name of the member that holds the text */
#define FAULT_LIST(X)                                                                            \
    X(FAULT_NONE, 200, "", "message")                                                            \
    X(FAULT_SERIALIZATION, 400, "com.amazon.coral.service#SerializationException", "Message")    \
    X(FAULT_UNKNOWN_OPERATION, 400, "com.amazon.coral.service#UnknownOperationException",        \
      "message")                                                                                 \
    X(FAULT_VALIDATION, 400, "com.amazon.coral.validate#ValidationException", "message")         \
    X(FAULT_NOT_FOUND, 400, "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",        \
      "message")                                                                                 \
    X(FAULT_TABLE_NOT_FOUND, 400, "com.amazonaws.dynamodb.v20120810#TableNotFoundException",     \
      "message")                                                                                 \
    X(FAULT_GLOBAL_TABLE_NOT_FOUND, 400,                                                         \
      "com.amazonaws.dynamodb.v20120810#GlobalTableNotFoundException", "message")                \
    X(FAULT_POLICY_NOT_FOUND, 400, "com.amazonaws.dynamodb.v20120810#PolicyNotFoundException",   \
      "message")                                                                                 \
    X(FAULT_IN_USE, 400, "com.amazonaws.dynamodb.v20120810#ResourceInUseException", "message")   \
    X(FAULT_LIMIT, 400, "com.amazonaws.dynamodb.v20120810#LimitExceededException", "message")    \
    X(FAULT_CONDITION, 400, "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",  \
      "message")                                                                                 \
    X(FAULT_EXISTS, 400, "com.amazonaws.dynamodb.v20120810#DuplicateItemException", "message")   \
    X(FAULT_CANCELED, 400, "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",      \
      "Message")                                                                                 \
    X(FAULT_CONFLICT, 400, "com.amazonaws.dynamodb.v20120810#TransactionConflictException",      \
      "message")                                                                                 \
    X(FAULT_IN_PROGRESS, 400, "com.amazonaws.dynamodb.v20120810#TransactionInProgressException", \
      "Message")                                                                                 \
    X(FAULT_TOKEN_MISMATCH, 400,                                                                 \
      "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException", "Message")        \
    X(FAULT_COLLECTION_FULL, 400,                                                                \
      "com.amazonaws.dynamodb.v20120810#ItemCollectionSizeLimitExceededException", "message")    \
    X(FAULT_THROUGHPUT, 400,                                                                     \
      "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message")      \
    X(FAULT_EXPIRED_ITERATOR, 400, "com.amazonaws.dynamodb.v20120810#ExpiredIteratorException",  \
      "message")                                                                                 \
    X(FAULT_TRIMMED, 400, "com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException",         \
      "message")                                                                                 \
    X(FAULT_THROTTLING, 400, "com.amazon.coral.availability#ThrottlingException", "message")     \
    X(FAULT_INTERNAL, 500, "com.amazonaws.dynamodb.v20120810#InternalServerError", "message")    \
    X(FAULT_UNAVAILABLE, 503, "com.amazon.coral.service#ServiceUnavailable", "message")          \
    X(FAULT_MALFORMED_HTTP, 400, "com.amazon.coral.service#MalformedHttpRequestException",       \
      "Message")                                                                                 \
    X(FAULT_TIMEOUT, 408, "com.amazon.coral.service#RequestTimeout", "Message")                  \
    X(FAULT_TOO_LARGE, 413, "com.amazon.coral.service#RequestEntityTooLarge", "Message")         \
    X(FAULT_HEADERS_TOO_LARGE, 400, "com.amazon.coral.service#RequestHeaderFieldsTooLarge",      \
      "Message")                                                                                 \
    X(FAULT_TARGET_TOO_LONG, 414, "com.amazon.coral.service#RequestUriTooLong", "Message")       \
    X(FAULT_NOT_IMPLEMENTED, 501, "com.amazon.coral.service#NotImplemented", "Message")          \
    X(FAULT_FORBIDDEN, 403, "com.amazon.coral.service#AccessDeniedException", "Message")

enum fault_kind {
#define X(kind, status, type, member) kind,
    FAULT_LIST(X)
#undef X
};

struct fault {
    enum fault_kind kind;
    struct buffer text;    /* owns; UTF-8; empty = the service sends none */
    struct buffer more;    /* owns; further members of the answer, as JSON */
    bool alone;            /* the text must not be put behind one that names the value */
    const char *operation; /* the API's name of the operation at work; NULL: none. It may choose the
                            * words (json/value_words.h) */
    struct steps reading;  /* of values, since the turn of the loop began (STEPS-2) */
};

void fault_deinit(struct fault *f);

/* Sets kind and text, and clears `more` and `alone`. Always returns false: a check can return the
 * call. The format knows %s, %.*s (may hold NUL), %d, %u, %lld and %zu. An argument may not point
 * into the fault. */
bool fault_set(struct fault *f, enum fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* fault_set with FAULT_VALIDATION. INVALID begins many of the service's texts. */
#define fault_invalid(fault, ...) fault_set(fault, FAULT_VALIDATION, __VA_ARGS__)
#define INVALID                   "One or more parameter values were invalid: "

int fault_status(enum fault_kind kind);
/* The type without its namespace, such as ValidationException. */
const char *fault_type(enum fault_kind kind);

/* The body of the answer. */
void fault_write(struct buffer *out, const struct fault *f);

/* Refuses what weir does not support yet; weir never ignores it silently. */
bool fault_set_later(struct fault *f, const char *what);
