/* rate_limit_headers.c - limits in bodies and header fields. */
#include "router/limiter/rate_limit_headers.h"

#include "router/json/json_writer.h"

/* Tokens that all shards have, as far as the router knows: at least 0. */
static int64_t rate_limit_remaining(const struct router *r, const struct cached_bucket *b,
                                    uint32_t limit)
{
    const int64_t mtok = bucket_tokens_max_total(r, b, limit);
    return MAX(mtok, 0);
}

/* Until the limit is full. */
static int64_t rate_limit_reset_ms(const struct router *r, const struct cached_bucket *b,
                                   uint32_t limit)
{
    must(limit < b->limits.count);
    return bucket_wait_ms(r, b, limit, b->limits.at[limit].capacity);
}

void rate_limit_body_begin(struct call *c, bool allowed)
{
    const struct limiter_call *s = c->state;
    const struct router *r = c->router;
    json_write_open(&c->body, '{');
    json_member_bool(&c->body, "allowed", allowed);
    json_member_open(&c->body, "limits", '[');
    for (uint32_t i = 0; i < s->chain_count; i++) {
        const struct cached_bucket *b = s->chain[i];
        for (uint32_t k = 0; k < b->limits.count; k++) {
            json_write_open(&c->body, '{');
            json_member_string(&c->body, "entity", b->name.entity);
            json_member_string(&c->body, "name", b->limits.at[k].name);
            json_member_thousandths(&c->body, "capacity", b->limits.at[k].capacity);
            json_member_thousandths(&c->body, "remaining", rate_limit_remaining(r, b, k));
            json_member_integer(&c->body, "reset_ms", rate_limit_reset_ms(r, b, k));
            json_write_close(&c->body, '}');
        }
    }
    json_write_close(&c->body, ']');
}

static int64_t seconds_rounded_up(int64_t ms)
{
    return ms / 1000 + (ms % 1000 > 0);
}

/* One limit's part of a header field: "NAME";a=FIRST;b=SECOND */
static void rate_limit_append(struct buffer *out, struct slice name, const char *first_name,
                              int64_t first, const char *second_name, int64_t second)
{
    must(first >= 0);
    must(second >= 0);
    buffer_append_u8(out, '"');
    buffer_append_slice(out, name);
    buffer_append_text(out, first_name);
    buffer_append_decimal(out, (uint64_t)first);
    buffer_append_text(out, second_name);
    buffer_append_decimal(out, (uint64_t)second);
}

void rate_limit_headers_set(struct call *c, int64_t retry_ms)
{
    const struct limiter_call *s = c->state;
    const struct cached_bucket *b = s->chain_count > 0 ? s->chain[0] : NULL;
    struct buffer lines = {0};
    if (retry_ms >= 0) {
        buffer_append_text(&lines, "\r\nRetry-After: ");
        buffer_append_decimal(&lines, (uint64_t)seconds_rounded_up(retry_ms));
    }
    for (uint32_t i = 0; b != NULL && i < b->limits.count; i++) {
        const struct limiter_limit *l = &b->limits.at[i];
        buffer_append_text(&lines, i == 0 ? "\r\nRateLimit-Policy: " : ", ");
        rate_limit_append(&lines, l->name, "\";q=", l->capacity / 1000,
                          ";w=", seconds_rounded_up(l->period_ms));
    }
    for (uint32_t i = 0; b != NULL && i < b->limits.count; i++) {
        buffer_append_text(&lines, i == 0 ? "\r\nRateLimit: " : ", ");
        rate_limit_append(&lines, b->limits.at[i].name,
                          "\";r=", rate_limit_remaining(c->router, b, i) / 1000,
                          ";t=", seconds_rounded_up(rate_limit_reset_ms(c->router, b, i)));
    }
    c->lines = arena_take(&c->arena, &lines);
}
