/* limiter.c - GET /weir/limiter: what this router has counted of the rate limiter, by namespace. */
#include "router/admin/page_metrics.h"
#include "router/admin/pages.h"
#include "router/json/json_writer.h"
#include "router/limiter/bucket_cache.h"

static bool limiter_begin(struct call *c, UNUSED const struct json_value m[])
{
    static const char *const NAMES[] = {NULL};
    const struct limiter *l = c->router->limiter;
    struct buffer *out = &c->body;
    if (!page_read_query(c, NAMES, NULL))
        return false;
    json_write_open(out, '{');
    json_member_integer(out, "buckets", l->count);
    json_member_open(out, "namespaces", '[');
    for (uint32_t i = 0; i < l->namespace_count; i++) {
        json_write_open(out, '{');
        json_member_text(out, "namespace", l->namespaces[i].name);
        page_write_metrics(out, METRICS_OF_LIMITER, &l->namespaces[i].counts);
        json_write_close(out, '}');
    }
    json_write_closes(out, "]}");
    return true;
}

const struct operation operation_limiter = {.name = "limiter", .begin = limiter_begin};
