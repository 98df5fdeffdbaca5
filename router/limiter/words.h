/* words.h - what requests of the rate limiter say: names, amounts, and the faults of both.
 *
 * Values come from a JSON body or from the query of the target. What is unknown is refused, by name:
 * a misspelt limit must not pass as none. */
#pragma once

#include "engine/limiter/bucket.h"
#include "router/http/query_string.h"
#include "router/operations/operation.h"

enum {
    WORDS_NAMESPACE_MAX = 64, /* bytes */
    WORDS_NAME_MAX = 256,     /* of an entity or a resource */
    WORDS_LEASE_MS_MAX = 300000,
    WORDS_QUERY_MAX = 24 /* parameters of a query */
};

/* Which bucket. Slices are in the call's arena. */
struct bucket_name {
    struct slice space; /* the namespace */
    struct slice entity;
    struct slice resource;
};

/* Amounts by limit. */
struct amounts {
    uint32_t count;
    struct {
        struct slice limit;
        int64_t mtok;
    } at[LIMITER_LIMITS_MAX];
};

enum on_unavailable {
    ON_UNAVAILABLE_UNSAID,
    ON_UNAVAILABLE_BLOCK,
    ON_UNAVAILABLE_ALLOW
};

/* A body, or a query as an object of strings. */
struct words {
    struct call *call;             /* borrows */
    const struct json_value *body; /* NULL: a query */
    uint32_t count;                /* of the query's parameters */
    struct {
        struct slice name;
        struct slice value;
        bool used;
    } at[WORDS_QUERY_MAX];
};

/* Takes the body (`members[0]`), which must be an object, or the target's query. */
bool words_body(struct words *w, struct call *c, const struct json_value *body);
bool words_query(struct words *w, struct call *c);
/* Refuses every member or parameter that is not in `names`, which ends in NULL. Of a query those that
 * were used pass, too. */
bool words_only(const struct words *w, const char *const names[]);

/* A fault that is about a field of the request. Always false. */
bool words_invalid(struct call *c, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Each sets `out`, and returns false if the field is wrong. */
bool words_space(struct words *w, struct slice *out);
/* Entity or resource. Absent: empty, or a fault if `required`. */
bool words_name(struct words *w, const char *field, bool required, struct slice *out);
bool words_bucket(struct words *w, struct bucket_name *out);
bool words_integer(struct words *w, const char *field, int64_t least, int64_t most,
                   int64_t otherwise, int64_t *out);
bool words_on_unavailable(struct words *w, enum on_unavailable *out);
bool words_text(struct words *w, const char *field, size_t most, struct slice *out);
/* An object of limits and numbers; of a query all parameters that are not in `names`. At least one.
 * `least`: of each number, in mtok. */
bool words_amounts(struct words *w, const char *field, const char *const names[], int64_t least,
                   struct amounts *out);
/* A JSON number of tokens, with at most three decimals. */
bool words_tokens(struct call *c, const char *field, const struct json_value *v, int64_t least,
                  int64_t most, int64_t *mtok);

/* Of what the client asks for, so that a name that is used for something else is known. `seed`: which
 * operation it is. */
uint64_t amounts_digest(const struct amounts *a, uint64_t seed);

/* Whether the text is a name of letters, digits and _.- */
bool words_is_plain(struct slice text, size_t most);

/* operation.fail of all operations: {"error":{"code","message","field"?}}. */
int words_fail(struct call *c, const struct fault *f);
/* The same for a request that no operation takes. */
void words_fail_write(struct buffer *out, const struct fault *f);
int words_fail_status(const struct fault *f);
