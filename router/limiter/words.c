/* words.c - reads names and amounts out of bodies and queries. */
#include "router/limiter/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "router/client.h"
#include "router/json/json_writer.h"

/* ---- faults ---- */

bool words_invalid(struct call *c, const char *field, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct fault *f = call_fault(c);
    fault_set(f, FAULT_VALIDATION, "%s: %s", field, text);
    json_member_text(&f->more, "field", field);
    return false;
}

static const struct {
    enum fault_kind kind;
    int status;
    const char *code;
} CODES[] = {{FAULT_VALIDATION, 400, "invalid"},
             {FAULT_SERIALIZATION, 400, "invalid"},
             {FAULT_MALFORMED_HTTP, 400, "invalid"},
             {FAULT_NOT_FOUND, 404, "no_limits"},
             {FAULT_IN_USE, 409, "lease_used"},
             {FAULT_EXPIRED_ITERATOR, 409, "lease_over"},
             {FAULT_TOKEN_MISMATCH, 409, "token_mismatch"},
             {FAULT_UNKNOWN_OPERATION, 404, "not_found"},
             {FAULT_NOT_IMPLEMENTED, 405, "method_not_allowed"},
             {FAULT_UNAVAILABLE, 503, "unavailable"},
             {FAULT_THROUGHPUT, 503, "unavailable"},
             {FAULT_THROTTLING, 503, "unavailable"},
             {FAULT_CONFLICT, 503, "unavailable"},
             {FAULT_IN_PROGRESS, 503, "unavailable"},
             {FAULT_CANCELED, 503, "unavailable"},
             {FAULT_FORBIDDEN, 403, "forbidden"},
             {FAULT_TOO_LARGE, 413, "too_large"},
             {FAULT_TARGET_TOO_LONG, 414, "target_too_long"},
             {FAULT_HEADERS_TOO_LARGE, 400, "invalid"},
             {FAULT_TIMEOUT, 408, "timeout"},
             {FAULT_INTERNAL, 503, "unavailable"}};

/* What has no row of its own is a fault of the store: the last row. */
static size_t code_of(const struct fault *f)
{
    size_t i = 0;
    while (i + 1 < COUNT_OF(CODES) && CODES[i].kind != f->kind)
        i++;
    return i;
}

int words_fail_status(const struct fault *f)
{
    return CODES[code_of(f)].status;
}

void words_fail_write(struct buffer *out, const struct fault *f)
{
    json_write_open(out, '{');
    json_member_open(out, "error", '{');
    json_member_text(out, "code", CODES[code_of(f)].code);
    json_member_string(out, "message", buffer_slice(&f->text));
    if (f->more.size > 0) {
        buffer_append_u8(out, ',');
        buffer_append_slice(out, buffer_slice(&f->more));
    }
    json_write_close(out, '}');
    json_write_close(out, '}');
}

int words_fail(struct call *c, const struct fault *f)
{
    const int status = words_fail_status(f);
    words_fail_write(&c->body, f);
    if (status == 503)
        c->lines = slice_of("\r\nRetry-After: 1");
    return status;
}

/* ---- bodies and queries ---- */

bool words_body(struct words *w, struct call *c, const struct json_value *body)
{
    *w = (struct words){.call = c, .body = body};
    return (body != NULL && body->type == JSON_OBJECT) ||
           call_invalid(c, "The body must be a JSON object");
}

bool words_query(struct words *w, struct call *c)
{
    const struct http_head *head = &c->client->http.head;
    struct slice query = http_text(head, head->query), name, value;
    *w = (struct words){.call = c};
    while (query_string_next(&query, &c->arena, &name, &value)) {
        if (w->count == WORDS_QUERY_MAX)
            return call_invalid(c, "There are more than %d parameters", WORDS_QUERY_MAX);
        for (uint32_t i = 0; i < w->count; i++) {
            if (slice_equal(w->at[i].name, name))
                return call_invalid(c, "The parameter '%.*s' is given twice", SHOWN(name));
        }
        w->at[w->count].name = name;
        w->at[w->count++].value = value;
    }
    return true;
}

/* The place of a name among the names; -1: it is none of them. */
static int words_place(struct slice name, const char *const names[])
{
    for (int i = 0; names[i] != NULL; i++) {
        if (slice_is(name, names[i]))
            return i;
    }
    return -1;
}

static bool words_unknown(struct call *c, struct slice name, const char *const names[])
{
    struct buffer known = {0};
    for (size_t i = 0; names[i] != NULL; i++)
        buffer_append_format(&known, "%s%s", i > 0 ? ", " : "", names[i]);
    call_invalid(c, "Unknown member '%.*s'; there are: %.*s", SHOWN(name), TEXT_OF(known));
    json_member_string(&call_fault(c)->more, "field", name);
    buffer_deinit(&known);
    return false;
}

