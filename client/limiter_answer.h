/* limiter_answer.h - answers of the rate limiter, from their JSON (docs/limiter-api.yaml). No
 * I/O. */
#pragma once

#include "client/json_scan.h"
#include "include/weir/limiter.h"

enum {
    LIMITER_ANSWER_BALANCES_MAX = 64 /* limits of an entity and its parents; more are left out */
};

/* Texts lend from the body. */
struct limiter_answer {
    struct weir_limiter_answer answer; /* its balances point to `balances` */
    const char *lease;                 /* NULL: none */
    int64_t expires_ms;
    const char *code, *message; /* of an error; NULL: none */
    struct weir_limiter_balance balances[LIMITER_ANSWER_BALANCES_MAX];
};

/* Reads a body in place; one more byte than `size` may be written. False: not an answer of the rate
 * limiter. Unknown members are skipped. */
bool limiter_answer_read(char *body, size_t size, struct limiter_answer *out);

/* What an HTTP status and an error's code mean. */
enum weir_limiter_status limiter_answer_status(int http_status, const char *code);
