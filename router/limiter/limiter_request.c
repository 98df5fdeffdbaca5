/* limiter_request.c - reads names and amounts out of bodies and queries. */
#include "router/limiter/limiter_request.h"

#include <math.h>
#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "router/json/json_writer.h"

/* ---- bodies and queries ---- */

bool limiter_request_body(struct limiter_request *request, struct call *c,
                          const struct json_value *body)
{
    *request = (struct limiter_request){.call = c, .body = body};
    return (body != NULL && body->type == JSON_OBJECT) ||
           call_invalid(c, "The body must be a JSON object");
}

bool limiter_request_query(struct limiter_request *request, struct call *c)
{
    const struct http_head *head = &c->client->http.head;
    struct slice query = http_text(head, head->query), name, value;
    *request = (struct limiter_request){.call = c};
    while (query_string_next(&query, &c->arena, &name, &value)) {
        if (request->count == LIMITER_PARAMETERS_MAX)
            return call_invalid(c, "There are more than %d parameters", LIMITER_PARAMETERS_MAX);
        if (!slice_is_utf8(name) || !slice_is_utf8(value)) /* an answer may show it, as JSON */
            return call_invalid(c, "The parameter number %u is not UTF-8", request->count + 1);
        for (uint32_t i = 0; i < request->count; i++) {
            if (slice_equal(request->at[i].name, name))
                return call_invalid(c, "The parameter '%.*s' is given twice", SHOWN(name));
        }
        request->at[request->count].name = name;
        request->at[request->count++].value = value;
    }
    return true;
}

/* The place of a name among the names; -1: not found. */
static int limiter_request_place(struct slice name, const char *const names[])
{
    for (int i = 0; names[i] != NULL; i++) {
        if (slice_is(name, names[i]))
            return i;
    }
    return -1;
}

static bool limiter_request_unknown_name(struct call *c, struct slice name,
                                         const char *const names[])
{
    struct buffer expected = {0};
    for (size_t i = 0; names[i] != NULL; i++)
        buffer_append_format(&expected, "%s%s", i > 0 ? ", " : "", names[i]);
    call_invalid(c, "Unknown member '%.*s'; known members: %.*s", SHOWN(name), TEXT_OF(expected));
    json_member_string(&call_fault(c)->more, "field", name);
    buffer_deinit(&expected);
    return false;
}

bool limiter_request_check_names(const struct limiter_request *request, const char *const names[])
{
    struct slice name;
    struct json_value value;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < request->count; i++) {
        if (!request->at[i].used && limiter_request_place(request->at[i].name, names) < 0)
            return limiter_request_unknown_name(request->call, request->at[i].name, names);
    }
    if (request->body == NULL)
        return true;
    JSON_FOREACH_MEMBER (name, value, request->body) {
        const int place = limiter_request_place(name, names);
        if (place < 0)
            return limiter_request_unknown_name(request->call, name, names);
        must(place < 64);
        if (seen >> place & 1)
            return limiter_error_invalid(request->call, names[place], "the member is given twice");
        seen |= UINT64_C(1) << place;
    }
    return true;
}

/* The parameter with that name; data NULL: absent. */
static struct slice limiter_request_parameter(struct limiter_request *request, const char *field)
{
    for (uint32_t i = 0; i < request->count; i++) {
        if (slice_is(request->at[i].name, field)) {
            request->at[i].used = true;
            return request->at[i].value;
        }
    }
    return slice_make(NULL, 0);
}

/* A text, in the arena. data NULL: absent. False: it is not a text. */
static bool limiter_request_find(struct limiter_request *request, const char *field,
                                 struct slice *out)
{
    if (request->body == NULL) {
        *out = limiter_request_parameter(request, field);
        return true;
    }
    const struct json_value v = json_find(request->body, field);
    *out = slice_make(NULL, 0);
    if (v.type == JSON_ABSENT || v.type == JSON_NULL)
        return true;
    if (v.type != JSON_STRING)
        return limiter_error_invalid(request->call, field, "a string is expected");
    *out = arena_copy(&request->call->arena, json_string(&v));
    if (out->data == NULL)
        out->data = (const uint8_t *)"";
    return true;
}