bool words_only(const struct words *w, const char *const names[])
{
    struct slice name;
    struct json_value value;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (!w->at[i].used && words_place(w->at[i].name, names) < 0)
            return words_unknown(w->call, w->at[i].name, names);
    }
    if (w->body == NULL)
        return true;
    struct json_cursor at = json_members(w->body);
    while (json_next_member(&at, &name, &value)) {
        const int place = words_place(name, names);
        if (place < 0)
            return words_unknown(w->call, name, names);
        if (seen >> place & 1)
            return words_invalid(w->call, names[place], "the member is given twice");
        seen |= UINT64_C(1) << place;
    }
    return true;
}

/* The parameter with that name; data NULL: absent. */
static struct slice words_parameter(struct words *w, const char *field)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (slice_is(w->at[i].name, field)) {
            w->at[i].used = true;
            return w->at[i].value;
        }
    }
    return slice_make(NULL, 0);
}

/* A text, in the arena. data NULL: absent. False: it is none. */
static bool words_find(struct words *w, const char *field, struct slice *out)
{
    if (w->body == NULL) {
        *out = words_parameter(w, field);
        return true;
    }
    const struct json_value v = json_find(w->body, field);
    *out = slice_make(NULL, 0);
    if (v.type == JSON_ABSENT || v.type == JSON_NULL)
        return true;
    if (v.type != JSON_STRING)
        return words_invalid(w->call, field, "a string is expected");
    *out = arena_copy(&w->call->arena, json_string(&v));
    if (out->data == NULL)
        out->data = (const uint8_t *)"";
    return true;
}

/* ---- names ---- */

bool words_is_plain(struct slice text, size_t most)
{
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t b = text.data[i];
        const bool plain = (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') ||
                           (b >= '0' && b <= '9') || b == '_' || b == '.' || b == '-';
        if (!plain)
            return false;
    }
    return text.size >= 1 && text.size <= most;
}

bool words_space(struct words *w, struct slice *out)
{
    if (!words_find(w, "namespace", out))
        return false;
    if (out->data == NULL)
        *out = slice_of("default");
    return words_is_plain(*out, WORDS_NAMESPACE_MAX) ||
           words_invalid(w->call, "namespace",
                         "1 to %d letters, digits and _.- are expected, not '%.*s'",
                         WORDS_NAMESPACE_MAX, SHOWN(*out));
}

static bool name_fits(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] < 0x20 || name.data[i] == 0x7f || name.data[i] == '#')
            return false;
    }
    return name.size >= 1 && name.size <= WORDS_NAME_MAX && slice_is_utf8(name);
}

bool words_name(struct words *w, const char *field, bool required, struct slice *out)
{
    if (!words_find(w, field, out))
        return false;
    if (out->data == NULL)
        return !required || words_invalid(w->call, field, "it is missing");
    return name_fits(*out) ||
           words_invalid(w->call, field,
                         "1 to %d bytes without control characters and # are expected, not '%.*s'",
                         WORDS_NAME_MAX, SHOWN(*out));
}

bool words_bucket(struct words *w, struct bucket_name *out)
{
    return words_space(w, &out->space) && words_name(w, "entity", true, &out->entity) &&
           words_name(w, "resource", true, &out->resource);
}

bool words_text(struct words *w, const char *field, size_t most, struct slice *out)
{
    if (!words_find(w, field, out))
        return false;
    if (out->size == 0)
        return words_invalid(w->call, field, "it is missing");
    return out->size <= most ||
           words_invalid(w->call, field, "it has %zu bytes, at most %zu are expected", out->size,
                         most);
}

/* ---- numbers ---- */

bool words_integer(struct words *w, const char *field, int64_t least, int64_t most,
                   int64_t otherwise, int64_t *out)
{
    *out = otherwise;
    if (w->body == NULL) {
        const struct slice text = words_parameter(w, field);
        if (text.data == NULL)
            return true;
        *out = slice_number(text);
    } else {
        const struct json_value v = json_find(w->body, field);
        if (v.type == JSON_ABSENT || v.type == JSON_NULL)
            return true;
        *out = v.type == JSON_INTEGER ? json_integer(&v) : least - 1;
    }
    return (*out >= least && *out <= most) ||
           words_invalid(w->call, field, "a whole number from %lld to %lld is expected",
                         (long long)least, (long long)most);
}

static bool tokens_refuse(struct call *c, const char *field, int64_t least, int64_t most)
{
    return words_invalid(c, field,
                         "a number from %.12g to %.12g with at most 3 decimals is expected",
                         (double)least / 1000, (double)most / 1000);
}

