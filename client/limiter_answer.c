/* limiter_answer.c - see limiter_answer.h. */
#include "client/limiter_answer.h"

static bool limiter_answer_is_name(const char *name, const char *expected)
{
    return strcmp(name, expected) == 0;
}

static void limiter_answer_read_balance(struct json_scan *s, struct weir_limiter_balance *balance)
{
    bool first = true;
    json_scan_enter(s, '{');
    while (json_scan_more(s, '}', &first)) {
        const char *name = json_scan_name(s);
        if (limiter_answer_is_name(name, "entity"))
            balance->entity = json_scan_text(s);
        else if (limiter_answer_is_name(name, "name"))
            balance->name = json_scan_text(s);
        else if (limiter_answer_is_name(name, "capacity"))
            balance->capacity_mtok = json_scan_thousandths(s);
        else if (limiter_answer_is_name(name, "remaining"))
            balance->remaining_mtok = json_scan_thousandths(s);
        else if (limiter_answer_is_name(name, "reset_ms"))
            balance->reset_ms = json_scan_whole(s);
        else
            json_scan_skip(s);
    }
    if (balance->entity == NULL || balance->name == NULL)
        s->failed = true;
}

static void limiter_answer_read_balances(struct json_scan *s, struct limiter_answer *out)
{
    bool first = true;
    json_scan_enter(s, '[');
    while (json_scan_more(s, ']', &first)) {
        if (out->answer.balance_count == LIMITER_ANSWER_BALANCES_MAX)
            json_scan_skip(s);
        else
            limiter_answer_read_balance(s, &out->balances[out->answer.balance_count++]);
    }
}

static void limiter_answer_read_error(struct json_scan *s, struct limiter_answer *out)
{
    bool first = true;
    json_scan_enter(s, '{');
    while (json_scan_more(s, '}', &first)) {
        const char *name = json_scan_name(s);
        if (limiter_answer_is_name(name, "code"))
            out->code = json_scan_text(s);
        else if (limiter_answer_is_name(name, "message"))
            out->message = json_scan_text(s);
        else
            json_scan_skip(s);
    }
}

static void limiter_answer_read_member(struct json_scan *s, struct limiter_answer *out)
{
    const char *name = json_scan_name(s);
    if (limiter_answer_is_name(name, "limits"))
        limiter_answer_read_balances(s, out);
    else if (limiter_answer_is_name(name, "error"))
        limiter_answer_read_error(s, out);
    else if (limiter_answer_is_name(name, "lease"))
        out->lease = json_scan_text(s);
    else if (limiter_answer_is_name(name, "expires_ms"))
        out->expires_ms = json_scan_whole(s);
    else if (limiter_answer_is_name(name, "retry_after_ms"))
        out->answer.retry_after_ms = json_scan_whole(s);
    else if (limiter_answer_is_name(name, "reason"))
        out->answer.reason = json_scan_text(s);
    else if (limiter_answer_is_name(name, "limit"))
        out->answer.limit = json_scan_text(s);
    else
        json_scan_skip(s);
}

bool limiter_answer_read(char *body, size_t size, struct limiter_answer *out)
{
    struct json_scan s = json_scan_of(body, size);
    bool first = true;
    *out = (struct limiter_answer){0};
    json_scan_enter(&s, '{');
    while (json_scan_more(&s, '}', &first))
        limiter_answer_read_member(&s, out);
    json_scan_finish(&s);
    out->answer.balances = out->balances;
    return !s.failed;
}

enum weir_limiter_status limiter_answer_status(int http_status, const char *code)
{
    switch (http_status) {
    case 200:
    case 204:
        return WEIR_LIMITER_OK;
    case 429:
        return WEIR_LIMITER_REFUSED;
    case 404:
        return code != NULL && strcmp(code, "no_limits") == 0 ? WEIR_LIMITER_NO_LIMITS
                                                              : WEIR_LIMITER_INVALID;
    case 409:
        return code != NULL && strncmp(code, "lease", 5) == 0 ? WEIR_LIMITER_LEASE
                                                              : WEIR_LIMITER_INVALID;
    default:
        return http_status >= 400 && http_status < 500 ? WEIR_LIMITER_INVALID
                                                       : WEIR_LIMITER_UNAVAILABLE;
    }
}