/* ---- names ---- */

bool limiter_name_is_plain(struct slice text, size_t max)
{
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t b = text.data[i];
        const bool plain = (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') ||
                           (b >= '0' && b <= '9') || b == '_' || b == '.' || b == '-';
        if (!plain)
            return false;
    }
    return text.size >= 1 && text.size <= max;
}

bool limiter_request_namespace(struct limiter_request *request, struct slice *out)
{
    if (!limiter_request_find(request, "namespace", out))
        return false;
    if (out->data == NULL)
        *out = slice_of("default");
    return limiter_name_is_plain(*out, LIMITER_NAMESPACE_MAX) ||
           limiter_error_invalid(request->call, "namespace",
                                 "1 to %d letters, digits and _.- are expected, not '%.*s'",
                                 LIMITER_NAMESPACE_MAX, SHOWN(*out));
}

bool limiter_entity_is_valid(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] < 0x20 || name.data[i] == 0x7f || name.data[i] == '#')
            return false;
    }
    return name.size >= 1 && name.size <= LIMITER_ENTITY_MAX && slice_is_utf8(name);
}

bool limiter_request_name(struct limiter_request *request, const char *field, bool required,
                          struct slice *out)
{
    if (!limiter_request_find(request, field, out))
        return false;
    if (out->data == NULL)
        return !required || limiter_error_invalid(request->call, field, "it is missing");
    return limiter_entity_is_valid(*out) ||
           limiter_error_invalid(
               request->call, field,
               "1 to %d bytes without control characters and # are expected, not '%.*s'",
               LIMITER_ENTITY_MAX, SHOWN(*out));
}

bool limiter_request_bucket(struct limiter_request *request, struct bucket_name *out)
{
    return limiter_request_namespace(request, &out->name_space) &&
           limiter_request_name(request, "entity", true, &out->entity) &&
           limiter_request_name(request, "resource", true, &out->resource);
}

bool limiter_request_text(struct limiter_request *request, const char *field, size_t max,
                          struct slice *out)
{
    if (!limiter_request_find(request, field, out))
        return false;
    if (out->size == 0)
        return limiter_error_invalid(request->call, field, "it is missing");
    return out->size <= max ||
           limiter_error_invalid(request->call, field, "it has %zu bytes, at most %zu are expected",
                                 out->size, max);
}

/* ---- numbers ---- */

bool limiter_request_integer(struct limiter_request *request, const char *field, int64_t min,
                             int64_t max, int64_t otherwise, int64_t *out)
{
    must(min <= max);
    *out = otherwise;
    if (request->body == NULL) {
        const struct slice text = limiter_request_parameter(request, field);
        if (text.data == NULL)
            return true;
        *out = slice_number(text);
    } else {
        const struct json_value v = json_find(request->body, field);
        if (v.type == JSON_ABSENT || v.type == JSON_NULL)
            return true;
        *out = v.type == JSON_INTEGER ? json_integer(&v) : min - 1;
    }
    return (*out >= min && *out <= max) ||
           limiter_error_invalid(request->call, field,
                                 "a whole number from %lld to %lld is expected", (long long)min,
                                 (long long)max);
}

static bool limiter_request_refuse_tokens(struct call *c, const char *field, int64_t min,
                                          int64_t max)
{
    return limiter_error_invalid(c, field,
                                 "a number from %.12g to %.12g with at most 3 decimals is expected",
                                 (double)min / 1000, (double)max / 1000);
}