bool words_tokens(struct call *c, const char *field, const struct json_value *v, int64_t least,
                  int64_t most, int64_t *mtok)
{
    *mtok = 0;
    if (v->type == JSON_INTEGER) {
        const int64_t whole = json_integer(v);
        if (whole < -LIMITER_TOKENS_MAX || whole > LIMITER_TOKENS_MAX)
            return tokens_refuse(c, field, least, most);
        *mtok = whole * 1000;
    } else if (v->type == JSON_DECIMAL) {
        const double scaled = json_decimal(v) * 1000;
        if (!(fabs(scaled) <= (double)LIMITER_MTOK_MAX) ||
            fabs(scaled - round(scaled)) > 1e-4 * (1 + fabs(scaled) * 1e-9))
            return tokens_refuse(c, field, least, most);
        *mtok = (int64_t)round(scaled);
    } else {
        return tokens_refuse(c, field, least, most);
    }
    return (*mtok >= least && *mtok <= most) || tokens_refuse(c, field, least, most);
}

/* Digits, and up to three after a point. */
static bool text_tokens(struct slice text, int64_t *mtok)
{
    struct slice decimals = text;
    const struct slice whole = slice_cut(&decimals, '.');
    const int64_t tokens = slice_number(whole);
    if (tokens < 0 || tokens > LIMITER_TOKENS_MAX || decimals.size > 3)
        return false;
    *mtok = tokens;
    for (size_t i = 0; i < 3; i++) {
        const uint8_t digit = i < decimals.size ? decimals.data[i] : '0';
        if (digit < '0' || digit > '9')
            return false;
        *mtok = *mtok * 10 + (digit - '0');
    }
    return true;
}

static bool amounts_add(struct call *c, const char *field, struct amounts *out, struct slice limit)
{
    if (!words_is_plain(limit, LIMITER_NAME_MAX))
        return words_invalid(c, field, "'%.*s' is no name of a limit", SHOWN(limit));
    if (out->count == LIMITER_LIMITS_MAX)
        return words_invalid(c, field, "there are more than %d limits", LIMITER_LIMITS_MAX);
    for (uint32_t i = 0; i < out->count; i++) {
        if (slice_equal(out->at[i].limit, limit))
            return words_invalid(c, field, "'%.*s' is given twice", SHOWN(limit));
    }
    out->at[out->count++].limit = arena_copy(&c->arena, limit);
    return true;
}

static bool amounts_of_query(struct words *w, const char *const names[], struct amounts *out)
{
    for (uint32_t i = 0; i < w->count; i++) {
        char field[LIMITER_NAME_MAX + 1];
        if (words_place(w->at[i].name, names) >= 0)
            continue;
        if (!amounts_add(w->call, "query", out, w->at[i].name))
            return false;
        snprintf(field, sizeof field, "%.*s", TEXT_OF(w->at[i].name));
        if (!text_tokens(w->at[i].value, &out->at[out->count - 1].mtok))
            return tokens_refuse(w->call, field, 0, LIMITER_MTOK_MAX);
        w->at[i].used = true;
    }
    return out->count > 0 ||
           call_invalid(w->call, "The query names no limit: add LIMIT=NUMBER, such as rpm=1");
}

bool words_amounts(struct words *w, const char *field, const char *const names[], int64_t least,
                   struct amounts *out)
{
    struct slice name;
    struct json_value v;
    out->count = 0;
    if (w->body == NULL)
        return amounts_of_query(w, names, out);
    const struct json_value object = json_find(w->body, field);
    if (object.type != JSON_OBJECT || json_count(&object) == 0)
        return words_invalid(w->call, field,
                             "an object of limits and numbers is expected, such as {\"rpm\": 1}");
    struct json_cursor at = json_members(&object);
    while (json_next_member(&at, &name, &v)) {
        if (!amounts_add(w->call, field, out, name) ||
            !words_tokens(w->call, field, &v, least, LIMITER_MTOK_MAX,
                          &out->at[out->count - 1].mtok))
            return false;
    }
    return true;
}

uint64_t amounts_digest(const struct amounts *a, uint64_t seed)
{
    uint64_t digest = seed;
    for (uint32_t i = 0; i < a->count; i++) {
        digest = XXH3_64bits_withSeed(a->at[i].limit.data, a->at[i].limit.size, digest);
        digest = XXH3_64bits_withSeed(&a->at[i].mtok, sizeof a->at[i].mtok, digest);
    }
    return digest;
}

bool words_on_unavailable(struct words *w, enum on_unavailable *out)
{
    struct slice text;
    *out = ON_UNAVAILABLE_UNSAID;
    if (!words_find(w, "on_unavailable", &text))
        return false;
    if (text.data == NULL)
        return true;
    *out = slice_is(text, "allow")   ? ON_UNAVAILABLE_ALLOW
           : slice_is(text, "block") ? ON_UNAVAILABLE_BLOCK
                                     : ON_UNAVAILABLE_UNSAID;
    return *out != ON_UNAVAILABLE_UNSAID ||
           words_invalid(w->call, "on_unavailable", "allow or block is expected, not '%.*s'",
                         SHOWN(text));
}
