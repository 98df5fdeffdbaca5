/* limiter_request.h - reads requests of the rate limiter: names and amounts.
 *
 * Values come from a JSON body or from the query of the target. An unknown member is refused by its
 * name: a misspelt limit must not pass as no limit. */
#pragma once

#include "engine/limiter/bucket.h"
#include "router/core/operation.h"
#include "router/http/query_string.h"
#include "router/limiter/limiter_error.h"

enum {
    LIMITER_NAMESPACE_MAX = 64, /* bytes */
    LIMITER_ENTITY_MAX = 256,   /* of an entity or a resource */
    APP_LEASE_MS_MAX = 300000,
    LIMITER_PARAMETERS_MAX = 24 /* parameters of a query */
};

/* Which bucket. Slices are in the call's arena. */
struct bucket_name {
    struct slice name_space; /* the namespace */
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
    ON_UNAVAILABLE_UNSET,
    ON_UNAVAILABLE_BLOCK,
    ON_UNAVAILABLE_ALLOW
};

/* A body, or a query as an object of strings. */
struct limiter_request {
    struct call *call;             /* borrows */
    const struct json_value *body; /* NULL: a query */
    uint32_t count;                /* of the query's parameters */
    struct {
        struct slice name;
        struct slice value;
        bool used;
    } at[LIMITER_PARAMETERS_MAX];
};

/* Takes the body (`members[0]`), which must be an object, or the target's query. */
bool limiter_request_body(struct limiter_request *request, struct call *c,
                          const struct json_value *body);
bool limiter_request_query(struct limiter_request *request, struct call *c);
/* Refuses every member or parameter that is not in `names`, which ends in NULL. Of a query those
 * that were used pass, too. */
bool limiter_request_check_names(const struct limiter_request *request, const char *const names[]);

/* Each sets `out`, and returns false if the field is wrong. */
bool limiter_request_namespace(struct limiter_request *request, struct slice *out);
/* Entity or resource. Absent: empty, or a fault if `required`. */
bool limiter_request_name(struct limiter_request *request, const char *field, bool required,
                          struct slice *out);
bool limiter_request_bucket(struct limiter_request *request, struct bucket_name *out);
bool limiter_request_integer(struct limiter_request *request, const char *field, int64_t min,
                             int64_t max, int64_t otherwise, int64_t *out);
bool limiter_request_on_unavailable(struct limiter_request *request, enum on_unavailable *out);
bool limiter_request_text(struct limiter_request *request, const char *field, size_t max,
                          struct slice *out);
/* An object of limits and numbers; of a query all parameters that are not in `names`. At least one.
 * `min`: of each number, in mtok. */
bool limiter_request_amounts(struct limiter_request *request, const char *field,
                             const char *const names[], int64_t min, struct amounts *out);
/* A JSON number of tokens, with at most three decimals. */
bool limiter_request_tokens(struct call *c, const char *field, const struct json_value *v,
                            int64_t min, int64_t max, int64_t *mtok);

/* Of what the client asks for: a token that is used for something else is recognised. `seed`: which
 * operation it is. */
uint64_t amounts_digest(const struct amounts *a, uint64_t seed);

/* Whether the text is a name of letters, digits and _.- */
bool limiter_name_is_plain(struct slice text, size_t max);
/* Whether the text may name an entity or a resource. */
bool limiter_entity_is_valid(struct slice name);