bool limiter_request_tokens(struct call *c, const char *field, const struct json_value *v,
                            int64_t min, int64_t max, int64_t *mtok)
{
    must(min <= max);
    must(max <= LIMITER_MTOK_MAX);
    *mtok = 0;
    if (v->type == JSON_INTEGER) {
        const int64_t whole = json_integer(v);
        if (whole < -LIMITER_TOKENS_MAX || whole > LIMITER_TOKENS_MAX)
            return limiter_request_refuse_tokens(c, field, min, max);
        *mtok = whole * 1000;
    } else if (v->type == JSON_DECIMAL) {
        const double scaled = json_decimal(v) * 1000;
        if (!(fabs(scaled) <= (double)LIMITER_MTOK_MAX) ||
            fabs(scaled - round(scaled)) > 1e-4 * (1 + fabs(scaled) * 1e-9))
            return limiter_request_refuse_tokens(c, field, min, max);
        *mtok = (int64_t)round(scaled);
    } else {
        return limiter_request_refuse_tokens(c, field, min, max);
    }
    return (*mtok >= min && *mtok <= max) || limiter_request_refuse_tokens(c, field, min, max);
}

/* Digits, and up to three after a point. */
static bool limiter_request_parse_tokens(struct slice text, int64_t *mtok)
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

static bool limiter_request_add_amount(struct call *c, const char *field, struct amounts *out,
                                       struct slice limit)
{
    if (!limiter_name_is_plain(limit, LIMITER_NAME_MAX))
        return limiter_error_invalid(c, field, "'%.*s' is not a valid name of a limit",
                                     SHOWN(limit));
    if (out->count == LIMITER_LIMITS_MAX)
        return limiter_error_invalid(c, field, "there are more than %d limits", LIMITER_LIMITS_MAX);
    for (uint32_t i = 0; i < out->count; i++) {
        if (slice_equal(out->at[i].limit, limit))
            return limiter_error_invalid(c, field, "'%.*s' is given twice", SHOWN(limit));
    }
    out->at[out->count++].limit = arena_copy(&c->arena, limit);
    return true;
}

static bool limiter_request_query_amounts(struct limiter_request *request,
                                          const char *const names[], struct amounts *out)
{
    for (uint32_t i = 0; i < request->count; i++) {
        char field[LIMITER_NAME_MAX + 1];
        if (limiter_request_place(request->at[i].name, names) >= 0)
            continue;
        if (!limiter_request_add_amount(request->call, "query", out, request->at[i].name))
            return false;
        snprintf(field, sizeof field, "%.*s", TEXT_OF(request->at[i].name));
        if (!limiter_request_parse_tokens(request->at[i].value, &out->at[out->count - 1].mtok))
            return limiter_request_refuse_tokens(request->call, field, 0, LIMITER_MTOK_MAX);
        request->at[i].used = true;
    }
    return out->count > 0 ||
           call_invalid(request->call, "The query names no limit: add LIMIT=NUMBER, such as rpm=1");
}

bool limiter_request_amounts(struct limiter_request *request, const char *field,
                             const char *const names[], int64_t min, struct amounts *out)
{
    struct slice name;
    struct json_value v;
    out->count = 0;
    if (request->body == NULL)
        return limiter_request_query_amounts(request, names, out);
    const struct json_value object = json_find(request->body, field);
    if (object.type != JSON_OBJECT || json_count(&object) == 0)
        return limiter_error_invalid(
            request->call, field,
            "an object of limits and numbers is expected, such as {\"rpm\": 1}");
    JSON_FOREACH_MEMBER (name, v, &object) {
        if (!limiter_request_add_amount(request->call, field, out, name) ||
            !limiter_request_tokens(request->call, field, &v, min, LIMITER_MTOK_MAX,
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

bool limiter_request_on_unavailable(struct limiter_request *request, enum on_unavailable *out)
{
    struct slice text;
    *out = ON_UNAVAILABLE_UNSET;
    if (!limiter_request_find(request, "on_unavailable", &text))
        return false;
    if (text.data == NULL)
        return true;
    *out = slice_is(text, "allow")   ? ON_UNAVAILABLE_ALLOW
           : slice_is(text, "block") ? ON_UNAVAILABLE_BLOCK
                                     : ON_UNAVAILABLE_UNSET;
    return *out != ON_UNAVAILABLE_UNSET ||
           limiter_error_invalid(request->call, "on_unavailable",
                                 "allow or block is expected, not '%.*s'", SHOWN(text));
}
